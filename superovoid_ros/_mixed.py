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

from superovoid_ros._broad import INTERSECTING, keep, sort
from superovoid_ros._jit import kernel
from superovoid_ros._pairs import NOW, pair_key, slot_of
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
from superovoid_ros.shapes._kinds import kind_of

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


@kernel(nogil=True)
def solve(
    packed, vertices, poses, count, cutoff, overlapping_only, tolerance, budget, pool, scratch, counts, convex, beyond
):
    """As `_broad.solve` for bodies of all kinds; `vertices` is the pool that the rows of meshes refer to."""
    pairs, out = scratch.candidates, scratch.out
    pool.head[NOW] += 1
    counts[INTERSECTING] = 0
    found = 0
    for k in range(count):
        a, b = pairs[k, 0], pairs[k, 1]
        state = pool.states[slot_of(pool, pair_key(a, b))]
        _answer(
            packed[a],
            packed[b],
            vertices,
            poses[a],
            poses[b],
            tolerance,
            budget,
            state,
            scratch.rotation,
            out[found],
            convex,
            beyond,
        )
        found = keep(scratch, found, a, b, cutoff, overlapping_only, counts)
    sort(scratch.values, pairs, found, scratch.order, scratch.merged)
    return found
