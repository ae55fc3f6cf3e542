# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions of which something fails: trajectories, measurements, controllers, clients, the node itself."""

import signal
import time

import numpy as np
import panda
import pytest
from control_msgs.action import FollowJointTrajectory
from motion_goals import controllers_file, execute, move, trajectory
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.msg import RobotState
from moveit_msgs.srv import GetPositionFK
from panda_service import LEFT, RIGHT, TIP, tip
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from sensor_msgs.msg import JointState

from superovoid_ros.nodes.common.conversions import from_pose

from asking import ANSWER_TIMEOUT

pytestmark = panda.NEEDS_PLANNER
JOINTS = [*panda.ARM, "panda_finger_joint1"]
INVALIDATED = Code.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE
STATE = [*map(float, LEFT), 0.035]


class Machine:
    """A robot at rest, whose controller accepts goals and follows none of them."""

    def __init__(self, client):
        self.client, self.state, self.age = client, list(STATE), 0.0
        self.accepts = self.sends = self.cancels = True
        self.goals, self.cancelled, self.end = [], [], None
        self._joints = client.node.create_publisher(JointState, "/joint_states", 10)
        client.node.create_timer(0.02, self._send)
        self.server = None

    def serve(self):
        options = {"goal_callback": self._accept, "cancel_callback": self._cancel}
        options["callback_group"] = ReentrantCallbackGroup()
        self.server = ActionServer(self.client.node, FollowJointTrajectory, "/arm_controller", self._follow, **options)

    def reset(self):
        self.__dict__.update(state=list(STATE), age=0.0, accepts=True, sends=True, cancels=True, end=None)
        self.before_accepting = lambda: None
        self.goals.clear(), self.cancelled.clear()
        if self.server is None:
            self.serve()

    def die(self):
        self.server.destroy()
        self.server = None

    def _accept(self, _):
        self.before_accepting()
        return GoalResponse.ACCEPT if self.accepts else GoalResponse.REJECT

    def _send(self):
        if self.sends:
            message = JointState(name=JOINTS, position=self.state)
            stamp = self.client.node.get_clock().now().nanoseconds - int(1e9 * self.age)
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
            self._joints.publish(message)

    def _cancel(self, handle):
        self.cancelled.append(handle)
        if self.cancels:
            self.end.set_result(None)
        return CancelResponse.ACCEPT

    async def _follow(self, handle):
        self.end = Future()
        self.goals.append(handle)
        await self.end
        if handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return FollowJointTrajectory.Result(error_code=-4, error_string="out of tolerance")


@pytest.fixture(scope="module")
def start_service(serve, client, tmp_path_factory):
    """Return a function that starts the service if it is not running."""
    controllers = {"arm_controller": ("FollowJointTrajectory", "", panda.ARM)}
    limits = {"execution_duration_monitoring": False}
    path = controllers_file(tmp_path_factory.mktemp("controllers") / "controllers.yaml", controllers, limits)
    client.machine = Machine(client)
    # A busy machine holds up the joint states of this process.
    options = {"rate": 0.0, "controllers": path, "stale_timeout": 3.0}
    options["robot_description_semantic"] = panda.srdf()
    started = []

    def start():
        if not started or started[-1].process.poll() is not None:
            started.append(serve(robot_description=panda.urdf(), **options))
        return started[-1]

    return start


@pytest.fixture
def service(start_service):
    return start_service()


@pytest.fixture
def robot(service, client):
    client.machine.reset()

    def is_there(response):
        """Return whether the measured state is that of the machine, not of a test before, and not old."""
        is_known = response.error_code.val == Code.SUCCESS and not response.error_code.message
        return is_known and np.allclose(from_pose(response.pose_stamped[0].pose, ""), tip(LEFT), atol=1e-12)

    client.call_until(is_there, GetPositionFK, "/compute_fk", robot_state=RobotState(is_diff=True), fk_link_names=[TIP])
    return client


def code_of(client, goal):
    assert client.wait(goal.future.done, 60.0)
    return goal.code()


def begin_motion(client):
    """Begin a planned motion that lasts long."""
    goal = move(client, RIGHT, scale=0.02)
    goal.wait_for("MONITOR")
    client.wait(lambda: bool(client.machine.goals))
    return goal


@pytest.mark.ci
def test_many_points_in_another_order_of_joints_reach_the_controller(robot):
    order = list(reversed(panda.ARM))
    way = [(0.01 * i, np.add(LEFT, 1e-4 * i)[::-1]) for i in range(1_000)]
    goal = execute(robot, trajectory(*way, joints=order))
    goal.wait_for("MONITOR")
    robot.wait(lambda: bool(robot.machine.goals))
    sent = robot.machine.goals[0].request.trajectory
    assert len(sent.points) == 1_000 and list(sent.joint_names) == order
    robot.machine.end.set_result(None)
    code = code_of(robot, goal)
    assert code.val == Code.CONTROL_FAILED and "out of tolerance" in code.message


@pytest.mark.parametrize(("beyond", "words"), [(0.009, "refused its goal"), (0.02, "limits")])
def test_a_joint_may_be_measured_a_little_beyond_its_limit(robot, beyond, words):
    limit = 2.8973
    robot.machine.state[6], robot.machine.accepts = limit + beyond, False
    begin, end = (*LEFT[:6], limit if beyond < 0.01 else limit + beyond), (*LEFT[:6], 2.0)
    code = Code(message="starts at")
    while "starts at" in code.message:  # the measured state of before
        code = code_of(robot, execute(robot, trajectory((0.0, begin), (1.0, end))))
    assert words in code.message


@pytest.mark.ci
def test_a_cancelled_goal_ends_though_its_controller_does_not(robot):
    robot.machine.cancels = False
    goal = begin_motion(robot)
    robot.answer(goal.handle.cancel_goal_async())
    code = code_of(robot, goal)
    assert code.val == Code.PREEMPTED and "did not end" in code.message
    assert robot.machine.cancelled
    robot.machine.end.set_result(None)


def describe_another(robot):
    robot.set(robot_description=panda.urdf().replace('name="panda"', 'name="other"', 1))


def fail(**state):
    return lambda robot: robot.machine.__dict__.update(state)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("event", "code", "words"),
    [
        (fail(sends=False), INVALIDATED, ""),
        (fail(age=100.0), INVALIDATED, ""),
        (fail(state=[*STATE[:7], np.nan]), INVALIDATED, ""),
        (describe_another, INVALIDATED, ""),
        (lambda robot: robot.machine.die(), Code.CONTROL_FAILED, "'arm_controller' is gone"),
    ],
)
def test_a_planned_motion_stops_once_it_cannot_be_proved_or_followed(robot, event, code, words):
    goal = begin_motion(robot)
    event(robot)
    found = code_of(robot, goal)
    robot.set_robot(robot_description=panda.urdf())
    assert found.val == code and words in found.message, found.message
    assert robot.machine.cancelled or robot.machine.server is None


@pytest.mark.parametrize("together", [False, True])
def test_the_controller_stops_with_the_node(robot, together):
    goal = begin_motion(robot)
    robot.bring("unconfigured" if together else "inactive")
    robot.wait(lambda: bool(robot.machine.cancelled))
    if not together:
        assert code_of(robot, goal).val == Code.PREEMPTED
    robot.bring("active")
    assert robot.machine.cancelled


@pytest.mark.ci
@pytest.mark.parametrize(("number", "is_accepted"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_the_controller_stops_when_the_process_ends(robot, service, number, is_accepted):
    def end():
        service.is_tested = False
        service.process.send_signal(number)
        if not is_accepted:
            time.sleep(0.5)  # the process ends before the answer comes, if it does not wait for it

    if is_accepted:
        begin_motion(robot)
        end()
    else:
        robot.machine.before_accepting = end
        move(robot, RIGHT, scale=0.02)
    assert robot.wait(lambda: bool(robot.machine.cancelled))
    assert service.process.wait(ANSWER_TIMEOUT) == 0
