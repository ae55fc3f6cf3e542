# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Starting points of Newton's method: quadtree and octree (Gonçalves et al. 2017, section 4.4)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.vector import add, cross, dot, norm, rotate, rotate_back, scale, sub
from superovoid.compiler.jit import kernel
from superovoid_papers.methods.goncalves2017.newton_schemes import bodies_of_pair, refine
from superovoid_papers.methods.goncalves2017.superovoid_surface import (
    CUBE,
    E1,
    E2,
    IMPLICIT,
    local,
    meridian,
    section,
    surface,
    to_world,
)

QUADTREE, OCTREE = 0, 1
STACK = 256  # capacity for pairs of cells; each is replaced by up to eight, over the levels of both trees


# --- quadtree ----------------------------------------------------------------------------------------------------


@kernel
def _angle(turned, epsilon, adaptive):
    """Return the angle for a coordinate of the parameter square: the same, or where the normal has that angle.

    On |x|^(2/e) + |y|^(2/e) = 1 the normal at phi has the angle atan(tan(phi)^(2-e)). Equal steps of it make cells
    narrow at strong curvature, as section 7 of the paper suggests.
    """
    if not adaptive:
        return turned
    m = 1.0 / (2.0 - epsilon)
    c, s = math.cos(turned), math.sin(turned)
    return math.atan2(math.copysign(abs(s) ** m, s), math.copysign(abs(c) ** m, c))


@kernel
def _centres(b, pose, low1, low2, width, adaptive, work, column):
    """Write the centres of the four quarters of a cell, world, into three columns of `work`."""
    c0, s0 = section(b, _angle(low1 + 0.5 * width, b[E1], adaptive))
    c1, s1 = section(b, _angle(low1 + 1.5 * width, b[E1], adaptive))
    x0, y0, z0 = meridian(b, _angle(low2 + 0.25 * width, b[E2], adaptive))
    x1, y1, z1 = meridian(b, _angle(low2 + 0.75 * width, b[E2], adaptive))
    for quarter in range(4):
        c, s = (c1, s1) if quarter & 1 else (c0, s0)
        x, y, z = (x1, y1, z1) if quarter & 2 else (x0, y0, z0)
        work[quarter, column], work[quarter, column + 1], work[quarter, column + 2] = to_world(pose, (x * c, y * s, z))


@kernel
def quadtree(a, b, pose_a, pose_b, levels, adaptive, work):
    """Return the angles (phi1, phi2) of A and of B: centres of the last two cells after `levels` subdivisions.

    Among the 4 x 4 pairs of quarters of the current two cells, the pair with the nearest centres is the next.
    """
    a1, a2, b1, b2 = -math.pi, -0.5 * math.pi, -math.pi, -0.5 * math.pi  # lower corners
    width = 2.0 * math.pi  # along phi1; half of it along phi2
    for _ in range(levels):
        width *= 0.5
        _centres(a, pose_a, a1, a2, width, adaptive, work, 0)
        _centres(b, pose_b, b1, b2, width, adaptive, work, 3)
        least = math.inf
        of_a = of_b = 0
        for i in range(4):
            for j in range(4):
                square = 0.0
                for k in range(3):
                    difference = work[i, k] - work[j, 3 + k]
                    square += difference * difference
                if square < least:
                    least, of_a, of_b = square, i, j
        a1, a2 = a1 + (of_a & 1) * width, a2 + 0.5 * (of_a >> 1) * width
        b1, b2 = b1 + (of_b & 1) * width, b2 + 0.5 * (of_b >> 1) * width
    return (
        _angle(a1 + 0.5 * width, a[E1], adaptive),
        _angle(a2 + 0.25 * width, a[E2], adaptive),
        _angle(b1 + 0.5 * width, b[E1], adaptive),
        _angle(b2 + 0.25 * width, b[E2], adaptive),
    )


# --- octree ------------------------------------------------------------------------------------------------------
#
# A tree of L levels is stored as its grids of 1, 8, ... 8^L cells, one after the other. Node (i, j, k) of a level has
# the children (2i + di, 2j + dj, 2k + dk) of the next, and is filled if one of these is.


@kernel
def _node(level, i, j, k):
    """Return the index of a cell in the tree's row."""
    return ((1 << (3 * level)) - 1) // 7 + (((i << level) + j) << level) + k


@kernel
def _centre(half, level, i, j, k):
    """Return the centre of a cell in the body's frame; `half` is half an edge of the root."""
    edge = 2.0 * half / (1 << level)
    return ((i + 0.5) * edge - half, (j + 0.5) * edge - half, (k + 0.5) * edge - half)


@kernel
def _axis(pose, k):
    return (pose[0, k], pose[1, k], pose[2, k])


@kernel
def boxes_gap(d, pose_a, pose_b, half_a, half_b):
    """Return the largest gap of two boxes over the 15 directions that may separate them; negative: they overlap.

    The boxes lie along the axes of the poses, with three half edges each; d points from the first centre to the second.
    """
    gap = -math.inf
    for which in range(15):
        if which < 3:
            n = _axis(pose_a, which)
        elif which < 6:
            n = _axis(pose_b, which - 3)
        else:
            n = cross(_axis(pose_a, (which - 6) // 3), _axis(pose_b, (which - 6) % 3))
        length = norm(n)
        if length > 1e-9:  # the faces' directions cover parallel edges
            reach = 0.0
            for k in range(3):
                reach += half_a[k] * abs(dot(n, _axis(pose_a, k))) + half_b[k] * abs(dot(n, _axis(pose_b, k)))
            gap = max(gap, (abs(dot(n, d)) - reach) / length)
    return gap


@kernel
def _clamp(x, half):
    return (min(max(x[0], -half), half), min(max(x[1], -half), half), min(max(x[2], -half), half))


@kernel
def _corner(half, number):
    """Return a corner of a cube about the origin."""
    return (
        half if number & 1 else -half,
        half if number & 2 else -half,
        half if number & 4 else -half,
    )


@kernel
def nearest_in_cubes(centre_a, centre_b, pose_a, pose_b, half_a, half_b):
    """Return the distance of two separate cubes along the axes of the poses, and their nearest points; all world.

    The nearest points are a corner of one cube and a point of the other, or interior points of two edges. For each pair
    of directions, only the extreme edges along the common perpendicular can be these.
    """
    least = math.inf
    on_a = on_b = centre_a
    for number in range(16):
        at_a = number < 8
        pose, other = (pose_a, pose_b) if at_a else (pose_b, pose_a)
        half, other_half = (half_a, half_b) if at_a else (half_b, half_a)
        centre, other_centre = (centre_a, centre_b) if at_a else (centre_b, centre_a)
        x = add(centre, rotate(pose, _corner(half, number & 7)))
        y = add(other_centre, rotate(other, _clamp(rotate_back(other, sub(x, other_centre)), other_half)))
        distance = norm(sub(x, y))
        if distance < least:
            least, on_a, on_b = distance, (x if at_a else y), (y if at_a else x)
    d = sub(centre_b, centre_a)
    for number in range(9):
        u, v = _axis(pose_a, number // 3), _axis(pose_b, number % 3)
        n = cross(u, v)
        sine2 = dot(n, n)
        if sine2 < 1e-18:
            continue
        n = scale(math.copysign(1.0 / math.sqrt(sine2), dot(n, d)), n)
        # Midpoints of the two extreme edges.
        p, q = centre_a, centre_b
        for k in range(3):
            if k != number // 3:
                e = _axis(pose_a, k)
                p = add(p, scale(math.copysign(half_a, dot(e, n)), e))
            if k != number % 3:
                e = _axis(pose_b, k)
                q = add(q, scale(-math.copysign(half_b, dot(e, n)), e))
        across = sub(q, p)
        gap = dot(across, n)
        c = dot(u, v)
        s = (dot(across, u) - c * dot(across, v)) / sine2
        t = (c * dot(across, u) - dot(across, v)) / sine2
        if 0.0 < gap < least and abs(s) <= half_a and abs(t) <= half_b:
            least, on_a, on_b = gap, add(p, scale(s, u)), add(q, scale(t, v))
    return least, on_a, on_b


@kernel
def octree(tree_a, tree_b, levels, cube_a, cube_b, pose_a, pose_b, stack, gaps):
    """Return the distance and the nearest points, world, of two octrees' filled leaves; centres of overlapping leaves.

    A pair of cells is subdivided if its boxes may be nearer than the nearest known leaves: the larger cell is split,
    and its child with the nearest centre comes first.
    """
    shift = (pose_b[0, 3] - pose_a[0, 3], pose_b[1, 3] - pose_a[1, 3], pose_b[2, 3] - pose_a[2, 3])
    least = math.inf
    on_a = on_b = (math.nan, math.nan, math.nan)
    if tree_a[0] == 0 or tree_b[0] == 0:
        return least, on_a, on_b
    stack[0] = 0
    gaps[0] = -math.inf
    depth = 1
    while depth > 0 and least > 0.0:
        depth -= 1
        if gaps[depth] >= least:
            continue
        level_a, ia, ja, ka = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        level_b, ib, jb, kb = stack[depth, 4], stack[depth, 5], stack[depth, 6], stack[depth, 7]
        half_a, half_b = cube_a / (1 << level_a), cube_b / (1 << level_b)
        centre_a = rotate(pose_a, _centre(cube_a, level_a, ia, ja, ka))
        centre_b = add(shift, rotate(pose_b, _centre(cube_b, level_b, ib, jb, kb)))
        if level_a == levels and level_b == levels:
            if gaps[depth] > 0.0:
                distance, p, q = nearest_in_cubes(centre_a, centre_b, pose_a, pose_b, half_a, half_b)
            else:
                distance, p, q = 0.0, centre_a, centre_b
            if distance < least:
                least, on_a, on_b = distance, p, q
            continue
        divide_a = level_b == levels or (level_a < levels and half_a >= half_b)
        nearest, bottom, top = math.inf, depth, depth
        for eighth in range(8):
            di, dj, dk = eighth & 1, (eighth >> 1) & 1, eighth >> 2
            if divide_a:
                level, i, j, k = level_a + 1, 2 * ia + di, 2 * ja + dj, 2 * ka + dk
                filled = tree_a[_node(level, i, j, k)]
                d = sub(centre_b, rotate(pose_a, _centre(cube_a, level, i, j, k)))
                halves_a, halves_b = 0.5 * half_a, half_b
            else:
                level, i, j, k = level_b + 1, 2 * ib + di, 2 * jb + dj, 2 * kb + dk
                filled = tree_b[_node(level, i, j, k)]
                d = sub(add(shift, rotate(pose_b, _centre(cube_b, level, i, j, k))), centre_a)
                halves_a, halves_b = half_a, 0.5 * half_b
            if not filled:
                continue
            gap = boxes_gap(d, pose_a, pose_b, (halves_a, halves_a, halves_a), (halves_b, halves_b, halves_b))
            if gap >= least:
                continue
            stack[depth, 0], stack[depth, 4] = level_a, level_b
            stack[depth, 1], stack[depth, 2], stack[depth, 3] = ia, ja, ka
            stack[depth, 5], stack[depth, 6], stack[depth, 7] = ib, jb, kb
            side = 0 if divide_a else 4
            stack[depth, side], stack[depth, side + 1] = level, i
            stack[depth, side + 2], stack[depth, side + 3] = j, k
            gaps[depth] = gap
            if norm(d) < nearest:
                nearest, top = norm(d), depth
            depth += 1
        if depth > bottom:  # move the nearest to the top of the stack
            last = depth - 1
            for k in range(8):
                stack[top, k], stack[last, k] = stack[last, k], stack[top, k]
            gaps[top], gaps[last] = gaps[last], gaps[top]
    origin = (pose_a[0, 3], pose_a[1, 3], pose_a[2, 3])
    return least, add(origin, on_a), add(origin, on_b)


# --- loops -------------------------------------------------------------------------------------------------------


class Guess(NamedTuple):
    """Options of a first guess."""

    form: int
    start: int  # QUADTREE or OCTREE
    levels: int
    adaptive: bool


class Trees(NamedTuple):
    """Octrees of bodies, and their indices for each pair."""

    nodes: NDArray[np.uint8]  # one tree per row
    of_a: NDArray[np.int64]
    of_b: NDArray[np.int64]


class Memory(NamedTuple):
    """Scratch memory for one pair at a time."""

    work: NDArray[np.float64]  # (7, 7)
    stack: NDArray[np.int64]  # (STACK, 8)
    gaps: NDArray[np.float64]  # (STACK,)


class Course(NamedTuple):
    """State of each pair between queries, and its answer."""

    unknowns: NDArray[np.float64]
    near: NDArray[np.bool_]  # whether to solve the pair
    warm: NDArray[np.bool_]  # whether `unknowns` are an answer
    out: NDArray[np.float64]


def memory() -> Memory:
    """Return scratch memory for kernels."""
    return Memory(np.zeros((7, 7)), np.zeros((STACK, 8), dtype=np.int64), np.zeros(STACK))


@kernel
def _start(guess, bodies, tree_a, tree_b, scratch, q):
    a, b, pose_a, pose_b = bodies
    if guess.start == OCTREE:
        _, p, x = octree(tree_a, tree_b, guess.levels, a[CUBE], b[CUBE], pose_a, pose_b, scratch.stack, scratch.gaps)
        p, x = local(pose_a, p), local(pose_b, x)
    else:
        u, v, s, t = quadtree(a, b, pose_a, pose_b, guess.levels, guess.adaptive, scratch.work)
        if guess.form != IMPLICIT:
            q[0], q[1], q[2], q[3] = u, v, s, t
            return
        p, x = surface(a, u, v), surface(b, s, t)
    for k in range(3):
        q[k], q[3 + k] = p[k], x[k]


@kernel(nogil=True)
def start_rows(first, last, guess, bodies, trees, scratch, unknowns):
    """Compute first guesses for a range of pairs."""
    for i in range(first, last):
        tree_a, tree_b = trees.nodes[trees.of_a[i]], trees.nodes[trees.of_b[i]]
        _start(guess, bodies_of_pair(bodies, i), tree_a, tree_b, scratch, unknowns[i])


@kernel(nogil=True)
def solve_rows(first, last, guess, newton, bodies, trees, scratch, course):
    """Solve with temporal coherence: start from the last answer's unknowns; if there are none or they fail, guess.

    The results of pairs other than `near` are nan.
    """
    for i in range(first, last):
        q, out = course.unknowns[i], course.out[i]
        if not course.near[i]:
            course.warm[i] = False
            out[:] = math.nan
            continue
        pair = bodies_of_pair(bodies, i)
        spent = 0.0
        converged = False
        if course.warm[i]:
            converged = refine(newton, pair, q, scratch.work, out)
            spent = out[-1]
        if not converged:
            tree_a, tree_b = trees.nodes[trees.of_a[i]], trees.nodes[trees.of_b[i]]
            _start(guess, pair, tree_a, tree_b, scratch, q)
            converged = refine(newton, pair, q, scratch.work, out)
            out[-1] += spent
        course.warm[i] = converged


def octree_row(holds, half: float, levels: int):
    """Return the octree of a body: a cell of the finest level is filled if its centre is inside.

    Parameters
    ----------
    holds : callable
        Returns whether points (n, 3) in the body's frame are inside.
    half : float
        Half an edge of the root, about the origin, m.
    levels : int
        The finest level has 8^levels cells.

    Returns
    -------
    (nodes,) ndarray of uint8
    """
    count = 1 << levels
    middles = (np.arange(count) + 0.5) * (2.0 * half / count) - half
    centres = np.stack(np.meshgrid(middles, middles, middles, indexing="ij"), axis=-1)
    grids = [holds(centres.reshape(-1, 3)).reshape(count, count, count)]
    while count > 1:
        count //= 2
        grids.append(grids[-1].reshape(count, 2, count, 2, count, 2).any(axis=(1, 3, 5)))
    return np.concatenate([grid.ravel() for grid in reversed(grids)]).astype(np.uint8)
