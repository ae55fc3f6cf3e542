# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which pairs are checked against each other, and why: every allowed-collision rule in one object that can be asked.

Names are those of links and of objects. The rules, the strongest last:

===============  ====================================================================================================
default          checked; two objects of the world are not, since neither is the robot's
same_link        one name twice: bodies of one link or one object. Never checked, whatever the others say
adjacent         a joint connects the links, links without geometry between them skipped: not checked
srdf             ``disable_collisions`` and ``enable_collisions`` of the SRDF
planning_scene   the allowed collision matrix of a planning scene: its entries, then its default entries
touch_link       an attached object with a link that it may touch; with an object on the same link; with an object that
                 one of the two may touch: not checked. The link that carries it is no exception, as in MoveIt
runtime          said while the program runs; the later of two holds
===============  ====================================================================================================

A matrix in the sense of MoveIt says which collisions are *allowed*, so that ``True`` in it means *not checked*. A pair
about which it says nothing falls to the weaker rules, the SRDF's among them (MoveIt forgets those with the first
matrix it is given).
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
from superovoid.robot.xml import short
from superovoid.shapes.lazy import cached_property

SAME_LINK = "same_link"
ADJACENT = "adjacent"
SRDF = "srdf"
PLANNING_SCENE = "planning_scene"
TOUCH_LINK = "touch_link"
RUNTIME = "runtime"
DEFAULT = "default"


@dataclass(frozen=True)
class Verdict:
    """Whether a pair is checked, by which rule, and that in words."""

    rule: str
    """One of the constants of this module."""
    checked: bool
    words: str


@dataclass(frozen=True)
class AllowedCollisionMatrix:
    """What the matrix of a planning scene says: True allows the collision, so the pair is not checked."""

    entries: Mapping[frozenset[str], bool]
    """By pair of names."""
    defaults: Mapping[str, bool]
    """By name, for pairs without an entry; where both names have one, both must allow it."""

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
            Of rows and columns.
        rows : sequence of sequence of bool, n by n
            Whether the collision is allowed. The half above the diagonal counts, as in MoveIt.
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
                f"allowed collision matrix: name '{short(longest)}' has {len(longest)} characters, "
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

    def allowed(self, name_a: str, name_b: str) -> bool | None:
        """Whether a collision is allowed; None where the matrix says nothing."""
        entry = self.entries.get(frozenset((name_a, name_b)))
        if entry is not None:
            return entry
        found = [self.defaults[name] for name in (name_a, name_b) if name in self.defaults]
        return all(found) if found else None

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(itertools.chain.from_iterable(self.entries))

    def without(self, names: Set[str]) -> AllowedCollisionMatrix:
        """Return this matrix without the entries of some names; their defaults stay, as in MoveIt."""
        if self._names.isdisjoint(names):
            return self
        entries = {pair: allowed for pair, allowed in self.entries.items() if pair.isdisjoint(names)}
        return AllowedCollisionMatrix(entries, self.defaults)


NO_MATRIX = AllowedCollisionMatrix({}, {})


@dataclass(frozen=True)
class Attachment:
    """An attached object: the link that carries it, and the links and objects that it may touch."""

    link: str
    touch_links: frozenset[str]


class CollisionRules:
    """The rules of a robot, and of the objects around and on it.

    Parameters
    ----------
    links : iterable of str
        The robot's links.
    adjacent : mapping of pair of links to str
        Links that a joint connects -> name of that joint, or of those of the links without geometry between them.
    disabled : mapping of pair of links to str
        Not checked, by the SRDF -> its reason.
    enabled : iterable of pair of links
        Checked, by the SRDF.
    disabled_by_default : iterable of str
        Links whose pairs are not checked, by the SRDF, but for those enabled.

    Notes
    -----
    A pair is a frozenset of two names. `copy` gives rules that can be changed and leave these alone.
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
        # (name, name), (name, None) and (None, None) -> (number, checked, reason); None is any name.
        self._runtime: dict[frozenset[str | None], tuple[int, bool, str]] = {}
        self._runtime_count = 0

    def __repr__(self) -> str:
        counts = f"{len(self._disabled)} disabled pairs, {len(self._matrix.entries)} entries of a matrix"
        return f"CollisionRules({len(self.links)} links, {counts}, {len(self._runtime)} rules of the run time)"

    def copy(self) -> CollisionRules:
        """Rules of their own that say the same."""
        other = CollisionRules.__new__(CollisionRules)
        other.__dict__.update(self.__dict__)
        other._attached = dict(self._attached)
        other._runtime = dict(self._runtime)
        return other

    # --- asking ---

    def why(self, name_a: str, name_b: str) -> Verdict:
        """The rule that decides about a pair of links or objects.

        Parameters
        ----------
        name_a, name_b : str
            Links or objects, in either order. A name that is not one of `links` counts as an object.

        Returns
        -------
        Verdict
        """
        if name_a == name_b:
            same = "both are the same link" if name_a in self.links else "both are the same object"
            return Verdict(SAME_LINK, False, same)
        pair = frozenset((name_a, name_b))
        return (
            self._runtime_verdict(name_a, name_b)
            or self._touch_verdict(name_a, name_b)
            or self._matrix_verdict(name_a, name_b)
            or self._robot_verdict(pair)
            or self._default_verdict(name_a, name_b)
        )

    def checked(self, name_a: str, name_b: str) -> bool:
        """Whether a pair of links or objects is checked."""
        return self.why(name_a, name_b).checked

    def table(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Which pairs of many links and objects are checked, shape (n, n), symmetric.

        Only the pairs that some rule names are asked about one by one.
        """
        row = {name: i for i, name in enumerate(names)}
        in_world = np.array([self._in_world(name) for name in names], dtype=bool).reshape(-1)
        found = ~(in_world[:, None] & in_world[None, :])
        by_default = np.array([name in self._by_default for name in names], dtype=bool).reshape(-1)
        is_link = np.array([name in self.links for name in names], dtype=bool).reshape(-1)
        found &= ~((by_default[:, None] & is_link[None, :]) | (is_link[:, None] & by_default[None, :]))
        np.fill_diagonal(found, False)
        # These are about any pair of theirs.
        every: Set[str] = self._matrix.defaults.keys() | self._attached.keys()
        every = every | {name for pair in self._runtime if None in pair for name in pair if name is not None}
        if frozenset((None,)) in self._runtime:
            every = row.keys()
        pairs = {pair for rules in (self._adjacent, self._disabled, self._enabled, self._matrix.entries, self._runtime)
                 for pair in rules if len(pair) == 2 and row.keys() >= pair}  # fmt: skip
        asked = itertools.chain(pairs, itertools.product((name for name in names if name in every), names))
        for a, b in cast("Iterable[tuple[str, str]]", asked):  # None is no row
            found[row[a], row[b]] = found[row[b], row[a]] = self.checked(a, b)
        return found

    def mentioned(self) -> frozenset[str] | None:
        """Names that some rule beyond the robot's own is about; None where one is about every name."""
        if self._matrix.defaults or any(None in pair for pair in self._runtime):
            return None
        named = {name for pair in (*self._matrix.entries, *self._runtime) for name in pair if name is not None}
        return frozenset(named) | self._attached.keys()

    @property
    def matrix(self) -> AllowedCollisionMatrix:
        """The allowed collision matrix in force."""
        return self._matrix

    def as_matrix(self) -> AllowedCollisionMatrix:
        """What the matrix in force, the SRDF and the joints say of all names that occur in them, as one matrix.

        Put in the place of the matrix in force it changes no answer of `checked`: what attached objects may touch and
        runtime rules are not in it, and go before it.
        """
        by_default = self.links if self._by_default else ()
        said_of = itertools.chain(self._matrix.entries, self._adjacent, self._disabled, self._enabled, (by_default,))
        names = sorted(set(itertools.chain.from_iterable(said_of)))
        entries = {}
        for pair in map(frozenset, itertools.combinations(names, 2)):
            said = self._matrix.allowed(*pair)
            if said is None:
                verdict = self._robot_verdict(pair)
                said = verdict is not None and not verdict.checked
            entries[pair] = said
        return AllowedCollisionMatrix(entries, self._matrix.defaults)

    @property
    def attached(self) -> Mapping[str, Attachment]:
        """The attached objects."""
        return MappingProxyType(self._attached)

    @property
    def runtime_pairs(self) -> Set[frozenset[str | None]]:
        """The pairs that runtime rules are about."""
        return self._runtime.keys()

    @property
    def runtime(self) -> list[tuple[frozenset[str | None], bool, str]]:
        """The runtime rules, oldest first: names (None: any), checked, reason."""
        return [(pair, checked, reason) for pair, (_, checked, reason) in sorted(
            self._runtime.items(), key=lambda item: item[1][0])]  # fmt: skip

    # --- changing ---

    def set_matrix(self, matrix: AllowedCollisionMatrix) -> None:
        """Take the matrix of a planning scene in the place of the one before."""
        self._matrix = matrix

    def attach(self, name: str, link: str, touch_links: Iterable[str]) -> None:
        """An object is carried by a link from now on, and may touch some; that link too only where it is one of them.

        Raises
        ------
        ValueError
            If the link is not the robot's.
        """
        self.check_link(name, link)
        self._attached[name] = Attachment(link, frozenset(touch_links))

    def check_link(self, name: str, link: str) -> None:
        """Raise `ValueError` where a link that is to carry an object is not the robot's."""
        if link not in self.links:
            raise ValueError(f"object '{name}': link '{link}' does not exist (links: {', '.join(sorted(self.links))})")

    def detach(self, name: str) -> None:
        """An object belongs to the world from now on."""
        self._attached.pop(name, None)

    def set_runtime(self, name_a: str | None, name_b: str | None, checked: bool, reason: str = "") -> None:
        """Have a pair checked, or not, whatever all other rules say.

        Parameters
        ----------
        name_a, name_b : str or None
            Links or objects; None: any, those still to come too.
        checked : bool
        reason : str
            Comes back in the words of `why`.

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
        """Forget all runtime rules."""
        self._runtime = {}

    def forget(self, names: Set[str]) -> None:
        """Forget what is said about objects that are gone: matrix entries, runtime rules, who carries them."""
        for name in names:
            self.detach(name)
        self._matrix = self._matrix.without(names)
        self._runtime = {pair: rule for pair, rule in self._runtime.items() if pair.isdisjoint(names)}

    # --- one layer each; None: it says nothing ---

    def _runtime_verdict(self, name_a: str, name_b: str) -> Verdict | None:
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
        said = "a runtime rule enables it" if checked else "a runtime rule disables it"
        return Verdict(RUNTIME, checked, f"{said} ({reason})" if reason else said)

    def _touch_verdict(self, name_a: str, name_b: str) -> Verdict | None:
        a, b = self._attached.get(name_a), self._attached.get(name_b)
        if a is not None and b is not None:
            if a.link == b.link:
                return Verdict(TOUCH_LINK, False, f"both are attached to link '{a.link}'")
            if name_b in a.touch_links or name_a in b.touch_links:
                return Verdict(TOUCH_LINK, False, f"attached objects '{name_a}' and '{name_b}' may touch")
            return None
        for name, other, attachment in ((name_a, name_b, a), (name_b, name_a, b)):
            if attachment is not None and other in self.links and other in attachment.touch_links:
                return Verdict(TOUCH_LINK, False, f"object '{name}' may touch link '{other}'")
        return None

    def _matrix_verdict(self, name_a: str, name_b: str) -> Verdict | None:
        # A matrix speaks of the robot: objects of the world are never checked against each other by it.
        if self._matrix is NO_MATRIX or (self._in_world(name_a) and self._in_world(name_b)):
            return None
        allowed = self._matrix.allowed(name_a, name_b)
        if allowed is None:
            return None
        said = "allows" if allowed else "does not allow"
        return Verdict(PLANNING_SCENE, not allowed, f"the planning scene's matrix {said} their collision")

    def _robot_verdict(self, pair: frozenset[str]) -> Verdict | None:
        if pair in self._disabled:
            return Verdict(SRDF, False, f"the SRDF disables it ({self._disabled[pair]})")
        if pair in self._enabled:
            return Verdict(SRDF, True, "the SRDF enables it")
        if self._by_default and not self._by_default.isdisjoint(pair) and self.links >= pair:
            return Verdict(SRDF, False, "the SRDF disables it (default)")
        if pair in self._adjacent:
            return Verdict(ADJACENT, False, f"a joint connects them ({self._adjacent[pair]})")
        return None

    def _default_verdict(self, name_a: str, name_b: str) -> Verdict:
        if self._in_world(name_a) and self._in_world(name_b):
            return Verdict(DEFAULT, False, "both are objects of the world")
        return Verdict(DEFAULT, True, "no rule speaks against it")

    def _in_world(self, name: str) -> bool:
        return name not in self.links and name not in self._attached
