# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""config/distance_service.yaml: every parameter of the node, its default and its meaning."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed (pip install '.[wheels]' brings it)")

import rclpy
import yaml
from rcl_interfaces.srv import DescribeParameters, ListParameters
from rclpy.context import Context
from rclpy.node import Node

from superovoid_ros.nodes.common.parameters import Parameters
from superovoid_ros.nodes.distance_service import parameter_file
from superovoid_ros.resources import share_directory

FILE = share_directory() / "config" / "distance_service.yaml"
DECLARED = {one.name: one for declared in parameter_file.SECTIONS.values() for one in declared}


@pytest.fixture
def make_node(loopback_domain):
    """Return a function that makes a node of the name, with the parameters of a file, as the node declares them."""
    context = Context()

    def make(path):
        rclpy.init(args=["--ros-args", "--params-file", str(path)], context=context)
        node = Node("distance_service", namespace="left", context=context, start_parameter_services=False)
        parameters = Parameters(node)
        parameters.declare(DECLARED.values())
        return parameters

    yield make
    rclpy.try_shutdown(context=context)


def test_the_file_is_what_the_node_declares():
    assert FILE.read_text(encoding="utf-8") == parameter_file.text(), (
        f"write it anew: python -m {parameter_file.__name__} config/distance_service.yaml"
    )


@pytest.mark.ci
def test_a_running_node_has_and_describes_these_parameters_alone(start_node, client):
    start_node("distance_service", autostart=False)
    names = set(client.call(ListParameters, "/distance_service/list_parameters").result.names)
    # rclpy's own.
    names = {n for n in names if n not in ("use_sim_time", "start_type_description_service")}
    assert {name for name in names if not name.startswith("qos_overrides.")} == set(DECLARED)
    described = client.call(
        DescribeParameters, "/distance_service/describe_parameters", names=list(DECLARED)
    ).descriptors
    assert [one.name for one in described if not one.description] == []
    ranged = {one.name for one in described if one.floating_point_range}
    assert {"rate", "max_distance", "near_distance", "rtol", "stale_timeout", "padding", "markers.size"} <= ranged


def test_every_changed_value_of_the_file_arrives(make_node, tmp_path):
    """All numbers and switches, so that none stands where ROS does not look for it."""
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))

    def change_values(tree):
        for name, value in tree.items():
            if isinstance(value, dict):
                yield name, dict(change_values(value))
            elif isinstance(value, bool):
                yield name, not value
            elif isinstance(value, int):
                yield name, value + 1
            elif isinstance(value, float):
                yield name, 0.5 * value + 0.01

    copy = tmp_path / "mine.yaml"
    content["/**"]["ros__parameters"] = dict(change_values(content["/**"]["ros__parameters"]))
    copy.write_text(yaml.safe_dump(content), encoding="utf-8")
    parameters = make_node(copy)
    for name, one in DECLARED.items():
        assert (parameters.value(name) == one.default) is isinstance(one.default, str | list), name
