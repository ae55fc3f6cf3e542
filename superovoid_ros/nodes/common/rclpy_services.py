# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The services that rclpy itself gives a node (parameters, lifecycle), guarded like the node's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.parameter import Parameter

from superovoid_ros.nodes.common.endpoints import answering, failures_of
from superovoid_ros.nodes.common.mistakes import InputError, reason_of, shortened

Callback = Callable[[object, object], object]
_KNOWN = frozenset(int(kind) for kind in Parameter.Type)


def guard_services(node: Node) -> None:
    """Answer every request to the services that are open on a node, whatever their callbacks raise.

    rclpy raises for a parameter of a type that does not exist, and rclpy of Jazzy for a lifecycle transition that the
    node's state does not have. Here both are refused.

    Parameters
    ----------
    node
        A node. If it has a method `set_aside(parameters, set_them)`, setting parameters may take time: such requests
        are then answered in their order, and all other services answer meanwhile.
    """
    group, failed = MutuallyExclusiveCallbackGroup(), failures_of(node)
    for service in node.services:
        callback = service.callback
        if service.srv_type in (SetParameters, SetParametersAtomically):
            setter = _one_by_one if service.srv_type is SetParameters else _together
            callback = setter(node, callback)
            service.callback_group = group
            group.add_entity(service)
        service.callback = answering(service.srv_name, callback, failed)


async def _result_of(
    node: Node, parameters: list[ParameterMessage], set_them: Callable[[], SetParametersResult]
) -> SetParametersResult:
    """Set parameters together; return what came of it."""
    reason = _reason_against(parameters)
    if reason:
        return SetParametersResult(successful=False, reason=reason)
    set_aside = getattr(node, "set_aside", None)
    try:
        if set_aside is None:
            return set_them()
        return await set_aside([Parameter.from_parameter_msg(one) for one in parameters], set_them)
    except InputError as error:
        return SetParametersResult(successful=False, reason=reason_of(error))


def _reason_against(parameters: Iterable[ParameterMessage]) -> str:
    for parameter in parameters:
        kind = parameter.value.type
        if kind not in _KNOWN:
            return f"{shortened(parameter.name, 200)}: type {kind}: must be in 0 to {max(_KNOWN)}"
    return ""


def _one_by_one(node: Node, set_them: Callback) -> Callback:
    async def answer(request: SetParameters.Request, response: SetParameters.Response) -> SetParameters.Response:
        for parameter in request.parameters:
            one = SetParameters.Request(parameters=[parameter])
            set_it = lambda one=one: set_them(one, SetParameters.Response()).results[0]  # noqa: E731
            response.results.append(await _result_of(node, [parameter], set_it))
        return response

    return answer


def _together(node: Node, set_them: Callback) -> Callback:
    async def answer(
        request: SetParametersAtomically.Request, response: SetParametersAtomically.Response
    ) -> SetParametersAtomically.Response:
        set_all = lambda: set_them(request, SetParametersAtomically.Response()).result  # noqa: E731
        response.result = await _result_of(node, request.parameters, set_all)
        return response

    return answer
