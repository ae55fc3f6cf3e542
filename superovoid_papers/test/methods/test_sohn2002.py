# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances by line geometry: congruences, roots, distances, all common normals, free-form surfaces.

References share no code with the method: closed forms, finite differences, scipy's spline evaluation and minimisers,
40 digits (mpmath), a search over directions on the sphere for common normals, and the engine.
"""

import csv
import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.interpolate import NdBSpline
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from superovoid import Cone, Cylinder, Ellipsoid, Sphere, Status, Superovoid, Torus
from superovoid import distance as engine
from superovoid.testing.random_bodies import random_pose
from superovoid_papers.experiments.sohn2002 import line_geometry
from superovoid_papers.methods.sohn2002 import FreeForm, common_normals, congruences, distance, one_root, pluecker
from superovoid_papers.methods.sohn2002.all_normals import congruence_equations
from superovoid_papers.methods.sohn2002.bernstein import Polynomial, common_roots

RADII = (1.3, 0.7, 0.4)


def pose(translation=(0.0, 0.0, 0.0), rotation=(0.0, 0.0, 0.0)):
    matrix = np.eye(4)
    matrix[:3, 3] = translation
    matrix[:3, :3] = Rotation.from_rotvec(rotation).as_matrix()
    return matrix


def random_pairs(count, seed, make, least=0.3, most=3.0):
    """Yield bodies from `make(rng)`, the second an ellipsoid, at random poses."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        a, b = make(rng), Ellipsoid(np.exp(rng.uniform(math.log(0.2), 0.0, 3)))
        pose_a, pose_b = random_pose(rng, 1.0), random_pose(rng, rng.uniform(least, most))
        pose_b[:3, 3] += pose_a[:3, 3]
        yield a, pose_a, b, pose_b


def lengths(rng, count):
    return np.exp(rng.uniform(math.log(0.2), 0.0, count))


MAKERS = {
    "ellipsoid": lambda rng: Ellipsoid(lengths(rng, 3)),
    "spheroid": lambda rng: Ellipsoid(rng.permutation(np.repeat(lengths(rng, 2), (1, 2)))),
    "sphere": lambda rng: Sphere(rng.uniform(0.2, 1.0)),
    "cylinder": lambda rng: Cylinder(*lengths(rng, 2) * (1.0, 2.0)),
    "cone": lambda rng: Cone(*lengths(rng, 2) * (1.0, 2.0)),
    "torus": lambda rng: Torus(1.0, rng.uniform(0.1, 0.5)),
}


def assert_on_both(result, a, pose_a, b, pose_b):
    """Check that the points lie on the surfaces: a step outwards leaves the body, one inwards does not."""
    for body, at, point in ((a, pose_a, result.point_a), (b, pose_b, result.point_b)):
        own = at[:3, :3].T @ (point - at[:3, 3])
        out = 1e-6 * (1.0 if body is a else -1.0) * at[:3, :3].T @ result.normal
        inwards = out if isinstance(body, Torus) else 1e-6 * own  # at a rim the normal's opposite may lead outside
        assert body.contains(own - inwards) and not body.contains(own + out)


# -- lines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pole", [1.0, -1.0])
def test_lines_of_the_parametrisation_are_outward_normals(pole):
    ellipsoid = Ellipsoid(RADII)
    for u, v in itertools.product((-0.9, 0.0, 0.4), (-0.3, 0.0, 0.8)):
        (d, m), _, _ = pluecker.ellipsoid_normals(RADII, u, v, pole)
        x, n = (np.array(part) for part in pluecker.ellipsoid_point(RADII, u, v, pole))
        assert abs(ellipsoid.implicit(x)) < 1e-14
        np.testing.assert_allclose(np.cross(x, d), m, atol=1e-14)
        for direction in (d, n):
            np.testing.assert_allclose(np.array(direction) / np.linalg.norm(direction), ellipsoid.normal(x), atol=1e-14)


@pytest.mark.parametrize("pole", [1.0, -1.0])
def test_the_foot_of_a_normal_is_its_original_point(pole):
    for u, v in itertools.product((-0.9, 0.1, 0.4), (-0.3, 0.2, 0.8)):
        (d, m), _, _ = pluecker.ellipsoid_normals(RADII, u, v, pole)
        x, _ = pluecker.ellipsoid_point(RADII, u, v, pole)
        for scale in (1.0, -2.0):
            foot = one_root.foot_of_line(RADII, *(tuple(scale * np.array(part)) for part in (d, m)))
            np.testing.assert_allclose(foot, x, atol=1e-14)


@pytest.mark.parametrize("pole", [1.0, -1.0])
def test_derivatives_of_the_lines_agree_with_finite_differences(pole):
    def line(u, v):
        return np.concatenate(pluecker.ellipsoid_normals(RADII, u, v, pole)[0])

    u, v, h = 0.37, -0.61, 1e-5
    _, by_u, by_v = pluecker.ellipsoid_normals(RADII, u, v, pole)
    np.testing.assert_allclose(np.concatenate(by_u), (line(u + h, v) - line(u - h, v)) / (2 * h), atol=1e-9)
    np.testing.assert_allclose(np.concatenate(by_v), (line(u, v + h) - line(u, v - h)) / (2 * h), atol=1e-9)


def test_dual_quaternions_move_lines_like_matrices_move_points():
    rng = np.random.default_rng(2)
    turns = [*Rotation.random(20, random_state=rng).as_matrix(), *Rotation.from_rotvec(math.pi * np.eye(3)).as_matrix()]
    for rotation in turns:
        t, p, d = rng.normal(size=(3, 3))
        displacement = pluecker.dual_quaternion(rotation, t)
        direction, moment = pluecker.move_line(displacement, (tuple(d), tuple(np.cross(p, d))))
        np.testing.assert_allclose(direction, rotation @ d, atol=1e-14)
        np.testing.assert_allclose(moment, np.cross(rotation @ p + t, rotation @ d), atol=1e-13)


def normals_of(kind):
    """Return parameters, and points with normals of the surface with a congruence of that kind."""
    rng = np.random.default_rng(3)
    phi, s = rng.uniform(0.0, 6.0, (2, 20))
    e, zero = np.stack([np.cos(phi), np.sin(phi), 0.0 * phi], axis=1), np.zeros((20, 1))
    k = np.array([0.0, 0.0, 1.0])
    if kind == congruences.CYLINDER:
        return (0.0, 0.0, 0.0), 0.7 * e + s[:, None] * k, e
    if kind == congruences.CONE:
        c = 0.6  # x^2 + y^2 = c z^2, lifted by 0.3: all cones on the axis have the same equations
        z = s[:, None]
        return (c, 0.0, 0.0), math.sqrt(c) * z * e + (z + 0.3) * k, e - math.sqrt(c) * k
    if kind == congruences.CIRCLE:
        n = np.cos(s)[:, None] * e + np.sin(s)[:, None] * k
        return (1.1, 0.4, 0.0), 1.1 * e + 0.4 * k + 0.2 * n, n
    radii = {
        congruences.GENERAL: RADII,
        congruences.ROUND_X: (1.3, 0.7, 0.7),
        congruences.ROUND_Y: (0.7, 1.3, 0.7),
        congruences.ROUND_Z: (0.7, 0.7, 1.3),
    }[kind]
    n = rng.normal(size=(20, 3)) + zero
    x = Ellipsoid(radii).support(n)
    return radii, x, n


KINDS = (*range(4), *range(5, 8))


@pytest.mark.parametrize("kind", KINDS)
def test_only_normals_satisfy_the_equations_of_their_congruence(kind):
    parameters, x, n = normals_of(kind)
    rng = np.random.default_rng(4)
    for p, d in zip(x, n, strict=True):
        for scale in (1.0, -3.7):
            line = scale * d, np.cross(p, scale * d)
            assert all(
                abs(side[0]) < 1e-12 * scale**4 for side in congruences.equations(kind, parameters, *map(tuple, line))
            )
        stray = np.cross(p + rng.normal(size=3), d + rng.normal(size=3))
        sides = congruences.equations(kind, parameters, tuple(d + 0.3 * rng.normal(size=3)), tuple(stray))
        assert max(abs(side[0]) for side in sides) > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_the_equations_agree_with_finite_differences(kind):
    parameters = normals_of(kind)[0]
    line, h = np.array([0.3, -0.8, 0.5, 0.2, 0.9, -0.4]), 1e-5

    def sides(x):
        return np.array([side[0] for side in congruences.equations(kind, parameters, tuple(x[:3]), tuple(x[3:]))])

    slopes = np.stack([(sides(line + h * e) - sides(line - h * e)) / (2 * h) for e in np.eye(6)], axis=1)
    found = congruences.equations(kind, parameters, tuple(line[:3]), tuple(line[3:]))
    np.testing.assert_allclose([np.concatenate(side[1:]) for side in found], slopes, atol=1e-8)


def test_the_papers_equations_of_cones_and_equal_radii_admit_other_lines():
    # Eq. 23 (A = B) with L6 = 0: this line is no normal of the ellipsoid but has L2 = L4 = 0.
    a, c = 0.7, 1.3
    d, m = np.array([1.0, 0.0, 1.0]), np.array([0.0, 5.0, 0.0])
    assert d @ m == 0.0
    form = a**2 * (d[0] ** 2 + d[1] ** 2) + c**2 * d[2] ** 2
    assert m[0] ** 2 * form - d[1] ** 2 * d[2] ** 2 * (a**2 - c**2) ** 2 == 0.0
    f, g = congruences.equations(congruences.ROUND_Z, (a, a, c), tuple(d), tuple(m))
    assert f[0] == 0.0 and abs(g[0]) > 1.0
    # Section 6.2: a normal satisfies (c + 1) L2 L3 - c L4 = 0 at one scale only.
    (c, _, _), x, n = normals_of(congruences.CONE)
    d = n[0] * 2.0
    assert abs((c + 1.0) * d[1] * d[2] - c * np.cross(x[0], d)[0]) > 1e-3


@pytest.mark.parametrize("p", [(3.0, 1.0, -2.0), (1.4, 0.0, 0.0), (0.0, 0.0, 0.5), (1e3, 1e-9, 0.3), (0.9, 0.55, 0.1)])
def test_the_foot_of_a_point_agrees_with_40_digits(p):
    foot, outside = pluecker.foot_on_ellipsoid(RADII, p)
    assert outside
    with mpmath.workdps(40):
        a = [mpmath.mpf(r) for r in RADII]

        def excess(t):
            return sum((r * mpmath.mpf(x) / (r**2 + 2 * t)) ** 2 for r, x in zip(a, p, strict=True)) - 1

        t = mpmath.findroot(excess, (mpmath.mpf(0), mpmath.mpf(2000)), solver="anderson", tol=1e-60, maxsteps=300)
        expected = [float(r**2 * mpmath.mpf(x) / (r**2 + 2 * t)) for r, x in zip(a, p, strict=True)]
    np.testing.assert_allclose(foot, expected, atol=4e-16 * max(RADII))


# -- polynomials ---------------------------------------------------------------------------------------------------


def test_polynomials_in_bernstein_form_compute_like_functions():
    rng = np.random.default_rng(5)
    p, q = Polynomial(rng.normal(size=(3, 4))), Polynomial(rng.normal(size=(5, 2)))
    s, t = rng.uniform(-0.5, 1.5, (2, 30))
    assert (p * q).degree == (6, 4)
    np.testing.assert_allclose((p * q)(s, t), p(s, t) * q(s, t), atol=1e-12)
    np.testing.assert_allclose((2.0 - p + q * 3.0)(s, t), 2.0 - p(s, t) + 3.0 * q(s, t), atol=1e-12)
    h = 1e-6
    np.testing.assert_allclose(p.derivative(0)(s, t), (p(s + h, t) - p(s - h, t)) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(q.derivative(1)(s, t), (q(s, t + h) - q(s, t - h)) / (2 * h), atol=1e-7)


def test_all_common_roots_of_products_of_linear_factors_are_found():
    rng = np.random.default_rng(6)
    s, t = Polynomial([[0.0], [1.0]]), Polynomial([[0.0, 1.0]])
    for _ in range(10):
        lines = rng.normal(size=(2, 4, 2))
        through = rng.uniform(0.05, 0.95, (2, 4, 2))
        f, g = (
            math_product(a * (s - x) + b * (t - y) for (a, b), (x, y) in zip(ab, xy, strict=True))
            for ab, xy in zip(lines, through, strict=True)
        )
        expected = []
        for (ab, xy), (cd, zw) in itertools.product(
            zip(lines[0], through[0], strict=True), zip(lines[1], through[1], strict=True)
        ):
            x = np.linalg.solve([ab, cd], [ab @ xy, cd @ zw])
            if (np.abs(x - 0.5) <= 0.5).all():
                expected.append(x)
        found = common_roots(f, g)
        assert found.complete
        inside = found.points[(np.abs(found.points - 0.5) <= 0.5).all(axis=1)]
        gaps = np.linalg.norm(inside[:, None] - np.array(expected)[None], axis=2)
        assert gaps.min(axis=1).max() < 1e-9 and gaps.min(axis=0).max() < 1e-9


def math_product(factors):
    first, *others = factors
    for factor in others:
        first = first * factor
    return first


def test_double_roots_and_curves_of_roots_are_reported_as_incomplete():
    s, t = Polynomial([[0.0], [1.0]]), Polynomial([[0.0, 1.0]])
    x, y = s - 0.31, t - 0.62
    found = common_roots(x * x - y * y * y, y)
    assert not found.complete and np.abs(found.points - (0.31, 0.62)).max() < 1e-3
    assert not common_roots(x * y, x * (y + 0.2)).complete


def resultant_degree(f, g, prime=2**31 - 1):
    """Return the degree in v of the resultant by u of two polynomials: determinants modulo a prime, interpolated."""
    points = list(range(1, 110))
    values = [determinant(_sylvester([row(v) for row in f], [row(v) for row in g], prime), prime) for v in points]
    newton = values[:]  # divided differences: the last nonzero one gives the degree
    for k in range(1, len(points)):
        for i in range(len(points) - 1, k - 1, -1):
            newton[i] = (newton[i] - newton[i - 1]) * pow(points[i] - points[i - k], -1, prime) % prime
    return max(i for i, c in enumerate(newton) if c)


def _sylvester(f, g, prime):
    n, m = len(f) - 1, len(g) - 1
    rows = [[0] * i + f[::-1] + [0] * (m - 1 - i) for i in range(m)]
    rows += [[0] * i + g[::-1] + [0] * (n - 1 - i) for i in range(n)]
    return [[x % prime for x in row] for row in rows]


def determinant(rows, prime):
    product = 1
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot], product = rows[pivot], rows[k], -product
        product = product * rows[k][k] % prime
        inverse = pow(rows[k][k], -1, prime)
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] * inverse % prime
            if factor:
                rows[i] = [(x - factor * y) % prime for x, y in zip(rows[i], rows[k], strict=True)]
    return product % prime


class IntegerPolynomial:
    """Polynomial in u and v with integer coefficients {(i, j): c}, as input of `congruence_equations`."""

    def __init__(self, terms):
        self.terms = {power: c for power, c in terms.items() if c}

    def __add__(self, other):
        if not isinstance(other, IntegerPolynomial):
            other = IntegerPolynomial({(0, 0): int(other)})
        return IntegerPolynomial({p: self.terms.get(p, 0) + other.terms.get(p, 0) for p in {*self.terms, *other.terms}})

    def __mul__(self, other):
        if not isinstance(other, IntegerPolynomial):
            other = IntegerPolynomial({(0, 0): int(other)})
        out = {}
        for ((i, j), c), ((k, n), d) in itertools.product(self.terms.items(), other.terms.items()):
            out[i + k, j + n] = out.get((i + k, j + n), 0) + c * d
        return IntegerPolynomial(out)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -other

    def rows(self):
        """Return the coefficients of the powers of u, as functions of v."""
        top = max(i for i, _ in self.terms)
        return [lambda v, i=i: sum(c * v**j for (k, j), c in self.terms.items() if k == i) for i in range(top + 1)]

    @property
    def total_degree(self):
        return max(i + j for i, j in self.terms)


def test_two_ellipsoids_have_36_complex_common_normals():
    u, v = IntegerPolynomial({(1, 0): 1}), IntegerPolynomial({(0, 1): 1})
    rr = u * u + v * v
    w, d = rr + 1, -rr + 1
    a, b, c = 3, 5, 7
    direction = 2 * b * c * u, 2 * a * c * v, a * b * d
    moment = 2 * (b * b - c * c) * a * v * d, 2 * (c * c - a * a) * b * u * d, 4 * (a * a - b * b) * c * u * v
    # Three times a reflection, which changes the sign of moments; lines are homogeneous, so the factor cancels.
    turn = np.array([[1, 2, 2], [2, 1, -2], [2, -2, 1]])
    shift = (2, -3, 4)
    d1, d2, d3 = (sum((int(k) * p for k, p in zip(row, direction, strict=True)), IntegerPolynomial({})) for row in turn)
    m1, m2, m3 = (sum((-int(k) * p for k, p in zip(row, moment, strict=True)), IntegerPolynomial({})) for row in turn)
    m1 = m1 + w * (shift[1] * d3 - shift[2] * d2)
    m2 = m2 + w * (shift[2] * d1 - shift[0] * d3)
    m3 = m3 + w * (shift[0] * d2 - shift[1] * d1)

    class Lines:
        pass

    lines = Lines()
    lines.d, lines.m, lines.w = (d1, d2, d3), (m1, m2, m3), w
    f, g = congruence_equations(congruences.GENERAL, (2, 3, 6), lines)
    assert (f.total_degree, g.total_degree) == (6, 12)
    assert resultant_degree(f.rows(), g.rows()) == 36


# -- distances -----------------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_distance_of_spheres_is_that_of_centres_less_the_radii():
    result = distance(Sphere(0.4), pose((1.0, 2.0, 3.0)), Sphere(0.7), pose((1.0, 5.0, 7.0)))
    assert result.converged and result.status == Status.UNPROVEN
    assert result.distance == pytest.approx(5.0 - 1.1, abs=1e-14)
    np.testing.assert_allclose(result.normal, (0.0, 0.6, 0.8), atol=1e-15)
    np.testing.assert_allclose(result.point_a, (1.0, 2.24, 3.32), atol=1e-14)


@pytest.mark.parametrize("roots", ["newton", "all"])
@pytest.mark.parametrize("axis", range(3))
def test_aligned_ellipsoids_are_closest_on_their_common_axis(axis, roots):
    a, b = Ellipsoid((0.5, 0.9, 0.7)), Ellipsoid((0.8, 0.3, 0.6))
    result = distance(a, pose(), b, pose(2.5 * np.eye(3)[axis]), roots=roots)
    assert result.converged
    assert result.distance == pytest.approx(2.5 - a.semi_axes[axis] - b.semi_axes[axis], abs=1e-13)


def test_a_large_ellipsoid_acts_as_a_plane_for_a_small_one():
    # Near the foot an ellipsoid of radius R departs from its tangent plane by at most the order 1 / R.
    small, rotation = Ellipsoid((0.3, 0.2, 0.1)), Rotation.from_rotvec((0.3, -0.4, 0.5)).as_matrix()
    at = np.eye(4)
    at[:3, :3], at[2, 3] = rotation, 1.0
    height = 1.0 - small.support_value(rotation.T @ (0.0, 0.0, -1.0))
    result = distance(Ellipsoid((1.0e4, 2.0e4, 1.5e4)), pose((0.0, 0.0, -1.5e4)), small, at, rtol=1e-12)
    assert result.converged
    assert result.distance == pytest.approx(height, abs=1e-4)


@pytest.mark.ci
@pytest.mark.parametrize("kind", MAKERS)
def test_distances_of_separate_bodies_agree_with_the_engine(kind):
    checked = 0
    for a, pose_a, b, pose_b in random_pairs(60, 7, MAKERS[kind], least=0.8):
        expected = engine(a, pose_a, b, pose_b)
        if expected.distance < 1e-6:
            continue
        result = distance(a, pose_a, b, pose_b, roots="all" if kind == "torus" else "newton")
        assert result.converged
        assert result.distance == pytest.approx(expected.distance, abs=1e-9)
        assert np.linalg.norm(result.point_b - result.point_a) == pytest.approx(result.distance, abs=1e-9)
        assert_on_both(result, a, pose_a, b, pose_b)
        swapped = distance(b, pose_b, a, pose_a, roots="all" if kind == "torus" else "newton")
        assert swapped.distance == pytest.approx(result.distance, abs=1e-9)
        np.testing.assert_allclose(swapped.normal, -result.normal, atol=1e-6)
        checked += 1
    assert checked > 30


@pytest.mark.parametrize("kind", ["ellipsoid", "spheroid", "cylinder", "cone", "torus"])
def test_three_rounds_of_feet_and_one_newton_run_usually_suffice(kind):
    apart = converged = steps = 0
    for a, pose_a, b, pose_b in random_pairs(100, 10, MAKERS[kind], least=1.5):
        if distance(a, pose_a, b, pose_b).converged:
            apart += 1
            first = distance(a, pose_a, b, pose_b, attempts=1)
            converged += first.converged
            steps += first.statistics.iterations
    assert apart > 60 and converged > 0.95 * apart
    assert steps < 6 * apart


@pytest.mark.ci
@pytest.mark.parametrize("kind", ["ellipsoid", "spheroid", "sphere", "cylinder", "cone"])
def test_all_roots_give_the_depth_of_overlapping_convex_bodies(kind):
    checked = 0
    for a, pose_a, b, pose_b in random_pairs(25, 8, MAKERS[kind], least=0.0, most=0.9):
        expected = engine(a, pose_a, b, pose_b)
        if expected.distance < 0.0 and expected.status.certified:
            result = distance(a, pose_a, b, pose_b, roots="all")
            assert result.converged
            assert result.distance == pytest.approx(expected.distance, abs=1e-8)
            assert not distance(a, pose_a, b, pose_b).converged
            checked += 1
    assert checked > 10


def test_distance_in_the_hole_of_a_torus_is_the_least_root():
    torus, ball = Torus(1.0, 0.25), Sphere(0.3)
    result = distance(torus, pose(), ball, pose((0.2, 0.0, 0.1)), roots="all")
    assert result.converged and result.distance == pytest.approx(math.hypot(0.8, 0.1) - 0.25 - 0.3, abs=1e-12)
    # In the plane of the circle the root is not simple: it is found, but not reported as the best.
    result = distance(torus, pose(), ball, pose((0.2, 0.0, 0.0)), roots="all")
    assert not result.converged and result.distance == pytest.approx(0.8 - 0.25 - 0.3, abs=1e-9)
    needle = Ellipsoid((0.05, 0.05, 3.0))
    through = distance(torus, pose(), needle, pose((0.0, 0.3, 0.1), (0.05, 0.0, 0.0)), roots="all")
    assert through.converged
    assert through.distance == pytest.approx(
        engine(torus, pose(), needle, pose((0.0, 0.3, 0.1), (0.05, 0.0, 0.0))).distance, abs=1e-9
    )


def test_all_roots_avoid_newtons_local_minima_near_holes_of_tori():
    wrong = 0
    for a, pose_a, b, pose_b in random_pairs(150, 9, MAKERS["torus"], least=0.0, most=1.6):
        expected = engine(a, pose_a, b, pose_b).distance
        found = distance(a, pose_a, b, pose_b)
        if expected > 1e-6 and found.converged:
            assert found.distance > expected - 1e-9
            if found.distance > expected + 1e-6:
                wrong += 1
                assert distance(a, pose_a, b, pose_b, roots="all").distance == pytest.approx(expected, abs=1e-9)
    assert wrong


def test_a_torus_entered_by_an_ellipsoid_has_no_distance():
    for at in ((1.0, 0.0, 0.0), (0.7, 0.0, 0.2)):
        assert not distance(Torus(1.0, 0.25), pose(), Ellipsoid((0.3, 0.2, 0.1)), pose(at), roots="all").converged


# -- all common normals --------------------------------------------------------------------------------------------


def searched_normals(a, pose_a, b, pose_b, starts=4000):
    """Return common normals of two ellipsoids by a search over all directions n of A's outward normal.

    n is one if t(n) = (x_b(s n) - x_a(n)) is parallel to n, for s = 1 or -1: a critical point of the gap
    n . x_b(s n) - n . x_a(n) on the sphere. Newton's method runs from many starts, with derivatives by differences. The
    indices of all critical points of a function on the sphere sum to two; any other sum means that some are missing.
    """
    rng = np.random.default_rng(11)
    n0 = rng.normal(size=(starts, 3))
    n0 /= np.linalg.norm(n0, axis=1)[:, None]
    rotation = pose_a[:3, :3].T @ pose_b[:3, :3]
    shift = pose_a[:3, :3].T @ (pose_b[:3, 3] - pose_a[:3, 3])
    ma, mb = np.diag(np.square(a.semi_axes)), rotation @ np.diag(np.square(b.semi_axes)) @ rotation.T

    def gradient(n, s):
        """Return gradient and Hessian of the gap, extended with degree one."""
        va, vb = n @ ma, n @ mb
        ha, hb = np.sqrt(np.einsum("ij,ij->i", n, va)), np.sqrt(np.einsum("ij,ij->i", n, vb))
        first = shift + s * vb / hb[:, None] - va / ha[:, None]
        outer = lambda v: v[:, :, None] * v[:, None, :]  # noqa: E731
        second = s * (mb / hb[:, None, None] - outer(vb) / hb[:, None, None] ** 3)
        return first, second - (ma / ha[:, None, None] - outer(va) / ha[:, None, None] ** 3)

    found = []
    for s in (1.0, -1.0):
        n = n0.copy()
        for _ in range(60):
            first, second = gradient(n, s)
            radial = np.einsum("ij,ij->i", first, n)
            # On the sphere: (P H P - (g . n) I + n n^T) step = -P g.
            project = np.eye(3) - n[:, :, None] * n[:, None, :]
            matrix = project @ second @ project - radial[:, None, None] * project + n[:, :, None] * n[:, None, :]
            step = -np.einsum("ijk,ik->ij", np.linalg.inv(matrix), np.einsum("ijk,ik->ij", project, first))
            size = np.linalg.norm(step, axis=1)[:, None]
            n = n + step * np.minimum(1.0, 0.3 / np.maximum(size, 1e-300))
            n /= np.linalg.norm(n, axis=1)[:, None]
        done = size[:, 0] < 1e-9
        n, matrix = n[done], matrix[done]
        kept, index = [], 0
        for row, m in zip(n, matrix, strict=True):
            if not kept or np.abs(np.array(kept) - row).max(axis=1).min() > 1e-6:
                kept.append(row)
                index += int(np.sign(np.linalg.det(m)))
        assert index == 2  # the search is complete, or misses a maximum for every missed saddle
        found += [(pose_a[:3, :3] @ row, s) for row in kept]
    return found


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(6))
def test_all_common_normals_agree_with_a_search_over_directions(seed):
    rng = np.random.default_rng([12, seed])
    a, b = (Ellipsoid(np.exp(rng.uniform(math.log(0.2), 0.0, 3))) for _ in range(2))
    pose_a, pose_b = random_pose(rng, 1.0), random_pose(rng, (0.2, 0.5, 0.8, 1.2, 1.6, 3.0)[seed])
    pose_b[:3, 3] += pose_a[:3, 3]
    found = common_normals(a, pose_a, b, pose_b)
    assert found.complete
    expected = searched_normals(a, pose_a, b, pose_b)
    assert len(found) == len(expected)
    for n, s in expected:
        off = np.abs(found.normal_a - n).max(axis=1) + np.abs(found.normal_b - s * n).max(axis=1)
        assert off.min() < 1e-7


def test_all_of_16_common_normals_are_found():
    # Separate bodies, with the largest number found in the paper.
    a, b = Ellipsoid((0.17, 0.93, 0.2)), Ellipsoid((0.06, 0.075, 0.57))
    pose_a, pose_b = pose(), pose((0.45, 0.415, 0.26), (-0.04, -0.48, 0.07))
    assert distance(a, pose_a, b, pose_b).distance > 0.29
    found = common_normals(a, pose_a, b, pose_b)
    assert found.complete and len(found) == len(searched_normals(a, pose_a, b, pose_b)) == 16


def test_feet_on_a_side_and_its_close_rim_are_two():
    # Four lines through the ball's centre: near side, far side, and the far rims above and below; two feet on the ball.
    found = common_normals(Cylinder(1.0, 2.0), pose(), Sphere(0.5), pose((3.0, 0.0, 1.0 - 3e-6)))
    assert found.complete and len(found) == 8


@pytest.mark.parametrize("kind", MAKERS)
def test_feet_of_common_normals_lie_on_surfaces_and_lines(kind):
    for a, pose_a, b, pose_b in random_pairs(6, 13, MAKERS[kind], least=0.2):
        found = common_normals(a, pose_a, b, pose_b)
        assert len(found) >= 4 and len(found) % 2 == 0 and found.complete
        between = found.point_b - found.point_a
        for n in (found.normal_a, found.normal_b):
            assert np.linalg.norm(np.cross(between, n), axis=1).max() < 1e-8
        np.testing.assert_allclose(found.gap, np.einsum("ij,ij->i", between, found.normal_a), atol=1e-12)
        for body, at, points, normals in (
            (a, pose_a, found.point_a, found.normal_a),
            (b, pose_b, found.point_b, found.normal_b),
        ):
            own, n = (points - at[:3, 3]) @ at[:3, :3], normals @ at[:3, :3]
            assert body.contains(own - 1e-7 * own).all() or isinstance(body, Torus)
            assert not body.contains(own + 1e-7 * n).any()


def test_aligned_ellipsoids_have_all_poles_and_report_multiple_roots():
    found = common_normals(Ellipsoid((0.5, 0.9, 0.7)), pose(), Ellipsoid((0.8, 0.3, 0.6)), pose((0.0, 0.0, 3.0)))
    assert not found.complete
    heights = {(round(p[2], 6), round(q[2], 6)) for p, q in zip(found.point_a, found.point_b, strict=True)}
    assert {(s * 0.7, round(3.0 + t * 0.6, 6)) for s in (1, -1) for t in (1, -1)} <= heights


def test_infinitely_many_common_normals_are_reported_as_incomplete():
    found = common_normals(Sphere(1.0), pose(), Sphere(0.5), pose())
    assert not found.complete and len(found) == 0
    assert not distance(Sphere(1.0), pose(), Sphere(0.5), pose(), roots="all").converged


# -- free-form surfaces --------------------------------------------------------------------------------------------


def octant():
    """Return the part x, y, z >= 0 of the unit sphere as a rational biquadratic patch; its pole is a singular edge."""
    arc, w = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([1.0, math.sqrt(0.5), 1.0])
    points = [[(x * c, y * c, s) for c, s in arc] for x, y in arc]
    return FreeForm(points, np.outer(w, w))


def bump(knots=None, weights=None):
    rng = np.random.default_rng(14)
    count = (4, 4) if knots is None else (6, 5)
    x, y = np.meshgrid(np.linspace(-1.0, 1.0, count[0]), np.linspace(-1.0, 1.0, count[1]), indexing="ij")
    return FreeForm(np.stack([x, y, 0.6 * rng.uniform(-1.0, 1.0, count)], axis=2), weights, knots)


KNOTS = (np.array([0, 0, 0, 0, 0.3, 0.7, 1, 1, 1, 1.0]), np.array([0, 0, 0, 0.4, 0.4, 1, 1, 1.0]))


def test_pieces_of_a_rational_spline_agree_with_scipy():
    rng = np.random.default_rng(15)
    weights = rng.uniform(0.5, 2.0, (6, 5))
    surface = bump(KNOTS, weights)
    net = np.concatenate([weights[..., None], weights[..., None] * surface.control_points], axis=2)
    spline = NdBSpline(KNOTS, net, (3, 2))
    assert len(surface.pieces) == 6
    spans = itertools.product(itertools.pairwise((0.0, 0.3, 0.7, 1.0)), itertools.pairwise((0.0, 0.4, 1.0)))
    for piece, ((a, b), (c, d)) in zip(surface.pieces, spans, strict=True):
        s, t = rng.uniform(size=(2, 9))
        expected = spline(np.stack([a + (b - a) * s, c + (d - c) * t], axis=1))
        np.testing.assert_allclose(piece.points(s, t), expected[:, 1:] / expected[:, :1], atol=1e-13)
        assert piece.edges == (a == 0.0, b == 1.0, True, True)  # the inner knot of the second direction is a crease


@pytest.mark.parametrize(
    "surface", [bump(), bump(KNOTS, np.linspace(1.0, 2.0, 30).reshape(6, 5))], ids=["bezier", "nurbs"]
)
def test_lines_of_a_surface_are_its_normals(surface):
    h = 1e-6
    for piece in surface.pieces:
        s, t = np.array([0.31]), np.array([0.77])
        x = piece.points(s, t)[0]
        by_s = (piece.points(s + h, t) - piece.points(s - h, t))[0]
        by_t = (piece.points(s, t + h) - piece.points(s, t - h))[0]
        normal = np.cross(by_s, by_t)
        d, m = (np.array([float(p(s, t)[0]) for p in part]) for part in (piece.lines.d, piece.lines.m))
        w = float(piece.w(s, t)[0])
        np.testing.assert_allclose(d / np.linalg.norm(d), normal / np.linalg.norm(normal), atol=1e-8)
        np.testing.assert_allclose(m, np.cross(x, w * d), atol=1e-12 * np.linalg.norm(d))


@pytest.mark.ci
@pytest.mark.parametrize("roots", ["newton", "all"])
def test_a_flat_patch_is_a_plane_above_and_an_edge_beyond(roots):
    flat = FreeForm([[(-2.0, -2.0, 0.0), (-2.0, 2.0, 0.0)], [(2.0, -2.0, 0.0), (2.0, 2.0, 0.0)]])
    body, at = Ellipsoid((0.5, 0.3, 0.2)), pose((0.3, -0.4, 1.0), (0.4, 0.2, -0.3))
    result = distance(flat, pose(), body, at, roots=roots)
    expected = 1.0 - body.support_value(at[:3, :3].T @ (0.0, 0.0, -1.0))
    assert result.converged and result.distance == pytest.approx(expected, abs=1e-12)
    beside = distance(flat, pose(), Sphere(0.5), pose((5.0, 1.0, 4.0)), roots=roots)
    assert beside.distance == pytest.approx(4.5, abs=1e-10)
    np.testing.assert_allclose(beside.point_a, (2.0, 1.0, 0.0), atol=1e-6)


def test_a_patch_of_a_sphere_has_the_distance_of_the_sphere():
    body, at = Ellipsoid((0.6, 0.3, 0.4)), pose((1.6, 1.3, 1.1), (0.2, 0.5, -0.8))
    expected = engine(Sphere(1.0), pose(), body, at)
    shift = pose((-0.3, 0.4, 0.2), (1.0, -2.0, 0.3))
    for roots in ("newton", "all"):
        result = distance(body, shift @ at, octant(), shift, roots=roots)
        assert result.distance == pytest.approx(expected.distance, abs=1e-12)
        np.testing.assert_allclose(result.normal, -shift[:3, :3] @ expected.normal, atol=1e-7)


@pytest.mark.ci
@pytest.mark.parametrize("surface", [bump(), bump(KNOTS)], ids=["bezier", "spline"])
def test_distance_of_a_wavy_surface_agrees_with_minimisation_from_many_starts(surface):
    for seed in range(4):
        rng = np.random.default_rng([16, seed])
        body, at = Ellipsoid(lengths(rng, 3)), random_pose(rng, 0.0)
        at[:3, 3] = *rng.uniform(-1.2, 1.2, 2), 1.7
        best = math.inf
        for piece in surface.pieces:

            def square(z, piece=piece, body=body, at=at):
                theta, phi = z[2:]
                n = np.array([math.cos(theta) * math.cos(phi), math.sin(theta) * math.cos(phi), math.sin(phi)])
                y = at[:3, :3] @ (np.array(body.semi_axes) * n) + at[:3, 3]
                return float(((piece.points(z[0], z[1]) - y) ** 2).sum())

            for _ in range(6):
                z = np.concatenate([rng.uniform(size=2), rng.uniform(-1.5, 1.5, 2)])
                bounds = [(0.0, 1.0), (0.0, 1.0), (None, None), (None, None)]
                best = min(best, math.sqrt(minimize(square, z, method="L-BFGS-B", bounds=bounds, tol=1e-15).fun))
        for roots in ("newton", "all") if surface.knots is None else ("newton",):
            result = distance(surface, pose(), body, at, roots=roots)
            assert result.converged
            assert result.distance <= best + 1e-9
            assert result.distance == pytest.approx(best, abs=1e-5)
            assert np.linalg.norm(result.point_a - result.point_b) == pytest.approx(result.distance, abs=1e-12)


def test_a_surface_through_an_ellipsoid_has_no_distance():
    assert not distance(bump(), pose(), Ellipsoid((0.5, 0.5, 2.0)), pose()).converged


def test_common_normals_of_a_surface_are_normal_to_both():
    surface, body, at = bump(), Ellipsoid(RADII), pose((0.2, 0.1, 1.5), (0.3, 0.2, 0.1))
    found = common_normals(surface, pose(), body, at)
    assert len(found) >= 2 and found.complete
    own = (found.point_b - at[:3, 3]) @ at[:3, :3]
    np.testing.assert_allclose(body.implicit(own), 0.0, atol=1e-10)
    np.testing.assert_allclose(body.normal(own) @ at[:3, :3].T, found.normal_b, atol=1e-8)
    between = found.point_b - found.point_a
    assert np.linalg.norm(np.cross(between, found.normal_a), axis=1).max() < 1e-8


# -- input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            (Superovoid((1, 1, 1), section_exponent=0.5, profile_exponent=1.0), Sphere(1.0)),
            {},
            r"a = Superovoid.*must be an ellipsoid",
        ),
        ((Torus(1.0, 0.2), Cylinder(1.0, 1.0)), {}, r"a, b = .*one of them must be an ellipsoid"),
        ((Sphere(1.0), Sphere(1.0)), {"roots": "some"}, r"roots = 'some': must be 'newton' or 'all'"),
        ((Sphere(1.0), Sphere(1.0)), {"attempts": 0}, r"attempts = 0: must be a positive integer"),
        ((Sphere(1.0), Sphere(1.0)), {"rtol": 0.0}, r"rtol = 0.0: must be in \(0, 1\)"),
    ],
)
def test_wrong_input_is_named(arguments, options, message):
    a, b = arguments
    with pytest.raises(ValueError, match=message):
        distance(a, pose(), b, pose((3.0, 0.0, 0.0)), **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[(0, 0, 0)]],), r"FreeForm.control_points: must have shape"),
        ((np.zeros((2, 2, 3)), np.zeros((2, 2))), r"FreeForm.weights: must be positive"),
        ((np.zeros((2, 2, 3)), np.ones((3, 2))), r"FreeForm.weights: must have shape \(2, 2\), found \(3, 2\)"),
        ((np.zeros((2, 2, 3)), None, ([0, 0, 1, 1], [0, 1, 1])), r"FreeForm.knots\[1\]: must be 4 to 4 numbers"),
        ((np.zeros((2, 2, 3)), None, ([0, 1, 1, 2], [0, 0, 1, 1])), r"FreeForm.knots\[0\]: the first and the last 2"),
    ],
)
def test_an_inconsistent_surface_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        FreeForm(*arguments)


# -- experiment ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tables_of_the_experiment_agree_with_the_engine(tmp_path, capsys):
    assert line_geometry.main(frames=4, rounds=1, pairs=2, seed=1, output=tmp_path) == 0
    shown = capsys.readouterr().out
    assert "An ellipsoid moving around a body" in shown and "Random pairs apart" in shown
    for name in ("line_geometry.png", "line_geometry_scenes.png"):
        assert (tmp_path / name).stat().st_size > 10_000
    lines = (tmp_path / "line_geometry.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# superovoid experiment line-geometry --frames 4 --rounds 1 --pairs 2 --seed 1"
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert len(rows) == 4 * len(line_geometry.SCENES)  # in one of the cone's the ellipsoid is right above the apex
    for row in rows:
        if row["scene"] != "free-form":
            assert float(row["all_roots_distance_m"]) == pytest.approx(float(row["engine_distance_m"]), abs=1e-8)


def test_the_paths_of_the_experiment_keep_the_bodies_separate():
    for scene in line_geometry.SCENES:
        for at in line_geometry.poses(scene, 40):
            found = distance(scene.fixed, pose(), scene.moving, at)
            assert found.converged and found.distance > 0.01
