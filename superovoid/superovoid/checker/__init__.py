# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A small independent program that checks answers in ball arithmetic (docs/how_to/verify.md).

It imports nothing else of this package, so that it cannot share a fault with the engine. It needs python-flint:
``pip install 'superovoid[verify]'``.
"""

from __future__ import annotations

from typing import Any

from superovoid.checker.claims import (
    ACCEPTED,
    REFUTED,
    TOLERANCE,
    UNDECIDED,
    Check,
    Finding,
    answer_of,
    description_of,
    exported_of,
    pose_of,
    record,
)

__all__ = ["ACCEPTED", "REFUTED", "UNDECIDED", "Check", "Finding", "record", "verify", "verify_record"]


def verify(result: Any, a: Any, pose_a: Any, b: Any, pose_b: Any, *, rtol: float = TOLERANCE) -> Check:
    """Check one answer by proof.

    Parameters
    ----------
    result : DistanceResult or mapping
        `distance`, `lower`, `upper`, `point_a`, `point_b`, `normal`, world, m; optionally `certificate`.
    a, b : Shape or mapping
        The bodies: shapes of `superovoid.shapes`, or mappings with ``kind`` and the parameters of that class.
    pose_a, pose_b : (4, 4) array_like
        Body to world, m. A pose represents the exact rotation nearest to its upper left 3 x 3 matrix, and its exact
        translation.
    rtol : float, optional
        Allowed error of points and normal, as a fraction of the smaller body's largest semi-axis, in addition to
        rounding. The interval has no tolerance.

    Returns
    -------
    Check

    Raises
    ------
    ValueError
        If a kind of body cannot be checked, or a number is invalid.
    ModuleNotFoundError
        If python-flint is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from superovoid import Sphere, distance
    >>> from superovoid.checker import verify
    >>> apart = np.eye(4)
    >>> apart[0, 3] = 3.0
    >>> pair = Sphere(1.0), np.eye(4), Sphere(0.5), apart
    >>> verify(distance(*pair), *pair).verdict
    'accepted'
    """
    answer = answer_of(result, rtol)
    certificate = result.get("certificate") if isinstance(result, dict) else getattr(result, "certificate", None)
    bodies = description_of(a), pose_of("pose_a", pose_a), description_of(b), pose_of("pose_b", pose_b)
    from superovoid.checker.checking import check  # needs python-flint; `description_of` reports if it is missing

    return check(*bodies, answer, exported_of(certificate))


def verify_record(pair: dict[str, Any]) -> Check:
    """Check a record made by `record`; raise `ValueError` with the name of a missing entry."""
    if not isinstance(pair, dict):
        raise ValueError(f"must be a mapping, found {repr(pair)[:60]}")
    for name in ("a", "pose_a", "b", "pose_b", "answer"):
        if name not in pair:
            raise ValueError(f"{name}: is missing")
    for name in ("a", "b", "answer"):
        if not isinstance(pair[name], dict):
            raise ValueError(f"{name}: must be a mapping, found {repr(pair[name])[:60]}")
    answer = pair["answer"] | {"certificate": pair.get("certificate")}
    return verify(answer, pair["a"], pair["pose_a"], pair["b"], pair["pose_b"], rtol=pair.get("rtol", TOLERANCE))
