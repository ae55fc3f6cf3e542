# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Read and write the spheres of a robot: configurations of cuRobo (YAML), and URDFs of spheres, as VAMP has them.

A document of cuRobo, or its part ``robot_cfg: kinematics``, has ``collision_spheres``: for each link a list of spheres
with `center` and `radius`, m, in the frame of the link. ``collision_sphere_buffer``, a number or one for some links, is
added to the radii. A sphere whose radius is not positive then is switched off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superovoid.dataset.spreading import spread
from superovoid.fitting.exported_robot import exported_bodies, text_of
from superovoid.fitting.robot_files import urdf_with_collisions
from superovoid.fitting.robot_fits import RobotFit
from superovoid.fitting.sphere_covers import cover_with_spheres
from superovoid.fitting.verdicts import Tolerance
from superovoid.fitting.xml_edits import element
from superovoid.robot.errors import RobotDescriptionError
from superovoid.shapes import Shape, Sphere
from superovoid.values.records import Record

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
    part = _mapping(document)
    part = _mapping(_mapping(part.get("robot_cfg", {"kinematics": part})).get("kinematics"))
    links, buffer = _mapping(part.get("collision_spheres")), part.get("collision_sphere_buffer", 0.0)
    if not links:
        raise RobotDescriptionError("spheres: 'collision_spheres' has no list of spheres for each link")
    found: dict[str, list[tuple[Shape, FloatArray]]] = {}
    for link, spheres in links.items():
        added = buffer.get(link, 0.0) if isinstance(buffer, Mapping) else buffer
        added = float(_numbers(f"collision_sphere_buffer of link '{link}'", added, 0))
        if not isinstance(spheres or [], list):
            raise RobotDescriptionError(f"spheres: link '{link}': must have a list of spheres, found {spheres!r}")
        read = [_sphere(link, number, _mapping(each), added) for number, each in enumerate(spheres or ())]
        found[str(link)] = [each for each in read if each is not None]
    return found


def _mapping(given: object) -> Mapping[Any, Any]:
    """Return a mapping of a document; an empty one in place of anything else."""
    return given if isinstance(given, Mapping) else {}


def _numbers(name: str, given: object, dimensions: int) -> FloatArray:
    """Return a number (0 dimensions), or a list of three (1)."""
    try:
        numbers = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (3,) * dimensions or not np.isfinite(numbers).all():
        wanted = "three finite numbers, m" if dimensions else "a finite number, m"
        raise RobotDescriptionError(f"spheres: {name}: must be {wanted}, found {given!r}")
    return numbers


def _sphere(link: object, number: int, given: Mapping[Any, Any], added: float) -> tuple[Shape, FloatArray] | None:
    """Return a sphere with its pose; None if it is switched off."""
    name, pose = f"link '{link}', sphere {number}", np.eye(4)
    pose[:3, 3] = _numbers(f"{name}: center", given.get("center"), 1)
    radius = float(_numbers(f"{name}: radius", given.get("radius"), 0)) + added
    return (Sphere(radius), pose) if radius > 0.0 else None


@dataclass(frozen=True)
class SphereRobot(Record):
    """Files with spheres that cover the bodies of a robot."""

    yaml: Path
    """for cuRobo"""
    urdf: Path
    """with spheres as collision elements"""
    counts: dict[str, int]
    """number of spheres of each link"""
    overshoot: dict[str, float]
    """for each link, a proved upper bound of the distance of points of its spheres from its bodies, m"""


def write_spheres(
    fit: RobotFit,
    folder: Path,
    name: str,
    tolerance: Tolerance | float | str,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SphereRobot:
    """Write spheres whose union provably contains the bodies of each link.

    Parameters
    ----------
    fit : RobotFit
    folder : Path
        Folder for ``name_spheres.yml`` and ``name_spheres.urdf``.
    name : str
        Name of the robot's files.
    tolerance : Tolerance, float or str
        Largest distance of points of the spheres from the bodies: a length, or a share of the diagonal of the box
        around the bodies of each link. Few spheres need a large one.
    threads : int, optional
        Number of links covered at once; default: one per processor.
    progress : callable, optional
        Called with the numbers of finished and of all links.

    Returns
    -------
    SphereRobot

    Raises
    ------
    ValueError
        If the tolerance is invalid, or a cover cannot be proved.
    OSError
        If a file cannot be written.
    ImportError
        If PyYAML is not installed.
    """
    import yaml

    limit = Tolerance.read(tolerance)
    bodies: dict[str, list[tuple[Shape, FloatArray]]] = {}
    for body, shape, _ in exported_bodies(fit):
        bodies.setdefault(body.link, []).append((shape, body.link_from_body))
    allowed = {link: limit.length(_diagonal(placed)) for link, placed in bodies.items()}
    found: dict[str, list[tuple[Sphere, FloatArray]]] = {}
    for link, spheres in spread(lambda link: cover_with_spheres(bodies[link], allowed[link]), bodies, threads=threads):
        found[link] = spheres
        if progress is not None:
            progress(len(found), len(bodies))
    covers = {link: [(sphere, pose[:3, 3]) for sphere, pose in found[link]] for link in bodies}
    lists = {
        link: [{"center": centre.tolist(), "radius": sphere.radius} for sphere, centre in cover]
        for link, cover in covers.items()
    }
    elements = {link: [_collision(*sphere) for sphere in cover] for link, cover in covers.items()}
    document = yaml.safe_dump({"collision_spheres": lists}, sort_keys=False, default_flow_style=None)
    table, urdf = folder / f"{name}_spheres.yml", folder / f"{name}_spheres.urdf"
    table.write_text(document, encoding="utf-8")
    urdf.write_text(urdf_with_collisions(fit.source, elements), encoding="utf-8")
    return SphereRobot(table, urdf, {link: len(cover) for link, cover in covers.items()}, allowed)


def _diagonal(bodies: list[tuple[Shape, FloatArray]]) -> float:
    corners = np.array([pose[:3, 3] + np.array(shape.aabb(pose[:3, :3])) for shape, pose in bodies])
    return float(np.linalg.norm(corners.max(axis=(0, 1)) - corners.min(axis=(0, 1))))


def _collision(sphere: Sphere, centre: FloatArray) -> str:
    body = element("sphere", {"radius": text_of([sphere.radius])})
    origin = element("origin", {"xyz": text_of(centre), "rpy": "0 0 0"})
    return element("collision", {}, [origin, element("geometry", {}, [body])])
