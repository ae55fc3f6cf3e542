# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Contact points of two bodies: the corners of the patch on which flats and edges face each other.

The distance gives the normal n. What of each body faces the other (`facing`) is a set of convex pieces, one for a
convex body, which are projected on the plane across n. The corners of the patch are those of the intersections of two
pieces; of two edges that are parallel within the angle, the ends of the part they share.

A line along n through a corner meets the surface of A at x and that of B at y: at a known point, in the plane of a
triangle of a mesh, or where it leaves a convex body (`leave`). The gap is n . (y - x). So y - x is along n, and tilted
flats have another gap at each corner. Over the patch of two convex bodies the height of B's surface is convex and that
of A's is concave, so the gap is convex: none in the patch exceeds the largest at a corner. None is less than -h(n),
with h the support function of A - B, which is the proved lower bound of the distance if n is the best direction.

Coordinates are those of the contact: n is the third axis, and the middle of the witness points the origin. The bodies
are put in one order first, so that swapping them swaps the points bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.vector import tangent_frame
from superovoid.contact.facing import Angle, Vector, facing, is_convex, leave, outside
from superovoid.contact.inputs import TOLERANCE, as_pose, check_rtol
from superovoid.contact.polygons import (
    Line,
    Point,
    clipped,
    crossing,
    edge_lines,
    ends_of_parallels,
    hull,
    simplified,
)
from superovoid.contact.results import DistanceResult
from superovoid.contact.signed_distance import distance
from superovoid.shapes import HalfSpace, Shape
from superovoid.shapes.kernels.surface import SIZE
from superovoid.values.checks import number, short, whole
from superovoid.values.poses import PoseLike
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]

MOST_CONTACTS = 8
ANGLE = 0.01
_WIDEST = 0.5  # rad
_ONE = 1e-6  # of the smaller body: points of the patch that are one
_OVER = 1e-10  # of the smaller body: how far beside a face a point counts as over it
_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)  # of the coordinates
_BESIDE = 0.02  # of the width of the patch: how far beside it a witness point may be left out
_FLAT = 1e-2  # of that: how far beside the line of its neighbours a corner of a face may be left out
_PAIRS = 1 << 20  # of pieces of meshes that are looked at together


@dataclass(frozen=True, eq=False, repr=False)
class ContactSet(Record):
    """Contact points of two bodies, deepest first."""

    point_a: FloatArray
    """Points on the surface of body A, shape (n, 3), world, m."""
    point_b: FloatArray
    """Points on the surface of body B, shape (n, 3), world, m: ``point_a + gap[:, None] * normal``."""
    gap: FloatArray
    """Signed distances of the surfaces along the normal, shape (n,), m; negative where they overlap."""
    normal: FloatArray
    """Unit common normal from A to B, shape (3,), world."""
    distance: DistanceResult
    """The signed distance with its status and its proved interval."""

    def __len__(self) -> int:
        return len(self.gap)


Corner: TypeAlias = tuple[float, float, float, float]
"""A corner of the patch: where it is across the normal, and the heights of both surfaces there."""


class _Piece:
    """A convex piece of what of a body faces the other one, in the frame of the contact."""

    def __init__(self, points: list[Vector], height: Callable[[float, float], float]) -> None:
        self.known = {(x, y): h for x, y, h in points}
        self.polygon = list(self.known)
        self._height = height
        self._lines: list[Line] | None = None

    @property
    def lines(self) -> list[Line]:
        if self._lines is None:
            self._lines = edge_lines(self.polygon)
        return self._lines

    def height(self, place: Point) -> float:
        """Height of the surface over a place; nan if a line through it along the normal misses the body."""
        known = self.known.get(place)
        return self._height(*place) if known is None else known


class _Side:
    """A body, with what of it faces the other one, in the frame of the contact.

    The third axis is the normal n, the origin the middle of the witness points. `sign` is 1 for the body that n leads
    out of, -1 for the other.
    """

    def __init__(
        self, shape: Shape, pose: FloatArray, witness: FloatArray, axes: FloatArray, origin: FloatArray, sign: float
    ) -> None:
        self.shape, self.sign = shape, sign
        self.turn = axes @ pose[:3, :3]
        self.shift = axes @ (pose[:3, 3] - origin)
        self.top = float(axes[2] @ (witness - origin))

    def face(self, angle: Angle) -> None:
        """Find what faces the other body."""
        self.groups = [
            group @ self.turn.T + self.shift
            for group in facing(self.shape, self.sign * self.turn[2], angle)
            if len(group)
        ]
        self.one_piece = is_convex(self.shape)

    @property
    def is_a_point(self) -> bool:
        """Whether one point at most faces the other body."""
        corners = sum(group.shape[0] * group.shape[1] for group in self.groups)
        return corners < 2 and not isinstance(self.shape, HalfSpace)

    def whole(self, slack: float) -> _Piece:
        """The piece of a convex body."""
        points = [(x, y, h) for group in self.groups for x, y, h in group[0].tolist()]
        kept = hull([(x, y) for x, y, _ in points], slack)
        first = kept.index(min(kept)) if kept else 0  # so that the order of the corners moves with the body
        return _Piece([points[k] for k in kept[first:] + kept[:first]], self._cast())

    def pieces(self, slack: float) -> tuple[FloatArray, list[_Piece]]:
        """All pieces, with a box around each: least and greatest coordinates, shape (pieces, 2, 3)."""
        if self.one_piece:
            if isinstance(self.shape, HalfSpace):
                return np.array([[(-np.inf,) * 3, (np.inf,) * 3]]), [self.whole(slack)]
            group = self.groups[0][0]
            box = np.array([[group.min(axis=0), group.max(axis=0)]])
            box[0, :, 2] = -np.inf, np.inf  # a surface that is not flat is higher than its corners
            return box, [self.whole(slack)]
        boxes = [np.stack([group.min(axis=1), group.max(axis=1)], axis=1) for group in self.groups]
        pieces = [
            _Piece([(x, y, h) for x, y, h in corners], _plane(corners))
            for group in self.groups
            for corners in group.tolist()
        ]
        return np.concatenate([np.empty((0, 2, 3)), *boxes]), pieces

    def hides(self, corner: Corner, least: float, slack: float) -> bool:
        """Whether a face of a mesh is between the two points of a corner."""
        x, y, bottom, top = corner
        for triangles in self.groups:
            if triangles.shape[1] == 3:
                start = triangles[:, 0]
                (dx, dy, dh), (ex, ey, eh) = (triangles[:, 1] - start).T, (triangles[:, 2] - start).T
                u, v = x - start[:, 0], y - start[:, 1]
                twice = dx * ey - dy * ex
                s, t = (u * ey - v * ex) / twice, (v * dx - u * dy) / twice
                height = start[:, 2] + s * dh + t * eh
                gap = top - height if self.sign > 0.0 else height - bottom
                over = (s >= 0.0) & (t >= 0.0) & (s + t <= 1.0)
                if (over & (gap >= least) & (gap < top - bottom - slack)).any():
                    return True
        return False

    def _cast(self) -> Callable[[float, float], float]:
        """Return the height of the surface of a convex body over a place."""
        g, sign, top = outside(self.shape), self.sign, self.top
        (ax, ay, az), (bx, by, bz), (cx, cy, cz) = self.turn.tolist()
        sx, sy, sz = self.shift.tolist()
        m = (sign * cx, sign * cy, sign * cz)

        def height(x: float, y: float) -> float:
            x, y, z = x - sx, y - sy, top - sz
            p = (x * ax + y * bx + z * cx, x * ay + y * by + z * cy, x * az + y * bz + z * cz)
            return top + sign * leave(self.shape, g, p, m)

        return height


def _plane(corners: list[Vector]) -> Callable[[float, float], float]:
    """Return the height of a triangle, a segment or a point over a place."""
    (ax, ay, ah), *others = corners
    if len(others) == 2:
        (dx, dy, dh), (ex, ey, eh) = ((x - ax, y - ay, h - ah) for x, y, h in others)
        twice = dx * ey - dy * ex
        if twice == 0.0:
            return lambda x, y: math.nan
        by_x, by_y = (dh * ey - dy * eh) / twice, (dx * eh - dh * ex) / twice
    elif others:
        ((dx, dy, dh),) = ((x - ax, y - ay, h - ah) for x, y, h in others)
        square = dx * dx + dy * dy
        by_x, by_y = (dh * dx / square, dh * dy / square) if square > 0.0 else (0.0, 0.0)
    else:
        by_x = by_y = 0.0
    return lambda x, y: ah + by_x * (x - ax) + by_y * (y - ay)


def _shared(p: _Piece, q: _Piece, slack: float, sine: float, convex: bool) -> list[Point]:
    """Corners of what two pieces share, projected on the plane across the normal."""
    if not p.polygon or not q.polygon:  # a half-space
        return p.polygon or q.polygon
    for one, other in ((p, q), (q, p)):
        if len(other.polygon) > 2:
            return clipped(one.polygon, other.lines, slack)
    if len(p.polygon) < 2 or len(q.polygon) < 2:
        return []
    ends = ends_of_parallels(p.polygon, q.polygon, sine) if convex else []
    return [*ends, *crossing(*p.polygon, *q.polygon)]


def contacts(
    a: Shape,
    pose_a: PoseLike,
    b: Shape,
    pose_b: PoseLike,
    max_distance: float,
    *,
    max_contacts: int = MOST_CONTACTS,
    angle: float = ANGLE,
    rtol: float = TOLERANCE,
) -> ContactSet:
    """Contact points of two bodies: the corners of the patch on which flats or edges face each other.

    Parameters
    ----------
    a, b : Shape
        The bodies, of any kinds of `superovoid.shapes`.
    pose_a, pose_b : (4, 4) array_like or transform
        Poses, body to world, m, in any form that `distance` takes.
    max_distance : float
        Largest gap of a contact, m; at least 0. Infinity keeps all corners.
    max_contacts : int, optional
        How many points to return at most, at least 1.
    angle : float, optional
        Largest angle between the normal of a flat or an edge and the common normal, rad; positive, at most 0.5.
    rtol : float, optional
        As for `distance`.

    Returns
    -------
    ContactSet
        No point if `distance` exceeds `max_distance`, or is that of two half-spaces without a common normal.
        ``contacts(...).distance`` says whether that is proved.

    Raises
    ------
    ValueError
        If a pose is not a rigid transform or another argument is not in its range.
    TypeError
        If a shape is none of ours.

    Notes
    -----
    The first point realises the distance: it is the pair of witness points of `distance`, or a corner of the patch
    whose gap is no larger, within the tolerance. docs/contacts.md says which corners flats, edges, round bodies and
    meshes have, and which of them stay if there are more than `max_contacts`.

    Swapping the bodies swaps the points and turns the normal, bit by bit, unless the bodies and their poses are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from superovoid import Box, HalfSpace, contacts
    >>> pose = np.eye(4)
    >>> pose[2, 3] = 0.1
    >>> found = contacts(Box((0.4, 0.6, 0.2)), pose, HalfSpace(), np.eye(4), 0.001)
    >>> len(found)
    4
    >>> bool(np.abs(found.gap).max() < 1e-15)
    True
    """
    reach = _greatest(max_distance)
    most = whole("max_contacts", max_contacts, 1)
    cone = _angle(angle)
    rtol = check_rtol(rtol)
    found = distance(a, pose_a, b, pose_b, rtol=rtol)
    if not (math.isfinite(found.distance) and found.distance <= reach):
        return ContactSet(np.empty((0, 3)), np.empty((0, 3)), np.empty(0), found.normal, found)
    bodies = [(a, as_pose("pose_a", pose_a)), (b, as_pose("pose_b", pose_b))]
    straight = _is_in_order(bodies)
    witness, n = [found.point_a, found.point_b], found.normal
    if not straight:
        bodies, witness, n = bodies[::-1], witness[::-1], -n
    x, y, gap = _contact_points(bodies, witness, n, found, reach=reach, most=most, angle=cone, rtol=rtol)
    return ContactSet(*((x, y) if straight else (y, x)), gap, found.normal, found)


def _greatest(value: Any) -> float:
    """Return `max_distance`; `ValueError` if it is no number of at least 0."""
    real = isinstance(value, int | float | np.floating | np.integer) and not isinstance(value, bool)
    if not (real and value >= 0.0):
        raise ValueError(f"max_distance = {short(value)}: must be a number of at least 0 (metres)")
    return float(value)


def _angle(value: Any) -> Angle:
    radians = number("angle", value, "radians")
    if not 0.0 < radians <= _WIDEST:
        raise ValueError(f"angle = {short(value)}: must be positive and at most {_WIDEST} (radians)")
    return Angle(math.sin(radians), math.cos(radians))


def _is_in_order(bodies: list[tuple[Shape, FloatArray]]) -> bool:
    """Whether the first body comes first: the order is the same for both orders of the arguments."""
    (a, pose_a), (b, pose_b) = bodies
    row_a, row_b = a._row.tolist(), b._row.tolist()
    if row_a != row_b:
        return bool(row_a < row_b)
    return bool(pose_a.ravel().tolist() <= pose_b.ravel().tolist())


def _frame(n: FloatArray) -> FloatArray:
    """Return a right-handed frame with its third axis along a unit vector; its axes are the rows."""
    first, second = tangent_frame(tuple(n.tolist()))
    return np.array([first, second, n])


def _contact_points(
    bodies: list[tuple[Shape, FloatArray]],
    witness: list[FloatArray],
    n: FloatArray,
    found: DistanceResult,
    *,
    reach: float,
    most: int,
    angle: Angle,
    rtol: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points of both bodies, in the order of `bodies`, and their gaps."""
    origin = 0.5 * (witness[0] + witness[1])
    axes = _frame(n)
    first, second = (
        _Side(*body, point, axes, origin, sign) for body, point, sign in zip(bodies, witness, (1.0, -1.0), strict=True)
    )
    corners: list[Corner] = []
    sizes = [size for shape, _ in bodies if math.isfinite(size := float(shape._row[SIZE]))]
    unit = min(sizes, default=1.0)
    rounding = _ROUNDING * (sum(sizes) + max(float(np.abs(pose[:3, 3]).max()) for _, pose in bodies))
    goal = rtol * unit + rounding
    if most > 1:
        first.face(angle)
        if not first.is_a_point:
            second.face(angle)
            if not second.is_a_point:
                corners = _corners(first, second, _OVER * unit + rounding, angle.sine, found.lower - goal, reach)
    u, v, _ = (0.5 * (axes @ (witness[0] - origin) + axes @ (witness[1] - origin))).tolist()
    gap = [found.distance, *(top - bottom for _, _, bottom, top in corners)]
    chosen = _chosen(
        [(u, v), *((x, y) for x, y, *_ in corners)], gap, most, _ONE * unit + rounding, found.distance + goal
    )
    rows = np.array([corners[k - 1] for k in chosen]).reshape(-1, 4) if corners else np.empty((0, 4))
    x, y = (rows[:, [0, 1, k]] @ axes + origin for k in (2, 3))
    if chosen[0] == 0:
        x, y = (np.vstack([point[None], each[1:]]) for point, each in zip(witness, (x, y), strict=True))
    return x, y, np.array([gap[k] for k in chosen])


def _corners(first: _Side, second: _Side, slack: float, sine: float, least: float, reach: float) -> list[Corner]:
    """Corners of the patch: where they are across the normal, and the heights of both surfaces there."""
    if first.one_piece and second.one_piece:
        pairs: Iterable[tuple[_Piece, _Piece]] = [(first.whole(_FLAT * slack), second.whole(_FLAT * slack))]
    else:
        pairs = _near_pieces(first.pieces(slack), second.pieces(slack), slack, least, reach)
    corners: list[Corner] = []
    for p, q in pairs:
        for place in _shared(p, q, slack, sine, first.one_piece and second.one_piece):
            bottom, top = p.height(place), q.height(place)
            if least <= top - bottom <= reach:
                corners.append((*place, bottom, top))
    for side in (first, second):
        if not side.one_piece:
            corners = [corner for corner in corners if not side.hides(corner, least, slack)]
    return corners


def _near_pieces(
    first: tuple[FloatArray, list[_Piece]],
    second: tuple[FloatArray, list[_Piece]],
    slack: float,
    least: float,
    reach: float,
) -> Iterator[tuple[_Piece, _Piece]]:
    """Pairs of pieces whose boxes overlap across the normal, with gaps between them from `least` to `reach`."""
    (boxes, pieces), (others, other_pieces) = first, second
    step = max(1, _PAIRS // max(1, len(others)))
    for start in range(0, len(boxes), step):
        lower, upper = boxes[start : start + step, None, 0], boxes[start : start + step, None, 1]
        near = ((lower[..., :2] <= others[:, 1, :2] + slack) & (others[:, 0, :2] <= upper[..., :2] + slack)).all(axis=2)
        near &= (others[:, 0, 2] - upper[..., 2] <= reach + slack) & (others[:, 1, 2] - lower[..., 2] >= least - slack)
        for i, j in np.argwhere(near).tolist():
            yield pieces[start + i], other_pieces[j]


def _chosen(places: list[Point], gap: list[float], most: int, one: float, deep: float) -> list[int]:
    """Numbers of the points to return, deepest first; number 0 is the pair of witness points.

    `deep` is the largest gap that realises the distance, `one` the distance of points that are one.
    """
    if len(places) == 1 or most == 1:
        return [0]
    corners = [k + 1 for k in hull(places[1:], one)]
    held = min(corners, key=lambda k: (gap[k] > deep, k))
    inner = []
    if gap[held] > deep or not _is_beside(places[0], [places[k] for k in corners], one):
        away = [0, *(k for k in range(1, len(places)) if math.dist(places[k], places[0]) > one)]
        corners = [away[k] for k in hull([places[k] for k in away], one)]
        held = 0
        if 0 not in corners:
            inner = [0]
    if len(corners) + len(inner) > most:
        corners = simplified(places, corners, most - len(inner), held)
    return sorted([*inner, *corners], key=lambda k: (k != 0, gap[k]))


def _is_beside(place: Point, polygon: list[Point], one: float) -> bool:
    """Whether a place is in a polygon, or beside it by no more than a small part of the polygon's width."""
    slack = max(one, _BESIDE * max(math.dist(polygon[0], corner) for corner in polygon))
    if len(polygon) > 2:
        return bool(clipped([place], edge_lines(polygon), slack))
    (px, py), (qx, qy) = polygon[0], polygon[-1]
    length = math.dist(polygon[0], polygon[-1])
    if length == 0.0:
        return math.dist(place, polygon[0]) <= slack
    along = min(length, max(0.0, ((place[0] - px) * (qx - px) + (place[1] - py) * (qy - py)) / length)) / length
    return math.dist(place, (px + along * (qx - px), py + along * (qy - py))) <= slack
