# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Contact points of two bodies: the corners of the patch on which flats and edges face each other.

The distance gives the normal n. The part of each body that faces the other (`facing`) is a set of convex pieces, one
for a convex body, which are projected on the plane across n. The corners of the patch are those of the intersections of
two pieces; for two edges parallel within the angle, the ends of their common part.

A line along n through a corner meets the surface of A at x and that of B at y: at a known point, in the plane of a
triangle of a mesh, or at its exit from a convex body (`leave`). The gap is n . (y - x). So y - x is along n, and tilted
flats have a different gap at each corner. Over the patch of two convex bodies the height of B's surface is convex and
that of A's is concave, so the gap is convex: none in the patch exceeds the largest at a corner. None is less than
-h(n), with h the support function of A - B, which is the proved lower bound of the distance if n is the best direction.

Coordinates are those of the contact: n is the third axis, and the middle of the witness points the origin. The bodies
are put in one order first, so that swapping them swaps the points bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.vector import tangent_frame
from superovoid.contact.broadcasting import ROWS_AT_ONCE
from superovoid.contact.facing import OVER, Angle, Vector, facing_pieces, has_one_facing_piece, leave
from superovoid.contact.inputs import TOLERANCE, check_rtol
from superovoid.contact.polygons import (
    Line,
    Point,
    clip_polygon,
    crossing,
    edge_lines,
    ends_of_parallels,
    hull,
    simplify_polygon,
)
from superovoid.contact.results import DistanceResult
from superovoid.contact.signed_distance import distance
from superovoid.shapes import Compound, HalfSpace, Shape
from superovoid.shapes.kernels.rounding import ROUNDED
from superovoid.shapes.kernels.surface import SIZE
from superovoid.shapes.poses import as_pose
from superovoid.values.checks import greatest_distance, number, shorten, whole_number
from superovoid.values.poses import PoseLike
from superovoid.values.records import Columns

FloatArray = NDArray[np.float64]

MOST_CONTACTS = 8
ANGLE = 0.01
_WIDEST = 0.5  # rad
_ONE = 1e-6  # of the smaller body: points of the patch at this distance are merged
_BESIDE = 0.02  # of the width of the patch: a witness point this far outside it may be omitted


@dataclass(frozen=True, eq=False, repr=False)
class ContactSet(Columns):
    """Contact points of two bodies, deepest first."""

    point_a: FloatArray
    """Points on the surface of body A, shape (n, 3), world, m."""
    point_b: FloatArray
    """Points on the surface of body B, shape (n, 3), world, m: ``point_a + gap[:, None] * normal`` to rounding,
    for witness points to the tolerance given in docs/reference/queries.md."""
    gap: FloatArray
    """Signed distances of the surfaces along the normal, shape (n,), m; negative for an overlap."""
    normal: FloatArray
    """Unit common normal from A to B, shape (3,), world."""
    result: DistanceResult
    """The signed distance with its status and its proved interval."""

    PER_ROW: ClassVar[tuple[str, ...]] = ("point_a", "point_b", "gap")


Corner: TypeAlias = tuple[float, float, float, float]
"""A corner of the patch: its two coordinates across the normal, and the heights of both surfaces."""


class _Limits(NamedTuple):
    """Limits that define the corners of the patch."""

    sine: float
    """Sine of the largest angle between parallels."""
    beside: float
    """A point this far outside a face counts as over it, m. Gaps that differ by more than this differ for certain."""
    least: float
    """Least gap, m: the bound of the distance."""
    deep: float
    """Largest gap that realises the distance, m."""
    reach: float
    """Largest gap, m."""
    one: float
    """Points at this distance are merged, m."""


class _Piece:
    """A convex piece of the part of a body that faces the other one, in the frame of the contact."""

    def __init__(self, points: list[Vector], height: Callable[[float, float], float]) -> None:
        self.known = {(x, y): h for x, y, h in points}
        self.polygon = list(self.known)
        self._height = height

    @cached_property
    def lines(self) -> list[Line]:
        return edge_lines(self.polygon)

    def height(self, place: Point) -> float:
        """Height of the surface over a place; nan if a line through it along the normal misses the body."""
        known = self.known.get(place)
        return self._height(*place) if known is None else known


class _Side:
    """A body with its part that faces the other one, in the frame of the contact.

    The third axis is the normal n, the origin the middle of the witness points. `sign` is 1 for the body that n leads
    out of, -1 for the other.
    """

    def __init__(
        self,
        body: tuple[Shape, FloatArray],
        witness: FloatArray,
        sign: float,
        angle: Angle,
        frame: tuple[FloatArray, FloatArray],
        slack: float,
    ) -> None:
        """Take the origin and the axes of the contact; points no farther than `slack` from one another are one."""
        (shape, pose), (origin, axes) = body, frame
        self.shape, self.sign, n = shape, sign, axes[2]
        self.one_piece = has_one_facing_piece(shape)
        found = facing_pieces(shape, sign * (n @ pose[:3, :3]), angle)
        self.is_a_point = sum(len(group) * group.shape[1] for group in found) < 2 and not isinstance(shape, HalfSpace)
        """Whether at most one point faces the other body."""
        self._slack = slack
        self._turn = axes @ pose[:3, :3]
        self._shift = axes @ (pose[:3, 3] - origin)
        self._top = float(axes[2] @ (witness - origin))
        self._groups = [group @ self._turn.T + self._shift for group in found]
        self._corners: list[list[Vector]] = [corners for group in self._groups for corners in group.tolist()]
        self._made: dict[int, _Piece] = {}

    @cached_property
    def boxes(self) -> FloatArray:
        """Least and greatest coordinates of each piece, shape (pieces, 2, 3); endless for a convex body."""
        if self.one_piece:
            return np.array([[(-np.inf,) * 3, (np.inf,) * 3]])
        return np.concatenate([np.stack([group.min(axis=1), group.max(axis=1)], axis=1) for group in self._groups])

    def piece(self, number: int) -> _Piece:
        """Return one of the pieces."""
        if number not in self._made:
            self._made[number] = self._whole_piece() if self.one_piece else _flat_piece(self._corners[number])
        return self._made[number]

    def _whole_piece(self) -> _Piece:
        points = [(x, y, h) for corners in self._corners for x, y, h in corners]
        kept = hull([(x, y) for x, y, _ in points], self._slack)
        first = kept.index(min(kept)) if kept else 0  # so that the order of the corners moves with the body
        return _Piece([points[k] for k in kept[first:] + kept[:first]], self._cast())

    def hides(self, corner: Corner, limits: _Limits) -> bool:
        """Return whether a flat of a mesh is between the two points of a corner."""
        x, y, bottom, top = corner
        if self.one_piece or top - bottom <= limits.deep:
            return False
        near = ((self.boxes[:, 0, :2] <= (x, y)) & (self.boxes[:, 1, :2] >= (x, y))).all(axis=1)
        for piece in map(self.piece, np.flatnonzero(near).tolist()):
            if len(piece.polygon) > 2 and clip_polygon([(x, y)], piece.lines, 0.0):
                height = piece.height((x, y))
                gap = top - height if self.sign > 0.0 else height - bottom
                if limits.least <= gap < top - bottom - limits.beside:
                    return True
        return False

    def _cast(self) -> Callable[[float, float], float]:
        """Return the height of the surface of a convex body over a place."""
        body, sign, top = self.shape._body, self.sign, self._top
        (ax, ay, az), (bx, by, bz), (cx, cy, cz) = self._turn.tolist()
        sx, sy, sz = self._shift.tolist()
        m = (sign * cx, sign * cy, sign * cz)

        def height(x: float, y: float) -> float:
            x, y, z = x - sx, y - sy, top - sz
            p = (x * ax + y * bx + z * cx, x * ay + y * by + z * cy, x * az + y * bz + z * cz)
            return top + sign * leave(body, p, m)

        return height


def _flat_piece(corners: list[Vector]) -> _Piece:
    """Return a polygon, a segment or a point."""
    count = len(corners)
    ax, ay, ah = corners[0]
    (dx, dy, dh), (ex, ey, eh) = (
        (x - ax, y - ay, h - ah) for x, y, h in (corners[count // 3], corners[2 * count // 3])
    )
    twice, square = dx * ey - dy * ex, ex * ex + ey * ey
    by_x = by_y = 0.0
    if count > 2 and twice != 0.0:
        by_x, by_y = (dh * ey - dy * eh) / twice, (dx * eh - dh * ex) / twice
    elif square > 0.0:
        by_x, by_y = eh * ex / square, eh * ey / square
    return _Piece(corners, lambda x, y: ah + by_x * (x - ax) + by_y * (y - ay))


def _common_part(p: _Piece, q: _Piece, limits: _Limits, convex: bool) -> list[Point]:
    """Return the corners of the common part of two pieces, projected on the plane across the normal."""
    if not p.polygon or not q.polygon:  # a half-space
        return p.polygon or q.polygon
    for one, other in ((p, q), (q, p)):
        if len(other.polygon) > 2:
            return clip_polygon(one.polygon, other.lines, limits.beside)
    if len(p.polygon) < 2 or len(q.polygon) < 2:
        return []
    ends = ends_of_parallels(p.polygon, q.polygon, limits.sine) if convex else []
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
        Largest number of points, at least 1.
    angle : float, optional
        Largest angle between the normal of a flat or an edge and the common normal, rad; positive, at most 0.5.
    rtol : float, optional
        As for `distance`.

    Returns
    -------
    ContactSet
        It has no point if `distance` exceeds `max_distance`, or for two half-spaces without a common normal. The status
        of ``contacts(...).result`` contains ``UNPROVEN`` if this is not proved.

    Raises
    ------
    ValueError
        If a pose is not a rigid transform or another argument is not in its range.
    TypeError
        If a shape is not a `Shape`, or is a `Compound`: its members have contact points one by one.

    Notes
    -----
    The first point realises the distance: it is the pair of witness points of `distance`, or a corner of the patch
    whose gap is no larger, within the tolerance. docs/reference/queries.md lists the corners of flats, edges, round
    bodies and meshes, and the rule that selects `max_contacts` of them.

    Swapping the bodies swaps the points and reverses the normal, bit by bit, unless the bodies and their poses are
    equal.

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
    for name, shape in (("a", a), ("b", b)):
        if isinstance(shape, Compound):
            raise TypeError(f"{name}: a Compound has no contact points of its own; ask for those of its members")
    reach = greatest_distance(max_distance)
    if reach < 0.0:
        raise ValueError(f"max_distance = {shorten(max_distance)}: must be a number of at least 0 (metres)")
    most = whole_number("max_contacts", max_contacts, 1)
    radians = number("angle", angle, "radians")
    if not 0.0 < radians <= _WIDEST:
        raise ValueError(f"angle = {shorten(angle)}: must be positive and at most {_WIDEST} (radians)")
    cone = Angle(math.sin(radians), math.cos(radians))
    rtol = check_rtol(rtol)
    found = distance(a, pose_a, b, pose_b, rtol=rtol)
    if not (math.isfinite(found.distance) and found.distance <= reach):
        return ContactSet(np.empty((0, 3)), np.empty((0, 3)), np.empty(0), found.normal, found)
    bodies = [(a, as_pose("pose_a", pose_a)), (b, as_pose("pose_b", pose_b))]
    swapped = not _is_in_order(bodies)
    witness, n = [found.point_a, found.point_b], found.normal
    if swapped:
        bodies, witness, n = bodies[::-1], witness[::-1], -n
    x, y, gap = _contact_points(bodies, witness, n, found, reach=reach, most=most, angle=cone, rtol=rtol)
    return ContactSet(*((y, x) if swapped else (x, y)), gap, found.normal, found)


def _is_in_order(bodies: list[tuple[Shape, FloatArray]]) -> bool:
    """Return whether the first body comes first: the order is the same for both orders of the arguments."""
    (a, pose_a), (b, pose_b) = bodies
    row_a, row_b = a._row.tolist(), b._row.tolist()
    if row_a != row_b:
        return bool(row_a < row_b)
    if (pose_a != pose_b).any():
        return bool(pose_a.ravel().tolist() < pose_b.ravel().tolist())
    return a._pool.tolist() <= b._pool.tolist()


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
    alone = witness[0][None].copy(), witness[1][None].copy(), np.array([found.distance])
    if most == 1:
        return alone
    sizes = [size for shape, _ in bodies if math.isfinite(size := float(shape._row[SIZE]))]
    size = min(sizes, default=1.0)
    rounding = ROUNDED * (sum(sizes) + max(float(np.abs(pose[:3, 3]).max()) for _, pose in bodies))
    goal = rtol * size + rounding
    limits = _Limits(
        sine=angle.sine,
        beside=OVER * size + rounding,
        least=found.lower - goal,
        deep=found.distance + goal,
        reach=reach,
        one=_ONE * size + rounding,
    )
    origin = 0.5 * (witness[0] + witness[1])
    axes = np.array([*tangent_frame(tuple(n.tolist())), n])
    first, second = (
        _Side(body, point, sign, angle, (origin, axes), limits.beside)
        for body, point, sign in zip(bodies, witness, (1.0, -1.0), strict=True)
    )
    if first.is_a_point or second.is_a_point:
        return alone
    corners = _corners(first, second, limits)
    if not corners:
        return alone
    gap = [found.distance, *(top - bottom for _, _, bottom, top in corners)]
    chosen = _choose_points([(0.0, 0.0), *((x, y) for x, y, *_ in corners)], gap, most, limits)
    rows = np.array([corners[k - 1] for k in chosen])
    x, y = (rows[:, [0, 1, k]] @ axes + origin for k in (2, 3))
    if chosen[0] == 0:
        x, y = (np.vstack([point[None], each[1:]]) for point, each in zip(witness, (x, y), strict=True))
    return x, y, np.array([gap[k] for k in chosen])


def _corners(first: _Side, second: _Side, limits: _Limits) -> list[Corner]:
    """Return the corners of the patch."""
    convex = first.one_piece and second.one_piece
    corners: dict[Corner, None] = {}
    for i, j in [(0, 0)] if convex else _near_pieces(first.boxes, second.boxes, limits):
        p, q = first.piece(i), second.piece(j)
        for place in _common_part(p, q, limits, convex):
            bottom, top = p.height(place), q.height(place)
            if limits.least <= top - bottom <= limits.reach:
                corners[(*place, bottom, top)] = None
    return [corner for corner in corners if not (first.hides(corner, limits) or second.hides(corner, limits))]


def _near_pieces(boxes: FloatArray, others: FloatArray, limits: _Limits) -> Iterator[tuple[int, int]]:
    """Yield the numbers of pieces of both bodies whose boxes overlap across the normal, with gaps in the limits."""
    step = max(1, ROWS_AT_ONCE // max(1, len(others)))
    for start in range(0, len(boxes), step):
        lower, upper = boxes[start : start + step, None, 0], boxes[start : start + step, None, 1]
        near = (lower[..., :2] - limits.beside <= others[:, 1, :2]).all(axis=2)
        near &= (others[:, 0, :2] <= upper[..., :2] + limits.beside).all(axis=2)
        near &= others[:, 0, 2] <= upper[..., 2] + limits.reach + limits.beside
        near &= others[:, 1, 2] >= lower[..., 2] + limits.least - limits.beside
        for i, j in np.argwhere(near).tolist():
            yield start + i, j


def _choose_points(places: list[Point], gap: list[float], most: int, limits: _Limits) -> list[int]:
    """Return the numbers of the points to return, deepest first; number 0 is the pair of witness points."""
    deep, one = limits.deep, limits.one
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
        corners = simplify_polygon(places, corners, most - len(inner), held)
    return sorted([*inner, *corners], key=lambda k: (k != 0, gap[k]))


def _is_beside(place: Point, polygon: list[Point], one: float) -> bool:
    """Return whether a place is in a polygon, or outside by at most a small part of the polygon's width."""
    slack = max(one, _BESIDE * max(math.dist(polygon[0], corner) for corner in polygon))
    if len(polygon) > 2:
        return bool(clip_polygon([place], edge_lines(polygon), slack))
    (px, py), (qx, qy) = polygon[0], polygon[-1]
    dx, dy = qx - px, qy - py
    square = dx * dx + dy * dy
    along = min(1.0, max(0.0, ((place[0] - px) * dx + (place[1] - py) * dy) / square)) if square > 0.0 else 0.0
    return math.dist(place, (px + along * dx, py + along * dy)) <= slack
