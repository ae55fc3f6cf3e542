# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions that do not go as planned: the robot or world differs from the request, or something fails on the way.

The trajectory, the measurements, the controller, the client or the node itself.
"""

import signal
import time
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import panda
import pytest
from control_msgs.action import FollowJointTrajectory
from holding import SERVICE, hold
from motion_goals import Goal, controllers_file, execute, move, move_goal, trajectory
from moveit_msgs.action import MoveGroup
from moveit_msgs.msg import CollisionObject, PlanningScene, RobotState
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import GetPositionFK
from panda_service import LEFT, RIGHT, TIP, attached, block, joint_state, solid, start, tip
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from std_srvs.srv import Trigger
from test_clock import set_time

from superovoid.planning.timing import Trajectory
from superovoid_ros.nodes.common.conversions import from_pose
from superovoid_ros.nodes.distance_service.answers.controllers import ExecutionLimits
from superovoid_ros.nodes.distance_service.answers.motions import MotionActions, MotionGoal, Share

from asking import ANSWER_TIMEOUT

pytestmark = panda.NEEDS_PLANNER
JOINTS = [*panda.ARM, "panda_finger_joint1"]
INVALIDATED = Code.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE
STATE = [*map(float, LEFT), 0.035]


class Machine:
    """A robot at rest, whose controller accepts goals and follows none of them."""

    def __init__(self, client):
        self.client, self.server = client, None
        self._joints = client.node.create_publisher(JointState, "/joint_states", 10)
        self.reset()
        client.node.create_timer(0.02, self._send)

    def reset(self):
        self.__dict__.update(state=list(STATE), age=0.0, accepts=True, sends=True, cancels=True)
        self.goals, self.cancelled, self.end, self.before_accepting = [], [], None, lambda: None
        if self.server is None:
            options = {"goal_callback": self._accept, "cancel_callback": self._cancel}
            options |= {"callback_group": ReentrantCallbackGroup(), "execute_callback": self._follow}
            self.server = ActionServer(self.client.node, FollowJointTrajectory, "/arm_controller", **options)

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
    """Return a function that starts the service if it is not running; motions may begin far from the robot."""
    controllers = {
        "arm_controller": ("FollowJointTrajectory", "", panda.ARM),
        "hand_controller": ("GripperCommand", "gripper_cmd", ["panda_finger_joint1"]),
        "base_controller": ("FollowJointTrajectory", "", panda.ARM[:1]),
    }
    limits = {"allowed_start_tolerance": 2.0, "execution_duration_monitoring": False}
    path = controllers_file(tmp_path_factory.mktemp("controllers") / "controllers.yaml", controllers, limits)
    client.machine = Machine(client)
    started = []

    def start_again():
        if not started or started[-1].process.poll() is not None:
            # On a busy machine joint states of this process may be seconds late.
            started.append(start(serve, SERVICE, controllers=path, stale_timeout=10.0))
        return started[-1]

    return start_again


@pytest.fixture
def service(start_service):
    return start_service()


@pytest.fixture
def robot(service, client):
    """The client, with the arm at the left, and nothing around it or attached."""
    client.machine.reset()
    client.empty()
    wait_for_tip(client, LEFT)
    return client


def wait_for_tip(client, values):
    """Wait until the measured state is this one of the machine, not one of a test before, and not old."""

    def is_there(response):
        is_known = response.error_code.val == Code.SUCCESS and not response.error_code.message
        return is_known and np.allclose(from_pose(response.pose_stamped[0].pose, ""), tip(values), atol=1e-12)

    client.call_until(is_there, GetPositionFK, "/compute_fk", robot_state=RobotState(is_diff=True), fk_link_names=[TIP])


def begin_motion(client):
    """Begin a planned motion that lasts long, once the node has discovered the controller."""
    goal = move(client, RIGHT, scale=0.02)
    while not goal.has_reached("MONITOR") and "no server" in goal.code().message:
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
    code = goal.code()
    assert code.val == Code.CONTROL_FAILED and "out of tolerance" in code.message


@pytest.mark.parametrize(("beyond", "words"), [(0.009, "refused its goal"), (0.02, "limits")])
def test_a_joint_may_be_measured_a_little_beyond_its_limit(robot, beyond, words):
    limit = 2.8973
    robot.machine.state[6], robot.machine.accepts = limit + beyond, False
    begin, end = (*LEFT[:6], limit if beyond < 0.01 else limit + beyond), (*LEFT[:6], 2.0)
    wait_for_tip(robot, robot.machine.state[:7])
    code = execute(robot, trajectory((0.0, begin), (1.0, end))).code()
    assert words in code.message


@pytest.mark.ci
def test_a_cancelled_goal_ends_though_its_controller_does_not(robot):
    robot.machine.cancels = False
    goal = begin_motion(robot)
    robot.answer(goal.handle.cancel_goal_async())
    code = goal.code()
    assert code.val == Code.PREEMPTED and "did not end" in code.message
    assert robot.machine.cancelled
    robot.machine.end.set_result(None)


def describe_another(robot):
    robot.set(robot_description=panda.urdf().replace('name="panda"', 'name="other"', 1))


def lose_a_message(robot):
    robot.publisher(PlanningScene, "/planning_scene").publish(b"\x00\x01\x00\x03")


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
        (lose_a_message, INVALIDATED, "4 bytes that are not"),
        (lambda robot: robot.machine.die(), Code.CONTROL_FAILED, "'arm_controller' is gone"),
    ],
)
def test_a_planned_motion_stops_once_it_cannot_be_proved_or_followed(robot, event, code, words):
    goal = begin_motion(robot)
    event(robot)
    found = goal.code()
    robot.set_robot(robot_description=panda.urdf())
    assert found.val == code and words in found.message, found.message
    assert robot.machine.cancelled or robot.machine.server is None


@pytest.mark.ci
def test_a_controller_killed_at_rest_ends_the_next_motion(robot, start_node, tmp_path):
    """DDS notices the end of its process after twenty seconds only."""
    one = {"base_controller": ("FollowJointTrajectory", "", panda.ARM[:1])}
    path, remap = controllers_file(tmp_path / "one.yaml", one), ("joint_states:=simulated_states",)
    controller = start_node("simulated_controllers", remap=remap, controllers=path)
    rest = trajectory((0.0, LEFT[:1]), (0.1, LEFT[:1]), joints=panda.ARM[:1])
    assert robot.wait(lambda: execute(robot, rest, ["base_controller"]).code().val == Code.SUCCESS)
    controller.is_tested = False
    controller.kill()
    found = execute(robot, rest, ["base_controller"]).code()
    assert found.val == Code.CONTROL_FAILED and "has not accepted its goal" in found.message, found.message


def test_a_motion_stops_at_an_object_while_long_queries_wait(robot):
    goal = begin_motion(robot)
    hold(robot, "query", True)
    robot.apply(block("wall", panda.wall()))
    code = goal.code()
    hold(robot, "query", False)
    assert code.val == INVALIDATED and "wall" in code.message, code.message
    assert robot.machine.cancelled


def test_a_motion_whose_proof_takes_long_is_stopped(robot):
    goal = begin_motion(robot)
    hold(robot, "motion", True)
    far = np.eye(4)
    far[0, 3] = 5.0
    robot.apply(solid("far", far, (0.1, 0.1, 0.1)))
    code = goal.code()
    hold(robot, "motion", False)
    assert code.val == INVALIDATED and "not proved after" in code.message, code.message
    assert robot.machine.cancelled


@pytest.mark.ci
def test_no_motion_begins_or_goes_on_while_messages_are_unread(robot):
    goal = begin_motion(robot)
    hold(robot, "read", True)
    robot.publisher(CollisionObject, "/collision_object").publish(block("wall", panda.wall()))
    found = goal.code()
    late = execute(robot, trajectory((0.0, LEFT), (30.0, RIGHT))).code()
    hold(robot, "read", False)
    assert found.val == INVALIDATED and "not proved after" in found.message, found.message
    assert late.val == INVALIDATED and "messages about the world" in late.message, late.message
    assert robot.machine.cancelled and len(robot.machine.goals) == 1


def test_a_goal_in_an_inactive_node_is_refused_though_another_stops(robot):
    robot.machine.cancels = False
    goal = begin_motion(robot)
    robot.bring("inactive")
    late = execute(robot, trajectory((0.0, LEFT), (30.0, RIGHT)))
    assert "inactive" in late.code().message and not goal.future.done()
    robot.bring("active")
    robot.machine.end.set_result(None)
    assert goal.code().val == Code.PREEMPTED


@pytest.mark.parametrize("is_accepted", [False, True])
def test_a_controller_that_lost_its_action_is_cancelled_all_the_same(is_accepted):
    sent, cancelled = Future(), []
    client = SimpleNamespace(server_is_ready=lambda: True, send_goal_async=lambda _: sent)
    accepted = SimpleNamespace(
        accepted=True, get_result_async=Future, cancel_goal_async=lambda: cancelled.append("accepted")
    )
    share = Share("arm", client, None, lambda _: None)
    if is_accepted:
        sent.set_result(accepted)
        assert share.end_reason() is None
    client.server_is_ready = lambda: False
    assert "is gone" in share.end_reason()
    if not is_accepted:
        sent.set_result(accepted)
    assert cancelled == ["accepted"]


@pytest.mark.parametrize("together", [False, True])
def test_the_controller_stops_with_the_node(robot, together):
    goal = begin_motion(robot)
    robot.bring("unconfigured" if together else "inactive")
    robot.wait(lambda: bool(robot.machine.cancelled))
    assert goal.code().val == Code.PREEMPTED
    robot.bring("active")


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


# --- proofs before the begin ---


def begun(client, goal):
    """Wait for the begin or end of a motion; return the controller's trajectory, or the code and its message."""
    client.wait(lambda: bool(client.machine.goals) or goal.future.done())
    if goal.future.done():
        return goal.code()
    sent = client.machine.goals[0].request.trajectory
    client.answer(goal.handle.cancel_goal_async())
    assert goal.code().val == Code.PREEMPTED
    return sent


def test_an_object_applied_during_the_last_proof_is_not_hit(robot):
    before = hold(robot, "query", True)
    goal = execute(robot, trajectory((0.0, LEFT), (30.0, RIGHT)))
    while hold(robot, "query", True) == before:
        robot.spin(0.02)
    robot.apply(block("wall", panda.wall()))
    hold(robot, "query", False)
    code = begun(robot, goal)
    assert code.val == Code.INVALID_MOTION_PLAN and "wall" in code.message
    assert not robot.machine.goals


def test_a_robot_moved_during_planning_does_not_hit_anything(robot):
    robot.apply(block("wall", panda.wall()))
    hold(robot, "plan", True)
    goal = move(robot, (0.9, *LEFT[1:]))
    goal.wait_for("PLANNING")
    robot.machine.state[:7] = map(float, RIGHT)
    wait_for_tip(robot, RIGHT)
    hold(robot, "plan", False)
    code = begun(robot, goal)
    assert code.val == Code.INVALID_MOTION_PLAN and "wall" in code.message


def tool():
    pose = np.eye(4)
    pose[2, 3] = 0.3
    box = solid("tool", pose, (0.03, 0.03, 0.4), frame="panda_hand")
    return attached(box, "panda_hand", "panda_leftfinger", "panda_rightfinger")


def start_state(*objects):
    """Return a full state as some clients send it, which has other attached objects than the robot."""
    return RobotState(joint_state=joint_state(panda.state_of(LEFT)), attached_collision_objects=list(objects))


def test_a_motion_carries_what_the_start_state_of_its_request_lacks(robot):
    scene = PlanningScene(is_diff=True, robot_state=RobotState(is_diff=True, attached_collision_objects=[tool()]))
    ball = tip((0.0, *LEFT[1:])) @ [0.0, 0.0, 0.4, 1.0]
    pose = np.eye(4)
    pose[:3, 3] = ball[:3]
    scene.world.collision_objects = [solid("ball", pose, [0.05], SolidPrimitive.SPHERE)]
    assert robot.apply_scene(scene)
    goal = move_goal(RIGHT)
    goal.request.start_state = start_state()
    sent = begun(robot, Goal(robot, MoveGroup, "move_action", goal))
    rows = np.array([point.positions for point in sent.points])
    times = np.linspace(0.0, 1.0, 20)[:, None]
    states = np.concatenate([(1.0 - times) * a + times * b for a, b in pairwise(rows)])
    heights = np.clip([(np.linalg.inv(tip(at)) @ ball)[2] for at in states], 0.1, 0.5)
    axes = np.array([tip(at) @ [0.0, 0.0, z, 1.0] for at, z in zip(states, heights, strict=True)])
    assert np.linalg.norm(axes - ball, axis=1).min() > 0.05


def test_a_motion_with_another_object_than_attached_is_refused(robot):
    goal = move_goal(RIGHT)
    goal.request.start_state = start_state(tool())
    code = begun(robot, Goal(robot, MoveGroup, "move_action", goal))
    assert code.val == Code.INVALID_ROBOT_STATE and "'tool' is not attached" in code.message


def test_a_mistake_of_the_node_stops_the_controller(robot, service):
    goal = begin_motion(robot)
    assert robot.call(Trigger, "/distance_service/break_motions").success
    assert goal.code().val == Code.FAILURE and robot.wait(lambda: bool(robot.machine.cancelled))
    service.interrupt()  # a later test has another one


def test_a_motion_ends_when_time_jumps_back(start_service, serve, client, tmp_path):
    controllers, unmeasured = (
        {"arm_controller": ("FollowJointTrajectory", "", panda.ARM)},
        {"unmeasured_joints": "default"},
    )
    path = controllers_file(tmp_path / "controllers.yaml", controllers, {"allowed_start_tolerance": 0.0})
    client.machine.reset()
    client.machine.sends = False  # without stamps, answers have the time of the node
    start(serve, use_sim_time=True, stale_timeout=0.0, controllers=path, **unmeasured)
    client.until(lambda response: set_time(client, 100.0) or response.distances.header.stamp.sec == 100)
    goal = execute(client, trajectory((0.0, LEFT), (9.0, RIGHT)))
    goal.wait_for("MONITOR")
    client.wait(lambda: set_time(client, 10.0) or goal.future.done())
    assert goal.code().val == INVALIDATED and "time has jumped back" in goal.code().message


def test_a_long_motion_is_compared_with_its_last_states_only(monkeypatch):
    hour, compared = 3600.0, []
    evaluate = Trajectory.evaluate
    monkeypatch.setattr(Trajectory, "evaluate", lambda *given: compared.append(len(given[1])) or evaluate(*given))
    # There and back: the robot passes each position twice, and lags by up to a second.
    times = np.array([0.0, 0.5 * hour, hour])
    way = Trajectory(("turn",), times, [[0.0], [100.0], [0.0]], np.zeros((3, 1)))
    robot = SimpleNamespace(joints={"turn": SimpleNamespace(kind="revolute")})
    state = SimpleNamespace(robot=robot, positions={"turn": 0.0})
    known = {"require_robot_of": lambda _: None, "measured_state": lambda: state}
    actions = SimpleNamespace(_limits=ExecutionLimits(), **known)
    goal = MotionGoal(None, object, proof=SimpleNamespace(trajectory=way, state=state), watched=["turn"])
    for after in np.arange(0.0, hour, 0.5):
        state.positions["turn"] = float(evaluate(way, np.array([max(0.0, after - 1.0)]))[0, 0])
        assert MotionActions._off_path(actions, goal, after) == ""
    assert np.median(compared) < 1000
    assert max(compared) < 10_000  # of 360,000: near the turn it hardly moves
    state.positions["turn"] += 0.5
    assert "joint 'turn' is 0." in MotionActions._off_path(actions, goal, hour)
