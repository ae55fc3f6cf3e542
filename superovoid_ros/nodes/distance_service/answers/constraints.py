# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Constraints of MoveIt: reading and evaluation in a state. docs/explanation/moveit.md lists the differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from geometry_msgs.msg import Pose
from moveit_msgs.msg import (
    ConstraintEvalResult,
    Constraints,
    JointConstraint,
    MoveItErrorCodes,
    OrientationConstraint,
    PositionConstraint,
    VisibilityConstraint,
)

from superovoid.robot.urdf import Joint
from superovoid.scene import Body, Scene
from superovoid.shapes import ConvexMesh, Shape
from superovoid.values.poses import rotation_vectors_of
from superovoid_ros.nodes.common.conversions import from_pose
from superovoid_ros.nodes.common.mistakes import Code, InputError, listing, refusals
from superovoid_ros.nodes.distance_service.answers.error_codes import CodedError, moveit_code
from superovoid_ros.nodes.distance_service.answers.requested_states import RequestedState
from superovoid_ros.nodes.distance_service.world.frames import Frames
from superovoid_ros.nodes.distance_service.world.objects import shape_of_mesh, shape_of_primitive

MOST_CONSTRAINTS = 1000  # in a request
# Largest number of sides of the pyramid that represents a visibility cone; more would not make it usefully rounder.
_MOST_SIDES = 1000
_EPSILON = 2.0 * np.finfo(float).eps  # as in MoveIt's comparisons
Accept = Callable[[np.ndarray], bool]


def frame_ids_of(*several: Constraints) -> list[str]:
    """Return the frames that constraints name."""
    named = []
    for each in several:
        named += [*each.position_constraints, *each.orientation_constraints]
        named += [pose for one in each.visibility_constraints for pose in (one.sensor_pose, one.target_pose)]
    return [one.header.frame_id for one in named]


def count_of(*several: Constraints) -> int:
    """Return the number of constraints; raise `CodedError` if there are too many."""
    kinds = ("joint", "position", "orientation", "visibility")
    count = sum(len(getattr(one, f"{kind}_constraints")) for one in several for kind in kinds)
    if count > MOST_CONSTRAINTS:
        words = f"request: {count} constraints: must be at most {MOST_CONSTRAINTS}"
        raise CodedError(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, words)
    return count


def condition(constraints: Constraints, state: RequestedState, joints: Sequence[str], what: str) -> Accept | None:
    """Return a test whether a state of planned joints satisfies constraints; None if there are none.

    Raises
    ------
    CodedError
        If a constraint cannot be evaluated, which is tested in the state of the request.
    """
    if not count_of(constraints):
        return None
    _, problems = evaluate(constraints, state)
    if problems:
        raise CodedError(moveit_code(problems[0], MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS), f"{what}: {problems[0]}")

    return lambda at: are_satisfied(constraints, state.with_row(joints, at))


def are_satisfied(constraints: Constraints, state: RequestedState) -> bool:
    """Return whether all constraints can be evaluated in a state, and hold."""
    results, problems = evaluate(constraints, state)
    return not problems and all(result.result for result in results)


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
    low, wanted, high = wanted_positions(constraint, robot.joints[name], value)
    return low - _EPSILON <= value <= high + _EPSILON, _weight(constraint.weight) * abs(value - wanted)


def wanted_positions(constraint: JointConstraint, joint: Joint, near: float) -> tuple[float, float, float]:
    """Return the least, wanted and largest position of a joint, rad or m; of a continuous joint in the turn at `near`.

    As in move_group, a position beyond the joint's limits is moved to the limit.
    """
    wanted = constraint.position
    low, high = wanted - constraint.tolerance_below, wanted + constraint.tolerance_above
    if joint.kind == "continuous":
        turn = near + math.remainder(wanted - near, 2.0 * math.pi) - wanted
        return low + turn, wanted + turn, high + turn
    lower, upper = joint.limits
    if high < lower:
        return lower - constraint.tolerance_below, lower, lower
    return (upper, upper, upper + constraint.tolerance_above) if low > upper else (low, wanted, high)


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
        errors = np.abs(header_from_wanted @ rotation_vectors_of(difference))
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
