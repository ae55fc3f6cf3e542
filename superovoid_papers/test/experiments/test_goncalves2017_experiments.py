# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Experiments of Gonçalves et al. 2017: counted failures, drawn pairs and written files."""

import csv

import numpy as np
import pytest

from superovoid.output import OutputError
from superovoid_papers.benchmarks import engine_comparison
from superovoid_papers.experiments.goncalves2017 import accuracy, first_guesses, memory, suggestions, superovoid_battery
from superovoid_papers.methods.goncalves2017 import distance


@pytest.fixture(autouse=True)
def _skip_overhead(monkeypatch):
    """Skip a measurement that takes seconds and changes times only."""
    monkeypatch.setattr(engine_comparison, "binding_overhead", lambda adapter: 0.0)


def test_failures_are_counted_for_proved_distances_only():
    samples = superovoid_battery.Samples(
        distance=[np.array([0.1, 0.5, 0.3]), np.array([0.4, np.nan])],
        converged=[np.array([True, True, False]), np.array([True, True])],
        iterations=[np.array([5.0, 7.0, 30.0]), np.array([6.0, 9.0])],
    )
    times = {"quadImplicit": np.array([4.0, 5.0, 30.0, 6.0, 12.0]), "quadtree": np.full(5, 2.0)}
    truths, proved = np.array([0.1, 0.2, 0.3, 0.9, 0.5]), np.array([True, True, True, False, True])
    row = superovoid_battery._row("separated", "quadImplicit", samples, times, truths, proved)
    assert (row.pairs, row.judged, row.not_converged, row.wrong) == (5, 4, 1, 2)  # the fourth distance is not proved
    assert row.total_us == pytest.approx((6.0 + 7.0 + 8.0 + 14.0) / 4)
    assert row.all_pairs_us_median == 8.0
    assert row.iterations == pytest.approx((5 + 7 + 6 + 9) / 4)
    assert row.us_per_iteration == pytest.approx((4 + 5 + 6 + 12) / (5 + 7 + 6 + 9))


@pytest.mark.parametrize("battery", ["separated", "overlapping"])
def test_a_battery_has_pairs_of_its_kind(battery):
    pairs, truths, proved = superovoid_battery.draw(battery, 12, 3)
    assert len(pairs) == len(truths) == len(proved) == 12
    assert ((truths > 0.0) == (battery == "separated")).all()
    assert all(pair.pose_b[1, 3] == 2.21 and pair.a.semi_axes == (1.0, 1.0, 1.0) for pair in pairs)


@pytest.mark.ci
def test_a_battery_has_rows_of_all_schemes():
    battery = "overlapping"
    pairs, _, proved = superovoid_battery.draw(battery, 12, 3)
    advanced = []
    rows, times, missing = superovoid_battery.run(battery, 12, 1, 3, advanced.append)
    assert sum(advanced) == 12
    names = [row.contender for row in rows]
    assert set(superovoid_battery.SCHEMES) < set(names)
    assert "engine" in names
    assert {"FCL, mesh", "Coal, hull"} == (set(names) | set(missing)) - set(superovoid_battery.SCHEMES) - {"engine"}
    for row in rows:
        assert len(times[row.contender]) == row.pairs == 12
        if row.contender in superovoid_battery.SCHEMES and row.not_converged < row.judged:
            assert 0.0 < row.guess_us < row.total_us
            assert 1.0 <= row.iterations <= 30.0
    lost = sum(
        not distance(pair.a, pair.pose_a, pair.b, pair.pose_b).converged
        for pair, judged in zip(pairs, proved, strict=True)
        if judged
    )
    assert rows[0].not_converged == lost


@pytest.mark.slow
def test_accuracy_queries_each_pair_once_and_in_order(monkeypatch):
    monkeypatch.setattr(accuracy, "CHUNK", 2)
    monkeypatch.setattr(accuracy, "RESOLUTIONS", (18,))
    asked = []
    real = accuracy.Newton.queries

    def queries(self, pairs):
        def count_query(k, query):
            asked.append(k)
            return query()

        return [lambda k=k, query=query: count_query(k, query) for k, query in enumerate(real(self, pairs))]

    monkeypatch.setattr(accuracy.Newton, "queries", queries)
    rows, _ = accuracy.run(3, 0, lambda text: None)
    # Chunks of two pairs and of one, after a pair of spheres queried twice; for each of the exact schemes.
    assert asked == [0, 0, 1, 2] * len(accuracy.EXACT) + [0, 0, 1] * len(accuracy.EXACT)
    exact = next(row for row in rows if row.contender == "quadImplicit")
    pairs, distances, _, points = accuracy.draw(3, 0)
    found = [distance(pair.a, pair.pose_a, pair.b, pair.pose_b) for pair in pairs]
    errors = [abs(result.distance - truth) for result, truth in zip(found, distances, strict=True)]
    ends = [
        np.linalg.norm(np.concatenate([result.point_a, result.point_b]) - x)
        for result, x in zip(found, points, strict=True)
    ]
    assert exact.answered == 3
    assert (exact.distance_error, exact.points_error) == (np.median(errors), np.median(ends))


@pytest.mark.slow
def test_accuracy_writes_its_printed_results(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(accuracy, "RESOLUTIONS", (18, 98))
    assert accuracy.main(2, 0, tmp_path) == 0
    printed = capsys.readouterr().out
    assert "quadParametric" in printed
    lines = (tmp_path / "accuracy.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# superovoid experiment accuracy --pairs 2 --seed 0"
    rows = list(csv.DictReader(lines[2:]))
    exact = [row for row in rows if row["contender"] == "quadImplicit"]
    assert float(exact[0]["distance_error_max_m"]) < 1e-6
    of_fcl = [row for row in rows if row["contender"] == "FCL, mesh"]
    meshes = {int(row["vertices"]): float(row["distance_error_median_m"]) for row in of_fcl}
    if meshes:
        assert meshes[98] < meshes[18]
    assert (tmp_path / "accuracy.png").stat().st_size > 10_000


@pytest.fixture
def _few_pairs():
    return suggestions.draw("superellipsoids", "separated", 6, 1)


def test_interior_points_find_the_certified_distance(_few_pairs):
    pairs, truths, _ = _few_pairs
    made = [suggestions.TrustConstr()]
    try:
        made.append(suggestions.Ipopt())
    except ImportError:
        pass  # pip install 'superovoid_papers[bench]'
    for way in made:
        answers = np.array([query() for query in way.queries(pairs)])
        assert way.converged.all() and (way.iterations > 1).all()
        np.testing.assert_allclose(answers, truths, atol=1e-6)


def test_pairs_without_taper_are_of_their_kind(_few_pairs):
    for battery in suggestions.BATTERIES:
        pairs, truths, proved = suggestions.draw("superellipsoids", battery, 6, 1)
        assert len(pairs) == len(truths) == 6 and proved.all()
        assert all(body.taper == (0.0, 0.0) for pair in pairs for body, _ in pair.bodies)
        assert ((truths > 0.0) == (battery == "separated")).all()


@pytest.mark.slow
def test_suggestions_write_their_results_and_name_missing_libraries(tmp_path, capsys, monkeypatch):
    def no_ipopt():
        raise ModuleNotFoundError("No module named 'casadi'")

    monkeypatch.setattr(suggestions, "Ipopt", no_ipopt)
    assert suggestions.main(3, 1, 0, tmp_path) == 0
    printed = capsys.readouterr().out
    assert (
        "IPOPT (CasADi) is left out: No module named 'casadi'; pip install 'superovoid_papers[bench]' installs it"
        in printed
    )
    assert "Wellmann rules a contact out in 3 of 3 pairs" in printed
    lines = (tmp_path / "suggestions.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# superovoid experiment suggestions --pairs 3 --rounds 1 --seed 0"
    rows = list(csv.DictReader(lines[2:]))
    # The least |Q - P| of overlapping bodies is 0, so interior points are not tried.
    asked = {(row["battery"], row["contender"]) for row in rows}
    assert ("separated", suggestions.INTERIOR[1]) in asked and ("overlapping", suggestions.INTERIOR[1]) not in asked
    assert {row["bodies"] for row in rows} == set(suggestions.BODIES)
    assert (tmp_path / "suggestions.png").stat().st_size > 10_000


def test_shorter_steps_fail_on_fewer_overlapping_pairs():
    pairs, truths, proved = superovoid_battery.draw("overlapping", 200, 0)
    lost = []
    for options in ({}, {"gain": 0.25, "max_iterations": 200}):
        way = suggestions.Scheme(**options)
        answers = np.array([query() for query in way.queries(pairs)])
        lost.append((proved & ~(way.converged & (np.abs(answers - truths) <= 1e-5))).sum())
    assert 2 * lost[1] < lost[0]


def test_first_guesses_by_levels_agree_with_those_of_the_pairs():
    rows, lines = first_guesses.run(20, 3, lambda text: None)
    assert not lines
    assert len(rows) == 2 * (len(first_guesses.QUADTREE_LEVELS) + 1 + 2 + len(first_guesses.OCTREE_LEVELS))
    pairs, truths, proved = superovoid_battery.draw("separated", 20, 3)
    six = next(row for row in rows if row.guess == "quadtree" and row.levels == 6)
    found = [distance(pair.a, pair.pose_a, pair.b, pair.pose_b) for pair in pairs]
    begun = [distance(pair.a, pair.pose_a, pair.b, pair.pose_b, max_iterations=0) for pair in pairs]
    lost = np.array([not answer.converged for answer in found])
    errors = np.abs([answer.distance for answer in begun] - truths)
    assert six.not_converged == (lost & proved).sum() and six.judged == proved.sum()
    assert six.guess_error == pytest.approx(np.median(errors[proved]))
    assert six.right_past_a_pole == 0  # only angles can pass a pole
    finer = {row.levels: row.guess_error for row in rows if (row.battery, row.guess) == ("separated", "octree")}
    assert finer[5] < finer[4] < finer[3] < finer[2]


def test_quadtree_cells_in_the_picture_are_nested():
    cells = first_guesses.quadtree_cells()
    for level in range(1, first_guesses.PICTURE_LEVELS):
        width = 2.0 * np.pi / 2**level
        inner = np.abs(cells[level] - cells[level - 1])
        np.testing.assert_allclose(inner, np.tile([0.25 * width, 0.125 * width], (2, 1)), rtol=1e-12)


@pytest.mark.slow
def test_first_guesses_write_a_table_and_a_picture(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(first_guesses, "OCTREE_LEVELS", (2,))
    monkeypatch.setattr(first_guesses, "QUADTREE_LEVELS", (6,))
    assert first_guesses.main(5, 0, tmp_path) == 0
    assert "superovoid experiment first-guesses --pairs 5 --seed 0" in capsys.readouterr().out
    rows = list(csv.DictReader((tmp_path / "first_guesses.csv").read_text(encoding="utf-8").splitlines()[2:]))
    assert {row["guess"] for row in rows} == {"quadtree", "adaptive quadtree", "octree"}
    assert (tmp_path / "first_guesses.png").stat().st_size > 50_000


@pytest.mark.slow
def test_memory_of_meshes_grows_with_their_vertices(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(memory, "VERTICES", (98, 290))
    monkeypatch.setattr(memory, "_MANY", 600)
    assert memory.main(3, 0, tmp_path) == 0
    assert "Memory of a body" in capsys.readouterr().out
    lines = (tmp_path / "memory.csv").read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(lines[2:]))
    found = {(row["representation"], int(row["vertices"])): float(row["body_bytes"]) for row in rows}
    assert 8 * memory.PARAMETERS <= found["numbers of shape and pose", 0] < 300
    assert sum(8**level for level in range(5)) <= found["octree of 4 levels", 0] < 6000  # one byte per cell
    for vertices in memory.VERTICES:  # three numbers per vertex, three per triangle, 2 n - 4 triangles
        assert found["vertices and triangles", vertices] == pytest.approx(24 * (vertices + 2 * vertices - 4), abs=500)
    for name in ("FCL, mesh with its boxes", "Coal, mesh with its boxes", "Coal, hull"):
        if (name, 98) in found:
            assert found[name, 290] > 2 * found[name, 98] > 2 * 98 * 24


@pytest.mark.slow
def test_memory_names_a_c_library_that_does_not_count(tmp_path, monkeypatch):
    def raise_missing():
        raise OSError("memory is counted by mallinfo2, which this C library lacks")

    monkeypatch.setattr(memory, "VERTICES", (18,))
    monkeypatch.setattr(memory, "allocated", raise_missing)
    pytest.importorskip("fcl", reason="pip install 'superovoid_papers[bench]'")
    with pytest.raises(OutputError, match="mallinfo2"):
        memory.main(1, 0, tmp_path)
