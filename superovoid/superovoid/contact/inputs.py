# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tolerances and budgets: of callers, and those that all searches share."""

from __future__ import annotations

import numpy as np

from superovoid.values.checks import MOST_LENGTH, shorten

TOLERANCE = 1e-9
"""Width of an interval that counts as certified, of the smaller body. Lengths relative to a body, and sines of angles,
that differ by less count as equal."""
SEARCH_BUDGET = 4000
MOST_TRANSLATIONS = 6
"""Translations tried that may separate overlapping bodies, and places tried on the way back from too long a one."""
MOST_STEPS = 64
"""Steps after which an iteration ends that converges, or stalls, in far fewer. 64 halvings leave no digit."""


def check_rtol(rtol: float) -> float:
    """Return the relative tolerance as a float; raise `ValueError` if it is not a number of at least 1e-12."""
    if rtol is TOLERANCE:
        return rtol
    real = isinstance(rtol, int | float | np.floating) and not isinstance(rtol, bool)
    if not (real and 1e-12 <= rtol <= MOST_LENGTH):
        raise ValueError(f"rtol = {shorten(rtol)}: must be a number of at least 1e-12, at most {MOST_LENGTH:g}")
    return min(max(float(rtol), 1e-12), MOST_LENGTH)  # numpy compares in single precision
