# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The service `get_distances` of a node in a process of its own: many states in one call, as flat arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped
from superovoid_interfaces.srv import GetDistances, GetMinDistance

from superovoid.contact import Status
from superovoid.robot import Robot
from superovoid.states import state_distances
from superovoid_ros.motions.grasp_sweep import GraspSweep
from superovoid_ros.nodes.common.conversions import to_quaternion
from superovoid_ros.resources import share_directory

import arm

GET_DISTANCES = "/distance_service/get_distances"
MIN_DISTANCE = "/distance_service/get_min_distance"
SHARE = share_directory()
URDF = (SHARE / "urdf/icub_hands.urdf").read_text(encoding="utf-8")
SRDF = (SHARE / "config/icub_hands.srdf").read_text(encoding="utf-8")
ARM = Robot.from_urdf(arm.URDF, srdf=arm.SRDF)
HANDS = Robot.from_urdf(URDF, srdf=SRDF)
AT_ORIGIN = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]


@pytest.fixture(scope="module")
def service(start_node):
    """The service with the arm."""
    node = start_node("distance_service", **arm.DESCRIPTIONS, rate=0.0)
    node.wait_for_output("robot 'arm'")
    return node


@pytest.fixture(scope="module")
def hands(start_node):
    """Another with both hands of the iCub."""
    node = start_node(
        "distance_service", "hands_service", robot_description=URDF, robot_description_semantic=SRDF, rate=0.0
    )
    node.wait_for_output("robot 'icub_hands'")
    return node


def ask(client, service=GET_DISTANCES, **request):
    """Call the service; joint positions and base poses may be arrays."""
    for name in ("joint_positions", "base_poses"):
        if name in request:
            request[name] = np.ravel(request[name]).tolist()
    return client.call(GetDistances, service, timeout=60.0, **request)


def numbers(pose):
    """Return a pose as seven numbers."""
    q = to_quaternion(pose[:3, :3])
    return [*pose[:3, 3], q.x, q.y, q.z, q.w]


def random_hands(count, seed=0):
    """Random positions of fingers, palms as in frames of the sweep."""
    rng = np.random.default_rng(seed)
    limits = np.array([HANDS.joint_limits[name] for name in HANDS.joint_names])
    sweep = GraspSweep.from_file(SHARE / "config/grasp_sweep.yaml")
    frames = [sweep.frame(i).base_poses for i in rng.integers(len(sweep), size=count)]
    poses = np.array([[numbers(frame[link]) for link in HANDS.base_links] for frame in frames])
    bases = {link: np.array([frame[link] for frame in frames]) for link in HANDS.base_links}
    return rng.uniform(limits[:, 0], limits[:, 1], (count, len(limits))), poses, bases


def pairs_of(response):
    """Return the names of the bodies of each row."""
    return [(response.bodies[a], response.bodies[b]) for a, b in zip(response.body_a, response.body_b, strict=True)]


# --- answers ---


def test_known_distances_and_slopes_of_several_states(service, client):
    response = ask(
        client,
        joint_names=["wrist", "slide"],
        joint_positions=[[0.0, 0.0], [0.0, 0.25], [math.pi / 2, 0.0]],
        base_links=["ball"],
        base_poses=[2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        links_b=["hand"],
        gradients=True,
        base_gradients=True,
    )
    assert response.success and not response.message
    assert (response.states, list(response.first)) == (3, [0, 1, 2, 3])
    assert pairs_of(response) == [("ball", "hand")] * 3
    assert sorted(zip(response.bodies, response.body_links, strict=True)) == [("ball", "ball"), ("hand", "hand")]
    length = math.hypot(2.0, 0.5)
    assert list(response.distance) == pytest.approx([1.35, 1.1, length - 0.15], abs=1e-12)
    # The sides are as asked for: from the ball to the hand.
    assert np.reshape(response.normal, (-1, 3))[0] == pytest.approx([-1.0, 0.0, 0.0], abs=1e-12)
    assert np.reshape(response.point_a, (-1, 3))[0] == pytest.approx([1.9, 0.0, 0.0], abs=1e-12)
    assert np.reshape(response.point_b, (-1, 3))[0] == pytest.approx([0.55, 0.0, 0.0], abs=1e-12)
    assert (response.gradient_joints, response.gradient_bases) == (["slide", "wrist"], ["ball"])
    gradients = np.reshape(response.gradients, (3, 2))
    assert gradients == pytest.approx(np.array([[-1, 0], [-1, 0], [-2 / length, 1 / length]]), abs=1e-12)
    assert np.reshape(response.base_gradients, (3, 1, 6))[0, 0] == pytest.approx([1, 0, 0, 0, 0, 0], abs=1e-12)
    assert response.header.frame_id == "ground"
    assert not response.uses_joint_states and not response.uses_transforms
    assert response.pairs_considered == 3 and response.solved == 3 and response.unproven == 0


def test_answers_of_the_hands_equal_the_librarys(hands, client):
    positions, poses, bases = random_hands(40)
    response = ask(
        client,
        "/hands_service/get_distances",
        links_a=["left_hand"],
        links_b=["right_hand"],
        max_distance=0.02,
        joint_names=list(HANDS.joint_names),
        joint_positions=positions,
        base_links=list(HANDS.base_links),
        base_poses=poses,
        gradients=True,
        base_gradients=True,
    )
    assert response.success, response.message
    expected = state_distances(
        HANDS,
        HANDS.scene(),
        positions,
        base_poses=bases,
        pairs=HANDS.body_pairs(["left_hand"], ["right_hand"]),
        max_distance=0.02,
        gradients=True,
        base_gradients=True,
    )
    # Through quaternions poses change by rounding, and so may what hangs on it.
    assert list(response.first) == expected.first.tolist()
    assert np.asarray(response.distance) == pytest.approx(expected.distance, abs=1e-10)
    assert (np.asarray(response.lower) <= expected.upper + 1e-12).all()
    assert (np.asarray(response.upper) >= expected.lower - 1e-12).all()
    body_names = [body.name for body in HANDS.bodies]
    assert pairs_of(response) == [
        (body_names[a], body_names[b]) for a, b in zip(expected.body_a, expected.body_b, strict=True)
    ]
    unique = expected.status & (Status.NON_UNIQUE | Status.ARBITRARY_NORMAL) == 0
    assert unique.mean() > 0.9
    for name, columns in (("point_a", 3), ("point_b", 3), ("normal", 3), ("gradients", 16), ("base_gradients", 12)):
        found = np.reshape(getattr(response, name), (-1, columns))
        wanted = getattr(expected, name).reshape(-1, columns)
        assert np.abs(found - wanted)[unique].max() < 1e-5, name
    assert response.solved == expected.statistics.solved.sum() and response.pairs_considered == 40 * 576


def test_limits_hold_for_every_state(service, client):
    base = {"base_links": ["ball"], "base_poses": [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]}
    joints = {"joint_names": ["slide", "wrist"], "joint_positions": [[0.0, 0.0], [0.5, 0.0], [0.0, 0.3]]}
    one = ask(client, max_results=1, **joints, **base)
    assert list(one.first) == [0, 1, 2, 3] and pairs_of(one) == [("hand", "ball")] * 3
    near = ask(client, max_distance=0.9, **joints, **base)
    assert list(near.first) == [0, 0, 1, 1]
    assert list(near.distance) == pytest.approx([0.85], abs=1e-12)


def test_what_is_left_out_is_measured(service, client):
    stamp = client.now()
    client.send_joints(arm.JOINTS, [0.1, 0.0], stamp)
    client.send_transform("ground", "ball", arm.at(2.0, 0.0, 0.0), stamp=stamp)
    live = client.call_until(
        lambda response: response.success and response.header.stamp == stamp, GetDistances, GET_DISTANCES
    )
    assert live.states == 1 and live.uses_joint_states and live.uses_transforms
    single = client.call(GetMinDistance, MIN_DISTANCE)
    assert list(live.distance) == [pair.distance for pair in single.distances.pairs]
    moved = ask(client, joint_names=["slide"], joint_positions=[0.1, 0.35], links_a=["hand"])
    assert list(moved.distance) == pytest.approx([1.25, 1.0], abs=1e-12)
    assert moved.uses_joint_states
    balls = ask(
        client, base_links=["ball"], base_poses=[[1.0, *AT_ORIGIN[1:]], [1.5, *AT_ORIGIN[1:]]], links_a=["hand"]
    )
    assert list(balls.distance) == pytest.approx([0.25, 0.75], abs=1e-12)
    assert not balls.uses_transforms
    # In a frame that TF knows, one pose for all states.
    client.send_transform("ground", "shelf", arm.at(1.0, 0.0, 0.0), static=True)
    shelf = {"base_links": ["ball"], "base_poses": AT_ORIGIN, "base_frame": "shelf", "links_a": ["hand"]}
    response = client.call_until(lambda answer: answer.success, GetDistances, GET_DISTANCES, **shelf)
    assert list(response.distance) == pytest.approx([0.25], abs=1e-12)
    # Requests leave the measured state as it was.
    again = client.call(GetMinDistance, MIN_DISTANCE)
    assert [pair.distance for pair in again.distances.pairs] == [pair.distance for pair in single.distances.pairs]


def test_frames_and_base_links_may_have_the_prefix_of_the_robot(start_node, client):
    start_node(
        "distance_service",
        "second_arm",
        robot_description=arm.URDF,
        robot_description_semantic=arm.SRDF,
        rate=0.0,
        frame_prefix="second/",
    ).wait_for_output("robot 'arm'")
    client.send_transform("second/ground", "second/ball", arm.at(3.0, 0.0, 0.0), static=True)
    joints = {"joint_names": arm.JOINTS, "joint_positions": [0.0, 0.0], "links_a": ["hand"]}
    name = "/second_arm/get_distances"
    given = ask(client, name, base_links=["second/ball"], base_poses=[2.0, *AT_ORIGIN[1:]], **joints)
    assert list(given.distance) == pytest.approx([1.35], abs=1e-12)
    assert given.header.frame_id == "second/ground"
    measured = client.call_until(lambda answer: answer.success, GetDistances, name, **joints)
    assert list(measured.distance) == pytest.approx([2.35], abs=1e-12)


# --- long calls ---


def long_request(count):
    """A request that takes seconds: hands in each other, fingers at random."""
    positions, poses, _ = random_hands(count, seed=1)
    return {
        "max_distance": 0.02,
        "joint_names": list(HANDS.joint_names),
        "joint_positions": positions.ravel().tolist(),
        "base_links": list(HANDS.base_links),
        "base_poses": poses.ravel().tolist(),
    }


def test_a_long_call_starves_nobody(hands, client):
    request = long_request(1000)
    one = {name: request[name][: len(request[name]) // 1000] for name in ("joint_positions", "base_poses")}
    bases = []
    for i, link in enumerate(HANDS.base_links):
        stamped = TransformStamped(child_frame_id=link)
        x = one["base_poses"][7 * i : 7 * i + 7]
        stamped.transform.translation.x, stamped.transform.translation.y, stamped.transform.translation.z = x[:3]
        rotation = stamped.transform.rotation
        rotation.x, rotation.y, rotation.z, rotation.w = x[3:]
        bases.append(stamped)
    short = {
        "joint_names": list(HANDS.joint_names),
        "joint_positions": one["joint_positions"],
        "base_poses": bases,
        "max_distance": 0.001,
    }
    client.call(GetMinDistance, "/hands_service/get_min_distance", **short)
    ask(client, "/hands_service/get_distances", **{**request, **one})  # its client exists now

    future = client._clients["/hands_service/get_distances"].call_async(GetDistances.Request(**request))
    answered = 0
    while not future.done():
        response = client.call(GetMinDistance, "/hands_service/get_min_distance", **short)
        assert response.success, response.message
        answered += not future.done()
        tiny = ask(client, "/hands_service/get_distances", **{**request, **one})
        assert tiny.success and tiny.states == 1
    # One that is answered in the thread of the long call waits for that, or comes before it.
    assert answered >= 2
    whole = future.result()
    assert whole.success and whole.states == 1000 and len(whole.first) == 1001


def test_a_deadline_ends_a_call_and_says_so(hands, client):
    response = ask(client, "/hands_service/get_distances", deadline=0.2, **long_request(2000))
    assert response.success
    assert 1 <= response.states < 2000
    assert f"{response.states} of 2000 states" in response.message and "deadline" in response.message
    assert len(response.first) == response.states + 1
    assert response.first[-1] == len(response.distance) > 0
    assert 0.0 < response.solve_time


def test_the_same_request_gets_the_same_bits(hands, client):
    request = long_request(100)
    first = ask(client, "/hands_service/get_distances", **request)
    ask(client, "/hands_service/get_distances", **long_request(7))
    again = ask(client, "/hands_service/get_distances", **request)
    for name in ("first", "distance", "lower", "upper", "point_a", "normal", "status", "body_a"):
        assert getattr(first, name) == getattr(again, name)


def test_a_node_ends_in_the_middle_of_a_long_call(start_node, client):
    node = start_node(
        "distance_service", "ending_service", robot_description=URDF, robot_description_semantic=SRDF, rate=0.0
    )
    node.wait_for_output("robot 'icub_hands'")
    ask(client, "/ending_service/get_distances", **long_request(1))
    before = node.processor_time()
    answer = client._clients["/ending_service/get_distances"].call_async(GetDistances.Request(**long_request(5000)))
    assert client.wait(lambda: node.processor_time() > before + 0.3)  # the request is read in less
    assert node.interrupt(timeout=60.0) == 0
    client.spin(0.2)
    assert not answer.done()  # it was not waited for
    assert "Traceback" not in node.output()


# --- requests that make no sense ---


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"links_a": ["elbow"]}, ["elbow", "gripper"]),
        ({"links_a": ["hand"], "links_b": ["thumb"]}, ["a joint connects them"]),
        ({"max_distance": -1.0}, ["max_distance", "-1"]),
        ({"deadline": -1.0}, ["deadline", "-1"]),
        ({"deadline": math.nan}, ["deadline", "nan"]),
        ({"joint_names": ["elbow", "wrist"]}, ["unknown joint 'elbow'", "slide"]),
        ({"joint_names": ["follower", "wrist"]}, ["follows joint 'wrist'"]),
        ({"joint_names": ["wrist", "wrist"]}, ["given twice"]),
        ({"joint_names": ["wrist"], "joint_positions": []}, ["1 joint_names, 0 joint_positions"]),
        ({"joint_names": ["slide", "wrist"], "joint_positions": [0.0] * 3}, ["2 joint_names, 3 joint_positions"]),
        ({"joint_positions": [0.0, 0.0, 0.0, math.nan]}, ["joint 'wrist' in state 1 = nan"]),
        ({"base_links": ["hand"]}, ["hand", "no floating joint", "ball"]),
        ({"base_poses": [0.0] * 6}, ["1 base_links, 6 numbers"]),
        ({"base_poses": AT_ORIGIN * 3}, ["joint_positions are 2 states, base_poses 3"]),
        ({"base_poses": [0.0] * 7}, ["base pose of link 'ball' in state 0", "unit length"]),
        ({"base_frame": "nowhere"}, ["nowhere"]),
    ],
)
def test_wrong_requests_are_refused_with_the_reason(service, client, changes, words):
    request = {
        "joint_names": ["slide", "wrist"],
        "joint_positions": [0.0, 0.0, 0.5, 0.0],
        "base_links": ["ball"],
        "base_poses": AT_ORIGIN,
        **changes,
    }
    response = ask(client, **request)
    assert not response.success
    for word in words:
        assert word in response.message
    assert response.states == 0 and not len(response.distance) and not len(response.first)
