# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Work shared by threads: each part is done exactly once, whatever other threads and processes do."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from superovoid.compiled import threads
from superovoid.compiled.threads import MOST_HELPERS, share


def make_work(done, pause=0.0):
    def work(left):
        for number in left:
            time.sleep(pause)
            done.append(number)
        return threading.get_ident()

    return work


def test_two_started_threads_do_every_part_once():
    done, both = [], threading.Barrier(2)
    work = make_work(done)

    def work_after_another_has_begun(left):
        both.wait()
        return work(left)

    results = share(range(60), work_after_another_has_begun, 2)
    assert sorted(done) == list(range(60))
    assert threading.get_ident() == results[0]
    assert len(set(results)) == len(results) == 2


def test_busy_helpers_are_not_waited_for():
    release, waiting = threading.Event(), threading.Semaphore(0)

    def hold(_left):
        waiting.release()
        release.wait()

    # As many threads as allowed, all of them held.
    holder = threading.Thread(target=share, args=((), hold, MOST_HELPERS + 1))
    holder.start()
    try:
        for _ in range(MOST_HELPERS + 1):
            assert waiting.acquire(timeout=60.0)
        done = []
        assert share(range(10), make_work(done), 4) == [threading.get_ident()]
        assert done == list(range(10))
    finally:
        release.set()
        holder.join()


def test_helpers_never_exceed_their_limit_however_many_are_requested():
    before = threading.active_count()
    assert len(share(range(200), make_work([], 1e-3), 1000)) <= MOST_HELPERS + 1
    assert threading.active_count() <= before + MOST_HELPERS


def test_work_may_itself_share_work():
    def share_again(_left):
        return sum(share((), lambda _: 1, 2))

    assert all(1 <= count <= 2 for count in share((), share_again, 4))


@pytest.mark.parametrize("fails", ("this thread", "a helper"))
def test_an_exception_is_raised_after_all_threads_have_stopped(fails):
    here, begun, working = threading.get_ident(), threading.Barrier(2, timeout=60.0), []

    def work(_left):
        begun.wait()
        if (threading.get_ident() == here) == (fails == "this thread"):
            raise KeyError(fails)
        working.append(None)
        time.sleep(0.02)
        working.pop()

    with pytest.raises(KeyError, match=fails):
        share((), work, 2)
    assert working == []


@pytest.mark.parametrize("started", [0, 1])
def test_available_threads_do_the_work_if_no_more_can_start(monkeypatch, started):
    start, left_to_start = threading.Thread.start, [None] * started

    def start_few(thread):
        if not left_to_start:
            raise RuntimeError("can't start new thread")
        left_to_start.pop()
        start(thread)

    monkeypatch.setattr(threads, "_helpers", None)
    monkeypatch.setattr(threading.Thread, "start", start_few)
    done, pause = [], 2e-3 if started else 0.0
    assert len(share(range(60), make_work(done, pause), 4)) <= 1 + started
    assert sorted(done) == list(range(60))
    assert threads._helpers is None  # nothing waits for a missing thread


def test_a_thread_that_outlives_the_main_thread_works_alone():
    program = """
import threading, time
from superovoid.compiled.threads import share
def outlives():
    threading.main_thread().join()
    print(sum(share(range(10), lambda left: len(list(left)), 2)))
threading.Thread(target=outlives).start()
"""
    ended = subprocess.run([sys.executable, "-c", program], timeout=120.0, check=True, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("10\n", "")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals")
@pytest.mark.parametrize("here", ["takes portions", "waits"])
def test_a_signal_ends_all_threads_after_their_current_portions(here):
    main, done, working, begun = threading.get_ident(), [], [], threading.Barrier(2, timeout=60.0)

    class EndSignal(BaseException):
        pass

    def on_alarm(*_):
        raise EndSignal

    def work(left):
        begun.wait()
        is_main = threading.get_ident() == main
        if is_main:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            if here == "waits":
                return
        for number in left:
            working.append(None)
            time.sleep(0.01)
            done.append(number)
            working.pop()

    before = signal.signal(signal.SIGALRM, on_alarm)
    try:
        with pytest.raises(EndSignal):
            share(range(100_000), work, 2)
        assert len(working) <= (here == "takes portions")  # the portion that this thread had begun
        assert 0 < len(done) < 1000
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_has_its_own_threads():
    program = """
import os, threading, sys
from superovoid.compiled.threads import share
barrier = threading.Barrier(2, timeout=60.0)
share((), lambda _: barrier.wait(), 2)
child = os.fork()
if child == 0:
    barrier = threading.Barrier(2, timeout=60.0)
    os._exit(0 if sorted(share((), lambda _: barrier.wait(), 2)) == [0, 1] else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", program], timeout=120.0, check=False).returncode == 0
