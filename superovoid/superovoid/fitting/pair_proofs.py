# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Decide whether two links of a robot ever meet: by random states, and proved over all joint positions between them.

The distance of two bodies is evaluated at the centre of a box of joint positions. Everywhere in the box it is at least
that distance minus the largest relative motion over half of the box, by `Robot.relative_speeds` (Schwarzer, Saha,
Latombe 2005). If this bound does not decide, the box is halved along the joint that contributes most to the motion.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from superovoid.fitting.stand_ins import is_outside, joint_spans, with_hulls
from superovoid.robot import Robot
from superovoid.robot.groups import home_of
from superovoid.scene import Scene
from superovoid.shapes import Mesh, Shell
from superovoid.states import StateQuery, ThresholdQuery, state_distances

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
LinkPair = tuple[str, str]

_BLOCK = 500  # states per query
_TOUCHING = 1e-9  # m; pairs below this distance are examined individually
_MEETING = 1e-12  # m; above the rounding error of a distance of zero
_ROUNDED = 1e-9  # rounding errors of a sum of bounds, m and relative


class LinkPairs:
    """Pairs of links of a robot, with their pairs of bodies.

    Parameters
    ----------
    robot : Robot
        Its collision rules apply: pairs connected by a joint are excluded.
    left_out : sequence of str
        Links whose pairs are excluded.
    outside : bool
        If false, exclude pairs with a floating or planar joint between them, whose pose joint positions do not
        determine.
    """

    def __init__(self, robot: Robot, left_out: Sequence[str] = (), *, outside: bool = True) -> None:
        self.robot = robot
        links = [link for link in robot.links if link not in left_out and link not in robot.links_without_geometry]
        order = {link: number for number, link in enumerate(links)}
        bodies = robot.body_pairs()
        names = [body.link for body in robot.bodies]
        apart = {pair: outside or not is_outside(robot, pair) for pair in {(names[a], names[b]) for a, b in bodies}}
        kept = [names[a] in order and names[b] in order and apart[names[a], names[b]] for a, b in bodies]
        self.bodies: IntArray = bodies[np.array(kept, dtype=bool)].reshape(-1, 2)
        rows = [tuple(sorted((names[a], names[b]), key=order.__getitem__)) for a, b in self.bodies]
        self.pairs: list[LinkPair] = sorted(set(rows), key=lambda pair: (order[pair[0]], order[pair[1]]))
        number = {pair: i for i, pair in enumerate(self.pairs)}
        self.of_bodies = np.array([number[row] for row in rows], dtype=np.int64)
        self.links = tuple(links)
        table = np.full((len(robot.bodies), len(robot.bodies)), -1, dtype=np.int64)
        a, b = self.bodies.T
        table[a, b] = table[b, a] = self.of_bodies
        self.table = table

    def select(self, pair: LinkPair) -> LinkPairs:
        """Return one pair of links only."""
        number = self.pairs.index(pair)
        one = copy.copy(self)
        one.pairs, one.bodies = [pair], self.bodies[self.of_bodies == number]
        one.of_bodies = np.zeros(len(one.bodies), dtype=np.int64)
        one.table = np.where(self.table == number, 0, -1)
        return one

    def drop(self, dropped: Sequence[LinkPair]) -> LinkPairs:
        """Return all pairs of links except some."""
        gone = set(dropped)
        kept = [number for number, pair in enumerate(self.pairs) if pair not in gone]
        number = np.full(len(self.pairs) + 1, -1, dtype=np.int64)  # the last entry, index -1: bodies that form no pair
        number[kept] = np.arange(len(kept))
        rest = copy.copy(self)
        rest.pairs = [self.pairs[each] for each in kept]
        stays = number[self.of_bodies] >= 0
        rest.bodies, rest.of_bodies = self.bodies[stays], number[self.of_bodies[stays]]
        rest.table = number[self.table]
        return rest

    def scene(self) -> Scene:
        """Return a scene of these pairs."""
        return Scene(self.robot.bodies, self.bodies)


@dataclass(frozen=True, eq=False)
class Meetings:
    """Contacts of pairs of links in some states, shape (states, pairs)."""

    meets: NDArray[np.bool_]
    """proved to overlap, or to be at most `_MEETING` apart: surfaces that cross are at distance zero"""
    touches: NDArray[np.bool_]
    """too close to prove either overlap or separation"""

    def of_pairs(self, which: NDArray[np.bool_]) -> Meetings:
        """Return the contacts of some pairs."""
        return Meetings(self.meets[:, which], self.touches[:, which])

    def of_pair(self, number: int) -> Meetings:
        """Return the contacts of one pair, shape (states,)."""
        return Meetings(self.meets[:, number], self.touches[:, number])

    def of_any(self) -> Meetings:
        """Return whether any pair is in contact, shape (states,)."""
        meets = np.asarray(self.meets.any(axis=1))
        return Meetings(meets, self.touches.any(axis=1) & ~meets)


def meetings(pairs: LinkPairs, positions: FloatArray, done: Callable[[int], None] | None = None) -> Meetings:
    """Find the states in which pairs of links overlap or touch.

    Meshes are tested only if their convex hulls meet, and only for contact, not for depth, which may take seconds per
    state.

    Parameters
    ----------
    pairs : LinkPairs
    positions : (states, joints) ndarray
        In the order of `Robot.joint_names`.
    done : callable, optional
        Called with the number of states done.
    """
    shape = len(positions), len(pairs.pairs)
    meets, touches, nearby = (np.zeros(shape, dtype=bool) for _ in range(3))
    if not len(pairs.bodies):
        return Meetings(meets, touches)
    robot, bases = pairs.robot, _at_origin(pairs.robot)
    hulls = with_hulls(robot)
    is_mesh = np.array([isinstance(body.shape, Mesh | Shell) for body in robot.bodies])
    query = StateQuery(hulls, Scene(hulls.bodies, pairs.bodies), max_distance=_TOUCHING)
    for first in range(0, len(positions), _BLOCK):
        found = query(positions[first : first + _BLOCK], base_poses=bases)
        rows = first + found.state, pairs.table[found.body_a, found.body_b]
        of_hulls = is_mesh[found.body_a] | is_mesh[found.body_b]
        sure = (found.upper <= _MEETING) & ~of_hulls
        unsure = (found.upper > _MEETING) & (found.lower <= 0.0) & ~of_hulls
        for table, which in ((meets, sure), (touches, unsure), (nearby, of_hulls)):
            table[rows[0][which], rows[1][which]] = True
        if done is not None:
            done(min(first + _BLOCK, len(positions)))
    with_mesh = is_mesh[pairs.bodies].any(axis=1)
    scene = pairs.scene()
    for number in np.flatnonzero(nearby.any(axis=0)):
        states = np.flatnonzero(nearby[:, number] & ~meets[:, number])
        listed = pairs.bodies[with_mesh & (pairs.of_bodies == number)]
        verdicts = ThresholdQuery(robot, scene, _MEETING, pairs=listed)(positions[states], base_poses=bases)
        meets[states, number] |= verdicts.closer
        touches[states, number] |= verdicts.undecided
    return Meetings(meets, touches & ~meets)


def depths(pairs: LinkPairs, pair: LinkPair, positions: FloatArray) -> FloatArray:
    """Return the largest penetration depth of any two bodies of two links in each state, m; 0 if none overlap."""
    one = pairs.select(pair)
    depth = np.zeros(len(positions))
    found = StateQuery(pairs.robot, one.scene(), max_distance=0.0)(positions, base_poses=_at_origin(pairs.robot))
    np.maximum.at(depth, found.state, np.maximum(-found.distance, 0.0))
    return depth


def _at_origin(robot: Robot) -> dict[str, FloatArray]:
    return {link: np.eye(4) for link in robot.base_links}


@dataclass(frozen=True, eq=False)
class Proof:
    """Result of a proof about two links, for all positions within the joint limits."""

    verdict: str
    """"apart", "meet", or "" if neither is proved"""
    boxes: int
    """number of boxes of joint positions evaluated"""
    witness: dict[str, float] = field(default_factory=dict)
    """a state that refutes the wanted verdict, if one was found"""


def prove(
    pairs: LinkPairs, pair: LinkPair, wanted: str, *, clearance: float = 0.0, max_evaluations: int = 20_000
) -> Proof:
    """Prove that two links are apart in all states, or that they overlap in all states.

    Parameters
    ----------
    pairs : LinkPairs
    pair : (str, str)
        One of `pairs.pairs`.
    wanted : {"apart", "meet"}
    clearance : float
        Distance that "apart" requires, m.
    max_evaluations : int
        Largest number of boxes of joint positions to evaluate.

    Returns
    -------
    Proof
        Nothing is proved if a joint between the links is floating or planar, or has no limits.
    """
    robot = pairs.robot
    if is_outside(robot, pair):
        return Proof("", 0)
    bodies = pairs.bodies[pairs.of_bodies == pairs.pairs.index(pair)]
    speeds = robot.relative_speeds(robot.bodies, bodies)
    matters = np.flatnonzero((speeds > 0.0).any(axis=0))
    spans, whole = joint_spans(robot)
    if not whole[matters].all() or not np.isfinite(speeds[:, matters]).all():
        return Proof("", 0)
    centre = spans[matters].mean(axis=1)[None]
    half = 0.5 * np.ptp(spans[matters], axis=1)[None]
    home = np.array([home_of(robot.joint_limits[name]) for name in robot.joint_names])
    scene, seen = Scene(robot.bodies, bodies), 0
    while len(centre):
        if seen + len(centre) > max_evaluations:
            return Proof("", seen)
        seen += len(centre)
        states = np.tile(home, (len(centre), 1))
        states[:, matters] = centre
        lower, upper = _bounds(robot, scene, bodies, states)
        moved = half @ speeds[:, matters].T * (1.0 + _ROUNDED) + _ROUNDED
        if wanted == "apart":
            fails = (upper <= clearance).any(axis=1)
            is_open = (lower - moved <= clearance).any(axis=1)
        else:
            fails = (lower >= 0.0).all(axis=1)
            is_open = (upper + moved >= 0.0).all(axis=1)
        if fails.any():
            return Proof("", seen, dict(zip(robot.joint_names, states[int(np.argmax(fails))].tolist(), strict=True)))
        centre, half = centre[is_open], half[is_open]
        if not len(centre):
            break
        if not len(matters):
            return Proof("", seen)  # nothing moves, and the interval holds zero
        # Halve along the joint that contributes most to the motion bound.
        share = (half[:, None, :] * speeds[None, :, matters]).max(axis=1)
        axis = share.argmax(axis=1)
        rows = np.arange(len(centre))
        half = half.copy()
        half[rows, axis] *= 0.5
        shift = np.zeros_like(centre)
        shift[rows, axis] = half[rows, axis]
        centre, half = np.concatenate([centre - shift, centre + shift]), np.concatenate([half, half])
    return Proof(wanted, seen)


def _bounds(robot: Robot, scene: Scene, bodies: IntArray, states: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return proved bounds of the distances of pairs of bodies in states, each of shape (states, pairs)."""
    table = np.full((len(robot.bodies), len(robot.bodies)), -1, dtype=np.int64)
    a, b = bodies.T
    table[a, b] = table[b, a] = np.arange(len(bodies))
    found = state_distances(robot, scene, states, base_poses=_at_origin(robot))
    rows = found.state, table[found.body_a, found.body_b]
    lower, upper = np.full((len(states), len(bodies)), -np.inf), np.full((len(states), len(bodies)), np.inf)
    lower[rows], upper[rows] = found.lower, found.upper
    return lower, upper
