# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bounds on the motion of objects by a frame, compared with their points moved one by one."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid.robot import Robot
from superovoid.robot.planning_scene import PlanningScene
from superovoid.shapes import Box, ConvexMesh, HalfSpace, Sphere
from superovoid_ros.nodes.distance_service.robot_state.places import places

ROBOT = Robot.from_urdf('<robot name="stand"><link name="stand"/></robot>')
SLACK = 6.0  # factor by which a bound may be too large: a turn and a shift may cancel each other


def pose(random, reach=1.0, turn=np.pi):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(turn * random.uniform(-1, 1, 3)).as_matrix()
    matrix[:3, 3] = random.uniform(-reach, reach, 3)
    return matrix


def corners(thing):
    """Points of an object in the root frame: of its shapes, in many directions."""
    directions = np.random.default_rng(1).normal(size=(200, 3))
    rows = []
    for shape, place in zip(thing.shapes, thing.object_from_shape, strict=True):
        world = thing.pose @ place
        rows.append(shape.support(directions) @ world[:3, :3].T + world[:3, 3])
    return np.concatenate(rows)


@pytest.mark.parametrize("seed", range(6))
def test_no_point_moves_farther_than_the_bound(seed):
    random = np.random.default_rng(seed)
    before, edit = pose(random), PlanningScene(ROBOT).edit()
    for i in range(6):
        shapes = [Sphere(0.1), Box((0.2, 0.4, 0.6)), ConvexMesh(random.normal(size=(8, 3)))][: 1 + i % 3]
        poses = [pose(random) for _ in shapes]
        edit.add(f"thing{i}", shapes, poses, pose(random), outside_frame=("map", before))
    planning = edit.commit()
    (place,) = places(planning)
    points = np.concatenate([corners(thing) for thing in planning.objects.values()])
    for size in (1e-5, 1e-3, 1e-2):
        motion = pose(random, reach=size, turn=size)
        moved = np.linalg.norm(points @ (motion[:3, :3] - np.eye(3)).T + motion[:3, 3], axis=1).max()
        assert moved <= place.largest_motion(motion @ before) + 1e-12 <= SLACK * moved
    assert place.largest_motion(before) == 0.0


def test_a_plane_may_shift_a_little_and_not_turn():
    edit = PlanningScene(ROBOT).edit()
    edit.add("floor", [HalfSpace()], np.eye(4)[None], np.eye(4), outside_frame=("map", np.eye(4)))
    (place,) = places(edit.commit())
    shifted, turned = np.eye(4), np.eye(4)
    shifted[2, 3] = 5e-4
    turned[:3, :3] = Rotation.from_rotvec([1e-6, 0.0, 0.0]).as_matrix()
    assert place.largest_motion(shifted) == 5e-4 and place.largest_motion(turned) == np.inf
