# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Common normals of any two regular quadrics (Sohn et al. 2002, section 8: "any pair of quadric surfaces").

The paper treats ellipsoids in detail and mentions the rest. A central quadric x^2/A + y^2/B + z^2/C = 1, with A, B, C
of any sign, has the normals of eqs. 30 and 31 with A, B, C for the squared radii: their derivation needs no sign. A
paraboloid z = x^2/(2p) + y^2/(2q) has the normal direction (x/p, y/q, -1) at (x, y); for a line (D, M) with D3 != 0 and
K = p D1^2 + q D2^2 this gives

    M1 = -D2 (2q D3^2 + K) / (2 D3^2),    M2 = D1 (2p D3^2 + K) / (2 D3^2),    M3 = (q - p) D1 D2 / D3.

The solver uses the third equation, and D1 times the second less D2 times the first. With Plücker's condition they imply
all three except for D1 = D2 = 0; a test of the feet excludes lines parallel to the axis that are not normals.

The parameters of the other surface are the projective plane (s : u : v), which three squares cover: for a central
quadric with A > 0 the lines through the point (-sqrt(A), 0, 0), as in eq. 13 for the ellipsoid's pole, with
w = s^2 +- u^2 +- v^2 and the signs of B and C; for a paraboloid x = |p| u/s, y = |q| v/s. The parameters of an open
surface include points at infinity (w = 0), which are not feet and are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superovoid_papers.methods.lopes2010 import Quadric
from superovoid_papers.methods.sohn2002.all_normals import Congruence, Feet, sphere_feet, squares_equations
from superovoid_papers.methods.sohn2002.bernstein import Polynomial, common_roots
from superovoid_papers.methods.sohn2002.congruences import POINT, ellipsoid_kind

FloatArray = NDArray[np.float64]

_AT_INFINITY = 1e-10
"""Weights below this share of the coordinates belong to points at infinity."""


_NEARLY = 1e-3
"""Largest distance of a pair of feet from their common normal, relative to lengths, before polishing."""
_POLISHING = 3


class Canonical(NamedTuple):
    """A quadric in its own frame x, with turn x + shift in the given one: A, B, C, or p, q of a paraboloid about z."""

    central: bool
    numbers: tuple[float, ...]
    turn: FloatArray
    shift: FloatArray
    side: float
    """1 or -1: sign of the gradient of the given F relative to that of the canonical one."""

    @property
    def reach(self) -> float:
        """A length of the surface, m."""
        size = max(map(abs, self.numbers))
        return float(np.sqrt(size)) if self.central else size


def canonical(name: str, quadric: Quadric) -> Canonical:
    """Transform a quadric to the form of the module docstring.

    Raises
    ------
    ValueError
        If it is a cylinder or has no real points: the message names the argument and its family.
    """
    squares, linear = np.array(quadric.coefficients), np.array(quadric.linear)
    if squares.all():
        if squares.max() <= 0.0:
            raise ValueError(f"{name} = {quadric!r}: has no real points")
        # The axis of the projection comes first: the longest one that meets the surface.
        first = int(np.argmin(np.where(squares > 0.0, squares, np.inf)))
        turn = np.roll(np.eye(3), first, axis=0)
        return Canonical(True, tuple((1.0 / (turn.T @ squares)).tolist()), turn, np.zeros(3), 1.0)
    axis = np.flatnonzero(squares == 0.0)
    if len(axis) != 1 or linear[axis[0]] == 0.0:
        raise ValueError(f"{name} = {quadric!r}: must be a central quadric or a paraboloid, found a cylinder")
    turn = np.roll(np.eye(3), int(axis[0]) - 2, axis=0)  # makes its axis z
    a1, a2, _ = turn.T @ squares
    slope = linear[axis[0]]
    shift = np.zeros(3)
    shift[axis[0]] = 1.0 / slope
    return Canonical(False, (-0.5 * slope / a1, -0.5 * slope / a2), turn, shift, -float(np.sign(slope)))


class Piece(NamedTuple):
    """A third of a surface over the unit square."""

    x: tuple[Polynomial, Polynomial, Polynomial]
    lines: Congruence


def pieces(quadric: Canonical) -> Iterator[Piece]:
    """Generate homogeneous coordinates and normals of a surface on the three squares of the projective plane."""
    one, a, b = Polynomial([[1.0]]), Polynomial([[-1.0], [1.0]]), Polynomial([[-1.0, 1.0]])
    for s, u, v in ((one, a, b), (a, one, b), (a, b, one)):
        if quadric.central:
            size = np.sqrt(np.abs(quadric.numbers)).tolist()
            signs = np.sign(quadric.numbers).tolist()
            bent = signs[1] * (u * u) + signs[2] * (v * v)
            w = s * s + bent
            x = size[0] * (s * s - bent), (2.0 * size[1]) * (s * u), (2.0 * size[2]) * (s * v)
            d = tuple((1.0 / number) * p for number, p in zip(quadric.numbers, x, strict=True))
        else:
            p, q = quadric.numbers
            w = s * s
            x = abs(p) * (s * u), abs(q) * (s * v), (0.5 * p) * (u * u) + (0.5 * q) * (v * v)
            d = float(np.sign(p)) * u, float(np.sign(q)) * v, -1.0 * s
        m = x[1] * d[2] - x[2] * d[1], x[2] * d[0] - x[0] * d[2], x[0] * d[1] - x[1] * d[0]
        yield Piece(x, Congruence(d, m, w))


def _equations(quadric: Canonical, lines: Congruence) -> tuple[Polynomial, Polynomial]:
    """Return the two equations of a congruence on polynomial lines (W D, M), without factors of W."""
    if quadric.central:
        return squares_equations(_kind(quadric), quadric.numbers, lines)
    (d1, d2, d3), (m1, m2, m3), w = lines.d, lines.m, lines.w
    p, q = quadric.numbers
    first, second, third = d1 * d1, d2 * d2, d3 * d3
    form = p * first + q * second
    turn = (2.0 * p * third + form) * first + (2.0 * q * third + form) * second
    return m3 * d3 - (q - p) * (w * (d1 * d2)), 2.0 * (third * (d1 * m2 - d2 * m1)) - w * turn


def _kind(quadric: Canonical) -> int:
    return ellipsoid_kind(quadric.numbers)


def _feet_along(quadric: Canonical, n: FloatArray) -> Iterator[FloatArray]:
    """Generate the points with a normal along a direction."""
    if quadric.central:
        squares = np.array(quadric.numbers)
        form = float(n @ (squares * n))
        if form > 0.0:
            for sign in (1.0, -1.0):
                yield sign * squares * n / np.sqrt(form)
    elif n[2] != 0.0:
        x, y = -np.array(quadric.numbers) * n[:2] / n[2]
        p, q = quadric.numbers
        yield np.array((x, y, 0.5 * x * x / p + 0.5 * y * y / q))


def quadric_feet(a: Canonical, b: Canonical, rotation: FloatArray, translation: FloatArray) -> tuple[list[Feet], bool]:
    """Return all pairs of feet of common normals of two quadrics in canonical frames; B at a pose in the frame of A."""
    is_ball = [quadric.central and _kind(quadric) == POINT for quadric in (a, b)]
    if is_ball[0] or (b.central and not a.central and not is_ball[1]):
        if all(is_ball):
            radii = (float(np.sqrt(quadric.numbers[0])) for quadric in (a, b))
            return sphere_feet(*radii, translation)
        # A ball's normals have the simpler parametrisation, a central quadric's the simpler equations.
        found, complete = quadric_feet(b, a, rotation.T, -rotation.T @ translation)
        back = [(*(rotation @ v for v in (q, m, p, n)),) for p, n, q, m in found]
        return [(p + translation, n, q + translation, m) for p, n, q, m in back], complete
    feet: list[Feet] = []
    complete = True
    for piece in pieces(b):
        roots = common_roots(*_equations(a, piece.lines.move(rotation, translation)))
        complete &= roots.complete
        for s, t in roots.points[(np.abs(roots.points - 0.5) <= 0.5 + 1e-9).all(axis=1)]:
            x = np.array([float(p(s, t)) for p in piece.x])
            n, w = np.array([float(p(s, t)) for p in piece.lines.d]), float(piece.lines.w(s, t))
            if not abs(w) > _AT_INFINITY * (np.abs(x).max() / b.reach + abs(w)) or not n.any():
                continue
            x = x / w
            x, n = rotation @ x + translation, rotation @ n
            for y in _feet_along(a, n):
                between = x - y
                if np.linalg.norm(np.cross(between, n)) <= _NEARLY * (a.reach + b.reach + np.linalg.norm(between)):
                    feet.append(_polish(a, b, rotation, translation, y, x))
    return feet, complete


def _polish(
    a: Canonical, b: Canonical, rotation: FloatArray, translation: FloatArray, x: FloatArray, y: FloatArray
) -> Feet:
    """Refine feet x on A and y on B by Newton's method on y - x = l grad F_A = m grad F_B, F_A = F_B = 0.

    The parameters of a root near the centre of a projection, or near infinity, are too inaccurate for the feet.
    """
    z = np.concatenate([x, y, np.zeros(2)])
    for step in range(_POLISHING + 1):
        (value_a, g, bend_a), (value_b, h, bend_b) = (
            _surface(a, z[:3]),
            _moved_surface(b, rotation, translation, z[3:6]),
        )
        between = z[3:6] - z[:3]
        if step == 0:
            z[6:] = between @ g / (g @ g), between @ h / (h @ h)
        if step == _POLISHING:
            break
        system = np.zeros((8, 8))
        system[:3, :3], system[:3, 3:6], system[:3, 6] = -np.eye(3) - z[6] * bend_a, np.eye(3), -g
        system[3:6, :3], system[3:6, 3:6], system[3:6, 7] = -np.eye(3), np.eye(3) - z[7] * bend_b, -h
        system[6, :3], system[7, 3:6] = g, h
        right = np.concatenate([between - z[6] * g, between - z[7] * h, (value_a, value_b)])
        z -= np.linalg.lstsq(system, right, rcond=1e-14)[0]
    return z[:3], a.side * g / np.linalg.norm(g), z[3:6], b.side * h / np.linalg.norm(h)


def _surface(quadric: Canonical, x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Return F, its gradient and its Hessian at a point of the canonical frame."""
    squares, linear, constant = np.zeros(3), np.zeros(3), 0.0
    if quadric.central:
        squares, constant = 1.0 / np.array(quadric.numbers), -1.0
    else:
        squares[:2], linear[2] = 0.5 / np.array(quadric.numbers), -1.0
    return float(squares @ (x * x) + linear @ x + constant), 2.0 * squares * x + linear, np.diag(2.0 * squares)


def _moved_surface(
    quadric: Canonical, rotation: FloatArray, translation: FloatArray, x: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return the same for a quadric at a pose."""
    value, gradient, bend = _surface(quadric, rotation.T @ (x - translation))
    return value, rotation @ gradient, rotation @ bend @ rotation.T
