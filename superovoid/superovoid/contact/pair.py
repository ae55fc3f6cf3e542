# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two bodies as arguments of kernels: a pair in the frame of the first, bodies in the world, limits of an answer.

Kernels make pairs themselves: a kernel that counts no references (`superovoid.compiled.kernels.kernel`) may not
return arrays to one that does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats1, Floats2
from superovoid.compiled.kernels import kernel
from superovoid.shapes.kernels.kinds import Core


class Pair(NamedTuple):
    """Two bodies in the frame of A: packed superovoids (rows), or cores of any kinds."""

    a: NDArray[np.float64] | Core
    b: NDArray[np.float64] | Core
    rotation: NDArray[np.float64]
    """from the frame of B to that of A, shape (3, 3)"""
    centre: tuple[float, float, float]
    """origin of the frame of B"""


class OvoidPair(NamedTuple):
    """A `Pair` of two superovoids, as Python passes it to a kernel."""

    a: Floats1
    b: Floats1
    rotation: Floats2
    centre: tuple[float, float, float]


class PlacedBody(NamedTuple):
    """A packed body in the world, with the pool that its row refers to."""

    row: Floats1
    pool: Floats1
    pose: Floats2


class Limit(NamedTuple):
    """When the interval of an answer is narrow enough, and how much it may cost.

    An interval is enough if it is as narrow as the tolerance, if it lies above `beyond`, or if it lies below `below`. A
    query for a distance has inf and -inf there, a query with a cut-off has the cut-off as `beyond`, and a query with a
    threshold has the threshold as both.
    """

    tolerance: float
    budget: int
    beyond: float
    """m: a proof that the distance exceeds this is enough"""
    below: float
    """m: a proof that the distance is less than this is enough"""


CLOSER, UNDECIDED, FARTHER = 1, 0, -1


@kernel
def verdict_of(lower, upper, limit):
    """Compare an interval with the threshold of a limit: CLOSER, FARTHER or UNDECIDED."""
    if lower >= limit.beyond:
        return FARTHER
    return CLOSER if upper < limit.below else UNDECIDED
