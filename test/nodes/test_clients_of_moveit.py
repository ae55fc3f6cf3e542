# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The calls that clients of MoveIt make, each seen in the next answer of check_state_validity.

Written after the sources of these libraries, which themselves are not run here. pymoveit2: `pymoveit2/moveit2.py`.
MoveGroupInterface: `planning_scene_interface.cpp` and `attachObject`, `detachObject` of `move_group_interface.cpp`.
moveit_py changes a scene of its own process; what others see of it is what its monitor publishes:
`PlanningSceneMonitor::scenePublishingThread` and `PlanningScene::getPlanningSceneDiffMsg`.
"""

import numpy as np
import panda
import pytest
from geometry_msgs.msg import Pose
from moveit_msgs.msg import (
    AllowedCollisionEntry,
    AttachedCollisionObject,
    CollisionObject,
    LinkPadding,
    LinkScale,
    PlanningSceneWorld,
    RobotState,
)
from moveit_msgs.msg import PlanningScene as Scene
from moveit_msgs.msg import PlanningSceneComponents as Components
from panda_service import ROBOT, ROOT, joint_state, put, start
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
    put(client, panda.READY)
    assert client.apply_scene(Scene())
    return client


def contacts(client):
    """What is in contact with the robot or with what it carries in the ready state."""
    state = RobotState(is_diff=True, joint_state=joint_state(READY))
    response = client.check(state, group_name="panda_arm")
    assert response.valid == (not response.contacts)
    names = {name for one in response.contacts for name in (one.contact_body_1, one.contact_body_2)}
    return {name for name in names if not name.startswith("panda_")}


def box(name, pose, operation=CollisionObject.ADD, frame=ROOT):
    message = CollisionObject(id=name, operation=operation, pose=pose)
    message.header.frame_id = frame
    if operation == CollisionObject.ADD:
        message.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.04] * 3)]
        message.primitive_poses = [Pose()]
    return message


def removal(name=""):
    return CollisionObject(id=name, operation=CollisionObject.REMOVE)


def place(z=0.0):
    """A pose at the end of the hand, this far before it."""
    pose = HAND.copy()
    pose[:3, 3] = HAND[:3, :3] @ (0.0, 0.0, 0.06 + z) + HAND[:3, 3]
    return to_pose(pose)


def matrix_of(client):
    return client.scene(Components.ALLOWED_COLLISION_MATRIX).allowed_collision_matrix


class ApplyingClient:
    """The calls of MoveGroupInterface's PlanningSceneInterface that are answered: `applyCollisionObjects`, ..."""

    def __init__(self, client):
        self._client = client

    def _objects(self, *objects):
        self._send(Scene(world=PlanningSceneWorld(collision_objects=objects), robot_state=RobotState(is_diff=True)))

    def _attached(self, *attached):
        self._send(Scene(robot_state=RobotState(is_diff=True, attached_collision_objects=attached)))

    def _send(self, scene):
        scene.is_diff = True
        assert self._client.apply_scene(scene)

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

    def allow(self, name, allowed):
        """The interface has no call for it but `applyPlanningScene`: the matrix that is there with an entry more."""
        matrix = matrix_of(self._client)
        entries = dict(zip(matrix.default_entry_names, matrix.default_entry_values, strict=True)) | {name: allowed}
        matrix.default_entry_names, matrix.default_entry_values = list(entries), list(entries.values())
        self._send(Scene(allowed_collision_matrix=matrix, robot_state=RobotState(is_diff=True)))

    def clear(self):
        """What its users do: everything attached, then everything of the world, is removed by an empty name."""
        self.detach("")
        self.remove("")


class ByTopics(ApplyingClient):
    """What pymoveit2 sends; its other calls send back the scene that came."""

    def __init__(self, client):
        super().__init__(client)
        self._topic = client.publisher(CollisionObject, "/collision_object")
        self._held = client.publisher(AttachedCollisionObject, "/attached_collision_object")

    def _objects(self, message):
        message.primitive_poses = []
        self._topic.publish(message)

    def _attached(self, message):
        self._held.publish(message)

    def allow(self, name, allowed):
        scene = self._client.scene()
        matrix = scene.allowed_collision_matrix
        rows = {one: list(entry.enabled) for one, entry in zip(matrix.entry_names, matrix.entry_values, strict=True)}
        if name not in rows:
            rows = {one: [*row, allowed] for one, row in rows.items()} | {name: []}
        column = list(rows).index(name)
        for row in rows.values():
            row[column : column + 1] = [allowed]
        rows[name] = [allowed] * len(rows)
        matrix.entry_names = list(rows)
        matrix.entry_values = [AllowedCollisionEntry(enabled=row) for row in rows.values()]
        assert self._client.apply_scene(scene)

    def clear(self):
        scene = self._client.scene()
        scene.world.collision_objects, scene.robot_state.attached_collision_objects = [], []
        assert self._client.apply_scene(scene)


class ByPublishing(ApplyingClient):
    """Its calls that are not answered: `addCollisionObjects` and `removeCollisionObjects`, whose robot state is no
    difference, and MoveGroupInterface's `attachObject` and `detachObject`.
    """

    def __init__(self, client):
        super().__init__(client)
        # As there: what is sent before the last was taken is lost.
        self._scenes = client.publisher(Scene, "/planning_scene", 1)
        self._held = client.publisher(AttachedCollisionObject, "/attached_collision_object", 1)

    def _objects(self, *objects):
        self._scenes.publish(Scene(is_diff=True, world=PlanningSceneWorld(collision_objects=objects)))

    def _attached(self, message):
        self._held.publish(message)


class MonitorClient(ApplyingClient):
    """What MoveItPy's monitor publishes: the whole scene, then differences, each with state and attached objects.

    An object that was moved is added, one that came into the hand is in the state alone, one that was put down is in
    the world and is taken from the state without its link, and paddings and scales are always there.
    """

    def __init__(self, client):
        super().__init__(client)
        self._publisher = client.publisher(Scene, "/planning_scene", 100)
        self._world, self._held = {}, {}
        self._publish(is_diff=False, allowed_collision_matrix=matrix_of(client))

    def _publish(self, *objects, detached=(), is_diff=True, **fields):
        links = [f"panda_link{i}" for i in range(8)]
        scene = Scene(name="(noname)+", robot_model_name="panda", is_diff=is_diff, **fields)
        scene.link_padding = [LinkPadding(link_name=link, padding=0.0) for link in links]
        scene.link_scale = [LinkScale(link_name=link, scale=1.0) for link in links]
        scene.world.collision_objects = list(objects)
        scene.robot_state = RobotState(is_diff=is_diff, joint_state=joint_state(READY))
        scene.robot_state.joint_state.header.frame_id = scene.robot_state.multi_dof_joint_state.header.frame_id = ROOT
        gone = [AttachedCollisionObject(object=removal(name)) for name in detached]
        scene.robot_state.attached_collision_objects = [*self._held.values(), *gone]
        self._publisher.publish(scene)

    def add(self, name, pose):
        self._world[name] = box(name, pose)
        self._publish(self._world[name])

    move = add

    def remove(self, name):
        del self._world[name]
        self._publish(removal(name))

    def attach(self, name, link, touch_links):
        place = to_pose(np.linalg.inv(HAND) @ from_pose(self._world.pop(name).pose, name))
        self._held[name] = AttachedCollisionObject(link_name=link, touch_links=touch_links)
        self._held[name].object = box(name, place, frame=link)
        self._publish()

    def detach(self, name):
        self._world[name] = box(name, to_pose(HAND @ from_pose(self._held.pop(name).object.pose, name)))
        self._publish(self._world[name], detached=[name])

    def allow(self, name, allowed):
        """`set_default_entry` of the matrix of its scene, as `AllowedCollisionMatrix::getMessage` writes it."""
        matrix = matrix_of(self._client)
        known = {
            (a, b): enabled
            for a, row in zip(matrix.entry_names, matrix.entry_values, strict=True)
            for b, enabled in zip(matrix.entry_names, row.enabled, strict=True)
        }
        names = matrix.entry_names = sorted({*matrix.entry_names, name})
        rows = [[allowed if name in (a, b) else known[a, b] for b in names] for a in names]
        matrix.entry_values = [AllowedCollisionEntry(enabled=row) for row in rows]
        matrix.default_entry_names, matrix.default_entry_values = [name], [allowed]
        self._publish(allowed_collision_matrix=matrix)

    def clear(self):
        """What is attached is put down, then `remove_all_collision_objects`."""
        for name in list(self._held):
            self.detach(name)
        self._publish(*map(removal, self._world))


@pytest.mark.ci
@pytest.mark.parametrize("kind", [ByTopics, ApplyingClient, ByPublishing, MonitorClient])
def test_every_call_of_a_client_is_seen_in_the_next_answer(empty_world, kind):
    api = kind(empty_world)
    for call, arguments, expected in (
        (api.add, ("block", place()), {"block"}),
        (api.move, ("block", place(z=0.5)), set()),
        (api.add, ("other", place()), {"other"}),
        (api.allow, ("other", True), set()),
        (api.allow, ("other", False), {"other"}),
        (api.remove, ("other",), set()),
        (api.move, ("block", place()), {"block"}),
        (api.attach, ("block", "panda_hand", FINGERS), set()),  # in the hand it may touch the hand
        (api.add, ("table", place(z=0.03)), {"block", "table"}),  # touches the block alone
        (api.detach, ("block",), {"block"}),  # the hand again, and no other object of the world
        (api.clear, (), set()),
    ):
        call(*arguments)
        if kind is not ApplyingClient:  # what was answered is there at once
            empty_world.wait(lambda expected=expected: contacts(empty_world) == expected, timeout=20.0)
        assert contacts(empty_world) == expected, (call, arguments)
        if call == api.attach:
            scene = empty_world.scene()
            (held,) = scene.robot_state.attached_collision_objects
            assert (held.object.id, held.link_name) == ("block", "panda_hand") and not scene.world.collision_objects
    scene = empty_world.scene()
    assert not scene.world.collision_objects and not scene.robot_state.attached_collision_objects
