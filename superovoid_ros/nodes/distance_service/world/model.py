# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot and its planning scene, and the selection of pairs from the names in a request."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from superovoid.planning.scene_problem import pairs_of_group
from superovoid.robot.planning_scene import PlanningScene
from superovoid.robot.scene_objects import MORE
from superovoid.scene import SceneResult
from superovoid.states import StateDistances, StateQuery
from superovoid.states.verdicts import CLEAR, FloorQuery
from superovoid_ros.nodes.common.mistakes import Code, InputError, listing, refusals, shorten

Result = TypeVar("Result", SceneResult, StateDistances)
# Number of cached selections, since clients repeat a few of them.
_SELECTIONS_KEPT = 64
# Largest number of their pairs together, about 50 bytes each; a larger selection is cached alone.
_PAIRS_KEPT = 2_000_000
# Cut-off beyond the paddings, m, so that rounding hides no pair whose proved bound is below its padding and whose
# distance is above it.
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Selection:
    """Allowed pairs between two sets of links and objects."""

    pairs: np.ndarray
    """Pairs of indices of bodies, int array, shape (n, 2)."""
    links_a: frozenset[str]
    """Links and objects on one side, named as in `PlanningScene.owners`."""
    links_b: frozenset[str]
    owners: tuple[str, ...]
    """The same as `PlanningScene.owners`."""
    parts: tuple[np.ndarray, ...]
    """`PlanningScene.parts` of the pairs."""
    queries: dict[tuple[int, bool, bool], list[StateQuery]] = field(default_factory=dict)
    """Prepared queries, by number of parts and requested gradients."""

    @cached_property
    def _on_sides(self) -> np.ndarray:
        """Return whether each body is on either side, shape (2, bodies)."""
        sides = self.links_a, self.links_b
        return np.array([[owner in links for owner in self.owners] for links in sides], dtype=bool)

    def in_order(self, found: Result) -> Result:
        """Return an answer with the bodies of `links_a` first: rows in the other order are swapped."""
        on_a, on_b = self._on_sides
        swapped = ~(on_a[found.body_a] & on_b[found.body_b])
        if not swapped.any():
            return found
        column = swapped[:, None]
        return replace(
            found,
            body_a=np.where(swapped, found.body_b, found.body_a),
            body_b=np.where(swapped, found.body_a, found.body_b),
            point_a=np.where(column, found.point_b, found.point_a),
            point_b=np.where(column, found.point_a, found.point_b),
            normal=np.where(column, -found.normal, found.normal),
        )


class ClearanceQuery:
    """The query about the clearances of the pairs that a group can move; prepared, for any number of threads.

    Parameters
    ----------
    planning
        Robot and objects.
    group
        Name of the group; empty: all pairs.

    Attributes
    ----------
    pairs : (n, 2) ndarray of int
    """

    def __init__(self, planning: PlanningScene, group: str) -> None:
        pairs = pairs_of_group(planning, group) if group else planning.scene.pairs
        self.pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._joints = planning.robot.joint_names
        self._least = planning.paddings_of(*self.pairs.T)[None]
        self._proof = FloorQuery(planning.robot, planning.scene, self.pairs)
        reach = planning.largest_padding() + _SLACK
        self._near = StateQuery(planning.robot, planning.scene, pairs=self.pairs, max_distance=reach)

    def near_pairs(self, positions: Mapping[str, float], base_poses: Mapping[str, np.ndarray]) -> SceneResult | None:
        """Return the pairs near each other in a state; None if all clearances are proved to be positive.

        Raise `ValueError` if the state is invalid.
        """
        row = [[positions[joint] for joint in self._joints]]
        proof = self._proof(row, self._least, self._least, base_poses=base_poses, threads=1)
        if proof.verdicts[0] == CLEAR:
            return None
        return self._near(row, base_poses=base_poses, threads=1).of_state(0)


Kept = TypeVar("Kept", Selection, ClearanceQuery)


class Model:
    """The robot with the objects around it, and the queries that requests have prepared.

    Parameters
    ----------
    planning
        The robot with all objects and rules.

    Attributes
    ----------
    robot : Robot
    scene : Scene
        Bodies and pairs of the planning scene.
    """

    def __init__(self, planning: PlanningScene) -> None:
        self.planning, self.robot, self.scene = planning, planning.robot, planning.scene
        self._selections: dict[tuple[tuple[str, ...], tuple[str, ...]], Selection] = {}
        self._clearances: dict[str, ClearanceQuery] = {}

    @cached_property
    def links_with_bodies(self) -> frozenset[str]:
        """Links and objects that have bodies."""
        return frozenset(self.planning.owners)

    @cached_property
    def missing_content(self) -> str:
        """Reason why this model cannot be queried (objects that are unreadable or have no pose); empty if it can."""
        problems, parts = dict(self.planning.problems), []
        lost = problems.pop(MORE, None)
        if lost is not None:
            remedy = "send a whole planning scene (is_diff: false, and robot_state.is_diff: false)"
            parts.append(f"{shorten(lost.reason, 300)}: {remedy}")
        if problems:
            reasons = [shorten(problem.reason, 300) for problem in itertools.islice(problems.values(), 3)]
            if len(problems) > len(reasons):
                reasons.append(f"and {len(problems) - len(reasons)} more")
            parts.append(
                f"{len(problems)} object{'s' * (len(problems) > 1)} without a shape or place on robot "
                f"'{self.robot.name}': {'; '.join(reasons)}: remove (if attached, detach and remove) or re-send "
                f"{listing(map(repr, problems))}, or send a full planning scene or a robot description that fits"
            )
        return f"not ready: {'; '.join(parts)}" if parts else ""

    def describe(self) -> str:
        """Return one line about the robot, for the log."""
        robot = self.robot
        return (
            f"robot '{robot.name}': {len(robot.links)} links, {len(robot.joint_names)} joints, "
            f"{len(robot.bodies)} bodies on {len({body.link for body in robot.bodies})} links, "
            f"{self.scene.pair_count} allowed pairs"
        )

    def select(self, names_a: Sequence[str], names_b: Sequence[str]) -> Selection:
        """Return the allowed pairs between two sets of links.

        Parameters
        ----------
        names_a, names_b
            Names of links, groups or objects; empty: every link and object.

        Raises
        ------
        InputError
            If a name is unknown, a named link has no contact geometry, or no pair is allowed; in the last case the
            message gives the rule that forbids a pair.
        """
        key = (tuple(names_a), tuple(names_b))
        return _keep(self._selections, key, lambda: self._select(*key))

    def query(
        self, selection: Selection, *, gradients: bool = False, base_gradients: bool = False, **limits: object
    ) -> StateQuery:
        """Return the query of a selection's pairs, prepared at its first use.

        Parameters
        ----------
        selection
            A result of `select`.
        gradients, base_gradients, **limits
            As for `superovoid.states.StateQuery`; limits as for `StateQuery.with_limits`.
        """
        (prepared,) = self._prepare_queries(selection, (selection.pairs,), gradients, base_gradients)
        return prepared.with_limits(**limits)

    def closest_queries(
        self, selection: Selection, max_results: int | None = None, **limits: object
    ) -> list[StateQuery]:
        """Return queries that together find the closest pairs, with only one pair for each body and the octomap."""
        first, *crowds = self._prepare_queries(selection, selection.parts)
        return [
            first.with_limits(max_results=max_results, **limits),
            *(crowd.with_limits(max_results=1, **limits) for crowd in crowds),
        ]

    def _prepare_queries(
        self, selection: Selection, parts: Sequence[np.ndarray], gradients: bool = False, base_gradients: bool = False
    ) -> list[StateQuery]:
        key = len(parts), gradients, base_gradients
        if key not in selection.queries:
            selection.queries[key] = [
                StateQuery(self.robot, self.scene, pairs=pairs, gradients=gradients, base_gradients=base_gradients)
                for pairs in parts
            ]
        return selection.queries[key]

    def clearance_query(self, group: str) -> ClearanceQuery:
        """Return the query about the pairs that a group can move, all if the name is empty."""
        return _keep(self._clearances, group, lambda: ClearanceQuery(self.planning, group))

    def watch(self, entries: Iterable[str]) -> Selection | None:
        """Return the pairs of all entries, each with two names; None if there is no entry."""
        entries = [entry for entry in entries if entry.strip()]
        if not entries:
            return None
        chosen: set[tuple[int, int]] = set()
        for entry in entries:
            name_a, name_b = split_pair(entry)
            chosen.update(map(tuple, self.select([name_a], [name_b]).pairs.tolist()))
        everything = self.links_with_bodies
        pairs = np.array(sorted(chosen))
        return Selection(pairs, everything, everything, self.planning.owners, self.planning.parts(pairs))

    def _select(self, names_a: tuple[str, ...], names_b: tuple[str, ...]) -> Selection:
        if not self.links_with_bodies:
            raise InputError(f"no link of robot '{self.robot.name}' has contact geometry: no distances to compute")
        links_a, links_b = self._links(names_a), self._links(names_b)
        pairs = self.planning.body_pairs(links_a if names_a else None, links_b if names_b else None)
        if not len(pairs):
            raise InputError(
                f"no allowed pair of bodies {self._no_pair_message((names_a, names_b), (links_a, links_b))}"
            )
        return Selection(pairs, links_a, links_b, self.planning.owners, self.planning.parts(pairs))

    def _links(self, names: tuple[str, ...]) -> frozenset[str]:
        """Return the named links and objects that have bodies; all if there are no names."""
        if not names:
            return self.links_with_bodies
        with refusals(code=Code.UNKNOWN_LINK):
            links = self.planning.owners_of(names)
        if not links:
            raise InputError(f"no link of {listing(names)} has contact geometry")
        return links

    def _no_pair_message(self, names: Sequence[tuple[str, ...]], links: Sequence[frozenset[str]]) -> str:
        """Return a message for the absence of pairs between two sides, with the reason for one of them."""
        between = "between {} and {}".format(*(listing(side) if side else "any" for side in names))
        all_a, all_b = map(sorted, links)
        others = ((link_a, link_b) for link_a in all_a for link_b in all_b if link_a != link_b)
        # The rule "same link" is a useful reason only if the request names one link.
        for link_a, link_b in itertools.chain(others, zip(all_a, all_a, strict=True)):
            decision = self.planning.rules.decide(link_a, link_b)
            if not decision.checked:
                return f"{between}: {link_a} and {link_b}: {decision.words}"
        return between


def _keep(kept: dict[Any, Kept], key: object, make: Callable[[], Kept]) -> Kept:
    """Return what is stored for a key, made at its first use; discard the others if they are too many."""
    if key not in kept:
        if len(kept) >= _SELECTIONS_KEPT or sum(len(one.pairs) for one in kept.values()) > _PAIRS_KEPT:
            kept.clear()
        kept[key] = make()
    return kept[key]


def split_pair(entry: str) -> list[str]:
    """Return the two names in an entry of the parameter `pairs`; raise `InputError` if there are not two."""
    names = entry.replace(",", " ").split()
    if len(names) != 2:
        raise InputError(f"pairs: '{entry}': must be two names of links or groups, like 'left_hand right_hand'")
    return names
