# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compare every pair of kinds of bodies with Coal on random pairs, separate and overlapping; a third method judges.

Coal has half-spaces, spheres, capsules, boxes, cylinders, cones and convex polyhedra. For superovoids it gets the
convex hull of 5,002 points of the surface, so the difference includes the hull's. It has no tori, and treats a
non-convex mesh as a surface without depth: such pairs are compared only if they are separate.

If the two differ by more than Coal's tolerance, a third opinion decides: `reference.signed_distance`, which shares no
code with either, or the closed form for half-spaces. Further checks concern our own answers: interval around the
answer, interval around the third opinion, points of the bodies.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation

from superovoid import Status, Superovoid, distance, distances
from superovoid.contact import DistanceResult
from superovoid.contact.columns import RESULT, RESULT_LENGTH
from superovoid.contact.inputs import TOLERANCE
from superovoid.contact.one_pair import STATE, WORK_LENGTH, Question, answer_pair
from superovoid.output import REPORT, output_folder, print_table
from superovoid.shapes import Box, Capsule, Cone, ConvexMesh, Cylinder, HalfSpace, Mesh, Shape, Sphere, Torus
from superovoid.testing import polytope
from superovoid_papers.benchmarks import engine_comparison, peers
from superovoid_papers.benchmarks.peers import Geometry
from superovoid_papers.contenders import explain_missing

FloatArray = NDArray[np.float64]

JUDGED = 12
"""Third opinions on the pairs with the largest difference, as many separate and overlapping; few if slow."""
DIFFERS = 1e-5
"""Differences above this, in units of the smaller body, need a third opinion."""
RIGHT = 1e-8
"""Largest difference of a right answer from the third opinion, in the same units."""


def _radius(rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(math.log(0.25), 0.0)))


def _superovoid(rng: np.random.Generator) -> Superovoid:
    """Draw one of 40 convex superovoids: their hulls of 5,002 points take longer to build than to query."""
    return engine_comparison.random_body("superovoids", np.random.default_rng(rng.integers(40)))


def _torus(rng: np.random.Generator) -> Torus:
    major = _radius(rng)
    return Torus(major, major * rng.uniform(0.1, 0.9))


def _convex_mesh(rng: np.random.Generator) -> ConvexMesh:
    points = rng.normal(size=(rng.integers(8, 60), 3))
    points *= np.array([_radius(rng) for _ in range(3)]) / np.linalg.norm(points, axis=1, keepdims=True)
    return ConvexMesh(points)


def _non_convex_mesh(rng: np.random.Generator) -> Mesh:
    """Draw a sphere's triangulation with every vertex moved inwards by a random share."""
    sphere = trimesh.creation.icosphere(subdivisions=1, radius=_radius(rng))
    return Mesh(sphere.vertices * rng.uniform(0.4, 1.0, (len(sphere.vertices), 1)), sphere.faces)


@dataclass(frozen=True)
class Kind:
    """A kind of body: how to draw one, and its forms for Coal and the reference (None: unsupported)."""

    name: str
    draw: Callable[[np.random.Generator], Shape]
    coal: Callable[[peers.Coal, Any], object] | None
    support: Callable[[Any], polytope.Support] | None


@cache
def _coal_hull(coal: peers.Coal, body: Superovoid) -> object:
    return coal.convex(*peers.convex_hull(peers.surface_points(body, Geometry.HULL_5002.meridians)))


KINDS = (
    Kind("plane", lambda rng: HalfSpace(), lambda coal, s: coal.module.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0), None),
    Kind(
        "sphere",
        lambda rng: Sphere(_radius(rng)),
        lambda coal, s: coal.module.Sphere(s.radius),
        lambda s: polytope.capsule(s.radius, 0.0),
    ),
    Kind(
        "capsule",
        lambda rng: Capsule(_radius(rng), _radius(rng)),
        lambda coal, s: coal.module.Capsule(s.radius, s.length),
        lambda s: polytope.capsule(s.radius, s.length),
    ),
    Kind(
        "box",
        lambda rng: Box([2.0 * _radius(rng) for _ in range(3)]),
        lambda coal, s: coal.module.Box(*s.lengths),
        lambda s: polytope.box(0.5 * np.array(s.lengths)),
    ),
    Kind(
        "cylinder",
        lambda rng: Cylinder(_radius(rng), 2.0 * _radius(rng)),
        lambda coal, s: coal.module.Cylinder(s.radius, s.length),
        lambda s: polytope.cylinder(s.radius, s.length),
    ),
    Kind(
        "cone",
        lambda rng: Cone(_radius(rng), 2.0 * _radius(rng)),
        lambda coal, s: coal.module.Cone(s.radius, s.length),
        lambda s: polytope.cone(s.radius, s.length),
    ),
    Kind(
        "convex mesh",
        _convex_mesh,
        lambda coal, s: coal.convex(*peers.convex_hull(s.vertices)),
        lambda s: polytope.vertices(s.vertices),
    ),
    Kind(
        "superovoid",
        _superovoid,
        _coal_hull,
        lambda s: polytope.superovoid(
            np.array(s.semi_axes), np.array((s.section_exponent, s.profile_exponent)), np.array(s.taper)
        ),
    ),
    Kind("torus", _torus, None, None),
    Kind("mesh", _non_convex_mesh, lambda coal, s: coal.surface(s.vertices, s.faces), None),
)

PAIRS_OF_KINDS = tuple(combinations_with_replacement(KINDS, 2))
_ROUNDS, _FEW = 3, 3
_SOLID = ("torus", "mesh")  # Kinds without a third opinion on depth.


@dataclass(frozen=True)
class Case:
    """Two posed bodies, and the unit of errors: the smaller body's radius, m."""

    bodies: tuple[Shape, Shape]
    poses: tuple[FloatArray, FloatArray]
    size: float


def _reach(body: Shape) -> float:
    return 1.0 if isinstance(body, HalfSpace) else body.bounding_sphere().radius


def random_case(kinds: tuple[Kind, Kind], rng: np.random.Generator) -> Case:
    """Draw bodies and poses: B's centre from inside A to 1.3 times the sum of the radii away, or about a plane."""
    bodies = kinds[0].draw(rng), kinds[1].draw(rng)
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[:, :3, :3] = Rotation.random(2, rng=rng).as_matrix()
    poses[0, :3, 3] = rng.uniform(-1.0, 1.0, 3)
    if isinstance(bodies[0], HalfSpace):
        size = _reach(bodies[1])
        poses[1, :3, 3] = (
            poses[0, :3, :3] @ (*rng.uniform(-1.0, 1.0, 2), size * rng.uniform(-1.3, 1.3)) + poses[0, :3, 3]
        )
    else:
        reaches = [_reach(body) for body in bodies]
        size = min(reaches)
        side = rng.normal(size=3)
        poses[1, :3, 3] = poses[0, :3, 3] + rng.uniform(0.0, 1.3) * sum(reaches) / np.linalg.norm(side) * side
    return Case(bodies, (poses[0].copy(), poses[1].copy()), size)


# -- third opinion -------------------------------------------------------------------------------------------------


def _hull_support(kind: Kind, body: Shape, pose: FloatArray) -> polytope.Support:
    if isinstance(body, Torus):
        return polytope.transform(polytope.torus_hull(body.major_radius, body.minor_radius), pose)
    if isinstance(body, Mesh):
        return polytope.transform(polytope.vertices(np.asarray(body.vertices)), pose)
    return polytope.transform(kind.support(body), pose)


def _circle(body: Torus, pose: FloatArray, angles: FloatArray) -> FloatArray:
    local = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=-1) * body.major_radius
    return local @ pose[:3, :3].T + pose[:3, 3]


def _least_on_circle(value: Callable[[float], float], samples: int) -> float:
    """Return the least value of a function of an angle: the best sample, refined; or the first value not above 0."""
    step = 2.0 * math.pi / samples
    best, least = 0.0, math.inf
    for i in range(samples):
        here = value(i * step)
        if here <= 0.0:
            return here
        if here < least:
            best, least = i * step, here
    found = minimize_scalar(value, bounds=(best - step, best + step), method="bounded", options={"xatol": 1e-9})
    return min(float(found.fun), least)


def _torus_opinion(torus: Torus, pose: FloatArray, other_kind: Kind, other: Shape, other_pose: FloatArray) -> float:
    """Return the least distance of the tube from the other body over its circle; any negative value for overlaps."""
    if isinstance(other, Torus):

        def value(angle: float) -> float:
            x, y, z = (_circle(torus, pose, np.array(angle)) - other_pose[:3, 3]) @ other_pose[:3, :3]
            tubes = other.minor_radius + torus.minor_radius
            return math.hypot(math.hypot(x, y) - other.major_radius, z) - tubes

        return _least_on_circle(value, 2000)
    support = _hull_support(other_kind, other, other_pose)

    def value_of_ball(angle: float) -> float:
        at = np.eye(4)
        at[:3, 3] = _circle(torus, pose, np.array(angle))
        ball = polytope.transform(polytope.capsule(torus.minor_radius, 0.0), at)
        return polytope.signed_distance(ball, support, size=torus.minor_radius, rtol=1e-9, points=1500).distance

    return _least_on_circle(value_of_ball, 24)


@dataclass(frozen=True)
class _Piece:
    """A convex piece of a body with a ball around it."""

    centre: FloatArray
    radius: float
    support: polytope.Support


def _pieces(kind: Kind, body: Shape, pose: FloatArray) -> list[_Piece]:
    """Return the triangles of a mesh; any other body is its own piece."""
    if not isinstance(body, Mesh):
        return [_Piece(pose[:3, 3], 1.8 * _reach(body), _hull_support(kind, body, pose))]
    triangles = (np.asarray(body.vertices) @ pose[:3, :3].T + pose[:3, 3])[np.asarray(body.faces)]
    centres = triangles.mean(axis=1)
    radii = np.linalg.norm(triangles - centres[:, None], axis=2).max(axis=1)
    return [_Piece(c, r, polytope.vertices(t)) for c, r, t in zip(centres, radii, triangles, strict=True)]


def _least_over_pieces(pieces_a: list[_Piece], pieces_b: list[_Piece], size: float) -> float:
    """Return the least signed distance of the pieces of two bodies, pairs with near balls first."""
    n = polytope.spread_directions(200)
    pairs = [(a, b) for a in pieces_a for b in pieces_b]
    gaps = np.array([np.linalg.norm(a.centre - b.centre) - a.radius - b.radius for a, b in pairs])
    least = math.inf
    for i in np.argsort(gaps):
        if gaps[i] > least:
            break
        a, b = pairs[i]
        apart = np.einsum("ij,ij->i", b.support(-n) - a.support(n), n).max()  # A lower bound of the distance for any n.
        if apart < least:
            least = min(least, polytope.signed_distance(a.support, b.support, size=size, rtol=1e-9).distance)
    return least


def third_opinion(kinds: tuple[Kind, Kind], case: Case) -> polytope.Bracket | None:
    """Compute the signed distance by code independent of the engine, or return None if there is none.

    Half-spaces: closed form. Convex bodies: `reference.signed_distance`. Tori and non-convex meshes: least over circle
    or triangles, for separate bodies; there is no third opinion for overlaps, or for a torus and a mesh.
    """
    (a, b), (pose_a, pose_b) = case.bodies, case.poses
    if isinstance(a, HalfSpace):
        if isinstance(b, HalfSpace):
            return None
        up = pose_a[:3, 2]
        height = float((_hull_support(kinds[1], b, pose_b)(-up[None, :])[0] - pose_a[:3, 3]) @ up)
        return polytope.Bracket(height, height, up)
    names = tuple(kind.name for kind in kinds)
    if not set(names) & set(_SOLID):
        a_support, b_support = map(_hull_support, kinds, case.bodies, case.poses)
        return polytope.signed_distance(a_support, b_support, size=case.size, rtol=1e-11)
    if "torus" in names and "mesh" in names:
        return None
    placed = [(kind, body, pose) for kind, body, pose in zip(kinds, case.bodies, case.poses, strict=True)]
    if "torus" in names:
        side = names.index("torus")
        value = _torus_opinion(*placed[side][1:], *placed[1 - side])
    else:
        value = _least_over_pieces(_pieces(*placed[0]), _pieces(*placed[1]), case.size)
    return polytope.Bracket(value, value, np.zeros(3)) if value > 0.0 else None


# -- measuring -----------------------------------------------------------------------------------------------------


def _our_queries(given: Sequence[Case]) -> tuple[list[peers.Query], peers.Query]:
    """Return one compiled cold call per pair, and one of two spheres, whose solution is a small part of the call."""

    def prepare(case: Case) -> peers.Query:
        work, out = np.zeros(WORK_LENGTH), np.empty(RESULT_LENGTH)
        question = Question(*map(np.ascontiguousarray, case.poses), work, out)
        call = partial(answer_pair, *(body._body for body in case.bodies), TOLERANCE, question)

        def query() -> float:
            work[STATE] = 0.0
            call()
            return out[RESULT.distance]

        return query

    apart = np.eye(4)
    apart[0, 3] = 3.0
    spheres = Case((Sphere(1.0), Sphere(1.0)), (np.eye(4), apart), 1.0)
    return [prepare(case) for case in given], prepare(spheres)


def _coal_queries(coal: peers.Coal, kinds: tuple[Kind, Kind], given: Sequence[Case]) -> list[peers.Query]:
    queries = []
    for case in given:
        shapes = [kind.coal(coal, body) for kind, body in zip(kinds, case.bodies, strict=True)]
        queries.append(coal.query(shapes[0], case.poses[0], shapes[1], case.poses[1]))
    return queries


def _off_body(kind: Kind, body: Shape, pose: FloatArray, point: FloatArray, outward: FloatArray) -> float:
    """Return the distance of a contact point from its exact place, m.

    The place is on the plane, the torus or a triangle of the mesh, or a support point of a convex body.
    """
    x, y, z = local = (point - pose[:3, 3]) @ pose[:3, :3]
    if isinstance(body, HalfSpace):
        return abs(z)
    if isinstance(body, Torus):
        return abs(math.hypot(math.hypot(x, y) - body.major_radius, z) - body.minor_radius)
    if isinstance(body, Mesh):
        triangles = np.asarray(body.vertices)[np.asarray(body.faces)]
        nearest = trimesh.triangles.closest_point(triangles, np.tile(local, (len(triangles), 1)))
        return float(np.linalg.norm(nearest - local, axis=1).min())
    directions = np.vstack([outward @ pose[:3, :3], polytope.spread_directions(200)])
    farthest = np.einsum("ij,ij->i", kind.support(body)(directions), directions)
    beyond = directions @ local - farthest
    return max(abs(float(beyond[0])), float(beyond.max()))


def _own_faults(
    kinds: tuple[Kind, Kind], case: Case, answer: DistanceResult, truth: polytope.Bracket | None
) -> list[str]:
    """Return the faults of our answer, internal ones and relative to the third method."""
    slack = 1e-9 * case.size
    faults = []
    if not answer.lower - slack <= answer.distance <= answer.upper + slack:
        faults.append("distance outside its interval")
    if truth is not None and (answer.lower > truth.upper + slack or answer.upper < truth.lower - slack):
        faults.append("interval misses the third opinion")
    if answer.status != Status.CERTIFIED:  # Then the points are not unique, or those of the hulls.
        return faults
    if np.abs(answer.point_b - answer.point_a - answer.distance * answer.normal).max() > slack:
        faults.append("points not one distance along the normal apart")
    points, outward = (answer.point_a, answer.point_b), (answer.normal, -answer.normal)
    for kind, *placed in zip(kinds, case.bodies, case.poses, points, outward, strict=True):
        if _off_body(kind, *placed) > slack:
            faults.append(f"point off the {kind.name}")
    return faults


def _judge(kinds: tuple[Kind, Kind], case: Case, ours: float, coal: float | None) -> dict[str, Any]:
    """Judge one pair by the third method: which answer is right, and the faults of ours."""
    truth = third_opinion(kinds, case)
    answer = distance(case.bodies[0], case.poses[0], case.bodies[1], case.poses[1])
    verdict: dict[str, Any] = {"truth": None, "ours_right": None, "coal_right": None}
    if truth is not None:
        verdict["truth"] = truth.distance
        verdict["ours_right"] = truth.lower - RIGHT * case.size <= ours <= truth.upper + RIGHT * case.size
        if coal is not None:
            verdict["coal_right"] = truth.lower - DIFFERS * case.size <= coal <= truth.upper + DIFFERS * case.size
    verdict["proved"] = not answer.status & Status.UNPROVEN
    verdict["faults"] = _own_faults(kinds, case, answer, truth)
    return verdict


def _describe(case: Case) -> dict[str, Any]:
    """Return a reproducible description of a pair, with the seed for meshes, whose `repr` is incomplete."""
    return {"bodies": [repr(body) for body in case.bodies], "poses": [pose.tolist() for pose in case.poses]}


def row_name(kinds: Sequence[Kind]) -> str:
    """Return the name of a pair of kinds."""
    return " – ".join(kind.name for kind in kinds)


def open_intervals(given: Sequence[Case]) -> dict[str, Any]:
    """Count the answers with an interval wider than the tolerance.

    Returns
    -------
    dict
        Numbers of separate and overlapping pairs, of open ones of each, and the median width of open intervals,
        relative to the smaller body's radius (None: there is none).
    """
    shapes_a, shapes_b = ([case.bodies[k] for case in given] for k in (0, 1))
    poses_a, poses_b = (np.array([case.poses[k] for case in given]) for k in (0, 1))
    found = distances(shapes_a, poses_a, shapes_b, poses_b)
    is_open = (np.asarray(found.status).astype(int) & int(Status.UNPROVEN)) != 0
    apart = found.distance > 0.0
    widths = (found.upper[is_open] - found.lower[is_open]) / np.array([case.size for case in given])[is_open]
    return {
        "apart": int(apart.sum()),
        "open_apart": int((is_open & apart).sum()),
        "overlapping": int((~apart).sum()),
        "open_overlapping": int((is_open & ~apart).sum()),
        "median_width": float(np.median(widths)) if len(widths) else None,
    }


def compare_kinds(kinds: tuple[Kind, Kind], count: int, seed: int, coal: peers.Coal | None) -> dict[str, Any]:
    """Compare one pair of kinds.

    Parameters
    ----------
    kinds : tuple of Kind
        In the order of `KINDS`.
    count : int
        Number of random pairs.
    seed : int
        Seed of the pairs.
    coal : peers.Coal or None
        None: not installed.

    Returns
    -------
    dict
        Counts, differences relative to the smaller body's radius, microseconds, and the pairs with faults of ours.
        None if Coal has no answer.
    """
    rng = np.random.default_rng([seed, *(KINDS.index(kind) for kind in kinds)])
    given = [random_case(kinds, rng) for _ in range(count)]
    sizes = np.array([case.size for case in given])
    queries, empty = _our_queries(given)
    empty()
    asked = {"ours": queries}
    if coal is not None and all(kind.coal for kind in kinds):
        asked["coal"] = _coal_queries(coal, kinds, given)
    answers = {name: [engine_comparison.time_call(query) for query in queries] for name, queries in asked.items()}
    samples: dict[str, list[list[float]]] = {name: [] for name in asked}
    for _ in range(_ROUNDS):
        for name, queries in asked.items():
            samples[name].append([engine_comparison.time_call(query)[1] for query in queries])
    binding = {"ours": float(np.median([engine_comparison.time_call(empty)[1] for _ in range(1000)]))}
    if coal is not None:
        binding["coal"] = engine_comparison.binding_overhead(coal)
    us = {name: max(float(np.median(np.min(times, axis=0))) - binding[name], 0.01) for name, times in samples.items()}

    for i, (_, _, error) in enumerate(answers["ours"]):
        if error:
            raise RuntimeError(f"{row_name(kinds)}, pair {i}: {error}")
    ours = np.array([value for value, _, _ in answers["ours"]])
    row: dict[str, Any] = {"kinds": [kind.name for kind in kinds], "pairs": count, "apart": int((ours > 0.0).sum())}
    row |= {"us": us["ours"], "coal_us": us.get("coal"), "coal": None}
    difference = np.zeros(count)
    theirs = np.full(count, math.nan)
    if "coal" in asked:
        theirs = np.array([value for value, _, _ in answers["coal"]])
        errors = {error for _, _, error in answers["coal"] if error}
        silent = ~(np.abs(theirs) < 1e6)
        comparable = ~silent & np.isfinite(ours)
        if any(kind.name == "mesh" for kind in kinds):
            comparable &= ours > 0.0
        difference = np.where(comparable, np.abs(ours - theirs) / sizes, 0.0)
        wrong_sign = comparable & (ours * theirs < 0.0) & (np.abs(ours) > engine_comparison.SIGN_TOLERANCE * sizes)
        row["coal"] = {
            "compared": int(comparable.sum()),
            "no_answer": int(silent.sum()),
            "reasons": sorted(errors),
            "other_sign": int(wrong_sign.sum()),
            "median_difference": float(np.median(difference[comparable])) if comparable.any() else None,
            "max_difference": float(difference.max()),
            "differ": int((difference > DIFFERS).sum()),
        }
    few = _FEW if set(_SOLID) & set(row["kinds"]) else JUDGED
    apart, others = np.flatnonzero(ours > 0.0)[:few], np.flatnonzero(ours <= 0.0)[:few]
    judged = dict.fromkeys(np.concatenate([np.argsort(-difference)[:few], apart, others]).tolist())
    verdicts = {i: _judge(kinds, given[i], ours[i], theirs[i] if difference[i] > DIFFERS else None) for i in judged}
    row["judged"] = sum(v["truth"] is not None for v in verdicts.values())
    row["ours_right"] = sum(bool(v["ours_right"]) for v in verdicts.values())
    row["coal_judged"] = sum(v["coal_right"] is not None for v in verdicts.values())
    row["coal_right"] = sum(bool(v["coal_right"]) for v in verdicts.values())
    row["proved"] = sum(v["proved"] for v in verdicts.values()) / len(verdicts)
    row["open"] = open_intervals(given)
    row["our_faults"] = [
        {"pair": i, "ours": ours[i], "coal": None if math.isnan(theirs[i]) else theirs[i], **v, **_describe(given[i])}
        for i, v in verdicts.items()
        if v["faults"] or v["ours_right"] is False
    ]
    return row


# -- report --------------------------------------------------------------------------------------------------------


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return a table with one line per pair of kinds. A dash: Coal has no such body, or nothing was judged."""
    out = Table(title="Differences relative to the smaller body's radius; microseconds without the binding")
    for name in ("", "pairs", "apart", "same sign", "median", "max", "differ", "we right", "Coal right", "proved"):
        out.add_column(name, justify="right" if name else "left", no_wrap=True)
    for name in ("µs", "Coal µs", "ratio"):
        out.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        coal = row["coal"]
        compared = coal is not None and coal["compared"] > 0
        cells = ["–"] * 4
        if compared:
            cells = [
                f"{100.0 * (1.0 - coal['other_sign'] / coal['compared']):.1f} %",
                f"{coal['median_difference']:.0e}",
                f"{coal['max_difference']:.0e}",
                str(coal["differ"]),
            ]
        out.add_row(
            " – ".join(row["kinds"]),
            str(coal["compared"] if compared else row["pairs"]),
            str(row["apart"]),
            *cells,
            f"{row['ours_right']} of {row['judged']}" if row["judged"] else "–",
            f"{row['coal_right']} of {row['coal_judged']}" if row["coal_judged"] else "–",
            f"{100.0 * row['proved']:.0f} %",
            engine_comparison.number(row["us"]),
            engine_comparison.number(row["coal_us"]) if compared else "–",
            engine_comparison.number(row["us"] / row["coal_us"]) if compared else "–",
        )
    return out


def what_stays_open(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return lines about the pairs of kinds with open intervals, those with the largest share first."""
    shares = [(row["open"]["open_apart"] + row["open"]["open_overlapping"], row) for row in rows]
    lines = [
        f"{' – '.join(row['kinds'])}: overlapping {row['open']['open_overlapping']} of {row['open']['overlapping']}, "
        f"apart {row['open']['open_apart']} of {row['open']['apart']}; median width {row['open']['median_width']:.1g}"
        for count, row in sorted(shares, key=lambda pair: -pair[0])
        if count
    ]
    rest = len(rows) - len(lines)
    return [f"Open intervals: none of {rest} of {len(rows)} pairs of kinds{', of the others' if lines else ''}", *lines]


def main(pairs: int, seed: int, output: Path) -> int:
    """Compare every pair of kinds; print a table, write kinds.json."""
    console = REPORT.console()
    output_folder(output)
    coal, reason = None, ""
    try:
        coal = peers.Coal(Geometry.HULL_5002)
    except ImportError as error:
        reason = str(error)
    about = engine_comparison.machine()
    rows: list[dict[str, Any]] = []
    report = {"command": f"superovoid dev bench kinds --pairs {pairs} --seed {seed}", "machine": about, "rows": rows}
    for kinds in track(PAIRS_OF_KINDS, "comparing", console=Console(stderr=True), transient=True):
        rows.append(compare_kinds(kinds, pairs, seed, coal))
        # Written after each pair, so that an interrupted run of an hour keeps its results.
        (output / "kinds.json").write_text(json.dumps(report, indent=1, default=float) + "\n", encoding="utf-8")
    console.print(f"{about['processor']}, {about['cores']} cores; {report['command']}")
    if coal is None:
        console.print(*explain_missing({"Coal": reason}), markup=False, soft_wrap=True)
    print_table(console, table(rows))
    for row in rows:
        for reason in (row["coal"] or {}).get("reasons", ()):
            console.print(f"Coal, {' – '.join(row['kinds'])}: {reason}", soft_wrap=True)
        faults = Counter(name for found in row["our_faults"] for name in found["faults"] or ["wrong"])
        for name, times in faults.items():
            first = next(found["pair"] for found in row["our_faults"] if name in (found["faults"] or ["wrong"]))
            text = f"Ours, {' – '.join(row['kinds'])}: {name}, {times} of the pairs judged, the first is {first}"
            console.print(text, soft_wrap=True)
    console.print("\n".join(what_stays_open(rows)), soft_wrap=True)
    console.print(str(output / "kinds.json"), soft_wrap=True)
    return 0
