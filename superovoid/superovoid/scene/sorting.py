# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rows of results in the order of their distances: a merge sort from below, which leaves alone what is in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats1, Ints1, Ints2
from superovoid.compiled.kernels import bundle, kernel

_RUN = 8  # rows that are put in order by insertion


@bundle
class Keys(NamedTuple):
    """What rows are sorted by, and memory for it."""

    values: Floats1
    pairs: Ints2  # (rows, 2): they decide between equal values
    order: Ints1  # the result: rows, ascending
    merged: Ints1


def keys_for(rows: int) -> Keys:
    """Memory for so many rows."""
    return Keys(
        np.empty(rows),
        np.empty((rows, 2), dtype=np.int64),
        np.empty(rows, dtype=np.int64),
        np.empty(rows, dtype=np.int64),
    )


@kernel
def _is_before(keys, i, j):
    values, pairs = keys.values, keys.pairs
    if values[i] != values[j]:
        return values[i] < values[j]
    if pairs[i, 0] != pairs[j, 0]:
        return pairs[i, 0] < pairs[j, 0]
    return pairs[i, 1] < pairs[j, 1]


@kernel
def _runs_follow(keys, order, count, run):
    """Whether each run is wholly before the next one."""
    for start in range(run, count, run):
        if _is_before(keys, order[start], order[start - 1]):
            return False
    return True


@kernel
def sort(keys, count):
    """Order rows by ascending value, equal ones by their pair."""
    order, merged = keys.order, keys.merged
    for start in range(0, count, _RUN):
        for k in range(start, min(start + _RUN, count)):
            row, i = k, k
            while i > start and _is_before(keys, row, order[i - 1]):
                order[i] = order[i - 1]
                i -= 1
            order[i] = row
    run, passes = _RUN, 0
    while run < count and not _runs_follow(keys, order, count, run):
        for start in range(0, count, 2 * run):
            middle, end = min(start + run, count), min(start + 2 * run, count)
            i, j = start, middle
            for k in range(start, end):
                if i < middle and (j == end or not _is_before(keys, order[j], order[i])):
                    merged[k] = order[i]
                    i += 1
                else:
                    merged[k] = order[j]
                    j += 1
        order, merged = merged, order
        run *= 2
        passes += 1
    if passes % 2:
        for k in range(count):
            merged[k] = order[k]
