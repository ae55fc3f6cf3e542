# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public interface of the framework of Lopes et al. 2010."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.shapes.poses import as_poses
from superovoid.values.records import Record, Statistics
from superovoid_papers.methods.lopes2010 import newton_raphson, proximity, superquadrics
from superovoid_papers.methods.lopes2010.newton_raphson import Settings
from superovoid_papers.methods.lopes2010.proximity import QUERIES
from superovoid_papers.methods.lopes2010.superquadrics import Body, pack
from superovoid_papers.methods.lopes2010.tangent_vectors import METHODS
from superovoid_papers.methods.result import MethodResult, unproven_result

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-6
"""Tolerance of the paper's experiments, m (section 7)."""
MAX_ITERATIONS = 50
"""The paper gives no limit."""
JACOBIANS = {"analytic": 0, "differences": 1}


@dataclass(frozen=True, eq=False, repr=False)
class Motion(Record):
    """Results of the loop of section 6: arrays with one row per time step.

    If the proximity query finds the bodies separate, nothing is solved: `distance`, points and normal are nan.
    """

    solved: NDArray[np.bool_]
    """Whether Newton's method was run."""
    converged: NDArray[np.bool_]
    """Whether it met its criterion. If so, the next step starts at its points, otherwise at the midpoint of the
    centres."""
    distance: FloatArray
    """Signed distance (table 2), m; contact unless positive."""
    lower: FloatArray
    """Lower bound of the distance by the proximity query, m; -inf if there is none."""
    point_a: FloatArray
    """(n, 3), world, m."""
    point_b: FloatArray
    """(n, 3), world, m."""
    normal: FloatArray
    """(n, 3), unit outward normal of A at its point, world."""
    statistics: Statistics
    """``iterations`` of Newton's method in each step; ``singular``: those with a singular matrix, which use its
    pseudo-inverse."""

    def __len__(self) -> int:
        return len(self.distance)


def _choice(name: str, value: str, choices: dict[str, int]) -> int:
    if value not in choices:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(choices)}")
    return choices[value]


def _pose(name: str, pose: ArrayLike) -> FloatArray:
    matrix = as_poses(name, pose)
    if matrix.ndim != 2:
        raise ValueError(f"{name}: must have shape (4, 4), found {matrix.shape}")
    return matrix


def settings(
    tangents: str = "householder",
    jacobian: str = "analytic",
    atol: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    restart: bool = False,
    query: str = "none",
    margin: float = 0.0,
) -> Settings:
    """Return options for the kernels; raise `ValueError` if one is out of range."""
    if not 0.0 < atol < math.inf:
        raise ValueError(f"atol = {atol!r}: must be positive (metres)")
    if not max_iterations >= 1:
        raise ValueError(f"max_iterations = {max_iterations!r}: must be at least 1")
    if not 0.0 <= margin < math.inf:
        raise ValueError(f"margin = {margin!r}: must not be negative (metres)")
    return Settings(
        _choice("tangents", tangents, METHODS),
        bool(_choice("jacobian", jacobian, JACOBIANS)),
        float(atol),
        int(max_iterations),
        bool(restart),
        _choice("query", query, QUERIES),
        float(margin),
    )


def _ellipsoid_rows(a: Body, b: Body) -> tuple[FloatArray, FloatArray]:
    rows = pack("a", a), pack("b", b)
    for name, row, body in zip(("a", "b"), rows, (a, b), strict=True):
        if not _is_ellipsoid(row):
            raise ValueError(f"{name}: must be an ellipsoid, found {body!r}")
    return rows


def _is_ellipsoid(row: FloatArray) -> bool:
    squares = row[superquadrics.EXPONENT : superquadrics.EXPONENT + 3] == 2.0
    return bool(squares.all() and row[: superquadrics.LINEAR].min() > 0.0)


def _pose_in_frame(pose_a: FloatArray, pose_b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return rotation and centre of B in the frame of A."""
    back = pose_a[:3, :3].T
    return np.ascontiguousarray(back @ pose_b[:3, :3]), back @ (pose_b[:3, 3] - pose_a[:3, 3])


def distance(
    a: Body,
    pose_a: ArrayLike,
    b: Body,
    pose_b: ArrayLike,
    *,
    tangents: str = "householder",
    jacobian: str = "analytic",
    atol: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    start: tuple[ArrayLike, ArrayLike] | None = None,
    restart: bool = False,
) -> MethodResult:
    """Compute the signed distance of two bodies by a common normal: Newton's method on eq. 9, then eqs. 21 to 24.

    Parameters
    ----------
    a, b : Quadric, Superquadric, Ellipsoid or Superellipsoid
        Superellipsoids need equal exponents of at most 1. A result is the distance of the bodies F <= 0 only if these
        are convex; for the other quadrics and superquadrics it is that along a common normal of the surfaces.
    pose_a, pose_b : (4, 4) array_like
        Poses, body to world, m.
    tangents : {"householder", "auxiliary", "unit auxiliary"}
        Source of tangent and binormal: eqs. 15 to 17, eqs. 18 and 19, or (not in the paper) the latter normalised.
        Without this their lengths grow with the square and the cube of the normal's, which is steep far from a
        superquadric, and the iteration fails more often.
    jacobian : {"analytic", "differences"}
        Eq. 12, or forward differences of eq. 9, which section 8 mentions for singular eq. 12.
    atol : float
        Largest length of the last step in the six coordinates, m.
    max_iterations : int
        Largest number of steps.
    start : pair of (3,) array_like, optional
        Points to start from, world, m. Default: both at the midpoint of the centres (section 7).
    restart : bool
        If true, iterate again if eqs. 21 to 24 choose a mirrored pair. The paper treats it as a solution, which holds
        only if the common normal passes through the centre of the mirrored body.

    Returns
    -------
    MethodResult
        Nothing is proved. `converged` is the paper's criterion; common normals other than the closest meet it too.

    Raises
    ------
    ValueError
        If a superovoid is not of the paper's form, a pose is not a rigid transform, or an option is out of range.
    TypeError
        If a body has another type.
    """
    rows = pack("a", a), pack("b", b)
    poses = _pose("pose_a", pose_a), _pose("pose_b", pose_b)
    state = np.zeros(newton_raphson.STATE_LENGTH)
    if start is not None:
        for k, (name, point, pose) in enumerate(zip(("first", "second"), start, poses, strict=True)):
            x = np.asarray(point, dtype=np.float64)
            if x.shape != (3,) or not np.isfinite(x).all():
                raise ValueError(f"start, {name} point: must be three finite numbers (metres), found {point!r}")
            state[3 * k : 3 * k + 3] = pose[:3, :3].T @ (x - pose[:3, 3])
        state[newton_raphson.KNOWN] = 1.0
    chosen = settings(tangents, jacobian, atol, max_iterations, restart)
    out = np.empty((1, newton_raphson.RESULT_LENGTH))
    newton_raphson.solve_steps(
        *rows, *(pose[None] for pose in poses), chosen, state, newton_raphson.scratch_space(), out
    )
    row = out[0]
    return unproven_result(
        row[newton_raphson.DISTANCE],
        row[newton_raphson.POINT_A : newton_raphson.POINT_A + 3],
        row[newton_raphson.POINT_B : newton_raphson.POINT_B + 3],
        row[newton_raphson.NORMAL : newton_raphson.NORMAL + 3],
        row[newton_raphson.ITERATIONS],
        row[newton_raphson.CONVERGED],
    )


def follow(
    a: Body,
    poses_a: ArrayLike,
    b: Body,
    poses_b: ArrayLike,
    *,
    tangents: str = "householder",
    jacobian: str = "analytic",
    query: str = "none",
    margin: float = 0.0,
    atol: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    restart: bool = False,
) -> Motion:
    """Detect contact over a motion by the loop of section 6: a query, Newton's method, a warm start.

    Parameters
    ----------
    a, b, tangents, jacobian, atol, max_iterations, restart
        As for `distance`.
    poses_a, poses_b : (n, 4, 4) or (4, 4) array_like
        Poses at the time steps, body to world, m; a single one for a body at rest.
    query : {"none", "spheres", "separation"}
        Proximity query (section 5). "separation" tests the bounding spheres, then the condition of two ellipsoids.
    margin : float
        Pairs are solved unless the query proves that their distance exceeds this, m. The separation condition gives no
        distance: with a positive margin it only raises `lower`.

    Returns
    -------
    Motion

    Raises
    ------
    ValueError, TypeError
        As for `distance`; and if the numbers of poses do not match.
    """
    chosen = settings(tangents, jacobian, atol, max_iterations, restart, query, margin)
    rows = _ellipsoid_rows(a, b) if query == "separation" else (pack("a", a), pack("b", b))
    poses = [as_poses("poses_a", poses_a), as_poses("poses_b", poses_b)]
    for name, array in zip(("poses_a", "poses_b"), poses, strict=True):
        if array.ndim not in (2, 3):
            raise ValueError(f"{name}: must have shape (n, 4, 4) or (4, 4), found {array.shape}")
    counts = {len(array) for array in poses if array.ndim == 3}
    if len(counts) > 1:
        raise ValueError(f"poses_a, poses_b: must be as many, found {len(poses[0])} and {len(poses[1])}")
    n = counts.pop() if counts else 1
    steps = [np.broadcast_to(array, (n, 4, 4)).copy() for array in poses]
    out = np.empty((n, newton_raphson.RESULT_LENGTH))
    newton_raphson.solve_steps(
        *rows, *steps, chosen, np.zeros(newton_raphson.STATE_LENGTH), newton_raphson.scratch_space(), out
    )
    return motion(out)


def motion(out: FloatArray) -> Motion:
    """Wrap the result rows of the kernels."""
    return Motion(
        solved=out[:, newton_raphson.SOLVED] == 1.0,
        converged=out[:, newton_raphson.CONVERGED] == 1.0,
        distance=out[:, newton_raphson.DISTANCE],
        lower=out[:, newton_raphson.LOWER],
        point_a=out[:, newton_raphson.POINT_A : newton_raphson.POINT_A + 3],
        point_b=out[:, newton_raphson.POINT_B : newton_raphson.POINT_B + 3],
        normal=out[:, newton_raphson.NORMAL : newton_raphson.NORMAL + 3],
        statistics=Statistics(
            iterations=out[:, newton_raphson.ITERATIONS].astype(np.int64),
            singular=out[:, newton_raphson.SINGULAR_STEPS].astype(np.int64),
        ),
    )


def sphere_gap(a: Body, pose_a: ArrayLike, b: Body, pose_b: ArrayLike) -> float:
    """Return the distance of the bounding spheres of two bodies: the first query of section 5.

    The radius of the paper's spheres is the largest semi-axis, which is correct only for ellipsoids; those of
    superellipsoids are larger (`Superquadric.bounding_radius`).

    Parameters
    ----------
    a, b, pose_a, pose_b
        As for `distance`.

    Returns
    -------
    float
        Lower bound of the distance, m: positive only if the bodies are separate; -inf for open surfaces.
    """
    _, centre = _pose_in_frame(_pose("pose_a", pose_a), _pose("pose_b", pose_b))
    return float(proximity.sphere_gap(pack("a", a), pack("b", b), tuple(centre)))


def are_separated(a: Body, pose_a: ArrayLike, b: Body, pose_b: ArrayLike) -> bool:
    """Return whether two ellipsoids have no common point: the separation condition (Wang et al. 2001), section 5.

    The condition also covers a case missing in the paper: an ellipsoid inside the other is not separate from it.

    Parameters
    ----------
    a, b : Ellipsoid or Quadric
        Ellipsoids.
    pose_a, pose_b : (4, 4) array_like
        Poses, body to world, m.

    Raises
    ------
    ValueError
        If a body is not an ellipsoid or a pose is not a rigid transform.
    TypeError
        If `distance` does not accept a body.
    """
    rows = _ellipsoid_rows(a, b)
    rotation, centre = _pose_in_frame(_pose("pose_a", pose_a), _pose("pose_b", pose_b))
    return bool(proximity.ellipsoids_apart(*rows, rotation, tuple(centre)))


def characteristic_roots(a: Body, pose_a: ArrayLike, b: Body, pose_b: ArrayLike) -> NDArray[np.complex128]:
    """Return the roots s of the characteristic polynomial det(s A + B) of two ellipsoids x^T A x = 0, x^T B x = 0.

    Two are always negative. The ellipsoids are separate iff the other two are positive and distinct, and touch from
    outside iff these are positive and equal.

    Parameters
    ----------
    a, b, pose_a, pose_b
        As for `separated`, which decides the same without roots, so without the digits lost at a double root.

    Returns
    -------
    (4,) ndarray of complex
        In ascending order of their real parts.
    """
    rows = _ellipsoid_rows(a, b)
    rotation, centre = _pose_in_frame(_pose("pose_a", pose_a), _pose("pose_b", pose_b))
    p1, p2, p3, k0, k1, k2 = proximity.characteristic_invariants(*rows, rotation, tuple(centre))
    polynomial = (-1.0, k1 - 1.0 - p1, p1 * k1 - k2 - p1 - p2, p3 * k0 - p2 - p3, -p3)
    return np.sort_complex(np.roots(polynomial))
