# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Do all pairs keep their floors, in one state after another? What a planner asks of a motion.

As `verdicts`, but every pair of every state has a distance of its own to be compared with, and the states end at
the first in which one is not kept: what follows it does not matter to a motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.compiled.threads import workers
from superovoid.robot import Robot
from superovoid.scene import Scene, first_closer
from superovoid.scene.first_closer import BELOW, CLEAR, SHORT
from superovoid.states import loop, verdict_loop
from superovoid.states.blocks import in_blocks
from superovoid.states.inputs import Posing
from superovoid.states.verdicts import Memories
from superovoid.values.poses import PosesLike

__all__ = ["BELOW", "CLEAR", "SHORT", "FloorQuery", "FloorVerdicts"]

_BLOCK = 64  # states


class FloorVerdicts(NamedTuple):
    """Verdicts on the first states of a list, up to the first that is `BELOW`."""

    verdicts: NDArray[np.int8]
    """`CLEAR`, `SHORT` or `BELOW`, one a state."""
    pairs: NDArray[np.int64]
    """Row of a pair that the verdict is from, one a state; -1 for `CLEAR`."""


class FloorQuery:
    """The question whether pairs keep their floors, prepared to be asked many times, by any number of threads.

    Parameters
    ----------
    robot, scene
        As for `are_states_closer`.
    pairs : (n, 2) array_like of int
        Of the scene.

    Raises
    ------
    ValueError
        As `are_states_closer` does about these.
    """

    def __init__(self, robot: Robot, scene: Scene, pairs: ArrayLike) -> None:
        self._posing = Posing(robot, scene, pairs)
        tables = self._posing.tables
        self._local, self._link, self._vertices, self._pairs = tables[:4]
        self._asked = first_closer.Asked(0.0, tables.rtol, tables.max_evaluations)
        self._memories = self._new_memories()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memories": self._new_memories()}

    def _new_memories(self) -> tuple[Memories, Memories]:
        """For calls about several states, and about one."""
        count = len(self._link), len(self._pairs)
        return Memories(*count), Memories(*count, for_one=True)

    def __call__(
        self,
        positions: ArrayLike,
        floors: NDArray[np.float64],
        needed: NDArray[np.float64],
        *,
        base_poses: Mapping[str, PosesLike] | None = None,
        threads: int | None = None,
    ) -> FloorVerdicts:
        """Ask about states.

        Parameters
        ----------
        positions, base_poses, threads
            As for `are_states_closer`.
        floors : (states, n) array
            What the signed distance of each pair must exceed, m.
        needed : (states, n) array
            What it is to exceed for `CLEAR`, m; not less than the floor.
        """
        joints, bases, root = self._posing.inputs(positions, None, base_poses, None)
        # To exceed one number is to be at least the next.
        least = [np.nextafter(np.ascontiguousarray(floors), np.inf)]
        least.append(least[0] if needed is floors else np.nextafter(np.ascontiguousarray(needed), np.inf))
        has_ended = False

        def answer(block: slice, memory: verdict_loop.Memory) -> tuple[FloorVerdicts, verdict_loop.Memory]:
            nonlocal has_ended
            of_block = bases[block] if len(bases) > 1 else bases
            poses = self._posing.of_scene(self._posing.of_states(joints[block], of_block, root))
            found = verdict_loop.found_for(len(poses))
            first_closer.forget(memory.pairs)
            links = loop.Links(self._link, poses, self._posing.posed)
            rows = [each[block] for each in least]
            done = verdict_loop.over_floors(
                self._local, self._vertices, links, memory, self._pairs, self._asked, *rows, found
            )
            has_ended = has_ended or bool(done and found.verdicts[done - 1] == BELOW)
            return FloorVerdicts(found.verdicts[:done], found.pairs[:done]), memory

        # Blocks are begun in turn, so that all before the first that ends the answer are there.
        memories = self._memories[len(joints) == 1]
        take, give_back = memories.take, memories.give_back
        parts = in_blocks(len(joints), _BLOCK, workers(threads), take, answer, give_back, lambda: has_ended)
        verdicts, pairs = [], []
        for part in parts:
            if part is None:
                break
            verdicts.append(part.verdicts)
            pairs.append(part.pairs)
            if len(part.verdicts) and part.verdicts[-1] == BELOW:
                break
        if len(verdicts) == 1:
            return FloorVerdicts(verdicts[0], pairs[0])
        return FloorVerdicts(np.concatenate(verdicts), np.concatenate(pairs))
