# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Convex hull of points, and what its support points and its planes may lose against the points as they were given.

Qhull decides with tolerances: next to sharp edges, in needles and in sheets it leaves out points that stick out by many
times its tolerance, and its facets need not be convex there. So nothing rests on Qhull that is not measured afterwards.

Let o be a point inside, m_f unit vectors normal to the facets, o_f the least of m_f . (x - o) over the corners of a
facet, r the least of all o_f. Where every r > 0, the facets close and their solid angles about o add up to 4 pi, each
ray from o meets one facet. Let P be the points x with m_f . (x - o) <= o_f for all f, and B what the facets enclose:
on a ray, P ends before B does, so P lies in B, which lies in the hull of the corners. Let beta be the largest
m_f . (x - o) - o_f over all points x that were given. They lie in P scaled by 1 + beta / r about o, hence

    h(points) - h(corners) <= beta / r max |x - o|.

**Climbing.** Let v be a corner with n . w <= n . v for all its neighbours w, and n . (v - o) >= 0. For a point u of P
take the plane through o, v, u. On the side of u it leaves v through a facet f and meets its opposite edge in p, a mean
of neighbours. In the plane u - v = b (p - v) - c (v - o) with b >= 0, and c >= 0 since u lies below the plane of f. So
n . u <= n . v, and no point that was given lies higher than n . v by more than the bound above. Both assumptions
are tested by `kinds.climbed_vertex`, the first one with what the heights round; where one does not hold, all corners
are looked at. Here m_f must be normal to the facet: what it misses of that counts with beta.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats1, Floats2, Floats3
from superovoid.compiled.kernels import entry_point
from superovoid.shapes.kernels.rounding import EPS

FloatArray = NDArray[np.float64]

_CLIMB_FROM = 500  # vertices from which climbing over neighbours is faster than looking at all (`vertex_scan`)
# Of the radius, what a hull may lose at most: with more, points are not left out, and corners are not climbed. Bounds
# for culling are of the corners, and what they lose has to be small against 1e-12.
_MOST_DROPPED, _MOST_CLIMBED = 2e-13, 1e-12
_HEIGHTS = 8.0 * EPS  # of the radius: what a height above a plane rounds, for points about o and rounded normals
_GROUP = 32  # points that are compared with a plane together


def normals(vertices: FloatArray, faces: NDArray[np.int64]) -> FloatArray:
    """Normals of triangles, twice as long as their areas, shape (m, 3)."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    return np.cross(b - a, c - a)


def _solid_angle(corners: FloatArray) -> float:
    """Sum of the signed solid angles of triangles (m, 3, 3) about the origin (Van Oosterom and Strackee 1983)."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c))
    below = la * lb * lc
    below += np.einsum("ij,ij->i", a, b) * lc + np.einsum("ij,ij->i", b, c) * la + np.einsum("ij,ij->i", c, a) * lb
    return 2.0 * float(np.arctan2(volume, below).sum())


def winding(corners: FloatArray) -> float:
    """Winding number of triangles (m, 3, 3) about the origin."""
    return _solid_angle(corners) / (4.0 * math.pi)


def _in_groups(points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points put in groups that lie together: shape (groups, _GROUP, 3), with centre and radius of a ball around each.

    Sorted into slabs by x, these by y, these by z; the last point of all fills its group.
    """
    count = len(points)
    slabs = max(1, math.ceil((count / _GROUP) ** (1.0 / 3.0)))
    key = np.zeros(count, dtype=np.int64)
    for axis in range(3):
        order = np.lexsort((points[:, axis], key))
        points, key = points[order], key[order]
        # The place of a point in its slab, in `slabs` parts.
        _, first, sizes = np.unique(key, return_index=True, return_counts=True)
        place = np.arange(count) - np.repeat(first, sizes)
        key = key * slabs + place * slabs // np.repeat(sizes, sizes)
    filled = np.append(np.arange(count), np.full(-count % _GROUP, count - 1))
    grouped = points[filled].reshape(-1, _GROUP, 3)
    centres = 0.5 * (grouped.min(axis=1) + grouped.max(axis=1))
    # A little more than the radius: whom rounding lifts over a plane is then compared.
    radii = np.sqrt(((grouped - centres[:, None]) ** 2).sum(axis=2)).max(axis=1) + 1e-12 * np.abs(points).max()
    return grouped, centres, radii


def most_above(unit: FloatArray, offsets: FloatArray, points: FloatArray) -> float:
    """Largest n . x - offset over many planes of unit normals n and many points x, or 0 where none is above any.

    A plane that a ball around a group is below is not compared with the points of the group one by one.
    """
    if not len(points) or not len(unit):
        return 0.0
    grouped, centres, radii = _in_groups(points)
    return float(_most_above(np.ascontiguousarray(unit), np.ascontiguousarray(offsets), grouped, centres, radii))


@entry_point
def _most_above(unit: Floats2, offsets: Floats1, grouped: Floats3, centres: Floats2, radii: Floats1) -> float:
    most = 0.0
    for g in range(grouped.shape[0]):
        x, y, z = centres[g, 0], centres[g, 1], centres[g, 2]
        for f in range(unit.shape[0]):
            u, v, w = unit[f, 0], unit[f, 1], unit[f, 2]
            level = offsets[f] + most
            if u * x + v * y + w * z + radii[g] > level:
                for i in range(grouped.shape[1]):
                    height = u * grouped[g, i, 0] + v * grouped[g, i, 1] + w * grouped[g, i, 2]
                    most = max(most, height - offsets[f])
    return most


@entry_point
def _above_each(unit: Floats2, offsets: Floats1, points: Floats2, above: Floats1) -> None:
    """Largest n . x - offset over planes, for each point."""
    for i in range(points.shape[0]):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        most = -math.inf
        for f in range(unit.shape[0]):
            most = max(most, unit[f, 0] * x + unit[f, 1] * y + unit[f, 2] * z - offsets[f])
        above[i] = most


class Hull:
    """Convex hull of vertices.

    Attributes
    ----------
    corners : (n, 3) ndarray
        Points whose hull it is, m.
    facets : (m, 3) ndarray of int
        Triangles, outward oriented.
    planes : (k, 4) ndarray
        Normals and offsets of the planes of the facets.
    loss : float
        How far the depth of a point, as the planes give it, may be from that in the hull, m.
    support_loss : float
        By how much a support value of the corners may be too small, m (module docstring).
    climbs : bool
        Whether support points can be had by climbing.
    """

    def __init__(self, owner: str, vertices: FloatArray) -> None:
        from scipy.spatial import ConvexHull, QhullError  # late: importing it takes longer than most programs need it

        # Qhull's tolerances grow with the coordinates.
        middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
        try:
            hull = ConvexHull(vertices - middle)
        except QhullError:
            raise ValueError(f"{owner}.vertices: must span a volume, found points of (nearly) one plane") from None
        number = np.full(len(vertices), -1)
        number[hull.vertices] = np.arange(len(hull.vertices))
        self.corners = np.ascontiguousarray(vertices[hull.vertices])
        self.facets = number[hull.simplices]
        self.volume = float(hull.volume)
        outward = hull.equations[:, :3]
        wrong = np.einsum("ij,ij->i", outward, normals(self.corners, self.facets)) < 0.0
        self.facets[wrong] = self.facets[wrong][:, ::-1]
        self.facets.flags.writeable = False  # `ConvexMesh.faces` returns them
        self._measure(vertices)
        self.planes, group = self._planes(outward)
        self.loss = self._loss(vertices, group)

    def flatten(self, vertices: FloatArray, half: float) -> None:
        """Take as the corners points of one plane, where this is the hull of a slab that reaches `half` to either side.

        The planes stay those of the slab. The depth of a point in it differs from that in the hull of the points by no
        more than `half`, which is added to `loss`.
        """
        self.corners, self.facets, self.volume = vertices, np.empty((0, 3), dtype=np.int64), 0.0
        self.radius = float(np.linalg.norm(vertices, axis=1).max())
        self.support_loss, self.climbs = 0.0, False
        self.loss += half

    def _measure(self, vertices: FloatArray) -> None:
        """Set `support_loss` and `climbs`; keep vertices that Qhull has left out as corners where it loses too much."""
        self.climbs = False
        self.support_loss = 0.0
        self.radius = float(np.linalg.norm(vertices, axis=1).max())
        self.centre, self.inner = self.corners.mean(axis=0), 0.0
        many = len(self.corners) > _CLIMB_FROM
        known = {row.tobytes() for row in self.corners + 0.0}
        others = [row for row in np.unique(vertices + 0.0, axis=0) if row.tobytes() not in known]
        if not others and not many:
            return
        rest = np.array(others).reshape(-1, 3)
        lost, outside = self._lost(rest)
        if lost > _MOST_DROPPED * self.radius and outside.any():
            # Behind the corners of facets, so that the numbers in `facets` hold.
            self.corners = np.ascontiguousarray(np.vstack([self.corners, rest[outside]]))
            return
        self.climbs = many and lost <= _MOST_CLIMBED * self.radius
        self.support_loss = lost if self.climbs or outside.any() else 0.0

    def _lost(self, rest: FloatArray) -> tuple[float, NDArray[np.bool_]]:
        """What the hull of the corners may lose of them and of other points, m, and which of these may be outside it.

        Infinite where the facets are not what the module docstring takes for granted.
        """
        unknown = np.ones(len(rest), dtype=bool)
        edges = np.vstack([self.facets[:, [0, 1]], self.facets[:, [1, 2]], self.facets[:, [2, 0]]])
        count = len(self.corners)
        ahead, back = edges[:, 0] * count + edges[:, 1], edges[:, 1] * count + edges[:, 0]
        if len(np.unique(ahead)) < len(ahead) or not np.array_equal(np.sort(ahead), np.sort(back)):
            return math.inf, unknown
        # Where a long double is no wider than a double, normals of slivers count for less.
        wide = np.longdouble
        a, b, c = (self.corners[self.facets[:, i]].astype(wide) for i in range(3))
        own = np.cross(b - a, c - a)
        area = np.linalg.norm(own, axis=1)
        if not (area > 0.0).all():
            return math.inf, unknown
        lengths = np.linalg.norm(b - a, axis=1) * np.linalg.norm(c - a, axis=1)
        tilt = 16.0 * float(np.finfo(wide).eps) * float((lengths / area).max())
        unit = (own / area[:, None]).astype(np.float64)
        about = self.corners - self.centre
        offsets = np.einsum("ik,ijk->ij", unit, about[self.facets]).min(axis=1)
        points = np.concatenate([about, rest - self.centre])
        farthest = float(np.linalg.norm(points, axis=1).max())
        margin = _HEIGHTS * self.radius + 2.0 * tilt * farthest
        inner = float(offsets.min()) - margin
        if not inner > 0.0 or abs(_solid_angle(about[self.facets]) - 4.0 * math.pi) > 1.0:
            return math.inf, unknown
        above = np.empty(len(points))
        _above_each(unit, offsets, points, above)
        self.inner = inner
        return (max(float(above.max()), 0.0) + margin) * farthest / inner, above[len(about) :] > -margin

    def _planes(self, outward: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
        """Planes of the facets, those of one plane as one, and the number of the plane of each facet.

        The offset of a plane is that of the farthest of the corners of its facets.
        """
        _, first, group = np.unique(np.round(outward, 12), axis=0, return_index=True, return_inverse=True)
        group = group.reshape(-1)
        unit = outward[first] / np.linalg.norm(outward[first], axis=1)[:, None]
        offsets = np.full(len(unit), -np.inf)
        np.maximum.at(offsets, group, np.einsum("ik,ijk->ij", unit[group], self.corners[self.facets]).max(axis=1))
        return np.column_stack([unit, offsets]), group

    def _loss(self, vertices: FloatArray, group: NDArray[np.int64]) -> float:
        """How far the depth of a point, as the planes give it, may be from that in the hull, m.

        A plane proves as much as no vertex lies above it. A facet proves as much as its own plane n is that of its
        group: n . (p - a) exceeds the group's by no more than the tilt times |p - a|. A facet that is a needle of width
        w comes within w of an edge, where its neighbours say as much.
        """
        unit, offsets = self.planes[:, :3], self.planes[:, 3]
        above = most_above(unit, offsets, vertices)
        radius = float(np.linalg.norm(self.corners, axis=1).max())
        wide = np.longdouble  # where it is no wider than a float, the loss is larger
        a, b, c = (self.corners[self.facets[:, i]].astype(wide) for i in range(3))
        edges = np.stack([np.linalg.norm(b - a, axis=1), np.linalg.norm(c - b, axis=1), np.linalg.norm(a - c, axis=1)])
        own = np.cross(b - a, c - a)
        area = np.linalg.norm(own, axis=1)
        turned = np.sign((own * unit[group]).sum(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            tilt = np.linalg.norm(turned[:, None] * own / area[:, None] - unit[group], axis=1)
            tilt += 16.0 * float(np.finfo(wide).eps) * edges[0] * edges[2] / area
        heights = np.einsum("ik,ijk->ij", unit[group], self.corners[self.facets]).max(axis=1)
        width = area / edges.max(axis=0)
        tilted = np.where(area > 0.0, np.fmin(2.0 * radius * tilt, 2.0 * width), 0.0)
        return float((tilted + (offsets[group] - heights)).max()) + above + 16.0 * EPS * radius

    def links(self) -> FloatArray:
        """What climbing needs: `centre`, half of `inner`; offsets of the first neighbour of each corner; neighbours."""
        edges = np.vstack([self.facets[:, [0, 1]], self.facets[:, [1, 2]], self.facets[:, [2, 0]]])
        edges = np.unique(np.vstack([edges, edges[:, ::-1]]), axis=0)
        count = len(self.corners)
        starts = np.searchsorted(edges[:, 0], np.arange(count + 1)) + count + 1
        head = [*self.centre, 0.5 * self.inner]
        return np.concatenate([head, starts + len(head), edges[:, 1]]).astype(np.float64)
