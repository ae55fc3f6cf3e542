# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Results as values: their parts, names, texts, equality, pickles and tables."""

import copy
import json
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from superovoid import (
    Body,
    Box,
    ConvexMesh,
    DistanceResults,
    Ellipsoid,
    HalfSpace,
    Motion,
    Scene,
    ShapeArray,
    Sphere,
    Status,
    Superovoid,
    are_closer,
    contacts,
    distance,
    distances,
    time_of_impact,
)
from superovoid.values.records import Statistics


def at(x):
    pose = np.eye(4)
    pose[0, 3] = x
    return pose


def scene():
    bodies = [Body(f"ball {i}", f"link {i}", Sphere(0.1 * (i + 1))) for i in range(5)]
    made = Scene(bodies)
    made.set_link_poses({f"link {i}": at(0.25 * i) for i in range(5)})
    return made


def many_results():
    return distances(Sphere(1.0), np.eye(4), Sphere(0.5), np.array([at(x) for x in (1.0, 1.5, 2.0, 3.0)]))


def test_a_mask_a_slice_and_indices_select_rows():
    found = many_results()
    near = found[found.certified & (found.distance < 0.4)]
    assert isinstance(near, DistanceResults)
    np.testing.assert_array_equal(near.distance, found.distance[:2])
    np.testing.assert_array_equal(found[1:].point_b, found.point_b[1:])
    np.testing.assert_array_equal(found[[3, 0]].distance, found.distance[[3, 0]])
    assert len(found[[]]) == len(found[np.zeros(4, dtype=bool)]) == 0
    assert found[-1].distance == found.distance[-1] and found[np.int64(2)] == found[2]
    assert [row.distance for row in found] == found.distance.tolist()


@pytest.mark.parametrize("rows", ([True, False], (0, 1), "first", 1.0, np.ones((4, 1), dtype=bool), 4, [9], None))
def test_missing_rows_are_refused(rows):
    with pytest.raises(IndexError):
        many_results()[rows]


def test_a_status_prints_as_words():
    assert str(Status.CERTIFIED) == f"{Status.CERTIFIED}" == "CERTIFIED"
    assert str(Status.UNPROVEN | Status.NON_CONVEX) == "UNPROVEN|NON_CONVEX"
    assert f"{Status.UNPROVEN:d}" == str(int(Status.UNPROVEN)) and f"{Status.NON_CONVEX:>12}" == "  NON_CONVEX"
    found = many_results()
    assert found.status_words.tolist() == [str(row.status) for row in found]
    flags = np.arange(64, dtype=np.uint8)
    rows = DistanceResults(*[np.zeros(64)] * 3, *[np.zeros((64, 3))] * 3, flags, Statistics(iterations=flags))
    assert rows.status_words.tolist() == [str(Status(flag)) for flag in range(64)]
    assert rows.certified.tolist() == [row.certified for row in rows]


def test_answers_compare_by_all_fields_and_have_no_hash():
    one, other = many_results(), many_results()
    assert one == other and one[0] == other[0] and not one == other[:3] and one[0] != one[1]
    assert one != "text" and one[0] != scene().query()[0]
    assert scene().query() == scene().query()
    for answer in (one, one[0], scene().query(), Motion.at_rest(at(1.0))):
        assert pickle.loads(pickle.dumps(answer)) == answer
        assert copy.deepcopy(answer) == answer
        with pytest.raises(TypeError, match="unhashable"):
            hash(answer)


def test_statistics_of_fewer_rows_keep_the_counts_of_the_query():
    found = scene().query()
    part, row = found[1:3], found[2]
    assert part.statistics.pairs == found.statistics.pairs == 10
    assert part.statistics.iterations.tolist() == found.statistics.iterations[1:3].tolist()
    assert row.statistics.iterations == found.statistics.iterations[2] and not hasattr(row.statistics, "pairs")
    with pytest.raises(AttributeError, match="cannot be assigned"):
        row.statistics.iterations = 0


def test_rows_of_a_scene_name_their_bodies_and_links():
    found = scene().query()
    first = found[0]
    assert (first.name_a, first.name_b) == ("ball 3", "ball 4") == (found.name_a[0], found.name_b[0])
    assert (first.link_a, first.link_b) == ("link 3", "link 4") == (found.link_a[0], found.link_b[0])
    touching = found[found.link_a == "link 0"]
    assert len(touching) == 4 and set(touching.body_a) == {0}
    assert touching.name_b.tolist() == [found.bodies[i].name for i in touching.body_b]


def test_an_answer_becomes_plain_python_for_json():
    one = json.loads(json.dumps(many_results()[0].to_dict()))
    assert one["status"] == "CERTIFIED" and one["point_a"] == many_results()[0].point_a.tolist()
    found = scene().query()
    all_rows = json.loads(json.dumps(found.to_dict()))
    assert all_rows["distance"] == found.distance.tolist() and all_rows["statistics"]["pairs"] == found.statistics.pairs
    assert all_rows["status"] == ["CERTIFIED"] * len(found) and all_rows["name_a"] == found.name_a.tolist()


def test_columns_have_one_entry_per_pair():
    found = scene().query()
    columns = found.to_columns()
    assert set(map(len, columns.values())) == {len(found)} and set(columns["status"]) == {"CERTIFIED"}
    points = np.column_stack([columns[f"point_a_{axis}"] for axis in "xyz"])
    np.testing.assert_array_equal(points, found.point_a)
    assert columns["name_b"].tolist() == found.name_b.tolist()
    verdicts = are_closer(Sphere(1.0), np.eye(4), Sphere(0.5), np.array([at(1.0), at(9.0)]), 0.1)
    assert verdicts.to_columns()["closer"].tolist() == [True, False]
    assert verdicts.to_columns()["proof"].tolist() == [verdict.proof.name for verdict in verdicts]
    motion = Motion(np.eye(4), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    impacts = time_of_impact(Sphere(1.0), motion, Sphere(0.5), np.array([at(2.0), at(9.0)])).to_columns()
    assert impacts["status"].tolist() == ["IMPACT", "FREE"] and impacts["result_status"].tolist() == ["CERTIFIED"] * 2


def test_contact_points_have_columns():
    found = contacts(Box((2.0, 4.0, 6.0)), np.eye(4), HalfSpace(), at(0.0) @ np.diag([1.0, -1.0, -1.0, 1.0]), 10.0)
    columns = found.to_columns()
    assert list(columns) == [f"point_{side}_{axis}" for side in "ab" for axis in "xyz"] + ["gap"]
    np.testing.assert_array_equal(columns["gap"], found.gap)
    assert found._repr_html_().count("<tr>") == 1 + len(found)


@pytest.mark.parametrize("package, method", (("pandas", "to_pandas"), ("polars", "to_polars"), ("pyarrow", "to_arrow")))
def test_tables_of_other_libraries_have_the_columns(package, method):
    pytest.importorskip(package)
    found = scene().query()
    columns, table = found.to_columns(), getattr(found, method)()
    assert list(getattr(table, "column_names", None) or table.columns) == list(columns)
    for name, values in columns.items():
        assert np.asarray(table[name]).tolist() == values.tolist()


@pytest.mark.parametrize("package, method", (("pandas", "to_pandas"), ("polars", "to_polars"), ("pyarrow", "to_arrow")))
def test_a_table_names_its_missing_requirement(monkeypatch, package, method):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{method}\(\) needs {package}: pip install 'superovoid\[table\]'"):
        getattr(many_results(), method)()


def test_a_notebook_shows_scenes_and_their_bodies_as_tables():
    shown = scene()
    text = shown._repr_html_()
    assert text.count("<tr>") == 6 and "more" not in text
    shown.add(Body("last", "last", Sphere(1.0)))
    assert "and 1 more" in shown._repr_html_()
    assert "<td>ball 3</td>" in text and "<td>link 3</td>" in text
    assert "<td>name</td><td>ball 0</td>" in shown.bodies[0]._repr_html_()


def test_a_notebook_shows_results_and_shapes_as_tables():
    found = scene().query()
    text = found._repr_html_()
    assert text.count("<tr>") == 6 and f"and {len(found) - 5} more" in text
    assert "<th>point_a_x</th>" in text and "<td>ball 3</td>" in text and "<td>CERTIFIED</td>" in text
    assert "more" not in found[:5]._repr_html_() and found[:0]._repr_html_().count("<tr>") == 1
    one = found[0]._repr_html_()
    assert one.startswith("<div><strong>PairResult</strong>") and "<td>distance</td>" in one
    assert "<td>semi_axes</td><td>(1.0, 2.0, 3.0)</td>" in Ellipsoid((1.0, 2.0, 3.0))._repr_html_()
    assert "<td>vertices</td>" in ConvexMesh(np.eye(4)[:, :3] - 0.1)._repr_html_()
    spheres = ShapeArray(Sphere, np.arange(1.0, 9.0))._repr_html_()
    assert "ShapeArray(Sphere, 8 shapes)" in spheres and "<th>radius</th>" in spheres and "and 3 more" in spheres
    named = Scene([Body("<b>", "one", Sphere(1.0)), Body("a & b", "two", Sphere(1.0))])
    named.set_link_poses([at(0.0), at(3.0)])
    escaped = named.query()._repr_html_()
    assert "&lt;b&gt;" in escaped and "<b>" not in escaped and "a &amp; b" in escaped


def test_an_answer_of_many_rows_prints_in_a_few_lines():
    found = distances(Sphere(1.0), np.eye(4), Sphere(0.5), np.array([at(x) for x in np.linspace(2.0, 9.0, 300)]))
    text = repr(found)
    assert len(text.splitlines()) <= 8 and "300 pairs, 300 certified" in text and "295 more" in text
    assert "ball 3 and ball 4" in repr(scene().query())
    assert "CERTIFIED" in repr(found[0]) and "\n" not in repr(found[0])
    assert repr(found[:0]) == "DistanceResults(0 pairs)"


def test_bodies_compare_by_value_and_are_hashable():
    corners = np.array(np.meshgrid([0.0, 1.0], [0.0, 1.0], [0.0, 1.0])).reshape(3, -1).T
    for shape in (Superovoid((1.0, 2.0, 3.0)), Box((2.0, 2.0, 2.0)), ConvexMesh(corners)):
        one, other = Body("a", "b", shape, at(1.0)), pickle.loads(pickle.dumps(Body("a", "b", shape, at(1.0))))
        assert one == other and hash(one) == hash(other) and {one: 1}[other] == 1
        assert len({one, Body("a", "b", shape, at(2.0)), Body("c", "b", shape, at(1.0)), other}) == 3
    negative = at(1.0)
    negative[1, 0] = -0.0
    assert hash(Body("a", "b", Sphere(1.0), negative)) == hash(Body("a", "b", Sphere(1.0), at(1.0)))
    assert ConvexMesh(corners) != ConvexMesh(2.0 * corners)


def test_a_scene_prints_its_contents():
    assert repr(scene()) == "Scene(5 bodies on 5 links, 10 pairs, poses of 5 of 5 links)"
    assert "poses of 0 of 1 links" in repr(Scene([Body("a", "a", Sphere(1.0))]))


@pytest.mark.parametrize("copied", (copy.copy, copy.deepcopy, Scene.fork, lambda s: pickle.loads(pickle.dumps(s))))
def test_a_copy_of_a_scene_is_independent(copied):
    original = scene()
    before, poses, pairs = original.query(), original.poses, original.pairs.copy()
    other = copied(original)
    assert other.query() == before
    other.set_link_pose("link 0", at(9.0))
    other.set_pairs_allowed([[1, 2]], False)
    other.attach("ball 2", "link 1", at(0.1))
    other.add(Body("new", "new", Sphere(1.0)))
    other.remove("ball 4")
    assert original.query() == before and len(original.bodies) == 5
    np.testing.assert_array_equal(original.poses, poses)
    np.testing.assert_array_equal(original.pairs, pairs)


def test_the_poses_of_a_scene_are_copies():
    made = Scene([Body("a", "one", Sphere(1.0), at(0.5)), Body("b", "two", Sphere(1.0))])
    assert made.poses is None
    made.set_link_pose("one", at(1.0))
    assert made.poses is None
    made.set_link_pose("two", at(3.0))
    poses = made.poses
    np.testing.assert_array_equal(poses, [at(1.5), at(3.0)])
    poses[:] = 0.0
    np.testing.assert_array_equal(made.poses, [at(1.5), at(3.0)])


def test_one_pair_has_the_same_methods_as_many():
    one = distance(Sphere(1.0), np.eye(4), Sphere(0.5), at(3.0))
    assert one.certified is True and one.differentiable is True


def test_parts_that_are_made_when_read_are_those_of_the_row():
    found, again = many_results()[2], distance(Sphere(1.0), np.eye(4), Sphere(0.5), at(2.0))
    copied = copy.deepcopy(again)  # before any part is read
    assert again == found == copied == pickle.loads(pickle.dumps(again))
    assert again.point_a is again.point_a and again.statistics == found.statistics
    with pytest.raises(AttributeError, match="'DistanceResult' object has no attribute 'point_c'"):
        again.point_c  # noqa: B018
    other = distance(Sphere(1.0), np.eye(4), Sphere(0.5), at(9.0))
    assert again.point_b[0] == pytest.approx(1.5) and other.point_b[0] == pytest.approx(8.5)  # no shared memory


def test_calls_within_calls_and_in_threads_have_memory_of_their_own():
    class PoseWithCall:  # a pose that calls the engine while it is converted
        def as_matrix(self):
            distance(Sphere(1.0), np.eye(4), Sphere(0.5), at(7.0))
            return at(3.0)

    assert distance(Sphere(1.0), np.eye(4), Sphere(0.5), PoseWithCall()).distance == pytest.approx(1.5)
    xs = np.linspace(2.0, 9.0, 200)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda x: distance(Sphere(1.0), np.eye(4), Sphere(0.5), at(x)).distance, xs))
    np.testing.assert_allclose(answers, xs - 1.5, atol=1e-12)
