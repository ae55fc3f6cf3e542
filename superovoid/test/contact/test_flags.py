# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flags of `Status` in poses made for them: each is set in its own cases only.

`test_ties` and `test_upright_cones` test the limits of `ARBITRARY_NORMAL`.
"""

import itertools
import math

import numpy as np
import pytest
from meshes import prism, subdivide
from scipy.spatial.transform import Rotation

from superovoid import (
    Body,
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Scene,
    Sphere,
    Status,
    Superellipsoid,
    Superovoid,
    Torus,
    derivatives,
    distance,
    distances,
)

ORIGIN = np.eye(4)
FLIP = (math.pi, 0.0, 0.0)


def at(x=0.0, y=0.0, z=0.0, turn=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.from_rotvec(turn).as_matrix(), (x, y, z)
    return pose


def statuses(a, pose_a, b, pose_b):
    """Return the status of a pair, of the pair with its bodies exchanged, and of the pair moved as a whole."""
    moved = at(0.3, -0.2, 0.5, (0.4, -1.1, 0.7))
    pairs = (a, pose_a, b, pose_b), (b, pose_b, a, pose_a), (a, moved @ pose_a, b, moved @ pose_b)
    return [distance(*pair).status for pair in pairs]


def support_height(shape, up):
    return float(shape.support(np.array([0.0, 0.0, up]))[2] * up)


def stack_pair(below, above, gap=0.01, x=0.1, y=0.05):
    """Return a pair, one body above the other along z."""
    height = (0.0 if isinstance(below, HalfSpace) else support_height(below, 1.0)) + support_height(above, -1.0)
    return below, ORIGIN, above, at(x, y, height + gap)


BOX = Box((2.0, 2.0, 2.0))
BOX_LIKE = Superovoid.from_goncalves((0.5, 0.4, 0.3), (0.05, 0.03))
ROUND = Superovoid((0.5, 0.4, 0.3))
ROUND_POLE = Superovoid.from_goncalves((0.8, 1.2, 0.3), (0.3, 1.0), (0.1, 0.05))
ROD = Superovoid.from_goncalves((0.1, 0.1, 1.0), (1.0, 0.1))
RING = Torus(1.3, 0.5)
PLATE_WITH_HOLE = subdivide(prism([(0, 0), (-1.5, -1.5), (-1.5, 1.5), (1.5, 1.5), (1.5, -1.5)], 3.0), 2)
GROOVE = prism([(0, 0.5), (2, 2), (2, -1), (-2, -1), (-2, 2)], 1.0)
BRACKET = prism([(0.1, 0.1), (0.1, 0.6), (-0.4, 0.6), (-0.4, -0.4), (0.6, -0.4), (0.6, 0.1)], 0.5)
BEAM = Box((0.5, 0.3, 1.0))
BEAM_CORNERS = np.array(list(itertools.product((-0.25, 0.25), (-0.15, 0.15), (-0.5, 0.5))))
LEGS = prism([(0, 0), (-1, -1), (-1.5, 0.5), (1.5, 0.5), (1, -1)], 0.0625)  # two edges at z = -1, both along y
TABLES = [
    HalfSpace(),
    Box((4.0, 4.0, 1.0)),
    Cylinder(2.0, 1.0),
    ConvexMesh(2.0 * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))),
    Superovoid.from_goncalves((2.0, 2.0, 0.5), (0.01, 0.01)),
]
RIDGES = [
    Superovoid.from_goncalves((0.6, 0.65, 1.2), (e1, 0.05), (tx, 0.0))
    for e1 in (0.5, 1.0, 1.45)
    for tx in (0.0, 0.25, 0.5)
]

NOT_UNIQUE = [
    *(stack_pair(table, body) for table in TABLES for body in (BOX_LIKE, Box((1.0, 0.8, 0.6)), Cylinder(0.3, 0.5))),
    *(
        stack_pair(table, body, 1e-7)
        for table in TABLES
        for body in (BOX_LIKE, Superovoid.from_goncalves((0.5, 0.4, 0.3), (0.9, 0.03)))
    ),
    *(stack_pair(table, RING) for table in TABLES),
    (Cone(2.0, 3.0), ORIGIN, RING, at(1.0, 0.1, -3.5)),
    (Torus(1.3, 0.9), ORIGIN, RING, at(0.0, 0.0, 3.5)),  # all around their common axis
    (PLATE_WITH_HOLE, ORIGIN, BOX_LIKE, at(0.6, 0.5, 2.5)),
    (ROD, ORIGIN, ROD, at(0.5, 0.0, 0.2)),
    (Cylinder(0.3, 1.0), ORIGIN, Cylinder(0.2, 0.6), at(0.05, -0.02, 1.1)),
    (Cylinder(0.3, 1.0), ORIGIN, Cylinder(0.2, 0.6), at(0.8, 0.0, 0.05)),
    *((ridge, ORIGIN, other, at(0.0, -2.2, 0.0)) for ridge in RIDGES for other in (Capsule(0.6, 1.4), ridge)),
    # An arc of a ring over a box that reaches beyond it, and parallel upright edges of a box and a bracket.
    (Torus(0.6, 0.2), ORIGIN, Box((1.0, 0.6, 0.4)), at(0.68, 0.69, -1.85)),
    (Box((1.0, 0.4, 0.6)), ORIGIN, BRACKET, at(-1.56, -0.13, -1.55)),
    # The same of rings that touch and overlap, and two parallel rings that cross seen from above.
    *(
        (Torus(0.5, 0.1), ORIGIN, body, at(0.4, 0.2, z))
        for body in (BEAM, ConvexMesh(BEAM_CORNERS))
        for z in (0.62, 0.6, 0.59, 0.55)
    ),
    *((Torus(0.48, 0.22), ORIGIN, Torus(0.47, 0.05), at(0.45, 0.0, z)) for z in (0.3, 0.27, 0.2, 0.1)),
    # The walls of a groove, and two legs on a table.
    *(
        (GROOVE, ORIGIN, body, at(0.0, 0.5, 1.4))
        for body in (Sphere(0.4), Superovoid((0.4, 0.3, 0.4)), Torus(0.3, 0.1))
    ),
    (
        subdivide(GROOVE, 3),
        ORIGIN,
        Superovoid.from_goncalves((0.3, 0.3, 0.4), (1.2, 0.7), (0.2, 0.0)),
        at(0.0, 0.5, 1.4, (0, 0, 0.5 * np.pi)),
    ),
    *(
        (LEGS, ORIGIN, body, at(0.0, 0.03125, -8.0))
        for body in (Superovoid((3.0, 3.0, 1.0)), Sphere(4.0), Box((6.0, 6.0, 2.0)))
    ),
    *(
        (LEGS, ORIGIN, body, at(0.0, 0.03125, -8.0, (0.0, 0.5 * np.pi, 0.0)))
        for body in (Capsule(0.5, 3.0), Torus(5.0, 1.0))
    ),
    (LEGS, ORIGIN, subdivide(GROOVE, 1), at(0.0, 0.03125, -8.0, FLIP)),
    # A ring about the centre of a body with the same axis of symmetry.
    *(
        (body, at(turn=(0.3, -0.7, 1.1)), Torus(1.0, 0.15), ORIGIN)
        for body in (Box((0.6, 0.4, 0.5)), Capsule(0.1, 0.5), Cylinder(0.2, 0.6), Superovoid((0.4, 0.3, 0.2)))
    ),
]
UNIQUE = [
    *(stack_pair(table, body, gap) for table in TABLES for body in (ROUND, ROUND_POLE) for gap in (0.01, -0.01)),
    *(stack_pair(table, Superovoid.from_goncalves((0.5, 0.4, 0.3), (0.5, 1.0))) for table in TABLES),
    *((table, ORIGIN, RING, at(0.3, 0.1, 3.5, (0.02, 0.03, 0.0))) for table in TABLES),
    *((Torus(0.5, 0.1), ORIGIN, BEAM, at(0.4, 0.2, z, (0.1, 0.05, 0.0))) for z in (0.6, 0.57)),
    (Torus(0.48, 0.22), ORIGIN, Torus(0.47, 0.05), at(0.45, 0.0, 0.2, (0.1, 0.0, 0.0))),
    *((ridge, ORIGIN, Capsule(0.6, 1.4), at(0.0, -2.2, 0.0, (0.0, 1e-2, 0.0))) for ridge in RIDGES[5:6]),
    *((GROOVE, ORIGIN, body, at(x, 0.5, 1.4)) for body in (Sphere(0.4), ROUND) for x in (1e-6, 1e-3)),
    *((LEGS, at(turn=(0.0, lean, 0.0)), Sphere(4.0), at(0.0, 0.03125, -8.0)) for lean in (1e-6, -1e-3, 0.05)),
    (Box((0.6, 0.4, 0.5)), at(0.01, 0.02, 0.005, (0.3, -0.7, 1.1)), Torus(1.0, 0.15), ORIGIN),
    (Sphere(1.0), ORIGIN, Superovoid((0.3, 0.4, 0.5)), at(0.0, 0.0, 2.0)),
]

CORNERS = np.random.default_rng(70).normal(size=(9, 3)) * (0.6, 0.9, 1.3)
SYMMETRIC = [
    Sphere(0.7),
    Ellipsoid((0.6, 0.9, 1.3)),
    Box((1.2, 1.8, 2.6)),
    Capsule(0.6, 2.0),
    Cylinder(0.6, 2.0),
    ConvexMesh(np.concatenate([CORNERS, -CORNERS])),
    Superovoid.from_goncalves((0.6, 0.9, 1.3), (0.2, 0.3)),
    Superovoid.from_goncalves((0.6, 0.9, 1.3), (0.9, 1.2)),
]
TURNED = at(0.1, 0.2, -0.3, (0.4, -1.0, 0.6))
TWO_WAYS = [
    # Bodies with a common centre of symmetry: the normal and its opposite.
    *((a, at(0.1, 0.2, -0.3), b, TURNED) for a, b in itertools.combinations_with_replacement(SYMMETRIC, 2)),
    *((Sphere(0.1), ORIGIN, Sphere(0.2), at(x)) for x in (1e-300, 1e-160, 1e-12)),
    (Box((0.6, 0.6, 0.6)), ORIGIN, Box((0.4, 0.4, 0.4)), ORIGIN),
    *((Ellipsoid((1.0, 0.4, 0.8)), ORIGIN, Ellipsoid((0.9, 0.3, 0.7)), at(x)) for x in (0.0, 0.2)),
    # Eight directions, one in each octant.
    *((shape, ORIGIN, shape, ORIGIN) for shape in (Superovoid.from_goncalves((0.7, 1.1, 1.3), (1.2, 1.5)),)),
]
ONE_WAY = [
    (Sphere(1.0), ORIGIN, Sphere(0.25), at(0.0, 0.3, 0.0)),
    *((Sphere(0.1), ORIGIN, Sphere(0.2), at(x)) for x in (0.05, 0.3, 1.0)),
    *((Cone(0.8, 2.0), ORIGIN, body, at(0.3, -0.5, 0.8, (0.4, 1.3, -0.6))) for body in SYMMETRIC),
    (Ellipsoid((1.0, 0.4, 0.8)), ORIGIN, Ellipsoid((0.9, 0.3, 0.7)), at(0.2, 1e-3)),
]


def touching(body, corner, turn, point):
    """Return a body and a pose with a corner of it at a point."""
    rotation = at(turn=turn)[:3, :3]
    return body, at(*(np.array(point) - rotation @ corner), turn)


CUBE = Box((1.0, 1.0, 1.0))
LEANING = (0.3, 0.5, 0.2)
TWO_WAYS_AT_TOUCH = [
    (CUBE, ORIGIN, CUBE, at(1.0, 1.0, 1.0)),
    (CUBE, ORIGIN, *touching(CUBE, (-0.5, -0.5, -0.5), LEANING, (0.5, 0.5, 0.5))),
    (CUBE, ORIGIN, *touching(CUBE, (-0.5, -0.5, -0.5), LEANING, (0.5, 0.1, 0.5))),
    (CUBE, ORIGIN, *touching(Cone(0.5, 1.0), (0.0, 0.0, 0.5), FLIP, (0.5, 0.0, 0.5))),
    (Cylinder(0.4, 1.0), ORIGIN, *touching(Cone(0.5, 1.0), (0.0, 0.0, 0.5), FLIP, (0.4, 0.0, 0.5))),
    (BRACKET, ORIGIN, *touching(CUBE, (-0.5, -0.5, -0.5), LEANING, (0.6, 0.5, 0.1))),
]
ONE_WAY_AT_TOUCH = [
    (CUBE, ORIGIN, *touching(CUBE, (-0.5, -0.5, -0.5), (0.5, -0.4, 0.2), (0.1, 0.2, 0.5))),  # a corner on a face
    (CUBE, ORIGIN, CUBE, at(0.0, 0.0, 1.0)),
    # Edges that cross.
    (CUBE, at(turn=(0.0, 0.25 * math.pi, 0.0)), CUBE, at(0.0, 0.0, math.sqrt(2.0), (0.25 * math.pi, 0.0, 0.0))),
    (CUBE, ORIGIN, Sphere(0.5), at(*[0.5 + 0.5 / math.sqrt(3.0)] * 3)),
    (CUBE, ORIGIN, Superovoid((0.5, 0.5, 0.4), section_exponent=0.9), at(0.1, 0.2, 0.9)),
    (Cylinder(0.4, 1.0), ORIGIN, Superovoid((0.5, 0.4, 0.3)), at(0.8, 0.0, 0.1, (0.0, 0.0, 0.5 * math.pi))),
]


@pytest.mark.parametrize("pair", NOT_UNIQUE)
def test_many_closest_points_are_flagged_and_not_differentiable(pair):
    assert all(status & Status.NON_UNIQUE and not status.differentiable for status in statuses(*pair))


@pytest.mark.parametrize("pair", UNIQUE)
def test_one_pair_of_closest_points_is_not_flagged(pair):
    assert not any(status & Status.NON_UNIQUE for status in statuses(*pair))


@pytest.mark.parametrize("pair", TWO_WAYS + TWO_WAYS_AT_TOUCH)
def test_two_equally_short_separating_directions_are_flagged(pair):
    assert all(status & Status.ARBITRARY_NORMAL and not status.differentiable for status in statuses(*pair))


@pytest.mark.parametrize("pair", ONE_WAY + ONE_WAY_AT_TOUCH)
def test_one_shortest_separating_direction_is_not_flagged(pair):
    assert not any(status & Status.ARBITRARY_NORMAL for status in statuses(*pair))


def test_coordinates_that_cost_precision_are_flagged():
    for a in (
        Superovoid.from_goncalves((1.0, 0.7, 0.4), (0.8, 1.2)),
        Box((2.0, 1.4, 0.8)),
        Sphere(0.1),
    ):
        assert all(Status.PRECISION in status for status in statuses(a, ORIGIN, a, at(1e6, 2e6, -1e6, (0.3, 0.2, 0.5))))
        assert Status.PRECISION not in distance(a, ORIGIN, a, at(10.0)).status


def test_half_spaces_not_facing_each_other_are_unbounded():
    for pose in (ORIGIN, at(turn=(0.3, 0.0, 0.0)), at(1.0, 2.0, 3.0, (math.pi - 0.01, 0.0, 0.0))):
        result = distance(HalfSpace(), ORIGIN, HalfSpace(), pose)
        assert result.status & Status.UNBOUNDED and result.distance == result.upper == -math.inf
    facing = distance(HalfSpace(), ORIGIN, HalfSpace(), at(z=0.5, turn=FLIP))
    assert facing.distance == pytest.approx(0.5) and facing.status == Status.NON_UNIQUE


def test_batches_and_derivatives_flag_non_unique_points():
    ridge, pose = RIDGES[4], at(0.0, -2.2, 0.0)
    assert "NON_UNIQUE" in str(derivatives(ridge, ORIGIN, ridge, pose, distance(ridge, ORIGIN, ridge, pose)).status)
    assert not distances([ridge] * 600, ORIGIN, [ridge] * 600, pose).differentiable.any()


def test_a_contact_of_curved_surfaces_found_by_search_is_unique():
    a = Superovoid(
        semi_axes=(7.219249399912408, 0.7423707044216826, 7.196368465850034),
        section_exponent=0.11674647860014682,
        profile_exponent=0.21965505635610655,
        taper=(0.0, 0.0),
    )
    b = Superovoid(
        semi_axes=(0.2128673118017588, 0.24620198090613282, 4.4146839336112285),
        section_exponent=0.05029824966060133,
        profile_exponent=0.24503024360030087,
        taper=(0.32288557826077047, 0.32288557826077047),
    )
    pose_a = np.array(
        [
            [0.7970025812124373, -0.12213923217779311, -0.5914971627182432, 0.0],
            [0.04528030453593125, 0.9886662088221153, -0.14313916848451708, 0.0],
            [0.6022761655269498, 0.08729911509474071, 0.7935000220175357, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
    pose_b = np.array(
        [
            [-0.7725145443859246, -0.10076815425363392, -0.6269506023607629, -4.409138080511346],
            [-0.4962521284721999, 0.711800751097052, 0.49706490091786215, 3.515681711187189],
            [0.39617559705138183, 0.6951154363312534, -0.5998828439578788, -11.797641780520234],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
    assert distance(a, pose_a, b, pose_b).status == Status.CERTIFIED


@pytest.mark.parametrize("other", [Superellipsoid((1.0, 0.8, 0.6), section_exponent=0.3), Box((1.0, 1.2, 0.8))])
def test_open_answers_say_that_a_body_is_not_convex(other):
    convex = Superellipsoid((1.0, 0.8, 0.6), section_exponent=0.3, profile_exponent=0.4)
    tapered = Superovoid((1.0, 0.8, 0.6), section_exponent=1.2, profile_exponent=1.9, taper=(0.45, -0.45))
    assert not tapered.is_convex()
    for body in (convex, Torus(1.0, 0.2), tapered):
        scene = Scene([Body("a", "a", body), Body("b", "b", other)], max_evaluations=0)
        scene.set_link_poses({"a": ORIGIN, "b": at(0.1, 0.07, 0.03, (0.4, 0.3, 0.9))})
        (found,) = scene.query()
        assert found.status & ~(Status.NON_UNIQUE | Status.ARBITRARY_NORMAL) == (
            Status.UNPROVEN if body.is_convex() else Status.UNPROVEN | Status.NON_CONVEX
        )
