# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Nodes have room in shared memory for bursts of large answers, unless the user has chosen transports."""

import os
import subprocess
import sys

import pytest

from superovoid_ros.nodes.common import shared_memory
from superovoid_ros.nodes.common.shared_memory import PROFILES, make_room

_PARTICIPANT = """
import re, rclpy
from superovoid_ros.nodes.common.shared_memory import make_room
make_room()
rclpy.init()
node = rclpy.create_node("roomy")
maps = open("/proc/self/maps").read()
print(max(int(end, 16) - int(start, 16) for start, end in re.findall(r"^(\\w+)-(\\w+) .*/fastdds_\\w+$", maps, re.M)))
"""


@pytest.fixture
def no_transports(monkeypatch, tmp_path):
    """The user has chosen no transports."""
    for name in shared_memory._CHOSEN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(PROFILES, "")  # so that what is set here is taken back
    monkeypatch.chdir(tmp_path)


def test_a_participant_has_the_room(no_transports):
    environment = os.environ | {"ROS_DOMAIN_ID": "101", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    done = subprocess.run(
        [sys.executable, "-c", _PARTICIPANT], env=environment, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) >= shared_memory._SEGMENT


@pytest.mark.parametrize("name", shared_memory._CHOSEN)
def test_what_the_user_chose_is_left(no_transports, monkeypatch, name):
    monkeypatch.setenv(name, "chosen")
    assert not make_room()
    assert os.environ[name] == "chosen" and (name == PROFILES or not os.environ[PROFILES])
