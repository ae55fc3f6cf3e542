# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Meshes of bodies, and fitted bodies as a ROS package of meshes that contain them, for readers of meshes only.

In such a package the mesh of a body is a polytope that provably contains it (`outer_polytopes`). The overshoot is
bounded as well: the distance from a convex body is a convex function, so it is largest at a vertex. Both proofs hold
for the numbers in the file, which have single precision.

Many programs replace a mesh by its convex hull. So a torus, a union of balls about the points of a circle, is divided
into sectors. The balls of a sector of the angle 2 a lie in the sum of a triangle (the ends of the arc, and the point
where the tangents there meet) and a polytope around the ball. With the major radius R, points of the triangle are at
most max(R - R cos a, R / cos a - R) from the circle. This length and the overshoot of the polytope bound that of the
sum.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from superovoid.fitting.outer_polytopes import mesh_of_hull, polytope_around
from superovoid.fitting.proofs import point_distances
from superovoid.fitting.robot_files import urdf_with_collisions
from superovoid.fitting.robot_fits import RobotFit
from superovoid.fitting.triangle_tree import TriangleTree
from superovoid.fitting.xml_edits import element
from superovoid.shapes import HalfSpace, Shape, Sphere, Torus
from superovoid.values.checks import positive
from superovoid.values.records import Record

if TYPE_CHECKING:
    import trimesh

FloatArray = NDArray[np.float64]

_RESOLUTIONS = (8, 12, 16, 24, 32, 48, 64, 96, 128)
_COARSEST, _FINEST = 8, 1024
_BETWEEN = 0.9  # share of a tolerance at the measured points of a surface, which leaves the rest to those between them
_WRITTEN = 2e-7  # rounding errors of single precision and of hulls, relative to the size
_PLAIN = ("box", "cylinder")  # kinds that every reader supports


@dataclass(frozen=True, eq=False)
class Tessellation(Record):
    """A closed convex triangle mesh that contains a convex body, or a part of a torus."""

    vertices: FloatArray
    """(n, 3), frame of the body, m; representable in single precision"""
    faces: NDArray[np.int64]
    """(m, 3), counter-clockwise seen from outside"""
    overshoot: float
    """proved upper bound of the distance of mesh points from the body, m"""


def tessellation_around(shape: Shape, atol: float) -> Tessellation:
    """Compute the coarsest mesh that contains a convex body and whose overshoot is at most `atol`.

    Parameters
    ----------
    shape : Shape
        A convex body.
    atol : float
        Largest overshoot, m. If 128 segments around the axis do not reach it, the finest mesh is returned; compare its
        `overshoot`.

    Raises
    ------
    ValueError
        If no mesh is proved to contain the body, as for a body as thin as rounding errors.
    """
    if not (np.isfinite(atol) and atol > 0.0):
        raise ValueError(f"atol = {atol!r}: must be a positive length, m")
    best: Tessellation | None = None
    for resolution in _RESOLUTIONS:
        found = _tessellation(shape, resolution)
        if found is not None and (best is None or found.overshoot < best.overshoot):
            best = found
        if best is not None and best.overshoot <= atol:
            break
    if best is None:
        raise ValueError(
            f"{type(shape).__name__}: no mesh is proved to contain it; it may be as thin as rounding errors"
        )
    return best


def tessellations_around(shape: Shape, atol: float) -> list[Tessellation]:
    """Compute convex meshes that together contain a convex body or a torus, with an overshoot of at most `atol`.

    Parameters
    ----------
    shape : Shape
        A convex body or a torus.
    atol : float
        Largest overshoot of each mesh, m.

    Returns
    -------
    list of Tessellation
        One for a convex body.

    Raises
    ------
    ValueError
        As `tessellation_around`.
    """
    if not isinstance(shape, Torus):
        return [tessellation_around(shape, atol)]
    radius = shape.major_radius
    margin = _WRITTEN * (radius + shape.minor_radius)
    ball = tessellation_around(Sphere(shape.minor_radius + 2.0 * margin), 0.4 * atol)
    half = min(math.pi / 4.0, math.acos(radius / (radius + 0.5 * atol)))
    count = math.ceil(math.pi / half)
    half = math.pi / count
    overshoot = radius / math.cos(half) - radius + ball.overshoot + 4.0 * margin
    found = []
    for middle in 2.0 * half * np.arange(count):
        angles, reach = middle + half * np.array([-1.0, 0.0, 1.0]), radius / np.array([1.0, math.cos(half), 1.0])
        triangle = np.column_stack([reach * np.cos(angles), reach * np.sin(angles), np.zeros(3)])
        points = (triangle[:, None] + ball.vertices).reshape(-1, 3).astype(np.float32).astype(np.float64)
        found.append(Tessellation(*mesh_of_hull(ConvexHull(points)), overshoot))
    return found


def _tessellation(shape: Shape, resolution: int) -> Tessellation | None:
    """Compute the mesh of one resolution; return None if it is not proved to contain the body."""
    found = polytope_around(shape, resolution)
    if found is None:
        return None
    vertices, faces = found
    overshoot = float(point_distances(shape, np.eye(4), vertices)[1].max())
    return Tessellation(vertices, faces, max(0.0, overshoot))


def tessellate(shape: Shape, atol: float) -> trimesh.Trimesh:
    """Compute a closed mesh within a distance of the surface of a body of any kind, for export to STL, OBJ or GLB.

    Parameters
    ----------
    shape : Shape
    atol : float
        Largest distance of the surface and the mesh from each other, m. It is measured at corners of a mesh with half
        the steps, which are nearer by a tenth, for the sake of the places between them.

    Returns
    -------
    trimesh.Trimesh
        Its corners are on the surface; ``export("body.stl")`` writes it.

    Raises
    ------
    ImportError
        If trimesh is not installed.
    TypeError
        If `shape` is not one of `superovoid.shapes`.
    ValueError
        If the body is a half-space, or `atol` is not positive or needs more than 1024 segments around the axis.
    """
    if not isinstance(shape, Shape):
        raise TypeError(f"shape: must be a shape of superovoid.shapes, found {type(shape).__name__}")
    if isinstance(shape, HalfSpace):
        raise ValueError("HalfSpace: has no closed mesh")
    atol, resolution = positive("atol", atol, "m"), _COARSEST
    while True:
        mesh = shape.tessellate(resolution)
        points, faces = shape.triangles(2 * resolution)
        if len(mesh.faces) == len(faces):  # flat faces
            return mesh
        # The mesh of a convex body is nowhere farther from the surface than the surface is from the mesh.
        off = float(np.linalg.norm(points - TriangleTree(mesh.triangles).nearest_points(points)[0], axis=1).max())
        if off <= _BETWEEN * atol:
            return mesh
        if resolution == _FINEST:
            raise ValueError(f"atol = {atol!r} m: out of reach of {_FINEST} segments, which leave {off:.3g} m")
        # The distance falls with the square of the resolution.
        resolution = min(_FINEST, math.ceil(resolution * max(1.1, min(4.0, math.sqrt(off / (_BETWEEN * atol))))))


@dataclass(frozen=True)
class TessellatedRobot(Record):
    """A ROS package with a URDF whose collision meshes contain the fitted bodies."""

    urdf: Path
    package: str
    folder: Path
    """folder of the package"""
    overshoot: dict[str, float]
    """for each link, a proved upper bound of the distance of its mesh points from its bodies, m"""
    triangles: int


def write_tessellated(fit: RobotFit, folder: Path, name: str, atol: float = 1e-3) -> TessellatedRobot:
    """Write a fitted robot for readers that support meshes and primitives only.

    Parameters
    ----------
    fit : RobotFit
    folder : Path
        Folder in which the folder of the package is created.
    name : str
        Name of the robot's files.
    atol : float
        Largest overshoot of meshes beyond the bodies, m.

    Returns
    -------
    TessellatedRobot
        The collision elements of fitted links are the fitted bodies: boxes and cylinders as primitives, others as
        meshes. Everything else is as in the fitted URDF.

    Raises
    ------
    ValueError
        If no mesh is proved to contain a body.
    OSError
        If a file cannot be written.
    """
    package = package_name(name)
    root = folder / package
    for part in ("urdf", "meshes"):
        (root / part).mkdir(parents=True, exist_ok=True)
    overshoot, count = {}, 0
    elements: dict[str, list[str]] = {}
    number = 0
    for link in fit.links:
        if not link.bodies:
            continue
        overshoot[link.link], elements[link.link] = 0.0, []
        for body, record in zip(link.bodies, link.elements, strict=True):
            if record["kind"] in _PLAIN:
                elements[link.link].append(_collision(record))
                continue
            for mesh in tessellations_around(body.shape, atol):
                file = mesh_name(number, link.link, "stl")
                number += 1
                write_stl(mesh, root / "meshes" / file)
                overshoot[link.link] = max(overshoot[link.link], mesh.overshoot)
                count += len(mesh.faces)
                elements[link.link].append(_collision(record, f"package://{package}/meshes/{file}"))
    urdf = root / "urdf" / f"{name}.urdf"
    urdf.write_text(urdf_with_collisions(fit.source, elements), encoding="utf-8")
    (root / "package.xml").write_text(_PACKAGE.format(package=package, name=escape(name)), encoding="utf-8")
    (root / "CMakeLists.txt").write_text(_CMAKE.format(package=package), encoding="utf-8")
    return TessellatedRobot(urdf, package, root, overshoot, count)


def package_name(name: str) -> str:
    """Return a valid ROS package name derived from the name of a robot."""
    plain = re.sub(r"_+", "_", re.sub(r"[^a-z0-9_]", "_", name.lower())).strip("_") or "robot"
    return f"{plain if plain[0].isalpha() else 'robot_' + plain}_tessellated"


def mesh_name(number: int, link: str, extension: str) -> str:
    """Return the name of a file from the number of a mesh and its link."""
    return f"{number:03d}_{re.sub(r'[^A-Za-z0-9_-]', '_', link)[:60]}.{extension}"


def write_stl(mesh: Tessellation, file: Path) -> None:
    """Write a mesh as a binary STL file, in single precision."""
    corners = mesh.vertices[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    rows = np.zeros(len(corners), dtype=[("numbers", "<f4", (4, 3)), ("attribute", "<u2")])
    rows["numbers"][:, 0], rows["numbers"][:, 1:] = normals, corners
    file.write_bytes(b"superovoid".ljust(80, b" ") + np.uint32(len(rows)).astype("<u4").tobytes() + rows.tobytes())


def _collision(record: Mapping[str, Any], address: str = "") -> str:
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


_PACKAGE = """<?xml version="1.0"?>
<package format="3">
  <name>{package}</name>
  <version>0.1.0</version>
  <description>{name}: collision meshes that contain the bodies fitted to its links</description>
  <maintainer email="nobody@example.com">nobody</maintainer>
  <license>same as the robot's description</license>
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
