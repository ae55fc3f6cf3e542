# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""SRDF reader: groups and their states, disabled pairs of links, and virtual joints.

The reader follows MoveIt (srdfdom and the robot model): a group is the union of its links, the child links of its
joints, its chains and its subgroups; ``disable_default_collisions`` and ``enable_collisions`` are supported too. SRDFs
are often older than their URDFs. Therefore an element that refers to something unknown is ignored with a warning, as in
srdfdom; with `strict`, the document is rejected instead.

The cost is linear in the size of the document: a set of links is an integer with one bit per link of the URDF.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from superovoid.robot.errors import RobotDescriptionError
from superovoid.robot.urdf import Joint
from superovoid.robot.xml import Problems, describe, join_names, name_of, parse_document, shorten

_KIND = "SRDF"
MAXIMUM_GROUPS = 1_000
MAXIMUM_REASON = 255  # characters; a longer reason is truncated
NO_REASON = "no reason given"
"""Reason of a disabled pair without one."""
VIRTUAL_JOINT_TYPES = ("fixed", "planar", "floating")


class VirtualJoint(NamedTuple):
    """A joint between a world frame and a link of the robot."""

    name: str
    kind: str
    """One of `VIRTUAL_JOINT_TYPES`."""
    parent_frame: str
    child_link: str


class EndEffector(NamedTuple):
    """A group mounted on a link of another group, such as a gripper on an arm."""

    name: str
    group: str
    parent_link: str
    """Link that it is mounted on."""
    parent_group: str
    """Group of that link; empty if the document has none."""


@dataclass(frozen=True)
class Semantics:
    """Content of an SRDF.

    ``disabled`` maps unordered pairs of links to their reasons. ``enabled`` has the pairs of ``enable_collisions`` that
    are not in ``disabled``. Pairs with a link in ``disabled_by_default`` are disabled too, unless they are enabled.
    ``fixed_frames`` maps the parent frames of fixed virtual joints to their child links. ``root_joint`` is the virtual
    joint of the root link, if any. ``states`` has the named states of groups: group -> state -> joint -> position.
    ``passive`` has the joints without sensor and motor.
    """

    groups: Mapping[str, tuple[str, ...]]
    disabled: Mapping[frozenset[str], str]
    warnings: tuple[str, ...]
    enabled: frozenset[frozenset[str]] = frozenset()
    fixed_frames: Mapping[str, str] = field(default_factory=dict)
    disabled_by_default: frozenset[str] = frozenset()
    root_joint: VirtualJoint | None = None
    states: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    end_effectors: tuple[EndEffector, ...] = ()
    passive: frozenset[str] = frozenset()


def read_srdf(
    xml: str,
    robot: str,
    links: Sequence[str],
    joints: Sequence[Joint],
    *,
    strict: bool = False,
    with_root_joint: bool = False,
) -> Semantics:
    """Read the SRDF of a robot.

    Parameters
    ----------
    xml : str
        The document.
    robot : str
        Name of the robot in the URDF.
    links : sequence of str
        Links of the URDF in any order.
    joints : sequence of Joint
        Joints of the URDF.
    strict : bool
        Whether a different robot name, or a group with unknown members, is an error. Otherwise it is a warning, and the
        unknown members are ignored; so is a group with a subgroup that does not exist or contains the group.
    with_root_joint : bool
        Whether a group with the virtual joint of the root link contains the root link, unless the joint is fixed.

    Raises
    ------
    RobotDescriptionError
        If the document is malformed, or has more than `MAXIMUM_GROUPS` groups; with `strict`, also for every
        inconsistency with the URDF, except for pairs of unknown links, which are always warnings.
    """
    document = parse_document(xml, _KIND, "robot")
    problems = Problems(strict)
    name = document.get("name")
    if name != robot:
        problems.report(f"{_KIND}: robot name = '{shorten(name or '')}': the URDF's robot is '{robot}'")
    elements: dict[str, ET.Element] = {}
    for element in document.findall("group"):
        with problems:
            group = name_of(element, _KIND)
            if group in elements:
                raise RobotDescriptionError(f"{_KIND}: group '{group}': the name occurs twice")
            elements[group] = element
    if len(elements) > MAXIMUM_GROUPS:
        raise RobotDescriptionError(f"{_KIND}: robot: {len(elements)} groups, expected at most {MAXIMUM_GROUPS}")
    virtual = _virtual_joints(document, set(links), problems)
    moved = {joint.child for joint in joints}
    root_joint = next((joint for joint in virtual if joint.child_link not in moved), None)
    moving = {joint.name: "" for joint in virtual}
    if with_root_joint and root_joint is not None and root_joint.kind != "fixed":
        moving[root_joint.name] = root_joint.child_link
    groups = _Groups(elements, links, joints, moving, problems).read()
    pairs = _Pairs(set(links), problems)
    pairs.read(document)
    names = {joint.name for joint in joints}
    states = _states(document, groups, names, {joint.name for joint in virtual}, problems)
    effectors = _end_effectors(document, groups, set(links), problems)
    passive = _passive_joints(document, names, problems)
    return Semantics(
        groups,
        pairs.disabled,
        problems.warnings(_KIND),
        frozenset(pairs.enabled - pairs.disabled.keys()),
        {joint.parent_frame: joint.child_link for joint in virtual if joint.kind == "fixed"},
        frozenset(pairs.by_default),
        root_joint,
        states,
        effectors,
        passive,
    )


def _states(
    document: ET.Element, groups: Mapping[str, Sequence[str]], joints: set[str], virtual: set[str], problems: Problems
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the named states of groups, without unknown joints and joints with other than one number."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for element in document.findall("group_state"):
        name, group = element.get("name"), element.get("group")
        if not name or group is None or group not in groups:
            problems.warn(
                f"{_KIND}: {describe(element)}: no name, or group '{shorten(group or '')}' does not exist; ignored"
            )
            continue
        positions = found.setdefault(group, {}).setdefault(name, {})
        for joint in element.findall("joint"):
            joint_name, values = joint.get("name", ""), (joint.get("value") or "").split()
            if joint_name in virtual:
                continue  # states do not include the pose of the robot in the world
            if joint_name not in joints:
                problems.warn(
                    f"{_KIND}: group_state '{shorten(name)}': joint '{shorten(joint_name)}' does not exist; ignored"
                )
                continue
            try:
                (position,) = map(float, values)
            except ValueError:
                position = math.nan
            if math.isfinite(position):
                positions[joint_name] = position
            else:
                problems.warn(
                    f"{_KIND}: group_state '{shorten(name)}': joint '{joint_name}': value = "
                    f"'{shorten(joint.get('value') or '')}': expected one number; ignored"
                )
    return found


def _end_effectors(
    document: ET.Element, groups: Mapping[str, Sequence[str]], links: set[str], problems: Problems
) -> tuple[EndEffector, ...]:
    found = []
    for element in document.findall("end_effector"):
        name, group, link = (element.get(key) or "" for key in ("name", "group", "parent_link"))
        if not name or group not in groups or link not in links:
            problems.warn(
                f"{_KIND}: {describe(element)}: no name, or group '{shorten(group)}' or parent_link '{shorten(link)}' "
                "does not exist; ignored"
            )
            continue
        found.append(EndEffector(name, group, link, element.get("parent_group") or ""))
    return tuple(found)


def _passive_joints(document: ET.Element, joints: set[str], problems: Problems) -> frozenset[str]:
    found = set()
    for element in document.findall("passive_joint"):
        name = element.get("name") or ""
        if name in joints:
            found.add(name)
        else:
            problems.warn(f"{_KIND}: {describe(element)}: joint '{shorten(name)}' does not exist; ignored")
    return frozenset(found)


def _virtual_joints(document: ET.Element, links: set[str], problems: Problems) -> list[VirtualJoint]:
    found = []
    for element in document.findall("virtual_joint"):
        # As in srdfdom: strip spaces, convert the type to lower case, and treat an unknown type as fixed.
        given = (element.get(key, "").strip() for key in ("name", "type", "parent_frame", "child_link"))
        name, kind, frame, link = given
        if not (name and kind and frame):
            problems.warn(f"{_KIND}: {describe(element)}: has no name, type or parent_frame; it is ignored")
            continue
        if link not in links:
            problems.warn(f"{_KIND}: {describe(element)}: link '{shorten(link)}' does not exist; it is ignored")
            continue
        if kind.lower() not in VIRTUAL_JOINT_TYPES:
            kinds = ", ".join(VIRTUAL_JOINT_TYPES)
            problems.warn(
                f"{_KIND}: {describe(element)}: type = '{shorten(kind)}': must be one of {kinds}; treated as fixed"
            )
            kind = "fixed"
        found.append(VirtualJoint(name, kind.lower(), frame, link))
    return found


class _Groups:
    """Reader of groups; a set of links is an integer with one bit per link. `virtual` maps joints to moved links."""

    def __init__(
        self,
        elements: Mapping[str, ET.Element],
        links: Sequence[str],
        joints: Sequence[Joint],
        virtual: Mapping[str, str],
        problems: Problems,
    ) -> None:
        self._elements, self._links, self._virtual, self._problems = elements, links, virtual, problems
        self._bit = {link: 1 << i for i, link in enumerate(links)}
        self._child = {joint.name: joint.child for joint in joints}
        self._parent = {joint.child: joint.parent for joint in joints}
        self._above = self._paths_to_root()
        self._done: dict[str, int | None] = {}  # None: an invalid group

    def read(self) -> dict[str, tuple[str, ...]]:
        """Return the links of every valid group, in the order of the URDF."""
        for group in self._elements:
            self._read(group)
        done = {group: self._done[group] for group in self._elements}
        return {group: tuple(self._names_of(links)) for group, links in done.items() if links is not None}

    def _read(self, group: str) -> None:
        """Read a group after its subgroups; iteratively, because subgroups may be nested deeply."""
        if group in self._done:
            return
        path: dict[str, int | None] = {group: 0}  # open groups, each a subgroup of the previous one: links found
        parts = [iter(self._elements[group])]
        while parts:
            current = next(reversed(path))
            inner = self._read_up_to_subgroup(current, parts[-1], path)
            if inner is None:
                found = path.pop(current)
                self._done[current] = found
                parts.pop()
                if path:
                    self._include(next(reversed(path)), current, path)
            elif inner in path:
                way = join_names([*path, inner], " -> ")
                self._problems.report(f"{_KIND}: group '{inner}': contains itself: {way}")
                # All groups of the cycle are invalid, like a group with an unknown subgroup.
                path[current] = None
            else:
                path[inner] = 0
                parts.append(iter(self._elements[inner]))

    def _read_up_to_subgroup(self, group: str, parts: Iterator[ET.Element], path: dict[str, int | None]) -> str | None:
        """Add the next parts of a group; return the first unread subgroup, or None at the end."""
        for element in parts:
            with self._problems:
                if element.tag != "group":
                    found, before = self._part(element, group), path[group]
                    if before is not None:
                        path[group] = before | found
                    continue
                inner = name_of(element, _KIND)
                if inner in self._elements and inner not in self._done:
                    return inner
                self._include(group, inner, path)
        return None

    def _include(self, group: str, inner: str, path: dict[str, int | None]) -> None:
        """Add a subgroup; if it is unknown or invalid, the group becomes invalid, too."""
        found, before = self._done.get(inner), path[group]
        if found is None:
            path[group] = None
            why = "is ignored, too" if inner in self._elements else "does not exist"
            self._problems.report(f"{_KIND}: group '{group}': group '{inner}' {why}")
        elif before is not None:
            path[group] = before | found

    def _part(self, element: ET.Element, group: str) -> int:
        if element.tag == "link":
            return self._bit[self._link(element, "name")]
        if element.tag == "joint":
            joint = name_of(element, _KIND)
            if joint in self._child:
                return self._bit[self._child[joint]]
            # A group may contain a virtual joint of the SRDF; most of these add no link of the URDF.
            if joint in self._virtual:
                return self._bit.get(self._virtual[joint], 0)
            raise RobotDescriptionError(f"{_KIND}: group '{group}': joint '{joint}' does not exist")
        if element.tag == "chain":
            return self._chain(self._link(element, "base_link"), self._link(element, "tip_link"), group)
        return 0

    def _chain(self, base: str, tip: str, group: str) -> int:
        """Return the links of a chain, as in MoveIt's robot model.

        If `base` is an ancestor of `tip`, these are the links from `tip` up to `base`, without `base`. Otherwise they
        are the links from both up to their nearest common ancestor, inclusive (a chain between two end effectors).
        """
        if base == tip:
            return 0
        from_tip, from_base = self._above[tip], self._above[base]
        if from_tip & self._bit[base]:
            return from_tip & ~from_base
        if self._problems.strict:
            raise RobotDescriptionError(
                f"{_KIND}: group '{group}': chain: '{base}' is not on the path from '{tip}' to the root"
            )
        return from_tip ^ from_base | self._common_ancestor(base, from_tip)

    def _common_ancestor(self, link: str, path: int) -> int:
        """Return the first link on the path from `link` to the root that is also on another path."""
        while not path & self._bit[link]:
            link = self._parent[link]
        return self._bit[link]

    def _paths_to_root(self) -> dict[str, int]:
        """Return for each link the links on the path to the root, both ends included."""
        parent = self._parent
        above: dict[str, int] = {}
        for link in self._links:
            path = []
            at: str | None = link
            while at is not None and at not in above:
                path.append(at)
                at = parent.get(at)
            found = 0 if at is None else above[at]
            for below in reversed(path):
                found |= self._bit[below]
                above[below] = found
        return above

    def _names_of(self, links: int) -> Iterator[str]:
        while links:
            lowest = links & -links
            yield self._links[lowest.bit_length() - 1]
            links ^= lowest

    def _link(self, element: ET.Element, attribute: str) -> str:
        link = name_of(element, _KIND, attribute)
        if link not in self._bit:
            raise RobotDescriptionError(f"{_KIND}: {describe(element)}: link '{link}' does not exist")
        return link


class _Pairs:
    """Reader of disabled and enabled pairs."""

    def __init__(self, links: set[str], problems: Problems) -> None:
        self._links, self._problems = links, problems
        self.disabled: dict[frozenset[str], str] = {}
        self.enabled: set[frozenset[str]] = set()
        self.by_default: set[str] = set()

    def read(self, document: ET.Element) -> None:
        """Read all pairs of a document."""
        for element in document.findall("disable_default_collisions"):
            with self._problems:
                link = name_of(element, _KIND, "link")
                if link in self._links:
                    self.by_default.add(link)
                else:
                    self._problems.warn(f"{_KIND}: {element.tag}: link '{link}' does not exist; it is ignored")
        for element in document.findall("enable_collisions"):
            with self._problems:
                found = self._pair(element)
                if found is not None:
                    self.enabled.add(found)
        for element in document.findall("disable_collisions"):
            with self._problems:
                found = self._pair(element)
                if found is not None:
                    self.disabled[found] = shorten(element.get("reason") or NO_REASON, MAXIMUM_REASON)

    def _pair(self, element: ET.Element) -> frozenset[str] | None:
        names = [name_of(element, _KIND, attribute) for attribute in ("link1", "link2")]
        strange = [name for name in names if name not in self._links]
        if strange:
            self._problems.warn(f"{_KIND}: {element.tag}: link '{strange[0]}' does not exist; the pair is ignored")
            return None
        return frozenset(names)
