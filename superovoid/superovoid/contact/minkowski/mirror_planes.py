# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planes about which a pair of bodies may be symmetric, and directions mirrored in them.

The planes are those through the middle of a body across its axes or half way between two of them, and those along an
axis of each, or along these and the line of the middles where they are parallel. They serve pairs whose middles both
lie on them.

Two equal bodies have more. Where B is A turned half around an axis, A - B is symmetric about the plane across that
axis, whatever the bodies are: h(n) = h_A(n) + h_A(-R n) - n . t with R R = 1 is the same for n mirrored, -R n, if t is
across the axis. Where B is A mirrored in a plane across the line of the middles, A - B is the same turned half around
that line.
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import add, combine, cross, dot, norm, rotate, scale, sub

PLANES = 28
IMAGES = PLANES + 1  # of a direction: mirrored in the planes, and turned half around the line of the middles
ON_PLANE = 1e-6  # of the smaller body: how far a middle may be from a plane that it counts as on
AWAY = 0.05  # chord of directions, or part of the smaller body, from which on another one is not the same
BESIDE = 1e-7  # chord from which on a direction is mirrored at all: a minimum in the plane is found to within that
SAME = 1e-9  # of angles and sizes
_OF_BODY, _ALONG_AXES, _PARALLEL = 9, 9, 1e-6  # planes of one body, along two axes; sine of the angle of parallel axes
_INVOLUTION = 1e-6  # how far a half turn is from its inverse
_DIAGONAL = math.sqrt(0.5)


@kernel
def _of_body(i):
    """Normal of the i-th plane of a body, in its frame."""
    if i < 3:
        return (1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0)
    other = _DIAGONAL if i % 2 == 0 else -_DIAGONAL
    if i < 5:
        return (_DIAGONAL, other, 0.0)
    if i < 7:
        return (0.0, _DIAGONAL, other)
    return (_DIAGONAL, 0.0, other)


@kernel
def _along_axes(rotation, line, i, j):
    """Normal of the plane along axis i of A and axis j of B."""
    axis = _of_body(i)
    m = cross(axis, rotate(rotation, _of_body(j)))
    length, least = norm(m), _PARALLEL
    if length <= _PARALLEL:
        m = cross(axis, line)
        length, least = norm(m), SAME * norm(line)
    return scale(1.0 / length, m) if length > least else (0.0, 0.0, 0.0)


@kernel
def _half_turn_axis(rotation):
    """Axis of a half turn; zero of another rotation."""
    t = rotation
    off = max(abs(t[0, 1] - t[1, 0]), abs(t[1, 2] - t[2, 1]), abs(t[2, 0] - t[0, 2]))
    # Of the axis u the matrix is 2 u u^T - 1.
    k = 0 if t[0, 0] >= max(t[1, 1], t[2, 2]) else (1 if t[1, 1] >= t[2, 2] else 2)
    u = (t[0, k], t[1, k], t[2, k])
    u = add(u, _of_body(k))
    length = norm(u)
    is_turned = off <= _INVOLUTION and t[0, 0] + t[1, 1] + t[2, 2] < 0.0
    return scale(1.0 / length, u) if is_turned and length > 0.0 else (0.0, 0.0, 0.0)


@kernel
def plane_normal(rotation, line, i):
    """Normal of the i-th plane, in the frame of A; zero where there is none."""
    if i < _OF_BODY:
        return _of_body(i)
    if i < 2 * _OF_BODY:
        return rotate(rotation, _of_body(i - _OF_BODY))
    i -= 2 * _OF_BODY
    if i < _ALONG_AXES:
        return _along_axes(rotation, line, i // 3, i % 3)
    return _half_turn_axis(rotation)


@kernel
def image_of_direction(rotation, line, near, n, i):
    """The i-th image of a direction n; a plane serves where the middles are no farther from it than `near`.

    Returns whether it is another one, it, the one half way between both, and the chord from n to it.
    """
    if i < PLANES:
        m = plane_normal(rotation, line, i)
        aside = scale(dot(m, n), m)
        serves = abs(dot(m, line)) <= near
    else:
        length = norm(line)
        u = scale(1.0 / max(length, near), line)
        aside = combine(1.0, n, -dot(u, n), u)
        serves = length > near
    chord = 2.0 * norm(aside)
    between = sub(n, aside)
    between = scale(1.0 / max(norm(between), SAME), between)
    return serves and chord > BESIDE, combine(1.0, n, -2.0, aside), between, chord
