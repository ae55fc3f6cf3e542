"""The messages and services as Python and as the network see them."""

import json
import os
import sys
from pathlib import Path

import pytest
from rclpy.serialization import deserialize_message, serialize_message
from superovoid_interfaces.msg import DistanceArray, PairDistance
from superovoid_interfaces.srv import GetMinDistance, GetPenetration, PlayFrame

from superovoid_ros.contact import Status


def test_status_constants_are_the_librarys():
    for flag in Status.__members__.values():
        assert getattr(PairDistance, flag.name) == flag


def test_answer_survives_the_way_over_the_network():
    pair = PairDistance(link_a="a", link_b="b", distance=-0.1, lower=-0.2, upper=-0.05, status=3, iterations=7)
    pair.point_a.x, pair.normal.z = 1.5, -1.0
    message = DistanceArray(pairs=[pair], unproven=1, solve_time=0.25)
    assert deserialize_message(serialize_message(message), DistanceArray) == message


def test_both_questions_choose_pairs_and_state_by_the_same_fields():
    common = GetPenetration.Request.get_fields_and_field_types()
    assert common.items() <= GetMinDistance.Request.get_fields_and_field_types().items()
    assert GetPenetration.Response.get_fields_and_field_types() == GetMinDistance.Response.get_fields_and_field_types()
    assert PlayFrame.Request().frame == 0


def test_tf_message_is_the_public_one():
    """With the same hash a node built on these interfaces talks to any other ROS 2 node."""
    prefixes = [*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]
    files = [Path(prefix) / "share/tf2_msgs/msg/TFMessage.json" for prefix in prefixes]
    description = next((file for file in files if file.is_file()), None)
    if description is None:
        pytest.skip(f"no type description among {files}")
    entries = json.loads(description.read_text(encoding="utf-8"))["type_hashes"]
    hashes = {entry["type_name"]: entry["hash_string"] for entry in entries}
    assert hashes["tf2_msgs/msg/TFMessage"].startswith("RIHS01_e369d0f0")
