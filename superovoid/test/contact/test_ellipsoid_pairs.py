# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Depths of two ellipsoids, proved without a search by a ball in their Minkowski difference.

The reference is the closed support function |L n| in numpy, which shares no code with the kernels.
"""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.spatial.transform import Rotation

from superovoid import Superovoid
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids.ellipsoid_pairs import depth_of_ellipsoids

from draws import few_or_many, unit


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


@pytest.mark.ci
@few_or_many(40, 5000)
@pytest.mark.parametrize("stretch", [0.3, 1.4, 5.0])
def test_no_direction_is_below_a_ball_that_is_proved(stretch, draws):
    rng = np.random.default_rng(int(10 * stretch))
    proved = 0
    for _ in range(draws):
        difference = random_difference(rng, stretch)
        n = unit(rng) * 10.0 ** rng.uniform(-3.0, 0.0, 3)
        n /= np.linalg.norm(n)
        # Radii about those of curvature, which decide the answer.
        radius = float(np.min(difference.semi_axes) * np.exp(rng.uniform(-1.0, 1.5)))
        depth = depth_of_ellipsoids(difference.pair, tuple(n), radius)
        if depth > -np.inf:
            ball = difference.support_point(n) - radius * n, radius
            assert depth == pytest.approx(radius - np.linalg.norm(ball[0]), abs=1e-13)
            proved += 1
            assert difference.least_over(ball, rng) > -1e-12
    assert draws // 10 < proved < draws - draws // 10


def is_proved(difference, n, radius):
    return depth_of_ellipsoids(difference.pair, n, radius) > -np.inf


def test_a_ball_in_the_difference_of_two_balls_is_as_wide_as_possible():
    balls = Difference([np.full(3, 0.5), np.full(3, 0.7)], np.eye(3), np.array([0.1, 0.2, 0.3]))
    assert is_proved(balls, (0.6, 0.0, 0.8), 1.19)
    assert not is_proved(balls, (0.6, 0.0, 0.8), 1.21)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_widest_ball_of_the_intermediate_ellipsoid_is_found(order):
    """The semi-axes of K are sums of the semi-axes of an ellipsoid and a sphere."""
    semi_axes = np.array([0.5, 1.0, 2.0])
    sizes = [semi_axes, np.full(3, 0.7)]
    difference = Difference([sizes[i] for i in order], np.eye(3), np.zeros(3))
    for n, widest in (((0.0, 0.0, 1.0), 1.2**2 / 2.7), ((0.0, 1.0, 0.0), 1.2**2 / 1.7), ((1.0, 0.0, 0.0), 1.199)):
        assert is_proved(difference, n, 0.999 * widest)
        assert not is_proved(difference, n, 1.001 * widest)


def frame_along(v):
    """Return an orthonormal matrix of determinant 1 whose first column is along a vector."""
    axes = np.linalg.qr(np.column_stack([v, np.eye(3)[:, np.abs(v).argsort()[:2]]]))[0]
    axes *= np.sign(axes.T @ v)[0]
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    return axes


def widest_ball(difference, n, rng):
    """Radius of the widest ball that touches the largest ellipsoid K from inside along n."""
    of_a, of_b = np.diag(difference.semi_axes[0]), np.diag(difference.semi_axes[1]) @ difference.turn.T
    frame_a, frame_b = frame_along(of_a @ n), frame_along(of_b @ n)

    def matrix(angle):
        return of_a + frame_a @ Rotation.from_rotvec([angle, 0.0, 0.0]).as_matrix() @ frame_b.T @ of_b

    angles = np.linspace(0.0, 2.0 * np.pi, 65)
    start = angles[np.argmax([np.linalg.det(matrix(angle)) for angle in angles])]
    bracket = (start - 0.1, start + 0.1)
    k = matrix(minimize_scalar(lambda angle: -np.linalg.det(matrix(angle)), bounds=bracket, method="bounded").x)
    x = k.T @ k @ n / np.linalg.norm(k @ n)

    def radius(m):
        m = m / np.linalg.norm(m, axis=-1, keepdims=True)
        off = 1.0 - m @ n
        # Next to n the quotient is one of rounding errors.
        return np.where(off > 1e-6, (np.linalg.norm(m @ k.T, axis=-1) - m @ x) / np.maximum(off, 1e-6), np.inf)

    starts = np.concatenate([unit(rng, 2000), n + 0.01 * unit(rng, 200)])
    starts = starts[np.argsort(radius(starts))[:4]]
    return min(minimize(radius, start, method="Nelder-Mead").fun for start in starts)


def test_the_ball_may_be_as_wide_as_fits_into_the_largest_ellipsoid():
    rng = np.random.default_rng(4)
    for _ in range(20):
        difference = random_difference(rng, 1.4)
        n = unit(rng)
        widest = widest_ball(difference, n, rng)
        assert is_proved(difference, tuple(n), 0.99 * widest)
        assert not is_proved(difference, tuple(n), 1.01 * widest)


def test_the_turn_across_the_normal_widens_the_ellipsoid():
    """Crossed needles: M is wide although neither body is, and only the turn that crosses them shows it."""
    crossed = Difference([np.array([0.1, 4.0, 1.0]), np.array([4.0, 0.1, 1.0])], np.eye(3), np.array([0.0, 0.0, 1.0]))
    along = Difference([np.array([0.1, 4.0, 1.0]), np.array([0.1, 4.0, 1.0])], np.eye(3), np.array([0.0, 0.0, 1.0]))
    up = (0.0, 0.0, 1.0)
    assert depth_of_ellipsoids(crossed.pair, up, 1.5) == pytest.approx(1.0)
    assert not is_proved(along, up, 0.1)
