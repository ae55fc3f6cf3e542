# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Collision rules of pairs: which rule decides, its words, and its priority."""

from __future__ import annotations

import pytest

from superovoid.robot.rules import AllowedCollisionMatrix, CollisionRules

LINKS = ("base", "arm", "hand", "finger")


def pair(*names):
    return frozenset(names)


@pytest.fixture
def rules():
    return CollisionRules(
        LINKS, {pair("base", "arm"): "shoulder", pair("hand", "finger"): "knuckle"}, {pair("base", "hand"): "Never"}
    )


def matrix(*allowed, names=(), defaults=None):
    rows = [[pair(a, b) in allowed for b in names] for a in names]
    defaults = defaults or {}
    return AllowedCollisionMatrix.from_rows(names, rows, list(defaults), list(defaults.values()))


@pytest.mark.parametrize(
    ("a", "b", "rule", "checked", "words"),
    [
        ("hand", "hand", "same_link", False, "same link"),
        ("base", "arm", "adjacent", False, "shoulder"),
        ("hand", "base", "srdf", False, "Never"),
        ("arm", "finger", "default", True, ""),
        ("arm", "cup", "default", True, ""),
        ("table", "cup", "default", False, "world objects"),
        ("cup", "cup", "same_link", False, "same object"),
    ],
)
def test_each_pair_is_decided_by_one_rule_in_either_order(rules, a, b, rule, checked, words):
    for decision in (rules.decide(a, b), rules.decide(b, a)):
        assert (decision.rule, decision.checked) == (rule, checked)
        assert words in decision.words and decision.words


def test_srdf_overrides_adjacent_rule_both_ways():
    disabled = CollisionRules(LINKS, {pair("base", "arm"): "j"}, {pair("base", "arm"): "Adjacent"})
    assert disabled.decide("base", "arm").words == "the SRDF disables it (Adjacent)"
    enabled = CollisionRules(LINKS, {pair("base", "arm"): "j"}, {}, [pair("base", "arm")])
    assert enabled.decide("base", "arm").checked and enabled.decide("base", "arm").rule == "srdf"


def test_matrix_entry_overrides_srdf_and_adjacent_rule(rules):
    rules.set_matrix(matrix(pair("arm", "finger"), names=("base", "arm", "finger")))
    assert not rules.is_checked("arm", "finger")
    assert rules.decide("base", "arm").rule == "planning_scene" and rules.is_checked("base", "arm")
    assert rules.decide("base", "hand").rule == "srdf"  # the matrix has no entry for the hand


def test_default_entries_apply_to_pairs_without_an_entry(rules):
    rules.set_matrix(matrix(names=("arm", "cup"), defaults={"cup": True, "finger": True, "arm": False}))
    assert rules.is_checked("arm", "cup")  # the entry has priority
    assert not rules.is_checked("cup", "hand")
    assert not rules.is_checked("cup", "finger")
    assert rules.is_checked("finger", "arm")  # both defaults must allow
    assert not rules.is_checked("finger", "base")


def test_matrix_never_enables_a_pair_of_world_objects(rules):
    rules.set_matrix(matrix(names=("cup", "table")))
    assert not rules.is_checked("cup", "table")


def test_touch_links_of_attached_object_override_the_matrix(rules):
    rules.set_matrix(matrix(names=(*LINKS, "cup", "tray")))
    rules.attach("cup", "hand", ["finger"])
    assert rules.is_checked("cup", "hand")  # as in MoveIt, its own link is checked, too
    rules.attach("cup", "hand", ["finger", "hand"])
    assert rules.decide("cup", "hand").rule == rules.decide("finger", "cup").rule == "touch_link"
    assert not rules.is_checked("cup", "finger") and rules.is_checked("cup", "arm")
    assert rules.is_checked("cup", "table")  # no longer two world objects
    rules.attach("tray", "arm", [])
    assert rules.is_checked("cup", "tray")
    rules.attach("tray", "arm", ["cup"])
    assert rules.decide("cup", "tray").rule == "touch_link"
    rules.attach("tray", "hand", [])
    assert "attached to link 'hand'" in rules.decide("cup", "tray").words
    rules.detach("cup")
    assert rules.is_checked("cup", "hand")
    with pytest.raises(ValueError, match="'elbow' does not exist"):
        rules.attach("cup", "elbow", [])


def test_runtime_rules_override_all_others_except_same_link(rules):
    rules.attach("cup", "hand", ["hand"])
    rules.set_runtime("cup", "hand", True, "squeeze test")
    rules.set_runtime("base", "arm", True)
    rules.set_runtime("arm", "finger", False)
    assert rules.decide("hand", "cup").words == "a runtime rule enables it (squeeze test)"
    assert rules.is_checked("base", "arm") and not rules.is_checked("arm", "finger")
    with pytest.raises(ValueError, match="itself"):
        rules.set_runtime("arm", "arm", True)
    rules.set_runtime(None, None, True)
    assert not rules.is_checked("hand", "hand")
    rules.clear_runtime()
    assert not rules.is_checked("base", "arm")


def test_latest_runtime_rule_wins_also_with_wildcards(rules):
    rules.set_runtime("finger", None, False, "gripping")
    rules.set_runtime("finger", "arm", True)
    assert rules.is_checked("finger", "arm") and not rules.is_checked("finger", "cup")
    rules.set_runtime(None, "finger", False)
    assert not rules.is_checked("finger", "arm")


def test_forget_removes_all_rules_of_an_object(rules):
    rules.set_matrix(matrix(pair("arm", "cup"), names=("arm", "cup", "finger")))
    rules.set_runtime("cup", "base", False)
    rules.attach("cup", "hand", [])
    rules.forget({"cup"})
    assert all(rules.decide("cup", link).rule == "default" for link in LINKS)
    assert rules.decide("arm", "finger").rule == "planning_scene"


def test_changes_to_a_copy_do_not_affect_the_original(rules):
    other = rules.copy()
    other.set_runtime("arm", "finger", False)
    other.attach("cup", "hand", [])
    other.set_matrix(matrix(pair("arm", "cup"), names=("arm", "cup")))
    assert rules.is_checked("arm", "finger") and rules.is_checked("cup", "hand") and rules.is_checked("arm", "cup")
    assert other.mentioned_names() == {"arm", "finger", "cup"} and rules.mentioned_names() == frozenset()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((["a"], []), "1 names, 0 rows"),
        ((["a", "b"], [[True], [True, True]]), "row 'a' has 1 entries, must have 2"),
        ((["a", "a"], [[True, True]] * 2), "'a' occurs twice"),
        (([], [], ["a"], []), "1 default names, 0 values"),
    ],
)
def test_matrix_with_wrong_size_is_rejected(arguments, words):
    with pytest.raises(ValueError, match=words):
        AllowedCollisionMatrix.from_rows(*arguments)


@pytest.mark.parametrize("defaults", [{}, {"cup": True}, {"arm": True, "finger": True, "gone": False}])
def test_replacing_the_matrix_by_as_matrix_changes_no_decision(rules, defaults):
    rules.attach("cup", "hand", ["finger"])
    rules.set_runtime("table", "base", False)
    rules.set_matrix(matrix(pair("arm", "cup"), names=("arm", "cup", "table"), defaults=defaults))
    names = (*LINKS, "cup", "table", "other")
    before = {(a, b): rules.is_checked(a, b) for a in names for b in names}
    combined = rules.as_matrix()
    assert combined.defaults == defaults
    assert combined.entries[pair("base", "hand")] and combined.entries[pair("hand", "finger")]
    assert combined.entries[pair("arm", "cup")] and not combined.entries[pair("arm", "table")]
    rules.set_matrix(combined)
    assert before == {(a, b): rules.is_checked(a, b) for a in names for b in names}
    assert rules.as_matrix() == combined
