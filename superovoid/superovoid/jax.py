# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signed distances as functions of JAX, under `jit`, `vmap`, `grad`, `jvp`: ``from superovoid.jax import distances``.

The engine runs on the processor in double precision, called by `jax.pure_callback`. One call returns the distances and
their Jacobians, from which JAX's own operations make the derivatives of both modes. There are no second derivatives:
JAX raises an error. Without ``jax_enable_x64`` the results are rounded to single precision.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from superovoid import bridging
from superovoid.bridging import Bodies, Distances, Function, PairFunction, Shapes, framework

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax = framework("jax", "jax")
    jnp = framework("jax.numpy", "jax")

Array = Any
"""An array of JAX or numpy."""


def distances(a: Bodies, pose_a: Array, b: Bodies, pose_b: Array, *, threads: int | None = None) -> Distances:
    """Compute the signed distances of a batch of pairs, differentiable by poses and shape parameters.

    Parameters
    ----------
    a, b : Shape, sequence of Shape, or Shapes
        Bodies: one for all pairs, a sequence along the last batch axis, or `superovoid.bridging.Shapes`, whose array of
        parameters may be traced.
    pose_a, pose_b : (..., 4, 4) array
        Poses, body to world, m; batch axes are broadcast. Gradients are tangent to the rigid transforms.
    threads : int, optional
        As for `superovoid.distances`.

    Returns
    -------
    Distances

    Raises
    ------
    ValueError
        If shapes do not match. An invalid pose or parameter raises JAX's error of a callback, with the message.
    """
    parameters = [side.parameters for side in (a, b) if isinstance(side, Shapes)]
    # The function is part of what `jit` compiles: parameters are inputs, not part of it.
    kind_a, kind_b = (Shapes(side.kind, None) if isinstance(side, Shapes) else side for side in (a, b))
    return _evaluate(PairFunction(kind_a, kind_b, threads), pose_a, pose_b, *parameters)


class StateDistances(bridging.StateDistances):
    """`superovoid.bridging.StateDistances` of arrays of JAX, which may be traced."""

    _framework = bridging.Framework(jnp.asarray, jnp.broadcast_arrays, jnp.stack)

    def __call__(self, positions: Array, base_poses: Mapping[str, Array] | None = None) -> Distances:
        """Call `forward`."""
        return self.forward(positions, base_poses)

    @staticmethod
    def _evaluate(function: Function, *inputs: Array) -> Distances:
        return _evaluate(function, *inputs)


def _evaluate(function: Function, *inputs: Array) -> Distances:
    """Call the engine with inputs of equally many batch axes, so that `vmap` may add an axis in front of each."""
    arrays = [jnp.asarray(each, jnp.result_type(float)) for each in inputs]
    most = len(function.batch([each.shape for each in arrays]))
    ranks = [each.ndim - last for each, last in zip(arrays, function.ranks, strict=True)]
    aligned = (each.reshape((1,) * (most - rank) + each.shape) for each, rank in zip(arrays, ranks, strict=True))
    return Distances(*_values(function, *aligned))


def _call(function: Function, inputs: tuple[Array, ...], derive: bool) -> tuple[Array, ...]:
    """Return the fields of `Distances` and, with `derive`, the Jacobians."""
    batch, real = function.batch([each.shape for each in inputs]), jnp.result_type(float)
    points = [jax.ShapeDtypeStruct((*batch, 3), real)] * 3
    flags = [jax.ShapeDtypeStruct(batch, np.uint8), jax.ShapeDtypeStruct(batch, np.bool_)]
    last = [each.shape[each.ndim - rank :] for each, rank in zip(inputs, function.ranks, strict=True)]
    by_inputs = [jax.ShapeDtypeStruct((*batch, *each), real) for each in last] if derive else []

    def engine(*arrays: Array) -> tuple[np.ndarray, ...]:
        answer = function(*(np.asarray(each, dtype=np.float64) for each in arrays))
        numbers = (answer.distance, answer.point_a, answer.point_b, answer.normal)
        jacobians = answer.jacobians if derive else ()
        return (
            *(each.astype(real, copy=False) for each in numbers),
            answer.status,
            answer.differentiable,
            *(each.astype(real, copy=False) for each in jacobians),
        )

    specification = (jax.ShapeDtypeStruct(batch, real), *points, *flags, *by_inputs)
    return tuple(jax.pure_callback(engine, specification, *inputs, vmap_method="broadcast_all"))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _values(function: Function, *inputs: Array) -> tuple[Array, ...]:
    return _call(function, inputs, derive=False)


@_values.defjvp
def _along(
    function: Function, inputs: tuple[Array, ...], tangents: tuple[Array, ...]
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    found = _call(function, inputs, derive=True)
    values, jacobians = found[:6], found[6:]
    change = jnp.zeros_like(values[0])
    for jacobian, tangent in zip(jacobians, tangents, strict=True):
        change = change + (jacobian * tangent).sum(axis=tuple(range(values[0].ndim, jacobian.ndim)))
    none = [np.zeros(each.shape, jax.dtypes.float0) for each in values[4:]]
    return values, (change, *map(jnp.zeros_like, values[1:4]), *none)
