# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pairs that are symmetric about a plane: where an answer is not on it, the mirrored one is as good, and is said.

What is said is held against differences: along the normal of the plane the distance then has a kink.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.meshes import prism, subdivided
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, Cone, ConvexMesh, Cylinder, Status, Superovoid, Torus, distance

SIZE = (0.9, 1.3, 0.7)
CORNERS = np.random.default_rng(5).normal(size=(7, 3))
SHAPES = {
    "box": Box(2.0 * np.array(SIZE)),
    "capsule": Capsule(0.6, 1.5),
    "cone": Cone(0.8, 2.0),
    "cylinder": Cylinder(0.7, 1.2),
    "mesh": ConvexMesh(np.concatenate([CORNERS, CORNERS * (1.0, -1.0, 1.0)])),
    "tapered": Superovoid(SIZE, section_exponent=0.4, profile_exponent=0.8, taper=(0.2, 0.2)),
    "round": Superovoid(SIZE, section_exponent=0.9, profile_exponent=1.2),
}
PAIRS = [(a, b) for i, a in enumerate(SHAPES) for b in list(SHAPES)[i:]]
STEP = 1e-5


def pose(x, z, angle, y=0.0):
    out = np.eye(4)
    out[:3, :3] = Rotation.from_rotvec([0.0, angle, 0.0]).as_matrix()
    out[:3, 3] = x, y, z
    return out


def has_kink(a, b, x, z, angle):
    """Whether the distance changes its slope by more than a curvature does where B goes across the plane y = 0."""
    d = [distance(a, np.eye(4), b, pose(x, z, angle, y)).distance for y in (-STEP, 0.0, STEP)]
    return abs(d[2] - 2.0 * d[1] + d[0]) > 0.05 * STEP


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_a_way_out_to_one_side_of_a_plane_of_symmetry_is_not_the_only_one(a, b):
    rng = np.random.default_rng(73)
    for _ in range(12):
        x, z = 0.4 * rng.normal(size=2)
        angle = rng.choice([0.0, 0.25 * math.pi, 0.5 * math.pi, math.pi, rng.uniform(-3.0, 3.0)])
        result = distance(SHAPES[a], np.eye(4), SHAPES[b], pose(x, z, angle))
        if abs(result.normal[1]) > 0.1 and result.distance < 0.0:
            assert result.status & Status.ARBITRARY_NORMAL
        if has_kink(SHAPES[a], SHAPES[b], x, z, angle):
            assert not result.status.differentiable


def test_a_cone_in_a_cylinder_that_is_turned_has_two_ways_out():
    cone, cylinder = Cone(0.27890077553657044, 2.2353510835992454), Cylinder(0.20895281363686521, 1.7718650912767648)
    result = distance(cone, np.eye(4), cylinder, pose(0.0, 0.0, 0.25 * math.pi))
    assert has_kink(cone, cylinder, 0.0, 0.0, 0.25 * math.pi)
    assert result.status & Status.ARBITRARY_NORMAL


def test_ways_out_next_to_each_other_are_two_where_the_one_between_is_longer():
    """A ten-thousandth of a radian apart, to the two sides of a cone's rim."""
    cone = Cone(0.4222334893865305, 0.4316662563117118)
    other = Superovoid(
        (1.5207749931755807, 0.6838008637238127, 1.035015862289256),
        section_exponent=0.54664109279,
        profile_exponent=1.031244837997998,
    )
    placed = np.eye(4)
    placed[:3, :3] = np.roll(np.eye(3), 1, axis=0)
    for tolerance in (1e-9, 1e-12):
        result = distance(cone, np.eye(4), other, placed, rtol=tolerance)
        assert abs(result.normal[0]) > 1e-4
        assert result.status & Status.ARBITRARY_NORMAL


@pytest.mark.parametrize("name", ["box", "capsule", "cone", "cylinder", "tapered", "round", "torus"])
def test_a_torus_has_points_on_both_sides_of_a_plane_of_symmetry(name):
    torus, other = Torus(1.2, 0.2), SHAPES.get(name, Torus(1.2, 0.2))
    rng = np.random.default_rng(74)
    for k in range(8):
        x, angle = (0.0, 0.5 * math.pi * k) if k < 4 else (0.5 * rng.normal(), rng.uniform(-3.0, 3.0))
        result = distance(torus, np.eye(4), other, pose(x, 3.0, angle))
        assert result.distance > 0.0
        if abs(result.point_a[1]) > 0.1:
            assert result.status & Status.NON_UNIQUE
        if has_kink(torus, other, x, 3.0, angle):
            assert not result.status.differentiable


@pytest.mark.parametrize("name", SHAPES)
def test_nothing_is_mirrored_in_planes_that_pass_the_other_body(name):
    """Turned and moved at random, no pair is symmetric about a plane."""
    rng = np.random.default_rng(75)
    for _ in range(6):
        placed = np.eye(4)
        placed[:3, :3] = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
        placed[:3, 3] = rng.normal(size=3)
        result = distance(SHAPES["cone"], np.eye(4), SHAPES[name], placed)
        assert not result.status & Status.ARBITRARY_NORMAL
        apart = distance(Torus(1.2, 0.2), np.eye(4), SHAPES[name], placed + 5.0 * np.eye(4, k=3))
        assert not apart.status & (Status.NON_UNIQUE | Status.ARBITRARY_NORMAL)


_CUBE = np.array(np.meshgrid(*[[-1.5, 1.5]] * 3)).reshape(3, -1).T


@pytest.mark.parametrize(
    "table",
    [
        Box((3.0, 3.0, 3.0)),
        Cylinder(2.0, 3.0),
        Cone(2.0, 3.0),
        ConvexMesh(_CUBE),
        Superovoid((1.5, 1.5, 1.5), section_exponent=0.01, profile_exponent=0.01),
        subdivided(prism([(0, 0), (-1.5, -1.5), (-1.5, 1.5), (1.5, 1.5), (1.5, -1.5)], 3.0), 2),
        Torus(1.3, 0.9),
    ],
    ids=["box", "cylinder", "cone", "convex mesh", "superovoid", "mesh", "torus"],
)
def test_a_torus_that_lies_along_a_flat_has_points_beside_each_other(table):
    """Its circle is as near all along; turned a little, it is not. A torus on another one on its axis goes around."""
    below = -1.0 if isinstance(table, Cone) else 1.0
    offset = 0.0 if isinstance(table, Torus) else 1.0
    placed = np.eye(4)
    placed[:3, 3] = offset, 0.1 * offset, 3.5 * below
    result = distance(table, np.eye(4), Torus(1.3, 0.5), placed)
    assert result.distance > 0.0
    assert result.status & Status.NON_UNIQUE
    assert distance(Torus(1.3, 0.5), placed, table, np.eye(4)).status & Status.NON_UNIQUE
    placed[:3, :3] = Rotation.from_rotvec([0.02, 0.03, 0.0]).as_matrix()
    placed[:3, 3] = 1.0, 0.1, 3.5 * below
    assert not distance(table, np.eye(4), Torus(1.3, 0.5), placed).status & Status.NON_UNIQUE


@pytest.mark.parametrize("shorter", [0.0, 1e-3])
def test_a_ring_that_two_corners_reach_into_equally_far_has_points_elsewhere(shorter):
    """No plane of symmetry takes one corner to the other."""
    angles, radii = np.array([0.3, 2.4]), np.array([1.5, 1.5 - shorter])
    corners = np.column_stack([radii * np.cos(angles), radii * np.sin(angles), [0.0, 0.0]])
    star = ConvexMesh(np.vstack([corners, [[0.1, -0.3, 1.0], [0.0, 0.2, -0.8]]]))
    ring = Torus(2.0, 0.1)
    placed = np.eye(4)
    placed[:3, :3] = Rotation.from_rotvec([0.3, -0.7, 1.1]).as_matrix()
    for result in (distance(star, placed, ring, placed), distance(ring, placed, star, placed)):
        assert abs(result.distance - 0.4) < 1e-9
        assert bool(result.status & Status.NON_UNIQUE) == (shorter == 0.0)


def _hull_support(body, turn, offset, n):
    """Support function of a placed convex mesh, cylinder or cone, by its points."""
    n = n @ turn
    if isinstance(body, ConvexMesh):
        high = (body.vertices @ n).max()
    else:
        across, half = body.radius * math.hypot(n[0], n[1]), 0.5 * body.length
        high = across + half * abs(n[2]) if isinstance(body, Cylinder) else max(half * n[2], across - half * n[2])
    return high + offset @ (turn @ n)


JAWS = {"hull": ConvexMesh(CORNERS), "cylinder": Cylinder(0.7, 1.2), "cone": Cone(0.8, 2.0)}


@pytest.mark.parametrize("name", JAWS)
def test_equal_bodies_turned_half_around_have_two_ways_out(name):
    """Whatever the body is: h(n) = h(-R n) where the turn is its own inverse and the offset across its axis."""
    rng = np.random.default_rng(76)
    body, looked = JAWS[name], 0
    for _ in range(120):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        turn = Rotation.from_rotvec(math.pi * axis).as_matrix()
        offset = 0.3 * np.cross(axis, rng.normal(size=3))
        placed = np.eye(4)
        placed[:3, :3], placed[:3, 3] = turn, offset
        result = distance(body, np.eye(4), body, placed)
        other = -turn @ result.normal
        if result.distance >= 0.0 or np.linalg.norm(other - result.normal) < 0.1:
            continue
        depth = _hull_support(body, np.eye(3), np.zeros(3), other) + _hull_support(body, turn, offset, -other)
        assert abs(depth + result.distance) < 1e-8
        assert result.status & Status.ARBITRARY_NORMAL
        looked += 1
    assert looked > 5


@pytest.mark.parametrize("name", ["cylinder", "cone"])
def test_a_body_and_its_mirror_image_have_two_ways_out(name):
    """The way out, turned half around the line of the middles, is as short."""
    rng = np.random.default_rng(77)
    body, looked = JAWS[name], 0
    for _ in range(60):
        turn = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
        placed = [np.eye(4), np.eye(4)]
        mirror = np.diag([-1.0, 1.0, 1.0])
        # The body is its own mirror image across its y axis.
        placed[0][:3, :3], placed[1][:3, :3] = turn, mirror @ turn @ np.diag([1.0, -1.0, 1.0])
        placed[1][0, 3] = 0.4
        result = distance(body, placed[0], body, placed[1])
        other = result.normal * (1.0, -1.0, -1.0)
        if result.distance >= 0.0 or np.linalg.norm(other - result.normal) < 0.1:
            continue
        depth = _hull_support(body, turn, np.zeros(3), other)
        depth += _hull_support(body, placed[1][:3, :3], placed[1][:3, 3], -other)
        assert abs(depth + result.distance) < 1e-8
        assert result.status & Status.ARBITRARY_NORMAL
        looked += 1
    assert looked > 5


@pytest.mark.parametrize(
    "inner", [Box((0.6, 0.4, 0.5)), Capsule(0.1, 0.5), Cylinder(0.2, 0.6), Superovoid((0.4, 0.3, 0.2))]
)
def test_a_ring_about_the_centre_of_a_body_has_points_on_the_other_side(inner):
    """Both are symmetric about their common centre; a little aside they are not."""
    rng = np.random.default_rng(78)
    for _ in range(5):
        placed = np.eye(4)
        placed[:3, :3] = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
        for pair in ((inner, placed, Torus(1.0, 0.15), np.eye(4)), (Torus(1.0, 0.15), np.eye(4), inner, placed)):
            result = distance(*pair)
            assert result.distance > 0.0
            assert result.status & Status.NON_UNIQUE
        placed[:3, 3] = 0.01, 0.02, 0.005
        assert not distance(inner, placed, Torus(1.0, 0.15), np.eye(4)).status & Status.NON_UNIQUE


def test_an_ellipsoid_of_revolution_about_x_has_mirrored_ways_out_of_a_cone():
    """The plane along its x axis and the z axis of the cone is one of symmetry of both."""
    rng = np.random.default_rng(79)
    looked = 0
    for _ in range(40):
        placed = np.eye(4)
        placed[:3, :3] = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
        along = rng.normal(size=2) * 0.3
        placed[:3, 3] = along[0] * placed[:3, 0] + along[1] * np.array([0.0, 0.0, 1.0])
        result = distance(Cone(0.8, 2.0), np.eye(4), Superovoid((1.1, 0.6, 0.6)), placed)
        m = np.cross([0.0, 0.0, 1.0], placed[:3, 0])
        off = abs(m @ result.normal) / np.linalg.norm(m)
        if result.distance < 0.0 and off > 0.05:
            assert result.status & Status.ARBITRARY_NORMAL
            looked += 1
    assert looked
