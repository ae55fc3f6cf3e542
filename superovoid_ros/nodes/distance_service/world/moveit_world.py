# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects and rules from MoveIt's topics and its service `apply_planning_scene`.

docs/explanation/moveit.md compares this with move_group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, PlanningSceneWorld
from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene
from std_srvs.srv import Empty

from superovoid.robot.planning_scene import PlanningScene as Planning
from superovoid_ros.nodes.common.endpoints import TakenMessage
from superovoid_ros.nodes.common.mistakes import InputError, UnreadableError, reason_of
from superovoid_ros.nodes.common.parameters import choice, count
from superovoid_ros.nodes.distance_service.part import Common
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world import moveit_changes
from superovoid_ros.nodes.distance_service.world.building import PartlyRefusedError
from superovoid_ros.nodes.distance_service.world.changes import Change
from superovoid_ros.nodes.distance_service.world.current import CurrentModel, Diff
from superovoid_ros.nodes.distance_service.world.current_scene import CurrentScene
from superovoid_ros.nodes.distance_service.world.move_group import PERIOD, MoveGroupScene
from superovoid_ros.nodes.distance_service.world.objects import OPEN_MESHES
from superovoid_ros.nodes.distance_service.world.world import World

_Reading = tuple[Sequence[str], Any, Callable[[], Change]]
"""Of a message: the frames it names, what names its objects, and what reads it."""


class MoveItWorld(World):
    """Objects and rules from this node's services and from MoveIt."""

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
        *MoveGroupScene.parameters,
    )

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common, current, measurements)
        self._heard = 0
        self._current_scene = CurrentScene(common, current, measurements)
        self._move_group = MoveGroupScene(common, current, self)

    def clean_up(self) -> None:
        """Send no further request to other nodes."""
        super().clean_up()
        self._move_group.stop()

    def facts(self) -> Mapping[str, object]:
        """Return the number of objects, and what became of the scene of another node, for diagnostics."""
        return {**super().facts(), **self._move_group.facts()}

    def configure(self) -> None:
        """Listen to MoveIt's topics and open the services."""
        super().configure()
        endpoints = self.endpoints
        for kind, topic, read_of in (
            (CollisionObject, "collision_object", self._object),
            (AttachedCollisionObject, "attached_collision_object", self._attached),
            (PlanningScene, "planning_scene", self._scene),
            (PlanningSceneWorld, "planning_scene_world", self._world),
        ):
            endpoints.listen_to_every(kind, topic, partial(self._take, topic, read_of))
        endpoints.serve(GetPlanningScene, "get_planning_scene", self._current_scene.answer)
        endpoints.every(PERIOD, self._move_group.look)
        endpoints.serve(ApplyPlanningScene, "apply_planning_scene", self._apply_planning_scene)
        endpoints.serve(Empty, "clear_octomap", self._clear_octomap)

    @property
    def heard(self) -> int:
        """How many messages about objects came by topics."""
        return self._heard

    # --- from topics ---

    def _object(self, message: CollisionObject) -> _Reading:
        read = partial(moveit_changes.object_change, message, self._open_meshes)
        return [message.header.frame_id], message, read

    def _attached(self, message: AttachedCollisionObject) -> _Reading:
        read = partial(moveit_changes.attached_change, message, self._open_meshes)
        return [message.object.header.frame_id], message, read

    def _scene(self, message: PlanningScene) -> _Reading:
        return moveit_changes.frame_ids_of(message), message, self._reading(message)

    def _world(self, message: PlanningSceneWorld) -> _Reading:
        scene = moveit_changes.scene_of_world(message)
        return moveit_changes.frame_ids_of(scene), scene, self._reading(message, moveit_changes.world_change)

    def take_whole(self, scene: PlanningScene, unheard: int, done: Callable[[Exception | None], None]) -> None:
        """Apply a whole planning scene requested from another node; return whether that was possible.

        Parameters
        ----------
        scene
            The scene.
        unheard
            `Snapshot.unheard` when it was asked for.
        done
            Hears why it could not be applied; None: it was.
        """
        frame_ids, read = tuple(moveit_changes.frame_ids_of(scene)), self._reading(scene)
        missing = partial(moveit_changes.missing_without, scene, self._most_objects)

        def applied(_planning: Planning | None, problem: Exception | None) -> None:
            done(problem)

        self.submit([Diff("planning_scene", frame_ids, read, applied, missing, unheard=unheard)])

    @property
    def _open_meshes(self) -> str:
        return str(self.value("open_meshes"))

    @property
    def _most_objects(self) -> int:
        return int(self.value("max_objects"))

    def _reading(
        self,
        scene: PlanningScene | PlanningSceneWorld,
        read: Callable[..., Change] = moveit_changes.scene_change,
    ) -> Callable[[], Change]:
        """Return what reads a scene under the parameters of now."""
        return partial(read, scene, int(self.value("octomap_cubes")), self._open_meshes, self._most_objects)

    def _take(self, topic: str, read_of: Callable[[Any], _Reading], taken: Sequence[TakenMessage]) -> None:
        """Apply messages of a topic; what cannot be is written to the log, and kept as missing."""

        def done(_planning: Planning | None, problem: Exception | None) -> None:
            if problem is not None:
                # Each of these objects is not where its sender believes it to be.
                what = "applied only a part of" if isinstance(problem, PartlyRefusedError) else "ignored"
                self.log.error(topic, f"{what} a message on {topic}: {reason_of(problem)}")
                self.statistics.message(topic, problem)

        diffs = []
        for message, lost, size in taken:
            if lost:
                self._lose(lost)
                problem = InputError(f"lost {lost} messages on {topic}: published faster than they were received")
                self.log.error(topic, str(problem))
                self.statistics.message(topic, problem)
            if isinstance(message, UnreadableError):
                self._lose(1)
                self.log.error(topic, f"{topic}: what arrived cannot be read and is lost: {message}")
                self.statistics.fault(is_read=False)
                continue
            try:
                self._heard += topic != "planning_scene" or moveit_changes.is_about_objects(message)
                frame_ids, named, read = read_of(message)
                missing = partial(moveit_changes.missing_without, named, self._most_objects)
                unheard = self._current.snapshot.unheard
                diffs.append(Diff(topic, tuple(frame_ids), read, done, missing, size, waits=True, unheard=unheard))
            except Exception as error:  # a mistake of the node
                self._lose(1)
                done(None, error)
        if not diffs:
            return
        try:
            self.submit(diffs)
        except Exception as error:  # too much waits to be read, or a mistake of the node
            self._lose(len(diffs))
            self.log.error(topic, f"lost {len(diffs)} messages on {topic}: {reason_of(error)}")
            for _ in diffs:
                self.statistics.message(topic, error)

    async def _apply_planning_scene(
        self, request: ApplyPlanningScene.Request, response: ApplyPlanningScene.Response
    ) -> ApplyPlanningScene.Response:
        try:
            self.activity.require()
            scene = request.scene
            await self._changing("apply_planning_scene", moveit_changes.frame_ids_of(scene), self._reading(scene))
            response.success = True
            self.statistics.call("ApplyPlanningScene")
        except Exception as error:
            # The response has no room for words.
            done = "the rest is applied, not" if isinstance(error, PartlyRefusedError) else "nothing applied"
            self.log.error("apply_planning_scene", f"apply_planning_scene: {done}: {reason_of(error)}")
            self.statistics.call("ApplyPlanningScene", error)
            response.success = False
        return response

    async def _clear_octomap(self, request: Empty.Request, response: Empty.Response) -> Empty.Response:
        """Remove the octomap; the response has no fields, so a reason is in the log."""
        try:
            self.activity.require()
            await self._changing("clear_octomap", (), lambda: moveit_changes.OctomapChange(None))
            self.statistics.call("ClearOctomap")
        except Exception as error:
            self.log.error("clear_octomap", f"clear_octomap: the octomap stays: {reason_of(error)}")
            self.statistics.call("ClearOctomap", error)
        return response
