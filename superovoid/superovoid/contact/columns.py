# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Columns of the rows that travel with a pair: the result, and the state that an answer leaves for the next one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A result.
DISTANCE, LOWER, UPPER, POINT_A, POINT_B, NORMAL, STATUS, ITERATIONS = 0, 1, 2, 3, 6, 9, 12, 13
RESULT_LENGTH = 14

# A verdict of `deciding.decide_within`.
VERDICT_LENGTH = 5

# A state of two superovoids: the two surface points of the last answer (all zero: none), then what the last search of
# the pair proved: order of the bodies (0: nothing; `UNKEPT`: and no one asks again), the cap of a depth (direction,
# angle) and the level outside, the relative pose it was made at, and the interval and status that it ended with.
PROOF, PROOF_N, PROOF_CAP, PROOF_LEVEL, PROOF_ROTATION, PROOF_CENTRE = 16, 17, 20, 21, 22, 31
PROOF_LOWER, PROOF_UPPER, PROOF_STATUS = 34, 35, 36
STATE_LENGTH = 37
UNKEPT = -1.0

# A state of other pairs: for which order there is a start (0: none), its direction, scratch for a rotation.
STARTED, START, SCRATCH = 0, 1, 4


def unkept_states(count: int) -> NDArray[np.float64]:
    """States for answers found from nothing, of which nothing is kept, shape (count, STATE_LENGTH)."""
    states = np.zeros((count, STATE_LENGTH))
    states[:, PROOF] = UNKEPT
    return states
