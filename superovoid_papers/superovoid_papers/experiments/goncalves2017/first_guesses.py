# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""First guesses of Gonçalves et al. 2017, section 4.4: effect of the levels of quadtree and octree, and figures 5, 6.

The cases are both batteries (section 5.1), each number of levels, and the quadtree with cells halved by the angle of
the normal (section 7). The experiment counts runs of Newton's method without convergence or with a wrong answer, and
measures the error of the guess's distance. For the parametric schemes it also counts paths that end past a pole.

The picture shows the octrees of two superovoids with their nearest cells (the paper's figure 5), the cells of the
quadtree's path on both parameter squares and on the bodies (figure 6), and the failures against the levels.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from rich.table import Table
from scipy.spatial.transform import Rotation

from superovoid.output import REPORT, CsvRow, column, leave, machine, output_folder, print_table, progress, unitless
from superovoid.shapes import Superovoid
from superovoid.viewing.palette import BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from superovoid_papers.experiments.goncalves2017 import superovoid_battery
from superovoid_papers.experiments.goncalves2017.superovoid_battery import WRONG
from superovoid_papers.methods import goncalves2017
from superovoid_papers.methods.goncalves2017 import newton_schemes

FloatArray = NDArray[np.float64]

BATTERIES = ("separated", "overlapping")
QUADTREE_LEVELS, OCTREE_LEVELS = (3, 4, 5, 6, 7, 8, 10), (2, 3, 4, 5)
PARAMETRIC = ("quadParametric", "ntbParametric")
PICTURE_LEVELS = 3
_LEVEL_COLOURS = ORANGE, RED, PURPLE
"""Levels of the quadtree in the picture, as in the paper's figure 6; the octree has the schemes' 4."""
PACKAGES = ("numpy", "numba")


@dataclass(frozen=True)
class Row(CsvRow):
    """A scheme with a first guess on one battery; judged pairs only, processor times."""

    battery: str
    scheme: str
    guess: str
    levels: int
    judged: int
    guess_us: float
    guess_error: float = column("guess_error_median_m")
    """Median of |the guess's signed distance - the certified one|."""
    not_converged: int
    wrong: int
    right_within_poles: int
    """Parametric: right answers without a point past a pole (otherwise: all right ones)."""
    right_past_a_pole: int
    iterations_within_poles: float = unitless("iterations_within_poles_mean")
    iterations_deviation: float = unitless("iterations_within_poles_deviation")


def _kinds() -> list[tuple[str, str, int, dict[str, Any]]]:
    """Return scheme, guess, levels and options of each row."""
    found = [("quadImplicit", "quadtree", levels, {"levels": levels}) for levels in QUADTREE_LEVELS]
    found.append(("quadImplicit", "adaptive quadtree", 6, {"levels": 6, "adaptive": True}))
    found += [(scheme, "quadtree", 6, {"scheme": scheme}) for scheme in PARAMETRIC]
    for levels in OCTREE_LEVELS:
        found.append(("octImplicit", "octree", levels, {"scheme": "octImplicit", "octree_levels": levels}))
    return found


def run(count: int, seed: int, step: Callable[[str], None]) -> tuple[list[Row], list[str]]:
    """Return rows, and lines about bodies without a filled cell in an octree."""
    rows, lines = [], []
    for battery in BATTERIES:
        pairs, truths, proved = superovoid_battery.draw(battery, count, seed)
        for scheme, guess, levels, options in _kinds():
            step(f"{battery}, {guess}, {levels} levels")
            try:
                made = [superovoid_battery.packed_pairs(pairs, options | more) for more in ({"max_iterations": 0}, {})]
            except ValueError as error:  # No cell of its octree has its centre in the body.
                lines.append(f"{battery}, {guess}, {levels} levels: {error}")
                continue
            rows.append(_row((battery, scheme, guess, levels), *made, truths, proved))
    return rows, lines


def _row(
    about: tuple[str, str, str, int],
    guesses: goncalves2017.Pairs,
    packed: goncalves2017.Pairs,
    truths: FloatArray,
    proved: NDArray[np.bool_],
) -> Row:
    """Return a row; `guesses` are the same pairs without steps of Newton's method."""
    count, spent = len(packed), []
    for _ in range(3):
        started = time.process_time()
        packed.start(0, count)
        spent.append(1e6 * (time.process_time() - started) / count)
    guesses.unknowns[:] = packed.unknowns
    for pairs in (guesses, packed):
        pairs.refine(0, count)
    errors = [np.abs(pairs.out[:, newton_schemes.DISTANCE] - truths) for pairs in (guesses, packed)]
    converged = packed.out[:, newton_schemes.CONVERGED] > 0.0
    right = proved & converged & (errors[1] <= WRONG)
    past = np.zeros(count, dtype=bool)
    if about[1] in PARAMETRIC:
        past = (np.abs(packed.unknowns[:, [1, 3]]) > 0.5 * math.pi).any(axis=1)
    iterations = packed.out[right & ~past, newton_schemes.ITERATIONS]
    return Row(
        *about,
        int(proved.sum()),
        min(spent),
        float(np.median(errors[0][proved])),
        int((proved & ~converged).sum()),
        int((proved & converged & ~right).sum()),
        int((right & ~past).sum()),
        int((right & past).sum()),
        float(iterations.mean()) if len(iterations) else math.nan,
        float(iterations.std()) if len(iterations) else math.nan,
    )


def table(rows: Sequence[Row]) -> Table:
    """Return the table of all rows."""
    made = Table(title="First guesses; counts as % of the judged pairs", title_justify="left")
    for name in (
        "battery", "scheme", "guess", "levels", "guess_us", "guess_error", "not_converged", "wrong",
        "right_past_a_pole", "right_within_poles", "iterations_within_poles",
    ):  # fmt: skip
        made.add_column(Row.heading(name), justify="left" if name in ("battery", "scheme", "guess") else "right")
    for row in rows:
        counts = row.not_converged, row.wrong, row.right_past_a_pole, row.right_within_poles
        shares = [f"{100.0 * value / row.judged:.1f}" for value in counts]
        if row.scheme not in PARAMETRIC:
            shares[2] = ""
        iterations = f"{row.iterations_within_poles:.2f} ± {row.iterations_deviation:.2f}"
        figures = f"{row.guess_us:.2f}", f"{row.guess_error:.1e}"
        made.add_row(row.battery, row.scheme, row.guess, str(row.levels), *figures, *shares, iterations)
    return made


# -- picture ---------------------------------------------------------------------------------------------------------


def picture_pair() -> tuple[list[Superovoid], FloatArray]:
    """Return two separate superovoids like those of figures 5 and 6, whose parameters the paper does not give."""
    bodies = [
        Superovoid((1.0, 0.8, 1.2), section_exponent=0.7, profile_exponent=0.8, taper=(0.2, 0.2)),
        Superovoid((0.9, 1.0, 0.7), section_exponent=0.9, profile_exponent=0.6, taper=(-0.15, -0.15)),
    ]
    poses = np.tile(np.eye(4), (2, 1, 1))
    for pose, turn in zip(poses, ((0.3, 0.5, -0.2), (-0.8, 0.2, 0.6)), strict=True):
        pose[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    poses[1, :3, 3] = 1.6, 2.0, 0.7
    return bodies, poses


def guess_points(options: dict[str, Any]) -> FloatArray:
    """Return the points of the first guess for the picture's pair, (2, 3), world, m."""
    bodies, poses = picture_pair()
    packed = goncalves2017.Pairs(bodies[:1], poses[:1], bodies[1:], poses[1:], **options)
    packed.start(0, 1)
    local = packed.unknowns[0].reshape(2, 3)
    return np.einsum("kij,kj->ki", poses[:, :3, :3], local) + poses[:, :3, 3]


def quadtree_cells() -> FloatArray:
    """Return the centres (phi1, phi2) of the cells chosen at each level, (levels, 2 bodies, 2), rad."""
    bodies, poses = picture_pair()
    found = []
    for levels in range(1, PICTURE_LEVELS + 1):
        packed = goncalves2017.Pairs(
            bodies[:1], poses[:1], bodies[1:], poses[1:], scheme="quadParametric", levels=levels
        )
        packed.start(0, 1)
        found.append(packed.unknowns[0, :4].reshape(2, 2).copy())
    return np.array(found)


def _bodies(axes: Any, alpha: float) -> None:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    bodies, poses = picture_pair()
    light = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for body, pose, colour in zip(bodies, poses, (GREEN, SKY), strict=True):
        mesh = body.tessellate(40)
        points = mesh.vertices @ pose[:3, :3].T + pose[:3, 3]
        low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
        shade = 0.55 + 0.45 * np.clip(mesh.face_normals @ pose[:3, :3].T @ light, 0.0, 1.0)
        faces = np.column_stack([shade[:, None] * np.array(to_rgb(colour)), np.full(len(shade), alpha)])
        axes.add_collection3d(Poly3DCollection(points[mesh.faces], facecolors=faces))
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(high - low, zoom=1.2)
    axes.view_init(elev=15.0, azim=-60.0)
    axes.set_axis_off()


def _octrees(axes: Any) -> None:
    """Draw figure 5: filled cells of the finest level, and the nearest points of the two octrees."""
    bodies, poses = picture_pair()
    count = 2**4
    for body, pose in zip(bodies, poses, strict=True):
        half = max(body.semi_axes[k] * (1.0 + (abs(body.taper[k]) if k < 2 else 0.0)) for k in range(3))
        edges = np.linspace(-half, half, count + 1)
        middles = 0.5 * (edges[:-1] + edges[1:])
        centres = np.stack(np.meshgrid(middles, middles, middles, indexing="ij"), axis=-1)
        corners = np.stack(np.meshgrid(edges, edges, edges, indexing="ij"), axis=-1) @ pose[:3, :3].T + pose[:3, 3]
        filled = body.implicit(centres) < 0.0
        corners = np.moveaxis(corners, -1, 0)
        axes.voxels(*corners, filled, facecolor=(0.85, 0.85, 0.85, 0.2), edgecolor=(0.4, 0.4, 0.4, 0.6), linewidth=0.3)
    _bodies(axes, 0.35)
    points = guess_points({"scheme": "octImplicit"})
    axes.plot(*points.T, "-o", color=RED, linewidth=1.5, markersize=5, zorder=20)
    axes.set_title("octrees of 4 levels, and their nearest points (paper: fig. 5)", fontsize=9)


def _squares(panel: Axes, side: int) -> None:
    """Draw figure 6, left: the cells of the quadtree's path on one body."""
    cells = quadtree_cells()
    for level in range(PICTURE_LEVELS):
        width = 2.0 * math.pi / 2 ** (level + 1)
        centre = cells[level, side]
        corner = centre - (0.5 * width, 0.25 * width)
        panel.add_patch(Rectangle(corner, width, 0.5 * width, fill=False, edgecolor=_LEVEL_COLOURS[level], linewidth=2))
        panel.plot(*centre, "o", color=_LEVEL_COLOURS[level], label=f"level {level + 1}")
    panel.set(xlim=(-math.pi, math.pi), ylim=(-0.5 * math.pi, 0.5 * math.pi), xlabel="phi1 [rad]", ylabel="phi2 [rad]")
    panel.set_title(f"quadtree on {'AB'[side]}'s parameter square (paper: fig. 6)", fontsize=9)
    panel.legend(fontsize=7, loc="upper right")


def _cells_on_bodies(axes: Any) -> None:
    """Draw figure 6, right: the points of those cells on the bodies."""
    bodies, poses = picture_pair()
    _bodies(axes, 0.5)
    for colour, cells in zip(_LEVEL_COLOURS, quadtree_cells(), strict=True):
        points = np.array(
            [
                pose[:3, :3] @ body.surface_point(phi2, phi1) + pose[:3, 3]
                for body, pose, (phi1, phi2) in zip(bodies, poses, cells, strict=True)
            ]
        )
        axes.plot(*points.T, "--o", color=colour, linewidth=1.2, markersize=6, zorder=20)
    axes.set_title("points of the quadtrees, by level (paper: fig. 6)", fontsize=9)


def _failures(panel: Axes, rows: Sequence[Row]) -> None:
    for battery, line in zip(BATTERIES, ("-", "--"), strict=True):
        for guess, colour, mark in (
            ("quadtree", BLUE, "o"),
            ("octree", RED, "s"),
            ("adaptive quadtree", GREEN, "*"),
        ):
            some = [
                row for row in rows if (row.battery, row.guess) == (battery, guess) and row.scheme not in PARAMETRIC
            ]
            failed = [100.0 * (row.not_converged + row.wrong) / row.judged for row in some]
            label = f"{guess}, {battery}"
            panel.plot([row.levels for row in some], failed, f"{mark}{line}", color=colour, label=label)
    panel.axvline(6, color="0.7", zorder=0)
    panel.text(6.1, 0.6, "the paper's quadtree", fontsize=7, transform=panel.get_xaxis_transform())
    panel.set(xlabel="levels", ylabel="% not converged or wrong")
    panel.set_title("failures by levels of the first guess", fontsize=9)
    panel.legend(fontsize=7, handlelength=4.0)  # long enough for dashes


def plot(rows: Sequence[Row]) -> Figure:
    """Draw figures 5 and 6 of the paper, and the failures against the levels."""
    figure = Figure(figsize=(15.0, 8.0), layout="constrained")
    grid = figure.add_gridspec(2, 3)
    _octrees(figure.add_subplot(grid[0, 0], projection="3d", computed_zorder=False))
    _cells_on_bodies(figure.add_subplot(grid[0, 1], projection="3d", computed_zorder=False))
    _failures(figure.add_subplot(grid[:, 2]), rows)
    for side in range(2):
        _squares(figure.add_subplot(grid[1, side]), side)
    return figure


def main(pairs: int, seed: int, output: Path) -> int:
    """Run the experiment: table on the console, CSV and plot in a folder."""
    console = REPORT.console()
    folder = output_folder(output)
    with progress() as bar:
        task = bar.add_task("first guesses", total=None)
        rows, lines = run(pairs, seed, lambda text: bar.update(task, description=text))
    print_table(console, table(rows))
    about = f"superovoid experiment first-guesses --pairs {pairs} --seed {seed}", machine(PACKAGES)
    plots = {"first_guesses": partial(plot, rows)}
    return leave(console, folder, {"first_guesses": rows}, plots, about, lines)
