# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Check the arguments of callers: poses and tolerances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superovoid.shapes.kernels.rounding import AS_IS, rotation_error, straighten_rows
from superovoid.values.checks import MOST_LENGTH, shorten
from superovoid.values.poses import ROTATION_TOLERANCE, PosesLike, as_matrices, check_rigid

FloatArray = NDArray[np.float64]


TOLERANCE = 1e-9
SEARCH_BUDGET = 4000


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


def check_rtol(rtol: float) -> float:
    """Return the relative tolerance as a float; raise `ValueError` if it is not a number of at least 1e-12."""
    if rtol is TOLERANCE:
        return rtol
    real = isinstance(rtol, int | float | np.floating) and not isinstance(rtol, bool)
    if not (real and 1e-12 <= rtol <= MOST_LENGTH):
        raise ValueError(f"rtol = {shorten(rtol)}: must be a number of at least 1e-12, at most {MOST_LENGTH:g}")
    return min(max(float(rtol), 1e-12), MOST_LENGTH)  # numpy compares in single precision
