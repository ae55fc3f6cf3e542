# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signed distances as functions of PyTorch: ``from superovoid.torch import distances, StateDistances``.

The engine computes in double precision on the processor; results have the device and the type of the poses or
positions. Arrays of other libraries come in by DLPack, and tensors go out by it, without a copy. Second derivatives
are those by the joint positions of a robot without floating bases, as for `superovoid.casadi`; others raise
an error.

`torch.vmap` and the transforms of `torch.func` work, such as `grad`, `jacrev` and `hessian`. The mapped axis of `vmap`
becomes a batch axis, so the engine is called once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from superovoid import bridging
from superovoid.bridging import NO_HESSIANS, Bodies, Distances, Function, PairFunction, Shapes, StateFunction, framework
from superovoid.values.checks import shorten

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = framework("torch", "torch")


def _arrays(tensors: Iterable[Tensor]) -> list[np.ndarray]:
    return [each.detach().to("cpu", torch.float64).numpy() for each in tensors]


def _tensors(arrays: Iterable[np.ndarray], like: Tensor) -> tuple[Tensor, ...]:
    """Return tensors on the device of another one, numbers with its type."""
    return tuple(
        torch.from_numpy(each).to(like.device, like.dtype if each.dtype == np.float64 else None) for each in arrays
    )


def _weighted(weights: Tensor, jacobian: Tensor, shape: torch.Size) -> Tensor:
    """Return the weighted sum of Jacobians, whose last axes are those of an input of this shape."""
    last = (1,) * (jacobian.ndim - weights.ndim)
    return (weights.reshape(*weights.shape, *last) * jacobian).sum_to_size(shape)


def _check_nesting() -> None:
    """Refuse forward mode in forward mode, in which PyTorch takes the derivatives of `jvp` below as zero."""
    functorch = torch._C._functorch
    modes = [each.key() for each in functorch.get_interpreter_stack() or ()]
    if modes.count(functorch.TransformType.Jvp) > 1:
        raise RuntimeError("a distance has no forward derivatives of forward ones: use torch.func.hessian, or jacrev")


def _along(jacobian: Tensor, tangent: Tensor, rank: int) -> Tensor:
    """Return the derivative along a tangent of an input with this number of last axes."""
    return (jacobian * tangent).sum(dim=tuple(range(-rank, 0)))


class _Function(torch.autograd.Function):
    """What the functions below share: the rule of `torch.vmap`."""

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[int | None, ...], function: Function, *inputs: Tensor) -> tuple[Any, Any]:
        """Add the mapped axis as the first batch axis."""
        count = len(function.ranks)
        dims = in_dims[1:]
        moved = [each if dim is None else each.movedim(dim, 0) for each, dim in zip(inputs, dims, strict=True)]
        one = [each.shape[dim is not None :] for each, dim in zip(moved[:count], dims, strict=False)]
        axes = len(function.batch(one))
        for i, (shape, rank) in enumerate(zip(one, function.ranks, strict=True)):
            if dims[i] is not None:
                # Batch axes are broadcast from the last one.
                moved[i] = moved[i].reshape(info.batch_size, *(1,) * (axes + rank - len(shape)), *shape)
        for i in range(count, len(inputs)):
            if dims[i] is None:
                moved[i] = moved[i].expand(info.batch_size, *moved[i].shape)
        results = cls.apply(function, *moved)
        return results, (0,) * len(results)


class _Engine(_Function):
    """The fields of `Distances`, and the Jacobians of the distances."""

    @staticmethod
    def forward(function: Function, *inputs: Tensor) -> tuple[Tensor, ...]:
        answer = function(*_arrays(inputs))
        return _tensors((*answer[:4], answer.status, answer.differentiable, *answer.jacobians), inputs[0])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.function, ctx.shapes = inputs[0], [each.shape for each in inputs[1:]]
        ctx.mark_non_differentiable(*output[1:])
        saved = (*inputs[1:], *output[len(Distances._fields) :])
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def backward(ctx: Any, weights: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        jacobians = ctx.saved_tensors[len(ctx.shapes) :]
        if torch.is_grad_enabled():
            jacobians = _Jacobians.apply(ctx.function, *ctx.saved_tensors)
        found = zip(jacobians, ctx.shapes, ctx.needs_input_grad[1:], strict=True)
        return None, *(_weighted(weights, each, shape) if needed else None for each, shape, needed in found)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> tuple[Tensor | None, ...]:
        _check_nesting()
        jacobians = _Jacobians.apply(ctx.function, *ctx.saved_tensors)
        along = zip(jacobians, tangents, ctx.function.ranks, strict=True)
        rates = [_along(jacobian, tangent, rank) for jacobian, tangent, rank in along if tangent is not None]
        return sum(rates[1:], start=rates[0]), *(None,) * (len(Distances._fields) - 1 + len(jacobians))


class _Jacobians(_Function):
    """Known Jacobians as functions of the inputs. Their derivatives are the Hessians, if there are any."""

    @staticmethod
    def forward(function: Function, *inputs_and_jacobians: Tensor) -> tuple[Tensor, ...]:
        return tuple(each.clone() for each in inputs_and_jacobians[len(function.ranks) :])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.function = inputs[0]
        saved = inputs[1 : 1 + len(ctx.function.ranks)]
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def backward(ctx: Any, *weights: Tensor) -> tuple[Tensor | None, ...]:
        (hessian,) = _Hessian.apply(ctx.function, *ctx.saved_tensors)
        (positions,) = ctx.saved_tensors
        return None, (weights[0][..., None] * hessian).sum(-2).sum_to_size(positions.shape), None

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> tuple[Tensor, ...]:
        _check_nesting()
        (hessian,) = _Hessian.apply(ctx.function, *ctx.saved_tensors)
        assert tangents[0] is not None
        return (_along(hessian, tangents[0][..., None, :], 1),)


class _Hessian(_Function):
    """Second derivatives by joint positions."""

    @staticmethod
    def forward(function: Function, *inputs: Tensor) -> tuple[Tensor]:
        if not function.has_hessians:
            raise RuntimeError(f"second derivatives of a distance: {NO_HESSIANS}")
        assert isinstance(function, StateFunction)
        (hessian,) = _tensors((function.hessians(*_arrays(inputs)),), inputs[0])
        return (hessian,)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor]) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *weights: Tensor) -> NoReturn:
        raise RuntimeError("third derivatives of a distance are not computed")

    jvp = backward


def _evaluate(function: Function, *inputs: Tensor) -> Distances:
    return Distances(*_Engine.apply(function, *inputs)[: len(Distances._fields)])


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
    return _evaluate(function, *map(_tensor, function.names, inputs))


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
        return _evaluate(function, *inputs)
