# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Boxes, cylinders, capsules and spheres apart: what the points and the normal prove, with formulas of this file alone.

The points are within their bodies, so they bound the distance from above; the normal bounds it from below by support
functions. Points that are nearest are each other's projections.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, Cylinder, Sphere, Status, distance
from superovoid.contact.convex import alternating
from superovoid.shapes.kernels.kinds import kind_of


def support_value(shape, n):
    if isinstance(shape, Box):
        return 0.5 * np.abs(n) @ shape.lengths
    if isinstance(shape, Sphere):
        return shape.radius
    along = 0.5 * shape.length * abs(n[2])
    return along + shape.radius * (1.0 if isinstance(shape, Capsule) else np.hypot(n[0], n[1]))


def projected(shape, p):
    """The point of a whole body that is nearest to a point outside."""
    if isinstance(shape, Box):
        return np.clip(p, -0.5 * np.array(shape.lengths), 0.5 * np.array(shape.lengths))
    if isinstance(shape, Cylinder):
        across = p[:2] * min(1.0, shape.radius / max(np.hypot(p[0], p[1]), 1e-300))
        return np.array([*across, np.clip(p[2], -0.5 * shape.length, 0.5 * shape.length)])
    centre = np.zeros(3)
    if isinstance(shape, Capsule):
        centre[2] = np.clip(p[2], -0.5 * shape.length, 0.5 * shape.length)
    return centre + (p - centre) * min(1.0, shape.radius / max(np.linalg.norm(p - centre), 1e-300))


def random_shape(rng):
    sizes = rng.uniform(0.1, 1.0, 3) * rng.choice([1.0, 0.01], 3)
    made = Box(2.0 * sizes), Cylinder(*sizes[:2]), Capsule(*sizes[:2]), Sphere(sizes[0])
    return made[rng.choice(4, p=[0.35, 0.4, 0.15, 0.1])]


def in_frame(pose, p):
    return pose[:3, :3].T @ (p - pose[:3, 3])


@pytest.mark.parametrize("turn", ["any", "quarter", "nearly parallel"])
def test_points_and_normal_prove_the_distance(turn):
    rng = np.random.default_rng(3)
    apart = 0
    for _ in range(200):
        a, b = random_shape(rng), random_shape(rng)
        turned = {
            "any": Rotation.random(random_state=rng),
            "quarter": Rotation.from_euler("xyz", 90 * rng.integers(0, 4, 3), degrees=True),
            "nearly parallel": Rotation.from_rotvec(10.0 ** -rng.uniform(3, 15) * rng.normal(size=3)),
        }[turn]
        pose_a, b_in_a = np.eye(4), np.eye(4)
        pose_a[:3, :3], pose_a[:3, 3] = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
        b_in_a[:3, :3] = np.round(turned.as_matrix()) if turn == "quarter" else turned.as_matrix()
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        touching = support_value(a, n) + support_value(b, b_in_a[:3, :3].T @ n)
        b_in_a[:3, 3] = n * touching * rng.choice([0.9, 1.0 + 1e-9, 1.01, 2.0])
        pose_b = pose_a @ b_in_a
        found = distance(a, pose_a, b, pose_b)
        other = distance(b, pose_b, a, pose_a)
        assert (other.distance, other.lower, other.upper) == (found.distance, found.lower, found.upper)
        assert np.array_equal(other.point_a, found.point_b) and np.array_equal(other.normal, -found.normal)
        if not found.distance > 0.0:
            continue
        apart += 1
        assert found.certified
        x, y = in_frame(pose_a, found.point_a), in_frame(pose_b, found.point_b)
        assert np.allclose(projected(a, x), x, rtol=0.0, atol=1e-13)
        assert np.allclose(projected(b, y), y, rtol=0.0, atol=1e-13)
        gap = np.linalg.norm(found.point_b - found.point_a)
        normal = pose_a[:3, :3].T @ found.normal
        proved = normal @ b_in_a[:3, 3] - support_value(a, normal) - support_value(b, -b_in_a[:3, :3].T @ normal)
        assert found.lower - 1e-13 <= gap <= found.upper + 1e-13
        assert proved >= found.lower - 1e-9 and gap - proved <= 2.1e-9
        if gap > 1e-3 and found.status == Status.CERTIFIED:
            back = projected(a, in_frame(pose_a, found.point_b)), projected(b, in_frame(pose_b, found.point_a))
            assert max(np.linalg.norm(back[0] - x), np.linalg.norm(back[1] - y)) <= 1e-6 * gap
    assert apart > 60


def at(x, y, z, rotation=None):
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    if rotation is not None:
        pose[:3, :3] = rotation.as_matrix()
    return pose


def test_cores_reach_as_far_as_the_points_that_far_ones_are_projected_on():
    """What a direction proves rests on how far a core reaches along it: as far as its nearest point to one far away."""
    rng = np.random.default_rng(4)
    for shape in (Box((2.0, 4.0, 6.0)), Cylinder(0.7, 3.0), Capsule(0.2, 1.4), Sphere(0.4)):
        row = shape._row
        for n in Rotation.random(20, rng=rng).as_matrix()[:, 0]:
            reach = alternating._support_value(row, kind_of(row), tuple(n.tolist()))
            assert n @ alternating._projected(row, kind_of(row), tuple(1e9 * n)) == pytest.approx(reach, abs=1e-8)


def test_sides_of_crossed_cylinders_and_corners_of_boxes_have_closed_forms():
    tilted = Rotation.from_rotvec([0.7, 0.0, 0.0])
    found = distance(Cylinder(0.2, 3.0), np.eye(4), Cylinder(0.3, 2.0), at(0.9, 0.05, -0.1, tilted))
    assert found.distance == pytest.approx(0.4, abs=1e-9) and found.status == Status.CERTIFIED
    assert found.normal == pytest.approx([1.0, 0.0, 0.0], abs=1e-7)
    found = distance(Box((2.0, 4.0, 6.0)), np.eye(4), Box((1.0, 1.0, 1.0)), at(1.8, 2.9, 4.1))
    assert found.distance == pytest.approx(np.linalg.norm([0.3, 0.4, 0.6]), abs=1e-14)
    assert found.point_a == pytest.approx([1.0, 2.0, 3.0], abs=1e-14)
