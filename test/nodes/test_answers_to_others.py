# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every client of a service receives the answers to all of them: its own is not dropped for those to others."""

from __future__ import annotations

from pathlib import Path

from superovoid_ros.nodes.common.shared_memory import PROFILES
from superovoid_ros.resources import share_directory

import arm

BUSY_CLIENT = str(Path(__file__).with_name("busy_client.py"))


def test_answer_to_a_busy_client_is_kept_by_the_profiles_of_this_package(start_node, monkeypatch):
    start_node("distance_service", "many", robot_description=arm.URDF, rate=0.0)
    monkeypatch.setenv(PROFILES, str(share_directory() / "config" / "fastdds.xml"))
    busy_client = start_node(BUSY_CLIENT, "busy_client")
    busy_client.wait_for_output("answer")
    assert "answer kept" in busy_client.output()
