# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The heap of the best-first searches, against Python's."""

from __future__ import annotations

import heapq

import numpy as np

from superovoid.compiled import row_heap


def test_rows_leave_the_heap_by_ascending_key():
    rng = np.random.default_rng(0)
    key = rng.integers(0, 50, 400).astype(float)  # many are equal
    heap, length, expected, taken = np.empty(400, dtype=np.int64), 0, [], []
    for row in range(400):
        heap[length] = row
        row_heap.lift(heap, key, length)
        length += 1
        heapq.heappush(expected, key[row])
        if row % 3 == 2:
            taken.append((key[heap[0]], heapq.heappop(expected)))
            length = row_heap.without_first(heap, key, length)
    while length:
        taken.append((key[heap[0]], heapq.heappop(expected)))
        length = row_heap.without_first(heap, key, length)
    assert len(taken) == 400 and all(found == wanted for found, wanted in taken)


def test_an_increased_key_sinks():
    key = np.arange(31.0)
    heap = np.arange(31)
    key[0] = 100.0
    row_heap.sink(heap, key, 0, 31)
    assert heap[0] == 1 and sorted(heap) == list(range(31))
    assert all(key[heap[(i - 1) // 2]] <= key[heap[i]] for i in range(1, 31))
