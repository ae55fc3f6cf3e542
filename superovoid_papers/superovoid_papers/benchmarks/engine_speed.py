# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Speed of the engine in compiled loops and batches, of `distance()` called from Python, and of a scene of two hands.

Each pair is timed separately, several times. The time of a pair is the median, which other programs hardly affect, less
the cost of an empty call. Medians and p99 are over pairs.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from scipy.spatial.transform import Rotation

from superovoid import distance, distances
from superovoid.contact import broadcasting
from superovoid.contact.columns import RESULT, RESULT_LENGTH, STATE_LENGTH
from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE
from superovoid.contact.lanes import many_pairs
from superovoid.contact.one_pair import WORK_LENGTH
from superovoid.contact.signed_distance import answer_pairs
from superovoid.output import REPORT, print_table
from superovoid.shapes import Superovoid
from superovoid.shapes.kernels import bodies, kinds
from superovoid.values.status import UNPROVEN
from superovoid_papers.benchmarks import many_states
from superovoid_ros.motions.grasp_sweep import read_sweep

FloatArray = NDArray[np.float64]

_WARM_TURN = math.radians(0.1)
_WORST_OF = 200  # pairs per family for the worst call
_WHOLE = 2048  # pairs timed with their searches, which take nearly all of the time
_EVERY = 10  # timed overlaps: every tenth state of the hands


class Pairs:
    """Packed bodies and poses of many pairs, with warm starts."""

    def __init__(self, shapes: FloatArray, poses: FloatArray) -> None:
        """Store rows (2, n, 7) of parameters and poses (2, n, 4, 4)."""
        self.count = shapes.shape[1]
        self.bodies = np.zeros((2, self.count, kinds.ROW_LENGTH))
        for packed, rows in zip(self.bodies, shapes, strict=True):
            for row, numbers in zip(packed, rows, strict=True):
                bodies.pack(row, *numbers)
        self.shapes = shapes
        self.poses = np.ascontiguousarray(poses)
        self.states = np.zeros((self.count, STATE_LENGTH))
        self.out = np.empty((self.count, RESULT_LENGTH))
        self._work, number = np.empty(WORK_LENGTH), np.arange(self.count)
        sides = zip(self.bodies, self.poses, strict=True)
        self._bundle = broadcasting.Pairs(
            *(broadcasting.Side(rows, np.zeros(1), number, poses) for rows, poses in sides)
        )

    def forget(self) -> None:
        """Make the next answers cold and store no state of them, as `distance` and `distances` do."""
        self.states[:] = 0.0

    def solve(self, first: int, last: int) -> None:
        """Solve a range of the pairs from their current states."""
        answer_pairs(self._bundle, np.arange(first, last), TOLERANCE, SEARCH_BUDGET, self.states, self._work, self.out)

    def solve_batch(self, threads: int) -> int:
        """Solve all pairs in lanes; return the number left to the scalar solver."""
        return self._in_lanes(np.arange(self.count), threads)

    def proved_at_once(self) -> NDArray[np.bool_]:
        """Return whether lanes answer each pair without the scalar solver."""
        return np.array([self._in_lanes(np.array([i]), 1) == 0 for i in range(self.count)])

    def _in_lanes(self, which: NDArray[np.int64], threads: int) -> int:
        asked = False, TOLERANCE, SEARCH_BUDGET, self.states, self.out, threads
        return many_pairs.solve_batch(self._bundle, which, *asked)


def paper_battery(count: int, seed: int) -> Pairs:
    """Draw pairs of Gonçalves et al. 2017, section 5.1: unit axes, random exponents, tapers and orientations."""
    rng = np.random.default_rng(seed)
    shapes = np.ones((2, count, 7))
    shapes[..., 3:5] = rng.uniform(0.3, 1.1, (2, count, 2))
    shapes[..., 5:7] = rng.uniform(-0.4, 0.4, (2, count, 2))
    poses = np.tile(np.eye(4), (2, count, 1, 1))
    for side in range(2):
        poses[side, :, :3, :3] = Rotation.random(count, rng=rng).as_matrix()
    poses[1, :, 1, 3] = 2.21
    return Pairs(shapes, poses)


def two_spheres() -> Pairs:
    """Return a pair of unit spheres, whose answer takes little time compared with the call from Python."""
    return Pairs(np.ones((2, 1, 7)) * (1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0), np.tile(np.eye(4), (2, 1, 1, 1)))


def _times(pairs: Pairs, reset: Callable[[], None], repeats: int) -> FloatArray:
    """Return the microseconds of each pair beyond those of two spheres, which mostly are the call from Python.

    The spheres are solved right before each pair: processors change their pace. The median of a few runs is returned,
    which other programs hardly affect.
    """
    spheres = two_spheres()
    samples = np.empty((repeats, pairs.count))
    for repeat in range(repeats):
        reset()
        for i in range(pairs.count):
            started = time.perf_counter()
            spheres.solve(0, 1)
            called = time.perf_counter()
            pairs.solve(i, i + 1)
            samples[repeat, i] = (time.perf_counter() - called) - (called - started)
    return 1e6 * np.median(samples, axis=0)


def engine(count: int, repeats: int, seed: int) -> Table:
    """Time the engine on the paper's battery, cold and after a turn of 0.1 degrees."""
    pairs = paper_battery(count, seed)
    pairs.solve(0, count)
    overlapping = pairs.out[:, RESULT.distance] < 0.0

    def forget() -> None:
        pairs.states[:] = 0.0

    cold = _times(pairs, forget, repeats)
    kept = pairs.states.copy()
    turn = Rotation.from_rotvec([0.0, 0.0, _WARM_TURN]).as_matrix()
    pairs.poses[1, :, :3, :3] = pairs.poses[1, :, :3, :3] @ turn

    def recall() -> None:
        pairs.states[:] = kept

    warm = _times(pairs, recall, repeats)
    title = f"Engine, paper's battery, {count} pairs, seed {seed}; microseconds a pair"
    table = Table(title=title, title_justify="left")
    for name in ("", "pairs", "cold median", "p99", "worst", "warm median", "p99", "worst", "certified"):
        table.add_column(name, justify="right" if name else "left")
    certified = pairs.out[:, RESULT.status] == 0
    for name, rows in (("all", overlapping | True), ("apart", ~overlapping), ("overlapping", overlapping)):
        if not rows.any():
            continue
        table.add_row(
            name,
            str(rows.sum()),
            *(
                f"{value:.2f}"
                for t in (cold, warm)
                for value in (np.median(t[rows]), np.quantile(t[rows], 0.99), t[rows].max())
            ),
            f"{100.0 * certified[rows].mean():.1f} %",
        )
    return table


def worst_calls(count: int, repeats: int, seed: int) -> Table:
    """Time pairs of every family of `never-wrong`, cold: a planner waits for the worst call.

    Times are processor times, the least of a few runs of each pair, to exclude delays by other programs.
    """
    from superovoid.testing.random_pairs import FAMILIES, generate

    title = f"Cold calls by family, {count} pairs each, seed {seed}; microseconds of processor time"
    table = Table(title=title, title_justify="left")
    for name in ("", "median", "p99", "worst", "unproven"):
        table.add_column(name, justify="right" if name else "left")
    longest = 0.0
    for family in FAMILIES:
        drawn = generate(seed, family, 0, count)[1]
        pairs = Pairs(drawn.rows, drawn.poses())
        spent = np.full(count, math.inf)
        for _ in range(repeats):
            pairs.forget()
            for i in range(count):
                started = time.thread_time()
                pairs.solve(i, i + 1)
                spent[i] = min(spent[i], 1e6 * (time.thread_time() - started))
        unproven = (pairs.out[:, RESULT.status].astype(np.int64) & UNPROVEN != 0).sum()
        longest = max(longest, float(spent.max()))
        numbers = (np.median(spent), np.quantile(spent, 0.99), spent.max())
        table.add_row(family, *(f"{number:.0f}" for number in numbers), str(unproven))
    table.add_row("all", "", "", f"{longest:.0f}", "")
    return table


def batch(repeats: int, seed: int, count: int = 10_240) -> Table:
    """Time the compiled scalar loop and batches in lanes, one thread and two, in turn; the fastest of several runs.

    Times are processor times, which other processes disturb least; the speed-up of two threads is of elapsed time.
    """
    pairs = paper_battery(count, seed)
    at_once = pairs.proved_at_once()
    turn = Rotation.from_rotvec([0.0, 0.0, _WARM_TURN]).as_matrix()
    title = f"Batches, paper's battery, seed {seed}; microseconds of processor time a pair"
    table = Table(title=title, title_justify="left")
    for name in ("", "pairs", "left open", "scalar loop", "lanes", "speed-up", "2 threads", "speed-up by threads"):
        table.add_column(name, justify="right" if name else "left")
    whole = slice(0, _WHOLE)
    for name, rows, runs in (("proved at once", at_once, 20 * repeats), ("all", whole, repeats)):
        some = Pairs(pairs.shapes[:, rows], pairs.poses[:, rows].copy())
        for start in ("cold", "warm"):
            some.forget()
            if start == "warm":
                some.states[:] = 0.0
                some.solve(0, some.count)
            kept = some.states.copy()
            if start == "warm":
                some.poses[1, :, :3, :3] = some.poses[1, :, :3, :3] @ turn
            processor, elapsed = np.empty((3, runs)), np.empty((3, runs))
            for run in range(runs):
                for k in range(3):  # the scalar loop, lanes in one thread, in two
                    some.states[:] = kept
                    began, spent = time.perf_counter(), time.process_time()
                    left = some.solve_batch(k) if k else some.solve(0, some.count)
                    elapsed[k, run], processor[k, run] = time.perf_counter() - began, time.process_time() - spent
            scalar, one, two = 1e6 * processor.min(axis=1) / some.count
            speed_up = elapsed[1].min() / elapsed[2].min()
            figures = (f"{scalar:.2f}", f"{one:.2f}", f"{scalar / one:.1f}", f"{two:.2f}", f"{speed_up:.2f}")
            table.add_row(f"{name}, {start}", str(some.count), f"{100.0 * left / some.count:.1f} %", *figures)
    return table


def python_calls(repeats: int, seed: int) -> float:
    """Return the median microseconds of `distance()` with its result object."""
    pairs = paper_battery(200, seed)
    shapes = [[Superovoid.from_goncalves(row[:3], row[3:5], row[5:]) for row in rows] for rows in pairs.shapes]
    samples = []
    for _ in range(repeats):
        for i in range(pairs.count):
            started = time.perf_counter()
            distance(shapes[0][i], pairs.poses[0, i], shapes[1][i], pairs.poses[1, i])
            samples.append(time.perf_counter() - started)
    return 1e6 * float(np.median(samples))


def lists_of_shapes(repeats: int, seed: int) -> str:
    """Time `distances()` on lists of shapes, and by turns the kernels that it calls, in one thread."""
    pairs = paper_battery(_WHOLE, seed)
    shapes = [[Superovoid.from_goncalves(row[:3], row[3:5], row[5:]) for row in rows] for rows in pairs.shapes]
    spent = np.empty((2, repeats))
    for run in range(repeats):
        pairs.forget()
        began = time.process_time()
        pairs.solve_batch(1)
        spent[0, run] = time.process_time() - began
        began = time.process_time()
        distances(shapes[0], pairs.poses[0], shapes[1], pairs.poses[1], threads=1)
        spent[1, run] = time.process_time() - began
    kernels, call = 1e6 * spent.min(axis=1) / pairs.count
    return f"distances() on lists of {_WHOLE} shapes: {call:.2f} us a pair, {call - kernels:.2f} beyond the kernels"


def overlaps_of_hands(every: int = _EVERY) -> Pairs:
    """Return the overlapping pairs of overlapping hands, the last row of `many_states`."""
    robot = many_states.hands()
    scene, listed = robot.scene(), robot.body_pairs(["left_hand"], ["right_hand"])
    *_, (_, positions, bases) = many_states.regimes(robot)
    parameters = np.array(
        [[*b.shape.semi_axes, b.shape.section_exponent, b.shape.profile_exponent, *b.shape.taper] for b in scene.bodies]
    )
    shapes, poses = [], []
    for state in range(0, len(positions), every):
        joints = dict(zip(robot.joint_names, positions[state], strict=True))
        base_poses = {link: pose if pose.ndim == 2 else pose[state] for link, pose in bases.items()}
        scene.set_link_poses(robot.forward_kinematics(joints, base_poses))
        found = scene.query(max_distance=0.0, pairs=listed)
        overlapping = np.stack([found.body_a, found.body_b])[:, found.distance < 0.0]
        shapes.append(parameters[overlapping])
        poses.append(scene.poses[overlapping])
    return Pairs(np.concatenate(shapes, axis=1), np.concatenate(poses, axis=1))


def overlaps(repeats: int) -> Table:
    """Time the overlaps of the two hands, cold: one by one, and as a batch in one thread."""
    pairs = overlaps_of_hands()

    pairs.forget()
    pairs.solve(0, pairs.count)
    alone = _times(pairs, pairs.forget, repeats)
    spent = []
    for _ in range(repeats):
        pairs.forget()
        began = time.process_time()
        pairs.solve_batch(1)
        spent.append(time.process_time() - began)
    unproven = (pairs.out[:, RESULT.status].astype(np.int64) & UNPROVEN != 0).sum()
    table = Table(title="Overlaps of two hands, cold; microseconds a pair", title_justify="left")
    for name in ("pairs", "median", "p99", "worst", "mean", "mean in a batch", "unproven"):
        table.add_column(name, justify="right")
    figures = (np.median(alone), np.quantile(alone, 0.99), alone.max(), alone.mean(), 1e6 * min(spent) / pairs.count)
    table.add_row(str(pairs.count), *(f"{figure:.1f}" for figure in figures), str(unproven))
    return table


def hands(repeats: int) -> Table:
    """Time queries of the two hands over the grasp sweep, all 441 pairs of finger links."""
    robot, sweep = read_sweep()
    pairs = robot.body_pairs(["left_fingers"], ["right_fingers"])
    poses = [robot.forward_kinematics(frame.positions, frame.base_poses) for frame in sweep]
    title = "Scene, two hands, 441 pairs; milliseconds a query over the frames of the sweep"
    table = Table(title=title, title_justify="left")
    for name in ("max_distance", "pairs solved", "same pose", "same pose p99", "next frame", "next frame p99"):
        table.add_column(name, justify="right")
    for max_distance in (math.inf, 0.03, 0.01, 0.0):
        scene = robot.scene()
        same, following = np.empty(len(poses)), np.empty(len(poses))
        solved = 0
        for i, links in enumerate(poses):
            scene.set_link_poses(links)
            started = time.perf_counter()
            solved += scene.query(max_distance=max_distance, pairs=pairs).statistics.solved
            following[i] = time.perf_counter() - started
            again = []
            for _ in range(repeats):
                started = time.perf_counter()
                scene.query(max_distance=max_distance, pairs=pairs)
                again.append(time.perf_counter() - started)
            same[i] = np.median(again)
        table.add_row(
            "none" if math.isinf(max_distance) else f"{1e3 * max_distance:.0f} mm",
            f"{solved / len(poses):.0f}",
            *(f"{1e3 * v:.3f}" for t in (same, following[1:]) for v in (np.median(t), np.quantile(t, 0.99))),
        )
    return table


def main(pairs: int, repeats: int, seed: int) -> int:
    """Print all measurements."""
    console = REPORT.console()
    console.print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    print_table(console, engine(pairs, repeats, seed))
    print_table(console, worst_calls(max(1, min(_WORST_OF, pairs)), min(3, repeats), seed))
    print_table(console, batch(repeats, seed))
    console.print(f"distance() called from Python: median {python_calls(repeats, seed):.1f} us")
    console.print(lists_of_shapes(repeats, seed))
    print_table(console, hands(repeats))
    print_table(console, overlaps(repeats))
    return 0
