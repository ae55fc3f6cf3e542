# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Memory for the proofs of overlaps that are carried along (`carried_proof`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superovoid.compiled.arrays import Floats3, Int32s3, Ints2
from superovoid.compiled.kernels import bundle, kernel
from superovoid.contact.superovoids.direction_net import VERTEX

MOST_VERTICES, MOST_CELLS = 512, 1024
MOST_NETS = 64  # pairs whose proofs are kept at most

# Columns of a vertex after those of `direction_net`, whose point of M is that at the pose of now: points of A and B in
# their frames (balls taken off), and the query in which they were support points.
POINT_OF_A, POINT_OF_B, MADE = VERTEX, VERTEX + 3, VERTEX + 6

# Columns of `Nets.about`: the pair (-1: none), the order of its bodies (1 or 2, as in the state of the pair), the query
# that used it last, how many vertices and triangles there are, the query from which on another proof is tried, and how
# many queries have worked at the proof since there was one; 0: the triangles were a proof in the query that used them.
OWNER, ORDER, USED, VERTICES, CELLS, RESTS, TRIES = range(7)

_EMPTY = -1


@bundle
class Nets(NamedTuple):
    """Triangles of pairs, each of which belongs to one pair."""

    about: Ints2
    vertices: Floats3
    cells: Int32s3  # the three vertices of each triangle


def nets_for(count: int) -> Nets:
    """Memory for so many pairs. The system gives it when it is used: a pair takes up to 82 kB."""
    return Nets(
        np.full((count, 7), _EMPTY, dtype=np.int64),
        np.empty((count, MOST_VERTICES, VERTEX + 7)),
        np.empty((count, MOST_CELLS, 3), dtype=np.int32),
    )


def forget_nets(nets: Nets) -> None:
    """Forget all proofs."""
    nets.about[:, OWNER] = _EMPTY


@kernel
def net_of(nets, key, now):
    """Row of a pair's triangles, or one that it may take; -1 where all belong to pairs of the same query.

    Returns also whether it is the pair's, and of how many pairs this query has worked at a proof without an end.
    """
    own, free, oldest, worked_at = -1, -1, now, 0
    for i in range(nets.about.shape[0]):
        if nets.about[i, OWNER] == key:
            own = i
        elif nets.about[i, OWNER] == _EMPTY:
            oldest, free = _EMPTY, i
        elif nets.about[i, USED] < oldest:
            oldest, free = nets.about[i, USED], i
        elif nets.about[i, USED] == now and nets.about[i, TRIES] > 0:
            worked_at += 1
    return (own, True, worked_at) if own >= 0 else (free, False, worked_at)
