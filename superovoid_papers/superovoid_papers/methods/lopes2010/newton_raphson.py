# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Newton-Raphson on the common-normal equations (sections 3.2, 3.3 and 3.5), and the loop over a motion (section 6).

All computations use the frame of surface j (body B): R and c are rotation and centre of surface i (body A) in it. The
equations contain only dot products, so they equal those of the paper in the global frame. With the unknowns
q = (s_iP, s_jQ), each in the frame of its own surface, eqs. 9 and 11 are

    n_P = R grad F_i(s_iP),  d = s_jQ - (R s_iP + c),  t, b = tangents of grad F_j(s_jQ)
    Phi = (n_P.t, n_P.b, d.t, d.b, F_i, F_j)

and with the diagonal Hessians H_i, H_j the rows of eq. 12 are

    n_P.t: (t^T R H_i,  (n_P^T dt/dn) H_j)        d.t: (-t^T R,  t^T + (d^T dt/dn) H_j)        F_i: (grad F_i^T, 0)

and the same with b for t. According to the paper this matrix is singular if d and n_P and their derivatives agree (eqs.
40, 41), but the derivatives never do: that of n_P by s_jQ is zero, that of d is not. At a solution with opposed outward
normals it is singular if det(S_i + S_j + d S_j S_i) = 0, with the shape operators S and the signed distance d. Then
both surfaces are flat in a common direction (superquadrics with exponents above 2, flat poles facing each other), or d
is minus the sum of two radii of curvature (concentric spheres).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.vector import add, dot, norm, rotate, rotate_back, scale, sub
from superovoid.compiler.jit import kernel
from superovoid_papers.methods.elimination import eliminate
from superovoid_papers.methods.lopes2010.proximity import NONE, SPHERES, ellipsoids_apart, sphere_gap
from superovoid_papers.methods.lopes2010.superquadrics import SIZE, is_closed, surface
from superovoid_papers.methods.lopes2010.tangent_vectors import tangent_rows, tangents

SINGULAR = 1e-12
"""Pivots of scaled rows below this, and singular values below this share of the largest, count as zero."""

# Layout of the state between the steps of a motion: q, and whether it is a solution to start from.
Q, KNOWN = 0, 6
STATE_LENGTH = 7

# Layout of a result.
DISTANCE, POINT_A, POINT_B, NORMAL, LOWER, ITERATIONS, CONVERGED, SOLVED, SINGULAR_STEPS = (
    0,
    1,
    4,
    7,
    10,
    11,
    12,
    13,
    14,
)
RESULT_LENGTH = 15

WORK_SHAPE = (2, 6, 7)  # the system with its right-hand side, and a spare matrix
_SWEEPS = 30
_DIFFERENCE = 2.0**-26  # of the smaller body: the square root of the machine precision


class Settings(NamedTuple):
    """Options of the solution of a pair."""

    tangents: int
    """`tangent_vectors.METHODS`."""
    differences: bool
    """If true, estimate the Jacobian by finite differences (section 8) instead of eq. 12."""
    atol: float
    """Largest length of the last step, m."""
    max_iterations: int
    restart: bool
    """If true, iterate again from a mirrored pair."""
    query: int
    """`proximity.QUERIES`."""
    margin: float
    """Distance beyond which the query leaves a pair unsolved, m."""


@kernel
def _point(q, first):
    return q[first], q[first + 1], q[first + 2]


@kernel
def _fill(m, row, left, right, value):
    for k in range(3):
        m[row, k] = left[k]
        m[row, 3 + k] = right[k]
    m[row, 6] = value


@kernel
def _times(diagonal, v):
    return (diagonal[0] * v[0], diagonal[1] * v[1], diagonal[2] * v[2])


@kernel
def constraints(a, b, rotation, centre, method, q, m):
    """Write eq. 12 into the first six columns of m (6, 7), and eq. 9 into the last.

    Returns factors that convert the rows to lengths: angles times the size of the smaller body, the component of d
    along a tangent, the distance from a surface to first order.
    """
    x, y = _point(q, 0), _point(q, 3)
    value_i, normal_i, bend_i = surface(a, x)
    value_j, normal_j, bend_j = surface(b, y)
    n = rotate(rotation, normal_i)
    d = sub(y, add(rotate(rotation, x), centre))
    t, b_ = tangents(method, normal_j)
    n_by_t, n_by_b = tangent_rows(method, normal_j, n)
    d_by_t, d_by_b = tangent_rows(method, normal_j, d)
    back_t, back_b = rotate_back(rotation, t), rotate_back(rotation, b_)
    zero = (0.0, 0.0, 0.0)
    _fill(m, 0, _times(bend_i, back_t), _times(bend_j, n_by_t), dot(n, t))
    _fill(m, 1, _times(bend_i, back_b), _times(bend_j, n_by_b), dot(n, b_))
    _fill(m, 2, scale(-1.0, back_t), add(t, _times(bend_j, d_by_t)), dot(d, t))
    _fill(m, 3, scale(-1.0, back_b), add(b_, _times(bend_j, d_by_b)), dot(d, b_))
    _fill(m, 4, normal_i, zero, value_i)
    _fill(m, 5, zero, normal_j, value_j)
    per_i, per_j = 1.0 / norm(normal_i), 1.0 / norm(normal_j)
    per_t, per_b = 1.0 / norm(t), 1.0 / norm(b_)
    turn = min(a[SIZE], b[SIZE]) * per_i
    return turn * per_t, turn * per_b, per_t, per_b, per_i, per_j


@kernel
def _differences(a, b, rotation, centre, settings, q, m, spare):
    """Replace eq. 12 in m (6, 7), which holds `constraints` at q, by forward differences of eq. 9."""
    h = _DIFFERENCE * min(a[SIZE], b[SIZE])
    for k in range(6):
        value = q[k]
        q[k] = value + h
        exact = q[k] - value  # the step after rounding
        constraints(a, b, rotation, centre, settings.tangents, q, spare)
        q[k] = value
        for i in range(6):
            m[i, k] = (spare[i, 6] - m[i, 6]) / exact


@kernel
def _system(a, b, rotation, centre, settings, q, work):
    """Write the Newton system at q into work[0], its rows in metres; return the factors of the rows."""
    scales = constraints(a, b, rotation, centre, settings.tangents, q, work[0])
    if settings.differences:
        _differences(a, b, rotation, centre, settings, q, work[0], work[1])
    _scale_rows(work[0], scales)
    return scales


@kernel
def _scale_rows(m, scales):
    """Bring all rows to metres.

    This makes the threshold of zero and the pseudo-inverse independent of the unit of length. The printed rows of eq.
    12 have four different units, on which its pseudo-inverse would depend.
    """
    for i in range(6):
        for j in range(7):
            m[i, j] *= scales[i]


@kernel
def least_squares(m, v, x):
    """Multiply the pseudo-inverse of the first six columns of m (6, 7) by the last, by one-sided Jacobi rotations.

    Rotations of columns p, q of M V make all orthogonal (Hestenes): then M V = U S, and the answer is V S^+ U^T times
    the last column. v (6, 7) receives V.
    """
    for i in range(6):
        for j in range(6):
            v[i, j] = 1.0 if i == j else 0.0
    for _ in range(_SWEEPS):
        rotated = False
        for p in range(5):
            for q in range(p + 1, 6):
                pp = qq = pq = 0.0
                for i in range(6):
                    pp += m[i, p] * m[i, p]
                    qq += m[i, q] * m[i, q]
                    pq += m[i, p] * m[i, q]
                if not abs(pq) > 1e-15 * math.sqrt(pp * qq):
                    continue
                rotated = True
                zeta = (qq - pp) / (2.0 * pq)
                tangent = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                sine = cosine * tangent
                for i in range(6):
                    m[i, p], m[i, q] = cosine * m[i, p] - sine * m[i, q], sine * m[i, p] + cosine * m[i, q]
                    v[i, p], v[i, q] = cosine * v[i, p] - sine * v[i, q], sine * v[i, p] + cosine * v[i, q]
        if not rotated:
            break
    largest = 0.0
    for j in range(6):
        size = 0.0
        for i in range(6):
            size += m[i, j] * m[i, j]
        largest = max(largest, size)
        x[j] = 0.0
    for j in range(6):
        size = along = 0.0
        for i in range(6):
            size += m[i, j] * m[i, j]
            along += m[i, j] * m[i, 6]
        if size > SINGULAR * SINGULAR * largest:
            for i in range(6):
                x[i] += v[i, j] * (along / size)


@kernel
def iterate(a, b, rotation, centre, settings, q, step, work):
    """Iterate eq. 8 from q (6), in place, until a step is no longer than the tolerance.

    Returns whether it found a solution, the number of steps, and how many of them had a singular matrix. The iteration
    stops before a step with numbers out of range.

    A regular matrix maps a short step to a small residual. A pseudo-inverse ignores the residual outside its range, so
    the paper's criterion might hold anywhere: after its steps the residual is tested, too.
    """
    singular = 0
    for k in range(settings.max_iterations):
        residual = 0.0
        scales = _system(a, b, rotation, centre, settings, q, work)
        if not eliminate(work[0], 6, SINGULAR, step):
            singular += 1
            _system(a, b, rotation, centre, settings, q, work)
            for i in range(6):
                residual = max(residual, abs(work[0, i, 6]))
            least_squares(work[0], work[1], step)
        square = 0.0
        for i in range(6):
            square += step[i] * step[i]
        overflow = scales[4] == 0.0 or scales[5] == 0.0  # of a gradient, which makes the rows zero
        if overflow or not square < math.inf:
            return False, k, singular
        for i in range(6):
            q[i] -= step[i]
        if square <= settings.atol * settings.atol:
            return residual <= settings.atol, k + 1, singular
    return False, settings.max_iterations, singular


@kernel
def mirror(a, b, rotation, centre, q):
    """Replace q by the best of the pairs (+-s_iP, +-s_jQ), eqs. 21 to 24; return whether it has changed.

    Among the pairs with opposed outward normals this chooses the *largest* n.d, with the unit outward normal n of A at
    its point: it is the gap between two supporting planes, and the signed distance is the largest such gap. Eq. 24
    chooses the least signed distance instead, with the normal of the found point for both of A's points: if that is on
    A's far side, this is the farthest pair. Pairs with an open surface do not change.
    """
    if not (is_closed(a) and is_closed(b)):
        return False
    x, y = _point(q, 0), _point(q, 3)
    _, normal_i, _ = surface(a, x)
    _, normal_j, _ = surface(b, y)
    n = rotate(rotation, normal_i)
    facing = dot(n, normal_j)
    best, best_i, best_j = -math.inf, 1.0, 1.0
    for sign_i in (1.0, -1.0):
        for sign_j in (1.0, -1.0):
            if not sign_i * sign_j * facing < 0.0:
                continue
            d = sub(scale(sign_j, y), add(scale(sign_i, rotate(rotation, x)), centre))
            gap = sign_i * dot(n, d)
            if gap > best:
                best, best_i, best_j = gap, sign_i, sign_j
    for k in range(3):
        q[k] *= best_i
        q[3 + k] *= best_j
    return best_i < 0.0 or best_j < 0.0


@kernel
def _report(a, pose_a, pose_b, q, out):
    """Write distance (table 2), points and normal in the world."""
    x, y = _point(q, 0), _point(q, 3)
    _, gradient, _ = surface(a, x)
    n = rotate(pose_a, scale(1.0 / norm(gradient), gradient))
    p = add(rotate(pose_a, x), (pose_a[0, 3], pose_a[1, 3], pose_a[2, 3]))
    r = add(rotate(pose_b, y), (pose_b[0, 3], pose_b[1, 3], pose_b[2, 3]))
    d = sub(r, p)
    out[DISTANCE] = math.copysign(norm(d), dot(n, d))
    for k in range(3):
        out[POINT_A + k] = p[k]
        out[POINT_B + k] = r[k]
        out[NORMAL + k] = n[k]


@kernel
def _from_world(pose, x):
    return rotate_back(pose, (x[0] - pose[0, 3], x[1] - pose[1, 3], x[2] - pose[2, 3]))


@kernel
def _relative_pose(pose_a, pose_b, rotation):
    """Return the centre of A in the frame of B, and write its rotation."""
    for j in range(3):
        column = rotate_back(pose_b, (pose_a[0, j], pose_a[1, j], pose_a[2, j]))
        rotation[0, j], rotation[1, j], rotation[2, j] = column
    return _from_world(pose_b, (pose_a[0, 3], pose_a[1, 3], pose_a[2, 3]))


@kernel
def solve_step(a, b, pose_a, pose_b, settings, state, scratch, out):
    """Solve one time step: steps (iii) to (v) and (viii) of section 6.

    Without a known solution, both points start at the midpoint of the centres (section 7).
    """
    rotation, step, work = scratch
    centre = _relative_pose(pose_a, pose_b, rotation)
    out[LOWER] = -math.inf
    apart = False
    if settings.query != NONE:
        gap = sphere_gap(a, b, centre)
        if gap > 0.0:
            out[LOWER] = gap
        apart = gap > settings.margin
        # The condition of the ellipsoids needs the pose of the second in the first: here A in B.
        if settings.query != SPHERES and not apart and ellipsoids_apart(b, a, rotation, centre):
            out[LOWER] = max(out[LOWER], 0.0)
            apart = settings.margin == 0.0
    if apart:
        out[SOLVED] = out[CONVERGED] = out[ITERATIONS] = out[SINGULAR_STEPS] = 0.0
        for k in range(LOWER):
            out[k] = math.nan
        return
    q = state[Q:KNOWN]
    if state[KNOWN] == 0.0:
        middle = (
            0.5 * (pose_a[0, 3] + pose_b[0, 3]),
            0.5 * (pose_a[1, 3] + pose_b[1, 3]),
            0.5 * (pose_a[2, 3] + pose_b[2, 3]),
        )
        q[0], q[1], q[2] = _from_world(pose_a, middle)
        q[3], q[4], q[5] = _from_world(pose_b, middle)
    converged, iterations, singular = iterate(a, b, rotation, centre, settings, q, step, work)
    if converged and mirror(a, b, rotation, centre, q) and settings.restart:
        converged, more, singular_more = iterate(a, b, rotation, centre, settings, q, step, work)
        iterations += more
        singular += singular_more
    _report(a, pose_a, pose_b, q, out)
    out[SOLVED] = 1.0
    out[CONVERGED] = 1.0 if converged else 0.0
    out[ITERATIONS] = iterations
    out[SINGULAR_STEPS] = singular
    state[KNOWN] = out[CONVERGED]


@kernel
def solve_steps(a, b, poses_a, poses_b, settings, state, scratch, out):
    """Solve the steps of a motion, each from the previous solution, or from the midpoint if the previous step failed.

    Parameters
    ----------
    a, b : rows
    poses_a, poses_b : (n, 4, 4)
    settings : Settings
    state : (STATE_LENGTH,)
        Updated in place.
    scratch : tuple
        As returned by `scratch_space`.
    out : (n, RESULT_LENGTH)
    """
    for i in range(len(out)):
        solve_step(a, b, poses_a[i], poses_b[i], settings, state, scratch, out[i])


def scratch_space() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return memory for `solve_steps`: relative rotation, Newton step, systems."""
    return np.empty((3, 3)), np.empty(6), np.empty(WORK_SHAPE)
