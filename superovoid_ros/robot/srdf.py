"""SRDF in: groups of links, and the pairs that are never checked.

Read as MoveIt reads it: a group is the union of its links, its joints' child links, its chains (without the chain's
base link) and its subgroups.  ``disable_default_collisions`` and ``enable_collisions`` are understood too.  Pairs
that name unknown links are no error, because SRDFs outlive their URDFs: they are reported.

The cost is linear in the document: sets of links are bits of integers, one for each link in the order of the URDF.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lxml import etree

from superovoid_ros.robot.errors import RobotDescriptionError
from superovoid_ros.robot.urdf import Joint
from superovoid_ros.robot.xml import describe, listed, name_of, parse_document, short

_KIND = "SRDF"
MAXIMUM_GROUPS = 1_000
MAXIMUM_REASON = 255  # characters; a longer reason is cut
_MOST_WARNINGS = 100  # more of a kind are counted only


@dataclass(frozen=True)
class Semantics:
    """What an SRDF says.

    ``disabled`` maps an unordered pair of links to the reason given, ``enabled`` has those that ``enable_collisions``
    names and nothing disables. Pairs with one of ``disabled_by_default`` are disabled too, but for those enabled.
    ``fixed_frames`` maps the parent frames of fixed virtual joints to the links there.
    """

    groups: Mapping[str, tuple[str, ...]]
    disabled: Mapping[frozenset[str], str]
    warnings: tuple[str, ...]
    enabled: frozenset[frozenset[str]] = frozenset()
    fixed_frames: Mapping[str, str] = field(default_factory=dict)
    disabled_by_default: frozenset[str] = frozenset()


def read_srdf(xml: str, robot: str, links: Sequence[str], joints: Sequence[Joint]) -> Semantics:
    """Read an SRDF for the robot of this name, links and joints.

    Raises
    ------
    RobotDescriptionError
        If it is malformed, is for another robot, a group names what does not exist, or there are more than
        `MAXIMUM_GROUPS` groups.
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
    if len(elements) > MAXIMUM_GROUPS:
        raise RobotDescriptionError(f"{_KIND}: robot: {len(elements)} groups, expected at most {MAXIMUM_GROUPS}")
    virtual = document.findall("virtual_joint")
    groups = _Groups(elements, links, joints, {element.get("name") for element in virtual}).read()
    known = set(links)
    pairs = _Pairs(known)
    pairs.read(document)
    fixed = {
        joint.get("parent_frame"): joint.get("child_link")
        for joint in virtual
        if joint.get("type") == "fixed" and joint.get("parent_frame") and joint.get("child_link") in known
    }
    return Semantics(
        groups,
        pairs.disabled,
        tuple(pairs.warnings()),
        frozenset(pairs.enabled - pairs.disabled.keys()),
        fixed,
        frozenset(pairs.by_default),
    )


class _Groups:
    """Reads groups; a set of links is an integer with a bit for each."""

    def __init__(
        self,
        elements: Mapping[str, etree._Element],
        links: Sequence[str],
        joints: Sequence[Joint],
        virtual: set[str | None],
    ) -> None:
        self._elements, self._links, self._virtual = elements, links, virtual
        self._bit = {link: 1 << i for i, link in enumerate(links)}
        self._child = {joint.name: joint.child for joint in joints}
        self._above = self._ways(joints)
        self._done: dict[str, int] = {}

    def read(self) -> dict[str, tuple[str, ...]]:
        """Links of every group, in the order of the URDF."""
        for group in self._elements:
            self._read(group)
        return {group: tuple(self._named(self._done[group])) for group in self._elements}

    def _read(self, group: str) -> None:
        """Read a group and those in it, inner ones first; however deep they are, nothing calls itself."""
        if group in self._done:
            return
        path = {group: 0}  # groups that are being read, each within the one before, and the links found so far
        parts = [iter(self._elements[group])]
        while parts:
            current = next(reversed(path))
            inner = self._until_unread_group(current, parts[-1], path)
            if inner is None:
                found = path.pop(current)
                self._done[current] = found
                parts.pop()
                if path:
                    path[next(reversed(path))] |= found
                continue
            if inner in path:
                way = listed([*path, inner], " -> ")
                raise RobotDescriptionError(f"{_KIND}: group '{inner}': contains itself: {way}")
            path[inner] = 0
            parts.append(iter(self._elements[inner]))

    def _until_unread_group(self, group: str, parts: Iterator[etree._Element], path: dict[str, int]) -> str | None:
        """Add parts of a group to what was found of it, up to a subgroup that has not been read; None: to the end."""
        for element in parts:
            if element.tag != "group":
                path[group] |= self._part(element, group)
                continue
            inner = name_of(element, _KIND)
            if inner not in self._elements:
                raise RobotDescriptionError(f"{_KIND}: group '{group}': group '{inner}' does not exist")
            if inner not in self._done:
                return inner
            path[group] |= self._done[inner]
        return None

    def _part(self, element: etree._Element, group: str) -> int:
        if element.tag == "link":
            return self._bit[self._link(element, "name")]
        if element.tag == "joint":
            joint = name_of(element, _KIND)
            if joint in self._child:
                return self._bit[self._child[joint]]
            # A virtual joint of the SRDF may be named in a group; it moves no link of the URDF.
            if joint in self._virtual:
                return 0
            raise RobotDescriptionError(f"{_KIND}: group '{group}': joint '{joint}' does not exist")
        if element.tag == "chain":
            return self._chain(self._link(element, "base_link"), self._link(element, "tip_link"), group)
        return 0

    def _chain(self, base: str, tip: str, group: str) -> int:
        if base == tip:
            return 0
        if not self._above[tip] & self._bit[base]:
            raise RobotDescriptionError(
                f"{_KIND}: group '{group}': chain: '{base}' is not on the way from '{tip}' to the root"
            )
        return self._above[tip] & ~self._above[base]

    def _ways(self, joints: Sequence[Joint]) -> dict[str, int]:
        """The links from each one to the root, both included."""
        parent = {joint.child: joint.parent for joint in joints}
        above: dict[str, int] = {}
        for link in self._links:
            path = []
            while link is not None and link not in above:
                path.append(link)
                link = parent.get(link)
            found = 0 if link is None else above[link]
            for below in reversed(path):
                found |= self._bit[below]
                above[below] = found
        return above

    def _named(self, links: int) -> Iterator[str]:
        while links:
            lowest = links & -links
            yield self._links[lowest.bit_length() - 1]
            links ^= lowest

    def _link(self, element: etree._Element, attribute: str) -> str:
        link = name_of(element, _KIND, attribute)
        if link not in self._bit:
            raise RobotDescriptionError(f"{_KIND}: {describe(element)}: link '{link}' does not exist")
        return link


class _Pairs:
    """Reads which pairs are disabled and enabled."""

    def __init__(self, links: set[str]) -> None:
        self._links = links
        self.disabled: dict[frozenset[str], str] = {}
        self.enabled: set[frozenset[str]] = set()
        self.by_default: set[str] = set()
        self._warnings: list[str] = []
        self._unknown = 0

    def read(self, document: etree._Element) -> None:
        """Read all of a document."""
        for element in document.findall("disable_default_collisions"):
            link = name_of(element, _KIND, "link")
            if link in self._links:
                self.by_default.add(link)
            else:
                self._warn(f"{_KIND}: {element.tag}: link '{link}' does not exist; it is ignored")
        for element in document.findall("enable_collisions"):
            found = self._pair(element)
            if found is not None:
                self.enabled.add(found)
        for element in document.findall("disable_collisions"):
            found = self._pair(element)
            if found is not None:
                self.disabled[found] = short(element.get("reason") or "no reason given", MAXIMUM_REASON)

    def warnings(self) -> list[str]:
        """What was ignored."""
        more = self._unknown - len(self._warnings)
        return self._warnings + ([f"{_KIND}: {more} more elements name links that do not exist"] if more else [])

    def _pair(self, element: etree._Element) -> frozenset[str] | None:
        names = [name_of(element, _KIND, attribute) for attribute in ("link1", "link2")]
        strange = [name for name in names if name not in self._links]
        if strange:
            self._warn(f"{_KIND}: {element.tag}: link '{strange[0]}' does not exist; the pair is ignored")
            return None
        return frozenset(names)

    def _warn(self, words: str) -> None:
        self._unknown += 1
        if len(self._warnings) < _MOST_WARNINGS:
            self._warnings.append(words)
