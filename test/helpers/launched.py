# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shared parts of the launch tests: a separate domain, an included launch file, a client."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("launch_testing", reason="launch is not installed: these tests need ROS 2")
pytest.importorskip("launch_ros", reason="launch_ros is not installed: these tests need ROS 2")

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest

from superovoid_ros.resources import share_directory
from superovoid_ros.tools.process.network import take_domain

from asking import ClientWithTimeout

DOMAIN = take_domain()
os.environ["ROS_DOMAIN_ID"] = str(DOMAIN.number)
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"


def describe(file: str, **arguments: str) -> LaunchDescription:
    """Return the description of a test that starts one of the package's launch files."""
    try:
        get_package_prefix("superovoid_ros")
    except PackageNotFoundError:
        pytest.skip("superovoid_ros is not installed: launch finds executables of installed packages only")
    source = PythonLaunchDescriptionSource(str(share_directory() / "launch" / file))
    return LaunchDescription([IncludeLaunchDescription(source, launch_arguments=arguments.items()), ReadyToTest()])


class Client(ClientWithTimeout):
    """A client of the launched nodes."""

    def __init__(self) -> None:
        super().__init__("launch_test_client")
