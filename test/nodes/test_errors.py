# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which errors are the caller's mistakes, and their messages."""

from __future__ import annotations

import numpy as np
import pytest

from superovoid.robot import Robot
from superovoid.robot.octomap import Octree
from superovoid.shapes import Superovoid
from superovoid_ros.nodes.common.mistakes import InputError, listing, reason_of, refusals, shorten
from superovoid_ros.nodes.common.throttle import MOST, Log


@pytest.mark.parametrize(
    "refused",
    [
        lambda: Superovoid((1.0, -1.0, 1.0), section_exponent=1.0, profile_exponent=1.0, taper=(0.0, 0.0)),
        lambda: Robot.from_urdf("<robot/>"),
        lambda: Robot.from_urdf("this is no robot"),
        lambda: Octree(b"x", -1.0, True),
    ],
)
def test_what_the_library_refuses_is_the_mistake_of_the_caller(refused):
    with pytest.raises(ValueError) as caught:
        refused()
    with pytest.raises(InputError) as made, refusals("request", "send another"):
        refused()
    assert str(made.value) == f"request: {caught.value}: send another"


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: np.linalg.inv(np.zeros((3, 3))),
        lambda: np.zeros(3) + np.zeros(2),
        lambda: np.zeros(3).reshape(2, 2),
        lambda: float("x"),
        lambda: [].index(1),
        lambda: {}["x"],
    ],
)
def test_what_numpy_and_python_raise_is_none(mistake, capsys):
    with pytest.raises(Exception) as caught, refusals("request"):
        mistake()
    assert not isinstance(caught.value, InputError)
    assert reason_of(caught.value).startswith("INTERNAL: ")
    assert type(caught.value).__name__ in capsys.readouterr().err


def test_words_of_callers_are_one_line_and_cut_in_the_middle():
    words = shorten(f"unknown joint '{'x' * 4_000_000}'; joints: slide, wrist")
    assert len(words) < 1100
    assert words.startswith("unknown joint 'xxx") and words.endswith("x'; joints: slide, wrist")
    assert "[39" in words and "characters]" in words
    assert shorten("a\n[ERROR] b\x1b[31m\0ü") == r"a\n[ERROR] b\x1b[31m\x00ü"
    assert len(listing(["y" * 10_000] * 20)) < 2000


class _Lines:
    """A node whose log is a list."""

    def __init__(self):
        self.lines = []

    def get_logger(self):
        return self

    def error(self, words):
        self.lines.append(words)

    warning = error


def test_lines_of_a_kind_are_few_and_omitted_ones_counted():
    node, now = _Lines(), [0.0]
    log = Log(node, lambda: now[0])
    for i in range(100_000):
        log.error("a", f"a {i:05d}" + "x" * 93)
    log.warning("b", "b")
    assert [line[:7] for line in node.lines] == [f"a {i:05d}" for i in range(MOST // 100)] + ["b"]
    left_out = 100_000 - MOST // 100
    assert log.left_out == left_out
    now[0] = 6.0
    log.error("a", "again")
    log.error("a", "and again")
    assert node.lines[-2:] == [f"again ({left_out} similar lines omitted)", "and again"]
