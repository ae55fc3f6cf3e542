# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`robot.show(q)` and `scene.show()`: pages of the state at the time of the call."""

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


def test_later_changes_do_not_affect_a_shown_scene():
    own = scene()
    model = SceneModel(own, near=0.25)
    own.set_link_pose("two", at(0.1, 0.0, 0.0))
    picture = model.answer()
    (pair,) = picture.pairs
    assert pair.distance == pytest.approx(0.2) and pair.meaning is Meaning.NEAR
    assert [drawn.meaning for drawn in picture.bodies] == [Meaning.NEAR, Meaning.NEAR, Meaning.APART]
    assert own.query(max_results=1).distance[0] == pytest.approx(-0.2)  # the scene's own state is unchanged


def test_a_scene_without_poses_is_rejected_with_their_links():
    made = scene()
    made.add(Body("d", "four", Sphere(0.1)))
    with pytest.raises(ValueError, match="links four"):
        made.show()
    with pytest.raises(ValueError, match="near"):
        scene().show(near=-1.0)


def test_an_error_without_viser_tells_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ServingError, match=r"superovoid\[view\]"):
        scene().show()


def test_pages_of_a_scene_and_a_robot_are_served_until_closed():
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


class ImpreciseScene:
    """A scene that answers with wide intervals, as if the engine ran out of time."""

    def __init__(self, real):
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)

    def query(self, **options):
        result = self._real.query(**options)
        return replace(result, lower=result.lower - 0.5, status=result.status | np.uint8(Status.UNPROVEN))


def test_a_distant_but_unproved_pair_is_not_decided():
    made = scene()
    poses = dict(zip(made.links, made.tables().link_poses, strict=True))
    owners = [body.link for body in made.bodies]
    assert SceneQuery(made, owners, near=0.1).answer(poses).clearance.meaning is Meaning.APART
    picture = SceneQuery(ImpreciseScene(made), owners, near=0.1).answer(poses)
    pair = picture.pairs[0]
    assert pair.distance == pytest.approx(0.2) and pair.meaning is Meaning.UNKNOWN
    assert "wider than requested" in pair.state and "certified" not in pair.state
    assert picture.clearance.meaning is Meaning.UNKNOWN and picture.clearance.lower < 0.0
    assert [drawn.meaning for drawn in picture.bodies[:2]] == [Meaning.UNKNOWN, Meaning.UNKNOWN]
