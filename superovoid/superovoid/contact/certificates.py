# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What proves an answer, as plain data for others to check (docs/how_to/verify.md)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from superovoid.values.records import Record

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Record):
    """The proof of an interval, in addition to the normal and the points of the answer. Empty if these prove it.

    Directions are in the frame of A, trees are in preorder: an inner entry is followed by its first half, then by its
    second.
    """

    cones: str = ""
    """Overlapping: halvings of the octants (+++, ++-, ..., ---), letters ``0``, ``1`` and ``2`` for the edge from that
    corner to the next, whose middle replaces its first end in the first half and its second end in the other; ``.`` for
    a cone with a point, ``*`` for one with the first point."""
    points: FloatArray = field(default_factory=lambda: np.empty((0, 6)))
    """Points of A and of B, in their frames, m, shape (k, 6): the first, then those of the cones, in order."""
    pieces: str = ""
    """Apart, with a dent: cuts across the axis z of A (``a``) and B (``b``), at first of the two whole bodies, the
    lower part first; ``.`` for a pair of pieces that has a direction."""
    heights: FloatArray = field(default_factory=lambda: np.empty(0))
    """Heights z / a3 of the cuts, in order, shape (k,)."""
    directions: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    """Directions from A to B of the pairs of pieces, in order, shape (k, 3)."""
