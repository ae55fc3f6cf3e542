# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The bodies of a running distance service as its markers have them, and the frames that come with these."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from superovoid.viewing.meanings import COLOURS, Meaning
from superovoid.viewing.picture import TriangleBody, Triangles
from superovoid_ros.nodes.common.conversions import from_pose, from_transform
from superovoid_ros.nodes.common.mistakes import InputError, shortened

FloatArray = NDArray[np.float64]

_QUIET = 2
"""Messages in a row without a new body, after which a restarted node has sent all bodies: one message of five repeats
a body, and may have no room for others."""
_MOST_BODIES, _MOST_FRAMES = 20_000, 20_000
_FARTHEST = 1e9  # m, of a corner: a page draws with single precision
_CUBE = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_CUBE_FACES = np.array(
    [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4),
     (1, 5, 7), (1, 7, 3)]
)  # fmt: skip


@dataclass
class HeardBody:
    """A body as its marker has it."""

    body: TriangleBody
    owner: str
    """The link or object that it is a part of."""
    meaning: Meaning


class HeardBodies:
    """What a node sends of its bodies. Not for several threads at once.

    Parameters
    ----------
    prefix : str
        Of the node's frames, before the names of links.

    Attributes
    ----------
    bodies : dict of int to HeardBody
        By the number of their marker.
    frames : dict of str to (str, array)
        By link: the frame that its pose is in, and frame_from_link (4, 4), m.
    incomplete : str
        What the node reports as left out; empty: nothing.
    trouble : str
        What could not be read; empty: nothing.
    changed_at : float
        Monotonic time of the last change of what bodies there are, s.
    clearings : int
        Number of times that the node restarted sending.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.bodies: dict[int, HeardBody] = {}
        self.frames: dict[str, tuple[str, FloatArray]] = {}
        self.incomplete = self.trouble = ""
        self.changed_at, self.clearings = -math.inf, 0
        self._old: dict[str, HeardBody] = {}
        """By name: the bodies from before a restart of the node, until each of them has come again."""
        self._places = 0
        """Counts bodies that came, and beginnings."""
        self._quiet = 0
        """Messages without a new body since there was one."""

    def take_markers(self, message: MarkerArray) -> None:
        """Take a message in; `InputError` if a body of it makes no sense."""
        before, said = self._places, False
        for marker in message.markers:
            said |= marker.ns != "incomplete"  # which comes alone
            if marker.action == Marker.DELETEALL:
                self._old = {heard.body.name: heard for heard in self.all()}
                self.bodies.clear()
                self.incomplete = self.trouble = ""
                self.changed_at = time.monotonic()
                self.clearings += 1
                self._places += 1
            elif marker.ns == "incomplete":
                self.incomplete = marker.text if marker.action == Marker.ADD else ""
            elif marker.ns == "bodies" and marker.action == Marker.ADD:
                self._take_body(marker)
            elif marker.ns == "bodies":
                self.bodies.pop(marker.id, None)
        if self._places != before:
            self._quiet = 0
        elif said:
            self._quiet += 1
            if self._quiet >= _QUIET:
                self._old.clear()

    def _take_body(self, marker: Marker) -> None:
        colour = 255.0 * np.array([marker.color.r, marker.color.g, marker.color.b])
        # An unknown colour has no meaning.
        meaning = next((one for one, ours in COLOURS.items() if (np.abs(colour - ours) < 0.5).all()), Meaning.UNKNOWN)
        link = marker.header.frame_id.removeprefix(self._prefix)
        name, _, owner = (marker.text or f"body {marker.id}").partition("\n")
        heard = self.bodies.get(marker.id)
        if heard is not None and (heard.body.link, heard.body.name) == (link, name):
            heard.meaning = meaning
            return
        if len(self.bodies) >= _MOST_BODIES:
            raise InputError(f"more than {_MOST_BODIES} bodies")
        points = np.array([(point.x, point.y, point.z) for point in marker.points]).reshape(-1, 3)
        if marker.type == Marker.CUBE_LIST:
            corners = (points[:, None] + marker.scale.x * _CUBE).reshape(-1, 3)
            faces = (8 * np.arange(len(points))[:, None, None] + _CUBE_FACES).reshape(-1, 3)
        else:
            corners, faces = np.unique(points, axis=0, return_inverse=True)
            faces = faces.reshape(-1)[: len(points) // 3 * 3].reshape(-1, 3)
        if not (np.abs(corners) < _FARTHEST).all():
            raise InputError(f"body '{shortened(name, 80)}' has a corner that is not within {_FARTHEST:g} m")
        pose = from_pose(marker.pose, f"body '{shortened(name, 80)}'")
        body = TriangleBody(name, link, Triangles(corners, faces), pose)
        old = self._old.pop(name, None)
        if old is not None and np.array_equal(old.body.shape.vertices, corners):
            body = TriangleBody(name, link, old.body.shape, pose)  # a page need not draw it again
        self.bodies[marker.id] = HeardBody(body, owner or link, meaning)
        self._places += 1
        self.changed_at = time.monotonic()

    def take_frames(self, message: TFMessage) -> None:
        """Take the frames of links in, and leave those of others out."""
        for one in message.transforms:
            frame = one.child_frame_id
            link = frame.removeprefix(self._prefix)
            if link != frame and (link in self.frames or len(self.frames) < _MOST_FRAMES):
                self.frames[link] = one.header.frame_id, from_transform(one.transform, shortened(frame, 80))

    def all(self) -> list[HeardBody]:
        """The present bodies, and those that may yet be sent again.

        A busy machine may take any time for that, so that messages count rather than time.
        """
        return [*self.bodies.values(), *self._old.values()]

    def placed(self) -> bool:
        """Whether there are bodies, and a frame of each."""
        return bool(self.bodies) and all(heard.body.link in self.frames for heard in self.bodies.values())

    def poses(self, frame: str | None) -> dict[str, FloatArray]:
        """Of the links known in a frame; None: in the frames of the messages."""
        return {link: pose for link, (parent, pose) in self.frames.items() if frame in (None, parent)}
