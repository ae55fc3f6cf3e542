# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Main function of a node: create it, spin it, and end with an exit code."""

from __future__ import annotations

import gc
import inspect
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence

import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import InvalidHandle, ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from superovoid_ros.nodes.common.endpoints import Failed, failures_of
from superovoid_ros.nodes.common.mistakes import UnreadableError, reason_of, shorten
from superovoid_ros.nodes.common.shared_memory import make_room

USAGE = 2
"""Exit code for an invalid command line."""
_HELP_OPTIONS = {"-h", "--help"}
_HELP = """
Parameters, topics and services: docs/reference/ros.md. Parameters of a running node:
ros2 param list NODE; ros2 param describe NODE PARAMETER"""
_SIGNALS = signal.SIGINT, signal.SIGTERM
_LONGEST_END = 5.0
"""Longest time that the end of a process waits for the node to stop work elsewhere, s."""
_LAST_ANSWERS = 0.2
"""Time for sending the last responses, s."""
_LOOK = 0.1
"""Longest time until a signal is handled, s."""


def run(create_node: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """Create a node and spin it until SIGINT, SIGTERM or a shutdown from outside.

    Parameters
    ----------
    create_node
        Returns the node; called after `rclpy.init`. If the node has a method `end`, this is called repeatedly before
        the node is destroyed, until it returns True or 5 s have passed; the node spins in the meantime.
    args
        Command line without the name of the program. Default: `sys.argv`. ``--help`` prints the first two paragraphs
        of the docstring of the node's module, the second of which is an example.

    Returns
    -------
    int
        Exit code of the process: 0 after a requested end or ``--help``, 1 if the node cannot start or continue, 2 for
        an invalid command line. The reason is printed to the standard error.
    """
    if _HELP_OPTIONS.intersection(sys.argv[1:] if args is None else args):
        about = inspect.getdoc(sys.modules[create_node.__module__]) or ""
        print("\n\n".join(about.split("\n\n")[:2]), _HELP, sep="\n")
        return 0
    ending = threading.Event()
    for number in _SIGNALS:
        # rclpy's handlers would shut down before the node can notify others of its end.
        signal.signal(number, lambda *_: ending.set())
    try:
        problem = start_ros(args)
        if problem:
            print(f"cannot start: {problem}", file=sys.stderr)
            return USAGE
        return _spin(create_node, ending)
    finally:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # a second signal must not disturb the clean-up
        rclpy.try_shutdown()


def start_ros(args: Sequence[str] | None) -> str:
    """Initialize rclpy with a command line; return the error in it, or an empty string."""
    make_room()
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except rclpy_implementation.UnknownROSArgsError as error:
        return f"unknown ROS arguments {shorten(error)}"
    except rclpy_implementation.RCLError as error:
        return _words(error)
    unknown = remove_ros_args(list(sys.argv if args is None else ["", *args]))[1:]
    if unknown:
        return (
            f"unknown argument '{shorten(unknown[0], 200)}': expected only ROS arguments, as in "
            "--ros-args -p name:=value -r from:=to --params-file file.yaml, or --help"
        )
    return ""


def _spin(create_node: Callable[[], Node], ending: threading.Event) -> int:
    """Create a node, spin it and destroy it; return the exit code of the process."""
    node, doing = None, "start"
    # Garbage collection would take a fifth of the import time and find nothing. A collection that includes all modules
    # would stop the node for 0.04 s.
    gc.disable()
    try:
        node = create_node()
        failed = failures_of(node)
        for service in node.services:  # the node's own callbacks never raise
            if service.srv_type.__module__.startswith(("rcl_interfaces.", "lifecycle_msgs.")):
                service.callback = _guard(service.srv_name, service.callback, failed)
        gc.freeze()
        gc.enable()
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        doing = "continue"

        # Python handles a signal when the executor wakes.
        steady, group = Clock(clock_type=ClockType.STEADY_TIME), ReentrantCallbackGroup()
        node.create_timer(_LOOK, lambda: None, group, clock=steady)

        def spin(is_over: Callable[[], bool]) -> None:
            while rclpy.ok() and not is_over():
                try:
                    executor.spin_once()
                except InvalidHandle:
                    pass  # a service was closed while it answered a call
                except ValueError as error:  # raised by rclpy for a negative time on /clock
                    failed("/clock", UnreadableError(str(error)))

        spin(ending.is_set)
        if hasattr(node, "end") and not node.end():
            until = time.monotonic() + _LONGEST_END
            spin(lambda: node.end() or time.monotonic() > until)
            until = time.monotonic() + _LAST_ANSWERS
            spin(lambda: time.monotonic() > until)
    except Exception as error:
        # After a requested shutdown of rclpy, the running callback fails.
        if not (ending.is_set() or isinstance(error, ExternalShutdownException) or not rclpy.ok()):
            known = ParameterException, rclpy_implementation.RCLError
            words = _words(error) if isinstance(error, known) else reason_of(error)
            print(f"cannot {doing}: {words}", file=sys.stderr)
            return 1
    finally:
        gc.enable()
        if node is not None:
            node.destroy_node()
    return 0


def _guard(
    name: str, callback: Callable[[object, object], object], failed: Failed
) -> Callable[[object, object], object]:
    """Return a callback of rclpy's own services that never raises.

    rclpy raises `ValueError` for a type of parameters that does not exist.
    """

    def answer(request: object, response: object) -> object:
        try:
            return callback(request, response)
        except Exception as error:
            failed(name, UnreadableError(str(error)) if isinstance(error, ValueError) else error)
            return response

    return answer


def _words(error: Exception) -> str:
    """Return the text of a ROS error, without locations in rcl's sources."""
    words = str(error).removeprefix("failed to initialize rcl: ")
    return shorten(re.sub(r"\s*,? at /\S+?:\d+", "", words).strip())
