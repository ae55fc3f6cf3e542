# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Convert a robot's state to a picture, independent of the page that shows it.

===================  ================================================================================================
`RobotModel`         the robot, its joint positions and base poses, the objects around it, the selected pairs
`RobotModel.answer`  queries the engine and returns a `Picture`
`Picture`            poses of links, meanings of bodies, the closest pairs, the clearance (`picture.py`)
===================  ================================================================================================

Metres, radians, in the frame of the robot's root link.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.robot import PlanningScene, Robot
from superovoid.robot.groups import home_of
from superovoid.shapes import Shape
from superovoid.shapes.poses import as_pose
from superovoid.values.poses import PoseLike, PosesLike
from superovoid.viewing.picture import (
    NEAR,
    Between,
    Picture,
    SceneQuery,
    box_of,
    checked_near,
    corners_of,
    extent_of,
    round_length,
)

FloatArray = NDArray[np.float64]

_ONE_TURN, _ONE_METRE = math.pi, 1.0  # half the slider range of a joint without limits
_GAP = 0.1  # between bases placed side by side, as a fraction of their size


class RobotModel:
    """A robot in a state, and its surroundings. Not thread-safe.

    Parameters
    ----------
    robot : Robot
    near : float, optional
        Near distance: show pairs within it, m; default: about `NEAR` of the robot's extent.

    Attributes
    ----------
    robot : Robot
    planning : PlanningScene
        The robot with the present objects and rules.
    positions : dict of str to float
        Positions of the independent joints, rad or m.
    base_poses : dict of str to array (4, 4)
        Poses of the links on floating joints; initially side by side.
    near : float
    between : (sequence of str, sequence of str) or None
        Links, groups and objects whose pairs are shown; None for all. The clearance always covers all pairs.
    """

    def __init__(self, robot: Robot, near: float | None = None) -> None:
        self.robot = robot
        self.planning = PlanningScene(robot)
        self.near = 0.0
        self.between: tuple[Sequence[str] | None, Sequence[str] | None] | None = None
        self.positions = {name: home_of(limits) for name, limits in robot.joint_limits.items()}
        self.base_poses: dict[str, FloatArray] = {link: np.eye(4) for link in robot.base_links}
        self._put_bases_side_by_side()
        self.set_near(round_length(NEAR * self.extent) if near is None else near)

    # -- the state ------------------------------------------------------------------------------------------------

    def set_near(self, near: float) -> None:
        """Show pairs within this distance, m."""
        self.near = checked_near(near)

    def set_position(self, joint: str, position: float) -> None:
        """Move a joint, rad or m; positions beyond its limits are allowed and reported in the picture."""
        if joint not in self.positions:
            raise ValueError(
                f"'{joint}' is not an independent joint of '{self.robot.name}' (joints: {', '.join(self.positions)})"
            )
        if not math.isfinite(position):
            raise ValueError(f"joint '{joint}': position = {position}: must be finite")
        self.positions[joint] = float(position)

    def set_positions(self, positions: Mapping[str, float] | ArrayLike) -> None:
        """Move joints, given as a mapping of some, or as an array of all in the order of `Robot.joint_names`."""
        if not isinstance(positions, Mapping):
            values = np.asarray(positions, dtype=float)
            if values.shape != (len(self.positions),):
                raise ValueError(f"positions: must have shape ({len(self.positions)},), found {values.shape}")
            positions = dict(zip(self.robot.joint_names, values.tolist(), strict=True))
        before = dict(self.positions)
        try:
            for joint, position in positions.items():
                self.set_position(joint, position)
        except ValueError:
            self.positions = before
            raise

    def set_base(self, link: str, root_from_link: PosesLike) -> None:
        """Set the pose of a link on a floating joint."""
        if link not in self.base_poses:
            there = ", ".join(self.base_poses) or "none"
            raise ValueError(f"'{link}' is not a base of '{self.robot.name}' (bases: {there})")
        self.base_poses[link] = as_pose(f"pose of base '{link}'", root_from_link)

    def show_between(self, names_a: Sequence[str] | None, names_b: Sequence[str] | None) -> None:
        """Show only pairs between these links, groups and objects; None for all."""
        for names in (names_a, names_b):
            self.planning.owners_of(names)
        self.between = None if names_a is None and names_b is None else (names_a, names_b)

    # -- what is around it ----------------------------------------------------------------------------------------

    def add_object(self, name: str, shape: Shape, root_from_object: PoseLike) -> None:
        """Add a world object; replace an object of the same name."""
        edit = self.planning.edit()
        edit.add(name, [shape], np.eye(4)[None], root_from_object)
        self.planning = edit.commit()

    def move_object(self, name: str, root_from_object: PoseLike) -> None:
        """Move an object."""
        edit = self.planning.edit()
        edit.move(name, root_from_object)
        self.planning = edit.commit()

    def remove_object(self, name: str) -> None:
        """Remove an object."""
        edit = self.planning.edit()
        edit.remove(name)
        self.planning = edit.commit()
        self._forget_shown(name)

    def place_beside(self, shape: Shape) -> FloatArray:
        """Return a pose for a new object, shape (4, 4): outside the box of everything shown, towards -x."""
        low, high = self.box()
        sphere = shape.bounding_sphere()
        reach = sphere.radius if math.isfinite(sphere.radius) else 0.0
        pose = np.eye(4)
        pose[:3, 3] = 0.5 * (low + high)
        pose[0, 3] = low[0] - reach - _GAP * self.extent
        return pose

    # -- which pairs are checked ----------------------------------------------------------------------------------

    def pair_rule(self, name_a: str, name_b: str) -> tuple[bool, str]:
        """Return whether two links or objects are checked against each other, and the reason."""
        known = (*self.robot.links, *self.planning.objects)
        for name in (name_a, name_b):
            if name not in known:
                raise ValueError(f"'{name}' is neither a link of '{self.robot.name}' nor an object")
            if name in self.robot.links_without_geometry:
                return False, f"link '{name}' has no contact geometry"
        decision = self.planning.rules.decide(name_a, name_b)
        return decision.checked, decision.words

    def check(self, name_a: str, name_b: str, checked: bool) -> None:
        """Enable or disable the check of two links or objects, overriding the SRDF."""
        edit = self.planning.edit()
        edit.set_runtime(name_a, name_b, checked, "set in the viewer")
        self.planning = edit.commit()

    def forget_checks(self) -> None:
        """Undo all calls of `check`."""
        edit = self.planning.edit()
        edit.clear_runtime()
        self.planning = edit.commit()

    def _forget_shown(self, name: str) -> None:
        if self.between is not None and any(names is not None and name in names for names in self.between):
            self.between = None

    # -- the picture ----------------------------------------------------------------------------------------------

    def box(self) -> tuple[FloatArray, FloatArray]:
        """Return two corners of a box around link origins and all bodies except half-spaces, each of shape (3,), m."""
        return box_of(self.planning.scene.bodies, self._poses())

    @property
    def title(self) -> str:
        """The name of the robot."""
        return self.robot.name

    @property
    def extent(self) -> float:
        """Diagonal of `box`, m; 1 if the box is a point."""
        return extent_of(self.box())

    @property
    def _query(self) -> SceneQuery:
        return SceneQuery(self.planning.scene, self.planning.owners, self.near)

    def blank_picture(self, reason: str = "not computed yet") -> Picture:
        """Return a picture without an answer: everything is unknown."""
        return self._query.blank_picture(self._poses(), reason, outside=self._joints_outside())

    def answer(self) -> Picture:
        """Compute the distances in this state and return a picture."""
        return self._query.answer(self._poses(), self._sides(), self._missing_text(), self._joints_outside())

    def _sides(self) -> Between | None:
        """Return the links and objects whose pairs are shown."""
        if self.between is None:
            return None
        first, second = (self.planning.owners_of(names) for names in self.between)
        return first, second

    def _missing_text(self) -> str:
        """Return what is not part of the answer, in words."""
        reasons = [problem.reason for problem in self.planning.problems.values()]
        reasons += [
            f"collision geometry of link '{link}' is left out ({', '.join(kinds)})"
            for link, kinds in self.robot.left_out.items()
        ]
        return "; ".join(reasons[:3]) + (f"; and {len(reasons) - 3} more" if len(reasons) > 3 else "")

    def _joints_outside(self) -> tuple[str, ...]:
        return tuple(
            name
            for name, (lower, upper) in self.robot.joint_limits.items()
            if not lower <= self.positions[name] <= upper
        )

    def _poses(self) -> Mapping[str, FloatArray]:
        return MappingProxyType(self.robot.forward_kinematics(self.positions, self.base_poses))

    def _put_bases_side_by_side(self) -> None:
        """Place bases of unknown pose next to each other along y."""
        poses, taken = self._poses(), None
        carried = _carried_by(self.robot)
        for base in (None, *self.robot.base_links):
            links = carried.get(base, ())
            corners = [corner for body in self.robot.bodies if body.link in links for corner in corners_of(body, poses)]
            if not corners:
                continue
            low, high = float(np.min(corners, axis=0)[1]), float(np.max(corners, axis=0)[1])
            shift = 0.0
            if taken is not None and base is not None:
                shift = taken + _GAP * (high - low) - low
                self.base_poses[base] = self.base_poses[base].copy()
                self.base_poses[base][1, 3] = shift
            taken = high + shift if taken is None else max(taken, high + shift)


def slider_range(kind: str, limits: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of a joint's slider, rad or m: its limits, or a range of one turn or 2 m if one is missing."""
    reach = _ONE_METRE if kind == "prismatic" else _ONE_TURN
    lower, upper = limits
    if math.isinf(lower) and math.isinf(upper):
        return -reach, reach
    if math.isinf(lower):
        return upper - 2.0 * reach, upper
    return lower, lower + 2.0 * reach if math.isinf(upper) else upper


def _carried_by(robot: Robot) -> dict[str | None, set[str]]:
    """Return the links that each base carries, including itself; None: the links that no base carries."""
    above = {joint.child: joint for joint in robot.joints.values()}
    found: dict[str | None, set[str]] = {}
    for link in robot.links:
        base = link
        while base not in robot.base_links and base in above:
            base = above[base].parent
        found.setdefault(base if base in robot.base_links else None, set()).add(link)
    return found
