# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Calls of `get_distances` about many states: other calls go on, and a deadline or the end of the node stops them."""

from __future__ import annotations

import numpy as np
import pytest
from superovoid_interfaces.srv import GetDistances, GetMinDistance

from superovoid.robot import Robot
from superovoid_ros.motions.grasp_sweep import GraspSweep
from superovoid_ros.nodes.common.conversions import to_quaternion, to_transform
from superovoid_ros.resources import share_directory

SHARE = share_directory()
URDF = (SHARE / "urdf/icub_hands.urdf").read_text(encoding="utf-8")
SRDF = (SHARE / "config/icub_hands.srdf").read_text(encoding="utf-8")
HANDS = Robot.from_urdf(URDF, srdf=SRDF)
NAME = "/distance_service"


@pytest.fixture(scope="module")
def hands(serve):
    """Both hands of the iCub."""
    return serve(robot_description=URDF, robot_description_semantic=SRDF, rate=0.0)


def long_request(count):
    """A request that takes seconds: palms as in frames of the sweep, fingers at random."""
    rng = np.random.default_rng(1)
    limits = np.array([HANDS.joint_limits[name] for name in HANDS.joint_names])
    sweep = GraspSweep.from_file(SHARE / "config/grasp_sweep.yaml")
    poses = []
    for i in rng.integers(len(sweep), size=count):
        for link in HANDS.base_links:
            pose = sweep.frame(i).base_poses[link]
            q = to_quaternion(pose[:3, :3])
            poses += [*pose[:3, 3], q.x, q.y, q.z, q.w]
    return {
        "max_distance": 0.02,
        "joint_names": list(HANDS.joint_names),
        "joint_positions": rng.uniform(limits[:, 0], limits[:, 1], (count, len(limits))).ravel().tolist(),
        "base_links": list(HANDS.base_links),
        "base_poses": poses,
    }


def ask(client, name=NAME, **request):
    return client.call(GetDistances, f"{name}/get_distances", **request)


@pytest.mark.ci
def test_a_long_call_keeps_no_other_call_waiting(hands, client):
    stamp, frame = client.now(), GraspSweep.from_file(SHARE / "config/grasp_sweep.yaml").frame(0)
    short = {
        "joint_names": list(HANDS.joint_names),
        "joint_positions": [frame.positions[name] for name in HANDS.joint_names],
        "base_poses": [to_transform("", link, pose, stamp) for link, pose in frame.base_poses.items()],
        "max_distance": 0.001,
    }
    tiny = long_request(1)
    assert client.call(GetMinDistance, f"{NAME}/get_min_distance", **short).success
    assert ask(client, **tiny).success  # its client exists now
    future = client.client(GetDistances, f"{NAME}/get_distances").call_async(GetDistances.Request(**long_request(2000)))
    answered = 0
    while not future.done():
        response = client.call(GetMinDistance, f"{NAME}/get_min_distance", **short)
        assert response.success, response.message
        answered += not future.done()
        assert ask(client, **tiny).states == 1
    # One that is answered in the thread of the long call waits for that, or comes before it.
    assert answered >= 2
    assert future.result().states == 2000 and len(future.result().first) == 2001


def test_a_deadline_leaves_the_first_states_and_a_message(hands, client):
    response = ask(client, deadline=0.2, **long_request(2000))
    assert response.success and 1 <= response.states < 2000
    assert f"{response.states} of 2000 states" in response.message and "deadline" in response.message
    assert len(response.first) == response.states + 1
    assert response.first[-1] == len(response.distance) > 0


@pytest.mark.ci
def test_a_node_ends_in_the_middle_of_a_long_call(hands, client):
    ask(client, **long_request(1))
    before = hands.processor_time()
    answer = client.client(GetDistances, f"{NAME}/get_distances").call_async(GetDistances.Request(**long_request(5000)))
    assert client.wait(lambda: hands.processor_time() > before + 0.3)  # the request is read in less
    assert hands.interrupt() == 0
    assert not answer.done()  # it was not waited for
    assert "Traceback" not in hands.output()
