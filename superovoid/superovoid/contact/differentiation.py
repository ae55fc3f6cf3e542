# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""First derivatives of the signed distance by pose and by shape, and the curvatures at a contact.

sd = max over |n| = 1 of n . c - h_A(n) - h_B(-n) is stationary in n, and at a contact h is stationary in the point, so
first derivatives need neither the derivative of the normal nor that of the points (docs/explanation/certificates.md):

    by a motion of B     n . (v + omega x (x_B - o_B))            and minus the same with x_A, o_A by one of A
    by a parameter       -dh/dtheta = F_theta / |grad F|          at the contact, for either body

Both hold apart, at touch and overlapping. With the points with duals of `shapes.kernels.surface` the derivatives of F
are products and entropies, free of cancellation (alpha = C Cd, beta = S Sd, A = r rd, B = w wd; all divided by s):

    a1: -A alpha / a1     a2: -A beta / a2     a3: -w (wd - r rd (alpha tx + beta ty)) / a3
    Tx: -A alpha w / kx   Ty: -A beta w / ky
    e1: -A (alpha log alpha + beta log beta) / 2                  e2: -(A log A + B log B) / 2

Second order: S_A, S_B the shape operators in the tangent plane. S_A + S_B is the curvature of the gap along n over that
plane, and H = (S_A^-1 + S_B^-1 + d I)^-1 the second derivative of the distance by a translation of B. An inverse is the
adjugate over the determinant, and adjugates of 2 x 2 matrices are linear, with adj(adj S) = S. So with
p = det S_B tr S_A + det S_A tr S_B and q = det S_A det S_B

    H = (det S_B S_A + det S_A S_B + d q I) / D,    D = det(S_A + S_B) + d (p + d q),

which holds for straight directions too. A depth is a proper minimum over the directions if H^-1 is positive definite,
so if its determinant D / q and its trace (p + 2 d q) / q are positive.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats2, Ints1
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.rows import layout
from superovoid.compiled.vector import add, combine, dot, norm, rotate_back, scale, sub, tangent_frame, vector_at
from superovoid.contact.broadcasting import Pairs, Shapes, bodies_of, pairs_of, share_pairs
from superovoid.contact.inputs import TOLERANCE
from superovoid.contact.results import DistanceResult, DistanceResults
from superovoid.contact.separation import from_origin
from superovoid.contact.superovoids.newton import point_chart
from superovoid.shapes.kernels import surface
from superovoid.shapes.kernels.kinds import KIND, SUPEROVOID
from superovoid.shapes.kernels.retraction import retract
from superovoid.shapes.kernels.surface import MAX_CURVATURE_RATIO, SurfacePoint, dual_ratio, gradient, shape_operator
from superovoid.shapes.poses import as_poses
from superovoid.values.poses import PosesLike
from superovoid.values.records import Record
from superovoid.values.status import Status, Words, differentiable_rows

FloatArray = NDArray[np.float64]

# Shapes of the fields of `Derivatives` that a row of `derive_pairs` holds.
_SHAPES = {
    "by_shape_a": (7,),
    "by_shape_b": (7,),
    "relative_curvatures": (2,),
    "relative_directions": (2, 3),
    "curvature_a": (2, 2),
    "curvature_b": (2, 2),
    "by_translation_twice": (3, 3),
}
AT, ROW_LENGTH = layout(1, **{name: math.prod(shape) for name, shape in _SHAPES.items()}, flags=float)


class DerivativeStatus(Words, IntFlag):
    """Properties of the contact at which derivatives were computed. `REGULAR` is the absence of every flag."""

    REGULAR = 0
    """The distance is differentiable, and the derivatives are those of a certified contact."""
    TOUCHING = 1
    """The interval contains zero. The signed distance is smooth at touch, so all derivatives are valid; the direction
    is that of the normal, not of the points."""
    NON_UNIQUE = 2
    """The points are one choice of many (parallel flats). The derivatives by translation are valid; those by rotation
    and by shape are one element of the generalised gradient, the one at these points."""
    FOCAL = 4
    """The overlap reaches a centre of curvature (concentric spheres): the normal is one choice of many, or not a
    minimum of the depth. First derivatives are those along this normal; `by_translation_twice` has no meaning."""
    SHARP = 8
    """A point is on a crease, or at a pole with an infinite or undefined curvature: curvatures are clipped. First
    derivatives are valid."""
    UNPROVEN = 16
    """The distance itself is not proved (`Status.UNPROVEN`): the derivatives are those of the contact found."""
    ARBITRARY_NORMAL = 32
    """Another separating translation is equally short (`Status.ARBITRARY_NORMAL`): the signed distance has a kink, and
    the derivatives are one-sided, for this normal."""
    OTHER_KIND = 64
    """A body is not a superovoid: derivatives by its shape, and curvatures and second derivatives of the pair, are
    nan."""


FOCAL, SHARP, OTHER_KIND = (
    int(flag) for flag in (DerivativeStatus.FOCAL, DerivativeStatus.SHARP, DerivativeStatus.OTHER_KIND)
)

_STRAIGHT = 1e-12  # curvature times size that replaces zero, so that no inverse is 0 / 0
_LEVI_CIVITA = np.cross(np.eye(3)[:, None], np.eye(3)).transpose(2, 0, 1)  # of cross products: `numpy.cross` is slow


@kernel
def _off_zero(point, dual, exponent):
    """A coordinate of exactly 0 moved to where dual / point is its limit, or beyond what `hessian` clips."""
    if point != 0.0 or dual != 0.0 or exponent > 2.0:
        return point, dual
    return (1e-120, 1e-120) if exponent == 2.0 else (1e-130, 1e-120)


@kernel
def with_finite_ratios(body, f):
    """The same point, with limits in place of the 0 / 0 that ratios of duals to points have on coordinate planes."""
    c, cd = _off_zero(f.C, f.Cd, body[surface.P])
    s, sd = _off_zero(f.S, f.Sd, body[surface.P])
    r, rd = _off_zero(f.r, f.rd, body[surface.S_])
    w, wd = _off_zero(f.w, f.wd, body[surface.S_])
    return SurfacePoint(c, s, cd, sd, r, w, rd, wd)


@kernel
def surface_point_at(body, x, n):
    """Surface point with duals from a point and its outward normal (local), each layer from the better of the two."""
    f = retract(body, x, n, 1.0, True, True)
    point_1 = point_chart(f.C, f.S, f.Cd, f.Sd, body[surface.P] - 1.0, dual_ratio(f.rd, f.r, body[surface.S_]))
    f = retract(body, x, n, f.r, point_1, True)
    point_2 = point_chart(f.r, f.w, f.rd, f.wd, body[surface.S_] - 1.0, 1.0)
    return with_finite_ratios(body, retract(body, x, n, f.r, point_1, point_2))


@kernel
def _entropy(x, y):
    """X log x + y log y for x + y = 1."""
    small = min(x, y)
    if small <= 0.0:
        return 0.0
    return small * math.log(small) + (1.0 - small) * math.log1p(-small)


@kernel
def by_shape(body, f):
    """F_theta / |grad F| for theta = a1, a2, a3, e1, e2, Tx, Ty."""
    kx = 1.0 + body[surface.TX] * f.w
    ky = 1.0 + body[surface.TY] * f.w
    alpha = f.C * f.Cd
    beta = f.S * f.Sd
    ring = f.r * f.rd
    per_gradient = 1.0 / norm(gradient(body, f))
    slope = f.wd - ring * (alpha * body[surface.TX] / kx + beta * body[surface.TY] / ky)
    return (
        -per_gradient * ring * alpha * body[surface.INV_A1],
        -per_gradient * ring * beta * body[surface.INV_A2],
        -per_gradient * f.w * slope * body[surface.INV_A3],
        -0.5 * per_gradient * ring * _entropy(alpha, beta),
        -0.5 * per_gradient * _entropy(ring, f.w * f.wd),
        -per_gradient * ring * alpha * f.w / kx,
        -per_gradient * ring * beta * f.w / ky,
    )


@kernel
def _turn_axes(matrix, cosine, sine):
    """Entries 11, 12, 22 of a symmetric matrix in axes turned by an angle."""
    s11, s12, s22 = matrix
    return (
        cosine * cosine * s11 + 2.0 * cosine * sine * s12 + sine * sine * s22,
        (cosine * cosine - sine * sine) * s12 + cosine * sine * (s22 - s11),
        sine * sine * s11 - 2.0 * cosine * sine * s12 + cosine * cosine * s22,
    )


@kernel
def _second_order(of_a, of_b, d, size):
    """Entries 11, 12, 22 of H (module docstring), and whether an overlap reaches a centre of curvature.

    `of_a` and `of_b` are the entries of the shape operators, d the signed distance and `size` that of the smaller body.
    """
    floor = _STRAIGHT / size
    a11, a12, a22 = of_a[0] + floor, of_a[1], of_a[2] + floor
    b11, b12, b22 = of_b[0] + floor, of_b[1], of_b[2] + floor
    det_a, det_b = a11 * a22 - a12 * a12, b11 * b22 - b12 * b12
    at_touch = (a11 + b11) * (a22 + b22) - (a12 + b12) * (a12 + b12)
    p, q = det_b * (a11 + a22) + det_a * (b11 + b22), det_a * det_b
    det = at_touch + d * (p + d * q)
    is_minimum = det > TOLERANCE * abs(at_touch) and p + 2.0 * d * q > 0.0
    h11 = (det_b * a11 + det_a * b11 + d * q) / det
    h22 = (det_b * a22 + det_a * b22 + d * q) / det
    return (h11, (det_b * a12 + det_a * b12) / det, h22), d < 0.0 and not is_minimum


@kernel
def _is_sharp(body, f):
    """Return whether the curvature is infinite, or has no limit (the pole of unlike exponents)."""
    return (
        f.rd >= MAX_CURVATURE_RATIO * f.r > 0.0
        or f.rd > f.r == 0.0
        or (f.r < TOLERANCE and body[surface.S_] == 2.0 != body[surface.P])
        or abs(f.wd) >= MAX_CURVATURE_RATIO * abs(f.w) > 0.0
        or abs(f.Cd) >= MAX_CURVATURE_RATIO * abs(f.C) > 0.0
        or abs(f.Sd) >= MAX_CURVATURE_RATIO * abs(f.S) > 0.0
    )


@kernel
def _put(values, out, first):
    """Write numbers from a place of a row on."""
    for i in range(len(values)):
        out[first + i] = values[i]


@kernel
def derive_pair(a, b, pose_a, pose_b, point_a, point_b, normal, out):
    """Compute the derivatives by shape and the curvatures of one contact (columns above).

    Derivatives by the shape of a body other than a superovoid are nan; curvatures are nan unless both are superovoids.
    """
    out[:] = math.nan
    n = vector_at(normal, 0)
    x = rotate_back(pose_a, from_origin(pose_a, point_a, 0))
    y = rotate_back(pose_b, from_origin(pose_b, point_b, 0))
    of_kinds = a[KIND] != SUPEROVOID or b[KIND] != SUPEROVOID
    if a[KIND] == SUPEROVOID:
        fa = surface_point_at(a, x, rotate_back(pose_a, n))
        _put(by_shape(a, fa), out, AT.by_shape_a)
    if b[KIND] == SUPEROVOID:
        fb = surface_point_at(b, y, rotate_back(pose_b, scale(-1.0, n)))
        _put(by_shape(b, fb), out, AT.by_shape_b)
    if of_kinds:
        out[AT.flags] = OTHER_KIND
        return

    t1, t2 = tangent_frame(n)
    per_a, per_b = 1.0 / norm(gradient(a, fa)), 1.0 / norm(gradient(b, fb))
    of_a = shape_operator(a, fa, rotate_back(pose_a, t1), rotate_back(pose_a, t2), per_a)
    of_b = shape_operator(b, fb, rotate_back(pose_b, t1), rotate_back(pose_b, t2), per_b)
    s11, s12, s22 = add(of_a, of_b)
    angle = 0.5 * math.atan2(2.0 * s12, s11 - s22) + 0.5 * math.pi  # least curvature first
    cosine, sine = math.cos(angle), math.sin(angle)
    t1, t2 = combine(cosine, t1, sine, t2), combine(-sine, t1, cosine, t2)
    of_a, of_b = _turn_axes(of_a, cosine, sine), _turn_axes(of_b, cosine, sine)
    d = dot(sub(vector_at(point_b, 0), vector_at(point_a, 0)), n)  # signed, and zero at touch
    twice, is_focal = _second_order(of_a, of_b, d, min(a[surface.SIZE], b[surface.SIZE]))
    _put((of_a[0], of_a[1], of_a[1], of_a[2]), out, AT.curvature_a)
    _put((of_b[0], of_b[1], of_b[1], of_b[2]), out, AT.curvature_b)
    out[AT.relative_curvatures], out[AT.relative_curvatures + 1] = of_a[0] + of_b[0], of_a[2] + of_b[2]
    for i in range(3):
        out[AT.relative_directions + i], out[AT.relative_directions + 3 + i] = t1[i], t2[i]
        for j in range(3):
            mixed = t1[i] * t2[j] + t2[i] * t1[j]
            out[AT.by_translation_twice + 3 * i + j] = (
                twice[0] * t1[i] * t1[j] + twice[1] * mixed + twice[2] * t2[i] * t2[j]
            )
    out[AT.flags] = (SHARP if _is_sharp(a, fa) or _is_sharp(b, fb) else 0) + (FOCAL if is_focal else 0)


@entry_point(nogil=True)
def derive_pairs(
    pairs: Pairs, which: Ints1, points_a: Floats2, points_b: Floats2, normals: Floats2, out: Floats2
) -> None:
    """`derive_pair` for the pairs named."""
    for k in range(which.shape[0]):
        i = which[k]
        a, b = bodies_of(pairs, i)
        derive_pair(a.row, b.row, a.pose, b.pose, points_a[i], points_b[i], normals[i], out[i])


def flags_of(result: DistanceResult | DistanceResults) -> NDArray[np.uint8]:
    """Return the flags of derivatives that follow from the interval and the status of a distance."""
    flags = np.uint8(DerivativeStatus.TOUCHING) * np.asarray((result.lower <= 0.0) & (result.upper >= 0.0))
    for name in ("NON_UNIQUE", "ARBITRARY_NORMAL", "UNPROVEN"):
        flags |= np.uint8(DerivativeStatus[name]) * ((result.status & np.uint8(Status[name])) != 0)
    return flags


@dataclass(frozen=True, eq=False, repr=False)
class PoseGradients(Record):
    """Derivatives of the signed distance by the poses, as `Derivatives` has them; unpacked, they are two arrays."""

    by_pose_a: FloatArray
    """d(distance)/d(twist of A), shape (..., 6): m/m and m/rad."""
    by_pose_b: FloatArray
    """d(distance)/d(twist of B), shape (..., 6)."""
    status: Status | NDArray[np.uint8]
    """Status of the result. If `differentiable`, the gradients are the derivatives."""

    @property
    def differentiable(self) -> bool | NDArray[np.bool_]:
        """`Status.differentiable`; an array for many results."""
        return self.status.differentiable if isinstance(self.status, Status) else differentiable_rows(self.status)

    def __iter__(self) -> Iterator[FloatArray]:
        """``by_pose_a, by_pose_b = pose_gradients(...)``."""
        return iter((self.by_pose_a, self.by_pose_b))


@dataclass(frozen=True, eq=False, repr=False)
class Derivatives(Record):
    """Derivatives of the signed distance at a contact; arrays have a leading axis if the results have one.

    A pose varies by a twist (linear; angular): velocity of the origin of the body's frame and angular velocity of the
    body, both in the axes of the world, m and rad (REP-103). So ``pose`` becomes, to first order,
    ``[exp(angular) R, p + linear]``.
    """

    by_pose_a: FloatArray
    """d(distance)/d(twist of A), shape (..., 6): m/m and m/rad."""
    by_pose_b: FloatArray
    """d(distance)/d(twist of B), shape (..., 6)."""
    by_shape_a: FloatArray
    """d(distance)/d(a1, a2, a3, epsilon_1, epsilon_2, Tx, Ty) of A, shape (..., 7), at fixed poses."""
    by_shape_b: FloatArray
    """The same for B."""
    relative_curvatures: FloatArray
    """Principal values of S_A + S_B, shape (..., 2), 1/m, ascending: the curvatures of the gap between the surfaces,
    measured along the normal over the tangent plane. At touch those of Hertz."""
    relative_directions: FloatArray
    """Their directions, shape (..., 2, 3), unit, world."""
    curvature_a: FloatArray
    """Shape operator S_A in these directions, shape (..., 2, 2), 1/m, positive where A is convex."""
    curvature_b: FloatArray
    """Shape operator S_B in these directions, shape (..., 2, 2), 1/m."""
    by_translation_twice: FloatArray
    """Second derivative of the distance by a translation of B (or of A), shape (..., 3, 3), 1/m, world."""
    status: DerivativeStatus | NDArray[np.uint8]

    @property
    def relative_radii(self) -> FloatArray:
        """1 / `relative_curvatures`, shape (..., 2), m; infinite if the gap has no curvature."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.relative_curvatures


def pose_gradients(result: DistanceResult | DistanceResults, pose_a: PosesLike, pose_b: PosesLike) -> PoseGradients:
    """Derivatives of the signed distance by the poses, for bodies of any kind.

    Parameters
    ----------
    result : DistanceResult or DistanceResults
        Answers at these poses.
    pose_a, pose_b : (4, 4) or (n, 4, 4) array_like
        Poses, body to world, m; a single one is used for every pair.

    Returns
    -------
    PoseGradients
        `by_pose_a` and `by_pose_b`, shape (6,) or (n, 6) as the result is one or many: by twists (linear; angular)
        about the origins of the bodies' frames, in the axes of the world (`Derivatives`).

    Raises
    ------
    TypeError
        If `result` is anything else.
    ValueError
        If a pose is not a rigid transform, or lengths do not match.

    Notes
    -----
    By a translation the distance changes by the normal's part of it; by a rotation, by that of the motion of the
    contact point (envelope theorem: docs/explanation/certificates.md). About another point p of the body, the angular
    part is that given plus ``(origin - p) x linear part``.
    """
    if not isinstance(result, DistanceResult | DistanceResults):
        raise TypeError(f"result: must be a DistanceResult or DistanceResults, found {type(result).__name__}")
    n = result.normal
    pose_a, pose_b = _poses_for("pose_a", pose_a, n), _poses_for("pose_b", pose_b, n)
    return PoseGradients(
        -np.concatenate([n, np.einsum("ijk,...j,...k", _LEVI_CIVITA, result.point_a - pose_a[..., :3, 3], n)], axis=-1),
        np.concatenate([n, np.einsum("ijk,...j,...k", _LEVI_CIVITA, result.point_b - pose_b[..., :3, 3], n)], axis=-1),
        result.status,
    )


def derivatives(
    a: Shapes,
    pose_a: PosesLike,
    b: Shapes,
    pose_b: PosesLike,
    result: DistanceResult | DistanceResults,
    *,
    threads: int | None = None,
) -> Derivatives:
    """Derivatives of the signed distance by pose and shape, and the curvatures at the contact.

    Parameters
    ----------
    a, b : Shape, ShapeArray or sequence of Shape
        The bodies of each pair, of any kinds; a single one is used for every pair. Derivatives by a shape are those of
        superovoids, curvatures those of two superovoids, and nan for other kinds.
    pose_a, pose_b : (4, 4) or (n, 4, 4) array_like
        Poses, body to world, m; a single one is used for every pair.
    result : DistanceResult or DistanceResults
        Answer of `distance` or `distances` for these bodies at these poses.
    threads : int, optional
        Number of threads for many pairs; None: at most one for each processor, fewer if more would not be faster. The
        results do not depend on it.

    Returns
    -------
    Derivatives
        Check `status`: some derivatives may be one-sided.

    Raises
    ------
    ValueError
        If a pose is not a rigid transform, lengths do not match, or `threads` is not positive.
    TypeError
        If a shape is not one of `superovoid.shapes`.

    Examples
    --------
    >>> import numpy as np
    >>> from superovoid import Sphere, derivatives, distance
    >>> apart = np.eye(4)
    >>> apart[0, 3] = 3.0
    >>> result = distance(Sphere(1.0), np.eye(4), Sphere(0.5), apart)
    >>> found = derivatives(Sphere(1.0), np.eye(4), Sphere(0.5), apart, result)
    >>> (found.by_pose_b + 0.0).round(9).tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    >>> found.relative_curvatures.round(9).tolist()
    [3.0, 3.0]
    """
    by_pose_a, by_pose_b = pose_gradients(result, pose_a, pose_b)
    points_a, points_b, normals = (
        np.array(each, ndmin=2, order="C") for each in (result.point_a, result.point_b, result.normal)
    )
    pairs, _ = pairs_of(a, pose_a, b, pose_b, {"result": len(normals)})
    out = np.empty((len(normals), ROW_LENGTH))
    share_pairs(
        np.arange(len(normals)),
        lambda which, _: derive_pairs(pairs, which, points_a, points_b, normals, out),
        threads,
    )
    rows = out.reshape(*result.normal.shape[:-1], ROW_LENGTH)
    status = rows[..., AT.flags].astype(np.uint8) | flags_of(result)
    return Derivatives(
        by_pose_a,
        by_pose_b,
        status=DerivativeStatus(int(status)) if result.normal.ndim == 1 else status,
        **{
            name: rows[..., getattr(AT, name) :][..., : math.prod(shape)].reshape(*rows.shape[:-1], *shape)
            for name, shape in _SHAPES.items()
        },
    )


def _poses_for(name: str, poses: PosesLike, normals: FloatArray) -> FloatArray:
    array = as_poses(name, poses)
    expected = (*normals.shape[:-1], 4, 4)
    if array.shape not in ((4, 4), expected):
        raise ValueError(f"{name}: must have shape (4, 4) or {expected} as the result, found {array.shape}")
    return array
