# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Convert bodies to URDF elements and to records of a report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.xml_edits import Edits, element
from superovoid.robot.mesh_files import split_address
from superovoid.robot.urdf import pose_matrix
from superovoid.shapes import Box, Capsule, ConvexMesh, Cylinder, Shape, Sphere, Superovoid, Torus

FloatArray = NDArray[np.float64]


def roll_pitch_yaw(rotation: FloatArray) -> FloatArray:
    """Return the angles of a rotation matrix about the fixed axes x, y, z (URDF), shape (3,).

    Near gimbal lock (pitch of a quarter turn), where only a combination of roll and yaw is defined, roll is 0.
    """
    pitch = np.arctan2(-rotation[2, 0], np.hypot(rotation[0, 0], rotation[1, 0]))
    if np.hypot(rotation[0, 0], rotation[1, 0]) < 1e-9:
        return np.array([0.0, pitch, np.arctan2(-rotation[0, 1], rotation[1, 1])])
    return np.array([np.arctan2(rotation[2, 1], rotation[2, 2]), pitch, np.arctan2(rotation[1, 0], rotation[0, 0])])


def record_of_body(shape: Shape, pose: FloatArray) -> dict[str, Any]:
    """Return a body as a mapping: kind and parameters as in a URDF, and the pose as xyz and rpy."""
    record: dict[str, Any] = {}
    if isinstance(shape, Sphere):
        record |= {"kind": "sphere", "radius": shape.radius}
    elif isinstance(shape, Superovoid):
        record |= {
            "kind": "superovoid",
            "size": [*shape.semi_axes],
            "epsilon": [shape.section_exponent, shape.profile_exponent],
            "taper": [*shape.taper],
        }
    elif isinstance(shape, Box):
        record |= {"kind": "box", "size": [*shape.lengths]}
    elif isinstance(shape, Cylinder | Capsule):
        record |= {"kind": type(shape).__name__.lower(), "radius": shape.radius, "length": shape.length}
    elif isinstance(shape, Torus):
        record |= {"kind": "torus", "major_radius": shape.major_radius, "minor_radius": shape.minor_radius}
    elif isinstance(shape, ConvexMesh):
        record |= {"kind": "hull of a mesh", "vertices": len(shape.vertices)}
    else:
        raise TypeError(f"shape: a {type(shape).__name__} cannot be written to a URDF")
    record["xyz"] = [float(value) for value in pose[:3, 3]]
    record["rpy"] = [float(value) for value in roll_pitch_yaw(pose[:3, :3])]
    return record


def body_from_record(record: Mapping[str, Any]) -> tuple[Shape, FloatArray]:
    """Return the body of a record, exactly as a URDF reader constructs it."""
    kind = record["kind"]
    shape: Shape
    if kind == "superovoid":
        shape = Superovoid.from_goncalves(record["size"], record["epsilon"], record["taper"])
    elif kind == "box":
        shape = Box(record["size"])
    elif kind in ("cylinder", "capsule"):
        shape = {"cylinder": Cylinder, "capsule": Capsule}[kind](record["radius"], record["length"])
    elif kind == "torus":
        shape = Torus(record["major_radius"], record["minor_radius"])
    else:
        raise ValueError(f"kind = {kind!r}: must be superovoid, box, cylinder, capsule or torus")
    return shape, pose_matrix(record["xyz"], record["rpy"])


def urdf_with_bodies(text: str, bodies: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Add contact geometry to the links of a URDF; everything else is kept, including comments.

    Parameters
    ----------
    text : str
        A URDF accepted by `superovoid.robot.urdf.read_urdf`.
    bodies : mapping of str to sequence of mapping
        For each link, its bodies in its frame, as returned by `record_of_body`.
    """
    edits = Edits(text)
    for link in edits.root.children:
        added = bodies.get(link.attributes.get("name", ""), ()) if link.tag == "link" else ()
        if added:
            edits.append(link, [_element(record) for record in added])
    return edits.text()


def urdf_with_collisions(text: str, elements: Mapping[str, Sequence[str]]) -> str:
    """Return a URDF with the collision elements of some links replaced by others, given as XML."""
    edits = Edits(text)
    for link in edits.root.children:
        added = elements.get(link.attributes.get("name", ""), ()) if link.tag == "link" else ()
        if added:
            edits.remove([each for each in link.children if each.tag == "collision"])
            edits.append(link, added)
    return edits.text()


def urdf_for_folder(text: str, start: Path, folder: Path) -> str:
    """Return a URDF whose relative mesh paths start from another folder.

    Parameters
    ----------
    text : str
        The URDF.
    start, folder : Path
        Folders from which the paths start in this text, and in the returned one.
    """
    edits = Edits(text)
    left = [edits.root]
    while left:
        place = left.pop()
        left += place.children
        path = _relative_path(place.attributes.get("filename", "")) if place.tag == "mesh" else ""
        if path:
            edits.set(place, "filename", quote(os.path.relpath(start / path, folder)))
    return edits.text()


def _relative_path(filename: str) -> str:
    """Return the path of a relative address; empty for other addresses, and for invalid ones."""
    with suppress(ValueError):
        address = split_address(filename)
        if address.scheme in ("", "file") and not address.path.startswith("/"):
            return unquote(address.path)
    return ""


def _element(record: Mapping[str, Any]) -> str:
    fields = {
        name: _numbers(value if isinstance(value, list | tuple) else (value,))
        for name, value in record.items()
        if name not in ("kind", "xyz", "rpy")
    }
    origin = element("origin", {name: _numbers(record[name]) for name in ("xyz", "rpy")})
    return element("contact_geometry", {}, [origin, element(record["kind"], fields)])


def _numbers(values: object) -> str:
    """Return numbers as text that reads back to the same bits."""
    return " ".join(repr(float(value)) for value in np.asarray(values).ravel())
