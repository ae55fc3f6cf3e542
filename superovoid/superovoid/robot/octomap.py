# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Octrees of OctoMap (Hornung et al. 2013) in the form of messages: the occupied cubes of space.

The streams are those of OctoMap's ``writeBinaryData`` and ``writeData``. The root is a cube around the origin with 2^16
smallest cells along a side. Child i of a node is its upper half along x if bit 0 of i is set, along y if bit 1 is set,
along z if bit 2 is set. Nodes come depth first, children in the order of i:

======  ================================================================================================================
binary  two bytes for each node with children, least significant bits first, two bits for each child: 0 unknown, 1 free,
        2 occupied (both leaves), 3 has children
full    for each node a little-endian float32, the logarithm of its odds, and a byte of flags of the existing children.
        A leaf is occupied if its odds are at least one, as in OctoMap and MoveIt
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
# Number of cubes, eight at each level, that the rest of a stream may still merge into larger ones.
_MERGEABLE = 8 * 17

_Cube = tuple[int, int, int, int]
"""Lowest corner (x, y, z) and side, in smallest cells."""
_Node = tuple[tuple[int, int, int, int], ...] | bool
"""(x, y, z, kind) of a node's occupied children and those with children, in order, with x, y, z = 0 or 1; for a leaf,
whether it is occupied."""


@lru_cache(maxsize=1 << 16)
def _children(word: int) -> _Node:
    """Return the children of a node of a binary stream."""
    kinds = [(child, word >> 2 * child & 3) for child in range(8)]
    return tuple((i & 1, i >> 1 & 1, i >> 2, kind) for i, kind in kinds if kind in (_OCCUPIED, _INNER))


@lru_cache(maxsize=1 << 8)
def _read_on(flags: int) -> _Node:
    """Return the children of a node of a full stream, which have entries of their own."""
    return tuple((i & 1, i >> 1 & 1, i >> 2, _INNER) for i in range(8) if flags >> i & 1)


@dataclass(frozen=True)
class Octree:
    """An octree in the form of a message.

    Parameters
    ----------
    data : bytes
        The stream, not empty.
    resolution : float
        Side of a smallest cell, m.
    binary : bool
        If true, the stream is binary; otherwise it is full.

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
        """Return the occupied leaves, with eight that fill a node merged into one.

        Parameters
        ----------
        most : int
            Largest number of cubes after merging.

        Returns
        -------
        centres : (n, 3) ndarray
            In the tree's frame, m.
        sides : (n,) ndarray
            m.

        Raises
        ------
        ValueError
            If there are more, or the stream is invalid.
        """
        nodes = self._binary_nodes() if self.binary else self._full_nodes()
        found = np.array(_occupied_cubes(nodes, most), dtype=np.int64).reshape(-1, 4)
        if next(nodes, None) is not None:
            raise ValueError("octree: the stream continues after its last node: it is damaged, or of the other form")
        corners, sides = found[:, :3], found[:, 3].astype(np.float64)
        return (corners + 0.5 * sides[:, None] - _CELLS // 2) * self.resolution, sides * self.resolution

    def _binary_nodes(self) -> Iterator[_Node]:
        """Generate the nodes with children, in the order of the stream."""
        if len(self.data) % 2:
            raise ValueError(f"octree: {len(self.data)} bytes, a binary stream has an even number")
        for word in np.frombuffer(self.data, "<u2").tolist():
            if not word:
                # OctoMap writes this only for a tree of one leaf, without its occupancy.
                raise ValueError("octree: a node without children in a binary stream")
            yield _children(word)

    def _full_nodes(self) -> Iterator[_Node]:
        """Generate the nodes in the order of the stream."""
        if len(self.data) % _FULL_NODE.size:
            raise ValueError(f"octree: {len(self.data)} bytes, a full stream has {_FULL_NODE.size} for each node")
        for log_odds, flags in _FULL_NODE.iter_unpack(self.data):
            if math.isnan(log_odds):
                raise ValueError("octree: the odds of a node are not a number")
            yield _read_on(flags) if flags else log_odds >= 0.0


def _occupied_cubes(nodes: Iterator[_Node], most: int) -> list[_Cube]:
    cubes: list[_Cube] = []

    def read(x: int, y: int, z: int, side: int) -> bool:
        """Read a node and its descendants from the stream; return whether it is occupied as a whole."""
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
