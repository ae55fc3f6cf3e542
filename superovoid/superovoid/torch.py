# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signed distances as functions of PyTorch: ``from superovoid.torch import distances, StateDistances``.

The engine computes in double precision on the processor; results have the device and the type of the poses or
positions. Arrays of other libraries come in by DLPack, and tensors go out by it, without a copy. There are no second
derivatives: ``create_graph=True`` raises an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from superovoid.bridging import Bodies, Function, PairFunction, Shapes, StateFunction, framework
from superovoid.robot import Robot
from superovoid.scene import Scene

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = framework("torch", "torch")


class Distances(NamedTuple):
    """Signed distances of a batch; tensors with the batch axes (...)."""

    distance: Tensor
    """The signed distances; the other fields have no gradients."""
    point_a: Tensor
    """Closest points on A, shape (..., 3)."""
    point_b: Tensor
    normal: Tensor
    """Unit vectors from A to B, shape (..., 3)."""
    status: Tensor
    """`superovoid.Status` as uint8."""
    differentiable: Tensor
    """`Status.differentiable`: if false, the gradient is one-sided, or that of an unproved contact, or missing."""


class _Engine(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Function, *inputs: Tensor) -> tuple[Tensor, ...]:
        like = inputs[0]
        answer = function(*(each.detach().to("cpu", torch.float64).numpy() for each in inputs))

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).to(like.device, like.dtype if array.dtype == np.float64 else None)

        ctx.save_for_backward(*map(tensor, answer.jacobians))
        ctx.shapes = [each.shape for each in inputs]
        flags = (tensor(answer.status), tensor(answer.differentiable))
        geometry = map(tensor, (answer.point_a, answer.point_b, answer.normal))
        results = (tensor(answer.distance), *geometry, *flags)
        ctx.mark_non_differentiable(*results[1:])
        return results

    @staticmethod
    def backward(ctx: Any, weights: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise RuntimeError("superovoid.torch has first derivatives alone: create_graph must be False")
        found: list[Tensor | None] = [None]
        for jacobian, shape, needed in zip(ctx.saved_tensors, ctx.shapes, ctx.needs_input_grad[1:], strict=True):
            last = (1,) * (jacobian.ndim - weights.ndim)
            found.append((weights.reshape(*weights.shape, *last) * jacobian).sum_to_size(shape) if needed else None)
        return tuple(found)


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
    parameters = [_tensor(side.parameters) for side in (a, b) if isinstance(side, Shapes)]
    inputs = [_tensor(pose_a), _tensor(pose_b), *parameters]
    return Distances(*_Engine.apply(PairFunction(a, b, threads), *inputs))


class StateDistances(torch.nn.Module):
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

    def __init__(
        self,
        robot: Robot,
        scene: Scene | None = None,
        *,
        pairs: ArrayLike | None = None,
        max_distance: float = math.inf,
        threads: int | None = None,
    ) -> None:
        super().__init__()
        self._function = StateFunction(robot, scene, pairs=pairs, max_distance=max_distance, threads=threads)
        self.pairs = self._function.pairs

    def forward(self, positions: Any, base_poses: Mapping[str, Any] | None = None) -> Distances:
        """Compute the distances of a batch of states.

        Parameters
        ----------
        positions : (..., joints) tensor
            Positions in the order of ``robot.joint_names``, rad or m.
        base_poses : mapping of str to (..., 4, 4) tensor, optional
            Poses of ``robot.base_links`` in the root frame.

        Returns
        -------
        Distances
            With the batch axes (..., pairs).
        """
        inputs = [_tensor(positions).unsqueeze(-2)]
        bases = self._function.bases(base_poses)
        if bases:
            poses = torch.broadcast_tensors(*map(_tensor, bases))
            inputs.append(torch.stack(poses, dim=-3).unsqueeze(-4))
        return Distances(*_Engine.apply(self._function, *inputs))


def _tensor(values: Any) -> Tensor:
    if isinstance(values, torch.Tensor):
        return values
    if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
        return torch.from_dlpack(values)
    return torch.as_tensor(values, dtype=None if isinstance(values, np.ndarray) else torch.float64)
