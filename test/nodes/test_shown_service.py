# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a page shows of a running node: its state, answers and objects, and that nothing is known when it is silent."""

import math
import time

import numpy as np
import pytest
from geometry_msgs.msg import Point
from rclpy.serialization import serialize_message
from visualization_msgs.msg import Marker, MarkerArray

from superovoid import Robot, Superovoid
from superovoid.viewing.meanings import COLOURS, Meaning
from superovoid.viewing.robot_model import RobotModel
from superovoid_ros.client.marker_bodies import MarkerBodies
from superovoid_ros.client.shown_service import ShownService
from superovoid_ros.nodes.common.endpoints import read

import arm
import tabs
import world
from tabs import chromium, tab  # noqa: F401

NODE = "/distance_service"
LONG = 600.0  # s, which only a test that fails waits
EGG = Superovoid((0.2, 0.2, 0.2))


@pytest.fixture(scope="module")
def node(serve):
    return serve(near_distance=0.1, max_distance=5.0, **arm.DESCRIPTIONS)


@pytest.fixture
def service(node, client):
    arm.set_state(client, NODE, (0.75, 0.0))
    with ShownService(NODE) as service:
        wait_until(client, lambda: service._bodies.has_all_frames() and service._answer is not None and service._values)
        yield service
    client.reset()


def wait_until(client, holds, positions=(0.75, 0.0)):
    """Send a state again and again until something holds."""
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end
        arm.send_state(client, positions)
        client.spin(0.05)


def meanings_of(picture):
    return {drawn.body.name: drawn.meaning for drawn in picture.bodies}


@pytest.mark.ci
def test_the_picture_has_the_places_and_distances_of_the_library(service, client):
    positions = {"slide": 0.75, "wrist": 0.0}
    robot = Robot.from_urdf(arm.URDF, srdf=arm.SRDF)
    poses = robot.forward_kinematics(positions, {"ball": arm.AHEAD})
    names = {body.name: body for body in robot.bodies}
    pictures = []

    def is_whole():  # markers, transforms and distances come in messages of their own
        pictures.append(service.answer())
        return pictures[-1].clearance.upper < 0.61 and meanings_of(pictures[-1]).keys() == set(names)

    wait_until(client, is_whole)
    picture = pictures[-1]
    for drawn in picture.bodies:
        body = names[drawn.body.name]
        found = picture.root_from_link[drawn.body.link] @ drawn.body.link_from_body
        np.testing.assert_allclose(found, poses[body.link] @ body.link_from_body, atol=1e-9)
        vertices, _ = drawn.body.shape.triangles(1)
        np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), body.shape.bounding_sphere().radius, rtol=1e-6)
    scene = robot.scene()
    scene.set_link_poses(poses)
    (expected,) = scene.query(max_results=1).distance
    assert picture.clearance.lower <= expected <= picture.clearance.upper and not picture.clearance.missing
    assert picture.clearance.meaning == Meaning.APART and service.near == 0.1
    model = RobotModel(robot, near=0.1)
    model.set_positions(positions)
    model.set_base("ball", arm.AHEAD)
    assert meanings_of(picture) == meanings_of(model.answer())


def test_objects_are_added_moved_and_removed_by_the_node(service, client):
    service.add_object("egg", EGG, arm.at(0.0, 0.0, 2.0))
    wait_until(client, lambda: "egg" in service.objects)
    np.testing.assert_allclose(service.objects["egg"], arm.at(0.0, 0.0, 2.0), atol=1e-9)
    wait_until(client, lambda: "egg" in {drawn.owner for drawn in service.answer().bodies})
    service.move_object("egg", arm.at(1.25, 0.0, 0.2))
    response = client.nearest(links_a=["egg"], links_b=["hand"], max_results=1)
    assert response.success and response.distances.pairs[0].distance < 0.0
    wait_until(client, lambda: service.answer().clearance.meaning == Meaning.OVERLAPPING)
    checked, words = service.pair_rule("egg", "hand")
    assert checked and words
    service.remove_object("egg")
    wait_until(client, lambda: "egg" not in service.objects)


def test_what_the_node_refuses_is_an_error_with_its_words(service):
    with pytest.raises(ValueError, match="nothing"):
        service.move_object("nothing", np.eye(4))
    with pytest.raises(ValueError, match="nobody"):
        service.pair_rule("nobody", "hand")


@pytest.mark.ci
def test_a_node_that_falls_silent_leaves_nothing_known(start_node, client):
    mortal = start_node("distance_service", name="mortal", **arm.DESCRIPTIONS)
    arm.set_state(client, "/mortal", (0.75, 0.0))
    with ShownService("/mortal") as service:
        wait_until(client, lambda: service._bodies.has_all_frames() and service._answer is not None)
        mortal.interrupt()
        wait_until(client, lambda: "node /mortal does not exist" in service.answer().clearance.words)
        picture = service.answer()
        assert picture.clearance.meaning == Meaning.UNKNOWN and math.isnan(picture.clearance.lower)
        assert not picture.pairs and set(meanings_of(picture).values()) == {Meaning.UNKNOWN}


@pytest.mark.slow
def test_a_dragged_handle_moves_the_object_in_the_planning_scene(service, client, tab, tmp_path):  # noqa: F811
    pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")
    from superovoid.viewing.node_page import NodePage
    from superovoid.viewing.serving import open_server

    def place():
        """The cup, as the node reports it to any client."""
        (pose,) = (thing.pose for thing in client.scene().world.collision_objects if thing.id == "cup")
        return np.array([pose.position.x, pose.position.y, pose.position.z])

    start = (0.5, -0.5, 0.3)
    client.apply(world.cup(*start))
    wait_until(client, lambda: "cup" in service.objects)
    np.testing.assert_allclose(place(), start, atol=1e-9)
    page = NodePage(open_server(service.title), service)
    with page.viewer:
        tab.open(page.viewer)
        tab.page.get_by_text("Clearance").first.wait_for()
        wait_until(client, lambda: "cup" in page._gizmos and page.server.get_clients())
        tabs.drag_up(tab, page, page._gizmos["cup"], 0.2, tmp_path, lambda: arm.send_state(client, (0.75, 0.0)))
        wait_until(client, lambda: place()[2] > 0.4)
        np.testing.assert_allclose(place(), np.add(start, (0.0, 0.0, 0.2)), atol=0.05)
        assert page._trouble.content == "" and tab.troubles == []


# --- markers of any publisher, without a node ---

CORNERS = (Point(), Point(x=1.0), Point(y=1.0))


def marker_of(name="a", colour=(0.0, 0.0, 0.0)):
    marker = Marker(ns="bodies", id=ord(name), type=Marker.TRIANGLE_LIST, points=list(CORNERS), text=name)
    marker.header.frame_id = "node/hand"
    marker.pose.orientation.w = 1.0
    marker.color.r, marker.color.g, marker.color.b = map(float, colour)
    return marker


def message_of(*names, clear=False):
    """Markers of bodies, numbered by their names' order, as a node sends them."""
    return MarkerArray(markers=[Marker(action=Marker.DELETEALL)] * clear + list(map(marker_of, names)))


def names_of(bodies):
    return sorted(one.body.name for one in bodies.bodies.values())


@pytest.mark.parametrize("meaning", Meaning)
def test_a_colour_of_the_node_is_the_meaning_of_the_body(meaning):
    bodies, colour = MarkerBodies("node/"), np.array(COLOURS[meaning]) / 255.0
    sent = MarkerArray(markers=[marker_of(colour=colour), marker_of("b", colour=(math.nan, 0.0, 0.0))])
    bodies.take_markers(read(serialize_message(sent), MarkerArray))
    known, unknown = bodies.bodies.values()
    assert known.meaning is meaning and (known.body.link, known.owner) == ("hand", "hand")
    assert unknown.meaning is Meaning.UNKNOWN


@pytest.mark.parametrize("change", ["pose", "points", "colour"])
def test_a_body_sent_again_is_drawn_again_only_if_its_triangles_differ(change):
    bodies = MarkerBodies("node/")
    bodies.take_markers(message_of("a", "b"))
    before, again = bodies.bodies[ord("a")].body, message_of("a")
    if change == "pose":
        again.markers[0].pose.position.x = 1.0
    elif change == "points":
        again.markers[0].points[1] = Point(x=2.0)
    else:
        again.markers[0].color.r = 1.0
    seen = bodies.changed_at
    bodies.take_markers(again)
    after = bodies.bodies[ord("a")].body
    assert names_of(bodies) == ["a", "b"]
    assert (after.shape is before.shape) == (change != "points")
    assert after.link_from_body[0, 3] == (change == "pose")
    assert (bodies.changed_at == seen) == (change == "colour")


def test_all_pieces_of_a_large_body_are_drawn():
    bodies, pieces = MarkerBodies("node/"), message_of("a", "b", "c")
    for marker in pieces.markers[:2]:
        marker.text = "mesh\ntable\nobject"
    for _ in range(2):  # the second time nothing changes
        bodies.take_markers(pieces)
        assert len(set(names_of(bodies))) == 3 and "mesh" in names_of(bodies)
        assert [one.owner for one in bodies.bodies.values()] == ["table", "table", "hand"]


def test_deleted_bodies_are_gone():
    bodies = MarkerBodies("node/")
    bodies.take_markers(message_of("a", "b", "c", clear=True))
    bodies.take_markers(MarkerArray(markers=[Marker(ns="bodies", id=ord("b"), action=Marker.DELETE)]))
    assert names_of(bodies) == ["a", "c"]
    again = message_of("b")
    again.markers[0].id = 1000  # the name is free
    bodies.take_markers(again)
    assert names_of(bodies) == ["a", "b", "c"]
    bodies.take_markers(message_of("c", clear=True))
    assert names_of(bodies) == ["c"]
