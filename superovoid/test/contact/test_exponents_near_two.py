# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Exponents at the upper limit: intervals contain distances computed in ball arithmetic with 256 bits.

Directions and points of the bodies enclose the distances to 1e-22. For the overlap, the direction gives the lower
bound, and `superovoid.checker` proves the upper end of the interval. Next to cones and cylinders, support functions
along the points and the normal bound the distance from below.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Cone, Cylinder, Superovoid, are_closer, distance, distances

LARGEST = 1.999999
# Of A, at the origin, and of B: sizes and exponents; how far the rows of B's rotation are rolled; offset; distance, m.
PAIRS = [
    (
        ((1.09, 0.46, 2.26), (LARGEST, 1.9999)),
        ((2.3, 0.34, 1.19), (LARGEST, LARGEST)),
        (0, (-3.36, 2.2, -0.39), "2.052588193026479950069344363"),
    ),
    (
        ((0.8, 0.72, 1.43), (LARGEST, LARGEST)),
        ((0.8, 0.77, 1.09), (LARGEST, LARGEST)),
        (1, (-0.3, -1.33, 0.94), "0.1832842877855574069125127403"),
    ),
    (
        ((1.85, 0.77, 0.97), (LARGEST, 0.5)),
        ((0.33, 0.48, 0.44), (1.5, LARGEST)),
        (1, (-0.17, 1.27, 0.46), "0.1294832208081946670532025877"),
    ),
    (
        ((0.99, 0.82, 0.35), (LARGEST, 0.5)),
        ((1.04, 1.53, 2.08), (1.0, LARGEST)),
        (0, (-0.48, -1.98, -0.32), "-0.05244459310611502671708202875"),
    ),
]


@pytest.mark.parametrize("of_a, of_b, placed", PAIRS)
def test_intervals_at_the_largest_exponent_contain_the_distance(of_a, of_b, placed):
    turn, offset, text = placed
    true = Fraction(text)
    pose_b = np.eye(4)
    pose_b[:3, :3], pose_b[:3, 3] = np.roll(np.eye(3), -turn, axis=0), offset  # a rotation without rounding
    a, b = (Superovoid.from_goncalves(*of_a), np.eye(4)), (Superovoid.from_goncalves(*of_b), pose_b)
    size = max(*of_a[0], *of_b[0])
    many = distances([a[0]] * 1200, a[1], b[0], b[1], rtol=1e-12)  # enough for SIMD lanes
    for found in (distance(*a, *b, rtol=1e-12), distance(*b, *a, rtol=1e-12), many[0], many[-1]):
        assert Fraction(float(found.lower)) <= true <= Fraction(float(found.upper))
        assert found.upper - found.lower < 1e-12 * size
    for offset_of_threshold in (-1e-13 * size, 1e-13 * size):
        threshold = float(true) + offset_of_threshold
        verdict = are_closer([a[0]], a[1], [b[0]], b[1], threshold)[0]
        assert not verdict.closer or true < Fraction(threshold)
        assert not verdict.farther or true >= Fraction(threshold)


@pytest.mark.parametrize("core", (Cone(0.2, 0.5), Cylinder(0.2, 0.5)))
def test_no_direction_proves_more_than_the_upper_bound(core):
    rng = np.random.default_rng(1)
    for _ in range(100):
        section_exponent, profile_exponent = 2.0 - 10.0 ** rng.uniform(-6.0, -1.0, 2)
        crest = Superovoid((0.1, 0.15, 0.08), section_exponent=section_exponent, profile_exponent=profile_exponent)
        pose, n = np.eye(4), rng.normal(size=3)
        n /= np.linalg.norm(n)
        turn = pose[:3, :3] = Rotation.random(random_state=rng).as_matrix()
        pose[:3, 3] = core.support(n) + 10.0 ** rng.uniform(-9.0, -4.0) * n - turn @ crest.support(-turn.T @ n)
        found = distance(core, np.eye(4), crest, pose)
        assert found.distance > 0.0
        for direction in (n, found.normal, (found.point_b - found.point_a) / found.distance):
            lowest = pose[:3, 3] + turn @ crest.support(-turn.T @ direction)
            assert direction @ (lowest - core.support(direction)) <= found.upper + 1e-15
