# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cost of queries: solver calls and support points, on random convex superovoids and two hands.

``python -m superovoid_papers.benchmarks.query_counts`` prints the tables of docs/reference/figures.md. Counts depend on
the seed only, times on the machine.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from scipy.spatial.transform import Rotation

from superovoid import Body, Scene
from superovoid.contact import ImpactStatus, Motion, Proof, are_closer, distances, time_of_impact
from superovoid.output import REPORT, print_table
from superovoid.shapes import Superovoid
from superovoid_papers.benchmarks import scale
from superovoid_ros.motions.grasp_sweep import read_sweep

FloatArray = NDArray[np.float64]


def random_shape(rng: np.random.Generator, largest: float = 2.0) -> Superovoid:
    """Draw a convex superovoid with equal tapers, semi-axes from 0.5 to `largest`, exponents in [0.3, 1.7]."""
    epsilon = rng.uniform(0.3, 1.7, 2)
    limit = 0.9 * min(0.5, (1.0 - 0.5 * epsilon[1]) * 2.0 ** (0.5 * epsilon[1]))
    return Superovoid.from_goncalves(
        np.exp(rng.uniform(np.log(0.5), np.log(largest), 3)), epsilon, [rng.uniform(-limit, limit)] * 2
    )


def random_poses(rng: np.random.Generator, count: int, spread: float) -> np.ndarray:
    """Draw random rotations, with origins uniform in a cube of half-width `spread`."""
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = Rotation.random(count, rng=rng).as_matrix()
    poses[:, :3, 3] = rng.uniform(-spread, spread, (count, 3))
    return poses


def median_time(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the median seconds of a few runs, after one untimed run."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def comparisons(count: int, seed: int) -> Table:
    """Return proofs and cost of decisions about pairs with origins up to three times the mean size apart."""
    rng = np.random.default_rng(seed)
    a = [random_shape(rng) for _ in range(count)]
    b = [random_shape(rng) for _ in range(count)]
    pose_a, pose_b = random_poses(rng, count, 1.5), random_poses(rng, count, 1.5)
    full = distances(a, pose_a, b, pose_b)
    earlier = pose_b.copy()
    earlier[:, :3, 3] += rng.normal(scale=0.01, size=(count, 3))
    normals = distances(a, pose_a, b, earlier).normal
    whole = median_time(lambda: distances(a, pose_a, b, pose_b))
    table = Table(
        "question", *(proof.name.lower() for proof in Proof), "solves a pair", "undecided", "time / distances()"
    )
    for question, threshold, guess in (
        ("intersecting", 0.0, None),
        ("intersecting, with the normal of 10 mm ago", 0.0, normals),
        ("closer than 0.1", 0.1, None),
        ("closer than 1.0", 1.0, None),
        ("deeper than 0.2", -0.2, None),
    ):
        verdict = are_closer(a, pose_a, b, pose_b, threshold, direction=guess)
        wrong = (verdict.closer & (full.lower > threshold)) | (verdict.farther & (full.upper < threshold))
        if wrong.any():
            raise AssertionError(f"{question}: {wrong.sum()} verdicts contradict the distance")
        spent = median_time(lambda t=threshold, g=guess: are_closer(a, pose_a, b, pose_b, t, direction=g, threads=1))
        shares = [f"{(verdict.proof == proof).mean():.1%}" for proof in Proof]
        open_ = (~verdict.closer & ~verdict.farther).sum()
        table.add_row(question, *shares, f"{verdict.statistics.solves.mean():.2f}", str(open_), f"{spent / whole:.2f}")
    return table


def impacts(count: int, seed: int) -> Table:
    """Return the cost of a time of impact, by the speed of rotation."""
    rng = np.random.default_rng(seed)
    table = Table("spin, rad/s", "status", "motions", "solves median / max", "separations median / max")
    for spin in (0.0, 1.0, 10.0):
        spent: dict[ImpactStatus, list[tuple[int, int]]] = {}
        for _ in range(count):
            a, b = random_shape(rng), random_shape(rng)
            start_a, start_b = random_poses(rng, 2, 5.0)
            towards = start_b[:3, 3] - start_a[:3, 3] + rng.normal(size=3)
            found = time_of_impact(
                a,
                Motion(start_a, 1.5 * towards, spin * rng.normal(size=3) / np.sqrt(3.0)),
                b,
                Motion(start_b, np.zeros(3), spin * rng.normal(size=3) / np.sqrt(3.0)),
            )
            spent.setdefault(found.status, []).append((found.statistics.solves, found.statistics.supports))
        for status, pairs in sorted(spent.items()):
            columns = [f"{np.median(column):.0f} / {max(column)}" for column in zip(*pairs, strict=True)]
            table.add_row(f"{spin:g}", status.name, str(len(pairs)), *columns)
    return table


def ask_for_closest(
    table: Table,
    name: str,
    scene: Scene,
    frames: Sequence[FloatArray],
    counts: Sequence[int | None],
    **selection: object,
) -> None:
    """Add a row for each number of pairs: cost of a query at the next frame of a motion, and again at that pose."""
    for most in counts:
        scene.forget()
        spent, numbers = [], []
        for poses in frames:
            scene.set_link_poses(poses)
            times = []
            for _ in range(4):
                started = time.process_time()
                result = scene.query(max_results=most, **selection)
                times.append(time.process_time() - started)
                if len(times) == 1:
                    numbers.append((result.statistics.past_obb, result.statistics.bounded, result.statistics.solved))
            spent.append((min(times[1:]), times[0]))
        milliseconds = 1e3 * np.median(spent[1:], axis=0)
        looked_at = np.mean(numbers[1:], axis=0)
        table.add_row(
            name,
            "all" if most is None else str(most),
            str(result.statistics.pairs),
            *(f"{value:.0f}" for value in looked_at),
            *(f"{value:.3f}" for value in milliseconds),
        )


def closest_pairs(sizes: Sequence[int], frames: int, seed: int) -> Table:
    """Count the pairs of two hands, and of crowds of bodies, examined and solved for the k closest."""
    columns = (
        "scene",
        "k",
        "pairs",
        "past the boxes",
        "left out by bounds",
        "solved",
        "same pose",
        "next frame",
    )
    table = Table(
        *columns, title="k closest pairs, moving; milliseconds of processor time a query", title_justify="left"
    )
    robot, sweep = read_sweep()
    hands = robot.scene()
    poses = [robot.forward_kinematics(frame.positions, frame.base_poses) for frame in sweep][:frames]
    moved = [np.array([links[link] for link in hands.links]) for links in poses]
    fingers = robot.body_pairs(["left_fingers"], ["right_fingers"])
    ask_for_closest(table, "two hands", hands, moved, (1, 10, None), pairs=fingers)
    for count in sizes:
        rng = np.random.default_rng(seed)
        shapes = [scale.random_shape(rng) for _ in range(64)]
        crowd = Scene([Body(f"body_{i}", f"link_{i}", shapes[i % 64]) for i in range(count)])
        moved = list(scale.motion(count, min(frames, 40), rng))
        ask_for_closest(table, f"{count} bodies", crowd, moved, (1, 10, 100, 1000))
    return table


def main(arguments: list[str] | None = None) -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--motions", type=int, default=300)
    parser.add_argument("--bodies", type=int, nargs="+", default=(200, 2000))
    parser.add_argument("--frames", type=int, default=214)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    console = REPORT.console()
    print_table(console, comparisons(given.pairs, given.seed))
    print_table(console, impacts(given.motions, given.seed))
    print_table(console, closest_pairs(given.bodies, given.frames, given.seed))


if __name__ == "__main__":
    main()
