# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects of a planning scene, their problems, and their bodies in a `Scene`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.robot.octomap import Octree
from superovoid.robot.robot import Robot
from superovoid.scene import Body
from superovoid.shapes import ConvexMesh, Mesh, Shape

FloatArray = NDArray[np.float64]

OCTOMAP = "<octomap>"
"""The name of the octomap, in MoveIt as here; no other object may have it."""
MORE = "<more objects>"
"""Represents all unreadable objects beyond the limit of their number."""


class OutsideFrame(NamedTuple):
    """A frame that the robot does not carry, with its pose when it was used to place an object."""

    frame: str
    root_from_frame: NDArray[np.float64]
    """Shape (4, 4), m."""


@dataclass(frozen=True, eq=False)
class SceneObject:
    """An object made of shapes fixed in its frame, in the world or attached to a link."""

    name: str
    shapes: tuple[Shape, ...]
    object_from_shape: NDArray[np.float64]
    """Shape (n, 4, 4), m."""
    pose: NDArray[np.float64]
    """root_from_object, or link_from_object of an attached one; shape (4, 4), m."""
    link: str | None = None
    """Link that carries it; None: it belongs to the world."""
    touch_links: frozenset[str] = frozenset()
    """Links and objects that an attached one may touch; its own link only if included here."""
    source: str = ""
    """Name of its origin; `Edit.remove_all` can remove only the objects of one source."""
    octree: Octree | None = None
    """Source of the shapes of `OCTOMAP`; None: any other object."""
    subframes: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Names of subframes -> object_from_subframe, shape (4, 4), m."""
    outside_frame: OutsideFrame | None = None
    """Frame of the original pose of an object of the world, so that callers can follow the motion of that frame; None:
    the root's, or one that the robot carries."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Unknown objects of one name, or an object without a valid place.

    As in MoveIt, the world and links may have objects of the same name at once, and all of them may be unknown. A known
    object of this name is unchanged.
    """

    name: str
    """Name of the object or other item."""
    reason: str = ""
    links: frozenset[str | None] = frozenset((None,))
    """Where the unknown objects are or may be: on links; None: in the world."""
    by_move: bool = False
    """Whether a new pose makes the object known again, besides its removal or addition."""
    source: str = ""
    """Name of its origin, as `SceneObject.source`."""
    thing: SceneObject | None = None
    """The object without a place; None if its description could not be used."""
    root: str = ""
    """The root link whose frame the pose of `thing` refers to, if no link carries it."""

    def __str__(self) -> str:
        return self.reason if f"'{self.name}'" in self.reason else f"object '{self.name}': {self.reason}"

    @property
    def is_unread(self) -> bool:
        """Whether a description could not be used, whatever the robot."""
        return self.thing is None

    @property
    def link(self) -> str | None:
        """A link on which an unknown object may be; None: all are in the world."""
        return next((link for link in self.links if link is not None), None)


@dataclass(frozen=True)
class Padding:
    """Amounts to subtract from distances to get clearances, m.

    ====================  =========================================================================================
    pair                  its clearance is the distance less ``margin`` and less
    ====================  =========================================================================================
    link, object          the paddings of both
    attached, object      the padding of the link that carries the attached one, and the paddings of both by name
    attached, link        (or attached) the paddings of attached ones by name; with ``self_too`` those of links too
    link, link            nothing more, unless ``self_too``: MoveIt pads a robot against the world, not against itself
    ====================  =========================================================================================

    The clearance is the distance of the bodies grown by their paddings in every direction (their Minkowski sums with
    balls), overlapping or not. MoveIt instead lengthens the sides of a box and moves the vertices of a mesh: by the
    same amount along faces, by up to sqrt(3) times as much at corners.
    """

    by_name: Mapping[str, float] = field(default_factory=dict)
    """Link or object -> metres."""
    default: float = 0.0
    """Padding of links missing from `by_name`, m."""
    margin: float = 0.0
    self_too: bool = False

    def __post_init__(self) -> None:
        for what, value in (("default", self.default), ("margin", self.margin), *self.by_name.items()):
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"padding of '{what}' = {value}: must be at least 0 and finite (metres)")
        object.__setattr__(self, "by_name", MappingProxyType(dict(self.by_name)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Padding, (dict(self.by_name), self.default, self.margin, self.self_too)  # pickle has no read-only view


def object_frame(objects: Mapping[str, SceneObject], frame: str) -> tuple[SceneObject, FloatArray] | None:
    """Return the object of a frame, named as the object or as ``object/subframe``, and object_from_frame, or None."""
    if frame in objects:
        return objects[frame], np.eye(4)
    for at, letter in enumerate(frame):
        thing = objects.get(frame[:at]) if letter == "/" else None
        if thing is not None and frame[at + 1 :] in thing.subframes:
            return thing, thing.subframes[frame[at + 1 :]]
    return None


def same_place(first: OutsideFrame | None, second: OutsideFrame | None) -> bool:
    """Return whether two objects were given in the same frame at the same pose."""
    if first is None or second is None:
        return first is second
    return first.frame == second.frame and np.array_equal(first.root_from_frame, second.root_from_frame)


def in_root(thing: SceneObject, root: str, robot: Robot) -> SceneObject:
    """Return an object in the frame of a robot's root; raise `ValueError` if its pose refers to another root link."""
    if thing.link is not None or root == robot.root:
        return thing
    if thing.outside_frame is None or thing.outside_frame.frame != robot.root:
        raise ValueError(
            f"object '{thing.name}': stands in the frame of link '{root}', and the root of robot '{robot.name}' is "
            f"'{robot.root}'"
        )
    return replace(thing, pose=np.linalg.inv(thing.outside_frame.root_from_frame) @ thing.pose, outside_frame=None)


def triangle_count(thing: SceneObject) -> int:
    """Return the number of triangles of an object's meshes."""
    return sum(len(shape.faces) for shape in thing.shapes if isinstance(shape, Mesh | ConvexMesh))


def body_names(thing: SceneObject) -> list[str]:
    """Return the names of the bodies of an object, one for each shape."""
    count = len(thing.shapes)
    return [thing.name] if count == 1 else [f"{thing.name}/{number}" for number in range(count)]


def bodies_of_object(thing: SceneObject, root: str) -> list[Body]:
    """Return the bodies of an object, on its link; those of the world on the root."""
    link = root if thing.link is None else thing.link
    return [
        Body(name, link, shape, thing.pose @ object_from_shape)
        for name, shape, object_from_shape in zip(body_names(thing), thing.shapes, thing.object_from_shape, strict=True)
    ]
