# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Nodes as real processes over real DDS on the loopback interface, and a client node for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed (pip install '.[wheels]' brings it)")
pytest.importorskip("superovoid_interfaces.msg", reason="pip install ./superovoid_interfaces, or colcon build")
pytest.importorskip("moveit_msgs.msg", reason="pip install ./superovoid_interfaces/compat/moveit, or MoveIt")

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from superovoid_ros.nodes.common.conversions import to_transform
from superovoid_ros.tools.process.child import NodeError, NodeProcess, wait_for
from superovoid_ros.tools.process.network import take_domain

import arm
from asking import ANSWER_TIMEOUT
from lifecycle import bring
from parameters import set_parameters
from world import NAME, SceneClient

ROOT = Path(__file__).resolve().parents[2]
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)


_domain_of_this_process = cache(take_domain)


@pytest.fixture(scope="session", autouse=True)
def loopback_domain() -> Iterator[int]:
    """Reserve a separate DDS domain for this process, on this machine only."""
    domain = _domain_of_this_process()
    names = "ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE", "PYTHONPATH", "PYTHONFAULTHANDLER"
    before = {name: os.environ.get(name) for name in names}
    # Several folders of tests have this fixture, in one process: they have one domain, and each keeps the path set by
    # the previous one.
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != str(ROOT)]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *paths])
    os.environ["PYTHONFAULTHANDLER"] = "1"  # prints the location of a crash in compiled code
    os.environ["ROS_DOMAIN_ID"] = str(domain.number)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    yield domain.number
    domain.hold.close()
    for name, value in before.items():
        if value is None:
            os.environ.pop(name)
        else:
            os.environ[name] = value


def run_to_the_end(arguments: Sequence[str]) -> tuple[int, str]:
    """Run `python arguments`; return its exit code and output."""
    ended = subprocess.run(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=ANSWER_TIMEOUT,
        check=False,
    )
    return ended.returncode, ended.stdout


class TestedNode(NodeProcess):
    """A node started by a test."""

    __test__ = False  # for pytest
    is_tested = True
    """If true, the end of the node is a failure."""

    def wait_for_output(self, text: str) -> None:
        """Wait until the node prints `text`; fail after `ANSWER_TIMEOUT` or if the node ends."""
        until = time.monotonic() + ANSWER_TIMEOUT
        try:
            wait_for(self, lambda: text in self.output() or time.monotonic() > until, "no such output")
        except NodeError as error:
            pytest.fail(f"{self.name} did not print '{text}': {error}\n{self.output()}")
        assert text in self.output(), f"{self.name} did not print '{text}':\n{self.output()}"

    def interrupt(self, times: int = 1, pause: float = 0.05, timeout: float = ANSWER_TIMEOUT) -> int:
        """Press Ctrl-C `times` times and return the exit code."""
        self.is_tested = False
        for press in range(times):
            if press:
                time.sleep(pause)
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout)
        if code:
            print(self.output())  # shown with the resulting failure
        return code


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[TestedNode]]:
    """Return the nodes started by a module; stop them at its end."""
    started: list[TestedNode] = []
    yield started
    for node in started:
        node.is_tested = False
        node.stop()


def _stop_services(nodes: list[TestedNode]) -> None:
    """Stop the distance services of a module: one at a time has the name."""
    for node in nodes:
        if node.name == "distance_service":
            node.is_tested = False
            node.stop()


@pytest.fixture(scope="module")
def serve(nodes: list[TestedNode], client: Client) -> Callable[..., TestedNode]:
    """Return a function that starts the distance service with parameters that can be set."""

    def begin(program: str = "superovoid_ros.nodes.distance_service", **parameters: object) -> TestedNode:
        _stop_services(nodes)
        nodes.append(node := TestedNode(program, {"autostart": False}, name="distance_service"))
        verdict = set_parameters(client, "/distance_service", parameters)
        assert verdict.successful, verdict.reason
        bring(client, "/distance_service", "active")
        if parameters.get("robot_description"):
            node.wait_for_output("allowed pairs")
        return node

    return begin


@pytest.fixture(scope="module")
def start_node(nodes: list[TestedNode]) -> Callable[..., TestedNode]:
    """Return a function that starts a node with parameters."""

    def start(
        module: str, name: str = "", *, namespace: str = "", remap: tuple[str, ...] = (), **parameters: object
    ) -> TestedNode:
        name = name or module
        if name == "distance_service" and not namespace:
            _stop_services(nodes)
        # A module of the package, or a script of the tests.
        program = module if module.endswith(".py") else f"superovoid_ros.nodes.{module}"
        rules = [f"__node:={name}", *([f"__ns:={namespace}"] if namespace else []), *remap]
        nodes.append(node := TestedNode(program, parameters, rules, name))
        if module == "distance_service" and parameters.get("robot_description") and parameters.get("autostart", True):
            node.wait_for_output("allowed pairs")  # the node has read its robot
        return node

    return start


@pytest.fixture(scope="module")
def service(request: pytest.FixtureRequest, serve: Callable[..., TestedNode]) -> TestedNode:
    """Return the distance service with the arm, and with the parameters `PARAMETERS` of the module."""
    return serve(**arm.DESCRIPTIONS | {"rate": 0.0, "stale_timeout": 0.0} | getattr(request.module, "PARAMETERS", {}))


@pytest.fixture
def state(request: pytest.FixtureRequest, service: TestedNode, client: Client) -> Client:
    """Return the client; the arm has its joints at 0, the ball is far away, and there are no objects and rules."""
    client.empty()  # first: what an earlier test left unread keeps questions from being answered
    client.put([0.0, 0.0], getattr(request.module, "PARAMETERS", {}).get("frame_prefix", ""))
    client.reset()
    return client


@pytest.fixture
def ahead(service: TestedNode, client: Client) -> Client:
    """Return the client; the arm has its joints at 0, and the ball is 1.35 m from the hand."""
    arm.set_state(client, NAME)
    return client


class Client(SceneClient):
    """A node in the test's process: publishes a robot's state, calls services, collects messages."""

    def __init__(self, nodes: list[TestedNode]) -> None:
        super().__init__("test_client")
        self._nodes, self._publishers = nodes, {}

    def turn(self, *seconds: float) -> None:
        """Check the processes of the nodes, then handle messages."""
        for node in self._nodes:
            if node.is_tested:
                node.check()
        super().turn(*seconds)

    def publisher(self, kind: type, topic: str, qos: QoSProfile | int = 10) -> object:
        """Return the publisher of a topic after it has a subscriber."""
        if topic not in self._publishers:
            self._publishers[topic] = publisher = self.node.create_publisher(kind, topic, qos)
            assert self.wait(lambda: publisher.get_subscription_count() > 0), f"no subscriber of {topic}"
            # The subscriber discovers this node a little later than vice versa, and misses messages until then.
            self.spin(0.5)
        return self._publishers[topic]

    def collect(self, kind: type, topic: str, qos: QoSProfile | int = 10) -> list:
        """Return a list; messages of a topic are appended to it."""
        messages: list = []
        self.node.create_subscription(kind, topic, messages.append, qos)
        return messages

    def now(self) -> object:
        """Return the time as a stamp."""
        return self.node.get_clock().now().to_msg()

    def send_joints(self, names: list[str], positions: list[float], stamp: object = None) -> None:
        """Publish joint states."""
        message = JointState(name=names, position=positions)
        message.header.stamp = stamp or self.now()
        self.publisher(JointState, "joint_states").publish(message)

    def send_transform(
        self, parent: str, child: str, pose: np.ndarray, *, static: bool = False, stamp: object = None
    ) -> None:
        """Publish a transform."""
        message = TFMessage(transforms=[to_transform(parent, child, pose, stamp or self.now())])
        topic, qos = ("/tf_static", LATCHED) if static else ("/tf", 100)
        self.publisher(TFMessage, topic, qos).publish(message)

    def send_text(self, topic: str, text: str) -> None:
        """Publish a latched string."""
        self.publisher(String, topic, LATCHED).publish(String(data=text))


@pytest.fixture(scope="module")
def client(loopback_domain: int, nodes: list[TestedNode]) -> Iterator[Client]:
    """Yield a separate client node for the module."""
    client = Client(nodes)
    yield client
    client.close()
