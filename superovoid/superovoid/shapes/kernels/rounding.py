# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Bounds of rounding errors: the rotation of a pose, and one allowance for all formulas of a distance.

u = 2^-53 is the rounding of one operation, EPS = 2 u. A sum of three products is off by no more than 3 u times the sum
of their sizes, with or without fused multiply-add (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed.,
section 3.1). All norms of matrices are Frobenius norms, which are no less than the largest stretch.

**A pose** stands for the rotation nearest to its upper left 3 x 3 matrix X (the polar factor Q of X = Q P) and for its
translation. With E = X^T X - I, Newton's iteration X (I - E / 2) keeps Q and squares E (Higham,
"Functions of Matrices", section 8.3). X is used unchanged if |E| <= AS_IS = 16 EPS, otherwise after one or two steps:

* E is computed to 9 u = 4.5 EPS, since |X|^T |X| has a norm of 3. An unchanged X has X = Q (I + S), S
  symmetric, |S| <= |E| / 2 <= (16 + 4.5) EPS / 2 < 11 EPS.
* A step rounds its correction X E / 2 by 2.6 u an entry and its result by u: 10.8 u = 5.4 EPS in all. One step leaves
  |X - Q| <= 5.4 EPS, two leave 10.8 EPS < 11 EPS; and |E| <= 2 * 5.4 EPS + 4.5 EPS < AS_IS: a corrected pose is
  unchanged by another call.

**The allowance** of a distance of two bodies A and B of radii R_A, R_B about their origins, which are |c| apart, is
EPS (32 |c| + 64 (R_A + R_B)), the sum of what follows, in EPS:

===================================================  =======  ====================  ====================
loss                                                 |c|      R_A                   R_B
===================================================  =======  ====================  ====================
X - Q of the poses: points turn, lengths stretch     11       11                    11
c = X_A^T (t_B - t_A), and X_A^T X_B                 3.1      0                     4.5
points and directions of B turned by X_A^T X_B       0        0                     2.6
points: of superovoids, with their normals           0        36                    36
points: of other cores, their feet and means         8        20                    20
x_B - x_A, its length, n . u, balls taken off        6        6                     6
===================================================  =======  ====================  ====================

That is 28.1 |c|, 37 to 53 R_A and 44.1 to 60.1 R_B; a mesh may differ from its hull by what is left
(`shapes.primitives`). The lines about points:

* A common rotation of both bodies about one point changes nothing, so a rotation error of X_A moves its own points
  only. A stretch S changes c and g(n) in proportion, and support values by at most |S| R.
* A layer of a superovoid's point is computed from a ratio rho and rho^p, which a power gives to 2 u + 3 u |log rho^p|.
  The dual pair of a slightly different ratio has just this power, so the error of the pair is at most that times rho^p
  / p (at most 3 u), and by 13 u of the roundings that follow: h(n) - n . x <= 16 u R a layer, whatever the exponents. 4
  u for the coordinates, 10 u for the gradient and its length, 3 u for n . x and 20 u for the taper's part of the
  gradient, which is at most 1: 69 u < 36 EPS.
* A foot on a core takes at most six operations, each on lengths of at most |c| + R, twice; a mean of three points has
  6 u of its weights and 3 u of its sums.

Formulas with larger errors bound them in their own modules: sinusoids along a circle (`contact.convex.torus`), planes
of facets (`shapes.primitives`), majorants (`contact.superovoids.certificate`), bodies in scenes (`composition`).
"""

from __future__ import annotations

import math

from superovoid.compiled.arrays import Floats3
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.values.checks import MOST_LENGTH
from superovoid.values.poses import ROTATION_TOLERANCE

EPS = 2.220446049250313e-16
WIDENED = 1.0 + 1e-9
"""Factor that widens a bound by far more than the rounding errors of the formulas for it."""
AS_IS = 16.0 * EPS
ROUNDED = 64.0 * EPS
"""Error of a product of up to three lengths, or of a determinant or a sum of a few of these, of the largest product."""
_ONE_STEP = 1e-8  # of E: it is squared
_PER_APART, _PER_RADIUS = 32.0, 64.0
RIGID, NOT_FINITE, LAST_ROW, TOO_FAR, NO_ROTATION, REFLECTION = range(6)  # `take_pose`
_PER_OFFSET, _PER_PLACE, _PER_TURN = 14.0, 0.5, 26.0


@entry_point
def allowance(radius_a: float, radius_b: float, apart: float) -> float:
    """Bound of what rounding adds to or takes from a distance of two bodies (module docstring), m."""
    return EPS * (_PER_APART * apart + _PER_RADIUS * (radius_a + radius_b))


@entry_point
def composition(radius: float, offset: float, turned: bool) -> float:
    """What the product of two poses adds to the allowance of a body, apart from `at_place`, m.

    X1 X2 = Q1 (I + D1) Q2 (I + D2) is rounded by 4.5 EPS and made a rotation, after which what is symmetric in D1, D2
    and the rounding is gone, and at most 11 EPS of symmetric new. What turns stays: of D1 and D2 10.8 EPS each, and the
    rounding: 11 + 21.6 + 4.5 < 37 EPS, 26 more than a given pose's, on the radius. X1 o is off by 11 EPS |o| for X1 and
    2.6 EPS |o| for the product.

    Parameters
    ----------
    radius : float
        Of the body about its origin, m; 0 for a half-space, whose turn counts with the other body (`turn_of_plane`).
    offset : float
        Length of the translation of the body in its link, m.
    turned : bool
        Whether the body's rotation in its link is any but the identity.
    """
    return EPS * (_PER_OFFSET * offset + (_PER_TURN * radius if turned else 0.0))


@kernel
def at_place(distance):
    """Return the rounding of the sum of a link's translation and a rotated offset, m, at a distance from the origin."""
    return EPS * _PER_PLACE * distance


@kernel
def turn_of_plane(radius, apart):
    """Return the error of a composed half-space's height under a body, m, from its rotation."""
    return EPS * _PER_TURN * (radius + apart)


@kernel
def _excess(m):
    """E = X^T X - I: entries 00, 01, 02, 11, 12, 22."""
    return (
        m[0, 0] * m[0, 0] + m[1, 0] * m[1, 0] + m[2, 0] * m[2, 0] - 1.0,
        m[0, 0] * m[0, 1] + m[1, 0] * m[1, 1] + m[2, 0] * m[2, 1],
        m[0, 0] * m[0, 2] + m[1, 0] * m[1, 2] + m[2, 0] * m[2, 2],
        m[0, 1] * m[0, 1] + m[1, 1] * m[1, 1] + m[2, 1] * m[2, 1] - 1.0,
        m[0, 1] * m[0, 2] + m[1, 1] * m[1, 2] + m[2, 1] * m[2, 2],
        m[0, 2] * m[0, 2] + m[1, 2] * m[1, 2] + m[2, 2] * m[2, 2] - 1.0,
    )


@kernel
def _determinant(m):
    return (
        m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
        - m[0, 1] * (m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0])
        + m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0])
    )


@kernel
def _square(e):
    """Square of the norm of E."""
    return e[0] * e[0] + e[3] * e[3] + e[5] * e[5] + 2.0 * (e[1] * e[1] + e[2] * e[2] + e[4] * e[4])


@kernel
def straighten(pose):
    """Replace the matrix of a pose by the nearest rotation, if it is farther than AS_IS (module docstring).

    It must be one to 1e-6 already (`rotation_error`).
    """
    for _ in range(2):
        e = _excess(pose)
        square = _square(e)
        if square <= AS_IS * AS_IS:
            return
        for i in range(3):
            x, y, z = 0.5 * pose[i, 0], 0.5 * pose[i, 1], 0.5 * pose[i, 2]
            pose[i, 0] -= x * e[0] + y * e[1] + z * e[2]
            pose[i, 1] -= x * e[1] + y * e[3] + z * e[4]
            pose[i, 2] -= x * e[2] + y * e[4] + z * e[5]
        if square <= _ONE_STEP * _ONE_STEP:
            return


@kernel
def compose(outer, inner, pose):
    """Fill in the product of two poses; `composition` and `at_place` bound its errors."""
    for i in range(3):
        for j in range(4):
            pose[i, j] = outer[i, 0] * inner[0, j] + outer[i, 1] * inner[1, j] + outer[i, 2] * inner[2, j]
        pose[i, 3] += outer[i, 3]
        pose[3, i] = 0.0
    pose[3, 3] = 1.0
    straighten(pose)


@kernel
def _examine_pose(m):
    """Return what is wrong with a pose, and the norm of E."""
    for i in range(4):
        for j in range(4):
            if not math.isfinite(m[i, j]):
                return NOT_FINITE, math.inf
    if m[3, 0] != 0.0 or m[3, 1] != 0.0 or m[3, 2] != 0.0 or m[3, 3] != 1.0:
        return LAST_ROW, math.inf
    if max(abs(m[0, 3]), abs(m[1, 3]), abs(m[2, 3])) > MOST_LENGTH:
        return TOO_FAR, math.inf
    error = math.sqrt(_square(_excess(m)))
    if not error < ROTATION_TOLERANCE:
        return NO_ROTATION, error
    return (RIGID if _determinant(m) > 0.0 else REFLECTION), error


@kernel
def take_pose(given, pose):
    """Copy a pose, made rigid to the last bits; return what is wrong with it instead, if anything is."""
    found, error = _examine_pose(given)
    if found == RIGID:
        for i in range(4):
            for j in range(4):
                pose[i, j] = given[i, j]
        if error > AS_IS:
            straighten(pose)
    return found


@entry_point(nogil=True)
def straighten_rows(poses: Floats3) -> None:
    """`straighten` for rows of poses."""
    for k in range(poses.shape[0]):
        straighten(poses[k])


@entry_point
def rotation_error(poses: Floats3) -> float:
    """Largest norm of E over rows of poses; inf if one is not a rigid transform, or farther than `MOST_LENGTH`."""
    worst = 0.0
    for k in range(poses.shape[0]):
        found, error = _examine_pose(poses[k])
        if found != RIGID:
            return math.inf
        worst = max(worst, error)
    return worst
