# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The order in which processes of `pytest -n` take files of tests."""

import itertools
from pathlib import Path

import pytest

import schedule

ROOT = Path(__file__).resolve().parents[1]
FILES = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "test").rglob("test_*.py"))]


def taken(files, workers):
    """What each of some processes takes, one after the other."""
    left, found = list(files), [[] for _ in range(workers)]
    while left:
        for worker in range(workers):
            if left:
                found[worker].append(schedule.next_file(left, worker))
                left.remove(found[worker][-1])
    return found


def test_every_file_that_is_named_is_there():
    assert set(schedule.LONGEST) <= set(FILES)
    assert len(set(schedule.LONGEST)) == len(schedule.LONGEST)


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 9])
def test_every_file_is_taken_once(workers):
    assert sorted(itertools.chain(*taken(FILES, workers))) == FILES


def test_one_process_begins_with_files_that_wait_and_the_other_with_those_that_compute():
    waiting, computing = taken(FILES, 2)
    count = min(sum(map(schedule.waits, FILES)), len(FILES) // 2)
    assert all(map(schedule.waits, waiting[:count]))
    assert not any(map(schedule.waits, computing[:count]))


@pytest.mark.parametrize("worker", [0, 1])
def test_the_longest_comes_first_whatever_the_order_of_names(worker):
    own = [file for file in schedule.LONGEST if schedule.waits(file) == (worker == 0)]
    assert schedule.next_file(FILES, worker) == schedule.next_file(FILES[::-1], worker) == own[0]
    assert schedule.next_file([file for file in FILES if file != own[0]], worker) == own[1]


def test_whoever_has_no_more_of_his_own_helps_the_other():
    assert schedule.next_file(["test/nodes/test_world.py"], 1) == "test/nodes/test_world.py"


def test_tests_that_start_nodes_are_where_they_are_looked_for():
    """By the fixtures that start them."""
    for file in FILES:
        text = (ROOT / file).read_text(encoding="utf-8")
        if "start_node" in text or "launched.describe" in text:
            assert schedule.waits(file) or file == "test/test_schedule.py", file
