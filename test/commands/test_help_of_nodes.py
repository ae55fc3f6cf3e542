# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`--help` of the nodes, in their own processes."""

import subprocess
import sys

import pytest

pytest.importorskip("rclpy")


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("node", ["distance_service", "path_trail", "simulated_controllers", "sweep_player"])
def test_help_of_a_node_describes_it_with_an_example(node, option):
    done = subprocess.run(
        [sys.executable, "-m", f"superovoid_ros.nodes.{node}", option], capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.startswith("Node ") and f"\nros2 run superovoid_ros {node} --ros-args" in done.stdout
    assert "Parameters, topics and services: docs/reference/ros.md" in done.stdout
