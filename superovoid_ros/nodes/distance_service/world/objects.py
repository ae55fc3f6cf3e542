# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversions of MoveIt's messages to shapes, poses and matrices, and back; every error names the object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import Pose
from moveit_msgs.msg import AllowedCollisionEntry as MatrixEntry
from moveit_msgs.msg import AllowedCollisionMatrix as MatrixMessage
from moveit_msgs.msg import CollisionObject
from octomap_msgs.msg import Octomap
from shape_msgs.msg import Mesh as MeshMessage
from shape_msgs.msg import MeshTriangle, SolidPrimitive
from shape_msgs.msg import Plane as PlaneMessage

from superovoid.robot.octomap import Octree
from superovoid.robot.rules import AllowedCollisionMatrix
from superovoid.shapes import Box, Cone, ConvexMesh, Cylinder, HalfSpace, Mesh, Shape, Shell, Sphere
from superovoid.values.checks import is_refusal
from superovoid_ros.nodes.common.conversions import from_pose, to_point, to_pose
from superovoid_ros.nodes.common.mistakes import InputError, check_name, refusals

# For each type: its name, the names of its dimensions, and the shape. Lengths are full lengths, as in the message. Like
# MoveIt, this has no prisms.
_PRIMITIVES = {
    SolidPrimitive.BOX: ("box", ("x", "y", "z"), lambda x, y, z: Box((x, y, z))),
    SolidPrimitive.SPHERE: ("sphere", ("radius",), Sphere),
    SolidPrimitive.CYLINDER: ("cylinder", ("height", "radius"), lambda height, radius: Cylinder(radius, height)),
    SolidPrimitive.CONE: ("cone", ("height", "radius"), lambda height, radius: Cone(radius, height)),
}
_THINNEST = 1e-9
"""Length that replaces a box side of 0, which MoveIt accepts, m: the body becomes larger, never smaller."""
_NO_POSE = Pose()
_MOST_SUBFRAMES = 100  # of an object
_MOST_DIMENSIONS = 3  # the bound of SolidPrimitive.dimensions; a sphere may have unused ones


def shape_of_primitive(primitive: SolidPrimitive, name: str) -> Shape:
    """Return the shape of a primitive; raise `InputError` if its type is unknown or it has no volume."""
    kind = int(primitive.type)
    if kind not in _PRIMITIVES:
        known = ", ".join(f"{number} ({words})" for number, (words, _, _) in _PRIMITIVES.items())
        raise InputError(f"{name}: type {kind} is not a primitive; types: {known}")
    words, fields, make = _PRIMITIVES[kind]
    dimensions = [float(value) for value in primitive.dimensions]
    # Receivers do not enforce the bound of the message.
    if not len(fields) <= len(dimensions) <= _MOST_DIMENSIONS:
        raise InputError(f"{name}: a {words} has dimensions ({', '.join(fields)}), found {dimensions}")
    if kind == SolidPrimitive.BOX:
        dimensions = [_THINNEST if value == 0.0 else value for value in dimensions]
    for field, value in zip(fields, dimensions, strict=False):
        if not (np.isfinite(value) and value > 0.0):
            raise InputError(f"{name}: {field} of the {words} = {value}: must be positive and finite (metres)")
    with refusals(f"{name}: {words}"):
        return make(*dimensions[: len(fields)])


def shape_of_mesh(mesh: MeshMessage, name: str, open_meshes: str = "hull") -> tuple[Shape, str]:
    """Return the shape of a triangle mesh, and a warning about it (may be empty).

    Triangles may have either orientation. If they do not close, `open_meshes` selects their convex hull ("hull"), which
    is never smaller, or a shell without an inside ("shell").
    """
    vertices = np.array([(p.x, p.y, p.z) for p in mesh.vertices], dtype=np.float64).reshape(-1, 3)
    faces = np.array([t.vertex_indices for t in mesh.triangles], dtype=np.int64).reshape(-1, 3)
    if not len(vertices) or not len(faces):
        raise InputError(f"{name}: the mesh is empty ({len(vertices)} vertices, {len(faces)} triangles)")
    if not np.isfinite(vertices).all():
        raise InputError(f"{name}: vertex {int(np.argmin(np.isfinite(vertices).all(axis=1)))} is not finite")
    if faces.max() >= len(vertices):
        raise InputError(f"{name}: a triangle refers to vertex {faces.max()}, but there are only {len(vertices)}")
    try:
        return Mesh.from_triangles(vertices, faces), ""
    except ValueError as error:
        if not is_refusal(error):
            raise
        words = f"{name}: {error}: using its convex hull"
    if open_meshes == "shell":
        with refusals(name):
            return Shell(vertices, faces), ""
    with refusals(name, "close it, send primitives instead, or set open_meshes to shell"):
        hull = ConvexMesh(vertices[np.unique(faces)])
        return Mesh.from_triangles(hull.vertices, hull.faces), words


def half_space(plane: PlaneMessage, name: str) -> np.ndarray:
    """Return the pose of the half-space a x + b y + c z + d <= 0, shape (4, 4): solid below, z the outward normal."""
    coefficients = np.array(plane.coef, dtype=np.float64)
    length = float(np.linalg.norm(coefficients[:3]))
    if not (np.isfinite(coefficients).all() and length > 1e-9):
        raise InputError(f"{name}: coefficients {coefficients.tolist()} must be finite, a, b, c not all 0")
    z = coefficients[:3] / length
    # Choose an x axis across z that is nearest to a coordinate axis: the plane z <= 0 has no rotation.
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    pose[:3, 3] = -coefficients[3] / length * z
    return pose


# Of each kind: the fields of the shapes and of their poses, and a function that returns the shape and a warning.
_PARTS: tuple[tuple[str, str, Callable[..., tuple[Shape, str]]], ...] = (
    ("primitives", "primitive_poses", lambda one, name, _: (shape_of_primitive(one, name), "")),
    ("meshes", "mesh_poses", shape_of_mesh),
    ("planes", "plane_poses", lambda _one, _name, _: (HalfSpace(), "")),
)


class Contents(NamedTuple):
    """Shapes, poses and subframes of an object in a message."""

    shapes: list[Shape]
    """Primitives, meshes, planes, in this order."""
    object_from_shape: np.ndarray
    """m, shape (n, 4, 4)."""
    pose: np.ndarray
    """header_from_object, m, shape (4, 4)."""
    has_pose: bool
    """Whether the object has a pose of its own."""
    subframes: dict[str, np.ndarray]
    """object_from_subframe by name, m; the later of two with one name is used, as in MoveIt."""
    notes: list[str]
    """Warnings."""


def read_contents(
    message: CollisionObject, what: str, open_meshes: str = "hull", *, is_appended: bool = False
) -> Contents:
    """Return the contents of a message about an object.

    As in MoveIt, the pose of a single shape becomes the pose of the object if the object itself has none, unless the
    shape is appended to an object with a pose.

    Parameters
    ----------
    message
        The object.
    what
        Its name, for errors.
    open_meshes
        As for `shape_of_mesh`.
    is_appended
        Whether its shapes are appended to an object with a pose.
    """
    if not has_shapes(message):
        raise InputError(f"{what}: has no shape: add primitives, meshes or planes")
    shapes, poses, notes = [], [], []
    for parts, of_poses, read in _PARTS:
        each, given = getattr(message, parts), getattr(message, of_poses)
        if len(given) > len(each):
            raise InputError(f"{what}: {len(each)} {parts}, {len(given)} {of_poses}: more poses than shapes")
        for i, part in enumerate(each):
            shape, words = read(part, f"{what}: {parts}[{i}]", open_meshes)
            shapes.append(shape)
            notes += filter(None, (words,))
        poses += [from_pose(one, f"{what}: {of_poses}[{i}]") for i, one in enumerate(given)]
        poses += [np.eye(4)] * (len(each) - len(given))  # as in MoveIt
    pose, has_pose = from_pose(message.pose, f"{what}: pose"), message.pose != _NO_POSE
    if len(shapes) == 1 and not is_appended and not has_pose:
        pose, poses = poses[0], [np.eye(4)]
    first_plane = len(shapes) - len(message.planes)
    for i, plane in enumerate(message.planes):
        poses[first_plane + i] = poses[first_plane + i] @ half_space(plane, f"{what}: planes[{i}]")
    return Contents(shapes, np.array(poses), pose, has_pose, _subframes(message, what), notes)


def _subframes(message: CollisionObject, what: str) -> dict[str, np.ndarray]:
    names, poses = message.subframe_names, message.subframe_poses
    if len(names) != len(poses):
        raise InputError(f"{what}: {len(names)} subframe_names, {len(poses)} subframe_poses: must be the same number")
    if len(names) > _MOST_SUBFRAMES:
        raise InputError(f"{what}: {len(names)} subframes, at most {_MOST_SUBFRAMES} are allowed")
    for name in names:
        check_name(name, f"{what}: name of a subframe")
    return {
        name: from_pose(pose, f"{what}: subframe_poses[{i}]")
        for i, (name, pose) in enumerate(zip(names, poses, strict=True))
    }


def has_shapes(message: CollisionObject) -> bool:
    """Return whether a message contains shapes."""
    return any(len(getattr(message, parts)) for parts, _, _ in _PARTS)


def shape_poses_of(message: CollisionObject, what: str) -> list[np.ndarray]:
    """Return the poses of shapes in a message that moves them, in the order of `Contents.shapes`."""
    given = [pose for _, poses, _ in _PARTS for pose in getattr(message, poses)]
    return [from_pose(pose, f"{what}: shape pose {i}") for i, pose in enumerate(given)]


def matrix_of(message: MatrixMessage) -> AllowedCollisionMatrix:
    """Return the allowed collision matrix in a planning scene."""
    with refusals():
        return AllowedCollisionMatrix.from_rows(
            message.entry_names,
            [row.enabled for row in message.entry_values],
            message.default_entry_names,
            message.default_entry_values,
        )


def octree_of(octomap: Octomap) -> Octree:
    """Return the octree in a message."""
    if octomap.id != "OcTree":
        raise InputError(f"octomap: id '{octomap.id}': must be 'OcTree', as for MoveIt")
    with refusals("octomap"):
        return Octree(
            np.asarray(octomap.data, dtype=np.int8).tobytes(), float(octomap.resolution), bool(octomap.binary)
        )


# --- back to messages ---


def message_of_shapes(shapes: Sequence[Shape], object_from_shape: np.ndarray, what: str) -> CollisionObject:
    """Return a collision object with these shapes; the pose of a plane is the frame of its half-space."""
    message = CollisionObject()
    for shape, pose in zip(shapes, map(to_pose, object_from_shape), strict=True):
        if type(shape) not in _MESSAGES:
            raise TypeError(f"{what}: MoveIt has no message for a {type(shape).__name__}")
        parts, of_poses, convert = _MESSAGES[type(shape)]
        getattr(message, parts).append(convert(shape))
        getattr(message, of_poses).append(pose)
    return message


def _message_of_mesh(mesh: Mesh) -> MeshMessage:
    return MeshMessage(
        vertices=[to_point(vertex) for vertex in mesh.vertices],
        triangles=[MeshTriangle(vertex_indices=face) for face in mesh.faces.astype(np.uint32)],
    )


def _to_primitive(kind: int, dimensions: Callable[[Any], Sequence[float]]) -> Callable[[Any], SolidPrimitive]:
    return lambda shape: SolidPrimitive(type=kind, dimensions=list(dimensions(shape)))


_PRIMITIVE, _MESH, _PLANE = (fields[:2] for fields in _PARTS)
_MESSAGES: dict[type[Shape], tuple[str, str, Callable[[Any], Any]]] = {
    Box: (*_PRIMITIVE, _to_primitive(SolidPrimitive.BOX, lambda box: box.lengths)),
    Sphere: (*_PRIMITIVE, _to_primitive(SolidPrimitive.SPHERE, lambda sphere: [sphere.radius])),
    Cylinder: (*_PRIMITIVE, _to_primitive(SolidPrimitive.CYLINDER, lambda one: [one.length, one.radius])),
    Cone: (*_PRIMITIVE, _to_primitive(SolidPrimitive.CONE, lambda cone: [cone.length, cone.radius])),
    Mesh: (*_MESH, _message_of_mesh),
    Shell: (*_MESH, _message_of_mesh),
    HalfSpace: (*_PLANE, lambda _: PlaneMessage(coef=[0.0, 0.0, 1.0, 0.0])),
}


def message_of_matrix(matrix: AllowedCollisionMatrix) -> MatrixMessage:
    """Return the message of a matrix; pairs of its names without an entry are not allowed to collide."""
    names = sorted(frozenset().union(*matrix.entries))
    rows = [MatrixEntry(enabled=[matrix.entries.get(frozenset((a, b)), False) for b in names]) for a in names]
    return MatrixMessage(
        entry_names=names,
        entry_values=rows,
        default_entry_names=list(matrix.defaults),
        default_entry_values=list(matrix.defaults.values()),
    )
