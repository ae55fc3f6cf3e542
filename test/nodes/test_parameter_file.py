# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""config/distance_service.yaml: every parameter of the node, its default and its meaning."""

import pytest
import yaml
from rcl_interfaces.srv import DescribeParameters, ListParameters

from superovoid_ros.nodes.distance_service import parameter_file
from superovoid_ros.resources import share_directory

FILE = share_directory() / "config" / "distance_service.yaml"
DECLARED = {one.name: one for declared in parameter_file.SECTIONS.values() for one in declared}


def test_the_file_is_what_the_node_declares():
    assert FILE.read_text(encoding="utf-8") == parameter_file.text(), (
        f"write it anew: python -m {parameter_file.__name__} config/distance_service.yaml"
    )


@pytest.mark.ci
def test_a_running_node_has_and_describes_these_parameters_alone(start_node, client):
    start_node("distance_service", autostart=False)
    names = set(client.call(ListParameters, "/distance_service/list_parameters").result.names)
    names -= {"use_sim_time", "start_type_description_service"}  # rclpy's own
    assert {name for name in names if not name.startswith("qos_overrides.")} == set(DECLARED)
    name = "/distance_service/describe_parameters"
    described = client.call(DescribeParameters, name, names=list(DECLARED)).descriptors
    assert all(one.description for one in described)
    ranged = {one.name for one in described if one.floating_point_range}
    assert {"rate", "max_distance", "near_distance", "rtol", "stale_timeout", "padding", "markers.opacity"} <= ranged


def test_every_parameter_is_where_ros_looks_for_it():
    def names(tree, prefix=""):
        for name, value in tree.items():
            yield from names(value, f"{prefix}{name}.") if isinstance(value, dict) else [f"{prefix}{name}"]

    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    assert set(names(content["/**"]["ros__parameters"])) == set(DECLARED)
