# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""grasp_sweep.launch.py: hands, player and service together."""

import sys
import unittest
from pathlib import Path

import pytest

pytest.importorskip("launch_testing", reason="launch is not installed: these tests need ROS 2")

import launch_testing
from sensor_msgs.msg import JointState
from superovoid_interfaces.msg import DistanceArray
from superovoid_interfaces.srv import GetMinDistance, GetPenetration
from visualization_msgs.msg import MarkerArray

sys.path.append(str(Path(__file__).parents[1] / "helpers"))  # launch_test does not add the file's folder to the path
import launched


@pytest.mark.launch_test
def generate_test_description():
    return launched.describe("grasp_sweep.launch.py", rviz="false", rate="60.0")


class TestGraspSweep(unittest.TestCase):
    def setUp(self):
        self.client = launched.Client()

    def tearDown(self):
        self.client.close()

    def test_service_answers_about_the_moving_hands(self):
        hands = {"links_a": ["left_hand"], "links_b": ["right_hand"]}
        response = self.client.call_until(
            lambda r: r.success, GetMinDistance, "/distance_service/get_min_distance", max_results=3, **hands
        )
        self.assertEqual(response.distances.header.frame_id, "world")
        self.assertEqual(len(response.distances.pairs), 3)
        # The sweep loops; sooner or later the hands touch.
        self.client.call_until(
            lambda r: r.success and r.distances.pairs,
            GetPenetration,
            "/distance_service/get_penetration",
            **hands,
        )

    def test_topics_are_alive(self):
        heard = {
            kind: [] for kind in ((JointState, "/joint_states"), (DistanceArray, "/distance_service/distances"),
                                  (MarkerArray, "/distance_service/markers"))
        }  # fmt: skip
        for (kind, topic), messages in heard.items():
            self.client.node.create_subscription(kind, topic, messages.append, 10)
        self.assertTrue(self.client.wait(lambda: all(heard.values())), {k: len(v) for k, v in heard.items()})


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_all_processes_end_cleanly(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)
