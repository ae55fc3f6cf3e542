# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pairs of all kinds with parameters, and states of a small robot, for the tests of the bridges."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.spatial.transform import RigidTransform, Rotation

from superovoid.robot import Robot
from superovoid.shapes import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    Shape,
    Sphere,
    Superellipsoid,
    Superovoid,
    Torus,
)

import arm

PARAMETERS: dict[type[Shape], tuple[float, ...]] = {
    Superovoid: (0.3, 0.4, 0.5, 0.9, 0.7, 0.1, 0.2),
    Superellipsoid: (0.3, 0.4, 0.5, 0.9, 0.7),
    Ellipsoid: (0.3, 0.4, 0.5),
    Sphere: (0.4,),
    Box: (0.3, 0.4, 0.5),
    Capsule: (0.2, 0.5),
    Cylinder: (0.3, 0.6),
    Cone: (0.3, 0.5),
    Torus: (0.4, 0.1),
}
KIND_PAIRS = list(itertools.combinations_with_replacement(PARAMETERS, 2))
# Central differences with this step: the intervals of the distances are 1e-9 of a body wide.
STEP, WITHIN = 1e-4, 1e-4


def shape(kind: type[Shape]) -> Shape:
    """Return a body of a kind with the parameters above."""
    values = PARAMETERS[kind]
    if kind in (Superovoid, Superellipsoid):
        return kind.from_goncalves(values[:3], values[3:5], values[5:] or (0.0, 0.0))
    return kind(values) if kind in (Ellipsoid, Box) else kind(*values)


def without_parameters() -> list[Shape]:
    """Return a body of each other kind."""
    vertices, faces = Box((0.3, 0.4, 0.5)).triangles()
    return [HalfSpace(), ConvexMesh(vertices), Mesh(vertices, faces)]


def random_poses(rng: np.random.Generator, *batch: int, reach: float = 1.0) -> np.ndarray:
    """Return poses at a distance from the origin."""
    way = rng.standard_normal((*batch, 3))
    turns = Rotation.from_rotvec(rng.standard_normal((int(np.prod(batch)), 3)))
    poses = np.tile(np.eye(4), (*batch, 1, 1))
    poses[..., :3, :3] = turns.as_matrix().reshape(*batch, 3, 3)
    poses[..., :3, 3] = reach * way / np.linalg.norm(way, axis=-1, keepdims=True)
    return poses


def move(poses: np.ndarray, linear: np.ndarray, angular: np.ndarray) -> np.ndarray:
    """Return poses after a motion along a twist about the origins of the bodies, in the axes of the world."""
    turn = RigidTransform.from_rotation(Rotation.from_rotvec(angular)).as_matrix()
    result = poses.copy()
    result[..., :3, :3] = turn[:3, :3] @ poses[..., :3, :3]
    result[..., :3, 3] += linear
    return result


def robot() -> Robot:
    """Return a robot with a prismatic joint, a revolute joint, a mimic joint and a floating base."""
    return Robot.from_urdf(arm.URDF, srdf=arm.SRDF)


def states(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions of its joints (count, 2), and poses of its base (count, 4, 4)."""
    return rng.uniform((0.2, -1.0), (1.0, 1.0), (count, 2)), random_poses(rng, count, reach=1.5)


def robot_without_base() -> Robot:
    """Return the same robot with the floating body fixed."""
    fixed = arm.URDF.replace('type="floating">', 'type="fixed"><origin xyz="1.2 0.9 0.1"/>')
    return Robot.from_urdf(fixed, srdf=arm.SRDF)
