# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Requests and answers of `DistanceClient`: conversion between arrays and messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from superovoid_interfaces.srv import GetDistances

from superovoid.values.checks import positive, whole_number
from superovoid.values.poses import PosesLike, as_matrices, check_rigid, quaternions_of
from superovoid.values.records import Result, StateTable
from superovoid.values.status import Status
from superovoid_ros.nodes.common.conversions import flat_array, to_nanoseconds

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class DistanceRow(Result):
    """One row of `Distances`: a pair in a state."""

    distance: float
    """Signed distance, m."""
    lower: float
    """Bounds of the proved interval of the distance, m."""
    upper: float
    point_a: FloatArray
    """Witness points, shape (3,), m, in `Distances.frame`."""
    point_b: FloatArray
    normal: FloatArray
    """Unit vector from body a to body b, shape (3,), in `Distances.frame`."""
    status: Status
    body_a: int
    """Indices of the bodies in `Distances.bodies`."""
    body_b: int
    name_a: str
    """Names of the bodies."""
    name_b: str
    link_a: str
    """Links or objects to which the bodies belong."""
    link_b: str


@dataclass(frozen=True, eq=False, repr=False)
class Distances(StateTable):
    """Answers for many states, one row for each pair; the rows of a state are sorted by ascending distance.

    The rows of state s are ``first[s]`` to ``first[s + 1] - 1``. ``found[0]`` is one row, a `DistanceRow`. A slice such
    as ``found[:10]`` or a mask such as ``found[found.certified & (found.distance < 0.01)]`` selects rows, in the order
    of the states; iteration yields rows. Answers are equal if all their fields are equal. They have no hash.
    """

    done: int
    """Number of states answered, always the first ones; fewer than requested if the deadline was reached."""
    first: IntArray
    """First row of each state, and the number of rows; shape (done + 1,)."""
    bodies: tuple[str, ...]
    """Names of bodies; `body_a` and `body_b` are indices into them."""
    links: tuple[str, ...]
    """The link or object to which each of `bodies` belongs."""
    body_a: IntArray
    body_b: IntArray
    distance: FloatArray
    """Signed distances, m, shape (rows,)."""
    lower: FloatArray
    """Bounds of the proved intervals of the distances, m, shape (rows,)."""
    upper: FloatArray
    status: NDArray[np.uint8]
    """Flags of `Status` as numbers, shape (rows,); `status_words` returns them as text."""
    point_a: FloatArray
    """Witness points, m, in `frame`, shape (rows, 3)."""
    point_b: FloatArray
    normal: FloatArray
    """Unit vectors from body a to body b, in `frame`, shape (rows, 3)."""
    gradients: FloatArray | None
    """d(distance)/dq, m/rad or m/m, shape (rows, len(gradient_joints)); None if not requested. It is the gradient at
    the witness points and normal of the row: see `differentiable`."""
    gradient_joints: tuple[str, ...]
    base_gradients: FloatArray | None
    """Derivatives with respect to the twist (linear; angular) of each of `gradient_bases`, m/m or m/rad, in axes of the
    root link, shape (rows, bases, 6); None if not requested."""
    gradient_bases: tuple[str, ...]
    frame: str
    stamp: int
    """Time of the oldest measurement in the states, ns."""
    stale: bool
    """If true, a measurement in the states is older than the node's parameter `stale_timeout`."""
    message: str
    """Reason why fewer states were answered than requested; empty if all were answered."""

    PER_ROW: ClassVar[tuple[str, ...]] = (
        *("distance", "lower", "upper", "point_a", "point_b", "normal", "status"),
        *("body_a", "body_b", "gradients", "base_gradients"),
    )
    JOINTS: ClassVar[str] = "gradient_joints"

    @property
    def _has_names(self) -> bool:
        return True

    def _text(self, what: str, index: int) -> str:
        return (self.bodies if what == "name" else self.links)[index]

    def _row(self, row: int) -> DistanceRow:
        return self._make_row(DistanceRow, row, **self._names_of(row))

    def _summary(self) -> str:
        words = f"{self.done} state{'' if self.done == 1 else 's'} answered, {super()._summary()}"
        return f"{words}; {self.message}" if self.message else words

    def of_state(self, state: int) -> Distances:
        """Return the rows of one state.

        Raises
        ------
        IndexError
            If that state was not answered.
        """
        if not 0 <= state < self.done:
            raise IndexError(f"state {state}: {self.done} states were answered")
        return self[slice(self.first[state], self.first[state + 1])]


class DistanceOptions(TypedDict, total=False):
    """The keyword arguments of `DistanceClient.distances`."""

    joint_names: Sequence[str]
    """Joints of the columns of `positions`."""
    base_poses: Mapping[str, PosesLike]
    """Poses of links on floating joints, m, in `base_frame`, shape (4, 4) for all states or (states, 4, 4). Other such
    links keep their pose from TF."""
    base_frame: str
    """Frame of `base_poses`; default: the planning frame."""
    links_a: Sequence[str]
    """Links, groups or objects on either side of the pairs; default: any."""
    links_b: Sequence[str]
    max_distance: float | None
    """Largest distance to report, m."""
    max_results: int | None
    """Largest number of pairs for each state; the closest ones are reported."""
    gradients: bool
    """If true, compute derivatives with respect to the joints."""
    base_gradients: bool
    """If true, compute derivatives with respect to base poses."""
    deadline: float | None
    """Time after which no further state is started, s."""


def request_of(positions: ArrayLike | None = None, **options: Unpack[DistanceOptions]) -> GetDistances.Request:
    """Return the request of a service call.

    Parameters
    ----------
    positions
        Positions of `joint_names`, rad or m, shape (states, joints) or (joints,). Other joints keep their measured
        position.
    **options
        The fields of `DistanceOptions`.

    Raises
    ------
    ValueError
        If an argument has an invalid shape or value.
    TypeError
        If there is no such argument.
    """
    unknown = options.keys() - DistanceOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"{', '.join(sorted(unknown))}: must be among {', '.join(DistanceOptions.__annotations__)}")
    names: dict[str, Sequence[str]] = {
        "joint_names": options.get("joint_names", ()),
        "links_a": options.get("links_a", ()),
        "links_b": options.get("links_b", ()),
    }
    base_poses, base_frame = options.get("base_poses") or {}, options.get("base_frame", "")
    for what, given in {**names, "base_poses": list(base_poses), "base_frame": [base_frame]}.items():
        check_names(what, given)
    rows, bases = _rows(positions, len(names["joint_names"])), _base_rows(base_poses)
    if len(rows) and len(bases) not in (0, 1, len(rows)):
        raise ValueError(f"base_poses: must be one pose for all states or {len(rows)}, found {len(bases)}")
    max_distance, max_results, deadline = map(options.get, ("max_distance", "max_results", "deadline"))
    return GetDistances.Request(
        **{what: list(given) for what, given in names.items()},
        joint_positions=flat_array("d", rows),
        base_links=list(base_poses),
        base_poses=flat_array("d", bases),
        base_frame=base_frame,
        max_distance=0.0 if max_distance is None else positive("max_distance", max_distance, "metres"),
        max_results=0 if max_results is None else whole_number("max_results", max_results, 1),
        gradients=bool(options.get("gradients")),
        base_gradients=bool(options.get("base_gradients")),
        deadline=0.0 if deadline is None else positive("deadline", deadline, "seconds"),
    )


def _rows(positions: ArrayLike | None, count: int) -> FloatArray:
    """Return the positions of `count` joints, shape (states, count); no rows if there are none."""
    rows = np.empty((0, count)) if positions is None else np.atleast_2d(np.asarray(positions, dtype=np.float64))
    if (positions is None) != (not count) or rows.ndim != 2 or rows.shape[1] != count:
        raise ValueError(
            f"positions: must have shape (states, {count}), a column for each of joint_names, found "
            f"{None if positions is None else np.shape(positions)}"
        )
    return rows


def check_names(what: str, names: Sequence[str]) -> None:
    """Raise `ValueError` if `names` is not a sequence of names."""
    if isinstance(names, str):
        raise ValueError(f"{what} = {names!r}: must be a sequence of names, found one name")
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"{what}: must be names, found {name!r}")


def _base_rows(base_poses: Mapping[str, PosesLike]) -> FloatArray:
    """Return poses as rows of a request (position, quaternion), shape (states or 1, 7 * links)."""
    numbers = []
    for link, pose in base_poses.items():
        matrices = as_matrices(f"base_poses[{link!r}]", pose)
        if matrices.ndim not in (2, 3) or not len(matrices):
            raise ValueError(f"base_poses[{link!r}]: must have shape (4, 4) or (states, 4, 4), found {matrices.shape}")
        matrices = matrices.reshape(-1, 4, 4)
        check_rigid(f"base_poses[{link!r}]", matrices)
        numbers.append(np.hstack([matrices[:, :3, 3], quaternions_of(matrices[:, :3, :3])]))
    if not numbers:
        return np.empty((0, 0))
    states = max(map(len, numbers))
    for link, rows in zip(base_poses, numbers, strict=True):
        if len(rows) not in (1, states):
            raise ValueError(
                f"base_poses[{link!r}]: {len(rows)} poses, others have {states}: must be the same number, or 1"
            )
    return np.hstack([np.broadcast_to(rows, (states, 7)) for rows in numbers])


def distances_of(response: GetDistances.Response) -> Distances:
    """Return the answer in a response."""

    def column(name: str, *shape: int, kind: type = float) -> np.ndarray:
        return np.array(getattr(response, name), dtype=kind).reshape(-1, *shape)

    joints, bases = tuple(response.gradient_joints), tuple(response.gradient_bases)
    return Distances(
        done=len(response.first) - 1,
        first=column("first", kind=np.int64),
        bodies=tuple(response.bodies),
        links=tuple(response.body_links),
        body_a=column("body_a", kind=np.int64),
        body_b=column("body_b", kind=np.int64),
        distance=column("distance"),
        lower=column("lower"),
        upper=column("upper"),
        status=column("status", kind=np.uint8),
        point_a=column("point_a", 3),
        point_b=column("point_b", 3),
        normal=column("normal", 3),
        gradients=column("gradients", len(joints)) if joints else None,
        gradient_joints=joints,
        base_gradients=column("base_gradients", len(bases), 6) if bases else None,
        gradient_bases=bases,
        frame=response.header.frame_id,
        stamp=to_nanoseconds(response.header.stamp),
        stale=response.stale,
        message=response.message,
    )
