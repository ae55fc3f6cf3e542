# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node that plays motions."""

import numpy as np
import pytest
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import UInt32
from superovoid_interfaces.srv import PlayFrame
from tf2_msgs.msg import TFMessage

from superovoid_ros.motions.grasp_sweep import GraspSweep
from superovoid_ros.nodes.common.conversions import from_transform, to_nanoseconds
from superovoid_ros.resources import share_directory


@pytest.fixture(scope="module")
def player(start_node):
    """A player that waits for requests and publishes the hands."""
    node = start_node("sweep_player", paused=True, publish_robot_description=True)
    node.wait_for_output("paused")
    return node


@pytest.mark.ci
def test_frame_number_joint_states_and_transforms_belong_together(player, client):
    frames = client.collect(UInt32, "/sweep_player/frame")
    joints = client.collect(JointState, "/joint_states")
    transforms = client.collect(TFMessage, "/tf", 100)
    # Discovery of new listeners takes a moment; until then a frame may pass them by.
    last = client.call_until(
        lambda _: frames and joints and transforms, PlayFrame, "/sweep_player/play_frame", frame=77
    )
    assert client.wait(lambda: joints[-1].header.stamp == transforms[-1].transforms[0].header.stamp == last.stamp)
    expected = GraspSweep.from_file(share_directory() / "config" / "grasp_sweep.yaml").frame(77)
    assert frames[-1].data == 77
    assert dict(zip(joints[-1].name, joints[-1].position, strict=True)) == dict(expected.positions)
    stamps = {to_nanoseconds(stamped.header.stamp) for stamped in transforms[-1].transforms}
    assert stamps == {to_nanoseconds(joints[-1].header.stamp)}
    for stamped in transforms[-1].transforms:
        pose = from_transform(stamped.transform, stamped.child_frame_id)
        assert pose == pytest.approx(expected.base_poses[stamped.child_frame_id], abs=1e-14)
        assert stamped.header.frame_id == "world"


def test_a_motion_of_a_file_is_played(start_node, client, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("time_s,lift_m,turn_rad\n0,0.1,-1\n1,0.2,2.5\n", encoding="utf-8")
    start_node("sweep_player", namespace="/own", paused=True, motion_file=str(path))
    joints = client.collect(JointState, "/own/joint_states")
    played = client.call_until(lambda _: joints, PlayFrame, "/own/sweep_player/play_frame", frame=1)
    assert played.frames == 2
    assert (list(joints[-1].name), list(joints[-1].position)) == (["lift", "turn"], [0.2, 2.5])


@pytest.mark.ci
def test_the_player_plays_once_holds_and_publishes_the_clock(start_node, client):
    node = start_node("sweep_player", name="clockwork", rate=400.0, motion="bite", publish_clock=True)
    frames = client.collect(UInt32, "/clockwork/frame")
    clock = client.collect(Clock, "/clock")
    node.wait_for_output("holding frame 180")
    assert client.wait(lambda: len(clock) > 180 and frames and frames[-1].data == 180)
    played = [message.data for message in frames]
    assert played == sorted(played)
    # A slow machine loses messages: times then step by several frames at once.
    steps = np.diff([to_nanoseconds(message.clock) for message in clock])
    assert np.min(steps) == 2_500_000
    assert not np.any(steps % 2_500_000)
    assert node.interrupt(times=2) == 0
    assert "Traceback" not in node.output()
