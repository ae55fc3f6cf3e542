"""Objects and rules at run time: what MoveIt's topics and this node's services say becomes another `PlanningScene`.

A message or request is applied as a whole or not at all. What is wrong with it ends in the answer or, for topics, in
the log; whatever it is, objects and rules are then as they were. docs/moveit.md says how this compares with move_group.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from geometry_msgs.msg import Pose
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene, RobotState
from moveit_msgs.srv import ApplyPlanningScene
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from superovoid_interfaces.msg import SuperovoidObject
from superovoid_interfaces.srv import ApplyObjects, GetPairRules, SetPairRules

from superovoid_ros.nodes.common.conversions import from_pose, from_transform
from superovoid_ros.nodes.common.mistakes import InputError, listing, reason_of, refusals
from superovoid_ros.nodes.common.parameters import count, number, switch
from superovoid_ros.nodes.common.qos import listen, serve
from superovoid_ros.nodes.distance_service.part import Part
from superovoid_ros.nodes.distance_service.robot_state.transforms import StampedTransform, TransformSource
from superovoid_ros.nodes.distance_service.world.model import Model
from superovoid_ros.nodes.distance_service.world.objects import (
    has_shapes,
    matrix_of,
    octree_of,
    shape_poses_of,
    shapes_of,
    superovoid_of,
)
from superovoid_ros.nodes.distance_service.world.reader import Task
from superovoid_ros.robot import Robot
from superovoid_ros.robot.limits import MOST_PAIRS, Limits
from superovoid_ros.robot.planning_scene import OCTOMAP, Edit, Padding
from superovoid_ros.robot.planning_scene import PlanningScene as Planning
from superovoid_ros.robot.rules import DEFAULT
from superovoid_ros.shapes import Plane

if TYPE_CHECKING:
    from superovoid_ros.nodes.distance_service.distance_service import DistanceService

# Objects that MoveIt knows of; a whole planning scene replaces these and leaves those of ~/apply_objects.
FROM_MOVEIT, FROM_SERVICE = "moveit", "superovoid"
# As MoveIt's planning scene monitor, so that it and its clients find a listener that fits.
_RELIABLE = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)


_MOST_ASKED = 1_000_000  # pairs in an answer about rules

Change = Callable[["Edit", "Frames"], list[str]]
"""Edits a planning scene and returns what is worth a warning; raises where it cannot."""


class Frames:
    """Where frames are in the root link's frame. The state is asked for only where a frame needs it.

    Parameters
    ----------
    model, edit
        The robot, and its objects as they are now.
    link_poses
        Returns the poses of all links in some common frame; called at most once.
    transforms
        For frames that are neither links nor objects.
    prefix
        What the frames of the robot's links begin with on TF.

    Attributes
    ----------
    fixed : dict
        Frames that a planning scene brings: frame -> root_from_frame, shape (4, 4).
    """

    def __init__(
        self,
        model: Model,
        edit: Edit,
        link_poses: Callable[[], Mapping[str, np.ndarray]],
        transforms: TransformSource,
        prefix: str = "",
    ) -> None:
        self._model, self._edit, self._transforms = model, edit, transforms
        self._link_poses = link_poses
        self._poses: Mapping[str, np.ndarray] | None = None
        self._prefix = prefix
        self.fixed: dict[str, np.ndarray] = {}

    @property
    def robot(self) -> Robot:
        """Whose frames these are."""
        return self._model.robot

    def link(self, link: str) -> np.ndarray:
        """Return root_from_link, shape (4, 4); `InputError` for an unknown link or an unknown state."""
        robot = self._model.robot
        if link == robot.root:
            return np.eye(4)
        if link not in robot.links:
            raise InputError(f"link '{link}' does not exist; links: {listing(robot.links)}")
        if self._poses is None:
            self._poses = self._link_poses()
        return np.linalg.inv(self._poses[robot.root]) @ self._poses[link]

    def object(self, name: str) -> np.ndarray:
        """Return root_from_object, shape (4, 4)."""
        thing = self._edit.object(name)
        return thing.pose if thing.link is None else self.link(thing.link) @ thing.pose

    def link_of(self, frame: str) -> str | None:
        """Return the link that a header's frame_id means, with or without prefix; None where it means none.

        A leading slash is dropped, as tf2 and MoveIt do; empty is the root link.
        """
        robot, frame = self._model.robot, frame.removeprefix("/")
        if not frame:
            return robot.root
        link = frame if frame in robot.links else frame.removeprefix(self._prefix)
        return link if link in robot.links else None

    def lookup(self, frame: str, what: str) -> np.ndarray:
        """Return root_from_frame for a header's frame_id, shape (4, 4); `InputError` where nobody knows it."""
        robot, link = self._model.robot, self.link_of(frame)
        if link is not None:
            return self.link(link)
        frame = frame.removeprefix("/")
        if frame in self._edit.names:
            return self.object(frame)
        if frame in self.fixed:
            return self.fixed[frame]
        if frame in robot.fixed_frames:
            return self.link(robot.fixed_frames[frame])
        try:
            return self._transforms.lookup(self._prefix + robot.root, frame).target_from_source
        except InputError as error:
            raise InputError(f"{what}: frame_id '{frame}' is no link and no object, and {error}") from error


@dataclass(frozen=True)
class Surroundings:
    """Where everything was when a message came; also the `TransformSource` of its frames."""

    robot: Robot | None
    link_poses: Mapping[str, np.ndarray] | InputError
    """Poses of all links in some common frame, or why they are not known."""
    transforms: Mapping[str, StampedTransform | InputError]
    """root_from_frame by the frames that the message names."""
    prefix: str

    def frames(self, model: Model, edit: Edit) -> Frames:
        """Return where frames are, for a change of that robot's objects."""
        return Frames(model, edit, lambda: _known(self.link_poses), self, self.prefix)

    def lookup(self, target: str, source: str) -> StampedTransform:
        """Return root_from_frame; `InputError` where it was not known when the message came."""
        if source not in self.transforms:
            raise InputError(f"no transform from '{source}' to '{target}' was looked for when the message came")
        return _known(self.transforms[source])


def _known(found: object) -> object:
    """Return what was found out; raise where it is why nothing was."""
    if isinstance(found, InputError):
        raise found
    return found


def _frame_ids(message: PlanningScene) -> list[str]:
    """Return the frames that a planning scene names."""
    objects = [
        *message.world.collision_objects,
        *(one.object for one in message.robot_state.attached_collision_objects),
    ]
    headers = [*objects, *message.fixed_frame_transforms, message.world.octomap]
    return [one.header.frame_id for one in headers]


class World(Part):
    """The objects around and on the robot, and the rules of its pairs.

    Topics are heard from `configure` on, like measurements, so that nothing is missed while the node is inactive;
    services ask for an active node.
    """

    parameters = (
        number("padding", 0.0, 0.0, 1e3, "[m] What every link is grown by against objects in check_state_validity"),
        number("safety_margin", 0.0, 0.0, 1e3, "[m] Clearance below which check_state_validity reports a contact"),
        switch("pad_self_collisions", "Pad links against each other too, not only against objects", default=False),
        count("max_bodies", Limits().bodies, 1, 1_000_000, "How many bodies robot and objects may have together"),
        count("max_pairs", Limits().pairs, 1, MOST_PAIRS, "How many pairs of bodies may be checked against each other"),
        count("octomap_cubes", 20_000, 1, 1_000_000, "How many occupied cubes an octomap may have; more are refused"),
    )

    def __init__(self) -> None:
        self._last: Planning | None = None
        self._complete: Planning | None = None  # of a robot that has been read with all objects
        self._lost: list[str] = []  # what could not be taken over to it
        self._lock = threading.RLock()  # one change at a time; a change tells the node, and so this part too

    def configure(self, node: DistanceService) -> None:
        """Listen to MoveIt's topics and open the services."""
        node.robot.complete = self._taken_over
        # A group of their own, in which a call that waits for its turn keeps no other from being begun.
        group = ReentrantCallbackGroup()
        listen(node, CollisionObject, "collision_object", self._take_object, _RELIABLE)
        listen(node, AttachedCollisionObject, "attached_collision_object", self._take_attached, _RELIABLE)
        listen(node, PlanningScene, "planning_scene", self._take_scene, _RELIABLE)
        serve(node, ApplyPlanningScene, "apply_planning_scene", self._apply_planning_scene, group)
        serve(node, ApplyObjects, "~/apply_objects", self._apply_objects, group)
        serve(node, GetPairRules, "~/get_pair_rules", self._get_pair_rules)
        serve(node, SetPairRules, "~/set_pair_rules", self._set_pair_rules, group)

    def clean_up(self) -> None:
        """Forget all objects and rules."""
        self._last = self._complete = None
        self._lost = []

    def check(self, new: Mapping[str, object]) -> None:
        """Refuse limits that are exceeded already."""
        model = self.node.robot.candidate
        if model is None:
            return
        for name, found in (("max_bodies", len(model.planning.owners)), ("max_pairs", len(model.live.pairs))):
            if int(new.get(name, found)) < found:
                raise InputError(f"{name} = {new[name]}: there are {found} already")

    def apply(self, names: AbstractSet[str]) -> None:
        """Use other paddings and limits."""
        with self._lock:
            model = self.node.robot.current
            if model is not None and names & {one.name for one in self.parameters}:
                self._use(model, self._padded(model.planning.edit(), self._limits()))

    def model_changed(self) -> None:
        """Take objects, rules and the paddings of links over to a new robot."""
        with self._lock:
            model = self.node.robot.current
            if model is None or model.planning is self._last:
                return
            if model.planning is not self._complete:
                model = self._taken_over(model)
                self.node.robot.exchange(model)
            for words in self._lost:
                self.node.log.error("lost", f"lost with the new robot description: {words}")
            self._lost = []
            self._last = model.planning
            self._use_kernels(self._last)

    def _taken_over(self, model: Model) -> Model:
        """Return a robot with all objects, rules and paddings; for any thread."""
        planning, lost, limits = model.planning, [], model.planning.limits
        if self._last is not None:
            planning = self._last.for_robot(model.robot, tolerance=model.tolerance, limits=limits)
            lost = [misfit.reason for misfit in planning.misfits.values()]
        self._complete, self._lost = self._padded(planning.edit(), limits), lost
        return model.with_planning(self._complete)

    def frames(self, model: Model, edit: Edit) -> Frames:
        """Return where frames are in the measured state."""
        measurements = self.node.measurements
        link_poses = lambda: measurements.state(model).link_poses  # noqa: E731
        return Frames(model, edit, link_poses, measurements.transforms, str(self.node.value("frame_prefix")))

    def facts(self) -> Mapping[str, object]:
        """Return the number of objects, for diagnostics."""
        objects = {} if self._last is None else self._last.objects
        attached = sum(thing.link is not None for thing in objects.values())
        cubes = len(objects[OCTOMAP].shapes) if OCTOMAP in objects else 0
        standing = len(objects) - attached - (OCTOMAP in objects)
        return {"objects": standing, "attached objects": attached, "octomap cubes": cubes}

    # --- from topics ---

    def _take_object(self, message: CollisionObject) -> None:
        self._take(
            "collision_object", [message.header.frame_id], lambda edit, frames: apply_object(edit, frames, message)
        )

    def _take_attached(self, message: AttachedCollisionObject) -> None:
        self._take(
            "attached_collision_object",
            [message.object.header.frame_id],
            lambda edit, frames: apply_attached(edit, frames, message),
        )

    def _take_scene(self, message: PlanningScene) -> None:
        most = self._most_cubes
        self._take("planning_scene", _frame_ids(message), lambda edit, frames: apply_scene(edit, frames, message, most))

    @property
    def _most_cubes(self) -> int:
        return int(self.node.value("octomap_cubes"))

    def _take(self, topic: str, frame_ids: Sequence[str], change: Change) -> None:
        """Apply a message of a topic; where that cannot be, say so in the log."""

        def done(_planning: Planning | None, problem: Exception | None) -> None:
            if problem is not None:
                # Each of these is an object that is not where its sender believes it to be.
                self.node.log.error(topic, f"ignored a message on {topic}: {reason_of(problem)}")
                self.node.statistics.message(topic, problem)

        try:
            self._read(frame_ids, change, done)
        except InputError as error:
            done(None, error)

    def _read(
        self,
        frame_ids: Sequence[str],
        change: Change,
        done: Callable[[Planning | None, Exception | None], None],
    ) -> None:
        """Apply a change as a whole by the thread that reads, and tell; whatever it raises, nothing has changed.

        Frames and joints are where they are when the change comes.
        """
        taken: dict[str, Surroundings] = {}

        def prepare() -> None:
            taken["surroundings"] = self._surroundings(frame_ids)

        def work() -> tuple[Model, Model | None, list[str]]:
            model, surroundings = self.node.robot.known(), taken["surroundings"]
            if model.robot is not surroundings.robot:
                return model, None, []
            edit = model.planning.edit()
            with refusals():
                notes = change(edit, surroundings.frames(model, edit))
                planning = edit.commit()
            return model, model.with_planning(planning), notes

        def use(found: tuple[Model, Model | None, list[str]] | None, problem: Exception | None) -> bool:
            if problem is not None:
                done(None, problem)
                return True
            model, changed, notes = found
            if changed is None or self.node.robot.current is not model:
                return False
            self._exchange(changed)
            for note in notes:
                self.node.log.warning("planning scene", note)
            done(changed.planning, None)
            return True

        self.node.reader.do(Task(prepare, work, use))

    def _change(self, frame_ids: Sequence[str], change: Change) -> Future:
        """Apply a change; the future has the planning scene, or why there is none."""
        future = Future(executor=self.node.executor)

        def done(planning: Planning | None, problem: Exception | None) -> None:
            if problem is None:
                future.set_result(planning)
            else:
                future.set_exception(problem)

        self._read(frame_ids, change, done)
        return future

    def _surroundings(self, frame_ids: Sequence[str]) -> Surroundings:
        """Take down where frames are now, so that another thread can read a message given in them."""
        model, measurements = self.node.robot.current, self.node.measurements
        prefix = str(self.node.value("frame_prefix"))
        if model is None:
            return Surroundings(None, {}, {}, prefix)
        try:
            poses: Mapping[str, np.ndarray] | InputError = measurements.state(model).link_poses
        except InputError as error:
            poses = error
        links, root = set(model.robot.links), prefix + model.robot.root
        transforms: dict[str, StampedTransform | InputError] = {}
        for frame in {name.removeprefix("/") for name in frame_ids}:
            if frame and frame not in links and frame.removeprefix(prefix) not in links:
                try:
                    transforms[frame] = measurements.transforms.lookup(root, frame)
                except InputError as error:
                    transforms[frame] = error
        return Surroundings(model.robot, poses, transforms, prefix)

    def _limits(self) -> Limits:
        """Return how much there may be, by the parameters."""
        return replace(Limits(), bodies=int(self.node.value("max_bodies")), pairs=int(self.node.value("max_pairs")))

    def _use(self, model: Model, planning: Planning) -> None:
        self._exchange(model.with_planning(planning))

    def _exchange(self, model: Model) -> None:
        """Let the node have a complete model from now on."""
        self._last = model.planning
        self._use_kernels(self._last)
        self.node.robot.exchange(model)
        self.node.tell_model_changed()

    def _padded(self, edit: Edit, limits: Limits) -> Planning:
        """Commit an edit with the paddings of the parameters; those by name, of planning scenes, stay."""
        value = self.node.value
        edit.limits = limits
        edit.padding = Padding(
            by_name=edit.padding.by_name,
            default=float(value("padding")),
            margin=float(value("safety_margin")),
            self_too=bool(value("pad_self_collisions")),
        )
        return edit.commit()

    def _use_kernels(self, planning: Planning) -> None:
        """Have compiled what new kinds of bodies need, before they are asked about, and what usual objects need."""
        self.node.kernels.need_for(planning.scene)
        self.node.kernels.prepare_usual()

    # --- services ---

    async def _apply_planning_scene(
        self, request: ApplyPlanningScene.Request, response: ApplyPlanningScene.Response
    ) -> ApplyPlanningScene.Response:
        try:
            self.node.require_active()
            most, scene = self._most_cubes, request.scene
            await self._change(
                _frame_ids(scene), lambda edit, frames: apply_scene(edit, frames, scene, most, strict=True)
            )
            response.success = True
            self.node.statistics.call("ApplyPlanningScene")
        except Exception as error:
            # The response has no room for words.
            self.node.log.error("apply_planning_scene", f"apply_planning_scene: nothing applied: {reason_of(error)}")
            self.node.statistics.call("ApplyPlanningScene", error)
            response.success = False
        return response

    async def _answer(
        self, response: object, frame_ids: Sequence[str], change: Change, words: Callable[[Planning], str]
    ) -> object:
        """Apply a change and answer with words about the planning scene there is then."""
        planning = problem = None
        try:
            self.node.require_active()
            planning = await self._change(frame_ids, change)
        except Exception as error:
            problem = error

        def fill() -> str:
            if problem is not None:
                raise problem
            return words(planning)

        return self.answer(response, fill)

    async def _apply_objects(
        self, request: ApplyObjects.Request, response: ApplyObjects.Response
    ) -> ApplyObjects.Response:
        def change(edit: Edit, frames: Frames) -> list[str]:
            for message in request.objects:
                apply_superovoid(edit, frames, message)
            return []

        frame_ids = [one.header.frame_id for one in request.objects]
        return await self._answer(
            response,
            frame_ids,
            change,
            lambda planning: f"{len(request.objects)} applied; objects: {listing(planning.objects)}",
        )

    def _get_pair_rules(self, request: GetPairRules.Request, response: GetPairRules.Response) -> GetPairRules.Response:
        def fill() -> str:
            planning = self.node.robot.known().planning
            with refusals("request"):
                pairs = _asked_pairs(planning, request.links_a, request.links_b)
            verdicts = [planning.rules.why(*pair) for pair in pairs]
            response.link_a, response.link_b = [a for a, _ in pairs], [b for _, b in pairs]
            response.checked = [verdict.checked for verdict in verdicts]
            response.rule = [verdict.rule for verdict in verdicts]
            response.reason = [verdict.words for verdict in verdicts]
            return f"{sum(response.checked)} of {len(pairs)} pairs are checked"

        return self.answer(response, fill)

    async def _set_pair_rules(
        self, request: SetPairRules.Request, response: SetPairRules.Response
    ) -> SetPairRules.Response:
        return await self._answer(
            response,
            (),
            lambda edit, frames: _set_rules(edit, frames.robot, request),
            lambda planning: f"{len(planning.rules.runtime)} runtime rules",
        )


# --- one message each ---


def apply_object(edit: Edit, frames: Frames, message: CollisionObject) -> list[str]:
    """Add, append to, move or remove an object of the world; return what is worth a warning."""
    name, operation = message.id, _operation(message)
    what = f"object '{name}'"
    if operation == CollisionObject.REMOVE:
        if not name:
            edit.remove_all()
            return []
        _check_name(name)
        if name not in edit.names:
            return [f"{what}: to be removed, but does not exist (objects: {listing(edit.names)})"]
        if edit.object(name).link is not None:
            return [f"{what}: not removed from the world: it is attached to link '{edit.object(name).link}'"]
        edit.remove(name)
        return []
    _check_name(name)
    if name in edit.names and edit.object(name).link is not None:
        raise InputError(
            f"{what}: is attached to link '{edit.object(name).link}': detach it first, by REMOVE on "
            "attached_collision_object"
        )
    root_from_header = frames.lookup(message.header.frame_id, what)
    if operation == CollisionObject.MOVE:
        pose = root_from_header @ from_pose(message.pose, f"{what}: pose")
        edit.move(name, pose, _moved_shapes(edit, message, what))
        return [f"{what}: moved; the shapes in the message are not looked at"] if has_shapes(message) else []
    if operation == CollisionObject.APPEND and name in edit.names:
        shapes, poses, _ = shapes_of(message, what, appended=True)
        edit.append(name, shapes, poses)
    else:
        shapes, poses, pose = shapes_of(message, what)
        edit.add(name, shapes, poses, root_from_header @ pose, source=FROM_MOVEIT)
    return []


def apply_attached(edit: Edit, frames: Frames, message: AttachedCollisionObject) -> list[str]:
    """Attach an object to a link, add to it, or give it back to the world; return what is worth a warning."""
    name, link, operation = message.object.id, message.link_name, _operation(message.object)
    what = f"attached object '{name}'"
    if operation == CollisionObject.REMOVE:
        return _detach(edit, frames, name, link)
    if operation == CollisionObject.MOVE:
        raise InputError(
            f"{what}: MOVE is for objects of the world (MoveIt knows no other either): ADD it at its new pose"
        )
    _check_name(name)
    there = edit.object(name) if name in edit.names else None
    carried = there is not None and there.link is not None
    if operation == CollisionObject.ADD and not has_shapes(message.object):
        if there is None:
            raise InputError(
                f"{what}: brings no shape, and no object of that name exists (objects: {listing(edit.names)})"
            )
        edit.attach(name, link, _in_link(frames, link, frames.object(name), what), message.touch_links)
        return []
    header, pose_given = message.object.header.frame_id, message.object.pose != Pose()
    appended = operation == CollisionObject.APPEND and carried
    shapes, poses, pose = shapes_of(message.object, what, appended=appended)
    if frames.link_of(header) != link:
        pose = _in_link(frames, link, frames.lookup(header, what) @ pose, what)
    if not appended:
        edit.add(name, shapes, poses, pose, link=link, touch_links=message.touch_links, source=FROM_MOVEIT)
        return []
    if not pose_given:
        pose = there.pose if there.link == link else _in_link(frames, link, frames.object(name), what)
    edit.append(name, shapes, poses)
    edit.attach(name, link, pose, {*message.touch_links, *there.touch_links})
    return []


def apply_scene(
    edit: Edit, frames: Frames, message: PlanningScene, most_cubes: int, *, strict: bool = False
) -> list[str]:
    """Apply a planning scene or a difference to one; return what is worth a warning.

    Of a difference, what says no more than what holds already (matrix, paddings, octomap) changes nothing.

    Parameters
    ----------
    edit, frames, message
        The scene is applied to `edit`.
    most_cubes
        How many occupied cubes an octomap may have.
    strict
        A scale, which is not supported, is an error; else a warning, and the rest is applied.
    """
    notes = _take_names(edit, frames, message)
    # Joint positions of a planning scene are not used: they are measured.
    notes += apply_attached_of_state(edit, frames, message.robot_state, whole=not message.is_diff)
    if not message.is_diff or len(message.allowed_collision_matrix.entry_names):
        matrix = matrix_of(message.allowed_collision_matrix)
        if matrix != edit.matrix_in_force():
            edit.set_matrix(matrix)
    for scale in message.link_scale:
        if scale.scale != 1.0:
            words = f"link_scale of '{scale.link_name}' = {scale.scale}: scales are not supported, use link_padding"
            if strict:
                raise InputError(words)
            notes.append(words)
    paddings = dict(edit.padding.by_name)
    for padding in message.link_padding:
        _check_padding(padding.link_name, padding.padding)
        if padding.padding != paddings.get(padding.link_name, edit.padding.default):
            paddings[padding.link_name] = float(padding.padding)
    edit.padding = replace(edit.padding, by_name=paddings)
    if not message.is_diff:
        coming = {thing.id for thing in message.world.collision_objects}
        for name in edit.names:
            thing = edit.object(name)
            if thing.link is None and thing.source == FROM_MOVEIT and name not in coming:
                edit.remove(name)
    for thing in message.world.collision_objects:
        # move_group says so when it attaches an object: gone from the world, in another part of the same message.
        attached = thing.id in edit.names and edit.object(thing.id).link is not None
        if not (attached and thing.operation == CollisionObject.REMOVE):
            notes += apply_object(edit, frames, thing)
    _take_octomap(edit, frames, message, most_cubes)
    return notes


def _take_names(edit: Edit, frames: Frames, message: PlanningScene) -> list[str]:
    """Take over names, colours and the frames that a scene brings."""
    if message.name or not message.is_diff:
        edit.name = message.name
    if not message.is_diff:
        edit.colours.clear()
    for one in message.object_colors:
        edit.colours[one.id] = (one.color.r, one.color.g, one.color.b, one.color.a)
    for stamped in message.fixed_frame_transforms:
        what = f"fixed_frame_transforms '{stamped.child_frame_id}'"
        pose = from_transform(stamped.transform, what)
        try:
            parent = frames.lookup(stamped.header.frame_id, what)
        except InputError:
            continue  # of no use here, and an error only where an object is given in it
        frames.fixed.setdefault(stamped.child_frame_id.removeprefix("/"), parent @ pose)
    robot = frames.robot.name
    if message.robot_model_name not in ("", robot):
        return [f"the planning scene is one of robot '{message.robot_model_name}'; this one is '{robot}'"]
    return []


def _take_octomap(edit: Edit, frames: Frames, message: PlanningScene, most_cubes: int) -> None:
    """Take the octomap of a scene in the place of the one before; an empty one removes it.

    As in MoveIt a difference without octomap leaves the one before, and what tells that from an empty one is its id.
    """
    octomap = message.world.octomap
    if len(octomap.octomap.data):
        octree = octree_of(octomap.octomap)
        pose = frames.lookup(octomap.header.frame_id, "octomap") @ from_pose(octomap.origin, "octomap: origin")
        edit.set_octomap(octree, pose, most_cubes)
    elif octomap.octomap.id or not message.is_diff:
        edit.remove_octomap()


def apply_attached_of_state(edit: Edit, frames: Frames, state: RobotState, *, whole: bool = False) -> list[str]:
    """Apply the attached objects of a robot state, or only these where it is not a difference.

    Objects of ~/apply_objects, which MoveIt does not know of, stay attached in any case.
    """
    measured = len(state.joint_state.name) or len(state.multi_dof_joint_state.joint_names)
    if whole or (not state.is_diff and measured):
        coming = {attached.object.id for attached in state.attached_collision_objects}
        for name in edit.names:
            thing = edit.object(name)
            if thing.link is not None and thing.source == FROM_MOVEIT and name not in coming:
                edit.remove(name)
    notes = []
    for attached in state.attached_collision_objects:
        notes += apply_attached(edit, frames, attached)
    return notes


def apply_superovoid(edit: Edit, frames: Frames, message: SuperovoidObject) -> None:
    """Add, move or remove a superovoid."""
    name, link = message.id, message.attach_link
    what = f"object '{name}'"
    if message.operation == SuperovoidObject.REMOVE:
        if name:
            _check_name(name)
            edit.remove(name)
        else:
            edit.remove_all()
            edit.remove_all(attached=True)
        return
    if message.operation not in (SuperovoidObject.ADD, SuperovoidObject.MOVE):
        raise InputError(f"{what}: operation = {message.operation}: must be ADD (0), REMOVE (1) or MOVE (2)")
    _check_name(name)
    pose = from_pose(message.pose, f"{what}: pose")
    if not link or frames.link_of(message.header.frame_id) != link:
        pose = frames.lookup(message.header.frame_id, what) @ pose
        if link:
            pose = _in_link(frames, link, pose, what)
    if message.operation == SuperovoidObject.ADD:
        shape = superovoid_of(message, what)
        edit.add(
            name, [shape], [np.eye(4)], pose, link=link or None, touch_links=message.touch_links, source=FROM_SERVICE
        )
    elif link:
        edit.attach(name, link, pose, message.touch_links)
    else:
        edit.detach(name, pose)


# --- parts ---


def _operation(message: CollisionObject) -> bytes:
    known = (CollisionObject.ADD, CollisionObject.REMOVE, CollisionObject.APPEND, CollisionObject.MOVE)
    if message.operation not in known:
        raise InputError(
            f"object '{message.id}': operation = {message.operation!r}: must be ADD (0), REMOVE (1), APPEND (2) or "
            "MOVE (3)"
        )
    return message.operation


def _check_name(name: str) -> None:
    if not name:
        raise InputError("object without id: give it one")
    if name == OCTOMAP:
        raise InputError(
            f"object '{OCTOMAP}': the name is MoveIt's own for its octomap, which planning scenes bring and remove: "
            "take another"
        )


def _check_padding(name: str, padding: float) -> None:
    if not (np.isfinite(padding) and padding >= 0.0):
        raise InputError(f"link_padding of '{name}' = {padding}: must be at least 0 and finite (metres)")


def _in_link(frames: Frames, link: str, root_from_object: np.ndarray, what: str) -> np.ndarray:
    """Return link_from_object."""
    try:
        return np.linalg.inv(frames.link(link)) @ root_from_object
    except InputError as error:
        raise InputError(f"{what}: {error}") from error


def _moved_shapes(edit: Edit, message: CollisionObject, what: str) -> list[np.ndarray] | None:
    poses = shape_poses_of(message, what)
    if poses and message.id in edit.names and any(isinstance(shape, Plane) for shape in edit.object(message.id).shapes):
        raise InputError(f"{what}: MOVE gives shapes new poses, and one of them is a plane: ADD it anew instead")
    return poses or None


def _detach(edit: Edit, frames: Frames, name: str, link: str) -> list[str]:
    """Give one attached object, or all, back to the world where they are."""
    if not name:
        chosen = [other for other in edit.names if edit.object(other).link is not None]
        chosen = [other for other in chosen if link in ("", edit.object(other).link)]
    elif name not in edit.names or edit.object(name).link is None:
        return [f"attached object '{name}': to be detached, but nothing of that name is attached"]
    elif link not in ("", edit.object(name).link):
        raise InputError(
            f"attached object '{name}': is attached to link '{edit.object(name).link}', not '{link}': "
            "name that link, or none"
        )
    else:
        chosen = [name]
    for other in chosen:
        edit.detach(other, frames.object(other))
    return []


def _set_rules(edit: Edit, robot: Robot, request: SetPairRules.Request) -> list[str]:
    count = len(request.links_a)
    if len(request.links_b) != count:
        raise InputError(f"request: {count} links_a, {len(request.links_b)} links_b: must be equally many")
    if len(request.checked) not in (1, count):
        raise InputError(
            f"request: {len(request.checked)} values of checked for {count} pairs: give one, or one a pair"
        )
    if request.clear:
        edit.clear_runtime()
    checked = list(request.checked) * count if len(request.checked) == 1 else request.checked
    for name_a, name_b, value in zip(request.links_a, request.links_b, checked, strict=True):
        sides = [_names_of(edit, robot, name) for name in (name_a, name_b)]
        pairs = {frozenset(pair): pair for pair in itertools.product(*sides) if pair[0] != pair[1] or pair[0] is None}
        if not pairs:
            raise InputError(f"request: '{name_a}' with '{name_b}': bodies on one link are never checked")
        for a, b in pairs.values():
            edit.set_runtime(a, b, bool(value), request.reason)
    return []


def _names_of(edit: Edit, robot: Robot, name: str) -> tuple[str | None, ...]:
    """Return the links or objects that a name of a rule means; None is any."""
    if not name:
        return (None,)
    if name in edit.names:
        return (name,)
    with refusals("request", f"objects: {listing(edit.names)}"):
        return robot.links_of([name])


def _asked_pairs(planning: Planning, names_a: Sequence[str], names_b: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of links and objects, each once, the first one of `names_a`.

    Where either side is any, two objects of the world are a pair only if a rule is about them, and nothing is paired
    with itself.
    """
    for name in (*names_a, *names_b):
        if name in planning.robot.links_without_geometry:
            raise InputError(f"link '{name}' has no contact geometry")
    sides = [planning.owners_of(names or None) for names in (names_a, names_b)]
    order = {owner: row for row, owner in enumerate(dict.fromkeys(planning.owners))}
    of_a, of_b = (sorted(side, key=order.__getitem__) for side in sides)
    if len(of_a) * len(of_b) > _MOST_ASKED:
        raise InputError(
            f"request: {len(of_a)} times {len(of_b)} pairs of links and objects, at most {_MOST_ASKED}: name fewer"
        )
    named = bool(names_a) and bool(names_b)
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for a, b in itertools.product(of_a, of_b):
        both_world = planning.in_world(a) and planning.in_world(b)
        if named or (a != b and not (both_world and planning.rules.why(a, b).rule == DEFAULT)):
            pairs.setdefault(frozenset((a, b)), (a, b))
    return list(pairs.values())
