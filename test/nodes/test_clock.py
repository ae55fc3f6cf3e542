# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service in simulated time: ages, timers, and time that jumps back when a simulation begins again."""

import pytest
from rosgraph_msgs.msg import Clock
from superovoid_interfaces.msg import DistanceArray

from superovoid_ros.nodes.common.conversions import to_nanoseconds, to_time

import arm
from monitor import Monitor, values_of

NAME = "/distance_service"
SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def node_with_clock(serve):
    """A node that follows /clock; the tests make the time."""
    return serve(use_sim_time=True, **arm.DESCRIPTIONS, rate=10.0, max_distance=0.0, **{"diagnostics.period": 0.1})


def set_time(client, seconds):
    """Publish a time."""
    client.publisher(Clock, "/clock").publish(Clock(clock=to_time(round(seconds * SECOND))))


def advance(client, seconds):
    """Set a time, and wait until the node has it."""

    def has_it(response):
        set_time(client, seconds)  # may have been lost on its way
        found = response.distances
        now = to_nanoseconds(found.header.stamp) * 1e-9 + found.joint_state_age
        return response.success and now == pytest.approx(seconds, abs=1e-6)

    set_time(client, seconds)
    client.until(has_it)


def published_in_ten_periods(client, seconds):
    """Count what is published while the time goes on by ten periods, from one of the first after `seconds` on."""
    messages = client.collect(DistanceArray, f"{NAME}/distances")
    client.wait_for_silence(messages, 0.5)  # time stands still
    begin = 0
    while not messages:
        begin += 1
        assert begin < 100
        advance(client, seconds + 0.1 * begin)
    client.wait_for_silence(messages)
    for step in range(1, 11):
        before = len(messages)
        advance(client, seconds + 0.1 * (begin + step))
        # A timer that two periods have gone by for fires once.
        client.wait(lambda before=before: len(messages) > before, 10.0)
    client.spin(0.3)
    return len(messages)


def begin(client, seconds, ball=2.0):
    """Set a time and publish a state measured then, until the service answers from it."""
    stamp, pose = to_time(round(seconds * SECOND)), arm.at(ball, 0.0, 0.0)

    def answers_from_it(response):
        if response.success and response.distances.header.stamp == stamp:
            return True
        set_time(client, seconds)  # any of these may have been lost on its way
        arm.send_state(client, ball=pose, stamp=stamp)
        return False

    return client.until(answers_from_it)


def test_missing_clock_is_reported(node_with_clock, client):
    Monitor(client).wait_for("measurements", lambda s: values_of(s)["time"].endswith("nothing received on /clock"))


def test_ages_are_in_simulated_time(node_with_clock, client):
    fresh = begin(client, 100.0)
    assert fresh.distances.joint_state_age == 0.0 and not fresh.distances.stale
    advance(client, 103.5)
    old = client.until(lambda response: response.distances.stale)
    assert old.distances.joint_state_age == pytest.approx(3.5, abs=1e-9)
    assert old.distances.base_pose_age == pytest.approx(3.5, abs=1e-9)


@pytest.mark.parametrize("moments", [(103.9,), (110.0, 10.0)])
def test_topics_follow_simulated_time_also_after_a_jump_back(node_with_clock, client, moments):
    for moment in moments:
        begin(client, moment)
    assert 9 <= published_in_ten_periods(client, moments[-1] + 0.1) <= 11


def test_time_that_jumps_back_forgets_what_has_not_happened_yet(node_with_clock, client):
    begin(client, 110.0)
    set_time(client, 10.0)
    response = client.until(lambda response: not response.success)
    assert "no position of joint slide, wrist" in response.message
    node_with_clock.wait_for_output("time jumped back")
    again = begin(client, 10.0, ball=1.5)
    assert again.distances.pairs[0].distance == pytest.approx(0.85, abs=1e-12)
    assert again.distances.joint_state_age == 0.0 and not again.distances.stale


def test_joint_states_not_read_before_a_jump_back_are_not_measured_later(node_with_clock, client):
    for _ in range(5):  # whether they are unread depends on the moment
        begin(client, 110.0)
        for seconds in (111, 112):  # the node rests between two wake-ups by joint states
            client.send_joints(arm.JOINTS, [0.0, 0.0], to_time(seconds * SECOND))
            client.spin(0.01)
        set_time(client, 10.0)
        client.until(lambda response: not response.success)
        client.send_transform("ground", "ball", arm.AHEAD, stamp=to_time(112 * SECOND))
        set_time(client, 112.0)
        client.spin(0.3)
        assert "no position of joint" in client.nearest().message


def test_a_time_before_zero_is_ignored_and_logged(node_with_clock, client):
    begin(client, 20.0)

    def is_told():
        set_time(client, -1.0)
        return "/clock: ignored an unreadable message" in node_with_clock.output()

    assert client.wait(is_told)
    assert "Traceback" not in node_with_clock.output() and "INTERNAL" not in node_with_clock.output()
    advance(client, 20.5)
