# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service as a process: its answers, its topics, its parameters, and what it does with bad input."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, SetParameters
from superovoid_interfaces.msg import DistanceArray
from superovoid_interfaces.srv import GetMinDistance, GetPenetration
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from superovoid.robot import Robot
from superovoid_ros.nodes.common.conversions import to_nanoseconds, to_transform

import arm

MIN_DISTANCE = "/distance_service/get_min_distance"
PENETRATION = "/distance_service/get_penetration"


@pytest.fixture(scope="module")
def service(start_node):
    """The service with the arm, given by parameters."""
    node = start_node(
        "distance_service",
        **arm.DESCRIPTIONS,
        rate=50.0,
        max_distance=0.0,
        near_distance=0.3,
    )
    node.wait_for_output("robot 'arm'")
    return node


@pytest.fixture
def state(service, client):
    """The arm with its joints at 0 and the ball 2 m ahead: 1.35 m from the hand to it."""
    set_state(client, [0.0, 0.0], arm.at(2.0, 0.0, 0.0))
    return client


def set_state(client, positions, ball):
    """Publish a state and wait until the service answers from it."""
    return arm.set_state(client, "/distance_service", positions, ball)


def set_parameter(client, name, value):
    """Set a parameter of the service and return the verdict."""
    kinds = {
        bool: ("bool_value", ParameterType.PARAMETER_BOOL),
        int: ("integer_value", ParameterType.PARAMETER_INTEGER),
        float: ("double_value", ParameterType.PARAMETER_DOUBLE),
        str: ("string_value", ParameterType.PARAMETER_STRING),
        list: ("string_array_value", ParameterType.PARAMETER_STRING_ARRAY),
    }
    field, kind = kinds[type(value)]
    parameter = Parameter(name=name, value=ParameterValue(type=kind, **{field: value}))
    response = client.call(SetParameters, "/distance_service/set_parameters", parameters=[parameter])
    return response.results[0]


def base_pose(pose, child="ball", parent="ground"):
    """Return a base pose for a request."""
    return to_transform(parent, child, pose, GetMinDistance.Response().distances.header.stamp)


def seconds_since(client, stamp):
    """Return how long ago a stamp was."""
    return (to_nanoseconds(client.now()) - to_nanoseconds(stamp)) * 1e-9


def vector(message):
    """Return a point or vector as an array."""
    return np.array([message.x, message.y, message.z])


def library_answer(positions, ball, **query):
    """Return what the library says about the arm."""
    robot = Robot.from_urdf(arm.URDF, srdf=arm.SRDF)
    scene = robot.scene()
    scene.set_link_poses(robot.forward_kinematics(dict(zip(arm.JOINTS, positions, strict=True)), {"ball": ball}))
    return scene, scene.query(**query)


def assert_equals_library(distances, scene, result, tolerance=1e-12):
    """Compare a message with a result of the library, row by row."""
    assert len(distances.pairs) == len(result.distance)
    for row, pair in enumerate(distances.pairs):
        a, b = scene.bodies[result.body_a[row]], scene.bodies[result.body_b[row]]
        assert (pair.body_a, pair.body_b, pair.link_a, pair.link_b) == (a.name, b.name, a.link, b.link)
        numbers = [pair.distance, pair.lower, pair.upper]
        assert numbers == pytest.approx(
            [result.distance[row], result.lower[row], result.upper[row]], rel=0, abs=tolerance
        )
        for message, expected in (
            (pair.point_a, result.point_a), (pair.point_b, result.point_b), (pair.normal, result.normal)
        ):  # fmt: skip
            assert vector(message) == pytest.approx(expected[row], rel=0, abs=tolerance)
        assert pair.status == result.status[row]
    counts = ("past_sphere", "past_obb", "solved", "intersecting")
    assert [getattr(distances, name) for name in counts] == [getattr(result, name) for name in counts]
    assert distances.pairs_considered == result.statistics.pairs


# --- answers ---


def test_minimum_distances_are_the_known_ones_closest_first(state):
    distances = state.call(GetMinDistance, MIN_DISTANCE).distances
    assert [(pair.link_a, pair.link_b) for pair in distances.pairs] == [("hand", "ball"), ("thumb", "ball")]
    assert distances.pairs[1].distance == pytest.approx(math.sqrt(2.5) - 0.12, abs=1e-12)
    assert distances.pairs[0].distance == pytest.approx(1.35, abs=1e-12)
    assert vector(distances.pairs[0].point_a) == pytest.approx([0.55, 0.0, 0.0], abs=1e-12)
    assert vector(distances.pairs[0].point_b) == pytest.approx([1.9, 0.0, 0.0], abs=1e-12)
    assert vector(distances.pairs[0].normal) == pytest.approx([1.0, 0.0, 0.0], abs=1e-12)


def test_answers_equal_the_librarys(service, client):
    ball = arm.at(1.1, 0.1, 0.02)
    set_state(client, [0.5, 0.3], ball)
    distances = client.call(GetMinDistance, MIN_DISTANCE).distances
    assert_equals_library(distances, *library_answer([0.5, 0.3], ball))


def test_answer_tells_frame_stamp_and_age_of_the_state(service, client):
    response = set_state(client, [0.1, 0.0], arm.at(2.0, 0.0, 0.0))
    assert response.distances.header.frame_id == "ground"
    assert response.distances.uses_joint_states and response.distances.uses_transforms
    longest = seconds_since(client, response.distances.header.stamp)
    assert 0.0 <= response.distances.joint_state_age <= longest
    assert 0.0 <= response.distances.base_pose_age <= longest
    assert not response.distances.stale


def test_limits_choose_the_closest_pairs(state):
    within = state.call(GetMinDistance, MIN_DISTANCE, max_distance=1.4)
    assert [pair.link_a for pair in within.distances.pairs] == ["hand"]
    first = state.call(GetMinDistance, MIN_DISTANCE, max_results=1)
    assert [pair.link_a for pair in first.distances.pairs] == ["hand"]
    nothing = state.call(GetMinDistance, MIN_DISTANCE, max_distance=0.1)
    assert nothing.success and not nothing.distances.pairs


def test_links_and_groups_choose_pairs_and_sides(state):
    gripper = state.call(GetMinDistance, MIN_DISTANCE, links_a=["ball"], links_b=["gripper"]).distances
    assert [(pair.link_a, pair.link_b) for pair in gripper.pairs] == [("ball", "hand"), ("ball", "thumb")]
    assert vector(gripper.pairs[0].normal) == pytest.approx([-1.0, 0.0, 0.0], abs=1e-12)
    assert vector(gripper.pairs[0].point_a) == pytest.approx([1.9, 0.0, 0.0], abs=1e-12)
    one = state.call(GetMinDistance, MIN_DISTANCE, links_b=["hand"]).distances
    assert [(pair.link_a, pair.link_b) for pair in one.pairs] == [("ball", "hand")]


def test_penetrations_are_deepest_first(service, client):
    # The ball touches the hand's by 0.03 m and the thumb's, half a metre beside it, not at all.
    set_state(client, [0.0, 0.0], arm.at(0.62, 0.0, 0.0))
    response = client.call(GetPenetration, PENETRATION)
    assert [pair.link_a for pair in response.distances.pairs] == ["hand"]
    assert response.distances.pairs[0].distance == pytest.approx(-0.03, abs=1e-12)
    assert response.distances.intersecting == 1
    apart = client.call(GetPenetration, PENETRATION, base_poses=[base_pose(arm.at(5.0, 0.0, 0.0))])
    assert apart.success and not apart.distances.pairs


def test_hypothetical_state_is_answered_and_leaves_the_measured_one(state):
    ball = arm.at(1.2, 0.4, 0.1)
    response = state.call(
        GetMinDistance,
        MIN_DISTANCE,
        joint_names=["wrist", "slide"],
        joint_positions=[0.4, 0.2],
        base_poses=[base_pose(ball)],
    )
    assert response.success, response.message
    assert not response.distances.uses_joint_states and not response.distances.uses_transforms
    assert_equals_library(response.distances, *library_answer([0.2, 0.4], ball))
    measured = state.call(GetMinDistance, MIN_DISTANCE).distances
    assert measured.pairs[0].distance == pytest.approx(1.35, abs=1e-12)


def test_same_request_gets_the_same_bits_whatever_was_asked_before(state):
    def ask(kind, service, request):
        found = state.call(kind, service, **request).distances
        return [(pair.link_a, pair.link_b, pair.distance, pair.lower, pair.upper, *vector(pair.point_a),
                 *vector(pair.point_b), *vector(pair.normal), pair.iterations) for pair in found.pairs]  # fmt: skip

    rng = np.random.default_rng(4)
    asked = []
    for _ in range(6):
        ball = base_pose(arm.at(*rng.uniform(-1.0, 1.0, 3)))
        request = {
            "joint_names": arm.JOINTS,
            "joint_positions": rng.uniform(0.0, 1.0, 2).tolist(),
            "base_poses": [ball],
        }
        asked += [(GetMinDistance, MIN_DISTANCE, request), (GetPenetration, PENETRATION, request)]
    asked.append((GetMinDistance, MIN_DISTANCE, {}))  # the measured state
    first = [ask(*one) for one in asked]
    assert any(first)
    for i in rng.permutation(np.tile(np.arange(len(asked)), 3)):
        assert ask(*asked[i]) == first[i]


def test_joints_left_out_of_a_hypothetical_state_keep_their_measured_position(state):
    response = state.call(GetMinDistance, MIN_DISTANCE, joint_names=["slide"], joint_positions=[0.25])
    assert response.distances.uses_joint_states
    assert response.distances.pairs[0].distance == pytest.approx(1.1, abs=1e-12)


# --- topics ---


def test_distances_are_published_at_the_set_rate(state):
    messages = state.collect(DistanceArray, "/distance_service/distances")
    assert state.wait(lambda: len(messages) >= 1)
    first, began = len(messages), time.monotonic()
    assert state.wait(lambda: len(messages) >= first + 50)
    assert time.monotonic() - began > 0.5  # 50 Hz; that it is not less often, test_clock.py counts in simulated time
    assert_equals_library(messages[-1], *library_answer([0.0, 0.0], arm.at(2.0, 0.0, 0.0)))


def test_markers_show_bodies_points_segments_normals_and_distances(service, client):
    set_state(client, [0.0, 0.0], arm.at(0.62, 0.0, 0.0))  # overlaps the hand, 0.38 m from the thumb
    shown: dict[tuple[str, int], Marker] = {}

    def draw(message):
        """Do what a display does with the messages."""
        for marker in message.markers:
            if marker.action == Marker.DELETEALL:
                shown.clear()
            elif marker.action == Marker.DELETE:
                shown.pop((marker.ns, marker.id), None)
            else:
                shown[marker.ns, marker.id] = marker

    frames = {}

    def move(message):
        frames.update((one.child_frame_id, (one.header.frame_id, one.transform)) for one in message.transforms)

    client.node.create_subscription(TFMessage, "/tf", move, 100)
    client.node.create_subscription(MarkerArray, "/distance_service/markers", draw, 10)
    assert client.wait(lambda: ("segments", 0) in shown)
    scene, result = library_answer([0.0, 0.0], arm.at(0.62, 0.0, 0.0))
    numbers = {body.name: index for index, body in enumerate(scene.bodies)}

    # They come a few at a time.
    assert client.wait(lambda: sum(ns == "bodies" for ns, _ in shown) == len(scene.bodies))
    ball = shown["bodies", numbers["ball"]]
    corners = np.array([vector(point) for point in ball.points])
    assert ball.type == Marker.TRIANGLE_LIST and len(corners) % 3 == 0
    assert np.linalg.norm(corners, axis=1) == pytest.approx(0.1, abs=1e-9)
    assert ball.frame_locked and ball.header.frame_id == "distance_service/ball"
    assert client.wait(lambda: "distance_service/ball" in frames)
    root, place = frames["distance_service/ball"]
    assert root == "ground"
    assert vector(place.translation) == pytest.approx([0.62, 0.0, 0.0])
    red = lambda marker: marker.color.r > 0.8 and marker.color.g < 0.4  # noqa: E731
    assert red(ball) and red(shown["bodies", numbers["hand"]])
    assert not red(shown["bodies", numbers["thumb"]]) and not red(shown["bodies", numbers["ground"]])

    ends = np.array([vector(point) for point in shown["segments", 0].points])
    assert ends[:2] == pytest.approx(np.array([result.point_a[0], result.point_b[0]]))
    assert np.array([vector(point) for point in shown["points", 0].points]) == pytest.approx(ends)
    lines = np.array([vector(point) for point in shown["normals", 0].points]).reshape(-1, 2, 3)
    assert lines[:2, 0] == pytest.approx(ends[:2])
    outward = lines[:2, 1] - lines[:2, 0]
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    assert outward == pytest.approx(np.array([result.normal[0], -result.normal[0]]))
    assert shown["distances", 0].text == "-30.00 mm"

    # One pair is left to show: what belonged to others goes away, and the bodies are no longer red.
    set_state(client, [0.0, 0.0], arm.at(3.0, 0.0, 0.0))
    assert client.wait(lambda: not red(shown["bodies", numbers["ball"]]))
    assert sum(ns == "distances" for ns, _ in shown) == 1
    assert len(shown["normals", 0].points) == 4


# --- parameters ---


def test_every_parameter_of_the_node_is_described(service, client):
    names = [
        "robot_description", "robot_description_semantic", "representation", "frame", "rate", "max_distance",
        "near_distance", "rtol", "stale_timeout", "pairs", "markers.bodies", "markers.points",
        "markers.segments", "markers.normals", "markers.text", "markers.opacity", "markers.size", "markers.resolution",
        "markers.labels", "meshes", "package_directories", "max_bodies", "max_pairs", "octomap_cubes",
    ]  # fmt: skip
    response = client.call(DescribeParameters, "/distance_service/describe_parameters", names=names)
    assert all(descriptor.description for descriptor in response.descriptors)
    ranged = [d.name for d in response.descriptors if d.floating_point_range or d.integer_range]
    assert {"rate", "max_distance", "near_distance", "rtol", "stale_timeout"} <= set(ranged)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("rate", -1.0, "rate"),
        ("rate", math.nan, "rate"),
        ("max_distance", math.inf, ""),
        ("near_distance", -0.1, ""),
        ("rtol", "small", ""),
        ("representation", "boxes", "mixed, superovoids, superellipsoids"),
        ("markers.resolution", 1, ""),
        ("pairs", ["hand"], "two names"),
        ("pairs", ["hand nothing"], "nothing"),
        ("pairs", ["hand thumb"], "a joint connects them"),
        ("robot_description", "<robot", "well-formed"),
        ("robot_description", "<robot name='x'/>", "link"),
    ],
)
def test_parameter_that_makes_no_sense_is_refused_with_a_reason(state, name, value, words):
    verdict = set_parameter(state, name, value)
    assert not verdict.successful
    assert verdict.reason and words in verdict.reason
    assert state.call(GetMinDistance, MIN_DISTANCE).success


def test_parameter_pairs_limits_what_is_published(state):
    messages = state.collect(DistanceArray, "/distance_service/distances")
    assert state.wait(lambda: messages and len(messages[-1].pairs) == 2)
    assert set_parameter(state, "pairs", ["hand ball"]).successful
    assert state.wait(lambda: len(messages[-1].pairs) == 1)
    assert [(pair.link_a, pair.link_b) for pair in messages[-1].pairs] == [("hand", "ball")]
    assert set_parameter(state, "pairs", [""]).successful
    assert state.wait(lambda: len(messages[-1].pairs) == 2)


def test_answers_come_in_the_frame_set(state):
    state.send_transform("map", "ground", arm.at(0.0, 0.0, 1.0), static=True)
    assert set_parameter(state, "frame", "map").successful
    response = state.call_until(lambda response: response.success, GetMinDistance, MIN_DISTANCE)
    assert response.distances.header.frame_id == "map"
    assert vector(response.distances.pairs[0].point_a) == pytest.approx([0.55, 0.0, 1.0], abs=1e-12)
    assert set_parameter(state, "frame", "nowhere").successful
    response = state.call(GetMinDistance, MIN_DISTANCE)
    assert not response.success and "nowhere" in response.message
    assert set_parameter(state, "frame", "").successful
    assert state.call(GetMinDistance, MIN_DISTANCE).success


# --- requests that make no sense ---


@pytest.mark.parametrize(
    ("request_fields", "words"),
    [
        ({"links_a": ["elbow"]}, ["elbow", "gripper"]),
        ({"links_a": ["slider"]}, ["slider", "no contact geometry", "hand"]),
        ({"links_a": ["ground"], "links_b": ["thumb"]}, ["SRDF", "never meet"]),
        ({"links_a": ["hand"], "links_b": ["thumb"]}, ["a joint connects them"]),
        ({"max_distance": -1.0}, ["max_distance", "-1"]),
        ({"max_distance": math.nan}, ["max_distance", "nan"]),
        ({"joint_names": ["slide"]}, ["1 joint_names", "0 joint_positions"]),
        ({"joint_positions": [1.0]}, ["0 joint_names", "1 joint_positions"]),
        ({"joint_names": ["slide"], "joint_positions": [math.nan]}, ["slide", "nan", "finite"]),
        ({"joint_names": ["elbow"], "joint_positions": [0.0]}, ["elbow", "slide, wrist"]),
        ({"joint_names": ["follower"], "joint_positions": [0.0]}, ["follower", "wrist"]),
        ({"joint_names": ["slide", "slide"], "joint_positions": [0.0, 1.0]}, ["slide", "twice"]),
        ({"base_poses": [base_pose(arm.at(0, 0, 0), child="hand")]}, ["hand", "ball"]),
        ({"base_poses": [base_pose(arm.at(0, 0, 0), parent="nowhere")]}, ["nowhere"]),
        ({"base_poses": [base_pose(arm.at(math.nan, 0, 0))]}, ["ball", "nan", "finite"]),
    ],
)
def test_request_that_makes_no_sense_is_answered_with_the_reason(state, request_fields, words):
    response = state.call(GetMinDistance, MIN_DISTANCE, **request_fields)
    assert not response.success
    assert not response.distances.pairs
    for word in words:
        assert word in response.message
    assert state.call(GetMinDistance, MIN_DISTANCE).success


def test_base_pose_without_a_rotation_is_refused(state):
    empty = TransformStamped(child_frame_id="ball")
    empty.transform.rotation.w = 0.0
    response = state.call(GetMinDistance, MIN_DISTANCE, base_poses=[empty])
    assert not response.success and "unit length" in response.message


# --- measurements that make no sense ---


def test_nan_joint_state_is_answered_as_such_until_a_number_comes(state):
    state.send_joints(arm.JOINTS, [math.nan, 0.0])
    response = state.call_until(lambda response: not response.success, GetMinDistance, MIN_DISTANCE)
    assert "slide" in response.message and "nan" in response.message
    assert set_state(state, [0.0, 0.0], arm.at(2.0, 0.0, 0.0)).success


def test_joint_states_of_wrong_length_and_of_others_are_ignored(service, state):
    state.send_joints(arm.JOINTS, [1.0])
    service.wait_for_output("2 names, 1 positions")
    state.send_joints(["somebody_else"], [1.0])
    state.send_joints(["slide", "wrist"], [])  # velocities only
    state.spin(0.2)
    response = state.call(GetMinDistance, MIN_DISTANCE)
    assert response.success and response.distances.pairs[0].distance == pytest.approx(1.35, abs=1e-12)


def test_transform_without_a_rotation_is_ignored(service, state):
    broken = arm.at(9.0, 0.0, 0.0)
    broken[:3, 3] = math.nan
    state.send_transform("ground", "ball", broken)
    service.wait_for_output("must be finite")
    assert state.call(GetMinDistance, MIN_DISTANCE).distances.pairs[0].distance == pytest.approx(1.35)


def test_state_that_stops_coming_is_reported_as_stale_with_its_age(state):
    state.call_until(lambda response: response.distances.stale, GetMinDistance, MIN_DISTANCE)
    asked = state.now()
    response = state.call(GetMinDistance, MIN_DISTANCE)
    assert response.success
    assert response.distances.stale
    assert "old" in response.message
    stamp, age = response.distances.header.stamp, response.distances.joint_state_age
    assert age > 1.0
    assert (to_nanoseconds(asked) - to_nanoseconds(stamp)) * 1e-9 <= age <= seconds_since(state, stamp)


# --- the end ---


def test_interrupt_ends_the_node_cleanly(service, state):
    assert service.interrupt() == 0
    assert "Traceback" not in service.output()
