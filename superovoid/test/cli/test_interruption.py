# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signals that end a command, where Python loses the exception that they raise."""

import os
import signal
import sys

import pytest

from superovoid.cli.interruption import Interrupted, Interrupts


class Ending:
    """Does something in its destructor, where no exception gets out."""

    def __init__(self, action):
        self.action = action

    def __del__(self):
        self.action()


def tell(number):
    os.kill(os.getpid(), number)
    for _ in range(1000):
        pass  # handlers run between steps of the interpreter


def use_hook_of_python(monkeypatch):
    """Replace the hook of pytest, which versions before 8.4 set between the fixtures and the test."""
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)


def test_a_signal_in_a_destructor_is_heeded_later_and_prints_nothing(capfd, monkeypatch):
    use_hook_of_python(monkeypatch)
    with Interrupts() as interrupts:
        Ending(lambda: tell(signal.SIGINT))
        assert interrupts.came == signal.SIGINT
        with pytest.raises(Interrupted):
            interrupts.check()
    assert capfd.readouterr() == ("", "")


def test_other_exceptions_in_destructors_are_printed_as_before(capfd, monkeypatch):
    use_hook_of_python(monkeypatch)
    with Interrupts() as interrupts:
        interrupts.heed()
        Ending(lambda: 1 / 0)
    assert "ZeroDivisionError" in capfd.readouterr().err
    assert sys.unraisablehook == sys.__unraisablehook__
