# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Write sets of cells as octree streams in both formats of OctoMap."""

from __future__ import annotations

import struct

HALF = 1 << 15  # key of the cell at the origin, in the positive octant
FREE_ODDS, OCCUPIED_ODDS = -0.4, 0.85


def child_of(key, bit):
    """Return the index of the child node that contains a cell: one bit of each coordinate."""
    return sum((int(key[axis]) >> bit & 1) << axis for axis in range(3))


def branches(cells, bit):
    """Return the cells of a node grouped by child, selected by `bit`."""
    found = {}
    for key, value in cells.items():
        found.setdefault(child_of(key, bit), {})[key] = value
    return found


def is_leaf(cells, bit):
    """Return whether a node is written without children: a smallest cell, or all cells known and equal."""
    return bit < 0 or (len(cells) == 8 ** (bit + 1) and len(set(cells.values())) == 1)


def binary_stream(cells, bit=15):
    """Return cells, key -> occupied, as a stream of the binary format."""
    children = branches(cells, bit)
    bits, below = 0, b""
    for child in range(8):
        if child in children:
            inner = children[child]
            if is_leaf(inner, bit - 1):
                kind = 2 if next(iter(inner.values())) else 1
            else:
                kind = 3
                below += binary_stream(inner, bit - 1)
            bits |= kind << 2 * child
    return struct.pack("<H", bits) + below


def full_stream(cells, bit=15, prune=True):
    if bit < 0 or (prune and is_leaf(cells, bit)):
        return struct.pack("<fB", OCCUPIED_ODDS if next(iter(cells.values())) else FREE_ODDS, 0)
    children = branches(cells, bit)
    flags = sum(1 << child for child in children)
    below = b"".join(full_stream(children[child], bit - 1, prune) for child in sorted(children))
    # The odds of an inner node are ignored by the reader; OctoMap writes those of its most likely child.
    return struct.pack("<fB", OCCUPIED_ODDS if any(cells.values()) else FREE_ODDS, flags) + below
