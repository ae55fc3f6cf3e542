# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Figures 9 and 10 of Gonçalves et al. 2017: accuracy against the resolution of a mesh, and exact surfaces.

The bodies are two separate superovoids with semi-axes from 0.96 to 1.4 m, as meshes of 18 to 5,002 vertices, all on the
surface. Errors are those of the distance and of the six coordinates of the two points (20), relative to the engine's
certified answer; the engine's own error is the width of its proved interval. The paper shows one pair without its
exponents and poses; this experiment uses random ones, and medians over them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from rich.table import Table
from scipy.spatial.transform import Rotation

from superovoid import distance
from superovoid.output import REPORT, CsvRow, column, leave, machine, output_folder, print_table, progress
from superovoid.shapes import Superovoid
from superovoid.viewing.palette import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from superovoid_papers.benchmarks import engine_comparison, peers
from superovoid_papers.contenders import explain_missing
from superovoid_papers.experiments.goncalves2017.superovoid_battery import (
    PACKAGES,
    SCHEMES,
    FclMesh,
    Guess,
    Newton,
    unit_pair,
)
from superovoid_papers.methods.goncalves2017 import newton_schemes, polygonal

FloatArray = NDArray[np.float64]

RESOLUTIONS = (18, 50, 98, 162, 290, 450, 786, 1250, 2450, 5002)
"""Numbers of vertices; the paper's figures use 18 and 786, its tables 290."""
PAPER_MESH = 786, 1e-1
"""Least vertices for points (20) of meshes accurate to about 0.1 m, according to the paper's text on figure 9."""
PAPER_TOLERANCE = 1e-6
"""Tolerance of the paper's exact queries, m."""
CHUNK = 25  # pairs with meshes in memory at once
EXACT = ("quadImplicit", "quadParametric", "octImplicit")


@dataclass(frozen=True)
class Row(CsvRow):
    """One contender at one resolution (0: exact), over the pairs that it answers."""

    contender: str
    vertices: int
    pairs: int
    answered: int
    distance_error: float = column("distance_error_median_m")
    distance_error_max: float = column("distance_error_max_m")
    points_error: float = column("points_error_median_m")
    """of the points, equation (20); nan if there are none"""
    points_error_max: float = column("points_error_max_m")
    microseconds: float = column("median_us")
    microseconds_p99: float = column("p99_us")


class CoalHull:
    """Coal's GJK on the convex hull of the vertices of FCL's mesh."""

    def __init__(self, vertices: int) -> None:
        self._coal = peers.Coal(peers.Geometry.ELLIPSOID)
        self._vertices = vertices

    def queries(self, pairs: Sequence[peers.Pair]) -> list[peers.Query]:
        """Return Coal's own calls."""
        asked = []
        for pair in pairs:
            hulls = [
                self._coal.convex(*peers.convex_hull(polygonal.mesh(body, self._vertices)[0]))
                for body, _ in pair.bodies
            ]
            asked.append(self._coal.query(hulls[0], pair.pose_a, hulls[1], pair.pose_b))
        return asked

    def overhead(self) -> peers.Query:
        """Return a query of two spheres."""
        return self._coal.overhead()


def draw(count: int, seed: int) -> tuple[list[peers.Pair], FloatArray, FloatArray, FloatArray]:
    """Draw separate convex pairs; return them, distances, widths of intervals, six coordinates of the points."""
    rng = np.random.default_rng(seed)
    pairs, distances, widths, points = [], [], [], []
    while len(pairs) < count:
        bodies = []
        for _ in range(2):
            taper = rng.uniform(-0.4, 0.4)
            bodies.append(
                Superovoid.from_goncalves(rng.uniform(0.96, 1.4, 3), rng.uniform(0.3, 1.1, 2), (taper, taper))
            )
        poses = np.tile(np.eye(4), (2, 1, 1))
        poses[:, :3, :3] = Rotation.random(2, rng=rng).as_matrix()
        poses[1, 1, 3] = 4.0
        found = distance(bodies[0], poses[0], bodies[1], poses[1])
        if found.status == 0 and found.distance > 0.1:
            pairs.append(peers.Pair(*bodies, *poses))
            distances.append(found.distance)
            widths.append(found.upper - found.lower)
            points.append(np.concatenate([found.point_a, found.point_b]))
    return pairs, np.array(distances), np.array(widths), np.array(points)


def _row(
    name: str,
    vertices: int,
    errors: FloatArray,
    points: FloatArray,
    microseconds: FloatArray,
    answered: NDArray[np.bool_],
) -> Row:
    figures: list[float] = []
    for values in (errors[answered], points[answered]):
        figures += [float(np.median(values)), float(values.max())] if len(values) else [math.nan, math.nan]
    times = float(np.median(microseconds)), float(np.quantile(microseconds, 0.99))
    return Row(name, vertices, len(answered), int(answered.sum()), *figures, *times)


def contenders() -> tuple[dict[tuple[str, int], Any], dict[str, str]]:
    """Return adapters by name and vertices, and missing libraries."""
    made: dict[tuple[str, int], Any] = {("engine", 0): peers.OursCompiled()}
    for name in EXACT:
        guess, options = SCHEMES[name]
        made[f"guess of {name}", 0] = Guess({"scheme": "octImplicit"} if guess == "octree" else {})
        made[name, 0] = Newton(options)
    missing = {}
    for name, make in (("FCL, mesh", FclMesh), ("Coal, hull", CoalHull)):
        try:
            made |= {(name, vertices): make(vertices) for vertices in RESOLUTIONS}
        except ImportError as error:
            missing[name] = str(error)
    return made, missing


@dataclass
class Samples:
    """Answers and times of a contender, chunk by chunk."""

    microseconds: list[FloatArray] = field(default_factory=list)
    distance: list[FloatArray] = field(default_factory=list)
    points: list[FloatArray] = field(default_factory=list)
    """Six coordinates of the two points, if the library returns them."""
    answered: list[NDArray[np.bool_]] = field(default_factory=list)


def _ask(adapter: Any, pairs: Sequence[peers.Pair], samples: Samples) -> None:
    """Time the first call of each pair, since later calls of 25 pairs profit from caches.

    A pair of spheres comes first, so that compilation and allocation precede the timing.
    """
    warm, *queries = adapter.queries([unit_pair(), *pairs])
    warm()
    warm()
    with engine_comparison.no_garbage_collection():
        found = [engine_comparison.time_call(query) for query in queries]
    failed = next((error for _, _, error in found if error), None)
    if failed:
        raise RuntimeError(f"{type(adapter).__name__}: {failed}")
    samples.distance.append(np.array([answer for answer, _, _ in found]))
    samples.microseconds.append(np.array([spent for _, spent, _ in found]))
    if isinstance(adapter, Newton):
        out = adapter.packed.out[1:]
        samples.answered.append(out[:, newton_schemes.CONVERGED] > 0.0)
        samples.points.append(out[:, newton_schemes.POINT_A : newton_schemes.NORMAL].copy())
    elif isinstance(adapter, FclMesh):
        results = [adapter.pair(pair).distance() for pair in pairs]
        samples.points.append(np.array([np.concatenate([r.point_a, r.point_b]) for r in results]))


def run(count: int, seed: int, step: Callable[[str], None]) -> tuple[list[Row], dict[str, str]]:
    """Return the rows of all contenders, and missing libraries."""
    pairs, distances, widths, points = draw(count, seed)
    made, missing = contenders()
    overheads: dict[str, float] = {}
    for (name, _), adapter in made.items():
        spent = engine_comparison.binding_overhead(adapter)
        overheads[name] = min(spent, overheads.get(name, math.inf))
    samples = {key: Samples() for key in made}
    for first in range(0, count, CHUNK):
        step(f"pairs {first} to {min(first + CHUNK, count) - 1}")
        for key, adapter in made.items():
            _ask(adapter, pairs[first : first + CHUNK], samples[key])
    rows = []
    for (name, vertices), own in samples.items():
        if name.startswith("guess of "):
            continue
        microseconds = np.maximum(np.concatenate(own.microseconds) - overheads[name], 0.0)
        if name in EXACT:
            guess = f"guess of {name}"
            guessed = np.concatenate(samples[guess, 0].microseconds)
            microseconds = microseconds + np.maximum(guessed - overheads[guess], 0.0)
        errors = widths if name == "engine" else np.abs(np.concatenate(own.distance) - distances)
        apart = np.linalg.norm(np.concatenate(own.points) - points, axis=1) if own.points else np.full(count, math.nan)
        answered = np.concatenate(own.answered) if own.answered else np.ones(count, dtype=bool)
        rows.append(_row(name, vertices, errors, apart, microseconds, answered))
    return rows, missing


def table(rows: Sequence[Row]) -> Table:
    """Return the table of errors and times by resolution."""
    made = Table(title=f"{rows[0].pairs} pairs apart; between parentheses: max", title_justify="left")
    for name in ("contender", "vertices", "answered", "distance_error", "points_error", "microseconds"):
        made.add_column(Row.heading(name), justify="left" if name == "contender" else "right", no_wrap=True)
    made.add_column(Row.heading("microseconds_p99"), justify="right", no_wrap=True)
    for row in rows:
        points = "–" if math.isnan(row.points_error) else f"{row.points_error:.1e} ({row.points_error_max:.1e})"
        made.add_row(
            row.contender,
            str(row.vertices or "exact"),
            str(row.answered),
            f"{row.distance_error:.1e} ({row.distance_error_max:.1e})",
            points,
            f"{row.microseconds:.2f}",
            f"{row.microseconds_p99:.2f}",
        )
    return made


_COLOURS = {"FCL, mesh": RED, "Coal, hull": GREEN, "engine": BLUE}
_COLOURS |= dict(zip(EXACT, (ORANGE, PURPLE, SKY), strict=True))


def _mesh_errors(panel: Axes, rows: Sequence[Row]) -> None:
    for name, dash in (("FCL, mesh", "-"), ("Coal, hull", "--")):
        some = [row for row in rows if row.contender == name]
        vertices, colour = [row.vertices for row in some], _COLOURS[name]
        if not some:
            continue
        size = 8 if name == "FCL, mesh" else 4  # Both have the same errors.
        errors = [row.distance_error for row in some]
        panel.plot(vertices, errors, f"o{dash}", color=colour, markersize=size, label=f"{name}: distance")
        if not math.isnan(some[0].points_error):
            points = [row.points_error for row in some]
            panel.plot(vertices, points, f"s{dash}", color=colour, fillstyle="none", label=f"{name}: points (20)")
    panel.plot(*PAPER_MESH, "k*", markersize=11, label="paper: points (20), about 786 vertices")
    panel.set(xscale="log", yscale="log", xlabel="vertices of a mesh", ylabel="median error, m", title="meshes")
    panel.legend(fontsize=7)


def _exact_errors(panel: Axes, rows: Sequence[Row]) -> None:
    """Plot exact errors on a separate axis, ten decades below those of meshes."""
    exact = [row for row in rows if row.vertices == 0]
    for place, row in enumerate(exact):
        colour = _COLOURS[row.contender]
        panel.plot(max(row.distance_error, 1e-17), place, "o", color=colour)
        panel.plot(row.points_error, place, "s", color=colour, fillstyle="none")
    panel.axvline(PAPER_TOLERANCE, color=BLACK, linestyle="--")
    panel.set_yticks(range(len(exact)), [row.contender for row in exact])
    panel.set(xscale="log", xlabel="median error, m", title="exact bodies (engine: proved)")
    panel.set_xlim(1e-17, 1e-4)
    panel.set_ylim(-0.6, len(exact) + 0.6)  # room for the legend
    marks = (
        Line2D([], [], color="0.3", marker="o", linestyle="", label="distance"),
        Line2D([], [], color="0.3", marker="s", fillstyle="none", linestyle="", label="points (20)"),
        Line2D([], [], color=BLACK, linestyle="--", label="paper: tolerance"),
    )
    panel.legend(handles=marks, fontsize=7, loc="upper left")


def _mesh_times(panel: Axes, rows: Sequence[Row]) -> None:
    for name, colour in _COLOURS.items():
        some = [row for row in rows if row.contender == name]
        if some and some[0].vertices == 0:
            panel.axhline(some[0].microseconds, color=colour, linestyle="--", label=name)
        elif some:
            panel.plot(
                [row.vertices for row in some], [row.microseconds for row in some], "o-", color=colour, label=name
            )
    panel.set(xscale="log", yscale="log", xlabel="vertices of a mesh", ylabel="median µs a query", title="time")
    panel.legend(fontsize=7)


def plot(rows: Sequence[Row]) -> Figure:
    """Draw errors and times against the number of vertices; exact bodies have an axis of errors of their own."""
    figure = Figure(figsize=(14.0, 4.6), layout="constrained")
    for panel, draw_panel in zip(figure.subplots(1, 3), (_mesh_errors, _exact_errors, _mesh_times), strict=True):
        draw_panel(panel, rows)
    return figure


def main(pairs: int, seed: int, output: Path) -> int:
    """Print the table; write accuracy.csv and accuracy.png."""
    output_folder(output)
    console = REPORT.console()
    with progress() as bar:
        task = bar.add_task("accuracy", total=None)
        rows, missing = run(pairs, seed, lambda text: bar.update(task, description=text))
    about = f"superovoid experiment accuracy --pairs {pairs} --seed {seed}", machine(PACKAGES)
    print_table(console, table(rows))
    plots = {"accuracy": partial(plot, rows)}
    return leave(console, output, {"accuracy": rows}, plots, about, explain_missing(missing))
