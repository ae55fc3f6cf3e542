# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""While plans or inverse kinematics are searched for the world changes, others ask, the node falls silent.

A search is held from its beginning until the world has changed.
"""

import numpy as np
import panda
import pytest
from holding import SERVICE, begin, hold
from moveit_msgs.msg import Constraints, MoveItErrorCodes, RobotState
from moveit_msgs.srv import GetStateValidity
from panda_service import (
    LEFT,
    RIGHT,
    ROOT,
    TIP,
    block,
    inverse,
    joint_goal,
    joint_state,
    plan,
    put,
    region,
    solid,
    start,
    tip,
)
from shape_msgs.msg import SolidPrimitive
from superovoid_interfaces.srv import GetDistances

from superovoid.compiled.threads import processors

pytestmark = panda.NEEDS_PLANNER
Code = MoveItErrorCodes
INVALIDATED = Code.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE
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
    client.bring("active")
    for kind in ("plan", "inverse"):
        hold(client, kind, False)
    client.set_robot(robot_description=panda.urdf())
    put(client, LEFT)
    client.empty()
    client.apply(block("wall", panda.wall()))
    return client


def state_of(values):
    return RobotState(is_diff=True, joint_state=joint_state(panda.state_of(values)))


def place(*point):
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose


def ball(client, point):
    client.apply(solid("ball", place(*point), [0.05], SolidPrimitive.SPHERE))


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
    return response.error_code.val == INVALIDATED


def test_a_plan_whose_path_constraints_have_moved_away_is_not_answered(scene):
    """They are given in a frame of TF."""

    def put_station(x):
        """Put the frame there, and wait until the tip is seen to be where it is from there."""
        pose, where = place(x, 0.0, 0.0), place(-x, 0.0, 0.0) @ tip(LEFT)
        here = Constraints(position_constraints=[region(TIP, "station", where, [0.01] * 3)])

        def is_known(response):
            scene.send_transform(ROOT, "station", pose)
            return response.valid

        asked = {"robot_state": state_of(LEFT), "constraints": here}
        scene.call_until(is_known, GetStateValidity, "/check_state_validity", **asked)

    put_station(0.0)
    room = Constraints(position_constraints=[region(TIP, "station", np.eye(4), (4.0, 4.0, 20.0))])
    # Constraints are judged state by state: no more states than a straight way has.
    future = begin_plan(scene, room, NEAR_LEFT)
    put_station(50.0)
    response = end(scene, future)
    assert is_invalidated(response) and "path_constraints" in response.error_code.message, response.error_code
    assert not response.trajectory.joint_trajectory.points


def describe_another_robot(client):
    other = panda.urdf().replace('size="0.05 0.2 0.06"', 'size="0.05 0.25 0.06"')
    client.set(robot_description=other)


def deactivate(client):
    client.bring("inactive")


@pytest.mark.parametrize(
    ("event", "code", "words"),
    [
        (lambda client: ball(client, (-0.6, 0.0, 0.8)), Code.SUCCESS, ""),
        (lambda client: ball(client, tip(RIGHT)[:3, 3]), INVALIDATED, "ball"),
        (describe_another_robot, INVALIDATED, "was replaced"),
        (deactivate, Code.INVALID_ROBOT_STATE, "deactivated"),
    ],
)
def test_a_plan_that_an_event_invalidates_is_not_answered(scene, event, code, words):
    future = begin_plan(scene)
    event(scene)
    response = end(scene, future)
    assert response.error_code.val == code and words in response.error_code.message, response.error_code
    assert bool(response.trajectory.joint_trajectory.points) == (code == Code.SUCCESS)


def test_a_solution_that_a_new_object_invalidates_is_not_answered(scene):
    future = begin_inverse(scene, tip(RIGHT))
    ball(scene, tip(RIGHT)[:3, 3])
    response = end(scene, future)
    assert is_invalidated(response) and "ball" in response.error_code.message, response.error_code


def test_a_solution_whose_goal_has_moved_away_is_not_answered(scene):
    """It is given in the frame of an object."""
    ball(scene, (0.0, 0.0, -5.0))
    # Nothing else is judged again than the goal.
    future = begin_inverse(scene, place(0.0, 0.0, 5.0) @ tip(RIGHT), "ball", avoid=False)
    ball(scene, (1.1, 0.0, -5.0))
    response = end(scene, future)
    assert is_invalidated(response) and TIP in response.error_code.message, response.error_code
    assert not response.solution.joint_state.name


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
    scene.bring("unconfigured")  # ends the plans
