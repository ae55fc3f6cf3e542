# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Write a fitted robot for MuJoCo (MJCF)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.robot_fits import RobotFit, exported_bodies
from superovoid.fitting.tessellated import write_mesh_around
from superovoid.fitting.xml_edits import element
from superovoid.robot.urdf import Joint, origin_of, read_urdf
from superovoid.shapes import Box, Capsule, Cylinder, Shape, Sphere, Superovoid
from superovoid.values.poses import quaternions_of

FloatArray = NDArray[np.float64]

# Least mass and inertia of moving bodies: MuJoCo refuses massless ones, which are common in URDFs.
_LEAST = {"boundmass": "1e-6", "boundinertia": "1e-9", "balanceinertia": "true"}
_WORLD = "world"  # the name of MJCF's root, which no body may have


def write_mjcf(fit: RobotFit, folder: Path, name: str) -> Path:
    """Write a fitted robot as MJCF, with the meshes of its bodies in a folder next to it.

    Spheres, ellipsoids, boxes, cylinders and capsules are geoms of these types. The mesh of another body provably
    contains it and protrudes from it by at most the tolerance of its link. The root link is fixed to the world.

    Parameters
    ----------
    fit : RobotFit
    folder : Path
        Folder for ``name.xml`` and ``name_meshes``.
    name : str
        Name of the robot's files.

    Returns
    -------
    Path
        The MJCF file.

    Raises
    ------
    ValueError
        If no mesh is proved to contain a body.
    OSError
        If a file cannot be written.
    """
    meshes = folder / f"{name}_meshes"
    meshes.mkdir(parents=True, exist_ok=True)
    robot = read_urdf(fit.urdf, meshes="ignore")
    files: list[str] = []
    geoms: dict[str, list[str]] = {link: [] for link in robot.links}
    for body, shape, atol in exported_bodies(fit, 1.0):
        attributes = _primitive(shape)
        if attributes is None:
            file, _ = write_mesh_around(shape, atol, meshes, len(files), body.link)
            files.append(element("mesh", {"name": Path(file).stem, "file": file, "inertia": "convex"}))
            attributes = {"type": "mesh", "mesh": Path(file).stem}
        geoms[body.link].append(element("geom", attributes | _place(body.link_from_body)))
    inertials = {
        link.attrib["name"]: [_inertial(found)]
        for link in ElementTree.fromstring(fit.urdf).findall("link")
        if (found := link.find("inertial")) is not None
    }
    below: dict[str, list[Joint]] = {link: [] for link in robot.links}
    for joint in robot.joints:
        below[joint.parent].append(joint)
    order = [robot.root]
    for link in order:
        order += [joint.child for joint in below[link]]
    made: dict[str, str] = {}
    inside: list[str] = []
    for link in reversed(order):  # from the leaves to the root
        inside = [*inertials.get(link, ()), *geoms[link], *(made[joint.child] for joint in below[link])]
        for joint in (each for each in robot.joints if each.child == link):
            attributes = {"name": link} | _place(joint.parent_from_joint)
            made[link] = element("body", attributes, [*_joints(joint, joint.parent == _WORLD), *inside])
    if robot.root != _WORLD:
        inside = [element("body", {"name": robot.root}, inside)]
    parts = [
        element("compiler", {"angle": "radian", "meshdir": meshes.name, "autolimits": "true"} | _LEAST),
        *([element("asset", {}, files)] if files else []),
        element("worldbody", {}, inside),
    ]
    if mimics := [_mimic(joint) for joint in robot.joints if joint.mimic is not None]:
        parts.append(element("equality", {}, mimics))
    path = folder / f"{name}.xml"
    path.write_text(element("mujoco", {"model": robot.name}, parts) + "\n", encoding="utf-8")
    return path


def _primitive(shape: Shape) -> dict[str, str] | None:
    """Return type and half lengths of the geom of a shape; None if it needs a mesh."""
    if isinstance(shape, Sphere):
        return {"type": "sphere", "size": _numbers([shape.radius])}
    if isinstance(shape, Box):
        return {"type": "box", "size": _numbers(0.5 * length for length in shape.lengths)}
    if isinstance(shape, Cylinder | Capsule):
        return {"type": type(shape).__name__.lower(), "size": _numbers([shape.radius, 0.5 * shape.length])}
    if (
        isinstance(shape, Superovoid)
        and shape.section_exponent == shape.profile_exponent == 1.0
        and not any(shape.taper)
    ):
        return {"type": "ellipsoid", "size": _numbers(shape.semi_axes)}
    return None


def _place(pose: FloatArray) -> dict[str, str]:
    x, y, z, w = quaternions_of(pose[:3, :3])
    return {"pos": _numbers(pose[:3, 3]), "quat": _numbers([w, x, y, z])}


def _inertial(found: ElementTree.Element) -> str:
    mass, inertia = found.find("mass"), found.find("inertia")
    given = {} if inertia is None else {name: float(value) for name, value in inertia.items()}
    xx, yy, zz, xy, xz, yz = (given.get(name, 0.0) for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    pose = origin_of(found)
    # MuJoCo takes a full inertia matrix with the axes of the body alone.
    turn = pose[:3, :3]
    turned = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
    attributes = {
        "pos": _numbers(pose[:3, 3]),
        "mass": _numbers([0.0 if mass is None else float(mass.get("value", "0"))]),
        "fullinertia": _numbers(turned[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]),
    }
    return element("inertial", attributes)


def _joints(joint: Joint, in_world: bool) -> list[str]:
    """Return the joints of MJCF that together move a link as its joint in the URDF."""
    if joint.kind == "fixed":
        return []
    if joint.kind == "floating" and in_world:
        return [element("freejoint", {"name": joint.name})]
    if joint.kind in ("floating", "planar"):
        axes = np.eye(3) if joint.kind == "floating" else np.linalg.svd(joint.axis[None])[2][1:]
        slides = [
            element("joint", {"name": f"{joint.name}_{number}", "type": "slide", "axis": _numbers(axis)})
            for number, axis in enumerate(axes)
        ]
        turn = {"type": "ball"} if joint.kind == "floating" else {"type": "hinge", "axis": _numbers(joint.axis)}
        return [*slides, element("joint", {"name": joint.name} | turn)]
    kind = "slide" if joint.kind == "prismatic" else "hinge"
    attributes = {"name": joint.name, "type": kind, "axis": _numbers(joint.axis)}
    if np.isfinite(joint.limits).all() and joint.limits[0] < joint.limits[1]:
        attributes["range"] = _numbers(joint.limits)
    return [element("joint", attributes)]


def _mimic(joint: Joint) -> str:
    assert joint.mimic is not None
    polynomial = _numbers([joint.mimic.offset, joint.mimic.multiplier, 0.0, 0.0, 0.0])
    return element("joint", {"joint1": joint.name, "joint2": joint.mimic.joint, "polycoef": polynomial})


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
