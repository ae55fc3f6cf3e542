# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Service check_state_validity: contacts with place and depth, paddings and scales, constraints."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import Quaternion, Transform, Vector3
from moveit_msgs.msg import (
    BoundingVolume,
    CollisionObject,
    Constraints,
    ContactInformation,
    JointConstraint,
    LinkPadding,
    OrientationConstraint,
    PositionConstraint,
    RobotState,
    VisibilityConstraint,
)
from moveit_msgs.srv import GetPositionFK
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive

from superovoid_ros.nodes.common.conversions import to_pose

import arm
from world import MAP, WALL, attached_object, octomap, sphere, thing, vector, with_octomap

SLIDING, TURNING = (
    f'<group name="{group}"><joint name="{joint}"/></group>'
    for group, joint in (("sliding", "slide"), ("turning", "wrist"))
)
SRDF = arm.SRDF.replace("</robot>", f"{SLIDING}{TURNING}</robot>")
PARAMETERS = {"robot_description_semantic": SRDF}
REMOVE = CollisionObject.REMOVE


def joints(slide, wrist, *, is_diff=False, **fields):
    state = JointState(name=arm.JOINTS, position=[slide, wrist])
    return RobotState(is_diff=is_diff, joint_state=state, **fields)


def ball(name="cup", x=2.0, y=0.0, z=0.0, radius=0.1, frame="ground"):
    return thing(name, pose=arm.at(x, y, z), primitives=[sphere(radius)], frame=frame)


def in_hand(name="cup", x=0.7, **fields):
    return attached_object(name=name, pose=arm.at(x, 0.0, 0.0), frame="hand", primitives=[sphere()], **fields)


def pairs(response):
    return [(contact.contact_body_1, contact.contact_body_2) for contact in response.contacts]


# --- contacts ---


@pytest.mark.ci
def test_a_contact_has_names_types_position_normal_and_depth(state):
    state.apply(ball(x=2.0))
    assert state.check().valid and not state.check().contacts
    response = state.check(joints(slide=1.4, wrist=0.0))  # hand's ball from 1.85 to 1.95, the cup from 1.9
    assert not response.valid and pairs(response) == [("hand", "cup")]
    (contact,) = response.contacts
    assert contact.body_type_1 == ContactInformation.ROBOT_LINK
    assert contact.body_type_2 == ContactInformation.WORLD_OBJECT
    assert contact.header.frame_id == "ground" and contact.depth == pytest.approx(0.05, abs=1e-9)
    assert vector(contact.normal) == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)
    assert vector(contact.position) == pytest.approx([1.925, 0.0, 0.0], abs=1e-6)
    assert state.check(joints(slide=-30.0, wrist=9.0)).valid  # limits are not checked, as in move_group


def test_contacts_are_deepest_first_one_for_each_two_bodies(state):
    state.apply(ball("cup", x=1.0, radius=0.5), ball("plate", x=1.0, radius=0.45))
    response = state.check(joints(slide=0.5, wrist=0.0))
    assert pairs(response) == [("hand", "cup"), ("hand", "plate"), ("thumb", "cup")]
    assert [contact.depth for contact in response.contacts] == pytest.approx([0.55, 0.5, 0.02], abs=1e-9)


def test_an_octomap_is_one_object_of_the_world_in_contacts(state):
    assert state.apply_scene(with_octomap(octomap(WALL, arm.at(0.1, 0.03, 0.1))))
    response = state.check(joints(slide=-0.5, wrist=0.0))  # the hand's ball at the origin, as the ground's
    assert pairs(response) == [("ground", MAP), ("hand", MAP)]
    assert {contact.body_type_2 for contact in response.contacts} == {ContactInformation.WORLD_OBJECT}
    # Both are in the middle of a cube of 0.2 m whose face at y = 0.03 is the nearest.
    assert [contact.depth for contact in response.contacts] == pytest.approx([0.13, 0.08], abs=1e-6)
    assert pairs(state.check(joints(slide=-0.5, wrist=0.0), group_name="sliding")) == [("hand", MAP)]


def test_a_group_limits_the_check_to_links_that_its_joints_move(service, state):
    state.apply(ball("low", x=0.0), ball("high", x=0.6))
    assert pairs(state.check()) == pairs(state.check(group_name="elbow")) == [("ground", "low"), ("hand", "high")]
    service.wait_for_output("'elbow' is not a group of 'arm'")
    for group in ("sliding", "turning", "gripper"):  # the hand is in none of the first's links, but its joint moves it
        assert pairs(state.check(group_name=group)) == [("hand", "high")]
    state.apply(thing("high", REMOVE))
    assert state.check(group_name="gripper").valid and not state.check().valid


# --- the state of a request ---


def test_attached_objects_of_a_request_are_part_of_its_state_only(state):
    state.apply(ball("wall", x=2.0))
    request = joints(slide=1.2, wrist=0.0, is_diff=True, attached_collision_objects=[in_hand()])
    response = state.check(request)
    (contact,) = response.contacts
    types = {contact.contact_body_1: contact.body_type_1, contact.contact_body_2: contact.body_type_2}
    assert types == {"cup": ContactInformation.ROBOT_ATTACHED, "wall": ContactInformation.WORLD_OBJECT}
    assert contact.depth == pytest.approx(0.1, abs=1e-9)
    assert not state.check(request, group_name="turning").valid  # it is on a link of the group
    assert state.check(joints(slide=1.2, wrist=0.0, is_diff=True)).valid


def test_a_whole_state_has_all_attached_objects(state):
    state.apply(ball("wall", x=2.0))
    state.apply(attached=[in_hand()])
    for held, is_diff, is_valid in (
        ([], True, False),
        ([], False, True),  # no longer holds anything
        ([in_hand()], False, False),
        ([attached_object(REMOVE)], True, True),
        ([], True, False),
    ):
        request = joints(1.2, 0.0, is_diff=is_diff, attached_collision_objects=held)
        assert state.check(request).valid == is_valid
    assert state.check(RobotState()).valid  # as move_group: an empty state is the measured one


def with_joint(name, x):
    """A state that has a joint of several degrees of freedom somewhere."""
    request = RobotState(is_diff=True)
    request.multi_dof_joint_state.joint_names = [name]
    request.multi_dof_joint_state.transforms = [Transform(translation=Vector3(x=x), rotation=Quaternion(w=1.0))]
    return request


def test_an_unknown_multi_dof_joint_that_moves_is_not_valid(service, state):
    assert [state.check(with_joint("virtual", x)).valid for x in (0.0, 1.0)] == [True, False]
    service.wait_for_output("multi_dof joint 'virtual'")


def test_a_stale_state_is_not_valid(service, state):
    def message(robot_state):
        links = {"fk_link_names": ["hand"]}
        return state.call(GetPositionFK, "/compute_fk", robot_state=robot_state, **links).error_code.message

    measured, given = RobotState(is_diff=True), with_joint("free", 5.0)
    given.joint_state = JointState(name=["slide", "wrist"], position=[0.0, 0.0])
    assert not message(measured)
    state.set(stale_timeout=0.001)
    try:
        assert not state.check().valid and "s old" in message(measured)
        service.wait_for_output("check_state_validity: refused: state is")
        assert state.check(given).valid and not message(given)  # nothing of this state is measured
    finally:
        state.set(stale_timeout=0.0)


# --- padding and margin ---


def test_margin_holds_for_every_pair_and_padding_against_objects_only(state):
    near = with_joint("free", 0.659)  # 9 mm from the hand
    for margin, found in ((0.008, []), (0.01, [("hand", "ball")])):
        state.set(safety_margin=margin)
        assert pairs(state.check(near)) == found
    state.apply(ball(x=0.66))  # 10 mm from the hand
    state.set(safety_margin=0.0)
    assert state.check().valid
    state.set(padding=0.02)
    response = state.check()
    assert pairs(response) == [("hand", "cup")]
    assert response.contacts[0].depth == pytest.approx(0.01, abs=1e-9)
    state.apply(thing("cup", REMOVE))
    assert state.check(near).valid
    state.set(pad_self_collisions=True)
    assert pairs(state.check(near)) == [("hand", "ball")]
    # The padding of a link in a planning scene goes before the parameter, from here on.
    state.apply(ball(x=0.66), link_padding=[LinkPadding(link_name="hand", padding=0.005)])
    assert state.check().valid
    state.set(padding=0.0, pad_self_collisions=False)


# --- constraints ---


def result_of(client, constraints, slide=1.5, wrist=0.0):
    """Whether a constraint holds, and its distance; with its default joints the arm is in no way."""
    response = client.check(joints(slide, wrist), constraints=constraints)
    (result,) = response.constraint_result
    assert response.valid == result.result
    return result.result, result.distance


def joint(name="slide", position=0.5, above=0.1, below=0.2, weight=1.0):
    tolerances = {"tolerance_above": above, "tolerance_below": below}
    return Constraints(
        joint_constraints=[JointConstraint(joint_name=name, position=position, weight=weight, **tolerances)]
    )


def point_in_box():
    region = BoundingVolume(
        primitives=[SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.4, 0.4, 0.4])],
        primitive_poses=[to_pose(arm.at(1.5, 0.0, 0.0))],
    )
    one = PositionConstraint(link_name="hand", target_point_offset=Vector3(x=0.5), constraint_region=region, weight=1.0)
    one.header.frame_id = "ground"
    return Constraints(position_constraints=[one])


def unturned(parameterization):
    tolerances = {f"absolute_{axis}_axis_tolerance": angle for axis, angle in (("x", 0.01), ("y", 0.01), ("z", 0.3))}
    one = OrientationConstraint(link_name="hand", weight=1.0, parameterization=parameterization, **tolerances)
    one.header.frame_id = "ground"
    return Constraints(orientation_constraints=[one])


@pytest.mark.parametrize(
    ("constraints", "slide", "wrist", "satisfied", "distance"),
    [
        (joint(), 0.6, 0.0, True, 0.1),
        (joint(), 0.61, 0.0, False, 0.11),
        (joint(), 0.3, 0.0, True, 0.2),
        (joint(weight=2.0), 0.25, 0.0, False, 0.5),
        (joint(weight=0.0), 0.25, 0.0, False, 0.25),
        (joint("follower", 0.4), 0.0, 0.9, True, 0.05),  # half the wrist's
        (joint(position=9.0), 2.0, 0.0, True, 0.0),  # beyond the limit means the limit
        (joint(position=-9.0), 0.0, 0.0, True, 0.0),
        (joint(position=2.4), 2.3, 0.0, False, 0.3),
        (point_in_box(), 0.9, 0.0, True, 0.1),
        (point_in_box(), 0.7, 0.0, False, 0.3),
        *((unturned(kind), 0.0, wrist, wrist < 0.0, abs(wrist)) for kind in (0, 1) for wrist in (-0.29, 0.31)),
    ],
)
def test_constraints_are_evaluated_as_move_group_does(state, constraints, slide, wrist, satisfied, distance):
    assert result_of(state, constraints, slide, wrist) == (satisfied, pytest.approx(distance, abs=1e-12))


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


def test_a_link_between_sensor_and_target_hides_it(state):
    assert result_of(state, visibility()) == (True, 0.0)
    satisfied, depth = result_of(state, visibility(), slide=0.0)
    # From the axis of the pyramid, 1 m from its tip, to a face of it, and the radius of the ball.
    to_face = math.sin(math.atan(0.1 * math.cos(math.pi / 8)))
    assert not satisfied and depth == pytest.approx(to_face + 0.05, abs=1e-6)
    for slide, free in ((0.14, False), (0.17, True)):  # along x the pyramid of 8 sides reaches out 0.1 m
        assert result_of(state, visibility(), slide=slide)[0] == free
    assert result_of(state, visibility(target_radius=-0.14), slide=0.14)[0] is False  # its absolute value
    for sides, free in ((2, True), (3, True), (4, False)):  # of the triangle no corner points that way
        assert result_of(state, visibility(cone_sides=sides), slide=0.13)[0] == free
    state.apply(ball(x=0.5))  # as in move_group, objects hide nothing
    assert result_of(state, visibility()) == (True, 0.0)


def test_sensor_and_target_may_be_on_links(state):
    on_hand, before_it = facing([0.0, -1.0, 0.0], 0.5), facing([0.0, 1.0, 0.0], 0.5, -1.0)
    assert result_of(state, visibility(sensor=on_hand, target=before_it, sensor_frame="hand"), slide=0.0) == (True, 0.0)
    assert not result_of(state, visibility(sensor=on_hand, target=before_it), slide=0.0)[0]  # at the same place
    assert result_of(state, visibility(target=facing([0.0, -1.0, 0.0], 0.5), target_frame="hand"), slide=0.0)[0]
    turned = visibility(on_hand, before_it, sensor_frame="hand", target_radius=0.0, max_range_angle=0.3)
    assert result_of(state, turned, slide=0.0)[0] and not result_of(state, turned, slide=0.0, wrist=1.5)[0]


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
        ({}, True),  # no limit
    ],
)
def test_angles_of_view_and_range_are_limited(state, fields, satisfied):
    """The sensor looks 0.2 rad past the disc, which is turned by 0.1 rad more."""
    fields = {
        "sensor": facing([math.sin(0.2), math.cos(0.2), 0.0], 0.5, -1.0),
        "target": facing([math.sin(0.1), -math.cos(0.1), 0.0], 0.5, 1.0),
        "target_radius": 0.0,
    } | fields
    assert result_of(state, visibility(**fields)) == (satisfied, 0.0)


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        (visibility(target=facing([1.0, 0.0, 0.0], 0.5, 1.0)), "in the plane of the target"),
        (visibility(sensor_frame="nowhere"), "visibility_constraints[0]: sensor_pose: frame_id 'nowhere'"),
        (visibility(target_radius=math.nan), "target_radius"),
        (visibility(sensor_view_direction=7), "sensor_view_direction = 7"),
        (visibility(cone_sides=2**31 - 1), "cone_sides = 2147483647: must be at most"),
        (joint("elbow"), "joint 'elbow' is not a joint with one position"),
    ],
)
def test_a_wrong_constraint_is_not_satisfied_and_logged(service, state, constraints, words):
    before = len(service.output())
    constraints.joint_constraints = [*constraints.joint_constraints, *joint(position=0.0).joint_constraints]
    results = state.check(joints(0.0, 0.0), constraints=constraints).constraint_result
    assert sorted(result.result for result in results) == [False, True]  # the others are evaluated
    assert state.wait(lambda: words in service.output()[before:]), service.output()[before:]
    assert "Traceback" not in service.output()[before:]
