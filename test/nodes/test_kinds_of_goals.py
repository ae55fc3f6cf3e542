# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Plans and inverse kinematics of a robot with a joint that turns without limits, a follower, and a base that moves."""

import math

import numpy as np
import panda
import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, Transform, Vector3
from holding import SERVICE, begin, hold
from moveit_msgs.msg import Constraints, MoveItErrorCodes, RobotState
from moveit_msgs.srv import GetPositionFK, GetStateValidity
from panda_service import attached, inverse, joint_range, joint_state, plan, region, solid
from shape_msgs.msg import Mesh, MeshTriangle, SolidPrimitive
from std_msgs.msg import Header

from superovoid_ros.nodes.common.conversions import from_pose

import arm

pytestmark = panda.NEEDS_PLANNER
Code = MoveItErrorCodes
INVALIDATED = Code.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE

URDF = """<robot name="crane">
  <link name="chassis"><contact_geometry><sphere radius="0.1"/></contact_geometry></link>
  <joint name="turn" type="continuous"><parent link="chassis"/><child link="mast"/><axis xyz="0 0 1"/>
    <limit effort="1" velocity="0"/></joint>
  <link name="mast"/>
  <joint name="boom" type="prismatic"><parent link="mast"/><child link="hook"/>
    <origin xyz="0.5 0 0"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.5" effort="1" velocity="1"/></joint>
  <link name="hook"><contact_geometry><sphere radius="0.05"/></contact_geometry></link>
  <joint name="lid" type="revolute"><parent link="chassis"/><child link="flap"/><axis xyz="0 0 1"/>
    <limit lower="1.0" upper="2.0" effort="1" velocity="1"/></joint>
  <link name="flap"><contact_geometry><origin xyz="0.5 0 0"/><sphere radius="0.05"/></contact_geometry></link>
</robot>"""
SRDF = """<robot name="crane">
  <group name="crane"><chain base_link="chassis" tip_link="hook"/></group>
  <group name="mobile crane"><joint name="drive"/><group name="crane"/></group>
  <virtual_joint name="drive" type="planar" parent_frame="odom" child_link="chassis"/>
  <disable_collisions link1="chassis" link2="hook"/><disable_collisions link1="chassis" link2="flap"/>
</robot>"""


@pytest.fixture(scope="module")
def service(serve):
    descriptions = {"robot_description": URDF, "robot_description_semantic": SRDF}
    return serve(SERVICE, **descriptions, rate=0.0, stale_timeout=0.0)


@pytest.fixture
def crane(service, client):
    """Nothing around the robot."""
    state = place(state_of())
    client.call_until(lambda response: response.valid, GetStateValidity, "/check_state_validity", robot_state=state)
    client.empty()
    return client


def state_of(turn=0.0, boom=0.0, lid=2.0):
    return RobotState(is_diff=True, joint_state=joint_state({"turn": turn, "boom": boom, "lid": lid}))


def place(state, x=0.0, y=0.0):
    """Put the robot somewhere in odom."""
    state.multi_dof_joint_state.joint_names = ["drive"]
    where = Transform(translation=Vector3(x=x, y=y))
    where.rotation.w = 1.0
    state.multi_dof_joint_state.transforms = [where]
    return state


def rock(x):
    """A ball in odom."""
    return solid("rock", arm.at(x, 0.0, 0.0), [0.05], SolidPrimitive.SPHERE, "odom")


def joints(**wanted):
    """Each a position and a tolerance."""
    return [joint_range(name, *each) for name, each in wanted.items()]


def plan_crane(client, goal, start, path=(), begin=None, seconds=10.0):
    way = Constraints(joint_constraints=path)
    fields = {"start_state": start, "path_constraints": way, "seconds": seconds}
    return plan(client, goal, group_name="crane", begin=begin, **fields)


def turns(response):
    """The positions of the joint that turns."""
    assert response.error_code.val == Code.SUCCESS, response.error_code.message
    trajectory = response.trajectory.joint_trajectory
    column = list(trajectory.joint_names).index("turn")
    return np.array([point.positions[column] for point in trajectory.points])


def turn_to(turn, tolerance=1e-3, **boom):
    return Constraints(joint_constraints=joints(turn=(turn, tolerance), **boom))


AT_HOOK = turn_to(2 * math.pi - 2.0, 0.1)
AT_HOOK.position_constraints = [
    region("hook", "chassis", arm.at(0.7 * math.cos(-2.0), 0.7 * math.sin(-2.0), 0.0), [1e-3])
]
NOT_AT_0 = math.pi, math.pi - 0.1


@pytest.mark.ci
@pytest.mark.parametrize(
    ("start", "goal", "way", "end"),
    [
        (0.0, turn_to(4.0, boom=(0.2, 1e-3)), {}, 4.0 - 2 * math.pi),
        (7.0, turn_to(9.0), {}, 9.0),
        (20.0, turn_to(0.1), {}, 0.1 + 6 * math.pi),
        (-3.0, turn_to(3.0), {}, 3.0 - 2 * math.pi),
        (0.2, turn_to(-0.2), {}, -0.2),
        (0.2, turn_to(-0.2), {"turn": NOT_AT_0}, 2 * math.pi - 0.2),
        (0.0, AT_HOOK, {}, -2.0),
    ],
)
def test_a_goal_of_a_turning_joint_is_reached_the_allowed_short_way(crane, start, goal, way, end):
    found = turns(plan_crane(crane, goal, place(state_of(turn=start)), joints(**way)))
    assert found[0] == pytest.approx(start) and found[-1] == pytest.approx(end, abs=2e-3)
    if way:
        assert found.min() >= 0.1 - 1e-9 and found.max() <= 2 * math.pi - 0.1 + 1e-9


def test_a_region_may_be_a_mesh(crane):
    corners = [(0, 0, 0), (0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.2)]
    wedge = Mesh(vertices=[Point(x=float(x), y=float(y), z=float(z) - 0.01) for x, y, z in corners])
    wedge.triangles = [MeshTriangle(vertex_indices=each) for each in ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))]
    goal = Constraints(position_constraints=[region("hook", "chassis", arm.at(-0.65, -0.05, 0.0), wedge)])
    way = turns(plan_crane(crane, goal, place(state_of())))
    assert abs(math.remainder(way[-1] - math.pi, 2 * math.pi)) < 0.4


def test_returned_states_can_be_requested_again(crane):
    crane.apply(rock(5.0))
    state = place(state_of(), x=4.5)  # the base of the request: from there the hook is in the rock
    load = attached(solid("load", np.eye(4), [0.06], SolidPrimitive.SPHERE, "hook"), "hook")
    state.attached_collision_objects = [load]
    at_left = arm.at(0.0, 0.5, 0.0)
    at_left[:2, :2] = [[0.0, -1.0], [1.0, 0.0]]
    # The search uses all of its time; this is the node's default.
    options = {"group_name": "crane", "robot_state": state, "timeout": Duration()}
    answer = inverse(crane, at_left, "chassis", **options)
    assert answer.error_code.val == Code.SUCCESS, answer.error_code
    states = [answer.solution]
    state = place(state_of(turn=1.5), x=4.5)
    state.attached_collision_objects = [load]
    states.append(plan_crane(crane, turn_to(-1.5), state).trajectory_start)
    for state in states:
        there = state.multi_dof_joint_state
        assert list(there.joint_names) == ["drive"] and there.transforms[0].translation.x == pytest.approx(4.5)
        assert [held.object.id for held in state.attached_collision_objects] == ["load"]
        assert crane.check(state).valid
        turn = list(state.joint_state.name).index("turn")
        state.joint_state.position[turn] = 0.21  # next to the rock: hook is free, load is not
        hit = crane.check(state).contacts
        assert {frozenset((one.contact_body_1, one.contact_body_2)) for one in hit} == {frozenset(("load", "rock"))}


def test_a_group_with_the_joint_of_the_base_is_refused(crane):
    asked = {"group_name": "mobile crane"}
    answers = plan(crane, turn_to(0.1), **asked), inverse(crane, arm.at(0.5, 0.0, 0.0), "chassis", **asked)
    for answer in answers:
        assert answer.error_code.val == Code.INVALID_GROUP_NAME and "'drive'" in answer.error_code.message


def plan_while_the_base_moves(client, goal, start, odom_from_chassis, *objects):
    """Plan from a place where the frames agree, among objects; move the base during the search."""
    client.send_transform("odom", "chassis", np.eye(4))
    asked = {"robot_state": state_of(turn=1.0)}
    client.call_until(lambda response: response.valid, GetStateValidity, "/check_state_validity", **asked)
    client.apply(*objects)
    future = plan_crane(client, goal, start, joints(boom=(0.0, 0.01)), begin, 60.0)
    client.send_transform("odom", "chassis", odom_from_chassis)
    asked = {"fk_link_names": ["hook"], "robot_state": state_of(), "header": Header(frame_id="odom")}
    hook = odom_from_chassis @ arm.at(0.5, 0.0, 0.0)

    def has_moved(answer):
        return np.allclose(from_pose(answer.pose_stamped[0].pose, "hook"), hook, atol=1e-9)

    client.call_until(has_moved, GetPositionFK, "/compute_fk", **asked)
    hold(client, "plan", False)
    assert client.wait(future.done)
    return future.result().motion_plan_response


@pytest.mark.parametrize(("shift", "code"), [(0.0005, Code.SUCCESS), (0.2, INVALIDATED)])
def test_a_plan_is_proved_again_after_a_motion_of_the_base(crane, shift, code):
    goal = turn_to(-1.0, boom=(0.0, 1e-3))  # the hook passes by the rock at 0.5
    response = plan_while_the_base_moves(crane, goal, state_of(turn=1.5), arm.at(shift, 0.0, 0.0), rock(0.65))
    assert response.error_code.val == code, response.error_code
    assert (code == Code.SUCCESS) == bool(response.trajectory.joint_trajectory.points)


def test_a_plan_is_proved_again_after_a_motion_of_what_the_robot_carries(crane):
    """The base turns so little that only a load three metres away moves by more than the tolerance."""
    angle = -1.0 - 2.0 * math.asin(0.5 * (0.1 + 0.0015) / 3.0)  # the load ends 1.5 mm from the rock
    start, place = state_of(turn=0.5), arm.at(3.0 * math.cos(angle), 3.0 * math.sin(angle), 0.0)
    load = solid("load", arm.at(2.5, 0.0, 0.0), [0.05], SolidPrimitive.SPHERE, "hook")
    start.attached_collision_objects = [attached(load, "hook")]
    turned = arm.at(0.0, 0.0, 0.0)
    turned[:2, :2] = [[math.cos(8e-4), math.sin(8e-4)], [-math.sin(8e-4), math.cos(8e-4)]]
    far_rock = solid("rock", place, [0.05], SolidPrimitive.SPHERE, "odom")
    code = plan_while_the_base_moves(crane, turn_to(-1.0, 1e-7, boom=(0.0, 1e-7)), start, turned, far_rock).error_code
    assert code.val == INVALIDATED and "load" in code.message, code
