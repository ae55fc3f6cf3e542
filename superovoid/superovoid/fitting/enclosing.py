# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compute convex bodies of small volume that together contain a solid.

Planes cut the solid into cells (`cells`), the one in the largest body first, as long as the union has less volume for
it. The logarithm of the volume of a cell's body is minimised by sequential quadratic programming from several
starts, subject to every corner of the cell's hull being inside; only corners near the surface are used as constraints.
Rounding errors and the optimiser's tolerance may leave corners outside, so the body is grown until the engine proves
that it contains every corner (`proofs`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation
from scipy.special import beta, gammaln

from superovoid.fitting import normal_equations as equations
from superovoid.fitting.cells import Cell, best_cut, bulk, points_of, whole_of
from superovoid.fitting.halton import halton
from superovoid.fitting.joint import Bodies, body_in_box, distances_of, permute_axes, principal_box, wedges
from superovoid.fitting.mesh_fits import check_kinds
from superovoid.fitting.proofs import containment_margin
from superovoid.fitting.quality import inside_any
from superovoid.fitting.robot_files import body_from_record, record_of_body
from superovoid.fitting.targets import Target
from superovoid.shapes import Shape

FloatArray = NDArray[np.float64]

_ACTIVE = 0.07  # depth below which corners are constraints, relative to the radius
_FEW_STEPS, _KEPT = 15, 12
_MOST_ROUNDS, _MOST_STEPS = 4, 60
_WORTH_A_CUT = 0.03  # of the volume of a body, which two bodies instead must save
_POINTS, _AROUND = 1 << 16, 0.25  # samples for the volume of a union; margin of their box, relative to its sides
# Rounding of the corners of cut triangles, of axes, and of a pose that is written again, relative to the largest
# coordinate.
_ROUNDED = 1e-12
_GROWTH = 1e-6  # relative to the size; more than the optimiser's tolerance
_EXPONENTS = ((0.5, 0.5), (1.0, 0.4), (0.5, 1.0), (0.2, 0.4))
_TAPERS = (0.0, 0.4, -0.4)  # relative to the convex limit
_LARGER = 1.15  # size relative to the box of most points
_TURNED = 60  # number of starts with random axes
_TURNED_KINDS = (
    (equations.SUPEROVOID, (1.0, 0.1)),
    (equations.SUPEROVOID, (0.5, 0.5)),
    (equations.SUPEROVOID, (1.0, 1.0)),
    (equations.SUPEROVOID, (0.3, 0.7)),
    (equations.WEDGE, (0.5, 1.0)),
)


def enclose(
    target: Target,
    triangles: FloatArray | None = None,
    *,
    bodies: int = 1,
    kinds: str | Sequence[str] = ("superovoid",),
) -> list[tuple[Shape, FloatArray]]:
    """Compute bodies of small volume whose union provably contains a solid.

    Parameters
    ----------
    target : Target
    triangles : (n, 3, 3) ndarray, optional
        Triangles that the bodies must contain as well: those of the solid before its repair.
    bodies : int
        Largest number of bodies. There are fewer if one more would hardly lower the volume of the union.
    kinds : sequence of {"superovoid", "box", "cylinder", "capsule"}
        Allowed kinds; "auto" allows all.

    Returns
    -------
    list of (Shape, (4, 4) ndarray)
        Bodies and their poses. Each contains a cell of the solid (`cells`).

    Raises
    ------
    ValueError
        If a body is not proved to contain its cell.
    """
    chosen = check_kinds(kinds).convex
    held = target.corners if triangles is None else np.concatenate([target.corners, triangles])
    axes = _axes_of(held) if bodies > 1 else np.eye(3)
    volume_of = _union_volumes(held)
    found = [_enclose_cell(whole_of(held @ axes), axes, chosen)]
    volume = volume_of(found)
    while len(found) < bodies and not all(each.is_final for each in found):
        largest = max((each for each in found if not each.is_final), key=lambda each: each.body[0].volume())
        rest = [each for each in found if each is not largest]
        parts = [_enclose_cell(cell, axes, chosen) for cell in best_cut(largest.cell) if len(cell.triangles)]
        less = volume_of([*rest, *parts])
        if less < volume - _WORTH_A_CUT * largest.body[0].volume():
            found, volume = [*rest, *parts], less
        else:
            found = [*rest, largest._replace(is_final=True)]
    return [each.body for each in found]


class _CellInBody(NamedTuple):
    """A cell in a body."""

    cell: Cell
    body: tuple[Shape, FloatArray]
    is_final: bool = False
    """whether no cut of the cell is worth another body"""


def _union_volumes(triangles: FloatArray) -> Callable[[Sequence[_CellInBody]], float]:
    """Return a function that estimates the volume of a union of bodies about a solid, by the same samples each time."""
    low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    margin = _AROUND * float((high - low).max())
    sides = high - low + 2.0 * margin
    points = low - margin + sides * halton(np.random.default_rng(0)).random(_POINTS)
    return lambda found: float(np.prod(sides)) * float(inside_any([each.body for each in found], points).mean())


def _axes_of(triangles: FloatArray) -> FloatArray:
    """Return the axes of the frame, or the principal axes, whichever the first cut across leaves less bulk."""
    choices = np.eye(3), principal_box(np.unique(triangles.reshape(-1, 3), axis=0))[0]
    return min(choices, key=lambda axes: sum(map(bulk, best_cut(whole_of(triangles @ axes)))))


def _enclose_cell(cell: Cell, axes: FloatArray, kinds: tuple[int, ...]) -> _CellInBody:
    """Compute a body of small volume that provably contains a cell, cut along axes."""
    held = points_of(cell) @ axes.T
    centre = 0.5 * (held.min(axis=0) + held.max(axis=0))
    radius = float(np.linalg.norm(held - centre, axis=1).max())
    corners = (_hull_vertices(held) - centre) / radius
    coarse = [_minimize_volume(start, corners, 1, _FEW_STEPS) for kind in kinds for start in _starts(corners, kind)]
    coarse.sort(key=lambda each: each[0])
    fine = [_minimize_volume(bodies, corners, _MOST_ROUNDS, _MOST_STEPS) for _, bodies in coarse[:_KEPT]]
    _, bodies = min(coarse[:1] + fine, key=lambda each: each[0])
    rounding = _ROUNDED * float(np.abs(held).max())
    for _ in range(40):
        # The body as read from a URDF, with its pose as angles.
        shape, pose = body_from_record(record_of_body(*bodies.shapes(radius, centre)[0]))
        margin = containment_margin(shape, pose, held) - rounding
        if margin >= 0.0:
            return _CellInBody(cell, (shape, pose))
        unknowns = bodies.unknowns.copy()
        unknowns[:, :3] += _GROWTH + 2.0 * -margin / radius / np.exp(unknowns[:, :3]).min()
        bodies = Bodies(bodies.kinds, unknowns, bodies.rotations)
    raise ValueError("no body is proved to contain the solid")


def _hull_vertices(points: FloatArray) -> FloatArray:
    """Return the vertices of the convex hull of points; all points if they are flat."""
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except QhullError:
        return points


def _starts(corners: FloatArray, kind: int) -> list[Bodies]:
    axes, half, centre = principal_box(corners)
    growth = np.zeros(equations.PARAMETERS)
    growth[:3] = math.log(_LARGER)
    found = []
    for shift in range(3):
        turned, lengths = permute_axes(axes, half, shift)
        for exponents in _EXPONENTS if kind == equations.SUPEROVOID else _EXPONENTS[:1]:
            for taper in _TAPERS if kind == equations.SUPEROVOID else _TAPERS[:1]:
                start = body_in_box(kind, turned, _LARGER * lengths, centre, exponents)
                start.unknowns[0, 5] = math.asin(taper)
                found.append(start)
    if kind == equations.SUPEROVOID:
        found += [start.apply_step(growth) for start in wedges(corners)]
    for number, rotation in enumerate(Rotation.random(_TURNED, rng=np.random.default_rng(1)).as_matrix()):
        along = corners @ rotation
        low, high = along.min(axis=0), along.max(axis=0)
        each, exponents = _TURNED_KINDS[number % len(_TURNED_KINDS)]
        each = each if kind == equations.SUPEROVOID else kind
        found.append(body_in_box(each, rotation, 0.5 * (high - low), rotation @ (0.5 * (low + high)), exponents))
    return found


def _log_volumes(bodies: Bodies) -> FloatArray:
    """Return the logarithms of the volumes, by the formulas of the shapes (`Superovoid.volume`)."""
    rows = bodies.rows()
    a1, a2, a3 = rows[:, equations.SIZE : equations.SIZE + 3].T
    e1, e2 = rows[:, equations.EXPONENTS : equations.EXPONENTS + 2].T
    tapers = rows[:, equations.TAPERS : equations.TAPERS + 2].prod(axis=1)
    section = np.exp(2.0 * gammaln(1.0 + 0.5 * e1) - gammaln(1.0 + e1))
    layers = 0.5 * e2 * (beta(0.5 * e2, 1.0 + e2) + tapers * beta(1.5 * e2, 1.0 + e2))
    turned = 2.0 * np.pi * a1 * a1
    volumes = {
        equations.BOX: 8.0 * a1 * a2 * a3,
        equations.CYLINDER: turned * a3,
        equations.CAPSULE: turned * (a3 + 2.0 / 3.0 * a1),
    }
    found = 8.0 * a1 * a2 * a3 * section * layers
    for kind, volume in volumes.items():
        found = np.where(bodies.kinds == kind, volume, found)
    return np.asarray(np.log(found))


def _minimize_volume(start: Bodies, corners: FloatArray, rounds: int, steps: int) -> tuple[float, Bodies]:
    """Shrink and grow a start to a body that contains the corners; return the logarithm of its volume and the body."""
    bodies = start
    for _ in range(rounds):
        distance, _ = distances_of(bodies, corners)
        near = distance > -_ACTIVE
        bodies = _shrink(bodies, corners[near], steps)
        if distances_of(bodies, corners)[0].max() <= 1e-7:
            break
    # Grow the body to contain the remaining corners, so that volumes are comparable.
    for _ in range(30):
        worst = float(distances_of(bodies, corners)[0].max())
        if worst <= 0.0:
            break
        unknowns = bodies.unknowns.copy()
        unknowns[:, :3] += 1.5 * worst / np.exp(unknowns[:, :3]).min() + 1e-9
        bodies = Bodies(bodies.kinds, unknowns, bodies.rotations)
    return float(_log_volumes(bodies)[0]), bodies


def _shrink(bodies: Bodies, points: FloatArray, steps: int) -> Bodies:
    used = [0, 2] if bodies.kinds[0] in (equations.CYLINDER, equations.CAPSULE) else [0, 1, 2]
    used += [3, 4, 5] if bodies.kinds[0] in (equations.SUPEROVOID, equations.WEDGE) else []
    used += list(range(6, 12))

    @lru_cache(maxsize=2)
    def body_of(key: bytes) -> tuple[Bodies, float, FloatArray, FloatArray]:
        step = np.zeros(equations.PARAMETERS)
        step[used] = np.frombuffer(key)
        body = bodies.apply_step(step)
        distance, slopes = distances_of(body, points)
        return body, float(_log_volumes(body)[0]), -distance, -slopes[:, used]

    def at(x: FloatArray) -> tuple[Bodies, float, FloatArray, FloatArray]:
        """The body, its logarithm of volume, the depths of the points and their derivatives."""
        return body_of(x.tobytes())

    def slope(x: FloatArray) -> FloatArray:
        # Rotation and centre do not change the volume.
        here, found = at(x)[0], np.zeros(len(used))
        sized = [i for i, name in enumerate(used) if name < 6]
        steps = 1e-6 * np.eye(equations.PARAMETERS)[[used[i] for i in sized]]
        unknowns = np.concatenate([here.unknowns + steps, here.unknowns - steps])
        ahead, behind = _log_volumes(Bodies(
            np.repeat(here.kinds, 2 * len(sized)), unknowns, np.repeat(here.rotations, 2 * len(sized), axis=0)
        )).reshape(2, -1)  # fmt: skip
        found[sized] = (ahead - behind) / 2e-6
        return found

    constraint = {
        "type": "ineq",
        "fun": lambda x: at(x)[2],
        "jac": lambda x: at(x)[3],
    }
    limits = [(-1.0, 1.0)] * len(used)
    found = minimize(
        lambda x: at(x)[1], np.zeros(len(used)), jac=slope, bounds=limits, constraints=[constraint], method="SLSQP",
        options={"maxiter": steps, "ftol": 1e-7},
    )  # fmt: skip
    return at(found.x)[0] if np.isfinite(found.x).all() else bodies
