# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The polygonal representation (Gonçalves et al. 2017, section 3.4) in current FCL, through python-fcl."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.shapes import Superovoid
from superovoid.shapes.poses import as_poses
from superovoid.shapes.superovoid import even_angles
from superovoid_papers.methods.result import MethodResult, unproven_result

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def mesh(body: Superovoid, vertices: int) -> tuple[FloatArray, IntArray]:
    """Return a closed mesh of a body with a given number of vertices, all on the surface, even in arc length.

    Parameters
    ----------
    body : Superovoid
    vertices : int
        Two poles and m x k others on m meridians and k parallels; m and k are the factors of ``vertices - 2`` with a
        ratio nearest to 2. The paper's meshes have 18, 290 and 786 vertices.

    Returns
    -------
    vertices : (n, 3) ndarray
        Frame of the body, m.
    triangles : (2 n - 4, 3) ndarray of int
        Counter-clockwise seen from outside.

    Raises
    ------
    ValueError
        If there are no factors m and k of at least 3, each at most 4 times the other.
    """
    count = int(vertices) - 2
    factors = [(count // k, k) for k in range(3, count + 1) if count % k == 0 and count // k >= 3]
    factors = [(m, k) for m, k in factors if k <= 4 * m and m <= 4 * k]
    if not factors:
        raise ValueError(f"vertices = {vertices}: must be 2 + m k, m meridians and k parallels, 3 or more, 18 for one")
    m, k = min(factors, key=lambda pair: abs(np.log(0.5 * pair[0] / pair[1])))
    eta = even_angles(body.profile_exponent, k + 2, half=True)[1:-1]
    omega = even_angles(body.section_exponent, m + 1, half=False)[:-1]
    poles = body.surface_point([-0.5 * np.pi, 0.5 * np.pi], [0.0, 0.0])
    points = np.vstack([body.surface_point(eta[:, None], omega[None, :]).reshape(-1, 3), poles])
    grid = np.arange(count).reshape(k, m)
    a, b, c, d = grid[:-1], np.roll(grid[:-1], -1, axis=1), np.roll(grid[1:], -1, axis=1), grid[1:]
    south, north = np.full(m, count), np.full(m, count + 1)
    faces = [np.stack(corners, axis=-1).reshape(-1, 3) for corners in ((a, b, c), (a, c, d))]
    faces.append(np.stack([south, np.roll(grid[0], -1), grid[0]], axis=-1))
    faces.append(np.stack([north, grid[-1], np.roll(grid[-1], -1)], axis=-1))
    return points, np.vstack(faces)


def _fcl() -> Any:
    try:
        import fcl
    except ImportError as error:
        raise ImportError(
            f"{error}: meshes are left to FCL as in the paper; "
            "pip install 'superovoid_papers[bench]' installs python-fcl"
        ) from error
    return fcl


class MeshPair:
    """Two triangle meshes in FCL, in its trees of boxes (OBBRSS): minimum distance, and whether they meet.

    FCL's meshes are surfaces: their distance is 0 if they intersect, and positive if one is inside the other.

    Parameters
    ----------
    vertices_a, vertices_b : (n, 3) array_like
        Frames of the bodies, m.
    triangles_a, triangles_b : (m, 3) array_like of int

    Raises
    ------
    ImportError
        If python-fcl is not installed.
    """

    def __init__(
        self, vertices_a: ArrayLike, triangles_a: ArrayLike, vertices_b: ArrayLike, triangles_b: ArrayLike
    ) -> None:
        self._fcl = _fcl()
        self._a, self._b = self._object(vertices_a, triangles_a), self._object(vertices_b, triangles_b)
        self._poses = np.tile(np.eye(4), (2, 1, 1))

    def __reduce__(self) -> str:
        raise TypeError("a MeshPair cannot be pickled or copied, like FCL's models; create another one from the meshes")

    def _object(self, vertices: ArrayLike, triangles: ArrayLike) -> Any:
        points, faces = np.asarray(vertices, dtype=np.float64), np.asarray(triangles, dtype=np.int64)
        model = self._fcl.BVHModel()
        model.beginModel(len(faces), len(points))
        model.addSubModel(points, faces)
        model.endModel()
        return self._fcl.CollisionObject(model, self._fcl.Transform())

    def place(self, pose_a: ArrayLike, pose_b: ArrayLike) -> None:
        """Set both poses, (4, 4), body to world, m."""
        self._poses = np.stack([as_poses("pose_a", pose_a), as_poses("pose_b", pose_b)])
        for body, pose in zip((self._a, self._b), self._poses, strict=True):
            body.setTransform(self._fcl.Transform(pose[:3, :3].copy(), pose[:3, 3].copy()))

    def distance_call(self) -> Callable[[], float]:
        """Return a function that calls FCL for the distance."""
        fcl, a, b, request = self._fcl, self._a, self._b, self._fcl.DistanceRequest(enable_nearest_points=True)
        return lambda: fcl.distance(a, b, request, fcl.DistanceResult())

    def meets_call(self) -> Callable[[], int]:
        """Return a function that calls FCL for the number of contacts, at most one."""
        fcl, a, b, request = self._fcl, self._a, self._b, self._fcl.CollisionRequest()
        return lambda: fcl.collide(a, b, request, fcl.CollisionResult())

    def meets(self) -> bool:
        """Return whether the surfaces have a common point (the paper's BVH proximity query)."""
        return self.meets_call()() > 0

    def distance(self) -> MethodResult:
        """Return the minimum distance of the surfaces; the normal is nan if they meet."""
        result = self._fcl.DistanceResult()
        request = self._fcl.DistanceRequest(enable_nearest_points=True)
        value = max(0.0, self._fcl.distance(self._a, self._b, request, result))
        points = [np.asarray(point) for point in result.nearest_points]
        d = points[1] - points[0]
        return unproven_result(value, points[0], points[1], d / value if value > 0.0 else np.full(3, np.nan), 0, True)
