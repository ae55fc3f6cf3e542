# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A body of a scene: a shape, a link, and the pose of the shape in the link."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from superovoid.contact.inputs import as_pose
from superovoid.shapes import Shape
from superovoid.values.poses import PoseLike

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Body:
    """A shape fixed to a link.

    Bodies are equal when name, link, shape and pose are, and may be keys of a dictionary.
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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Body):
            return NotImplemented
        if (self.name, self.link) != (other.name, other.link) or self.shape != other.shape:
            return False
        return np.array_equal(self.link_from_body, other.link_from_body)

    def __hash__(self) -> int:
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
