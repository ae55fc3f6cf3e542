# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Report the results of `superovoid fit robot.urdf`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from superovoid.output import REPORT

if TYPE_CHECKING:
    from rich.table import Table

    from superovoid.fitting.allowed_pairs import PairReport
    from superovoid.fitting.planner_study import PlannerStudy
    from superovoid.fitting.robot_fits import LinkFit

_MAX_PAIRS = 20  # pairs printed per list


def report_links(links: Sequence[LinkFit], holds: bool) -> int:
    """Report the links; return the exit code: 1 if one of them could not be fitted or read."""
    done = [link for link in links if link.quality is not None]
    wrong = [link.link for link in links if link.state in ("failed", "unreadable")]
    words = f"{len(done)} links with {sum(len(link.bodies) for link in done)} bodies"
    if done:
        mean = [sum(getattr(link.quality, name) for link in done) / len(done) for name in ("iou", "mean")]
        words += f"; mean IoU {mean[0]:.3f}, mean two-sided distance {1e3 * mean[1]:.2f} mm"
    elif not wrong:
        words += ": no link has a mesh"
    REPORT.verdict(words + (f"; {len(wrong)} failed: {', '.join(wrong)}" if wrong else ""), failed=wrong)
    REPORT.table(links_table(done, holds))
    for link in links:
        for note in link.words if link.state not in ("empty", "primitives") else ():
            REPORT.line(f"link '{link.link}' ({link.state}): {note}")
    for state, what in (("empty", "without geometry"), ("primitives", "of primitives, which stay")):
        names = [link.link for link in links if link.state == state]
        if names:
            REPORT.detail(f"{what}: {', '.join(names)}")
    if any(link.state == "unreadable" for link in links):
        REPORT.line("set package folders with --package NAME=DIR")
    return int(bool(wrong))


def links_table(done: Sequence[LinkFit], holds: bool) -> Table:
    """Return the table of links with bodies."""
    from rich.table import Table

    table = Table(title="n bodies; lengths in mm; * proved to lie in the interval, else measured", title_justify="left")
    for heading in ("link", "n", "IoU", "volume", "mean", "p95", "uncovered*", "protruding*"):
        table.add_column(heading, justify="left" if heading == "link" else "right", overflow="fold")
    if holds:
        table.add_column("holds*", overflow="fold")
    for link in done:
        q = link.quality
        assert q is not None and link.uncovered is not None and link.protruding is not None
        table.add_row(
            link.link,
            str(len(link.bodies)),
            f"{q.iou:.3f}",
            f"{q.volume_ratio:.3f}",
            f"{1e3 * q.mean:.2f}",
            f"{1e3 * max(q.to_bodies_p95, q.to_solid_p95):.2f}",
            link.uncovered.millimetres(),
            link.protruding.millimetres(),
            *(["yes" if link.contained else "no"] if holds else []),
        )
    return table


def report_pairs(report: PairReport) -> None:
    """Print how the disabled pairs changed."""
    kept, added, dropped = (len(report.changed(change)) for change in ("kept", "added", "dropped"))
    REPORT.line(f"pairs of links: {report.checked} to check; {kept} still disabled, {added} newly disabled, "
                   f"{dropped} enabled again")  # fmt: skip
    reasons = Counter((pair.reason, pair.proof) for pair in report.pairs if pair.reason)
    for (reason, proof), count in reasons.items():
        what = f"{report.states} random states, seed {report.seed}" if proof == "states" else proof
        REPORT.detail(f"  {reason}: {count} ({'the default state' if reason == 'Default' else what})")
    for change, words in (("added", "newly disabled"), ("dropped", "enabled again")):
        pairs = report.changed(change)
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
    for asked, per_second in ((speed.asked, speed.per_second) for speed in study.speeds):
        about = f"{asked.who}: {asked.bodies} bodies, {asked.pairs} pairs"
        REPORT.detail(f"{asked.question}, {about}: {per_second:,.0f} states/s per thread")
