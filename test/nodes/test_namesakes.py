# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two distance services of one name: both warn, because each answers from what it was told itself."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from superovoid_ros.nodes.distance_service.health.namesakes import Namesakes

import arm
import parts


@pytest.fixture
def lonely():
    """What looks for namesakes, its log, the nodes that it sees, and a function that lets seconds pass."""
    there, now = [("fake", "/"), ("else", "/"), ("fake", "/left")], [0.0]
    node = parts.FakeNode()
    node.get_node_names_and_namespaces = lambda: there

    def look(seconds):
        for _ in range(round(seconds)):
            now[0] += 1.0
            namesakes.look()

    log = parts.Lines()
    namesakes = Namesakes(node, log, lambda: now[0])
    return namesakes, log.lines, there, look


def test_a_second_node_of_the_name_is_logged_once(lonely):
    namesakes, lines, there, look = lonely
    look(100)
    assert not namesakes.problem and not lines
    there.append(("fake", "/"))
    look(100)
    [line] = lines
    assert "another node has the name /fake" in line and line == namesakes.problem
    there.remove(("fake", "/"))
    look(1)
    assert not namesakes.problem and namesakes.facts() == {"other nodes of this name": 0}


def test_a_node_that_crashed_before_is_no_namesake(lonely):
    namesakes, lines, there, look = lonely
    for _ in range(2):  # its name stays known for a while
        there.append(("fake", "/"))
        look(20)
        there.remove(("fake", "/"))
        look(20)
    assert not namesakes.problem and not lines


@pytest.mark.slow
def test_two_processes_of_one_name_both_warn(start_node, client):
    statuses = client.collect(DiagnosticArray, "/diagnostics")
    first = start_node("distance_service", "twin", robot_description=arm.URDF)
    first.wait_for_output("robot 'arm'")
    second = start_node("distance_service", "twin", robot_description=arm.URDF)
    for node in first, second:
        node.wait_for_output("another node has the name /twin of this one")

    def warned():
        told = [one for array in statuses for one in array.status if one.name == "twin: robot"]
        return any(one.level == DiagnosticStatus.WARN and "has the name /twin" in one.message for one in told)

    assert client.wait(warned)
