# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Scale shapes by one factor, as MoveIt scales the bodies of a link."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superovoid.shapes.compounds import Compound
from superovoid.shapes.shape import Shape
from superovoid.shapes.superovoid import Sphere
from superovoid.values.checks import number

_WITHOUT_A_UNIT = ("section_exponent", "profile_exponent", "taper", "faces")


def scale_shape(shape: Shape, factor: float) -> Shape:
    """Return a shape with all lengths multiplied by a factor.

    A mesh is scaled about the mean of its vertices, other shapes about their origin. A half-space does not change.

    Parameters
    ----------
    shape : Shape
    factor : float
        Positive and finite.

    Returns
    -------
    Shape
        Of the same kind.

    Raises
    ------
    TypeError
        If the shape is not one of `superovoid.shapes`.
    ValueError
        If the factor is not positive and finite, or a scaled length is out of range.
    """
    if not number("factor", factor) > 0.0:
        raise ValueError(f"factor = {factor}: must be positive")
    if not isinstance(shape, Shape):
        raise TypeError(f"shape: must be a shape of superovoid.shapes, found {type(shape).__name__}")
    if isinstance(shape, Sphere):
        return Sphere(factor * shape.radius)  # so that an error names the radius
    if isinstance(shape, Compound):
        return Compound([_scale_member(*member, factor) for member in shape.members])
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


def _scale_member(shape: Shape, pose: NDArray[np.float64], factor: float) -> tuple[Shape, NDArray[np.float64]]:
    """Return a member of a compound scaled about the origin of the compound, with its pose."""
    moved = pose.copy()
    # A mesh is scaled about another point than its origin.
    middle = np.mean(getattr(shape, "vertices", np.zeros((1, 3))), axis=0)
    moved[:3, 3] = factor * pose[:3, 3] + (factor - 1.0) * (pose[:3, :3] @ middle)
    return scale_shape(shape, factor), moved
