# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a fit does to a planner: where bodies and meshes disagree whether a state collides, and how fast both are.

States are uniform within the joint limits. A state is a *false positive* where the bodies are proved to overlap and the
meshes are not, a *false negative* where the meshes are and the bodies are not. Shares have the intervals of Clopper and
Pearson (1934), which hold the true share with at least the confidence given.
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
"""A count, and the ends of the interval of its share."""

QUESTIONS = ("all distances", "any overlap", "the least distance of each pair of links")
"""What is timed; the last where a link has several bodies."""
BODIES, HULLS, MESHES = "the bodies", "the meshes as convex hulls", "the meshes"
"""Who is asked."""


class Asked(NamedTuple):
    """A question, and who answers it with how many bodies and pairs of them."""

    question: str
    """one of `QUESTIONS`"""
    who: str
    bodies: int
    pairs: int


Calls = Mapping[Asked, Callable[[int], object]]
"""Calls that answer all pairs of the first so many states."""
Beside = Callable[[str, LinkPairs, FloatArray], Calls]

CONFIDENCE = 0.95
_TIMED, _FEW = 500, 10  # states that are timed: at most, at least
_ALWAYS = 0.95  # of the states; MoveIt's Setup Assistant takes as much for always
_LONGEST = 2.0  # s; of one timed call
_TURNS = 3


@dataclass(frozen=True)
class PairStudy(Record):
    """Two links in random states."""

    link_a: str
    link_b: str
    colliding: int
    """states in which the meshes overlap"""
    false_positive: Share
    false_negative: Share
    missed_depth: float
    """how deep the meshes overlap at most where the bodies do not, m"""
    undecided: int
    """states in which it is not proved of one of the two whether it overlaps; they count as neither"""


@dataclass(frozen=True)
class Speed(Record):
    """How many states are answered in a second of processor time, all pairs, one thread."""

    asked: Asked
    states: int
    """that were timed"""
    per_second: float


@dataclass(frozen=True)
class PlannerStudy(Record):
    """A robot with fitted bodies beside the same with its meshes."""

    states: int
    seed: int
    confidence: float
    whole: PairStudy
    """of states: whether any pair overlaps; its depth is that of the deepest pair"""
    pairs: tuple[PairStudy, ...]
    """those about which bodies and meshes disagree anywhere, or which overlap; most disagreements first"""
    pairs_checked: int
    left_out: tuple[LinkPair, ...]
    """pairs whose meshes overlap at the default or nearly always; none where an SRDF was given"""
    speeds: tuple[Speed, ...]


def share_of(count: int, states: int, confidence: float = CONFIDENCE) -> Share:
    """A count, and the interval of Clopper and Pearson of its share."""
    from scipy.stats import beta  # late: importing it takes longer than most programs need it

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
    beside: Beside | None = None,
) -> PlannerStudy:
    """Compare a fitted robot with its meshes in random states.

    Without an SRDF, pairs whose meshes overlap where all joints are at their default, or in 95 % of the states, are
    left out, as MoveIt's Setup Assistant does for the reasons "Default" and "Always"; else nearly every state would
    count as a collision.

    Parameters
    ----------
    fit : RobotFit
    srdf : str or path, optional
        Pairs that it disables are left out; a path, an address or the document.
    package_directories : mapping of str to path, optional
        Where packages are.
    states : int
    seed : int
    progress : callable, optional
        Called with what is done and what there is to do.
    beside : callable, optional
        Makes what others are timed by: of the URDF, the pairs of the robot with convex hulls in the place of meshes,
        and states, what answers one of `QUESTIONS` about these states.

    Raises
    ------
    RobotDescriptionError
        If the SRDF cannot be used, or a mesh that was fitted can no longer be read.
    """
    packages = PackageFolders(package_directories)
    text = None if srdf is None else read_document("SRDF", srdf, packages)[0]
    robots = [with_rules(robot, text) for robot in robots_of(fit, packages)]
    bodies, meshes = (LinkPairs(robot, tuple(robots[0].left_out), outside=False) for robot in robots)
    dropped: tuple[LinkPair, ...] = ()
    if text is None:
        dropped = _overlapping_at_default(meshes)
        meshes = meshes.without(dropped)
    positions = random_states(robots[0], states, seed)
    steps = 2 * states
    theirs = meetings(meshes, positions, None if progress is None else lambda done: progress(done, steps))
    if text is None:
        often = theirs.meets.mean(axis=0) >= _ALWAYS
        dropped += tuple(pair for pair, drop in zip(meshes.pairs, often, strict=True) if drop)
        theirs = theirs.of_pairs(~often)
        bodies, meshes = bodies.without(dropped), meshes.without(dropped)
    ours = meetings(bodies, positions, None if progress is None else lambda done: progress(states + done, steps))
    order = [meshes.pairs.index(pair) for pair in bodies.pairs]
    theirs = Meetings(theirs.meets[:, order], theirs.touches[:, order])
    missed = theirs.meets & ~ours.meets & ~ours.touches
    depth = np.zeros(missed.shape)
    for number in np.flatnonzero(missed.any(axis=0)):
        at = np.flatnonzero(missed[:, number])
        depth[at, number] = depths(meshes, bodies.pairs[number], positions[at])
    found = [
        _compared(*pair, ours.of_pair(number), theirs.of_pair(number), depth[:, number])
        for number, pair in enumerate(bodies.pairs)
    ]
    whole = _compared("any", "any", ours.of_any(), theirs.of_any(), depth.max(axis=1, initial=0.0))
    told = [pair for pair in found if pair.colliding or pair.false_positive[0]]
    told.sort(key=lambda pair: -(pair.false_positive[0] + pair.false_negative[0]))
    timed = positions[:_TIMED]
    hulls = LinkPairs(with_hulls(robots[1]), tuple(robots[0].left_out), outside=False).without(dropped)
    named = {BODIES: bodies, HULLS: hulls, MESHES: meshes}
    others = {} if beside is None else beside(fit.source, hulls, timed)
    speeds = _speeds(named, timed, others)
    return PlannerStudy(states, seed, CONFIDENCE, whole, tuple(told), len(found), dropped, speeds)


def _overlapping_at_default(pairs: LinkPairs) -> tuple[LinkPair, ...]:
    """Pairs of links that are proved to overlap where all joints are at their default."""
    default = named_states(pairs.robot, Semantics({}, {}, ()))["default"]
    meets = meetings(pairs, default[None]).meets[0]
    return tuple(pair for pair, overlap in zip(pairs.pairs, meets, strict=True) if overlap)


def _compared(link_a: str, link_b: str, ours: Meetings, theirs: Meetings, depth: FloatArray) -> PairStudy:
    """Two answers in all states; where one is not proved either way, they do not disagree."""
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
    """All distances of all pairs in some states, in turns, the median of the processor's time."""
    calls: dict[Asked, Callable[[int], object]] = {}
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
            asked = Asked(question, who, *counts)
            calls[asked] = (
                lambda count, query=query: query(  # type: ignore[misc]
                    positions[:count], base_poses=bases, threads=1
                )
            )
    return timed_in_turns({**calls, **others}, len(positions))


def timed_in_turns(calls: Calls, states: int) -> tuple[Speed, ...]:
    """States a second of calls that answer so many, once before they are timed, then in turns.

    A call that would take longer than `_LONGEST` is timed on fewer states, `_FEW` at least.
    """
    counts = {}
    for asked, call in calls.items():
        few = min(_FEW, states)
        call(few)  # reads and keeps what later calls need
        seconds = _processor_time(call, few)
        counts[asked] = min(states, max(few, int(few * _LONGEST / max(seconds, 1e-9))))
    times: dict[Asked, list[float]] = {asked: [] for asked in calls}
    for turn in range(_TURNS + 1):
        for asked, call in calls.items():
            seconds = _processor_time(call, counts[asked])
            if turn:
                times[asked].append(seconds)
    return tuple(
        Speed(asked, counts[asked], counts[asked] / max(float(np.median(each)), 1e-9)) for asked, each in times.items()
    )


def _processor_time(call: Callable[[int], object], states: int) -> float:
    started = time.process_time()
    call(states)
    return time.process_time() - started
