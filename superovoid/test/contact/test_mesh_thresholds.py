# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Threshold queries on non-convex meshes, decided by their surfaces without solving for the depth.

References: the full solver, whose intervals must never contradict; and integers (`exact_triangles`), for meshes with
integer corners at quarter turns, which share no code with the engine.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    Mesh,
    Proof,
    Shell,
    Sphere,
    Superovoid,
    Torus,
    are_closer,
    are_intersecting,
    distance,
)
from superovoid.contact.columns import RESULT_LENGTH, STATE_LENGTH, VERDICT_LENGTH
from superovoid.contact.convex.mesh_tree import INSIDE, OUTSIDE, UNSURE, point_along, side_of
from superovoid.contact.deciding import bounds_of_pair, decide_within
from superovoid.contact.pair import CLOSER, FARTHER, UNDECIDED, Limit, PlacedBody, verdict_of
from superovoid.shapes.kernels.kinds import MESH, Core

from draws import few_or_many
from exact_triangles import holds, surfaces_meet

PER_LENGTH = 64  # integers to a metre

QUADS = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
CUBE = np.concatenate([QUADS[:, [0, 1, 2]], QUADS[:, [0, 2, 3]]])


def box_corners(half):
    return np.array(list(itertools.product((-1, 1), repeat=3))) * half


def notched_prism(a=40, b=24, height=16):
    """Return a prism over an L; its corners and right-angled triangles are suited to flat contacts."""
    outline = np.array([[-a, -a], [a, -a], [a, a - b], [a - b, a - b], [a - b, a], [-a, a]])
    n = len(outline)
    corners = np.concatenate([np.c_[outline, np.full(n, -height)], np.c_[outline, np.full(n, height)]])
    lid = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 5], [3, 4, 5]])
    sides = [[[i, (i + 1) % n, (i + 1) % n + n], [i, (i + 1) % n + n, i + n]] for i in range(n)]
    return corners, np.concatenate([lid[:, ::-1], lid + n, np.concatenate(sides)])


def star(rng, largest=60):
    """Return a closed surface about the origin; no two corners are equally far."""
    ball = Sphere(1.0).tessellate(6)
    mesh = Mesh.from_triangles(ball.vertices, ball.faces)
    radii = largest * rng.uniform(0.35, 1.0, len(mesh.vertices))
    return np.rint(radii[:, None] * mesh.vertices).astype(int), mesh.faces


def hollow_box(half=50, wall=8):
    outer, inner = box_corners(half), box_corners(half - wall)
    return np.concatenate([outer, inner]), np.concatenate([CUBE, CUBE[:, ::-1] + len(outer)])


def open_box(half=50):
    return box_corners(half), CUBE[[0, 1, 2, 3, 4, 6, 7, 8, 9, 10]]


def one_triangle(rng):
    return np.rint(rng.uniform(-60, 60, (3, 3))).astype(int), np.array([[0, 1, 2]])


def two_parts(rng):
    corners, faces = star(rng, 30)
    return np.concatenate([corners, corners + np.array([80, 3, 5])]), np.concatenate([faces, faces + len(corners)])


def orient(corners, faces):
    faces = np.asarray(faces)
    p = corners[faces].astype(float)
    turned = np.einsum("ij,ij->i", p[:, 0], np.cross(p[:, 1], p[:, 2])).sum() < 0.0
    return faces[:, ::-1] if turned else faces


CLOSED = {
    "notched": lambda rng: notched_prism(),
    "small notched": lambda rng: notched_prism(12, 8, 6),
    "star": star,
    "hollow": lambda rng: hollow_box(),
    "two parts": two_parts,
}
SHEETS = {"open box": lambda rng: open_box(), "one triangle": one_triangle}


def draw_shape(rng, name):
    """Return a shape, and its triangles as integers."""
    corners, faces = (CLOSED | SHEETS)[name](rng)
    faces = orient(corners, faces)
    shape = (Mesh if name in CLOSED else Shell)(corners / PER_LENGTH, faces)
    return shape, corners[faces]


def quarter_turn(rng):
    turns = Rotation.create_group("O").as_matrix()
    return np.rint(turns[rng.integers(len(turns))]).astype(int)


def move(triangles, turn, shift):
    return [tuple(map(tuple, t)) for t in (triangles @ turn.T + shift).astype(object)]


def pose_of(turn=None, shift=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    if turn is not None:
        pose[:3, :3] = turn
    pose[:3, 3] = shift
    return pose


def limit_of(threshold):
    return Limit(1e-9, 4000, threshold, threshold)


def bounds_of(a, pose_a, b, pose_b, threshold):
    first, second = PlacedBody(a._row, a._pool, pose_a), PlacedBody(b._row, b._pool, pose_b)
    return bounds_of_pair(first, second, limit_of(threshold), np.zeros(3), np.empty((3, 3)))


def thresholds_about(found):
    yield from (0.0, 0.05, 0.4, -0.05, -0.4, found.distance, found.lower, found.upper)
    yield from (found.distance + 1e-6, found.distance - 1e-6, 0.5 * found.distance)


# --- against the full solver ---

OTHERS = {
    "capsule": Capsule(0.2, 0.7),
    "sphere": Sphere(0.4),
    "box": Box((0.6, 0.8, 1.0)),
    "hull": ConvexMesh(box_corners(0.3) + 0.1),
    "cylinder": Cylinder(0.3, 0.8),
    "cone": Cone(0.4, 0.7),
    "superovoid": Superovoid((0.4, 0.3, 0.5), section_exponent=0.6, profile_exponent=0.9, taper=(0.2, 0.1)),
    "dented": Superovoid((0.4, 0.4, 0.5), section_exponent=0.8, profile_exponent=1.9, taper=(0.5, 0.5)),
    "torus": Torus(0.5, 0.15),
}
FAMILIES = [
    *itertools.combinations_with_replacement(CLOSED | SHEETS, 2),
    *itertools.product(OTHERS, ("star", "notched", "open box")),
]


@pytest.mark.parametrize("family", FAMILIES, ids="-".join)
@few_or_many(1, 200)
def test_proofs_by_surfaces_never_contradict_the_full_solver(family, draws):
    rng = np.random.default_rng(FAMILIES.index(family))
    for _ in range(draws):
        bodies = [OTHERS[name] if name in OTHERS else draw_shape(rng, name)[0] for name in family]
        poses = [
            pose_of(Rotation.random(rng=rng).as_matrix(), rng.uniform(0.05, 0.8) * rng.normal(size=3)) for _ in "ab"
        ]
        pair = bodies[0], poses[0], bodies[1], poses[1]
        found = distance(*pair)
        for threshold in thresholds_about(found):
            lower, upper = bounds_of(*pair, threshold)
            assert lower <= found.upper and found.lower <= upper, (threshold, found)
            verdict, other = are_closer(*pair, threshold), are_closer(pair[2], pair[3], pair[0], pair[1], threshold)
            full = verdict_of(found.lower, found.upper, limit_of(threshold))
            said = verdict.closer - verdict.farther
            assert said == full or full == UNDECIDED, (threshold, found, verdict)
            assert said == other.closer - other.farther
            assert verdict.lower <= found.upper and found.lower <= verdict.upper


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_verdicts_do_not_depend_on_the_unit(scale):
    rng = np.random.default_rng(4)
    seen = set()
    for name, other in itertools.combinations_with_replacement(CLOSED | SHEETS, 2):
        (a, _triangles), (b, _others) = draw_shape(rng, name), draw_shape(rng, other)
        a_scaled, b_scaled = (type(s)(scale * s.vertices, s.faces) for s in (a, b))
        pose = pose_of(Rotation.random(rng=rng).as_matrix(), 0.5 * rng.normal(size=3))
        scaled = pose.copy()
        scaled[:3, 3] *= scale
        for threshold in (0.0, 0.1, -0.02):
            one = are_closer(a, np.eye(4), b, pose, threshold)
            two = are_closer(a_scaled, np.eye(4), b_scaled, scaled, scale * threshold)
            assert (one.closer, one.farther) == (two.closer, two.farther)
            seen.add((one.closer, one.farther, one.proof))
    assert {(True, False, Proof.SURFACES), (False, True, Proof.SURFACES)} <= seen


# --- against integers ---


@pytest.mark.parametrize("spread", [20, 60, 110])
@few_or_many(30, 2000)
def test_integers_agree_on_whether_meshes_meet(spread, draws):
    rng = np.random.default_rng(spread)
    proved = {True: 0, False: 0}
    names = list(CLOSED | SHEETS)
    for _ in range(draws):
        name, other = rng.choice(names, 2)
        (a, triangles), (b, others) = draw_shape(rng, name), draw_shape(rng, other)
        turn, shift = quarter_turn(rng), rng.integers(-spread, spread + 1, 3)
        pose = pose_of(turn, shift / PER_LENGTH)
        verdict = are_closer(a, np.eye(4), b, pose, 0.0)
        one, two = move(triangles, np.eye(3, dtype=int), (0, 0, 0)), move(others, turn, shift)
        meet = surfaces_meet(one, two)
        if not meet:
            # A corner of each part: the first and the last triangle belong to different parts if there are two.
            meet = (name in CLOSED and any(holds(one, two[k][0]) for k in (0, -1))) or (
                other in CLOSED and any(holds(two, one[k][0]) for k in (0, -1))
            )
            assert not verdict.undecided
            assert verdict.closer == meet
        assert meet or verdict.farther
        assert not (meet and verdict.farther)
        if verdict.proof == Proof.SURFACES:
            proved[verdict.closer] += 1
    assert min(proved.values()) >= draws // 15


@few_or_many(30, 1000)
def test_no_translation_shorter_than_a_proved_depth_separates_the_bodies(draws):
    rng = np.random.default_rng(3)
    fine = 1 << 20  # integers to each of the integers
    judged = 0
    for _ in range(draws):
        names = rng.choice(list(CLOSED | SHEETS), 2)
        (a, triangles), (b, others) = (draw_shape(rng, name) for name in names)
        turn, shift = quarter_turn(rng), rng.integers(-50, 51, 3)
        pose = pose_of(turn, shift / PER_LENGTH)
        for threshold in (0.0, -0.004, -0.02, -0.1):
            _, upper = bounds_of(a, np.eye(4), b, pose, threshold)
            if not upper < threshold:
                continue
            for _ in range(3):
                way = rng.normal(size=3)
                step = np.array(
                    [int(x) for x in way / np.linalg.norm(way) * -upper * 0.999 * PER_LENGTH * fine], object
                )
                one = move(fine * triangles.astype(object), np.eye(3, dtype=int), (0, 0, 0))
                two = move(fine * others.astype(object), turn, fine * shift.astype(object) + step)
                judged += 1
                assert surfaces_meet(one, two) or (
                    (names[0] in CLOSED and any(holds(one, two[k][0]) for k in (0, -1)))
                    or (names[1] in CLOSED and any(holds(two, one[k][0]) for k in (0, -1)))
                ), (names, threshold, upper)
    assert judged >= 20


# --- without solving for the depth ---


def without_solver(*pair):
    """Return the verdict on a pair; check that the depth was not computed."""
    verdict = are_closer(*pair)
    assert verdict.statistics.solves == 0
    return verdict


@pytest.mark.parametrize("name", CLOSED | SHEETS)
def test_crossing_surfaces_are_decided_without_the_depth(name):
    rng = np.random.default_rng(7)
    for _ in range(10):
        a, _ = draw_shape(rng, "star")
        b, _ = draw_shape(rng, name)
        # Put a corner of b just below the middle of a triangle of a, along its normal.
        p = a.vertices[a.faces[0]]
        normal = np.cross(p[1] - p[0], p[2] - p[0])
        normal /= np.linalg.norm(normal)
        turn = Rotation.random(rng=rng).as_matrix()
        at = p.mean(axis=0) - 0.02 * normal
        pose = pose_of(turn, at - turn @ b.vertices[np.argmin(b.vertices @ turn.T @ normal)])
        for threshold in (0.0, 0.3):
            verdict = are_closer(a, np.eye(4), b, pose, threshold)
            assert verdict.closer and verdict.proof is Proof.SURFACES and verdict.statistics.solves == 0


def test_nested_and_enclosed_meshes_are_decided_without_the_depth():
    rng = np.random.default_rng(8)
    corners, faces = star(rng, 8)
    small = Mesh(corners / PER_LENGTH, faces)
    solid = Mesh(*[notched_prism()[0] / PER_LENGTH, notched_prism()[1]])
    box = Mesh(hollow_box()[0] / PER_LENGTH, hollow_box()[1])
    sheet = Shell(hollow_box()[0] / PER_LENGTH, hollow_box()[1])
    inside = pose_of(shift=(-0.2, -0.2, 0.0))
    for one, two in ((solid, small), (small, solid)):
        pose = inside if two is small else np.linalg.inv(inside)
        assert without_solver(one, np.eye(4), two, pose, 0.0).closer
    assert without_solver(box, np.eye(4), small, np.eye(4), 0.0).farther
    assert without_solver(box, np.eye(4), small, np.eye(4), 0.4).farther
    assert without_solver(box, np.eye(4), small, np.eye(4), 0.62).closer
    assert without_solver(sheet, np.eye(4), small, np.eye(4), 0.0).farther
    for kind in OTHERS.values():
        if isinstance(kind, Torus):
            continue
        tiny = pose_of(shift=(0.02, 0.01, 0.03))
        large = Mesh(4.0 * notched_prism()[0] / PER_LENGTH, notched_prism()[1])
        assert without_solver(large, np.eye(4), kind, inside @ tiny, 0.0).closer
        assert without_solver(
            Shell(large.vertices, large.faces), np.eye(4), kind, pose_of(shift=(9.0, 0.0, 0.0)), 0.0
        ).farther


def test_no_depth_is_computed_if_surfaces_decide():
    rng = np.random.default_rng(9)
    a, _ = draw_shape(rng, "star")
    b, _ = draw_shape(rng, "notched")
    first, second = PlacedBody(a._row, a._pool, np.eye(4)), PlacedBody(b._row, b._pool, pose_of(shift=(0.7, 0.31, 0.1)))
    row = np.full(RESULT_LENGTH, np.nan)
    memory = np.zeros(3), np.zeros(STATE_LENGTH), (np.empty((3, 3)), row), np.empty(VERDICT_LENGTH)
    found = decide_within(first, second, limit_of(0.0), *memory)
    assert found == CLOSER and np.isnan(row).all()
    found = decide_within(first, second, limit_of(-0.9), *memory)
    assert found == FARTHER and np.isnan(row).all()


# --- boundaries ---


def test_the_clearance_of_an_enclosed_mesh_does_not_decide_that_threshold():
    solid = Mesh(2.0 * notched_prism()[0] / PER_LENGTH, notched_prism()[1])  # half as high as 0.5
    corners, faces = notched_prism(8, 4, 8)
    small = Mesh(corners / PER_LENGTH, faces)  # 0.125 to the sides, and up
    pose = pose_of(shift=(-0.5, -0.5, 0.0))
    clearance = 0.5 - 0.125
    for threshold in (-clearance, -clearance - 1e-9, -clearance - 1e-14):
        _, upper = bounds_of(solid, np.eye(4), small, pose, threshold)
        assert not upper < threshold
    _, upper = bounds_of(solid, np.eye(4), small, pose, -clearance + 1e-9)
    assert upper < -clearance + 1e-9
    assert upper >= distance(solid, np.eye(4), small, pose).lower


@pytest.mark.parametrize("turned", [False, True])
def test_touch_is_neither_closer_nor_farther(turned):
    corners, faces = notched_prism()
    mesh = Mesh(corners / PER_LENGTH, faces)
    turn = Rotation.from_rotvec([0.3, 0.2, 0.7]).as_matrix() if turned else np.eye(3)
    for shift in ((0.0, 0.0, 0.5), (1.25, 0.0, 0.0), (0.25, 0.25, 0.5), (1.25, -1.25, 0.5)):
        pose = pose_of(turn, turn @ shift)
        verdict = are_closer(mesh, pose_of(turn), mesh, pose, 0.0)
        assert verdict.undecided, shift
        assert are_closer(mesh, pose_of(turn), mesh, pose, 1e-9).closer
        assert are_closer(mesh, pose_of(turn), mesh, pose_of(turn, turn @ (1.000001 * np.array(shift))), 0.0).farther


def test_a_mesh_in_its_own_pose_never_counts_as_free():
    rng = np.random.default_rng(2)
    for name in CLOSED:
        a, _ = draw_shape(rng, name)
        assert not are_intersecting(a, np.eye(4), a, np.eye(4)).farther
        lower, _ = bounds_of(a, np.eye(4), a, np.eye(4), 0.0)
        assert lower < 0.0


def test_degenerate_triangles_neither_hide_nor_invent_a_contact():
    corners = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    sheet = Shell(corners, np.array([[0, 1, 2], [0, 1, 3], [1, 2, 3], [0, 1, 4]]))
    rng = np.random.default_rng(1)
    other, _ = draw_shape(rng, "star")
    assert are_intersecting(sheet, np.eye(4), other, pose_of(shift=(0.0, 0.0, 0.1))).closer
    assert are_intersecting(sheet, np.eye(4), other, pose_of(shift=(0.0, 0.0, 2.0))).farther


def with_flat_triangle(corners, faces):
    """Split an edge on one of its sides, and add the flat triangle that closes the surface again."""
    faces = [list(map(int, face)) for face in faces]
    u, v, w = faces.pop(0)
    m = len(corners)
    corners = np.concatenate([corners, [0.5 * (corners[u] + corners[v])]])
    return corners, np.array([*faces, [u, m, w], [m, v, w], [u, v, m]])


def test_a_flat_triangle_in_a_closed_surface_changes_no_answer():
    rng = np.random.default_rng(11)
    corners, faces = star(rng)
    plain, flat = Mesh(corners / PER_LENGTH, faces), Mesh(*with_flat_triangle(corners / PER_LENGTH, faces))
    assert len(flat.faces) == len(plain.faces) + 2
    small = Mesh(0.2 * plain.vertices, faces)
    seen = set()
    for shift in [(0.0, 0.0, 0.0), *rng.uniform(-1.5, 1.5, (30, 3))]:
        pose = pose_of(Rotation.random(rng=rng).as_matrix(), shift)
        for other in (plain, small):
            one, two = (without_solver(mesh, np.eye(4), other, pose, 0.0) for mesh in (plain, flat))
            assert (one.closer, one.farther) == (two.closer, two.farther)
            seen.add((two.closer, two.proof))
    assert seen >= {(True, Proof.SURFACES), (False, Proof.SURFACES)}


@pytest.mark.parametrize("shape", ["star", "hollow", "two parts"])
@few_or_many(200, 5000)
def test_proved_sides_agree_with_integers(shape, draws):
    rng = np.random.default_rng(5)
    mesh, triangles = draw_shape(rng, shape)
    core = Core(mesh._row, MESH, mesh._pool)
    exact = move(triangles, np.eye(3, dtype=int), (0, 0, 0))
    scale = 1009
    large = [tuple(tuple(scale * x for x in p) for p in t) for t in exact]
    seen = set()
    for _ in range(draws):
        p = rng.integers(-70 * scale, 120 * scale, 3)
        found = side_of(core, tuple(p / (scale * PER_LENGTH)), True)
        seen.add(found)
        assert found == (INSIDE if holds(large, tuple(map(int, p))) else OUTSIDE)
    assert seen == {INSIDE, OUTSIDE}


def test_no_wrong_side_is_proved_on_a_surface():
    rng = np.random.default_rng(6)
    mesh, _ = draw_shape(rng, "star")
    core = Core(mesh._row, MESH, mesh._pool)
    exact = [[tuple(map(Fraction, p)) for p in corners] for corners in mesh.vertices[mesh.faces].tolist()]
    seen = set()
    for face in mesh.faces[:40]:
        p = mesh.vertices[face]
        for point in (p[0], 0.5 * (p[0] + p[1])):  # without rounding
            assert side_of(core, tuple(point), True) == UNSURE
        point = p.mean(axis=0).tolist()
        found = side_of(core, tuple(point), True)
        seen.add(found)
        assert found == UNSURE or (found == INSIDE) == holds(exact, tuple(map(Fraction, point)))
    assert UNSURE in seen


def test_nothing_is_inside_a_shell():
    corners, faces = hollow_box()
    shell = Shell(corners / PER_LENGTH, faces)
    core = Core(shell._row, MESH, shell._pool)
    rng = np.random.default_rng(0)
    for p in rng.uniform(-0.9, 0.9, (200, 3)):
        assert side_of(core, tuple(p), True) == OUTSIDE


@pytest.mark.parametrize("shape", ["one triangle", "open box", "notched", "star", "two parts"])
def test_the_farthest_point_of_a_mesh_is_one_of_its_corners(shape):
    # The hull of a flat or nearly flat mesh has further vertices, which are no points of the body.
    rng = np.random.default_rng(7)
    mesh, _ = draw_shape(rng, shape)
    core = Core(mesh._row, MESH, mesh._pool)
    for n in Rotation.random(50, random_state=8).apply((0.0, 0.0, 1.0)):
        corner = np.array(point_along(core, tuple(n)))
        assert np.linalg.norm(mesh.vertices - corner, axis=1).min() == 0.0
        assert corner @ n >= (mesh.vertices @ n).max() - 1e-15
