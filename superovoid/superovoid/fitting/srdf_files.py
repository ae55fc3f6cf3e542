# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An SRDF with the pairs that were found; all else in it stays as it is, comments included."""

from __future__ import annotations

from superovoid.fitting.allowed_pairs import REASONS, PairReport, PairVerdict
from superovoid.fitting.xml_edits import Edits, element

_HEADINGS = {
    "structure": "a joint connects them",
    "proved of the meshes, too": "proved over all joint positions, of the bodies and of the meshes",
    "proved": "proved over all joint positions, of the bodies",
}


def srdf_with_pairs(text: str | None, robot: str, report: PairReport) -> str:
    """An SRDF whose disabled pairs are those of a report.

    Parameters
    ----------
    text : str or None
        The given SRDF, one that `superovoid.robot.srdf.read_srdf` takes; none: a new one.
    robot : str
        Name of the robot, for a new one.
    report : PairReport
        Pairs that it drops are taken out, others get its reason, those that it adds come last, by reason, under a
        comment that says what they rest on. Pairs that are not in it stay.
    """
    edits = Edits(text if text is not None and text.strip() else element("robot", {"name": robot}))
    verdicts = {frozenset((each.link_a, each.link_b)): each for each in report.pairs}
    dropped = []
    for place in edits.root.children:
        links = frozenset((place.attributes.get("link1", ""), place.attributes.get("link2", "")))
        verdict = verdicts.get(links) if place.tag == "disable_collisions" else None
        if verdict is None:
            continue
        if not verdict.reason:
            dropped.append(place)
        elif verdict.reason != verdict.given:
            edits.set(place, "reason", verdict.reason)
    edits.remove(dropped)
    added = []
    for heading, pairs in _groups(report):
        added.append(f"<!-- {heading} -->")
        for pair in pairs:
            fields = {"link1": pair.link_a, "link2": pair.link_b, "reason": pair.reason}
            added.append(element("disable_collisions", fields))
    if added:
        edits.append(edits.root, added, "  ")
    return edits.text()


def _groups(report: PairReport) -> list[tuple[str, list[PairVerdict]]]:
    added = report.changed("added")
    found = []
    for reason in REASONS:
        for proof in (*_HEADINGS, "states"):
            pairs = [pair for pair in added if (pair.reason, pair.proof) == (reason, proof)]
            if pairs:
                found.append((f"{reason}: {_HEADINGS.get(proof) or _seen(reason, report)}", pairs))
    return found


def _seen(reason: str, report: PairReport) -> str:
    if reason == "Default":
        return "the bodies overlap at the default state, and so do the meshes"
    share = "all" if reason == "Always" else "none"
    return f"seen in {share} of {report.states} random states, seed {report.seed}; not proved"
