# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The contacts of a state, against the distances of all pairs."""

from types import SimpleNamespace

import numpy as np
import pytest

from superovoid.planning.scene_problem import pairs_of_group
from superovoid.robot import Robot
from superovoid.robot.planning_scene import Padding, PlanningScene
from superovoid.shapes import Box, Cylinder, Sphere, Superovoid
from superovoid_ros.nodes.distance_service.answers.state_validity import contacts_of
from superovoid_ros.nodes.distance_service.world.model import Model

import arm

GROUPS = '<group name="sliding"><joint name="slide"/></group><group name="turning"><joint name="wrist"/></group>'
BALL = {"ball": arm.at(0.0, 0.0, 5.0)}


def model_with(padding):
    robot = Robot.from_urdf(arm.URDF, srdf=arm.SRDF.replace("</robot>", f"{GROUPS}</robot>"))
    edit = PlanningScene(robot).edit()
    for name, shape, place in (
        ("shelf", Box((0.2, 0.8, 0.04)), arm.at(1.2, 0.3, 0.05)),
        ("pole", Cylinder(0.05, 1.0), arm.at(0.8, -0.4, 0.0)),
        ("cup", Sphere(0.05), arm.at(1.8, 0.3, 0.0)),
    ):
        edit.add(name, [shape], np.eye(4)[None], place)
    edit.padding = padding
    return Model(edit.commit())


def is_clear(model, group, positions):
    """Return whether a state has no contact."""
    poses = model.robot.forward_kinematics(positions, BALL)
    state = SimpleNamespace(planning=model.planning, positions=positions, poses=poses, base_poses=BALL)
    contacts, doubts = contacts_of(state, model.clearance_query(group))
    return not contacts and not doubts


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
    seen = set()
    for positions in states(model, 60):
        scene = planning.scene.fork()
        scene.set_link_poses(model.robot.forward_kinematics(positions, BALL))
        expected = bool((planning.clearances(scene.query(pairs=pairs)).lower > 0.0).all())
        assert is_clear(model, group, positions) == expected
        seen.add(expected)
    assert seen == {True, False}


def test_what_only_touches_is_not_clear():
    robot = Robot.from_urdf(arm.URDF, srdf=arm.SRDF)
    edit = PlanningScene(robot).edit()
    positions = dict.fromkeys(robot.joint_names, 0.0)
    hand = robot.forward_kinematics(positions, BALL)["hand"]
    edit.add("cup", [Sphere(0.1)], np.eye(4)[None], hand @ arm.at(0.5, 0.0, 0.15))  # next to the ball of 0.05 in it
    model = Model(edit.commit())
    assert not is_clear(model, "", positions)


def test_a_clearance_that_is_not_proved_is_not_clear():
    robot, positions = Robot.from_urdf(arm.URDF, srdf=arm.SRDF), {"slide": 0.1, "wrist": 0.4}
    egg = Superovoid.from_goncalves((0.3, 0.2, 0.25), (0.4, 0.5), (0.1, -0.2))
    uncertain = 0
    for number in range(20):
        edit = PlanningScene(robot, rtol=0.1).edit()
        edit.add("egg", [egg], np.eye(4)[None], arm.at(2.0, 0.1 * number - 1.0, 0.05 * number))
        scene = edit.commit().scene
        scene.set_link_poses(robot.forward_kinematics(positions, BALL))
        closest = scene.query(max_results=1)
        margin = 0.5 * (closest.lower[0] + closest.distance[0])
        if closest.lower[0] > 0.0 and margin + 1e-8 < closest.distance[0]:
            uncertain += 1
            edit.padding = Padding(margin=float(margin))
            assert not is_clear(Model(edit.commit()), "", positions)
    assert uncertain
