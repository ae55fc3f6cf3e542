# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies of a running distance service as received in its markers, and the frames published with them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from superovoid.viewing.meanings import COLOURS, Meaning
from superovoid.viewing.picture import DrawnBody, TriangleBody, Triangles
from superovoid_ros.nodes.common.conversions import from_pose, from_transform
from superovoid_ros.nodes.common.mistakes import shorten

FloatArray = NDArray[np.float64]

_CUBE = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_CUBE_FACES = np.array(
    [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4),
     (1, 5, 7), (1, 7, 3)]
)  # fmt: skip


@dataclass(eq=False)
class MarkerBodies:
    """Bodies and frames received from a node. Not thread-safe."""

    prefix: str
    """Prefix of the node's frame names, before the names of links."""
    bodies: dict[int, DrawnBody] = field(default_factory=dict)
    """Bodies by marker id, with the meanings of their colours; each has another name."""
    objects: set[int] = field(default_factory=set)
    """Ids of the bodies whose owner is an object of the world; their poses are those of the objects."""
    frames: dict[str, tuple[str, FloatArray]] = field(default_factory=dict)
    """For each link: the parent frame of its pose, and frame_from_link, shape (4, 4), m."""
    incomplete: str = ""
    """The node's text about bodies that it left out; empty: none."""
    trouble: str = ""
    """Error in an unreadable message; empty: none."""
    changed_at: float = -math.inf
    """Monotonic time of the last new, changed or deleted body, s."""
    _first: dict[str, int] = field(default_factory=dict)
    """For each name, the id of the first marker that had it."""

    def take_markers(self, message: MarkerArray) -> None:
        """Process a message; raise `InputError` if the pose of a body is invalid."""
        for marker in message.markers:
            if marker.action == Marker.DELETEALL:
                self.bodies.clear()
                self._first.clear()
                self.incomplete = self.trouble = ""
                self.changed_at = time.monotonic()
            elif marker.ns == "incomplete":
                self.incomplete = marker.text if marker.action == Marker.ADD else ""
            elif marker.ns == "bodies" and marker.action == Marker.ADD:
                self._take_body(marker)
            elif marker.ns == "bodies" and (gone := self.bodies.pop(marker.id, None)) is not None:
                if self._first.get(gone.body.name) == marker.id:
                    del self._first[gone.body.name]
                self.changed_at = time.monotonic()

    def _take_body(self, marker: Marker) -> None:
        colour = 255.0 * np.array([marker.color.r, marker.color.g, marker.color.b])
        # Other colours have no known meaning.
        meaning = next((one for one, ours in COLOURS.items() if (np.abs(colour - ours) < 0.5).all()), Meaning.UNKNOWN)
        link = marker.header.frame_id.removeprefix(self.prefix)
        name, owner, kind, *_ = [*(marker.text or f"body {marker.id}").split("\n"), "", ""]
        if self._first.setdefault(name, marker.id) != marker.id:  # the node draws a large body in several markers
            name = f"{name} ({marker.id})"
        known = self.bodies.get(marker.id)
        points = np.array([(point.x, point.y, point.z) for point in marker.points]).reshape(-1, 3)
        if marker.type == Marker.CUBE_LIST:
            corners = (points[:, None] + marker.scale.x * _CUBE).reshape(-1, 3)
            faces = (8 * np.arange(len(points))[:, None, None] + _CUBE_FACES).reshape(-1, 3)
        else:
            corners, faces = np.unique(points, axis=0, return_inverse=True)
            faces = faces.reshape(-1)[: len(points) // 3 * 3].reshape(-1, 3)
        pose = from_pose(marker.pose, f"body '{shorten(name, 80)}'")
        shape, old = Triangles(corners, faces), None if known is None else known.body
        if old is not None and np.array_equal(corners, old.shape.vertices) and np.array_equal(faces, old.shape.faces):
            shape = old.shape  # a page need not draw it again
        body = TriangleBody(name, link, shape, pose)
        if old is None or (old.name, old.link, old.shape) != (name, link, shape) or (old.link_from_body != pose).any():
            self.changed_at = time.monotonic()
        self.bodies[marker.id] = DrawnBody(body, owner or link, meaning)
        (self.objects.add if kind == "object" else self.objects.discard)(marker.id)

    def take_frames(self, message: TFMessage) -> None:
        """Store the frames of this node's links; ignore all others."""
        for one in message.transforms:
            frame = one.child_frame_id
            link = frame.removeprefix(self.prefix)
            if link != frame:
                self.frames[link] = one.header.frame_id, from_transform(one.transform, shorten(frame, 80))

    def has_all_frames(self) -> bool:
        """Return True if there are bodies, and the frame of each is known."""
        return bool(self.bodies) and all(one.body.link in self.frames for one in self.bodies.values())

    def poses(self, frame: str | None) -> dict[str, FloatArray]:
        """Return poses of the links whose parent is `frame`; None: of all links, each in its own parent frame."""
        return {link: pose for link, (parent, pose) in self.frames.items() if frame in (None, parent)}
