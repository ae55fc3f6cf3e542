# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A picture of each fitted robot of example-robot-data, with its bodies in the colours of the verdicts.

Bodies are those of `superovoid fit --bodies N`. Each finished link is stored, so an interrupted run can be resumed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from superovoid.fitting import fit_robot
from superovoid.fitting.advice import summary
from superovoid.fitting.drawing import Camera, draw
from superovoid.fitting.report_page import VERDICT_COLOURS
from superovoid.fitting.robot_fits import RobotFit
from superovoid.fitting.stand_ins import robot_with
from superovoid.output import REPORT, CsvRow, OutputError, column, leave, machine, output_folder, print_table, progress
from superovoid.robot.groups import home_of
from superovoid_papers.experiments.fits_and_spheres import ROBOTS, robots_folder

GALLERY = {
    **ROBOTS,
    "Double pendulum": "double_pendulum_description/urdf/double_pendulum.urdf",
    "Finger": "finger_edu_description/robots/finger_edu.urdf",
    "Hector": "hector_description/robots/quadrotor_base.urdf",
    "HyQ": "hyq_description/robots/hyq_no_sensors.urdf",
    "SO-101": "so_arm_description/urdf/so101.urdf",
    "Solo12": "solo_description/robots/solo12.urdf",
    "Z1": "z1_description/urdf/z1.urdf",
}
"""Robots and their URDFs below the folder `robots` of example-robot-data."""
_PIXELS = 360
_FACETS = 32  # around a body
_KEPT = (120, 120, 120)
_TITLE_WIDTH = 44  # characters; a wider title meets the next one
_VIEW = (1.0, -0.8, 0.45)
_DARKEST = 0.6  # brightness of a surface seen edge-on


@dataclass(frozen=True)
class GalleryRow(CsvRow):
    """The verdict on one link."""

    robot: str
    link: str
    verdict: str
    bodies: int
    tolerance: float = column("tolerance_mm")
    error: float = column("error_mm")


def rows_of(robot: str, fit: RobotFit) -> list[GalleryRow]:
    """Return the verdicts on the links of a robot."""
    return [
        GalleryRow(
            robot,
            link.link,
            link.clearance.verdict,
            len(link.bodies),
            1e3 * link.clearance.tolerance,
            1e3 * link.clearance.error,
        )
        for link in fit.links
        if link.clearance is not None
    ]


def table(fits: Mapping[str, RobotFit]) -> Table:
    """Return a table of the robots: verdicts, and the link with the largest error for its tolerance."""
    made = Table(title="Verdicts on the links of each robot", title_justify="left")
    for name in ("robot", "verdicts", "bodies", "worst link", "its error, mm", "its tolerance, mm"):
        made.add_column(name, justify="left" if name in ("robot", "verdicts", "worst link") else "right")
    for robot, fit in fits.items():
        rows = rows_of(robot, fit)
        words = [robot, summary(fit.links, fit.options.tolerance), str(sum(row.bodies for row in rows))]
        if rows:
            worst = max(rows, key=lambda row: row.error / row.tolerance)
            words += [worst.link, f"{worst.error:.2f}", f"{worst.tolerance:.2f}"]
        made.add_row(*words)
    return made


def picture(fit: RobotFit) -> np.ndarray:
    """Draw a robot with its bodies, all joints at their default; return pixels (height, width, 3), 0 to 255."""
    verdicts = {link.link: link.clearance.verdict for link in fit.links if link.clearance is not None}
    bodies = {link.link: [(body.shape, body.pose) for body in link.bodies] for link in fit.links if link.bodies}
    robot = robot_with(fit.source, bodies)
    home = {name: home_of(limits) for name, limits in robot.joint_limits.items()}
    poses = robot.forward_kinematics(home, {link: np.eye(4) for link in robot.base_links})
    corners, colours = [], []
    for body in robot.bodies:
        vertices, faces = body.shape.triangles(_FACETS)
        pose = poses[body.link] @ body.link_from_body
        corners.append((vertices @ pose[:3, :3].T + pose[:3, 3])[faces])
        verdict = verdicts.get(body.link)
        colours += [_KEPT if verdict is None else VERDICT_COLOURS[verdict]] * len(faces)
    triangles = np.concatenate(corners)
    layer = draw(triangles, Camera.from_points(triangles.reshape(-1, 3), _VIEW, _PIXELS, _PIXELS))
    shaded = np.array(colours)[layer.triangle] * (_DARKEST + (1.0 - _DARKEST) * layer.facing)[..., None]
    return np.where(layer.triangle[..., None] >= 0, shaded, 255.0).astype(np.uint8)


def plot(fits: Mapping[str, RobotFit]) -> Figure:
    """Draw all robots with their verdicts."""
    across = min(3, len(fits))
    down = -(-len(fits) // across)
    figure = Figure(figsize=(3.2 * across, 3.6 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel in panels:
        panel.set_axis_off()
    for panel, (robot, fit) in zip(panels, fits.items(), strict=False):
        panel.imshow(picture(fit))
        verdicts = summary(fit.links, fit.options.tolerance).replace(" %", "\N{NO-BREAK SPACE}%")
        panel.set_title(f"{robot}\n{textwrap.fill(verdicts, _TITLE_WIDTH)}", fontsize=7)
    return figure


def main(bodies: int, robots: Sequence[str], seed: int, output: Path) -> int:
    """Run the experiment: table on the console, CSV and picture in a folder."""
    robots = tuple(robot for robot in GALLERY if robot in robots)
    folder = output_folder(output)
    share = robots_folder()
    console = REPORT.console()
    fits: dict[str, RobotFit] = {}
    with progress() as bar:
        for robot in bar.track(robots, description="robots"):
            fits[robot] = fit_robot(
                share / "robots" / GALLERY[robot],
                package_directories={"example-robot-data": share},
                bodies=bodies,
                seed=seed,
                folder=folder / "gallery_links",
            )
    rows = [row for robot, fit in fits.items() for row in rows_of(robot, fit)]
    if not rows:
        raise OutputError(f"no link of {', '.join(robots)} has meshes that can be fitted")
    print_table(console, table(fits))
    about = (
        f"superovoid experiment gallery --bodies {bodies} --robots '{','.join(robots)}' --seed {seed}",
        machine(("numpy", "numba", "scipy", "example-robot-data")),
    )
    return leave(console, folder, {"gallery": rows}, {"gallery": partial(plot, fits)}, about)
