# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Inputs that nobody meant, given to everything that reads files; and whether that attack would notice a fault."""

import ctypes
import os
import time

import numpy as np
import pytest
from hypothesis import strategies as st

from superovoid import cli
from superovoid.robot import Robot
from superovoid.robot.octomap import Octree
from superovoid_papers.judges.fuzz import FILES, Limits, Target, running, target_of
from superovoid_papers.judges.fuzz.taker import was_refused


@pytest.mark.parametrize("inputs", [15, pytest.param(2300, marks=pytest.mark.slow)])
def test_no_input_of_any_kind_does_more_than_be_taken_or_refused(inputs):
    reports = running.run(list(FILES), inputs, seed=inputs)
    assert [report.kind for report in reports] == list(FILES)
    assert not [(report.kind, report.problem, report.failing) for report in reports if report.problem]
    assert all(report.inputs == inputs and report.taken + report.refused == inputs for report in reports)
    assert all(report.refused for report in reports)
    assert any(report.taken for report in reports)


# -- would it notice? ------------------------------------------------------------------------------

QUICK = Limits(seconds=0.2, memory=400_000_000, patience=8.0)


def _target(take, limits=QUICK):
    return Target(st.binary(min_size=1, max_size=30), take, (ValueError,), limits=limits)


def _is_fatal(data):
    return data[0] > 99


def key_error():
    return _target(lambda data: {}["x"] if _is_fatal(data) else None)


def numpy_s_own_error():
    return _target(lambda data: np.zeros(3).reshape(2, 2) if _is_fatal(data) else None)


def endless_loop():
    def take(data):
        while _is_fatal(data):
            pass

    return _target(take)


def deaf_sleep():
    return _target(lambda data: time.sleep(1e6) if _is_fatal(data) else None)


def much_memory():
    return _target(lambda data: np.ones(100_000_000) if _is_fatal(data) else None)


def crash():
    return _target(lambda data: ctypes.string_at(0) if _is_fatal(data) else None)


def early_end():
    return _target(lambda data: os._exit(0) if _is_fatal(data) else None)


def well_behaved():
    return _target(lambda data: None)


FAULTS = {
    "key_error": "KeyError: 'x'",
    "numpy_s_own_error": "ValueError: cannot reshape",
    "endless_loop": "took more than 0.2 s of processor time",
    "deaf_sleep": "killed by signal 9 (silent for more than 8 s",
    "much_memory": "took more than 400 MB of memory",
    "crash": "killed by signal 11",
    "early_end": "ended with exit code 0",
}


@pytest.mark.slow
def test_every_kind_of_fault_is_found_with_its_input_and_the_others_go_on(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")]))
    reports = running.run([f"test_fuzz:{name}" for name in (*FAULTS, "well_behaved")], 60, seed=3)
    assert [report.kind for report in reports] == [f"test_fuzz:{name}" for name in (*FAULTS, "well_behaved")]
    for report, (name, words) in zip(reports, FAULTS.items(), strict=False):
        assert words in report.problem, (name, report.problem)
        assert _is_fatal(report.failing), name
    assert (reports[-1].problem, reports[-1].taken) == ("", 60)


def test_an_input_that_hypothesis_can_make_small_is_made_small(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")]))
    (report,) = running.run(["test_fuzz:key_error"], 60, seed=3)
    assert report.failing == bytes([100])


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (lambda: Octree(b"x", -1.0, True), True),
        (lambda: Robot.from_urdf("<robot/>"), True),
        (lambda: np.zeros(3).reshape(2, 2), False),
        (lambda: float("x"), False),
    ],
)
def test_only_an_error_that_our_own_code_raises_counts_as_a_refusal(act, expected):
    with pytest.raises(ValueError) as caught:
        act()
    assert was_refused(caught.value, (ValueError,)) is expected
    assert not was_refused(caught.value, (KeyError,))


def test_a_failing_input_is_kept_and_can_be_given_again(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")]))
    kind = ["--kind", "test_fuzz:key_error"]
    assert cli.main(["bench", "fuzz", *kind, "--inputs", "50", "--output", str(tmp_path)]) == 1
    assert "FAILED" in capsys.readouterr().out
    (file,) = tmp_path.iterdir()
    assert cli.main(["bench", "fuzz", *kind, "--replay", str(file)]) == 1
    assert "KeyError" in capsys.readouterr().out
    file.write_bytes(b"\x01")
    assert cli.main(["bench", "fuzz", *kind, "--replay", str(file)]) == 0


@pytest.mark.parametrize("kind", ["nothing", "", ":", "a:b", ".a:b", "superovoid:nothing"])
def test_a_kind_that_does_not_exist_is_refused_with_those_that_do(capsys, kind):
    with pytest.raises(SystemExit, match="2"):
        cli.main(["bench", "fuzz", "--kind", kind])
    assert "urdf, srdf" in capsys.readouterr().err


@pytest.mark.parametrize("kind", FILES)
def test_the_input_that_each_kind_begins_with_is_a_good_one(kind):
    target = target_of(kind)
    assert target.sample is not None
    with target.surroundings() as surroundings:
        target.give(target.sample, surroundings)
