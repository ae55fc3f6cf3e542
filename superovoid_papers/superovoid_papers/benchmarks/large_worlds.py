# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot among many fixed objects: time of a query, and of adding and removing objects, by their number.

Run ``python -m superovoid_papers.benchmarks.large_worlds``; it prints the table of docs/reference/figures_scenes.md.
The objects of the benchmark `scale`, or boxes of the same size, are on its lattice, on the link `world`, around the
iCub's upper body, which moves. The benchmark then adds one object after another near the robot, queries and removes it.
Finally it removes one after another among the others and adds it again under another name, with a query after each.
Times are processor times.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np

from superovoid import Body, Robot, Scene
from superovoid.output import machine
from superovoid.shapes import Box, Shape
from superovoid_papers.benchmarks.scale import MAX_DISTANCE, PITCH, random_shape
from superovoid_ros.resources import share_directory

SIZES = 100, 1000, 10_000, 100_000
_FRAMES, _CHANGES, _EXCHANGES, _SHAPES = 30, 12, 40, 16


def measure(count: int, boxes: bool = False) -> tuple[float, list[float]]:
    """Return pairs solved per query; median ms of placing, query, adding, its query, removing, exchange, its most."""
    share = share_directory()
    robot = Robot.load(share / "urdf" / "icub_upper_body.urdf", srdf=share / "config" / "icub_upper_body.srdf")
    rng = np.random.default_rng(0)
    shapes: list[Shape] = [random_shape(rng) for _ in range(_SHAPES)]
    if boxes:
        shapes = [Box(2.0 * shape.obb().half_extents) for shape in shapes]
    side = int(np.ceil(count ** (1.0 / 3.0)))
    cells = PITCH * np.stack(np.meshgrid(*3 * [np.arange(side)], indexing="ij"), -1).reshape(-1, 3)[:count]
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, 3] = cells - 0.5 * PITCH * side
    scene, solved = robot.scene(), []
    scene.add([Body(f"thing_{i}", "world", shapes[i % _SHAPES], poses[i]) for i in range(count)])
    times: list[list[float]] = [[] for _ in range(6)]

    def time_call(column: int, call: object, *given: object, **how: object) -> object:
        started = time.thread_time()
        found = call(*given, **how)  # type: ignore[operator]
        times[column].append(time.thread_time() - started)
        return found

    for frame in range(_FRAMES):
        links = robot.forward_kinematics(dict.fromkeys(robot.joint_names, 0.01 * frame), {})
        time_call(0, scene.set_link_poses, {**links, "world": np.eye(4)})
        solved.append(time_call(1, scene.query, max_distance=MAX_DISTANCE).statistics.solved)  # type: ignore[attr-defined]
    for _ in range(_CHANGES):
        time_call(2, scene.add, Body("seen", "world", shapes[0], np.eye(4)))
        time_call(3, scene.query, max_distance=MAX_DISTANCE)
        time_call(4, scene.remove, "seen")
    first = len(scene.bodies) - count
    for number, i in enumerate(rng.integers(count, size=_EXCHANGES).tolist()):
        time_call(5, _exchange, scene, first + i, Body(f"moved_{number}", "world", shapes[i % _SHAPES], poses[i]))
    medians = [float(np.median(column)) for column in times]
    return float(np.mean(solved)), [1e3 * value for value in (*medians, max(times[5]))]


def _exchange(scene: Scene, place: int, moved: Body) -> None:
    """Remove the body at an index, append another one, with a query after each."""
    scene.remove(scene.bodies[place].name)
    scene.query(max_distance=MAX_DISTANCE)
    scene.add(moved)
    scene.query(max_distance=MAX_DISTANCE)


def main(sizes: Sequence[int] = SIZES) -> int:
    """Print the table."""
    print(machine())
    columns = "placing", "query", "adding", "query after it", "removing", "exchange", "most of these"
    print("| things | solved | " + " | ".join(f"{column}, ms" for column in columns) + " |")
    print("|---" * (2 + len(columns)) + "|", flush=True)
    for boxes in (False, True):
        for count in sizes:
            solved, found = measure(count, boxes)
            what = f"{count:,} {'boxes' if boxes else 'superovoids'}"
            print(f"| {what} | {solved:.0f} | " + " | ".join(f"{value:.2f}" for value in found) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
