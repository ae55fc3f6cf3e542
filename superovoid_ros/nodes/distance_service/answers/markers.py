# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Markers of the scene: bodies, closest points, segments, normals, distances.

Namespaces: `bodies` (a triangle list for each body, a cube list for each size of the cubes of an octomap), `points`
(one sphere list), `segments` (one line list), `normals` (one line list with the outward normals at both closest points,
for the closest pairs), `distances` (a text for each of the closest pairs), `incomplete` (a text above the robot that
names missing objects). Displays can hide each namespace.

Colours are those of `superovoid.viewing.meanings`, as on pages: they follow from the proved intervals. The field `text`
of a body's marker, which displays do not draw, contains its name, in a second line its link or object, and for an
object of the world a third line, `object`: that marker has the pose of the object.

A body is sent once, in the frame of its link, and again if it or its colour changes. The frames move: they are sent on
/tf as transforms of the links, under names of this node's own. So bodies, points and distances belong to one state, and
no other node needs to publish the links.
"""

from __future__ import annotations

import copy
import itertools
import textwrap
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, TransformStamped, Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from superovoid.scene import Body, SceneResult
from superovoid.viewing.meanings import COLOURS, Meaning, meanings
from superovoid.viewing.picture import NEAR, corners_of
from superovoid_ros.nodes.common.conversions import to_point, to_pose, to_transforms
from superovoid_ros.nodes.common.mistakes import shorten

WHITE = ColorRGBA(r=1.0, g=1.0, b=1.0, a=1.0)
NORMAL_LENGTH = 5.0
"""Length of a normal, in diameters of a closest point."""
LETTER = 4.0
"""Height of a letter, in diameters of a closest point."""
CLOSEST = 5
"""Largest number of pairs with normals and a written distance, closest first."""
LINE = 1.3
"""Vertical spacing of the texts of two pairs with the same middle, in letter heights."""
SIZE = 1.0 / 150.0
"""Diameter of a closest point, in extents of the scene."""
_FACETS = 32
"""Number of facets around a body."""
_POINTS_AT_ONCE = 10_000
"""Largest number of triangle corners in one message; sending more would delay the distances and responses."""
_PIECE = _POINTS_AT_ONCE // 3
"""Largest number of triangles or cubes in one marker; bodies with more have several."""
_REFRESH = 5
"""Number of updates after which one more body is re-sent, for subscribers that missed a message."""


class _Drawn(NamedTuple):
    """Content of one marker: a body, the cubes of one size, or a piece of these."""

    bodies: tuple[Body, ...]
    index: int
    """Index of the first body, which defines pose and colour."""
    marker: Marker
    """The marker; it has its points once it was sent, unless it is a piece."""
    marker_from_body: np.ndarray
    """Pose of the first body, m, shape (4, 4)."""
    piece: slice | None
    """Its triangles or cubes; None: all."""
    number: int
    """Number of this content; new content has another."""

    def to_send(self) -> Marker:
        """Return the marker with its points; a piece would need too much memory if it kept them."""
        marker = self.marker if self.piece is None else copy.copy(self.marker)
        if marker.points:
            return marker
        piece, shape = self.piece or slice(None), self.bodies[0].shape
        if marker.type == Marker.CUBE_LIST:  # centres, in the coordinates of the first
            first, poses = self.bodies[0].link_from_body, [body.link_from_body for body in self.bodies[piece]]
            points = (np.array(poses)[:, :3, 3] - first[:3, 3]) @ first[:3, :3]
        else:  # corners
            vertices, faces = shape.triangles(_FACETS) if self.piece is None else (shape.vertices, shape.faces)
            corners = vertices[faces[piece]].reshape(-1, 3)
            points = corners @ self.marker_from_body[:3, :3].T + self.marker_from_body[:3, 3]
        marker.points = [to_point(point) for point in points]
        return marker


class SceneMarkers:
    """Markers of a scene, stored between updates: triangles are computed once, and only changes are sent.

    The first message deletes all markers, which may be those of an earlier process.

    Parameters
    ----------
    frames
        Prefix of the links' frames, such as "distance_service/".

    Attributes
    ----------
    frame : str
        Frame of the last poses and results; before the first ones, a frame of the robot.
    missing : str
        Description of missing objects; empty if none are missing.
    """

    def __init__(self, frames: str) -> None:
        self._frames = frames
        self.frame = self.missing = ""
        self._drawn: dict[tuple[str, int], _Drawn] = {}  # by name of the first body, and piece
        self._sent: dict[tuple[str, int], object] = {}
        self._begins, self._updates, self._numbers = True, 0, itertools.count()

    def set_bodies(
        self,
        bodies: tuple[Body, ...],
        owners: Sequence[str],
        opacity: float,
        objects: Mapping[str, np.ndarray] = MappingProxyType({}),
        frame: str = "",
        cubes: Sequence[int] = (),
        watched: Sequence[int] = (),
    ) -> None:
        """Replace the bodies of the scene; the next update sends those that displays do not show.

        Parameters
        ----------
        bodies, owners
            The bodies, and the link or object to which each belongs.
        opacity
            Opacity of the bodies; 0: they are not drawn.
        objects
            Pose root_from_object of each object of the world, m, shape (4, 4).
        frame
            A frame of the robot.
        cubes
            Indices of the cubes, all with one orientation and on one link: drawn in one colour, that of unchecked
            bodies.
        watched
            Indices of the bodies in checked pairs, whose extent determines the sizes.
        """
        self._bodies, self._opacity, self.frame = bodies, opacity, frame
        self._watched = [bodies[index] for index in watched] or bodies
        self._checked = np.array(watched, dtype=int)
        self._links = sorted({body.link for body in bodies})
        self._extent: float | None = None
        together: dict[object, list[int]] = {}
        in_lists = set(map(int, cubes))
        for index, body in enumerate(bodies):
            together.setdefault(body.shape.lengths[0] if index in in_lists else body.name, []).append(index)
        self._unchecked = [indices[0] for indices in together.values() if indices[0] in in_lists]
        known, self._drawn = self._drawn, {}
        for index, *others in together.values() if opacity else ():
            drawn, owner = tuple(bodies[i] for i in (index, *others)), owners[index]
            name, body_pose, are_cubes = drawn[0].name, drawn[0].link_from_body, index in self._unchecked
            is_object = owner in objects and not are_cubes
            link_from_marker = objects[owner] if is_object else body_pose
            text, pose = f"{name}\n{owner}" + ("\nobject" if is_object else ""), to_pose(link_from_marker)
            marker_from_body = np.linalg.inv(link_from_marker) @ body_pose if is_object else np.eye(4)
            side = drawn[0].shape.lengths[0] if are_cubes else 1.0
            count = len(drawn) if are_cubes else len(getattr(drawn[0].shape, "faces", ()))
            pieces = [slice(begin, begin + _PIECE) for begin in range(0, count, _PIECE)] if count > _PIECE else [None]
            same = text, pose, drawn
            for i, piece in enumerate(pieces):
                before = known.get((name, i))
                if before is not None and (before.marker.text, before.marker.pose, before.bodies) == same:
                    self._drawn[name, i] = before._replace(index=index)
                    continue
                number = next(self._numbers)
                marker = Marker(ns="bodies", id=number if before is None else before.marker.id)
                marker.header.frame_id = self._frames + drawn[0].link
                marker.type = Marker.CUBE_LIST if are_cubes else Marker.TRIANGLE_LIST
                marker.text, marker.pose, marker.frame_locked = text, pose, True
                marker.scale = Vector3(x=side, y=side, z=side)
                self._drawn[name, i] = _Drawn(drawn, index, marker, marker_from_body, piece, number)

    def resend(self) -> None:
        """Send everything with the next update, for a new subscriber."""
        self._sent.update(dict.fromkeys(self._sent))

    def transforms(self, frame: str, link_poses: Mapping[str, np.ndarray], stamp: Time) -> list[TransformStamped]:
        """Return the transforms of the bodies' frames; none if no bodies are drawn."""
        if not self._opacity:
            return []
        poses = np.array([link_poses[link] for link in self._links]).reshape(-1, 4, 4)
        return to_transforms(frame, [self._frames + link for link in self._links], poses, stamp)

    def update(
        self,
        frame: str,
        link_poses: Mapping[str, np.ndarray],
        result: SceneResult,
        near_distance: float,
        max_distance: float = np.inf,
    ) -> MarkerArray:
        """Return the markers that changed since the last update; many triangles are spread over several updates.

        Parameters
        ----------
        frame
            Frame of poses and results.
        link_poses
            Pose frame_from_link of each link, m, shape (4, 4).
        result
            Pairs, closest first. Points, segments, normals and text are drawn for near and overlapping pairs, and for
            the closest one.
        near_distance
            Largest distance of near pairs, m; 0: `NEAR` of the scene's extent.
        max_distance
            Largest distance of pairs in `result`, m, and therefore of near pairs.
        """
        if self._extent is None:  # from the first state, so that sizes do not change
            corners = [corner for body in self._watched for corner in corners_of(body, link_poses)]
            self._extent = float(np.linalg.norm(np.ptp(corners, axis=0))) if corners else 1.0
        states = meanings(result.lower, result.upper, min(near_distance or NEAR * self._extent, max_distance))
        drawn = np.flatnonzero((states != Meaning.APART) | (np.arange(len(states)) == 0))
        worst = self._of_all(Meaning.APART)
        np.maximum.at(worst, result.body_a, states)
        np.maximum.at(worst, result.body_b, states)
        self.frame = frame
        return self._message(worst, self._pair_markers(frame, result, states, drawn))

    def markers_without_answer(self) -> MarkerArray:
        """Return the changed markers if there is no answer: no pairs, and all bodies of unknown meaning."""
        return self._message(self._of_all(Meaning.UNKNOWN), [])

    def _of_all(self, meaning: Meaning) -> np.ndarray:
        """Return the meaning of each body if all pairs have the same meaning."""
        found = np.full(len(self._bodies), int(Meaning.UNCHECKED))
        found[self._checked] = meaning
        return found

    def _message(self, worst: np.ndarray, pair_markers: list[Marker]) -> MarkerArray:
        """Return bodies with a new meaning, pairs, the text about missing objects, and deletions of outdated ones."""
        others = [*pair_markers, *self._missing_marker()]
        markers = [Marker(action=Marker.DELETEALL)] if self._begins else []
        self._begins = False
        sent = {(marker.ns, marker.id) for marker in others}
        bodies = {("bodies", one.marker.id) for one in self._drawn.values()}
        for key in self._sent.keys() - sent - bodies:
            del self._sent[key]
            markers.append(Marker(ns=key[0], id=key[1], action=Marker.DELETE))
        for marker in markers:
            marker.header.frame_id = self.frame
        self._sent.update((key, True) for key in sent)
        return MarkerArray(markers=markers + self._changed_bodies(worst) + others)

    def _missing_marker(self) -> list[Marker]:
        if not self.missing:
            return []
        marker = Marker(ns="incomplete", type=Marker.TEXT_VIEW_FACING, frame_locked=True)
        marker.header.frame_id = self.frame
        marker.text = "\n".join(textwrap.wrap(shorten(self.missing, 400), 60))
        marker.pose.position.z, marker.pose.orientation.w, marker.scale.z = 1.0, 1.0, 0.05
        marker.color = ColorRGBA(r=1.0, g=0.2, b=0.2, a=1.0)
        return [marker]

    def _changed_bodies(self, worst: np.ndarray) -> list[Marker]:
        """Return the markers of bodies that displays do not show with these meanings, as many as fit in a message."""
        worst[self._unchecked] = Meaning.UNCHECKED
        changed, points = [], 0
        # Re-send bodies one after another, for subscribers that missed a message.
        self._updates += 1
        turn, rest = divmod(self._updates, _REFRESH)
        again = list(self._drawn)[turn % len(self._drawn)] if self._drawn and not rest else None
        for name, one in self._drawn.items():
            state, key = (one.number, int(worst[one.index])), ("bodies", one.marker.id)
            if self._sent.get(key) == state and name != again:
                continue
            if changed and one.piece is not None:  # it fills a message
                break
            marker = one.to_send()
            points += len(marker.points)
            if changed and points > _POINTS_AT_ONCE:
                break
            self._sent[key] = state
            marker.color = colour(state[1], self._opacity)
            changed.append(marker)
        return changed

    def _pair_markers(self, frame: str, result: SceneResult, states: np.ndarray, drawn: np.ndarray) -> list[Marker]:
        size, closest = SIZE * self._extent, drawn[:CLOSEST]
        a = [to_point(point) for point in result.point_a[drawn]]
        b = [to_point(point) for point in result.point_b[drawn]]
        colours = [colour(state) for state in states[drawn].tolist()]
        ends = [point for pair in zip(a, b, strict=True) for point in pair]
        end_colours = [shade for shade in colours for _ in range(2)]
        markers = []

        def add(namespace: str, kind: int, width: float, **fields: object) -> None:
            scale = Vector3(x=width, y=width, z=width)
            markers.append(Marker(ns=namespace, type=kind, scale=scale, color=WHITE, **fields))
            markers[-1].header.frame_id = frame

        if ends:
            add("points", Marker.SPHERE_LIST, size, points=ends, colors=end_colours)
            add("segments", Marker.LINE_LIST, 0.4 * size, points=ends, colors=end_colours)
            tips = NORMAL_LENGTH * size * result.normal[closest]
            tips = np.stack([result.point_a[closest] + tips, result.point_b[closest] - tips], axis=1).reshape(-1, 3)
            lines = [point for start, tip in zip(ends, tips, strict=False) for point in (start, to_point(tip))]
            add("normals", Marker.LINE_LIST, 0.4 * size, points=lines)
        for row, pair in enumerate(closest.tolist()):
            place = 0.5 * (result.point_a[pair] + result.point_b[pair])
            place[2] += LETTER * size * (1.0 + LINE * row)
            words, pose = f"{1000.0 * result.distance[pair]:.2f} mm", Pose(position=to_point(place))
            add("distances", Marker.TEXT_VIEW_FACING, LETTER * size, id=row, text=words, pose=pose)
        return markers


def colour(state: int, opacity: float = 1.0) -> ColorRGBA:
    """Return the colour of a `Meaning`."""
    red, green, blue = (part / 255.0 for part in COLOURS[Meaning(state)])
    return ColorRGBA(r=red, g=green, b=blue, a=opacity)
