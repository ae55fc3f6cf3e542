# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Creased bodies in upright poses, whose support points nearly coincide: each direction must keep unit length."""

from itertools import permutations

import numpy as np
import pytest

from superovoid import Superovoid, distance, distances

EXPONENTS = (1.999999, 1.9999, 1.99, 1.5, 1.0, 1e-6)


def posed(rotation, offset):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, offset
    return pose


def test_support_points_that_nearly_coincide_give_no_facet():
    a = Superovoid(
        (0.8929265217654617, 6.843283408666769, 0.26519680589050904), section_exponent=1.999999, profile_exponent=1.9999
    )
    b = Superovoid(
        (1.9234888053565022, 0.3917927110576317, 0.944664841656117), section_exponent=1.99, profile_exponent=1.999999
    )
    pose_a = posed([[0.6, 0.8, 0.0], [0.0, 0.0, -1.0], [-0.8, 0.6000000000000001, 0.0]], np.zeros(3))
    pose_b = posed(np.eye(3), (0.0, 0.0, 4.986939007475703))
    # Both are creased so sharply that their hulls are those of their vertices, to 1e-5.
    for result in (distance(a, pose_a, b, pose_b), distance(b, pose_b, a, pose_a)):
        assert np.linalg.norm(result.normal) == pytest.approx(1.0, abs=1e-12)
        assert result.distance == pytest.approx(np.linalg.norm(result.point_b - result.point_a), abs=1e-12)
        assert result.distance == pytest.approx(2.51244, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_points_and_unit_normals_realise_intervals_of_creased_bodies(seed):
    rng = np.random.default_rng(seed)
    turns = [np.eye(3)[list(order)] * [1.0, 1.0, sign] for order in permutations(range(3)) for sign in (1.0, -1.0)]
    turns = [turn for turn in turns if np.linalg.det(turn) > 0.0]
    slanted = np.array([[0.6, 0.8, 0.0], [0.0, 0.0, -1.0], [-0.8, 0.6000000000000001, 0.0]])
    count = 600
    bodies = [
        [Superovoid.from_goncalves(np.exp(rng.uniform(-1.6, 2.0, 3)), rng.choice(EXPONENTS, 2)) for _ in range(count)]
        for _ in "ab"
    ]
    poses = [
        np.array([posed(rng.choice([*turns, slanted]), rng.choice([0.0, 1.0], 3) * offset) for _ in range(count)])
        for offset in (0.0, rng.uniform(0.5, 6.0))
    ]
    results = distances(bodies[0], poses[0], bodies[1], poses[1])
    known = results.certified
    assert known.sum() > 0.9 * count
    length = np.linalg.norm(results.normal, axis=1)
    assert np.abs(length - 1.0)[known].max() < 1e-12
    span = np.einsum("ij,ij->i", results.point_b - results.point_a, results.normal)
    slack = 1e-9 * np.abs(results.point_a).max(axis=1)
    assert (results.lower - slack <= span)[known].all()
    assert (span <= results.upper + slack)[known].all()
