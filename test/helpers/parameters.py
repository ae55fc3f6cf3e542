# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Setting parameters of a node like `ros2 param`."""

from __future__ import annotations

from collections.abc import Mapping

from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.parameter import Parameter


def set_parameters(client, name: str, values: Mapping[str, object]):
    """Set parameters together and return the node's result."""
    parameters = [
        value.to_parameter_msg() if isinstance(value, Parameter) else Parameter(key, value=value).to_parameter_msg()
        for key, value in values.items()
    ]
    return client.call(SetParametersAtomically, f"{name}/set_parameters_atomically", parameters=parameters).result


def get_parameters(client, name: str, *names: str) -> list[object]:
    """Return values of parameters."""
    from rclpy.parameter import parameter_value_to_python

    response = client.call(GetParameters, f"{name}/get_parameters", names=list(names))
    return [parameter_value_to_python(value) for value in response.values]
