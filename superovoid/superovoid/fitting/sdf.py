# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Write a fitted robot as SDFormat, which Gazebo and Drake read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.exported_robot import WORLD, Inertial, Part, export_with_meshes, text_of
from superovoid.fitting.robot_files import roll_pitch_yaw
from superovoid.fitting.robot_fits import RobotFit
from superovoid.fitting.xml_edits import element
from superovoid.robot.urdf import Joint

FloatArray = NDArray[np.float64]

# Capsules and ellipsoids are in SDFormat since version 1.8, mimic joints since 1.11. Programs refuse later versions.
_VERSION, _VERSION_OF_MIMICS = "1.8", "1.11"
# SDFormat has no links without mass; without an inertial element it is 1 kg.
_LEAST_MASS, _LEAST_INERTIA = 1e-6, 1e-9
_TYPES = {"revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed"}
_NAMES = {
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
}


def write_sdf(fit: RobotFit, folder: Path, name: str) -> Path:
    """Write a fitted robot as SDFormat, with the meshes of its bodies in a folder next to it.

    Collision and visual elements of a link are its bodies: spheres, ellipsoids, boxes, cylinders and capsules as such.
    The mesh of another body provably contains it and protrudes from it by at most the tolerance of its link. The root
    link is fixed to the world. A floating joint is none in SDFormat: its link is free.

    Parameters
    ----------
    fit : RobotFit
    folder : Path
        Folder for ``name.sdf`` and ``name_meshes``.
    name : str
        Name of the robot's files.

    Returns
    -------
    Path
        The SDFormat file. Names of links that SDFormat reserves end with ``_link``, and names of joints that a link has
        too end with ``_joint``.

    Raises
    ------
    ValueError
        If no mesh is proved to contain a body, or a joint is planar, which SDFormat does not have.
    OSError
        If a file cannot be written.
    """
    robot, meshes = export_with_meshes(fit, folder, name)
    links = robot.links
    names: dict[str, str] = {}
    for link in links:
        is_reserved = link.name == WORLD or (link.name.startswith("__") and link.name.endswith("__"))
        names[link.name] = _free_name(link.name, "link", names.values(), is_reserved)
    joints: dict[str, str] = {}
    for link in links:
        if link.joint is not None:
            joints[link.joint.name] = _free_name(link.joint.name, "joint", (*names.values(), *joints.values()))
    parts = []
    for link in links:
        joint, own = link.joint, names[link.name]
        inside = [_inertial(link.inertial)]
        if joint is not None and joint.kind == "floating":
            inside.insert(0, _pose(joint.parent_from_joint, names[joint.parent]))
        elif joint is not None:
            inside.insert(0, _pose(np.eye(4), joints[joint.name]))
            parts.append(_joint(joint, names, joints))
        for number, part in enumerate(link.parts):
            body = [_pose(part.link_from_part), element("geometry", {}, [_geometry(part, meshes)])]
            inside += [element(kind, {"name": f"{own}_{kind}_{number}"}, body) for kind in ("collision", "visual")]
        parts.append(element("link", {"name": own}, inside))
    taken = (*names.values(), *joints.values())
    fixed = [element("parent", {}, text=WORLD), element("child", {}, text=names[links[0].name])]
    parts.append(element("joint", {"name": _free_name("world_joint", "fixed", taken), "type": "fixed"}, fixed))
    has_mimics = any(link.joint is not None and link.joint.mimic is not None for link in links)
    version = {"version": _VERSION_OF_MIMICS if has_mimics else _VERSION}
    path = folder / f"{name}.sdf"
    path.write_text(element("sdf", version, [element("model", {"name": robot.name}, parts)]) + "\n", encoding="utf-8")
    return path


def _free_name(name: str, ending: str, taken: Collection[str], is_reserved: bool = False) -> str:
    """Return a name that no other element of the model has."""
    while name in taken or is_reserved:
        name, is_reserved = f"{name}_{ending}", False
    return name


def _geometry(part: Part, folder: str) -> str:
    if part.kind == "mesh":
        return element("mesh", {}, [element("uri", {}, text=f"{folder}/{part.file}")])
    if part.kind in ("box", "ellipsoid"):
        inside = [element("size" if part.kind == "box" else "radii", {}, text=text_of(part.lengths))]
    else:
        inside = [
            element(name, {}, text=text_of([length]))
            for name, length in zip(_NAMES[part.kind], part.lengths, strict=True)
        ]
    return element(part.kind, {}, inside)


def _pose(pose: FloatArray, frame: str = "") -> str:
    text = text_of([*pose[:3, 3], *roll_pitch_yaw(pose[:3, :3])])
    return element("pose", {"relative_to": frame} if frame else {}, text=text)


def _inertial(inertial: Inertial | None) -> str:
    """Return an inertia that a rigid body can have, as close as possible to that of the URDF."""
    given = inertial or Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
    moments, axes = np.linalg.eigh(given.matrix)
    moments = np.maximum(moments, _LEAST_INERTIA)
    if 2.0 * moments.max() > moments.sum():  # the largest exceeds the sum of the others
        moments[:] = moments.mean()
    matrix = (axes * moments) @ axes.T
    rows, columns = (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)
    numbers = [
        element(f"i{'xyz'[row]}{'xyz'[column]}", {}, text=text_of([matrix[row, column]]))
        for row, column in zip(rows, columns, strict=True)
    ]
    mass = element("mass", {}, text=text_of([max(given.mass, _LEAST_MASS)]))
    pose = element("pose", {}, text=text_of([*given.centre, 0.0, 0.0, 0.0]))
    return element("inertial", {}, [pose, mass, element("inertia", {}, numbers)])


def _joint(joint: Joint, links: dict[str, str], joints: dict[str, str]) -> str:
    if joint.kind not in _TYPES:
        raise ValueError(f"joint '{joint.name}': is {joint.kind}, which SDFormat does not have")
    inside = [
        _pose(joint.parent_from_joint, links[joint.parent]),
        element("parent", {}, text=links[joint.parent]),
        element("child", {}, text=links[joint.child]),
    ]
    if joint.kind != "fixed":
        axis = [element("xyz", {}, text=text_of(joint.axis))]
        limits = dict(zip(("lower", "upper", "velocity"), (*joint.limits, joint.velocity), strict=True))
        finite = [element(end, {}, text=text_of([value])) for end, value in limits.items() if np.isfinite(value)]
        axis += [element("limit", {}, finite)] if finite else []
        if joint.mimic is not None:
            numbers = {"multiplier": joint.mimic.multiplier, "offset": joint.mimic.offset, "reference": 0.0}
            lines = [element(each, {}, text=text_of([value])) for each, value in numbers.items()]
            axis.append(element("mimic", {"joint": joints[joint.mimic.joint]}, lines))
        inside.append(element("axis", {}, axis))
    return element("joint", {"name": joints[joint.name], "type": _TYPES[joint.kind]}, inside)
