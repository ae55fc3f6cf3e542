# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Schemes of Gonçalves et al. 2017: formulas, first guesses, Newton's method, culling, meshes."""

import math

import mpmath
import numpy as np
import pytest
import trimesh
from scipy.optimize import linprog, lsq_linear
from scipy.spatial.transform import Rotation

import superovoid
from superovoid import Ellipsoid, Sphere, Superellipsoid, Superovoid
from superovoid_papers.methods import goncalves2017
from superovoid_papers.methods.goncalves2017 import (
    Pairs,
    broad_phase,
    distance,
    first_guess,
    newton_schemes,
    polygonal,
    schemes,
    superovoid_surface,
)
from superovoid_papers.methods.goncalves2017.schemes import SCHEMES

IMPLICIT_SCHEMES = ("quadImplicit", "octImplicit")
FORMS = {
    "implicit": superovoid_surface.IMPLICIT,
    "parametric": superovoid_surface.PARAMETRIC,
    "ntb": superovoid_surface.NTB,
}
BODIES = (
    Superovoid((1.0, 0.8, 1.2), section_exponent=0.7, profile_exponent=0.9, taper=(0.2, -0.1)),
    Superovoid((0.9, 0.7, 1.1), section_exponent=0.6, profile_exponent=0.8, taper=(-0.3, 0.1)),
)


def row(body, printed=False):
    made = np.zeros(superovoid_surface.ROW_LENGTH)
    made[:7] = *body.semi_axes, body.section_exponent, body.profile_exponent, *body.taper
    made[superovoid_surface.PRINTED] = printed
    return made


def move(*position, rotation=None):
    pose = np.eye(4)
    pose[:3, 3] = position
    if rotation is not None:
        pose[:3, :3] = Rotation.from_rotvec(rotation).as_matrix()
    return pose


POSES = move(0.1, -0.2, 0.3, rotation=(0.4, 1.1, -0.6)), move(0.4, 2.3, 0.2, rotation=(-1.3, 0.2, 0.9))


def some_pairs(battery, name, count):
    """Return bodies, poses and the certified answers of some pairs of a battery."""
    data = battery(name)
    rows = np.flatnonzero(data["certified"])[:count]
    bodies = [
        [Superovoid.from_goncalves(data[f"size_{s}"][i], data[f"epsilon_{s}"][i], data[f"taper_{s}"][i]) for i in rows]
        for s in "ab"
    ]
    poses = np.tile(np.eye(4), (2, len(rows), 1, 1))
    for side, s in zip(poses, "ab", strict=True):
        side[:, :3, :3], side[:, :3, 3] = data[f"rotation_{s}"][rows], data[f"position_{s}"][rows]
    return bodies, poses, data["distance"][rows]


def answers_of(pairs):
    pairs.start(0, len(pairs))
    pairs.refine(0, len(pairs))
    return pairs.out[:, newton_schemes.CONVERGED] > 0.0, pairs.out[:, newton_schemes.DISTANCE]


# -- formulas --------------------------------------------------------------------------------------------------------


def mp_implicit(body, x, y, z):
    (a1, a2, a3), (e1, e2), (tx, ty) = body.semi_axes, (body.section_exponent, body.profile_exponent), body.taper
    w = z / a3
    u, v = x / (a1 * (1 + tx * w)), y / (a2 * (1 + ty * w))
    ring = abs(u) ** (mpmath.mpf(2) / e1) + abs(v) ** (mpmath.mpf(2) / e1)
    return ring ** (mpmath.mpf(e1) / e2) + abs(w) ** (mpmath.mpf(2) / e2) - 1


def mp_surface(body, component, phi1, phi2):
    (a1, a2, a3), (e1, e2), (tx, ty) = body.semi_axes, (body.section_exponent, body.profile_exponent), body.taper

    def power(t, exponent):
        return mpmath.sign(t) * abs(t) ** exponent

    w, r = power(mpmath.sin(phi2), e2), power(mpmath.cos(phi2), e2)
    return (
        a1 * (1 + tx * w) * r * power(mpmath.cos(phi1), e1),
        a2 * (1 + ty * w) * r * power(mpmath.sin(phi1), e1),
        a3 * w,
    )[component]


@pytest.mark.parametrize("body", BODIES)
def test_gradient_and_hessian_are_derivatives_of_the_implicit_function(body):
    for x in ((0.5, 0.4, 0.6), (-0.7, 0.2, -0.9), (0.3, -0.6, 0.4)):
        with mpmath.workdps(40):

            def differentiate(orders, x=x):
                return float(mpmath.diff(lambda *p: mp_implicit(body, *p), x, orders))

            gradient = [differentiate(tuple(int(i == k) for i in range(3))) for k in range(3)]
            hessian = [
                [differentiate(tuple(int(i == k) + int(i == m) for i in range(3))) for k in range(3)] for m in range(3)
            ]
        value, found = superovoid_surface.implicit(row(body), x)
        assert value == pytest.approx(float(mp_implicit(body, *x)), rel=1e-13)
        np.testing.assert_allclose(found, gradient, rtol=1e-12)
        found, rows = superovoid_surface.gradient_and_hessian(row(body), x)
        np.testing.assert_allclose(found, gradient, rtol=1e-12)
        np.testing.assert_allclose(rows, hessian, rtol=1e-11, atol=1e-12)


def test_the_poles_have_a_gradient():
    _, gradient = superovoid_surface.implicit(
        row(Superellipsoid((1.0, 1.0, 2.0), section_exponent=0.5, profile_exponent=1.2)), (0.0, 0.0, -2.0)
    )
    np.testing.assert_allclose(gradient, (0.0, 0.0, -1.0 / 1.2), rtol=1e-14)


@pytest.mark.parametrize("angles", [(0.4, 0.7), (2.0, -0.9), (-2.5, 0.3), (0.8, 2.1)])  # the last is past a pole
def test_tangents_are_derivatives_of_the_parametric_surface(angles):
    body = BODIES[0]
    found = superovoid_surface.surface_derivatives(row(body), *angles)
    with mpmath.workdps(40):
        for derivative, orders in zip(found, ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)), strict=True):
            expected = [float(mpmath.diff(lambda *p, c=c: mp_surface(body, c, *p), angles, orders)) for c in range(3)]
            np.testing.assert_allclose(derivative, expected, rtol=1e-11, atol=1e-12)


def test_the_surface_continues_past_a_pole():
    body, near = row(BODIES[0]), 0.5 * math.pi - 0.1
    beyond = superovoid_surface.surface(body, 0.7, near + 0.2)
    np.testing.assert_allclose(beyond, superovoid_surface.surface(body, 0.7 - math.pi, near), rtol=1e-12)


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_the_analytic_jacobian_is_the_derivative_of_the_equations(form, printed):
    code = FORMS[form]
    rows = [row(body, printed) for body in BODIES]
    count = 6 if code == superovoid_surface.IMPLICIT else 4
    q = np.array([0.8, 0.3, -0.5, -0.4, -0.6, 0.2] if count == 6 else [0.5, 0.4, -2.0, -0.7, 0.0, 0.0])
    work = np.zeros((7, 7))

    def equations(at):
        newton_schemes.linearise(*rows, *POSES, at, code, True, work)
        return work[6, :count].copy()

    equations(q)
    jacobian = work[:count, :count].T.copy()
    step = 1e-5 * np.eye(6)
    central = [(equations(q + step[k]) - equations(q - step[k])) / 2e-5 for k in range(count)]
    np.testing.assert_allclose(jacobian, np.transpose(central), rtol=1e-7, atol=1e-9)
    newton_schemes.linearise(*rows, *POSES, q, code, False, work)
    np.testing.assert_allclose(work[:count, :count].T, jacobian, rtol=1e-4, atol=1e-5)  # forward differences


def test_printed_vectors_are_gradients_and_derivatives_of_the_surface():
    (body, _), pose = BODIES, POSES[0]
    rotation = pose[:3, :3]
    x = (0.5, 0.4, 0.6)
    with mpmath.workdps(30):
        units = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
        gradient = [float(mpmath.diff(lambda *p: mp_implicit(body, *p), x, orders)) for orders in units]
    found = superovoid_surface.side(row(body, True), pose, x, superovoid_surface.IMPLICIT)
    np.testing.assert_allclose(found.normal, rotation @ gradient, rtol=1e-12)  # (6)
    np.testing.assert_allclose(np.linalg.norm([found.tangent, found.binormal], axis=1), 1.0, rtol=1e-14)  # (13)
    angles = (0.4, 0.7)
    with mpmath.workdps(30):
        s1, s2 = (
            [float(mpmath.diff(lambda *p, c=c: mp_surface(body, c, *p), angles, orders)) for c in range(3)]
            for orders in ((1, 0), (0, 1))
        )
    found = superovoid_surface.side(row(body, True), pose, (*angles, 0.0), superovoid_surface.PARAMETRIC)
    for vector, expected in zip(found[1:4], (np.cross(s1, s2), s1, s2), strict=True):  # (11), (12), section 3.3
        np.testing.assert_allclose(vector, rotation @ expected, rtol=1e-11)
    ntb = superovoid_surface.side(row(body, True), pose, (*angles, 0.0), superovoid_surface.NTB)
    on_it = superovoid_surface.surface(row(body), *angles)
    implicit = superovoid_surface.side(row(body, True), pose, on_it, superovoid_surface.IMPLICIT)
    np.testing.assert_allclose(ntb[:4], implicit[:4], rtol=1e-14)


def test_householder_frames_are_orthonormal_everywhere():
    normals = np.random.default_rng(0).normal(size=(200, 3))
    normals = np.vstack([normals, np.eye(3), -np.eye(3), [[-1.0, 1e-9, 0.0], [-0.5, 0.5, 0.1], [0.0, 1.0, 0.0]]])
    for n in normals / np.linalg.norm(normals, axis=1)[:, None]:
        tangent, binormal = superovoid_surface.householder(tuple(n))
        frame = np.array([n, tangent, binormal])
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-14)
        h = n + np.array([superovoid_surface.householder_sign(tuple(n)), 0.0, 0.0])
        reflection = np.eye(3) - 2.0 * np.outer(h, h) / (h @ h)  # (13)
        np.testing.assert_allclose(reflection[:, 1:].T, (tangent, binormal), atol=1e-14)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_superellipsoid_formulas_equal_the_general_ones_without_taper(scheme):
    a, b = (
        Superellipsoid((1.0, 0.8, 1.2), section_exponent=0.7, profile_exponent=0.9),
        Superellipsoid((0.9, 0.7, 1.1), section_exponent=0.8, profile_exponent=0.6),
    )
    general, specific = (
        distance(a, POSES[0], b, POSES[1], scheme=scheme, formulas=formulas) for formulas in ("general", "specific")
    )
    assert general.converged
    assert specific.converged
    assert specific.distance == pytest.approx(general.distance, abs=1e-10)
    np.testing.assert_allclose(specific.unknowns, general.unknowns, atol=1e-6)


# -- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jacobian", ["differences", "analytic"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_answers_on_separated_pairs_agree_with_the_reference(battery, scheme, jacobian):
    bodies, poses, expected = some_pairs(battery, "paper_separated", 150)
    pairs = Pairs(bodies[0], poses[0], bodies[1], poses[1], scheme=scheme, jacobian=jacobian)
    converged, found = answers_of(pairs)
    right = np.abs(found - expected) <= 1e-6
    # Implicit schemes find the nearest points or nothing, parametric ones other roots, too.
    assert converged.mean() > 0.85
    assert right[converged].mean() > (0.93 if "Parametric" in scheme else 0.999)


@pytest.mark.parametrize("scheme", ["quadImplicit", "quadParametric", "ntbParametric"])
def test_roots_with_opposed_normals_are_never_above_the_distance(battery, scheme):
    # n . c - hA(n) - hB(-n) of convex bodies, for every root.
    bodies, poses, expected = some_pairs(battery, "hard", 250)
    pairs = Pairs(bodies[0], poses[0], bodies[1], poses[1], scheme=scheme, jacobian="analytic")
    converged, found = answers_of(pairs)
    compared = 0
    for i in np.flatnonzero(converged):
        normal_a, size = pairs.out[i, 7:10], min(max(bodies[0][i].semi_axes), max(bodies[1][i].semi_axes))
        rotation, position = poses[1, i, :3, :3], poses[1, i, :3, 3]
        normal_b = rotation @ bodies[1][i].normal((pairs.out[i, 4:7] - position) @ rotation)
        if normal_a @ normal_b < -1.0 + 1e-9:
            compared += 1
            assert found[i] <= expected[i] + 1e-5 * size
    assert compared > 50


@pytest.mark.parametrize("scheme", SCHEMES)
def test_spheres(scheme):
    for gap in (2.0, 0.1, -0.1):
        at = np.array([1.0, 2.0, 3.0])
        centre = (1.5 + gap) * np.array([0.48, 0.6, 0.64])
        found = distance(Sphere(1.0), move(*at), Sphere(0.5), move(*(centre + at)), scheme=scheme)
        assert found.converged
        assert found.distance == pytest.approx(gap, abs=1e-9)
        np.testing.assert_allclose(found.normal, centre / np.linalg.norm(centre), atol=1e-6)
        assert (found.lower, found.upper) == (-math.inf, math.inf)
        assert not found.status.certified


@pytest.mark.parametrize("jacobian", ["differences", "analytic"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_aligned_ellipsoids(scheme, jacobian):
    a, b = Ellipsoid((1.0, 0.8, 0.6)), Ellipsoid((0.5, 0.7, 0.9))
    for axis in range(3):
        centre = np.zeros(3)
        centre[axis] = 3.0
        found = distance(a, np.eye(4), b, move(*centre), scheme=scheme, jacobian=jacobian)
        # At the poles phi1 is arbitrary, so steps of (19) need not converge to one.
        assert found.converged or (scheme, axis) == ("ntbParametric", 2)
        assert found.distance == pytest.approx(3.0 - a.semi_axes[axis] - b.semi_axes[axis], abs=1e-9)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_swapping_bodies_swaps_the_points_and_reverses_the_normal(scheme):
    given = distance(BODIES[0], POSES[0], BODIES[1], POSES[1], scheme=scheme)
    swapped = distance(BODIES[1], POSES[1], BODIES[0], POSES[0], scheme=scheme)
    engine = superovoid.distance(BODIES[0], POSES[0], BODIES[1], POSES[1])
    for found in (given, swapped):
        assert found.converged
        assert found.distance == pytest.approx(engine.distance, abs=1e-6)
    np.testing.assert_allclose(given.point_a, swapped.point_b, atol=1e-5)
    np.testing.assert_allclose(given.point_b, engine.point_b, atol=1e-5)
    np.testing.assert_allclose(given.normal, -swapped.normal, atol=1e-5)


def test_a_contained_body_overlaps_in_either_order():
    big, small = Sphere(2.0), Sphere(0.5)
    at = move(1.0, 0.0, 0.0)
    for nested in (((2.0, 0.0, 0.0), (1.5, 0.0, 0.0)), ((2.0, 0.0, 0.0), (0.5, 0.0, 0.0))):
        given = distance(big, np.eye(4), small, at, start=nested)
        swapped = distance(small, at, big, np.eye(4), start=nested[::-1])
        length = nested[0][0] - nested[1][0]
        assert given.converged
        assert swapped.converged
        assert (given.distance, swapped.distance) == pytest.approx((-length, -length), abs=1e-9)


def test_nan_steps_do_not_count_as_converged():
    found = distance(BODIES[0], POSES[0], BODIES[1], POSES[1], start=np.zeros(6))
    assert not found.converged


def test_the_last_iterate_is_returned_at_the_limit_of_iterations():
    once = distance(BODIES[0], POSES[0], BODIES[1], POSES[1], max_iterations=1)
    assert not once.converged
    assert once.statistics.iterations == 1
    more = distance(BODIES[0], POSES[0], BODIES[1], POSES[1], start=once.unknowns)
    assert more.converged
    assert more.statistics.iterations == distance(BODIES[0], POSES[0], BODIES[1], POSES[1]).statistics.iterations - 1


# -- temporal coherence ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_query_may_start_from_an_earlier_answer(scheme):
    cold = distance(BODIES[0], POSES[0], BODIES[1], POSES[1], scheme=scheme)
    turned = POSES[1] @ move(0.0, 0.0, 0.0, rotation=(0.002, 0.0, 0.001))
    expected = distance(BODIES[0], POSES[0], BODIES[1], turned, scheme=scheme)
    for start in (cold.unknowns, (cold.point_a, cold.point_b)):
        warm = distance(BODIES[0], POSES[0], BODIES[1], turned, scheme=scheme, start=start)
        assert warm.converged
        assert warm.distance == pytest.approx(expected.distance, abs=1e-9)
        assert warm.statistics.iterations < expected.statistics.iterations


@pytest.mark.parametrize("jacobian", ["differences", "analytic"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_lengths_of_normals_and_tangents_change_the_path_not_the_root(scheme, jacobian):
    options = {"scheme": scheme, "jacobian": jacobian}
    expected = distance(BODIES[0], POSES[0], BODIES[1], POSES[1], **options)
    found = distance(BODIES[0], POSES[0], BODIES[1], POSES[1], vectors="printed", start=expected.unknowns, **options)
    assert expected.converged and found.converged
    np.testing.assert_allclose(found.unknowns, expected.unknowns, atol=1e-9)
    away = expected.unknowns + 0.02 * np.sin(np.arange(len(expected.unknowns)) + 1.0)
    ways = [
        distance(BODIES[0], POSES[0], BODIES[1], POSES[1], start=away, max_iterations=1, vectors=vectors, **options)
        for vectors in ("unit", "printed")
    ]
    assert np.abs(ways[0].unknowns - ways[1].unknowns).max() > 1e-6


@pytest.mark.parametrize("scheme", SCHEMES)
def test_partial_steps_reach_the_same_root_more_slowly(scheme):
    whole, part = (
        distance(BODIES[0], POSES[0], BODIES[1], POSES[1], scheme=scheme, gain=gain, max_iterations=80)
        for gain in (1.0, 0.5)
    )
    assert whole.converged and part.converged
    # The error halves with each step until the last, full one, of 1e-6 at most.
    assert part.statistics.iterations > whole.statistics.iterations + 8
    np.testing.assert_allclose(part.unknowns, whole.unknowns, atol=1e-8)


@pytest.mark.ci
def test_an_unsuitable_last_answer_is_replaced_by_a_new_guess():
    pairs = Pairs([BODIES[0]] * 2, [POSES[0]] * 2, [BODIES[1]] * 2, [POSES[1]] * 2)
    pairs.solve(0, 2)
    cold = pairs.out.copy()
    assert pairs.warm.all()
    pairs.unknowns[1] = 0.0
    pairs.solve(0, 2)
    np.testing.assert_allclose(pairs.out[:, :10], cold[:, :10], atol=1e-6)
    assert pairs.out[0, newton_schemes.ITERATIONS] == 1
    assert pairs.out[1, newton_schemes.ITERATIONS] > cold[1, newton_schemes.ITERATIONS]


def test_culled_pairs_have_no_distance():
    far = move(9.0, 0.0, 0.0)
    pairs = Pairs([BODIES[0]] * 2, [np.eye(4)] * 2, [BODIES[1]] * 2, [move(1.8, 0.0, 0.0), far])
    pairs.query(0, 2)
    assert list(pairs.near) == [True, False]
    assert np.isnan(pairs.out[1]).all()
    assert not pairs.warm[1]
    assert np.isfinite(pairs.out[0]).all()


# -- first guesses ---------------------------------------------------------------------------------------------------


def greedy_angles(levels):
    """Return the angles of the quadtree's last cells, on the shapes' own parametric surface."""
    low, width = np.tile([-math.pi, -0.5 * math.pi], (2, 1)), np.array([2.0 * math.pi, math.pi])
    for _ in range(levels):
        width = 0.5 * width
        quarters = np.array([(i, j) for i in range(2) for j in range(2)]) * width
        corners = low[:, None, :] + quarters
        points = [
            body.surface_point(centres[:, 1], centres[:, 0]) @ pose[:3, :3].T + pose[:3, 3]
            for body, pose, centres in zip(BODIES, POSES, corners + 0.5 * width, strict=True)
        ]
        lengths = np.linalg.norm(points[0][:, None] - points[1], axis=2)
        best = np.unravel_index(lengths.argmin(), lengths.shape)
        low = np.array([corners[0][best[0]], corners[1][best[1]]])
    return (low + 0.5 * width).ravel()


@pytest.mark.parametrize("levels", [1, 3, 6])
def test_the_quadtree_descends_into_the_nearest_quarters(levels):
    found = first_guess.quadtree(*map(row, BODIES), *POSES, levels, False, np.zeros((7, 7)))
    np.testing.assert_allclose(found, greedy_angles(levels), rtol=1e-12)


def test_adaptive_cells_halve_the_angle_of_the_normal():
    epsilon = 0.4
    turns = np.linspace(-3.0, 3.0, 13)
    angles = np.array([first_guess._angle(turn, epsilon, True) for turn in turns])
    # The gradient of |x|^(2/e) + |y|^(2/e) at (cos^e, sin^e).
    normal = [np.sign(t) * np.abs(t) ** (2.0 - epsilon) for t in (np.sin(angles), np.cos(angles))]
    np.testing.assert_allclose(np.arctan2(*normal), turns, atol=1e-12)


def cubes_apart(centre_a, half_a, pose_a, centre_b, half_b, pose_b):
    """Return the distance of two cubes: bounded least squares in the six coordinates along their edges."""
    matrix = np.hstack([pose_a[:3, :3], -pose_b[:3, :3]])
    bound = np.repeat([half_a, half_b], 3)
    best = lsq_linear(matrix, np.subtract(centre_b, centre_a), (-bound, bound), method="bvls", tol=1e-14)
    return math.sqrt(2.0 * best.cost)


def test_nearest_points_of_cubes():
    rng = np.random.default_rng(3)
    compared = 0
    for k in range(80):
        poses = [move(0, 0, 0, rotation=rng.normal(size=3) * (k % 4 > 0)) for _ in range(2)]
        halves = rng.uniform(0.1, 1.0, 2)
        centre = rng.normal(size=3) * 1.5
        gap = first_guess.boxes_gap(tuple(centre), *poses, *((half,) * 3 for half in halves))
        expected = cubes_apart(np.zeros(3), halves[0], poses[0], centre, halves[1], poses[1])
        assert (gap <= 0.0) == (expected < 1e-7)
        if gap > 0.0:
            compared += 1
            length, p, q = first_guess.nearest_in_cubes((0.0, 0.0, 0.0), tuple(centre), *poses, *halves)
            assert gap <= expected + 1e-12
            assert length == pytest.approx(expected, abs=1e-9)
            assert np.linalg.norm(np.subtract(q, p)) == pytest.approx(expected, abs=1e-9)
            assert np.abs(np.array(p) @ poses[0][:3, :3]).max() <= halves[0] + 1e-12
            assert np.abs((np.array(q) - centre) @ poses[1][:3, :3]).max() <= halves[1] + 1e-12
    assert compared > 30


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_distance_of_octrees_is_that_of_their_nearest_filled_cells(levels):
    halves = [1.2, 1.1]
    trees = [
        first_guess.octree_row(lambda x, body=body: body.implicit(x) < 0.0, half, levels)
        for body, half in zip(BODIES, halves, strict=True)
    ]
    length, p, q = first_guess.octree(
        *trees, levels, *halves, *POSES, np.zeros((first_guess.STACK, 8), dtype=np.int64), np.zeros(first_guess.STACK)
    )
    count = 1 << levels
    centres = []
    for body, half, pose in zip(BODIES, halves, POSES, strict=True):
        middles = (np.arange(count) + 0.5) * 2.0 * half / count - half
        cells = np.array([(x, y, z) for x in middles for y in middles for z in middles])
        centres.append(cells[body.implicit(cells) < 0.0] @ pose[:3, :3].T + pose[:3, 3])
    edges = [half / count for half in halves]
    apart = np.linalg.norm(centres[0][:, None] - centres[1], axis=2)
    bounds = apart - math.sqrt(3.0) * sum(edges)
    least = math.inf
    for i, j in zip(*np.unravel_index(np.argsort(bounds, axis=None), bounds.shape), strict=True):
        if bounds[i, j] >= least or least < 1e-9:
            break
        least = min(least, cubes_apart(centres[0][i], edges[0], POSES[0], centres[1][j], edges[1], POSES[1]))
    assert length == pytest.approx(least, abs=1e-9)
    if least > 1e-9:
        assert np.linalg.norm(np.subtract(q, p)) == pytest.approx(least, abs=1e-9)
    else:  # The centres of two overlapping cells.
        assert all(np.linalg.norm(side - x, axis=1).min() < 1e-12 for side, x in zip(centres, (p, q), strict=True))


def test_a_cell_is_filled_if_one_of_its_children_is():
    tree = first_guess.octree_row(lambda x: np.linalg.norm(x - 0.9, axis=1) < 0.3, 1.0, 3)
    leaves = tree[-512:].reshape(8, 8, 8)
    assert leaves.sum() == leaves[5:, 5:, 5:].sum() > 0
    assert list(tree[1:9]) == [0] * 7 + [1]
    assert tree[0] == 1


# -- culling ---------------------------------------------------------------------------------------------------------


def test_culling_keeps_all_touching_bodies(battery):
    bodies, poses, _ = some_pairs(battery, "paper_overlapping", 40)
    for a, pose_a, b, pose_b in zip(bodies[0], poses[0], bodies[1], poses[1], strict=True):
        for meet in (schemes.spheres_meet, schemes.obbs_meet, schemes.aabbs_meet):
            assert meet(a, pose_a, b, pose_b)


def test_spheres_meet_within_the_sum_of_their_radii():
    for gap, expected in ((-0.01, True), (0.01, False)):
        at = move(0.0, 3.0 + gap, 0.0)  # beyond sqrt(r1^2 + r2^2), the limit of the authors' program
        assert schemes.spheres_meet(Sphere(1.0), np.eye(4), Sphere(2.0), at) == expected


def test_oriented_boxes_meet_iff_they_have_a_common_point():
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(60):
        bodies = [Ellipsoid(rng.uniform(0.2, 1.0, 3)) for _ in range(2)]
        poses = [move(*rng.normal(size=3) * 0.7, rotation=rng.normal(size=3)) for _ in range(2)]
        # A point x with |R^T (x - c)| <= half for both boxes.
        sides = [sign * pose[:3, :3].T for pose in poses for sign in (1.0, -1.0)]
        limits = [
            np.array(body.semi_axes) + sign * pose[:3, :3].T @ pose[:3, 3]
            for body, pose in zip(bodies, poses, strict=True)
            for sign in (1.0, -1.0)
        ]
        common = linprog(np.zeros(3), np.vstack(sides), np.concatenate(limits), bounds=(None, None)).status == 0
        assert schemes.obbs_meet(bodies[0], poses[0], bodies[1], poses[1]) == common
        seen.add(common)
    assert seen == {True, False}


@pytest.mark.parametrize("counts", [(1, 1), (7, 4), (16, 23)])
def test_trees_of_boxes_find_the_pairs_of_overlapping_boxes(counts):
    rng = np.random.default_rng(7)
    shapes = [[Ellipsoid(rng.uniform(0.1, 0.5, 3)) for _ in range(count)] for count in counts]
    trees = [schemes.AabbHierarchy(side) for side in shapes]
    for spread in (2.0, 1.0, 0.2):
        poses = [
            np.array([move(*rng.normal(size=3) * spread, rotation=rng.normal(size=3)) for _ in side]) for side in shapes
        ]
        for tree, placed in zip(trees, poses, strict=True):
            tree.update(placed)
        expected = {
            (i, j)
            for i, a in enumerate(shapes[0])
            for j, b in enumerate(shapes[1])
            if schemes.aabbs_meet(a, poses[0][i], b, poses[1][j])
        }
        found = trees[0].overlaps(trees[1])
        assert len(found) == len(expected)
        assert {tuple(pair) for pair in found.tolist()} == expected


def test_boxes_contain_the_body():
    body, pose = BODIES[0], POSES[0]
    made = row(body)
    box = body.obb()
    (
        made[superovoid_surface.BOX : superovoid_surface.BOX_HALF],
        made[superovoid_surface.BOX_HALF : superovoid_surface.CUBE],
    ) = box.centre, box.half_extents
    found = np.empty(6)
    broad_phase.box_of(made, pose, found)
    lower, upper = body.aabb(pose[:3, :3])
    assert (found[:3] <= lower + pose[:3, 3]).all()
    assert (found[3:] >= upper + pose[:3, 3]).all()


# -- meshes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vertices", [18, 290, 786])
def test_meshes_have_the_papers_numbers_of_vertices_and_triangles(vertices):
    points, faces = polygonal.mesh(BODIES[0], vertices)
    made = trimesh.Trimesh(points, faces, process=False)
    assert made.vertices.shape == (vertices, 3)
    assert made.faces.shape == (2 * vertices - 4, 3)
    assert made.is_watertight
    assert made.is_winding_consistent
    assert 0.3 * BODIES[0].volume() < made.volume < BODIES[0].volume()
    np.testing.assert_allclose(BODIES[0].implicit(points), 0.0, atol=1e-9)


def test_separate_overlapping_and_nested_meshes_are_recognised():
    pytest.importorskip("fcl")
    cube = trimesh.creation.box((2.0, 2.0, 2.0))
    small = trimesh.creation.box((0.5, 0.5, 0.5))
    pair = goncalves2017.MeshPair(cube.vertices, cube.faces, small.vertices, small.faces)
    for x, gap, meets in ((2.0, 0.75, False), (1.0, 0.0, True), (0.0, 0.75, False)):
        pair.place(np.eye(4), move(x, 0.0, 0.0))
        found = pair.distance()
        assert found.distance == pytest.approx(gap, abs=1e-6)
        assert pair.meets() == meets
        if gap > 0.0:
            assert np.linalg.norm(found.point_b - found.point_a) == pytest.approx(gap, abs=1e-6)


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scheme": "hexImplicit"}, r"scheme = 'hexImplicit': must be one of quadImplicit"),
        ({"jacobian": "guess"}, "jacobian = 'guess'"),
        ({"formulas": "short"}, "formulas = 'short'"),
        ({"vectors": "long"}, "vectors = 'long': must be one of unit, printed"),
        ({"gain": 0.0}, "gain = 0.0: must be a number above 0, and 1 at most"),
        ({"gain": 1.5}, "gain = 1.5"),
        ({"gain": "half"}, "gain = 'half'"),
        ({"levels": 0}, "levels = 0: must be an integer from 1 to 24"),
        ({"octree_levels": 9}, "octree_levels = 9"),
        ({"atol": 0.0}, "atol = 0.0: must be a positive number"),
        ({"max_iterations": 1.5}, "max_iterations = 1.5"),
        ({"start": np.zeros(4)}, "start: must be 6 finite unknowns or two points"),
        ({"start": "here"}, "start: must be 6 finite unknowns or two points"),
        ({"start": np.full(6, np.nan)}, "start: must be 6 finite unknowns"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        distance(BODIES[0], POSES[0], BODIES[1], POSES[1], **options)


def test_bad_bodies_and_poses_are_named():
    with pytest.raises(TypeError, match="b: must be a Superovoid, found HalfSpace"):
        distance(Sphere(1.0), np.eye(4), superovoid.HalfSpace(), np.eye(4))
    with pytest.raises(ValueError, match=r"pose_b: must have shape \(4, 4\), found \(3, 3\)"):
        distance(Sphere(1.0), np.eye(4), Sphere(1.0), np.eye(3))
    with pytest.raises(ValueError, match="poses_b: must have 1 entries, one a pair, found 2"):
        Pairs([Sphere(1.0)], [np.eye(4)], [Sphere(1.0)], [np.eye(4)] * 2)
    with pytest.raises(ValueError, match="vertices = 19"):
        polygonal.mesh(Sphere(1.0), 19)


def test_an_octree_without_a_filled_cell_is_an_error():
    thin = Superellipsoid((1.0, 0.01, 1.0))
    with pytest.raises(ValueError, match="octree_levels = 4: no cell of Superellipsoid"):
        distance(thin, np.eye(4), Sphere(1.0), move(3.0, 0.0, 0.0), scheme="octImplicit")
