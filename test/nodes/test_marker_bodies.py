# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How a page reads markers from any publisher, without a node."""

import math

import pytest
from geometry_msgs.msg import Point
from rclpy.serialization import serialize_message
from visualization_msgs.msg import Marker, MarkerArray

from superovoid.viewing.meanings import COLOURS, Meaning
from superovoid_ros.client.marker_bodies import MarkerBodies
from superovoid_ros.nodes.common.endpoints import read
from superovoid_ros.nodes.common.mistakes import InputError

CORNERS = (Point(), Point(x=1.0), Point(y=1.0))


def message_of(*names, clear=False, ns="bodies"):
    """Markers of bodies, numbered by their names' order, as a node sends them."""
    markers = [Marker(action=Marker.DELETEALL)] if clear else []
    for name in names:
        marker = Marker(ns=ns, id=ord(name), type=Marker.TRIANGLE_LIST, points=list(CORNERS), text=name)
        marker.header.frame_id = "node/hand"
        marker.pose.orientation.w = 1.0
        markers.append(marker)
    return MarkerArray(markers=markers)


def names_of(bodies):
    return sorted(one.body.name for one in bodies.bodies.values())


def read_body(points=CORNERS, colour=(0.0, 0.0, 0.0), scale=1.0, kind=Marker.TRIANGLE_LIST):
    """Return the body read from a serialized marker."""
    marker = Marker(ns="bodies", id=1, type=kind, points=list(points))
    marker.header.frame_id = "node/hand"
    marker.pose.orientation.w = 1.0
    marker.color.r, marker.color.g, marker.color.b = colour
    marker.scale.x = scale
    bodies = MarkerBodies("node/")
    bodies.take_markers(read(serialize_message(MarkerArray(markers=[marker])), MarkerArray))
    (body,) = bodies.bodies.values()
    return body


@pytest.mark.parametrize("meaning", Meaning)
def test_a_colour_of_the_node_is_the_meaning_of_the_body(meaning):
    body = read_body(colour=tuple(part / 255.0 for part in COLOURS[meaning]))
    assert body.meaning is meaning and (body.body.link, body.owner) == ("hand", "hand")


@pytest.mark.parametrize("value", [math.nan, math.inf, -1e30, 0.5])
def test_an_unknown_colour_has_no_meaning(value):
    assert read_body(colour=(value, 0.0, 0.0)).meaning is Meaning.UNKNOWN


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e38])
def test_corners_that_cannot_be_drawn_are_refused_with_words(value):
    with pytest.raises(InputError, match="corner"):
        read_body(points=(*CORNERS[:2], Point(z=value)))
    with pytest.raises(InputError, match="corner"):
        read_body(scale=value, kind=Marker.CUBE_LIST)


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


def test_deleted_bodies_are_gone():
    bodies = MarkerBodies("node/")
    bodies.take_markers(message_of("a", "b", "c", clear=True))
    bodies.take_markers(MarkerArray(markers=[Marker(ns="bodies", id=ord("b"), action=Marker.DELETE)]))
    assert names_of(bodies) == ["a", "c"]
    bodies.take_markers(message_of("c", clear=True))
    assert names_of(bodies) == ["c"]
