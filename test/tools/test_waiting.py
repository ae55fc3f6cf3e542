# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Waiting for a process: as long as it lives and works, however slow the machine, and not while it does nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from superovoid_ros.tools.process.child import Child, NodeError
from superovoid_ros.tools.process.waiting import Watch

DEADLINE = 60.0  # s, for processes to react


class Program(Child):
    """A Python program as a process."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        super().__init__("program", self.process.pid)

    def check(self):
        if self.process.poll() is not None:
            raise NodeError(f"program ended with {self.process.returncode}")


@pytest.fixture
def start():
    """Return a function that starts a program and waits for its first line."""
    programs = []

    def start(program):
        programs.append(Program(f"import sys, time; print(flush=True)\n{program}"))
        assert programs[-1].process.stdout.readline() == b"\n"
        return programs[-1]

    yield start
    for program in programs:
        program.process.kill()
        program.process.communicate()


class Clock:
    """Time that advances with the processor time of a process, so that no result depends on the machine's speed."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self):
        return self.now


def look_for(watch, clock, seconds, each=lambda: time.sleep(0.001)):
    """Look four times per second of the clock, for a number of seconds."""
    for _ in range(round(4 * seconds)):
        each()
        clock.now += 0.25
        watch.look("the answer did not come")


def test_a_computing_process_is_waited_for_without_limit(start):
    program = start("while True: pass")
    clock = Clock()
    watch = Watch(program, patience=10.0, clock=clock)

    def until_it_computed():
        used = program.demand()
        while program.demand() < used + 0.02:  # in a quarter of a second: a machine of a twelfth of the speed
            time.sleep(0.001)

    look_for(watch, clock, 30.0, until_it_computed)


def test_an_idle_process_is_an_error_with_a_cause(start):
    clock = Clock()
    watch = Watch(start("time.sleep(1000)"), patience=10.0, clock=clock)
    with pytest.raises(NodeError, match=r"the answer did not come: program .* has done nothing for 10 s: .*firewall"):
        look_for(watch, clock, 30.0)
    assert 10.0 <= clock.now <= 16.0


def test_a_stopped_process_is_an_error_with_the_command_to_continue(start):
    program = start("while True: pass")
    os.kill(program.pid, signal.SIGSTOP)
    until = time.monotonic() + DEADLINE
    while not program.is_stopped():
        assert time.monotonic() < until
        time.sleep(0.001)
    clock = Clock()
    watch = Watch(program, patience=10.0, clock=clock)
    with pytest.raises(NodeError, match=f"is stopped; to let it go on: kill -CONT {program.pid}"):
        look_for(watch, clock, 30.0)


def test_an_ended_process_is_an_error_at_once(start):
    program = start("sys.exit(3)")
    watch = Watch(program, clock=Clock())
    program.process.wait()
    with pytest.raises(NodeError, match="ended with 3"):
        watch.look("no answer")


def test_pauses_of_the_watching_process_do_not_count(start):
    clock = Clock()
    watch = Watch(start("time.sleep(1000)"), patience=10.0, clock=clock)
    for _ in range(12):  # it was stopped for a minute each time
        clock.now += 60.0
        watch.look("no answer")


def test_a_process_that_reads_files_counts_as_working(start):
    program = start("while True:\n    open(sys.executable, 'rb').read(2**20)")
    clock = Clock()
    watch = Watch(program, patience=10.0, clock=clock)
    program.demand = lambda: 0.0  # almost no processor time

    def until_it_read():
        before = program.bytes_read()
        while program.bytes_read() < before + 2**14:
            time.sleep(0.001)

    look_for(watch, clock, 30.0, until_it_read)
