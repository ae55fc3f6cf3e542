# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Superovoids next to boxes, capsules, cylinders and tori, compared with alternating projections on an ellipsoid."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, Cylinder, Ellipsoid, Status, Superovoid, Torus, distance, distances
from superovoid.contact.lanes.many_pairs import CHUNK

CORES = (Box((0.4, 0.2, 0.6)), Capsule(0.05, 0.6), Cylinder(0.2, 0.5))
HALVES = np.array([0.2, 0.1, 0.3])


def nearest_of_core(core, p):
    """Return the nearest point of a box, a segment or a cylinder."""
    if isinstance(core, Box):
        return np.clip(p, -HALVES, HALVES)
    z = np.clip(p[2], -0.5 * core.length, 0.5 * core.length)
    if isinstance(core, Capsule):
        return np.array([0.0, 0.0, z])
    across = p[:2] * min(1.0, core.radius / np.linalg.norm(p[:2]))
    return np.array([*across, z])


def nearest_of_ellipsoid(axes, p):
    """Return the nearest point of a solid ellipsoid: x_i = a_i^2 p_i / (a_i^2 + t), with t from its equation."""
    squares = axes**2
    if (p**2 / squares).sum() <= 1.0:
        return p
    excess = lambda t: (squares * p**2 / (squares + t) ** 2).sum() - 1.0  # noqa: E731
    t = brentq(excess, 0.0, axes.max() * np.linalg.norm(p), xtol=1e-15)
    return squares * p / (squares + t)


@pytest.mark.parametrize("core", CORES, ids=lambda core: type(core).__name__)
def test_distances_from_ellipsoids_agree_with_alternating_projections(core):
    rng = np.random.default_rng(44)
    ball = core.radius if isinstance(core, Capsule) else 0.0
    for _ in range(30):
        axes, pose = rng.uniform(0.05, 0.3, 3), np.eye(4)
        pose[:3, :3] = Rotation.random(random_state=rng).as_matrix()
        pose[:3, 3] = rng.normal(size=3) * rng.uniform(0.3, 0.8)
        x = nearest_of_core(core, pose[:3, 3])
        for _ in range(3000):
            y = pose[:3, :3] @ nearest_of_ellipsoid(axes, pose[:3, :3].T @ (x - pose[:3, 3])) + pose[:3, 3]
            before, x = x, nearest_of_core(core, y)
            if np.linalg.norm(x - before) < 1e-14:
                break
        expected = np.linalg.norm(y - x)
        found = distance(core, np.eye(4), Ellipsoid(axes), pose)
        if expected < 1e-6:
            assert found.distance + ball < 1e-6
            continue
        assert found.distance + ball == pytest.approx(expected, abs=2e-9)
        assert found.lower <= expected - ball + 1e-10


@pytest.mark.parametrize("half", HALVES)
def test_points_exactly_over_faces_edges_and_axes_are_found(half):
    bump = Superovoid((0.1, 0.12, 0.08), section_exponent=0.9, profile_exponent=1.2)
    for core, top in ((CORES[0], HALVES[2]), (CORES[1], 0.35), (CORES[2], 0.25)):
        pose = np.eye(4)
        pose[2, 3] = top + 0.08 + half
        found = distance(core, np.eye(4), bump, pose)
        assert found.status == Status.CERTIFIED
        assert found.distance == pytest.approx(half, abs=1e-12)
        np.testing.assert_allclose(found.point_a, (0.0, 0.0, top), atol=1e-9)
    pose = np.eye(4)
    pose[0, 3] = 0.05 + 0.1 + half  # next to the middle of the capsule's axis
    assert distance(CORES[1], np.eye(4), bump, pose).distance == pytest.approx(half, abs=1e-12)


@pytest.mark.parametrize(
    ("core", "place"),
    (
        (CORES[0], (0.2, 0.1, 0.43)),
        (CORES[0], (0.2, 0.0, 0.43)),
        (CORES[1], (0.2, 0.0, 0.3)),
        (CORES[2], (0.35, 0.0, 0.25)),
        (CORES[2], (0.2, 0.0, 0.38)),
    ),
)
def test_flats_over_the_border_of_a_face_are_not_unique(core, place):
    flat = Superovoid((0.1, 0.12, 0.08), section_exponent=0.01, profile_exponent=0.01)
    places = np.tile(place, (CHUNK, 1))
    assert distance(core, np.eye(4), flat, place).status == Status.NON_UNIQUE
    assert (distances(core, np.eye(4), flat, places).status == Status.NON_UNIQUE).all()


def test_points_on_sharp_creases_lie_along_the_normal():
    crest = Superovoid((0.1, 0.12, 0.08), section_exponent=1.4, profile_exponent=1.999999)
    rng = np.random.default_rng(5)
    for _ in range(40):
        pose, n = np.eye(4), rng.normal(size=3)
        n /= np.linalg.norm(n)
        pose[:3, :3] = Rotation.random(random_state=rng).as_matrix()
        pose[:3, 3] = HALVES * np.sign(n) + 3e-4 * n - pose[:3, :3] @ crest.support(-pose[:3, :3].T @ n)
        found = distance(CORES[0], np.eye(4), crest, pose)
        assert found.status == Status.CERTIFIED
        u = found.point_b - found.point_a
        assert np.linalg.norm(u - (u @ found.normal) * found.normal) < 10 * 1e-9 * 0.12


def test_points_at_the_end_of_a_flat_are_not_unique():
    flat = Superovoid((0.11, 0.26, 0.4), section_exponent=1e-5, profile_exponent=1.5)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = ((0, 0, -1), (0, 1, 0), (1, 0, 0)), (0.28, -1.18, 0.0)
    assert distance(Cylinder(0.56, 1.54), np.eye(4), flat, pose).status == Status.NON_UNIQUE


def test_normals_next_to_a_torus_point_from_one_point_to_the_other():
    rng = np.random.default_rng(45)
    for _ in range(40):
        body = Superovoid(rng.uniform(0.1, 0.5, 3), section_exponent=rng.uniform(0.2, 1.5), profile_exponent=0.6)
        torus, pose = Torus(rng.uniform(0.3, 0.8), 0.1), np.eye(4)
        pose[:3, :3] = Rotation.random(random_state=rng).as_matrix()
        pose[:3, 3] = rng.normal(size=3)
        found = distance(body, np.eye(4), torus, pose)
        if found.distance > 0.0:
            np.testing.assert_allclose(found.point_b - found.point_a, found.distance * found.normal, atol=1e-8)
