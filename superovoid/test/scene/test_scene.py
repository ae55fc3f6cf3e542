# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The scene: culling, selection, warm starts, state."""

import math

import numpy as np
import pytest

from superovoid import Body, Box, Ellipsoid, Scene, ShapeArray, Sphere, Status, Superovoid, distance


def at(x=0.0, y=0.0, z=0.0):
    matrix = np.eye(4)
    matrix[:3, 3] = (x, y, z)
    return matrix


@pytest.fixture
def row_of_spheres():
    """Return unit spheres on links 0, 1, 2, 3 at x = 0, 3, 4.5, 20."""
    scene = Scene([Body(f"ball_{i}", f"link_{i}", Sphere(1.0)) for i in range(4)])
    scene.set_link_poses({f"link_{i}": at(x) for i, x in enumerate((0.0, 3.0, 4.5, 20.0))})
    return scene


def random_scene(count, seed, spread):
    rng = np.random.default_rng(seed)
    bodies, poses = [], {}
    for i in range(count):
        taper = rng.uniform(-0.3, 0.3)
        shape = Superovoid.from_goncalves(rng.uniform(0.2, 1.0, 3), rng.uniform(0.3, 1.3, 2), (taper, taper))
        offset = np.eye(4)
        offset[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        offset[:3, 0] *= np.sign(np.linalg.det(offset[:3, :3]))
        offset[:3, 3] = rng.uniform(-0.2, 0.2, 3)
        bodies.append(Body(f"body_{i}", f"link_{i}", shape, offset))
        poses[f"link_{i}"] = at(*rng.uniform(-spread, spread, 3))
    scene = Scene(bodies)
    scene.set_link_poses(poses)
    return scene


@pytest.mark.parametrize("by_pair", [False, True])
def test_margins_of_bodies_or_pairs_widen_the_limit(by_pair):
    rng = np.random.default_rng(3)
    scene = random_scene(30, 3, 2.0)
    if by_pair:
        margins = rng.uniform(-0.1, 0.4, (30, 30))
        margins = margins + margins.T
        of_pair = margins
    else:
        margins = rng.uniform(-0.1, 0.4, 30)
        of_pair = margins[:, None] + margins
    every = scene.query()
    wanted = every[every.distance <= 0.05 + of_pair[every.body_a, every.body_b]]
    found = scene.query(max_distance=0.05, margins=margins)
    assert 0 < len(found) < len(every)
    assert found.distance == pytest.approx(wanted.distance, abs=1e-12)
    assert (found.body_a == wanted.body_a).all() and (found.body_b == wanted.body_b).all()
    assert scene.query(max_distance=0.05, margins=margins, max_results=3).distance == pytest.approx(found.distance[:3])


@pytest.mark.parametrize(
    ("margins", "problem"),
    [([0.1], r"shape \(4,\)"), ([0.1, 0.1, math.nan, 0.1], "found nan"), (np.arange(16.0).reshape(4, 4), "symmetric")],
)
def test_unusable_margins_raise(row_of_spheres, margins, problem):
    with pytest.raises(ValueError, match=f"margins: .*{problem}"):
        row_of_spheres.query(max_distance=0.0, margins=margins)


def test_a_scene_without_bodies_accepts_margins():
    scene = Scene([])
    scene.set_link_poses({})
    assert all(len(scene.query(margins=margins)) == 0 for margins in ([], np.empty((0, 0))))


def test_results_are_sorted_and_named_by_body(row_of_spheres):
    result = row_of_spheres.query()
    assert result.statistics.pairs == 6
    assert result.distance == pytest.approx([-0.5, 1.0, 2.5, 13.5, 15.0, 18.0], abs=1e-12)
    assert (result.body_a[0], result.body_b[0]) == (1, 2)
    assert result.statistics.intersecting == 1


def test_max_distance_reports_exactly_the_pairs_within_it(row_of_spheres):
    assert row_of_spheres.query(max_distance=2.0).distance == pytest.approx([-0.5, 1.0])
    assert row_of_spheres.query(max_distance=2.5 + 1e-9).distance == pytest.approx([-0.5, 1.0, 2.5])
    assert len(row_of_spheres.query(max_distance=-1.0)) == 0
    nothing_culled = row_of_spheres.query(max_distance=math.inf)
    assert nothing_culled.statistics.past_sphere == nothing_culled.statistics.solved == 6


@pytest.mark.parametrize("max_distance", [0.0, 0.05, 0.5])
def test_culling_never_loses_a_pair(max_distance):
    scene = random_scene(40, seed=4, spread=3.0)
    everything = scene.query()
    culled = scene.fork().query(max_distance=max_distance)
    expected = everything.distance[everything.distance <= max_distance]
    assert culled.distance == pytest.approx(expected, abs=1e-9)
    assert culled.statistics.solved < everything.statistics.solved
    counts = culled.statistics
    assert counts.pairs >= counts.past_sphere >= counts.past_obb == counts.solved >= len(culled)


def test_every_answer_equals_that_of_the_engine():
    scene = random_scene(10, seed=5, spread=1.5)
    result = scene.query()
    for row in range(len(result)):
        a, b = result.body_a[row], result.body_b[row]
        one = distance(scene.bodies[a].shape, scene.poses[a], scene.bodies[b].shape, scene.poses[b])
        assert result.distance[row] == one.distance
        assert np.array_equal(result.point_a[row], one.point_a)
        assert np.array_equal(result.normal[row], one.normal)


@pytest.mark.parametrize("spread", [0.5, 1.5, 4.0])
def test_answers_of_many_pairs_agree_with_the_engine_within_both_intervals(spread):
    """Lanes solve many pairs, cold and from the points of the last frame."""
    scene = random_scene(24, seed=6, spread=spread)
    rng = np.random.default_rng(7)
    for frame in range(3):
        result = scene.query()
        assert result.certified.all()
        assert result.statistics.solved == len(result) == scene.query(overlapping_only=True).statistics.pairs
        for row in range(len(result)):
            a, b = result.body_a[row], result.body_b[row]
            one = distance(scene.bodies[a].shape, scene.poses[a], scene.bodies[b].shape, scene.poses[b])
            size = min(max(scene.bodies[k].shape.semi_axes) for k in (a, b))
            assert max(result.lower[row], one.lower) <= min(result.upper[row], one.upper)
            assert result.distance[row] == pytest.approx(one.distance, abs=1e-9 * size)
            if one.status == 0 == int(result.status[row]):
                assert result.normal[row] == pytest.approx(one.normal, abs=1e-4)
        poses = scene.poses
        poses[:, :3, 3] += 0.02 * 10.0**frame * rng.normal(size=(len(poses), 3))
        scene.set_link_poses(dict(zip(scene.links, poses, strict=True)))


def test_intervals_of_many_pairs_stay_narrow_if_products_of_poses_round():
    """Bodies far from the origins of their links, which carry them back to each other."""
    rng = np.random.default_rng(10)
    bodies, poses = [], {}
    for i in range(12):
        offset = at(1e5, -2e5, 3e5)
        bodies.append(
            Body(
                f"body_{i}",
                f"link_{i}",
                Superovoid(rng.uniform(0.2, 0.5, 3), section_exponent=0.7, profile_exponent=0.9),
                offset,
            )
        )
        poses[f"link_{i}"] = at(*(rng.uniform(-2.0, 2.0, 3) - offset[:3, 3]))
    scene = Scene(bodies)
    scene.set_link_poses(poses)
    many = scene.fork().query()
    assert len(many) >= 48
    few = scene.fork().query(pairs=scene.pairs[:20])
    rows = {(a, b): row for row, (a, b) in enumerate(zip(many.body_a.tolist(), many.body_b.tolist(), strict=True))}
    for row, pair in enumerate(zip(few.body_a.tolist(), few.body_b.tolist(), strict=True)):
        width = few.upper[row] - few.lower[row]
        assert width > 1e-9
        assert many.upper[rows[pair]] - many.lower[rows[pair]] == pytest.approx(width, rel=0.5)
        assert many.status[rows[pair]] == few.status[row]
        assert Status.PRECISION in Status(int(few.status[row]))


def test_answers_of_many_pairs_do_not_depend_on_other_pairs():
    scene = random_scene(24, seed=8, spread=2.0)
    full = scene.fork().query()
    rows = {(a, b): row for row, (a, b) in enumerate(zip(full.body_a.tolist(), full.body_b.tolist(), strict=True))}
    chosen = scene.pairs[np.random.default_rng(9).permutation(len(scene.pairs))[:150]]
    some = scene.fork().query(pairs=chosen)
    assert len(some) == 150
    for row, pair in enumerate(zip(some.body_a.tolist(), some.body_b.tolist(), strict=True)):
        assert some.distance[row] == full.distance[rows[pair]]
        assert np.array_equal(some.point_b[row], full.point_b[rows[pair]])


def test_overlapping_only_and_max_results(row_of_spheres):
    assert row_of_spheres.query(overlapping_only=True).distance == pytest.approx([-0.5])
    assert row_of_spheres.query(max_results=2).distance == pytest.approx([-0.5, 1.0])


def test_pairs_can_be_limited_in_either_order(row_of_spheres):
    result = row_of_spheres.query(pairs=[(3, 0), (1, 2)])
    assert result.statistics.pairs == 2
    assert [(a, b) for a, b in zip(result.body_a, result.body_b, strict=True)] == [(1, 2), (0, 3)]
    assert row_of_spheres.query(pairs=[]).statistics.pairs == 0


def test_a_fork_has_its_own_poses_and_leaves_the_scene_alone(row_of_spheres):
    before = row_of_spheres.query()
    fork = row_of_spheres.fork()
    fork.set_link_poses({f"link_{i}": at(10.0 * i) for i in range(4)})
    assert fork.query().distance[0] == pytest.approx(8.0)
    after = row_of_spheres.query()
    assert np.array_equal(before.distance, after.distance)
    assert np.array_equal(before.point_a, after.point_a)


def test_results_of_an_earlier_query_are_not_overwritten(row_of_spheres):
    first = row_of_spheres.query()
    kept = first.distance.copy()
    row_of_spheres.set_link_poses({f"link_{i}": at(10.0 * i) for i in range(4)})
    row_of_spheres.query()
    assert np.array_equal(first.distance, kept)


def test_warm_queries_agree_with_cold_ones_along_a_motion():
    scene = random_scene(10, seed=6, spread=1.0)
    links = {body.link: scene.poses[i] @ np.linalg.inv(body.link_from_body) for i, body in enumerate(scene.bodies)}
    for step in range(20):
        moved = {link: at(0.01 * step * (i % 3), 0.005 * step) @ pose for i, (link, pose) in enumerate(links.items())}
        scene.set_link_poses(moved)
        warm = scene.query()
        cold = scene.fork()
        cold.forget()
        assert warm.distance == pytest.approx(cold.query().distance, abs=1e-9)


def test_bodies_of_one_link_are_not_paired_by_default():
    bodies = [Body("a", "palm", Sphere(1.0)), Body("b", "palm", Sphere(1.0)), Body("c", "tip", Ellipsoid((1, 2, 3)))]
    assert Scene(bodies).pairs.tolist() == [[0, 2], [1, 2]]


def test_an_empty_scene_answers():
    assert len(Scene([]).query()) == 0


def test_a_wrong_pose_is_named_and_the_state_kept(row_of_spheres):
    before = row_of_spheres.query().distance
    with pytest.raises(ValueError, match=r"no pose for 'link_1', 'link_2', 'link_3'"):
        row_of_spheres.set_link_poses({"link_0": at()})
    bad = {f"link_{i}": at() for i in range(4)} | {"link_2": np.diag([0.0, 0.0, 0.0, 1.0])}
    with pytest.raises(ValueError, match=r"world_from_link\['link_2'\]: upper left 3 x 3 must be a rotation"):
        row_of_spheres.set_link_poses(bad)
    assert np.array_equal(row_of_spheres.query().distance, before)


def test_bad_arguments_are_named(row_of_spheres):
    with pytest.raises(ValueError, match="name 'x' occurs 2 times"):
        Scene([Body("x", "a", Sphere(1.0)), Body("x", "b", Sphere(1.0))])
    with pytest.raises(ValueError, match=r"indices must be in \[0, 1\)"):
        Scene([Body("x", "a", Sphere(1.0))], [(0, 1)])
    with pytest.raises(ValueError, match="paired with itself"):
        row_of_spheres.query(pairs=[(1, 1)])
    with pytest.raises(ValueError, match="max_distance = nan"):
        row_of_spheres.query(max_distance=math.nan)
    with pytest.raises(ValueError, match=r"max_distance = 100.*: must be a number"):
        row_of_spheres.query(max_distance=10**400)
    assert len(row_of_spheres.query(max_results=2**32 - 1)) == row_of_spheres.pair_count  # the largest in messages
    with pytest.raises(ValueError, match="max_results = 0"):
        row_of_spheres.query(max_results=0)
    with pytest.raises(ValueError, match="no poses yet"):
        Scene([Body("x", "a", Sphere(1.0))]).query()
    with pytest.raises(TypeError, match="Body 'x': shape"):
        Body("x", "a", "ball")
    limited = Scene([Body(f"b{i}", f"l{i}", Sphere(1.0)) for i in range(3)], [(0, 1)])
    limited.set_link_poses({f"l{i}": at(3.0 * i) for i in range(3)})
    with pytest.raises(ValueError, match=r"\(0, 2\) \('b0', 'b2'\) is not one of the scene's pairs"):
        limited.query(pairs=[(0, 2)])


# -- tables --------------------------------------------------------------------------------------------------------


def test_tables_are_a_snapshot_of_a_scene():
    scene = Scene([Body("a", "one", Sphere(1.0)), Body("b", "two", Sphere(0.5)), Body("c", "two", Sphere(0.25))])
    scene.set_link_pose("two", at(3.0))
    tables = scene.tables()
    assert tables.links == ("one", "two") == scene.links
    assert tables.local.link.tolist() == [0, 1, 1]
    assert tables.pairs.tolist() == [[0, 1], [0, 2]]
    assert tables.posed.tolist() == [False, True]
    np.testing.assert_array_equal(tables.link_poses[1], at(3.0))
    assert tables.local.radii == pytest.approx([1.0, 0.5, 0.25])
    kept = [array.copy() for array in (tables.pairs, tables.link_poses, tables.posed, *tables.local)]
    scene.set_link_pose("one", at(1.0))
    scene.attach("b", "three", np.eye(4))
    scene.set_pairs_allowed([[0, 2]], False)
    scene.add(Body("d", "one", Box((2.0, 2.0, 2.0))))
    now = tables.pairs, tables.link_poses, tables.posed, *tables.local
    for before, after in zip(kept, now, strict=True):
        np.testing.assert_array_equal(after, before)
    later = scene.tables()
    assert later.links == ("one", "two", "three")
    assert later.pairs.tolist() == scene.pairs.tolist() != tables.pairs.tolist()


@pytest.mark.parametrize("max_evaluations", [math.nan, -5, 1.9, "many", True])
def test_invalid_max_evaluations_are_refused_by_name(max_evaluations):
    with pytest.raises(ValueError, match=r"max_evaluations = .*: must be an integer of at least 0"):
        Scene([Body("a", "a", Sphere(1.0))], max_evaluations=max_evaluations)


def test_tables_of_some_pairs_use_the_order_of_the_scene():
    scene = Scene([Body(name, name, Sphere(1.0)) for name in "abc"], rtol=1e-5, max_evaluations=123)
    tables = scene.tables([[2, 0], [1, 2]])
    assert tables.pairs.tolist() == [[0, 2], [1, 2]]
    assert (tables.rtol, tables.max_evaluations) == (1e-5, 123)
    tables.pairs[:] = 0  # a copy
    assert scene.tables([[2, 0]]).pairs.tolist() == [[0, 2]]
    scene.set_pairs_allowed([[0, 2]], False)
    with pytest.raises(ValueError, match="is not one of the scene's pairs"):
        scene.tables([[0, 2]])
    with pytest.raises(ValueError, match="indices must be in"):
        scene.tables([[0, 3]])


def test_the_shapes_of_an_array_are_bodies_on_a_link_each():
    grains = ShapeArray(Sphere, [0.1, 0.2, 0.3])
    scene = Scene(grains)
    assert scene.bodies == tuple(Body(str(i), str(i), grain) for i, grain in enumerate(grains))
    scene.set_link_poses([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 2.0, 0.0)])
    scene.add(ShapeArray(Sphere, [0.5]))
    scene.set_link_pose("3", (0.0, 0.0, 3.0))
    found = scene.query(max_distance=1.0)
    assert [(row.name_a, row.name_b) for row in found] == [("0", "1")]
    assert found.distance == pytest.approx([0.7])
