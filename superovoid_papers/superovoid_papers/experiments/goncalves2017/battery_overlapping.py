# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random overlapping pairs (Gonçalves et al. 2017, table 1): `superovoid_battery`."""

from __future__ import annotations

from pathlib import Path

from superovoid_papers.experiments.goncalves2017 import superovoid_battery


def main(pairs: int, rounds: int, seed: int, threads: int, output: Path) -> int:
    """Print the table; write battery_overlapping.csv and battery_overlapping.png."""
    return superovoid_battery.experiment("overlapping", pairs, rounds, seed, threads, output)
