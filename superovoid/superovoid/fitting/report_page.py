# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Write the report of a fit, or of a check, as one self-contained HTML file with tables and pictures."""

from __future__ import annotations

import base64
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
from superovoid.fitting.drawing import Camera
from superovoid.fitting.link_geometry import read_links
from superovoid.fitting.link_pictures import (
    BODIES,
    MESH,
    PROTRUDING,
    UNCOVERED,
    LinkPicture,
    Mark,
    assembly_picture,
    link_pictures,
)
from superovoid.fitting.mesh_fits import MOST_BODIES, target_of
from superovoid.fitting.planner_study import PlannerStudy
from superovoid.fitting.robot_checks import RobotCheck
from superovoid.fitting.robot_fits import LinkFit, RobotFit
from superovoid.fitting.stand_ins import robot_with
from superovoid.fitting.targets import Target
from superovoid.fitting.tessellated import TessellatedRobot
from superovoid.robot.groups import home_of

FloatArray = NDArray[np.float64]

_SIZES = ((15, 250), (30, 210), (60, 160), (10**9, 110))  # up to this number of links, pixels of their pictures
_WHOLE = 460  # pixels of a picture of the whole robot
_TRIANGLES = 48  # facets around a body in it
_SHOWN = 400  # largest number of rows of a table


def report_page(
    found: RobotFit | RobotCheck,
    packages: Mapping[str, Path],
    *,
    title: str,
    pairs: PairReport | None = None,
    meshes: TessellatedRobot | None = None,
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
    pairs, meshes, study : optional
        Further results to include.
    progress : callable, optional
        Called with the numbers of drawn and of all links.
    """
    targets = targets_of(found, packages)
    done = [link for link in found.links if link.link in targets]
    largest = scale_of(done)
    pixels = next(size for most, size in _SIZES if len(done) <= most)
    blocks = []
    for number, link in enumerate(done):
        placed = [(body.shape, body.pose) for body in link.bodies]
        blocks.append(link_block(link, link_pictures(placed, targets[link.link], largest, pixels)))
        if progress is not None:
            progress(number + 1, len(done))
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        _summary(found, done),
        _robot_pictures(found, targets, done),
        "<h2>Links</h2>",
        _link_table(done),
        _remarks(found.links),
        f'<h2>Link by link</h2>{legend(largest)}<div class="links">{"".join(blocks)}</div>' if blocks else "",
    ]
    if pairs is not None:
        parts.append(_pairs(pairs))
    if study is not None:
        parts.append(_study(study))
    if meshes is not None:
        rows = [(name, _mm(value)) for name, value in meshes.overshoot.items()]
        parts.append(
            f"<h2>Meshes for other programs</h2><p>Package <code>{html.escape(meshes.package)}</code>, "
            f"{meshes.triangles:,} triangles. Each mesh contains its body (proved).</p>"
            + _table(("link", "largest overshoot beyond its bodies, mm (proved)"), rows)
        )
    parts.append(_footer(found))
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
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


def scale_of(links: Sequence[LinkFit]) -> float:
    """Return the end of the colour scale: a round length not exceeded by the samples of three quarters of the links."""
    worst = [max(link.quality.uncovered_max, link.quality.protruding_max) for link in links if link.quality is not None]
    if not worst:
        return 1e-3
    wanted = max(float(np.quantile(worst, 0.75)), 1e-5)
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(step * power for step in (1.2, 2.4, 3.0, 6.0, 12.0) if step * power >= wanted)


def _mm(metres: float) -> str:
    return f"{1e3 * metres:.2f}"


class _Html(str):
    """Text of a cell that is HTML already."""


def _cell(content: object) -> str:
    return content if isinstance(content, _Html) else html.escape(str(content))


def _table(heading: Iterable[str], rows: Iterable[Sequence[object]], note: str = "", *, words: bool = False) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heading)
    body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    caption = f"<caption>{note}</caption>" if note else ""
    kind = ' class="words"' if words else ""
    table = f"<table{kind}>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'


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
        f"{len(done)} links {what}, {sum(len(link.bodies) for link in done)} bodies. "
        f"Mean of the links: IoU {iou:.3f}, two-sided mean distance {1e3 * mean:.2f} mm. "
    )
    lesser = "".join(
        f"<li>{_verdict(link)} <b>{html.escape(link.link)}</b>: {html.escape(advice(link, MOST_BODIES))}</li>"
        for link in done
        if advice(link, MOST_BODIES)
    )
    return (
        f'<p class="verdict">{html.escape(summary(done, tolerance))}</p>{f"<ul>{lesser}</ul>" if lesser else ""}'
        f"<p>{words}{f'{held} links are proved to lie inside of their bodies.' if held else ''}</p>"
    )


def _verdict(link: LinkFit) -> str:
    """Return the verdict of a link, with its colour."""
    word = "" if link.clearance is None else link.clearance.verdict
    return f'<span class="{word}">{word}</span>'


_COLUMNS = (
    "link", "verdict", "bodies", "tolerance, mm", "error, given, mm", "error, fitted, mm", "IoU ± std. error",
    "coverage", "outside share", "mean, mm", "found uncovered, mm", "found protruding, mm", "uncovered, mm ✓",
    "protruding, mm ✓", "inside ✓",
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
                _mm(q.uncovered_max),
                _mm(q.protruding_max),
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
        "Error: 95 % of the points of both surfaces are this close to each other, against the mesh as given (the "
        "verdict) and against the solid that was fitted, as all other figures. ✓ proved: the largest distance lies in "
        "the interval; “yes”: the link lies inside of a body "
        "(a dash: not proved). "
        f"All other figures are measured on samples: {counts}."
    )
    return _table(_COLUMNS, rows, note) if rows else ""


def _remarks(links: Sequence[LinkFit]) -> str:
    rows = [
        (link.link, link.state, "; ".join(link.words)) for link in links if link.words and link.state != "empty"
    ] + [(link.link, link.state, "") for link in links if link.state == "empty"]
    return _table(("link", "", "remarks"), rows, words=True) if rows else ""


def _image(png: bytes, width: int, height: int, inner: str, words: str) -> str:
    data = base64.b64encode(png).decode()
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{html.escape(words, quote=True)}"><image href="data:image/png;base64,{data}" '
        f'width="{width}" height="{height}"/>{inner}</svg>'
    )


def _mark(mark: Mark, size: int) -> str:
    x, y = mark.place
    radius = max(6.0, size / 40.0)
    dash = ' stroke-dasharray="3 3"' if mark.hidden else ""
    letter = "U" if mark.what == "uncovered" else "P"
    # Keep the text inside of the picture.
    left, low = x > 0.7 * size, y < 0.12 * size
    shift = -radius - 2 if left else radius + 2
    anchor = "end" if left else "start"
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="none"'
    text = f"{letter} {_mm(mark.distance)}"
    place = f'x="{x + shift:.1f}" y="{y + (radius + 9 if low else -radius):.1f}" text-anchor="{anchor}"'
    return (
        f'{circle} stroke="#fff" stroke-width="4"/>{circle} stroke="#000" stroke-width="1.5"{dash}/>'
        f'<text {place} class="halo">{text}</text><text {place}>{text}</text>'
    )


def link_block(link: LinkFit, pictures: Sequence[LinkPicture]) -> str:
    """Return the pictures of a link as HTML."""
    views = []
    for each in pictures:
        marks = "".join(_mark(mark, each.width) for mark in each.marks)
        words = f"link {link.link} from {each.looked_from}: " + ", ".join(
            f"{mark.what} {_mm(mark.distance)} mm" for mark in each.marks
        )
        views.append(
            f"<figure>{_image(each.png, each.width, each.height, marks, words)}"
            f"<figcaption>from {each.looked_from}</figcaption></figure>"
        )
    name = f"{html.escape(link.link)} <small>{len(link.bodies)} {'body' if len(link.bodies) == 1 else 'bodies'}</small>"
    return f"<section><h3>{name}</h3>{''.join(views)}</section>"


def legend(largest: float) -> str:
    """Return the legend of the pictures' colours as HTML."""

    def row(colours: Sequence[tuple[int, int, int]], words: str) -> str:
        step = largest / len(colours)
        cells = "".join(
            f'<span class="cell" style="background:rgb{colour};color:{"#fff" if sum(colour) < 380 else "#000"}">'
            f"{_mm(number * step)}{'+' if number == len(colours) - 1 else ''}</span>"
            for number, colour in enumerate(colours)
        )
        return f'<div class="legend"><span class="name">{words}</span><span class="cells">{cells}</span></div>'

    return (
        "<p>Link and bodies are overlaid; each pixel shows the surface nearer to the eye. "
        "U marks the sampled point of the link farthest from the bodies, P the sampled point of the bodies farthest "
        "from the link; a dashed ring means that another surface hides the point. Lengths are in mm; "
        "each colour starts at its figure.</p>"
        + row(UNCOVERED, "the link protrudes from the bodies")
        + row(PROTRUDING, "the bodies protrude from the link")
    )


def _robot_pictures(found: RobotFit | RobotCheck, targets: Mapping[str, Target], done: Sequence[LinkFit]) -> str:
    """Return pictures of the robot with its meshes and with its bodies, at the default joint positions."""
    if not done:
        return ""
    bodies = {link.link: [(body.shape, body.pose) for body in link.bodies] for link in done}
    robot = robot_with(found.source, bodies)
    home = {name: home_of(limits) for name, limits in robot.joint_limits.items()}
    poses = robot.forward_kinematics(home, {link: np.eye(4) for link in robot.base_links})
    before = [(_transform(target.corners, poses[name]), 0) for name, target in targets.items()]
    after: list[np.ndarray] = []
    others: list[np.ndarray] = []
    for body in robot.bodies:
        vertices, faces = body.shape.triangles(_TRIANGLES)
        corners = _transform(_transform(vertices[faces], body.link_from_body), poses[body.link])
        (after if body.link in targets else others).append(corners)
    before += [(corners, 1) for corners in others]
    coloured = [(corners, 1 + number % len(BODIES)) for number, corners in enumerate(after)]
    coloured += [(corners, 0) for corners in others]
    camera = Camera.at(_corners(part for part, _ in (*before, *coloured)), (1.0, -0.8, 0.45), _WHOLE, _WHOLE)
    pictures = (
        (assembly_picture(before, camera, (MESH, (140, 140, 140))), "before: the meshes"),
        (assembly_picture(coloured, camera, ((140, 140, 140), *BODIES)), "after: the bodies, one colour each"),
    )
    figures = "".join(
        f"<figure>{_image(png, _WHOLE, _WHOLE, '', words)}<figcaption>{words}</figcaption></figure>"
        for png, words in pictures
    )
    rest = "; darker links have no fit and are kept" if others else ""
    return f'<h2>The robot</h2><div class="links">{figures}</div><p>All joints are at their default{rest}.</p>'


def _corners(parts: Iterable[FloatArray]) -> FloatArray:
    boxes = [np.stack([part.reshape(-1, 3).min(axis=0), part.reshape(-1, 3).max(axis=0)]) for part in parts]
    # All eight corners of each box, so that every view contains it.
    return np.concatenate([np.array(np.meshgrid(*box.T)).reshape(3, -1).T for box in boxes])


def _transform(corners: FloatArray, pose: FloatArray) -> FloatArray:
    return corners @ pose[:3, :3].T + pose[:3, 3]


def _pairs(report: PairReport) -> str:
    kept, added, dropped = (len(report.changed(change)) for change in ("kept", "added", "dropped"))
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
        (each.asked.question, each.asked.who, each.asked.bodies, f"{each.asked.pairs:,}", f"{each.per_second:,.0f}")
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
        lines += [f"{name}: {value}" for name, value in found.options.to_dict().items() if value is not None]
    else:
        lines.append(f"URDF with the meshes: SHA-256 {found.against_digest}")
    return f"<footer>{'<br>'.join(map(html.escape, lines))}</footer>"


_STYLE = """
:root { color-scheme: light; }
body { margin: 0; background: #fff; color: #1a1a1a; font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1100px; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1rem; margin: .8rem 0 .2rem; overflow-wrap: anywhere; } h3 small { font-weight: normal; color: #555; }
.verdict { font-size: 1.2rem; font-weight: 600; }
.good, .coarse, .unusable { padding: 0 .4rem; border-radius: .2rem; }
.good { background: #cfe8d5; } .coarse { background: #ffe9a8; } .unusable { background: #a4262c; color: #fff; }
.wide { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; }
caption { caption-side: bottom; text-align: left; color: #444; padding-top: .4rem; }
th, td { padding: .25rem .5rem; text-align: right; border-bottom: 1px solid #e4e4e4; vertical-align: top; }
th { border-bottom: 2px solid #999; font-weight: 600; vertical-align: bottom; }
td { white-space: nowrap; }
.words th, .words td { white-space: normal; text-align: left; }
th:first-child, td:first-child { text-align: left; }
.links { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; }
figure { display: inline-block; margin: 0 .6rem .4rem 0; }
figure svg { border: 1px solid #ddd; max-width: 100%; height: auto; }
figcaption { font-size: .8rem; color: #555; }
svg text { font: 600 11px system-ui, sans-serif; } .halo { stroke: #fff; stroke-width: 3px; }
.legend { display: flex; flex-wrap: wrap; align-items: center; margin: .2rem 0; font-size: .8rem; }
.legend .name { width: 15rem; } .cells { display: flex; }
.cell { padding: .15rem .5rem; min-width: 2.6rem; text-align: center; }
footer { margin-top: 2.5rem; font-size: .75rem; color: #666; overflow-wrap: anywhere; }
"""
