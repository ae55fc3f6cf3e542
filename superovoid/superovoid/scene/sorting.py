# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rows of results in the order of their distances.

Distances are doubles, which have the order of their bits once those of the negative ones are turned. The upper 32 bits
are sorted by radix, eight at a time, from the lowest; a merge sort, which leaves alone what is in order, does the rest.
So hundreds of distances take a tenth of the comparisons of a merge sort alone, and no values make it slow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats1, Ints1, Ints2
from superovoid.compiled.kernels import bundle, kernel

_DIGITS = 256
_LOWEST, _BITS, _PASSES = 32, 8, 4  # the passes are even in number, so that the last one ends in `order`
_FEW = 48  # rows that a merge sort orders faster
_RUN = 8


@bundle
class Keys(NamedTuple):
    """What rows are sorted by, and memory for it."""

    values: Floats1
    bits: Ints1  # the same memory
    pairs: Ints2  # (rows, 2): they decide between equal values
    order: Ints1  # the result: rows, ascending
    merged: Ints1
    counts: Ints2  # (passes, digits)


def keys_for(rows: int) -> Keys:
    """Memory for so many rows."""
    values = np.empty(rows)
    return Keys(
        values,
        values.view(np.int64),
        np.empty((rows, 2), dtype=np.int64),
        np.empty(rows, dtype=np.int64),
        np.empty(rows, dtype=np.int64),
        np.empty((_PASSES, _DIGITS), dtype=np.int64),
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
def _digit(bits, place):
    """One of the upper digits of a double in the order of doubles: all bits turned if it is negative, else the sign."""
    turned = bits ^ -1 if bits < 0 else bits ^ np.int64(-0x8000000000000000)
    return (turned >> (_LOWEST + _BITS * place)) & (_DIGITS - 1)


@kernel
def _by_radix(keys, count):
    """Order rows by the upper bits of their values."""
    counts = keys.counts
    counts[:, :] = 0
    for k in range(count):
        for place in range(_PASSES):
            counts[place, _digit(keys.bits[k], place)] += 1
    order, other = keys.merged, keys.order
    for place in range(_PASSES):
        start = 0
        for digit in range(_DIGITS):
            here = counts[place, digit]
            counts[place, digit] = start
            start += here
        for k in range(count):
            row = k if place == 0 else other[k]
            digit = _digit(keys.bits[row], place)
            order[counts[place, digit]] = row
            counts[place, digit] += 1
        order, other = other, order


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
    if count > _FEW:
        _by_radix(keys, count)
    else:
        for k in range(count):
            order[k] = k
    for start in range(0, count, _RUN):
        for k in range(start, min(start + _RUN, count)):
            row, i = order[k], k
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
