# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cylinders and cones beside each other and beside hulls of vertices: closed forms, and the proof of a depth."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, Cone, ConvexMesh, Cylinder, Status, distance
from superovoid.compiler.jit import kernel
from superovoid.contact import kind_table
from superovoid.contact.columns import STATE_LENGTH
from superovoid.contact.convex import epa, rims
from superovoid.contact.convex.features import corner_for_sure
from superovoid.contact.convex.simplex import name_of
from superovoid.shapes.hull import most_above


def pose(translation=(0.0, 0.0, 0.0), rotation=None):
    matrix = np.eye(4)
    matrix[:3, 3] = translation
    if rotation is not None:
        matrix[:3, :3] = rotation.as_matrix()
    return matrix


# --- reference ----------------------------------------------------------------------------------------------------


def support_value(shape, n):
    """Support function, for rows of directions."""
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
    """Directions all over the sphere (a Fibonacci lattice)."""
    i = np.arange(count) + 0.5
    polar, azimuth = np.arccos(1.0 - 2.0 * i / count), math.pi * (1.0 + math.sqrt(5.0)) * i
    return np.column_stack([np.cos(azimuth) * np.sin(polar), np.sin(azimuth) * np.sin(polar), np.cos(polar)])


def frame(n):
    first = np.cross(n, np.eye(3)[np.abs(n).argmin()])
    first /= np.linalg.norm(first)
    return first, np.cross(n, first)


def check_answer(found, a, pose_a, b, pose_b):
    """What certified answers keep: an interval, points of the bodies, so far apart along the normal."""
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


def test_an_edge_that_lies_over_a_disc_has_its_points_on_the_disc():
    # Both ends of the edge are beside the disc.
    disc, box = Cylinder(0.2, 0.1), Box((2.0, 0.6, 0.6))
    turn = Rotation.from_euler("x", 45.0, degrees=True)
    for gap in (0.1, -0.04):
        b_in_a = pose((0.3, 0.0, 0.05 + 0.3 * math.sqrt(2.0) + gap), turn)
        found = distance(disc, pose(), box, b_in_a)
        assert found.distance == pytest.approx(gap, abs=1e-12)
        check_answer(found, disc, pose(), box, b_in_a)


def test_a_rod_within_a_cylinder_leaves_it_by_the_nearest_way():
    outer, rod = Cylinder(1.0, 1.0), Cylinder(0.01, 0.2)
    found = distance(outer, pose(), rod, pose((0.1, 0.2, 0.35)))
    assert found.distance == pytest.approx(-(0.5 - 0.35 + 0.1), abs=1e-12)
    assert found.normal == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)


# --- the proof of a depth -----------------------------------------------------------------------------------------


@kernel
def _cap(a, b, pool_a, pool_b, pose_a, pose_b, n, beside, state):
    pair = kind_table.begin(a, b, pool_a, pool_b, pose_a, pose_b, state).pair
    c = corner_for_sure(pair, n, np.int64(0), np.int64(0))
    name = name_of(c.a, c.b)
    bundle = rims.Bundle(1, (name, name, name), (1.0, 0.0, 0.0))
    for k in range(3):
        other = corner_for_sure(pair, (beside[k, 0], beside[k, 1], beside[k, 2]), c.a, c.b)
        bundle = rims.with_stratum(bundle, (0.3, 0.3, 0.3), name_of(other.a, other.b))
    cap = epa.way_out(pair, bundle, c, n, 1e-9).cap
    return cap.n, cap.tangent, cap.least


@pytest.mark.parametrize("name", ["cylinder", "cone", "box", "hull"])
def test_in_a_cap_the_difference_ends_nowhere_before_its_least(name):
    rng = np.random.default_rng(11)
    a, b = Cylinder(0.4, 1.0), OTHERS[name]
    caps = 0
    for _ in range(100):
        b_in_a = pose(0.3 * rng.normal(size=3), Rotation.random(rng=rng))
        kinds = kind_table.kind_of(a._row), kind_table.kind_of(b._row)
        is_in_order = kind_table._in_order(a._row, b._row, *kinds, a._pool, b._pool, pose(), b_in_a)
        first, second, place = (a, b, b_in_a) if is_in_order else (b, a, np.linalg.inv(b_in_a))
        n = np.array(distance(first, pose(), second, place).normal) + 0.05 * rng.normal(size=3)
        rows = first._row, second._row, first._pool, second._pool
        n /= np.linalg.norm(n)
        beside = n + 0.1 * rng.normal(size=(3, 3))
        beside /= np.linalg.norm(beside, axis=1, keepdims=True)
        place = np.ascontiguousarray(place)
        n, tangent, least = _cap(*rows, pose(), place, tuple(n), beside, np.zeros(STATE_LENGTH))
        if tangent == 0.0:
            continue
        caps += 1
        t1, t2 = frame(np.array(n))
        angle, radius = rng.uniform(0.0, 2.0 * math.pi, 4000), tangent * np.sqrt(rng.uniform(0.0, 1.0, 4000))
        inside = np.array(n) + np.outer(radius * np.cos(angle), t1) + np.outer(radius * np.sin(angle), t2)
        inside /= np.linalg.norm(inside, axis=1, keepdims=True)
        h = support_value(first, inside) + support_value(second, -inside @ place[:3, :3]) - inside @ place[:3, 3]
        assert h.min() >= least - 1e-14
    assert caps > 20


@kernel
def _height(n, tangent, normal, height):
    return rims.height_with_cap(rims.Cap(n, tangent, 0.0), normal, height)


def test_triangles_are_as_far_as_their_points_outside_the_cap():
    rng = np.random.default_rng(3)
    raised = 0
    for _ in range(200):
        n, normal = (tuple(v / np.linalg.norm(v)) for v in rng.normal((0.0, 0.0, 3.0), 1.0, (2, 3)))
        tangent, height = rng.uniform(0.05, 1.0), rng.uniform(0.1, 1.0)
        bound = _height(n, tangent, normal, height)
        raised += bound > height
        t1, t2 = frame(np.array(normal))
        points = height * np.array(normal) + rng.normal(size=(2000, 1)) * t1 + rng.normal(size=(2000, 1)) * t2
        lengths = np.linalg.norm(points, axis=1)
        outside = points @ np.array(n) < lengths / math.hypot(1.0, tangent)
        assert (lengths[outside] >= bound - 1e-12).all()
    assert raised > 20


# --- yes or no ----------------------------------------------------------------------------------------------------


# --- hulls --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 500])
def test_the_most_that_points_lie_above_planes_is_found(count):
    rng = np.random.default_rng(count)
    points, unit = rng.normal(size=(count, 3)), grid(100)
    for quantile in (0.0, 0.5, 0.99, 1.0):
        offsets = np.quantile(points @ unit.T, quantile, axis=0)
        expected = float((points @ unit.T - offsets).max())
        assert most_above(unit, offsets, points) == pytest.approx(expected, abs=1e-14)
