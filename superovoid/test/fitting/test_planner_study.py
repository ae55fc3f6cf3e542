# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Differences of bodies and meshes in random states: counts, intervals and depths with known values."""

import numpy as np
import pytest
import trimesh

from superovoid.fitting import PairSearch, fit_robot, fitted_pairs, planner_study, study_planner
from superovoid.fitting.planner_study import TimedQuery, share_of, timed_in_turns
from superovoid.fitting.stand_ins import random_states, robots_of


@pytest.mark.parametrize(("count", "states"), [(0, 100), (1, 100), (37, 200), (99, 100), (100, 100)])
def test_share_interval_is_clopper_pearson(count, states):
    from scipy.stats import binom  # imported here because the import is slow

    # Clopper and Pearson: at the ends, a count at least as large, or as small, has a probability of 2.5 %.
    found, low, high = share_of(count, states)
    assert found == count and low <= count / states <= high
    assert low == 0.0 if count == 0 else binom.sf(count - 1, states, low) == pytest.approx(0.025)
    assert high == 1.0 if count == states else binom.cdf(count, states, high) == pytest.approx(0.025)


def slide(tmp_path, upper):
    """Return a URDF of two cubes on a slide, not adjacent because of a link between them, and the mesh's folder."""
    trimesh.creation.box((0.2, 0.2, 0.2)).export(tmp_path / "cube.stl")
    mesh = '<geometry><mesh filename="package://pkg/cube.stl"/></geometry>'
    text = (
        f'<robot name="r"><link name="a"><collision>{mesh}</collision></link><link name="m"><collision><origin '
        'xyz="0 0 5"/><geometry><sphere radius="0.1"/></geometry></collision></link>'
        f'<link name="b"><collision>{mesh}</collision></link>'
        '<joint name="s" type="prismatic"><parent link="a"/><child link="m"/><axis xyz="1 0 0"/>'
        f'<limit lower="{-upper}" upper="{upper}" effort="1" velocity="1"/></joint>'
        '<joint name="f" type="fixed"><parent link="m"/><child link="b"/></joint></robot>'
    )
    return text, {"pkg": tmp_path}


def test_overlaps_of_a_slide_are_counted_exactly(tmp_path):
    text, folders = slide(tmp_path, 1.0)
    # The fitted capsules differ in size from the cubes.
    fit = fit_robot(text, package_directories=folders, bodies=1, kinds=("capsule",))
    study = study_planner(fit, '<robot name="r"/>', package_directories=folders, states=2000, seed=3)
    capsule = fit.links[0].bodies[0]
    positions = np.random.default_rng(3).uniform(-1.0, 1.0, 2000)
    positions = np.abs(positions)
    assert study.whole.colliding == int((positions < 0.2).sum())
    (pair,) = study.pairs
    assert (pair.link_a, pair.link_b) == ("a", "b") and study.pairs_checked == 1
    lower, upper = capsule.shape.aabb(capsule.pose[:3, :3])
    # Both links have the same body, so along x they meet at a distance of at most its width.
    width = float((upper - lower)[0])
    positive, negative = pair.false_positive[0], pair.false_negative[0]
    assert positive <= int(((positions >= 0.2) & (positions < width)).sum())
    assert positive + negative > 0
    assert pair.missed_depth <= 0.2
    assert study.left_out == () and study.whole.undecided == pair.undecided == 0


@pytest.mark.slow
def test_pairs_overlapping_at_default_are_excluded_without_srdf(tmp_path):
    text, folders = slide(tmp_path, 1.0)
    fit = fit_robot(text, package_directories=folders, bodies=1, kinds=("capsule",))
    study = study_planner(fit, package_directories=folders, states=50)
    assert study.left_out == (("a", "b"),) and study.pairs_checked == 0 and study.whole.colliding == 0
    assert not study.pairs and not study.speeds
    # The default of this slide is the middle of its limits, with the cubes apart.
    text = text.replace('lower="-1.0"', 'lower="0.1"')
    fit = fit_robot(text, package_directories=folders, bodies=1, kinds=("capsule",))
    study = study_planner(fit, package_directories=folders, states=200)
    assert study.left_out == () and study.pairs_checked == 1 and study.whole.colliding > 0
    assert {speed.query.pairs for speed in study.speeds} == {1}


@pytest.mark.ci
def test_pairs_nearly_always_overlapping_are_excluded_without_srdf(tmp_path):
    text, folders = slide(tmp_path, 1.0)
    # At the default of the slide the rod ends 10 mm from the cube; then it goes through the cube.
    trimesh.creation.box((2.0, 0.1, 0.1), trimesh.transformations.translation_matrix((-1.11, 0.0, 0.0))).export(
        tmp_path / "rod.stl"
    )
    first, last = text.rsplit("cube.stl", 1)
    text = f"{first}rod.stl{last}"
    for lower, dropped in ((0.0, (("a", "b"),)), (-1.0, ())):
        fit = fit_robot(
            text.replace('lower="-1.0"', f'lower="{lower}"'), package_directories=folders, bodies=1, kinds=("box",)
        )
        study = study_planner(fit, package_directories=folders, states=200)
        assert study.left_out == dropped and study.pairs_checked == 1 - len(dropped)


def test_speeds_reflect_the_calls():
    counts = []

    def stay_busy(states):
        counts.append(states)
        sum(i * i for i in range(2_000 * states))

    calls = {
        TimedQuery("any overlap", "one", 1, 1): stay_busy,
        TimedQuery("any overlap", "nothing", 1, 1): lambda states: None,
    }
    speeds = {speed.query.who: speed for speed in timed_in_turns(calls, 12)}
    assert speeds["nothing"].per_second > speeds["one"].per_second > 0.0
    assert speeds["one"].states == speeds["nothing"].states == counts[-1] == 12


def test_slow_calls_are_timed_on_fewer_states(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(planner_study.time, "process_time", lambda: clock[0])
    counts = []

    def slow(states):
        counts.append(states)
        clock[0] += 0.1 * states

    (speed,) = timed_in_turns({TimedQuery("all distances", "the meshes", 1, 1): slow}, 500)
    assert speed.states == counts[-1] == 20 and speed.per_second == pytest.approx(10.0)


@pytest.mark.slow
def test_crossing_open_meshes_collide(tmp_path):
    # An open surface has no inside: crossing it gives distance zero and no depth.
    box = trimesh.creation.box((0.2, 0.2, 0.2))
    text, folders = slide(tmp_path, 1.0)
    trimesh.Trimesh(box.vertices, box.faces[:-2]).export(tmp_path / "cube.stl")
    fit = fit_robot(text, package_directories=folders, bodies=1, kinds=("box",))
    study = study_planner(fit, '<robot name="r"/>', package_directories=folders, states=300)
    positions = np.abs(random_states(robots_of(fit, folders)[1], 300, 0)[:, 0])
    assert study.whole.colliding == int((positions < 0.2).sum()) > 0
    assert study.whole.undecided == 0
    # At the default the walls of both meshes coincide, so the fit adds no collision.
    report = fitted_pairs(fit, package_directories=folders, search=PairSearch(states=50)).report
    assert not report.new_collisions
    assert {(pair.link_a, pair.link_b): pair.reason for pair in report.pairs}["a", "b"] == "Default"


def test_flat_mesh_without_hull_is_studied(tmp_path):
    text, folders = slide(tmp_path, 1.0)
    corners = [(-0.1, -0.1, 0.0), (0.1, -0.1, 0.0), (-0.1, 0.1, 0.0), (0.1, 0.1, 0.0)]
    trimesh.Trimesh(corners, [(0, 1, 2), (1, 3, 2)]).export(tmp_path / "flat.stl")
    text = text.replace("cube.stl", "flat.stl", 1)
    fit = fit_robot(text, package_directories=folders, bodies=1, kinds=("box",))
    study = study_planner(fit, '<robot name="r"/>', package_directories=folders, states=200)
    positions = np.abs(random_states(robots_of(fit, folders)[1], 200, 0)[:, 0])
    assert study.whole.colliding == int((positions < 0.2).sum()) > 0
    assert not fitted_pairs(fit, package_directories=folders, search=PairSearch(states=20)).report.new_collisions
