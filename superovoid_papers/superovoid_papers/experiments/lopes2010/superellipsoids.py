# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Lopes et al. 2010, table 6: distances of superellipsoids along prescribed motions, with the engine."""

from __future__ import annotations

from pathlib import Path

from superovoid_papers.experiments.lopes2010 import prescribed_motions
from superovoid_papers.experiments.lopes2010.prescribed_motions import DIAGONAL, Case, Z

CASES = (
    Case("1", ((1.0, 1.0, 1.0), (1.5, 2.1, 1.9)), (2.4, 3.0), DIAGONAL, False, {"householder": (1.24, 1085)}),
    Case("2", ((0.4, 1.1, 1.1), (1.0, 1.0, 0.4)), (3.2, 3.2), Z, False, {"householder": (1.97, 1632)}),
    Case("3", ((4.1, 1.1, 1.1), (1.0, 1.0, 4.0)), (2.5, 3.2), Z, False, {"householder": (1.39, 1074)}),
)
EXPONENTS = (2.0, 5.0)
"""Range of the uniform random exponents."""


def main(pairs: int, rounds: int, seed: int, output: Path) -> int:
    """Run the experiment; random pairs are superellipsoids with one exponent each."""
    return prescribed_motions.run(
        "lopes-superellipsoids",
        "Table 6: superellipsoids, 200 steps",
        CASES,
        EXPONENTS,
        pairs,
        rounds,
        seed,
        output,
    )
