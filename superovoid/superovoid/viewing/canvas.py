# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Draw bodies, appearances, closest points, segments, normals and labels in the scene of a page.

Nodes have numbers as names because link names are arbitrary: ``/links/3`` is a frame that contains the link's bodies
and appearances, so moving a link takes one message. Unchanged values are not sent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from superovoid.robot.appearance import Look
from superovoid.scene import Body
from superovoid.shapes import HalfSpace, Shape, Shell
from superovoid.viewing.meanings import COLOURS
from superovoid.viewing.picture import MOST_PAIRS, DrawnBody, DrawnPair, TriangleBody, Triangles
from superovoid.viewing.segments import Segments

if TYPE_CHECKING:
    import viser

FloatArray = NDArray[np.float64]

LABELS = 4
"""Maximum number of pairs with a label that shows their distance, chosen from the closest."""
LABEL = 1.0 / 7.0
"""Minimum distance between two labels, as a fraction of the extent."""
NORMALS = 3
"""Maximum number of pairs whose normals are drawn, the closest; more would hide the picture."""
POINT = 1.0 / 100.0
"""Diameter of a closest point, as a fraction of the extent."""
NORMAL = 1.0 / 20.0
"""Length of a normal, as a fraction of the extent."""
TRIANGLES = 10_000
"""Approximate number of triangles of all bodies, so that software rendering keeps up; larger bodies get more."""
RESOLUTIONS = 12, 48
"""Coarsest and finest mesh resolution of a curved body."""
_LINE, _NORMAL_LINE = (20, 20, 20), (0, 158, 115)  # black, and the green of the palette of `meanings.COLOURS`
_LOOKS = {"visual": (110, 110, 110), "collision": (70, 70, 70)}  # darker than unchecked bodies


def wxyz_of(pose: FloatArray) -> FloatArray:
    """Return the rotation of a pose (4, 4) as a quaternion w, x, y, z."""
    x, y, z, w = Rotation.from_matrix(pose[:3, :3]).as_quat()
    return np.array([w, x, y, z])


def pose_of(wxyz: Sequence[float], position: Sequence[float]) -> FloatArray:
    """Return the pose (4, 4) with a rotation given as a quaternion w, x, y, z, and a position, m."""
    w, x, y, z = wxyz
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat([x, y, z, w]).as_matrix()
    pose[:3, 3] = position
    return pose


def triangles_of(shape: Shape | Triangles, extent: float, resolution: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return the triangles of a body, m; for a half-space, a square of the size of the scene."""
    if isinstance(shape, HalfSpace):
        return shape.triangles(half_extent=extent)
    return shape.triangles(resolution)


def radius_of(shape: Shape | Triangles) -> float:
    """Return the radius of a sphere around a body, m; 0 if its triangles do not depend on a resolution."""
    return 0.0 if isinstance(shape, HalfSpace | Triangles) else shape.bounding_sphere().radius


def resolution_for(radius: float, total_radius: float) -> int:
    """Return the mesh resolution of a body, given the sum of the radii of all bodies, m.

    A curved body gets about as many triangles as the square of its resolution: its share of `TRIANGLES` by radius.
    """
    coarsest, finest = RESOLUTIONS
    share = radius / total_radius if total_radius > 0.0 else 1.0
    return min(max(math.isqrt(int(TRIANGLES * share)), coarsest), finest)


def side_of(shape: Shape | Triangles) -> Literal["front", "double"]:
    """Return which sides of the triangles are drawn: the front if the surface is closed and oriented outward."""
    return "double" if isinstance(shape, HalfSpace | Shell | Triangles) else "front"


@dataclass
class _BodyNode:
    """A body on the page."""

    node: Any
    body: Body | TriangleBody
    looks: tuple[Any, ...] = ()
    """Colour, visibility and opacity, as last sent."""


@dataclass
class Layers:
    """Which layers are visible."""

    bodies: bool = True
    visual: bool = False
    collision: bool = False
    segments: bool = True
    normals: bool = True
    labels: bool = True
    opacity: float = 0.75
    """Opacity of bodies, 0 to 1."""
    left_out: str = ""
    """Link whose bodies are not drawn."""


@dataclass
class Canvas:
    """The scene of a page.

    Parameters
    ----------
    server
        Server of the page.
    extent
        Diagonal of the scene, m; the sizes of points and lines depend on it.
    """

    server: viser.ViserServer
    extent: float
    _links: dict[str, Any] = field(default_factory=dict)
    _poses: dict[str, FloatArray] = field(default_factory=dict)
    _bodies: dict[str, _BodyNode] = field(default_factory=dict)
    _looks: dict[str, list[Any]] = field(default_factory=dict)
    _pairs: dict[str, Any] = field(default_factory=dict)
    _labels: list[Any] = field(default_factory=list)
    _mesh_count: int = 0
    _total_radius: float = 0.0
    """Sum of the radii of the bodies that were drawn first, m."""

    def draw(
        self,
        poses: Mapping[str, FloatArray],
        bodies: Sequence[DrawnBody],
        pairs: Sequence[DrawnPair],
        layers: Layers,
    ) -> None:
        """Show links at their poses with bodies, and pairs."""
        with self.server.atomic():
            self.place(poses)
            self._draw_bodies(bodies, layers)
            for element, nodes in self._looks.items():
                for node in nodes:
                    node.visible = getattr(layers, element)
            self._draw_pairs(pairs, layers)

    def place(self, poses: Mapping[str, FloatArray]) -> None:
        """Set the poses of links."""
        nothing = np.full((4, 4), math.nan)
        moved = [link for link, pose in poses.items() if (self._poses.get(link, nothing) != pose).any()]
        if not moved:
            return
        # Convert all rotations in one call: for a single one the overhead of the call dominates.
        turns = np.roll(Rotation.from_matrix(np.array([poses[link][:3, :3] for link in moved])).as_quat(), 1, axis=1)
        for link, wxyz in zip(moved, turns, strict=True):
            if link not in self._links:
                self._links[link] = self.server.scene.add_frame(f"/links/{len(self._links)}", show_axes=False)
            node, pose = self._links[link], poses[link]
            self._poses[link] = pose
            node.wxyz, node.position = wxyz, pose[:3, 3]

    def frame_of(self, link: str) -> str:
        """Return the name of the node that moves with a link."""
        return str(self._links[link].name)

    def add_looks(self, element: str, looks: Sequence[Look]) -> None:
        """Add the appearances of links; call this once per element."""
        self._looks[element] = [
            self.server.scene.add_mesh_simple(
                f"{self._links[look.link].name}/{element}_{number}",
                look.vertices,
                look.faces,
                color=_LOOKS[element],
                flat_shading=True,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
                wxyz=wxyz_of(look.link_from_mesh),
                position=look.link_from_mesh[:3, 3],
            )
            for number, look in enumerate(looks)
        ]

    def has_looks(self, element: str) -> bool:
        """Return whether `add_looks` was called for this element."""
        return element in self._looks

    def _draw_bodies(self, bodies: Sequence[DrawnBody], layers: Layers) -> None:
        there = {drawn.body.name for drawn in bodies}
        for name in self._bodies.keys() - there:
            self._bodies.pop(name).node.remove()
        # Update existing bodies first: their colours are then current even if a new body cannot be drawn.
        for drawn in sorted(bodies, key=lambda one: one.body.name not in self._bodies):
            body = drawn.body
            old = self._bodies.get(body.name)
            if old is not None and (old.body.shape is not body.shape or old.body.link != body.link):
                old.node.remove()
                old = None
            if old is None:
                self._total_radius = self._total_radius or sum(radius_of(one.body.shape) for one in bodies)
                resolution = resolution_for(radius_of(body.shape), self._total_radius)
                vertices, faces = triangles_of(body.shape, self.extent, resolution)
                self._mesh_count += 1
                node = self.server.scene.add_mesh_simple(
                    f"{self._links[body.link].name}/body_{self._mesh_count}",
                    vertices,
                    faces,
                    side=side_of(body.shape),
                    cast_shadow=False,
                    receive_shadow=False,
                    wxyz=wxyz_of(body.link_from_body),
                    position=body.link_from_body[:3, 3],
                )
                old = self._bodies[body.name] = _BodyNode(node, body)
            if old.body is not body:
                old.body = body
                old.node.wxyz, old.node.position = wxyz_of(body.link_from_body), body.link_from_body[:3, 3]
            is_shown = layers.bodies and body.link != layers.left_out
            looks = COLOURS[drawn.meaning], is_shown, layers.opacity if layers.opacity < 1.0 else None
            if looks != old.looks:
                old.looks = looks
                old.node.color, old.node.visible, old.node.opacity = looks

    def _draw_pairs(self, pairs: Sequence[DrawnPair], layers: Layers) -> None:
        size = POINT * self.extent
        points = np.array([(pair.point_a, pair.point_b) for pair in pairs[:MOST_PAIRS]]).reshape(-1, 2, 3)
        rows = np.flatnonzero(np.isfinite(points).all(axis=(1, 2))).tolist()
        points, drawn = points[rows], [pairs[row] for row in rows]
        seen = bool(drawn)
        if not self._pairs:
            nothing, scene = np.zeros((MOST_PAIRS, 2, 3)), self.server.scene
            self._pairs = {
                "points": scene.add_point_cloud(
                    "/pairs/points", nothing.reshape(-1, 3), _LINE, point_size=size, point_shape="circle",
                    precision="float32", point_shading="flat", visible=False,
                ),
                "segments": Segments(self.server, "/pairs/segments", MOST_PAIRS, _LINE, 0.3 * size),
                "normals": Segments(self.server, "/pairs/normals", 2 * NORMALS, _NORMAL_LINE, 0.3 * size),
            }  # fmt: skip
            self._labels = [
                scene.add_label(f"/pairs/label_{row}", "", anchor="bottom-left", visible=False) for row in range(LABELS)
            ]
        for name, shown in (("points", layers.segments), ("segments", layers.segments), ("normals", layers.normals)):
            self._pairs[name].visible = seen and shown
        if seen:
            # Always send the same number of points, repeating the last one, so that the page keeps its nodes.
            filled = points[np.minimum(np.arange(MOST_PAIRS), len(points) - 1)]
            self._pairs["points"].points = filled.reshape(-1, 3)
            self._pairs["segments"].put(points)
            self._pairs["normals"].put(_normals(drawn[:NORMALS], NORMAL * self.extent))
        places = points.mean(axis=1)
        labelled = _select_spread(places, LABEL * self.extent)[:LABELS] if seen and layers.labels else []
        for number, label in enumerate(self._labels):
            label.visible = number < len(labelled)
            if label.visible:
                row = labelled[number]
                label.text, label.position = f"{rows[row] + 1}: {drawn[row].label}", places[row]


def _select_spread(places: FloatArray, gap: float) -> list[int]:
    """Select rows of places farther than a gap from all previously selected rows."""
    taken: list[int] = []
    for row, place in enumerate(places):
        if all(np.linalg.norm(place - places[other]) > gap for other in taken):
            taken.append(row)
    return taken


def _normals(pairs: Sequence[DrawnPair], length: float) -> FloatArray:
    """Return segments along the outward normals at both points of each pair, shape (2 pairs, 2, 3)."""
    found = []
    for pair in pairs:
        found.append((pair.point_a, pair.point_a + length * pair.normal))
        found.append((pair.point_b, pair.point_b - length * pair.normal))
    return np.array(found)
