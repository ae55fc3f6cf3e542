# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parameters of a node: declared in tables, checked all together before any of them takes effect."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, ParameterType, SetParametersResult
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.parameter import Parameter

from superovoid_ros.nodes.common.mistakes import InputError, reason_of, shortened

Callback = Callable[[object, object], object]
Check = Callable[[object], None]
"""Raises `InputError` for a value that makes no sense."""


@dataclass(frozen=True)
class Declared:
    """A parameter as a part of the node declares it."""

    name: str
    default: object
    descriptor: ParameterDescriptor
    check: Check | None = None
    """what ranges cannot say"""


def text(name: str, default: str, description: str, constraints: str = "", *, check: Check | None = None) -> Declared:
    """Return the declaration of a string."""
    return Declared(
        name, default, ParameterDescriptor(description=description, additional_constraints=constraints), check
    )


def texts(
    name: str,
    default: list[str],
    description: str,
    constraints: str = "",
    *,
    check: Check | None = None,
    read_only: bool = False,
) -> Declared:
    """Return the declaration of a list of strings; an empty one is written `[""]`, which has a type."""
    descriptor = ParameterDescriptor(
        type=ParameterType.PARAMETER_STRING_ARRAY,
        description=description,
        additional_constraints=constraints,
        read_only=read_only,
    )
    return Declared(name, default, descriptor, check)


def number(name: str, default: float, low: float, high: float, description: str, *, least: float = 0.0) -> Declared:
    """Return the declaration of a finite number in [low, high]; with `least`, of 0 or one in [least, high]."""
    constraints = f"0, or {least:g} to {high:g}" if least else ""
    descriptor = ParameterDescriptor(
        description=description,
        additional_constraints=constraints,
        floating_point_range=[FloatingPointRange(from_value=low, to_value=high)],
    )

    def check(value: object) -> None:
        if 0.0 < value < least:
            raise InputError(f"{name} = {value}: must be {constraints}")

    return Declared(name, default, descriptor, check if least else None)


def count(name: str, default: int, low: int, high: int, description: str) -> Declared:
    """Return the declaration of a whole number in [low, high]."""
    bounds = [IntegerRange(from_value=low, to_value=high, step=1)]
    return Declared(name, default, ParameterDescriptor(description=description, integer_range=bounds))


def switch(name: str, description: str, default: bool = True, *, read_only: bool = False) -> Declared:
    """Return the declaration of something that is on or off."""
    return Declared(name, default, ParameterDescriptor(description=description, read_only=read_only))


class Parameters:
    """The declared parameters of a node.

    Parameters
    ----------
    node
        Where they are declared, with the values given at its start.
    declared
        All of them.

    Raises
    ------
    InputError
        If a value given at the start makes no sense.
    """

    def __init__(self, node: Node, declared: Iterable[Declared]) -> None:
        self._node = node
        self._checks: dict[str, Check] = {}
        self._defaults: dict[str, object] = {}
        for one in declared:
            self._defaults[one.name] = one.default
            node.declare_parameter(one.name, one.default, one.descriptor)
            if one.check is not None:
                self._checks[one.name] = one.check
        self.check(node.get_parameters_by_prefix("").values())

    def value(self, name: str) -> object:
        """Return the present value of a parameter."""
        return self._node.get_parameter(name).value

    def check(self, parameters: Iterable[Parameter]) -> None:
        """Raise `InputError` for values that make no sense and that their ranges let pass."""
        for parameter in parameters:
            name, value = parameter.name, parameter.value
            if not name:  # rclpy declares it
                raise InputError("a parameter without a name")
            if value is None:  # which would undeclare it
                like = f", expected one like {self._defaults[name]!r}" if name in self._defaults else ""
                raise InputError(f"{name}: has no value (a list without entries has none either){like}")
            # NaN is outside no range.
            if isinstance(value, float) and not math.isfinite(value):
                raise InputError(f"{name} = {value}: must be finite")
            if name in self._checks:
                self._checks[name](value)


def require_values(node: Node) -> None:
    """Raise `InputError` for a parameter that was given without a value at the start, as `[]` is one."""
    for name, parameter in node.get_parameters_by_prefix("").items():
        if parameter.value is None:
            raise InputError(f"{name}: has no value (a list without entries has none either)")


def guard_parameter_services(node: Node) -> None:
    """Let a node answer to every request to set parameters, and to other calls while it makes up its mind.

    rclpy raises for a value of a type that does not exist, out of the executor and without an answer; here it is
    refused. As everywhere, parameters that are set one by one are refused one by one, and together if set atomically.

    A node that has a method `set_aside(parameters, set_them)` may take its time for parameters set together: requests
    to set parameters are answered in a callback group of their own, in their order, and all others go on meanwhile.
    """
    known = {int(kind) for kind in Parameter.Type}

    def reason_against(parameters: Iterable[ParameterMessage]) -> str:
        for parameter in parameters:
            kind = parameter.value.type
            if kind not in known:
                return f"{shortened(parameter.name, 200)}: type {kind}: must be in 0 to {max(known)}"
        return ""

    async def result_of(
        parameters: list[ParameterMessage], set_them: Callable[[], SetParametersResult]
    ) -> SetParametersResult:
        reason = reason_against(parameters)
        if reason:
            return SetParametersResult(successful=False, reason=reason)
        aside = getattr(node, "set_aside", None)
        if aside is None:
            return set_them()
        try:
            return await aside([Parameter.from_parameter_msg(one) for one in parameters], set_them)
        except InputError as error:
            return SetParametersResult(successful=False, reason=reason_of(error))

    def one_by_one(set_them: Callback) -> Callback:
        async def answer(request: SetParameters.Request, response: SetParameters.Response) -> SetParameters.Response:
            for parameter in request.parameters:
                one = SetParameters.Request(parameters=[parameter])
                set_it = lambda one=one: set_them(one, SetParameters.Response()).results[0]  # noqa: E731
                response.results.append(await result_of([parameter], set_it))
            return response

        return answer

    def together(set_them: Callback) -> Callback:
        async def answer(
            request: SetParametersAtomically.Request, response: SetParametersAtomically.Response
        ) -> SetParametersAtomically.Response:
            set_all = lambda: set_them(request, SetParametersAtomically.Response()).result  # noqa: E731
            response.result = await result_of(request.parameters, set_all)
            return response

        return answer

    group = MutuallyExclusiveCallbackGroup()
    for service in node.services:
        if service.srv_type in (SetParameters, SetParametersAtomically):
            guard = one_by_one if service.srv_type is SetParameters else together
            service.callback = guard(service.callback)
            service.callback_group = group
            group.add_entity(service)
