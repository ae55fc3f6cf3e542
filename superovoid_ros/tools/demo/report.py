# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Results of the demo: rows of a CSV file, printed tables and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from superovoid.output import CsvRow, column, heading
from superovoid.viewing.palette import BLACK, BLUE, RED
from superovoid_ros.motions.replays import Replay


@dataclass(frozen=True, kw_only=True)
class SweepRow(CsvRow):
    """Settings and results for one frame, with the closest pair of bodies."""

    motion: str
    """One of `superovoid_ros.motions.replays.REPLAYS`; `superovoid view` uses the settings to show the motion."""
    representation: str
    """Contact geometry of the hands."""
    links_a: str
    """Links and groups on one side of the pairs, separated by spaces."""
    links_b: str
    frame: int
    pairs: int
    culled_by_spheres: int
    culled_by_boxes: int
    solved_for_penetration: int
    intersecting: int
    answers_not_proved: int
    distance: float = column("distance_m")
    body_a: str
    body_b: str
    distance_solve_time: float = column("get_min_distance_query_s")
    distance_service_time: float = column("get_min_distance_round_trip_s")
    penetration_solve_time: float = column("get_penetration_query_s")
    penetration_service_time: float = column("get_penetration_round_trip_s")


def tables(rows: Sequence[SweepRow], replay: Replay) -> tuple[Table, Table]:
    """Return a table of counts next to the published ones, and a table of times.

    Parameters
    ----------
    rows : sequence of SweepRow
        At least one.
    replay : Replay
        The motion that was played.

    Returns
    -------
    tuple of rich.table.Table
    """
    touching = [row for row in rows if row.intersecting]
    distances = np.array([row.distance for row in rows])
    counts = Table(title=replay.title, title_justify="left")
    counts.add_column("")
    counts.add_column("here", justify="right")
    whole = sum(row.pairs for row in rows) == replay.pairs  # otherwise the published counts do not apply
    if whole:
        counts.add_column("published", justify="right")

    def line(name: str, value: object) -> None:
        cells = [name, f"{value:,}" if isinstance(value, int) else str(value)]
        if whole:
            cells.append(f"about {replay.published[name]:,}" if name in replay.published else "")
        counts.add_row(*cells)

    def contact(index: int) -> str:
        row = touching[index] if touching else None
        return f"{row.frame} ({row.body_a}, {row.body_b})" if row else "none"

    line("frames", len(rows))
    for name in ("pairs", "culled_by_spheres", "culled_by_boxes", "solved_for_penetration", "intersecting"):
        line(heading(name), sum(getattr(row, name) for row in rows))
    line("first contact, frame", contact(0))
    line("last contact, frame", contact(-1))
    gaps = distances[distances >= 0.0]
    gap = f"{1e3 * gaps.min():.3f} mm" if len(gaps) else "none"
    line("smallest gap before or after contact", gap)
    line("deepest penetration", f"{1e3 * abs(distances.min(initial=0.0)):.3f} mm")
    line("answers not proved", sum(row.answers_not_proved for row in rows))

    times = Table(title="Time per call, ms", title_justify="left")
    for name in ("", "median", "p99"):
        times.add_column(name, justify="right" if name else "left")
    for name, field in (
        ("get_min_distance: query of all pairs", "distance_solve_time"),
        ("get_min_distance: service round trip", "distance_service_time"),
        ("get_penetration: query", "penetration_solve_time"),
        ("get_penetration: service round trip", "penetration_service_time"),
    ):
        values = 1e3 * np.array([getattr(row, field) for row in rows])
        times.add_row(name, f"{np.median(values):.3f}", f"{np.quantile(values, 0.99):.3f}")
    return counts, times


def plot(rows: Sequence[SweepRow], path: Path, replay: Replay) -> None:
    """Plot the distance or penetration, and the number of pairs in contact, against the frame."""
    from matplotlib.figure import Figure

    frames = np.array([row.frame for row in rows])
    distance = 1e3 * np.array([row.distance for row in rows])
    pairs = np.array([row.intersecting for row in rows])
    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    upper.plot(frames, distance, color=BLACK, linewidth=1.0)
    upper.fill_between(frames, 0.0, distance, where=distance >= 0.0, color=BLUE, alpha=0.4, label="gap")
    upper.fill_between(frames, 0.0, distance, where=distance < 0.0, color=RED, alpha=0.4, label="penetration")
    upper.axhline(0.0, color=BLACK, linewidth=0.8)
    upper.set_ylabel("smallest signed distance [mm]")
    upper.set_title(f"{replay.title}: closest pair of {replay.subject}")
    upper.legend(loc="best")
    lower.bar(frames, pairs, width=1.0, color=RED, alpha=0.7)
    lower.set_ylabel("pairs in contact")
    lower.set_xlabel("frame")
    figure.savefig(path, dpi=120)
