# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Newton's method on the common-normal equations of Gonçalves et al. 2017: eqs. (15), (17) and (18).

    Phi = (nP . tQ, nP . bQ, d . tQ, d . bQ, Fi, Fj),   d = Q - P                                             (15)

In parametric form the points always lie on the surface, and only the first four equations remain, (18). The lengths of
normals and tangents affect the iterates but not the roots. As printed in (6), (11) and (12) they vary over the surface;
the authors' program normalises them. Both variants are available (`PRINTED` in a body's row).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.vector import dot, norm, rotate, sub
from superovoid.compiler.jit import kernel
from superovoid_papers.methods.elimination import eliminate
from superovoid_papers.methods.goncalves2017.superovoid_surface import (
    A1,
    A2,
    A3,
    IMPLICIT,
    derivatives,
    implicit,
    local,
    side,
    side_derivative,
    surface,
    to_world,
    unit,
)

# Columns of a result.
DISTANCE, POINT_A, POINT_B, NORMAL, CONVERGED, ITERATIONS = 0, 1, 4, 7, 10, 11
RESULT_LENGTH = 12

_STEP = 1e-6  # of a finite difference: rad, or a share of the body's largest semi-axis


class Bodies(NamedTuple):
    """Two bodies, each a row and a pose; or stacked arrays of those of many pairs."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    pose_a: NDArray[np.float64]
    pose_b: NDArray[np.float64]


class Newton(NamedTuple):
    """Options of Newton's method."""

    form: int
    analytic: bool  # if true, compute the Jacobian by derivatives; otherwise by differences
    gain: float  # applied share of a step
    atol: float  # largest length of the last step
    max_iterations: int


@kernel
def bodies_of_pair(bodies, i):
    """Return the bodies of one of many pairs."""
    return Bodies(bodies.a[i], bodies.b[i], bodies.pose_a[i], bodies.pose_b[i])


@kernel
def _equations(i, j, out):
    d = sub(j.point, i.point)
    out[0] = dot(i.normal, j.tangent)
    out[1] = dot(i.normal, j.binormal)
    out[2] = dot(d, j.tangent)
    out[3] = dot(d, j.binormal)
    out[4] = i.value
    out[5] = j.value


@kernel
def _equations_derivative(i, j, di, of_i, out):
    """Compute the derivative of `_equations` by an unknown of i or of j; `di` is that of its side."""
    d = sub(j.point, i.point)
    if of_i:
        out[0] = dot(di.normal, j.tangent)
        out[1] = dot(di.normal, j.binormal)
        out[2] = -dot(di.point, j.tangent)
        out[3] = -dot(di.point, j.binormal)
        out[4] = di.value
        out[5] = 0.0
    else:
        out[0] = dot(i.normal, di.tangent)
        out[1] = dot(i.normal, di.binormal)
        out[2] = dot(di.point, j.tangent) + dot(d, di.tangent)
        out[3] = dot(di.point, j.binormal) + dot(d, di.binormal)
        out[4] = 0.0
        out[5] = di.value


@kernel
def _of_a(q, form):
    return (q[0], q[1], q[2] if form == IMPLICIT else 0.0)


@kernel
def _of_b(q, form):
    return (q[3], q[4], q[5]) if form == IMPLICIT else (q[2], q[3], 0.0)


@kernel
def linearise(a, b, pose_a, pose_b, q, form, analytic, work):
    """Write Phi into row 6 of `work` (7, 7), the columns of its Jacobian into rows 0 to 5 (4 x 4: rows 0 to 3)."""
    each = 3 if form == IMPLICIT else 2
    qa, qb = _of_a(q, form), _of_b(q, form)
    i, j = side(a, pose_a, qa, form), side(b, pose_b, qb, form)
    _equations(i, j, work[6])
    for which in range(2):
        of_a = which == 0
        body, pose, q0 = (a, pose_a, qa) if of_a else (b, pose_b, qb)
        if analytic:
            at = derivatives(body, q0, form)
            for k in range(each):
                _equations_derivative(i, j, side_derivative(body, pose, at, form, k), of_a, work[which * each + k])
            continue
        h = _STEP * max(body[A1], body[A2], body[A3]) if form == IMPLICIT else _STEP
        for k in range(each):
            moved = (
                q0[0] + (h if k == 0 else 0.0),
                q0[1] + (h if k == 1 else 0.0),
                q0[2] + (h if k == 2 else 0.0),
            )
            other = side(body, pose, moved, form)
            column = work[which * each + k]
            _equations(other if of_a else i, j if of_a else other, column)
            for row in range(2 * each):
                column[row] = (column[row] - work[6, row]) / h


@kernel
def _run(newton, bodies, q, work):
    """Iterate eq. (17) in place; return whether a step was within the tolerance, and the number of steps.

    Longer steps are scaled by `gain`: an Euler step of Phi' = -gain Phi, which is Baumgarte's term for equations of
    position.
    """
    a, b, pose_a, pose_b = bodies
    form, analytic, gain, atol, max_iterations = newton
    n = 6 if form == IMPLICIT else 4
    for iteration in range(1, max_iterations + 1):
        linearise(a, b, pose_a, pose_b, q, form, analytic, work)
        if not eliminate(work.T, n, 0.0, work[6]):
            return False, iteration
        square = 0.0
        for k in range(n):
            square += work[6, k] * work[6, k]
        share = 1.0 if square <= atol * atol else gain
        for k in range(n):
            q[k] -= share * work[6, k]
        if square <= atol * atol:
            return True, iteration
        if not square < math.inf:
            return False, iteration
    return False, max_iterations


@kernel
def _value_at(b, pose, x):
    """Return F of a body at a point of the world."""
    value, _ = implicit(b, local(pose, x))
    return value


@kernel
def signed_distance(a, b, pose_a, pose_b, xa, xb):
    """Return the signed length of d = Q - P for two points in body frames; P, Q and A's outward normal, world.

    If the normals are opposed, the sign is that of d along A's outward normal; swapping the bodies does not change it.
    For convex bodies the value at every root is then n . c - hA(n) - hB(-n), never above the signed distance.
    If the normals point to the same side, as at the wall of a body around the other, the value is negative iff one
    point is in the other body.
    """
    p, q = to_world(pose_a, xa), to_world(pose_b, xb)
    _, ga = implicit(a, xa)
    _, gb = implicit(b, xb)
    na, nb = rotate(pose_a, unit(ga)), rotate(pose_b, unit(gb))
    d = sub(q, p)
    overlap = dot(d, na) < dot(d, nb)
    if dot(na, nb) > 0.0:
        overlap = _value_at(a, pose_a, q) < 0.0 or _value_at(b, pose_b, p) < 0.0
    return (-norm(d) if overlap else norm(d)), p, q, na


@kernel
def _answer(bodies, q, form, converged, iterations, out):
    a, b, pose_a, pose_b = bodies
    qa, qb = _of_a(q, form), _of_b(q, form)
    xa = qa if form == IMPLICIT else surface(a, qa[0], qa[1])
    xb = qb if form == IMPLICIT else surface(b, qb[0], qb[1])
    value, p, x, n = signed_distance(a, b, pose_a, pose_b, xa, xb)
    out[DISTANCE] = value
    for k in range(3):
        out[POINT_A + k] = p[k]
        out[POINT_B + k] = x[k]
        out[NORMAL + k] = n[k]
    out[CONVERGED] = 1.0 if converged else 0.0
    out[ITERATIONS] = iterations


@kernel
def refine(newton, bodies, q, work, out):
    """Run Newton's method from the unknowns q, in place, and write its answer; return whether it converged."""
    converged, iterations = _run(newton, bodies, q, work)
    _answer(bodies, q, newton.form, converged, iterations, out)
    return converged


@kernel(nogil=True)
def refine_rows(first, last, newton, bodies, unknowns, work, out):
    """Call `refine` for a range of pairs."""
    for i in range(first, last):
        refine(newton, bodies_of_pair(bodies, i), unknowns[i], work, out[i])
