# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The age of distances behind joint states: what the numbers say, and the measure itself in small."""

from __future__ import annotations

import numpy as np
import pytest

from superovoid_ros.tools.load import stream

MS = 1_000_000  # ns


def summary(seen, sent=(0, 2, 4, 6, 8)):
    sent = np.array(sent) * MS
    seen = np.array(seen, dtype=float).reshape(-1, 2) * MS
    return stream.summary(500.0, 0.01, sent, np.zeros(len(sent)), seen.astype(np.int64), 0, 0.006)


def test_ages_count_from_the_stamp_of_the_joint_state():
    row = summary([(3, 0), (7, 4), (12, 8)])
    assert (row.sent, row.answers, row.overtaken, row.back, row.again) == (5, 3, 2, 0, 0)
    assert (row.age_p50, row.age_worst) == (3.0, 4.0)
    assert row.processor == pytest.approx(2.0) and row.node_load == pytest.approx(0.6)


def test_an_answer_about_an_older_state_than_one_before_it_is_seen():
    row = summary([(3, 0), (7, 4), (8, 2), (9, 4)])
    assert (row.back, row.again, row.overtaken) == (1, 1, 2)


def test_answers_about_the_last_joint_state_again_have_no_age():
    row = summary([(3, 0), (7, 4), (12, 8), (200, 8), (500, 8)])
    assert (row.answers, row.again) == (5, 2)
    assert row.age_worst == 4.0


def test_answers_again_about_a_joint_state_that_is_not_the_last_do_count():
    assert summary([(3, 0), (7, 4), (300, 4), (301, 8)]).age_worst == 296.0


def test_answers_about_other_joint_states_do_not_count():
    assert summary([(3, 1), (7, 4)]).answers == 1
    row = summary([])
    assert (row.answers, row.overtaken) == (0, 5) and np.isnan(row.age_p50)


@pytest.mark.slow
def test_distances_follow_joint_states_and_none_is_wrong(warm_tools):
    row = stream.measure(100.0, 2.0)
    assert row.sent == 200 and row.answers > 10
    assert (row.wrong, row.back) == (0, 0)
