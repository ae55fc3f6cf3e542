# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The lower distance bound for polyhedra: the experiments of its paper, compared with current distances.

The bodies are convex ones from the tetrahedron to a ball of 256 triangles (figs. 9 to 11), and two non-convex ones,
n x n pegs partly in n x n holes (tables 1 and 2, fig. 13). The experiment measures the number of tested pairs of an
edge and a face with and without pruning, the difference of bound and distance, and the cost of both. FCL, whose
distance of meshes descends from PQP, replaces PQP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.table import Table

from superovoid.output import REPORT, cell, leave, machine, output_folder, print_table, progress
from superovoid.viewing.palette import BLACK, BLUE, GREEN, ORANGE, RED
from superovoid_papers.benchmarks import peers
from superovoid_papers.benchmarks.peers import Geometry
from superovoid_papers.contenders import explain_missing
from superovoid_papers.experiments.lower_bound.cases import (
    OFFSETS,
    ORIGINS,
    PRINTED,
    RANDOM_TILTS,
    SIZES,
    SPREADS,
    Counts,
    Origins,
    Row,
    convex_bodies,
    convex_cases,
    counts,
    insertion_cases,
    measure,
    origins,
)
from superovoid_papers.experiments.lower_bound.places import (
    Tolerance,
    place_table,
    printed_row,
    tolerance_table,
    tolerances,
)

Peer = TypeVar("Peer", peers.PythonFcl, peers.Coal)

PACKAGES = ("numpy", "numba", "python-fcl", "coal")


def count_table(rows: list[Counts]) -> Table:
    """Return table 1."""
    table = Table(title="Table 1: pairs of an edge and a face; paper, then ours", title_justify="left")
    for name in (
        "size (edges)", "paper: pairs", "pairs", "paper: applicable", "applicable", "26 tilts: applicable",
        "random tilts: applicable", "random paper", "aligned", "one a contact", "with reflex",
    ):  # fmt: skip
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            f"{row.n} x {row.n} ({row.edges})",
            *map(str, (row.printed_pairs, row.pairs, row.printed_applicable, row.applicable)),
            f"{row.fewest} to {row.most}",
            f"{row.random_fewest} to {row.random_most}",
            f"{row.random_printed} of {RANDOM_TILTS}",
            *map(str, (row.aligned, row.one, row.reflex)),
        )
    return table


def insertion_table(rows: list[Row]) -> Table:
    """Return table 2: milliseconds and, in parentheses, millimetres."""
    table = Table(title="Table 2: time of the processor, ms (bound or distance, mm)", title_justify="left")
    columns = {
        "all": ("us_all", "all"),
        "pruned": ("us_pruned", "pruned"),
        "finding": ("us_finding", None),
        "checked": ("us_checked", None),
        "farthest all": ("us_farthest_all", "farthest_all"),
        "farthest pruned": ("us_farthest_pruned", "farthest_pruned"),
        "fcl": ("us_fcl", "fcl"),
        "fcl collision": ("us_fcl_collision", None),
        "engine": ("us_engine", "distance"),
    }
    for name in ("bodies", *columns):
        table.add_column(name, justify="right")
    for row in rows:
        cells = []
        for spent, length in columns.values():
            text = cell(1e-3 * getattr(row, spent), ".3f")
            cells.append(text if length is None else f"{text} ({cell(1e3 * getattr(row, length), '.2f')})")
        table.add_row(row.bodies, *cells)
    return table


def origin_table(rows: list[Origins]) -> Table:
    """Return the table of the bounds by origin."""
    table = Table(title="Bound by where the world has its origin: first place", title_justify="left")
    for name in ("bodies", "distance, mm", "origin within, m", "bound min, mm", "bound median, mm", "bound max, mm"):
        table.add_column(name, justify="right")
    for row in rows:
        bounds = (f"{1e3 * value:.3f}" for value in (row.least, row.median, row.most))
        table.add_row(row.bodies, f"{1e3 * row.distance:.2f}", f"{row.spread:g}", *bounds)
    return table


def convex_table(rows: list[Row]) -> Table:
    """Return the values of figs. 9 to 11: medians of the places of each body."""
    table = Table(title="Figs. 9 to 11: medians; bounds as shares of the distance", title_justify="left")
    columns: dict[str, tuple[Callable[[Row], float], str]] = {
        "pairs": (lambda r: r.pairs, ".0f"),
        "applicable": (lambda r: r.applicable, ".0f"),
        "all": (lambda r: r.all / r.distance, ".3f"),
        "pruned": (lambda r: r.pruned / r.distance, ".3f"),
        "farthest all": (lambda r: r.farthest_all / r.distance, ".3f"),
        "farthest pruned": (lambda r: r.farthest_pruned / r.distance, ".3f"),
    }
    for name in ("us_all", "us_pruned", "us_finding", "us_checked", "us_fcl", "us_engine"):
        columns[Row.heading(name)] = (attrgetter(name), ".1f")
    for name in ("bodies", *columns):
        table.add_column(name, justify="right")
    for name in dict.fromkeys(row.bodies for row in rows):
        own = [row for row in rows if row.bodies == name]
        cells = (cell(float(np.median([value(row) for row in own])), form) for value, form in columns.values())
        table.add_row(name, *cells)
    return table


def improvement(rows: list[Row]) -> tuple[float, float]:
    """Return mean gains of pruned bounds over those of all pairs, shares of the distance: planes by origin, far."""
    gains = [(row.pruned - row.all, row.farthest_pruned - row.farthest_all) for row in rows]
    near, far = np.mean(np.array(gains) / np.array([[row.distance] for row in rows]), axis=0)
    return float(near), float(far)


class _Series(NamedTuple):
    """Style of a column in all plots."""

    label: str
    marker: str
    colour: str


_GREY = "0.45"
_SERIES = {
    "pairs": _Series("all pairs", "o", ORANGE),
    "applicable": _Series("of applicable contacts", "D", BLUE),
    "us_all": _Series("all pairs, alpha-beta", "v", ORANGE),
    "us_pruned": _Series("applicable pairs", "p", BLUE),
    "us_finding": _Series("finding them, once an orientation", "P", GREEN),
    "us_fcl": _Series("FCL, distance", "s", _GREY),
    "all": _Series("all pairs", "<", ORANGE),
    "pruned": _Series("applicable pairs", "h", BLUE),
    "farthest_pruned": _Series("applicable pairs, far plane", "^", GREEN),
}
_PAPER_BOUND = _Series("paper: applicable pairs", "x", RED)
_PAPER_PQP = _Series("paper: PQP, distance", "+", RED)


def _draw(panel: Axes, places: Sequence[float], values: Sequence[float], series: _Series) -> None:
    if not np.isnan(values).all():
        edge = {} if series.marker in "x+" else {"edgecolors": "white", "linewidths": 0.4}
        panel.scatter(
            places, values, s=26, c=series.colour, marker=series.marker, label=series.label, alpha=0.85, **edge
        )


def _finish(panel: Axes, **words: str) -> None:
    panel.set(xscale="log", yscale="log", **words)
    panel.grid(alpha=0.25, linewidth=0.5)
    panel.legend(fontsize=7)


def plot(convex: list[Row], insertion: list[Row]) -> Figure:
    """Draw figs. 9, 10, 11 and 13, with the paper's own values where tables 1 and 2 have them."""
    figure = Figure(figsize=(11.0, 8.4), layout="constrained")
    (tests, times), (near, inside) = figure.subplots(2, 2)
    rows, edges = [*convex, *insertion], "edges of both bodies"
    paper = [printed_row(*divmod(i, len(OFFSETS))) for i in range(len(insertion))]
    for panel, names in ((tests, ("pairs", "applicable")), (times, ("us_all", "us_pruned", "us_finding", "us_fcl"))):
        for name in names:
            _draw(panel, [row.edges for row in rows], [getattr(row, name) for row in rows], _SERIES[name])
    counted = [row.edges for row in insertion[:: len(OFFSETS)]]
    _draw(tests, counted, [PRINTED[n][1] for n in SIZES], _PAPER_BOUND._replace(label="paper: of applicable contacts"))
    for series, values in ((_PAPER_BOUND, "bound_ms"), (_PAPER_PQP, "distance_ms")):
        _draw(times, [row.edges for row in insertion], [1e3 * getattr(p, values) for p in paper], series)
    _finish(tests, title="pairs of an edge and a face (fig. 9, table 1)", xlabel=edges, ylabel="tests")
    _finish(times, title="processor time (fig. 10, table 2)", xlabel=edges, ylabel="µs")
    for panel, rows, title in ((near, convex, "convex bodies (fig. 11)"), (inside, insertion, "insertion (fig. 13)")):
        for name in ("all", "pruned", "farthest_pruned"):
            _draw(panel, [row.distance for row in rows], [getattr(row, name) for row in rows], _SERIES[name])
        if panel is inside:
            _draw(panel, [p.distance for p in paper], [p.bound for p in paper], _PAPER_BOUND)
        ends = min(row.distance for row in rows), max(row.distance for row in rows)
        panel.plot(ends, ends, color=BLACK, linewidth=0.9, label="bound = distance")
        _finish(panel, title=f"bound: {title}", xlabel="distance, m", ylabel="lower bound, m")
    return figure


def _peer(adapter: Callable[[Geometry], Peer], missing: dict[str, str]) -> Peer | None:
    """Return another library; if it is not installed, return None and store the reason under its name."""
    try:
        return adapter(Geometry.EXACT)
    except ImportError as error:
        missing[adapter.__name__] = str(error)
        return None


def main(pairs: int, rounds: int, seed: int, output: Path) -> int:
    """Run the experiments; print tables, write CSV files and a plot."""
    folder = output_folder(output)
    console = REPORT.console()
    missing: dict[str, str] = {}
    fcl, coal = _peer(peers.PythonFcl, missing), _peer(peers.Coal, missing)
    convex: list[Row] = []
    insertion: list[Row] = []
    with progress() as bar:
        task = bar.add_task("measuring", total=pairs * len(convex_bodies()) + len(SIZES) * len(OFFSETS))
        for rows, cases in ((convex, partial(convex_cases, pairs)), (insertion, insertion_cases)):
            for case in cases(seed, fcl):
                bar.update(task, description=case.name)
                rows.append(measure(case, rounds, fcl))
                bar.advance(task)
    within: list[Tolerance] = []
    for index, case in enumerate(insertion_cases(seed, None) if coal else ()):
        within += tolerances(case, printed_row(*divmod(index, len(OFFSETS))), coal, rounds)
    counted = [counts(n) for n in SIZES]
    places = list(insertion_cases(seed, None))[:: len(OFFSETS)]
    moved = [origins(case, spread, ORIGINS, seed) for case in places for spread in SPREADS]
    tables = convex_table(convex), count_table(counted), insertion_table(insertion), place_table(insertion)
    for table in (*tables, origin_table(moved), *([tolerance_table(within)] if within else [])):
        print_table(console, table)
    near, far = improvement(convex)
    wrong = sum(max(row.all, row.pruned, row.farthest_all, row.farthest_pruned) > row.distance + 1e-9
                for row in (*convex, *insertion))  # fmt: skip
    lines = (
        f"pruning brings the bound of convex bodies nearer by {near:.1%} of the distance (mean; paper: 22.4%), "
        f"with far planes by {far:.1%}",
        f"bounds above the certified distance: {wrong} of {4 * (len(convex) + len(insertion))}",
        *explain_missing(missing),
    )
    about = f"superovoid experiment lower-bound --pairs {pairs} --rounds {rounds} --seed {seed}", machine(PACKAGES)
    written = {"convex": convex, "insertion": insertion, "counts": counted, "origins": moved, "tolerances": within}
    # Without Coal there are no tolerance queries.
    tables = {f"lower_bound_{name}": rows for name, rows in written.items() if rows}
    leave(console, folder, tables, {"lower_bound": partial(plot, convex, insertion)}, about, lines)
    return 1 if wrong else 0
