# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Requests and messages that make no sense: each is refused with words that name the fault, and the node goes on."""

import math

import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, Quaternion, TransformStamped
from moveit_msgs.msg import (
    AllowedCollisionMatrix,
    AttachedCollisionObject,
    CollisionObject,
    LinkPadding,
    LinkScale,
    RobotState,
)
from moveit_msgs.srv import ApplyPlanningScene, GetPositionFK, GetStateValidity
from sensor_msgs.msg import JointState
from shape_msgs.msg import Mesh, Plane, SolidPrimitive
from superovoid_interfaces.msg import ErrorCode, SuperovoidObject
from superovoid_interfaces.srv import (
    ApplyObjects,
    GetDistances,
    GetMinDistance,
    GetPairRules,
    GetPenetration,
    SetPairRules,
)

from superovoid_ros.nodes.common.conversions import to_transform

import arm
from world import (
    APPLY,
    GET_RULES,
    MIN_DISTANCE,
    SET_RULES,
    SRDF,
    WALL,
    cup,
    octomap,
    ovoid,
    scene_diff,
    sphere,
    thing,
    with_octomap,
)

PARAMETERS = {"robot_description_semantic": SRDF, "incomplete_world": "warn"}
"""With "warn", what a refused message left out can be looked at."""
NAN, ADD, MOVE, REMOVE = math.nan, CollisionObject.ADD, CollisionObject.MOVE, CollisionObject.REMOVE
NAME = "/distance_service"
SERVICES = {
    GetMinDistance: MIN_DISTANCE,
    GetPenetration: f"{NAME}/get_penetration",
    GetDistances: f"{NAME}/get_distances",
    GetPairRules: GET_RULES,
    SetPairRules: SET_RULES,
    ApplyObjects: APPLY,
    ApplyPlanningScene: "/apply_planning_scene",
    GetStateValidity: "/check_state_validity",
    GetPositionFK: "/compute_fk",
}


@pytest.fixture
def with_cup(state):
    """The client of the service with a cup in the world."""
    state.apply(cup())
    return state


def is_unharmed(service, client, since):
    """The node answers from the world before, and no Python error was printed."""
    assert client.distance("ground", "cup") == pytest.approx(1.8, abs=1e-12)
    assert "Traceback" not in service.output()[since:]
    return client.is_valid()


def base(pose=None, child="ball", parent="ground"):
    return {"base_poses": [to_transform(parent, child, arm.at(0, 0, 0) if pose is None else pose, Time())]}


def one_state(*names_and_positions):
    """Names and positions of joints in a request about one state."""
    return {"joint_names": list(names_and_positions[::2]), "joint_positions": list(names_and_positions[1::2])}


NO_ROTATION = TransformStamped(child_frame_id="ball")
NO_ROTATION.transform.rotation.w = 0.0
BALL = {"base_links": ["ball"], "base_poses": [0.0] * 6 + [1.0]}
MANY = {"joint_names": ["slide", "wrist"], "joint_positions": [0.0, 0.0, 0.5, 0.0]} | BALL


def objects(name="second", **fields):
    """The first would be all right."""
    return {"objects": [ovoid("egg"), ovoid(name, **fields)]}


def rules(a, b, *checked):
    return {"links_a": a, "links_b": b, "checked": checked}


def robot_state(names, positions):
    return {"robot_state": RobotState(joint_state=JointState(name=names, position=positions))}


def held_object(link="hand", radius=0.1, frame="hand", is_diff=True):
    carried = thing("held", pose=arm.at(0.7, 0.0, 0.0), frame=frame, primitives=[sphere(radius)])
    attached = AttachedCollisionObject(link_name=link, object=carried)
    return {"robot_state": RobotState(is_diff=is_diff, attached_collision_objects=[attached])}


def scene(**fields):
    return {"scene": scene_diff(**fields)}


NO_ROWS = AllowedCollisionMatrix(entry_names=["a", "b"])


def map_message(change=lambda octree: None, **fields):
    message = octomap(WALL, **fields)
    change(message.octomap)
    return {"scene": with_octomap(message)}


REQUESTS = [
    (GetMinDistance, {"links_a": ["elbow"]}, ["elbow", "gripper"]),
    (GetMinDistance, {"links_a": ["slider"]}, ["slider", "no contact geometry", "hand"]),
    (GetMinDistance, {"links_a": ["ground"], "links_b": ["thumb"]}, ["SRDF", "never meet"]),
    (GetMinDistance, {"links_a": ["hand"], "links_b": ["thumb"]}, ["a joint connects them"]),
    (GetMinDistance, {"links_a": ["hand"], "links_b": ["hand"]}, ["both are the same link"]),
    (GetMinDistance, {"max_distance": -1.0}, ["max_distance", "-1"]),
    (GetMinDistance, {"max_distance": NAN}, ["max_distance", "nan"]),
    (GetMinDistance, {"joint_names": ["slide"]}, ["1 joint_names", "0 joint_positions"]),
    (GetMinDistance, {"joint_positions": [1.0]}, ["0 joint_names", "1 joint_positions"]),
    (GetMinDistance, one_state("slide", NAN), ["slide", "nan", "finite"]),
    (GetMinDistance, one_state("elbow", 0.0), ["elbow", "slide, wrist"]),
    (GetMinDistance, one_state("follower", 0.0), ["follower", "wrist"]),
    (GetMinDistance, one_state("slide", 0.0, "slide", 1.0), ["slide", "twice"]),
    (GetMinDistance, base(child="hand"), ["hand", "ball"]),
    (GetMinDistance, {"base_poses": 2 * base()["base_poses"]}, ["ball", "twice"]),
    (GetMinDistance, base(parent="nowhere"), ["nowhere"]),
    (GetMinDistance, base(arm.at(NAN, 0, 0)), ["ball", "nan", "finite"]),
    (GetMinDistance, {"base_poses": [NO_ROTATION]}, ["unit length"]),
    (GetDistances, MANY | {"deadline": -1.0}, ["deadline", "-1"]),
    (GetDistances, MANY | {"deadline": NAN}, ["deadline", "nan"]),
    (GetDistances, MANY | {"joint_names": ["wrist"], "joint_positions": []}, ["1 joint_names, 0 joint_positions"]),
    (GetDistances, MANY | {"joint_positions": [0.0] * 3}, ["2 joint_names, 3 joint_positions"]),
    (GetDistances, MANY | {"joint_positions": [0.0, 0.0, 0.0, NAN]}, ["joint 'wrist' in state 1 = nan"]),
    (GetDistances, MANY | {"base_poses": [0.0] * 6}, ["1 base_links, 6 numbers"]),
    (GetDistances, MANY | {"base_poses": 3 * MANY["base_poses"]}, ["joint_positions are 2 states, base_poses 3"]),
    (GetDistances, MANY | {"base_poses": [0.0] * 7}, ["base pose of link 'ball' in state 0", "unit length"]),
    (GetPairRules, {"links_a": ["elbow"]}, ["elbow"]),
    (SetPairRules, rules(["thumb", "hand"], ["ball"], False), ["2 links_a", "1 links_b"]),
    (SetPairRules, rules(["thumb"], ["ball"], False, True), ["2 values of checked"]),
    (SetPairRules, rules(["thumb", "elbow"], ["ball", "ball"], False), ["elbow", "gripper"]),
    (SetPairRules, rules(["thumb", "hand"], ["ball", "hand"], False), ["hand", "never checked"]),
    (ApplyObjects, objects(size=[0.1, 0.0, 0.1]), ["second", "size[1]"]),
    (ApplyObjects, objects(epsilon=[2.5, 1.0]), ["second", "epsilon[0]"]),
    (ApplyObjects, objects("hand"), ["hand", "name of a link"]),
    (ApplyObjects, objects(""), ["without id"]),
    (ApplyObjects, objects(pose=arm.at(NAN, 0, 0)), ["second", "position", "finite"]),
    (ApplyObjects, objects(attach_link="elbow"), ["second", "elbow", "hand"]),
    (ApplyObjects, objects(attach_link="hand", touch_links=["elbow"]), ["second", "elbow"]),
    (ApplyObjects, objects(operation=SuperovoidObject.MOVE), ["second", "does not exist", "egg"]),
    (ApplyObjects, objects(operation=SuperovoidObject.REMOVE), ["second", "does not exist"]),
    (ApplyObjects, objects(operation=9), ["second", "operation = 9"]),
    (GetStateValidity, robot_state(["slide"], [NAN]), ["position of joint 'slide' = nan"]),
    (GetStateValidity, robot_state(["elbow"], [0.0]), ["unknown joint 'elbow'"]),
    (GetStateValidity, robot_state(["slide"], [0.0, 0.0]), ["1 joint names, 2 positions"]),
    (GetStateValidity, held_object("elbow"), ["link 'elbow'"]),
    (GetStateValidity, held_object(radius=0.0), ["must be positive"]),
    (GetStateValidity, held_object(frame="nowhere"), ["'nowhere'"]),
    (GetStateValidity, held_object(is_diff=False), ["set is_diff"]),
    (GetPositionFK, {"fk_link_names": ["arm"]}, ["'arm'"]),
    (GetPositionFK, {"fk_link_names": []}, ["empty"]),
    (ApplyPlanningScene, scene(link_scale=[LinkScale(link_name="hand", scale=1.5)]), ["link_scale of 'hand' = 1.5"]),
    (ApplyPlanningScene, scene(link_padding=[LinkPadding(link_name="hand", padding=-0.5)]), ["link_padding of 'hand'"]),
    (ApplyPlanningScene, scene(allowed_collision_matrix=NO_ROWS), ["allowed collision matrix: 2 names, 0 rows"]),
    (ApplyPlanningScene, map_message(resolution=0.0), ["octomap: octree: resolution = 0.0"]),
    (ApplyPlanningScene, map_message(pose=arm.at(NAN, 0, 0)), ["octomap: origin: position"]),
    (ApplyPlanningScene, map_message(frame="nowhere"), ["octomap: frame_id 'nowhere'"]),
    (ApplyPlanningScene, map_message(lambda o: setattr(o, "id", "ColorOcTree")), ["'ColorOcTree': must be 'OcTree'"]),
    (ApplyPlanningScene, map_message(lambda o: o.data.pop()), ["even number"]),
    (ApplyPlanningScene, map_message(lambda o: setattr(o, "binary", False)), ["octree"]),
]


@pytest.mark.ci
@pytest.mark.parametrize(("kind", "request_fields", "words"), REQUESTS)
def test_a_wrong_request_is_refused_as_a_whole_with_its_reason(service, with_cup, kind, request_fields, words):
    since = len(service.output())
    response = with_cup.call(kind, SERVICES[kind], **request_fields)
    assert not getattr(response, "success", False) and not getattr(response, "valid", False)
    if kind is GetPositionFK:
        said = response.error_code.message
        assert not response.pose_stamped
    elif hasattr(response, "message"):
        said = response.message
    else:  # these have no room for words
        assert with_cup.wait(lambda: all(word in service.output()[since:] for word in words)), service.output()[since:]
        said = service.output()[since:]
    assert all(word in said for word in words), said
    if request_fields.get("links_a") == ["elbow"]:
        assert response.error_code.value == ErrorCode.UNKNOWN_LINK
    assert with_cup.distance("ground", "egg") is None
    assert is_unharmed(service, with_cup, since)


def test_an_octomap_with_more_cubes_than_allowed_is_refused(service, with_cup):
    since = len(service.output())
    for most, is_read in ((39, False), (20_000, True)):
        with_cup.set(octomap_cubes=most)
        assert with_cup.apply_scene(map_message()["scene"]) == is_read
    assert "more than 39 occupied cubes" in service.output()[since:]


# --- messages on topics ---


def broken_object(*primitives, **fields):
    return thing("broken", pose=arm.at(1.0, 1.0, 1.0), primitives=list(primitives), **fields)


def carried(*primitives, link="hand", touch_links=(), **fields):
    thing = broken_object(*primitives, **fields)
    return AttachedCollisionObject(link_name=link, object=thing, touch_links=list(touch_links))


MESSAGES = [
    (thing("broken", pose=arm.at(NAN, 0.0, 0.0), primitives=[sphere()]), "must be finite"),
    (CollisionObject(id="broken", pose=Pose(orientation=Quaternion(w=0.0)), primitives=[sphere()]), "that is not 0"),
    (broken_object(sphere(), frame="nowhere"), "frame_id 'nowhere' is neither a link nor an object"),
    (broken_object(sphere(0.0)), "must be positive"),
    (broken_object(sphere(NAN)), "must be positive"),
    (broken_object(SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[1.0])), "a box has dimensions (x, y, z)"),
    (broken_object(SolidPrimitive(type=SolidPrimitive.PRISM, dimensions=[1.0])), "type 5 is not a primitive"),
    (broken_object(meshes=[Mesh()]), "the mesh is empty"),
    (broken_object(planes=[Plane()]), "not all 0"),
    (broken_object(), "has no shape"),
    (broken_object(sphere(), primitive_poses=[Pose()] * 2), "more poses than shapes"),
    (broken_object(sphere(), subframe_names=["tip"]), "1 subframe_names, 0 subframe_poses"),
    (broken_object(sphere(), operation=b"\x09"), "operation = "),
    (broken_object(operation=MOVE), "object 'broken': does not exist"),
    (thing("broken", operation=REMOVE), "cannot be removed: it does not exist"),
    (thing("hand", primitives=[sphere()]), "is the name of a link"),
    (thing("", primitives=[sphere()]), "object without id"),
    (thing("<octomap>", primitives=[sphere()]), "the name is reserved"),
    (thing("<octomap>", operation=REMOVE), "the name is reserved"),
    (carried(sphere(), link="elbow"), "link 'elbow' does not exist"),
    (carried(sphere(), touch_links=["elbow"]), "may touch 'elbow'"),
    (carried(), "has no shape, and"),
    (carried(operation=MOVE), "MOVE applies only to objects"),
    (carried(operation=REMOVE), "no object of that name is attached"),
]


@pytest.mark.ci
@pytest.mark.parametrize(("message", "words"), MESSAGES)
def test_a_wrong_message_is_missing_until_a_whole_scene_comes(service, with_cup, message, words):
    since = len(service.output())
    with_cup.send(message)
    assert with_cup.wait(lambda: words in service.output()[since:]), service.output()[since:]
    about = message.object if isinstance(message, AttachedCollisionObject) else message
    if about.operation != REMOVE:
        with_cup.until(lambda r: words in r.message)
        assert with_cup.distance("ground", "broken") is None
    assert is_unharmed(service, with_cup, since)
