# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""distance_service.launch.py: any robot, in this test one from files."""

import sys
import unittest
from pathlib import Path

import pytest

pytest.importorskip("launch_testing", reason="launch is not installed: these tests need ROS 2")

import launch_testing
from superovoid_interfaces.srv import GetMinDistance

from superovoid_ros.resources import share_directory

sys.path.append(str(Path(__file__).parents[1] / "helpers"))  # launch_test does not add the file's folder to the path
import launched


@pytest.mark.launch_test
def generate_test_description():
    share = share_directory()
    return launched.describe(
        "distance_service.launch.py",
        urdf=str(share / "urdf" / "icub_hands.urdf"),
        srdf=str(share / "config" / "icub_hands.srdf"),
        namespace="hands",
    )


class TestDistanceService(unittest.TestCase):
    def test_robot_from_files_is_read_and_its_missing_state_reported(self):
        client = launched.Client()
        try:
            response = client.call_until(
                lambda response: response.message, GetMinDistance, "/hands/distance_service/get_min_distance"
            )
        finally:
            client.close()
        self.assertFalse(response.success)
        self.assertIn("no position of joint", response.message)
        self.assertIn("left_tj2", response.message)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_the_process_ends_cleanly(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)
