# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Effect of fitted bodies on a planner, for ordinary robots: states with disagreement of bodies and meshes, and times.

The robots and their fitted meshes are those of `fits_and_spheres`. If example-robot-data has an SRDF that disables the
pairs of links that overlap at the default, it determines the pairs; otherwise the study excludes pairs whose meshes
overlap at the default or in 95 % of the states. Each robot's study, and each link's fit, is stored, so an interrupted
run can be resumed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from superovoid import __version__
from superovoid.fitting import fit_robot, study_planner
from superovoid.fitting.mesh_fits import MOST_BODIES
from superovoid.fitting.planner_study import BODIES, HULLS, MESHES, QUESTIONS, PairStudy, PlannerStudy
from superovoid.fitting.robot_fits import FORM, RobotFit
from superovoid.output import (
    REPORT,
    CsvRow,
    OutputError,
    cell,
    column,
    leave,
    machine,
    output_folder,
    print_table,
    progress,
    unitless,
)
from superovoid.values.checks import is_refusal
from superovoid_papers.benchmarks.robots import COAL, coal_on_hulls
from superovoid_papers.experiments.fits_and_spheres import ROBOTS, links_of, robots_folder
from superovoid_papers.experiments.kept_rows import kept_rows

RULES = {
    "Panda": "panda_description/srdf/panda.srdf",
    "Baxter": "baxter_description/srdf/baxter_manipulation.srdf",
    "PR2": "pr2_description/srdf/pr2.srdf",
    "Talos": "talos_data/srdf/talos.srdf",
}
"""SRDFs below the folder `robots` of example-robot-data."""
ALL = "any"
"""Instead of two links: whether any pair overlaps."""
WHO = {BODIES: "bodies", MESHES: "meshes", HULLS: "hulls", COAL: "Coal"}
"""Words of the table."""


@dataclass(frozen=True)
class StudyRow(CsvRow):
    """Two links of a robot, or any two, in random states; shares of all states with their interval of 95 %."""

    robot: str
    link_a: str
    link_b: str
    meshes: str
    rules: str
    """an SRDF; none: excludes pairs whose meshes overlap at the default or nearly always"""
    pairs: int
    """number of checked pairs of links"""
    states: int
    undecided: int
    colliding: int
    bodies_only: int
    bodies_only_lower: float = unitless()
    bodies_only_upper: float = unitless()
    meshes_only: int
    meshes_only_lower: float = unitless()
    meshes_only_upper: float = unitless()
    missed_depth: float = column("missed_depth_mm")


@dataclass(frozen=True)
class SpeedRow(CsvRow):
    """States of a robot answered per second of processor time, one thread."""

    robot: str
    question: str
    who: str
    bodies: int
    pairs: int
    """of bodies"""
    timed: int
    """states"""
    states: float = column("states_per_s")


def fit_links(share: Path, robot: str, bodies: int, seed: int, folder: Path) -> RobotFit:
    """Fit a robot with up to `bodies` per link; store its links in a folder."""
    links, _ = links_of(share, robot)
    return fit_robot(
        share / "robots" / ROBOTS[robot],
        package_directories={"example-robot-data": share},
        target=links[0].meshes if links else "collision",
        bodies=bodies,
        seed=seed,
        folder=folder,
    )


def study_rows(robot: str, meshes: str, rules: str, study: PlannerStudy) -> list[StudyRow]:
    """Convert a study to rows, that of all pairs first."""

    def row(pair: PairStudy) -> StudyRow:
        return StudyRow(
            robot, pair.link_a, pair.link_b, meshes, rules, study.pairs_checked, study.states, pair.undecided,
            pair.colliding, *pair.false_positive, *pair.false_negative, 1e3 * pair.missed_depth,
        )  # fmt: skip

    return [row(pair) for pair in (study.whole, *study.pairs)]


def speed_rows(robot: str, study: PlannerStudy) -> list[SpeedRow]:
    """Convert the times of a study to rows."""
    return [SpeedRow(robot, *speed.query, speed.states, speed.per_second) for speed in study.speeds]


def rows_of_robot(
    share: Path, robot: str, fit: RobotFit, states: int, folder: Path
) -> tuple[list[StudyRow], list[SpeedRow]]:
    """Return the rows of one robot, stored in a folder by an earlier run or computed and stored."""
    seed, meshes = fit.options.seed, fit.options.target
    srdf = share / "robots" / RULES[robot] if robot in RULES else None
    rules = "none" if srdf is None else srdf.name
    made: list[PlannerStudy] = []

    def study() -> PlannerStudy:
        if not made:
            folders = {"example-robot-data": share}
            made.append(
                study_planner(fit, srdf, package_directories=folders, states=states, seed=seed, reference=coal_on_hulls)
            )
        return made[0]

    text = "" if srdf is None else srdf.read_text(encoding="utf-8")
    digest = hashlib.sha256(f"{fit.urdf}{text}".encode()).hexdigest()
    key = FORM, __version__, robot, meshes, rules, states, seed, digest
    return (
        kept_rows(folder, key, StudyRow, lambda: study_rows(robot, meshes, rules, study())),
        kept_rows(folder, key, SpeedRow, lambda: speed_rows(robot, study())),
    )


def study_table(rows: Sequence[StudyRow]) -> Table:
    """Return the table of each robot's states; by pairs: sums over all pairs of collisions, bodies or meshes only."""
    states = rows[0].states if rows else 0
    made = Table(title=f"{states:,} random states of each robot; shares in %", title_justify="left")
    made.add_column("robot")
    for name in ("pairs", "meshes collide", "bodies only", "meshes only", "missed depth, mm", "undecided", "by pairs"):
        made.add_column(name, justify="right")
    for row in rows:
        if row.link_a != ALL:
            continue
        of_pairs = [pair for pair in rows if pair.robot == row.robot and pair.link_a != ALL]
        sums = (sum(getattr(pair, name) for pair in of_pairs) for name in ("colliding", "bodies_only", "meshes_only"))
        shares = (
            f"{count} ({100.0 * lower:.2f} to {100.0 * upper:.2f})"
            for count, lower, upper in (
                (row.bodies_only, row.bodies_only_lower, row.bodies_only_upper),
                (row.meshes_only, row.meshes_only_lower, row.meshes_only_upper),
            )
        )
        made.add_row(
            row.robot, f"{row.pairs:,}", f"{row.colliding:,}", *shares, f"{row.missed_depth:.1f}", f"{row.undecided:,}",
            " / ".join(f"{count:,}" for count in sums),
        )  # fmt: skip
    return made


def speed_table(rows: Sequence[SpeedRow]) -> Table:
    """Return the table of each robot's times; a dash for a missing measurement."""
    made = Table(title="States a second of one thread", title_justify="left")
    made.add_column("robot")
    made.add_column("asked of")
    for name in ("bodies", "pairs", *QUESTIONS):
        made.add_column(name, justify="right")
    found = {(row.robot, row.who, row.question): row for row in rows}
    for robot in dict.fromkeys(row.robot for row in rows):
        for who in WHO:
            own = [found.get((robot, who, question)) for question in QUESTIONS]
            some = next((row for row in own if row is not None), None)
            if some is not None:
                rates = (cell(float("nan") if row is None else row.states, ",.0f") for row in own)
                made.add_row(robot, WHO[who], str(some.bodies), f"{some.pairs:,}", *rates)
    return made


def main(bodies: int, robots: Sequence[str], states: int, seed: int, output: Path) -> int:
    """Run the experiment: tables on the console, CSV in a folder."""
    if bodies > MOST_BODIES:
        raise OutputError(f"--bodies {bodies}: must be at most {MOST_BODIES}")
    robots = tuple(robot for robot in ROBOTS if robot in robots)
    folder = output_folder(output)
    share = robots_folder()
    parts = output_folder(folder / "studies_links")
    console = REPORT.console()
    rows: list[StudyRow] = []
    speeds: list[SpeedRow] = []
    words = []
    with progress() as bar:
        for robot in bar.track(robots, description="robots"):
            try:
                fit = fit_links(share, robot, bodies, seed, parts)
                of_states, of_speeds = rows_of_robot(share, robot, fit, states, parts)
            except ValueError as error:
                if not is_refusal(error):
                    raise
                words.append(f"{robot}: cannot be studied: {error}")
                continue
            rows += of_states
            speeds += of_speeds
            words += [
                f"{robot}, {link.link}: {'; '.join(link.words)}"
                for link in fit.links
                if link.state in ("failed", "unreadable")
            ]
    if not rows:
        raise OutputError(f"no robot of {', '.join(robots)} can be studied: {'; '.join(words)}")
    print_table(console, study_table(rows))
    print_table(console, speed_table(speeds))
    which = "" if robots == tuple(ROBOTS) else f"--robots '{','.join(robots)}' "
    about = (
        f"superovoid experiment studies --bodies {bodies} --states {states} {which}--seed {seed}",
        machine(("numpy", "numba", "scipy", "example-robot-data", "pin", "coal")),
    )
    return leave(console, folder, {"studies": rows, "studies_speeds": speeds}, {}, about, words)
