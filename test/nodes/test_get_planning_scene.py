# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Service get_planning_scene, whose answers can be sent back, and scenes in frames with a prefix."""

import re

import pytest
from moveit_msgs.msg import LinkPadding, PlanningScene
from moveit_msgs.msg import PlanningSceneComponents as Components
from moveit_msgs.srv import GetPlanningScene
from shape_msgs.msg import Plane, SolidPrimitive
from superovoid_interfaces.srv import ApplyObjects

from superovoid_ros.nodes.common.conversions import to_pose

import arm
from world import (
    APPLY,
    MAP,
    SRDF,
    WALL,
    attached_object,
    cube_mesh,
    cup,
    matrix,
    octomap,
    ovoid,
    scene_diff,
    sphere,
    thing,
)

PARAMETERS = {"robot_description_semantic": SRDF, "frame_prefix": "left/"}
LINKS = ("hand", "thumb", "ground", "ball")
NAMES = ("cup", "tools", "held", "egg", MAP, *LINKS)


def furnish(client):
    """Put something of everything into the scene, in frames with the prefix."""
    shapes = [
        SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.2, 0.4, 0.6]),
        SolidPrimitive(type=SolidPrimitive.CYLINDER, dimensions=[0.3, 0.1]),
        SolidPrimitive(type=SolidPrimitive.CONE, dimensions=[0.3, 0.1]),
    ]
    tools = thing(
        "tools",
        pose=arm.at(0.0, -5.0, 0.0),
        frame="left/ground",
        primitives=shapes,
        primitive_poses=[to_pose(arm.at(float(x), 0.0, 0.0)) for x in range(3)],
        meshes=[cube_mesh()],
        mesh_poses=[to_pose(arm.at(4.0, 0.0, 0.0))],
        planes=[Plane(coef=[0.0, 1.0, 0.0, 3.0])],
    )
    held = attached_object(
        name="held", pose=arm.at(0.7, 0.0, 0.0), frame="left/hand", primitives=[sphere(0.05)], touch_links=["thumb"]
    )
    message = scene_diff(
        cup(frame="left/ground"),
        tools,
        attached=[held],
        link_padding=[LinkPadding(link_name="hand", padding=0.01)],
        allowed_collision_matrix=matrix(["cup", "hand", "thumb"], {"cup", "hand"}, defaults=["tools"]),
    )
    message.world.octomap = octomap(WALL, arm.at(0.0, 3.0, 0.0), frame="left/ground", binary=False)
    assert client.apply_scene(message)
    assert client.call(ApplyObjects, APPLY, objects=[ovoid(frame="left/ground")]).success
    return message


def all_checked(client):
    return {(a, b): client.rule(a, b) for a in NAMES for b in NAMES if a < b}


def all_distances(client):
    pairs = client.nearest().distances.pairs
    return {frozenset((pair.link_a, pair.link_b)): pair.distance for pair in pairs[::-1]}


def text_of(message):
    """A message as a text without stamps, with rounded numbers: a pose goes through a matrix."""
    text = re.sub(r"Time\([^)]*\)", "", str(message))
    return re.sub(r"-?\d+\.\d*(e-?\d+)?", lambda number: f"{round(float(number[0]), 9) + 0.0}", text)


def told_objects(scene):
    """Of objects, attached ones and the octomap what is answered as it was sent: all but the form of some shapes."""

    def parts(thing):
        lengths = [list(one.dimensions) for one in thing.primitives]
        return [thing.id, thing.header, thing.pose, lengths, len(thing.meshes), len(thing.planes)]

    tree, held = scene.world.octomap, scene.robot_state.attached_collision_objects
    objects = [parts(one) for one in sorted(scene.world.collision_objects, key=lambda one: one.id)]
    attached = [[one.link_name, one.touch_links, parts(one.object)] for one in held]
    return text_of([objects, attached, tree.header, tree.origin, tree.octomap.id, tree.octomap.resolution])


@pytest.mark.ci
def test_all_that_was_sent_is_answered_to_an_empty_mask(state):
    sent, scene = furnish(state), state.scene()
    assert (scene.robot_model_name, scene.is_diff) == ("arm", False)
    frames = {t.child_frame_id: t.header.frame_id for t in scene.fixed_frame_transforms}
    assert frames == {"left/ground": "left/ground", "odom": "left/ground"}
    joints = dict(zip(scene.robot_state.joint_state.name, scene.robot_state.joint_state.position, strict=True))
    assert joints == {"slide": 0.0, "wrist": 0.0, "follower": 0.0}
    assert scene.robot_state.multi_dof_joint_state.joint_names == ["free"]
    assert scene.robot_state.multi_dof_joint_state.transforms[0].translation.z == 50.0
    assert told_objects(scene) == told_objects(sent)  # a superovoid has no message of MoveIt
    assert {one.link_name: one.padding for one in scene.link_padding} == dict.fromkeys(LINKS, 0.0) | {"hand": 0.01}
    assert {one.link_name: one.scale for one in scene.link_scale} == dict.fromkeys(LINKS, 1.0)
    for pair, is_checked in ((("cup", "hand"), False), (("hand", "thumb"), True), (("tools", "hand"), False)):
        assert state.rule(*pair)[:2] == ("planning_scene", is_checked)  # though a joint connects the second


@pytest.mark.ci
@pytest.mark.parametrize(
    ("component", "filled"),
    [
        (Components.SCENE_SETTINGS, {"robot_model_name"}),
        (Components.ROBOT_STATE, {"robot_state"}),
        (Components.ROBOT_STATE_ATTACHED_OBJECTS, {"robot_state"}),
        (Components.WORLD_OBJECT_NAMES, {"world"}),
        (Components.WORLD_OBJECT_GEOMETRY, {"world"}),
        (Components.OCTOMAP, {"world"}),
        (Components.TRANSFORMS, {"fixed_frame_transforms"}),
        (Components.ALLOWED_COLLISION_MATRIX, {"allowed_collision_matrix"}),
        (Components.LINK_PADDING_AND_SCALING, {"link_padding", "link_scale"}),
        (Components.OBJECT_COLORS, set()),
    ],
)
def test_only_requested_components_are_returned(state, component, filled):
    furnish(state)
    scene, empty = state.scene(component), PlanningScene()
    fields = PlanningScene.get_fields_and_field_types()
    assert {name for name in fields if getattr(scene, name) != getattr(empty, name)} == filled
    things = scene.world.collision_objects
    assert bool(things) == (component in (Components.WORLD_OBJECT_NAMES, Components.WORLD_OBJECT_GEOMETRY))
    assert any(len(thing.primitives) for thing in things) == (component == Components.WORLD_OBJECT_GEOMETRY)
    assert bool(len(scene.world.octomap.octomap.data)) == (component == Components.OCTOMAP)
    held = bool(scene.robot_state.attached_collision_objects)
    assert held == (component == Components.ROBOT_STATE_ATTACHED_OBJECTS)


@pytest.mark.ci
@pytest.mark.parametrize("is_diff", [True, False])
def test_what_was_answered_changes_nothing_when_it_is_sent_back(state, is_diff):
    furnish(state)
    before = state.scene(), all_checked(state), all_distances(state)
    again = state.scene()
    again.is_diff = is_diff
    assert state.apply_scene(again)
    assert text_of(state.scene()) == text_of(before[0])
    assert all_checked(state) == before[1]
    after = all_distances(state)
    assert after.keys() == before[2].keys()
    assert [after[pair] for pair in after] == pytest.approx([before[2][pair] for pair in after], abs=1e-12)


@pytest.mark.ci
def test_joints_that_were_not_measured_are_left_out(start_node, client):
    early = start_node("distance_service", name="early", robot_description=arm.URDF, rate=0.0,
                       remap=("get_planning_scene:=~/get_planning_scene",))  # fmt: skip
    early.wait_for_output("robot 'arm'")
    asked = client.call(GetPlanningScene, "/early/get_planning_scene").scene
    assert asked.robot_model_name == "arm" and not asked.robot_state.joint_state.name
