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
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

import yaml

from superovoid_ros.resources import share_directory

_STOP_TIMEOUT = 10.0  # s from Ctrl-C on; what does not end by then is ended by force
_TICKS = os.sysconf("SC_CLK_TCK")
_PR_SET_PDEATHSIG = 1
_STOPPED = ("T", "t")
# Topics with the same name in every namespace, without remapping.
_ABSOLUTE = ("/tf", "/tf_static", "/clock", "/diagnostics")


def end_with_parent() -> None:
    """Let the kernel end this process by SIGTERM when the one that started it is gone; Linux."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class NodeError(RuntimeError):
    """A node or service fails; the text names it, with its last output."""


class Child:
    """State and use of resources of a child process; Linux.

    Parameters
    ----------
    name
        For messages.
    pid
        Its number.
    """

    def __init__(self, name: str, pid: int) -> None:
        self.name = name
        self.pid = pid

    def check(self) -> None:
        """Raise `NodeError` if the process has ended."""
        raise NotImplementedError

    def resident_memory(self) -> float:
        """Return the memory it holds now [MiB]."""
        return int(self._read("statm").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def processor_time(self) -> float:
        """Return the processor time used so far [s]."""
        return sum(map(int, self._stat()[11:13])) / _TICKS

    def is_stopped(self) -> bool:
        """Whether it is stopped, by SIGSTOP or a debugger."""
        return self._stat()[0] in _STOPPED

    def demand(self) -> float:
        """Return the processor time it has used and has waited for while others had it [s].

        On a machine with any load, it grows by a second each second while the process computes, and hardly while the
        process waits for something else.
        """
        waited = 0
        for thread in self._threads():
            try:
                waited += int((thread / "schedstat").read_text(encoding="ascii").split()[1])
            except (OSError, IndexError, ValueError):  # the thread has ended, or the kernel has no such file
                pass
        return self.processor_time() + 1e-9 * waited

    def bytes_read(self) -> int:
        """Return the number of bytes read from files so far."""
        for line in self._read("io").splitlines():
            if line.startswith("rchar:"):
                return int(line.split()[1])
        return 0

    def _read(self, file: str) -> str:
        return Path(f"/proc/{self.pid}/{file}").read_text(encoding="utf-8", errors="replace")

    def _stat(self) -> list[str]:
        """Return the fields of /proc/PID/stat after the name, the state first."""
        return self._read("stat").rpartition(")")[2].split()

    def _threads(self) -> Iterator[Path]:
        return Path(f"/proc/{self.pid}/task").iterdir()


class HelperProcess(Child):
    """A process of multiprocessing."""

    def __init__(self, name: str, process: BaseProcess) -> None:
        super().__init__(name, process.pid)
        self.process = process

    def check(self) -> None:
        """Raise if the process has ended."""
        if not self.process.is_alive():
            raise NodeError(f"{self.name} (process {self.pid}) ended with exit code {self.process.exitcode}")


class NodeProcess(Child):
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
        self.process = self._start([*program, "--ros-args", *options], os.environ, self._log.fileno())
        super().__init__(name or module.rsplit(".", 1)[-1], self.process.pid)

    def _start(self, arguments: list[str], environment: Mapping[str, str], log: int) -> subprocess.Popen:
        """Start `python arguments` with its output in a file; it ends with this process."""
        return subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            preexec_fn=end_with_parent,
            stdout=log,
            stderr=subprocess.STDOUT,
            # A Ctrl-C at the terminal is for the client, which then ends its nodes in order.
            start_new_session=True,
            env=environment,
        )

    def check(self) -> None:
        """Raise if the process has ended."""
        code = self.process.poll()
        if code is not None:
            ended = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            raise NodeError(f"{self.name} ended {ended}; it printed:\n{self.output() or '(nothing)'}")

    def output(self, start: int = 0) -> str:
        """Return what it printed, from a byte on."""
        return os.pread(self._log.fileno(), max(0, self.printed() - start), start).decode(errors="replace").strip()

    def printed(self) -> int:
        """Return how many bytes it printed."""
        return os.fstat(self._log.fileno()).st_size

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


def inside(namespace: str) -> list[str]:
    """Return the rules that put a node into a namespace, transforms, clock and diagnostics included; empty: in none."""
    if not namespace:
        return []
    return [f"__ns:={namespace}", *(f"{topic}:={namespace}{topic}" for topic in _ABSOLUTE)]


def hands_service(namespace: str, **more: object) -> NodeProcess:
    """Start the distance service with the two hands of the iCub; it publishes nothing by default."""
    share = share_directory()
    parameters = {
        "rate": 0.0,
        "robot_description": (share / "urdf" / "icub_hands.urdf").read_text(encoding="utf-8"),
        "robot_description_semantic": (share / "config" / "icub_hands.srdf").read_text(encoding="utf-8"),
        **more,
    }
    return NodeProcess("superovoid_ros.nodes.distance_service", parameters, inside(namespace))
