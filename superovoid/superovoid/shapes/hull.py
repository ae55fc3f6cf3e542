# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Convex hull of points, with bounds of the errors of its support values and of depths below its planes.

Qhull decides with tolerances: next to sharp edges, in needles and in sheets it omits points that stick out by many
times its tolerance, and its facets need not be convex there. So the errors of its result are measured afterwards.

Let H be the hull of all input points, and o a point inside it. Let m_f be the unit normal of facet f as Qhull computes
it, and beta the largest m_f . (x - y) over all facets f, input points x and corners y of f. The facets form a closed
surface. Let r be the smallest m_f . (y - o) over all f and y. If r is positive and the solid angles of the facets about
o add up to 4 pi, each ray from o meets exactly one facet, at a point z with m_f . (z - o) >= r.

**Support values.** Let o_f be the smallest m_f . (y - o) over the corners y of f. An input point x has m_f . (x - o) <=
o_f + beta <= o_f (1 + beta / r). Scale x about o by 1 / (1 + beta / r): then m_f . (x - o) <= o_f for all f. So the
scaled point is not beyond the facet that its ray meets, and lies in the hull of the corners. Hence

    h(H) - h(corners) <= beta / r max |x - o|.

**Depths.** Move each plane m_f . x = max m_f . y, over the corners y of f, outwards by the largest height of an input
point above it. The moved planes enclose H. Let p be a point of H, and x the point of H's boundary nearest to it. The
ray from o through x meets a facet f before x, so x is at most beta below the moved plane of f. If a point moves, its
depth below a plane changes by at most the length of the move. So the smallest depth of p below the moved planes exceeds
|x - p| by at most beta. It is at least |x - p|, since the planes enclose H.
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

_MOST_LOST = 2e-13  # allowed loss of support values by omitted points, as a fraction of the radius
_GROUP = 32  # points compared with a plane at once


def normals(vertices: FloatArray, faces: NDArray[np.int64]) -> FloatArray:
    """Return the normals of triangles, shape (m, 3); their lengths are twice the areas."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    return np.cross(b - a, c - a)


def winding(corners: FloatArray) -> float:
    """Return the winding number of triangles (m, 3, 3) about the origin: the sum of their solid angles over 4 pi.

    Signed solid angles as in Van Oosterom and Strackee, "The solid angle of a plane triangle", 1983.
    """
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c))
    below = la * lb * lc
    below += np.einsum("ij,ij->i", a, b) * lc + np.einsum("ij,ij->i", b, c) * la + np.einsum("ij,ij->i", c, a) * lb
    return float(np.arctan2(volume, below).sum()) / (2.0 * math.pi)


def _in_groups(points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Group neighbouring points, shape (groups, _GROUP, 3); return also centre and radius of a ball around each group.

    The groups follow the order of a tree of boxes; copies of the last point fill the last group.
    """
    count = len(points)
    order = np.arange(count, dtype=np.int32)
    arrange(np.ascontiguousarray(points), order, np.empty((node_count(count), NODE_LENGTH)))
    points = points[order]
    filled = np.append(np.arange(count), np.full(-count % _GROUP, count - 1))
    grouped = points[filled].reshape(-1, _GROUP, 3)
    centres = 0.5 * (grouped.min(axis=1) + grouped.max(axis=1))
    # Slightly enlarge the radius, so that no point that rounding puts above a plane is skipped.
    radii = np.sqrt(((grouped - centres[:, None]) ** 2).sum(axis=2)).max(axis=1) + 1e-12 * np.abs(points).max()
    return grouped, centres, radii


def most_above(unit: FloatArray, offsets: FloatArray, points: FloatArray) -> float:
    """Return the largest n . x - offset over many planes of unit normals n and many points x.

    The points of a group are compared with a plane only if the ball around the group reaches above the plane.
    """
    grouped, centres, radii = _in_groups(points)
    return float(_most_above(np.ascontiguousarray(unit), np.ascontiguousarray(offsets), grouped, centres, radii))


@entry_point(nogil=True)
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
        Vertices of the hull, m.
    facets : (m, 3) ndarray of int
        Triangles, outward oriented.
    planes : (k, 4) ndarray
        Normals and offsets of the planes of the facets.
    loss : float
        Largest error of a depth that is computed from `planes`, m.
    support_loss : float
        Largest amount by which a support value of the corners may be too small, m (module docstring).
    """

    def __init__(self, owner: str, vertices: FloatArray) -> None:
        from scipy.spatial import ConvexHull, QhullError  # here, because its import is slow

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
        others = self._other_points(vertices, hull.vertices)
        if len(others):
            self._leave_out(others, heights - unit[group] @ self.corners.mean(axis=0))

    def _set_planes(self, outward: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        """Set `planes`: facets with equal normals share a plane, through the farthest of their corners.

        Return the index of the plane of each facet, and the height of its lowest corner along that plane's normal.
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
    def _other_points(vertices: FloatArray, numbers: NDArray[np.int32]) -> FloatArray:
        """Return the points that equal none of those with these numbers."""
        _, same = np.unique(vertices + 0.0, axis=0, return_inverse=True)
        is_corner = np.zeros(len(vertices), dtype=bool)
        is_corner[same.reshape(-1)[numbers]] = True
        return vertices[~is_corner[same.reshape(-1)]]

    def _leave_out(self, others: FloatArray, reach: FloatArray) -> None:
        """Bound the error from omitting other points; if it is too large, make these corners too.

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
            # Appended, so that the indices in `facets` stay valid.
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
