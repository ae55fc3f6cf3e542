"""The solving of a scene that holds other bodies than superovoids. Loaded, and compiled, for such scenes only.

====================  ============================================================================================
a scene of            what its first query compiles beside the engine of superovoids
====================  ============================================================================================
a hand, a table top   planes
and boxes, capsules   convex bodies
and meshes, tori      everything
====================  ============================================================================================
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from superovoid_ros import _closest
from superovoid_ros._broad import (
    BOUNDED,
    INTERSECTING,
    SOLVED,
    keep,
    line_of_spheres,
    line_up,
    next_step,
    origins_apart,
    raise_bound,
    sort,
)
from superovoid_ros._jit import kernel
from superovoid_ros._pairs import NOW, pair_key, slot_of
from superovoid_ros._vector import dot, rotate_back, scale
from superovoid_ros.contact._dispatch import (
    CONVEX,
    METHODS,
    OVOIDS,
    PLANES,
    TORI,
    solve_convex,
    solve_mesh,
    solve_planes,
    solve_torus,
)
from superovoid_ros.contact._pair import solve_pair
from superovoid_ros.shapes._kinds import kind_of, plane_height

# How far a scene goes in the table of pairs. The compiler removes what stands behind an argument that is None.
Reach = tuple[bool | None, bool | None]


def reach_of(rows: NDArray[np.float64]) -> Reach:
    """What `solve` needs for pairs of these bodies: convex bodies, and beyond these tori and meshes."""
    kinds, times = np.unique([kind_of(row) for row in rows], return_counts=True)
    pairs = [*itertools.combinations(kinds, 2), *((kind, kind) for kind in kinds[times > 1])]
    farthest = max((int(METHODS[pair]) for pair in pairs), default=OVOIDS)
    return (True if farthest >= CONVEX else None), (True if farthest > CONVEX else None)


@kernel
def _answer(a, b, vertices, pose_a, pose_b, tolerance, budget, state, rotation, out, convex, beyond):
    """As `contact._dispatch.solve_bodies`, no farther than needed."""
    method = METHODS[kind_of(a), kind_of(b)]
    if method == OVOIDS:
        solve_pair(a, b, pose_a, pose_b, tolerance, budget, state, rotation, out)
    elif method == PLANES:
        solve_planes(a, b, vertices, vertices, pose_a, pose_b, tolerance, budget, state, rotation, out)
    elif convex is not None:
        if method == CONVEX:
            solve_convex(a, b, vertices, vertices, pose_a, pose_b, tolerance, budget, state, rotation, out)
        elif beyond is not None:
            if method == TORI:
                solve_torus(a, b, vertices, vertices, pose_a, pose_b, tolerance, budget, state, rotation, out)
            else:
                solve_mesh(a, b, vertices, vertices, pose_a, pose_b, tolerance, budget, state, rotation, out)


@kernel
def _support_gap(packed, vertices, world, a, b, n):
    """As that of `_broad` for bodies of all kinds but planes."""
    row_a, row_b = packed[a], packed[b]
    ahead, _ = plane_height(row_a, kind_of(row_a), vertices, rotate_back(world.poses[a], n))
    behind, _ = plane_height(row_b, kind_of(row_b), vertices, rotate_back(world.poses[b], scale(-1.0, n)))
    return dot(n, origins_apart(world, a, b)) - ahead - behind


@kernel(nogil=True)
def solve(
    local,
    vertices,
    world,
    count,
    most,
    cutoff,
    overlapping_only,
    rounding,
    tolerance,
    budget,
    pool,
    scratch,
    counts,
    convex,
    beyond,
):
    """As `_broad.solve` for bodies of all kinds; `vertices` is the pool that the rows of meshes refer to."""
    packed = local.packed
    pool.head[NOW] += 1
    counts[BOUNDED] = counts[SOLVED] = counts[INTERSECTING] = 0
    found = 0
    limit = cutoff
    best_first = most < count
    left = line_up(local, world, scratch, count, limit, rounding, tolerance) if best_first else count
    while left > 0:
        k = scratch.waiting[0] if best_first else count - left
        a, b = scratch.candidates[k, 0], scratch.candidates[k, 1]
        if best_first:
            if scratch.bounds[k] > limit:
                break
            step = next_step(local, world, scratch, k, left, limit, rounding, tolerance)
            if step == _closest.RAISED:
                continue
            if step == _closest.SUPPORT:
                n = line_of_spheres(world, a, b)
                gap = _support_gap(packed, vertices, world, a, b, n)
                raise_bound(local, world, scratch, k, left, gap, rounding, tolerance, _closest.SUPPORTED)
                counts[BOUNDED] += 1
                continue
            left = _closest.without_first(scratch.waiting, scratch.bounds, left)
        else:
            left -= 1
        _answer(
            packed[a],
            packed[b],
            vertices,
            world.poses[a],
            world.poses[b],
            tolerance,
            budget,
            pool.states[slot_of(pool, pair_key(a, b))],
            scratch.rotation,
            scratch.out[found],
            convex,
            beyond,
        )
        found, limit = keep(scratch, found, a, b, best_first, most, limit, overlapping_only, counts)
    sort(scratch.values, scratch.found, found, scratch.order, scratch.merged)
    return found
