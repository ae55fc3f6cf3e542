# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public interface of the schemes of Gonçalves et al. 2017."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.contact import Status
from superovoid.shapes import Superovoid
from superovoid.shapes.poses import as_poses
from superovoid.values.records import Statistics
from superovoid_papers.methods.goncalves2017 import broad_phase, first_guess, newton_schemes, superovoid_surface
from superovoid_papers.methods.result import MethodResult

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-6
MAX_ITERATIONS = 30
LEVELS = 6
OCTREE_LEVELS = 4

_SCHEMES = {
    "quadImplicit": (superovoid_surface.IMPLICIT, first_guess.QUADTREE),
    "quadParametric": (superovoid_surface.PARAMETRIC, first_guess.QUADTREE),
    "ntbParametric": (superovoid_surface.NTB, first_guess.QUADTREE),
    "octImplicit": (superovoid_surface.IMPLICIT, first_guess.OCTREE),
}
SCHEMES = tuple(_SCHEMES)
"""Names of the schemes, as the paper's."""


@dataclass(frozen=True, eq=False, repr=False)
class GoncalvesResult(MethodResult):
    """Answer of a scheme; `statistics.iterations` counts those of Newton's method."""

    unknowns: FloatArray
    """The last q: local coordinates of the two points, shape (6,), m, eq. (16), or their angles, shape (4,), rad, eq.
    (19). A later query of the same representation may start from it."""


def _choice(name: str, value: Any, choices: Sequence[str]) -> str:
    if value not in choices:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(choices)}")
    return value


def _count(name: str, value: Any, lowest: int, highest: int) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not lowest <= value <= highest:
        raise ValueError(f"{name} = {value!r}: must be an integer from {lowest} to {highest}")
    return int(value)


def _superovoid(name: str, body: Any) -> Superovoid:
    if not isinstance(body, Superovoid):
        raise TypeError(f"{name}: must be a Superovoid, found {type(body).__name__}")
    return body


def _row(body: Superovoid, specific: bool = False, printed: bool = False) -> FloatArray:
    row = np.zeros(superovoid_surface.ROW_LENGTH)
    row[superovoid_surface.PRINTED] = printed
    row[: superovoid_surface.SPECIFIC] = *body.semi_axes, body.section_exponent, body.profile_exponent, *body.taper
    row[superovoid_surface.SPECIFIC] = specific and body.taper == (0.0, 0.0)
    (a1, a2, a3), (tx, ty) = body.semi_axes, body.taper
    row[superovoid_surface.CUBE] = max(a1 * (1.0 + abs(tx)), a2 * (1.0 + abs(ty)), a3)
    return row


def _add_bounds(row: FloatArray, body: Superovoid) -> None:
    sphere, box = body.bounding_sphere(), body.obb()
    row[superovoid_surface.SPHERE_Z], row[superovoid_surface.SPHERE_RADIUS] = sphere.centre[2], sphere.radius
    row[superovoid_surface.BOX : superovoid_surface.BOX_HALF] = box.centre
    row[superovoid_surface.BOX_HALF : superovoid_surface.CUBE] = box.half_extents


class Pairs:
    """Many pairs of bodies in arrays, and compiled loops over ranges of them, one call each.

    Parameters
    ----------
    shapes_a, shapes_b : sequence of Superovoid
        The bodies of each pair.
    poses_a, poses_b : (n, 4, 4) array_like
        Poses, body to world, m. They are copied; write new poses to the attributes `poses_a` and `poses_b`.
    scheme : str
        One of `SCHEMES`.
    jacobian : {'differences', 'analytic'}
        Forward differences as in the paper, or analytic derivatives, as its section 7 suggests.
    levels : int
        Levels of the quadtree, 1 to 24.
    adaptive : bool
        If true, halve the quadtree's cells by the angle of the normal, not of the point (section 7).
    octree_levels : int
        Levels of the octrees of octImplicit, 1 to 7: 8^levels cells.
    formulas : {'general', 'specific'}
        With 'specific', bodies without taper use the shorter formulas of the superellipsoid.
    vectors : {'unit', 'printed'}
        Normals and tangents in (15) and (18): unit vectors as in the authors' program, or with the lengths of (6),
        (11), (12) and the cross product of those, even without taper. Roots are the same, iterates differ.
    gain : float
        Applied share of Newton's step, in (0, 1], until the step is within the tolerance. 1 is eq. (17); less is
        Baumgarte's term (section 6.1), which needs more iterations.
    atol : float
        Largest length of the last Newton step: m for (16), rad for (19).
    max_iterations : int
        Largest number of Newton steps.

    Attributes
    ----------
    unknowns : (n, 6) ndarray
        Starting points and results of Newton's method; the parametric schemes use four columns.
    out : (n, 12) ndarray
        Results; columns `DISTANCE`, `POINT_A` and the two after it, `POINT_B`, `NORMAL`, `CONVERGED`, `ITERATIONS`.
    near, warm : (n,) ndarray of bool
        Rows that `cull` keeps; rows with a last answer to start from.

    Raises
    ------
    ValueError
        If an argument is invalid, or a body's octree has no filled cell; the message names it.
    TypeError
        If a shape is not a superovoid.
    """

    def __init__(
        self,
        shapes_a: Sequence[Superovoid],
        poses_a: ArrayLike,
        shapes_b: Sequence[Superovoid],
        poses_b: ArrayLike,
        *,
        scheme: str = "quadImplicit",
        jacobian: str = "differences",
        levels: int = LEVELS,
        adaptive: bool = False,
        octree_levels: int = OCTREE_LEVELS,
        formulas: str = "general",
        vectors: str = "unit",
        gain: float = 1.0,
        atol: float = TOLERANCE,
        max_iterations: int = MAX_ITERATIONS,
    ) -> None:
        self._form, start = _SCHEMES[_choice("scheme", scheme, SCHEMES)]
        analytic = _choice("jacobian", jacobian, ("differences", "analytic")) == "analytic"
        specific = _choice("formulas", formulas, ("general", "specific")) == "specific"
        printed = _choice("vectors", vectors, ("unit", "printed")) == "printed"
        levels = _count("levels", levels, 1, 24)
        octree_levels = _count("octree_levels", octree_levels, 1, 7)
        if not (isinstance(atol, int | float | np.floating) and 0.0 < atol < math.inf):
            raise ValueError(f"atol = {atol!r}: must be a positive number")
        if not (isinstance(gain, int | float | np.floating) and 0.0 < gain <= 1.0):
            raise ValueError(f"gain = {gain!r}: must be a number above 0, and 1 at most")
        max_iterations = _count("max_iterations", max_iterations, 0, 10**6)
        self._newton = newton_schemes.Newton(self._form, analytic, float(gain), float(atol), max_iterations)
        by_octree = start == first_guess.OCTREE
        self._guess = first_guess.Guess(self._form, start, octree_levels if by_octree else levels, bool(adaptive))
        shapes = {
            name: [_superovoid(name, body) for body in given] for name, given in (("a", shapes_a), ("b", shapes_b))
        }
        count = len(shapes["a"])
        self.poses_a, self.poses_b = as_poses("poses_a", poses_a).copy(), as_poses("poses_b", poses_b).copy()
        for name, length in (
            ("shapes_b", len(shapes["b"])),
            ("poses_a", len(self.poses_a)),
            ("poses_b", len(self.poses_b)),
        ):
            if length != count:
                raise ValueError(f"{name}: must have {count} entries, one a pair, found {length}")
        # Many pairs often share a body.
        self._distinct = list({id(body): body for side in shapes.values() for body in side}.values())
        number = {id(body): i for i, body in enumerate(self._distinct)}
        self._numbers = [np.array([number[id(body)] for body in shapes[name]], dtype=np.int64) for name in "ab"]
        rows = [_row(body, specific, printed) for body in self._distinct]
        self._table = np.array(rows).reshape(-1, superovoid_surface.ROW_LENGTH)
        self._rows = [self._table[numbers] for numbers in self._numbers]
        self._has_bounds = False
        nodes = np.zeros((max(1, len(self._distinct)), 1), dtype=np.uint8)
        if by_octree:
            nodes = np.array([self._octree(body, row) for body, row in zip(self._distinct, self._table, strict=True)])
        self._trees = first_guess.Trees(nodes, *self._numbers)
        self._memory = first_guess.memory()
        self.unknowns = np.zeros((count, 6))
        self.out = np.full((count, newton_schemes.RESULT_LENGTH), np.nan)
        self.near, self.warm = np.ones(count, dtype=bool), np.zeros(count, dtype=bool)

    def _octree(self, body: Superovoid, row: FloatArray) -> NDArray[np.uint8]:
        tree = first_guess.octree_row(
            lambda points: body.implicit(points) < 0.0, row[superovoid_surface.CUBE], self._guess.levels
        )
        if not tree[0]:
            raise ValueError(
                f"octree_levels = {self._guess.levels}: no cell of {body} has its centre inside; it needs more levels"
            )
        return tree

    def __len__(self) -> int:
        return len(self.out)

    @property
    def octrees(self) -> NDArray[np.uint8]:
        """Octrees of the distinct bodies, one per row (`first_guess.octree_row`); one cell for the other schemes."""
        return self._trees.nodes

    def _bodies(self) -> newton_schemes.Bodies:
        return newton_schemes.Bodies(*self._rows, self.poses_a, self.poses_b)

    def start(self, first: int, last: int) -> None:
        """Write first guesses for a range of pairs into `unknowns`."""
        first_guess.start_rows(first, last, self._guess, self._bodies(), self._trees, self._memory, self.unknowns)

    def refine(self, first: int, last: int) -> None:
        """Run Newton's method from `unknowns`; write to `unknowns` and `out`."""
        work = self._memory.work
        newton_schemes.refine_rows(first, last, self._newton, self._bodies(), self.unknowns, work, self.out)

    def solve(self, first: int, last: int) -> None:
        """Solve with temporal coherence (section 4.4): start `warm` rows from the last unknowns, then guess if needed.

        Iterations of both count. Rows other than `near` get nan.
        """
        course = first_guess.Course(self.unknowns, self.near, self.warm, self.out)
        first_guess.solve_rows(
            first, last, self._guess, self._newton, self._bodies(), self._trees, self._memory, course
        )

    def cull(self, first: int, last: int) -> None:
        """Set `near` by bounding spheres, then by boxes along the bodies' axes (section 5.2)."""
        if not self._has_bounds:
            for body, row in zip(self._distinct, self._table, strict=True):
                _add_bounds(row, body)
            self._rows = [self._table[numbers] for numbers in self._numbers]
            self._has_bounds = True
        broad_phase.cull_rows(first, last, *self._rows, self.poses_a, self.poses_b, self.near)

    def query(self, first: int, last: int) -> None:
        """Call `cull`, then `solve`."""
        self.cull(first, last)
        self.solve(first, last)

    def result(self, i: int) -> GoncalvesResult:
        """Return the answer of a pair after `refine` or `solve`."""
        row = self.out[i]
        points = [
            row[k : k + 3].copy() for k in (newton_schemes.POINT_A, newton_schemes.POINT_B, newton_schemes.NORMAL)
        ]
        size = 6 if self._form == superovoid_surface.IMPLICIT else 4
        return GoncalvesResult(
            float(row[newton_schemes.DISTANCE]),
            -math.inf,
            math.inf,
            *points,
            Status.UNPROVEN,
            Statistics(iterations=int(row[newton_schemes.ITERATIONS])),
            bool(row[newton_schemes.CONVERGED]),
            self.unknowns[i, :size].copy(),
        )


def _angles(body: Superovoid, x: FloatArray) -> tuple[float, float]:
    """Return the angles (phi1, phi2) of the surface point in the direction of a point, after removing the taper."""
    e1, e2 = body.section_exponent, body.profile_exponent
    w = x[2] / body.semi_axes[2]
    u, v = (x[i] / (body.semi_axes[i] * (1.0 + body.taper[i] * w)) for i in range(2))
    r = (abs(u) ** (2.0 / e1) + abs(v) ** (2.0 / e1)) ** (0.5 * e1)

    def angle(along: float, across: float, epsilon: float) -> float:
        return math.atan2(*(math.copysign(abs(t) ** (1.0 / epsilon), t) for t in (along, across)))

    return angle(v, u, e1), angle(w, r, e2)


def _unknowns_of(pairs: Pairs, start: Any, bodies: Sequence[Superovoid]) -> FloatArray:
    size = 6 if pairs._form == superovoid_surface.IMPLICIT else 4
    shapes = np.shape(start) if not isinstance(start, tuple | list) else None
    try:
        given = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.full(0, np.nan)
    if given.shape not in ((size,), (2, 3)) or not np.isfinite(given).all():
        raise ValueError(
            f"start: must be {size} finite unknowns or two points (2, 3), found {shapes or given.shape} of {start!r}"
        )
    if given.shape == (size,):
        return given
    points = [
        (point - pose[:3, 3]) @ pose[:3, :3]
        for point, pose in zip(given, (pairs.poses_a[0], pairs.poses_b[0]), strict=True)
    ]
    if size == 4:
        points = [_angles(body, x) for body, x in zip(bodies, points, strict=True)]
    return np.concatenate(points)


def distance(
    a: Superovoid,
    pose_a: ArrayLike,
    b: Superovoid,
    pose_b: ArrayLike,
    *,
    scheme: str = "quadImplicit",
    jacobian: str = "differences",
    levels: int = LEVELS,
    adaptive: bool = False,
    octree_levels: int = OCTREE_LEVELS,
    formulas: str = "general",
    vectors: str = "unit",
    gain: float = 1.0,
    start: ArrayLike | None = None,
    atol: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> GoncalvesResult:
    """Compute the distance of two superovoids by one of the schemes of Gonçalves et al. 2017.

    If `converged`, Newton's method found a root, which need not be the nearest pair of points. Nothing is proved.

    Parameters
    ----------
    a, b : Superovoid
        The bodies.
    pose_a, pose_b : (4, 4) array_like
        Poses, body to world, m.
    scheme, jacobian, levels, adaptive, octree_levels, formulas, vectors, gain, atol, max_iterations
        As for `Pairs`.
    start : array_like, optional
        Starting point of Newton's method instead of the scheme's guess: the `unknowns` of an earlier result, or a point
        of each body, shape (2, 3), world, m.

    Returns
    -------
    GoncalvesResult
        The distance is positive if the bodies are separate, negative if they overlap (rule:
        `newton_schemes.signed_distance`).

    Raises
    ------
    ValueError
        If an argument is invalid; the message names it, with the found and the expected value.
    TypeError
        If a shape is not a superovoid.

    References
    ----------
    Gonçalves, Bernardino, Jorge, Lopes, "A benchmark study on accuracy-controlled distance calculation between
    superellipsoid and superovoid contact geometries", Mechanism and Machine Theory 115 (2017) 77-96.
    """
    for name, pose in (("pose_a", pose_a), ("pose_b", pose_b)):
        if np.shape(pose) != (4, 4):
            raise ValueError(f"{name}: must have shape (4, 4), found {np.shape(pose)}")
    pairs = Pairs(
        [a],
        [as_poses("pose_a", pose_a)],
        [b],
        [as_poses("pose_b", pose_b)],
        scheme=scheme,
        jacobian=jacobian,
        levels=levels,
        adaptive=adaptive,
        octree_levels=octree_levels,
        formulas=formulas,
        vectors=vectors,
        gain=gain,
        atol=atol,
        max_iterations=max_iterations,
    )
    if start is None:
        pairs.start(0, 1)
    else:
        given = _unknowns_of(pairs, start, (a, b))
        pairs.unknowns[0, : len(given)] = given
    pairs.refine(0, 1)
    return pairs.result(0)


# --- culling -----------------------------------------------------------------------------------------------------


def _bounded_row(name: str, body: Superovoid) -> FloatArray:
    row = _row(_superovoid(name, body))
    _add_bounds(row, body)
    return row


def spheres_meet(a: Superovoid, pose_a: ArrayLike, b: Superovoid, pose_b: ArrayLike) -> bool:
    """Return whether the bounding spheres of two bodies have a common point (poses (4, 4), body to world, m)."""
    poses = as_poses("pose_a", pose_a), as_poses("pose_b", pose_b)
    return bool(broad_phase.spheres_meet(_bounded_row("a", a), _bounded_row("b", b), *poses))


def obbs_meet(a: Superovoid, pose_a: ArrayLike, b: Superovoid, pose_b: ArrayLike) -> bool:
    """Return whether the boxes along the bodies' own axes have a common point (poses (4, 4), body to world, m)."""
    poses = as_poses("pose_a", pose_a), as_poses("pose_b", pose_b)
    return bool(broad_phase.obbs_meet(_bounded_row("a", a), _bounded_row("b", b), *poses))


def aabbs_meet(a: Superovoid, pose_a: ArrayLike, b: Superovoid, pose_b: ArrayLike) -> bool:
    """Return whether the boxes along the world's axes around those have a common point (poses (4, 4), m)."""
    boxes = np.empty((2, 6))
    for box, name, body, pose in zip(boxes, "ab", (a, b), (pose_a, pose_b), strict=True):
        broad_phase.box_of(_bounded_row(name, body), as_poses(f"pose_{name}", pose), box)
    return bool(broad_phase.boxes_meet(*boxes))


class AabbHierarchy(broad_phase.AabbTree):
    """Tree of boxes along the axes of the world over a set of bodies (sections 3.5 and 5.3).

    Parameters
    ----------
    shapes : sequence of Superovoid
        At least one body.
    """

    def __init__(self, shapes: Sequence[Superovoid]) -> None:
        if not len(shapes):
            raise ValueError("shapes: must have at least one body, found none")
        super().__init__(np.array([_bounded_row(f"shapes[{i}]", body) for i, body in enumerate(shapes)]))

    def update(self, poses: ArrayLike) -> None:
        """Compute the boxes at new poses (n, 4, 4), body to world, m; the first poses determine the tree."""
        checked = as_poses("poses", poses)
        if checked.shape != (len(self.rows), 4, 4):
            raise ValueError(f"poses: must have shape ({len(self.rows)}, 4, 4), found {checked.shape}")
        super().update(checked)
