# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""dental_bite.launch.py: teeth, player and service together."""

import sys
import unittest
from pathlib import Path

import pytest

pytest.importorskip("launch_testing", reason="launch is not installed: these tests need ROS 2")

import launch_testing
from superovoid_interfaces.srv import GetMinDistance, GetPenetration

sys.path.append(str(Path(__file__).parents[1] / "helpers"))  # launch_test does not add the file's folder to the path
import launched


@pytest.mark.launch_test
def generate_test_description():
    return launched.describe("dental_bite.launch.py", rviz="false", rate="60.0")


class TestDentalBite(unittest.TestCase):
    def test_service_answers_about_the_biting_teeth(self):
        client = launched.Client()
        try:
            answer = client.call_until(
                lambda r: r.success, GetMinDistance, "/distance_service/get_min_distance", max_results=1
            ).distances
            # The bite loops; sooner or later the teeth touch.
            client.call_until(
                lambda r: r.success and r.distances.pairs, GetPenetration, "/distance_service/get_penetration"
            )
        finally:
            client.close()
        self.assertEqual((answer.pairs[0].link_a, answer.pairs[0].link_b), ("lower_molar", "upper_molar"))
        self.assertEqual(answer.pairs_considered, 64)
        self.assertFalse(answer.uses_transforms)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_all_processes_end_cleanly(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)
