# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""States of requests: measured values, with the values in the request in their place."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from moveit_msgs.msg import RobotState
from sensor_msgs.msg import JointState

from superovoid.robot import Robot
from superovoid.robot.kinematics import OUTSIDE
from superovoid.robot.planning_scene import PlanningScene as Planning
from superovoid_ros.nodes.common.conversions import from_transform
from superovoid_ros.nodes.common.mistakes import Code, InputError, listing, refusals
from superovoid_ros.nodes.distance_service.part import Common, Part
from superovoid_ros.nodes.distance_service.robot_state.measured import read_values
from superovoid_ros.nodes.distance_service.robot_state.measurements import Measurements
from superovoid_ros.nodes.distance_service.world.current_model import CurrentModel
from superovoid_ros.nodes.distance_service.world.frames import Frames
from superovoid_ros.nodes.distance_service.world.model import Model
from superovoid_ros.nodes.distance_service.world.moveit_changes import attach_for_question


@dataclass(frozen=True)
class RequestedState:
    """The state of a request."""

    message: RobotState
    """The state in the request, whose values take the place of measurements."""
    frame_ids: tuple[str, ...]
    """Frames that other fields of the request name."""
    stop: threading.Event
    """Ends the work for the request when set."""
    model: Model
    """Model that answers the request."""
    positions: Mapping[str, float]
    """Positions of all independent joints, rad or m."""
    poses: Mapping[str, np.ndarray]
    """Pose root_from_link of each link, m, shape (4, 4)."""
    planning: Planning
    """Planning scene with the attached objects of the request."""
    frames: Frames
    """Frames, including those that the request names."""
    frame: str
    """Name on TF of the frame of the poses: that of the root, or of the root link if its pose is unknown."""
    tolerance: float
    """Largest motion that counts as none, m (the parameter `frame_tolerance`)."""
    unplaced: str = ""
    """Reason why the pose is unknown; empty if it is known."""
    stale: str = ""
    """Reason why the measurements are stale; empty if they are not."""

    @property
    def robot(self) -> Robot:
        """Return the robot."""
        return self.planning.robot

    @property
    def base_poses(self) -> dict[str, np.ndarray]:
        """Return root_from_link of the robot's floating bases."""
        return {link: self.poses[link] for link in self.robot.base_links}

    def with_objects_of(self, other: RequestedState) -> RequestedState:
        """Return the state with the objects of another one in the same model."""
        return replace(self, planning=other.planning, frames=self.frames.with_edit(other.planning.edit()))

    def with_positions(self, positions: Mapping[str, float]) -> RequestedState:
        """Return the state with other joint positions; may be called from any thread."""
        positions = {**self.positions, **positions}
        poses = self.robot.forward_kinematics(positions, self.base_poses)
        return replace(self, positions=positions, poses=poses, frames=self.frames.with_links(poses))

    def with_row(self, joints: Sequence[str], row: np.ndarray) -> RequestedState:
        """Return the state with other positions of some joints, shape (joints,)."""
        return self.with_positions(dict(zip(joints, row.tolist(), strict=True)))


class RequestedStates(Part):
    """Base class of parts that answer requests with a state."""

    def __init__(self, common: Common, current: CurrentModel, measurements: Measurements) -> None:
        super().__init__(common)
        self._current, self._measurements = current, measurements

    async def state_of(
        self,
        message: RobotState,
        frame_ids: Iterable[str] = (),
        placed: bool = True,
        stop: threading.Event | None = None,
    ) -> RequestedState:
        """Return the measured state in the present world, with the values of a request in place of measurements.

        Objects that the request attaches are read in a thread if they have many triangles.

        Parameters
        ----------
        message
            The state in the request.
        frame_ids
            Frames that other fields of the request name.
        placed
            If true, the pose of the robot in the world must be known; otherwise the caller checks that
            (`Measurements.require_world`).
        stop
            Ends the work for the request when set; default: when the node cancels its jobs.
        """
        state = self.state_without_objects(message, frame_ids, placed, stop)
        has_joints = len(message.joint_state.name) or len(message.multi_dof_joint_state.joint_names)
        # As in move_group, a full state replaces all attached objects, but an empty one replaces none.
        if not (message.is_diff or has_joints):
            if len(message.attached_collision_objects):
                raise InputError("robot_state: is_diff is false and there are no joints: set is_diff to attach objects")
            return state
        if not _changes_attached(state.planning, message):
            return state
        open_meshes = str(self.parameter("open_meshes"))
        meshes = [mesh for one in message.attached_collision_objects for mesh in one.object.meshes]
        triangles = sum(len(mesh.triangles) for mesh in meshes)  # each takes about as long as a pair of bodies
        return await self.query(triangles, lambda: _with_objects(state, open_meshes))

    def measured_state(self) -> RequestedState:
        """Return the measured state in the present world."""
        return self.state_without_objects(RobotState(is_diff=True))

    def state_without_objects(
        self,
        message: RobotState,
        frame_ids: Iterable[str] = (),
        placed: bool = True,
        stop: threading.Event | None = None,
    ) -> RequestedState:
        """Return the state of a request, without the objects that it attaches or removes."""
        model = self._current.model()
        robot = model.robot
        pairs = positions_of(message.joint_state, "robot_state")
        joints = [(name, position) for name, position in pairs if name not in robot.mimic]
        row = np.array([[position for _, position in joints]])
        base_poses = _base_poses_of(model, message, self._measurements.prefix)
        given = read_values(robot, [name for name, _ in joints], row, base_poses)
        measured = self._measurements.moment()
        state = measured.states(robot, given)
        if placed:
            if state.unplaced:
                raise InputError(state.unplaced, Code.INCOMPLETE_WORLD)
            measured.require_world(model.planning, None, state.unplaced)
        base, poses = robot.root_link if state.unplaced else robot.root, state.root_poses(robot)
        positions = dict(zip(robot.joint_names, state.positions[0].tolist(), strict=True))
        known = {link: pose for link, pose in poses.items() if not (state.unplaced and link == robot.root)}
        frames = Frames(measured, robot, model.planning.edit(), known)
        frame = self._measurements.frame_of(robot, base)
        doubts = state.unplaced, self._measurements.stale_reason(state)
        request = message, tuple(frame_ids), stop or self.jobs.stop
        tolerance = float(self.parameter("frame_tolerance"))
        return RequestedState(*request, model, positions, poses, model.planning, frames, frame, tolerance, *doubts)


def _with_objects(state: RequestedState, open_meshes: str) -> RequestedState:
    """Return a state with the objects that its request attaches, and without those that it removes."""
    edit = state.planning.edit()
    frames = state.frames.with_edit(edit)
    with refusals("robot_state"):
        attach_for_question(state.message, open_meshes, edit, frames)
        return replace(state, planning=edit.commit(), frames=frames)


def positions_of(message: JointState, what: str) -> list[tuple[str, float]]:
    """Return names and positions of joints; raise `InputError` if their numbers differ."""
    names, positions = message.name, message.position
    if len(names) != len(positions):
        raise InputError(f"{what}: {len(names)} joint names, {len(positions)} positions: must be the same number")
    return list(zip(names, positions, strict=True))


def _base_poses_of(model: Model, message: RobotState, prefix: str) -> dict[str, tuple[str, np.ndarray]]:
    """Return the poses of links on floating and planar joints in a request, each with its parent frame."""
    joints, robot = message.multi_dof_joint_state, model.robot
    if len(joints.joint_names) != len(joints.transforms):
        raise InputError(
            f"robot_state: {len(joints.joint_names)} multi_dof joints, {len(joints.transforms)} transforms: "
            "must be the same number"
        )
    frame = joints.header.frame_id.removeprefix("/")
    found: dict[str, tuple[str, np.ndarray]] = {}
    for name, transform in zip(joints.joint_names, joints.transforms, strict=True):
        what = f"robot_state: multi_dof joint '{name}'"
        joint = robot.joints.get(name)
        pose = from_transform(transform, what)
        if joint is None and np.allclose(pose, np.eye(4), atol=1e-12):
            continue  # a virtual joint of an SRDF, with the same pose as in this node
        if joint is None or joint.kind not in OUTSIDE:
            floating = [name for name, joint in robot.joints.items() if joint.kind in OUTSIDE]
            raise InputError(f"{what}: is not a floating or planar joint of '{robot.name}'; known: {listing(floating)}")
        if joint.parent not in (robot.root, robot.root_link):
            raise InputError(f"{what}: is on link '{joint.parent}'; only joints on the root link are supported")
        root = "" if joint.parent == robot.root else prefix + robot.root_link
        # As in move_group, one frame for all joints: that of the world, or one whose pose in it TF knows.
        if robot.root == robot.root_link and frame not in ("", robot.root, prefix + robot.root):
            raise InputError(f"{what}: has frame '{frame}': must be that of the root link, '{robot.root}'")
        if joint.child == robot.root_link and frame != prefix + robot.root_link:
            root = frame
        if joint.child in found:
            raise InputError(f"{what}: occurs twice")
        found[joint.child] = root, joint.parent_from_joint @ pose
    return found


def _changes_attached(planning: Planning, message: RobotState) -> bool:
    held = any(thing.link is not None for thing in planning.objects.values())
    return bool(len(message.attached_collision_objects)) or (held and not message.is_diff)
