# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A planner that queries a distance service in its own process."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from superovoid.cli import main
from superovoid.planning import (
    MotionValidator,
    PlanningError,
    PlanningProblem,
    SceneValidity,
    find_path,
    optimise_path,
)
from superovoid.robot import Robot
from superovoid.scene import Body
from superovoid.shapes import Box, Sphere
from superovoid_ros.client import RequestRefusedError
from superovoid_ros.icub import grasp_problem
from superovoid_ros.tools.service_planner import ServiceValidity, planning_service

# A ball on two slides, and an egg in its way.
URDF = """
<robot name="cart">
  <link name="world"/><link name="slide"/>
  <link name="ball"><contact_geometry><sphere radius="0.01"/></contact_geometry></link>
  <link name="egg"><contact_geometry>
    <superovoid size="0.018 0.018 0.022" epsilon="0.9 0.9" taper="0.15 0.15"/></contact_geometry></link>
  <joint name="x" type="prismatic"><parent link="world"/><child link="slide"/><axis xyz="1 0 0"/>
    <limit lower="-0.2" upper="0.2" effort="1" velocity="1"/></joint>
  <joint name="y" type="prismatic"><parent link="slide"/><child link="ball"/><axis xyz="0 1 0"/>
    <limit lower="-0.2" upper="0.2" effort="1" velocity="1"/></joint>
  <joint name="stand" type="fixed"><parent link="world"/><child link="egg"/><origin xyz="0.03 0 0"/></joint>
  <link name="post"><contact_geometry><sphere radius="0.01"/></contact_geometry></link>
  <joint name="base" type="fixed"><parent link="world"/><child link="post"/><origin xyz="0.5 0 0"/></joint>
</robot>
"""
SRDF = '<robot name="cart"><disable_collisions link1="ball" link2="egg" reason="Never"/></robot>'
ENDS = np.array([[-0.1, 0.001], [0.15, 0.0]])


@pytest.fixture(scope="module")
def problem():
    return PlanningProblem(Robot.from_urdf(URDF), ("x", "y"), {})


@pytest.fixture(scope="module")
def client_class():
    return pytest.importorskip("superovoid_ros.client", reason="no client of the distance service").DistanceClient


@pytest.fixture(scope="module")
def distances(client_class, start_node, loopback_domain):
    node = start_node("distance_service", robot_description=URDF, rate=0.0)
    node.wait_for_output("robot 'cart'")
    with client_class(timeout=60.0) as client:
        yield client


def test_answers_equal_those_of_the_scene(problem, distances):
    states = np.random.default_rng(2).uniform(*problem.limits, (50, 2))
    max_distance = np.full(50, 0.08)
    here = SceneValidity(problem).clearances(states, max_distance, gradients=True)
    there = ServiceValidity(problem, distances).clearances(states, max_distance, gradients=True)
    assert 0 < len(here.state) < 50
    np.testing.assert_array_equal(there.state, here.state)
    np.testing.assert_array_equal(there.pair, here.pair)
    np.testing.assert_allclose(there.distance, here.distance, atol=1e-9)
    np.testing.assert_allclose(there.lower, here.lower, atol=1e-9)
    np.testing.assert_allclose(there.gradient, here.gradient, atol=1e-5)


@pytest.mark.skipif(importlib.util.find_spec("ompl") is None, reason="OMPL is missing: pip install 'superovoid[plan]'")
def test_a_path_is_found_and_optimised_through_the_service(problem, distances):
    validity = ServiceValidity(problem, distances)
    assert not MotionValidator(problem, validity).check(*ENDS).valid
    found = find_path(problem, validity, *ENDS)
    path = optimise_path(problem, validity, found.shortened, margin=0.004, states=21)
    # Proved again by distances of this process.
    assert MotionValidator(problem, SceneValidity(problem)).check_path(path.states, path.floors).valid


@pytest.mark.ci
def test_bodies_and_pairs_unknown_to_the_service_are_errors(problem, distances, client_class, start_node):
    more = PlanningProblem(problem.robot, ("x", "y"), {}, obstacles=(Body("pear", "pear", Sphere(0.01)),))
    with pytest.raises(PlanningError, match=r"the service does not check .*pear"):
        ServiceValidity(more, distances)
    less = PlanningProblem(
        Robot.from_urdf(URDF.replace('name="egg"', 'name="pear"').replace('"egg"', '"pear"')), ("x", "y"), {}
    )
    with pytest.raises(PlanningError, match="a body 'egg' that the problem does not have"):
        ServiceValidity(less, distances)
    node = start_node("distance_service", "silent", robot_description=URDF, robot_description_semantic=SRDF, rate=0.0)
    node.wait_for_output("robot 'cart'")
    with (
        client_class(service="/silent", timeout=60.0) as client,
        pytest.raises(PlanningError, match=r"does not check ball, egg \(1 of 3 pairs"),
    ):
        ServiceValidity(problem, client)


# -- the hands and the egg, through a service started for them -------------------------------------------------------


@pytest.fixture(scope="module")
def hands():
    return grasp_problem.read_example()


@pytest.fixture(scope="module")
def served_validity(hands, loopback_domain):
    with planning_service(hands.problem, hands.urdf, hands.srdf) as validity:
        yield validity


@pytest.mark.ci
def test_the_started_service_answers_about_hands_and_egg_like_the_scene(hands, served_validity):
    problem, random = hands.problem, np.random.default_rng(4)
    states = hands.guess + random.uniform(-0.1, 0.1, (30, len(hands.guess)))
    max_distance = random.choice([0.0, 0.005, 0.02], 30)
    here, there = (
        v.clearances(states, max_distance, gradients=True) for v in (SceneValidity(problem), served_validity)
    )
    assert problem.is_wanted[here.pair].any() and (problem.pairs[here.pair] < len(problem.bodies) - 1).all(axis=1).any()
    np.testing.assert_array_equal(there.state, here.state)
    np.testing.assert_array_equal(there.pair, here.pair)
    # The pose of the egg is sent as a quaternion, so the bits differ.
    np.testing.assert_allclose(there.distance, here.distance, atol=1e-9)
    np.testing.assert_allclose(there.lower, here.lower, atol=1e-9)
    np.testing.assert_allclose(there.gradient, here.gradient, atol=1e-5)


def test_the_service_proves_and_refuses_motions_of_hands_like_the_scene(hands, served_validity):
    # The whole plan takes minutes: check a fifth of the way, and the straight way, which passes through the egg.
    problem, way = hands.problem, hands.guess - hands.start
    near, far = (hands.start + part * way for part in (0.2, 1.0))
    here, there = MotionValidator(problem, SceneValidity(problem)), MotionValidator(problem, served_validity)
    assert there.check(hands.start, near).valid and here.check(hands.start, near).valid
    assert not there.check(hands.start, far).valid and not here.check(hands.start, far).valid
    assert there.states == here.states


@pytest.mark.skipif(importlib.util.find_spec("ompl") is None, reason="OMPL is missing: pip install 'superovoid[plan]'")
@pytest.mark.slow
def test_the_whole_example_through_the_service_has_no_unwanted_contact(loopback_domain, tmp_path, capsys):
    assert main(["grasp", "--service", "--output", str(tmp_path)]) == 0
    assert "none in unwanted contact" in capsys.readouterr().out
    assert (tmp_path / "plan_grasp.csv").is_file()


@pytest.mark.ci
def test_a_service_that_cannot_start_reports_the_reason(problem, loopback_domain):
    crate = Body("crate", "crate", Box((0.2, 0.2, 0.2)))
    beside = PlanningProblem(problem.robot, ("x", "y"), {}, obstacles=(crate,))
    with (
        pytest.raises(ValueError, match="object 'crate': must be a superovoid, found Box"),
        planning_service(beside, URDF),
    ):
        pass
    with pytest.raises(RequestRefusedError, match="no robot: "), planning_service(problem, "<robot"):
        pass
