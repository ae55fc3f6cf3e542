# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bounds over triangles of directions, one by one and in SIMD lanes."""

import numpy as np
import pytest

from superovoid.compiler.jit import kernel
from superovoid.contact.superovoids import direction_lanes as lanes
from superovoid.contact.superovoids import triangles as of

SIZES = (1e-3, 0.05, 0.4, 1.0)
triangle_bound = kernel(of.triangle_bound)  # it divides by zero


def random_triangle(rng, size, inside):
    """Return corners, points of a random polytope furthest along them, and all its points."""
    points = rng.normal(size=(rng.integers(4, 40), 3)) * rng.uniform(0.1, 1.0, 3)
    points += rng.normal(size=3) * (0.1 if inside else 3.0)
    corners = rng.normal(size=3) + size * rng.normal(size=(3, 3))
    corners /= np.linalg.norm(corners, axis=1)[:, None]
    furthest = points[(points @ corners.T).argmax(axis=0)]
    return corners, furthest, points


def as_triangle(corners, furthest):
    return of.Triangle(*(tuple(map(float, row)) for row in (*corners, *furthest)))


@pytest.mark.ci
@pytest.mark.parametrize("inside", [True, False], ids=["origin inside", "origin outside"])
def test_no_direction_of_a_triangle_is_below_its_bound(inside):
    rng = np.random.default_rng(16)
    for size in SIZES:
        for _ in range(100):
            corners, furthest, points = random_triangle(rng, size, inside)
            weights = rng.dirichlet((0.5, 0.5, 0.5), 400)
            directions = weights @ corners
            directions /= np.linalg.norm(directions, axis=1)[:, None]
            least = (directions @ points.T).max(axis=1).min()
            bound = triangle_bound(as_triangle(corners, furthest))
            assert bound <= least + 1e-14 * np.abs(points).max()


def test_bound_of_a_facet_in_the_middle_is_its_distance():
    turns = np.arange(3) * 2.0 * np.pi / 3.0
    for size in SIZES:
        corners = np.column_stack([size * np.cos(turns), size * np.sin(turns), np.ones(3)])
        corners /= np.linalg.norm(corners, axis=1)[:, None]
        assert triangle_bound(as_triangle(corners, 0.3 * corners)) == pytest.approx(0.3 * corners[0, 2], rel=1e-15)


def test_lanes_cut_and_bound_triangles_like_the_scalar_code():
    rng = np.random.default_rng(3)
    buffer = np.zeros(lanes.LENGTH)
    triangles = []
    for i in range(lanes.WIDTH):
        corners, furthest, _ = random_triangle(rng, SIZES[i % len(SIZES)], inside=i % 3 > 0)
        triangles.append((corners, furthest))
        for k in range(3):
            for j in range(3):
                buffer[lanes.AT.corners + k * lanes.CORNER + j * lanes.ROW + i] = corners[k, j]
                buffer[lanes.AT.corners + k * lanes.CORNER + (3 + j) * lanes.ROW + i] = furthest[k, j]
        buffer[lanes.AT.key + i] = triangle_bound(as_triangle(corners, furthest))
    lanes.cut_in_lanes(buffer, lanes.WIDTH, 0.0, False)
    points = np.array([[buffer[lanes.AT.point + j * lanes.ROW + i] for j in range(3)] for i in range(lanes.WIDTH)])
    cores = rng.normal(size=(lanes.WIDTH, 3))
    for j in range(3):
        buffer[lanes.AT.core + j * lanes.ROW :][: lanes.WIDTH] = cores[:, j]
    lanes.bound_parts_in_lanes(buffer, lanes.WIDTH)
    for i, (corners, furthest) in enumerate(triangles):
        triangle = as_triangle(corners, furthest)
        split = of.split_of(triangle, triangle_bound(triangle), 0.0, False)
        assert points[i] == pytest.approx(split.point, abs=1e-9)
        assert buffer[lanes.AT.turns + i] == split.turns
        for edge in range(3):
            ends = [edge, (edge + 1) % 3]
            part = as_triangle([*corners[ends], points[i]], [*furthest[ends], cores[i]])
            assert buffer[lanes.AT.bounds + edge * lanes.CORNER + i] == pytest.approx(triangle_bound(part), rel=1e-9)


def test_first_triangles_cover_every_direction():
    corners = lanes.FAN[lanes.FAN_CELLS]
    shares = np.linalg.solve(corners.transpose(0, 2, 1)[None], np.random.default_rng(0).normal(size=(500, 1, 3, 1)))
    assert ((shares[..., 0] >= -1e-12).all(axis=2).sum(axis=1) >= 1).all()
