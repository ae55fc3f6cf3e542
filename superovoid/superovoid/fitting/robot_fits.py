# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fit bodies to the links of a robot, given by a URDF, and report their accuracy."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superovoid import __version__
from superovoid.dataset.spreading import spread
from superovoid.fitting.advice import advice
from superovoid.fitting.enclosing import enclose
from superovoid.fitting.link_geometry import SOURCES, LinkGeometry, read_links
from superovoid.fitting.mesh_fits import MOST_BODIES, FittedBody, check_kinds, fit_mesh, target_of
from superovoid.fitting.mirrored import Corners, Image, image_of, mirror_record
from superovoid.fitting.proofs import Interval, containment_margin, largest_protrusion, largest_uncovered
from superovoid.fitting.quality import Quality, measure_union
from superovoid.fitting.robot_files import body_from_record, record_of_body, urdf_with_bodies
from superovoid.fitting.showing import show
from superovoid.fitting.verdicts import DEFAULT_TOLERANCE, Clearance, Judge, Tolerance
from superovoid.robot.errors import RobotDescriptionError
from superovoid.robot.files import PackageFolders, read_document
from superovoid.values.checks import whole_number
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]

PROOF_WIDTH = 2e-3
"""Width of the proved intervals, relative to a link's radius."""
FORM = 13
"""Version of the fits; increase it when bodies or bounds change, so that stored fits are recomputed."""


@dataclass(frozen=True)
class LinkOptions(Record):
    """Options of the fit of a link."""

    target: str
    bodies: int | None
    """None: the fewest that keep the tolerance"""
    tolerance: str
    contain: bool
    kinds: tuple[str, ...]
    seed: int


@dataclass(frozen=True, eq=False, repr=False)
class LinkFit(Record):
    """Result of the fit of a link. Lengths are in metres."""

    link: str
    state: str
    """"fitted", or the reason why it was not: "empty" (no geometry), "primitives" (kept), "own" (existing contact
    geometry is kept), "unreadable", "failed\""""
    words: tuple[str, ...]
    """errors, warnings and repairs, with element and file"""
    bodies: tuple[FittedBody, ...] = ()
    aimed_at: str = ""
    quality: Quality | None = None
    """measured on samples"""
    uncovered: Interval | None = None
    """proved bounds of the largest distance of the solid's surface from the bodies"""
    protruding: Interval | None = None
    """proved bounds of the largest distance of points of the bodies from the solid"""
    contained: bool = False
    """whether the bodies are proved to contain the whole solid"""
    hull_volume_ratio: float | None = None
    """sum of the volumes of containing bodies divided by the volume of the solid's convex hull"""
    seconds: float = 0.0
    """wall-clock time of the fit"""
    elements: tuple[dict[str, Any], ...] = ()
    """the bodies as numbers in the URDF; a reader obtains `bodies` from them bit for bit"""
    clearance: Clearance | None = None
    """measured errors, and the tolerance"""
    tried: int = 0
    """largest number of bodies that was tried"""


@dataclass(frozen=True, eq=False, repr=False)
class RobotFit(Record):
    """The bodies of a robot's links."""

    links: tuple[LinkFit, ...]
    options: LinkOptions
    urdf_digest: str
    """SHA-256 of the input URDF"""
    urdf: str
    """the input URDF with the bodies added as contact geometry of their links"""
    source: str = ""
    """the input URDF"""
    package_directories: Mapping[str, Path] = field(default_factory=dict)
    """folders of the packages with meshes"""

    def report(self) -> dict[str, Any]:
        """Return everything as plain values, with lists of the proved and of the measured figures."""
        return {
            "program": f"superovoid {__version__}",
            "urdf_sha256": self.urdf_digest,
            "options": self.options.to_dict(),
            "lengths": "metres",
            "proved": ["uncovered", "protruding", "contained"],
            "measured": {
                "quality": "samples; their counts are volume_points, surface_points, union_points",
                "error": "the clearance error that the verdict rests on, on samples of the meshes as given",
                "target_error": "the same on samples of the target as fitted",
                "hull_volume_ratio": "volumes by formula",
            },
            "links": [link_record(link) for link in self.links],
        }

    show = show


def fit_robot(
    robot: str | os.PathLike[str],
    *,
    package_directories: Mapping[str, str | Path] | None = None,
    target: str = "auto",
    bodies: int | None = None,
    tolerance: Tolerance | float | str = DEFAULT_TOLERANCE,
    contain: bool = False,
    kinds: str | Sequence[str] = ("superovoid",),
    links: Mapping[str, int] | None = None,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Callable[[LinkFit, int], None] | None = None,
) -> RobotFit:
    """Fit bodies to the links of a robot.

    Links of primitives, and links that already have contact geometry, are kept. A link whose mesh cannot be read or
    fitted is kept as well, with the reason in its `words`; the other links are fitted.

    Parameters
    ----------
    robot : str or path
        The URDF: a path, an address ``package://name/urdf/robot.urdf``, or the document itself.
    package_directories : mapping of str to path, optional
        Folders of ROS packages, in addition to those found as in `Robot.load`.
    target : {"auto", "collision", "visual", "hull"}
        Target of the fit: the meshes of the collision elements, those of the visual elements, or the convex hull of
        all collision elements of a link. "auto": the collision elements of a link, or the visual ones if it has none.
    bodies : int, optional
        Number of bodies per link, from 1 to 16; default: as for `fit_mesh`, the fewest that keep the tolerance.
    tolerance : float or str
        As for `fit_mesh`: a length in m, a length with its unit, or a share of the diagonal of each link.
    contain : bool
        If true, fit bodies of small volume per link whose union provably contains it: one, or at most `bodies`.
    kinds : "auto" or sequence of {"superovoid", "box", "cylinder", "capsule"}
        As `fit_mesh`.
    links : mapping of str to int, optional
        Numbers of bodies for some links.
    seed : int
        Seed of samples and starts. On one machine, the same robot and options give the same bodies.
    folder : path, optional
        Folder in which each link is stored as soon as it is fitted. A stored link with the same geometry and options is
        not fitted again.
    threads : int, optional
        Number of links fitted at once; default: one per processor.
    progress : callable, optional
        Called with each finished link, and the number of all links.

    Returns
    -------
    RobotFit

    Raises
    ------
    ValueError
        If an option is invalid.
    RobotDescriptionError
        If the URDF is invalid, or no link has geometry of the target.
    OSError
        If a file cannot be read or written.
    """
    options = _check_options(target, bodies, tolerance, contain, kinds, seed)
    text, around = read_document("URDF", robot, PackageFolders(package_directories))
    folders = {name: Path(path) for name, path in {**around, **(package_directories or {})}.items()}
    packages = PackageFolders(folders)
    geometry = read_links(text, packages, target)
    if all(link.state == "empty" for link in geometry):
        raise RobotDescriptionError(_nothing_to_fit(text, packages, geometry, target))
    names = {link.name for link in geometry}
    for name, count in (links or {}).items():
        if name not in names:
            raise ValueError(f"links: the URDF has no link '{name}'")
        _check_count(f"links['{name}']", count)
    kept = None if folder is None else Path(folder)
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
    own = [replace(options, bodies=(links or {}).get(link.name, options.bodies)) for link in geometry]
    keys = [_key(link, each) for link, each in zip(geometry, own, strict=True)]
    first, images = _share_fits(geometry, own, keys)

    def fit_one(number: int) -> LinkFit:
        done = _fit_link(geometry[number], own[number], keys[number], kept)
        if progress is not None:
            progress(done, len(geometry))
        return done

    # The largest first, so that no long fit remains alone at the end; equal and mirrored links share one fit.
    order = sorted(set(first), key=lambda number: -len(geometry[number].faces))
    found = dict(spread(fit_one, order, threads=threads))
    result = []
    for number, image in enumerate(images):
        link = found[first[number]]
        if image is not None:
            link = _mirror(link, image, geometry[number]) or fit_one(number)
            if progress is not None:
                progress(link, len(geometry))
        # A shared or stored fit does not contain the messages about elements and files of this link.
        result.append(replace(link, link=geometry[number].name, words=(*geometry[number].words, *link.words)))
    placed = {link.link: link.elements for link in result if link.elements}
    digest = hashlib.sha256(text.encode()).hexdigest()
    return RobotFit(tuple(result), options, digest, urdf_with_bodies(text, placed), text, folders)


def _nothing_to_fit(text: str, packages: PackageFolders, links: Sequence[LinkGeometry], target: str) -> str:
    """Return what was looked for in a robot without geometry, and what there is instead."""
    looked_for = "collision or visual" if target == "auto" else SOURCES[target]
    words = f"URDF: none of its {len(links)} links has {looked_for} geometry"
    others = sum(link.state != "empty" for link in read_links(text, packages, "auto"))
    return words + (f"; {others} have other geometry, which the target 'auto' finds" if others else "")


def _check_options(
    target: str,
    bodies: int | None,
    tolerance: Tolerance | float | str,
    contain: bool,
    kinds: str | Sequence[str],
    seed: int,
) -> LinkOptions:
    if target not in SOURCES:
        raise ValueError(f"target = {target!r}: must be one of {', '.join(SOURCES)}")
    if bodies is not None:
        _check_count("bodies", bodies)
    check_kinds(kinds)
    whole_number("seed", seed, 0)
    return LinkOptions(
        target,
        bodies,
        str(Tolerance.read(tolerance)),
        contain,
        (kinds,) if isinstance(kinds, str) else tuple(kinds),
        seed,
    )


def _check_count(name: str, count: int) -> None:
    whole_number(name, count, 1)
    if count > MOST_BODIES:
        raise ValueError(f"{name} = {count}: must be from 1 to {MOST_BODIES}")


def _key(link: LinkGeometry, options: LinkOptions) -> str:
    """Return a digest of everything that a link's bodies depend on; for a link without bodies, its name."""
    if link.state != "meshes":
        return f"{link.state} {link.name}"
    text = json.dumps([FORM, __version__, options.to_dict(), link.digest])
    return hashlib.sha256(text.encode()).hexdigest()


def _share_fits(
    links: Sequence[LinkGeometry], options: Sequence[LinkOptions], keys: Sequence[str]
) -> tuple[list[int], list[Image | None]]:
    """Return for each link the number of the first one with the same mesh, but for signs, and how it follows from it.

    Links with different options do not share a fit.
    """
    first: list[int] = []
    images: list[Image | None] = []
    known: dict[str, int] = {}
    corners: dict[int, Corners] = {}
    for number, (link, key) in enumerate(zip(links, keys, strict=True)):
        image: Image | None = None
        shared = known.get(key)
        if shared is not None:
            image = Image((1, 1, 1), 0.0)
        elif link.state == "meshes":
            own = Corners(link)
            for other, others in corners.items():
                if options[other] == options[number] and (image := image_of(others, own)) is not None:
                    shared = other
                    break
            else:
                corners[number] = own
        if image is None or shared is None:
            known[key] = shared = number
        first.append(shared)
        images.append(image)
    return first, images


def _mirror(link: LinkFit, image: Image, mesh: LinkGeometry) -> LinkFit | None:
    """Return the fit of a link for a mesh that follows from the link's; None if it is not proved to be contained, too.

    The figures of samples are those of the link. Proved intervals grow by the distance of the meshes from each other.
    """
    note = image.words(link.link)
    if not link.elements:
        return replace(link, words=(*link.words, note))
    records = tuple(mirror_record(record, image.signs) for record in link.elements)
    bodies = tuple(FittedBody(*body_from_record(record)) for record in records)
    uncovered, protruding, contained = link.uncovered, link.protruding, link.contained
    if image.apart > 0.0:
        points = mesh.vertices[np.unique(mesh.faces)]
        if contained and not any(containment_margin(body.shape, body.pose, points) >= 0.0 for body in bodies):
            return None
        uncovered, protruding = (
            each if each is None or (contained and each is uncovered) else each.widen_by(image.apart)
            for each in (uncovered, protruding)
        )
    return replace(
        link, words=(*link.words, note), bodies=bodies, elements=records, uncovered=uncovered, protruding=protruding
    )


def _fit_link(link: LinkGeometry, options: LinkOptions, key: str, folder: Path | None) -> LinkFit:
    if link.state != "meshes":
        return LinkFit(link.name, link.state, ())
    file = None if folder is None else folder / f"{key[:32]}.json"
    kept = None if file is None else _read_stored(file, key)
    if kept is not None:
        return replace(kept, link=link.name)
    begun = time.perf_counter()
    try:
        made = _fit_bodies(link, options)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        return LinkFit(link.name, "failed", (f"cannot be fitted: {error}",))
    made = replace(made, seconds=time.perf_counter() - begun)
    if file is not None:
        part = file.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({"key": key, **link_record(made)}), encoding="utf-8")
        part.replace(file)
    return made


def _fit_bodies(link: LinkGeometry, options: LinkOptions) -> LinkFit:
    mesh = link.vertices, link.faces
    points = link.vertices[np.unique(link.faces)]
    target = target_of(mesh, "hull" if options.target == "hull" else "mesh")
    if options.contain:
        tried = 1 if options.bodies is None else options.bodies
        around = enclose(target, link.vertices[link.faces], bodies=tried, kinds=options.kinds)
        bodies = tuple(FittedBody(*body) for body in around)
        notes = target.notes
        quality = measure_union(around, target, seed=options.seed + 2)
        clearance = Judge(target, Tolerance.read(options.tolerance), options.seed + 3).clearance(around)
    else:
        fit = fit_mesh(
            target, bodies=options.bodies, tolerance=options.tolerance, kinds=options.kinds, seed=options.seed
        )
        bodies, notes, tried = fit.bodies, fit.notes, fit.tried
        quality, clearance = fit.quality, fit.clearance
    # Bounds are proved for the bodies as written: with poses computed from the numbers in the URDF.
    records = [record_of_body(body.shape, body.pose) for body in bodies]
    bodies = tuple(FittedBody(*body_from_record(record)) for record in records)
    placed = [(body.shape, body.pose) for body in bodies]
    width = PROOF_WIDTH * target.radius
    contained = options.contain or (len(placed) == 1 and containment_margin(*placed[0], points) >= 0.0)
    return LinkFit(
        link.name,
        "fitted",
        notes,
        bodies,
        target.kind,
        quality,
        Interval(0.0, 0.0) if contained else largest_uncovered(placed, target, width),
        largest_protrusion(placed, target, width),
        contained,
        sum(shape.volume() for shape, _ in placed) / float(target.hull.volume) if options.contain else None,
        elements=tuple(records),
        clearance=clearance,
        tried=tried,
    )


def link_record(link: LinkFit) -> dict[str, object]:
    """Return a link as plain values."""
    found = link.clearance
    return {
        "link": link.link,
        "verdict": None if found is None else found.verdict,
        "tolerance": None if found is None else found.tolerance,
        "error": None if found is None else found.error,
        "target_error": None if found is None else found.target_error,
        "advice": advice(link, MOST_BODIES),
        "tried": link.tried,
        "state": link.state,
        "words": list(link.words),
        "bodies": list(link.elements),
        "aimed_at": link.aimed_at,
        "quality": None if link.quality is None else asdict(link.quality),
        "uncovered": None if link.uncovered is None else asdict(link.uncovered),
        "protruding": None if link.protruding is None else asdict(link.protruding),
        "contained": link.contained,
        "hull_volume_ratio": link.hull_volume_ratio,
        "seconds": link.seconds,
    }


def _read_stored(file: Path, key: str) -> LinkFit | None:
    """Read a stored fit of a link; return None if the file has another origin or is damaged."""
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        if record.pop("key") != key:
            return None
        return LinkFit(
            record["link"],
            record["state"],
            tuple(record["words"]),
            tuple(FittedBody(*body_from_record(each)) for each in record["bodies"]),
            record["aimed_at"],
            Quality(**record["quality"]),
            Interval(**record["uncovered"]),
            Interval(**record["protruding"]),
            bool(record["contained"]),
            record["hull_volume_ratio"],
            float(record["seconds"]),
            tuple(record["bodies"]),
            Clearance(record["error"], record["target_error"], record["tolerance"]),
            int(record["tried"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
