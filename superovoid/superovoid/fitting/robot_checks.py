# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Measure the bodies that a URDF has, whoever made them, against the meshes of its links."""

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
from superovoid.robot.files import PackageFolders, read_document
from superovoid.robot.urdf import read_urdf
from superovoid.robot.xml import parse_document
from superovoid.shapes import Shape, Superovoid
from superovoid.values.checks import is_refusal, whole
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]
Bodies = list[tuple[Shape, FloatArray]]


@dataclass(frozen=True, eq=False, repr=False)
class RobotCheck(Record):
    """How close the bodies of a robot's links are to its meshes.

    Links that could be measured are "measured"; those with bodies and without meshes are "unmeasured", those whose
    meshes make no solid "failed".
    """

    links: tuple[LinkFit, ...]
    urdf_digest: str
    """SHA-256 of the URDF with the bodies"""
    against_digest: str
    """SHA-256 of the URDF with the meshes"""
    source: str
    """the URDF with the bodies"""
    against: str
    """the URDF with the meshes"""
    targets: Mapping[str, str]
    """of a link that was measured: "collision", "visual" or "hull" """
    package_directories: Mapping[str, Path] = field(default_factory=dict)
    """where the packages were that meshes lay in"""

    def report(self) -> dict[str, Any]:
        """Everything as numbers, lists and words; which figures are proved and which are measured is said."""
        links = [{**link_record(link), "target": self.targets.get(link.link, "")} for link in self.links]
        return {
            "program": f"superovoid {__version__}",
            "urdf_sha256": self.urdf_digest,
            "against_sha256": self.against_digest,
            "lengths": "metres",
            "proved": ["uncovered", "protruding", "contained"],
            "measured": {"quality": "samples; their counts are volume_points, surface_points, union_points"},
            "links": links,
        }

    show = show


def check_robot(
    robot: str | os.PathLike[str],
    *,
    against: str | os.PathLike[str] | None = None,
    target: str | None = None,
    package_directories: Mapping[str, str | Path] | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[LinkFit, int], None] | None = None,
) -> RobotCheck:
    """Measure the bodies of a URDF against meshes.

    The bodies of a link are its contact geometry (the mixed representation); where it has none, its collision elements,
    meshes as their convex hulls.

    Parameters
    ----------
    robot : str or path
        The URDF with the bodies: a path, an address ``package://...``, or the document itself.
    against : str or path, optional
        The URDF with the meshes, links by the same names; default: the same.
    target : {"collision", "visual", "hull"}, optional
        Which elements are measured against. Default: those of "collision" where the bodies are not made of them and
        there are meshes among them, else "visual".
    package_directories : mapping of str to path, optional
        Where packages are, beside those of `Robot.load`.
    seed : int
        Of samples.
    threads : int, optional
        Links that are measured at once; default: as many as there are processors.
    progress : callable, optional
        Called with each link that is done, and how many there are.

    Returns
    -------
    RobotCheck

    Raises
    ------
    ValueError
        If an option makes no sense.
    RobotDescriptionError
        If a URDF cannot be used.
    OSError
        If a file cannot be read.
    """
    if target not in (None, "collision", "visual", "hull"):
        raise ValueError(f"target = {target!r}: must be one of collision, visual, hull, or None")
    whole("seed", seed, 0)
    folders = PackageFolders(package_directories)
    text, package = read_document("URDF", robot, folders)
    other, more = (text, package) if against is None else read_document("URDF", against, folders)
    places = {name: Path(path) for name, path in {**more, **package, **(package_directories or {})}.items()}
    packages = PackageFolders(places)
    description = read_urdf(text, meshes="ignore")
    root = parse_document(text, "URDF", "robot")
    own = {str(link.get("name")) for link in root.findall("link") if link.find("contact_geometry") is not None}
    placed: dict[str, Bodies] = {link: [] for link in description.links}
    for each in description.geometry:
        if each.link in own:
            placed[each.link].append((each.shape, each.link_from_body))  # type: ignore[arg-type] # every kind is one
    collisions, unreadable = read_collision_bodies(
        text, packages, [link for link in description.links if link not in own]
    )
    placed |= collisions
    wanted = {target} if target is not None else {"collision", "visual"}
    geometry = {
        kind: {link.name: link for link in read_links(other, packages, kind, own=False)} for kind in sorted(wanted)
    }
    links, targets = [], {}
    for link in description.links:
        kind = target or _default_target(geometry["collision"].get(link), link in own or against is not None)
        targets[link] = kind
        links.append((link, placed[link], geometry[kind].get(link), unreadable.get(link, ())))

    def measured(each: tuple[str, Bodies, LinkGeometry | None, tuple[str, ...]]) -> LinkFit:
        done = _measured(*each, hull=targets[each[0]] == "hull", seed=seed)
        if progress is not None:
            progress(done, len(links))
        return done

    done = dict(spread(lambda number: measured(links[number]), range(len(links)), threads=threads))
    found = tuple(done[number] for number in range(len(links)))
    digests = [hashlib.sha256(each.encode()).hexdigest() for each in (text, other)]
    known = {link.link: targets[link.link] for link in found if link.state == "measured"}
    return RobotCheck(found, digests[0], digests[1], text, other, known, places)


def _default_target(collision: LinkGeometry | None, may_be_collision: bool) -> str:
    is_there = collision is not None and collision.state in ("meshes", "unreadable")
    return "collision" if may_be_collision and is_there else "visual"


def _measured(
    link: str, bodies: Bodies, geometry: LinkGeometry | None, words: tuple[str, ...], *, hull: bool, seed: int
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
        return LinkFit(link, "unmeasured", ("has no meshes to be measured against",))
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
        (*geometry.words, *target.notes, *_dents(bodies)),
        tuple(FittedBody(shape, pose) for shape, pose in bodies),
        target.kind,
        measure_union(bodies, target, seed=seed + 2),
        Interval(0.0, 0.0) if contained else largest_uncovered(bodies, target, width),
        largest_protrusion(bodies, target, width),
        contained,
        elements=tuple(record_of_body(shape, pose) for shape, pose in bodies),
    )
    return replace(made, seconds=time.perf_counter() - begun)


def _dents(bodies: Bodies) -> list[str]:
    dented = [
        number for number, (shape, _) in enumerate(bodies) if isinstance(shape, Superovoid) and not _convex(shape)
    ]
    return [f"body {number} is not convex: what is proved is proved of its convex hull" for number in dented]


def _convex(shape: Superovoid) -> bool:
    return bool(shape.convexity().convex)
