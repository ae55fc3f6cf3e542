# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Balls that touch bodies from inside, and depths proved by them."""

import mpmath
import numpy as np
import pytest

from superovoid import Superovoid, distance
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids import majorants, newton, tangent_balls
from superovoid.contact.superovoids.tangent_balls import tangent_ball
from superovoid.shapes.kernels import support_function, surface

from draws import any_superovoid, few_or_many, unit


def point_somewhere(rng, shape):
    n = unit(rng)
    if rng.random() < 0.3:
        n[rng.integers(3)] *= 10.0 ** rng.uniform(-8.0, 0.0)
    return support_function.support_candidate(shape._packed_row, tuple(n / np.linalg.norm(n)), 1e-13)


@few_or_many(150, 20_000)
def test_balls_lie_in_bodies_of_all_exponents_with_concavities_and_without(draws):
    rng = np.random.default_rng(0)
    wide = concavities = 0
    for _ in range(draws):
        shape = any_superovoid(rng)
        f = point_somewhere(rng, shape)
        x = np.array(surface.position(shape._packed_row, f))
        g = np.array(surface.gradient(shape._packed_row, f))
        n = g / np.linalg.norm(g)
        radius = tangent_ball(shape._packed_row, f, float(min(shape.semi_axes) * 10.0 ** rng.uniform(-2.0, 0.3)))
        wide += radius > 0.01 * min(shape.semi_axes)
        concavities += shape._packed_row[surface.HAS_CONCAVITY] != 0.0
        near = n + rng.normal(size=(300, 3)) * np.exp(rng.uniform(-12.0, 0.0, (300, 1)))
        d = np.vstack([unit(rng, 300), near / np.linalg.norm(near, axis=1)[:, None]])
        assert shape.implicit(x - radius * n + radius * (1.0 - 1e-9) * d).max() < 1e-9, (shape, f)
    assert wide > 40  # otherwise the balls would be valid and worthless
    assert concavities > 20


def on_unit_curve(a, b, p):
    """Return the point of |a|^p + |b|^p = 1 along (a, b)."""
    most = np.maximum(np.abs(a), np.abs(b))
    norm = most * ((np.abs(a) / most) ** p + (np.abs(b) / most) ** p) ** (1.0 / p)
    return a / norm, b / norm


def boundary(shape, up, around):
    """Return points of the boundary from two angles, and their layers."""
    C, S = on_unit_curve(np.cos(around), np.sin(around), 2.0 / shape.section_exponent)
    r, w = on_unit_curve(np.cos(up), np.sin(up), 2.0 / shape.profile_exponent)
    x = shape.semi_axes[0] * (1.0 + shape.taper[0] * w) * r * C
    y = shape.semi_axes[1] * (1.0 + shape.taper[1] * w) * r * S
    return np.stack([x, y, shape.semi_axes[2] * w], axis=-1), (C, S, r, w)


def widest_ball(shape, up, around):
    """Return the least radius found of a ball that touches there and goes through another point of the boundary.

    A wider ball contains that point in its interior, so it leaves the body. A ball that touches at x and goes through
    y has the radius |x - y|^2 / (2 n . (x - y)).
    """
    x = boundary(shape, up, around)[0]
    n = shape.gradient(x)
    n /= np.linalg.norm(n)

    def radii(angles):
        d = x - boundary(shape, angles[:, 0], angles[:, 1])[0]
        square, height = (d * d).sum(axis=1), d @ n
        met = (square > 1e-8 * min(shape.semi_axes) ** 2) & (height > 1e-14)  # rounding dominates nearer ones
        return np.where(met, square / (2.0 * np.where(met, height, 1.0)), np.inf)

    turns = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    ring = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    near = np.array([up, around]) + np.outer(np.logspace(-4.0, -0.3, 9), ring).reshape(-1, 2)
    grid = np.meshgrid(np.linspace(-0.5 * np.pi, 0.5 * np.pi, 41), around + np.linspace(0.0, 2.0 * np.pi, 80))
    angles = np.vstack([near, np.stack(grid, axis=-1).reshape(-1, 2)])
    found = radii(angles)
    best, at, step = found.min(), angles[found.argmin()], 0.1
    while step > 1e-6:
        angles = at + step * np.vstack([ring, 0.5 * ring, 0.2 * ring])
        found = radii(angles)
        if found.min() < best:
            best, at = found.min(), angles[found.argmin()]
        else:
            step *= 0.4
    return best


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("size", "epsilon", "taper", "up", "around", "tight"),
    [
        # The taper: the width at the far end of the ball, squared, and as a factor of the mixed terms.
        ((1.0, 1.2, 0.1), (1.0, 1.0), (0.5, 0.0), 0.9, 0.02, 0.99),
        # Flat ends, p = 2 and above.
        ((0.78, 2.4, 1.22), (1.0, 0.1), (0.0, -0.2), -0.738, 0.2, 0.75),
        ((3.75, 6.17, 1.435), (0.987, 0.095), (-0.42, -0.185), -0.52, 0.046, 0.9),
        # Ends of the box: the least coordinate for p < 2, the largest for p > 2.
        ((0.58, 2.2, 1.23), (1.51, 1.23), (0.42, 0.0), 0.145, 0.77, 0.65),
        ((2.4, 1.4, 0.25), (0.59, 1.71), (-0.47, 0.06), -0.81, 1.12, 0.97),
        # Its lower end, farther from the equator than the upper one.
        ((3.2, 0.7, 0.22), (0.95, 0.5), (-0.15, 0.0), 0.001, 0.02, 0.92),
    ],
)
def test_no_ball_is_wider_than_the_body_if_single_terms_decide(size, epsilon, taper, up, around, tight, swapped):
    if swapped:
        size, taper, around = (size[1], size[0], size[2]), taper[::-1], 0.5 * np.pi - around
    shape = Superovoid.from_goncalves(size, epsilon, taper)
    _, (C, S, r, w) = boundary(shape, up, around)
    p, s = 2.0 / epsilon[0], 2.0 / epsilon[1]
    Cd, Sd, rd, wd = C ** (p - 1.0), S ** (p - 1.0), r ** (s - 1.0), np.sign(w) * np.abs(w) ** (s - 1.0)
    f = surface.SurfacePoint(*map(float, (C, S, Cd, Sd, r, w, rd, wd)))
    widest = widest_ball(shape, up, around)
    # Radii up to the widest and beyond: no call may return a ball that leaves the body.
    found = [tangent_ball(shape._packed_row, f, float(k * widest)) for k in (0.95, 1.0, 1.01, 1.03, 1.1, 1.3, 1.7, 2.5)]
    assert max(found) <= widest * (1.0 + 1e-9)
    assert max(found) > tight * widest  # otherwise the terms would be far from deciding


def test_a_ball_of_a_sphere_is_the_sphere():
    sphere = Superovoid((0.7, 0.7, 0.7), section_exponent=1.0, profile_exponent=1.0, taper=(0.0, 0.0))
    f = support_function.support_candidate(sphere._packed_row, (0.36, 0.48, 0.8), 1e-13)
    assert tangent_ball(sphere._packed_row, f, 5.0) == pytest.approx(0.7, rel=1e-8)
    assert tangent_ball(sphere._packed_row, f, 0.5) == 0.5


@pytest.mark.parametrize("p", [1.0 + 1e-6, 1.3, 2.0, 2.0 + 1e-9, 3.7, 40.0, 2000.0])
def test_bends_of_powers_are_no_less_than_the_true_ones(p):
    rng = np.random.default_rng(1)
    with mpmath.workdps(80):
        for _ in range(60):
            x = float(rng.choice([rng.random(), 10.0 ** rng.uniform(-11.0, 0.0), 1.0 - 10.0 ** rng.uniform(-9.0, 0.0)]))
            least = x - float(rng.choice([2.0 * rng.random(), 10.0 ** rng.uniform(-9.0, 0.0)])) * x
            most = max(abs(least), x + (1.0 - x) * float(rng.choice([rng.random(), 10.0 ** rng.uniform(-9.0, 0.0)])))
            bend = majorants._bend(p, x, x**p, least, most)
            exponent, at = mpmath.mpf(p), mpmath.mpf(x)
            slope = exponent * at ** (exponent - 1)
            for y in (least, most, *rng.uniform(least, most, 3)):
                step = mpmath.mpf(float(y)) - at
                rise = abs(at + step) ** exponent - at**exponent - slope * step
                # Values below 1e-300 may be 0.
                assert rise <= bend * step * step / 2 * (1 + mpmath.mpf(10) ** -12) + 1e-300, (x, least, most, y)


def test_largest_eigenvalue_is_bounded_closely():
    rng = np.random.default_rng(2)
    ratios = []
    for _ in range(300):
        xx, yy, zz, xz, yz = rng.normal(size=5) * 10.0 ** rng.uniform(-3.0, 1.0, 5)
        true = np.linalg.eigvalsh([[xx, 0.0, xz], [0.0, yy, yz], [xz, yz, zz]])
        found = tangent_balls._bound_eigenvalue(xx, yy, zz, xz, yz)
        assert found >= true[2] - 1e-12 * np.abs(true).max()
        ratios.append((found - true[2]) / np.abs(true).max())
    assert np.quantile(ratios, 0.9) < 0.05


def test_the_depth_by_balls_of_spheres_is_exact_wherever_they_touch():
    """Spheres touched at points other than a contact: the balls are the spheres, with a known depth."""
    rng = np.random.default_rng(4)
    a, b = (Superovoid((size, size, size))._packed_row for size in (0.7, 0.5))
    for _ in range(20):
        points = [np.abs(unit(rng)) for _ in range(2)]
        f_a, f_b = (surface.surface_point_towards(body, tuple(n)) for body, n in zip((a, b), points, strict=True))
        distance_of_centres = rng.uniform(0.3, 1.1)
        pair = Pair(a, b, np.eye(3), tuple(map(float, distance_of_centres * unit(rng))))
        contact = newton.observe(pair, f_a, f_b, 0.5)
        radii = tangent_balls.balls_in(pair, f_a, f_b, 1.2)
        assert sum(radii) == pytest.approx(1.2, rel=1e-8)
        depth = tangent_balls.depth_of_balls(contact, *radii)
        assert depth == pytest.approx(1.2 - distance_of_centres, abs=1e-8)
        assert depth <= 1.2 - distance_of_centres + 1e-15


def test_overflowing_slopes_prove_no_depth():
    """Near the middle of a flat end with section exponent 82, the square of the slope overflows.

    A translation through the side is shorter than that through the end.
    """
    a = Superovoid(
        (1.4794312188261942, 0.4658721701567315, 0.6348508258107346),
        section_exponent=0.5855833221009442,
        profile_exponent=0.02434086298402334,
        taper=(0.4271322243085709, 0.4271322243085709),
    )
    b = Superovoid(
        (0.00148080030258628, 0.01661689541102246, 0.008413249910612597),
        section_exponent=0.1441510666940874,
        profile_exponent=1.132045069789183,
        taper=(0.05971576047514826, 0.05971576047514826),
    )
    pose_a, pose_b = np.eye(4), np.eye(4)
    pose_a[:3, :3] = [
        [-0.63450655561296, -0.7536478247085602, 0.17151206137246738],
        [-0.2821809369889502, 0.019288714329376122, -0.9591672764953764],
        [0.7195660843065186, -0.6569953590487342, -0.22490386502728038],
    ]
    pose_b[:3] = [
        [-0.6768351099869732, -0.5086976592602203, 0.5320910874578667, 0.007445337594332583],
        [0.5745220308175979, -0.8169469127345907, -0.05022128909779518, -0.12109003868137662],
        [0.46023762340137453, 0.2717065204160439, 0.8451963658045748, -0.0174068024695003],
    ]
    found = distance(a, pose_a, b, pose_b)
    # By numpy's sections and a simplex search over directions: 0.485085.
    assert found.distance == pytest.approx(-0.485085, abs=1e-5)
