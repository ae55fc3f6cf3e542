# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The order in which candidates are solved where only the k closest are wanted: the least bound first.

Each candidate waits in a heap under a proved lower bound of its distance. The one with the least is taken, and its
bound raised or the pair solved, until k pairs are known that are no farther than the least bound left.

==================  =============================================================================================
bound by            when
==================  =============================================================================================
bounding spheres    always
oriented boxes      it is the first
two support points  it is the first and may overlap: a depth is dear. Along the line of the spheres' centres
==================  =============================================================================================

The bounds are lowered by the width of a certified interval, so that no answer that is certified can be below its bound:
what is left out would have come behind the k closest, and equal distances keep their order.
"""

from __future__ import annotations

from superovoid.compiled.kernels import kernel
from superovoid.compiled.row_heap import lift, sink

# What the bound of a waiting candidate is from, and what to do with the first.
SPHERES, BOXES, SUPPORTED = 0, 1, 2
RAISED, SUPPORT, SOLVE = 0, 1, 2


@kernel
def lower_limit(nearest, farness, known, most, limit, value):
    """Note a distance, no larger than the limit, among the least ones; return the limit it leaves for others.

    `nearest` is a heap of the least ones, the largest on top: its keys are minus the distances. `known` were noted
    before; the limit falls to the largest as soon as there are `most`.
    """
    if known < most:
        nearest[known] = known
        farness[known] = -value
        lift(nearest, farness, known)
    else:
        farness[nearest[0]] = -value
        sink(nearest, farness, 0, most)
    return min(limit, -farness[nearest[0]]) if known + 1 >= most else limit
