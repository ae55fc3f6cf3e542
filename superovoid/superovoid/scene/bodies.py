# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A body of a scene: a shape, a link, and the pose of the shape in the link; and the rows of bodies for the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from superovoid.scene.culling import LocalBodies
from superovoid.shapes import Shape
from superovoid.shapes.kernels import kinds, surface
from superovoid.shapes.kernels.rounding import composition
from superovoid.shapes.poses import as_pose
from superovoid.shapes.primitives import Offsets, pack_shapes_behind
from superovoid.shapes.shape import EMPTY_POOL
from superovoid.values.checks import LEAST_LENGTH
from superovoid.values.poses import PoseLike
from superovoid.values.records import Record

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Body(Record):
    """A shape fixed to a link.

    Two bodies are equal if their names, links, shapes and poses are equal. Bodies may be keys of a dictionary.
    """

    name: str
    """Unique in its scene."""
    link: str
    """Link whose pose carries the body."""
    shape: Shape
    """Of any kind."""
    link_from_body: FloatArray = field(default_factory=lambda: np.eye(4))
    """Pose of the body in its link, shape (4, 4), m; the constructor takes any form of a rigid transform."""

    if TYPE_CHECKING:  # the constructor takes more types than the fields have

        def __init__(self, name: str, link: str, shape: Shape, link_from_body: PoseLike = ...) -> None: ...

    def __hash__(self) -> int:  # type: ignore[override] # unlike other records, it has no long arrays
        return hash((self.name, self.link, self.shape, (self.link_from_body + 0.0).tobytes()))  # -0 equals 0

    def __post_init__(self) -> None:
        for name in ("name", "link"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"Body.{name}: must be text, found {getattr(self, name)!r}")
        if not isinstance(self.shape, Shape):
            raise TypeError(f"Body {self.name!r}: shape must be one of superovoid.shapes, found {self.shape!r}")
        pose = as_pose(f"Body {self.name!r}: link_from_body", self.link_from_body).copy()
        pose.flags.writeable = False
        object.__setattr__(self, "link_from_body", pose)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state["link_from_body"].flags.writeable = False  # a pickle does not keep this flag
        self.__dict__.update(state)


def rows_of(
    bodies: Sequence[Body], link: NDArray[np.int64], length: int, offsets: Offsets
) -> tuple[LocalBodies, Offsets]:
    """Return rows of bodies, given the rows of their links; `length` and `offsets` are as for `pack_shapes_behind`."""
    packed, vertices, offsets = pack_shapes_behind((body.shape for body in bodies), length, offsets)
    spheres = [body.shape.bounding_sphere() for body in bodies]
    centres, halves = np.empty((len(bodies), 3)), np.empty((len(bodies), 3))
    has_pool = packed[:, kinds.KIND] >= kinds.CONVEX_MESH
    for i in np.flatnonzero(has_pool).tolist():
        centres[i], halves[i] = bodies[i].shape.obb()
    centres[~has_pool], halves[~has_pool] = _boxes(packed[~has_pool])
    local = LocalBodies(
        packed,
        _stack([body.link_from_body for body in bodies], 4, 4),
        _stack([sphere.centre for sphere in spheres], 3),
        _stack([sphere.radius for sphere in spheres]),
        centres,
        halves,
        losses_of(bodies, packed),
        link,
        vertices,
    )
    return local, offsets


def _boxes(packed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the centres and half extents of the boxes of bodies of closed form."""
    centres, halves = np.empty((len(packed), 3)), np.empty((len(packed), 3))
    kinds.fill_boxes(packed, EMPTY_POOL, centres, halves)
    return centres, halves


def losses_of(bodies: Sequence[Body], packed: FloatArray) -> FloatArray:
    """Return the rounding of link pose times body pose, without that of the link's position, m, shape (n,)."""
    poses = _stack([body.link_from_body for body in bodies], 4, 4)
    # For a rotated half-space it is a tiny positive number, so that the error of the rotation is counted.
    radii = np.where(packed[:, surface.RADIUS] < math.inf, packed[:, surface.RADIUS], LEAST_LENGTH).tolist()
    offsets = np.linalg.norm(poses[:, :3, 3], axis=1).tolist()
    turned = (poses[:, :3, :3] != np.eye(3)).any(axis=(1, 2)).tolist()
    return _stack(list(map(composition, radii, offsets, turned)))


def _stack(items: Sequence[FloatArray | float], *shape: int) -> FloatArray:
    return np.array(items, dtype=np.float64).reshape(-1, *shape)


def some_of(names: Sequence[str], most: int = 5) -> str:
    """Return names for an error message: the first ones, and the number of others."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
