# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Convert arguments of many pairs for kernels, and share a loop over pairs between threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.compiled.arrays import Floats1, Floats2, Floats3, Ints1
from superovoid.compiled.kernels import bundle, kernel
from superovoid.compiled.threads import share, workers
from superovoid.contact.one_pair import WORK_LENGTH
from superovoid.contact.pair import PlacedBody
from superovoid.shapes import Shape, ShapeArray
from superovoid.shapes.poses import as_poses
from superovoid.shapes.primitives import pack_shapes
from superovoid.shapes.shape import EMPTY_POOL
from superovoid.values.checks import floats, shorten
from superovoid.values.poses import PosesLike

FloatArray = NDArray[np.float64]
Shapes: TypeAlias = Shape | Sequence[Shape]
"""The bodies of one side of pairs: one for all, a sequence, or a `ShapeArray`, which is one."""
PAIRS_PER_THREAD = 64
"""Least number of pairs, of any kinds, for which a thread is started."""
MOST_AT_ONCE = 512  # pairs of one call of a kernel: between calls the process can be interrupted
ROWS_AT_ONCE = 1 << 16  # of an array operation over pairs: the arrays fit in the cache
_PORTIONS = 4  # share of the remaining pairs, for each thread


@bundle
class Side(NamedTuple):
    """The first or the second bodies of pairs, as kernels read them."""

    rows: Floats2
    """packed bodies, shape (m, ROW_LENGTH)"""
    pool: Floats1
    """what does not fit in the rows"""
    body: Ints1
    """row of the body of each pair, shape (n,)"""
    poses: Floats3
    """one a pair, or one for all, shape (n, 4, 4) or (1, 4, 4)"""


@bundle
class Pairs(NamedTuple):
    """Pairs of bodies of any kinds, as kernels read them."""

    a: Side
    b: Side

    @property
    def length(self) -> int:
        """Number of pairs."""
        return len(self.a.body)


@kernel
def own_or_only(rows, i):
    """Return the row of a pair in an array with one row for each pair, or one for all."""
    return i if rows.shape[0] > 1 else 0


@kernel
def body_of(side, i):
    """Return one body of a pair."""
    return PlacedBody(side.rows[side.body[i]], side.pool, side.poses[own_or_only(side.poses, i)])


@kernel
def bodies_of(pairs, i):
    """Return the bodies of a pair."""
    return body_of(pairs.a, i), body_of(pairs.b, i)


def pair_count(lengths: Mapping[str, int]) -> int:
    """Return the number of pairs that arguments describe; 1 if no argument has one value for each pair.

    Parameters
    ----------
    lengths : mapping of str to int
        Lengths of the arguments with one value for each pair, by name.

    Raises
    ------
    ValueError
        If they differ.
    """
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name}: {count}" for name, count in lengths.items())
        raise ValueError(
            f"the numbers of pairs differ: {found} (for all pairs together give one value, not a list of one)"
        )
    return next(iter(lengths.values()), 1)


def pairs_of(
    a: Shapes,
    pose_a: PosesLike,
    b: Shapes,
    pose_b: PosesLike,
    lengths: Mapping[str, int] | None = None,
    names: tuple[str, str] = ("pose_a", "pose_b"),
) -> tuple[Pairs, bool]:
    """Return pairs as kernels read them, and whether they are a single pair: no argument has a leading axis.

    Parameters
    ----------
    a, b : Shape, ShapeArray or sequence of Shape
        The rows of a `ShapeArray` are not copied.
    pose_a, pose_b : (4, 4) or (n, 4, 4) array_like, transform, or sequence of transforms
    lengths : mapping of str to int, optional
        Lengths of further arguments with one value for each pair, by name.
    names : tuple of str, optional
        Names of the poses, for errors.

    Raises
    ------
    ValueError
        If lengths differ or a pose is not a rigid transform.
    TypeError
        If a shape is not a `Shape`.
    """
    counts = {}
    for name, shapes in (("a", a), ("b", b)):
        if not isinstance(shapes, Shape):
            if isinstance(shapes, str) or not hasattr(shapes, "__len__"):
                raise TypeError(f"{name}: must be a shape or a sequence of shapes, found {type(shapes).__name__}")
            counts[name] = len(shapes)
    poses = []
    for name, given in zip(names, (pose_a, pose_b), strict=True):
        array = as_poses(name, given)
        if array.ndim == 3:
            counts[name] = len(array)
        elif array.ndim != 2:
            raise ValueError(f"{name}: must have shape (n, 4, 4) or (4, 4), found {array.shape}")
        poses.append(array.reshape(-1, 4, 4))
    counts |= lengths or {}
    n = pair_count(counts)
    sides = (Side(*packed_bodies(*each, n), placed) for each, placed in zip((("a", a), ("b", b)), poses, strict=True))
    return Pairs(*sides), not counts


def packed_bodies(name: str, shapes: Shapes, n: int) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Return the rows and the pool of the bodies of one side, each body once, and the row of each pair."""
    if isinstance(shapes, Shape):
        return shapes._row[None], shapes._pool, np.zeros(n, np.int64)
    if isinstance(shapes, ShapeArray):
        return shapes._rows, EMPTY_POOL, np.arange(n)
    distinct = dict(zip(map(id, shapes), shapes, strict=True))
    if not all(issubclass(kind, Shape) for kind in set(map(type, distinct.values()))):
        i, shape = next((i, shape) for i, shape in enumerate(shapes) if not isinstance(shape, Shape))
        raise TypeError(f"{name}[{i}]: must be a shape of superovoid.shapes, found {type(shape).__name__}")
    rows, pool = pack_shapes(distinct.values())
    if len(rows) == n:
        return rows, pool, np.arange(n)
    number_of = {key: number for number, key in enumerate(distinct)}
    return rows, pool, np.fromiter(map(number_of.__getitem__, map(id, shapes)), np.int64, n)


def one_a_pair(name: str, value: ArrayLike, unit: str, counts: dict[str, int]) -> FloatArray:
    """Return finite numbers, shape (n,) or, for one for all pairs, (1,); note their number in the first case."""
    array = floats(name, value)
    if array.ndim > 1 or not np.isfinite(array).all():
        raise ValueError(f"{name} = {shorten(value)}: must be a finite number ({unit}), or an array of one a pair")
    if array.ndim == 1:
        counts[name] = len(array)
    return np.array(array, ndmin=1)


def share_pairs(
    which: NDArray[np.int64],
    answer: Callable[[NDArray[np.int64], Any], None],
    threads: int | None,
    memory: Callable[[], Any] = lambda: np.empty(WORK_LENGTH),
) -> None:
    """Call a kernel for the given pairs, in portions that threads share.

    Portions get smaller towards the end, so that all threads end at about the same time though pairs differ by orders
    of magnitude in cost.

    Parameters
    ----------
    which : (m,) ndarray of int
    answer : callable
        Called with at most MOST_AT_ONCE of the pairs and the scratch memory of one thread.
    threads : int or None
        Largest number of threads; None: one for each processor, fewer if more would not be faster.
    memory : callable, optional
        Returns scratch memory; default: of shape (WORK_LENGTH,).
    """
    pay = max(1, len(which) // PAIRS_PER_THREAD)
    threads = 1 if pay == 1 and threads is None else min(workers(threads), pay)
    if not len(which):
        return
    if threads == 1 and len(which) <= MOST_AT_ONCE:
        answer(which, memory())
        return
    portions = []
    first = 0
    while first < len(which):
        left = len(which) - first
        size = min(MOST_AT_ONCE, left if threads == 1 else max(1, left // (_PORTIONS * threads)))
        portions.append(which[first : first + size])
        first += size

    def take(left: Iterator[NDArray[np.int64]]) -> None:
        scratch = memory()
        for some in left:
            answer(some, scratch)

    share(portions, take, threads)
