# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Main function of a node: create it, spin it, and end with an exit code."""

from __future__ import annotations

import gc
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

from superovoid_ros.nodes.common.endpoints import Failed, failures_of
from superovoid_ros.nodes.common.mistakes import UnreadableError, reason_of, shorten
from superovoid_ros.nodes.common.shared_memory import make_room

_OF_ROS = ParameterException, rclpy_implementation.RCLError, rclpy_implementation.UnknownROSArgsError
_SIGNALS = signal.SIGINT, signal.SIGTERM
_LONGEST_END = 5.0
"""Longest time that the end of a process waits for the node to stop work elsewhere, s."""
_LAST_ANSWERS = 0.5
"""Time for sending the last responses, s."""
_LOOK = 0.4
"""Longest time until a signal is handled, s."""


def run(create_node: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """Create a node and spin it until SIGINT, SIGTERM or a shutdown from outside.

    Parameters
    ----------
    create_node
        Returns the node; called after `rclpy.init`. If the node has a method `end`, this is called repeatedly before
        the node is destroyed, until it returns True or 5 s have passed; the node spins in the meantime.
    args
        Command line without the name of the program. Default: `sys.argv`.

    Returns
    -------
    int
        Exit code of the process: 0 after a requested end, 1 if the node cannot start or continue. The reason is printed
        to the standard error.
    """
    node, doing, ending = None, "start", threading.Event()
    for number in _SIGNALS:
        # rclpy's handlers would shut down before the node can notify others of its end.
        signal.signal(number, lambda *_: ending.set())
    # Garbage collection would take a fifth of the import time and find nothing. A collection that includes all modules
    # would stop the node for 0.04 s.
    gc.disable()
    try:
        make_room()
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        node = create_node()
        gc.freeze()
        gc.enable()
        doing = "continue"
        _spin(node, ending)
    except Exception as error:
        # After a requested shutdown of rclpy, the running callback fails.
        is_over = isinstance(error, ExternalShutdownException) or (node is not None and not rclpy.ok())
        if not (ending.is_set() or is_over):
            words = shorten(error) if isinstance(error, _OF_ROS) else reason_of(error)
            print(f"cannot {doing}: {words}", file=sys.stderr)
            return 1
    finally:
        gc.enable()
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # a second signal must not disturb the clean-up
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0


def _spin(node: Node, ending: threading.Event) -> None:
    """Spin a node until the event is set, and then until the node has ended its work."""
    failed = failures_of(node)
    for service in node.services:  # the node's own callbacks never raise
        if service.srv_type.__module__.startswith(("rcl_interfaces.", "lifecycle_msgs.")):
            service.callback = _guard(service.srv_name, service.callback, failed)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    # Python handles a signal when the executor wakes.
    steady, group = Clock(clock_type=ClockType.STEADY_TIME), ReentrantCallbackGroup()
    node.create_timer(_LOOK, lambda: None, group, clock=steady)

    def spin(is_over: Callable[[], bool]) -> None:
        while rclpy.ok() and not is_over():
            try:
                executor.spin_once()
            except InvalidHandle:
                pass  # a topic was closed before its event was handled
            except ValueError as error:  # raised by rclpy for a negative time on /clock
                failed("/clock", UnreadableError(str(error)))

    spin(ending.is_set)
    if hasattr(node, "end") and not node.end():
        until = time.monotonic() + _LONGEST_END
        spin(lambda: node.end() or time.monotonic() > until)
        until = time.monotonic() + _LAST_ANSWERS
        spin(lambda: time.monotonic() > until)


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
