# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Spheres in cylinders, where another library is off by up to 25 mm on the links of robots, and two spheres.

The signed distance of a point from a solid cylinder about z of radius R and half length H is, with s = rho - R and
e = |z| - H: hypot(max(s, 0), max(e, 0)) outside, max(s, e) inside. That of a sphere is less by its radius.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Cylinder, Sphere, distance


def closed_form(radius, cylinder, local):
    side = math.hypot(local[0], local[1]) - cylinder.radius
    end = abs(local[2]) - 0.5 * cylinder.length
    if side <= 0.0 and end <= 0.0:
        return max(side, end) - radius
    return math.hypot(max(side, 0.0), max(end, 0.0)) - radius


# Sizes of links and sensors of Baxter and Tiago; the centre from outside to the middle of the cylinder.
@pytest.mark.parametrize(("radius", "length"), [(0.06, 0.27), (0.041, 0.11), (0.23, 0.05), (0.01, 0.4)])
@pytest.mark.parametrize("ball", [0.001, 0.05, 0.22])
def test_the_distance_is_that_of_the_closed_form_from_outside_to_the_middle(radius, length, ball):
    rng = np.random.default_rng(3)
    cylinder, sphere = Cylinder(radius, length), Sphere(ball)
    overlapping = 0
    for _ in range(200):
        frame = np.eye(4)
        frame[:3, :3] = Rotation.random(rng=rng).as_matrix()
        frame[:3, 3] = rng.uniform(-1.0, 1.0, 3)
        local = rng.uniform(-1.0, 1.0, 3) * (radius + ball, radius + ball, 0.5 * length + ball) * 1.2
        at = np.eye(4)
        at[:3, 3] = frame[:3, :3] @ local + frame[:3, 3]
        expected = closed_form(ball, cylinder, local)
        for found in (distance(cylinder, frame, sphere, at), distance(sphere, at, cylinder, frame)):
            assert found.distance == pytest.approx(expected, abs=1e-14)
            assert found.lower - 1e-15 <= expected <= found.upper + 1e-15
            assert found.status.certified
        overlapping += expected < 0.0
    assert overlapping > 30


def test_a_sphere_on_the_axis_leaves_by_the_nearer_of_side_and_end():
    cylinder = Cylinder(0.1, 0.6)
    for z, expected in ((0.0, -0.1), (0.15, -0.1), (0.25, -0.05), (0.3, 0.0)):
        at = np.eye(4)
        at[2, 3] = z
        assert distance(Sphere(0.02), at, cylinder, np.eye(4)).distance == pytest.approx(expected - 0.02, abs=1e-15)


# --- two spheres ---


def exactly(a, b, radii):
    """The signed distance of two spheres, in integers and rational numbers but for the root, which has 60 digits."""
    square = sum((Fraction(float(q)) - Fraction(float(p))) ** 2 for p, q in zip(a, b, strict=True))
    with localcontext() as digits:
        digits.prec = 60
        root = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()
        return root - sum(map(Decimal, radii))


def place(point, rotation=None):
    pose = np.eye(4)
    pose[:3, :3] = np.eye(3) if rotation is None else rotation
    pose[:3, 3] = point
    return pose


def test_two_spheres_are_as_far_apart_as_their_centres_less_their_radii():
    rng = np.random.default_rng(11)
    for _ in range(400):
        radii = 10.0 ** rng.uniform(-3.0, 1.0, 2)
        a = rng.uniform(-1.0, 1.0, 3)
        b = a + rng.normal(size=3) * sum(radii) * 10.0 ** rng.uniform(-3.0, 1.0)
        pose_a, pose_b = (place(p, Rotation.random(rng=rng).as_matrix()) for p in (a, b))
        found = distance(Sphere(radii[0]), pose_a, Sphere(radii[1]), pose_b)
        error = abs(Decimal(found.distance) - exactly(a, b, radii))
        scale = np.linalg.norm(b - a) + sum(radii)
        assert error <= 4 * np.finfo(float).eps * scale
        assert Decimal(found.lower) <= exactly(a, b, radii) <= Decimal(found.upper)
        assert found.upper - found.lower <= 1e-13 * (scale + np.abs([a, b]).max())
        normal = (b - a) / np.linalg.norm(b - a)
        assert found.normal == pytest.approx(normal, abs=1e-13)
        assert found.point_a == pytest.approx(a + radii[0] * normal, abs=1e-13 * (1.0 + scale))
        assert found.point_b == pytest.approx(b - radii[1] * normal, abs=1e-13 * (1.0 + scale))
        swapped = distance(Sphere(radii[1]), pose_b, Sphere(radii[0]), pose_a)
        assert (swapped.distance, swapped.lower, swapped.upper) == (found.distance, found.lower, found.upper)
        assert np.array_equal(swapped.point_b, found.point_a) and np.array_equal(swapped.normal, -found.normal)
