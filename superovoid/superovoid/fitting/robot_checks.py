# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Measure the bodies in a URDF or in a file of spheres, of any origin, against the meshes of the links."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superovoid import __version__
from superovoid.dataset.spreading import spread
from superovoid.fitting.link_geometry import LinkGeometry, read_collision_bodies, read_links
from superovoid.fitting.mesh_fits import FittedBody, target_of
from superovoid.fitting.proofs import Interval, containment_margin, largest_protrusion, largest_uncovered
from superovoid.fitting.quality import measure_union
from superovoid.fitting.robot_files import record_of_body
from superovoid.fitting.robot_fits import PROOF_WIDTH, LinkFit, link_record
from superovoid.fitting.showing import show
from superovoid.fitting.sphere_files import SUFFIXES, read_spheres
from superovoid.fitting.verdicts import DEFAULT_TOLERANCE, Judge, Tolerance
from superovoid.robot.files import PackageFolders, read_document
from superovoid.robot.urdf import read_urdf
from superovoid.robot.xml import parse_document
from superovoid.shapes import Shape, Superovoid
from superovoid.values.checks import is_refusal, whole_number
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]
Bodies = list[tuple[Shape, FloatArray]]


@dataclass(frozen=True, eq=False, repr=False)
class RobotCheck(Record):
    """Accuracy of the bodies of a robot's links, compared with its meshes.

    The state of a link is "measured", "unmeasured" (it has bodies but no meshes) or "failed" (its meshes form no
    solid).
    """

    links: tuple[LinkFit, ...]
    urdf_digest: str
    """SHA-256 of the file with the bodies"""
    against_digest: str
    """SHA-256 of the URDF with the meshes"""
    source: str
    """the URDF with the bodies; for a file of spheres, the one with the meshes"""
    against: str
    """the URDF with the meshes"""
    tolerance: str
    targets: Mapping[str, str]
    """target of each measured link: "collision", "visual" or "hull" """
    package_directories: Mapping[str, Path] = field(default_factory=dict)
    """folders of the packages with meshes"""

    def report(self) -> dict[str, Any]:
        """Return everything as plain values, with lists of the proved and of the measured figures."""
        links = [{**link_record(link), "target": self.targets.get(link.link, "")} for link in self.links]
        return {
            "program": f"superovoid {__version__}",
            "urdf_sha256": self.urdf_digest,
            "against_sha256": self.against_digest,
            "tolerance": self.tolerance,
            "lengths": "metres",
            "proved": ["uncovered", "protruding", "contained"],
            "measured": {
                "quality": "samples; their counts are volume_points, surface_points, union_points",
                "error": "the clearance error that the verdict rests on, on samples of the meshes as given",
                "target_error": "the same on samples of the solid, with hollows filled",
            },
            "links": links,
        }

    show = show


def check_robot(
    robot: str | os.PathLike[str],
    *,
    against: str | os.PathLike[str] | None = None,
    target: str | None = None,
    tolerance: Tolerance | float | str = DEFAULT_TOLERANCE,
    package_directories: Mapping[str, str | Path] | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[LinkFit, int], None] | None = None,
) -> RobotCheck:
    """Measure bodies against the meshes of a URDF.

    The bodies of a link are its contact geometry (the mixed representation), or else its collision elements, with
    meshes replaced by their convex hulls; or the spheres of a configuration of cuRobo.

    Parameters
    ----------
    robot : str or path
        The URDF with the bodies: a path, an address ``package://...``, or the document itself; or the path of a YAML
        file with ``collision_spheres``.
    against : str or path, optional
        The URDF with the meshes, with the same link names; default: the same URDF. A file of spheres needs it.
    target : {"collision", "visual", "hull"}, optional
        Elements to compare with. Default: "collision" if the bodies are not made from these elements and they contain
        meshes, otherwise "visual".
    tolerance : float or str
        Tolerance of the verdicts, as for `fit_robot`.
    package_directories : mapping of str to path, optional
        Folders of ROS packages, in addition to those found as in `Robot.load`.
    seed : int
        Seed of the samples.
    threads : int, optional
        Number of links measured at once; default: one per processor.
    progress : callable, optional
        Called with each finished link, and the number of all links.

    Returns
    -------
    RobotCheck

    Raises
    ------
    ValueError
        If an option is invalid, or `against` is missing.
    RobotDescriptionError
        If a URDF or a file of spheres is invalid.
    OSError
        If a file cannot be read.
    """
    if target not in (None, "collision", "visual", "hull"):
        raise ValueError(f"target = {target!r}: must be one of collision, visual, hull, or None")
    whole_number("seed", seed, 0)
    limit = Tolerance.read(tolerance)
    folders = PackageFolders(package_directories)
    is_spheres = str(robot).endswith(SUFFIXES)
    if is_spheres and against is None:
        raise ValueError("against: a file of spheres has no meshes; name the URDF of the robot")
    urdf = against if is_spheres and against is not None else robot
    text, around = read_document("URDF", urdf, folders)
    bodies = Path(robot).read_text(encoding="utf-8") if is_spheres else text
    other, more = (text, around) if against is None else read_document("URDF", against, folders)
    given = package_directories or {}
    places = {name: Path(path) for name, path in {**around, **more, **given}.items()}
    packages = PackageFolders(places)
    names = read_urdf(text, meshes="ignore").links
    own: set[str] = set()
    unreadable: Mapping[str, tuple[str, ...]] = {}
    if is_spheres:
        placed = read_spheres(bodies)
        names = (*names, *(name for name in placed if placed[name] and name not in names))
    else:
        placed, own, unreadable = _bodies_of(text, PackageFolders({**more, **around, **given}))
    wanted = {target} if target is not None else {"collision", "visual"}
    geometry = {
        kind: {link.name: link for link in read_links(other, packages, kind, own=False)} for kind in sorted(wanted)
    }
    links, targets = [], {}
    for link in names:
        kind = target or _default_target(geometry["collision"].get(link), link in own or against is not None)
        targets[link] = kind
        links.append((link, placed.get(link, []), geometry[kind].get(link), unreadable.get(link, ())))

    def measure(each: tuple[str, Bodies, LinkGeometry | None, tuple[str, ...]]) -> LinkFit:
        done = _measure_link(*each, hull=targets[each[0]] == "hull", limit=limit, seed=seed)
        if progress is not None:
            progress(done, len(links))
        return done

    done = dict(spread(lambda number: measure(links[number]), range(len(links)), threads=threads))
    found = tuple(done[number] for number in range(len(links)))
    digests = [hashlib.sha256(each.encode()).hexdigest() for each in (bodies, other)]
    known = {link.link: targets[link.link] for link in found if link.state == "measured"}
    return RobotCheck(found, digests[0], digests[1], text, other, str(limit), known, places)


def _bodies_of(
    text: str, packages: PackageFolders
) -> tuple[dict[str, Bodies], set[str], Mapping[str, tuple[str, ...]]]:
    """Return the bodies of a URDF's links, the links whose bodies are contact geometry, and messages of the others."""
    description = read_urdf(text, meshes="ignore")
    root = parse_document(text, "URDF", "robot")
    own = {str(link.get("name")) for link in root.findall("link") if link.find("contact_geometry") is not None}
    placed: dict[str, Bodies] = {link: [] for link in description.links}
    for each in description.geometry:
        if each.link in own:
            placed[each.link].append((each.shape, each.link_from_body))  # type: ignore[arg-type] # every kind is a Shape
    collisions, unreadable = read_collision_bodies(
        text, packages, [link for link in description.links if link not in own]
    )
    return placed | collisions, own, unreadable


def _default_target(collision: LinkGeometry | None, may_be_collision: bool) -> str:
    is_there = collision is not None and collision.state in ("meshes", "unreadable")
    return "collision" if may_be_collision and is_there else "visual"


def _measure_link(
    link: str,
    bodies: Bodies,
    geometry: LinkGeometry | None,
    words: tuple[str, ...],
    *,
    hull: bool,
    limit: Tolerance,
    seed: int,
) -> LinkFit:
    if words:
        return LinkFit(link, "unreadable", words)
    if not bodies:
        return LinkFit(link, "empty", ("has no bodies",))
    if geometry is None:
        return LinkFit(link, "unmeasured", ("is not in the URDF with the meshes",))
    if geometry.state != "meshes":
        if geometry.state == "unreadable":
            return LinkFit(link, "unreadable", geometry.words)
        return LinkFit(link, "unmeasured", ("has no meshes to measure against",))
    begun = time.perf_counter()
    try:
        target = target_of((geometry.vertices, geometry.faces), "hull" if hull else "mesh")
    except ValueError as error:
        if not is_refusal(error):
            raise
        return LinkFit(link, "failed", (*geometry.words, f"cannot be measured: {error}"))
    width = PROOF_WIDTH * target.radius
    points = geometry.vertices[np.unique(geometry.faces)]
    contained = any(containment_margin(shape, pose, points) >= 0.0 for shape, pose in bodies)
    made = LinkFit(
        link,
        "measured",
        (*geometry.words, *target.notes, *_convexity_notes(bodies)),
        tuple(FittedBody(shape, pose) for shape, pose in bodies),
        target.kind,
        measure_union(bodies, target, seed=seed + 2),
        Interval(0.0, 0.0) if contained else largest_uncovered(bodies, target, width),
        largest_protrusion(bodies, target, width),
        contained,
        elements=tuple(record_of_body(shape, pose) for shape, pose in bodies),
        clearance=Judge(target, limit, seed + 3).clearance(bodies),
    )
    return replace(made, seconds=time.perf_counter() - begun)


def _convexity_notes(bodies: Bodies) -> list[str]:
    non_convex = [
        number for number, (shape, _) in enumerate(bodies) if isinstance(shape, Superovoid) and not shape.is_convex()
    ]
    return [f"body {number} is not convex: proofs hold for its convex hull" for number in non_convex]
