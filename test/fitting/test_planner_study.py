# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where bodies and meshes disagree: counts, intervals and depths that can be had another way."""

import numpy as np
import pytest
import trimesh

from superovoid_ros.fitting import fit_robot, study_planner
from superovoid_ros.fitting.planner_study import share_of, timed_in_turns


@pytest.mark.parametrize(("count", "states"), [(0, 100), (1, 100), (37, 200), (99, 100), (100, 100)])
def test_ends_of_the_interval_are_where_the_count_is_just_unlikely(count, states):
    from scipy.stats import binom  # late: every process imports this file, and scipy.stats takes long

    # Clopper and Pearson: at an end, as many or more, or as few or fewer, have a chance of 2.5 %.
    found, low, high = share_of(count, states)
    assert found == count and low <= count / states <= high
    assert low == 0.0 if count == 0 else binom.sf(count - 1, states, low) == pytest.approx(0.025)
    assert high == 1.0 if count == states else binom.cdf(count, states, high) == pytest.approx(0.025)


def test_states_in_which_a_slide_overlaps_are_counted_as_they_must_be(tmp_path):
    trimesh.creation.box((0.2, 0.2, 0.2)).export(tmp_path / "cube.stl")
    mesh = '<geometry><mesh filename="package://pkg/cube.stl"/></geometry>'
    # Two cubes on a slide, with a link between so that no joint connects them.
    text = (
        f'<robot name="r"><link name="a"><collision>{mesh}</collision></link><link name="m"><collision><origin '
        'xyz="0 0 5"/><geometry><sphere radius="0.1"/></geometry></collision></link>'
        f'<link name="b"><collision>{mesh}</collision></link>'
        '<joint name="s" type="prismatic"><parent link="a"/><child link="m"/><axis xyz="1 0 0"/>'
        '<limit lower="0" upper="1" effort="1" velocity="1"/></joint>'
        '<joint name="f" type="fixed"><parent link="m"/><child link="b"/></joint></robot>'
    )
    folders = {"pkg": tmp_path}
    # Cubes and a ball of the volume's like: a body of another size is a capsule here.
    fit = fit_robot(text, package_directories=folders, bodies=1, kinds=("capsule",))
    study = study_planner(fit, package_directories=folders, states=2000, seed=3)
    capsule = fit.links[0].bodies[0]
    positions = np.random.default_rng(3).uniform(0.0, 1.0, 2000)
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


def test_times_are_those_of_the_calls():
    def busy():
        sum(i * i for i in range(20_000))

    calls = {("any overlap", "one"): busy, ("any overlap", "nothing"): lambda: None}
    speeds = {speed.who: speed.per_second for speed in timed_in_turns(calls, 10)}
    assert speeds["nothing"] > speeds["one"] > 0.0
