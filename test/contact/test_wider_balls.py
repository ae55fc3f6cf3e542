# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Balls that touch bodies from inside, and depths proved by them."""

import mpmath
import numpy as np
import pytest

from superovoid_ros import Superovoid, distance
from superovoid_ros.contact.superovoids import wider_balls
from superovoid_ros.contact.superovoids.certificate import tangent_ball
from superovoid_ros.contact.superovoids.wider_balls import narrowed
from superovoid_ros.experiments.judges import polytope
from superovoid_ros.shapes.kernels import support_function, surface

from draws import few_or_many


def unit(rng, count=None):
    n = rng.normal(size=3 if count is None else (count, 3))
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


def random_shape(rng):
    epsilon = rng.uniform(0.05, 1.95, 2) if rng.random() < 0.7 else 10.0 ** rng.uniform(-2.5, 0.29, 2)
    taper = rng.uniform(-0.5, 0.5, 2) * rng.choice([0.0, 0.1, 1.0], 2)
    taper = taper[[0, 0]] if rng.random() < 0.3 else taper
    return Superovoid(np.exp(rng.uniform(-1.5, 1.5, 3)), epsilon, taper)


def point_somewhere(rng, shape):
    n = unit(rng)
    if rng.random() < 0.3:
        n[rng.integers(3)] *= 10.0 ** rng.uniform(-8.0, 0.0)
    return support_function.support_candidate(shape._packed, tuple(n / np.linalg.norm(n)), 1e-13)


@few_or_many(150, 20_000)
def test_balls_lie_in_bodies_of_all_exponents_with_dents_and_without(draws):
    rng = np.random.default_rng(0)
    wider = dents = 0
    for _ in range(draws):
        shape = random_shape(rng)
        f = point_somewhere(rng, shape)
        x = np.array(surface.position(shape._packed, f))
        g = np.array(surface.gradient(shape._packed, f))
        n = g / np.linalg.norm(g)
        radius = narrowed(shape._packed, f, float(min(shape.size) * 10.0 ** rng.uniform(-2.0, 0.3)))
        wider += radius > 1.5 * tangent_ball(shape._packed, f)
        dents += shape._packed[surface.DENTED] != 0.0
        near = n + rng.normal(size=(300, 3)) * np.exp(rng.uniform(-12.0, 0.0, (300, 1)))
        d = np.vstack([unit(rng, 300), near / np.linalg.norm(near, axis=1)[:, None]])
        assert shape.implicit(x - radius * n + radius * (1.0 - 1e-9) * d).max() < 1e-9, (shape, f)
    assert wider > 40  # else they would be true and worthless
    assert dents > 20


def test_a_ball_of_a_sphere_is_the_sphere():
    sphere = Superovoid((0.7, 0.7, 0.7), (1.0, 1.0), (0.0, 0.0))
    f = support_function.support_candidate(sphere._packed, (0.36, 0.48, 0.8), 1e-13)
    assert narrowed(sphere._packed, f, 5.0) == pytest.approx(0.7, rel=1e-8)
    assert narrowed(sphere._packed, f, 0.5) == 0.5


@pytest.mark.parametrize("p", [1.0 + 1e-6, 1.3, 2.0, 2.0 + 1e-9, 3.7, 40.0, 2000.0])
def test_bends_of_powers_are_no_less_than_the_true_ones(p):
    rng = np.random.default_rng(1)
    with mpmath.workdps(80):
        for _ in range(60):
            x = float(rng.choice([rng.random(), 10.0 ** rng.uniform(-11.0, 0.0), 1.0 - 10.0 ** rng.uniform(-9.0, 0.0)]))
            least = x - float(rng.choice([2.0 * rng.random(), 10.0 ** rng.uniform(-9.0, 0.0)])) * x
            most = max(abs(least), x + (1.0 - x) * float(rng.choice([rng.random(), 10.0 ** rng.uniform(-9.0, 0.0)])))
            bend = wider_balls._bend(p, x, x**p, least, most)
            exponent, at = mpmath.mpf(p), mpmath.mpf(x)
            slope = exponent * at ** (exponent - 1)
            for y in (least, most, *rng.uniform(least, most, 3)):
                step = mpmath.mpf(float(y)) - at
                rise = abs(at + step) ** exponent - at**exponent - slope * step
                # What is below 1e-300 may be 0.
                assert rise <= bend * step * step / 2 * (1 + mpmath.mpf(10) ** -12) + 1e-300, (x, least, most, y)


def test_largest_eigenvalue_is_bounded_closely():
    rng = np.random.default_rng(2)
    ratios = []
    for _ in range(300):
        xx, yy, zz, xz, yz = rng.normal(size=5) * 10.0 ** rng.uniform(-3.0, 1.0, 5)
        true = np.linalg.eigvalsh([[xx, 0.0, xz], [0.0, yy, yz], [xz, yz, zz]])
        found = wider_balls._largest(xx, yy, zz, xz, yz)
        assert found >= true[2] - 1e-12 * np.abs(true).max()
        ratios.append((found - true[2]) / np.abs(true).max())
    assert np.quantile(ratios, 0.9) < 0.05


@few_or_many(4, 300)
def test_depths_proved_by_balls_are_those_of_an_independent_reference(draws):
    rng = np.random.default_rng(3)
    by_balls = 0
    for _ in range(draws):
        bodies = [Superovoid((1.0, 1.0, 1.0), rng.uniform(0.4, 1.1, 2), (0.0, 0.0)) for _ in range(2)]
        pose_b = np.eye(4)
        pose_b[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        pose_b[:3, :3] *= np.sign(np.linalg.det(pose_b[:3, :3]))
        pose_b[:3, 3] = 1.9 * unit(rng)
        found = distance(bodies[0], np.eye(4), bodies[1], pose_b)
        supports = [
            polytope.posed(polytope.superovoid(np.ones(3), np.array(body.epsilon), np.zeros(2)), pose)
            for body, pose in zip(bodies, (np.eye(4), pose_b), strict=True)
        ]
        true = polytope.signed_distance(*supports, size=1.0, directions=np.eye(3), tolerance=1e-9)
        assert found.lower <= true.upper + 1e-12
        assert found.upper >= true.lower - 1e-12
        by_balls += found.distance < -0.05 and found.status == 0
    assert by_balls > draws // 6
