# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fits of one body: known bodies are recovered."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from superovoid.fitting import fit_superellipsoid, fit_superovoid
from superovoid.fitting.fit import convexity_margin, maximum_taper, measure, sample_hull
from superovoid.fitting.hulls import hull_points
from superovoid.fitting.robot_files import roll_pitch_yaw
from superovoid.robot.urdf import pose_matrix
from superovoid.shapes import Superellipsoid, Superovoid

POSE = np.eye(4)
POSE[:3, :3] = Rotation.from_euler("xyz", [0.4, -0.3, 1.1]).as_matrix()
POSE[:3, 3] = [0.02, -0.01, 0.03]


def place(shape) -> np.ndarray:
    return shape.tessellate(64).vertices @ POSE[:3, :3].T + POSE[:3, 3]


SLOW = pytest.mark.slow


@pytest.mark.ci
@pytest.mark.parametrize("epsilon", [(0.5, 0.7), pytest.param((1.0, 0.3), marks=SLOW), (1.3, 0.8)])
def test_superellipsoid_is_recovered(epsilon):
    shape = Superellipsoid.from_goncalves((0.007, 0.009, 0.014), epsilon)
    fit = fit_superellipsoid(place(shape))
    assert fit.report.mean < 2e-5
    assert fit.report.volume_ratio == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(fit.pose[:3, 3], POSE[:3, 3], atol=5e-5)
    np.testing.assert_allclose(fit.shape.volume(), shape.volume(), rtol=0.02)


@pytest.mark.parametrize("taper", [0.3, pytest.param(-0.2, marks=SLOW)])
@pytest.mark.slow
def test_superovoid_is_recovered(taper):
    shape = Superovoid((0.007, 0.009, 0.014), section_exponent=0.6, profile_exponent=0.7, taper=(taper, taper))
    fit = fit_superovoid(place(shape))
    assert fit.report.mean < 3e-5
    assert fit.shape.convexity().convex
    assert abs(fit.shape.taper[0]) == pytest.approx(abs(taper), abs=0.03)


@pytest.mark.slow
def test_superovoid_with_unequal_tapers_is_recovered_and_convex():
    shape = Superovoid((0.005, 0.005, 0.014), section_exponent=0.4, profile_exponent=1.1, taper=(0.45, -0.1))
    assert shape.convexity().convex
    free = fit_superovoid(place(shape), tapers="free")
    assert free.report.mean < 3e-5
    assert free.shape.convexity().convex
    assert free.shape.profile_exponent >= 1.0


@pytest.mark.slow
def test_fit_is_deterministic_and_translates_with_its_points():
    points = hull_points(
        [
            {"sphere": {"diameter": 0.01}, "centre": [0.004, 0, 0]},
            {"box": {"size": [0.01, 0.008, 0.006]}, "centre": [0, 0, 0]},
        ]
    )
    first, second = fit_superellipsoid(points, samples=300), fit_superellipsoid(points, samples=300)
    assert first.shape == second.shape
    np.testing.assert_array_equal(first.pose, second.pose)
    moved = fit_superellipsoid(points + np.array([1.0, 2.0, 3.0]), samples=300)
    assert moved.report.mean == pytest.approx(first.report.mean, rel=0.05)


def test_measure_returns_distance_of_parallel_surfaces():
    sphere = hull_points([{"sphere": {"diameter": 2.0}, "centre": [0, 0, 0]}])
    report = measure(Superellipsoid((1.1, 1.1, 1.1), section_exponent=1.0, profile_exponent=1.0), np.eye(4), sphere)
    # The facets of the sphere's hull lie up to a sagitta (0.24 %) inside it.
    assert report.mean == pytest.approx(0.1, abs=2.5e-3)
    assert report.inside == pytest.approx(report.maximum)
    assert report.outside == 0.0
    assert report.volume_ratio == pytest.approx(1.1**3, rel=0.01)


def test_maximum_taper_is_the_limit_of_convexity():
    for e2 in (1.45, 1.6, 1.8):
        limit = maximum_taper(e2)
        inside, outside = 0.99 * limit, 1.01 * limit
        assert Superovoid((1, 1, 1), section_exponent=1, profile_exponent=e2, taper=(inside, inside)).convexity().convex
        assert (
            not Superovoid((1, 1, 1), section_exponent=1, profile_exponent=e2, taper=(outside, outside))
            .convexity()
            .convex
        )


@pytest.mark.parametrize("epsilon", [(0.1, 1.0), (0.9, 1.2), (1.5, 1.05)])
@pytest.mark.parametrize("taper", [(0.5, 0.0), (0.2, -0.2), (0.45, 0.3), (0.5, -0.5)])
def test_convexity_margin_agrees_with_shape_convexity(epsilon, taper):
    assert (convexity_margin(epsilon, taper) > 0.0) == Superovoid.from_goncalves(
        (1, 1, 1), epsilon, taper
    ).convexity().convex


def test_hull_samples_lie_on_the_hull_and_are_uniform_by_area():
    hull = ConvexHull(hull_points([{"box": {"size": [1.0, 2.0, 4.0]}, "centre": [0, 0, 0]}]))
    points = sample_hull(hull, 2800, 0)
    assert len(points) == 2800
    half = np.array([0.5, 1.0, 2.0])
    np.testing.assert_allclose(np.abs(points / half).max(axis=1), 1.0, atol=1e-9)
    on_x = np.isclose(np.abs(points[:, 0]), 0.5).mean()
    assert on_x == pytest.approx(16 / 28, abs=0.02)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((3, 3)), "expected \\(n, 3\\) with n >= 4"),
        (np.zeros((5, 2)), "expected \\(n, 3\\)"),
        (np.full((5, 3), np.nan), r"points\[0\]: not finite"),
        (np.random.default_rng(0).random((9, 3)) * [1, 1, 0], "plane or on a line"),
    ],
)
def test_points_without_hull_are_refused(points, message):
    with pytest.raises(ValueError, match=message):
        fit_superellipsoid(points)


def test_invalid_options_are_named():
    cube = hull_points([{"box": {"size": [1, 1, 1]}, "centre": [0, 0, 0]}])
    with pytest.raises(ValueError, match="epsilon_bounds"):
        fit_superellipsoid(cube, epsilon_bounds=(0.5, 2.5))
    with pytest.raises(ValueError, match="tapers = 'some'"):
        fit_superovoid(cube, tapers="some")
    with pytest.raises(ValueError, match=r"parts\[0\]: has \['centre', 'cone'\]"):
        hull_points([{"cone": {}, "centre": [0, 0, 0]}])


def test_roll_pitch_yaw_inverts_pose_matrix():
    angles = [(0.1, 0.2, 0.3), (3.0, -1.2, -3.0), (0.0, np.pi / 2, 0.7), (0.0, -np.pi / 2, -2.0), (-0.5, 0.0, 3.1)]
    for rpy in angles:
        rotation = pose_matrix((0, 0, 0), rpy)[:3, :3]
        np.testing.assert_allclose(pose_matrix((0, 0, 0), roll_pitch_yaw(rotation))[:3, :3], rotation, atol=1e-12)
