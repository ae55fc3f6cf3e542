# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How a page reads markers from any publisher, without a node."""

import math

import pytest
from geometry_msgs.msg import Point
from rclpy.serialization import serialize_message
from visualization_msgs.msg import Marker, MarkerArray

from superovoid.viewing.meanings import COLOURS, Meaning
from superovoid_ros.nodes.clients.marker_bodies import MarkerBodies
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
    return sorted(one.body.name for one in bodies.bodies_to_show())


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


def test_bodies_stay_while_the_node_sends_all_again_for_any_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    bodies = MarkerBodies("node/")
    bodies.take_markers(message_of("a", "b", "c", clear=True))
    for message in (message_of(clear=True), message_of("a"), message_of("a"), message_of("b")):
        bodies.take_markers(message)
        now[0] += 3600.0
        assert names_of(bodies) == ["a", "b", "c"]
    bodies.take_markers(message_of("w", ns="incomplete"))
    bodies.take_markers(message_of("a"))
    assert names_of(bodies) == ["a", "b", "c"]  # a turn of a body that was sent already
    bodies.take_markers(message_of("p", ns="pairs"))
    assert names_of(bodies) == ["a", "b"]


def test_a_deleted_body_does_not_come_back():
    bodies = MarkerBodies("node/")
    bodies.take_markers(message_of("a", clear=True))
    bodies.take_markers(message_of(clear=True))
    bodies.take_markers(message_of(clear=True))
    assert names_of(bodies) == ["a"]
    for _ in range(2):
        bodies.take_markers(message_of("p", ns="pairs"))
    assert names_of(bodies) == []
