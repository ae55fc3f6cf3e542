# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is shown about an answer: its meaning, the colour of that, and intervals and status in words.

A meaning follows from the proved interval alone, never from the distance: what the interval leaves open is `UNKNOWN`.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import IntEnum
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.values.status import Status


class Meaning(IntEnum):
    """What is known about a pair, or about all pairs of a body; a body has the largest of its pairs' meanings."""

    UNCHECKED = 0
    """No pair of it is checked: nothing is known, and nothing was asked."""
    APART = 1
    """Proved farther apart than what counts as near."""
    NEAR = 2
    """Proved apart, and not proved farther than what counts as near."""
    UNKNOWN = 3
    """Not decided whether they overlap: the interval holds 0, or there is no answer."""
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

# Of the palette of Okabe and Ito (2008), "Color universal design", made for colour-blind readers; the grey is added.
COLOURS = MappingProxyType(
    {
        Meaning.UNCHECKED: (205, 205, 205),
        Meaning.APART: (0, 114, 178),
        Meaning.NEAR: (240, 228, 66),
        Meaning.UNKNOWN: (204, 121, 167),
        Meaning.OVERLAPPING: (213, 94, 0),
    }
)
"""Red, green, blue, 0 to 255."""

_STATUS = MappingProxyType(
    {
        Status.UNPROVEN: "the interval is wider than was asked for",
        Status.DENT: "at the dent of a body that is not convex",
        Status.NON_UNIQUE: "other points are as close",
        Status.ARBITRARY_NORMAL: "another direction parts them by as short a way",
        Status.PRECISION: "at the limit of precision",
        Status.UNBOUNDED: "no translation parts them",
        Status.NON_CONVEX: "the depth is that of a translation that parts them",
    }
)


def meanings(lower: ArrayLike, upper: ArrayLike, near: float) -> NDArray[np.int64]:
    """What proved intervals say.

    Parameters
    ----------
    lower, upper : array_like
        Bounds of signed distances, m.
    near : float
        Largest distance that counts as near, m.

    Returns
    -------
    array of int
        `Meaning` of each; `UNKNOWN` wherever a bound is not a number.
    """
    lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    found = np.full(np.broadcast(lower, upper).shape, int(Meaning.UNKNOWN))
    # A comparison with a NaN is false; both bounds are looked at, so that one that is none leaves the pair unknown.
    found[(lower > 0.0) & (upper >= lower)] = Meaning.NEAR
    found[(lower > near) & (lower > 0.0) & (upper >= lower)] = Meaning.APART
    found[(upper < 0.0) & (lower <= upper)] = Meaning.OVERLAPPING
    return found


def millimetres(metres: float, decimals: int = 3) -> str:
    """A length in words, rounded to the nearest."""
    return f"{1e3 * metres:z.{decimals}f} mm"


def interval_words(lower: float, upper: float, decimals: int = 4) -> str:
    """A proved interval in millimetres, its ends rounded outwards, so that what is written is proved too."""
    low, high = _rounded(lower, decimals, ROUND_FLOOR), _rounded(upper, decimals, ROUND_CEILING)
    return f"[{low}, {high}] mm"


def _rounded(metres: float, decimals: int, direction: str) -> str:
    if not math.isfinite(metres):
        return "unknown" if math.isnan(metres) else ("-∞" if metres < 0.0 else "∞")
    value = Decimal(metres).scaleb(3)
    if abs(value) >= Decimal(10) ** 15:
        # No length of a robot; its digits would fill the page.
        return f"{Context(prec=7, rounding=direction).plus(value):.6e}"
    rounded = value.quantize(Decimal(1).scaleb(-decimals), rounding=direction)
    return str(rounded if rounded else abs(rounded))


def status_words(status: int) -> str:
    """A status in a sentence: that the interval is proved as narrow as was asked for, or what is special."""
    flags = Status(status)
    words = [text for flag, text in _STATUS.items() if flag & flags]
    if flags.certified:
        words.insert(0, "certified")
    return "; ".join(words)
