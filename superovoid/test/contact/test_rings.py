# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The triangles with which a search begins cover the sphere: those of a fan, and of rings about a cap."""

import math

import numpy as np
import pytest

from superovoid import Superovoid
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids import direction_lanes, direction_net, search
from superovoid.contact.superovoids.inner_bodies import Inner

PAIR = Pair(
    Superovoid((0.5, 0.7, 1.0), section_exponent=0.4, profile_exponent=0.8)._packed,
    Superovoid((0.6, 0.4, 0.9), section_exponent=0.9, profile_exponent=1.3, taper=(0.1, 0.1))._packed,
    np.eye(3),
    (0.1, 0.2, 0.3),
)


def net_about(n, inner=None):
    """A net of the fan about n, or with rings from an angle on; all triangles wait."""
    whole = Inner(-1.0, 1.0, np.empty((2, 1, 1)))
    problem = direction_net.Problem(PAIR, 0.0, 1e-9, 1e-10, 100, False, whole, whole, -math.inf)
    net, lanes = direction_net.new_net(300), np.zeros(direction_lanes.LENGTH)
    direction_net.fan_in_lanes(problem, n, 1.0, net, lanes)
    if inner is None:
        least = direction_net.wait_for_fan(net, lanes, 0.0, math.inf)
        return net, least, 0
    first, rings = direction_net.rings_in_lanes(problem, n, 1.0, inner, net, lanes)
    return net, direction_net.wait_for_rings(net, first, rings, lanes, 0.0, math.inf), rings


def triangles(net):
    """Corners of all triangles, shape (triangles, 3, 3)."""
    assert net.counts[direction_net.CELLS] == net.counts[direction_net.WAITING]
    return net.vertices[net.cells[: net.counts[direction_net.CELLS]]][:, :, :3]


def solid_angles(corners):
    """Van Oosterom and Strackee 1983."""
    a, b, c = np.moveaxis(corners, 1, 0)
    volume = np.linalg.det(corners)
    rest = 1.0 + (a * b).sum(axis=1) + (b * c).sum(axis=1) + (c * a).sum(axis=1)
    return 2.0 * np.arctan2(np.abs(volume), rest)


def unit(rng):
    n = rng.normal(size=3)
    return n / np.linalg.norm(n)


@pytest.mark.parametrize("inner", [None, 0.01, 0.0666, 0.0667, 0.45])
def test_triangles_cover_the_sphere_but_for_the_innermost_ring(inner):
    rng = np.random.default_rng(3)
    for n in (unit(rng), np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, -1.0])):
        net, least, rings = net_about(tuple(n), inner)
        assert least == math.inf
        corners = triangles(net)
        covered = solid_angles(corners).sum()
        if inner is not None:
            ring = net.vertices[32:42, :3]
            assert ring @ n == pytest.approx(math.cos(inner), abs=1e-15)
            fan = np.stack([np.tile(n, (10, 1)), ring, np.roll(ring, -1, axis=0)], axis=1)
            covered += solid_angles(fan).sum()
            corners = np.concatenate([corners, fan])
            assert len(net.vertices[: net.counts[direction_net.VERTICES]]) == 32 + 10 * rings
        # No gap and no overlap: the areas add up, and every direction is in a triangle.
        assert covered == pytest.approx(4.0 * math.pi, abs=1e-9)
        some = np.concatenate(
            [rng.normal(size=(500, 3)), n + rng.uniform(0.0, 1.0, (500, 1)) * rng.normal(size=(500, 3))]
        )
        weights = np.linalg.solve(corners.transpose(0, 2, 1)[None], some[:, None, :, None])[..., 0]
        assert (weights.min(axis=2) >= -1e-9).any(axis=1).all()


def test_the_innermost_ring_lies_in_the_cap_of_a_direction_beside_the_first_one():
    for angle in np.linspace(0.0, 0.8, 200):
        assert search.innermost_ring(angle) + search.CENTRED * (1.0 + 1e-6) <= max(angle, search.CENTRED)


def test_rings_grow_by_no_more_than_a_factor_of_three():
    n = (0.0, 0.6, 0.8)
    for inner in (0.01, 0.03, 0.1, 0.45):
        net, _, rings = net_about(n, inner)
        angles = np.arccos(net.vertices[32 : 32 + 10 * rings, :3] @ np.array(n)).reshape(rings, 10)
        assert np.ptp(angles, axis=1).max() < 1e-7
        assert (np.diff(np.log(angles[:, 0])) < math.log(3.0) + 1e-9).all()
        assert angles[0, 0] == pytest.approx(inner)
        assert angles[-1, 0] < 0.6


def test_points_of_rings_are_points_of_the_difference():
    rng = np.random.default_rng(5)
    net, _, _ = net_about(tuple(unit(rng)), 0.05)
    vertices = net.vertices[: net.counts[direction_net.VERTICES]]
    bodies = (
        Superovoid((0.5, 0.7, 1.0), section_exponent=0.4, profile_exponent=0.8),
        Superovoid((0.6, 0.4, 0.9), section_exponent=0.9, profile_exponent=1.3, taper=(0.1, 0.1)),
    )
    reached = []
    for _ in range(500):
        n = unit(rng)
        most = bodies[0].support(n) @ n - bodies[1].support(-n) @ n - n @ np.array(PAIR.centre)
        assert (vertices[:, 3:6] @ n).max() <= most + 1e-12
    for vertex in vertices:
        n = vertex[:3]
        most = bodies[0].support(n) @ n - bodies[1].support(-n) @ n - n @ np.array(PAIR.centre)
        reached.append(vertex[3:6] @ n / most)
    assert np.median(reached) > 1.0 - 1e-3
