# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`ARBITRARY_NORMAL`: set for an overlap if another direction is as good to within the tolerance, and only then.

Bisection finds a pose for which two directions tie. Moving a body by a little from there makes one of them better by
a known difference: along n the depth changes by -n . move. Ascents that share no code with the engine compute the
depths along the directions.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Body, Scene, Status, Superovoid, distance
from superovoid.testing.independent import Batch, ascend, support

TOLERANCE = 1e-6


def pose(turn, offset):
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn.as_matrix(), offset
    return matrix


def row_of(shape):
    return np.array([*shape.semi_axes, shape.section_exponent, shape.profile_exponent, *shape.taper])


def random_box_like(rng):
    return Superovoid.from_goncalves(0.01 * np.exp(0.5 * rng.normal(size=3)), rng.uniform(0.05, 0.2, 2))


def depth_along(a, b, pose_b, n):
    """Return the support value of A - B, A at the origin, by the reference code."""
    n = n[None]
    h_a, h_b = support(row_of(a)[None], n)[0], support(row_of(b)[None], -n @ pose_b[:3, :3])[0]
    return float((h_a + h_b - n @ pose_b[:3, 3])[0])


def deepest_elsewhere(a, b, pose_b, n, rng):
    """Return the least depth that ascents find in directions other than n."""
    starts = np.concatenate([rng.normal(size=(60, 3)), [-n]])
    count = len(starts)
    rows = np.repeat([[row_of(a)], [row_of(b)]], count, axis=1)
    poses = np.repeat([[np.eye(4)], [pose_b]], count, axis=1)
    batch = Batch(rows, poses[..., :3, :3], poses[..., :3, 3], np.ones(count, bool))
    gaps, directions = ascend(batch, starts, 60)
    return float((-gaps)[np.linalg.norm(directions - n, axis=1) > 0.05].min(initial=np.inf))


def ties(numbers):
    """Yield two bodies, a turn and a place of B with a tie of two directions, and these; a pair for each number."""
    for number in numbers:
        rng = np.random.default_rng([41, number])
        while (tie := _tie(random_box_like(rng), random_box_like(rng), rng)) is None:
            pass
        yield tie


def _tie(a, b, rng):
    """Return a tie between the separating directions at two random places of B; None if there is none."""
    size = min(max(a.semi_axes), max(b.semi_axes))
    turn = Rotation.from_rotvec(rng.normal(size=3))
    places = [0.4 * size * rng.normal(size=3) for _ in range(2)]
    results = [distance(a, np.eye(4), b, pose(turn, place)) for place in places]
    if max(result.distance for result in results) >= 0.0:
        return None
    normals = [result.normal for result in results]
    for _ in range(30):
        middle = 0.5 * (places[0] + places[1])
        normal = distance(a, np.eye(4), b, pose(turn, middle)).normal
        nearer = int(normal @ normals[1] > normal @ normals[0])
        places[nearer], normals[nearer] = middle, normal
    first, second = normals
    if first @ second > 0.95:
        return None
    # The engine's normals change if one direction is better by its tolerance: move from there to the tie.
    depths = [depth_along(a, b, pose(turn, places[0]), n) for n in (first, second)]
    return a, b, turn, away_from_tie(places[0], first, second, depths[0] - depths[1]), first, second


def away_from_tie(place, first, second, difference):
    """Return the place from which the first direction is better than the second by a difference."""
    between = first - second
    return place + difference * between / (between @ between)


@pytest.mark.parametrize("by", [0.3, 0.6, 0.9])
def test_another_direction_as_good_within_the_tolerance_is_flagged(by):
    for a, b, turn, place, first, second in ties([0, 1, 2, 131]):
        goal = TOLERANCE * min(max(a.semi_axes), max(b.semi_axes))
        pose_b = pose(turn, away_from_tie(place, first, second, by * goal))
        assert depth_along(a, b, pose_b, second) - depth_along(a, b, pose_b, first) < 0.95 * goal
        for pair in ((a, np.eye(4), b, pose_b), (b, pose_b, a, np.eye(4))):
            assert distance(*pair, rtol=TOLERANCE).status & Status.ARBITRARY_NORMAL


@pytest.mark.parametrize("by", [1.3, 1.8, 4.0])
def test_another_direction_worse_by_more_than_the_tolerance_is_not_flagged(by):
    rng = np.random.default_rng(33)
    looked = 0
    for a, b, turn, place, first, second in ties([1, 2, 3, 8, 25, 39]):
        goal = TOLERANCE * min(max(a.semi_axes), max(b.semi_axes))
        pose_b = pose(turn, away_from_tie(place, first, second, by * goal))
        result = distance(a, np.eye(4), b, pose_b, rtol=TOLERANCE)
        if result.status & Status.ARBITRARY_NORMAL:
            # A third direction may be as good.
            assert deepest_elsewhere(a, b, pose_b, result.normal, rng) <= 1.01 * goal - result.distance
        else:
            looked += 1
    assert looked > 3


def test_a_warm_scene_near_ties_flags_them_like_a_new_one():
    rng = np.random.default_rng(34)
    for a, b, turn, place, first, second in ties(range(6)):
        goal = TOLERANCE * min(max(a.semi_axes), max(b.semi_axes))
        scene = Scene([Body("a", "a", a), Body("b", "b", b)], rtol=TOLERANCE)
        for by in (20.0, 5.0, *rng.uniform(0.2, 0.9, 3), *rng.uniform(1.2, 3.0, 3)):
            moved = Rotation.from_rotvec(1e-9 * rng.normal(size=3)) * turn
            pose_b = pose(moved, away_from_tie(place, first, second, by * goal))
            scene.set_link_poses(np.array([np.eye(4), pose_b]))
            [status] = scene.query().status
            if by < 1.0:
                assert status & Status.ARBITRARY_NORMAL
            elif status & Status.ARBITRARY_NORMAL:
                [normal] = scene.query().normal
                [depth] = -scene.query().distance
                assert deepest_elsewhere(a, b, pose_b, normal, rng) <= 1.01 * goal + depth
