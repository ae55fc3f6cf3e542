# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fits of ordinary robots, beside spheres: five for each body.

The robots are those of example-robot-data, their links those with meshes among the collision geometry; links of equal
geometry count once. Bodies are those of `superovoid fit` with up to so many a link.

The spheres are medial ones, which touch the solid's surface at two points or more, chosen one after the other (S.
Stolpner, P. Kry, K. Siddiqi, "Medial spheres for shape approximation", IEEE PAMI 34 (2012)). There each stays inside.
Here each may also be up to a fifth larger, and the one that raises the intersection over union most is taken: that is
what is measured, and spheres that stay inside would fall short of it. Files of cuRobo, VAMP and foam come with no
package of PyPI; their figures are in no column.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.stats import qmc

from superovoid_ros.fitting import Target, measure_union
from superovoid_ros.fitting.link_geometry import LinkGeometry, read_links
from superovoid_ros.fitting.mesh_fits import checked_kinds, grown
from superovoid_ros.output import CsvRow, OutputError, cell, column, leave, machine, output_folder, progress, unitless
from superovoid_ros.robot.files import PackageFolders, read_document
from superovoid_ros.shapes import Shape, Sphere

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
"""Spheres for each body."""
_CENTRES = 800
_LARGER = (1.0, 1.1, 1.2)
_POINTS = 6000
_SHRINKS = 30
_VOLUME_POINTS, _SURFACE_POINTS = 1 << 15, 4000


@dataclass(frozen=True)
class LinkRow(CsvRow):
    """One link with up to so many bodies, and as spheres; nan where spheres were not asked for."""

    robot: str
    link: str
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


def medial_spheres(target: Target, count: int, seed: int) -> list[tuple[Shape, FloatArray]]:
    """Spheres for a solid, chosen greedily from medial ones and larger ones about their centres.

    Parameters
    ----------
    target : Target
    count : int
        At most so many; fewer where one more would not raise the intersection over union.
    seed : int

    Returns
    -------
    list of (Sphere, (4, 4) ndarray)
    """
    inner = target.interior(_CENTRES, seed)
    foot, _ = target.tree.nearest(inner)
    away = inner - foot
    near = np.linalg.norm(away, axis=1)
    inner, foot, away = (rows[near > 1e-9 * target.radius] for rows in (inner, foot, away))
    away /= np.linalg.norm(away, axis=1)[:, None]
    # The largest ball that touches the surface at the foot: bisection over its radius.
    low, high = np.linalg.norm(inner - foot, axis=1), np.full(len(inner), target.radius)
    for _ in range(_SHRINKS):
        radius = 0.5 * (low + high)
        fits = target.distance(foot + radius[:, None] * away) >= radius * (1.0 - 1e-6)
        low, high = np.where(fits, radius, low), np.where(fits, high, radius)
    centres = np.tile(foot + low[:, None] * away, (len(_LARGER), 1))
    radii = np.outer(_LARGER, low).ravel()
    margin = 0.1 * target.radius
    box = qmc.Halton(3, seed=np.random.default_rng(seed)).random(_POINTS)
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


def measure_link(robot: str, link: LinkGeometry, bodies: int, seed: int) -> Iterator[LinkRow]:
    """Rows of one link: with one body, two, and so on; the last with spheres."""
    target = Target.from_triangles(link.vertices, link.faces)
    figures = {"volume_points": _VOLUME_POINTS, "surface_points": _SURFACE_POINTS, "seed": seed + 9}
    fits = grown(target, bodies, checked_kinds("superovoid"), seed)
    seconds = 0.0
    for most in range(1, bodies + 1):
        begun = time.process_time()
        placed = next(fits)  # as `fit_mesh` has it; what is found for fewer is begun from
        seconds += time.process_time() - begun
        quality = measure_union(placed, target, **figures)
        spheres, other, taken = [], None, float("nan")
        if most == bodies:
            begun = time.process_time()
            spheres = medial_spheres(target, TIMES * bodies, seed)
            taken = time.process_time() - begun
            other = measure_union(spheres, target, **figures)
        yield LinkRow(
            robot,
            link.name,
            target.kind,
            len(link.faces),
            most,
            len(placed),
            quality.iou,
            1e3 * quality.mean,
            seconds,
            len(spheres),
            float("nan") if other is None else other.iou,
            float("nan") if other is None else 1e3 * other.mean,
            taken,
        )


def links_of(share: Path, urdf: str) -> list[LinkGeometry]:
    """Links with meshes, those of equal geometry once."""
    folders = {"example-robot-data": share}
    text, package = read_document("URDF", str(share / "robots" / urdf), PackageFolders(folders))
    found = read_links(text, PackageFolders({**package, **folders}), "collision")
    return list({link.digest: link for link in reversed(found) if link.state == "meshes"}.values())[::-1]


def robots_folder() -> Path:
    """The folder of example-robot-data.

    Raises
    ------
    OutputError
        If that is not installed.
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
    raise OutputError("example-robot-data is missing: pip install '.[robots]'")


def table(rows: Sequence[LinkRow]) -> Table:
    """Means over the links of each robot."""
    made = Table(title="Bodies and spheres, means over links", title_justify="left")
    made.add_column("robot")
    for name in ("links", "hulls", "bodies", "IoU", "mean, mm", "fit, s", "spheres", "IoU", "mean, mm", "closer"):
        made.add_column(name, justify="right")
    for robot in ROBOTS:
        for most in sorted({row.most for row in rows}):
            some = [row for row in rows if row.robot == robot and row.most == most]
            if not some:
                made.add_row(robot, "0", *"–" * 9)
                break
            beside = [row for row in some if row.spheres]
            made.add_row(
                robot,
                str(len(some)),
                str(sum(row.aimed_at == "hull" for row in some)),
                str(most),
                f"{np.mean([row.iou for row in some]):.3f}",
                f"{np.mean([row.mean for row in some]):.2f}",
                f"{sum(row.seconds for row in some):.0f}",
                f"{np.mean([row.spheres for row in beside]):.0f}" if beside else "–",
                cell(float(np.mean([row.spheres_iou for row in beside or some])), ".3f"),
                cell(float(np.mean([row.spheres_mean for row in beside or some])), ".2f"),
                f"{sum(row.mean < row.spheres_mean for row in beside)} of {len(beside)}" if beside else "–",
            )
    return made


def main(bodies: int, seed: int, output: Path) -> int:
    """Run the experiment: table on the console, CSV in a folder."""
    folder = output_folder(output)
    share = robots_folder()
    console = Console(width=max(120, Console().width))
    links = [(name, link) for name, urdf in ROBOTS.items() for link in links_of(share, urdf)]
    rows: list[LinkRow] = []
    with progress(console) as bar:
        for name, link in bar.track(links, description="links"):
            rows += measure_link(name, link, bodies, seed)
    console.print(table(rows))
    about = f"superovoid experiment fits --bodies {bodies} --seed {seed}", machine(("numpy", "numba", "scipy"))
    return leave(console, folder, {"fits": rows}, {}, about)
