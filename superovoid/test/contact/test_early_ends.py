# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Solvers that end once their interval decides about a threshold, against their own full intervals."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_mesh_thresholds import notched_prism

from superovoid import Box, Cylinder, Mesh, Superovoid, Torus
from superovoid.contact.columns import RESULT, RESULT_LENGTH, STATE_LENGTH
from superovoid.contact.compounds import solve_within
from superovoid.contact.pair import UNDECIDED, Limit, PlacedBody, verdict_of
from superovoid.contact.superovoids.pair_solver import solve_pair
from superovoid.shapes.primitives import pack_shapes
from superovoid.testing.random_pairs import generate

from draws import few_or_many

CORNERS, FACES = notched_prism()
BODIES = {
    "superovoid": Superovoid((0.4, 0.3, 0.5), section_exponent=0.6, profile_exponent=0.9, taper=(0.2, 0.1)),
    "concavity": Superovoid((0.3, 0.6, 0.4), section_exponent=0.8, profile_exponent=0.5, taper=(0.45, -0.4)),
    "torus": Torus(0.5, 0.15),
    "mesh": Mesh(CORNERS / 64.0, FACES),
    "box": Box((0.4, 0.3, 0.5)),
    "cylinder": Cylinder(0.2, 0.5),
}
PAIRS = [
    *(("superovoid", "superovoid"), ("superovoid", "concavity"), ("superovoid", "box"), ("concavity", "cylinder")),
    *(("torus", "superovoid"), ("torus", "concavity"), ("torus", "torus"), ("torus", "box")),
    *(("mesh", "superovoid"), ("mesh", "torus"), ("mesh", "mesh")),
]
WITHOUT_END = Limit(1e-9, 4000, math.inf, -math.inf)


def solve(names, pose, limit):
    """Return a result row; kernels that run as Python warn of infinities."""
    rows, pool = pack_shapes([BODIES[name] for name in names])
    first, second = PlacedBody(rows[0], pool, np.eye(4)), PlacedBody(rows[1], pool, pose)
    out = np.zeros(RESULT_LENGTH)
    with np.errstate(all="ignore"):
        solve_within(first, second, limit, np.zeros(STATE_LENGTH), np.empty((3, 3)), out)
    return out


def ends_of(row):
    return row[RESULT.lower], row[RESULT.upper]


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
@few_or_many(8, 400)
def test_an_interval_that_ends_at_a_threshold_decides_as_the_full_one(names, draws):
    rng = np.random.default_rng(PAIRS.index(names))
    full_work = work = 0.0
    for draw in range(draws):
        pose = np.eye(4)
        pose[:3, :3] = Rotation.random(rng=rng).as_matrix()
        pose[:3, 3] = (0.15 if draw % 2 else 0.6) * rng.normal(size=3)
        full = solve(names, pose, WITHOUT_END)
        for sign in (-1.0, 1.0):
            threshold = full[RESULT.distance] + sign * (0.1 * abs(full[RESULT.distance]) + 1e-3)
            limit = Limit(1e-9, 4000, threshold, threshold)
            found = solve(names, pose, limit)
            (lower, upper), (least, most) = ends_of(found), ends_of(full)
            assert lower <= most + 1e-12 and upper >= least - 1e-12, (draw, threshold)
            if verdict_of(least, most, limit) != UNDECIDED:
                assert verdict_of(lower, upper, limit) == verdict_of(least, most, limit), (draw, threshold)
            work += found[RESULT.iterations]
            full_work += full[RESULT.iterations]
    if names[0] != "superovoid" or names[1] == "box":
        assert work < 0.95 * full_work, (work, full_work)  # iterations count arcs, triangles and support points


@pytest.mark.parametrize("family", ["dented", "dent contact", "ends", "needles"])
@few_or_many(40, 1000)
def test_superovoids_decided_at_a_threshold_agree_with_their_full_intervals(family, draws):
    _, batch = generate(1, family, 0, draws)
    poses = batch.poses()
    for number in range(draws):
        rows = [Superovoid.from_goncalves(row[:3], row[3:5], row[5:])._packed_row for row in batch.rows[:, number]]

        def solve_with(limit, rows=rows, number=number):
            out = np.zeros(RESULT_LENGTH)
            solve_pair(*rows, *poses[:, number], limit, np.zeros(STATE_LENGTH), np.empty((3, 3)), out)
            return ends_of(out), out[RESULT.distance]

        full, distance = solve_with(WITHOUT_END)
        step = 0.1 * abs(distance) + 1e-4 * batch.rows[:, number, :3].max(axis=1).min()
        for threshold in (distance - step, distance + step, 0.5 * distance, 2.0 * distance, 0.0):
            limit = Limit(1e-9, 4000, threshold, threshold)
            found, _ = solve_with(limit)
            assert found[0] <= full[1] + 1e-12 and found[1] >= full[0] - 1e-12, (number, threshold)
            if verdict_of(*full, limit) != UNDECIDED:
                assert verdict_of(*found, limit) == verdict_of(*full, limit), (number, threshold)
