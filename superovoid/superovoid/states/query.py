# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signed distances in many states of a robot at once, for planners and optimisers.

======================  ==========================================================================================
a plain loop            `state_distances`
======================  ==========================================================================================
joints by name          an array, one row a state
poses by name           one compiled loop over states and links
a query a state         one compiled loop over states: place, cull, lanes for pairs of several states, solve
a result a state        flat arrays, the rows of a state behind those of the state before it
======================  ==========================================================================================

States are answered in blocks, which threads share. The answers of SIMD lanes depend on a pair and its poses alone. Any
other pair starts from its points in the previous state, as in the next query of a scene; every block starts cold. So
equal calls have the same results, bit by bit, whatever the earlier calls, the number of threads, the growth of memory
and the deadline.
"""

from __future__ import annotations

import copy
import math
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.compiled.threads import workers
from superovoid.contact.columns import RESULT_LENGTH
from superovoid.contact.results import DistanceResults
from superovoid.robot import Robot
from superovoid.robot.kinematics import Positions
from superovoid.scene import Scene, culling, pair_table, solving
from superovoid.scene.results import fields_of
from superovoid.states.blocks import BLOCK, MOST_WARM_STARTS, Ends, IdleMemory, in_blocks
from superovoid.states.inputs import LinkPoses
from superovoid.states.results import StateDistances
from superovoid.values.checks import greatest_distance, whole_number
from superovoid.values.poses import PoseLike, PosesLike

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_BLOCK_PAIRS = 1 << 20  # bound of the pairs of a block, for its memory and the time until `stop` is read
_SPAN_PAIRS = 1 << 14  # bound of the pairs, and of the bodies, of states that share lanes


def state_distances(
    robot: Robot,
    scene: Scene,
    positions: Positions,
    *,
    joint_names: Sequence[str] | None = None,
    base_poses: Mapping[str, PosesLike] | None = None,
    root_pose: PoseLike | None = None,
    pairs: ArrayLike | None = None,
    max_distance: float = math.inf,
    max_results: int | None = None,
    overlapping_only: bool = False,
    closest_of_links: bool = False,
    gradients: bool = False,
    base_gradients: bool = False,
    deadline: float | None = None,
    max_rows: int | None = None,
    stop: threading.Event | None = None,
    threads: int | None = None,
) -> StateDistances:
    """Compute the signed distances of a robot's bodies in many states.

    Parameters
    ----------
    robot : Robot
    scene : Scene
        The bodies and the pairs to check: `robot.scene()`, or any other with bodies on links of the robot. Other links
        keep their poses in the scene. The scene is not changed.
    positions : (states, joints) array_like, or mapping of str to (states,) array_like
        Positions of the joints, rad or m, one row a state, or by name.
    joint_names : sequence of str, optional
        The columns of `positions`, in any order; default: `robot.joint_names`. Mimic joints may be included; they are
        ignored, since they follow their masters.
    base_poses : mapping of str to (4, 4) or (states, 4, 4) array_like
        root_from_link of the robot's `base_links`, m, for all states or for each.
    root_pose : (4, 4) array_like, optional
        world_from_root, m; default: the world is the root frame.
    pairs : (n, 2) array_like of int, optional
        Only these of the scene's pairs, in either order.
    max_distance : float, optional
        Largest distance to report, m.
    max_results : int, optional
        Report only this many pairs a state, the closest ones.
    overlapping_only : bool, optional
        Report only pairs with a negative distance.
    closest_of_links : bool, optional
        Report only the closest pair of bodies for each pair of links. If links have several bodies, few of their pairs
        are solved.
    gradients, base_gradients : bool, optional
        Whether to compute the derivatives by the joints, and by the poses of the bases.
    deadline : float, optional
        Time after which no further states are started, s. At least one state is answered.
    max_rows : int, optional
        Number of rows after which no further block of states is started, to bound memory.
    stop : threading.Event, optional
        An event that ends the call: no further block of states is started once it is set.
    threads : int, optional
        Number of threads; None: one for each processor. The results do not depend on it.

    Returns
    -------
    StateDistances

    Raises
    ------
    ValueError
        If an argument is out of range, a joint or base pose is missing, given twice or unknown, a number is not finite,
        a base pose is not a rigid transform, a pair is not one of the scene's, or another link has no pose in the
        scene.

    Notes
    -----
    The call releases the global interpreter lock. Several threads may call it for one scene at a time.

    Examples
    --------
    >>> from superovoid.robot import Robot
    >>> from superovoid.states import state_distances
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
    >>> found = state_distances(robot, scene, [[0.5, 0.0], [1.0, 0.0], [0.2, 0.0]], max_distance=0.5, gradients=True)
    >>> found.first.tolist(), found.distance.round(9).tolist(), found.gradients.round(9).tolist()
    ([0, 1, 1, 2], [0.2, -0.1], [[1.0, 0.0], [1.0, 0.0]])
    """
    ask = StateQuery(
        robot,
        scene,
        pairs=pairs,
        max_distance=max_distance,
        max_results=max_results,
        overlapping_only=overlapping_only,
        closest_of_links=closest_of_links,
        gradients=gradients,
        base_gradients=base_gradients,
    )
    return ask(
        positions,
        joint_names=joint_names,
        base_poses=base_poses,
        root_pose=root_pose,
        deadline=deadline,
        max_rows=max_rows,
        stop=stop,
        threads=threads,
    )


_Mine = tuple[solving.Memory, solving.Answers]  # memory of one thread
# Memory of finished calls for later ones, of any query: about one state, and about several. Each query would keep
# megabytes of its own, and callers keep many queries.
_IDLE = IdleMemory[_Mine](), IdleMemory[_Mine]()


class _Part(NamedTuple):
    """Answers in the first states of a block; arrays as in `StateDistances`."""

    numbers: IntArray  # number of rows of each state
    counts: IntArray
    rows: FloatArray
    bodies: IntArray
    by_joint: FloatArray | None
    by_base: FloatArray | None


class StateQuery:
    """A prepared query about states, for repeated calls.

    ``StateQuery(robot, scene, max_distance=0.02)(positions)`` equals ``state_distances(robot, scene, positions,
    max_distance=0.02)``, for the scene at the time of construction: bodies and pairs added later have no effect, nor do
    new poses of links that the robot does not have. Any number of threads may call it at a time.

    Parameters
    ----------
    robot, scene, pairs, max_distance, max_results, overlapping_only, closest_of_links, gradients, base_gradients
        As for `state_distances`.

    Raises
    ------
    ValueError
        As for `state_distances`.
    """

    def __init__(
        self,
        robot: Robot,
        scene: Scene,
        *,
        pairs: ArrayLike | None = None,
        max_distance: float = math.inf,
        max_results: int | None = None,
        overlapping_only: bool = False,
        closest_of_links: bool = False,
        gradients: bool = False,
        base_gradients: bool = False,
    ) -> None:
        self._posing = LinkPoses(robot, scene, pairs)
        self._robot, self._kinematics = robot, robot._kinematics
        self._with_joints, self._derive, self._derive_bases = gradients, gradients or base_gradients, base_gradients
        self._local, self._pairs = self._posing.tables[:2]
        self._bodies = scene.bodies
        self._groups = None
        if closest_of_links:
            self._pairs, self._groups = _by_links(self._pairs, self._local.link)
        self._set_limits(max_distance, max_results, overlapping_only)
        self._block = max(1, min(BLOCK, _BLOCK_PAIRS // max(len(self._pairs), 1)))
        self._span = max(1, min(self._block, _SPAN_PAIRS // max(len(self._pairs), len(self._bodies), 1)))

    def _set_limits(self, max_distance: float, max_results: int | None, overlapping_only: bool) -> None:
        tables, limit = self._posing.tables, greatest_distance(max_distance)
        limit = min(limit, 0.0) if overlapping_only else limit
        most = len(self._pairs)  # pairs of a group
        if max_results is not None:
            max_results = whole_number("max_results", max_results, 1)
            if self._groups is not None:
                raise ValueError(f"max_results = {max_results}: with closest_of_links all pairs of links are answered")
            most = min(max_results, most)
        if self._groups is not None:
            most = 1
        ends = tables.rtol, tables.max_evaluations
        self._wanted = solving.QueryLimits(most, limit, bool(overlapping_only), *ends, False)

    def with_limits(
        self, *, max_distance: float = math.inf, max_results: int | None = None, overlapping_only: bool = False
    ) -> StateQuery:
        """Return this query with other limits. It shares the tables, so this is faster than a new query.

        Parameters
        ----------
        max_distance, max_results, overlapping_only
            As for `state_distances`.

        Raises
        ------
        ValueError
            As for `state_distances`.
        """
        other = copy.copy(self)
        other._set_limits(max_distance, max_results, overlapping_only)
        return other

    def __repr__(self) -> str:
        return f"StateQuery({self._robot.name!r}, {len(self._bodies)} bodies, {len(self._pairs)} pairs)"

    def __call__(
        self,
        positions: Positions,
        *,
        joint_names: Sequence[str] | None = None,
        base_poses: Mapping[str, PosesLike] | None = None,
        root_pose: PoseLike | None = None,
        deadline: float | None = None,
        max_rows: int | None = None,
        stop: threading.Event | None = None,
        threads: int | None = None,
    ) -> StateDistances:
        """Answer states; parameters, result and errors are those of `state_distances`."""
        ended = Ends.from_limits(deadline, None if max_rows is None else whole_number("max_rows", max_rows, 1), stop)
        most_threads = workers(threads)
        joints, bases, root = self._posing.inputs(positions, joint_names, base_poses, root_pose)
        rows = 0  # of all finished blocks, whatever their order
        lock = threading.Lock()

        def answer(block: slice, mine: _Mine) -> _Part:
            nonlocal rows
            poses = self._posing.of_states(joints[block], bases[block] if len(bases) > 1 else bases, root)
            part = self._answer_block(self._posing.of_scene(poses), block.start == 0, ended.time, *mine)
            if self._derive:
                by_joint, by_base = self._gradients(poses, root, part)
                part = part._replace(by_joint=by_joint, by_base=by_base)
            with lock:
                rows += len(part.rows)
            return part

        idle = _IDLE[len(joints) > 1] if len(self._pairs) <= MOST_WARM_STARTS else IdleMemory[_Mine]()
        memory = idle, partial(self._suffices, len(joints)), partial(self._memory, len(joints))
        parts = in_blocks(len(joints), self._block, most_threads, *memory, answer, lambda: ended(rows))
        return self._join_parts(len(joints), parts, ended.rows)

    def _sizes(self, count: int) -> tuple[int, int, int]:
        """Return the numbers of states answered together, of bodies and of pairs in a call about `count` states."""
        return min(self._span, max(count, 1)), len(self._bodies), len(self._pairs)

    def _suffices(self, count: int, mine: _Mine) -> bool:
        """Return whether memory is large enough for a call about `count` states."""
        (states, bodies, pairs), memory = self._sizes(count), mine[0]
        room = len(memory.world.rounding)  # in states
        is_wide = len(memory.rows.bounds) >= states * pairs and len(memory.scratch.waiting) >= pairs
        # Kernels find the bodies of a state by their number.
        return room >= states and len(memory.world.losses) == room * bodies and is_wide

    def _memory(self, count: int) -> _Mine:
        """Return memory for a thread in a call about `count` states."""
        states, bodies, pairs = self._sizes(count)
        slots = min(pairs, MOST_WARM_STARTS) if count > 1 else 0  # a single state has no previous one
        memory = solving.memory_for(states, bodies, states * pairs, slots, True)
        return memory, solving.answers_for(states, states * pairs)

    def _join_parts(self, states: int, parts: list[_Part], most_rows: float) -> StateDistances:
        """Join the answers of blocks, up to one that is incomplete or reaches `most_rows`."""
        first, counts = np.zeros(states + 1, dtype=np.int64), np.zeros((states, culling.COUNTS), dtype=np.int64)
        done, kept = 0, list[_Part]()
        for begin, part in zip(range(0, max(states, 1), self._block), parts, strict=False):
            if done < begin or first[done] >= most_rows:
                break
            done = begin + len(part.counts)
            first[begin + 1 : done + 1] = first[begin] + np.cumsum(part.numbers)
            counts[begin:done] = part.counts
            kept.append(part)
        first[done:] = first[done]
        rows, bodies = (np.concatenate([part[i] for part in kept]) for i in (2, 3))
        return StateDistances(
            **fields_of(rows, bodies, len(self._pairs), counts.T),
            bodies=self._bodies,
            first=first,
            done=done,
            joint_names=self._robot.joint_names,
            base_links=self._robot.base_links,
            gradients=np.concatenate([part.by_joint for part in kept]) if self._with_joints else None,
            base_gradients=np.concatenate([part.by_base for part in kept]) if self._derive_bases else None,
        )

    def _answer_block(
        self, link_poses: FloatArray, is_first: bool, stop: float, memory: solving.Memory, answers: solving.Answers
    ) -> _Part:
        """Answer states of a block until the clock reads `stop`, but at least one state of the first block."""
        pair_table.forget(memory.pool)
        groups = solving.ONE_GROUP if self._groups is None else self._groups
        numbers, counts = [np.zeros(0, np.int64)], [np.zeros((0, culling.COUNTS), np.int64)]
        rows, bodies = [np.zeros((0, RESULT_LENGTH))], [np.zeros((0, 2), np.int64)]
        done = 0
        while done < len(link_poses):
            states = self._span
            if stop < math.inf:
                if time.perf_counter() >= stop and not (is_first and done == 0):
                    break
                # Double the number of states between readings of the clock, so that it is read often enough.
                states = min(states, max(1, done))
            poses = link_poses[done : done + states]
            asked = self._posing.posed, self._pairs, groups, self._wanted
            solving.over_states(self._local, poses, *asked, memory, answers)
            numbers.append(np.diff(answers.first[: len(poses) + 1]))
            counts.append(memory.counts[: len(poses)].copy())
            rows.append(answers.rows[: answers.first[len(poses)]].copy())
            bodies.append(answers.bodies[: answers.first[len(poses)]].copy())
            done += len(poses)
        joined = np.concatenate(numbers), np.concatenate(counts), np.concatenate(rows), np.concatenate(bodies)
        return _Part(*joined, None, None)

    def _gradients(self, poses: FloatArray, root: FloatArray, part: _Part) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of a block's distances by the joints and by the poses of the bases."""
        found = DistanceResults.from_rows(part.rows)
        links = self._posing.row_of_link[self._local.link[part.bodies]]
        contacts = found.point_a, found.point_b, found.normal
        first = np.append(0, np.cumsum(part.numbers))
        by_joint, by_base = self._kinematics.gradients_of_states(
            poses[: len(part.numbers)], first, links, *contacts, self._derive_bases
        )
        # Rotate from the axes of the world to those of the root.
        turned = by_base.reshape(*by_base.shape[:2], 2, 3) @ root[:3, :3]
        return by_joint, turned.reshape(by_base.shape)


def _by_links(pairs: IntArray, link: IntArray) -> tuple[IntArray, IntArray]:
    """Sort pairs of bodies by their pair of links; return also the number of the pair of links of each."""
    rows = np.sort(link[pairs], axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], rows[:, 1], rows[:, 0]))
    begins = np.any(np.diff(rows[order], axis=0, prepend=-1), axis=1)
    return np.ascontiguousarray(pairs[order]), np.cumsum(begins) - 1
