# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Status flags of results."""

from __future__ import annotations

from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

# Plain integers for kernels: numba does not support `IntFlag`.
UNPROVEN, NON_CONVEX, NON_UNIQUE, ARBITRARY_NORMAL, PRECISION, UNBOUNDED = 1, 2, 4, 8, 16, 32


class Words:
    """A status that prints as its name: `CERTIFIED`, `UNPROVEN|NON_CONVEX`. ``int(status)`` is its number."""

    def __str__(self) -> str:
        return getattr(self, "name", None) or repr(int(self))  # type: ignore[call-overload]

    def __format__(self, form: str) -> str:
        return format(int(self) if form[-1:] in tuple("bcdoxXneEfFgG%") else str(self), form)  # type: ignore[call-overload]


class Status(Words, IntFlag):
    """Quality of a result and special cases of the pair. `CERTIFIED` is the absence of every flag.

    Only `UNPROVEN` puts the distance in doubt, within the interval; the other flags name special cases.
    """

    CERTIFIED = 0
    """The true signed distance lies in [lower, upper], and the interval meets the requested tolerance."""
    UNPROVEN = UNPROVEN
    """The interval holds but is wider than requested: the true distance may differ from `distance` within it. If the
    points do not realise the distance, they miss it by at most the width of the interval."""
    NON_CONVEX = NON_CONVEX
    """A body is not convex, and the answer is `UNPROVEN`: `lower` is the bound of the convex hulls or of a translation
    that separates the bodies, and `distance` is that of the best contact, the nearest points or the shortest such
    translation found. It is negative only if a common point of the bodies is known."""
    NON_UNIQUE = NON_UNIQUE
    """The distance holds, but the closest points are not unique: other points, farther away than a hundredth of the
    size of the smaller body, are as close within the interval (flats parallel to within 1e-9, aligned axes). The
    distance may have a kink under rotation: the gradients are those of the points returned, and bound the derivative on
    one side (docs/explanation/certificates.md)."""
    ARBITRARY_NORMAL = ARBITRARY_NORMAL
    """The depth holds, but a translation in another direction separates the bodies and is as short, within the interval
    (concentric bodies, symmetric overlaps, corners that touch). For convex bodies the direction opposite to the normal
    is always checked, and directions near it if they touch. Others are reported only if the search finds them: without
    the flag one may exist
    (docs/explanation/numerics.md, section 2)."""
    PRECISION = PRECISION
    """Limit of precision: the rounding error at these coordinates exceeds the tolerance, and the interval is wider by
    that error."""
    UNBOUNDED = UNBOUNDED
    """Two half-spaces that do not face each other: no finite translation separates them, so the distance and its bounds
    are -inf. Both points are the same point, which lies in both half-spaces."""

    @property
    def certified(self) -> bool:
        """Whether the interval meets the requested tolerance, or the limit of rounding (`PRECISION`)."""
        return not self & Status.UNPROVEN

    @property
    def differentiable(self) -> bool:
        """Whether the gradients are the derivative of the distance: one proved contact, and no other one found.

        Otherwise, they belong to the contact returned: one of several with `NON_UNIQUE` or `ARBITRARY_NORMAL`, possibly
        not the best one with `UNPROVEN`. With `UNBOUNDED` there are none.
        """
        return not self & _NOT_DIFFERENTIABLE


_NOT_DIFFERENTIABLE = Status.UNPROVEN | Status.NON_UNIQUE | Status.ARBITRARY_NORMAL | Status.UNBOUNDED


def differentiable_rows(status: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return `Status.differentiable` of many rows."""
    return (status & int(_NOT_DIFFERENTIABLE)) == 0


def certified_rows(status: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return `Status.certified` of many rows."""
    return (status & int(Status.UNPROVEN)) == 0


def words_of(status: NDArray[np.uint8]) -> NDArray[np.str_]:
    """Return the words of many rows: `CERTIFIED`, `UNPROVEN|NON_CONVEX`."""
    return _WORDS[status]


STATUSES = tuple(Status(flags) for flags in range(2 * max(Status)))
_WORDS = np.array([str(status) for status in STATUSES])
