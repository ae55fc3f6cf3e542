# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Whether objects are still in place, compared with their points moved one by one."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid.robot import Robot
from superovoid.robot.planning_scene import PlanningScene
from superovoid.shapes import Box, ConvexMesh, HalfSpace, Sphere
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.robot_state.latest import StampedTransform
from superovoid_ros.nodes.distance_service.robot_state.measured import Joints, Measured
from superovoid_ros.nodes.distance_service.robot_state.places import places

ROBOT = Robot.from_urdf('<robot name="stand"><link name="stand"/></robot>')
TOLERANCE = 1e-3


class Transforms:
    """Where frames are now."""

    def __init__(self, frames):
        self._frames = frames

    def lookup(self, _root, frame):
        if frame not in self._frames:
            raise InputError(f"no transform from '{frame}'")
        return StampedTransform(self._frames[frame])


def pose(random, reach=1.0, turn=np.pi):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(turn * random.uniform(-1, 1, 3)).as_matrix()
    matrix[:3, 3] = random.uniform(-reach, reach, 3)
    return matrix


def scene_of(random, count, frame="map", before=None):
    edit = PlanningScene(ROBOT).edit()
    for i in range(count):
        shapes = [Sphere(0.1), Box((0.2, 0.4, 0.6)), ConvexMesh(random.normal(size=(8, 3)))][: 1 + i % 3]
        places = np.array([pose(random) for _ in shapes])
        edit.add(
            f"thing{i}", shapes, places, pose(random), outside_frame=(frame, np.eye(4) if before is None else before)
        )
    return edit


def corners(thing):
    """Points of an object in the root frame: of its shapes, in many directions."""
    directions = np.random.default_rng(1).normal(size=(200, 3))
    rows = []
    for shape, place in zip(thing.shapes, thing.object_from_shape, strict=True):
        points = shape.support(directions)
        world = thing.pose @ place
        rows.append(points @ world[:3, :3].T + world[:3, 3])
    return np.concatenate(rows)


def is_still(planning, **frames):
    values = {"frame_prefix": "", "frame_tolerance": TOLERANCE}
    measured = Measured(values.__getitem__, Joints(), Transforms(frames))
    try:
        measured.check_still(ROBOT, places(planning))
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("seed", range(6))
def test_no_point_of_a_still_body_moves_beyond_the_tolerance(seed):
    random = np.random.default_rng(seed)
    before = pose(random)
    planning = scene_of(random, 6, before=before).commit()
    known = {name: corners(thing) for name, thing in planning.objects.items()}
    for size in (1e-5, 1e-4, 3e-4, 1e-3, 1e-2):
        motion = pose(random, reach=size, turn=size)
        words = is_still(planning, map=motion @ before)
        turned = (motion[:3, :3] - np.eye(3)).T
        farthest = {
            name: np.linalg.norm(points @ turned + motion[:3, 3], axis=1).max() for name, points in known.items()
        }
        if not words:
            assert max(farthest.values()) <= TOLERANCE + 1e-12
        else:
            # A bound, which is not loose by more than what turns and what shifts may add up to.
            assert max(farthest.values()) > TOLERANCE / 6
            assert "'map'" in words and any(f"'{name}'" in words for name in farthest)
    assert not is_still(planning, map=before)


def test_a_plane_may_shift_a_little_and_not_turn():
    edit = PlanningScene(ROBOT).edit()
    edit.add("floor", [HalfSpace()], np.eye(4)[None], np.eye(4), outside_frame=("map", np.eye(4)))
    planning = edit.commit()
    shifted, turned = np.eye(4), np.eye(4)
    shifted[2, 3] = 5e-4
    turned[:3, :3] = Rotation.from_rotvec([1e-6, 0.0, 0.0]).as_matrix()
    assert not is_still(planning, map=shifted)
    assert "'floor'" in is_still(planning, map=turned)


def test_an_unknown_frame_is_refused_with_its_object():
    random = np.random.default_rng(0)
    assert "'thing0' was placed in frame 'map'" in is_still(scene_of(random, 2).commit())
