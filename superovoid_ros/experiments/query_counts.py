"""What the queries spend: solver calls and support points per question, on random convex superovoids.

``python -m superovoid_ros.experiments.query_counts`` prints the tables of docs/queries.md. Counts depend on the seed
only; times on the machine.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.spatial.transform import Rotation

from superovoid_ros.contact import ImpactStatus, Motion, Proof, _closest, _pair, are_closer, distances, time_of_impact
from superovoid_ros.contact._api import SEARCH_BUDGET, TOLERANCE
from superovoid_ros.shapes import Superovoid


def random_shape(rng: np.random.Generator, largest: float = 2.0) -> Superovoid:
    """A convex superovoid with equal tapers, semi-axes from 0.5 to `largest`, exponents in [0.3, 1.7]."""
    epsilon = rng.uniform(0.3, 1.7, 2)
    limit = 0.9 * min(0.5, (1.0 - 0.5 * epsilon[1]) * 2.0 ** (0.5 * epsilon[1]))
    return Superovoid(np.exp(rng.uniform(np.log(0.5), np.log(largest), 3)), epsilon, [rng.uniform(-limit, limit)] * 2)


def random_poses(rng: np.random.Generator, count: int, spread: float) -> np.ndarray:
    """Random rotations, origins uniform in a cube of half-width `spread`."""
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = Rotation.random(count, rng=rng).as_matrix()
    poses[:, :3, 3] = rng.uniform(-spread, spread, (count, 3))
    return poses


def median_time(work: Callable[[], object], repeats: int = 5) -> float:
    """Median seconds of a few runs, after one to compile."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def comparisons(count: int, seed: int) -> Table:
    """How pairs are decided whose origins are up to three times the mean size apart, and what that takes."""
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
        ("intersects", 0.0, None),
        ("intersects, with the normal of 10 mm ago", 0.0, normals),
        ("closer than 0.1", 0.1, None),
        ("closer than 1.0", 1.0, None),
        ("deeper than 0.2", -0.2, None),
    ):
        verdict = are_closer(a, pose_a, b, pose_b, threshold, directions=guess)
        wrong = (verdict.closer & (full.lower > threshold)) | (verdict.farther & (full.upper < threshold))
        if wrong.any():
            raise AssertionError(f"{question}: {wrong.sum()} verdicts contradict the distance")
        spent = median_time(lambda t=threshold, g=guess: are_closer(a, pose_a, b, pose_b, t, directions=g))
        shares = [f"{(verdict.proof == proof).mean():.1%}" for proof in Proof]
        open_ = (~verdict.closer & ~verdict.farther).sum()
        table.add_row(question, *shares, f"{verdict.solves.mean():.2f}", str(open_), f"{spent / whole:.2f}")
    return table


def impacts(count: int, seed: int) -> Table:
    """What a time of impact takes, by the speed of rotation."""
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
            spent.setdefault(found.status, []).append((found.solves, found.supports))
        for status, pairs in sorted(spent.items()):
            columns = [f"{np.median(column):.0f} / {max(column)}" for column in zip(*pairs, strict=True)]
            table.add_row(f"{spin:g}", status.name, str(len(pairs)), *columns)
    return table


def closest_pairs(bodies: int, seed: int) -> Table:
    """How many of all pairs are bounded and solved for the k closest."""
    rng = np.random.default_rng(seed)
    shapes = [random_shape(rng, 1.0) for _ in range(bodies)]
    poses = random_poses(rng, bodies, 1.5 * bodies ** (1.0 / 3.0))
    table = np.column_stack(np.triu_indices(bodies, 1)).astype(np.int64)
    spheres = [shape.bounding_sphere() for shape in shapes]
    answer = Table("k", "pairs", "bounded by support points", "solved")
    for k in (1, 10, 100):
        out, found, counts = (
            np.empty((k, _pair.RESULT_LENGTH)),
            np.empty(k, dtype=np.int64),
            np.zeros(3, dtype=np.int64),
        )
        _closest.closest(
            np.array([shape._packed for shape in shapes]),
            poses,
            np.array([sphere.centre for sphere in spheres]),
            np.array([sphere.radius for sphere in spheres]),
            table,
            np.arange(len(table)),
            k,
            np.inf,
            TOLERANCE,
            SEARCH_BUDGET,
            np.zeros((len(table), _pair.STATE_LENGTH)),
            out,
            found,
            counts,
        )
        pairs, supported, solved = counts.tolist()
        answer.add_row(str(k), str(pairs), str(supported), str(solved))
    return answer


def main(arguments: list[str] | None = None) -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--motions", type=int, default=300)
    parser.add_argument("--bodies", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    console = Console(width=160)
    console.print(comparisons(given.pairs, given.seed))
    console.print(impacts(given.motions, given.seed))
    console.print(closest_pairs(given.bodies, given.seed))


if __name__ == "__main__":
    main()
