# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Arguments of many pairs: one for all pairs, or one a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from superovoid.shapes import Shape, Superovoid

FloatArray = NDArray[np.float64]
CHUNK = 1 << 14  # pairs solved at once, which takes 18 MB beside their answers


def pair_count(lengths: Mapping[str, int]) -> int:
    """Return how many pairs arguments speak of, 1 where none is one a pair.

    Parameters
    ----------
    lengths : mapping of str to int
        Lengths of the arguments that are one a pair, by name.

    Raises
    ------
    ValueError
        If they differ.
    """
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name}: {count}" for name, count in lengths.items())
        raise ValueError(f"all arguments must speak of the same number of pairs, found {found}")
    return next(iter(lengths.values()), 1)


def rows_of(array: FloatArray, count: int, shape: tuple[int, ...] = (4, 4)) -> FloatArray:
    """Return rows, one a pair, of an array that is one for all pairs or one a pair."""
    return np.require(np.broadcast_to(array, (count, *shape)), requirements=["C", "W"])


def which_superovoids(shapes_a: Sequence[Shape], shapes_b: Sequence[Shape]) -> NDArray[np.int64]:
    """Return which pairs are of two superovoids."""
    pairs = zip(shapes_a, shapes_b, strict=True)
    return np.flatnonzero(
        np.fromiter((isinstance(a, Superovoid) and isinstance(b, Superovoid) for a, b in pairs), bool, len(shapes_a))
    )


def packed_rows(shapes: Sequence[Shape], which: NDArray[np.int64]) -> FloatArray:
    """Return packed superovoids, those of a sequence that are named."""
    return np.array([shapes[i]._packed for i in which])


def superovoid_rows(name: str, shapes: Superovoid | Sequence[Superovoid], count: int, complaint: str) -> FloatArray:
    """Return packed superovoids, one a pair; `TypeError` where a shape is none (the complaint takes its type)."""
    if isinstance(shapes, Superovoid):
        return np.broadcast_to(shapes._packed, (count, shapes._packed.size)).copy()
    for i, shape in enumerate(shapes):
        if not isinstance(shape, Superovoid):
            raise TypeError(f"{name}[{i}]: {complaint.format(type(shape).__name__)}")
    return np.array([shape._packed for shape in shapes]) if len(shapes) else np.empty((0, 1))
