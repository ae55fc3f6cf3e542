"""The loop over states of scenes that hold other bodies than superovoids. Loaded and compiled for such scenes only."""

from __future__ import annotations

from superovoid_ros._jit import kernel
from superovoid_ros._mixed import solve
from superovoid_ros._states import cull_state, has_room, store


@kernel(nogil=True)
def over_states(
    local,
    vertices,
    link,
    link_poses,
    posed,
    world,
    pairs,
    most,
    cutoff,
    overlapping_only,
    tolerance,
    budget,
    pool,
    scratch,
    counts,
    begin,
    start,
    stop,
    answers,
    convex,
    beyond,
):
    """As `_states.over_states` for bodies of all kinds; `vertices`, `convex` and `beyond` as for `_mixed.solve`."""
    for s in range(start, stop):
        count, rounding = cull_state(local, link, link_poses[s - begin], posed, world, pairs, cutoff, scratch, counts)
        if not has_room(answers, s, count, most):
            return s
        found = solve(
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
        )
        store(answers, s, found, most, scratch, counts)
    return stop
