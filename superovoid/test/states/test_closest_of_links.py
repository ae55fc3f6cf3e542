# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Queries for the closest bodies of each pair of links, against queries for all pairs of bodies."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Body, Box, HalfSpace, Scene, Superovoid
from superovoid.robot import Robot
from superovoid.states import StateQuery, state_distances

LINKS = 4
ROBOT = Robot.from_urdf(
    '<robot name="chain"><link name="l0"/>'
    + "".join(
        f'<link name="l{i}"/><joint name="j{i}" type="revolute"><parent link="l{i - 1}"/><child link="l{i}"/>'
        f'<origin xyz="0 0 0.25" rpy="{0.7 * i} 0 0"/><axis xyz="0 1 0"/>'
        '<limit lower="-2.5" upper="2.5" effort="1" velocity="1"/></joint>'
        for i in range(1, LINKS)
    )
    + "</robot>"
)


def scene(kinds):
    """Return three overlapping bodies per link, and bodies next to the robot."""
    rng = np.random.default_rng(5)
    bodies = []
    for i in range(LINKS):
        for k in range(3):
            pose = np.eye(4)
            pose[:3, :3] = Rotation.random(random_state=10 * i + k).as_matrix()
            pose[:3, 3] = rng.uniform(-0.06, 0.06, 3)
            pose[2, 3] += 0.1 * k
            size = rng.uniform(0.03, 0.1, 3)
            shape = Superovoid.from_goncalves(size, rng.uniform(0.2, 1.2, 2), (0.1, 0.1))
            bodies.append(Body(f"b{i}{k}", f"l{i}", Box(2.0 * size) if kinds and k == 1 else shape, pose))
    if kinds:
        bodies += [Body("floor", "world", HalfSpace()), Body("post", "world", Box((0.1, 0.1, 0.8)))]
    made = Scene(bodies)
    if kinds:
        pose = np.eye(4)
        pose[2, 3] = -0.2
        made.set_link_pose("world", pose)
    return made


def states(count):
    return np.random.default_rng(1).uniform(-2.5, 2.5, (count, LINKS - 1))


def groups_of(made, found, state):
    """Return the rows of a state by pairs of links."""
    rows = range(found.first[state], found.first[state + 1])
    groups = {}
    for row in rows:
        links = frozenset(made.bodies[int(body)].link for body in (found.body_a[row], found.body_b[row]))
        groups.setdefault(links, []).append(row)
    return groups


@pytest.mark.parametrize("kinds", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "options", [{}, {"max_distance": 0.05}, {"overlapping_only": True}], ids=["all", "near", "overlaps"]
)
def test_each_pair_of_links_has_the_closest_pair_of_their_bodies(kinds, options):
    made, positions = scene(kinds), states(70)
    every = state_distances(ROBOT, made, positions, gradients=True, **options)
    found = state_distances(ROBOT, made, positions, gradients=True, closest_of_links=True, **options)
    assert found.done == len(positions) and 70 < len(found) < len(every)
    for state in range(len(positions)):
        expected, own = groups_of(made, every, state), groups_of(made, found, state)
        assert own.keys() == expected.keys() and all(len(rows) == 1 for rows in own.values())
        distances = found.distance[found.first[state] : found.first[state + 1]]
        assert (np.diff(distances) >= 0.0).all()
        for links, (row,) in own.items():
            rows = expected[links]
            best = rows[int(np.argmin(every.distance[rows]))]
            # Two certified answers from different starts.
            assert found.distance[row] == pytest.approx(every.distance[best], abs=1e-6)
            assert found.lower[row] <= every.upper[best] and found.lower[row] <= every.upper[rows].min()
            same = (every.body_a[rows] == found.body_a[row]) & (every.body_b[rows] == found.body_b[row])
            (twin,) = np.asarray(rows)[same]
            if found.differentiable[row] and every.differentiable[twin]:
                np.testing.assert_allclose(found.gradients[row], every.gradients[twin], atol=1e-4)
    assert found.statistics.solved.sum() < (0.6 if not options else 1.0) * every.statistics.solved.sum()


def test_answers_do_not_depend_on_threads_memory_or_order_of_pairs():
    made, positions = scene(False), states(150)
    ask = StateQuery(ROBOT, made, closest_of_links=True)
    whole = ask(positions, threads=1)
    for other in (
        ask(positions, threads=2),
        ask(positions, max_rows=10**9),  # memory that grows
        StateQuery(ROBOT, made, closest_of_links=True, pairs=made.pairs[::-1])(positions),
    ):
        for name in ("distance", "lower", "upper", "point_a", "body_a", "body_b", "first"):
            np.testing.assert_array_equal(getattr(other, name), getattr(whole, name), err_msg=name)
        np.testing.assert_array_equal(other.statistics.solved, whole.statistics.solved)


def test_max_results_is_refused_and_an_empty_list_of_pairs_accepted():
    with pytest.raises(ValueError, match="max_results = 3: with closest_of_links"):
        state_distances(ROBOT, scene(False), states(2), closest_of_links=True, max_results=3)
    none = state_distances(ROBOT, scene(False), states(2), closest_of_links=True, pairs=np.empty((0, 2), int))
    assert len(none) == 0 and none.done == 2
