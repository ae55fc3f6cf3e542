# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which pairs of links need no check once a robot has other bodies, and why: what an SRDF says, found anew.

========  =============================================================================================================
Adjacent  a joint connects the links, links without geometry between them skipped
Always    they overlap in all states; so do the meshes
Default   they overlap where all joints are at their default; so do the meshes
Never     they are apart in all states
========  =============================================================================================================

These are the reasons of MoveIt's Setup Assistant. "Always" and "Never" are proved over all positions of the joints
between the links where that takes no more boxes than allowed (`pair_proofs`); else they rest on random states, and
their number and seed are said. A pair whose meshes are apart at the default, but not its bodies, is *newly* colliding:
it is told, and nothing here disables it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.pair_proofs import LinkPair, LinkPairs, Meetings, depths, meetings, prove
from superovoid.fitting.stand_ins import is_outside, random_states
from superovoid.robot import Robot
from superovoid.robot.groups import home_of
from superovoid.robot.rules import ADJACENT
from superovoid.robot.srdf import NO_REASON, Semantics
from superovoid.values.checks import whole
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]

REASONS = ("Adjacent", "Always", "Default", "Never")
"""Reasons that can be found anew. Any other in an SRDF is somebody's decision, which stays."""
_MESHES_ASKED = 200  # states in which the meshes are asked, too, whether a pair always overlaps


@dataclass(frozen=True)
class PairVerdict(Record):
    """What was found about two links."""

    link_a: str
    link_b: str
    reason: str
    """one of `REASONS`, or what the given SRDF says; "" where the pair is to be checked"""
    proof: str
    """"structure" (of the URDF); "proved" over all joint positions; "proved of the meshes, too"; "states" (of the
    bodies: default, or random ones); "given"; "" where the pair is to be checked"""
    change: str
    """against the given SRDF: "kept", "added", "dropped", or "" (checked before and now)"""
    given: str
    """reason of the given SRDF; "" where it does not disable the pair"""
    colliding: int
    """random states in which the bodies overlap"""
    words: str = ""


@dataclass(frozen=True)
class NewCollision(Record):
    """Two links whose bodies overlap in a state that a planner starts from, and whose meshes do not."""

    link_a: str
    link_b: str
    state: str
    """"default", or "group/state" """
    depth: float
    """m"""
    disabled: bool
    """whether the given SRDF disables the pair"""


@dataclass(frozen=True, eq=False)
class PairReport(Record):
    """Pairs of links of a robot with other bodies."""

    pairs: tuple[PairVerdict, ...]
    """all that are disabled, or were"""
    new_collisions: tuple[NewCollision, ...]
    checked: int
    """pairs of links that are left to be checked"""
    states: int
    seed: int
    words: tuple[str, ...]
    """what is doubtful"""

    def changed(self, change: str) -> tuple[PairVerdict, ...]:
        """Those with one `PairVerdict.change`."""
        return tuple(pair for pair in self.pairs if pair.change == change)


def named_states(robot: Robot, semantics: Semantics) -> dict[str, FloatArray]:
    """The default, and the states that an SRDF names: positions in the order of `Robot.joint_names`.

    The default is 0, or the middle of the limits where 0 is beyond them; joints that a state does not name are there.
    """
    home = {name: home_of(limits) for name, limits in robot.joint_limits.items()}
    found = {"default": home}
    for group, states in semantics.states.items():
        for state, positions in states.items():
            found[f"{group}/{state}"] = {name: positions.get(name, home[name]) for name in home}
    return {name: np.array([state[joint] for joint in robot.joint_names]) for name, state in found.items()}


@dataclass(frozen=True)
class PairSearch:
    """How hard pairs are looked at."""

    states: int = 10_000
    """random ones"""
    seed: int = 0
    max_evaluations: int = 20_000
    """boxes of joint positions for the proof of a pair, at most"""

    def __post_init__(self) -> None:
        for name in ("states", "max_evaluations"):
            whole(name, getattr(self, name), 0)


USUAL = PairSearch()


def find_pairs(
    bodies: Robot,
    meshes: Robot,
    semantics: Semantics,
    *,
    uncovered: Mapping[str, float] | None = None,
    search: PairSearch = USUAL,
    progress: Callable[[int, int], None] | None = None,
) -> PairReport:
    """Find which pairs of links need no check.

    Parameters
    ----------
    bodies : Robot
        With the bodies, without an SRDF.
    meshes : Robot
        The same robot with its meshes, without an SRDF.
    semantics : Semantics
        What the given SRDF says.
    uncovered : mapping of str to float, optional
        Proved: how far the meshes of a link are from its bodies at most, m. Links that are not in it have meshes of
        which nothing is known.
    search : PairSearch, optional
    progress : callable, optional
        Called with what is done and what there is to do.

    Returns
    -------
    PairReport
    """
    left_out = tuple(bodies.left_out)
    pairs = LinkPairs(bodies, left_out)
    others = LinkPairs(meshes, left_out)
    finder = _Finder(pairs, others, semantics, uncovered or {}, search)
    verdicts = []
    steps = search.states + len(pairs.pairs)
    positions = random_states(bodies, search.states, search.seed)
    found = meetings(pairs, positions, None if progress is None else lambda done: progress(done, steps))
    finder.positions = positions
    counts = found.meets.sum(axis=0), found.touches.sum(axis=0)
    for number, pair in enumerate(pairs.pairs):
        verdicts.append(finder.verdict(pair, int(counts[0][number]), int(counts[1][number])))
        if progress is not None:
            progress(search.states + number + 1, steps)
    seen = set(map(frozenset, pairs.pairs))
    order = {link: number for number, link in enumerate(bodies.links)}
    for pair in finder.adjacent():
        verdicts.append(finder.neighbours(pair))
        seen.add(frozenset(pair))
    for links, reason in semantics.disabled.items():
        if links not in seen and len(links) == 2:
            a, b = sorted(links, key=order.__getitem__)
            verdicts.append(finder.unseen((a, b), reason, left_out))
    listed = [each for each in verdicts if each.reason or each.given]
    listed.sort(key=lambda each: (order[each.link_a], order[each.link_b]))
    words = [f"link '{link}': its geometry is not known; what is said of its pairs stays" for link in left_out]
    return PairReport(
        tuple(listed),
        tuple(finder.new_collisions()),
        sum(1 for each in verdicts if not each.reason),
        search.states,
        search.seed,
        (*semantics.warnings, *words),
    )


class _Finder:
    """What is asked about the pairs of one robot."""

    def __init__(
        self,
        pairs: LinkPairs,
        others: LinkPairs,
        semantics: Semantics,
        uncovered: Mapping[str, float],
        search: PairSearch,
    ) -> None:
        self.pairs, self.others, self.semantics = pairs, others, semantics
        self.uncovered, self.search = uncovered, search
        self.positions: FloatArray = np.empty((0, len(pairs.robot.joint_names)))
        self.states = named_states(pairs.robot, semantics)
        self.state_rows = rows = np.array(list(self.states.values()))
        self.at_states, self.meshes_at_states = meetings(pairs, rows), meetings(others, rows)

    def adjacent(self) -> list[LinkPair]:
        """Pairs that a joint connects."""
        robot, links = self.pairs.robot, self.pairs.links
        found = []
        for i, a in enumerate(links):
            found += [(a, b) for b in links[i + 1 :] if robot.rules.why(a, b).rule == ADJACENT]
        return found

    def verdict(self, pair: LinkPair, colliding: int, touching: int) -> PairVerdict:
        """What is found about two links that no joint connects."""
        given = self.semantics.disabled.get(frozenset(pair))
        if frozenset(pair) in self.semantics.enabled or self._by_default(pair):
            return self._ruled(pair, given or "", colliding)
        if _is_decision(given):
            return self.settled(pair, given or "", "given", colliding, "somebody's decision, which stays")
        reason, proof, words = self._found(pair, colliding, touching)
        at_home = not is_outside(self.pairs.robot, pair) and self._overlap(self.at_states, pair, 0)
        if not reason and given is not None and at_home:
            words = "overlaps at the default with these bodies, and not with the meshes; as the given SRDF has it"
            return self.settled(pair, given, "given", colliding, words)
        return self.settled(pair, reason, proof, colliding, words)

    def _ruled(self, pair: LinkPair, given: str, colliding: int) -> PairVerdict:
        """What ``enable_collisions`` and ``disable_default_collisions`` say, which stays."""
        if frozenset(pair) in self.semantics.enabled:
            return PairVerdict(*pair, "", "", "", "", colliding, "the SRDF says enable_collisions")
        rule = "disable_default_collisions"
        return PairVerdict(*pair, given or rule, "given", "kept", given or rule, colliding, f"the SRDF says {rule}")

    def neighbours(self, pair: LinkPair) -> PairVerdict:
        """Two links that a joint connects."""
        if frozenset(pair) in self.semantics.enabled:
            return self._ruled(pair, "", 0)
        given = self.semantics.disabled.get(frozenset(pair))
        if _is_decision(given) and given != NO_REASON:
            return self.settled(pair, given or "", "given", 0, "somebody's decision, which stays")
        return self.settled(pair, "Adjacent", "structure", 0)

    def settled(self, pair: LinkPair, reason: str, proof: str, colliding: int, words: str = "") -> PairVerdict:
        """A verdict beside what the given SRDF says."""
        given = self.semantics.disabled.get(frozenset(pair), "")
        if reason and given and given != reason and not words:
            words = f"the given SRDF says {given}"
        change = "kept" if reason and given else "added" if reason else "dropped" if given else ""
        return PairVerdict(*pair, reason, proof, change, given, colliding, words)

    def unseen(self, pair: LinkPair, reason: str, left_out: tuple[str, ...]) -> PairVerdict:
        """A pair of the SRDF of which one link has no geometry here."""
        robot = self.pairs.robot
        words = "its geometry is not known" if set(pair) & set(left_out) else "without geometry"
        if not set(pair) & set(left_out) and not set(pair) & set(robot.links_without_geometry):
            words = "was not looked at"
        return PairVerdict(*pair, reason, "given", "kept", reason, 0, words)

    def _by_default(self, pair: LinkPair) -> bool:
        return bool(set(pair) & self.semantics.disabled_by_default)

    def _found(self, pair: LinkPair, colliding: int, touching: int) -> tuple[str, str, str]:
        """Reason, proof and words; an empty reason: the pair is to be checked."""
        if is_outside(self.pairs.robot, pair):
            return "", "", "the pose of one comes from outside"
        if self.search.states and colliding == self.search.states:
            return self._always(pair)
        if self._overlap(self.at_states, pair, 0):
            if self._overlap(self.meshes_at_states, pair, 0):
                return "Default", "states", ""
            return "", "", "overlaps at the default with these bodies, and not with the meshes"
        if colliding or touching:
            return "", "", f"overlaps in {colliding} of {self.search.states} states"
        return self._never(pair)

    def _always(self, pair: LinkPair) -> tuple[str, str, str]:
        asked = self.positions[:_MESHES_ASKED]
        if pair in self.others.pairs and meetings(self.others.only(pair), asked).meets.all():
            proof = prove(self.pairs, pair, "meet", max_evaluations=self.search.max_evaluations)
            words = f"the meshes overlap in {len(asked)} of {len(asked)} states"
            return "Always", "proved" if proof.verdict else "states", words
        return "", "", "always overlaps with these bodies, and not with the meshes"

    def _never(self, pair: LinkPair) -> tuple[str, str, str]:
        known = [self.uncovered.get(link) for link in pair]
        # Surfaces that never meet are those of solids apart where these are apart in one state.
        if None not in known and self._meshes_apart(pair):
            clearance = float(sum(each for each in known if each is not None))
            proof = prove(self.pairs, pair, "apart", clearance=clearance, max_evaluations=self.search.max_evaluations)
            if proof.verdict:
                return "Never", "proved of the meshes, too", ""
        proof = prove(self.pairs, pair, "apart", max_evaluations=self.search.max_evaluations)
        if proof.witness:
            return "", "", "a search found a state in which they touch, which no random state was"
        if proof.verdict:
            return "Never", "proved", ""
        return ("Never", "states", "") if self.search.states else ("", "", "")

    def _meshes_apart(self, pair: LinkPair) -> bool:
        """Whether the meshes are proved to be apart at the default."""
        if pair not in self.others.pairs:
            return False
        found, number = self.meshes_at_states, self.others.pairs.index(pair)
        return not (found.meets[0, number] or found.touches[0, number])

    def _overlap(self, found: Meetings, pair: LinkPair, state: int) -> bool:
        names = self.pairs.pairs if found is self.at_states else self.others.pairs
        return pair in names and bool(found.meets[state, names.index(pair)])

    def new_collisions(self) -> list[NewCollision]:
        """Pairs that overlap at the default or a named state, and whose meshes do not."""
        found = []
        known = [not is_outside(self.pairs.robot, pair) for pair in self.pairs.pairs]
        for state, name in enumerate(self.states):
            for number, pair in enumerate(self.pairs.pairs):
                if not known[number]:
                    continue  # no state says where they are
                if self.at_states.meets[state, number] and not self._overlap(self.meshes_at_states, pair, state):
                    disabled = frozenset(pair) in self.semantics.disabled
                    (depth,) = depths(self.pairs, pair, self.state_rows[state : state + 1])
                    found.append(NewCollision(*pair, name, float(depth), disabled))
        return found


def _is_decision(given: str | None) -> bool:
    """Whether a reason of an SRDF is none of those that are found anew."""
    return given is not None and given.title() not in REASONS
