# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Write disabled pairs into an SRDF; everything else in it is kept, including comments."""

from __future__ import annotations

from superovoid.fitting.allowed_pairs import REASONS, PairReport, PairVerdict
from superovoid.fitting.xml_edits import Edits, element

_HEADINGS = {
    "structure": "a joint connects them",
    "proved of the meshes, too": "proved over all joint positions, of the bodies and of the meshes",
    "proved": "proved over all joint positions, of the bodies",
}


def srdf_with_pairs(text: str | None, robot: str, report: PairReport) -> str:
    """Return an SRDF with the disabled pairs of a report.

    Parameters
    ----------
    text : str or None
        An SRDF accepted by `superovoid.robot.srdf.read_srdf`; None: make a new one.
    robot : str
        Name of the robot, for a new SRDF.
    report : PairReport
        Dropped pairs are removed, kept ones get the report's reason, and added ones are appended, grouped by reason
        under a comment that states the evidence. Pairs missing from the report are kept.
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
    added = report.pairs_with("added")
    found = []
    for reason in REASONS:
        for proof in (*_HEADINGS, "states"):
            pairs = [pair for pair in added if (pair.reason, pair.proof) == (reason, proof)]
            if pairs:
                found.append((f"{reason}: {_HEADINGS.get(proof) or _evidence(reason, report)}", pairs))
    return found


def _evidence(reason: str, report: PairReport) -> str:
    if reason == "Default":
        return "the bodies overlap at the default state, and so do the meshes"
    share = "all" if reason == "Always" else "none"
    return f"seen in {share} of {report.states} random states, seed {report.seed}; not proved"
