# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Write a fitted robot for MuJoCo (MJCF)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.exported_robot import WORLD, Inertial, Part, export_with_meshes, text_of
from superovoid.fitting.robot_fits import RobotFit
from superovoid.fitting.xml_edits import element
from superovoid.robot.urdf import Joint
from superovoid.values.poses import quaternions_of

FloatArray = NDArray[np.float64]

# Least mass and inertia of moving bodies: MuJoCo refuses massless ones, which are common in URDFs.
_LEAST = {"boundmass": "1e-6", "boundinertia": "1e-9", "balanceinertia": "true"}


def write_mjcf(fit: RobotFit, folder: Path, name: str) -> Path:
    """Write a fitted robot as MJCF, with the meshes of its bodies in a folder next to it.

    Spheres, ellipsoids, boxes, cylinders and capsules are geoms of these types. The mesh of another body, or the convex
    meshes of a torus together, provably contain it and protrude from it by at most the tolerance of its link. The root
    link is fixed to the world.

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
    robot, meshes = export_with_meshes(fit, folder, name)
    links = robot.links
    assets: list[str] = []
    children: dict[str, list[str]] = {link.name: [] for link in links}
    inside: list[str] = []
    for link in reversed(links):  # from the leaves to the root
        geoms = []
        for part in link.parts:
            attributes = _geometry(part)
            if part.mesh is not None:
                attributes["mesh"] = Path(part.file).stem
                assets.append(element("mesh", {"name": attributes["mesh"], "file": part.file, "inertia": "convex"}))
            geoms.append(element("geom", attributes | _place(part.link_from_part)))
        inside = [
            *([] if link.inertial is None else [_inertial(link.inertial)]),
            *geoms,
            *reversed(children[link.name]),
        ]
        if link.joint is not None:
            attributes = {"name": link.name} | _place(link.joint.parent_from_joint)
            joints = _joints(link.joint, link.joint.parent == WORLD)
            children[link.joint.parent].append(element("body", attributes, [*joints, *inside]))
    root = links[0].name
    if root != WORLD:
        inside = [element("body", {"name": root}, inside)]
    parts = [
        element("compiler", {"angle": "radian", "meshdir": meshes, "autolimits": "true"} | _LEAST),
        *([element("asset", {}, assets)] if assets else []),
        element("worldbody", {}, inside),
    ]
    if mimics := [_mimic(link.joint) for link in links if link.joint is not None and link.joint.mimic is not None]:
        parts.append(element("equality", {}, mimics))
    path = folder / f"{name}.xml"
    path.write_text(element("mujoco", {"model": robot.name}, parts) + "\n", encoding="utf-8")
    return path


def _geometry(part: Part) -> dict[str, str]:
    """Return the type of a geom and its size: radii and half lengths."""
    if part.kind == "mesh":
        return {"type": "mesh"}
    halves = {"box": (0.5, 0.5, 0.5), "cylinder": (1.0, 0.5), "capsule": (1.0, 0.5)}.get(part.kind, (1.0,) * 3)
    return {"type": part.kind, "size": text_of(a * b for a, b in zip(halves, part.lengths, strict=False))}


def _place(pose: FloatArray) -> dict[str, str]:
    x, y, z, w = quaternions_of(pose[:3, :3])
    return {"pos": text_of(pose[:3, 3]), "quat": text_of([w, x, y, z])}


def _inertial(inertial: Inertial) -> str:
    attributes = {
        "pos": text_of(inertial.centre),
        "mass": text_of([inertial.mass]),
        "fullinertia": text_of(inertial.matrix[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]),
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
            element("joint", {"name": f"{joint.name}_{number}", "type": "slide", "axis": text_of(axis)})
            for number, axis in enumerate(axes)
        ]
        turn = {"type": "ball"} if joint.kind == "floating" else {"type": "hinge", "axis": text_of(joint.axis)}
        return [*slides, element("joint", {"name": joint.name} | turn)]
    kind = "slide" if joint.kind == "prismatic" else "hinge"
    attributes = {"name": joint.name, "type": kind, "axis": text_of(joint.axis)}
    if np.isfinite(joint.limits).all() and joint.limits[0] < joint.limits[1]:
        attributes["range"] = text_of(joint.limits)
    return [element("joint", attributes)]


def _mimic(joint: Joint) -> str:
    assert joint.mimic is not None
    polynomial = text_of([joint.mimic.offset, joint.mimic.multiplier, 0.0, 0.0, 0.0])
    return element("joint", {"joint1": joint.name, "joint2": joint.mimic.joint, "polycoef": polynomial})
