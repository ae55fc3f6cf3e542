# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot with the objects around it and in its hands: their bodies, the rules of their pairs, paddings, one `Scene`.

A `PlanningScene` never changes. An `Edit` collects changes and turns them into another one; whatever is wrong with one
of them raises, and then nothing has changed. So whoever holds a planning scene holds a whole one, in any thread.

Objects of the world stand still in the frame of the robot's root link, attached ones on their link. In the scene their
bodies therefore belong to that link (`Body.link`), and forward kinematics places them like the robot's own; the name
of the object, or of the robot's link, is the *owner* of a body. The robot's bodies come first, in the order of
`Robot.bodies`: their indices are those of the robot's own scene.

An octomap is an object of the world with a box for each of its occupied cubes. There may be thousands, and who asks for
a distance to the map means that to the nearest of them: `query_parts` answers so.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid_ros.contact.inputs import TOLERANCE, as_poses
from superovoid_ros.contact.poses import PoseLike, PosesLike
from superovoid_ros.contact.results import DistanceResults
from superovoid_ros.robot.errors import LimitError
from superovoid_ros.robot.limits import MAXIMUM_NAME, Limits
from superovoid_ros.robot.octomap import Octree
from superovoid_ros.robot.robot import Robot
from superovoid_ros.robot.rules import NO_MATRIX, AllowedCollisionMatrix, CollisionRules
from superovoid_ros.robot.xml import short
from superovoid_ros.scene import Body, Scene, SceneResult
from superovoid_ros.shapes import Box, ConvexMesh, Mesh, Shape

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

OCTOMAP = "<octomap>"
"""The name of the octomap, in MoveIt as here; no other object may have it."""
_READ_ONLY = ("objects", "misfits", "colours")  # views of mappings, which a pickle does not have
# From so many bodies that come, go or move at once on it is quicker to build the scene anew.
_REBUILD_FROM = 16


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


@dataclass(frozen=True, eq=False)
class Misfit:
    """An object that is not where it is to be.

    It came with another robot or under other limits; or what was said about it could not be read. Then it has no
    shapes, and the object of its name, if there is one, is as it was before.
    """

    thing: SceneObject
    root: str
    """The root link whose frame the pose is in, where no link carries the object."""
    reason: str
    """Names the object."""
    only_pose: bool = False
    """All that could not be read is where it was to be moved: one that can be moved is read again."""

    @property
    def is_unread(self) -> bool:
        """Whether it is something that could not be read, which no other robot changes."""
        return not self.thing.shapes and self.thing.octree is None


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
    along faces, up to sqrt(3) times as far at corners. The scale of a link, which MoveIt has too, is not supported.
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


class PlanningScene:
    """A robot, objects, and what is checked against what. See the module for who owns which body.

    Parameters
    ----------
    robot : Robot
    tolerance : float, optional
        Relative width of a certified interval, as for `superovoid_ros.distance`.
    limits : Limits, optional
        How much there may be of everything.

    Raises
    ------
    ValueError
        If the robot alone has more bodies or pairs than there may be.

    Attributes
    ----------
    robot : Robot
    rules : CollisionRules
        Of links and objects; not to be changed here but through `edit`.
    objects : mapping of str to SceneObject
    misfits : mapping of str to Misfit
        Objects that `for_robot` could not put where they are to be, and those that `Edit.refuse` names. They have no
        bodies, so that no answer of `scene` is one about all that there is, until they are removed, added anew, or fit
        again.
    padding : Padding
    limits : Limits
    scene : Scene
        Of all bodies and all checked pairs. Give it the poses of the robot's links, root included. Its state is the
        only thing here that changes; `Scene.fork` gives a state of one's own.
    owners : tuple of str
        By body of the scene: the link or object that it is a part of.
    name : str
        Of the scene itself, and
    colours : mapping of str to (float, float, float, float)
        red, green, blue, opacity of links and objects: kept for those who ask for them, without effect here.
    """

    def __init__(self, robot: Robot, *, tolerance: float = TOLERANCE, limits: Limits | None = None) -> None:
        self.robot = robot
        self.limits = Limits() if limits is None else limits
        self.limits.check("bodies", len(robot.bodies))
        self.rules: CollisionRules = robot.rules
        self.objects: Mapping[str, SceneObject] = MappingProxyType({})
        self.misfits: Mapping[str, Misfit] = MappingProxyType({})
        self.padding = Padding()
        self.name = ""
        self.colours: Mapping[str, tuple[float, float, float, float]] = MappingProxyType({})
        self._tolerance = tolerance
        self._own_pairs = robot.body_pairs(most=self.limits.pairs)
        self.scene = Scene(robot.bodies, self._own_pairs, tolerance=tolerance)
        self._owner_of = {body.name: "" for body in robot.bodies}  # no object has that name
        self._counts = {"triangles": 0}
        self._index_owners()

    def __repr__(self) -> str:
        attached = sum(thing.link is not None for thing in self.objects.values())
        objects = f"{len(self.objects)} objects, {attached} attached"
        objects += f", {len(self.misfits)} without a place" if self.misfits else ""
        return (
            f"PlanningScene({self.robot.name!r}, {objects}, {len(self.owners)} bodies, {self.scene.pair_count} pairs)"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, **{name: dict(getattr(self, name)) for name in _READ_ONLY}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, **{name: MappingProxyType(state[name]) for name in _READ_ONLY})

    def edit(self) -> Edit:
        """Begin a change; nothing happens before its `Edit.commit`."""
        return Edit(self)

    def owners_of(self, names: Iterable[str] | None) -> frozenset[str]:
        """The links and objects with bodies among names of links, groups and objects; all of them for None.

        Raises
        ------
        ValueError
            If a name is unknown, or a link named has no contact geometry.
        """
        if names is None:
            return frozenset(self.owners)
        found: set[str] = set()
        for name in names:
            if name in self.objects:
                found.add(name)
                continue
            if name not in self.robot.groups and name not in self.robot.links and self.objects:
                raise ValueError(
                    f"'{name}' is no link, no group and no object (groups: {', '.join(self.robot.groups) or 'none'}; "
                    f"links: {', '.join(self.robot.links)}; objects: {', '.join(self.objects)})"
                )
            found.update(self.robot.links_of([name]))
        return frozenset(found & self._owner_row.keys())

    def body_pairs(self, names_a: Iterable[str] | None = None, names_b: Iterable[str] | None = None) -> IntArray:
        """The checked pairs between two sets of links, groups and objects.

        Parameters
        ----------
        names_a, names_b : iterable of str, optional
            Names; None: all.

        Returns
        -------
        (n, 2) array of int
            Indices of bodies of `scene`, the smaller first.
        """
        pairs = self.scene.pairs
        if names_a is None and names_b is None:
            return np.array(pairs)
        a, b = (
            np.isin(self._owner_of_body, [self._owner_row[owner] for owner in self.owners_of(names)])
            for names in (names_a, names_b)
        )
        first, second = pairs[:, 0], pairs[:, 1]
        return pairs[(a[first] & b[second]) | (b[first] & a[second])]

    def bodies_of(self, owner: str) -> IntArray:
        """The bodies of a link or object, indices in `scene`, shape (n,); none of one that is not there."""
        return np.flatnonzero(self._owner_of_body == self._owner_row.get(owner, -1))

    def parts(self, pairs: IntArray) -> tuple[IntArray, ...]:
        """Pairs as `query_parts` takes them: all without the octomap, then those of each other body with its boxes.

        Parameters
        ----------
        pairs : (n, 2) ndarray of int
            As of `body_pairs`.
        """
        boxes = self.bodies_of(OCTOMAP)
        if not len(boxes):
            return (pairs,)
        is_box = np.zeros(len(self.owners), dtype=bool)
        is_box[boxes] = True
        of_map = is_box[pairs]
        with_map = of_map.any(axis=1)
        crowds, others = pairs[with_map], pairs[with_map][~of_map[with_map]]
        order = np.argsort(others, kind="stable")
        of_bodies = np.split(crowds[order], np.flatnonzero(np.diff(others[order])) + 1)
        return (pairs[~with_map], *(crowd for crowd in of_bodies if len(crowd)))

    def is_attached(self, owner: str) -> bool:
        """Whether an owner of bodies is an attached object."""
        return owner in self.objects and self.objects[owner].link is not None

    def in_world(self, owner: str) -> bool:
        """Whether an owner of bodies is an object of the world."""
        return owner in self.objects and self.objects[owner].link is None

    def concerns_world(self, pairs: IntArray | None = None) -> bool:
        """Whether a body of pairs, as of `body_pairs`, belongs to an object of the world; None: whether any does."""
        of_world = self._of_world
        if pairs is None or not of_world.any():
            return bool(of_world.any())
        # Of an octomap there are many pairs, and one of the first is of it.
        return bool(of_world[pairs[:1000]].any() or of_world[pairs].any())

    def paddings(self, result: SceneResult) -> FloatArray:
        """What `padding` subtracts from each distance of a result, m, shape (n,)."""
        return self.paddings_of(result.body_a, result.body_b)

    def paddings_of(self, body_a: np.ndarray, body_b: np.ndarray) -> np.ndarray:
        """What `padding` subtracts from the distances of pairs of bodies of `scene`, m, shape (n,)."""
        padding, margin = self.padding, self.padding.margin
        if not (padding.by_name or padding.default):
            return np.full(len(body_a), margin)
        against_world, own = np.zeros((2, len(self._owner_row)))
        for owner, row in self._owner_row.items():
            carried = self.objects.get(owner)
            own[row] = padding.by_name.get(owner, 0.0) if carried is not None else 0.0
            link = owner if carried is None else carried.link
            against_world[row] = 0.0 if link is None else padding.by_name.get(link, padding.default)
        world = np.array([self.in_world(owner) for owner in self._owner_row])
        a, b = self._owner_of_body[body_a], self._owner_of_body[body_b]
        with_link = world[a] | world[b] | padding.self_too
        return margin + own[a] + own[b] + np.where(with_link, against_world[a] + against_world[b], 0.0)

    def largest_padding(self) -> float:
        """A bound of `paddings`, m: the cut-off within which a pair may have no clearance left."""
        return self.padding.margin + 4.0 * max((self.padding.default, *self.padding.by_name.values()))

    def clearances(self, result: SceneResult) -> DistanceResults:
        """A result with the paddings subtracted from distances and bounds; the points stay on the bodies."""
        less = self.paddings(result)
        rows = {name: getattr(result, name) for name in DistanceResults.PER_ROW}
        rows |= {name: rows[name] - less for name in ("distance", "lower", "upper")}
        return DistanceResults(**rows)

    def for_robot(
        self,
        robot: Robot,
        *,
        tolerance: float = TOLERANCE,
        limits: Limits | None = None,
        padding: Padding | None = None,
    ) -> PlanningScene:
        """The same objects, rules and paddings for another description of the robot, or other limits.

        What cannot be where it is to be is kept in `misfits`: an object on a link that is no more, or with the name of
        a link; objects of the world where the root link is another and no fixed joints say where that is; objects
        beyond the limits, and all of them where only their pairs are too many. Rules about names that are no more are
        kept, without effect until there are such names.

        Parameters
        ----------
        robot : Robot
        tolerance : float, optional
        limits : Limits, optional
            Default: those of now.
        padding : Padding, optional
            Default: that of now.

        Raises
        ------
        ValueError
            If the robot alone, with these rules, has more bodies or pairs than there may be.
        """
        limits = self.limits if limits is None else limits
        bare = PlanningScene(robot, tolerance=tolerance, limits=limits)
        bare.padding = self.padding if padding is None else padding
        try:
            return self._carried_over(bare)
        except LimitError as error:
            return self._carried_over(bare, refused=str(error))

    def _carried_over(self, bare: PlanningScene, *, refused: str = "") -> PlanningScene:
        """`bare` with the objects and rules of this scene; where there is a reason, every object is a misfit for it."""
        edit, robot, misfits = bare.edit(), bare.robot, {}
        kept = [(thing, self.robot.root) for thing in self.objects.values()]
        for thing, root in (*kept, *((misfit.thing, misfit.root) for misfit in self.misfits.values())):
            unread = self.misfits.get(thing.name)
            if unread is not None and unread.thing is thing and unread.is_unread:
                misfits[thing.name] = unread
                continue
            try:
                if refused:
                    raise ValueError(f"object '{thing.name}': {refused}")
                edit._put(_in_root(thing, root, robot, self.robot))
            except ValueError as error:
                misfits[thing.name] = Misfit(thing, root, str(error))
        edit._misfits = misfits
        edit.set_matrix(self.rules.matrix)
        for pair, checked, reason in self.rules.runtime:
            name_a, name_b = (list(pair) * 2)[:2]
            edit._rules.set_runtime(name_a, name_b, checked, reason)
        edit.name, edit.colours = self.name, dict(self.colours)
        return edit.commit()

    def _index_owners(self) -> None:
        owners = [body.link for body in self.robot.bodies]
        by_body = {body: thing.name for thing in self.objects.values() for body in _body_names(thing)}
        owners += [by_body[body.name] for body in self.scene.bodies[len(owners) :]]
        self.owners = tuple(owners)
        self._owner_row = {owner: row for row, owner in enumerate(dict.fromkeys(owners))}
        self._owner_of_body = np.array([self._owner_row[owner] for owner in owners], dtype=np.int64)
        self._of_world = np.array([self.in_world(owner) for owner in self._owner_row], dtype=bool)[self._owner_of_body]

    def _wanted_pairs(self) -> np.ndarray:
        """The pairs that the rules let be checked, indices of bodies, shape (n, 2)."""
        rules, mentioned = self.rules, self.rules.mentioned()
        links = [owner for owner in self._owner_row if owner not in self.objects]
        bodies: dict[str, list[int]] = {}
        for index, owner in enumerate(self.owners):
            bodies.setdefault(owner, []).append(index)
        robots = np.arange(len(self.robot.bodies))
        grids: list[tuple[np.ndarray | list[int], list[int]]] = []
        things = [name for name in self.objects if name in bodies]
        named = [name for name in things if mentioned is None or name in mentioned]
        for name in things:
            if mentioned is not None and name not in mentioned:
                grids.append((robots, bodies[name]))
                continue
            grids += [(bodies[link], bodies[name]) for link in links if rules.checked(link, name)]
        # Two objects of the world are checked against each other by runtime rules only.
        worldly = set() if rules.runtime else {name for name in things if self.in_world(name)}
        seen = set()
        for name in named:
            seen.add(name)
            grids += [
                (bodies[name], bodies[other])
                for other in things
                if other not in seen and not (name in worldly and other in worldly) and rules.checked(name, other)
            ]
        count = len(self._own_pairs) + sum(len(a) * len(b) for a, b in grids)
        if count > self.limits.pairs:
            sizes = {name: len(bodies[name]) for name in things}
            most = max(sizes, key=sizes.__getitem__)
            remedy = (
                f"object '{most}' has {sizes[most]} bodies, the robot {len(robots)}; fewer bodies, or disable pairs"
            )
            self.limits.check("pairs", count, remedy)
        return np.sort(np.concatenate([self._own_pairs, *(_grid(a, b) for a, b in grids)]), axis=1)


class Edit:
    """Changes of a planning scene, in order. Each raises `ValueError` where it makes no sense; then drop the edit.

    Parameters
    ----------
    start : PlanningScene
        Stays as it is.
    """

    def __init__(self, start: PlanningScene) -> None:
        self._start = start
        self._objects = dict(start.objects)
        self._misfits = dict(start.misfits)
        self._own_rules = start.rules.copy()
        self._gone: set[str] = set()  # objects that are gone, of which the rules do not know yet
        self._rules_changed = False
        self.limits = start.limits
        # Bodies' names -> whose they are; and how many bodies and triangles there are.
        self._owner_of = dict(start._owner_of)
        self._counts = dict(start._counts)
        self.padding = start.padding
        self.name, self.colours = start.name, dict(start.colours)

    @property
    def _rules(self) -> CollisionRules:
        """The rules as they are now. Many objects that go are forgotten together: each costs a walk over all rules."""
        if self._gone:
            self._own_rules.forget(self._gone)
            self._gone = set()
        return self._own_rules

    @property
    def names(self) -> tuple[str, ...]:
        """The objects there are now."""
        return tuple(self._objects)

    @property
    def misfits(self) -> Mapping[str, Misfit]:
        """The objects that are not where they are to be; they can be removed, or added anew."""
        return MappingProxyType(self._misfits)

    def object(self, name: str) -> SceneObject:
        """The object of a name; `ValueError` where there is none, or one that has no place."""
        if name in self._misfits and name not in self._objects:
            raise ValueError(f"{self._misfits[name].reason}: remove it, or add it anew")
        if name not in self._objects:
            there = ", ".join(self._objects) or "none"
            raise ValueError(f"object '{name}': does not exist (objects: {there})")
        return self._objects[name]

    # --- objects ---

    def add(
        self,
        name: str,
        shapes: Sequence[Shape],
        object_from_shape: PosesLike,
        pose: PoseLike,
        *,
        link: str | None = None,
        touch_links: Iterable[str] = (),
        source: str = "",
        given_in: GivenIn | None = None,
    ) -> None:
        """Add an object, in the place of one of that name.

        Parameters
        ----------
        name : str
            Not that of a link or group.
        shapes : sequence of Shape
            At least one.
        object_from_shape : (n, 4, 4) array_like
            Poses of the shapes in the object, m.
        pose : (4, 4) array_like
            root_from_object, or link_from_object where a link carries it, m.
        link : str, optional
            That carries it from now on; default: none, it belongs to the world.
        touch_links : iterable of str
            Links, groups and objects that it may touch; `link` itself only where it is one of them.
        source : str
            Who brought it.
        given_in : GivenIn, optional
            The frame that its pose was given in, where the robot does not carry that.
        """
        poses = as_poses(f"object '{name}': poses of its shapes", object_from_shape).reshape(-1, 4, 4)
        if len(poses) != len(shapes):
            raise ValueError(f"object '{name}': {len(shapes)} shapes, {len(poses)} poses: must be equally many")
        placed = as_poses(f"object '{name}': pose", pose)
        touched = self._touched(name, touch_links, link)
        thing = SceneObject(name, tuple(shapes), poses, placed, link, touched, source, given_in=given_in)
        self._put(thing, anew=True)

    def describe(self, name: str, subframes: Mapping[str, PosesLike], kind: tuple[str, str] = ("", "")) -> None:
        """Let an object have these subframes besides those it has, and be of a kind, where one is given."""
        thing = self.object(name)
        placed = {frame: as_poses(f"object '{name}': subframe '{frame}'", pose) for frame, pose in subframes.items()}
        kind = kind if any(kind) else thing.kind
        self._objects[name] = replace(thing, subframes=MappingProxyType({**thing.subframes, **placed}), kind=kind)

    def append(self, name: str, shapes: Sequence[Shape], object_from_shape: PosesLike) -> None:
        """Add shapes to an object, which keeps its pose; their poses are those in the object."""
        thing = self.object(name)
        poses = as_poses(f"object '{name}': poses of its shapes", object_from_shape).reshape(-1, 4, 4)
        if len(poses) != len(shapes):
            raise ValueError(f"object '{name}': {len(shapes)} shapes, {len(poses)} poses: must be equally many")
        poses = np.concatenate([thing.object_from_shape, poses])
        self._put(replace(thing, shapes=(*thing.shapes, *shapes), object_from_shape=poses))

    def move(
        self,
        name: str,
        pose: PoseLike,
        object_from_shape: PosesLike | None = None,
        given_in: GivenIn | None = None,
    ) -> None:
        """Give an object a new pose in the frame that carries it, and its shapes new poses in it where given."""
        thing = self.object(name)
        poses = thing.object_from_shape
        if object_from_shape is not None:
            poses = as_poses(f"object '{name}': poses of its shapes", object_from_shape).reshape(-1, 4, 4)
            if len(poses) != len(thing.shapes):
                raise ValueError(f"object '{name}': has {len(thing.shapes)} shapes, found {len(poses)} poses")
        placed = as_poses(f"object '{name}': pose", pose)
        anew = name in self._misfits and self._misfits[name].only_pose
        self._put(replace(thing, pose=placed, object_from_shape=poses, given_in=given_in), anew=anew)

    def attach(self, name: str, link: str, link_from_object: PoseLike, touch_links: Iterable[str] = ()) -> None:
        """Let a link carry an object from now on."""
        thing = self.object(name)
        pose = as_poses(f"object '{name}': pose", link_from_object)
        touched = self._touched(name, touch_links, link)
        self._put(replace(thing, pose=pose, link=link, touch_links=touched, given_in=None))

    def detach(self, name: str, root_from_object: PoseLike, given_in: GivenIn | None = None) -> None:
        """Let an attached object belong to the world from now on."""
        thing = self.object(name)
        pose = as_poses(f"object '{name}': pose", root_from_object)
        self._put(replace(thing, pose=pose, link=None, touch_links=frozenset(), given_in=given_in))

    def remove(self, name: str) -> None:
        """Remove an object, attached or not, and what was said about it: matrix entries, runtime rules, its colour."""
        if name in self._objects or name not in self._misfits:
            self._forget_bodies(self.object(name))
            del self._objects[name]
        self._misfits.pop(name, None)
        self.colours.pop(name, None)
        self._gone.add(name)
        self._rules_changed = True

    def remove_all(
        self, *, attached: bool = False, source: str | None = None, but: Container[str] = frozenset()
    ) -> None:
        """Remove the objects of the world, or the attached ones; where given, those of one source only, but for some.

        The octomap stays, as in MoveIt.
        """
        for thing in (*self._objects.values(), *(misfit.thing for misfit in self._misfits.values())):
            if thing.name == OCTOMAP or thing.name in but:
                continue
            there = thing.name in self._objects or thing.name in self._misfits
            if there and (thing.link is not None) == attached and source in (None, thing.source):
                self.remove(thing.name)

    def refuse(
        self, name: str, reason: str, *, link: str | None = None, source: str = "", only_pose: bool = False
    ) -> None:
        """Bear in mind that what was said about an object could not be read: it is one of `misfits` from now on.

        One of that name that is there stays as it is, for those who want to know of it nevertheless.

        Parameters
        ----------
        name : str
            Of the object, or of anything else that is removed or added by name.
        reason : str
            Names it, too.
        link : str, optional
            That was to carry it.
        source : str
            Who brought it.
        only_pose : bool
            Whether it was to be moved only.
        """
        before = self._misfits.get(name)
        if before is None and len(self._misfits) >= self.limits.objects:
            return  # that there are misfits is known; so many names are kept
        there = self._objects.get(name)
        if there is not None and there.link is not None:
            link = there.link
        only_pose = only_pose and (before is None or before.only_pose) and there is not None
        if before is not None and not before.is_unread:
            reason = f"{before.reason}; {reason}"  # it has shapes that may fit again: they are outdated now
        nothing = SceneObject(name, (), np.empty((0, 4, 4)), np.eye(4), link, source=source)
        self._misfits[name] = Misfit(nothing, self._start.robot.root, reason, only_pose)

    def set_octomap(self, octree: Octree, root_from_tree: PoseLike, most: int, given_in: GivenIn | None = None) -> None:
        """Take an octree in the place of the one before. What rules say about `OCTOMAP` stays.

        Parameters
        ----------
        octree : Octree
        root_from_tree : (4, 4) array_like
            m.
        most : int
            How many occupied cubes it may have.
        """
        pose = as_poses("octomap: pose", root_from_tree)
        before = self._objects.get(OCTOMAP)
        if before is not None and before.octree == octree:
            # Sent again by everybody who sends whole scenes: the same boxes, and the scene need not be built anew.
            if (
                not np.array_equal(before.pose, pose)
                or not _same_place(before.given_in, given_in)
                or OCTOMAP in self._misfits
            ):
                self._put(replace(before, pose=pose, given_in=given_in), anew=True)
            return
        self.limits.check("octomap_bytes", len(octree.data), "make it coarser or smaller")
        centres, sides = octree.cubes(most)
        boxes = {side: Box((0.5 * side,) * 3) for side in set(sides.tolist())}
        poses = np.tile(np.eye(4), (len(centres), 1, 1))
        poses[:, :3, 3] = centres
        shapes = tuple(boxes[side] for side in sides.tolist())
        self._put(SceneObject(OCTOMAP, shapes, poses, pose, octree=octree, given_in=given_in), anew=True)

    def remove_octomap(self) -> None:
        """Remove the octomap, if there is one. What rules say about `OCTOMAP` stays, for the next."""
        self._misfits.pop(OCTOMAP, None)
        before = self._objects.pop(OCTOMAP, None)
        if before is not None:
            self._forget_bodies(before)

    # --- rules ---

    def matrix_in_force(self) -> AllowedCollisionMatrix:
        """What the matrix, the SRDF and the joints say, as one matrix (`CollisionRules.as_matrix`)."""
        return self._rules.as_matrix()

    def set_matrix(self, matrix: AllowedCollisionMatrix) -> None:
        """Take the allowed collision matrix of a planning scene in the place of the one before."""
        self.limits.check("names", len(matrix.defaults), "default entries of the allowed collision matrix")
        self._rules.set_matrix(matrix if matrix.entries or matrix.defaults else NO_MATRIX)
        self._rules_changed = True

    def set_runtime(self, name_a: str | None, name_b: str | None, checked: bool, reason: str = "") -> None:
        """Have a pair of links or objects checked, or not, whatever other rules say; None: any."""
        for name in (name_a, name_b):
            if name is not None and name not in (OCTOMAP, *self._objects, *self._rules.links):
                raise ValueError(f"runtime rule: '{name}' is no link and no object")
        self._rules.set_runtime(name_a, name_b, checked, short(reason, MAXIMUM_NAME))
        self.limits.check("rules", len(self._rules.runtime_pairs), "rules of the run time")
        self._rules_changed = True

    def clear_runtime(self) -> None:
        """Forget all runtime rules."""
        self._rules.clear_runtime()
        self._rules_changed = True

    # --- the end ---

    def commit(self) -> PlanningScene:
        """The planning scene with all changes."""
        start = self._start
        scene = PlanningScene.__new__(PlanningScene)
        scene.robot, scene._tolerance, scene._own_pairs = start.robot, start._tolerance, start._own_pairs
        scene.rules, scene.objects = self._rules.copy(), MappingProxyType(dict(self._objects))
        scene.misfits = MappingProxyType(dict(self._misfits))
        scene.padding = self.padding
        scene.name, scene.colours = self.name, MappingProxyType(dict(self.colours))
        scene.limits, scene._owner_of, scene._counts = self.limits, self._owner_of, self._counts
        self._owner_of, self._counts = dict(self._owner_of), dict(self._counts)
        named = {"colours of objects": self.colours, "paddings by name": self.padding.by_name, "name": (self.name,)}
        for what, names in named.items():
            self.limits.check("names", len(names), what)
            longest = max(names, key=len, default="")
            if len(longest) > MAXIMUM_NAME:
                raise ValueError(f"planning scene: {what}: a name of {len(longest)} characters, at most {MAXIMUM_NAME}")
        if self._rules_changed:
            scene._own_pairs = start.robot.body_pairs(rules=self._rules, most=self.limits.pairs)
        moved = self._bodies_moved()
        anew = moved is None
        if moved is None:
            bodies = [body for thing in self._objects.values() for body in _bodies(thing, start.robot.root)]
            moved = Scene((*start.robot.bodies, *bodies), (), tolerance=start._tolerance)
        scene.scene = moved
        scene._index_owners()
        if anew or self._rules_changed or self._changed():
            _set_pairs(scene.scene, scene._wanted_pairs())
        return scene

    def _changed(self) -> list[str]:
        """Names of objects that came, went, or have other shapes or another carrier than at the start."""
        old, new = self._start.objects, self._objects
        return [
            name
            for name in {**old, **new}
            if name not in old
            or name not in new
            or old[name].shapes is not new[name].shapes
            or old[name].link != new[name].link
        ]

    def _bodies_moved(self) -> Scene | None:
        """A fork of the scene with the bodies as they are now; None: better built anew."""
        old, new = self._start.objects, self._objects
        root = self._start.robot.root
        gone, come, moved = [], [], []
        for name in {**old, **new}:
            before, after = old.get(name), new.get(name)
            if before is after:
                continue
            if before is not None and after is not None and before.shapes is after.shapes:
                moved.append(after)
                continue
            gone += _body_names(before) if before is not None else []
            come += _bodies(after, root) if after is not None else []
        if len(gone) + sum(len(thing.shapes) for thing in moved) > _REBUILD_FROM:
            return None
        scene = self._start.scene.fork()
        for name in gone:
            scene.remove(name)
        for thing in moved:
            for body in _bodies(thing, root):
                scene.attach(body.name, body.link, body.link_from_body)
        if come:
            scene.add(come)
        return scene

    def _put(self, thing: SceneObject, *, anew: bool = False) -> None:
        name, robot = thing.name, self._start.robot
        if name in self._misfits and not anew:
            raise ValueError(f"{self._misfits[name].reason}: remove it, or add it anew")
        if not name:
            raise ValueError("object: its name is empty")
        if name in robot.links or name in robot.groups:
            kind = "link" if name in robot.links else "group"
            raise ValueError(f"object '{name}': is the name of a {kind} of robot '{robot.name}', take another")
        if (name == OCTOMAP) != (thing.octree is not None):
            raise ValueError(f"object '{OCTOMAP}': the name is that of the octomap alone")
        if not thing.shapes and thing.octree is None:
            raise ValueError(f"object '{name}': has no shape, must have at least one")
        if len(name) > MAXIMUM_NAME:
            raise ValueError(f"object '{short(name)}': the name has {len(name)} characters, at most {MAXIMUM_NAME}")
        before = self._objects.get(name)
        others = {key: misfit.thing for key, misfit in self._misfits.items() if key != name}
        self.limits.check("objects", len(self._objects) + len(others) + (before is None), f"object '{name}'")
        if thing.link is not None:
            if thing.link == robot.root != robot.root_link:
                raise ValueError(f"object '{name}': '{thing.link}' is the frame of the world, which carries nothing")
            self._rules.check_link(name, thing.link)
            attached = len(self._rules.attached.keys() - {name}) + 1
            attached += sum(other.link is not None for other in others.values())
            self.limits.check("attached", attached, f"object '{name}'")
        if before is None or before.shapes is not thing.shapes:
            self._take_bodies(thing, before, others.values())
        if thing.link is not None:
            self._rules.attach(name, thing.link, thing.touch_links)
        else:
            self._rules.detach(name)
        self._objects[name] = thing
        self._misfits.pop(name, None)
        if before is not None and (before.link, before.touch_links) != (thing.link, thing.touch_links):
            self._rules_changed = True

    def _take_bodies(self, thing: SceneObject, before: SceneObject | None, misfits: Collection[SceneObject]) -> None:
        """Take over the names of an object's bodies in the place of those of before; raises with nothing changed."""
        name, new = thing.name, _body_names(thing)
        old = frozenset(_body_names(before)) if before is not None else frozenset()
        clash = next((body for body in new if self._owner_of.get(body, name) != name), None)
        if clash is not None:
            raise ValueError(f"object '{name}': its body '{clash}' has the name of another body, take another name")
        bodies = len(self._owner_of) - len(old) + len(new) + sum(len(other.shapes) for other in misfits)
        self.limits.check("bodies", bodies, f"object '{name}' has {len(thing.shapes)} bodies")
        triangles = self._counts["triangles"] + _triangles(thing) + sum(map(_triangles, misfits))
        self.limits.check(
            "triangles", triangles - (_triangles(before) if before is not None else 0), f"object '{name}'"
        )
        if before is not None:
            self._forget_bodies(before)
        self._owner_of |= dict.fromkeys(new, name)
        self._counts["triangles"] += _triangles(thing)

    def _forget_bodies(self, thing: SceneObject) -> None:
        for body in _body_names(thing):
            self._owner_of.pop(body, None)
        self._counts["triangles"] -= _triangles(thing)

    def _touched(self, name: str, names: Iterable[str], link: str | None) -> frozenset[str]:
        """Links and objects of names of links, groups and objects."""
        if link is None:
            return frozenset()
        robot, found = self._start.robot, set[str]()
        for other in names:
            if other in robot.groups:
                found.update(robot.groups[other])
            elif other in robot.links or other in self._objects:
                found.add(other)
            else:
                raise ValueError(
                    f"object '{name}': may touch '{other}', which is no link, group or object "
                    f"(links: {', '.join(robot.links)})"
                )
        return frozenset(found)


def query_parts(
    scene: Scene,
    parts: Sequence[IntArray],
    *,
    cutoff: float = math.inf,
    max_results: int | None = None,
    overlapping_only: bool = False,
) -> SceneResult:
    """Distances of pairs, but of each body to the octomap only that to the nearest (deepest) box of it.

    Parameters
    ----------
    scene : Scene
        Of a planning scene, or a fork of it.
    parts : sequence of (n, 2) ndarray of int
        `PlanningScene.parts`.
    cutoff, max_results, overlapping_only
        As for `Scene.query`.
    """

    def query(pairs: IntArray, most: int | None) -> SceneResult:
        return scene.query(pairs=pairs, max_results=most, cutoff=cutoff, overlapping_only=overlapping_only)

    results = [query(parts[0], max_results), *(query(crowd, 1) for crowd in parts[1:])]
    if len(results) == 1:
        return results[0]
    order = np.argsort(np.concatenate([result.distance for result in results]), kind="stable")[:max_results]
    rows = {name: np.concatenate([getattr(result, name) for result in results])[order] for name in SceneResult.PER_ROW}
    counts: dict[str, Any] = {
        name: sum(getattr(result, name) for result in results)
        for name in ("pairs", "past_sphere", "past_obb", "bounded", "solved", "intersecting")
    }
    return SceneResult(**(counts | rows), bodies=results[0].bodies)


def _same_place(first: GivenIn | None, second: GivenIn | None) -> bool:
    if first is None or second is None:
        return first is second
    return first.frame == second.frame and np.array_equal(first.root_from_frame, second.root_from_frame)


def _set_pairs(scene: Scene, wanted: np.ndarray) -> None:
    """Let a scene check these pairs, shape (n, 2), each once, and no others."""
    count = len(scene.bodies)
    there = np.sort(scene.pairs, axis=1)
    have, want = there @ (count, 1), wanted @ (count, 1)
    for these, others, allowed in ((want, have, True), (have, want, False)):
        # Not np.setdiff1d: its hashes of keys that follow one another collide, which takes seconds for an octomap.
        keys = these[np.isin(these, others, assume_unique=True, invert=True, kind="sort")]
        if len(keys):
            scene.set_pairs_allowed(np.column_stack(np.divmod(keys, count)), allowed)


def _grid(first: ArrayLike, second: ArrayLike) -> np.ndarray:
    """Every index of one list with every index of another, shape (n, 2)."""
    return np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2).astype(np.int64)


def _in_root(thing: SceneObject, root: str, robot: Robot, before: Robot) -> SceneObject:
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


def _triangles(thing: SceneObject) -> int:
    return sum(len(shape.faces) for shape in thing.shapes if isinstance(shape, Mesh | ConvexMesh))


def _body_names(thing: SceneObject) -> list[str]:
    count = len(thing.shapes)
    return [thing.name] if count == 1 else [f"{thing.name}/{number}" for number in range(count)]


def _bodies(thing: SceneObject, root: str) -> list[Body]:
    link = root if thing.link is None else thing.link
    return [
        Body(name, link, shape, thing.pose @ object_from_shape)
        for name, shape, object_from_shape in zip(
            _body_names(thing), thing.shapes, thing.object_from_shape, strict=True
        )
    ]
