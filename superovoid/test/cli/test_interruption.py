# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signals whose exception Python loses still end a command."""

import os
import signal
import sys

import pytest

from superovoid.cli.interruption import Interruption, Interrupts


class DestructorCall:
    """Calls `action` in its destructor, which cannot raise."""

    def __init__(self, action):
        self.action = action

    def __del__(self):
        self.action()


def send_signal(number):
    os.kill(os.getpid(), number)
    for _ in range(1000):
        pass  # handlers run between interpreter instructions


def use_default_hook(monkeypatch):
    """Replace the hook that pytest before 8.4 sets after the fixtures and before the test."""
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)


def test_check_raises_silently_for_a_signal_in_a_destructor(capfd, monkeypatch):
    use_default_hook(monkeypatch)
    with Interrupts() as interrupts:
        DestructorCall(lambda: send_signal(signal.SIGINT))
        assert interrupts.signal_number == signal.SIGINT
        with pytest.raises(Interruption):
            interrupts.check()
    assert capfd.readouterr() == ("", "")


def test_other_exceptions_in_destructors_are_printed_as_before(capfd, monkeypatch):
    use_default_hook(monkeypatch)
    with Interrupts() as interrupts:
        interrupts.install()
        DestructorCall(lambda: 1 / 0)
    assert "ZeroDivisionError" in capfd.readouterr().err
    assert sys.unraisablehook == sys.__unraisablehook__
