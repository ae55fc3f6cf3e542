# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Read the spheres of a robot from a configuration of cuRobo (YAML).

The document, or its part ``robot_cfg: kinematics``, has ``collision_spheres``: for each link a list of spheres with
`center` and `radius`, m, in the frame of the link. ``collision_sphere_buffer``, a number or one for some links, is
added to the radii. A sphere whose radius is not positive then is switched off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superovoid.robot.errors import RobotDescriptionError
from superovoid.shapes import Shape, Sphere

FloatArray = NDArray[np.float64]
SUFFIXES = (".yml", ".yaml")


def read_spheres(text: str) -> dict[str, list[tuple[Shape, FloatArray]]]:
    """Return the spheres of each link, with their poses in its frame.

    Raises
    ------
    RobotDescriptionError
        If the document is malformed or has no spheres.
    ImportError
        If PyYAML is not installed.
    """
    import yaml

    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RobotDescriptionError(f"spheres: {error}") from error
    part = document if isinstance(document, Mapping) else {}
    if isinstance(part.get("robot_cfg"), Mapping):
        part = part["robot_cfg"].get("kinematics") or {}
    links, buffer = part.get("collision_spheres"), part.get("collision_sphere_buffer", 0.0)
    if not isinstance(links, Mapping) or not links:
        raise RobotDescriptionError("spheres: 'collision_spheres' has no list of spheres for each link")
    found: dict[str, list[tuple[Shape, FloatArray]]] = {}
    for link, spheres in links.items():
        added = float(buffer.get(link, 0.0) if isinstance(buffer, Mapping) else buffer)
        read = [_sphere(link, number, each, added) for number, each in enumerate(spheres or ())]
        found[str(link)] = [each for each in read if each is not None]
    return found


def _sphere(link: object, number: int, given: Any, added: float) -> tuple[Shape, FloatArray] | None:
    try:
        pose = np.eye(4)
        pose[:3, 3] = given["center"]
        radius = float(given["radius"]) + added
        return (Sphere(radius), pose) if radius > 0.0 and np.isfinite(pose).all() else None
    except (KeyError, TypeError, ValueError) as error:
        raise RobotDescriptionError(
            f"spheres: link '{link}', sphere {number}: must have a center of three numbers and a radius, m"
        ) from error
