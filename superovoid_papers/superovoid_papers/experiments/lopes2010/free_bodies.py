# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Lopes et al. 2010, section 6: the whole loop, including contact forces and equations of motion.

The paper describes the loop without showing a motion, so the experiment throws the bodies of tables 5 and 6 at each
other: homogeneous, soft enough for contacts of many steps, rotating about the axes of the tables. Balls have answers in
closed form (Hertz), and show whether a law reproduces its coefficient of restitution. Every contact is compared with
the engine's certified distance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from superovoid import distance
from superovoid.output import (
    REPORT,
    CsvRow,
    cell,
    column,
    leave,
    machine,
    output_folder,
    print_table,
    progress,
    unitless,
)
from superovoid.viewing.palette import BLACK, BLUE, GREEN, RED
from superovoid_papers.experiments.lopes2010 import ellipsoids, superellipsoids
from superovoid_papers.experiments.lopes2010.prescribed_motions import Case
from superovoid_papers.methods.lopes2010 import Material, RigidBody, simulate
from superovoid_papers.methods.lopes2010.contact_dynamics import LAWS, ContactError, Simulation, mass_and_inertia

MATERIAL, DENSITY = Material(young=1e8, poisson=0.3), 1000.0
SPEED = 1.0
"""Speed of the centres towards each other, m/s."""
SPIN = 0.5
"""Angular speed of each body about its axis of the tables, rad/s."""
GAP, ASIDE = 0.01, 0.2
"""Initial gap of the bodies, m, and offset of the second from the line of centres, in its smallest radii."""
RESTITUTION = 0.8
BALLS = "table 5, pair 1"
RESTITUTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class Row(CsvRow):
    """A motion."""

    bodies: str
    law: str
    steps: int
    evaluations: int
    """of the contact of the pair, four per step and one for the record"""
    iterations: float = unitless("iterations_mean")
    """of Newton's method, mean of the evaluations with a run of it"""
    singular: int
    """iterations with a pseudo-inverse"""
    restarts: int
    """evaluations restarted at the midpoint of the centres"""
    contact_ms: float
    """time in contact"""
    depth_mm: float = column("depth_max_mm")
    """largest"""
    force_kN: float = column("force_max_kN")
    """largest"""
    wrong_um: float = column("error_max_um")
    """largest difference from the certified distance"""
    energy: float = unitless("energy_share")
    """kinetic, at the end, share of that at the start"""
    momentum: float = unitless("momentum_drift_share")
    """largest drift, share of a body's at the start"""
    angular_momentum: float = unitless("angular_momentum_drift_share")
    """the same of the angular momentum, about the origin"""
    us_evaluation: float = column("evaluation_us")
    """processor time of an evaluation, including Python and integration"""
    problem: str
    """empty, or the reason why the motion could not be followed"""


def throw_bodies(case: Case, aside: float) -> list[RigidBody]:
    """Return both bodies of a table's column, moving towards each other."""
    way = np.array((1.0, 0.0, 0.0))
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[1, 1, 3] = aside * min(case.sizes[1])
    poses[1, 0, 3] = 2.0 * sum(body.bounding_radius() for body in case.bodies)
    # Move it along the path to the gap: the distance decreases by at most the length of the path.
    for _ in range(200):
        gap = distance(case.shapes[0], poses[0], case.shapes[1], poses[1]).lower
        if gap <= GAP * (1.0 + 1e-6):
            break
        poses[1, 0, 3] -= gap - GAP
    axes = (np.array((1.0, 0.0, 0.0)), np.array(case.axis) / np.linalg.norm(case.axis))
    return [
        RigidBody(body, pose, sign * 0.5 * SPEED * way, SPIN * axis, DENSITY, MATERIAL)
        for body, pose, sign, axis in zip(case.bodies, poses, (1.0, -1.0), axes, strict=True)
    ]


def hertz(bodies: Sequence[RigidBody], radius: float) -> tuple[float, float]:
    """Return largest depth, m, and duration, s, of the central impact of two bodies with a given R_e.

    Johnson 1985, section 11.4.1: (15 m v^2 / (16 E* sqrt(R)))^(2/5) and 2.94 times that over v, for reduced mass m.
    """
    masses = [mass_and_inertia(body.shape, body.density)[0] for body in bodies]
    reduced = 1.0 / sum(1.0 / mass for mass in masses)
    stiffness = math.sqrt(radius) / sum(body.material.compliance for body in bodies)
    depth = (15.0 * reduced * SPEED**2 / (16.0 * stiffness)) ** 0.4
    # Twice the integral of 1 / sqrt(1 - x^(5/2)) from 0 to 1.
    factor = 4.0 * math.sqrt(math.pi) * math.gamma(0.4) / (5.0 * math.gamma(0.9))
    return depth, factor * depth / SPEED


def follow(case: Case, law: str, steps: int, restitution: float, aside: float) -> Simulation:
    """Throw the bodies of a case at each other; `steps` is that of a contact of balls of their size."""
    bodies = throw_bodies(case, aside)
    _, duration = hertz(bodies, min(min(size) for size in case.sizes))
    return simulate(bodies, GAP / SPEED + 3.0 * duration, duration / steps, law=law, restitution=restitution)


def largest_error(case: Case, found: Simulation) -> float:
    """Return the largest difference of the distances found from the certified ones, m.

    Raises
    ------
    RuntimeError
        If the engine cannot certify one, which would make a comparison impossible.
    """
    errors = [0.0]
    for poses, value in zip(found.poses, found.distance[:, 0], strict=True):
        if not math.isnan(value):
            certified = distance(case.shapes[0], poses[0], case.shapes[1], poses[1])
            if not certified.status.certified:
                raise RuntimeError(f"pair {case.name}: must be certified, found {certified.status!r}")
            errors.append(abs(certified.distance - value))
    return max(errors)


def measure(name: str, case: Case, law: str, steps: int, aside: float = ASIDE) -> tuple[Row, Simulation | None]:
    """Follow one motion and compare its conserved quantities."""
    began = time.process_time()
    try:
        found = follow(case, law, steps, RESTITUTION, aside)
    except ContactError as error:
        missing = (math.nan,) * 8
        return Row(name, law, 0, 0, math.nan, 0, 0, *missing, problem=str(error)), None
    spent = time.process_time() - began
    step = found.time[1]
    start = 0.5 * SPEED * mass_and_inertia(case.bodies[0], DENSITY)[0]
    drift = [np.ptp(values, axis=0).max() for values in (found.momentum, found.angular_momentum)]
    return Row(
        bodies=name,
        law=law,
        steps=len(found.time) - 1,
        evaluations=found.statistics.evaluations,
        iterations=found.statistics.iterations / max(found.statistics.solved, 1),
        singular=found.statistics.singular,
        restarts=found.statistics.restarts,
        contact_ms=1e3 * step * int((found.distance[:, 0] < 0.0).sum()),
        depth_mm=1e3 * max(0.0, -float(np.nanmin(found.distance))),
        force_kN=1e-3 * float(found.force.max()),
        wrong_um=1e6 * largest_error(case, found),
        energy=float(found.kinetic_energy[-1] / found.kinetic_energy[0]),
        momentum=float(drift[0] / start),
        angular_momentum=float(drift[1] / (start * case.bodies[0].bounding_radius())),
        us_evaluation=1e6 * spent / found.statistics.evaluations,
        problem="",
    ), found


@dataclass(frozen=True)
class Restitution(CsvRow):
    """Given and measured coefficient of restitution of a law, in the central impact of two balls."""

    law: str
    asked: float = unitless()
    found: float = unitless()


def restitutions(steps: int) -> list[Restitution]:
    """Measure for both dissipative laws."""
    case = ellipsoids.CASES[0]
    rows = []
    for law in ("lankarani-nikravesh", "flores"):
        for asked in RESTITUTIONS:
            velocity = follow(case, law, steps, asked, 0.0).velocity[-1, :, 0]
            rows.append(Restitution(law, asked, float(velocity[1] - velocity[0]) / SPEED))
    return rows


def table(rows: Sequence[Row]) -> Table:
    """Return the table of all motions."""
    shown = Table(title="Section 6: bodies of tables 5 and 6 thrown at each other", title_justify="left")
    columns = {
        "steps": "d", "evaluations": "d", "iterations": ".2f", "singular": "d", "restarts": "d", "contact_ms": ".1f",
        "depth_mm": ".3f", "force_kN": ".1f", "wrong_um": ".1e", "energy": ".6f", "momentum": ".0e",
        "angular_momentum": ".0e", "us_evaluation": ".0f",
    }  # fmt: skip
    for name in ("bodies", "law"):
        shown.add_column(name, no_wrap=True)
    for name in columns:
        shown.add_column(Row.heading(name), justify="right")
    for row in rows:
        shown.add_row(row.bodies, row.law, *(cell(getattr(row, name), form) for name, form in columns.items()))
    return shown


def restitution_table(rows: Sequence[Restitution]) -> Table:
    """Return the table of given and measured coefficients."""
    shown = Table(title="Restitution of balls: given, measured", title_justify="left")
    shown.add_column("law")
    for asked in RESTITUTIONS:
        shown.add_column(f"{asked:g}", justify="right")
    for law in dict.fromkeys(row.law for row in rows):
        shown.add_row(law, *(f"{row.found:.3f}" for row in rows if row.law == law))
    return shown


_COLOURS = {"hertz": "0.35", "lankarani-nikravesh": BLUE, "flores": RED}


def plot(balls: dict[str, Simulation], motion: Simulation, about: str, kept: Sequence[Restitution]) -> Figure:
    """Draw force over depth and restitution of balls, and a motion of ellipsoids with its energy."""
    figure = Figure(figsize=(11.0, 7.6), layout="constrained")
    (loop, returned), (course, energy) = figure.subplots(2, 2)
    for law, found in balls.items():
        touching = found.distance[:, 0] < 0.0
        depth = -1e3 * found.distance[touching, 0]
        loop.plot(depth, 1e-3 * found.force[touching, 0], color=_COLOURS[law], label=law, linewidth=1.2)
        rows = [row for row in kept if row.law == law]
        if rows:
            asked, reached = [row.asked for row in rows], [row.found for row in rows]
            returned.plot(asked, reached, color=_COLOURS[law], marker="o", markersize=4, label=law)
    loop.set(title=f"two balls, e = {RESTITUTION:g}: force over depth", xlabel="depth, mm", ylabel="force, kN")
    returned.plot((0.0, 1.0), (0.0, 1.0), color=BLACK, linewidth=0.8, linestyle="--", label="found = requested")
    returned.set(title="two balls: restitution", xlabel="requested coefficient", ylabel="found")
    ms = 1e3 * motion.time
    course.plot(ms, 1e3 * motion.distance[:, 0], color=BLUE, label="signed distance, mm")
    course.axhline(0.0, color=BLACK, linewidth=0.6)
    right = course.twinx()
    right.plot(ms, 1e-3 * motion.force[:, 0], color=RED, label="force, kN")
    course.set(title=about, xlabel="time, ms", ylabel="signed distance, mm")
    right.set(ylabel="force, kN")
    lines = [*course.get_lines()[:1], *right.get_lines()]
    course.legend(lines, [line.get_label() for line in lines], fontsize=8, loc="upper center")
    energy.plot(ms, motion.kinetic_energy / motion.kinetic_energy[0], color=GREEN, label="kinetic energy")
    energy.set(title=f"{about}: energy", xlabel="time, ms", ylabel="fraction of the initial energy")
    for panel in (loop, returned, energy):
        panel.legend(fontsize=8)
    for panel in (loop, returned, course, energy):
        panel.grid(alpha=0.25, linewidth=0.5)
    return figure


def main(steps: int, output: Path) -> int:
    """Run the experiment; print tables, write CSV files and a plot."""
    folder = output_folder(output)
    console = REPORT.console()
    tables = {5: ellipsoids.CASES, 6: superellipsoids.CASES}
    cases = {f"table {number}, pair {case.name}": case for number, group in tables.items() for case in group}
    rows: list[Row] = []
    balls: dict[str, Simulation] = {}
    shown: Simulation | None = None
    with progress() as bar:
        task = bar.add_task("following", total=len(cases) * len(LAWS))
        for name, case in cases.items():
            for law in LAWS:
                bar.update(task, description=f"{name}, {law}")
                central = name == BALLS
                row, found = measure(name, case, law, steps, 0.0 if central else ASIDE)
                rows.append(row)
                if central:
                    balls[law] = found
                if name == "table 5, pair 4" and law == "flores":
                    shown = found
                bar.advance(task)
    kept = restitutions(steps)
    for printed in (table(rows), restitution_table(kept)):
        print_table(console, printed)
    first = cases[BALLS]
    depth, duration = hertz(throw_bodies(first, 0.0), 1.0 / sum(1.0 / size[0] for size in first.sizes))
    console.print(f"balls, Hertz in closed form: depth {1e3 * depth:.3f} mm, contact {1e3 * duration:.1f} ms")
    for row in rows:
        if row.problem:
            console.print(f"not followed: {row.bodies}, {row.law}: {row.problem}", highlight=False)
    about = f"superovoid experiment lopes-dynamics --steps {steps}", machine()
    plots = {}
    if shown is not None and all(balls.values()):
        plots["lopes_dynamics"] = partial(plot, balls, shown, "table 5, pair 4, Flores", kept)
    leave(console, folder, {"lopes_dynamics_motions": rows, "lopes_dynamics_restitution": kept}, plots, about)
    return 1 if any(row.problem for row in rows) else 0
