# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The claims to check and the results of checking, as plain data and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

ACCEPTED, REFUTED, UNDECIDED = "accepted", "refuted", "undecided"
TOLERANCE = 1e-9


class Answer(NamedTuple):
    """An answer with its certificate: direction and points."""

    distance: float
    lower: float
    upper: float
    point_a: FloatArray
    point_b: FloatArray
    normal: FloatArray
    rtol: float = TOLERANCE

    @property
    def finite(self) -> bool:
        """Whether all numbers are finite."""
        numbers = np.concatenate([[self.distance, self.lower, self.upper], self.point_a, self.point_b, self.normal])
        return bool(np.isfinite(numbers).all())


class ExportedProof(NamedTuple):
    """The parts of a proof other than normal and points, as exported by the engine (docs/how_to/verify.md)."""

    cones: str
    points: FloatArray
    pieces: str
    heights: FloatArray
    directions: FloatArray


class Finding(NamedTuple):
    """A verdict on one part of an answer, and the reason if it is not accepted."""

    verdict: str
    why: str


class Check(NamedTuple):
    """What the checker has proved about one answer."""

    verdict: str
    """``accepted``: the interval contains the true distance, and points and normal keep the promises of
    docs/explanation/numerics.md, section 2. ``refuted``: one of these is proved wrong. ``undecided``: neither is
    proved."""
    interval: Finding
    """Verdict on `lower` and `upper`: accepted if both are proved, refuted if the true distance is proved outside."""
    points: Finding
    """Verdict on the points: on the surfaces, and at the distance of the interval along the normal, also at touch."""
    normal: Finding
    """Verdict on the normal: a unit vector that proves `lower` up to the tolerance, or the normal of a half-space. If
    a body is non-convex, the normal is refuted or not judged."""
    lower: float
    """The checker's own proved lower bound of the signed distance, m; -inf if none."""
    upper: float
    """The checker's own proved upper bound, m; inf if none. Refinement stops when the claim is proved."""
    missing: float
    """How far the worse end of the claimed interval would have to move to be accepted, m; 0 if it is accepted."""
    parts: int
    """Number of judged cones of directions or pairs of pieces."""
    certificate: Finding
    """Verdict on the certificate's cones or pieces: accepted if they prove their end of the interval."""

    @classmethod
    def from_findings(
        cls,
        findings: tuple[Finding, Finding, Finding, Finding],
        answer: Answer,
        bounds: tuple[float, float],
        cones: int,
    ) -> Check:
        """Combine the findings on interval, points, normal and certificate.

        If the normal is not judged, the verdict depends on interval and points. If the certificate proves nothing, it
        depends on the checker's own search.
        """
        interval, points, normal, certificate = findings
        lower, upper = bounds
        parts = (interval, points, normal)
        if any(part.verdict == REFUTED for part in parts):
            verdict = REFUTED
        else:
            verdict = ACCEPTED if interval.verdict == points.verdict == ACCEPTED else UNDECIDED
        missing = max(answer.lower - lower, upper - answer.upper, 0.0)
        return cls(verdict, interval, points, normal, lower, upper, missing, cones, certificate)

    def lines(self) -> Iterable[str]:
        """Yield the check as lines of text."""
        yield f"{self.verdict}: proved [{self.lower!r}, {self.upper!r}] m"
        for name in ("interval", "points", "normal", "certificate"):
            finding = getattr(self, name)
            yield f"  {name}: {finding.verdict}{finding.why and ', '}{finding.why}"


def description_of(shape: Any) -> dict[str, Any]:
    """Return kind and parameters of a shape, from its class and attributes; return a description unchanged.

    Raises
    ------
    ValueError
        If the kind cannot be checked.
    ModuleNotFoundError
        If python-flint is not installed.
    """
    try:
        from superovoid.checker.solids import FIELDS
    except ModuleNotFoundError as error:
        words = f"no module {error.name!r}: pip install 'superovoid[verify]'"
        raise ModuleNotFoundError(words, name=error.name) from error

    if isinstance(shape, dict):
        return shape
    kind = type(shape).__name__
    if kind not in FIELDS:
        raise ValueError(f"{kind}: cannot be checked; kinds are {', '.join(FIELDS)}")
    values = {name: getattr(shape, name) for name in FIELDS[kind]}
    return {"kind": kind} | {name: np.asarray(value, dtype=np.float64).tolist() for name, value in values.items()}


def _holds_booleans(value: Any) -> bool:
    """Return whether a nested list contains True or False, which numpy would read as 1 and 0."""
    if isinstance(value, list | tuple):
        return any(_holds_booleans(one) for one in value)
    return isinstance(value, bool | np.bool_)


def numbers_of(name: str, value: Any, shape: tuple[int | None, ...], finite: bool = True) -> FloatArray:
    """Convert to doubles of a shape, None for any length; raise `ValueError` with the name if impossible."""
    words = " x ".join("n" if length is None else str(length) for length in shape) or "one"
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf" or _holds_booleans(value):
            raise TypeError
        as_given, array = array.astype(np.longdouble), array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: must be numbers ({words}), found {repr(value)[:60]}") from None
    if not np.array_equal(array, as_given, equal_nan=True):
        raise ValueError(f"{name}: must be doubles, found {repr(value)[:60]}, which is not exact as a double")
    fits = len(array.shape) == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
    if not fits or not array.size:
        raise ValueError(f"{name}: must be numbers ({words}), found shape {array.shape}")
    if finite and not np.isfinite(array).all():
        raise ValueError(f"{name}: must be finite, found {repr(value)[:60]}")
    return array


def pose_of(name: str, pose: Any) -> FloatArray:
    """Return a pose as an array of doubles; raise `ValueError` if it is invalid."""
    array = numbers_of(name, pose, (4, 4))
    if not (array[3] == (0.0, 0.0, 0.0, 1.0)).all():
        raise ValueError(f"{name}: the last row must be 0, 0, 0, 1")
    return array


def answer_of(result: Any, rtol: float = TOLERANCE) -> Answer:
    """Return the numbers of a result, or of a mapping with the same names."""

    def get(name: str) -> Any:
        if isinstance(result, dict):
            if name not in result:
                raise ValueError(f"answer.{name}: is missing")
            return result[name]
        if not hasattr(result, name):
            raise ValueError(f"answer: must be a DistanceResult or a mapping with {name}, found {repr(result)[:60]}")
        return getattr(result, name)

    def read(name: str, shape: tuple[int, ...]) -> FloatArray:
        return numbers_of(f"answer.{name}", get(name), shape, finite=False)

    numbers = [float(read(name, ())) for name in ("distance", "lower", "upper")]
    vectors = [read(name, (3,)) for name in ("point_a", "point_b", "normal")]
    rtol = float(numbers_of("rtol", rtol, ()))
    if rtol <= 0.0:
        raise ValueError(f"rtol = {rtol}: must be a positive number")
    return Answer(*numbers, *vectors, rtol)


_LISTS: dict[str, tuple[int | None, ...]] = {"points": (None, 6), "heights": (None,), "directions": (None, 3)}
_LETTERS = {"cones": "012.*", "pieces": "ab."}


def exported_of(certificate: Any) -> ExportedProof | None:
    """Read the certificate of a result or of a mapping with the same names; None if there is none.

    Raises
    ------
    ValueError
        If a part is missing, or is not a valid tree or array of numbers.
    """
    if certificate is None:
        return None
    found = {}
    for name in ExportedProof._fields:
        if isinstance(certificate, dict) and name not in certificate:
            raise ValueError(f"certificate.{name}: is missing")
        if not isinstance(certificate, dict) and not hasattr(certificate, name):
            raise ValueError(
                f"certificate: must have {', '.join(ExportedProof._fields)}, found {repr(certificate)[:60]}"
            )
        value = certificate[name] if isinstance(certificate, dict) else getattr(certificate, name)
        if name in _LETTERS:
            if not isinstance(value, str) or set(value) - set(_LETTERS[name]):
                raise ValueError(f"certificate.{name}: must be text of {_LETTERS[name]}, found {repr(value)[:60]}")
        elif isinstance(value, list | np.ndarray) and len(value) == 0:
            value = np.empty([length or 0 for length in _LISTS[name]])
        else:
            value = numbers_of(f"certificate.{name}", value, _LISTS[name])
        found[name] = value
    return ExportedProof(**found)


def record(result: Any, a: Any, pose_a: Any, b: Any, pose_b: Any, *, rtol: float = TOLERANCE) -> dict[str, Any]:
    """Return bodies, poses and an answer as a record that can be stored as JSON and read by `superovoid verify`.

    JSON numbers are decimal, but Python writes and reads doubles without changing a bit.

    Parameters
    ----------
    result : DistanceResult or mapping
    a, b : Shape or mapping
    pose_a, pose_b : (4, 4) array_like
    rtol : float, optional
        The `rtol` of the query, as a fraction of the smaller body's largest semi-axis.

    Returns
    -------
    dict
    """
    answer = answer_of(result, rtol)
    certificate = result.get("certificate") if isinstance(result, dict) else getattr(result, "certificate", None)
    exported = exported_of(certificate)
    written = {} if exported is None else {"certificate": _as_json(exported._asdict())}
    return {
        "a": description_of(a),
        "pose_a": pose_of("pose_a", pose_a).tolist(),
        "b": description_of(b),
        "pose_b": pose_of("pose_b", pose_b).tolist(),
        "rtol": rtol,
        "answer": _as_json({name: value for name, value in answer._asdict().items() if name != "rtol"}),
    } | written


def _as_json(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}
