# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Saved configurations of displays fit what the node publishes, and its colours are those of pages."""

import json
import re

import numpy as np
import pytest
import yaml
from builtin_interfaces.msg import Time
from superovoid_interfaces.msg import DistanceArray, PairDistance

from superovoid.viewing.meanings import COLOURS, Meaning
from superovoid.viewing.picture import SceneQuery
from superovoid_ros.motions.grasp_sweep import shipped
from superovoid_ros.nodes.distance_service.answers.markers import MarkerOptions, SceneMarkers
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


def colour_of(marker):
    return tuple(round(255.0 * part) for part in (marker.color.r, marker.color.g, marker.color.b))


@pytest.mark.parametrize("index", [0, 24, 90])
def test_markers_have_the_colours_of_the_page(index):
    robot, sweep = shipped()
    frame, scene = sweep.frame(index), robot.scene()
    poses = robot.forward_kinematics(frame.positions, frame.base_poses)
    picture = SceneQuery(scene, [body.link for body in robot.bodies], 0.005).answer(poses)
    markers = SceneMarkers(tuple(robot.bodies), MarkerOptions(), "n/", (), np.unique(scene.pairs))
    result = scene.query(max_distance=0.05)
    markers.transforms("world", poses, Time(sec=1))
    found = {}
    for _ in range(60):
        for marker in markers.update("world", poses, result, 0.005, 0.05).markers:
            if marker.ns == "bodies":
                found[marker.text] = colour_of(marker)
    expected = {f"{one.body.name}\n{one.owner}": COLOURS[one.meaning] for one in picture.bodies}
    assert found == expected and len(set(found.values())) > 1
    # Without an answer: purple, or not checked; no pair is left.
    gone, taken_back = set(), {}
    for _ in range(60):
        for marker in markers.unanswered().markers:
            if marker.ns == "bodies":
                taken_back[marker.text] = tuple(
                    round(255 * c) for c in (marker.color.r, marker.color.g, marker.color.b)
                )
            else:
                gone.add(marker.ns)
                assert marker.action == marker.DELETE
    assert set(taken_back.values()) <= {COLOURS[Meaning.UNKNOWN], COLOURS[Meaning.UNCHECKED]}
    assert set(taken_back) == set(found) and {"points", "segments", "normals"} <= gone
