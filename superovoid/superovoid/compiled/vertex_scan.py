# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Scan all vertices of a hull for the highest, eight at a time.

Vertices are stored in blocks of eight, the eight x before the eight y before the eight z, so that one vector
instruction serves several vertices; the last block is filled up with the first vertex.
"""

from __future__ import annotations

import numpy as np

from superovoid.compiled.kernels import kernel

LANES = 8
BLOCK = 3 * LANES  # numbers of a block


@kernel(llvm="superovoid.compiler.llvm_functions:highest_vertex")
def highest_in_blocks(pool, at, count, x, y, z):
    """Return the number of the highest vertex along a direction, the first of equal ones.

    Called with the pool, the place of the blocks in it, how many there are, and the components of the direction.
    """
    blocks = pool[at : at + BLOCK * count].reshape(count, 3, LANES)
    return int(np.einsum("ijk,j->ik", blocks, np.array((x, y, z))).argmax())
