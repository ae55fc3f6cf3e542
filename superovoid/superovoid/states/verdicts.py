# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Decide whether any pair of bodies overlaps, or is closer than a threshold, in many states of a robot.

A state is `closer` if one pair is proved closer, `farther` if every pair is proved not to be, and undecided otherwise:
an undecided pair never makes a state free. Within a block of states, the loop first compares the pair that was closer
in the last state (`verdict_loop`). Every block starts with the same order, so the answer does not depend on the number
of threads.

A planner checks whether all pairs keep their floors along a motion (`FloorQuery`). Every pair of every state has its
own threshold, and the check ends at the first state with a pair below its floor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.compiled.threads import workers
from superovoid.contact.pair import CLOSER, FARTHER, UNDECIDED
from superovoid.robot import Robot
from superovoid.robot.kinematics import Positions
from superovoid.scene import Body, Scene
from superovoid.states import verdict_loop
from superovoid.states.blocks import BLOCK, MOST_WARM_STARTS, Ends, IdleMemory, in_blocks
from superovoid.states.inputs import FloatArray, LinkPoses
from superovoid.values.checks import number
from superovoid.values.poses import PoseLike, PosesLike
from superovoid.values.records import Columns, Statistics

BELOW, SHORT, CLEAR = CLOSER, UNDECIDED, FARTHER
"""Verdicts on a state: a pair is not proved to reach its floor; all do, but not all reach `needed`; all reach it."""


@dataclass(frozen=True, eq=False, repr=False)
class StateVerdicts(Columns):
    """Verdicts on many states, one row a state."""

    closer: NDArray[np.bool_]
    """Proved: the signed distance of a pair is below the threshold."""
    farther: NDArray[np.bool_]
    """Proved: no pair has a signed distance below the threshold."""
    done: int
    """Number of states answered, always the first ones; fewer than given if the deadline or `stop` ended the call.
    Later states are neither closer nor farther."""
    body_a: NDArray[np.int64]
    """First body of a closer pair, or of an undecided pair if none is closer; -1 if all pairs are farther. Indices into
    `bodies`, shape (states,)."""
    body_b: NDArray[np.int64]
    bodies: tuple[Body, ...]
    statistics: Statistics
    """``pairs``: pairs to check in each state; ``looked``: pairs of these that bounding spheres and oriented boxes did
    not decide, shape (states,)."""

    PER_ROW: ClassVar[tuple[str, ...]] = ("closer", "farther", "body_a", "body_b")

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """True for states neither closer nor farther: a distance equals the threshold, or there is no answer."""
        return ~(self.closer | self.farther)

    def _labels(self) -> dict[str, NDArray[np.str_]]:
        names = np.array([*(body.name for body in self.bodies), ""], dtype=np.str_)  # the last one for index -1
        return {"name_a": names[self.body_a], "name_b": names[self.body_b]}

    def _summary(self) -> str:
        return f"{len(self)} states, {int(self.closer.sum())} closer, {int(self.farther.sum())} farther"

    def __bool__(self) -> bool:
        raise TypeError(
            "verdicts of many states have no truth value, and some may be undecided: ask for `.closer.any()` (proved "
            "closer), for `.farther.all()` (proved not to be), or for `.undecided`"
        )


class _PairQuery:
    """A prepared yes/no query about pairs of a scene in states of a robot; any number of threads may use it."""

    def __init__(self, robot: Robot, scene: Scene, pairs: ArrayLike | None) -> None:
        self._posing = LinkPoses(robot, scene, pairs)
        tables = self._posing.tables
        ends = tables.rtol, tables.max_evaluations
        self._asked = verdict_loop.ComparedPairs(tables.local, self._posing.posed, tables.pairs, *ends)
        # Memory of finished calls, for several states and for one.
        self._idle = IdleMemory[verdict_loop.Memory](), IdleMemory[verdict_loop.Memory]()

    def _ask(
        self,
        states: tuple[FloatArray, FloatArray, FloatArray],
        floors: FloatArray,
        needed: FloatArray,
        ends: bool,
        threads: int,
        ended: Callable[[], bool] = lambda: False,
    ) -> verdict_loop.VerdictRows:
        """Answer states until all are done or a condition ends the call.

        Parameters
        ----------
        states : tuple of ndarray
            Joints, poses of bases and pose of the root, as `LinkPoses.inputs` returns them.
        floors, needed, ends
            As for `verdict_loop.over_states`.
        threads : int
        ended : callable, optional
            Return true to start no further block.
        """
        joints, bases, root = states
        is_over = False
        idle = self._idle[len(joints) == 1]

        def make() -> verdict_loop.Memory:
            return verdict_loop.memory_for(self._asked, len(joints) != 1 and len(self._asked.pairs) <= MOST_WARM_STARTS)

        def answer(block: slice, memory: verdict_loop.Memory) -> verdict_loop.VerdictRows:
            nonlocal is_over
            of_block, *limits = (each[block] if len(each) > 1 else each for each in (bases, floors, needed))
            poses = self._posing.of_scene(self._posing.of_states(joints[block], of_block, root))
            found = verdict_loop.rows_for(len(poses))
            done = verdict_loop.over_states(self._asked, poses, *limits, ends, memory, found)
            is_over = is_over or (ends and bool(done) and bool(found.verdicts[done - 1] == CLOSER))
            return verdict_loop.VerdictRows._make(each[:done] for each in found)

        parts = in_blocks(len(joints), BLOCK, threads, idle, lambda _: True, make, answer, lambda: is_over or ended())
        found = verdict_loop.VerdictRows(*map(np.concatenate, zip(*parts, strict=True)))
        if not ends or CLOSER not in found.verdicts:
            return found
        # Threads start blocks in order, so all blocks before the one that ends the answer are complete.
        done = found.verdicts.tolist().index(CLOSER) + 1
        return verdict_loop.VerdictRows._make(each[:done] for each in found)


class ThresholdQuery(_PairQuery):
    """A prepared yes/no query, for repeated calls.

    ``ThresholdQuery(robot, scene, 0.01)(positions)`` is ``are_states_closer(robot, scene, positions, 0.01)``, for the
    scene at the time of construction. Any number of threads may call it at a time.

    Parameters
    ----------
    robot, scene, threshold, pairs
        As for `are_states_closer`.

    Raises
    ------
    ValueError
        As for `are_states_closer`.
    """

    def __init__(self, robot: Robot, scene: Scene, threshold: float = 0.0, *, pairs: ArrayLike | None = None) -> None:
        super().__init__(robot, scene, pairs)
        self._threshold = np.full((1, 1), number("threshold", threshold, "metres"))
        self._bodies = tuple(scene.bodies)

    def __call__(
        self,
        positions: Positions,
        *,
        joint_names: Sequence[str] | None = None,
        base_poses: Mapping[str, PosesLike] | None = None,
        root_pose: PoseLike | None = None,
        deadline: float | None = None,
        stop: threading.Event | None = None,
        threads: int | None = None,
    ) -> StateVerdicts:
        """Answer states; parameters, result and errors are those of `are_states_closer`."""
        ended = Ends.from_limits(deadline, None, stop)
        most_threads = workers(threads)
        given = self._posing.inputs(positions, joint_names, base_poses, root_pose)
        found = self._ask(given, self._threshold, self._threshold, False, most_threads, lambda: ended(0))
        states, done = len(given[0]), len(found.verdicts)
        whole = verdict_loop.rows_for(states)
        whole.verdicts[:done], whole.pairs[:done], whole.looked[:done] = found
        named = whole.pairs >= 0
        bodies = np.full((states, 2), -1)
        bodies[named] = self._asked.pairs[whole.pairs[named]]
        return StateVerdicts(
            closer=whole.verdicts == CLOSER,
            farther=whole.verdicts == FARTHER,
            done=done,
            body_a=bodies[:, 0],
            body_b=bodies[:, 1],
            bodies=self._bodies,
            statistics=Statistics(pairs=len(self._asked.pairs), looked=whole.looked),
        )


class FloorVerdicts(NamedTuple):
    """Verdicts on the states of a list, up to and including the first that is `BELOW`."""

    verdicts: NDArray[np.int8]
    """`CLEAR`, `SHORT` or `BELOW`, one a state."""
    pairs: NDArray[np.int64]
    """Row of a pair that the verdict is from, one a state; -1 for `CLEAR`."""


class FloorQuery(_PairQuery):
    """A prepared query that compares pairs with their floors; any number of threads may use it.

    Parameters
    ----------
    robot, scene
        As for `are_states_closer`.
    pairs : (n, 2) array_like of int, optional
        Only these of the scene's pairs, in either order.

    Raises
    ------
    ValueError
        As for `are_states_closer`.
    """

    def __call__(
        self,
        positions: Positions,
        floors: NDArray[np.float64],
        needed: NDArray[np.float64],
        *,
        base_poses: Mapping[str, PosesLike] | None = None,
        threads: int | None = None,
    ) -> FloorVerdicts:
        """Compare the pairs with their floors, state by state.

        Parameters
        ----------
        positions, base_poses, threads
            As for `are_states_closer`.
        floors : (states, n) array
            Floor that the signed distance of each pair must exceed, m.
        needed : (states, n) array
            Distance that the signed distance must exceed for `CLEAR`, m; at least the floor.
        """
        given = self._posing.inputs(positions, None, base_poses, None)
        # A distance exceeds a floor if it is at least the next larger number; it is not proved to exceed nan.
        least, wanted = (
            np.ascontiguousarray(np.where(np.isnan(each), np.inf, np.nextafter(each, np.inf)))
            for each in (floors, needed)
        )
        found = self._ask(given, least, wanted, True, workers(threads))
        return FloorVerdicts(found.verdicts, found.pairs)


def are_states_closer(
    robot: Robot,
    scene: Scene,
    positions: Positions,
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
    """Decide whether any pair of bodies is closer than a threshold, in many states of a robot.

    Each state stops at the first pair proved closer, and each pair is solved only until it is decided.

    Parameters
    ----------
    robot, scene, positions, joint_names, base_poses, root_pose, pairs, stop, threads
        As for `state_distances`.
    threshold : float, optional
        Signed distance to compare with, m. 0: whether any pair overlaps. Negative: whether any overlaps deeper.
    deadline : float, optional
        Time after which no further block of states is started, s. At least one block is answered.

    Returns
    -------
    StateVerdicts

    Raises
    ------
    ValueError
        If the threshold is not a finite number, and as for `state_distances`.

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
