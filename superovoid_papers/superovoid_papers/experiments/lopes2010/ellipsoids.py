# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Lopes et al. 2010, table 5: distances of ellipsoids along prescribed motions, with the engine and Coal."""

from __future__ import annotations

from pathlib import Path

from superovoid_papers.experiments.lopes2010 import prescribed_motions
from superovoid_papers.experiments.lopes2010.prescribed_motions import DIAGONAL, Case, X

_BALLS = ((3.0, 3.0, 3.0), (0.5, 0.5, 0.5))
_ROUND = (2.0, 2.0)

CASES = (
    Case("1", _BALLS, _ROUND, X, True, {"householder": (1.18, 989), "auxiliary": (1.24, 983)}),
    Case("2", _BALLS, _ROUND, DIAGONAL, False, {"householder": (1.23, 853), "auxiliary": (0.921, 802)}),
    Case(
        "3",
        ((5.0, 5.0, 2.0), (5.0, 5.0, 2.0)),
        _ROUND,
        DIAGONAL,
        False,
        {"householder": (1.15, 977), "auxiliary": (1.22, 1005)},
    ),
    Case(
        "4",
        ((1.0, 5.0, 5.0), (5.0, 1.0, 5.0)),
        _ROUND,
        DIAGONAL,
        False,
        {"householder": (1.20, 956), "auxiliary": (1.02, 1007)},
    ),
)


def main(pairs: int, rounds: int, seed: int, output: Path) -> int:
    """Run the experiment; random pairs are ellipsoids."""
    return prescribed_motions.run(
        "lopes-ellipsoids", "Table 5: ellipsoids, 200 steps", CASES, _ROUND, pairs, rounds, seed, output
    )
