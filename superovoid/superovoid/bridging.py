# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances as functions of arrays, with their Jacobians: what the bridges to other frameworks share.

A function takes arrays and returns an `Answer`, whose arrays have the batch axes (...) of the broadcast inputs:

=================  =============================================================  ====================================
function           inputs                                                         batch axes
=================  =============================================================  ====================================
`PairFunction`     poses of A and B (..., 4, 4); parameters of `Shapes` (..., k)  those of the inputs
`StateFunction`    positions (..., 1, q); poses of the bases (..., 1, k, 4, 4)    (..., pairs)
=================  =============================================================  ====================================

The Jacobian by an input has the batch axes and the last axes of the input, so every derivative product is a product of
arrays and a sum:

    along dx     (J * dx) summed over the last axes of the input
    of weights   (weights * J) summed over the axes along which the input was broadcast

A pose varies in the rigid transforms. Its Jacobian is the matrix G with <G, dM> = gradient . twist for each of their
tangents dM = [skew(w) R, v]: G = [skew(angular) R / 2, linear], because <skew(g) R, skew(w) R> = 2 g . w.
"""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.contact import DistanceResults, derivatives, distances, pose_gradients
from superovoid.robot import Robot
from superovoid.scene import Scene
from superovoid.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Shape,
    ShapeArray,
    Sphere,
    Superellipsoid,
    Superovoid,
    Torus,
)
from superovoid.states import StateDistances as StateResults
from superovoid.states import StateQuery
from superovoid.values.status import differentiable_rows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

PARAMETERS: dict[type[Shape], tuple[str, ...]] = {
    Superovoid: ("a1", "a2", "a3", "section_exponent", "profile_exponent", "taper_x", "taper_y"),
    Superellipsoid: ("a1", "a2", "a3", "section_exponent", "profile_exponent"),
    Ellipsoid: ("a1", "a2", "a3"),
    Sphere: ("radius",),
    Box: ("length_x", "length_y", "length_z"),
    Capsule: ("radius", "length"),
    Cylinder: ("radius", "length"),
    Cone: ("radius", "length"),
    Torus: ("major_radius", "minor_radius"),
}
"""Parameters of each kind in `Shapes`, in the order of its constructor."""

_CROSS_PRODUCTS = np.cross(np.eye(3)[:, None], np.eye(3))  # of the axes: `numpy.cross` is slow for few pairs


def framework(name: str, extra: str) -> ModuleType:
    """Import the package of a framework.

    Raises
    ------
    ModuleNotFoundError
        If it is missing, with the extra that installs it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"no module {error.name!r}: pip install 'superovoid[{extra}]'") from error


class Shapes(NamedTuple):
    """Bodies of one kind that an array of their parameters describes, so that a framework can differentiate by it."""

    kind: type[Shape]
    """One of `PARAMETERS`."""
    parameters: Any
    """Shape (..., k), an array of the framework, with a column for each name in ``PARAMETERS[kind]``."""


Bodies = Shape | Sequence[Shape] | Shapes
"""The bodies of the pairs: one for all, a sequence along the last batch axis, or parameters."""


class Answer(NamedTuple):
    """Distances and their Jacobians; arrays with the batch axes (...)."""

    distance: FloatArray
    point_a: FloatArray
    """Shape (..., 3)."""
    point_b: FloatArray
    normal: FloatArray
    status: NDArray[np.uint8]
    """`superovoid.Status`."""
    jacobians: tuple[FloatArray, ...]
    """One for each input."""

    @property
    def differentiable(self) -> NDArray[np.bool_]:
        """`Status.differentiable`."""
        return np.asarray(differentiable_rows(self.status))


class Distances(NamedTuple):
    """Signed distances of a batch; arrays of the framework with the batch axes (...)."""

    distance: Any
    """The signed distances; the other fields have no derivatives."""
    point_a: Any
    """Closest points on A, shape (..., 3)."""
    point_b: Any
    normal: Any
    """Unit vectors from A to B, shape (..., 3)."""
    status: Any
    """`superovoid.Status` as uint8."""
    differentiable: Any
    """`Status.differentiable`: if false, the gradient is one-sided, or that of an unproved contact, or missing."""


def _rows(array: FloatArray, rank: int, batch: tuple[int, ...]) -> FloatArray:
    """Return an array with these batch axes, broadcast, as rows: all its axes but the last `rank` are one."""
    last = array.shape[array.ndim - rank :]
    rows = np.empty((*batch, *last))
    rows[...] = array
    return rows.reshape(math.prod(batch), *last)


class PairFunction:
    """Signed distances of pairs as a function of poses and, for `Shapes`, parameters.

    Parameters
    ----------
    a, b : Shape, sequence of Shape, or Shapes
        The parameters of `Shapes` are inputs of the function; only the kind is read here.
    threads : int, optional
        As for `superovoid.distances`.
    """

    def __init__(self, a: Bodies, b: Bodies, threads: int | None = None) -> None:
        self._sides, self._threads = (a, b), threads
        for name, side in zip("ab", self._sides, strict=True):
            if isinstance(side, Shapes) and side.kind not in PARAMETERS:
                known = ", ".join(kind.__name__ for kind in PARAMETERS)
                raise ValueError(f"{name}.kind = {side.kind!r}: must be one of {known}")
            if not isinstance(side, Shape | Shapes) and not hasattr(side, "__len__"):
                raise TypeError(f"{name}: must be a shape, a sequence of shapes or Shapes, found {type(side).__name__}")
        self.ranks = (2, 2, *(1 for side in self._sides if isinstance(side, Shapes)))
        """Number of the last axes of each input."""
        self.has_hessians = False

    def batch(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """Return the batch axes for the shapes of the inputs."""
        names = ["pose_a", "pose_b"]
        axes: dict[str, tuple[int, ...]] = {}
        for name, side in zip("ab", self._sides, strict=True):
            if isinstance(side, Shapes):
                names.append(f"parameters of {name}")
            elif not isinstance(side, Shape):
                axes[name] = (len(side),)  # bodies along the last axis
        for name, shape in zip(names[:2], shapes, strict=False):
            _check_last(name, shape, (4, 4))
        axes |= {name: shape[: len(shape) - k] for name, shape, k in zip(names, shapes, self.ranks, strict=True)}
        return _broadcast(axes)

    def __call__(self, *inputs: FloatArray) -> Answer:
        """Compute the distances and their Jacobians."""
        batch = self.batch([each.shape for each in inputs])
        flat = [_rows(each, rank, batch) for each, rank in zip(inputs, self.ranks, strict=True)]
        poses, parameters = flat[:2], iter(flat[2:])
        of_sides = [next(parameters) if isinstance(side, Shapes) else None for side in self._sides]
        bodies = [_bodies(side, rows, batch) for side, rows in zip(self._sides, of_sides, strict=True)]
        found = distances(bodies[0], poses[0], bodies[1], poses[1], threads=self._threads)
        by_pose = pose_gradients(found, *poses)
        jacobians = [by_matrix(twist, pose) for twist, pose in zip(by_pose, poses, strict=True)]
        for number, (side, rows) in enumerate(zip(self._sides, of_sides, strict=True)):
            if isinstance(side, Shapes) and rows is not None:
                if issubclass(side.kind, Superovoid):
                    every = derivatives(bodies[0], poses[0], bodies[1], poses[1], found, threads=self._threads)
                    by_shape = (every.by_shape_a, every.by_shape_b)[number][:, : max(3, rows.shape[1])]
                    jacobians.append(by_shape.sum(axis=1, keepdims=True) if side.kind is Sphere else by_shape)
                else:
                    jacobians.append(_by_parameters(side.kind, rows, poses[number], found, number))
        return Answer(
            found.distance.reshape(batch),
            found.point_a.reshape(*batch, 3),
            found.point_b.reshape(*batch, 3),
            found.normal.reshape(*batch, 3),
            found.status.reshape(batch),
            tuple(each.reshape(*batch, *each.shape[1:]) for each in jacobians),
        )


class StateFunction:
    """Signed distances of a robot's pairs of bodies as a function of joint positions and poses of its bases.

    Parameters
    ----------
    robot : Robot
    scene : Scene, optional
        As for `superovoid.state_distances`; default: ``robot.scene()``.
    pairs : (n, 2) array_like of int, optional
        Pairs of the scene, in either order; default: all.
    max_distance : float, optional
        Pairs farther apart have this distance, a derivative of zero, points of nan and a normal of zero.
    threads : int, optional
        As for `superovoid.state_distances`.

    Attributes
    ----------
    pairs : (n, 2) ndarray of int
        Bodies A and B of each pair: the last batch axis.
    """

    def __init__(
        self,
        robot: Robot,
        scene: Scene | None = None,
        *,
        pairs: ArrayLike | None = None,
        max_distance: float = math.inf,
        threads: int | None = None,
    ) -> None:
        scene = robot.scene() if scene is None else scene
        is_based = bool(robot.base_links)
        self._query = StateQuery(
            robot, scene, pairs=pairs, max_distance=max_distance, gradients=True, base_gradients=is_based
        )
        self._robot, self._threads, self._limit, self._count = robot, threads, max_distance, len(scene.bodies)
        self._scene = scene.fork()
        self.pairs: IntArray = scene.pairs
        if pairs is not None:
            number = dict(zip(self._keys(self.pairs).tolist(), range(len(self.pairs)), strict=True))
            wanted = self._keys(np.asarray(pairs, dtype=np.int64).reshape(-1, 2))
            self.pairs = self.pairs[[number[key] for key in wanted.tolist()]]
        self._distinct, self._column = np.unique(self._keys(self.pairs), return_inverse=True)  # pairs may be repeated
        self.ranks = (1, 3) if is_based else (1,)
        """Number of the last axes of each input."""
        self.has_hessians = not is_based
        """Whether `hessians` are those by all inputs."""

    def bases(self, base_poses: Mapping[str, Any] | None) -> list[Any]:
        """Return the poses of ``robot.base_links`` in their order.

        Raises
        ------
        ValueError
            If one is missing.
        """
        given = base_poses or {}
        missing = [link for link in self._robot.base_links if link not in given]
        if missing:
            raise ValueError(f"base_poses: the pose of {missing[0]!r} is missing")
        return [given[link] for link in self._robot.base_links]

    def _keys(self, pairs: IntArray) -> IntArray:
        return pairs.min(axis=1) * self._count + pairs.max(axis=1)

    def batch(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """Return the batch axes for the shapes of the inputs."""
        names = ("positions", "base_poses")
        axes = {name: shape[: len(shape) - k] for name, shape, k in zip(names, shapes, self.ranks, strict=False)}
        return _broadcast({"pairs": (len(self.pairs),), **axes})

    def __call__(self, *inputs: FloatArray) -> Answer:
        """Compute the distances and their Jacobians."""
        found, table, _, bases = self._ask(inputs)
        by_inputs = [table(found.gradients, 0.0)]  # type: ignore[arg-type] # requested
        if bases is not None:
            by_inputs.append(table(by_matrix(found.base_gradients, bases[found.state]), 0.0))  # type: ignore[arg-type]
        return Answer(
            table(found.distance, self._limit),
            table(found.point_a, math.nan),
            table(found.point_b, math.nan),
            table(found.normal, 0.0),
            table(found.status, 0),
            tuple(by_inputs),
        )

    def hessians(self, *inputs: FloatArray) -> FloatArray:
        """Return the second derivatives by joint positions, shape (..., pairs, joints, joints); zero if there are none.

        See `Robot.distance_hessians`.
        """
        found, table, positions, bases = self._ask(inputs)
        kinematics = self._robot._kinematics
        bases = np.empty((1, 0, 4, 4)) if bases is None else bases
        poses = kinematics.poses_of_states(positions, bases)
        by_joint, _ = self._robot._hessians(self._scene, found, poses[found.state])
        return table(np.nan_to_num(by_joint), 0.0)

    def _ask(
        self, inputs: Sequence[FloatArray]
    ) -> tuple[StateResults, Callable[[NDArray[Any], float], NDArray[Any]], FloatArray, FloatArray | None]:
        """Return the rows of all states, a function that spreads values of rows, positions, and poses of bases."""
        batch = self.batch([each.shape for each in inputs])
        states = math.prod(batch[:-1])
        positions, *bases = (_rows(each, rank, (*batch[:-1], 1)) for each, rank in zip(inputs, self.ranks, strict=True))
        by_name = {link: bases[0][:, i] for i, link in enumerate(self._robot.base_links)}
        found = self._query(positions, base_poses=by_name, threads=self._threads)
        keys = self._keys(np.column_stack([found.body_a, found.body_b]))
        row = (found.state, np.searchsorted(self._distinct, keys))

        def table(values: NDArray[Any], fill: float) -> NDArray[Any]:
            full = np.full((states, len(self._distinct), *values.shape[1:]), fill, dtype=values.dtype)
            full[row] = values
            return full[:, self._column].reshape(*batch, *values.shape[1:])

        return found, table, positions, bases[0] if bases else None


Function = PairFunction | StateFunction
NO_HESSIANS = "second derivatives exist for robots without floating bases alone, by their joint positions"


class Framework(NamedTuple):
    """The functions of a framework that `StateDistances` calls."""

    array: Callable[[Any], Any]
    """Convert to an array of the framework."""
    broadcast: Callable[..., Sequence[Any]]
    stack: Callable[[Sequence[Any], int], Any]


class StateDistances(ABC):
    """Signed distances of a robot's pairs of bodies, differentiable by joint positions and poses of its bases.

    Parameters
    ----------
    robot : Robot
    scene : Scene, optional
        As for `superovoid.state_distances`; default: ``robot.scene()``.
    pairs : (n, 2) array_like of int, optional
        Pairs of the scene; default: all.
    max_distance : float, optional
        Pairs farther apart have this distance, m, and a gradient of zero.
    threads : int, optional
        As for `superovoid.state_distances`.

    Attributes
    ----------
    pairs : (n, 2) ndarray of int
        Indices of the bodies A and B of each pair.
    """

    _framework: ClassVar[Framework]

    def __init__(
        self,
        robot: Robot,
        scene: Scene | None = None,
        *,
        pairs: ArrayLike | None = None,
        max_distance: float = math.inf,
        threads: int | None = None,
    ) -> None:
        super().__init__()  # torch.nn.Module has attributes of its own
        self._function = StateFunction(robot, scene, pairs=pairs, max_distance=max_distance, threads=threads)
        self.pairs = self._function.pairs
        self._joints = len(robot.joint_names)

    def forward(self, positions: Any, base_poses: Mapping[str, Any] | None = None) -> Distances:
        """Compute the distances of a batch of states; a call of the object does so too.

        Parameters
        ----------
        positions : (..., joints) array
            Positions in the order of ``robot.joint_names``, rad or m.
        base_poses : mapping of str to (..., 4, 4) array, optional
            Poses of ``robot.base_links`` in the root frame.

        Returns
        -------
        Distances
            With the batch axes (..., pairs).
        """
        positions = self._framework.array(positions)
        _check_last("positions", tuple(positions.shape), (self._joints,))
        inputs = [positions[..., None, :]]
        bases = [self._framework.array(pose) for pose in self._function.bases(base_poses)]
        for pose in bases:
            _check_last("base_poses", tuple(pose.shape), (4, 4))
        if bases:
            inputs.append(self._framework.stack(self._framework.broadcast(*bases), -3)[..., None, :, :, :])
        return self._evaluate(self._function, *inputs)

    @staticmethod
    @abstractmethod
    def _evaluate(function: Function, *inputs: Any) -> Distances:
        """Call the engine in the framework."""


def _check_last(name: str, shape: tuple[int, ...], last: tuple[int, ...]) -> None:
    """Refuse an array without the given last axes.

    Raises
    ------
    ValueError
    """
    if shape[-len(last) :] != last:
        axes = ", ".join(map(str, last))
        raise ValueError(f"{name}: must have shape (..., {axes}), found {tuple(shape)}")


def _broadcast(axes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the common batch axes of named arrays."""
    try:
        return np.broadcast_shapes(*axes.values())
    except ValueError:
        found = ", ".join(f"{name}: {shape}" for name, shape in axes.items())
        raise ValueError(f"batch axes do not match: {found}") from None


def by_matrix(gradients: FloatArray, poses: FloatArray) -> FloatArray:
    """Return the Jacobians by poses (..., 4, 4) from the gradients (..., 6) by twists (module docstring)."""
    result = np.zeros((*gradients.shape[:-1], 4, 4))
    turned = np.einsum("jki,...j,...kl", _CROSS_PRODUCTS, gradients[..., 3:], poses[..., :3, :3])
    result[..., :3, :3], result[..., :3, 3] = 0.5 * turned, gradients[..., :3]
    return result


def _bodies(side: Bodies, parameters: FloatArray | None, batch: tuple[int, ...]) -> Shape | Sequence[Shape]:
    """Return the bodies of a side in the form that `distances` takes."""
    if isinstance(side, Shapes) and parameters is not None:
        if parameters.shape[1:] != (len(PARAMETERS[side.kind]),):
            names = ", ".join(PARAMETERS[side.kind])
            raise ValueError(
                f"{side.kind.__name__}: parameters must have the columns {names}, found {parameters.shape}"
            )
        return ShapeArray.from_columns(side.kind, parameters)
    if isinstance(side, Shape):
        return side
    along = np.empty(len(side), dtype=object)
    along[:] = side
    return np.broadcast_to(along, batch).ravel().tolist()


def _by_parameters(
    kind: type[Shape], rows: FloatArray, poses: FloatArray, found: DistanceResults, number: int
) -> FloatArray:
    """Return -dh/dtheta = -n . dx/dtheta at the contact, for the point x of a body A (number 0) or B (1)."""
    point, normal = ((found.point_a, found.normal), (found.point_b, -found.normal))[number]
    x = np.einsum("nji,nj->ni", poses[:, :3, :3], point - poses[:, :3, 3])
    n = np.einsum("nji,nj->ni", poses[:, :3, :3], normal)
    if kind is Box:
        return -n * x / rows
    first, second = rows.T
    across, along = (n * x)[:, :2].sum(axis=1), n[:, 2] * x[:, 2]
    if kind is Torus:  # a circle and a ball: x = c + minor n
        by = ((n * (x - second[:, None] * n)).sum(axis=1) / first, np.ones_like(first))
    elif kind is Capsule:  # a segment and a ball
        by = (np.ones_like(first), n[:, 2] * (x[:, 2] - first * n[:, 2]) / second)
    else:  # x scales with the parameters
        by = (across / first, along / second)
    return -np.stack(by, axis=1)
