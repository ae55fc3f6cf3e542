# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shared parts of both experiments of Lopes et al. 2010: prescribed motions, contenders, random pairs, tables, a plot.

The paper's tables give the bodies and their axes of rotation. Our choices for the rest are: both bodies start with
their axes along those of the world; every rotation and every orbit is uniform with one full turn in the 200 steps, 1.8
degrees per step; an orbit is about the world's z axis through the centre of the first body; the distance of the centres
is the sum of the radii of the bounding spheres plus 1 m. The second centre lies on the x axis (`on axis`: poles face
each other at the first step) or aside, in the direction (2, 3, 6).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator
from numpy.typing import NDArray
from rich.progress import Progress
from rich.table import Table
from scipy.spatial.transform import Rotation

from superovoid import Superellipsoid, distance
from superovoid.contact.columns import RESULT_LENGTH
from superovoid.contact.inputs import TOLERANCE as ENGINE_TOLERANCE
from superovoid.contact.one_pair import STATE, WORK_LENGTH, Question, answer_pair
from superovoid.output import (
    REPORT,
    CsvRow,
    cell,
    column,
    leave,
    machine,
    output_folder,
    print_table,
    progress,
    unitless,
)
from superovoid.shapes.kernels.kinds import PackedBody
from superovoid.viewing.palette import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from superovoid_papers.benchmarks import peers
from superovoid_papers.benchmarks.peers import Geometry, Pair
from superovoid_papers.contenders import explain_missing
from superovoid_papers.methods import lopes2010
from superovoid_papers.methods.lopes2010 import Quadric, Superquadric, newton_raphson
from superovoid_papers.methods.lopes2010.framework import Motion, motion, settings
from superovoid_papers.methods.lopes2010.superquadrics import EXPONENT, SQUARE
from superovoid_papers.methods.lopes2010.tangent_vectors import METHODS
from superovoid_papers.methods.lopes2010.tangent_vectors import tangents as tangents_of

FloatArray = NDArray[np.float64]
Body = Quadric | Superquadric

STEPS = 200
GAP = 1.0  # gap of the bounding spheres, m
PLACES = {"on axis": (1.0, 0.0, 0.0), "aside": (2.0 / 7.0, 3.0 / 7.0, 6.0 / 7.0)}
X, Z, DIAGONAL = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0)
TURNS = (0.25, 1.0, 4.0, 8.0, 16.0)
"""Full turns in the 200 steps, for the table of step sizes; otherwise 1."""
WRONG = 1e-5
"""Least difference from the certified answer, m, of a converged answer for another common normal."""
CONTENDERS = {
    **{tangents: {"tangents": tangents} for tangents in METHODS},
    "householder, differences": {"tangents": "householder", "jacobian": "differences"},
}
"""Options of the method by their names in tables."""
PACKAGES = ("numpy", "numba", "coal")
REGIMES = ("apart", "overlapping")


@dataclass(frozen=True)
class Case:
    """A column of table 5 or 6."""

    name: str
    sizes: tuple[tuple[float, float, float], tuple[float, float, float]]
    """a, b, c of surfaces (i) and (j), m."""
    exponents: tuple[float, float]
    """gamma of surfaces (i) and (j), equal on all axes."""
    axis: tuple[float, float, float]
    """Local axis of rotation of (j); (i) rotates about its x axis."""
    orbit: bool
    printed: dict[str, tuple[float, int]]
    """By tangents: the paper's total time, s, and total iterations."""

    @property
    def bodies(self) -> tuple[Body, Body]:
        """Return the bodies for the method."""
        return tuple(body(size, gamma) for size, gamma in zip(self.sizes, self.exponents, strict=True))

    @property
    def shapes(self) -> tuple[Superellipsoid, Superellipsoid]:
        """Return the bodies for the engine."""
        return tuple(shape(size, gamma) for size, gamma in zip(self.sizes, self.exponents, strict=True))

    def poses(self, place: str, turns: float = 1.0) -> tuple[FloatArray, FloatArray]:
        """Return the poses of both bodies at every step, (STEPS, 4, 4) each."""
        angles = 2.0 * math.pi * turns * np.arange(STEPS) / STEPS
        found = np.tile(np.eye(4), (2, STEPS, 1, 1))
        for poses, axis in zip(found, (X, self.axis), strict=True):
            unit = np.array(axis) / np.linalg.norm(axis)
            poses[:, :3, :3] = Rotation.from_rotvec(angles[:, None] * unit).as_matrix()
        way = np.tile(PLACES[place], (STEPS, 1))
        if self.orbit:
            way = Rotation.from_rotvec(angles[:, None] * np.array(Z)).apply(way)
        found[1, :, :3, 3] = way * (sum(b.bounding_radius() for b in self.bodies) + GAP)
        return found[0], found[1]


def body(size: Sequence[float], gamma: float) -> Body:
    """Return an ellipsoid or superellipsoid of the paper."""
    return Quadric.ellipsoid(size) if gamma == 2.0 else Superquadric.superellipsoid(size, np.full(3, gamma))


def shape(size: Sequence[float], gamma: float) -> Superellipsoid:
    """Return the same body of `superovoid.shapes`."""
    return Superellipsoid(size, section_exponent=2.0 / gamma, profile_exponent=2.0 / gamma)


# -- contenders ----------------------------------------------------------------------------------------------------


class Method:
    """The paper's method along a motion, each step from the last one's solution."""

    def __init__(self, case: Case, poses: tuple[FloatArray, FloatArray], options: Mapping[str, str]) -> None:
        self._rows = tuple(b._row for b in case.bodies)
        self._poses = poses
        self._settings = settings(**options)
        self._state = np.zeros(newton_raphson.STATE_LENGTH)
        self._scratch = newton_raphson.scratch_space()
        self.out = np.empty((STEPS, newton_raphson.RESULT_LENGTH))

    def reset(self) -> None:
        """Forget the solution."""
        self._state[:] = 0.0

    def solve(self, first: int, last: int) -> None:
        """Solve some of the steps."""
        rows = slice(first, last)
        poses = self._poses[0][rows], self._poses[1][rows]
        newton_raphson.solve_steps(*self._rows, *poses, self._settings, self._state, self._scratch, self.out[rows])

    def motion(self) -> Motion:
        """Return all steps."""
        self.reset()
        self.solve(0, STEPS)
        return motion(self.out.copy())


class EngineFollowing:
    """The engine along a motion, each step from its state after the last, including its proof."""

    def __init__(self, case: Case, poses: tuple[FloatArray, FloatArray]) -> None:
        self._bodies, self._poses, self._work = (
            tuple(shape._body for shape in case.shapes),
            poses,
            np.zeros(WORK_LENGTH),
        )
        self._question = Question(np.eye(4), np.eye(4), self._work, np.empty(RESULT_LENGTH))

    def reset(self) -> None:
        """Forget the last step."""
        self._work[STATE] = 0.0

    def solve(self, first: int, last: int) -> None:
        """Solve one of the steps, or none."""
        for step in range(first, last):
            self._ask(*self._bodies, self._poses[0][step], self._poses[1][step])

    def solve_spheres(self) -> None:
        """Solve two spheres, whose solution is a small part of the time of the call."""
        self._ask(_BALL, _BALL, *_APART)

    def _ask(self, a: PackedBody, b: PackedBody, pose_a: FloatArray, pose_b: FloatArray) -> None:
        self._question.pose_a[...], self._question.pose_b[...] = pose_a, pose_b
        answer_pair(a, b, ENGINE_TOLERANCE, self._question)


_BALL = Superellipsoid((1.0, 1.0, 1.0))._body
_APART = np.eye(4), np.eye(4) + 3.0 * np.eye(4, k=3)


Step = Callable[[int, int], object]


def contenders(
    case: Case, poses: tuple[FloatArray, FloatArray], coal: peers.Coal | None
) -> dict[str, tuple[Step, Callable[[], None], Step]]:
    """Return by name: a step, the preparation of a motion, and an empty step, whose time is subtracted."""
    own = {name: Method(case, poses, options) for name, options in CONTENDERS.items()}
    found: dict[str, tuple[Step, Callable[[], None], Step]] = {}
    for name, contender in own.items():
        contender.solve(0, 1)  # compiles
        found[name] = contender.solve, contender.reset, lambda _, __, solve=contender.solve: solve(0, 0)
    engine = EngineFollowing(case, poses)
    found["engine"] = engine.solve, engine.reset, lambda _, __: engine.solve_spheres()
    if coal is not None and case.exponents == (2.0, 2.0):
        queries = coal.queries([Pair(*case.shapes, a, b) for a, b in zip(*poses, strict=True)])
        balls = coal.overhead()
        found["coal"] = (lambda first, _: queries[first]()), (lambda: None), lambda _, __: balls()
    return found


# -- motions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row(CsvRow):
    """A contender along a motion."""

    pair: str
    place: str
    contender: str
    iterations: int
    """of all steps; 0: not counted"""
    iterations_paper: float = unitless("paper_iterations")
    per_step: float = unitless("iterations_mean")
    """per step"""
    most: int = column("iterations_max")
    """iterations of a step, after the first"""
    not_converged: int
    """steps"""
    wrong: int
    """steps that converged to a common normal other than the closest"""
    singular: int
    """iterations with a pseudo-inverse"""
    total_ms: float
    """sum over the steps of their median times"""
    total_ms_paper: float = column("paper_total_ms")
    median_us: float = column("step_median_us")
    p99_us: float = column("step_p99_us")


@dataclass
class Course:
    """A motion, for the plot."""

    case: Case
    place: str
    iterations: dict[str, NDArray[np.int64]]
    microseconds: dict[str, FloatArray]


def truths(case: Case, poses: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return certified distances at every step.

    Raises
    ------
    RuntimeError
        If the engine cannot certify one, which would make a comparison impossible.
    """
    found = [distance(case.shapes[0], a, case.shapes[1], b) for a, b in zip(*poses, strict=True)]
    for i, result in enumerate(found):
        if not result.status.certified:
            raise RuntimeError(f"{case.name}, step {i}: must be certified, found {result.status!r}")
    return np.array([result.distance for result in found])


def failures(found: Motion, expected: FloatArray) -> tuple[int, int]:
    """Count steps that did not converge, and steps that converged to points other than the closest."""
    wrong = found.converged & ~(np.abs(found.distance - expected) <= WRONG)
    return int((~found.converged).sum()), int(wrong.sum())


def step_times(run: Step, reset: Callable[[], None], nothing: Step) -> FloatArray:
    """Return the microseconds of every step of a motion, less those of an empty step just before it."""
    found = np.empty(STEPS)
    reset()
    for _ in range(20):  # the caches
        nothing(0, 1)
    for i in range(STEPS):
        began = time.perf_counter_ns()
        nothing(i, i + 1)
        between = time.perf_counter_ns()
        run(i, i + 1)
        found[i] = 1e-3 * (time.perf_counter_ns() - between - (between - began))
    return found


def measure(case: Case, place: str, rounds: int, coal: peers.Coal | None) -> tuple[list[Row], Course]:
    """Run every method along a motion, in alternation; the time of a step is its median."""
    poses = case.poses(place)
    expected = truths(case, poses)
    entered = contenders(case, poses, coal)
    samples = {name: np.empty((rounds, STEPS)) for name in entered}
    for turn in range(rounds):
        for name, contender in entered.items():
            samples[name][turn] = step_times(*contender)
    rows = []
    course = Course(case, place, {}, {})
    for name in entered:
        us = np.median(samples[name], axis=0)
        course.microseconds[name] = us
        seconds, printed = case.printed.get(name, (math.nan, math.nan))
        counts = (0, math.nan, 0, 0, 0, 0)
        if name in CONTENDERS:
            found = Method(case, poses, CONTENDERS[name]).motion()
            course.iterations[name] = found.statistics.iterations
            counts = (
                int(found.statistics.iterations.sum()),
                float(found.statistics.iterations.mean()),
                int(found.statistics.iterations[1:].max()),
                *failures(found, expected),
                int(found.statistics.singular.sum()),
            )
        iterations, per_step, most, not_converged, wrong, singular = counts
        rows.append(
            Row(
                pair=case.name,
                place=place,
                contender=name,
                iterations=iterations,
                iterations_paper=printed,
                per_step=per_step,
                most=most,
                not_converged=not_converged,
                wrong=wrong,
                singular=singular,
                total_ms=1e-3 * float(us.sum()),
                total_ms_paper=1e3 * seconds,
                median_us=float(np.median(us)),
                p99_us=float(np.quantile(us, 0.99)),
            )
        )
    return rows, course


@dataclass(frozen=True)
class StepSize(CsvRow):
    """Iterations of a motion by the angle of a step."""

    pair: str
    place: str
    tangents: str
    degrees: float = column("step_deg")
    iterations: int
    iterations_paper: float = unitless("paper_iterations")
    failed: int
    """steps that did not converge or found another common normal"""


def step_sizes(case: Case, place: str) -> Iterator[StepSize]:
    """Count for all of `TURNS`."""
    for turns in TURNS:
        poses = case.poses(place, turns)
        expected = truths(case, poses)
        for tangents in METHODS:
            found = Method(case, poses, {"tangents": tangents}).motion()
            yield StepSize(
                pair=case.name,
                place=place,
                tangents=tangents,
                degrees=360.0 * turns / STEPS,
                iterations=int(found.statistics.iterations.sum()),
                iterations_paper=case.printed.get(tangents, (math.nan, math.nan))[1],
                failed=sum(failures(found, expected)),
            )


# -- random pairs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColdStart(CsvRow):
    """The method on random pairs, from the midpoint of the centres."""

    regime: str
    tangents: str
    restart: bool
    """whether mirrored pairs were iterated again, unlike in the paper"""
    pairs: int
    right: int
    not_converged: int
    wrong: int
    """converged to points other than the closest"""
    median_iterations: float = unitless("iterations_median")
    """of the pairs that converged"""
    p99_iterations: float = unitless("iterations_p99")


@dataclass(frozen=True)
class RandomPair:
    """Two random bodies, and their certified distance."""

    bodies: tuple[Body, Body]
    poses: tuple[FloatArray, FloatArray]
    truth: float


def random_pairs(regime: str, exponents: tuple[float, float], count: int, seed: int) -> list[RandomPair]:
    """Draw pairs of semi-axes 0.25 to 1 m, 0.01 to 1 m apart, or overlapping by 1e-4 to 0.1 of the smallest semi-axis.

    The second body moves along the closest direction to the specified distance. If overlapping bodies have a shorter
    separating translation, that counts.
    """
    rng = np.random.default_rng([seed, REGIMES.index(regime)])
    found = []
    while len(found) < count:
        sizes = np.exp(rng.uniform(math.log(0.25), 0.0, (2, 3)))
        gammas = rng.uniform(*exponents, 2)
        shapes = [shape(size, gamma) for size, gamma in zip(sizes, gammas, strict=True)]
        poses = np.tile(np.eye(4), (2, 1, 1))
        poses[:, :3, :3] = Rotation.random(2, rng=rng).as_matrix()
        way = rng.normal(size=3)
        poses[1, :3, 3] = 5.0 * way / np.linalg.norm(way)
        far = distance(shapes[0], poses[0], shapes[1], poses[1])
        wanted = 10.0 ** rng.uniform(-2.0, 0.0) if regime == "apart" else -sizes.min() * 10.0 ** rng.uniform(-4.0, -1.0)
        poses[1, :3, 3] -= (far.distance - wanted) * far.normal
        truth = distance(shapes[0], poses[0], shapes[1], poses[1])
        if truth.status.certified:
            bodies = tuple(body(size, gamma) for size, gamma in zip(sizes, gammas, strict=True))
            found.append(RandomPair(bodies, (poses[0], poses[1]), truth.distance))
    return found


def cold_starts(given: Sequence[RandomPair], regime: str) -> Iterator[ColdStart]:
    """Solve all pairs by both methods, with and without a restart."""
    expected = np.array([pair.truth for pair in given])
    for tangents in METHODS:
        for restart in (False, True):
            solve = partial(lopes2010.distance, tangents=tangents, restart=restart)
            found = [solve(p.bodies[0], p.poses[0], p.bodies[1], p.poses[1]) for p in given]
            converged = np.array([result.converged for result in found])
            iterations = np.array([result.statistics.iterations for result in found])[converged]
            values = np.array([result.distance for result in found])
            right = converged & (np.abs(values - expected) <= WRONG)
            yield ColdStart(
                regime=regime,
                tangents=tangents,
                restart=restart,
                pairs=len(given),
                right=int(right.sum()),
                not_converged=int((~converged).sum()),
                wrong=int((converged & ~right).sum()),
                median_iterations=float(np.median(iterations)) if len(iterations) else math.nan,
                p99_iterations=float(np.quantile(iterations, 0.99)) if len(iterations) else math.nan,
            )


# -- report --------------------------------------------------------------------------------------------------------


def motion_table(title: str, rows: Sequence[Row]) -> Table:
    """Return the paper's table and ours."""
    table = Table(title=title, title_justify="left")
    for name in ("pair", "place", "contender"):
        table.add_column(Row.heading(name), no_wrap=True)
    for name in (
        "iterations", "iterations_paper", "per_step", "most", "not_converged", "wrong", "singular", "total_ms",
        "total_ms_paper", "median_us", "p99_us",
    ):  # fmt: skip
        table.add_column(Row.heading(name), justify="right")
    for row in rows:
        counted = row.contender in CONTENDERS
        counts = (row.most, row.not_converged, row.wrong, row.singular)
        table.add_row(
            row.pair,
            row.place,
            row.contender,
            str(row.iterations) if counted else "–",
            cell(row.iterations_paper, ".0f"),
            cell(row.per_step, ".1f"),
            *(str(count) if counted else "–" for count in counts),
            f"{row.total_ms:.2f}",
            cell(row.total_ms_paper, ".0f"),
            f"{row.median_us:.2f}",
            f"{row.p99_us:.2f}",
        )
    return table


def step_table(rows: Sequence[StepSize]) -> Table:
    """Return the table of total iterations by the angle of a step, and of failed steps."""
    table = Table(title="Iterations by degrees a step (failed)", title_justify="left")
    degrees = sorted({row.degrees for row in rows})
    for name in ("pair", "place", "tangents"):
        table.add_column(name, no_wrap=True)
    for name in (*(f"{value:g}°" for value in degrees), StepSize.heading("iterations_paper")):
        table.add_column(name, justify="right", no_wrap=True)
    for key in dict.fromkeys((row.pair, row.place, row.tangents) for row in rows):
        own = sorted((row for row in rows if (row.pair, row.place, row.tangents) == key), key=lambda row: row.degrees)
        cells = (f"{row.iterations}" + (f" ({row.failed})" if row.failed else "") for row in own)
        table.add_row(*key, *cells, cell(own[0].iterations_paper, ".0f"))
    return table


def cold_table(rows: Sequence[ColdStart]) -> Table:
    """Return the table of failures of the scheme from its cold start."""
    table = Table(title="Random pairs, from the middle of the centres", title_justify="left")
    for name in ("regime", "tangents", "restart"):
        table.add_column(ColdStart.heading(name), no_wrap=True)
    for name in ("pairs", "right", "not_converged", "wrong", "median_iterations", "p99_iterations"):
        table.add_column(ColdStart.heading(name), justify="right", no_wrap=True)
    for row in rows:
        shares = (f"{100.0 * count / row.pairs:.1f} %" for count in (row.right, row.not_converged, row.wrong))
        table.add_row(
            row.regime,
            row.tangents,
            "yes" if row.restart else "no, as in the paper",
            str(row.pairs),
            *shares,
            cell(row.median_iterations, ".0f"),
            cell(row.p99_iterations, ".0f"),
        )
    return table


_TICKS = (3, 5, 10, 20, 50)
_SHOWN = 0.3  # microseconds
_LINES = {
    "householder": ("Householder", BLUE),
    "auxiliary": ("auxiliary vectors", ORANGE),
    "unit auxiliary": ("the same, of unit length", PURPLE),
    "householder, differences": ("Householder, finite differences", SKY),
    "engine": ("this engine, certified", GREEN),
    "coal": ("Coal", "0.45"),
}


def _panel(panel: Axes, series: dict[str, FloatArray]) -> None:
    for name, values in series.items():
        label, colour = _LINES[name]
        panel.plot(np.arange(STEPS), values, color=colour, linewidth=1.0, label=label)
    panel.grid(alpha=0.25, linewidth=0.5)


def plot(courses: Sequence[Course]) -> Figure:
    """Draw iterations and microseconds of every step."""
    cases = list(dict.fromkeys(course.case.name for course in courses))
    places = list(dict.fromkeys(course.place for course in courses))
    figure = Figure(figsize=(3.2 * len(cases) + 0.6, 2.4 * 2 * len(places)), layout="constrained")
    panels = figure.subplots(2 * len(places), len(cases), sharex=True, sharey="row", squeeze=False)
    for course in courses:
        column, row = cases.index(course.case.name), 2 * places.index(course.place)
        above, below = panels[row, column], panels[row + 1, column]
        _panel(above, {name: values.astype(float) for name, values in course.iterations.items()})
        for name, (_, iterations) in course.case.printed.items():
            above.axhline(iterations / STEPS, color=_LINES[name][1], linewidth=0.8, linestyle=":")
        above.set(title=f"pair {course.case.name}, {course.place}", yscale="log")
        above.set_yticks(_TICKS, [str(tick) for tick in _TICKS], minor=False)
        above.minorticks_off()
        _panel(below, course.microseconds)
        below.set(yscale="log")
        if column == 0:
            above.set(ylabel="iterations (dotted: paper)")
            below.set(ylabel="µs")
    for panel in panels[1::2].flat:
        panel.set_ylim(bottom=_SHOWN)
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.yaxis.set_major_formatter("{x:g}")
        panel.minorticks_off()
    for panel in panels[-1]:
        panel.set(xlabel="step")
    panels[1, 0].legend(fontsize=7)
    return figure


_SNAPSHOTS = (0, 35, 80, 130)
_ARROWS = {"normal": RED, "tangent": GREEN, "binormal": BLUE}


def _wireframe(body: Body, pose: FloatArray) -> FloatArray:
    """Return surface points on meridians and parallels, (..., 3), world; rays from the centre, scaled onto F = 0."""
    polar, around = np.meshgrid(np.linspace(0.0, math.pi, 13), np.linspace(0.0, 2.0 * math.pi, 25))
    rays = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], axis=-1)
    row = body._row
    gamma = row[EXPONENT : EXPONENT + 3]  # equal on all axes in both tables
    length = (row[SQUARE : SQUARE + 3] * np.abs(rays) ** gamma).sum(axis=-1) ** (-1.0 / gamma[0])
    return (rays * length[..., None]) @ pose[:3, :3].T + pose[:3, 3]


def plot_snapshots(cases: Sequence[Case]) -> Figure:
    """Draw what figs. 6 and 7 show: bodies, closest points, and normal, tangent and binormal at the point of (j)."""
    figure = Figure(figsize=(3.0 * len(_SNAPSHOTS), 3.0 * len(cases)), layout="constrained")
    for line, case in enumerate(cases):
        poses = case.poses("aside")
        found = Method(case, poses, CONTENDERS["householder"]).motion()
        for place, step in enumerate(_SNAPSHOTS):
            number = line * len(_SNAPSHOTS) + place + 1
            panel = figure.add_subplot(len(cases), len(_SNAPSHOTS), number, projection="3d")
            at = poses[0][step], poses[1][step]
            grids = [_wireframe(body, pose) for body, pose in zip(case.bodies, at, strict=True)]
            for grid, colour in zip(grids, (BLUE, ORANGE), strict=True):
                panel.plot_wireframe(*np.moveaxis(grid, -1, 0), color=colour, linewidth=0.35)
            ends = np.array([found.point_a[step], found.point_b[step]])
            panel.plot(*ends.T, color=BLACK, linewidth=1.2, marker=".", markersize=4)
            local = at[1][:3, :3].T @ (ends[1] - at[1][:3, 3])
            gradient = case.bodies[1].gradient(local)
            arrows = np.array([gradient, *tangents_of(METHODS["householder"], tuple(gradient))]) @ at[1][:3, :3].T
            arrows *= 0.5 * min(map(max, case.sizes)) / np.linalg.norm(arrows, axis=1)[:, None]
            for arrow, colour in zip(arrows, _ARROWS.values(), strict=True):
                panel.quiver(*ends[1], *arrow, color=colour, linewidth=1.2)
            points = np.concatenate([grid.reshape(-1, 3) for grid in grids])
            panel.set_box_aspect(np.ptp(points, axis=0), zoom=1.1)
            panel.set_axis_off()
            panel.set_title(f"pair {case.name}, step {step}: {found.distance[step]:.3f} m", fontsize=8)
    handles = [Line2D([], [], color=colour, label=name) for name, colour in _ARROWS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8)
    return figure


def run(
    name: str,
    title: str,
    cases: Sequence[Case],
    exponents: tuple[float, float],
    pairs: int,
    rounds: int,
    seed: int,
    output: Path,
) -> int:
    """Run an experiment; print its tables, write CSV files and a plot (PNG, SVG, PDF)."""
    folder = output_folder(output)
    console = REPORT.console()
    coal, missing = None, {}
    if any(case.exponents == (2.0, 2.0) for case in cases):
        try:
            coal = peers.Coal(Geometry.ELLIPSOID)
        except ImportError as error:
            missing["Coal"] = str(error)
    rows: list[Row] = []
    sizes: list[StepSize] = []
    cold: list[ColdStart] = []
    courses: list[Course] = []
    with progress() as bar:
        _fill(bar, cases, exponents, pairs, rounds, seed, coal, (rows, sizes, cold, courses))
    for table in (motion_table(title, rows), step_table(sizes), cold_table(cold)):
        print_table(console, table)
    about = f"superovoid experiment {name} --pairs {pairs} --rounds {rounds} --seed {seed}", machine(PACKAGES)
    stem = name.replace("-", "_")
    tables = {f"{stem}_motions": rows, f"{stem}_step_sizes": sizes, f"{stem}_random_pairs": cold}
    plots = {stem: partial(plot, courses), f"{stem}_snapshots": partial(plot_snapshots, cases)}
    return leave(console, folder, tables, plots, about, explain_missing(missing))


def _fill(
    bar: Progress,
    cases: Sequence[Case],
    exponents: tuple[float, float],
    pairs: int,
    rounds: int,
    seed: int,
    coal: peers.Coal | None,
    results: tuple[list[Row], list[StepSize], list[ColdStart], list[Course]],
) -> None:
    rows, sizes, cold, courses = results
    task = bar.add_task("measuring", total=len(cases) * len(PLACES) + len(REGIMES))
    for place in PLACES:
        for case in cases:
            bar.update(task, description=f"pair {case.name}, {place}")
            measured, course = measure(case, place, rounds, coal)
            rows += measured
            courses.append(course)
            sizes += step_sizes(case, place)
            bar.advance(task)
    for regime in REGIMES:
        bar.update(task, description=f"random pairs, {regime}")
        cold += cold_starts(random_pairs(regime, exponents, pairs, seed), regime)
        bar.advance(task)
