# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Saved configurations of displays fit what the node publishes, and its colours are those of pages."""

import json
import re

import pytest
import yaml
from superovoid_interfaces.msg import DistanceArray, PairDistance

from superovoid_ros.resources import share_directory

CONFIG = share_directory() / "config"
NAMESPACES = {"bodies", "points", "segments", "normals", "distances", "incomplete"}
PUBLISHED = {"/distance_service/markers", "/distance_service/distances", "/diagnostics"}


@pytest.mark.parametrize("path", sorted(CONFIG.glob("*.rviz")), ids=lambda path: path.name)
def test_rviz_shows_all_that_the_markers_say(path):
    displays = yaml.safe_load(path.read_text())["Visualization Manager"]["Displays"]
    (markers,) = (one for one in displays if one["Class"] == "rviz_default_plugins/MarkerArray")
    assert markers["Topic"]["Value"] in PUBLISHED
    assert set(markers["Namespaces"]) == NAMESPACES
    assert markers["Namespaces"]["incomplete"]


def test_the_layout_of_lichtblick_names_what_the_node_publishes():
    layout = json.loads((CONFIG / "distance_service.lichtblick.json").read_text())
    panels = layout["configById"]

    def leaves(node):
        return [node] if isinstance(node, str) else [*leaves(node["first"]), *leaves(node["second"])]

    assert sorted(leaves(layout["layout"])) == sorted(panels)
    assert set(panels["3D!superovoid"]["topics"]) <= PUBLISHED
    assert panels["DiagnosticSummary!node"]["topicToRender"] in PUBLISHED
    paths = [one["value"] for panel in panels.values() for one in panel.get("paths", ())]
    assert len(paths) == 4
    for path in paths:
        topic, *fields = path.split(".")
        assert topic in PUBLISHED
        kind = DistanceArray
        for name in fields:
            assert re.sub(r"\[0\]$", "", name) in kind.get_fields_and_field_types()
            kind = PairDistance
