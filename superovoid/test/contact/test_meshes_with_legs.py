# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`NON_UNIQUE` of meshes that are as near with two places far from each other: legs, and the walls of a groove."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.meshes import prism, subdivided
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, Cylinder, Mesh, Sphere, Status, Superovoid, Torus, distance

GROOVE = prism([(0, 0.5), (2, 2), (2, -1), (-2, -1), (-2, 2)], 1.0)
LEGS = prism([(0, 0), (-1, -1), (-1.5, 0.5), (1.5, 0.5), (1, -1)], 0.0625)
"""Two edges at z = -1, both along y."""


def at(x, y, z, turn=(0.0, 0.0, 0.0)):
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = Rotation.from_rotvec(turn).as_matrix(), (x, y, z)
    return matrix


def statuses(a, pose_a, b, pose_b):
    """Of the answer, that with the bodies exchanged, and that of the pair moved as a whole."""
    moved = at(0.3, -0.2, 0.5, (0.4, -1.1, 0.7))
    results = [
        distance(a, pose_a, b, pose_b),
        distance(b, pose_b, a, pose_a),
        distance(a, moved @ pose_a, b, moved @ pose_b),
    ]
    assert all(result.distance > 0.0 and not result.status & Status.UNPROVEN for result in results)
    return [bool(result.status & Status.NON_UNIQUE) for result in results]


IN_GROOVE = [
    Sphere(0.4),
    Superovoid((0.4, 0.3, 0.4)),
    Superovoid((0.3, 0.3, 0.4), section_exponent=1.2, profile_exponent=0.7, taper=(0.2, 0.0)),
    Torus(0.3, 0.1),
    prism([(0, 0.4), (0.3, 0), (0, -0.4), (-0.3, 0)], 0.03125),
]


@pytest.mark.parametrize("times", [0, 3])
@pytest.mark.parametrize("body", IN_GROOVE, ids=lambda body: type(body).__name__)
def test_the_two_walls_of_a_groove_are_as_near(body, times):
    groove = subdivided(GROOVE, times)
    # Tapers lean along x.
    turn = (0.0, 0.0, 0.5 * np.pi if isinstance(body, Superovoid) and any(body.taper) else 0.0)
    assert statuses(groove, np.eye(4), body, at(0.0, 0.5, 1.4, turn)) == [True] * 3


@pytest.mark.parametrize("times", [0, 3])
def test_one_wall_that_is_nearer_is_no_tie(times):
    groove = subdivided(GROOVE, times)
    for aside in (1e-6, 1e-3, 0.1):
        for body in IN_GROOVE[:2]:
            assert statuses(groove, np.eye(4), body, at(aside, 0.5, 1.4)) == [False] * 3


TABLES = [
    Superovoid((3.0, 3.0, 1.0)),
    Sphere(4.0),
    Torus(5.0, 1.0),
    Capsule(0.5, 3.0),
    Cylinder(1.0, 3.0),
    Box((6.0, 6.0, 2.0)),
    subdivided(GROOVE, 1),
]


@pytest.mark.parametrize("body", TABLES, ids=lambda body: type(body).__name__)
def test_two_legs_on_one_body_are_as_near(body):
    turn = (np.pi, 0.0, 0.0) if isinstance(body, Mesh) else (0.0, 0.5 * np.pi, 0.0)
    if isinstance(body, (Superovoid, Box, Sphere)):
        turn = (0.0, 0.0, 0.0)
    assert statuses(LEGS, np.eye(4), body, at(0.0, 0.03125, -8.0, turn)) == [True] * 3


def test_of_two_legs_the_one_that_is_lower_is_named():
    for lean in (1e-6, -1e-3, 0.05):
        for body in TABLES[:2]:
            table = at(0.0, 0.03125, -8.0)
            moved = at(0.0, 0.0, 0.0, (0.0, lean, 0.0))
            result = distance(LEGS, moved, body, table)
            tip = (moved @ (np.sign(lean), result.point_a[1], -1.0, 1.0))[:3]
            assert abs(result.point_a[0] - tip[0]) < 1e-6
            # The lower edge is along y: its points that are as near are those of the edge, if the body is curved none.
            assert not result.status & Status.NON_UNIQUE
