# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Adversarial certificates: whatever they contain, no false interval is accepted."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from superovoid import Box, ConvexMesh, Sphere, Superovoid, Torus, distance

pytest.importorskip("flint")

from superovoid.checker import ACCEPTED, balls, record, verify_record
from superovoid.checker.solids import Corners


def at(x, y=0.0, z=0.0, turn=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    pose[:3, 3] = x, y, z
    return pose


BLUNT_TIP = ConvexMesh([[1.65, 0.5, 0.5], [1.65, -0.5, 0.5], [1.65, 0.5, -0.5], [1.65, -0.5, -0.5], [1.6, 0.0, 0.0]])
EXTREME = (5e-324, 2.3e-308, 1e-200, 1e200, 1.7e308)


@pytest.mark.parametrize("length", EXTREME)
def test_corner_support_is_invariant_to_the_direction_length(length):
    with balls.precision():
        solid = Corners(np.array(BLUNT_TIP.vertices))
        value = solid.support_above(balls.exact_vector([-length, 0.0, 0.0]))
        assert value >= -1.6 * balls.exact_vector([length])[0]
        assert value <= -1.5999999 * balls.exact_vector([length])[0]


@pytest.mark.parametrize("scale", EXTREME)
def test_corner_support_scales_with_the_corners(scale):
    with balls.precision(), np.errstate(over="ignore"):
        solid = Corners(np.array([[0.25, 0.0, 0.0], [0.0, 0.25, 0.0], [0.0, 0.0, 1.0]]) * scale)
        assert solid.support_above(balls.exact_vector([0.5, 0.5, 1.0])) >= balls.exact_vector([scale])[0]


@pytest.mark.parametrize("length", [*EXTREME, 1.0])
def test_a_direction_of_any_length_proves_no_false_distance(length):
    pair = Torus(1.0, 0.25), np.eye(4), BLUNT_TIP, np.eye(4)
    made = record(distance(*pair), *pair)
    along_edge = np.array([0.05, 0.5, 0.5])
    normal = np.array([1.0, 0.0, 0.0]) - along_edge * 0.05 / (along_edge @ along_edge)
    made["answer"] = {
        **{"distance": 0.37, "lower": 0.36, "upper": 0.4, "normal": (normal / np.linalg.norm(normal)).tolist()},
        **{"point_a": [1.25, 0.0, 0.0], "point_b": [1.605, 0.05, 0.05]},
    }
    made["certificate"] = {
        **{"cones": "", "points": [], "pieces": ".", "heights": []},
        "directions": [[length, 0.0, 0.0]],
    }
    found = verify_record(made)
    assert found.lower <= 0.35
    assert found.verdict != ACCEPTED


# -- any certificate and any answer -------------------------------------------------------------------------------

EGG = Superovoid((0.5, 0.7, 0.9), section_exponent=0.9, profile_exponent=0.8, taper=(0.1, 0.1))
PEAR = Superovoid((0.6, 0.5, 0.8), section_exponent=1.3, profile_exponent=1.1, taper=(-0.2, -0.2))
NON_CONVEX = Superovoid((0.6, 0.5, 0.8), section_exponent=0.7, profile_exponent=0.6, taper=(0.4, -0.3))
PAIRS = (
    (EGG, at(0.0, turn=(0.3, 0.2, 0.1)), PEAR, at(0.1, 0.1, 0.2, (1.0, 0.0, 0.4))),
    (EGG, at(0.1, 0.2, 0.3, (0.1, 0.2, 0.3)), PEAR, at(2.0, 0.4, -0.3, (1.0, 0.0, 0.4))),
    (NON_CONVEX, at(0.0), PEAR, at(1.7, 0.4, 0.3, (0.4, 0.1, 0.2))),
    (Torus(1.0, 0.25), at(0.0), BLUNT_TIP, at(0.0)),
    (BLUNT_TIP, at(0.0), Box((0.4, 0.6, 0.8)), at(1.5, 0.1, 0.05, (0.0, 0.3, 0.1))),
    (Sphere(0.5), at(0.1, 0.2), Sphere(0.2), at(0.1, 0.2)),
)
RECORDS = [json.dumps(record(distance(*pair, certificate=True), *pair)) for pair in PAIRS]

finite = st.one_of(
    st.sampled_from([sign * size for size in (0.0, *EXTREME) for sign in (1.0, -1.0)]),
    st.floats(-2.0, 2.0),
    st.floats(allow_nan=False, allow_infinity=False),
)
numbers = st.one_of(finite, st.sampled_from([math.nan, math.inf, -math.inf]))
repeats = st.sampled_from([1, 1, 1, 3000])


def rows(width, numbers, most=4):
    row = st.lists(numbers, min_size=width, max_size=width)
    return st.tuples(st.lists(row, max_size=most), repeats).map(lambda drawn: drawn[0] * drawn[1])


def trees(letters, leaves):
    """Generate text of arbitrary letters, and the preorder of a chain of thousands of parts."""
    chain = st.tuples(st.sampled_from(letters), st.sampled_from(leaves), st.sampled_from([3, 300, 3000]))
    return st.one_of(
        st.text(letters + leaves, max_size=12), chain.map(lambda drawn: (drawn[0] + drawn[1]) * drawn[2] + drawn[1])
    )


def certificates(numbers):
    return st.fixed_dictionaries(
        {
            **{"cones": trees("012", ".*"), "points": rows(6, numbers), "pieces": trees("ab", ".")},
            **{"heights": st.lists(numbers, max_size=6), "directions": rows(3, numbers)},
        }
    )


lies = st.sampled_from([1e-3, 1e-6, 1e-9, -1e-9, -1e-6, -1e-3])


def agrees_with_the_truth(found, truth):
    """Return whether the checker's proved interval overlaps the engine's for the same bodies."""
    return found.lower <= truth["upper"] and found.upper >= truth["lower"]


@pytest.mark.ci
@given(st.sampled_from(RECORDS), certificates(finite) | certificates(numbers), lies)
@settings(max_examples=60, deadline=None)
def test_no_certificate_makes_a_false_interval_accepted(text, certificate, lie):
    made = json.loads(text)
    truth = dict(made["answer"])
    for name in ("distance", "lower", "upper"):
        made["answer"][name] += lie
    made["certificate"] = certificate
    try:
        found = verify_record(made)
    except ValueError as error:
        assert "certificate" in str(error)
        return
    assert found.interval.verdict != ACCEPTED
    assert agrees_with_the_truth(found, truth)


@pytest.mark.ci
@given(st.sampled_from(RECORDS), st.sampled_from(EXTREME), repeats, lies)
@settings(max_examples=20, deadline=None)
def test_extreme_directions_and_repeated_rows_prove_nothing_false(text, length, times, lie):
    made = json.loads(text)
    truth = dict(made["answer"])
    for name in ("distance", "lower", "upper"):
        made["answer"][name] += lie
    towards = made["answer"]["normal"]
    written = made.get("certificate") or {"cones": "", "points": [], "heights": []}
    directions = [[length * x for x in towards]] * times
    made["certificate"] = {**written, "points": written["points"] * times, "pieces": ".", "directions": directions}
    found = verify_record(made)
    assert found.interval.verdict != ACCEPTED
    assert agrees_with_the_truth(found, truth)


vectors = st.lists(numbers, min_size=3, max_size=3)


@given(st.sampled_from(RECORDS), st.tuples(numbers, numbers, numbers), vectors, vectors, vectors)
@settings(max_examples=60, deadline=None)
def test_bounds_stay_true_for_an_answer_of_any_numbers(text, ends, point_a, point_b, normal):
    made = json.loads(text)
    truth = dict(made["answer"])
    middle, low, high = ends
    made["answer"] = {"distance": middle, "lower": low, "upper": high}
    made["answer"] |= {"point_a": point_a, "point_b": point_b, "normal": normal}
    found = verify_record(made)
    assert agrees_with_the_truth(found, truth)
    if found.interval.verdict == ACCEPTED:
        assert low <= truth["upper"] and high >= truth["lower"]
