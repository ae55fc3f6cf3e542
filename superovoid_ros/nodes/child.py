"""A node as a process of its own, started and ended by another program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping

import yaml

from superovoid_ros.resources import share_directory

_STOP_TIMEOUT = 10.0


class NodeError(RuntimeError):
    """A node or service does not do what is asked of it; says which, and what it printed last."""


class NodeProcess:
    """A node of this package in a process of its own, its output kept for an error.

    Parameters
    ----------
    module
        Module to run, its full name.
    parameters
        ROS parameters by name; a text may be long, as that of a URDF.
    namespace
        Where it runs; empty: in none.
    """

    def __init__(self, module: str, parameters: Mapping[str, object], namespace: str = "") -> None:
        self.name = module.rsplit(".", 1)[-1]
        self._log = tempfile.TemporaryFile()
        self._parameters = tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8")
        yaml.safe_dump({"/**": {"ros__parameters": dict(parameters)}}, self._parameters)
        self._parameters.flush()
        options = ["--params-file", self._parameters.name]
        if namespace:
            options += ["-r", f"__ns:={namespace}"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, "--ros-args", *options],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            # A Ctrl-C at the terminal is for the client, which then ends its nodes in order.
            start_new_session=True,
        )

    def check(self) -> None:
        """Raise where the process has ended."""
        code = self._process.poll()
        if code is not None:
            raise NodeError(f"{self.name} ended with exit code {code}; it printed:\n{self.output()}")

    def output(self) -> str:
        """Return what it printed."""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode(errors="replace").strip()

    def resident_memory(self) -> float:
        """Return the memory it holds now [MiB]; Linux."""
        with open(f"/proc/{self._process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def processor_time(self) -> float:
        """Return the processor time it has used so far [s]; Linux."""
        with open(f"/proc/{self._process.pid}/stat", encoding="ascii") as file:
            ticks = file.read().rpartition(")")[2].split()[11:13]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End it as Ctrl-C does, and by force where that does not help."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self.kill()
        self._log.close()
        self._parameters.close()


def hands_service(namespace: str) -> NodeProcess:
    """Start the distance service with the two hands of the iCub; it publishes nothing."""
    share = share_directory()
    parameters = {
        "rate": 0.0,
        "robot_description": (share / "urdf" / "icub_hands.urdf").read_text(encoding="utf-8"),
        "robot_description_semantic": (share / "config" / "icub_hands.srdf").read_text(encoding="utf-8"),
    }
    return NodeProcess("superovoid_ros.nodes.distance_service", parameters, namespace)
