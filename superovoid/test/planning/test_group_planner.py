# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Plans for SRDF groups: inverse kinematics among obstacles, motions, timing; checked by independent samples."""

import builtins
from dataclasses import replace
from itertools import pairwise

import numpy as np
import panda
import pytest
from scipy.interpolate import BPoly
from scipy.spatial.transform import Rotation

from superovoid.planning import (
    GoalRegion,
    GroupPlanner,
    PlanningError,
    PlanningProblem,
    PoseGoal,
    PoseRegion,
    SceneValidity,
    Search,
    inverse,
    motion_limits,
)
from superovoid.planning.first_path import NoPathError
from superovoid.planning.group_planner import GoalError, StartError
from superovoid.planning.inverse import NoSolutionError, RangeError
from superovoid.planning.timing import MotionLimits, Trajectory, check_trajectory, states_along, time_path
from superovoid.robot import Robot
from superovoid.robot.planning_scene import Padding, PlanningScene
from superovoid.scene import Body, Scene
from superovoid.shapes import Box, Sphere

pytestmark = panda.NEEDS_PLANNER
CLEARANCE = 0.005
LEFT = panda.state_of((0.7, 0.3, 0.0, -1.9, 0.0, 2.2, 0.8))
RIGHT = panda.state_of((-0.7, 0.3, 0.0, -1.9, 0.0, 2.2, 0.8))
# Fingers a few millimetres from the egg of `grasp_problem`: the end of `retreat` from its grasp.
AT_THE_EGG = {
    "left_distance": 0.0696, "left_tj2": 1.2015, "left_tj4": 0.1305, "left_tj5": 0.073, "left_ij3": 0.351,
    "left_ij4": 0.3606, "left_mj3": 0.3108, "left_mj4": 0.4, "left_rij3": 0.0998, "right_lateral": -0.0146,
    "right_distance": 0.0793, "right_swing": 0.0376, "right_tj2": 0.8731, "right_tj4": 0.2018, "right_tj5": 0.2819,
    "right_ij3": 0.4494, "right_ij4": 0.4322, "right_mj3": 0.3379, "right_mj4": 0.3937, "right_rij3": 0.1,
}  # fmt: skip
TIP = "panda_link8"
FINGERS = {"panda_finger_joint1": 0.035}


@pytest.fixture(scope="module")
def robot():
    return panda.robot()


@pytest.fixture(scope="module")
def around_the_wall(robot):
    return GroupPlanner(robot, "panda_arm", obstacles=[panda.wall()], positions=FINGERS, clearance=CLEARANCE)


@pytest.fixture(scope="module")
def motion(around_the_wall):
    return around_the_wall.plan(LEFT, RIGHT, deadline=60.0)


def test_a_pose_with_a_free_straight_motion_needs_one_solution(robot, monkeypatch):
    started = []

    def count_starts(*arguments, **options):
        started.append(options.get("stop"))
        return solve(*arguments, **options)

    solve = inverse._solve_poses
    monkeypatch.setattr(inverse, "_solve_poses", count_starts)
    planner = GroupPlanner(robot, "panda_arm", positions=FINGERS)
    end = robot.forward_kinematics(panda.state_of((0.5, 0.3, 0.0, -1.9, 0.0, 2.2, 0.8)))[TIP]
    assert planner.plan(LEFT, end, deadline=60.0).path.shape == (2, 7)
    assert len(started) == 1


def test_a_start_after_the_first_ends_with_the_time(robot, monkeypatch):
    taken = []

    def count_iterations(*arguments, **options):
        found = reach_all(*arguments, **options)
        taken.append(found.iterations)
        return found

    reach_all = inverse.reach_all
    monkeypatch.setattr(inverse, "reach_all", count_iterations)
    far = np.eye(4)
    far[0, 3] = 5.0
    over = iter([False])  # one more start is begun, and ends at once
    search = Search(stop=lambda: next(over, True))
    with pytest.raises(NoSolutionError):
        GroupPlanner(robot, "panda_arm", positions=FINGERS).inverse_kinematics(LEFT, far, search=search)
    assert len(taken) == 2 and taken[0] > 1 and taken[1] == 0


def nearest_distances(robot, obstacles, rows):
    """Return the minimum distance of any pair in each state, from scenes of the bodies alone, state by state."""
    count = len(robot.bodies)
    others = [
        (i, count + k) for i in range(1, count) for k in range(len(obstacles))
    ]  # except for the base, which does not move
    scene = Scene([*robot.bodies, *obstacles], [*map(tuple, robot.body_pairs().tolist()), *others])
    still = {body.link: np.eye(4) for body in obstacles}
    found = []
    for row in rows:
        scene.set_link_poses({**robot.forward_kinematics(panda.state_of(row)), **still})
        found.append(scene.query(max_results=1).distance[0])
    return np.array(found)


def interpolate(first, last, count):
    return first + np.linspace(0.0, 1.0, count)[:, None] * (last - first)


# -- motions --------------------------------------------------------------------------------------------------------


def test_the_panda_goes_around_a_wall(robot, motion):
    assert motion.joints == panda.ARM
    ends = [[state[joint] for joint in panda.ARM] for state in (LEFT, RIGHT)]
    np.testing.assert_allclose(motion.path[[0, -1]], ends, atol=1e-12)
    straight = nearest_distances(robot, [panda.wall()], interpolate(*np.array(ends), 100))
    assert straight.min() < 0.0  # the wall blocks the straight motion
    for first, last in pairwise(motion.path):
        assert nearest_distances(robot, [panda.wall()], interpolate(first, last, 60)).min() > CLEARANCE


def test_both_hands_go_to_an_egg():
    icub = pytest.importorskip("superovoid_ros.icub.grasp_problem")
    example, (_, srdf) = icub.read_example(), icub.robot_documents("icub_hands")
    problem = example.problem
    palms = "".join(f'<joint name="{name}"/>' for name in problem.joints if "distance" in name or "right_l" in name)
    both = f"""<group name="both"><group name="left_hand"/><group name="right_hand"/>{palms}
      <joint name="right_swing"/></group></robot>"""
    hands = Robot.from_urdf(example.urdf, srdf=srdf.replace("</robot>", both))
    planner = GroupPlanner(hands, "both", obstacles=problem.obstacles, clearance=problem.clearance)
    assert set(planner.group.joints) == set(problem.joints)
    start = dict(zip(problem.joints, example.start.tolist(), strict=True))
    motion = planner.plan(start, AT_THE_EGG, deadline=120.0, ranges=problem.ranges)
    np.testing.assert_allclose(motion.path[-1], [AT_THE_EGG[joint] for joint in motion.joints], atol=1e-12)
    trajectory = planner.time_motion(motion)
    bodies, egg = [*hands.bodies, *problem.obstacles], len(hands.bodies)
    scene = Scene(bodies, [*map(tuple, hands.body_pairs().tolist()), *((i, egg) for i in range(egg))])
    for row in trajectory.evaluate(np.linspace(0.0, trajectory.duration, 40)):
        poses = hands.forward_kinematics(dict(zip(motion.joints, row.tolist(), strict=True)))
        scene.set_link_poses({**poses, problem.obstacles[0].link: np.eye(4)})
        assert scene.query(max_results=1).distance[0] > problem.clearance


def test_interpolated_trajectory_keeps_limits_and_clearance(robot, around_the_wall, motion):
    limits = MotionLimits(np.full(7, 0.8), np.full(7, 1.5))
    trajectory = around_the_wall.time_motion(motion, limits)
    t, q, v = trajectory.times, trajectory.positions, trajectory.velocities
    np.testing.assert_allclose(q[[0, -1]], motion.path[[0, -1]], atol=1e-12)
    np.testing.assert_array_equal(v[[0, -1]], 0.0)
    assert t[0] == 0.0 and (np.diff(t) > 0.0).all()
    # The cubic polynomial of each motion in Hermite form: h00, h10, h01, h11.
    states = []
    for k, h in enumerate(np.diff(t)):
        x = np.linspace(0.0, 1.0, 21)[:, None]
        curve = (
            (2 * x**3 - 3 * x**2 + 1) * q[k]
            + (x**3 - 2 * x**2 + x) * h * v[k]
            + (3 * x**2 - 2 * x**3) * q[k + 1]
            + (x**3 - x**2) * h * v[k + 1]
        )
        speeds, accelerations = np.diff(curve, axis=0) / (h / 20), np.diff(curve, 2, axis=0) / (h / 20) ** 2
        assert (np.abs(speeds) <= limits.velocity * (1 + 1e-9)).all()
        assert (np.abs(accelerations) <= limits.acceleration * (1 + 1e-6)).all()
        states.append(curve[:-1:4])
    assert nearest_distances(robot, [panda.wall()], np.concatenate(states)).min() > CLEARANCE
    # The timing is as fast as possible: almost everywhere, some joint is at one of its limits.
    moved = trajectory.evaluate(np.linspace(0.0, trajectory.duration, 400), 2) / limits.acceleration
    fast = trajectory.evaluate(np.linspace(0.0, trajectory.duration, 400), 1) / limits.velocity
    assert np.mean(np.maximum(np.abs(moved).max(axis=1), np.abs(fast).max(axis=1)) > 0.9) > 0.9
    assert trajectory.stops == 0


def test_the_motion_stops_at_corners_without_free_rounding(around_the_wall, motion):
    corner = motion.path[1]

    def only_straight(state):
        """Allow only the motions of the path."""
        for first, last in pairwise(motion.path):
            part = np.clip((state - first) @ (last - first) / ((last - first) @ (last - first)), 0.0, 1.0)
            if np.abs(first + part * (last - first) - state).max() < 1e-9:
                return True
        return False

    trajectory = around_the_wall.time_motion(motion, accept=only_straight)
    assert trajectory.stops == len(motion.path) - 2
    at = np.argmin(np.abs(trajectory.positions - corner).max(axis=1))
    np.testing.assert_allclose(trajectory.positions[at], corner, atol=1e-9)
    np.testing.assert_allclose(trajectory.velocities[at], 0.0, atol=1e-12)
    assert all(only_straight(state) for state in trajectory.evaluate(np.linspace(0.0, trajectory.duration, 300)))


def test_slower_limits_make_the_same_path_slower(around_the_wall, robot, motion):
    full = around_the_wall.time_motion(motion)
    scaled = motion_limits(robot, motion.joints, velocity_scale=0.1, acceleration_scale=0.01)
    assert around_the_wall.time_motion(motion, scaled).duration == pytest.approx(10.0 * full.duration, rel=0.01)


def test_a_motion_to_the_start_has_one_point(around_the_wall):
    motion = around_the_wall.plan(LEFT, LEFT)
    trajectory = around_the_wall.time_motion(motion)
    assert trajectory.duration == 0.0
    np.testing.assert_array_equal(trajectory.evaluate([0.0, 1.0], 1), 0.0)


@pytest.mark.parametrize("step", [1e-15, 1e-12, 1e-11, 1e-10, 1e-9, 1e-7])
def test_a_path_with_very_short_motions_is_timed(robot, around_the_wall, motion, step):
    start = np.array([LEFT[joint] for joint in motion.joints])
    alone = around_the_wall.time_motion(replace(motion, path=np.stack([start, start + step])))
    np.testing.assert_allclose(alone.positions[-1], start + step, atol=2e-9)
    longer = np.concatenate(
        [motion.path[:1], motion.path[:1] + step, motion.path[1:-1], motion.path[-1:] - step, motion.path[-1:]]
    )
    trajectory = around_the_wall.time_motion(replace(motion, path=longer))
    np.testing.assert_allclose(trajectory.positions[[0, -1]], longer[[0, -1]], atol=1e-12)
    rows = trajectory.evaluate(np.linspace(0.0, trajectory.duration, 200))
    assert nearest_distances(robot, [panda.wall()], rows).min() > CLEARANCE


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e4])
def test_timing_does_not_depend_on_the_size_of_the_robot(size):
    turn = f"""<robot name="arm"><link name="base"/><link name="tip"><collision><origin xyz="{size} 0 0"/>
      <geometry><sphere radius="{0.1 * size}"/></geometry></collision></link>
      <joint name="turn" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/>
      <limit lower="-3" upper="3" effort="1" velocity="1"/></joint></robot>"""
    robot, far = Robot.from_urdf(turn), Body("ball", "ball", Sphere(0.1 * size), (0.0, 0.0, 10.0 * size))
    problem = PlanningProblem(robot, ["turn"], {}, obstacles=[far], clearance=0.0)
    limits = motion_limits(robot, ["turn"])
    # From rest to rest with at most 1 rad/s^2 and 1 rad/s; the timing of the turns is the same for each size.
    for way, expected in (([[0.0], [0.5]], np.sqrt(2.0)), ([[0.0], [1.5]], 2.5), ([[0.0], [1.5], [-1.5], [0.3]], 8.17)):
        motion = time_path(problem, SceneValidity(problem), way, limits)
        np.testing.assert_allclose(motion.positions[-1], way[-1], atol=1e-12)
        np.testing.assert_allclose(motion.duration, expected, rtol=0.01)


def test_check_trajectory_uses_the_objects_of_the_given_problem(robot, around_the_wall, motion):
    trajectory = around_the_wall.time_motion(motion)
    assert check_trajectory(motion.problem, SceneValidity(motion.problem), trajectory).valid
    middle = trajectory.evaluate(trajectory.duration / 2)
    place = robot.forward_kinematics(panda.state_of(middle))[TIP]
    for shift, valid in ((0.0, False), (0.8, True)):
        there = place.copy()
        there[2, 3] += shift
        other = GroupPlanner(
            robot, "panda_arm", obstacles=[Body("ball", "ball", Sphere(0.02), there)], positions=FINGERS
        ).problem(LEFT)
        assert check_trajectory(other, SceneValidity(other), trajectory).valid == valid


@pytest.mark.parametrize("degree", [3, 5])
def test_check_trajectory_proves_what_is_between_the_points(robot, degree):
    """From rest to rest between two equal states, the velocity in them leads the arm away and back."""
    first = np.array([LEFT[joint] for joint in panda.ARM])
    speed = np.zeros((2, len(first)))
    speed[:, 0] = 1.0, -1.0
    accelerations = None if degree == 3 else np.zeros((2, len(first)))
    trajectory = Trajectory(panda.ARM, np.array([0.0, 2.0]), np.stack([first, first]), speed, 0, accelerations)
    rows = trajectory.evaluate(np.linspace(0.0, 2.0, 201))
    away = np.abs(rows - first).max()
    assert away > 0.4
    np.testing.assert_allclose(trajectory.evaluate([0.0, 2.0], 1), speed, atol=1e-12)
    there = robot.forward_kinematics(panda.state_of(rows[100]))[TIP]
    for radius, shift, valid in ((0.02, 0.0, False), (0.02, 0.8, True)):
        place = there.copy()
        place[2, 3] += shift
        problem = GroupPlanner(
            robot, "panda_arm", obstacles=[Body("ball", "ball", Sphere(radius), place)], positions=FINGERS
        ).problem(LEFT)
        assert check_trajectory(problem, SceneValidity(problem), trajectory).valid == valid
    narrow = GroupPlanner(robot, "panda_arm", positions=FINGERS).problem(
        LEFT, {"panda_joint1": (first[0] - 0.1, first[0] + 0.5 * away)}
    )
    check = check_trajectory(narrow, SceneValidity(narrow), trajectory)
    assert not check.valid and check.pair is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"joints": ("a", "a")}, "joints: a, a: must not repeat"),
        ({"times": [0.0, 0.0, 1.0]}, "times .* must ascend"),
        ({"times": [-1.0, 0.0, 1.0]}, "times .* must ascend"),
        ({"positions": np.zeros((2, 2))}, r"positions: shape \(2, 2\), expected \(3, 2\)"),
        ({"velocities": np.full((3, 2), np.nan)}, "velocities: must be finite"),
        ({"accelerations": np.zeros((3, 1))}, "accelerations: shape"),
    ],
)
def test_a_trajectory_of_inconsistent_arrays_is_rejected(fields, words):
    arrays = {"times": np.arange(3.0), "positions": np.zeros((3, 2)), "velocities": np.zeros((3, 2))}
    with pytest.raises(ValueError, match=words):
        Trajectory(**{"joints": ("a", "b"), **arrays, **fields})


@pytest.mark.parametrize("degree", [3, 5])
@pytest.mark.parametrize(
    ("time", "at", "first"),
    [(0.0, 0.0, 0), (2.5, 2.1, 2), (2.5, 2.01, 1), (9.0, 1.2, 1), (9.0, 5.0, 3), (-1.0, 5.0, 0)],
)
def test_the_rest_of_a_trajectory_begins_at_a_late_robot(degree, time, at, first):
    times = np.arange(5.0)
    column = times[:, None]
    accelerations = None if degree == 3 else np.zeros_like(column)
    whole = Trajectory(("turn",), times, column, np.ones_like(column), accelerations=accelerations)
    rest = whole.remaining(time, [at])
    np.testing.assert_array_equal(rest.times, times[first:])
    later = np.linspace(times[first], 4.0, 30)
    np.testing.assert_allclose(rest.evaluate(later), whole.evaluate(later), atol=1e-12)


@pytest.mark.parametrize("off", [0.0, 1e-3])
def test_the_rest_of_a_motion_there_and_back_includes_the_turn(off):
    column = np.array([0.0, 1.0, 2.0, 3.0, 2.1 + off, 1.5 + off, 0.0])[:, None]
    whole = Trajectory(("turn",), np.arange(7.0), column, np.zeros_like(column))
    rest = whole.remaining(9.0, [1.5 + off])
    assert rest.positions.max() == 3.0 and rest.times[0] == 1.0


@pytest.mark.parametrize("degree", [3, 5])
def test_a_trajectory_has_the_values_and_derivatives_of_its_polynomials(degree):
    random = np.random.default_rng(3)
    times = np.concatenate([[0.0], random.uniform(0.1, 1.0, 9).cumsum()])
    values = random.normal(size=(3, 10, 4))
    whole = Trajectory(tuple("abcd"), times, *values[:2], accelerations=None if degree == 3 else values[2])
    expected = BPoly.from_derivatives(times, np.moveaxis(values[: 2 if degree == 3 else 3], 0, 1))
    np.testing.assert_array_equal(whole.evaluate(times), values[0])
    at = np.concatenate([times, random.uniform(-0.5, times[-1] + 0.5, 100)])
    for derivative in range(3):
        found = whole.evaluate(at, derivative)
        np.testing.assert_allclose(found, expected(np.clip(at, 0.0, times[-1]), derivative), rtol=1e-11, atol=1e-11)
    assert whole.evaluate(at.reshape(2, -1)).shape == (2, len(at) // 2, 4)


def test_states_along_a_trajectory_lie_on_it_without_gaps(robot, around_the_wall, motion):
    trajectory, problem = around_the_wall.time_motion(motion), motion.problem
    states = states_along(problem, trajectory, 0.01)
    steps = [problem.length([first, last]) for first, last in pairwise(states)]
    assert max(steps) < 0.02  # a polynomial is a little longer than its chord
    for point in trajectory.positions:
        assert np.abs(states - point).max(axis=1).min() < 1e-9
    fine = trajectory.evaluate(np.linspace(0.0, trajectory.duration, 3000))
    assert max(np.abs((fine - state) * problem.weights).max(axis=1).min() for state in states) < 0.01
    with pytest.raises(ValueError, match="spacing"):
        states_along(problem, trajectory, 0.0)
    one = replace(trajectory, times=np.zeros(1), positions=states[:1], velocities=np.zeros((1, len(problem.joints))))
    np.testing.assert_array_equal(states_along(problem, one, 0.01), states[:1])


def test_a_path_stays_within_requested_ranges(around_the_wall):
    ranges = {"panda_joint7": (0.7, 0.9), "panda_joint5": (-0.5, 0.5)}
    path = around_the_wall.plan(LEFT, RIGHT, deadline=60.0, ranges=ranges).path
    assert (path[:, 6] >= 0.7).all() and (path[:, 6] <= 0.9).all() and (np.abs(path[:, 4]) <= 0.5).all()


def test_accept_holds_for_states_along_the_path(robot, around_the_wall):
    def upright_enough(state):
        return robot.forward_kinematics(panda.state_of(state))[TIP][2, 3] < 1.0

    path = around_the_wall.plan(LEFT, RIGHT, deadline=60.0, accept=upright_enough).path
    rows = np.concatenate([interpolate(first, last, 50) for first, last in pairwise(path)])
    assert all(upright_enough(row) for row in rows)


# -- inverse kinematics -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_solutions_reach_the_pose_with_the_clearance_of_the_scene(robot, around_the_wall):
    random = np.random.default_rng(3)
    low, high = np.array([robot.joint_limits[joint] for joint in panda.ARM]).T
    reached = 0
    for _ in range(30):
        there = random.uniform(low + 0.2, high - 0.2)
        if nearest_distances(robot, [panda.wall()], [there])[0] < 0.01:
            continue
        pose = robot.forward_kinematics(panda.state_of(there))[TIP]
        found = around_the_wall.inverse_kinematics("ready", pose)
        again = robot.forward_kinematics(panda.state_of(found.state))[TIP]
        np.testing.assert_allclose(again, pose, atol=3e-6)
        distance = nearest_distances(robot, [panda.wall()], [found.state])[0]
        assert distance > CLEARANCE
        if found.clearance < 0.1:
            assert found.clearance == pytest.approx(distance - CLEARANCE, abs=1e-6)
        reached += 1
    assert reached > 10


def test_inverse_kinematics_start_from_a_joint_beyond_its_limit(robot):
    beyond = {**LEFT, "panda_joint1": 3.0}
    pose = robot.forward_kinematics(RIGHT)[TIP]
    found = GroupPlanner(robot, "panda_arm").inverse_kinematics(beyond, pose)
    reached = robot.forward_kinematics({**LEFT, **dict(zip(panda.ARM, found.state, strict=True))})[TIP]
    np.testing.assert_allclose(reached, pose, atol=3e-6)


def test_a_redundant_arm_moves_its_elbow_out_of_contact(robot):
    ready = panda.state_of(panda.READY)
    poses = robot.forward_kinematics(ready)
    place = np.eye(4)
    place[:3, 3] = poses["panda_link4"][:3, 3] + np.array([0.0, 0.075, 0.02])
    ball = Body("ball", "ball", Sphere(0.03), place)
    planner = GroupPlanner(robot, "panda_arm", obstacles=[ball])
    assert nearest_distances(robot, [ball], [panda.READY])[0] < 0.0
    found = planner.inverse_kinematics(ready, poses[TIP], search=Search(starts=1))
    assert nearest_distances(robot, [ball], [found.state])[0] > 0.0
    np.testing.assert_allclose(robot.forward_kinematics(panda.state_of(found.state))[TIP], poses[TIP], atol=3e-6)
    free = planner.inverse_kinematics(ready, poses[TIP], avoid_contact=False)
    np.testing.assert_allclose(free.state, panda.READY, atol=1e-9)
    assert np.isnan(free.clearance)


def test_partial_poses_and_several_links_are_reached(robot, around_the_wall):
    wanted = np.eye(4)
    wanted[:3, :3] = Rotation.from_euler("xyz", [3.0, 0.2, 0.4]).as_matrix()
    wanted[:3, 3] = 0.4, 0.3, 0.5
    by_position = around_the_wall.inverse_kinematics("ready", PoseGoal("panda_hand", wanted, "position"))
    pose = robot.forward_kinematics(panda.state_of(by_position.state))["panda_hand"]
    np.testing.assert_allclose(pose[:3, 3], wanted[:3, 3], atol=3e-6)
    turned = [PoseGoal("panda_hand", wanted, "position"), PoseGoal("panda_hand", wanted, "orientation")]
    both = around_the_wall.inverse_kinematics("ready", turned)
    np.testing.assert_allclose(robot.forward_kinematics(panda.state_of(both.state))["panda_hand"], wanted, atol=3e-6)


def test_three_lines_plan_to_a_pose(robot):
    pose = robot.forward_kinematics(RIGHT)[TIP]
    planner = GroupPlanner(robot, "panda_arm", obstacles=[panda.wall()], positions=FINGERS)
    motion = planner.plan(LEFT, pose)
    trajectory = planner.time_motion(motion)
    end = robot.forward_kinematics(panda.state_of(trajectory.positions[-1]))[TIP]
    np.testing.assert_allclose(end, pose, atol=3e-6)
    assert motion.goal.clearance > 0.0


# -- rejected inputs -----------------------------------------------------------------------------------------------


def at(x, y, z):
    pose = np.eye(4)
    pose[:3, :3] = np.diag([1.0, -1.0, -1.0])
    pose[:3, 3] = x, y, z
    return pose


# -- regions ----------------------------------------------------------------------------------------------------------


def test_poses_of_a_region_are_within_its_shapes_and_tolerances():
    wanted = Rotation.from_rotvec([0.3, -0.5, 2.0]).as_matrix()
    place = at(0.5, 0.2, 0.1)
    point, tolerances = np.array([0.0, 0.0, 0.3]), np.array([0.2, 0.0, 9.0])
    random = np.random.default_rng(5)
    shapes = [(place, Sphere(0.1)), (at(-0.5, 0.0, 0.0), Sphere(0.1))]
    for axes in (None, Rotation.from_rotvec([0.0, 1.0, 0.0]).as_matrix()):
        region = PoseRegion(TIP, wanted, shapes, point, tolerances, axes)
        middle = region.draw(None)
        np.testing.assert_allclose(middle.pose[:3, :3], wanted)
        np.testing.assert_allclose((middle.pose @ [*point, 1.0])[:3], place[:3, 3], atol=1e-12)
        sides = set()
        for _ in range(50):
            goal = region.draw(random)
            assert goal.part == "pose"
            reached = (goal.pose @ [*point, 1.0])[:3]
            nearest = min((0.5, 0.2, 0.1), (-0.5, 0.0, 0.0), key=lambda centre: np.linalg.norm(reached - centre))
            assert np.linalg.norm(reached - nearest) <= 0.1 + 1e-12
            sides.add(nearest)
            turn = Rotation.from_matrix(wanted.T @ goal.pose[:3, :3])
            angles = np.abs(turn.as_euler("XYZ") if axes is None else axes.T @ turn.as_rotvec())
            assert angles[0] <= 0.2 + 1e-9 and angles[1] <= 1e-9 and angles[2] <= np.pi
        assert len(sides) == 2


def test_a_region_without_shapes_or_tolerances_is_a_part_of_a_pose():
    random = np.random.default_rng(5)
    assert PoseRegion(TIP, np.eye(3), tolerances=np.zeros(3)).draw(random).part == "orientation"
    ball = [(np.eye(4), Sphere(0.1))]
    assert PoseRegion(TIP, np.eye(3), ball).draw(random).part == "position"
    beside = PoseRegion(TIP, np.eye(3), ball, np.array([0.0, 0.0, 0.2]))
    turned = [beside.draw(random).pose[:3, :3] for _ in range(2)]
    assert beside.draw(random).part == "pose" and not np.allclose(*turned)


def test_a_motion_ends_in_one_of_its_regions(robot, around_the_wall):
    pose = robot.forward_kinematics(RIGHT)[TIP]
    ball = PoseRegion(TIP, pose[:3, :3], [(pose, Sphere(0.02))], tolerances=np.full(3, 0.05))
    far = PoseRegion(TIP, np.eye(3), [(at(3.0, 0.0, 0.0), Sphere(0.1))])
    goals = [GoalRegion([far]), GoalRegion([ball], {"panda_joint1": (-1.0, -0.6)}, {"panda_joint1": -0.7})]
    last = around_the_wall.plan(LEFT, goals, deadline=60.0).path[-1]
    reached = robot.forward_kinematics({**LEFT, **dict(zip(panda.ARM, last, strict=True))})[TIP]
    assert np.linalg.norm(reached[:3, 3] - pose[:3, 3]) <= 0.02 + 1e-6 and -1.0 <= last[0] <= -0.6
    with pytest.raises(RangeError, match=r"joint 'panda_joint1': -1 to -0.6: must overlap 0 to 1"):
        around_the_wall.plan(LEFT, goals[1:], ranges={"panda_joint1": (0.0, 1.0)})


def test_the_fastest_of_several_attempts_is_returned(around_the_wall, monkeypatch):
    durations = iter([3.0, 2.0, 4.0])
    monkeypatch.setattr(GroupPlanner, "plan", lambda *arguments, **options: options["seed"])

    def time_motion(planner, motion, limits, accept):
        return Trajectory(("turn",), np.array([0.0, next(durations)]), np.zeros((2, 1)), np.zeros((2, 1)), motion)

    monkeypatch.setattr(GroupPlanner, "time_motion", time_motion)
    assert around_the_wall.plan_trajectory(LEFT, RIGHT, attempts=3).stops == 2


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_later_attempt_that_fails_does_not_discard_the_first(around_the_wall, motion, monkeypatch, fails_at):
    def plan(planner, start, goal, *, seed, **options):
        if seed == fails_at:
            raise NoPathError("no time")
        return motion

    monkeypatch.setattr(GroupPlanner, "plan", plan)
    if fails_at == 1:
        with pytest.raises(NoPathError):
            around_the_wall.plan_trajectory(LEFT, RIGHT, attempts=2)
    else:
        assert around_the_wall.plan_trajectory(LEFT, RIGHT, attempts=2).duration > 0.0


def test_a_pose_out_of_reach_differs_from_one_in_contact(around_the_wall):
    with pytest.raises(NoSolutionError, match="out of reach") as out:
        around_the_wall.plan("ready", at(1.5, 0.0, 0.5), deadline=3.0)
    assert not out.value.in_contact
    with pytest.raises(NoSolutionError, match="wall") as inside:
        around_the_wall.inverse_kinematics("ready", at(0.6, 0.0, 0.5), search=Search(starts=5))
    assert inside.value.in_contact


def test_a_start_or_goal_in_contact_is_rejected_with_the_pair(around_the_wall):
    against = panda.state_of((0.0, 0.5, 0.0, -1.6, 0.0, 2.0, 0.8))
    with pytest.raises(StartError, match=r"start: .*wall are too near") as error:
        around_the_wall.plan(against, RIGHT)
    assert error.value.in_contact
    with pytest.raises(GoalError, match=r"goal: .*wall are too near") as error:
        around_the_wall.plan(LEFT, against)
    assert error.value.in_contact
    with pytest.raises(GoalError, match=r"panda_joint1 = 3: must be in") as error:
        around_the_wall.plan(LEFT, {"panda_joint1": 3.0})
    assert not error.value.in_contact


def test_an_unreachable_goal_is_rejected_after_the_deadline(robot):
    # With its second joint bent, the upper arm can pass y = 0 only at x > 0.1, behind a plate.
    place = np.eye(4)
    place[:3, 3] = 0.85, 0.0, 1.0
    plate = Body("plate", "plate", Box((1.5, 0.01, 1.2)), place)
    bent = {"panda_joint2": (0.5, 1.0)}
    start, goal = ({**state, "panda_joint2": 0.6} for state in (LEFT, RIGHT))
    planner = GroupPlanner(robot, "panda_arm", obstacles=[plate], positions=FINGERS)
    with pytest.raises(NoPathError, match="no path found in 1"):
        planner.plan(start, goal, deadline=1.5, ranges=bent)


def test_planning_ends_when_stop_returns_true(around_the_wall):
    with pytest.raises(PlanningError):
        around_the_wall.plan(LEFT, RIGHT, deadline=600.0, stop=lambda: True)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda p: p.plan("home", RIGHT), r"has no state 'home' \(states: ready\)"),
        (lambda p: p.plan({"panda_joint1": 0.0}, RIGHT), "joint 'panda_joint2' is missing"),
        (lambda p: p.plan(LEFT, {"panda_finger_joint1": 0.0}), "'panda_finger_joint1' does not move with group"),
        (lambda p: p.plan(LEFT, np.eye(3)), r"pose of 'panda_link8'"),
        (lambda p: p.plan(LEFT, PoseGoal("gripper", np.eye(4))), "link 'gripper' does not exist"),
        (lambda p: PoseGoal("panda_hand", np.eye(4), "place"), "part = 'place'"),
        (lambda p: Search(starts=0), "starts = 0: must be an integer"),
        (lambda p: p.plan(LEFT, RIGHT, deadline=0.0), "deadline = 0.0: must be a positive"),
        (lambda p: p.plan(LEFT, RIGHT, deadline=np.nan), "deadline = nan: must be a positive"),
        (lambda p: motion_limits(p.planning.robot, panda.ARM, velocity_scale=0.0), "velocity_scale = 0.0"),
        (lambda p: motion_limits(p.planning.robot, ["wheel"]), "joints: 'wheel' is not an independent joint"),
        (lambda p: MotionLimits(np.ones(7), np.zeros(7)), "acceleration = .* must be positive"),
        (lambda p: GroupPlanner(p.planning, "leg"), "'leg' is not a group of 'panda'"),
    ],
)
def test_invalid_arguments_are_rejected_by_name(around_the_wall, ask, words):
    with pytest.raises(ValueError, match=words):
        ask(around_the_wall)


# -- scenes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", ['lower="0" upper="0.2"', "", 'lower="-1e5" upper="1e5"'])
def test_a_plan_avoids_contact_despite_a_joint_beyond_its_limits(limits):
    urdf = f"""<robot name="crane"><link name="ground"/><link name="mast"/><link name="boom"/><link name="load">
      <collision><geometry><sphere radius="0.05"/></geometry></collision></link>
      <joint name="turn" type="revolute"><parent link="ground"/><child link="mast"/><axis xyz="0 0 1"/>
        <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
      <joint name="lift" type="prismatic"><parent link="mast"/><child link="boom"/><axis xyz="0 0 1"/>
        <limit lower="0" upper="0.5" effort="1" velocity="1"/></joint>
      <joint name="slide" type="prismatic"><parent link="boom"/><child link="load"/><axis xyz="1 0 0"/>
        <limit {limits} effort="1" velocity="1"/></joint></robot>"""
    srdf = '<robot name="crane"><group name="both"><joint name="turn"/><joint name="lift"/></group></robot>'
    robot = Robot.from_urdf(urdf, srdf=srdf)
    post = Body("post", "post", Sphere(0.05), at(np.cos(0.3), np.sin(0.3), 0.0))
    start = {"turn": -1.9, "lift": 0.0, "slide": 1.0}
    motion = GroupPlanner(robot, "both", obstacles=[post]).plan(start, {"turn": 2.1, "lift": 0.0}, deadline=60.0)
    times = np.linspace(0.0, 1.0, 500)[:, None]
    turn, lift = np.concatenate([a + times * (b - a) for a, b in pairwise(motion.path)]).T
    loads = np.stack([np.cos(turn), np.sin(turn), lift], axis=1)
    assert np.linalg.norm(loads - post.link_from_body[:3, 3], axis=1).min() > 0.1


def test_rules_paddings_and_attached_objects_of_the_scene_apply(robot):
    tip = robot.forward_kinematics(RIGHT)["panda_hand"][:3, 3]
    block = np.eye(4)
    block[:3, 3] = tip - (0.0, 0.0, 0.25)
    edit = PlanningScene(robot).edit()
    edit.add("block", [Box((0.1, 0.1, 0.1))], np.eye(4)[None], block)
    bare = edit.commit()
    GroupPlanner(bare, "panda_arm").plan(RIGHT, RIGHT)
    rod = np.eye(4)
    rod[2, 3] = 0.15
    edit = bare.edit()
    edit.add("rod", [Box((0.02, 0.02, 0.2))], np.eye(4)[None], rod, link="panda_hand",
             touch_links=["hand"])  # fmt: skip
    held = edit.commit()
    with pytest.raises(StartError, match="block"):
        GroupPlanner(held, "panda_arm").plan(RIGHT, RIGHT)
    edit = held.edit()
    edit.set_runtime("rod", "block", False)
    allowed = edit.commit()
    GroupPlanner(allowed, "panda_arm").plan(RIGHT, RIGHT)
    edit = allowed.edit()
    edit.padding = Padding(default=0.15)
    with pytest.raises(StartError, match="block"):
        GroupPlanner(edit.commit(), "panda_arm").plan(RIGHT, RIGHT)


def test_a_continuous_joint_takes_the_shorter_turn():
    turntable = Robot.from_urdf(
        """<robot name="turntable"><link name="base"/><link name="arm"><contact_geometry><origin xyz="0.3 0 0"/>
        <superellipsoid size="0.3 0.02 0.02" epsilon="0.5 0.5"/></contact_geometry></link>
        <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
        </robot>""",
        srdf='<robot name="turntable"><group name="all"><joint name="turn"/></group></robot>',
    )
    planner = GroupPlanner(turntable, "all")
    path = planner.plan({"turn": 3.0}, {"turn": -3.0}).path
    np.testing.assert_allclose(path[:, 0], [3.0, 2.0 * np.pi - 3.0], atol=1e-12)


def test_limits_come_from_the_urdf_and_joint_limits_yaml(robot):
    joints = ("panda_joint1", "panda_finger_joint1")
    given = {
        "panda_joint1": {"has_velocity_limits": True, "max_velocity": 1.5, "has_acceleration_limits": True,
                         "max_acceleration": 3.0},
        "panda_finger_joint2": {"has_velocity_limits": True, "max_velocity": 0.05},
    }  # fmt: skip
    plain, with_file = motion_limits(robot, joints), motion_limits(robot, joints, given)
    np.testing.assert_allclose(plain.velocity, [2.175, 0.2])
    np.testing.assert_allclose(plain.acceleration, [1.0, 1.0])
    np.testing.assert_allclose(with_file.velocity, [1.5, 0.05])  # the mimicking finger is slower
    np.testing.assert_allclose(with_file.acceleration, [3.0, 1.0])
    with pytest.raises(ValueError, match="max_velocity = 'fast'"):
        motion_limits(robot, joints, {"panda_joint1": {"has_velocity_limits": True, "max_velocity": "fast"}})


@pytest.mark.parametrize("module", ["ompl", "toppra"])
def test_a_missing_library_is_named(around_the_wall, motion, monkeypatch, module):
    real = builtins.__import__

    def import_others(name, *arguments, **options):
        if name.split(".")[0] == module:
            raise ModuleNotFoundError(f"No module named '{module}'", name=module)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", import_others)
    with pytest.raises(ModuleNotFoundError, match=rf"{module}.*pip install 'superovoid\[plan\]'"):
        if module == "ompl":
            around_the_wall.plan(LEFT, RIGHT)
        else:
            around_the_wall.time_motion(motion)
