# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Terrains: the solid under a grid of heights."""

import numpy as np
import pytest

from superovoid import Mesh, Sphere, cast_rays, distance

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


def test_heights_that_make_no_solid_are_refused():
    with pytest.raises(ValueError, match="two rows"):
        Mesh.from_heights([[0.0, 1.0]], (1.0, 1.0), -1.0)
    with pytest.raises(ValueError, match="above the base"):
        Mesh.from_heights(np.zeros((2, 2)), (1.0, 1.0), 0.0)
