"""What `culling.solve` does in scenes that hold other bodies than superovoids. Loaded, and compiled, for such only.

====================  ============================================================================================
a scene of            what its first query compiles beside the engine of superovoids
====================  ============================================================================================
a hand, a table top   planes
and boxes, capsules   convex bodies
and meshes, tori      everything
====================  ============================================================================================

The argument `others` of these scenes is the pool of vertices that the rows of meshes refer to, and how far the scene
goes in this table (`reach_of`).
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from superovoid_ros.compiled.jit import kernel
from superovoid_ros.contact.kind_table import (
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
from superovoid_ros.contact.superovoids.pair_solver import solve_pair
from superovoid_ros.shapes.kernels.kinds import kind_of, plane_height

# How far a scene goes in the table of pairs. The compiler removes what stands behind an argument that is None.
Reach = tuple[bool | None, bool | None]


def reach_of(rows: NDArray[np.float64]) -> Reach:
    """What is needed for pairs of these bodies: convex bodies, and beyond these tori and meshes."""
    kinds, times = np.unique([kind_of(row) for row in rows], return_counts=True)
    pairs = [*itertools.combinations(kinds, 2), *((kind, kind) for kind in kinds[times > 1])]
    farthest = max((int(METHODS[pair]) for pair in pairs), default=OVOIDS)
    return (True if farthest >= CONVEX else None), (True if farthest > CONVEX else None)


@kernel
def _answer_within(a, b, pose_a, pose_b, tolerance, budget, state, rotation, out, vertices, convex, beyond):
    """As `contact.kind_table.solve_bodies`, no farther than needed."""
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
def answer(a, b, others, pose_a, pose_b, tolerance, budget, state, rotation, out):
    """The answer for two bodies of any kinds."""
    _answer_within(a, b, pose_a, pose_b, tolerance, budget, state, rotation, out, *others)


@kernel
def reach(row, others, n):
    """How far a body, no half-space, reaches along a direction of its frame."""
    height, _ = plane_height(row, kind_of(row), others[0], n)
    return height
