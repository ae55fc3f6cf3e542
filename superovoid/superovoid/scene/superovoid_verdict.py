# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Whether two superovoids of a scene are closer than a threshold."""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.contact.columns import LOWER, UPPER
from superovoid.contact.pair import Limit, Posed
from superovoid.contact.superovoids.pair_solver import solve_pair
from superovoid.contact.thresholds import ANSWER, PROVED_LOWER, PROVED_UPPER, UNDECIDED, compare_pair, verdict_of


@kernel
def verdict_on_superovoids(a, b, others, asked, loss, memory, k):
    """Two superovoids: the proofs of `thresholds.compare_pair`, and where these leave it open the whole interval."""
    first, second = Posed(a[0], a[1]), Posed(b[0], b[1])
    threshold, tolerance, budget = asked
    scratch = memory.rotation, memory.out
    limit = Limit(tolerance, budget, math.inf)
    compare_pair(first, second, threshold, limit, memory.directions[k], memory.states[k], scratch, memory.row)
    if loss == 0.0:
        return int(memory.row[ANSWER])  # a common point proves more than the interval, whose upper end it makes 0
    found = verdict_of(memory.row[PROVED_LOWER] - loss, memory.row[PROVED_UPPER] + loss, threshold)
    if found == UNDECIDED:
        solve_pair(a[0], b[0], a[1], b[1], tolerance, budget, memory.states[k], memory.rotation, memory.out)
        found = verdict_of(memory.out[LOWER] - loss, memory.out[UPPER] + loss, threshold)
    return found
