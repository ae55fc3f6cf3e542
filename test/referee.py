# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compare the engines of two Python environments: ask both the same seeded questions and compare the answers.

    python test/referee.py OLD/bin/python NEW/bin/python           # two environments
    python test/referee.py --keep answers.npz OLD/bin/python       # write one environment's answers to a file
    python test/referee.py answers.npz NEW/bin/python              # compare with these answers

Each environment answers in its own process. The package may have another name there (`Library`). For each family of
questions the table gives

* apart: pairs of intervals without a common number. One of the two is wrong, so this must be 0;
* unspanned: answers of the second environment whose points do not realise the interval. This must be 0;
* certified: the share of answers with a proved interval of the requested width, old and new;
* flags: answers whose other status flags differ;
* the median and the 99th percentile of the time of a question [us], old and new, and their ratios. Both environments
  are timed in alternating rounds, and the shortest time of each question counts.

The exit code is 1 if an interval is apart or points are unspanned.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import inspect
import os
import pickle
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

ROOT = Path(__file__).resolve().parents[1]
COMMIT = "2819007"
"""Engine of the kept answers: a clone of this commit is the old environment."""
UNPROVEN = 1
SEED = 7
WIDTH = 1e-9  # agreement of points and interval, as a share of the coordinates


# --- questions: plain data, the same for both environments ---


@dataclass
class Pair:
    """Two bodies, each a kind and its parameters, and their poses in the world."""

    a: tuple[str, Any]
    pose_a: np.ndarray
    b: tuple[str, Any]
    pose_b: np.ndarray
    extra: Any = None
    """Additional data of the question: a threshold, or two velocities and two angular velocities."""


@dataclass
class States:
    """States of a robot: URDF, SRDF or "", joint names, positions (n, joints), poses of floating links."""

    urdf: str
    srdf: str
    joints: list[str]
    positions: np.ndarray
    base_poses: dict[str, np.ndarray] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


class Answers(NamedTuple):
    """An array with a row for each answer."""

    lower: np.ndarray
    upper: np.ndarray
    status: np.ndarray
    gap: np.ndarray
    """Error [m] of the points and the normal as a realisation of the interval; 0 if the question has no points."""


def _pose(rng: np.random.Generator, offset: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    pose[:3, 3] = offset
    return pose


def _radius(rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(np.log(0.05), np.log(0.5))))


def _superovoid(rng: np.random.Generator) -> tuple[tuple[float, ...], ...]:
    size = tuple(_radius(rng) for _ in range(3))
    return size, tuple(rng.uniform(0.1, 1.9, 2)), tuple(rng.uniform(-0.4, 0.4, 2))


def _points(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(int(rng.integers(8, 40)), 3)) * _radius(rng)


def _table() -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and faces of a plate with a leg: a closed non-convex surface."""
    outline = np.array([(-1, 0), (-1, -1.2), (-0.7, -1.2), (-0.7, -0.3), (1, -0.3), (1, 0)]) * 0.3
    n = len(outline)
    vertices = np.concatenate([np.column_stack([outline, np.full(n, z)]) for z in (-0.2, 0.2)])
    ears = [(0, 1, 2), (0, 2, 3), (0, 3, 5), (3, 4, 5)]
    faces = [(i, (i + 1) % n, (i + 1) % n + n) for i in range(n)] + [(i, (i + 1) % n + n, i + n) for i in range(n)]
    faces += [(c, b, a) for a, b, c in ears] + [(a + n, b + n, c + n) for a, b, c in ears]
    return vertices, np.array(faces)


KINDS: dict[str, Callable[[np.random.Generator], Any]] = {
    "Plane": lambda rng: (),
    "Sphere": lambda rng: (_radius(rng),),
    "Capsule": lambda rng: (_radius(rng), _radius(rng)),
    "Box": lambda rng: ([_radius(rng) for _ in range(3)],),
    "Cylinder": lambda rng: (_radius(rng), 2.0 * _radius(rng)),
    "Cone": lambda rng: (_radius(rng), 2.0 * _radius(rng)),
    "Torus": lambda rng: (lambda r: (2.0 * r, float(rng.uniform(0.2, 1.6)) * r))(_radius(rng)),
    "ConvexMesh": lambda rng: (_points(rng),),
    "Mesh": lambda rng: _table(),
    "Superovoid": _superovoid,
}
"""Kinds of bodies and how to draw their parameters; those of a box are half its lengths."""


def pairs_of_kinds(first: str, second: str, count: int) -> list[Pair]:
    """Draw separate, nearly touching and overlapping pairs in equal parts."""
    rng = np.random.default_rng((SEED, *first.encode(), *second.encode()))
    pairs = []
    for _ in range(count):
        direction = rng.normal(size=3)
        offset = direction / np.linalg.norm(direction) * rng.choice([1.2, 0.7, 0.25]) * rng.uniform(0.5, 1.5)
        a, b = (first, KINDS[first](rng)), (second, KINDS[second](rng))
        pairs.append(Pair(a, _pose(rng, np.zeros(3)), b, _pose(rng, offset)))
    return pairs


def _ovoids(rows: np.ndarray, poses: np.ndarray) -> list[Pair]:
    bodies = [[("Superovoid", (tuple(r[:3]), tuple(r[3:5]), tuple(r[5:7]))) for r in side] for side in rows]
    return [Pair(a, p, b, q) for a, p, b, q in zip(bodies[0], poses[0], bodies[1], poses[1], strict=True)]


def never_wrong(family: str, count: int) -> list[Pair]:
    """Return pairs of a family of `superovoid dev bench never-wrong`."""
    generate = importlib.import_module(f"{_judges()}.random_pairs").generate
    _, batch = generate(SEED, family, 0, count)
    return _ovoids(batch.rows, batch.poses())


def _judges() -> str:
    for name in ("superovoid.testing", "superovoid_ros.experiments.judges"):
        try:
            importlib.import_module(name)
            return name
        except ImportError:
            continue
    raise ImportError("no generator of random pairs")


def battery(name: str) -> list[Pair]:
    """Return the pairs of a battery of test/data."""
    with np.load(next(ROOT.rglob(f"data/battery_{name}.npz"))) as archive:
        data = dict(archive)
    rows = np.stack([np.hstack([data[f"{name}_{side}"] for name in ("size", "epsilon", "taper")]) for side in "ab"])
    poses = np.tile(np.eye(4), (2, rows.shape[1], 1, 1))
    poses[..., :3, :3] = [data["rotation_a"], data["rotation_b"]]
    poses[..., :3, 3] = [data["position_a"], data["position_b"]]
    return _ovoids(rows, poses)


def with_extra(pairs: list[Pair], draw: Callable[[np.random.Generator], Any]) -> list[Pair]:
    """Give each pair the additional data of a question."""
    rng = np.random.default_rng(SEED)
    for pair in pairs:
        pair.extra = draw(rng)
    return pairs


def _limits(urdf: str) -> dict[str, tuple[float, float]]:
    found = {}
    for joint in ET.fromstring(urdf).iter("joint"):
        limit, kind = joint.find("limit"), joint.get("type")
        if kind in ("revolute", "prismatic", "continuous") and joint.find("mimic") is None and joint.get("name"):
            bounded = limit is not None and kind != "continuous"
            low, high = (float(limit.get(key, 0.0)) for key in ("lower", "upper")) if bounded else (-3.0, 3.0)
            found[joint.get("name")] = (low, high)
    return found


def hands(count: int) -> States:
    """Return states along a slow motion of both hands of the iCub, one past the other."""
    share = next(path for path in (ROOT, *ROOT.parents) if (path / "urdf/icub_hands.urdf").is_file())
    urdf = (share / "urdf/icub_hands.urdf").read_text(encoding="utf-8")
    srdf = (share / "config/icub_hands.srdf").read_text(encoding="utf-8")
    limits = _limits(urdf)
    low, high = np.array(list(limits.values())).T
    rng = np.random.default_rng(SEED)
    phase, speed = rng.uniform(0.0, 2.0 * np.pi, len(low)), rng.uniform(0.5, 3.0, len(low))
    t = np.linspace(0.0, 2.0 * np.pi, count)[:, None]
    positions = low + (high - low) * (0.5 + 0.4 * np.sin(speed * t + phase))
    right = np.tile(np.eye(4), (count, 1, 1))
    right[:, :3, :3] = Rotation.from_euler("yx", np.column_stack([0.6 * np.sin(2.0 * t), 0 * t + np.pi])).as_matrix()
    right[:, :3, 3] = np.column_stack([0 * t, 0.02 * np.sin(3.0 * t), 0.06 + 0.05 * np.cos(t)])
    floating = [
        joint.find("child").get("link")
        for joint in ET.fromstring(urdf).iter("joint")
        if joint.get("type") == "floating"
    ]
    poses = {link: right if "right" in link else np.tile(np.eye(4), (count, 1, 1)) for link in floating}
    return States(urdf, srdf, list(limits), positions, poses)


ROBOTS = {
    "Panda": "panda_description/urdf/panda.urdf",
    "UR5": "ur_description/urdf/ur5_robot.urdf",
    "PR2": "pr2_description/urdf/pr2.urdf",
    "Talos": "talos_data/robots/talos_full_v2.urdf",
}


def robot(name: str, count: int, meshes: str) -> States | None:
    """Return random states of a robot of example-robot-data, or None without that package."""
    try:
        files = distribution("example-robot-data").files or ()
    except PackageNotFoundError:
        return None
    (path,) = (Path(str(f.locate())) for f in files if f.as_posix().endswith(f"robots/{ROBOTS[name]}"))
    urdf = path.read_text(encoding="utf-8")
    limits = _limits(urdf)
    low, high = np.array(list(limits.values())).T
    positions = np.random.default_rng(SEED).uniform(low, high, (count, len(low)))
    packages = {"example-robot-data": str(path.parents[len(Path(ROBOTS[name]).parts)])}
    return States(str(path), "", list(limits), positions, options={"meshes": meshes, "package_directories": packages})


# --- answers: the library of one environment ---


class Library:
    """The library of this process under any package name, and the names of its functions."""

    def __init__(self) -> None:
        try:
            self.api = importlib.import_module("superovoid")
        except ImportError:
            self.api = importlib.import_module("superovoid_ros")
        self._robots: dict[str, Any] = {}

    def body(self, spec: tuple[str, Any]) -> Any:
        """Build a body."""
        kind, parameters = spec
        if kind == "Plane" and not hasattr(self.api, "Plane"):
            kind = "HalfSpace"
        if kind == "Box" and "half_extents" not in inspect.signature(self.api.Box).parameters:
            parameters = (2.0 * np.asarray(parameters[0]),)
        if kind == "Superovoid" and "epsilon" not in inspect.signature(self.api.Superovoid).parameters:
            return self.api.Superovoid.from_goncalves(*parameters)
        return getattr(self.api, kind)(*parameters)

    def robot(self, states: States) -> Any:
        """Load the robot of some states."""
        key = f"{states.urdf} {states.options}"
        if key not in self._robots:
            if states.urdf.lstrip().startswith("<"):
                self._robots[key] = self.api.Robot.from_urdf(states.urdf, srdf=states.srdf or None)
            else:
                self._robots[key] = self.api.Robot.load(states.urdf, **states.options)
        return self._robots[key]


def _answers(rows: list[tuple[float, float, int, float]]) -> Answers:
    table = np.array(rows, dtype=float).reshape(-1, 4)
    return Answers(table[:, 0], table[:, 1], table[:, 2].astype(np.uint8), table[:, 3])


def _gaps(results: Any) -> np.ndarray:
    """Return errors [m] of points and normals as realisations of the intervals, beyond widths and rounding."""
    a, b, normal = (np.atleast_2d(getattr(results, name)) for name in ("point_a", "point_b", "normal"))
    lower, upper = np.atleast_1d(results.lower), np.atleast_1d(results.upper)
    with np.errstate(invalid="ignore", over="ignore"):
        along = np.einsum("ij,ij->i", b - a, normal)
        length = np.linalg.norm(b - a, axis=1)
        size = np.maximum(np.abs(a).max(axis=1), np.abs(b).max(axis=1)) + np.abs(lower)
        longest = np.where(lower > 0.0, length, along)  # points of an overlap may lie next to each other
        gap = np.maximum(lower - along, longest - upper) - WIDTH * size
        unit = np.abs(np.linalg.norm(normal, axis=1) - 1.0) - WIDTH
    proved = (np.atleast_1d(np.asarray(results.status, dtype=np.int64)) & (UNPROVEN | 32)) == 0
    return np.where(proved, np.fmax(np.fmax(gap, unit), 0.0), 0.0)


Timed = tuple[Answers, np.ndarray]


def ask_distance(library: Library, pairs: list[Pair]) -> Timed:
    """Ask pair by pair."""
    ready = [(library.body(p.a), p.pose_a, library.body(p.b), p.pose_b) for p in pairs]
    rows, times = [], np.empty(len(ready))
    for i, question in enumerate(ready):
        library.api.distance(*question)  # a body creates its tables at the first question
        start = time.perf_counter()
        result = library.api.distance(*question)
        times[i] = time.perf_counter() - start
        rows.append((result.lower, result.upper, int(result.status), float(_gaps(result)[0])))
    return _answers(rows), times


def ask_batch(library: Library, pairs: list[Pair]) -> Timed:
    """Ask all pairs in one call."""
    a, b = ([library.body(getattr(p, side)) for p in pairs] for side in "ab")
    poses_a, poses_b = (np.array([getattr(p, f"pose_{side}") for p in pairs]) for side in "ab")
    start = time.perf_counter()
    results = library.api.distances(a, poses_a, b, poses_b, threads=1)
    taken = (time.perf_counter() - start) / len(pairs)
    status = np.asarray(results.status, dtype=np.uint8)
    return Answers(results.lower, results.upper, status, _gaps(results)), np.full(len(pairs), taken)


def ask_thresholds(library: Library, pairs: list[Pair]) -> Timed:
    """Ask whether pairs are closer than thresholds; the answer is the remaining half-line of distances."""
    rows, times = [], np.empty(len(pairs))
    is_closer = getattr(library.api, "is_closer", None) or library.api.are_closer
    for i, p in enumerate(pairs):
        question = library.body(p.a), p.pose_a, library.body(p.b), p.pose_b, p.extra
        start = time.perf_counter()
        verdict = is_closer(*question)
        times[i] = time.perf_counter() - start
        low = p.extra if verdict.farther else -np.inf
        high = p.extra if verdict.closer else np.inf
        rows.append((low, high, 0 if verdict.closer or verdict.farther else UNPROVEN, 0.0))
    return _answers(rows), times


def ask_impacts(library: Library, pairs: list[Pair]) -> Timed:
    """Ask when two moving bodies touch; the answer is an interval of time."""
    rows, times = [], np.empty(len(pairs))
    for i, p in enumerate(pairs):
        motions = [library.api.Motion(pose, *p.extra[k]) for k, pose in enumerate((p.pose_a, p.pose_b))]
        question = library.body(p.a), motions[0], library.body(p.b), motions[1]
        start = time.perf_counter()
        impact = library.api.time_of_impact(*question)
        times[i] = time.perf_counter() - start
        name = impact.status.name
        # Free until `time`, in contact at `overlap_time` at the latest.
        high = np.inf if not np.isfinite(impact.overlap_time) else impact.overlap_time
        rows.append((impact.time if name != "FREE" else 1.0, high, int(name == "UNPROVEN"), 0.0))
    return _answers(rows), times


def ask_derivatives(library: Library, pairs: list[Pair]) -> Timed:
    """Ask for the derivative of the distance by a translation of the second body, along a direction.

    The interval is the derivative +- 1e-6, the accuracy of two ways to compute it.
    """
    rows, times = [], np.empty(len(pairs))
    for i, p in enumerate(pairs):
        a, b = library.body(p.a), library.body(p.b)
        result = library.api.distance(a, p.pose_a, b, p.pose_b)
        start = time.perf_counter()
        derivative = library.api.derivatives(a, p.pose_a, b, p.pose_b, result)
        times[i] = time.perf_counter() - start
        known = int(derivative.status) == 0 and int(result.status) == 0
        value = float(np.asarray(derivative.by_pose_b)[..., :3].reshape(-1)[:3] @ p.extra)
        rows.append((value - 1e-6, value + 1e-6, 0, 0.0) if known else (-np.inf, np.inf, UNPROVEN, 0.0))
    return _answers(rows), times


def _closest_rows(results: Any, wanted: int) -> list[tuple[float, float, int, float]]:
    order = np.argsort(np.asarray(results.lower), kind="stable")[:wanted]
    gaps = _gaps(results)
    upper = np.sort(np.asarray(results.upper))
    rows = [
        (float(results.lower[i]), float(upper[k]), int(results.status[i]), float(gaps[i])) for k, i in enumerate(order)
    ]
    return rows + [(np.inf, np.inf, 0, 0.0)] * (wanted - len(rows))


def ask_states(library: Library, states: States) -> Timed:
    """Ask for the four closest pairs of each state of a robot."""
    robot = library.robot(states)
    scene = robot.scene()
    count = len(states.positions)
    start = time.perf_counter()
    found = library.api.state_distances(
        robot,
        scene,
        states.positions,
        joint_names=states.joints,
        base_poses=states.base_poses or None,
        max_results=4,
        threads=1,
    )
    taken = (time.perf_counter() - start) / count
    rows = [row for i in range(count) for row in _closest_rows(found.of_state(i), 4)]
    return _answers(rows), np.full(count, taken)


def ask_motion(library: Library, states: States) -> Timed:
    """Follow a motion frame by frame in one warm scene: all pairs within 30 mm, and compare the four closest."""
    robot = library.robot(states)
    scene = robot.scene()
    limit = {name: 0.03 for name in ("cutoff", "max_distance") if name in inspect.signature(scene.query).parameters}
    rows, times = [], np.empty(len(states.positions))
    for i, positions in enumerate(states.positions):
        bases = {link: poses[i] for link, poses in states.base_poses.items()}
        poses = robot.forward_kinematics(dict(zip(states.joints, positions, strict=True)), bases)
        start = time.perf_counter()
        scene.set_link_poses(poses)
        found = scene.query(**limit)
        times[i] = time.perf_counter() - start
        rows += _closest_rows(found, 4)
    return _answers(rows), times


# --- families ---


class Family(NamedTuple):
    """A family of questions: how to draw and to ask them."""

    draw: Callable[[], Any]
    ask: Callable[[Library, Any], Timed]


def _direction(rng: np.random.Generator) -> np.ndarray:
    direction = rng.normal(size=3)
    return direction / np.linalg.norm(direction)


def _mixed_pairs(count: int, kinds: tuple[str, ...]) -> list[Pair]:
    pairs = [pairs_of_kinds(a, b, 1 + count // len(kinds) ** 2) for a in kinds for b in kinds]
    return [pair for group in zip(*pairs, strict=True) for pair in group][:count]


def families(scale: float = 1.0) -> dict[str, Family]:
    """Return all families; `scale` multiplies their numbers of questions."""

    def scaled_count(count: int) -> int:
        return max(2, round(scale * count))

    names = list(importlib.import_module(f"{_judges()}.random_pairs").FAMILIES)
    found = {
        f"never-wrong {name}": Family(lambda n=name: never_wrong(n, scaled_count(1400)), ask_distance) for name in names
    }
    found |= {f"batch {name}": Family(lambda n=name: never_wrong(n, scaled_count(1400)), ask_batch) for name in names}
    found |= {
        f"{a} {b}": Family(lambda a=a, b=b: pairs_of_kinds(a, b, scaled_count(380)), ask_distance)
        for i, a in enumerate(KINDS)
        for b in list(KINDS)[i:]
    }
    for name in ("paper_separated", "paper_overlapping", "hard"):
        found[f"battery {name}"] = Family(lambda n=name: battery(n)[: scaled_count(2000)], ask_distance)
        found[f"battery {name}, batch"] = Family(lambda n=name: battery(n)[: scaled_count(2000)], ask_batch)
    mixed = tuple(KINDS)
    found["thresholds"] = Family(
        lambda: with_extra(_mixed_pairs(scaled_count(3000), mixed), lambda rng: float(rng.uniform(-0.1, 0.4))),
        ask_thresholds,
    )
    found["impacts"] = Family(
        lambda: with_extra(
            _mixed_pairs(scaled_count(1000), mixed[1:]),
            lambda rng: [(rng.normal(size=3), rng.normal(size=3)) for _ in "ab"],
        ),
        ask_impacts,
    )
    found["derivatives"] = Family(
        lambda: with_extra(pairs_of_kinds("Superovoid", "Superovoid", scaled_count(2000)), _direction), ask_derivatives
    )
    found["hands, warm motion"] = Family(lambda: hands(scaled_count(2000)), ask_motion)
    found["hands, states"] = Family(lambda: hands(scaled_count(2000)), ask_states)
    for name in ROBOTS:
        for meshes in ("hull", "shells"):
            count = scaled_count(300 if meshes == "hull" else 20)
            found[f"{name}, {meshes}"] = Family(lambda n=name, m=meshes, c=count: robot(n, c, m), ask_states)
    return found


# --- two processes ---


class Worker:
    """A process with the library of an environment: `ask` returns answers to a family's questions and their times."""

    def __init__(self, python: str) -> None:
        command = [python, str(Path(__file__).resolve()), "--worker"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, ask: str, questions: Any) -> Timed:
        """Ask by the function of this name."""
        pickle.dump((ask, questions), self._process.stdin)
        self._process.stdin.flush()
        try:
            return pickle.load(self._process.stdout)
        except EOFError:
            raise SystemExit(f"{self._process.args[0]} ended at {ask}: its error is printed above") from None

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


def _serve() -> None:
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of the library goes to standard error
    library = Library()
    while True:
        try:
            ask, questions = pickle.load(source)
        except EOFError:
            return
        pickle.dump(globals()[ask](library, questions), target)
        target.flush()


# --- comparison ---


class Row(NamedTuple):
    """A row of the table for a family."""

    name: str
    answers: int
    apart: int
    unspanned: int
    certified: tuple[float, float]
    flags: int


def compare(name: str, old: Answers, new: Answers) -> Row:
    """Compare the answers of two engines to the same questions."""
    if len(old.lower) != len(new.lower):
        raise ValueError(f"{name}: {len(old.lower)} answers of the first engine, {len(new.lower)} of the second")
    apart = (old.lower > new.upper) | (new.lower > old.upper) | np.isnan(new.lower) | np.isnan(new.upper)
    certified = [float(((answers.status & UNPROVEN) == 0).mean()) for answers in (old, new)]
    flags = (old.status | UNPROVEN) != (new.status | UNPROVEN)
    return Row(
        name,
        len(new.lower),
        int(apart.sum()),
        int((new.gap > 0.0).sum()),
        (certified[0], certified[1]),
        int(flags.sum()),
    )


def digest(questions: Any) -> str:
    """Return a digest of questions, independent of the folders of robots: kept answers are valid for these only."""
    if isinstance(questions, States) and questions.options:
        options = {name: value for name, value in questions.options.items() if name != "package_directories"}
        text = Path(questions.urdf).read_text(encoding="utf-8")
        questions = replace(questions, urdf=text, options=options)
    return hashlib.sha256(pickle.dumps(questions, protocol=4)).hexdigest()[:16]


def _first_states(questions: Any, count: int) -> Any:
    if isinstance(questions, States):
        bases = {link: poses[:count] for link, poses in questions.base_poses.items()}
        return States(
            questions.urdf, questions.srdf, questions.joints, questions.positions[:count], bases, questions.options
        )
    return questions[:count]


def time_both(old: Worker, new: Worker, family: Family, questions: Any, rounds: int) -> np.ndarray:
    """Return the shortest times of up to 300 questions, (2, n), of rounds that alternate between the engines [us]."""
    few = _first_states(questions, 300)
    name = family.ask.__name__
    best = [old.ask(name, few)[1], new.ask(name, few)[1]]
    for number in range(rounds):
        for k in (0, 1) if number % 2 else (1, 0):
            best[k] = np.minimum(best[k], (old, new)[k].ask(name, few)[1])
    return 1e6 * np.array(best)


def _matching_families(chosen: str, scale: float) -> Iterator[tuple[str, Family, Any]]:
    for name, family in families(scale).items():
        if chosen in name:
            questions = family.draw()
            if questions is None:
                print(f"{name:34s} left out: package example-robot-data is not installed")
                continue
            yield name, family, questions


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs="+", help="Python of an environment, or a file of kept answers (first only)")
    parser.add_argument("--keep", type=Path, help="write the answers of the one environment to this file")
    parser.add_argument("--family", default="", help="only families whose name contains this")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the number of questions")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of timing; 0: no times")
    args = parser.parse_args()
    if args.keep:
        (python,) = args.engines
        worker = Worker(python)
        kept = {"commit": COMMIT}
        for name, family, questions in _matching_families(args.family, args.scale):
            answers, _ = worker.ask(family.ask.__name__, questions)
            for column, values in (("lower", answers.lower), ("upper", answers.upper), ("status", answers.status)):
                kept[f"{name}/{column}"] = values
            kept[f"{name}/digest"] = digest(questions)
            print(f"{name:34s} {len(answers.lower)} answers")
        worker.close()
        np.savez_compressed(args.keep, **kept)
        return 0
    first, second = args.engines
    kept = dict(np.load(first)) if first.endswith(".npz") else None
    old, new = None if kept else Worker(first), Worker(second)
    failed = 0
    total: list[Row] = []
    head = f"{'family':34s} answers apart unspanned  certified old/new flags"
    print(head + ("   median us old/new ratio    p99 us old/new ratio" if args.rounds and old else ""))
    for name, family, questions in _matching_families(args.family, args.scale):
        if old:
            before = old.ask(family.ask.__name__, questions)[0]
        elif kept.get(f"{name}/digest") != digest(questions):
            print(f"{name:34s} the file has no answers to these questions")
            failed += 1
            continue
        else:
            columns = [kept[f"{name}/{column}"] for column in ("lower", "upper", "status")]
            before = Answers(*columns, np.zeros(len(columns[0])))
        row = compare(name, before, new.ask(family.ask.__name__, questions)[0])
        total.append(row)
        failed += row.apart + row.unspanned
        shares = "/".join(f"{100.0 * share:.2f}" for share in row.certified)
        line = f"{name:34s} {row.answers:7d} {row.apart:5d} {row.unspanned:9d} {shares:>17s}% {row.flags:5d}"
        if old and args.rounds:
            times = time_both(old, new, family, questions, args.rounds)
            for figures in (np.median(times, axis=1), np.quantile(times, 0.99, axis=1)):
                line += f" {figures[0]:9.1f}/{figures[1]:<9.1f}{figures[1] / figures[0]:5.2f}"
        print(line, flush=True)
    for worker in filter(None, (old, new)):
        worker.close()
    print(
        f"{sum(row.answers for row in total)} answers: {sum(row.apart for row in total)} intervals apart, "
        f"{sum(row.unspanned for row in total)} unspanned, {sum(row.flags for row in total)} with other flags"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    import referee  # by its name, since both processes pickle its classes

    if sys.argv[1:] == ["--worker"]:
        referee._serve()
    else:
        sys.exit(referee.main())
