"""What the launch tests share: a domain of their own, an included launch file, a client."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

pytest.importorskip("launch_testing", reason="launch is not installed: these tests need ROS 2")
pytest.importorskip("launch_ros", reason="launch_ros is not installed: these tests need ROS 2")

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest

from superovoid_ros.nodes.common.caller import Caller
from superovoid_ros.resources import share_directory

os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 100)
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
# Discovery and imports; a first start also compiles the engine.
TIMEOUT = 120.0


def describe(file: str, **arguments: str) -> LaunchDescription:
    """Return the description of a test that starts one of the package's launch files."""
    try:
        get_package_prefix("superovoid_ros")
    except PackageNotFoundError:
        pytest.skip("superovoid_ros is not installed: launch finds executables of installed packages only")
    source = PythonLaunchDescriptionSource(str(share_directory() / "launch" / file))
    return LaunchDescription([IncludeLaunchDescription(source, launch_arguments=arguments.items()), ReadyToTest()])


class Client(Caller):
    """A node that calls services and collects messages."""

    def __init__(self) -> None:
        super().__init__("launch_test_client")

    def wait(self, condition: Callable[[], bool], timeout: float = TIMEOUT, **options: object) -> bool:
        """Handle messages until `condition` holds; False where it does not in time."""
        return super().wait(condition, timeout, **options)

    def call(self, kind: type, service: str, accept: Callable[[object], bool], **request: object) -> object:
        """Call a service until its answer is accepted, and return that."""
        client = self.client(kind, service)
        assert self.wait(client.service_is_ready), f"no service {service}"
        deadline = time.monotonic() + TIMEOUT
        while True:
            future = client.call_async(kind.Request(**request))
            assert self.wait(future.done), f"no answer from {service}"
            if accept(future.result()):
                return future.result()
            assert time.monotonic() < deadline, f"{service} still answers: {future.result()}"
            time.sleep(0.1)
