# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The paths of figs. 4 to 7 of Sohn et al. 2002, of an ellipsoid around a body, and a picture of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from superovoid.shapes import Cone, Cylinder, Ellipsoid, Shape, Torus
from superovoid.viewing.palette import BLACK, BLUE, ORANGE
from superovoid_papers.methods import sohn2002
from superovoid_papers.methods.sohn2002 import FreeForm

FloatArray = NDArray[np.float64]

_PLACES = 9
_FIXED, _MOVING = BLUE, ORANGE


@dataclass(frozen=True)
class Scene:
    """A fixed body at the origin and the path of an ellipsoid around it."""

    name: str
    figure: int
    published_us: float | None
    """The paper's upper bound of the mean time, on a PC of 500 MHz; None: not given."""
    fixed: Ellipsoid | Cylinder | Cone | Torus | FreeForm
    moving: Ellipsoid
    position: Callable[[float], tuple[float, float, float]]
    """Centre of the ellipsoid at an angle from 0 to 2 pi."""


def _hills() -> FreeForm:
    """Return a bicubic Bézier patch with a hill and a hollow."""
    x, y = np.meshgrid(np.linspace(-1.2, 1.2, 4), np.linspace(-1.2, 1.2, 4), indexing="ij")
    z = np.zeros((4, 4))
    z[1, 1], z[2, 2], z[1, 2], z[2, 1] = 1.5, -1.2, 0.3, 0.3
    return FreeForm(np.stack([x, y, z], axis=2))


SCENES = (
    Scene(
        "ellipsoid",
        4,
        300.0,
        Ellipsoid((1.0, 0.7, 0.4)),
        Ellipsoid((0.8, 0.5, 0.3)),
        lambda a: (2.0 * math.cos(a), 1.8 * math.sin(a), 0.5 * math.sin(2.0 * a)),
    ),
    Scene(
        "cylinder",
        5,
        100.0,
        Cylinder(0.5, 2.0),
        Ellipsoid((0.8, 0.5, 0.3)),
        lambda a: (1.6 * math.cos(a), 0.5 * math.sin(2.0 * a), 2.1 * math.sin(a)),
    ),
    Scene(
        "cone",
        5,
        150.0,
        Cone(0.7, 1.6),
        Ellipsoid((0.8, 0.5, 0.3)),
        lambda a: (1.7 * math.cos(a), 0.4 * math.sin(2.0 * a), 1.9 * math.sin(a)),
    ),
    Scene(
        "torus",
        6,
        150.0,
        Torus(1.2, 0.35),
        Ellipsoid((0.45, 0.3, 0.2)),
        lambda a: (1.2 + 1.0 * math.cos(a), 0.2 * math.sin(a), 1.0 * math.sin(a)),
    ),
    Scene(
        "free-form",
        7,
        None,
        _hills(),
        Ellipsoid((0.4, 0.25, 0.15)),
        lambda a: (0.8 * math.cos(a), 0.8 * math.sin(a), 1.0 + 0.2 * math.sin(3.0 * a)),
    ),
)


def poses(scene: Scene, frames: int) -> FloatArray:
    """Return the poses of the moving ellipsoid, (frames, 4, 4): one orbit, with rotations about two axes."""
    angles = 2.0 * math.pi * np.arange(frames) / frames
    path = np.tile(np.eye(4), (frames, 1, 1))
    path[:, :3, :3] = Rotation.from_euler("xyz", np.column_stack([angles, 2.0 * angles, 0.3 + angles])).as_matrix()
    path[:, :3, 3] = [scene.position(angle) for angle in angles]
    return path


def _draw(panel: Axes3D, body: Shape | FreeForm, pose: FloatArray, colour: str) -> FloatArray:
    """Draw a body; return points of it, (n, 3)."""
    if isinstance(body, FreeForm):
        s = np.linspace(0.0, 1.0, 17)
        grid = np.concatenate([piece.points(s[:, None], s[None, :]) for piece in body.pieces])
        panel.plot_wireframe(*np.moveaxis(grid, -1, 0), color=colour, linewidth=0.5)
        return grid.reshape(-1, 3)
    mesh = body.tessellate(16)
    points = mesh.vertices @ pose[:3, :3].T + pose[:3, 3]
    style = {"color": colour, "alpha": 0.25, "edgecolor": colour, "linewidth": 0.15}
    panel.plot_trisurf(*points.T, triangles=mesh.faces, **style)
    return points


def plot_scenes(scenes: Sequence[Scene]) -> Figure:
    """Draw every scene: the fixed body, the moving one at some places of its path, and the closest points of each."""
    figure = Figure(figsize=(3.6 * len(scenes), 3.9), layout="constrained")
    for column, scene in enumerate(scenes):
        panel = figure.add_subplot(1, len(scenes), column + 1, projection="3d")
        drawn = [_draw(panel, scene.fixed, np.eye(4), _FIXED)]
        for pose in poses(scene, _PLACES):
            drawn.append(_draw(panel, scene.moving, pose, _MOVING))
            found = sohn2002.distance(scene.fixed, np.eye(4), scene.moving, pose)
            ends = np.array([found.point_a, found.point_b])
            panel.plot(*ends.T, color=BLACK, marker=".", markersize=4, linewidth=1.0)
        panel.set_box_aspect(np.ptp(np.concatenate(drawn), axis=0), zoom=1.15)
        panel.set_axis_off()
        panel.set_title(f"{scene.name} (fig. {scene.figure})", fontsize=9)
    return figure
