# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""While plans or inverse kinematics are searched for the world changes, others ask, the node falls silent."""

from __future__ import annotations

import numpy as np
import panda
import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped
from lifecycle_msgs.msg import Transition
from moveit_msgs.msg import (
    CollisionObject,
    Constraints,
    JointConstraint,
    MotionPlanRequest,
    MoveItErrorCodes,
    PlanningScene,
    PositionConstraint,
    PositionIKRequest,
    RobotState,
)
from moveit_msgs.srv import ApplyPlanningScene, GetMotionPlan, GetPositionFK, GetPositionIK, GetStateValidity
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from superovoid_interfaces.srv import GetDistances

from superovoid.compiled.threads import processors
from superovoid_ros.nodes.common.conversions import to_pose

import lifecycle
from parameters import set_parameters

pytestmark = panda.NEEDS_PLANNER
Code = MoveItErrorCodes
LEFT, RIGHT, NEAR_LEFT = ((first, 0.3, 0.0, -1.9, 0.0, 2.2, 0.8) for first in (0.7, -0.7, 0.6))
ROBOT = panda.robot()
TIP, ROOT, NAME = "panda_link8", "panda_link0", "/distance_service"
THREADS = max(1, processors() - 1)
"""Of each kind of search."""
PATIENCE = 3.0, 10.0, 30.0, 100.0
"""s of a search: more, where it was over before the node knew of a change, or had found nothing by then.

Both happen on a machine that has much else to do: a search's time goes on while its node waits for the processor.
"""


@pytest.fixture(scope="module")
def service(start_node):
    node = start_node(
        "distance_service",
        robot_description=panda.urdf(),
        robot_description_semantic=panda.srdf(),
        rate=0.0,
        stale_timeout=0.0,
    )
    node.wait_for_output("robot 'panda'")
    return node


@pytest.fixture
def scene(service, client):
    """The arm at the left of a wall."""
    lifecycle.bring(client, NAME, "active")
    assert set_parameters(client, NAME, {"robot_description": panda.urdf()}).successful
    client.call_until(
        lambda response: response.error_code.val == Code.SUCCESS,
        GetPositionFK,
        "/compute_fk",
        fk_link_names=[TIP],
        robot_state=state_of(LEFT),
    )
    add_nothing_but_the_wall(client)
    return client


def add_nothing_but_the_wall(client):
    wall = panda.wall()
    add(client, "wall", wall.link_from_body, SolidPrimitive.BOX, wall.shape.lengths, whole=True)


def add(client, name, pose, kind, dimensions, whole=False):
    """Put an object into the scene; `whole`: in the place of all others."""
    thing = CollisionObject(id=name, operation=CollisionObject.ADD, pose=to_pose(pose))
    thing.header.frame_id = ROOT
    thing.primitives = [SolidPrimitive(type=kind, dimensions=list(map(float, dimensions)))]
    message = PlanningScene(is_diff=not whole)
    message.world.collision_objects = [thing]
    assert client.call(ApplyPlanningScene, "/apply_planning_scene", scene=message).success


def state_of(values):
    state = panda.state_of(values)
    return RobotState(is_diff=True, joint_state=JointState(name=list(state), position=list(state.values())))


def tip(values):
    return ROBOT.forward_kinematics(panda.state_of(values))[TIP]


def ball(client, point):
    pose = np.eye(4)
    pose[:3, 3] = point
    add(client, "ball", pose, SolidPrimitive.SPHERE, [0.05])


def begin_plan(client, seconds, path=None, to=RIGHT):
    """Ask for a plan that uses all of its time, and return its future once the node is at it."""
    goal = Constraints()
    for name, value in zip(panda.ARM, to, strict=True):
        goal.joint_constraints.append(
            JointConstraint(joint_name=name, position=value, tolerance_above=1e-3, tolerance_below=1e-3, weight=1.0)
        )
    request = MotionPlanRequest(
        group_name="panda_arm",
        goal_constraints=[goal],
        allowed_planning_time=seconds,
        num_planning_attempts=1000,
        start_state=state_of(LEFT),
        path_constraints=path or Constraints(),
    )
    return begin(client, GetMotionPlan, "/plan_kinematic_path", motion_plan_request=request)


def begin_inverse(client, pose, seconds, frame=ROOT, avoid=True):
    stamped = PoseStamped(pose=to_pose(pose))
    stamped.header.frame_id = frame
    wanted = PositionIKRequest(
        group_name="panda_arm", avoid_collisions=avoid, pose_stamped=stamped, robot_state=state_of(LEFT)
    )
    wanted.timeout = Duration(sec=seconds)
    return begin(client, GetPositionIK, "/compute_ik", ik_request=wanted)


def begin(client, kind, service, **request):
    """Send a request and return its future when the node has read it."""
    asking = client.client(kind, service)
    assert client.wait(asking.service_is_ready)
    future = asking.call_async(kind.Request(**request))
    # Requests are read in the order in which they come to each service; what is asked next is answered after.
    client.call(GetStateValidity, "/check_state_validity", robot_state=state_of(LEFT))
    client.call(GetStateValidity, "/check_state_validity", robot_state=state_of(LEFT))
    return future


def interrupted(prepare, begin_search, change):
    """Change the world of a search that has begun, and return the answer; one that came too early is asked for again.

    Parameters
    ----------
    prepare, change
        Make the world that it begins in, and the other one.
    begin_search
        Begins one that takes so many seconds, and returns the client and the future of its answer.
    """
    early = []
    for seconds in PATIENCE:
        prepare()
        client, future = begin_search(seconds)
        change()
        response = end(client, future)
        if response.error_code.val == Code.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE:
            return response
        early.append((seconds, response.error_code))
    pytest.fail(f"never did the change invalidate a search that had begun: {early}")


def interrupted_by_a_ball(client, begin_search):
    """Put a ball in the way of a search that has begun, and return its answer."""
    return interrupted(
        lambda: add_nothing_but_the_wall(client),
        lambda seconds: (client, begin_search(seconds)),
        lambda: ball(client, tip(RIGHT)[:3, 3]),
    )


def found_over(client, change, begin_search):
    """Return a plan for which a search had begun before a change, and which was found after it."""
    early = []
    for seconds in PATIENCE:
        future = begin_search(seconds)
        change()
        is_early = future.done()
        response = end(client, future)
        if response.error_code.val != Code.TIMED_OUT:
            assert response.error_code.val == Code.SUCCESS, response.error_code
            if not is_early:
                return response
        early.append((seconds, response.error_code))
    pytest.fail(f"no plan was searched for while the world changed: {early}")


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
            add(self._client, "station", pose, SolidPrimitive.SPHERE, [0.05])
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
        one = PositionConstraint(link_name=TIP, weight=1.0)
        one.header.frame_id = "station"
        one.constraint_region.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=list(lengths))]
        one.constraint_region.primitive_poses = [to_pose(np.eye(4) if pose is None else pose)]
        return Constraints(position_constraints=[one])


def end(client, future):
    assert client.wait(future.done)
    result = future.result()
    return getattr(result, "motion_plan_response", result)


# -- the world changes ------------------------------------------------------------------------------------------------


def test_a_plan_that_a_new_object_does_not_concern_is_answered(scene):
    response = found_over(scene, lambda: ball(scene, (-0.6, 0.0, 0.8)), lambda seconds: begin_plan(scene, seconds))
    assert response.trajectory.joint_trajectory.points


def test_a_plan_that_a_new_object_is_in_the_way_of_is_not_answered(scene):
    response = interrupted_by_a_ball(scene, lambda seconds: begin_plan(scene, seconds))
    assert "ball" in response.error_code.message and not response.trajectory.joint_trajectory.points


@pytest.mark.parametrize("kind", ["object", "frame"])
def test_a_plan_whose_path_constraints_have_moved_away_is_not_answered(scene, kind):
    station = Station(scene, kind)
    response = interrupted(
        lambda: station.put(0.0),
        # Constraints are judged state by state: no more states than a straight way has.
        lambda seconds: (scene, begin_plan(scene, seconds, station.room(), NEAR_LEFT)),
        lambda: station.put(50.0),
    )
    assert "path_constraints" in response.error_code.message, response.error_code.message
    assert not response.trajectory.joint_trajectory.points


def test_a_plan_for_another_robot_than_that_of_now_is_not_answered(scene):
    other = panda.urdf().replace('size="0.05 0.2 0.06"', 'size="0.05 0.25 0.06"')

    def describe(urdf):
        assert set_parameters(scene, NAME, {"robot_description": urdf}).successful

    response = interrupted(
        lambda: describe(panda.urdf()), lambda seconds: (scene, begin_plan(scene, seconds)), lambda: describe(other)
    )
    assert "another robot" in response.error_code.message


@pytest.mark.parametrize("is_cleaned_up", [False, True])
def test_a_node_that_is_deactivated_answers_no_plan(scene, is_cleaned_up):
    for seconds in PATIENCE:
        future = begin_plan(scene, seconds)
        assert lifecycle.change(scene, NAME, Transition.TRANSITION_DEACTIVATE)
        if is_cleaned_up:
            assert lifecycle.change(scene, NAME, Transition.TRANSITION_CLEANUP)
            return  # the service is gone, and its answer with it
        response = end(scene, future)
        if response.error_code.val not in (Code.SUCCESS, Code.TIMED_OUT):
            break
        lifecycle.bring(scene, NAME, "active")  # the search was over by then
    assert response.error_code.val != Code.SUCCESS and not response.trajectory.joint_trajectory.points
    assert "deactivated" in response.error_code.message, response.error_code


def test_a_solution_that_a_new_object_is_in_the_way_of_is_not_answered(scene):
    out_of_reach = tip(RIGHT)
    out_of_reach[0, 3] = 5.0
    before = []

    def one_that_waits_for_its_turn(seconds):
        before.extend(begin_inverse(scene, out_of_reach, round(seconds)) for _ in range(THREADS))
        return begin_inverse(scene, tip(RIGHT), 10)

    response = interrupted_by_a_ball(scene, one_that_waits_for_its_turn)
    assert "ball" in response.error_code.message
    for one in before:
        assert end(scene, one).error_code.val == Code.NO_IK_SOLUTION


@pytest.mark.parametrize("kind", ["object", pytest.param("frame", marks=pytest.mark.slow)])
def test_a_solution_whose_goal_has_moved_away_is_not_answered(scene, kind):
    station = Station(scene, kind)
    out_of_reach = tip(RIGHT)
    out_of_reach[0, 3] = 5.0
    root_from_station = np.eye(4)
    if kind == "object":
        root_from_station[2, 3] = -5.0
    wanted = np.linalg.inv(root_from_station) @ tip(RIGHT)

    def one_that_waits_for_its_turn(seconds):
        for _ in range(THREADS):
            begin_inverse(scene, out_of_reach, round(seconds) // 3)
        # Nothing else is judged again than the goal.
        return scene, begin_inverse(scene, wanted, 2, "station", avoid=False)

    response = interrupted(lambda: station.put(0.0), one_that_waits_for_its_turn, lambda: station.put(1.1))
    assert TIP in response.error_code.message and not response.solution.joint_state.name, response.error_code


# -- others ask -------------------------------------------------------------------------------------------------------


def test_plans_keep_neither_distances_nor_inverse_kinematics_waiting(scene):
    futures = [begin_plan(scene, 20.0) for _ in range(THREADS)]
    states = np.tile(list(LEFT), (500, 1))
    request = {"joint_names": list(panda.ARM), "joint_positions": states.ravel().tolist()}
    request["joint_names"].append("panda_finger_joint1")
    request["joint_positions"] = np.column_stack([states, np.full(len(states), 0.02)]).ravel().tolist()
    answer = scene.call(GetDistances, f"{NAME}/get_distances", **request)
    assert answer.success and answer.states == len(states), answer.message
    assert end(scene, begin_inverse(scene, tip(LEFT), 2)).error_code.val == Code.SUCCESS
    assert not any(future.done() for future in futures)
    lifecycle.bring(scene, NAME, "unconfigured")  # ends the plans
