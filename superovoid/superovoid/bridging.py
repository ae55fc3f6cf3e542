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

A pose varies in the rigid transforms; its Jacobian is tangent to them (`superovoid.contact.jacobians`). Both functions
also write rows of results and derivatives to an array of the caller (`PairFunction.fill`).
"""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.contact.broadcasting import packed_bodies
from superovoid.contact.columns import RESULT, RESULT_LENGTH
from superovoid.contact.jacobians import POSE_LENGTH, BodyRows, fill_rows
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
from superovoid.shapes.shape import EMPTY_POOL
from superovoid.states import StateDistances as StateResults
from superovoid.states import StateQuery
from superovoid.values.checks import greatest_distance, shorten
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
        words = f"no module {error.name!r}: pip install 'superovoid[{extra}]'"
        raise ModuleNotFoundError(words, name=error.name) from error


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


def fields_of(rows: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return distance, points, normal and status, a number, of rows (`superovoid.contact.jacobians`)."""
    points = (rows[..., first : first + 3] for first in (RESULT.point_a, RESULT.point_b, RESULT.normal))
    return (rows[..., RESULT.distance], *points, rows[..., RESULT.status])


def _rows(array: FloatArray, rank: int, batch: tuple[int, ...]) -> FloatArray:
    """Return an array with these batch axes, broadcast, as rows: all its axes but the last `rank` are one."""
    last = array.shape[array.ndim - rank :]
    rows = np.empty((*batch, *last))
    rows[...] = array
    return rows.reshape(math.prod(batch), *last)


class _Plan(NamedTuple):
    """What `PairFunction` prepares for inputs of given shapes."""

    shapes: tuple[tuple[int, ...], ...]
    batch: tuple[int, ...]
    which: IntArray
    """Numbers of the pairs."""
    sides: tuple[BodyRows | IntArray, ...]
    """The bodies; of `Shapes`, the row of parameters of each pair."""


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
        varying = [(name, side.kind) for name, side in zip("ab", self._sides, strict=True) if isinstance(side, Shapes)]
        self.names = ("pose_a", "pose_b", *(f"parameters of {name}" for name, _ in varying))
        """Names of the inputs."""
        self.ranks = (2, 2, *(1 for _ in varying))
        """Number of the last axes of each input."""
        self.has_hessians = False
        self._last = ((4, 4), (4, 4), *((len(PARAMETERS[kind]),) for _, kind in varying))
        self._kinds = [kind for _, kind in varying]
        self._width = RESULT_LENGTH + sum(map(math.prod, self._last))
        self._plan: _Plan | None = None  # the last one

    def batch(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """Return the batch axes for the shapes of the inputs."""
        axes: dict[str, tuple[int, ...]] = {}
        for name, side in zip("ab", self._sides, strict=True):
            if not isinstance(side, Shape | Shapes):
                axes[name] = (len(side),)  # bodies along the last axis
        for name, shape in zip(self.names[:2], shapes, strict=False):
            _check_last(name, shape, (4, 4))
        for kind, shape in zip(self._kinds, shapes[2:], strict=True):
            if shape[-1:] != (len(PARAMETERS[kind]),):
                names = ", ".join(PARAMETERS[kind])
                raise ValueError(f"{kind.__name__}: parameters must have the columns {names}, found {tuple(shape)}")
        axes |= {name: shape[: len(shape) - k] for name, shape, k in zip(self.names, shapes, self.ranks, strict=True)}
        return _broadcast(axes)

    def __call__(self, *inputs: FloatArray) -> Answer:
        """Compute the distances and their Jacobians."""
        rows = np.empty((*self._plan_of(inputs).batch, self._width))
        self.fill(inputs, rows)
        distance, point_a, point_b, normal, status = fields_of(rows)
        ends = np.cumsum((RESULT_LENGTH, *map(math.prod, self._last))).tolist()
        jacobians = (
            rows[..., first:end].reshape(*rows.shape[:-1], *last)
            for (first, end), last in zip(pairwise(ends), self._last, strict=True)
        )
        # A part of the rows would keep all of them in memory.
        return Answer(
            distance.copy(), point_a.copy(), point_b.copy(), normal.copy(), status.astype(np.uint8), tuple(jacobians)
        )

    def fill(self, inputs: Sequence[FloatArray], out: FloatArray) -> None:
        """Compute rows of results and Jacobians (`superovoid.contact.jacobians`).

        Parameters
        ----------
        inputs : sequence of ndarray
        out : ndarray, shape (..., columns)
            C-contiguous, with the batch axes. Jacobians are computed if it has more columns than a result.
        """
        plan = self._plan_of(inputs)
        count = len(plan.which)
        arrays = [np.ascontiguousarray(each, dtype=np.float64) for each in inputs]
        pose_a, pose_b = (
            each.reshape(-1, 4, 4) if each.size in (POSE_LENGTH, POSE_LENGTH * count) else _rows(each, 2, plan.batch)
            for each in arrays[:2]
        )
        varying = zip(self._kinds, arrays[2:], strict=True)
        a, b = (side if isinstance(side, BodyRows) else _bodies_of(*next(varying), side) for side in plan.sides)
        fill_rows(a, b, pose_a, pose_b, plan.which, out.reshape(count, out.shape[-1]), self._threads)

    def _plan_of(self, inputs: Sequence[FloatArray]) -> _Plan:
        shapes = tuple(each.shape for each in inputs)
        plan = self._plan
        if plan is None or plan.shapes != shapes:
            self._plan = plan = self._plan_for(shapes)
        return plan

    def _plan_for(self, shapes: tuple[tuple[int, ...], ...]) -> _Plan:
        batch = self.batch(shapes)
        count, parameters = math.prod(batch), iter(shapes[2:])
        sides: list[BodyRows | IntArray] = []
        for name, side in zip("ab", self._sides, strict=True):
            if isinstance(side, Shapes):
                axes = next(parameters)[:-1]
                sides.append(_spread(np.arange(math.prod(axes)).reshape(axes), batch))
            elif isinstance(side, Shape):
                sides.append(BodyRows(*packed_bodies(name, side, count), 0))
            else:
                rows, pool, body = packed_bodies(name, side, len(side))
                sides.append(BodyRows(rows, pool, _spread(body, batch), 0))
        return _Plan(shapes, batch, np.arange(count), tuple(sides))


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
        if not isinstance(robot, Robot):
            raise TypeError(f"robot: must be a Robot, found {shorten(robot)}")
        if scene is not None and not isinstance(scene, Scene):
            raise TypeError(f"scene: must be a Scene or None, found {shorten(scene)}")
        max_distance = greatest_distance(max_distance)
        if max_distance < 0.0:
            raise ValueError(f"max_distance = {max_distance}: must be at least 0, the distance of distant pairs")
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
        self.names = ("positions", "base_poses") if is_based else ("positions",)
        """Names of the inputs."""
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
        axes = {name: shape[: len(shape) - k] for name, shape, k in zip(self.names, shapes, self.ranks, strict=True)}
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

    def fill(self, inputs: Sequence[FloatArray], out: FloatArray) -> None:
        """Compute rows as `PairFunction.fill`; hessians too, if there are columns for them."""
        answer = self(*inputs)
        batch = answer.distance.shape
        for to, values in zip(fields_of(out), answer, strict=False):
            to[...] = values
        first = RESULT_LENGTH
        for values in answer.jacobians if out.shape[-1] > first else ():
            end = first + math.prod(values.shape[len(batch) :])
            out[..., first:end] = values.reshape(*batch, end - first)
            first = end
        if out.shape[-1] > first:
            out[..., first:] = self.hessians(*inputs).reshape(*batch, out.shape[-1] - first)

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

    array: Callable[[str, Any], Any]
    """Convert the input of a name to an array of real numbers of the framework."""
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
        positions = self._framework.array("positions", positions)
        _check_last("positions", tuple(positions.shape), (self._joints,))
        inputs = [positions[..., None, :]]
        bases = [self._framework.array("base_poses", pose) for pose in self._function.bases(base_poses)]
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
    distinct = set(axes.values()) - {()}
    if len(distinct) <= 1:
        return next(iter(distinct), ())
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


def _spread(body: IntArray, batch: tuple[int, ...]) -> IntArray:
    """Return the row of a body for each pair."""
    return (body if body.shape == batch else np.broadcast_to(body, batch)).ravel()


def _bodies_of(kind: type[Shape], parameters: FloatArray, body: IntArray) -> BodyRows:
    """Return the bodies that parameters describe."""
    count = len(PARAMETERS[kind])
    return BodyRows(ShapeArray.from_columns(kind, parameters.reshape(-1, count))._rows, EMPTY_POOL, body, count)
