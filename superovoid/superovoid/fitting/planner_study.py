# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Measure the effect of a fit on a planner: collision verdicts of bodies and meshes that differ, and their speed.

States are uniform within the joint limits. A state is a *false positive* if the bodies, but not the meshes, are proved
to overlap, and a *false negative* if the meshes, but not the bodies, are. Shares are given with the intervals of
Clopper and Pearson (1934), which contain the true share with at least the stated confidence.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.allowed_pairs import named_states
from superovoid.fitting.pair_proofs import LinkPair, LinkPairs, Meetings, depths, meetings
from superovoid.fitting.robot_fits import RobotFit
from superovoid.fitting.stand_ins import random_states, robots_of, with_hulls, with_rules
from superovoid.robot.files import PackageFolders, read_document
from superovoid.robot.srdf import Semantics
from superovoid.states import StateQuery, ThresholdQuery
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]
Share = tuple[int, float, float]
"""A count, and the lower and upper end of the confidence interval of its share."""

QUESTIONS = ("all distances", "any overlap", "the least distance of each pair of links")
"""Timed queries; the last only if a link has several bodies."""
BODIES, HULLS, MESHES = "the bodies", "the meshes as convex hulls", "the meshes"
"""Timed geometries."""


class TimedQuery(NamedTuple):
    """A timed query: its question, the geometry, and the numbers of bodies and of pairs of them."""

    question: str
    """one of `QUESTIONS`"""
    who: str
    bodies: int
    pairs: int


Calls = Mapping[TimedQuery, Callable[[int], object]]
"""Functions that answer a query for all pairs in the first n states, n being their argument."""
Beside = Callable[[str, LinkPairs, FloatArray], Calls]

CONFIDENCE = 0.95
_TIMED, _FEW = 500, 10  # largest and smallest number of timed states
_ALWAYS = 0.95  # share of states that counts as always, as in MoveIt's Setup Assistant
_LONGEST = 2.0  # s; target for the longest timed call
_TURNS = 3


@dataclass(frozen=True)
class PairStudy(Record):
    """Comparison of bodies and meshes of two links in random states."""

    link_a: str
    link_b: str
    colliding: int
    """number of states in which the meshes overlap"""
    false_positive: Share
    false_negative: Share
    missed_depth: float
    """largest depth of the meshes in states in which the bodies do not overlap, m"""
    undecided: int
    """number of states in which bodies or meshes are too close to decide; they count as no difference"""


@dataclass(frozen=True)
class Speed(Record):
    """Speed of a query for all pairs in one thread."""

    query: TimedQuery
    states: int
    """number of timed states"""
    per_second: float
    """states per second of processor time"""


@dataclass(frozen=True)
class PlannerStudy(Record):
    """Comparison of a robot with fitted bodies and the same robot with its meshes."""

    states: int
    seed: int
    confidence: float
    whole: PairStudy
    """whether any pair overlaps, with the depth of the deepest pair"""
    pairs: tuple[PairStudy, ...]
    """pairs with overlapping meshes or a false positive in any state; most differences first"""
    pairs_checked: int
    left_out: tuple[LinkPair, ...]
    """pairs whose meshes overlap at the default or nearly always; empty if an SRDF was given"""
    speeds: tuple[Speed, ...]


def share_of(count: int, states: int, confidence: float = CONFIDENCE) -> Share:
    """Return a count with the Clopper-Pearson interval of its share."""
    from scipy.stats import beta  # imported here because the import is slow

    rest = 0.5 * (1.0 - confidence)
    low = float(beta.ppf(rest, count, states - count + 1)) if count else 0.0
    high = float(beta.ppf(1.0 - rest, count + 1, states - count)) if count < states else 1.0
    return count, low, high


def study_planner(
    fit: RobotFit,
    srdf: str | os.PathLike[str] | None = None,
    *,
    package_directories: Mapping[str, str | Path] | None = None,
    states: int = 10_000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    reference: Beside | None = None,
) -> PlannerStudy:
    """Compare a fitted robot with its meshes in random states.

    Without an SRDF, pairs whose meshes overlap at the default joint positions, or in 95 % of the states, are excluded,
    as MoveIt's Setup Assistant does for the reasons "Default" and "Always"; otherwise nearly every state would count as
    a collision.

    Parameters
    ----------
    fit : RobotFit
    srdf : str or path, optional
        SRDF whose disabled pairs are excluded: a path, an address or the document.
    package_directories : mapping of str to path, optional
        Folders of ROS packages.
    states : int
        Number of random states.
    seed : int
        Seed of the states.
    progress : callable, optional
        Called with the numbers of finished and of all steps.
    reference : callable, optional
        Function that returns further calls to time, such as those of other libraries, from the URDF, the pairs of the
        robot with meshes replaced by convex hulls, and the states; each call answers one of `QUESTIONS`.

    Raises
    ------
    RobotDescriptionError
        If the SRDF is invalid, or a fitted mesh can no longer be read.
    """
    packages = PackageFolders(package_directories)
    text = None if srdf is None else read_document("SRDF", srdf, packages)[0]
    robots = [with_rules(robot, text) for robot in robots_of(fit, packages)]
    bodies, meshes = (LinkPairs(robot, tuple(robots[0].left_out), outside=False) for robot in robots)
    dropped: tuple[LinkPair, ...] = ()
    if text is None:
        dropped = _overlapping_at_default(meshes)
        meshes = meshes.drop(dropped)
    positions = random_states(robots[0], states, seed)
    steps = 2 * states
    theirs = meetings(meshes, positions, None if progress is None else lambda done: progress(done, steps))
    if text is None:
        often = theirs.meets.mean(axis=0) >= _ALWAYS
        dropped += tuple(pair for pair, drop in zip(meshes.pairs, often, strict=True) if drop)
        theirs = theirs.of_pairs(~often)
        bodies, meshes = bodies.drop(dropped), meshes.drop(dropped)
    ours = meetings(bodies, positions, None if progress is None else lambda done: progress(states + done, steps))
    order = [meshes.pairs.index(pair) for pair in bodies.pairs]
    theirs = Meetings(theirs.meets[:, order], theirs.touches[:, order])
    missed = theirs.meets & ~ours.meets & ~ours.touches
    depth = np.zeros(missed.shape)
    for number in np.flatnonzero(missed.any(axis=0)):
        at = np.flatnonzero(missed[:, number])
        depth[at, number] = depths(meshes, bodies.pairs[number], positions[at])
    found = [
        _compare(*pair, ours.of_pair(number), theirs.of_pair(number), depth[:, number])
        for number, pair in enumerate(bodies.pairs)
    ]
    whole = _compare("any", "any", ours.of_any(), theirs.of_any(), depth.max(axis=1, initial=0.0))
    listed = [pair for pair in found if pair.colliding or pair.false_positive[0]]
    listed.sort(key=lambda pair: -(pair.false_positive[0] + pair.false_negative[0]))
    timed = positions[:_TIMED]
    hulls = LinkPairs(with_hulls(robots[1]), tuple(robots[0].left_out), outside=False).drop(dropped)
    named = {BODIES: bodies, HULLS: hulls, MESHES: meshes}
    others = {} if reference is None or not len(hulls.bodies) else reference(fit.source, hulls, timed)
    speeds = _speeds(named, timed, others)
    return PlannerStudy(states, seed, CONFIDENCE, whole, tuple(listed), len(found), dropped, speeds)


def _overlapping_at_default(pairs: LinkPairs) -> tuple[LinkPair, ...]:
    """Return the pairs of links with a proved overlap at the default joint positions."""
    default = named_states(pairs.robot, Semantics({}, {}, ()))["default"]
    meets = meetings(pairs, default[None]).meets[0]
    return tuple(pair for pair, overlap in zip(pairs.pairs, meets, strict=True) if overlap)


def _compare(link_a: str, link_b: str, ours: Meetings, theirs: Meetings, depth: FloatArray) -> PairStudy:
    """Compare two verdicts in all states; an undecided verdict agrees with any other."""
    positive = ours.meets & ~theirs.meets & ~theirs.touches
    negative = theirs.meets & ~ours.meets & ~ours.touches
    count = len(positive)
    return PairStudy(
        link_a,
        link_b,
        int(theirs.meets.sum()),
        share_of(int(positive.sum()), count),
        share_of(int(negative.sum()), count),
        float(depth[negative].max(initial=0.0)),
        int((ours.touches | theirs.touches).sum()),
    )


def _speeds(robots: Mapping[str, LinkPairs], positions: FloatArray, others: Calls) -> tuple[Speed, ...]:
    """Time `QUESTIONS` for all pairs in some states."""
    calls: dict[TimedQuery, Callable[[int], object]] = {}
    bases = {link: np.eye(4) for pairs in robots.values() for link in pairs.robot.base_links}
    for who, pairs in robots.items():
        if not len(pairs.bodies):
            continue
        scene, counts = pairs.scene(), (len(pairs.robot.bodies), len(pairs.bodies))
        queries: tuple[Callable[..., object], ...] = (
            StateQuery(pairs.robot, scene),
            ThresholdQuery(pairs.robot, scene, 0.0),
        )
        if len({body.link for body in pairs.robot.bodies}) < len(pairs.robot.bodies):
            queries += (StateQuery(pairs.robot, scene, closest_of_links=True),)
        for question, query in zip(QUESTIONS, queries, strict=False):
            calls[TimedQuery(question, who, *counts)] = (
                lambda count, query=query: query(  # type: ignore[misc]
                    positions[:count], base_poses=bases, threads=1
                )
            )
    return timed_in_turns({**calls, **others}, len(positions))


def timed_in_turns(calls: Calls, states: int) -> tuple[Speed, ...]:
    """Time calls in turns after a warm-up; return states per second by the median processor time.

    A call that would take longer than `_LONGEST` is timed on fewer states, but at least `_FEW`.
    """
    counts = {}
    for query, call in calls.items():
        few = min(_FEW, states)
        call(few)  # fills caches
        seconds = _processor_time(call, few)
        counts[query] = min(states, max(few, int(few * _LONGEST / max(seconds, 1e-9))))
    times: dict[TimedQuery, list[float]] = {query: [] for query in calls}
    for turn in range(_TURNS + 1):
        for query, call in calls.items():
            seconds = _processor_time(call, counts[query])
            if turn:
                times[query].append(seconds)
    return tuple(
        Speed(query, counts[query], counts[query] / max(float(np.median(each)), 1e-9)) for query, each in times.items()
    )


def _processor_time(call: Callable[[int], object], states: int) -> float:
    started = time.process_time()
    call(states)
    return time.process_time() - started
