# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The end of a command: by Ctrl-C at any time, SIGTERM, a closed terminal or force; its nodes end with it."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci  # a process of its own takes more than 2 s

COMMAND = [sys.executable, "-m", "superovoid.cli"]
DEADLINE = 120.0  # s; a machine that has much else to do is waited for


def status(pid, field):
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(line.split(":")[1].strip() for line in lines if line.startswith(field))


def wait_for(condition, process=None):
    """Wait until a condition holds, while the process lives if there is one."""
    until = time.monotonic() + DEADLINE
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


def catches(pid, number):
    return bool(int(status(pid, "SigCgt"), 16) >> (number - 1) & 1)


def children(process):
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def is_gone(pid):
    try:
        return status(pid, "State").startswith("Z")
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_until_gone(pids):
    """Wait for processes without a parent to end."""
    wait_for(lambda: all(map(is_gone, pids)))


@pytest.fixture
def start(tmp_path, loopback_domain):
    started = []

    def start(*arguments, **options):
        command = [*COMMAND, *arguments, "--output", str(tmp_path)]
        # Tests that were started by `nohup` hand on that a hang-up is ignored.
        heed = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)}
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True} | heed | options
        started.append(subprocess.Popen(command, **options))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def started_nodes(process):
    """Return the number of the demo's node, once it does something about signals."""
    wait_for(lambda: len(children(process)) == 1, process)
    nodes = children(process)
    wait_for(lambda: all(catches(node, signal.SIGINT) for node in nodes), process)
    return nodes


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGINT, "interrupted"),
        pytest.param(signal.SIGTERM, "ended by SIGTERM", marks=pytest.mark.slow),
    ],
)
def test_demo_ends_in_order_and_leaves_no_process_behind(start, number, words):
    process = start("demo")
    nodes = started_nodes(process)
    process.send_signal(number)
    output, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 128 + number, output
    assert f"superovoid demo: {words}" in output
    assert "Traceback" not in output
    wait_until_gone(nodes)


def test_nodes_end_when_their_command_is_killed(start):
    process = start("demo")
    nodes = started_nodes(process)
    process.kill()
    process.wait()
    wait_until_gone(nodes)


QUIET = """
from rclpy.node import Node
from superovoid_ros.nodes.common.main import run

class Quiet(Node):
    def __init__(self):
        super().__init__("quiet")
        self.timer = self.create_timer(0.01, self.tell)

    def tell(self):
        self.timer.cancel()
        print("spins", flush=True)

raise SystemExit(run(Quiet))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_node_that_nothing_else_wakes(loopback_domain, number):
    with subprocess.Popen([sys.executable, "-c", QUIET], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "spins\n"
        time.sleep(0.2)  # it waits
        process.send_signal(number)
        assert process.wait(DEADLINE) == 0


def test_a_child_whose_parent_has_ended_before_it_asks_ends():
    code = "from superovoid_ros.tools.process.child import end_with_parent\nend_with_parent(%s)\nprint('goes on')"
    for parent, output in ((os.getpid(), "goes on\n"), (2**22 + 1, "")):
        assert subprocess.run([sys.executable, "-c", code % parent], stdout=subprocess.PIPE, text=True).stdout == output


def test_demo_ends_when_its_terminal_is_closed(start):
    master, slave = pty.openpty()
    process = start("demo", stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    nodes = started_nodes(process)
    os.close(master)
    process.send_signal(signal.SIGHUP)  # what the kernel sends to the session of a terminal that hangs up
    process.wait(DEADLINE)
    assert process.returncode == 128 + signal.SIGHUP
    wait_until_gone(nodes)


def test_ctrl_c_in_the_first_moments_is_no_traceback(start):
    process = start("demo")
    wait_for(lambda: catches(process.pid, signal.SIGTERM), process)  # from its first statement on
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130, output
    assert re.fullmatch(r"(?s).*superovoid( demo)?: interrupted\n", output), output  # perhaps before it read the line
    assert "Traceback" not in output
