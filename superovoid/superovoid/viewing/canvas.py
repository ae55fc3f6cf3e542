# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Puts drawn things into the scene of a page: bodies, looks, closest points, segments, normals, labels.

Nodes are named by numbers, since names of links are anybody's: ``/links/3`` is a frame, with its bodies and looks under
it, so that a link that moves is one message. What has not changed is not sent.
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
"""Pairs at most whose interval is written beside them: the closest of those that stand together."""
LABEL = 1.0 / 8.0
"""Distance between pairs from which on both have their interval written, in extents of what is drawn."""
NORMALS = 3
"""Pairs at most whose normals are drawn, the closest: of all they are a thicket."""
POINT = 1.0 / 100.0
"""Diameter of a closest point, in extents of what is drawn."""
NORMAL = 1.0 / 20.0
"""Length of a normal, in extents of what is drawn."""
TRIANGLES = 10_000
"""Of all bodies together about, so that a processor can draw them; each has its share by its size."""
RESOLUTIONS = 12, 48
"""The coarsest and the finest mesh of a body whose surface is round."""
_LINE, _NORMAL_LINE = (20, 20, 20), (0, 158, 115)  # black, and the green of the same palette
_LOOKS = {"visual": (110, 110, 110), "collision": (70, 70, 70)}  # darker than what is not checked


def wxyz_of(pose: FloatArray) -> FloatArray:
    """The rotation of a pose (4, 4) as a quaternion w, x, y, z."""
    x, y, z, w = Rotation.from_matrix(pose[:3, :3]).as_quat()
    return np.array([w, x, y, z])


def pose_of(wxyz: Sequence[float], position: Sequence[float]) -> FloatArray:
    """A pose (4, 4) of a quaternion w, x, y, z and a position, m."""
    w, x, y, z = wxyz
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat([x, y, z, w]).as_matrix()
    pose[:3, 3] = position
    return pose


def triangles_of(shape: Shape | Triangles, extent: float, resolution: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Triangles of a body, m; of a half-space a square as large as what is drawn."""
    if isinstance(shape, HalfSpace):
        return shape.triangles(half_extent=extent)
    return shape.triangles(resolution)


def radius_of(shape: Shape | Triangles) -> float:
    """Of a sphere around a body, m; 0 of one whose triangles nobody chooses."""
    return 0.0 if isinstance(shape, HalfSpace | Triangles) else shape.bounding_sphere().radius


def resolution_for(radius: float, together: float) -> int:
    """How finely a body is drawn, of bodies with so much radius together, m.

    A round one has about as many triangles as this squared: as many as are its part of all by its radius.
    """
    coarsest, finest = RESOLUTIONS
    share = radius / together if together > 0.0 else 1.0
    return min(max(math.isqrt(int(TRIANGLES * share)), coarsest), finest)


def side_of(shape: Shape | Triangles) -> Literal["front", "double"]:
    """Which side of its triangles is seen; of a closed surface, turned outwards, the one is enough."""
    return "double" if isinstance(shape, HalfSpace | Shell | Triangles) else "front"


@dataclass
class _Drawn:
    """A body on the page."""

    node: Any
    body: Body | TriangleBody
    looks: tuple[Any, ...] = ()
    """Colour, visibility and opacity, as they were sent."""


@dataclass
class Layers:
    """What of it is seen."""

    bodies: bool = True
    visual: bool = False
    collision: bool = False
    segments: bool = True
    normals: bool = True
    labels: bool = True
    opacity: float = 0.75
    """Of bodies, 0 to 1."""


@dataclass
class Canvas:
    """What is on a page, and how to change it.

    Parameters
    ----------
    server
        Of the page.
    extent
        Length of the diagonal of what is drawn, m, for the sizes of points and lines.
    """

    server: viser.ViserServer
    extent: float
    _links: dict[str, Any] = field(default_factory=dict)
    _placed: dict[str, FloatArray] = field(default_factory=dict)
    _bodies: dict[str, _Drawn] = field(default_factory=dict)
    _looks: dict[str, list[Any]] = field(default_factory=dict)
    _pairs: dict[str, Any] = field(default_factory=dict)
    _labels: list[Any] = field(default_factory=list)
    _made: int = 0
    _together: float = 0.0
    """Of the bodies that were drawn first their radii, m."""

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
        """Put links where they are."""
        nothing = np.full((4, 4), math.nan)
        moved = [link for link, pose in poses.items() if (self._placed.get(link, nothing) != pose).any()]
        if not moved:
            return
        # All at once: of a single rotation most of the time is what is around the formula.
        turns = np.roll(Rotation.from_matrix(np.array([poses[link][:3, :3] for link in moved])).as_quat(), 1, axis=1)
        for link, wxyz in zip(moved, turns, strict=True):
            if link not in self._links:
                self._links[link] = self.server.scene.add_frame(f"/links/{len(self._links)}", show_axes=False)
            node, pose = self._links[link], poses[link]
            self._placed[link] = pose
            node.wxyz, node.position = wxyz, pose[:3, 3]

    def add_looks(self, element: str, looks: Sequence[Look]) -> None:
        """Put what links look like on them, once."""
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
        """Whether `add_looks` was called."""
        return element in self._looks

    def _draw_bodies(self, bodies: Sequence[DrawnBody], layers: Layers) -> None:
        there = {drawn.body.name for drawn in bodies}
        for name in self._bodies.keys() - there:
            self._bodies.pop(name).node.remove()
        # Those that are there first: they mean what is known now even where a new one cannot be drawn.
        for drawn in sorted(bodies, key=lambda one: one.body.name not in self._bodies):
            body = drawn.body
            old = self._bodies.get(body.name)
            if old is not None and (old.body.shape is not body.shape or old.body.link != body.link):
                old.node.remove()
                old = None
            if old is None:
                self._together = self._together or sum(radius_of(one.body.shape) for one in bodies)
                resolution = resolution_for(radius_of(body.shape), self._together)
                vertices, faces = triangles_of(body.shape, self.extent, resolution)
                self._made += 1
                node = self.server.scene.add_mesh_simple(
                    f"{self._links[body.link].name}/body_{self._made}",
                    vertices,
                    faces,
                    side=side_of(body.shape),
                    cast_shadow=False,
                    receive_shadow=False,
                    wxyz=wxyz_of(body.link_from_body),
                    position=body.link_from_body[:3, 3],
                )
                old = self._bodies[body.name] = _Drawn(node, body)
            if old.body is not body:
                old.body = body
                old.node.wxyz, old.node.position = wxyz_of(body.link_from_body), body.link_from_body[:3, 3]
            looks = COLOURS[drawn.meaning], layers.bodies, layers.opacity if layers.opacity < 1.0 else None
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
            # As many as at any time, the last ones several times: a page keeps its nodes.
            filled = points[np.minimum(np.arange(MOST_PAIRS), len(points) - 1)]
            self._pairs["points"].points = filled.reshape(-1, 3)
            self._pairs["segments"].put(points)
            self._pairs["normals"].put(_normals(drawn[:NORMALS], NORMAL * self.extent))
        places = points.mean(axis=1)
        labelled = _apart(places, LABEL * self.extent)[:LABELS] if seen and layers.labels else []
        for number, label in enumerate(self._labels):
            label.visible = number < len(labelled)
            if label.visible:
                row = labelled[number]
                label.text, label.position = f"{rows[row] + 1}: {drawn[row].label}", places[row]


def _apart(places: FloatArray, gap: float) -> list[int]:
    """Rows of places, each farther than a gap from those before that were taken."""
    taken: list[int] = []
    for row, place in enumerate(places):
        if all(np.linalg.norm(place - places[other]) > gap for other in taken):
            taken.append(row)
    return taken


def _normals(pairs: Sequence[DrawnPair], length: float) -> FloatArray:
    """Segments from both points of pairs outwards, shape (2 pairs, 2, 3)."""
    found = []
    for pair in pairs:
        found.append((pair.point_a, pair.point_a + length * pair.normal))
        found.append((pair.point_b, pair.point_b - length * pair.normal))
    return np.array(found)
