# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planes about which a pair of bodies may be symmetric, and directions mirrored in them.

The planes are those through the middle of a body across its axes or half way between two of them, and the one along
both z axes, or along these and the line of the middles where they are parallel. They serve pairs whose middles both lie
on them.
"""

from __future__ import annotations

import math

from superovoid_ros.compiled.jit import kernel
from superovoid_ros.compiled.vector import combine, cross, dot, norm, rotate, scale

PLANES = 19
ON_PLANE = 1e-6  # of the smaller body: how far a middle may be from a plane that it counts as on
AWAY = 0.05  # chord of directions, or part of the smaller body, from which on another one is not the same
BESIDE = 1e-7  # chord from which on a direction is mirrored at all: a minimum in the plane is found to within that
SAME = 1e-9  # of angles and sizes
_OF_BODY, _PARALLEL = 9, 1e-6  # planes of one body; sine of the angle of parallel axes
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
def plane_normal(rotation, line, i):
    """Normal of the i-th plane, in the frame of A; zero where there is none."""
    if i < _OF_BODY:
        return _of_body(i)
    if i < 2 * _OF_BODY:
        return rotate(rotation, _of_body(i - _OF_BODY))
    up = (0.0, 0.0, 1.0)
    m = cross(up, rotate(rotation, up))
    length, least = norm(m), _PARALLEL
    if length <= _PARALLEL:
        m = cross(up, line)
        length, least = norm(m), SAME * norm(line)
    return scale(1.0 / length, m) if length > least else (0.0, 0.0, 0.0)


@kernel
def mirrored_direction(rotation, line, near, n, i):
    """The direction n mirrored in the i-th plane, where the middles are no farther from that than `near`.

    Returns whether it is another one, it, the one between both, in the plane, and the chord from n to it.
    """
    m = plane_normal(rotation, line, i)
    chord = 2.0 * abs(dot(m, n))
    between = combine(1.0, n, -dot(m, n), m)
    between = scale(1.0 / max(norm(between), SAME), between)
    return abs(dot(m, line)) <= near and chord > BESIDE, combine(1.0, n, -2.0 * dot(m, n), m), between, chord
