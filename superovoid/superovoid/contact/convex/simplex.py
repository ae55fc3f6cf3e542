# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Simplices of GJK: up to four points of M = A - B, and the point of their hull that is nearest to the origin."""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.compiled.vector import add, combine, cross, dot, scale, sub
from superovoid.contact.minkowski.difference import holds_origin, segment_weights


class Simplex(NamedTuple):
    """Up to four vertices of M, what they come from, and the weights of the point nearest to the origin."""

    count: int  # type: ignore[assignment] # a number of vertices, not the method of tuples
    p: tuple
    q: tuple
    r: tuple
    s: tuple
    names: tuple  # of p, q, r, s, as of `name_of`
    weights: tuple  # of p, q, r
    v: tuple  # that point


@kernel
def name_of(a, b):
    """One number for two: what a vertex of M comes from in A and in B."""
    return (a << 32) | b


@kernel
def _one(p, name):
    o = (0.0, 0.0, 0.0)
    return Simplex(1, p, o, o, o, (name, -1, -1, -1), (1.0, 0.0, 0.0), p)


@kernel
def _two(p, q, name_p, name_q):
    s, t = segment_weights(p, q)
    if t <= 0.0:
        return _one(p, name_p)
    if s <= 0.0:
        return _one(q, name_q)
    o = (0.0, 0.0, 0.0)
    return Simplex(2, p, q, o, o, (name_p, name_q, -1, -1), (s, t, 0.0), combine(s, p, t, q))


@kernel
def _three(p, q, r, name_p, name_q, name_r):
    """Nearest point of a triangle, of which p is new: it is not on the edge of the other two."""
    u, v = sub(q, p), sub(r, p)
    normal = cross(u, v)
    area = dot(normal, normal)
    if area > 0.0:
        # The origin's foot, as in `triangle_weights`.
        wq = dot(cross(v, p), normal) / area
        wr = dot(cross(p, u), normal) / area
        wp = 1.0 - wq - wr
        if wp > 0.0 and wq > 0.0 and wr > 0.0:
            x = add(combine(wp, p, wq, q), scale(wr, r))
            return Simplex(3, p, q, r, p, (name_p, name_q, name_r, -1), (wp, wq, wr), x)
    one, other = _two(p, q, name_p, name_q), _two(p, r, name_p, name_r)
    return one if dot(one.v, one.v) <= dot(other.v, other.v) else other


@kernel
def _beyond(p, q, r, opposite):
    """Whether the origin is not on the side of the opposite vertex of a face."""
    normal = cross(sub(q, p), sub(r, p))
    return not dot(normal, sub(opposite, p)) * dot(normal, p) < 0.0


@kernel
def _four(p, old, name_p):
    """Nearest point of a tetrahedron, of which p is new: it is not on the face of the other three."""
    q, r, s = old.p, old.q, old.r
    name_q, name_r, name_s, _ = old.names
    best, least = old, math.inf
    for every in range(2):  # of a thin tetrahedron that does not hold the origin, every face
        for f in range(3):
            if f == 0:
                i, j, opposite, name_i, name_j = q, r, s, name_q, name_r
            elif f == 1:
                i, j, opposite, name_i, name_j = r, s, q, name_r, name_s
            else:
                i, j, opposite, name_i, name_j = s, q, r, name_s, name_q
            if every == 1 or _beyond(p, i, j, opposite):
                face = _three(p, i, j, name_p, name_i, name_j)
                length = dot(face.v, face.v)
                if length < least:
                    best, least = face, length
        if least < math.inf or _beyond(q, r, s, p):
            return best
        if holds_origin(p, q, r, s):
            break
    return Simplex(4, p, q, r, s, (name_p, name_q, name_r, name_s), old.weights, (0.0, 0.0, 0.0))


@kernel
def with_vertex(simplex, p, name):
    """The vertices that the nearest point of a simplex and one more vertex needs."""
    out_of_line()
    if simplex.count == 0:
        return _one(p, name)
    if simplex.count == 1:
        return _two(p, simplex.p, name, simplex.names[0])
    if simplex.count == 2:
        return _three(p, simplex.p, simplex.q, name, simplex.names[0], simplex.names[1])
    return _four(p, simplex, name)


@kernel
def has(simplex, name):
    """Whether one of up to three vertices of a simplex has a name."""
    i, j, k, _ = simplex.names
    return name == i or name == j or name == k


@kernel
def no_simplex():
    """The simplex of no points."""
    o = (0.0, 0.0, 0.0)
    return Simplex(0, o, o, o, o, (-1, -1, -1, -1), (0.0, 0.0, 0.0), o)
