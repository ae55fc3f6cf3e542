# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rigid transforms: convert the types of other libraries to homogeneous matrices, check them, compute quaternions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.values.checks import MOST_LENGTH, shorten

FloatArray = NDArray[np.float64]

ROTATION_TOLERANCE = 2e-6
"""Largest norm of R^T R - I of a rotation matrix, ten times the error of single precision."""
QUATERNION_TOLERANCE = 1e-2
"""Largest deviation of the squared length of a quaternion from one, as in tf2 (which normalises first, and so accepts
every quaternion but zero). A larger deviation is an error of the sender, not rounding."""


@runtime_checkable
class HasHomogeneous(Protocol):
    """An object with its 4 x 4 matrix as an attribute, such as `pinocchio.SE3`."""

    @property
    def homogeneous(self) -> Any:
        """Homogeneous matrix, shape (4, 4)."""


@runtime_checkable
class AsMatrix(Protocol):
    """An object with a method that returns its matrix: `scipy.spatial.transform.RigidTransform` and `Rotation`."""

    def as_matrix(self) -> Any:
        """Return the matrix, shape (..., 4, 4) for a transform, (..., 3, 3) for a rotation."""


PoseLike: TypeAlias = ArrayLike | HasHomogeneous | AsMatrix | tuple[ArrayLike | AsMatrix, ArrayLike]
"""A rigid transform: a 4 x 4 array, (x, y, z), (x, y, z, qx, qy, qz, qw), an object with `as_matrix()` or
`homogeneous`, or (rotation, translation)."""
PosesLike: TypeAlias = PoseLike | Sequence[PoseLike]
"""One or more rigid transforms: also an array (n, 4, 4), (n, 3) or (n, 7), one object for many transforms, or a
sequence."""

ORIGIN = (0.0, 0.0, 0.0)
"""The identity, as a pose that functions have by default."""
EXPECTED = (
    "a 4 x 4 matrix of numbers, (x, y, z), (x, y, z, qx, qy, qz, qw), a scipy RigidTransform, an object with "
    ".homogeneous (pinocchio), or a pair (rotation, translation) of a 3 x 3 matrix or scipy Rotation and three numbers"
)


def as_matrices(name: str, poses: PosesLike) -> FloatArray:
    """Return rigid transforms as homogeneous matrices; `check_rigid` checks their numbers.

    Parameters
    ----------
    name : str
        Name of the argument, for the error.
    poses : (..., 4, 4), (3,), (n, 3), (7,) or (n, 7) array_like, transform, (rotation, translation), or sequence
        Three numbers are a translation, seven a translation and a unit quaternion x y z w.

    Returns
    -------
    (..., 4, 4) ndarray
        C-contiguous float64, without a copy if `poses` is such an array.

    Raises
    ------
    ValueError
        If the shape is wrong, an entry is not a real number, or a quaternion does not have unit length.
    """
    given = poses if type(poses) is np.ndarray else _matrices_of(name, poses)  # fast path for arrays
    if type(given) is np.ndarray and given.dtype.kind in "bc":
        raise ValueError(f"{name}: must be real, found {given.dtype.name}; expected {EXPECTED}")
    try:
        array = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        if isinstance(given, np.ndarray) and given.dtype == object and given.ndim:
            return as_matrices(name, given.tolist())
        raise ValueError(f"{name}: must be {EXPECTED}; found {shorten(poses)}") from None
    if array.ndim in (1, 2) and array.shape[-1] in (3, 7):
        return _from_numbers(name, array)
    if array.shape[-2:] != (4, 4):
        has_shape = isinstance(given, np.ndarray | list | tuple)
        found = f"{array.shape}" if has_shape else shorten(poses)
        raise ValueError(f"{name}: must have shape (..., 4, 4), found {found}; expected {EXPECTED}")
    return array


def _from_numbers(name: str, numbers: FloatArray) -> FloatArray:
    """Return the matrices of x y z, or of x y z qx qy qz qw, along the last axis."""
    # A rotation without its translation is a likelier mistake than three positions with orthogonal unit vectors.
    is_unit = numbers.shape == (3, 3) and np.abs(numbers).max() < 2.0
    if is_unit and np.linalg.norm(numbers.T @ numbers - np.eye(3)) < ROTATION_TOLERANCE:
        raise ValueError(f"{name}: found a rotation alone, expected {EXPECTED}")
    matrix = np.zeros((*numbers.shape[:-1], 4, 4))
    matrix[..., :3, 3] = numbers[..., :3]
    matrix[..., 3, 3] = 1.0
    if numbers.shape[-1] == 3:
        matrix[..., (0, 1, 2), (0, 1, 2)] = 1.0
        return matrix
    x, y, z, w = np.moveaxis(numbers[..., 3:], -1, 0)
    square = x * x + y * y + z * z + w * w
    wrong = ~(np.abs(square - 1.0) <= QUATERNION_TOLERANCE)  # true for nan
    if wrong.any():
        row = f"[{int(wrong.argmax())}]" if numbers.ndim == 2 else ""
        found = shorten(numbers[int(wrong.argmax())].tolist() if row else numbers.tolist())
        raise ValueError(f"{name}{row}: the quaternion (qx, qy, qz, qw) must have unit length, found {found}")
    s = 2.0 / square
    matrix[..., 0, :3] = np.stack([1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)], axis=-1)
    matrix[..., 1, :3] = np.stack([s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)], axis=-1)
    matrix[..., 2, :3] = np.stack([s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)], axis=-1)
    return matrix


def check_rigid(name: str, matrices: FloatArray) -> None:
    """Raise `ValueError` unless all matrices, shape (n, 4, 4), are rigid transforms within `MOST_LENGTH`."""
    if not np.isfinite(matrices).all():
        raise ValueError(f"{name}: must be finite, found nan or inf")
    is_wrong = (matrices[:, 3] != (0.0, 0.0, 0.0, 1.0)).any(axis=1)
    if is_wrong.any():
        wrong = matrices[is_wrong.argmax(), 3]
        raise ValueError(f"{name}: last row must be (0, 0, 0, 1), found {tuple(wrong.tolist())}")
    farthest = np.abs(matrices[:, :3, 3]).max(initial=0.0)
    if farthest > MOST_LENGTH:
        raise ValueError(f"{name}: coordinates must be within {MOST_LENGTH:g} m, found {farthest:.3g}")
    turns = matrices[:, :3, :3]
    error = np.linalg.norm(np.swapaxes(turns, 1, 2) @ turns - np.eye(3), axis=(1, 2)).max(initial=0.0)
    if not error < ROTATION_TOLERANCE:
        raise ValueError(f"{name}: upper left 3 x 3 must be a rotation, found R^T R - I of norm {error:.3g}")
    if not (np.linalg.det(turns) > 0.0).all():
        raise ValueError(f"{name}: upper left 3 x 3 must be a rotation, found a reflection (determinant -1)")


def quaternions_of(rotations: FloatArray) -> FloatArray:
    """Return the unit quaternions x y z w of the rotations nearest to matrices with rounding errors.

    Parameters
    ----------
    rotations : (..., 3, 3) ndarray

    Returns
    -------
    (..., 4) ndarray

    Notes
    -----
    `outer` is 4 q q^T for the rotation of a quaternion q. For a matrix near a rotation, the quaternion of the nearest
    rotation is the eigenvector of the largest eigenvalue of `outer` (Bar-Itzhack, "New method for extracting the
    quaternion from a rotation matrix", 2000). Squaring `outer` twice keeps its eigenvectors, and reduces the other
    eigenvalues, at most 1e-6 of the largest, below rounding. Then each column is a multiple of q; the column of the
    largest component loses no digits.
    """
    m = np.asarray(rotations, dtype=np.float64)
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    outer = np.empty((*m.shape[:-2], 4, 4))
    outer[..., 0, 0], outer[..., 1, 1] = 1.0 + xx - yy - zz, 1.0 - xx + yy - zz
    outer[..., 2, 2], outer[..., 3, 3] = 1.0 - xx - yy + zz, 1.0 + xx + yy + zz
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        outer[..., i, j] = outer[..., j, i] = m[..., i, j] + m[..., j, i]
        outer[..., k, 3] = outer[..., 3, k] = m[..., j, i] - m[..., i, j]
    outer = outer @ outer / 16.0
    outer = outer @ outer
    largest = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    columns = np.take_along_axis(outer, largest[..., None, None], axis=-1)[..., 0]
    return columns / np.linalg.norm(columns, axis=-1, keepdims=True)


def rotation_vectors_of(rotations: FloatArray) -> FloatArray:
    """Return the rotation vectors, with angles from 0 to pi, of the rotations nearest to matrices.

    Parameters
    ----------
    rotations : (..., 3, 3) ndarray

    Returns
    -------
    (..., 3) ndarray
        rad.
    """
    quaternions = quaternions_of(rotations)
    vector, real = quaternions[..., :3], quaternions[..., 3:]
    sine = np.linalg.norm(vector, axis=-1, keepdims=True)
    ratio = np.full_like(sine, 2.0)  # of the angle to the sine of its half
    np.divide(2.0 * np.arctan2(sine, np.abs(real)), sine, out=ratio, where=sine > 0.0)
    return np.asarray(vector * np.copysign(ratio, real))


def _matrices_of(name: str, poses: PosesLike) -> Any:
    """Return homogeneous matrices of rigid transforms; numbers and values of unknown types are returned unchanged.

    Parameters
    ----------
    name : str
        Name of the argument, for the error.
    poses : (..., 4, 4) array_like, transform, (rotation, translation), or sequence of these

    Returns
    -------
    array_like
        Neither shape nor numbers are checked: see `as_matrices`.

    Raises
    ------
    ValueError
        If `poses` is a rotation without translation, or a pair whose shapes do not match.
    """
    if isinstance(poses, np.ndarray):
        if np.ma.is_masked(poses):
            raise ValueError(f"{name}: must be numbers, found masked ones")
        return poses if poses.dtype != object else _from_sequence(name, poses.tolist())
    if isinstance(poses, list | tuple):
        return _from_sequence(name, poses) if poses else poses
    if isinstance(poses, AsMatrix):
        matrix = np.asarray(poses.as_matrix())
        if matrix.shape[-2:] == (3, 3):
            raise ValueError(f"{name}: found a rotation alone, expected {EXPECTED}")
        return matrix
    if isinstance(poses, HasHomogeneous):
        return np.asarray(poses.homogeneous)
    return poses


def _from_sequence(name: str, poses: Sequence[Any]) -> Any:
    first = poses[0]
    if len(poses) == 2:
        rotation = _rotation(first)
        if rotation is not None:
            return _from_pair(name, rotation, poses[1])
    if isinstance(first, int | float | np.number):
        return poses
    # Usual case: numpy converts sequences of one form of numbers.
    if all(isinstance(pose, np.ndarray | list | tuple) for pose in poses):
        try:
            array = np.asarray(poses)
        except ValueError:  # of several shapes
            array = np.empty(0, dtype=object)
        if array.dtype.kind in "biufc":
            return array
    return [as_matrices(f"{name}[{i}]", pose) for i, pose in enumerate(poses)]


def _rotation(value: Any) -> FloatArray | None:
    """Return the first item of a pair as rotation matrices, or None if it is not a rotation."""
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


def _from_pair(name: str, rotation: FloatArray, translation: Any) -> FloatArray:
    try:
        place = np.asarray(translation, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name}: the translation must be three numbers (metres), found {shorten(translation)}"
        ) from None
    if place.shape[-1:] != (3,):
        raise ValueError(f"{name}: the translation must be three numbers (metres), found shape {place.shape}")
    try:
        shape = np.broadcast_shapes(rotation.shape[:-2], place.shape[:-1])
    except ValueError:
        raise ValueError(
            f"{name}: {rotation.shape[:-2]} rotations and {place.shape[:-1]} translations do not match"
        ) from None
    matrix = np.zeros((*shape, 4, 4))
    matrix[..., :3, :3] = rotation
    matrix[..., :3, 3] = place
    matrix[..., 3, 3] = 1.0
    return matrix
