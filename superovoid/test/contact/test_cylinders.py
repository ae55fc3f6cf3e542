# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cylinders and cones against each other and against hulls of vertices: closed forms."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, Cone, ConvexMesh, Cylinder, Status, distance
from superovoid.shapes.hull import most_above


def pose(translation=(0.0, 0.0, 0.0), rotation=None):
    matrix = np.eye(4)
    matrix[:3, 3] = translation
    if rotation is not None:
        matrix[:3, :3] = rotation.as_matrix()
    return matrix


# --- reference ----------------------------------------------------------------------------------------------------


def support_value(shape, n):
    """Return support values, for rows of directions."""
    if isinstance(shape, Box):
        return 0.5 * np.abs(n) @ np.array(shape.lengths)
    if isinstance(shape, ConvexMesh):
        return (n @ shape.vertices.T).max(axis=-1)
    half, across = 0.5 * shape.length, np.hypot(n[..., 0], n[..., 1])
    if isinstance(shape, Capsule):
        return half * np.abs(n[..., 2]) + shape.radius
    if isinstance(shape, Cone):
        return np.maximum(half * n[..., 2], shape.radius * across - half * n[..., 2])
    return half * np.abs(n[..., 2]) + shape.radius * across


def grid(count):
    """Return directions all over the sphere (a Fibonacci lattice)."""
    i = np.arange(count) + 0.5
    polar, azimuth = np.arccos(1.0 - 2.0 * i / count), math.pi * (1.0 + math.sqrt(5.0)) * i
    return np.column_stack([np.cos(azimuth) * np.sin(polar), np.sin(azimuth) * np.sin(polar), np.cos(polar)])


def check_answer(found, a, pose_a, b, pose_b):
    """Check a certified answer: an interval, and points of the bodies at this distance along the normal."""
    assert not found.status & Status.UNPROVEN
    assert found.lower <= found.distance <= found.upper
    between = np.subtract(found.point_b, found.point_a)
    assert between @ found.normal == pytest.approx(found.distance, abs=1e-9)
    assert np.linalg.norm(between) == pytest.approx(abs(found.distance), abs=1e-9)
    directions = grid(500)
    for shape, place, point in ((a, pose_a, found.point_a), (b, pose_b, found.point_b)):
        local = place[:3, :3].T @ (np.asarray(point) - place[:3, 3])
        assert (directions @ local <= support_value(shape, directions) + 1e-11).all()


OTHERS = {
    "cylinder": Cylinder(0.3, 0.8),
    "disc": Cylinder(1.0, 1e-4),
    "rod": Cylinder(1e-3, 2.0),
    "cone": Cone(0.5, 0.7),
    "box": Box((0.6, 1.0, 0.4)),
    "capsule": Capsule(0.1, 0.6),
    "hull": ConvexMesh(np.random.default_rng(5).normal(size=(30, 3)) * (0.4, 0.3, 0.2)),
}


# --- closed forms -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", [0.3, 1e-6, -1e-6, -0.2])
def test_parallel_cylinders_end_to_end_and_side_by_side(gap):
    a, b = Cylinder(0.3, 1.0), Cylinder(0.2, 0.6)
    turn = Rotation.from_euler("z", 0.7)
    ends = distance(a, pose(), b, pose((0.05, -0.02, 0.8 + gap), turn))
    assert ends.distance == pytest.approx(gap, abs=1e-12)
    assert ends.normal == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)
    assert ends.status & Status.NON_UNIQUE
    sides = distance(a, pose(), b, pose((0.5 + gap, 0.0, 0.05), turn))
    assert sides.distance == pytest.approx(gap, abs=1e-9)
    assert sides.normal == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)
    for found in (ends, sides):
        assert found.lower <= gap + 1e-15 and found.upper >= gap - 1e-15
        assert not found.status & Status.UNPROVEN


@pytest.mark.parametrize("gap", [0.5, 1e-3, -1e-3, -0.1])
def test_crossed_cylinders_touch_with_their_sides(gap):
    a, b = Cylinder(0.3, 4.0), Cylinder(0.2, 4.0)
    found = distance(a, pose(), b, pose((0.5 + gap, 0.3, 0.2), Rotation.from_euler("x", 1.1)))
    assert found.distance == pytest.approx(gap, abs=1e-12)
    assert found.normal == pytest.approx([1.0, 0.0, 0.0], abs=1e-9)
    assert found.upper - found.lower < 1e-9


def test_rims_of_parallel_cylinders_are_a_diagonal_apart():
    a, b = Cylinder(0.3, 1.0), Cylinder(0.2, 0.6)
    found = distance(a, pose(), b, pose((0.5 + 0.03, 0.0, 0.8 + 0.04)))
    assert found.distance == pytest.approx(0.05, abs=1e-13)
    assert found.point_a == pytest.approx([0.3, 0.0, 0.5], abs=1e-9)
    assert found.point_b == pytest.approx([0.33, 0.0, 0.54], abs=1e-9)


def test_an_edge_above_a_disc_has_its_points_on_the_disc():
    # The disc reaches neither end of the edge.
    disc, box = Cylinder(0.2, 0.1), Box((2.0, 0.6, 0.6))
    turn = Rotation.from_euler("x", 45.0, degrees=True)
    for gap in (0.1, -0.04):
        b_in_a = pose((0.3, 0.0, 0.05 + 0.3 * math.sqrt(2.0) + gap), turn)
        found = distance(disc, pose(), box, b_in_a)
        assert found.distance == pytest.approx(gap, abs=1e-12)
        check_answer(found, disc, pose(), box, b_in_a)


def test_a_rod_within_a_cylinder_leaves_it_by_the_shortest_translation():
    outer, rod = Cylinder(1.0, 1.0), Cylinder(0.01, 0.2)
    found = distance(outer, pose(), rod, pose((0.1, 0.2, 0.35)))
    assert found.distance == pytest.approx(-(0.5 - 0.35 + 0.1), abs=1e-12)
    assert found.normal == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)


# --- hulls --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 500])
def test_the_greatest_height_of_points_above_planes_is_found(count):
    rng = np.random.default_rng(count)
    points, unit = rng.normal(size=(count, 3)), grid(100)
    for quantile in (0.0, 0.5, 0.99, 1.0):
        offsets = np.quantile(points @ unit.T, quantile, axis=0)
        expected = float((points @ unit.T - offsets).max())
        assert most_above(unit, offsets, points) == pytest.approx(expected, abs=1e-14)
