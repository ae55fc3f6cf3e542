# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies that are symmetric about one common point overlap as deep along the normal as against it.

The difference of two such bodies is its own mirror image, so h(-n) = h(n) for each n: `ARBITRARY_NORMAL` is due.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, ConvexMesh, Cylinder, Ellipsoid, Sphere, Status, Superovoid, distance

TOLERANCE = 1e-9
SIZE = np.array([0.006, 0.009, 0.013])
CORNERS = np.random.default_rng(70).normal(size=(9, 3)) * SIZE
SHAPES = {
    "sphere": Sphere(0.007),
    "ellipsoid": Ellipsoid(SIZE),
    "box": Box(2.0 * SIZE),
    "capsule": Capsule(0.006, 0.02),
    "cylinder": Cylinder(0.006, 0.02),
    "mesh": ConvexMesh(np.concatenate([CORNERS, -CORNERS])),
    "boxy": Superovoid(SIZE, section_exponent=0.2, profile_exponent=0.3),
    "round": Superovoid(SIZE, section_exponent=0.9, profile_exponent=1.2),
}
PAIRS = [(a, b) for i, a in enumerate(SHAPES) for b in list(SHAPES)[i:]]


def poses_about_one_point(rng, off):
    poses = np.repeat(np.eye(4)[None], 2, axis=0)
    poses[:, :3, :3] = Rotation.random(2, random_state=int(rng.integers(1 << 30))).as_matrix()
    poses[:, :3, 3] = 0.01 * rng.normal(size=3)
    poses[1, :3, 3] += off
    return poses


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_the_opposite_way_out_of_bodies_about_one_point_is_said(a, b):
    rng = np.random.default_rng(71)
    for share in (0.0, 0.0, 0.0, 1e-6, 1e-3, 0.05):
        # Moving B by less than 0.1 goal changes both depths by less: they differ by less than the goal.
        pose_a, pose_b = poses_about_one_point(rng, share * TOLERANCE * 0.006 * rng.uniform(-1, 1, 3))
        result = distance(SHAPES[a], pose_a, SHAPES[b], pose_b, rtol=TOLERANCE)
        swapped = distance(SHAPES[b], pose_b, SHAPES[a], pose_a, rtol=TOLERANCE)
        for one in (result, swapped):
            assert one.distance < 0.0
            assert one.status & Status.ARBITRARY_NORMAL
            assert not one.status.differentiable


@pytest.mark.parametrize(("a", "b"), [pair for pair in PAIRS if {*pair} <= {"sphere", "ellipsoid", "capsule"}])
def test_no_other_way_out_is_said_where_the_opposite_one_is_longer(a, b):
    # Without flat faces and rims, bodies moved along the normal have no way out to the side that is as short.
    rng = np.random.default_rng(72)
    pose_a, pose_b = poses_about_one_point(rng, 0.0)
    pose_b[:3, 3] += 0.3 * 0.006 * distance(SHAPES[a], pose_a, SHAPES[b], pose_b).normal
    assert not distance(SHAPES[a], pose_a, SHAPES[b], pose_b).status & Status.ARBITRARY_NORMAL
