# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a display gets to see: sizes that follow the scene, few labels, bodies sent once and moved after."""

import copy
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import trimesh
import yaml
from builtin_interfaces.msg import Time
from superovoid_interfaces.msg import DistanceArray, PairDistance
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker

from superovoid.scene import Body
from superovoid.shapes import Mesh, Sphere
from superovoid_ros.motions import dental_bite
from superovoid_ros.motions.grasp_sweep import read_sweep
from superovoid_ros.nodes.common.conversions import from_pose, from_transform, to_point, to_pose
from superovoid_ros.nodes.distance_service.answers import markers as drawing
from superovoid_ros.nodes.distance_service.answers.markers import SceneMarkers
from superovoid_ros.resources import share_directory

import arm

FRAMES = "node/"
CONFIG = share_directory() / "config"
NAMESPACES = {"bodies", "points", "segments", "normals", "distances", "incomplete"}
PUBLISHED = {"/distance_service/markers", "/distance_service/distances", "/diagnostics"}


class Display:
    """Does what RViz does with the messages."""

    def __init__(self):
        self.shown, self.frames = {}, {}

    def draw(self, message):
        for marker in message.markers:
            if marker.action == Marker.DELETEALL:
                self.shown.clear()
            elif marker.action == Marker.DELETE:
                self.shown.pop((marker.ns, marker.id), None)
            else:
                self.shown[marker.ns, marker.id] = copy.copy(marker)  # the node keeps bodies and changes their colour

    def move(self, message):
        for one in message.transforms:
            self.frames[one.child_frame_id] = one.header.frame_id, from_transform(one.transform, one.child_frame_id)

    def of(self, namespace):
        return {number: marker for (ns, number), marker in self.shown.items() if ns == namespace}

    def place(self, marker):
        """Pose of a marker in the root frame."""
        parent, pose = self.frames[marker.header.frame_id]
        assert parent == "world"
        return pose @ from_pose(marker.pose, "marker")


class MarkerPlayer:
    """The markers of a motion, frame by frame, without a node."""

    def __init__(self, robot, motion, links, opacity=0.6):
        self.robot, self.motion, self.display = robot, motion, Display()
        self.scene = robot.scene()
        self.pairs = robot.body_pairs(*([link] for link in links))
        watched = np.unique(self.pairs)
        self.watched = [robot.bodies[index] for index in watched]
        self.markers, links = SceneMarkers(FRAMES), [body.link for body in robot.bodies]
        self.markers.set_bodies(tuple(robot.bodies), links, opacity, watched=watched)

    def show(self, index):
        frame = self.motion.frame(index)
        poses = self.robot.forward_kinematics(frame.positions, frame.base_poses)
        self.scene.set_link_poses(poses)
        result = self.scene.query(pairs=self.pairs, max_distance=0.05)
        self.display.move(TFMessage(transforms=self.markers.transforms("world", poses, Time(sec=index + 1))))
        self.display.draw(self.markers.update("world", poses, result, 0.0))
        return poses, result


def hands():
    return MarkerPlayer(*read_sweep(), ("left_fingers", "right_fingers"))


def bite(**options):
    return MarkerPlayer(*dental_bite.read_bite(), (dental_bite.LOWER, dental_bite.UPPER), **options)


@pytest.mark.ci
def test_labels_are_the_five_closest_pairs_each_a_line_higher():
    played = bite()
    _, result = played.show(60)
    texts = [played.display.of("distances")[number] for number in range(len(played.display.of("distances")))]
    assert np.count_nonzero(result.distance < 0.0) > 5
    assert [text.text for text in texts] == [f"{1e3 * distance:.2f} mm" for distance in result.distance[:5]]
    lowest = [0.5 * (a + b)[2] for a, b in zip(result.point_a, result.point_b, strict=True)]
    rises = [(t.pose.position.z - z) / t.scale.z for t, z in zip(texts, lowest, strict=False)]
    assert rises == pytest.approx([1.0 + 1.3 * row for row in range(5)])  # pairs at one place: one column
    assert all((t.color.r, t.color.g, t.color.b) == (1.0, 1.0, 1.0) for t in texts)  # on bodies of every colour
    played.show(0)  # where one pair is near
    assert len(played.display.of("distances")) == 1


@pytest.mark.parametrize(("index", "drawn"), [(0, 1), (80, 5)])
def test_normals_are_of_the_closest_pairs_only(index, drawn):
    played = bite()
    _, result = played.show(index)
    lines = np.array([(p.x, p.y, p.z) for p in played.display.shown["normals", 0].points]).reshape(-1, 2, 2, 3)
    assert len(lines) == drawn
    np.testing.assert_allclose(lines[:, 0, 0], result.point_a[:drawn], atol=1e-12)
    np.testing.assert_allclose(lines[:, 1, 0], result.point_b[:drawn], atol=1e-12)
    for k, side in enumerate((1.0, -1.0)):
        ways = lines[:, k, 1] - lines[:, k, 0]
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        np.testing.assert_allclose(ways, side * result.normal[:drawn], atol=1e-9)
    assert len(played.display.shown["segments", 0].points) // 2 >= drawn


@pytest.mark.ci
def test_bodies_have_the_poses_of_the_kinematics_though_sent_once():
    played = hands()
    for index in range(60):
        poses, _ = played.show(index)
    bodies = played.display.of("bodies")
    assert set(bodies) == set(range(len(played.robot.bodies)))
    for number, marker in bodies.items():
        body = played.robot.bodies[number]
        assert marker.frame_locked and marker.header.frame_id == FRAMES + body.link
        np.testing.assert_allclose(played.display.place(marker), poses[body.link] @ body.link_from_body, atol=1e-9)


def test_without_opacity_pairs_alone_are_drawn():
    played = bite(opacity=0.0)
    played.show(60)
    assert not played.display.of("bodies") and not played.display.frames
    assert played.display.of("segments")


def test_a_listener_that_lost_a_message_gets_every_body_later():
    played = bite()
    for _ in range(30):
        played.show(0)
    played.display.shown.clear()
    for _ in range(5 * len(played.robot.bodies)):
        played.show(0)
    assert len(played.display.of("bodies")) == len(played.robot.bodies)


def test_a_changed_scene_leaves_other_bodies_as_they_are():
    played = bite()
    for _ in range(30):
        played.show(0)
    bodies = list(played.robot.bodies)
    corners = played.display.of("bodies")
    moved = replace(bodies[2], link_from_body=bodies[2].link_from_body @ arm.at(0.1, 0.0, 0.0))
    bodies = [bodies[0], moved, *bodies[3:]]
    played.markers.set_bodies(tuple(bodies), [body.link for body in bodies], 0.6)
    message = played.markers.markers_without_answer()
    ids = {marker.text.partition("\n")[0]: number for number, marker in corners.items()}
    actions = {marker.id: marker.action for marker in message.markers if marker.ns == "bodies"}
    assert actions[ids[played.robot.bodies[1].name]] == Marker.DELETE and actions[ids[moved.name]] == Marker.ADD
    played.display.draw(message)
    assert played.display.of("bodies")[ids[moved.name]].pose == to_pose(moved.link_from_body)
    for number, marker in played.display.of("bodies").items():
        if number != ids[moved.name]:
            assert marker.points is corners[number].points


def test_a_large_mesh_comes_in_pieces_that_take_little_time_each(monkeypatch):
    """Services are answered between two updates."""
    converted = []
    monkeypatch.setattr(drawing, "to_point", lambda point: converted.append(0) or to_point(point))
    ball, here = trimesh.creation.icosphere(subdivisions=6, radius=0.5), arm.at(1.0, 0.0, 0.0)
    body, display = Body("globe", "world", Mesh.from_triangles(ball.vertices, ball.faces), here), Display()
    markers, updates = SceneMarkers(FRAMES), 0
    markers.set_bodies((body,), ["globe"], 0.6, {"globe": np.eye(4)})
    while sum(len(one.points) for one in display.of("bodies").values()) < 3 * len(ball.faces):
        display.draw(markers.markers_without_answer())
        updates += 1
        assert len(converted) <= 10_000 * updates
    assert updates <= 35  # each fifth may repeat a piece
    shown = [(point.x, point.y, point.z) for one in display.of("bodies").values() for point in one.points]
    centres = np.reshape(shown, (-1, 3, 3)).mean(axis=1) - here[:3, 3]
    assert set(map(tuple, centres.round(9))) == set(map(tuple, ball.triangles_center.round(9)))
    markers.set_bodies((), (), 0.6)
    display.draw(markers.markers_without_answer())
    assert not display.of("bodies")


def test_the_marker_of_an_object_has_its_pose_and_the_place_of_its_body():
    markers, body = SceneMarkers(FRAMES), Body("cup", "world", Sphere(0.1), arm.at(1.0, 2.0, 3.0))
    markers.set_bodies((body,), ["cup"], 0.6, {"cup": arm.at(0.0, 2.0, 3.0)})
    (marker,) = (one for one in markers.markers_without_answer().markers if one.ns == "bodies")
    assert marker.text == "cup\ncup\nobject" and marker.pose == to_pose(arm.at(0.0, 2.0, 3.0))
    corners = np.array([(point.x, point.y, point.z) for point in marker.points])
    np.testing.assert_allclose(np.linalg.norm(corners - (1.0, 0.0, 0.0), axis=1), 0.1, rtol=1e-6)
    markers.set_bodies((body,), ["cup"], 0.6, {"cup": arm.at(1.0, 0.0, 3.0)})  # the body stays where it was
    (marker,) = (one for one in markers.markers_without_answer().markers if one.ns == "bodies")
    assert marker.pose == to_pose(arm.at(1.0, 0.0, 3.0))


# --- saved configurations of displays ---


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
