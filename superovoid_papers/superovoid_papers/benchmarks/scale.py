# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Time of a frame against the number of bodies, at constant density, and the share of each step.

Superovoids are on a lattice, one per cell, and each moves and rotates a little every frame. A frame is that of a
simulation: set all poses, query the pairs within max_distance. The benchmark measures it as a whole and by its stages:
placing the bodies' bounding volumes (`Scene.set_link_poses`), culling (`Scene.candidates`), and the rest of the query.
For comparison it tests every pair of bounding spheres. All times are processor times, which other programs hardly
affect.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.table import Table
from scipy.spatial.transform import Rotation

from superovoid import Body, Scene, Superovoid
from superovoid.output import REPORT, CsvRow, column, leave, machine, output_folder, print_table, unitless
from superovoid.viewing.palette import BLUE, GREEN, RED

FloatArray = NDArray[np.float64]

SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
MAX_DISTANCE = 0.02
"""Largest distance of the queries, m."""
PITCH = 0.22
"""Pitch of the lattice, m: one body in a cube of this edge."""
_SEMI_AXES = (0.04, 0.1)  # m
_SHAPES = 64
_AMPLITUDE, _STEP = 0.01, 0.002  # of the motion, m, and its largest step per frame along an axis
_TURN = math.radians(1.0)  # rotation of a body per frame
_LARGEST_LIST = 2000  # bodies
_WARM_UP = 5  # frames


@dataclass(frozen=True)
class Measurement(CsvRow):
    """Times for one number of bodies: processor times of a frame, medians unless stated."""

    bodies: int
    pairs: int
    """allowed"""
    solved: float = unitless()
    """pairs solved by the engine, mean of the frames"""
    reported: float = unitless()
    touching: float = unitless()
    """overlapping pairs"""
    placing: float = column("placing_ms")
    culling: float = column("culling_ms")
    solving: float = column("solving_ms")
    """the query without its culling, including Python's overhead"""
    frame: float = column("frame_ms")
    """placing and query"""
    frame_p99: float = column("frame_p99_ms")
    by_tree: float = column("culling_by_tree_ms")
    """time of culling by the tree; the scene chooses it for many pairs"""
    by_list: float = column("culling_by_list_ms")
    """time of culling by testing all pairs; nan if it was skipped"""


def random_shape(rng: np.random.Generator) -> Superovoid:
    """Draw a convex superovoid."""
    size = np.exp(rng.uniform(*np.log(_SEMI_AXES), 3))
    epsilon = rng.uniform(0.4, 1.2, 2)
    largest = min(0.3, 0.95 * (1.0 - 0.5 * epsilon[1]) * 2.0 ** (0.5 * epsilon[1]))
    taper = rng.uniform(-largest, largest)
    return Superovoid.from_goncalves(size, epsilon, (taper, taper))


def motion(count: int, frames: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Generate the poses of all bodies, shape (count, 4, 4), m, frame by frame."""
    side = math.ceil(count ** (1.0 / 3.0))
    cells = np.stack(np.meshgrid(*3 * [np.arange(side)], indexing="ij"), axis=-1).reshape(-1, 3)
    cells = cells[np.argsort(np.linalg.norm(cells - 0.5 * (side - 1), axis=1), kind="stable")[:count]]
    rest = PITCH * cells
    phase = rng.uniform(0.0, 2.0 * math.pi, (count, 3))
    first = Rotation.random(count, rng=rng)
    axis = rng.normal(size=(count, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    for frame in range(frames):
        poses = np.tile(np.eye(4), (count, 1, 1))
        poses[:, :3, :3] = (first * Rotation.from_rotvec(frame * _TURN * axis)).as_matrix()
        poses[:, :3, 3] = rest + _AMPLITUDE * np.sin(frame * _STEP / _AMPLITUDE + phase)
        yield poses


def measure(count: int, frames: int, seed: int) -> Measurement:
    """Time the frames of a scene with `count` bodies."""
    rng = np.random.default_rng(seed)
    shapes = [random_shape(rng) for _ in range(_SHAPES)]
    scene = Scene([Body(f"body_{i}", f"link_{i}", shapes[i % _SHAPES]) for i in range(count)])
    times, numbers, by_list = [], [], []

    def culling_time(poses: FloatArray, by: Literal["list", "tree"] | None = None) -> float:
        scene.set_link_poses(poses)  # the tree needs a refit
        started = time.thread_time()
        scene.candidates(MAX_DISTANCE, by=by)
        return time.thread_time() - started

    for poses in motion(count, frames + _WARM_UP, rng):
        started = time.thread_time()
        scene.set_link_poses(poses)
        placed = time.thread_time()
        result = scene.query(max_distance=MAX_DISTANCE)
        ended = time.thread_time()
        numbers.append((result.statistics.solved, len(result), result.statistics.intersecting))
        culled = culling_time(poses)
        times.append([placed - started, culled, ended - placed - culled, ended - started, culling_time(poses, "tree")])
        if count <= _LARGEST_LIST:
            by_list.append(culling_time(poses, "list"))
    milliseconds = 1e3 * np.array(times[_WARM_UP:])
    placing, culling, solving, frame, by_tree = (float(value) for value in np.median(milliseconds, axis=0))
    return Measurement(
        count,
        result.statistics.pairs,
        *(float(value) for value in np.mean(numbers[_WARM_UP:], axis=0)),
        placing,
        culling,
        solving,
        frame,
        float(np.quantile(milliseconds[:, 3], 0.99)),
        by_tree,
        1e3 * float(np.median(by_list)) if by_list else math.nan,
    )


def growth(rows: list[Measurement], stage: str) -> float:
    """Return the exponent p of the time ~ bodies^p of a stage, least squares over the scenes of 100 bodies and more."""
    large = [row for row in rows if row.bodies >= 100]
    return float(
        np.polyfit(np.log([row.bodies for row in large]), np.log([getattr(row, stage) for row in large]), 1)[0]
    )


def table(rows: list[Measurement], seed: int) -> Table:
    """Return the table of measurements."""
    title = f"Scene at constant density, max_distance {1e3 * MAX_DISTANCE:.0f} mm, seed {seed}"
    result = Table(title=title, title_justify="left")
    for name in (
        "bodies", "pairs", "solved", "touching", "placing", "culling", "solving", "frame", "frame_p99", "by_tree",
        "by_list",
    ):  # fmt: skip
        result.add_column(Measurement.heading(name), justify="right")
    for row in rows:
        result.add_row(
            f"{row.bodies:,}",
            f"{row.pairs:,}",
            f"{row.solved:.0f}",
            f"{row.touching:.0f}",
            *(
                f"{value:.3f}"
                for value in (row.placing, row.culling, row.solving, row.frame, row.frame_p99, row.by_tree)
            ),
            "-" if math.isnan(row.by_list) else f"{row.by_list:.3f}",
        )
    if sum(row.bodies >= 100 for row in rows) > 1:
        exponents = (f"{growth(rows, stage):.2f}" for stage in ("placing", "culling", "solving", "frame"))
        result.add_section()
        result.add_row("exponent", "", "", "", *exponents, "", "", "")
    return result


def plot(rows: list[Measurement]) -> Figure:
    """Draw the time of a frame and of its stages over the number of bodies."""
    figure = Figure(figsize=(7.0, 5.0), layout="constrained")
    axes = figure.add_subplot()
    bodies = np.array([row.bodies for row in rows])
    frame = np.array([row.frame for row in rows])
    axes.fill_between(bodies, frame, [row.frame_p99 for row in rows], color="0.85", label="frame, median to p99")
    axes.plot(bodies, frame, "k-o", label="frame")
    stages = (
        ("solving", "solving", BLUE, "-o"),
        ("culling", "culling", RED, "-o"),
        ("by_tree", "culling, if always by the tree", RED, "--"),
        ("by_list", "culling, if always pair by pair", RED, ":"),
        ("placing", "placing", GREEN, "-o"),
    )
    for stage, label, colour, style in stages:
        axes.plot(bodies, [getattr(row, stage) for row in rows], style, color=colour, markersize=4, label=label)
    middle = len(rows) // 2
    axes.plot(bodies, frame[middle] * bodies / bodies[middle], "--", color="0.5", linewidth=1, label="proportional")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("bodies")
    axes.set_ylabel("milliseconds of one core a frame")
    axes.grid(True, which="major", color="0.9")
    axes.legend(frameon=False)
    return figure


def main(frames: int, seed: int, output: Path, sizes: tuple[int, ...] = SIZES) -> int:
    """Measure, print, and write CSV and plot."""
    console = REPORT.console()
    output_folder(output)
    rows = []
    for count in sizes:
        rows.append(measure(count, frames, seed))
        console.print(f"{count:,} bodies: {rows[-1].frame:.2f} ms a frame", highlight=False)
    print_table(console, table(rows, seed))
    about = f"superovoid dev bench scale --frames {frames} --seed {seed}", machine()
    return leave(console, output, {"scale": rows}, {"scale": partial(plot, rows)}, about)
