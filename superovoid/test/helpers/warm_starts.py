# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Nodes from a process that has already imported what they need, which takes more time than many a test.

Each is a process of its own, forked for it, with its own interpreter's state, signals and end; only imports were made
before. What a node does then is for nodes that are started as users start them.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

# What a node may be given that differs from what the server was started with; imports depend on none of it.
FREE = {
    "PYTEST_CURRENT_TEST",
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
    "ROS_DOMAIN_ID",
    "SUPEROVOID_ENDS_WITH_STDIN",
}
# What takes time to import and starts no thread, which a process to be forked must not have. rclpy starts some.
IMPORTED = (
    "scipy.spatial.transform",
    "superovoid_ros.motions.replays",
    "superovoid.planning",
    "superovoid.robot.planning_scene",
)
MESSAGES = (
    "diagnostic_msgs.msg",
    "lifecycle_msgs.msg",
    "lifecycle_msgs.srv",
    "moveit_msgs.msg",
    "moveit_msgs.srv",
    "rcl_interfaces.msg",
    "rcl_interfaces.srv",
    "rosgraph_msgs.msg",
    "sensor_msgs.msg",
    "std_srvs.srv",
    "superovoid_interfaces.msg",
    "superovoid_interfaces.srv",
    "tf2_msgs.msg",
    "trajectory_msgs.msg",
    "type_description_interfaces.srv",
    "visualization_msgs.msg",
)


# --- in the process of the tests ---


class WarmProcess:
    """A process that the server forked; as much of `subprocess.Popen` as its users need."""

    def __init__(self, pid: int, status: int, stdin: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin = os.fdopen(stdin, "wb", buffering=0)
        self._status = os.fdopen(status, "rb", buffering=0)

    def poll(self) -> int | None:
        """Return how it ended, as `subprocess.Popen` does; None: not yet."""
        return self._look(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended."""
        if self._look(timeout) is None:
            raise subprocess.TimeoutExpired("a node", timeout)
        return self.returncode

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ends just now
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it by force."""
        self.send_signal(signal.SIGKILL)


class Server:
    """The process that forks; it ends with this one."""

    def __init__(self) -> None:
        self._environment, self._folder = _bound(os.environ), os.getcwd()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        atexit.register(self.close)

    def close(self) -> None:
        """End it."""
        self._channel.close()
        self._process.wait()

    def fits(self, environment: dict[str, str]) -> bool:
        """Whether a node with these variables would import what the server has imported."""
        return _bound(environment) == self._environment and os.getcwd() == self._folder

    def start(self, arguments: list[str], environment: dict[str, str], log: int) -> WarmProcess:
        """Start what `python arguments` would, its output in a file."""
        end, stdin = os.pipe()
        status, told = os.pipe()
        order = json.dumps([arguments, environment]).encode()
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * len(order))
        socket.send_fds(self._channel, [order], [end, log, told])
        os.close(end)
        os.close(told)
        pid = b""
        while not pid.endswith(b"\n"):
            byte = os.read(status, 1)
            if not byte:
                raise RuntimeError("the process that starts nodes has ended")
            pid += byte
        return WarmProcess(int(pid), status, stdin)


def _bound(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in FREE}


# --- in the server's ---


def serve(channel: socket.socket) -> list[str] | None:
    """Fork for each order, until the other end is closed; return, in a process forked, what it is to run."""
    for module in IMPORTED:
        import_module(module)
    for name in MESSAGES:
        for kind in vars(import_module(name)).values():
            if isinstance(kind, type) and hasattr(type(kind), "__import_type_support__"):
                type(kind).__import_type_support__()  # what rclpy does when it first uses a message
    gc.freeze()  # a search for garbage writes to all that it sees, and what is written to is copied
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("a process with threads cannot be forked")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that watch over nodes
    while True:
        order, files, *_ = socket.recv_fds(channel, 2**20, 3)
        if not order:
            return None
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            channel.close()
            stdin, log, told = files
            node = os.fork()
            if node == 0:
                os.close(told)
                return _become(*json.loads(order), stdin, log)
            os.close(stdin)
            os.write(told, b"%d\n" % node)
            _, status = os.waitpid(node, 0)
            try:
                os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))
            except BrokenPipeError:  # who started it is gone
                pass
            os._exit(0)
        for file in files:
            os.close(file)


def _become(arguments: list[str], environment: dict[str, str], stdin: int, log: int) -> list[str]:
    """Take over what a process of its own would have got."""
    os.setsid()
    for file, number in ((stdin, 0), (log, 1), (log, 2)):
        os.dup2(file, number)
    os.close(stdin)
    os.close(log)
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)
    return arguments


def _run(asked: list[str]) -> None:
    if asked[0] == "-m":
        sys.path[0], sys.argv = os.getcwd(), asked[1:]
        runpy.run_module(asked[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[0], sys.argv = str(Path(asked[0]).parent), asked
        runpy.run_path(asked[0], run_name="__main__")


def run_to_its_end(run: Callable[[], None]) -> NoReturn:
    """Run a program, and end with its code, but without taking apart what was imported: that takes longer than many."""
    code = 0
    try:
        run()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    for stream in sys.stdout, sys.stderr:
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    asked = serve(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:
        run_to_its_end(lambda: _run(asked))
