# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A picture of the two hands, or the upper body, in frames of the grasp sweep: bodies, closest points, segments."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from superovoid.scene import Scene, SceneResult
from superovoid_ros.motions import arm_sweep, grasp_sweep

_COLOURS = {"l": (0.45, 0.70, 0.40), "r": (0.35, 0.55, 0.80)}
_BODY, _CONTACT = (0.75, 0.75, 0.72), (0.85, 0.25, 0.20)
_SEGMENTS = 12  # closest pairs that get their points drawn
_LIGHT = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])


def _draw(axes, scene: Scene, result: SceneResult, title: str, zoom: float) -> None:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    overlapping = result.distance < 0.0
    touched = set(result.body_a[overlapping]) | set(result.body_b[overlapping])
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for i, body in enumerate(scene.bodies):
        mesh = body.shape.tessellate(20)
        pose = scene.poses[i]
        vertices = 1e3 * (mesh.vertices @ pose[:3, :3].T + pose[:3, 3])
        low, high = np.minimum(low, vertices.min(axis=0)), np.maximum(high, vertices.max(axis=0))
        plain = _COLOURS.get(body.link[0], _BODY)
        colour = np.array(_CONTACT if i in touched else plain)
        shade = 0.55 + 0.45 * np.clip(mesh.face_normals @ pose[:3, :3].T @ _LIGHT, 0.0, 1.0)
        alpha = 0.25 if "palm" in body.link or not body.link.startswith(("left_", "right_")) else 0.5
        faces = np.column_stack([shade[:, None] * colour, np.full(len(shade), alpha)])
        axes.add_collection3d(Poly3DCollection(vertices[mesh.faces], facecolors=faces))
    for row in range(min(len(result), _SEGMENTS)):
        a, b = 1e3 * result.point_a[row], 1e3 * result.point_b[row]
        n = 4.0 * result.normal[row]
        axes.plot(*np.column_stack([a, b]), color="black", linewidth=1.2, zorder=10)
        axes.plot(*np.column_stack([a, a + n]), color="darkorange", linewidth=0.9, zorder=10)
        axes.plot(*np.column_stack([b, b - n]), color="darkorange", linewidth=0.9, zorder=10)
        axes.scatter(*np.column_stack([a, b]), color="black", s=8, depthshade=False, zorder=11)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_zlim(low[2], high[2])
    axes.set_box_aspect(high - low, zoom=zoom)
    axes.set_title(title, fontsize=10)
    axes.set_axis_off()


def draw_frames(frames: Sequence[int], path: Path, near: float = 0.02, *, arms: bool = False) -> None:
    """Draw frames of the sweep side by side.

    Parameters
    ----------
    frames : sequence of int
        Frames of the sweep.
    path : Path
        PNG file to write.
    near : float
        Pairs of finger links at most this far apart get their closest points drawn, m.
    arms : bool
        Draw the upper body, whose arms move the hands.
    """
    from matplotlib.figure import Figure

    robot, sweep = (arm_sweep.upper_body(), arm_sweep.shipped()) if arms else grasp_sweep.shipped()
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
        axes = figure.add_subplot(1, len(frames), column + 1, projection="3d", computed_zorder=False)
        axes.view_init(elev=22.0, azim=-38.0) if arms else axes.view_init(elev=12.0, azim=-62.0)
        _draw(axes, scene, result, text, zoom=1.4 if arms else 1.15)
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the picture of the README; with ``--arms`` that of docs/reference/hands.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="PNG file to write")
    parser.add_argument("--frames", type=int, nargs="+", default=[24, 92], help="frames of the sweep")
    parser.add_argument("--arms", action="store_true", help="the upper body, not the hands alone")
    chosen = parser.parse_args(arguments)
    draw_frames(chosen.frames, chosen.path, arms=chosen.arms)


if __name__ == "__main__":
    main()
