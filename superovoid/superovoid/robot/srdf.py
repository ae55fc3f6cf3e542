# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""SRDF in: groups and their states, the pairs that are never checked, and how the robot stands in the world.

Read as MoveIt reads it (srdfdom and the robot model on it): a group is the union of its links, its joints' child links,
its chains and its subgroups; ``disable_default_collisions`` and ``enable_collisions`` are understood too. SRDFs outlive
their URDFs. So what names something that does not exist is left out with a warning, as srdfdom does it, and the rest
counts; a strict reading refuses the document instead.

The cost is linear in the document: sets of links are bits of integers, one for each link in the order of the URDF.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from superovoid.robot.errors import RobotDescriptionError
from superovoid.robot.urdf import Joint
from superovoid.robot.xml import Doubts, describe, listed, name_of, parse_document, short

_KIND = "SRDF"
MAXIMUM_GROUPS = 1_000
MAXIMUM_REASON = 255  # characters; a longer reason is cut
NO_REASON = "no reason given"
"""Reason of a disabled pair that has none."""
VIRTUAL_JOINT_TYPES = ("fixed", "planar", "floating")


class VirtualJoint(NamedTuple):
    """How the robot's root link moves in the world: the joint between a frame of the world and that link."""

    name: str
    kind: str
    """One of `VIRTUAL_JOINT_TYPES`."""
    parent_frame: str
    child_link: str


class EndEffector(NamedTuple):
    """A group that sits at the end of another."""

    name: str
    group: str
    parent_link: str
    """The link that carries it."""
    parent_group: str
    """Of that link; empty where the document names none."""


@dataclass(frozen=True)
class Semantics:
    """What an SRDF says.

    ``disabled`` maps an unordered pair of links to the reason given, ``enabled`` has those that ``enable_collisions``
    names and nothing disables. Pairs with one of ``disabled_by_default`` are disabled too, but for those enabled.
    ``fixed_frames`` maps the parent frames of fixed virtual joints to the links there. ``root_joint`` is the virtual
    joint of the root link, if there is one. ``states`` are the named states of groups: group -> state -> joint ->
    position. ``passive`` are joints that no sensor and no motor knows.
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
    """Read an SRDF for the robot of this name, links and joints.

    Parameters
    ----------
    xml : str
        The document.
    robot : str
        The URDF's name of the robot.
    links : sequence of str
        Those of the URDF, the root first or anywhere.
    joints : sequence of Joint
        Those of the URDF.
    strict : bool
        Whether another robot's name, or a group that names what does not exist, is an error. Else it is a warning:
        what it names is left out, and so is a group one of whose subgroups is not there or contains it.

    Raises
    ------
    RobotDescriptionError
        If it is malformed, or there are more than `MAXIMUM_GROUPS` groups; if `strict`, whatever does not fit but
        pairs of links that do not exist, which are warnings always.
    """
    document = parse_document(xml, _KIND, "robot")
    doubts = Doubts(strict)
    name = document.get("name")
    if name != robot:
        doubts.note(f"{_KIND}: robot name = '{short(name or '')}': the URDF's robot is '{robot}'")
    elements: dict[str, ET.Element] = {}
    for element in document.findall("group"):
        with doubts:
            group = name_of(element, _KIND)
            if group in elements:
                raise RobotDescriptionError(f"{_KIND}: group '{group}': the name occurs twice")
            elements[group] = element
    if len(elements) > MAXIMUM_GROUPS:
        raise RobotDescriptionError(f"{_KIND}: robot: {len(elements)} groups, expected at most {MAXIMUM_GROUPS}")
    virtual = _virtual_joints(document, set(links), doubts)
    moved = {joint.child for joint in joints}
    root_joint = next((joint for joint in virtual if joint.child_link not in moved), None)
    moving = {joint.name: "" for joint in virtual}
    if with_root_joint and root_joint is not None and root_joint.kind != "fixed":
        moving[root_joint.name] = root_joint.child_link
    groups = _Groups(elements, links, joints, moving, doubts).read()
    pairs = _Pairs(set(links), doubts)
    pairs.read(document)
    names = {joint.name for joint in joints}
    states = _states(document, groups, names, {joint.name for joint in virtual}, doubts)
    effectors = _end_effectors(document, groups, set(links), doubts)
    passive = _passive(document, names, doubts)
    return Semantics(
        groups,
        pairs.disabled,
        doubts.words(_KIND),
        frozenset(pairs.enabled - pairs.disabled.keys()),
        {joint.parent_frame: joint.child_link for joint in virtual if joint.kind == "fixed"},
        frozenset(pairs.by_default),
        root_joint,
        states,
        effectors,
        passive,
    )


def _states(
    document: ET.Element, groups: Mapping[str, Sequence[str]], joints: set[str], virtual: set[str], doubts: Doubts
) -> dict[str, dict[str, dict[str, float]]]:
    """Named states of groups; a joint that is not there or has no single number is left out of its state."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for element in document.findall("group_state"):
        name, group = element.get("name"), element.get("group")
        if not name or group is None or group not in groups:
            doubts.warn(
                f"{_KIND}: {describe(element)}: no name, or group '{short(group or '')}' does not exist; ignored"
            )
            continue
        positions = found.setdefault(group, {}).setdefault(name, {})
        for joint in element.findall("joint"):
            joint_name, values = joint.get("name", ""), (joint.get("value") or "").split()
            if joint_name in virtual:
                continue  # where the robot stands is not kept in states here
            if joint_name not in joints:
                doubts.warn(
                    f"{_KIND}: group_state '{short(name)}': joint '{short(joint_name)}' does not exist; ignored"
                )
                continue
            try:
                (position,) = map(float, values)
            except ValueError:
                position = math.nan
            if math.isfinite(position):
                positions[joint_name] = position
            else:
                doubts.warn(
                    f"{_KIND}: group_state '{short(name)}': joint '{joint_name}': value = "
                    f"'{short(joint.get('value') or '')}': expected one number; ignored"
                )
    return found


def _end_effectors(
    document: ET.Element, groups: Mapping[str, Sequence[str]], links: set[str], doubts: Doubts
) -> tuple[EndEffector, ...]:
    found = []
    for element in document.findall("end_effector"):
        name, group, link = (element.get(key) or "" for key in ("name", "group", "parent_link"))
        if not name or group not in groups or link not in links:
            doubts.warn(
                f"{_KIND}: {describe(element)}: no name, or group '{short(group)}' or parent_link '{short(link)}' "
                "does not exist; ignored"
            )
            continue
        found.append(EndEffector(name, group, link, element.get("parent_group") or ""))
    return tuple(found)


def _passive(document: ET.Element, joints: set[str], doubts: Doubts) -> frozenset[str]:
    found = set()
    for element in document.findall("passive_joint"):
        name = element.get("name") or ""
        if name in joints:
            found.add(name)
        else:
            doubts.warn(f"{_KIND}: {describe(element)}: joint '{short(name)}' does not exist; ignored")
    return frozenset(found)


def _virtual_joints(document: ET.Element, links: set[str], doubts: Doubts) -> list[VirtualJoint]:
    found = []
    for element in document.findall("virtual_joint"):
        # As srdfdom: without spaces around, the type in small letters, and an unknown one taken for fixed.
        given = (element.get(key, "").strip() for key in ("name", "type", "parent_frame", "child_link"))
        name, kind, frame, link = given
        if not (name and kind and frame):
            doubts.warn(f"{_KIND}: {describe(element)}: has no name, type or parent_frame; it is ignored")
            continue
        if link not in links:
            doubts.warn(f"{_KIND}: {describe(element)}: link '{short(link)}' does not exist; it is ignored")
            continue
        if kind.lower() not in VIRTUAL_JOINT_TYPES:
            kinds = ", ".join(VIRTUAL_JOINT_TYPES)
            doubts.warn(
                f"{_KIND}: {describe(element)}: type = '{short(kind)}': must be one of {kinds}; taken for fixed"
            )
            kind = "fixed"
        found.append(VirtualJoint(name, kind.lower(), frame, link))
    return found


class _Groups:
    """Reads groups; a set of links is an integer with a bit for each. Virtual joints have the link that they move."""

    def __init__(
        self,
        elements: Mapping[str, ET.Element],
        links: Sequence[str],
        joints: Sequence[Joint],
        virtual: Mapping[str, str],
        doubts: Doubts,
    ) -> None:
        self._elements, self._links, self._virtual, self._doubts = elements, links, virtual, doubts
        self._bit = {link: 1 << i for i, link in enumerate(links)}
        self._child = {joint.name: joint.child for joint in joints}
        self._parent = {joint.child: joint.parent for joint in joints}
        self._above = self._ways()
        self._done: dict[str, int | None] = {}  # None: it has no meaning

    def read(self) -> dict[str, tuple[str, ...]]:
        """Links of every group, in the order of the URDF; without those that have no meaning."""
        for group in self._elements:
            self._read(group)
        done = {group: self._done[group] for group in self._elements}
        return {group: tuple(self._named(links)) for group, links in done.items() if links is not None}

    def _read(self, group: str) -> None:
        """Read a group and those in it, inner ones first; however deep they are, nothing calls itself."""
        if group in self._done:
            return
        path: dict[str, int | None] = {group: 0}  # groups being read, each within the one before: links found so far
        parts = [iter(self._elements[group])]
        while parts:
            current = next(reversed(path))
            inner = self._until_unread_group(current, parts[-1], path)
            if inner is None:
                found = path.pop(current)
                self._done[current] = found
                parts.pop()
                if path:
                    self._include(next(reversed(path)), current, path)
            elif inner in path:
                way = listed([*path, inner], " -> ")
                self._doubts.note(f"{_KIND}: group '{inner}': contains itself: {way}")
                # Of the ring nothing is left, as of a group whose subgroup is not there.
                path[current] = None
            else:
                path[inner] = 0
                parts.append(iter(self._elements[inner]))

    def _until_unread_group(self, group: str, parts: Iterator[ET.Element], path: dict[str, int | None]) -> str | None:
        """Add parts of a group to what was found of it, up to a subgroup that has not been read; None: to the end."""
        for element in parts:
            with self._doubts:
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
        """Add a subgroup that was read; one that is not there takes the group around it along."""
        found, before = self._done.get(inner), path[group]
        if found is None:
            path[group] = None
            why = "is left out, too" if inner in self._elements else "does not exist"
            self._doubts.note(f"{_KIND}: group '{group}': group '{inner}' {why}")
        elif before is not None:
            path[group] = before | found

    def _part(self, element: ET.Element, group: str) -> int:
        if element.tag == "link":
            return self._bit[self._link(element, "name")]
        if element.tag == "joint":
            joint = name_of(element, _KIND)
            if joint in self._child:
                return self._bit[self._child[joint]]
            # A virtual joint of the SRDF may be named in a group; most move no link of the URDF.
            if joint in self._virtual:
                return self._bit.get(self._virtual[joint], 0)
            raise RobotDescriptionError(f"{_KIND}: group '{group}': joint '{joint}' does not exist")
        if element.tag == "chain":
            return self._chain(self._link(element, "base_link"), self._link(element, "tip_link"), group)
        return 0

    def _chain(self, base: str, tip: str, group: str) -> int:
        """The links between two: those that joints on the way move.

        From `tip` up to `base`, which is not among them. Where `base` is not above `tip` the way goes up from both to
        the link where they meet, which is among them, as are both ends: so MoveIt's robot model has it (a chain from
        one end effector to another).
        """
        if base == tip:
            return 0
        from_tip, from_base = self._above[tip], self._above[base]
        if from_tip & self._bit[base]:
            return from_tip & ~from_base
        if self._doubts.strict:
            raise RobotDescriptionError(
                f"{_KIND}: group '{group}': chain: '{base}' is not on the way from '{tip}' to the root"
            )
        return from_tip ^ from_base | self._meeting(base, from_tip)

    def _meeting(self, link: str, way: int) -> int:
        """The first link from one up to the root that is on another way to it."""
        while not way & self._bit[link]:
            link = self._parent[link]
        return self._bit[link]

    def _ways(self) -> dict[str, int]:
        """The links from each one to the root, both included."""
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

    def _named(self, links: int) -> Iterator[str]:
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
    """Reads which pairs are disabled and enabled."""

    def __init__(self, links: set[str], doubts: Doubts) -> None:
        self._links, self._doubts = links, doubts
        self.disabled: dict[frozenset[str], str] = {}
        self.enabled: set[frozenset[str]] = set()
        self.by_default: set[str] = set()

    def read(self, document: ET.Element) -> None:
        """Read all of a document."""
        for element in document.findall("disable_default_collisions"):
            with self._doubts:
                link = name_of(element, _KIND, "link")
                if link in self._links:
                    self.by_default.add(link)
                else:
                    self._doubts.warn(f"{_KIND}: {element.tag}: link '{link}' does not exist; it is ignored")
        for element in document.findall("enable_collisions"):
            with self._doubts:
                found = self._pair(element)
                if found is not None:
                    self.enabled.add(found)
        for element in document.findall("disable_collisions"):
            with self._doubts:
                found = self._pair(element)
                if found is not None:
                    self.disabled[found] = short(element.get("reason") or NO_REASON, MAXIMUM_REASON)

    def _pair(self, element: ET.Element) -> frozenset[str] | None:
        names = [name_of(element, _KIND, attribute) for attribute in ("link1", "link2")]
        strange = [name for name in names if name not in self._links]
        if strange:
            self._doubts.warn(f"{_KIND}: {element.tag}: link '{strange[0]}' does not exist; the pair is ignored")
            return None
        return frozenset(names)
