# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects and rules as a process sees them: each operation of MoveIt's messages and of the services, and wrong ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Quaternion
from lifecycle_msgs.msg import Transition
from moveit_msgs.msg import (
    CollisionObject,
    PlanningScene,
    PlanningSceneWorld,
    RobotState,
)
from moveit_msgs.srv import GetPlanningScene, GetStateValidity
from object_recognition_msgs.msg import ObjectType
from octomap_msgs.msg import Octomap, OctomapWithPose
from shape_msgs.msg import Mesh, MeshTriangle, Plane, SolidPrimitive
from superovoid_interfaces.msg import DistanceArray, SuperovoidObject
from superovoid_interfaces.srv import ApplyObjects, GetDistances, GetMinDistance, GetPairRules, SetPairRules
from visualization_msgs.msg import Marker, MarkerArray

from superovoid_ros.nodes.common.conversions import to_pose, to_transform

import arm
import lifecycle
from octrees import HALF, binary_stream
from parameters import set_parameters
from world import (
    APPLY,
    GET_RULES,
    MAP,
    MIN_DISTANCE,
    RELIABLE,
    SET_RULES,
    SRDF,
    WALL,
    apply_scene,
    attached,
    cube_mesh,
    cup,
    distance,
    matrix,
    octomap,
    prism,
    put,
    reset,
    rule,
    scene_diff,
    send,
    sphere,
    thing,
    wait_for_distance,
    with_octomap,
)

HOUSE = [(-1.0, 0.0), (1.0, 0.0), (1.0, 0.25), (0.0, 0.5), (-1.0, 0.25)]
OPEN_MESH = cube_mesh()
OPEN_MESH.triangles = OPEN_MESH.triangles[1:]


@pytest.fixture(scope="module")
def service(start_node):
    """The service with the arm."""
    node = start_node(
        "distance_service",
        robot_description=arm.URDF,
        robot_description_semantic=SRDF,
        rate=0.0,
        stale_timeout=0.0,
        incomplete_world="warn",  # what is there when a message was refused is looked at here
    )
    node.wait_for_output("robot 'arm'")
    return node


@pytest.fixture
def state(service, client):
    """The arm with its joints at 0 and the ball far away; no objects, no rules."""
    assert apply_scene(client, PlanningScene())  # whatever the test before has left: nothing is missing
    put(client, [0.0, 0.0])
    reset(client)
    return client


# --- objects of the world ---


def test_object_is_added_moved_and_removed_by_topic(state):
    send(state, cup())
    wait_for_distance(state, "ground", "cup", 1.8)
    assert distance(state, "hand", "cup") == pytest.approx(math.hypot(0.5, 2.0) - 0.15, abs=1e-12)
    send(state, thing(operation=CollisionObject.MOVE, pose=arm.at(0.0, -3.0, 0.0)))
    wait_for_distance(state, "ground", "cup", 2.8)
    send(state, cup(y=-4.0))  # ADD replaces
    wait_for_distance(state, "ground", "cup", 3.8)
    send(state, thing(operation=CollisionObject.REMOVE))
    wait_for_distance(state, "ground", "cup", None)


def test_shapes_are_appended_in_the_object_and_moved_with_it(state):
    send(state, cup())
    send(
        state,
        thing(operation=CollisionObject.APPEND, primitives=[sphere()], primitive_poses=[to_pose(arm.at(0, 1, 0))]),
    )
    wait_for_distance(state, "ground", "cup", 0.8)
    poses = [to_pose(arm.at(0.0, 0.0, 0.0)), to_pose(arm.at(0.0, -1.0, 0.0))]
    send(state, thing(operation=CollisionObject.MOVE, pose=arm.at(0.0, -2.5, 0.0), primitive_poses=poses))
    wait_for_distance(state, "ground", "cup", 2.3)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"primitives": [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[9.0, 0.4, 9.0])]}, 1.7),
        ({"primitives": [SolidPrimitive(type=SolidPrimitive.CYLINDER, dimensions=[0.4, 0.3])]}, 1.6),
        ({"primitives": [SolidPrimitive(type=SolidPrimitive.CONE, dimensions=[0.4, 0.3])]}, math.hypot(1.7, 0.2) - 0.1),
        ({"meshes": [cube_mesh()]}, 1.8),
        ({"meshes": [OPEN_MESH]}, 1.8),
        ({"primitives": [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[9.0, 0.0, 9.0])]}, 1.9),
        ({"planes": [Plane(coef=[0.0, 2.0, 0.0, -0.5])]}, 1.65),  # solid below y = 0.25 in the object
        ({"primitives": [prism(*HOUSE)]}, 1.4),
        ({"primitives": [prism(*HOUSE[::-1])]}, 1.4),
    ],
)
def test_every_kind_of_shape_is_measured(state, fields, expected):
    assert apply_scene(state, scene_diff(thing(pose=arm.at(0.0, -2.0, 0.0), **fields)))
    found = distance(state, "ground", "cup")
    assert found == pytest.approx(expected, abs=1e-9)


def test_quaternions_are_made_ones_of_unit_length(state):
    half = math.sqrt(0.5)
    box = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.2, 0.6, 0.2])
    for length in (1.0, 3.0, 1e-200, 1e200):
        turned = thing(primitives=[box])
        turned.pose.position.y = -2.0
        turned.pose.orientation = Quaternion(x=half * length, w=half * length)
        assert apply_scene(state, scene_diff(turned))
        assert distance(state, "ground", "cup") == pytest.approx(1.8, abs=1e-9)


def test_open_mesh_of_an_object_is_a_shell_that_things_can_be_in_by_parameter(state):
    """The ground's ball of 0.1 in a box without a lid, and what is told of the box can be sent back."""
    sides = trimesh.creation.box(extents=(0.6, 0.6, 0.6))
    corners = [Point(x=x, y=y, z=z) for x, y, z in sides.vertices]
    walls = [face for face in sides.faces if not (sides.vertices[face][:, 2] > 0.0).all()]
    triangles = [MeshTriangle(vertex_indices=[int(i) for i in face]) for face in walls]
    box = thing(pose=arm.at(0.0, 0.0, 0.1), meshes=[Mesh(vertices=corners, triangles=triangles)])
    wall = thing("wall", pose=arm.at(0.0, -2.0, 0.0))
    wall.meshes = [Mesh(vertices=[Point(x=x, z=z) for x, z in ((-1.0, -1.0), (1.0, -1.0), (0.0, 1.0))])]
    wall.meshes[0].triangles = [MeshTriangle(vertex_indices=[0, 1, 2])]
    assert apply_scene(state, scene_diff(box))
    assert distance(state, "ground", "cup") < 0.0
    assert not apply_scene(state, scene_diff(wall))  # a hull of one plane has no volume
    try:
        assert set_parameters(state, "/distance_service", {"open_meshes": "shell"}).successful
        assert apply_scene(state, scene_diff(box, wall))
        for _ in range(2):
            assert distance(state, "ground", "cup") == pytest.approx(0.1, abs=1e-9)
            assert distance(state, "ground", "wall") == pytest.approx(1.9, abs=1e-9)
            assert apply_scene(state, state.call(GetPlanningScene, "/get_planning_scene").scene)
        assert apply_scene(state, PlanningScene())
        held = RobotState(is_diff=True)
        held.attached_collision_objects = [attached(name="bowl", meshes=box.meshes, frame="ground", link="slider")]
        answer = state.call(GetStateValidity, "/check_state_validity", robot_state=held)
        assert answer.valid, answer.contacts  # with the ground in it, too
        assert not set_parameters(state, "/distance_service", {"open_meshes": "lid"}).successful
    finally:
        assert set_parameters(state, "/distance_service", {"open_meshes": "hull"}).successful


def test_pose_of_a_single_shape_is_that_of_the_object_where_that_has_none(state):
    message = thing(primitives=[sphere()], primitive_poses=[to_pose(arm.at(0.0, -2.0, 0.0))])
    assert apply_scene(state, scene_diff(message))
    assert distance(state, "ground", "cup") == pytest.approx(1.8, abs=1e-12)
    assert apply_scene(state, scene_diff(thing(operation=CollisionObject.MOVE, pose=arm.at(0.0, -3.0, 0.0))))
    assert distance(state, "ground", "cup") == pytest.approx(2.8, abs=1e-12)


def test_frames_are_links_objects_fixed_frames_and_tf(state):
    put(state, [0.0, math.pi / 2])
    assert apply_scene(state, scene_diff(cup(x=0.5, y=-2.0, frame="hand")))  # hand's x is now the ground's y
    assert distance(state, "ground", "cup") == pytest.approx(math.hypot(2.0, 0.5) - 0.2, abs=1e-9)
    put(state, [0.0, 0.0])  # it stays where it was
    assert distance(state, "ground", "cup") == pytest.approx(math.hypot(2.0, 0.5) - 0.2, abs=1e-9)
    state.send_transform("ground", "table", arm.at(0.0, -5.0, 0.0), static=True)
    send(state, cup(y=-1.0, frame="table"))
    wait_for_distance(state, "ground", "cup", 5.8)
    second = thing("second", pose=arm.at(0.0, -1.0, 0.0), frame="cup", primitives=[sphere()])
    assert apply_scene(state, scene_diff(second))
    assert distance(state, "ground", "second") == pytest.approx(6.8, abs=1e-9)
    assert apply_scene(state, scene_diff(cup(frame="/odom")))  # MoveIt's name for where the root link stands
    assert distance(state, "ground", "cup") == pytest.approx(1.8, abs=1e-9)
    message = scene_diff(cup(frame="marker"))
    message.fixed_frame_transforms = [to_transform("ground", "marker", arm.at(0.0, -7.0, 0.0), Time())]
    assert apply_scene(state, message)
    assert distance(state, "ground", "cup") == pytest.approx(8.8, abs=1e-9)


def test_subframes_of_objects_are_frames_wherever_the_object_is(state):
    tip, grip = to_pose(arm.at(0.0, -1.0, 0.0)), to_pose(arm.at(0.5, 0.0, 0.0))
    mug = cup(subframe_names=["tip", "grip"], subframe_poses=[tip, grip], type=ObjectType(db="{}", key="mug"))
    on_tip = thing("lid", frame="cup/tip", pose=arm.at(0.0, -1.0, 0.0), primitives=[sphere()])
    assert apply_scene(state, scene_diff(mug, on_tip))
    assert distance(state, "ground", "lid") == pytest.approx(3.8, abs=1e-12)
    found = state.call(GetPlanningScene, "/get_planning_scene").scene
    (told,) = (one for one in found.world.collision_objects if one.id == "cup")
    assert told.subframe_names == ["tip", "grip"] and told.subframe_poses == [tip, grip] and told.type.key == "mug"
    # In the hand they go with it, and they stay when the object is moved, appended to or put down.
    send(state, attached(touch_links=["hand"]))
    wait_for_distance(state, "hand", "cup", None)
    held = state.call(GetPlanningScene, "/get_planning_scene").scene.robot_state.attached_collision_objects
    assert held[0].object.subframe_names == ["tip", "grip"] and held[0].object.type.key == "mug"
    put(state, [1.0, 0.0])  # the hand slides along x
    assert apply_scene(
        state, scene_diff(thing("lid", frame="cup/tip", pose=arm.at(0.0, 0.0, 0.0), primitives=[sphere()]))
    )
    assert distance(state, "ground", "lid") == pytest.approx(math.hypot(1.0, 3.0) - 0.2, abs=0.05)
    send(state, attached(CollisionObject.REMOVE))
    wait_for_distance(state, "hand", "cup", math.hypot(0.5, 2.0) - 0.15)
    assert not apply_scene(state, scene_diff(thing("lid", frame="cup/spout", primitives=[sphere()])))
    assert apply_scene(state, PlanningScene())
    assert not apply_scene(state, scene_diff(cup(subframe_names=["tip"])))
    assert "1 subframe_names, 0 subframe_poses" in state.call(GetMinDistance, MIN_DISTANCE).message


@pytest.mark.parametrize(("frame", "expected"), [("cup", 1.8), ("cup/tip", 0.8), ("/cup/tip", 0.8)])
def test_base_poses_may_be_given_in_frames_of_objects(state, frame, expected):
    """The ball of 0.1 at an object's frame; at the object itself it is 2 m from the ground's ball of 0.1."""

    def between(frame_id):
        pose = to_transform(frame_id, "ball", np.eye(4), Time())
        one = state.call(GetMinDistance, MIN_DISTANCE, links_a=["thumb"], links_b=["ball"], base_poses=[pose])
        many = state.call(
            GetDistances,
            "/distance_service/get_distances",
            links_a=["thumb"],
            links_b=["ball"],
            base_links=["ball"],
            base_poses=[0.0] * 6 + [1.0],
            base_frame=frame_id,
        )
        assert one.success and many.success, (one.message, many.message)
        assert many.distance[0] == pytest.approx(one.distances.pairs[0].distance, abs=1e-12)
        return many.distance[0] + 0.02 + 0.1

    tip = to_pose(arm.at(0.0, 1.0, 0.0))
    assert apply_scene(state, scene_diff(cup(subframe_names=["tip"], subframe_poses=[tip])))
    place = np.array([0.0, -0.2 - expected, 0.0])
    thumb = np.array([0.5, 0.5, 0.0])
    assert between(frame) == pytest.approx(np.linalg.norm(thumb - place), abs=1e-9)
    # On the hand the frame is where the hand is measured.
    assert apply_scene(state, scene_diff(thing(operation=CollisionObject.REMOVE)))
    held = attached(pose=arm.at(0.6, 0.0, 0.0), frame="hand", primitives=[sphere()])
    held.object.subframe_names, held.object.subframe_poses = ["tip"], [tip]
    send(state, held)
    wait_for_distance(state, "ground", "cup", 0.4)
    put(state, [1.0, 0.0])
    place = np.array([1.6, 1.0 if "tip" in frame else 0.0, 0.0])
    assert between(frame) == pytest.approx(np.linalg.norm(np.array([1.5, 0.5, 0.0]) - place), abs=1e-9)
    pose = to_transform("cup/lid", "ball", np.eye(4), Time())
    assert not state.call(GetMinDistance, MIN_DISTANCE, base_poses=[pose]).success


# --- attached objects ---


def test_attached_object_moves_with_its_link_and_may_touch_what_it_may(state):
    send(state, attached(pose=arm.at(0.6, 0.0, 0.0), frame="hand", primitives=[sphere()], touch_links=["thumb"]))
    wait_for_distance(state, "ground", "cup", 0.4)
    put(state, [1.0, 0.0])
    assert distance(state, "ground", "cup") == pytest.approx(1.4, abs=1e-12)
    assert distance(state, "thumb", "cup") is None
    assert rule(state, "cup", "thumb") == ("touch_link", False, "object 'cup' may touch link 'thumb'")
    # As in MoveIt the link that carries it is no exception unless it is named.
    assert distance(state, "hand", "cup") == pytest.approx(-0.05, abs=1e-12)
    touched = ["thumb", "hand"]
    send(state, attached(pose=arm.at(0.6, 0.0, 0.0), frame="hand", primitives=[sphere()], touch_links=touched))
    wait_for_distance(state, "hand", "cup", None)
    assert rule(state, "hand", "cup")[:2] == ("touch_link", False)
    send(state, attached(CollisionObject.REMOVE))
    wait_for_distance(state, "hand", "cup", -0.05)  # in the world again, where it was
    put(state, [0.0, 0.0])
    assert distance(state, "ground", "cup") == pytest.approx(1.4, abs=1e-12)


def test_object_of_the_world_is_attached_where_it_is(state):
    put(state, [0.5, 0.0])
    assert apply_scene(state, scene_diff(cup(x=1.2, y=0.0)))
    send(state, attached(touch_links=["hand"]))
    wait_for_distance(state, "hand", "cup", None)
    put(state, [0.0, 0.0])
    assert distance(state, "ground", "cup") == pytest.approx(0.5, abs=1e-12)
    more = [to_pose(arm.at(0.0, 0.0, 1.0))]
    send(
        state, attached(CollisionObject.APPEND, primitives=[sphere(0.05)], primitive_poses=more, touch_links=["ground"])
    )
    wait_for_distance(state, "ground", "cup", None)
    ball = 50.0 - 1.0
    assert distance(state, "ball", "cup") == pytest.approx(math.hypot(ball, 0.7) - 0.15, abs=1e-9)
    send(state, attached(CollisionObject.REMOVE, name="", link=""))
    wait_for_distance(state, "ground", "cup", 0.5)


def test_scene_attaches_as_move_group_says_it(state):
    assert apply_scene(state, scene_diff(cup()))
    message = scene_diff(thing(operation=CollisionObject.REMOVE))
    message.robot_state.attached_collision_objects = [
        attached(pose=arm.at(0.6, 0.0, 0.0), frame="hand", primitives=[sphere()])
    ]
    assert apply_scene(state, message)
    assert distance(state, "ground", "cup") == pytest.approx(0.4, abs=1e-12)
    back = scene_diff(cup())
    back.robot_state.attached_collision_objects = [attached(CollisionObject.REMOVE)]
    assert apply_scene(state, back)
    assert distance(state, "ground", "cup") == pytest.approx(1.8, abs=1e-12)


# --- planning scenes ---


def test_matrix_of_a_scene_decides_until_another_one_comes(state):
    names = ["cup", "hand", "thumb"]
    acm = matrix(names, {"cup", "hand"}, defaults=["cup"])
    assert apply_scene(state, scene_diff(cup(), allowed_collision_matrix=acm))
    assert rule(state, "cup", "hand")[:2] == ("planning_scene", False)
    assert rule(state, "hand", "thumb")[:2] == ("planning_scene", True)  # though a joint connects them
    assert rule(state, "cup", "ground")[:2] == ("planning_scene", False)  # by default
    assert rule(state, "ground", "thumb")[:2] == ("srdf", False)
    assert distance(state, "cup", "hand") is None
    assert apply_scene(state, scene_diff())  # without a matrix: no change
    assert distance(state, "cup", "hand") is None
    assert apply_scene(state, scene_diff(allowed_collision_matrix=matrix(["cup", "hand"])))
    assert distance(state, "cup", "hand") == pytest.approx(math.hypot(0.5, 2.0) - 0.15, abs=1e-12)


def test_whole_scene_replaces_what_planning_scenes_brought_and_leaves_superovoids(state):
    assert apply_scene(state, scene_diff(cup(), thing("old", pose=arm.at(9.0, 0.0, 0.0), primitives=[sphere()])))
    assert state.call(ApplyObjects, APPLY, objects=[ovoid()]).success
    whole = PlanningScene()
    whole.world.collision_objects = [cup(y=-3.0)]
    send(state, whole)
    wait_for_distance(state, "ground", "cup", 2.8)
    assert distance(state, "ground", "old") is None
    assert distance(state, "ground", "egg") == pytest.approx(1.8, abs=1e-9)


def test_a_whole_scene_whose_state_is_a_difference_leaves_what_is_attached(state):
    send(state, attached(pose=arm.at(0.6, 0.0, 0.0), frame="hand", primitives=[sphere()]))
    wait_for_distance(state, "ground", "cup", 0.4)
    scene = PlanningScene()
    scene.robot_state.is_diff = True
    scene.world.collision_objects = [thing("wall", pose=arm.at(0.0, -2.0, 0.0), primitives=[sphere()])]
    assert apply_scene(state, scene)
    assert distance(state, "ground", "cup") == pytest.approx(0.4, abs=1e-12)
    assert distance(state, "ground", "wall") == pytest.approx(1.8, abs=1e-12)
    scene = state.call(GetPlanningScene, "/get_planning_scene").scene
    scene.robot_state.attached_collision_objects = []
    assert apply_scene(state, scene)  # whole, with a state that says all
    assert distance(state, "ground", "cup") is None
    assert distance(state, "ground", "wall") == pytest.approx(1.8, abs=1e-12)


def test_a_world_replaces_the_objects_and_the_octomap_and_nothing_else(service, state):
    """What MoveIt's panel in RViz publishes."""
    worlds = state.publisher(PlanningSceneWorld, "/planning_scene_world", 1)
    scene = scene_diff(cup(), thing("old", pose=arm.at(0.0, -3.0, 0.0), primitives=[sphere()]))
    scene.world.octomap = octomap(WALL, arm.at(0.0, 3.0, 0.0), binary=False)
    scene.allowed_collision_matrix = matrix(["cup", "hand"], {"cup", "hand"})
    scene.robot_state.attached_collision_objects = [
        attached(name="held", pose=arm.at(0.6, 0.0, 0.0), frame="hand", primitives=[sphere()])
    ]
    assert apply_scene(state, scene)
    assert distance(state, "ground", MAP) is not None
    worlds.publish(PlanningSceneWorld(collision_objects=[cup(y=-4.0)]))
    wait_for_distance(state, "ground", "cup", 3.8)
    assert distance(state, "ground", "old") is distance(state, "ground", MAP) is None
    assert distance(state, "ground", "held") == pytest.approx(0.4, abs=1e-12)
    assert rule(state, "cup", "hand")[:2] == ("planning_scene", False)
    worlds.publish(PlanningSceneWorld(collision_objects=[cup(y=-5.0), broken(primitives=[sphere(0.0)])]))
    service.wait_for_output("applied only a part of a message on planning_scene_world: object 'broken'")
    assert "'broken'" in state.call(GetMinDistance, MIN_DISTANCE).message
    worlds.publish(PlanningSceneWorld())
    wait_for_distance(state, "ground", "cup", None)
    assert distance(state, "ground", "held") == pytest.approx(0.4, abs=1e-12)


# --- octomaps ---


@pytest.mark.parametrize("binary", [True, False])
def test_octomap_is_measured_as_the_nearest_of_its_cubes(state, binary):
    assert apply_scene(state, with_octomap(octomap(WALL, arm.at(0.0, -2.0, 0.0), binary=binary)))
    assert distance(state, "ground", MAP) == pytest.approx(1.9, abs=1e-9)
    # The hand is beside the wall, which ends at x = 0.3.
    assert distance(state, "hand", MAP) == pytest.approx(math.hypot(0.2, 2.0) - 0.05, abs=1e-9)
    answer = state.call(GetMinDistance, MIN_DISTANCE, links_a=[MAP]).distances
    assert sorted(pair.link_b for pair in answer.pairs) == ["ball", "ground", "hand", "thumb"]
    assert {pair.link_a for pair in answer.pairs} == {MAP}
    assert [pair.distance for pair in answer.pairs] == sorted(pair.distance for pair in answer.pairs)
    assert answer.pairs_considered == 4 * 44  # of the 72 cells four times 8, in the middle, fill a node
    assert len(state.call(GetMinDistance, MIN_DISTANCE, links_a=[MAP], max_results=2).distances.pairs) == 2


def test_octomap_is_replaced_as_a_whole_and_removed_by_an_empty_one(state):
    def where():
        return distance(state, "ground", MAP)

    send(state, with_octomap(octomap(WALL, arm.at(0.0, -2.0, 0.0))))
    wait_for_distance(state, "ground", MAP, 1.9)
    assert apply_scene(state, with_octomap(octomap(WALL, arm.at(0.0, -4.0, 0.0))))  # the same, elsewhere
    assert where() == pytest.approx(3.9, abs=1e-9)
    assert apply_scene(state, with_octomap(octomap(WALL[:-1], arm.at(0.0, -3.0, 0.0))))
    assert where() == pytest.approx(2.9, abs=1e-9)
    assert apply_scene(state, scene_diff(cup(y=-9.0)))  # a difference without octomap
    assert where() == pytest.approx(2.9, abs=1e-9)
    send(state, thing("", operation=CollisionObject.REMOVE))  # all objects, of which the map is none
    wait_for_distance(state, "ground", "cup", None)
    assert where() == pytest.approx(2.9, abs=1e-9)
    assert apply_scene(state, with_octomap(OctomapWithPose(octomap=Octomap(id="cleared"))))
    assert where() is None
    assert apply_scene(state, with_octomap(octomap(WALL, arm.at(0.0, -3.0, 0.0)), is_diff=False))
    assert where() == pytest.approx(2.9, abs=1e-9)
    assert apply_scene(state, PlanningScene())  # a whole scene without octomap
    assert where() is None
    free = octomap([])
    free.octomap.data.frombytes(binary_stream({(HALF, HALF, HALF): False}))
    assert apply_scene(state, with_octomap(free)) and where() is None  # known, and nothing in it


def test_matrix_speaks_of_the_octomap_whichever_is_there(state):
    near = octomap(WALL, arm.at(0.0, -2.0, 0.0))
    assert apply_scene(state, with_octomap(near, allowed_collision_matrix=matrix([MAP, "hand"], {MAP, "hand"})))
    assert rule(state, MAP, "hand")[:2] == ("planning_scene", False)
    assert rule(state, MAP, "ground")[:2] == ("default", True)
    for message in (octomap(WALL[1:]), OctomapWithPose(octomap=Octomap(id="OcTree")), near):
        assert apply_scene(state, with_octomap(message))
    assert distance(state, "hand", MAP) is None and distance(state, "thumb", MAP) is not None
    assert apply_scene(state, scene_diff(cup(y=0.0), allowed_collision_matrix=matrix([MAP, "hand"], defaults=[MAP])))
    assert rule(state, MAP, "hand")[:2] == ("planning_scene", True)
    assert rule(state, MAP, "thumb")[:2] == ("planning_scene", False)
    assert distance(state, "hand", MAP) is not None and distance(state, "thumb", MAP) is None


# --- superovoids ---


def ovoid(name="egg", pose=None, **fields):
    fields = {"size": [0.1, 0.1, 0.1], "epsilon": [1.0, 1.0], "taper": [0.0, 0.0], **fields}
    return SuperovoidObject(id=name, pose=to_pose(arm.at(0.0, 2.0, 0.0) if pose is None else pose), **fields)


def test_superovoids_are_added_attached_moved_and_removed(state):
    assert state.call(ApplyObjects, APPLY, objects=[ovoid(taper=[0.0, 0.2])]).success
    assert distance(state, "ground", "egg") == pytest.approx(1.8, abs=0.02)
    held = ovoid(pose=arm.at(0.7, 0.0, 0.0), attach_link="hand", touch_links=["gripper"])
    held.header.frame_id = "hand"
    assert state.call(ApplyObjects, APPLY, objects=[held]).success
    put(state, [1.0, 0.0])
    assert distance(state, "ground", "egg") == pytest.approx(1.5, abs=1e-9)
    assert rule(state, "egg", "thumb")[0] == rule(state, "egg", "hand")[0] == "touch_link"
    down = ovoid(operation=SuperovoidObject.MOVE, pose=arm.at(0.0, 3.0, 0.0))
    assert state.call(ApplyObjects, APPLY, objects=[down]).success
    assert distance(state, "ground", "egg") == pytest.approx(2.8, abs=1e-9)
    answer = state.call(ApplyObjects, APPLY, objects=[ovoid("other"), ovoid("egg", operation=SuperovoidObject.REMOVE)])
    assert answer.success and "other" in answer.message and "egg" not in answer.message


# --- rules ---


def test_rules_of_all_pairs_say_why(state):
    assert state.call(ApplyObjects, APPLY, objects=[ovoid(), ovoid("other")]).success
    response = state.call(GetPairRules, GET_RULES)
    assert response.success
    rules = {
        frozenset((a, b)): (word, checked)
        for a, b, word, checked in zip(response.link_a, response.link_b, response.rule, response.checked, strict=True)
    }
    assert len(rules) == len(response.link_a) == 6 + 8
    assert rules[frozenset(("hand", "thumb"))] == ("adjacent", False)
    assert rules[frozenset(("ground", "ball"))] == ("srdf", False)
    assert rules[frozenset(("hand", "ball"))] == ("default", True)
    assert all(response.reason)
    asked = state.call(GetPairRules, GET_RULES, links_a=["egg"], links_b=["gripper", "other"])
    assert list(asked.link_a) == ["egg"] * 3 and list(asked.checked) == [True, True, False]


def test_runtime_rules_are_set_cleared_and_answered_with_their_reason(state):
    response = state.call(
        SetPairRules,
        SET_RULES,
        links_a=["gripper", "hand"],
        links_b=["ball", "thumb"],
        checked=[False, True],
        reason="x ray",
    )
    assert response.success
    assert rule(state, "hand", "ball") == ("runtime", False, "a runtime rule disables it (x ray)")
    assert distance(state, "thumb", "ball") is None and distance(state, "hand", "thumb") is not None
    answer = state.call(GetMinDistance, MIN_DISTANCE, links_a=["hand"], links_b=["ball"])
    assert "x ray" in answer.message
    assert state.call(SetPairRules, SET_RULES, clear=True).success
    assert distance(state, "thumb", "ball") is not None and distance(state, "hand", "thumb") is None


# --- wrong messages on topics ---


def broken(**fields):
    return thing("broken", pose=arm.at(1.0, 1.0, 1.0), **fields)


def set_rate(client, rate):
    assert set_parameters(client, "/distance_service", {"rate": rate}).successful


def test_objects_are_in_the_topics_too(state):
    distances = state.collect(DistanceArray, "/distance_service/distances")
    markers = state.collect(MarkerArray, "/distance_service/markers")
    set_rate(state, 50.0)

    def drawn():
        return {marker.id for message in markers for marker in message.markers if marker.ns == "bodies"}

    plane = thing("floor", planes=[Plane(coef=[0.0, 0.0, 1.0, 0.0])], pose=arm.at(0.0, 0.0, -0.11))
    assert apply_scene(state, scene_diff(cup(x=0.0, y=0.21), plane))
    assert state.wait(lambda: drawn() == set(range(6)))
    distances.clear()
    assert state.wait(lambda: distances and any("cup" in (p.link_a, p.link_b) for p in distances[-1].pairs))
    found = {frozenset((pair.link_a, pair.link_b)): pair.distance for pair in distances[-1].pairs}
    assert found[frozenset(("ground", "cup"))] == pytest.approx(0.01, abs=1e-9)
    assert found[frozenset(("ground", "floor"))] == pytest.approx(0.01, abs=1e-9)
    markers.clear()
    assert apply_scene(state, PlanningScene())
    assert state.wait(lambda: any(m.action == Marker.DELETEALL for message in markers for m in message.markers))
    # What is drawn anew follows in parts.
    cleared = [any(m.action == Marker.DELETEALL for m in message.markers) for message in markers]
    del markers[: cleared.index(True)]
    assert state.wait(lambda: drawn() == set(range(4)))
    set_rate(state, 0.0)


def test_octomap_is_drawn_as_lists_of_cubes(state):
    markers = state.collect(MarkerArray, "/distance_service/markers")
    set_rate(state, 50.0)
    assert apply_scene(state, with_octomap(octomap(WALL, arm.at(0.0, -2.0, 0.0))))

    def lists():
        sent = [marker for message in markers for marker in message.markers]
        return {m.id: m for m in sent if m.type == Marker.CUBE_LIST and m.action == Marker.ADD}

    assert state.wait(lambda: len(lists()) == 2)
    set_rate(state, 0.0)
    drawn = {round(m.scale.x, 6): [(m.pose, point) for point in m.points] for m in lists().values()}
    assert {side: len(cubes) for side, cubes in drawn.items()} == {0.1: 40, 0.2: 4}
    low = min(pose.position.x + point.x - 0.5 * side for side, cubes in drawn.items() for pose, point in cubes)
    high = max(pose.position.y + point.y + 0.5 * side for side, cubes in drawn.items() for pose, point in cubes)
    assert (low, high) == pytest.approx((-0.3, -2.0))


def test_inactive_node_takes_objects_from_topics_and_answers_no_service(start_node, client):
    node = start_node("distance_service", name="waiting", autostart=False, robot_description=arm.URDF, rate=0.0)
    assert lifecycle.change(client, "/waiting", Transition.TRANSITION_CONFIGURE)
    response = client.call(ApplyObjects, "/waiting/apply_objects", objects=[ovoid()])
    assert not response.success and "ros2 lifecycle set /waiting activate" in response.message
    both = client.publisher(CollisionObject, "collision_object", RELIABLE)

    def listens():
        ends = client.node.get_subscriptions_info_by_topic("/collision_object")
        # As many matched as there are: the inactive node is one of them.
        return "waiting" in {end.node_name for end in ends} and both.get_subscription_count() == len(ends)

    assert client.wait(listens)
    both.publish(cup())
    client.spin(0.5)
    assert lifecycle.change(client, "/waiting", Transition.TRANSITION_ACTIVATE)

    def rules():
        return client.call(GetPairRules, "/waiting/get_pair_rules", links_a=["cup"])

    assert client.call_until(lambda r: r.success, GetPairRules, "/waiting/get_pair_rules", links_a=["cup"]).link_a
    for transition in (
        Transition.TRANSITION_DEACTIVATE,
        Transition.TRANSITION_CLEANUP,
        Transition.TRANSITION_CONFIGURE,
        Transition.TRANSITION_ACTIVATE,
    ):
        assert lifecycle.change(client, "/waiting", transition)
    assert not rules().success  # forgotten
    node.is_tested = False
    node.stop()


def test_object_before_the_state_is_known_is_refused_only_where_the_state_matters(start_node, client):
    node = start_node("distance_service", name="early", robot_description=arm.URDF, rate=0.0)
    node.wait_for_output("robot 'arm'")
    early = "/early/apply_objects"
    on_hand = ovoid(pose=arm.at(0.7, 0.0, 0.0), attach_link="hand")
    response = client.call(ApplyObjects, early, objects=[on_hand])
    assert not response.success and "no position of joint" in response.message
    on_hand.header.frame_id = "hand"
    assert client.call(ApplyObjects, early, objects=[on_hand, ovoid("egg2")]).success
    node.is_tested = False
    node.stop()
