# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Check exported certificates: cones of directions with points, or pieces of bodies with directions.

A tree describes how directions or bodies are divided; any tree covers them completely. The proof of each part is
checked in balls, and nothing else in a certificate is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from flint import arb
from numpy.typing import NDArray

from superovoid.checker import balls
from superovoid.checker.balls import Vector, dot
from superovoid.checker.claims import ExportedProof
from superovoid.checker.superquadric import Superquadric

FloatArray = NDArray[np.float64]

_MOST_WAITING = 400  # maximum number of pending parts of a tree; deeper trees are rejected


class RelativePair(NamedTuple):
    """Two bodies in the frame of the first."""

    solids: tuple[Any, Any]
    turn: balls.Matrix
    """From the frame of B to that of A."""
    offset: Vector
    """Origin of the frame of B."""

    @classmethod
    def from_solids(
        cls, solids: tuple[Any, Any], turns: tuple[balls.Matrix, balls.Matrix], offset: Vector
    ) -> RelativePair:
        """Combine two bodies, their rotations to the world, and the world vector from A's origin to B's."""
        columns = [[row[j] for row in turns[1]] for j in range(3)]
        turned = [balls.rotate_back(turns[0], column) for column in columns]
        return cls(solids, [[turned[j][i] for j in range(3)] for i in range(3)], balls.rotate_back(turns[0], offset))

    def difference(self, row: FloatArray) -> Vector | None:
        """Return x - y of points of both bodies, after moving them inside; None if that fails."""
        x, y = (
            solid.point_inside(balls.exact_vector(part))
            for solid, part in zip(self.solids, (row[:3], row[3:]), strict=True)
        )
        if x is None or y is None:
            return None
        return balls.subtract(x, balls.add(self.offset, balls.rotate(self.turn, y)))

    def separation(self, n: FloatArray, cell: tuple[float, float, float, float]) -> arb:
        """Return a lower bound of g(n) = n . c - h_P(n) - h_Q(-n) of two pieces, for the unit vector along n."""
        along = balls.exact_vector(n)
        against = balls.rotate_back(self.turn, [-part for part in along])
        heights = (
            _piece_above(solid, direction, *ends)
            for solid, direction, ends in zip(self.solids, (along, against), (cell[:2], cell[2:]), strict=True)
        )
        return (dot(along, self.offset) - sum(heights, arb(0))) / balls.norm(along)


def _piece_above(solid: Any, n: Vector, low: float, high: float) -> arb:
    whole = low == -1.0 and high == 1.0
    return solid.support_above(n) if whole else solid.slab_above(n, low, high)


class TreeCheck(NamedTuple):
    """The result of checking a tree."""

    proved: bool
    why: str
    parts: int
    """Number of judged parts."""


def cones_reach(pair: RelativePair, proof: ExportedProof, rho: arb) -> TreeCheck:
    """Check whether a certificate's cones prove h_M(n) >= rho |n| for every n, for the bodies or their cores.

    See `direction_cover` for why one point per cone suffices. Corners are dyadic combinations of the axes, exact in
    balls up to 128 bisections of one edge and enclosed beyond.
    """
    square = rho**2

    def corner(n: Vector) -> tuple[Vector, arb]:
        return n, square * dot(n, n)

    if not rho > 0:
        return TreeCheck(False, "no cones are needed", 0)
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
            return TreeCheck(False, "the tree of cones continues after its end", judged)
        cone = waiting.pop()
        if letter in "012":
            i = int(letter)
            j = (i + 1) % 3
            middle = corner([(a + b) / 2 for a, b in zip(cone[i][0], cone[j][0], strict=True)])
            halves = [list(cone), list(cone)]
            halves[0][i], halves[1][j] = middle, middle
            waiting += halves[::-1]
            if len(waiting) > _MOST_WAITING:
                return TreeCheck(False, "the tree of cones is too deep", judged)
            continue
        if letter == "*":
            m = first
        else:
            row = next(rows, None)
            if row is None:
                return TreeCheck(False, "points are missing", judged)
            m = pair.difference(row)
        judged += 1
        if m is None or not all(_reaches(n, needed, m) for n, needed in cone):
            return TreeCheck(False, f"the point of cone {judged - 1} is not far enough out", judged)
    if waiting:
        return TreeCheck(False, "the tree of cones is incomplete", judged)
    return TreeCheck(True, "", judged)


def _reaches(n: Vector, needed: arb, m: Vector) -> bool:
    """Return whether n . m >= rho |n|, given rho^2 |n|^2."""
    along = dot(n, m)
    return bool(along >= 0 and along * along >= needed)


def pieces_apart(pair: RelativePair, proof: ExportedProof, lower: float) -> TreeCheck:
    """Check whether a certificate's pieces prove that the bodies are at least a distance apart.

    The bodies are the unions of their pieces, and the distance of a pair of pieces is at least g(n) for any n.
    """
    waiting = [(-1.0, 1.0, -1.0, 1.0)]
    heights, directions = iter(proof.heights.tolist()), iter(proof.directions)
    judged = 0
    for letter in proof.pieces:
        if not waiting:
            return TreeCheck(False, "the tree of pieces continues after its end", judged)
        cell = waiting.pop()
        if letter != ".":
            side = "ab".index(letter)
            low, high = cell[2 * side : 2 * side + 2]
            w = next(heights, None)
            if w is None or not low < w < high:
                return TreeCheck(False, f"a cut at {w} is not between {low} and {high}", judged)
            if not isinstance(pair.solids[side], Superquadric):
                return TreeCheck(False, "the tree cuts a body other than a superovoid", judged)
            parts = [(low, w), (w, high)]
            waiting += [(*part, *cell[2:]) if side == 0 else (*cell[:2], *part) for part in parts[::-1]]
            if len(waiting) > _MOST_WAITING:
                return TreeCheck(False, "the tree of pieces is too deep", judged)
            continue
        n = next(directions, None)
        judged += 1
        if n is None or not n.any():
            return TreeCheck(False, "directions are missing", judged)
        if not pair.separation(n, cell) >= lower:
            return TreeCheck(False, f"direction {judged - 1} does not separate its pieces far enough", judged)
    if waiting:
        return TreeCheck(False, "the tree of pieces is incomplete", judged)
    return TreeCheck(True, "", judged)
