# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pairs of many states in SIMD lanes: lanes answer them, and each answer depends only on its pair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Body, Box, Cylinder, Scene, Superovoid, distance
from superovoid.robot import Robot
from superovoid.scene.solving import BEYOND, CLOSED
from superovoid.shapes import Shape
from superovoid.states import StateQuery, state_distances
from superovoid.states import query as state_query
from superovoid.testing import independent

LINKS = 4
ROBOT = Robot.from_urdf(
    '<robot name="chain"><link name="l0"/>'
    + "".join(
        f'<link name="l{i}"/><joint name="j{i}" type="revolute"><parent link="l{i - 1}"/><child link="l{i}"/>'
        f'<origin xyz="0 0 0.3" rpy="{0.7 * i} 0 0"/><axis xyz="0 1 0"/>'
        '<limit lower="-2.5" upper="2.5" effort="1" velocity="1"/></joint>'
        for i in range(1, LINKS)
    )
    + "</robot>"
)
FREE = Robot.from_urdf(
    '<robot name="two"><link name="solid"/><joint name="free" type="floating"><parent link="solid"/><child link="egg"/>'
    '</joint><link name="egg"/></robot>'
)


def random_pose(rng: np.random.Generator, offset: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(rng=rng).as_matrix()
    pose[:3, 3] = offset
    return pose


def thin_rims() -> Scene:
    """Return a scene with bodies as in fits of links: nearly cylinders, and boxes."""
    rng = np.random.default_rng(5)
    bodies = []
    for i in range(LINKS):
        for k in range(3):
            size = rng.uniform(0.03, 0.08, 3)
            shape: Shape = Superovoid(size, section_exponent=rng.uniform(0.6, 1.1), profile_exponent=0.04 * (k + 1))
            shape = Box(2.0 * size) if k == 2 else shape
            bodies.append(Body(f"b{i}{k}", f"l{i}", shape, random_pose(rng, rng.uniform(-0.05, 0.05, 3))))
    return Scene(bodies)


def states(count: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-2.5, 2.5, (count, LINKS - 1))


@pytest.mark.parametrize("options", [{}, {"closest_of_links": True}], ids=["all pairs", "closest of links"])
def test_lanes_answer_nearly_all_their_pairs(options):
    ask = StateQuery(ROBOT, thin_rims(), **options)
    found = ask(states(64), threads=1)
    memory, _ = state_query._IDLE[True].take(lambda _: True)
    stages = memory.rows.stages[: memory.first[-1]]
    ends = np.bincount(stages, minlength=8)
    asked = ends[CLOSED:].sum()
    assert asked > 200 and len(memory.world.rounding) > 1
    assert ends[CLOSED] + ends[BEYOND] > 0.9 * asked
    if options:
        # Bounds keep most other pairs of two links from lanes.
        assert asked < 0.5 * len(stages)
        assert ends[BEYOND] > 0 and (found.statistics.bounded > 0).any()


@pytest.mark.parametrize("options", [{}, {"closest_of_links": True}], ids=["all pairs", "closest of links"])
def test_order_and_number_of_states_change_no_bit_of_lanes(options):
    made, positions = thin_rims(), states(150)
    whole = state_distances(ROBOT, made, positions, **options)
    order = np.random.default_rng(2).permutation(len(positions))
    shuffled = state_distances(ROBOT, made, positions[order], **options)
    compared = 0
    for place, state in enumerate(order):
        found, expected = shuffled.of_state(place), whole.of_state(int(state))
        np.testing.assert_array_equal(found.body_a, expected.body_a)
        np.testing.assert_array_equal(found.body_b, expected.body_b)
        boxes = [isinstance(made.bodies[int(b)].shape, Box) for b in np.c_[found.body_a, found.body_b].ravel()]
        by_lanes = (expected.distance > 1e-3) & ~np.reshape(boxes, (-1, 2)).any(axis=1)
        same = (found.distance == expected.distance) & (found.point_a == expected.point_a).all(axis=1)
        assert (found.lower <= expected.upper).all() and (expected.lower <= found.upper).all()
        compared += int((same & by_lanes).sum())
        assert (same & by_lanes).sum() >= 0.8 * by_lanes.sum()
    assert compared > 100
    alone = state_distances(ROBOT, made, positions[7:8], **options)
    np.testing.assert_allclose(alone.distance, whole.of_state(7).distance, rtol=0, atol=1e-9)


def single_question(made: Scene, poses: list[np.ndarray], a: int, b: int):
    return distance(made.bodies[a].shape, poses[a], made.bodies[b].shape, poses[b])


@pytest.mark.parametrize("options", [{}, {"closest_of_links": True}], ids=["all pairs", "closest of links"])
def test_answers_of_many_states_agree_with_single_queries(options):
    made, positions = thin_rims(), states(20)
    found = state_distances(ROBOT, made, positions, **options)
    for s, row in enumerate(positions):
        placed = ROBOT.forward_kinematics(dict(zip(ROBOT.joint_names, row, strict=True)))
        poses = [placed[body.link] @ body.link_from_body for body in made.bodies]
        least: dict[frozenset[str], float] = {}
        one = found.of_state(s)
        for k in range(len(one)):
            a, b = int(one.body_a[k]), int(one.body_b[k])
            single = single_question(made, poses, a, b)
            assert one.lower[k] <= single.upper and single.lower <= one.upper[k]
            assert one.status[k] == single.status
        if options:
            for a, b in made.pairs:
                single = single_question(made, poses, a, b)
                links = frozenset((made.bodies[a].link, made.bodies[b].link))
                least[links] = min(least.get(links, np.inf), single.distance)
            np.testing.assert_allclose(one.distance, np.sort(list(least.values())), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["box", "cylinder"])
def test_superovoids_have_their_distance_from_faces_edges_corners_and_rims(kind):
    rng = np.random.default_rng(3)
    half, size = np.array([0.1, 0.05, 0.02]), np.array([0.06, 0.09, 0.12])
    solid: Shape = Box(2.0 * half) if kind == "box" else Cylinder(0.08, 0.06)
    egg = Superovoid(size, section_exponent=0.7, profile_exponent=0.5, taper=(0.2, 0.2))
    scene = Scene([Body("solid", "solid", solid), Body("egg", "egg", egg)])
    poses = np.array([random_pose(rng, rng.normal(size=3) * 0.3) for _ in range(300)])
    ask = StateQuery(FREE, scene)
    found = ask(np.empty((len(poses), 0)), base_poses={"egg": poses}, threads=1)
    row = np.array([[*size, 0.7, 0.5, 0.2, 0.2]])
    features = np.zeros(4, dtype=int)
    for s in np.flatnonzero(found.distance > 1e-6):
        point, n = found.point_a[s], found.normal[s]
        assert np.linalg.norm(found.point_b[s] - point) == pytest.approx(found.distance[s], abs=1e-9)
        if kind == "box":
            sides = np.abs(np.abs(point) - half) < 1e-9
            own = np.abs(n) @ half
        else:
            sides = np.abs([np.hypot(point[0], point[1]) - 0.08, abs(point[2]) - 0.03]) < 1e-9
            own = 0.08 * np.hypot(n[0], n[1]) + 0.03 * abs(n[2])
        features[int(sides.sum())] += 1
        # Every direction gives a lower bound; the result's is tight up to the interval.
        reach, _ = independent.support(row, -n[None] @ poses[s, :3, :3])
        assert n @ poses[s, :3, 3] - own - reach[0] == pytest.approx(found.distance[s], abs=1e-9)
    assert features[0] == 0 and (features[1 : 4 if kind == "box" else 3] > 5).all()
