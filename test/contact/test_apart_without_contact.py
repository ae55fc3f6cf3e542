# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies with dents that are apart although their hulls overlap, and Newton's method finds no contact of theirs."""

import numpy as np
import pytest
from drawn_pairs import drawn_pair
from scipy.spatial.transform import Rotation

from superovoid_ros import Status, Superovoid, distance
from superovoid_ros.experiments.judges import contract

from draws import few_or_many


def level(shape, pose, points):
    """The gauge of a body at points of the world, of its definition: at most 1 inside."""
    local = (points - pose[:3, 3]) @ pose[:3, :3]
    w = local[:, 2] / shape.size[2]
    across = np.abs(local[:, :2] / (np.array(shape.size[:2]) * (1.0 + np.outer(w, shape.taper))))
    e1, e2 = shape.epsilon

    def norm_of(pairs, e):
        larger = np.maximum(pairs.max(axis=1), 1e-300)
        return larger * ((pairs / larger[:, None]) ** (2.0 / e)).sum(axis=1) ** (0.5 * e)

    whole = norm_of(np.stack([norm_of(across, e1), np.abs(w)], axis=1), e2)
    return np.where(np.abs(w) > 1.0, np.maximum(whole, np.abs(w)), whole)


def surface_points(shape, pose, rng, count):
    """Points of a surface along random rays of its untapered shape."""
    ray = rng.normal(size=(count, 3))
    untapered = Superovoid(shape.size, shape.epsilon)
    ray *= shape.size / level(untapered, np.eye(4), ray * shape.size)[:, None]
    ray[:, :2] *= 1.0 + np.outer(ray[:, 2] / shape.size[2], shape.taper)
    return ray @ pose[:3, :3].T + pose[:3, 3]


def common_level(pair, rng, rounds=60):
    """Least gauge that random walks find a point to have in both bodies: at most 1 where they meet a common point."""
    a, pose_a, b, pose_b = pair

    def both(points):
        return np.maximum(level(a, pose_a, points), level(b, pose_b, points))

    best = np.vstack([surface_points(a, pose_a, rng, 3000), surface_points(b, pose_b, rng, 3000)])
    values = both(best)
    for spread in max(*a.size, *b.size) * 0.3 * 0.7 ** np.arange(rounds):
        kept = np.argsort(values)[:40]
        if values[kept[0]] <= 1.0:
            break
        steps = rng.normal(size=(960, 3)) * np.exp(rng.uniform(-6.0, 0.0, (960, 3)))
        trial = np.repeat(best[kept], 24, axis=0) + spread * steps
        best, values = np.vstack([best[kept], trial]), np.append(values[kept], both(trial))
    return values.min()


# Without a contact to begin with, one of them 0.07 deep in the hull of the other.
@pytest.mark.parametrize(
    ("name", "number"),
    [("border", 193), ("border", 509), ("border", 239), ("dent contact", 3), ("dent contact", 292), ("ends", 2)],
)
def test_bodies_apart_are_never_given_the_depth_of_their_hulls(name, number):
    pair = drawn_pair(name, number)
    result = distance(*pair)
    assert 0.0 < result.lower <= result.distance <= result.upper
    assert result.upper - result.lower < 1e-2 * result.upper + 2e-9 * max(*pair[0].size, *pair[2].size)
    assert not list(contract.breaches(*pair, result)), result
    # No point of the surface of one is in the other, moved along any direction by less than what is proved.
    rng = np.random.default_rng(number)
    for n in np.vstack([-result.normal, Rotation.random(5, rng=rng).as_matrix()[:, 0]]):
        pose_b = pair[3].copy()
        pose_b[:3, 3] += 0.999 * result.lower * n
        assert common_level((*pair[:3], pose_b), rng, 20) > 1.0


@pytest.mark.parametrize("name", ["border", "dent contact", "ends"])
@few_or_many(300, 2000, "count")
def test_overlaps_that_are_not_proved_have_a_common_point_or_next_to_one(name, count):
    rng = np.random.default_rng(3)
    looked = 0
    for number in range(count):
        pair = drawn_pair(name, number)
        result = distance(*pair)
        if result.distance < 0.0 and result.status & Status.UNPROVEN and result.upper > 1e-5:
            looked += 1
            assert common_level(pair, rng) < 1.0 + 1e-4, (number, result)
            if looked == 12:
                break
    assert looked > 0 or name == "border"


def test_the_nearer_of_two_contacts_beside_a_dent_is_the_answer():
    """Of one contact apart, and one at which the bodies are proved to overlap, the second."""
    pair = drawn_pair("dent contact", 660)
    result = distance(*pair)
    assert result.status & Status.UNPROVEN == 0
    assert -3e-6 < result.distance < -1e-6
    assert not list(contract.breaches(*pair, result)), result
