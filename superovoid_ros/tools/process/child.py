# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Run a node as a child process."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import yaml

from superovoid.cli.interruption import INTERRUPTS

PATIENCE = 180.0
"""Time after which a process that has not reached the awaited state is an error, s."""

_STOP_TIMEOUT = 10.0  # s from Ctrl-C to SIGKILL
_TICKS = os.sysconf("SC_CLK_TCK")
_PR_SET_PDEATHSIG = 1
_PAUSE = 0.02  # s between two checks
_DISCOVERY = (
    "the machine is busy, or processes on this machine do not discover each other by DDS. A firewall, a container or "
    "FASTRTPS_DEFAULT_PROFILES_FILE may keep them apart; multicast or the loopback interface may be off "
    "(ip link show lo); /dev/shm may be full"
)
# These topics have the same name in every namespace unless they are remapped.
_ABSOLUTE = ("/tf", "/tf_static", "/clock", "/diagnostics")


def end_with_parent(parent: int) -> None:
    """Make the kernel send SIGTERM to this process when its parent, the process `parent`, ends; Linux only."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it ended before
        os._exit(1)


class NodeError(RuntimeError):
    """A node or service failed; the message names it and ends with its last output."""


class NodeProcess:
    """A node of this package in a child process, whose output is recorded for error messages.

    The node ends when this process ends, even by a crash.

    Parameters
    ----------
    module
        Full name of the module to run, or a script.
    parameters
        ROS parameters by name; a string may be as long as a URDF.
    rules
        Remapping rules, each `from:=to`; see `inside`.
    name
        Name in messages; default: the last part of the module's name.

    Attributes
    ----------
    process : subprocess.Popen
    """

    def __init__(
        self, module: str, parameters: Mapping[str, object], rules: Sequence[str] = (), name: str = ""
    ) -> None:
        self._log = tempfile.TemporaryFile()
        self._parameters = tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8")
        yaml.safe_dump({"/**": {"ros__parameters": dict(parameters)}}, self._parameters)
        self._parameters.flush()
        options = ["--params-file", self._parameters.name]
        for rule in rules:
            options += ["-r", rule]
        program = [module] if module.endswith(".py") else ["-m", module]
        self.process = subprocess.Popen(
            [sys.executable, *program, "--ros-args", *options],
            stdin=subprocess.DEVNULL,
            preexec_fn=partial(end_with_parent, os.getpid()),
            stdout=self._log.fileno(),
            stderr=subprocess.STDOUT,
            # Ctrl-C must reach only the client, which then stops its nodes in order.
            start_new_session=True,
        )
        self.name = name or module.rsplit(".", 1)[-1]

    def processor_time(self) -> float:
        """Return the processor time used so far, s; Linux only."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / _TICKS

    def check(self) -> None:
        """Raise `NodeError` if the process has ended."""
        code = self.process.poll()
        if code is not None:
            ended = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            raise NodeError(f"{self.name} ended {ended}; it printed:\n{self.output() or '(nothing)'}")

    def output(self, start: int = 0) -> str:
        """Return the output of the process from byte `start` on."""
        printed = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), max(0, printed - start), start).decode(errors="replace").strip()

    def kill(self) -> None:
        """Kill the process, as in a crash."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Stop the process by Ctrl-C; kill it if it does not end in time."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.send_signal(signal.SIGCONT)  # a suspended process would not handle the signal
            try:
                self.process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self.kill()
        self._log.close()
        self._parameters.close()


def late_error(problem: str) -> NodeError:
    """Return the error that something did not happen within `PATIENCE`, with possible causes."""
    return NodeError(f"{problem} within {PATIENCE:g} s: {_DISCOVERY}")


def wait_for(process: NodeProcess, condition: Callable[[], bool], problem: str) -> None:
    """Wait until `condition` holds; raise `NodeError` if the process ends or is late."""
    until = time.monotonic() + PATIENCE
    while not condition():
        INTERRUPTS.check()
        process.check()
        if time.monotonic() >= until:
            raise late_error(problem)
        time.sleep(_PAUSE)


def remapping_rules(namespace: str) -> list[str]:
    """Return remapping rules that put a node, its transforms, clock and diagnostics into a namespace."""
    return [f"__ns:={namespace}", *(f"{topic}:={namespace}{topic}" for topic in _ABSOLUTE)]
