# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Whether two links of a robot ever meet: by random states, and proved over all positions of the joints between them.

A box of joint positions is looked at in its middle. In all of it the distance of two bodies is at least that in the
middle less what `Robot.relative_speeds` says of half the box (Schwarzer, Saha, Latombe 2005). A box of which that does
not say enough is cut in two where the bound moves most.
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

_BLOCK = 500  # states that are asked about at once
_TOUCHING = 1e-9  # m; nearer than that pairs are looked at one by one
_MEETING = 1e-12  # m; above the rounding of a distance that is zero
_ROUNDED = 1e-9  # of what a bound adds up, m and relative


class LinkPairs:
    """Pairs of links of a robot with the pairs of bodies that they have.

    Parameters
    ----------
    robot : Robot
        Its own rules of collision count: pairs that a joint connects are not among them.
    left_out : sequence of str
        Links whose pairs are left out.
    outside : bool
        Whether pairs are among them between which a joint has a pose from outside (floating, planar).
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

    def only(self, pair: LinkPair) -> LinkPairs:
        """One pair of links of these."""
        number = self.pairs.index(pair)
        one = copy.copy(self)
        one.pairs, one.bodies = [pair], self.bodies[self.of_bodies == number]
        one.of_bodies = np.zeros(len(one.bodies), dtype=np.int64)
        one.table = np.where(self.table == number, 0, -1)
        return one

    def without(self, dropped: Sequence[LinkPair]) -> LinkPairs:
        """All but some pairs of links."""
        gone = set(dropped)
        kept = [number for number, pair in enumerate(self.pairs) if pair not in gone]
        number = np.full(len(self.pairs) + 1, -1, dtype=np.int64)  # the last: of bodies that are no pair
        number[kept] = np.arange(len(kept))
        rest = copy.copy(self)
        rest.pairs = [self.pairs[each] for each in kept]
        stays = number[self.of_bodies] >= 0
        rest.bodies, rest.of_bodies = self.bodies[stays], number[self.of_bodies[stays]]
        rest.table = number[self.table]
        return rest

    def scene(self) -> Scene:
        """A scene of these pairs."""
        return Scene(self.robot.bodies, self.bodies)


@dataclass(frozen=True, eq=False)
class Meetings:
    """What pairs of links do in some states, shape (states, pairs)."""

    meets: NDArray[np.bool_]
    """proved to overlap, or to be no farther apart than `_MEETING`: surfaces that cross are at distance zero"""
    touches: NDArray[np.bool_]
    """so close that it is not proved either way"""

    def of_pairs(self, which: NDArray[np.bool_]) -> Meetings:
        """Those of some pairs."""
        return Meetings(self.meets[:, which], self.touches[:, which])

    def of_pair(self, number: int) -> Meetings:
        """Those of one pair, shape (states,)."""
        return Meetings(self.meets[:, number], self.touches[:, number])

    def of_any(self) -> Meetings:
        """Whether any pair does, shape (states,)."""
        meets = np.asarray(self.meets.any(axis=1))
        return Meetings(meets, self.touches.any(axis=1) & ~meets)


def meetings(pairs: LinkPairs, positions: FloatArray, done: Callable[[int], None] | None = None) -> Meetings:
    """Which pairs of links overlap in which states, or touch.

    Meshes are looked at where their convex hulls meet, and asked whether they meet, not how deep: that may take
    seconds of a state.

    Parameters
    ----------
    pairs : LinkPairs
    positions : (states, joints) ndarray
        In the order of `Robot.joint_names`.
    done : callable, optional
        Called with the number of states that were answered.
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
    """How deep the deepest two bodies of two links overlap in some states, m; 0 where none do."""
    one = pairs.only(pair)
    depth = np.zeros(len(positions))
    found = StateQuery(pairs.robot, one.scene(), max_distance=0.0)(positions, base_poses=_at_origin(pairs.robot))
    np.maximum.at(depth, found.state, np.maximum(-found.distance, 0.0))
    return depth


def _at_origin(robot: Robot) -> dict[str, FloatArray]:
    return {link: np.eye(4) for link in robot.base_links}


@dataclass(frozen=True, eq=False)
class Proof:
    """What is proved of two links everywhere within the limits of the joints."""

    verdict: str
    """"apart", "meet", or "" where neither is proved"""
    boxes: int
    """of joint positions that were looked at"""
    witness: dict[str, float] = field(default_factory=dict)
    """where that was looked for and is not so: a state"""


def prove(
    pairs: LinkPairs, pair: LinkPair, wanted: str, *, clearance: float = 0.0, max_evaluations: int = 20_000
) -> Proof:
    """Prove that two links are apart everywhere, or that they overlap everywhere.

    Parameters
    ----------
    pairs : LinkPairs
    pair : (str, str)
        One of `pairs.pairs`.
    wanted : {"apart", "meet"}
    clearance : float
        How far apart they must be, m; of "apart" only.
    max_evaluations : int
        Boxes of joint positions to evaluate, at most.

    Returns
    -------
    Proof
        Nothing is proved of links between which a joint has a pose from outside, or no limits.
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
        # Cut where the bound moves most.
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
    """Proved bounds of the distances of pairs of bodies in states, shape (states, pairs) each."""
    table = np.full((len(robot.bodies), len(robot.bodies)), -1, dtype=np.int64)
    a, b = bodies.T
    table[a, b] = table[b, a] = np.arange(len(bodies))
    found = state_distances(robot, scene, states, base_poses=_at_origin(robot))
    rows = found.state, table[found.body_a, found.body_b]
    lower, upper = np.full((len(states), len(bodies)), -np.inf), np.full((len(states), len(bodies)), np.inf)
    lower[rows], upper[rows] = found.lower, found.upper
    return lower, upper
