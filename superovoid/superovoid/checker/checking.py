# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Check an answer for two bodies at their poses: accepted, refuted or undecided, with a proof of each verdict."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from superovoid.checker import balls
from superovoid.checker.balls import Vector
from superovoid.checker.claims import ACCEPTED, REFUTED, UNDECIDED, Answer, Check, ExportedProof, Finding
from superovoid.checker.direction_cover import Points, cover
from superovoid.checker.exported import RelativePair, TreeCheck, cones_reach, pieces_apart
from superovoid.checker.solids import HalfSpace, solid_of
from superovoid.checker.superquadric import EXACT

FloatArray = NDArray[np.float64]

_EPS = 2.0**-52
_ASCENT = 30  # steps of an ascent of g, in doubles
_UNIT = arb(1e-12)  # allowed error of a normal
_NO_TOLERANCE = "sizes, coordinates or the tolerance are too large for a tolerance in m"
_CUTS = 150  # cuts of a polygon of directions; each leaves at most 1 - 1/e of the area


class Pair:
    """Two bodies at their poses, in balls and in doubles, with the origin of A and world axes."""

    def __init__(self, a: dict[str, Any], pose_a: FloatArray, b: dict[str, Any], pose_b: FloatArray) -> None:
        self.solids = solid_of(a), solid_of(b)
        self.turns = balls.nearest_rotation(pose_a[:3, :3]), balls.nearest_rotation(pose_b[:3, :3])
        self.places = balls.exact_vector(pose_a[:3, 3]), balls.exact_vector(pose_b[:3, 3])
        self.offset = balls.subtract(self.places[1], self.places[0])
        self.matrices = [np.array([[float(v) for v in row] for row in turn]) for turn in self.turns]
        self.shift = np.array([float(v) for v in self.offset])
        finite = [solid.size for solid in self.solids if math.isfinite(solid.size)]
        self.unit = min(finite, default=1.0)
        self.scale = sum(s.reach for s in self.solids if math.isfinite(s.reach)) + float(np.linalg.norm(self.shift))
        self.far = float(max(np.abs(pose_a[:3, 3]).max(), np.abs(pose_b[:3, 3]).max()))

    def with_cores(self) -> Pair:
        """Return the pair of the bodies' cores."""
        other = copy.copy(self)
        other.solids = tuple(solid.core()[0] for solid in self.solids)
        return other

    def core_radius(self) -> arb:
        """Return the sum of the radii of the bodies around their cores."""
        return self.solids[0].core()[1] + self.solids[1].core()[1]

    def to_body(self, side: int, world: FloatArray) -> Vector:
        """Transform a world point to the frame of a body."""
        return balls.rotate_back(self.turns[side], balls.subtract(balls.exact_vector(world), self.places[side]))

    def to_world_axes(self, side: int, local: Vector) -> Vector:
        """Transform a point of a body to world axes, relative to A's origin."""
        point = balls.rotate(self.turns[side], local)
        return balls.add(point, self.offset) if side else point

    def separation(self, n: FloatArray) -> arb:
        """Return a lower bound of g(n) = n . c - h_A(n) - h_B(-n) for the unit vector along n.

        For x in A, y in B and a unit n, n . (y - x) >= g(n). If g(n) > 0, no points are closer than that; otherwise
        the translation of B by -g(n) along n leaves no common inner points, so the depth is at most -g(n). In both
        cases g(n) is at most the signed distance, for bodies of any shape.
        """
        along = balls.exact_vector(n)
        a, b = self.solids
        h_a = a.support_above(balls.rotate_back(self.turns[0], along))
        h_b = b.support_above(balls.rotate_back(self.turns[1], balls.multiply(arb(-1), along)))
        return (balls.dot(along, self.offset) - h_a - h_b) / balls.norm(along)

    # -- candidates in doubles; every result is verified in balls -----------------------------------------------------

    def points_at(self, n: FloatArray, small: float = EXACT) -> tuple[FloatArray, FloatArray]:
        """Return points of both bodies, each in its own frame, nearly closest to each other along directions (k, 3)."""
        return tuple(
            solid.support_points(sign * n @ matrix, small)
            for solid, matrix, sign in zip(self.solids, self.matrices, (1.0, -1.0), strict=True)
        )

    def difference(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return x - y in world axes, row by row."""
        return x @ self.matrices[0].T - y @ self.matrices[1].T - self.shift

    def difference_inside(self, x: FloatArray, y: FloatArray) -> Vector | None:
        """Return an enclosure of x - y for one point of each body, after moving both inside; None if that fails."""
        points = self.points_inside(balls.exact_vector(x), balls.exact_vector(y))
        return None if points is None else balls.subtract(*points)

    def points_inside(self, x: Vector, y: Vector) -> tuple[Vector, Vector] | None:
        """Return points proved to belong to the bodies near given points of their frames, relative to A's origin."""
        inside = [solid.point_inside(point) for solid, point in zip(self.solids, (x, y), strict=True)]
        if inside[0] is None or inside[1] is None:
            return None
        return self.to_world_axes(0, inside[0]), self.to_world_axes(1, inside[1])

    def _value(self, n: FloatArray) -> tuple[float, FloatArray]:
        """Return g along a unit vector, and the vector from the support point of A to that of B."""
        u = -self.difference(*self.points_at(n[None]))[0]
        return float(n @ u), u

    def ascend(self, n: FloatArray) -> FloatArray:
        """Return a direction with a larger g, by gradient steps on the sphere that grow while they succeed."""
        n = n / np.linalg.norm(n)
        g, u = self._value(n)
        step = 1.0 / self.scale
        for _ in range(_ASCENT):
            trial = n + step * (u - (u @ n) * n)
            trial /= np.linalg.norm(trial)
            found, there = self._value(trial)
            if found > g:
                n, g, u, step = trial, found, there, 2.0 * step
            else:
                step *= 0.25
        return n

    def sharpen(self, n: FloatArray, width: float) -> FloatArray:
        """Return a nearby direction with a larger g, even at kinks, by the method of centres of gravity (Levin 1965).

        In the tangent plane of the sphere, the gradient at a point shows on which side of it the maximum lies, since g
        is quasiconcave where positive. A polygon around the maximum is repeatedly cut through its centroid.
        """
        first = n / np.linalg.norm(n)
        axis = np.eye(3)[np.abs(first).argmin()]
        t1 = np.cross(first, axis)
        t1 /= np.linalg.norm(t1)
        t2 = np.cross(first, t1)
        best, best_g = first, self._value(first)[0]
        polygon = width * np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
        for _ in range(_CUTS):
            centre = _centroid(polygon)
            trial = first + centre[0] * t1 + centre[1] * t2
            trial /= np.linalg.norm(trial)
            g, u = self._value(trial)
            if g >= best_g:
                best, best_g = trial, g
            across = u - g * trial
            polygon = _clip(polygon, centre, np.array([across @ t1, across @ t2]))
            if len(polygon) < 3 or np.ptp(polygon, axis=0).max() < 1e-17:
                break
        return best


def _centroid(polygon: FloatArray) -> FloatArray:
    """Return the centroid of a convex polygon; of its corners if it has no area."""
    x, y = polygon.T - polygon[0][:, None]
    area = x * np.roll(y, -1) - np.roll(x, -1) * y
    total = area.sum()
    if not abs(total) > 1e-300:
        return polygon.mean(axis=0)
    moments = [((part + np.roll(part, -1)) * area).sum() for part in (x, y)]
    return polygon[0] + np.array(moments) / (3.0 * total)


def _clip(polygon: FloatArray, point: FloatArray, along: FloatArray) -> FloatArray:
    """Return the part of a convex polygon on one side of a line through a point."""
    height = (polygon - point) @ along
    kept = []
    for i, (corner, h) in enumerate(zip(polygon, height, strict=True)):
        k = (i + 1) % len(polygon)
        if h >= 0.0:
            kept.append(corner)
        if (h < 0.0) != (height[k] < 0.0):
            kept.append(corner + h / (h - height[k]) * (polygon[k] - corner))
    return np.array(kept)


class _Checker:
    """The proved interval of one pair, narrowed until it decides the claim."""

    def __init__(self, pair: Pair, answer: Answer, exported: ExportedProof | None) -> None:
        self.pair, self.answer, self.exported = pair, answer, exported
        self.certificate = Finding(UNDECIDED, "not needed" if exported else "there is none")
        self.lower, self.upper = -math.inf, math.inf
        self.why: list[str] = []
        self.cones = 0
        self.local = [pair.to_body(side, point) for side, point in enumerate((answer.point_a, answer.point_b))]

    # -- bounds -----------------------------------------------------------------------------------------------------

    def raise_lower(self, n: FloatArray) -> None:
        """Update the lower bound with a direction."""
        if np.isfinite(n).all() and np.linalg.norm(n) > 0.0:
            self.lower = max(self.lower, balls.lower_bound(self.pair.separation(n)))

    def lower_upper(self, x: Vector, y: Vector) -> None:
        """Update the upper bound with the distance of a point of each body."""
        points = self.pair.points_inside(x, y)
        if points is not None:
            self.upper = min(self.upper, balls.upper_bound(balls.norm(balls.subtract(points[1], points[0]))))

    def lower_upper_by_common_point(self) -> None:
        """Set the upper bound to 0 if the midpoint of the answer's points belongs to both bodies."""
        points = [self.pair.to_world_axes(side, point) for side, point in enumerate(self.local)]
        middle = balls.multiply(arb(0.5), balls.add(*points))
        if all(
            solid.holds(balls.rotate_back(turn, balls.subtract(middle, place))) is True
            for solid, turn, place in zip(
                self.pair.solids, self.pair.turns, ([arb(0)] * 3, self.pair.offset), strict=True
            )
        ):
            self.upper = min(self.upper, 0.0)

    def bound_below(self) -> None:
        """Update the lower bound with the answer's normal, the line between its points, and an ascent from these."""
        wanted, normal = self.answer.lower, self.answer.normal
        self.raise_lower(normal)
        if self.lower >= wanted:
            return
        u = self.answer.point_b - self.answer.point_a
        self.raise_lower(u if self.answer.distance > 0.0 else -u)
        if self.lower >= wanted or not (np.isfinite(normal).all() and np.linalg.norm(normal) > 0.0):
            return
        self.bound_below_by_pieces()
        if self.lower >= wanted:
            return
        for width in (1e-6, 1e-2) if all(solid.convex for solid in self.pair.solids) else (1e-6,):
            self.raise_lower(self.pair.sharpen(normal, width))
            if self.lower >= wanted:
                return
        if all(solid.convex for solid in self.pair.solids):
            self.raise_lower(self.pair.sharpen(self.pair.ascend(normal), 1e-2))

    def bound_above_apart(self) -> None:
        """Update the upper bound with the answer's points, and with support points of its normal."""
        self.lower_upper(*self.local)
        if self.upper > self.answer.upper:
            self.lower_upper_by_common_point()
        if self.upper <= self.answer.upper:
            return
        normal = self.answer.normal
        if np.isfinite(normal).all() and np.linalg.norm(normal) > 0.0:
            x, y = self.pair.points_at(normal[None] / np.linalg.norm(normal))
            self.lower_upper(balls.exact_vector(x[0]), balls.exact_vector(y[0]))

    def bound_above_overlapping(self, claimed: float) -> None:
        """Update the upper bound for overlapping convex bodies with a cover of all directions at depth -claimed."""
        pair = self.pair
        if not all(solid.convex for solid in pair.solids):
            self.why.append("a body is not proved convex, so there is no lower bound of the depth")
            return
        cores = pair.with_cores()
        radius = pair.core_radius()
        if claimed == self.answer.upper and self.exported is not None and self.exported.cones:
            related = RelativePair.from_solids(cores.solids, cores.turns, cores.offset)
            if self._record_certificate(cones_reach(related, self.exported, -arb(claimed) - radius)):
                self.upper = min(self.upper, claimed)
                return
        # h of the cores is h minus the radii times |n|.
        found = cover(
            Points(
                cores.points_at,
                cores.difference,
                cores.difference_inside,
                lambda n: balls.lower_bound(pair.separation(n)) > claimed,
            ),
            -arb(claimed) - radius,
            tuple(np.array([float(v) for v in point]) for point in self.local),
            pair.scale,
        )
        self.cones += found.cones
        if found.proved:
            self.upper = min(self.upper, claimed)
            return
        if found.direction is not None:
            self.raise_lower(found.direction)
            if self.lower <= claimed:
                self.raise_lower(pair.sharpen(pair.ascend(found.direction), 1e-3))
        if self.lower <= claimed:
            self.why.append("the cover of all directions is incomplete")

    def _record_certificate(self, part: TreeCheck) -> bool:
        """Record the result of checking the certificate, and return whether it is proved."""
        self.cones += part.parts
        self.certificate = Finding(ACCEPTED if part.proved else UNDECIDED, part.why)
        return part.proved

    def bound_below_by_pieces(self) -> None:
        """Update the lower bound with the pieces of the certificate."""
        pair, answer = self.pair, self.answer
        if self.exported is None or not self.exported.pieces or answer.lower <= 0.0:
            return
        related = RelativePair.from_solids(pair.solids, pair.turns, pair.offset)
        if self._record_certificate(pieces_apart(related, self.exported, answer.lower)):
            self.lower = max(self.lower, answer.lower)

    def run(self) -> None:
        """Narrow the proved interval."""
        answer = self.answer
        if any(isinstance(solid, HalfSpace) for solid in self.pair.solids):
            self._bound_by_plane()
            return
        self.bound_below()
        if answer.upper >= 0.0 or answer.lower > 0.0:
            self.bound_above_apart()
        if answer.upper < 0.0 and self.lower <= answer.upper:
            self.bound_above_overlapping(answer.upper)
        if answer.lower <= 0.0 and self.lower < answer.lower and self.lower < 0.0 and self.upper >= answer.lower:
            # The depth may be larger than claimed; try to prove a cover between the claim and the bound reached.
            self.bound_above_overlapping(0.5 * (answer.lower + min(self.lower, 0.0)))
        if self.lower < answer.lower:
            self.why.append("no direction proves the lower end")

    def _bound_by_plane(self) -> None:
        """Bound the signed distance of a half-space and a body: the height of the body's lowest point."""
        pair = self.pair
        sides = [isinstance(solid, HalfSpace) for solid in pair.solids]
        if all(sides):
            self.why.append("two half-spaces are not checked")
            return
        plane, other = (0, 1) if sides[0] else (1, 0)
        up = [row[2] for row in pair.turns[plane]]
        across = balls.subtract(pair.places[other], pair.places[plane])
        down = balls.multiply(arb(-1), balls.rotate_back(pair.turns[other], up))
        length = balls.norm(up)
        self.lower = balls.lower_bound((balls.dot(up, across) - pair.solids[other].support_above(down)) / length)
        lowest = pair.solids[other].support_points(np.array([[float(v) for v in down]]))[0]
        for point in (balls.exact_vector(lowest), self.local[other]):
            inside = pair.solids[other].point_inside(point)
            if inside is not None and all(v.is_finite() for v in inside):
                height = balls.dot(up, balls.add(balls.rotate(pair.turns[other], inside), across)) / length
                self.upper = min(self.upper, balls.upper_bound(height))

    # -- findings ---------------------------------------------------------------------------------------------------

    def interval(self) -> Finding:
        """Judge whether the claimed interval contains the true distance."""
        answer = self.answer
        ends = (answer.lower, answer.distance, answer.upper)
        if any(map(math.isnan, ends)) or not answer.lower <= answer.distance <= answer.upper:
            return Finding(REFUTED, f"not lower <= distance <= upper: {ends}")
        if self.lower > answer.upper:
            return Finding(REFUTED, f"the signed distance is at least {self.lower!r}, above upper = {answer.upper!r}")
        if self.upper < answer.lower:
            return Finding(REFUTED, f"the signed distance is at most {self.upper!r}, below lower = {answer.lower!r}")
        if answer.lower <= self.lower and self.upper <= answer.upper:
            return Finding(ACCEPTED, "")
        return Finding(UNDECIDED, "; ".join(self.why) or "the proved bounds do not decide it")

    def points(self) -> Finding:
        """Judge whether the points lie on the surfaces and realise the interval.

        docs/explanation/numerics.md, section 2, has the conditions.
        """
        pair, allowed = self.pair, self.allowance()
        if not math.isfinite(allowed):
            return Finding(UNDECIDED, _NO_TOLERANCE)
        verdict, text = ACCEPTED, ""
        for name, side in (("point_a", 0), ("point_b", 1)):
            if isinstance(pair.solids[side], HalfSpace):
                height = abs(self.local[side][2])
                on = True if height <= allowed else False if height > allowed else None
            else:
                on = self._on_surface(side, allowed)
            if on is False:
                return Finding(REFUTED, f"{name} is farther than {allowed:.3g} m from the surface")
            if on is None:
                verdict, text = UNDECIDED, f"{name}: undecided whether it is within {allowed:.3g} m of the surface"
        offset = self._offset(allowed)
        return offset if offset.verdict != ACCEPTED else Finding(verdict, text)

    def _offset(self, allowed: float) -> Finding:
        """Judge whether u = point_b - point_a realises the interval along the normal.

        docs/explanation/numerics.md, section 2, has the conditions.
        """
        answer = self.answer
        u, n = (
            balls.subtract(balls.exact_vector(answer.point_b), balls.exact_vector(answer.point_a)),
            balls.exact_vector(answer.normal),
        )
        width = max(answer.upper - answer.lower, 0.0)
        # Each value is positive if the points violate the named condition.
        if answer.distance > 0.0:
            length, along = balls.norm(u), balls.dot(n, u).max(arb(0))
            # n . u >= lower and |u| <= upper bound the part of u across the normal by sqrt(upper^2 - lower^2).
            middle = 0.5 * max(answer.upper, 0.0) + 0.5 * max(answer.lower, 0.0)
            most = 10.0 * allowed + math.sqrt(2.0) * math.sqrt(width) * math.sqrt(middle)
            excess = {
                "closer than lower": arb(answer.lower) - allowed - length,
                "farther apart than upper": length - answer.upper - allowed,
                "off the normal": balls.norm(balls.subtract(u, balls.multiply(along, n))) - most,
            }
        else:
            off = balls.norm(balls.subtract(u, balls.multiply(arb(answer.distance), n)))
            excess = {"not the distance along the normal apart": off - max(10.0 * allowed, width + allowed)}
        for what, value in excess.items():
            if value > 0:
                return Finding(REFUTED, f"the points are {what}, by {float(value):.3g} m more than the tolerance")
            if not value <= 0:
                return Finding(UNDECIDED, f"undecided whether the points are {what}")
        return Finding(ACCEPTED, "")

    def _on_surface(self, side: int, allowed: float) -> bool | None:
        """Return whether the surface is within a distance of a point of the answer; None if undecided.

        If the ball around the point contains one point inside the body and one outside, the surface passes between
        them; a point x is outside if n . x > h(n). If the cube around the ball is entirely inside or outside the body,
        or n . x - h(n) exceeds the distance, the surface is farther away.
        """
        solid, point = self.pair.solids[side], self.local[side]
        if not all(v.is_finite() for v in point):
            return False
        if solid.holds([v + arb(0, 1) * arb(allowed) for v in point]) is not None:
            return False
        outward = self.answer.normal if side == 0 else -self.answer.normal
        away = balls.rotate_back(self.pair.turns[side], balls.exact_vector(outward))
        most = arb(allowed)
        reach = most * arb(0.999)
        beyond = [p + reach * w for p, w in zip(point, away, strict=True)]
        outside = balls.dot(away, beyond) > solid.support_above(away) or solid.holds(beyond) is False
        inside = solid.point_inside(point)
        near = inside is not None and bool(balls.norm(balls.subtract(inside, point)) <= most)
        if near and outside:
            return True
        # The direction proves the point farther outside than allowed.
        if balls.dot(away, point) - most * balls.norm(away) > solid.support_above(away):
            return False
        return None

    def normal(self) -> Finding:
        """Judge whether the normal is that of a half-space, or is a unit vector that proves the lower end."""
        answer, pair = self.answer, self.pair
        along = balls.exact_vector(answer.normal)
        length = balls.norm(along)
        if not abs(length - 1) <= _UNIT:
            return Finding(REFUTED, f"the normal has the length {float(length)!r}")
        for solid, turn, sign in zip(pair.solids, pair.turns, (1, -1), strict=True):
            if isinstance(solid, HalfSpace):
                off = balls.norm([part - sign * row[2] for part, row in zip(along, turn, strict=True)])
                if off <= _UNIT:
                    return Finding(ACCEPTED, "")
                return Finding(REFUTED, f"the normal is {float(off):.3g} off that of the half-space")
        allowed = self.allowance()
        if not math.isfinite(allowed):
            return Finding(UNDECIDED, _NO_TOLERANCE)
        if not all(solid.convex for solid in pair.solids):
            return self._normal_at_touch(allowed)
        own = pair.separation(answer.normal)
        if own >= arb(answer.lower) - allowed:
            return Finding(ACCEPTED, "")
        # Bound g from above by the support points found in doubles, moved inside the bodies.
        x, y = pair.points_at(answer.normal[None])
        m = pair.difference_inside(x[0], y[0])
        if m is not None:
            most = -balls.dot(along, m) / length
            if most < arb(answer.lower) - allowed:
                return Finding(
                    REFUTED, f"the normal proves at most {balls.upper_bound(most)!r}, not lower = {answer.lower!r}"
                )
        return Finding(UNDECIDED, "undecided whether the normal proves lower")

    def _normal_at_touch(self, allowed: float) -> Finding:
        """Refute the normal if a convex body extends farther along it than the body's touching point.

        If a body is non-convex, a normal proves nothing more.
        """
        answer, pair = self.answer, self.pair
        narrow = answer.upper - answer.lower <= answer.rtol * pair.unit
        if answer.lower <= 0.0 <= answer.upper and narrow:
            for side, solid in enumerate(pair.solids):
                outward = answer.normal if side == 0 else -answer.normal
                away = balls.rotate_back(pair.turns[side], balls.exact_vector(outward))
                beyond = solid.point_inside(
                    balls.exact_vector(solid.support_points(np.array([[float(v) for v in away]]))[0])
                )
                if not solid.convex or beyond is None:
                    continue
                short = balls.dot(away, balls.subtract(beyond, self.local[side]))
                if short > 10.0 * allowed:
                    return Finding(
                        REFUTED, f"a convex body extends {float(short):.3g} m beyond its point along the normal"
                    )
        return Finding(UNDECIDED, "not judged, because a body is not convex")

    def allowance(self) -> float:
        """Return the allowed error of points and normal, m: the tolerance plus the rounding of coordinates."""
        rounding = 64.0 * _EPS * (self.pair.scale + self.pair.far)
        return self.answer.rtol * self.pair.unit + rounding


def check(
    a: dict[str, Any],
    pose_a: FloatArray,
    b: dict[str, Any],
    pose_b: FloatArray,
    answer: Answer,
    exported: ExportedProof | None = None,
) -> Check:
    """Judge one answer; see `superovoid.checker.verify` for the public function."""
    with balls.precision(), np.errstate(all="ignore"):
        pair = Pair(a, pose_a, b, pose_b)
        checker = _Checker(pair, answer, exported)
        interval = Finding(REFUTED, "a number is not finite") if not answer.finite else None
        if interval is None:
            checker.run()
            interval = checker.interval()
            points, normal = checker.points(), checker.normal()
        else:
            points = normal = Finding(UNDECIDED, "")
    findings = interval, points, normal, checker.certificate
    return Check.from_findings(findings, answer, (checker.lower, checker.upper), checker.cones)
