# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The scene's broad phase and memory: it loses or invents no pair and allocates nothing, in any change."""

import copy
import math
import pickle
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba.core.runtime import _nrt_python, rtsys
from scipy.spatial.transform import Rotation

from superovoid import Body, Scene, Sphere, Superellipsoid, Superovoid, distances
from superovoid.contact import Status
from superovoid.contact.separation import gap_of_boxes
from superovoid.scene import pair_table
from superovoid.scene import scene as scene_module

# A pair this near to max_distance may be reported or not: two computations of its distance differ by rounding.
TIE = 1e-9
QUERIES = 120  # Python and numba keep lists of free objects, which the first queries fill


@pytest.fixture(params=["list", "tree"])
def way(request, monkeypatch):
    """Select each way of culling, whatever the number of pairs."""
    monkeypatch.setattr(scene_module, "_LISTED_PAIRS", {"list": math.inf, "tree": -1}[request.param])
    return request.param


@pytest.fixture
def by_tree(monkeypatch):
    monkeypatch.setattr(scene_module, "_LISTED_PAIRS", -1)


def poses_at(centres, rng=None):
    poses = np.tile(np.eye(4), (len(centres), 1, 1))
    poses[:, :3, 3] = centres
    if rng is not None:
        poses[:, :3, :3] = Rotation.random(len(centres), rng=rng).as_matrix()
    return poses


def convex_shape(rng, smallest=0.2, largest=1.0):
    size = np.exp(rng.uniform(math.log(smallest), math.log(largest), 3))
    epsilon = rng.uniform(0.4, 1.2, 2)
    taper = rng.uniform(-0.9, 0.9) * min(0.5, (1.0 - epsilon[1] / 2.0) * 2.0 ** (epsilon[1] / 2.0))
    return Superovoid.from_goncalves(size, epsilon, (taper, taper))


def on_own_links(shapes):
    return [Body(f"body_{i}", f"link_{i}", shape) for i, shape in enumerate(shapes)]


def assert_reports(result, pairs, values, max_distance):
    """Check that the result has exactly the pairs with a value within `max_distance`, in ascending order."""
    reported = {tuple(sorted(pair)) for pair in zip(result.body_a.tolist(), result.body_b.tolist(), strict=True)}
    assert len(reported) == len(result)
    surely = {tuple(pair) for pair in pairs[values <= max_distance - TIE].tolist()}
    possibly = {tuple(pair) for pair in pairs[values <= max_distance + TIE].tolist()}
    assert surely <= reported <= possibly
    assert (np.diff(result.distance) >= 0.0).all()


def sphere_pairs(centres, radii):
    """Return all pairs and their signed distances, in closed form."""
    i, j = np.triu_indices(len(radii), k=1)
    return np.column_stack([i, j]), np.linalg.norm(centres[i] - centres[j], axis=1) - radii[i] - radii[j]


# -- which pairs are reported ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_distance", [-0.05, 0.0, 0.1, 1.0, math.inf])
def test_all_pairs_of_superovoids_within_max_distance_are_reported(way, max_distance):
    rng = np.random.default_rng(1)
    scene = Scene(on_own_links([convex_shape(rng) for _ in range(40)]))
    poses = poses_at(rng.uniform(-3.0, 3.0, (40, 3)), rng)
    scene.set_link_poses(poses)
    i, j = np.triu_indices(40, k=1)
    shapes = [body.shape for body in scene.bodies]
    values = distances([shapes[k] for k in i], poses[i], [shapes[k] for k in j], poses[j]).distance
    result = scene.query(max_distance=max_distance)
    assert_reports(result, np.column_stack([i, j]), values, max_distance)
    assert result.statistics.pairs == 780
    counts = result.statistics
    assert counts.pairs >= counts.past_sphere >= counts.past_obb == counts.solved >= len(result)
    assert result.statistics.intersecting <= (values < 0.0).sum()
    only = scene.query(max_distance=max_distance, overlapping_only=True)
    assert_reports(only, np.column_stack([i, j]), values, min(max_distance, 0.0))


def test_teleports_over_hundreds_of_frames_lose_no_pair(by_tree):
    """Spheres, with distances known in closed form, drift; now and then one jumps, or all of them."""
    rng = np.random.default_rng(2)
    count = 120
    radii = np.exp(rng.uniform(math.log(0.05), math.log(0.6), count))
    centres = rng.uniform(-4.0, 4.0, (count, 3))
    velocity = rng.normal(0.0, 0.02, (count, 3))
    scene = Scene(on_own_links([Sphere(r) for r in radii]))
    for frame in range(300):
        centres += velocity
        if frame % 7 == 0:
            centres[rng.integers(count)] = rng.uniform(-30.0, 30.0, 3)
        if frame % 97 == 96:
            centres = rng.uniform(-4.0, 4.0, (count, 3))
        scene.set_link_poses(poses_at(centres))
        pairs, values = sphere_pairs(centres, radii)
        for max_distance in (0.0, 0.2):
            assert_reports(scene.query(max_distance=max_distance), pairs, values, max_distance)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_arrangement_of_spheres_has_all_pairs(by_tree, data):
    """Sizes over four orders of magnitude, coincident centres, all in a line, far from the origin."""
    count = data.draw(st.integers(2, 40), "count")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), "seed"))
    radii = 10.0 ** rng.uniform(*data.draw(st.sampled_from([(-4.0, 0.0), (0.0, 0.0), (-1.0, 1.0)]), "sizes"), count)
    centres = rng.normal(size=(count, 3)) * data.draw(st.sampled_from([0.0, 0.1, 1.0, 10.0]), "spread")
    centres *= data.draw(st.sampled_from([(1, 1, 1), (1, 0, 0), (1, 1, 0)]), "dimensions")
    centres[rng.integers(count, size=count // 3)] = centres[0]
    centres += data.draw(st.sampled_from([0.0, 100.0]), "offset")
    max_distance = data.draw(st.sampled_from([-1e-3, 0.0, 1e-3, 0.5, math.inf]), "max_distance")
    scene = Scene(on_own_links([Sphere(r) for r in radii]))
    scene.set_link_poses(poses_at(centres))
    assert_reports(scene.query(max_distance=max_distance), *sphere_pairs(centres, radii), max_distance)


@pytest.mark.parametrize("max_distance", [0.3, math.inf])
@pytest.mark.parametrize("most", [1, 10, 500, 10**9])
def test_the_closest_pairs_are_found_without_solving_all(by_tree, most, max_distance):
    rng = np.random.default_rng(19)
    centres, radii = rng.uniform(-5.0, 5.0, (100, 3)), rng.uniform(0.1, 0.3, 100)
    scene = Scene(on_own_links([Sphere(r) for r in radii]))
    scene.set_link_poses(poses_at(centres))
    _, values = sphere_pairs(centres, radii)
    result = scene.query(max_results=most, max_distance=max_distance)
    expected = np.sort(values[values <= max_distance])[:most]
    assert result.distance == pytest.approx(expected, abs=1e-9)
    assert (expected < 0.0).sum() <= result.statistics.intersecting <= (values < 0.0).sum()
    if most <= 10:
        assert result.statistics.solved < 40


def test_flat_bodies_and_needles_are_not_lost(way):
    """Bodies a thousand times longer or wider than thick, with useless bounding spheres."""
    rng = np.random.default_rng(3)
    sizes = [(1.0, 1.0, 1e-3), (1.0, 1e-3, 1e-3), (1e-3, 1.0, 0.5), (0.05, 0.05, 0.05)]
    shapes = [Superellipsoid(sizes[i % 4], section_exponent=0.5, profile_exponent=0.5) for i in range(24)]
    poses = poses_at(rng.uniform(-2.0, 2.0, (24, 3)), rng)
    scene = Scene(on_own_links(shapes))
    scene.set_link_poses(poses)
    i, j = np.triu_indices(24, k=1)
    values = distances([shapes[k] for k in i], poses[i], [shapes[k] for k in j], poses[j]).distance
    for max_distance in (0.0, 0.05):
        result = scene.query(max_distance=max_distance)
        assert_reports(result, np.column_stack([i, j]), values, max_distance)
        assert result.statistics.solved < result.statistics.past_sphere < result.statistics.pairs


def test_boxes_with_nearly_parallel_edges_are_not_culled():
    """Two edges at an angle of 1e-5 have a short cross product: its rounding must not look like a gap."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        half = rng.uniform(0.1, 1.0, (2, 3))
        turn = Rotation.from_rotvec(rng.normal(size=3) * 10.0 ** rng.uniform(-8.0, -3.0)).as_matrix()
        axes = tuple(map(tuple, turn.T))
        # B stands on a face of A: the gap is known but for the small turn, which can only lessen it.
        gap = rng.uniform(0.0, 1.0)
        centre_b = (*rng.uniform(-0.1, 0.1, 2), half[0, 2] + half[1, 2] + gap)
        limit = gap * (1.0 + 1e-15)
        assert gap_of_boxes(axes, centre_b, half[0], half[1], limit, 1e-12) <= limit


@pytest.mark.parametrize("count", [100, 300, 2000])
def test_the_tree_finds_the_pairs_of_the_list(count):
    rng = np.random.default_rng(5)
    shapes = [convex_shape(rng) for _ in range(20)]
    scene = Scene(on_own_links([shapes[i % 20] for i in range(count)]))
    scene.set_link_poses(poses_at(rng.uniform(0.0, 2.0 * count ** (1.0 / 3.0), (count, 3)), rng))
    tree, listed = ({tuple(pair) for pair in scene.candidates(0.1, by=by).tolist()} for by in ("tree", "list"))
    assert tree <= listed
    assert {tuple(pair) for pair in scene.candidates(0.1).tolist()} == (listed if count == 100 else tree)
    assert scene.query(max_distance=0.1).statistics.past_obb == len(tree)
    bounds = scene._memory.world.bounds
    for a, b in listed - tree:  # separate along an axis of the world
        assert max((bounds[a, :3] - bounds[b, 3:]).max(), (bounds[b, :3] - bounds[a, 3:]).max()) > 0.1


def test_both_ways_give_equal_answers_bit_by_bit(monkeypatch):
    rng = np.random.default_rng(6)
    scene = Scene(on_own_links([convex_shape(rng) for _ in range(60)]))
    scene.set_link_poses(poses_at(rng.uniform(-3.0, 3.0, (60, 3)), rng))
    answers = []
    for listed in (-1, math.inf):
        monkeypatch.setattr(scene_module, "_LISTED_PAIRS", listed)
        answers.append(scene.fork().query(max_distance=0.3))
    for name, value in vars(answers[0]).items():
        if name != "statistics":
            assert np.array_equal(value, getattr(answers[1], name)), name
    counts = [answer.statistics for answer in answers]
    assert np.array_equal(counts[0].iterations, counts[1].iterations)
    assert (counts[0].pairs, counts[0].intersecting) == (counts[1].pairs, counts[1].intersecting)


def test_an_unbounded_body_meets_everything_near_its_half_space(way):
    """A half-space has an infinite radius: the tree leaves it out, and the heights of the others cull it."""
    scene = Scene(on_own_links([Sphere(0.1) for _ in range(30)]))
    scene._local.radii[3] = math.inf
    scene._local.box_halves[3] = math.inf
    rng = np.random.default_rng(7)
    poses = poses_at(rng.uniform(-50.0, 50.0, (30, 3)), rng)
    scene.set_link_poses(poses)
    found = scene.candidates(1.0, by=way)
    assert {3 in pair for pair in found.tolist()} == {True}
    heights = np.delete((poses[:, :3, 3] - poses[3, :3, 3]) @ poses[3, :3, 2] - 0.1, 3)
    assert len(found) == (heights <= 1.0).sum()


def test_candidates_take_the_arguments_of_a_query():
    scene = Scene(on_own_links([Sphere(0.1) for _ in range(3)]))
    with pytest.raises(ValueError, match="no poses yet"):
        scene.candidates(1.0)
    scene.set_link_poses(poses_at(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]])))
    assert scene.candidates(0.9).tolist() == [[0, 1]]
    assert len(scene.candidates(math.inf)) == 3 and len(scene.candidates(-1.0)) == 0
    with pytest.raises(ValueError, match="max_distance = nan"):
        scene.candidates(math.nan)
    with pytest.raises(ValueError, match="by = 'box': must be 'list' or 'tree'"):
        scene.candidates(1.0, by="box")


# -- the closest pairs -------------------------------------------------------------------------------------------------


def first_rows(full, most, max_distance=math.inf, among=None):
    """Return the rows of a full query that one for the closest pairs has to report, in its order."""
    keep = full.distance <= max_distance
    if among is not None:
        keep &= [tuple(sorted(pair)) in among for pair in zip(full.body_a.tolist(), full.body_b.tolist(), strict=True)]
    rows = np.flatnonzero(keep)
    return rows[np.lexsort((full.body_b[rows], full.body_a[rows], full.distance[rows]))][:most]


def assert_same_rows(result, full, rows):
    """Compare all fields of pairs; queries of many pairs use lanes and may differ in the last digits."""
    for name in ("body_a", "body_b", "status"):
        assert np.array_equal(getattr(result, name), getattr(full, name)[rows]), name
    for name in ("distance", "lower", "upper"):
        assert getattr(result, name) == pytest.approx(getattr(full, name)[rows], abs=1e-9), name
    assert (np.maximum(result.lower, full.lower[rows]) <= np.minimum(result.upper, full.upper[rows])).all()
    unique = result.status == 0
    for name in ("point_a", "point_b", "normal"):
        assert getattr(result, name)[unique] == pytest.approx(getattr(full, name)[rows][unique], abs=1e-4), name


@pytest.mark.parametrize("spread", [1.2, 3.0, 12.0])
def test_the_closest_pairs_are_the_first_of_the_full_query(spread):
    rng = np.random.default_rng(21)
    scene = Scene(on_own_links([convex_shape(rng) for _ in range(30)]))
    everything = [tuple(pair) for pair in scene.pairs.tolist()]
    for _ in range(4):
        scene.set_link_poses(poses_at(rng.uniform(-spread, spread, (30, 3)), rng))
        full = scene.fork().query()
        for most in (1, 2, *rng.integers(3, 500, 4).tolist()):
            max_distance = float(rng.choice([math.inf, 0.0, rng.uniform(-0.2, spread)]))
            some = [everything[i] for i in rng.permutation(len(everything))[: rng.integers(1, 400)]]
            chosen = some if rng.integers(2) else None
            among = set(some) if chosen else None
            result = scene.fork().query(max_results=most, max_distance=max_distance, pairs=chosen)
            assert_same_rows(result, full, first_rows(full, most, max_distance, among))
            counts = result.statistics
            assert counts.pairs >= counts.past_sphere >= counts.past_obb >= counts.solved >= len(result)
            assert result.statistics.intersecting >= (result.distance < 0.0).sum()
            deepest = scene.fork().query(
                max_results=most, max_distance=max_distance, pairs=chosen, overlapping_only=True
            )
            overlapping = first_rows(full, 10**9, min(max_distance, 0.0), among)
            assert_same_rows(deepest, full, overlapping[full.distance[overlapping] < 0.0][:most])


def test_pairs_of_equal_distance_keep_their_order(way):
    """Equal spheres on a lattice have many equal distances; a query for few must select the same ones."""
    grid = 1.5 * np.stack(np.meshgrid(*3 * [np.arange(4.0)]), axis=-1).reshape(-1, 3)
    scene = Scene(on_own_links([Sphere(0.5)] * len(grid)))
    scene.set_link_poses(poses_at(grid))
    full = scene.fork().query()
    _, times = np.unique(full.distance, return_counts=True)
    assert times.max() > 20
    for most in (1, 5, 50, 143, 144, 145, 300):
        assert_same_rows(scene.fork().query(max_results=most), full, first_rows(full, most))


def test_a_moving_crowd_has_the_closest_pairs_of_the_full_query(way):
    """Small motions, jumps of one body and of all, other numbers of pairs, after any last query."""
    rng = np.random.default_rng(22)
    count = 60
    shapes = [convex_shape(rng) for _ in range(count)]
    scene, other = Scene(on_own_links(shapes)), Scene(on_own_links(shapes))
    centres = rng.uniform(-4.0, 4.0, (count, 3))
    rest = poses_at(centres, rng)
    for frame in range(40):
        centres += rng.normal(0.0, 0.01, centres.shape)
        if frame % 7 == 6:
            centres[rng.integers(count)] = rng.uniform(-40.0, 40.0, 3)
        if frame % 13 == 12:
            centres = rng.uniform(-1.0, 1.0, (count, 3)) * rng.choice([3.0, 4.0, 30.0])
        rest[:, :3, 3] = centres
        scene.set_link_poses(rest)
        other.set_link_poses(rest)
        full = other.query()
        most = int(rng.choice([1, 3, 20, 200]))
        max_distance = float(rng.choice([math.inf, math.inf, 0.3]))
        for _ in range(2):
            result = scene.query(max_results=most, max_distance=max_distance)
            rows = first_rows(full, most, max_distance)
            assert len(result) == len(rows)
            assert result.distance == pytest.approx(full.distance[rows], abs=TIE)
            row_of = {pair: k for k, pair in enumerate(zip(full.body_a.tolist(), full.body_b.tolist(), strict=True))}
            here = [row_of[pair] for pair in zip(result.body_a.tolist(), result.body_b.tolist(), strict=True)]
            assert len(set(here)) == len(here)
            assert result.distance == pytest.approx(full.distance[here], abs=TIE)


def test_few_pairs_are_solved_for_few_answers(way):
    rng = np.random.default_rng(23)
    scene = Scene(on_own_links([convex_shape(rng) for _ in range(60)]))
    scene.set_link_poses(poses_at(6.0 * rng.normal(size=(60, 3)), rng))
    for most, limit in ((1, 10), (5, 20), (30, 80)):
        result = scene.query(max_results=most)
        assert len(result) == most <= result.statistics.solved <= limit
    assert len(scene.query(max_results=5, max_distance=-100.0)) == 0
    assert scene.query(max_results=5, pairs=[]).statistics.solved == 0


def test_a_distant_body_does_not_widen_the_search_for_pairs(by_tree):
    rng = np.random.default_rng(26)
    scene = Scene(on_own_links([convex_shape(rng) for _ in range(400)]))
    poses = poses_at(rng.uniform(-8.0, 8.0, (400, 3)), rng)
    looked_at = []
    for parked in (0.0, 1e2, 1e4, 1e6):
        poses[7, 0, 3] += parked
        scene.set_link_poses(poses)
        looked_at.append(scene.fork().query(max_results=5).statistics.past_sphere)
    assert max(looked_at) < 2.0 * looked_at[0] < 4000


def test_the_closest_pairs_start_from_the_last_query(way):
    rng = np.random.default_rng(24)
    scene = Scene(on_own_links([convex_shape(rng) for _ in range(40)]))
    scene.set_link_poses(poses_at(rng.uniform(-4.0, 4.0, (40, 3)), rng))
    cold = scene.query(max_results=30)
    warm = scene.query(max_results=30)
    assert warm.distance == pytest.approx(cold.distance, abs=TIE)
    assert warm.statistics.iterations.sum() < 0.5 * cold.statistics.iterations.sum()


def test_repeated_calls_give_equal_answers_and_counts(way):
    rng = np.random.default_rng(25)
    shapes = [convex_shape(rng) for _ in range(50)]
    frames = [poses_at(rng.uniform(-3.0, 3.0, (50, 3)), rng) for _ in range(5)]

    def answers():
        scene = Scene(on_own_links(shapes))
        for frame in frames:
            scene.set_link_poses(frame)
            for most in (1, 12, 12):
                yield vars(scene.query(max_results=most))

    for one, other in zip(answers(), answers(), strict=True):
        for name, value in one.items():
            assert np.array_equal(value, other[name]), name


# -- allowed pairs -----------------------------------------------------------------------------------------------------


def allowed_pairs(result):
    return {tuple(sorted(pair)) for pair in zip(result.body_a.tolist(), result.body_b.tolist(), strict=True)}


def test_pairs_on_one_link_and_unlisted_pairs_are_never_reported(way):
    rng = np.random.default_rng(8)
    bodies = [Body(f"b{i}", f"l{i // 3}", Sphere(0.5)) for i in range(30)]
    poses = poses_at(rng.uniform(-1.0, 1.0, (10, 3)))
    scene = Scene(bodies)
    scene.set_link_poses(poses)
    expected = {(i, j) for i in range(30) for j in range(i + 1, 30) if i // 3 != j // 3}
    assert scene.query().statistics.pairs == len(expected)
    assert allowed_pairs(scene.query()) == expected
    listed = [(0, 1), (7, 2), (4, 29), (2, 7)]
    scene = Scene(bodies, listed)
    scene.set_link_poses(poses)
    result = scene.query()
    assert allowed_pairs(result) == {(0, 1), (2, 7), (4, 29)}
    assert (7, 2) in set(zip(result.body_a.tolist(), result.body_b.tolist(), strict=True))
    assert result.statistics.pairs == 3
    assert {tuple(sorted(pair)) for pair in scene.pairs.tolist()} == {(0, 1), (2, 7), (4, 29)}


def test_pairs_can_be_forbidden_and_allowed_at_run_time(way):
    bodies = [Body(f"b{i}", f"l{i // 2}", Sphere(0.5)) for i in range(8)]
    scene = Scene(bodies)
    scene.set_link_poses(poses_at(np.zeros((4, 3))))
    everything = allowed_pairs(scene.query())
    fork = scene.fork()
    scene.set_pairs_allowed([(5, 0), (3, 7)], False)
    assert allowed_pairs(scene.query()) == everything - {(0, 5), (3, 7)}
    assert allowed_pairs(fork.query()) == everything
    with pytest.raises(ValueError, match=r"\(0, 5\) \('b0', 'b5'\) is not one of the scene's pairs"):
        scene.query(pairs=[(0, 5)])
    scene.set_pairs_allowed([(0, 1), (0, 5)], True)
    assert allowed_pairs(scene.query()) == everything - {(3, 7)} | {(0, 1)}
    assert scene.query().statistics.pairs == len(scene.pairs) == len(everything)


def test_random_rules_agree_with_a_set_of_pairs(way):
    rng = np.random.default_rng(9)
    scene = Scene([Body(f"b{i}", f"l{rng.integers(6)}", Sphere(0.5)) for i in range(20)])
    link = [body.link for body in scene.bodies]
    expected = {(i, j) for i in range(20) for j in range(i + 1, 20) if link[i] != link[j]}
    scene.set_link_poses(poses_at(np.zeros((len(scene.links), 3))))
    for _ in range(40):
        some = {(int(min(p)), int(max(p))) for p in (rng.choice(20, 2, replace=False) for _ in range(8))}
        allowed = bool(rng.integers(2))
        scene.set_pairs_allowed(sorted(some), allowed)
        expected = expected | some if allowed else expected - some
        assert scene.query(max_distance=-2.0).statistics.pairs == len(expected)
        assert {tuple(pair) for pair in scene.pairs.tolist()} == expected
        assert allowed_pairs(scene.query()) == expected


# -- bodies come, go and change links ----------------------------------------------------------------------------------


def test_adding_and_removing_bodies_keeps_the_others(way):
    rng = np.random.default_rng(10)
    radii = list(rng.uniform(0.2, 0.6, 12))
    centres = list(rng.uniform(-2.0, 2.0, (12, 3)))
    names = [f"b{i}" for i in range(12)]
    scene = Scene([Body(name, name, Sphere(r)) for name, r in zip(names, radii, strict=True)])
    scene.set_link_poses(poses_at(centres))
    scene.set_pairs_allowed([(0, 11)], False)
    forbidden = ("b0", "b11")
    for step in range(30):
        if step % 3 == 2:
            k = int(rng.integers(len(names)))
            scene.remove(names[k])
            del names[k], radii[k], centres[k]
        else:
            names.append(f"new_{step}")
            radii.append(rng.uniform(0.2, 0.6))
            centres.append(rng.uniform(-2.0, 2.0, 3))
            scene.add(Body(names[-1], names[-1], Sphere(radii[-1])))
            with pytest.raises(ValueError, match=f"no pose yet for '{names[-1]}'"):
                scene.query()
            scene.set_link_pose(names[-1], poses_at([centres[-1]])[0])
        assert [body.name for body in scene.bodies] == names
        pairs, values = sphere_pairs(np.array(centres), np.array(radii))
        if set(forbidden) <= set(names):
            keep = (pairs != sorted(names.index(name) for name in forbidden)).any(axis=1)
            pairs, values = pairs[keep], values[keep]
        result = scene.query(max_distance=0.5)
        assert_reports(result, pairs, values, 0.5)
        assert result.statistics.pairs == len(pairs)


def test_an_added_body_is_checked_against_a_robot_with_listed_pairs(way):
    robot = Scene([Body(f"b{i}", f"l{i}", Sphere(0.5)) for i in range(5)], [(0, 4)])
    robot.add([Body("table", "world", Sphere(1.0)), Body("cup", "world", Sphere(0.2))])
    robot.set_link_poses(poses_at(np.zeros((6, 3))))
    assert allowed_pairs(robot.query()) == {(0, 4)} | {(i, j) for i in range(5) for j in (5, 6)}
    robot.attach("cup", "l3", np.eye(4))
    assert robot.bodies[6].link == "l3"
    expected = {(0, 4), (5, 6)} | {(i, 5) for i in range(5)} | {(i, 6) for i in (0, 1, 2, 4)}
    assert allowed_pairs(robot.query()) == expected
    robot.remove("table")
    assert robot.links == ("l0", "l1", "l2", "l3", "l4")
    assert allowed_pairs(robot.query()) == {(0, 4)} | {(i, 5) for i in (0, 1, 2, 4)}


def test_an_attached_body_follows_its_new_link():
    ball = Sphere(0.1)
    scene = Scene([Body("hand", "hand", ball), Body("cup", "table", ball), Body("wall", "w", Sphere(1.0))])
    scene.set_link_poses(poses_at([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (5.0, 0.0, 0.0)]))
    held = poses_at([(0.2, 0.0, 0.0)])[0]
    scene.attach("cup", "hand", held)
    assert scene.links == ("hand", "w")
    scene.set_link_pose("hand", poses_at([(3.0, 0.0, 0.0)])[0])
    assert scene.poses[1, 0, 3] == pytest.approx(3.2)
    result = scene.query()
    assert np.column_stack([result.body_a, result.body_b]).tolist() == [[1, 2], [0, 2]]
    assert result.distance == pytest.approx([0.7, 0.9])


def test_exchanged_bodies_answer_like_those_of_a_new_scene():
    rng = np.random.default_rng(7)

    def bodies(links):
        turns = Rotation.random(9, rng=rng).as_matrix()
        poses = poses_at(rng.uniform(1e6, 2e6, (9, 3)))  # so large that the rounding of products of poses shows
        poses[:, :3, :3] = turns
        return [Body(f"b{i}", links[i % len(links)], Sphere(0.5), pose) for i, pose in enumerate(poses)]

    scene, new = Scene(bodies(("a", "b"))), bodies(("b", "c"))[:6]
    fork = scene.fork()
    scene.exchange(new)
    assert fork.bodies != scene.bodies and scene.bodies[:6] == tuple(new)
    built = Scene(scene.bodies)
    for one in (scene, built):
        one.set_link_poses(dict(zip("abc", poses_at(np.eye(3)), strict=True)))
    found, expected = scene.query(), built.query()
    assert allowed_pairs(found) == allowed_pairs(expected)
    for name in ("distance", "lower", "upper"):
        assert np.array_equal(np.sort(getattr(found, name)), np.sort(getattr(expected, name)))
    with pytest.raises(ValueError, match="must keep its shape"):
        scene.exchange([Body("b0", "a", Sphere(0.4))])


def test_poses_that_were_read_do_not_change():
    scene = Scene(on_own_links([Sphere(0.1)] * 3))
    assert scene.poses is None
    poses = poses_at(np.arange(9.0).reshape(3, 3))
    scene.set_link_poses(poses)
    before = scene.poses
    scene.set_link_pose("link_1", np.eye(4))
    scene.set_link_poses(poses_at(np.ones((3, 3))))
    assert np.array_equal(before, poses)


def test_moving_one_link_moves_only_its_bodies(way):
    rng = np.random.default_rng(11)
    bodies = [Body(f"b{i}", f"l{i // 2}", Sphere(0.3), poses_at(rng.uniform(-1, 1, (1, 3)))[0]) for i in range(12)]
    scene = Scene(bodies)
    poses = poses_at(rng.uniform(-2.0, 2.0, (6, 3)), rng)
    scene.set_link_poses(poses)
    scene.query(max_distance=0.1)
    before = scene.poses
    for _ in range(20):
        k = int(rng.integers(6))
        poses[k] = poses_at(rng.uniform(-20.0, 20.0, (1, 3)), rng)[0]
        scene.set_link_pose(f"l{k}", poses[k])
        other = Scene(bodies)
        other.set_link_poses(dict(zip(scene.links, poses, strict=True)))
        assert np.array_equal(scene.poses, other.poses)
        assert np.array_equal(scene.query(max_distance=2.0).distance, other.query(max_distance=2.0).distance)
    assert not np.array_equal(before, scene.poses)


def test_wrong_changes_are_named_and_change_nothing():
    scene = Scene([Body(f"b{i}", f"l{i}", Sphere(0.5)) for i in range(3)])
    scene.set_link_poses(poses_at(np.zeros((3, 3))))
    with pytest.raises(ValueError, match="the name 'b1' occurs 2 times"):
        scene.add([Body("x", "l0", Sphere(1.0)), Body("b1", "l0", Sphere(1.0))])
    with pytest.raises(TypeError, match="must be of type Body"):
        scene.add(["x"])
    with pytest.raises(ValueError, match="name = 'x': no body has it; bodies: 'b0', 'b1', 'b2'"):
        scene.remove("x")
    with pytest.raises(ValueError, match="link = 'x': no body is on it"):
        scene.set_link_pose("x", np.eye(4))
    with pytest.raises(ValueError, match=r"world_from_link\['l0'\]: upper left 3 x 3 must be a rotation"):
        scene.set_link_pose("l0", 2.0 * np.eye(4) - np.diag([0, 0, 0, 1.0]))
    with pytest.raises(ValueError, match=r"must have shape \(3, 4, 4\), found \(2, 4, 4\)"):
        scene.set_link_poses(poses_at(np.zeros((2, 3))))
    with pytest.raises(ValueError, match=r"indices must be in \[0, 3\)"):
        scene.set_pairs_allowed([(0, 3)], False)
    with pytest.raises(ValueError, match="allowed = 'no': must be True or False"):
        scene.set_pairs_allowed([(0, 1)], "no")
    assert allowed_pairs(scene.query()) == {(0, 1), (0, 2), (1, 2)}


# -- warm starts -------------------------------------------------------------------------------------------------------


def test_the_table_of_pairs_agrees_with_a_dictionary():
    rng = np.random.default_rng(12)
    keys, values = np.full(64, pair_table.EMPTY), np.zeros(64, dtype=np.int64)
    expected = {}
    while len(expected) < 32:
        key = int(pair_table.pair_key(*rng.integers(0, 12, 2).tolist()))
        i = pair_table.find(keys, key)
        assert (i >= 0) == (key in expected)
        if i >= 0:
            assert values[i] == expected[key]
        else:
            expected[key] = int(rng.integers(1000))
            pair_table.insert(keys, values, key, expected[key])
        assert (keys != pair_table.EMPTY).sum() == len(expected)


def test_pairs_of_one_query_never_take_each_others_slots():
    """With more pairs than slots, those in a slot keep it, the rest start cold, and all answers are right."""
    pool = pair_table.warm_starts(4)
    slots = [pair_table.slot_of(pool, key) for key in range(10)]
    assert slots == [0, 1, 2, 3] + 6 * [4]
    assert [pair_table.slot_of(pool, key) for key in range(10)] == slots
    pair_table.forget(pool)
    assert [pair_table.slot_of(pool, key) for key in range(9, -1, -1)] == slots


def test_answers_do_not_depend_on_the_number_of_warm_starts(monkeypatch):
    monkeypatch.setattr(scene_module, "_MOST_WARM_STARTS", 16)
    rng = np.random.default_rng(13)
    shapes = [convex_shape(rng) for _ in range(20)]
    scene = Scene(on_own_links(shapes))
    poses = poses_at(rng.uniform(-3.0, 3.0, (20, 3)), rng)
    for _ in range(10):
        poses[:, :3, 3] += rng.normal(0.0, 0.01, (20, 3))
        scene.set_link_poses(poses)
        result = scene.query()
        cold = scene.fork()
        cold.forget()
        assert result.distance == pytest.approx(cold.query().distance, abs=1e-9)
    assert len(scene._memory.pool.states) == 17


def test_warm_starts_make_the_second_query_cheaper_and_survive_changes(by_tree):
    rng = np.random.default_rng(14)
    scene = Scene(on_own_links([convex_shape(rng) for _ in range(30)]))
    scene.set_link_poses(poses_at(rng.uniform(-4.0, 4.0, (30, 3)), rng))
    cold = scene.query(max_distance=1.0)
    assert (cold.status & Status.UNPROVEN == 0).all()
    gone = 5
    scene.remove(f"body_{gone}")
    scene.add(Body("new", "link_0", Sphere(0.1), poses_at([(100.0, 0.0, 0.0)])[0]))
    warm = scene.query(max_distance=1.0)
    left = [k for k in range(len(cold)) if gone not in (cold.body_a[k], cold.body_b[k])]
    assert warm.distance == pytest.approx(cold.distance[left], abs=1e-9)
    apart = warm.distance > 0.0
    assert warm.statistics.iterations[apart].max() == 0 < cold.statistics.iterations.max()
    scene.forget()
    assert scene.query(max_distance=1.0).statistics.iterations.sum() > warm.statistics.iterations.sum()


# -- memory and threads ------------------------------------------------------------------------------------------------


@pytest.fixture
def allocations():
    """Return a counter of allocations of compiled code."""
    enabled = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    yield rtsys.get_allocation_stats
    if not enabled:
        _nrt_python.memsys_disable_stats()


def _arrays(scratch):
    return [*scratch.keys, *(each for each in scratch if each is not scratch.keys)]


@pytest.mark.parametrize("most", [None, 300])
def test_a_steady_state_allocates_only_results(way, most, allocations):
    """In frames of small motions no memory outlives or exceeds a result, and compiled code allocates none for a pair.

    Compiled code counts handles for its array arguments: as many for no pair as for a thousand.
    """
    rng = np.random.default_rng(15)
    # The lattice is so wide that nothing overlaps: the engine's search of deep overlaps has its own memory.
    grid = 1.2 * np.stack(np.meshgrid(*3 * [np.arange(7.0)]), axis=-1).reshape(-1, 3)
    shapes = [convex_shape(rng, 0.2, 0.4) for _ in range(10)]
    scene = Scene(on_own_links([shapes[i % 10] for i in range(len(grid))]))
    rest = poses_at(grid, rng)
    frames = []
    for _ in range(4):
        turn = Rotation.from_rotvec(rng.normal(0.0, 0.02, grid.shape)).as_matrix()
        frames.append(poses_at(grid + rng.normal(0.0, 0.02, grid.shape)))
        frames[-1][:, :3, :3] = rest[:, :3, :3] @ turn

    def memory():
        groups = (
            _arrays(scene._memory.scratch),
            scene._memory.rows,
            scene._memory.pool,
            scene._tree or (),
            scene._memory.world,
        )
        return [array.ctypes.data for group in groups for array in group]

    for frame in frames:
        scene.set_link_poses(frame)
        assert scene.query(max_distance=0.7, max_results=most).statistics.intersecting == 0
    scene.query(max_distance=-10.0, max_results=most)
    before = allocations()
    scene.set_link_poses(frames[0])
    assert scene.query(max_distance=-10.0, max_results=most).statistics.solved == 0
    handles = allocations().alloc - before.alloc
    places, before = memory(), allocations()
    looks = []
    tracemalloc.start()
    try:
        for k in range(QUERIES):
            scene.set_link_poses(frames[k % 4])
            result = scene.query(max_distance=0.7, max_results=most)
            if k % 20 == 19:  # the same frame each time, for a result of equal length
                looks.append(tracemalloc.get_traced_memory())
                tracemalloc.reset_peak()
    finally:
        tracemalloc.stop()
    assert len(result) >= 300
    size = result.distance.base.nbytes + result.body_a.base.nbytes + len(result) * (1 + 4)
    after = allocations()
    assert after.alloc - before.alloc == after.free - before.free == QUERIES * handles
    assert memory() == places
    # Other threads of the process allocate at times, so take the least over all windows.
    held, most_held = np.transpose(looks)
    assert np.diff(held).min() < 0.5 * size  # of 20 results none stays
    assert (most_held[1:] - held[:-1]).min() < 1.5 * size + 4096  # and a second one during its replacement


def test_memory_of_a_large_scene_grows_with_its_bodies():
    """10,000 bodies have 50 million pairs; the scene's arrays take less than a byte per pair."""
    count = 10_000
    shape = Sphere(0.3)
    scene = Scene(on_own_links([shape] * count))
    rng = np.random.default_rng(16)
    scene.set_link_poses(poses_at(rng.uniform(0.0, 22.0, (count, 3))))
    result = scene.query(max_distance=0.05)
    assert result.statistics.pairs == count * (count - 1) // 2
    assert len(result) > 2000
    memory = (scene._memory.pool, scene._memory.rows, _arrays(scene._memory.scratch))
    groups = (scene._local, scene._memory.world, scene._tree, *memory, scene._rules[:-1])
    assert sum(array.nbytes for group in groups for array in group) < 5e7


def test_forks_answer_in_their_own_threads():
    rng = np.random.default_rng(17)
    scene = Scene(on_own_links([convex_shape(rng) for _ in range(120)]))
    scene.set_link_poses(poses_at(rng.uniform(-6.0, 6.0, (120, 3)), rng))
    scene.query(max_distance=0.1)
    frames = [poses_at(rng.uniform(-6.0, 6.0, (120, 3)), rng) for _ in range(6)]
    expected = []
    for frame in frames:
        scene.set_link_poses(frame)
        expected.append(scene.query(max_distance=0.2))
    wrong = []

    def ask(fork, order):
        for k in order:
            fork.set_link_poses(frames[k])
            result = fork.query(max_distance=0.2)
            same = result.distance == pytest.approx(expected[k].distance, abs=1e-9)
            if not same or not np.array_equal(result.body_a, expected[k].body_a):
                wrong.append(k)

    threads = [threading.Thread(target=ask, args=(scene.fork(), rng.permutation(6))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("way_to", [copy.copy, copy.deepcopy, lambda scene: pickle.loads(pickle.dumps(scene))])
def test_a_copy_of_a_scene_is_independent(by_tree, way_to):
    rng = np.random.default_rng(20)
    scene = Scene(on_own_links([convex_shape(rng) for _ in range(30)]))
    scene.set_link_poses(poses_at(rng.uniform(-3.0, 3.0, (30, 3)), rng))
    expected = scene.query(max_distance=0.2)
    other = way_to(scene)
    scene.set_link_poses(poses_at(np.zeros((30, 3))))
    scene.remove("body_3")
    assert len(other.bodies) == 30 and other.links == tuple(f"link_{i}" for i in range(30))
    found = other.query(max_distance=0.2)
    assert found.distance == pytest.approx(expected.distance, abs=1e-9)
    at_origin = scene.query(max_distance=0.2)
    other.set_pairs_allowed([[0, 1]], False)
    other.set_link_poses(poses_at(10.0 * np.arange(90.0).reshape(30, 3)))
    assert len(other.query(max_distance=0.2)) == 0
    assert np.array_equal(scene.query(max_distance=0.2).distance, at_origin.distance)
    with pytest.raises(ValueError, match="read-only"):
        other.bodies[0].link_from_body[0, 3] = 1.0


def test_a_pickle_has_no_rows_of_the_kernels():
    """The layout of rows differs between versions of the package."""
    ball = Sphere(0.25)
    scene = Scene(on_own_links([ball] * 3))
    scene.set_link_poses(poses_at(np.arange(9.0).reshape(3, 3)))
    scene.query()
    exponents = {"section_exponent": 1.0, "profile_exponent": 1.0}
    assert ball.__getstate__() == {"semi_axes": (0.25,) * 3, **exponents, "taper": (0.0, 0.0)}
    assert pickle.loads(pickle.dumps(ball)) == ball
    assert not {"_local", "_memory", "_lock"} & set(scene.__getstate__())


def test_poses_that_are_read_are_a_copy():
    scene = Scene(on_own_links([Sphere(0.1)] * 2))
    scene.set_link_poses(poses_at([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]))
    read = scene.poses
    read[:] = math.nan
    assert scene.poses[1, 0, 3] == 1.0
    assert scene.query().distance[0] == pytest.approx(0.8)


def test_one_scene_survives_calls_from_several_threads():
    rng = np.random.default_rng(18)
    scene = Scene(on_own_links([Sphere(0.3) for _ in range(150)]))
    frames = [poses_at(rng.uniform(-4.0, 4.0, (150, 3))) for _ in range(3)]
    scene.set_link_poses(frames[0])
    problems = []

    def use():
        try:
            for k in range(30):
                scene.set_link_poses(frames[k % 3])
                result = scene.query(max_distance=0.1)
                assert (np.diff(result.distance) >= 0.0).all()
                scene.fork().query(max_distance=0.0)
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
