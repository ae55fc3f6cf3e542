# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How an answer is presented: its meaning and colour, and its interval and status in words.

A meaning follows from the proved interval alone, never from the distance; if the interval decides nothing, it is
`UNKNOWN`.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import IntEnum
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.values.status import Status
from superovoid.viewing.palette import BLUE, PURPLE, RED, YELLOW, red_green_blue


class Meaning(IntEnum):
    """What is known about a pair, or about all pairs of a body: a body has the largest meaning of its pairs."""

    UNCHECKED = 0
    """None of its pairs is checked."""
    APART = 1
    """Proved farther apart than the near distance."""
    NEAR = 2
    """Proved apart, but not proved farther than the near distance."""
    UNKNOWN = 3
    """Undecided: the interval contains 0, or there is no answer."""
    OVERLAPPING = 4
    """Proved to overlap."""


WORDS = MappingProxyType(
    {
        Meaning.UNCHECKED: "not checked",
        Meaning.APART: "apart",
        Meaning.NEAR: "near",
        Meaning.UNKNOWN: "not decided",
        Meaning.OVERLAPPING: "overlapping",
    }
)

COLOURS = MappingProxyType(
    {
        Meaning.UNCHECKED: (205, 205, 205),
        Meaning.APART: red_green_blue(BLUE),
        Meaning.NEAR: red_green_blue(YELLOW),
        Meaning.UNKNOWN: red_green_blue(PURPLE),
        Meaning.OVERLAPPING: red_green_blue(RED),
    }
)
"""Red, green, blue, 0 to 255."""

_STATUS = MappingProxyType(
    {
        Status.UNPROVEN: "the interval is wider than requested",
        Status.NON_CONVEX: "a body is not convex",
        Status.NON_UNIQUE: "other points are as close",
        Status.ARBITRARY_NORMAL: "another separating translation is as short",
        Status.PRECISION: "at the limit of precision",
        Status.UNBOUNDED: "no translation separates them",
    }
)


def meanings(lower: ArrayLike, upper: ArrayLike, near: float) -> NDArray[np.int64]:
    """Return the meaning of each proved interval.

    Parameters
    ----------
    lower, upper : array_like
        Bounds of signed distances, m.
    near : float
        Near distance, m.

    Returns
    -------
    array of int
        `Meaning` of each interval; `UNKNOWN` if a bound is NaN.
    """
    lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    found = np.full(np.broadcast(lower, upper).shape, int(Meaning.UNKNOWN))
    # Comparisons with NaN are false. Every line compares both bounds, so a NaN bound leaves the pair unknown.
    found[(lower > 0.0) & (upper >= lower)] = Meaning.NEAR
    found[(lower > near) & (lower > 0.0) & (upper >= lower)] = Meaning.APART
    found[(upper < 0.0) & (lower <= upper)] = Meaning.OVERLAPPING
    return found


def millimetres(metres: float, decimals: int = 3) -> str:
    """Return a length as text in millimetres, rounded to nearest."""
    return f"{1e3 * metres:z.{decimals}f} mm"


def interval_words(lower: float, upper: float, decimals: int = 4) -> str:
    """Return a proved interval in millimetres, with its ends rounded outward so that the printed interval is proved."""
    low, high = _round(lower, decimals, ROUND_FLOOR), _round(upper, decimals, ROUND_CEILING)
    return f"[{low}, {high}] mm"


def _round(metres: float, decimals: int, direction: str) -> str:
    if not math.isfinite(metres):
        return "unknown" if math.isnan(metres) else ("-∞" if metres < 0.0 else "∞")
    value = Decimal(metres).scaleb(3)
    if abs(value) >= Decimal(10) ** 15:
        # No length of a robot is this large, and its digits would fill the page.
        return f"{Context(prec=7, rounding=direction).plus(value):.6e}"
    rounded = value.quantize(Decimal(1).scaleb(-decimals), rounding=direction)
    return str(rounded if rounded else abs(rounded))


def status_words(status: int) -> str:
    """Return a status in words: whether it is certified, and its flags."""
    flags = Status(status)
    words = [text for flag, text in _STATUS.items() if flag & flags]
    if flags.certified:
        words.insert(0, "certified")
    return "; ".join(words)
