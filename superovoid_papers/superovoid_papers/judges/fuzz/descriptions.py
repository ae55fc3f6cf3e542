# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""URDF and SRDF: robots of every element, mutated as bytes and as XML, and documents with very many of one element."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import trimesh
from hypothesis import strategies as st

from superovoid.robot import Robot, RobotDescriptionError
from superovoid.robot.errors import LimitError
from superovoid.robot.planning_scene import PlanningScene
from superovoid_papers.judges.fuzz import Target
from superovoid_papers.judges.fuzz.mutations import mutated, repeated, restructured

_LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
_ARM = f"""<robot name="arm">
<link name="base"><collision><origin xyz="0 0 1" rpy="0 0 1"/>
<geometry><box size="1 1 1"/></geometry></collision></link>
<link name="a"><contact_geometry representation="superovoid" mixed="true"><origin xyz="0 0 .1"/>
<superovoid size=".1 .1 .2" epsilon=".5 .6" taper=".1 .1"/></contact_geometry>
<contact_geometry representation="superellipsoid"><superellipsoid size=".1 .1 .2" epsilon=".5 .6"/></contact_geometry>
</link>
<link name="b"><collision><geometry><capsule radius=".1" length=".2"/></geometry></collision>
<collision><geometry><cylinder radius=".1" length=".2"/></geometry></collision>
<visual><geometry><mesh filename="package://p/box.stl"/></geometry></visual></link>
<link name="c"><collision>
<geometry><mesh filename="package://p/box.stl" scale=".1 .1 .1"/></geometry></collision></link>
<link name="d"><visual><geometry><ellipsoid size=".1 .1 .1"/></geometry></visual></link>
<link name="e"><collision><geometry><sphere radius=".1"/></geometry></collision></link>
<joint name="base_a" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>{_LIMIT}</joint>
<joint name="a_b" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0 0 .3" rpy="1 2 3"/>{_LIMIT}</joint>
<joint name="b_c" type="continuous"><parent link="b"/><child link="c"/><mimic joint="base_a" multiplier="2" offset="1"/>
</joint><joint name="b_d" type="fixed"><parent link="b"/><child link="d"/></joint>
<joint name="base_e" type="floating"><parent link="base"/><child link="e"/></joint>
</robot>"""
_SEMANTICS = """<robot name="arm">
<group name="arm"><joint name="base_a"/><link name="b"/></group>
<group name="all"><group name="arm"/><link name="e"/></group>
<group name="chain"><chain base_link="base" tip_link="c"/></group><group name="world"><joint name="virtual"/></group>
<virtual_joint name="virtual" type="fixed" parent_frame="world" child_link="base"/>
<disable_default_collisions link="d"/><enable_collisions link1="d" link2="base"/>
<disable_collisions link1="base" link2="b" reason="Never"/><disable_collisions link1="a" link2="x" reason="Never"/>
</robot>"""
_DOCUMENT_TYPE = b'<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'


def _read(data: bytes, srdf: bytes | None, folder: Path) -> None:
    """A robot with its scene, in every representation of meshes, as a node makes it."""
    texts = [None if one is None else one.decode("utf-8", "surrogateescape") for one in (data, srdf)]
    for meshes in ("hull", "triangles", "shells"):
        robot = Robot.from_urdf(texts[0], srdf=texts[1], package_directories={"p": folder}, meshes=meshes)
        PlanningScene(robot)


@contextmanager
def _package() -> Iterator[Path]:
    """A package with one mesh."""
    with tempfile.TemporaryDirectory() as folder:
        trimesh.creation.box((1.0, 1.0, 1.0)).export(Path(folder) / "box.stl")
        yield Path(folder)


def _encoded(documents: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Documents, some of them with a document type, in another encoding, or both."""
    before = st.sampled_from([b""] * 20 + [_DOCUMENT_TYPE, b"\xef\xbb\xbf", b'<?xml version="1.0" encoding="utf-16"?>'])
    return st.builds(lambda start, data: start + data, before, documents)


def _each(numbers: Iterable[int], template: str) -> str:
    """A text for each of the numbers, in the place of ``#``."""
    return "".join(template.replace("#", str(number)) for number in numbers)


def _links(count: int, content: str = "") -> str:
    return "".join(f'<link name="l{i}">{content}</link>' for i in range(count))


def _joints(parents: list[int], kind: str = "fixed", content: str = "") -> str:
    return "".join(
        f'<joint name="j{i}" type="{kind}"><parent link="l{parent}"/><child link="l{i}"/>{content}</joint>'
        for i, parent in enumerate(parents, 1)
    )


_SPHERE = '<collision><geometry><sphere radius=".1"/></geometry></collision>'
_MANY_OF_URDF = {
    "links in a chain": lambda n: f'<robot name="r">{_links(n)}{_joints(list(range(n - 1)))}</robot>',
    "links on one": lambda n: f'<robot name="r">{_links(n, _SPHERE)}{_joints([0] * (n - 1))}</robot>',
    "links that float": lambda n: f'<robot name="r">{_links(n, _SPHERE)}{_joints([0] * (n - 1), "floating")}</robot>',
    "turning joints": lambda n: f'<robot name="r">{_links(n)}{_joints(list(range(n - 1)), "continuous")}</robot>',
    "followers of followers": lambda n: (
        f'<robot name="r">{_links(n + 1)}'
        + "".join(
            f'<joint name="j{i}" type="continuous"><parent link="l0"/><child link="l{i}"/>'
            + (f'<mimic joint="j{i + 1}"/>' if i < n else "")
            + "</joint>"
            for i in range(1, n + 1)
        )
        + "</robot>"
    ),
    "a ring of joints": lambda n: (
        f'<robot name="r"><link name="root"/>{_links(n)}'
        + _joints(list(range(n - 1)))
        + f'<joint name="last" type="fixed"><parent link="l{n - 1}"/><child link="l0"/></joint></robot>'
    ),
    "bodies of a link": lambda n: f'<robot name="r">{_links(2, _SPHERE * n)}{_joints([0], "floating")}</robot>',
    "contact geometry": lambda n: (
        '<robot name="r"><link name="a">'
        + '<contact_geometry><sphere radius="1"/></contact_geometry>' * n
        + "</link></robot>"
    ),
    "meshes": lambda n: (
        '<robot name="r"><link name="a">'
        + '<collision><geometry><mesh filename="package://p/box.stl"/></geometry></collision>' * n
        + "</link></robot>"
    ),
    "meshes of other sizes": lambda n: (
        '<robot name="r"><link name="a">'
        + "".join(
            f'<collision><geometry><mesh filename="package://p/box.stl" scale="1 1 {i + 1}"/></geometry></collision>'
            for i in range(min(n, 3000))
        )
        + "</link></robot>"
    ),
    "shapes without a name": lambda n: (
        '<robot name="r"><link name="a"><collision><geometry>'
        + "<torus/>" * n
        + "</geometry></collision></link></robot>"
    ),
    "origins": lambda n: '<robot name="r"><link name="a"><collision>' + "<origin/>" * n + "</collision></link></robot>",
    "materials": lambda n: (
        '<robot name="r"><link name="a"/>' + '<material name="m"><color/></material>' * n + "</robot>"
    ),
    "elements within elements": lambda n: f'<robot name="r"><link name="a">{"<a>" * n}{"</a>" * n}</link></robot>',
    "numbers": lambda n: (
        f'<robot name="r"><link name="a"><collision><origin xyz="{"1 " * n}"/></collision></link></robot>'
    ),
    "digits": lambda n: (
        '<robot name="r"><link name="a"><collision><geometry>'
        f'<sphere radius="{"1" * n}"/></geometry></collision></link></robot>'
    ),
    "attributes": lambda n: '<robot name="r" ' + " ".join(f'a{i}=""' for i in range(n)) + '><link name="a"/></robot>',
    "names that are long": lambda n: f'<robot name="{"r" * n}"><link name="{"l" * n}"/></robot>',
}
_MANY_OF_SRDF = {
    "groups in groups": lambda n: (
        '<group name="g0"><link name="a"/></group>'
        + "".join(f'<group name="g{i}"><group name="g{i - 1}"/></group>' for i in range(1, n))
    ),
    "groups in groups, outer ones first": lambda n: (
        "".join(f'<group name="g{i}"><group name="g{i + 1}"/></group>' for i in range(n))
        + f'<group name="g{n}"><link name="a"/></group>'
    ),
    "groups of all groups": lambda n: "".join(
        f'<group name="g{i}">' + _each(range(i), '<group name="g#"/>') + "</group>" for i in range(min(n, 600))
    ),
    "a ring of groups": lambda n: "".join(
        f'<group name="g{i}"><group name="g{(i + 1) % n}"/></group>' for i in range(n)
    ),
    "groups": lambda n: "".join(f'<group name="g{i}"><link name="a"/></group>' for i in range(n)),
    "links of a group": lambda n: '<group name="g">' + '<link name="a"/>' * n + "</group>",
    "chains of a group": lambda n: '<group name="g">' + '<chain base_link="base" tip_link="c"/>' * n + "</group>",
    "virtual joints": lambda n: "".join(
        f'<virtual_joint name="v{i}" type="fixed" parent_frame="w{i}" child_link="base"/>' for i in range(n)
    ),
    "virtual joints in a group": lambda n: "".join(
        f'<virtual_joint name="v{i}" type="fixed" parent_frame="w" child_link="base"/>' for i in range(n)
    )
    + '<group name="g">' + _each(range(n), '<joint name="v#"/>') + "</group>",
    "disabled pairs": lambda n: '<disable_collisions link1="a" link2="b"/>' * n,
    "disabled pairs of nobody": lambda n: "".join(f'<disable_collisions link1="x{i}" link2="y"/>' for i in range(n)),
    "links disabled": lambda n: '<disable_default_collisions link="a"/>' * n,
    "enabled pairs": lambda n: '<enable_collisions link1="a" link2="b"/>' * n,
    "states": lambda n: '<group_state name="s" group="arm"><joint name="base_a" value="0"/></group_state>' * n,
    "elements within elements": lambda n: "<group>" * n + "</group>" * n,
}  # fmt: skip


def _amounts(table: dict[str, Callable[[int], str]], around: str = "{}") -> st.SearchStrategy[bytes]:
    def document(what: str, count: int) -> bytes:
        return around.format(table[what](count)).encode()

    return st.builds(document, st.sampled_from(sorted(table)), repeated(2))


def urdf() -> Target:
    """URDFs: whatever is wrong is a `RobotDescriptionError`, what is too much for a scene a `LimitError`."""
    corpus = [_ARM.encode()]
    documents = mutated(
        corpus, [b"<link", b"</link>", b'"', b"<!--", b"<![CDATA[", b"&#0;", b"&a;", b"\x00", b"\xff\xfe"]
    )
    documents |= restructured(corpus) | _amounts(_MANY_OF_URDF)
    return Target(
        _encoded(documents),
        lambda data, folder: _read(data, None, folder),
        (RobotDescriptionError, LimitError),
        around=_package,
        sample=corpus[0],
    )


def srdf() -> Target:
    """SRDFs of one robot: whatever is wrong is a `RobotDescriptionError`."""
    corpus = [_SEMANTICS.encode()]
    documents = mutated(corpus, [b"<group", b"</group>", b'"', b"<!--", b"<![CDATA[", b"&a;", b"\x00"])
    documents |= restructured(corpus) | _amounts(_MANY_OF_SRDF, '<robot name="arm">{}</robot>')
    return Target(
        _encoded(documents),
        lambda data, folder: _read(_ARM.encode(), data, folder),
        (RobotDescriptionError, LimitError),
        around=_package,
        sample=corpus[0],
    )
