# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rigid transforms in the forms that other libraries give them, as homogeneous matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.shapes.checks import short

FloatArray = NDArray[np.float64]


@runtime_checkable
class Homogeneous(Protocol):
    """What has its 4 x 4 matrix as an attribute, as `pinocchio.SE3`."""

    @property
    def homogeneous(self) -> Any:
        """The matrix, shape (4, 4)."""


@runtime_checkable
class AsMatrix(Protocol):
    """What gives its matrix when asked, as `scipy.spatial.transform.RigidTransform` and `Rotation`."""

    def as_matrix(self) -> Any:
        """The matrix, shape (..., 4, 4) of a transform, (..., 3, 3) of a rotation."""


PoseLike: TypeAlias = ArrayLike | Homogeneous | AsMatrix | tuple[ArrayLike | AsMatrix, ArrayLike]
"""A rigid transform: a 4 x 4 array, an object with `as_matrix()` or `homogeneous`, or (rotation, translation)."""
PosesLike: TypeAlias = PoseLike | Sequence[PoseLike]
"""One or many of them: an array (n, 4, 4), one object that stands for many, or a sequence."""

EXPECTED = (
    "a 4 x 4 matrix of numbers, a scipy RigidTransform, an object with .homogeneous (pinocchio), or a pair "
    "(rotation, translation) of a 3 x 3 matrix or scipy Rotation and three numbers"
)


def matrices_of(name: str, poses: PosesLike) -> Any:
    """Homogeneous matrices of rigid transforms; what is none of the other forms is given back as it is.

    Parameters
    ----------
    name : str
        Name of the argument, for the error.
    poses : (..., 4, 4) array_like, transform, (rotation, translation), or sequence of these

    Returns
    -------
    array_like
        Not checked yet: `superovoid.contact.inputs.as_poses` does that.

    Raises
    ------
    ValueError
        If it is a rotation alone, or a pair whose parts do not fit.
    """
    if isinstance(poses, np.ndarray):
        return poses if poses.dtype != object else _from_sequence(name, poses.tolist())
    if isinstance(poses, AsMatrix):
        matrix = np.asarray(poses.as_matrix())
        if matrix.shape[-2:] == (3, 3):
            raise ValueError(f"{name}: found a rotation alone, expected {EXPECTED}")
        return matrix
    if isinstance(poses, Homogeneous):
        return np.asarray(poses.homogeneous)
    if isinstance(poses, list | tuple) and poses:
        return _from_sequence(name, poses)
    return poses


def _from_sequence(name: str, poses: Sequence[Any]) -> Any:
    first = poses[0]
    if len(poses) == 2:
        rotation = _rotation(first)
        if rotation is not None:
            return _joined(name, rotation, poses[1])
    # Arrays of numbers, the usual case, are left to numpy as they are.
    if isinstance(first, np.ndarray | list) and not (isinstance(first, list) and len(first) == 2):
        if all(isinstance(pose, np.ndarray | list) for pose in poses):
            return poses
    if isinstance(first, int | float | np.number):
        return poses
    return [matrices_of(f"{name}[{i}]", pose) for i, pose in enumerate(poses)]


def _rotation(value: Any) -> FloatArray | None:
    """The rotation matrices of a pair's first part; None where it is none."""
    if isinstance(value, AsMatrix):
        matrix = np.asarray(value.as_matrix())
        return matrix if matrix.shape[-2:] == (3, 3) else None
    if isinstance(value, np.ndarray | list | tuple):
        try:
            matrix = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
        return matrix if matrix.shape[-2:] == (3, 3) else None
    return None


def _joined(name: str, rotation: FloatArray, translation: Any) -> FloatArray:
    try:
        place = np.asarray(translation, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name}: the translation must be three numbers (metres), found {short(translation)}"
        ) from None
    if place.shape[-1:] != (3,):
        raise ValueError(f"{name}: the translation must be three numbers (metres), found shape {place.shape}")
    try:
        shape = np.broadcast_shapes(rotation.shape[:-2], place.shape[:-1])
    except ValueError:
        raise ValueError(
            f"{name}: {rotation.shape[:-2]} rotations and {place.shape[:-1]} translations do not fit"
        ) from None
    matrix = np.zeros((*shape, 4, 4))
    matrix[..., :3, :3] = rotation
    matrix[..., :3, 3] = place
    matrix[..., 3, 3] = 1.0
    return matrix
