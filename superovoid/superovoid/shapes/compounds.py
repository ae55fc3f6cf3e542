# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Unions of bodies."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from superovoid.shapes.kernels import kinds
from superovoid.shapes.lazy import cached_property
from superovoid.shapes.poses import as_pose
from superovoid.shapes.primitives import HalfSpace, pack_shapes_behind
from superovoid.shapes.shape import ABOVE_ROUNDING, TESSELLATION_RESOLUTION, BoundingBox, BoundingSphere, Shape
from superovoid.values import html
from superovoid.values.checks import random_generator, whole_number
from superovoid.values.records import short_repr

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Compound(Shape):
    """Union of bodies of any kinds but half-spaces.

    Members may be apart, touch or overlap. If a compound is separate from another body, its distance is the least of
    its members. If they overlap, the depth is the length of the shortest translation after which no member overlaps.
    It is at least the largest depth of two members. If no translation of this length is found, the status is
    `UNPROVEN | NON_CONVEX`, and the interval contains the depth. The points and the normal are those of the members
    that decide.

    Parameters
    ----------
    members : sequence of (Shape, (4, 4) array_like)
        The bodies and their poses, body to compound, m, or another form of poses. Members of a compound are taken one
        by one.

    Raises
    ------
    ValueError
        If there is no member, a pose is not rigid, or a member is a half-space.
    TypeError
        If a member is not a shape and a pose.

    Examples
    --------
    >>> from superovoid import Box, Capsule, Compound, Sphere, distance
    >>> hammer = Compound([(Capsule(0.01, 0.2), (0.0, 0.0, 0.0)), (Box((0.1, 0.03, 0.03)), (0.0, 0.0, 0.1))])
    >>> round(distance(hammer, (0.0, 0.0, 0.0), Sphere(0.05), (0.2, 0.0, 0.1)).distance, 9)
    0.1
    """

    members: Sequence[tuple[Shape, Any]]
    """A tuple of shapes with their poses, read-only matrices of shape (4, 4)."""

    def __post_init__(self) -> None:
        if not isinstance(self.members, Sequence) or isinstance(self.members, str):
            raise TypeError(f"Compound.members: must be a sequence of shapes with poses, found {self.members!r}")
        members: list[tuple[Shape, FloatArray]] = []
        for i, member in enumerate(self.members):
            members += self._placed(f"Compound.members[{i}]", member)
        if not members:
            raise ValueError("Compound.members: must have at least one member")
        object.__setattr__(self, "members", tuple(members))

    @staticmethod
    def _placed(name: str, member: Any) -> list[tuple[Shape, FloatArray]]:
        """Return the members of a member, with read-only poses in the frame of this compound."""
        if not isinstance(member, Sequence) or len(member) != 2 or not isinstance(member[0], Shape):
            raise TypeError(f"{name}: must be a shape of superovoid.shapes and a pose, found {member!r}")
        shape, pose = member[0], as_pose(name, member[1]).copy()
        if isinstance(shape, HalfSpace):
            raise ValueError(f"{name}: must not be a half-space, whose bounds are infinite")
        inner = shape.members if isinstance(shape, Compound) else ((shape, np.eye(4)),)
        placed = [(each, as_pose(name, pose @ at).copy()) for each, at in inner]
        for _, at in placed:
            at.flags.writeable = False
        return placed

    def __setstate__(self, state: dict[str, Any]) -> None:
        for _, pose in state["members"]:
            pose.flags.writeable = False  # pickles do not store this flag
        self.__dict__.update(state)

    def __repr__(self) -> str:
        return f"Compound({len(self.members)} members)"

    def _repr_html_(self) -> str:
        """Return the first members as a table, for a notebook."""
        rows = [(repr(shape), short_repr(pose[:3, 3])) for shape, pose in self.members]
        return html.first_rows(repr(self), ("shape", "position"), rows)

    def _key(self) -> tuple[tuple[Shape, bytes], ...]:
        return tuple((shape, (pose + 0.0).tobytes()) for shape, pose in self.members)  # -0 equals 0

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Compound) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    @cached_property
    def _packed_members(self) -> FloatArray:
        rows, pool, _ = pack_shapes_behind(
            [shape for shape, _ in self.members], len(self.members) * kinds.MEMBER_LENGTH, {}
        )
        poses = np.array([pose for _, pose in self.members]).reshape(-1, 16)
        return np.concatenate([np.hstack([rows, np.reshape(poses, (-1, 16))]).ravel(), pool])

    @cached_property
    def _reach(self) -> float:
        reaches = [float(np.linalg.norm(pose[:3, 3])) + shape._reach for shape, pose in self.members]
        return ABOVE_ROUNDING * max(reaches)

    @cached_property
    def _obb(self) -> BoundingBox:
        axes = np.concatenate([-np.eye(3), np.eye(3)])
        along = [shape.support_value(axes @ pose[:3, :3]) + axes @ pose[:3, 3] for shape, pose in self.members]
        below, above = np.max(along, axis=0).reshape(2, 3)
        return BoundingBox(0.5 * (above - below), 0.5 * (above + below) + (ABOVE_ROUNDING - 1.0) * self._reach)

    def bounding_sphere(self) -> BoundingSphere:
        """Return a sphere around the body, centred on its bounding box (`BoundingSphere.centre`, `.radius`, m)."""
        centre = self._obb.centre
        spheres = [(pose, *shape.bounding_sphere()) for shape, pose in self.members]
        radii = [float(np.linalg.norm(pose[:3, :3] @ at + pose[:3, 3] - centre)) + r for pose, at, r in spheres]
        return BoundingSphere(centre.copy(), ABOVE_ROUNDING * max(radii))

    @property
    def support_loss(self) -> float:
        """Largest amount by which `support_value` of a unit direction may be too small, beyond rounding, m."""
        return max(shape.support_loss for shape, _ in self.members)

    def _fill(self, row: FloatArray) -> FloatArray:
        pool = self._packed_members
        row[kinds.KIND], row[kinds.MEMBERS], row[kinds.MEMBER_COUNT] = kinds.COMPOUND, 0.0, len(self.members)
        self._identify(row, zlib.crc32(pool.tobytes()))
        row[kinds.SUPPORT_LOSS] = self.support_loss
        return pool

    def _holds(self, points: FloatArray) -> NDArray[np.bool_]:
        return np.any(self._inside(points), axis=0)

    def _inside(self, points: FloatArray) -> NDArray[np.bool_]:
        """Return which members contain points, shape (members, n)."""
        return np.array([shape._holds((points - pose[:3, 3]) @ pose[:3, :3]) for shape, pose in self.members])

    def _unknown(self, quantity: str) -> NoReturn:
        raise ValueError(f"Compound: the {quantity} of a union is not computed; ask each of its `members`")

    def is_convex(self) -> bool:
        """Return False: a union counts as non-convex."""
        return False

    def volume(self) -> float:
        """Raise `ValueError`, since members may overlap."""
        self._unknown("volume")

    def area(self) -> float:
        """Raise `ValueError`, since members may overlap."""
        self._unknown("area")

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        self._unknown("inertia")

    def _draw_surface(self, count: int, rng: np.random.Generator) -> FloatArray:
        self._unknown("surface")

    def sample_volume(self, count: int, seed: int | np.random.Generator | None = None) -> FloatArray:
        """Draw points of the body, uniform by volume; arguments and errors are those of `Shape.sample_volume`."""
        count, rng = whole_number("count", count, 0), random_generator("seed", seed)
        volumes = np.array([shape.volume() for shape, _ in self.members])
        parts, left = [np.empty((0, 3))], count
        while left > 0:
            numbers = rng.multinomial(2 * left + 8, volumes / volumes.sum())
            drawn = [
                shape.sample_volume(number, rng) @ pose[:3, :3].T + pose[:3, 3]
                for (shape, pose), number in zip(self.members, numbers, strict=True)
            ]
            points = np.concatenate(drawn)
            # A point of k members is drawn k times as often as one of a single member.
            kept = points[rng.random(len(points)) * self._inside(points).sum(axis=0) < 1.0]
            parts.append(rng.permutation(kept)[:left])
            left -= len(parts[-1])
        return np.concatenate(parts)

    def triangles(self, resolution: int = TESSELLATION_RESOLUTION) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return the triangles of all members, with those inside other members; see `Shape.triangles`."""
        vertices, faces, count = [], [], 0
        for shape, pose in self.members:
            points, triangles = shape.triangles(resolution)
            vertices.append(points @ pose[:3, :3].T + pose[:3, 3])
            faces.append(triangles + count)
            count += len(points)
        return np.concatenate(vertices), np.concatenate(faces)
