# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Request the whole planning scene of a move_group, to recover messages lost or published before this node started.

MoveIt's display in RViz sends this request once when the service appears. This node also sends it after a gap (the
service was away, or another node publishes the scene), and if a message about objects could not be read. No other
request waits for the response.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from moveit_msgs.msg import PlanningSceneComponents
from moveit_msgs.srv import GetPlanningScene
from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future

from superovoid_ros.nodes.common.endpoints import SERVICE
from superovoid_ros.nodes.common.mistakes import reason_of
from superovoid_ros.nodes.distance_service.world.current_model import LOST

if TYPE_CHECKING:
    from superovoid_ros.nodes.distance_service.world.world import World

PERIOD = 0.5
"""Time between two checks, s."""
_PATIENCE = 10.0  # s to wait for a response
_AGAIN = 2.0  # s after a response
_PARTS = """SCENE_SETTINGS ROBOT_STATE ROBOT_STATE_ATTACHED_OBJECTS WORLD_OBJECT_NAMES WORLD_OBJECT_GEOMETRY OCTOMAP
TRANSFORMS ALLOWED_COLLISION_MATRIX LINK_PADDING_AND_SCALING""".split()
_ALL = sum(getattr(PlanningSceneComponents, name) for name in _PARTS)


class MoveGroupScene:
    """Requests for the planning scene of another node, until `close`.

    Parameters
    ----------
    world
        Applies the scene.
    name
        Full name of the service.

    Attributes
    ----------
    words : str
        State of the request, for the diagnostics.
    """

    def __init__(self, world: World, name: str) -> None:
        self._world, self._name, self.words = world, name, f"no service {name}"
        self._client_node: Node | None = None
        self._client: Client | None = None
        self._pending: Future | None = None
        self._not_before, self._taken = 0.0, 0
        # Publishers of scenes, and unreadable objects with their reasons, that the last scene could not mend; None: no
        # scene was received since the service appeared.
        self._known: frozenset[object] | None = None
        world.endpoints.start_timer(PERIOD, self._look)

    def close(self) -> None:
        """Send no more requests."""
        self._drop_request()
        client_node, self._client_node = self._client_node, None
        if client_node is not None:
            if self._world.node.executor is not None:
                self._world.node.executor.remove_node(client_node)
            client_node.destroy_node()

    def _look(self) -> None:
        """Send a request if messages may have been missed since the last scene."""
        now = time.monotonic()
        if not self._world.has_robot:
            return
        if self._client is None:
            self._client = self._open()
        if not self._client.service_is_ready():
            self._drop_request()
            self._known, self._not_before, self.words = None, 0.0, f"no service {self._name}"
        elif now >= self._not_before:
            self._drop_request()  # without a response
            present = self._present()
            if self._known is None or not present <= self._known or LOST.name in self._world.unread:
                self._send_request(now)
            else:
                self._known = present

    def _present(self) -> frozenset[object]:
        topic = self._world.node.resolve_topic_name("planning_scene")
        senders = self._world.node.get_publishers_info_by_topic(topic)
        return frozenset((*(bytes(one.endpoint_gid) for one in senders), *self._world.unread.items()))

    def _open(self) -> Client:
        # A remapping that renames this node's own service, for use with a move_group, would also rename the client. So
        # the client belongs to a node without remappings.
        node = self._world.node
        self._client_node = Node(
            f"_{node.get_name()}_asker",
            context=node.context,
            namespace=node.get_namespace(),
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        node.executor.add_node(self._client_node)
        return self._client_node.create_client(GetPlanningScene, self._name, qos_profile=SERVICE)

    def _send_request(self, now: float) -> None:
        request = GetPlanningScene.Request(components=PlanningSceneComponents(components=_ALL))
        self._pending, self._not_before = self._client.call_async(request), now + _PATIENCE
        self.words = f"requested from {self._name}"
        self._world.record()
        self._pending.add_done_callback(self._handle_response)

    def _drop_request(self) -> None:
        if self._pending is not None:
            self._client.remove_pending_request(self._pending)
            self._pending = None
            self._world.record(False)

    def _handle_response(self, future: Future) -> None:
        """Apply a response; never raises, since no caller would see the error."""
        if self._pending is not future:
            return  # outdated
        self._pending, self._not_before = None, time.monotonic() + _AGAIN
        try:
            scene = future.result().scene
            if scene.robot_model_name:  # otherwise the other node has no robot, so this is not an empty scene
                scene.is_diff = scene.robot_state.is_diff = False
                self._world.take_whole(scene).add_done_callback(self._handle_outcome)
                self._known = self._present()
        except Exception as error:
            self._world.log.error("planning scene", f"{self._name}: {reason_of(error)}")
        finally:
            self._world.record(False)

    def _handle_outcome(self, future: Future) -> None:
        problem, self._known = future.exception(), self._present()
        self._taken += problem is None
        self.words = f"received {self._taken} times from {self._name}"
        if problem is not None:
            words = f"{self._name}: its scene was not applied: {reason_of(problem)}"
            self._world.log.error("planning scene", words)
        else:
            self._world.node.get_logger().info(f"received the planning scene from {self._name}")
