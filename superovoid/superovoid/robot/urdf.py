# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""URDF reader: a checked description with links, joints as matrices, and contact geometry as shapes.

The argument `meshes` decides which mesh files are opened for the contact geometry, and which bodies they become.  No
other file that a URDF refers to is opened.

The contact geometry of a link comes from the first of these sources that the link has:

1. extension elements, which other URDF readers ignore:

       <contact_geometry representation="superovoid" mixed="true">
         <origin xyz="0.011 0 0" rpy="0 1.5708 0"/>
         <superovoid size="0.007 0.007 0.013" epsilon="0.9 0.6" taper="0.1 0.1"/>
       </contact_geometry>

   with a superovoid (size = semi-axes in metres; epsilon = section exponent, profile exponent, the opposite of the
   usual order of superquadrics; taper = Tx Ty), a superellipsoid (size, epsilon), an ellipsoid (size), a sphere
   (radius), a box (size = full lengths), a cylinder or a capsule (radius, length), or a torus (major_radius,
   minor_radius).  ``representation`` is superovoid or superellipsoid; without it the element belongs to every
   representation.  ``mixed="true"`` adds it to the mixed representation;
2. ``<geometry>`` of the collision elements, placed by the origin of the element: the standard shapes box, cylinder,
   sphere, capsule and mesh, and the shapes above (in the form of Gonçalves et al. 2017);
3. superovoids, superellipsoids and ellipsoids of the visual elements, if the link has no collision element.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from superovoid.robot.errors import RobotDescriptionError
from superovoid.robot.mesh_files import MeshReader, split_address
from superovoid.robot.xml import Problems, describe, join_names, name_of, numbers, parse_document
from superovoid.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere, Superellipsoid, Superovoid, Torus
from superovoid.values.checks import is_refusal

REPRESENTATIONS = ("mixed", "superovoids", "superellipsoids")

_KIND = "URDF"
_MAXIMUM_LINKS = 1_000
_LENGTH, _ANGLE, _FACTOR = 1e4, 1e4, 1e4  # largest values: 10 km, 1,600 turns, gear ratio 1 to 10,000
_SHAPES = ("superovoid", "superellipsoid", "ellipsoid", "sphere")
_OF_VISUALS = _SHAPES[:3]
_OF_CONTACT = (*_SHAPES, "box", "cylinder", "capsule", "torus")
_OF_COLLISIONS = (*_OF_CONTACT, "mesh")
_JOINT_TYPES = ("fixed", "revolute", "continuous", "prismatic", "floating", "planar")
_WITHOUT_AXIS = ("fixed", "floating")  # the axis of such a joint is ignored; it is often '0 0 0'


@dataclass(frozen=True)
class Mimic:
    """Relation of a mimic joint: position = multiplier * position of ``joint`` + offset."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint of the tree; ``parent_from_joint`` (4, 4) at position zero, ``axis`` (3,) unit, joint frame."""

    name: str
    kind: str
    parent: str
    child: str
    parent_from_joint: np.ndarray
    axis: np.ndarray
    limits: tuple[float, float]
    mimic: Mimic | None
    velocity: float = np.inf
    """Speed limit, rad/s or m/s; infinite if the URDF has none, or zero."""


@dataclass(frozen=True)
class Geometry:
    """A shape on a link; ``link_from_body`` (4, 4)."""

    link: str
    shape: object
    link_from_body: np.ndarray


@dataclass(frozen=True)
class Description:
    """Content of a URDF.

    ``unsupported`` maps a link to its ignored geometry elements; ``notes`` are warnings about the others. ``root_link``
    is the root link of the URDF if ``root`` is a world frame in which it moves; otherwise empty.
    """

    name: str
    root: str
    links: tuple[str, ...]
    joints: tuple[Joint, ...]
    geometry: tuple[Geometry, ...]
    unsupported: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()
    root_link: str = ""


def read_urdf(
    xml: str,
    representation: str = "mixed",
    package_directories: Mapping[str, str | Path] | None = None,
    meshes: str = "hull",
    *,
    strict: bool = False,
) -> Description:
    """Read a URDF.

    Parameters
    ----------
    xml : str
        The document.
    representation : {"mixed", "superovoids", "superellipsoids"}
        Contact geometry to use if a link has several. A link without the requested representation keeps the one that it
        has.
    package_directories : mapping of str to path, optional
        Folders of packages by name. Meshes are opened in these folders only.
    meshes : {"hull", "triangles", "shells", "ignore"}
        Body of a mesh of a collision element (see `superovoid.robot.mesh_files`).
    strict : bool
        Whether the following problems are errors. Otherwise they are warnings: a joint that mimics an unknown joint
        becomes independent; a fixed joint that mimics another stays fixed; limits beyond 10,000 rad or m are ignored;
        ``package:///name/...`` is read as ``package://name/...``.

    Raises
    ------
    RobotDescriptionError
        If the document is invalid, with the element and the value. An unreadable mesh is an error, too, because
        collisions with the missing geometry would not be found.
    """
    if representation not in REPRESENTATIONS:
        raise RobotDescriptionError(f"representation = {representation!r}: must be one of {', '.join(REPRESENTATIONS)}")
    try:
        reader = MeshReader(meshes, package_directories)
    except ValueError as error:
        raise RobotDescriptionError(str(error)) from error
    robot = parse_document(xml, _KIND, "robot")
    name = name_of(robot, _KIND)
    links = _links(robot)
    joints = robot.findall("joint")
    problems = Problems(strict)
    _check_joints(joints, links, problems)
    root = _check_tree(joints, links)
    if not strict:
        name_packages(robot, problems)
    for mesh in robot.iter("mesh"):
        _check_address(mesh)

    geometry: list[Geometry] = []
    notes = list(problems.warnings(_KIND))
    unsupported: dict[str, tuple[str, ...]] = {}
    for link, element in links.items():
        found, strange = _link_geometry(link, element, representation, reader, notes)
        geometry += found
        if strange:
            unsupported[link] = tuple(strange)
    return Description(
        name, root, tuple(links), tuple(map(_read_joint, joints)), tuple(geometry), unsupported, tuple(notes)
    )


# ---------------------------------------------------------------------------------------------- links and joints


def _links(robot: ET.Element) -> dict[str, ET.Element]:
    links: dict[str, ET.Element] = {}
    for element in robot.findall("link"):
        name = name_of(element, _KIND)
        if name in links:
            raise RobotDescriptionError(f"{_KIND}: link '{name}': the name occurs twice")
        links[name] = element
    if not links:
        raise RobotDescriptionError(f"{_KIND}: robot: has no link, expected at least one")
    if len(links) > _MAXIMUM_LINKS:
        raise RobotDescriptionError(f"{_KIND}: robot: {len(links)} links, expected at most {_MAXIMUM_LINKS}")
    return links


def _check_joints(joints: list[ET.Element], links: Mapping[str, ET.Element], problems: Problems) -> None:
    if len(joints) > _MAXIMUM_LINKS:
        raise RobotDescriptionError(f"{_KIND}: robot: {len(joints)} joints, expected at most {_MAXIMUM_LINKS}")
    by_name: dict[str, ET.Element] = {}
    for element in joints:
        name = name_of(element, _KIND)
        if name in by_name:
            raise RobotDescriptionError(f"{_KIND}: joint '{name}': the name occurs twice")
        by_name[name] = element
        kind = element.get("type")
        if kind not in _JOINT_TYPES:
            raise RobotDescriptionError(
                f"{_KIND}: joint '{name}': type = {kind!r}: must be one of {', '.join(_JOINT_TYPES)}"
            )
        for end in ("parent", "child"):
            link = _link_at(element, end)
            if link not in links:
                raise RobotDescriptionError(f"{_KIND}: joint '{name}': {end} link '{link}' does not exist")
        origin_of(element)
        axis = element.find("axis")
        length = 1.0 if axis is None else np.linalg.norm(numbers(axis, "xyz", 3, _KIND, limit=_LENGTH))
        if axis is not None and length < 1e-6 and kind not in _WITHOUT_AXIS:
            raise RobotDescriptionError(f"{_KIND}: joint '{name}': axis xyz = '{axis.get('xyz')}': has no direction")
        _check_limit(name, kind, element.find("limit"), problems)
    _check_mimics(by_name, problems)


def _check_limit(name: str, kind: str, limit: ET.Element | None, problems: Problems) -> None:
    if limit is None:
        if kind in ("revolute", "prismatic"):
            raise RobotDescriptionError(f"{_KIND}: joint '{name}': is {kind} without a limit")
        return
    if kind in ("revolute", "prismatic") and {"lower", "upper"}.isdisjoint(limit.keys()):
        words = "limit has neither lower nor upper: both are 0, so it cannot move"
        problems.warn(f"{_KIND}: joint '{name}': {words}")
    lower, upper = (numbers(limit, end, 1, _KIND, limit=np.inf, default=(0.0,))[0] for end in ("lower", "upper"))
    for end, value in (("lower", lower), ("upper", upper)):
        if abs(value) > _ANGLE:
            problems.report(
                f"{_KIND}: joint '{name}': limit {end} = {value:g}: is too large, expected at most {_ANGLE:g}; "
                "it is ignored"
            )
    if lower > upper:
        raise RobotDescriptionError(f"{_KIND}: joint '{name}': limit lower = {lower:g} is above upper = {upper:g}")
    # The effort is not used here, but checked so that no later reader of the URDF finds a nan.
    for attribute in ("effort", "velocity"):
        numbers(limit, attribute, 1, _KIND, limit=1e12, default=(0.0,))


def _check_mimics(joints: Mapping[str, ET.Element], problems: Problems) -> None:
    settled: set[str] = set()  # joints whose mimic chain ends at an independent joint
    for first in joints:
        name, path = first, dict[str, None]()  # a dict, for its order and fast lookup
        while name not in settled:
            if name in path:
                raise RobotDescriptionError(
                    f"{_KIND}: joint '{first}': mimics itself: {join_names([*path, name], ' -> ')}"
                )
            path[name] = None
            mimic = joints[name].find("mimic")
            if mimic is None:
                break
            master, words = name_of(mimic, _KIND, "joint"), ""
            if joints[name].get("type") == "fixed":
                words = f"is fixed, so it cannot mimic joint '{master}'"
            elif master not in joints:
                words = f"mimics joint '{master}', which does not exist"
            if words:
                problems.report(f"{_KIND}: joint '{name}': {words}")
                joints[name].remove(mimic)
                break
            name = _check_master(name, mimic, joints)
        settled.update(path)


def _check_master(name: str, mimic: ET.Element, joints: Mapping[str, ET.Element]) -> str:
    master = name_of(mimic, _KIND, "joint")
    kind = joints[master].get("type")
    if kind not in ("revolute", "continuous", "prismatic"):
        raise RobotDescriptionError(f"{_KIND}: joint '{name}': mimics joint '{master}', which is {kind}")
    numbers(mimic, "multiplier", 1, _KIND, limit=_FACTOR, default=(1.0,))
    numbers(mimic, "offset", 1, _KIND, limit=_ANGLE, default=(0.0,))
    return master


def _check_tree(joints: list[ET.Element], links: Mapping[str, ET.Element]) -> str:
    """Check that the links form a tree: one root, one parent per link, no cycle. Return the root."""
    parent: dict[str, tuple[str, str]] = {}
    for element in joints:
        name, child = element.get("name", ""), _link_at(element, "child")
        if child in parent:
            raise RobotDescriptionError(
                f"{_KIND}: link '{child}': has two parent joints, '{parent[child][0]}' and '{name}'"
            )
        parent[child] = (name, _link_at(element, "parent"))
    roots = [link for link in links if link not in parent]
    if len(roots) > 1:
        raise RobotDescriptionError(f"{_KIND}: robot: {len(roots)} root links ({join_names(roots)}), expected one")
    # With one parent per link, the ancestors of a link lead either to the root or into a cycle.
    settled = set(roots)
    for link in links:
        path = dict[str, None]()
        while link not in settled:
            if link in path:
                way = list(path)
                cycle = [*way[way.index(link) :], link]
                raise RobotDescriptionError(f"{_KIND}: robot: the joints form a cycle: {join_names(cycle)}")
            path[link] = None
            link = parent[link][1]
        settled.update(path)
    return roots[0]


def _read_joint(element: ET.Element) -> Joint:
    """Return a joint that `_check_joints` has accepted."""
    kind, given, limit = element.get("type", ""), element.find("axis"), element.find("limit")
    axis: tuple[float, ...] = (1.0, 0.0, 0.0)
    if given is not None and kind not in _WITHOUT_AXIS:
        axis = numbers(given, "xyz", 3, _KIND, limit=_LENGTH)
    limits = (-np.inf, np.inf)
    if limit is not None and kind in ("revolute", "prismatic"):
        lower, upper = (numbers(limit, end, 1, _KIND, limit=np.inf, default=(0.0,))[0] for end in ("lower", "upper"))
        limits = (lower if abs(lower) <= _ANGLE else -np.inf, upper if abs(upper) <= _ANGLE else np.inf)
    mimic = element.find("mimic") if kind in ("revolute", "continuous", "prismatic") else None
    return Joint(
        element.get("name", ""),
        kind,
        _link_at(element, "parent"),
        _link_at(element, "child"),
        origin_of(element),
        np.array(axis) / np.linalg.norm(axis),
        limits,
        None if mimic is None else _read_mimic(mimic),
        _speed_of(limit),
    )


def _speed_of(limit: ET.Element | None) -> float:
    """Return the speed limit of a joint; infinite if there is none."""
    speed = 0.0 if limit is None else abs(numbers(limit, "velocity", 1, _KIND, limit=1e12, default=(0.0,))[0])
    return speed or math.inf


def _read_mimic(mimic: ET.Element) -> Mimic:
    multiplier = numbers(mimic, "multiplier", 1, _KIND, limit=_FACTOR, default=(1.0,))[0]
    return Mimic(
        mimic.get("joint", ""), multiplier, numbers(mimic, "offset", 1, _KIND, limit=_ANGLE, default=(0.0,))[0]
    )


def _link_at(joint: ET.Element, end: str) -> str:
    element = joint.find(end)
    if element is None:
        raise RobotDescriptionError(f"{_KIND}: {describe(joint)}: has no <{end}>")
    return name_of(element, _KIND, "link")


def origin_of(element: ET.Element) -> np.ndarray:
    """Return the <origin> of an element as a matrix (4, 4); the identity if it has none."""
    origin = element.find("origin")
    if origin is None:
        return np.eye(4)
    xyz = numbers(origin, "xyz", 3, _KIND, limit=_LENGTH, default=(0.0, 0.0, 0.0))
    rpy = numbers(origin, "rpy", 3, _KIND, limit=_ANGLE, default=(0.0, 0.0, 0.0))
    return pose_matrix(xyz, rpy)


def pose_matrix(xyz: tuple[float, ...], rpy: tuple[float, ...]) -> np.ndarray:
    """Return the matrix (4, 4) of an origin: roll, pitch, yaw about the fixed axes x, y, z, then the translation."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(rpy), np.cos(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr, xyz[0]],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr, xyz[1]],
            [-sp, cp * sr, cp * cr, xyz[2]],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


# ------------------------------------------------------------------------------------------------ contact geometry


def _link_geometry(
    link: str, element: ET.Element, representation: str, reader: MeshReader, notes: list[str]
) -> tuple[list[Geometry], list[str]]:
    """Return the bodies of a link, and its ignored geometry elements; append warnings to the notes."""
    own = element.findall("contact_geometry")
    if own:
        every = [
            (child.get("representation"), child.get("mixed", "false"), _contact_element(link, child)) for child in own
        ]
        return _select(every, representation), []
    collisions = element.findall("collision")
    if collisions:
        known = tuple(kind for kind in _OF_COLLISIONS if kind != "mesh" or reader.meshes != "ignore")
        return _read_geometry(link, collisions, known, reader, notes)
    found, strange = _read_geometry(link, element.findall("visual"), _OF_VISUALS, reader, notes)
    return found, [] if not found else strange


def _select(elements: list[tuple[str | None, str, Geometry]], representation: str) -> list[Geometry]:
    if representation == "mixed":
        wanted = [g for kind, mixed, g in elements if kind is None or mixed == "true"]
    else:
        wanted = [g for kind, _, g in elements if kind is None or kind + "s" == representation]
    if wanted:
        return wanted
    # Without the requested representation, use superovoids if there are any, otherwise superellipsoids.
    kinds = {kind for kind, _, _ in elements}
    kept = "superovoid" if "superovoid" in kinds else "superellipsoid"
    return [g for kind, _, g in elements if kind == kept]


def _contact_element(link: str, element: ET.Element) -> Geometry:
    kind, mixed = element.get("representation"), element.get("mixed", "false")
    if kind not in (None, "superovoid", "superellipsoid"):
        raise RobotDescriptionError(
            f"{_KIND}: {describe(element)}: representation = {kind!r}: must be superovoid or superellipsoid"
        )
    if mixed not in ("true", "false"):
        raise RobotDescriptionError(f"{_KIND}: {describe(element)}: mixed = {mixed!r}: must be true or false")
    shapes = [child for child in element if child.tag in _OF_CONTACT]
    if len(shapes) != 1:
        raise RobotDescriptionError(
            f"{_KIND}: {describe(element)}: {len(shapes)} shapes, expected one of {', '.join(_OF_CONTACT)}"
        )
    return Geometry(link, shape_of(shapes[0]), origin_of(element))


def _read_geometry(
    link: str, elements: list[ET.Element], shapes: tuple[str, ...], reader: MeshReader, notes: list[str]
) -> tuple[list[Geometry], list[str]]:
    """Return the bodies of collision or visual elements, and the tags of elements without one of these shapes."""
    found, strange = [], []
    for element in elements:
        geometry = element.find("geometry")
        for child in geometry if geometry is not None else ():
            if child.tag in shapes:
                shape = _mesh(child, reader, notes) if child.tag == "mesh" else shape_of(child)
                found.append(Geometry(link, shape, origin_of(element)))
            else:
                strange.append(str(child.tag))
    return found, strange


def shape_of(element: ET.Element) -> Shape:
    """Return the shape of a geometry element other than a mesh."""

    def values(attribute: str, count: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        return numbers(element, attribute, count, _KIND, limit=_LENGTH, default=default)

    try:
        if element.tag == "sphere":
            return Sphere(values("radius", 1)[0])
        if element.tag == "box":
            return Box(values("size", 3))
        if element.tag == "cylinder":
            return Cylinder(values("radius", 1)[0], values("length", 1)[0])
        if element.tag == "capsule":
            return Capsule(values("radius", 1)[0], values("length", 1)[0])
        if element.tag == "torus":
            return Torus(values("major_radius", 1)[0], values("minor_radius", 1)[0])
        if element.tag == "ellipsoid":
            return Ellipsoid(values("size", 3))
        if element.tag == "superellipsoid":
            return Superellipsoid.from_goncalves(values("size", 3), values("epsilon", 2))
        return Superovoid.from_goncalves(values("size", 3), values("epsilon", 2), values("taper", 2, (0.0, 0.0)))
    except RobotDescriptionError:
        raise
    except ValueError as error:
        if not is_refusal(error):
            raise
        raise RobotDescriptionError(f"{_KIND}: {describe(element)}: {error}") from error


def _mesh(element: ET.Element, reader: MeshReader, notes: list[str]) -> Shape:
    """Return the body that the reader makes of a mesh."""
    filename, scale = mesh_file_of(element)
    try:
        shape, note = reader.body(filename, scale)
    except ValueError as error:
        if not is_refusal(error):
            raise
        raise RobotDescriptionError(
            f"{_mesh_words(element)}: {error} (set meshes = 'ignore' to ignore meshes)"
        ) from error
    if note:
        notes.append(f"{_mesh_words(element)}: {note}")
    return shape


def mesh_file_of(element: ET.Element) -> tuple[str, tuple[float, ...]]:
    """Return the file name of a mesh element, and the scale factors along its axes."""
    scale = numbers(element, "scale", 3, _KIND, limit=_FACTOR, default=(1.0, 1.0, 1.0))
    if 0.0 in scale:
        raise RobotDescriptionError(f"{_KIND}: {describe(element)}: scale = '{element.get('scale')}': must not be 0")
    filename = element.get("filename", "")
    if not filename.strip():
        raise RobotDescriptionError(f"{_KIND}: {describe(element)}: has no attribute filename")
    return filename, scale


def name_packages(robot: ET.Element, problems: Problems) -> None:
    """Remove the extra slash of addresses without a package name, ``package:///name/...``."""
    nameless = [mesh for mesh in robot.iter("mesh") if mesh.get("filename", "").startswith("package:///")]
    if nameless:
        count = f", like {len(nameless) - 1} more" if len(nameless) > 1 else ""
        problems.report(f"{_mesh_words(nameless[0])}: has no package name{count}; it is read with one slash less")
    for mesh in nameless:
        mesh.set("filename", "package://" + mesh.get("filename", "").removeprefix("package://").lstrip("/"))


def _check_address(mesh: ET.Element) -> None:
    """Reject a mesh address that leads out of its package, even if the mesh would not be opened."""
    try:
        split_address(mesh.get("filename", ""))
    except ValueError as error:
        raise RobotDescriptionError(f"{_mesh_words(mesh)}: {error}") from error


def _mesh_words(mesh: ET.Element) -> str:
    return f"{_KIND}: {describe(mesh)}: filename = '{mesh.get('filename', '')[:150]}'"
