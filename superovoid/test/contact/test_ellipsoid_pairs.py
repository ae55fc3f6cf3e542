# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Depths of two ellipsoids, proved without a search by caps about a minimum of their depth.

The reference is the closed support function |L n| in numpy, which shares no code with the kernels.
"""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from superovoid import Superovoid
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids.ellipsoid_pairs import cap_by_ellipsoid

from draws import few_or_many


def unit(rng, count=None):
    n = rng.normal(size=3 if count is None else (count, 3))
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


class Difference:
    """M = A - B of two ellipsoids, A along the axes, B at a pose."""

    def __init__(self, semi_axes, turn, centre):
        self.semi_axes, self.turn, self.centre = semi_axes, turn, centre
        bodies = [Superovoid(size) for size in semi_axes]
        self.pair = Pair(bodies[0]._packed_row, bodies[1]._packed_row, turn, tuple(map(float, centre)))

    def support(self, n):
        """Return h_M(n)."""
        of_a = np.linalg.norm(self.semi_axes[0] * n, axis=-1)
        return of_a + np.linalg.norm(self.semi_axes[1] * (n @ self.turn), axis=-1) - n @ self.centre

    def support_point(self, n):
        x = self.semi_axes[0] ** 2 * n / np.linalg.norm(self.semi_axes[0] * n)
        m = n @ self.turn
        y = self.turn @ (self.semi_axes[1] ** 2 * m / np.linalg.norm(self.semi_axes[1] * m))
        return x + y - self.centre

    def least_over(self, ball, rng):
        """Minimise h_M less the support of a ball (centre, radius): samples, and descents from the lowest."""
        centre, radius = ball

        def excess(n):
            n = n / np.linalg.norm(n, axis=-1, keepdims=True)
            return self.support(n) - n @ centre - radius

        starts = unit(rng, 2000)
        starts = starts[np.argsort(excess(starts))[:4]]
        return min(minimize(excess, start, tol=1e-15).fun for start in starts)


def random_difference(rng, stretch):
    size = np.exp(rng.uniform(-stretch, 0.0, (2, 3)))
    turn = Rotation.random(rng=rng).as_matrix()
    return Difference(size, turn, unit(rng) * rng.uniform(0.0, 1.5) * size.min())


def least_excess_in_cap(difference, ball, n, angle, rng):
    """Return the least sample of h_M less the support of a ball up to an angle from n; most are near the rim."""
    across = unit(rng, 4000)
    across -= (across @ n)[:, None] * n
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    angles = angle * np.sqrt(rng.uniform(0.0, 1.0, 4000))
    angles[::2] = angle * (1.0 - 1e-3 * rng.uniform(0.0, 1.0, 2000))
    m = np.cos(angles)[:, None] * n + np.sin(angles)[:, None] * across
    return np.min(difference.support(m) - m @ ball[0] - ball[1])


@pytest.mark.ci
@few_or_many(40, 5000)
@pytest.mark.parametrize("stretch", [0.3, 1.4, 5.0])
def test_no_direction_on_a_cap_is_below_the_ball(stretch, draws):
    rng = np.random.default_rng(int(10 * stretch))
    whole = part = none = 0
    for _ in range(draws):
        difference = random_difference(rng, stretch)
        n = unit(rng) * 10.0 ** rng.uniform(-3.0, 0.0, 3)
        n /= np.linalg.norm(n)
        point = difference.support_point(n)
        # Radii about those of curvature, which decide the answer.
        radius = float(np.min(difference.semi_axes) * np.exp(rng.uniform(-1.0, 1.5)))
        cap = cap_by_ellipsoid(difference.pair, tuple(n), radius)
        ball = point - radius * n, radius
        if cap.angle == 0.0:
            none += 1
            continue
        assert cap.floor == pytest.approx(radius - np.linalg.norm(ball[0]), abs=1e-13)
        if cap.angle == np.pi:
            whole += 1
            assert difference.least_over(ball, rng) > -1e-12
        else:
            part += 1
            assert least_excess_in_cap(difference, ball, n, cap.angle, rng) > -1e-12
    assert min(whole, none) > draws // 10
    assert part > 0 or stretch > 1.0


def test_a_cap_is_as_wide_as_two_crossing_balls_allow():
    """M of two balls is a ball of radius R, the sum of their radii; a ball that touches it from inside lies within M.

    A ball of a radius beyond R touches along n only: there is no cap.
    """
    balls = Difference([np.full(3, 0.5), np.full(3, 0.7)], np.eye(3), np.array([0.1, 0.2, 0.3]))
    n = (0.6, 0.0, 0.8)
    assert cap_by_ellipsoid(balls.pair, n, 1.19).angle == np.pi
    assert cap_by_ellipsoid(balls.pair, n, 1.21).angle == 0.0


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_widest_ball_of_the_intermediate_ellipsoid_is_found(order):
    """The semi-axes of K are sums of the semi-axes of an ellipsoid and a sphere."""
    semi_axes = np.array([0.5, 1.0, 2.0])
    sizes = [semi_axes, np.full(3, 0.7)]
    difference = Difference([sizes[i] for i in order], np.eye(3), np.zeros(3))
    for n, widest in (((0.0, 0.0, 1.0), 1.2**2 / 2.7), ((0.0, 1.0, 0.0), 1.2**2 / 1.7), ((1.0, 0.0, 0.0), 1.199)):
        assert cap_by_ellipsoid(difference.pair, n, 0.999 * widest).angle == np.pi
        assert cap_by_ellipsoid(difference.pair, n, 1.001 * widest).angle < np.pi


@pytest.mark.parametrize("radius", [1.0, 1.3, 1.45])
def test_caps_of_bodies_of_revolution_are_as_wide_as_possible(radius):
    """About the end of the short axis of an oblate body, h_M falls below the ball as the closed functions cross."""
    a, c = 1.1, 1.5  # M has the semi-axes a, a, c
    difference = Difference([np.array([0.5, 0.5, 0.9]), np.full(3, 0.6)], np.eye(3), np.zeros(3))
    cap = cap_by_ellipsoid(difference.pair, (0.0, 0.0, 1.0), radius)
    angles = np.linspace(1e-3, np.pi, 100001)
    excess = np.hypot(a * np.sin(angles), c * np.cos(angles)) - radius - (c - radius) * np.cos(angles)
    below = np.flatnonzero(excess < 0.0)
    widest = angles[below[0]] if len(below) else np.pi
    assert cap.angle <= widest + 1e-4
    assert cap.angle > 0.9 * widest or widest < 0.01


def test_the_turn_across_the_normal_widens_the_ellipsoid():
    """Crossed needles: M is wide although neither body is, and only the turn that crosses them shows it."""
    crossed = Difference([np.array([0.1, 4.0, 1.0]), np.array([4.0, 0.1, 1.0])], np.eye(3), np.array([0.0, 0.0, 1.0]))
    along = Difference([np.array([0.1, 4.0, 1.0]), np.array([0.1, 4.0, 1.0])], np.eye(3), np.array([0.0, 0.0, 1.0]))
    up = (0.0, 0.0, 1.0)
    cap = cap_by_ellipsoid(crossed.pair, up, 1.5)
    assert cap.angle == np.pi
    assert cap.floor == pytest.approx(1.0)
    assert cap_by_ellipsoid(along.pair, up, 0.1).angle < np.pi
