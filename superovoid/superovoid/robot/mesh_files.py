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

import os
import posixpath
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

import numpy as np

from superovoid.robot.errors import RobotDescriptionError
from superovoid.robot.polygon_files import (
    MOST_TRIANGLES,
    MalformedError,
    UnsupportedError,
    read_obj,
    read_off,
    read_ply,
    read_stl,
)
from superovoid.robot.polygons import triangulate
from superovoid.robot.scene_files import read_dae, read_glb
from superovoid.shapes import ConvexMesh, Mesh, Shape, Shell
from superovoid.shapes.mesh_library import MissingTrimeshError

MESHES = ("hull", "triangles", "shells", "ignore")
"""What a mesh is: its convex hull; its own triangles, but of an open mesh the hull; its triangles, an open mesh
having no inside; or left out (and reported)."""

_MOST_BYTES = 200_000_000  # of all files of a robot together
_MOST_OF_ROBOT = 4 * MOST_TRIANGLES  # triangles of all its meshes
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
        If it is malformed, needs what its reader does not support, is too large, or holds no triangle.
    """
    try:
        found = _READERS[kind](data)
    except MalformedError as error:
        raise ValueError(f"is no well-formed {kind} file: {str(error)[:200]}") from error
    except (UnsupportedError, RobotDescriptionError, MissingTrimeshError):
        raise
    except Exception as error:  # the libraries have their own kinds of errors; whatever it is, the file was the cause
        raise ValueError(f"is no well-formed {kind} file ({type(error).__name__}: {str(error)[:100]})") from error
    vertices, sizes, corners = found.vertices, found.sizes, found.corners
    if not len(corners):
        raise ValueError("holds no triangles")
    if not 0 <= corners.min() <= corners.max() < len(vertices):
        bad = corners[(corners < 0) | (corners >= len(vertices))][0]
        raise ValueError(f"a face names vertex {bad}, there are {len(vertices)}, counted from 0")
    if sizes.min() < 3:
        raise ValueError(f"has a face of {sizes.min()} corners, expected 3 or more")
    triangles = int((sizes - 2).sum())
    if triangles > MOST_TRIANGLES:
        raise ValueError(f"has {triangles} triangles, expected at most {MOST_TRIANGLES}")
    # Points that no triangle has are no part of the surface, and would count in its hull.
    used, corners = np.unique(corners, return_inverse=True)
    vertices = vertices[used]
    if not np.isfinite(vertices).all():
        raise ValueError("holds a coordinate that is not finite")
    return vertices, triangulate(vertices, sizes, corners)


_READERS = {"dae": read_dae, "glb": read_glb, "obj": read_obj, "off": read_off, "ply": read_ply, "stl": read_stl}
FORMATS = tuple(_READERS)


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
