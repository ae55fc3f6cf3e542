# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Time of impact of bodies of any kinds: the steps of `impact`, with the solver of each pair of kinds.

Two bounds of how the distance falls take time forward, whichever proves more:

* along the normal of the last answer, the separation by support functions with its chord and parabola, as for
  superovoids. It sees convex hulls, and a half-space that does not turn;
* from the last proved distance, the largest speed at which any two points can approach each other. It holds for every
  body; what turns about a distant axis, or is not convex, takes many such steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from superovoid.contact import impact
from superovoid.contact.columns import DISTANCE, LOWER, NORMAL, POINT_A, POINT_B, UPPER
from superovoid.contact.inputs import TOLERANCE
from superovoid.contact.kind_table import OPPOSED
from superovoid.contact.signed_distance import solve_of_kinds
from superovoid.shapes import Shape
from superovoid.shapes.kernels.rounding import allowance
from superovoid.shapes.kernels.surface import SIZE
from superovoid.shapes.primitives import HalfSpace

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class _Moving:
    """A body with its motion (`impact`: arm, velocity, angular velocity)."""

    shape: Shape
    start: FloatArray
    motion: FloatArray

    def without_spin(self, across: float) -> _Moving:
        """The same motion. A half-space that turns about its own normal stays what it is, and does not turn.

        `across`: part of the angular velocity that may be across the normal and counts as rounding.
        """
        off = np.linalg.norm(np.cross(self.start[:3, 2], self.omega))
        if not (isinstance(self.shape, HalfSpace) and off <= across * np.linalg.norm(self.omega)):
            return self
        return _Moving(self.shape, self.start, np.concatenate([self.motion[:6], np.zeros(3)]))

    @property
    def arm(self) -> FloatArray:
        return self.motion[:3]

    @property
    def velocity(self) -> FloatArray:
        return self.motion[3:6]

    @property
    def omega(self) -> FloatArray:
        return self.motion[6:]

    @property
    def turns(self) -> bool:
        return bool(self.omega.any())

    @property
    def radius(self) -> float:
        """Largest distance of a point from the origin of the body, m; infinite for a half-space."""
        return self.shape._reach

    @property
    def about(self) -> float:
        """Bound of the distances of its points from the point that moves straight, m."""
        return float(np.linalg.norm(self.arm)) + self.radius

    @property
    def reach(self) -> float:
        """Bound of the distances of its points from the axis of rotation, m; 0 where it does not turn."""
        speed = float(np.linalg.norm(self.omega))
        if speed == 0.0:
            return 0.0
        across = self.arm - (self.omega @ self.arm) / speed**2 * self.omega
        return float(np.linalg.norm(across)) + self.radius

    def straight(self, time: float) -> FloatArray:
        """Where the point that moves straight is."""
        return self.start[:3, 3] - self.arm + time * self.velocity

    def pose(self, time: float) -> FloatArray:
        out = np.eye(4)
        impact.pose_at(self.start, self.motion, time, out)
        return out

    def support(self, pose: FloatArray, n: FloatArray) -> tuple[float, FloatArray]:
        """Bound of the support function about the origin, and a support point from there, in the axes of the world."""
        if isinstance(self.shape, HalfSpace):
            return 0.0, np.zeros(3)
        local = n @ pose[:3, :3]
        bound = float(self.shape.support_value(local)) + self.shape.support_loss
        return bound, pose[:3, :3] @ self.shape.support(local)


class _Search:
    """Two moving bodies, and what has been asked about them."""

    def __init__(self, a: _Moving, b: _Moving, end: float, tolerance: float) -> None:
        self.a, self.b, self.end = a, b, end
        self.reach_a, self.reach_b = a.reach, b.reach
        # From a half-space that turns, the other body's points move as they are far from its axis.
        apart = max(float(np.linalg.norm(b.straight(t) - a.straight(t))) for t in (0.0, end))
        if self.reach_a == math.inf:
            self.reach_a = apart + b.about
        if self.reach_b == math.inf:
            self.reach_b = apart + a.about
        finite = [body.radius for body in (a, b) if body.radius < math.inf] or [0.0]
        self.radii = finite[0], finite[-1]
        sizes = [body.shape._row[SIZE] for body in (a, b) if body.radius < math.inf] or [0.0]
        ways = [
            end * (float(np.linalg.norm(body.velocity)) + float(np.linalg.norm(body.omega)) * reach)
            for body, reach in ((a, self.reach_a), (b, self.reach_b))
            if body.turns or body.velocity.any()
        ]
        between = float(np.linalg.norm(b.start[:3, 3] - a.start[:3, 3]))
        self.way, self.tolerated = sum(ways), tolerance * min(sizes)
        # Of two half-spaces one that turns comes to the other at once, wherever it is.
        self.is_bounded = math.isfinite(self.way)
        self.rounding = 4.0 * allowance(*self.radii, between + self.way if self.is_bounded else between)
        self.gap = self.tolerated + self.rounding
        self.fine = min(TOLERANCE, 0.1 * tolerance)
        self.floor = impact.FLOOR * self.gap
        turning = sum(
            float(np.linalg.norm(body.omega)) * reach
            for body, reach in ((a, self.reach_a), (b, self.reach_b))
            if body.turns
        )
        self.speed = float(np.linalg.norm(a.velocity - b.velocity)) + turning
        self.solves = self.supports = 0

    def solve(self, time: float, out: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Answer at a time; return the poses there."""
        poses = self.a.pose(time), self.b.pose(time)
        solve_of_kinds(self.a.shape, poses[0], self.b.shape, poses[1], self.fine, out)
        self.solves += 1
        return poses

    def touch(self, time: float, poses: tuple[FloatArray, FloatArray]) -> float:
        """The gap that counts as touch with what rounding takes where the bodies are, not at the end of their ways."""
        between = float(np.linalg.norm(poses[1][:3, 3] - poses[0][:3, 3]))
        way = self.way * time / self.end if self.is_bounded else 0.0
        return self.tolerated + 4.0 * allowance(*self.radii, between + way)

    def separation(self, time: float, n: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Lower bound of the separation along a direction, with the support points from the origins."""
        pose_a, pose_b = self.a.pose(time), self.b.pose(time)
        h_a, x = self.a.support(pose_a, n)
        h_b, y = self.b.support(pose_b, -n)
        offset = pose_b[:3, 3] - pose_a[:3, 3]
        self.supports += 1
        margin = 2.0 * allowance(*self.radii, float(np.linalg.norm(offset)))
        return float(n @ offset) - h_a - h_b - margin, x, y

    def rate(self, time: float, x: FloatArray, y: FloatArray, n: FloatArray) -> float:
        """How fast two points, given from the origins, part along a direction, m/s."""
        of_a = impact.velocity_of(self.a.motion, time, tuple(x.tolist()))
        of_b = impact.velocity_of(self.b.motion, time, tuple(y.tolist()))
        return float(n @ np.array(of_b) - n @ np.array(of_a))

    def direction(self, row: FloatArray, time: float) -> FloatArray | None:
        """The direction to advance along: the normal, that of a half-space where there is one; None where it turns."""
        n = row[NORMAL : NORMAL + 3].copy()
        for body, sign in ((self.a, 1.0), (self.b, -1.0)):
            if isinstance(body.shape, HalfSpace):
                if body.turns:
                    return None
                n = sign * body.pose(time)[:3, 2]
        if isinstance(self.a.shape, HalfSpace) and isinstance(self.b.shape, HalfSpace):
            return None
        return n / np.linalg.norm(n)

    def advance(self, n: FloatArray, time: float) -> float:
        """Time up to which a direction, and those bounds that go with it, prove the bodies apart."""
        s, x, y = self.separation(time, n)
        leave = max(self.gap, impact.NEARER * s)
        motions = self.a.motion, self.b.motion
        along = tuple(n.tolist())
        can = impact.bounds_along(*motions, self.reach_a, self.reach_b, along)
        for _ in range(impact.ALONG_ONE_DIRECTION):
            if not s > self.floor:
                return time
            sure = (s - self.floor) / can.fall if can.fall > 0.0 else math.inf
            if time + sure >= self.end:
                return self.end
            rate = self.rate(time, x, y, n)
            step = self.end - time
            if rate < 0.0:
                step = min(step, (s - impact.AIM * self.gap) / -rate)
            if can.bend > 0.0:
                step = min(step, 2.0 * math.sqrt((s - self.floor) / can.bend))
            ahead = min(time + max(step, sure), self.end)
            step = ahead - time
            if not step > 0.0:
                return time
            s_ahead, x_ahead, y_ahead = self.separation(ahead, n)
            part = max(impact.free_part(s, s_ahead, step, can.bend, self.floor), min(sure, step))
            if part >= step and s_ahead >= self.floor:
                time, s, x, y = ahead, s_ahead, x_ahead, y_ahead
            else:
                time += min(part, step)
                s, x, y = self.separation(time, n)
            if time >= self.end or s <= leave:
                break
        return time

    def overlap_after(self, time: float, row: FloatArray, poses: tuple[FloatArray, FloatArray]) -> float:
        """A time soon after a touch at which an overlap is proved; infinite for none."""
        n = row[NORMAL : NORMAL + 3]
        x, y = row[POINT_A : POINT_A + 3] - poses[0][:3, 3], row[POINT_B : POINT_B + 3] - poses[1][:3, 3]
        rate = self.rate(time, x, y, n)
        if not rate < 0.0:
            return math.inf
        step = (1.5 * max(float(row[DISTANCE]), 0.0) + self.rounding) / -rate
        ahead = np.empty_like(row)
        for _ in range(impact.FORWARD):
            later = min(time + step, self.end)
            self.solve(later, ahead)
            if ahead[UPPER] < 0.0:
                return later
            if later >= self.end:
                break
            step *= 2.0
        return math.inf


def find_impact_of_kinds(
    a: Shape,
    b: Shape,
    starts: tuple[FloatArray, FloatArray],
    motions: tuple[FloatArray, FloatArray],
    end: float,
    tolerance: float,
    max_solves: int,
    out: FloatArray,
) -> tuple[int, float, float, int, int]:
    """`impact.find_impact` for bodies of any kinds; arguments and answer as there."""
    # Two half-spaces oppose each other as far as rotations can be told (`kind_table`), and turn as far as that.
    across = OPPOSED if isinstance(a, HalfSpace) and isinstance(b, HalfSpace) else 0.0
    moving = [_Moving(*one).without_spin(across) for one in ((a, starts[0], motions[0]), (b, starts[1], motions[1]))]
    search = _Search(moving[0], moving[1], end, tolerance)
    time = 0.0
    while True:
        poses = search.solve(time, out)
        if out[UPPER] <= search.gap:
            break
        if time >= end:
            return impact.FREE, end, math.inf, search.solves, search.supports
        later = time
        if search.is_bounded and search.solves < max_solves:
            above = float(out[LOWER]) - search.floor
            if above > 0.0:
                later = time + above / search.speed if search.speed > 0.0 else end
            n = search.direction(out, time)
            if n is not None:
                later = max(later, search.advance(n, time))
        if not later > time:
            return impact.GIVEN_UP, time, math.inf, search.solves, search.supports
        time = min(later, end)
    if out[LOWER] > impact.CLEAR * search.touch(time, poses):
        return impact.GIVEN_UP, time, math.inf, search.solves, search.supports
    if time == 0.0:
        overlap = 0.0 if out[UPPER] < 0.0 else math.inf
        return impact.STARTS_IN_CONTACT, 0.0, overlap, search.solves, search.supports
    overlap = search.overlap_after(time, out, poses)
    status = impact.IMPACT if overlap < math.inf else impact.GRAZE
    return status, time, overlap, search.solves, search.supports
