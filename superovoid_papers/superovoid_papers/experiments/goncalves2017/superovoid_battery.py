# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tables 1 and 2 of Gonçalves et al. 2017: its schemes on random pairs, FCL's meshes, Coal and the engine.

Pairs are drawn as in the paper's section 5.1 until enough are separate, or overlap, according to the engine. Each
contender solves each pair separately, in alternation with the others (`engine_comparison.measure`). The fastest round
counts, less the time of an almost empty call. First guess and Newton's method are compiled loops of length one, timed
separately; their total is the sum.

Answers are judged only if the engine's contact on the bodies agrees with the proved distance or depth of their convex
hulls: for a contact in a concavity, the schemes, which use the bodies themselves, may be right and differ.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from rich.table import Table

from superovoid.contact.columns import RESULT
from superovoid.dataset.spreading import in_order
from superovoid.output import (
    REPORT,
    CsvRow,
    column,
    leave,
    machine,
    output_folder,
    print_table,
    progress,
    unitless,
)
from superovoid.shapes import Superovoid
from superovoid.viewing.palette import BLACK, BLUE, CYCLE, RED
from superovoid_papers.benchmarks import engine_comparison, peers
from superovoid_papers.benchmarks.engine_speed import paper_battery
from superovoid_papers.contenders import explain_missing
from superovoid_papers.methods import goncalves2017
from superovoid_papers.methods.goncalves2017 import newton_schemes, polygonal

FloatArray = NDArray[np.float64]

PACKAGES = ("numpy", "numba", "coal", "python-fcl")
WRONG = 1e-5
"""m; a converged answer with a larger error is another root."""
PROVED = 1e-6
"""m; largest excess of a judging answer of the engine over its proved lower bound."""
VERTICES = 290
CHUNK = 250  # pairs with meshes in memory at once

GUESSES: dict[str, dict[str, Any]] = {
    "quadtree": {},
    "adaptive quadtree": {"adaptive": True},
    "octree": {"scheme": "octImplicit"},
}
SCHEMES: dict[str, tuple[str, dict[str, Any]]] = {
    "quadImplicit": ("quadtree", {}),
    "quadParametric": ("quadtree", {"scheme": "quadParametric"}),
    "ntbParametric": ("quadtree", {"scheme": "ntbParametric"}),
    "octImplicit": ("octree", {"scheme": "octImplicit"}),
    "quadImplicit, printed": ("quadtree", {"vectors": "printed"}),
    "quadParametric, printed": ("quadtree", {"scheme": "quadParametric", "vectors": "printed"}),
    "ntbParametric, printed": ("quadtree", {"scheme": "ntbParametric", "vectors": "printed"}),
    "octImplicit, printed": ("octree", {"scheme": "octImplicit", "vectors": "printed"}),
    "quadImplicit, analytic": ("quadtree", {"jacobian": "analytic"}),
    "quadParametric, analytic": ("quadtree", {"scheme": "quadParametric", "jacobian": "analytic"}),
    "ntbParametric, analytic": ("quadtree", {"scheme": "ntbParametric", "jacobian": "analytic"}),
    "octImplicit, analytic": ("octree", {"scheme": "octImplicit", "jacobian": "analytic"}),
    "quadImplicit, adaptive": ("adaptive quadtree", {"adaptive": True}),
}
"""First guess and options of `goncalves2017.Pairs`, by name."""


@dataclass(frozen=True)
class PublishedRow:
    """A row of the paper's table 1 or 2: microseconds and iterations, mean and deviation; nan if there is none."""

    guess: tuple[float, float]
    total: tuple[float, float]
    iterations: tuple[float, float]
    per_iteration: float


_GUESS, _NONE = (129.28, 9.26), (math.nan, math.nan)
PAPER = {
    ("overlapping", "quadImplicit"): PublishedRow(_GUESS, (310.42, 39.50), (6.20, 1.23), 21.20),
    ("overlapping", "quadParametric"): PublishedRow(_GUESS, (424.53, 106.50), (6.93, 2.56), 31.59),
    ("overlapping", "ntbParametric"): PublishedRow(_GUESS, (347.72, 78.31), (6.92, 2.52), 22.99),
    ("overlapping", "FCL, mesh"): PublishedRow(_NONE, (206.29, 117.63), _NONE, math.nan),
    ("separated", "quadImplicit"): PublishedRow(_GUESS, (290.55, 36.35), (5.47, 1.10), 21.26),
    ("separated", "quadParametric"): PublishedRow(_GUESS, (396.00, 107.77), (6.20, 2.55), 31.72),
    ("separated", "ntbParametric"): PublishedRow(_GUESS, (326.41, 79.99), (6.20, 2.54), 23.05),
    ("separated", "FCL, mesh"): PublishedRow(_NONE, (375.19, 104.74), _NONE, math.nan),
}
"""Tables 1 and 2; FCL of 290 vertices, all on a Core i7-4700MQ."""


def published_row(battery: str, contender: str) -> PublishedRow | None:
    """Return the paper's row for comparison with a contender: printed vectors are the same scheme."""
    return PAPER.get((battery, contender.removesuffix(", printed")))


@dataclass(frozen=True)
class Row(CsvRow):
    """One contender; for schemes, means and deviations over converged pairs."""

    battery: str
    contender: str
    pairs: int
    guess_us: float = column("guess_mean_us")
    guess_us_deviation: float = column("guess_deviation_us")
    total_us: float = column("total_mean_us")
    total_us_deviation: float = column("total_deviation_us")
    all_pairs_us_median: float = column("all_pairs_median_us")
    all_pairs_us_p99: float = column("all_pairs_p99_us")
    iterations: float = unitless("iterations_mean")
    iterations_deviation: float = unitless()
    us_per_iteration: float = column("per_iteration_us")
    judged: int
    not_converged: int
    wrong: int
    error_median: float = column("error_median_m")
    error_max: float = column("error_max_m")


@dataclass
class Samples:
    """Answers and times of a contender on all pairs, chunk by chunk."""

    guess: list[FloatArray] = field(default_factory=list)
    microseconds: list[FloatArray] = field(default_factory=list)
    distance: list[FloatArray] = field(default_factory=list)
    converged: list[NDArray[np.bool_]] = field(default_factory=list)
    iterations: list[FloatArray] = field(default_factory=list)


def packed_pairs(pairs: Sequence[peers.Pair], options: dict[str, Any]) -> goncalves2017.Pairs:
    """Return the pairs for a scheme with these options."""
    made = [[pair.a for pair in pairs], [pair.pose_a for pair in pairs], [pair.b for pair in pairs]]
    return goncalves2017.Pairs(*made, [pair.pose_b for pair in pairs], **options)


class Guess:
    """First guesses."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def queries(self, pairs: Sequence[peers.Pair]) -> list[peers.Query]:
        """Return one compiled loop of length one for each pair."""
        packed = packed_pairs(pairs, self._options)

        def query(i: int) -> float:
            packed.start(i, i + 1)
            return 0.0

        return [partial(query, i) for i in range(len(pairs))]

    def overhead(self) -> peers.Query:
        """Return a loop over no pairs."""
        packed = packed_pairs([unit_pair()], self._options)

        def query() -> float:
            packed.start(0, 0)
            return 0.0

        return query


class Newton:
    """Newton's method from given first guesses."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self.packed: goncalves2017.Pairs | None = None

    def _query(self, packed: goncalves2017.Pairs) -> Callable[[int, int], float]:
        guesses = packed.unknowns.copy()

        def query(i: int, length: int) -> float:
            packed.unknowns[i] = guesses[i]
            packed.refine(i, i + length)
            return packed.out[i, newton_schemes.DISTANCE]

        return query

    def queries(self, pairs: Sequence[peers.Pair]) -> list[peers.Query]:
        """Return one compiled loop of length one for each pair."""
        self.packed = packed_pairs(pairs, self._options)
        self.packed.start(0, len(pairs))
        query = self._query(self.packed)
        return [partial(query, i, 1) for i in range(len(pairs))]

    def overhead(self) -> peers.Query:
        """Return a loop over no pairs."""
        packed = packed_pairs([unit_pair()], self._options)
        packed.start(0, 1)
        return partial(self._query(packed), 0, 0)


class FclMesh:
    """FCL's minimum distance of triangle meshes."""

    def __init__(self, vertices: int) -> None:
        self._spheres = peers.PythonFcl(peers.Geometry.ELLIPSOID)
        self._vertices = vertices

    def pair(self, pair: peers.Pair) -> goncalves2017.MeshPair:
        """Return the meshes of two bodies at their poses."""
        meshes = (array for body, _ in pair.bodies for array in polygonal.mesh(body, self._vertices))
        made = goncalves2017.MeshPair(*meshes)
        made.place(pair.pose_a, pair.pose_b)
        return made

    def queries(self, pairs: Sequence[peers.Pair]) -> list[peers.Query]:
        """Return FCL's own calls."""
        return [self.pair(pair).distance_call() for pair in pairs]

    def overhead(self) -> peers.Query:
        """Return a query of two spheres."""
        return self._spheres.overhead()


def unit_pair() -> peers.Pair:
    """Return two unit spheres three metres apart."""
    sphere = Superovoid((1.0, 1.0, 1.0))
    return peers.Pair(sphere, sphere, np.eye(4), peers._three_metres_off())


def contenders() -> tuple[dict[str, Any], dict[str, str]]:
    """Return adapters by name, and reasons for missing ones."""
    made: dict[str, Any] = {name: Guess(options) for name, options in GUESSES.items()}
    made |= {name: Newton(options) for name, (_, options) in SCHEMES.items()}
    made["engine"] = peers.OursCompiled()
    missing = {}
    for name, make in (
        ("FCL, mesh", partial(FclMesh, VERTICES)),
        ("Coal, hull", partial(peers.Coal, peers.Geometry.HULL_290)),
    ):
        try:
            made[name] = make()
        except ImportError as error:
            missing[name] = str(error)
    return made, missing


def draw(battery: str, count: int, seed: int) -> tuple[list[peers.Pair], FloatArray, NDArray[np.bool_]]:
    """Draw pairs of a battery; return them, the engine's answers, and whether their proofs are close enough to use."""
    pairs: list[peers.Pair] = []
    distances, proved = [], []
    part = 0
    while len(pairs) < count:
        drawn = paper_battery(2 * CHUNK, int(np.random.SeedSequence([seed, part]).generate_state(1)[0]))
        drawn.solve(0, drawn.count)
        found = drawn.out[:, RESULT.distance]
        part += 1
        for i in np.flatnonzero((found > 0.0) if battery == "separated" else (found < 0.0))[: count - len(pairs)]:
            bodies = [Superovoid.from_goncalves(rows[i, :3], rows[i, 3:5], rows[i, 5:]) for rows in drawn.shapes]
            pairs.append(peers.Pair(*bodies, drawn.poses[0, i], drawn.poses[1, i]))
            distances.append(found[i])
            proved.append(found[i] - drawn.out[i, RESULT.lower] <= PROVED)
    return pairs, np.array(distances), np.array(proved)


_own = threading.local()


def measure_chunk(rounds: int, pairs: Sequence[peers.Pair]) -> dict[str, tuple[Any, ...]]:
    """Return for each contender microseconds per pair, distances, and for schemes convergence and number of steps.

    Each thread has its own contenders and measures the cost of their calls.
    """
    if not hasattr(_own, "contenders"):
        made = contenders()[0]
        _own.contenders = {name: (each, engine_comparison.binding_overhead(each)) for name, each in made.items()}
    made = {name: each for name, (each, _) in _own.contenders.items()}
    records = engine_comparison.measure(made, set(), [SimpleNamespace(pair=pair) for pair in pairs], rounds)
    found = {}
    for name, record in records.items():
        microseconds = np.maximum(record.microseconds - _own.contenders[name][1], 0.0)
        out = made[name].packed.out if name in SCHEMES else np.zeros((0, newton_schemes.ITERATIONS + 1))
        converged = out[:, newton_schemes.CONVERGED] > 0.0
        found[name] = microseconds, record.answers, converged, out[:, newton_schemes.ITERATIONS].copy()
    for pair in pairs:
        pair.meshes.clear()
    return found


def run(
    battery: str,
    count: int,
    rounds: int,
    seed: int,
    bar: Callable[[int], None],
    threads: int = 1,
    workers: int | None = None,
) -> tuple[list[Row], dict, dict]:
    """Return the rows of all contenders, their microseconds per pair, and missing libraries.

    More than one thread or worker yields the same answers, but disturbs the times.
    """
    made, missing = contenders()
    pairs, truths, proved = draw(battery, count, seed)
    samples = {name: Samples() for name in made}
    chunks = (pairs[first : first + CHUNK] for first in range(0, count, CHUNK))
    for chunk, found in in_order(partial(measure_chunk, rounds), chunks, threads=threads, workers=workers):
        for name, (microseconds, distance, converged, iterations) in found.items():
            own = samples[name]
            own.microseconds.append(microseconds)
            own.distance.append(distance)
            if name in SCHEMES:
                own.converged.append(converged)
                own.iterations.append(iterations)
        bar(len(chunk))
    times = {name: np.concatenate(own.microseconds) for name, own in samples.items()}
    rows = [_row(battery, name, samples[name], times, truths, proved) for name in made if name not in GUESSES]
    for name, (guess, _) in SCHEMES.items():
        times[name] = times[name] + times[guess]
    return rows, {name: value for name, value in times.items() if name not in GUESSES}, missing


def _row(
    battery: str,
    name: str,
    samples: Samples,
    times: dict[str, FloatArray],
    truths: FloatArray,
    proved: NDArray[np.bool_],
) -> Row:
    own = times[name]
    nothing = np.full(len(own), math.nan)
    guess = times[SCHEMES[name][0]] if name in SCHEMES else nothing
    total = own + guess if name in SCHEMES else own
    converged = np.concatenate(samples.converged) if name in SCHEMES else np.ones(len(own), dtype=bool)
    iterations = np.concatenate(samples.iterations) if name in SCHEMES else nothing
    errors = np.abs(np.concatenate(samples.distance) - truths)[proved & converged]
    middle, largest = (float(np.median(errors)), float(errors.max())) if len(errors) else (math.nan, math.nan)
    return Row(
        battery,
        name,
        len(own),
        float(guess[converged].mean()),
        float(guess[converged].std()),
        float(total[converged].mean()),
        float(total[converged].std()),
        float(np.median(total)),
        float(np.quantile(total, 0.99)),
        float(iterations[converged].mean()),
        float(iterations[converged].std()),
        float(own[converged].sum() / iterations[converged].sum()),
        int(proved.sum()),
        int((proved & ~converged).sum()),
        int((~(errors <= WRONG)).sum()),
        middle,
        largest,
    )


def octree_microseconds(pairs: Sequence[peers.Pair]) -> float:
    """Return the processor time of building the octree of a body, us, which the tables exclude, as in the paper."""
    started = time.process_time()
    packed_pairs(pairs, {"scheme": "octImplicit"})
    spent = time.process_time() - started
    started = time.process_time()
    packed_pairs(pairs, {})
    return 1e6 * (spent - (time.process_time() - started)) / (2 * len(pairs))


# -- report --------------------------------------------------------------------------------------------------------


def _spread(mean: float, deviation: float) -> str:
    return "–" if math.isnan(mean) else f"{mean:.2f} ± {deviation:.2f}"


def table(rows: Sequence[Row]) -> Table:
    """Return the table of our figures and the paper's."""
    battery = rows[0].battery
    title = f"{rows[0].pairs} {battery} pairs; mean ± deviation where the scheme converged"
    made = Table(title=title, title_justify="left")
    made.add_column(Row.heading("contender"))
    for name in (
        "guess_us", "total_us", "all_pairs_us_median", "all_pairs_us_p99", "iterations", "us_per_iteration",
        "not_converged", "wrong", "error_median",
    ):  # fmt: skip
        made.add_column(Row.heading(name), justify="right", no_wrap=True)
    made.add_column("paper: guess | total | iterations | per iteration", justify="right", no_wrap=True)
    for row in rows:
        scheme = row.contender in SCHEMES
        share = [f"{100.0 * count / row.judged:.2f} %" for count in (row.not_converged, row.wrong)]
        made.add_row(
            row.contender,
            _spread(row.guess_us, row.guess_us_deviation),
            _spread(row.total_us, row.total_us_deviation),
            f"{row.all_pairs_us_median:.2f}",
            f"{row.all_pairs_us_p99:.2f}",
            _spread(row.iterations, row.iterations_deviation),
            f"{row.us_per_iteration:.2f}" if scheme else "–",
            *(share if scheme else ("–", "–")),
            "reference" if row.contender == "engine" else f"{row.error_median:.1e}",
            _of_paper(published_row(battery, row.contender)),
        )
    return made


def _of_paper(row: PublishedRow | None) -> str:
    if row is None:
        return ""
    cells = [_spread(*pair) for pair in (row.guess, row.total, row.iterations)]
    return " | ".join((*cells, "–" if math.isnan(row.per_iteration) else f"{row.per_iteration:.2f}"))


def _times(panel: Axes, rows: Sequence[Row], times: dict[str, FloatArray]) -> None:
    battery = rows[0].battery
    shown = [name for name in times if "," not in name or name in ("FCL, mesh", "Coal, hull")]
    for k, name in enumerate(shown):
        ordered = np.sort(times[name])
        panel.plot(ordered, np.linspace(0.0, 100.0, len(ordered)), color=CYCLE[k], label=name)
        of_paper = published_row(battery, name)
        if of_paper:
            (mean, spread), height = of_paper.total, 50.0 + 6.0 * k
            panel.errorbar(mean, height, xerr=spread, fmt="s", color=CYCLE[k], markersize=4, capsize=2)
    panel.set(xscale="log", xlabel="µs a query", ylabel="% of the pairs", title=f"{rows[0].pairs} {battery} pairs")
    panel.set_xlim(0.5, 3e3)
    handles, _ = panel.get_legend_handles_labels()
    handles.append(Line2D([], [], color="0.3", marker="s", linestyle="", label="paper, i7-4700MQ: mean ± deviation"))
    panel.legend(handles=handles, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)


def _failures(panel: Axes, rows: Sequence[Row], places: NDArray[np.int64]) -> None:
    lost = np.array([100.0 * row.not_converged / row.judged for row in rows])
    wrong = np.array([100.0 * row.wrong / row.judged for row in rows])
    panel.barh(places, lost, color="0.6", label="not converged")
    panel.barh(places, wrong, left=lost, color=RED, label=f"wrong by more than {WRONG:.0e} m")
    panel.set_yticks(places, [row.contender for row in rows])
    panel.set(xlabel="% of the judged pairs", title="failures")
    panel.legend(fontsize=7, loc="upper right", ncols=2)


def _iterations(panel: Axes, rows: Sequence[Row], places: NDArray[np.int64]) -> None:
    for place, row in zip(places, rows, strict=True):
        panel.errorbar(
            row.iterations, place, xerr=row.iterations_deviation, fmt="o", color=BLUE, markersize=4, capsize=2,
            label="here" if place == places[0] else None,
        )  # fmt: skip
        of_paper = published_row(row.battery, row.contender)
        if of_paper:
            mean, spread = of_paper.iterations
            panel.errorbar(
                mean, place + 0.3, xerr=spread, fmt="s", color=BLACK, markersize=4, capsize=2,
                label="paper" if place == places[0] else None,
            )  # fmt: skip
    panel.set_yticks(places, [])
    panel.set(xlabel="Newton iterations, mean ± deviation", title="converged pairs")
    panel.set_xlim(left=0.0)
    panel.legend(fontsize=7, loc="upper right", ncols=2)


def plot(rows: Sequence[Row], times: dict[str, FloatArray]) -> Figure:
    """Draw how long a query takes, how often a scheme fails, how many iterations it makes, and the paper's means."""
    figure = Figure(figsize=(14.0, 4.8), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _times(left, rows, times)
    schemes = [row for row in rows if row.contender in SCHEMES]
    places = np.arange(len(schemes))[::-1]
    _failures(middle, schemes, places)
    _iterations(right, schemes, places)
    for panel in (middle, right):
        panel.set_ylim(-0.7, len(schemes) + 0.6)  # room for the legend
    return figure


def experiment(battery: str, pairs: int, rounds: int, seed: int, threads: int, output: Path) -> int:
    """Print a battery's table; write its CSV and its plot."""
    output_folder(output)
    console = REPORT.console()
    with progress() as bar:
        task = bar.add_task(f"{battery} pairs", total=pairs)
        rows, times, missing = run(battery, pairs, rounds, seed, lambda done: bar.advance(task, done), threads)
    built = octree_microseconds(draw(battery, min(pairs, 100), seed)[0])
    about = (
        f"superovoid experiment battery-{battery} --pairs {pairs} --rounds {rounds} --seed {seed}"
        + (f" --threads {threads}" if threads > 1 else ""),
        machine(PACKAGES),
    )
    print_table(console, table(rows))
    judged = (
        f"judged on {rows[0].judged} pairs, whose distance is within {PROVED:.0e} m of what the engine proves of their "
        f"hulls; wrong: off by more than {WRONG:.0e} m. An octree takes {built:.0f} microseconds a body to build, not "
        "counted."
    )
    name = f"battery_{battery}"
    plots = {name: partial(plot, rows, times)}
    return leave(console, output, {name: rows}, plots, about, (judged, *explain_missing(missing)))
