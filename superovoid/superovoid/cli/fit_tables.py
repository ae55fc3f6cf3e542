# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Report the results of `superovoid fit robot.urdf`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from superovoid.fitting.advice import advice, summary
from superovoid.fitting.mesh_fits import MOST_BODIES
from superovoid.fitting.verdicts import COLOURS
from superovoid.output import REPORT

if TYPE_CHECKING:
    from rich.table import Table

    from superovoid.fitting.allowed_pairs import PairReport
    from superovoid.fitting.planner_study import PlannerStudy
    from superovoid.fitting.robot_fits import LinkFit

_MAX_PAIRS = 20  # pairs printed per list


def report_links(links: Sequence[LinkFit], tolerance: str, *, holds: bool, strict: bool) -> int:
    """Report the links; return the exit code.

    The code is 1 if a link could not be fitted or read or, with `strict`, is not good.
    """
    done = [link for link in links if link.clearance is not None]
    wrong = [link.link for link in links if link.state in ("failed", "unreadable")]
    lesser = [link.link for link in done if advice(link, MOST_BODIES)]
    failed = f"; {len(wrong)} failed: {', '.join(wrong)}" if wrong else ""
    REPORT.verdict(f"{summary(links, tolerance)}{failed}", failed=wrong, not_good=lesser)
    if done:
        mean = [sum(getattr(link.quality, name) for link in done) / len(done) for name in ("iou", "mean")]
        count = sum(len(link.bodies) for link in done)
        REPORT.line(f"bodies: {count}; mean IoU {mean[0]:.3f}, mean two-sided distance {1e3 * mean[1]:.2f} mm")
        REPORT.table(links_table(done, holds))
    for link in links:
        words = advice(link, MOST_BODIES)
        if link.clearance is not None and words:
            REPORT.line(f"link '{link.link}' ({link.clearance.verdict}): {words}")
        for note in link.words if link.state not in ("empty", "primitives") else ():
            REPORT.line(f"link '{link.link}' ({link.state}): {note}")
    for state, what in (("empty", "without geometry"), ("primitives", "of primitives, unchanged")):
        names = [link.link for link in links if link.state == state]
        if names:
            REPORT.detail(f"{what}: {', '.join(names)}")
    if any(link.state == "unreadable" for link in links):
        REPORT.line("set package folders with --package NAME=DIR")
    return int(bool(wrong or (strict and lesser)))


def links_table(done: Sequence[LinkFit], holds: bool) -> Table:
    """Return the table of links with bodies.

    The first error is that of the verdict, against the mesh as given; all figures after it are against the solid that
    was fitted.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title="n bodies; lengths in mm; error: 95 % of both surfaces are this close, against the mesh as given, and "
        "against the solid as fitted, as all other figures; * proved to lie in the interval, else measured",
        title_justify="left",
    )
    headings = ("link", "verdict", "n", "tolerance", "error, given", "error, fitted", "IoU", "volume", "mean",
                "uncovered*", "protruding*")  # fmt: skip
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("link", "verdict") else "right", overflow="fold")
    if holds:
        table.add_column("holds*", overflow="fold")
    for link in done:
        q, found = link.quality, link.clearance
        assert found is not None
        assert q is not None and link.uncovered is not None and link.protruding is not None
        table.add_row(
            link.link,
            Text(found.verdict, style=COLOURS[found.verdict]),
            str(len(link.bodies)),
            *(f"{1e3 * length:.2f}" for length in (found.tolerance, found.error, found.target_error)),
            f"{q.iou:.3f}",
            f"{q.volume_ratio:.3f}",
            f"{1e3 * q.mean:.2f}",
            link.uncovered.millimetres(),
            link.protruding.millimetres(),
            *(["yes" if link.contained else "no"] if holds else []),
        )
    return table


def report_pairs(report: PairReport) -> None:
    """Print how the disabled pairs changed."""
    kept, added, dropped = (len(report.pairs_with(change)) for change in ("kept", "added", "dropped"))
    REPORT.line(f"pairs of links: {report.checked} to check; {kept} still disabled, {added} newly disabled, "
                   f"{dropped} enabled again")  # fmt: skip
    reasons = Counter((pair.reason, pair.proof) for pair in report.pairs if pair.reason)
    for (reason, proof), count in reasons.items():
        what = f"{report.states} random states, seed {report.seed}" if proof == "states" else proof
        REPORT.detail(f"  {reason}: {count} ({'the default state' if reason == 'Default' else what})")
    for change, words in (("added", "newly disabled"), ("dropped", "enabled again")):
        pairs = report.pairs_with(change)
        for pair in pairs[:_MAX_PAIRS]:
            why = ", ".join(filter(None, (pair.reason or f"was {pair.given}", pair.proof, pair.words)))
            REPORT.detail(f"{words}: {pair.link_a} and {pair.link_b} ({why})")
        if len(pairs) > _MAX_PAIRS:
            REPORT.detail(f"{words}: {len(pairs) - _MAX_PAIRS} more, in report.json")
    for new in report.new_collisions:
        stays = "the given SRDF disables the pair" if new.disabled else "the pair is checked, so this state collides"
        REPORT.line(f"newly colliding at {new.state}: {new.link_a} and {new.link_b}, {1e3 * new.depth:.2f} mm deep, "
                       f"the meshes are disjoint; {stays}")  # fmt: skip
    for words in report.words:
        REPORT.line(words)


def report_study(study: PlannerStudy) -> None:
    """Print how the bodies change the results of a planner, compared with the meshes."""
    from rich.table import Table

    table = Table(title=f"{study.states:,} random states, seed {study.seed}; shares in %", title_justify="left")
    for heading in ("pair", "meshes collide", "bodies only", "meshes only", "missed, mm"):
        table.add_column(heading, justify="left" if heading == "pair" else "right", overflow="fold")
    for pair in (study.whole, *study.pairs[:_MAX_PAIRS]):
        name = "any pair" if pair is study.whole else f"{pair.link_a}, {pair.link_b}"
        shares = (
            f"{count} ({100.0 * low:.2f}-{100.0 * high:.2f})"
            for count, low, high in (pair.false_positive, pair.false_negative)
        )
        table.add_row(name, str(pair.colliding), *shares, f"{1e3 * pair.missed_depth:.2f}")
    REPORT.table(table)
    REPORT.detail(f"intervals of {100 * study.confidence:g} % (Clopper and Pearson); "
                  f"{study.whole.undecided:,} states are undecided and count as neither")  # fmt: skip
    for a, b in study.left_out:
        REPORT.detail(f"left out because the meshes overlap in the default state or almost always: {a}, {b}")
    for query, per_second in ((speed.query, speed.per_second) for speed in study.speeds):
        about = f"{query.who}: {query.bodies} bodies, {query.pairs} pairs"
        REPORT.detail(f"{query.question}, {about}: {per_second:,.0f} states/s per thread")
