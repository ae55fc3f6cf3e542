# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`robot.show(q)` and `scene.show()`: pages of what is there when they are called."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from superovoid import Body, Robot, Scene, Sphere, Status
from superovoid.viewing.meanings import Meaning
from superovoid.viewing.picture import SceneQuery
from superovoid.viewing.scene_model import SceneModel
from superovoid.viewing.serving import ServingError

from arm import SRDF, URDF, at


def scene():
    made = Scene([Body("a", "one", Sphere(0.1)), Body("b", "two", Sphere(0.2)), Body("c", "three", Sphere(0.1))])
    made.set_link_poses({"one": at(0.0, 0.0, 0.0), "two": at(0.5, 0.0, 0.0), "three": at(0.0, 3.0, 0.0)})
    return made


def test_a_scene_is_shown_as_it_was_when_it_was_asked_for():
    own = scene()
    model = SceneModel(own, near=0.25)
    own.set_link_pose("two", at(0.1, 0.0, 0.0))
    picture = model.answer()
    (pair,) = picture.pairs
    assert pair.distance == pytest.approx(0.2) and pair.meaning is Meaning.NEAR
    assert [drawn.meaning for drawn in picture.bodies] == [Meaning.NEAR, Meaning.NEAR, Meaning.APART]
    assert own.query(max_results=1).distance[0] == pytest.approx(-0.2)  # still the scene's own state


def test_a_scene_without_poses_says_which_are_missing():
    made = scene()
    made.add(Body("d", "four", Sphere(0.1)))
    with pytest.raises(ValueError, match="links four"):
        made.show()
    with pytest.raises(ValueError, match="near"):
        scene().show(near=-1.0)


def test_without_viser_there_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ServingError, match=r"superovoid\[view\]"):
        scene().show()


def test_a_scene_and_a_robot_serve_pages_until_they_are_closed():
    pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")
    robot = Robot.from_urdf(URDF, srdf=SRDF)
    with scene().show() as first, robot.show([1.2, 0.0], {"ball": at(2.0, 0.0, 0.0)}, near=0.3) as second:
        assert first.url != second.url and first.url.startswith("http://127.0.0.1:")
        for viewer in (first, second):
            assert viewer.refresher.wait(120.0)
        assert second.title == "arm"
    with pytest.raises(ValueError, match="shape"):
        robot.show(np.zeros(3))
    with pytest.raises(ValueError, match="base"):
        robot.show({"slide": 0.1}, {"hand": np.eye(4)})


class Doubtful:
    """A scene whose answers about pairs are wide intervals, as of an engine that was short of time."""

    def __init__(self, real):
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)

    def query(self, **options):
        result = self._real.query(**options)
        return replace(result, lower=result.lower - 0.5, status=result.status | np.uint8(Status.UNPROVEN))


def test_a_pair_that_is_far_but_not_proved_to_be_is_drawn_as_not_decided():
    made = scene()
    poses = dict(zip(made.links, made.tables().link_poses, strict=True))
    owners = [body.link for body in made.bodies]
    assert SceneQuery(made, owners, near=0.1).answer(poses).clearance.meaning is Meaning.APART
    picture = SceneQuery(Doubtful(made), owners, near=0.1).answer(poses)
    pair = picture.pairs[0]
    assert pair.distance == pytest.approx(0.2) and pair.meaning is Meaning.UNKNOWN
    assert "wider than requested" in pair.state and "certified" not in pair.state
    assert picture.clearance.meaning is Meaning.UNKNOWN and picture.clearance.lower < 0.0
    assert [drawn.meaning for drawn in picture.bodies[:2]] == [Meaning.UNKNOWN, Meaning.UNKNOWN]
