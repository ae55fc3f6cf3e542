"""The engine as a person calls it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid_ros._checks import short
from superovoid_ros._rounding import AS_IS, MOST_LENGTH, rotation_error, straighten_rows
from superovoid_ros._threads import workers
from superovoid_ros.contact import _pair
from superovoid_ros.shapes import Shape, Superovoid

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-9
SEARCH_BUDGET = 4000
BATCH = 512  # pairs from which on SIMD lanes are used, and that a thread is started for
_ROTATION_LIMIT = 2e-6  # of the norm of R^T R - I: single precision leaves a tenth of that


class Status(IntFlag):
    """Why an answer can be trusted, or what it lacks. `CERTIFIED` is the absence of every flag.

    `UNPROVEN` alone puts the distance in doubt, and says by how much; the others name what is special about the pair.
    """

    CERTIFIED = 0
    """The true signed distance lies in [lower, upper], and the interval is as narrow as was asked for."""
    UNPROVEN = _pair.UNPROVEN
    """The interval holds but is wider than was asked for: a better answer inside it is not excluded, and where the
    points do not realise the distance, they miss it by no more than the interval is wide."""
    DENT = _pair.DENT
    """The answer touches the dent of a body that is not convex: `lower` is that of the convex hulls, the distance that
    of the bodies' own best contact. Where only the hulls are known to overlap, it is minus their depth."""
    NON_UNIQUE = _pair.NON_UNIQUE
    """The distance holds; the points are those of one closest pair of many: points farther apart than a hundredth of
    the smaller body are as good, within the interval (parallel flats, aligned axes). The distance may have a kink where
    a body turns: gradients are those of the pair given, a bound to one side (docs/derivatives.md)."""
    ARBITRARY_NORMAL = _pair.ARBITRARY_NORMAL
    """The depth holds; another direction separates the bodies by as short a way, within the interval (concentric
    bodies, symmetric overlaps)."""
    PRECISION = _pair.PRECISION
    """At the limit of precision: rounding at these coordinates takes more than the tolerance, and the interval is
    wider by that much."""
    UNBOUNDED = 32
    """Two half-spaces that do not face each other: no translation, however long, parts them, so the distance and its
    bounds are -inf. The points are one point of both."""
    NON_CONVEX = 64
    """A torus or a mesh that is not convex overlaps another body: `distance` is minus the length of a translation that
    is proved to part them, `upper` minus a length below which none does."""

    @property
    def certified(self) -> bool:
        """Whether the interval is as narrow as was asked for, and rounding allows."""
        return not self & Status.UNPROVEN

    @property
    def differentiable(self) -> bool:
        """Whether gradients are the derivative of the distance, as far as the engine looks: one proved contact.

        Else, they are those of the contact given: one of several with `NON_UNIQUE` or `ARBITRARY_NORMAL`, one that may
        not be the best with `UNPROVEN`, and none at all with `UNBOUNDED`.
        """
        return not self & _NOT_DIFFERENTIABLE


_NOT_DIFFERENTIABLE = Status.UNPROVEN | Status.NON_UNIQUE | Status.ARBITRARY_NORMAL | Status.UNBOUNDED


def differentiable_rows(status: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """`Status.differentiable` of many rows."""
    return (status & int(_NOT_DIFFERENTIABLE)) == 0


_STATUSES = tuple(Status(flags) for flags in range(2 * max(Status)))


@dataclass(frozen=True)
class DistanceResult:
    """Signed distance of two bodies with what proves it."""

    distance: float
    """Signed distance, m: positive apart, negative minus the minimum translational distance."""
    lower: float
    """Proved lower bound of the signed distance, m."""
    upper: float
    """Proved upper bound of the signed distance, m."""
    point_a: FloatArray
    """Witness point on the surface of body A, shape (3,), world, m. With any status, the points are between `lower` and
    `upper` from each other where the bodies are apart, and distance times normal, to within the width of the interval,
    where they overlap; docs/numerics.md, section 4 says what else they promise."""
    point_b: FloatArray
    """Witness point on the surface of body B, shape (3,), world, m."""
    normal: FloatArray
    """Unit common normal from A to B, shape (3,), world."""
    status: Status
    iterations: int
    """Newton iterations spent."""

    @classmethod
    def _from_row(cls, row: FloatArray) -> DistanceResult:
        """Result from a row of the engine, in a third of the time that eight guarded assignments take."""
        distance, lower, upper, *_, status, iterations = row.tolist()
        result = object.__new__(cls)
        result.__dict__.update(
            distance=distance,
            lower=lower,
            upper=upper,
            point_a=row[_pair.POINT_A : _pair.POINT_A + 3],
            point_b=row[_pair.POINT_B : _pair.POINT_B + 3],
            normal=row[_pair.NORMAL : _pair.NORMAL + 3],
            status=_STATUSES[int(status)],
            iterations=int(iterations),
        )
        return result


@dataclass(frozen=True)
class DistanceResults:
    """`DistanceResult` as arrays, one row a pair."""

    distance: FloatArray
    lower: FloatArray
    upper: FloatArray
    point_a: FloatArray
    point_b: FloatArray
    normal: FloatArray
    status: NDArray[np.uint8]
    iterations: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.distance)

    @property
    def differentiable(self) -> NDArray[np.bool_]:
        """`Status.differentiable` of each row: whether the gradients of a row are the derivative of its distance."""
        return differentiable_rows(self.status)

    def __getitem__(self, row: int) -> DistanceResult:
        return DistanceResult(
            float(self.distance[row]),
            float(self.lower[row]),
            float(self.upper[row]),
            self.point_a[row],
            self.point_b[row],
            self.normal[row],
            Status(int(self.status[row])),
            int(self.iterations[row]),
        )

    @classmethod
    def from_rows(cls, rows: FloatArray) -> DistanceResults:
        """Wrap the result rows of the kernels."""
        return cls(
            rows[:, _pair.DISTANCE],
            rows[:, _pair.LOWER],
            rows[:, _pair.UPPER],
            rows[:, _pair.POINT_A : _pair.POINT_A + 3],
            rows[:, _pair.POINT_B : _pair.POINT_B + 3],
            rows[:, _pair.NORMAL : _pair.NORMAL + 3],
            rows[:, _pair.STATUS].astype(np.uint8),
            rows[:, _pair.ITERATIONS].astype(np.int32),
        )


def as_poses(name: str, poses: ArrayLike) -> FloatArray:
    """Check that an array holds rigid transforms, and make them so to the last bits.

    A pose stands for the rotation that is nearest to its upper left 3 x 3 matrix (the polar factor) and for its
    translation as it is: this is what all intervals hold for (`superovoid_ros._rounding`).

    Parameters
    ----------
    name : str
        Name of the argument, for the error.
    poses : (..., 4, 4) array_like
        Homogeneous transforms, body to world, m. The matrix may be off from a rotation as in single precision, or
        after many products: the norm of R^T R - I up to 2e-6.

    Returns
    -------
    (..., 4, 4) ndarray
        C-contiguous float64. Rotations that are off by more than double precision must be are replaced by the nearest
        rotation; the array is the one given where there are none.

    Raises
    ------
    ValueError
        If the shape is wrong, a number is not finite, a matrix is not a rotation and a translation, or a coordinate is
        beyond 1e30 m.
    """
    try:
        array = np.ascontiguousarray(poses, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: must be a 4 x 4 matrix of numbers") from None
    if array.shape[-2:] != (4, 4):
        raise ValueError(f"{name}: must have shape (..., 4, 4), found {array.shape}")
    rows = array.reshape(-1, 4, 4)
    error = rotation_error(rows)
    if error <= AS_IS:
        return array
    if not error < _ROTATION_LIMIT:
        _complain_about_poses(name, rows)
    rigid = rows.copy()
    straighten_rows(rigid)
    return rigid.reshape(array.shape)


def _complain_about_poses(name: str, rows: FloatArray) -> None:
    if not np.isfinite(rows).all():
        raise ValueError(f"{name}: must be finite, found nan or inf")
    if not (rows[:, 3] == (0.0, 0.0, 0.0, 1.0)).all():
        raise ValueError(f"{name}: last row must be (0, 0, 0, 1)")
    farthest = np.abs(rows[:, :3, 3]).max()
    if farthest > MOST_LENGTH:
        raise ValueError(f"{name}: coordinates must be within {MOST_LENGTH:g} m, found {farthest:.3g}")
    turns = rows[:, :3, :3]
    error = np.linalg.norm(np.swapaxes(turns, 1, 2) @ turns - np.eye(3), axis=(1, 2)).max()
    if not error < _ROTATION_LIMIT:
        raise ValueError(f"{name}: upper left 3 x 3 must be a rotation, found R^T R - I of norm {error:.3g}")
    raise ValueError(f"{name}: upper left 3 x 3 must be a rotation, found a reflection (determinant -1)")


def check_tolerance(tolerance: float) -> float:
    if tolerance is TOLERANCE:
        return tolerance
    real = isinstance(tolerance, int | float | np.floating) and not isinstance(tolerance, bool)
    if not (real and 1e-12 <= tolerance <= MOST_LENGTH):
        raise ValueError(f"tolerance = {short(tolerance)}: must be a number of at least 1e-12, at most {MOST_LENGTH:g}")
    return float(tolerance)


def _packed(name: str, shape: Shape) -> FloatArray:
    if isinstance(shape, Superovoid):
        return shape._packed
    if not isinstance(shape, Shape):
        raise TypeError(f"{name}: must be a shape of superovoid_ros.shapes, found {type(shape).__name__}")
    return shape._row


def _solve_kinds(a: Shape, pose_a: FloatArray, b: Shape, pose_b: FloatArray, tolerance: float, out: FloatArray) -> None:
    """Answer for a pair that is not two superovoids. What it needs is imported, and compiled, only then."""
    from superovoid_ros.contact._dispatch import kernel_for

    row_a, row_b = a._row, b._row
    kernel_for(row_a, row_b)(
        row_a,
        row_b,
        a._pool,
        b._pool,
        pose_a,
        pose_b,
        tolerance,
        SEARCH_BUDGET,
        np.zeros(_pair.STATE_LENGTH),
        np.empty((3, 3)),
        out,
    )


def distance(
    a: Shape, pose_a: ArrayLike, b: Shape, pose_b: ArrayLike, *, tolerance: float = TOLERANCE
) -> DistanceResult:
    """Signed distance of two bodies, with witness points, normal and a proved interval.

    Parameters
    ----------
    a, b : Shape
        The bodies, of any kinds of `superovoid_ros.shapes` (docs/shapes.md says how each pair is solved).
    pose_a, pose_b : (4, 4) array_like
        Poses, body to world, m.
    tolerance : float, optional
        Width of the interval [lower, upper] that counts as certified, as a fraction of the smaller body's largest
        semi-axis. What rounding takes at large coordinates is allowed on top.

    Returns
    -------
    DistanceResult
        `status` says what could not be proved; no answer is ever a sentinel.

    Raises
    ------
    ValueError
        If a pose is not a rigid transform.
    TypeError
        If a shape is none of ours.

    Notes
    -----
    Swapping the bodies swaps the points and turns the normal, bit by bit, and nothing else. Only two identical bodies
    at identical poses have no order, so their arbitrary normal cannot turn.

    Examples
    --------
    >>> import numpy as np
    >>> from superovoid_ros import Sphere, distance
    >>> apart = np.eye(4)
    >>> apart[0, 3] = 3.0
    >>> float(round(distance(Sphere(1.0), np.eye(4), Sphere(0.5), apart).distance, 12))
    1.5
    """
    out = np.empty(_pair.RESULT_LENGTH)
    pose_a = as_poses("pose_a", pose_a)
    pose_b = as_poses("pose_b", pose_b)
    if pose_a.ndim != 2 or pose_b.ndim != 2:
        name, pose = ("pose_a", pose_a) if pose_a.ndim != 2 else ("pose_b", pose_b)
        raise ValueError(f"{name}: must have shape (4, 4), found {pose.shape}; distances() takes arrays")
    row_a, row_b = _packed("a", a), _packed("b", b)
    if isinstance(a, Superovoid) and isinstance(b, Superovoid):
        _pair.solve_pair(
            row_a,
            row_b,
            pose_a,
            pose_b,
            check_tolerance(tolerance),
            SEARCH_BUDGET,
            np.zeros(_pair.STATE_LENGTH),
            np.empty((3, 3)),
            out,
        )
    else:
        _solve_kinds(a, pose_a, b, pose_b, check_tolerance(tolerance), out)
    return DistanceResult._from_row(out)


def distances(
    shapes_a: Shape | Sequence[Shape],
    poses_a: ArrayLike,
    shapes_b: Shape | Sequence[Shape],
    poses_b: ArrayLike,
    *,
    tolerance: float = TOLERANCE,
    threads: int | None = None,
) -> DistanceResults:
    """Signed distances of many pairs.

    Parameters
    ----------
    shapes_a, shapes_b : Shape or sequence of Shape
        The bodies of each pair; a single one stands in every pair.
    poses_a, poses_b : (n, 4, 4) or (4, 4) array_like
        Poses, body to world, m; a single one stands in every pair.
    tolerance : float, optional
        As for `distance`.
    threads : int, optional
        Threads to share the pairs of a large batch among; None: as many as there are processors and as pay. The
        answers are the same for any number.

    Returns
    -------
    DistanceResults
        Arrays with one row a pair.

    Raises
    ------
    ValueError
        If lengths do not match, a pose is not a rigid transform, or `threads` is not positive.

    Notes
    -----
    Batches of 512 pairs and more are solved in SIMD lanes (docs/batch.md). Their answers agree with those of
    `distance` within both intervals, not bit by bit.
    """
    most = workers(threads)
    pose_a = as_poses("poses_a", poses_a)
    pose_b = as_poses("poses_b", poses_b)
    counts = {}
    for name, value in (("shapes_a", shapes_a), ("shapes_b", shapes_b)):
        if not isinstance(value, Shape):
            if not hasattr(value, "__len__"):
                raise TypeError(f"{name}: must be a shape or a sequence of shapes, found {type(value).__name__}")
            counts[name] = len(value)
    for name, pose in (("poses_a", pose_a), ("poses_b", pose_b)):
        if pose.ndim == 3:
            counts[name] = len(pose)
        elif pose.ndim != 2:
            raise ValueError(f"{name}: must have shape (n, 4, 4) or (4, 4), found {pose.shape}")
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise ValueError(f"all arguments must speak of the same number of pairs, found {found}")
    n = next(iter(counts.values()), 1)

    def each(name: str, shapes: Shape | Sequence[Shape]) -> list[Shape]:
        if isinstance(shapes, Shape):
            return [shapes] * n
        for i, shape in enumerate(shapes):
            _packed(f"{name}[{i}]", shape)
        return list(shapes)

    def pose_rows(pose: FloatArray) -> FloatArray:
        # Writable, or the kernels would be compiled once more.
        return np.require(np.broadcast_to(pose, (n, 4, 4)), requirements=["C", "W"])

    all_a, all_b = each("shapes_a", shapes_a), each("shapes_b", shapes_b)
    pose_a, pose_b = pose_rows(pose_a), pose_rows(pose_b)
    tolerance = check_tolerance(tolerance)
    out = np.empty((n, _pair.RESULT_LENGTH))
    both = zip(all_a, all_b, strict=True)
    ovoids = np.array([isinstance(p, Superovoid) and isinstance(q, Superovoid) for p, q in both], dtype=bool)
    if ovoids.any():
        some = np.flatnonzero(ovoids)
        solved = np.empty((len(some), _pair.RESULT_LENGTH))
        arguments = (
            *(np.array([shapes[i]._packed for i in some]) for shapes in (all_a, all_b)),
            pose_a[some],
            pose_b[some],
            tolerance,
            SEARCH_BUDGET,
            np.zeros((len(some), _pair.STATE_LENGTH)),
            solved,
        )
        if len(some) < BATCH:
            _pair.solve_pairs(*arguments)
        else:
            from superovoid_ros.contact import _batch  # here, so that who has few pairs never waits for its kernels

            _batch.solve_batch(*arguments, threads=max(1, min(most, len(some) // BATCH)))
        out[some] = solved
    for i in np.flatnonzero(~ovoids):
        _solve_kinds(all_a[i], pose_a[i], all_b[i], pose_b[i], tolerance, out[i])
    return DistanceResults.from_rows(out)
