# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects and rules from MoveIt's topics and its service `apply_planning_scene`.

docs/explanation/moveit.md compares this with move_group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, PlanningSceneWorld
from moveit_msgs.srv import ApplyPlanningScene
from std_srvs.srv import Empty

from superovoid.robot.planning_scene import PlanningScene as Planning
from superovoid_ros.nodes.common.endpoints import TakenMessage
from superovoid_ros.nodes.common.mistakes import InputError, UnreadableError, reason_of
from superovoid_ros.nodes.common.parameters import choice, count
from superovoid_ros.nodes.distance_service.part import Common
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world import moveit_changes
from superovoid_ros.nodes.distance_service.world.current import CurrentModel, Diff, Done
from superovoid_ros.nodes.distance_service.world.moveit_changes import OctomapChange, Options
from superovoid_ros.nodes.distance_service.world.objects import OPEN_MESHES
from superovoid_ros.nodes.distance_service.world.world import World


class MoveItWorld(World):
    """Part with the objects and rules from this node's services and from MoveIt."""

    parameters = (
        count(
            "octomap_cubes",
            20_000,
            1,
            1_000_000,
            "Largest number of occupied cubes of an octomap; larger octomaps are refused",
        ),
        choice(
            "open_meshes",
            "hull",
            OPEN_MESHES,
            "How to read an object's mesh that is not closed: as its convex hull, with a warning, or as a shell of "
            "triangles without an inside",
        ),
        *World.parameters,
    )

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common, current, measurements)
        self.object_messages = 0
        """Number of messages about objects received on topics."""

    def configure(self) -> None:
        """Listen to MoveIt's topics and open the services."""
        super().configure()
        for kind, topic in (
            (CollisionObject, "collision_object"),
            (AttachedCollisionObject, "attached_collision_object"),
            (PlanningScene, "planning_scene"),
            (PlanningSceneWorld, "planning_scene_world"),
        ):
            self.endpoints.listen_to_every(kind, topic, partial(self._take, topic))
        self.serve(ApplyPlanningScene, "apply_planning_scene", self._apply_planning_scene)
        self.serve(Empty, "clear_octomap", self._clear_octomap)

    def take_whole(self, scene: PlanningScene, lost_messages: int, done: Callable[[Exception | None], None]) -> None:
        """Apply a whole planning scene requested from another node.

        Parameters
        ----------
        scene
            The scene.
        lost_messages
            `Snapshot.lost_messages` at the time of the request.
        done
            Receives the error because of which it could not be applied, or None.
        """
        applied = lambda _planning, problem: done(problem)  # noqa: E731
        self.submit([self._diff("planning_scene", scene, applied, lost_messages=lost_messages)])

    def _diff(self, topic: str, message: moveit_changes.Message, done: Done, **more: object) -> Diff:
        """Return a message of a topic as a diff, to be read with the current parameters."""
        options = self._options()
        read = partial(moveit_changes.change_of, message, options)
        missing = partial(moveit_changes.missing_without, message, options.objects)
        return Diff(topic, tuple(moveit_changes.frame_ids_of(message)), read, done, missing, **more)

    def _options(self) -> Options:
        names = "open_meshes", "octomap_cubes", "max_objects"
        return Options(*map(self.value, names))

    def _take(self, topic: str, taken: Sequence[TakenMessage]) -> None:
        """Apply messages of a topic; unusable ones are logged, and their objects recorded as missing."""

        def on_done(_planning: Planning | None, problem: Exception | None) -> None:
            if problem is not None:
                # None of these objects is where its sender believes it to be.
                self.log.error(topic, f"a message on {topic} is refused: {reason_of(problem)}")
                self.statistics.message(topic, problem)

        def lose(number: int, error: Exception, counted: int = 1) -> None:
            self.lose(number)
            self.log.error(topic, f"lost {number} messages on {topic}: {reason_of(error)}")
            for _ in range(counted):
                self.statistics.message(topic, error)

        diffs = []
        for message, lost, size in taken:
            if lost:
                lose(lost, InputError("published faster than they were received"))
            if isinstance(message, UnreadableError):
                self.lose(1)
                self.log.error(topic, f"{topic}: lost an unreadable message: {message}")
                self.statistics.fault(is_read=False)
                continue
            try:
                self.object_messages += moveit_changes.is_about_objects(message)
                lost_messages = self._current.snapshot.lost_messages
                diffs.append(self._diff(topic, message, on_done, size=size, waits=True, lost_messages=lost_messages))
            except Exception as error:  # a bug of the node
                lose(1, error)
        try:
            if diffs:
                self.submit(diffs)
        except Exception as error:  # too many messages wait, or a bug of the node
            lose(len(diffs), error, len(diffs))

    async def _apply_planning_scene(
        self, request: ApplyPlanningScene.Request, response: ApplyPlanningScene.Response
    ) -> None:
        scene, options = request.scene, self._options()
        read = partial(moveit_changes.change_of, scene, options)
        await self.change("apply_planning_scene", moveit_changes.frame_ids_of(scene), read)

    async def _clear_octomap(self, request: Empty.Request, response: Empty.Response) -> None:
        """Remove the octomap."""
        await self.change("clear_octomap", (), OctomapChange)
