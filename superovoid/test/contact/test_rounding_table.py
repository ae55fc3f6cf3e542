# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The table of docs/explanation/numerics.md, section 4: measured with forty digits, derived, allowed.

`u` is the rounding of one operation, 2^-53. ``python -m pytest -s superovoid/test/contact/test_rounding_table.py``
prints the measured values.
"""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, Cone, Cylinder, Sphere, Superovoid, Torus, distance
from superovoid.compiled import powers, simd
from superovoid.compiled.vector import dot, norm, rotate, sub
from superovoid.compiler.jit import kernel
from superovoid.contact.superovoids import pair_solver
from superovoid.shapes.kernels import surface
from superovoid.shapes.kernels.rounding import EPS, allowance
from superovoid.shapes.poses import as_poses

mp = mpmath.mp
U = 2.0**-53


@pytest.fixture(autouse=True)
def forty_digits():
    with mpmath.workdps(40):
        yield


def exact_numbers(values):
    return [mpmath.mpf(float(v)) for v in values]


def length(v):
    return mpmath.sqrt(sum(x * x for x in v))


def show(name, most, derived):
    print(f"{name}: {float(most):.2f} of {derived:.2f} u")
    assert most <= derived


def exponents(rng, count):
    """Return uniform exponents, and some next to 0, 1 and 2."""
    near = 10.0 ** rng.uniform(-6.0, -1.0, count)
    any_ = rng.uniform(0.02, 1.98, count)
    return np.choose(rng.integers(0, 4, count), [any_, near, 1.0 + rng.choice([-1.0, 1.0], count) * near, 2.0 - near])


def rotation_with_zeros(rng):
    """Return any rotation, or one about an axis by any angle, as small as 1e-16."""
    if rng.random() < 0.5:
        return Rotation.random(rng=rng).as_matrix()
    return Rotation.from_rotvec(np.eye(3)[rng.integers(3)] * 10.0 ** rng.uniform(-16.0, 0.5)).as_matrix()


def unlike_numbers(rng, count=3):
    """Return a vector whose components have any sizes."""
    return rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(-12.0, 0.0, count)


# -- powers ------------------------------------------------------------------------------


power_of_lanes = kernel(simd.in_lanes(powers.power))


@pytest.mark.parametrize("power", [powers.power, power_of_lanes], ids=["libm", "lanes"])
def test_a_power_loses_two_roundings_and_three_of_its_logarithm(power):
    """exp errs by up to 2 u, log by up to 2 u of itself, the product by u of it: (2 + 3 |log y|) u."""
    rng = np.random.default_rng(1)
    most = 0.0
    for _ in range(200):
        x = float(
            rng.choice([rng.uniform(0.0, 1.0), 1.0 - 10.0 ** rng.uniform(-16.0, -1.0), 10.0 ** rng.uniform(-190, 0)])
        )
        exponent = float(10.0 ** rng.uniform(-3.0, 6.0))
        log_y = mpmath.mpf(exponent) * mpmath.log(mpmath.mpf(x))
        if -700.0 < log_y < 0.0:
            error = abs(mpmath.mpf(float(power(x, exponent))) / mpmath.exp(log_y) - 1) / U
            most = max(most, error / (2 + 3 * abs(log_y)))
    show("power, share of (2 + 3 |log y|) u", most, 1.0)


@kernel
def exp_of_lanes(y):
    return simd.exp(y)


@kernel
def log_of_lanes(x):
    return simd.log(x)


@kernel
def log_1p_of_lanes(x):
    return simd.log_1p(x)


def half_ulp(x):
    """Return the largest rounding error of a result x, in u."""
    return 2.0 ** np.floor(np.log2(np.abs(x)))


def loss_of_sum(low, high, x, x_errs):
    """Return low + x high and its loss in u, of values with losses in u; `x_errs` is the relative error of x."""
    (value, lost), (other, other_lost) = low, high
    product = x * other
    lost = lost + np.abs(x) * other_lost + (1.0 + x_errs) * np.abs(product)
    return value + product, lost + np.abs(value + product)


def estrin(terms, x, x_errs, pairings):
    """Return a polynomial and its rounding, in u: `pairings` rounds of pairs of terms, then Horner's scheme."""
    sums = [(np.full_like(x, term), np.zeros_like(x)) for term in terms]
    for _ in range(pairings):
        pairs = [loss_of_sum(low, high, x, x_errs) for low, high in zip(sums[::2], sums[1::2], strict=False)]
        sums = [*pairs, *sums[2 * len(pairs) :]]
        x, x_errs = x * x, 2.0 * x_errs + 1.0
    value = sums[-1]
    for low in sums[-2::-1]:
        value = loss_of_sum(low, value, x, x_errs)
    return value


def truncation(approximate, function, x):
    """Return the largest relative error of a formula without rounding, in u."""
    return max(float(abs(approximate(v) / function(v) - 1)) / U for v in map(mpmath.mpf, map(float, x)))


def lost_by_exp():
    """Bound the loss of exp: y - k ln2 is exact, a multiple of the last place of y, and no larger than y."""
    r = np.linspace(-0.5, 0.5, 20000) * math.log(2.0)
    tail, lost = estrin(simd._E, r, 0.0, 2)
    curved = r * r * tail
    lost = r * r * lost + 2.0 * np.abs(curved)  # r r, and times the tail
    lost += half_ulp(r) * np.abs(np.expm1(r))  # r itself, high - low
    lost += np.abs(curved) + half_ulp(np.abs(r) + np.abs(curved))  # curved - low, high + ...
    series = truncation(
        lambda v: 1 + v + v * v * sum(mpmath.mpf(e) * v**i for i, e in enumerate(simd._E)), mpmath.exp, r[::100]
    )
    return np.max((lost + half_ulp(np.exp(r))) / np.exp(r)) + series


def lost_by_log(exponents, f, f_errs=0.0):
    """Bound the loss of log: f, k times the high part of ln2, and the error of their sum, added back, are exact."""
    s, s_errs = f / (2.0 + f), 1.0 + half_ulp(2.0 + f) / (2.0 + f)
    square_errs = 2.0 * s_errs + 1.0
    tail, lost = estrin(simd._L, s * s, square_errs, 1)
    tail, lost = s * s * tail, s * s * (lost + (square_errs + 1.0) * np.abs(tail))
    curved = s * (f - tail)
    lost = np.abs(s) * (lost + np.abs(f - tail)) + (s_errs + 1.0) * np.abs(curved)

    def by_series(v):
        ratio = v / (2 + v)
        return v - ratio * (v - sum(mpmath.mpf(e) * ratio ** (2 * i + 2) for i, e in enumerate(simd._L)))

    series = truncation(by_series, lambda v: mpmath.log(1 + v), f[::100])
    most = 0.0
    for k in exponents:
        value = k * math.log(2.0) + np.log1p(f)
        sums = np.abs(curved) + abs(k) * simd._LN2_LOW  # low - curved, and its sum with the error of the first sum
        all_lost = lost + (2.0 if k else 1.0) * sums + f_errs / (1.0 + f) + half_ulp(value)
        most = max(most, np.max(all_lost / np.abs(value)))
    return most + series


def measured_loss(function, exact_function, x):
    return max(abs(mpmath.mpf(float(function(float(v)))) / exact_function(mpmath.mpf(float(v))) - 1) / U for v in x)


def test_exp_and_log_of_lanes_lose_no_more_than_their_operations():
    """Term by term: exp 1.7 u, log 2.0 u, log(1 + x) 2.8 u, since x - 1 is rounded if x is below a half."""
    rng = np.random.default_rng(9)
    f = np.linspace(math.sqrt(0.5) - 1.0, math.sqrt(2.0) - 1.0, 20001)
    near_one = 1.0 + rng.choice([-1.0, 1.0], 200) * 10.0 ** rng.uniform(-15.0, -0.4, 200)
    seams = math.log(2.0) * (rng.integers(-1000, 1000, 200) + 0.5) * (1.0 + 1e-15 * rng.integers(-9, 9, 200))
    roots = math.sqrt(0.5) * 2.0 ** rng.integers(-3, 4, 200) * (1.0 + 1e-15 * rng.integers(-9, 9, 200))
    derived = lost_by_exp()
    assert derived <= 1.7
    show("exp in lanes", measured_loss(exp_of_lanes, mpmath.exp, [*rng.uniform(-700.0, 700.0, 200), *seams]), derived)
    derived = lost_by_log([0, 1, -1, 2, -2, 3, -3, 1023, -1022], f)
    assert derived <= 2.0
    x = [*10.0 ** rng.uniform(-300.0, 300.0, 200), *near_one, *roots]
    show("log in lanes", measured_loss(log_of_lanes, mpmath.log, x), derived)
    derived = max(lost_by_log([0], f[f > 0.0]), lost_by_log([1], f[f < 0.0], 0.25))
    assert derived <= 2.8
    x = [*rng.uniform(0.0, 1.0, 200), *rng.uniform(0.414, 0.5, 200), *10.0 ** rng.uniform(-300.0, 0.0, 100)]
    show("log(1 + x) in lanes", measured_loss(log_1p_of_lanes, mpmath.log1p, x), derived)


# -- points of superovoids ------------------------------------------------------------------------------


def dual_norm(n1, n2, q):
    big, small = max(abs(n1), abs(n2)), min(abs(n1), abs(n2))
    return big * (1 + (small / big) ** q) ** (1 / q) if small else big


def lost_by_layer(log_1p_errs):
    """Return the greatest loss of h(n) - n . x of a layer, u, for all exponents and ratios, from errors of log(1 + x).

    With x the ratio to the power p, L = |log x| and s = x / (1 + x), a relative error of x counts with s / p, of the
    root in full, of the smaller coordinate's dual with s. The exponent, 2 / (2 - e), is off by 2 u, its inverse by u;
    p = 1 is the worst. The duals: a sum, a product and a quotient; of the smaller ones two more that differ.
    """
    most = 0.0
    for size in np.linspace(0.0, 40.0, 4001):
        x = np.exp(-size)
        s, log = x / (1.0 + x), np.log1p(x)
        by_power = s * (2.0 + 3.0 * size + 2.0 * size)
        by_root = 2.0 + log_1p_errs(x) + 2.0 * log  # exp; log; the product and the inverse of the exponent
        most = max(most, by_power + by_root + 3.0 + 2.0 * s)
    return most


def test_a_point_of_a_unit_curve_agrees_with_its_dual():
    """h(n) - n . x of the computed n and x, of a layer: 10.4 u, and as much outside the curve; 16 u are allowed."""
    rng = np.random.default_rng(2)
    scalar = lost_by_layer(lambda x: 1.0 / (1.0 + x) + 2.0 * np.log1p(x))  # the sum, and log
    lanes = lost_by_layer(lambda x: 2.8 * np.log1p(x))
    derived = max(scalar, lanes)
    assert derived <= 10.4
    lost = outside = 0.0
    for e in exponents(rng, 150):
        q = 2.0 / (2.0 - e)
        n1, n2 = unlike_numbers(rng, 2) if rng.random() < 0.5 else rng.normal(size=2)
        c, s, cd, sd = exact_numbers(surface.unit_curve_from_normal(float(n1), float(n2), q, 1.0 - 0.5 * e))
        e = mpmath.mpf(float(e))
        h = dual_norm(cd, sd, 2 / (2 - e))
        lost = max(lost, abs(h - (c * cd + s * sd)) / h / U)
        outside = max(outside, (dual_norm(c, s, 2 / e) - 1) / U)
    show("layer, h(n) - n . x", lost, derived)
    show("layer, outside the curve", outside, derived)


@kernel
def point_and_normal(b, n1, n2, n3, r):
    f = surface._point_from_normal_at(b, (n1, n2, n3), 1.0, 1.0, r)
    x, g = surface.position(b, f), surface.gradient(b, f)
    return x, (g[0] / norm(g), g[1] / norm(g), g[2] / norm(g)), f


def support_of(size, e, taper, n):
    """Return h(n) of a convex body with 40 digits: phi is concave in the height."""
    a1, a2, a3, e1, e2, t = map(mpmath.mpf, (*size, *e, taper))
    q, s = 2 / (2 - e1), 2 / e2
    g = dual_norm(a1 * n[0], a2 * n[1], q)
    if t == 0 or g == 0:
        return dual_norm(g, a3 * n[2], 2 / (2 - e2))

    def slope(w):
        v = abs(w)
        r = (1 - v**s) ** (1 / s)
        if r == 0:
            return -w
        return a3 * n[2] + g * (t * r - mpmath.sign(w) * (v / r) ** (s - 1) * (1 + t * w))

    low, high = mpmath.mpf(-1), mpmath.mpf(1)
    for _ in range(140):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return a3 * n[2] * low + (1 - abs(low) ** s) ** (1 / s) * g * (1 + t * low)


@pytest.mark.ci
def test_points_of_superovoids_reach_support_values_to_36_eps():
    """69 u of the radius: two layers of 16 u, 4 u of coordinates, 13 u of gradient and product, 20 u of the taper."""
    rng = np.random.default_rng(3)
    most = 0.0
    for e in exponents(rng, 40).reshape(-1, 2):
        size = 10.0 ** rng.uniform(-3.0, 0.0, 3)
        taper = float(rng.choice([0.0, rng.uniform(-1.0, 1.0)]) * min(0.5, (1.0 - e[1] / 2.0) * 2.0 ** (e[1] / 2.0)))
        body = Superovoid.from_goncalves(size, e, (taper, taper))
        x, n, _ = point_and_normal(body._row, *map(float, rng.normal(size=3)), float(rng.uniform(0.0, 1.0)))
        n = exact_numbers(n)
        lost = support_of(size, e, taper, n) - sum(a * b for a, b in zip(n, exact_numbers(x), strict=True))
        most = max(most, lost / body._row[surface.RADIUS] / U)
    show("point of a superovoid", most, 69.0)


# -- poses and sums ------------------------------------------------------------------------------


def test_relative_poses_and_turned_points_round_as_derived():
    """(1 + 3 sqrt 3) u of |c|, 9 u of the product of rotations, 3 sqrt 3 u of a turned point."""
    rng = np.random.default_rng(4)
    centre = product = turned = 0.0
    for _ in range(150):
        poses = np.tile(np.eye(4), (2, 1, 1))
        for pose in poses:
            pose[:3, :3], pose[:3, 3] = rotation_with_zeros(rng), unlike_numbers(rng)
        rotation = np.empty((3, 3))
        c = exact_numbers(pair_solver.relative_pose(*poses, rotation))
        a, b = (mpmath.matrix(pose[:3, :3].tolist()) for pose in poses)
        offset = mpmath.matrix(
            [mpmath.mpf(float(y)) - mpmath.mpf(float(x)) for x, y in zip(*poses[:, :3, 3], strict=True)]
        )
        true = a.T * offset
        centre = max(centre, length([x - y for x, y in zip(c, true, strict=True)]) / length(offset) / U)
        error = mpmath.matrix(rotation.tolist()) - a.T * b
        product = max(product, mpmath.sqrt(sum(v * v for v in error)) / U)
        y = unlike_numbers(rng)
        image = mpmath.matrix(rotation.tolist()) * mpmath.matrix(y.tolist())
        found = exact_numbers(rotate(rotation, tuple(y)))
        turned = max(turned, length([p - q for p, q in zip(found, image, strict=True)]) / length(exact_numbers(y)) / U)
    show("offset of the bodies", centre, 6.2)
    show("product of the rotations", product, 9.0)
    show("point that is turned", turned, 5.2)


def test_a_normalised_pose_is_a_rotation_to_11_eps():
    rng = np.random.default_rng(5)
    most = 0.0
    for size in (0.0, 3e-16, 3e-15, 1e-13, 9e-9, 2e-8, 2e-7):
        for _ in range(10):
            pose = np.eye(4)
            pose[:3, :3] = rotation_with_zeros(rng) @ (np.eye(3) + size * rng.uniform(-1.0, 1.0, (3, 3)))
            given = mpmath.matrix(pose[:3, :3].tolist())
            nearest = given
            for _ in range(6):
                nearest = (nearest * 3 - nearest * (nearest.T * nearest)) / 2
            error = mpmath.matrix(as_poses("pose", pose)[:3, :3].tolist()) - nearest
            most = max(most, mpmath.sqrt(sum(v * v for v in error)) / U)
    show("rotation of a pose", most, 22.0)


def test_the_last_sums_of_a_distance_round_by_12_u():
    """x_B - x_A by u of both, n . u by 3 u, its length by 3 u, subtraction of the balls by 2 u."""
    rng = np.random.default_rng(6)
    most = 0.0
    for _ in range(300):
        x, y, n = unlike_numbers(rng), unlike_numbers(rng), rng.normal(size=3)
        n /= np.linalg.norm(n)
        u = [b - a for a, b in zip(exact_numbers(x), exact_numbers(y), strict=True)]
        scale = length(exact_numbers(x)) + length(exact_numbers(y))
        found = sub(tuple(y), tuple(x))
        along = abs(
            mpmath.mpf(float(dot(tuple(n), found))) - sum(a * b for a, b in zip(exact_numbers(n), u, strict=True))
        )
        most = max(most, along / scale / U, abs(mpmath.mpf(float(norm(found))) - length(u)) / scale / U)
    show("last sums", most, 12.0)


def test_the_sum_of_all_losses_is_below_the_allowance():
    """In EPS, |c|, R_A, R_B: the lines of the table in `rounding`, points of superovoids or of other cores."""
    lines = ((11, 11, 11), (3.1, 0, 4.5), (0, 0, 2.6), (6, 6, 6))
    for points in ((0, 36, 36), (8, 20, 20)):
        c, a, b = (sum(column) for column in zip(*lines, points, strict=True))
        assert c <= allowance(0.0, 0.0, 1.0) / EPS
        assert max(a, b) <= allowance(1.0, 0.0, 0.0) / EPS == allowance(0.0, 1.0, 0.0) / EPS


def test_two_spheres_round_by_less_than_a_tenth_of_the_allowance():
    """(1 + 2.5) u of the offset, 2 u of the radii, against 64 u and 128 u."""
    rng = np.random.default_rng(7)
    most = 0.0
    for _ in range(60):
        radii = 10.0 ** rng.uniform(-6.0, 0.0, 2)
        at = np.eye(4)
        at[:3, 3] = unlike_numbers(rng)
        found = distance(Sphere(radii[0]), np.eye(4), Sphere(radii[1]), at).distance
        c = length(exact_numbers(at[:3, 3]))
        true = c - sum(exact_numbers(radii))
        most = max(most, abs(mpmath.mpf(found) - true) / (U * (mpmath.mpf("3.5") * c + 2 * sum(exact_numbers(radii)))))
    show("spheres, share of what is derived", most, 1.0)


# -- convexity, bounding volumes ------------------------------------------------------------------------------


def test_the_limit_of_equal_tapers_rounds_by_less_than_its_allowance():
    """2^(e2/2) by 2 u, 1 - e2/2 and the product by u each: 4 u, against 8 eps = 16 u."""
    rng = np.random.default_rng(10)
    most = 0.0
    for e2 in exponents(rng, 300).tolist():
        found = (1.0 - 0.5 * e2) * math.pow(2.0, 0.5 * e2)
        half = mpmath.mpf(e2) / 2
        true = (1 - half) * mpmath.mpf(2) ** half
        most = max(most, abs(found - true) / true / U)
    show("limit of equal tapers", most, 4.0)


@pytest.mark.parametrize(
    "shape", [Box((0.2, 0.4, 1.4)), Capsule(0.1, 0.7), Cylinder(0.1, 0.3), Cone(0.3, 0.7), Torus(0.7, 0.1)], ids=repr
)
def test_bounding_spheres_contain_the_farthest_points(shape):
    rng = np.random.default_rng(11)
    for _ in range(20):
        scale = 10.0 ** rng.uniform(-3.0, 3.0)
        values = {name: scale * np.array(value) for name, value in vars(shape).items() if not name.startswith("_")}
        made = type(shape)(*(tuple(v) if v.ndim else float(v) for v in values.values()))
        radius = mpmath.mpf(made.bounding_sphere().radius)
        if isinstance(made, Box):
            farthest = length(exact_numbers(made.lengths)) / 2
        elif isinstance(made, Torus):
            farthest = mpmath.mpf(made.major_radius) + mpmath.mpf(made.minor_radius)
        else:
            half = mpmath.mpf(made.length) / 2
            farthest = length([mpmath.mpf(made.radius), half])
            if isinstance(made, Capsule):
                farthest = mpmath.mpf(made.radius) + half
        assert farthest <= radius <= farthest * (1 + mpmath.mpf(10) ** -14)


def test_bounding_spheres_contain_superovoids_in_ball_arithmetic():
    """Check the bound between other heights in balls; the roundings of r, hypot and powers are below 1e-12."""
    flint = pytest.importorskip("flint")
    arb = flint.arb
    rng = np.random.default_rng(12)

    def farthest_distance(a, b, p):
        if p <= 2:
            return a.max(b)
        k = 2 * p / (p - 2)
        return (a**k + b**k) ** (1 / k)

    with flint.ctx.workprec(90):
        for e in exponents(rng, 4).reshape(-1, 2):
            taper = rng.uniform(-0.5, 0.5, 2)
            size = 10.0 ** rng.uniform(-2.0, 0.0, 3)
            sphere = Superovoid.from_goncalves(size, e, taper).bounding_sphere()
            p, s = 2 / arb(float(e[0])), 2 / arb(float(e[1]))
            heights = np.sin(np.linspace(0.0, 0.5 * math.pi, 1201)).tolist()
            for sign in (1, -1):
                for low, high in itertools.pairwise(heights):
                    r = (1 - arb(low) ** s) ** (1 / s) if low else arb(1)
                    across = arb(0)
                    for w in (sign * low, sign * high):
                        a, b = (arb(float(x)) * (1 + arb(float(t)) * w) for x, t in zip(size, taper, strict=False))
                        across = across.max(farthest_distance(a, b, p))
                    z0, a3 = arb(float(sphere.centre[2])), arb(float(size[2]))
                    along = abs(sign * a3 * low - z0).max(abs(sign * a3 * high - z0))
                    assert ((r * across) ** 2 + along**2).upper() <= arb(sphere.radius) ** 2


def test_boxes_contain_superovoids_to_36_eps_of_their_radius():
    """Half extents are support values along the axes; culling widens them by 1e-12 of the largest coordinate."""
    flint = pytest.importorskip("flint")
    from superovoid.checker import balls
    from superovoid.checker.superquadric import Superquadric

    rng = np.random.default_rng(13)
    most = 0.0
    with balls.precision():
        for e in exponents(rng, 8).reshape(-1, 2):
            taper = rng.uniform(-0.5, 0.5, 2)
            size = 10.0 ** rng.uniform(-2.0, 0.0, 3)
            shape = Superovoid.from_goncalves(size, e, taper)
            lower, upper = shape.aabb()
            body = Superquadric(size, e, taper)
            for i in range(3):
                for sign, bound in ((1.0, upper[i]), (-1.0, -lower[i])):
                    h = body.support_above(balls.exact_vector(sign * np.eye(3)[i]))
                    most = max(most, float((h - flint.arb(float(bound))).upper()) / shape._row[surface.RADIUS] / U)
    show("support values along axes", most, 72.0)
