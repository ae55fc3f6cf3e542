# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Terrains: the solid under a grid of heights."""

import numpy as np
import pytest

from superovoid import Mesh, Sphere, cast_rays, distance, point_distances

HEIGHTS = np.random.default_rng(1).uniform(0.0, 0.5, (4, 5))  # a grid of 1 m along x, 2 m along y
TERRAIN = Mesh.from_heights(HEIGHTS, (4.0, 6.0), -1.0)


def test_rays_hit_grid_points_and_the_middle_of_diagonals():
    rows, columns = (each.ravel() for each in np.indices((3, 4)))
    for shift, heights in (
        (0.0, HEIGHTS[rows, columns]),
        (0.5, 0.5 * (HEIGHTS[rows, columns] + HEIGHTS[rows + 1, columns + 1])),
    ):
        above = np.column_stack([columns + shift - 2.0, 2.0 * (rows + shift) - 3.0, np.full(12, 2.0)])
        inside = (np.abs(above[:, :2]) < (2.0, 3.0)).all(axis=1)
        found = cast_rays(TERRAIN, above[inside], np.tile((0.0, 0.0, -1.0), (inside.sum(), 1)))
        assert inside.sum() >= 6 and np.abs(2.0 - found.distance - heights[inside]).max() < 1e-5


def test_the_solid_has_walls_and_a_base():
    assert (TERRAIN.obb().centre - TERRAIN.obb().half_extents).tolist() == [-2.0, -3.0, -1.0]
    assert distance(TERRAIN, np.eye(4), Sphere(0.1), (2.5, 0.0, -0.5)).distance == pytest.approx(0.4, abs=1e-12)
    assert distance(TERRAIN, np.eye(4), Sphere(0.1), (0.3, 0.2, -1.5)).distance == pytest.approx(0.4, abs=1e-12)
    assert distance(TERRAIN, np.eye(4), Sphere(0.1), (0.3, 0.2, -0.2)).distance < 0.0


@pytest.mark.parametrize(
    ("heights", "lengths", "base", "message"),
    [
        ([[0.0, 1.0]], (1.0, 1.0), -1.0, r"heights: must have at least two rows and two columns, found shape \(1, 2\)"),
        (np.zeros((2, 2)), (1.0, 1.0), 0.0, r"heights: must be above the base at 0\.0 m, found 0\.0"),
        ([[0.0, np.nan], [0.0, 0.0]], (1.0, 1.0), -1.0, r"heights: must be above the base at -1\.0 m, found nan"),
        (np.ma.masked_less([[0.0, -9.0], [0.0, 0.0]], -1.0), (1.0, 1.0), -1.0, r"heights: .* found masked ones"),
        ([[0.0, np.inf], [0.0, 0.0]], (1.0, 1.0), -1.0, r"must be finite, found nan or inf"),
        (np.zeros((2, 2)), (-1.0, 1.0), -1.0, r"lengths = \(-1\.0, 1\.0\): must be two positive numbers \(metres\)"),
        (np.zeros((2, 2)), (0.0, 1.0), -1.0, r"lengths = \(0\.0, 1\.0\): must be two positive numbers"),
        (np.zeros((2, 2)), (np.inf, 1.0), -1.0, r"lengths = \(inf, 1\.0\): must be two positive numbers"),
        (np.zeros((2, 2)), (np.nan, 1.0), -1.0, r"lengths = \(nan, 1\.0\): must be two positive numbers"),
        (np.zeros((2, 2)), (1.0, 1.0, 1.0), -1.0, r"lengths = \(1\.0, 1\.0, 1\.0\): must be two positive numbers"),
        (np.zeros((2, 2)), 1.0, -1.0, r"lengths = 1\.0: must be two positive numbers"),
        (np.zeros((2, 2)), (1.0, 1.0), "deep", r"base = 'deep': must be a finite number \(metres\)"),
        (np.zeros((2, 2)), (1.0, 1.0), -np.inf, r"base = -inf: must be a finite number \(metres\)"),
    ],
)
def test_heights_that_make_no_solid_are_refused(heights, lengths, base, message):
    with pytest.raises(ValueError, match=message):
        Mesh.from_heights(heights, lengths, base)


@pytest.mark.parametrize("steepness", [1e-3, 1.0, 1e3])
def test_points_above_and_below_a_terrain_are_outside_and_inside(steepness):
    rng = np.random.default_rng(5)
    heights = rng.integers(-9, 9, (3, 6)).astype(np.int16)
    lengths = np.array([5.0, 2.0]) / steepness
    terrain = Mesh.from_heights(heights, lengths, -10)
    places = rng.uniform(0.01, 0.99, (200, 2)) * (5, 2)  # of the grid, in cells
    column, row = places.astype(int).T
    along, up = (places % 1.0).T
    low, high = heights[row, column], heights[row + 1, column + 1]
    corner = np.where(along >= up, heights[row, column + 1], heights[row + 1, column])
    share, rest = np.maximum(along, up), np.minimum(along, up)
    surface = low + (corner - low) * share + (high - corner) * rest
    for height, is_inside in ((surface + 1e-6, False), (surface - 1e-6, True), (np.full(200, -10.1), False)):
        points = np.column_stack([(places / (5, 2) - 0.5) * lengths, height])
        assert ((point_distances(terrain, points).distance < 0.0) == is_inside).all()
