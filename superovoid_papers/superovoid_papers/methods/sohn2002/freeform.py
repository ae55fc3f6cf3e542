# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Free-form patches: Bézier, B-spline and NURBS surfaces, their normal congruences, an ellipsoid's distance to them.

The congruence is polynomial on Bézier pieces. scipy's BSpline, already a dependency, inserts the knots that split a
surface into them. geomdl (NURBS-Python) supports surfaces directly, but would be another dependency for that step, in
pure Python, with one release between 2021 and 2026.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.compiled.vector import add, norm, rotate, scale, sub
from superovoid.compiler.jit import kernel
from superovoid_papers.methods.sohn2002.all_normals import Congruence, Feet, congruence_equations
from superovoid_papers.methods.sohn2002.bernstein import Polynomial, common_roots
from superovoid_papers.methods.sohn2002.congruences import POINT, ellipsoid_kind
from superovoid_papers.methods.sohn2002.one_root import newton_step
from superovoid_papers.methods.sohn2002.pluecker import dual_quaternion, foot_on_ellipsoid, move_line

FloatArray = NDArray[np.float64]

_SAMPLES = 12
"""Number of intervals of a piece, in each direction, between the possible starting points of Newton's method."""
_NARROWINGS = 5
"""Number of halvings of the interval around each of them before Newton's method starts."""
_EDGE_SAMPLES = 32
_EDGE_STEPS = 40
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


class Piece(NamedTuple):
    """A Bézier piece of a surface."""

    w: Polynomial
    x: tuple[Polynomial, Polynomial, Polynomial]
    """Homogeneous coordinates (eq. 8)."""
    lines: Congruence
    """Normals (eq. 10)."""
    edges: tuple[bool, bool, bool, bool]
    """Whether s = 0, s = 1, t = 0, t = 1 are edges of the surface or creases in it."""

    def points(self, s: ArrayLike, t: ArrayLike) -> FloatArray:
        """Return points of the piece, (..., 3)."""
        s, t = np.broadcast_arrays(np.asarray(s, dtype=np.float64), np.asarray(t, dtype=np.float64))
        return np.stack([p(s, t) for p in self.x], axis=-1) / self.w(s, t)[..., None]


@dataclass(frozen=True, eq=False)
class FreeForm:
    """A free-form surface patch in its own frame, with two sides and an edge; it is not a solid.

    Parameters
    ----------
    control_points : (n, m, 3) array_like
        Control points, m.
    weights : (n, m) array_like, optional
        Positive weights; default: all equal (a polynomial surface).
    knots : pair of array_like, optional
        Knots in both directions, as in `scipy.interpolate.BSpline`, clamped to the first and last control
        points. Default: a single Bézier patch.

    Raises
    ------
    ValueError
        If shapes are inconsistent, a number is not finite, or a weight is not positive.
    """

    control_points: FloatArray
    weights: FloatArray | None = None
    knots: tuple[FloatArray, FloatArray] | None = None

    def __post_init__(self) -> None:
        points = np.array(self.control_points, dtype=np.float64)
        if points.ndim != 3 or points.shape[2] != 3 or min(points.shape[:2]) < 2:
            found = points.shape
            raise ValueError(f"FreeForm.control_points: must have shape (n, m, 3) with n, m >= 2, found {found}")
        if not np.isfinite(points).all():
            raise ValueError("FreeForm.control_points: must be finite, found nan or inf")
        object.__setattr__(self, "control_points", points)
        if self.weights is not None:
            weights = np.array(self.weights, dtype=np.float64)
            if weights.shape != points.shape[:2]:
                raise ValueError(f"FreeForm.weights: must have shape {points.shape[:2]}, found {weights.shape}")
            if not (np.isfinite(weights) & (weights > 0.0)).all():
                raise ValueError("FreeForm.weights: must be positive and finite")
            object.__setattr__(self, "weights", weights)
        if self.knots is not None:
            object.__setattr__(self, "knots", tuple(self._check_knots(i) for i in range(2)))

    def _check_knots(self, i: int) -> FloatArray:
        knots, count = np.array(self.knots[i], dtype=np.float64), self.control_points.shape[i]
        degree = knots.size - count - 1
        name = f"FreeForm.knots[{i}]"
        if knots.ndim != 1 or not 1 <= degree < count:
            least, most = count + 2, 2 * count
            raise ValueError(
                f"{name}: must be {least} to {most} numbers for {count} control points, found {knots.size}"
            )
        if not np.isfinite(knots).all() or (np.diff(knots) < 0.0).any():
            raise ValueError(f"{name}: must be finite and not decrease")
        inner = knots[degree + 1 : -degree - 1]
        if knots[0] != knots[degree] or knots[-1] != knots[-degree - 1] or not knots[0] < knots[-1]:
            raise ValueError(f"{name}: the first and the last {degree + 1} must be equal (clamped)")
        if np.unique(inner, return_counts=True)[1].max(initial=0) > degree or np.isin(inner, knots[[0, -1]]).any():
            raise ValueError(f"{name}: an inner knot may occur {degree} times at most")
        return knots

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The Bézier pieces."""
        weights = np.ones(self.control_points.shape[:2]) if self.weights is None else self.weights
        net = np.concatenate([weights[..., None], weights[..., None] * self.control_points], axis=2)
        (net, first, first_crease), (net, second, second_crease) = self._refine(net)
        pieces = []
        for (i, a), (j, b) in itertools.product(enumerate(first[:-1]), enumerate(second[:-1])):
            patch = net[a : first[i + 1] + 1, b : second[j + 1] + 1]
            w, *x = (Polynomial(patch[..., k]) for k in range(4))
            if self.weights is None:
                w = Polynomial([[1.0]])
            edges = first_crease[i], first_crease[i + 1], second_crease[j], second_crease[j + 1]
            pieces.append(Piece(w, tuple(x), _normals(w, tuple(x), self.weights is None), edges))
        return tuple(pieces)

    def _refine(self, net: FloatArray) -> list[tuple[FloatArray, list[int], list[bool]]]:
        """Return the net of all Bézier pieces, and for each direction the pieces' first rows, and which are creases."""
        from scipy.interpolate import BSpline  # late: the import is slow, and most programs do not need it

        done = []
        for i in range(2):
            count = net.shape[i]
            if self.knots is None:
                done.append([net, [0, count - 1], [True, True]])
                continue
            degree = len(self.knots[i]) - count - 1
            spline = BSpline(self.knots[i], np.moveaxis(net, i, 0), degree)
            inner, times = np.unique(self.knots[i][degree + 1 : -degree - 1], return_counts=True)
            for knot, already in zip(inner, times, strict=True):
                if already < degree:
                    spline = spline.insert_knot(knot, degree - already)
            total = degree * (len(inner) + 1) + 1
            net = np.moveaxis(spline.c[:total], 0, i)
            creases = [True, *(bool(m >= degree) for m in times), True]
            done.append([net, list(range(0, total, degree)), creases])
        done[0][0] = net
        return done

    @cached_property
    def _coefficients(self) -> list[FloatArray]:
        """Coefficients (7, n + 1, m + 1) of D, M and W of each piece, all of one degree."""
        packed = []
        for piece in self.pieces:
            polynomials = [*piece.lines.d, *piece.lines.m, piece.lines.w]
            degree = _degree(tuple(polynomials))
            packed.append(np.array([p.elevate(degree).coefficients for p in polynomials]))
        return packed

    @cached_property
    def _nets(self) -> list[FloatArray]:
        """Coefficients (4, n + 1, m + 1) of the homogeneous coordinates of each piece."""
        degrees = (_degree(piece.x, piece.w) for piece in self.pieces)
        return [
            np.array([p.elevate(degree).coefficients for p in (piece.w, *piece.x)])
            for piece, degree in zip(self.pieces, degrees, strict=True)
        ]

    @cached_property
    def _samples(self) -> list[FloatArray]:
        """Points of each piece on a grid, (k + 1, k + 1, 3)."""
        s = np.linspace(0.0, 1.0, _SAMPLES + 1)
        return [piece.points(s[:, None], s[None, :]) for piece in self.pieces]

    @cached_property
    def _reach(self) -> float:
        return float(np.linalg.norm(self.control_points, axis=2).max())


def _cross(a: tuple[Polynomial, ...], b: tuple[Polynomial, ...]) -> tuple[Polynomial, Polynomial, Polynomial]:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _normals(w: Polynomial, x: tuple[Polynomial, ...], polynomial: bool) -> Congruence:
    """Return normals (w N, x cross N) of a patch (w, x): N = w xs cross xt + wt x cross xs - ws x cross xt (9, 10)."""
    xs, xt = (tuple(p.derivative(k) for p in x) for k in range(2))
    n = _cross(xs, xt)
    if not polynomial:
        ws, wt = w.derivative(0), w.derivative(1)
        n = tuple(w * a + wt * b - ws * c for a, b, c in zip(n, _cross(x, xs), _cross(x, xt), strict=True))
    return Congruence(n, _cross(x, n), w)


# -- kernels -------------------------------------------------------------------------------------------------------


@kernel
def fill_basis(basis, s):
    """Write Bernstein polynomials of degree `basis.shape[1] - 1` at s, and their derivatives into the second row."""
    degree = basis.shape[1] - 1
    values, slopes = basis[0], basis[1]
    values[0], slopes[0] = 1.0, 0.0
    for k in range(1, degree + 1):
        if k == degree:  # derivatives follow from the values of one degree less
            for i in range(degree + 1):
                slopes[i] = degree * ((values[i - 1] if i > 0 else 0.0) - (values[i] if i < degree else 0.0))
        values[k] = s * values[k - 1]
        for i in range(k - 1, 0, -1):
            values[i] = (1.0 - s) * values[i] + s * values[i - 1]
        values[0] *= 1.0 - s


@kernel
def tensor(c, left, right):
    """Return the value of a polynomial from the basis functions of both variables."""
    total = 0.0
    for i in range(c.shape[0]):
        row = 0.0
        for j in range(c.shape[1]):
            row += c[i, j] * right[j]
        total += left[i] * row
    return total


@kernel
def tensor3(c, left, right):
    """Return the tensor products of the three coordinates."""
    return (tensor(c[0], left, right), tensor(c[1], left, right), tensor(c[2], left, right))


@kernel
def patch_normals(c, s, t, basis_s, basis_t):
    """Return the normal of a piece (W D, M) and its derivatives: three pairs (d, m)."""
    fill_basis(basis_s, s)
    fill_basis(basis_t, t)
    d, m, w = c[0:3], c[3:6], c[6]
    b, c0, bs, ct = basis_s[0], basis_t[0], basis_s[1], basis_t[1]
    d0, w0 = tensor3(d, b, c0), tensor(w, b, c0)
    ds, ws, dt, wt = tensor3(d, bs, c0), tensor(w, bs, c0), tensor3(d, b, ct), tensor(w, b, ct)
    return (
        (scale(w0, d0), tensor3(m, b, c0)),
        ((ws * d0[0] + w0 * ds[0], ws * d0[1] + w0 * ds[1], ws * d0[2] + w0 * ds[2]), tensor3(m, bs, c0)),
        ((wt * d0[0] + w0 * dt[0], wt * d0[1] + w0 * dt[1], wt * d0[2] + w0 * dt[2]), tensor3(m, b, ct)),
    )


@kernel
def refine_on_patch(radii, c, rotation, translation, s, t, iterations, basis_s, basis_t):
    """Run Newton's method on a piece at a pose in the ellipsoid's frame; return the last (s, t), and the steps."""
    displacement = dual_quaternion(rotation, translation)
    radii = (radii[0], radii[1], radii[2])
    kind = ellipsoid_kind(radii)
    for step in range(1, iterations + 1):
        line, by_s, by_t = patch_normals(c, s, t, basis_s, basis_t)
        ds, dt = newton_step(
            kind, radii, move_line(displacement, line), move_line(displacement, by_s), move_line(displacement, by_t)
        )
        if not abs(ds) + abs(dt) < 0.5:
            return s, t, step
        s, t = s + ds, t + dt
        if abs(ds) + abs(dt) < 1e-12 or min(s, t) < -0.5 or max(s, t) > 1.5:
            return s, t, step
    return s, t, iterations


@kernel
def distances_to_ellipsoid(radii, points, feet, out):
    """Write distances of points (n, 3) in the ellipsoid's frame, 0 inside, and their feet."""
    radii = (radii[0], radii[1], radii[2])
    for i in range(len(points)):
        p = (points[i, 0], points[i, 1], points[i, 2])
        foot, outside = foot_on_ellipsoid(radii, p)
        out[i] = norm(sub(p, foot)) if outside else 0.0
        for k in range(3):
            feet[i, k] = foot[k]


@kernel
def distance_on_piece(radii, net, rotation, translation, s, t, basis_s, basis_t):
    """Return the distance from an ellipsoid of the point at (s, t) of a piece (w, x), 0 inside."""
    fill_basis(basis_s, s)
    fill_basis(basis_t, t)
    w = tensor(net[0], basis_s[0], basis_t[0])
    x = scale(1.0 / w, tensor3(net[1:4], basis_s[0], basis_t[0]))
    p = add(rotate(rotation, x), (translation[0], translation[1], translation[2]))
    foot, outside = foot_on_ellipsoid(radii, p)
    return norm(sub(p, foot)) if outside else 0.0


@kernel
def narrow(radii, net, rotation, translation, s, t, step, halvings, basis_s, basis_t):
    """Find a closer point of a piece near (s, t): repeatedly the best of nine, with halved spacing."""
    radii = (radii[0], radii[1], radii[2])
    best = distance_on_piece(radii, net, rotation, translation, s, t, basis_s, basis_t)
    for _ in range(halvings):
        step *= 0.5
        s0, t0 = s, t
        for i in range(-1, 2):
            for j in range(-1, 2):
                si, tj = min(max(s0 + i * step, 0.0), 1.0), min(max(t0 + j * step, 0.0), 1.0)
                value = distance_on_piece(radii, net, rotation, translation, si, tj, basis_s, basis_t)
                if value < best:
                    best, s, t = value, si, tj
    return s, t


@kernel
def distance_on_curve(radii, curve, rotation, translation, r, basis):
    """Return the distance from an ellipsoid of the point at r of a rational Bézier curve (w, x), 0 inside."""
    fill_basis(basis, r)
    w = x = y = z = 0.0
    for i in range(curve.shape[1]):
        b = basis[0, i]
        w, x, y, z = w + b * curve[0, i], x + b * curve[1, i], y + b * curve[2, i], z + b * curve[3, i]
    p = add(rotate(rotation, (x / w, y / w, z / w)), (translation[0], translation[1], translation[2]))
    foot, outside = foot_on_ellipsoid(radii, p)
    return norm(sub(p, foot)) if outside else 0.0


@kernel
def minima_on_curve(radii, curve, rotation, translation, samples, basis, minima):
    """Find local minima of that distance by golden section about each locally lowest sample; return their number."""
    radii = (radii[0], radii[1], radii[2])
    last = len(samples) - 1
    for i in range(last + 1):
        samples[i] = distance_on_curve(radii, curve, rotation, translation, i / last, basis)
    count = 0
    for i in range(last + 1):
        if samples[i] > min(samples[max(i - 1, 0)], samples[min(i + 1, last)]):
            continue
        lower, upper = max(i - 1, 0) / last, min(i + 1, last) / last
        a, b = upper - _GOLDEN * (upper - lower), lower + _GOLDEN * (upper - lower)
        at_a = distance_on_curve(radii, curve, rotation, translation, a, basis)
        at_b = distance_on_curve(radii, curve, rotation, translation, b, basis)
        for _ in range(_EDGE_STEPS):
            if at_a <= at_b:
                upper, b, at_b = b, a, at_a
                a = upper - _GOLDEN * (upper - lower)
                at_a = distance_on_curve(radii, curve, rotation, translation, a, basis)
            else:
                lower, a, at_a = a, b, at_b
                b = lower + _GOLDEN * (upper - lower)
                at_b = distance_on_curve(radii, curve, rotation, translation, b, basis)
        middle = 0.5 * (lower + upper)
        if i == 0 and samples[0] <= at_a:
            middle = 0.0
        elif i == last and samples[last] <= at_a:
            middle = 1.0
        minima[count] = middle
        count += 1
    return count


# -- distance ------------------------------------------------------------------------------------------------------


class PatchDistance(NamedTuple):
    """Distance of an ellipsoid from a surface, all in the frame of the ellipsoid."""

    distance: float
    foot: FloatArray
    point: FloatArray
    iterations: int
    converged: bool


def _to_ellipsoid(radii: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    points = np.ascontiguousarray(points.reshape(-1, 3))
    feet, out = np.empty_like(points), np.empty(len(points))
    distances_to_ellipsoid(radii, points, feet, out)
    return out, feet


def _local_minima(grid: FloatArray) -> NDArray[np.int64]:
    """Return the indices of the locally lowest samples, lowest first."""
    padded = np.pad(grid, 1, constant_values=np.inf)
    around = [np.roll(padded, shift, (0, 1))[1:-1, 1:-1] for shift in itertools.product((-1, 0, 1), repeat=2)]
    found = np.argwhere(grid <= np.min(around, axis=0))
    return found[np.argsort(grid[tuple(found.T)], kind="stable")]


def patch_distance(
    radii: FloatArray,
    surface: FreeForm,
    rotation: FloatArray,
    translation: FloatArray,
    all_roots: bool,
    iterations: int,
    rtol: float,
) -> PatchDistance:
    """Return the least distance of an ellipsoid from a surface; the pose is the surface's in the ellipsoid's frame.

    Candidates are roots inside the pieces, from starts around the minima of a grid of point-ellipsoid distances, with
    `all_roots` also all roots; and the closest points of edges and creases, which the paper does not mention.
    """
    best = PatchDistance(math.inf, np.full(3, np.nan), np.full(3, np.nan), 0, False)
    slack, steps = rtol * max(*radii, surface._reach), 0
    parts = zip(surface.pieces, surface._coefficients, surface._nets, surface._samples, strict=True)
    for piece, packed, net, samples in parts:
        grid, _ = _to_ellipsoid(radii, samples @ rotation.T + translation)
        if not grid.min() > 0.0:
            return PatchDistance(math.nan, best.foot, best.point, steps, False)
        at = rotation, translation
        bases = np.empty((2, net.shape[1])), np.empty((2, net.shape[2]))
        starts = [
            narrow(radii, net, *at, s, t, 1.0 / _SAMPLES, _NARROWINGS, *bases)
            for s, t in _local_minima(grid.reshape(samples.shape[:2])) / _SAMPLES
        ]
        if all_roots:
            starts = [*patch_roots(radii, piece, rotation, translation)[0], *starts]
        basis_s, basis_t = np.empty((2, packed.shape[1])), np.empty((2, packed.shape[2]))
        found = []
        for s, t in starts:
            s, t, count = refine_on_patch(radii, packed, rotation, translation, s, t, iterations, basis_s, basis_t)
            steps += count
            if 0.0 <= min(s, t) and max(s, t) <= 1.0:
                found.append((s, t))
        found += _on_edges(radii, piece, net, rotation, translation)
        where = np.array(found)
        points = piece.points(where[:, 0], where[:, 1]) @ rotation.T + translation
        lengths, feet = _to_ellipsoid(radii, points)
        k = int(np.argmin(lengths))
        if lengths[k] < best.distance:
            best = PatchDistance(float(lengths[k]), feet[k], points[k], steps, lengths[k] > slack)
    return best._replace(iterations=steps)


def _on_edges(
    radii: FloatArray, piece: Piece, net: FloatArray, rotation: FloatArray, translation: FloatArray
) -> list[tuple[float, float]]:
    """Return the parameters of local minima of the distance on edges, including their ends."""
    found: list[tuple[float, float]] = []
    samples = np.empty(_EDGE_SAMPLES + 1)
    for edge in np.flatnonzero(piece.edges):
        first, end = edge < 2, -(edge % 2)
        curve = np.ascontiguousarray(net[:, end, :] if first else net[:, :, end])
        minima = np.empty(_EDGE_SAMPLES + 1)
        basis = np.empty((2, curve.shape[1]))
        count = minima_on_curve(radii, curve, rotation, translation, samples, basis, minima)
        fixed = float(edge % 2)
        found += [(fixed, r) if first else (r, fixed) for r in minima[:count].tolist()]
    return found


def _degree(x: tuple[Polynomial, ...], *others: Polynomial) -> tuple[int, int]:
    """Return the least common degree of polynomials."""
    return tuple(max(p.degree[k] for p in (*x, *others)) for k in range(2))


def patch_roots(
    radii: FloatArray, piece: Piece, rotation: FloatArray, translation: FloatArray
) -> tuple[FloatArray, bool]:
    """Return the parameters (n, 2) of a piece's common normals with the ellipsoid, and whether these are all."""
    kind = ellipsoid_kind(tuple(radii.tolist()))
    lines = piece.lines.move(rotation, translation)
    if kind != POINT:
        return common_roots(*congruence_equations(kind, radii.tolist(), lines))[:2]
    # Normals through the centre: two of L4 = L5 = L6 = 0 (eq. 21) imply the third unless its part of d is 0.
    found, complete = [], True
    for f, g in itertools.combinations(lines.m, 2):
        points, all_found, _ = common_roots(f, g)
        moments = np.stack([p(points[:, 0], points[:, 1]) for p in lines.m])
        largest = max(np.abs(p.coefficients).max() for p in lines.m)
        found.append(points[np.abs(moments).max(axis=0) <= 1e-9 * largest])
        complete &= all_found
    return np.vstack(found), complete


def patch_feet(
    radii: FloatArray, surface: FreeForm, rotation: FloatArray, translation: FloatArray
) -> tuple[list[Feet], bool]:
    """Return all pairs of feet on an ellipsoid and inside a surface; the pose is the surface's in its frame."""
    feet: list[Feet] = []
    complete = True
    for piece in surface.pieces:
        roots, all_found = patch_roots(radii, piece, rotation, translation)
        complete &= all_found
        for s, t in roots[(np.abs(roots - 0.5) <= 0.5 + 1e-12).all(axis=1)]:
            n = rotation @ np.array([float(p(s, t)) for p in piece.lines.d])
            if not n.any():
                continue  # a singular point of the parametrisation
            n /= np.linalg.norm(n)
            x = rotation @ piece.points(s, t) + translation
            y = radii**2 * n / np.sqrt(n @ (radii**2 * n))
            feet += [(sign * y, sign * n, x, n) for sign in (1.0, -1.0)]
    return feet, complete
