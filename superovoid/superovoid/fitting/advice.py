# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Say in words how good the fits of links are, and what to do about those that are not good."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from superovoid.fitting.verdicts import VERDICTS

if TYPE_CHECKING:
    from superovoid.fitting.robot_fits import LinkFit


def summary(links: Sequence[LinkFit], tolerance: str) -> str:
    """Return the verdict of a robot in one line."""
    judged = [link.clearance.verdict for link in links if link.clearance is not None]
    if not judged:
        states = ", ".join(f"{count} {state}" for state, count in Counter(link.state for link in links).items())
        return f"no link has bodies to judge ({states or 'no links'})"
    counts = {verdict: judged.count(verdict) for verdict in VERDICTS}
    others = "".join(f", {counts[verdict]} {verdict}" for verdict in VERDICTS[1:] if counts[verdict])
    of_each = " of each link" if tolerance.endswith("%") else ""
    return f"{counts['good']} of {len(judged)} links good{others} at {tolerance}{of_each}"


def advice(link: LinkFit, most: int) -> str:
    """Return the error of a link's bodies and what to do about it; empty for a good link.

    Parameters
    ----------
    link : LinkFit
    most : int
        Largest number of bodies that a link can have.
    """
    found, count = link.clearance, len(link.bodies)
    if found is None or found.verdict == "good":
        return ""
    have = f"{count} {'body' if count == 1 else 'bodies'}"
    errors = f"the error of {have} is {_mm(found.error)}, the tolerance is {_mm(found.tolerance)}; "
    no_closer = f"up to {link.tried} came no closer" if count < link.tried else ""
    if found.fills:
        words = f"the bodies fill a hollow of the mesh, and are within {_mm(found.target_error)} of the filled solid"
        return "; ".join(filter(None, (f"{errors}{words}", no_closer)))
    if link.state == "measured":
        assert link.quality is not None
        return (
            f"{errors}the bodies leave up to {_mm(link.quality.uncovered_max)} of the link uncovered and protrude up "
            f"to {_mm(link.quality.protruding_max)}"
        )
    if no_closer and link.hull_volume_ratio is not None:
        return f"{errors}{link.tried} bodies around the link would hardly have less volume"
    if no_closer:
        return f"{errors}{no_closer}: other kinds of bodies (--kinds) or another --seed may help"
    if link.tried < most:
        return f"{errors}more bodies: --link {shlex.quote(f'{link.link}={min(most, 2 * link.tried)}')}"
    return f"{errors}{most} is the largest number of bodies: other kinds of bodies (--kinds) or another --seed may help"


def _mm(metres: float) -> str:
    return f"{1e3 * metres:.2f} mm"
