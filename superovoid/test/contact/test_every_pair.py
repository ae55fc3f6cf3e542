# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Properties of every answer, for pairs of any two kinds in each regime and superovoids of each random family.

The oracles are `superovoid.checker`, which proves or refutes an interval in ball arithmetic, and
`superovoid.testing.contract`, whose formulas share no code with the engine.
"""

import itertools
from functools import cache

import numpy as np
import pytest
from meshes import subdivide
from scipy.spatial.transform import Rotation

from superovoid import Body, Box, ConvexMesh, HalfSpace, Mesh, Scene, Status, Torus, are_closer, distance, distances
from superovoid.contact.inputs import TOLERANCE
from superovoid.contact.lanes.many_pairs import CHUNK
from superovoid.shapes.scaling import scale_shape
from superovoid.testing import contract, random_pairs, regimes

from draws import few_or_many

KIND_PAIRS = [
    kinds
    for kinds in itertools.combinations_with_replacement(regimes.KINDS_AND_PLANE, 2)
    if set(kinds) != {regimes.PLANE}
]
FAMILIES = [f"superovoids, {family}" for family in random_pairs.FAMILIES]
PAIRS_OF_A_FAMILY = 4  # for each pair of kinds in a regime
few_or_many_draws = few_or_many(1, 20)
each_case = pytest.mark.parametrize("case", [*regimes.REGIMES, *FAMILIES])


@cache
def pairs_with_answers(case, draws):
    """Return pairs of a case with their answers; `draws` is the number of pairs for each two kinds."""
    if case in FAMILIES:
        drawn = random_pairs.draw(case.removeprefix("superovoids, "), 11, PAIRS_OF_A_FAMILY * draws)
    else:
        seeds = itertools.product([11], [regimes.REGIMES.index(case)], range(len(KIND_PAIRS)), range(draws))
        drawn = (regimes.draw(*KIND_PAIRS[seed[2]], case, np.random.default_rng(seed)) for seed in seeds)
    return [(pair, distance(*pair, certificate=True)) for pair in drawn]


def size_of(pair):
    """Return the size of the smaller body."""
    return min(regimes.size_of(pair.a), regimes.size_of(pair.b))


def rounding_of(pair):
    """Return a bound on the rounding errors of a pair's coordinates."""
    radii = [shape.bounding_sphere().radius for shape in (pair.a, pair.b) if not isinstance(shape, HalfSpace)]
    coordinates = np.abs(pair.pose_a[:3, 3]).max() + np.abs(pair.pose_b[:3, 3]).max()
    return 64.0 * np.finfo(float).eps * (sum(radii) + coordinates)


def numbers_of(result):
    values = result.distance, result.lower, result.upper, *result.point_a, *result.point_b, *result.normal
    return np.array([*values, int(result.status)])


def assert_keeps_its_promises(pair, result):
    assert result.lower <= result.distance <= result.upper, (pair, result)
    assert not list(contract.breaches(*pair, result)), (pair, result)
    are_convex = pair.a.is_convex() and pair.b.is_convex()
    is_marked = Status.NON_CONVEX in result.status
    assert is_marked == (Status.UNPROVEN in result.status and not are_convex), (pair, result)
    if result.certified:
        width = result.upper - result.lower
        assert width <= 1.000001 * TOLERANCE * size_of(pair) + 8.0 * rounding_of(pair), (pair, result)


def assert_intervals_meet(pair, one, other, scale=1.0):
    lower, upper = max(one.lower, scale * other.lower), min(one.upper, scale * other.upper)
    assert lower <= upper + rounding_of(pair), (pair, one, other)


def assert_swapped(pair, result, other):
    """Check that the answer for the pair with its bodies exchanged is the same bit by bit."""
    assert (other.distance, other.lower, other.upper) == (result.distance, result.lower, result.upper), pair
    assert other.status == result.status, (pair, result, other)
    assert np.array_equal(other.point_a, result.point_b) and np.array_equal(other.point_b, result.point_a), pair
    assert np.array_equal(other.normal, -result.normal), (pair, result, other)


def is_one_body_twice(pair):
    """Return whether the bodies have no order: exchanged, they are the same pair."""
    return pair.a == pair.b and np.array_equal(pair.pose_a, pair.pose_b)


@pytest.mark.ci
@few_or_many_draws
@each_case
def test_points_and_normal_realise_an_interval_as_narrow_as_promised(case, draws):
    convex = []
    for pair, result in pairs_with_answers(case, draws):
        assert_keeps_its_promises(pair, result)
        if all(contract.holds_its_hull(shape) for shape in (pair.a, pair.b)):
            convex.append(result.certified)
    assert np.mean(convex or [True]) > (0.95 if case in regimes.REGIMES else 0.5)


@pytest.mark.ci
@few_or_many_draws
@each_case
def test_the_checker_refutes_no_answer_and_proves_most(case, draws):
    pytest.importorskip("flint")
    from superovoid.checker import verify

    verdicts = []
    for pair, result in pairs_with_answers(case, draws):
        if Mesh in (type(pair.a), type(pair.b)):
            continue  # the checker does not support non-convex meshes
        check = verify(result, *pair)
        assert check.verdict != "refuted", (pair, result, list(check.lines()))
        if result.distance > 0.0 or all(contract.holds_its_hull(shape) for shape in (pair.a, pair.b)):
            verdicts.append(check.interval.verdict)
    share = 0.8 if case in regimes.REGIMES else 0.5
    assert verdicts.count("accepted") >= share * len(verdicts)


@few_or_many_draws
@each_case
def test_swapping_bodies_swaps_the_answer_bit_by_bit(case, draws):
    for pair, result in pairs_with_answers(case, draws):
        if not is_one_body_twice(pair):
            assert_swapped(pair, result, distance(pair.b, pair.pose_b, pair.a, pair.pose_a))


@few_or_many_draws
@each_case
def test_small_batches_repeat_single_answers_bit_by_bit(case, draws):
    some = pairs_with_answers(case, draws)[: CHUNK - 1]
    a, poses_a, b, poses_b = zip(*(pair for pair, _ in some), strict=True)
    rows = distances(a, np.array(poses_a), b, np.array(poses_b))
    for (pair, result), row in zip(some, rows, strict=True):
        assert np.array_equal(numbers_of(row), numbers_of(result)), (pair, result, row)


@few_or_many_draws
def test_large_batches_agree_with_single_answers(draws):
    every = [each for case in FAMILIES for each in pairs_with_answers(case, draws)]
    every = list(itertools.islice(itertools.cycle(every), max(len(every), CHUNK + 37)))
    a, poses_a, b, poses_b = zip(*(pair for pair, _ in every), strict=True)
    rows = distances(a, np.array(poses_a), b, np.array(poses_b))
    swapped = distances(b, np.array(poses_b), a, np.array(poses_a))
    for (pair, result), row, other in zip(every, rows, swapped, strict=True):
        assert_keeps_its_promises(pair, row)
        assert_intervals_meet(pair, result, row)
        if not is_one_body_twice(pair):
            assert_swapped(pair, row, other)


@pytest.mark.ci
@few_or_many_draws
@each_case
def test_warm_starts_agree_with_cold_ones(case, draws):
    rng = np.random.default_rng(13)
    for pair, result in pairs_with_answers(case, draws):
        scene = Scene([Body("a", "a", pair.a), Body("b", "b", pair.b)])
        for step in (1e-2, 1e-5, 0.0):
            near = pair.pose_b.copy()
            near[:3, 3] += step * size_of(pair) * rng.normal(size=3)
            scene.set_link_poses({"a": pair.pose_a, "b": near})
            warm = scene.query()[0]
        assert_keeps_its_promises(pair, warm)
        assert_intervals_meet(pair, result, warm)


@few_or_many_draws
@each_case
def test_thresholds_agree_with_the_interval(case, draws):
    for pair, result in pairs_with_answers(case, draws):
        rounding = rounding_of(pair)
        margin = 1.1 * TOLERANCE * size_of(pair) + 8.0 * rounding
        for threshold in (result.lower - margin, result.distance, result.upper + margin, 0.0):
            verdict = are_closer(*pair, threshold)
            assert not (verdict.closer and threshold < result.lower - rounding), (pair, result, threshold)
            assert not (verdict.farther and threshold > result.upper + rounding), (pair, result, threshold)
            if result.certified and not result.lower - margin < threshold < result.upper + margin:
                assert not verdict.undecided, (pair, result, threshold)


@few_or_many_draws
@each_case
def test_moving_and_scaling_the_world_moves_and_scales_the_answer(case, draws):
    rng = np.random.default_rng(14)
    for pair, result in pairs_with_answers(case, draws):
        motion = np.eye(4)
        motion[:3, :3], motion[:3, 3] = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
        moved = pair._replace(pose_a=motion @ pair.pose_a, pose_b=motion @ pair.pose_b)
        assert_intervals_meet(moved, result, distance(*moved))
        smaller = pair._replace(a=_quarter(pair.a), b=_quarter(pair.b))
        shrink = np.diag([0.25, 0.25, 0.25, 1.0])
        for pose in ("pose_a", "pose_b"):
            smaller = smaller._replace(**{pose: shrink @ getattr(pair, pose) @ np.linalg.inv(shrink)})
        assert_intervals_meet(pair, result, distance(*smaller), 4.0)


def _quarter(shape):
    """Return a body a quarter as large, scaled about its origin."""
    if isinstance(shape, ConvexMesh):
        return ConvexMesh(0.25 * shape.vertices)
    return Mesh(0.25 * shape.vertices, shape.faces) if isinstance(shape, Mesh) else scale_shape(shape, 0.25)


@few_or_many_draws
@pytest.mark.parametrize("regime", ["near", "shallow", "flat"])
def test_the_same_solid_as_a_finer_mesh_has_the_same_answer(regime, draws):
    """The checker does not support non-convex meshes; here polytopes, hulls and triangles check each other."""
    compared = 0
    for pair, result in pairs_with_answers(regime, draws):
        finer = pair._replace(a=_as_finer_mesh(pair.a), b=_as_finer_mesh(pair.b))
        if finer != pair:
            compared += 1
            assert_intervals_meet(pair, result, distance(*finer))
    assert compared > 20


def _as_finer_mesh(shape):
    """Return a polytope as a mesh of more triangles; a minute cavity prevents its treatment as a polytope."""
    if isinstance(shape, Mesh):
        return subdivide(shape, 1)
    if not isinstance(shape, (Box, ConvexMesh)):
        return shape
    solid = shape.tessellate()
    middle = solid.vertices.mean(axis=0)
    vertices = np.concatenate([solid.vertices, middle + 1e-3 * (solid.vertices - middle)])
    faces = np.concatenate([solid.faces, solid.faces[:, ::-1] + len(solid.vertices)])
    return subdivide(Mesh(vertices, faces), 1)


@few_or_many_draws
@pytest.mark.parametrize("regime", regimes.REGIMES)
def test_each_regime_occurs(regime, draws):
    results = pairs_with_answers(regime, draws)
    relative = np.array([result.distance / size_of(pair) for pair, result in results])
    status = np.array([int(result.status) for _, result in results])
    # The gap of other bodies is that of their convex hulls.
    convex = np.array([not {type(pair.a), type(pair.b)} & {Torus, Mesh} for pair, _ in results])
    if regime == "far":
        assert (relative > 9.0).all()
    elif regime == "near":
        assert (relative > 0.0).all() and (relative[convex] < 1.5).all()
    elif regime == "touching":
        assert (np.abs(relative[convex]) < 3e-9).mean() > 0.9
    elif regime == "shallow":
        assert ((relative > -0.011) & (relative < 0.0)).mean() > 0.9
    elif regime == "deep":
        assert (relative < -0.01).mean() > 0.9
    elif regime == "concentric":
        assert (relative[convex] < 0.0).all() and ((status & int(Status.ARBITRARY_NORMAL)) != 0).mean() > 0.3
    elif regime == "flat":
        assert ((status & int(Status.NON_UNIQUE)) != 0).mean() > 0.2
    else:
        assert (relative > 0.0).mean() > 0.2 and (relative < 0.0).mean() > 0.2
    if regime == "coaxial":
        assert ((status & int(Status.NON_UNIQUE)) != 0).mean() > 0.05


def test_answers_have_each_flag():
    status = [result.status for case in ("far", "deep", *FAMILIES) for _, result in pairs_with_answers(case, 1)]
    assert Status.CERTIFIED in status
    for flag in set(Status) - {Status.UNBOUNDED}:
        assert any(flags & flag for flags in status), flag
