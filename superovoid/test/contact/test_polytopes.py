# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Boxes, capsules and hulls: the expanding polytope and the scan of vertices against closed forms and references."""

import math

import numpy as np
import pytest

from superovoid import Box, ConvexMesh, Status, distance
from superovoid.compiled import vertex_scan
from superovoid.compiler.jit import kernel
from superovoid.contact.convex import epa
from superovoid.contact.minkowski import difference


def pose(translation=(0.0, 0.0, 0.0), rotation=None):
    matrix = np.eye(4)
    matrix[:3, 3] = translation
    if rotation is not None:
        matrix[:3, :3] = rotation.as_matrix()
    return matrix


def hull_of_sphere(rng, count):
    points = rng.normal(size=(count, 3))
    return ConvexMesh(points / np.linalg.norm(points, axis=1, keepdims=True) * rng.uniform(0.3, 1.0, 3))


# --- vertices -----------------------------------------------------------------------------------------------------


@kernel
def _highest_vertex(pool, blocks, n):
    return vertex_scan.highest_in_blocks(pool, 1, blocks, n[0], n[1], n[2])


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 16, 17, 100])
def test_the_scan_finds_the_first_of_the_highest_vertices(count):
    rng = np.random.default_rng(count)
    for _ in range(50):
        vertices = rng.integers(-2, 3, (count, 3)).astype(float)  # many of exactly equal height
        n = rng.integers(-2, 3, 3).astype(float)
        blocks = -(-count // vertex_scan.LANES)
        filled = np.concatenate([vertices, np.tile(vertices[0], (blocks * vertex_scan.LANES - count, 1))])
        of_blocks = filled.reshape(-1, vertex_scan.LANES, 3).transpose(0, 2, 1)
        pool = np.concatenate([[np.nan], of_blocks.ravel()])
        heights = vertices @ n
        found = _highest_vertex(pool, blocks, n)
        assert (found if found < count else 0) == heights.argmax()


def test_a_hull_of_any_size_has_the_support_of_its_vertices():
    rng = np.random.default_rng(0)
    for count in (5, 40, 41, 300, 700):
        body = hull_of_sphere(rng, count)
        n = rng.normal(size=(200, 3))
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        assert body.support_value(n) == pytest.approx((n @ body.vertices.T).max(axis=1), abs=1e-15)


# --- depths -------------------------------------------------------------------------------------------------------


def test_depth_of_boxes_along_their_axes_is_exact():
    a, b = Box((0.8, 0.6, 0.4)), Box((0.2, 0.4, 0.6))
    found = distance(a, pose(), b, pose((0.35, 0.1, -0.05)))
    assert found.distance == pytest.approx(-0.15, abs=1e-15)
    assert found.normal == pytest.approx([1.0, 0.0, 0.0], abs=1e-15)
    assert found.status & ~Status.NON_UNIQUE == Status.CERTIFIED
    assert found.upper - found.lower < 1e-13


def test_the_foot_on_a_face_of_many_triangles_is_found():
    # The faces of the cube are grids: the point nearest to the origin lies on one of many coplanar triangles.
    grid = np.stack(np.meshgrid(*3 * [np.linspace(-0.5, 0.5, 6)]), axis=-1).reshape(-1, 3)
    found = distance(ConvexMesh(grid), pose(), Box((0.2, 0.2, 0.2)), pose((0.45, 0.21, -0.13)))
    assert found.distance == pytest.approx(-0.15, abs=1e-14)
    assert found.status.certified
    assert found.point_b - found.point_a == pytest.approx([-0.15, 0.0, 0.0], abs=1e-12)


# --- proof --------------------------------------------------------------------------------------------------------


def _height(*corners):
    w = difference.new_workspace()
    w[:4, difference.SIMPLEX.m : difference.SIMPLEX.m + 3] = corners
    return epa.height_of_tetrahedron(w)


def test_height_of_a_tetrahedron_is_the_radius_of_its_ball():
    p, q, r, s = (1.0, 1.0, 1.0), (-1.0, -1.0, 1.0), (-1.0, 1.0, -1.0), (1.0, -1.0, -1.0)
    assert _height(p, q, r, s) == pytest.approx(1.0 / math.sqrt(3.0), abs=1e-15)
    assert _height(q, p, r, s) == _height(p, q, r, s)


def test_a_tetrahedron_proves_nothing_unless_it_contains_the_origin():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(500):
        corners = rng.normal(size=(4, 3))
        weights = np.linalg.solve(np.vstack([corners.T, np.ones(4)]), [0.0, 0.0, 0.0, 1.0])
        height = _height(*map(tuple, corners))
        assert (height > 0.0) == (weights > 0.0).all()
        inside += height > 0.0
        if height > 0.0:
            n = rng.normal(size=(200, 3))
            n /= np.linalg.norm(n, axis=1, keepdims=True)
            assert (n @ corners.T).max(axis=1).min() >= height - 1e-12
    assert inside > 20
    flat = [(1.0, 0.0, 0.0), (-1.0, 1.0, 0.0), (-1.0, -1.0, 0.0), (0.2, 0.1, 1e-17)]
    assert _height(*flat) == -math.inf


@pytest.mark.parametrize("height", (0.1, 0.2, 0.25, 0.5, 0.9, 1.0 - 2.0**-20))
def test_boxes_that_touch_along_parallel_edges_are_certified(height):
    box, beside = Box((1.0, 1.0, 1.0)), np.eye(4)
    for x, y in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)):
        beside[:3, 3] = x, y, height
        found = distance(box, np.eye(4), box, beside)
        assert found.certified and found.lower <= 0.0 <= found.upper < 1e-12
        assert found.statistics.iterations < 100
