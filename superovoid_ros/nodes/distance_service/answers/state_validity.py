# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Services `check_state_validity` and `check_multi_state_validity`, as in move_group, but with proved distances.

A state is valid if the clearance of every checked pair is proved to be positive, and every constraint of the request
holds. As in move_group, joint limits are not checked. docs/explanation/moveit.md lists the differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose
from moveit_msgs.msg import (
    ConstraintEvalResult,
    Constraints,
    ContactInformation,
    CostSource,
    JointConstraint,
    MoveItErrorCodes,
    OrientationConstraint,
    PositionConstraint,
    RobotState,
    VisibilityConstraint,
)
from moveit_msgs.srv import GetStateValidity
from sensor_msgs.msg import JointState

from superovoid.robot.planning_scene import PlanningScene as Planning
from superovoid.scene import Body, Scene, SceneResult
from superovoid.shapes import ConvexMesh, Shape
from superovoid_ros.nodes.common.conversions import from_pose, to_point, to_vector
from superovoid_ros.nodes.common.mistakes import Code, InputError, listing, refusals
from superovoid_ros.nodes.common.parameters import choice
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError
from superovoid_ros.nodes.distance_service.answers.requested_states import (
    RequestedState,
    RequestedStates,
    frame_ids_of,
    positions_of,
)
from superovoid_ros.nodes.distance_service.jobs import AT_ONCE
from superovoid_ros.nodes.distance_service.world.frames import Frames
from superovoid_ros.nodes.distance_service.world.model import ClearanceQuery, Model
from superovoid_ros.nodes.distance_service.world.objects import shape_of_mesh, shape_of_primitive

try:
    from moveit_msgs.srv import GetMultiStateValidity
except ImportError:  # moveit_msgs has it since 2025
    GetMultiStateValidity = None

# Largest number of sides of the pyramid that represents a visibility cone; more would not make it usefully rounder.
_MOST_SIDES = 1000
MOST_CONSTRAINTS = 1000  # in a request
_EPSILON = 2.0 * np.finfo(float).eps  # as in MoveIt's comparisons


STALE = "stale_validity"


class Validity(RequestedStates):
    """Part that answers whether states of the robot are free of contacts and satisfy constraints."""

    parameters = (
        choice(
            STALE,
            "refuse",
            ("refuse", "warn"),
            "Response of check_state_validity to stale measurements of the state: not valid (refuse), or that for "
            "the last measurement, with a warning in the log, as in move_group (warn)",
        ),
    )

    def configure(self) -> None:
        """Open the services."""
        self.serve(GetStateValidity, "check_state_validity", self._check)
        if GetMultiStateValidity is not None:
            self.serve(GetMultiStateValidity, "check_multi_state_validity", self._check_several)

    async def _check(self, request: GetStateValidity.Request, response: GetStateValidity.Response) -> None:
        await self._judge("check_state_validity", request, request.robot_state, response)

    async def _check_several(self, request: Any, response: Any) -> None:
        """Fill a response about the first invalid state, or about the last one."""
        for state in states_of(request.robot_state, request.joint_states):
            await self._judge("check_multi_state_validity", request, state, response)
            if not response.valid:
                return

    async def _judge(self, service: str, request: Any, state: RobotState, response: Any) -> None:
        """Fill a response about one state; it is invalid if a constraint cannot be evaluated."""
        request_state = self.state_of(state, frame_ids_of(request.constraints), placed=False)
        model, planning = request_state.model, request_state.planning
        group = self._group(service, model, request.group_name)
        # Objects that the request attaches are in no model.
        query = (model if planning is model.planning else Model(planning)).clearance_query(group)
        self._measurements.require_world(planning, query.pairs if group else None, request_state.unplaced)
        if request_state.stale and self.value(STALE) == "refuse":
            raise InputError(f"{request_state.stale} (stale_timeout, {STALE})")
        cost = len(query.pairs) + _cost_of(planning, request.constraints)

        def work() -> tuple[list[ContactInformation], list[CostSource], list[ConstraintEvalResult], list[InputError]]:
            contacts, costs, doubts = contacts_of(request_state, query)
            results, problems = evaluate(request.constraints, request_state)
            return contacts, costs, results, doubts + problems

        contacts, costs, constraints, problems = await self.query(cost, work)
        stamp = self.node.get_clock().now().to_msg()
        if self._current.missing_content:
            self.log.warning("incomplete", f"{service}: answered nevertheless: {self._current.missing_content}")
        if request_state.stale:
            self.log.warning("stale", f"{service}: answered nevertheless: {request_state.stale} (stale_timeout)")
        if problems:
            self.log.error(service, f"{service}: not valid: {'; '.join(map(str, problems[:3]))}")
        response.contacts, response.cost_sources, response.constraint_result = contacts, costs, constraints
        response.valid = not contacts and not problems and all(result.result for result in constraints)
        for contact in contacts:
            contact.header.frame_id, contact.header.stamp = request_state.frame, stamp

    def _group(self, service: str, model: Model, name: str) -> str:
        """Return the group whose pairs are checked; empty: all pairs."""
        if name and name not in model.robot.groups:
            # In this case move_group checks everything.
            self.log.warning(
                "group_name",
                f"{service}: group_name '{name}' is not a group of '{model.robot.name}' (groups: "
                f"{listing(model.robot.groups)}): all pairs are checked",
            )
            return ""
        return name


def states_of(state: RobotState, joint_states: Sequence[JointState]) -> Iterator[RobotState]:
    """Yield a robot state for each of `joint_states`; joints that one does not name keep their previous positions.

    Raises
    ------
    InputError
        If there are no joint states, or one has different numbers of names and positions.
    """
    if not len(joint_states):
        raise InputError("joint_states: is empty, expected at least one state")
    given = dict(positions_of(state.joint_state, "robot_state"))
    for number, joints in enumerate(joint_states):
        given.update(positions_of(joints, f"joint_states[{number}]"))
        yield RobotState(
            joint_state=JointState(header=state.joint_state.header, name=list(given), position=list(given.values())),
            multi_dof_joint_state=state.multi_dof_joint_state,
            attached_collision_objects=state.attached_collision_objects,
            is_diff=state.is_diff,
        )


def count_of(*several: Constraints) -> int:
    """Return the number of constraints; raise `CodedError` if there are too many."""
    kinds = ("joint", "position", "orientation", "visibility")
    count = sum(len(getattr(one, f"{kind}_constraints")) for one in several for kind in kinds)
    if count > MOST_CONSTRAINTS:
        words = f"request: {count} constraints: must be at most {MOST_CONSTRAINTS}"
        raise CodedError(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, words)
    return count


def _cost_of(planning: Planning, constraints: Constraints) -> int:
    """Return the cost of constraints as a number of pairs; a visibility cone is checked with every body of a robot."""
    # Building the body of a cone takes as long as many pairs.
    per_cone = AT_ONCE // 2 + len(planning.robot.bodies)
    return count_of(constraints) + len(constraints.visibility_constraints) * per_cone


def contacts_of(
    request_state: RequestedState, query: ClearanceQuery
) -> tuple[list[ContactInformation], list[CostSource], list[InputError]]:
    """Return a contact for each pair of links and objects without clearance, deepest first, with costs.

    The third list is not empty if there is no contact, but not every clearance is proved to be positive.
    """
    planning = request_state.planning
    with refusals("robot_state"):
        result = query.near_pairs(request_state.positions, request_state.base_poses)
    if result is None:
        return [], [], []
    clear = planning.clearances(result)
    rows = np.flatnonzero(~(clear.lower > 0.0))  # also true for NaN
    rows = rows[np.argsort(clear.distance[rows], kind="stable")]
    contacts, costs, seen = [], [], set()
    for row in rows.tolist():
        a, b = int(result.body_a[row]), int(result.body_b[row])
        names = planning.owners[a], planning.owners[b]
        if frozenset(names) in seen:  # as in move_group: one contact for two links
            continue
        seen.add(frozenset(names))
        contacts.append(_contact(planning, names, result, row, max(0.0, -float(clear.distance[row]))))
        cost = _cost([result.bodies[index] for index in (a, b)], request_state.poses)
        if cost is not None:
            costs.append(cost)
    doubts = [] if contacts else [InputError("not every clearance is proved to be positive (rtol)")]
    return contacts, costs, doubts


# --- contacts ---


def _contact(
    planning: Planning, names: tuple[str, str], result: SceneResult, row: int, depth: float
) -> ContactInformation:
    """Return a contact as in move_group: midway between the two points, normal from body 1 to body 2."""
    types = [
        ContactInformation.WORLD_OBJECT
        if planning.in_world(name)
        else ContactInformation.ROBOT_ATTACHED
        if planning.is_attached(name)
        else ContactInformation.ROBOT_LINK
        for name in names
    ]
    return ContactInformation(
        position=to_point(0.5 * (result.point_a[row] + result.point_b[row])),
        normal=to_vector(result.normal[row]),
        depth=depth,
        contact_body_1=names[0],
        contact_body_2=names[1],
        body_type_1=types[0],
        body_type_2=types[1],
    )


def _cost(bodies: Sequence[Body], link_poses: Mapping[str, np.ndarray]) -> CostSource | None:
    """Return the intersection of the axis-aligned boxes around bodies; None if it is unbounded."""
    lower, upper = np.full(3, -np.inf), np.full(3, np.inf)
    for body in bodies:
        pose = link_poses[body.link] @ body.link_from_body
        low, high = body.shape.aabb(pose[:3, :3])
        lower, upper = np.maximum(lower, low + pose[:3, 3]), np.minimum(upper, high + pose[:3, 3])
    if not (np.isfinite(lower).all() and np.isfinite(upper).all() and (lower <= upper).all()):
        return None
    return CostSource(cost_density=1.0, aabb_min=to_vector(lower), aabb_max=to_vector(upper))


# --- constraints ---


def evaluate(
    constraints: Constraints, request_state: RequestedState
) -> tuple[list[ConstraintEvalResult], list[InputError]]:
    """Evaluate constraints as move_group does: joints, positions, orientations, visibilities, in this order.

    Once the request is stopped, the rest is not evaluated, and counts as not satisfied.

    Returns
    -------
    results
        One for each constraint. If it cannot be evaluated, it is not satisfied, at infinite distance.
    problems
        Errors of constraints that could not be evaluated.
    """
    results, problems = [], []
    for kind, measure in (
        ("joint", _joint_constraint),
        ("position", _position_constraint),
        ("orientation", _orientation_constraint),
        ("visibility", _visibility_constraint),
    ):
        for i, constraint in enumerate(getattr(constraints, f"{kind}_constraints")):
            try:
                if request_state.stop.is_set():
                    raise InputError("the node was cleaned up")
                with refusals():
                    satisfied, distance = measure(constraint, request_state)
            except InputError as error:
                satisfied, distance = False, math.inf
                problems.append(InputError(f"{kind}_constraints[{i}]: {error}", error.code))
            results.append(ConstraintEvalResult(result=bool(satisfied), distance=float(distance)))
    return results, problems


def _weight(weight: float) -> float:
    return weight if weight > np.finfo(float).eps else 1.0


def _check_finite(name: str, *values: float) -> None:
    if not np.isfinite(values).all():
        raise InputError(f"{name} = {list(map(float, values))}: must be finite")


def _joint_constraint(constraint: JointConstraint, request_state: RequestedState) -> tuple[bool, float]:
    robot, name = request_state.planning.robot, constraint.joint_name
    above, below = constraint.tolerance_above, constraint.tolerance_below
    _check_finite(f"joint '{name}': position and tolerances", constraint.position, above, below)
    if above < 0.0 or below < 0.0:
        raise InputError(f"joint '{name}': tolerances {above}, {below}: must not be negative")
    value = robot.position_of(name, request_state.positions)
    if value is None:
        raise InputError(f"joint '{name}' is not a joint with one position; known: {listing(robot.joint_names)}")
    wanted = constraint.position
    joint = robot.joints[name]
    if joint.kind == "continuous":
        difference = math.remainder(value - wanted, 2.0 * math.pi)
    else:
        # As in move_group, a position beyond the joint's limits is moved to the limit.
        low, high = joint.limits
        if wanted + above < low:
            wanted, above = low, np.finfo(float).eps
        elif wanted - below > high:
            wanted, below = high, np.finfo(float).eps
        difference = value - wanted
    return -below - _EPSILON <= difference <= above + _EPSILON, _weight(constraint.weight) * abs(difference)


def _position_constraint(constraint: PositionConstraint, request_state: RequestedState) -> tuple[bool, float]:
    frames, offset = request_state.frames, constraint.target_point_offset
    _check_finite("target_point_offset", offset.x, offset.y, offset.z)
    point = (frames.link(constraint.link_name) @ (offset.x, offset.y, offset.z, 1.0))[:3]
    for root_from_shape, shape in placed_shapes(constraint, frames):
        inside = bool(shape.contains((np.linalg.inv(root_from_shape) @ (*point, 1.0))[:3]))
        distance = float(np.linalg.norm(root_from_shape[:3, 3] - point))
        if inside:
            break
    return inside, _weight(constraint.weight) * distance


def placed_shapes(constraint: PositionConstraint, frames: Frames) -> list[tuple[np.ndarray, Shape]]:
    """Return the shapes that may contain a position, each with its pose in the root link, m, shape (4, 4)."""
    root_from_header = frames.lookup(constraint.header.frame_id, "constraint_region")
    region = constraint.constraint_region
    shapes = [shape_of_primitive(one, f"primitives[{i}]") for i, one in enumerate(region.primitives)]
    shapes += [shape_of_mesh(mesh, f"meshes[{i}]")[0] for i, mesh in enumerate(region.meshes)]
    poses = [*region.primitive_poses, *region.mesh_poses]
    if len(region.primitives) != len(region.primitive_poses) or len(region.meshes) != len(region.mesh_poses):
        raise InputError(f"constraint_region: {len(shapes)} shapes, {len(poses)} poses: each shape needs one")
    if not shapes:
        raise InputError("constraint_region: has no shape")
    placed = [root_from_header @ from_pose(pose, f"constraint_region: pose {i}") for i, pose in enumerate(poses)]
    return list(zip(placed, shapes, strict=True))


def _orientation_constraint(constraint: OrientationConstraint, request_state: RequestedState) -> tuple[bool, float]:
    frames = request_state.frames
    tolerances = np.abs([getattr(constraint, f"absolute_{axis}_axis_tolerance") for axis in "xyz"])
    _check_finite("tolerances", *tolerances)
    header_from_wanted, wanted = wanted_rotation(constraint, frames)
    difference = wanted.T @ frames.link(constraint.link_name)[:3, :3]
    if constraint.parameterization == OrientationConstraint.ROTATION_VECTOR:
        from scipy.spatial.transform import Rotation  # imported here, since it is slow

        errors = np.abs(header_from_wanted @ Rotation.from_matrix(difference).as_rotvec())
    else:
        errors = _euler_errors(difference, tolerances)
    satisfied = bool((errors <= tolerances + np.finfo(float).eps).all())
    return satisfied, _weight(constraint.weight) * float(errors.sum())


def wanted_rotation(constraint: OrientationConstraint, frames: Frames) -> tuple[np.ndarray, np.ndarray]:
    """Return the requested rotation in the frame of the constraint and in the root link, shape (3, 3) each."""
    q = constraint.orientation
    quaternion = np.array([q.x, q.y, q.z, q.w])
    if not abs(np.linalg.norm(quaternion) - 1.0) <= 1e-3:
        raise InputError(f"orientation {quaternion.tolist()}: must be a quaternion of unit length")
    header_from_wanted = from_pose(Pose(orientation=q), "orientation")[:3, :3]
    return header_from_wanted, frames.lookup(constraint.header.frame_id, "orientation")[:3, :3] @ header_from_wanted


def _visibility_constraint(constraint: VisibilityConstraint, request_state: RequestedState) -> tuple[bool, float]:
    """Evaluate whether a sensor sees a target disc: both angles, and no link in the cone between sensor and disc.

    As in move_group, the view angle is between the sensor's axis and the reversed normal of the disc, and the range
    angle between the sensor's axis and the direction to the disc's centre. Objects, attached or not, and the links that
    carry sensor and target do not hide the disc. The distance is the depth of a link in the cone.
    """
    frames = request_state.frames
    if request_state.unplaced:
        raise InputError(request_state.unplaced, Code.INCOMPLETE_WORLD)
    if constraint.sensor_view_direction not in (
        VisibilityConstraint.SENSOR_Z,
        VisibilityConstraint.SENSOR_Y,
        VisibilityConstraint.SENSOR_X,
    ):
        raise InputError(f"sensor_view_direction = {constraint.sensor_view_direction}: must be 0 (z), 1 (y) or 2 (x)")
    radius, view, spread = abs(constraint.target_radius), constraint.max_view_angle, constraint.max_range_angle
    _check_finite("target_radius, max_view_angle, max_range_angle", radius, view, spread)
    places = []
    for name in ("sensor_pose", "target_pose"):
        given = getattr(constraint, name)
        places.append(frames.lookup(given.header.frame_id, name) @ from_pose(given.pose, name))
    sensor, target = places
    axis = sensor[:3, 2 - constraint.sensor_view_direction]
    to_target = target[:3, 3] - sensor[:3, 3]
    towards = to_target / (np.linalg.norm(to_target) or 1.0)
    small = np.finfo(float).eps
    for most, direction in ((view, -target[:3, 2]), (spread, towards)):
        # Beyond a right angle the sensor faces away, whatever the limit.
        if most > small and _angle(axis, direction) > min(most, 0.5 * math.pi):
            return False, 0.0
    if radius <= small:
        return True, 0.0
    sides = max(3, constraint.cone_sides)
    if sides > _MOST_SIDES:
        raise InputError(f"cone_sides = {sides}: must be at most {_MOST_SIDES}")
    excepted = {frames.link_of(pose.header.frame_id) for pose in (constraint.sensor_pose, constraint.target_pose)}
    depth = _depth_in_cone(request_state, _cone(radius, sides, np.linalg.inv(target) @ sensor), target, excepted)
    return depth is None, depth or 0.0


def _angle(a: np.ndarray, b: np.ndarray) -> float:
    return math.acos(min(1.0, max(-1.0, float(a @ b))))


def _cone(radius: float, sides: int, target_from_sensor: np.ndarray) -> ConvexMesh:
    """Return the pyramid over the target disc with its apex at the sensor, in the target's frame."""
    angle = 2.0 * math.pi * np.arange(sides) / sides
    ring = np.column_stack([radius * np.sin(angle), radius * np.cos(angle), np.zeros(sides)])
    with refusals("the sensor lies in the plane of the target disc: there is no cone between them"):
        return ConvexMesh([target_from_sensor[:3, 3], *ring])


def _depth_in_cone(
    request_state: RequestedState, cone: ConvexMesh, root_from_cone: np.ndarray, excepted: set[str]
) -> float | None:
    """Return how deep links other than `excepted` reach into a cone, m; None if all are proved to be outside."""
    planning = request_state.planning
    robot = planning.robot
    links = [body for body in robot.bodies if body.link not in excepted]
    scene = Scene(
        [*links, Body("<cone>", robot.root, cone, root_from_cone)], [(i, len(links)) for i in range(len(links))]
    )
    scene.set_link_poses(request_state.poses)
    result = scene.query(max_distance=1e-9)
    inside = result.lower <= 0.0
    return max(0.0, -float(result.distance[inside].min())) if inside.any() else None


def _euler_errors(rotation: np.ndarray, tolerances: Sequence[float]) -> np.ndarray:
    """Return the absolute angles about the rotating axes x, y, z; ambiguous angles use the tolerances."""
    sine = rotation[0, 2]
    if abs(sine) < 1.0 - 1e-9:
        angles = np.array(
            [
                math.atan2(-rotation[1, 2], rotation[2, 2]),
                math.asin(sine),
                math.atan2(-rotation[0, 1], rotation[0, 0]),
            ]
        )
    else:
        # Gimbal lock: x and z rotate about the same axis. As in move_group, use x, and z beyond the tolerance of x.
        angles = np.array([math.atan2(rotation[2, 1], rotation[1, 1]), math.copysign(0.5 * math.pi, sine), 0.0])
        if abs(angles[0]) > tolerances[2] + np.finfo(float).eps:
            angles = np.array([0.0, angles[1], angles[0]])
    return np.abs(angles)
