# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Does anything overlap, or come closer than a threshold, in many states of a robot? With a stop at the first pair.

A state is `closer` where one pair is proved to be, `farther` where every pair is proved not to be, and undecided
otherwise: an undecided pair never makes a state free. Pairs are asked in an order that learns (`scene.first_closer`),
from state to state of a block; every block begins anew, so that the same request gets the same answer from any number
of threads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.compiled.threads import workers
from superovoid.contact.deciding import CLOSER, FARTHER
from superovoid.robot import Robot
from superovoid.scene import Body, Scene, culling, first_closer
from superovoid.states import loop, verdict_loop
from superovoid.states.blocks import in_blocks
from superovoid.states.inputs import FloatArray, Posing, end_of
from superovoid.values.checks import number
from superovoid.values.poses import PoseLike, PosesLike
from superovoid.values.records import Record, Statistics

_BLOCK = 256  # states
_FIRST = 16  # states of a block, from which a pair may be found that is closer in nearly all
_NEARLY_ALL = 14  # of these
_MOST_KEPT = 1 << 14  # pairs of which each has a warm start


@dataclass(frozen=True, eq=False, repr=False)
class StateVerdicts(Record):
    """Verdicts on many states, one row a state."""

    closer: NDArray[np.bool_]
    """Proved: the signed distance of a pair is below the threshold."""
    farther: NDArray[np.bool_]
    """Proved: that of no pair is."""
    done: int
    """States that were answered, always the first ones; fewer than were asked about where the deadline or `stop` came
    first. States behind are neither closer nor farther."""
    body_a: NDArray[np.int64]
    """Of a pair that is closer, or of one that is undecided where none is; -1 where all pairs are farther: indices into
    `bodies`, shape (states,)."""
    body_b: NDArray[np.int64]
    bodies: tuple[Body, ...]
    statistics: Statistics
    """``pairs``: pairs to be checked in each state; ``looked``: of these, pairs that took more than bounding spheres
    and oriented boxes, shape (states,)."""

    def __len__(self) -> int:
        return len(self.closer)

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """States that are neither closer nor farther: touch, a distance that equals the threshold, or not answered."""
        return ~(self.closer | self.farther)

    def __bool__(self) -> bool:
        raise TypeError(
            "verdicts of many states have no truth value, and some may be undecided: ask for `.closer.any()` (proved "
            "closer), for `.farther.all()` (proved not to be), or for `.undecided`"
        )


class Memories:
    """What threads work in that answer yes/no questions about one list of pairs, kept from call to call.

    Parameters
    ----------
    bodies, pairs : int
        How many there are.
    for_one : bool, optional
        Whether each call is about one state, so that nothing need be kept of a pair, nor be forgotten before the call.
    """

    def __init__(self, bodies: int, pairs: int, *, for_one: bool = False) -> None:
        self._bodies, self._pairs, self._for_one = bodies, pairs, for_one
        self._idle: list[verdict_loop.Memory] = []  # to append and to pop is one step of the interpreter
        self.give_back = self._idle.append

    def take(self) -> verdict_loop.Memory:
        """Memory of a call before, or new."""
        try:
            return self._idle.pop()
        except IndexError:
            kept = 0 if self._for_one else _MOST_KEPT
            return verdict_loop.Memory(culling.world_of(self._bodies), first_closer.pair_memory(self._pairs, kept))


class ThresholdQuery:
    """A yes/no question prepared to be asked many times.

    ``ThresholdQuery(robot, scene, 0.01)(positions)`` is ``are_states_closer(robot, scene, positions, 0.01)``, for the
    scene as it is when the question is made. Any number of threads may ask at a time.

    Parameters
    ----------
    robot, scene, threshold, pairs
        As for `are_states_closer`.

    Raises
    ------
    ValueError
        As `are_states_closer` does about these.
    """

    def __init__(self, robot: Robot, scene: Scene, threshold: float = 0.0, *, pairs: ArrayLike | None = None) -> None:
        self._posing = Posing(robot, scene, pairs)
        tables = self._posing.tables
        self._local, self._link, self._vertices, self._pairs = tables[:4]
        limit = number("threshold", threshold, "metres")
        self._asked = first_closer.Asked(limit, tables.rtol, tables.max_evaluations)
        self._bodies = tuple(scene.bodies)
        self._memories = Memories(len(self._link), len(self._pairs))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memories": Memories(len(self._link), len(self._pairs))}

    def __call__(
        self,
        positions: ArrayLike,
        *,
        joint_names: Sequence[str] | None = None,
        base_poses: Mapping[str, PosesLike] | None = None,
        root_pose: PoseLike | None = None,
        deadline: float | None = None,
        stop: threading.Event | None = None,
        threads: int | None = None,
    ) -> StateVerdicts:
        """Ask about states; parameters, answer and errors as those of `are_states_closer`."""
        started = time.perf_counter()
        end = end_of(started, deadline)
        most_threads = workers(threads)
        joints, bases, root = self._posing.inputs(positions, joint_names, base_poses, root_pose)

        def answer(block: slice, memory: verdict_loop.Memory) -> tuple[verdict_loop.Found, verdict_loop.Memory]:
            of_block = bases[block] if len(bases) > 1 else bases
            first_closer.forget(memory.pairs)
            return self._answer(joints[block], of_block, root, memory), memory

        def ended() -> bool:
            return time.perf_counter() >= end or (stop is not None and stop.is_set())

        take, give_back = self._memories.take, self._memories.give_back
        parts = in_blocks(len(joints), _BLOCK, most_threads, take, answer, give_back, ended)
        return self._joined(len(joints), parts)

    def _answer(
        self, joints: FloatArray, bases: FloatArray, root: FloatArray, memory: verdict_loop.Memory
    ) -> verdict_loop.Found:
        """Answer the states of a block."""
        states = len(joints)
        found = verdict_loop.found_for(states)
        first = np.arange(min(_FIRST, states))
        self._ask_all(first, joints, bases, root, memory, found)
        rest = np.arange(len(first), states)
        if len(rest) > len(first) and np.count_nonzero(found.verdicts[first] == CLOSER) >= _NEARLY_ALL:
            # The pair that was closer last is asked before all links are placed.
            row = int(memory.pairs.order[0])
            poses = self._posing.of_some(np.unique(self._link[self._pairs[row]]), *_those(rest, joints, bases), root)
            links = loop.Links(self._link, poses, self._posing.posed)
            after = slice(len(first), None)
            some = verdict_loop.Found(found.verdicts[after], found.pairs[after], found.looked[after])
            verdict_loop.over_front(self._local, self._vertices, links, memory, self._pairs, self._asked, some)
            rest = rest[some.verdicts != CLOSER]
        self._ask_all(rest, joints, bases, root, memory, found)
        return found

    def _ask_all(
        self,
        which: NDArray[np.int64],
        joints: FloatArray,
        bases: FloatArray,
        root: FloatArray,
        memory: verdict_loop.Memory,
        found: verdict_loop.Found,
    ) -> None:
        """Answer some states of a block, all links placed."""
        if not len(which):
            return
        poses = self._posing.of_scene(self._posing.of_states(*_those(which, joints, bases), root))
        links = loop.Links(self._link, poses, self._posing.posed)
        some = verdict_loop.found_for(len(which))
        verdict_loop.over_states(self._local, self._vertices, links, memory, self._pairs, self._asked, some)
        found.verdicts[which], found.pairs[which], found.looked[which] = some

    def _joined(self, states: int, parts: list[verdict_loop.Found | None]) -> StateVerdicts:
        """The answer of the blocks up to the first that is missing."""
        whole = verdict_loop.found_for(states)
        done = 0
        for part in parts:
            if part is None:
                break
            end = done + len(part.verdicts)
            whole.verdicts[done:end] = part.verdicts
            whole.pairs[done:end] = part.pairs
            whole.looked[done:end] = part.looked
            done = end
        named = whole.pairs >= 0
        bodies = np.full((states, 2), -1)
        bodies[named] = self._pairs[whole.pairs[named]]
        return StateVerdicts(
            closer=whole.verdicts == CLOSER,
            farther=whole.verdicts == FARTHER,
            done=done,
            body_a=bodies[:, 0],
            body_b=bodies[:, 1],
            bodies=self._bodies,
            statistics=Statistics(pairs=len(self._pairs), looked=whole.looked),
        )


def _those(which: NDArray[np.int64], joints: FloatArray, bases: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Joints and poses of bases in some states; one pose may be for all."""
    return joints[which], bases[which] if len(bases) > 1 else bases


def are_states_closer(
    robot: Robot,
    scene: Scene,
    positions: ArrayLike,
    threshold: float = 0.0,
    *,
    joint_names: Sequence[str] | None = None,
    base_poses: Mapping[str, PosesLike] | None = None,
    root_pose: PoseLike | None = None,
    pairs: ArrayLike | None = None,
    deadline: float | None = None,
    stop: threading.Event | None = None,
    threads: int | None = None,
) -> StateVerdicts:
    """Whether any pair of bodies is closer than a threshold, in many states of a robot.

    Each state stops at the first pair that is proved closer, and no pair is solved further than the question takes.

    Parameters
    ----------
    robot, scene, positions, joint_names, base_poses, root_pose, pairs, stop, threads
        As for `state_distances`.
    threshold : float, optional
        Signed distance to compare with, m. 0: whether anything overlaps. Negative: whether anything overlaps deeper.
    deadline : float, optional
        Time after which no further block of states is begun, s. One block at least is answered.

    Returns
    -------
    StateVerdicts

    Raises
    ------
    ValueError
        If the threshold is no finite number, and as `state_distances` does.

    Examples
    --------
    >>> from superovoid import Robot
    >>> from superovoid.states import are_states_closer
    >>> robot = Robot.from_urdf('''<robot name="two">
    ...   <link name="ground"><contact_geometry><sphere radius="0.1"/></contact_geometry></link>
    ...   <joint name="slide" type="prismatic"><parent link="ground"/><child link="mid"/><axis xyz="1 0 0"/>
    ...     <limit lower="0" upper="2" effort="1" velocity="1"/></joint>
    ...   <link name="mid"/>
    ...   <joint name="turn" type="continuous"><parent link="mid"/><child link="ball"/></joint>
    ...   <link name="ball"><contact_geometry><sphere radius="0.2"/></contact_geometry></link>
    ... </robot>''')
    >>> scene = robot.scene()
    >>> scene.set_pairs_allowed([[0, 1]], True)
    >>> found = are_states_closer(robot, scene, [[0.5, 0.0], [0.2, 0.0], [0.3, 0.0]])
    >>> found.closer.tolist(), found.farther.tolist(), found.undecided.tolist()
    ([False, True, False], [True, False, False], [False, False, True])
    """
    ask = ThresholdQuery(robot, scene, threshold, pairs=pairs)
    return ask(
        positions,
        joint_names=joint_names,
        base_poses=base_poses,
        root_pose=root_pose,
        deadline=deadline,
        stop=stop,
        threads=threads,
    )
