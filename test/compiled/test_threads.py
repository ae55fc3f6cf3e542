# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Work that threads share: all of it is done once, whatever other threads and processes do."""

import os
import subprocess
import sys
import threading
import time

import pytest

from superovoid_ros.compiled.threads import MOST_HELPERS, share


def takes_from(numbers, done, pause=0.0):
    left = iter(numbers)

    def work():
        for number in left:
            time.sleep(pause)
            done.append(number)
        return threading.get_ident()

    return work


def test_every_part_is_done_once_and_more_threads_than_this_one_take_some():
    done = []
    results = share(takes_from(range(60), done, 1e-3), 3)
    assert sorted(done) == list(range(60))
    assert threading.get_ident() == results[0]
    assert len(set(results)) == len(results) > 1


def test_helpers_that_are_busy_elsewhere_are_not_waited_for():
    release, waiting = threading.Event(), threading.Semaphore(0)

    def hold():
        waiting.release()
        release.wait()

    # As many threads as there ever are, all of them held.
    holder = threading.Thread(target=share, args=(hold, MOST_HELPERS + 1))
    holder.start()
    try:
        for _ in range(MOST_HELPERS + 1):
            assert waiting.acquire(timeout=60.0)
        done = []
        assert share(takes_from(range(10), done), 4) == [threading.get_ident()]
        assert done == list(range(10))
    finally:
        release.set()
        holder.join()


def test_no_more_helpers_are_started_than_allowed_however_many_threads_are_asked_for():
    before = threading.active_count()
    assert len(share(takes_from(range(200), [], 1e-3), 1000)) <= MOST_HELPERS + 1
    assert threading.active_count() <= before + MOST_HELPERS


def test_work_may_itself_share_work():
    def inner():
        return sum(share(lambda: 1, 2))

    assert all(1 <= count <= 2 for count in share(inner, 4))


@pytest.mark.parametrize("fails", ("this thread", "a helper"))
def test_an_exception_is_raised_when_no_thread_works_any_more(fails):
    here, begun, working = threading.get_ident(), threading.Barrier(2, timeout=60.0), []

    def work():
        begun.wait()
        if (threading.get_ident() == here) == (fails == "this thread"):
            raise KeyError(fails)
        working.append(None)
        time.sleep(0.02)
        working.pop()

    with pytest.raises(KeyError, match=fails):
        share(work, 2)
    assert working == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_has_threads_of_its_own():
    program = """
import os, threading, sys
from superovoid_ros.compiled.threads import share
barrier = threading.Barrier(2, timeout=60.0)
share(barrier.wait, 2)
child = os.fork()
if child == 0:
    barrier = threading.Barrier(2, timeout=60.0)
    os._exit(0 if sorted(share(barrier.wait, 2)) == [0, 1] else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", program], timeout=120.0, check=False).returncode == 0
