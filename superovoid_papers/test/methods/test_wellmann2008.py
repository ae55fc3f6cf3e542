# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Wellmann et al. 2008: the search over one contact direction."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import superovoid
from superovoid import Ellipsoid, HalfSpace, Sphere, Superellipsoid, Superovoid
from superovoid_papers.methods.wellmann2008.direction_search import distance


def pose_at(*position, rotation=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(rotation).as_matrix()
    pose[:3, 3] = position
    return pose


@pytest.mark.ci
@pytest.mark.parametrize("gap", [0.4, 1e-3, -1e-3, -0.4])
def test_spheres_have_the_exact_distance_and_depth(gap):
    centre = np.array([2.0, -3.0, 6.0]) / 7.0 * (1.5 + gap)
    found = distance(Sphere(1.0), np.eye(4), Sphere(0.5), pose_at(*centre))
    assert found.converged
    assert found.distance == pytest.approx(gap, abs=1e-12)
    np.testing.assert_allclose(found.point_b - found.point_a, gap * found.normal, atol=1e-12)
    np.testing.assert_allclose(found.normal, centre / (1.5 + gap), atol=1e-9)


@pytest.mark.parametrize("gap", [0.5, 0.02])
def test_separate_bodies_have_the_certified_distance_from_any_first_direction(gap):
    rng = np.random.default_rng(4)
    right = 0
    for _ in range(30):
        a = Superellipsoid.from_goncalves(rng.uniform(0.6, 1.2, 3), rng.uniform(0.7, 1.2, 2))
        taper = rng.uniform(-0.2, 0.2)
        b = Superovoid.from_goncalves(rng.uniform(0.6, 1.2, 3), rng.uniform(0.7, 1.0, 2), (taper, taper))
        pose_a, pose_b = (pose_at(0.0, 0.0, z, rotation=rng.normal(size=3)) for z in (0.0, 2.6 + gap))
        truth = superovoid.distance(a, pose_a, b, pose_b)
        for direction in (None, rng.normal(size=3) + np.array([0.0, 0.0, 2.0])):
            found = distance(a, pose_a, b, pose_b, direction=direction)
            if found.converged:
                assert found.distance == pytest.approx(truth.distance, abs=1e-8)
                assert np.linalg.norm(np.cross(found.normal, found.point_b - found.point_a)) < 1e-3 * found.distance
                right += 1
    assert right >= 54  # of 60; the search may stall at edges, and then reports no convergence


def test_a_common_normal_of_overlapping_ellipsoids_is_at_least_the_depth():
    rng = np.random.default_rng(5)
    least = 0
    for _ in range(20):
        a, b = (Ellipsoid(rng.uniform(0.6, 1.2, 3)) for _ in range(2))
        pose_a, pose_b = pose_at(0.0, 0.0, 0.0, rotation=rng.normal(size=3)), pose_at(0.3, 0.2, 1.0)
        found, truth = distance(a, pose_a, b, pose_b), superovoid.distance(a, pose_a, b, pose_b)
        assert found.converged and truth.distance < 0.0
        assert found.distance <= truth.distance + 1e-9
        least += found.distance == pytest.approx(truth.distance, abs=1e-8)
    assert least >= 15


def test_a_separating_plane_excludes_a_contact_early():
    a, b = (
        Superellipsoid((1.0, 0.8, 1.2), section_exponent=0.7, profile_exponent=0.9),
        Superellipsoid((0.9, 0.7, 1.1), section_exponent=0.8, profile_exponent=0.6),
    )
    pose = pose_at(0.4, 2.6, 0.2, rotation=(-1.3, 0.2, 0.9))
    apart = distance(a, np.eye(4), b, pose)
    assert apart.converged and apart.distance > 0.0
    assert 1 <= apart.excluded_after < apart.statistics.iterations
    assert distance(a, np.eye(4), b, pose_at(0.2, 0.9, 0.1)).excluded_after is None


def test_swapping_bodies_swaps_the_points_and_reverses_the_normal():
    a, b = (
        Superovoid((1.0, 0.8, 1.2), section_exponent=0.9, profile_exponent=0.9, taper=(0.1, 0.1)),
        Superellipsoid((0.9, 0.7, 1.1), section_exponent=0.8, profile_exponent=0.9),
    )
    pose_a, pose_b = pose_at(0.1, -0.2, 0.3, rotation=(0.4, 1.1, -0.6)), pose_at(0.4, 2.3, 0.2)
    one, other = distance(a, pose_a, b, pose_b), distance(b, pose_b, a, pose_a)
    assert one.converged and other.converged
    assert one.distance == pytest.approx(other.distance, abs=1e-9)
    np.testing.assert_allclose(one.point_a, other.point_b, atol=1e-6)
    np.testing.assert_allclose(one.normal, -other.normal, atol=1e-6)


def test_an_aborted_search_has_not_converged():
    a, b = Ellipsoid((1.0, 0.5, 0.3)), Ellipsoid((0.4, 1.0, 0.6))
    found = distance(a, np.eye(4), b, pose_at(1.0, 2.0, 1.5), max_iterations=1)
    assert not found.converged and found.statistics.iterations == 1
    assert math.isinf(found.upper) and found.status is superovoid.contact.Status.UNPROVEN


def test_coincident_centres_have_a_first_direction():
    found = distance(Ellipsoid((1.0, 0.8, 0.5)), np.eye(4), Ellipsoid((0.9, 0.7, 0.6)), np.eye(4))
    assert np.isfinite(found.distance) and found.distance < 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"atol": -1.0}, "atol = -1.0: must be a positive number"),
        ({"max_iterations": 0}, "max_iterations = 0: must be a positive integer"),
        ({"max_iterations": 2.0}, "max_iterations = 2.0"),
        ({"direction": (0.0, 0.0, 0.0)}, r"direction = \(0.0, 0.0, 0.0\): must be three numbers, not all zero"),
        ({"direction": (1.0, np.nan, 0.0)}, "direction = "),
        ({"direction": "up"}, "direction = 'up'"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        distance(Sphere(1.0), np.eye(4), Sphere(1.0), pose_at(3.0, 0.0, 0.0), **options)


def test_bad_bodies_and_poses_are_named():
    with pytest.raises(TypeError, match="b: must be a Superovoid, found HalfSpace"):
        distance(Sphere(1.0), np.eye(4), HalfSpace(), np.eye(4))
    with pytest.raises(ValueError, match=r"pose_b: must have shape \(4, 4\), found \(3, 3\)"):
        distance(Sphere(1.0), np.eye(4), Sphere(1.0), np.eye(3))
