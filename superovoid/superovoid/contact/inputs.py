# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What callers give: poses and tolerances, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superovoid.contact.poses import EXPECTED, PosesLike, matrices_of
from superovoid.shapes import Shape, Superovoid
from superovoid.shapes.checks import short
from superovoid.shapes.kernels.rounding import AS_IS, MOST_LENGTH, rotation_error, straighten_rows

FloatArray = NDArray[np.float64]


TOLERANCE = 1e-9
SEARCH_BUDGET = 4000
_ROTATION_LIMIT = 2e-6  # of the norm of R^T R - I: single precision leaves a tenth of that


def as_poses(name: str, poses: PosesLike) -> FloatArray:
    """Take rigid transforms in any form (`superovoid.contact.poses`), check them, make them so to the last bits.

    A pose stands for the rotation that is nearest to its upper left 3 x 3 matrix (the polar factor) and for its
    translation as it is: this is what all intervals hold for (`superovoid.shapes.kernels.rounding`).

    Parameters
    ----------
    name : str
        Name of the argument, for the error.
    poses : (..., 4, 4) array_like, transform, (rotation, translation), or sequence of these
        Rigid transforms, body to world, m. The matrix may be off from a rotation as in single precision, or
        after many products: the norm of R^T R - I up to 2e-6.

    Returns
    -------
    (..., 4, 4) ndarray
        C-contiguous float64. Rotations that are off by more than double precision must be are replaced by the nearest
        rotation; the array is the one given where there are none.

    Raises
    ------
    ValueError
        If the shape is wrong, a number is not real or not finite, a matrix is not a rotation and a translation, or a
        coordinate is beyond 1e30 m.
    """
    given = poses if type(poses) is np.ndarray else matrices_of(name, poses)  # arrays, the fast way, are taken as is
    if type(given) is np.ndarray and given.dtype.kind == "c":
        raise ValueError(f"{name}: must be real, found complex numbers; expected {EXPECTED}")
    try:
        array = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        if isinstance(given, np.ndarray) and given.dtype == object and given.ndim:
            return as_poses(name, given.tolist())
        raise ValueError(f"{name}: must be {EXPECTED}; found {short(poses)}") from None
    if array.shape[-2:] != (4, 4):
        has_shape = isinstance(given, np.ndarray | list | tuple)
        found = f"{array.shape}" if has_shape else short(poses)
        raise ValueError(f"{name}: must have shape (..., 4, 4), found {found}; expected {EXPECTED}")
    rows = array.reshape(-1, 4, 4)
    error = rotation_error(rows)
    if error <= AS_IS:
        return array
    if not error < _ROTATION_LIMIT:
        _complain_about_poses(name, rows)
    rigid = rows.copy()
    straighten_rows(rigid)
    return rigid.reshape(array.shape)


def as_pose(name: str, pose: PosesLike) -> FloatArray:
    """`as_poses` for one, shape (4, 4)."""
    matrix = as_poses(name, pose)
    if matrix.shape != (4, 4):
        raise ValueError(f"{name}: must have shape (4, 4), found {matrix.shape}")
    return matrix


def _complain_about_poses(name: str, rows: FloatArray) -> None:
    if not np.isfinite(rows).all():
        raise ValueError(f"{name}: must be finite, found nan or inf")
    if not (rows[:, 3] == (0.0, 0.0, 0.0, 1.0)).all():
        raise ValueError(f"{name}: last row must be (0, 0, 0, 1)")
    farthest = np.abs(rows[:, :3, 3]).max()
    if farthest > MOST_LENGTH:
        raise ValueError(f"{name}: coordinates must be within {MOST_LENGTH:g} m, found {farthest:.3g}")
    turns = rows[:, :3, :3]
    error = np.linalg.norm(np.swapaxes(turns, 1, 2) @ turns - np.eye(3), axis=(1, 2)).max()
    if not error < _ROTATION_LIMIT:
        raise ValueError(f"{name}: upper left 3 x 3 must be a rotation, found R^T R - I of norm {error:.3g}")
    raise ValueError(f"{name}: upper left 3 x 3 must be a rotation, found a reflection (determinant -1)")


def check_tolerance(tolerance: float) -> float:
    """Return the tolerance as a float; `ValueError` where it is no number from 1e-12 on."""
    if tolerance is TOLERANCE:
        return tolerance
    real = isinstance(tolerance, int | float | np.floating) and not isinstance(tolerance, bool)
    if not (real and 1e-12 <= tolerance <= MOST_LENGTH):
        raise ValueError(f"tolerance = {short(tolerance)}: must be a number of at least 1e-12, at most {MOST_LENGTH:g}")
    return float(tolerance)


def packed_row(name: str, shape: Shape) -> FloatArray:
    """Return the row of numbers of a shape; `TypeError` where it is none."""
    if isinstance(shape, Superovoid):
        return shape._packed
    if not isinstance(shape, Shape):
        raise TypeError(f"{name}: must be a shape of superovoid.shapes, found {type(shape).__name__}")
    return shape._row
