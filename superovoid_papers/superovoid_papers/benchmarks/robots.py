# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Ordinary robots against pinocchio with Coal: all distances in random states, overlapping pairs, any overlap.

The robots are those of example-robot-data with the collision geometry of their URDFs, meshes as convex hulls.
Both sides get the same bodies, the same pairs (all but those on one link or on links that a joint connects) and the
same states, joints uniform within their limits. Coal's hulls are those of its `buildConvexHull`.
Ours answers all states in one call on one thread; pinocchio answers one state per call from Python
(`updateGeometryPlacements`, then `computeDistances`, or `computeCollisions`). All times are processor times, the median
of alternating runs.
"""

from __future__ import annotations

import importlib
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from superovoid.fitting.pair_proofs import LinkPairs
from superovoid.fitting.planner_study import QUESTIONS, Calls, TimedQuery
from superovoid.output import REPORT, CsvRow, cell, column, leave, machine, output_folder, print_table, unitless
from superovoid.robot import Robot
from superovoid.shapes import Box, Capsule, ConvexMesh, Cylinder, Shape, Sphere
from superovoid.states import StateQuery, ThresholdQuery

FloatArray = NDArray[np.float64]

ROBOTS = {
    "Panda": "panda_description/urdf/panda.urdf",
    "UR5": "ur_description/urdf/ur5_robot.urdf",
    "PR2": "pr2_description/urdf/pr2.urdf",
    "Talos": "talos_data/robots/talos_full_v2.urdf",
    "Baxter": "baxter_description/urdf/baxter.urdf",
    "Tiago": "tiago_description/robots/tiago.urdf",
}
"""Robots and their URDFs below the folder `robots` of example-robot-data."""
COAL = "the meshes as convex hulls, by pinocchio with Coal from Python"
"""The models compared with a fitted robot."""
ALWAYS = 0.95
"""Pairs that overlap in this share of the states are excluded from the last query, as by MoveIt's Setup Assistant."""
_COMPARED = 200  # states with a comparison of all answers


@dataclass(frozen=True)
class Measurement(CsvRow):
    """One query about one robot; times are processor times for all states."""

    robot: str
    question: str
    states: int
    bodies: int
    pairs: int
    overlapping: float = unitless()
    """share of the states with an overlapping pair"""
    ours: float = column("ours_s")
    coal: float = column("coal_s")
    ratio: float = unitless()
    """ours / Coal"""
    other_signs: int
    """number of pairs, or states, with a disagreement by more than 1e-6 m"""
    difference: float = column("largest_difference_m")
    """of two distances; nan for queries without distances"""
    loading: float = column("loading_s")
    """processor time of a second `Robot.load` in a process"""


class Libraries(NamedTuple):
    """The models compared with ours."""

    pinocchio: ModuleType
    coal: ModuleType
    robots: Path
    """Folder with the descriptions."""


def libraries() -> Libraries:
    """Import the libraries of the comparison.

    Raises
    ------
    ImportError
        If something is missing; the message names the package to install.
    """
    try:
        found = [importlib.import_module(name) for name in ("pinocchio", "coal")]
        files = distribution("example-robot-data").files or ()
    except ImportError as error:
        raise ImportError(f"no module {error.name!r}: pip install 'superovoid_papers[robots]'") from None
    first = next(iter(ROBOTS.values()))
    for file in files:
        if file.as_posix().endswith(f"/robots/{first}"):
            return Libraries(*found, Path(str(file.locate())).parents[len(Path(first).parts) - 1])
    raise ImportError(
        f"example-robot-data: its file robots/{first} does not exist: pip install 'superovoid_papers[robots]'"
    )


def coal_geometry(coal: ModuleType, shape: Shape) -> Any:
    """Return Coal's body for one of ours.

    Raises
    ------
    TypeError
        If there is none.
    """
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius)
    if isinstance(shape, Box):
        return coal.Box(*shape.lengths)
    if isinstance(shape, Cylinder):
        return coal.Cylinder(shape.radius, shape.length)
    if isinstance(shape, Capsule):
        return coal.Capsule(shape.radius, shape.length)
    if isinstance(shape, ConvexMesh):
        from scipy.spatial import ConvexHull

        model = coal.BVHModelOBBRSS()
        faces = ConvexHull(shape.vertices).simplices
        model.beginModel(len(faces), len(shape.vertices))
        model.addVertices(np.asarray(shape.vertices))
        model.addTriangles(faces.astype(np.int64))
        model.endModel()
        model.buildConvexHull(True, "Qt")
        return model.convex
    raise TypeError(f"{type(shape).__name__}: Coal is given no such body here")


class Pinocchio:
    """The same robot in pinocchio.

    Parameters
    ----------
    found : Libraries
    urdf : Path
    robot : Robot
        Our robot, with the bodies to use, each at its place on its link.
    pairs : (n, 2) array of int
        Indices of its bodies.
    """

    def __init__(self, found: Libraries, urdf: Path, robot: Robot, pairs: NDArray[np.int64]) -> None:
        self._pin = pin = found.pinocchio
        self._robot = robot
        self._model = model = pin.buildModelFromUrdf(str(urdf))
        self._data = model.createData()
        self._geometry = pin.GeometryModel()
        for body in robot.bodies:
            number = model.getFrameId(body.link)
            frame = model.frames[number]
            place = frame.placement * pin.SE3(np.asarray(body.link_from_body))
            shape = coal_geometry(found.coal, body.shape)
            self._geometry.addGeometryObject(pin.GeometryObject(body.name, frame.parentJoint, number, place, shape))
        self.choose(pairs)

    def choose(self, pairs: NDArray[np.int64]) -> None:
        """Set the pairs of the following queries."""
        self._geometry.removeAllCollisionPairs()
        for first, second in pairs:
            self._geometry.addCollisionPair(self._pin.CollisionPair(int(first), int(second)))
        self._places = self._pin.GeometryData(self._geometry)

    def configurations(self, positions: FloatArray) -> list[FloatArray]:
        """Return its configurations for positions of our joints, one row per state, including mimic joints."""
        pin, model, robot = self._pin, self._model, self._robot
        values = {name: positions[:, i] for i, name in enumerate(robot.joint_names)}
        for name, mimic in robot.mimic.items():
            values[name] = mimic.multiplier * values[mimic.joint] + mimic.offset
        rows = np.tile(pin.neutral(model), (len(positions), 1))
        for number, name in enumerate(model.names):
            joint = model.joints[number]
            if name in values and joint.nq == 2:
                rows[:, joint.idx_q], rows[:, joint.idx_q + 1] = np.cos(values[name]), np.sin(values[name])
            elif name in values:
                rows[:, joint.idx_q] = values[name]
        return list(rows)

    def distances(self, configurations: Sequence[FloatArray]) -> None:
        """Compute all distances in all states."""
        for row in configurations:
            self._pin.updateGeometryPlacements(self._model, self._data, self._geometry, self._places, row)
            self._pin.computeDistances(self._geometry, self._places)

    def answers(self, configurations: Sequence[FloatArray]) -> FloatArray:
        """Return the distances of all states, shape (states, pairs), m."""
        rows = np.empty((len(configurations), len(self._geometry.collisionPairs)))
        for state, row in enumerate(configurations):
            self.distances([row])
            rows[state] = [result.min_distance for result in self._places.distanceResults]
        return rows

    def overlaps(self, configurations: Sequence[FloatArray], stop_at_first: bool) -> NDArray[np.bool_]:
        """Return whether any pair overlaps, shape (states,)."""
        arguments = self._model, self._data, self._geometry, self._places
        compute = self._pin.computeCollisions
        return np.array([compute(*arguments, row, stop_at_first) for row in configurations])


def coal_on_hulls(urdf: str, hulls: LinkPairs, positions: FloatArray) -> Calls:
    """Return the timing functions of pinocchio with Coal in a study of a fitted robot; empty if not installed.

    Parameters
    ----------
    urdf : str
        The URDF document.
    hulls : LinkPairs
        Pairs of the robot with convex hulls for meshes.
    positions : (states, joints) ndarray
    """
    try:
        found = Libraries(*(importlib.import_module(name) for name in ("pinocchio", "coal")), Path())
    except ImportError:
        return {}
    with tempfile.NamedTemporaryFile("w", suffix=".urdf", encoding="utf-8") as file:
        file.write(urdf)
        file.flush()
        try:
            other = Pinocchio(found, Path(file.name), hulls.robot, hulls.bodies)
        except (TypeError, RuntimeError, ValueError):  # an unsupported body or URDF
            return {}
    rows = other.configurations(positions)
    counts = len(hulls.robot.bodies), len(hulls.bodies)
    return {
        TimedQuery(QUESTIONS[0], COAL, *counts): lambda states: other.distances(rows[:states]),
        TimedQuery(QUESTIONS[1], COAL, *counts): lambda states: other.overlaps(rows[:states], True),
    }


def random_states(robot: Robot, states: int, seed: int) -> FloatArray:
    """Draw joint positions, uniform within limits (a full turn if there are none), one row per state."""
    limits = np.array([robot.joint_limits[name] for name in robot.joint_names]).reshape(-1, 2)
    limits = np.clip(limits, -math.pi, math.pi)
    return np.random.default_rng(seed).uniform(limits[:, 0], limits[:, 1], (states, len(limits)))


def _medians(repeats: int, *calls: Callable[[], Any]) -> tuple[list[float], list[Any]]:
    """Return median processor times of alternating calls, s, and their last answers, after one untimed call each."""
    answers = [call() for call in calls]
    times = np.empty((repeats, len(calls)))
    for turn in range(repeats):
        for i, call in enumerate(calls):
            started = time.process_time()
            answers[i] = call()
            times[turn, i] = time.process_time() - started
    return [float(value) for value in np.median(times, axis=0)], answers


def _distances(query: StateQuery, positions: FloatArray, options: dict[str, Any], pairs: int) -> FloatArray:
    """Return our distances, shape (states, pairs), in the order of the pairs."""
    found = query(positions, **options)
    order = np.lexsort((found.body_b, found.body_a, found.state))
    return found.distance[order].reshape(len(positions), pairs)


def measure(found: Libraries, name: str, states: int, repeats: int, seed: int) -> Iterator[Measurement]:
    """Time the queries about one robot."""
    urdf = found.robots / ROBOTS[name]
    folders = {"example-robot-data": found.robots.parent}
    Robot.load(urdf, package_directories=folders)
    started = time.process_time()
    robot = Robot.load(urdf, package_directories=folders)
    loading = time.process_time() - started
    scene, pairs = robot.scene(), robot.body_pairs()
    positions = random_states(robot, states, seed)
    options = {"base_poses": {link: np.eye(4) for link in robot.base_links}, "threads": 1}
    peer = Pinocchio(found, urdf, robot, pairs)
    configurations = peer.configurations(positions)
    about = name, states, len(robot.bodies)

    some = positions[:_COMPARED]
    ours = _distances(StateQuery(robot, scene), some, options, len(pairs))
    theirs = peer.answers(configurations[:_COMPARED])
    other_signs = int(((ours < -1e-6) & (theirs > 1e-6) | (ours > 1e-6) & (theirs < -1e-6)).sum())
    difference = float(np.abs(ours - theirs).max())
    overlapping = float((ours < 0.0).any(axis=1).mean())

    def row(question: str, count: int, share: float, times: list[float], signs: int, gap: float) -> Measurement:
        robot_name, number, bodies = about
        return Measurement(
            robot_name, question, number, bodies, count, share, *times, times[0] / times[1], signs, gap, loading
        )

    query = StateQuery(robot, scene)
    times, _ = _medians(repeats, lambda: query(positions, **options), lambda: peer.distances(configurations))
    yield row("all distances", len(pairs), overlapping, times, other_signs, difference)
    query = StateQuery(robot, scene, overlapping_only=True)
    times, answers = _medians(
        repeats, lambda: query(positions, **options), lambda: peer.overlaps(configurations, False)
    )
    signs = int(((np.diff(answers[0].first) > 0) != answers[1]).sum())
    yield row("all overlapping pairs", len(pairs), float(answers[1].mean()), times, signs, math.nan)
    rare = pairs[(ours < 0.0).mean(axis=0) < ALWAYS]
    for question, chosen in (("any overlap", pairs), ("any, pairs sometimes free", rare)):
        peer.choose(chosen)
        query = ThresholdQuery(robot, scene, pairs=chosen)
        times, answers = _medians(
            repeats,
            lambda: query(positions, **options),  # noqa: B023
            lambda: peer.overlaps(configurations, True),
        )
        signs = int((answers[0].closer & ~answers[1] | answers[0].farther & answers[1]).sum())
        yield row(question, len(chosen), float(answers[1].mean()), times, signs, math.nan)


def table(rows: Sequence[Measurement]) -> Table:
    """Return the table of measurements."""
    title = f"Processor time of {rows[0].states:,} random states, one thread"
    result = Table(title=title, title_justify="left")
    for name in ("robot", "question"):
        result.add_column(name)
    for name in (
        "bodies",
        "pairs",
        "overlapping",
        "ours, s",
        "Coal, s",
        "ratio",
        "other signs",
        "largest difference, m",
    ):
        result.add_column(name, justify="right")
    result.add_column("loading, s", justify="right")
    last = ""
    for row in rows:
        if last and row.robot != last:
            result.add_section()
        first, last = row.robot != last, row.robot
        result.add_row(
            row.robot if first else "",
            row.question,
            str(row.bodies) if first else "",
            f"{row.pairs:,}",
            f"{100.0 * row.overlapping:.0f} %",
            f"{row.ours:.4f}",
            f"{row.coal:.4f}",
            f"{row.ratio:.2f}",
            str(row.other_signs),
            cell(row.difference, ".0e"),
            f"{row.loading:.2f}" if first else "",
        )
    return result


def main(states: int, repeats: int, seed: int, output: Path, robots: Sequence[str] = tuple(ROBOTS)) -> int:
    """Measure, print a table, write CSV."""
    console = REPORT.console()
    try:
        found = libraries()
    except ImportError as error:
        print(f"superovoid dev bench robots: {error}", file=sys.stderr)
        return 1
    output_folder(output)
    rows: list[Measurement] = []
    for name in robots:
        rows += measure(found, name, states, repeats, seed)
    print_table(console, table(rows))
    command = f"superovoid dev bench robots --states {states} --repeats {repeats} --seed {seed}"
    return leave(console, output, {"robots": rows}, {}, (command, machine(("numpy", "numba", "pin", "coal"))))
