# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An SRDF with the pairs that were found; all else in it stays as it is, comments included."""

from __future__ import annotations

from lxml import etree

from superovoid.fitting.allowed_pairs import REASONS, PairReport, PairVerdict

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
    # The reader has refused document types and entities by now.
    parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, encoding="utf-8")
    if text is None or not text.strip():
        root = etree.Element("robot", name=robot)
    else:
        root = etree.fromstring(text.lstrip("\ufeff \t\r\n").encode(), parser)
    verdicts = {frozenset((each.link_a, each.link_b)): each for each in report.pairs}
    for element in root.findall("disable_collisions"):
        verdict = verdicts.get(frozenset((element.get("link1"), element.get("link2"))))
        if verdict is None:
            continue
        if not verdict.reason:
            _remove(element)
        elif verdict.reason != verdict.given:
            element.set("reason", verdict.reason)
    for heading, pairs in _groups(report):
        _append(root, etree.Comment(f" {heading} "))
        for pair in pairs:
            element = etree.Element("disable_collisions", link1=pair.link_a, link2=pair.link_b, reason=pair.reason)
            _append(root, element)
    return etree.tostring(root.getroottree(), encoding="utf-8", xml_declaration=True).decode() + "\n"


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


def _append(root: etree._Element, element: etree._Element) -> None:
    children = list(root)
    if children:
        children[-1].tail = (children[-1].tail or "").rstrip() + "\n    "
    else:
        root.text = (root.text or "").rstrip() + "\n    "
    element.tail = "\n"
    root.append(element)


def _remove(element: etree._Element) -> None:
    """Take an element out, and leave what is written behind it."""
    parent, tail = element.getparent(), element.tail
    assert parent is not None
    before = element.getprevious()
    if tail is not None and tail.strip():
        if before is not None:
            before.tail = (before.tail or "") + tail
        else:
            parent.text = (parent.text or "") + tail
    parent.remove(element)
