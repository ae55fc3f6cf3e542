"""The distance service in simulated time: ages, timers, and time that jumps back when a simulation begins again."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rosgraph_msgs.msg import Clock
from superovoid_interfaces.msg import DistanceArray
from superovoid_interfaces.srv import GetMinDistance

from superovoid_ros.nodes.common.conversions import to_time

import arm

SERVICE = "/simulated/get_min_distance"
SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def simulated(start_node):
    """A node that follows /clock; the tests make the time, in their order."""
    return start_node(
        "distance_service",
        name="simulated",
        use_sim_time=True,
        **arm.DESCRIPTIONS,
        rate=10.0,
        cutoff=0.0,
        **{"diagnostics.period": 0.1},
    )


def set_time(client, seconds):
    """Publish a time."""
    client.publisher(Clock, "/clock").publish(Clock(clock=to_time(round(seconds * SECOND))))


def send_state(client, seconds, ball=2.0):
    """Publish a state measured at a time, and wait until the service answers from it."""
    return arm.set_state(client, "/simulated", ball=arm.at(ball, 0.0, 0.0), stamp=to_time(round(seconds * SECOND)))


def test_missing_clock_is_told(simulated, client):
    messages = client.collect(DiagnosticArray, "/diagnostics")

    def told():
        found = [status for message in messages for status in message.status if "measurements" in status.name]
        return any("nothing came on /clock" in status.message for status in found if status.level != 0) or any(
            pair.value == "simulated, nothing received on /clock" for status in found for pair in status.values
        )

    assert client.wait(told, 60.0)


def test_ages_are_in_simulated_time(simulated, client):
    set_time(client, 100.0)
    client.spin(0.2)
    fresh = send_state(client, 100.0)
    assert fresh.distances.joint_state_age == 0.0 and not fresh.distances.stale
    set_time(client, 103.5)
    old = client.call_until(lambda response: response.distances.stale, GetMinDistance, SERVICE)
    assert old.distances.joint_state_age == pytest.approx(3.5, abs=1e-9)
    assert old.distances.base_pose_age == pytest.approx(3.5, abs=1e-9)


def test_topics_follow_simulated_time(simulated, client):
    messages = client.collect(DistanceArray, "/simulated/distances")
    client.spin(0.5)
    messages.clear()
    client.spin(0.5)
    assert not messages  # time stands still
    for step in range(1, 11):
        set_time(client, 104.0 + 0.1 * step)
        client.spin(0.05)
    client.wait(lambda: len(messages) >= 9, 1.0)
    assert 4 <= len(messages) <= 11  # a time that is lost on its way costs a tick, on a machine that has other work


def test_time_that_jumps_back_forgets_what_has_not_happened_yet(simulated, client):
    set_time(client, 10.0)
    response = client.call_until(lambda response: not response.success, GetMinDistance, SERVICE)
    assert "no position of joint slide, wrist" in response.message
    simulated.wait_for_output("time jumped back")
    again = send_state(client, 10.0, ball=1.5)
    assert again.distances.pairs[0].distance == pytest.approx(0.85, abs=1e-12)
    assert again.distances.joint_state_age == 0.0 and not again.distances.stale


def test_topics_go_on_after_a_jump_back(simulated, client):
    messages = client.collect(DistanceArray, "/simulated/distances")
    client.spin(0.5)
    messages.clear()
    for step in range(1, 11):
        set_time(client, 10.0 + 0.1 * step)
        client.spin(0.05)
    client.wait(lambda: len(messages) >= 8, 1.0)
    assert 4 <= len(messages) <= 11


def test_rate_is_judged_in_simulated_time(simulated, client):
    client.collect(DistanceArray, "/simulated/distances")
    messages = client.collect(DiagnosticArray, "/diagnostics")

    def rate_found():
        found = [s for message in messages for s in message.status if s.name == "simulated: topics"]
        return [s for s in found if "of 10 Hz" in s.message]

    # Two and a half times as fast as real time: the wall clock would say 25 Hz.
    for step in range(600):
        set_time(client, 12.0 + 0.025 * step)
        client.spin(0.01)
        if len(rate_found()) > 2:
            break
    assert rate_found(), messages[-1:]
    # A time that is lost on its way costs a tick, on a machine that has other work.
    assert 4.0 < float(rate_found()[-1].message.split()[0]) <= 11.0


def test_it_ends_cleanly(simulated):
    assert simulated.interrupt() == 0
    assert "Traceback" not in simulated.output()
