# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversions between the library's arrays and ROS messages."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion, Transform, TransformStamped, Vector3
from superovoid_interfaces.msg import SuperovoidObject

from superovoid.values.poses import QUATERNION_TOLERANCE, quaternions_of
from superovoid_ros.nodes.common.mistakes import InputError

if TYPE_CHECKING:
    from superovoid.scene import Body

NANOSECONDS = 1_000_000_000


def to_time(nanoseconds: int) -> Time:
    """Return a stamp from nanoseconds since the epoch of the clock."""
    return Time(sec=nanoseconds // NANOSECONDS, nanosec=nanoseconds % NANOSECONDS)


def to_nanoseconds(stamp: Time) -> int:
    """Return a stamp as nanoseconds since the epoch of the clock."""
    return stamp.sec * NANOSECONDS + stamp.nanosec


def stamp_of(stamp: Time, name: str) -> int:
    """Return the stamp of a measurement in nanoseconds; raise `InputError` if it is invalid.

    A response can repeat any accepted stamp.
    """
    if stamp.sec < 0 or stamp.nanosec >= NANOSECONDS:
        raise InputError(
            f"{name}: stamp {stamp.sec} s {stamp.nanosec} ns: must be at least 0 s, with less than {NANOSECONDS} ns"
        )
    return to_nanoseconds(stamp)


def to_point(vector: np.ndarray) -> Point:
    """Return a point from an array of shape (3,)."""
    return Point(x=float(vector[0]), y=float(vector[1]), z=float(vector[2]))


def to_vector(vector: np.ndarray) -> Vector3:
    """Return a vector from an array of shape (3,)."""
    return Vector3(x=float(vector[0]), y=float(vector[1]), z=float(vector[2]))


def to_quaternion(rotation: np.ndarray) -> Quaternion:
    """Return a unit quaternion from a rotation matrix of shape (3, 3)."""
    x, y, z, w = quaternions_of(rotation).tolist()
    return Quaternion(x=x, y=y, z=z, w=w)


def to_pose(parent_from_child: np.ndarray) -> Pose:
    """Return a pose from a matrix of shape (4, 4)."""
    return Pose(position=to_point(parent_from_child[:3, 3]), orientation=to_quaternion(parent_from_child[:3, :3]))


def to_transform(parent: str, child: str, parent_from_child: np.ndarray, stamp: Time) -> TransformStamped:
    """Return a stamped transform from a matrix of shape (4, 4)."""
    return to_transforms(parent, [child], parent_from_child[None], stamp)[0]


def to_transforms(
    parent: str, children: Sequence[str], parent_from_child: np.ndarray, stamp: Time
) -> list[TransformStamped]:
    """Return stamped transforms from matrices of shape (n, 4, 4)."""
    messages = []
    quaternions = quaternions_of(parent_from_child[:, :3, :3]).tolist()
    for child, matrix, (x, y, z, w) in zip(children, parent_from_child, quaternions, strict=True):
        message = TransformStamped(child_frame_id=child)
        message.header.frame_id = parent
        message.header.stamp = stamp
        message.transform.translation = to_vector(matrix[:3, 3])
        message.transform.rotation = Quaternion(x=x, y=y, z=z, w=w)
        messages.append(message)
    return messages


def from_transform(transform: Transform, name: str) -> np.ndarray:
    """Return a transform as a matrix.

    Parameters
    ----------
    transform
        Translation [m] and rotation.
    name
        Description of the transform, for error messages.

    Returns
    -------
    array, shape (4, 4)

    Raises
    ------
    InputError
        If a number is not finite or the quaternion is not of unit length.
    """
    t, r = transform.translation, transform.rotation
    return _matrix((t.x, t.y, t.z), (r.x, r.y, r.z, r.w), name, "translation", "rotation")


def from_pose(pose: Pose, name: str) -> np.ndarray:
    """Return a pose as a matrix, shape (4, 4), m; its quaternion is normalized, as MoveIt does for objects.

    Raise `InputError` if a number is not finite or the quaternion is 0. (MoveIt replaces a zero quaternion by no
    rotation, with a warning.)
    """
    p, q = pose.position, pose.orientation
    quaternion = q.x, q.y, q.z, q.w
    largest = max(map(abs, quaternion))
    if not (all(map(math.isfinite, quaternion)) and largest > 0.0):
        raise InputError(f"{name}: orientation {list(quaternion)}: must be a finite quaternion that is not 0")
    # Divide by the largest component first, so that squares cannot overflow.
    scaled = [value / largest for value in quaternion]
    length = math.hypot(*scaled)
    return _matrix((p.x, p.y, p.z), tuple([value / length for value in scaled]), name, "position", "orientation")


def _matrix(
    translation: tuple[float, ...], quaternion: tuple[float, ...], name: str, where: str, turned: str
) -> np.ndarray:
    if not all(map(math.isfinite, translation)):
        raise InputError(f"{name}: {where} {list(translation)}: must be finite")
    (px, py, pz), (x, y, z, w) = translation, quaternion
    square = x * x + y * y + z * z + w * w
    # This comparison is false for NaN, so NaN is refused too.
    if not abs(square - 1.0) <= QUATERNION_TOLERANCE:
        raise InputError(f"{name}: {turned} {list(quaternion)}: must be a quaternion of unit length")
    # Same as `robot.forward.poses_of_numbers`, in plain Python: calling a kernel takes longer.
    s = 2.0 / square
    return np.array(
        (
            (1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w), px),
            (s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w), py),
            (s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y), pz),
            (0.0, 0.0, 0.0, 1.0),
        )
    )


def flat_array(code: str, values: np.ndarray) -> array:
    """Return values as a flat array for a message, row by row; `code` is a type code of `array.array`."""
    found = array(code)
    found.frombytes(np.ascontiguousarray(values, dtype=found.typecode).tobytes())
    return found


def superovoid_object(body: Body) -> SuperovoidObject:
    """Return the message that adds a body to the world of a service whose root is the body's link.

    Raise `InputError` if the body is not a superovoid.
    """
    from superovoid.shapes import Superovoid  # imported here, since the client needs no engine

    if not isinstance(body.shape, Superovoid):
        raise InputError(f"object '{body.name}': must be a superovoid, found {body.shape!r}")
    shape = body.shape
    return SuperovoidObject(
        id=body.name,
        pose=to_pose(body.link_from_body),
        size=list(shape.semi_axes),
        epsilon=[shape.section_exponent, shape.profile_exponent],
        taper=list(shape.taper),
    )
