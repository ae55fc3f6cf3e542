# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Plan motions of an SRDF group among the objects of a planning scene.

planner = GroupPlanner(Robot.load(urdf, srdf=srdf), "panda_arm", obstacles=[wall])
motion = planner.plan(start, goal)                 # a pose, joint positions, or the name of a state
trajectory = planner.time_motion(motion)                 # with times, velocities, accelerations
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike

from superovoid.planning.first_path import find_path
from superovoid.planning.goals import GoalRegion, PoseGoal, PoseRegion, any_state
from superovoid.planning.inverse import NoSolutionError, RangeError, Search, Solution, solutions
from superovoid.planning.motion_check import MotionValidator, never_stop
from superovoid.planning.problem import FloatArray, PlanningError, PlanningProblem
from superovoid.planning.scene_problem import SceneProblem, scene_problem
from superovoid.planning.timing import MotionLimits, Trajectory, motion_limits, time_path
from superovoid.planning.validity import SceneValidity
from superovoid.robot import Robot
from superovoid.robot.kinematics import Positions
from superovoid.robot.planning_scene import PlanningScene
from superovoid.scene import Body
from superovoid.values.checks import positive, whole_number
from superovoid.values.records import Statistics

_STRIDE = 0.5  # m, longest motion tried in one step, in the metric of the weights
_GOALS = 4  # maximum number of solutions of a pose goal to plan to

State = Mapping[str, float]
Ranges = Mapping[str, tuple[float, float]]
Regions = Sequence[GoalRegion]
Pose = PoseGoal | PoseRegion
Goal = str | State | Pose | Sequence[Pose] | GoalRegion | Sequence[GoalRegion] | ArrayLike


class StartError(PlanningError):
    """The start is invalid: pairs are too near if `in_contact`, otherwise a joint is beyond its limits."""

    def __init__(self, words: str, in_contact: bool) -> None:
        super().__init__(words)
        self.in_contact = in_contact


class StartConditionError(StartError):
    """The start is within the joint limits but violates a condition on all states, `ranges` or `accept`."""


class GoalError(PlanningError):
    """A goal given by joints is invalid; `in_contact` is true if pairs are too near."""

    def __init__(self, words: str, in_contact: bool) -> None:
        super().__init__(words)
        self.in_contact = in_contact


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """A path whose motions are all proved."""

    problem: SceneProblem
    path: FloatArray
    """Shape (k, joints), columns as `PlanningProblem.joints`, rad or m; straight motions between its states keep
    every pair above its floor."""
    goal: Solution
    """The last state, and its clearance."""
    statistics: Statistics
    """As in `FoundPath.statistics`."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Joint names of the columns of `path`."""
        return self.problem.joints


class GroupPlanner:
    """Plans motions and solves inverse kinematics for a group.

    Parameters
    ----------
    scene : Robot or PlanningScene
        The robot, with or without surroundings.
    group : str
        Name of a group of the SRDF, whose joints are planned.
    obstacles : sequence of Body, optional
        Added to the scene, each as an object with its name at ``link_from_body`` in the root frame.
    positions : mapping of str to float, or (joints,) array_like, optional
        Positions of joints that starts and goals do not name; an array in the order of `Robot.joint_names`.
    base_poses : mapping of str to (4, 4) array_like, optional
        root_from_link of the robot's floating bases.
    clearance : float
        Minimum distance of all pairs in addition to the scene's paddings, m.

    Raises
    ------
    ValueError
        If the group does not exist or has no joint that can be planned, or an obstacle has the name of a link.
    """

    def __init__(
        self,
        scene: Robot | PlanningScene,
        group: str,
        *,
        obstacles: Sequence[Body] = (),
        positions: Positions | None = None,
        base_poses: Mapping[str, FloatArray] | None = None,
        clearance: float = 0.0,
    ) -> None:
        planning = PlanningScene(scene) if isinstance(scene, Robot) else scene
        if obstacles:
            edit = planning.edit()
            for body in obstacles:
                edit.add(body.name, [body.shape], np.eye(4)[None], body.link_from_body)
            planning = edit.commit()
        self.planning = planning
        self.group = planning.robot.group(group)
        if not self.group.joints:
            raise ValueError(f"group '{group}' has no joint that can be planned")
        self._positions = {} if positions is None else planning.robot.by_name(positions)
        self._base_poses = dict(base_poses or {})
        self._clearance = clearance

    def problem(self, start: str | Positions, ranges: Mapping[str, tuple[float, float]] | None = None) -> SceneProblem:
        """Return the problem for a start, given as a named state or as positions.

        Raises
        ------
        ValueError
            If the state does not exist, or a joint of the robot has no position.
        """
        return scene_problem(
            self.planning,
            self.group.name,
            {**self._positions, **self._start(start)},
            base_poses=self._base_poses,
            clearance=self._clearance,
            ranges=ranges,
        )

    def inverse_kinematics(
        self,
        start: str | Positions,
        goal: Goal,
        *,
        avoid_contact: bool = True,
        accept: Callable[[FloatArray], bool] = any_state,
        search: Search | None = None,
    ) -> Solution:
        """Find a state that reaches poses; see `superovoid.planning.inverse_kinematics`.

        Parameters
        ----------
        start : str, mapping or (joints,) array_like
            First start: a named state of the group, or positions.
        goal : (4, 4) array_like, PoseGoal, PoseRegion or sequence of these, or GoalRegion
            Goal poses of links in the root frame; an array is the pose of the group's tip.
        avoid_contact : bool
            Whether to keep every pair above its floor.
        accept, search
            As for `superovoid.planning.inverse_kinematics`.
        """
        if isinstance(goal, str | Mapping):
            raise ValueError("goal: expected a pose")
        regions = self._regions(goal)
        problem = self.problem(start)
        validity = SceneValidity(problem) if avoid_contact else None
        return next(_solutions(problem, validity, regions, accept, Search() if search is None else search))

    def plan(
        self,
        start: str | Positions,
        goal: Goal,
        *,
        deadline: float = 10.0,
        seed: int = 1,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        accept: Callable[[FloatArray], bool] | None = None,
        stop: Callable[[], bool] = never_stop,
    ) -> PlannedMotion:
        """Plan a motion of the group.

        Parameters
        ----------
        start : str, mapping or (joints,) array_like
            A named state of the group, or positions of all joints of the robot except those given to the constructor;
            an array in the order of `Robot.joint_names`.
        goal : str, mapping, (4, 4) array_like, PoseGoal, PoseRegion, GoalRegion, or sequence of these
            A named state; positions of joints, with the group's other joints unchanged; a pose of the group's tip in
            the root frame; poses of links, all at once; or goal regions, any one of them.
        deadline : float
            Time limit of planning, s.
        seed : int
            Seed of random choices.
        ranges : mapping of str to (float, float), optional
            Narrower limits of joints along the whole motion; they are proved, like freedom from contact.
        accept : callable, optional
            Returns whether a state satisfies additional conditions. It is called for states along the motion (see
            `find_path`); it is not proved between them.
        stop : callable
            Ends the search when it returns true.

        Returns
        -------
        PlannedMotion

        Raises
        ------
        PlanningError
            `StartError`, `GoalError`, `NoSolutionError` (for a pose), or `NoPathError` if the time limit is reached.
        ValueError
            If a name does not exist or a number is out of range.
        ModuleNotFoundError
            If OMPL is missing.
        """
        until = time.monotonic() + positive("deadline", deadline, "seconds")
        problem = self.problem(start, ranges)
        validity = SceneValidity(problem)
        validator = MotionValidator(problem, validity, lambda: time.monotonic() >= until or stop())
        first = start_state(problem, validator, accept)
        test = any_state if accept is None else accept
        if isinstance(goal, str | Mapping):
            goals = [self._goal_state(problem, validity, goal, test)]
            if accept is None and validator.is_valid(first, goals[0].state):
                return self._straight(problem, first, goals[0], validator)
        else:
            regions = self._regions(goal)
            # The search for goals uses at most half of the time; the search for a path gets the rest.
            search = Search(seed=seed, until=time.monotonic() + 0.5 * deadline, stop=stop)
            goals = []
            for found in islice(_solutions(problem, validity, regions, test, search), _GOALS):
                if accept is None and validator.is_valid(first, found.state):
                    return self._straight(problem, first, found, validator)
                goals.append(found)
        path = find_path(
            problem,
            validity,
            first,
            np.array([goal.state for goal in goals]),
            seed=seed,
            deadline=max(until - time.monotonic(), 1e-3),
            stride=_STRIDE,
            accept=accept,
            stop=stop,
        )
        last = min(goals, key=lambda goal: float(np.abs(goal.state - path.states[-1]).max()))
        return PlannedMotion(problem, path.shortened, last, path.statistics)

    def plan_trajectory(
        self,
        start: str | Positions,
        goal: Goal,
        limits: MotionLimits | None = None,
        *,
        attempts: int = 1,
        deadline: float = 10.0,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        accept: Callable[[FloatArray], bool] | None = None,
        stop: Callable[[], bool] = never_stop,
    ) -> Trajectory:
        """Plan and time several motions of the group while time remains, and return the fastest.

        Parameters
        ----------
        start, goal, ranges, accept, stop
            As for `plan`.
        limits : MotionLimits, optional
            As for `time_motion`.
        attempts : int
            Number of motions, with different random choices.
        deadline : float
            Time limit of planning for all of them, s.

        Raises
        ------
        PlanningError, ValueError, ModuleNotFoundError
            As `plan` and `time_motion`, if the first attempt fails.
        """
        until = time.monotonic() + positive("deadline", deadline, "seconds")
        best: Trajectory | None = None
        for seed in range(1, 1 + whole_number("attempts", attempts, 1)):
            left = until - time.monotonic()
            if best is not None and (left <= 0.0 or stop()):
                break
            left = max(left, 1e-3)
            try:
                motion = self.plan(start, goal, deadline=left, seed=seed, ranges=ranges, accept=accept, stop=stop)
                found = self.time_motion(motion, limits, accept=accept)
            except PlanningError:
                if best is None:
                    raise
                break
            best = found if best is None or found.duration < best.duration else best
        assert best is not None
        return best

    @staticmethod
    def _straight(
        problem: SceneProblem, first: FloatArray, goal: Solution, validator: MotionValidator
    ) -> PlannedMotion:
        """Return a motion without states between start and goal."""
        statistics = Statistics(motions=1, states=validator.states)
        return PlannedMotion(problem, np.stack([first, goal.state]), goal, statistics)

    def time_motion(
        self,
        motion: PlannedMotion,
        limits: MotionLimits | None = None,
        *,
        accept: Callable[[FloatArray], bool] | None = None,
    ) -> Trajectory:
        """Compute the timing of a motion; see `superovoid.planning.time_path`.

        Parameters
        ----------
        motion : PlannedMotion
        limits : MotionLimits, optional
            Default: `motion_limits` of the robot.
        accept : callable, optional
            Returns whether a state satisfies additional conditions.
        """
        problem = motion.problem
        limits = motion_limits(problem.robot, problem.joints) if limits is None else limits
        return time_path(problem, SceneValidity(problem), motion.path, limits, accept=accept)

    def _goal_state(
        self,
        problem: SceneProblem,
        validity: SceneValidity,
        goal: str | State,
        accept: Callable[[FloatArray], bool],
    ) -> Solution:
        """Return a goal given by joints; raise `GoalError` if it is invalid."""
        given = dict(self._state(goal))
        strange = [joint for joint in given if joint not in problem.joints]
        strange = [joint for joint in strange if given[joint] != problem.positions.get(joint)]
        if strange:
            of = ", ".join(problem.joints)
            raise ValueError(f"goal: joint '{strange[0]}' does not move with group '{self.group.name}' ({of})")
        for joint, value in given.items():
            if problem.robot.joints[joint].kind == "continuous" and joint in problem.ranges:
                low, high = problem.ranges[joint]
                middle = 0.5 * (low + high)
                given[joint] = middle + float(np.remainder(value - middle + np.pi, 2.0 * np.pi)) - np.pi
        try:
            state = problem.state({**problem.positions, **given})
        except ValueError as error:
            raise GoalError(f"goal: {error}", in_contact=False) from error
        search = Search()
        max_distance = np.array([problem.floors.max(initial=0.0) + search.clearance_up_to])
        found = validity.clearances(state[None], max_distance)
        spare = found.lower - problem.floors[found.pair]
        if not np.all(spare > 0.0):
            pair = problem.name_of(int(found.pair[np.argmin(spare)]))
            raise GoalError(f"goal: {pair} are too near each other", in_contact=True)
        if not accept(state):
            raise GoalError("goal: does not satisfy the conditions (accept)", in_contact=False)
        return Solution(state, min(float(np.min(spare, initial=np.inf)), search.clearance_up_to), Statistics(starts=1))

    def _start(self, start: str | Positions) -> State:
        return self._state(start) if isinstance(start, str) else self.planning.robot.by_name(start)

    def _state(self, state: str | State) -> State:
        if not isinstance(state, str):
            return state
        if state not in self.group.states:
            known = ", ".join(self.group.states) or "none"
            raise ValueError(f"group '{self.group.name}' has no state '{state}' (states: {known})")
        return {j: v for j, v in self.group.states[state].items() if j in self.planning.robot.joint_names}

    def _regions(self, goal: Pose | Sequence[Pose] | GoalRegion | Sequence[GoalRegion] | ArrayLike) -> Regions:
        """Convert a goal other than joint positions to regions."""
        several = [goal] if isinstance(goal, PoseGoal | PoseRegion | GoalRegion) else goal
        if isinstance(several, Sequence) and several:
            regions = [one for one in several if isinstance(one, GoalRegion)]
            poses = [one for one in several if isinstance(one, PoseGoal | PoseRegion)]
            if len(regions) == len(several):
                return regions
            if len(poses) == len(several):
                return [GoalRegion(poses)]
        if self.group.tip is None:
            raise ValueError(f"goal: group '{self.group.name}' has no tip; use a PoseGoal to name the link")
        return [GoalRegion([PoseGoal(self.group.tip, goal)])]  # type: ignore[arg-type] # a pose in any form


def start_state(
    problem: PlanningProblem, validator: MotionValidator, accept: Callable[[FloatArray], bool] | None
) -> FloatArray:
    """Return the positions of a problem as its start; raise `StartError` if they are not a valid state."""
    try:
        first = problem.state(problem.positions)
    except ValueError as error:
        limits = np.array([problem.robot.joint_limits[joint] for joint in problem.joints])
        at = np.array([problem.positions[joint] for joint in problem.joints])
        is_within = bool(((at >= limits[:, 0]) & (at <= limits[:, 1])).all())
        kind = StartConditionError if is_within else StartError
        raise kind(f"start: {error}", in_contact=False) from error
    check = validator.check_state(first)
    if check.pair is not None:
        raise StartError(f"start: {problem.name_of(check.pair)} are too near each other", in_contact=True)
    if accept is not None and not accept(first):
        raise StartConditionError("start: does not satisfy the conditions on every state (accept)", in_contact=False)
    return first


def _intersect_ranges(of_all: Ranges, of_goal: Ranges) -> Ranges:
    """Intersect the joint ranges along the motion with those at the goal; keep those of joints in only one of them."""
    both = dict(of_all)
    for joint, (low, high) in of_goal.items():
        lower, upper = of_all.get(joint, (low, high))
        both[joint] = max(low, lower), min(high, upper)
        if both[joint][0] >= both[joint][1]:
            words = f"{low:g} to {high:g}: must overlap {lower:g} to {upper:g}, the range along the motion"
            raise RangeError(f"goal: joint '{joint}': {words}", in_contact=False)
    return both


def _solutions(
    problem: SceneProblem,
    validity: SceneValidity | None,
    regions: Sequence[GoalRegion],
    accept: Callable[[FloatArray], bool],
    search: Search,
) -> Iterator[Solution]:
    """Yield states in any of several regions; if no region has one, raise the error of the last."""
    found, problems = False, []
    for number, region in enumerate(regions):
        left = search.until - time.monotonic()
        share = replace(search, until=search.until - left * (1.0 - 1.0 / (len(regions) - number)))
        if not np.isfinite(left):
            share = search
        try:
            within = replace(problem, ranges=_intersect_ranges(problem.ranges, region.ranges))
            begin = {**problem.positions, **region.preferred}
            # A search may begin anywhere, and a joint may be measured beyond its limit.
            first = np.clip([begin[joint] for joint in problem.joints], *within.limits)
            both = lambda state, region=region: accept(state) and region.accept(state)  # noqa: E731
            for solution in solutions(within, validity, first, region.poses, accept=both, search=share):
                found = True
                yield solution
        except NoSolutionError as error:
            problems.append(error)
    if not found:
        raise problems[-1]
