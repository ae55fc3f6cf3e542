# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is shown of a robot, without anything that shows it: from a state to a list of drawn things.

===================  ================================================================================================
`RobotModel`         the robot, where its joints and bases are, the objects around it, which pairs are looked at
`RobotModel.answer`  asks the engine, and returns a `Picture`
`Picture`            where the links are, what each body means, the closest pairs, the clearance (`picture.py`)
===================  ================================================================================================

Metres, radians; the frame is that of the robot's root link.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.contact.inputs import as_poses
from superovoid.robot import PlanningScene, Robot
from superovoid.robot.groups import home_of
from superovoid.shapes import Shape
from superovoid.values.poses import PoseLike, PosesLike
from superovoid.viewing.picture import (
    NEAR,
    Asked,
    Between,
    Picture,
    box_of,
    checked_near,
    corners_of,
    extent_of,
    round_length,
)

FloatArray = NDArray[np.float64]

_ONE_TURN, _ONE_METRE = math.pi, 1.0  # ends of the sliders of joints without limits
_GAP = 0.1  # between bases that stand side by side, in parts of what stands there


class RobotModel:
    """A robot in a state, and what is around it. Not for several threads at once.

    Parameters
    ----------
    robot : Robot
    near : float, optional
        Pairs at most this far apart are shown, m; default: about `NEAR` of the robot's extent.

    Attributes
    ----------
    robot : Robot
    planning : PlanningScene
        The robot with the objects and rules of now.
    positions : dict of str to float
        Of the independent joints, rad or m.
    base_poses : dict of str to array (4, 4)
        Of the links whose pose comes from outside: side by side, where there are several.
    near : float
    between : (sequence of str, sequence of str) or None
        Links, groups and objects that pairs are shown between; None: all. The clearance is that of all.
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
        """Show pairs at most this far apart, m."""
        self.near = checked_near(near)

    def set_position(self, joint: str, position: float) -> None:
        """Move a joint, rad or m; also beyond its limits, which the picture says."""
        if joint not in self.positions:
            raise ValueError(
                f"'{joint}' is no independent joint of '{self.robot.name}' (joints: {', '.join(self.positions)})"
            )
        if not math.isfinite(position):
            raise ValueError(f"joint '{joint}': position = {position}: must be finite")
        self.positions[joint] = float(position)

    def set_positions(self, positions: Mapping[str, float] | ArrayLike) -> None:
        """Move joints: a mapping of some of them, or an array of all in the order of `Robot.joint_names`."""
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
        """Put a link whose pose comes from outside somewhere."""
        if link not in self.base_poses:
            there = ", ".join(self.base_poses) or "none"
            raise ValueError(f"'{link}' is no base of '{self.robot.name}' (bases: {there})")
        pose = as_poses(f"pose of base '{link}'", root_from_link)
        if pose.shape != (4, 4):
            raise ValueError(f"pose of base '{link}': must have shape (4, 4), found {pose.shape}")
        self.base_poses[link] = pose

    def show_between(self, names_a: Sequence[str] | None, names_b: Sequence[str] | None) -> None:
        """Show pairs between links, groups and objects only; None: all."""
        for names in (names_a, names_b):
            self.planning.owners_of(names)
        self.between = None if names_a is None and names_b is None else (names_a, names_b)

    # -- what is around it ----------------------------------------------------------------------------------------

    def add_object(self, name: str, shape: Shape, root_from_object: PoseLike) -> None:
        """Add an object of the world, in the place of one of that name."""
        edit = self.planning.edit()
        edit.add(name, [shape], np.eye(4)[None], root_from_object)
        self.planning = edit.commit()

    def move_object(self, name: str, root_from_object: PoseLike) -> None:
        """Put an object somewhere else."""
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
        """A pose for a new object, shape (4, 4): beside all that stands there, towards -x."""
        low, high = self.box()
        sphere = shape.bounding_sphere()
        reach = sphere.radius if math.isfinite(sphere.radius) else 0.0
        pose = np.eye(4)
        pose[:3, 3] = 0.5 * (low + high)
        pose[0, 3] = low[0] - reach - _GAP * self.extent
        return pose

    # -- which pairs are checked ----------------------------------------------------------------------------------

    def why(self, name_a: str, name_b: str) -> tuple[bool, str]:
        """Whether two links or objects are checked against each other, and why, in words."""
        known = (*self.robot.links, *self.planning.objects)
        for name in (name_a, name_b):
            if name not in known:
                raise ValueError(f"'{name}' is no link of '{self.robot.name}' and no object")
            if name in self.robot.links_without_geometry:
                return False, f"link '{name}' has no contact geometry"
        verdict = self.planning.rules.why(name_a, name_b)
        return verdict.checked, verdict.words

    def check(self, name_a: str, name_b: str, checked: bool) -> None:
        """Have two links or objects checked from now on, or not, whatever the SRDF says."""
        edit = self.planning.edit()
        edit.set_runtime(name_a, name_b, checked, "said in the viewer")
        self.planning = edit.commit()

    def forget_checks(self) -> None:
        """Take back what `check` said."""
        edit = self.planning.edit()
        edit.clear_runtime()
        self.planning = edit.commit()

    def _forget_shown(self, name: str) -> None:
        if self.between is not None and any(names is not None and name in names for names in self.between):
            self.between = None

    # -- the picture ----------------------------------------------------------------------------------------------

    def box(self) -> tuple[FloatArray, FloatArray]:
        """Corners of a box around all bodies but half-spaces, and the origins of links, each shape (3,), m."""
        return box_of(self.planning.scene.bodies, self._poses())

    @property
    def title(self) -> str:
        """The name of the robot."""
        return self.robot.name

    @property
    def extent(self) -> float:
        """Length of the diagonal of `box`, m; 1 where there is nothing but a point."""
        return extent_of(self.box())

    @property
    def _asked(self) -> Asked:
        return Asked(self.planning.scene, self.planning.owners, self.near)

    def unanswered(self, reason: str = "not asked yet") -> Picture:
        """The picture before there is an answer, or where there is none: nothing is known."""
        return self._asked.unanswered(self._poses(), reason, outside=self._outside())

    def answer(self) -> Picture:
        """Ask for the distances in this state."""
        return self._asked.answer(self._poses(), self._sides(), self._missing(), self._outside())

    def _sides(self) -> Between | None:
        """The links and objects that pairs are shown between."""
        if self.between is None:
            return None
        first, second = (self.planning.owners_of(names) for names in self.between)
        return first, second

    def _missing(self) -> str:
        """What is not part of the answer, in words."""
        reasons = [misfit.reason for misfit in self.planning.misfits.values()]
        reasons += [
            f"collision geometry of link '{link}' is left out ({', '.join(kinds)})"
            for link, kinds in self.robot.left_out.items()
        ]
        return "; ".join(reasons[:3]) + (f"; and {len(reasons) - 3} more" if len(reasons) > 3 else "")

    def _outside(self) -> tuple[str, ...]:
        return tuple(
            name
            for name, (lower, upper) in self.robot.joint_limits.items()
            if not lower <= self.positions[name] <= upper
        )

    def _poses(self) -> Mapping[str, FloatArray]:
        return MappingProxyType(self.robot.forward_kinematics(self.positions, self.base_poses))

    def _put_bases_side_by_side(self) -> None:
        """Along y, each beside the one before; a robot whose pose is not known stands somewhere."""
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
    """Ends of the slider of a joint, rad or m: its limits; a turn or two metres where one is missing."""
    reach = _ONE_METRE if kind == "prismatic" else _ONE_TURN
    lower, upper = limits
    if math.isinf(lower) and math.isinf(upper):
        return -reach, reach
    if math.isinf(lower):
        return upper - 2.0 * reach, upper
    return lower, lower + 2.0 * reach if math.isinf(upper) else upper


def _carried_by(robot: Robot) -> dict[str | None, set[str]]:
    """The links that each base carries, itself included; None: those that no base does."""
    above = {joint.child: joint for joint in robot.joints.values()}
    found: dict[str | None, set[str]] = {}
    for link in robot.links:
        base = link
        while base not in robot.base_links and base in above:
            base = above[base].parent
        found.setdefault(base if base in robot.base_links else None, set()).add(link)
    return found
