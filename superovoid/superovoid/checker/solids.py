# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Formulas of the other bodies in ball arithmetic, in their own frames: axis z, origin at half height."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from superovoid.checker.balls import Vector, exact_vector, norm, radial_length, subtract
from superovoid.checker.claims import numbers_of
from superovoid.checker.superquadric import EXACT, Segment, Superquadric

FloatArray = NDArray[np.float64]


class Solid(Protocol):
    """The geometry of a body that the checker needs."""

    convex: bool
    """Whether it is proved convex."""
    size: float
    """Length to which tolerances are relative, m."""
    reach: float
    """Upper bound of the distance of any point from the origin, m."""

    def support_above(self, n: Vector) -> arb:
        """Return an upper bound of h(n)."""

    def holds(self, box: Vector) -> bool | None:
        """Return True if all points of a box are proved inside the body, False if all outside, otherwise None."""

    def point_inside(self, point: Vector) -> Vector | None:
        """Return a point of the body near a given point."""

    def support_points(self, n: FloatArray, small: float = EXACT) -> FloatArray:
        """Return points nearly farthest along directions, in doubles, with normals accurate to a slope of `small`."""

    def core(self) -> tuple[Any, arb]:
        """Return a body and a radius such that this body is the set of points within the radius of it."""


def _clamp(value: arb, half: arb) -> arb:
    """Return the midpoint of a ball, clamped to [-half, half]."""
    middle = value.mid()
    if middle > half:
        return half
    return -half if middle < -half else middle


def _is_within(value: arb, most: arb) -> bool | None:
    """Return whether |value| <= most is proved (True), refuted (False) or neither (None)."""
    if value.abs_upper() <= most:
        return True
    return False if value.abs_lower() > most else None


def _conjunction(*answers: bool | None) -> bool | None:
    if all(answer is True for answer in answers):
        return True
    return False if any(answer is False for answer in answers) else None


def _shorten(vector: Vector, most: arb) -> Vector:
    """Return a vector, shortened if necessary so that its length is proved at most `most`."""
    vector = [part.mid() for part in vector]
    length = norm(vector)
    if length <= most:
        return vector
    share = (most / length).lower()
    return [share * part for part in vector]


class _OwnCore:
    """A body equal to its own core."""

    def core(self) -> tuple[Any, arb]:
        """See `Solid`."""
        return self, arb(0)


class Block(_OwnCore):
    """Box about the origin: |x_i| <= a_i, h(n) = sum a_i |n_i|, a_i half the lengths."""

    convex = True

    def __init__(self, lengths: FloatArray) -> None:
        self.half = [length / 2 for length in exact_vector(lengths)]
        half = self.numbers = 0.5 * np.asarray(lengths, dtype=np.float64)
        self.size, self.reach = float(max(half)), 1.000001 * math.hypot(*half)

    def support_above(self, n: Vector) -> arb:
        """See `Solid`."""
        return sum((a * part.abs_upper() for a, part in zip(self.half, n, strict=True)), arb(0))

    def holds(self, box: Vector) -> bool | None:
        """See `Solid`."""
        return _conjunction(*(_is_within(x, a) for a, x in zip(self.half, box, strict=True)))

    def point_inside(self, point: Vector) -> Vector | None:
        """See `Solid`."""
        return [_clamp(x, a) for a, x in zip(self.half, point, strict=True)]

    def support_points(self, n: FloatArray, small: float = EXACT) -> FloatArray:
        """See `Solid`."""
        return np.copysign(self.numbers, n)


class _BodyOfRevolution(_OwnCore):
    """Common parts of bodies of revolution with a radius and a height."""

    convex = True

    def __init__(self, radius: float, length: float) -> None:
        self.radius, self.half = arb(float(radius)), arb(float(length)) / 2
        self.numbers = float(radius), 0.5 * float(length)
        self.size = max(self.numbers)
        self.reach = 1.000001 * math.hypot(*self.numbers)


class Pill(_BodyOfRevolution):
    """Capsule: points within the radius of a segment on z; h(n) = radius |n| + half |n3|."""

    def __init__(self, radius: float, length: float) -> None:
        super().__init__(radius, length)
        self.size = self.reach = sum(self.numbers)

    def core(self) -> tuple[Any, arb]:
        """See `Solid`."""
        return Segment(self.numbers[1]), self.radius

    def support_above(self, n: Vector) -> arb:
        """See `Solid`."""
        return self.radius * norm(n) + self.half * n[2].abs_upper()

    def holds(self, box: Vector) -> bool | None:
        """See `Solid`."""
        beyond = [(each - self.half).max(arb(0)) for each in (box[2].abs_lower(), box[2].abs_upper())]
        square = box[0] ** 2 + box[1] ** 2
        if (square + beyond[1] ** 2).upper() <= self.radius**2:
            return True
        return False if (square + beyond[0] ** 2).lower() > self.radius**2 else None

    def point_inside(self, point: Vector) -> Vector | None:
        """See `Solid`."""
        height = _clamp(point[2], self.half)
        out = _shorten([point[0], point[1], point[2] - height], self.radius)
        return [out[0], out[1], out[2] + height]

    def support_points(self, n: FloatArray, small: float = EXACT) -> FloatArray:
        """See `Solid`."""
        points = self.numbers[0] * n / np.linalg.norm(n, axis=1)[:, None]
        points[:, 2] += np.copysign(self.numbers[1], n[:, 2])
        return points


class Cylinder(_BodyOfRevolution):
    """Cylinder: h(n) = radius |(n1, n2)| + half |n3|."""

    def support_above(self, n: Vector) -> arb:
        """See `Solid`."""
        return self.radius * radial_length(n) + self.half * n[2].abs_upper()

    def holds(self, box: Vector) -> bool | None:
        """See `Solid`."""
        return _conjunction(_is_within(box[2], self.half), _is_within(radial_length(box), self.radius))

    def point_inside(self, point: Vector) -> Vector | None:
        """See `Solid`."""
        x, y, _ = _shorten([point[0], point[1], arb(0)], self.radius)
        return [x, y, _clamp(point[2], self.half)]

    def support_points(self, n: FloatArray, small: float = EXACT) -> FloatArray:
        """See `Solid`."""
        width = np.maximum(np.hypot(n[:, 0], n[:, 1]), 1e-300)
        radius, half = self.numbers
        return np.stack([radius * n[:, 0] / width, radius * n[:, 1] / width, np.copysign(half, n[:, 2])], axis=1)


class Spike(_BodyOfRevolution):
    """Cone with its apex at +half: h(n) = max(half n3, radius |(n1, n2)| - half n3)."""

    def support_above(self, n: Vector) -> arb:
        """See `Solid`."""
        return (self.half * n[2]).max(self.radius * radial_length(n) - self.half * n[2])

    def holds(self, box: Vector) -> bool | None:
        """See `Solid`."""
        width = self.radius * (self.half - box[2]) / (2 * self.half)
        width_here = radial_length(box)
        level = _is_within(box[2], self.half)
        if level and width_here.upper() <= width.lower():
            return True
        return False if level is False or width_here.lower() > width.upper() else None

    def point_inside(self, point: Vector) -> Vector | None:
        """See `Solid`."""
        z = _clamp(point[2], self.half)
        width = (self.radius * (self.half - z) / (2 * self.half)).lower().max(arb(0))
        x, y, _ = _shorten([point[0], point[1], arb(0)], width)
        return [x, y, z]

    def support_points(self, n: FloatArray, small: float = EXACT) -> FloatArray:
        """See `Solid`."""
        radius, half = self.numbers
        width = np.hypot(n[:, 0], n[:, 1])
        safe = np.maximum(width, 1e-300)
        rim = np.stack([radius * n[:, 0] / safe, radius * n[:, 1] / safe, np.full(len(n), -half)], axis=1)
        return np.where((radius * width > 2.0 * half * n[:, 2])[:, None], rim, (0.0, 0.0, half))


class Ring(_OwnCore):
    """Torus: points within the minor radius of a circle about z. Its hull has h(n) = major |(n1, n2)| + minor |n|."""

    convex = False

    def __init__(self, major_radius: float, minor_radius: float) -> None:
        self.major, self.minor = arb(float(major_radius)), arb(float(minor_radius))
        self.numbers = float(major_radius), float(minor_radius)
        self.size = self.reach = sum(self.numbers) * 1.000001

    def support_above(self, n: Vector) -> arb:
        """See `Solid`."""
        return self.major * radial_length(n) + self.minor * norm(n)

    def holds(self, box: Vector) -> bool | None:
        """See `Solid`."""
        beyond = radial_length(box) - self.major
        return _is_within(norm([beyond, box[2], arb(0)]), self.minor)

    def point_inside(self, point: Vector) -> Vector | None:
        """See `Solid`."""
        x, y = point[0].mid(), point[1].mid()
        width = radial_length([x, y])
        if not width > 0:
            return None
        rim = [self.major * x / width, self.major * y / width, arb(0)]
        out = _shorten(subtract(point, rim), self.minor)
        return [out[0] + rim[0], out[1] + rim[1], out[2]]

    def support_points(self, n: FloatArray, small: float = EXACT) -> FloatArray:
        """See `Solid`."""
        width = np.maximum(np.hypot(n[:, 0], n[:, 1]), 1e-300)
        points = self.numbers[1] * n / np.linalg.norm(n, axis=1)[:, None]
        points[:, :2] += self.numbers[0] * n[:, :2] / width[:, None]
        return points


class Corners(_OwnCore):
    """Convex hull of points: h(n) is the largest n . v."""

    convex = True

    def __init__(self, vertices: FloatArray) -> None:
        self.numbers = np.asarray(vertices, dtype=np.float64)
        self.corners = [exact_vector(corner) for corner in self.numbers]
        self.matrix = arb_mat(self.corners)
        self.size = float(np.ptp(self.numbers, axis=0).max() / 2.0)
        self.reach = 1.000001 * float(np.linalg.norm(self.numbers, axis=1).max())

    def support_above(self, n: Vector) -> arb:
        """See `Solid`."""
        heights = (self.matrix * arb_mat([[part] for part in n])).entries()
        return functools.reduce(arb.max, heights)

    def holds(self, box: Vector) -> bool | None:
        """Return None, because the facets of the hull are not computed."""
        return None

    def point_inside(self, point: Vector) -> Vector | None:
        """Return a convex combination of corners, with weights found in doubles; any nonnegative weights are valid."""
        from scipy.optimize import nnls

        scale = self.reach
        target = np.array([float(part) for part in point])
        system = np.vstack([(self.numbers - target).T / scale, np.ones(len(self.numbers))])
        weights = nnls(system, np.array([0.0, 0.0, 0.0, 1.0]))[0]
        chosen = np.flatnonzero(weights > 0.0)
        if not len(chosen):
            return None
        total = sum((arb(float(weights[k])) for k in chosen), arb(0))
        return [
            sum((arb(float(weights[k])) * self.corners[int(k)][i] for k in chosen), arb(0)) / total for i in range(3)
        ]

    def support_points(self, n: FloatArray, small: float = EXACT) -> FloatArray:
        """See `Solid`."""
        return self.numbers[(n @ self.numbers.T).argmax(axis=1)]


class HalfSpace:
    """Points with z <= 0: h(n) is 0 along +z and infinite elsewhere."""

    convex = True
    size = reach = math.inf


def _exponents(body: dict[str, Any]) -> tuple[float, float]:
    return body["section_exponent"], body["profile_exponent"]


_MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "Superovoid": lambda body: Superquadric(body["semi_axes"], _exponents(body), body["taper"]),
    "Superellipsoid": lambda body: Superquadric(body["semi_axes"], _exponents(body)),
    "Ellipsoid": lambda body: Superquadric(body["semi_axes"]),
    "Sphere": lambda body: Superquadric((body["radius"],) * 3),
    "Box": lambda body: Block(body["lengths"]),
    "Capsule": lambda body: Pill(body["radius"], body["length"]),
    "Cylinder": lambda body: Cylinder(body["radius"], body["length"]),
    "Cone": lambda body: Spike(body["radius"], body["length"]),
    "Torus": lambda body: Ring(body["major_radius"], body["minor_radius"]),
    "ConvexMesh": lambda body: Corners(body["vertices"]),
    "HalfSpace": lambda body: HalfSpace(),
}
FIELDS: dict[str, dict[str, tuple[int | None, ...]]] = {
    "Superovoid": {"semi_axes": (3,), "section_exponent": (), "profile_exponent": (), "taper": (2,)},
    "Superellipsoid": {"semi_axes": (3,), "section_exponent": (), "profile_exponent": ()},
    "Ellipsoid": {"semi_axes": (3,)},
    "Sphere": {"radius": ()},
    "Box": {"lengths": (3,)},
    "Capsule": {"radius": (), "length": ()},
    "Cylinder": {"radius": (), "length": ()},
    "Cone": {"radius": (), "length": ()},
    "Torus": {"major_radius": (), "minor_radius": ()},
    "ConvexMesh": {"vertices": (None, 3)},
    "HalfSpace": {},
}
"""Kinds of bodies that can be checked, with their parameters and the parameters' array shapes."""
_ANY_SIGN = ("taper", "vertices")


def solid_of(description: dict[str, Any]) -> Any:
    """Return the formulas of a body described by its kind and parameters.

    Raises
    ------
    ValueError
        If the kind is not in `FIELDS`, or a parameter is missing or invalid.
    """
    kind = description.get("kind")
    if not isinstance(kind, str) or kind not in FIELDS:
        raise ValueError(f"kind = {kind!r}: must be one of {', '.join(FIELDS)}")
    values = {}
    for name, shape in FIELDS[kind].items():
        if name not in description:
            raise ValueError(f"{kind}.{name}: is missing")
        value = numbers_of(f"{kind}.{name}", description[name], shape)
        if name not in _ANY_SIGN and not (value > 0.0).all():
            raise ValueError(f"{kind}.{name} = {description[name]!r}: must be positive")
        values[name] = float(value) if shape == () else value
    return _MAKERS[kind](values)
