# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies and places of the experiments with the lower distance bound, and the measurement at one place."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import trimesh
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from superovoid.contact import distance
from superovoid.output import CsvRow, column
from superovoid_papers.benchmarks import peers
from superovoid_papers.methods.lower_bound import Polyhedron, applicable_pairs, lower_bound
from superovoid_papers.methods.lower_bound import bound as method
from superovoid_papers.methods.lower_bound.bound import ApplicablePairs, bound_value

FloatArray = NDArray[np.float64]

SIZES = (3, 4, 5, 6)
PRINTED = {  # n: pairs, pairs of applicable contacts (table 1)
    3: (11160, 1406),
    4: (31324, 3814),
    5: (73944, 8638),
    6: (149184, 17174),
}
PEG, HOLE = 0.3, 0.46
"""Half widths, m; the pitch of pegs and holes is 1 m."""
PEG_LENGTH, THICKNESS = 0.7, 0.5  # m
TILT = (-1e-3, 1e-3, 0.0)
"""Orientation of the plate in the frame of the pegs, a rotation vector, rad: "almost aligned". With it, and the
numbering of these bodies, the counts are those of table 1."""
RANDOM_TILTS, RANDOM_TILT = 200, 1e-3
"""Number of rotations about random axes, and their angle, rad."""
OFFSETS = (0.121, 0.117, 0.074, 0.0)
"""Offsets of the pegs from the middle of their holes, m: distances near those of table 2."""
DEPTH = 0.25  # depth of the pegs in the holes, m
ORIGINS, SPREADS = 60, (1.0, 1000.0)
"""Number of origins of the world, and their largest distances from the plate, m."""
_NEAR, _FAR = 0.01, 3.0  # distances of convex bodies, in radii


# -- bodies --------------------------------------------------------------------------------------------------------


def _block(first: int) -> list[list[int]]:
    """Return the loops of a block's faces, corners from `first`, x fastest: bottom, top, front, back, left, right."""
    loops = ([0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5])
    return [[first + i for i in loop] for loop in loops]


def _corners(centre: tuple[float, float], half: float, bottom: float, top: float) -> list[tuple[float, float, float]]:
    return [(centre[0] + x * half, centre[1] + y * half, z) for z in (bottom, top) for y in (-1, 1) for x in (-1, 1)]


def _centres(n: int) -> Iterator[tuple[float, float]]:
    return ((i - 0.5 * (n - 1), j - 0.5 * (n - 1)) for i in range(n) for j in range(n))


def pegs(n: int) -> Polyhedron:
    """Return polyhedron A of the insertion: a plate, its lower side at z = 0, with n x n pegs below it."""
    vertices = _corners((0.0, 0.0), 0.5 * n, 0.0, THICKNESS)
    faces = [[loop] for loop in _block(0)]
    for centre in _centres(n):
        tip, base, *sides = _block(len(vertices))
        vertices += _corners(centre, PEG, -PEG_LENGTH, 0.0)
        faces += [[loop] for loop in (tip, *sides)]
        faces[0].append(base)  # counter-clockwise from above, clockwise from below: a hole of the lower side
    return Polyhedron(vertices, faces)


def plate(n: int) -> Polyhedron:
    """Return polyhedron B of the insertion: a plate, its upper side at z = 0, with n x n holes through it."""
    vertices = _corners((0.0, 0.0), 0.5 * n, -THICKNESS, 0.0)
    faces = [[loop] for loop in _block(0)]
    for centre in _centres(n):
        bottom, top, *sides = (loop[::-1] for loop in _block(len(vertices)))
        vertices += _corners(centre, HOLE, -THICKNESS, 0.0)
        faces += [[loop] for loop in sides]
        faces[0].append(bottom)
        faces[1].append(top)
    return Polyhedron(vertices, faces)


def subdivided_tetrahedron(times: int) -> Polyhedron:
    """Divide the triangles of a tetrahedron into four `times` times, with all corners on the unit sphere."""
    corners = np.array([(1.0, 1.0, 1.0), (1.0, -1.0, -1.0), (-1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)])
    mesh = trimesh.convex.convex_hull(corners)
    for _ in range(times):
        mesh = mesh.subdivide()
        mesh.vertices /= np.linalg.norm(mesh.vertices, axis=1)[:, None]
    if not times:
        mesh.vertices /= np.linalg.norm(mesh.vertices, axis=1)[:, None]
    return Polyhedron.from_trimesh(mesh, merge=False)


def _hull(points: object) -> Polyhedron:
    points = np.array(points, dtype=np.float64)
    return Polyhedron.from_trimesh(trimesh.convex.convex_hull(points / np.linalg.norm(points, axis=1)[:, None]))


def convex_bodies() -> dict[str, Polyhedron]:
    """Return bodies of unit circumradius, by name."""
    golden = 0.5 * (1.0 + math.sqrt(5.0))
    signs = list(product((-1.0, 1.0), repeat=3))
    turned = [np.roll((0.0, y / golden, z * golden), i) for i in range(3) for y in (-1, 1) for z in (-1, 1)]
    return {
        "tetrahedron": subdivided_tetrahedron(0),
        "cube": _hull(signs),
        "octahedron": _hull([*np.eye(3), *-np.eye(3)]),
        "dodecahedron": _hull([*signs, *turned]),
        "ball, 16": subdivided_tetrahedron(1),
        "icosahedron": _hull(trimesh.creation.icosahedron().vertices),
        "ball, 64": subdivided_tetrahedron(2),
        "ball, 256": subdivided_tetrahedron(3),
    }


# -- measuring -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row(CsvRow):
    """Two bodies in one place; processor times, nan for a missing library."""

    bodies: str
    edges: int
    faces: int
    pairs: int
    """edge-face pairs"""
    applicable: int
    """pairs of applicable contacts"""
    full_all: int
    """computed b_ef with alpha-beta pruning, of all pairs"""
    full_applicable: int
    """the same, of applicable pairs"""
    distance: float = column("distance_m")
    """by the engine, certified"""
    all: float = column("all_bound_m")
    """bound, f_e through the origin, all pairs"""
    pruned: float = column("pruned_bound_m")
    """bound, f_e through the origin, applicable pairs"""
    farthest_all: float = column("farthest_all_bound_m")
    """bound, f_e far from the face, all pairs"""
    farthest_pruned: float = column("farthest_pruned_bound_m")
    """bound, f_e far from the face, applicable pairs"""
    fcl: float = column("fcl_distance_m")
    """distance by FCL"""
    us_all: float = column("all_us")
    us_pruned: float = column("pruned_us")
    us_finding: float = column("finding_us")
    """finding the applicable pairs, once per orientation"""
    us_checked: float = column("checked_us")
    """`lower_bound` with the applicable pairs, from Python: placing, test for overlap, closest points"""
    us_farthest_all: float = column("farthest_all_us")
    us_farthest_pruned: float = column("farthest_pruned_us")
    us_fcl: float = column("fcl_us")
    us_fcl_collision: float = column("fcl_collision_us")
    us_engine: float = column("engine_us")
    """certified distance of the same meshes, including depth and containment"""


@dataclass(frozen=True)
class Case:
    """Two bodies at their poses."""

    name: str
    bodies: tuple[Polyhedron, Polyhedron]
    poses: tuple[FloatArray, FloatArray]
    meshes: tuple[object, object]
    """the same bodies for the engine"""
    models: tuple[object, object] | None
    """the same bodies for FCL"""

    @property
    def rotation(self) -> FloatArray:
        """Orientation ``a_from_b``."""
        return self.poses[0][:3, :3].T @ self.poses[1][:3, :3]

    def certified_distance(self) -> float:
        """Return the distance by the engine.

        Raises
        ------
        RuntimeError
            If the engine cannot certify it, which would make a comparison impossible.
        """
        found = distance(self.meshes[0], self.poses[0], self.meshes[1], self.poses[1])
        if not found.status.certified:
            raise RuntimeError(f"{self.name}: the engine's distance must be certified, found {found.status!r}")
        return found.distance


def bounds(case: Case, pairs: ApplicablePairs) -> dict[str, float]:
    """Return the bound in its four forms, with the names of `Row`."""
    (a, b), (pose_a, pose_b) = case.bodies, case.poses
    return {
        "all": bound_value(a, pose_a, b, pose_b, pruning=False),
        "pruned": bound_value(a, pose_a, b, pose_b, pruning=pairs),
        "farthest_all": bound_value(a, pose_a, b, pose_b, pruning=False, plane="farthest"),
        "farthest_pruned": bound_value(a, pose_a, b, pose_b, pruning=pairs, plane="farthest"),
    }


def _queries(case: Case, pairs: ApplicablePairs, fcl: peers.PythonFcl | None) -> dict[str, Callable[[], object]]:
    """Return the timed calls by columns of `Row`: kernels on placed bodies, as in the paper and FCL."""
    (a, b), (pose_a, pose_b) = case.bodies, case.poses
    queries: dict[str, Callable[[], object]] = {}
    for plane, prefix in (("origin", ""), ("farthest", "farthest_")):
        for pruning, name in ((False, "all"), (pairs, "pruned")):
            pair = method._pair(a, pose_a, b, pose_b, plane, pruning, True, 0.0)
            queries[f"us_{prefix}{name}"] = lambda pair=pair: pair.largest_value().value
    queries["us_checked"] = lambda: lower_bound(a, pose_a, b, pose_b, pruning=pairs).lower
    queries["us_finding"] = lambda: len(applicable_pairs(a, b, case.rotation))
    queries["us_engine"] = lambda: distance(case.meshes[0], pose_a, case.meshes[1], pose_b).distance
    if fcl is not None:
        placed = case.models[0], pose_a, case.models[1], pose_b
        queries["us_fcl"], queries["us_fcl_collision"] = fcl.query(*placed), fcl.collision(*placed)
    return queries


def _microseconds(query: Callable[[], object]) -> float:
    """Return the processor time of a query, which other programs hardly affect."""
    started = time.thread_time_ns()
    query()
    return 1e-3 * (time.thread_time_ns() - started)


def measure(case: Case, rounds: int, fcl: peers.PythonFcl | None) -> Row:
    """Measure all contenders at one place, in alternation; a time is the least of `rounds`."""
    (a, b), (pose_a, pose_b) = case.bodies, case.poses
    pairs = applicable_pairs(a, b, case.rotation)
    queries = _queries(case, pairs, fcl)
    times = dict.fromkeys(("us_fcl", "us_fcl_collision"), math.nan) | dict.fromkeys(queries, math.inf)
    answers = {name: query() for name, query in queries.items()}  # not timed: compiles
    for _ in range(rounds):
        for name, query in queries.items():
            times[name] = min(times[name], _microseconds(query))
    full = [method._pair(a, pose_a, b, pose_b, "origin", p, True, 0.0).largest_value().full for p in (False, pairs)]
    return Row(
        bodies=case.name,
        edges=len(a.edges) + len(b.edges),
        faces=len(a.faces) + len(b.faces),
        pairs=len(a.edges) * len(b.faces) + len(b.edges) * len(a.faces),
        applicable=len(pairs),
        full_all=full[0],
        full_applicable=full[1],
        distance=case.certified_distance(),
        fcl=float(answers.get("us_fcl", math.nan)),
        **bounds(case, pairs),
        **times,
    )


def _models(fcl: peers.PythonFcl | None, bodies: tuple[Polyhedron, Polyhedron]) -> tuple[object, object] | None:
    return None if fcl is None else tuple(fcl.surface(body.vertices, body.triangles) for body in bodies)


def _pose(rotation: FloatArray, position: object) -> FloatArray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, position
    return pose


def convex_cases(pairs: int, seed: int, fcl: peers.PythonFcl | None) -> Iterator[Case]:
    """Generate pairs of equal convex bodies at random orientations and distances."""
    rng = np.random.default_rng(seed)
    for name, body in convex_bodies().items():
        meshes, models = (body.to_mesh(),) * 2, _models(fcl, (body, body))
        for _ in range(pairs):
            turns = Rotation.random(2, rng=rng).as_matrix()
            way = rng.normal(size=3)
            poses = _pose(turns[0], rng.uniform(-2.0, 2.0, 3)), _pose(turns[1], np.zeros(3))
            poses[1][:3, 3] = poses[0][:3, 3] + 4.0 * way / np.linalg.norm(way)
            apart = distance(meshes[0], poses[0], meshes[1], poses[1])
            wanted = _NEAR * (_FAR / _NEAR) ** rng.random()
            poses[1][:3, 3] -= (apart.distance - wanted) * apart.normal
            yield Case(name, (body, body), poses, meshes, models)


def insertion_cases(seed: int, fcl: peers.PythonFcl | None) -> Iterator[Case]:
    """Generate pegs in holes: all sizes, in four places each. The origin of the world is random."""
    rng = np.random.default_rng(seed)
    world = _pose(Rotation.random(rng=rng).as_matrix(), rng.uniform(-5.0, 5.0, 3))
    turn = Rotation.from_rotvec(TILT).as_matrix().T
    for n in SIZES:
        bodies = pegs(n), plate(n)
        meshes, models = (bodies[0].to_mesh(), bodies[1].to_mesh()), _models(fcl, bodies)
        for offset in OFFSETS:
            # Rotated about the middle of the pegs' tips.
            tips = np.array([0.0, 0.0, -PEG_LENGTH])
            relative = _pose(turn, np.array([offset, 0.0, -DEPTH]) - turn @ tips)
            yield Case(f"{n} x {n}", bodies, (world @ relative, world), meshes, models)


@dataclass(frozen=True)
class Counts(CsvRow):
    """Pairs of the pegs and the plate of one size: the paper's numbers, and ours for its open choices."""

    n: int
    edges: int
    pairs: int
    printed_pairs: int
    printed_applicable: int
    applicable: int
    """at `TILT`"""
    fewest: int
    """the least of 26 small rotations about axes and diagonals"""
    most: int
    """the largest of them"""
    random_fewest: int
    """the least of rotations by `RANDOM_TILT` about random axes"""
    random_most: int
    """the largest of them"""
    random_printed: int
    """number of them with the paper's number"""
    aligned: int
    """without rotation"""
    one: int
    """at `TILT`, at most one pair for each contact of two edges"""
    reflex: int
    """at `TILT`, with reflex edges and corners, which the printed conditions do not exclude"""
    vertex_contacts: int
    edge_contacts: int


def counts(n: int) -> Counts:
    """Count for one size."""
    a, b = pegs(n), plate(n)
    tilts = [axes for axes in product((-1, 0, 1), repeat=3) if any(axes)]
    sizes = [len(applicable_pairs(a, b, Rotation.from_rotvec(1e-3 * np.array(axes)).as_matrix())) for axes in tilts]
    axes = np.random.default_rng(0).normal(size=(RANDOM_TILTS, 3))
    turns = Rotation.from_rotvec(RANDOM_TILT * axes / np.linalg.norm(axes, axis=1)[:, None]).as_matrix()
    drawn = [len(applicable_pairs(a, b, turn)) for turn in turns]
    tilt = Rotation.from_rotvec(TILT).as_matrix()
    found = applicable_pairs(a, b, tilt)
    return Counts(
        n=n,
        edges=len(a.edges) + len(b.edges),
        pairs=len(a.edges) * len(b.faces) + len(b.edges) * len(a.faces),
        printed_pairs=PRINTED[n][0],
        printed_applicable=PRINTED[n][1],
        applicable=len(found),
        fewest=min(sizes),
        most=max(sizes),
        random_fewest=min(drawn),
        random_most=max(drawn),
        random_printed=drawn.count(PRINTED[n][1]),
        aligned=len(applicable_pairs(a, b, np.eye(3))),
        one=len(applicable_pairs(a, b, tilt, both=False)),
        reflex=len(applicable_pairs(a, b, tilt, reflex=True)),
        vertex_contacts=found.vertex_contacts,
        edge_contacts=found.edge_contacts,
    )


@dataclass(frozen=True)
class Origins(CsvRow):
    """Bounds of one place, applicable pairs, f_e through random origins of the world."""

    bodies: str
    distance: float = column("distance_m")
    spread: float = column("origin_within_m")
    """half width of the cube of the origins"""
    least: float = column("bound_min_m")
    median: float = column("bound_median_m")
    most: float = column("bound_max_m")


def origins(case: Case, spread: float, draws: int, seed: int) -> Origins:
    """Compute the bounds for random origins of the world."""
    rng = np.random.default_rng(seed)
    pairs = applicable_pairs(*case.bodies, case.rotation)
    found = []
    for _ in range(draws):
        poses = [pose.copy() for pose in case.poses]
        by = rng.uniform(-spread, spread, 3) - poses[1][:3, 3]
        for pose in poses:
            pose[:3, 3] += by
        found.append(bound_value(case.bodies[0], poses[0], case.bodies[1], poses[1], pruning=pairs))
    return Origins(case.name, case.certified_distance(), spread, min(found), float(np.median(found)), max(found))
