# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Poses of bodies as arguments of callers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superovoid.shapes.kernels.rounding import AS_IS, rotation_error, straighten_rows
from superovoid.values.poses import ROTATION_TOLERANCE, PosesLike, as_matrices, check_rigid

FloatArray = NDArray[np.float64]


def as_poses(name: str, poses: PosesLike) -> FloatArray:
    """Convert rigid transforms from any form (`superovoid.values.poses`), check them, make them rigid to the last bits.

    A pose represents the rotation nearest to its upper left 3 x 3 matrix (the polar factor) and its unchanged
    translation: all intervals hold for these (`superovoid.shapes.kernels.rounding`).

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
        C-contiguous float64. Matrices farther from a rotation than double precision allows are replaced by the nearest
        rotation. Without such matrices, the given array is returned.

    Raises
    ------
    ValueError
        If the shape is wrong, a number is not real or not finite, a matrix is not a rotation and a translation, or a
        coordinate is beyond 1e30 m.
    """
    array = as_matrices(name, poses)
    rows = array.reshape(-1, 4, 4)
    error = rotation_error(rows)
    if error <= AS_IS:
        return array
    if not error < ROTATION_TOLERANCE:
        check_rigid(name, rows)
    rigid = rows.copy()
    straighten_rows(rigid)
    return rigid.reshape(array.shape)


def as_pose(name: str, pose: PosesLike) -> FloatArray:
    """`as_poses` for one, shape (4, 4)."""
    matrix = as_poses(name, pose)
    if matrix.shape != (4, 4):
        raise ValueError(f"{name}: must have shape (4, 4), found {matrix.shape}")
    return matrix
