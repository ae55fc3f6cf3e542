# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random separated pairs (Gonçalves et al. 2017, table 2): `superovoid_battery`."""

from __future__ import annotations

from pathlib import Path

from superovoid_papers.experiments.goncalves2017 import superovoid_battery


def main(pairs: int, rounds: int, seed: int, threads: int, output: Path) -> int:
    """Print the table; write battery_separated.csv and battery_separated.png."""
    return superovoid_battery.experiment("separated", pairs, rounds, seed, threads, output)
