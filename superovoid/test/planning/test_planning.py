# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planning: proved motions, grasps, paths and the search, checked against samples and independent bounds."""

import importlib.util
import sys
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("urchin", reason="urchin is missing: pip install 'superovoid[plan]'")

from superovoid import Box, Sphere, Superellipsoid, Superovoid
from superovoid.planning import (
    BaseJoint,
    MotionValidator,
    PlanningError,
    PlanningProblem,
    SceneValidity,
    find_path,
    grasp,
    optimise_path,
    retreat,
    with_base_joints,
)
from superovoid.planning.optimise import KEPT
from superovoid.planning.trail import densify, trail
from superovoid.planning.validity import verdicts_of
from superovoid.robot import Robot
from superovoid.robot.errors import RobotDescriptionError
from superovoid.scene import Body, Scene
from superovoid.states.verdicts import BELOW, SHORT
from superovoid.testing.path_check import check_path, link_poses

from hands import URDF

# A rotating gripper on two slides; its two fingers close together.
GRIPPER = """
<robot name="gripper">
  <link name="world"/>
  <link name="slide"/>
  <link name="carriage"/>
  <link name="palm"><contact_geometry>
    <superellipsoid size="0.01 0.03 0.01" epsilon="0.5 0.5"/></contact_geometry></link>
  <link name="upper"><contact_geometry><origin xyz="0.02 0 0"/>
    <superellipsoid size="0.02 0.004 0.004" epsilon="0.6 0.8"/></contact_geometry></link>
  <link name="lower"><contact_geometry><origin xyz="0.02 0 0"/>
    <superovoid size="0.004 0.004 0.02" epsilon="0.8 0.6" taper="0.1 0.1"/></contact_geometry></link>
  <joint name="x" type="prismatic"><parent link="world"/><child link="slide"/><axis xyz="1 0 0"/>
    <limit lower="-0.2" upper="0.2" effort="1" velocity="1"/></joint>
  <joint name="y" type="prismatic"><parent link="slide"/><child link="carriage"/><axis xyz="0 1 0"/>
    <limit lower="-0.2" upper="0.2" effort="1" velocity="1"/></joint>
  <joint name="turn" type="revolute"><parent link="carriage"/><child link="palm"/><axis xyz="0 0 1"/>
    <limit lower="-1.5" upper="1.5" effort="1" velocity="1"/></joint>
  <joint name="close" type="revolute"><parent link="palm"/><child link="upper"/><origin xyz="0.015 0.03 0"/>
    <axis xyz="0 0 -1"/><limit lower="-0.5" upper="0.8" effort="1" velocity="1"/></joint>
  <joint name="close_too" type="revolute"><parent link="palm"/><child link="lower"/><origin xyz="0.015 -0.03 0"/>
    <axis xyz="0 0 1"/><limit lower="-0.5" upper="0.8" effort="1" velocity="1"/><mimic joint="close"/></joint>
</robot>
"""
JOINTS = "x", "y", "turn", "close"
CLEARANCE, MARGIN = 0.001, 0.005


def at(x, y, z=0.0):
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


EGG = Body(
    "egg",
    "egg",
    Superovoid((0.018, 0.018, 0.022), section_exponent=0.9, profile_exponent=0.9, taper=(0.15, 0.15)),
    at(0.05, 0.0),
)
PLATE = Body(
    "plate", "plate", Superellipsoid((0.0005, 0.3, 0.3), section_exponent=0.2, profile_exponent=0.2), at(0.07, 0.0)
)
GRASP = ("upper", "egg"), ("lower", "egg")


def problem_of(*obstacles, **options):
    options = {"clearance": CLEARANCE, **options}
    return PlanningProblem(Robot.from_urdf(GRIPPER), JOINTS, {}, obstacles=obstacles, **options)


@pytest.fixture(scope="module")
def around_egg():
    """Return a problem without wanted contact: a path from one side of the egg to the other."""
    return problem_of(EGG)


@pytest.fixture(scope="module")
def hands():
    return pytest.importorskip("superovoid_ros.icub.grasp_problem").read_example()


ACROSS = np.array([[0.03, -0.12, 0.0, 0.0], [0.03, 0.13, 0.5, 0.2]])
DETOUR = np.array([ACROSS[0], [-0.12, -0.1, 0.0, 0.0], [-0.12, 0.12, 0.2, 0.1], ACROSS[1]])


def minimum_distances(problem, states):
    """Return the minimum distance in each state, from a separate scene."""
    scene, still = Scene(problem.bodies, problem.pairs), {body.link: np.eye(4) for body in problem.obstacles}
    result = []
    for state in states:
        scene.set_link_poses({**problem.robot.forward_kinematics(problem.positions_at(state)), **still})
        result.append(scene.query(max_results=1).distance[0])
    return np.array(result)


# -- motions --------------------------------------------------------------------------------------------------------


def test_a_thin_plate_is_not_tunnelled_through():
    problem = problem_of(PLATE)
    validator = MotionValidator(problem, SceneValidity(problem))
    for x in (0.12, 0.15, 0.2):
        before, after = np.array([-0.05, 0.0, 0.0, 0.0]), np.array([x, 0.0, 0.0, 0.0])
        assert validator.check_state(before).valid and validator.check_state(after).valid
        check = validator.check(before, after)
        assert not check.valid
        assert "plate" in problem.name_of(check.pair)
    assert validator.check(before, [-0.05, 0.1, 0.4, 0.3]).valid


def test_proved_motions_are_free_and_rejected_ones_have_a_witness(around_egg):
    problem, random = around_egg, np.random.default_rng(5)
    validator = MotionValidator(problem, SceneValidity(problem))
    proved = refused = 0
    while min(proved, refused) < 12:
        ends = random.uniform(*problem.limits, (2, 4))
        if not all(validator.check_state(state).valid for state in ends):
            continue
        check = validator.check(*ends)
        if check.valid:
            proved += 1
            assert minimum_distances(problem, densify(problem, ends, problem.length(ends) / 300)).min() > CLEARANCE
        else:
            refused += 1
            # Rejected for a real violation, or within a micrometre of the floor.
            assert minimum_distances(problem, [check.state])[0] < CLEARANCE + 2e-5


def test_a_motion_at_exactly_the_floor_is_rejected():
    # The palm passes at exactly the clearance, so no finite number of states can prove it.
    ball = Body("ball", "ball", Sphere(0.02), at(0.0, 0.05 + CLEARANCE))
    problem = problem_of(ball, ranges={"turn": (-0.1, 0.1)})
    check = MotionValidator(problem, SceneValidity(problem)).check([-0.2, 0.0, 0.0, 0.0], [0.1, 0.0, 0.0, 0.0])
    assert not check.valid
    assert check.statistics.states < 20_000


def test_states_outside_the_limits_are_not_valid(around_egg):
    check = MotionValidator(around_egg, SceneValidity(around_egg)).check([0.0, -0.12, 0.0, 0.0], [0.0, -0.3, 0.0, 0.0])
    assert not check.valid and check.pair is None


def test_a_path_is_checked_against_the_floors_of_its_motions(around_egg):
    validator = MotionValidator(around_egg, SceneValidity(around_egg))
    high = np.full((3, len(around_egg.pairs)), CLEARANCE)
    assert validator.check_path(DETOUR, high).valid
    high[1] = 0.5
    assert not validator.check_path(DETOUR, high).valid
    with pytest.raises(ValueError, match=r"floors: shape \(2, \d+\), expected \(3, \d+\)"):
        validator.check_path(DETOUR, high[:2])


@pytest.mark.parametrize(
    ("name", "path", "floor"), [("state", [DETOUR[0], np.full(4, np.nan)], CLEARANCE), ("floors", DETOUR[:2], np.nan)]
)
def test_a_nan_is_refused_by_name(around_egg, name, path, floor):
    validator = MotionValidator(around_egg, SceneValidity(around_egg))
    with pytest.raises(ValueError, match=rf"{name}\[.*\]: must be a number, found nan"):
        validator.is_path_valid(path, np.full((1, len(around_egg.pairs)), floor))


# A ball on a slide that a revolute joint turns; the second slide follows a continuous joint, as a nut on a lead screw.
SLIDE = """<robot name="slide"><link name="ground"/><link name="arm"/><link name="ball"><collision>
    <geometry><sphere radius="0.05"/></geometry></collision></link>
  <joint name="turn" type="revolute"><parent link="ground"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
  <joint name="slide" type="prismatic"><parent link="arm"/><child link="ball"/><axis xyz="1 0 0"/>
    <limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/></joint></robot>"""
SCREW = """<robot name="screw"><link name="ground"/><link name="arm"/><link name="thread"/><link name="ball"><collision>
    <geometry><sphere radius="0.05"/></geometry></collision></link>
  <joint name="turn" type="revolute"><parent link="ground"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
  <joint name="screw" type="continuous"><parent link="arm"/><child link="thread"/><axis xyz="1 0 0"/></joint>
  <joint name="nut" type="prismatic"><parent link="thread"/><child link="ball"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="1" effort="1" velocity="1"/><mimic joint="screw" multiplier="0.05" offset="0.5"/></joint>
</robot>"""


def validator_of(urdf, joints, positions, place, ranges):
    """Return a validator of a robot and a small ball at a place."""
    obstacle = Body("post", "post", Sphere(0.01), at(*place))
    problem = PlanningProblem(
        Robot.from_urdf(urdf), joints, positions, obstacles=[obstacle], clearance=0.0, ranges=ranges
    )
    return MotionValidator(problem, SceneValidity(problem))


@pytest.mark.parametrize(
    ("urdf", "joints", "ranges", "ends"),
    [
        (SLIDE.format(lower=-1e5, upper=1e5), ("turn", "slide"), {"slide": (0.0, 1.0)}, [[0.0, 0.0], [0.0, 1.0]]),
        (SCREW, ("turn", "screw"), {"screw": (-3.0, 3.0)}, [[0.0, -3.0], [0.0, 3.0]]),
    ],
)
def test_slides_without_finite_limits_hide_no_contact(urdf, joints, ranges, ends):
    through = validator_of(urdf, joints, {}, (0.5, 0.0), ranges)
    assert through.is_state_valid(ends[0]) and through.is_state_valid(ends[1])
    assert not through.check(*ends).valid and not through.is_valid(*ends)
    assert validator_of(urdf, joints, {}, (0.5, 0.1), ranges).is_valid(*ends)
    # Both joints move: the bounds are finite, so the check ends.
    assert not through.is_valid([-0.5, ends[0][1]], [0.5, ends[1][1]])
    assert validator_of(urdf, joints, {}, (0.0, 9.0), ranges).is_valid([-0.5, ends[0][1]], [0.5, ends[1][1]])


@pytest.mark.parametrize("position", [0.2, 0.25, 1.0, 5.0, -3.0])
def test_a_resting_joint_beyond_its_limits_hides_no_contact(position):
    limits, place = SLIDE.format(lower=0, upper=0.2), position * np.array([np.cos(0.3), np.sin(0.3)])
    through = validator_of(limits, ("turn",), {"slide": position}, place, {})
    assert through.is_state_valid([-1.9]) and through.is_state_valid([2.1])
    assert not through.is_valid([-1.9], [2.1]) and through.is_valid([0.8], [2.1])


def test_infinite_bounds_of_motions_end_a_check_without_proof(around_egg):
    class Unbounded(PlanningProblem):
        speeds = np.full(around_egg.speeds.shape, np.inf)

    problem = Unbounded(around_egg.robot, JOINTS, {}, obstacles=[EGG], clearance=CLEARANCE)
    validator = MotionValidator(problem, SceneValidity(problem))
    for end in (ACROSS[0] + [0.01, 0.0, 0.0, 0.0], ACROSS[0] + 0.01):
        check = validator.check(ACROSS[0], end)
        assert not check.valid and check.pair is not None and check.statistics.states < 10


@pytest.mark.parametrize("seed", range(3))
def test_no_distance_of_the_hands_changes_faster_than_the_bounds(hands, seed):
    problem, random = hands.problem, np.random.default_rng(seed)
    states = random.uniform(*problem.limits, (2, len(problem.joints)))
    # Large steps for the palms, small and large ones for single joints.
    for joint in (None, *random.integers(len(problem.joints), size=4)):
        end = states[1] if joint is None else np.where(np.arange(len(problem.joints)) == joint, states[1], states[0])
        found = SceneValidity(problem).clearances(np.stack([states[0], end]), np.full(2, 10.0))
        distance = np.zeros((2, len(problem.pairs)))
        distance[found.state, found.pair] = found.distance
        bound = problem.speeds @ np.abs(end - states[0])
        assert (np.abs(distance[1] - distance[0]) <= bound + 1e-9).all()


def test_joints_that_carry_both_bodies_have_zero_speed(hands):
    problem = hands.problem
    palm = problem.joints.index("right_distance")
    links = [{problem.bodies[i].link.split("_")[0] for i in pair} for pair in problem.pairs]
    inside = np.array([names == {"right"} for names in links])
    across = np.array([names in ({"right", "left"}, {"right", "object"}) for names in links])
    assert (problem.speeds[inside, palm] == 0.0).all() and inside.any()
    assert (problem.speeds[across, palm] == 1.0).all() and across.any()


# -- distances and gradients ----------------------------------------------------------------------------------------


def test_gradients_hold_for_obstacles_and_mimicking_joints(around_egg):
    problem, step = around_egg, 1e-6
    validity, state = SceneValidity(problem), np.array([-0.03, -0.02, 0.3, 0.2])
    found = validity.clearances(state[None], np.array([1.0]), gradients=True)
    assert sorted(found.pair) == list(range(len(problem.pairs)))
    for joint in range(4):
        both = state + np.outer([-step, step], np.eye(4)[joint])
        moved = validity.clearances(both, np.full(2, 1.0))
        distance = np.zeros((2, len(problem.pairs)))
        distance[moved.state, moved.pair] = moved.distance
        np.testing.assert_allclose(
            found.gradient[:, joint], (np.diff(distance, axis=0)[0] / (2 * step))[found.pair], atol=1e-6
        )


NON_CONVEX = Superovoid((0.03, 0.03, 0.03), section_exponent=1.0, profile_exponent=1.6, taper=(0.5, 0.5))


@pytest.mark.parametrize("non_convex", [False, True])
def test_batched_clearances_equal_single_queries(non_convex):
    # Around the egg, and near a non-convex body, whose pairs are always reported.
    more = [Body("dented", "dented", NON_CONVEX, at(-0.05, 0.1))] if non_convex else []
    problem = problem_of(EGG, Body("ball", "ball", Sphere(0.01), at(-0.1, 0.0)), *more, wanted=GRASP)
    random = np.random.default_rng(8)
    states = random.uniform(*problem.limits, (150, 4))
    max_distance = random.choice([0.0, 0.003, 0.02, 0.08], 150)
    found = SceneValidity(problem).clearances(states, max_distance, gradients=True)
    rows = iter(zip(found.state, found.pair, found.distance, found.lower, found.gradient, strict=True))
    scene, still = Scene(problem.bodies, problem.pairs), {body.link: np.eye(4) for body in problem.obstacles}
    names = [frozenset(pair) for pair in problem.pairs.tolist()]
    reported = 0
    for number, (state, reach) in enumerate(zip(states, max_distance, strict=True)):
        positions = problem.positions_at(state)
        scene.set_link_poses({**problem.robot.forward_kinematics(positions), **still})
        result = scene.query()
        rates = problem.robot.distance_gradients(result, positions).by_joint
        expected = {}
        for row, (a, b) in enumerate(zip(result.body_a.tolist(), result.body_b.tolist(), strict=True)):
            if result.distance[row] <= reach or any(problem.bodies[i].name == "dented" for i in (a, b)):
                expected[names.index({a, b})] = row
        while expected:
            state_of, pair_of, distance, lower, gradient = next(rows)
            row = expected.pop(pair_of)
            assert state_of == number
            reported += 1
            # The search starts elsewhere, so the bits differ; gradients consist of unit vectors and levers.
            if result.certified[row]:
                assert distance == pytest.approx(result.distance[row], abs=1e-9)
                assert lower == pytest.approx(result.lower[row], abs=1e-9)
                np.testing.assert_allclose(gradient, rates[row][problem.columns], atol=1e-5)
            else:  # an overlap at a concavity: both intervals contain the depth
                assert lower <= result.upper[row] and result.lower[row] <= distance
    assert next(rows, None) is None
    assert reported > 100


def test_pairs_of_nonconvex_bodies_are_reported_by_their_bounds():
    # The hull is nearer than the non-convex body, so the pair must not be dropped by the body's distance.
    assert not NON_CONVEX.convexity().convex
    problem = problem_of(Body("dented", "dented", NON_CONVEX, at(0.12, 0.0)))
    found = SceneValidity(problem).clearances(np.zeros((1, 4)), np.array([1e-6]))
    concavities = np.flatnonzero((problem.pairs == len(problem.bodies) - 1).any(axis=1))
    assert set(concavities) <= set(found.pair)


class CountingValidity:
    """Counts the states with distance queries, and the states of each call for verdicts."""

    def __init__(self, validity):
        self._validity = validity
        self.states, self.decided = 0, []

    def clearances(self, states, max_distance, gradients=False):
        self.states += len(states)
        return self._validity.clearances(states, max_distance, gradients)

    def verdicts(self, states, floors, spare):
        found = self._validity.verdicts(states, floors, spare)
        self.decided.append(len(found.verdicts))
        return found


def test_a_path_is_proved_in_few_calls(around_egg):
    validity = CountingValidity(SceneValidity(around_egg))
    check = MotionValidator(around_egg, validity).check_path(DETOUR)
    assert check.valid
    assert sum(validity.decided) == check.statistics.states
    assert len(validity.decided) < 0.35 * check.statistics.states  # one per level, not one per state


def test_search_and_proof_query_no_distances(around_egg):
    pytest.importorskip("ompl", reason="OMPL is missing: pip install 'superovoid[plan]'")
    validity = CountingValidity(SceneValidity(around_egg))
    assert MotionValidator(around_egg, validity).check_path(DETOUR).valid
    find_path(around_egg, validity, DETOUR[0], DETOUR[-1], seed=3)
    assert validity.states == 0
    # Naming the nearest pair of a rejected motion needs the distances in one state.
    assert MotionValidator(around_egg, validity).check(DETOUR[0], DETOUR[-1]).pair is not None
    assert validity.states == 1


def test_distances_alone_give_the_same_verdicts(around_egg):
    own = SceneValidity(around_egg)

    class Distances:
        def clearances(self, states, max_distance, gradients=False):
            return own.clearances(states, max_distance, gradients)

    nan = np.full((1, len(around_egg.pairs)), np.nan)
    for each in (own, Distances()):
        assert verdicts_of(each, DETOUR[:1], around_egg.floors[None], nan).verdicts.tolist() == [SHORT]
        assert verdicts_of(each, DETOUR[:1], nan, 0.0 * nan).verdicts.tolist() == [BELOW]
    random = np.random.default_rng(11)
    short, long = (MotionValidator(around_egg, each) for each in (own, Distances()))
    seen = set()
    for _ in range(60):
        first, last = random.uniform(*around_egg.limits, (2, 4))
        answers = [each.check(first, last) for each in (short, long)]
        assert len({(answer.valid, answer.pair, answer.statistics.states) for answer in answers}) == 1
        states = [answer.state for answer in answers]
        assert answers[0].valid == (states[0] is None) and np.array_equal(*states)
        seen.add(answers[0].valid)
    assert seen == {True, False}


# -- grasps and paths -----------------------------------------------------------------------------------------------


def test_a_grasp_makes_only_the_wanted_contacts():
    problem = problem_of(EGG, wanted=GRASP)
    state = grasp(problem, SceneValidity(problem), [0.0, 0.01, 0.1, 0.1])
    check = check_path(GRIPPER, problem, state[None], 0.05)
    assert check.clear(problem)
    for row in problem.wanted_pairs:
        assert 0.0 < check.bounds[0, row].min() < 4e-4
    assert (check.bounds[0, ~problem.is_wanted] > CLEARANCE).all()

    back = retreat(problem, SceneValidity(problem), state)
    assert MotionValidator(problem, SceneValidity(problem)).check_path(back).valid
    np.testing.assert_array_equal(back[0], state)
    assert check_path(GRIPPER, problem, back[-1:], 0.05).bounds[0, problem.is_wanted].min() > 0.005


def test_a_grasp_out_of_reach_names_the_missed_contact():
    problem = problem_of(replace(EGG, link_from_body=at(0.0, 0.6)), wanted=GRASP)
    with pytest.raises(PlanningError, match=r"no grasp near the guess: (upper|lower) and egg are \d+\.\d\d mm apart"):
        grasp(problem, SceneValidity(problem), np.zeros(4))


def test_an_optimised_path_is_shorter_and_keeps_its_margin(around_egg):
    problem = around_egg
    before = problem.length(DETOUR)
    path = optimise_path(problem, SceneValidity(problem), DETOUR, margin=MARGIN, states=25)
    assert problem.length(path.states) < 0.9 * before
    np.testing.assert_allclose(path.states[[0, -1]], ACROSS, atol=1e-12)
    states = densify(problem, path.states, 0.002)
    check = check_path(GRIPPER, problem, states, 0.03)
    # Both ends are farther than the margin from everything, so the whole path must be.
    assert (path.floors >= KEPT * MARGIN - 1e-12).all()
    assert check.bounds.min() > KEPT * MARGIN
    # The path is short: it passes the egg at about the margin.
    assert check.bounds.min() < 1.5 * MARGIN


def test_a_path_from_contact_opens_and_touches_nothing_else():
    problem = problem_of(EGG, wanted=GRASP)
    validity = SceneValidity(problem)
    goal = grasp(problem, validity, [0.0, 0.01, 0.1, 0.1])
    out = retreat(problem, validity, goal)[-1]
    given = np.array([[-0.15, 0.1, 0.5, -0.2], [-0.15, 0.0, 0.0, -0.2], out, goal])
    path = optimise_path(problem, validity, given, margin=0.003, opening=0.05, states=31)
    check = check_path(GRIPPER, problem, densify(problem, path.states, 0.001), 0.03)
    assert check.clear(problem)
    assert check.bounds[-1, problem.is_wanted].min() < 4e-4
    assert path.floors[0].min() >= KEPT * 0.003 - 1e-12


def test_an_unreachable_margin_is_reported():
    wall = Body(
        "wall", "wall", Superellipsoid((0.3, 0.001, 0.3), section_exponent=0.2, profile_exponent=0.2), at(0.0, 0.0)
    )
    problem = problem_of(wall)
    with pytest.raises(PlanningError, match=r"no proof of 90% of the margin .* wall"):
        optimise_path(problem, SceneValidity(problem), ACROSS, margin=MARGIN, states=9, rounds=2)


# -- the search -----------------------------------------------------------------------------------------------------

needs_ompl = pytest.mark.skipif(
    importlib.util.find_spec("ompl") is None, reason="OMPL is missing: pip install 'superovoid[plan]'"
)


@needs_ompl
def test_a_found_path_is_proved_and_repeatable_by_seed(around_egg):
    validity = SceneValidity(around_egg)
    assert not MotionValidator(around_egg, validity).check(*ACROSS).valid
    first, second = (find_path(around_egg, validity, *ACROSS, seed=3, deadline=30.0) for _ in range(2))
    np.testing.assert_array_equal(first.states, second.states)
    for path in (first.states, first.shortened):
        np.testing.assert_array_equal(path[[0, -1]], ACROSS)
        check = check_path(GRIPPER, around_egg, densify(around_egg, path, 0.004), 0.02)
        assert check.clear(around_egg)
    assert around_egg.length(first.shortened) <= around_egg.length(first.states)


@needs_ompl
def test_invalid_ends_are_named(around_egg):
    with pytest.raises(PlanningError, match=r"goal: .*egg are nearer than the clearance"):
        find_path(around_egg, SceneValidity(around_egg), ACROSS[0], [0.05, 0.0, 0.0, 0.0])


@needs_ompl
def test_a_search_without_a_path_ends_at_the_deadline():
    wall = Body(
        "wall", "wall", Superellipsoid((0.5, 0.001, 0.5), section_exponent=0.2, profile_exponent=0.2), at(0.0, 0.0)
    )
    problem = problem_of(wall)
    ends = np.array([[0.0, -0.15, 0.0, 0.0], [0.0, 0.15, 0.0, 0.0]])
    with pytest.raises(PlanningError, match=r"no path found in 0.5 s"):
        find_path(problem, SceneValidity(problem), *ends, deadline=0.5)


# -- related functions ---------------------------------------------------------------------------------------------


def test_independent_kinematics_agree(hands):
    states = np.random.default_rng(0).uniform(*hands.problem.limits, (3, len(hands.problem.joints)))
    poses = link_poses(hands.urdf, hands.problem, states)
    for row, state in enumerate(states):
        for link, pose in hands.problem.robot.forward_kinematics(hands.problem.positions_at(state)).items():
            np.testing.assert_allclose(poses[link][row], pose, atol=1e-12)


def test_the_independent_check_finds_contact(around_egg):
    inside = densify(around_egg, ACROSS, 0.01)
    check = check_path(GRIPPER, around_egg, inside, 0.02)
    assert not check.clear(around_egg)
    near = minimum_distances(around_egg, inside)
    apart = (near > 0.0) & (near < 0.02)
    assert apart.any()
    bounds = check.bounds.min(axis=1)[apart]  # lower bounds, not fully converged if large
    assert (bounds <= near[apart] + 1e-9).all()
    np.testing.assert_allclose(bounds, near[apart], atol=1e-5)
    assert (check.bounds.min(axis=1)[near < 0.0] < 0.0).all()


def test_a_trail_follows_the_links(around_egg):
    points = trail(around_egg, DETOUR, ["upper", "palm"], 0.01)
    states = densify(around_egg, DETOUR, 0.01)
    assert set(points) == {"upper", "palm"} and len(points["upper"]) == len(states)
    body = next(body for body in around_egg.bodies if body.link == "upper")
    for row in (0, -1):
        pose = around_egg.robot.forward_kinematics(around_egg.positions_at(states[row]))["upper"]
        np.testing.assert_allclose(points["upper"][row], (pose @ body.link_from_body)[:3, 3], atol=1e-12)
    with pytest.raises(ValueError, match="links: 'slide' has no body"):
        trail(around_egg, DETOUR, ["slide"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joints": ()}, "joints: is empty"),
        ({"joints": ("close_too",)}, "'close_too' is not an independent joint of 'gripper'"),
        ({"joints": ("x", "x", "y", "turn", "close")}, "must not repeat a joint"),
        ({"joints": ("x",)}, "positions: joint 'y' is missing"),
        ({"clearance": -1.0}, "clearance = -1.0: must be"),
        ({"clearance": float("nan")}, "clearance = nan: must be"),
        ({"clearance": "1 mm"}, "clearance = '1 mm': must be"),
        ({"obstacles": (Body("mine", "palm", Sphere(0.01)),)}, "'mine' is on link 'palm': must not be"),
        ({"wanted": (("upper", "pear"),)}, "'pear' is not a link or group"),
        ({"wanted": (("palm", "upper"),)}, r"wanted: \('palm', 'upper'\): no pair of them is checked"),
        ({"ranges": {"x": (0.0, 0.9)}}, r"ranges: x: 0 to 0.9: must ascend within \[-0.2, 0.2\]"),
        ({"ranges": {"z": (0.0, 0.9)}}, "ranges: 'z' is not one of the planned joints"),
    ],
)
def test_invalid_problems_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        PlanningProblem(**{"robot": Robot.from_urdf(GRIPPER), "joints": JOINTS, "positions": {}, **options})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda p, v: find_path(p, v, [0.0] * 3, [0.0] * 4),
            r"start: shape \(3,\), expected \(4,\): x, y, turn, close",
        ),
        (lambda p, v: find_path(p, v, [0.0] * 4, [0.0, 0.0, 9.0, 0.0]), r"goal: turn = 9: must be in \[-1.5, 1.5\]"),
        (lambda p, v: find_path(p, v, *ACROSS, seed=0), "seed = 0: must be"),
        (lambda p, v: find_path(p, v, *ACROSS, deadline=0.0), "deadline = 0.0: must be a positive"),
        (lambda p, v: find_path(p, v, *ACROSS, stride="1"), "stride = '1': must be a positive"),
        (lambda p, v: find_path(p, v, "x", [0.0] * 4), "start: must be numbers"),
        (lambda p, v: MotionValidator(p, v).check_state([0.0]), r"state: must have shape \(4,\), found \(1,\)"),
        (lambda p, v: MotionValidator(p, v).check([0.0] * 4, [0.0]), r"end: must have shape \(4,\), found \(1,\)"),
        (lambda p, v: MotionValidator(p, v).check_path(DETOUR[:1]), r"path: .* k at least 2, found \(1, 4\)"),
        (lambda p, v: grasp(p, v, np.zeros(4)), "problem.wanted: is empty"),
        (lambda p, v: optimise_path(p, v, DETOUR, margin=0.0), "margin = 0.0: must be at least the clearance"),
        (lambda p, v: optimise_path(p, v, DETOUR, states=2), "states = 2: must be at least 3"),
        (lambda p, v: optimise_path(p, v, DETOUR[:1]), r"path: shape \(1, 4\), expected \(at least 2, 4\)"),
        (lambda p, v: densify(p, DETOUR, 0.0), "spacing = 0.0: must be positive"),
        (lambda p, v: p.state({"x": 0.0}), "positions: joint 'y' is missing"),
        (
            lambda p, v: check_path(GRIPPER, problem_of(Body("b", "b", Box((2, 2, 2)))), ACROSS),
            "body 'b': must be a convex superovoid",
        ),
    ],
)
def test_invalid_calls_are_rejected(around_egg, call, message):
    if "find_path" in call.__code__.co_names:
        pytest.importorskip("ompl", reason="OMPL is missing: pip install 'superovoid[plan]'")
    with pytest.raises(ValueError, match=message):
        call(around_egg, SceneValidity(around_egg))


def test_invalid_base_joints_are_rejected():
    joint = BaseJoint("z", "prismatic", (0.0, 0.0, 1.0), 0.0, 1.0)
    with pytest.raises(RobotDescriptionError, match="link 'palm': no floating joint carries it"):
        with_base_joints(GRIPPER, "palm", [joint])
    with pytest.raises(ValueError, match="joints: is empty"):
        with_base_joints(URDF.read_text(encoding="utf-8"), "left_palm", [])
    with pytest.raises(ValueError, match=r"kind = 'ball': must be prismatic or revolute"):
        replace(joint, kind="ball")
    with pytest.raises(ValueError, match=r"limits 1\.0 to 0.0: must be finite, ascending"):
        replace(joint, lower=1.0, upper=0.0)


def test_a_search_without_ompl_prints_how_to_install_it(around_egg, monkeypatch):
    monkeypatch.setitem(sys.modules, "ompl", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'superovoid\[plan\]'"):
        find_path(around_egg, SceneValidity(around_egg), *ACROSS)
