# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Contact of two convex bodies as a search over one direction (Wellmann, Lillie, Wriggers 2008).

C. Wellmann, C. Lillie, P. Wriggers, "A contact detection algorithm for superellipsoids based on the common-normal
concept", Engineering Computations 25 (2008) 432-442. Gonçalves et al. 2017, section 7, suggest a comparison of their
schemes with it. A contact direction c, given by two angles, determines both points, with normals c and -c. The common
normal minimises their distance:

    min over c of |d(c)|^2 / 2,    d(c) = Q(-c) - P(c),    n_P = c,  n_Q = -c

with two unknowns and without constraints. For convex bodies the points d(c) are the boundary of their Minkowski
difference, so the least |d| is the distance of separate bodies and the depth of overlapping ones, which may have other
minima. If d . c > 0, the plane with normal c separates the bodies, which excludes a contact before the minimum is
found.

The paper uses "a combination of Newton's method and a Levenberg-Marquardt method". This implementation takes Newton's
step if the Hessian is positive definite and the step reduces |d|, otherwise that of Levenberg-Marquardt, both with
central differences and angles about the current c, without poles. The superovoid's support function yields the points
with a given normal, also of tapered bodies; for a non-convex body they are those of its convex hull.

    r = distance(a, pose_a, b, pose_b)
    r.excluded_after          # iterations before a contact was excluded, or None
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.compiled.vector import add, cross, dot, norm, scale, sub
from superovoid.compiler.jit import kernel
from superovoid.contact import Status
from superovoid.contact.separation import separation
from superovoid.shapes import Superovoid
from superovoid.shapes.kernels.kinds import Core, kind_of
from superovoid.shapes.kernels.surface import SIZE
from superovoid.shapes.poses import as_poses
from superovoid.values.records import Statistics
from superovoid_papers.methods.goncalves2017.superovoid_surface import householder, unit
from superovoid_papers.methods.result import MethodResult

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-6
"""Largest length of the last step, rad, as in Gonçalves et al. 2017."""
MAX_ITERATIONS = 50

# Columns of a result.
DISTANCE, POINT_A, POINT_B, NORMAL, CONVERGED, ITERATIONS, EXCLUDED = 0, 1, 4, 7, 10, 11, 12
RESULT_LENGTH = 13

# Step of the differences, rad. Near the normal of a flat side points move like a small power of the angle: with 1e-4,
# three times as many pairs of the batteries fail.
_STEP = 1e-6
_ASKEW = 1e-3  # largest sine of the angle between d and c at a common normal
_TOUCHING = 1e-9  # of the sizes: |d| below which the direction of d is unreliable


@kernel
def _points(a, b, pose_a, pose_b, c):
    """Return P(c) and Q(-c), world."""
    at_a, at_b = (pose_a[0, 3], pose_a[1, 3], pose_a[2, 3]), (pose_b[0, 3], pose_b[1, 3], pose_b[2, 3])
    found = separation(Core(a, kind_of(a), a), Core(b, kind_of(b), b), pose_a, pose_b, c)
    return add(at_a, found.x), add(at_b, found.y)


@kernel
def _turn(c, t, s, u, v):
    """Return the direction at angles (u, v) about c; t and s are unit vectors across it."""
    return unit(add(c, add(scale(u, t), scale(v, s))))


@kernel
def _gap(a, b, pose_a, pose_b, c):
    p, q = _points(a, b, pose_a, pose_b, c)
    return sub(q, p)


@kernel
def _solve(xx, xy, yy, gx, gy):
    """Solve [[xx, xy], [xy, yy]] s = -(gx, gy)."""
    determinant = xx * yy - xy * xy
    return (xy * gy - yy * gx) / determinant, (xy * gx - xx * gy) / determinant


@kernel
def solve(a, b, pose_a, pose_b, c, atol, max_iterations, out):
    """Minimise from a unit direction c, world, into a row of results."""
    h = _STEP
    damping = 1e-3
    converged, spent, excluded = False, max_iterations, math.nan
    for iteration in range(1, max_iterations + 1):
        t, s = householder(c)
        d = _gap(a, b, pose_a, pose_b, c)
        if dot(d, c) > 0.0 and math.isnan(excluded):
            excluded = iteration
        east = _gap(a, b, pose_a, pose_b, _turn(c, t, s, h, 0.0))
        west = _gap(a, b, pose_a, pose_b, _turn(c, t, s, -h, 0.0))
        north = _gap(a, b, pose_a, pose_b, _turn(c, t, s, 0.0, h))
        south = _gap(a, b, pose_a, pose_b, _turn(c, t, s, 0.0, -h))
        far = _gap(a, b, pose_a, pose_b, _turn(c, t, s, h, h))
        back = _gap(a, b, pose_a, pose_b, _turn(c, t, s, -h, -h))
        value = dot(d, d)
        du, dv = scale(0.5 / h, sub(east, west)), scale(0.5 / h, sub(north, south))
        gx, gy = dot(d, du), dot(d, dv)
        jxx, jxy, jyy = dot(du, du), dot(du, dv), dot(dv, dv)
        along = add(east, west)
        across = add(north, south)
        xx = jxx + dot(d, sub(along, scale(2.0, d))) / (h * h)
        yy = jyy + dot(d, sub(across, scale(2.0, d))) / (h * h)
        mixed = sub(add(add(far, back), scale(2.0, d)), add(along, across))
        xy = jxy + 0.5 * dot(d, mixed) / (h * h)
        u = v = 0.0
        moved = False
        if xx > 0.0 and xx * yy - xy * xy > 0.0:
            u, v = _solve(xx, xy, yy, gx, gy)
            other = _gap(a, b, pose_a, pose_b, _turn(c, t, s, u, v))
            moved = dot(other, other) < value
        if (not moved and u * u + v * v > atol * atol) or u == v == 0.0:
            for _ in range(30):
                shift = damping * (jxx + jyy) + 1e-300
                u, v = _solve(jxx + shift, jxy, jyy + shift, gx, gy)
                other = _gap(a, b, pose_a, pose_b, _turn(c, t, s, u, v))
                if dot(other, other) < value:
                    moved = True
                    damping = max(1e-12, 0.1 * damping)
                    break
                damping *= 10.0
                if u * u + v * v <= atol * atol:
                    break
            damping = min(damping, 1e6)
        if moved:
            c = _turn(c, t, s, u, v)
        if not moved or u * u + v * v <= atol * atol:
            converged, spent = True, iteration
            break
    p, q = _points(a, b, pose_a, pose_b, c)
    d = sub(q, p)
    # At an edge or a flat the points, or the directions, hardly move, so small steps alone prove no common normal.
    converged &= norm(cross(c, d)) <= _ASKEW * norm(d) + _TOUCHING * (a[SIZE] + b[SIZE])
    out[DISTANCE] = norm(d) if dot(d, c) > 0.0 else -norm(d)
    for k in range(3):
        out[POINT_A + k], out[POINT_B + k], out[NORMAL + k] = p[k], q[k], c[k]
    out[CONVERGED] = 1.0 if converged else 0.0
    out[ITERATIONS] = spent
    out[EXCLUDED] = excluded


@kernel(nogil=True)
def solve_rows(first, last, a, b, poses_a, poses_b, atol, max_iterations, out):
    """Call `solve` for a range of rows, from the line of centres."""
    for i in range(first, last):
        pose_a, pose_b = poses_a[i], poses_b[i]
        centres = (pose_b[0, 3] - pose_a[0, 3], pose_b[1, 3] - pose_a[1, 3], pose_b[2, 3] - pose_a[2, 3])
        c = unit(centres) if norm(centres) > 0.0 else (0.0, 0.0, 1.0)
        solve(a[i], b[i], pose_a, pose_b, c, atol, max_iterations, out[i])


@dataclass(frozen=True, eq=False, repr=False)
class WellmannResult(MethodResult):
    """Answer of the search over directions."""

    excluded_after: int | None
    """Iterations before a plane between the bodies was found; None: never."""


def distance(
    a: Superovoid,
    pose_a: ArrayLike,
    b: Superovoid,
    pose_b: ArrayLike,
    *,
    direction: ArrayLike | None = None,
    atol: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> WellmannResult:
    """Compute the distance of two superovoids by the search over contact directions.

    Parameters
    ----------
    a, b : Superovoid
        The bodies.
    pose_a, pose_b : (4, 4) array_like
        Poses, body to world, m.
    direction : (3,) array_like, optional
        Initial contact direction, world, from A to B; default: the line of centres.
    atol : float
        Largest length of the last step, rad.
    max_iterations : int
        Largest number of steps.

    Returns
    -------
    WellmannResult
        The distance is negative if the bodies overlap; then it may belong to a local minimum.

    Raises
    ------
    ValueError
        If an argument is invalid; the message names it, with the found and the expected value.
    TypeError
        If a shape is not a superovoid.
    """
    for name, body in (("a", a), ("b", b)):
        if not isinstance(body, Superovoid):
            raise TypeError(f"{name}: must be a Superovoid, found {type(body).__name__}")
    if not (isinstance(atol, int | float | np.floating) and 0.0 < atol < math.inf):
        raise ValueError(f"atol = {atol!r}: must be a positive number")
    if not isinstance(max_iterations, int | np.integer) or isinstance(max_iterations, bool) or max_iterations < 1:
        raise ValueError(f"max_iterations = {max_iterations!r}: must be a positive integer")
    poses = []
    for name, pose in (("pose_a", pose_a), ("pose_b", pose_b)):
        if np.shape(pose) != (4, 4):
            raise ValueError(f"{name}: must have shape (4, 4), found {np.shape(pose)}")
        poses.append(as_poses(name, pose))
    out = np.full((1, RESULT_LENGTH), np.nan)
    limits = float(atol), int(max_iterations)
    if direction is None:
        solve_rows(0, 1, pack([a]), pack([b]), poses[0][None], poses[1][None], *limits, out)
    else:
        solve(a._packed_row, b._packed_row, *poses, _direction(direction), *limits, out[0])
    row = out[0]
    points = [row[k : k + 3].copy() for k in (POINT_A, POINT_B, NORMAL)]
    counts = Statistics(iterations=int(row[ITERATIONS])), bool(row[CONVERGED])
    excluded = None if math.isnan(row[EXCLUDED]) else int(row[EXCLUDED])
    return WellmannResult(float(row[DISTANCE]), -math.inf, math.inf, *points, Status.UNPROVEN, *counts, excluded)


def pack(bodies: Sequence[Superovoid]) -> FloatArray:
    """Return rows of bodies for `solve_rows`."""
    return np.array([body._packed_row for body in bodies])


def _direction(given: Any) -> tuple[float, float, float]:
    try:
        c = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        c = np.empty(0)
    length = float(np.linalg.norm(c)) if c.shape == (3,) else math.nan
    if not 0.0 < length < math.inf:
        raise ValueError(f"direction = {given!r}: must be three numbers, not all zero")
    x, y, z = c / length
    return float(x), float(y), float(z)
