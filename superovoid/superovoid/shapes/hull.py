# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Convex hull of points, and bounds of the errors of its support points and planes relative to all points given.

Qhull decides with tolerances: next to sharp edges, in needles and in sheets it omits points that stick out by many
times its tolerance, and its facets need not be convex there. So the errors of its result are measured afterwards.

Let H be the hull of all points given and o a point inside. Each facet has a unit vector m_f, the normal of its plane
from Qhull, and beta is the largest m_f . (x - y) over all f, all given points x and the corners y of the
facet. The facets form a closed surface. If r, the least m_f . (y - o) over all f and y, is positive, and the solid
angles of the facets about o add up to 4 pi, each ray from o meets one facet, at a point z with m_f . (z - o) >= r.

**Support values.** Scale a given point x about o by 1 / (1 + beta / r). For each f, m_f . (x - o) exceeds the least
o_f of m_f . (y - o) by at most beta <= o_f beta / r. So the scaled point has m_f . (x - o) <= o_f for all f, which
on its ray ends before the facet does: it lies in the hull of the corners. Hence

    h(H) - h(corners) <= beta / r max |x - o|.

**Depths.** The planes m_f . x = max m_f . y of the corners y, moved outwards by the largest height of a given point
above them, enclose H. Let p be a point of H and x the point of H's boundary nearest to it. The ray from o through x
meets a facet f before x, so that x is at most beta below the moved plane of f. The depth of a point below a plane grows
no faster than the point moves. So the least depth of p below the moved planes exceeds |x - p| by at most beta, and is
no less than it, since the planes enclose H.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.aabb_tree import NODE_LENGTH, arrange, node_count
from superovoid.compiled.arrays import Floats1, Floats2, Floats3
from superovoid.compiled.kernels import entry_point
from superovoid.shapes.kernels.hulls import HEIGHT_ROUNDING

FloatArray = NDArray[np.float64]

_MOST_LOST = 2e-13  # of the radius: points are left out if support values lose less; small against 1e-12 of culling
_GROUP = 32  # points compared with a plane at once


def normals(vertices: FloatArray, faces: NDArray[np.int64]) -> FloatArray:
    """Normals of triangles, twice as long as their areas, shape (m, 3)."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    return np.cross(b - a, c - a)


def winding(corners: FloatArray) -> float:
    """Winding number of triangles (m, 3, 3) about the origin: the sum of their signed solid angles, in units of 4 pi.

    Solid angles are those of Van Oosterom and Strackee, "The solid angle of a plane triangle", 1983.
    """
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c))
    below = la * lb * lc
    below += np.einsum("ij,ij->i", a, b) * lc + np.einsum("ij,ij->i", b, c) * la + np.einsum("ij,ij->i", c, a) * lb
    return float(np.arctan2(volume, below).sum()) / (2.0 * math.pi)


def _in_groups(points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points put in groups that lie together: shape (groups, _GROUP, 3), with centre and radius of a ball around each.

    The groups follow the order of a tree of boxes; the last point of all fills its group.
    """
    count = len(points)
    order = np.arange(count, dtype=np.int32)
    arrange(np.ascontiguousarray(points), order, np.empty((node_count(count), NODE_LENGTH)))
    points = points[order]
    filled = np.append(np.arange(count), np.full(-count % _GROUP, count - 1))
    grouped = points[filled].reshape(-1, _GROUP, 3)
    centres = 0.5 * (grouped.min(axis=1) + grouped.max(axis=1))
    # A little more than the radius: whom rounding lifts over a plane is then compared.
    radii = np.sqrt(((grouped - centres[:, None]) ** 2).sum(axis=2)).max(axis=1) + 1e-12 * np.abs(points).max()
    return grouped, centres, radii


def most_above(unit: FloatArray, offsets: FloatArray, points: FloatArray) -> float:
    """Largest n . x - offset over many planes of unit normals n and many points x.

    A plane that a ball around a group is below is not compared with the points of the group one by one.
    """
    grouped, centres, radii = _in_groups(points)
    return float(_most_above(np.ascontiguousarray(unit), np.ascontiguousarray(offsets), grouped, centres, radii))


@entry_point
def _most_above(unit: Floats2, offsets: Floats1, grouped: Floats3, centres: Floats2, radii: Floats1) -> float:
    most = -math.inf
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
        self.radius = float(np.linalg.norm(vertices, axis=1).max())
        self.support_loss = 0.0
        group, heights = self._set_planes(outward)
        unit, offsets = self.planes[:, :3], self.planes[:, 3]
        below = float((offsets[group] - heights).max())
        self.loss = below + max(most_above(unit, offsets, vertices), 0.0) + HEIGHT_ROUNDING * self.radius
        others = self._others(vertices, hull.vertices)
        if len(others):
            self._leave_out(others, heights - unit[group] @ self.corners.mean(axis=0))

    def _set_planes(self, outward: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        """Set `planes`, one for all facets of one normal, through the farthest of their corners.

        Returns the number of the plane of each facet, and the height of its lowest corner along that plane's normal.
        """
        _, first, group = np.unique(np.round(outward, 12), axis=0, return_index=True, return_inverse=True)
        group = group.reshape(-1)
        unit = outward[first] / np.linalg.norm(outward[first], axis=1)[:, None]
        heights = np.einsum("ik,ijk->ij", unit[group], self.corners[self.facets])
        offsets = np.full(len(unit), -np.inf)
        np.maximum.at(offsets, group, heights.max(axis=1))
        self.planes = np.column_stack([unit, offsets])
        return group, heights.min(axis=1)

    @staticmethod
    def _others(vertices: FloatArray, numbers: NDArray[np.int32]) -> FloatArray:
        """Return the points that equal none of those with these numbers."""
        _, same = np.unique(vertices + 0.0, axis=0, return_inverse=True)
        is_corner = np.zeros(len(vertices), dtype=bool)
        is_corner[same.reshape(-1)[numbers]] = True
        return vertices[~is_corner[same.reshape(-1)]]

    def _leave_out(self, others: FloatArray, reach: FloatArray) -> None:
        """Bound what the corners lose against other points, or take these as corners if it is too much.

        `reach` is the height of each facet above the middle of the corners, along its plane's normal.
        """
        middle = self.corners.mean(axis=0)
        inner = float(reach.min()) - HEIGHT_ROUNDING * self.radius
        lost = math.inf
        if inner > 0.0 and self._encloses(middle):
            if most_above(self.planes[:, :3], self.planes[:, 3], others) < -self.loss:
                return
            lost = (
                self.loss / inner * float(np.linalg.norm(np.concatenate([self.corners, others]) - middle, axis=1).max())
            )
        if lost <= _MOST_LOST * self.radius:
            self.support_loss = lost
        else:
            # Behind the corners of facets, so that the numbers in `facets` hold.
            self.corners = np.ascontiguousarray(np.vstack([self.corners, others]))

    def _encloses(self, point: FloatArray) -> bool:
        """Return whether the facets are a closed surface that surrounds a point once."""
        edges = np.vstack([self.facets[:, [0, 1]], self.facets[:, [1, 2]], self.facets[:, [2, 0]]])
        count = len(self.corners)
        ahead, back = edges[:, 0] * count + edges[:, 1], edges[:, 1] * count + edges[:, 0]
        is_closed = len(np.unique(ahead)) == len(ahead) and np.array_equal(np.sort(ahead), np.sort(back))
        return is_closed and abs(winding(self.corners[self.facets] - point) - 1.0) < 0.1

    def flatten(self, vertices: FloatArray, half: float) -> None:
        """Replace the corners by points of one plane, if this is the hull of a slab that extends `half` to either side.

        The planes stay those of the slab. The depth of a point in it differs from that in the hull of the points by at
        most `half`, which is added to `loss`.
        """
        self.corners, self.facets, self.volume = vertices, np.empty((0, 3), dtype=np.int64), 0.0
        self.radius = float(np.linalg.norm(vertices, axis=1).max())
        self.support_loss = 0.0
        self.loss += half
