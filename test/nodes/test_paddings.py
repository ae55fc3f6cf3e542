# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Whether all pairs of a model are clear, in one question; against the distances of all pairs."""

import numpy as np
import pytest

from superovoid.planning.scene_problem import pairs_of_group
from superovoid.robot import Robot
from superovoid.robot.planning_scene import Padding
from superovoid.shapes import Box, Cylinder, Sphere
from superovoid_ros.nodes.distance_service.world.model import Model

import arm

GROUPS = '<group name="sliding"><joint name="slide"/></group><group name="turning"><joint name="wrist"/></group>'
BALL = {"ball": arm.at(0.0, 0.0, 5.0)}


def model_with(padding):
    robot = Robot.from_urdf(arm.URDF, srdf=arm.SRDF.replace("</robot>", f"{GROUPS}</robot>"))
    edit = Model(robot, 1e-9).planning.edit()
    for name, shape, place in (
        ("shelf", Box((0.2, 0.8, 0.04)), arm.at(1.2, 0.3, 0.05)),
        ("pole", Cylinder(0.05, 1.0), arm.at(0.8, -0.4, 0.0)),
        ("cup", Sphere(0.05), arm.at(1.8, 0.3, 0.0)),
    ):
        edit.add(name, [shape], np.eye(4)[None], place)
    edit.padding = padding
    return Model(robot, 1e-9, edit.commit())


def states(model, count):
    random = np.random.default_rng(4)
    for _ in range(count):
        yield {
            name: float(random.uniform(*np.clip(model.robot.joint_limits[name], -3.0, 3.0)))
            for name in model.robot.joint_names
        }


@pytest.mark.parametrize("padding", [Padding(), Padding(default=0.02), Padding(margin=0.03, by_name={"hand": 0.05})])
@pytest.mark.parametrize("group", ["", "sliding", "turning"])
def test_a_state_is_clear_if_every_distance_exceeds_its_padding(padding, group):
    model = model_with(padding)
    planning = model.planning
    pairs = pairs_of_group(planning, group) if group else None
    paddings = model.paddings(group)
    assert paddings is model.paddings(group)
    seen = set()
    for positions in states(model, 60):
        scene = planning.scene.fork()
        scene.set_link_poses(model.robot.forward_kinematics(positions, BALL))
        expected = bool((planning.clearances(scene.query(pairs=pairs)).lower > 0.0).all())
        assert paddings.are_kept(positions, BALL) == expected
        seen.add(expected)
    assert seen == {True, False}


def test_what_only_touches_is_not_clear():
    robot = Robot.from_urdf(arm.URDF, srdf=arm.SRDF)
    edit = Model(robot, 1e-9).planning.edit()
    positions = dict.fromkeys(robot.joint_names, 0.0)
    hand = robot.forward_kinematics(positions, BALL)["hand"]
    edit.add("cup", [Sphere(0.1)], np.eye(4)[None], hand @ arm.at(0.5, 0.0, 0.15))  # next to the ball of 0.05 in it
    model = Model(robot, 1e-9, edit.commit())
    assert not model.paddings("").are_kept(positions, BALL)
