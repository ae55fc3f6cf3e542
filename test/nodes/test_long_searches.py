# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""While plans or inverse kinematics are searched for the world changes, others ask, the node falls silent.

A search is held from its beginning until the world has changed.
"""

from __future__ import annotations

import numpy as np
import panda
import pytest
from holding import SERVICE, begin, hold
from lifecycle_msgs.msg import Transition
from moveit_msgs.msg import (
    Constraints,
    MoveItErrorCodes,
    RobotState,
)
from moveit_msgs.srv import GetPositionFK, GetStateValidity
from panda_service import (
    LEFT,
    RIGHT,
    ROOT,
    TIP,
    apply,
    block,
    inverse,
    joint_goal,
    joint_state,
    plan,
    region,
    solid,
    start,
    tip,
)
from shape_msgs.msg import SolidPrimitive
from superovoid_interfaces.srv import GetDistances

from superovoid.compiled.threads import processors

import lifecycle
from parameters import set_parameters

pytestmark = panda.NEEDS_PLANNER
Code = MoveItErrorCodes
NEAR_LEFT = (0.6, *LEFT[1:])
NAME = "/distance_service"
THREADS = max(1, processors() - 1)
"""Of each kind of search."""


@pytest.fixture(scope="module")
def service(serve):
    return start(serve, SERVICE, stale_timeout=0.0)


@pytest.fixture
def scene(service, client):
    """The arm at the left of a wall."""
    lifecycle.bring(client, NAME, "active")
    for kind in ("plan", "inverse"):
        hold(client, kind, False)
    assert set_parameters(client, NAME, {"robot_description": panda.urdf()}).successful
    client.call_until(
        lambda response: response.error_code.val == Code.SUCCESS,
        GetPositionFK,
        "/compute_fk",
        fk_link_names=[TIP],
        robot_state=state_of(LEFT),
    )
    apply(client, block("wall", panda.wall()), whole=True)
    return client


def state_of(values):
    return RobotState(is_diff=True, joint_state=joint_state(panda.state_of(values)))


def ball(client, point):
    pose = np.eye(4)
    pose[:3, 3] = point
    apply(client, solid("ball", pose, [0.05], SolidPrimitive.SPHERE))


def begin_plan(client, path=None, to=RIGHT):
    """Ask for a plan, and return its future."""
    fields = {"start_state": state_of(LEFT), "path_constraints": path or Constraints(), "seconds": 60.0}
    return plan(client, joint_goal(to, 1e-3), begin=begin, **fields)


def begin_inverse(client, pose, frame=ROOT, avoid=True):
    return inverse(client, pose, frame, begin, robot_state=state_of(LEFT), avoid_collisions=avoid)


def end(client, future):
    """Let searches go on, and return the answer of one."""
    for kind in ("plan", "inverse"):
        hold(client, kind, False)
    assert client.wait(future.done)
    result = future.result()
    return getattr(result, "motion_plan_response", result)


def is_invalidated(response):
    return response.error_code.val == Code.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE


class Station:
    """A frame that path constraints are given in: that of an object, or one of TF."""

    def __init__(self, client, kind):
        self._client, self._kind = client, kind

    def put(self, x):
        """Put it there, and wait until the node knows."""
        pose = np.eye(4)
        pose[0, 3] = x
        if self._kind == "object":
            pose[2, 3] = -5.0
            apply(self._client, solid("station", pose, [0.05], SolidPrimitive.SPHERE))
            return

        def is_known(response):
            self._client.send_transform(ROOT, "station", pose)
            return response.valid

        # The tip is in a small box about where it is from the station, if that is there.
        here = self.room((0.01, 0.01, 0.01), np.linalg.inv(pose) @ tip(LEFT))
        asked = {"robot_state": state_of(LEFT), "constraints": here}
        self._client.call_until(is_known, GetStateValidity, "/check_state_validity", **asked)

    def room(self, lengths=(4.0, 4.0, 20.0), pose=None):
        """The tip is within a room, by default of four metres around the station."""
        return Constraints(position_constraints=[region(TIP, "station", np.eye(4) if pose is None else pose, lengths)])


# -- the world changes ------------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_a_plan_that_a_new_object_does_not_concern_is_answered(scene):
    future = begin_plan(scene)
    ball(scene, (-0.6, 0.0, 0.8))
    response = end(scene, future)
    assert response.error_code.val == Code.SUCCESS, response.error_code
    assert response.trajectory.joint_trajectory.points


@pytest.mark.parametrize("kind", ["object", "frame"])
def test_a_plan_whose_path_constraints_have_moved_away_is_not_answered(scene, kind):
    station = Station(scene, kind)
    station.put(0.0)
    # Constraints are judged state by state: no more states than a straight way has.
    future = begin_plan(scene, station.room(), NEAR_LEFT)
    station.put(50.0)
    response = end(scene, future)
    assert is_invalidated(response) and "path_constraints" in response.error_code.message, response.error_code
    assert not response.trajectory.joint_trajectory.points


def describe_another_robot(client):
    other = panda.urdf().replace('size="0.05 0.2 0.06"', 'size="0.05 0.25 0.06"')
    assert set_parameters(client, NAME, {"robot_description": other}).successful


def deactivate(client):
    assert lifecycle.change(client, NAME, Transition.TRANSITION_DEACTIVATE)


@pytest.mark.parametrize(
    ("event", "is_invalid", "words"),
    [
        (lambda client: ball(client, tip(RIGHT)[:3, 3]), True, "ball"),
        (describe_another_robot, True, "was replaced"),
        (deactivate, False, "deactivated"),
    ],
)
def test_a_plan_that_an_event_invalidates_is_not_answered(scene, event, is_invalid, words):
    future = begin_plan(scene)
    event(scene)
    response = end(scene, future)
    assert is_invalidated(response) == is_invalid and response.error_code.val != Code.SUCCESS
    assert words in response.error_code.message and not response.trajectory.joint_trajectory.points


def test_a_solution_that_a_new_object_invalidates_is_not_answered(scene):
    future = begin_inverse(scene, tip(RIGHT))
    ball(scene, tip(RIGHT)[:3, 3])
    response = end(scene, future)
    assert is_invalidated(response) and "ball" in response.error_code.message, response.error_code


@pytest.mark.parametrize("kind", ["object", "frame"])
def test_a_solution_whose_goal_has_moved_away_is_not_answered(scene, kind):
    station = Station(scene, kind)
    station.put(0.0)
    root_from_station = np.eye(4)
    if kind == "object":
        root_from_station[2, 3] = -5.0
    # Nothing else is judged again than the goal.
    future = begin_inverse(scene, np.linalg.inv(root_from_station) @ tip(RIGHT), "station", avoid=False)
    station.put(1.1)
    response = end(scene, future)
    assert is_invalidated(response) and TIP in response.error_code.message, response.error_code
    assert not response.solution.joint_state.name


# -- others ask -------------------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_plans_keep_neither_distances_nor_inverse_kinematics_waiting(scene):
    futures = [begin_plan(scene) for _ in range(THREADS)]
    states = np.column_stack([np.tile(list(LEFT), (500, 1)), np.full(500, 0.02)])
    names = [*panda.ARM, "panda_finger_joint1"]
    request = {"joint_names": names, "joint_positions": states.ravel().tolist()}
    answer = scene.call(GetDistances, f"{NAME}/get_distances", **request)
    assert answer.success and answer.states == len(states), answer.message
    solution = begin_inverse(scene, tip(LEFT))
    hold(scene, "inverse", False)
    assert scene.wait(solution.done) and solution.result().error_code.val == Code.SUCCESS
    assert not any(future.done() for future in futures)
    assert lifecycle.change(scene, NAME, Transition.TRANSITION_DEACTIVATE)  # ends the plans
    assert lifecycle.change(scene, NAME, Transition.TRANSITION_CLEANUP)
