# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Service check_state_validity as a process: what is in contact with what, where, how deep, and what is not valid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from geometry_msgs.msg import Quaternion, Transform, Vector3
from moveit_msgs.msg import (
    AttachedCollisionObject,
    BoundingVolume,
    CollisionObject,
    Constraints,
    ContactInformation,
    JointConstraint,
    LinkPadding,
    LinkScale,
    OrientationConstraint,
    PlanningScene,
    PositionConstraint,
    RobotState,
    VisibilityConstraint,
)
from moveit_msgs.srv import ApplyPlanningScene, GetPositionFK, GetStateValidity
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive

from superovoid_ros.nodes.common.conversions import to_pose

import arm
import parameters
from world import MAP, WALL, octomap

SLIDING, TURNING = (
    f'<group name="{group}"><joint name="{joint}"/></group>'
    for group, joint in (("sliding", "slide"), ("turning", "wrist"))
)
SRDF = arm.SRDF.replace("</robot>", f"{SLIDING}{TURNING}</robot>")


@pytest.fixture(scope="module")
def service(start_node):
    node = start_node(
        "distance_service", robot_description=arm.URDF, robot_description_semantic=SRDF, rate=0.0, stale_timeout=0.0
    )
    node.wait_for_output("robot 'arm'")
    return node


@pytest.fixture
def state(service, client):
    """The arm with its joints at 0, the floating ball far away, no objects, no paddings."""
    arm.set_state(client, "/distance_service", ball=arm.at(0.0, 0.0, 50.0))
    apply(client, PlanningScene())
    set_parameters(client, padding=0.0, safety_margin=0.0, pad_self_collisions=False)
    return client


def apply(client, message):
    assert client.call(ApplyPlanningScene, "/apply_planning_scene", scene=message).success


def set_parameters(client, **values):
    assert parameters.set_parameters(client, "/distance_service", values).successful


def joints(slide=None, wrist=None, *, is_diff=False, **fields):
    message = RobotState(is_diff=is_diff, **fields)
    for name, position in (("slide", slide), ("wrist", wrist)):
        if position is not None:
            message.joint_state.name.append(name)
            message.joint_state.position.append(position)
    return message


def check(client, robot_state=None, **fields):
    return client.call(
        GetStateValidity, "/check_state_validity", robot_state=robot_state or RobotState(is_diff=True), **fields
    )


def ball(name="cup", x=2.0, y=0.0, z=0.0, radius=0.1, frame="ground", operation=CollisionObject.ADD):
    message = CollisionObject(id=name, pose=to_pose(arm.at(x, y, z)), operation=operation)
    if operation == CollisionObject.ADD:
        message.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[radius])]
    message.header.frame_id = frame
    return message


def diff(*objects, **fields):
    message = PlanningScene(is_diff=True, **fields)
    message.world.collision_objects = list(objects)
    return message


def pairs(response):
    return [(contact.contact_body_1, contact.contact_body_2) for contact in response.contacts]


def vector(message):
    return np.array([message.x, message.y, message.z])


# --- scales ---


def scale_hand(client, factor):
    apply(client, diff(link_scale=[LinkScale(link_name="hand", scale=factor)]))


def test_scaled_links_and_what_they_carry_collide_with_the_world_as_larger_ones(state):
    """As in MoveIt: the scaled robot against the world, the robot as it is against itself."""
    apply(state, diff(ball(x=0.5, z=0.35)))  # 0.2 from the ball of 0.05 in the hand
    assert check(state).valid
    scale_hand(state, 4.9)
    assert check(state).valid
    scale_hand(state, 9.0)  # so large it would hold the thumb and touch the ground
    grown = check(state)
    assert not grown.valid and [{*pair} for pair in pairs(grown)] == [{"cup", "hand"}]
    assert grown.contacts[0].depth == pytest.approx(0.2, abs=1e-6)
    held = AttachedCollisionObject(link_name="hand", object=ball("held", 1.0, frame="hand"), touch_links=["hand"])
    scene = diff(ball(x=1.0, z=0.35))
    scene.robot_state.is_diff = True
    scene.robot_state.attached_collision_objects = [held]
    apply(state, scene)
    scale_hand(state, 2.4)
    assert check(state).valid
    scale_hand(state, 2.6)
    assert [{*pair} for pair in pairs(check(state))] == [{"cup", "held"}]
    scale_hand(state, 1.0)
    assert check(state).valid


# --- contacts ---


def test_contact_has_names_types_position_normal_and_depth(state):
    apply(state, diff(ball(x=2.0)))
    assert check(state).valid
    response = check(state, joints(slide=1.4, wrist=0.0))  # hand's ball from 1.85 to 1.95, the cup from 1.9
    assert not response.valid
    (contact,) = response.contacts
    assert (contact.contact_body_1, contact.contact_body_2) == ("hand", "cup")
    assert contact.body_type_1 == ContactInformation.ROBOT_LINK
    assert contact.body_type_2 == ContactInformation.WORLD_OBJECT
    assert contact.header.frame_id == "ground"
    assert contact.depth == pytest.approx(0.05, abs=1e-9)
    assert vector(contact.normal) == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)
    assert vector(contact.position) == pytest.approx([1.925, 0.0, 0.0], abs=1e-6)
    (cost,) = response.cost_sources
    assert vector(cost.aabb_min) == pytest.approx([1.9, -0.05, -0.05], abs=1e-9)
    assert vector(cost.aabb_max) == pytest.approx([1.95, 0.05, 0.05], abs=1e-9)
    assert check(state).valid  # the measured state is as it was


def test_contacts_are_deepest_first_one_for_each_two_bodies(state):
    apply(state, diff(ball("cup", x=1.0, radius=0.5), ball("plate", x=1.0, radius=0.45)))
    response = check(state, joints(slide=0.5, wrist=0.0))
    assert pairs(response) == [("hand", "cup"), ("hand", "plate"), ("thumb", "cup")]
    depths = [contact.depth for contact in response.contacts]
    assert depths == pytest.approx([0.55, 0.5, 0.02], abs=1e-9)


def test_octomap_is_one_object_of_the_world_in_contacts(state):
    scene = diff()
    scene.world.octomap = octomap(WALL, arm.at(0.1, 0.03, 0.1))
    apply(state, scene)
    response = check(state, joints(slide=-0.5, wrist=0.0))  # the hand's ball at the origin, as the ground's
    assert pairs(response) == [("ground", MAP), ("hand", MAP)]
    assert {contact.body_type_2 for contact in response.contacts} == {ContactInformation.WORLD_OBJECT}
    # Both are in the middle of a cube of 0.2 m whose face is at y = 0.03, the shortest way out.
    assert [contact.depth for contact in response.contacts] == pytest.approx([0.13, 0.08], abs=1e-6)
    assert pairs(check(state, group_name="sliding")) == []
    assert pairs(check(state, joints(slide=-0.5, wrist=0.0), group_name="sliding")) == [("hand", MAP)]


def test_group_limits_the_check_to_what_its_joints_move(state):
    apply(state, diff(ball("low", x=0.0), ball("high", x=0.6)))
    assert pairs(check(state)) == [("ground", "low"), ("hand", "high")]
    for group in ("sliding", "turning", "gripper"):  # the hand is in none of the first's links, but its joint moves it
        assert pairs(check(state, group_name=group)) == [("hand", "high")]
    apply(state, diff(ball("high", x=0.6, operation=CollisionObject.REMOVE)))
    assert check(state, group_name="gripper").valid and not check(state).valid


def test_joint_limits_are_not_checked_as_in_move_group(state):
    assert check(state, joints(slide=-30.0, wrist=9.0)).valid


# --- the state of a request ---


def held(**fields):
    return AttachedCollisionObject(link_name="hand", object=ball(x=0.7, frame="hand", **fields))


def test_attached_objects_of_a_request_are_part_of_its_state_only(state):
    apply(state, diff(ball("wall", x=2.0)))
    request = joints(slide=1.2, wrist=0.0, is_diff=True, attached_collision_objects=[held()])
    response = check(state, request)
    assert pairs(response) == [("cup", "wall")] or pairs(response) == [("wall", "cup")]
    types = {response.contacts[0].contact_body_1: response.contacts[0].body_type_1}
    types[response.contacts[0].contact_body_2] = response.contacts[0].body_type_2
    assert types == {"cup": ContactInformation.ROBOT_ATTACHED, "wall": ContactInformation.WORLD_OBJECT}
    assert response.contacts[0].depth == pytest.approx(0.1, abs=1e-9)
    assert not check(state, request, group_name="turning").valid  # it is on a link of the group
    assert check(state, joints(slide=1.2, wrist=0.0, is_diff=True)).valid


def test_state_that_is_no_difference_brings_all_attached_objects(state):
    apply(state, diff(ball("wall", x=2.0)))
    attach = diff()
    attach.robot_state.is_diff = True
    attach.robot_state.attached_collision_objects = [held()]
    apply(state, attach)
    assert not check(state, joints(slide=1.2, wrist=0.0, is_diff=True)).valid
    assert check(state, joints(slide=1.2, wrist=0.0)).valid  # no longer holds anything
    assert not check(state, joints(slide=1.2, wrist=0.0, attached_collision_objects=[held()])).valid
    gone = AttachedCollisionObject(object=ball(operation=CollisionObject.REMOVE))
    assert check(state, joints(slide=1.2, wrist=0.0, is_diff=True, attached_collision_objects=[gone])).valid
    assert not check(state, joints(slide=1.2, wrist=0.0, is_diff=True)).valid


def test_multi_dof_joint_that_is_unknown_is_not_valid_unless_it_moves_nothing(service, state):
    request = RobotState(is_diff=True)
    request.multi_dof_joint_state.joint_names = ["virtual"]
    request.multi_dof_joint_state.transforms = [Transform(rotation=Quaternion(w=1.0))]
    assert check(state, request).valid
    request.multi_dof_joint_state.transforms[0].translation.x = 1.0
    assert not check(state, request).valid
    service.wait_for_output("multi_dof joint 'virtual'")


# --- padding and margin ---


def with_ball(x):
    """A state that has the floating ball, a part of the robot, somewhere else."""
    request = RobotState(is_diff=True)
    request.multi_dof_joint_state.joint_names = ["free"]
    request.multi_dof_joint_state.transforms = [Transform(translation=Vector3(x=x), rotation=Quaternion(w=1.0))]
    return request


def test_what_is_answered_from_a_stale_state_says_so(service, state):
    forward = {"robot_state": RobotState(is_diff=True), "fk_link_names": ["hand"]}
    assert not state.call(GetPositionFK, "/compute_fk", **forward).error_code.message
    set_parameters(state, stale_timeout=0.001)
    try:
        assert not check(state).valid
        service.wait_for_output("check_state_validity: answered 'not valid': state is")
        set_parameters(state, stale_validity="warn")
        assert check(state).valid
        service.wait_for_output("check_state_validity: answered nevertheless: state is")
        set_parameters(state, stale_validity="refuse")
        assert "s old" in state.call(GetPositionFK, "/compute_fk", **forward).error_code.message
        # Nothing of this state is measured.
        given = with_ball(5.0)
        given.joint_state = JointState(name=["slide", "wrist"], position=[0.0, 0.0])
        forward["robot_state"] = given
        assert not state.call(GetPositionFK, "/compute_fk", **forward).error_code.message
        assert check(state, given).valid
    finally:
        set_parameters(state, stale_timeout=0.0, stale_validity="refuse")


def test_safety_margin_holds_for_every_pair(state):
    near = with_ball(0.659)  # 9 mm from the hand
    set_parameters(state, safety_margin=0.008)
    assert check(state, near).valid
    set_parameters(state, safety_margin=0.01)
    response = check(state, near)
    assert pairs(response) == [("hand", "ball")]
    assert response.contacts[0].depth == pytest.approx(0.001, abs=1e-9)


def test_padding_grows_links_against_objects_only(state):
    apply(state, diff(ball(x=0.66, y=0.0)))  # 10 mm from the hand
    assert check(state).valid
    set_parameters(state, padding=0.02)
    response = check(state)
    assert pairs(response) == [("hand", "cup")]
    assert response.contacts[0].depth == pytest.approx(0.01, abs=1e-9)
    apply(state, diff(ball(operation=CollisionObject.REMOVE)))
    assert check(state, with_ball(0.659)).valid
    set_parameters(state, pad_self_collisions=True)
    assert pairs(check(state, with_ball(0.659))) == [("hand", "ball")]
    # What a planning scene says of a link goes before the parameter.
    apply(state, diff(ball(x=0.66), link_padding=[LinkPadding(link_name="hand", padding=0.005)]))
    assert check(state).valid


# --- constraints ---


def joint_constraint(name="slide", position=0.5, above=0.1, below=0.2, weight=1.0):
    return JointConstraint(
        joint_name=name, position=position, tolerance_above=above, tolerance_below=below, weight=weight
    )


@pytest.mark.parametrize(
    ("constraint", "slide", "wrist", "satisfied", "distance"),
    [
        (joint_constraint(), 0.6, 0.0, True, 0.1),
        (joint_constraint(), 0.61, 0.0, False, 0.11),
        (joint_constraint(), 0.3, 0.0, True, 0.2),
        (joint_constraint(weight=2.0), 0.25, 0.0, False, 0.5),
        (joint_constraint(weight=0.0), 0.25, 0.0, False, 0.25),
        (joint_constraint("follower", 0.4), 0.0, 0.9, True, 0.05),  # half the wrist's
        (joint_constraint(position=9.0), 2.0, 0.0, True, 0.0),  # beyond the limit means the limit
    ],
)
def test_joint_constraints_are_evaluated_as_move_group_does(state, constraint, slide, wrist, satisfied, distance):
    response = check(state, joints(slide, wrist), constraints=Constraints(joint_constraints=[constraint]))
    assert response.valid == satisfied
    (result,) = response.constraint_result
    assert result.result == satisfied and result.distance == pytest.approx(distance, abs=1e-12)


def test_position_constraints_ask_whether_a_point_of_a_link_is_in_a_region(state):
    region = BoundingVolume(
        primitives=[SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.4, 0.4, 0.4])],
        primitive_poses=[to_pose(arm.at(1.5, 0.0, 0.0))],
    )
    constraint = PositionConstraint(
        link_name="hand", target_point_offset=Vector3(x=0.5), constraint_region=region, weight=1.0
    )
    constraint.header.frame_id = "ground"
    asked = Constraints(position_constraints=[constraint])
    inside, outside = (check(state, joints(slide, 0.0), constraints=asked) for slide in (0.9, 0.7))
    assert inside.valid and inside.constraint_result[0].distance == pytest.approx(0.1)
    assert not outside.valid and outside.constraint_result[0].distance == pytest.approx(0.3)


@pytest.mark.parametrize("parameterization", [0, 1])
def test_orientation_constraints_limit_angles_about_the_axes(state, parameterization):
    constraint = OrientationConstraint(
        link_name="hand",
        orientation=Quaternion(w=1.0),
        absolute_x_axis_tolerance=0.01,
        absolute_y_axis_tolerance=0.01,
        absolute_z_axis_tolerance=0.3,
        parameterization=parameterization,
        weight=1.0,
    )
    constraint.header.frame_id = "ground"
    asked = Constraints(orientation_constraints=[constraint])
    within, beyond = (check(state, joints(0.0, wrist), constraints=asked) for wrist in (-0.29, 0.31))
    assert within.valid and within.constraint_result[0].distance == pytest.approx(0.29)
    assert not beyond.valid and beyond.constraint_result[0].distance == pytest.approx(0.31)


def facing(direction, x=0.0, y=0.0, z=0.0):
    """Return a pose whose z axis points along a direction in the plane z = 0."""
    pose = arm.at(x, y, z)
    pose[:3, :3] = np.column_stack([np.cross([0.0, 0.0, 1.0], direction), [0.0, 0.0, 1.0], direction])
    return pose


def visibility(sensor=None, target=None, sensor_frame="ground", target_frame="ground", **fields):
    """Of a disc before a sensor that looks along y, the hand's ball between them and the thumb's behind the disc."""
    fields = {"target_radius": 0.14, "cone_sides": 8, "weight": 1.0} | fields
    constraint = VisibilityConstraint(**fields)
    constraint.sensor_pose.pose = to_pose(facing([0.0, 1.0, 0.0], 0.5, -1.0) if sensor is None else sensor)
    constraint.target_pose.pose = to_pose(facing([0.0, -1.0, 0.0], 0.5, 0.4) if target is None else target)
    constraint.sensor_pose.header.frame_id, constraint.target_pose.header.frame_id = sensor_frame, target_frame
    return Constraints(visibility_constraints=[constraint])


def sees(client, constraints, slide=1.5, wrist=0.0, **state):
    """Whether a constraint holds, and its distance; with its default joints the arm is not in the way."""
    response = check(client, joints(slide, wrist, **state), constraints=constraints)
    (result,) = response.constraint_result
    assert response.valid == result.result
    return result.result, result.distance


def test_link_between_sensor_and_target_hides_it(state):
    assert sees(state, visibility()) == (True, 0.0)
    satisfied, depth = sees(state, visibility(), slide=0.0)
    # From the axis of the pyramid, 1 m from its tip, to a face of it, and the radius of the ball.
    to_face = math.sin(math.atan(0.1 * math.cos(math.pi / 8)))
    assert not satisfied and depth == pytest.approx(to_face + 0.05, abs=1e-6)
    for slide, free in ((0.14, False), (0.17, True)):  # along x the pyramid of 8 sides reaches out 0.1 m
        assert sees(state, visibility(), slide=slide)[0] == free
    assert sees(state, visibility(target_radius=-0.14), slide=0.14)[0] is False  # as move_group: its absolute value
    for sides, free in ((2, True), (3, True), (4, False)):  # of the triangle no corner points that way
        assert sees(state, visibility(cone_sides=sides), slide=0.13)[0] == free


def test_sensor_and_target_may_be_carried_by_links_and_these_do_not_hide_it(state):
    on_hand, before_it = facing([0.0, -1.0, 0.0], 0.5), facing([0.0, 1.0, 0.0], 0.5, -1.0)
    assert sees(state, visibility(sensor=on_hand, target=before_it, sensor_frame="hand"), slide=0.0) == (True, 0.0)
    assert not sees(state, visibility(sensor=on_hand, target=before_it), slide=0.0)[0]  # at the same place
    assert sees(state, visibility(target=facing([0.0, -1.0, 0.0], 0.5), target_frame="hand"), slide=0.0)[0]
    turned = visibility(on_hand, before_it, sensor_frame="hand", target_radius=0.0, max_range_angle=0.3)
    assert sees(state, turned, slide=0.0)[0] and not sees(state, turned, slide=0.0, wrist=1.5)[0]
    # Another link in the way: the thumb's ball, half a metre before the hand's.
    behind = facing([0.0, -1.0, 0.0], 0.5, 1.0)
    assert not sees(state, visibility(facing([0.0, 1.0, 0.0], 0.5), behind, sensor_frame="hand"), slide=0.0)[0]


@pytest.mark.parametrize(
    ("fields", "satisfied"),
    [
        ({"max_view_angle": 0.31}, True),
        ({"max_view_angle": 0.29}, False),
        ({"max_range_angle": 0.21}, True),
        ({"max_range_angle": 0.19}, False),
        ({"max_view_angle": 0.31, "max_range_angle": 0.19}, False),
        ({"max_view_angle": 3.0, "target": facing([0.0, 1.0, 0.0], 0.5, 1.0)}, False),  # its back
        ({"max_range_angle": 3.0, "target": facing([0.0, -1.0, 0.0], 0.5, -2.0)}, False),  # behind the sensor
        ({"sensor_view_direction": VisibilityConstraint.SENSOR_X, "max_range_angle": 0.19}, False),
        ({}, True),  # nothing is asked for
    ],
)
def test_angles_of_view_and_range_are_limited(state, fields, satisfied):
    """The sensor looks 0.2 rad past the disc, which is turned by 0.1 rad more."""
    fields = {
        "sensor": facing([math.sin(0.2), math.cos(0.2), 0.0], 0.5, -1.0),
        "target": facing([math.sin(0.1), -math.cos(0.1), 0.0], 0.5, 1.0),
        "target_radius": 0.0,
    } | fields
    assert sees(state, visibility(**fields)) == (satisfied, 0.0)


def test_constraint_that_cannot_be_evaluated_is_not_satisfied_and_logged(service, state):
    asked = Constraints(
        joint_constraints=[joint_constraint("elbow"), joint_constraint(position=0.0)],
        visibility_constraints=visibility(sensor_frame="nowhere").visibility_constraints,
    )
    response = check(state, constraints=asked)
    assert not response.valid
    assert [result.result for result in response.constraint_result] == [False, True, False]
    service.wait_for_output("joint 'elbow' is no joint with one position")
