# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signed distances as functions of PyTorch: ``from superovoid.torch import distances, StateDistances``.

The engine computes in double precision on the processor; results have the device and the type of the poses or
positions. Arrays of other libraries come in by DLPack, and tensors go out by it, without a copy. Second derivatives
are those by the joint positions of a robot without floating bases, as for `superovoid.casadi`; otherwise
``create_graph=True`` raises an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from superovoid import bridging
from superovoid.bridging import NO_HESSIANS, Bodies, Distances, Function, PairFunction, Shapes, framework
from superovoid.values.checks import shorten

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = framework("torch", "torch")


class _Engine(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Function, *inputs: Tensor) -> tuple[Tensor, ...]:
        like = inputs[0]
        answer = function(*(each.detach().to("cpu", torch.float64).numpy() for each in inputs))

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).to(like.device, like.dtype if array.dtype == np.float64 else None)

        ctx.save_for_backward(*inputs, *map(tensor, answer.jacobians))
        ctx.function, ctx.shapes = function, [each.shape for each in inputs]
        results = tuple(tensor(each) for each in (*answer[:4], answer.status, answer.differentiable))
        ctx.mark_non_differentiable(*results[1:])
        return results

    @staticmethod
    def backward(ctx: Any, weights: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        inputs, jacobians = (ctx.saved_tensors[part] for part in (slice(len(ctx.shapes)), slice(len(ctx.shapes), None)))
        if torch.is_grad_enabled():
            if not ctx.function.has_hessians:
                raise RuntimeError(f"create_graph: {NO_HESSIANS}")
            jacobians = (_Jacobian.apply(ctx.function, *inputs, *jacobians),)
        found: list[Tensor | None] = [None]
        for jacobian, shape, needed in zip(jacobians, ctx.shapes, ctx.needs_input_grad[1:], strict=True):
            last = (1,) * (jacobian.ndim - weights.ndim)
            found.append((weights.reshape(*weights.shape, *last) * jacobian).sum_to_size(shape) if needed else None)
        return tuple(found)


class _Jacobian(torch.autograd.Function):
    """A Jacobian by joint positions as a function of these, whose derivatives are the Hessians."""

    @staticmethod
    def forward(ctx: Any, function: Function, positions: Tensor, jacobian: Tensor) -> Tensor:
        ctx.function = function
        ctx.save_for_backward(positions)
        return jacobian.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        (positions,) = ctx.saved_tensors
        hessians = torch.from_numpy(ctx.function.hessians(positions.to("cpu", torch.float64).numpy())).to(weights)
        return None, (weights[..., None] * hessians).sum(-2).sum_to_size(positions.shape), None


def distances(a: Bodies, pose_a: Any, b: Bodies, pose_b: Any, *, threads: int | None = None) -> Distances:
    """Compute the signed distances of a batch of pairs, differentiable by poses and shape parameters.

    Parameters
    ----------
    a, b : Shape, sequence of Shape, or Shapes
        Bodies: one for all pairs, a sequence along the last batch axis, or `superovoid.bridging.Shapes`, whose
        parameters may need gradients.
    pose_a, pose_b : (..., 4, 4) tensor
        Poses, body to world, m; batch axes are broadcast. Gradients are tangent to the rigid transforms.
    threads : int, optional
        As for `superovoid.distances`.

    Returns
    -------
    Distances

    Raises
    ------
    ValueError
        If a pose is not a rigid transform, a parameter is out of range, or shapes do not match.

    Examples
    --------
    >>> import torch
    >>> from superovoid import Sphere
    >>> from superovoid.bridging import Shapes
    >>> from superovoid.torch import distances
    >>> pose = torch.eye(4, dtype=torch.float64).repeat(2, 1, 1)
    >>> pose[:, 0, 3] = torch.tensor([3.0, 4.0])
    >>> radius = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    >>> found = distances(Sphere(1.0), torch.eye(4, dtype=torch.float64), Shapes(Sphere, radius), pose)
    >>> found.distance.sum().backward()
    >>> found.distance.tolist(), radius.grad.tolist()
    ([1.5, 2.5], [-2.0])
    """
    function = PairFunction(a, b, threads)
    inputs = (pose_a, pose_b, *(side.parameters for side in (a, b) if isinstance(side, Shapes)))
    return Distances(*_Engine.apply(function, *map(_tensor, function.names, inputs)))


def _tensor(name: str, values: Any) -> Tensor:
    """Return a tensor of floating point; integers become numbers of double precision."""
    if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray | torch.Tensor):
        values = torch.from_dlpack(values)
    if isinstance(values, np.ndarray):
        # PyTorch refuses negative strides and foreign byte orders, and warns of memory that is not writable.
        values = np.require(values, values.dtype.newbyteorder("="), ["C", "W"])
    is_typed = isinstance(values, np.ndarray | torch.Tensor)
    try:
        tensor = torch.as_tensor(values, dtype=None if is_typed else torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{name}: must be real numbers, found {shorten(values)}: {error}") from None
    if tensor.is_complex() or tensor.dtype is torch.bool:
        raise TypeError(f"{name}: must be real numbers, found {tensor.dtype}")
    return tensor if tensor.is_floating_point() else tensor.to(torch.float64)


class StateDistances(bridging.StateDistances, torch.nn.Module):
    """`superovoid.bridging.StateDistances` of tensors, which may need gradients: a module of PyTorch."""

    __call__ = torch.nn.Module.__call__
    _framework = bridging.Framework(_tensor, torch.broadcast_tensors, torch.stack)

    @staticmethod
    def _evaluate(function: Function, *inputs: Tensor) -> Distances:
        return Distances(*_Engine.apply(function, *inputs))
