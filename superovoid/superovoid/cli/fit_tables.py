# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What `superovoid fit robot.urdf` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from superovoid.output import print_table

if TYPE_CHECKING:
    from superovoid.fitting.allowed_pairs import PairReport
    from superovoid.fitting.planner_study import PlannerStudy
    from superovoid.fitting.robot_fits import LinkFit

_SHOWN = 20  # pairs of a list


def print_links(console: Console, links: Sequence[LinkFit], holds: bool) -> None:
    """The table of the links, and what there is to say about them."""
    table = Table(title="n bodies; lengths in mm; * proved to lie in the interval, else measured", title_justify="left")
    for heading in ("link", "n", "IoU", "volume", "mean", "p95", "uncovered*", "protruding*"):
        table.add_column(heading, justify="left" if heading == "link" else "right", overflow="fold")
    if holds:
        table.add_column("holds*", overflow="fold")
    done = [link for link in links if link.quality is not None]
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
    print_table(console, table)
    if done:
        mean = [sum(getattr(link.quality, name) for link in done) / len(done) for name in ("iou", "mean")]
        console.print(f"mean of {len(done)} links: IoU {mean[0]:.3f}, two-sided mean distance {1e3 * mean[1]:.2f} mm")
    for link in links:
        for words in link.words if link.state not in ("empty", "primitives") else ():
            console.print(f"link '{link.link}' ({link.state}): {words}", markup=False, highlight=False, soft_wrap=True)
    for state, words in (("empty", "without geometry"), ("primitives", "of primitives, which stay")):
        names = [link.link for link in links if link.state == state]
        if names:
            console.print(f"{words}: {', '.join(names)}", markup=False, highlight=False, soft_wrap=True)
    if any(link.state == "unreadable" for link in links):
        console.print("folders of packages are given by --package NAME=DIR", markup=False, highlight=False)


def print_paths(console: Console, paths: Sequence[Path]) -> None:
    """What was written."""
    for path in paths:
        _say(console, f"written: {path}")


def print_pairs(console: Console, report: PairReport) -> None:
    """What became of the disabled pairs."""
    kept, added, dropped = (len(report.changed(change)) for change in ("kept", "added", "dropped"))
    _say(console, f"pairs of links: {report.checked} are to be checked; {kept} stay disabled, {added} more are, "
                  f"{dropped} no longer are")  # fmt: skip
    reasons = Counter((pair.reason, pair.proof) for pair in report.pairs if pair.reason)
    for (reason, proof), count in reasons.items():
        what = f"{report.states} random states, seed {report.seed}" if proof == "states" else proof
        _say(console, f"  {reason}: {count} ({'the default state' if reason == 'Default' else what})")
    for change, words in (("added", "now disabled"), ("dropped", "no longer disabled")):
        pairs = report.changed(change)
        for pair in pairs[:_SHOWN]:
            why = ", ".join(filter(None, (pair.reason or f"was {pair.given}", pair.proof, pair.words)))
            _say(console, f"{words}: {pair.link_a} and {pair.link_b} ({why})")
        if len(pairs) > _SHOWN:
            _say(console, f"{words}: {len(pairs) - _SHOWN} more, in report.json")
    for new in report.new_collisions:
        stays = "the given SRDF disables the pair" if new.disabled else "the pair is checked, so this state collides"
        _say(console, f"newly colliding at {new.state}: {new.link_a} and {new.link_b}, {1e3 * new.depth:.2f} mm deep; "
                      f"the meshes are apart; {stays}")  # fmt: skip
    for words in report.words:
        _say(console, words)


def print_study(console: Console, study: PlannerStudy) -> None:
    """What the bodies do to a planner."""
    table = Table(title=f"{study.states:,} random states, seed {study.seed}; shares in %", title_justify="left")
    for heading in ("pair", "meshes collide", "bodies only", "meshes only", "missed, mm"):
        table.add_column(heading, justify="left" if heading == "pair" else "right", overflow="fold")
    for pair in (study.whole, *study.pairs[:_SHOWN]):
        name = "any pair" if pair is study.whole else f"{pair.link_a}, {pair.link_b}"
        shares = (
            f"{count} ({100.0 * low:.2f}-{100.0 * high:.2f})"
            for count, low, high in (pair.false_positive, pair.false_negative)
        )
        table.add_row(name, str(pair.colliding), *shares, f"{1e3 * pair.missed_depth:.2f}")
    print_table(console, table)
    _say(console, f"intervals of {100 * study.confidence:g} % (Clopper and Pearson); "
                  f"{study.whole.undecided:,} states are not proved either way and count as neither")  # fmt: skip
    for a, b in study.left_out:
        _say(console, f"left out, for the meshes overlap at the default or nearly always: {a}, {b}")
    for asked, per_second in ((speed.asked, speed.per_second) for speed in study.speeds):
        about = f"{asked.who}: {asked.bodies} bodies, {asked.pairs} pairs"
        _say(console, f"{asked.question}, {about}: {per_second:,.0f} states/s of one thread")


def _say(console: Console, words: str) -> None:
    console.print(words, markup=False, highlight=False, soft_wrap=True)
