"""A motion through the services: both nodes as processes, and a client that walks the frames.

The client asks the player for a frame, then the distance service until the answer bears that frame's stamp, so that
every row of the table belongs to exactly one frame whatever the machine's speed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from superovoid_interfaces.srv import GetMinDistance, GetPenetration, PlayFrame

from superovoid_ros.experiments.sweep_report import SweepRow
from superovoid_ros.nodes.child import NodeError, NodeProcess

# The first start on a machine compiles the kernels.
_START_TIMEOUT = 180.0
_ANSWER_TIMEOUT = 10.0
_REPLAY_AFTER = 0.5


class DemoError(NodeError):
    """The demo cannot go on."""


class _Client:
    """Calls services while it watches over the processes."""

    def __init__(self, processes: Sequence[NodeProcess]) -> None:
        self._processes = processes
        self._context = Context()
        rclpy.init(context=self._context)
        self._node = Node("sweep_demo", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._play = self._node.create_client(PlayFrame, "sweep_player/play_frame")
        self._distance = self._node.create_client(GetMinDistance, "distance_service/get_min_distance")
        self._penetration = self._node.create_client(GetPenetration, "distance_service/get_penetration")

    def close(self) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def wait_for_services(self) -> None:
        deadline = time.monotonic() + _START_TIMEOUT
        for client in (self._play, self._distance, self._penetration):
            while not client.service_is_ready():
                self._turn(deadline, f"service {client.srv_name} did not appear")

    def _turn(self, deadline: float, problem: str) -> None:
        for process in self._processes:
            process.check()
        if time.monotonic() > deadline:
            raise DemoError(f"{problem} in time")
        self._executor.spin_once(timeout_sec=0.02)

    def _answer(self, future: Future, name: str) -> object:
        deadline = time.monotonic() + _ANSWER_TIMEOUT
        while not future.done():
            self._turn(deadline, f"{name} did not answer")
        return future.result()

    def play(self, frame: int) -> PlayFrame.Response:
        response = self._answer(self._play.call_async(PlayFrame.Request(frame=frame)), "play_frame")
        if not response.success:
            raise DemoError(f"play_frame: {response.message}")
        return response

    def ask(self, frame: int, links_a: Sequence[str], links_b: Sequence[str]) -> SweepRow:
        """Play a frame and ask both services about it."""
        stamp = self.play(frame).stamp
        selection = {"links_a": list(links_a), "links_b": list(links_b)}
        nearest_request = GetMinDistance.Request(**selection, max_results=1)
        deadline = time.monotonic() + _START_TIMEOUT
        played = time.monotonic()
        while True:
            started = time.perf_counter()
            nearest = self._answer(self._distance.call_async(nearest_request), "get_min_distance")
            nearest_time = time.perf_counter() - started
            if nearest.success and nearest.distances.header.stamp == stamp:
                break
            self._turn(deadline, f"frame {frame} did not reach the distance service ({nearest.message})")
            if time.monotonic() > played + _REPLAY_AFTER:
                # Joint states and transforms are sent once and may be lost, the first of a player above all.
                stamp = self.play(frame).stamp
                played = time.monotonic()
        started = time.perf_counter()
        request = GetPenetration.Request(**selection)
        deep = self._answer(self._penetration.call_async(request), "get_penetration")
        deep_time = time.perf_counter() - started
        if not deep.success or deep.distances.header.stamp != stamp:
            raise DemoError(f"frame {frame}: get_penetration: {deep.message}")
        pair = nearest.distances.pairs[0]
        counts = deep.distances
        return SweepRow(
            frame=frame,
            pairs=counts.pairs_considered,
            past_sphere=counts.past_sphere,
            past_obb=counts.past_obb,
            solved=counts.solved,
            intersecting=counts.intersecting,
            unproven=nearest.distances.unproven + counts.unproven,
            distance=pair.distance,
            body_a=pair.body_a,
            body_b=pair.body_b,
            distance_solve_time=nearest.distances.solve_time,
            distance_service_time=nearest_time,
            penetration_solve_time=counts.solve_time,
            penetration_service_time=deep_time,
        )


def run_sweep(
    frames: Sequence[int] | None,
    links_a: Sequence[str],
    links_b: Sequence[str],
    *,
    motion: str = "hands",
    representation: str = "mixed",
    on_row: Callable[[SweepRow, int], None] = lambda row, total: None,
) -> list[SweepRow]:
    """Start both nodes, walk through the motion, end them.

    Parameters
    ----------
    frames : sequence of int, optional
        Frames to ask about; default: all.
    links_a, links_b : sequence of str
        Links or groups whose pairs are asked about.
    motion : str
        One of `superovoid_ros.experiments.replays.REPLAYS`.
    representation : str
        Contact geometry, where the robot has several.
    on_row : callable
        Called with each row and the number of rows to come in all.

    Returns
    -------
    list of SweepRow
        One row a frame.

    Raises
    ------
    NodeError
        If a node ends or a service does not answer.
    """
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    with ExitStack() as stack:
        processes = []
        for module, parameters in (
            ("superovoid_ros.nodes.distance_service", {"rate": 0.0, "representation": representation}),
            (
                "superovoid_ros.nodes.sweep_player",
                {"paused": True, "publish_robot_description": True, "motion": motion},
            ),
        ):
            processes.append(NodeProcess(module, parameters))
            stack.callback(processes[-1].stop)
        client = _Client(processes)
        stack.callback(client.close)
        client.wait_for_services()
        if frames is None:
            frames = range(client.play(0).frames)
        rows = []
        for frame in frames:
            rows.append(client.ask(frame, links_a, links_b))
            on_row(rows[-1], len(frames))
        return rows
