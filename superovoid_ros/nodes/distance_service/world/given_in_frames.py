# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How far a frame that the robot does not carry has moved what was given in it. No messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from superovoid.robot.planning_scene import PlanningScene, SceneObject
from superovoid_ros.nodes.common.mistakes import Code, InputError

_NOT_TURNED = 1e-12  # rad; by so little a half-space may be turned: it reaches everywhere


def frames_of(planning: PlanningScene) -> list[str]:
    """Return the frames outside of the robot that objects of the world were given in."""
    return [placed.frame for placed in places(planning)]


def moved_by(thing: SceneObject, root_from_frame: np.ndarray) -> float:
    """Return how far an object has moved at most since it was placed, if its frame is there now, m."""
    if np.array_equal(root_from_frame, thing.given_in.root_from_frame):
        return 0.0
    placed = _place([thing])
    return float(placed.moved(root_from_frame @ np.linalg.inv(placed.before)).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Place:
    """Objects given in one frame at one pose of it. A query checks all of them at once."""

    frame: str
    before: np.ndarray
    """root_from_frame when they came, shape (4, 4)."""
    names: list[str]
    centres: np.ndarray
    """Of the shapes, in the root frame, shape (n, 3), m."""
    reaches: np.ndarray
    """No point of a shape is farther from its centre, shape (n,), m."""
    owners: np.ndarray
    """Whose shapes they are, of `names`, shape (n,)."""

    def moved(self, motion: np.ndarray) -> np.ndarray:
        """Return how far a motion moves any point of each shape, a bound of it, shape (n,), m."""
        turned = motion[:3, :3] - np.eye(3)
        shifts = np.linalg.norm(self.centres @ turned.T + motion[:3, 3], axis=1)
        # |R - 1| = 2 sin(angle / 2), and the Frobenius norm of R - 1 is sqrt(2) times that.
        turn = float(np.linalg.norm(turned)) / np.sqrt(2.0)
        return shifts if turn < _NOT_TURNED else shifts + turn * self.reaches


# A scene and its objects never change: what is read of them once is kept as long as they are there.
_places_of: WeakKeyDictionary[PlanningScene, list[Place]] = WeakKeyDictionary()
_reach_of: WeakKeyDictionary[SceneObject, float] = WeakKeyDictionary()


def places(planning: PlanningScene) -> list[Place]:
    """Return the objects of a scene that stand in frames outside of the robot, by frame and place."""
    known = _places_of.get(planning)
    if known is None:
        together: dict[tuple[str, bytes], list[SceneObject]] = {}
        for thing in planning.objects.values():
            if thing.given_in is not None:
                frame, before = thing.given_in
                together.setdefault((frame, before.tobytes()), []).append(thing)
        known = _places_of[planning] = [_place(things) for things in together.values()]
    return known


def check_still(planning: PlanningScene, lookup: Callable[[str], np.ndarray], root: str, tolerance: float) -> None:
    """Raise `InputError` if TF has moved an object of the world by more than `tolerance` [m] since it was placed.

    Parameters
    ----------
    planning
        Its objects, with the frames outside of the robot that they were given in.
    lookup
        Returns root_from_frame as TF has it now, shape (4, 4).
    root
        What the frame that they are placed in is called on TF.
    tolerance
        m.
    """
    now: dict[str, np.ndarray] = {}
    for placed in places(planning):
        frame = placed.frame
        if frame not in now:
            try:
                now[frame] = lookup(frame)
            except InputError as error:
                raise InputError(
                    f"not ready: object '{placed.names[0]}' stands in frame '{frame}', and {error}",
                    Code.INCOMPLETE_WORLD,
                ) from error
        if np.array_equal(now[frame], placed.before):
            continue
        moved = placed.moved(now[frame] @ np.linalg.inv(placed.before))
        beyond = np.flatnonzero(~(moved <= tolerance))
        if len(beyond):
            row = beyond[0]
            raise InputError(
                f"not ready: object '{placed.names[placed.owners[row]]}' stands in frame '{frame}', which TF has moved "
                f"against '{root}' since it came, the object by {moved[row]:.3g} m (frame_tolerance: {tolerance:g} m): "
                f"send it anew, or set planning_frame to a frame of the world, like '{frame}'",
                Code.INCOMPLETE_WORLD,
            )


def _place(things: Sequence[SceneObject]) -> Place:
    frame, before = things[0].given_in
    counts = [len(thing.shapes) for thing in things]
    return Place(
        frame,
        before,
        [thing.name for thing in things],
        np.concatenate([(thing.pose @ thing.object_from_shape)[:, :3, 3] for thing in things]),
        np.repeat([_reach(thing) for thing in things], counts),
        np.repeat(np.arange(len(things)), counts),
    )


def _reach(thing: SceneObject) -> float:
    """Return how far a point of any shape of an object is at most from the shape's frame, m."""
    found = _reach_of.get(thing)
    if found is None:
        spheres = [shape.bounding_sphere() for shape in {id(shape): shape for shape in thing.shapes}.values()]
        found = max((float(np.linalg.norm(one.centre)) + one.radius for one in spheres), default=0.0)
        _reach_of[thing] = found
    return found
