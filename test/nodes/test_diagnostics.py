# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The diagnostics of the distance service, as a monitor of the robot receives them, and `superovoid node check`."""

import json

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.time import Time
from sensor_msgs.msg import JointState
from superovoid_interfaces.msg import DistanceArray
from tf2_msgs.msg import TFMessage

from superovoid.cli.command_line import Command
from superovoid.output import REPORT
from superovoid_ros.commands import node as command
from superovoid_ros.nodes.common.conversions import to_nanoseconds

import arm
from monitor import Monitor, values_of

NAME = "/distance_service"
OK, ERROR, STALE = DiagnosticStatus.OK, DiagnosticStatus.ERROR, DiagnosticStatus.STALE


@pytest.fixture(scope="module")
def watched_node(serve):
    """A service without a robot, whose diagnostics come often."""
    return serve(rate=20.0, max_distance=0.0, **{"diagnostics.period": 0.1})


@pytest.fixture(scope="module")
def monitor(watched_node, client):
    client.publisher(JointState, "joint_states")
    client.publisher(TFMessage, "/tf", 100)
    return Monitor(client)


@pytest.fixture
def loaded(monitor, client):
    """The monitor, once the node is active and has the robot; it has one from the first test that asks for it on."""
    client.send_text("robot_description_semantic", arm.SRDF)
    client.send_text("robot_description", arm.URDF)
    monitor.wait_for("robot", lambda s: s.level == OK)
    return monitor


def run(capsys, *line):
    """Run the command; return its exit code and its output as the user sees it."""
    parser = Command()
    command.add(parser.add_subparsers())
    arguments = parser.parse_args(["node", "check", "--timeout", "60", *line])
    code = REPORT.run(arguments)
    return code, capsys.readouterr().out


def checks(capsys):
    code, text = run(capsys, NAME, "--json")
    return code, {check["name"]: check for check in json.loads(text)["checks"]}


@pytest.mark.ci
def test_a_missing_node_is_answered_by_the_names_of_others(monitor, client, capsys):
    def is_named():  # once the command finds the other node in time
        code, text = run(capsys, "/nobody", "--timeout", "1")
        assert code == 1
        assert text.startswith("/nobody cannot answer\n")
        return f"{NAME}/get_distances" in text

    assert client.wait(is_named)


def test_node_without_a_robot_lacks_its_description(monitor, capsys):
    code, found = checks(capsys)
    assert code == 1
    assert [*found] == ["node", "robot", "distance"]
    assert found["node"]["ok"] and found["robot"]["found"].startswith("no robot: ") and not found["robot"]["ok"]
    assert found["distance"]["found"] == "NO_ROBOT: as above"
    assert "urdf:=" in found["distance"]["remedy"]


@pytest.mark.ci
def test_without_a_robot_the_reason_is_an_error(watched_node, monitor):
    assert "waiting for a robot description on topic '/robot_description'" in watched_node.output()
    status, values = monitor.wait_for("robot", lambda s: s.level == ERROR)
    assert status.message.startswith("no robot") and "robot_description" in status.message
    assert status.hardware_id == "none"
    assert values["state"] == "active"
    tasks = [f"distance_service: {task}" for task in ("robot", "measurements", "topics", "queries")]
    assert [one.name for one in monitor.messages[-1].status] == tasks and monitor.messages[-1].header.stamp.sec > 0


def test_parts_of_the_robot_and_what_was_never_measured_are_told(loaded):
    status, values = loaded.wait_for("robot", lambda s: s.level == OK)
    counts = {"robot": "arm", "links": "5", "joints": "2", "bodies": "4", "pairs": "2"}
    assert status.hardware_id == "arm" and counts.items() <= values.items()
    status, _ = loaded.wait_for("measurements", lambda s: s.level == ERROR)
    assert "no position of joint slide, wrist" in status.message


@pytest.mark.ci
def test_robot_lacks_joint_states_until_they_come(loaded, client, capsys):
    code, found = checks(capsys)
    assert code == 1
    assert found["robot"]["ok"] and not found["measurements"]["ok"]
    assert found["distance"]["found"].startswith("NOT_MEASURED: ")
    assert "unmeasured_joints" in found["distance"]["remedy"]
    arm.set_state(client, NAME)
    arm.send_state(client)
    client.until(max_results=1)
    arm.send_state(client)
    code, text = run(capsys, NAME)
    assert code == 0
    assert text.splitlines()[0] == f"{NAME} answers"
    assert " mm" in text.splitlines()[-1]


def test_ages_of_measurements_go_from_ok_to_stale(loaded, client):
    arm.set_state(client, NAME)
    arm.send_state(client)
    _, values = loaded.wait_for("measurements", lambda s: s.level == OK)
    assert 0.0 <= float(values["age of joint states [s]"]) <= 1.0  # else it is stale
    assert 0.0 <= float(values["age of transforms [s]"]) <= 1.0
    status, values = loaded.wait_for("measurements", lambda s: s.level == STALE)
    assert status.message.startswith("state is 1.") and status.message.endswith(" s old")
    assert float(values["age of joint states [s]"]) >= 1.0  # it is rounded


def test_measurements_of_the_far_future_are_stale(loaded, client):
    later = Time(nanoseconds=to_nanoseconds(client.now()) + 100_000_000_000).to_msg()
    client.send_joints(arm.JOINTS, [0.0, 0.0], later)
    client.send_transform("ground", "ball", arm.at(2.0, 0.0, 0.0))
    _, values = loaded.wait_for("measurements", lambda s: s.level == STALE and "in the future" in s.message)
    assert -100.0 <= float(values["age of joint states [s]"]) < -90.0
    arm.send_state(client)  # what is later by mistake does not stand in the way of what comes
    loaded.wait_for("measurements", lambda s: s.level == OK)


def test_rate_is_measured_while_somebody_listens_and_a_missed_one_explained(loaded, client):
    status, values = loaded.wait_for("topics")
    assert status.level == OK and status.message == "no subscribers" and values["requested rate [Hz]"] == "20"
    arm.set_state(client, NAME)
    subscription = client.node.create_subscription(DistanceArray, f"{NAME}/distances", lambda _: None, 10)
    _, values = loaded.wait_for("topics", lambda s: "of 20 Hz" in s.message)
    assert 2.0 < float(values["actual rate [Hz]"]) < 25.0  # on a machine that may have other work
    client.send_joints(["slide"], [float("nan")])
    status, _ = loaded.wait_for("topics", lambda s: s.level == ERROR)
    assert "nothing published" in status.message and "slide" in status.message
    client.node.destroy_subscription(subscription)
    loaded.wait_for("topics", lambda s: s.message == "no subscribers" and s.level == OK)


def test_calls_are_counted(loaded, client):
    _, before = loaded.wait_for("queries", lambda s: s.level == OK)

    def count_calls(values, name):
        return int(values.get(name, 0)) - int(before.get(name, 0))

    arm.send_state(client)
    client.until()
    assert not client.nearest(links_a=["nothing"]).success
    refused = "calls of GetMinDistance refused"
    _, values = loaded.wait_for("queries", lambda s: count_calls(values_of(s), refused) > 0)
    assert count_calls(values, "calls") >= 2 and count_calls(values, "calls of GetMinDistance") >= 2
    assert values["internal errors"] == "0"
    assert values["uncertified answers"] == "0"


def test_an_inactive_node_goes_on_telling_until_the_period_is_zero(loaded, client, capsys):
    client.bring("inactive")
    code, text = run(capsys, NAME)
    assert code == 1 and f"ros2 lifecycle set {NAME} activate" in text
    loaded.wait_for("robot", lambda s: values_of(s)["state"] == "inactive")
    status, _ = loaded.wait_for("topics")
    assert status.level == OK and status.message == "inactive"
    client.set(**{"diagnostics.period": 0.0})
    client.wait_for_silence(loaded.messages)
