# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Straight lines of a superovoid with unequal tapers that touch along their length: many closest points, and a kink."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid_ros import Capsule, Cone, Cylinder, Superovoid, distance, distances
from superovoid_ros.contact.differentiation import derivatives

_PARTNERS = {
    "capsule": (Capsule(0.6, 1.4), np.eye(3)),
    "cylinder": (Cylinder(0.6, 1.4), np.eye(3)),
    "cone": (Cone(0.6, 1.4), Rotation.from_rotvec([np.arctan2(0.6, 1.4), 0.0, 0.0]).as_matrix()),
}


def _at(turn, x, y, z):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn, (x, y, z)
    return pose


@pytest.mark.parametrize("taper", [(0.25, 0.0), (0.5, 0.0), (0.0, 0.0)])
@pytest.mark.parametrize("e1", [0.5, 1.0, 1.2, 1.45])
@pytest.mark.parametrize("partner", ["capsule", "cylinder"])
def test_a_straight_edge_beside_an_edge_is_not_unique_and_not_differentiable(partner, e1, taper):
    ridge = Superovoid((0.6, 0.65, 1.2), (e1, 0.05), taper)
    shape, turn = _PARTNERS[partner]
    frame = _at(Rotation.from_rotvec([0.3, -0.4, 0.9]).as_matrix(), 0.2, -0.1, 0.5)
    for y in (-2.2, -1.2):
        found = distance(ridge, frame, shape, frame @ _at(turn, 0.0, y, 0.0))
        assert "NON_UNIQUE" in str(found.status), found
        assert not found.status.differentiable


@pytest.mark.parametrize("taper", [(0.25, 0.0), (0.5, 0.0)])
@pytest.mark.parametrize("e1", [0.5, 1.0, 1.2, 1.45])
def test_two_straight_edges_are_not_unique_alone_or_in_a_batch(e1, taper):
    ridge = Superovoid((0.6, 0.65, 1.2), (e1, 0.05), taper)
    pose = _at(np.eye(3), 0.0, -2.2, 0.0)
    found = distance(ridge, np.eye(4), ridge, pose)
    assert "NON_UNIQUE" in str(found.status)
    assert "NON_UNIQUE" in str(derivatives(ridge, np.eye(4), ridge, pose, found).status)
    many = distances([ridge] * 600, np.eye(4), [ridge] * 600, pose)
    assert not many.differentiable.any()


@pytest.mark.parametrize("turn", [1e-2, 0.1, 1.0])
def test_edges_that_cross_are_unique(turn):
    ridge = Superovoid((0.6, 0.65, 1.2), (1.0, 0.05), (0.5, 0.0))
    pose = _at(Rotation.from_rotvec([0.0, turn, 0.0]).as_matrix(), 0.0, -2.2, 0.0)
    assert distance(ridge, np.eye(4), Capsule(0.6, 1.4), pose).status.differentiable
    assert distance(ridge, np.eye(4), ridge, pose).status.differentiable
