# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The iCub's hands of Gonçalves et al. 2017, sections 5.2 and 6.3: table 4 and figure 11.

The two hands sweep through each other (`superovoid_ros.motions.grasp_sweep`), 21 by 21 finger links in 214 frames.
Contenders are the paper's eight representations, this package's engine, and Coal:

* superellipsoids, superovoids, and both mixed, each by octImplicit and quadParametric, with temporal coherence: from
  the last frame's unknowns and, if Newton's method fails, from a new guess; both mixed also from a new guess in every
  frame, and superellipsoids also by the superovoids' formulas;
* FCL's proximity query and minimum distance of meshes of the finger links, as in the paper spheres, cylinders and boxes
  (``config/icub_hand.yaml``), with one surface per link;
* this engine on the same three sets of bodies, from a cold start and from its state of the last frame, with a proved
  interval;
* Coal's minimum distance of the same meshes, and its depth of their convex hulls.

As in the paper, bounding spheres and boxes cull the pairs, and only calls for intersecting pairs count: the certified
ones for the bodies, FCL's for the meshes. In each round the contenders play the whole sweep in alternation. The fastest
round of a call counts, since other programs only add to the others. The fastest time of an empty call is subtracted
from calls into compiled loops.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
import trimesh
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from superovoid.contact import Status
from superovoid.contact.columns import RESULT
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
from superovoid.robot import Robot
from superovoid.viewing.palette import CYCLE
from superovoid_papers.benchmarks import engine_speed, peers
from superovoid_papers.benchmarks.engine_comparison import no_garbage_collection
from superovoid_papers.contenders import explain_missing
from superovoid_papers.methods import goncalves2017
from superovoid_papers.methods.goncalves2017 import newton_schemes
from superovoid_ros.icub.hand_models import FIGURES
from superovoid_ros.motions.grasp_sweep import read_sweep
from superovoid_ros.resources import read_yaml, share_directory

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Poses = Sequence[dict[str, FloatArray]]
"""world_from_link, frame by frame."""

LIMIT = 1e-6
"""Least error of a wrong answer, m: the tolerance of the paper's iteration."""
SHALLOW = 1e-3
"""Largest depth of a shallow overlap, m."""
SEGMENTS = 32
"""Segments of the circles of the meshes' cylinders and spheres."""
PAPER = {
    "FCL, meshes, proximity": (28.29, 21.98, None),
    "FCL, meshes, minimum distance": (181.03, 95.21, None),
    "superellipsoids, octImplicit": (127.71, 299.89, 3.7),
    "superovoids, octImplicit": (123.55, 309.49, 3.5),
    "mixed, octImplicit": (128.62, 277.83, 2.7),
    "superellipsoids, quadParametric": (39.01, 96.27, 2.3),
    "superovoids, quadParametric": (45.67, 95.11, 2.1),
    "mixed, quadParametric": (49.55, 116.65, 2.3),
}
"""Table 4: mean and standard deviation of a call, microseconds, and mean iterations."""
PACKAGES = ("numpy", "numba", "python-fcl", "coal")


class Contender(Protocol):
    """A method that computes the distances of pairs of finger links, frame after frame."""

    def begin(self) -> None:
        """Discard the state of earlier frames."""

    def place(self, poses: dict[str, FloatArray]) -> None:
        """Set world_from_link of all links."""

    def prepare(self, row: int) -> None:
        """Prepare a pair, without timing."""

    def ask(self, row: int) -> None:
        """Solve a pair, with timing."""

    def call_nothing(self) -> None:
        """Solve no pair, to time the call itself."""

    def answer(self, row: int) -> tuple[float, float, bool]:
        """Return signed distance, m, iterations, and convergence, of the last solved pair."""


@dataclass(frozen=True)
class Fingers:
    """Pairs of bodies of one representation."""

    robot: Robot
    pairs: IntArray
    """Indices of the robot's bodies, shape (441, 2)."""

    @classmethod
    def from_kind(cls, representation: str) -> Fingers:
        """Return the pairs of the shipped hands."""
        robot, _ = read_sweep(representation)
        return cls(robot, robot.body_pairs(["left_fingers"], ["right_fingers"]))

    def shapes(self, side: int) -> list[object]:
        """Return the shapes of one side of the pairs."""
        return [self.robot.bodies[i].shape for i in self.pairs[:, side]]

    def write(self, poses: dict[str, FloatArray], of_a: FloatArray, of_b: FloatArray) -> None:
        """Write world_from_body of both sides of all pairs, shapes (441, 4, 4)."""
        of_bodies = {i: poses[body.link] @ body.link_from_body for i, body in enumerate(self.robot.bodies)}
        for side, rows in enumerate((of_a, of_b)):
            rows[:] = [of_bodies[i] for i in self.pairs[:, side].tolist()]


class _Loop:
    """A compiled loop over ranges of pairs."""

    pairs: goncalves2017.Pairs | engine_speed.Pairs

    def prepare(self, row: int) -> None:
        """Do nothing: `place` prepares all pairs."""

    def ask(self, row: int) -> None:
        """Run a loop over one pair."""
        self.pairs.solve(row, row + 1)

    def call_nothing(self) -> None:
        """Run a loop over no pairs."""
        self.pairs.solve(0, 0)


class Scheme(_Loop):
    """A scheme of the paper: from the last unknowns and, if these fail, from a new guess; or always from a guess."""

    def __init__(
        self, fingers: Fingers, scheme: str, formulas: str, coherent: bool = True, vectors: str = "unit"
    ) -> None:
        self._fingers, self._coherent = fingers, coherent
        identity = np.tile(np.eye(4), (len(fingers.pairs), 1, 1))
        shapes = fingers.shapes(0), fingers.shapes(1)
        options = {"scheme": scheme, "formulas": formulas, "vectors": vectors}
        self.pairs = goncalves2017.Pairs(shapes[0], identity, shapes[1], identity, **options)

    def begin(self) -> None:
        """Discard the last unknowns."""
        self.pairs.warm[:] = False

    def place(self, poses: dict[str, FloatArray]) -> None:
        """Write poses; cull by spheres and boxes."""
        self._fingers.write(poses, self.pairs.poses_a, self.pairs.poses_b)
        self.pairs.cull(0, len(self.pairs))
        if not self._coherent:
            self.begin()

    def answer(self, row: int) -> tuple[float, float, bool]:
        """Return the answer from the row of results."""
        out = self.pairs.out[row]
        return out[newton_schemes.DISTANCE], out[newton_schemes.ITERATIONS], out[newton_schemes.CONVERGED] != 0.0


class Engine(_Loop):
    """The engine of this package, from its state of the last frame or from none, with a proof."""

    def __init__(self, fingers: Fingers, warm: bool) -> None:
        self._fingers, self._warm = fingers, warm
        rows = [
            [(*s.semi_axes, s.section_exponent, s.profile_exponent, *s.taper) for s in fingers.shapes(side)]
            for side in range(2)
        ]
        self.pairs = engine_speed.Pairs(np.array(rows), np.tile(np.eye(4), (2, len(fingers.pairs), 1, 1)))
        self._spheres = engine_speed.two_spheres()

    def call_nothing(self) -> None:
        """Solve two spheres."""
        self._spheres.solve(0, 1)

    def begin(self) -> None:
        """Discard all states."""
        self.pairs.states[:] = 0.0

    def place(self, poses: dict[str, FloatArray]) -> None:
        """Write poses."""
        self._fingers.write(poses, *self.pairs.poses)
        if not self._warm:
            self.begin()

    def answer(self, row: int) -> tuple[float, float, bool]:
        """Return the answer from the row of results; converged means proved."""
        out = self.pairs.out[row]
        return (
            out[RESULT.distance],
            out[RESULT.iterations],
            not int(out[RESULT.status]) & Status.UNPROVEN,
        )


Call = Callable[[], float]
Links = Sequence[tuple[str, str]]


class Meshes:
    """A library's calls for meshes of the links, created for given poses."""

    def __init__(self, links: Links, make: Callable[[int, FloatArray, FloatArray], Call]) -> None:
        self._links, self._make = links, make

    def begin(self) -> None:
        """Do nothing: there is no state."""

    def place(self, poses: dict[str, FloatArray]) -> None:
        """Store the poses."""
        self._poses = poses

    def prepare(self, row: int) -> None:
        """Pass the poses of the two links to the library."""
        a, b = self._links[row]
        self._call = self._make(row, self._poses[a], self._poses[b])

    def ask(self, row: int) -> None:
        """Call the library."""
        self._found = self._call()

    def call_nothing(self) -> None:
        """Do nothing: times of library calls include their bindings."""

    def answer(self, row: int) -> tuple[float, float, bool]:
        """Return its result, without iterations."""
        return self._found, math.nan, True


def link_meshes() -> dict[str, trimesh.Trimesh]:
    """Return meshes of the finger links of both hands, link frame, m: all triangles of the parts."""
    figures = read_yaml(share_directory() / "config" / FIGURES)
    found = {}
    for finger in figures["fingers"].values():
        for link in finger["links"]:
            right = trimesh.util.concatenate([_part_mesh(part) for part in link["parts"]])
            left = right.copy()
            left.apply_transform(np.diag([1.0, -1.0, 1.0, 1.0]))  # also reverses the triangles
            found[f"right_{link['name']}"], found[f"left_{link['name']}"] = right, left
    return found


def _part_mesh(part: dict) -> trimesh.Trimesh:
    pose = np.eye(4)
    if "sphere" in part:
        mesh = trimesh.creation.uv_sphere(0.5 * part["sphere"]["diameter"], count=[SEGMENTS // 2, SEGMENTS])
    elif "box" in part:
        mesh = trimesh.creation.box(part["box"]["size"])
    else:
        figures = part["cylinder"]
        mesh = trimesh.creation.cylinder(0.5 * figures["diameter"], figures["length"], sections=SEGMENTS)
        pose = trimesh.geometry.align_vectors([0.0, 0.0, 1.0], figures["axis"])
    pose[:3, 3] = part["centre"]
    mesh.apply_transform(pose)
    return mesh


def _fcl_contenders(links: Links, meshes: dict[str, trimesh.Trimesh]) -> Iterator[tuple[str, Meshes]]:
    pairs = [
        goncalves2017.MeshPair(meshes[a].vertices, meshes[a].faces, meshes[b].vertices, meshes[b].faces)
        for a, b in links
    ]

    def maker(calls: list[Call]) -> Callable[[int, FloatArray, FloatArray], Call]:
        def make(row: int, pose_a: FloatArray, pose_b: FloatArray) -> Call:
            pairs[row].place(pose_a, pose_b)
            return calls[row]

        return make

    yield "FCL, meshes, proximity", Meshes(links, maker([pair.meets_call() for pair in pairs]))
    yield "FCL, meshes, minimum distance", Meshes(links, maker([pair.distance_call() for pair in pairs]))


def _coal_contenders(links: Links, meshes: dict[str, trimesh.Trimesh]) -> Iterator[tuple[str, Meshes]]:
    coal = peers.Coal(peers.Geometry.EXACT)
    surfaces = {link: coal.surface(mesh.vertices, mesh.faces) for link, mesh in meshes.items()}
    hulls = {link: coal.convex(*peers.convex_hull(mesh.vertices)) for link, mesh in meshes.items()}
    for name, shapes in (("Coal, meshes, minimum distance", surfaces), ("Coal, hulls of the meshes, depth", hulls)):

        def make(row: int, pose_a: FloatArray, pose_b: FloatArray, shapes: dict[str, object] = shapes) -> Call:
            a, b = links[row]
            return coal.query(shapes[a], pose_a, shapes[b], pose_b)

        yield name, Meshes(links, make)


@dataclass(frozen=True)
class Task:
    """The pairs for a contender."""

    visits: list[IntArray]
    """Rows, frame by frame."""
    counted: list[NDArray[np.bool_]]
    """Whether each intersects, so that its call counts."""
    truth: FloatArray | None
    """Certified distances of the calls that count, in their order, m; None: there are none for these bodies."""


@dataclass(frozen=True)
class CallRow(CsvRow):
    """One call that counts."""

    contender: str
    microseconds: float = column("call_us")
    distance: float = column("distance_m")
    """Signed; for meshes the library's value: 1 for a contact (proximity), 0 or -1 for an overlap."""
    iterations: float = unitless()
    """nan if there are none."""
    converged: bool
    """For this engine: proved."""
    error: float = column("error_m")
    """Relative to the certified distance; nan if there is none."""


def play(contender: Contender, task: Task, poses: Poses) -> tuple[FloatArray, FloatArray]:
    """Play the whole sweep with a contender.

    Returns
    -------
    times : (calls,) ndarray
        Microseconds of the calls that count.
    answers : (calls, 3) ndarray
        Distance, iterations, converged.
    """
    times, answers = [], []
    contender.begin()
    for links, rows, counted in zip(poses, task.visits, task.counted, strict=True):
        contender.place(links)
        for row, counts in zip(rows.tolist(), counted.tolist(), strict=True):
            contender.prepare(row)
            started = time.perf_counter_ns()
            contender.ask(row)
            elapsed = time.perf_counter_ns() - started
            if counts:
                times.append(1e-3 * elapsed)
                answers.append(contender.answer(row))
    return np.array(times), np.array(answers, dtype=np.float64).reshape(-1, 3)


def overhead(contender: Contender, samples: int = 2000) -> float:
    """Return the median microseconds of an empty call."""
    spent = np.empty(samples)
    for k in range(samples):
        started = time.perf_counter_ns()
        contender.call_nothing()
        spent[k] = time.perf_counter_ns() - started
    return 1e-3 * float(np.median(spent))


def contenders(poses: Poses) -> tuple[dict[str, tuple[Contender, Task]], list[str]]:
    """Return all available methods with their pairs, and lines about missing ones."""
    kinds = ("superellipsoids", "superovoids", "mixed")  # in the order of table 4
    fingers = {kind: Fingers.from_kind(kind) for kind in kinds}
    tasks = {kind: _certify(of, poses) for kind, of in fingers.items()}
    bodies: dict[str, tuple[Contender, Task]] = {}
    for scheme in ("octImplicit", "quadParametric"):
        for kind in kinds:
            formulas = "general" if kind == "superovoids" else "specific"
            bodies[f"{kind}, {scheme}"] = Scheme(fingers[kind], scheme, formulas), tasks[kind]
    for scheme in ("octImplicit", "quadParametric"):
        general = Scheme(fingers["superellipsoids"], scheme, "general")
        bodies[f"superellipsoids, {scheme}, general formulas"] = general, tasks["superellipsoids"]
        alone = Scheme(fingers["mixed"], scheme, "specific", coherent=False)
        bodies[f"mixed, {scheme}, no coherence"] = alone, tasks["mixed"]
        printed = Scheme(fingers["mixed"], scheme, "specific", vectors="printed")
        bodies[f"mixed, {scheme}, vectors as printed"] = printed, tasks["mixed"]
    for kind in kinds:
        for start in ("cold", "warm"):
            bodies[f"{kind}, this engine {start}"] = Engine(fingers[kind], start == "warm"), tasks[kind]
    robot, pairs = fingers["mixed"].robot, fingers["mixed"].pairs.tolist()
    links = [(robot.bodies[i].link, robot.bodies[j].link) for i, j in pairs]
    meshes, missing = link_meshes(), []
    try:
        of_fcl = dict(_fcl_contenders(links, meshes))
    except ImportError as error:
        return bodies, explain_missing({"FCL and Coal, meshes": str(error)})
    task = _meeting(next(iter(of_fcl.values())), poses, len(links))
    try:
        of_coal = dict(_coal_contenders(links, meshes))
    except ImportError as error:
        of_coal = {}
        missing += explain_missing({"Coal": str(error)})
    before, after = ({name: (meshed, task) for name, meshed in of.items()} for of in (of_fcl, of_coal))
    return before | bodies | after, missing


def _certify(fingers: Fingers, poses: Poses) -> Task:
    """Return rows after culling by spheres and boxes, intersecting ones, and their certified distances."""
    scheme, engine = Scheme(fingers, "quadParametric", "general"), Engine(fingers, warm=True)
    visits, counted, truth = [], [], []
    for links in poses:
        scheme.place(links)
        engine.place(links)
        rows = np.flatnonzero(scheme.pairs.near)
        for row in rows.tolist():
            engine.ask(row)
        distances = engine.pairs.out[rows, RESULT.distance]
        visits.append(rows)
        counted.append(distances < 0.0)
        truth.append(distances[distances < 0.0])
    return Task(visits, counted, np.concatenate(truth))


def _meeting(proximity: Meshes, poses: Poses, count: int) -> Task:
    """Return the rows whose meshes meet."""
    visits = []
    for links in poses:
        proximity.place(links)
        meet = np.zeros(count, dtype=bool)
        for row in range(count):
            proximity.prepare(row)
            proximity.ask(row)
            meet[row] = proximity.answer(row)[0] > 0
        visits.append(np.flatnonzero(meet))
    return Task(visits, [np.ones(len(rows), dtype=bool) for rows in visits], None)


def measure(
    given: dict[str, tuple[Contender, Task]], poses: Poses, rounds: int, console: Console | None
) -> dict[str, list[CallRow]]:
    """Run the sweep several times with every method, in alternation; return the calls that count, by method."""
    best: dict[str, FloatArray] = {}
    empty: dict[str, float] = {}
    answers: dict[str, FloatArray] = {}
    names = list(given)
    with progress() as bar, no_garbage_collection():
        task = bar.add_task("sweep", total=(rounds + 1) * len(names))
        for turn in range(rounds + 1):  # The first round compiles and does not count.
            for name in (*names[turn % len(names) :], *names[: turn % len(names)]):
                times, answers[name] = play(*given[name], poses)
                if turn:
                    empty[name] = min(empty.get(name, math.inf), overhead(given[name][0]))
                    best[name] = np.minimum(best[name], times) if name in best else times
                bar.advance(task)
    found = {}
    for name in names:
        truth = given[name][1].truth
        errors = np.full(len(best[name]), math.nan) if truth is None else np.abs(answers[name][:, 0] - truth)
        found[name] = [
            CallRow(name, float(spent - empty[name]), float(distance), float(iterations), bool(converged), float(error))
            for spent, (distance, iterations, converged), error in zip(best[name], answers[name], errors, strict=True)
        ]
    return found


def guess_time(scheme: Scheme, task: Task, poses: Poses, repeats: int = 5) -> float:
    """Return the microseconds of a first guess for intersecting pairs: median over calls, fastest of `repeats`."""
    found = []
    for links, rows, counted in zip(poses, task.visits, task.counted, strict=True):
        scheme.place(links)
        for row in rows[counted].tolist():
            spent = []
            for _ in range(repeats):
                started = time.perf_counter_ns()
                scheme.pairs.start(row, row + 1)
                spent.append(time.perf_counter_ns() - started)
            found.append(1e-3 * min(spent))
    return float(np.median(found)) - overhead(scheme)


def values_of(rows: Sequence[CallRow], field: str) -> FloatArray:
    """Return a field of all rows."""
    return np.array([getattr(row, field) for row in rows], dtype=np.float64)


def table(found: dict[str, list[CallRow]]) -> Table:
    """Return table 4 with the paper's figures, and outcomes of the answers."""
    result = Table(title="Two hands, calls about intersecting pairs", title_justify="left")
    for name in (
        "contender", "calls", "call mean, us", "deviation", "median", "p99", "paper: mean, us", "deviation",
        "iterations mean", "paper", "not converged", "wrong",
    ):  # fmt: skip
        result.add_column(name, justify="left" if name == "contender" else "right", no_wrap=name == "contender")
    for name, rows in found.items():
        times, iterations = values_of(rows, "microseconds"), values_of(rows, "iterations")
        published = PAPER.get(name, (None, None, None))
        figures = (times.mean(), times.std(), np.median(times), np.quantile(times, 0.99))
        cells = [str(len(rows)), *(f"{value:.2f}" for value in figures)]
        cells += ["" if value is None else f"{value:.2f}" for value in published[:2]]
        cells.append("" if np.isnan(iterations).all() else f"{iterations.mean():.1f}")
        cells.append("" if published[2] is None else f"{published[2]:.1f}")
        converged, errors = values_of(rows, "converged") != 0.0, values_of(rows, "error")
        if np.isnan(errors[converged]).all():
            cells += ["", ""]
        else:
            cells += [str((~converged).sum()), str((converged & ~(errors <= LIMIT)).sum())]
        result.add_row(name, *cells)
    return result


def failure_table(found: dict[str, list[CallRow]]) -> Table:
    """Return the table of failures of the schemes' answers, by depth, and of their iterations."""
    title = f"Answers that failed: not converged, or wrong by more than {LIMIT:g} m"
    result = Table(title=title, title_justify="left")
    for name in (
        "contender", "failed", f"of those below {1e3 * SHALLOW:g} mm", "of deeper ones",
        "error median of the wrong, mm", "iterations median", "iterations mean of the right ones",
    ):  # fmt: skip
        result.add_column(name, justify="left" if name == "contender" else "right", no_wrap=name == "contender")
    for name, rows in found.items():
        errors, iterations = values_of(rows, "error"), values_of(rows, "iterations")
        if np.isnan(iterations).all():
            continue
        depth = -values_of(found[f"{name.partition(',')[0]}, this engine cold"], "distance")
        converged, close = values_of(rows, "converged") != 0.0, errors <= LIMIT
        failed, wrong = ~(converged & close), converged & ~close
        depths = depth > 0.0, depth < SHALLOW, depth >= SHALLOW
        cells = [f"{failed[where].mean():.1%}" if where.any() else "" for where in depths]
        cells.append(f"{1e3 * np.median(errors[wrong]):.1f}" if wrong.any() else "")
        right = iterations[~failed]
        result.add_row(name, *cells, f"{np.median(iterations):.0f}", f"{right.mean():.1f}" if len(right) else "")
    return result


def plot(found: dict[str, list[CallRow]]) -> Figure:
    """Draw the distributions of the times: figure 11 of the paper. Calls beyond the ends count at the ends."""
    figure = Figure(figsize=(10.0, 8.0), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True).ravel()
    titles = [t for t in ("meshes", "octImplicit", "quadParametric", "this engine") if any(t in name for name in found)]
    bins = np.geomspace(0.5, 1000.0, 78)
    for panel, title in zip(panels, titles, strict=False):
        panel.set_prop_cycle(color=CYCLE)
        for name, rows in found.items():
            if title in name:
                times = np.clip(values_of(rows, "microseconds"), bins[0], bins[-1])
                line = "-" if name in PAPER or name.endswith(("cold", "depth")) else "--"
                panel.hist(
                    times, bins, weights=np.full(len(times), 1.0 / len(times)), histtype="step", linestyle=line,
                    label=f"{name}: median {np.median(times):.1f} µs",
                )  # fmt: skip
                if name in PAPER:  # its mean, at an arbitrary height
                    height = 0.5 + 0.05 * (len(panel.patches) % 3)
                    colour = panel.patches[-1].get_edgecolor()
                    panel.plot(PAPER[name][0], height, "v", color=colour, transform=panel.get_xaxis_transform())
        if any(title in name for name in PAPER):
            panel.plot([], [], "v", color="0.3", label="the paper's means (i7-4700MQ)")
        panel.set_title(title, fontsize="medium")
        panel.legend(fontsize="x-small", loc="upper right")
        panel.set_ylim(top=1.65 * panel.get_ylim()[1])  # room for the legend
        panel.set_xscale("log")
    for panel in panels[len(titles) :]:
        panel.set_visible(False)
    for panel in panels[2:]:
        panel.set_xlabel("time of a call [µs]")
    for panel in panels[::2]:
        panel.set_ylabel("share of the calls")
    figure.suptitle("Two hands: calls about intersecting pairs of finger links")
    return figure


def main(rounds: int, output: Path) -> int:
    """Run the experiment: table on the console, CSV and plot in a folder."""
    console = REPORT.console()
    folder = output_folder(output)
    robot, sweep = read_sweep()
    poses = [robot.forward_kinematics(frame.positions, frame.base_poses) for frame in sweep]
    given, missing = contenders(poses)
    found = measure(given, poses, rounds, console)
    about = f"superovoid experiment hands --rounds {rounds}; no random numbers", machine(PACKAGES)
    for shown in (table(found), failure_table(found)):
        print_table(console, shown)
    guesses = (guess_time(*given[f"mixed, {scheme}"], poses) for scheme in ("octImplicit", "quadParametric"))
    guessed = "a first guess, median: octrees {:.1f} us, quadtrees {:.1f} us".format(*guesses)
    rows = [row for of_name in found.values() for row in of_name]
    plots = {"hands": partial(plot, found)}
    return leave(console, folder, {"hands": rows}, plots, about, (guessed, *missing))
