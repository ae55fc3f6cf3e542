# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pairs of superovoids of the random families.

Those that tests name by their number are kept in a file, since to draw a family again takes up to some seconds.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from superovoid import Superovoid
from superovoid.testing import random_pairs

DrawnPair = tuple[Superovoid, np.ndarray, Superovoid, np.ndarray]
"""Shape and pose of A, shape and pose of B."""
FILE = Path(__file__).parents[1] / "data" / "drawn_pairs.npz"
NAMED = {
    "border": (193, 239, 249, 509),
    "creased": (1006, 1156, 1810, 1824),
    "dent contact": (3, 292, 660, 766),
    "dented": (461, 1572),
    "ends": (2, 37, 276, 704, 766, 795, 1068),
    "needles": (11, 83, 100, 120, 173, 267, 713, 986, 1607, 1900),
    "slender": (155, 1148, 1489),
}
"""Numbers among 2,000 pairs of a family, of those in the file."""


def drawn_pair(family: str, number: int) -> DrawnPair:
    """One of those in the file."""
    rows, poses = _kept()[family, number]
    return _as_pair(rows, poses)


def drawn_pairs(family: str, count: int) -> Iterator[DrawnPair]:
    """So many pairs of a family, drawn anew; another count makes other pairs."""
    batch = random_pairs.generate(5, family, 0, count)[1]
    poses = batch.poses()
    for k in range(count):
        yield _as_pair(batch.rows[:, k], poses[:, k])


def named_pairs() -> tuple[np.ndarray, np.ndarray]:
    """Rows and poses of the pairs of the file, drawn anew: shapes (n, 2, 7) and (n, 2, 4, 4)."""
    rows, poses = [], []
    for family, numbers in NAMED.items():
        batch = random_pairs.generate(5, family, 0, 2000)[1].take(np.array(numbers))
        rows.append(np.swapaxes(batch.rows, 0, 1))
        poses.append(np.swapaxes(batch.poses(), 0, 1))
    return np.concatenate(rows), np.concatenate(poses)


@functools.cache
def _kept() -> dict[tuple[str, int], tuple[np.ndarray, np.ndarray]]:
    names = [(family, number) for family, numbers in NAMED.items() for number in numbers]
    with np.load(FILE) as archive:
        return dict(zip(names, zip(archive["rows"], archive["poses"], strict=True), strict=True))


def _as_pair(rows: np.ndarray, poses: np.ndarray) -> DrawnPair:
    a, b = (Superovoid.from_goncalves(row[:3], row[3:5], row[5:]) for row in rows)
    return a, poses[0], b, poses[1]


if __name__ == "__main__":
    made = named_pairs()
    np.savez(FILE, rows=made[0], poses=made[1])
