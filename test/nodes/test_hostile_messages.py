# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Hostile messages, requests and parameters: the node refuses them with a short message and continues."""

import random
import struct
import time
from importlib import import_module

import pytest
from geometry_msgs.msg import TransformStamped
from moveit_msgs.msg import CollisionObject, PlanningScene
from moveit_msgs.srv import ApplyPlanningScene
from rcl_interfaces.msg import Parameter
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from superovoid_interfaces.srv import GetMinDistance
from tf2_msgs.msg import TFMessage

from superovoid_ros.nodes.common.conversions import to_transform
from superovoid_ros.nodes.common.endpoints import read
from superovoid_ros.nodes.common.mistakes import LOG_PERIOD, UnreadableError
from superovoid_ros.nodes.common.throttle import MOST

import arm
from node_processes import LATCHED
from world import RELIABLE, cup

NAME = "/distance_service"
# What cannot be read of the world is refused elsewhere; here the witness asks for what is there.
PARAMETERS = {"diagnostics.period": 0.0, "incomplete_world": "warn"}
AHEAD = arm.at(2.0, 0.0, 0.0)


def answer(client, **request):
    """Ask how far hand and ball are apart in a state given as a whole."""
    ball = to_transform("ground", "ball", AHEAD, GetMinDistance.Response().distances.header.stamp)
    asked = {"links_a": ["hand"], "links_b": ["ball"], "joint_names": arm.JOINTS, "joint_positions": [0.0, 0.0]}
    return client.nearest(**asked | {"base_poses": [ball]} | request)


def is_right(client):
    response = answer(client)
    assert response.success, response.message
    assert response.distances.pairs[0].distance == pytest.approx(1.35, abs=1e-12)
    return True


def mutate(data, rng):
    """Return serialised data after one of six kinds of damage."""
    data, how = bytearray(data), rng.randrange(6)
    if how == 0:
        return bytes(data[: rng.randrange(len(data) + 1)])
    if how == 1:
        for _ in range(rng.randrange(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif how == 2:
        data += rng.randbytes(rng.randrange(64))
    elif how == 3:
        place = 4 * rng.randrange(1, len(data) // 4)
        data[place : place + 4] = struct.pack("<I", rng.choice([2**32 - 1, 2**31 - 1, 2**20, 1000, 5, 2**30]))
    else:
        data[4 * (how - 4) :] = rng.randbytes(rng.randrange(300))
    return bytes(data)


def test_damaged_bytes_on_every_topic_leave_the_answers_right(ahead, service):
    rng = random.Random(5)
    good = {
        "/tf": TFMessage(transforms=[TransformStamped(child_frame_id="ball")]),
        "/tf_static": TFMessage(transforms=[TransformStamped(child_frame_id="ball")]),
        "joint_states": JointState(name=arm.JOINTS, position=[0.1, 0.2]),
        "collision_object": cup(),
        "planning_scene": PlanningScene(is_diff=True),
    }
    publishers = {topic: ahead.publisher(type(message), topic, LATCHED) for topic, message in good.items()}
    for number in range(60):
        for topic, message in good.items():
            publishers[topic].publish(mutate(serialize_message(message), rng))
        if number % 10 == 9:
            ahead.reset()
            assert is_right(ahead)
    arm.set_state(ahead, NAME, [0.0, 0.0], AHEAD)  # what comes next is taken as ever


@pytest.mark.parametrize("data", [b"", b"\x00\x01\x00", b"\x00\x01\x00\x03", b"\x00\x01\x00\x01", b"\x01\x00\x00\x00"])
def test_malformed_bytes_are_refused_before_a_read_beyond_them(data):
    for kind in (String, TFMessage, JointState):
        with pytest.raises(UnreadableError, match=f"{len(data)} bytes that are not a .*/{kind.__name__}"):
            read(data, kind)


def test_long_names_are_answered_and_logged_in_a_few_words(ahead, service):
    before, began = len(service.output()), time.monotonic()
    name = "x" * 100_000 + "\n[FATAL] \x1b[31m"
    for i in range(40):
        response = answer(ahead, links_a=[f"{name}{i}"])
        assert not response.success and len(response.message) < 1200 and response.message.isprintable()
        assert response.message.startswith("'xxx") and "ball" in response.message
        message = cup(name=f"{name}{i}", frame="nowhere")
        ahead.publisher(CollisionObject, "collision_object", RELIABLE).publish(message)
        ahead.send_joints([f"{name}{i}"], [0.0])
        scene = PlanningScene(is_diff=True)
        scene.world.collision_objects = [message]
        assert not ahead.call(ApplyPlanningScene, "/apply_planning_scene", scene=scene).success
        ahead.send_transform("ground", f"{name}{i}", AHEAD)
    assert is_right(ahead)
    assert ahead.wait(lambda: "joint states: a name has 1000" in service.output())
    assert "\n[FATAL]" not in service.output()[before:]
    written = len(service.output()) - before
    periods = 2.0 + (time.monotonic() - began) / LOG_PERIOD
    assert written < 5 * periods * (MOST + 1200)  # five kinds; 20 MB were sent


@pytest.mark.parametrize(("sec", "nanosec"), [(2**31 - 1, 2**32 - 1), (-5, 0)])
def test_an_invalid_stamp_is_refused(ahead, service, sec, nanosec):
    message = JointState(name=arm.JOINTS, position=[9.0, 9.0])
    message.header.stamp.sec, message.header.stamp.nanosec = sec, nanosec
    publisher = ahead.publisher(JointState, "joint_states", LATCHED)

    def is_told():
        publisher.publish(message)  # again and again: of lines like this one, few come at a time
        return f"stamp {sec} s {nanosec} ns: must be" in service.output()

    assert ahead.wait(is_told)
    near = answer(ahead, joint_names=[], joint_positions=[])
    assert near.success and near.distances.pairs[0].distance == pytest.approx(1.35, abs=1e-12)


NUMBERS = (0.0, 1.0, -1.0, 0.5, 1e-9, 5e-324, 1e30, 1e308, float("nan"), float("inf"), -float("inf"))
WORDS = (
    "",
    "ground",
    "hand",
    "ball",
    "slide",
    "cup",
    "rate",
    "max_distance",
    "<octomap>",
    "..",
    "/",
    "\x1b[31m",
    "é" * 300,
)
LENGTHS = (0, 1, 1, 2, 3, 16, 300)


def kind_of(name):
    package, folder, kind = name.split("/")
    if kind.endswith("_Goal"):
        folder = "action"
    found = getattr(import_module(f"{package}.{folder}"), kind.partition("_")[0] if folder == "action" else kind)
    parts = {"_Goal": "Goal", "_SendGoal": "Impl.SendGoalService", "_GetResult": "Impl.GetResultService"}
    for part in parts[kind[kind.index("_") :]].split(".") if folder == "action" else ():
        found = getattr(found, part)
    return found


def drawn_message(kind, rng, depth=0):
    """Return a message whose fields are drawn: names that exist, numbers of all kinds, lists of many lengths."""
    message = kind()
    for name, type_name in kind.get_fields_and_field_types().items():
        if rng.random() < 0.7:
            setattr(message, name, drawn_field(type_name, rng, depth))
    return message


def drawn_field(type_name, rng, depth):
    if type_name.startswith("sequence<"):
        item, _, bound = type_name[len("sequence<") : -1].partition(", ")
        length = rng.choice(LENGTHS if depth < 2 else LENGTHS[:5])
        return [drawn_field(item, rng, depth + 1) for _ in range(min(length, int(bound or length)))]
    if type_name.endswith("]"):
        item, _, length = type_name[:-1].partition("[")
        return [drawn_field(item, rng, depth + 1) for _ in range(int(length))]
    if "/" in type_name:
        return drawn_message(kind_of(type_name.replace("/", "/msg/")), rng, depth + 1)
    if type_name in ("double", "float"):
        return rng.choice(NUMBERS if type_name == "double" else [x for x in NUMBERS if not 3e38 < abs(x) < 1e309])
    if type_name.startswith("string"):
        return rng.choice(WORDS)
    if type_name == "boolean":
        return rng.random() < 0.5
    if type_name in ("octet", "byte"):
        return rng.randbytes(1)
    bits = int(type_name.strip("uint")) if "int" in type_name else 8
    low = -(2 ** (bits - 1)) if type_name.startswith("int") else 0
    return min(low + 2**bits - 1, max(low, rng.choice((0, 1, 2, 3, 255, 1000, low, 2**bits))))


# The last test of this file: transforms that form a loop stay known, and questions without poses are then refused.
@pytest.mark.ci
@pytest.mark.parametrize("rounds", [1, pytest.param(100, marks=pytest.mark.slow)])
def test_messages_and_requests_with_any_fields_leave_the_answers_right(client, service, rounds):
    rng = random.Random(rounds)
    of_node = "distance_service", "/"
    assert client.wait(
        lambda: "/plan_kinematic_path" in dict(client.node.get_service_names_and_types_by_node(*of_node))
    )
    # A text on the topics of descriptions is another robot; services of the life cycle end the answers.
    topics = [
        (name, kind_of(kinds[0]))
        for name, kinds in client.node.get_subscriber_names_and_types_by_node(*of_node)
        if name not in ("/clock", "/parameter_events") and "robot_description" not in name
    ]
    services = [
        (name, kind_of(kinds[0]))
        for name, kinds in client.node.get_service_names_and_types_by_node(*of_node)
        if not kinds[0].startswith("lifecycle_msgs/")
    ]
    assert len(topics) >= 7
    assert len(services) >= 17
    names = sorted(client.call(ListParameters, f"{NAME}/list_parameters").result.names)
    values = client.call(GetParameters, f"{NAME}/get_parameters", names=names).values
    begun = [Parameter(name=name, value=value) for name, value in zip(names, values, strict=True)]

    def is_put_right():  # what was sent on topics may still be on its way
        client.call(SetParameters, f"{NAME}/set_parameters", parameters=begun)
        client.reset()
        return answer(client).success

    for _ in range(rounds):
        for topic, kind in topics:
            client.publisher(kind, topic, LATCHED).publish(drawn_message(kind, rng))
        for name, kind in services:
            response = client.ask(client.client(kind, name), drawn_message(kind.Request, rng))
            assert not getattr(response, "message", "").startswith("INTERNAL"), (name, response)
        if answer(client).success:
            is_right(client)
        else:
            assert client.wait(is_put_right)
            is_right(client)
    assert client.wait(is_put_right)
    assert "Traceback" not in service.output()
