# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Plots of the experiment `bite`: figures 12, 13 and 14 of Gonçalves et al. 2017."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from superovoid.robot import Robot
from superovoid.viewing.palette import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED
from superovoid_papers.experiments.goncalves2017.bite import (
    ALONE,
    CONTACT,
    LIMIT,
    PAPER,
    REFERENCE,
    FrameRow,
    QuadImplicit,
)
from superovoid_papers.methods.goncalves2017 import newton_schemes
from superovoid_ros.motions.dental_bite import LOWER, DentalBite

_TEETH = {True: (0.85, 0.75, 0.55), False: (0.60, 0.72, 0.85)}  # lower, upper
_LIGHT = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])

_COLOURS = {PAPER: RED, ALONE: PURPLE, "this": BLUE, "FCL": GREEN, "Coal": ORANGE}


def _times(panel: Axes, rows: dict[str, list[FrameRow]]) -> None:
    for name, of_name in rows.items():
        colour = _COLOURS.get(name) or next(c for start, c in _COLOURS.items() if name.startswith(start))
        line = ":" if name == REFERENCE or "24,000" in name else "-"
        frames = [row.frame for row in of_name]
        panel.plot(frames, [row.microseconds for row in of_name], line, color=colour, linewidth=1.2, label=name)
    panel.set_yscale("log")
    panel.set_ylim(top=20.0 * panel.get_ylim()[1])  # room for the legend
    panel.set_ylabel("time of a frame [µs]")
    panel.set_title("Dental bite: time and minimum signed distance of every frame (shaded: contact)")
    panel.legend(loc="upper center", fontsize="small", ncols=2)


def _distances(panel: Axes, rows: dict[str, list[FrameRow]]) -> None:
    panel.plot([1e3 * row.distance for row in rows[REFERENCE]], color="0.75", linewidth=3.0, label=REFERENCE)
    for name, of_name in rows.items():
        if name.startswith(("Coal", "this")):
            continue  # Coal has the same distances as FCL, and the closest pair is that of all pairs.
        distances = 1e3 * np.array([row.distance for row in of_name])
        distances[np.isinf(distances)] = np.nan
        style, colour = ":" if "24,000" in name else "-", _COLOURS.get(name, _COLOURS["FCL"])
        mark = "." if name in (PAPER, ALONE) else ""  # lines do not show isolated answers
        panel.plot(distances, style, marker=mark, color=colour, linewidth=1.0, markersize=4, label=name)
    panel.axhline(0.0, color=BLACK, linewidth=0.8)
    panel.set_ylim(top=1.5 * panel.get_ylim()[1])  # room for the legend
    panel.set_ylabel("minimum signed distance [mm]")
    panel.legend(loc="upper center", fontsize="small", ncols=2)


def _errors(panel: Axes, rows: dict[str, list[FrameRow]]) -> None:
    """Plot errors of the distances; exact answers lie on the lower edge."""
    truth = np.array([row.distance for row in rows[REFERENCE]])
    least = 1e-9
    for name, of_name in rows.items():
        if name.startswith(("Coal", "this")):
            continue
        errors = np.abs(np.array([row.distance for row in of_name]) - truth)
        errors[np.isinf(errors)] = np.nan
        if name.startswith("FCL"):
            errors[truth < 0.0] = np.nan  # Meshes have no depth.
        colour = _COLOURS.get(name, _COLOURS["FCL"])
        mark = {PAPER: "o", ALONE: "x"}.get(name, "." if "24,000" in name else "+")
        panel.plot(1e3 * np.maximum(errors, least), mark, color=colour, markersize=4, label=name)
    panel.axhline(1e3 * LIMIT, color=BLACK, linewidth=0.8, linestyle="--")
    panel.set_yscale("log")
    panel.set_ylim(0.5e3 * least, 1e3)  # room for the legend
    panel.set_ylabel("error of the distance [mm] (at least 1e-6)")
    panel.legend(loc="upper center", fontsize="small", ncols=2)


def plot(rows: dict[str, list[FrameRow]]) -> Figure:
    """Draw times and distances against the frame, figures 13 and 14 of the paper, and the errors of the distances."""
    figure = Figure(figsize=(9.5, 12.0), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    for panel, draw in zip(panels, (_times, _distances, _errors), strict=True):
        panel.axvspan(*CONTACT, color="0.93", zorder=0)
        draw(panel, rows)
    panels[-1].set_xlabel("frame")
    return figure


def teeth(robot: Robot, bite: DentalBite, shares: tuple[float, float] = (0.25, 0.33)) -> Figure:
    """Draw the superovoids at two frames and quadImplicit's distances of pairs: figure 12 of the paper.

    Parameters
    ----------
    robot : Robot
        The two crowns.
    bite : DentalBite
    path : Path
        PNG file to write.
    shares : tuple of float
        Positions of the frames in the bite, from 0 to 1.
    """
    figure = Figure(figsize=(10.0, 5.4), layout="constrained")
    paper = QuadImplicit(robot)
    shown = [int(share * (len(bite) - 1)) for share in shares]
    for index in range(max(shown) + 1):  # Each frame starts from the previous answers.
        frame = bite.frame(index)
        poses = robot.forward_kinematics(frame.positions, frame.base_poses)
        paper.place(poses)
        paper.ask()
        if index in shown:
            column = shown.index(index) + 1
            axes = figure.add_subplot(1, len(shown), column, projection="3d", computed_zorder=False)
            count, beyond = _frame(axes, robot, poses, paper)
            words = f", {beyond} of a point far outside" if beyond else ""
            axes.set_title(f"frame {index}: {count} pairs with a distance{words}", fontsize=10)
    figure.suptitle("superovoids of two molars; red: distances of pairs whose boxes meet (quadImplicit)", fontsize=10)
    return figure


def _frame(axes: Any, robot: Robot, poses: dict[str, Any], paper: QuadImplicit) -> tuple[int, int]:
    """Draw a frame; return the number of distances, and how many of them end outside the teeth."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for body in robot.bodies:
        mesh, pose = body.shape.tessellate(24), poses[body.link] @ body.link_from_body
        points = 1e3 * (mesh.vertices @ pose[:3, :3].T + pose[:3, 3])
        low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
        shade = 0.55 + 0.45 * np.clip(mesh.face_normals @ pose[:3, :3].T @ _LIGHT, 0.0, 1.0)
        colour = np.array(_TEETH[body.link == LOWER])
        faces = np.column_stack([shade[:, None] * colour, np.full(len(shade), 0.35)])
        axes.add_collection3d(Poly3DCollection(points[mesh.faces], facecolors=faces))
    answered = paper.pairs.near & (paper.pairs.out[:, newton_schemes.CONVERGED] != 0.0)
    beyond = 0
    for row in paper.pairs.out[answered]:
        ends = 1e3 * np.array([row[k : k + 3] for k in (newton_schemes.POINT_A, newton_schemes.POINT_B)])
        beyond += bool((ends < low).any() or (ends > high).any())
        axes.plot(*ends.T, "-o", color=RED, linewidth=1.4, markersize=3, zorder=10)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(high - low, zoom=1.35)
    axes.view_init(elev=8.0, azim=-60.0)
    axes.set_axis_off()
    return int(answered.sum()), beyond
