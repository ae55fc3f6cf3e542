# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""grasp_sweep.launch.py arms:=true: torso and arms move the hands."""

import sys
import unittest
from pathlib import Path

import pytest

pytest.importorskip("launch_testing", reason="launch is not installed: these tests need ROS 2")

import launch_testing
from sensor_msgs.msg import JointState
from superovoid_interfaces.srv import GetMinDistance, GetPenetration

sys.path.append(str(Path(__file__).parents[1] / "helpers"))  # launch_test does not add the file's folder to the path
import launched


@pytest.mark.launch_test
def generate_test_description():
    return launched.describe("grasp_sweep.launch.py", arms="true", rviz="false", rate="60.0")


class TestGraspSweepByArms(unittest.TestCase):
    def setUp(self):
        self.client = launched.Client()

    def tearDown(self):
        self.client.close()

    def test_service_answers_about_hands_moved_by_joint_states(self):
        hands = {"links_a": ["left_hand"], "links_b": ["right_hand"]}
        response = self.client.call_until(
            lambda r: r.success, GetMinDistance, "/distance_service/get_min_distance", max_results=3, **hands
        )
        self.assertEqual(response.distances.header.frame_id, "base_link")
        self.assertFalse(response.distances.uses_transforms)
        # The sweep loops; sooner or later the hands touch.
        self.client.call_until(
            lambda r: r.success and r.distances.pairs, GetPenetration, "/distance_service/get_penetration", **hands
        )
        joints = []
        self.client.node.create_subscription(JointState, "/joint_states", joints.append, 10)
        self.assertTrue(self.client.wait(lambda: joints))
        self.assertIn("l_elbow", joints[0].name)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_all_processes_end_cleanly(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)
