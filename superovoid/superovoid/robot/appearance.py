# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What links look like: the triangles of their visual or collision elements, to be drawn.

Nothing is computed with them, so what cannot be read is a warning here, where it is an error for contact geometry
(`superovoid.robot.urdf`). Files are opened by the same rules.
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
from superovoid.robot.xml import Doubts, describe, name_of, parse_document
from superovoid.values.checks import is_refusal

ELEMENTS = ("visual", "collision")
_RESOLUTION = 24  # facets round a cylinder
_KIND = "URDF"


@dataclass(frozen=True, eq=False)
class Look:
    """Triangles on a link."""

    link: str
    vertices: NDArray[np.float64]
    """Shape (n, 3), m."""
    faces: NDArray[np.int64]
    """Shape (m, 3), counter-clockwise seen from outside."""
    link_from_mesh: NDArray[np.float64]
    """Shape (4, 4), m."""


def read_looks(
    xml: str, element: str, package_directories: Mapping[str, str | Path] | None = None
) -> tuple[tuple[Look, ...], tuple[str, ...]]:
    """Read what the links of a URDF look like.

    Parameters
    ----------
    xml : str
        The document.
    element : {"visual", "collision"}
        Which elements.
    package_directories : mapping of str to path, optional
        Where packages are: the only folders that meshes are opened in.

    Returns
    -------
    looks : tuple of Look
    warnings : tuple of str
        What could not be read.

    Raises
    ------
    RobotDescriptionError
        If the document is no URDF.
    """
    if element not in ELEMENTS:
        raise ValueError(f"element = {element!r}: must be one of {', '.join(ELEMENTS)}")
    robot = parse_document(xml, _KIND, "robot")
    doubts = Doubts(strict=False)
    name_packages(robot, doubts)
    reader = MeshReader("triangles", package_directories)
    looks = []
    for link in robot.findall("link"):
        for one in link.findall(element):
            for geometry in one.findall("geometry"):
                for child in geometry:
                    with doubts:
                        looks.append(Look(name_of(link, _KIND), *_triangles(child, reader), origin_of(one)))
    return tuple(looks), doubts.words(_KIND)


def _triangles(element: ET.Element, reader: MeshReader) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    if element.tag not in ("mesh", "sphere", "box", "cylinder", "capsule", "ellipsoid", "superellipsoid", "superovoid"):
        raise RobotDescriptionError(f"{_KIND}: {describe(element)}: is not drawn")
    if element.tag != "mesh":
        return shape_of(element).triangles(_RESOLUTION)
    filename, scale = mesh_file_of(element)
    try:
        return reader.triangles(filename, scale)
    except ValueError as error:
        if not is_refusal(error):
            raise
        raise RobotDescriptionError(f"{_KIND}: {describe(element)}: filename = '{filename[:150]}': {error}") from error
