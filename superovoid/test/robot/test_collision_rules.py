# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The rules of pairs: which one decides, what it says, and what overrules it."""

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
        ("table", "cup", "default", False, "objects of the world"),
        ("cup", "cup", "same_link", False, "same object"),
    ],
)
def test_each_pair_is_decided_by_one_rule_in_either_order(rules, a, b, rule, checked, words):
    for verdict in (rules.why(a, b), rules.why(b, a)):
        assert (verdict.rule, verdict.checked) == (rule, checked)
        assert words in verdict.words and verdict.words


def test_srdf_overrules_neighbours_both_ways():
    disabled = CollisionRules(LINKS, {pair("base", "arm"): "j"}, {pair("base", "arm"): "Adjacent"})
    assert disabled.why("base", "arm").words == "the SRDF disables it (Adjacent)"
    enabled = CollisionRules(LINKS, {pair("base", "arm"): "j"}, {}, [pair("base", "arm")])
    assert enabled.why("base", "arm").checked and enabled.why("base", "arm").rule == "srdf"


def test_matrix_overrules_srdf_and_neighbours_where_it_has_an_entry(rules):
    rules.set_matrix(matrix(pair("arm", "finger"), names=("base", "arm", "finger")))
    assert not rules.checked("arm", "finger")
    assert rules.why("base", "arm").rule == "planning_scene" and rules.checked("base", "arm")
    assert rules.why("base", "hand").rule == "srdf"  # it does not speak of the hand


def test_default_entries_hold_for_pairs_without_an_entry_and_both_must_allow(rules):
    rules.set_matrix(matrix(names=("arm", "cup"), defaults={"cup": True, "finger": True, "arm": False}))
    assert rules.checked("arm", "cup")  # the entry goes first
    assert not rules.checked("cup", "hand")
    assert not rules.checked("cup", "finger")
    assert rules.checked("finger", "arm")  # one default allows, the other does not
    assert not rules.checked("finger", "base")


def test_matrix_never_has_two_objects_of_the_world_checked(rules):
    rules.set_matrix(matrix(names=("cup", "table")))
    assert not rules.checked("cup", "table")


def test_attached_object_may_touch_its_touch_links_alone_whatever_the_matrix_says(rules):
    rules.set_matrix(matrix(names=(*LINKS, "cup", "tray")))
    rules.attach("cup", "hand", ["finger"])
    assert rules.checked("cup", "hand")  # as in MoveIt: the link that carries it is no exception
    rules.attach("cup", "hand", ["finger", "hand"])
    assert rules.why("cup", "hand").rule == rules.why("finger", "cup").rule == "touch_link"
    assert not rules.checked("cup", "finger") and rules.checked("cup", "arm")
    assert rules.checked("cup", "table")  # no longer two objects of the world
    rules.attach("tray", "arm", [])
    assert rules.checked("cup", "tray")
    rules.attach("tray", "arm", ["cup"])
    assert rules.why("cup", "tray").rule == "touch_link"
    rules.attach("tray", "hand", [])
    assert "attached to link 'hand'" in rules.why("cup", "tray").words
    rules.detach("cup")
    assert rules.checked("cup", "hand")
    with pytest.raises(ValueError, match="'elbow' does not exist"):
        rules.attach("cup", "elbow", [])


def test_runtime_rules_go_before_all_others_but_never_within_a_link(rules):
    rules.attach("cup", "hand", ["hand"])
    rules.set_runtime("cup", "hand", True, "squeeze test")
    rules.set_runtime("base", "arm", True)
    rules.set_runtime("arm", "finger", False)
    assert rules.why("hand", "cup").words == "a runtime rule enables it (squeeze test)"
    assert rules.checked("base", "arm") and not rules.checked("arm", "finger")
    with pytest.raises(ValueError, match="itself"):
        rules.set_runtime("arm", "arm", True)
    rules.set_runtime(None, None, True)
    assert not rules.checked("hand", "hand")
    rules.clear_runtime()
    assert not rules.checked("base", "arm")


def test_later_runtime_rule_holds_also_where_one_names_any(rules):
    rules.set_runtime("finger", None, False, "gripping")
    rules.set_runtime("finger", "arm", True)
    assert rules.checked("finger", "arm") and not rules.checked("finger", "cup")
    rules.set_runtime(None, "finger", False)
    assert not rules.checked("finger", "arm")


def test_object_that_is_gone_is_forgotten(rules):
    rules.set_matrix(matrix(pair("arm", "cup"), names=("arm", "cup", "finger")))
    rules.set_runtime("cup", "base", False)
    rules.attach("cup", "hand", [])
    rules.forget({"cup"})
    assert all(rules.why("cup", link).rule == "default" for link in LINKS)
    assert rules.why("arm", "finger").rule == "planning_scene"


def test_copy_changes_without_the_original(rules):
    other = rules.copy()
    other.set_runtime("arm", "finger", False)
    other.attach("cup", "hand", [])
    other.set_matrix(matrix(pair("arm", "cup"), names=("arm", "cup")))
    assert rules.checked("arm", "finger") and rules.checked("cup", "hand") and rules.checked("arm", "cup")
    assert other.mentioned() == {"arm", "finger", "cup"} and rules.mentioned() == frozenset()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((["a"], []), "1 names, 0 rows"),
        ((["a", "b"], [[True], [True, True]]), "row 'a' has 1 entries, must have 2"),
        ((["a", "a"], [[True, True]] * 2), "'a' occurs twice"),
        (([], [], ["a"], []), "1 default names, 0 values"),
    ],
)
def test_matrix_of_wrong_size_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        AllowedCollisionMatrix.from_rows(*arguments)


@pytest.mark.parametrize("defaults", [{}, {"cup": True}, {"arm": True, "finger": True, "gone": False}])
def test_one_matrix_of_all_that_is_said_changes_no_answer(rules, defaults):
    rules.attach("cup", "hand", ["finger"])
    rules.set_runtime("table", "base", False)
    rules.set_matrix(matrix(pair("arm", "cup"), names=("arm", "cup", "table"), defaults=defaults))
    names = (*LINKS, "cup", "table", "other")
    before = {(a, b): rules.checked(a, b) for a in names for b in names}
    told = rules.as_matrix()
    assert told.defaults == defaults
    assert told.entries[pair("base", "hand")] and told.entries[pair("hand", "finger")]
    assert told.entries[pair("arm", "cup")] and not told.entries[pair("arm", "table")]
    rules.set_matrix(told)
    assert before == {(a, b): rules.checked(a, b) for a in names for b in names}
    assert rules.as_matrix() == told
