# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fit one superellipsoid or one convex superovoid to a point cloud or a mesh.

The target is the convex hull of the input.  Its surface is sampled uniformly by area, and the sum of
squared *true* signed distances of the samples to the fitted surface is minimised (orthogonal distance
regression), in two stages as in Solina and Bajcsy 1990 and Liu et al. 2022 (EMS): first a cheap first-order
residual (Taubin 1991) from many starts, then the true distance from the best results.

The derivative of the true distance needs no second projection: with foot point f on the surface G = 0,
d(distance)/d(parameter) = (dG/d(parameter))(f) / |grad G(f)|  (the envelope theorem).

The tapers of a superovoid (Gonçalves et al. 2017, eq. 5) are parametrised as fractions of the largest
convex taper.  With equal tapers every fitted body is then convex by construction.  With unequal tapers
(``tapers="free"``) a body with e2 < 1 is never strictly convex, so they are fitted with e2 >= 1, and a penalty
enforces the rest of the convexity condition (`convexity_margin`).

Everything is deterministic: samples and starts come from a fixed seed.

References
----------
F. Solina, R. Bajcsy, Recovery of parametric models from range images: the case for superquadrics with
global deformations, IEEE PAMI 12 (1990).
G. Taubin, Estimation of planar curves, surfaces and nonplanar space curves defined by implicit equations,
IEEE PAMI 13 (1991).
W. Liu, Y. Wu, S. Ruan, G. Chirikjian, Robust and accurate superquadric recovery: a probabilistic approach,
CVPR 2022.
A. Gonçalves et al., superovoid contact detection, 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation
from scipy.special import beta

from superovoid.fitting.projection import gauge, gauge_gradient, project
from superovoid.shapes import Superellipsoid, Superovoid
from superovoid.shapes.kernels.bodies import MAX_EPSILON, MIN_EPSILON
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]
Number = TypeVar("Number", float, NDArray[np.float64])

TAPER_SAFETY = 0.98
"""Fitted tapers stay below this fraction of the convex limit, so that rounded parameters remain convex."""


def maximum_taper(e2: Number) -> Number:
    """Return the largest |T| of a convex superovoid with Tx = Ty = T: (1 - e2/2) 2^(e2/2).

    Up to this taper, the meridian r(w) (1 + T w) with r = (1 - |w|^(2/e2))^(e2/2) is concave for all w in (-1, 1).
    """
    return (1.0 - e2 / 2.0) * 2.0 ** (e2 / 2.0)


def convexity_margin(
    epsilon: Sequence[float] | NDArray[np.float64], taper: Sequence[float] | NDArray[np.float64]
) -> float:
    """Return the convexity margin of a superovoid with e2 >= 1: positive if it is strictly convex.

    With w = z/a3, r(w) = (1 - |w|^(2/e2))^(e2/2), q = 2/(2 - e1), t = T/(1 + T w), the body is convex iff for all
    w in (-1, 1) and c in [0, 1]

        r''/r + 2 (r'/r) (c tx + (1-c) ty) + (q-1) c (1-c) (tx - ty)^2 <= 0.

    The margin is minus the largest value of the left side on a grid.  The grid may end before the tips, since the
    first term is unbounded below there.
    """
    w = np.linspace(-0.999, 0.999, 400)  # an even number excludes w = 0, where r'' is infinite for e2 > 1
    c = np.linspace(0.0, 1.0, 21)
    a, size = 2.0 / epsilon[1], np.abs(w)
    rest = 1.0 - size**a
    slope = -np.sign(w) * size ** (a - 1.0) / rest
    bend = slope**2 - (a - 1.0) * size ** (a - 2.0) / rest - a * size ** (2.0 * a - 2.0) / rest**2
    tx, ty = (t / (1.0 + t * w) for t in taper)
    mixed = tx[:, None] * c + ty[:, None] * (1.0 - c)
    cross = (2.0 / (2.0 - epsilon[0]) - 1.0) * c * (1.0 - c) * ((tx - ty) ** 2)[:, None]
    return float(-(bend[:, None] + 2.0 * slope[:, None] * mixed + cross).max())


@dataclass(frozen=True)
class FitReport:
    """Accuracy of a body fitted to a hull. Lengths are in the unit of the input (metres in this package).

    ``mean``, ``rms``, ``p95``, ``maximum``: distances from hull samples to the fitted surface; ``outside`` and
    ``inside``: largest distance of hull samples outside and inside the body; ``volume_ratio``: volume of the body
    divided by the volume of the hull.
    """

    mean: float
    rms: float
    p95: float
    maximum: float
    outside: float
    inside: float
    volume_ratio: float
    samples: int


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Record):
    """A fitted body: its shape, its pose in the frame of the input (4x4), and its accuracy."""

    shape: Superovoid | Superellipsoid
    pose: FloatArray
    report: FitReport


def fit_superellipsoid(
    points_or_mesh: np.ndarray | object,
    *,
    epsilon_bounds: tuple[float, float] = (0.1, 1.9),
    initial: Iterable[tuple[object, np.ndarray]] = (),
    rotations: Sequence[np.ndarray] | None = None,
    norm: float = 2.0,
    volume_weight: float = 0.0,
    samples: int = 700,
    seed: int = 0,
) -> Fit:
    """Fit a superellipsoid (no taper) to the convex hull of points or of a mesh.

    Parameters
    ----------
    points_or_mesh : array, shape (n, 3), or an object with ``vertices``
        Points, or a mesh such as a `trimesh.Trimesh`. Only the convex hull is used.
    epsilon_bounds : pair of float
        Bounds of both exponents, within [1e-6, 1.999999].
    initial : iterable of (shape, pose)
        Additional starts.
    rotations : sequence of arrays, shape (3, 3), optional
        Start orientations of the body in the frame of the input. Default: the principal axes of the hull in
        their three cyclic permutations.
    norm : float
        The exponent p in sum |distance|^p: 2 for least squares; 3 or 4 to reduce the largest distance at the
        expense of the mean.
    volume_weight : float
        Weight of the relative volume error, compared with the rms distance over the hull's radius (0: ignored).
    samples : int
        Number of hull samples in the residual.
    seed : int
        Seed of the sampling.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        If the input has fewer than four points, is flat, or contains NaN.
    """
    return _fit(points_or_mesh, "none", True, epsilon_bounds, initial, rotations, norm, volume_weight, samples, seed)


def fit_superovoid(
    points_or_mesh: np.ndarray | object,
    *,
    convex: bool = True,
    tapers: Literal["equal", "free"] = "equal",
    epsilon_bounds: tuple[float, float] = (0.1, 1.9),
    initial: Iterable[tuple[object, np.ndarray]] = (),
    rotations: Sequence[np.ndarray] | None = None,
    norm: float = 2.0,
    volume_weight: float = 0.0,
    samples: int = 700,
    seed: int = 0,
) -> Fit:
    """Fit a superovoid to the convex hull of points or of a mesh.

    Parameters
    ----------
    convex : bool
        True: the body is convex. False: tapers up to 0.5 for all exponents, as published; the body may be
        non-convex.
    tapers : "equal" or "free"
        Tx = Ty, or independent tapers. Free tapers with ``convex`` require e2 >= 1, which suits wedges.

    Notes
    -----
    The other parameters and the errors are those of `fit_superellipsoid`.
    """
    if tapers not in ("equal", "free"):
        raise ValueError(f"tapers = {tapers!r}: must be 'equal' or 'free'")
    return _fit(points_or_mesh, tapers, convex, epsilon_bounds, initial, rotations, norm, volume_weight, samples, seed)


def measure(
    shape: Superovoid | Superellipsoid,
    pose: FloatArray,
    points_or_mesh: np.ndarray | object,
    *,
    samples: int = 4000,
    seed: int = 1,
) -> FitReport:
    """Measure the distances of the hull of ``points_or_mesh`` to the surface of ``shape`` at ``pose``.

    The default seed differs from that of the fit, so that the samples are not those whose residuals were minimised.
    Equal tapers only.
    """
    hull = _hull(points_or_mesh)
    return _report(shape, np.asarray(pose, dtype=float), hull, sample_hull(hull, samples, seed))


def sample_hull(hull: ConvexHull, count: int, seed: int) -> np.ndarray:
    """Sample the surface of a hull uniformly by area, stratified, shape (count, 3)."""
    corners = hull.points[hull.simplices]
    areas = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    generator = np.random.default_rng(seed)
    # One sample in each of `count` equal slices of the cumulative area has less noise than independent samples.
    where = (np.arange(count) + generator.random(count)) / count
    face = np.searchsorted(np.cumsum(areas) / areas.sum(), where).clip(max=len(areas) - 1)
    u, v = generator.random((2, count))
    flip = u + v > 1.0
    u[flip], v[flip] = 1.0 - u[flip], 1.0 - v[flip]
    chosen = corners[face]
    return chosen[:, 0] + u[:, None] * (chosen[:, 1] - chosen[:, 0]) + v[:, None] * (chosen[:, 2] - chosen[:, 0])


# Parameters of the optimiser: log semi-axes (3), exponents (2), taper fractions (2), rotation vector applied after
# the start rotation (3), centre (3). Lengths are divided by the hull's radius.
_COUNT = 13
_WANTED_MARGIN = 0.02


@dataclass(frozen=True)
class _Model:
    """Map from a parameter vector to a body; one instance per start, since it holds the start rotation."""

    start: Rotation
    tapers: str  # "none", "equal" or "free"
    convex: bool

    def unpack(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return size, epsilon, taper, rotation and centre."""
        limit = _largest_taper(q[4], self.convex)
        fractions = {"none": np.zeros(2), "equal": q[[5, 5]], "free": q[5:7]}[self.tapers]
        rotation = (Rotation.from_rotvec(q[7:10]) * self.start).as_matrix()
        return np.exp(q[:3]), q[3:5], fractions * limit, rotation, q[10:13]

    def gauge(self, q: np.ndarray, points: np.ndarray) -> np.ndarray:
        size, epsilon, taper, rotation, centre = self.unpack(q)
        return gauge((points - centre) @ rotation, size, epsilon, taper)

    def extras(self, q: np.ndarray, volume: float, volume_weight: float) -> np.ndarray:
        """Return the residuals of volume and, for free tapers, of convexity."""
        size, epsilon, taper, _, _ = self.unpack(q)
        concavity = 0.0
        if self.tapers == "free" and self.convex:
            concavity = max(0.0, _WANTED_MARGIN - convexity_margin(epsilon, taper))
        return np.array([volume_weight * (_volume(size, epsilon, taper) / volume - 1.0), concavity])


def _largest_taper(e2: float, convex: bool) -> float:
    return min(0.5, TAPER_SAFETY * maximum_taper(e2)) if convex else 0.5


def _differences(function: Callable[[np.ndarray], np.ndarray], q: np.ndarray) -> np.ndarray:
    """Return central differences of a function of the parameters, shape (n, 13)."""
    steps = 1e-6 * np.eye(_COUNT)
    return np.stack([(function(q + step) - function(q - step)) / 2e-6 for step in steps], axis=1)


def _volume(size: np.ndarray, epsilon: np.ndarray, taper: np.ndarray) -> float:
    """Return the volume: area(e1) a1 a2 a3 times the integral of r(w)^2 (1 + Tx w)(1 + Ty w), by beta functions."""
    e1, e2 = epsilon
    area = 2.0 * e1 * beta(e1 / 2.0, e1 / 2.0 + 1.0)
    layers = e2 * (beta(e2 / 2.0, e2 + 1.0) + taper[0] * taper[1] * beta(1.5 * e2, e2 + 1.0))
    return float(area * np.prod(size) * layers)


def _fit(
    points_or_mesh: np.ndarray | object,
    tapers: str,
    convex: bool,
    epsilon_bounds: tuple[float, float],
    initial: Iterable[tuple[object, np.ndarray]],
    rotations: Sequence[np.ndarray] | None,
    norm: float,
    volume_weight: float,
    samples: int,
    seed: int,
) -> Fit:
    hull = _hull(points_or_mesh)
    origin = hull.points[hull.vertices].mean(axis=0)
    scale = float(np.linalg.norm(hull.points[hull.vertices] - origin, axis=1).max())
    points = (sample_hull(hull, samples, seed) - origin) / scale
    volume = hull.volume / scale**3

    low, high = epsilon_bounds
    if not MIN_EPSILON <= low < high <= MAX_EPSILON:
        limits = f"[{MIN_EPSILON}, {MAX_EPSILON}]"
        raise ValueError(f"epsilon_bounds = {epsilon_bounds}: must be two increasing numbers within {limits}")
    low2 = max(low, 1.0) if tapers == "free" and convex else low
    lower = np.r_[np.full(3, -6.0), low, low2, -1.0, -1.0, np.full(3, -np.pi), np.full(3, -1.0)]
    upper = np.r_[np.full(3, 1.0), high, high, 1.0, 1.0, np.full(3, np.pi), np.full(3, 1.0)]

    candidates = []
    for model, q in _starts(points, tapers, convex, initial, rotations, origin, scale):
        problem = _Problem(model, points, norm, volume, volume_weight)
        found = least_squares(
            problem.first_order,
            np.clip(q, lower + 1e-6, upper - 1e-6),
            bounds=(lower, upper),
            max_nfev=40,
            loss="soft_l1",
            f_scale=0.05 / np.sqrt(samples),
        )
        candidates.append((float(found.cost), problem, found.x))
    candidates.sort(key=lambda candidate: candidate[0])

    best: tuple[float, _Model, np.ndarray] | None = None
    for _, problem, q in candidates[:4]:
        found = least_squares(
            problem.residual,
            np.clip(q, lower, upper),
            problem.jacobian,
            bounds=(lower, upper),
            max_nfev=60,
            xtol=1e-7,
            ftol=1e-7,
        )
        if best is None or found.cost < best[0]:
            best = (found.cost, problem.model, found.x)

    assert best is not None  # there are always candidates
    size, epsilon, taper, rotation, centre = best[1].unpack(best[2])
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, origin + scale * centre
    size = size * scale
    shape = (
        Superellipsoid.from_goncalves(size, epsilon)
        if tapers == "none"
        else Superovoid.from_goncalves(size, epsilon, taper)
    )
    return Fit(shape, pose, _report(shape, pose, hull, sample_hull(hull, 4000, seed + 1)))


def _starts(
    points: np.ndarray,
    tapers: str,
    convex: bool,
    initial: Iterable,
    rotations: Sequence[np.ndarray] | None,
    origin: np.ndarray,
    scale: float,
) -> Iterable[tuple[_Model, np.ndarray]]:
    centre = points.mean(axis=0)
    if rotations is None:
        _, vectors = np.linalg.eigh(np.cov((points - centre).T))
        vectors *= np.sign(np.linalg.det(vectors))
        rotations = [np.roll(vectors, shift, axis=1) for shift in range(3)]
    fractions = {
        "none": ((0.0, 0.0),),
        "equal": ((0.3, 0.3), (-0.3, -0.3)),
        "free": ((0.3, 0.7), (0.7, 0.3), (-0.3, -0.7), (-0.7, -0.3)),
    }[tapers]
    for rotation in rotations:
        local = (points - centre) @ rotation
        half = 0.5 * (local.max(axis=0) - local.min(axis=0))
        middle = centre + rotation @ (0.5 * (local.max(axis=0) + local.min(axis=0)))
        for exponents in ((0.3, 0.3), (1.0, 0.5), (0.4, 1.0)):
            for fraction in fractions:
                yield (
                    _Model(Rotation.from_matrix(rotation), tapers, convex),
                    np.r_[np.log(half), exponents, fraction, 0.0, 0.0, 0.0, middle],
                )
    for shape, pose in initial:
        limit = _largest_taper(shape.profile_exponent, convex)
        share = np.clip(np.array(shape.taper) / limit, -1.0, 1.0)
        if tapers == "equal":
            share = share.mean() * np.ones(2)
        yield (
            _Model(Rotation.from_matrix(pose[:3, :3]), tapers, convex),
            np.r_[
                np.log(np.array(shape.semi_axes) / scale),
                (shape.section_exponent, shape.profile_exponent),
                share,
                0.0,
                0.0,
                0.0,
                (pose[:3, 3] - origin) / scale,
            ],
        )


class _Problem:
    """Residuals of one start: distances divided by the root of their number, then volume and convexity."""

    def __init__(self, model: _Model, points: np.ndarray, norm: float, volume: float, volume_weight: float) -> None:
        self.model = model
        self._points, self._volume, self._volume_weight = points, volume, volume_weight
        self._share = 1.0 / np.sqrt(len(points))
        self._exponent = 0.5 * norm - 1.0
        self._q: np.ndarray | None = None  # parameters for which self._feet were computed
        self._feet, self._distance = points, np.zeros(len(points))

    def first_order(self, q: np.ndarray) -> np.ndarray:
        """Return first-order distances, G / |grad G| (Taubin 1991)."""
        size, epsilon, taper, rotation, centre = self.model.unpack(q)
        local = (self._points - centre) @ rotation
        slope = np.linalg.norm(gauge_gradient(local, size, epsilon, taper), axis=1)
        distance = gauge(local, size, epsilon, taper) / np.maximum(slope, 1e-3)
        return np.r_[self._share * distance, self._extras(q)]

    def residual(self, q: np.ndarray) -> np.ndarray:
        """Return true signed distances, rescaled so that their squares sum to |distance|^norm."""
        size, epsilon, taper, rotation, centre = self.model.unpack(q)
        distance, foot = project((self._points - centre) @ rotation, size, epsilon, taper, levels=14)
        self._q, self._feet = q.copy(), foot
        self._distance = distance
        return np.r_[self._share * distance * self._bend(), self._extras(q)]

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """Return the derivative of `residual`, with the feet fixed (envelope theorem)."""
        if self._q is None or not np.array_equal(q, self._q):
            self.residual(q)
        size, epsilon, taper, rotation, centre = self.model.unpack(q)
        slope = np.linalg.norm(gauge_gradient(self._feet, size, epsilon, taper), axis=1)
        feet = self._feet @ rotation.T + centre
        distances = _differences(lambda p: self.model.gauge(p, feet), q) / slope[:, None]
        bend = (1.0 + self._exponent) * self._bend()
        return np.concatenate([self._share * bend[:, None] * distances, _differences(self._extras, q)])

    def _bend(self) -> np.ndarray:
        # Relative to 2 % of the hull's radius, a typical residual, so that `volume_weight` has a similar effect for
        # all norms.
        return (np.abs(self._distance) / 0.02 + 1e-9) ** self._exponent

    def _extras(self, q: np.ndarray) -> np.ndarray:
        return self.model.extras(q, self._volume, self._volume_weight)


def _report(shape: Superovoid | Superellipsoid, pose: np.ndarray, hull: ConvexHull, points: np.ndarray) -> FitReport:
    local = (points - pose[:3, 3]) @ pose[:3, :3]
    distance, _ = project(
        local,
        np.array(shape.semi_axes),
        np.array((shape.section_exponent, shape.profile_exponent)),
        np.array(shape.taper),
        levels=26,
    )
    size = np.abs(distance)
    return FitReport(
        mean=float(size.mean()),
        rms=float(np.sqrt((size**2).mean())),
        p95=float(np.quantile(size, 0.95)),
        maximum=float(size.max()),
        outside=float(max(distance.max(), 0.0)),
        inside=float(max(-distance.min(), 0.0)),
        volume_ratio=float(shape.volume() / hull.volume),
        samples=len(points),
    )


def _hull(points_or_mesh: np.ndarray | object) -> ConvexHull:
    points = np.asarray(getattr(points_or_mesh, "vertices", points_or_mesh), dtype=float)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4:
        raise ValueError(f"points: shape {points.shape}, expected (n, 3) with n >= 4")
    if not np.isfinite(points).all():
        raise ValueError(f"points[{int(np.argmin(np.isfinite(points).all(axis=1)))}]: not finite")
    try:
        return ConvexHull(points)
    except QhullError as error:
        raise ValueError("points: lie in a plane or on a line, expected a hull with volume") from error
