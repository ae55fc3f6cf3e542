# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Threshold queries for many states: verdicts against the distances themselves."""

import threading

import numpy as np
import pytest

from superovoid import Body, Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Robot, Scene, Sphere, Superovoid, Torus
from superovoid.states import ThresholdQuery, are_states_closer, state_distances

ROBOT = """<robot name="arm"><link name="ground"/>
  <joint name="one" type="revolute"><parent link="ground"/><child link="upper"/><origin xyz="0 0 0.3"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint><link name="upper"/>
  <joint name="two" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/>
    <axis xyz="0.6 0.8 0"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint><link name="lower"/>
  <joint name="slide" type="prismatic"><parent link="lower"/><child link="tool"/><origin xyz="0 0 0.3"/>
    <axis xyz="0 0 1"/><limit lower="0" upper="0.3" effort="1" velocity="1"/></joint><link name="tool"/></robot>"""


def pose_at(x, y, z):
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def shapes_of(kind):
    rng = np.random.default_rng(7)
    hull = ConvexMesh(rng.normal(size=(30, 3)) * 0.08)
    ovoid = Superovoid((0.1, 0.08, 0.15), section_exponent=0.6, profile_exponent=0.8, taper=(0.1, 0.1))
    return {
        "hulls": (Box((1.0, 1.0, 0.1)), hull, Capsule(0.05, 0.2), Box((0.2, 0.1, 0.2)), hull),
        "superovoids": (
            ovoid,
            ovoid,
            Sphere(0.1),
            ovoid,
            Superovoid((0.3, 0.2, 0.05), section_exponent=0.4, profile_exponent=0.4),
        ),
        "all kinds": (HalfSpace(), ovoid, Cylinder(0.06, 0.2), Torus(0.1, 0.03), hull),
    }[kind]


def scene_of(kind):
    links = ("ground", "upper", "lower", "tool", "tool")
    places = (pose_at(0, 0, 0), pose_at(0, 0, 0.2), pose_at(0, 0, 0.15), pose_at(0, 0, 0.05), pose_at(0, 0.1, 0.1))
    bodies = [
        Body(f"body {i}", link, shape, place)
        for i, (link, shape, place) in enumerate(zip(links, shapes_of(kind), places, strict=True))
    ]
    return Scene(bodies)


def states(count, seed=0):
    return np.random.default_rng(seed).uniform((-3, -3, 0), (3, 3, 0.3), (count, 3))


@pytest.mark.parametrize("kind", ["hulls", "superovoids", "all kinds"])
@pytest.mark.parametrize("threshold", [0.0, 0.05, -0.01])
def test_verdicts_agree_with_the_least_distance(kind, threshold):
    robot, scene = Robot.from_urdf(ROBOT), scene_of(kind)
    positions = states(300)
    found = are_states_closer(robot, scene, positions, threshold)
    least = state_distances(robot, scene, positions, max_results=1)
    assert (least.first[1:] - least.first[:-1] == 1).all()
    assert not (found.closer & found.farther).any()
    assert (least.lower[found.closer] < threshold).all()
    assert (least.upper[found.farther] >= threshold).all()
    assert found.undecided.sum() == 0
    assert 10 < found.closer.sum() < 290
    assert found.done == len(found) == 300


@pytest.mark.parametrize("kind", ["hulls", "superovoids", "all kinds"])
def test_the_named_pair_is_closer(kind):
    robot, scene = Robot.from_urdf(ROBOT), scene_of(kind)
    positions = states(80)
    found = are_states_closer(robot, scene, positions, 0.02)
    every = state_distances(robot, scene, positions)
    for state in range(80):
        named = found.body_a[state], found.body_b[state]
        if found.farther[state]:
            assert named == (-1, -1)
            continue
        rows = slice(every.first[state], every.first[state + 1])
        pairs = list(zip(every.body_a[rows], every.body_b[rows], strict=True))
        assert every.lower[rows][pairs.index(named)] < 0.02


def test_an_undecided_pair_never_makes_a_state_free():
    # Two boxes that touch in a whole face: neither closer nor farther than 0.
    robot = Robot.from_urdf(ROBOT)
    scene = Scene(
        [Body("a", "ground", Box((0.2, 0.2, 0.2))), Body("b", "upper", Box((0.2, 0.2, 0.2)), pose_at(0, 0, -0.1))]
    )
    found = are_states_closer(robot, scene, [[0.0, 0.0, 0.0], [0.0, 1.0, 0.1]])
    assert found.undecided.all()
    assert not found.farther.any()
    assert (found.body_a.tolist(), found.body_b.tolist()) == ([0, 0], [1, 1])
    # Another overlapping body decides.
    more = Scene([*scene.bodies, Body("c", "tool", Sphere(0.8))])
    assert are_states_closer(robot, more, [[0.0, 0.0, 0.0]]).closer.tolist() == [True]


def test_answers_do_not_depend_on_threads_or_earlier_calls():
    robot, scene = Robot.from_urdf(ROBOT), scene_of("hulls")
    positions = states(1000)
    ask = ThresholdQuery(robot, scene, 0.01)
    first = ask(positions, threads=1)
    ask(states(300, seed=5))
    for threads in (1, 3):
        again = ask(positions, threads=threads)
        assert again == first


def test_only_the_selected_pairs_count():
    robot, scene = Robot.from_urdf(ROBOT), scene_of("hulls")
    positions = states(200)
    found = are_states_closer(robot, scene, positions, pairs=[[0, 3]])
    least = state_distances(robot, scene, positions, pairs=[[0, 3]])
    assert found.statistics.pairs == 1
    assert np.array_equal(found.closer, least.distance < 0.0)


def test_empty_states_and_pairs_and_early_ends_are_accepted():
    robot, scene = Robot.from_urdf(ROBOT), scene_of("hulls")
    assert len(are_states_closer(robot, scene, np.empty((0, 3)))) == 0
    free = are_states_closer(robot, scene, states(3), pairs=np.empty((0, 2), dtype=int))
    assert free.farther.all()
    ended = threading.Event()
    ended.set()
    partly = are_states_closer(robot, scene, states(600), stop=ended, threads=1)
    assert 0 < partly.done < 600
    assert partly.undecided[partly.done :].all()
    assert are_states_closer(robot, scene, states(600), deadline=1e-9, threads=1).done == partly.done


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": float("nan")}, "threshold"),
        ({"threshold": "near"}, "threshold"),
        ({"deadline": 0.0}, "deadline"),
        ({"threads": 0}, "threads"),
        ({"pairs": [[0, 0]]}, "pair"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    robot, scene = Robot.from_urdf(ROBOT), scene_of("hulls")
    with pytest.raises(ValueError, match=message):
        are_states_closer(robot, scene, states(2), **arguments)


def test_verdicts_have_columns_with_names_of_bodies():
    robot, scene = Robot.from_urdf(ROBOT), scene_of("hulls")
    found = are_states_closer(robot, scene, states(20), 0.05)
    columns = found.to_columns()
    assert columns["closer"].tolist() == found.closer.tolist() and set(found.farther) == {True, False}
    for name, index in zip(columns["name_a"], found.body_a, strict=True):
        assert name == (scene.bodies[index].name if index >= 0 else "")
    assert found._repr_html_().count("<tr>") == 6 and "and 15 more" in found._repr_html_()


def test_verdicts_have_no_truth_value():
    robot, scene = Robot.from_urdf(ROBOT), scene_of("hulls")
    with pytest.raises(TypeError, match="closer"):
        bool(are_states_closer(robot, scene, states(2)))


def test_pairs_beyond_the_kept_ones_have_equal_verdicts(monkeypatch):
    from superovoid.states import verdicts

    robot, scene = Robot.from_urdf(ROBOT), scene_of("all kinds")
    positions = states(200)
    kept = are_states_closer(robot, scene, positions, 0.03)
    monkeypatch.setattr(verdicts, "MOST_WARM_STARTS", 2)
    assert np.array_equal(are_states_closer(robot, scene, positions, 0.03).closer, kept.closer)


@pytest.mark.parametrize("kind", ["hulls", "all kinds"])
def test_a_pair_closer_in_nearly_all_states_changes_no_verdict(kind):
    robot, scene = Robot.from_urdf(ROBOT), scene_of(kind)
    positions, pairs = states(600), [(0, 2), (0, 3), (1, 3)]
    every = state_distances(robot, scene, positions, max_results=1, pairs=pairs)
    threshold = float(np.quantile(every.distance, 0.93))
    found = are_states_closer(robot, scene, positions, threshold, threads=1, pairs=pairs)
    assert (every.lower[found.closer] < threshold).all() and (every.upper[found.farther] >= threshold).all()
    assert found.closer.sum() + found.farther.sum() >= 599 and abs(found.closer.mean() - 0.93) < 0.01
    # The named pair is closer.
    all_pairs = state_distances(robot, scene, positions, pairs=pairs)
    named = (all_pairs.body_a == found.body_a[all_pairs.state]) & (all_pairs.body_b == found.body_b[all_pairs.state])
    assert np.array_equal(np.unique(all_pairs.state[named]), np.flatnonzero(found.body_a >= 0))
    assert (all_pairs.lower[named] <= threshold).all()


def test_superovoids_with_a_common_point_are_closer_than_zero():
    robot = Robot.from_urdf(
        """<robot name="two"><link name="a"/><joint name="x" type="prismatic"><parent link="a"/><child link="b"/>
        <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint><link name="b"/></robot>"""
    )
    scene = Scene([Body("a", "a", Sphere(0.15)), Body("b", "b", Sphere(0.15))], [(0, 1)])
    found = are_states_closer(robot, scene, [[0.5], [0.2], [0.25]])
    assert found.closer.tolist() == [False, True, True] and found.farther.tolist() == [True, False, False]
