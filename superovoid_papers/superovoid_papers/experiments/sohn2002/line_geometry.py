# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Line geometry (Sohn et al. 2002), the engine and Coal: an ellipsoid moves around other bodies, as in figs. 4 to 7.

The paper gives the kinds of bodies and the times of queries, but not sizes or paths, which are ours. Each query starts
cold. The fastest round of each frame and contender counts (`engine_comparison.measure`), less the time of an empty
call. Random pairs follow: numbers of restarts of Newton's method, of answers different from the engine's, and of common
normals.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.table import Table
from scipy.spatial.transform import Rotation

from superovoid import distance
from superovoid.compiler import jit
from superovoid.output import REPORT, CsvRow, column, leave, machine, output_folder, print_table, progress
from superovoid.shapes import Cone, Cylinder, Ellipsoid, Torus
from superovoid.viewing.palette import BLACK, BLUE, GREEN, RED
from superovoid_papers.benchmarks import engine_comparison, kinds_comparison, peers
from superovoid_papers.benchmarks.peers import Geometry
from superovoid_papers.contenders import explain_missing
from superovoid_papers.experiments.sohn2002.line_geometry_scenes import SCENES, Scene, plot_scenes, poses
from superovoid_papers.methods import sohn2002
from superovoid_papers.methods.sohn2002 import FreeForm, one_root
from superovoid_papers.methods.sohn2002.line_distance import round_kind

FloatArray = NDArray[np.float64]

PACKAGES = ("numpy", "numba", "coal")
EFFORT = one_root.Effort(3, 100, 20, 1e-9)
"""Rounds of feet, attempts, Newton steps of each, tolerance: the defaults of `sohn2002.distance`."""
APART = 1e-6
"""m; random pairs with a smaller distance by the engine do not count."""
DIFFERS = 1e-8
"""m; an answer with a larger difference from the engine's is another root, not the same less accurately."""


@dataclass(frozen=True)
class Frame:
    """A pair for `engine_comparison.measure`."""

    pair: kinds_comparison.Case


@dataclass(frozen=True)
class Row(CsvRow):
    """One frame: times without the call; nan if a contender does not support the body."""

    scene: str
    frame: int
    distance: float = column("one_root_distance_m")
    converged: bool
    attempts: int
    newton_steps: int
    distance_all_roots: float = column("all_roots_distance_m")
    common_normals: int
    complete: bool
    engine_distance: float = column("engine_distance_m")
    coal_distance: float = column("coal_distance_m")
    us: float = column("one_root_us")
    engine_us: float
    coal_us: float
    all_roots_us: float


@dataclass(frozen=True)
class PairRow(CsvRow):
    """One random pair."""

    kind: str
    pair: int
    distance: float = column("one_root_distance_m")
    converged: bool
    attempts: int
    newton_steps: int
    distance_all_roots: float = column("all_roots_distance_m")
    common_normals: int
    complete: bool
    engine_distance: float = column("engine_distance_m")


# -- contenders ----------------------------------------------------------------------------------------------------


def _does_nothing(*arguments):
    """Accept the arguments of a kernel of the method, and return."""


_nothing = cache(lambda: jit.kernel(_does_nothing))


class Method:
    """The compiled scheme: one root, found and checked."""

    def _prepare(self, case: kinds_comparison.Case, kernel: Any = None) -> tuple[Callable[[], float], FloatArray]:
        fixed, moving = case.bodies
        out, scratch, radii = np.empty(one_root.RESULT_LENGTH), np.empty((3, 3)), np.array(moving.semi_axes)
        pose_a, pose_b = (np.ascontiguousarray(pose) for pose in case.poses)
        if isinstance(fixed, Ellipsoid):
            first, solve = (np.array(fixed.semi_axes),), one_root.solve_ellipsoids
        else:
            first, solve = round_kind(fixed), one_root.solve_round
        solve = kernel or solve
        arguments = (*first, pose_a, radii, pose_b, EFFORT, scratch, out)

        def query() -> float:
            solve(*arguments)
            return out[one_root.DISTANCE]

        return query, out

    def queries(self, given: Sequence[kinds_comparison.Case]) -> list[peers.Query]:
        """Return one compiled call per pair."""
        return [self._prepare(case)[0] for case in given]

    def answer(self, case: kinds_comparison.Case) -> FloatArray:
        """Return the result row (`newton`) of one pair."""
        query, out = self._prepare(case)
        query()
        return out

    def overhead(self, case: kinds_comparison.Case) -> peers.Query:
        """Return the same call of a kernel that does nothing."""
        return self._prepare(case, _nothing())[0]


@cache
def _engine_nothing() -> peers.Query:
    """Return a call of the engine for two spheres."""
    return kinds_comparison._our_queries([])[1]


class Engine:
    """The engine's compiled call."""

    def queries(self, given: Sequence[kinds_comparison.Case]) -> list[peers.Query]:
        """Return one compiled call per pair, always from a cold start."""
        return kinds_comparison._our_queries(given)[0]

    def overhead(self, case: kinds_comparison.Case) -> peers.Query:
        """Return a query of two spheres."""
        return _engine_nothing()


_ELLIPSOID = kinds_comparison.Kind("ellipsoid", None, lambda coal, s: coal.module.Ellipsoid(*s.semi_axes), None)
_COAL = {kind.name: kind for kind in (_ELLIPSOID, *kinds_comparison.KINDS) if kind.coal}


class CoalBodies:
    """Coal, for the bodies that it supports."""

    def __init__(self, coal: peers.Coal, name: str) -> None:
        self._coal, self._kinds = coal, (_COAL[name], _ELLIPSOID)

    def queries(self, given: Sequence[kinds_comparison.Case]) -> list[peers.Query]:
        """Return one call through its binding per pair."""
        return kinds_comparison._coal_queries(self._coal, self._kinds, given)

    def overhead(self, case: kinds_comparison.Case) -> peers.Query:
        """Return a query of two spheres."""
        return self._coal.overhead()


@dataclass(frozen=True)
class PythonFunction:
    """The Python functions, timed with their allocations: all roots, and free-form surfaces."""

    roots: str

    def queries(self, given: Sequence[kinds_comparison.Case]) -> list[peers.Query]:
        """Return one call per pair."""

        def prepare(case: kinds_comparison.Case) -> peers.Query:
            (fixed, moving), (pose_a, pose_b) = case.bodies, case.poses
            return lambda: sohn2002.distance(fixed, pose_a, moving, pose_b, roots=self.roots).distance

        return [prepare(case) for case in given]

    def overhead(self, case: kinds_comparison.Case) -> None:
        """Return None: nothing is subtracted."""


def _measure(
    contenders: dict[str, Any], given: Sequence[Frame], rounds: int
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return answers, and microseconds less those of an empty call, by the contender's name."""
    records = engine_comparison.measure(contenders, set(), given, rounds)
    found = {}
    for name, record in records.items():
        empty = contenders[name].overhead(given[0].pair)
        spent = 0.0
        if empty is not None:
            empty()  # compiles
            spent = float(np.median([engine_comparison.time_call(empty)[1] for _ in range(2000)]))
        found[name] = record.answers, record.microseconds - spent
    return found


def walk(scene: Scene, frames: int, rounds: int, coal: peers.Coal | None) -> list[Row]:
    """Measure a scene frame by frame."""
    cases = [
        kinds_comparison.Case((scene.fixed, scene.moving), (np.eye(4), pose), 1.0) for pose in poses(scene, frames)
    ]
    given = [Frame(case) for case in cases]
    surface = isinstance(scene.fixed, FreeForm)
    contenders: dict[str, Any] = {"method": PythonFunction("newton") if surface else Method()}
    if not surface:
        contenders["engine"] = Engine()
    if coal is not None and scene.name in _COAL:
        contenders["coal"] = CoalBodies(coal, scene.name)
    found = _measure(contenders, given, rounds)
    # All roots once per frame: for milliseconds neither empty calls nor repetitions matter.
    queries = PythonFunction("all").queries(cases)
    queries[0]()  # compiles
    all_roots = [engine_comparison.time_call(query) for query in queries]
    nothing = np.full(frames, math.nan), np.full(frames, math.nan)
    rows = []
    for i, case in enumerate(cases):
        (fixed, moving), (pose_a, pose_b) = case.bodies, case.poses
        normals = sohn2002.common_normals(fixed, pose_a, moving, pose_b)
        if surface:
            answer = sohn2002.distance(fixed, pose_a, moving, pose_b)
            converged, attempts, steps = answer.converged, 1, answer.statistics.iterations
        else:
            out = Method().answer(case)
            converged, attempts, steps = (
                int(out[k]) for k in (one_root.CONVERGED, one_root.ATTEMPTS, one_root.ITERATIONS)
            )
        (ours, us), (engine, engine_us), (other, other_us) = (
            found.get(name, nothing) for name in ("method", "engine", "coal")
        )
        rows.append(
            Row(
                scene.name,
                i,
                float(ours[i]),
                bool(converged),
                attempts,
                steps,
                all_roots[i][0],
                len(normals),
                normals.complete,
                float(engine[i]),
                float(other[i]),
                float(us[i]),
                float(engine_us[i]),
                float(other_us[i]),
                all_roots[i][1],
            )
        )
    return rows


# -- random pairs --------------------------------------------------------------------------------------------------


def _lengths(rng: np.random.Generator, count: int, least: float = 0.2) -> FloatArray:
    return np.exp(rng.uniform(math.log(least), 0.0, count))


RANDOM: dict[str, Callable[[np.random.Generator], Ellipsoid | Cylinder | Cone | Torus]] = {
    "ellipsoid": lambda rng: Ellipsoid(_lengths(rng, 3)),
    "cylinder": lambda rng: Cylinder(*_lengths(rng, 2) * (1.0, 2.0)),
    "cone": lambda rng: Cone(*_lengths(rng, 2) * (1.0, 2.0)),
    "torus": lambda rng: Torus(1.0, rng.uniform(0.1, 0.5)),
    "slender ellipsoids": lambda rng: Ellipsoid(_lengths(rng, 3, 0.03)),
}
CLOSE = "slender ellipsoids"
"""Pairs close together, with many common normals."""


def random_pair(kind: str, rng: np.random.Generator) -> tuple[kinds_comparison.Case, float]:
    """Draw a body of a kind and an ellipsoid more than `APART` away; return them with the engine's distance.

    Lengths from 0.2 to 1 m, centres from 0 to 2.5 m apart. `CLOSE`: lengths from 0.03 to 1 m, gaps of 0.01 to 0.3 m.
    """
    while True:
        bodies = RANDOM[kind](rng), RANDOM[CLOSE if kind == CLOSE else "ellipsoid"](rng)
        at = np.tile(np.eye(4), (2, 1, 1))
        at[:, :3, :3] = Rotation.random(2, rng=rng).as_matrix()
        side = rng.normal(size=3)
        n = side / np.linalg.norm(side)
        at[1, :3, 3] = rng.uniform(0.0, 2.5) * n
        if kind == CLOSE:
            feet = [at[i, :3, :3] @ bodies[i].support(sign * n @ at[i, :3, :3]) for i, sign in ((0, 1.0), (1, -1.0))]
            at[1, :3, 3] = feet[0] + rng.uniform(0.01, 0.3) * n - feet[1]
        expected = distance(bodies[0], at[0], bodies[1], at[1]).distance
        if expected > APART:
            return kinds_comparison.Case(bodies, (at[0], at[1]), 1.0), expected


def random_rows(kind: str, pairs: int, seed: int) -> list[PairRow]:
    """Return answers for random pairs of a kind, the same for the same seed."""
    rng = np.random.default_rng([seed, list(RANDOM).index(kind)])
    rows = []
    for i in range(pairs):
        case, expected = random_pair(kind, rng)
        out = Method().answer(case)
        (a, b), (pose_a, pose_b) = case.bodies, case.poses
        best = sohn2002.distance(a, pose_a, b, pose_b, roots="all")
        normals = sohn2002.common_normals(a, pose_a, b, pose_b)
        converged, attempts, steps = (int(out[k]) for k in (one_root.CONVERGED, one_root.ATTEMPTS, one_root.ITERATIONS))
        found = float(out[one_root.DISTANCE])
        rows.append(
            PairRow(
                kind,
                i,
                found,
                bool(converged),
                attempts,
                steps,
                best.distance,
                len(normals),
                normals.complete,
                expected,
            )
        )
    return rows


# -- report --------------------------------------------------------------------------------------------------------


def _format_times(values: FloatArray, digits: int = 2) -> str:
    if np.isnan(values).all():
        return "–"
    figures = np.median(values), np.mean(values), np.quantile(values, 0.99)
    return " / ".join(f"{value:.{digits if value < 100.0 else 0}f}" for value in figures)


def _column(rows: Sequence[Any], name: str) -> FloatArray:
    return np.array([getattr(row, name) for row in rows], dtype=np.float64)


def _count_wrong(rows: Sequence[Any], name: str) -> str:
    """Count distances that differ from the engine's, or from the best of all roots for bodies it does not support."""
    truth = _column(rows, "engine_distance")
    truth = np.where(np.isnan(truth), _column(rows, "distance_all_roots"), truth)
    return str(int((~(np.abs(_column(rows, name) - truth) <= DIFFERS)).sum()))


def _worst_difference(rows: Sequence[Row], name: str) -> str:
    """Return the largest difference from the engine."""
    difference = np.abs(_column(rows, name) - _column(rows, "engine_distance"))
    return "–" if np.isnan(difference).all() else f"{difference.max():.0e}"


def walk_table(rows: Sequence[Row]) -> Table:
    """Return the table of times and errors of each scene."""
    table = Table(title="An ellipsoid moving around a body; times: median / mean / p99", title_justify="left")
    table.add_column(Row.heading("scene"), no_wrap=True)
    names = "fig.", "paper, us", *(Row.heading(name) for name in ("us", "engine_us", "coal_us")), "all roots, ms"
    for name in (*names, "one root off", "all roots off", "by, m", "coal by, m"):
        table.add_column(name, justify="right", no_wrap=True)
    for scene in SCENES:
        some = [row for row in rows if row.scene == scene.name]
        table.add_row(
            scene.name,
            str(scene.figure),
            f"< {scene.published_us:.0f}" if scene.published_us else "–",
            *(_format_times(_column(some, name)) for name in ("us", "engine_us", "coal_us")),
            _format_times(1e-3 * _column(some, "all_roots_us"), 1),
            _count_wrong(some, "distance"),
            _count_wrong(some, "distance_all_roots"),
            _worst_difference(some, "distance_all_roots"),
            _worst_difference(some, "coal_distance"),
        )
    return table


def pair_table(rows: Sequence[PairRow]) -> Table:
    """Return the table of convergence and numbers of common normals of random pairs."""
    table = Table(title="Random pairs apart", title_justify="left")
    for name in (
        "kind",
        "pairs",
        "not converged",
        "attempts 1",
        "newton steps mean",
        "one root off",
        "all roots off",
        "not complete",
        "common normals: of how many pairs",
    ):
        table.add_column(name, justify="left" if name == "kind" else "right")
    for kind in RANDOM:
        some = [row for row in rows if row.kind == kind]
        counts = Counter(row.common_normals for row in some)
        table.add_row(
            kind,
            str(len(some)),
            str(sum(not row.converged for row in some)),
            f"{100.0 * np.mean([row.attempts == 1 for row in some]):.1f} %",
            f"{np.mean(_column(some, 'newton_steps')):.1f}",
            _count_wrong(some, "distance"),
            _count_wrong(some, "distance_all_roots"),
            str(sum(not row.complete for row in some)),
            ", ".join(f"{count}: {counts[count]}" for count in sorted(counts)),
        )
    return table


def plot(rows: Sequence[Row]) -> Figure:
    """Draw distance and time along the paths."""
    figure = Figure(figsize=(3.2 * len(SCENES), 5.6), layout="constrained")
    panels = figure.subplots(2, len(SCENES), sharex=True, sharey="row")
    contenders = (("us", "one root", RED), ("engine_us", "engine", BLUE), ("coal_us", "Coal", GREEN))
    for (above, below), scene in zip(panels.T, SCENES, strict=True):
        some = [row for row in rows if row.scene == scene.name]
        frames = np.arange(len(some))
        above.set_title(f"{scene.name} (fig. {scene.figure})")
        above.plot(frames, _column(some, "engine_distance"), color=BLUE, linewidth=4.0, alpha=0.3, label="engine")
        above.plot(frames, _column(some, "distance_all_roots"), color=BLACK, linewidth=1.0, label="all roots")
        above.plot(frames, _column(some, "distance"), color=RED, linestyle=":", label="one root")
        for name, label, colour in contenders:
            if not np.isnan(_column(some, name)).all():
                below.plot(frames, _column(some, name), color=colour, linewidth=1.0, label=label)
        below.plot(frames, _column(some, "all_roots_us"), color=BLACK, linewidth=1.0, label="all roots (Python)")
        if scene.published_us:
            below.axhline(scene.published_us, color="0.5", linestyle="--", label="paper, 500 MHz")
        below.set(yscale="log", xlabel="frame")
    panels[0, 0].set_ylabel("distance, m")
    panels[1, 0].set_ylabel("µs a query")
    panels[0, 0].legend(fontsize=8)
    panels[1, 0].legend(fontsize=8)
    return figure


def main(frames: int, rounds: int, pairs: int, seed: int, output: Path) -> int:
    """Print both tables; write two CSV files, their plot, and a picture of the paths."""
    output_folder(output)
    console = REPORT.console()
    coal, missing = None, {}
    try:
        coal = peers.Coal(Geometry.ELLIPSOID)
    except ImportError as error:
        missing["Coal"] = str(error)
    rows: list[Row] = []
    pair_rows: list[PairRow] = []
    with progress() as bar:
        task = bar.add_task("line geometry", total=len(SCENES) + len(RANDOM))
        for scene in SCENES:
            bar.update(task, description=f"around: {scene.name}")
            rows += walk(scene, frames, rounds, coal)
            bar.advance(task)
        for kind in RANDOM:
            bar.update(task, description=f"random: {kind}")
            pair_rows += random_rows(kind, pairs, seed)
            bar.advance(task)
    options = f"--frames {frames} --rounds {rounds} --pairs {pairs} --seed {seed}"
    about = f"superovoid experiment line-geometry {options}", machine(PACKAGES)
    print_table(console, walk_table(rows))
    print_table(console, pair_table(pair_rows))
    tables = {"line_geometry": rows, "line_geometry_pairs": pair_rows}
    plots = {"line_geometry": partial(plot, rows), "line_geometry_scenes": partial(plot_scenes, SCENES)}
    return leave(console, output, tables, plots, about, explain_missing(missing))
