# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Certificates of others: cones of directions with their points, pieces of bodies with their directions.

A tree says how the directions, or the bodies, are divided, so that nothing is left out whatever it says. The proof of a
part is checked with balls: nothing else that a certificate says is believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from flint import arb
from numpy.typing import NDArray

from superovoid.checker import balls
from superovoid.checker.balls import Vector, dot
from superovoid.checker.claims import Exported
from superovoid.checker.superquadric import Superquadric

FloatArray = NDArray[np.float64]

_MOST_WAITING = 400  # parts of a tree: deeper ones are not followed


class Related(NamedTuple):
    """Two bodies in the frame of the first."""

    solids: tuple[Any, Any]
    turn: balls.Matrix
    """From the frame of B to that of A."""
    offset: Vector
    """Origin of the frame of B."""

    @classmethod
    def of(cls, solids: tuple[Any, Any], turns: tuple[balls.Matrix, balls.Matrix], offset: Vector) -> Related:
        """Two bodies with their rotations to the world, and the origin of B from that of A there."""
        columns = [[row[j] for row in turns[1]] for j in range(3)]
        turned = [balls.turned_back(turns[0], column) for column in columns]
        return cls(solids, [[turned[j][i] for j in range(3)] for i in range(3)], balls.turned_back(turns[0], offset))

    def difference(self, row: FloatArray) -> Vector | None:
        """x - y of points of both bodies, drawn into them."""
        x, y = (solid.drawn_in(balls.exact(part)) for solid, part in zip(self.solids, (row[:3], row[3:]), strict=True))
        if x is None or y is None:
            return None
        return balls.minus(x, balls.plus(self.offset, balls.turned(self.turn, y)))

    def separation(self, n: FloatArray, cell: tuple[float, float, float, float]) -> arb:
        """g(n) = n . c - h_P(n) - h_Q(-n) of two pieces, for the unit vector along n, from below."""
        along = balls.exact(n)
        against = balls.turned_back(self.turn, [-part for part in along])
        heights = (
            _piece_above(solid, direction, *ends)
            for solid, direction, ends in zip(self.solids, (along, against), (cell[:2], cell[2:]), strict=True)
        )
        return (dot(along, self.offset) - sum(heights, arb(0))) / balls.norm(along)


def _piece_above(solid: Any, n: Vector, low: float, high: float) -> arb:
    whole = low == -1.0 and high == 1.0
    return solid.support_above(n) if whole else solid.slab_above(n, low, high)


class Part(NamedTuple):
    """What has become of a tree."""

    proved: bool
    why: str
    parts: int
    """That were judged."""


def cones_reach(pair: Related, proof: Exported, rho: arb) -> Part:
    """Whether the cones of a certificate prove h_M(n) >= rho |n| for every n, of the bodies or of their cores.

    See `direction_cover` for why a point does. Corners are sums of halves of ones, exact in balls up to 128 halvings of
    one edge and enclosed beyond.
    """
    square = rho**2

    def corner(n: Vector) -> tuple[Vector, arb]:
        return n, square * dot(n, n)

    if not rho > 0:
        return Part(False, "no cones are needed", 0)
    waiting: list[list[tuple[Vector, arb]]] = []
    for octant in range(7, -1, -1):
        signs = [-1 if (octant >> (2 - j)) & 1 else 1 for j in range(3)]
        waiting.append([corner([arb(signs[j] if i == j else 0) for i in range(3)]) for j in range(3)])
    rows: Iterator[FloatArray] = iter(proof.points)
    first_row = next(rows, None)
    first = None if first_row is None else pair.difference(first_row)
    judged = 0
    for letter in proof.cones:
        if not waiting:
            return Part(False, "the tree of cones goes on after its end", judged)
        cone = waiting.pop()
        if letter in "012":
            i = int(letter)
            j = (i + 1) % 3
            middle = corner([(a + b) / 2 for a, b in zip(cone[i][0], cone[j][0], strict=True)])
            halves = [list(cone), list(cone)]
            halves[0][i], halves[1][j] = middle, middle
            waiting += halves[::-1]
            if len(waiting) > _MOST_WAITING:
                return Part(False, "the tree of cones is too deep", judged)
            continue
        if letter == "*":
            m = first
        else:
            row = next(rows, None)
            if row is None:
                return Part(False, "points are missing", judged)
            m = pair.difference(row)
        judged += 1
        if m is None or not all(_reaches(n, needed, m) for n, needed in cone):
            return Part(False, f"the point of cone {judged - 1} does not reach", judged)
    if waiting:
        return Part(False, "the tree of cones ends before its end", judged)
    return Part(True, "", judged)


def _reaches(n: Vector, needed: arb, m: Vector) -> bool:
    """Whether n . m >= rho |n|, from rho^2 |n|^2."""
    along = dot(n, m)
    return bool(along >= 0 and along * along >= needed)


def pieces_apart(pair: Related, proof: Exported, lower: float) -> Part:
    """Whether the pieces of a certificate prove that the bodies are no closer than a distance.

    The bodies are the unions of their pieces, and a pair of pieces is no closer than g(n) of any direction.
    """
    waiting = [(-1.0, 1.0, -1.0, 1.0)]
    heights, directions = iter(proof.heights.tolist()), iter(proof.directions)
    judged = 0
    for letter in proof.pieces:
        if not waiting:
            return Part(False, "the tree of pieces goes on after its end", judged)
        cell = waiting.pop()
        if letter != ".":
            side = "ab".index(letter)
            low, high = cell[2 * side : 2 * side + 2]
            w = next(heights, None)
            if w is None or not low < w < high:
                return Part(False, f"a cut at {w} is not between {low} and {high}", judged)
            if not isinstance(pair.solids[side], Superquadric):
                return Part(False, "a body is cut that is no superovoid", judged)
            parts = [(low, w), (w, high)]
            waiting += [(*part, *cell[2:]) if side == 0 else (*cell[:2], *part) for part in parts[::-1]]
            if len(waiting) > _MOST_WAITING:
                return Part(False, "the tree of pieces is too deep", judged)
            continue
        n = next(directions, None)
        judged += 1
        if n is None or not n.any():
            return Part(False, "directions are missing", judged)
        if not pair.separation(n, cell) >= lower:
            return Part(False, f"direction {judged - 1} does not keep its pieces apart", judged)
    if waiting:
        return Part(False, "the tree of pieces ends before its end", judged)
    return Part(True, "", judged)
