# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions and Cartesian paths as move_group's clients request them, with simulated controllers."""

from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType
from xml.etree import ElementTree

import numpy as np
import panda
import pytest
import yaml
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory, GripperCommand
from motion_goals import Goal, controllers_file, execute, move, move_goal, trajectory
from moveit_msgs.action import ExecuteTrajectory, MoveGroup
from moveit_msgs.msg import MoveItErrorCodes, RobotState
from moveit_msgs.srv import GetCartesianPath, GetGroupUrdf, GetMultiStateValidity
from panda_service import LEFT, RIGHT, ROOT, block, start, tip
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Empty

from superovoid_ros.nodes.common.conversions import to_nanoseconds, to_pose
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.distance_service.answers.controllers import (
    Controller,
    ExecutionLimits,
    check_grippers,
    read_controllers,
    read_execution_limits,
    read_trajectory,
    shares_of,
)
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError

import arm
from world import WALL, octomap, with_octomap

pytestmark = panda.NEEDS_PLANNER
Code = MoveItErrorCodes
MARGIN = 10.0  # s, for a loaded machine


@pytest.fixture(scope="module")
def service_with_controllers(serve, start_node, client, tmp_path_factory):
    """The service, with simulated controllers of arm and hand, and one of the test's own for the hand."""
    path = tmp_path_factory.mktemp("controllers")
    simulated = {
        "arm_controller": ("FollowJointTrajectory", "follow_joint_trajectory", panda.ARM),
        "hand_controller": ("GripperCommand", "gripper_cmd", ["panda_finger_joint1"]),
    }
    all_controllers = {**simulated, "own_controller": ("FollowJointTrajectory", "", ["panda_finger_joint1"])}
    all_controllers["lazy_controller"] = "FollowJointTrajectory", "", panda.ARM[:1]
    limits = {"allowed_goal_duration_margin": MARGIN, "allowed_start_tolerance": 0.02}
    initial = path / "initial.yaml"
    initial.write_text(yaml.safe_dump({"initial_positions": panda.state_of(LEFT)}), encoding="utf-8")
    controllers = controllers_file(path / "controllers.yaml", simulated)
    start_node("simulated_controllers", controllers=controllers, initial_positions=str(initial))
    # On a busy machine joint states may be seconds late.
    start(serve, controllers=controllers_file(path / "with_own.yaml", all_controllers, limits), stale_timeout=10.0)
    # The service discovers the controllers and their joint states as a client does.
    client.wait(lambda: move(client, LEFT).code().val == Code.SUCCESS)
    return client


def measured(client):
    """Positions of the arm, from a message that is published after the call."""
    if not hasattr(client, "heard"):
        client.heard = client.collect(JointState, "/joint_states")
    now = to_nanoseconds(client.now())
    client.wait(lambda: bool(client.heard) and to_nanoseconds(client.heard[-1].header.stamp) > now)
    state = dict(zip(client.heard[-1].name, client.heard[-1].position, strict=True))
    return np.array([state[name] for name in panda.ARM])


@pytest.fixture
def robot(service_with_controllers):
    """The client, with the arm at the left, and nothing around it."""
    service_with_controllers.empty()
    if not np.allclose(measured(service_with_controllers), LEFT, atol=1e-4):
        assert move(service_with_controllers, LEFT).code().val == Code.SUCCESS
    return service_with_controllers


@pytest.mark.ci
def test_a_motion_is_planned_around_a_wall_and_executed(robot):
    robot.apply(block("wall", panda.wall()))
    goal = move(robot, RIGHT)
    status, result = goal.result()
    assert (status, result.error_code.val) == (GoalStatus.STATUS_SUCCEEDED, Code.SUCCESS)
    assert goal.states == ["PLANNING", "MONITOR", "IDLE"]
    assert len(result.planned_trajectory.joint_trajectory.points) > 2 and result.planning_time > 0.0
    np.testing.assert_allclose(measured(robot), RIGHT, atol=1e-3)


def test_a_plan_alone_moves_nothing_until_it_is_executed(robot):
    goal = move_goal(RIGHT)
    goal.planning_options.plan_only = True
    planned = Goal(robot, MoveGroup, "move_action", goal).result()[1].planned_trajectory
    np.testing.assert_allclose(measured(robot), LEFT, atol=1e-3)
    for status, code, states in (
        (GoalStatus.STATUS_SUCCEEDED, Code.SUCCESS, ["MONITOR", "IDLE"]),
        (GoalStatus.STATUS_ABORTED, Code.CONTROL_FAILED, []),  # it begins where the arm is no longer
    ):
        execution = Goal(robot, ExecuteTrajectory, "execute_trajectory", ExecuteTrajectory.Goal(trajectory=planned))
        found, result = execution.result()
        assert (found, result.error_code.val) == (status, code) and (not states or execution.states == states)
        np.testing.assert_allclose(measured(robot), RIGHT, atol=1e-3)
    assert "starts at" in result.error_code.message


@pytest.mark.ci
@pytest.mark.parametrize("how", ["cancel", "event"])
def test_a_motion_is_stopped(robot, how):
    events = robot.publisher(String, "/trajectory_execution_event")
    goal = move(robot, RIGHT, scale=0.05)
    goal.wait_for("MONITOR")
    if how == "cancel":
        robot.answer(goal.handle.cancel_goal_async())
    else:
        events.publish(String(data="stop"))
    status, result = goal.result()
    assert result.error_code.val == Code.PREEMPTED
    assert status == (GoalStatus.STATUS_CANCELED if how == "cancel" else GoalStatus.STATUS_ABORTED)
    at = measured(robot)
    assert abs(at[0] - RIGHT[0]) > 0.1
    np.testing.assert_array_equal(measured(robot), at)


def test_a_new_goal_takes_the_place_of_the_one_before(robot):
    slow = move(robot, RIGHT, scale=0.05)
    slow.wait_for("MONITOR")
    fast = move(robot, panda.READY)
    assert slow.result()[1].error_code.val == Code.PREEMPTED
    assert fast.result()[1].error_code.val == Code.SUCCESS
    np.testing.assert_allclose(measured(robot), panda.READY, atol=1e-3)


def test_no_motion_begins_where_the_joints_are_not_known(robot):
    robot.set(stale_timeout=0.001)
    code = move(robot, RIGHT).code()
    robot.set(stale_timeout=10.0)
    assert code.val == Code.CONTROL_FAILED and "stale_timeout" in code.message
    np.testing.assert_allclose(measured(robot), LEFT, atol=1e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda one: one.points[1].positions.__setitem__(0, np.nan), "point 1: positions: must be finite"),
        (lambda one: give(one.points, "velocities", np.inf), "point 0: velocities: must be finite"),
        (lambda one: give(one.points[1:], "velocities", 0.0), "point 0: velocities: 0 numbers"),
        (lambda one: give(one.points[:1], "velocities", 0.0), "point 1: velocities: 0 numbers, expected 7"),
        (lambda one: give(one.points, "accelerations", 0.0), "accelerations: require velocities"),
        (lambda one: setattr(one.points[1].time_from_start, "sec", -5), "times .* must ascend"),
        (lambda one: setattr(one.points[0].time_from_start, "sec", 50), "times .* must ascend"),
        (lambda one: setattr(one.points[1], "positions", [0.0]), "point 1: positions"),
        (lambda one: setattr(one.points[1].time_from_start, "sec", 0), "times .* must ascend"),
        (lambda one: one.joint_names.__setitem__(0, one.joint_names[1]), "must not repeat"),
    ],
)
def test_a_trajectory_that_no_controller_can_follow_is_refused(change, words):
    message = to_the_right(30)
    change(message)
    with pytest.raises(CodedError, match=words) as refused:
        read_trajectory(message)
    assert refused.value.moveit_code == Code.INVALID_MOTION_PLAN


# --- trajectories of others ---


def give(points, name, value):
    """Give all joints of points the same velocity or acceleration."""
    for point in points:
        setattr(point, name, [value] * len(point.positions))


def to_the_right(seconds, joints=MappingProxyType({}), to=RIGHT):
    """Return a straight motion; `joints` have the positions of both points."""
    rows = [(*values, *(both[at] for both in joints.values())) for at, values in enumerate((LEFT, to))]
    return trajectory(*zip((0, seconds), rows, strict=True), joints=[*panda.ARM, *joints])


def swing(**fields):
    """Return a motion to the right and back between two points of the same position."""
    message = to_the_right(2, to=LEFT)
    message.points[0].velocities, message.points[1].velocities = [-2.0, *[0.0] * 6], [2.0, *[0.0] * 6]
    for name, value in fields.items():
        give(message.points, name, value)
    return message


def stamped(message):
    message.header.stamp.sec = 1
    return message


def fingers(*first, second=(0.035, 0.035)):
    """Return the positions of both fingers, or of the first."""
    return {"panda_finger_joint1": first} | ({"panda_finger_joint2": second} if second else {})


ARM_AND_FINGER = ["arm_controller", "own_controller"]
RESTING = fingers(0.035, 0.035, second=None)
UNPROVED, FAILED = Code.INVALID_MOTION_PLAN, Code.CONTROL_FAILED


@pytest.mark.parametrize(
    ("message", "controllers", "code", "words"),
    [
        (to_the_right(1), [], UNPROVED, "wall"),
        (swing(), [], UNPROVED, "wall"),
        (swing(accelerations=0.0), [], UNPROVED, "wall"),
        (to_the_right(30, to=(3.0, *LEFT[1:])), [], UNPROVED, "limits"),
        (to_the_right(30, {"wheel": (0.0, 1.0)}), [], UNPROVED, "'wheel'"),
        (to_the_right(30, fingers(0.035, 0.02)), [], UNPROVED, "does not follow joint 'panda_finger_joint1'"),
        (stamped(to_the_right(30)), [], UNPROVED, "header.stamp: must be 0"),
        (to_the_right(30, fingers(0.035, 0.0, second=None)), [], FAILED, "at its own speed"),
        (to_the_right(30, RESTING), ["arm_controller"], FAILED, "joint 'panda_finger_joint1' has no controller"),
        (to_the_right(30, RESTING), ARM_AND_FINGER, FAILED, "'own_controller': its action has no server"),
        (to_the_right(30), ["nobody"], FAILED, "'nobody' is unknown"),
    ],
)
def test_a_trajectory_that_must_not_be_followed_moves_nothing(robot, message, controllers, code, words):
    robot.apply(block("wall", panda.wall()))
    found = execute(robot, message, controllers).code()
    assert found.val == code and words in found.message, found
    np.testing.assert_allclose(measured(robot), LEFT, atol=1e-3)


# --- several controllers ---


def fail(handle):
    handle.abort()
    return FollowJointTrajectory.Result(error_code=-5, error_string="the finger is stuck")


async def stay(handle):
    await Future()


@pytest.mark.ci
@pytest.mark.parametrize(
    ("end", "seconds", "code", "words"),
    [
        (fail, 30, FAILED, "'own_controller' did not follow: the finger is stuck"),
        (stay, 1, Code.TIMED_OUT, f"{1.2 + MARGIN:.3g} s"),
    ],
)
def test_a_controller_that_fails_or_stays_ends_the_motion_of_all(robot, end, seconds, code, words):
    options = {"callback_group": ReentrantCallbackGroup(), "cancel_callback": lambda _: CancelResponse.ACCEPT}
    server = ActionServer(robot.node, FollowJointTrajectory, "/own_controller", end, **options)
    message = to_the_right(seconds, RESTING)
    # The node discovers a controller a little after it has begun to serve.
    while "no server" in (found := execute(robot, message, ARM_AND_FINGER).code()).message:
        pass
    server.destroy()
    assert found.val == code and words in found.message
    at = measured(robot)
    assert (abs(at[0] - RIGHT[0]) > 0.1) == (end is fail)
    np.testing.assert_array_equal(measured(robot), at)


# Both joints turn, and the lazy controller has the first one.
TURNED = trajectory((0.0, LEFT), (3.0, [*RIGHT[:6], LEFT[6] + 0.5]))
FIRST = trajectory((0.0, LEFT[:1]), (1.0, RIGHT[:1]), joints=panda.ARM[:1])


@pytest.mark.ci
@pytest.mark.parametrize(
    ("message", "controllers", "words"),
    [
        (FIRST, ["lazy_controller"], "the controllers have ended, but"),
        (TURNED, ["lazy_controller", "arm_controller"], "has left its trajectory"),
    ],
)
def test_a_joint_that_does_not_follow_its_trajectory_ends_the_motion(robot, message, controllers, words):
    def idle(handle):
        handle.succeed()
        return FollowJointTrajectory.Result()

    server = ActionServer(robot.node, FollowJointTrajectory, "/lazy_controller", idle)
    while "no server" in (found := execute(robot, message, controllers).code()).message:
        pass
    server.destroy()
    assert found.val == FAILED and words in found.message, found
    assert abs(measured(robot)[0] - LEFT[0]) < 1e-3 and measured(robot)[6] < LEFT[6] + 0.4


FINGERS = ["left", "right"]


@pytest.mark.parametrize(("order", "effort", "wanted"), [(FINGERS, None, 5.0), (FINGERS[::-1], 2.0, 2.0)])
def test_a_gripper_gets_the_position_of_its_first_joint(tmp_path, order, effort, wanted):
    path = controllers_file(tmp_path / "controllers.yaml", {"hand": ("GripperCommand", "gripper_cmd", FINGERS)})
    content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    content["moveit_simple_controller_manager"]["hand"]["max_effort"] = 5
    Path(path).write_text(yaml.safe_dump(content), encoding="utf-8")
    at = {"left": 0.01, "right": -0.01}
    fields = {} if effort is None else {"effort": [effort, effort]}
    message = trajectory((1.0, [at[joint] for joint in order]), joints=order, **fields)
    ((_, goal),) = shares_of(message, read_controllers(path), ["right"])
    assert (goal.command.position, goal.command.max_effort) == (0.01, wanted)


def test_fingers_of_one_gripper_that_end_apart_are_refused():
    hand = Controller("hand", GripperCommand, "hand", ("left", "right"), True)
    for right, expected in (
        (0.02, nullcontext()),
        (0.03, pytest.raises(CodedError, match="must not end at different")),
    ):
        given = read_trajectory(trajectory((0.0, [0.0, 0.0]), (1.0, [0.02, right]), joints=FINGERS))
        with expected:
            check_grippers(given, [hand])


# --- limits of execution ---


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, ExecutionLimits()),
        ({"allowed_start_tolerance": 2, "manage_controllers": True}, ExecutionLimits(allowed_start_tolerance=2.0)),
        (3, None),
        ({"allowed_start_tolerance": -1}, None),
        ({"allowed_start_tolerance": np.nan}, None),
        ({"allowed_goal_duration_margin": [1]}, None),
    ],
)
def test_limits_of_execution_are_read_or_refused(tmp_path, limits, expected):
    path = controllers_file(tmp_path / "controllers.yaml", {}, limits)
    with nullcontext() if expected else pytest.raises(InputError, match="trajectory_execution"):
        assert read_execution_limits(path) == expected


def test_no_limit_without_monitoring_or_with_a_tolerance_of_zero():
    assert ExecutionLimits().seconds(10.0) == 12.5
    assert ExecutionLimits(execution_duration_monitoring=False).seconds(10.0) == np.inf
    ExecutionLimits(allowed_start_tolerance=0.0).check_start("joint", 0.0, 3.0)
    with pytest.raises(Exception, match=r"within 0\.01"):
        ExecutionLimits().check_start("joint", 0.0, 0.02)


def test_a_gripper_is_closed_and_opened(robot):
    for width in (0.0, 0.035):
        result = move(robot, [width], names=["panda_finger_joint1"], group="hand").result()[1]
        assert result.error_code.val == Code.SUCCESS, result.error_code.message


# --- cartesian paths ---


def cartesian(client, *waypoints, avoid=True, **fields):
    return client.call(
        GetCartesianPath,
        "/compute_cartesian_path",
        start_state=RobotState(is_diff=True),
        group_name="panda_arm",
        waypoints=[to_pose(pose) for pose in waypoints],
        max_step=fields.pop("max_step", 0.01),
        avoid_collisions=avoid,
        **fields,
    )


def test_a_cartesian_path_is_straight_and_can_be_executed(robot):
    start = tip(LEFT)
    end = arm.at(0.0, 0.0, -0.15) @ start
    response = cartesian(robot, end)
    assert (response.error_code.val, response.fraction) == (Code.SUCCESS, 1.0), response.error_code.message
    states = np.array([point.positions for point in response.solution.joint_trajectory.points])
    tips = np.array([tip(state) for state in states])
    assert np.abs(tips[:, :2, 3] - start[:2, 3]).max() < 1e-3
    assert np.abs(tips[:, :3, :3] - start[:3, :3]).max() < 1e-2
    np.testing.assert_allclose(tips[-1], end, atol=1e-5)
    goal = ExecuteTrajectory.Goal(trajectory=response.solution)
    assert Goal(robot, ExecuteTrajectory, "execute_trajectory", goal).result()[1].error_code.val == Code.SUCCESS
    np.testing.assert_allclose(tip(measured(robot)), end, atol=1e-3)


@pytest.mark.ci
def test_a_cartesian_path_ends_before_contact(robot):
    robot.apply(block("wall", panda.wall()))
    start = tip(LEFT)
    far = arm.at(0.0, -2.0 * start[1, 3], 0.0) @ start
    response = cartesian(robot, far)
    assert response.error_code.val == Code.SUCCESS and 0.0 < response.fraction < 0.6
    through = cartesian(robot, arm.at(0.0, -start[1, 3], 0.0) @ start, avoid=False)
    assert through.fraction > response.fraction


@pytest.mark.parametrize(
    ("fields", "code", "fraction"),
    [
        ({"revolute_jump_threshold": 1e-6}, Code.SUCCESS, 0.0),
        ({"jump_threshold": 10.0}, Code.SUCCESS, 1.0),
        ({"max_step": 0.0}, Code.FAILURE, 0.0),
        ({"link_name": "nobody"}, Code.INVALID_LINK_NAME, 0.0),
        ({"max_cartesian_speed": 0.1}, Code.FAILURE, 0.0),
    ],
)
def test_a_cartesian_path_obeys_its_options_or_is_refused(robot, fields, code, fraction):
    response = cartesian(robot, arm.at(0.0, 0.0, -0.15) @ tip(LEFT), **fields)
    assert (response.error_code.val, response.fraction) == (code, fraction)


# --- the other services ---


def test_several_states_are_checked_up_to_the_first_invalid_one(robot):
    def ask(*several):
        states = [JointState(name=list(panda.ARM), position=list(map(float, values))) for values in several]
        fields = {"robot_state": RobotState(is_diff=True), "group_name": "panda_arm", "joint_states": states}
        return robot.call(GetMultiStateValidity, "/check_multi_state_validity", **fields)

    robot.apply(block("wall", panda.wall()))
    middle = (0.0, *LEFT[1:])
    assert ask(LEFT, RIGHT).valid
    response = ask(LEFT, middle, RIGHT)
    assert not response.valid and response.contacts
    assert not ask().valid


def test_the_urdf_of_a_group_is_a_robot(robot):
    response = robot.call(GetGroupUrdf, "/get_urdf", group_name="panda_arm")
    assert response.error_code.val == Code.SUCCESS
    found = ElementTree.fromstring(response.urdf_string)
    assert {one.get("name") for one in found.findall("joint")} == {*panda.ARM, "panda_joint8"}
    assert {one.get("name") for one in found.findall("link")} == {f"panda_link{i}" for i in range(9)}
    refused = robot.call(GetGroupUrdf, "/get_urdf", group_name="nobody")
    assert (refused.error_code.val, refused.urdf_string) == (Code.FAILURE, "")


def test_the_octomap_is_cleared(robot):
    assert robot.apply_scene(with_octomap(octomap(WALL, arm.at(0.0, 0.0, -5.0), frame=ROOT)))
    assert len(robot.scene().world.octomap.octomap.data)
    robot.call(Empty, "/clear_octomap")
    assert not len(robot.scene().world.octomap.octomap.data)
