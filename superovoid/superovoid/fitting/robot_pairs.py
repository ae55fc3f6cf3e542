# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compute the SRDF of a fitted robot."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from superovoid.fitting.allowed_pairs import USUAL, PairReport, PairSearch, find_pairs
from superovoid.fitting.link_geometry import read_links
from superovoid.fitting.proofs import largest_uncovered
from superovoid.fitting.robot_fits import PROOF_WIDTH, RobotFit
from superovoid.fitting.srdf_files import srdf_with_pairs
from superovoid.fitting.stand_ins import robots_of
from superovoid.fitting.targets import Target
from superovoid.robot.files import PackageFolders, read_document
from superovoid.robot.srdf import Semantics, read_srdf
from superovoid.robot.urdf import read_urdf
from superovoid.values.records import Record


@dataclass(frozen=True, eq=False, repr=False)
class FittedPairs(Record):
    """Recomputed disabled pairs of a fitted robot."""

    report: PairReport
    srdf: str
    """the SRDF with these pairs; everything else in it is as given"""


def fitted_pairs(
    fit: RobotFit,
    srdf: str | os.PathLike[str] | None = None,
    *,
    package_directories: Mapping[str, str | Path] | None = None,
    search: PairSearch = USUAL,
    progress: Callable[[int, int], None] | None = None,
) -> FittedPairs:
    """Find the pairs of links of a fitted robot that need no check, and write them to an SRDF.

    Parameters
    ----------
    fit : RobotFit
    srdf : str or path, optional
        The SRDF of the robot: a path, an address ``package://name/...``, or the document; default: make a new one.
    package_directories : mapping of str to path, optional
        Folders of ROS packages.
    search : PairSearch, optional
        Number and seed of the random states, and largest number of boxes in a proof.
    progress : callable, optional
        Called with the numbers of finished and of all steps.

    Raises
    ------
    RobotDescriptionError
        If the SRDF is invalid, or a fitted mesh can no longer be read.
    OSError
        If a file cannot be read.
    """
    packages = PackageFolders(package_directories)
    text = None if srdf is None else read_document("SRDF", srdf, packages)[0]
    description = read_urdf(fit.source, meshes="ignore")
    semantics = Semantics({}, {}, ())
    if text is not None:
        semantics = read_srdf(text, description.name, description.links, description.joints)
    bodies, meshes = robots_of(fit, packages)
    uncovered = largest_distances(fit, packages)
    report = find_pairs(bodies, meshes, semantics, uncovered=uncovered, search=search, progress=progress)
    return FittedPairs(report, srdf_with_pairs(text, description.name, report))


def largest_distances(fit: RobotFit, packages: Mapping[str, Path]) -> dict[str, float]:
    """Return proved bounds of the distance of each link's whole surface, with inner walls, from its bodies, m."""
    # Links of primitives, and links with contact geometry, are exact.
    found = {link.link: 0.0 for link in fit.links if link.state in ("primitives", "own")}
    found |= {link.link: link.uncovered.upper for link in fit.links if link.uncovered is not None}
    # For repaired meshes the fit has bounded the distance of the repaired solid only.
    changed = {
        link.link: [(body.shape, body.pose) for body in link.bodies]
        for link in fit.links
        if link.uncovered is not None and link.words and not link.contained
    }
    if changed:
        for link in read_links(fit.source, packages, fit.options.target):
            if link.name in changed and len(link.faces):
                surface = Target(link.vertices[link.faces])
                bound = largest_uncovered(changed[link.name], surface, PROOF_WIDTH * surface.radius)
                found[link.name] = max(found[link.name], bound.upper)
    return found
