# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""All vertices of a hull looked at, eight at a time.

Vertices stand in blocks of eight, the eight x before the eight y before the eight z, so that one vector instruction
serves several vertices; the last block is filled up with the first vertex. A loop of numba over vertices that keeps the
number of the highest stays scalar: what is compiled here is written for LLVM as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import MODE

LANES = 8
BLOCK = 3 * LANES  # numbers of a block


def blocks_of(vertices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vertices (n, 3) in blocks, as a flat array."""
    number = np.arange(-(-len(vertices) // LANES) * LANES)
    number[len(vertices) :] = 0
    return np.ascontiguousarray(vertices[number].reshape(-1, LANES, 3).transpose(0, 2, 1)).ravel()


def _heights(pool: NDArray[np.float64], at: int, count: int, n: tuple[float, ...]) -> NDArray[np.float64]:
    return np.einsum("ijk,j->ik", pool[at : at + BLOCK * count].reshape(count, 3, LANES), np.array(n)).ravel()


def _highest_plain(pool, at, count, x, y, z):
    return int(_heights(pool, at, count, (x, y, z)).argmax())


def _above_plain(pool, at, count, x, y, z, level):
    return int((_heights(pool, at, count, (x, y, z)) >= level).sum())


above: Any
highest: Any
if MODE == "jit":
    from superovoid.shapes.kernels import vertex_loops

    above, highest = vertex_loops.above, vertex_loops.highest
else:
    above, highest = _above_plain, _highest_plain

highest_in_blocks = highest
"""Called in a kernel with the pool, the place of the blocks in it, how many, and the components of a direction: the
number of the vertex that is highest along it, the first of equal ones."""

count_in_blocks = above
"""As `highest_in_blocks` and with a height: how many vertices are no lower; what fills the last block counts too."""
