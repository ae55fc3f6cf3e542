# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Arrays that mix pairs of all kinds: each answer equals that of the pair alone, in any order and with any threads."""

from __future__ import annotations

import itertools
import tracemalloc
from dataclasses import fields

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    DerivativeStatus,
    Ellipsoid,
    HalfSpace,
    ImpactStatus,
    Mesh,
    Motion,
    Shell,
    Sphere,
    Superovoid,
    Torus,
    are_closer,
    are_intersecting,
    derivatives,
    distance,
    distances,
    pose_gradients,
    time_of_impact,
)
from superovoid.contact import broadcasting

CORNERS = np.array(np.meshgrid([-0.3, 0.4], [-0.2, 0.3], [-0.25, 0.2])).reshape(3, -1).T
RING = Torus(0.4, 0.12).triangles(12)
SHAPES = {
    "superovoid": Superovoid((0.3, 0.2, 0.4), section_exponent=0.6, profile_exponent=0.9, taper=(0.2, 0.1)),
    "dented": Superovoid((0.4, 0.4, 0.4), section_exponent=1.6, profile_exponent=0.2, taper=(0.4, -0.4)),
    "sphere": Sphere(0.3),
    "plane": HalfSpace(),
    "capsule": Capsule(0.15, 0.5),
    "box": Box((0.4, 0.6, 0.8)),
    "cylinder": Cylinder(0.2, 0.6),
    "cone": Cone(0.3, 0.5),
    "torus": Torus(0.4, 0.1),
    "hull": ConvexMesh(CORNERS),
    "mesh": Mesh.from_triangles(*RING),
    "shell": Shell(*RING),
}
EACH = 3  # poses of every two kinds


def random_poses(rng, count, spread):
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = Rotation.random(count, rng=rng).as_matrix()
    poses[:, :3, 3] = spread * rng.normal(size=(count, 3))
    return poses


@pytest.fixture(scope="module")
def mixed_pairs():
    """Return pairs of every two kinds in both orders, some separate and some overlapping: a, pose_a, b, pose_b."""
    rng = np.random.default_rng(4)
    pairs = list(itertools.product(SHAPES.values(), repeat=2)) * EACH
    order = rng.permutation(len(pairs))
    a, b = [pairs[i][0] for i in order], [pairs[i][1] for i in order]
    found = a, random_poses(rng, len(a), 0.2), b, random_poses(rng, len(a), 0.4)
    apart = distances(*found).distance > 0.0
    assert 0.2 < apart.mean() < 0.8
    return found


def motions(pairs, seed=5):
    """Return motions of both bodies of pairs towards each other; one in three of the first bodies is at rest."""
    rng = np.random.default_rng(seed)
    first = [Motion.at_rest(p) if k % 3 else Motion(p, (0, 0, 0), rng.normal(size=3)) for k, p in enumerate(pairs[1])]
    back = np.array(pairs[3])
    back[:, :3, 3] *= 4.0
    second = [Motion(p, -1.2 * p[:3, 3] + 0.2 * rng.normal(size=3), rng.normal(size=3)) for p in back]
    return pairs[0], first, pairs[2], second


def decide(a, pose_a, b, pose_b, **options):
    return are_closer(a, pose_a, b, pose_b, 0.05, **options)


QUESTIONS = {"distances": distances, "are_closer": decide, "time_of_impact": time_of_impact}
ALONE = {"distances": distance, "are_closer": decide, "time_of_impact": time_of_impact}


def asked_of(question, pairs):
    return motions(pairs) if question == "time_of_impact" else pairs


def select(pairs, rows):
    return [[each[i] for i in rows] for each in pairs]


# -- equal answers alone and among others ----------------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_among_mixed_pairs_repeat_those_of_single_pairs(question, mixed_pairs):
    asked = asked_of(question, mixed_pairs)
    many = QUESTIONS[question](*asked)
    assert len(many) == len(asked[0])
    step = 5 if question == "time_of_impact" else 1
    for i in range(0, len(many), step):
        assert many[i] == ALONE[question](*(each[i] for each in asked)), (i, asked[0][i], asked[2][i])


@pytest.mark.ci
@pytest.mark.parametrize("question", QUESTIONS)
def test_order_and_threads_change_no_bit_of_mixed_pairs(question, mixed_pairs, monkeypatch):
    asked = asked_of(question, select(mixed_pairs, range(0, 300)))
    used = []

    def count_threads(portions, work, threads):
        used.append(threads)
        return shared(portions, work, threads)

    shared = broadcasting.share
    monkeypatch.setattr(broadcasting, "share", count_threads)
    monkeypatch.setattr(broadcasting, "MOST_AT_ONCE", 31)
    whole = QUESTIONS[question](*asked, threads=1)
    for threads in (2, 4, None):
        assert QUESTIONS[question](*asked, threads=threads) == whole
    assert used[:3] == [1, 2, 4]
    order = np.random.default_rng(6).permutation(300)
    assert QUESTIONS[question](*select(asked, order), threads=2) == whole[order]


def test_swapping_mixed_bodies_swaps_distances_bit_by_bit(mixed_pairs):
    a, pose_a, b, pose_b = mixed_pairs
    one, other = distances(a, pose_a, b, pose_b), distances(b, pose_b, a, pose_a)
    for name in ("distance", "lower", "upper", "status"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.point_a, other.point_b)
    np.testing.assert_array_equal(one.normal, -other.normal)


def test_large_batches_change_only_superovoids_within_both_intervals(mixed_pairs):
    rng = np.random.default_rng(7)
    count = 700
    ovoid = SHAPES["superovoid"]
    a, b = [*mixed_pairs[0], *[ovoid] * count], [*mixed_pairs[2], *[Ellipsoid((0.2, 0.3, 0.4))] * count]
    pose_a = np.concatenate([mixed_pairs[1], random_poses(rng, count, 0.2)])
    pose_b = np.concatenate([mixed_pairs[3], random_poses(rng, count, 0.4)])
    large, small = distances(a, pose_a, b, pose_b), distances(*mixed_pairs)
    some = large[: len(mixed_pairs[0])]
    in_lanes = np.array([isinstance(x, Superovoid) and isinstance(y, Superovoid) for x, y in zip(a, b, strict=True)])
    others = ~in_lanes[: len(some)]
    assert some[others] == small[others]
    assert (some.lower <= small.upper).all() and (small.lower <= some.upper).all()
    order = rng.permutation(len(a))
    again = distances(*select((a, pose_a, b, pose_b), order), threads=2)
    assert again == large[order]
    assert distances(*select((a, pose_a, b, pose_b), np.flatnonzero(in_lanes))) == large[in_lanes]


# -- broadcasting ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["box", "superovoid", "mesh"])
def test_one_shape_and_one_pose_are_broadcast(kind):
    shape, other, here = SHAPES[kind], SHAPES["capsule"], np.eye(4)
    places = random_poses(np.random.default_rng(8), 5, 0.6)
    assert distances(shape, here, other, places) == distances([shape] * 5, [here] * 5, [other] * 5, places)
    for threshold in (0.1, np.full(5, 0.1)):
        verdicts = are_closer(shape, here, other, places, threshold)
        assert verdicts == are_closer([shape] * 5, here, [other] * 5, places, 0.1)
    assert are_intersecting(shape, here, other, places) == are_closer(shape, here, other, places, 0.0)
    thresholds = np.linspace(-0.1, 0.5, 4)
    assert are_closer(shape, here, other, places[0], thresholds)[2] == are_closer(
        shape, here, other, places[0], thresholds[2]
    )
    falling = [Motion(pose, (0.0, 0.0, -1.0), (0.0, 0.0, 0.0)) for pose in places]
    impacts = time_of_impact(shape, here, other, falling)
    assert impacts == time_of_impact([shape] * 5, [here] * 5, [other] * 5, falling)
    assert impacts[1] == time_of_impact(shape, here, other, falling[1])
    still = time_of_impact(shape, here, other, places)
    assert [each.status for each in still] == [
        ImpactStatus.STARTS_IN_CONTACT if each.distance < 0.0 else ImpactStatus.FREE
        for each in distances(shape, here, other, places)
    ]
    directions = are_closer(shape, here, other, places, 0.1, direction=(0.0, 0.0, 1.0))
    assert directions == are_closer(shape, here, other, places, 0.1, direction=np.tile((0.0, 0.0, 1.0), (5, 1)))


def test_impacts_of_many_pairs_select_rows_and_lack_a_truth_value(mixed_pairs):
    impacts = time_of_impact(*motions(select(mixed_pairs, range(20))))
    met = impacts[impacts.status == ImpactStatus.IMPACT]
    assert 0 < len(met) < 20 and all(each.status is ImpactStatus.IMPACT for each in met)
    assert impacts[3].result == impacts.result[3]
    assert impacts[3].statistics.solves == impacts.statistics.solves[3]
    with pytest.raises(TypeError, match="no truth value"):
        bool(impacts)


def test_no_pairs_give_empty_tables():
    none, here = np.empty((0, 4, 4)), np.eye(4)
    box = SHAPES["box"]
    for empty in (([], here, box, here), (box, none, box, here), ([], none, [], none)):
        assert len(distances(*empty)) == len(decide(*empty)) == len(time_of_impact(*empty)) == 0
        found = derivatives(*empty, distances(*empty))
        assert found.by_shape_a.shape == (0, 7) and found.status.shape == (0,)
    assert len(are_closer(box, here, box, here, [])) == 0


@pytest.mark.parametrize("question", [*QUESTIONS.values(), are_intersecting])
def test_different_numbers_of_pairs_are_refused_by_name(question):
    box, here = SHAPES["box"], np.eye(4)
    poses = "motion" if question is time_of_impact else "pose"
    with pytest.raises(ValueError, match="the numbers of pairs differ: a: 2, b: 3"):
        question([box] * 2, here, [box] * 3, here)
    with pytest.raises(ValueError, match=f"differ: a: 2, {poses}_b: 3"):
        question([box] * 2, here, box, np.tile(here, (3, 1, 1)))
    with pytest.raises(ValueError, match=rf"{poses}_a: must have shape \(n, 4, 4\) or \(4, 4\), found \(1, 1, 4, 4\)"):
        question(box, here[None, None], box, here)
    with pytest.raises(TypeError, match=r"b\[1\]: must be a shape of superovoid.shapes, found int"):
        question(box, here, [box, 7], here)
    with pytest.raises(TypeError, match="a: must be a shape or a sequence of shapes, found"):
        question(iter([box]), here, box, here)
    with pytest.raises(ValueError, match=r"threads = 0: must be None or an integer of at least 1"):
        question([box], here, box, here, threads=0)


# -- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", [distances, decide])
def test_mixed_pairs_take_bounded_memory_besides_their_answers(question):
    rng = np.random.default_rng(9)
    count = 100_000
    shapes = [SHAPES[kind] for kind in ("superovoid", "capsule", "box", "cylinder", "hull", "torus")]
    a = [shapes[i] for i in rng.integers(len(shapes), size=count)]
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, 3] = 4.0 * rng.normal(size=(count, 3))
    question(a[:1000], np.eye(4), SHAPES["capsule"], poses[:1000])  # allocates memory that stays allocated
    tracemalloc.start()
    try:
        answers = question(a, np.eye(4), SHAPES["capsule"], poses)
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(answers) == count
    assert most - held < 20e6  # masks and indices of shapes; rows of 50 numbers a pair would take 40e6


# -- derivatives ------------------------------------------------------------------------------------------------------


def test_derivatives_of_mixed_pairs_equal_those_of_single_pairs(mixed_pairs):
    results = distances(*mixed_pairs)
    whole = derivatives(*mixed_pairs, results, threads=1)
    assert derivatives(*mixed_pairs, results, threads=3) == whole
    gradients = pose_gradients(results, mixed_pairs[1], mixed_pairs[3])
    np.testing.assert_array_equal(whole.by_pose_a, gradients.by_pose_a)
    for i in range(len(results)):
        alone = derivatives(*(each[i] for each in mixed_pairs), results[i])
        for field in fields(alone):
            expected = getattr(whole, field.name)[i]
            np.testing.assert_array_equal(getattr(alone, field.name), expected, err_msg=field.name)


def test_derivatives_by_shape_cover_superovoids_against_any_kind(mixed_pairs):
    a, _, b, _ = mixed_pairs
    found = derivatives(*mixed_pairs, distances(*mixed_pairs))
    ovoid = np.array([[isinstance(shape, Superovoid) for shape in shapes] for shapes in (a, b)])
    np.testing.assert_array_equal(np.isfinite(found.by_shape_a).all(axis=1), ovoid[0])
    np.testing.assert_array_equal(np.isnan(found.by_shape_b).all(axis=1), ~ovoid[1])
    both = ovoid.all(axis=0)
    np.testing.assert_array_equal(found.status & DerivativeStatus.OTHER_KIND == 0, both)
    np.testing.assert_array_equal(np.isnan(found.by_translation_twice).all(axis=(1, 2)), ~both)
    assert np.isfinite(found.relative_curvatures[both]).all()


@pytest.mark.parametrize("kind", ["capsule", "box", "plane", "torus", "hull"])
def test_derivatives_by_shape_against_other_kinds_agree_with_differences(kind):
    rng = np.random.default_rng(10)
    other = SHAPES[kind]
    checked = 0
    for _ in range(6):
        values = np.array([*rng.uniform(0.2, 0.5, 3), *rng.uniform(0.5, 1.2, 2), *rng.uniform(-0.1, 0.1, 2)])
        pose = random_poses(rng, 1, 0.1)[0]
        pose[2, 3] += 1.2

        def at(numbers, pose=pose):
            shape = Superovoid.from_goncalves(numbers[:3], numbers[3:5], numbers[5:])
            return shape, distance(other, np.eye(4), shape, pose)

        shape, result = at(values)
        if not result.differentiable:
            continue
        checked += 1
        found = derivatives(other, np.eye(4), shape, pose, result).by_shape_b
        for k in range(7):
            step = np.zeros(7)
            step[k] = 1e-5
            change = (at(values + step)[1].distance - at(values - step)[1].distance) / 2e-5
            assert found[k] == pytest.approx(change, abs=1e-5), (kind, k)  # intervals are 1e-9 of a size wide
    assert checked >= 3
