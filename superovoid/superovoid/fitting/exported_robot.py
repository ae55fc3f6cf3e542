# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Describe a fitted robot for formats of other programs: links with inertias, joints, and geometry that these know.

fit ──> export_robot ──> write_mjcf, write_sdf, write_usd
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.robot_fits import RobotFit
from superovoid.fitting.tessellated import Tessellation, mesh_name, tessellations_around
from superovoid.robot.urdf import Geometry, Joint, origin_of, read_urdf
from superovoid.shapes import Box, Capsule, Cylinder, Shape, Sphere, Superovoid

FloatArray = NDArray[np.float64]

WORLD = "world"
"""The name of the world in MJCF and SDFormat, which no link may have."""


@dataclass(frozen=True, eq=False)
class Part:
    """A body of a link as another program has it."""

    kind: str
    """"sphere", "ellipsoid", "box", "cylinder", "capsule" or "mesh\""""
    lengths: tuple[float, ...]
    """m: radius; semi-axes; lengths; radius, and length without the caps; of a mesh none"""
    link_from_part: FloatArray
    """(4, 4)"""
    mesh: Tessellation | None = None
    """a convex mesh that contains the body or a part of it, in the frame of the part"""
    file: str = ""
    """name for the file of the mesh"""


@dataclass(frozen=True, eq=False)
class Inertial:
    """Inertia of a link, as in the URDF."""

    mass: float
    """kg"""
    centre: FloatArray
    """(3,), frame of the link, m"""
    matrix: FloatArray
    """(3, 3), about the centre, with the axes of the link, kg m²"""


@dataclass(frozen=True, eq=False)
class ExportedLink:
    """A link of a robot."""

    name: str
    joint: Joint | None
    """to its parent; None for the root"""
    inertial: Inertial | None
    """None if the URDF has none"""
    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class ExportedRobot:
    """A robot for other programs."""

    name: str
    links: tuple[ExportedLink, ...]
    """parents before their children"""


def export_robot(fit: RobotFit, *, ellipsoids: bool = True) -> ExportedRobot:
    """Return a fitted robot for other programs, with ellipsoids as such or as meshes.

    A link whose mesh was not fitted has no parts.

    Raises
    ------
    ValueError
        If no mesh is proved to contain a body.
    """
    description = read_urdf(fit.urdf, meshes="ignore")
    parts: dict[str, list[Part]] = {link: [] for link in description.links}
    number = 0
    for body, shape, atol in exported_bodies(fit):
        known = _lengths(shape)
        if known is not None and (ellipsoids or known[0] != "ellipsoid"):
            parts[body.link].append(Part(*known, body.link_from_body))
            continue
        for mesh in tessellations_around(shape, atol):
            file = mesh_name(number, body.link, "obj")
            number += 1
            parts[body.link].append(Part("mesh", (), body.link_from_body, mesh, file))
    inertials = {
        str(link.get("name")): _inertial(found)
        for link in ElementTree.fromstring(fit.urdf).findall("link")
        if (found := link.find("inertial")) is not None
    }
    above = {joint.child: joint for joint in description.joints}
    below: dict[str, list[str]] = {link: [] for link in description.links}
    for joint in description.joints:
        below[joint.parent].append(joint.child)
    order = [description.root]
    for link in order:
        order += below[link]
    links = [ExportedLink(link, above.get(link), inertials.get(link), tuple(parts[link])) for link in order]
    return ExportedRobot(description.name, tuple(links))


def export_with_meshes(fit: RobotFit, folder: Path, name: str) -> tuple[ExportedRobot, str]:
    """Return a fitted robot for other programs, and the name of the folder for its meshes, which are written.

    The meshes are OBJ files, which Drake reads too, unlike STL. Their folder, ``name_meshes``, is in the given one.

    Raises
    ------
    ValueError
        As `export_robot`.
    OSError
        If a file cannot be written.
    """
    robot, meshes = export_robot(fit), folder / f"{name}_meshes"
    meshes.mkdir(parents=True, exist_ok=True)
    for part in (part for link in robot.links for part in link.parts):
        if part.mesh is not None:
            lines = [f"v {text_of(vertex)}" for vertex in part.mesh.vertices]
            lines += ["f {} {} {}".format(*face) for face in part.mesh.faces + 1]
            (meshes / part.file).write_text("\n".join(lines) + "\n", encoding="ascii")
    return robot, meshes.name


def exported_bodies(fit: RobotFit) -> Iterator[tuple[Geometry, Shape, float]]:
    """Yield the bodies of all links for other programs: link and pose, shape, largest overshoot of a replacement.

    The overshoot is the link's tolerance, or 1 % of the body's size for a link without one. A link whose mesh could not
    be fitted has no bodies: those of its other elements would not cover it.
    """
    links = {link.link: link for link in fit.links}
    for body in read_urdf(fit.urdf, meshes="ignore").geometry:
        link, shape = links[body.link], body.shape
        if isinstance(shape, Shape) and link.state not in ("unreadable", "failed"):
            size = float(np.linalg.norm(np.ptp(shape.aabb(), axis=0)))
            yield body, shape, 1e-2 * size if link.clearance is None else link.clearance.tolerance


def _lengths(shape: Shape) -> tuple[str, tuple[float, ...]] | None:
    """Return the kind of part of a body and its lengths; None if it needs a mesh."""
    if isinstance(shape, Sphere):
        return "sphere", (shape.radius,)
    if isinstance(shape, Box):
        return "box", tuple(shape.lengths)
    if isinstance(shape, Cylinder | Capsule):
        return type(shape).__name__.lower(), (shape.radius, shape.length)
    if (
        isinstance(shape, Superovoid)
        and shape.section_exponent == shape.profile_exponent == 1.0
        and not any(shape.taper)
    ):
        return "ellipsoid", tuple(shape.semi_axes)
    return None


def _inertial(found: ElementTree.Element) -> Inertial:
    mass, inertia = found.find("mass"), found.find("inertia")
    given = {} if inertia is None else {name: float(value) for name, value in inertia.items()}
    xx, yy, zz, xy, xz, yz = (given.get(name, 0.0) for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    pose = origin_of(found)
    turn = pose[:3, :3]
    matrix = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
    return Inertial(0.0 if mass is None else float(mass.get("value", "0")), pose[:3, 3], matrix)


def text_of(values: Iterable[float]) -> str:
    """Return numbers as text that reads back to the same bits."""
    return " ".join(repr(float(value)) for value in values)
