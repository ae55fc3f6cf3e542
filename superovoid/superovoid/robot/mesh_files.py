# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Meshes of collision elements: rules for opening files, mesh readers, and conversion to bodies.

**Files.**  A URDF may arrive over a topic from an untrusted sender, so it does not decide which files are opened.  A
file is opened only if all of these hold:

* A collision element in use refers to it (never a visual element, or one overridden by a <contact_geometry> element).
* It lies in the folder of a package known to the *caller*: ``package://name/...`` in that of the package, a path or
  ``file://`` address in any of them, after ``..`` is resolved.  Nothing is fetched from a network.  If the caller names
  the file of the URDF, its folder and the one above it are known too, and relative paths start from its folder.
* It is a regular file, its name has the extension of a mesh format (`FORMATS`), and the total size of all files of the
  robot is within a limit.

Files that a mesh file refers to (materials, textures, buffers) are not opened.  Symbolic links inside a package are
followed, because they were created by the user who installed the package (``--symlink-install`` creates many).

**Bodies.**  By default a mesh becomes its convex hull.  Collision meshes are designed for checkers optimised for
convex bodies; many are nearly convex already.  The hull contains the mesh, so that no collision is missed; it has an
interior even if the triangles leave holes; and every result for it can be proved, while for a non-convex body only
shallow overlaps can (docs/reference/shapes.md). If the concavity of a mesh matters, as for a hook, choose its
triangles.
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
"""Body of a mesh: its convex hull; its triangles, or the hull if the mesh is open; its triangles, without an interior
if the mesh is open; or none, with a warning."""

DOCUMENT = ""
"""Name, among those of packages, of the folder of the URDF file, from which relative paths start."""

_MOST_BYTES = 200_000_000  # of all files of a robot together
_MOST_OF_ROBOT = 4 * MOST_TRIANGLES  # triangles of all meshes of a robot
_LARGEST = 1e4  # m; an error beyond
_DOUBTFUL = 30.0  # m; a warning beyond: the unit of the mesh is probably a millimetre


class PackageWords:
    """Base class of folders of packages that describe themselves in errors about unknown packages."""

    searched = "package_directories"
    """where packages are searched"""
    option = "package_directories={{'{name}': FOLDER}}"
    """how to add the package ``{name}``, a format string"""


class MeshReader:
    """Reader of the meshes of one robot; a file used by several links is read once.

    Parameters
    ----------
    meshes : {"hull", "triangles", "shells", "ignore"}
        Body of a mesh, see `MESHES`. No file is opened for "ignore".
    package_directories : mapping of str to path, optional
        Folders of packages by name. Files are opened in these folders only. Errors about others have the words of a
        `PackageWords`, or else those about the argument `package_directories`.
    """

    def __init__(self, meshes: str, package_directories: Mapping[str, str | Path] | None) -> None:
        if meshes not in MESHES:
            raise ValueError(f"meshes = {meshes!r}: must be one of {', '.join(MESHES)}")
        self.meshes = meshes
        self._packages = package_directories or {}
        self._words = package_directories if isinstance(package_directories, PackageWords) else PackageWords()
        self._triangles: dict[Path, tuple[np.ndarray, np.ndarray]] = {}
        self._bodies: dict[tuple[Path, tuple[float, ...]], tuple[Shape, str]] = {}
        self._bytes_left = _MOST_BYTES
        self._triangles_left = _MOST_OF_ROBOT

    def body(self, filename: str, scale: tuple[float, ...]) -> tuple[Shape, str]:
        """Return the body of a mesh, and a warning.

        Parameters
        ----------
        filename : str
            Address of the file, as written in the URDF.
        scale : (float, float, float)
            Factors along the axes of the mesh; negative ones mirror it.

        Returns
        -------
        shape : ConvexMesh, Mesh or Shell
            In the frame of the file, m. As in ROS, the up axis of a Collada file is ignored.
        warning : str
            Empty if there is none.

        Raises
        ------
        ValueError
            If the file may not be opened, cannot be read, or encloses no volume; the message has the reason.
        """
        path = self._path(filename)
        key = path, scale
        if key not in self._bodies:
            vertices, faces = self._load(path)
            self._bodies[key] = self._make_body(vertices * scale, faces)
        return self._bodies[key]

    def triangles(self, filename: str, scale: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return the triangles of a mesh, for drawing; parameters and errors as for `body`.

        Returns
        -------
        vertices : array, shape (n, 3), m
        faces : array of int, shape (m, 3)
            Counter-clockwise seen from outside, also for a mirrored mesh.
        """
        vertices, faces = self._load(self._path(filename))
        return vertices * scale, faces if np.prod(scale) > 0.0 else faces[:, ::-1]

    def _load(self, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices and triangles of a file; every use adds to the number of triangles of the robot."""
        if path not in self._triangles:
            self._triangles[path] = self._read(path)
        vertices, faces = self._triangles[path]
        self._triangles_left -= len(faces)
        if self._triangles_left < 0:
            raise ValueError(f"the meshes of the robot have more than the allowed {_MOST_OF_ROBOT} triangles")
        return vertices, faces

    def _make_body(self, vertices: np.ndarray, faces: np.ndarray) -> tuple[Shape, str]:
        largest = np.abs(vertices).max()
        if not largest <= _LARGEST:
            raise ValueError(f"has a coordinate of {largest:g} m, expected at most {_LARGEST:g} m")
        extent = np.ptp(vertices, axis=0).max()
        words = ""
        if extent > _DOUBTFUL:
            words = f"is {extent:.3g} m across; if its unit is the millimetre, set scale='0.001 0.001 0.001'"
        if self.meshes in ("triangles", "shells"):
            try:
                return Mesh.from_triangles(vertices, faces), words
            except ValueError as error:
                if self.meshes == "shells":
                    return Shell(vertices, faces), words
                words = "; ".join(filter(None, (f"{error}: its convex hull is used", words)))
        return ConvexMesh(vertices), words

    def _path(self, filename: str) -> Path:
        """Return the path of a mesh file; `ValueError` if it may not be opened."""
        address = split_address(filename)
        path = unquote(address.path)
        if "\0" in path:
            raise ValueError("contains a NUL character")
        if address.scheme == "package":
            if address.netloc not in self._packages:
                raise ValueError(
                    f"package '{address.netloc}' is unknown (searched: {self._words.searched}): pass the folder that "
                    f"contains '{path.lstrip('/')}' as {self._words.option.format(name=address.netloc)}"
                )
            return Path(posixpath.normpath(f"{self._packages[address.netloc]}/{path}"))
        if address.scheme not in ("", "file"):
            raise ValueError(f"begins with '{address.scheme}:': expected package://, file:// or an absolute path")
        if address.netloc not in ("", "localhost"):
            raise ValueError(f"refers to a host, '{address.netloc}': expected file:///path, with three slashes")
        folders = {name: Path(folder) for name, folder in self._packages.items()}
        start = folders.pop(DOCUMENT, None)
        if start is None and not path.startswith("/"):
            raise ValueError("is a relative path, but the URDF is text without a folder: expected package://, file:// "
                             "or an absolute path")  # fmt: skip
        known = [*folders.values()]
        if start is not None:
            path = posixpath.join(start.absolute(), path)
            known.append(start.parent if start.parent.name else start)  # never the root of the file system
        found = Path(posixpath.normpath(path))
        if not any(_is_within(found, folder) for folder in known):
            raise ValueError(f"lies outside the known packages ({_list_names(folders)})"
                             + (f" and outside {known[-1]}" if start is not None else ""))  # fmt: skip
        return found

    def _read(self, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices (n, 3), m, and triangles (m, 3) of a file."""
        kind = path.suffix.lower().removeprefix(".")
        if kind not in FORMATS:
            raise ValueError(f"does not have the extension of a mesh file: expected .{', .'.join(FORMATS)}")
        try:
            if not path.is_file():
                raise ValueError(f"there is no file {str(path)[:200]}")
            self._bytes_left -= path.stat().st_size
            if self._bytes_left < 0:
                raise ValueError(f"the meshes of the robot have more than the allowed {_MOST_BYTES / 1e6:.0f} MB")
            data = path.read_bytes()
        except OSError as error:
            raise ValueError(f"cannot be opened: {error.strerror}") from error
        return read_triangles(data, kind)


def read_triangles(data: bytes, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Read the triangles of a mesh file, in metres if the format has units (Collada), otherwise without conversion.

    Parameters
    ----------
    data : bytes
        Content of the file.
    kind : str
        One of `FORMATS`.

    Returns
    -------
    vertices : array, shape (n, 3)
    faces : array of int, shape (m, 3)

    Raises
    ------
    ValueError
        If it is malformed, uses an unsupported feature, is too large, or has no triangles.
    """
    try:
        found = _READERS[kind](data)
    except MalformedError as error:
        raise ValueError(f"is not a well-formed {kind} file: {str(error)[:200]}") from error
    except (UnsupportedError, RobotDescriptionError, MissingTrimeshError):
        raise
    except Exception as error:  # the libraries raise errors of many types, all caused by the file
        raise ValueError(f"is not a well-formed {kind} file ({type(error).__name__}: {str(error)[:100]})") from error
    vertices, sizes, corners = found.vertices, found.sizes, found.corners
    if not len(corners):
        raise ValueError("has no triangles")
    if not 0 <= corners.min() <= corners.max() < len(vertices):
        bad = corners[(corners < 0) | (corners >= len(vertices))][0]
        raise ValueError(f"a face refers to vertex {bad}, but there are {len(vertices)}, counted from 0")
    if sizes.min() < 3:
        raise ValueError(f"has a face of {sizes.min()} corners, expected 3 or more")
    triangles = int((sizes - 2).sum())
    if triangles > MOST_TRIANGLES:
        raise ValueError(f"has {triangles} triangles, expected at most {MOST_TRIANGLES}")
    # Drop unused points: they are not part of the surface, but would enlarge its hull.
    used, corners = np.unique(corners, return_inverse=True)
    vertices = vertices[used]
    if not np.isfinite(vertices).all():
        raise ValueError("has a coordinate that is not finite")
    return vertices, triangulate(vertices, sizes, corners)


_READERS = {"dae": read_dae, "glb": read_glb, "obj": read_obj, "off": read_off, "ply": read_ply, "stl": read_stl}
FORMATS = tuple(_READERS)


def split_address(filename: str) -> SplitResult:
    """Split the address of a mesh into its parts; `ValueError` if it is invalid, or leads out of its package."""
    address = urlsplit(filename)
    inside = posixpath.normpath("/package/" + unquote(address.path)).startswith("/package/")
    if address.scheme == "package" and not inside:
        raise ValueError("leads out of its package")
    return address


def _is_within(path: Path, folder: str | Path) -> bool:
    """Return whether a path lies in a folder, either as written or with symbolic links resolved."""
    written = path.is_relative_to(os.path.abspath(folder))
    return written or Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _list_names(names: Iterable[str]) -> str:
    names = sorted(names)
    return ", ".join(names[:6]) + (f", ... ({len(names)})" if len(names) > 6 else "") or "none"
