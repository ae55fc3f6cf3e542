# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The topics `~/clearance` and `~/min_distance`: numbers of the measured state, and NaN if it is not known."""

import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import panda
import pytest
from lifecycle_msgs.msg import Transition
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import Float64
from superovoid_interfaces.msg import Clearance, ErrorCode

from superovoid import Sphere
from superovoid.robot import Robot
from superovoid.robot.planning_scene import PlanningScene as Planning
from superovoid_ros.nodes.distance_service.answers import topics as topics_module
from superovoid_ros.nodes.distance_service.answers.approach import Approach
from superovoid_ros.nodes.distance_service.world.model import Model

import arm
import lifecycle
from world import thing

NAME = "/distance_service"
PARAMETERS = {"rate": 20.0, "stale_timeout": 1.0}
KINDS = (Clearance, "clearance"), (Float64, "min_distance")
BALL = arm.at(2.4, 0.0, 0.0)
TELESCOPE = """<robot name="telescope"><link name="ground"/>
  <joint name="turn" type="revolute"><parent link="ground"/><child link="tube"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/></joint><link name="tube"/>
  <joint name="slide" type="prismatic"><parent link="tube"/><child link="tip"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.2" effort="1" velocity="1"/></joint>
  <link name="tip"><collision><geometry><sphere radius="0.05"/></geometry></collision></link></robot>"""


@pytest.fixture(scope="module")
def topics(service, client):
    """Lists of what both topics publish."""
    return [client.collect(kind, f"{NAME}/{name}") for kind, name in KINDS]


@pytest.fixture
def messages(topics, client):
    """The same of a service with a complete world, and a known state."""
    client.empty()
    client.send_transform("ground", "ball", BALL, static=True)
    measure(client, topics[0], lambda message: message.error_code.value == ErrorCode.SUCCESS)
    return topics


def measure(client, messages, accept, position=(1.0, 0.0), velocity=(0.2, 0.0)):
    """Publish joint states until a new clearance is accepted; return it."""
    publisher = client.publisher(JointState, "joint_states")
    del messages[:]

    def is_accepted():
        state = JointState(name=arm.JOINTS, position=list(position), velocity=list(velocity))
        state.header.stamp = client.now()
        publisher.publish(state)
        client.spin(0.01)
        return any(map(accept, messages))

    assert client.wait(is_accepted), messages[-1:]
    return next(filter(accept, messages))


def numbers(message):
    closest = message.closest
    vectors = [getattr(v, c) for v in (closest.point_a, closest.point_b, closest.normal) for c in "xyz"]
    return [message.lower, message.closing_speed, message.time_to_contact, closest.distance, *vectors]


@pytest.mark.ci
def test_clearance_is_that_of_the_service_with_its_rate(messages, client):
    found = measure(client, messages[0], lambda message: abs(message.closing_speed - 0.2) < 1e-9)
    assert (found.closest.link_a, found.closest.link_b) == ("hand", "ball") and not found.stale
    assert found.header.frame_id == "ground" and found.uses_joint_states
    assert found.closest.distance == pytest.approx(0.75, abs=1e-12)
    assert found.closest.lower == found.lower <= 0.75
    assert found.time_to_contact == pytest.approx(0.75 / 0.2, rel=1e-9) and found.time_to_contact <= 0.75 / 0.2
    assert client.wait(lambda: any(message.data == found.lower for message in messages[1]))
    pairs = client.nearest().distances.pairs
    assert pairs[0].distance == found.closest.distance and len(pairs) == found.pairs_considered


@pytest.mark.parametrize(
    ("measurement", "gap", "speed", "seconds", "words"),
    [
        ({"velocity": (0.0, 0.0)}, 0.75, 0.0, math.inf, ""),
        ({"position": (2.0, 0.0)}, -0.05, -0.2, 0.0, ""),
        ({"position": (0.5, 0.0), "velocity": ()}, 1.25, math.nan, math.nan, "no velocity of joint slide, wrist"),
    ],
)
def test_rest_overlap_and_unknown_velocity(messages, client, measurement, gap, speed, seconds, words):
    def is_there(message):
        numbers = [message.closest.distance, message.closing_speed, message.time_to_contact]
        return numbers == pytest.approx([gap, speed, seconds], abs=1e-9, nan_ok=True)

    assert words in measure(client, messages[0], is_there, **measurement).message


def test_a_stale_state_has_no_number(messages, client):
    del messages[0][:]
    assert client.wait(lambda: any("stale" in message.message for message in messages[0]))
    found = messages[0][-1]
    assert found.error_code.value == ErrorCode.NOT_MEASURED and all(map(math.isnan, numbers(found)))
    assert client.wait(lambda: math.isnan(messages[1][-1].data))


def test_an_unreadable_object_leaves_no_number(messages, client):
    flat = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[math.nan])
    client.send(thing("cup", primitives=[flat]))
    found = measure(client, messages[0], lambda message: message.error_code.value == ErrorCode.INCOMPLETE_WORLD)
    assert "cup" in found.message and all(map(math.isnan, numbers(found)))
    client.set(incomplete_world="warn")
    found = measure(client, messages[0], lambda message: message.error_code.value == ErrorCode.SUCCESS)
    assert "cup" in found.message and found.lower > 0.7
    del messages[1][:]
    assert client.wait(lambda: bool(messages[1])) and math.isnan(messages[1][-1].data)
    client.set(incomplete_world="refuse")


def test_the_velocity_of_a_moving_base_is_unknown(messages, client):
    client.send_transform("ground", "ball", BALL)
    found = measure(client, messages[0], lambda message: "no velocity of ball" in message.message)
    assert math.isnan(found.time_to_contact) and found.lower > 0.7


@pytest.mark.ci
@pytest.mark.parametrize("end", [Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVE_SHUTDOWN])
def test_a_node_that_falls_silent_publishes_a_clearance_without_a_number(start_node, client, end):
    name = f"ending_{end}"
    start_node("distance_service", name=name, **arm.DESCRIPTIONS, rate=20.0)
    heard = [client.collect(kind, f"/{name}/{topic}") for kind, topic in KINDS]
    arm.set_state(client, f"/{name}")
    assert client.wait(lambda: all(heard))
    lifecycle.change(client, f"/{name}", end)
    assert client.wait(lambda: heard[0][-1].error_code.value == ErrorCode.INACTIVE)
    assert all(map(math.isnan, numbers(heard[0][-1]))) and client.wait(lambda: math.isnan(heard[1][-1].data))


def test_no_pair_touches_before_the_bound():
    robot = panda.robot()
    model = Model(Planning(robot))
    selection = model.select((), ())
    approach, query = Approach(model), model.query(selection)
    random = np.random.default_rng(7)
    low, high = np.array([robot.joint_limits[name] for name in robot.joint_names]).T
    for _ in range(200):
        start, velocities = random.uniform(low, high), random.normal(size=len(low))
        result = query(start[None]).of_state(0)
        seconds = approach.seconds(result, start, velocities)
        if result.lower.min() <= 0.0:
            assert seconds == 0.0
        else:
            times = np.linspace(0.0, seconds, 20)[:, None]
            assert query(start + times * velocities).distance.min() > 0.0


def test_a_joint_measured_beyond_its_limit_brings_contact_sooner():
    # The telescope turns about the ground; at 1 m, five times its limit, its tip meets the post after 0.9 rad.
    edit = Planning(Robot.from_urdf(TELESCOPE)).edit()
    edit.add("post", [Sphere(0.05)], np.eye(4)[None], arm.at(0.62, 0.78, 0.0))
    model, velocities = Model(edit.commit()), np.array([1.0, 0.0])
    selection = model.select((), ())
    approach, query = Approach(model), model.query(selection)
    for position in (np.array([0.0, 0.2]), np.array([0.0, 1.0])):
        result = query(position[None]).of_state(0)
        seconds = approach.seconds(result, position, velocities)
        assert seconds == pytest.approx(result.lower[0] / (position[1] + 0.05), rel=1e-9)
        assert query(position + np.linspace(0.0, seconds, 50)[:, None] * velocities).distance.min() > 0.0


def test_the_closing_speed_is_the_derivative():
    robot = Robot.from_urdf(arm.URDF, srdf=arm.SRDF)
    model = Model(Planning(robot, rtol=1e-12))
    selection = model.select(("hand",), ("ball",))
    query, velocities = model.query(selection), np.array([0.3, -0.7])
    position, bases, step = np.array([[0.4, 0.9]]), {"ball": BALL}, 1e-6

    def distance(time):
        return query(position + time * velocities, base_poses=bases).distance[0]

    result = query(position, base_poses=bases).of_state(0)
    state = SimpleNamespace(positions=position, base_poses=bases)
    speed = Approach(model).closing_speed(result, state, velocities)
    assert speed == pytest.approx((distance(-step) - distance(step)) / (2.0 * step), abs=1e-8)


# --- the time that publishing takes ---


@pytest.mark.parametrize("seconds", [{"distances": 0.12}, {"distances": 0.01, "clearance": 0.006}])
def test_half_of_the_time_is_left_and_no_topic_is_left_out(monkeypatch, seconds):
    clock, done = SimpleNamespace(now=0.0, used=0.0), []
    monkeypatch.setattr(topics_module.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(topics_module.time, "thread_time", lambda: clock.used)

    def work(topic):
        clock.now, clock.used = clock.now + seconds[topic], clock.used + seconds[topic]
        done.append(topic)

    actions = {topic: partial(work, topic) for topic in seconds}
    pace, turn = topics_module.Pace(*actions.values()), 0.0
    while clock.now < 10.0:
        clock.now += 0.004
        is_due = clock.now >= turn
        turn += 0.05 * is_due
        pace.act(*(actions[topic] for topic in seconds if topic == "clearance" or is_due))
    assert 0.45 < clock.used / clock.now <= 0.51
    if "clearance" in seconds:
        assert done.count("distances") == pytest.approx(200, rel=0.2) and done.count("clearance") > 200
