# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Quasi-random points in a cube."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.stats import qmc


def halton(seed: int | np.random.Generator) -> qmc.Halton:
    """Return the Halton sequence in three dimensions, scrambled by a seed."""
    from scipy.stats import qmc  # imported here because the import is slow

    return qmc.Halton(3, seed=seed)
