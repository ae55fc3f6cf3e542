# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Play a motion: start both nodes as processes, and query the distances of each frame through the services.

The client requests a frame from the player, then calls the distance service until the response has the stamp of that
frame. So every row of the table belongs to exactly one frame, however slow the machine is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from superovoid.cli.interruption import INTERRUPTS
from superovoid_ros.client.sweep_client import NODES, SweepClient
from superovoid_ros.tools.demo.report import SweepRow
from superovoid_ros.tools.process.child import PATIENCE, NodeError, NodeProcess, late_error, remapping_rules
from superovoid_ros.tools.process.network import own_network

_REPLAY_AFTER = 0.5  # s without the frame at the distance service, after which the frame is played again
_LOST_BECAUSE = "a request or its response was lost; is /dev/shm full, or does another program use these topics?"


class _Client(SweepClient):
    """Client of the services that also checks that both processes are running."""

    def __init__(self, namespace: str) -> None:
        self._processes: dict[str, NodeProcess] = {}
        super().__init__("sweep_demo", namespace, self._check)

    def _check(self) -> None:
        INTERRUPTS.check()
        for process in self._processes.values():
            process.check()

    def wait_for_services(self, processes: dict[str, NodeProcess]) -> None:
        """Wait until both nodes offer their services; from then on, check their processes during each wait."""
        self._processes = processes
        for client in map(self.client_of, NODES):
            if not self.wait(client.service_is_ready, PATIENCE):
                raise late_error(f"service {client.srv_name} did not appear")

    def call(self, service: str, **fields: object) -> object:
        """Return the response of a service; raise `NodeError` if its process ends or takes too long."""
        try:
            return self.request(service, PATIENCE, **fields)
        except TimeoutError:
            raise late_error(f"{service} did not answer", _LOST_BECAUSE) from None

    def play(self, frame: int) -> object:
        """Request that the player publish a frame; return its response."""
        response = self.call("play_frame", frame=frame)
        if not response.success:
            raise NodeError(f"play_frame: {response.message}")
        return response

    def row(self, frame: int, links_a: Sequence[str], links_b: Sequence[str], settings: Mapping[str, str]) -> SweepRow:
        """Play a frame, query both services and return the results, with the other settings of the run."""
        stamp, links = self.play(frame).stamp, {"links_a": list(links_a), "links_b": list(links_b)}
        played = began = time.monotonic()
        while True:
            started = time.perf_counter()
            nearest = self.call("get_min_distance", max_results=1, **links)
            nearest_time = time.perf_counter() - started
            if nearest.success and nearest.distances.header.stamp == stamp:
                break
            self.turn()
            if time.monotonic() > began + PATIENCE:
                problem = f"frame {frame} did not reach the distance service ({nearest.message})"
                raise late_error(problem, _LOST_BECAUSE)
            if time.monotonic() > played + _REPLAY_AFTER:
                # Joint states and transforms are published once and may be lost, especially the first ones of a new
                # publisher.
                stamp = self.play(frame).stamp
                played = time.monotonic()
        started = time.perf_counter()
        deep = self.call("get_penetration", **links)
        deep_time = time.perf_counter() - started
        if not deep.success or deep.distances.header.stamp != stamp:
            raise NodeError(f"frame {frame}: get_penetration: {deep.message}")
        pair = nearest.distances.pairs[0]
        counts = deep.distances
        return SweepRow(
            **settings,
            links_a=" ".join(links_a),
            links_b=" ".join(links_b),
            frame=frame,
            pairs=counts.pairs_considered,
            culled_by_spheres=counts.pairs_considered - counts.past_sphere,
            culled_by_boxes=counts.past_sphere - counts.past_obb,
            solved_for_penetration=counts.solved,
            intersecting=counts.intersecting,
            answers_not_proved=nearest.distances.unproven + counts.unproven,
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
    """Start both nodes in a separate domain, query the distances of all frames, and stop the nodes.

    Parameters
    ----------
    frames : sequence of int, optional
        Frames to query; default: all.
    links_a, links_b : sequence of str
        Links or groups on either side of the queried pairs.
    motion : str
        One of `superovoid_ros.motions.replays.REPLAYS`.
    representation : str
        Contact geometry, if the robot has several.
    on_row : callable
        Called with each row and the total number of rows.

    Returns
    -------
    list of SweepRow
        One row for each frame.

    Raises
    ------
    NodeError
        If a node ends or does not respond.
    """
    with ExitStack() as stack:
        namespace = stack.enter_context(own_network("demo"))
        client = _Client(namespace)
        stack.callback(client.close)
        played = {"paused": True, "publish_robot_description": True, "motion": motion}
        processes = {}
        for node, parameters in (
            ("distance_service", {"representation": representation, "rate": 0.0}),
            ("sweep_player", played),
        ):
            processes[node] = NodeProcess(f"superovoid_ros.nodes.{node}", parameters, remapping_rules(namespace))
            stack.callback(processes[node].stop)
        client.wait_for_services(processes)
        if frames is None:
            frames = range(client.play(0).frames)
        rows, settings = [], {"motion": motion, "representation": representation}
        for frame in frames:
            rows.append(client.row(frame, links_a, links_b, settings))
            on_row(rows[-1], len(frames))
        return rows
