"""The life of a node's process: start, spin, end cleanly however often Ctrl-C is pressed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence

import rclpy
from rclpy.exceptions import InvalidHandle, ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from superovoid_ros.nodes.errors import InputError
from superovoid_ros.nodes.logs import ensure_log_folder
from superovoid_ros.nodes.parent import end_with_parent

# rclpy wakes the executor on a signal a moment before it shuts the context down. An executor that is quick enough finds
# the context alive and waits for ever; waking now and then it finds out.
WAKE_PERIOD = 0.2  # s
GRACE = 1.0  # s, for threads that are at something when the process is to end


class _Interrupts:
    """What Ctrl-C does to Python: it ends a long start-up once, and is left to rclpy from then on.

    rclpy's own handler wakes the executor and shuts the context down; Python's KeyboardInterrupt on top of
    that could be raised anywhere, a second one even inside the clean-up. So it is raised during start-up
    only, when nobody spins yet.
    """

    def __init__(self) -> None:
        self.starting = True
        self.came = False  # remembered: an exception raised inside a destructor or a callback of C is lost
        signal.signal(signal.SIGINT, self._on_interrupt)

    def _on_interrupt(self, _signal: int, _frame: object) -> None:
        self.came = True
        if self.starting:
            self.starting = False
            raise KeyboardInterrupt


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
        Exit code of the process: 0 after SIGINT, SIGTERM or a shutdown from outside, 1 where the node could
        not start.
    """
    interrupts = _Interrupts()
    node = executor = None
    try:
        end_with_parent()
        ensure_log_folder()
        rclpy.init(args=args)
        executor = SingleThreadedExecutor()  # before the node: it cannot be made of a context already shut down
        node = create_node()
        executor.add_node(node)
        interrupts.starting = False
        while rclpy.ok() and not interrupts.came:
            try:
                executor.spin_once(timeout_sec=WAKE_PERIOD)
            except InvalidHandle:
                pass  # a call was in flight when its service was closed: there is nobody to answer any more
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except (ParameterException, InputError) as error:
        print(f"cannot start: {error}", file=sys.stderr)
        return 1
    except Exception:
        # A callback that publishes while the context goes down fails; that is the end asked for, not an
        # error.
        if rclpy.ok():
            raise
    finally:
        interrupts.starting = False
        if executor is not None:
            executor.shutdown()
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
        # On its way out the interpreter gives handlers back to the system: one more Ctrl-C would kill it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _leave_no_thread(0)
    return 0


def _leave_no_thread(code: int) -> None:
    """Wait a little for threads that read or compute; one that goes on while the interpreter ends would bring it down.

    The process ends without it then, with the exit code.
    """
    until = time.monotonic() + GRACE
    for thread in threading.enumerate():
        if thread is threading.current_thread() or thread.daemon:
            continue
        thread.join(max(0.0, until - time.monotonic()))
        if thread.is_alive():
            print(f"ended while {thread.name} was under way", file=sys.stderr, flush=True)
            sys.stdout.flush()
            os._exit(code)
