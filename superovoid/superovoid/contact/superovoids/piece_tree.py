# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Pairs of pieces that prove how far apart two bodies with dents are, written down so that others can check them.

As `between_pieces`, whose steps this takes. Both bodies are cut at heights until every pair of pieces has a direction n
with g(n) = n . c - h_P(n) - h_Q(-n) >= the lower bound. What is written is the order of the cuts, from which it follows
that no pair is left out, and the directions.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.arrays import Floats1, Floats2, Int8s1
from superovoid.compiled.kernels import entry_point, kernel, out_of_line
from superovoid.contact.pair import OvoidPair, Pair
from superovoid.contact.superovoids.between_pieces import Closest, halves, is_thin, look, step_of_pieces
from superovoid.shapes.kernels.surface import DENT_HI, DENT_LO, DENTED

# Entries of a tree: A or B is cut, or a pair of pieces has its direction.
CUT_A, CUT_B, DIRECTION = 0, 1, 2
_TRIES, _CONVEX_TRIES = 12, 40  # directions for a pair with a slab, and for two convex pieces
_DEEPEST = 200
_CELL, _N = 4, 4


@kernel
def _edge_inside(b, lo, hi):
    """A height at which a piece has to be cut before it has a support function: an edge of the dent, or the equator."""
    if b[DENTED] == 0.0:
        return math.nan
    for edge in (b[DENT_LO], b[DENT_HI], 0.0):
        if lo < edge < hi and (edge != 0.0 or b[DENT_LO] < 0.0 < b[DENT_HI]):
            return edge
    return math.nan


@kernel
def _set(row, cell, n):
    for i in range(_CELL):
        row[i] = cell[i]
    for i in range(3):
        row[_N + i] = n[i]


@entry_point(_nrt=True)
def cut(
    bodies: OvoidPair,
    n: tuple[float, float, float],
    closest: Closest,
    goal: float,
    tree: Int8s1,
    heights: Floats1,
    directions: Floats2,
) -> tuple[int, int, int]:
    """Prove that two bodies are no closer than `closest.distance - goal`, piece by piece.

    Parameters
    ----------
    bodies : OvoidPair
    n : tuple
        Direction to begin with, in the frame of A.
    closest : Closest
        The points of the answer.
    goal : float
    tree, heights, directions : array
        Take the entries, the heights of the cuts and the directions (k, 3).

    Returns
    -------
    tuple of int
        Numbers of entries, heights and directions; zeros where a pair has to be given up.
    """
    out_of_line()
    pair = Pair(bodies.a, bodies.b, bodies.rotation, bodies.centre)  # the type that other callers use
    a, b = pair.a, pair.b
    stack = np.empty((_DEEPEST, _CELL + 3))
    _set(stack[0], (-1.0, 1.0, -1.0, 1.0), n)
    waiting = 1
    entries = cuts = found = 0
    while waiting > 0:
        if entries == tree.shape[0] or cuts == heights.shape[0] or found == directions.shape[0]:
            return 0, 0, 0
        if waiting + 2 > _DEEPEST:
            return 0, 0, 0
        waiting -= 1
        row = stack[waiting]
        cell = (row[0], row[1], row[2], row[3])
        n = (row[_N], row[_N + 1], row[_N + 2])
        n_one = n_other = n
        w, v = _edge_inside(a, cell[0], cell[1]), _edge_inside(b, cell[2], cell[3])
        of_a = not math.isnan(w)
        if not of_a:
            w = v
        if math.isnan(w):
            step = step_of_pieces(pair, cell, look(pair, n, cell), closest, goal, _TRIES, _CONVEX_TRIES)
            if step.best.bound >= closest.distance - goal:
                for i in range(3):
                    directions[found, i] = step.best.n[i]
                found += 1
                tree[entries] = DIRECTION
                entries += 1
                continue
            of_a, w, n_one, n_other = step.of_a, step.height, step.n_one, step.n_other
            if step.convex or is_thin(cell, of_a):
                return 0, 0, 0
        tree[entries] = CUT_A if of_a else CUT_B
        entries += 1
        heights[cuts] = w
        cuts += 1
        one, other = halves(cell, of_a, w)
        _set(stack[waiting], other, n_other)
        _set(stack[waiting + 1], one, n_one)
        waiting += 2
    return entries, cuts, found
