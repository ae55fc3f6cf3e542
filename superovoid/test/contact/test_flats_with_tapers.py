# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Straight lines of a superovoid with unequal tapers that touch along their length: many closest points, and a kink."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, Cone, Cylinder, HalfSpace, Status, Superovoid, distance, distances
from superovoid.contact.differentiation import derivatives

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
    ridge = Superovoid((0.6, 0.65, 1.2), section_exponent=e1, profile_exponent=0.05, taper=taper)
    shape, turn = _PARTNERS[partner]
    frame = _at(Rotation.from_rotvec([0.3, -0.4, 0.9]).as_matrix(), 0.2, -0.1, 0.5)
    for y in (-2.2, -1.2):
        found = distance(ridge, frame, shape, frame @ _at(turn, 0.0, y, 0.0))
        assert "NON_UNIQUE" in str(found.status), found
        assert not found.status.differentiable


@pytest.mark.parametrize("taper", [(0.25, 0.0), (0.5, 0.0)])
@pytest.mark.parametrize("e1", [0.5, 1.0, 1.2, 1.45])
def test_two_straight_edges_are_not_unique_alone_or_in_a_batch(e1, taper):
    ridge = Superovoid((0.6, 0.65, 1.2), section_exponent=e1, profile_exponent=0.05, taper=taper)
    pose = _at(np.eye(3), 0.0, -2.2, 0.0)
    found = distance(ridge, np.eye(4), ridge, pose)
    assert "NON_UNIQUE" in str(found.status)
    assert "NON_UNIQUE" in str(derivatives(ridge, np.eye(4), ridge, pose, found).status)
    many = distances([ridge] * 600, np.eye(4), [ridge] * 600, pose)
    assert not many.differentiable.any()


@pytest.mark.parametrize("turn", [1e-2, 0.1, 1.0])
def test_edges_that_cross_are_unique(turn):
    ridge = Superovoid((0.6, 0.65, 1.2), section_exponent=1.0, profile_exponent=0.05, taper=(0.5, 0.0))
    pose = _at(Rotation.from_rotvec([0.0, turn, 0.0]).as_matrix(), 0.0, -2.2, 0.0)
    assert distance(ridge, np.eye(4), Capsule(0.6, 1.4), pose).status.differentiable
    assert distance(ridge, np.eye(4), ridge, pose).status.differentiable


_ON_TOP = [
    (HalfSpace(), 0.0),
    (Box((4.0, 4.0, 1.0)), 0.5),
    (Cylinder(2.0, 1.0), 0.5),
    (Superovoid((2.0, 2.0, 0.5), section_exponent=0.3, profile_exponent=0.3), 0.5),
]


@pytest.mark.parametrize("gap", [0.1, -0.01])
@pytest.mark.parametrize("taper", [(0.0, 0.0), (0.1, 0.05)])
@pytest.mark.parametrize("epsilon", [(0.1, 1.0), (0.3, 1.0), (0.3, 0.9)])
@pytest.mark.parametrize(("table", "top"), _ON_TOP)
def test_a_round_pole_over_square_sections_touches_in_one_point(table, top, epsilon, taper, gap):
    """Straight sides of a section are at one height only next to the pole, and less than a hundredth long."""
    body = Superovoid.from_goncalves((0.8, 1.2, 0.3), epsilon, taper)
    angles = np.linspace(0.0, 2.0 * np.pi, 721)
    x, y = 0.003 * np.abs(np.cos(angles)) / 0.8, 0.003 * np.abs(np.sin(angles)) / 1.2
    ring = (x ** (2.0 / epsilon[0]) + y ** (2.0 / epsilon[0])) ** (0.5 * epsilon[0])
    drop = 0.3 * (1.0 - (1.0 - (ring / 1.1) ** (2.0 / epsilon[1])) ** (0.5 * epsilon[1]))
    assert drop.min() > 1e-8
    for tilt in (0.0, 1e-15):
        turn = Rotation.from_rotvec([tilt, tilt, 0.0]).as_matrix()
        assert not distance(table, np.eye(4), body, _at(turn, 0.0, 0.0, top + 0.3 + gap)).status & Status.NON_UNIQUE


@pytest.mark.parametrize(("table", "top"), _ON_TOP)
def test_a_flat_pole_lies_on_a_flat(table, top):
    body = Superovoid((0.8, 1.2, 0.3), section_exponent=0.3, profile_exponent=0.1, taper=(0.1, 0.05))
    assert distance(table, np.eye(4), body, _at(np.eye(3), 0.0, 0.0, top + 0.4)).status & Status.NON_UNIQUE


def test_the_flank_of_a_body_whose_meridian_is_nearly_straight_is_flat():
    """The support point along the normal may be far from the contact: next to the tip, which is round."""
    flank = Superovoid((1.65, 1.65, 1.53), section_exponent=0.01, profile_exponent=1.9, taper=(-0.2, -0.2))
    for w in (0.26, 0.1):
        point = np.array([0.0, 1.65 * (1.0 - 0.2 * w) * (1.0 - w ** (2.0 / 1.9)) ** 0.95, 1.53 * w])
        n = flank.normal(point)
        x = np.array([1.0, 0.0, 0.0])
        turn = np.column_stack([np.cross(n, x), n, x])
        turn[:, 0] *= np.sign(np.linalg.det(turn))
        found = [
            distance(flank, np.eye(4), Capsule(1.0, 2.0), _at(turn, *(point + 1.1 * n + s * x))) for s in (0.002, 0.3)
        ]
        assert abs(found[0].distance - found[1].distance) < 1e-12
        assert all(result.status & Status.NON_UNIQUE for result in found)


def test_a_knife_edge_along_a_flat_is_not_unique():
    """Its own principal direction is known to 7e-8 rad, which costs more height than a flat may have."""
    pose = [
        [-0.05815033831169126, 0.5892306979261248, -0.8058695445143264, -2.5165553933649774],
        [-0.9983078373699349, -0.03432204292866711, 0.046941018469637885, 0.8194278639238645],
        [-2.7498210971631744e-11, 0.807235518291096, 0.5902294621664573, -1.5432249897895218],
        [0.0, 0.0, 0.0, 1.0],
    ]
    box = Box((2.8358951067460723, 1.4212536268459965, 3.80328742422778))
    sizes = 0.44412003909388487, 1.8310460028625721, 0.33242132279214087
    knife = Superovoid(
        sizes, section_exponent=1.99, profile_exponent=0.001, taper=(0.3135534813035171, 0.2482955843125788)
    )
    assert distance(box, np.eye(4), knife, np.array(pose)).status & Status.NON_UNIQUE
