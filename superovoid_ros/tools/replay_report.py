# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances along a motion of this package, from a distance service: rows of a CSV file, a printed table, a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from superovoid.output import CsvRow, column
from superovoid.viewing.palette import BLACK, BLUE, RED
from superovoid_ros.motions.replays import REPLAYS, Replay
from superovoid_ros.tools.process.child import wait_for
from superovoid_ros.tools.process.service import distance_service

_TOUCHING = 1e-9  # m, largest distance of the pairs among which overlapping ones are counted


@dataclass(frozen=True, kw_only=True)
class ReplayRow(CsvRow):
    """Results for one frame, with the closest pair of bodies; `superovoid view` shows the motion by the settings."""

    motion: str
    """One of `superovoid_ros.motions.replays.REPLAYS`."""
    representation: str
    """Contact geometry of the hands."""
    links_a: str
    """Links and groups on one side of the pairs, separated by spaces."""
    links_b: str
    frame: int
    intersecting: int
    answers_not_proved: int
    distance: float = column("distance_m")
    body_a: str
    body_b: str


def replay_rows(motion: str, frames: Sequence[int], representation: str) -> list[ReplayRow]:
    """Ask a distance service for the distances in frames of a motion, all in two calls.

    Parameters
    ----------
    motion : str
        One of `REPLAYS`.
    frames : sequence of int
        At least one.
    representation : str
        Contact geometry, if the robot has several.

    Raises
    ------
    NodeError
        If the node ends or does not respond.
    """
    replay = REPLAYS[motion]
    played = replay.motion()
    states = [played.frame(frame) for frame in frames]
    links_a, links_b = replay.links
    options = {
        "joint_names": list(states[0].positions),
        "base_poses": {link: np.array([one.base_poses[link] for one in states]) for link in states[0].base_poses},
        "links_a": links_a,
        "links_b": links_b,
    }
    positions = [list(one.positions.values()) for one in states]
    answers = []
    with distance_service("demo", replay.robot, representation=representation) as (node, name, client):
        for limit in ({"max_results": 1}, {"max_distance": _TOUCHING}):
            call = client.distances_async(positions, **options, **limit)
            wait_for(node, call.done, f"{name} did not answer")
            answers.append(call.result())
    rows = []
    for number, frame in enumerate(frames):
        nearest, touching = (found.of_state(number) for found in answers)
        closest = nearest[0]
        row = ReplayRow(
            motion=motion,
            representation=representation,
            links_a=" ".join(links_a),
            links_b=" ".join(links_b),
            frame=frame,
            intersecting=int((touching.distance < 0.0).sum()),
            answers_not_proved=int((~nearest.certified).sum() + (~touching.certified).sum()),
            distance=closest.distance,
            body_a=closest.name_a,
            body_b=closest.name_b,
        )
        rows.append(row)
    return rows


def table(rows: Sequence[ReplayRow], replay: Replay) -> Table:
    """Return a table of counts, next to the published ones if the rows are of the whole motion."""
    touching = [row for row in rows if row.intersecting]
    distances = np.array([row.distance for row in rows])
    gaps = distances[distances >= 0.0]
    counts = Table(title=replay.title, title_justify="left")
    counts.add_column("")
    counts.add_column("here", justify="right")
    is_whole = len(rows) == replay.frames()
    if is_whole:
        counts.add_column("published", justify="right")

    def contact(index: int) -> str:
        row = touching[index] if touching else None
        return f"{row.frame} ({row.body_a}, {row.body_b})" if row else "none"

    for name, value in (
        ("frames", len(rows)),
        ("intersecting", sum(row.intersecting for row in rows)),
        ("first contact, frame", contact(0)),
        ("last contact, frame", contact(-1)),
        ("smallest gap before or after contact", f"{1e3 * gaps.min():.3f} mm" if len(gaps) else "none"),
        ("deepest penetration", f"{1e3 * abs(distances.min(initial=0.0)):.3f} mm"),
        ("answers not proved", sum(row.answers_not_proved for row in rows)),
    ):
        published = [f"about {replay.published[name]:,}" if name in replay.published else ""] if is_whole else []
        counts.add_row(name, f"{value:,}" if isinstance(value, int) else value, *published)
    return counts


def plot(rows: Sequence[ReplayRow], path: Path, replay: Replay) -> None:
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
