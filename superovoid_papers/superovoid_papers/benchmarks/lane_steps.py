# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Time of small batches in SIMD lanes against the scalar loop.

Run ``python -m superovoid_papers.benchmarks.lane_steps``; it prints a table of docs/reference/figures.md. All
times are of the processor, the fastest of several runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from superovoid_papers.benchmarks.engine_speed import Pairs, paper_battery

PAIRS = 10_240
SIZES = (32, 64, 128, 256, 512)
_RUNS = 30


def first_try(count: int, seed: int) -> Pairs:
    """Return the pairs of the battery that close at the first try, with their warm starts."""
    pairs = paper_battery(count, seed)
    closed = pairs.closed_at_first_try()
    some = Pairs(pairs.shapes[:, closed], pairs.poses[:, closed])
    some.states[:] = pairs.states[closed]
    return some


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
    """Print the table."""
    closed = first_try(PAIRS, 0)
    print(f"| pairs in the batch | {' | '.join(map(str, SIZES))} |\n{'|---' * (len(SIZES) + 1)}|")
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
