# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Thin tetrahedra of support points, of which signs of volumes say that they hold the origin where they do not."""

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.spatial.transform import Rotation

from superovoid import Cone, Ellipsoid, Status, distance
from superovoid.contact.convex import simplex as names
from superovoid.contact.minkowski import difference
from superovoid.testing import contract

POSE_A = [
    [-0.49778726513721344, 0.1544765007165773, 0.8534312212437357, -227.20574430041097],
    [-0.7600268446271088, -0.5517322595147397, -0.3434395278020868, 13.37629598167873],
    [0.41781219957461013, -0.8195904614727535, 0.3920515799604752, -87.79781512440532],
]
ROTATION_B = [
    [-0.3915642656721795, 0.8616477596152944, 0.3228630734515027],
    [0.6508817340320292, 0.5073880153479307, -0.5647214978949774],
    [-0.6504078675354917, -0.01097908152951559, -0.7595058035437928],
]


def thin_tetrahedra(count):
    """Tetrahedra of size one about the origin, turned at random, 1e-17 to 1e-3 thick, their plane 0 to 1e-5 off it."""
    rng = np.random.default_rng(5)
    for _ in range(count):
        corners = rng.normal(size=(4, 3))
        if rng.random() < 0.5:
            corners[:, 1] *= 10.0 ** rng.uniform(-12, 0)  # slivers
        corners -= rng.dirichlet((1, 1, 1, 1)) @ corners
        corners[:, 2] *= 10.0 ** rng.uniform(-17, -3)
        corners[:, 2] += rng.choice([0.0, 10.0 ** rng.uniform(-14, -5)])
        yield corners @ Rotation.random(rng=rng).as_matrix().T


def gap_of(corners):
    """Distance of the origin from a tetrahedron, to first order, by least squares of weights that are not negative."""
    _, residual = nnls(np.vstack([corners.T, np.ones(4)]), np.array([0.0, 0.0, 0.0, 1.0]))
    return residual


def nearest_of_rows(corners):
    w = difference.new_workspace()
    w[:4, difference.M : difference.M + 3] = corners
    count = difference.nearest_of_simplex(w, 4)
    weights = w[:count, difference.WEIGHT]
    return count, np.linalg.norm(weights @ w[:count, difference.M : difference.M + 3])


def nearest_of_names(corners):
    found = names.no_simplex()
    for number, corner in enumerate(corners):
        found = names.with_vertex(found, tuple(corner), number)
    return found.count, np.linalg.norm(found.v)


@pytest.mark.parametrize("nearest", [nearest_of_rows, nearest_of_names])
def test_a_tetrahedron_that_is_said_to_hold_the_origin_does(nearest):
    held = 0
    for corners in thin_tetrahedra(3000):
        count, length = nearest(corners)
        gap = gap_of(corners)
        if count == 4:
            held += 1
            assert gap <= 1e-13
        else:
            assert length >= gap - 1e-13
    assert held > 100


def test_points_of_an_ellipsoid_in_the_side_of_a_cone_are_along_the_normal():
    a = Ellipsoid((0.7378199846876118, 1.7556903260634023, 0.11422157710699644))
    b = Cone(310.57742399955004, 56.354396954050145)
    pose_a, pose_b = np.eye(4), np.eye(4)
    pose_a[:3] = POSE_A
    pose_b[:3, :3] = ROTATION_B
    result = distance(a, pose_a, b, pose_b)
    assert result.status == Status.CERTIFIED
    assert not list(contract.breaches(a, pose_a, b, pose_b, result)), result
