# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Triangles of the visual or collision elements of links, for drawing.

No distance depends on them, so an unreadable element is a warning here, but an error for contact geometry
(`superovoid.robot.urdf`). The same rules apply for opening files.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from superovoid.robot.errors import RobotDescriptionError
from superovoid.robot.mesh_files import MeshReader
from superovoid.robot.urdf import mesh_file_of, name_packages, origin_of, shape_of
from superovoid.robot.xml import Problems, describe, name_of, parse_document
from superovoid.values.checks import is_refusal

ELEMENTS = ("visual", "collision")
_RESOLUTION = 24  # facets around a cylinder
_KIND = "URDF"


@dataclass(frozen=True, eq=False)
class Look:
    """Triangles fixed to a link."""

    link: str
    vertices: NDArray[np.float64]
    """Vertices in the mesh frame, shape (n, 3), m."""
    faces: NDArray[np.int64]
    """Vertex indices, shape (m, 3), counter-clockwise seen from outside."""
    link_from_mesh: NDArray[np.float64]
    """Pose of the mesh frame in the link frame, shape (4, 4), m."""


def read_looks(
    xml: str, element: str, package_directories: Mapping[str, str | Path] | None = None
) -> tuple[tuple[Look, ...], tuple[str, ...]]:
    """Read the triangles of the links of a URDF.

    Parameters
    ----------
    xml : str
        The document.
    element : {"visual", "collision"}
        Elements to read.
    package_directories : mapping of str to path, optional
        Folders of packages by name. Mesh files are opened in these folders only.

    Returns
    -------
    looks : tuple of Look
    warnings : tuple of str
        One for each unreadable element.

    Raises
    ------
    RobotDescriptionError
        If the document is not a URDF.
    """
    if element not in ELEMENTS:
        raise ValueError(f"element = {element!r}: must be one of {', '.join(ELEMENTS)}")
    robot = parse_document(xml, _KIND, "robot")
    problems = Problems(strict=False)
    name_packages(robot, problems)
    reader = MeshReader("triangles", package_directories)
    looks = []
    for link in robot.findall("link"):
        for one in link.findall(element):
            for geometry in one.findall("geometry"):
                for child in geometry:
                    with problems:
                        looks.append(Look(name_of(link, _KIND), *_triangles(child, reader), origin_of(one)))
    return tuple(looks), problems.warnings(_KIND)


def _triangles(element: ET.Element, reader: MeshReader) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    if element.tag not in ("mesh", "sphere", "box", "cylinder", "capsule", "ellipsoid", "superellipsoid", "superovoid"):
        raise RobotDescriptionError(f"{_KIND}: {describe(element)}: unknown geometry, not drawn")
    if element.tag != "mesh":
        return shape_of(element).triangles(_RESOLUTION)
    filename, scale = mesh_file_of(element)
    try:
        return reader.triangles(filename, scale)
    except ValueError as error:
        if not is_refusal(error):
            raise
        raise RobotDescriptionError(f"{_KIND}: {describe(element)}: filename = '{filename[:150]}': {error}") from error
