# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects, octomaps and rules of a running node: each operation of MoveIt's messages and of this package's services."""

import math

import pytest
import trimesh
from geometry_msgs.msg import Point
from moveit_msgs.msg import CollisionObject, PlanningScene, PlanningSceneWorld, RobotState
from octomap_msgs.msg import Octomap, OctomapWithPose
from shape_msgs.msg import Mesh, MeshTriangle, Plane, SolidPrimitive
from superovoid_interfaces.msg import SuperovoidObject
from superovoid_interfaces.srv import ApplyObjects, GetPairRules, SetPairRules
from visualization_msgs.msg import Marker, MarkerArray

from superovoid_ros.nodes.common.conversions import to_pose

import arm
import world
from octrees import HALF, binary_stream
from world import (
    APPLY,
    GET_RULES,
    MAP,
    SET_RULES,
    WALL,
    attached_object,
    cup,
    matrix,
    octomap,
    ovoid,
    scene_diff,
    sphere,
    thing,
    with_octomap,
)

PARAMETERS = {"robot_description_semantic": world.SRDF, "incomplete_world": "warn"}
"""With "warn", what a refused message left out can be looked at."""
REMOVE, MOVE, APPEND = CollisionObject.REMOVE, CollisionObject.MOVE, CollisionObject.APPEND
OPEN_MESH = world.cube_mesh()
OPEN_MESH.triangles = OPEN_MESH.triangles[1:]
ON_HAND = {"pose": arm.at(0.6, 0.0, 0.0), "frame": "hand", "primitives": [sphere()]}


def near(value, tolerance=1e-9):
    return pytest.approx(value, abs=tolerance)


# --- objects of the world ---


@pytest.mark.ci
def test_an_object_is_added_appended_to_moved_replaced_and_removed(state):
    poses = [to_pose(arm.at(0.0, 0.0, 0.0)), to_pose(arm.at(0.0, -1.0, 0.0))]
    for message, expected in (
        (cup(), 1.8),
        (thing(operation=MOVE, pose=arm.at(0.0, -3.0, 0.0)), 2.8),
        # In the object's frame.
        (thing(operation=APPEND, primitives=[sphere()], primitive_poses=[to_pose(arm.at(0.0, 1.0, 0.0))]), 1.8),
        (thing(operation=MOVE, pose=arm.at(0.0, -2.5, 0.0), primitive_poses=poses), 2.3),
        (cup(y=-4.0), 3.8),  # ADD replaces
        (thing(operation=REMOVE), None),
    ):
        state.send(message)
        state.wait_for_distance("ground", "cup", expected)


def solid(kind, *dimensions):
    return {"primitives": [SolidPrimitive(type=kind, dimensions=dimensions)]}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (solid(SolidPrimitive.BOX, 9.0, 0.4, 9.0), 1.7),
        (solid(SolidPrimitive.BOX, 9.0, 0.0, 9.0), 1.9),
        (solid(SolidPrimitive.CYLINDER, 0.4, 0.3), 1.6),
        (solid(SolidPrimitive.CONE, 0.4, 0.3), math.hypot(1.7, 0.2) - 0.1),
        ({"meshes": [world.cube_mesh()]}, 1.8),
        ({"meshes": [OPEN_MESH]}, 1.8),
        ({"planes": [Plane(coef=[0.0, 2.0, 0.0, -0.5])]}, 1.65),  # solid below y = 0.25 in the object
    ],
)
def test_every_kind_of_shape_is_measured(state, fields, expected):
    state.apply(thing(pose=arm.at(0.0, -2.0, 0.0), **fields))
    assert state.distance("ground", "cup") == near(expected)


@pytest.mark.parametrize("length", [1e-200, 1e200])
def test_a_quaternion_of_any_length_is_a_rotation(state, length):
    turned = thing(pose=arm.at(0.0, -2.0, 0.0), **solid(SolidPrimitive.BOX, 0.2, 0.6, 0.2))
    turned.pose.orientation.x = turned.pose.orientation.w = math.sqrt(0.5) * length
    state.apply(turned)
    assert state.distance("ground", "cup") == near(1.8)


def test_an_open_mesh_is_a_shell_with_the_parameter(state):
    """The ground's ball of 0.1 in a box without a lid; and the node's report of the box can be sent back."""
    sides = trimesh.creation.box(extents=(0.6, 0.6, 0.6))
    walls = [face for face in sides.faces if not (sides.vertices[face][:, 2] > 0.0).all()]
    mesh = Mesh(vertices=[Point(x=x, y=y, z=z) for x, y, z in sides.vertices])
    mesh.triangles = [MeshTriangle(vertex_indices=[int(i) for i in face]) for face in walls]
    box = thing(pose=arm.at(0.0, 0.0, 0.1), meshes=[mesh])
    state.apply(box)
    assert state.distance("ground", "cup") < 0.0
    try:
        state.set(open_meshes="shell")
        state.apply(box)
        for _ in range(2):
            assert state.distance("ground", "cup") == near(0.1)
            assert state.apply_scene(state.scene())
        state.empty()
        held = RobotState(is_diff=True)
        held.attached_collision_objects = [attached_object(name="bowl", meshes=[mesh], frame="ground", link="slider")]
        assert state.check(held).valid  # the ground is in it
    finally:
        state.set(open_meshes="hull")


def test_frames_are_links_objects_fixed_frames_and_tf(state):
    for wrist in (math.pi / 2, 0.0):  # it stays where it was
        state.put([0.0, wrist])
        if wrist:
            state.apply(cup(x=0.5, y=-2.0, frame="hand"))  # hand's x is the ground's y
        assert state.distance("ground", "cup") == near(math.hypot(2.0, 0.5) - 0.2)
    state.send_transform("ground", "table", arm.at(0.0, -5.0, 0.0), static=True)
    state.send(cup(y=-1.0, frame="table"))
    state.wait_for_distance("ground", "cup", 5.8)
    state.apply(thing("second", pose=arm.at(0.0, -1.0, 0.0), frame="cup", primitives=[sphere()]))
    assert state.distance("ground", "second") == near(6.8)
    state.apply(cup(frame="/odom"))  # MoveIt's name for where the root link stands
    assert state.distance("ground", "cup") == near(1.8)


def test_subframes_go_with_their_object(state):
    tip, grip = to_pose(arm.at(0.0, -1.0, 0.0)), to_pose(arm.at(0.5, 0.0, 0.0))
    mug = cup(subframe_names=["tip", "grip"], subframe_poses=[tip, grip])

    def put_lid(y, frame="cup/tip"):
        return state.apply_scene(scene_diff(thing("lid", frame=frame, pose=arm.at(0, y, 0), primitives=[sphere()])))

    def is_mug(found):
        return found.subframe_names == ["tip", "grip"] and found.subframe_poses == [tip, grip]

    state.apply(mug)
    assert put_lid(-1.0) and state.distance("ground", "lid") == near(3.8)
    assert [is_mug(one) for one in state.scene().world.collision_objects if one.id == "cup"] == [True]
    state.send(attached_object(touch_links=["hand"]))
    state.wait_for_distance("hand", "cup", None)
    assert [is_mug(one.object) for one in state.scene().robot_state.attached_collision_objects] == [True]
    state.put([1.0, 0.0])  # the hand slides along x
    assert put_lid(0.0) and state.distance("ground", "lid") == near(math.hypot(1.0, 3.0) - 0.2, 0.05)
    state.send(attached_object(REMOVE))
    state.wait_for_distance("hand", "cup", math.hypot(0.5, 2.0) - 0.15)
    assert not put_lid(0.0, "cup/spout")


def test_an_object_of_the_world_is_attached_at_its_pose(state):
    state.put([0.5, 0.0])
    state.apply(cup(x=1.2, y=0.0))
    state.send(attached_object(touch_links=["thumb"]))
    state.wait_for_distance("thumb", "cup", None)
    assert state.rule("cup", "thumb") == ("touch_link", False, "object 'cup' may touch link 'thumb'")
    # As in MoveIt the link that carries it is no exception unless it is named.
    assert state.distance("hand", "cup") == near(0.05)
    state.put([0.0, 0.0])
    assert state.distance("ground", "cup") == near(0.5)
    more = {"primitives": [sphere(0.05)], "primitive_poses": [to_pose(arm.at(0.0, 0.0, 1.0))]}
    state.send(attached_object(APPEND, touch_links=["ground"], **more))
    state.wait_for_distance("ground", "cup", None)
    assert state.distance("ball", "cup") == near(math.hypot(49.0, 0.7) - 0.15)
    state.send(attached_object(REMOVE, name="", link=""))
    state.wait_for_distance("ground", "cup", 0.5)
    state.put([0.5, 0.0])
    assert state.distance("ground", "cup") == near(0.5)  # in the world again, where it was


# --- planning scenes ---


def test_a_whole_scene_replaces_what_belongs_to_it(state):
    """Attached objects only if its state is whole, superovoids never."""
    old = thing("old", pose=arm.at(9.0, 0.0, 0.0), primitives=[sphere()])
    state.apply(old, attached=[attached_object(**ON_HAND)])
    assert state.call(ApplyObjects, APPLY, objects=[ovoid()]).success
    scene = PlanningScene()
    scene.world.collision_objects = [cup(name="wall")]
    for is_diff, expected in ((True, near(0.4)), (False, None)):
        scene.robot_state.is_diff = is_diff
        assert state.apply_scene(scene)
        assert state.distance("ground", "cup") == expected and state.distance("ground", "old") is None
        assert state.distance("ground", "wall") == state.distance("ground", "egg") == near(1.8)


def test_a_planning_scene_world_replaces_objects_and_octomap_and_nothing_else(service, state):
    """What MoveIt's panel in RViz publishes."""
    scene = scene_diff(cup(), cup(name="old", y=-3.0), attached=[attached_object(name="held", **ON_HAND)])
    scene.world.octomap = octomap(WALL, arm.at(0.0, 3.0, 0.0), binary=False)
    scene.allowed_collision_matrix = matrix(["cup", "hand"], {"cup", "hand"})
    assert state.apply_scene(scene)
    state.send(PlanningSceneWorld(collision_objects=[cup(y=-4.0)]))
    state.wait_for_distance("ground", "cup", 3.8)
    assert state.distance("ground", "old") is state.distance("ground", MAP) is None
    assert state.rule("cup", "hand")[:2] == ("planning_scene", False)
    state.send(PlanningSceneWorld(collision_objects=[cup(y=-5.0), thing("broken", primitives=[sphere(0.0)])]))
    service.wait_for_output("planning_scene_world: the rest is applied, not: object 'broken'")
    assert "'broken'" in state.nearest().message
    state.send(PlanningSceneWorld())
    state.wait_for_distance("ground", "cup", None)
    assert state.distance("ground", "held") == near(0.4)


# --- octomaps ---


@pytest.mark.parametrize("binary", [True, False])
def test_an_octomap_is_as_far_as_the_nearest_of_its_cubes(state, binary):
    assert state.apply_scene(with_octomap(octomap(WALL, arm.at(0.0, -2.0, 0.0), binary=binary)))
    assert state.distance("ground", MAP) == near(1.9)
    assert state.distance("hand", MAP) == near(math.hypot(0.2, 2.0) - 0.05)  # next to the wall, which ends at x = 0.3
    answer = state.nearest(links_a=[MAP]).distances
    assert sorted(pair.link_b for pair in answer.pairs) == ["ball", "ground", "hand", "thumb"]
    assert [pair.distance for pair in answer.pairs] == sorted(pair.distance for pair in answer.pairs)
    assert answer.pairs_considered == 4 * 44  # of the 72 cells four times 8, in the middle, fill a node
    state.send(attached_object(pose=arm.at(0.0, -1.0, 0.0), frame="hand", primitives=[sphere()]))
    state.wait_for_distance("cup", MAP, 0.9)
    state.apply(cup(name="second", y=-2.0))
    assert state.distance("second", MAP) is None  # both are the world's


def test_an_octomap_is_replaced_whole_and_removed_by_an_empty_one(state):
    def is_after(message, expected):
        assert state.apply_scene(message)
        return state.distance("ground", MAP) == expected

    state.put([0.0, math.pi / 2])
    in_hand = with_octomap(octomap(WALL, arm.at(2.0, 0.0, 0.0), frame="hand"))
    assert is_after(in_hand, near(1.6))  # x of the hand is y
    state.put([0.0, 0.0])
    assert state.distance("ground", MAP) == near(1.6)  # it stays where it was
    assert is_after(with_octomap(octomap(WALL[:-1], arm.at(0.0, -3.0, 0.0))), near(2.9))
    assert is_after(scene_diff(cup(y=-9.0)), near(2.9))  # a difference without octomap
    assert is_after(scene_diff(thing("", operation=REMOVE)), near(2.9))  # all objects; the map is not an object
    assert state.distance("ground", "cup") is None
    assert is_after(with_octomap(OctomapWithPose(octomap=Octomap(id="cleared"))), None)
    assert is_after(with_octomap(octomap(WALL, arm.at(0.0, -3.0, 0.0)), is_diff=False), near(2.9))
    assert is_after(PlanningScene(), None)  # a whole scene without octomap
    free = octomap([])
    free.octomap.data.frombytes(binary_stream({(HALF, HALF, HALF): False}))
    assert is_after(with_octomap(free), None)  # known, and nothing in it


def test_an_octomap_is_drawn_as_lists_of_cubes(state):
    markers = state.collect(MarkerArray, "/distance_service/markers")
    state.set(rate=50.0)
    assert state.apply_scene(with_octomap(octomap(WALL, arm.at(0.0, -2.0, 0.0))))

    def lists():
        sent = [marker for message in markers for marker in message.markers]
        return {m.id: m for m in sent if m.type == Marker.CUBE_LIST and m.action == Marker.ADD}

    assert state.wait(lambda: len(lists()) == 2)
    state.set(rate=0.0)
    drawn = {round(m.scale.x, 6): [(m.pose, point) for point in m.points] for m in lists().values()}
    assert {side: len(cubes) for side, cubes in drawn.items()} == {0.1: 40, 0.2: 4}
    low = min(pose.position.x + point.x - 0.5 * side for side, cubes in drawn.items() for pose, point in cubes)
    high = max(pose.position.y + point.y + 0.5 * side for side, cubes in drawn.items() for pose, point in cubes)
    assert (low, high) == near((-0.3, -2.0), 1e-6)


# --- superovoids and rules ---


def test_superovoids_are_added_attached_moved_and_removed(state):
    def apply_ovoids(*objects):
        answer = state.call(ApplyObjects, APPLY, objects=list(objects))
        assert answer.success, answer.message
        return answer.message

    apply_ovoids(ovoid(taper=[0.0, 0.2]))
    assert state.distance("ground", "egg") == near(1.8, 0.02)
    apply_ovoids(ovoid(pose=arm.at(0.7, 0.0, 0.0), frame="hand", attach_link="hand", touch_links=["gripper"]))
    state.put([1.0, 0.0])
    assert state.distance("ground", "egg") == near(1.5)
    assert state.rule("egg", "thumb")[0] == state.rule("egg", "hand")[0] == "touch_link"
    apply_ovoids(ovoid(operation=SuperovoidObject.MOVE, pose=arm.at(0.0, 3.0, 0.0)))
    assert state.distance("ground", "egg") == near(2.8)
    left = apply_ovoids(ovoid("other"), ovoid("egg", operation=SuperovoidObject.REMOVE))
    assert "other" in left and "egg" not in left


def test_rules_of_pairs_have_reasons_and_change_at_run_time(state):
    assert state.call(ApplyObjects, APPLY, objects=[ovoid(), ovoid("other")]).success
    response = state.call(GetPairRules, GET_RULES)
    found = zip(response.link_a, response.link_b, response.rule, response.checked, strict=True)
    rules = {frozenset((a, b)): (word, checked) for a, b, word, checked in found}
    assert len(rules) == len(response.link_a) == 6 + 8 and all(response.reason)
    assert rules[frozenset(("hand", "thumb"))] == ("adjacent", False)
    assert rules[frozenset(("ground", "ball"))] == ("srdf", False)
    assert rules[frozenset(("hand", "ball"))] == ("default", True)
    asked = state.call(GetPairRules, GET_RULES, links_a=["egg"], links_b=["gripper", "other"])
    assert list(asked.link_a) == ["egg"] * 3 and list(asked.checked) == [True, True, False]
    sides = {"links_a": ["gripper", "hand"], "links_b": ["ball", "thumb"], "checked": [False, True]}
    assert state.call(SetPairRules, SET_RULES, reason="x ray", **sides).success
    assert state.rule("hand", "ball") == ("runtime", False, "a runtime rule disables it (x ray)")
    assert state.distance("thumb", "ball") is None and state.distance("hand", "thumb") is not None
    assert "x ray" in state.nearest(links_a=["hand"], links_b=["ball"]).message
    assert state.call(SetPairRules, SET_RULES, clear=True).success
    assert state.distance("thumb", "ball") is not None and state.distance("hand", "thumb") is None
