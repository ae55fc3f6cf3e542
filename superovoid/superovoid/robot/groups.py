# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""SRDF groups for planners: the joints that move a group, its tip, its named states.

As in MoveIt's robot model, the joints of a group are the parent joints of its links, which come from the links, joints,
chains and subgroups of the group. A planner moves the independent movable joints among them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from superovoid.robot.kinematics import OUTSIDE
from superovoid.robot.srdf import EndEffector
from superovoid.robot.urdf import Joint


@dataclass(frozen=True)
class Group:
    """A group of the SRDF."""

    name: str
    links: tuple[str, ...]
    """Child links of its joints and links named in the group, in the order of the URDF."""
    joints: tuple[str, ...]
    """Independent movable joints, in the order of `Robot.joint_names`: the joints to plan."""
    outside: tuple[str, ...]
    """Floating and planar joints of the group. Their poses are inputs, and no planner here moves them."""
    base: str | None
    """Parent link of the first joint if the joints form a chain; otherwise None."""
    tip: str | None
    """Default link for pose goals: the last link of a chain; otherwise the parent link of the only end effector that
    names this group as its parent group; None if there is neither."""
    states: Mapping[str, Mapping[str, float]]
    """Named states (``group_state``): joint -> position, rad or m."""


def read_group(
    name: str,
    links: Sequence[str],
    joints: Mapping[str, Joint],
    independent: Collection[str],
    states: Mapping[str, Mapping[str, float]],
    end_effectors: Sequence[EndEffector],
) -> Group:
    """Return a group with its joints, base and tip.

    Parameters
    ----------
    name : str
    links : sequence of str
        Links of the group.
    joints : mapping of str to Joint
        All joints of the robot.
    independent : collection of str
        `Robot.joint_names`.
    states : mapping of str to mapping of str to float
        Named states of the group.
    end_effectors : sequence of EndEffector
        All end effectors of the robot.
    """
    of_link = {joint.child: joint for joint in joints.values()}
    members = [of_link[link] for link in links if link in of_link]
    base, tip = _chain(members, of_link)
    if tip is None:
        carriers = {effector.parent_link for effector in end_effectors if effector.parent_group == name}
        tip = carriers.pop() if len(carriers) == 1 else None
    own = {joint.name for joint in members}
    return Group(
        name,
        tuple(links),
        tuple(joint for joint in independent if joint in own),
        tuple(joint.name for joint in members if joint.kind in OUTSIDE),
        base,
        tip,
        states,
    )


def _chain(members: Sequence[Joint], of_link: Mapping[str, Joint]) -> tuple[str | None, str | None]:
    """Return the first and last link of joints that form a chain, except for missing fixed joints, or (None, None)."""
    names = {joint.name for joint in members}
    carrying: set[str] = set()  # joints with a next joint of the group below them
    first: list[Joint] = []
    for joint in members:
        above = of_link.get(joint.parent)
        while above is not None and above.name not in names and above.kind == "fixed":
            above = of_link.get(above.parent)
        if above is None or above.name not in names:
            first.append(joint)
        elif above.name in carrying:
            return None, None  # two joints below one: a branch
        else:
            carrying.add(above.name)
    if len(first) != 1 or not any(joint.kind != "fixed" and joint.mimic is None for joint in members):
        return None, None
    last = next(joint for joint in members if joint.name not in carrying)
    return first[0].parent, last.child


def home_of(limits: tuple[float, float]) -> float:
    """Return the default position of a joint as in MoveIt: 0, or mid-range if 0 is beyond its limits; rad or m."""
    lower, upper = limits
    if lower <= 0.0 <= upper:
        return 0.0
    if math.isinf(lower) or math.isinf(upper):
        return upper if math.isinf(lower) else lower
    return 0.5 * (lower + upper)
