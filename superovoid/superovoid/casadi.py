# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signed distances as functions of CasADi: ``from superovoid.casadi import StateDistances``.

The function has a Jacobian and second derivatives, which are those of `Robot.distance_hessians`, and zero for pairs
that have none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from superovoid.bridging import Answer, StateFunction, framework
from superovoid.robot import Robot
from superovoid.scene import Scene
from superovoid.values.checks import whole_number
from superovoid.values.poses import PoseLike, as_matrices

if TYPE_CHECKING:
    import casadi
else:
    casadi = framework("casadi", "casadi")


class StateDistances(casadi.Callback):
    """Signed distances of a robot's pairs of bodies in one or many states: a `casadi.Function`.

    Its input has a column for each state, shape (joints, states), in the order of ``robot.joint_names``, its output
    the distances, shape (pairs, states). The Jacobian has a block for each state. Keep a reference to the object while
    a function that contains it is in use.

    Parameters
    ----------
    name : str
        Name of the function.
    robot : Robot
    scene : Scene, optional
        As for `superovoid.state_distances`; default: ``robot.scene()``.
    states : int, optional
        Number of states.
    pairs : (n, 2) array_like of int, optional
        Pairs of the scene; default: all.
    max_distance : float, optional
        Pairs farther apart have this distance, m, and a gradient of zero.
    base_poses : mapping of str to (4, 4) array_like, optional
        Poses of ``robot.base_links`` in the root frame, the same in all states.
    threads : int, optional
        As for `superovoid.state_distances`.
    options : dict, optional
        Options of `casadi.Callback`.

    Attributes
    ----------
    pairs : (n, 2) ndarray of int
        Indices of the bodies A and B of each row of the output.
    """

    def __init__(
        self,
        name: str,
        robot: Robot,
        scene: Scene | None = None,
        *,
        states: int = 1,
        pairs: ArrayLike | None = None,
        max_distance: float = math.inf,
        base_poses: Mapping[str, PoseLike] | None = None,
        threads: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        casadi.Callback.__init__(self)
        self._function = StateFunction(robot, scene, pairs=pairs, max_distance=max_distance, threads=threads)
        self.pairs = self._function.pairs
        states = whole_number("states", states, 1)
        self._shape_in, self._shape_out = (len(robot.joint_names), states), (len(self.pairs), states)
        poses = [as_matrices("base_poses", pose) for pose in self._function.bases(base_poses)]
        self._bases = [np.array(poses)[None]] if poses else []
        block = casadi.Sparsity.dense(len(self.pairs), len(robot.joint_names))
        self._blocks = casadi.diagcat(*[block] * states)
        self._jacobians: list[_Jacobian] = []  # CasADi keeps no reference to an object of Python
        self.construct(name, dict(options or {}))

    def _inputs(self, positions: Any) -> list[Any]:
        return [np.array(positions, dtype=np.float64).T[:, None], *self._bases]

    def answer(self, positions: Any) -> Answer:
        """Return the rows of the states in the columns of a matrix, with the Jacobians of the shared functions."""
        return self._function(*self._inputs(positions))

    def hessians(self, positions: Any) -> Any:
        """Return the second derivatives, shape (states, pairs, joints, joints)."""
        return self._function.hessians(*self._inputs(positions))

    # -- what CasADi calls -----------------------------------------------------------------------------------------

    def get_n_in(self) -> int:
        """Return the number of inputs."""
        return 1

    def get_n_out(self) -> int:
        """Return the number of outputs."""
        return 1

    def get_sparsity_in(self, _: int) -> Any:
        """Return the form of the input."""
        return casadi.Sparsity.dense(*self._shape_in)

    def get_sparsity_out(self, _: int) -> Any:
        """Return the form of the output."""
        return casadi.Sparsity.dense(*self._shape_out)

    def eval(self, arguments: Any) -> list[Any]:
        """Return the distances."""
        return [casadi.DM(self.answer(arguments[0]).distance.T)]

    def has_jac_sparsity(self, *_: int) -> bool:
        """Return that the form of the Jacobian is known."""
        return True

    def get_jac_sparsity(self, *_: Any) -> Any:
        """Return the form of the Jacobian."""
        return self._blocks

    def has_jacobian(self) -> bool:
        """Return that there is a Jacobian."""
        return True

    def get_jacobian(self, name: str, names_in: Any, names_out: Any, options: Any) -> Any:
        """Return the function of the Jacobian."""
        self._jacobians.append(_Jacobian(self, name, options))
        return self._jacobians[-1]


class _Jacobian(casadi.Callback):
    """The Jacobian of `StateDistances`, a function of its input and its output."""

    def __init__(self, of: StateDistances, name: str, options: Any) -> None:
        casadi.Callback.__init__(self)
        self._of = of
        self._hessians: list[_Hessian] = []
        (joints, states), (pairs, _) = of._shape_in, of._shape_out
        # Of each entry of a Hessian: its entry of the Jacobian, counted along columns, and its joint.
        state, k, j, pair = np.indices((states, joints, joints, pairs)).reshape(4, -1)
        rows = (state * joints + j) * pairs * states + state * pairs + pair
        shape = pairs * states * joints * states, joints * states
        self._twice = casadi.Sparsity.triplet(*shape, rows.tolist(), (state * joints + k).tolist())
        self._none = casadi.Sparsity(
            shape[0], pairs * states
        )  # by the distances, on which the Jacobian does not depend
        self.construct(name, options)

    def has_jac_sparsity(self, *_: int) -> bool:
        return True

    def get_jac_sparsity(self, _: int, number: int, *__: Any) -> Any:
        return (self._twice, self._none)[number]

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, name: str, names_in: Any, names_out: Any, options: Any) -> Any:
        self._hessians.append(_Hessian(self, name, options))
        return self._hessians[-1]

    def get_n_in(self) -> int:
        return 2

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, number: int) -> Any:
        return casadi.Sparsity.dense(*(self._of._shape_in, self._of._shape_out)[number])

    def get_sparsity_out(self, _: int) -> Any:
        return self._of._blocks

    def eval(self, arguments: Any) -> list[Any]:
        blocks = self._of.answer(arguments[0]).jacobians[0]  # (states, pairs, joints); CasADi counts along columns
        return [casadi.DM(self._of._blocks, blocks.swapaxes(1, 2).ravel())]


class _Hessian(casadi.Callback):
    """The Jacobian of `_Jacobian`, a function of its inputs and its output."""

    def __init__(self, of: _Jacobian, name: str, options: Any) -> None:
        casadi.Callback.__init__(self)
        self._of = of
        self.construct(name, options)

    def get_n_in(self) -> int:
        return 3

    def get_n_out(self) -> int:
        return 2

    def get_sparsity_in(self, number: int) -> Any:
        return self._of.sparsity_in(number) if number < 2 else self._of.sparsity_out(0)

    def get_sparsity_out(self, number: int) -> Any:
        return (self._of._twice, self._of._none)[number]

    def eval(self, arguments: Any) -> list[Any]:
        values = self._of._of.hessians(arguments[0]).transpose(0, 3, 2, 1)
        return [casadi.DM(self._of._twice, values.ravel()), casadi.DM(self._of._none)]
