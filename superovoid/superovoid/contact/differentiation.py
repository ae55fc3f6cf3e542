# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""First derivatives of the signed distance by pose and by shape, and the curvatures at a contact.

sd = max over |n| = 1 of n . c - h_A(n) - h_B(-n) is stationary in n, and at a contact h is stationary in the point, so
first derivatives need neither the derivative of the normal nor that of the points (docs/derivatives.md):

    by a motion of B     n . (v + omega x (x_B - o_B))            and minus the same with x_A, o_A by one of A
    by a parameter       -dh/dtheta = F_theta / |grad F|          at the contact, for either body

Both hold apart, at touch and overlapping. With the points with duals of `shapes.kernels.surface` the derivatives of F
are products and entropies, free of cancellation (alpha = C Cd, beta = S Sd, A = r rd, B = w wd; all divided by s):

    a1: -A alpha / a1     a2: -A beta / a2     a3: -w (wd - r rd (alpha tx + beta ty)) / a3
    Tx: -A alpha w / kx   Ty: -A beta w / ky
    e1: -A (alpha log alpha + beta log beta) / 2                  e2: -(A log A + B log B) / 2

Second order: S_A, S_B the shape operators in the tangent plane. S_A + S_B is the curvature of the gap along n over that
plane, and (S_A^-1 + S_B^-1 + d I)^-1 = S_A (S_A + S_B + d S_B S_A)^-1 S_B the second derivative of the distance by a
translation of B.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from superovoid.compiled.arrays import Floats2, Ints1
from superovoid.compiled.kernels import entry_point, kernel
from superovoid.compiled.vector import combine, norm, rotate_back, scale, sub, tangent_frame
from superovoid.contact.broadcasting import Pairs, own_or_only, pairs_of, share_pairs
from superovoid.contact.inputs import as_poses
from superovoid.contact.results import DistanceResult, DistanceResults
from superovoid.shapes import Shape
from superovoid.shapes.kernels.kinds import KIND, SUPEROVOID
from superovoid.shapes.kernels.support_function import support
from superovoid.shapes.kernels.surface import (
    A1,
    A2,
    A3,
    INV_A1,
    INV_A2,
    INV_A3,
    INV_P,
    INV_Q,
    INV_S,
    INV_T,
    S_,
    SIZE,
    T_,
    TX,
    TY,
    P,
    Q,
    SurfacePoint,
    gradient,
    position,
    power,
    shape_operator,
    unit_curve_from_normal,
    unit_curve_from_point,
)
from superovoid.values.poses import PosesLike
from superovoid.values.records import Record
from superovoid.values.status import Status, Words, differentiable_rows

FloatArray = NDArray[np.float64]

# Columns of a row of `derive_pairs`.
SHAPE_A, SHAPE_B, CURVATURE_A, CURVATURE_B, RELATIVE, DIRECTIONS, TRANSLATION, FLAGS = 0, 7, 14, 17, 20, 22, 28, 34
ROW_LENGTH = 35

NON_UNIQUE, FOCAL, SHARP, OTHER_KIND = 2, 4, 8, 64

_CHART_SLOPE = 4.0  # d(normal)/d(point) from which on a layer is read from the normal (as in _newton)
_TURN, _SLIDE = 1e-6, 1e-3  # rad that move the points by this part of the smaller body: they are one choice of many
_STRAIGHT = 1e-12  # curvature times size that stands for none, so that no inverse is 0 / 0
_FOCUS = 1e-7  # part of the curvature at touch below which a depth is no proper minimum
_SHARP = 1e8  # ratio of dual to point at which `hessian` clips the curvature
_POLE = 1e-9  # meridian radius below which the point is the pole


@kernel
def _slope(u, v, exponent):
    """d(normal)/d(point) of a unit curve at (u, v)."""
    small, large = min(abs(u), abs(v)), max(abs(u), abs(v))
    if exponent == 2.0:
        return 1.0
    ratio = small / large
    if ratio == 0.0:
        return 0.0 if exponent > 2.0 else math.inf
    return (exponent - 1.0) * math.exp((exponent - 2.0) * math.log(ratio))


@kernel
def _off_zero(point, dual, exponent):
    """A coordinate of exactly 0 moved to where dual / point is its limit, or beyond what `hessian` clips."""
    if point != 0.0 or dual != 0.0 or exponent > 2.0:
        return point, dual
    return (1e-120, 1e-120) if exponent == 2.0 else (1e-130, 1e-120)


@kernel
def off_axes(body, f):
    """The same point, with limits in place of the 0 / 0 that ratios of duals to points have on coordinate planes."""
    c, cd = _off_zero(f.C, f.Cd, body[P])
    s, sd = _off_zero(f.S, f.Sd, body[P])
    r, rd = _off_zero(f.r, f.rd, body[S_])
    w, wd = _off_zero(f.w, f.wd, body[S_])
    return SurfacePoint(c, s, cd, sd, r, w, rd, wd)


@kernel
def surface_point_at(body, x, n):
    """Surface point with duals from a point and its outward normal (local), each layer from the better of the two."""
    w = min(1.0, max(-1.0, x[2] * body[INV_A3]))
    kx = 1.0 + body[TX] * w
    ky = 1.0 + body[TY] * w
    u = x[0] * body[INV_A1] / kx
    v = x[1] * body[INV_A2] / ky
    n1 = body[A1] * kx * n[0]
    n2 = body[A2] * ky * n[1]
    c, s, cd, sd = unit_curve_from_point(u, v, body[P], body[INV_P])
    r = u * cd + v * sd
    ring = power(r, body[S_] - 2.0) if r > 1e-12 else (0.0 if body[S_] > 2.0 else 1e12)
    if _slope(u, v, body[P]) * ring > _CHART_SLOPE and abs(n1) + abs(n2) > 1e-100:
        c, s, cd, sd = unit_curve_from_normal(n1, n2, body[Q], body[INV_Q])
        r = max(u * cd + v * sd, 0.0)
    if _slope(r, w, body[S_]) > _CHART_SLOPE:
        g = max(n1 * c + n2 * s, 0.0)
        n3 = body[A3] * n[2] + g * r * (c * cd * body[TX] / kx + s * sd * body[TY] / ky)
        r, w, rd, wd = unit_curve_from_normal(g, n3, body[T_], body[INV_T])
    else:
        r, w, rd, wd = unit_curve_from_point(r, w, body[S_], body[INV_S])
    return off_axes(body, SurfacePoint(c, s, cd, sd, r, w, rd, wd))


@kernel
def _entropy(x, y):
    """X log x + y log y for x + y = 1."""
    small = min(x, y)
    if small <= 0.0:
        return 0.0
    return small * math.log(small) + (1.0 - small) * math.log1p(-small)


@kernel
def _by_shape(body, f, out):
    """F_theta / |grad F| for theta = a1, a2, a3, e1, e2, Tx, Ty."""
    kx = 1.0 + body[TX] * f.w
    ky = 1.0 + body[TY] * f.w
    alpha = f.C * f.Cd
    beta = f.S * f.Sd
    ring = f.r * f.rd
    per_gradient = 1.0 / norm(gradient(body, f))
    slope = f.wd - ring * (alpha * body[TX] / kx + beta * body[TY] / ky)
    out[0] = -per_gradient * ring * alpha * body[INV_A1]
    out[1] = -per_gradient * ring * beta * body[INV_A2]
    out[2] = -per_gradient * f.w * slope * body[INV_A3]
    out[3] = -0.5 * per_gradient * ring * _entropy(alpha, beta)
    out[4] = -0.5 * per_gradient * _entropy(ring, f.w * f.wd)
    out[5] = -per_gradient * ring * alpha * f.w / kx
    out[6] = -per_gradient * ring * beta * f.w / ky


@kernel
def _turned(s11, s12, s22, cosine, sine):
    """A symmetric matrix in axes turned by an angle."""
    return (
        cosine * cosine * s11 + 2.0 * cosine * sine * s12 + sine * sine * s22,
        (cosine * cosine - sine * sine) * s12 + cosine * sine * (s22 - s11),
        sine * sine * s11 - 2.0 * cosine * sine * s12 + cosine * cosine * s22,
    )


@kernel
def _is_sharp(body, f):
    """Whether the curvature is infinite, or has no limit (the pole of unlike exponents)."""
    return (
        f.rd >= _SHARP * f.r > 0.0
        or f.rd > f.r == 0.0
        or (f.r < _POLE and body[S_] == 2.0 != body[P])
        or abs(f.wd) >= _SHARP * abs(f.w) > 0.0
        or abs(f.Cd) >= _SHARP * abs(f.C) > 0.0
        or abs(f.Sd) >= _SHARP * abs(f.S) > 0.0
    )


@kernel
def _slide(body, pose, x, n):
    """How far the support point along a direction (world) is from a point (local)."""
    f, _ = support(body, rotate_back(pose, n))
    return norm(sub(position(body, f), x))


@kernel
def slides(a, b, pose_a, pose_b, x, y, n, t, size):
    """Whether a slight turn about n x t moves the points (local) along the flats of both bodies."""
    for sign in (1.0, -1.0):
        tilted = combine(1.0, n, sign * _TURN, t)
        on_a = _slide(a, pose_a, x, tilted)
        on_b = _slide(b, pose_b, y, scale(-1.0, tilted))
        if min(on_a, on_b) > _SLIDE * size:
            return True
    return False


@kernel
def derive_pair(a, b, pose_a, pose_b, point_a, point_b, normal, out):
    """Derivatives by shape and curvatures of one contact (columns above).

    Those by the shape of a body that is no superovoid are nan, and so are curvatures unless both are superovoids.
    """
    out[:] = math.nan
    n = (normal[0], normal[1], normal[2])
    from_a = (point_a[0] - pose_a[0, 3], point_a[1] - pose_a[1, 3], point_a[2] - pose_a[2, 3])
    from_b = (point_b[0] - pose_b[0, 3], point_b[1] - pose_b[1, 3], point_b[2] - pose_b[2, 3])
    x = rotate_back(pose_a, from_a)
    y = rotate_back(pose_b, from_b)
    of_kinds = a[KIND] != SUPEROVOID or b[KIND] != SUPEROVOID
    if a[KIND] == SUPEROVOID:
        fa = surface_point_at(a, x, rotate_back(pose_a, n))
        _by_shape(a, fa, out[SHAPE_A : SHAPE_A + 7])
    if b[KIND] == SUPEROVOID:
        fb = surface_point_at(b, y, rotate_back(pose_b, scale(-1.0, n)))
        _by_shape(b, fb, out[SHAPE_B : SHAPE_B + 7])
    if of_kinds:
        out[FLAGS] = OTHER_KIND
        return

    t1, t2 = tangent_frame(n)
    per_a, per_b = 1.0 / norm(gradient(a, fa)), 1.0 / norm(gradient(b, fb))
    a11, a12, a22 = shape_operator(a, fa, rotate_back(pose_a, t1), rotate_back(pose_a, t2), per_a)
    b11, b12, b22 = shape_operator(b, fb, rotate_back(pose_b, t1), rotate_back(pose_b, t2), per_b)
    angle = 0.5 * math.atan2(2.0 * (a12 + b12), a11 + b11 - a22 - b22) + 0.5 * math.pi  # least curvature first
    cosine, sine = math.cos(angle), math.sin(angle)
    t1, t2 = combine(cosine, t1, sine, t2), combine(-sine, t1, cosine, t2)
    a11, a12, a22 = _turned(a11, a12, a22, cosine, sine)
    b11, b12, b22 = _turned(b11, b12, b22, cosine, sine)
    out[CURVATURE_A], out[CURVATURE_A + 1], out[CURVATURE_A + 2] = a11, a12, a22
    out[CURVATURE_B], out[CURVATURE_B + 1], out[CURVATURE_B + 2] = b11, b12, b22
    out[RELATIVE], out[RELATIVE + 1] = a11 + b11, a22 + b22
    for i in range(3):
        out[DIRECTIONS + i], out[DIRECTIONS + 3 + i] = t1[i], t2[i]

    size = min(a[SIZE], b[SIZE])
    flags = 0
    if abs(a11 + b11) * size < 100.0 * _TURN / _SLIDE and slides(a, b, pose_a, pose_b, x, y, n, t1, size):
        flags |= NON_UNIQUE
    if _is_sharp(a, fa) or _is_sharp(b, fb):
        flags |= SHARP
    floor = _STRAIGHT / size
    a11, a22, b11, b22 = a11 + floor, a22 + floor, b11 + floor, b22 + floor
    d = (
        n[0] * (point_b[0] - point_a[0]) + n[1] * (point_b[1] - point_a[1]) + n[2] * (point_b[2] - point_a[2])
    )  # not |u|: signed, and zero at touch
    m11 = a11 + b11 + d * (b11 * a11 + b12 * a12)
    m12 = a12 + b12 + d * (b11 * a12 + b12 * a22)
    m21 = a12 + b12 + d * (b12 * a11 + b22 * a12)
    m22 = a22 + b22 + d * (b12 * a12 + b22 * a22)
    det = m11 * m22 - m12 * m21
    if d < 0.0:
        # S_A^-1 + S_B^-1 + d I is positive definite where the depth is a proper minimum over the directions.
        det_a = a11 * a22 - a12 * a12
        det_b = b11 * b22 - b12 * b12
        det_0 = (a11 + b11) * (a22 + b22) - (a12 + b12) ** 2
        trace = (a11 + a22) * det_b + (b11 + b22) * det_a + 2.0 * d * det_a * det_b
        if not (det > _FOCUS * abs(det_0) and trace > 0.0):
            flags |= FOCAL
    # S_A M^-1 S_B
    p11 = (m22 * b11 - m12 * b12) / det
    p12 = (m22 * b12 - m12 * b22) / det
    p21 = (m11 * b12 - m21 * b11) / det
    p22 = (m11 * b22 - m21 * b12) / det
    h11 = a11 * p11 + a12 * p21
    h12 = 0.5 * (a11 * p12 + a12 * p22 + a12 * p11 + a22 * p21)
    h22 = a12 * p12 + a22 * p22
    k = TRANSLATION
    for i in range(3):
        for j in range(i, 3):
            out[k] = h11 * t1[i] * t1[j] + h12 * (t1[i] * t2[j] + t2[i] * t1[j]) + h22 * t2[i] * t2[j]
            k += 1
    out[FLAGS] = flags


@entry_point(nogil=True)
def derive_pairs(
    pairs: Pairs, which: Ints1, points_a: Floats2, points_b: Floats2, normals: Floats2, out: Floats2
) -> None:
    """`derive_pair` for the pairs named."""
    for k in range(which.shape[0]):
        i = which[k]
        a, b = pairs.rows[pairs.a[i]], pairs.rows[pairs.b[i]]
        pose_a, pose_b = pairs.poses_a[own_or_only(pairs.poses_a, i)], pairs.poses_b[own_or_only(pairs.poses_b, i)]
        derive_pair(a, b, pose_a, pose_b, points_a[i], points_b[i], normals[i], out[i])


class DerivativeStatus(Words, IntFlag):
    """What is particular about a point at which derivatives were asked for. `REGULAR` is the absence of every flag."""

    REGULAR = 0
    """The distance is differentiable, and the derivatives are those of a certified contact."""
    TOUCHING = 1
    """The interval holds zero. The signed distance passes through touch smoothly, so everything holds; the direction
    comes from the normal, not from the points."""
    NON_UNIQUE = NON_UNIQUE
    """The points are one choice of many (parallel flats). The derivatives by translation hold; those by rotation and by
    shape are one element of the generalised gradient, the one of the points that were given."""
    FOCAL = FOCAL
    """The overlap reaches a centre of curvature (concentric spheres): the normal is one choice of many, or no minimum
    of the depth. First derivatives are those along that normal; `by_translation_twice` means nothing there."""
    SHARP = SHARP
    """A point on a crease, or at a pole, where the curvature is infinite or has no limit: curvatures are clipped.
    First derivatives hold."""
    UNPROVEN = 16
    """The distance itself is not proved (`Status.UNPROVEN`): the derivatives are those of the contact found."""
    ARBITRARY_NORMAL = 32
    """Another direction separates the bodies by as short a way (`Status.ARBITRARY_NORMAL`): the signed distance has a
    kink there, and the derivatives are those on the side of the normal given."""
    OTHER_KIND = OTHER_KIND
    """A body is no superovoid: derivatives by its shape are nan, and curvatures and second derivatives of the pair."""


@dataclass(frozen=True, eq=False, repr=False)
class PoseGradients(Record):
    """Derivatives of the signed distance by the poses, as `Derivatives` has them; unpacked, they are two arrays."""

    by_pose_a: FloatArray
    """d(distance)/d(twist of A), shape (..., 6): m/m and m/rad."""
    by_pose_b: FloatArray
    """d(distance)/d(twist of B), shape (..., 6)."""
    status: Status | NDArray[np.uint8]
    """Of the result: `differentiable` says whether the gradients are the derivative."""

    @property
    def differentiable(self) -> bool | NDArray[np.bool_]:
        """`Status.differentiable`, of each row where there are many."""
        return self.status.differentiable if isinstance(self.status, Status) else differentiable_rows(self.status)

    def __iter__(self) -> Iterator[FloatArray]:
        """``by_pose_a, by_pose_b = pose_gradients(...)``."""
        return iter((self.by_pose_a, self.by_pose_b))


@dataclass(frozen=True, eq=False, repr=False)
class Derivatives(Record):
    """Derivatives of the signed distance at a contact; arrays have a leading axis where the results had one.

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
        """1 / `relative_curvatures`, shape (..., 2), m; infinite where the gap is straight."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.relative_curvatures


def pose_gradients(result: DistanceResult | DistanceResults, pose_a: PosesLike, pose_b: PosesLike) -> PoseGradients:
    """Derivatives of the signed distance by the poses, for bodies of any kind.

    Parameters
    ----------
    result : DistanceResult or DistanceResults
        Answers at these poses.
    pose_a, pose_b : (4, 4) or (n, 4, 4) array_like
        Poses, body to world, m; a single one stands in every pair.

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
    contact point (envelope theorem: docs/derivatives.md). About another point p of the body, the angular part is that
    given plus ``(origin - p) x linear part``.
    """
    if not isinstance(result, DistanceResult | DistanceResults):
        raise TypeError(f"result: must be a DistanceResult or DistanceResults, found {type(result).__name__}")
    n = result.normal
    pose_a, pose_b = _poses_for("pose_a", pose_a, n), _poses_for("pose_b", pose_b, n)
    return PoseGradients(
        -np.concatenate([n, np.cross(result.point_a - pose_a[..., :3, 3], n)], axis=-1),
        np.concatenate([n, np.cross(result.point_b - pose_b[..., :3, 3], n)], axis=-1),
        result.status,
    )


def derivatives(
    a: Shape | Sequence[Shape],
    pose_a: PosesLike,
    b: Shape | Sequence[Shape],
    pose_b: PosesLike,
    result: DistanceResult | DistanceResults,
    *,
    threads: int | None = None,
) -> Derivatives:
    """Derivatives of the signed distance by pose and shape, and the curvatures at the contact.

    Parameters
    ----------
    a, b : Shape or sequence of Shape
        The bodies of each pair, of any kinds; a single one stands in every pair. Derivatives by a shape are those of
        superovoids, curvatures those of two superovoids, and nan for other kinds.
    pose_a, pose_b : (4, 4) or (n, 4, 4) array_like
        Poses, body to world, m; a single one stands in every pair.
    result : DistanceResult or DistanceResults
        Answer of `distance` or `distances` for these bodies at these poses.
    threads : int, optional
        Threads to share many pairs among; None: as many as there are processors and as pay. The answers are the same
        for any number.

    Returns
    -------
    Derivatives
        `status` says where a derivative is one of several.

    Raises
    ------
    ValueError
        If a pose is not a rigid transform, lengths do not match, or `threads` is not positive.
    TypeError
        If a shape is none of ours.

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
    single = result.normal.ndim == 1
    points_a, points_b, normals = (
        np.array(np.atleast_2d(each), order="C") for each in (result.point_a, result.point_b, result.normal)
    )
    pairs, _ = pairs_of(a, pose_a, b, pose_b, {"result": len(normals)})
    out = np.empty((len(normals), ROW_LENGTH))
    share_pairs(
        np.arange(len(normals)),
        lambda which, _: derive_pairs(pairs, which, points_a, points_b, normals, out),
        threads,
    )
    status = out[:, FLAGS].astype(np.uint8)
    of_engine = np.asarray(result.status, dtype=np.uint8)
    for flag, holds in (
        (DerivativeStatus.TOUCHING, (np.asarray(result.lower) <= 0.0) & (np.asarray(result.upper) >= 0.0)),
        (DerivativeStatus.NON_UNIQUE, of_engine & np.uint8(Status.NON_UNIQUE) != 0),
        (DerivativeStatus.ARBITRARY_NORMAL, of_engine & np.uint8(Status.ARBITRARY_NORMAL) != 0),
        (DerivativeStatus.UNPROVEN, of_engine & np.uint8(Status.UNPROVEN) != 0),
    ):
        status |= np.where(holds, np.uint8(flag), np.uint8(0))
    square = [[0, 1], [1, 2]]
    cube = [[0, 1, 2], [1, 3, 4], [2, 4, 5]]
    fields = {
        "by_shape_a": out[:, SHAPE_A : SHAPE_A + 7],
        "by_shape_b": out[:, SHAPE_B : SHAPE_B + 7],
        "relative_curvatures": out[:, RELATIVE : RELATIVE + 2],
        "relative_directions": out[:, DIRECTIONS : DIRECTIONS + 6].reshape(-1, 2, 3),
        "curvature_a": out[:, CURVATURE_A : CURVATURE_A + 3][:, square],
        "curvature_b": out[:, CURVATURE_B : CURVATURE_B + 3][:, square],
        "by_translation_twice": out[:, TRANSLATION : TRANSLATION + 6][:, cube],
    }
    if single:
        fields = {name: value[0] for name, value in fields.items()}
    return Derivatives(
        by_pose_a,
        by_pose_b,
        **fields,
        status=DerivativeStatus(int(status[0])) if single else status,
    )


def _poses_for(name: str, poses: PosesLike, normals: FloatArray) -> FloatArray:
    array = as_poses(name, poses)
    expected = (*normals.shape[:-1], 4, 4)
    if array.shape not in ((4, 4), expected):
        raise ValueError(f"{name}: must have shape (4, 4) or {expected} as the result, found {array.shape}")
    return array
