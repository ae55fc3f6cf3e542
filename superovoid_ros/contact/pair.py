"""A pair of bodies in the frame of the first, as kernels hand it on.

Pairs are made where they are used: a kernel that counts no references (`jit.kernel`) may not return arrays to one that
does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Core(NamedTuple):
    """A packed body without the ball around it, with its kind and the pool that holds its vertices and trees."""

    row: NDArray[np.float64]
    kind: int
    pool: NDArray[np.float64]


class Pair(NamedTuple):
    """Two bodies in the frame of A: packed superovoids (rows), or cores of any kinds."""

    a: NDArray[np.float64] | Core
    b: NDArray[np.float64] | Core
    rotation: NDArray[np.float64]
    """from the frame of B to that of A, shape (3, 3)"""
    centre: tuple[float, float, float]
    """origin of the frame of B"""
