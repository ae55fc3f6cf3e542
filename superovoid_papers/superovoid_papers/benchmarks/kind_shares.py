# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random pairs of every two kinds: shares proved, widths of the intervals, time of one cold query.

Run ``python -m superovoid_papers.benchmarks.kind_shares [pairs] [seed]``; it prints the table of
docs/reference/figures.md.
"""

from __future__ import annotations

import itertools
import sys
import time

import numpy as np

from superovoid.contact import Status
from superovoid.contact.columns import RESULT, RESULT_LENGTH
from superovoid.contact.inputs import TOLERANCE
from superovoid.contact.one_pair import WORK_LENGTH, Question, answer_pair
from superovoid.testing.random_bodies import KINDS, NON_CONVEX, random_pose, random_shape


def measure(kind_a: str, kind_b: str, pairs: int, rng: np.random.Generator) -> str:
    """Return one row of the table."""
    widths, times, apart, open_ = np.empty(pairs), np.empty(pairs), np.empty(pairs, bool), np.empty(pairs, bool)
    out = np.empty(RESULT_LENGTH)
    for k in range(pairs):
        a, b = random_shape(kind_a, rng), random_shape(kind_b, rng)
        reach = a.bounding_sphere().radius + b.bounding_sphere().radius
        pose_a, pose_b = random_pose(rng, 0.0), random_pose(rng, rng.uniform(0.0, 1.3) * reach)
        arguments = a._body, b._body, TOLERANCE
        if k == 0:
            answer_pair(*arguments, Question(pose_a, pose_b, np.zeros(WORK_LENGTH), out))  # not timed
        question = Question(pose_a, pose_b, np.zeros(WORK_LENGTH), out)
        start = time.perf_counter()
        answer_pair(*arguments, question)
        times[k] = 1e6 * (time.perf_counter() - start)
        size = min(max(a.obb().half_extents), max(b.obb().half_extents))
        widths[k] = (out[RESULT.upper] - out[RESULT.lower]) / size
        apart[k] = out[RESULT.distance] > 0.0
        open_[k] = int(out[RESULT.status]) & Status.UNPROVEN
    row = f"| {kind_a}, {kind_b} |"
    for chosen in (apart, ~apart):
        row += f" {100.0 * (1.0 - open_[chosen].mean()):.1f} % | {np.median(widths[chosen]):.0e}, "
        row += f"{np.percentile(widths[chosen], 99):.0e} | {np.median(times[chosen]):.1f}, "
        row += f"{np.percentile(times[chosen], 99):.0f} |"
    return row


def main() -> None:
    """Print the table."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    print(
        "| pair | apart: proved | width p50, p99 | us p50, p99 | overlapping: proved | width p50, p99 | us p50, p99 |"
    )
    print("|---|---|---|---|---|---|---|")
    for number, (kind_a, kind_b) in enumerate(itertools.combinations_with_replacement(KINDS, 2)):
        if not {kind_a, kind_b} <= {"superovoid", "sphere", NON_CONVEX}:
            print(measure(kind_a, kind_b, pairs, np.random.default_rng([seed, number])), flush=True)


if __name__ == "__main__":
    main()
