# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Request the whole planning scene of a move_group, to recover messages lost or published before this node started.

MoveIt's display in RViz sends this request once when the service appears. This part also sends it after a gap (the
service was away, or another node publishes the scene), and if a message about objects could not be read. No other
request waits for the response.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from moveit_msgs.msg import PlanningSceneComponents
from moveit_msgs.srv import GetPlanningScene
from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future

from superovoid_ros.nodes.common.endpoints import SERVICE
from superovoid_ros.nodes.common.mistakes import InputError, reason_of, shorten
from superovoid_ros.nodes.common.parameters import text
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.world.current_model import LOST, CurrentModel
from superovoid_ros.nodes.distance_service.world.world import World

PERIOD = 0.5
"""Time between two checks, s."""
_PATIENCE = 10.0  # s to wait for a response
_AGAIN = 2.0  # s after a response without a scene
_PARTS = """SCENE_SETTINGS ROBOT_STATE ROBOT_STATE_ATTACHED_OBJECTS WORLD_OBJECT_NAMES WORLD_OBJECT_GEOMETRY OCTOMAP
TRANSFORMS ALLOWED_COLLISION_MATRIX LINK_PADDING_AND_SCALING OBJECT_COLORS""".split()
_ALL = sum(getattr(PlanningSceneComponents, name) for name in _PARTS)


class MoveGroupScene(Part):
    """Part that requests the planning scene of another node."""

    parameters = (
        text(
            "planning_scene_service",
            "get_planning_scene",
            "Service of a move_group that returns the full planning scene; unused if it is a service of this node; "
            "empty: none. Not remapped",
            read_only=True,
        ),
    )

    def __init__(self, common: Common, current: CurrentModel, world: World) -> None:
        super().__init__(common)
        self._current, self._world = current, world
        self._client_node: Node | None = None
        self._forget()

    def configure(self) -> None:
        """Start to look for the service, unless it is one of this node."""
        name = str(self.parameter("planning_scene_service")).strip()
        try:
            self._name = name and self.node.resolve_service_name(name, only_expand=True)
        except RuntimeError as error:  # of rcl
            raise InputError(f"planning_scene_service = '{shorten(name, 200)}': {shorten(error)}") from None
        if self._name == self.node.resolve_service_name("get_planning_scene"):
            self._name = ""
        if self._name:
            self.endpoints.start_timer(PERIOD, self._look)

    def _forget(self) -> None:
        self._client: Client | None = None
        self._name = ""
        self._pending: Future | None = None
        self._asked_at = 0.0  # time.monotonic, s
        self._is_there, self._is_wanted = False, False
        self._not_before = 0.0
        self._missing: dict[str, str] = {}  # problems in the last scene
        self._senders: frozenset[bytes] = frozenset()
        self._taken = 0

    def clean_up(self) -> None:
        """Send no more requests."""
        self._world.record(False)
        client_node, self._client_node = self._client_node, None
        self._forget()
        if client_node is not None:
            if self.node.executor is not None:
                self.node.executor.remove_node(client_node)
            client_node.destroy_node()

    def facts(self) -> Mapping[str, object]:
        """Return the state of the request, for the diagnostics."""
        if not self._name:
            words = "not requested"
        elif self._pending is not None or self._is_wanted:
            words = f"requested from {self._name}"
        elif not self._is_there:
            words = f"no service {self._name}"
        else:
            words = f"received {self._taken} times from {self._name}"
        return {"planning scene of another node": words}

    def _look(self) -> None:
        """Send a request if one is due."""
        now = time.monotonic()
        if self._current.snapshot.model is None:
            return
        if self._client is None:
            self._open()
        is_there = self._client.service_is_ready()
        if self._pending is not None:
            if is_there and now - self._asked_at < _PATIENCE:
                return
            self._client.remove_pending_request(self._pending)
            self._world.record(False)
            self._pending, self._is_wanted = None, True
        self._is_wanted = self._is_wanted or self._has_gap(is_there)
        self._is_there = is_there
        if is_there and self._is_wanted and now >= self._not_before:
            self._ask(now)

    def _has_gap(self, is_there: bool) -> bool:
        """Return whether messages may have been missed since the last scene."""
        topic = self.node.resolve_topic_name("planning_scene")
        senders = frozenset(bytes(one.endpoint_gid) for one in self.node.get_publishers_info_by_topic(topic))
        new, self._senders = senders - self._senders, senders
        missing = self._missing_now()
        is_new = not self._is_there or new or (missing and missing != self._missing)
        return is_there and bool(is_new or LOST.name in missing)

    def _missing_now(self) -> dict[str, str]:
        """Return the unreadable objects with their reasons."""
        planning = self._current.snapshot.planning
        problems = {} if planning is None else planning.problems
        return {name: one.reason for name, one in problems.items() if one.is_unread}

    def _open(self) -> None:
        # A remapping that renames this node's own service, for use with a move_group, would also rename the client. So
        # the client belongs to a node without remappings.
        self._client_node = Node(
            f"_{self.node.get_name()}_asker",
            context=self.node.context,
            namespace=self.node.get_namespace(),
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._client = self._client_node.create_client(GetPlanningScene, self._name, qos_profile=SERVICE)
        self.node.executor.add_node(self._client_node)

    def _ask(self, now: float) -> None:
        request = GetPlanningScene.Request(components=PlanningSceneComponents(components=_ALL))
        self._pending, self._asked_at, self._is_wanted = self._client.call_async(request), now, False
        self._world.record()
        self._pending.add_done_callback(self._handle_response)

    def _handle_response(self, future: Future) -> None:
        """Apply a response; never raises, since no caller would see the error."""
        if self._pending is not future:
            return  # outdated, or of an earlier configuration
        self._pending, self._not_before = None, time.monotonic() + _AGAIN
        try:
            scene = future.result().scene
            if not scene.robot_model_name:  # the other node has no robot, so this is not an empty scene
                self._is_wanted = True
                return
            scene.is_diff = scene.robot_state.is_diff = False
            self._world.take_whole(scene).add_done_callback(self._handle_outcome)
        except Exception as error:
            self.log.error("planning scene", f"{self._name}: {reason_of(error)}")
            self._is_wanted = True
        finally:
            self._world.record(False)

    def _handle_outcome(self, future: Future) -> None:
        problem = future.exception()
        self._taken += problem is None
        self._missing = self._missing_now()
        if problem is not None:
            self.log.error("planning scene", f"{self._name}: its scene was not applied: {reason_of(problem)}")
        else:
            self.node.get_logger().info(f"received the planning scene from {self._name}")
