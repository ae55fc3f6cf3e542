# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The triangles of a robot's links, and what of them cannot be had."""

from __future__ import annotations

import hashlib
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from superovoid.robot.errors import RobotDescriptionError
from superovoid.robot.mesh_files import MeshReader
from superovoid.robot.urdf import mesh_file_of, name_packages, origin_of, read_urdf, shape_of
from superovoid.robot.xml import Problems, parse_document
from superovoid.shapes import ConvexMesh, Shape
from superovoid.values.checks import is_refusal

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SOURCES = {"collision": "collision", "visual": "visual", "hull": "collision"}
"""What is aimed at, and the elements it is made of."""
_NAMELESS = "package:///"
_RESOLUTION = 64  # of primitives beside meshes
_LARGE, _SMALL = 5.0, 1e-3  # m; a link across more, or less, is one whose unit is doubtful


@dataclass(frozen=True, eq=False)
class LinkGeometry:
    """What a link is made of, in its frame, m."""

    name: str
    vertices: FloatArray
    faces: IntArray
    state: str
    """"meshes"; or why there is nothing to fit: "empty", "primitives", "own", "unreadable\""""
    words: tuple[str, ...]
    """what is wrong, or doubtful: element, file and reason"""

    @property
    def digest(self) -> str:
        """Of the triangles."""
        made = hashlib.sha256(np.ascontiguousarray(self.vertices).tobytes())
        made.update(np.ascontiguousarray(self.faces, dtype=np.int64).tobytes())
        return made.hexdigest()


def read_links(text: str, packages: Mapping[str, Path], target: str, *, own: bool = True) -> tuple[LinkGeometry, ...]:
    """The geometry of all links of a URDF.

    A mesh that cannot be read makes its own link "unreadable", not the robot.

    Parameters
    ----------
    text : str
        The URDF.
    packages : mapping of str to Path
        Where packages are: the only folders that meshes are opened in.
    target : {"collision", "visual", "hull"}
        Which elements are read ("hull": those of "collision").
    own : bool
        Whether a link with contact geometry of its own is left at that.

    Raises
    ------
    RobotDescriptionError
        If the URDF is wrong, whatever its meshes are.
    """
    read_urdf(text, meshes="ignore")
    reader = MeshReader("triangles", packages)
    root = parse_document(text, "URDF", "robot")
    links = root.findall("link")
    nameless = [any(mesh.get("filename", "").startswith(_NAMELESS) for mesh in link.iter("mesh")) for link in links]
    name_packages(root, Problems(strict=False))
    found = [_link(link, reader, SOURCES[target], own) for link in links]
    word = f"a mesh is at {_NAMELESS}..., which names no package; it is read with one slash less"
    return tuple(
        replace(link, words=(*link.words, word)) if doubtful else link
        for link, doubtful in zip(found, nameless, strict=True)
    )


def read_solids(
    text: str, packages: Mapping[str, Path], target: str, links: Collection[str]
) -> dict[str, list[tuple[Shape, FloatArray]]]:
    """What some links are aimed at, as bodies: shapes and poses in the frame of the link.

    Parameters
    ----------
    text, packages, target
        As for `read_links`. A mesh is the body that its triangles bound, or its triangles where they do not close; of
        "hull" a link is the convex hull of all it has.
    links : collection of str
        Links whose geometry can be read.

    Raises
    ------
    RobotDescriptionError
        If the URDF is wrong, or a mesh of these links.
    """
    root = parse_document(text, "URDF", "robot")
    name_packages(root, Problems(strict=False))
    if target == "hull":
        found = {link.name: link for link in read_links(text, packages, target)}
        return {name: [(ConvexMesh(found[name].vertices[np.unique(found[name].faces)]), np.eye(4))] for name in links}
    reader = MeshReader("shells", packages)
    solids: dict[str, list[tuple[Shape, FloatArray]]] = {}
    for link in root.findall("link"):
        name = str(link.get("name"))
        if name not in links:
            continue
        solids[name] = []
        for element, child in _elements(link, SOURCES[target]):
            try:
                body = reader.body(*mesh_file_of(child))[0] if child.tag == "mesh" else shape_of(child)
            except ValueError as error:
                if not is_refusal(error):
                    raise
                words = _named(SOURCES[target], child, str(error))
                raise RobotDescriptionError(f"URDF: link '{name}' {words}") from error
            solids[name].append((body, origin_of(element)))
    return solids


def read_collision_bodies(
    text: str, packages: Mapping[str, Path], links: Collection[str]
) -> tuple[dict[str, list[tuple[Shape, FloatArray]]], dict[str, tuple[str, ...]]]:
    """Collision elements of some links as convex bodies, meshes as their hulls; and what of links cannot be read."""
    root = parse_document(text, "URDF", "robot")
    name_packages(root, Problems(strict=False))
    reader = MeshReader("hull", packages)
    bodies: dict[str, list[tuple[Shape, FloatArray]]] = {}
    unreadable: dict[str, tuple[str, ...]] = {}
    for link in root.findall("link"):
        name = str(link.get("name"))
        if name not in links:
            continue
        bodies[name] = []
        for element, child in _elements(link, "collision"):
            try:
                shape = reader.body(*mesh_file_of(child))[0] if child.tag == "mesh" else shape_of(child)
            except ValueError as error:
                if not is_refusal(error):
                    raise
                unreadable[name] = (*unreadable.get(name, ()), _named("collision", child, str(error)))
                continue
            bodies[name].append((shape, origin_of(element)))
    return bodies, unreadable


def _elements(link: ET.Element, source: str) -> Iterator[tuple[ET.Element, ET.Element]]:
    """Elements of a link of one kind, and what is in their <geometry>."""
    for element in link.findall(source):
        geometry = element.find("geometry")
        for child in geometry if geometry is not None else ():
            yield element, child


def _link(link: ET.Element, reader: MeshReader, source: str, own: bool) -> LinkGeometry:
    name = str(link.get("name"))
    nothing = np.empty((0, 3)), np.empty((0, 3), dtype=np.int64)
    if own and link.find("contact_geometry") is not None:
        return LinkGeometry(name, *nothing, "own", ("has contact geometry of its own, which stays",))
    found: list[tuple[FloatArray, IntArray]] = []
    words: list[str] = []
    is_meshed = is_readable = False
    unreadable = False
    for element, child in _elements(link, source):
        is_meshed |= child.tag == "mesh"
        try:
            vertices, faces = _triangles(child, reader)
        except ValueError as error:
            if not is_refusal(error):
                raise
            words.append(_named(source, child, str(error)))
            unreadable = True
            continue
        is_readable = True
        pose = origin_of(element)
        found.append((vertices @ pose[:3, :3].T + pose[:3, 3], faces))
        words += [_named(source, child, word) for word in _doubts(vertices)]
    if unreadable:
        return LinkGeometry(name, *nothing, "unreadable", tuple(words))
    if not is_readable:
        return LinkGeometry(name, *nothing, "empty", (f"has no {source} geometry",))
    if not is_meshed:
        return LinkGeometry(name, *nothing, "primitives", ("is of primitives, which stay",))
    first = np.cumsum([0, *(len(vertices) for vertices, _ in found)])
    vertices = np.concatenate([vertices for vertices, _ in found])
    faces = np.concatenate([faces + start for (_, faces), start in zip(found, first, strict=False)])
    return LinkGeometry(name, vertices, faces, "meshes", tuple(words))


def _named(source: str, child: ET.Element, words: str) -> str:
    file = f" '{child.get('filename', '')[:150]}'" if child.tag == "mesh" else ""
    return f"{source} {child.tag}{file}: {words}"


def _triangles(element: ET.Element, reader: MeshReader) -> tuple[FloatArray, IntArray]:
    if element.tag != "mesh":
        return shape_of(element).triangles(_RESOLUTION)
    return reader.triangles(*mesh_file_of(element))


def _doubts(vertices: FloatArray) -> list[str]:
    extent = float(np.ptp(vertices, axis=0).max())
    if extent > _LARGE:
        return [f"is {extent:.3g} m across; if it is drawn in millimetres, it needs scale='0.001 0.001 0.001', "
                "if in inches, scale='0.0254 0.0254 0.0254'"]  # fmt: skip
    if extent < _SMALL:
        return [f"is {1e3 * extent:.3g} mm across; its scale may be applied twice"]
    return []
