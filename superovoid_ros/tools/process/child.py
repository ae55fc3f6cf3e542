# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A node as a process of its own, started and ended by another program."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import yaml

from superovoid.cli.interruption import INTERRUPTS
from superovoid_ros.resources import robot_documents

PATIENCE = 180.0
"""s, after which it is an error that a process has not done what is waited for"""

_STOP_TIMEOUT = 10.0  # s from Ctrl-C on; what does not end by then is ended by force
_TICKS = os.sysconf("SC_CLK_TCK")
_PR_SET_PDEATHSIG = 1
_PAUSE = 0.02  # s, between two looks
_DISCOVERY = (
    "the machine is busy, or processes of this machine do not find each other by DDS. A firewall, a container or "
    "FASTRTPS_DEFAULT_PROFILES_FILE may keep them apart; multicast or the loopback interface may be off "
    "(ip link show lo); /dev/shm may be full"
)
# Topics with the same name in every namespace, without remapping.
_ABSOLUTE = ("/tf", "/tf_static", "/clock", "/diagnostics")


def end_with_parent() -> None:
    """Let the kernel end this process by SIGTERM when the one that started it is gone; Linux."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class NodeError(RuntimeError):
    """A node or service fails; the text names it, with its last output."""


class NodeProcess:
    """A node of this package in a process of its own, its output kept for an error.

    It ends with this process, however that ends.

    Parameters
    ----------
    module
        Module to run, its full name, or a script.
    parameters
        ROS parameters by name; a text may be long, as that of a URDF.
    rules
        Remappings, each `from:=to`; see `inside`.
    name
        For messages; default: the last part of the module's.

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
            preexec_fn=end_with_parent,
            stdout=self._log.fileno(),
            stderr=subprocess.STDOUT,
            # A Ctrl-C at the terminal is for the client, which then ends its nodes in order.
            start_new_session=True,
        )
        self.name = name or module.rsplit(".", 1)[-1]

    def processor_time(self) -> float:
        """Return the processor time used so far [s]; Linux."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / _TICKS

    def check(self) -> None:
        """Raise `NodeError` if the process has ended."""
        code = self.process.poll()
        if code is not None:
            ended = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            raise NodeError(f"{self.name} ended {ended}; it printed:\n{self.output() or '(nothing)'}")

    def output(self, start: int = 0) -> str:
        """Return what it printed, from a byte on."""
        printed = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), max(0, printed - start), start).decode(errors="replace").strip()

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End it as Ctrl-C does, and by force if that does not help."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.send_signal(signal.SIGCONT)  # a stopped process would not receive it
            try:
                self.process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self.kill()
        self._log.close()
        self._parameters.close()


class Watch:
    """Ends the waiting for a process that has ended, or that takes too long.

    Parameters
    ----------
    process
        The process that must act.
    patience
        s, as `PATIENCE`.
    cause
        Why it may be waited for in vain, and what can be done.
    """

    def __init__(self, process: NodeProcess, patience: float = PATIENCE, cause: str = _DISCOVERY) -> None:
        self._process, self._cause = process, cause
        self._patience, self._until = patience, time.monotonic() + patience

    def look(self, problem: str) -> None:
        """Raise `NodeError` if there is nothing more to wait for; `problem` is like "service /a did not appear"."""
        self._process.check()
        if time.monotonic() >= self._until:
            raise NodeError(f"{problem} within {self._patience:g} s: {self._cause}")


def wait_for(process: NodeProcess, condition: Callable[[], bool], problem: str, pause: float = _PAUSE) -> None:
    """Wait until a process makes a condition hold, checked every `pause` seconds; `NodeError` as `Watch.look`."""
    watch = Watch(process)
    while not condition():
        INTERRUPTS.check()
        watch.look(problem)
        time.sleep(pause)


def inside(namespace: str) -> list[str]:
    """Return the rules that put a node into a namespace, transforms, clock and diagnostics included; empty: in none."""
    if not namespace:
        return []
    return [f"__ns:={namespace}", *(f"{topic}:={namespace}{topic}" for topic in _ABSOLUTE)]


def hands_service(namespace: str, **more: object) -> NodeProcess:
    """Start the distance service with the two hands of the iCub; it publishes nothing by default."""
    urdf, srdf = robot_documents("icub_hands")
    parameters = {"rate": 0.0, "robot_description": urdf, "robot_description_semantic": srdf, **more}
    return NodeProcess("superovoid_ros.nodes.distance_service", parameters, inside(namespace))
