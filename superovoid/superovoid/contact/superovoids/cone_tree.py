# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Cones of directions that prove an overlap, written down so that others can check them (docs/how_to/verify.md).

No translation shorter than rho separates two convex bodies iff h_M(n) >= rho |n| for every n, M = A - B. On a cone
spanned by n1, n2, n3 that holds if a point m of M has n_j . m >= rho |n_j| for j = 1, 2, 3, because n . m - rho |n| is
concave and h_M(n) >= n . m. The octants of A's frame are halved until each cone has its point, a mean of support
points. The tree records the order of the halvings, from which the cones follow without a gap, and the points of the
bodies. A check needs only these, and no support function.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.arrays import Floats2, Int8s1
from superovoid.compiled.kernels import entry_point, kernel, out_of_line
from superovoid.compiled.rows import layout
from superovoid.compiled.vector import add, dot, norm, put_vector, rotate, scale, sub, vector_at
from superovoid.contact.pair import OvoidPair, Pair
from superovoid.contact.superovoids.directions import minkowski_support
from superovoid.shapes.kernels.support_function import LOOSE
from superovoid.shapes.kernels.surface import position

# Entries of a tree: an edge that is halved, from corner 0, 1 or 2 to the next; a cone with a point; one that the first
# of the points serves.
POINT, FIRST_POINT = 3, 4
_LARGE = 0.6  # chord of an edge that is halved whatever the bodies are
_DEEPEST = 96  # halvings of an octant; a check takes as many
CONE, CONE_LENGTH = layout(1, n=9, m=9, x=9, y=9)  # three corners, their points of M, of A and of B


@kernel
def _difference(pair, x, y):
    """x - y in the frame of A, for points in the frames of both bodies."""
    return sub(x, add(pair.centre, rotate(pair.rotation, y)))


@kernel
def _set_corner(pair, cores, row, j, n):
    """Put a direction and its support points at a corner; a sphere counts as its centre."""
    out_of_line()
    _, fa, fb = minkowski_support(pair, scale(1.0 / norm(n), n), LOOSE)
    x = scale(cores[0], position(pair.a, fa))
    y = scale(cores[1], position(pair.b, fb))
    put_vector(row, CONE.n + 3 * j, n)
    put_vector(row, CONE.m + 3 * j, _difference(pair, x, y))
    put_vector(row, CONE.x + 3 * j, x)
    put_vector(row, CONE.y + 3 * j, y)


@kernel
def _least_height(value, weights):
    """Least n_j . m / |n_j| of a mean of the three points."""
    least = math.inf
    for j in range(3):
        least = min(least, weights[0] * value[j, 0] + weights[1] * value[j, 1] + weights[2] * value[j, 2])
    return least


@kernel
def _better_mean(value, best, w0, w1, w2):
    """Return the better of two means; the second counts only if its weights are not negative."""
    if not (w0 >= 0.0 and w1 >= 0.0 and w2 >= 0.0):
        return best
    least = _least_height(value, (w0, w1, w2))
    return (least, w0, w1, w2) if least > best[0] else best


@kernel
def _best_mean(value):
    """Least n_j . m / |n_j| of the best mean of the three points, and its weights: a game of three by three.

    `value` has n_j . m_i / |n_j| at [j, i]. The mean that is as good at all corners, means of two points that are as
    good at two, and the points themselves are tried.
    """
    best = (-math.inf, 1.0, 0.0, 0.0)
    best = _better_mean(value, best, 1.0, 0.0, 0.0)
    best = _better_mean(value, best, 0.0, 1.0, 0.0)
    best = _better_mean(value, best, 0.0, 0.0, 1.0)
    p0, p1, p2 = value[1, 0] - value[0, 0], value[1, 1] - value[0, 1], value[1, 2] - value[0, 2]
    q0, q1, q2 = value[2, 0] - value[0, 0], value[2, 1] - value[0, 1], value[2, 2] - value[0, 2]
    w0, w1, w2 = p1 * q2 - p2 * q1, p2 * q0 - p0 * q2, p0 * q1 - p1 * q0
    total = w0 + w1 + w2
    if total != 0.0:
        best = _better_mean(value, best, w0 / total, w1 / total, w2 / total)
    for i in range(3):
        j = (i + 1) % 3
        for first in range(3):
            second = (first + 1) % 3
            fall = value[first, i] - value[second, i]
            rise = value[second, j] - value[first, j]
            if fall + rise != 0.0:
                share = fall / (fall + rise)
                if i == 0:
                    best = _better_mean(value, best, 1.0 - share, share, 0.0)
                elif i == 1:
                    best = _better_mean(value, best, 0.0, 1.0 - share, share)
                else:
                    best = _better_mean(value, best, share, 0.0, 1.0 - share)
    return best


@kernel
def _edge_to_halve(row, value):
    """Return the longest edge of a large cone, or the edge of a small one along which the points differ most."""
    longest = most = -math.inf
    by_length = by_bend = 0
    for i in range(3):
        j = (i + 1) % 3
        n, m = vector_at(row, CONE.n + 3 * i), vector_at(row, CONE.n + 3 * j)
        length = norm(sub(scale(1.0 / norm(n), n), scale(1.0 / norm(m), m)))
        bend = value[i, i] - value[i, j] - value[j, i] + value[j, j]
        if length > longest:
            longest, by_length = length, i
        if bend > most:
            most, by_bend = bend, i
    return by_length if longest > _LARGE else by_bend


@entry_point(_nrt=True)
def grow(
    bodies: OvoidPair,
    rho: float,
    first: tuple[tuple[float, float, float], tuple[float, float, float]],
    cores: tuple[float, float],
    tree: Int8s1,
    points: Floats2,
) -> tuple[int, int]:
    """Cover all directions with cones, each with a point of M that is no less than rho away along it.

    Parameters
    ----------
    bodies : OvoidPair
    rho : float
        m.
    first : tuple
        A point of A and one of B, in their frames, that serve the cones about the best direction.
    cores : tuple
        0 for a sphere, which counts as its centre, 1 for another body.
    tree : array
        Takes the entries.
    points : array, shape (k, 6)
        Takes the points; the first are `first`.

    Returns
    -------
    tuple of int
        Numbers of entries and of points; (0, 0) if an array is too short or a cone too narrow.
    """
    out_of_line()
    pair = Pair(bodies.a, bodies.b, bodies.rotation, bodies.centre)  # the type that other callers use
    stack = np.empty((8 + _DEEPEST, CONE_LENGTH))
    depths = np.zeros(8 + _DEEPEST, np.int64)
    value = np.empty((3, 3))
    waiting = 0
    for octant in range(7, -1, -1):
        row = stack[waiting]
        for j in range(3):
            sign = -1.0 if (octant >> (2 - j)) & 1 else 1.0
            n = (sign if j == 0 else 0.0, sign if j == 1 else 0.0, sign if j == 2 else 0.0)
            _set_corner(pair, cores, row, j, n)
        waiting += 1
    x, y = scale(cores[0], first[0]), scale(cores[1], first[1])
    near = _difference(pair, x, y)
    put_vector(points[0], 0, x)
    put_vector(points[0], 3, y)
    entries, found = 0, 1
    while waiting > 0:
        if entries == tree.shape[0] or found == points.shape[0]:
            return 0, 0
        row, depth = stack[waiting - 1], depths[waiting - 1]
        by_first = math.inf
        for j in range(3):
            n = vector_at(row, CONE.n + 3 * j)
            length = norm(n)
            by_first = min(by_first, dot(n, near) / length)
            for i in range(3):
                value[j, i] = dot(n, vector_at(row, CONE.m + 3 * i)) / length
        if by_first >= rho:
            tree[entries] = FIRST_POINT
            entries += 1
            waiting -= 1
            continue
        least, w0, w1, w2 = _best_mean(value)
        if least >= rho:
            for k in range(3):
                points[found, k] = w0 * row[CONE.x + k] + w1 * row[CONE.x + 3 + k] + w2 * row[CONE.x + 6 + k]
                points[found, 3 + k] = w0 * row[CONE.y + k] + w1 * row[CONE.y + 3 + k] + w2 * row[CONE.y + 6 + k]
            tree[entries] = POINT
            entries += 1
            found += 1
            waiting -= 1
            continue
        if depth == _DEEPEST:
            return 0, 0
        i = _edge_to_halve(row, value)
        j = (i + 1) % 3
        tree[entries] = i
        entries += 1
        middle = scale(0.5, add(vector_at(row, CONE.n + 3 * i), vector_at(row, CONE.n + 3 * j)))
        # The first half, without corner i, comes before the second, without corner j.
        other = stack[waiting]
        for k in range(CONE_LENGTH):
            other[k] = row[k]
        _set_corner(pair, cores, other, i, middle)
        for part in (CONE.n, CONE.m, CONE.x, CONE.y):
            for k in range(3):
                row[part + 3 * j + k] = other[part + 3 * i + k]
        depths[waiting - 1] = depths[waiting] = depth + 1
        waiting += 1
    return entries, found
