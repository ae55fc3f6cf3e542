# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Intersection and containment tests for triangles with integer corners, exact by integer arithmetic."""

import itertools


def _subtract(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def _cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def side_of(a, b, c, d):
    """Return the sign of the volume of a tetrahedron."""
    volume = _dot(_cross(_subtract(b, a), _subtract(c, a)), _subtract(d, a))
    return (volume > 0) - (volume < 0)


def _turn(p, q, r):
    area = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    return (area > 0) - (area < 0)


def _is_between(p, q, r):
    """Return whether r, a point on the line through p and q, lies between them."""
    return all(min(p[k], q[k]) <= r[k] <= max(p[k], q[k]) for k in range(2))


def _segments_meet(p, q, r, s):
    one, two, three, four = _turn(p, q, r), _turn(p, q, s), _turn(r, s, p), _turn(r, s, q)
    if one != two and three != four:
        return True
    pairs = ((one, p, q, r), (two, p, q, s), (three, r, s, p), (four, r, s, q))
    return any(turn == 0 and _is_between(a, b, c) for turn, a, b, c in pairs)


def _coplanar_meets(p, q, triangle):
    """Return whether a segment in the plane of a non-degenerate triangle meets it."""
    normal = _cross(_subtract(triangle[1], triangle[0]), _subtract(triangle[2], triangle[0]))
    drop = max(range(3), key=lambda k: abs(normal[k]))
    p, q, *corners = ([x for k, x in enumerate(point) if k != drop] for point in (p, q, *triangle))
    turns = {_turn(corners[k], corners[(k + 1) % 3], p) for k in range(3)}
    if not {1, -1} <= turns:
        return True
    return any(_segments_meet(p, q, corners[k], corners[(k + 1) % 3]) for k in range(3))


def _segment_meets(p, q, triangle):
    a, b, c = triangle
    one, other = side_of(a, b, c, p), side_of(a, b, c, q)
    if one == other == 0:
        return _coplanar_meets(p, q, triangle)
    if one * other > 0:
        return False
    turns = {side_of(p, q, a, b), side_of(p, q, b, c), side_of(p, q, c, a)}
    return not {1, -1} <= turns


def triangles_meet(one, other):
    """Return whether two closed triangles have a common point; neither may be degenerate."""
    for k in range(3):
        if max(p[k] for p in one) < min(p[k] for p in other) or max(p[k] for p in other) < min(p[k] for p in one):
            return False
    return any(
        _segment_meets(first[k], first[(k + 1) % 3], second)
        for first, second in ((one, other), (other, one))
        for k in range(3)
    )


def surfaces_meet(one, other):
    """Return whether any triangle of one list meets a triangle of the other."""
    return any(triangles_meet(a, b) for a, b in itertools.product(one, other))


_FAR = (10**9 + 7, 998_244_353 * 10, 10**10 + 19)


def holds(triangles, p):
    """Return whether a closed surface contains a point p off the surface, by the parity of crossings of a ray."""
    far = (p[0] + _FAR[0], p[1] + _FAR[1], p[2] + _FAR[2])
    passed = 0
    for a, b, c in triangles:
        one, other = side_of(a, b, c, p), side_of(a, b, c, far)
        turns = (side_of(p, far, a, b), side_of(p, far, b, c), side_of(p, far, c, a))
        assert (one, other) != (0, 0), "the ray is in the plane of a triangle"
        if one == other or one == 0:
            continue  # no crossing, or p in the plane but not in the triangle
        if {1, -1} <= set(turns):
            continue
        assert 0 not in turns, "the ray meets an edge"
        passed += 1
    return passed % 2 == 1
