# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The referee detects planted faults and accepts answers that agree."""

import sys

import numpy as np
import pytest

import referee


@pytest.fixture(scope="module")
def library():
    return referee.Library()


@pytest.fixture(scope="module")
def old_answers(library):
    return referee.ask_distance(library, referee.never_wrong("deep", 40))[0]


def test_one_engine_agrees_with_itself(library, old_answers):
    again = referee.ask_distance(library, referee.never_wrong("deep", 40))[0]
    row = referee.compare("deep", old_answers, again)
    assert (row.answers, row.apart, row.unspanned, row.flags) == (40, 0, 0, 0)
    assert row.certified[0] == row.certified[1] > 0.9


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_an_interval_narrowed_by_a_nanometre_is_detected(old_answers, end):
    moved = {"lower": old_answers.lower, "upper": old_answers.upper} | {
        end: getattr(old_answers, end) + {"lower": 1e-9, "upper": -1e-9}[end]
    }
    narrowed = old_answers._replace(**moved)
    found = referee.compare("deep", old_answers, narrowed).apart
    assert found == ((old_answers.upper - old_answers.lower) < 1e-9).sum() > 30


def test_a_depth_of_a_local_minimum_is_detected(old_answers):
    deeper = old_answers._replace(
        lower=1.01 * old_answers.lower, upper=1.01 * old_answers.upper
    )  # a longer translation, without a proof
    assert referee.compare("deep", old_answers, deeper).apart == 40


def test_points_that_do_not_span_the_distance_are_detected(library):
    pairs = referee.never_wrong("near", 10)
    results = [library.api.distance(library.body(p.a), p.pose_a, library.body(p.b), p.pose_b) for p in pairs]
    assert not any(referee._gaps(result)[0] for result in results)
    for result in results:
        moved = type(result)(**{**vars_of(result), "point_b": result.point_b + 1e-6 * result.normal})
        turned = type(result)(**{**vars_of(result), "normal": -result.normal})
        assert referee._gaps(moved)[0] > 1e-7
        assert referee._gaps(turned)[0] > 1e-7


def vars_of(result):
    return {name: getattr(result, name) for name in type(result).__dataclass_fields__}


@pytest.mark.slow
def test_two_processes_answer_the_same_questions(capsys, monkeypatch):
    monkeypatch.setattr(
        sys, "argv", ["referee", sys.executable, sys.executable, "--family", "Sphere Box", "--scale", "0.05"]
    )
    assert referee.main() == 0
    assert "19 answers: 0 intervals apart, 0 unspanned, 0 with other flags" in capsys.readouterr().out


@pytest.mark.slow
def test_kept_answers_are_valid_for_their_own_questions_only(tmp_path, capsys, monkeypatch):
    kept = tmp_path / "answers.npz"
    few = ["--family", "Sphere Box", "--scale"]
    monkeypatch.setattr(sys, "argv", ["referee", "--keep", str(kept), sys.executable, *few, "0.05"])
    assert referee.main() == 0
    monkeypatch.setattr(sys, "argv", ["referee", str(kept), sys.executable, *few, "0.05"])
    assert referee.main() == 0
    monkeypatch.setattr(sys, "argv", ["referee", str(kept), sys.executable, *few, "0.1"])
    assert referee.main() == 1
    assert "no answers to these questions" in capsys.readouterr().out


def test_nans_and_lost_answers_are_faults(old_answers):
    lower = old_answers.lower.copy()
    lower[3] = np.nan
    assert referee.compare("deep", old_answers, old_answers._replace(lower=lower)).apart == 1
    with pytest.raises(ValueError, match="40 answers of the first engine, 39 of the second"):
        referee.compare("deep", old_answers, referee.Answers(*(column[1:] for column in old_answers)))
