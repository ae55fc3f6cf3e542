# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random pairs of bodies of all kinds with facing flats: contacts at many points, or nearly so.

A *flat* of a body is a face, an edge or a ruling with its outward normal. Two flats are placed at a gap from 1e-12 to
1, exactly parallel or tilted by 1e-12 to 1e-3 rad, and shifted so that they overlap fully, in part, along an edge, in a
corner, or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from superovoid.shapes import Box, Capsule, Cone, ConvexMesh, Cylinder, HalfSpace, Mesh, Shape, Superovoid
from superovoid.testing.contract import support_value

FloatArray = NDArray[np.float64]
Rng = np.random.Generator

QUARTER_TURNS = Rotation.create_group("O").as_matrix().round()


class FlatPart(NamedTuple):
    """A flat part of a surface, in the frame of its body."""

    normal: FloatArray  # outward
    along: FloatArray  # unit tangent
    middle: FloatArray
    half: tuple[float, float]  # half extents along `along` and across it


class Pair(NamedTuple):
    """Two bodies at their poses."""

    a: Shape
    pose_a: FloatArray
    b: Shape
    pose_b: FloatArray


def _log_uniform(rng: Rng, low: float, high: float) -> float:
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def _size(rng: Rng) -> float:
    return _log_uniform(rng, 0.2, 2.0)


def _sides(half: tuple[float, float, float], rng: Rng) -> FlatPart:
    """Return a side of a box."""
    axis, sign = int(rng.integers(3)), float(rng.choice([-1.0, 1.0]))
    other = [(axis + 1) % 3, (axis + 2) % 3]
    unit = np.eye(3)
    middle = sign * half[axis] * unit[axis]
    return FlatPart(sign * unit[axis], unit[other[0]], middle, (half[other[0]], half[other[1]]))


def _box(rng: Rng) -> tuple[Shape, FlatPart]:
    half = (_size(rng), _size(rng), _size(rng))
    return Box(2.0 * np.array(half)), _sides(half, rng)


def _convex_mesh(rng: Rng) -> tuple[Shape, FlatPart]:
    """Return the convex hull of the vertices of a box or a prism."""
    half = (_size(rng), _size(rng), _size(rng))
    if rng.random() < 0.5:
        corners = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
        return ConvexMesh(corners * half), _sides(half, rng)
    count = int(rng.integers(3, 12))
    angle = 2.0 * math.pi * np.arange(count) / count
    ring = np.stack([half[0] * np.cos(angle), half[1] * np.sin(angle)], axis=1)
    vertices = np.concatenate([np.column_stack([ring, np.full(count, z)]) for z in (-half[2], half[2])])
    sign = float(rng.choice([-1.0, 1.0]))
    return ConvexMesh(vertices), FlatPart(
        np.array([0.0, 0.0, sign]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, sign * half[2]]), half[:2]
    )


def _mesh(rng: Rng) -> tuple[Shape, FlatPart]:
    """Return a non-convex square ring, whose top is a face with a hole."""
    outer, inner, half = _size(rng), 0.0, _size(rng)
    inner = outer * rng.uniform(0.2, 0.8)
    square = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    rings = [(outer, -half), (outer, half), (inner, half), (inner, -half)]
    vertices = np.concatenate([np.column_stack([r * square, np.full(4, z)]) for r, z in rings])
    faces = []
    for k in range(4):
        for i in range(4):
            p, q = 4 * k + i, 4 * k + (i + 1) % 4
            r, s = 4 * ((k + 1) % 4) + i, 4 * ((k + 1) % 4) + (i + 1) % 4
            faces += [(p, q, s), (p, s, r)]
    return Mesh(vertices, faces), FlatPart(
        np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, half]), (outer, outer)
    )


def _cylinder(rng: Rng) -> tuple[Shape, FlatPart]:
    radius, length = _size(rng), 2.0 * _size(rng)
    sign = float(rng.choice([-1.0, 1.0]))
    if rng.random() < 0.6:
        flat = FlatPart(
            np.array([0, 0, sign]), np.array([1.0, 0, 0]), np.array([0, 0, 0.5 * sign * length]), (radius,) * 2
        )
    else:
        flat = FlatPart(
            np.array([sign, 0, 0]), np.array([0, 0, 1.0]), np.array([sign * radius, 0, 0]), (0.5 * length, 0.0)
        )
    return Cylinder(radius, length), flat


def _cone(rng: Rng) -> tuple[Shape, FlatPart]:
    radius, length = _size(rng), 2.0 * _size(rng)
    if rng.random() < 0.6:
        flat = FlatPart(
            np.array([0, 0, -1.0]), np.array([1.0, 0, 0]), np.array([0, 0, -0.5 * length]), (radius, radius)
        )
    else:
        slant = math.hypot(radius, length)
        flat = FlatPart(
            np.array([length / slant, 0.0, radius / slant]),
            np.array([radius / slant, 0.0, -length / slant]),
            np.array([0.5 * radius, 0.0, 0.0]),
            (0.5 * slant, 0.0),
        )
    return Cone(radius, length), flat


def _capsule(rng: Rng) -> tuple[Shape, FlatPart]:
    radius, length = _size(rng), 2.0 * _size(rng)
    return Capsule(radius, length), FlatPart(
        np.array([1.0, 0, 0]), np.array([0, 0, 1.0]), np.array([radius, 0, 0]), (0.5 * length, 0.0)
    )


def _superovoid(rng: Rng) -> tuple[Shape, FlatPart]:
    """Return a box-like or cylinder-like body; with equal tapers its ends are parallel and its sides tilted."""
    half = (_size(rng), _size(rng), _size(rng))
    e1 = _log_uniform(rng, 0.01, 0.5) if rng.random() < 0.8 else 1.0
    e2 = _log_uniform(rng, 0.01, 0.5)
    taper = 0.0 if rng.random() < 0.5 else float(rng.uniform(-0.5, 0.5))
    body = Superovoid(half, section_exponent=e1, profile_exponent=e2, taper=(taper, taper))
    flat = _sides(half, rng)
    if taper != 0.0 or e1 == 1.0:
        axis = int(np.argmax(np.abs(flat.normal)))
        if axis < 2:
            lean = np.array([0.0, 0.0, -half[axis] * taper / half[2]])
            normal = flat.normal + lean
            middle = np.eye(3)[axis] * flat.normal[axis] * half[axis]
            normal /= np.linalg.norm(normal)
            along = np.cross(np.eye(3)[1 - axis], normal)
            flat = FlatPart(
                normal, along / np.linalg.norm(along), middle, (half[2], half[1 - axis] if e1 != 1.0 else 0.0)
            )
    return body, flat


def _plane(rng: Rng) -> tuple[Shape, FlatPart]:
    return HalfSpace(), FlatPart(np.array([0, 0, 1.0]), np.array([1.0, 0, 0]), np.zeros(3), (1.0, 1.0))


MAKERS: dict[str, Callable[[Rng], tuple[Shape, FlatPart]]] = {
    "superovoid": _superovoid,
    "box": _box,
    "cylinder": _cylinder,
    "cone": _cone,
    "capsule": _capsule,
    "convex mesh": _convex_mesh,
    "mesh": _mesh,
    "plane": _plane,
}


def _frame(flat: FlatPart) -> FloatArray:
    """Return the columns tangent, cross tangent, normal."""
    return np.column_stack([flat.along, np.cross(flat.normal, flat.along), flat.normal])


def pair(rng: Rng, kind_a: str, kind_b: str) -> Pair:
    """Place two random flats against each other (see the module docstring)."""
    (a, flat_a), (b, flat_b) = MAKERS[kind_a](rng), MAKERS[kind_b](rng)
    # Frame of B's flat in that of A's: facing it, rotated by a quarter turn or by any angle.
    facing = np.diag([1.0, -1.0, -1.0])
    quarter = rng.random() < 0.6
    angle = 0.5 * math.pi * rng.integers(4) if quarter else rng.uniform(0.0, 2.0 * math.pi)
    cosine, sine = (round(math.cos(angle)), round(math.sin(angle))) if quarter else (math.cos(angle), math.sin(angle))
    spin = np.array([(cosine, -sine, 0.0), (sine, cosine, 0.0), (0.0, 0.0, 1.0)])
    turn = spin @ facing
    if rng.random() < 0.5:
        tilt = rng.normal(size=3) * (1.0, 1.0, 0.0)
        tilt *= _log_uniform(rng, 1e-12, 1e-3) / np.linalg.norm(tilt)
        turn = Rotation.from_rotvec(tilt).as_matrix() @ turn
    # Half extents of B's flat along the axes of A's.
    half_b = np.abs(spin[:2, :2]) @ np.array(flat_b.half)
    shift = np.empty(2)
    for i in range(2):
        both, either = flat_a.half[i] + half_b[i], abs(flat_a.half[i] - half_b[i])
        edge = both * (1.0 + rng.choice([0.0, 1e-14, -1e-14, 1e-9, -1e-9, 1e-4, -1e-4]))
        choices = [0.0, rng.uniform(-either, either), rng.uniform(-both, both), edge, 1.3 * both]
        shift[i] = rng.choice(choices, p=[0.25, 0.2, 0.35, 0.17, 0.03]) * rng.choice([-1.0, 1.0])
    world = QUARTER_TURNS[rng.integers(24)] if rng.random() < 0.5 else Rotation.random(rng=rng).as_matrix()
    n = world[:, 2]
    rotation_a = world @ _frame(flat_a).T
    rotation_b = world @ turn @ _frame(flat_b).T
    kind = rng.integers(5)
    gap = _log_uniform(rng, 1e-12, 1.0)
    gap = (gap, gap, gap, 0.0, -_log_uniform(rng, 1e-12, 0.3))[kind]
    height_a = support_value(a, n @ rotation_a) if not isinstance(a, HalfSpace) else 0.0
    height_b = support_value(b, -n @ rotation_b) if not isinstance(b, HalfSpace) else 0.0
    across = world[:, :2] @ shift - rotation_b @ flat_b.middle + rotation_a @ flat_a.middle
    offset = across - (across @ n) * n + (height_a + height_b + gap) * n
    pose_a, pose_b = np.eye(4), np.eye(4)
    pose_a[:3, :3], pose_b[:3, :3] = rotation_a, rotation_b
    if rng.random() < 0.3:
        pose_a[:3, 3] = rng.normal(size=3) * _log_uniform(rng, 0.1, 10.0)
    pose_b[:3, 3] = pose_a[:3, 3] + offset
    return Pair(a, pose_a, b, pose_b)


_NAMES = list(MAKERS)
# All pairs of kinds in turn, those with superovoids twice as often.
KINDS_IN_TURN = [(p, q) for i, p in enumerate(_NAMES) for q in _NAMES[i:]] + [("superovoid", q) for q in _NAMES]


def draw(seed: int, number: int) -> Pair:
    """Return pair `number` of a sequence that depends only on the seed."""
    kinds = KINDS_IN_TURN[number % len(KINDS_IN_TURN)]
    return pair(np.random.default_rng([seed, number]), *kinds)
