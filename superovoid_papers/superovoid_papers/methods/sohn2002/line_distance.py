# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public interface of distances and common normals."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.shapes import Cone, Cylinder, Superovoid, Torus
from superovoid.shapes.poses import as_poses
from superovoid_papers.methods.lopes2010 import Quadric
from superovoid_papers.methods.result import MethodResult, unproven_result
from superovoid_papers.methods.sohn2002 import one_root
from superovoid_papers.methods.sohn2002.all_normals import CommonNormals, collect, ellipsoid_feet, round_feet
from superovoid_papers.methods.sohn2002.congruences import CIRCLE, CONE, CYLINDER, POINT, ellipsoid_kind
from superovoid_papers.methods.sohn2002.freeform import FreeForm, patch_distance, patch_feet
from superovoid_papers.methods.sohn2002.quadric_pairs import canonical, quadric_feet

FloatArray = NDArray[np.float64]
Body = Superovoid | Cylinder | Cone | Torus | FreeForm

_ROUND = {
    Cylinder: (CYLINDER, lambda s: (s.radius, 0.5 * s.length)),
    Cone: (CONE, lambda s: (s.radius, 0.5 * s.length)),
    Torus: (CIRCLE, lambda s: (s.major_radius, s.minor_radius)),
}


def round_kind(shape: Cylinder | Cone | Torus) -> tuple[int, tuple[float, float]]:
    """Return kind and size of a solid about z for the kernels."""
    kind, size = _ROUND[type(shape)]
    return kind, size(shape)


def _is_ellipsoid(shape: object) -> bool:
    return (
        isinstance(shape, Superovoid)
        and (shape.section_exponent, shape.profile_exponent) == (1.0, 1.0)
        and shape.taper == (0.0, 0.0)
    )


def _is_turned(a: Body, b: Body) -> bool:
    """Return whether the solvers need the bodies swapped: bodies other than ellipsoids come first, then spheres.

    Raises
    ------
    ValueError
        If the paper does not treat the kind of a body, or neither is an ellipsoid.
    """
    for name, shape in (("a", a), ("b", b)):
        if not (_is_ellipsoid(shape) or type(shape) in _ROUND or isinstance(shape, FreeForm)):
            raise ValueError(f"{name} = {shape!r}: must be an ellipsoid, Cylinder, Cone, Torus or FreeForm")
    if not (_is_ellipsoid(a) or _is_ellipsoid(b)):
        raise ValueError(f"a, b = {a!r}, {b!r}: one of them must be an ellipsoid")
    if not _is_ellipsoid(a):
        return False
    return not _is_ellipsoid(b) or (ellipsoid_kind(b.semi_axes) == POINT and ellipsoid_kind(a.semi_axes) != POINT)


def _relative_pose(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return rotation and translation of the second pose in the frame of the first."""
    return first[:3, :3].T @ second[:3, :3], first[:3, :3].T @ (second[:3, 3] - first[:3, 3])


def distance(
    a: Body,
    pose_a: ArrayLike,
    b: Body,
    pose_b: ArrayLike,
    *,
    roots: Literal["newton", "all"] = "newton",
    rounds: int = 3,
    attempts: int = 100,
    iterations: int = 20,
    rtol: float = 1e-9,
) -> MethodResult:
    """Compute the distance of an ellipsoid from an ellipsoid, cylinder, cone, torus or free-form surface.

    Parameters
    ----------
    a, b : Ellipsoid, Sphere, Cylinder, Cone, Torus or FreeForm
        At least one must be an ellipsoid.
    pose_a, pose_b : (4, 4) array_like
        Body to world, m.
    roots : {"newton", "all"}
        "newton": the paper's scheme, one root after another until one passes the check. It assumes separate bodies, and
        for a torus or a surface it may end in a local minimum. "all": the best of all common normals, which also gives
        the depth of two overlapping convex bodies.
    rounds : int
        Number of feet on both bodies in turn before Newton's method starts.
    attempts : int
        Largest number of starts of Newton's method.
    iterations : int
        Largest number of Newton steps of each.
    rtol : float
        Largest distance of the closest points from their common normal, in units of the larger body's largest radius.

    Returns
    -------
    MethodResult
        Nothing is proved. `converged`: a root passed the check. It is False for overlapping bodies, except for two
        convex ones with `roots` = "all" if all roots were found. `iterations` counts Newton steps.

    Raises
    ------
    ValueError
        If the paper does not treat the pair, or an option or a pose is invalid.

    References
    ----------
    Sohn, Jüttler, Kim, Wang, "Computing distances between surfaces using line geometry", Pacific Graphics 2002.
    """
    if roots not in ("newton", "all"):
        raise ValueError(f"roots = {roots!r}: must be 'newton' or 'all'")
    for name, value in (("rounds", rounds), ("attempts", attempts), ("iterations", iterations)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} = {value!r}: must be a positive integer")
    if not (isinstance(rtol, int | float | np.floating) and 0.0 < rtol < 1.0):
        raise ValueError(f"rtol = {rtol!r}: must be in (0, 1)")
    pose_a, pose_b = as_poses("pose_a", pose_a), as_poses("pose_b", pose_b)
    if _is_turned(a, b):
        options = {"roots": roots, "rounds": rounds, "attempts": attempts}
        found = distance(b, pose_b, a, pose_a, **options, iterations=iterations, rtol=rtol)
        return unproven_result(
            found.distance, found.point_b, found.point_a, -found.normal, found.statistics.iterations, found.converged
        )
    if isinstance(a, FreeForm):
        return _from_surface(a, pose_a, b, pose_b, roots == "all", iterations, rtol)
    if roots == "all":
        return _best_normal(a, pose_a, b, pose_b)
    out, scratch, radii = np.empty(one_root.RESULT_LENGTH), np.empty((3, 3)), np.array(b.semi_axes)
    options = one_root.Effort(rounds, attempts, iterations, rtol), scratch, out
    if _is_ellipsoid(a):
        one_root.solve_ellipsoids(np.array(a.semi_axes), pose_a, radii, pose_b, *options)
    else:
        one_root.solve_round(*round_kind(a), pose_a, radii, pose_b, *options)
    parts = (out[i : i + 3].copy() for i in (one_root.POINT_A, one_root.POINT_B, one_root.NORMAL))
    return unproven_result(out[one_root.DISTANCE], *parts, out[one_root.ITERATIONS], out[one_root.CONVERGED])


def _from_surface(
    a: FreeForm,
    pose_a: FloatArray,
    b: Superovoid,
    pose_b: FloatArray,
    all_roots: bool,
    iterations: int,
    rtol: float,
) -> MethodResult:
    found = patch_distance(np.array(b.semi_axes), a, *_relative_pose(pose_b, pose_a), all_roots, iterations, rtol)
    foot, point = (pose_b[:3, :3] @ x + pose_b[:3, 3] for x in (found.foot, found.point))
    normal = (foot - point) / found.distance if found.distance > 0.0 else np.full(3, math.nan)
    return unproven_result(found.distance, point, foot, normal, found.iterations, found.converged)


def common_normals(a: Body, pose_a: ArrayLike, b: Body, pose_b: ArrayLike) -> CommonNormals:
    """Find all common normals of an ellipsoid and an ellipsoid, cylinder, cone, torus or surface, or of two quadrics.

    Rims, flat ends and the apex of a cylinder or a cone count with their normals; edges of a free-form surface do not.

    Parameters
    ----------
    a, b, pose_a, pose_b
        As for `distance`; or two quadrics (`lopes2010.Quadric`: ellipsoids, hyperboloids, paraboloids), one of them
        possibly an ellipsoid. An outward normal is then the gradient of F.

    Returns
    -------
    CommonNormals
        First those between opposite normals, the shortest first.
    """
    pose_a, pose_b = as_poses("pose_a", pose_a), as_poses("pose_b", pose_b)
    if isinstance(a, Quadric) or isinstance(b, Quadric):
        return _of_quadrics(a, pose_a, b, pose_b)
    if _is_turned(a, b):
        found = common_normals(b, pose_b, a, pose_a)
        # With the other body as A: gap = (point_a - point_b) . normal_b.
        sign = np.where(found.are_opposite, 1.0, -1.0)
        return CommonNormals(
            found.point_b, found.point_a, found.normal_b, found.normal_a, sign * found.gap, found.complete
        )
    rotation, translation = _relative_pose(pose_a, pose_b)
    radii = np.array(b.semi_axes)
    if isinstance(a, FreeForm):
        feet, complete = patch_feet(radii, a, *_relative_pose(pose_b, pose_a))
        feet = [(x, n, y, m) for y, m, x, n in feet]
        return collect(feet, complete, max(*radii, a._reach), pose_b)
    if _is_ellipsoid(a):
        return collect(
            *ellipsoid_feet(np.array(a.semi_axes), radii, rotation, translation), max(*a.semi_axes, *radii), pose_a
        )
    kind, size = round_kind(a)
    return collect(*round_feet(kind, size, radii, rotation, translation), max(*size, *radii), pose_a)


def _as_quadric(name: str, body: Body | Quadric) -> Quadric:
    if isinstance(body, Quadric):
        return body
    if _is_ellipsoid(body):
        return Quadric.ellipsoid(body.semi_axes)
    raise ValueError(f"{name} = {body!r}: must be a Quadric, or an ellipsoid with a Quadric")


def _of_quadrics(a: Body | Quadric, pose_a: FloatArray, b: Body | Quadric, pose_b: FloatArray) -> CommonNormals:
    """Return the common normals of two quadrics, after a transformation of each to its canonical frame."""
    own = canonical("a", _as_quadric("a", a)), canonical("b", _as_quadric("b", b))
    poses = []
    for quadric, pose in zip(own, (pose_a, pose_b), strict=True):
        placed = np.eye(4)
        placed[:3, :3], placed[:3, 3] = quadric.turn, quadric.shift
        poses.append(pose @ placed)
    feet, complete = quadric_feet(*own, *_relative_pose(*poses))
    return collect(feet, complete, max(quadric.reach for quadric in own), poses[0])


def _best_normal(
    a: Superovoid | Cylinder | Cone | Torus, pose_a: FloatArray, b: Superovoid, pose_b: FloatArray
) -> MethodResult:
    """Return the closest points, or the depth of convex bodies, among all common normals.

    For convex bodies the signed distance is the greatest gap between opposite normals, negative if they overlap. For a
    separate torus and ellipsoid it is the least distance of the circle from the ellipsoid, less the tube.
    """
    normals = common_normals(a, pose_a, b, pose_b)
    gap = np.where(normals.are_opposite, normals.gap, -math.inf)
    overlap = False
    if isinstance(a, Torus):
        overlap = _circle_meets(a.major_radius, np.array(b.semi_axes), *_relative_pose(pose_b, pose_a))
        gap = np.where(gap > -a.minor_radius, -gap, -math.inf)
    if not (gap > -math.inf).any():
        nothing = np.full(3, math.nan)
        return unproven_result(math.nan, nothing, nothing, nothing, 0, False)
    k = int(np.argmax(gap))
    length = normals.gap[k]
    answered = length >= 0.0 and not overlap if isinstance(a, Torus) else length >= 0.0 or normals.complete
    if isinstance(a, Torus):
        answered &= normals.complete
    return unproven_result(length, normals.point_a[k], normals.point_b[k], normals.normal_a[k], 0, answered)


def _circle_meets(radius: float, radii: FloatArray, rotation: FloatArray, translation: FloatArray) -> bool:
    """Return whether a circle about z at a pose in the ellipsoid's frame enters it: |x_i / A_i| < 1 somewhere on it.

    That square is a trigonometric polynomial of degree two in the angle phi: its extrema are roots of a quartic in
    z = e^(i phi).
    """
    c, s = radius * rotation[:, 0] / radii, radius * rotation[:, 1] / radii
    t = translation / radii
    cos1, sin1, cos2, sin2 = 2.0 * t @ c, 2.0 * t @ s, 0.5 * (c @ c - s @ s), c @ s
    # Derivative: -cos1 sin + sin1 cos - 2 cos2 sin(2.) + 2 sin2 cos(2.), times 2 z^2, in z = e^(i phi).
    quartic = [2 * sin2 + 2j * cos2, sin1 + 1j * cos1, 0.0, sin1 - 1j * cos1, 2 * sin2 - 2j * cos2]
    z = np.append(np.roots(quartic), 1.0)
    phi = np.angle(z[np.abs(z) > 0.0])
    x = np.cos(phi)[:, None] * c + np.sin(phi)[:, None] * s + t
    return bool(np.einsum("ij,ij->i", x, x).min() < 1.0)
