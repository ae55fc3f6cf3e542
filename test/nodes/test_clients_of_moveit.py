# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The calls that clients of MoveIt make, each seen in the next answer of check_state_validity.

Written after the sources of these libraries, which themselves are not run here. pymoveit2: `pymoveit2/moveit2.py`.
MoveGroupInterface: `planning_scene_interface.cpp` and `attachObject`, `detachObject` of `move_group_interface.cpp`.
moveit_py changes a scene of its own process; what others see of it is what its monitor publishes:
`PlanningSceneMonitor::scenePublishingThread` and `PlanningScene::getPlanningSceneDiffMsg`.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import panda
import pytest
from geometry_msgs.msg import Pose, Vector3
from moveit_msgs.msg import (
    AllowedCollisionEntry,
    AllowedCollisionMatrix,
    AttachedCollisionObject,
    CollisionObject,
    LinkPadding,
    LinkScale,
    MoveItErrorCodes,
    PlanningScene,
    PlanningSceneComponents,
    PlanningSceneWorld,
    RobotState,
    WorkspaceParameters,
)
from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene, GetPositionFK, GetStateValidity
from panda_service import RIGHT, ROBOT, ROOT, TIP, apply, joint_goal, joint_state, plan, start
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive

from superovoid_ros.nodes.common.conversions import from_pose, to_pose

READY = panda.state_of(panda.READY)
HAND = ROBOT.forward_kinematics(READY)["panda_hand"]
FINGERS = ["panda_hand", "panda_leftfinger", "panda_rightfinger"]


@pytest.fixture(scope="module")
def service(serve):
    return start(serve, stale_timeout=0.0)


@pytest.fixture
def empty_world(service, client):
    """Nothing around the robot, which is measured where it is ready."""
    request = {"fk_link_names": [TIP], "robot_state": RobotState(is_diff=True)}

    def is_measured(response):
        client.send_joints(list(READY), list(READY.values()))
        return response.error_code.val == MoveItErrorCodes.SUCCESS

    client.call_until(is_measured, GetPositionFK, "/compute_fk", **request)
    apply(client, whole=True)
    return client


def contacts(client):
    """Pairs in contact in the ready state; what else there is comes from the node's world."""
    state = RobotState(is_diff=True, joint_state=joint_state(READY))
    response = client.call(GetStateValidity, "/check_state_validity", robot_state=state, group_name="panda_arm")
    assert response.valid == (not response.contacts)
    return {frozenset((one.contact_body_1, one.contact_body_2)) for one in response.contacts}


def touches(client, *names):
    """Whether each of these is in contact, and nothing else of the world is."""
    hit = {name for pair in contacts(client) for name in pair if not name.startswith("panda_")}
    return hit == set(names)


def becomes(client, *names, at_once=False):
    """Wait until these objects are in contact and no others; what was answered is there at once."""
    if not at_once:
        client.wait(lambda: touches(client, *names), timeout=20.0)
    hit = contacts(client)
    assert touches(client, *names), f"in contact: {hit}, expected {names}"


def box(name, pose, operation=CollisionObject.ADD, frame=ROOT):
    message = CollisionObject(id=name, operation=operation, pose=pose)
    message.header.frame_id = frame
    if operation == CollisionObject.ADD:
        message.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.04] * 3)]
        message.primitive_poses = [Pose()]
    return message


def removal(name=""):
    return CollisionObject(id=name, operation=CollisionObject.REMOVE)


def place(z=0.0, x=0.0):
    """A pose at the end of the hand, this far before it."""
    pose = HAND.copy()
    pose[:3, 3] = HAND[:3, :3] @ (x, 0.0, 0.06 + z) + HAND[:3, 3]
    return to_pose(pose)


class ApplyingClient:
    """The calls of MoveGroupInterface's PlanningSceneInterface that are answered: `applyCollisionObjects`, ..."""

    def __init__(self, client):
        self._client = client

    def _apply(self, **fields):
        scene = PlanningScene(is_diff=True, **fields)
        scene.robot_state.is_diff = True
        assert self._client.call(ApplyPlanningScene, "/apply_planning_scene", scene=scene).success

    def _objects(self, *objects):
        self._apply(world=PlanningSceneWorld(collision_objects=objects), object_colors=[])

    def _attached(self, *attached):
        self._apply(robot_state=RobotState(attached_collision_objects=attached))

    def add(self, name, pose):
        self._objects(box(name, pose))

    def move(self, name, pose):
        self._objects(box(name, pose, operation=CollisionObject.MOVE))

    def remove(self, name):
        self._objects(removal(name))

    def attach(self, name, link, touch_links):
        thing = CollisionObject(id=name, operation=CollisionObject.ADD)
        self._attached(AttachedCollisionObject(link_name=link, touch_links=touch_links, object=thing))

    def detach(self, name):
        self._attached(AttachedCollisionObject(object=removal(name)))

    def _get(self, components):
        wanted = PlanningSceneComponents(components=components)
        return self._client.call(GetPlanningScene, "/get_planning_scene", components=wanted).scene

    def scene(self):
        """`getKnownObjectNames`, `getObjects` and `getAttachedObjects`, each a call of its own."""
        scene = self._get(PlanningSceneComponents.WORLD_OBJECT_GEOMETRY)
        names = self._get(PlanningSceneComponents.WORLD_OBJECT_NAMES).world.collision_objects
        assert {one.id for one in names} == {one.id for one in scene.world.collision_objects}
        attached = self._get(PlanningSceneComponents.ROBOT_STATE_ATTACHED_OBJECTS)
        scene.robot_state = attached.robot_state
        return scene

    def allow(self, name, allowed):
        """The interface has no call for it but `applyPlanningScene`: the matrix that is there with an entry more."""
        matrix = self._get(PlanningSceneComponents.ALLOWED_COLLISION_MATRIX).allowed_collision_matrix
        kept = [i for i, one in enumerate(matrix.default_entry_names) if one != name]
        matrix.default_entry_names = [*(matrix.default_entry_names[i] for i in kept), name]
        matrix.default_entry_values = [*(matrix.default_entry_values[i] for i in kept), allowed]
        self._apply(allowed_collision_matrix=matrix)

    def clear(self):
        """What its users do: everything attached, then everything of the world, is removed by an empty name."""
        self.detach("")
        self.remove("")


class ByTopics(ApplyingClient):
    """What pymoveit2 sends."""

    def __init__(self, client):
        super().__init__(client)
        self._topic = client.publisher(CollisionObject, "/collision_object")
        self._held = client.publisher(AttachedCollisionObject, "/attached_collision_object")

    def _objects(self, *objects):
        for message in objects:
            message.primitive_poses = []
            self._topic.publish(message)

    def _attached(self, *attached):
        for message in attached:
            self._held.publish(message)

    def scene(self):
        return self._client.call(GetPlanningScene, "/get_planning_scene").scene

    def _apply_whole(self, scene):
        assert self._client.call(ApplyPlanningScene, "/apply_planning_scene", scene=scene).success

    def allow(self, name, allowed):
        """Turn a row and a column of the matrix that is there, and apply the scene that came."""
        scene = self.scene()
        matrix = scene.allowed_collision_matrix
        names = list(matrix.entry_names)
        values = [list(entry.enabled) for entry in matrix.entry_values]
        if name not in names:
            names.append(name)
            for row in values:
                row.append(allowed)
            values.append([])
        j = names.index(name)
        for row in values[:j] + values[j + 1 :]:
            row[j] = allowed
        values[j] = [allowed] * len(names)
        matrix.entry_names = names
        matrix.entry_values = [AllowedCollisionEntry(enabled=row) for row in values]
        self._apply_whole(scene)

    def clear(self):
        scene = self.scene()
        scene.world.collision_objects, scene.robot_state.attached_collision_objects = [], []
        self._apply_whole(scene)


class ByPublishing(ApplyingClient):
    """Its calls that are not answered: `addCollisionObjects` and `removeCollisionObjects`, whose robot state is no
    difference, and MoveGroupInterface's `attachObject` and `detachObject`.
    """

    def __init__(self, client):
        super().__init__(client)
        # As there: what is sent before the last was taken is lost.
        self._scenes = client.publisher(PlanningScene, "/planning_scene", 1)
        self._held = client.publisher(AttachedCollisionObject, "/attached_collision_object", 1)

    def _objects(self, *objects):
        self._scenes.publish(PlanningScene(is_diff=True, world=PlanningSceneWorld(collision_objects=objects)))

    def _attached(self, *attached):
        for message in attached:
            self._held.publish(message)


class MonitorClient(ApplyingClient):
    """What MoveItPy's monitor publishes: the whole scene, then differences, each with state and attached objects.

    An object that was moved is added, one that came into the hand is in the state alone, one that was put down is in
    the world and is taken from the state without its link, and paddings and scales are always there.
    """

    def __init__(self, client):
        super().__init__(client)
        self._publisher = client.publisher(PlanningScene, "/planning_scene", 100)
        self._world, self._held = {}, {}
        self._publish(is_diff=False, allowed_collision_matrix=self._matrix())

    def _matrix(self):
        return self._get(PlanningSceneComponents.ALLOWED_COLLISION_MATRIX).allowed_collision_matrix

    def _publish(self, *objects, detached=(), is_diff=True, **fields):
        scene = PlanningScene(name="(noname)+", robot_model_name="panda", is_diff=is_diff, **fields)
        links = [f"panda_link{i}" for i in range(8)]
        scene.link_padding = [LinkPadding(link_name=link, padding=0.0) for link in links]
        scene.link_scale = [LinkScale(link_name=link, scale=1.0) for link in links]
        scene.world.collision_objects = list(objects)
        scene.robot_state.is_diff = is_diff
        scene.robot_state.joint_state = JointState(name=list(READY), position=list(READY.values()))
        scene.robot_state.joint_state.header.frame_id = scene.robot_state.multi_dof_joint_state.header.frame_id = ROOT
        gone = [AttachedCollisionObject(object=removal(name)) for name in detached]
        scene.robot_state.attached_collision_objects = [*self._held.values(), *gone]
        self._publisher.publish(scene)

    def add(self, name, pose):
        self._world[name] = box(name, pose)
        self._publish(self._world[name])

    def move(self, name, pose):
        self.add(name, pose)

    def remove(self, name):
        del self._world[name]
        self._publish(removal(name))

    def attach(self, name, link, touch_links):
        thing = self._world.pop(name)
        place = to_pose(np.linalg.inv(HAND) @ from_pose(thing.pose, name))
        self._held[name] = AttachedCollisionObject(link_name=link, touch_links=touch_links)
        self._held[name].object = box(name, place, frame=link)
        self._publish()

    def detach(self, name):
        place = HAND @ from_pose(self._held.pop(name).object.pose, name)
        self._world[name] = box(name, to_pose(place))
        self._publish(self._world[name], detached=[name])

    def allow(self, name, allowed):
        """`set_default_entry` of the matrix of its scene, as `AllowedCollisionMatrix::getMessage` writes it."""
        matrix = self._matrix()
        names = sorted({*matrix.entry_names, name})
        known = {one: row.enabled for one, row in zip(matrix.entry_names, matrix.entry_values, strict=True)}

        def entry(a, b):
            if name in (a, b):
                return allowed
            return known[a][list(matrix.entry_names).index(b)]

        message = AllowedCollisionMatrix(entry_names=names, default_entry_names=[name], default_entry_values=[allowed])
        message.entry_values = [AllowedCollisionEntry(enabled=[entry(a, b) for b in names]) for a in names]
        self._publish(allowed_collision_matrix=message)

    def clear(self):
        """What is attached is put down, then `remove_all_collision_objects`."""
        for name in list(self._held):
            self.detach(name)
        gone = [removal(name) for name in self._world]
        self._world.clear()
        self._publish(*gone)


@pytest.mark.ci
@pytest.mark.parametrize("kind", [ByTopics, ApplyingClient, ByPublishing, MonitorClient])
def test_every_call_of_a_client_is_seen_in_the_next_answer(empty_world, kind):
    api = kind(empty_world)
    seen = partial(becomes, empty_world, at_once=kind is ApplyingClient)
    seen()
    api.add("block", place())
    seen("block")
    api.move("block", place(z=0.5))
    seen()
    api.add("other", place())
    seen("other")
    assert {one.id for one in api.scene().world.collision_objects} == {"block", "other"}

    api.allow("other", True)
    seen()
    api.allow("other", False)
    seen("other")
    api.remove("other")
    seen()
    assert {one.id for one in api.scene().world.collision_objects} == {"block"}

    # In the hand it may touch the hand; where it was it is no more.
    api.move("block", place())
    seen("block")
    api.attach("block", "panda_hand", FINGERS)
    seen()
    scene = api.scene()
    assert not scene.world.collision_objects
    (held,) = scene.robot_state.attached_collision_objects
    assert (held.object.id, held.link_name) == ("block", "panda_hand")
    assert {*FINGERS} <= {*held.touch_links, "panda_hand"}
    api.add("table", place(z=0.03))  # touches the block alone
    seen("block", "table")
    api.detach("block")
    seen("block")  # the hand again, and no other object of the world
    assert {one.id for one in api.scene().world.collision_objects} == {"block", "table"}
    api.clear()
    seen()
    scene = api.scene()
    assert not scene.world.collision_objects and not scene.robot_state.attached_collision_objects


@panda.NEEDS_PLANNER
def test_pymoveit2_plans_without_a_move_group(empty_world):
    """Its request, field by field: to a configuration from the joint state it received."""
    ByTopics(empty_world).add("block", place(x=0.3))
    room = WorkspaceParameters(min_corner=Vector3(x=-1.0, y=-1.0, z=-1.0), max_corner=Vector3(x=1.0, y=1.0, z=1.0))
    room.header.frame_id = ROOT
    start = RobotState(joint_state=joint_state(READY))
    fields = {"num_planning_attempts": 5, "cartesian_speed_limited_link": TIP, "workspace_parameters": room}
    response = plan(empty_world, joint_goal(RIGHT, 0.001), start_state=start, seconds=60.0, **fields)
    assert response.error_code.val == MoveItErrorCodes.SUCCESS, response.error_code.message
    points = response.trajectory.joint_trajectory.points
    np.testing.assert_allclose([points[0].positions, points[-1].positions], [panda.READY, RIGHT], atol=1e-3)
