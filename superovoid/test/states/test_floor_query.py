# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Queries that compare each pair's distance with its own floor, against the distances themselves."""

import numpy as np
import pytest

from superovoid import Body, Box, Capsule, ConvexMesh, HalfSpace, Robot, Scene, Sphere, Superovoid, Torus
from superovoid.states import state_distances, verdicts
from superovoid.states.verdicts import BELOW, CLEAR, SHORT, FloorQuery

ROBOT = """<robot name="arm"><link name="ground"/>
  <joint name="one" type="revolute"><parent link="ground"/><child link="upper"/><origin xyz="0 0 0.3"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint><link name="upper"/>
  <joint name="two" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/>
    <axis xyz="0.6 0.8 0"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint><link name="lower"/></robot>"""
OVOID = Superovoid((0.1, 0.08, 0.15), section_exponent=0.6, profile_exponent=0.8, taper=(0.1, 0.1))
NON_CONVEX = Superovoid((0.1, 0.1, 0.1), section_exponent=1.0, profile_exponent=1.6, taper=(0.5, 0.5))
HULL = ConvexMesh(np.random.default_rng(7).normal(size=(30, 3)) * 0.08)
SHAPES = {
    "superovoids": (OVOID, OVOID, Superovoid((0.3, 0.2, 0.05), section_exponent=0.4, profile_exponent=0.4)),
    "dented": (OVOID, NON_CONVEX, NON_CONVEX),
    "convex": (Box((1.0, 1.0, 0.1)), HULL, Capsule(0.05, 0.2)),
    "all kinds": (HalfSpace(), Torus(0.1, 0.03), HULL),
}


def scene_of(kind):
    links, bodies = ("ground", "upper", "lower"), []
    for i, (link, shape) in enumerate(zip(links, SHAPES[kind], strict=True)):
        place = np.eye(4)
        place[2, 3] = 0.15 * i
        bodies.append(Body(link, link, shape, place))
    return Scene(bodies)


def floor_case(kind, count=200):
    """Return a robot, its scene, states, and floors and needed distances about as large as the distances."""
    robot, scene = Robot.from_urdf(ROBOT), scene_of(kind)
    random = np.random.default_rng(3)
    positions = random.uniform(-3, 3, (count, 2))
    floors = random.uniform(-0.02, 0.1, (count, len(scene.pairs)))
    return robot, scene, positions, floors, floors + random.uniform(0.0, 0.3, floors.shape)


def by_distances(robot, scene, positions, floors, needed):
    """Return the expected verdicts, from the proved bounds of all distances."""
    found = state_distances(robot, scene, positions)
    lower = np.full(floors.shape, np.nan)
    row = {tuple(pair): i for i, pair in enumerate(np.sort(scene.pairs, axis=1).tolist())}
    for state, a, b, value in zip(found.state, found.body_a, found.body_b, found.lower, strict=True):
        lower[state, row[min(a, b), max(a, b)]] = value
    assert not np.isnan(lower).any()
    lacks, below = ~(lower > needed), ~(lower > floors)
    return lacks, below, np.where(below.any(axis=1), BELOW, np.where(lacks.any(axis=1), SHORT, CLEAR))


@pytest.mark.parametrize("kind", SHAPES)
def test_verdicts_agree_with_the_proved_distances(kind):
    robot, scene, positions, floors, needed = floor_case(kind)
    lacks, below, expected = by_distances(robot, scene, positions, floors, needed)
    assert len(np.unique(expected)) == 3
    ask = FloorQuery(robot, scene, scene.pairs)
    for state in range(len(positions)):
        one = slice(state, state + 1)
        found = ask(positions[one], floors[one], needed[one])
        assert found.verdicts.tolist() == [expected[state]], state
        pair = found.pairs[0]
        assert (pair < 0) == (expected[state] == CLEAR)
        if pair >= 0:
            assert (below if expected[state] == BELOW else lacks)[state, pair]


@pytest.mark.parametrize("kind", SHAPES)
def test_states_end_at_the_first_below_a_floor_with_any_threads(kind):
    robot, scene, positions, floors, needed = floor_case(kind, 700)
    _, _, expected = by_distances(robot, scene, positions, floors, needed)
    above = np.flatnonzero(expected != BELOW)
    ask = FloorQuery(robot, scene, scene.pairs)
    assert np.array_equal(ask(positions[above], floors[above], needed[above]).verdicts, expected[above])
    first = int(np.flatnonzero(expected == BELOW)[0])
    for at in (0, 63, 64, min(len(above), 150)):
        rows = np.insert(above, [at, at], first)
        for threads in (1, 3):
            found = ask(positions[rows], floors[rows], needed[rows], threads=threads)
            assert np.array_equal(found.verdicts, expected[rows][: at + 1])
            assert len(found.pairs) == at + 1


def test_a_distance_equal_to_its_floor_or_undecided_is_below():
    robot = Robot.from_urdf(ROBOT)
    balls = Scene([Body("a", "ground", Sphere(0.1)), Body("b", "upper", Sphere(0.1))])  # 0.1 m apart
    boxes = Scene([Body("a", "ground", Box((0.2, 0.2, 0.3))), Body("b", "upper", Box((0.2, 0.2, 0.3)))])  # touch
    for scene, distance in ((balls, 0.1), (boxes, 0.0)):
        ask = FloorQuery(robot, scene, [[0, 1]])
        for floor, needed, expected in (
            (distance, distance, BELOW),
            (distance, distance + 0.1, BELOW),
            (distance - 1e-9, distance, SHORT),
            (distance - 1e-9, distance - 1e-9, CLEAR),
        ):
            found = ask([[0.0, 0.0]], np.array([[floor]]), np.array([[needed]]))
            assert found.verdicts.tolist() == [expected], (distance, floor, needed)


@pytest.mark.parametrize("kind", SHAPES)
def test_no_distance_is_proved_to_reach_nan(kind):
    robot, scene = Robot.from_urdf(ROBOT), scene_of(kind)
    ask, zeros = FloorQuery(robot, scene, scene.pairs), np.full((1, len(scene.pairs)), -9.0)
    for pair in range(len(scene.pairs)):
        nan = zeros.copy()
        nan[0, pair] = np.nan
        assert ask([[0.3, 0.2]], zeros, zeros).verdicts.tolist() == [CLEAR]
        for floors, expected in ((zeros, SHORT), (nan, BELOW)):
            found = ask([[0.3, 0.2]], floors, nan)
            assert (found.verdicts.tolist(), found.pairs.tolist()) == ([expected], [pair])


def test_empty_states_and_pairs_are_accepted():
    robot, scene = Robot.from_urdf(ROBOT), scene_of("convex")
    none = FloorQuery(robot, scene, np.empty((0, 2), dtype=int))
    assert none(np.zeros((3, 2)), np.empty((3, 0)), np.empty((3, 0))).verdicts.tolist() == [CLEAR] * 3
    ask = FloorQuery(robot, scene, scene.pairs)
    assert len(ask(np.empty((0, 2)), np.empty((0, 3)), np.empty((0, 3))).verdicts) == 0


def test_pairs_beyond_the_kept_ones_have_equal_verdicts(monkeypatch):
    monkeypatch.setattr(verdicts, "MOST_WARM_STARTS", 1)
    test_verdicts_agree_with_the_proved_distances("all kinds")
