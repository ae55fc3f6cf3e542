# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Second derivatives of the signed distance by parameters that move the bodies rigidly.

A parameter k moves the bodies by velocities v of the contact points, fixed to their bodies, and angular velocities w.
The normal n then changes by dn, and the points move on the surfaces of A and B by dx and dy. All are tangential, with
P the projection on the tangent plane and S the shape operators:

    S_A dx =   dn - P (w_A x n)        dy - dx = d dn - u,    u = P (v_B - v_A)
    S_B dy = -(dn - P (w_B x n))

The first derivative is n . (v_B - v_A) at the contact. Its derivative along the parameter k is

    u_j . dn_k - (w_B x n)_j . dy_k + (w_A x n)_j . dx_k + n . (second derivatives of the points fixed to their bodies)

The surface of a compound is that of the member on which the point lies.

At an edge or a corner a curvature is infinite. A surface therefore has the form M dx = N (dn - P (w x n)): M = S and
N = I if it is smooth, M = I and N = 0 at a corner, and both along and across an edge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from superovoid.contact.differentiation import DerivativeStatus, derivatives, flags_of
from superovoid.contact.inputs import TOLERANCE
from superovoid.contact.points import point_distances
from superovoid.contact.results import DistanceResults
from superovoid.shapes import (
    Box,
    Capsule,
    Compound,
    Cone,
    ConvexMesh,
    Cylinder,
    HalfSpace,
    Shape,
    Sphere,
    Superovoid,
    Torus,
)

FloatArray = NDArray[np.float64]

_ALIGNED = 1e-5  # component of a normal along a face or a straight line, below which it fits the point
_SINGULAR = 1e10  # condition number from which the motion of the points is not determined


def second_derivatives(
    a: Sequence[Shape],
    pose_a: FloatArray,
    b: Sequence[Shape],
    pose_b: FloatArray,
    result: DistanceResults,
    motion_a: FloatArray,
    motion_b: FloatArray,
) -> tuple[FloatArray, NDArray[np.uint8]]:
    """Return the second derivatives without those of the points fixed to their bodies (module docstring).

    Parameters
    ----------
    a, b : sequence of Shape
        The bodies of each pair.
    pose_a, pose_b : array, shape (n, 4, 4)
    result : DistanceResults
        Answers at these poses.
    motion_a, motion_b : array, shape (n, 6, parameters)
        Velocity of the contact point fixed to the body, and angular velocity of the body, in the axes of the world.

    Returns
    -------
    by_parameters : array, shape (n, parameters, parameters)
        nan if a body has no form, or the motion of the points is not determined.
    status : array of uint8, shape (n,)
        `DerivativeStatus`; `OTHER_KIND` for meshes that are no hulls, and shells.
    """
    n, count = result.normal, len(result)
    by_parameters = np.full((count, *[motion_a.shape[2]] * 2), math.nan)
    across = np.cross(n, np.eye(3)[np.abs(n).argmin(axis=1)])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    basis = np.stack([across, np.cross(n, across)], axis=1)
    radii = [[shape.bounding_sphere().radius for shape in side] for side in (a, b)]
    size = np.min(radii, axis=0)
    status = np.zeros(count, dtype=np.uint8)
    forms = []
    for side, poses, points, outward in ((a, pose_a, result.point_a, n), (b, pose_b, result.point_b, -n)):
        members, placed, shared = _members_at(side, poses, points, size)
        m, n_, flags = _forms_of(members, placed, points, outward, result)
        forms.append((basis @ m @ basis.mT * size[:, None, None], basis @ n_ @ basis.mT))
        status |= flags
        status[shared] |= int(DerivativeStatus.NON_UNIQUE)
    status |= flags_of(result)

    d = np.einsum("ni,ni->n", result.point_b - result.point_a, n) / size
    (m_a, n_a), (m_b, n_b) = forms
    zero, eye = np.zeros_like(m_a), np.broadcast_to(np.eye(2), m_a.shape)
    system = np.block([[n_a, -m_a, zero], [n_b, zero, m_b], [d[:, None, None] * eye, eye, -eye]])
    known = status & np.uint8(DerivativeStatus.OTHER_KIND) == 0
    known &= np.isfinite(system).all(axis=(1, 2))
    system[~known] = np.eye(6)
    scale = 1.0 / np.linalg.norm(system, axis=2, keepdims=True).clip(1e-300)
    known &= np.linalg.cond(scale * system) < _SINGULAR
    status[~known & (status & np.uint8(DerivativeStatus.OTHER_KIND) == 0)] |= int(DerivativeStatus.NON_UNIQUE)

    turned_a, turned_b = (basis @ np.cross(motion[:, 3:], n[:, :, None], axis=1) for motion in (motion_a, motion_b))
    apart = basis @ (motion_b[:, :3] - motion_a[:, :3]) / size[:, None, None]
    given = np.concatenate([n_a @ turned_a, n_b @ turned_b, apart], axis=1)
    of_translation = np.concatenate([np.zeros((count, 4, 2)), eye], axis=1)
    right = np.concatenate([given, of_translation], axis=2)
    found = np.linalg.solve((scale * system)[known], (scale * right)[known])
    normal, on_a, on_b = (found[:, first : first + 2, :-2] for first in (0, 2, 4))
    by_parameters[known] = size[known, None, None] * (
        apart[known].mT @ normal + turned_a[known].mT @ on_a - turned_b[known].mT @ on_b
    )
    # A depth is a minimum over the directions if the derivative of the normal by a translation is not negative.
    least = np.linalg.eigvalsh(found[:, :2, -2:])[:, 0]
    status[np.flatnonzero(known)[(d[known] < 0.0) & (least < -TOLERANCE)]] |= int(DerivativeStatus.FOCAL)
    return 0.5 * (by_parameters + by_parameters.mT), status


def _members_at(
    shapes: Sequence[Shape], poses: FloatArray, points: FloatArray, sizes: FloatArray
) -> tuple[list[Shape], FloatArray, NDArray[np.bool_]]:
    """Return the bodies and their poses, a compound replaced by the member nearest to the point on its surface.

    Also return whether the point is on another member, too.
    """
    members, placed, shared = list(shapes), poses.copy(), np.zeros(len(shapes), dtype=bool)
    for compound in {id(shape): shape for shape in shapes if isinstance(shape, Compound)}.values():
        rows = np.array([i for i, shape in enumerate(shapes) if shape is compound])
        local = ((points[rows] - poses[rows, :3, 3])[:, None] @ poses[rows, :3, :3])[:, 0]
        gaps = np.abs([point_distances(shape, local, pose).distance for shape, pose in compound.members])
        shared[rows] = (gaps <= TOLERANCE * sizes[rows]).sum(axis=0) > 1
        for i, nearest in zip(rows.tolist(), gaps.argmin(axis=0).tolist(), strict=True):
            members[i], pose = compound.members[nearest]
            placed[i] = poses[i] @ pose
    return members, placed, shared


def _forms_of(
    shapes: Sequence[Shape], poses: FloatArray, points: FloatArray, normals: FloatArray, result: DistanceResults
) -> tuple[FloatArray, FloatArray, NDArray[np.uint8]]:
    """Return M and N of one body of each pair in the axes of the world, shape (n, 3, 3), and flags."""
    m, n, flags = np.zeros((len(shapes), 3, 3)), np.zeros((len(shapes), 3, 3)), np.zeros(len(shapes), dtype=np.uint8)
    smooth = np.array([i for i, shape in enumerate(shapes) if isinstance(shape, Superovoid)], dtype=np.int64)
    if smooth.size:  # the curvature next to a ball at the same point
        own, ball = [shapes[i] for i in smooth], Sphere(1.0)
        ball_poses = np.tile(np.eye(4), (len(smooth), 1, 1))
        ball_poses[:, :3, 3] = points[smooth] + normals[smooth]
        contact = replace(result[smooth], point_a=points[smooth], point_b=points[smooth], normal=normals[smooth])
        of_ball = derivatives(own, poses[smooth], ball, ball_poses, contact)
        directions = of_ball.relative_directions
        m[smooth], n[smooth] = directions.mT @ of_ball.curvature_a @ directions, np.eye(3)
        flags[smooth] = of_ball.status & np.uint8(DerivativeStatus.SHARP)
    for i, shape in enumerate(shapes):
        if not isinstance(shape, Superovoid):
            turn = poses[i, :3, :3]
            form = _form(shape, turn.T @ (points[i] - poses[i, :3, 3]), turn.T @ normals[i])
            if form is None:
                flags[i] = DerivativeStatus.OTHER_KIND
            else:
                m[i], n[i] = (turn @ each @ turn.T for each in form)
    return m, n, flags


def _form(shape: Shape, x: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return M and N at a point with an outward normal in the frame of the body; None for other kinds.

    M is nan if the normal is not one of the point.
    """
    eye, none, not_normal = np.eye(3), np.zeros((3, 3)), (np.full((3, 3), math.nan), np.eye(3))
    radius = math.hypot(x[0], x[1])
    around = np.array([-x[1], x[0], 0.0]) / (radius or 1.0)
    around = np.outer(around, around)
    if isinstance(shape, HalfSpace):
        return none, eye
    if isinstance(shape, Capsule):
        on_side = abs(x[2]) <= 0.5 * shape.length
        if on_side and abs(n[2]) > _ALIGNED:
            return not_normal
        return (np.diag([1.0, 1.0, 0.0]) if on_side else eye) / shape.radius, eye
    if isinstance(shape, Torus):
        return around * ((n[:2] @ x[:2]) / radius**2) + (eye - around) / shape.minor_radius, eye
    if isinstance(shape, Cylinder | Cone):
        half, margin = 0.5 * shape.length, TOLERANCE * max(shape.radius, shape.length)
        is_cone = isinstance(shape, Cone)
        rise = shape.radius / math.hypot(shape.radius, shape.length) if is_cone else 0.0  # of the normals of the side
        if is_cone and x[2] >= half - margin:
            return eye, none
        on_flat = (-x[2] if is_cone else abs(x[2])) >= half - margin
        steep = math.hypot(n[0], n[1])
        if on_flat and radius >= shape.radius - margin:
            return (eye - around) + around * (steep / shape.radius), around
        if on_flat:
            return (none, eye) if steep <= _ALIGNED else not_normal
        return (around * (steep / radius), eye) if abs(n[2] - rise) <= _ALIGNED else not_normal
    if isinstance(shape, Box):
        half_lengths = 0.5 * np.array(shape.lengths)
        return _flat_form(eye[np.abs(x) >= half_lengths - TOLERANCE * half_lengths.max()], n) or not_normal
    if isinstance(shape, ConvexMesh):
        heights = shape._hull.planes[:, :3] @ x - shape._hull.planes[:, 3]
        return _flat_form(shape._hull.planes[heights >= -TOLERANCE * shape._hull.radius, :3], n) or not_normal
    return None


def _flat_form(normals: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return M and N on a face, an edge or a corner of flats with these normals; None if n is not one of the point."""
    eye = np.eye(3)
    _, sizes, axes = np.linalg.svd(np.concatenate([normals, np.zeros((3, 3))]))
    rank = int((sizes > TOLERANCE).sum())
    along = axes[rank:].T @ axes[rank:]
    if rank == 0 or np.abs(along @ n).max() > _ALIGNED:
        return None
    return (np.zeros((3, 3)), eye) if rank == 1 else (eye - along, along)
