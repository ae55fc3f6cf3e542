# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An optimal control problem: a Panda moves past a wall, with exact distances and with spheres.

The robot is that of example-robot-data, its collision meshes as convex hulls. IPOPT, called by CasADi, finds joint
positions at equal times with the least sum of squared steps and accelerations, so that all bodies of the robot are at
least a margin from the wall. With spheres, each hull is covered by spheres, which is proved (`cover_with_spheres`).
Both models get their distances and derivatives from `superovoid.casadi`, so the difference is that of the bodies.

Coal measures the clearance of the hulls on the path, linear between the states.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from superovoid.fitting.sphere_covers import cover_with_spheres
from superovoid.output import (
    REPORT,
    CsvRow,
    OutputError,
    column,
    leave,
    machine,
    output_folder,
    print_table,
    unitless,
)
from superovoid.robot import Robot
from superovoid.scene import Body, Scene
from superovoid.shapes import Box
from superovoid_papers.benchmarks.robots import ROBOTS, Libraries, coal_geometry, libraries

FloatArray = NDArray[np.float64]

MARGIN = 0.02
"""Least distance of each body from the wall, m."""
OVERSHOOT = 0.02
"""Largest distance of a point of the spheres from the hulls, m."""
WALL = Box((0.9, 0.04, 0.8)), (0.65, 0.0, 0.0)
"""Shape, and place in the frame of the robot, m."""
_ARM = [f"panda_joint{i}" for i in range(1, 8)]
_START, _GOAL = (0.9, 0.3, 0.0, -2.0, 0.0, 2.2, 0.8), (-0.9, 0.3, 0.0, -2.0, 0.0, 2.2, 0.8)  # rad
_CUTOFF = 0.3  # m: farther pairs have this distance and no derivative
_ACCELERATIONS = 10.0  # weight
_FRACTIONS = 10  # parts of a step that Coal checks


@dataclass(frozen=True)
class Solution(CsvRow):
    """The path with one model of the robot, and one kind of second derivatives."""

    model: str
    bodies: int
    hessian: str
    iterations: int
    ending: str
    """IPOPT's status"""
    seconds: float = column("processor_s")
    cost: float = unitless()
    clearance: float = column("clearance_mm")
    """Least distance of the hulls from the wall on the path, by Coal."""


def _ends(robot: Robot) -> FloatArray:
    """Return the joint positions of start and goal."""
    arms = (dict(zip(_ARM, arm, strict=True)) for arm in (_START, _GOAL))
    return np.array([[arm.get(name, 0.0) for name in robot.joint_names] for arm in arms])


def models(robot: Robot) -> Iterator[tuple[str, list[Body]]]:
    """Generate the names and the bodies of the models of the links that reach the wall."""
    hulls = [body for body in robot.bodies if body.link not in ("panda_link0", "panda_link1")]
    yield "hulls", hulls
    yield (
        "spheres",
        [
            Body(f"{hull.name} {i}", hull.link, sphere, pose)
            for hull in hulls
            for i, (sphere, pose) in enumerate(cover_with_spheres([(hull.shape, hull.link_from_body)], OVERSHOOT))
        ],
    )


def solve(
    robot: Robot, bodies: list[Body], ends: FloatArray, states: int, hessian: str
) -> tuple[FloatArray, dict[str, Any], float, float]:
    """Solve the problem; return the path (states, joints), IPOPT's statistics, processor time [s] and cost."""
    import casadi

    from superovoid.casadi import StateDistances

    shape, place = WALL
    count = len(bodies)
    scene = Scene([*bodies, Body("wall", "wall", shape, place)], [(i, count) for i in range(count)])
    scene.set_link_pose("wall", np.eye(4))
    inner = states - 2
    ask = StateDistances("distances", robot, scene, states=inner, max_distance=_CUTOFF)
    q = casadi.MX.sym("q", ends.shape[1], inner)
    steps = casadi.diff(casadi.horzcat(ends[0], q, ends[1]), 1, 1)
    cost = casadi.sumsqr(steps) + _ACCELERATIONS * casadi.sumsqr(casadi.diff(steps, 1, 1))
    options = {"print_time": False, "ipopt": {"print_level": 0, "max_iter": 300, "hessian_approximation": hessian}}
    problem = {"x": casadi.vec(q), "f": cost, "g": casadi.vec(ask(q))}
    solver = casadi.nlpsol("solver", "ipopt", problem, options)
    low, high = np.array([robot.joint_limits[name] for name in robot.joint_names]).T
    straight = np.linspace(*ends, states)[1:-1]
    started = time.process_time()
    found = solver(x0=straight.ravel(), lbx=np.tile(low, inner), ubx=np.tile(high, inner), lbg=MARGIN, ubg=np.inf)
    used = time.process_time() - started
    path = np.vstack([ends[0], np.array(found["x"]).reshape(inner, -1), ends[1]])
    return path, solver.stats(), used, float(found["f"])


def clearance(found: Libraries, robot: Robot, hulls: list[Body], path: FloatArray) -> float:
    """Return the least distance of hulls from the wall on a path by Coal, m."""
    coal, (shape, place) = found.coal, WALL
    shapes = [coal_geometry(coal, body.shape) for body in hulls]
    wall, wall_pose = coal_geometry(coal, shape), coal.Transform3s(np.eye(3), np.array(place))
    request, least = coal.DistanceRequest(), np.inf
    for share in np.linspace(0.0, 1.0, _FRACTIONS, endpoint=False):
        for positions in np.vstack([path[:-1] + share * np.diff(path, axis=0), path[-1:]]):
            poses = robot.forward_kinematics(positions)
            for body, geometry in zip(hulls, shapes, strict=True):
                pose = np.asarray(poses[body.link]) @ body.link_from_body
                result = coal.DistanceResult()
                at = coal.Transform3s(pose[:3, :3], pose[:3, 3])
                least = min(least, coal.distance(geometry, at, wall, wall_pose, request, result))
    return float(least)


def table(rows: list[Solution]) -> Table:
    """Return the table of solutions."""
    result = Table(title=f"A Panda moves past a wall, {1e3 * MARGIN:.0f} mm away", title_justify="left")
    for name in ("model", "second derivatives"):
        result.add_column(name)
    for name in ("bodies", "iterations", "processor time, s", "cost", "clearance by Coal, mm"):
        result.add_column(name, justify="right")
    result.add_column("ending")
    for row in rows:
        numbers = str(row.bodies), str(row.iterations), f"{row.seconds:.2f}", f"{row.cost:.3f}"
        result.add_row(row.model, row.hessian, *numbers, f"{row.clearance:.1f}", row.ending)
    return result


def main(states: int, output: Path) -> int:
    """Solve, print a table, write CSV."""
    console = REPORT.console()
    if states < 3:
        raise OutputError(f"--states {states}: must be at least 3: the start, the goal and one between them")
    try:
        found = libraries()
        import casadi  # noqa: F401
    except ImportError as error:
        print(f"superovoid experiment optimal-control: {error}", file=sys.stderr)
        return 1
    output_folder(output)
    folders = {"example-robot-data": found.robots.parent}
    robot = Robot.load(found.robots / ROBOTS["Panda"], package_directories=folders)
    rows: list[Solution] = []
    hulls: list[Body] = []
    for name, bodies in models(robot):
        hulls = hulls or bodies
        for hessian in ("exact", "limited-memory"):
            path, stats, used, cost = solve(robot, bodies, _ends(robot), states, hessian)
            least = 1e3 * clearance(found, robot, hulls, path)
            ending = str(stats["return_status"])
            rows.append(Solution(name, len(bodies), hessian, stats["iter_count"], ending, used, cost, least))
    print_table(console, table(rows))
    command = f"superovoid experiment optimal-control --states {states}"
    about = command, machine(("numpy", "casadi", "coal"))
    return leave(console, output, {"optimal_control": rows}, {}, about)
