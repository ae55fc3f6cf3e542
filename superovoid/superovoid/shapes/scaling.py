# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shapes made larger or smaller by one factor, as MoveIt scales the bodies of a link."""

from __future__ import annotations

import math

import numpy as np

from superovoid.shapes.shape import Shape
from superovoid.shapes.superovoid import Sphere

_WITHOUT_A_UNIT = ("section_exponent", "profile_exponent", "taper", "faces")


def scale_shape(shape: Shape, factor: float) -> Shape:
    """Return a shape with all lengths multiplied.

    A mesh grows about the mean of its vertices, everything else about its origin. A plane has no length and stays.

    Parameters
    ----------
    shape : Shape
    factor : float
        Positive and finite.

    Raises
    ------
    TypeError
        If the shape is none of `superovoid.shapes`.
    ValueError
        If the factor is not positive and finite, or a length leaves what a shape may have.
    """
    if not (factor > 0.0 and math.isfinite(factor)):
        raise ValueError(f"scale = {factor}: must be positive and finite")
    if not isinstance(shape, Shape):
        raise TypeError(f"shape: must be a shape of superovoid.shapes, found {type(shape).__name__}")
    if isinstance(shape, Sphere):
        return Sphere(factor * shape.radius)  # so that an error names the radius
    made = object.__new__(type(shape))
    for name, value in shape.__getstate__().items():
        if name in _WITHOUT_A_UNIT:
            object.__setattr__(made, name, value)
        else:
            lengths = np.asarray(value)
            centre = lengths.mean(axis=0) if name == "vertices" else 0.0
            object.__setattr__(made, name, centre + factor * (lengths - centre))
    made.__post_init__()  # type: ignore[attr-defined] # every kind checks its fields there
    return made
