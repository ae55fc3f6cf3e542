# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Answers for a pair of bodies, and answers of Newton's method with bounds in closed form."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, dot, norm, sub
from superovoid.contact.minkowski.flats import REACH
from superovoid.contact.pair import UNDECIDED, verdict_of
from superovoid.contact.separation import rounding_margin
from superovoid.contact.superovoids.certificate import is_flat, lower_bound
from superovoid.contact.superovoids.newton import solve
from superovoid.contact.superovoids.tangent_balls import proved_depth
from superovoid.shapes.kernels.surface import RADIUS, SIZE, SurfacePoint
from superovoid.values.status import ARBITRARY_NORMAL, NON_UNIQUE

_NEWTON_TOLERANCE = 1e-10  # of the residual; smaller for a narrower requested interval
# numpy integers: numba would compile a kernel once more for every literal it is called with.
COLD_ITERATIONS = np.int64(40)
WARM_ITERATIONS = np.int64(30)
CLOSED = np.int64(0)


class Answer(NamedTuple):
    """Answer for a pair in the frame of A; `n` from A to B."""

    distance: float
    lower: float
    upper: float
    x: tuple  # point of A
    y: tuple  # point of B
    n: tuple
    fa: SurfacePoint
    fb: SurfacePoint
    status: int
    iterations: int


@kernel
def certify(pair, fa, fb, k, goal, iterations):
    """Answer from a converged pair of surface points with the interval that can be proved in closed form."""
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    size = min(a[SIZE], b[SIZE])
    status = 0
    if is_flat(a, b, rotation, fa, fb, k, REACH * size, goal):
        status |= NON_UNIQUE
    d = dot(k.u, k.n)
    lower, n = lower_bound(pair, fa, fb, k)
    if norm(sub(n, k.n)) * (a[RADIUS] + b[RADIUS]) <= 0.1 * goal:
        n = k.n  # proves the bound as well, and is in the middle of the two normals
    margin = rounding_margin(a, b, centre)
    if d >= 0.0:
        distance = norm(k.u)
        upper = distance + margin
    else:
        distance = d
        depth, is_unique = proved_depth(pair, fa, fb, k, goal)
        if depth + d >= -goal and not is_unique:
            status |= ARBITRARY_NORMAL
        upper = (-depth if depth > 0.0 else norm(k.u)) + margin
    lower, upper = min(lower, distance), max(upper, distance)
    return Answer(distance, lower, upper, k.x, add(k.x, k.u), n, fa, fb, status, iterations)


@kernel
def with_interval(answer, lower, upper, status):
    """Return the same answer with another interval and further flags."""
    distance, _, _, x, y, n, fa, fb, flags, iterations = answer
    lower, upper, status = min(lower, distance), max(upper, distance), flags | status
    return Answer(distance, lower, upper, x, y, n, fa, fb, status, iterations)


@kernel
def with_iterations(answer, iterations):
    """Return the same answer with another count of iterations."""
    distance, lower, upper, x, y, n, fa, fb, status, _ = answer
    return Answer(distance, lower, upper, x, y, n, fa, fb, status, iterations)


@kernel
def is_closed(answer, goal):
    """Return whether the interval is as narrow as requested."""
    return answer.upper - answer.lower <= goal


@kernel
def is_enough(answer, goal, limit):
    """Return whether the interval is as narrow as requested, or decides about the ends of a limit."""
    return is_closed(answer, goal) or verdict_of(answer.lower, answer.upper, limit) != UNDECIDED


@kernel
def newton_tolerance(a, b, centre, goal):
    """Return a residual for which the interval is well inside the goal; neither is ever below the rounding error."""
    size = min(a[SIZE], b[SIZE])
    return max(min(_NEWTON_TOLERANCE, 0.1 * goal / size), 0.125 * rounding_margin(a, b, centre) / size)


@kernel(separate=True)
def newton_from(pair, fa, fb, goal, max_iterations, iterations):
    """Run Newton's method; return an answer with an empty interval (lower = -inf) if it does not converge."""
    a, b, centre = pair.a, pair.b, pair.centre
    tolerance = newton_tolerance(a, b, centre, goal)
    ok, used, fa, fb, k = solve(pair, fa, fb, tolerance, max_iterations)
    iterations += used
    if ok:
        return certify(pair, fa, fb, k, goal, iterations)
    return Answer(math.inf, -math.inf, math.inf, k.x, add(k.x, k.u), k.n, fa, fb, 0, iterations)
