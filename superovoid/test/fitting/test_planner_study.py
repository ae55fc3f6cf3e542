# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where bodies and meshes disagree: counts, intervals and depths that can be had another way."""

import numpy as np
import pytest
import trimesh

from superovoid.fitting import PairSearch, fit_robot, fitted_pairs, planner_study, study_planner
from superovoid.fitting.planner_study import Asked, share_of, timed_in_turns
from superovoid.fitting.stand_ins import random_states, robots_of


@pytest.mark.parametrize(("count", "states"), [(0, 100), (1, 100), (37, 200), (99, 100), (100, 100)])
def test_ends_of_the_interval_are_where_the_count_is_just_unlikely(count, states):
    from scipy.stats import binom  # late: every process imports this file, and scipy.stats takes long

    # Clopper and Pearson: at an end, as many or more, or as few or fewer, have a chance of 2.5 %.
    found, low, high = share_of(count, states)
    assert found == count and low <= count / states <= high
    assert low == 0.0 if count == 0 else binom.sf(count - 1, states, low) == pytest.approx(0.025)
    assert high == 1.0 if count == states else binom.cdf(count, states, high) == pytest.approx(0.025)


def slide(tmp_path, upper):
    """Two cubes on a slide, with a link between so that no joint connects them, and the folder of their mesh."""
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


def test_states_in_which_a_slide_overlaps_are_counted_as_they_must_be(tmp_path):
    text, folders = slide(tmp_path, 1.0)
    # Cubes and a ball of the volume's like: a body of another size is a capsule here.
    fit = fit_robot(text, package_directories=folders, bodies=1, kinds=("capsule",))
    study = study_planner(fit, '<robot name="r"/>', package_directories=folders, states=2000, seed=3)
    capsule = fit.links[0].bodies[0]
    positions = np.random.default_rng(3).uniform(-1.0, 1.0, 2000)
    positions = np.abs(positions)
    assert study.whole.colliding == int((positions < 0.2).sum())
    (pair,) = study.pairs
    assert (pair.link_a, pair.link_b) == ("a", "b") and study.pairs_checked == 1
    lower, upper = capsule.shape.aabb(capsule.pose[:3, :3])
    # Both have the same body, so along x it meets its like at one width, or before.
    width = float((upper - lower)[0])
    positive, negative = pair.false_positive[0], pair.false_negative[0]
    assert positive <= int(((positions >= 0.2) & (positions < width)).sum())
    assert positive + negative > 0
    assert pair.missed_depth <= 0.2
    assert study.left_out == () and study.whole.undecided == pair.undecided == 0


@pytest.mark.slow
def test_without_an_srdf_what_overlaps_at_the_default_is_left_out_and_told(tmp_path):
    text, folders = slide(tmp_path, 1.0)
    fit = fit_robot(text, package_directories=folders, bodies=1, kinds=("capsule",))
    study = study_planner(fit, package_directories=folders, states=50)
    assert study.left_out == (("a", "b"),) and study.pairs_checked == 0 and study.whole.colliding == 0
    assert not study.pairs and not study.speeds
    # A slide whose default is the middle of its limits, where the cubes are apart.
    text = text.replace('lower="-1.0"', 'lower="0.1"')
    fit = fit_robot(text, package_directories=folders, bodies=1, kinds=("capsule",))
    study = study_planner(fit, package_directories=folders, states=200)
    assert study.left_out == () and study.pairs_checked == 1 and study.whole.colliding > 0
    assert {speed.asked.pairs for speed in study.speeds} == {1}


def test_without_an_srdf_what_nearly_always_overlaps_is_left_out_and_told(tmp_path):
    text, folders = slide(tmp_path, 1.0)
    # A rod that comes from 10 mm beside the cube, where the slide is at its default, and then goes through it.
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


def test_times_are_those_of_the_calls():
    asked_of = []

    def busy(states):
        asked_of.append(states)
        sum(i * i for i in range(2_000 * states))

    calls = {Asked("any overlap", "one", 1, 1): busy, Asked("any overlap", "nothing", 1, 1): lambda states: None}
    speeds = {speed.asked.who: speed for speed in timed_in_turns(calls, 12)}
    assert speeds["nothing"].per_second > speeds["one"].per_second > 0.0
    assert speeds["one"].states == speeds["nothing"].states == asked_of[-1] == 12


def test_slow_calls_are_timed_on_fewer_states(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(planner_study.time, "process_time", lambda: clock[0])
    asked_of = []

    def slow(states):
        asked_of.append(states)
        clock[0] += 0.1 * states

    (speed,) = timed_in_turns({Asked("all distances", "the meshes", 1, 1): slow}, 500)
    assert speed.states == asked_of[-1] == 20 and speed.per_second == pytest.approx(10.0)


@pytest.mark.slow
def test_triangles_that_do_not_close_and_cross_are_a_collision(tmp_path):
    # A surface has no inside: what crosses it is at distance zero, and nothing says how deep.
    box = trimesh.creation.box((0.2, 0.2, 0.2))
    text, folders = slide(tmp_path, 1.0)
    trimesh.Trimesh(box.vertices, box.faces[:-2]).export(tmp_path / "cube.stl")
    fit = fit_robot(text, package_directories=folders, bodies=1, kinds=("box",))
    study = study_planner(fit, '<robot name="r"/>', package_directories=folders, states=300)
    positions = np.abs(random_states(robots_of(fit, folders)[1], 300, 0)[:, 0])
    assert study.whole.colliding == int((positions < 0.2).sum()) > 0
    assert study.whole.undecided == 0
    # At the default all of their walls lie in one another: the fit brings no new collision.
    report = fitted_pairs(fit, package_directories=folders, search=PairSearch(states=50)).report
    assert not report.new_collisions
    assert {(pair.link_a, pair.link_b): pair.reason for pair in report.pairs}["a", "b"] == "Default"


def test_a_flat_mesh_has_no_hull_and_is_looked_at_as_it_is(tmp_path):
    text, folders = slide(tmp_path, 1.0)
    corners = [(-0.1, -0.1, 0.0), (0.1, -0.1, 0.0), (-0.1, 0.1, 0.0), (0.1, 0.1, 0.0)]
    trimesh.Trimesh(corners, [(0, 1, 2), (1, 3, 2)]).export(tmp_path / "flat.stl")
    text = text.replace("cube.stl", "flat.stl", 1)
    fit = fit_robot(text, package_directories=folders, bodies=1, kinds=("box",))
    study = study_planner(fit, '<robot name="r"/>', package_directories=folders, states=200)
    positions = np.abs(random_states(robots_of(fit, folders)[1], 200, 0)[:, 0])
    assert study.whole.colliding == int((positions < 0.2).sum()) > 0
    assert not fitted_pairs(fit, package_directories=folders, search=PairSearch(states=20)).report.new_collisions
