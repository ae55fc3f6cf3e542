# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An executor that no message, request or mistake in a callback ends.

What rclpy raises for a message that it cannot read, or a callback for whatever reason, leaves the executor of rclpy:
the process ends with it. And of an entity whose message could not be taken, rclpy never takes another one. Here it is
said and counted, and the node goes on with the next message.
"""

from __future__ import annotations

from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from superovoid_ros.nodes.common.mistakes import UnreadableError, reason_of, shortened, trace
from superovoid_ros.nodes.common.quick_executor import Call, QuickExecutor, Take
from superovoid_ros.nodes.common.throttle import Log


class GuardedExecutor(QuickExecutor):
    """Runs the callbacks of one node in the thread that spins it."""

    _log: Log | None = None

    def _taken(self, take: Take, entity: object, node: Node) -> Call | None:
        """Take something of an entity, with a guard around that."""
        try:
            return take(entity)
        except Exception as error:
            self._pass_over(node, entity, error, is_read=False)
            return None

    async def _run(self, call: Call, entity: object, node: Node) -> None:
        """Run the callback of what was taken, with a guard around that."""
        try:
            await call()
        except InvalidHandle:
            pass  # its service was closed meanwhile: there is nobody to answer any more
        except UnreadableError as error:
            self._pass_over(node, entity, error, is_read=False)
        except Exception as error:
            if isinstance(error, ValueError) and getattr(entity, "msg_type", None) is Clock:  # a time before 0
                self._pass_over(node, entity, UnreadableError(str(error)), is_read=False)
            else:
                self._pass_over(node, entity, error, is_read=True)

    def _pass_over(self, node: Node, entity: object, error: Exception, *, is_read: bool) -> None:
        """Say and count that something went wrong; raise it where the node is to end anyway."""
        if isinstance(error, ExternalShutdownException) or not self.context.ok():
            raise error
        self._log = self._log or Log(node)
        what = str(getattr(entity, "topic_name", "") or getattr(entity, "srv_name", "") or type(entity).__name__)
        if is_read:
            self._log.error(what, f"{what}: {reason_of(error)}")
        else:
            is_told = isinstance(error, UnreadableError)
            if not is_told:
                trace(error)
            words = error if is_told else shortened(repr(error), 300)
            self._log.error(what, f"{what}: what arrived cannot be read and is ignored: {words}")
        statistics = getattr(node, "statistics", None)
        if statistics is not None:
            statistics.fault(is_read)

    def tell(self, error: Exception) -> None:
        """Say and count what was raised besides, as by a task that a thread has given to the executor."""
        for node in self.get_nodes():
            self._pass_over(node, node, error, is_read=True)
