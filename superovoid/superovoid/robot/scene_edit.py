# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Changes of the objects and rules of a planning scene; `Edit` creates a new planning scene from them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

import numpy as np

from superovoid.robot.limits import MAXIMUM_NAME
from superovoid.robot.octomap import Octree
from superovoid.robot.rules import NO_MATRIX, AllowedCollisionMatrix, CollisionRules
from superovoid.robot.scene_objects import (
    MORE,
    OCTOMAP,
    OutsideFrame,
    Problem,
    SceneObject,
    body_names,
    same_place,
    triangle_count,
)
from superovoid.robot.xml import join_names, shorten
from superovoid.shapes import Box, Shape
from superovoid.shapes.poses import as_poses
from superovoid.values.checks import MOST_LENGTH
from superovoid.values.poses import PoseLike, PosesLike

if TYPE_CHECKING:
    from superovoid.robot.planning_scene import PlanningScene

_REMEDY = ": remove it or add it again"
_LONGEST_REASON = 1000  # characters; reasons may quote each other


class Edit:
    """Changes of a planning scene, in order. An invalid change raises `ValueError`; then discard the edit.

    Parameters
    ----------
    start : PlanningScene
        Not modified.

    Attributes
    ----------
    limits, padding
        As for `PlanningScene`; may be set.
    """

    def __init__(self, start: PlanningScene) -> None:
        self._start, self._robot = start, start.robot
        self._objects = dict(start.objects)
        self._changed: dict[str, None] = {}  # names of changed and removed objects, in order
        self._problems = dict(start.problems)
        self._own_rules = start.rules.copy()
        self._gone: set[str] = set()  # removed objects still in the rules
        self._rules_changed = False
        self._owner_of, self._triangles = dict(start._owner_of), start._triangles
        self.limits, self.padding = start.limits, start.padding

    def commit(self) -> PlanningScene:
        """Return the planning scene with all changes."""
        return self._start._changed_by(self)

    def copy(self) -> Self:
        """Return an independent copy, so that changes can be tried."""
        other = type(self).__new__(type(self))
        parts = vars(self).items()
        other.__dict__.update(
            {name: part.copy() if isinstance(part, dict | set | CollisionRules) else part for name, part in parts}
        )
        return other

    @property
    def objects(self) -> Mapping[str, SceneObject]:
        """The current objects, by name."""
        return MappingProxyType(self._objects)

    @property
    def problems(self) -> Mapping[str, Problem]:
        """The missing or misplaced objects. A caller can remove each, or add it again."""
        return MappingProxyType(self._problems)

    @property
    def _rules(self) -> CollisionRules:
        """The current rules. All removed objects are forgotten in one pass over the rules."""
        if self._gone:
            self._rules_changed |= self._own_rules.forget(self._gone)
            self._gone = set()
        return self._own_rules

    def object(self, name: str) -> SceneObject:
        """Return the object with a name; raise `ValueError` if it does not exist or has no place."""
        if name in self._problems and name not in self._objects:
            raise ValueError(self._problems[name].reason.removesuffix(_REMEDY) + _REMEDY)
        if name not in self._objects:
            raise ValueError(f"object '{name}': does not exist (objects: {join_names([*self._objects]) or 'none'})")
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
        outside_frame: OutsideFrame | None = None,
    ) -> None:
        """Add an object; replace one with the same name.

        Parameters
        ----------
        name : str
            Must not be the name of a link or group.
        shapes : sequence of Shape
            At least one.
        object_from_shape : (n, 4, 4) array_like
            Poses of the shapes in the object, m.
        pose : (4, 4) array_like
            root_from_object, or link_from_object if a link carries it, m.
        link : str, optional
            Link that carries it; default: none, it belongs to the world.
        touch_links : iterable of str
            Links, groups and objects that it may touch, including `link` if it may touch that.
        source : str
            Name of its origin.
        outside_frame : OutsideFrame, optional
            Frame of the original pose, if the robot does not carry that frame.
        """
        poses = as_poses(f"object '{name}': poses of its shapes", object_from_shape).reshape(-1, 4, 4)
        if len(poses) != len(shapes):
            raise ValueError(f"object '{name}': {len(shapes)} shapes, {len(poses)} poses: must be equally many")
        placed = as_poses(f"object '{name}': pose", pose)
        touched = self._touch_links(name, touch_links, link)
        thing = SceneObject(name, tuple(shapes), poses, placed, link, touched, source, outside_frame=outside_frame)
        self._put(thing, is_repaired=True)

    def add_subframes(self, name: str, subframes: Mapping[str, PosesLike]) -> None:
        """Add subframes to an object."""
        thing = self.object(name)
        placed = {frame: as_poses(f"object '{name}': subframe '{frame}'", pose) for frame, pose in subframes.items()}
        if placed:
            self._objects[name] = replace(thing, subframes=MappingProxyType({**thing.subframes, **placed}))

    def append(self, name: str, shapes: Sequence[Shape], object_from_shape: PosesLike) -> None:
        """Add shapes to an object, with poses in its frame; the object keeps its pose."""
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
        outside_frame: OutsideFrame | None = None,
    ) -> None:
        """Set the pose of an object in the frame that carries it and, if given, those of its shapes in the object."""
        thing = self.object(name)
        poses = thing.object_from_shape
        if object_from_shape is not None:
            poses = as_poses(f"object '{name}': poses of its shapes", object_from_shape).reshape(-1, 4, 4)
            if len(poses) != len(thing.shapes):
                raise ValueError(f"object '{name}': has {len(thing.shapes)} shapes, found {len(poses)} poses")
        placed = as_poses(f"object '{name}': pose", pose)
        moved = replace(thing, pose=placed, object_from_shape=poses, outside_frame=outside_frame)
        self._put(moved, is_repaired=name in self._problems and self._problems[name].by_move)

    def attach(self, name: str, link: str, link_from_object: PoseLike, touch_links: Iterable[str] = ()) -> None:
        """Attach an object to a link."""
        thing = self.object(name)
        pose = as_poses(f"object '{name}': pose", link_from_object)
        touched = self._touch_links(name, touch_links, link)
        self._put(replace(thing, pose=pose, link=link, touch_links=touched, outside_frame=None))

    def detach(self, name: str, root_from_object: PoseLike, outside_frame: OutsideFrame | None = None) -> None:
        """Detach an object from its link, so that it belongs to the world."""
        thing = self.object(name)
        pose = as_poses(f"object '{name}': pose", root_from_object)
        self._put(replace(thing, pose=pose, link=None, touch_links=frozenset(), outside_frame=outside_frame))

    def remove(self, name: str, *, attached: bool | None = None) -> None:
        """Remove an object with its matrix entries and runtime rules, and what is unknown about its name.

        Parameters
        ----------
        name : str
        attached : bool, optional
            Remove only an attached object, or only one of the world; what is unknown elsewhere stays. Default: either.
        """
        if name not in self._problems:
            self.object(name)  # raises if there is none
        self._remove_object(name, attached)
        self._settle(name, attached)

    def remove_all(
        self, *, attached: bool = False, source: str | None = None, but: Container[str] = frozenset()
    ) -> None:
        """Remove the objects of the world, or the attached ones, except `but`; if given, only those of one source.

        The octomap stays, as in MoveIt. Objects and what is unknown about them go by their own source.
        """

        def goes(found: SceneObject | Problem) -> bool:
            return found.name != OCTOMAP and found.name not in but and source in (None, found.source)

        for thing in tuple(filter(goes, self._objects.values())):
            self._remove_object(thing.name, attached)
        for problem in tuple(filter(goes, self._problems.values())):
            self._settle(problem.name, attached)

    def _remove_object(self, name: str, attached: bool | None) -> None:
        thing, problem = self._objects.get(name), self._problems.get(name)
        if thing is None or attached not in (None, thing.link is not None):
            return
        self._forget_bodies(thing)
        del self._objects[name]
        self._changed[name] = None
        self._gone.add(name)
        if problem is not None:
            self._problems[name] = replace(problem, by_move=False)

    def _settle(self, name: str, attached: bool | None) -> None:
        """Drop what is unknown about the attached objects of a name, or those of the world; None: about all."""
        problem = self._problems.get(name)
        if problem is None:
            return
        elsewhere = frozenset(link for link in problem.links if (link is None) is attached)
        del self._problems[name]
        if elsewhere:
            self._problems[name] = replace(problem, links=elsewhere)
        elif name not in self._objects:
            self._gone.add(name)

    def report(self, problem: Problem) -> None:
        """Store a problem until a change solves it (`Problem.by_move`), or the object is removed or added again.

        An object with that name does not change. Beyond the limit of names, one attached object `MORE` represents all
        others, since these may be attached or of the world.
        """
        problem = replace(problem, reason=str(problem))
        if problem.name not in self._problems and len(self._problems) - (MORE in self._problems) >= self.limits.objects:
            reason = f"'{MORE}': more than {self.limits.objects} objects could not be read"
            problem = replace(problem, name=MORE, links=frozenset(("",)), reason=reason)
        before, reason = self._problems.get(problem.name), problem.reason
        links, by_move = problem.links, problem.by_move and problem.name in self._objects
        if before is not None:
            links, by_move = links | before.links, by_move and before.by_move
        if before is not None and not before.is_unread:
            reason = f"{before.reason}; {reason}"  # its shapes might fit again, but are outdated
        reason = shorten(reason, _LONGEST_REASON)
        self._problems[problem.name] = replace(problem, reason=reason, links=links, by_move=by_move)

    def set_octomap(
        self, octree: Octree, root_from_tree: PoseLike, most: int, outside_frame: OutsideFrame | None = None
    ) -> None:
        """Set the octree. Rules for `OCTOMAP` stay.

        Parameters
        ----------
        octree : Octree
        root_from_tree : (4, 4) array_like
            m.
        most : int
            Largest number of occupied cubes.
        """
        pose = as_poses("octomap: pose", root_from_tree)
        before = self._objects.get(OCTOMAP)
        if before is not None and before.octree == octree:
            # Publishers of full planning scenes repeat the same octree, and the same boxes need no new scene.
            if (
                not np.array_equal(before.pose, pose)
                or not same_place(before.outside_frame, outside_frame)
                or OCTOMAP in self._problems
            ):
                self._put(replace(before, pose=pose, outside_frame=outside_frame), is_repaired=True)
            return
        self.limits.check("octomap_bytes", len(octree.data), "make it coarser or smaller")
        centres, sides = octree.cubes(most)
        boxes = {side: Box((side,) * 3) for side in set(sides.tolist())}
        poses = np.tile(np.eye(4), (len(centres), 1, 1))
        poses[:, :3, 3] = centres
        shapes = tuple(boxes[side] for side in sides.tolist())
        self._put(
            SceneObject(OCTOMAP, shapes, poses, pose, octree=octree, outside_frame=outside_frame), is_repaired=True
        )

    def remove_octomap(self) -> None:
        """Remove the octomap, if there is one. Rules for `OCTOMAP` stay for the next."""
        self._problems.pop(OCTOMAP, None)
        before = self._objects.pop(OCTOMAP, None)
        if before is not None:
            self._forget_bodies(before)
            self._changed[OCTOMAP] = None

    # --- rules ---

    def matrix_in_force(self) -> AllowedCollisionMatrix:
        """Return one matrix for the rules of matrix, SRDF and joints (`CollisionRules.as_matrix`)."""
        return self._rules.as_matrix()

    def set_matrix(self, matrix: AllowedCollisionMatrix) -> None:
        """Set the allowed collision matrix."""
        self.limits.check("names", len(matrix.defaults), "default entries of the allowed collision matrix")
        self._rules.set_matrix(matrix if matrix.entries or matrix.defaults else NO_MATRIX)
        self._rules_changed = True

    def set_runtime(self, name_a: str | None, name_b: str | None, checked: bool, reason: str = "") -> None:
        """Enable or disable a pair of links or objects, overriding all other rules; None: any."""
        for name in (name_a, name_b):
            if name is not None and name not in (OCTOMAP, *self._objects, *self._rules.links):
                raise ValueError(f"runtime rule: '{name}' is neither a link nor an object")
        self._rules.set_runtime(name_a, name_b, checked, shorten(reason, MAXIMUM_NAME))
        self.limits.check("rules", len(self._rules.runtime_pairs), "runtime rules")
        self._rules_changed = True

    def clear_runtime(self) -> None:
        """Remove all runtime rules."""
        self._rules.clear_runtime()
        self._rules_changed = True

    def _put(self, thing: SceneObject, *, is_repaired: bool = False) -> None:
        name, robot = thing.name, self._robot
        if name in self._problems and not is_repaired:
            raise ValueError(self._problems[name].reason.removesuffix(_REMEDY) + _REMEDY)
        if not name:
            raise ValueError("object: its name is empty")
        if name in robot.links or name in robot.groups:
            kind = "link" if name in robot.links else "group"
            raise ValueError(f"object '{name}': is the name of a {kind} of robot '{robot.name}', choose another")
        if (name == OCTOMAP) != (thing.octree is not None):
            raise ValueError(f"object '{OCTOMAP}': the name is reserved for the octomap")
        if not thing.shapes and thing.octree is None:
            raise ValueError(f"object '{name}': has no shape, must have at least one")
        farthest = np.abs((thing.pose @ thing.object_from_shape)[:, :3, 3]).max(initial=0.0)
        if not farthest <= MOST_LENGTH:
            words = f"coordinates of its shapes must be within {MOST_LENGTH:g} m, found {farthest:.3g}"
            raise ValueError(f"object '{name}': {words}")
        if len(name) > MAXIMUM_NAME:
            raise ValueError(f"object '{shorten(name)}': the name has {len(name)} characters, at most {MAXIMUM_NAME}")
        before, problem = self._objects.get(name), self._problems.get(name)
        if before is None and problem is None:
            self.limits.check("objects", len(self._objects) + len(self._problems) + 1, f"object '{name}'")
        if before is not None and before.shapes is not thing.shapes and before.shapes == thing.shapes:
            thing = replace(thing, shapes=before.shapes)  # equal shapes: the bodies only move
        if thing.link is not None:
            if thing.link == robot.root != robot.root_link:
                raise ValueError(f"object '{name}': '{thing.link}' is the frame of the world, which carries nothing")
            self._rules.check_link(name, thing.link)
            unknown = {one.name for one in self._problems.values() if one.link is not None}
            attached = len({name} | unknown | self._rules.attached_objects.keys())
            self.limits.check("attached", attached, f"object '{name}'")
        if before is None or before.shapes is not thing.shapes:
            self._take_bodies(thing, before)
        if thing.link is not None:
            self._rules.attach(name, thing.link, thing.touch_links)
        else:
            self._rules.detach(name)
        self._objects[name] = thing
        self._changed[name] = None
        self._problems.pop(name, None)
        if problem is not None and problem.is_unread and thing.link is None:
            on_links = problem.links - {None}  # as in MoveIt, an object of the world replaces no attached one
            if on_links:
                self._problems[name] = replace(problem, links=on_links, by_move=False)
        if before is not None and (before.link, before.touch_links) != (thing.link, thing.touch_links):
            self._rules_changed = True

    def _take_bodies(self, thing: SceneObject, before: SceneObject | None) -> None:
        """Replace the names of an object's former bodies by those of its new ones; change nothing if this raises."""
        name, new = thing.name, body_names(thing)
        clash = next((body for body in new if self._owner_of.get(body, name) != name), None)
        if clash is not None:
            raise ValueError(f"object '{name}': its body '{clash}' has the name of another body, choose another name")
        unplaced = [one.thing for one in self._problems.values() if one.thing is not None and one.name != name]
        bodies = len(self._owner_of) + sum(len(one.shapes) for one in (thing, *unplaced))
        triangles = self._triangles + sum(map(triangle_count, (thing, *unplaced)))
        if before is not None:
            bodies -= len(before.shapes)
            triangles -= triangle_count(before)
        self.limits.check("bodies", bodies, f"object '{name}' has {len(thing.shapes)} bodies")
        self.limits.check("triangles", triangles, f"object '{name}'")
        if before is not None:
            self._forget_bodies(before)
        self._owner_of |= dict.fromkeys(new, name)
        self._triangles += triangle_count(thing)

    def _forget_bodies(self, thing: SceneObject) -> None:
        for body in body_names(thing):
            self._owner_of.pop(body, None)
        self._triangles -= triangle_count(thing)

    def _touch_links(self, name: str, names: Iterable[str], link: str | None) -> frozenset[str]:
        """Return the links and objects for names of links, groups and objects."""
        if link is None:
            return frozenset()
        robot, found = self._robot, set[str]()
        for other in names:
            if other in robot.groups:
                found.update(robot.groups[other])
            elif other in robot.links or other in self._objects:
                found.add(other)
            else:
                raise ValueError(
                    f"object '{name}': may touch '{other}', which is not a link, group or object "
                    f"(links: {', '.join(robot.links)})"
                )
        return frozenset(found)
