# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every client of a service receives the answers to all of them: its own is not dropped for those to others."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from superovoid_ros.resources import share_directory

import arm

# A client whose thread has other work while another one, in the same process, makes many calls.
PROGRAM = """
import sys
import rclpy
from rclpy.executors import SingleThreadedExecutor
from superovoid_interfaces.srv import GetMinDistance
rclpy.init()
busy, other = rclpy.create_node("busy"), rclpy.create_node("other")
executors = [SingleThreadedExecutor() for _ in range(2)]
for node, executor in zip((busy, other), executors):
    executor.add_node(node)
clients = [node.create_client(GetMinDistance, "/many/get_min_distance") for node in (busy, other)]
def call(client, executor):
    future = client.call_async(GetMinDistance.Request())
    executor.spin_until_future_complete(future, 60.0)
    assert future.done()
for client, executor in zip(clients, executors):
    assert client.wait_for_service(60.0)
    call(client, executor)
late = clients[0].call_async(GetMinDistance.Request())
for _ in range(30):
    call(clients[1], executors[1])
executors[0].spin_until_future_complete(late, float(sys.argv[1]))
print("answered" if late.done() else "no answer")
"""


@pytest.fixture(scope="module")
def service(start_node):
    return start_node("distance_service", "many", robot_description=arm.URDF, rate=0.0)


def run_busy_client(seconds, **environment):
    arguments = [sys.executable, "-c", PROGRAM, str(seconds)]
    done = subprocess.run(arguments, env=os.environ | environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_answer_to_a_busy_client_is_kept_by_the_profiles_of_this_package(service):
    profiles = str(share_directory() / "config" / "fastdds.xml")
    assert run_busy_client(60.0, FASTDDS_DEFAULT_PROFILES_FILE=profiles) == "answered"


def test_answer_to_a_busy_client_is_dropped_from_the_usual_queue_as_docs_say(service):
    assert run_busy_client(1.0) == "no answer"
