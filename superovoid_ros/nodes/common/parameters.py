# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parameters of a node: declared in tables, and all checked before any takes effect."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, ParameterType
from rclpy.node import Node
from rclpy.parameter import Parameter

from superovoid_ros.nodes.common.mistakes import InputError

Check = Callable[[object], object]
"""Function that raises `InputError` if a value is invalid."""


@dataclass(frozen=True)
class Declaration:
    """Declaration of a parameter by a part of the node."""

    name: str
    default: object
    descriptor: ParameterDescriptor
    check: Check | None = None
    """Check of conditions other than ranges."""


def text(
    name: str,
    default: str | list[str],
    description: str,
    constraints: str = "",
    *,
    check: Check | None = None,
    read_only: bool = False,
) -> Declaration:
    """Return the declaration of a string, or of a list of strings (empty: `[""]`, since `[]` has no type)."""
    descriptor = ParameterDescriptor(
        type=ParameterType.PARAMETER_STRING if isinstance(default, str) else ParameterType.PARAMETER_STRING_ARRAY,
        description=description,
        additional_constraints=constraints,
        read_only=read_only,
    )
    return Declaration(name, default, descriptor, check)


def choice(
    name: str, default: str, choices: Sequence[str], description: str, *, read_only: bool = False
) -> Declaration:
    """Return the declaration of a string that must be one of `choices`."""
    constraints = f"one of {', '.join(choices)}"

    def check(value: object) -> None:
        if value not in choices:
            raise InputError(f"{name} = '{value}': must be {constraints}")

    return text(name, default, description, constraints, check=check, read_only=read_only)


def number(name: str, default: float, low: float, high: float, description: str, *, least: float = 0.0) -> Declaration:
    """Return the declaration of a finite number in [low, high]; with `least`, of 0 or a number in [least, high]."""
    constraints = f"0, or {least:g} to {high:g}" if least else f"{low:g} to {high:g}"
    descriptor = ParameterDescriptor(
        description=description,
        additional_constraints=constraints,
        floating_point_range=[FloatingPointRange(from_value=low, to_value=high)],
    )

    def check(value: object) -> None:
        if 0.0 < value < least:
            raise InputError(f"{name} = {value}: must be {constraints}")

    return Declaration(name, default, descriptor, check if least else None)


def count(name: str, default: int, low: int, high: int, description: str) -> Declaration:
    """Return the declaration of a whole number in [low, high]."""
    bounds = [IntegerRange(from_value=low, to_value=high, step=1)]
    words = f"{low:,} to {high:,}"
    descriptor = ParameterDescriptor(description=description, additional_constraints=words, integer_range=bounds)
    return Declaration(name, default, descriptor)


def switch(name: str, description: str, default: bool = True, *, read_only: bool = False) -> Declaration:
    """Return the declaration of a boolean."""
    return Declaration(name, default, ParameterDescriptor(description=description, read_only=read_only))


class Parameters:
    """The declared parameters of a node.

    Parameters
    ----------
    node
        The node that declares them; its initial values are used.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._checks: dict[str, Check] = {}
        self._defaults: dict[str, object] = {}

    def declare(self, declared: Iterable[Declaration]) -> None:
        """Declare parameters; raise `InputError` if an initial value is invalid."""
        for one in declared:
            self._defaults[one.name] = one.default
            self._node.declare_parameter(one.name, one.default, one.descriptor)
            if one.check is not None:
                self._checks[one.name] = one.check
        self.check(self._node.get_parameters_by_prefix("").values())

    def value(self, name: str) -> object:
        """Return the current value of a parameter."""
        return self._node.get_parameter(name).value

    def check(self, parameters: Iterable[Parameter]) -> None:
        """Raise `InputError` if a value is invalid, beyond the range that its descriptor declares."""
        for parameter in parameters:
            name, value = parameter.name, parameter.value
            if not name:  # rclpy would declare it
                raise InputError("a parameter without a name")
            if value is None:  # this would undeclare the parameter
                like = f", expected one like {self._defaults[name]!r}" if name in self._defaults else ""
                raise InputError(f"{name}: has no value (an empty list counts as no value){like}")
            # Ranges accept NaN.
            if isinstance(value, float) and not math.isfinite(value):
                raise InputError(f"{name} = {value}: must be finite")
            if name in self._checks:
                self._checks[name](value)
