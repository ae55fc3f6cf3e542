# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Pairs of pieces that prove how far apart two non-convex bodies are, written down for independent checks.

The search of `nearest_pieces` cuts both bodies at heights until every pair of pieces has a direction n with g(n) = n .
c - h_P(n) - h_Q(-n) >= the lower bound. The tree records the order of its cuts, which shows that no pair is left out,
and the directions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats1, Floats2, Int8s1
from superovoid.compiled.kernels import entry_point, kernel, out_of_line
from superovoid.contact.pair import OvoidPair, Pair
from superovoid.contact.superovoids.nearest_pieces import NearestPoints, cores_of, new_cells, refine_pieces
from superovoid.contact.superovoids.pieces import piece_end

# Entries of a tree: A or B is cut, or a pair of pieces has its direction.
CUT_A, CUT_B, DIRECTION = 0, 1, 2
_DIRECTIONS_OF_CELL = np.int64(20)  # directions that the search may evaluate, for each pair of pieces that fits


class _Tree(NamedTuple):
    """The record of a tree. All arrays are filled in."""

    entries: NDArray[np.int8]
    heights: NDArray[np.float64]
    directions: NDArray[np.float64]
    counts: NDArray[np.int64]  # of each


@kernel
def _write_cut(tree, of_a, height):
    tree.entries[tree.counts[0]] = CUT_A if of_a else CUT_B
    tree.heights[tree.counts[1]] = height
    tree.counts[0] += 1
    tree.counts[1] += 1


@kernel
def _write_below(tree, cells, first):
    """Write the cuts below a cell, the lower part of each first, and the directions of the cells that were not cut."""
    out_of_line()
    stack = np.empty(len(cells.parts), np.int64)
    stack[0], waiting = first, 1
    while waiting > 0:
        waiting -= 1
        i = stack[waiting]
        lower = cells.parts[i]
        if lower == 0:
            for k in range(3):
                tree.directions[tree.counts[2], k] = cells.rows[i, 4 + k]
            tree.entries[tree.counts[0]] = DIRECTION
            tree.counts[0] += 1
            tree.counts[2] += 1
            continue
        of_a = cells.rows[lower, 1] < cells.rows[i, 1]
        _write_cut(tree, of_a, cells.rows[lower, 1 if of_a else 3])
        stack[waiting], stack[waiting + 1] = lower + 1, lower
        waiting += 2


@entry_point(_nrt=True)
def cut(
    bodies: OvoidPair,
    n: tuple[float, float, float],
    nearest: NearestPoints,
    goal: float,
    entries: Int8s1,
    heights: Floats1,
    directions: Floats2,
) -> tuple[int, int, int]:
    """Prove that two bodies are no closer than `nearest.distance - goal`, piece by piece.

    Parameters
    ----------
    bodies : OvoidPair
    n : tuple
        Direction to begin with, in the frame of A.
    nearest : NearestPoints
        The points of the answer.
    goal : float
    entries, heights, directions : array
        Take the entries, the heights of the cuts and the directions (k, 3), with room for as many entries as heights
        and directions together.

    Returns
    -------
    tuple of int
        Numbers of entries, heights and directions; zeros if the search gives up a pair.
    """
    out_of_line()
    pair = Pair(bodies.a, bodies.b, bodies.rotation, bodies.centre)  # the type that other callers use
    cells = new_cells(len(heights))
    found = refine_pieces(cores_of(pair), n, nearest, goal, math.inf, 0.0, _DIRECTIONS_OF_CELL * len(heights), cells)
    if not (found.lower >= nearest.distance - goal):
        return 0, 0, 0
    tree = _Tree(entries, heights, directions, np.zeros(3, np.int64))
    # The first pieces lie above each other, those of B within each of A.
    first, i, j, end_a = 0, 0, 0, -1.0
    while end_a < 1.0:
        i += 1
        end_a = piece_end(pair.a, i)
        if end_a < 1.0:
            _write_cut(tree, True, end_a)
        j, end_b = 0, -1.0
        while end_b < 1.0:
            j += 1
            end_b = piece_end(pair.b, j)
            if end_b < 1.0:
                _write_cut(tree, False, end_b)
            _write_below(tree, cells, first)
            first += 1
    return tree.counts[0], tree.counts[1], tree.counts[2]
