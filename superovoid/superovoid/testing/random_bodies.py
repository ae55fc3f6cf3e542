# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random bodies of every kind, and poses."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from superovoid.shapes import Box, Capsule, Cone, ConvexMesh, Cylinder, Mesh, Shape, Sphere, Superovoid, Torus

if TYPE_CHECKING:
    import trimesh

NON_CONVEX = "dented superovoid"
KINDS = ("superovoid", "sphere", "capsule", "box", "cylinder", "cone", "convex mesh", "torus", "mesh", NON_CONVEX)


@cache
def _ring() -> trimesh.Trimesh:
    return Torus(1.0, 0.3).tessellate(16)


def random_shape(kind: str, rng: np.random.Generator) -> Shape:
    """Return a random body of a kind, with lengths from 0.2 to 1.5, log-uniform."""
    x, y, z = np.exp(rng.uniform(np.log(0.2), np.log(1.5), 3))
    if kind == "superovoid":
        taper = rng.uniform(-0.25, 0.25)
        return Superovoid.from_goncalves((x, y, z), rng.uniform(0.3, 1.3, 2), (taper, taper))
    if kind == NON_CONVEX:
        while True:
            body = Superovoid.from_goncalves((x, y, z), rng.uniform(0.3, 1.7, 2), rng.uniform(-0.5, 0.5, 2))
            if not body.convexity().convex:
                return body
    if kind == "sphere":
        return Sphere(float(x))
    if kind == "box":
        return Box((2.0 * x, 2.0 * y, 2.0 * z))
    if kind == "torus":
        return Torus(x, x * rng.uniform(0.1, 0.7))
    if kind == "convex mesh":
        return ConvexMesh(x * rng.normal(size=(rng.integers(5, 90), 3)))
    if kind == "mesh":
        return Mesh(x * _ring().vertices, _ring().faces)
    return {"capsule": Capsule, "cylinder": Cylinder, "cone": Cone}[kind](x, 2.0 * y)


def random_pose(rng: np.random.Generator, reach: float) -> NDArray[np.float64]:
    """Return a uniformly random rotation with a translation of length `reach` in a uniformly random direction."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    direction = rng.normal(size=3)
    pose[:3, 3] = reach * direction / np.linalg.norm(direction)
    return pose
