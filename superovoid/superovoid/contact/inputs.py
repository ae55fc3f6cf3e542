# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tolerances and budgets as arguments of callers."""

from __future__ import annotations

import numpy as np

from superovoid.values.checks import MOST_LENGTH, shorten

TOLERANCE = 1e-9
SEARCH_BUDGET = 4000


def check_rtol(rtol: float) -> float:
    """Return the relative tolerance as a float; raise `ValueError` if it is not a number of at least 1e-12."""
    if rtol is TOLERANCE:
        return rtol
    real = isinstance(rtol, int | float | np.floating) and not isinstance(rtol, bool)
    if not (real and 1e-12 <= rtol <= MOST_LENGTH):
        raise ValueError(f"rtol = {shorten(rtol)}: must be a number of at least 1e-12, at most {MOST_LENGTH:g}")
    return min(max(float(rtol), 1e-12), MOST_LENGTH)  # numpy compares in single precision
