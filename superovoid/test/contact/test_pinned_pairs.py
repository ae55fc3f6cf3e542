# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pairs that once had a wrong or open answer, with their required properties (columns: data/README.md)."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import superovoid
from superovoid import Body, Mesh, Scene, Status, distance, distances
from superovoid.testing import contract
from superovoid.testing.flat_contacts import Pair

PINNED = json.loads((Path(__file__).parents[1] / "data" / "pinned_pairs.json").read_text(encoding="utf-8"))
each_pair = pytest.mark.parametrize("pinned", PINNED, ids=lambda pinned: pinned["fault"])


def pair_of(pinned):
    """Return the bodies and poses of a row of the table."""
    shapes = [dict(pinned[side]) for side in ("a", "b")]
    shapes = [getattr(superovoid, shape.pop("kind"))(**shape) for shape in shapes]
    poses = [np.vstack([pinned[name], [0.0, 0.0, 0.0, 1.0]]) for name in ("pose_a", "pose_b")]
    return Pair(shapes[0], poses[0], shapes[1], poses[1])


def assert_holds(pinned, pair, result):
    """Check an answer against its row of the table."""
    assert result.lower <= result.distance <= result.upper
    assert not list(contract.breaches(*pair, result)), result
    flags = set(str(result.status).split("|")) - {"CERTIFIED"}
    assert flags >= set(pinned.get("flags", []))
    assert flags <= set(pinned.get("only", Status.__members__))
    assert result.certified or not pinned.get("proved")
    assert result.upper - result.lower <= pinned.get("width", np.inf)
    assert result.distance >= pinned.get("at_least", -np.inf)
    assert result.upper >= pinned.get("upper_at_least", -np.inf)
    if "sign" in pinned:
        assert (result.lower > 0.0) - (result.upper < 0.0) == pinned["sign"]


@pytest.mark.ci
@each_pair
def test_pinned_answers_are_right(pinned):
    pair = pair_of(pinned)
    result, swapped = distance(*pair), distance(*pair[2:], *pair[:2])
    assert_holds(pinned, pair, result)
    assert (swapped.lower, swapped.upper, swapped.status) == (result.lower, result.upper, result.status)


@pytest.mark.ci
@each_pair
def test_the_checker_refutes_no_pinned_answer(pinned):
    pytest.importorskip("flint")
    from superovoid.checker import verify

    pair = pair_of(pinned)
    if not isinstance(pair.b, Mesh) and not isinstance(pair.a, Mesh):
        check = verify(distance(*pair, certificate=True), *pair)
        assert check.verdict != "refuted", list(check.lines())


@each_pair
def test_warm_starts_keep_required_properties(pinned):
    pair = pair_of(pinned)
    scene = Scene([Body("a", "a", pair.a), Body("b", "b", pair.b)])
    for shift in (1e-3, 0.0):
        near = pair.pose_b.copy()
        near[:3, 3] += shift
        scene.set_link_poses({"a": pair.pose_a, "b": near})
        warm = scene.query()[0]
    cold = distance(*pair)
    assert not list(contract.breaches(*pair, warm)), warm
    assert max(cold.lower, warm.lower) <= min(cold.upper, warm.upper) + 1e-9 * abs(cold.distance)


def test_lanes_keep_required_properties():
    ovoids = [pinned for pinned in PINNED if {pinned["a"]["kind"], pinned["b"]["kind"]} == {"Superovoid"}]
    ovoids *= -(-512 // len(ovoids))
    pairs = [pair_of(pinned) for pinned in ovoids]
    a, poses_a, b, poses_b = zip(*pairs, strict=True)
    for pinned, pair, row in zip(ovoids, pairs, distances(a, np.array(poses_a), b, np.array(poses_b)), strict=True):
        assert_holds(pinned, pair, row)


# --- depths over concavities, which the checker leaves undecided ---


def level(shape, pose, x):
    """Return the implicit function of a body at a point of the world, by its definition."""
    local = (x - pose[:3, 3]) @ pose[:3, :3]
    (a1, a2, a3), (e1, e2), (tx, ty) = shape.semi_axes, (shape.section_exponent, shape.profile_exponent), shape.taper
    w = local[2] / a3
    u, v = local[0] / (a1 * (1.0 + tx * w)), local[1] / (a2 * (1.0 + ty * w))
    return (np.abs(u) ** (2.0 / e1) + np.abs(v) ** (2.0 / e1)) ** (e1 / e2) + np.abs(w) ** (2.0 / e2) - 1.0


def common_level(pair, move, starts):
    """Return the least level found of a point in both bodies, B moved: negative if they overlap."""
    a, pose_a, b, pose_b = pair

    def level_of_both(x):
        return max(level(a, pose_a, x), level(b, pose_b, x - move))

    best = np.inf
    for start in starts:
        found = minimize(
            lambda z: z[3],
            np.append(start, level_of_both(start)),
            method="SLSQP",
            constraints=[
                {"type": "ineq", "fun": lambda z: z[3] - level(a, pose_a, z[:3])},
                {"type": "ineq", "fun": lambda z: z[3] - level(b, pose_b, z[:3] - move)},
            ],
            options={"maxiter": 200, "ftol": 1e-15},
        )
        best = min(best, level_of_both(found.x[:3]))
        if best < 0.0:
            break
    return best


@pytest.mark.parametrize("number", range(6))
def test_no_shorter_translation_separates_bodies_that_overlap_over_a_concavity(number):
    pair = pair_of(
        [each for each in PINNED if each["fault"] == "bodies that overlap over a dent were left open"][number]
    )
    result = distance(*pair)
    rng = np.random.default_rng(number)
    middle = 0.5 * (result.point_a + result.point_b)
    starts = middle + rng.normal(size=(6, 3)) * np.geomspace(1e-3, 0.7, 6)[:, None]
    # Moved by the depth they have no common point; moved by a little less, they have one.
    assert common_level(pair, (1e-9 - result.lower) * result.normal, starts) > -1e-9
    tilts = rng.normal(size=(6, 3)) * np.geomspace(1e-4, 3.0, 6)[:, None]
    for n in result.normal + np.vstack([np.zeros(3), tilts]):
        move = -(result.upper + 1e-7) * n / np.linalg.norm(n)
        contact = 0.5 * (result.point_a + result.point_b + move)
        assert common_level(pair, move, np.vstack([contact, starts])) < 0.0
