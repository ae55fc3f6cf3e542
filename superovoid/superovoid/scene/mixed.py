# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What `culling.solve` does in scenes that hold other bodies than superovoids. Loaded, and compiled, for such only.

====================  ============================================================================================
a scene of            what its first query compiles beside the engine of superovoids
====================  ============================================================================================
a hand, a table top   half-spaces
and boxes, capsules   convex bodies
and meshes, tori      everything
====================  ============================================================================================

The argument `others` of these scenes is the pool of vertices that the rows of meshes refer to, and how far the scene
goes in this table (`reach_of`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.kernels import kernel
from superovoid.contact.deciding import decide_within
from superovoid.contact.kind_table import CONVEX, METHODS, OVOIDS, solve_within
from superovoid.contact.pair import Limit, Placed
from superovoid.scene.superovoid_verdict import verdict_on_superovoids
from superovoid.shapes.kernels.kinds import IS_CONVEX, KIND, SUPEROVOID, Core, half_space_height, kind_of
from superovoid.shapes.kernels.surface import BODY_LENGTH

# How far a scene goes in the table of pairs (`solve_within`).
Reach = tuple[bool | None, bool | None]


def kinds_of(rows: NDArray[np.float64]) -> NDArray[np.int64]:
    """`kind_of` for each row."""
    # Rows that agree in what the kind follows from are asked once: of superovoids the body, of others two columns.
    found = np.empty(len(rows), dtype=np.int64)
    is_ovoid = rows[:, KIND] == SUPEROVOID
    for chosen, columns in ((is_ovoid, np.arange(BODY_LENGTH)), (~is_ovoid, np.array([KIND, IS_CONVEX]))):
        some = rows[chosen]
        _, first, which = np.unique(some[:, columns], axis=0, return_index=True, return_inverse=True)
        kinds = np.array([kind_of(row) for row in some[first]], dtype=np.int64)
        found[chosen] = kinds[which.ravel()]
    return found


def reach_of(times: Mapping[int, int]) -> Reach:
    """What is needed for pairs of bodies of kinds that occur so often: convex bodies, beyond these tori and meshes."""
    pairs = [*itertools.combinations(sorted(times), 2), *((kind, kind) for kind in times if times[kind] > 1)]
    farthest = max((int(METHODS[pair]) for pair in pairs), default=OVOIDS)
    return (True if farthest >= CONVEX else None), (True if farthest > CONVEX else None)


@kernel
def _answer_within(a, b, limit, state, rotation, out, vertices, convex, beyond):
    a, b = Placed(a[0], vertices, a[1]), Placed(b[0], vertices, b[1])
    solve_within(a, b, limit, state, rotation, out, convex, beyond)


@kernel
def answer(a, b, others, limit, state, rotation, out):
    """The answer for two bodies of any kinds, each a row and a pose."""
    _answer_within(a, b, limit, state, rotation, out, *others)


@kernel
def _verdict_within(a, b, asked, loss, memory, k, vertices, convex, beyond):
    a, b = Placed(a[0], vertices, a[1]), Placed(b[0], vertices, b[1])
    limit = Limit(asked.tolerance, asked.budget, math.inf)
    state = memory.states[k]
    return decide_within(a, b, asked.threshold, limit, loss, state, memory.rotation, memory.out, convex, beyond)


@kernel
def verdict(a, b, others, asked, loss, memory, k):
    """Whether two bodies of any kinds, each a row and a pose, are closer than a threshold (`scene.first_closer`)."""
    if METHODS[kind_of(a[0]), kind_of(b[0])] == OVOIDS:
        return verdict_on_superovoids(a, b, others, asked, loss, memory, k)
    return _verdict_within(a, b, asked, loss, memory, k, *others)


@kernel
def reach(row, others, n):
    """How far a body, no half-space, reaches along a direction of its frame."""
    height, _ = half_space_height(Core(row, kind_of(row), others[0]), n)
    return height
