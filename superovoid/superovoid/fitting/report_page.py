# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Write the report of a fit, or of a check, as one self-contained HTML file with tables and pictures that turn."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from superovoid import __version__
from superovoid.fitting.advice import advice, summary
from superovoid.fitting.allowed_pairs import PairReport
from superovoid.fitting.link_geometry import read_links
from superovoid.fitting.mesh_fits import MOST_BODIES, target_of
from superovoid.fitting.painted_links import PROTRUDING, UNCOVERED, PaintedLink, Surface, drawable, paint_link
from superovoid.fitting.planner_study import PlannerStudy
from superovoid.fitting.robot_checks import RobotCheck
from superovoid.fitting.robot_fits import LinkFit, RobotFit
from superovoid.fitting.sphere_files import SphereRobot
from superovoid.fitting.stand_ins import robot_with
from superovoid.fitting.targets import Target
from superovoid.fitting.tessellated import TessellatedRobot
from superovoid.fitting.turnable import DrawnSurface, Mark, Surfaces
from superovoid.robot.groups import home_of

FloatArray = NDArray[np.float64]

VERDICT_COLOURS = {"good": (0, 158, 115), "coarse": (240, 228, 66), "unusable": (213, 94, 0)}
"""Colours of bodies by the verdict of their link (Okabe and Ito 2008)."""
_MESH, _KEPT = (190, 190, 190), (120, 120, 120)
_OBLIQUE = np.array([0.3, -0.4, 0.35])  # added to a view, so that the farthest point is not seen face-on
_TRIANGLES = 24  # facets around a body without a fit
_SHOWN = 400  # largest number of rows of a table


def report_page(
    found: RobotFit | RobotCheck,
    packages: Mapping[str, Path],
    *,
    title: str,
    pairs: PairReport | None = None,
    meshes: TessellatedRobot | None = None,
    spheres: SphereRobot | None = None,
    study: PlannerStudy | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """Return the report as an HTML page.

    Parameters
    ----------
    found : RobotFit or RobotCheck
    packages : mapping of str to Path
        Folders of ROS packages.
    title : str
        Name of the robot's file.
    pairs, meshes, spheres, study : optional
        Further results to include.
    progress : callable, optional
        Called with the numbers of drawn and of all links.
    """
    targets = targets_of(found, packages)
    done = [link for link in found.links if link.link in targets]
    surfaces = Surfaces()
    numbers: dict[str, tuple[int, int]] = {}
    blocks = []
    for number, link in enumerate(done):
        painted = paint_link([(body.shape, body.pose) for body in link.bodies], targets[link.link])
        numbers[link.link] = surfaces.add(painted.mesh, painted.scale), surfaces.add(painted.bodies, painted.scale)
        blocks.append(_link_block(link, painted, surfaces, numbers[link.link]))
        if progress is not None:
            progress(number + 1, len(done))
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        _summary(found, done),
        _robot_picture(found, done, surfaces, numbers),
        _links(blocks),
        "<h2>Figures</h2>" if done else "",
        _link_table(done),
        _remarks(found.links),
    ]
    if pairs is not None:
        parts.append(_pairs(pairs))
    if study is not None:
        parts.append(_study(study))
    if meshes is not None:
        lengths = [(name, _mm_above(value)) for name, value in meshes.overshoot.items()]
        parts.append(
            f"<h2>Meshes for other programs</h2><p>Package <code>{html.escape(meshes.package)}</code>, "
            f"{meshes.triangles:,} triangles. Each mesh contains its body (proved).</p>"
            + _table(("link", "largest overshoot beyond its bodies, mm (proved)"), lengths)
        )
    if spheres is not None:
        rows = [(link, str(count), _mm_above(spheres.overshoot[link])) for link, count in spheres.counts.items()]
        parts.append(
            f"<h2>Spheres</h2><p>{sum(spheres.counts.values()):,} spheres. Those of a link contain its bodies (proved)."
            "</p>" + _table(("link", "spheres", "largest overshoot beyond its bodies, mm (proved)"), rows)
        )
    parts += [_footer(found), surfaces.script() if done else ""]
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}'
        f"{_verdict_style()}</style></head>"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def targets_of(found: RobotFit | RobotCheck, packages: Mapping[str, Path]) -> dict[str, Target]:
    """Return the targets that links were fitted to, or measured against."""
    if isinstance(found, RobotCheck):
        text, kinds = found.against, dict(found.targets)
    else:
        text = found.source
        kinds = {link.link: found.options.target for link in found.links if link.state == "fitted"}
    targets: dict[str, Target] = {}
    for kind in sorted(set(kinds.values())):
        for link in read_links(text, packages, kind, own=False):
            if kinds.get(link.name) == kind and link.state == "meshes":
                targets[link.name] = target_of((link.vertices, link.faces), "hull" if kind == "hull" else "mesh")
    return targets


def _mm(metres: float) -> str:
    return f"{1e3 * metres:.2f}"


def _mm_above(metres: float) -> str:
    """Return an upper bound in mm, rounded up."""
    return f"{math.ceil(1e5 * metres) / 100:.2f}"


class _Html(str):
    """Text of a cell that is HTML already."""


def _cell(content: object) -> str:
    return content if isinstance(content, _Html) else html.escape(str(content))


def _table(heading: Iterable[str], rows: Iterable[Sequence[object]], note: str = "", *, words: bool = False) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heading)
    body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    kind = ' class="words"' if words else ""
    table = f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>' + (f'<p class="note">{note}</p>' if note else "")


def _summary(found: RobotFit | RobotCheck, done: Sequence[LinkFit]) -> str:
    """Return the verdict of the robot, what to do about links that are not good, and means."""
    if not done:
        return "<p>No link has bodies that could be measured.</p>"
    tolerance = found.options.tolerance if isinstance(found, RobotFit) else found.tolerance
    qualities = [link.quality for link in done if link.quality is not None]
    iou, mean = (float(np.mean([getattr(each, name) for each in qualities])) for name in ("iou", "mean"))
    what = "fitted" if isinstance(found, RobotFit) else "measured"
    held = sum(link.contained for link in done)
    words = (
        f"Links {what}: {len(done)}, bodies: {sum(len(link.bodies) for link in done)}. "
        f"Mean of the links: IoU {iou:.3f}, two-sided mean distance {1e3 * mean:.2f} mm. "
    )
    lesser = "".join(
        f"<li>{_verdict(link)} <b>{html.escape(link.link)}</b>: {html.escape(advice(link, MOST_BODIES))}</li>"
        for link in done
        if advice(link, MOST_BODIES)
    )
    wrong = [link.link for link in found.links if link.state in ("failed", "unreadable")]
    failed = f"<p>Not {what}, see the remarks: {html.escape(', '.join(wrong))}.</p>" if wrong else ""
    verdict = html.escape(summary(done, tolerance)).replace(" %", "&nbsp;%")
    return (
        f'<p class="verdict">{verdict}</p>{f"<ul>{lesser}</ul>" if lesser else ""}'
        f"{failed}<p>{words}{f'{held} links are proved to lie inside of their bodies.' if held else ''}</p>"
    )


def _verdict_style() -> str:
    return "".join(f".{name} {{ background: rgb{colour}; }}\n" for name, colour in VERDICT_COLOURS.items())


def _verdict(link: LinkFit) -> str:
    """Return the verdict of a link, with its colour."""
    word = "" if link.clearance is None else link.clearance.verdict
    return f'<span class="{word}">{word}</span>'


_COLUMNS = (
    "link", "verdict", "bodies", "tolerance, mm", "error, given, mm", "error, fitted, mm", "IoU ± std. error",
    "coverage", "outside share", "mean, mm", "uncovered, mm ✓", "protruding, mm ✓", "inside ✓",
)  # fmt: skip


def _link_table(links: Sequence[LinkFit]) -> str:
    rows = []
    for link in links:
        q = link.quality
        found = link.clearance
        assert q is not None and link.uncovered is not None and link.protruding is not None and found is not None
        rows.append(
            (
                link.link,
                _Html(_verdict(link)),
                len(link.bodies),
                *(_mm(length) for length in (found.tolerance, found.error, found.target_error)),
                f"{q.iou:.3f} ± {q.iou_error:.3f}",
                f"{q.coverage:.3f}",
                f"{q.protrusion:.3f}",
                _mm(q.mean),
                link.uncovered.millimetres(),
                link.protruding.millimetres(),
                "yes" if link.contained else "–",
            )
        )
    qualities = [link.quality for link in links if link.quality is not None]
    numbers = [(each.volume_points, each.surface_points, each.union_points) for each in qualities]
    spans = [(min(each), max(each)) for each in zip(*numbers, strict=True)]
    names = ("points for volumes", "on the link", "on the bodies")
    counts = ", ".join(
        f"{low:,} {name}" if low == high else f"{low:,} to {high:,} {name}"
        for (low, high), name in zip(spans, names, strict=False)
    )
    note = (
        "Error: 95 % of the points of both surfaces are this close to each other. The first is against the mesh as "
        "given and decides the verdict; the second is against the solid that was fitted, as all other figures are. "
        "✓ proved: the largest distance lies in the interval; “yes”: the link lies inside of the bodies (a dash: not "
        "proved). Coverage: the share of the link's volume that lies in the bodies; outside share: that of the bodies' "
        f"volume that lies outside of the link. All figures without ✓ are measured on samples: {counts}."
    )
    return _table(_COLUMNS, rows, note) if rows else ""


def _remarks(links: Sequence[LinkFit]) -> str:
    rows = [(link.link, link.state, "; ".join(link.words)) for link in links if link.words]
    return _table(("link", "state", "remarks"), rows, words=True) if rows else ""


def _links(blocks: Sequence[str]) -> str:
    if not blocks:
        return ""
    words = (
        "Each picture overlays a link and its bodies, and shows the surface nearer to the eye: blue if the link "
        "protrudes from the bodies, orange if the bodies protrude from the link, darker for more. U marks the point "
        "of the link that is farthest from the bodies, and P the point of the bodies that is farthest from the link, "
        "among the corners of the drawn triangles; the table has proved figures for all points. A dashed ring lies "
        "behind another surface. Lengths are in mm. Drag a picture to turn it, or use the arrow keys; the keys + and - "
        "change its size, and a double click resets it."
    )
    return f'<h2>Link by link</h2><p>{words}</p><div class="links">{"".join(blocks)}</div>'


def _link_block(link: LinkFit, painted: PaintedLink, surfaces: Surfaces, numbers: tuple[int, int]) -> str:
    """Return the picture of a link, with its verdict in words and the scale of its colours, as HTML."""
    found = link.clearance
    assert found is not None
    mesh, bodies = numbers
    worst = [(letter, each, each.worst_vertex) for letter, each in (("U", painted.mesh), ("P", painted.bodies))]
    marks = [
        Mark(f"{letter} {_mm(each.away[row])}", tuple(each.vertices[row]))
        for letter, each, row in worst
        if each.away[row] > 0.0
    ]
    farthest = max((each for each in worst), key=lambda each: each[1].away[each[2]])
    centre = 0.5 * (painted.mesh.vertices.min(axis=0) + painted.mesh.vertices.max(axis=0))
    towards = farthest[1].vertices[farthest[2]] - centre
    towards = towards / max(float(np.linalg.norm(towards)), 1e-12) + _OBLIQUE
    count = f"{len(link.bodies)} {'body' if len(link.bodies) == 1 else 'bodies'}"
    picture = surfaces.picture(
        [DrawnSurface(mesh, "link", "mesh"), DrawnSurface(bodies, "bodies", "bodies")],
        {"both": ("link", "bodies"), "link": ("link",), "bodies": ("bodies",)},
        f"link {link.link} and its bodies; " + ", ".join(mark.text for mark in marks),
        marks=marks,
        towards=towards,
    )
    words = (
        f"{count}: 95 % of both surfaces lie within {_mm(found.error)} mm of each other; the tolerance is "
        f"{_mm(found.tolerance)} mm."
    )
    return (
        f"<section><h3>{html.escape(link.link)} {_verdict(link)}</h3><p>{words}</p>{picture}"
        f"{legend(painted.scale)}</section>"
    )


def legend(largest: float) -> str:
    """Return the scale of a link's colours as HTML."""

    def row(colours: Sequence[tuple[int, int, int]], words: str) -> str:
        step = largest / len(colours)
        cells = "".join(
            f'<span class="cell" style="background:rgb{colour};color:{"#fff" if sum(colour) < 380 else "#000"}">'
            f"{1e3 * number * step:.4g}</span>"
            for number, colour in enumerate(colours)
        )
        return f'<div class="scale"><span class="name">{words}</span>{cells}</div>'

    return row(UNCOVERED, "link, from mm") + row(PROTRUDING, "bodies, from mm")


def _robot_picture(
    found: RobotFit | RobotCheck, done: Sequence[LinkFit], surfaces: Surfaces, numbers: Mapping[str, tuple[int, int]]
) -> str:
    """Return the picture of the robot with its bodies or its meshes, at the default joint positions."""
    if not done:
        return ""
    robot = robot_with(found.source, {link.link: [(body.shape, body.pose) for body in link.bodies] for link in done})
    home = {name: home_of(limits) for name, limits in robot.joint_limits.items()}
    poses = robot.forward_kinematics(home, {link: np.eye(4) for link in robot.base_links})
    shown = []
    for link in done:
        assert link.clearance is not None
        mesh, bodies = numbers[link.link]
        shown += [
            DrawnSurface(bodies, "bodies", VERDICT_COLOURS[link.clearance.verdict], poses[link.link]),
            DrawnSurface(mesh, "meshes", _MESH, poses[link.link]),
        ]
    kept = [body for body in robot.bodies if body.link not in numbers]
    for body in kept:
        vertices, faces = body.shape.triangles(_TRIANGLES)
        vertices, faces = drawable(vertices[faces])
        number = surfaces.add(Surface(vertices, faces, np.zeros(len(vertices))))
        shown.append(DrawnSurface(number, "kept", _KEPT, poses[body.link] @ body.link_from_body))
    picture = surfaces.picture(
        shown,
        {"bodies": ("bodies", "kept"), "meshes": ("meshes", "kept"), "both": ("bodies", "meshes", "kept")},
        "the robot with its bodies",
    )
    colours = ", ".join(
        f'<span class="swatch" style="background:rgb{colour}"></span> {name}'
        for name, colour in VERDICT_COLOURS.items()
    )
    rest = " Links in dark grey have no fit." if kept else ""
    return (
        f'<h2>The robot</h2><div class="robot">{picture}</div><p>Each body has the colour of the '
        f"verdict on its link: {colours}. All joints are at their default.{rest}</p>"
    )


def _pairs(report: PairReport) -> str:
    kept, added, dropped = (len(report.pairs_with(change)) for change in ("kept", "added", "dropped"))
    counts = Counter((pair.reason, pair.proof) for pair in report.pairs if pair.reason)
    parts = [
        f"<h2>Pairs of links</h2><p>{report.checked} must be checked; {kept} stay disabled, {added} are newly "
        f"disabled, {dropped} are enabled again. Random states: {report.states:,}, seed {report.seed}.</p>",
        _table(("reason", "evidence", "pairs"), [(*key, count) for key, count in counts.items()]),
    ]
    if report.new_collisions:
        rows = [
            (each.link_a, each.link_b, each.state, _mm(each.depth), "by the given SRDF" if each.disabled else "no")
            for each in report.new_collisions
        ]
        parts.append("<h3>Newly colliding: the bodies overlap, the meshes do not</h3>")
        parts.append(_table(("link", "link", "at", "depth, mm", "disabled"), rows))
    else:
        parts.append("<p>No pair is newly colliding at the default or a named state.</p>")
    changed = [pair for pair in report.pairs if pair.change in ("added", "dropped")]
    if changed:
        lines = [
            (each.link_a, each.link_b, each.change, each.reason or f"was {each.given}", each.proof, each.words)
            for each in changed[:_SHOWN]
        ]
        parts.append(f"<h3>Changed</h3>{_table(('link', 'link', '', 'reason', 'evidence', ''), lines, words=True)}")
    parts += [f"<p>{html.escape(words)}</p>" for words in report.words]
    return "".join(parts)


def _study(study: PlannerStudy) -> str:
    rows = [
        (
            f"{each.link_a}, {each.link_b}",
            each.colliding,
            _share(each.false_positive),
            _share(each.false_negative),
            _mm(each.missed_depth),
        )
        for each in study.pairs[:_SHOWN]
    ]
    timings = [
        (each.query.question, each.query.who, each.query.bodies, f"{each.query.pairs:,}", f"{each.per_second:,.0f}")
        for each in study.speeds
    ]
    whole = study.whole
    return (
        f"<h2>Effect on a planner</h2><p>{study.states:,} random states, seed {study.seed}. The meshes collide in "
        f"{whole.colliding:,} of them. Only the bodies collide in {_share(whole.false_positive)} of the states; only "
        f"the meshes collide in {_share(whole.false_negative)}, at most {_mm(whole.missed_depth)} mm deep. In "
        f"{whole.undecided:,} states bodies or meshes are too close to decide. "
        f"Intervals: Clopper and Pearson, {100 * study.confidence:g} %.</p>"
        + _table(("pair", "meshes collide", "bodies only", "meshes only", "missed depth, mm"), rows)
        + _excluded_pairs(study)
        + _table(("query", "geometry", "bodies", "pairs", "states/s, one thread"), timings, words=True)
    )


def _excluded_pairs(study: PlannerStudy) -> str:
    """Return the list of pairs that the study excludes without an SRDF."""
    if not study.left_out:
        return ""
    names = "; ".join(html.escape(f"{a}, {b}") for a, b in study.left_out)
    return f"<p>Excluded pairs, whose meshes overlap at the default or nearly always: {names}.</p>"


def _share(found: tuple[int, float, float]) -> str:
    count, low, high = found
    return f"{count} ({100 * low:.2f} to {100 * high:.2f} %)"


def _footer(found: RobotFit | RobotCheck) -> str:
    lines = [f"superovoid {__version__}", f"URDF: SHA-256 {found.urdf_digest}"]
    if isinstance(found, RobotFit):
        options = found.options.to_dict() | {"kinds": ", ".join(found.options.kinds)}
        lines += [f"{name}: {value}" for name, value in options.items() if value is not None and value is not False]
    else:
        lines.append(f"URDF with the meshes: SHA-256 {found.against_digest}")
    return f"<footer>{'<br>'.join(map(html.escape, lines))}</footer>"


_STYLE = """
:root { color-scheme: light; }
body { margin: 0; background: #fff; color: #1a1a1a; font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1100px; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1rem; margin: .8rem 0 .2rem; overflow-wrap: anywhere; }
.verdict { font-size: 1.2rem; font-weight: 600; }
.good, .coarse, .unusable { padding: 0 .4rem; border-radius: .2rem; }
.wide { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; }
.note { font-size: .8rem; color: #444; }
th, td { padding: .25rem .5rem; text-align: right; border-bottom: 1px solid #e4e4e4; vertical-align: top; }
th { border-bottom: 2px solid #999; font-weight: 600; vertical-align: bottom; }
td { white-space: nowrap; }
.words th, .words td { white-space: normal; text-align: left; }
th:first-child, td:first-child { text-align: left; }
.links { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1rem 1.5rem; }
.links section { min-width: 0; } .links p { margin: .2rem 0 .4rem; font-size: .85rem; }
.robot { max-width: 44rem; }
.scale { display: grid; grid-template-columns: 6.5rem repeat(6, 1fr); font-size: .75rem; align-items: center; }
.cell { padding: .1rem 0; text-align: center; }
.swatch { display: inline-block; width: 1.1em; height: .8em; border: 1px solid #666; }
footer { margin-top: 2.5rem; font-size: .75rem; color: #666; overflow-wrap: anywhere; }
"""
