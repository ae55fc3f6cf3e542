# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""distance_service.launch.py with autostart:=false: the node waits for a lifecycle manager."""

import sys
import unittest
from pathlib import Path

import pytest

pytest.importorskip("launch_testing", reason="launch is not installed: these tests need ROS 2")

import launch_testing
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from superovoid_interfaces.srv import GetMinDistance

from superovoid_ros.resources import share_directory

sys.path.append(str(Path(__file__).parents[1] / "helpers"))  # launch_test does not add the file's folder to the path
import launched

NAME = "/left/distance_service"


@pytest.mark.launch_test
def generate_test_description():
    share = share_directory()
    return launched.describe(
        "distance_service.launch.py",
        urdf=str(share / "urdf" / "icub_hands.urdf"),
        namespace="left",
        frame_prefix="left/",
        autostart="false",
    )


class TestManaged(unittest.TestCase):
    def test_node_waits_and_follows_transitions(self):
        client = launched.Client()
        try:
            state = client.call(GetState, f"{NAME}/get_state")
            self.assertEqual(state.current_state.label, "unconfigured")
            for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
                client.call_until(
                    lambda response: response.success,
                    ChangeState,
                    f"{NAME}/change_state",
                    transition=Transition(id=transition),
                )
            response = client.call_until(lambda response: response.message, GetMinDistance, f"{NAME}/get_min_distance")
        finally:
            client.close()
        self.assertIn("no position of joint", response.message)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_the_process_ends_cleanly(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)
