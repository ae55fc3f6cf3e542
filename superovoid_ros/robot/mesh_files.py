# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Meshes of collision elements: which files may be opened, how they are read, and what bodies they become.

**Which files.**  A URDF may come over a topic from anybody, so it does not decide what is opened.  A file is opened
only if all of this holds:

* a collision element that counts names it (never one of a visual element, or beside our own <contact_geometry>);
* it lies in the folder of a package that the *caller* knows: ``package://name/...`` in that of the package, an absolute
  path or ``file://`` address in any of them, ``..`` worked out before; nothing is fetched from a network;
* it is a regular file, its name ends like that of a mesh (`FORMATS`), and with the others it is not too large.

What a mesh file refers to itself (materials, textures, buffers) is not opened.  A symbolic link inside of a package
leads where whoever installed the package wants (a workspace built with ``--symlink-install`` is made of them).

**What body.**  By default a mesh stands for its convex hull.  Collision meshes are drawn for checkers that are fast
with convex bodies, so many are convex or nearly so already; a hull is never smaller than its mesh, so that nothing is
said to be free that is not; it has an inside even where the triangles leave holes; and every answer about it can be
proved, which for overlaps of a body that is not convex holds for shallow ones only (docs/shapes.md).  Where the hollow
of a mesh matters, a hook or a cup, the triangles themselves can be asked for.
"""

from __future__ import annotations

import io
import json
import os
import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

import numpy as np
from lxml import etree

from superovoid_ros.robot.xml import parse_bytes
from superovoid_ros.shapes import ConvexMesh, Mesh, Shape, Shell
from superovoid_ros.shapes.mesh_library import trimesh_for

if TYPE_CHECKING:
    import trimesh

MESHES = ("hull", "triangles", "shells", "ignore")
"""What a mesh is: its convex hull; its own triangles, but of an open mesh the hull; its triangles, an open mesh
having no inside; or left out (and reported)."""
FORMATS = ("dae", "glb", "obj", "off", "ply", "stl")

MOST_TRIANGLES = 500_000
"""Of one mesh, however often it is repeated in its file."""
_MOST_BYTES = 200_000_000  # of all files of a robot together
_MOST_OF_ROBOT = 4 * MOST_TRIANGLES  # triangles of all its meshes
_MOST_PARTS = 2_000  # of one file, however often each is repeated; trimesh's time grows with their square
_PART_BEGINS = {
    "obj": re.compile(rb"^[ \t]*usemtl\b", re.MULTILINE),
    "stl": re.compile(rb"^[ \t]*solid\b", re.MULTILINE),
}
_LARGEST = 1e4  # m; absurd beyond
_DOUBTFUL = 30.0  # m; a link of this size is one whose mesh was drawn in millimetres


class MeshReader:
    """Makes bodies of the meshes of one robot; a file that several links name is read once.

    Parameters
    ----------
    meshes : {"hull", "triangles", "shells", "ignore"}
        What a mesh becomes. Nothing is opened for "ignore".
    package_directories : mapping of str to path, optional
        Where packages are: the only folders that files are opened in.
    """

    def __init__(self, meshes: str, package_directories: Mapping[str, str | Path] | None) -> None:
        if meshes not in MESHES:
            raise ValueError(f"meshes = {meshes!r}: must be one of {', '.join(MESHES)}")
        self.meshes = meshes
        self._packages = package_directories or {}
        self._triangles: dict[Path, tuple[np.ndarray, np.ndarray]] = {}
        self._bodies: dict[tuple[Path, tuple[float, ...]], tuple[Shape, str]] = {}
        self._bytes_left = _MOST_BYTES
        self._triangles_left = _MOST_OF_ROBOT

    def body(self, filename: str, scale: tuple[float, ...]) -> tuple[Shape, str]:
        """The body of a mesh, and what is worth a warning about it.

        Parameters
        ----------
        filename : str
            As the URDF has it.
        scale : (float, float, float)
            Factors along the axes of the mesh; negative ones mirror it.

        Returns
        -------
        shape : ConvexMesh, Mesh or Shell
            In the frame of the file (a Collada file's up axis is not looked at: ROS takes coordinates as they are), m.
        warning : str
            Empty: nothing.

        Raises
        ------
        ValueError
            If the file may not be opened, cannot be read, or encloses no volume; says why.
        """
        path = self._path(filename)
        key = path, scale
        if key not in self._bodies:
            vertices, faces = self._counted(path)
            self._bodies[key] = self._made(vertices * scale, faces)
        return self._bodies[key]

    def triangles(self, filename: str, scale: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
        """The triangles of a mesh as they are, to be looked at; parameters and errors as for `body`.

        Returns
        -------
        vertices : array, shape (n, 3), m
        faces : array of int, shape (m, 3)
            Counter-clockwise seen from outside, of a mesh that is mirrored too.
        """
        vertices, faces = self._counted(self._path(filename))
        return vertices * scale, faces if np.prod(scale) > 0.0 else faces[:, ::-1]

    def _counted(self, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """Vertices and triangles of a file, which count once more towards those of the robot."""
        if path not in self._triangles:
            self._triangles[path] = self._read(path)
        vertices, faces = self._triangles[path]
        self._triangles_left -= len(faces)
        if self._triangles_left < 0:
            raise ValueError(f"the meshes of the robot have more than {_MOST_OF_ROBOT} triangles")
        return vertices, faces

    def _made(self, vertices: np.ndarray, faces: np.ndarray) -> tuple[Shape, str]:
        largest = np.abs(vertices).max()
        if not largest <= _LARGEST:
            raise ValueError(f"has a coordinate of {largest:g} m, which is absurd, expected at most {_LARGEST:g}")
        extent = np.ptp(vertices, axis=0).max()
        words = ""
        if extent > _DOUBTFUL:
            words = f"is {extent:.3g} m across; if it is drawn in millimetres, it needs scale='0.001 0.001 0.001'"
        if self.meshes in ("triangles", "shells"):
            try:
                return Mesh.from_triangles(vertices, faces), words
            except ValueError as error:
                if self.meshes == "shells":
                    return Shell(vertices, faces), words
                words = "; ".join(filter(None, (f"{error}: its convex hull is taken", words)))
        return ConvexMesh(vertices), words

    def _path(self, filename: str) -> Path:
        """Where a mesh is; `ValueError` where it may not be opened."""
        address = split_address(filename)
        path = unquote(address.path)
        if "\0" in path:
            raise ValueError("holds a NUL character")
        if address.scheme == "package":
            if address.netloc not in self._packages:
                known = len(self._packages)
                raise ValueError(
                    f"package '{address.netloc}' is none of the {known} known ones: give its folder in "
                    "package_directories (a node finds the packages of a sourced workspace by itself)"
                )
            return Path(posixpath.normpath(f"{self._packages[address.netloc]}/{path}"))
        if address.scheme not in ("", "file"):
            raise ValueError(f"begins with '{address.scheme}:': expected package://, file:// or an absolute path")
        if address.netloc not in ("", "localhost"):
            raise ValueError(f"names a host, '{address.netloc}': expected file:///path, with three slashes")
        if not path.startswith("/"):
            raise ValueError("is relative, but a URDF comes as text, without a folder: expected package://, file:// "
                             "or an absolute path")  # fmt: skip
        found = Path(posixpath.normpath(path))
        if not any(_is_within(found, folder) for folder in self._packages.values()):
            raise ValueError(f"lies in none of the packages {_some(self._packages)}")
        return found

    def _read(self, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """Vertices (n, 3), m, and triangles (m, 3) of a file."""
        kind = path.suffix.lower().removeprefix(".")
        if kind not in FORMATS:
            raise ValueError(f"is no mesh by its name: expected one that ends with .{', .'.join(FORMATS)}")
        try:
            if not path.is_file():
                raise ValueError(f"there is no file {str(path)[:200]}")
            self._bytes_left -= path.stat().st_size
            if self._bytes_left < 0:
                raise ValueError(f"the meshes of the robot have more than {_MOST_BYTES / 1e6:.0f} MB")
            data = path.read_bytes()
        except OSError as error:
            raise ValueError(f"cannot be opened: {error.strerror}") from error
        return read_triangles(data, kind)


def read_triangles(data: bytes, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Triangles of a mesh file, in metres where the format has units (Collada), as they are where it has none.

    Parameters
    ----------
    data : bytes
        The file.
    kind : str
        One of `FORMATS`.

    Returns
    -------
    vertices : array, shape (n, 3)
    faces : array of int, shape (m, 3)

    Raises
    ------
    ValueError
        If it is malformed or holds no triangle.
    """
    trimesh = trimesh_for("a mesh of a robot")
    if kind == "dae":
        data = _plain_collada(data)
    elif kind == "glb":
        _check_counts(data)
    else:
        data = _without_foreign_letters(data, kind)
        if kind in _PART_BEGINS:
            _check_parts(len(_PART_BEGINS[kind].findall(data)))
    try:
        # Without a resolver nothing that the file refers to is looked for. Unprocessed: triangles with a corner that is
        # not finite would be dropped without a word.
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, process=False)
        count, triangles = _instances(scene)
    except Exception as error:  # every reader has its own kinds of errors; whatever it is, the file was the cause
        raise _malformed(kind, error) from error
    _check_parts(count)
    if triangles > MOST_TRIANGLES:
        raise ValueError(f"has {triangles} triangles, expected at most {MOST_TRIANGLES}")
    try:
        parts = [part for part in scene.dump() if isinstance(part, trimesh.Trimesh) and len(part.faces)]
        metres = [1.0 if part.units is None else trimesh.units.unit_conversion(part.units, "meters") for part in parts]
    except Exception as error:
        raise _malformed(kind, error) from error
    if not parts and kind == "stl" and data and b"facet" not in data:
        # What is no binary file is read as text, and bytes pass for text where a library that guesses encodings is
        # installed.
        raise _malformed(kind, ValueError("neither binary, with as many triangles as it says, nor text with facets"))
    if not parts:
        raise ValueError("holds no triangles")
    for part in parts:
        _check_part(part)
    first = np.cumsum([0, *(len(part.vertices) for part in parts)])
    vertices = np.concatenate([factor * part.vertices for part, factor in zip(parts, metres, strict=True)])
    faces = np.concatenate([part.faces + start for part, start in zip(parts, first, strict=False)])
    if not np.isfinite(vertices).all():
        raise ValueError("holds a coordinate that is not finite")
    # Points that no triangle has are no part of the surface, and would count in its hull.
    used, corners = np.unique(faces, return_inverse=True)
    return vertices[used], corners.reshape(faces.shape)


def _check_parts(count: int) -> None:
    if count > _MOST_PARTS:
        raise ValueError(f"has {count} parts, expected at most {_MOST_PARTS}")


def _malformed(kind: str, error: Exception) -> ValueError:
    return ValueError(f"is no well-formed {kind} file ({type(error).__name__}: {str(error)[:100]})")


def _instances(scene: trimesh.Scene) -> tuple[int, int]:
    """How many parts a scene places, and how many triangles they have together."""
    of_geometry = {name: len(getattr(part, "faces", ())) for name, part in scene.geometry.items()}
    placed = [scene.graph[node][1] for node in scene.graph.nodes_geometry]
    return len(placed), sum(of_geometry.get(name, 0) for name in placed)


def _check_part(part: trimesh.Trimesh) -> None:
    """Refuse what no reader checks: points that are not of space, triangles with corners that there are not."""
    vertices, faces = np.asarray(part.vertices), np.asarray(part.faces)
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise ValueError(f"has vertices of {vertices.shape[-1]} coordinates, expected 3")
    if faces.ndim != 2 or faces.shape[1] != 3:
        raise ValueError(f"has faces of {faces.shape[-1]} corners that are no triangles")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise ValueError(f"a triangle names vertex {faces.min()} or {faces.max()}, there are {len(vertices)}")


def _without_foreign_letters(data: bytes, kind: str) -> bytes:
    """A file of text, or with a header of text, whose letters trimesh can read: all that matters in one is ASCII.

    Names and comments in Latin-1 are neither UTF-8 nor anything that a file could tell. Each byte that is no ASCII
    becomes a question mark, so that nothing moves; a file that is UTF-8 stays as it is.
    """
    end = len(data)
    if kind == "ply":
        end = data.find(b"end_header") + 1 or len(data)
    elif kind == "stl" and (not data.lstrip().startswith(b"solid") or _is_binary_stl(data)):
        return data  # the header of a binary file is never read as text
    text = data[:end]
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.translate(_ASCII) + data[end:]
    return data


def _is_binary_stl(data: bytes) -> bool:
    return len(data) >= 84 and len(data) == 84 + 50 * int.from_bytes(data[80:84], "little")


_ASCII = bytes(byte if byte < 128 else ord("?") for byte in range(256))


def _check_counts(data: bytes) -> None:
    """Refuse a binary glTF that declares more numbers than it has bytes: what it does not have is made up as zeros."""
    try:
        length = int.from_bytes(data[12:16], "little")
        header = json.loads(data[20 : 20 + length])
        counts = [int(accessor.get("count", 0)) for accessor in header.get("accessors", ())]
        parts = max(len(header.get("meshes", ())), len(header.get("nodes", ())))
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise _malformed("glb", error) from error
    _check_parts(parts)
    if sum(map(abs, counts)) > len(data):
        raise ValueError(f"declares {sum(map(abs, counts))} elements in {len(data)} bytes")


def _plain_collada(data: bytes) -> bytes:
    """A Collada file in UTF-8, without document type, whose parts are not repeated without end."""
    try:
        root = parse_bytes(data, "")
    except etree.XMLSyntaxError as error:
        raise _malformed("dae", error) from error
    _check_parts(max(sum(1 for _ in root.iter(f"{{*}}{tag}")) for tag in ("geometry", "node")))
    nodes = {node.get("id"): node for node in root.iter("{*}node") if node.get("id")}
    counts: dict[etree._Element, int] = {}

    def inner(node: etree._Element) -> list[etree._Element]:
        named = (one.get("url", "").removeprefix("#") for one in node.iterchildren("{*}instance_node"))
        return [*node.iterchildren("{*}node"), *(nodes[name] for name in named if name in nodes)]

    # Depth first, without calling itself: a node is counted when all in it are.
    waiting = [(node, False) for node in root.iter("{*}node")]
    open_nodes: set[etree._Element] = set()
    while waiting:
        node, is_read = waiting.pop()
        if is_read:
            open_nodes.discard(node)
            own = sum(1 for _ in node.iterchildren("{*}instance_geometry", "{*}instance_controller"))
            counts[node] = own + 1 + sum(counts[one] for one in inner(node))
            if counts[node] > _MOST_PARTS:
                raise ValueError(f"repeats its parts more than {_MOST_PARTS} times (node '{node.get('id')}')")
        elif node in open_nodes:
            raise ValueError(f"node '{node.get('id')}' contains itself")
        elif node not in counts:
            open_nodes.add(node)
            waiting.append((node, True))
            waiting += [(one, False) for one in inner(node) if one not in counts]
    return etree.tostring(root, encoding="utf-8", xml_declaration=True)


def split_address(filename: str) -> SplitResult:
    """The parts of a mesh's address; `ValueError` where it is none, or leads out of its package."""
    address = urlsplit(filename)
    inside = posixpath.normpath("/package/" + unquote(address.path)).startswith("/package/")
    if address.scheme == "package" and not inside:
        raise ValueError("leads out of its package")
    return address


def _is_within(path: Path, folder: str | Path) -> bool:
    """Whether a path lies in a folder, as both are written or, with symbolic links followed, as both really are."""
    written = path.is_relative_to(os.path.abspath(folder))
    return written or Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _some(names: Iterable[str]) -> str:
    names = sorted(names)
    return ", ".join(names[:6]) + (f", ... ({len(names)})" if len(names) > 6 else "") or "(none is known)"
