# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planning example: both hands of the iCub move to a grasp around an egg (docs/how_to/planning.md).

The palms slide and swing as in the grasp sweep (`grasp_sweep.py`); the left palm moves too. The sixteen joints of the
fingers are planned together with them. The straight path from start to grasp leads through the egg.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from superovoid.output import REPORT, progress, write_lines
from superovoid.planning import (
    MotionValidator,
    PlanningProblem,
    SceneValidity,
    Validity,
    find_path,
    grasp,
    optimise_path,
    retreat,
)
from superovoid.planning.optimise import KEPT, OptimisedPath
from superovoid.planning.problem import FloatArray
from superovoid.planning.trail import densify, trail
from superovoid.testing.path_check import PathCheck, check_path
from superovoid.viewing.palette import BLACK, BLUE, GREEN, GREY, RED
from superovoid_ros.icub.grasp_problem import COLOURS, GraspExample, joint_columns, read_example
from superovoid_ros.pictures import draw_bodies, projection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TOWARDS = 0.25, -0.92, 0.31
_PICTURES = 4
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Effort:
    """Effort of a stage."""

    elapsed: float
    """Elapsed time, s."""
    processor: float
    """Processor time of this process, s."""


@dataclass(frozen=True)
class GraspPlan:
    """Solution of the example."""

    example: GraspExample
    straight: bool
    """True if the straight path from start to grasp is free."""
    found: FloatArray
    """Path found by the planner, from the start to the grasp, shape (k, joints)."""
    shortened: FloatArray
    optimised: OptimisedPath
    motions: int
    checked: int
    efforts: Mapping[str, Effort]
    """Effort of each stage."""

    @property
    def grasp(self) -> FloatArray:
        """The last state of the path, shape (joints,)."""
        return self.found[-1]


def solve(
    example: GraspExample,
    validity: Validity,
    *,
    seed: int = 1,
    deadline: float = 300.0,
    on_stage: Callable[[str], None] = lambda text: None,
) -> GraspPlan:
    """Find a grasp, a retreat from it, and a path from the start to the grasp; then optimise the path.

    Parameters
    ----------
    example : GraspExample
        The planning problem, with its start and the guess of the grasp.
    validity : Validity
        Source of the distances.
    seed : int
        Seed of the planner.
    deadline : float
        Time after which the planner gives up, s.
    on_stage : callable, optional
        Called with a description of the current stage.

    Returns
    -------
    GraspPlan

    Raises
    ------
    PlanningError
        If a stage fails.
    ValueError
        If a number is out of range.
    """
    problem, efforts = example.problem, {}

    def run_stage(name: str, text: str, function: Callable, *arguments, **options):
        on_stage(text)
        answer, efforts[name] = effort_of(lambda: function(problem, validity, *arguments, **options))
        return answer

    goal = run_stage("grasp", "searching a grasp", grasp, example.guess)
    back = run_stage("retreat", "retreating from the grasp", retreat, goal)
    straight = MotionValidator(problem, validity).check(example.start, goal).valid
    result = run_stage(
        "search",
        "planning",
        find_path,
        example.start,
        back[-1],
        seed=seed,
        deadline=deadline,
        stride=0.03,
        on_motion=lambda motions, states: on_stage(f"planning: {motions:,} motions, {states:,} states"),
    )
    found, shortened = (np.concatenate([path, back[-2::-1]]) for path in (result.states, result.shortened))
    optimised = run_stage(
        "optimisation",
        "optimising",
        optimise_path,
        shortened,
        margin=example.margin,
        on_round=lambda number: on_stage(f"optimising, round {number + 1}"),
    )
    return GraspPlan(
        example, straight, found, shortened, optimised, result.statistics.motions, result.statistics.states, efforts
    )


def effort_of(function: Callable[[], Answer]) -> tuple[Answer, Effort]:
    """Call a function; return its result and its effort."""
    elapsed, processor = time.perf_counter(), time.process_time()
    answer = function()
    return answer, Effort(time.perf_counter() - elapsed, time.process_time() - processor)


HANDS, FINGERS, WANTED = "hands and object", "fingers of a hand", "wanted"


def groups(problem: PlanningProblem) -> dict[str, NDArray[np.bool_]]:
    """Return masks of the pairs: between both hands or hand and object, within one hand, and of wanted contact."""
    sides = np.array([body.link.split("_")[0] for body in problem.bodies])[problem.pairs]
    across = sides[:, 0] != sides[:, 1]
    return {HANDS: across & ~problem.is_wanted, FINGERS: ~across & ~problem.is_wanted, WANTED: problem.is_wanted}


@dataclass(frozen=True)
class Profile:
    """Distances along a path, one row for each of the evenly spaced states."""

    along: FloatArray
    """Length of the path up to each state, m."""
    states: FloatArray
    nearest: Mapping[str, FloatArray]
    """Lower bound of the distance of the nearest pair in each of `groups`, m."""


def profile(problem: PlanningProblem, validity: Validity, path: FloatArray, spacing: float, most: float) -> Profile:
    """Compute the distances at evenly spaced states of a path, up to `most` metres."""
    states = densify(problem, path, spacing)
    found = validity.clearances(states, np.full(len(states), most))
    nearest = {}
    for name, pairs in groups(problem).items():
        nearest[name], rows = np.full(len(states), most), pairs[found.pair]
        np.minimum.at(nearest[name], found.state[rows], found.lower[rows])
    return Profile(problem.path_lengths(states), states, nearest)


def checked_bounds(problem: PlanningProblem, check: PathCheck) -> dict[str, FloatArray]:
    """Return the lower bound of the nearest pair in each of `groups`, according to the independent check, m."""
    return {name: check.bounds[:, pairs].min(axis=1) for name, pairs in groups(problem).items()}


def write_csv(
    profile: Profile, check: Mapping[str, FloatArray], problem: PlanningProblem, path: Path, seed: int
) -> None:
    """Write one line for each state of the optimised path: distances, those of the independent check, joints."""
    names = [name.replace(" ", "_") for name in check]
    columns = [f"{name}{end}_m" for end in ("", "_independent") for name in names]
    clearances = np.column_stack([*profile.nearest.values(), *check.values()])
    lines = (
        [seed, *(f"{value:.9g}" for value in (along, *near, *state))]
        for along, near, state in zip(profile.along, clearances, profile.states, strict=True)
    )
    write_lines(path, ["seed", "along_m", *columns, *joint_columns(problem)], lines)


def plot(
    profiles: Mapping[str, Profile], check: Mapping[str, FloatArray], plan: GraspPlan, margin: float, path: Path
) -> None:
    """Plot the distances along the paths, and the independent check of the last path."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 9.0), layout="constrained")
    titles = {
        HANDS: "nearest pair of both hands, or of a hand and the object, that must not touch",
        FINGERS: "nearest pair of one hand (neighbouring fingers are never farther apart)",
        WANTED: "nearest finger tip to the object, contact wanted at the end",
    }
    clearance = plan.example.problem.clearance
    for axes, (group, title) in zip(figure.subplots(3, 1, sharex=True), titles.items(), strict=True):
        for (name, curve), colour in zip(profiles.items(), (GREY, BLUE, RED), strict=True):
            along = 1e3 * (curve.along - curve.along[-1])
            axes.plot(along, 1e3 * curve.nearest[group], color=colour, linewidth=1.2, label=name)
        dots = slice(None, None, 12)
        axes.plot(along[dots], 1e3 * check[group][dots], ".", color=BLACK, markersize=3, label="independent check")
        if group != FINGERS:
            axes.axhline(1e3 * margin, color=GREEN, linewidth=0.8, linestyle="--", label="margin")
        if group != WANTED:
            axes.axhline(1e3 * clearance, color=BLACK, linewidth=0.8, linestyle="--", label="clearance")
        axes.set_title(title, fontsize=10)
        axes.set_ylabel("distance [mm]")
        axes.set_ylim(bottom=0.0)
    axes.set_xlabel("length of path before the grasp [mm]")
    entries = {
        name: line for drawn in figure.axes for line, name in zip(*drawn.get_legend_handles_labels(), strict=True)
    }
    figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=len(entries), fontsize=8)
    figure.savefig(path, dpi=110)


def picture(plan: GraspPlan, path: Path) -> None:
    """Draw hands, object and trails of the finger tips at states of the optimised path."""
    from matplotlib.figure import Figure

    problem, states = plan.example.problem, plan.optimised.states
    rows = np.linspace(0, len(states) - 1, _PICTURES).round().astype(int)
    tips = [a for a, b in problem.wanted]
    lines = trail(problem, states, tips)
    figure = Figure(figsize=(2.8 * _PICTURES, 3.9), layout="constrained")
    seen = []
    for column, row in enumerate(rows):
        axes = figure.add_subplot(1, _PICTURES, column + 1)
        _draw_state(axes, problem, states[row])
        for name, line in lines.items():
            axes.plot(*(projection(_TOWARDS) @ line.T), color=COLOURS[name.split("_")[0]], linewidth=1.0)
        axes.set_title(f"state {row} of {len(states) - 1}", fontsize=10)
        seen.append([axes.get_xlim(), axes.get_ylim()])
    low, high = np.min(seen, axis=0)[:, 0], np.max(seen, axis=0)[:, 1]
    for axes in figure.axes:
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    figure.savefig(path, dpi=120)


def _draw_state(axes: Axes, problem: PlanningProblem, state: FloatArray) -> None:
    poses = problem.robot.forward_kinematics(problem.positions_at(state), problem.base_poses)
    bodies = [
        (body.shape, poses.get(body.link, np.eye(4)) @ body.link_from_body, COLOURS[body.link.split("_")[0]])
        for body in problem.bodies
    ]
    draw_bodies(bodies, towards=_TOWARDS, through=0.3, axes=axes)


def tables(
    plan: GraspPlan,
    profiles: Mapping[str, Profile],
    check: Mapping[str, FloatArray],
    bounded: int,
    margin: float,
    seed: int,
) -> tuple[Table, Table]:
    """Return tables of the paths and of the time of each stage."""
    problem = plan.example.problem
    paths = Table(
        title=f"Both hands to a grasp: {len(problem.joints)} joints, seed {seed}; least distances on the way in mm",
        title_justify="left",
    )
    within = f"nearer than {1e3 * KEPT * margin:g}, mm of path"
    for name in ("path", "states", "length, mm", within, *check):
        paths.add_column(name, justify="left" if name == "path" else "right")
    count = {"found": len(plan.found), "shortened": len(plan.shortened), "optimised": len(plan.optimised.states)}
    for name, curve in profiles.items():
        nearest = [f"{1e3 * values.min():.3f}" for values in curve.nearest.values()]
        paths.add_row(
            name, str(count[name]), f"{1e3 * curve.along[-1]:.1f}", f"{_length_below(curve, margin):.0f}", *nearest
        )
    states = len(check[WANTED])
    paths.add_row("checked", f"{states:,}", "", "", *(f"{1e3 * values.min():.3f}" for values in check.values()))
    optimised, counts = plan.optimised, plan.optimised.statistics
    what = {
        "grasp": f"{len(problem.wanted)} contacts at once",
        "retreat": "out of contact, proved",
        "search": f"RRT-Connect: {plan.motions:,} motions by {plan.checked:,} states",
        "optimisation": f"{counts.rounds} rounds, {counts.evaluations} evaluations, proof by "
        f"{optimised.check.statistics.states:,} states",
        "independent check": f"{bounded:,} pairs bounded in {states:,} states",
    }
    effort = Table(title="Time, s", title_justify="left")
    for name in ("", "elapsed", "processor", "what"):
        effort.add_column(name, justify="left" if name in ("", "what") else "right")
    for name, took in plan.efforts.items():
        effort.add_row(name, f"{took.elapsed:.2f}", f"{took.processor:.2f}", what[name])
    return paths, effort


def _length_below(curve: Profile, margin: float) -> float:
    """Return the path length, mm, on which hands or object are nearer to each other than the margin to keep."""
    near = np.minimum(curve.nearest[HANDS], curve.nearest[WANTED]) < KEPT * margin
    return 1e3 * float(np.diff(curve.along)[near[1:] & near[:-1]].sum())


def main(seed: int = 1, deadline: float = 300.0, output: Path = Path("superovoid_grasp")) -> int:
    """Plan, check, print and write files; return exit code 0 if the independent check agrees.

    Parameters
    ----------
    seed, deadline
        As for `solve`.
    output : Path
        Folder for the files.

    Returns
    -------
    int
        Exit code.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)  # fail before the minutes of planning
    except OSError as error:
        raise ValueError(f"output = {output}: {error.strerror}") from error
    example = read_example()
    problem = example.problem
    margin = problem.check_margin(example.margin)
    validity = SceneValidity(problem)
    with progress() as bar:
        task = bar.add_task("starting", total=None)

        def stage(text: str) -> None:
            bar.update(task, description=text)

        validity.clearances(example.start[None], np.array([np.inf]), gradients=True)  # a first call takes longer
        plan = solve(example, validity, seed=seed, deadline=deadline, on_stage=stage)
        stage("clearances along the paths")
        paths = {"found": plan.found, "shortened": plan.shortened, "optimised": plan.optimised.states}
        most = max(4.0 * margin, 0.012)
        profiles = {name: profile(problem, validity, path, example.spacing, most) for name, path in paths.items()}
        stage("independent check")
        check, effort = effort_of(lambda: check_path(example.urdf, problem, profiles["optimised"].states, most))
        nearest = checked_bounds(problem, check)
        plan.efforts["independent check"] = effort
        stage("pictures")
        files = {name: output / file for name, file in _FILES.items()}
        write_csv(profiles["optimised"], nearest, problem, files["state by state"], seed)
        plot(profiles, nearest, plan, margin, files["clearances"])
        picture(plan, files["hands"])
        bar.update(task, total=1, completed=1, description="done")
    is_clear = check.clear(problem)
    if is_clear:
        verdict = f"independent check: {len(check.bounds):,} states, none in unwanted contact"
    else:
        state, pair = np.unravel_index(np.argmin(check.bounds - problem.floors), check.bounds.shape)
        where = f"state {state}, {problem.name_of(int(pair))}"
        verdict = f"independent check FAILED: {where}: {1e3 * check.bounds[state, pair]:.4f} mm"
    REPORT.verdict(verdict, states=len(check.bounds), clear=is_clear)
    for table in tables(plan, profiles, nearest, check.bounded, margin, seed):
        REPORT.table(table)
    if plan.straight:
        REPORT.line("the straight path from start to grasp is free too")
    REPORT.files(files.values())
    return 0 if is_clear else 1


STATES = "plan_grasp.csv"
"""Name of the file with the states of the path."""
_FILES = {"state by state": STATES, "clearances": "plan_grasp.png", "hands": "plan_grasp_hands.png"}
