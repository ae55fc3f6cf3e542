# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Convex polygons in a plane as lists of corners: hulls, intersections, and polygons of fewer corners.

A polygon of one or two corners is a point or a segment. There are few corners, which Python handles faster than numpy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TypeAlias

from superovoid.contact.inputs import TOLERANCE

Point: TypeAlias = tuple[float, float]
Line: TypeAlias = tuple[float, float, float]
"""(a, b, d) with (a, b) a unit vector: the points with a x + b y <= d are inside."""


def cross(a: Point, b: Point, c: Point) -> float:
    """Twice the area of a triangle, positive if it is counter-clockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def area(polygon: Sequence[Point]) -> float:
    """Area of a polygon, positive if it is counter-clockwise."""
    return 0.5 * sum(cross(polygon[0], p, q) for p, q in itertools.pairwise(polygon))


def edge_lines(polygon: Sequence[Point]) -> list[Line]:
    """Lines of the edges of a polygon of three corners or more, turned either way; none for edges without a length."""
    sign = math.copysign(1.0, area(polygon))
    lines = []
    for k, (x, y) in enumerate(polygon):
        dx, dy = x - polygon[k - 1][0], y - polygon[k - 1][1]
        length = math.hypot(dx, dy)
        if length > 0.0:
            a, b = sign * dy / length, -sign * dx / length
            lines.append((a, b, a * x + b * y))
    return lines


def clip_polygon(polygon: Sequence[Point], lines: Sequence[Line], slack: float) -> list[Point]:
    """Return the part of a polygon inside all lines (Sutherland and Hodgman); corners up to `slack` outside stay."""
    left = list(polygon)
    for a, b, d in lines:
        heights = [a * x + b * y - d for x, y in left]
        if not left or max(heights) <= slack:
            continue
        kept = []
        for k, (x, y) in enumerate(left):
            before, here = heights[k - 1], heights[k]
            if (before <= slack) != (here <= slack):
                t = min(1.0, max(0.0, before / (before - here)))
                u, v = left[k - 1]
                kept.append((u + t * (x - u), v + t * (y - v)))
            if here <= slack:
                kept.append((x, y))
        left = kept
    return left


def crossing(p: Point, q: Point, r: Point, s: Point) -> list[Point]:
    """The point in which two segments p q and r s cross, if they do."""
    (dx, dy), (ex, ey), (wx, wy) = ((b[0] - a[0], b[1] - a[1]) for a, b in ((p, q), (r, s), (p, r)))
    across = dx * ey - dy * ex
    if across == 0.0:
        return []
    t, u = (wx * ey - wy * ex) / across, (wx * dy - wy * dx) / across
    return [(p[0] + t * dx, p[1] + t * dy)] if 0.0 <= t <= 1.0 and 0.0 <= u <= 1.0 else []


def ends_of_parallels(one: Sequence[Point], other: Sequence[Point], sine: float) -> list[Point]:
    """Return the ends of two segments next to the other segment, if both are parallel within an angle of this sine.

    An end is next to a segment if it is no farther from its line than the longer segment times the sine.
    """
    d, e = math.dist(*one), math.dist(*other)
    ends = []
    for segment, length, own in ((other, e, one), (one, d, other)):
        (x, y), (u, v) = segment
        ax, ay = (u - x) / length, (v - y) / length
        across = [(u - x) * ay - (v - y) * ax for u, v in own]
        if abs(across[1] - across[0]) > sine * math.dist(*own):
            return []
        for (u, v), beside in zip(own, across, strict=True):
            if 0.0 <= (u - x) * ax + (v - y) * ay <= length and abs(beside) <= sine * max(d, e):
                ends.append((u, v))
    return ends


def hull(points: Sequence[Point], slack: float) -> list[int]:
    """Return the numbers of the corners of the convex hull, counter-clockwise (Andrew's monotone chain).

    Points within `slack` of a corner, or of the line between its neighbours, are not corners.
    """
    order = sorted(range(len(points)), key=points.__getitem__)

    def chain(order: list[int]) -> list[int]:
        corners: list[int] = []
        for k in order:
            while len(corners) >= 2 and cross(points[corners[-2]], points[corners[-1]], points[k]) <= 0.0:
                corners.pop()
            corners.append(k)
        return corners[:-1]

    corners = chain(order) + chain(order[::-1]) if len(order) > 1 else order
    k = 0
    while k < len(corners) > 1:
        a, b, c = points[corners[k - 1]], points[corners[k]], points[corners[(k + 1) % len(corners)]]
        between = (b[0] - a[0]) * (b[0] - c[0]) + (b[1] - a[1]) * (b[1] - c[1]) < 0.0
        if math.dist(a, b) <= slack or (between and cross(a, b, c) <= slack * math.dist(a, c)):
            del corners[k]
            k = max(0, k - 1)
        else:
            k += 1
    return corners


def simplify_polygon(points: Sequence[Point], corners: Sequence[int], most: int, held: int) -> list[int]:
    """Return fewer corners of a convex polygon, which span as much of it as they can.

    One corner after the other goes: the one whose triangle with its two neighbours is least (Visvalingam and Whyatt
    1993); of a triangle the one across from the longest side; of a segment the last free one. Among equal ones the
    corner with the largest number goes.

    Parameters
    ----------
    points : sequence of (x, y)
    corners : sequence of int
        Numbers of the corners, counter-clockwise.
    most : int
        How many may stay, at least 1.
    held : int
        Number of a corner that stays.
    """
    left = list(corners)

    def loss_of(k: int) -> float:
        a, b, c = points[left[k - 1]], points[left[k]], points[left[(k + 1) % len(left)]]
        return 0.5 * cross(a, b, c) if len(left) > 3 else -math.dist(a, c)

    losses = [loss_of(k) for k in range(len(left))]
    while len(left) > most:
        free = [k for k in range(len(left)) if left[k] != held]
        smallest = min(losses[k] for k in free)
        close = smallest + TOLERANCE * max(abs(loss) for loss in losses)
        k = max((k for k in free if losses[k] <= close), key=lambda k: left[k])
        del left[k], losses[k]
        if len(left) <= 3:
            losses = [loss_of(k) for k in range(len(left))]
        else:
            for neighbour in (k - 1, k % len(left)):
                losses[neighbour] = loss_of(neighbour)
    return left
