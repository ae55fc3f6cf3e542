"""SRDF in: groups of links, and the pairs that are never checked.

Read as MoveIt reads it: a group is the union of its links, its joints' child links, its chains (without the chain's
base link) and its subgroups.  ``disable_default_collisions`` and ``enable_collisions`` are understood too.  Pairs
that name unknown links are no error, because SRDFs outlive their URDFs: they are reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lxml import etree

from superovoid_ros.robot.errors import RobotDescriptionError
from superovoid_ros.robot.urdf import Joint
from superovoid_ros.robot.xml import describe, name_of, parse_document

_KIND = "SRDF"


@dataclass(frozen=True)
class Semantics:
    """What an SRDF says.

    ``disabled`` maps an unordered pair of links to the reason given, ``enabled`` has those that ``enable_collisions``
    names and nothing disables. ``fixed_frames`` maps the parent frames of fixed virtual joints to the links there.
    """

    groups: Mapping[str, tuple[str, ...]]
    disabled: Mapping[frozenset[str], str]
    warnings: tuple[str, ...]
    enabled: frozenset[frozenset[str]] = frozenset()
    fixed_frames: Mapping[str, str] = field(default_factory=dict)


def read_srdf(xml: str, robot: str, links: Sequence[str], joints: Sequence[Joint]) -> Semantics:
    """Read an SRDF for the robot of this name, links and joints.

    Raises
    ------
    RobotDescriptionError
        If it is malformed, is for another robot, or a group names what does not exist.
    """
    document = parse_document(xml, _KIND, "robot")
    name = name_of(document, _KIND)
    if name != robot:
        raise RobotDescriptionError(f"{_KIND}: robot name = '{name}': the URDF's robot is '{robot}'")
    elements: dict[str, etree._Element] = {}
    for element in document.findall("group"):
        group = name_of(element, _KIND)
        if group in elements:
            raise RobotDescriptionError(f"{_KIND}: group '{group}': the name occurs twice")
        elements[group] = element
    reader = _Groups(elements, links, joints)
    groups = {group: reader.links_of(group) for group in elements}
    disabled, enabled, warnings = _disabled(document, links)
    fixed = {
        joint.get("parent_frame"): joint.get("child_link")
        for joint in document.findall("virtual_joint")
        if joint.get("type") == "fixed" and joint.get("parent_frame") and joint.get("child_link") in links
    }
    return Semantics(groups, disabled, tuple(warnings), enabled, fixed)


class _Groups:
    def __init__(self, elements: Mapping[str, etree._Element], links: Sequence[str], joints: Sequence[Joint]) -> None:
        self._elements, self._links = elements, links
        self._known = set(links)
        self._child = {joint.name: joint.child for joint in joints}
        self._parent = {joint.child: joint.parent for joint in joints}
        self._done: dict[str, tuple[str, ...]] = {}

    def links_of(self, group: str, around: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Links of a group in the order of the URDF; ``around`` are the groups it is being read for."""
        if group in around:
            raise RobotDescriptionError(f"{_KIND}: group '{group}': contains itself: {' -> '.join([*around, group])}")
        if group not in self._done:
            found: set[str] = set()
            for element in self._elements[group]:
                found |= self._part(element, (*around, group))
            self._done[group] = tuple(link for link in self._links if link in found)
        return self._done[group]

    def _part(self, element: etree._Element, around: tuple[str, ...]) -> set[str]:
        if element.tag == "link":
            return {self._link(element, "name")}
        if element.tag == "joint":
            joint = name_of(element, _KIND)
            # A virtual joint of the SRDF may be named in a group; it moves no link of the URDF.
            return {self._child[joint]} if joint in self._child else self._virtual(joint, around[-1])
        if element.tag == "chain":
            return self._chain(self._link(element, "base_link"), self._link(element, "tip_link"), around[-1])
        if element.tag == "group":
            name = name_of(element, _KIND)
            if name not in self._elements:
                raise RobotDescriptionError(f"{_KIND}: group '{around[-1]}': group '{name}' does not exist")
            return set(self.links_of(name, around))
        return set()

    def _virtual(self, joint: str, group: str) -> set[str]:
        document = self._elements[group].getparent()
        if any(element.get("name") == joint for element in document.findall("virtual_joint")):
            return set()
        raise RobotDescriptionError(f"{_KIND}: group '{group}': joint '{joint}' does not exist")

    def _chain(self, base: str, tip: str, group: str) -> set[str]:
        found, link = set(), tip
        while link != base:
            found.add(link)
            if link not in self._parent:
                raise RobotDescriptionError(
                    f"{_KIND}: group '{group}': chain: '{base}' is not on the way from '{tip}' to the root"
                )
            link = self._parent[link]
        return found

    def _link(self, element: etree._Element, attribute: str) -> str:
        link = name_of(element, _KIND, attribute)
        if link not in self._known:
            raise RobotDescriptionError(f"{_KIND}: {describe(element)}: link '{link}' does not exist")
        return link


def _disabled(
    document: etree._Element, links: Sequence[str]
) -> tuple[dict[frozenset[str], str], frozenset[frozenset[str]], list[str]]:
    disabled: dict[frozenset[str], str] = {}
    enabled: set[frozenset[str]] = set()
    warnings: list[str] = []
    known = set(links)

    def pair(element: etree._Element) -> frozenset[str] | None:
        names = [name_of(element, _KIND, attribute) for attribute in ("link1", "link2")]
        strange = [name for name in names if name not in known]
        if strange:
            warnings.append(f"{_KIND}: {element.tag}: link '{strange[0]}' does not exist; the pair is ignored")
            return None
        return frozenset(names)

    for element in document.findall("disable_default_collisions"):
        link = name_of(element, _KIND, "link")
        if link not in known:
            warnings.append(f"{_KIND}: {element.tag}: link '{link}' does not exist; it is ignored")
            continue
        disabled |= {frozenset((link, other)): "default" for other in links if other != link}
    for element in document.findall("enable_collisions"):
        found = pair(element)
        if found is not None:
            disabled.pop(found, None)
            enabled.add(found)
    for element in document.findall("disable_collisions"):
        found = pair(element)
        if found is not None:
            disabled[found] = element.get("reason") or "no reason given"
    return disabled, frozenset(enabled - disabled.keys()), warnings
