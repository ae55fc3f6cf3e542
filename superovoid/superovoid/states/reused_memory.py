# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Memory of large answers that is used again.

Answers of a hundred megabytes are had from the operating system each time, which clears every page of them: a third of
the time that the distances of a robot with a thousand pairs take. So memory comes back when the last array that looks
at it is gone, and one piece is kept for the next answer.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

Idle = deque[NDArray[np.uint8]]

_MOST_KEPT = 1 << 28  # bytes of one piece


class _Loan:
    """Base of the arrays in one piece of memory: it lives as long as any of them does."""

    def __init__(self, memory: NDArray[np.uint8], idle: Idle) -> None:
        # numpy makes an array of what has this attribute, and keeps the object that has it.
        self.__array_interface__: dict[str, Any] = memory.__array_interface__
        self._memory, self._idle = memory, idle

    def __del__(self) -> None:
        self._idle.append(self._memory)


class ReusedMemory:
    """Pieces of memory for arrays, of which one that nobody looks at any longer is kept. Threads may share it."""

    def __init__(self) -> None:
        self._idle: Idle = deque(maxlen=1)

    def __getstate__(self) -> dict[str, Any]:
        return {"_idle": deque(maxlen=1)}

    def of_size(self, size: int) -> NDArray[np.uint8]:
        """So many bytes; what is in them is not defined."""
        if size > _MOST_KEPT:
            return np.empty(size, dtype=np.uint8)
        try:
            memory = self._idle.pop()
        except IndexError:
            memory = np.empty(0, dtype=np.uint8)
        # What is far too large would be held for nothing.
        if not size <= len(memory) <= 2 * size:
            memory = np.empty(size, dtype=np.uint8)
        return np.asarray(_Loan(memory, self._idle))[:size]
