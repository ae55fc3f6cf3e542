# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Points that fill a cube evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.stats import qmc


def halton(seed: int | np.random.Generator) -> qmc.Halton:
    """Return Halton's sequence in three dimensions, scrambled by a seed."""
    from scipy.stats import qmc  # late: importing it takes longer than most programs need it

    return qmc.Halton(3, seed=seed)
