# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot among many things that stand: time of a query, and of things that come and go, by their number.

Run ``python -m superovoid_ros.experiments.benchmarks.large_worlds``; it prints the table of docs/scale.md. The things
of the benchmark `scale` stand on its lattice, on the link `world`, around the iCub's upper body, which moves. Times are
of the processor.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np

from superovoid_ros import Body, Robot
from superovoid_ros.experiments.benchmarks.scale import CUTOFF, PITCH, random_shape
from superovoid_ros.output import machine
from superovoid_ros.resources import share_directory

SIZES = 100, 1000, 10_000, 100_000
_FRAMES, _CHANGES, _SHAPES = 30, 12, 16


def measure(count: int) -> tuple[float, list[float]]:
    """Pairs solved a query; and medians, ms: placing, query, adding, query after it, removing."""
    share = share_directory()
    robot = Robot.load(share / "urdf" / "icub_upper_body.urdf", srdf=share / "config" / "icub_upper_body.srdf")
    rng = np.random.default_rng(0)
    shapes = [random_shape(rng) for _ in range(_SHAPES)]
    side = int(np.ceil(count ** (1.0 / 3.0)))
    cells = PITCH * np.stack(np.meshgrid(*3 * [np.arange(side)], indexing="ij"), -1).reshape(-1, 3)[:count]
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, 3] = cells - 0.5 * PITCH * side
    scene, solved = robot.scene(), []
    scene.add([Body(f"thing_{i}", "world", shapes[i % _SHAPES], poses[i]) for i in range(count)])
    times: list[list[float]] = [[] for _ in range(5)]

    def timed(column: int, call: object, *given: object, **how: object) -> object:
        started = time.thread_time()
        found = call(*given, **how)  # type: ignore[operator]
        times[column].append(time.thread_time() - started)
        return found

    for frame in range(_FRAMES):
        links = robot.forward_kinematics(dict.fromkeys(robot.joint_names, 0.01 * frame), {})
        timed(0, scene.set_link_poses, {**links, "world": np.eye(4)})
        solved.append(timed(1, scene.query, cutoff=CUTOFF).solved)  # type: ignore[attr-defined]
    for _ in range(_CHANGES):
        timed(2, scene.add, Body("seen", "world", shapes[0], np.eye(4)))
        timed(3, scene.query, cutoff=CUTOFF)
        timed(4, scene.remove, "seen")
    return float(np.mean(solved)), [1e3 * float(np.median(column)) for column in times]


def main(sizes: Sequence[int] = SIZES) -> int:
    """Print the table."""
    print(machine())
    print("| things | solved | placing, ms | query, ms | adding, ms | query after it, ms | removing, ms |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for count in sizes:
        solved, found = measure(count)
        print(f"| {count:,} | {solved:.0f} | " + " | ".join(f"{value:.2f}" for value in found) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
