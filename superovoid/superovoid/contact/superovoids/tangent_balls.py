# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Balls that touch superovoids from inside, and the depth proved by two of them.

With a majorant of the body on the box of a ball of radius r (`majorants`),

    Phi(x + d) <= g . d + d^T Q d / 2 for x + d in the box and the body  =>  radius min(r, |g| / largest(Q)),

since a ball that touches at the same point and is narrower lies in the same box. (On the ball -n . d >= |d|^2 / (2 r).)
"""

from __future__ import annotations

import math

from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import LEAST_DIVISOR, add, combine, dot, norm
from superovoid.contact.superovoids.ellipsoid_pairs import are_ellipsoids, depth_of_ellipsoids
from superovoid.contact.superovoids.majorants import (
    Box,
    majorant_over,
    outline_of,
    shear_at,
)
from superovoid.shapes.kernels.rounding import WIDENED
from superovoid.shapes.kernels.surface import A1, A2, A3, TX, TY

OTHER_NORMAL = 5e-3  # least 1 - cos of the angle between distinct normals
_BEYOND = 1.01  # times the least radius beyond the depth with which no other normal is as good
_LACK = 0.1  # largest gap between the depth and the floor of a ball narrower than the depth, relative to the goal


@kernel
def _larger_eigenvalue(xx, xz, zz):
    """Return the larger eigenvalue of [[xx, xz], [xz, zz]]."""
    half = 0.5 * (xx - zz)
    return xx - half + math.sqrt(half * half + xz * xz)


@kernel
def _bound_eigenvalue(xx, yy, zz, xz, yz):
    """Return a close upper bound of the largest eigenvalue of [[xx, 0, xz], [0, yy, yz], [xz, yz, zz]].

    The eigenvalue l is at least those of the minors. It is that of [[xx, xz], [xz, zz + yz^2 / (l - yy)]], too.
    """
    of_x, of_y = _larger_eigenvalue(xx, xz, zz), _larger_eigenvalue(yy, yz, zz)
    if of_x >= of_y:
        return _larger_eigenvalue(xx, xz, zz + yz * yz / max(of_x - yy, LEAST_DIVISOR))
    return _larger_eigenvalue(yy, yz, zz + xz * xz / max(of_y - xx, LEAST_DIVISOR))


@kernel
def _largest_bend(m, shear):
    """Bound the largest eigenvalue of Q from above."""
    if not (m.c_x + m.c_y + m.c_w < math.inf):
        return math.inf
    ix, iy, iz, ez, hz = shear
    mixed_x, mixed_y = m.skew_x * iz, m.skew_y * iz
    xz, yz = (m.c_x * ez - mixed_x) * ix, (m.c_y * hz - mixed_y) * iy
    x_zz, y_zz, w_zz = m.c_x * ez * ez, m.c_y * hz * hz, m.c_w * iz * iz
    zz = x_zz - 2.0 * mixed_x * ez + y_zz - 2.0 * mixed_y * hz + w_zz
    lost = x_zz + abs(mixed_x * ez) + y_zz + abs(mixed_y * hz) + w_zz + abs(mixed_x) * ix + abs(mixed_y) * iy
    return _bound_eigenvalue(m.c_x * ix * ix, m.c_y * iy * iy, zz, xz, yz) + 1e-12 * lost


@kernel
def tangent_ball(body, f, radius):
    """Return the radius of a ball in the body that touches it at the surface point f; at most `radius`.

    The ball of the requested radius lies in the body if that radius is returned. A smaller requested radius may give a
    larger result.
    """
    o = outline_of(body, f)
    reach, from_centre = WIDENED * radius, radius / o.steep
    x, y, z = from_centre * o.gx, from_centre * o.gy, from_centre * o.gz
    box = Box(-reach - x, reach - x, -reach - y, reach - y, -reach - z, reach - z)
    shear = shear_at(body, o)
    largest = _largest_bend(majorant_over(body, o, shear, box), shear)
    return min(radius, o.steep / (WIDENED * largest)) if o.is_clear and 0.0 < largest < math.inf else 0.0


@kernel
def widest_ball(body):
    """Bound the radii of all balls in a body from above."""
    return min(body[A1] * (1.0 + abs(body[TX])), body[A2] * (1.0 + abs(body[TY])), body[A3])


@kernel
def balls_in(pair, fa, fb, wanted):
    """Return radii of balls of both bodies that touch at surface points, requested to have the sum `wanted`."""
    r_a = tangent_ball(pair.a, fa, wanted)
    return r_a, tangent_ball(pair.b, fb, wanted - r_a) if r_a < wanted else 0.0


@kernel
def depth_of_balls(k, r_a, r_b):
    """Bound the depth from below by two tangent balls.

    Their sum is a ball about -(u + r_A n_A + r_B n_B) with radius r_A + r_B: the offset between u and the normals that
    remains after Newton's method moves its centre.
    """
    return r_a + r_b - norm(add(k.u, combine(r_a, k.normal_a, r_b, k.inward_b)))


@kernel
def radius_wanted(k, goal):
    """Return the radius of a ball in M at an overlapping contact that proves its normal unique, to within the goal.

    At an angle to the normal h_M is then at least the depth plus (radius - depth) (1 - cosine).
    """
    return _BEYOND * goal / OTHER_NORMAL - dot(k.u, k.n)


@kernel
def depth_by_balls(pair, fa, fb, k, goal):
    """Bound the depth at a contact from below by balls, and return whether its normal is proved unique."""
    wanted = radius_wanted(k, goal)
    r_a, r_b = balls_in(pair, fa, fb, wanted)
    return depth_of_balls(k, r_a, r_b), r_b >= wanted - r_a


@kernel
def proved_depth(pair, fa, fb, k, goal):
    """Bound the depth at a contact from below in closed form, and return whether its normal is proved unique.

    Parameters
    ----------
    fa, fb : SurfacePoint
        The contact.
    k : Contact
        Its geometry (`newton.observe`).
    goal : float
        Width of the interval, m.
    """
    depth, is_unique = depth_by_balls(pair, fa, fb, k, goal)
    if not is_unique and are_ellipsoids(pair):
        # If another normal is as good, no ball is wider than the depth.
        for radius in (radius_wanted(k, goal), -dot(k.u, k.n) - _LACK * goal):
            floor = depth_of_ellipsoids(pair, k.n, radius)
            if floor > depth:
                return floor, radius > -dot(k.u, k.n)
    return depth, is_unique
