# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""distance_service.launch.py: arguments override the parameter file, and the file overrides the node's defaults."""

import sys
import tempfile
import unittest
from pathlib import Path

import pytest

pytest.importorskip("launch_testing", reason="launch is not installed: these tests need ROS 2")

import launch_testing
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python

from superovoid_ros.resources import share_directory

sys.path.append(str(Path(__file__).parents[1] / "helpers"))  # launch_test does not add the file's folder to the path
import launched

FILE = "/**:\n  ros__parameters: {rate: 7.0, max_distance: 0.3, autostart: false}\n"


@pytest.mark.launch_test
def generate_test_description():
    file = Path(tempfile.mkdtemp()) / "mine.yaml"
    file.write_text(FILE, encoding="utf-8")
    return launched.describe(
        "distance_service.launch.py",
        urdf=str(share_directory() / "urdf" / "icub_hands.urdf"),
        params_file=str(file),
        rate="9",
        respawn="true",
        log_level="warn",
    )


class TestPrecedence(unittest.TestCase):
    def test_arguments_override_the_file_and_the_file_the_defaults(self):
        client = launched.Client()
        try:
            response = client.call(
                GetParameters,
                "/distance_service/get_parameters",
                names=["rate", "max_distance", "autostart", "meshes", "require_scene", "robot_description"],
            )
        finally:
            client.close()
        *values, urdf = map(parameter_value_to_python, response.values)
        self.assertEqual(values, [9.0, 0.3, False, "hull", True])
        self.assertIn("<robot", urdf)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_the_process_ends_cleanly_without_respawn(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)
