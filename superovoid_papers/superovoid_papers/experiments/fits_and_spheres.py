# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fits of ordinary robots, against spheres: five for each body.

The robots are those of example-robot-data. The experiment uses links with meshes in the collision geometry or, for a
robot without these, in the visual geometry; links of equal geometry count once. Bodies are those of `superovoid fit`
with up to `bodies` per link. Each finished link is stored, so an interrupted run can be resumed.

The spheres are medial ones, which touch the solid's surface at two or more points, chosen one after another (S.
Stolpner, P. Kry, K. Siddiqi, "Medial spheres for shape approximation", IEEE PAMI 34 (2012)). In the paper each is
inside the solid. Here each may also be up to a fifth larger, and the choice maximises the measured intersection over
union, which inner spheres would not reach.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.table import Table

from superovoid import __version__
from superovoid.fitting.halton import halton
from superovoid.fitting.link_geometry import LinkGeometry, read_links
from superovoid.fitting.mesh_fits import MOST_BODIES, check_kinds, grow_bodies
from superovoid.fitting.quality import measure_union
from superovoid.fitting.robot_fits import FORM
from superovoid.fitting.sphere_covers import medial_radii
from superovoid.fitting.targets import Target
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
from superovoid.robot.files import PackageFolders, read_document
from superovoid.shapes import Shape, Sphere
from superovoid.viewing.palette import BLUE, RED
from superovoid_papers.experiments.kept_rows import kept_rows

FloatArray = NDArray[np.float64]

ROBOTS = {
    "Panda": "panda_description/urdf/panda.urdf",
    "UR5": "ur_description/urdf/ur5_robot.urdf",
    "UR10": "ur_description/urdf/ur10_robot.urdf",
    "Kinova": "kinova_description/robots/kinova.urdf",
    "Allegro hand": "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "Baxter": "baxter_description/urdf/baxter.urdf",
    "Tiago": "tiago_description/robots/tiago.urdf",
    "PR2": "pr2_description/urdf/pr2.urdf",
    "iCub": "icub_description/robots/icub.urdf",
    "G1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "Talos": "talos_data/robots/talos_reduced.urdf",
}
"""Robots and their URDFs below the folder `robots` of example-robot-data."""
TIMES = 5
"""Number of spheres for each body."""
_CENTRES = 800
_LARGER = (1.0, 1.1, 1.2)
_POINTS = 6000
_VOLUME_POINTS, _SURFACE_POINTS = 1 << 15, 4000


@dataclass(frozen=True)
class LinkRow(CsvRow):
    """One link with up to `bodies` bodies, and with at most five times as many spheres."""

    robot: str
    link: str
    meshes: str
    aimed_at: str
    triangles: int
    most: int
    bodies: int
    iou: float = unitless()
    mean: float = column("two_sided_mean_mm")
    seconds: float = column("fit_s")
    spheres: int
    spheres_iou: float = unitless()
    spheres_mean: float = column("spheres_two_sided_mean_mm")
    spheres_seconds: float = column("spheres_s")


class RobotLink(NamedTuple):
    """A link of a robot, with the meshes of its collision elements or of its visual ones."""

    robot: str
    meshes: str
    geometry: LinkGeometry


def medial_spheres(target: Target, count: int, seed: int) -> list[tuple[Shape, FloatArray]]:
    """Choose spheres for a solid greedily from medial ones and larger ones about their centres.

    Parameters
    ----------
    target : Target
    count : int
        Largest number; fewer if one more would not raise the intersection over union.
    seed : int

    Returns
    -------
    list of (Sphere, (4, 4) ndarray)
    """
    inner = target.interior(_CENTRES, seed)
    foot, _ = target.tree.nearest_points(inner)
    away = inner - foot
    near = np.linalg.norm(away, axis=1)
    inner, foot, away = (rows[near > 1e-9 * target.radius] for rows in (inner, foot, away))
    away /= np.linalg.norm(away, axis=1)[:, None]
    inscribed = medial_radii(foot, away, target.distance, target.radius)
    centres = np.tile(foot + inscribed[:, None] * away, (len(_LARGER), 1))
    radii = np.outer(_LARGER, inscribed).ravel()
    margin = 0.1 * target.radius
    box = halton(np.random.default_rng(seed)).random(_POINTS)
    points = target.lower - margin + (target.upper - target.lower + 2.0 * margin) * box
    inside = target.contains(points)
    holds = np.array([np.linalg.norm(points - c, axis=1) <= r for c, r in zip(centres, radii, strict=True)])
    holds = holds.astype(np.float32)
    covered = np.zeros(len(points), dtype=bool)
    chosen: list[tuple[Shape, FloatArray]] = []
    best = 0.0
    for _ in range(count):
        more_in = holds @ (inside & ~covered).astype(np.float32)
        more_out = holds @ (~inside & ~covered).astype(np.float32)
        ious = ((covered & inside).sum() + more_in) / (inside.sum() + (covered & ~inside).sum() + more_out)
        which = int(np.argmax(ious))
        if ious[which] <= best:
            break
        best = float(ious[which])
        covered |= holds[which] > 0.0
        pose = np.eye(4)
        pose[:3, 3] = centres[which]
        chosen.append((Sphere(float(radii[which])), pose))
    return chosen


def measure_link(robot: str, link: LinkGeometry, meshes: str, bodies: int, seed: int) -> Iterator[LinkRow]:
    """Generate the rows of one link: with one body and its spheres, two, and so on."""
    target = Target.from_triangles(link.vertices, link.faces)
    figures = {"volume_points": _VOLUME_POINTS, "surface_points": _SURFACE_POINTS, "seed": seed + 9}
    begun = time.process_time()
    spheres = medial_spheres(target, TIMES * bodies, seed)  # the first ones are those of smaller numbers
    spheres_seconds = time.process_time() - begun
    fits = grow_bodies(target, bodies, check_kinds("superovoid"), seed)
    seconds = 0.0
    for most in range(1, bodies + 1):
        begun = time.process_time()
        placed = next(fits)  # as in `fit_mesh`, which starts from the result for fewer
        seconds += time.process_time() - begun
        quality = measure_union(placed, target, **figures)
        some = spheres[: TIMES * most]
        other = measure_union(some, target, **figures) if some else None
        yield LinkRow(
            robot,
            link.name,
            meshes,
            target.kind,
            len(link.faces),
            most,
            len(placed),
            quality.iou,
            1e3 * quality.mean,
            seconds,
            len(some),
            float("nan") if other is None else other.iou,
            float("nan") if other is None else 1e3 * other.mean,
            spheres_seconds,
        )


def rows_of_link(link: RobotLink, bodies: int, seed: int, folder: Path) -> list[LinkRow]:
    """Return the rows of one link, stored in a folder by an earlier run or computed and stored there."""
    robot, meshes, geometry = link
    key = FORM, __version__, robot, geometry.name, meshes, geometry.digest, bodies, seed
    return kept_rows(folder, key, LinkRow, lambda: list(measure_link(robot, geometry, meshes, bodies, seed)))


def links_of(share: Path, robot: str) -> tuple[list[RobotLink], list[str]]:
    """Return the links with meshes, those of equal geometry once, and lines about unreadable ones."""
    folders = {"example-robot-data": share}
    text, package = read_document("URDF", str(share / "robots" / ROBOTS[robot]), PackageFolders(folders))
    found: list[RobotLink] = []
    words: list[str] = []
    for meshes in ("collision", "visual"):
        links = read_links(text, PackageFolders({**package, **folders}), meshes)
        words += [f"{robot}, {link.name}: {'; '.join(link.words)}" for link in links if link.state == "unreadable"]
        first = {link.digest: link for link in reversed(links) if link.state == "meshes"}
        found = [RobotLink(robot, meshes, link) for link in first.values()][::-1]
        if found:
            break
    return found, words


def robots_folder() -> Path:
    """Return the folder of example-robot-data.

    Raises
    ------
    OutputError
        If it is not installed.
    """
    try:
        files = distribution("example-robot-data").files or []
    except PackageNotFoundError:
        files = []
    for file in files:
        parts = file.parts
        if "robots" in parts and "example-robot-data" in parts:
            found = Path(str(file.locate()))
            return next(folder for folder in found.parents if folder.name == "example-robot-data")
    raise OutputError("example-robot-data is missing: pip install 'superovoid_papers[robots]'")


def table(rows: Sequence[LinkRow], robots: Sequence[str] = tuple(ROBOTS)) -> Table:
    """Return a table of means over the links of each robot; a dash for a robot without links."""
    made = Table(title="Bodies and spheres, means over links", title_justify="left")
    made.add_column("robot")
    names = ("meshes", "links", "hulls", "bodies", "IoU", "mean, mm", "fit, s", "spheres", "IoU", "mean, mm", "closer")
    for name in names:
        made.add_column(name, justify="right")
    for robot in robots:
        own = [row for row in rows if row.robot == robot]
        if not own:
            made.add_row(robot, "–", "0", *"–" * (len(names) - 2))
        for most in sorted({row.most for row in own}):
            some = [row for row in own if row.most == most]
            with_spheres = [row for row in some if row.spheres]
            made.add_row(
                robot,
                some[0].meshes,
                str(len(some)),
                str(sum(row.aimed_at == "hull" for row in some)),
                str(most),
                f"{np.mean([row.iou for row in some]):.3f}",
                f"{np.mean([row.mean for row in some]):.2f}",
                f"{sum(row.seconds for row in some):.0f}",
                f"{np.mean([row.spheres for row in some]):.0f}",
                cell(float(np.mean([row.spheres_iou for row in with_spheres or some])), ".3f"),
                cell(float(np.mean([row.spheres_mean for row in with_spheres or some])), ".2f"),
                f"{sum(row.mean < row.spheres_mean for row in with_spheres)} of {len(with_spheres)}",
            )
    return made


def plot(rows: Sequence[LinkRow]) -> Figure:
    """Draw each robot's quality against the number of bodies, and that of spheres: mean, best and worst link."""
    robots = [robot for robot in ROBOTS if any(row.robot == robot for row in rows)]
    across = min(4, len(robots))
    figure = Figure(figsize=(3.2 * across, 2.7 * -(-len(robots) // across)), layout="constrained")
    panels = figure.subplots(-(-len(robots) // across), across, sharex=True, sharey=True, squeeze=False).ravel()
    for panel, robot in zip(panels, robots, strict=False):
        _panel(panel, robot, [row for row in rows if row.robot == robot])
    for panel in panels[len(robots) :]:
        panel.set_visible(False)
    figure.supxlabel("superovoids or spheres a link", fontsize=9)
    figure.supylabel("intersection over union with the link", fontsize=9)
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=2, fontsize=9, frameon=False)
    return figure


def _panel(panel: Axes, robot: str, rows: Sequence[LinkRow]) -> None:
    """Plot one robot. All readers can distinguish the colours and marks (Okabe and Ito 2008)."""
    for name, number, value, colour, mark in (
        ("superovoids", "most", "iou", BLUE, "o-"),
        ("spheres", "", "spheres_iou", RED, "s--"),
    ):
        counts = sorted({row.most for row in rows})
        values = [[getattr(row, value) for row in rows if row.most == most and row.spheres] for most in counts]
        across = [most if number else TIMES * most for most, some in zip(counts, values, strict=True) if some]
        values = [some for some in values if some]
        panel.plot(across, [np.mean(some) for some in values], mark, color=colour, markersize=4, label=name)
        lowest, highest = ([end(some) for some in values] for end in (min, max))
        panel.fill_between(across, lowest, highest, color=colour, alpha=0.15, linewidth=0)
    panel.set_xscale("log")
    ticks = sorted({count for row in rows for count in (row.most, TIMES * row.most)})
    panel.set_xticks(ticks, [str(tick) for tick in ticks], fontsize=7)
    panel.set_xticks([], minor=True)
    panel.tick_params(axis="y", labelsize=7)
    panel.grid(alpha=0.3)
    words = f"{len({row.link for row in rows})} links" + (", visual meshes" if rows[0].meshes == "visual" else "")
    panel.set_title(f"{robot}: {words}", fontsize=9)


def main(bodies: int, robots: Sequence[str], seed: int, output: Path) -> int:
    """Run the experiment: table on the console, CSV and plot in a folder."""
    if bodies > MOST_BODIES:
        raise OutputError(f"--bodies {bodies}: must be at most {MOST_BODIES}")
    robots = tuple(robot for robot in ROBOTS if robot in robots)
    folder = output_folder(output)
    share = robots_folder()
    parts = output_folder(folder / "fits_links")
    console = REPORT.console()
    links, words = [], []
    for name in robots:
        found, unread = links_of(share, name)
        links += found
        words += unread
    rows: list[LinkRow] = []
    with progress() as bar:
        for link in bar.track(links, description="links"):
            try:
                rows += rows_of_link(link, bodies, seed, parts)
            except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
                words.append(f"{link.robot}, {link.geometry.name}: cannot be fitted: {error}")
    if not rows:
        raise OutputError(f"no link of {', '.join(robots)} has meshes that can be fitted: {'; '.join(words)}")
    print_table(console, table(rows, robots))
    which = "" if tuple(robots) == tuple(ROBOTS) else f"--robots '{','.join(robots)}' "
    about = (
        f"superovoid experiment fits --bodies {bodies} {which}--seed {seed}",
        machine(("numpy", "numba", "scipy", "example-robot-data")),
    )
    return leave(console, folder, {"fits": rows}, {"fits": partial(plot, rows)}, about, words)
