# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The end of a node's process: a signal breaks nothing, and threads are waited for, whatever it found them doing."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from superovoid_ros.nodes.common import process


@pytest.fixture
def ended(monkeypatch):
    """Threads that there are, and what the process was ended with at once."""
    threads, ends = [threading.current_thread()], []
    monkeypatch.setattr(process.threading, "enumerate", lambda: list(threads))
    monkeypatch.setattr(process, "end_at_once", lambda code, words: ends.append((code, words)))
    return threads, ends


def test_a_thread_whose_start_a_signal_interrupted_for_good_is_not_waited_for_in_vain(ended, monkeypatch):
    threads, ends = ended
    monkeypatch.setattr(process, "GRACE", 0.05)
    threads.append(threading.Thread(target=lambda: None))
    process._leave_no_thread(0)
    assert not ends


def test_a_thread_whose_start_was_under_way_is_waited_for(ended):
    threads, ends = ended
    looked, done = threading.Event(), threading.Event()

    class UnderWay(threading.Thread):
        def join(self, timeout=None):
            looked.set()
            super().join(timeout)

    late = UnderWay(target=done.set)
    threads.append(late)
    threading.Thread(target=lambda: (looked.wait(), late.start()), daemon=True).start()
    process._leave_no_thread(0)
    assert done.is_set() and not ends


def test_a_thread_that_goes_on_ends_the_process_at_once_with_its_code(ended, monkeypatch):
    threads, ends = ended
    monkeypatch.setattr(process, "GRACE", 0.05)
    over = threading.Event()
    threads.append(threading.Thread(target=over.wait))
    threads[-1].start()
    process._leave_no_thread(1)
    over.set()
    assert ends == [(1, "ended in the midst of a long call")]


def test_the_main_thread_may_free_what_executors_have_while_signals_come():
    """A thread of the middleware that goes through the same things at a signal would end the process now and then."""
    rounds = """
import os, signal
import rclpy
from rclpy.signals import SignalHandlerGuardCondition
from superovoid_ros.nodes.common.interrupts import install
from superovoid_ros.nodes.common.process import start_ros

interrupts = install()
assert not start_ros([])
interrupts.starting = False
for _ in range(3000):
    interrupts.came = False
    guard = SignalHandlerGuardCondition(rclpy.get_default_context())
    os.kill(os.getpid(), signal.SIGINT)
    while not interrupts.came:
        pass
    guard.destroy()
interrupts.end()
rclpy.try_shutdown()
"""
    ended = subprocess.run([sys.executable, "-c", rounds], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
