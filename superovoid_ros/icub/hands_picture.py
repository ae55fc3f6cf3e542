# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Draw the two hands or the upper body in frames of the grasp sweep, with the closest points of near pairs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from superovoid.scene import Scene, SceneResult
from superovoid.viewing.palette import BLUE, GREEN, GREY, RED
from superovoid_ros.motions import arm_sweep, grasp_sweep
from superovoid_ros.pictures import draw_bodies

_COLOURS = {"l": GREEN, "r": BLUE}
_SEGMENTS = 12  # number of closest pairs whose points are drawn


def _draw(axes: Axes, scene: Scene, result: SceneResult, title: str, towards: tuple[float, float, float]) -> None:
    overlapping = result.distance < 0.0
    touched = set(result.body_a[overlapping]) | set(result.body_b[overlapping])
    bodies = [
        (body.shape, scene.poses[i], RED if i in touched else _COLOURS.get(body.link[0], GREY))
        for i, body in enumerate(scene.bodies)
    ]
    draw_bodies(bodies, result, towards=towards, most=_SEGMENTS, through=0.35, normals=0.006, axes=axes)
    axes.set_title(title, fontsize=10)


def draw_frames(frames: Sequence[int], path: Path, near: float = 0.02, *, arms: bool = False) -> None:
    """Draw frames of the sweep side by side.

    Parameters
    ----------
    frames : sequence of int
        Frames of the sweep.
    path : Path
        PNG file to write.
    near : float
        Draw the closest points of finger links at most this far apart, m.
    arms : bool
        If true, draw the upper body, whose arms move the hands.
    """
    robot, sweep = (arm_sweep.upper_body(), arm_sweep.read_sweep()) if arms else grasp_sweep.read_sweep()
    scene = robot.scene()
    pairs = robot.body_pairs(["left_fingers"], ["right_fingers"])
    figure = Figure(figsize=(5.2 * len(frames), 4.6), layout="constrained")
    for column, index in enumerate(frames):
        frame = sweep.frame(index)
        scene.set_link_poses(robot.forward_kinematics(frame.positions, frame.base_poses))
        result = scene.query(max_distance=near, pairs=pairs)
        text = f"frame {index}: no pair within {1e3 * near:.0f} mm"
        if len(result):
            text = f"frame {index}: smallest distance {1e3 * result.distance[0]:.2f} mm"
            if result.statistics.intersecting:
                text += f", {result.statistics.intersecting} pairs overlap"
        axes = figure.add_subplot(1, len(frames), column + 1, anchor="N")
        _draw(axes, scene, result, text, towards=(0.73, -0.57, 0.37) if arms else (0.46, -0.86, 0.21))
    figure.savefig(path, dpi=140, bbox_inches="tight")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the picture for the README, or with ``--arms`` the one for docs/reference/hands.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="PNG file to write")
    parser.add_argument("--frames", type=int, nargs="+", default=[24, 92], help="frames of the sweep")
    parser.add_argument("--arms", action="store_true", help="draw the upper body instead of the hands alone")
    chosen = parser.parse_args(arguments)
    draw_frames(chosen.frames, chosen.path, arms=chosen.arms)


if __name__ == "__main__":
    main()
