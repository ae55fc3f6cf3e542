# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A binary heap of rows, the one of least key on top: places hold numbers of rows, keys are looked up by them."""

from __future__ import annotations

from superovoid.compiled.kernels import kernel


@kernel
def lift(heap, key, i):
    """Restore the heap above place i."""
    item = heap[i]
    while i > 0:
        parent = (i - 1) // 2
        if key[item] >= key[heap[parent]]:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = item


@kernel
def sink(heap, key, i, length):
    """Restore the heap below place i."""
    item = heap[i]
    while True:
        child = 2 * i + 1
        if child >= length:
            break
        if child + 1 < length and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if key[item] <= key[heap[child]]:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = item


@kernel
def without_first(heap, key, length):
    """Take the first out of a heap; return how many are left."""
    length -= 1
    heap[0] = heap[length]
    sink(heap, key, 0, length)
    return length
