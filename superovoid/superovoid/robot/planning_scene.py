# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot with the objects around it and in its hands: their bodies, the rules of their pairs, paddings, one `Scene`.

A `PlanningScene` is immutable. An `Edit` collects changes and creates a new planning scene from them. An invalid change
raises an exception and changes nothing, so every thread always holds a consistent planning scene.

Objects of the world are fixed in the frame of the robot's root link, attached ones in the frame of their link. In the
scene their bodies therefore belong to that link (`Body.link`), and forward kinematics places them like the robot's own.
The object, or the robot's link, is the *owner* of a body. The robot's bodies come first, in the order of
`Robot.bodies`: their indices are those of the robot's own scene.

An octomap is an object of the world with a box for each of its occupied cubes, possibly thousands. Its distance is that
of the nearest box: `PlanningScene.parts` splits pairs into queries for it, and `join_parts` joins their results.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.contact.inputs import TOLERANCE
from superovoid.contact.results import DistanceResults
from superovoid.robot.errors import LimitError
from superovoid.robot.limits import MAXIMUM_NAME, Limits
from superovoid.robot.robot import Robot
from superovoid.robot.rules import CollisionRules
from superovoid.robot.scene_edit import Edit
from superovoid.robot.scene_objects import (
    OCTOMAP,
    Padding,
    Problem,
    SceneObject,
    bodies_of_object,
    body_names,
    in_root,
)
from superovoid.scene import Body, Scene, SceneResult
from superovoid.values.records import Statistics

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_READ_ONLY = ("objects", "problems")  # views of mappings, which pickle does not support


class PlanningScene:
    """A robot, objects, and the pairs to check. The module describes the owners of bodies.

    Parameters
    ----------
    robot : Robot
    rtol : float, optional
        Width of the interval that counts as certified, as a fraction of the smaller body's largest semi-axis, as for
        `superovoid.distance`.
    limits : Limits, optional
        Largest numbers of bodies, pairs and the like.
    padding : Padding, optional
        Default: none.

    Raises
    ------
    ValueError
        If the robot alone exceeds the limit of bodies or pairs.

    Attributes
    ----------
    robot : Robot
    rules : CollisionRules
        Rules of links and objects. Change them only through `edit`.
    objects : mapping of str to SceneObject
    problems : mapping of str to Problem
        Objects that `for_robot` could not place, and those of `Edit.report`. They have no bodies, so answers of `scene`
        are incomplete until these objects are removed, added again, or fit again.
    padding : Padding
    limits : Limits
    scene : Scene
        Scene of all bodies and all checked pairs. It needs the poses of the robot's links, including the root. Only
        its state is mutable; `Scene.fork` returns a scene with its own state.
    owners : tuple of str
        Owner of each body of the scene, a link or object.
    """

    def __init__(
        self, robot: Robot, *, rtol: float = TOLERANCE, limits: Limits | None = None, padding: Padding | None = None
    ) -> None:
        self.robot = robot
        self.limits = Limits() if limits is None else limits
        self.limits.check("bodies", len(robot.bodies))
        self.rules: CollisionRules = robot.rules
        self.objects: Mapping[str, SceneObject] = MappingProxyType({})
        self.problems: Mapping[str, Problem] = MappingProxyType({})
        self.padding = Padding() if padding is None else padding
        self._rtol = rtol
        self._own_pairs = robot.body_pairs(most=self.limits.pairs)
        self.scene = Scene(robot.bodies, self._own_pairs, rtol=rtol)
        self._owner_of = {body.name: body.link for body in robot.bodies}  # no object has the name of a link
        self._triangles = 0
        self._index_owners(self.scene.bodies)

    def __repr__(self) -> str:
        attached = sum(thing.link is not None for thing in self.objects.values())
        objects = f"{len(self.objects)} objects, {attached} attached"
        objects += f", {len(self.problems)} without a place" if self.problems else ""
        return (
            f"PlanningScene({self.robot.name!r}, {objects}, {len(self.owners)} bodies, {self.scene.pair_count} pairs)"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, **{name: dict(getattr(self, name)) for name in _READ_ONLY}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, **{name: MappingProxyType(state[name]) for name in _READ_ONLY})

    def edit(self) -> Edit:
        """Begin a change; it takes effect with `Edit.commit`."""
        return Edit(self)

    def owners_of(self, names: Iterable[str] | None) -> frozenset[str]:
        """Return the links and objects with bodies among names of links, groups and objects; all of them for None.

        Raises
        ------
        ValueError
            If a name is unknown, or is that of a link without contact geometry.
        """
        if names is None:
            return frozenset(self.owners)
        found: set[str] = set()
        for name in names:
            if name in self.objects:
                found.add(name)
                continue
            if name in self.robot.links_without_geometry:
                shown = ", ".join(owner for owner in self._owner_row if owner in self.robot.links)
                raise ValueError(f"link '{name}' has no contact geometry; links with some: {shown or 'none'}")
            if name not in self.robot.groups and name not in self.robot.links and self.objects:
                raise ValueError(
                    f"'{name}' is not a link, group or object (groups: {', '.join(self.robot.groups) or 'none'}; "
                    f"links: {', '.join(self.robot.links)}; objects: {', '.join(self.objects)})"
                )
            found.update(self.robot.links_of([name]))
        return frozenset(found & self._owner_row.keys())

    def body_pairs(self, names_a: Iterable[str] | None = None, names_b: Iterable[str] | None = None) -> IntArray:
        """Return the checked pairs between two sets of links, groups and objects.

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
        """Return the indices in `scene` of the bodies of a link or object, shape (n,); empty if it does not exist."""
        return np.flatnonzero(self._owner_of_body == self._owner_row.get(owner, -1))

    def parts(self, pairs: IntArray) -> tuple[IntArray, ...]:
        """Split pairs: all without the octomap, then those of each body with the octomap's boxes.

        Of the latter, queries return only the nearest (deepest) box, by `max_results=1`; see `join_parts`.

        Parameters
        ----------
        pairs : (n, 2) ndarray of int
            As returned by `body_pairs`.
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
        """Return whether an owner of bodies is an attached object."""
        return owner in self.objects and self.objects[owner].link is not None

    def in_world(self, owner: str) -> bool:
        """Return whether an owner of bodies is an object of the world."""
        return owner in self.objects and self.objects[owner].link is None

    def concerns_world(self, pairs: IntArray | None = None) -> bool:
        """Return whether pairs, as of `body_pairs`, include an object of the world; None: whether the scene has any."""
        of_world = self._of_world
        if pairs is None or not of_world.any():
            return bool(of_world.any())
        # An octomap has many pairs, so one of the first pairs includes it.
        return bool(of_world[pairs[:1000]].any() or of_world[pairs].any())

    def paddings_of(self, body_a: np.ndarray, body_b: np.ndarray) -> np.ndarray:
        """Return the paddings to subtract from the distances of pairs of bodies of `scene`, m, shape (n,)."""
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
        """Return an upper bound of `paddings_of`, m. A pair farther apart than this has a positive clearance."""
        return self.padding.margin + 4.0 * max((self.padding.default, *self.padding.by_name.values()))

    def clearances(self, result: SceneResult) -> DistanceResults:
        """Subtract the paddings from the distances and bounds of a result; the points stay on the bodies."""
        less = self.paddings_of(result.body_a, result.body_b)
        rows = {name: getattr(result, name) for name in DistanceResults.PER_ROW}
        rows |= {name: rows[name] - less for name in ("distance", "lower", "upper")}
        return DistanceResults(**rows)

    def with_limits(self, limits: Limits, padding: Padding) -> PlanningScene:
        """Return this planning scene with other limits and paddings; see `for_robot` if limits change."""
        if limits != self.limits:
            return self.for_robot(self.robot, limits=limits, padding=padding)
        edit = self.edit()
        edit.padding = padding
        return edit.commit()

    def for_robot(
        self,
        robot: Robot,
        *,
        rtol: float | None = None,
        limits: Limits | None = None,
        padding: Padding | None = None,
    ) -> PlanningScene:
        """Return a planning scene with the same objects, rules and paddings for another robot or other limits.

        Objects without a valid place go to `problems`: an object on a missing link, or with the name of a link; objects
        of the world if the root link differs, unless they came in the frame of the new one; objects beyond the limits,
        or all objects if only their pairs exceed a limit. Rules with unknown names are kept, without effect until these
        names exist.

        Parameters
        ----------
        robot : Robot
        rtol, limits, padding : optional
            As for `PlanningScene`; default: those of this planning scene.

        Raises
        ------
        ValueError
            If the robot alone, with these rules, exceeds the limit of bodies or pairs.
        """
        bare = PlanningScene(
            robot,
            rtol=self._rtol if rtol is None else rtol,
            limits=self.limits if limits is None else limits,
            padding=self.padding if padding is None else padding,
        )
        try:
            return self._carried_over(bare)
        except LimitError as error:
            return self._carried_over(bare, refused=str(error))

    def _carried_over(self, bare: PlanningScene, *, refused: str = "") -> PlanningScene:
        """Add the objects and rules of this scene to `bare`; objects that do not fit become problems."""
        edit, robot = bare.edit(), bare.robot
        kept = [(thing, self.robot.root) for thing in self.objects.values()]
        problems = {name: problem for name, problem in self.problems.items() if problem.is_unread}
        unplaced = [(problem.thing, problem.root) for problem in self.problems.values() if problem.thing is not None]
        for thing, root in (*kept, *unplaced):
            try:
                if refused:
                    raise ValueError(f"object '{thing.name}': {refused}")
                edit._put(in_root(thing, root, robot))
            except ValueError as error:
                name, unread = thing.name, problems.get(thing.name)
                if unread is None:
                    links = frozenset((thing.link,))
                    no_place = Problem(name, str(error), links, source=thing.source, thing=thing, root=root)
                else:  # the object might fit a later robot, but is outdated
                    links, reason = unread.links | {thing.link}, f"{error}; {unread.reason}"
                    no_place = replace(unread, by_move=False, links=links, reason=reason)
                problems[name] = no_place
        edit._problems = problems
        edit.set_matrix(self.rules.matrix)
        for pair, checked, reason in self.rules.runtime:
            name_a, name_b = (list(pair) * 2)[:2]
            edit._rules.set_runtime(name_a, name_b, checked, reason)
        return edit.commit()

    def _changed_by(self, edit: Edit) -> PlanningScene:
        """Return the planning scene with all changes of an edit; reuse the bodies and pairs that stay the same."""
        rules = edit._rules
        scene = PlanningScene.__new__(PlanningScene)
        scene.robot, scene._rtol, scene._own_pairs = self.robot, self._rtol, self._own_pairs
        scene.rules, scene.objects = rules.copy(), MappingProxyType(dict(edit._objects))
        scene.problems = MappingProxyType(dict(edit._problems))
        scene.padding, scene.limits = edit.padding, edit.limits
        scene._owner_of, scene._triangles = dict(edit._owner_of), edit._triangles
        scene.limits.check("names", len(edit.padding.by_name), "paddings by name")
        longest = max(map(len, edit.padding.by_name), default=0)
        if longest > MAXIMUM_NAME:
            raise ValueError(f"paddings by name: a name of {longest} characters, at most {MAXIMUM_NAME}")
        if edit._rules_changed:
            scene._own_pairs = self.robot.body_pairs(rules=rules, most=scene.limits.pairs)
        gone: list[str] = []
        moved: list[Body] = []
        come: list[Body] = []
        for name in edit._changed:
            before, after = self.objects.get(name), scene.objects.get(name)
            bodies = [] if after is None else bodies_of_object(after, self.robot.root)
            if before is not None and after is not None and before.shapes is after.shapes:
                moved += bodies
            else:
                gone += [] if before is None else body_names(before)
                come += bodies
        scene.scene = self.scene.fork()
        if gone:  # each of these takes one pass over all bodies
            scene.scene.remove(gone)
        if moved:
            scene.scene.exchange(moved)
        if not (edit._rules_changed or gone or come):
            scene.owners, scene._of_world = self.owners, self._of_world
            scene._owner_row, scene._owner_of_body = self._owner_row, self._owner_of_body
            return scene
        scene.limits.check("bodies", len(self.owners) - len(gone) + len(come))
        if come:
            scene.scene.add(come)
        scene._index_owners(scene.scene.bodies)
        _set_pairs(scene.scene, scene._wanted_pairs())
        return scene

    def _index_owners(self, bodies: Sequence[Body]) -> None:
        """Store the owner of each body of the scene."""
        self.owners = tuple([self._owner_of[body.name] for body in bodies])
        self._owner_row = {owner: row for row, owner in enumerate(dict.fromkeys(self.owners))}
        self._owner_of_body = np.array([self._owner_row[owner] for owner in self.owners], dtype=np.int64)
        of_world = [owner in self.objects and self.objects[owner].link is None for owner in self._owner_row]
        self._of_world = np.array(of_world, dtype=bool)[self._owner_of_body]

    def _wanted_pairs(self) -> np.ndarray:
        """Return the pairs to check according to the rules, indices of bodies, shape (n, 2)."""
        rules, mentioned = self.rules, self.rules.mentioned_names()
        links = [owner for owner in self._owner_row if owner not in self.objects]
        bodies: dict[str, list[int]] = {}
        for index, owner in enumerate(self.owners):
            bodies.setdefault(owner, []).append(index)
        robots = range(len(self.robot.bodies))
        things = [name for name in self.objects if name in bodies]
        named = [name for name in things if mentioned is None or name in mentioned]
        unnamed = [] if mentioned is None else [name for name in things if name not in mentioned]
        grids: list[tuple[Sequence[int], list[int]]] = [
            (robots, list(itertools.chain.from_iterable(bodies[name] for name in unnamed)))
        ]
        # Only runtime rules enable pairs of two objects of the world.
        of_world = set() if rules.runtime else {name for name in things if self.in_world(name)}
        for number, name in enumerate(named):
            grids += [
                (bodies[name], bodies[other])
                for other in itertools.chain(links, named[number + 1 :], unnamed)
                if not (name in of_world and other in of_world) and rules.is_checked(name, other)
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


def join_parts(results: Sequence[SceneResult], max_results: int | None = None) -> SceneResult:
    """Join results for different pairs of one scene, the closest pairs first.

    Parameters
    ----------
    results : sequence of SceneResult
        At least one.
    max_results : int, optional
        Return only this many of the closest pairs.
    """
    if len(results) == 1:
        return results[0]
    order = np.argsort(np.concatenate([result.distance for result in results]), kind="stable")[:max_results]

    def join(parts: list[Any]) -> Any:
        return np.concatenate(parts)[order] if isinstance(parts[0], np.ndarray) else sum(parts)

    counts = [vars(result.statistics) for result in results]
    statistics = Statistics(**{name: join([each[name] for each in counts]) for name in counts[0]})
    arrays = [name for name in SceneResult.PER_ROW if name != "statistics"]
    rows = {name: join([getattr(result, name) for result in results]) for name in arrays}
    return SceneResult(**rows, statistics=statistics, bodies=results[0].bodies)


def _set_pairs(scene: Scene, wanted: np.ndarray) -> None:
    """Make a scene check exactly these pairs, shape (n, 2), each given once."""
    count = len(scene.bodies)
    there = np.sort(scene.pairs, axis=1)
    have, want = there @ (count, 1), wanted @ (count, 1)
    for these, others, allowed in ((want, have, True), (have, want, False)):
        # Not np.setdiff1d: its hashes of consecutive keys collide, which takes seconds for an octomap.
        keys = these[np.isin(these, others, assume_unique=True, invert=True, kind="sort")]
        if len(keys):
            scene.set_pairs_allowed(np.column_stack(np.divmod(keys, count)), allowed)


def _grid(first: ArrayLike, second: ArrayLike) -> np.ndarray:
    """Return every index of one list with every index of another, shape (n, 2)."""
    return np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2).astype(np.int64)
