# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Lopes et al. 2010: surfaces, tangents, Jacobian, Newton's method, proximity queries, the loop over a motion."""

import math

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import superovoid
from superovoid import Ellipsoid, Sphere, Superellipsoid, Superovoid
from superovoid.contact import Status
from superovoid.shapes import Torus
from superovoid_papers.methods.elimination import eliminate
from superovoid_papers.methods.lopes2010 import (
    Material,
    Quadric,
    RigidBody,
    Superquadric,
    are_separated,
    distance,
    follow,
    newton_raphson,
    simulate,
    tangent_vectors,
)
from superovoid_papers.methods.lopes2010.contact_dynamics import ContactError, effective_radius, mass_and_inertia
from superovoid_papers.methods.lopes2010.framework import characteristic_roots, settings, sphere_gap

METHODS = ("householder", "auxiliary", "unit auxiliary")
HYPERBOLOID = Quadric((1.0, 0.5, -0.7))
PARABOLOID = Quadric((1.0, 0.5, 0.0), (0.0, 0.0, -1.0))
UNEQUAL = Superquadric.superellipsoid((0.8, 1.1, 1.4), (2.0, 3.3, 4.7))
SURFACES = (Quadric.ellipsoid((0.7, 1.2, 2.0)), HYPERBOLOID, PARABOLOID, UNEQUAL)


def pose(rotation=(0.0, 0.0, 0.0), position=(0.0, 0.0, 0.0)):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(rotation).as_matrix()
    matrix[:3, 3] = position
    return matrix


def random_pose(rng, position=(0.0, 0.0, 0.0)):
    return pose(Rotation.random(rng=rng).as_rotvec(), position)


def pose_point(matrix, x):
    return matrix[:3, :3] @ x + matrix[:3, 3]


def sphere_direction(rng):
    direction = rng.normal(size=3)
    return direction / np.linalg.norm(direction)


# -- surfaces ------------------------------------------------------------------------------------------------------


def exact_implicit(body, x):
    """Return F by eqs. 25 and 37 with mpmath's powers, which share no code with the kernels."""
    exponents = getattr(body, "exponents", (2.0, 2.0, 2.0))
    linear = getattr(body, "linear", (0.0, 0.0, 0.0))
    terms = zip(body.coefficients, linear, exponents, x, strict=True)
    return sum(mpmath.mpf(a) * abs(c) ** mpmath.mpf(g) + mpmath.mpf(b) * c for a, b, g, c in terms) - 1


@pytest.mark.parametrize("body", SURFACES, ids=lambda body: type(body).__name__)
def test_value_gradient_and_hessian_agree_with_the_equation(body):
    rng = np.random.default_rng(0)
    points = rng.uniform(-1.5, 1.5, (8, 3))
    with mpmath.workdps(40):
        h = mpmath.mpf(10) ** -10
        for x, value, gradient, bend in zip(
            points, body.implicit(points), body.gradient(points), body.hessian(points), strict=True
        ):
            at = [mpmath.mpf(c) for c in x]
            middle = exact_implicit(body, at)
            assert value == pytest.approx(float(middle), rel=1e-13, abs=1e-13)
            for axis in range(3):
                up, down = list(at), list(at)
                up[axis] += h
                down[axis] -= h
                left, right = exact_implicit(body, down), exact_implicit(body, up)
                assert gradient[axis] == pytest.approx(float((right - left) / (2 * h)), rel=1e-12, abs=1e-14)
                assert bend[axis] == pytest.approx(float((right - 2 * middle + left) / h**2), rel=1e-9, abs=1e-9)


def test_gradient_and_hessian_have_values_on_coordinate_planes():
    assert UNEQUAL.gradient([0.8, 0.0, 0.0]) == pytest.approx([2.0 / 0.8, 0.0, 0.0])
    assert UNEQUAL.hessian([0.0, 0.0, 1.4]) == pytest.approx([2.0 / 0.8**2, 0.0, 4.7 * 3.7 / 1.4**2])


def test_superquadric_of_equal_exponents_is_our_superellipsoid():
    points = np.random.default_rng(1).uniform(-2.0, 2.0, (20, 3))
    ours = Superellipsoid((0.5, 0.8, 1.3), section_exponent=2.0 / 3.4, profile_exponent=2.0 / 3.4)
    theirs = Superquadric.superellipsoid(ours.semi_axes, (3.4, 3.4, 3.4))
    assert theirs.implicit(points) == pytest.approx(ours.implicit(points), rel=1e-12)
    assert theirs.dimensions == pytest.approx(ours.semi_axes)


def test_quadric_matrix_agrees_with_its_equation():
    rng = np.random.default_rng(2)
    for body in (HYPERBOLOID, PARABOLOID):
        x = np.append(rng.normal(size=3), 1.0)
        assert x @ body.matrix @ x == pytest.approx(body.implicit(x[:3]))


@pytest.mark.parametrize(
    ("coefficients", "linear", "family"),
    [
        ((1, 2, 3), (0, 0, 0), "ellipsoid"),
        ((1, 2, -3), (0, 0, 0), "hyperboloid of one sheet"),
        ((-1, -2, 3), (0, 0, 0), "hyperboloid of two sheets"),
        ((1, 2, 0), (0, 0, -1), "elliptic paraboloid"),
        ((1, -2, 0), (0, 0, -1), "hyperbolic paraboloid"),
        ((1, 1, 0), (0, 0, 0), "other"),
    ],
)
def test_families_agree_with_table_3(coefficients, linear, family):
    assert Quadric(coefficients, linear).family == family


def test_bounding_radius_is_that_of_the_farthest_point():
    rng = np.random.default_rng(3)
    bodies = [Superquadric.superellipsoid(rng.uniform(0.3, 2.0, 3), rng.uniform(2.0, 9.0, 3)) for _ in range(6)]
    bodies += [UNEQUAL, Superquadric.superellipsoid((1, 1, 1), (2, 2, 2)), Quadric.ellipsoid((1, 3, 2))]
    u = np.abs(rng.dirichlet((0.6, 0.6, 0.6), 200_000))
    for body in bodies:
        exponents = np.array(getattr(body, "exponents", (2.0, 2.0, 2.0)))
        farthest = np.linalg.norm(np.array(body.dimensions) * u ** (1.0 / exponents), axis=1).max()
        assert farthest <= body.bounding_radius() < farthest * (1.0 + 1e-3)
    assert Superquadric.superellipsoid((1, 1, 1), (4, 4, 4)).bounding_radius() == pytest.approx(3.0**0.25)
    assert math.isinf(HYPERBOLOID.bounding_radius())


# -- tangents ------------------------------------------------------------------------------------------------------

NORMALS = [
    (1.0, 0.0, 0.0),
    (-2.0, 0.0, 0.0),
    (-1.0, 1e-9, 0.0),
    (0.0, 3.0, 0.0),
    (0.0, -1.0, 0.0),
    (0.0, 0.0, 0.5),
    (0.0, 0.0, -1.0),
    (1.0, 1.0, 0.0),
    (-1.0, -1.0, 0.0),
    (1.0, -1.0, 0.0),
    *map(tuple, np.random.default_rng(4).normal(size=(20, 3))),
]


@pytest.mark.parametrize("method", METHODS)
def test_tangent_and_binormal_complete_any_normal_to_an_orthogonal_frame(method):
    for n in NORMALS:
        t, b = map(np.array, tangent_vectors.tangents(tangent_vectors.METHODS[method], n))
        length = np.linalg.norm(n)
        frame = np.array([np.array(n) / length, t / np.linalg.norm(t), b / np.linalg.norm(b)])
        assert frame @ frame.T == pytest.approx(np.eye(3), abs=1e-14)
        if method != "auxiliary":
            assert np.linalg.norm(t) == pytest.approx(1.0) and np.linalg.norm(b) == pytest.approx(1.0)
        else:
            assert 0.999 <= np.linalg.norm(t) / length**2 <= 1.415


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_of_tangents_agree_with_finite_differences(method):
    number = tangent_vectors.METHODS[method]
    rng = np.random.default_rng(5)
    for n in [*NORMALS[10:], (-1.0, 0.2, 0.1), (0.3, 0.2, -0.9)]:
        w = tuple(rng.normal(size=3))
        rows = tangent_vectors.tangent_rows(number, n, w)
        for axis in range(3):
            up, down = np.array(n), np.array(n)
            up[axis] += 1e-6
            down[axis] -= 1e-6
            after, before = (tangent_vectors.tangents(number, tuple(v)) for v in (up, down))
            for row, right, left in zip(rows, after, before, strict=True):
                slope = np.dot(w, (np.array(right) - left) / 2e-6)
                assert row[axis] == pytest.approx(slope, rel=1e-6, abs=1e-7)


# -- equations -----------------------------------------------------------------------------------------------------


def relative_pose(rng):
    return Rotation.random(rng=rng).as_matrix(), tuple(rng.uniform(-3.0, 3.0, 3))


def system(a, b, rotation, centre, method, q):
    m = np.empty((6, 7))
    newton_raphson.constraints(a._row, b._row, rotation, centre, tangent_vectors.METHODS[method], q, m)
    return m[:, :6], m[:, 6]


def printed_constraints(a, b, rotation, centre, method, q):
    """Return eq. 9 by numpy, in the frame of B; its dot products equal those in the global frame."""
    x, y = q[:3], q[3:]
    n = rotation @ a.gradient(x)
    d = y - rotation @ x - np.array(centre)
    normal = b.gradient(y)
    if method == "householder":
        h = normal + np.array([math.copysign(np.linalg.norm(normal), normal[0]), 0.0, 0.0])
        reflection = np.eye(3) - 2.0 * np.outer(h, h) / (h @ h)
        t, binormal = reflection[:, 1], reflection[:, 2]
    else:
        signs = (-1.0, 1.0, 0.0) if normal[0] * normal[1] >= 0.0 else (1.0, 1.0, 0.0)
        t = np.cross(normal, normal + np.linalg.norm(normal) * np.array(signs))
        binormal = np.cross(normal, t)
        if method == "unit auxiliary":
            t, binormal = t / np.linalg.norm(t), binormal / np.linalg.norm(binormal)
    return np.array([n @ t, n @ binormal, d @ t, d @ binormal, a.implicit(x), b.implicit(y)])


@pytest.mark.ci
@pytest.mark.parametrize("method", METHODS)
def test_jacobian_is_the_derivative_of_the_constraints(method):
    rng = np.random.default_rng(6)
    for a in SURFACES:
        for b in SURFACES:
            rotation, centre = relative_pose(rng)
            q = rng.uniform(-1.5, 1.5, 6)
            jacobian, value = system(a, b, rotation, centre, method, q)
            reference = printed_constraints(a, b, rotation, centre, method, q)
            assert value == pytest.approx(reference, rel=1e-12, abs=1e-12)
            for k in range(6):
                step = np.zeros(6)
                step[k] = 1e-6
                after, before = (printed_constraints(a, b, rotation, centre, method, q + s) for s in (step, -step))
                scale = np.abs(jacobian).max()
                assert jacobian[:, k] == pytest.approx((after - before) / 2e-6, abs=1e-7 * scale)


def test_pseudo_inverse_agrees_with_lapack():
    rng = np.random.default_rng(7)
    for rank in (6, 5, 3):
        matrix = rng.normal(size=(6, rank)) @ rng.normal(size=(rank, 6))
        right = rng.normal(size=6)
        m, v, x = np.column_stack([matrix, right]), np.empty((6, 7)), np.empty(6)
        newton_raphson.least_squares(m, v, x)
        assert x == pytest.approx(np.linalg.pinv(matrix) @ right, rel=1e-9, abs=1e-9)
        solved = np.empty(6)
        assert eliminate(np.column_stack([matrix, right]), 6, newton_raphson.SINGULAR, solved) == (rank == 6)
        if rank == 6:
            assert solved == pytest.approx(x, rel=1e-9)


def test_jacobian_is_singular_for_facing_flat_poles_and_concentric_spheres():
    def condition(a, b, centre, q):
        jacobian, value = system(a, b, np.eye(3), centre, "householder", np.array(q))
        assert value == pytest.approx(np.zeros(6), abs=1e-12)  # a solution
        return np.linalg.cond(jacobian)

    box, ball = Superquadric.superellipsoid((1, 1, 1), (4, 4, 4)), Quadric.ellipsoid((1, 1, 1))
    below, facing = (0.0, 0.0, -3.0), (0.0, 0.0, 1.0, 0.0, 0.0, -1.0)
    assert condition(box, box, below, facing) > 1e15
    assert condition(box, ball, below, facing) < 100.0  # one of the two may be flat
    assert condition(ball, ball, below, facing) < 100.0
    assert condition(ball, ball, (0.0, 0.0, 0.0), (0.0, 0.6, 0.8, 0.0, -0.6, -0.8)) > 1e15


# -- distances -----------------------------------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.parametrize("method", METHODS)
def test_two_spheres(method):
    rng = np.random.default_rng(8)
    for gap in (1.0, 1e-3, -0.2):
        way = sphere_direction(rng)
        centre = rng.uniform(-2.0, 2.0, 3)
        a, b = random_pose(rng, centre), random_pose(rng, centre + (3.5 + gap) * way)
        found = distance(Sphere(3.0), a, Quadric.ellipsoid((0.5, 0.5, 0.5)), b, tangents=method)
        assert found.converged and found.status is Status.UNPROVEN
        assert found.distance == pytest.approx(gap, abs=1e-11)
        assert found.normal == pytest.approx(way, abs=1e-9)
        assert found.point_a == pytest.approx(centre + 3.0 * way, abs=1e-9)
        assert found.point_b == pytest.approx(centre + (3.0 + gap) * way, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_touching_ellipsoids_are_no_special_case(method):
    """Lin and Ng's equations fail for coincident points; these do not."""
    found = distance(Ellipsoid((1, 2, 3)), pose(), Ellipsoid((2, 1, 1)), pose(position=(3, 0, 0)), tangents=method)
    assert found.converged and found.distance == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("method", METHODS)
def test_aligned_ellipsoids_on_an_axis(method, axis):
    a, b = np.array([1.0, 1.3, 0.8]), np.array([0.6, 0.9, 0.5])
    for side in (-1.0, 1.0):
        position = np.zeros(3)
        position[axis] = side * (a[axis] + b[axis] + 0.7)
        found = distance(Ellipsoid(a), pose(), Ellipsoid(b), pose(position=position), tangents=method)
        assert found.converged and found.distance == pytest.approx(0.7, abs=1e-10)


@pytest.mark.parametrize("exponent", [2.0, 2.4, 3.2, 5.0])
def test_converged_answers_of_separate_bodies_are_certified_distances(exponent):
    rng = np.random.default_rng(9)
    converged = 0
    for _ in range(40):
        sizes = rng.uniform(0.5, 1.0, (2, 3))
        a, b = (Superellipsoid.from_goncalves(size, (2.0 / exponent,) * 2) for size in sizes)
        poses = random_pose(rng), random_pose(rng, 4.0 * sphere_direction(rng))
        truth = superovoid.distance(a, poses[0], b, poses[1])
        found = distance(a, poses[0], b, poses[1], restart=True)
        assert truth.status.certified
        converged += found.converged
        if found.converged:
            assert found.distance == pytest.approx(truth.distance, abs=1e-6)  # the tolerance of the last step
            assert found.distance == pytest.approx(np.linalg.norm(found.point_b - found.point_a), rel=1e-12)
            assert found.normal @ (found.point_b - found.point_a) == pytest.approx(found.distance, rel=1e-9)
    assert converged >= (36 if exponent < 5.0 else 25)


def test_converged_answers_satisfy_the_equations():
    """Far from both bodies the steps of a pseudo-inverse are short without a solution: this is no convergence."""
    rng = np.random.default_rng(15)
    seen = 0
    for k in range(300):
        sizes, exponents = rng.uniform(0.3, 1.0, (2, 3)), rng.uniform(2.0, 12.0, 2)
        bodies = [Superquadric.superellipsoid(a, np.full(3, g)) for a, g in zip(sizes, exponents, strict=True)]
        poses = random_pose(rng), random_pose(rng, 3.0 * sphere_direction(rng))
        found = distance(bodies[0], poses[0], bodies[1], poses[1], tangents=METHODS[k % 2])
        seen += found.converged
        points = found.point_a, found.point_b
        for body, matrix, point in zip(bodies, poses, points, strict=True):
            x = matrix[:3, :3].T @ (point - matrix[:3, 3])
            if found.converged:
                assert np.linalg.norm(x) < 2.0
                assert abs(body.implicit(x)) / np.linalg.norm(body.gradient(x)) < 1e-6  # the tolerance of a step
    assert 30 < seen < 270


def sqp_distance(a, pose_a, b, pose_b, inside):
    """Return the least distance of two points with F <= 0, by SLSQP from some starts."""
    rng = np.random.default_rng(0)
    bodies = ((a, pose_a, slice(0, 3)), (b, pose_b, slice(3, 6)))
    constraints = [
        {
            "type": "ineq",
            "fun": lambda q, body=body, part=part: -float(body.implicit(q[part])),
            "jac": lambda q, body=body, part=part: np.concatenate(
                [-body.gradient(q[part]) if part == other else np.zeros(3) for _, _, other in bodies]
            ),
        }
        for body, _, part in bodies
    ]

    def cost(q):
        d = pose_point(pose_b, q[3:]) - pose_point(pose_a, q[:3])
        return float(d @ d), np.concatenate([-2.0 * pose_a[:3, :3].T @ d, 2.0 * pose_b[:3, :3].T @ d])

    best = math.inf
    for _ in range(4):
        start = np.concatenate(inside) + 0.2 * rng.normal(size=6)
        run = minimize(cost, start, jac=True, method="SLSQP", constraints=constraints, options={"ftol": 1e-15})
        if max(a.implicit(run.x[:3]), b.implicit(run.x[3:])) < 1e-9:
            best = min(best, math.sqrt(run.fun))
    return best


@pytest.mark.ci
@pytest.mark.parametrize("method", METHODS)
def test_distance_for_three_different_exponents_agrees_with_quadratic_programming(method):
    rng = np.random.default_rng(10)
    compared = 0
    for _ in range(12):
        a, b = (Superquadric.superellipsoid(rng.uniform(0.6, 1.4, 3), rng.uniform(2.0, 4.0, 3)) for _ in range(2))
        poses = random_pose(rng), random_pose(rng, 4.0 * sphere_direction(rng))
        found = distance(a, poses[0], b, poses[1], tangents=method, restart=True)
        if found.converged:
            compared += 1
            expected = sqp_distance(a, poses[0], b, poses[1], (np.zeros(3), np.zeros(3)))
            assert found.distance == pytest.approx(expected, abs=1e-6)
    assert compared >= (3 if method == "auxiliary" else 10)


def test_paraboloid_and_sphere():
    """z = x^2 + y^2 / 2 - 1 and a ball below: the foot of the perpendicular from its centre, by SLSQP and in 1-D."""
    ball = Quadric.ellipsoid((0.3, 0.3, 0.3))
    found = distance(PARABOLOID, pose(), ball, pose(position=(0.0, 0.0, -3.0)))
    assert found.converged and found.distance == pytest.approx(1.7, abs=1e-10)
    aside = pose(position=(2.5, 0.4, -1.5))
    found = distance(PARABOLOID, pose(), ball, aside)
    expected = sqp_distance(PARABOLOID, pose(), ball, aside, (np.zeros(3), np.zeros(3)))
    assert found.converged and found.distance == pytest.approx(expected, abs=1e-6)


def test_common_normal_of_a_hyperboloid_and_a_sphere():
    """One sheet, x^2 + y^2 - z^2 = 1, and a ball in the middle of its hole: the waist is 1 away from the centre."""
    waist = Quadric((1.0, 1.0, -1.0))
    start = (np.array([1.0, 0.05, 0.02]), np.array([0.3, 0.0, 0.05]))
    found = distance(waist, pose(), Sphere(0.3), pose(position=(0.1, 0.0, 0.0)), start=start)
    assert found.converged
    assert np.linalg.norm(found.point_b - found.point_a) == pytest.approx(0.6, abs=1e-9)


def test_the_pseudo_inverse_solves_parallel_flat_poles():
    """The matrix is singular along the whole path: least squares does not change undetermined unknowns."""
    box = Superquadric.superellipsoid((1, 1, 1), (4, 4, 4))
    above = np.tile(pose(position=(0.0, 0.0, 3.0)), (1, 1, 1))
    found = follow(box, pose(), box, above)
    assert found.converged[0] and found.statistics.singular[0] > 0
    assert found.distance[0] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("position", "solutions"), [((9.0, 3.0, 2.0), 4), ((1.0, 0.5, 0.3), 12)])
def test_solutions_are_no_mirror_images_and_may_exceed_four(position, solutions):
    """Eq. 22 has at most four, all mirrored: separate bodies have four others, overlapping bodies more."""
    rng = np.random.default_rng(14)
    sizes = np.array([(1.0, 5.0, 5.0), (5.0, 1.0, 5.0)]) if solutions > 4 else np.array([(1, 2, 3), (2, 1, 1)])
    a, b = (Quadric.ellipsoid(size) for size in sizes)
    place = np.linalg.inv(pose((0.4, -0.7, 0.3), position))  # pose of A in B
    rotation, centre = np.ascontiguousarray(place[:3, :3]), tuple(place[:3, 3])
    found = np.empty((0, 6))
    for _ in range(2500):
        q = (sizes * [sphere_direction(rng), sphere_direction(rng)]).ravel()
        spare = np.empty(6), np.empty(newton_raphson.WORK_SHAPE)
        chosen = settings(atol=1e-11, max_iterations=60)
        done, _, singular = newton_raphson.iterate(a._row, b._row, rotation, centre, chosen, q, *spare)
        if done and not singular and not (np.abs(found - q).max(axis=1) < 1e-6).any():
            found = np.vstack([found, q])
    assert len(found) == solutions
    for signs in ((-1, -1), (-1, 1), (1, -1)):
        mirrored = found * np.repeat(signs, 3)
        assert not (np.abs(mirrored[:, None] - found[None]).max(axis=2) < 1e-6).any()


def test_mirrored_pair_is_a_solution_only_for_central_normals():
    """From the far side, eq. 22 mirrors spheres onto their closest points, other ellipsoids only with a restart."""
    for body, exact in ((Quadric.ellipsoid((1.0, 1.0, 1.0)), True), (Quadric.ellipsoid((1.0, 0.6, 0.8)), False)):
        poses = pose((0.3, -0.5, 0.2)), pose((0.1, 0.7, -0.4), (3.0, 0.8, 0.4))
        truth = superovoid.distance(Ellipsoid(body.dimensions), poses[0], Ellipsoid(body.dimensions), poses[1]).distance
        way = poses[1][:3, 3] / np.linalg.norm(poses[1][:3, 3])
        start = (-way, poses[1][:3, 3] + way)
        mirrored = distance(body, poses[0], body, poses[1], start=start)
        assert mirrored.converged
        assert (abs(mirrored.distance - truth) < 1e-9) == exact
        again = distance(body, poses[0], body, poses[1], start=start, restart=True)
        assert again.converged and again.distance == pytest.approx(truth, abs=1e-9)


def test_result_does_not_depend_on_the_frame():
    rng = np.random.default_rng(11)
    a, b = UNEQUAL, Quadric.ellipsoid((0.5, 0.7, 1.0))
    poses = random_pose(rng), random_pose(rng, (3.0, 1.0, -1.0))
    move = random_pose(rng, (5.0, -7.0, 2.0))
    here = distance(a, poses[0], b, poses[1])
    there = distance(a, move @ poses[0], b, move @ poses[1])
    assert here.statistics.iterations == there.statistics.iterations
    assert there.distance == pytest.approx(here.distance, abs=1e-12)
    assert there.point_a == pytest.approx(pose_point(move, here.point_a), abs=1e-11)
    assert there.point_b == pytest.approx(pose_point(move, here.point_b), abs=1e-11)


def test_failed_iterations_are_not_reported_as_converged():
    concentric = distance(Ellipsoid((1, 2, 3)), pose(), Ellipsoid((0.5, 1, 1)), pose())
    assert not concentric.converged  # both start at the centres, and neither surface has a normal there
    few = distance(Sphere(1.0), pose(), Ellipsoid((1, 2, 3)), pose(position=(9, 1, 0)), max_iterations=2)
    assert not few.converged and few.statistics.iterations == 2


# -- proximity queries ---------------------------------------------------------------------------------------------


def pencil_roots(a, pose_a, b, pose_b):
    """Return the roots of det(s A + B) as eigenvalues: s A + B is singular iff s is one of -A^-1 B."""
    quadrics = []
    for body, matrix in ((a, pose_a), (b, pose_b)):
        back = np.linalg.inv(matrix)
        quadrics.append(back.T @ Quadric.ellipsoid(body.semi_axes).matrix @ back)
    return np.sort_complex(np.linalg.eigvals(-np.linalg.solve(*quadrics)))


def test_separation_condition_agrees_with_the_engine_and_the_roots():
    rng = np.random.default_rng(12)
    seen = []
    for _ in range(300):
        a, b = (Ellipsoid(rng.uniform(0.2, 1.5, 3)) for _ in range(2))
        poses = random_pose(rng, rng.uniform(-1.0, 1.0, 3)), random_pose(rng, rng.uniform(-1.5, 1.5, 3))
        truth = superovoid.distance(a, poses[0], b, poses[1])
        assert truth.lower > 0.0 or truth.upper < 0.0
        seen.append(are_separated(a, poses[0], b, poses[1]))
        assert seen[-1] == are_separated(b, poses[1], a, poses[0]) == (truth.lower > 0.0)
        roots = characteristic_roots(a, poses[0], b, poses[1])
        assert roots == pytest.approx(pencil_roots(a, poses[0], b, poses[1]), rel=1e-7)
        real = roots.real[np.abs(roots.imag) < 1e-9]
        assert (real < 0.0).sum() >= 2
        assert ((real > 0.0).sum() == 2) == seen[-1]
    assert 50 < sum(seen) < 250


def test_separation_condition_decides_close_to_contact():
    a, b = Ellipsoid((1, 2, 3)), Ellipsoid((2, 1, 0.5))
    poses = pose((0.2, 0.3, -0.4), (0.3, -0.2, 0.1)), pose((-0.5, 0.1, 0.9), (4.0, 1.0, 2.0))
    found = superovoid.distance(a, poses[0], b, poses[1])
    for gap in (1e-3, 1e-7, 1e-11, -1e-11, -1e-7, -1e-3):
        moved = poses[1].copy()
        moved[:3, 3] += (gap - found.distance) * found.normal
        assert are_separated(a, poses[0], b, moved) == (gap > 0.0)


def test_ellipsoid_inside_another_is_not_separated():
    outer, inner = Ellipsoid((2, 3, 4)), Ellipsoid((0.2, 0.1, 0.3))
    place = pose((0.3, 0.2, 0.1), (0.5, -1.0, 2.0))
    assert not are_separated(outer, pose(), inner, place)
    assert not are_separated(inner, place, outer, pose())
    assert not are_separated(outer, pose(), outer, pose())


def test_bounding_spheres_give_a_lower_bound():
    rng = np.random.default_rng(13)
    for _ in range(30):
        a, b = (
            Superellipsoid(rng.uniform(0.3, 1.0, 3), section_exponent=e, profile_exponent=e)
            for e in rng.uniform(0.2, 1.0, 2)
        )
        poses = random_pose(rng), random_pose(rng, 3.0 * sphere_direction(rng))
        assert sphere_gap(a, poses[0], b, poses[1]) <= superovoid.distance(a, poses[0], b, poses[1]).distance
    assert sphere_gap(HYPERBOLOID, pose(), Sphere(1.0), pose(position=(9, 0, 0))) == -math.inf


# -- the loop ------------------------------------------------------------------------------------------------------


def approach(steps=60):
    """Return an ellipsoid that approaches, passes through another and leaves, turning."""
    way = np.linspace(-6.0, 6.0, steps)
    return np.array([pose((0.4 * x, 0.3, -0.2 * x), (x, 0.3, 1.6)) for x in way])


MOVING = Ellipsoid((1.0, 0.6, 0.8)), Ellipsoid((0.5, 1.2, 0.9))


@pytest.mark.parametrize("method", METHODS)
def test_motion_agrees_with_the_engine_and_warm_starts_need_fewer_iterations(method):
    poses = approach()
    found = follow(MOVING[0], pose(), MOVING[1], poses, tangents=method, restart=True)
    truths = np.array([superovoid.distance(MOVING[0], pose(), MOVING[1], p).distance for p in poses])
    assert found.solved.all() and found.converged.mean() > 0.9
    apart = found.converged & (truths > 0.0)
    assert found.distance[apart] == pytest.approx(truths[apart], abs=1e-6)
    assert (truths < 0.0).any()
    cold = [distance(MOVING[0], pose(), MOVING[1], p, tangents=method).statistics.iterations for p in poses]
    assert found.statistics.iterations.mean() < 0.8 * np.mean(cold)


@pytest.mark.parametrize("query", ["spheres", "separation"])
def test_queries_skip_only_separate_steps(query):
    poses = approach()
    every = follow(MOVING[0], pose(), MOVING[1], poses, restart=True)
    some = follow(MOVING[0], pose(), MOVING[1], poses, query=query, restart=True)
    truths = np.array([superovoid.distance(MOVING[0], pose(), MOVING[1], p).distance for p in poses])
    assert not some.solved.all() and some.solved.any()
    assert (truths[~some.solved] > 0.0).all() and np.isnan(some.distance[~some.solved]).all()
    assert (some.statistics.iterations[~some.solved] == 0).all()
    assert every.statistics.iterations.sum() > some.statistics.iterations.sum()
    assert (some.lower <= truths).all() and (some.lower[~some.solved] >= 0.0).all()
    if query == "separation":
        assert (truths[some.solved] <= 0.0).all()  # the condition is exact
    else:
        gaps = np.array([sphere_gap(MOVING[0], pose(), MOVING[1], p) for p in poses])
        assert np.array_equal(some.solved, ~(gaps > 0.0))


def test_margin_of_a_query_keeps_near_steps():
    poses = approach()
    wide = follow(MOVING[0], pose(), MOVING[1], poses, query="spheres", margin=1.5)
    gaps = np.array([sphere_gap(MOVING[0], pose(), MOVING[1], p) for p in poses])
    assert np.array_equal(wide.solved, ~(gaps > 1.5))
    assert wide.lower[gaps > 0.0] == pytest.approx(gaps[gaps > 0.0])


# -- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Quadric((1, 1, 1), (1, 0, 0)), r"linear\[0\] = 1.0: must be 0 where coefficients\[0\] is not"),
        (lambda: Quadric((0, 0, 0), (1, 0, 0)), "must not all be zero"),
        (lambda: Quadric.ellipsoid((1, -1, 1)), r"dimensions\[1\] = -1.0: must be positive"),
        (lambda: Superquadric((1, 0, 1), (2, 2, 2)), r"coefficients\[1\] = 0.0: must not be zero"),
        (lambda: Superquadric((1, 1, 1), (2, 1.5, 2)), r"exponents\[1\] = 1.5: must be at least 2"),
        (lambda: Superquadric.superellipsoid((1e-3,) * 3, (200,) * 3), "coefficients are too large"),
        (lambda: HYPERBOLOID.implicit([1.0, 2.0]), r"points: must have shape \(..., 3\)"),
    ],
)
def test_bad_surfaces_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"a": Torus(1.0, 0.2)}, TypeError, "a: must be Quadric, .* found Torus"),
        ({"b": Superovoid((1, 1, 1), taper=(0.1, 0.1))}, ValueError, r"b.taper = \(0.1, 0.1\)"),
        (
            {"b": Superellipsoid((1, 1, 1), section_exponent=0.8, profile_exponent=1.0)},
            ValueError,
            "b: exponents must be the same",
        ),
        (
            {"a": Superellipsoid((1, 1, 1), section_exponent=1.2, profile_exponent=1.2)},
            ValueError,
            "exponents must be the same, at most 1",
        ),
        ({"pose_a": np.eye(3)}, ValueError, "pose_a"),
        ({"pose_b": np.eye(4)[None]}, ValueError, r"pose_b: must have shape \(4, 4\)"),
        ({"tangents": "plate"}, ValueError, "tangents = 'plate': must be one of householder, auxiliary"),
        ({"atol": 0.0}, ValueError, "atol = 0.0"),
        ({"max_iterations": 0}, ValueError, "max_iterations = 0"),
        ({"start": ((0, 0), (0, 0, 1))}, ValueError, "start, first point"),
    ],
)
def test_bad_arguments_are_refused(change, kind, message):
    arguments = {"a": Sphere(1.0), "pose_a": pose(), "b": Sphere(1.0), "pose_b": pose(position=(3, 0, 0))} | change
    with pytest.raises(kind, match=message):
        distance(**arguments)


def test_bad_motions_are_refused():
    with pytest.raises(ValueError, match="as many, found 2 and 3"):
        follow(Sphere(1.0), np.tile(np.eye(4), (2, 1, 1)), Sphere(1.0), np.tile(np.eye(4), (3, 1, 1)))
    with pytest.raises(ValueError, match="a: must be an ellipsoid"):
        follow(UNEQUAL, pose(), Sphere(1.0), pose(), query="separation")
    with pytest.raises(ValueError, match="query = 'boxes'"):
        follow(Sphere(1.0), pose(), Sphere(1.0), pose(), query="boxes")
    with pytest.raises(ValueError, match="margin = -1"):
        follow(Sphere(1.0), pose(), Sphere(1.0), pose(), query="spheres", margin=-1.0)
    with pytest.raises(ValueError, match="b: must be an ellipsoid"):
        are_separated(Sphere(1.0), pose(), PARABOLOID, pose())


# -- section 6: forces and motion ------------------------------------------------------------------------------------

SOFT = Material(young=1e7, poisson=0.3)


def throw_bodies(shape_a, shape_b, gap, aside=0.0, spin=(0.0, 0.0, 0.0), rotation=(0.0, 0.0, 0.0)):
    far = 3.0 * sum(s.bounding_radius() for s in (shape_a, shape_b))
    at = pose(position=(far, aside, 0.0), rotation=rotation)
    for _ in range(100):
        at[0, 3] -= distance(shape_a, np.eye(4), shape_b, at, restart=True).distance - gap
    return [
        RigidBody(shape_a, np.eye(4), (0.5, 0.0, 0.0), density=1000.0, material=SOFT),
        RigidBody(shape_b, at, (-0.5, 0.0, 0.0), spin, density=1000.0, material=SOFT),
    ]


def hertz_impact(radii, masses, material):
    """Return depth and duration of a central impact at 1 m/s: Johnson 1985, section 11.4.1, by quadrature."""
    reduced_radius, reduced_mass = (1.0 / (1.0 / np.array(pair)).sum() for pair in (radii, masses))
    stiffness = 4.0 / 3.0 * math.sqrt(reduced_radius) * material.young / (2.0 * (1.0 - material.poisson**2))
    depth = (1.25 * reduced_mass / stiffness) ** 0.4
    # x = 1 - u^2 removes the singularity at the deepest point from the integral.
    half = quad(lambda u: 2.0 * u / math.sqrt(1.0 - (1.0 - u * u) ** 2.5), 0.0, 1.0)[0]
    return depth, 2.0 * half * depth


def test_impact_of_balls_agrees_with_hertz():
    balls = [Quadric.ellipsoid((r, r, r)) for r in (0.3, 0.5)]
    masses = [1000.0 * 4.0 / 3.0 * math.pi * r**3 for r in (0.3, 0.5)]
    depth, duration = hertz_impact((0.3, 0.5), masses, SOFT)
    found = simulate(throw_bodies(*balls, 0.001), 0.001 + 1.2 * duration, duration / 200, law="hertz")
    touching = found.time[found.distance[:, 0] < 0.0]
    assert -np.nanmin(found.distance) == pytest.approx(depth, rel=1e-4)
    assert np.ptp(touching) == pytest.approx(duration, abs=2.5 * duration / 200)
    assert found.kinetic_energy[-1] == pytest.approx(found.kinetic_energy[0], rel=1e-5)
    # The speeds after an elastic impact.
    share = (masses[0] - masses[1]) / (masses[0] + masses[1])
    assert found.velocity[-1, 0, 0] == pytest.approx(0.5 * share - (1.0 - share) * 0.5, rel=1e-4)


@pytest.mark.ci
@pytest.mark.parametrize("law, asked, expected", [("flores", 0.8, 0.79), ("lankarani-nikravesh", 0.8, 0.85)])
def test_damping_dissipates_as_in_a_one_dimensional_impact(law, asked, expected):
    """The reference integrates the depth alone: m s'' = -K s^1.5 (1 + chi s'/s'_0)."""
    ball = Quadric.ellipsoid((0.5, 0.5, 0.5))
    _, duration = hertz_impact((0.5, 0.5), (1000.0 * math.pi / 6.0,) * 2, SOFT)
    found = simulate(
        throw_bodies(ball, ball, 0.001), 0.001 + 1.5 * duration, duration / 200, law=law, restitution=asked
    )
    kept = found.velocity[-1, 1, 0] - found.velocity[-1, 0, 0]
    chi = {"flores": 1.6 * (1.0 - asked) / asked, "lankarani-nikravesh": 0.75 * (1.0 - asked**2)}[law]

    def motion(_, y):  # in units of Hertz's depth and time: s'' = -1.25 s^1.5 (...), s'_0 = 1
        return y[1], -1.25 * max(y[0], 0.0) ** 1.5 * (1.0 + chi * y[1])

    def separation(t, y):
        return y[0] if t > 0.1 else 1.0

    separation.terminal = True
    oracle = solve_ivp(motion, (0.0, 20.0), (0.0, 1.0), events=separation, rtol=1e-10, atol=1e-12)
    assert kept == pytest.approx(-oracle.y[1, -1], rel=1e-4)
    assert kept == pytest.approx(expected, abs=0.01)


@pytest.mark.ci
@pytest.mark.parametrize("kind", ["ellipsoids", "superellipsoids"])
def test_momenta_are_conserved_and_depths_are_the_certified_ones(kind):
    gamma = 2.0 if kind == "ellipsoids" else 3.0
    sizes = (0.5, 1.0, 0.8), (0.7, 0.6, 1.1)
    ours = [Superellipsoid(size, section_exponent=2.0 / gamma, profile_exponent=2.0 / gamma) for size in sizes]
    bodies = [Superquadric.superellipsoid(size, (gamma,) * 3) for size in sizes]
    start = throw_bodies(*bodies, 0.002, aside=0.15, spin=(0.3, 0.8, -0.5), rotation=(0.4, 0.2, 0.9))
    found = simulate(start, 0.4, 1e-3)
    assert (found.force > 0.0).any() and found.force[-1, 0] == 0.0
    assert np.ptp(found.momentum, axis=0).max() < 1e-12 * np.abs(found.momentum).max() + 1e-9
    assert np.ptp(found.angular_momentum, axis=0).max() < 1e-6 * np.abs(found.angular_momentum).max()
    assert found.kinetic_energy[-1] < found.kinetic_energy[0]
    assert np.abs(found.angular_velocity[-1, 0]).max() > 1e-3  # an eccentric impact makes a body spin
    for poses, value in zip(found.poses[::20], found.distance[::20, 0], strict=True):
        if not np.isnan(value):
            truth = superovoid.distance(ours[0], poses[0], ours[1], poses[1])
            assert truth.lower - 1e-9 <= value <= truth.upper + 1e-9


def test_ball_bounces_on_a_fixed_one_under_gravity():
    ball = Quadric.ellipsoid((0.5, 0.5, 0.5))
    ground = RigidBody(Quadric.ellipsoid((2.0, 2.0, 2.0)), np.eye(4), material=SOFT, fixed=True)
    falling = RigidBody(ball, pose(position=(0.0, 0.0, 2.6)), density=1000.0, material=SOFT)
    found = simulate([ground, falling], 0.4, 5e-4, law="hertz", gravity=(0.0, 0.0, -9.81))
    assert np.array_equal(found.poses[:, 0], np.tile(np.eye(4), (len(found.time), 1, 1)))
    height = found.poses[:, 1, 2, 3]
    assert height.min() < 2.5 and height[-1] > height.min()
    # Once the balls are separate, the energy including the height has its initial value.
    mass = 1000.0 * math.pi / 6.0
    total = found.kinetic_energy + mass * 9.81 * height
    apart = ~(found.distance[:, 0] < 0.0)
    assert total[apart] == pytest.approx(np.full(apart.sum(), total[0]), rel=1e-5)


def test_mass_and_inertia_agree_with_sampled_points():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1.0, 1.0, (400_000, 3)) * UNEQUAL.dimensions
    inside = points[UNEQUAL._row[0] * np.abs(points[:, 0]) ** 2.0
                    + UNEQUAL._row[1] * np.abs(points[:, 1]) ** 3.3
                    + UNEQUAL._row[2] * np.abs(points[:, 2]) ** 4.7 <= 1.0]  # fmt: skip
    volume = 8.0 * math.prod(UNEQUAL.dimensions) * len(inside) / len(points)
    squares = volume * (inside**2).mean(axis=0)
    mass, inertia = mass_and_inertia(UNEQUAL, 2.0)
    assert mass == pytest.approx(2.0 * volume, rel=5e-3)
    assert inertia == pytest.approx(2.0 * (squares.sum() - squares), rel=1e-2)
    mass, inertia = mass_and_inertia(Ellipsoid((1.0, 2.0, 3.0)), 1.0)
    assert mass == pytest.approx(8.0 * math.pi)
    assert inertia == pytest.approx(8.0 * math.pi / 5.0 * np.array((13.0, 10.0, 5.0)))


def test_effective_radius_of_balls_and_of_a_cylinder_like_contact():
    balls = [Quadric.ellipsoid((r, r, r)) for r in (0.3, 0.5)]
    found = effective_radius(balls[0], np.array((0.3, 0.0, 0.0)), balls[1], np.array((-0.5, 0.0, 0.0)), np.eye(3))
    assert found == pytest.approx(0.3 * 0.5 / 0.8)
    flat = Superquadric.superellipsoid((1.0, 1.0, 1.0), (4.0, 4.0, 4.0))  # flat at its poles
    found = effective_radius(flat, np.array((1.0, 0.0, 0.0)), flat, np.array((-1.0, 0.0, 0.0)), np.eye(3))
    assert found == flat.bounding_radius()


def test_a_missing_contact_ends_the_motion_with_an_error():
    ball = Quadric.ellipsoid((0.5, 0.5, 0.5))
    tilted = Quadric.ellipsoid((0.2, 0.5, 0.9))
    start = throw_bodies(ball, tilted, 0.01, aside=0.2, rotation=(0.3, 0.6, 0.1))
    with pytest.raises(ContactError, match=r"bodies 0 and 1 at 0 s: Newton's method did not converge in 1 iterations"):
        simulate(start, 0.1, 1e-3, max_iterations=1, query="none")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"duration": 0.0}, "duration = 0.0: must be positive"),
        ({"step": -1.0}, "step = -1.0: must be positive"),
        ({"law": "coulomb"}, "law = 'coulomb': must be one of hertz, lankarani-nikravesh, flores"),
        ({"restitution": 0.0}, r"restitution = 0.0: must be in \(0, 1\]"),
        ({"gravity": (0.0, 1.0)}, "gravity"),
        ({"bodies": [RigidBody(PARABOLOID, np.eye(4))]}, "must be closed to have a mass"),
        ({"bodies": [RigidBody(SURFACES[0], np.eye(4), density=-1.0)]}, "density = -1.0: must be positive"),
    ],
)
def test_bad_options_of_a_motion_are_named(change, message):
    given = {"bodies": [RigidBody(SURFACES[0], np.eye(4))], "duration": 1.0, "step": 0.1} | change
    with pytest.raises(ValueError, match=message):
        simulate(**given)


# -- section 8: finite differences ---------------------------------------------------------------------------------


@pytest.mark.parametrize("tangents", METHODS)
def test_finite_differences_give_the_points_of_the_analytic_jacobian(tangents):
    rng = np.random.default_rng(3)
    agreed = 0
    for _ in range(40):
        a, b = (Superquadric.superellipsoid(rng.uniform(0.5, 1.5, 3), rng.uniform(2.0, 3.0, 3)) for _ in range(2))
        at = pose(rng.normal(size=3), 4.0 * sphere_direction(rng))
        found = [distance(a, np.eye(4), b, at, tangents=tangents, jacobian=j) for j in ("analytic", "differences")]
        if all(result.converged for result in found):
            agreed += abs(found[0].distance - found[1].distance) < 1e-6
    assert agreed > 20
