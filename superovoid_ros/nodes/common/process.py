# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The life of a node's process: start, spin, end cleanly however often Ctrl-C is pressed."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Sequence

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from superovoid_ros.nodes.common.executor import GuardedExecutor
from superovoid_ros.nodes.common.interrupts import ENDED_IN_START, GRACE, Interrupts, end_at_once, install
from superovoid_ros.nodes.common.log_folder import ensure_log_folder
from superovoid_ros.nodes.common.mistakes import reason_of, shortened
from superovoid_ros.nodes.common.parameters import guard_parameter_services
from superovoid_ros.nodes.common.parent import end_with_parent
from superovoid_ros.nodes.common.shared_memory import make_room

# What is shut down from outside does not always wake the executor; waking now and then it finds out.
WAKE_PERIOD = 0.2  # s
_MOMENT = 0.001  # s
_HALF_MADE: list[BaseException] = []
"""Exceptions that broke off a node's constructor, and with them what it had made. The middleware's threads may still
find out about that; taken apart in the order in which Python lets go of it, a process crashed or hung now and then."""
USAGE = 2
"""Exit code for a command line that cannot be used."""


def run(create_node: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """Create a node, spin it until it is told to stop, and clean up.

    Parameters
    ----------
    create_node
        Makes the node; called after `rclpy.init`.
    args
        Command line without the program's name; None: `sys.argv`.

    Returns
    -------
    int
        Exit code of the process: 0 after SIGINT, SIGTERM or a shutdown from outside, also during the start; 1 where
        the node could not start; 2 for a command line that cannot be used.
    """
    interrupts = install()
    try:
        code = _run(interrupts, create_node, args)
        _leave_no_thread(code)
    finally:
        interrupts.end()
    return code


def _run(interrupts: Interrupts, create_node: Callable[[], Node], args: Sequence[str] | None) -> int:
    node = executor = None
    try:
        end_with_parent()
        ensure_log_folder()
        make_room()
        problem = start_ros(args)
        if problem and not interrupts.came:
            print(f"cannot start: {problem}", file=sys.stderr)
            return USAGE
        executor = GuardedExecutor()  # before the node: it cannot be made of a context already shut down
        node = create_node()
        guard_parameter_services(node)
        executor.add_node(node)
        interrupts.wake = executor.wake
        interrupts.starting = False
        if interrupts.came:  # and was lost on its way
            raise KeyboardInterrupt
        _spin(executor, interrupts)
    except (KeyboardInterrupt, ExternalShutdownException) as error:
        _HALF_MADE.append(error)
        print(ENDED_IN_START, file=sys.stderr)
    except Exception as error:
        _HALF_MADE.append(error)
        # What is made while the process is told to end may fail for that: the end asked for.
        if interrupts.came or not rclpy.ok():
            print(ENDED_IN_START, file=sys.stderr)
            return 0
        known = ParameterException, rclpy_implementation.RCLError
        words = _words(error) if isinstance(error, known) else reason_of(error)
        print(f"cannot start: {words}", file=sys.stderr)
        return 1
    finally:
        interrupts.starting = False  # a second signal disturbs no clean-up
        if executor is not None:
            executor.shutdown(timeout_sec=GRACE)
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
        interrupts.ignore()
    return 0


def start_ros(args: Sequence[str] | None) -> str:
    """Read the command line; return what is wrong with it."""
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)  # signals are for `Interrupts`
    except rclpy_implementation.UnknownROSArgsError as error:
        return f"unknown ROS arguments {shortened(error)}"
    except rclpy_implementation.RCLError as error:
        return _words(error)
    unknown = remove_ros_args(list(sys.argv if args is None else ["", *args]))[1:]
    if unknown:
        return (
            f"unknown argument '{shortened(unknown[0], 200)}': expected only ROS arguments, as in "
            "--ros-args -p name:=value -r from:=to --params-file file.yaml"
        )
    return ""


def _words(error: Exception) -> str:
    """Return what ROS says, without the places in rcl's sources."""
    words = str(error).removeprefix("failed to initialize rcl: ")
    return shortened(re.sub(r"\s*,? at /\S+?:\d+", "", words).strip())


def _spin(executor: GuardedExecutor, interrupts: Interrupts) -> None:
    while rclpy.ok() and not interrupts.came:
        try:
            executor.spin_once(timeout_sec=WAKE_PERIOD)
        except ExternalShutdownException:
            return
        except Exception as error:
            # Not of a message, which the executor passes over. Once more, but not as fast as the machine can.
            if not rclpy.ok():
                return
            executor.tell(error)
            time.sleep(WAKE_PERIOD)


def _leave_no_thread(code: int) -> None:
    """Wait a little for threads that compute; one that goes on while the interpreter ends would bring it down."""
    until = time.monotonic() + GRACE
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon and not _ends(thread, until):
            end_at_once(code, "ended in the midst of a long call")


def _ends(thread: threading.Thread, until: float) -> bool:
    """Wait for a thread until a moment; whether nothing of it goes on."""
    while True:
        try:
            thread.join(max(0.0, until - time.monotonic()))
            return not thread.is_alive()
        except RuntimeError:
            # A signal in the midst of its start leaves a thread that is about to run, or never will.
            if time.monotonic() >= until:
                return thread.ident is None
            time.sleep(_MOMENT)
