# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Collision rules: decide which pairs of links and objects are checked against each other, and why.

The rules, in order of increasing priority:

===============  ====================================================================================================
default          checked, except for two world objects, because neither belongs to the robot
same_link        twice the same name: bodies of one link or one object. Never checked, whatever the other rules
adjacent         a joint connects the links, possibly through links without geometry: not checked
srdf             ``disable_collisions`` and ``enable_collisions`` of the SRDF
planning_scene   the allowed collision matrix of a planning scene: its entries, then its default entries
touch_link       an attached object and a link that it may touch, or an object attached to the same link, or an object
                 that one of the two may touch: not checked. As in MoveIt, this does not include its own link
runtime          set while the program runs; the latest rule wins
===============  ====================================================================================================

As in MoveIt, the matrix contains *allowed* collisions, so that ``True`` means *not checked*. If the matrix has no entry
for a pair, rules of lower priority decide, including those of the SRDF (MoveIt drops these when it receives a matrix).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

import numpy as np
from numpy.typing import NDArray

from superovoid.robot.limits import MAXIMUM_NAME, MOST_NAMES
from superovoid.robot.xml import shorten
from superovoid.shapes.lazy import cached_property

SAME_LINK = "same_link"
ADJACENT = "adjacent"
SRDF = "srdf"
PLANNING_SCENE = "planning_scene"
TOUCH_LINK = "touch_link"
RUNTIME = "runtime"
DEFAULT = "default"


@dataclass(frozen=True)
class Decision:
    """Decision whether a pair is checked, with the rule and a description in words."""

    rule: str
    """One of the rule names of this module."""
    checked: bool
    words: str


@dataclass(frozen=True)
class AllowedCollisionMatrix:
    """Allowed collision matrix of a planning scene: True allows a collision, so that the pair is not checked."""

    entries: Mapping[frozenset[str], bool]
    """Entries by pair of names."""
    defaults: Mapping[str, bool]
    """Default entries by name, for pairs without an entry; if both names have one, both must allow the collision."""

    @classmethod
    def from_rows(
        cls,
        names: Sequence[str],
        rows: Sequence[Sequence[bool]],
        default_names: Sequence[str] = (),
        default_values: Sequence[bool] = (),
    ) -> AllowedCollisionMatrix:
        """Read a square, symmetric matrix.

        Parameters
        ----------
        names : sequence of str
            Names of rows and columns.
        rows : sequence of sequence of bool, n by n
            Whether the collision is allowed. As in MoveIt, only entries above the diagonal are used.
        default_names : sequence of str
        default_values : sequence of bool

        Raises
        ------
        ValueError
            If lengths differ or a name occurs twice.
        """
        if len(names) > MOST_NAMES:
            raise ValueError(f"allowed collision matrix: {len(names)} names, at most {MOST_NAMES} are allowed")
        longest = max((*names, *default_names), key=len, default="")
        if len(longest) > MAXIMUM_NAME:
            raise ValueError(
                f"allowed collision matrix: name '{shorten(longest)}' has {len(longest)} characters, "
                f"at most {MAXIMUM_NAME}"
            )
        if len(names) != len(rows):
            raise ValueError(f"allowed collision matrix: {len(names)} names, {len(rows)} rows: must be equally many")
        if len(default_names) != len(default_values):
            raise ValueError(
                f"allowed collision matrix: {len(default_names)} default names, {len(default_values)} values: "
                "must be equally many"
            )
        for what, given in (("name", names), ("default name", default_names)):
            if len(set(given)) < len(given):
                twice = next(name for name, times in Counter(given).items() if times > 1)
                raise ValueError(f"allowed collision matrix: {what} '{twice}' occurs twice, must be unique")
        entries = {}
        for i, (name, row) in enumerate(zip(names, rows, strict=True)):
            if len(row) != len(names):
                raise ValueError(
                    f"allowed collision matrix: row '{name}' has {len(row)} entries, must have {len(names)}"
                )
            for j in range(i + 1, len(names)):
                entries[frozenset((name, names[j]))] = bool(row[j])
        return cls(entries, dict(zip(default_names, map(bool, default_values), strict=True)))

    def is_allowed(self, name_a: str, name_b: str) -> bool | None:
        """Return whether a collision is allowed; None without an entry or default entry."""
        entry = self.entries.get(frozenset((name_a, name_b)))
        if entry is not None:
            return entry
        found = [self.defaults[name] for name in (name_a, name_b) if name in self.defaults]
        return all(found) if found else None

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(itertools.chain.from_iterable(self.entries))

    def drop_names(self, names: Set[str]) -> AllowedCollisionMatrix:
        """Return this matrix without the entries of some names; as in MoveIt, their default entries remain."""
        if self._names.isdisjoint(names):
            return self
        entries = {pair: allowed for pair, allowed in self.entries.items() if pair.isdisjoint(names)}
        return AllowedCollisionMatrix(entries, self.defaults)


NO_MATRIX = AllowedCollisionMatrix({}, {})


@dataclass(frozen=True)
class Attachment:
    """Attachment of an object: its parent link, and the links and objects that it may touch."""

    link: str
    touch_links: frozenset[str]


class CollisionRules:
    """Collision rules of a robot, of attached objects and of world objects.

    Parameters
    ----------
    links : iterable of str
        Links of the robot.
    adjacent : mapping of pair of links to str
        Pairs connected by joints, possibly through links without geometry -> names of the joints.
    disabled : mapping of pair of links to str
        Pairs that the SRDF disables -> its reason.
    enabled : iterable of pair of links
        Pairs that the SRDF enables.
    disabled_by_default : iterable of str
        Links whose pairs the SRDF disables by default, except for enabled pairs.

    Notes
    -----
    A pair is a frozenset of two names. To change rules without affecting these, change a `copy`.
    """

    def __init__(
        self,
        links: Iterable[str],
        adjacent: Mapping[frozenset[str], str],
        disabled: Mapping[frozenset[str], str],
        enabled: Iterable[frozenset[str]] = (),
        disabled_by_default: Iterable[str] = (),
    ) -> None:
        self.links = frozenset(links)
        self._by_default = frozenset(disabled_by_default)
        self._adjacent, self._disabled, self._enabled = dict(adjacent), dict(disabled), frozenset(enabled)
        self._matrix = NO_MATRIX
        self._attached: dict[str, Attachment] = {}
        # (name, name), (name, None) and (None, None) -> (number, checked, reason); None matches any name.
        self._runtime: dict[frozenset[str | None], tuple[int, bool, str]] = {}
        self._runtime_count = 0

    def __repr__(self) -> str:
        counts = f"{len(self._disabled)} disabled pairs, {len(self._matrix.entries)} entries of a matrix"
        return f"CollisionRules({len(self.links)} links, {counts}, {len(self._runtime)} runtime rules)"

    def copy(self) -> CollisionRules:
        """Return an independent copy of these rules."""
        other = CollisionRules.__new__(CollisionRules)
        other.__dict__.update(self.__dict__)
        other._attached = dict(self._attached)
        other._runtime = dict(self._runtime)
        return other

    # --- queries ---

    def decide(self, name_a: str, name_b: str) -> Decision:
        """Return the rule that decides about a pair of links or objects.

        Parameters
        ----------
        name_a, name_b : str
            Links or objects, in either order. A name that is not in `links` is treated as an object.

        Returns
        -------
        Decision
        """
        if name_a == name_b:
            same = "both are the same link" if name_a in self.links else "both are the same object"
            return Decision(SAME_LINK, False, same)
        pair = frozenset((name_a, name_b))
        return (
            self._runtime_decision(name_a, name_b)
            or self._touch_decision(name_a, name_b)
            or self._matrix_decision(name_a, name_b)
            or self._robot_decision(pair)
            or self._default_decision(name_a, name_b)
        )

    def is_checked(self, name_a: str, name_b: str) -> bool:
        """Return whether a pair of links or objects is checked."""
        return self.decide(name_a, name_b).checked

    def table(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return which pairs of many links and objects are checked, shape (n, n), symmetric.

        Only pairs that a rule refers to are evaluated one by one.
        """
        row = {name: i for i, name in enumerate(names)}
        in_world = np.array([self._is_in_world(name) for name in names], dtype=bool).reshape(-1)
        found = ~(in_world[:, None] & in_world[None, :])
        by_default = np.array([name in self._by_default for name in names], dtype=bool).reshape(-1)
        is_link = np.array([name in self.links for name in names], dtype=bool).reshape(-1)
        found &= ~((by_default[:, None] & is_link[None, :]) | (is_link[:, None] & by_default[None, :]))
        np.fill_diagonal(found, False)
        # Names with rules that apply to all of their pairs.
        every: Set[str] = self._matrix.defaults.keys() | self._attached.keys()
        every = every | {name for pair in self._runtime if None in pair for name in pair if name is not None}
        if frozenset((None,)) in self._runtime:
            every = row.keys()
        pairs = {pair for rules in (self._adjacent, self._disabled, self._enabled, self._matrix.entries, self._runtime)
                 for pair in rules if len(pair) == 2 and row.keys() >= pair}  # fmt: skip
        by_rule = itertools.chain(pairs, itertools.product((name for name in names if name in every), names))
        for a, b in cast("Iterable[tuple[str, str]]", by_rule):  # None is not a row
            found[row[a], row[b]] = found[row[b], row[a]] = self.is_checked(a, b)
        return found

    def mentioned_names(self) -> frozenset[str] | None:
        """Return the names in the matrix, runtime rules and attachments; None if a rule affects all names."""
        if self._matrix.defaults or any(None in pair for pair in self._runtime):
            return None
        named = {name for pair in (*self._matrix.entries, *self._runtime) for name in pair if name is not None}
        return frozenset(named) | self._attached.keys()

    @property
    def matrix(self) -> AllowedCollisionMatrix:
        """Current allowed collision matrix."""
        return self._matrix

    def as_matrix(self) -> AllowedCollisionMatrix:
        """Return the rules of the current matrix, the SRDF and the joints as one matrix of all names in them.

        Replacing the current matrix by it does not change `is_checked`. It excludes the touch links of attached objects
        and the runtime rules, which have higher priority.
        """
        by_default = self.links if self._by_default else ()
        pairs = itertools.chain(self._matrix.entries, self._adjacent, self._disabled, self._enabled, (by_default,))
        names = sorted(set(itertools.chain.from_iterable(pairs)))
        entries = {}
        for pair in map(frozenset, itertools.combinations(names, 2)):
            allowed = self._matrix.is_allowed(*pair)
            if allowed is None:
                decision = self._robot_decision(pair)
                allowed = decision is not None and not decision.checked
            entries[pair] = allowed
        return AllowedCollisionMatrix(entries, self._matrix.defaults)

    @property
    def attached_objects(self) -> Mapping[str, Attachment]:
        """Attached objects by name."""
        return MappingProxyType(self._attached)

    @property
    def runtime_pairs(self) -> Set[frozenset[str | None]]:
        """Pairs with runtime rules."""
        return self._runtime.keys()

    @property
    def runtime(self) -> list[tuple[frozenset[str | None], bool, str]]:
        """Runtime rules, oldest first: names (None: any), checked, reason."""
        return [(pair, checked, reason) for pair, (_, checked, reason) in sorted(
            self._runtime.items(), key=lambda item: item[1][0])]  # fmt: skip

    # --- changes ---

    def set_matrix(self, matrix: AllowedCollisionMatrix) -> None:
        """Replace the allowed collision matrix."""
        self._matrix = matrix

    def attach(self, name: str, link: str, touch_links: Iterable[str]) -> None:
        """Attach an object to a link, and set the links that it may touch; `link` only if it is one of them.

        Raises
        ------
        ValueError
            If the robot does not have the link.
        """
        self.check_link(name, link)
        self._attached[name] = Attachment(link, frozenset(touch_links))

    def check_link(self, name: str, link: str) -> None:
        """Raise `ValueError` if the robot does not have the link that an object would be attached to."""
        if link not in self.links:
            raise ValueError(f"object '{name}': link '{link}' does not exist (links: {', '.join(sorted(self.links))})")

    def detach(self, name: str) -> None:
        """Detach an object, which becomes a world object."""
        self._attached.pop(name, None)

    def set_runtime(self, name_a: str | None, name_b: str | None, checked: bool, reason: str = "") -> None:
        """Set whether a pair is checked, with priority over all other rules.

        Parameters
        ----------
        name_a, name_b : str or None
            Links or objects; None: any, including those added later.
        checked : bool
        reason : str
            Text to include in the words of `why`.

        Raises
        ------
        ValueError
            If both are the same name.
        """
        if name_a == name_b and name_a is not None:
            raise ValueError(f"runtime rule: '{name_a}' with itself: bodies on one link are never checked")
        self._runtime_count += 1
        self._runtime[frozenset((name_a, name_b))] = self._runtime_count, bool(checked), reason

    def clear_runtime(self) -> None:
        """Remove all runtime rules."""
        self._runtime = {}

    def forget(self, names: Set[str]) -> bool:
        """Remove the matrix entries, runtime rules and attachments of removed objects.

        Returns
        -------
        bool
            Whether there were any.
        """
        attached = self._attached.keys() & names
        for name in attached:
            self.detach(name)
        matrix = self._matrix.drop_names(names)
        runtime = {pair: rule for pair, rule in self._runtime.items() if pair.isdisjoint(names)}
        said = bool(attached) or matrix is not self._matrix or len(runtime) < len(self._runtime)
        self._matrix, self._runtime = matrix, runtime
        return said

    # --- one rule each; None if it does not apply ---

    def _runtime_decision(self, name_a: str, name_b: str) -> Decision | None:
        if not self._runtime:
            return None
        keys = (
            frozenset((name_a, name_b)),
            frozenset((name_a, None)),
            frozenset((name_b, None)),
            frozenset((None,)),
        )
        found = [self._runtime[key] for key in keys if key in self._runtime]
        if not found:
            return None
        _, checked, reason = max(found)
        words = "a runtime rule enables it" if checked else "a runtime rule disables it"
        return Decision(RUNTIME, checked, f"{words} ({reason})" if reason else words)

    def _touch_decision(self, name_a: str, name_b: str) -> Decision | None:
        a, b = self._attached.get(name_a), self._attached.get(name_b)
        if a is not None and b is not None:
            if a.link == b.link:
                return Decision(TOUCH_LINK, False, f"both are attached to link '{a.link}'")
            if name_b in a.touch_links or name_a in b.touch_links:
                return Decision(TOUCH_LINK, False, f"attached objects '{name_a}' and '{name_b}' may touch")
            return None
        for name, other, attachment in ((name_a, name_b, a), (name_b, name_a, b)):
            if attachment is not None and other in self.links and other in attachment.touch_links:
                return Decision(TOUCH_LINK, False, f"object '{name}' may touch link '{other}'")
        return None

    def _matrix_decision(self, name_a: str, name_b: str) -> Decision | None:
        # A matrix applies to pairs with the robot: it never enables a pair of world objects.
        if self._matrix is NO_MATRIX or (self._is_in_world(name_a) and self._is_in_world(name_b)):
            return None
        allowed = self._matrix.is_allowed(name_a, name_b)
        if allowed is None:
            return None
        verb = "allows" if allowed else "does not allow"
        return Decision(PLANNING_SCENE, not allowed, f"the planning scene's matrix {verb} their collision")

    def _robot_decision(self, pair: frozenset[str]) -> Decision | None:
        if pair in self._disabled:
            return Decision(SRDF, False, f"the SRDF disables it ({self._disabled[pair]})")
        if pair in self._enabled:
            return Decision(SRDF, True, "the SRDF enables it")
        if self._by_default and not self._by_default.isdisjoint(pair) and self.links >= pair:
            return Decision(SRDF, False, "the SRDF disables it (default)")
        if pair in self._adjacent:
            return Decision(ADJACENT, False, f"a joint connects them ({self._adjacent[pair]})")
        return None

    def _default_decision(self, name_a: str, name_b: str) -> Decision:
        if self._is_in_world(name_a) and self._is_in_world(name_b):
            return Decision(DEFAULT, False, "both are world objects")
        return Decision(DEFAULT, True, "no rule disables it")

    def _is_in_world(self, name: str) -> bool:
        return name not in self.links and name not in self._attached
