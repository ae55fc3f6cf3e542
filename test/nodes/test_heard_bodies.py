# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a page takes from markers that anybody may have published; no node."""

import math

import pytest
from geometry_msgs.msg import Point
from rclpy.serialization import serialize_message
from visualization_msgs.msg import Marker, MarkerArray

from superovoid_ros.nodes.clients.heard_bodies import HeardBodies
from superovoid_ros.nodes.common.mistakes import InputError
from superovoid_ros.nodes.common.qos import read
from superovoid_ros.viewing.meanings import COLOURS, Meaning

CORNERS = (Point(), Point(x=1.0), Point(y=1.0))


def taken(points=CORNERS, colour=(0.0, 0.0, 0.0), scale=1.0, kind=Marker.TRIANGLE_LIST):
    """What is heard of a marker that came over the wire."""
    marker = Marker(ns="bodies", id=1, type=kind, points=list(points))
    marker.header.frame_id = "node/hand"
    marker.pose.orientation.w = 1.0
    marker.color.r, marker.color.g, marker.color.b = colour
    marker.scale.x = scale
    heard = HeardBodies("node/")
    heard.take_markers(read(serialize_message(MarkerArray(markers=[marker])), MarkerArray))
    (body,) = heard.bodies.values()
    return body


@pytest.mark.parametrize("meaning", Meaning)
def test_a_colour_of_the_node_is_the_meaning_of_the_body(meaning):
    body = taken(colour=tuple(part / 255.0 for part in COLOURS[meaning]))
    assert body.meaning is meaning and (body.body.link, body.owner) == ("hand", "hand")


@pytest.mark.parametrize("value", [math.nan, math.inf, -1e30, 0.5])
def test_a_colour_that_is_none_says_nothing(value):
    assert taken(colour=(value, 0.0, 0.0)).meaning is Meaning.UNKNOWN


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e38])
def test_corners_that_cannot_be_drawn_are_refused_with_words(value):
    with pytest.raises(InputError, match="corner"):
        taken(points=(*CORNERS[:2], Point(z=value)))
    with pytest.raises(InputError, match="corner"):
        taken(scale=value, kind=Marker.CUBE_LIST)


def test_triangles_that_are_not_whole_are_left_out():
    assert taken(points=(*CORNERS, Point(z=1.0))).body.shape.faces.shape == (1, 3)
    assert taken(points=()).body.shape.vertices.shape == (0, 3)
