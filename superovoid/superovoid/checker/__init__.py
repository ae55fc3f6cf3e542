# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A small program that checks answers in ball arithmetic and shares no code with the engine (docs/verify.md).

It imports nothing of this package but itself, so that a fault of the engine cannot be its own. It needs python-flint:
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
    described,
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
        `distance`, `lower`, `upper`, `point_a`, `point_b`, `normal`, world, m; `certificate`, if there is one.
    a, b : Shape or mapping
        The bodies: shapes of `superovoid.shapes`, or mappings with ``kind`` and the parameters of that class.
    pose_a, pose_b : (4, 4) array_like
        Body to world, m. A pose stands for the rotation nearest to its upper left 3 x 3 matrix, exactly, and for its
        translation, exactly.
    rtol : float, optional
        What points and normal may be off by, as a fraction of the smaller body's largest semi-axis, besides
        rounding. The interval has no tolerance.

    Returns
    -------
    Check

    Raises
    ------
    ValueError
        If a body is of a kind that cannot be checked, or a number makes no sense.
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
    bodies = described(a), pose_of("pose_a", pose_a), described(b), pose_of("pose_b", pose_b)
    from superovoid.checker.checking import check  # needs python-flint: `described` says so

    return check(*bodies, answer, exported_of(certificate))


def verify_record(pair: dict[str, Any]) -> Check:
    """Check what `record` made; `ValueError` names what is missing."""
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
