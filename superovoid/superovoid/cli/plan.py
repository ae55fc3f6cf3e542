# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid plan`: plan a motion of a group of a robot, proved free of contact."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from superovoid.cli import option_values, view
from superovoid.extensions import CommandError
from superovoid.output import REPORT, write_lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from superovoid.planning import GroupPlanner, PlannedMotion
    from superovoid.robot import Robot

State = dict[str, float]
_PER_SECOND = 50  # rows of the timed table per second


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "plan",
        help="plan a motion of any robot, proved free of contact",
        description="Plan a motion from one state of a group of the SRDF to another, or to a pose of its tip (OMPL). "
        "Every straight motion between its states is proved to keep all pairs apart by the clearance. The exit code is "
        "1 if no motion is found.",
        example="superovoid plan arm.urdf --srdf arm.srdf --goal elbow=0.8,wrist=-0.3",
    )
    command.add_argument(
        "urdf", type=view.document, metavar="URDF", help="the robot: a file, or package://NAME/... of one"
    )
    command.add_argument("--srdf", type=view.document, required=True, metavar="SRDF", help="its groups and rules")
    option_values.add_packages(command)
    option_values.add_meshes(command)
    command.add_argument("--group", metavar="NAME", help="group of the SRDF (default: the only one that can move)")
    form = "a named state of the group, or JOINT=VALUE,... (rad or m)"
    command.add_argument(
        "--start",
        type=state_or_name,
        default={},
        metavar="STATE",
        help=f"{form} (default: joints at 0, or at the limit nearest to 0)",
    )
    command.add_argument(
        "--goal",
        type=goal,
        required=True,
        metavar="GOAL",
        help=f"{form}, or a pose of the group's tip in the root frame: X,Y,Z,QX,QY,QZ,QW (m)",
    )
    command.add_argument("--world", type=view.document, metavar="URDF", help="obstacles: a URDF whose joints are fixed")
    command.add_argument(
        "--clearance",
        type=option_values.number(above=False, most=10.0, unit="metres"),
        default=0.0,
        metavar="METRES",
        help="least distance of all pairs (default: 0)",
    )
    option_values.add_search(command, 10.0)
    command.add_argument(
        "--output",
        type=option_values.output_file,
        metavar="CSV",
        help="write the timed motion, a row every 0.02 s, as `superovoid view URDF CSV` shows it",
    )
    option_values.add_reporting(command)
    command.set_defaults(run=run, extra="plan")


_joints = option_values.assignments_type(float, "JOINT=VALUE,... or a name")


def state_or_name(text: str) -> State | str:
    """Read joint positions, or the name of a state."""
    return _joints(text) if "=" in text else text


def goal(text: str) -> State | str | tuple[float, ...]:
    """Read joint positions, the name of a state, or a pose."""
    if "," not in text or "=" in text:
        return state_or_name(text)
    try:
        pose = tuple(float(number) for number in text.split(","))
        if len(pose) != 7:
            raise ValueError
    except ValueError:
        words = "must be X,Y,Z,QX,QY,QZ,QW, JOINT=VALUE,... or a name"
        raise argparse.ArgumentTypeError(f"{option_values.quote(text)}: {words}") from None
    return pose


def run(arguments: argparse.Namespace) -> int:
    """Plan a motion, print a summary, and write the motion to a file."""
    import numpy as np

    from superovoid.planning import PlanningError
    from superovoid.planning.group_planner import GoalError, StartError
    from superovoid.values.poses import as_matrices

    robot, _ = view.robot_and_looks(arguments.urdf, None, arguments)
    try:
        planner = _planner(robot, arguments)
        asked = as_matrices("--goal", arguments.goal) if isinstance(arguments.goal, tuple) else arguments.goal
        start = planner.group.states.get(arguments.start) if isinstance(arguments.start, str) else arguments.start
        if start is None:
            known = ", ".join(planner.group.states) or "none"
            raise CommandError(f"--start {arguments.start}: no such state of '{planner.group.name}' (states: {known})")
        for joint in start:
            if joint not in robot.joint_names:
                known = ", ".join(robot.joint_names)
                raise CommandError(
                    f"--start: '{joint}' is not an independent joint of '{robot.name}' (joints: {known})"
                )
        motion = planner.plan(start, asked, deadline=arguments.time, seed=arguments.seed)
        timed = planner.time_motion(motion)
    except PlanningError as error:
        if isinstance(error, StartError | GoalError) and not error.in_contact:
            raise CommandError(str(error)) from error  # beyond a joint limit
        REPORT.verdict(f"no motion of '{robot.name}': {error}", found=False)
        return 1
    except ValueError as error:
        raise CommandError(str(error)) from error
    states = len(motion.path)
    kept = f"proved to keep {arguments.clearance:g} m" if arguments.clearance else "proved free of contact"
    REPORT.verdict(
        f"{robot.name}, {planner.group.name}: {states} states, {timed.duration:.2f} s, {kept}",
        found=True,
        joints=list(motion.joints),
        path=motion.path,
        duration=timed.duration,
        clearance_at_goal=motion.goal.clearance,
    )
    for number, state in enumerate(motion.path):
        values = ", ".join(f"{joint} {value:.4f}" for joint, value in zip(motion.joints, state, strict=True))
        REPORT.detail(f"state {number}: {values}")
    if arguments.output is not None:
        times = np.linspace(0.0, timed.duration, max(2, int(np.ceil(timed.duration * _PER_SECOND)) + 1))
        _write(arguments.output, robot, motion, times, timed.evaluate(times))
    return 0


def _planner(robot: Robot, arguments: argparse.Namespace) -> GroupPlanner:
    """Return the planner of the group, with the obstacles."""
    import numpy as np

    from superovoid.planning import GroupPlanner

    moving = [name for name in robot.groups if robot.group(name).joints]
    if not moving:
        raise CommandError(f"--srdf {arguments.srdf}: has no group with a joint of '{robot.name}' that can move")
    if arguments.group is None and len(moving) > 1:
        raise CommandError(f"--group: must be given, one of {', '.join(moving)}")
    positions = {joint: float(np.clip(0.0, *limits)) for joint, limits in robot.joint_limits.items()}
    return GroupPlanner(
        robot,
        arguments.group or moving[0],
        obstacles=_obstacles(arguments),
        positions=positions,
        clearance=arguments.clearance,
    )


def _obstacles(arguments: argparse.Namespace) -> list:
    """Return the obstacles as bodies fixed in the root frame."""
    from superovoid.scene import Body

    if arguments.world is None:
        return []
    given = argparse.Namespace(srdf=None, package=arguments.package, meshes=arguments.meshes)
    world, _ = view.robot_and_looks(arguments.world, None, given)
    if world.joint_names or world.base_links:
        moving = ", ".join((*world.joint_names, *world.base_links))
        raise CommandError(f"--world {arguments.world}: all its joints must be fixed, found {moving}")
    poses = world.forward_kinematics({})
    return [Body(body.name, body.name, body.shape, poses[body.link] @ body.link_from_body) for body in world.bodies]


def _write(path: Path, robot: Robot, motion: PlannedMotion, times: NDArray, positions: NDArray) -> None:
    """Write a table with the time and all independent joints."""
    column = {joint: place for place, joint in enumerate(motion.joints)}
    units = ["m" if robot.joints[joint].kind == "prismatic" else "rad" for joint in robot.joint_names]
    names = ["time_s", *(f"{joint}_{unit}" for joint, unit in zip(robot.joint_names, units, strict=True))]
    still = motion.problem.positions
    lines = (
        [time, *(state[column[joint]] if joint in column else still[joint] for joint in robot.joint_names)]
        for time, state in zip(times, positions, strict=True)
    )
    write_lines(path, names, lines)
    REPORT.files([path])
