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
for _ in range(1000):
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
