# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node that shows the trail of a planned path."""

import csv

import numpy as np
import pytest
from visualization_msgs.msg import Marker, MarkerArray

from superovoid.planning.trail import trail
from superovoid_ros.icub import grasp_problem
from superovoid_ros.nodes.common.endpoints import LATCHED

pytestmark = pytest.mark.ci  # a process of its own takes more than 2 s


@pytest.fixture(scope="module")
def example():
    return grasp_problem.read_example()


def test_the_trail_of_each_tip_is_there_for_late_listeners(example, tmp_path, start_node, client):
    problem, states = example.problem, np.stack([example.start, example.guess])
    path = tmp_path / "plan_grasp.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([grasp_problem.joint_columns(problem), *states.tolist()])
    start_node("path_trail", path=str(path)).wait_for_output("6 trails")
    messages = client.collect(MarkerArray, "/path_trail/trail", LATCHED)
    assert client.wait(lambda: messages)
    expected = trail(problem, states, [a for a, _ in problem.wanted])
    assert len(messages[0].markers) == len(expected) == 6
    for marker, points in zip(messages[0].markers, expected.values(), strict=True):
        assert marker.type == Marker.LINE_STRIP and marker.header.frame_id == "world"
        np.testing.assert_allclose([[p.x, p.y, p.z] for p in marker.points], points, atol=1e-9)
