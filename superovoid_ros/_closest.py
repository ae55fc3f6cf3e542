"""The order in which candidates are solved where only the k closest are wanted: the least bound first.

Each candidate waits in a heap under a proved lower bound of its distance. The one with the least is taken, and its
bound raised or the pair solved, until k pairs are known that are no farther than the least bound left.

==================  =============================================================================================
bound by            when
==================  =============================================================================================
bounding spheres    always
oriented boxes      it is the first
two support points  it is the first and may overlap: a depth is dear. Along the line of the spheres' centres
==================  =============================================================================================

The bounds are lowered by the width of a certified interval, so that no answer that is certified can be below its bound:
what is left out would have come behind the k closest, and equal distances keep their order.
"""

from __future__ import annotations

from superovoid_ros._jit import kernel

# What the bound of a waiting candidate is from, and what to do with the first.
SPHERES, BOXES, SUPPORTED = 0, 1, 2
RAISED, SUPPORT, SOLVE = 0, 1, 2


@kernel
def sink(heap, key, i, length):
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
def without_first(heap, key, length):
    """Take the first out of a heap; return how many are left."""
    length -= 1
    heap[0] = heap[length]
    if length > 0:
        sink(heap, key, 0, length)
    return length


@kernel
def lower_limit(nearest, known, most, limit, value):
    """Note a distance among the least ones, a heap with the largest on top; return the limit it leaves for others.

    `known` distances were noted before; the limit falls to the largest as soon as there are `most`.
    """
    if known < most:
        i = known
        while i > 0:
            parent = (i - 1) >> 1
            if nearest[parent] >= value:
                break
            nearest[i] = nearest[parent]
            i = parent
        nearest[i] = value
        return min(limit, nearest[0]) if known + 1 == most else limit
    i = 0
    while True:
        child = 2 * i + 1
        if child >= most:
            break
        if child + 1 < most and nearest[child + 1] > nearest[child]:
            child += 1
        if value >= nearest[child]:
            break
        nearest[i] = nearest[child]
        i = child
    nearest[i] = value
    return min(limit, nearest[0])
