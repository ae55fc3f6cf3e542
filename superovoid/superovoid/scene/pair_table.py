# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Data of pairs of bodies without a row for every pair: the allowed pairs, and warm starts.

Both are hash tables from a pair to a number, with open addressing (linear probing, a power of two of places, at most
half of them taken). `Rules` decides whether a pair is checked, in constant time and in memory for the exceptions only.
`WarmStarts` has the states of the pairs solved last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Bools1, Floats2, Int8s1, Int32s1, Ints1, Ints2, zeros
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.contact.columns import STATE_LENGTH

EMPTY = -1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Knuth's multiplicative hashing

# Answers of the rules for a pair. If it is turned, the body of the larger index is reported first.
FORBIDDEN, ALLOWED, ALLOWED_TURNED = 0, 1, 2


@bundle
class Rules(NamedTuple):
    """Rules that decide which pairs are checked.

    By default, pairs on different links, unless both bodies are closed; `keys` and `answers` are the exceptions.
    """

    link: Ints1  # row of the link of each body
    closed: Bools1  # pairs of two closed bodies are allowed by exception only
    keys: Ints1
    answers: Int8s1
    within_links: bool  # whether an exception allows a pair on one link


@bundle
class WarmStarts(NamedTuple):
    """States of pairs in a pool of slots."""

    keys: Ints1
    slots: Int32s1
    taken: Ints1  # one number: slots in use
    states: Floats2  # one row more than slots: scratch for a pair without a slot


@kernel
def pair_key(a, b):
    """Return the number of an unordered pair."""
    return (min(a, b) << 32) | max(a, b)


@kernel
def _home(key, mask):
    product = np.uint64(key) * _GOLDEN
    return np.int64(product ^ (product >> np.uint64(32))) & mask


@kernel
def find(keys, key):
    """Return the place of a pair in a table, -1 if it is not there."""
    mask = keys.shape[0] - 1
    i = _home(key, mask)
    while keys[i] != key:
        if keys[i] == EMPTY:
            return -1
        i = (i + 1) & mask
    return i


@kernel
def insert(keys, values, key, value):
    """Add a new pair to a table."""
    mask = keys.shape[0] - 1
    i = _home(key, mask)
    while keys[i] != EMPTY:
        i = (i + 1) & mask
    keys[i] = key
    values[i] = value


# -- rules ---------------------------------------------------------------------------------------------------------


@kernel
def _allowed_by_default(rules, a, b):
    return rules.link[a] != rules.link[b] and not (rules.closed[a] and rules.closed[b])


@kernel
def rule(rules, a, b):
    """Return FORBIDDEN, ALLOWED or ALLOWED_TURNED."""
    i = find(rules.keys, pair_key(a, b))
    if i >= 0:
        return np.int64(rules.answers[i])
    return ALLOWED if _allowed_by_default(rules, a, b) else FORBIDDEN


@entry_point(nogil=True)
def set_rules(rules: Rules, pairs: Ints2, answer: int) -> int:
    """Set the answer for rows of pairs: 0, or 1 (in either order), or 2 (as given).

    An allowed pair keeps its order. Return the number of exceptions added.
    """
    added = 0
    for k in range(pairs.shape[0]):
        a, b = pairs[k, 0], pairs[k, 1]
        key = pair_key(a, b)
        value = answer
        if answer == ALLOWED_TURNED:
            value = ALLOWED if a < b else ALLOWED_TURNED
        i = find(rules.keys, key)
        if i < 0:
            insert(rules.keys, rules.answers, key, value)
            added += 1
        elif value == FORBIDDEN or rules.answers[i] == FORBIDDEN:
            rules.answers[i] = value
    return added


@entry_point(nogil=True)
def exceptions_count(rules: Rules) -> tuple[int, bool]:
    """Return how many pairs the exceptions add to the default ones, and whether they allow one on a single link."""
    more = 0
    within = False
    for i in range(rules.keys.shape[0]):
        if rules.keys[i] != EMPTY:
            a, b = rules.keys[i] >> 32, rules.keys[i] & 0xFFFFFFFF
            more += int(rules.answers[i] != FORBIDDEN) - int(_allowed_by_default(rules, a, b))
            within |= rules.answers[i] != FORBIDDEN and rules.link[a] == rules.link[b]
    return more, within


@entry_point(nogil=True)
def list_allowed(rules: Rules, out: Ints2) -> None:
    """Write all allowed pairs to `out`, which must have room for them, in the order of their indices."""
    count, n = 0, rules.link.shape[0]
    for a in range(n):
        for b in range(a + 1, n):
            if rules.link[a] == rules.link[b] and not rules.within_links:
                continue
            says = rule(rules, a, b)
            if says != FORBIDDEN:
                out[count, 0] = a if says == ALLOWED else b
                out[count, 1] = b if says == ALLOWED else a
                count += 1


@entry_point(nogil=True)
def move_rules(old: Rules, new: Rules, index: Ints1) -> None:
    """Copy the exceptions of rules to others, whose bodies have new indices (ascending as before; -1: gone)."""
    for i in range(old.keys.shape[0]):
        if old.keys[i] != EMPTY:
            a, b = index[old.keys[i] >> 32], index[old.keys[i] & 0xFFFFFFFF]
            if a >= 0 and b >= 0:
                insert(new.keys, new.answers, pair_key(a, b), old.answers[i])


@entry_point(nogil=True)
def orient(rules: Rules, wanted: Ints2) -> int:
    """Put the bodies of each row of `wanted` in the order that the scene reports.

    Return the first row that is not an allowed pair of different bodies, -1 if there is none.
    """
    n = rules.link.shape[0]
    for k in range(wanted.shape[0]):
        a, b = wanted[k, 0], wanted[k, 1]
        if a < 0 or b < 0 or a >= n or b >= n or a == b:
            return k
        says = rule(rules, a, b)
        if says == FORBIDDEN:
            return k
        if (a < b) != (says == ALLOWED):
            wanted[k, 0], wanted[k, 1] = b, a
    return -1


def rules_for(link: NDArray[np.int64], closed: NDArray[np.bool_], exceptions: int) -> Rules:
    """Return rules without exceptions, with memory for a number of them."""
    places = _places(exceptions)
    return zeros(Rules, link, closed, np.full(places, EMPTY), places, False)


def moved_rules(
    old: Rules, link: NDArray[np.int64], closed: NDArray[np.bool_], index: NDArray[np.int64], more: int = 0
) -> Rules:
    """Return the rules of bodies that have new indices, as `move_rules`, with memory for more exceptions."""
    new = rules_for(link, closed, int((old.keys != EMPTY).sum()) + more)
    move_rules(old, new, index)
    return new


def _places(entries: int) -> int:
    return 1 << max(4, (2 * entries - 1).bit_length())


# -- warm starts ---------------------------------------------------------------------------------------------------


def warm_starts(capacity: int) -> WarmStarts:
    """Return an empty pool of `capacity` slots."""
    places = _places(capacity)
    return zeros(WarmStarts, np.full(places, EMPTY), places, 1, (capacity + 1, STATE_LENGTH))


@kernel
def slot_of(pool, key):
    """Return the row of `states` for a pair: its own, or a new one of zeros; in a full pool the scratch row."""
    i = find(pool.keys, key)
    if i >= 0:
        return np.int64(pool.slots[i])
    slot = pool.taken[0]
    if slot + 1 < pool.states.shape[0]:
        pool.taken[0] += 1
        insert(pool.keys, pool.slots, key, slot)
    pool.states[slot, :] = 0.0
    return slot


def forget(pool: WarmStarts) -> None:
    """Empty the pool."""
    pool.keys[:] = EMPTY
    pool.taken[0] = 0


@entry_point(nogil=True)
def move_warm_starts(old: WarmStarts, new: WarmStarts, index: Ints1) -> None:
    """Fill an empty pool from another, whose bodies have new indices (ascending as before; -1: gone)."""
    for i in range(old.keys.shape[0]):
        if old.keys[i] != EMPTY:
            a, b = index[old.keys[i] >> 32], index[old.keys[i] & 0xFFFFFFFF]
            if a >= 0 and b >= 0:
                state = new.states[slot_of(new, pair_key(a, b))]
                for j in range(state.shape[0]):
                    state[j] = old.states[old.slots[i], j]
