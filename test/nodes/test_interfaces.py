# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The messages and services as Python and as the network see them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from moveit_msgs.msg import (
    CollisionObject,
    ContactInformation,
    MoveItErrorCodes,
    OrientationConstraint,
    PlanningSceneComponents,
    VisibilityConstraint,
)
from moveit_msgs.srv import GetPositionFK
from superovoid_interfaces.msg import ErrorCode, PairDistance

from superovoid.contact import Status
from superovoid_ros.nodes.common.mistakes import Code

# Hashes of the real packages, from the type descriptions of a MoveIt 2 installation published on GitHub: two nodes talk
# to each other only where these are equal. Names of fields, their types, defaults and order go into a hash, and those
# of the types of its fields: these are the types that no other one contains.
# No hash of the others (GetPositionFK, GetCartesianPath, ...) was published: they are made of published types, with the
# fields of the packages' own files.
PUBLISHED = {
    "moveit_msgs/action/ExecuteTrajectory": "e1ed3386f275fc8cea91cc78701074f892e78e583be2f8063eea5616dd1065fc",
    "moveit_msgs/action/MoveGroup_Result": "188b11f0cf9d62360f554ae9a3f55cb9162767be782a7e05ee6a66371f262ebe",
    "moveit_msgs/msg/AttachedCollisionObject": "7fdfe7951a33a857f20fc42c9ed410a38d06dd0c209ac774ecea746dc487dc41",
    "moveit_msgs/msg/PlanningOptions": "2570a8ed681162d1d3afbce3a8e7ff2b6fd519676d13cf952e0a388072b255db",
    "moveit_msgs/srv/ApplyPlanningScene": "8e6134783db0987c0acedbfd2f16f608a8f7a54e83a7bbb372e851af419f4d72",
    "moveit_msgs/srv/GetMotionPlan_Request": "607f444bd22f6ed971c85c76a1fdd44cc556d6bcc0f1d501449bb01aef7df60a",
    "moveit_msgs/srv/GetMotionPlan_Response": "b5980d78fafab3a2c20a85d2cb306e1f9fe06ef3d49fa7a47803f229fb89f5a2",
    "moveit_msgs/srv/GetPlanningScene": "7ed7e96238b902174d985b0eb739ea08c95377e8e46a6a9014c22497faf79cd2",
    "moveit_msgs/srv/GetPositionIK_Request": "2fc6ac96ee9a8523466c443f06e7c76c47bd3e6b8698edc517ea82cf0b56e747",
    "moveit_msgs/srv/GetPositionIK_Response": "e80acd352080518d3498cc09f4dd84e0303e31128237de11d4019c8a5937b19f",
    "moveit_msgs/srv/GetStateValidity": "e9fcd24ae0fd8c2f16d4afe397efaf03427d1f899fe91ecf6cb7f7f1c6ca8720",
    "tf2_msgs/msg/TFMessage": "e369d0f0",  # the whole hash was not published
}
ERROR_CODES = """
SUCCESS=1 UNDEFINED=0 FAILURE=99999 PLANNING_FAILED=-1 INVALID_MOTION_PLAN=-2
MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE=-3 CONTROL_FAILED=-4 UNABLE_TO_AQUIRE_SENSOR_DATA=-5
TIMED_OUT=-6 PREEMPTED=-7 START_STATE_IN_COLLISION=-10 START_STATE_VIOLATES_PATH_CONSTRAINTS=-11
START_STATE_INVALID=-26 GOAL_IN_COLLISION=-12 GOAL_VIOLATES_PATH_CONSTRAINTS=-13
GOAL_CONSTRAINTS_VIOLATED=-14 GOAL_STATE_INVALID=-27 UNRECOGNIZED_GOAL_TYPE=-28
INVALID_GROUP_NAME=-15 INVALID_GOAL_CONSTRAINTS=-16 INVALID_ROBOT_STATE=-17 INVALID_LINK_NAME=-18
INVALID_OBJECT_NAME=-19 FRAME_TRANSFORM_FAILURE=-21 COLLISION_CHECKING_UNAVAILABLE=-22
ROBOT_STATE_STALE=-23 SENSOR_INFO_STALE=-24 COMMUNICATION_FAILURE=-25 CRASH=-29 ABORT=-30
NO_IK_SOLUTION=-31
"""
COMPONENTS = """
SCENE_SETTINGS ROBOT_STATE ROBOT_STATE_ATTACHED_OBJECTS WORLD_OBJECT_NAMES WORLD_OBJECT_GEOMETRY
OCTOMAP TRANSFORMS ALLOWED_COLLISION_MATRIX LINK_PADDING_AND_SCALING OBJECT_COLORS
"""
# Constants are no part of a hash.
CONSTANTS = {
    CollisionObject: {"ADD": b"\0", "REMOVE": b"\1", "APPEND": b"\2", "MOVE": b"\3"},
    ContactInformation: {"ROBOT_LINK": 0, "WORLD_OBJECT": 1, "ROBOT_ATTACHED": 2},
    MoveItErrorCodes: {name: int(value) for name, value in (one.split("=") for one in ERROR_CODES.split())},
    OrientationConstraint: {"XYZ_EULER_ANGLES": 0, "ROTATION_VECTOR": 1},
    VisibilityConstraint: {"SENSOR_Z": 0, "SENSOR_Y": 1, "SENSOR_X": 2},
    PlanningSceneComponents: {name: 2**bit for bit, name in enumerate(COMPONENTS.split())},
}


def test_status_constants_are_the_librarys():
    for flag in Status.__members__.values():
        assert getattr(PairDistance, flag.name) == flag


def test_codes_of_the_library_are_those_of_the_message():
    assert {code.name: int(code) for code in Code} == {
        name: getattr(ErrorCode, name) for name in dir(ErrorCode) if name.isupper() and name != "SLOT_TYPES"
    }


@pytest.mark.parametrize("name", PUBLISHED)
def test_foreign_interface_is_the_public_one(name):
    """With the same hash a node built on these interfaces talks to any other ROS 2 node."""
    prefixes = [*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]
    file_name = re.sub("_(Request|Response|Result)$", "", name)  # one file has all sides of a service or an action
    files = [Path(prefix) / "share" / f"{file_name}.json" for prefix in prefixes]
    description = next((file for file in files if file.is_file()), None)
    if description is None:
        pytest.skip(f"no type description of {name} among {files}")
    entries = json.loads(description.read_text(encoding="utf-8"))["type_hashes"]
    hashes = {entry["type_name"]: entry["hash_string"] for entry in entries}
    assert hashes[name].startswith(f"RIHS01_{PUBLISHED[name]}")


@pytest.mark.parametrize("message", CONSTANTS, ids=lambda message: message.__name__)
def test_foreign_constants_are_the_public_ones(message):
    assert {name: getattr(message, name) for name in CONSTANTS[message]} == CONSTANTS[message]


def test_forward_kinematics_are_requested_with_the_public_fields():
    """Order and types decide what is on the wire."""
    request, response = (part.get_fields_and_field_types() for part in (GetPositionFK.Request, GetPositionFK.Response))
    assert list(request.items()) == [
        ("header", "std_msgs/Header"),
        ("fk_link_names", "sequence<string>"),
        ("robot_state", "moveit_msgs/RobotState"),
    ]
    assert list(response.items()) == [
        ("pose_stamped", "sequence<geometry_msgs/PoseStamped>"),
        ("fk_link_names", "sequence<string>"),
        ("error_code", "moveit_msgs/MoveItErrorCodes"),
    ]


def test_the_middleware_misses_no_type_support(loopback_domain):
    program = (
        "import rclpy\nfrom moveit_msgs.srv import GetPlanningScene\n"
        "from superovoid_interfaces.srv import GetDistances\n"
        "rclpy.init(); node = rclpy.create_node('typed')\n"
        "for kind in (GetPlanningScene, GetDistances): node.create_service(kind, kind.__name__, lambda *_: None)\n"
        "rclpy.shutdown()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
