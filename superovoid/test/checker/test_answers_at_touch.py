# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Answers whose interval contains 0: points and normal must still realise it."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Box, HalfSpace, Sphere, Superovoid, Torus, distance

pytest.importorskip("flint")

from superovoid.checker import record, verify_record


def at(x, y=0.0, z=0.0, turn=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    pose[:3, 3] = x, y, z
    return pose


BOX, BALL = Box((2.0, 2.0, 2.0)), Sphere(1.0)
EGG = Superovoid((0.5, 0.7, 0.9), section_exponent=0.9, profile_exponent=0.8, taper=(0.1, 0.1))
NON_CONVEX = Superovoid((0.6, 0.5, 0.8), section_exponent=0.7, profile_exponent=0.6, taper=(0.4, -0.3))
AWAY = np.cos(np.radians(80.0)), np.sin(np.radians(80.0))


def with_answer(pair, **changes):
    made = record(distance(*pair), *pair)
    assert made["answer"]["lower"] <= 0.0 <= made["answer"]["upper"]
    return made | {"answer": made["answer"] | changes}


BOXES = BOX, at(0.0), BOX, at(2.0)
BALLS = BALL, at(0.0), BALL, at(2.0)
ON_PLANE = BALL, at(0.0, 0.0, 1.0), HalfSpace(), at(0.0)
RING_ON_BOX = Torus(1.0, 0.25), at(0.0), BOX, at(2.25)
RING_ON_PLANE = Torus(1.0, 0.25), at(0.0, 0.0, 0.25), HalfSpace(), at(0.0)


@pytest.mark.parametrize("distance_claimed", [0.0, 1e-12, -1e-12])
@pytest.mark.parametrize(
    ("pair", "point_a", "point_b"),
    [
        (BOXES, [1.0, 1.0, 1.0], [1.0, -1.0, -1.0]),
        (BOXES, [1.0, 0.0, 0.0], [1.0, 0.0, 1e-6]),
        (BALLS, [AWAY[0], AWAY[1], 0.0], [2.0 - AWAY[0], AWAY[1], 0.0]),
        (ON_PLANE, [0.0, 0.0, 0.0], [0.5, 0.0, 0.0]),
        (RING_ON_PLANE, [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]),
    ],
)
def test_separate_surface_points_at_touch_are_refuted(pair, point_a, point_b, distance_claimed):
    ends = {"distance": distance_claimed, "lower": -1e-11, "upper": 1e-11}
    found = verify_record(with_answer(pair, point_a=point_a, point_b=point_b, **ends))
    assert found.interval.verdict == "accepted"
    assert found.points.verdict == found.verdict == "refuted", list(found.lines())


@pytest.mark.parametrize(
    "pair",
    [
        BOXES,
        BALLS,
        ON_PLANE,
        ON_PLANE[2:] + ON_PLANE[:2],
        RING_ON_PLANE,
        RING_ON_BOX,
        RING_ON_BOX[2:] + RING_ON_BOX[:2],
    ],
)
def test_a_normal_off_by_90_degrees_is_refuted(pair):
    n = distance(*pair).normal
    aside = np.cross(n, [0.6, 0.8, 0.0])
    found = verify_record(with_answer(pair, normal=(aside / np.linalg.norm(aside)).tolist()))
    assert found.normal.verdict == found.verdict == "refuted"


@pytest.mark.parametrize("height", [1.0, 1.5, 0.5])
def test_the_normal_of_a_half_space_is_judged_apart_and_overlapping(height):
    pair = BALL, at(0.3, 0.1, height), HalfSpace(), at(0.0)
    made = record(distance(*pair), *pair)
    assert verify_record(made).normal.verdict == "accepted"
    made["answer"]["normal"] = [1e-9, 0.0, -1.0]
    assert verify_record(made).normal.verdict == "refuted"


def test_points_of_nonconvex_bodies_against_the_normal_are_refuted():
    pair = NON_CONVEX, at(0.0), EGG, at(1.7, 0.4, 0.3, (0.4, 0.1, 0.2))
    made = record(distance(*pair), *pair)
    assert verify_record(made).verdict == "accepted"
    made["answer"]["normal"] = [-x for x in made["answer"]["normal"]]
    assert verify_record(made).points.verdict == "refuted"


def test_nothing_is_accepted_if_the_tolerance_overflows():
    made = with_answer(BOXES, point_a=[1.0, 1.0, 1.0], point_b=[1.0, -1.0, -1.0]) | {"rtol": 1e308}
    made["a"]["lengths"] = made["b"]["lengths"] = [2e10, 2.0, 2.0]
    made["pose_b"] = at(2e10).tolist()
    assert verify_record(made).points.verdict == "undecided"
