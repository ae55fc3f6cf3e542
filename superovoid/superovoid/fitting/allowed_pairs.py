# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recompute the disabled pairs of links of an SRDF for a robot with other bodies.

========  =============================================================================================================
Adjacent  a joint connects the links, directly or through links without geometry
Always    the bodies overlap in all states, and so do the meshes
Default   the bodies overlap at the default joint positions, and so do the meshes
Never     the bodies are apart in all states
========  =============================================================================================================

These are the reasons of MoveIt's Setup Assistant. "Always" and "Never" are proved over all positions of the joints
between the links if the allowed number of boxes suffices (`pair_proofs`); otherwise they are based on random states,
whose number and seed are reported. If the bodies of a pair overlap at the default positions, but its meshes do not, the
pair is *newly* colliding: it is reported, and not disabled.
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
from superovoid.values.checks import whole_number
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]

REASONS = ("Adjacent", "Always", "Default", "Never")
"""Recomputed reasons. Pairs with any other reason in an SRDF were disabled by hand and are kept."""
_MANUAL = "disabled by hand in the given SRDF, kept"
_MESH_STATES = 200  # number of states in which "Always" is also tested on the meshes


@dataclass(frozen=True)
class PairVerdict(Record):
    """Result for two links."""

    link_a: str
    link_b: str
    reason: str
    """one of `REASONS`, or the reason in the given SRDF; "" if the pair must be checked"""
    proof: str
    """evidence: "structure" (of the URDF); "proved" over all joint positions; "proved of the meshes, too"; "states"
    (default or random states of the bodies); "given" (in the SRDF); "" if the pair must be checked"""
    change: str
    """change of the given SRDF: "kept", "added", "dropped", or "" (checked before and now)"""
    given: str
    """reason in the given SRDF; "" if it does not disable the pair"""
    colliding: int
    """number of random states in which the bodies overlap"""
    words: str = ""


@dataclass(frozen=True)
class NewCollision(Record):
    """Two links whose bodies, but not their meshes, overlap in a state that planners start from."""

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
    """Recomputed pairs of links of a robot with other bodies."""

    pairs: tuple[PairVerdict, ...]
    """all pairs disabled before or after"""
    new_collisions: tuple[NewCollision, ...]
    checked: int
    """number of pairs of links that must be checked"""
    states: int
    seed: int
    words: tuple[str, ...]
    """warnings"""

    def pairs_with(self, change: str) -> tuple[PairVerdict, ...]:
        """Return the pairs with a given `PairVerdict.change`."""
        return tuple(pair for pair in self.pairs if pair.change == change)


def named_states(robot: Robot, semantics: Semantics) -> dict[str, FloatArray]:
    """Return the default state and the named states of an SRDF: positions in the order of `Robot.joint_names`.

    The default position of a joint is 0, or the middle of its limits if 0 is beyond them. It also applies to joints
    that a named state omits.
    """
    home = {name: home_of(limits) for name, limits in robot.joint_limits.items()}
    found = {"default": home}
    for group, states in semantics.states.items():
        for state, positions in states.items():
            found[f"{group}/{state}"] = {name: positions.get(name, home[name]) for name in home}
    return {name: np.array([state[joint] for joint in robot.joint_names]) for name, state in found.items()}


@dataclass(frozen=True)
class PairSearch:
    """Effort of the search for pairs that need no check."""

    states: int = 10_000
    """number of random states"""
    seed: int = 0
    max_evaluations: int = 20_000
    """largest number of boxes of joint positions in the proof of a pair"""

    def __post_init__(self) -> None:
        for name in ("states", "max_evaluations"):
            whole_number(name, getattr(self, name), 0)


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
    """Find the pairs of links that need no check.

    Parameters
    ----------
    bodies : Robot
        The robot with the bodies, without an SRDF.
    meshes : Robot
        The same robot with its meshes, without an SRDF.
    semantics : Semantics
        Contents of the given SRDF.
    uncovered : mapping of str to float, optional
        Proved upper bounds of the distance of a link's meshes from its bodies, m. Nothing is known about the meshes of
        links missing from it.
    search : PairSearch, optional
    progress : callable, optional
        Called with the numbers of finished and of all steps.

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
    for pair in finder.adjacent_pairs():
        verdicts.append(finder.verdict_on_adjacent(pair))
        seen.add(frozenset(pair))
    for links, reason in semantics.disabled.items():
        if links not in seen and len(links) == 2:
            a, b = sorted(links, key=order.__getitem__)
            verdicts.append(finder.keep_unexamined((a, b), reason, left_out))
    listed = [each for each in verdicts if each.reason or each.given]
    listed.sort(key=lambda each: (order[each.link_a], order[each.link_b]))
    words = [f"link '{link}': its geometry is unknown; its pairs are kept as given" for link in left_out]
    return PairReport(
        tuple(listed),
        tuple(finder.new_collisions()),
        sum(1 for each in verdicts if not each.reason),
        search.states,
        search.seed,
        (*semantics.warnings, *words),
    )


class _Finder:
    """Verdicts on the pairs of one robot."""

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

    def adjacent_pairs(self) -> list[LinkPair]:
        """Return the pairs connected by a joint."""
        robot, links = self.pairs.robot, self.pairs.links
        found = []
        for i, a in enumerate(links):
            found += [(a, b) for b in links[i + 1 :] if robot.rules.decide(a, b).rule == ADJACENT]
        return found

    def verdict(self, pair: LinkPair, colliding: int, touching: int) -> PairVerdict:
        """Return the verdict on two links without a joint between them."""
        given = self.semantics.disabled.get(frozenset(pair))
        if frozenset(pair) in self.semantics.enabled or self._by_default(pair):
            return self._verdict_by_rule(pair, given or "", colliding)
        if _is_manual(given):
            return self._make_verdict(pair, given or "", "given", colliding, _MANUAL)
        reason, proof, words = self._find_reason(pair, colliding, touching)
        at_home = not is_outside(self.pairs.robot, pair) and self._overlap(self.at_states, pair, 0)
        if not reason and given is not None and at_home:
            words = "overlaps at the default with these bodies, and not with the meshes; kept as in the given SRDF"
            return self._make_verdict(pair, given, "given", colliding, words)
        return self._make_verdict(pair, reason, proof, colliding, words)

    def _verdict_by_rule(self, pair: LinkPair, given: str, colliding: int) -> PairVerdict:
        """Return the verdict by ``enable_collisions`` or ``disable_default_collisions``, which are kept."""
        if frozenset(pair) in self.semantics.enabled:
            return PairVerdict(*pair, "", "", "", "", colliding, "enabled in the SRDF by enable_collisions")
        rule = "disable_default_collisions"
        words = f"disabled in the SRDF by {rule}"
        return PairVerdict(*pair, given or rule, "given", "kept", given or rule, colliding, words)

    def verdict_on_adjacent(self, pair: LinkPair) -> PairVerdict:
        """Return the verdict on two links connected by a joint."""
        if frozenset(pair) in self.semantics.enabled:
            return self._verdict_by_rule(pair, "", 0)
        given = self.semantics.disabled.get(frozenset(pair))
        if _is_manual(given) and given != NO_REASON:
            return self._make_verdict(pair, given or "", "given", 0, _MANUAL)
        return self._make_verdict(pair, "Adjacent", "structure", 0)

    def _make_verdict(self, pair: LinkPair, reason: str, proof: str, colliding: int, words: str = "") -> PairVerdict:
        """Return a verdict with its change of the given SRDF."""
        given = self.semantics.disabled.get(frozenset(pair), "")
        if reason and given and given != reason and not words:
            words = f"reason in the given SRDF: {given}"
        change = "kept" if reason and given else "added" if reason else "dropped" if given else ""
        return PairVerdict(*pair, reason, proof, change, given, colliding, words)

    def keep_unexamined(self, pair: LinkPair, reason: str, left_out: tuple[str, ...]) -> PairVerdict:
        """Return the verdict on an unexamined pair in the SRDF, mostly one with a link without geometry."""
        robot = self.pairs.robot
        words = "its geometry is unknown" if set(pair) & set(left_out) else "without geometry"
        if not set(pair) & set(left_out) and not set(pair) & set(robot.links_without_geometry):
            words = "was not examined"
        return PairVerdict(*pair, reason, "given", "kept", reason, 0, words)

    def _by_default(self, pair: LinkPair) -> bool:
        return bool(set(pair) & self.semantics.disabled_by_default)

    def _find_reason(self, pair: LinkPair, colliding: int, touching: int) -> tuple[str, str, str]:
        """Return reason, proof and words; the reason is empty if the pair must be checked."""
        if is_outside(self.pairs.robot, pair):
            return "", "", "a floating or planar joint is between them"
        if self.search.states and colliding == self.search.states:
            return self._judge_overlap(pair)
        if self._overlap(self.at_states, pair, 0):
            if self._overlap(self.meshes_at_states, pair, 0):
                return "Default", "states", ""
            return "", "", "overlaps at the default with these bodies, and not with the meshes"
        if colliding or touching:
            return "", "", f"overlaps in {colliding} of {self.search.states} states"
        return self._judge_gap(pair)

    def _judge_overlap(self, pair: LinkPair) -> tuple[str, str, str]:
        tested = self.positions[:_MESH_STATES]
        if pair in self.others.pairs and meetings(self.others.select(pair), tested).meets.all():
            proof = prove(self.pairs, pair, "meet", max_evaluations=self.search.max_evaluations)
            words = f"the meshes overlap in {len(tested)} of {len(tested)} states"
            return "Always", "proved" if proof.verdict else "states", words
        return "", "", "always overlaps with these bodies, and not with the meshes"

    def _judge_gap(self, pair: LinkPair) -> tuple[str, str, str]:
        known = [self.uncovered.get(link) for link in pair]
        # If the surfaces never meet, and the solids are apart in one state, they are apart in all states.
        if None not in known and self._meshes_apart(pair):
            clearance = float(sum(each for each in known if each is not None))
            proof = prove(self.pairs, pair, "apart", clearance=clearance, max_evaluations=self.search.max_evaluations)
            if proof.verdict:
                return "Never", "proved of the meshes, too", ""
        proof = prove(self.pairs, pair, "apart", max_evaluations=self.search.max_evaluations)
        if proof.witness:
            return "", "", "a search found a state in which they touch; they touch in no random state"
        if proof.verdict:
            return "Never", "proved", ""
        return ("Never", "states", "") if self.search.states else ("", "", "")

    def _meshes_apart(self, pair: LinkPair) -> bool:
        """Return whether the meshes are proved to be apart at the default state."""
        if pair not in self.others.pairs:
            return False
        found, number = self.meshes_at_states, self.others.pairs.index(pair)
        return not (found.meets[0, number] or found.touches[0, number])

    def _overlap(self, found: Meetings, pair: LinkPair, state: int) -> bool:
        names = self.pairs.pairs if found is self.at_states else self.others.pairs
        return pair in names and bool(found.meets[state, names.index(pair)])

    def new_collisions(self) -> list[NewCollision]:
        """Return the pairs whose bodies, but not their meshes, overlap at the default or a named state."""
        found = []
        known = [not is_outside(self.pairs.robot, pair) for pair in self.pairs.pairs]
        for state, name in enumerate(self.states):
            for number, pair in enumerate(self.pairs.pairs):
                if not known[number]:
                    continue  # joint positions do not determine their poses
                if self.at_states.meets[state, number] and not self._overlap(self.meshes_at_states, pair, state):
                    disabled = frozenset(pair) in self.semantics.disabled
                    (depth,) = depths(self.pairs, pair, self.state_rows[state : state + 1])
                    found.append(NewCollision(*pair, name, float(depth), disabled))
        return found


def _is_manual(given: str | None) -> bool:
    """Return whether a reason in an SRDF is not one of the recomputed `REASONS`."""
    return given is not None and given.title() not in REASONS
