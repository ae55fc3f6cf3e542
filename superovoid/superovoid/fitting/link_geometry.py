# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Read the triangles of a robot's links, and report what cannot be read."""

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

SOURCES = {"auto": None, "collision": "collision", "visual": "visual", "hull": "collision"}
"""Fit targets and the URDF elements that they consist of; None: chosen for each link."""
_NAMELESS = "package:///"
_RESOLUTION = 64  # of primitives in links that also have meshes
_LARGE, _SMALL = 5.0, 1e-3  # m; a link of larger, or smaller, extent probably has the wrong unit


@dataclass(frozen=True, eq=False)
class LinkGeometry:
    """Geometry of a link, in its frame, m."""

    name: str
    vertices: FloatArray
    faces: IntArray
    state: str
    """"meshes", or the reason why there is nothing to fit: "empty", "primitives", "own", "unreadable\""""
    words: tuple[str, ...]
    """errors and warnings: element, file and reason"""
    source: str = "collision"
    """elements that were read: "collision" or "visual\""""

    @property
    def digest(self) -> str:
        """Digest of the triangles."""
        made = hashlib.sha256(np.ascontiguousarray(self.vertices).tobytes())
        made.update(np.ascontiguousarray(self.faces, dtype=np.int64).tobytes())
        return made.hexdigest()


def read_links(text: str, packages: Mapping[str, Path], target: str, *, own: bool = True) -> tuple[LinkGeometry, ...]:
    """Read the geometry of all links of a URDF.

    A mesh that cannot be read makes only its link "unreadable".

    Parameters
    ----------
    text : str
        The URDF.
    packages : mapping of str to Path
        Folders of ROS packages; meshes are opened in these folders only.
    target : {"auto", "collision", "visual", "hull"}
        Elements to read ("hull": those of "collision"; "auto": those of "collision", or of "visual" for a link
        without).
    own : bool
        If true, do not read meshes of links that have contact geometry.

    Raises
    ------
    RobotDescriptionError
        If the URDF is invalid, apart from its meshes.
    """
    read_urdf(text, meshes="ignore")
    reader = MeshReader("triangles", packages)
    root = parse_document(text, "URDF", "robot")
    links = root.findall("link")
    nameless = [any(mesh.get("filename", "").startswith(_NAMELESS) for mesh in link.iter("mesh")) for link in links]
    name_packages(root, Problems(strict=False))
    found = [_link(link, reader, target, own) for link in links]
    word = f"a mesh address {_NAMELESS}... names no package; it is read with one slash less"
    return tuple(
        replace(link, words=(*link.words, word)) if doubtful else link
        for link, doubtful in zip(found, nameless, strict=True)
    )


def read_solids(
    text: str, packages: Mapping[str, Path], target: str, links: Collection[str]
) -> dict[str, list[tuple[Shape, FloatArray]]]:
    """Read the fit targets of some links as bodies: shapes and poses in the frame of the link.

    Parameters
    ----------
    text, packages, target
        As for `read_links`. A closed mesh becomes the solid that it bounds, an open mesh its triangles; with "hull" a
        link becomes the convex hull of all its elements.
    links : collection of str
        Links whose geometry can be read.

    Raises
    ------
    RobotDescriptionError
        If the URDF, or a mesh of these links, is invalid.
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
        source = _source_of(link, target)
        for element, child in _elements(link, source):
            try:
                body = reader.body(*mesh_file_of(child))[0] if child.tag == "mesh" else shape_of(child)
            except ValueError as error:
                if not is_refusal(error):
                    raise
                words = _message(source, child, str(error))
                raise RobotDescriptionError(f"URDF: link '{name}' {words}") from error
            solids[name].append((body, origin_of(element)))
    return solids


def read_collision_bodies(
    text: str, packages: Mapping[str, Path], links: Collection[str]
) -> tuple[dict[str, list[tuple[Shape, FloatArray]]], dict[str, tuple[str, ...]]]:
    """Read collision elements of some links as convex bodies (hulls of meshes); return them and errors by link."""
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
                unreadable[name] = (*unreadable.get(name, ()), _message("collision", child, str(error)))
                continue
            bodies[name].append((shape, origin_of(element)))
    return bodies, unreadable


def _elements(link: ET.Element, source: str) -> Iterator[tuple[ET.Element, ET.Element]]:
    """Iterate over a link's elements of one kind, with the children of their <geometry>."""
    for element in link.findall(source):
        geometry = element.find("geometry")
        for child in geometry if geometry is not None else ():
            yield element, child


def _source_of(link: ET.Element, target: str) -> str:
    """Return the kind of elements that make the target of a link."""
    return SOURCES[target] or ("collision" if any(_elements(link, "collision")) else "visual")


def _link(link: ET.Element, reader: MeshReader, target: str, own: bool) -> LinkGeometry:
    name, source = str(link.get("name")), _source_of(link, target)
    nothing = np.empty((0, 3)), np.empty((0, 3), dtype=np.int64)
    if own and link.find("contact_geometry") is not None:
        return LinkGeometry(name, *nothing, "own", ("already has contact geometry, which is kept",))
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
            words.append(_message(source, child, str(error)))
            unreadable = True
            continue
        is_readable = True
        pose = origin_of(element)
        found.append((vertices @ pose[:3, :3].T + pose[:3, 3], faces))
        words += [_message(source, child, word) for word in _warnings(vertices)]
    if unreadable:
        return LinkGeometry(name, *nothing, "unreadable", tuple(words), source)
    if not is_readable:
        where = "collision or visual" if target == "auto" else source
        return LinkGeometry(name, *nothing, "empty", (f"has no {where} geometry",), source)
    taken = (
        ("has no collision geometry: its visual meshes are fitted",) if SOURCES[target] != source == "visual" else ()
    )
    if not is_meshed:
        if taken:
            words = ["has no collision geometry, and its visual geometry is primitives, which are not fitted"]
            return LinkGeometry(name, *nothing, "empty", tuple(words), source)
        return LinkGeometry(name, *nothing, "primitives", ("has primitives only, which are kept",), source)
    first = np.cumsum([0, *(len(vertices) for vertices, _ in found)])
    vertices = np.concatenate([vertices for vertices, _ in found])
    faces = np.concatenate([faces + start for (_, faces), start in zip(found, first, strict=False)])
    return LinkGeometry(name, vertices, faces, "meshes", (*taken, *words), source)


def _message(source: str, child: ET.Element, words: str) -> str:
    file = f" '{child.get('filename', '')[:150]}'" if child.tag == "mesh" else ""
    return f"{source} {child.tag}{file}: {words}"


def _triangles(element: ET.Element, reader: MeshReader) -> tuple[FloatArray, IntArray]:
    if element.tag != "mesh":
        return shape_of(element).triangles(_RESOLUTION)
    return reader.triangles(*mesh_file_of(element))


def _warnings(vertices: FloatArray) -> list[str]:
    extent = float(np.ptp(vertices, axis=0).max())
    if extent > _LARGE:
        return [f"is {extent:.3g} m across; if it is drawn in millimetres, it needs scale='0.001 0.001 0.001', "
                "if in inches, scale='0.0254 0.0254 0.0254'"]  # fmt: skip
    if extent < _SMALL:
        return [f"is {1e3 * extent:.3g} mm across; its scale may be applied twice"]
    return []
