# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Overlapping bodies of revolution whose axes nearly agree: the depth is proved from few support points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Capsule, Cone, Cylinder, Superovoid, distance

TILTS = [0.0, 1e-9, 1e-6, 1e-5, 1e-4, 2e-4, 1e-3, 4e-3, 1e-2, 3e-2, 1e-1]
TWISTS = np.linspace(0.0, 2.0 * math.pi, 60, endpoint=False)
ACROSS = np.concatenate([np.geomspace(1e-7, 0.5 * math.pi, 60), math.pi - np.geomspace(1e-7, 0.5 * math.pi, 60)])


def revolve(semi_axes, exponent):
    return Superovoid(semi_axes, profile_exponent=exponent)


DISC, CYLINDER, ROUNDED = Cylinder(0.5, 0.02), Cylinder(0.5, 0.6), revolve((0.5, 0.5, 0.4), 0.2)
SPINDLE = revolve((0.5, 0.5, 0.4), 1.5)
PAIRS = {
    "equal discs": (DISC, DISC),
    "disc and thin disc": (DISC, Cylinder(0.5, 0.002)),
    "equal cylinders": (CYLINDER, CYLINDER),
    "disc and rounded cylinder": (DISC, ROUNDED),
    "cylinder and rounded cylinder": (CYLINDER, ROUNDED),
    "cylinder and rounded disc": (CYLINDER, revolve((0.5, 0.5, 0.02), 0.2)),
    "cylinder and flat spheroid": (CYLINDER, revolve((0.5, 0.5, 0.02), 1.0)),
    "cone and rounded cylinder": (Cone(0.45, 0.54), ROUNDED),
    "equal capsules": (Capsule(0.3, 0.6), Capsule(0.3, 0.6)),
    "equal rods": (Cylinder(0.1, 1.0), Cylinder(0.1, 1.0)),
    "equal spindles": (SPINDLE, SPINDLE),
    "spindles": (SPINDLE, revolve((0.4, 0.4, 0.3), 1.2)),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_the_depth_of_bodies_with_nearly_the_same_axis_is_proved(pair):
    a, b = PAIRS[pair]
    n = np.array([[math.sin(p) * math.cos(t), math.sin(p) * math.sin(t), math.cos(p)] for p in ACROSS for t in TWISTS])
    support_of_a = np.einsum("ij,ij->i", n, a.support(n))
    for tilt in TILTS:
        pose = np.eye(4)
        pose[:3, :3] = Rotation.from_rotvec(tilt * np.array([0.6, 0.8, 0.0])).as_matrix()
        pose[:3, 3] = tilt * np.array([0.1, -0.2, 0.05])
        found = distance(a, np.eye(4), b, pose)
        assert found.certified, tilt
        assert found.statistics.iterations < 2500, tilt
        m = -n @ pose[:3, :3]
        heights = support_of_a + np.einsum("ij,ij->i", m, b.support(m)) - n @ pose[:3, 3]
        assert heights.min() >= -found.upper - 1e-15, tilt
