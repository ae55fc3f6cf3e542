# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Thin tetrahedra of support points: the signs of volumes may wrongly place the origin inside."""

import numpy as np
from scipy.optimize import nnls
from scipy.spatial.transform import Rotation

from superovoid.contact.minkowski import difference


def thin_tetrahedra(count):
    """Yield tetrahedra of size one about the origin, turned at random, 1e-17 to 1e-3 thick, 0 to 1e-5 off its plane."""
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
    """Return the distance of the origin from a tetrahedron, to first order, by nonnegative least squares."""
    _, residual = nnls(np.vstack([corners.T, np.ones(4)]), np.array([0.0, 0.0, 0.0, 1.0]))
    return residual


def nearest_of_rows(corners):
    w = difference.new_workspace()
    w[:4, difference.SIMPLEX.m : difference.SIMPLEX.m + 3] = corners
    count = difference.nearest_of_simplex(w, 4)
    weights = w[:count, difference.SIMPLEX.weight]
    return count, np.linalg.norm(weights @ w[:count, difference.SIMPLEX.m : difference.SIMPLEX.m + 3])


def test_a_tetrahedron_reported_to_contain_the_origin_does():
    held = 0
    for corners in thin_tetrahedra(1000):
        count, length = nearest_of_rows(corners)
        gap = gap_of(corners)
        if count == 4:
            held += 1
            assert gap <= 1e-13
        else:
            assert length >= gap - 1e-13
    assert held > 30
