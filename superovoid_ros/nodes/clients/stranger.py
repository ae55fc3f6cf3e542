# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A stranger to the distance service: sends it what nobody meant, and asks whether it still answers right.

Messages and requests are made by their fields; or bytes are sent as a message. Between them the stranger asks, as a
witness, for a distance that is known, in a state given as a whole.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from importlib import import_module

import numpy as np
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, PlanningSceneWorld
from moveit_msgs.srv import (
    ApplyPlanningScene,
    GetMotionPlan,
    GetPlanningScene,
    GetPositionFK,
    GetPositionIK,
    GetStateValidity,
)
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from superovoid_interfaces.msg import SuperovoidObject
from superovoid_interfaces.srv import (
    ApplyObjects,
    GetDistances,
    GetMinDistance,
    GetPairRules,
    GetPenetration,
    SetPairRules,
)
from tf2_msgs.msg import TFMessage
from type_description_interfaces.srv import GetTypeDescription

from superovoid_ros.nodes.common.caller import Caller
from superovoid_ros.nodes.common.conversions import to_transform

NAME = "/distance_service"
TOPICS = {
    "/joint_states": JointState,
    "/tf": TFMessage,
    "/tf_static": TFMessage,
    "/robot_description": String,
    "/robot_description_semantic": String,
    "/collision_object": CollisionObject,
    "/attached_collision_object": AttachedCollisionObject,
    "/planning_scene": PlanningScene,
    "/planning_scene_world": PlanningSceneWorld,
}
SERVICES = {
    f"{NAME}/get_min_distance": GetMinDistance,
    f"{NAME}/get_penetration": GetPenetration,
    f"{NAME}/get_distances": GetDistances,
    f"{NAME}/apply_objects": ApplyObjects,
    f"{NAME}/get_pair_rules": GetPairRules,
    f"{NAME}/set_pair_rules": SetPairRules,
    "/check_state_validity": GetStateValidity,
    "/apply_planning_scene": ApplyPlanningScene,
    "/get_planning_scene": GetPlanningScene,
    "/compute_fk": GetPositionFK,
    "/compute_ik": GetPositionIK,
    "/plan_kinematic_path": GetMotionPlan,
    f"{NAME}/get_parameters": GetParameters,
    f"{NAME}/get_parameter_types": GetParameterTypes,
    f"{NAME}/describe_parameters": DescribeParameters,
    f"{NAME}/list_parameters": ListParameters,
    f"{NAME}/get_type_description": GetTypeDescription,
}
URDF = """<robot name="tried">
  <link name="ground"><contact_geometry><sphere radius="0.1"/></contact_geometry></link>
  <joint name="slide" type="prismatic"><parent link="ground"/><child link="hand"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="2" effort="1" velocity="1"/></joint>
  <link name="hand"><contact_geometry><origin xyz="0.5 0 0"/><sphere radius="0.05"/></contact_geometry></link>
  <joint name="free" type="floating"><parent link="ground"/><child link="ball"/></joint>
  <link name="ball"><contact_geometry><sphere radius="0.1"/></contact_geometry></link>
</robot>
"""
TRUTH = 1.35
"""m, from hand to ball with the joint at 0 and the ball 2 m ahead"""
NAMES = ("ground", "hand", "ball", "slide", "free", "cup", "OcTree", "<octomap>", "robot_description", "rate", "")
STRANGE = ("x" * 5000, "a\n[ERROR]", "\x1b[31m", "..", "/", "~", "\u202e", "é" * 300, "%s%n", "a b")
NUMBERS = (0.0, 1.0, -1.0, 0.5, float("nan"), float("inf"), -float("inf"), 1e308, 5e-324, 1e-9, 1e30)
LENGTHS = (0, 1, 1, 1, 2, 3, 4, 16, 300)


class WrongAnswerError(AssertionError):
    """The node did not do what it must."""


def sample(topic: int, seed: int) -> bytes:
    """Return the bytes of a message of a topic, by its number in `TOPICS`."""
    return bytes(serialize_message(made(list(TOPICS.values())[topic], random.Random(seed))))


class Stranger:
    """Asks a node that has `URDF`.

    Parameters
    ----------
    look
        Called while something is waited for; raises where that is of no use any more.
    printed
        Returns what the node printed, for errors.
    patience
        s, in which each answer must come.
    """

    def __init__(self, look: Callable[[], None], printed: Callable[[], str], patience: float) -> None:
        self._printed, self._patience = printed, patience
        self.caller = Caller("stranger", look=look, global_arguments=False)
        try:
            self._begin()
        except BaseException:
            self.caller.close()
            raise

    def _begin(self) -> None:
        """Wait for the node, and learn how it begins."""
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._publishers = [self.caller.node.create_publisher(kind, topic, latched) for topic, kind in TOPICS.items()]
        ball = np.eye(4)
        ball[0, 3] = 2.0
        stamp = self.caller.node.get_clock().now().to_msg()
        self._question = GetMinDistance.Request(
            links_a=["hand"], links_b=["ball"], joint_names=["slide"], joint_positions=[0.0],
            base_poses=[to_transform("", "ball", ball, stamp)],
        )  # fmt: skip
        while self.call(GetMinDistance, f"{NAME}/get_min_distance", self._question).message.startswith("/"):
            self.caller.turn(0.1)  # inactive, for a moment
        self._wait(lambda: all(one.get_subscription_count() for one in self._publishers), "nobody listens")
        self._names = sorted(
            self.call(ListParameters, f"{NAME}/list_parameters", ListParameters.Request()).result.names
        )
        values = self.call(GetParameters, f"{NAME}/get_parameters", GetParameters.Request(names=self._names)).values
        self._begun = [Parameter(name=name, value=value) for name, value in zip(self._names, values, strict=True)]
        self.right = self.refused = 0

    def close(self) -> None:
        """Leave the network."""
        self.caller.close()

    def call(self, kind: type, service: str, request: object) -> object:
        """Call a service; `WrongAnswerError` where there is no answer."""
        client = self.caller.client(kind, service)
        self._wait(client.service_is_ready, f"no service {service}")
        future = client.call_async(request)
        self._wait(future.done, f"no answer from {service}")
        return future.result()

    def _wait(self, condition: Callable[[], bool], problem: str) -> None:
        if not self.caller.wait(condition, self._patience):
            raise WrongAnswerError(
                f"{problem} after {self._patience:g} s; the node printed:\n{self._printed()[-2000:]}"
            )

    # --- the witness ---

    def ask(self) -> None:
        """Ask the witness's question, and once more in order where it is refused."""
        if not self._refusal():
            self.right += 1
            return
        self.refused += 1
        self._put_in_order()
        until = time.monotonic() + self._patience
        while words := self._refusal():  # topics are not heard in the order of the calls
            if time.monotonic() > until:
                raise WrongAnswerError(f"the witness is refused after the node was put in order: {words}")
            self.caller.turn(0.05)

    def _refusal(self) -> str:
        """Ask how far hand and ball are apart; return why there is no answer, and raise for a wrong one."""
        response = self.call(GetMinDistance, f"{NAME}/get_min_distance", self._question)
        if not response.success:
            if response.message.startswith("INTERNAL"):
                raise WrongAnswerError(response.message)
            return response.message
        (pair,) = response.distances.pairs
        if not (pair.lower <= TRUTH + 1e-15 and TRUTH - 1e-15 <= pair.upper):
            raise WrongAnswerError(f"the witness is told {pair.lower} to {pair.upper} m, the truth is {TRUTH} m")
        return ""

    def _put_in_order(self) -> None:
        for parameter in self._begun:
            self.call(SetParameters, f"{NAME}/set_parameters", SetParameters.Request(parameters=[parameter]))
        for topic, publisher in zip(TOPICS, self._publishers, strict=True):
            if "robot_description" in topic:
                publisher.publish(String())
        remove = SuperovoidObject(operation=SuperovoidObject.REMOVE)
        self.call(ApplyObjects, f"{NAME}/apply_objects", ApplyObjects.Request(objects=[remove]))
        self.call(SetPairRules, f"{NAME}/set_pair_rules", SetPairRules.Request(clear=True))
        self.call(ApplyPlanningScene, "/apply_planning_scene", ApplyPlanningScene.Request(scene=PlanningScene()))

    # --- what nobody meant ---

    def send_bytes(self, topic: int, data: bytes) -> None:
        """Send bytes as a message of a topic, by its number."""
        self._publishers[topic % len(TOPICS)].publish(data)

    def send(self, rng: random.Random) -> None:
        """Send a message on some topic."""
        index = rng.randrange(len(TOPICS))
        self._publishers[index].publish(made(list(TOPICS.values())[index], rng))

    def request(self, rng: random.Random) -> None:
        """Call some service; it must answer."""
        service, kind = rng.choice(list(SERVICES.items()))
        response = self.call(kind, service, made(kind.Request, rng))
        if getattr(response, "message", "").startswith("INTERNAL"):
            raise WrongAnswerError(f"{service}: {response.message}")

    def set_parameters(self, rng: random.Random) -> None:
        """Set some parameters, one by one or together; it must answer."""
        chosen = []
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            value: ParameterValue = made(ParameterValue, rng)
            value.type = rng.choice(
                (*range(10), ParameterType.PARAMETER_DOUBLE, ParameterType.PARAMETER_DOUBLE, 10, 255)
            )
            value.double_value = rng.choice((value.double_value, rng.uniform(0.0, 100.0)))
            name = rng.choice((*self._names, *self._names, *NAMES, *STRANGE))
            chosen.append(Parameter(name=name, value=value))
        kind, service = rng.choice(
            [(SetParameters, "set_parameters"), (SetParametersAtomically, "set_parameters_atomically")]
        )
        response = self.call(kind, f"{NAME}/{service}", kind.Request(parameters=chosen))
        results = response.results if kind is SetParameters else [response.result]
        if any(result.reason.startswith("INTERNAL") for result in results):
            raise WrongAnswerError(f"{[(one.name, one.value) for one in chosen]}: {results}")


# --- messages by their fields ---


def made(kind: type, rng: random.Random, depth: int = 0) -> object:
    """Return a message whose fields are drawn: names that exist, numbers of all kinds, lists of many lengths."""
    message = kind()
    for name, type_name in kind.get_fields_and_field_types().items():
        if rng.random() < 0.3:
            continue  # as it is
        setattr(message, name, _value(type_name, rng, depth))
    return message


def _value(type_name: str, rng: random.Random, depth: int) -> object:
    if type_name.startswith("sequence<"):
        item, _, bound = type_name[len("sequence<") : -1].partition(", ")
        length = rng.choice(LENGTHS if depth < 2 else LENGTHS[:6])
        # rmw does not send what is beyond the bound, and says nothing to who called.
        return [_value(item, rng, depth + 1) for _ in range(min(length, int(bound)) if bound else length)]
    if type_name.endswith("]"):
        item, _, length = type_name[:-1].partition("[")
        return [_value(item, rng, depth + 1) for _ in range(int(length))]
    if type_name in ("double", "float"):
        number = rng.choice(NUMBERS)
        return number if type_name == "double" or not 3e38 < abs(number) < float("inf") else 1.0
    if type_name.startswith(("string", "wstring")):
        return rng.choice(STRANGE) if rng.random() < 0.1 else rng.choice(NAMES)
    if type_name == "boolean":
        return rng.random() < 0.5
    if type_name in ("octet", "byte"):
        return bytes([rng.choice((0, 1, 2, 3, 255))])
    if "/" not in type_name:
        bits = int(type_name.strip("uint")) if "int" in type_name else 8
        low = -(2 ** (bits - 1)) if type_name.startswith("int") else 0
        high = low + 2**bits - 1
        return min(high, max(low, rng.choice((0, 0, 1, 1, 2, 3, 5, 255, 1000, low, high))))
    package, name = type_name.split("/")
    return made(getattr(import_module(f"{package}.msg"), name), rng, depth + 1)
