# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Points that are proved to be in both of two bodies: bodies that have one are not apart."""

from __future__ import annotations

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, norm, rotate, rotate_back, scale, sub
from superovoid.contact.separation import is_in_both, level
from superovoid.contact.superovoids.newton import retract
from superovoid.shapes.kernels.surface import SIZE, gradient

_ROUNDS, _HALVINGS = 12, 40


@kernel
def _outwards(body, p):
    """Unit normal of the surface of a body where it is radially above a point."""
    g = gradient(body, retract(body, p, p, 1.0, True, True))
    length = norm(g)
    return scale(1.0 / length, g) if length > 0.0 else p


@kernel
def _higher_level(pair, p):
    """The larger of the levels of a point in both bodies: below 1 in both."""
    return max(level(pair.a, p), level(pair.b, rotate_back(pair.rotation, sub(p, pair.centre))))


@kernel
def common_point(pair, p):
    """Look for a point in both bodies, from one next to where their surfaces cross.

    There the way into both is against the sum of the two normals. It is as long as the overlap is wide, which is not
    known: of steps that are halved the first is taken that lowers the higher of both levels.
    """
    out_of_line()
    a, b, rotation, centre = pair.a, pair.b, pair.rotation, pair.centre
    best = _higher_level(pair, p)
    for _ in range(_ROUNDS):
        if is_in_both(pair, p):
            return True, p
        normal_b = _outwards(b, rotate_back(rotation, sub(p, centre)))
        inwards = scale(-1.0, add(_outwards(a, p), rotate(rotation, normal_b)))
        step, lowest = min(a[SIZE], b[SIZE]), best
        q = p
        for _ in range(_HALVINGS):
            step *= 0.5
            trial = combine(1.0, p, step, inwards)
            height = _higher_level(pair, trial)
            if height < lowest:
                q, lowest = trial, height
            elif lowest < best:
                break
        if not (lowest < best):
            break
        p, best = q, lowest
    return is_in_both(pair, p), p
