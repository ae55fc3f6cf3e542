# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects of a planning scene: what is known of each, and the bodies that it has in a `Scene`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.robot.octomap import Octree
from superovoid.robot.robot import Robot
from superovoid.scene import Body
from superovoid.shapes import ConvexMesh, Mesh, Shape
from superovoid.shapes.scaling import scaled

FloatArray = NDArray[np.float64]

OCTOMAP = "<octomap>"
"""The name of the octomap, in MoveIt as here; no other object may have it."""
MORE = "<more objects>"
"""Stands for all objects that could not be read when there were as many names of such as are kept."""


class GivenIn(NamedTuple):
    """A frame that the robot does not carry, and where it was when an object was placed by it."""

    frame: str
    root_from_frame: NDArray[np.float64]
    """Shape (4, 4), m."""


@dataclass(frozen=True, eq=False)
class SceneObject:
    """A thing made of shapes that keep their places in its frame, in the world or attached to a link."""

    name: str
    shapes: tuple[Shape, ...]
    object_from_shape: NDArray[np.float64]
    """Shape (n, 4, 4), m."""
    pose: NDArray[np.float64]
    """root_from_object, or link_from_object of an attached one; shape (4, 4), m."""
    link: str | None = None
    """That carries it; None: it belongs to the world."""
    touch_links: frozenset[str] = frozenset()
    """Links and objects that an attached one may touch; its own link only where it is one of them."""
    source: str = ""
    """Who brought it: `Edit.remove_all` can be told to remove only the objects of one source."""
    octree: Octree | None = None
    """What the shapes of `OCTOMAP` were made from; None: any other object."""
    subframes: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Names of places on it -> object_from_subframe, shape (4, 4), m: kept for those who name them."""
    kind: tuple[str, str] = ("", "")
    """What it is, by data base and key: kept for those who ask, without effect here."""
    given_in: GivenIn | None = None
    """Of one of the world, the frame that its pose was given in, for those who know whether that has moved since; None:
    the root's, or one that the robot carries."""


class ProblemKind(Enum):
    """What is not known of an object, and so what has to be said of it before all is known again."""

    ALL = "all"
    """Nothing is known: it has to be removed, or added again."""
    POSE = "pose"
    """It was to be moved: one that is moved is known again."""
    PLACES = "places"
    """It was to be moved and its shapes in it: one of which both is said is known again."""
    PUT_DOWN = "put down"
    """The link that carries it was to put it down: one that is detached is known again."""
    NO_PLACE = "no place"
    """It is known, but does not fit this robot or these limits: it fits again with others."""
    NOTHING = "nothing"
    """All is known: it was to be removed from the world."""

    def and_then(self, other: ProblemKind) -> ProblemKind:
        """Return what is not known after a second problem with the same object."""
        if self is other:
            return self
        return ProblemKind.PLACES if {self, other} == {ProblemKind.POSE, ProblemKind.PLACES} else ProblemKind.ALL


@dataclass(frozen=True, eq=False)
class Problem:
    """An object that is not where it is to be, or anything else whose description could not be used.

    The object of this name that is there, if any, is as it was before.
    """

    name: str
    """Of the object, or of anything else that is removed or added by name."""
    kind: ProblemKind = ProblemKind.ALL
    reason: str = ""
    link: str | None = None
    """The link that was to carry it, or to put it down; None: it belongs to the world."""
    source: str = ""
    """Who brought it, as `SceneObject.source`."""
    thing: SceneObject | None = None
    """The object that has no place; None if its description could not be used."""
    root: str = ""
    """The root link in whose frame the pose of `thing` is, if no link carries it."""

    def __str__(self) -> str:
        return self.reason if f"'{self.name}'" in self.reason else f"object '{self.name}': {self.reason}"

    @property
    def is_unread(self) -> bool:
        """Whether a description could not be used, which no other robot changes."""
        return self.thing is None

    @property
    def attaches(self) -> bool:
        """Whether a link was to carry the object."""
        return self.link is not None and self.kind is not ProblemKind.PUT_DOWN


@dataclass(frozen=True)
class Padding:
    """What is subtracted from distances before they count as clearances, m.

    ====================  =========================================================================================
    a pair of             its clearance is the distance less ``margin`` and less
    ====================  =========================================================================================
    link, object          the paddings of both
    attached, object      the padding of the link that carries the attached one, and the paddings of both by name
    link, link            (also attached objects with links and each other) nothing more, unless ``self_too``: MoveIt
                          pads a robot against the world and not against itself
    ====================  =========================================================================================

    The clearance is the distance of the bodies grown by their paddings in every direction (their Minkowski sums with
    balls), overlapping or not. MoveIt instead lengthens the sides of a box, moves the vertices of a mesh: the same
    along faces, up to sqrt(3) times as far at corners.
    """

    by_name: Mapping[str, float] = field(default_factory=dict)
    """Link or object -> metres."""
    default: float = 0.0
    """Of links that `by_name` does not have."""
    margin: float = 0.0
    self_too: bool = False

    def __post_init__(self) -> None:
        for what, value in (("default", self.default), ("margin", self.margin), *self.by_name.items()):
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"padding of '{what}' = {value}: must be at least 0 and finite (metres)")
        object.__setattr__(self, "by_name", MappingProxyType(dict(self.by_name)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Padding, (dict(self.by_name), self.default, self.margin, self.self_too)  # a pickle has no read-only view


def object_frame(objects: Mapping[str, SceneObject], frame: str) -> tuple[SceneObject, FloatArray] | None:
    """The object whose frame this is, by its name or as ``object/subframe``, and object_from_frame; None: of no one."""
    if frame in objects:
        return objects[frame], np.eye(4)
    for at, letter in enumerate(frame):
        thing = objects.get(frame[:at]) if letter == "/" else None
        if thing is not None and frame[at + 1 :] in thing.subframes:
            return thing, thing.subframes[frame[at + 1 :]]
    return None


def same_place(first: GivenIn | None, second: GivenIn | None) -> bool:
    """Whether two objects were given in one frame that was at one place."""
    if first is None or second is None:
        return first is second
    return first.frame == second.frame and np.array_equal(first.root_from_frame, second.root_from_frame)


def in_root(thing: SceneObject, root: str, robot: Robot, before: Robot) -> SceneObject:
    """An object with its pose in the root frame of a robot, of which `root` may be another link by now."""
    if thing.link is not None or root == robot.root:
        return thing
    if thing.given_in is not None and thing.given_in.frame == robot.root:
        return replace(thing, pose=np.linalg.inv(thing.given_in.root_from_frame) @ thing.pose, given_in=None)
    pose = _fixed_pose(robot, root)
    if pose is None and before.root == root:
        back = _fixed_pose(before, robot.root)
        pose = None if back is None else np.linalg.inv(back)
    if pose is None:
        raise ValueError(
            f"object '{thing.name}': stands in the frame of link '{root}', and no fixed joints say where that is in "
            f"the frame of '{robot.root}', the root link of robot '{robot.name}'"
        )
    given_in = thing.given_in and thing.given_in._replace(root_from_frame=pose @ thing.given_in.root_from_frame)
    return replace(thing, pose=pose @ thing.pose, given_in=given_in)


def _fixed_pose(robot: Robot, link: str) -> np.ndarray | None:
    """root_from_link; None where there is no such link, or joints between that are not fixed."""
    by_child, pose = {joint.child: joint for joint in robot.joints.values()}, np.eye(4)
    while link in by_child and by_child[link].kind == "fixed":
        pose, link = by_child[link].parent_from_joint @ pose, by_child[link].parent
    return pose if link == robot.root else None


def triangle_count(thing: SceneObject) -> int:
    """How many triangles the meshes of an object have."""
    return sum(len(shape.faces) for shape in thing.shapes if isinstance(shape, Mesh | ConvexMesh))


def body_names(thing: SceneObject) -> list[str]:
    """Names of the bodies of an object, one for each shape."""
    count = len(thing.shapes)
    return [thing.name] if count == 1 else [f"{thing.name}/{number}" for number in range(count)]


def bodies_of_object(thing: SceneObject, root: str) -> list[Body]:
    """The bodies of an object, those of the world on the root."""
    link = root if thing.link is None else thing.link
    return [
        Body(name, link, shape, thing.pose @ object_from_shape)
        for name, shape, object_from_shape in zip(body_names(thing), thing.shapes, thing.object_from_shape, strict=True)
    ]


def scaled_name(name: str) -> str:
    """The name of the body that stands for one of a scaled link where the world is concerned."""
    return f"{name} (scaled)"


def scaled_bodies(bodies: Iterable[Body], scales: Mapping[str, float]) -> list[Body]:
    """The bodies that stand for those of scaled links, and what these carry, where the world is concerned.

    Raises
    ------
    ValueError
        If a scale leaves what a shape may have; names the link.
    """
    found = []
    for body in bodies:
        scale = scales.get(body.link, 1.0)
        if scale != 1.0:
            try:
                shape = scaled(body.shape, scale)
            except ValueError as error:
                raise ValueError(f"scale of link '{body.link}' = {scale}: body '{body.name}': {error}") from None
            found.append(Body(scaled_name(body.name), body.link, shape, body.link_from_body))
    return found
