# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Octrees of OctoMap (Hornung et al. 2013) as they travel in messages: which cubes of space are occupied.

The streams are those of OctoMap's ``writeBinaryData`` and ``writeData``. The root is a cube of 2^16 smallest cells a
side around the origin; child i of a node is the eighth of it that lies up along x where bit 0 of i is set, y bit 1,
z bit 2. Nodes come depth first, children in this order:

======  ================================================================================================================
binary  two bytes for each node that has children, least significant bits first, two for each child: 0 unknown, 1 free,
        2 occupied (both leaves), 3 has children
full    for each node a float32, little endian, the logarithm of its odds, and a byte of flags: which children there
        are. A leaf is occupied where its odds are at least one, as OctoMap and MoveIt have it
======  ================================================================================================================
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_CELLS = 1 << 16  # smallest cells along a side of the root
_OCCUPIED, _INNER = 2, 3
_FULL_NODE = struct.Struct("<fB")
# So many cubes, eight at each level, may still turn out to be parts of larger ones while a stream is read.
_MERGEABLE = 8 * 17

_Cube = tuple[int, int, int, int]
"""Lowest corner (x, y, z) and side, in smallest cells."""
_Node = tuple[tuple[int, int, int, int], ...] | bool
"""(x, y, z, kind) of the children of a node that are occupied or have children, in their order, x, y, z being 0 or 1;
of a leaf, whether it is occupied."""


@lru_cache(maxsize=1 << 16)
def _children(word: int) -> _Node:
    """The children of a node of a binary stream."""
    kinds = [(child, word >> 2 * child & 3) for child in range(8)]
    return tuple((i & 1, i >> 1 & 1, i >> 2, kind) for i, kind in kinds if kind in (_OCCUPIED, _INNER))


@lru_cache(maxsize=1 << 8)
def _read_on(flags: int) -> _Node:
    """The children of a node of a full stream: what they are is told by themselves."""
    return tuple((i & 1, i >> 1 & 1, i >> 2, _INNER) for i in range(8) if flags >> i & 1)


@dataclass(frozen=True)
class Octree:
    """An octree as it travels.

    Parameters
    ----------
    data : bytes
        The stream, not empty.
    resolution : float
        Side of a smallest cell, m.
    binary : bool
        Which of the two streams it is.

    Raises
    ------
    ValueError
        If the resolution is not a positive number.
    """

    data: bytes
    resolution: float
    binary: bool

    def __post_init__(self) -> None:
        if not (math.isfinite(self.resolution) and self.resolution > 0.0):
            raise ValueError(f"octree: resolution = {self.resolution}: must be positive and finite (metres)")

    def cubes(self, most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The occupied leaves. Eight that fill a node are one.

        Parameters
        ----------
        most : int
            How many may be left.

        Returns
        -------
        centres : (n, 3) ndarray
            In the tree's frame, m.
        sides : (n,) ndarray
            m.

        Raises
        ------
        ValueError
            If there are more, or the stream is none of its kind.
        """
        nodes = self._binary_nodes() if self.binary else self._full_nodes()
        found = np.array(_occupied(nodes, most), dtype=np.int64).reshape(-1, 4)
        if next(nodes, None) is not None:
            raise ValueError("octree: the stream goes on behind its last node: it is damaged, or of the other form")
        corners, sides = found[:, :3], found[:, 3].astype(np.float64)
        return (corners + 0.5 * sides[:, None] - _CELLS // 2) * self.resolution, sides * self.resolution

    def _binary_nodes(self) -> Iterator[_Node]:
        """The nodes with children, in the order of the stream."""
        if len(self.data) % 2:
            raise ValueError(f"octree: {len(self.data)} bytes, a binary stream has an even number")
        for word in np.frombuffer(self.data, "<u2").tolist():
            if not word:
                # Only a tree that is one leaf is written so, and whether that is occupied is then lost.
                raise ValueError("octree: a node without children in a binary stream")
            yield _children(word)

    def _full_nodes(self) -> Iterator[_Node]:
        """The nodes in the order of the stream."""
        if len(self.data) % _FULL_NODE.size:
            raise ValueError(f"octree: {len(self.data)} bytes, a full stream has {_FULL_NODE.size} for each node")
        for log_odds, flags in _FULL_NODE.iter_unpack(self.data):
            if math.isnan(log_odds):
                raise ValueError("octree: the odds of a node are not a number")
            yield _read_on(flags) if flags else log_odds >= 0.0


def _occupied(nodes: Iterator[_Node], most: int) -> list[_Cube]:
    cubes: list[_Cube] = []

    def read(x: int, y: int, z: int, side: int) -> bool:
        """Take a node and those below it from the stream; return whether it is occupied as a whole."""
        node = next(nodes, None)
        if node is None:
            raise ValueError("octree: the stream ends within a node: it is damaged, or of the other form")
        if isinstance(node, bool):
            return node
        if side == 1:
            raise ValueError("octree: a smallest cell has children: the stream is damaged, or of the other form")
        before, half, filled = len(cubes), side // 2, 0
        for i, j, k, kind in node:
            corner = x + i * half, y + j * half, z + k * half
            if kind == _OCCUPIED or read(*corner, half):
                cubes.append((*corner, half))
                filled += 1
        if filled == 8:
            del cubes[before:]
            return True
        check(_MERGEABLE)
        return False

    def check(slack: int) -> None:
        if len(cubes) > most + slack:
            raise ValueError(
                f"octree: has more than {most} occupied cubes: make it coarser or smaller, or allow more of them"
            )

    if read(0, 0, 0, _CELLS):
        cubes.append((0, 0, 0, _CELLS))
    check(0)
    return cubes
