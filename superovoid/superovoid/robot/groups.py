# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A group of the SRDF as planners use it: the joints that move it, its tip, its named states.

As in MoveIt's robot model the joints of a group are the parent joints of its links: those named by links, joints and
chains, and those of its subgroups. What is planned are the independent movable ones among them.
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
    """What a group of the SRDF is made of."""

    name: str
    links: tuple[str, ...]
    """Children of its joints, and what is named in it, in the order of the URDF."""
    joints: tuple[str, ...]
    """Independent movable joints, in the order of `Robot.joint_names`: what is planned."""
    outside: tuple[str, ...]
    """Floating and planar joints in it, whose pose comes from outside: nothing here moves them."""
    base: str | None
    """Parent link of the first joint of a group whose joints form a chain; else None."""
    tip: str | None
    """The link that a pose goal is for unless another is named: the last link of a chain, else the link that carries
    the only end effector that names this group as its parent; None where there is neither."""
    states: Mapping[str, Mapping[str, float]]
    """Its named states (``group_state``): joint -> position, rad or m."""


def read_group(
    name: str,
    links: Sequence[str],
    joints: Mapping[str, Joint],
    independent: Collection[str],
    states: Mapping[str, Mapping[str, float]],
    end_effectors: Sequence[EndEffector],
) -> Group:
    """Put together what is known about a group.

    Parameters
    ----------
    name : str
    links : sequence of str
        Its links.
    joints : mapping of str to Joint
        All of the robot's.
    independent : collection of str
        `Robot.joint_names`.
    states : mapping of str to mapping of str to float
        Its named states.
    end_effectors : sequence of EndEffector
        The robot's.
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
    """The first and the last link of joints that form a chain, fixed joints between them left out or not."""
    names = {joint.name for joint in members}
    carrying: set[str] = set()  # joints that another of the group follows on the way from the root
    first: list[Joint] = []
    for joint in members:
        above = of_link.get(joint.parent)
        while above is not None and above.name not in names and above.kind == "fixed":
            above = of_link.get(above.parent)
        if above is None or above.name not in names:
            first.append(joint)
        elif above.name in carrying:
            return None, None  # two joints on one: it branches
        else:
            carrying.add(above.name)
    if len(first) != 1 or not any(joint.kind != "fixed" and joint.mimic is None for joint in members):
        return None, None
    last = next(joint for joint in members if joint.name not in carrying)
    return first[0].parent, last.child


def home_of(limits: tuple[float, float]) -> float:
    """Where a joint is at first: 0, or the middle where 0 is beyond its limits, as in MoveIt; rad or m."""
    lower, upper = limits
    if lower <= 0.0 <= upper:
        return 0.0
    if math.isinf(lower) or math.isinf(upper):
        return upper if math.isinf(lower) else lower
    return 0.5 * (lower + upper)
