# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid node check`: it names what a running node lacks."""

import json

import pytest
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from superovoid.cli.command_line import Command
from superovoid.output import REPORT
from superovoid_ros.commands import node as command

import arm

NAME = "/distance_service"


@pytest.fixture(scope="module")
def node_to_check(serve, client):
    """A service without a robot."""
    node = serve()
    client.publisher(JointState, "joint_states")
    client.publisher(TFMessage, "/tf", 100)
    return node


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
def test_a_missing_node_is_answered_by_the_names_of_others(node_to_check, client, capsys):
    def is_named():  # once the command finds the other node in time
        code, text = run(capsys, "/nobody", "--timeout", "1")
        assert code == 1
        assert text.startswith("/nobody cannot answer\n")
        return f"{NAME}/get_distances" in text

    assert client.wait(is_named)


def test_node_without_a_robot_lacks_its_description(node_to_check, capsys):
    code, found = checks(capsys)
    assert code == 1
    assert found["node"]["ok"] and not found["robot"]["ok"]
    assert found["distance"]["found"].startswith("NO_ROBOT: ")
    assert "urdf:=" in found["distance"]["remedy"]


@pytest.mark.ci
def test_robot_lacks_joint_states_until_they_come(node_to_check, client, capsys):
    client.send_text("robot_description_semantic", arm.SRDF)
    client.send_text("robot_description", arm.URDF)
    client.until(lambda r: "no position" in r.message, max_results=1)
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


def test_inactive_node_is_to_be_activated(node_to_check, client, capsys):
    client.bring("inactive")
    code, text = run(capsys, NAME)
    assert code == 1
    assert f"ros2 lifecycle set {NAME} activate" in text
    client.bring("active")
