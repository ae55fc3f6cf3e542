# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compare our engine with other libraries on the same pairs, in one process: speed, error, failures.

Each cell of families of bodies (`FAMILIES`) by regimes (`REGIMES`) has its own random pairs. B starts on a random side
of A and moves along the closest direction of `reference.signed_distance` to the specified distance; deep pairs are
drawn by their centres. The reference judges all libraries, including our engine, and shares no code with any.

Libraries without superovoids get ellipsoids, or the convex hull of points of the surface. The error then includes that
of the hull, as for a user of that library.

Each call is timed separately. In each round the libraries follow in random order, and each processes all pairs of the
cell, so that no call finds its own pair in the branch predictor. The fastest round of a pair counts: other programs
only add to the others.
"""

from __future__ import annotations

import gc
import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.spatial.transform import Rotation

from superovoid import Superovoid, distance
from superovoid.output import (
    REPORT,
    CsvRow,
    column,
    output_folder,
    print_table,
    processor,
    save_figure,
    versions,
    write_csv,
)
from superovoid.testing import polytope
from superovoid.viewing.palette import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED
from superovoid_papers.benchmarks import peers
from superovoid_papers.benchmarks.peers import Geometry
from superovoid_papers.contenders import explain_missing

FloatArray = NDArray[np.float64]

FAMILIES = ("ellipsoids", "superellipsoids", "superovoids")
REGIMES = ("separated", "touching", "shallow", "deep")
FAILURES = ("exception", "no answer", "wrong sign", "error > 1e-3")
PACKAGES = ("numpy", "scipy", "numba", "coal", "python-fcl", "mujoco", "distance3d")

SIGN_TOLERANCE = 1e-6
"""Below this distance, in units of the smaller body's largest semi-axis, no sign is wrong."""
ERROR_LIMIT = 1e-3
"""Above this error, in the same units, an answer counts as a failure."""
REFERENCE_TOLERANCE = 1e-12
_SLOW_SHARE = 5


@dataclass(frozen=True)
class Case:
    """One pair of the comparison with its reference."""

    pair: peers.Pair
    size: float
    """Unit of errors: the smaller body's largest semi-axis, m."""
    truth: polytope.Bracket


@dataclass(frozen=True)
class Engine:
    """A row of the tables: a library with its representation of bodies and its settings."""

    library: str
    make: Callable[[], peers.Adapter]
    geometry: Geometry = Geometry.EXACT
    setting: str = ""

    @property
    def name(self) -> str:
        """Name of the row."""
        geometry = "" if self.geometry is Geometry.EXACT else self.geometry.value
        return ", ".join(filter(None, (self.library, geometry, self.setting)))

    @property
    def is_slow(self) -> bool:
        """Whether it solves only one pair in `_SLOW_SHARE`."""
        return self.library == "distance3d"

    def offers(self, family: str) -> bool:
        """Return whether it supports these bodies, or hulls of them."""
        return self.geometry is not Geometry.ELLIPSOID or family == "ellipsoids"


@dataclass
class Record:
    """Answers of one engine in one cell: arrays with one number per pair, in the order of the cases."""

    answers: FloatArray
    microseconds: FloatArray
    errors: list[str]
    """Text of the exception, or an empty string."""


def _peer_rows() -> Iterator[Engine]:
    for library, adapter, tight in (
        ("Coal", peers.Coal, "tight"),
        ("MuJoCo", peers.MuJoCo, "tight"),
        ("python-fcl", peers.PythonFcl, None),
        ("distance3d", peers.Distance3d, "roomy"),
    ):
        for geometry in (Geometry.ELLIPSOID, Geometry.HULL_290, Geometry.HULL_5002):
            yield Engine(library, partial(adapter, geometry), geometry)
            if tight and geometry is not Geometry.HULL_290:
                yield Engine(library, partial(adapter, geometry, tight=True), geometry, tight)


OURS = Engine("superovoid", peers.OursCompiled, setting="compiled loop")
OURS_CALLED = Engine("superovoid", peers.OurEngine, setting="distance()")
ENGINES = (OURS, OURS_CALLED, *_peer_rows())


# -- pairs ---------------------------------------------------------------------------------------------------------


def random_body(family: str, rng: np.random.Generator) -> Superovoid:
    """Draw semi-axes 0.25 to 1 m, exponents 0.3 to 1.5, equal convex tapers (docs/explanation/numerics.md)."""
    size = np.exp(rng.uniform(math.log(0.25), 0.0, 3))
    epsilon = np.ones(2) if family == "ellipsoids" else rng.uniform(0.3, 1.5, 2)
    taper = 0.0
    if family == "superovoids":
        limit = (1.0 - 0.5 * epsilon[1]) * 2.0 ** (0.5 * epsilon[1])
        taper = rng.uniform(-1.0, 1.0) * min(0.5, 0.95 * limit)
    return Superovoid.from_goncalves(size, epsilon, (taper, taper))


def bracket(pair: peers.Pair, tolerance: float = REFERENCE_TOLERANCE) -> polytope.Bracket:
    """Bracket the pair's signed distance by the reference."""
    supports, axes = [], []
    for body, pose in pair.bodies:
        parameters = (
            np.array(body.semi_axes),
            np.array((body.section_exponent, body.profile_exponent)),
            np.array(body.taper),
        )
        supports.append(polytope.transform(polytope.superovoid(*parameters), pose))
        axes += [pose[:3, :3].T, -pose[:3, :3].T]
    size = min(max(body.semi_axes) for body, _ in pair.bodies)
    return polytope.signed_distance(*supports, size=size, directions=np.vstack(axes), rtol=tolerance)


def _wanted_distance(regime: str, rng: np.random.Generator, size: float, thinnest: float) -> float:
    if regime == "separated":
        return size * 10.0 ** rng.uniform(-2.0, 0.0)
    if regime == "touching":
        return rng.choice([-1.0, 1.0]) * size * 10.0 ** rng.uniform(-9.0, -6.0)
    return -thinnest * 10.0 ** rng.uniform(-4.0, -1.0)


def random_case(family: str, regime: str, rng: np.random.Generator) -> Case:
    """Draw a pair of a family in a regime.

    Raises
    ------
    ValueError
        If family or regime is not in `FAMILIES`, `REGIMES`.
    """
    if family not in FAMILIES or regime not in REGIMES:
        raise ValueError(f"family, regime = {family!r}, {regime!r}: must be of {FAMILIES} and {REGIMES}")
    a, b = random_body(family, rng), random_body(family, rng)
    size, thinnest = min(max(a.semi_axes), max(b.semi_axes)), min(*a.semi_axes, *b.semi_axes)
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[:, :3, :3] = Rotation.random(2, rng=rng).as_matrix()
    poses[0, :3, 3] = rng.uniform(-1.0, 1.0, 3)
    side = rng.normal(size=3)
    side /= np.linalg.norm(side)
    while True:
        apart = sum(float(np.linalg.norm(body.semi_axes)) for body in (a, b)) * 1.6
        poses[1, :3, 3] = poses[0, :3, 3] + side * apart * (rng.uniform(0.0, 0.4) if regime == "deep" else 1.0)
        pair = peers.Pair(a, b, poses[0].copy(), poses[1].copy())
        found = bracket(pair, REFERENCE_TOLERANCE if regime in ("touching", "deep") else 1e-6)
        if regime != "deep":
            wanted = _wanted_distance(regime, rng, size, thinnest)
            poses[1, :3, 3] -= (found.distance - wanted) * found.normal
            pair = peers.Pair(a, b, poses[0].copy(), poses[1].copy())
            return Case(pair, size, bracket(pair))
        if found.distance < -0.2 * thinnest:
            return Case(pair, size, found)


def cases(family: str, regime: str, count: int, seed: int) -> list[Case]:
    """Draw the pairs of a cell, the same for the same seed."""
    rng = np.random.default_rng([seed, FAMILIES.index(family), REGIMES.index(regime)])
    return [random_case(family, regime, rng) for _ in range(count)]


# -- measuring -----------------------------------------------------------------------------------------------------


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable garbage collection during a measurement."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def time_call(query: peers.Query) -> tuple[float, float, str]:
    """Return the answer, microseconds, and the text of the exception, if any."""
    started = time.perf_counter()
    try:
        answer, error = query(), ""
    except Exception as exception:  # Any exception of a library is its answer.
        answer, error = math.nan, f"{type(exception).__name__}: {exception}"
    return float(answer), 1e6 * (time.perf_counter() - started), error


def measure(
    adapters: dict[str, peers.Adapter], slow: set[str], given: Sequence[Case], rounds: int
) -> dict[str, Record]:
    """Time every adapter on the pairs of a cell.

    Parameters
    ----------
    adapters : dict
        By name.
    slow : set of str
        Names of the engines with one pair in five, twice.
    given : sequence of Case
        The pairs.
    rounds : int
        Number of calls per pair.
    """
    pairs = [case.pair for case in given]
    queries = {
        name: adapter.queries(pairs[::_SLOW_SHARE] if name in slow else pairs) for name, adapter in adapters.items()
    }
    records: dict[str, Record] = {}
    for name, asked in queries.items():  # Not timed: allocates, and stores the answer of a first call.
        first = [time_call(query) for query in asked]
        answers, errors = np.array([answer for answer, _, _ in first]), [error for _, _, error in first]
        records[name] = Record(answers, np.empty(0), errors)
    samples: dict[str, list[list[float]]] = {name: [] for name in queries}
    order = list(queries)
    shuffle = np.random.default_rng(0)
    with no_garbage_collection():
        for turn in range(rounds):
            shuffle.shuffle(order)
            for name in order:
                if name not in slow or turn < 2:
                    samples[name].append([time_call(query)[1] for query in queries[name]])
    for name, record in records.items():
        record.microseconds = np.min(samples[name], axis=0)
    return records


def binding_overhead(adapter: peers.Adapter) -> float | None:
    """Return the microseconds of a call that computes almost nothing, including the timer."""
    query = adapter.overhead()
    if query is None:
        return None
    with no_garbage_collection():
        return float(np.median([time_call(query)[1] for _ in range(3000)]))


def verdicts(record: Record, truths: FloatArray, sizes: FloatArray) -> tuple[FloatArray, list[str]]:
    """Return the relative error of every answer (nan if there is none) and its failure, one of `FAILURES` or ''."""
    with np.errstate(over="ignore"):
        errors = np.abs(record.answers - truths) / sizes
    found = []
    for i, answer in enumerate(record.answers):
        if record.errors[i]:
            found.append("exception")
        elif not abs(answer) < 1e6 * sizes[i]:
            found.append("no answer")
        elif answer * truths[i] < 0.0 and abs(truths[i]) > SIGN_TOLERANCE * sizes[i]:
            found.append("wrong sign")
        elif errors[i] > ERROR_LIMIT:
            found.append("error > 1e-3")
        else:
            found.append("")
        if found[-1] in ("exception", "no answer"):
            errors[i] = math.nan
    return errors, found


def summary(record: Record, given: Sequence[Case]) -> dict[str, Any]:
    """Return the figures of one engine in one cell: microseconds, relative errors and counts of failures."""
    truths, sizes = np.array([c.truth.distance for c in given]), np.array([c.size for c in given])
    errors, found = verdicts(record, truths, sizes)
    answered = errors[~np.isnan(errors)]
    return {
        "pairs": len(given),
        "median_us": float(np.median(record.microseconds)),
        "p99_us": float(np.quantile(record.microseconds, 0.99)),
        "median_error": float(np.median(answered)) if len(answered) else None,
        "max_error": float(answered.max()) if len(answered) else None,
        "failures": {name: found.count(name) for name in FAILURES},
    }


def own_interval(given: Sequence[Case]) -> dict[str, int]:
    """Count the certified answers of this engine, and its intervals that miss the reference's bracket."""
    certified = missed = 0
    for case in given:
        answer = distance(case.pair.a, case.pair.pose_a, case.pair.b, case.pair.pose_b)
        slack = 1e-12 * case.size  # Rounding of the reference.
        certified += answer.status == 0
        missed += answer.lower > case.truth.upper + slack or answer.upper < case.truth.lower - slack
    return {"pairs": len(given), "certified": certified, "interval_misses_reference": missed}


# -- report --------------------------------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """Return processor model, cores, Python and the versions of all libraries (None: not installed)."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": versions(PACKAGES),
    }


def number(value: float) -> str:
    """Format a time or a ratio with about three digits."""
    return f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"


def _error(value: float) -> str:
    return f"{value:.0e}" if value > 0.0 else "0"


def _two_values(show: Callable[[float], str], cell: dict[str, Any], first: str, second: str) -> str:
    if cell.get(first) is None:
        return "–"
    return f"{show(cell[first])} / {show(cell[second])}"


def _failures(counts: dict[str, int] | None) -> str:
    """Format counts with initials: x exception, n no answer, s wrong sign, e error too large; empty if all are 0."""
    letters = dict(zip(FAILURES, "xnse", strict=True))
    shown = " ".join(f"{count}{letters[name]}" for name, count in (counts or {}).items() if count)
    return f"  [bold]{shown}[/bold]" if shown else ""


def tables(report: dict[str, Any]) -> Iterator[Table]:
    """Generate two tables per family: time of a call, and error with failures. A dash: unsupported bodies."""
    for family in report["families"]:
        speed = Table(title=f"{family.capitalize()}: call, us, median / p99", title_justify="left")
        accuracy = Table(title=f"{family.capitalize()}: error / size, median / max; failures", title_justify="left")
        for table in (speed, accuracy):
            table.add_column("engine", no_wrap=True)
            for regime in report["regimes"]:
                table.add_column(regime, justify="right", no_wrap=True)
        for row in report["rows"]:
            cells = [row["cells"].get(f"{family}/{regime}", {}) for regime in report["regimes"]]
            speed.add_row(row["name"], *(_two_values(number, cell, "median_us", "p99_us") for cell in cells))
            accuracy.add_row(
                row["name"],
                *(
                    _two_values(_error, cell, "median_error", "max_error") + _failures(cell.get("failures"))
                    for cell in cells
                ),
            )
        yield speed
        yield accuracy


@dataclass(frozen=True)
class AnswerRow(CsvRow):
    """The answer of an engine for a pair."""

    family: str
    regime: str
    pair: int
    engine: str
    reference: float = column("reference_m")
    reference_width: float = column("reference_width_m")
    size: float = column("size_m")
    """of the smaller body"""
    answer: float = column("answer_m")
    microseconds: float = column("call_us")
    failure: str
    """one of `FAILURES` or empty"""


def csv_rows(
    family: str, regime: str, name: str, record: Record, given: Sequence[Case], step: int
) -> Iterator[AnswerRow]:
    """Yield rows of the CSV file."""
    truths, sizes = np.array([c.truth.distance for c in given]), np.array([c.size for c in given])
    _, found = verdicts(record, truths, sizes)
    for i, case in enumerate(given):
        yield AnswerRow(
            family=family,
            regime=regime,
            pair=i * step,
            engine=name,
            reference=case.truth.distance,
            reference_width=case.truth.upper - case.truth.lower,
            size=case.size,
            answer=float(record.answers[i]),
            microseconds=round(float(record.microseconds[i]), 2),
            failure=found[i],
        )


_STYLES = {
    "superovoid": (RED, "o"),
    "Coal": (BLUE, "s"),
    "MuJoCo": (GREEN, "^"),
    "python-fcl": (ORANGE, "D"),
    "distance3d": (PURPLE, "v"),
}
_ERROR_FLOOR, _TIME_FLOOR = 1e-15, 0.05


def _markers(row: dict[str, Any]) -> dict[str, Any]:
    colour, marker = _STYLES[row["library"]]
    fill = {Geometry.HULL_290.value: "none", Geometry.HULL_5002.value: "left"}.get(row["geometry"], "full")
    return {
        "marker": marker,
        "color": colour,
        "fillstyle": fill,
        "markerfacecoloralt": "white",
        "markeredgecolor": "black" if row["setting"] in ("tight", "roomy") else colour,
        "markersize": 9 if row["name"] == OURS.name else 7,
        "linestyle": "none",
        "zorder": 4 if row["name"] == OURS.name else 3,
    }


def _draw_cell(panel: Axes, rows: Sequence[dict[str, Any]], cell_name: str) -> None:
    panel.set(xscale="log", yscale="log")
    panel.grid(alpha=0.25, linewidth=0.5)
    panel.axhline(ERROR_LIMIT, color="0.5", linewidth=0.8, linestyle="--")
    for row in rows:
        cell = row["cells"].get(cell_name)
        if cell is None or row["name"] == OURS_CALLED.name:
            continue
        style = _markers(row)
        us = max(cell["median_us"] - (row["overhead_us"] or 0.0), _TIME_FLOOR)
        failed = sum(count for name, count in cell["failures"].items() if name != FAILURES[-1])
        if cell["median_error"] is not None:
            low, high = (max(cell[name], _ERROR_FLOOR) for name in ("median_error", "max_error"))
            panel.plot([us, us], [low, high], color=style["color"], linewidth=0.9, alpha=0.6, zorder=2)
            panel.plot(us, low, **style)
        else:
            high = 1.0
        if failed:
            panel.plot(us, 1.8 * high, marker="x", markersize=4, color=style["color"], linestyle="none", zorder=3)


def plot(report: dict[str, Any]) -> Figure:
    """Draw error against time, one panel a family and regime; times exclude the binding if its time is known."""
    families, regimes, rows = report["families"], report["regimes"], report["rows"]
    figure = Figure(figsize=(3.5 * len(regimes) + 0.6, 2.9 * len(families) + 1.3), layout="constrained")
    panels = figure.subplots(len(families), len(regimes), sharex=True, sharey=True, squeeze=False)
    for panel_row, family in zip(panels, families, strict=True):
        for panel, regime in zip(panel_row, regimes, strict=True):
            _draw_cell(panel, rows, f"{family}/{regime}")
        panel_row[0].set_ylabel(f"{family}\nerror / size")
    for panel, regime in zip(panels[0], regimes, strict=True):
        panel.set_title(regime)
    for panel in panels[-1]:
        panel.set_xlabel("µs a query")
    present = {row["library"] for row in rows if row["cells"]}
    entries = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", label=name)
        for name, (colour, marker) in _STYLES.items()
        if name in present
    ]
    grey = {"color": "0.3", "marker": "s", "linestyle": "none", "markerfacecoloralt": "white"}
    entries += [
        Line2D([], [], fillstyle="full", label="the body itself", **grey),
        Line2D([], [], fillstyle="left", label="hull of 5,002 vertices", **grey),
        Line2D([], [], fillstyle="none", label="hull of 290 vertices", **grey),
        Line2D([], [], color="0.8", marker="s", linestyle="none", markeredgecolor=BLACK, label="tight tolerances"),
        Line2D([], [], color="0.3", linewidth=0.9, label="from the median error up to the largest"),
        Line2D([], [], color="0.3", marker="x", markersize=4, linestyle="none", label="wrong signs or no answers"),
        Line2D([], [], color="0.5", linewidth=0.8, linestyle="--", label="counts as a failure above"),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    return figure


# -- the whole -----------------------------------------------------------------------------------------------------


def compare(
    pairs: int,
    rounds: int,
    seed: int,
    answers: list[AnswerRow],
    engines: Sequence[Engine] = ENGINES,
    families: Sequence[str] = FAMILIES,
    regimes: Sequence[str] = REGIMES,
) -> dict[str, Any]:
    """Run every installed engine, cell by cell.

    Parameters
    ----------
    pairs : int
        Pairs of each family and regime.
    rounds : int
        Number of calls per pair.
    seed : int
        Seed of the random pairs.
    answers : list
        Receives a row for each pair and engine.
    engines, families, regimes : sequence, optional
        Subsets to compare; default: all.

    Returns
    -------
    dict
        Contents of engines.json: the machine, a row for each engine with its cells ("family/regime"), and the results
        of our intervals. The row of a missing library has no cells, and the reason.
    """
    adapters: dict[str, peers.Adapter] = {}
    rows: list[dict[str, Any]] = []
    for engine in engines:
        row = {"name": engine.name, "library": engine.library, "setting": engine.setting, "missing": None, "cells": {}}
        row |= {"geometry": engine.geometry.value, "overhead_us": None}
        try:
            adapters[engine.name] = engine.make()
        except ImportError as error:
            row["missing"] = str(error)
        else:
            row["overhead_us"] = binding_overhead(adapters[engine.name])
        rows.append(row)
    intervals = {}
    cells = [(family, regime) for family in families for regime in regimes]
    for family, regime in track(cells, "comparing", console=Console(stderr=True), transient=True):
        given = cases(family, regime, pairs, seed)
        offered = [engine for engine in engines if engine.name in adapters and engine.offers(family)]
        slow = {engine.name for engine in offered if engine.is_slow}
        records = measure({engine.name: adapters[engine.name] for engine in offered}, slow, given, rounds)
        for row in rows:
            if row["name"] in records:
                step = _SLOW_SHARE if row["name"] in slow else 1
                record = records[row["name"]]
                row["cells"][f"{family}/{regime}"] = summary(record, given[::step])
                answers += csv_rows(family, regime, row["name"], record, given[::step], step)
        intervals[f"{family}/{regime}"] = own_interval(given)
    return {
        "command": f"superovoid dev bench engine --pairs {pairs} --rounds {rounds} --seed {seed}",
        "pairs": pairs,
        "machine": machine(),
        "families": list(families),
        "regimes": list(regimes),
        "intervals": intervals,
        "rows": rows,
    }


def show(report: dict[str, Any], console: Console) -> None:
    """Print a report."""
    about = report["machine"]
    installed = ", ".join(f"{name} {number}" for name, number in about["versions"].items() if number)
    console.print(f"{about['processor']}, {about['cores']} cores; Python {about['python']}, {installed}")
    console.print(report["command"])
    console.print(
        f"{report['pairs']} pairs a cell (distance3d: every fifth). Failures: x exception, n no answer (sentinel, "
        f"nan), s wrong sign (beyond {SIGN_TOLERANCE:.0e} of the size), e error above {ERROR_LIMIT:.0e} of it. "
        "A dash: the library has no such body, or is not installed."
    )
    for table in tables(report):
        print_table(console, table)
    bindings = {row["library"]: row["overhead_us"] for row in report["rows"] if row["overhead_us"] is not None}
    shown = ", ".join(f"{library} {microseconds:.2f}" for library, microseconds in bindings.items())
    console.print(f"Contained in each call: microseconds of a call that computes next to nothing: {shown}")
    total, certified, missed = (
        sum(cell[name] for cell in report["intervals"].values())
        for name in ("pairs", "certified", "interval_misses_reference")
    )
    console.print(f"superovoid: certified {certified} of {total} pairs; {missed} of its intervals miss the reference.")
    for line in explain_missing({row["library"]: row["missing"] for row in report["rows"] if row["missing"]}):
        console.print(line, markup=False, soft_wrap=True)


def main(pairs: int, rounds: int, seed: int, output: Path) -> int:
    """Compare all installed engines; print tables, write engines.csv, engines.json and plots."""
    output_folder(output)
    answers: list[AnswerRow] = []
    report = compare(pairs, rounds, seed, answers)
    write_csv(output / "engines.csv", answers)
    (output / "engines.json").write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    save_figure(plot(report), output / "engines")
    console = REPORT.console()
    show(report, console)
    for name in ("engines.csv", "engines.json", "engines.png"):
        console.print(str(output / name), soft_wrap=True)
    return 0
