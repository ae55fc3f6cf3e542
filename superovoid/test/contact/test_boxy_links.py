# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Separate bodies with nearly flat faces and nearly sharp edges, as fitted to the links of a hand."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from superovoid import Body, Scene, Superovoid, distance, distances

LINK = Superovoid((0.0188, 0.0135, 0.0098), section_exponent=0.026, profile_exponent=0.032)
TIP = Superovoid((0.0098, 0.0357, 0.0109), section_exponent=0.224, profile_exponent=0.021)
COUNT = 60


@pytest.fixture(scope="module")
def poses():
    """Return poses of the tip next to a link at the origin, turned about an axis parallel to its own."""
    rng = np.random.default_rng(11)
    poses = np.tile(np.eye(4), (COUNT, 1, 1))
    poses[:, :3, :3] = Rotation.from_euler(
        "yx", np.column_stack([rng.uniform(-2, 2, COUNT), rng.normal(0, 0.05, COUNT)])
    ).as_matrix()
    poses[:, :3, 3] = rng.normal(size=(COUNT, 3)) * (0.05, 0.01, 0.04)
    apart = np.array([distance(LINK, np.eye(4), TIP, pose).distance > 1e-4 for pose in poses])
    return poses[apart]


def excess(shape, point):
    """Return how far a point is outside a superovoid, as a share of the distance from the middle to the surface."""
    a, (x, y, z) = shape.semi_axes, point
    z = z / a[2]
    x, y = x / a[0], y / a[1]
    p, s = 2.0 / shape.section_exponent, 2.0 / shape.profile_exponent
    largest = max(abs(x), abs(y))
    section = largest * (abs(x / largest) ** p + abs(y / largest) ** p) ** (1.0 / p)
    largest = max(section, abs(z))
    return largest * ((section / largest) ** s + abs(z / largest) ** s) ** (1.0 / s) - 1.0


def gap_by_minimisation(pose, start):
    """Return the least distance of a point of each body that SLSQP finds, from a start."""

    def in_frames(points):
        return points[:3], pose[:3, :3].T @ (points[3:] - pose[:3, 3])

    def room(points):
        return [-excess(shape, local) for shape, local in zip((LINK, TIP), in_frames(points), strict=True)]

    found = minimize(
        lambda points: 1e3 * np.linalg.norm(points[3:] - points[:3]),
        start,
        method="SLSQP",
        constraints={"type": "ineq", "fun": room},
        options={"ftol": 1e-12, "maxiter": 300},
    )
    shares = 1.0 / (1.0 + np.maximum(-np.array(room(found.x)), 0.0))
    x, y = (share * local for share, local in zip(shares, in_frames(found.x), strict=True))
    return np.linalg.norm(pose[:3, :3] @ y + pose[:3, 3] - x)


def test_distances_are_proved_and_no_nearer_points_are_found(poses):
    assert len(poses) > 30
    for pose in poses:
        result = distance(LINK, np.eye(4), TIP, pose)
        assert result.certified, result
        start = np.concatenate([0.98 * result.point_a, pose[:3, 3] + 0.98 * (result.point_b - pose[:3, 3])])
        assert result.lower - 1e-15 <= gap_by_minimisation(pose, start) <= result.upper + 1e-4


def test_lanes_scenes_and_single_calls_agree_within_their_intervals(poses):
    many = np.concatenate([poses] * (600 // len(poses) + 1))
    lanes = distances(LINK, np.eye(4), TIP, many)[: len(poses)]
    scene = Scene([Body("link", "link", LINK), Body("tip", "tip", TIP)])
    for pose, row in zip(poses, lanes, strict=True):
        scene.set_link_poses({"link": np.eye(4), "tip": pose})
        single, (warm,) = distance(LINK, np.eye(4), TIP, pose), scene.query()
        for other in (row, warm):
            assert max(single.lower, other.lower) <= min(single.upper, other.upper)
            assert other.status == single.status
            np.testing.assert_allclose(other.normal, single.normal, atol=1e-6)
