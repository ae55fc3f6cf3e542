# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What an answer says of itself: status flags."""

from __future__ import annotations

from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

# As kernels take them: numba knows no enumerations of flags.
UNPROVEN, DENT, NON_UNIQUE, ARBITRARY_NORMAL, PRECISION, UNBOUNDED, NON_CONVEX = 1, 2, 4, 8, 16, 32, 64


class Words:
    """A status that prints as its name: `CERTIFIED`, `UNPROVEN|DENT`; its number is that of ``int(status)``."""

    def __str__(self) -> str:
        return getattr(self, "name", None) or repr(int(self))  # type: ignore[call-overload]

    def __format__(self, form: str) -> str:
        return format(int(self) if form[-1:] in tuple("bcdoxXneEfFgG%") else str(self), form)  # type: ignore[call-overload]


class Status(Words, IntFlag):
    """Why an answer can be trusted, or what it lacks. `CERTIFIED` is the absence of every flag.

    `UNPROVEN` alone puts the distance in doubt, and says by how much; the others name what is special about the pair.
    """

    CERTIFIED = 0
    """The true signed distance lies in [lower, upper], and the interval is as narrow as was asked for."""
    UNPROVEN = UNPROVEN
    """The interval holds but is wider than was asked for: a better answer inside it is not excluded, and where the
    points do not realise the distance, they miss it by no more than the interval is wide."""
    DENT = DENT
    """A body is not convex, and the bodies could not be proved: `lower` is that of the convex hulls or of a translation
    that parts the bodies, the distance that of the bodies' own best contact or nearest points. It is negative only
    where a point of both is known."""
    NON_UNIQUE = NON_UNIQUE
    """The distance holds; the points are those of one closest pair of many: points farther apart than a hundredth of
    the smaller body are as good, within the interval (flats parallel to within 1e-9, aligned axes). The distance may
    have a kink where a body turns: gradients are those of the pair given, a bound to one side (docs/derivatives.md)."""
    ARBITRARY_NORMAL = ARBITRARY_NORMAL
    """The depth holds; another direction separates the bodies by as short a way, within the interval (concentric
    bodies, symmetric overlaps). Of convex bodies the direction against the normal is always looked at. Others are said
    where the search meets them: without the flag there may be one (docs/numerics.md, section 2)."""
    PRECISION = PRECISION
    """At the limit of precision: rounding at these coordinates takes more than the tolerance, and the interval is
    wider by that much."""
    UNBOUNDED = UNBOUNDED
    """Two half-spaces that do not face each other: no translation, however long, parts them, so the distance and its
    bounds are -inf. The points are one point of both."""
    NON_CONVEX = NON_CONVEX
    """A torus or a mesh that is not convex overlaps another body: `distance` is minus the length of a translation that
    is proved to part them, `upper` minus a length below which none does."""

    @property
    def certified(self) -> bool:
        """Whether the interval is as narrow as was asked for, and rounding allows."""
        return not self & Status.UNPROVEN

    @property
    def differentiable(self) -> bool:
        """Whether gradients are the derivative of the distance, as far as the engine looks: one proved contact.

        Else, they are those of the contact given: one of several with `NON_UNIQUE` or `ARBITRARY_NORMAL`, one that may
        not be the best with `UNPROVEN`, and none at all with `UNBOUNDED`.
        """
        return not self & _NOT_DIFFERENTIABLE


_NOT_DIFFERENTIABLE = Status.UNPROVEN | Status.NON_UNIQUE | Status.ARBITRARY_NORMAL | Status.UNBOUNDED


def differentiable_rows(status: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """`Status.differentiable` of many rows."""
    return (status & int(_NOT_DIFFERENTIABLE)) == 0


def certified_rows(status: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """`Status.certified` of many rows."""
    return (status & int(Status.UNPROVEN)) == 0


def words_of(status: NDArray[np.uint8]) -> NDArray[np.str_]:
    """The words of many rows: `CERTIFIED`, `UNPROVEN|DENT`."""
    return _WORDS[status]


STATUSES = tuple(Status(flags) for flags in range(2 * max(Status)))
_WORDS = np.array([str(status) for status in STATUSES])
