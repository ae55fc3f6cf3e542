# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Messages about objects and rules, and a client that sends them to a node named `distance_service`."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from geometry_msgs.msg import Point
from moveit_msgs.msg import (
    AllowedCollisionEntry,
    AllowedCollisionMatrix,
    AttachedCollisionObject,
    CollisionObject,
    PlanningScene,
    PlanningSceneComponents,
    PlanningSceneWorld,
    RobotState,
)
from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene, GetStateValidity
from octomap_msgs.msg import Octomap, OctomapWithPose
from rclpy.qos import QoSProfile, ReliabilityPolicy
from shape_msgs.msg import Mesh, MeshTriangle, SolidPrimitive
from superovoid_interfaces.msg import ErrorCode, SuperovoidObject
from superovoid_interfaces.srv import ApplyObjects, GetMinDistance, GetPairRules, SetPairRules

from superovoid_ros.nodes.common.conversions import to_pose

import arm
from asking import ClientWithTimeout
from lifecycle import bring
from octrees import HALF, binary_stream, full_stream
from parameters import set_parameters

NAME = "/distance_service"
MIN_DISTANCE, DISTANCES, APPLY = (f"{NAME}/{name}" for name in ("get_min_distance", "get_distances", "apply_objects"))
GET_RULES, SET_RULES = f"{NAME}/get_pair_rules", f"{NAME}/set_pair_rules"
VIRTUAL = '<virtual_joint name="v" type="fixed" parent_frame="odom" child_link="ground"/>'
SRDF = arm.SRDF.replace("</robot>", f"{VIRTUAL}</robot>")
TOPICS = {
    CollisionObject: "collision_object",
    AttachedCollisionObject: "attached_collision_object",
    PlanningScene: "planning_scene",
    PlanningSceneWorld: "planning_scene_world",
}
RELIABLE = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)


def vector(message):
    """Return a point or vector as an array, shape (3,)."""
    return np.array([message.x, message.y, message.z])


class SceneClient(ClientWithTimeout):
    """A client with short words for what tests of one distance service tell and ask."""

    def put(self, positions, prefix=""):
        """Publish a state of the arm with the ball far away, and wait until the service uses it."""
        arm.set_state(self, NAME, positions, arm.at(0.0, 0.0, 50.0), prefix=prefix)

    def set(self, **values):
        """Set parameters together, which must be accepted."""
        verdict = set_parameters(self, NAME, values)
        assert verdict.successful, verdict.reason

    def set_robot(self, **values):
        """Set parameters of the robot, and wait until the active service has read it."""
        self.set(**values)
        self.until(lambda response: response.error_code.value != ErrorCode.READING)

    def bring(self, label):
        """Bring the service from any state of its life cycle to another one."""
        bring(self, NAME, label)

    def send(self, message):
        """Publish a message about objects."""
        self.publisher(type(message), TOPICS[type(message)], RELIABLE).publish(message)

    def apply_scene(self, message):
        """Return whether a scene was applied."""
        return self.call(ApplyPlanningScene, "/apply_planning_scene", scene=message).success

    def apply(self, *objects, **fields):
        """Apply a difference of the scene, which must be accepted."""
        assert self.apply_scene(scene_diff(*objects, **fields))

    def empty(self):
        """Remove all objects, attached ones and rules of planning scenes."""
        assert self.apply_scene(PlanningScene())

    def reset(self):
        """Remove all objects and rules."""
        remove = SuperovoidObject(operation=SuperovoidObject.REMOVE)
        assert self.call(ApplyObjects, APPLY, objects=[remove]).success
        assert self.call(SetPairRules, SET_RULES, clear=True).success
        self.empty()

    def scene(self, *components):
        """Return the planning scene that the service reports, or components of it."""
        wanted = PlanningSceneComponents(components=sum(components))
        return self.call(GetPlanningScene, "/get_planning_scene", components=wanted).scene

    def nearest(self, **request):
        """Return the response about the smallest distances."""
        return self.call(GetMinDistance, MIN_DISTANCE, **request)

    def until(self, accept=lambda response: response.success, **request):
        """Ask for the smallest distances until a response is accepted, and return that."""
        return self.call_until(accept, GetMinDistance, MIN_DISTANCE, **request)

    def refused(self, *words):
        """Wait until no question about the world is answered, for reasons with these words."""
        return self.until(lambda r: not r.success and all(word in r.message for word in ("not ready", *words)))

    def distance(self, a, b):
        """Return the distance of two links or objects; None if the service reports none."""
        response = self.nearest(links_a=[a], links_b=[b])
        return response.distances.pairs[0].distance if response.success else None

    def gap(self, a="cup", b="ground", **request):
        """Return the distance of two links or objects, which must be answered."""
        response = self.nearest(links_a=[a], links_b=[b], **request)
        assert response.success, response.message
        assert {response.distances.pairs[0].link_a, response.distances.pairs[0].link_b} == {a, b}
        return response.distances.pairs[0].distance

    def wait_for_distance(self, a, b, expected):
        """Wait until two links or objects have this distance, or none."""

        def is_there(response):
            if expected is None:
                return not response.success
            return response.success and response.distances.pairs[0].distance == pytest.approx(expected, abs=1e-9)

        return self.until(is_there, links_a=[a], links_b=[b])

    def check(self, robot_state=None, **fields):
        """Return the response about the validity of a state, by default of the measured one."""
        robot_state = robot_state or RobotState(is_diff=True)
        return self.call(GetStateValidity, "/check_state_validity", robot_state=robot_state, **fields)

    def is_valid(self):
        """Return whether the measured state is valid."""
        return self.check().valid

    def rule(self, a, b):
        """Return the rule of a pair, whether it is checked, and the reason."""
        response = self.call(GetPairRules, GET_RULES, links_a=[a], links_b=[b])
        assert response.success, response.message
        assert list(response.link_a) == [a] and list(response.link_b) == [b]
        return response.rule[0], response.checked[0], response.reason[0]


def sphere(radius=0.1):
    return SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[radius])


def thing(name="cup", operation=CollisionObject.ADD, pose=None, frame="ground", **fields):
    message = CollisionObject(id=name, operation=operation, **fields)
    message.header.frame_id = frame
    if pose is not None:
        message.pose = to_pose(pose)
    return message


def cup(x=0.0, y=-2.0, z=0.0, **fields):
    """Return a ball of radius 0.1."""
    return thing(pose=arm.at(x, y, z), primitives=[sphere()], **fields)


def attached_object(operation=CollisionObject.ADD, link="hand", touch_links=(), **fields):
    return AttachedCollisionObject(
        link_name=link, touch_links=list(touch_links), object=thing(operation=operation, **fields)
    )


def ovoid(name="egg", pose=None, frame="", **fields):
    """Return a superovoid that is a ball of radius 0.1."""
    fields = {"size": [0.1, 0.1, 0.1], "epsilon": [1.0, 1.0], **fields}
    message = SuperovoidObject(id=name, pose=to_pose(arm.at(0.0, 2.0, 0.0) if pose is None else pose), **fields)
    message.header.frame_id = frame
    return message


def scene_diff(*objects, attached=(), **fields):
    """Return a difference with objects of the world, and attached ones."""
    message = PlanningScene(is_diff=True, **fields)
    message.robot_state.is_diff = True
    message.world.collision_objects = list(objects)
    message.robot_state.attached_collision_objects = list(attached)
    return message


def cube_mesh(halvings=0):
    """Return a cube with edges of 0.2; each halving of all edges makes four triangles of one."""
    hull = trimesh.creation.box(extents=(0.2, 0.2, 0.2))
    for _ in range(halvings):
        hull = hull.subdivide()
    return Mesh(
        vertices=[Point(x=x, y=y, z=z) for x, y, z in hull.vertices],
        triangles=[MeshTriangle(vertex_indices=[int(i) for i in face]) for face in hull.faces],
    )


def matrix(names, *allowed, defaults=()):
    rows = [AllowedCollisionEntry(enabled=[{a, b} in allowed for b in names]) for a in names]
    return AllowedCollisionMatrix(
        entry_names=names,
        entry_values=rows,
        default_entry_names=list(defaults),
        default_entry_values=[True] * len(defaults),
    )


def octomap(cells, pose=None, frame="ground", resolution=0.1, binary=True, **fields):
    """Return an octomap of occupied cells, from the integer coordinates of their lowest corners."""
    keys = {tuple(HALF + i for i in cell): True for cell in cells}
    message = OctomapWithPose(origin=to_pose(np.eye(4) if pose is None else pose))
    message.header.frame_id = frame
    message.octomap = Octomap(id="OcTree", resolution=resolution, binary=binary, **fields)
    message.octomap.data.frombytes((binary_stream if binary else full_stream)(keys) if keys else b"")
    return message


def with_octomap(message, *, is_diff=True, **fields):
    scene = scene_diff(**fields)
    scene.is_diff, scene.world.octomap = is_diff, message
    return scene


WALL = [(x, y, z) for x in range(-3, 3) for y in (-2, -1) for z in range(-3, 3)]  # 0.6 m wide, its face at y = 0
MAP = "<octomap>"
