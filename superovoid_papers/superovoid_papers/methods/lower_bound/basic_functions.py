# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kernels of the lower bound: basic functions, their composition over edges and faces, applicable contacts.

Symbols of the paper: an edge e of one polyhedron, a face f of the other, an edge e_f of f, a plane f_e that contains e
(here: its unit normal m), the ends ∂- and ∂+ of an edge, a signed distance A of a vertex from a plane, and B that of
the lines of two edges. D_{e,f} > 0 exactly if e pierces f.

For faces of any form the composition bounds the distance: if one body moves by t, A and B change by at most |t|. min
and xmin preserve this property, so D has it, too, and no edge pierces a face as long as |t| < -max D. (B has the
property with unit direction vectors, but not with the edges' own if these are long. Here e x e_f is normalised, which
makes B the distance of the two lines.)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.vector import combine, cross, dot, norm, scale, sub, tangent_frame
from superovoid.compiler.jit import kernel

_PARALLEL = 1e-9  # largest sine of parallel edges; above it their cross product has a direction
_TIE = 1e-12  # bound of products of unit vectors that are 0 except for rounding of the poses
_NO_ANGLE = 1e-12  # sine of two edges, below which only the distances of their ends from planes count
_NEAR_ORIGIN = 1e-6  # share of the distance of its point, below which a line passes through the origin
_UNIT_ROUNDING = 1e-15  # of a cross product of unit vectors
_STEPS = 30  # limit for the nearest point of a convex hull in the plane; it takes three or four


class Edges(NamedTuple):
    """Edges of a polyhedron."""

    vertices: NDArray[np.float64]
    ends: NDArray[np.int64]
    directions: NDArray[np.float64]


class Faces(NamedTuple):
    """Faces of a polyhedron, see `polyhedron.PackedPolyhedron`."""

    vertices: NDArray[np.float64]
    normals: NDArray[np.float64]
    bounds: NDArray[np.int64]
    corners: NDArray[np.int64]


class Wedges(NamedTuple):
    """Edges of a polyhedron between their two faces, see `polyhedron.PackedPolyhedron`."""

    directions: NDArray[np.float64]
    inward: NDArray[np.float64]
    reflex: NDArray[np.bool_]
    faces: NDArray[np.int64]


class Options(NamedTuple):
    """Options of the search for the largest value."""

    farthest: bool  # if true, use the farthest plane; otherwise that through the origin
    alpha_beta: bool  # skip pairs that cannot exceed the largest known value
    margin: float  # largest rounding error of a value of 0
    coplanar: float  # height over a face below which an edge lies in its plane


@kernel
def row(rows, i):
    """Return row i as a vector."""
    return (rows[i, 0], rows[i, 1], rows[i, 2])


@kernel
def xmin(x, y):
    """Return the smaller absolute value, positive if exactly one of x and y is positive, negative otherwise."""
    size = min(abs(x), abs(y))
    return size if (x > 0.0) != (y > 0.0) else -size


@kernel
def plane_through_origin(p, d):
    """Return the unit normal of the plane through the origin and the line p + s d; any plane if the line meets it."""
    w = combine(1.0, p, -dot(p, d), d)
    if norm(w) <= _NEAR_ORIGIN * norm(p):
        m, _ = tangent_frame(d)
        return m
    m = cross(d, w)
    return scale(1.0 / norm(m), m)


@kernel
def _nearest_of_segment(ax, ay, bx, by):
    """Return the point of a segment nearest to the origin."""
    ux, uy = bx - ax, by - ay
    length = ux * ux + uy * uy
    s = -(ax * ux + ay * uy) / length if length > 0.0 else 0.0
    s = min(max(s, 0.0), 1.0)
    return ax + s * ux, ay + s * uy


@kernel
def _widen(count, x, y, cx, cy):
    """Rotate the unit vector (cx, cy) to the largest least |c . p_k|, without a change of sign of any c . p_k.

    This is the direction of the point nearest to the origin of the convex hull of the points times these signs, which
    Gilbert's method with two support points finds.
    """
    best = -1.0
    least = math.inf
    px = py = 0.0
    for k in range(count):
        r = x[k] * x[k] + y[k] * y[k]
        if r < least:
            least = r
            sign = 1.0 if cx * x[k] + cy * y[k] > 0.0 else -1.0
            px, py = sign * x[k], sign * y[k]
    ax, ay, bx, by = px, py, px, py
    mx, my = cx, cy
    for _ in range(_STEPS):
        value = math.inf
        qx = qy = 0.0
        for k in range(count):
            sign = 1.0 if cx * x[k] + cy * y[k] > 0.0 else -1.0
            height = sign * (px * x[k] + py * y[k])
            if height < value:
                value, qx, qy = height, sign * x[k], sign * y[k]
        size = math.hypot(px, py)
        if not (size > 0.0):
            break
        if value > best * size:
            best, mx, my = value / size, px / size, py / size
        if value >= size * size * (1.0 - 1e-6):
            break
        ux, uy = _nearest_of_segment(ax, ay, qx, qy)
        vx, vy = _nearest_of_segment(bx, by, qx, qy)
        if ux * ux + uy * uy < vx * vx + vy * vy:
            px, py, bx, by = ux, uy, qx, qy
        else:
            px, py, ax, ay = vx, vy, qx, qy
    return best, mx, my


@kernel
def farthest_plane(p, d, vertices, corners, first, last, tiny, work):
    """Return the unit normal of the plane through the line p + s d with the largest distance to a face's corners.

    In the view along d, the line and the corners are points, and a plane is a line through the first. As it rotates,
    the least distance has one maximum between two successive corners (`_widen`).
    """
    u, w = tangent_frame(d)
    x, y, angle = work[0], work[1], work[2]
    count = 0
    for k in range(first, last):
        at = sub(row(vertices, corners[k, 0]), p)
        x[count], y[count] = dot(u, at), dot(w, at)
        if math.hypot(x[count], y[count]) > tiny:  # a corner on the line has distance 0 from every plane
            angle[count] = math.atan2(y[count], x[count]) % math.pi
            count += 1
    best = -1.0
    m = u
    for i in range(count):
        width = math.pi
        near = i
        for k in range(count):
            turn = (angle[k] - angle[i]) % math.pi
            if 0.0 < turn < width:
                width, near = turn, k
        reach = min(math.hypot(x[i], y[i]), math.hypot(x[near], y[near])) * math.sin(min(width, 0.5 * math.pi))
        if reach <= best:
            continue
        middle = angle[i] + 0.5 * width + 0.5 * math.pi
        value, cx, cy = _widen(count, x, y, math.cos(middle), math.sin(middle))
        if value > best:
            best, m = value, combine(cx, u, cy, w)
    return scale(1.0 / norm(m), m)


@kernel
def boundary_value(p, d, m, start, end, slack):
    """Return c_{e_f} of an edge of the face: positive if it crosses the half of the plane f_e on one side of e.

    For nearly parallel edges, |B| is reduced by its rounding error.
    """
    a_start = dot(m, sub(start, p))
    a_end = dot(m, sub(end, p))
    along = sub(end, start)
    across = cross(d, along)
    length, size = norm(across), norm(along)
    b = 0.0
    if length > _NO_ANGLE * size:
        b = dot(across, sub(start, p))
        b = math.copysign(max(abs(b) - slack * size, 0.0) / (length + _UNIT_ROUNDING * size), b)
    return min(xmin(a_end, a_start), xmin(a_start, b))


@kernel
def line_and_face(p, d, m, vertices, corners, first, last, slack):
    """Return b_{e,f}: positive if the line of e pierces f."""
    least, odd = math.inf, False
    for k in range(first, last):
        c = boundary_value(p, d, m, row(vertices, corners[k, 0]), row(vertices, corners[k, 1]), slack)
        least = min(least, abs(c))
        odd = odd != (c > 0.0)
    return least if odd else -least


@kernel
def _height(ax, ay, bx, by, x, y):
    """Return the signed distance in the plane of a point from the line from a to b (A^2D)."""
    ux, uy = bx - ax, by - ay
    length = math.hypot(ux, uy)
    return (ux * (y - ay) - uy * (x - ax)) / length if length > 0.0 else 0.0


@kernel
def in_plane(p, q, n, vertices, corners, first, last, margin):
    """Return a lower bound of the distance of e and f projected along the normal of f (eq. 3); 0 if they meet there.

    Two cases are missing in the paper: an edge inside the face meets it without crossing its edges, and for edges on
    one line all terms are 0, so their distance is that along the line. A projection never increases a distance, so this
    is a bound for every edge, coplanar or not.
    """
    u, w = tangent_frame(n)
    px, py, qx, qy = dot(u, p), dot(w, p), dot(u, q), dot(w, q)
    ux, uy = qx - px, qy - py
    length = math.hypot(ux, uy)
    largest, inside = -math.inf, False
    for k in range(first, last):
        start, end = row(vertices, corners[k, 0]), row(vertices, corners[k, 1])
        sx, sy, ex, ey = dot(u, start), dot(w, start), dot(u, end), dot(w, end)
        from_end, from_start = _height(px, py, qx, qy, ex, ey), _height(px, py, qx, qy, sx, sy)
        ends = xmin(_height(sx, sy, ex, ey, qx, qy), _height(sx, sy, ex, ey, px, py))
        value = min(ends, xmin(from_end, from_start))
        if abs(from_end) <= margin and abs(from_start) <= margin and length > 0.0:
            at_start = (ux * (sx - px) + uy * (sy - py)) / length
            at_end = (ux * (ex - px) + uy * (ey - py)) / length
            value = min(value, -max(-max(at_start, at_end), min(at_start, at_end) - length))
        largest = max(largest, value)
        if (sy > py) != (ey > py):
            inside = inside != (px < sx + (py - sy) / (ey - sy) * (ex - sx))
    return 0.0 if inside else max(-largest, 0.0)


@kernel(nogil=True)
def largest_value(edges, faces, starts, listed, options, best, work):
    """Find the largest D_{e,f} of pairs of edges of A and faces of B (eqs. 1 and 2).

    The faces of edge e are listed[starts[e] : starts[e + 1]]. With `alpha_beta`, pairs that cannot exceed the largest
    known value, initially `best`, are skipped. Values of 0 within rounding (`margin`) are computed again: those of
    coplanar pairs in their plane, the others with the farthest plane.

    Returns the value, its edge and face (-1: none above `best`), and the number of computed b_{e,f}.
    """
    vertices, normals, bounds, corners = faces
    farthest, alpha_beta, margin, coplanar = options
    edge, face, full = -1, -1, 0
    for i in range(len(edges.ends)):
        p, q = row(edges.vertices, edges.ends[i, 0]), row(edges.vertices, edges.ends[i, 1])
        d = row(edges.directions, i)
        m = plane_through_origin(p, d)
        for k in range(starts[i], starts[i + 1]):
            j = listed[k]
            first, last = bounds[j], bounds[j + 1]
            n, corner = row(normals, j), row(vertices, corners[first, 0])
            a_start, a_end = dot(n, sub(p, corner)), dot(n, sub(q, corner))
            a = xmin(a_end, a_start)
            if alpha_beta and a <= best:
                continue
            full += 1
            if farthest:
                m = farthest_plane(p, d, vertices, corners, first, last, margin, work)
            value = min(a, line_and_face(p, d, m, vertices, corners, first, last, margin))
            if abs(a_start) <= coplanar and abs(a_end) <= coplanar:
                value = min(value, -in_plane(p, q, n, vertices, corners, first, last, margin))
            if abs(value) <= margin and not farthest:
                other = farthest_plane(p, d, vertices, corners, first, last, margin, work)
                value = min(value, line_and_face(p, d, other, vertices, corners, first, last, margin))
            if value > best:
                best, edge, face = value, i, j
    return best, edge, face, full


@kernel
def _separates(n, t1, t2, t3, t4, tie):
    """Return whether a plane with normal n separates the faces of one edge from those of the other.

    This is the condition k_a != k_b of type B, with ties on both sides: without ties pruning would lose contacts of
    parallel features.
    """
    g1, g2, g3, g4 = dot(n, t1), dot(n, t2), dot(n, t3), dot(n, t4)
    if g1 >= -tie and g2 >= -tie and g3 <= tie and g4 <= tie:
        return True
    return g1 <= tie and g2 <= tie and g3 >= -tie and g4 >= -tie


@kernel
def edges_are_applicable(d, t1, t2, e, t3, t4):
    """Return the type B applicability of two edges along d and e, with the directions into their faces.

    For parallel edges e_m x e_n is undefined, and any normal perpendicular to them is admissible. If one separates, so
    does one perpendicular to a face.
    """
    n = cross(d, e)
    if norm(n) > _PARALLEL:
        return _separates(n, t1, t2, t3, t4, _TIE)
    tie = 10.0 * _PARALLEL
    if _separates(cross(d, t1), t1, t2, t3, t4, tie) or _separates(cross(d, t2), t1, t2, t3, t4, tie):
        return True
    return _separates(cross(d, t3), t1, t2, t3, t4, tie) or _separates(cross(d, t4), t1, t2, t3, t4, tie)


@kernel
def vertex_is_applicable(vertices, v, neighbours, n):
    """Return the type A applicability of a vertex to a face with normal n: no neighbour is lower (ties allowed)."""
    at = row(vertices, v)
    for k in range(neighbours[v], neighbours[v + 1]):
        along = sub(row(vertices, neighbours[k]), at)
        if dot(n, along) < -_TIE * norm(along):
            return False
    return True


@kernel(nogil=True)
def mark_vertex_contacts(vertices, neighbours, reflex_corners, normals, with_reflex, marked):
    """Mark a pair of edge and face for each applicable contact of a vertex; return the number of contacts."""
    found = 0
    count = len(vertices)
    edges = (len(neighbours) - count - 1) // 2  # number of entries after the neighbours
    for v in range(count):
        if reflex_corners[v] and not with_reflex:
            continue
        edge = neighbours[neighbours[v] + edges]
        for f in range(len(normals)):
            if vertex_is_applicable(vertices, v, neighbours, row(normals, f)):
                found += 1
                marked[edge, f] = True
    return found


@kernel(nogil=True)
def mark_edge_contacts(a, b, with_reflex, both, marked_a, marked_b):
    """Mark the pairs of edge and face for each applicable contact of two edges; return the number of contacts."""
    found = 0
    for i in range(len(a.directions)):
        if a.reflex[i] and not with_reflex:
            continue
        d, t1, t2 = row(a.directions, i), row(a.inward[i], 0), row(a.inward[i], 1)
        for j in range(len(b.directions)):
            if b.reflex[j] and not with_reflex:
                continue
            if edges_are_applicable(d, t1, t2, row(b.directions, j), row(b.inward[j], 0), row(b.inward[j], 1)):
                found += 1
                left_a, right_a = a.faces[i, 0], a.faces[i, 1]
                left_b, right_b = b.faces[j, 0], b.faces[j, 1]
                if both:
                    marked_a[i, left_b] = True
                    marked_b[j, left_a] = True
                elif not (marked_a[i, left_b] or marked_a[i, right_b] or marked_b[j, left_a] or marked_b[j, right_a]):
                    marked_a[i, left_b] = True
    return found


@kernel(nogil=True)
def mark_near(boxes_a, boxes_b, slack, marked):
    """Mark the pairs of boxes (low x, y, z, high x, y, z) within a slack of each other."""
    for i in range(len(boxes_a)):
        for j in range(len(boxes_b)):
            near = True
            for axis in range(3):
                near = near and boxes_a[i, axis] - slack <= boxes_b[j, 3 + axis]
                near = near and boxes_b[j, axis] - slack <= boxes_a[i, 3 + axis]
            marked[i, j] = near


@kernel
def closest_of_segments(p, q, start, end):
    """Return the closest points of two segments (Ericson, Real-Time Collision Detection, 2005, section 5.1.9)."""
    u, v, w = sub(q, p), sub(end, start), sub(p, start)
    uu, vv, uv, uw, vw = dot(u, u), dot(v, v), dot(u, v), dot(u, w), dot(v, w)
    det = uu * vv - uv * uv
    s = min(max((uv * vw - vv * uw) / det, 0.0), 1.0) if det > 0.0 else 0.0
    t = (uv * s + vw) / vv
    if t < 0.0 or t > 1.0:
        t = min(max(t, 0.0), 1.0)
        s = min(max((uv * t - uw) / uu, 0.0), 1.0)
    return combine(1.0, p, s, u), combine(1.0, start, t, v)


@kernel
def closest_of_edge_and_face(p, q, n, vertices, corners, first, last):
    """Return the closest points of an edge and a face."""
    u, w = tangent_frame(n)
    corner = row(vertices, corners[first, 0])
    heights = dot(n, sub(p, corner)), dot(n, sub(q, corner))
    x, y = p, corner
    best = math.inf
    crossing = heights[0] / (heights[0] - heights[1]) if heights[0] * heights[1] < 0.0 else 0.0
    for s in (crossing, 0.0, 1.0):
        at = combine(1.0 - s, p, s, q)
        height = dot(n, sub(at, corner))
        foot = combine(1.0, at, -height, n)
        ax, ay = dot(u, foot), dot(w, foot)
        inside = False
        for k in range(first, last):
            start, end = row(vertices, corners[k, 0]), row(vertices, corners[k, 1])
            sy, ey = dot(w, start), dot(w, end)
            if (sy > ay) != (ey > ay):
                sx, ex = dot(u, start), dot(u, end)
                inside = inside != (ax < sx + (ay - sy) / (ey - sy) * (ex - sx))
        if inside and abs(height) < best:
            best, x, y = abs(height), at, foot
    for k in range(first, last):
        on_edge, on_face = closest_of_segments(p, q, row(vertices, corners[k, 0]), row(vertices, corners[k, 1]))
        far = norm(sub(on_edge, on_face))
        if far < best:
            best, x, y = far, on_edge, on_face
    return x, y


@kernel
def closest_of_pair(edges, edge, faces, face, out):
    """Fill rows 0 and 1 of `out` with the closest points of an edge of A and a face of B."""
    x, y = closest_of_edge_and_face(
        row(edges.vertices, edges.ends[edge, 0]),
        row(edges.vertices, edges.ends[edge, 1]),
        row(faces.normals, face),
        faces.vertices,
        faces.corners,
        faces.bounds[face],
        faces.bounds[face + 1],
    )
    for i in range(3):
        out[0, i], out[1, i] = x[i], y[i]
