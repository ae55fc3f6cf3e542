# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions before which the robot or the world differs from the request: what controllers receive is proved."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import panda
import pytest
from holding import SERVICE, hold
from motion_goals import Goal, controllers_file, execute, move, move_goal, trajectory
from moveit_msgs.action import MoveGroup
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.msg import PlanningScene, RobotState
from moveit_msgs.srv import GetPositionFK
from panda_service import LEFT, RIGHT, TIP, attached, block, joint_state, solid, start, tip
from shape_msgs.msg import SolidPrimitive
from test_hostile_motions import JOINTS, Machine

pytestmark = panda.NEEDS_PLANNER
AT_WALL = (0.0, *LEFT[1:])
MEASURED = RobotState(is_diff=True)


@pytest.fixture(scope="module")
def machine(serve, client, tmp_path_factory):
    """A robot whose controllers accept goals; the service lets it begin far from the start of a trajectory."""
    controllers = {
        "arm_controller": ("FollowJointTrajectory", "", panda.ARM),
        "hand_controller": ("GripperCommand", "gripper_cmd", ["panda_finger_joint1"]),
    }
    limits = {"allowed_start_tolerance": 2.0, "execution_duration_monitoring": False}
    path = controllers_file(tmp_path_factory.mktemp("controllers") / "controllers.yaml", controllers, limits)
    start(serve, SERVICE, controllers=path, stale_timeout=10.0)
    return Machine(client)


@pytest.fixture
def robot(machine, client):
    """The client, with the arm at the left, and nothing around it or attached."""
    machine.reset()
    client.empty()
    wait_for_tip(client, LEFT)
    return client


def wait_for_tip(client, values):
    """Wait until the node has measured a state."""
    at = tip(values)[:3, 3]

    def is_there(response):
        found = response.pose_stamped and response.pose_stamped[0].pose.position
        return found and np.allclose((found.x, found.y, found.z), at, atol=1e-6)

    client.call_until(is_there, GetPositionFK, "/compute_fk", robot_state=MEASURED, fk_link_names=[TIP])


def begun(client, machine, goal):
    """Wait for the begin or end of a motion; return the controller's trajectory, or the code and its message."""
    client.wait(lambda: bool(machine.goals) or goal.future.done())
    if goal.future.done():
        return goal.code()
    sent = machine.goals[0].request.trajectory
    client.answer(goal.handle.cancel_goal_async())
    assert goal.code().val == Code.PREEMPTED
    return sent


def test_an_object_applied_during_the_last_proof_is_not_hit(robot, machine):
    before = hold(robot, "query", True)
    goal = execute(robot, trajectory((0.0, LEFT), (30.0, RIGHT)))
    while hold(robot, "query", True) == before:
        robot.spin(0.02)
    robot.apply(block("wall", panda.wall()))
    hold(robot, "query", False)
    code = begun(robot, machine, goal)
    assert code.val == Code.INVALID_MOTION_PLAN and "wall" in code.message
    assert not machine.goals


def test_a_robot_moved_during_planning_does_not_hit_anything(robot, machine):
    robot.apply(block("wall", panda.wall()))
    hold(robot, "plan", True)
    goal = move(robot, (0.9, *LEFT[1:]))
    goal.wait_for("PLANNING")
    machine.state[:7] = map(float, RIGHT)
    wait_for_tip(robot, RIGHT)
    hold(robot, "plan", False)
    code = begun(robot, machine, goal)
    assert code.val == Code.INVALID_MOTION_PLAN and "wall" in code.message


def tool():
    pose = np.eye(4)
    pose[2, 3] = 0.3
    box = solid("tool", pose, (0.03, 0.03, 0.4), frame="panda_hand")
    return attached(box, "panda_hand", "panda_leftfinger", "panda_rightfinger")


def start_state(*objects):
    """Return a full state as some clients send it, which has other attached objects than the robot."""
    return RobotState(joint_state=joint_state(panda.state_of(LEFT)), attached_collision_objects=list(objects))


def test_a_motion_carries_what_the_start_state_of_its_request_lacks(robot, machine):
    scene = PlanningScene(is_diff=True, robot_state=RobotState(is_diff=True, attached_collision_objects=[tool()]))
    ball = tip(AT_WALL) @ [0.0, 0.0, 0.4, 1.0]
    pose = np.eye(4)
    pose[:3, 3] = ball[:3]
    scene.world.collision_objects = [solid("ball", pose, [0.05], SolidPrimitive.SPHERE)]
    assert robot.apply_scene(scene)
    goal = move_goal(RIGHT)
    goal.request.start_state = start_state()
    sent = begun(robot, machine, Goal(robot, MoveGroup, "move_action", goal))
    rows = np.array([point.positions for point in sent.points])
    times = np.linspace(0.0, 1.0, 20)[:, None]
    states = np.concatenate([(1.0 - times) * a + times * b for a, b in pairwise(rows)])
    heights = np.clip([(np.linalg.inv(tip(at)) @ ball)[2] for at in states], 0.1, 0.5)
    axes = np.array([tip(at) @ [0.0, 0.0, z, 1.0] for at, z in zip(states, heights, strict=True)])
    assert np.linalg.norm(axes - ball, axis=1).min() > 0.05


def test_a_motion_with_another_object_than_attached_is_refused(robot, machine):
    goal = move_goal(RIGHT)
    goal.request.start_state = start_state(tool())
    code = begun(robot, machine, Goal(robot, MoveGroup, "move_action", goal))
    assert code.val == Code.INVALID_ROBOT_STATE and "'tool' is not attached" in code.message


@pytest.mark.parametrize("seconds", [-15, 15])
def test_a_trajectory_that_begins_at_another_time_is_refused(robot, machine, seconds):
    message = trajectory((0.0, LEFT), (30.0, RIGHT))
    message.header.stamp = robot.now()
    message.header.stamp.sec += seconds
    code = begun(robot, machine, execute(robot, message))
    assert code.val == Code.INVALID_MOTION_PLAN and "header.stamp" in code.message


def test_a_gripper_does_not_move_together_with_the_arm(robot, machine):
    points = (0.0, [*LEFT, 0.035]), (30.0, [*RIGHT, 0.0])
    code = begun(robot, machine, execute(robot, trajectory(*points, joints=JOINTS)))
    assert code.val == Code.CONTROL_FAILED and "at its own speed" in code.message
