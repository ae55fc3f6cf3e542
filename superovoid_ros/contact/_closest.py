"""The k closest of many pairs, best bound first: a pair is solved only while it may still be among them.

Each pair waits in a heap under a proved lower bound of its signed distance: first that of the bounding spheres, then
that of two support points along the line of the spheres' centres. The pair with the least bound is taken out and its
bound raised, or the pair solved. Once k pairs are known that are no farther than the least bound left, no other pair
can be closer. A scene of n pairs costs n sphere bounds and little more than k solutions.
"""

from __future__ import annotations

import numpy as np

from superovoid_ros._jit import kernel
from superovoid_ros._vector import add, norm, rotate, scale, sub
from superovoid_ros.contact._pair import DISTANCE, RESULT_LENGTH, solve_pair
from superovoid_ros.contact._queries import rounding, separation

# Columns of the counts that `closest` fills.
PAIRS, SUPPORTED, SOLVED = 0, 1, 2


@kernel
def _sink(heap, key, i, length):
    """Restore a heap with the least key on top below place i."""
    item = heap[i]
    while True:
        child = 2 * i + 1
        if child >= length:
            break
        if child + 1 < length and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if key[item] <= key[heap[child]]:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = item


@kernel
def _swim(heap, key, i):
    """Restore a heap with the least key on top above place i."""
    item = heap[i]
    while i > 0:
        parent = (i - 1) // 2
        if key[item] >= key[heap[parent]]:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = item


@kernel
def _sphere_centre(pose, centre):
    return add((pose[0, 3], pose[1, 3], pose[2, 3]), rotate(pose, (centre[0], centre[1], centre[2])))


@kernel(nogil=True)
def closest(
    bodies, poses, sphere_centres, radii, pairs, rows, count, cutoff, tolerance, budget, states, out, found, counts
):
    """Find the closest of the given rows of a pair table, no farther than a cut-off.

    Parameters
    ----------
    bodies : array, shape (n, BODY_LENGTH)
    poses : array, shape (n, 4, 4)
        Body to world.
    sphere_centres, radii : array, shape (n, 3) and (n,)
        Bounding spheres in the frames of the bodies.
    pairs : array of int, shape (m, 2)
        Indices of bodies.
    rows : array of int
        Rows of `pairs` to look at.
    count : int
        How many pairs to find, at least 1.
    cutoff : float
        Largest distance to report; inf for all.
    tolerance, budget : as for `solve_pair`
    states : array, shape (m, STATE_LENGTH)
        Read and renewed for the pairs that are solved.
    out : array, shape (at least min(count, len(rows)), RESULT_LENGTH)
        Filled in with the results from the start, closest first.
    found : array of int, at least as long
        Filled in with their rows of `pairs`.
    counts : array of int, shape (3,)
        Raised by the pairs looked at, the pairs bounded by support points, the pairs solved.

    Returns
    -------
    int
        How many were found.
    """
    total = rows.shape[0]
    count = min(count, total)
    key = np.empty(total)
    heap = np.empty(total, np.int64)
    tight = np.zeros(total, np.bool_)
    length = 0
    for i in range(total):
        a, b = pairs[rows[i], 0], pairs[rows[i], 1]
        between = norm(sub(_sphere_centre(poses[b], sphere_centres[b]), _sphere_centre(poses[a], sphere_centres[a])))
        key[i] = between - radii[a] - radii[b] - rounding(bodies[a], bodies[b], between)
        if key[i] <= cutoff:
            heap[length] = i
            length += 1
    for i in range(length // 2 - 1, -1, -1):
        _sink(heap, key, i, length)
    counts[PAIRS] += total
    # The best so far: a heap with the farthest on top, of places in `results`.
    results = np.empty((count, RESULT_LENGTH))
    owner = np.empty(count, np.int64)
    farness = np.empty(count)  # minus the distance, so that the heap's least key is the farthest
    best = np.empty(count, np.int64)
    known = 0
    limit = cutoff
    rotation = np.empty((3, 3))
    row = np.empty(RESULT_LENGTH)
    while length > 0:
        i = heap[0]
        if key[i] > limit or (known == count and key[i] >= limit):
            break
        a, b = pairs[rows[i], 0], pairs[rows[i], 1]
        if not tight[i]:
            tight[i] = True
            counts[SUPPORTED] += 1
            n = sub(_sphere_centre(poses[b], sphere_centres[b]), _sphere_centre(poses[a], sphere_centres[a]))
            between = norm(n)
            if between > 0.0:
                offset = (
                    poses[b, 0, 3] - poses[a, 0, 3],
                    poses[b, 1, 3] - poses[a, 1, 3],
                    poses[b, 2, 3] - poses[a, 2, 3],
                )
                s = separation(bodies[a], bodies[b], poses[a], poses[b], offset, scale(1.0 / between, n))
                key[i] = max(key[i], s.lower)
            _sink(heap, key, 0, length)
            continue
        length -= 1
        heap[0] = heap[length]
        if length > 0:
            _sink(heap, key, 0, length)
        solve_pair(bodies[a], bodies[b], poses[a], poses[b], tolerance, budget, states[rows[i]], rotation, row)
        counts[SOLVED] += 1
        distance = row[DISTANCE]
        if distance > limit or (known == count and distance >= limit):
            continue
        slot = known if known < count else best[0]
        results[slot] = row
        owner[slot] = rows[i]
        farness[slot] = -distance
        if known < count:
            best[known] = slot
            _swim(best, farness, known)
            known += 1
        else:
            _sink(best, farness, 0, known)
        if known == count:
            limit = min(cutoff, -farness[best[0]])
    order = np.argsort(-farness[:known])
    for i in range(known):
        out[i] = results[order[i]]
        found[i] = owner[order[i]]
    return known
