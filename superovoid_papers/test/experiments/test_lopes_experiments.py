# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The experiments of Lopes et al. 2010: motions, counted failures, and written files."""

import csv
import math

import numpy as np
import pytest

import superovoid
from superovoid import cli
from superovoid.values.records import Statistics
from superovoid_papers.experiments.lopes2010 import ellipsoids, free_bodies, prescribed_motions, superellipsoids
from superovoid_papers.experiments.lopes2010.prescribed_motions import GAP, PLACES, STEPS, Case, Method, RandomPair
from superovoid_papers.methods.lopes2010.framework import Motion

CASES = [*ellipsoids.CASES, *superellipsoids.CASES]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.exponents[0]}")
def test_bodies_turn_about_their_axes_and_keep_their_distance(case, place):
    first, second = case.poses(place)
    assert np.array_equal(first[0, :3, :3], np.eye(3)) and np.array_equal(second[0, :3, :3], np.eye(3))
    for poses, axis in ((first, (1, 0, 0)), (second, case.axis)):
        turned = poses[:, :3, :3] @ np.array(axis)
        assert turned == pytest.approx(np.tile(axis, (STEPS, 1)), abs=1e-12)
        steps = poses[:-1, :3, :3].swapaxes(1, 2) @ poses[1:, :3, :3]
        angles = np.degrees(np.arccos(0.5 * (np.trace(steps, axis1=1, axis2=2) - 1.0)))
        assert angles == pytest.approx(np.full(STEPS - 1, 1.8), abs=1e-6)
    apart = np.linalg.norm(second[:, :3, 3], axis=1)
    assert apart == pytest.approx(np.full(STEPS, sum(b.bounding_radius() for b in case.bodies) + GAP))
    moves = np.linalg.norm(np.diff(second[:, :3, 3], axis=0), axis=1)
    assert (moves > 0.0).all() if case.orbit else (moves == 0.0).all()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.exponents[0]}")
def test_method_and_engine_get_equal_bodies(case):
    points = np.random.default_rng(0).uniform(-3.0, 3.0, (20, 3))
    for ours, theirs in zip(case.shapes, case.bodies, strict=True):
        assert theirs.implicit(points) == pytest.approx(ours.implicit(points), rel=1e-12)


@pytest.mark.ci
def test_separate_spheres_are_solved_at_every_step():
    case = ellipsoids.CASES[0]
    poses = case.poses("aside")
    expected = prescribed_motions.truths(case, poses)
    assert expected == pytest.approx(np.full(STEPS, GAP))
    for tangents in ("householder", "auxiliary"):
        found = Method(case, poses, {"tangents": tangents}).motion()
        assert prescribed_motions.failures(found, expected) == (0, 0)
        assert found.statistics.iterations[1:].max() <= 5  # warm starts


def test_wrong_and_unconverged_answers_are_counted_separately():
    nothing = np.zeros((3, 3))
    found = Motion(
        solved=np.ones(3, dtype=bool),
        converged=np.array([True, True, False]),
        distance=np.array([1.0, 2.0, 1.0]),
        lower=np.full(3, -math.inf),
        point_a=nothing,
        point_b=nothing,
        normal=nothing,
        statistics=Statistics(iterations=np.ones(3, dtype=int), singular=np.zeros(3, dtype=int)),
    )
    assert prescribed_motions.failures(found, np.ones(3)) == (1, 1)
    assert prescribed_motions.failures(found, np.full(3, math.nan)) == (1, 2)  # nan counts as wrong


@pytest.mark.parametrize("regime", prescribed_motions.REGIMES)
def test_random_pairs_are_in_their_regime(regime):
    for pair in prescribed_motions.random_pairs(regime, (2.0, 5.0), 10, 3):
        assert (0.009 < pair.truth <= 1.0) if regime == "apart" else (-0.1 < pair.truth < 0.0)
        again = superovoid.distance(*_shapes(pair))
        assert again.distance == pytest.approx(pair.truth, abs=1e-8)


def _shapes(pair: RandomPair):
    gammas = [getattr(body, "exponents", (2.0,))[0] for body in pair.bodies]
    shapes = [prescribed_motions.shape(body.dimensions, gamma) for body, gamma in zip(pair.bodies, gammas, strict=True)]
    return shapes[0], pair.poses[0], shapes[1], pair.poses[1]


def test_a_restart_yields_fewer_wrong_answers():
    given = prescribed_motions.random_pairs("apart", (2.0, 5.0), 150, 0)
    rows = {(row.tangents, row.restart): row for row in prescribed_motions.cold_starts(given, "apart")}
    for row in rows.values():
        assert row.right + row.wrong + row.not_converged == row.pairs == 150
    assert rows["householder", True].wrong < rows["householder", False].wrong
    assert rows["householder", False].right > rows["auxiliary", False].right  # its vectors grow with the normal
    assert rows["unit auxiliary", False].right > rows["auxiliary", False].right


@pytest.mark.ci
def test_command_writes_tables_and_a_plot(tmp_path, monkeypatch, capsys):
    few = [
        Case(
            "1", ((1.0, 1.2, 0.8), (0.5, 0.7, 0.6)), (2.0, 2.0), prescribed_motions.X, True, {"householder": (1.5, 777)}
        )
    ]
    monkeypatch.setattr(ellipsoids, "CASES", few)
    monkeypatch.setattr(prescribed_motions, "TURNS", (1.0,))
    arguments = ["experiment", "lopes-ellipsoids", "--pairs", "5", "--rounds", "1", "--output", str(tmp_path)]
    assert cli.main(arguments) == 0
    text = capsys.readouterr().out
    assert "lopes-ellipsoids --pairs 5 --rounds 1 --seed 0" in text and "777" in text
    counts = {}
    for part in ("motions", "step_sizes", "random_pairs"):
        lines = (tmp_path / f"lopes_ellipsoids_{part}.csv").read_text().splitlines()
        assert lines[0].startswith("# superovoid experiment lopes-ellipsoids")
        counts[part] = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    contenders = {row["contender"] for row in counts["motions"]}
    assert {"householder", "auxiliary", "engine"} <= contenders
    assert all(float(row["step_median_us"]) > 0.0 for row in counts["motions"] if row["contender"] != "coal")
    assert len(counts["motions"]) == len(PLACES) * len(contenders)
    assert {row["paper_iterations"] for row in counts["motions"] if row["contender"] == "householder"} == {"777"}
    assert all(row["failed"] == "0" for row in counts["step_sizes"])
    assert len(counts["random_pairs"]) == 2 * 3 * 2
    for name in ("lopes_ellipsoids.png", "lopes_ellipsoids_snapshots.png"):
        assert (tmp_path / name).stat().st_size > 10_000


def test_a_file_as_output_folder_is_an_error(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(SystemExit) as end:
        cli.main(["experiment", "lopes-superellipsoids", "--output", str(file)])
    assert end.value.code == 2
    assert "--output" in capsys.readouterr().err


def test_bodies_start_at_the_gap_and_touch():
    case = superellipsoids.CASES[0]
    bodies = free_bodies.throw_bodies(case, free_bodies.ASIDE)
    start = superovoid.distance(case.shapes[0], bodies[0].pose, case.shapes[1], bodies[1].pose)
    assert start.distance == pytest.approx(free_bodies.GAP, rel=1e-4)
    row, found = free_bodies.measure("1", case, "flores", 20)
    assert row.problem == "" and row.depth_mm > 1.0 and row.wrong_um < 1e-3
    assert found.force.max() == pytest.approx(1e3 * row.force_kN)


@pytest.mark.slow
def test_dynamics_command_writes_its_measurements(tmp_path, capsys):
    assert cli.main(["experiment", "lopes-dynamics", "--steps", "20", "--output", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    plots = {f"lopes_dynamics.{kind}" for kind in ("png", "svg", "pdf")}
    assert names == {*plots, "lopes_dynamics_motions.csv", "lopes_dynamics_restitution.csv"}
    assert "Hertz in closed form" in capsys.readouterr().out
