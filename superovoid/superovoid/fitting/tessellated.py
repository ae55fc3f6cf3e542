# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fitted bodies for readers of URDF that know meshes only: polytopes that hold them, as a ROS package.

The mesh of a body is a polytope that is proved to hold it (`outer_polytopes`). How far it sticks out is proved as well:
the distance from a convex body is a convex function, so it is largest at a vertex. Both are of the numbers in the file,
which are of single precision.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.outer_polytopes import polytope_around
from superovoid.fitting.proofs import point_distances
from superovoid.fitting.robot_fits import RobotFit
from superovoid.fitting.xml_edits import Edits, element
from superovoid.shapes import Shape
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]

_RESOLUTIONS = (8, 12, 16, 24, 32, 48, 64, 96, 128)
_PLAIN = ("box", "cylinder")  # kinds that every reader knows


@dataclass(frozen=True, eq=False)
class Tessellation(Record):
    """A closed triangle mesh that holds a convex body."""

    vertices: FloatArray
    """(n, 3), frame of the body, m; numbers of single precision"""
    faces: NDArray[np.int64]
    """(m, 3), counter-clockwise seen from outside"""
    overshoot: float
    """proved: no point of the mesh is farther from the body, m"""


def tessellation_around(shape: Shape, atol: float) -> Tessellation:
    """The coarsest mesh of a convex body that holds it and sticks out by no more than a length.

    Parameters
    ----------
    shape : Shape
        Convex.
    atol : float
        m. Where 128 segments round the axis do not keep it, the finest mesh is returned; `overshoot` says it.

    Raises
    ------
    ValueError
        If no mesh can be shown to hold the body, as where it is as thin as rounding.
    """
    if not (np.isfinite(atol) and atol > 0.0):
        raise ValueError(f"atol = {atol!r}: must be a positive length, m")
    best: Tessellation | None = None
    for resolution in _RESOLUTIONS:
        found = _around(shape, resolution)
        if found is not None and (best is None or found.overshoot < best.overshoot):
            best = found
        if best is not None and best.overshoot <= atol:
            break
    if best is None:
        raise ValueError(
            f"{type(shape).__name__}: no mesh around it can be shown to hold it; is it as thin as rounding?"
        )
    return best


def _around(shape: Shape, resolution: int) -> Tessellation | None:
    """The mesh of one resolution; None where it cannot be shown to hold the body."""
    found = polytope_around(shape, resolution)
    if found is None:
        return None
    vertices, faces = found
    overshoot = float(point_distances(shape, np.eye(4), vertices)[1].max())
    return Tessellation(vertices, faces, max(0.0, overshoot))


@dataclass(frozen=True)
class TessellatedRobot(Record):
    """A ROS package with a URDF whose collision meshes hold the fitted bodies."""

    urdf: Path
    package: str
    folder: Path
    """of the package"""
    overshoot: dict[str, float]
    """proved: how far the meshes of a link stick out of its bodies at most, m"""
    triangles: int


def write_tessellated(fit: RobotFit, folder: Path, name: str, atol: float = 1e-3) -> TessellatedRobot:
    """Write a fitted robot for readers that know meshes and primitives only.

    Parameters
    ----------
    fit : RobotFit
    folder : Path
        The package goes into a folder of its own in it.
    name : str
        Of the robot's files.
    atol : float
        How far meshes may stick out of the bodies, m.

    Returns
    -------
    TessellatedRobot
        Collision elements of fitted links are those bodies, boxes and cylinders as such, the rest as meshes. All else
        is as in the URDF that was fitted.

    Raises
    ------
    ValueError
        If a body cannot be held.
    OSError
        If a file cannot be written.
    """
    package = package_name(name)
    root = folder / package
    for part in ("urdf", "meshes"):
        (root / part).mkdir(parents=True, exist_ok=True)
    overshoot, count = {}, 0
    elements: dict[str, list[str]] = {}
    for number, link in enumerate(fit.links):
        if not link.bodies:
            continue
        overshoot[link.link], elements[link.link] = 0.0, []
        for which, (body, record) in enumerate(zip(link.bodies, link.elements, strict=True)):
            address = ""
            if record["kind"] not in _PLAIN:
                mesh = tessellation_around(body.shape, atol)
                file = f"{number:03d}_{_safe(link.link)}_{which}.stl"
                (root / "meshes" / file).write_bytes(binary_stl(mesh.vertices, mesh.faces))
                address = f"package://{package}/meshes/{file}"
                overshoot[link.link] = max(overshoot[link.link], mesh.overshoot)
                count += len(mesh.faces)
            elements[link.link].append(_collision(record, address))
    urdf = root / "urdf" / f"{name}.urdf"
    urdf.write_text(_with_collisions(fit.source, elements), encoding="utf-8")
    (root / "package.xml").write_text(_PACKAGE.format(package=package, name=escape(name)), encoding="utf-8")
    (root / "CMakeLists.txt").write_text(_CMAKE.format(package=package), encoding="utf-8")
    return TessellatedRobot(urdf, package, root, overshoot, count)


def package_name(name: str) -> str:
    """A name that a ROS package may have, of that of a robot."""
    plain = re.sub(r"_+", "_", re.sub(r"[^a-z0-9_]", "_", name.lower())).strip("_") or "robot"
    return f"{plain if plain[0].isalpha() else 'robot_' + plain}_tessellated"


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60]


def binary_stl(vertices: FloatArray, faces: NDArray[np.int64]) -> bytes:
    """A mesh as a binary STL file; its numbers are of single precision."""
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    rows = np.zeros(len(faces), dtype=[("numbers", "<f4", (4, 3)), ("attribute", "<u2")])
    rows["numbers"][:, 0], rows["numbers"][:, 1:] = normals, corners
    return b"superovoid".ljust(80, b" ") + np.uint32(len(faces)).astype("<u4").tobytes() + rows.tobytes()


def _collision(record: Mapping[str, Any], address: str) -> str:
    if address:
        body = element("mesh", {"filename": address})
    elif record["kind"] == "box":
        body = element("box", {"size": _numbers(record["size"])})
    else:
        body = element("cylinder", {name: repr(record[name]) for name in ("radius", "length")})
    origin = element("origin", {key: _numbers(record[key]) for key in ("xyz", "rpy")})
    return element("collision", {}, [origin, element("geometry", {}, [body])])


def _numbers(values: Sequence[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


def _with_collisions(text: str, elements: Mapping[str, Sequence[str]]) -> str:
    """A URDF with other collision elements on some links."""
    edits = Edits(text)
    for link in edits.root.children:
        added = elements.get(link.attributes.get("name", ""), ()) if link.tag == "link" else ()
        if added:
            edits.remove([each for each in link.children if each.tag == "collision"])
            edits.append(link, added)
    return edits.text()


_PACKAGE = """<?xml version="1.0"?>
<package format="3">
  <name>{package}</name>
  <version>0.1.0</version>
  <description>{name}: collision meshes that hold the bodies fitted to its links</description>
  <maintainer email="nobody@example.com">nobody</maintainer>
  <license>that of the robot's description</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <export>
    <build_type>ament_cmake</build_type>
  </export>
</package>
"""
_CMAKE = """cmake_minimum_required(VERSION 3.8)
project({package})
find_package(ament_cmake REQUIRED)
install(DIRECTORY meshes urdf DESTINATION share/${{PROJECT_NAME}})
ament_package()
"""
