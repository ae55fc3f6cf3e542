# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Time of the steps of a batch in SIMD lanes, and of small batches against the scalar loop.

Run ``python -m superovoid_papers.benchmarks.lane_steps``; it prints the tables of docs/reference/figures.md. All
times are of the processor, the fastest of several runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from superovoid.contact.inputs import TOLERANCE
from superovoid.contact.lanes import many_pairs, newton_lanes
from superovoid_papers.benchmarks.engine_speed import Pairs, paper_battery

FloatArray = NDArray[np.float64]

PAIRS = 10_240
SIZES = (32, 64, 128, 256, 512)
_RUNS = 30
_STEPS = ("load", "prepare", "Newton", "prove", "store")


def first_try(count: int, seed: int) -> Pairs:
    """Return those of the battery that close at the first try, with their warm starts."""
    pairs = paper_battery(count, seed)
    closed = np.ones(count, dtype=bool)
    closed[many_pairs.solve_in_lanes(*pairs.bodies, *pairs.poses, TOLERANCE, pairs.states, pairs.out)] = False
    some = Pairs(pairs.shapes[:, closed], pairs.poses[:, closed])
    some.states[:] = pairs.states[closed]
    return some


def steps(pairs: Pairs) -> FloatArray:
    """Time the steps of `many_pairs.solve_in_lanes`, block by block, s in all."""
    block, lanes = np.zeros(many_pairs.LENGTH), np.zeros(newton_lanes.LENGTH)
    pair, open_rows = np.empty(many_pairs.WIDTH, np.int64), np.empty(many_pairs.CHUNK, np.int64)
    spent = np.zeros(len(_STEPS))
    for first in range(0, pairs.count, many_pairs.CHUNK):
        count = min(many_pairs.CHUNK, pairs.count - first)
        calls: tuple[Callable[[], object], ...] = (
            lambda: many_pairs.load(block, *pairs.bodies, *pairs.poses, pairs.states, first, count),  # noqa: B023
            lambda: many_pairs.prepare(block, count, TOLERANCE),  # noqa: B023
            lambda: many_pairs.converge(lanes, pair, block, count),  # noqa: B023
            lambda: many_pairs.prove(block, count),  # noqa: B023
            lambda: many_pairs.store(block, first, count, TOLERANCE, pairs.states, pairs.out, open_rows),  # noqa: B023
        )
        for k, call in enumerate(calls):
            began = time.process_time_ns()
            call()
            spent[k] += 1e-9 * (time.process_time_ns() - began)
    return spent


def fastest(call: Callable[[], object], before: Callable[[], None]) -> float:
    """Return the least time of several calls, s."""
    times = []
    for _ in range(_RUNS):
        before()
        began = time.process_time_ns()
        call()
        times.append(1e-9 * (time.process_time_ns() - began))
    return min(times)


def main() -> None:
    """Print both tables."""
    pairs = paper_battery(PAIRS, 0)
    many_pairs.solve_in_lanes(*pairs.bodies, *pairs.poses, TOLERANCE, pairs.states, pairs.out)
    warm = pairs.states.copy()
    table = []
    for start in (np.zeros_like(warm), warm):
        runs = []
        for _ in range(_RUNS):
            pairs.states[:] = start
            runs.append(steps(pairs))
        table.append(1e9 * np.min(runs, axis=0) / PAIRS)
    print("| step | ns a pair, cold | warm |\n|---|---|---|")
    for name, cold, again in zip(_STEPS, *table, strict=True):
        print(f"| {name} | {cold:.0f} | {again:.0f} |")

    closed = first_try(PAIRS, 0)
    print(f"\n| pairs in the batch | {' | '.join(map(str, SIZES))} |\n{'|---' * (len(SIZES) + 1)}|")
    rows: dict[str, list[str]] = {"scalar loop, µs in all": [], "lanes, µs in all": []}
    for size in SIZES:
        some = Pairs(closed.shapes[:, :size], closed.poses[:, :size])

        def forget(some: Pairs = some) -> None:
            some.states[:] = 0.0

        loop = fastest(lambda some=some: some.solve(0, some.count), forget)
        in_lanes = fastest(lambda some=some: some.solve_batch(1), forget)
        for name, seconds in zip(rows, (loop, in_lanes), strict=True):
            rows[name].append(f"{1e6 * seconds:.0f}")
    for name, times in rows.items():
        print(f"| {name} | {' | '.join(times)} |")


if __name__ == "__main__":
    main()
