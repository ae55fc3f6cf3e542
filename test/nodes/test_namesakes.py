# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two distance services of one name, in processes of their own: each answers, by what it was told itself."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

import arm


@pytest.mark.slow
def test_two_nodes_of_one_name_are_told_by_both(start_node, client):
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
