# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page of a robot in a real browser: user actions and their visible results."""

from html import escape

import numpy as np
import pytest
from matplotlib.colors import rgb_to_hsv

from superovoid import Box, Robot, distance
from superovoid.viewing.meanings import COLOURS, Meaning, interval_words, millimetres
from superovoid.viewing.recording import Moment, Recording, ReplayModel
from superovoid.viewing.robot_model import RobotModel

import tabs
from arm import SRDF, URDF, at
from tabs import seen_when

pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")

from superovoid.viewing.html_file import page_of
from superovoid.viewing.page import look_at
from superovoid.viewing.pair_model import PairModel
from superovoid.viewing.pair_page import PairPage
from superovoid.viewing.robot_page import RobotPage
from superovoid.viewing.serving import open_server

# Rows below the page's notification about its renderer, columns left of the control panel, pixels.
SCENE = np.s_[200:, :870]
A_BODY = 0.0008  # smallest fraction of the scene that one body of the arm covers


@pytest.fixture
def page():
    model = RobotModel(Robot.from_urdf(URDF, srdf=SRDF), near=0.7)
    model.set_base("ball", at(2.0, 0.0, 0.0))
    page = RobotPage(open_server("arm"), model, None)
    with page.viewer:
        yield page


def share_of(picture, meaning):
    """Return the fraction of the scene in the colour of a meaning, with any shading."""
    seen = rgb_to_hsv(np.clip(picture[SCENE], 0.0, 1.0))
    hue = rgb_to_hsv(np.array(COLOURS[meaning]) / 255.0)[0]
    turn = np.abs((seen[..., 0] - hue + 0.5) % 1.0 - 0.5)
    return float(((turn < 0.03) & (seen[..., 1] > 0.3)).mean())


@pytest.mark.ci
def test_a_slider_moves_a_link_and_updates_the_distance(page, tab, tmp_path):
    tab.open(page.viewer)
    tab.page.get_by_text("1350.00 mm hand – ball").wait_for()  # not near, but the closest pair
    tab.page.get_by_text("apart, in [").wait_for()
    tab.set_number("slide (m)", 0.75)
    tab.page.get_by_text("600.00 mm hand – ball").wait_for()
    edges = "document.querySelector('canvas').getContext('webgl2').getContextAttributes().antialias"
    assert tab.page.evaluate(edges) is False  # software rendering
    picture = page.model.answer()
    (pair,) = (pair for pair in picture.pairs if {pair.name_a, pair.name_b} == {"hand", "ball"})
    assert pair.distance == pytest.approx(0.6)
    tab.page.get_by_text(f"near, in {interval_words(pair.lower, pair.upper)}; certified").wait_for()
    before = seen_when(tab, tmp_path / "near.png", lambda picture: share_of(picture, Meaning.NEAR) > A_BODY)
    assert share_of(before, Meaning.OVERLAPPING) < 0.1 * A_BODY
    tab.set_number("slide (m)", 1.4)
    tab.page.get_by_text("Clearance: -50.000 mm").wait_for()
    seen_when(tab, tmp_path / "overlapping.png", lambda picture: share_of(picture, Meaning.OVERLAPPING) > A_BODY)
    assert tab.troubles == []


@pytest.mark.slow
def test_a_page_contacts_only_its_server(page, tab):
    tab.open(page.viewer)
    tab.page.get_by_text("Clearance").wait_for()
    foreign = [url for url in tab.requested if not url.startswith((page.viewer.url, "data:", "blob:"))]
    assert tab.requested and not foreign


@pytest.mark.slow
def test_dragging_a_handle_moves_an_object(page, tab, tmp_path):
    tab.open(page.viewer)
    tab.page.get_by_text("Clearance").wait_for()
    page._add_object(lambda: Box((0.1, 0.1, 0.1)), "box")
    gizmo = page._gizmos["object box_1"]
    gizmo.position = start = (1.0, 0.0, 0.3)
    page._change(lambda: page.model.move_object("box_1", at(*start)))
    tabs.drag_up(tab, page, gizmo, 0.2, tmp_path)
    for _ in range(100):
        if page.model.planning.objects["box_1"].pose[2, 3] > 0.4:
            break
        tab.page.wait_for_timeout(100.0)
    moved = page.model.planning.objects["box_1"].pose[:3, 3]
    assert moved == pytest.approx([1.0, 0.0, 0.5], abs=0.05)
    assert tab.troubles == []


def wait_for_target(page, tab, target):
    """Wait until the camera looks at a point; the browser may have sent an earlier one just before."""
    for _ in range(100):
        (client,) = page.server.get_clients().values()
        if np.allclose(client.camera.look_at, target, atol=1e-3):
            break
        tab.page.wait_for_timeout(100.0)
    assert np.allclose(client.camera.look_at, target, atol=1e-3)


@pytest.mark.slow
def test_a_click_on_a_pair_moves_the_camera_there(page, tab):
    tab.open(page.viewer)
    tab.set_number("slide (m)", 0.75)
    row = tab.page.get_by_text("600.00 mm hand – ball")
    row.wait_for()
    (pair,) = (one for one in page.model.answer().pairs if {one.name_a, one.name_b} == {"hand", "ball"})
    row.click()
    wait_for_target(page, tab, 0.5 * (pair.point_a + pair.point_b))


@pytest.mark.ci
def test_a_connected_camera_looks_at_the_middle_of_a_box(page, tab):
    tab.open(page.viewer)
    tab.page.get_by_text("Clearance").wait_for()
    (client,) = page.server.get_clients().values()
    look_at(client.camera, (np.array([1.0, 2.0, 3.0]), np.array([3.0, 4.0, 4.0])))
    wait_for_target(page, tab, [2.0, 3.0, 3.5])


@pytest.mark.slow
def test_a_superovoid_slider_updates_the_distance(tab, tmp_path):
    page = PairPage(open_server("two"), PairModel())
    with page.viewer:
        tab.open(page.viewer)
        tab.set_number("A: a1, semi-axis (mm)", 40.0)
        model = PairModel()
        model.set_parameter(0, 0, 0.04)
        expected = distance(model.shapes[0], model.poses[0], model.shapes[1], model.poses[1])
        tab.page.get_by_text(millimetres(expected.distance, 6)).wait_for()
        seen_when(tab, tmp_path / "two.png", lambda picture: share_of(picture, Meaning.APART) > 10.0 * A_BODY)
    assert tab.troubles == []


TAG = "<img src=x onerror=hacked()>"
HOSTILE = f"""<robot name="{escape(TAG)}">
  <link name="{escape(TAG)} a"><contact_geometry><sphere radius="0.1"/></contact_geometry></link>
  <joint name="{escape(TAG)} j" type="prismatic">
    <parent link="{escape(TAG)} a"/><child link="{escape(TAG)} b"/>
    <axis xyz="1 0 0"/><limit lower="0.15" upper="2" effort="1" velocity="1"/>
  </joint>
  <link name="{escape(TAG)} b"><contact_geometry><sphere radius="0.1"/></contact_geometry></link>
</robot>"""
RULES = f"""<robot name="{escape(TAG)}">
  <group name="{escape(TAG)} g"><joint name="{escape(TAG)} j"/></group>
  <group_state name="{escape(TAG)} s" group="{escape(TAG)} g"><joint name="{escape(TAG)} j" value="0.3"/></group_state>
</robot>"""


def hostile_robot():
    """Return a robot with HTML tags as names, and its model."""
    robot = Robot.from_urdf(HOSTILE, srdf=RULES)
    model = RobotModel(robot)
    model.check(*robot.links, True)
    return robot, model


def test_html_texts_escape_names_with_tags():
    robot, model = hostile_robot()
    page = RobotPage(open_server(robot.name), model, None, [TAG])
    with page.viewer:
        assert page.viewer.refresher.wait(120.0)
        page._show_message(TAG)
        page._show_reason()
        shown = [page._headline, page._trouble, page._reason, page._more, *page._lines]
        texts = [page.viewer._repr_html_(), *(one.content for one in shown)]
    recording = Recording(robot.name, robot, [Moment(0.0, model.positions)], notes=[TAG])
    file = page_of(ReplayModel(recording))
    assert sum(escape(TAG) in text for text in texts) >= 2
    assert not any("<img" in text for text in texts) and "<img src=x" not in file


@pytest.mark.slow
def test_pages_and_files_do_not_run_tags_in_names(tab, tmp_path):
    robot, model = hostile_robot()
    tab.page.add_init_script("window.hacked = () => { window.wasHacked = true; }")
    path = tmp_path / "page.html"
    recording = Recording(robot.name, robot, [Moment(0.0, model.positions)], notes=[TAG])
    path.write_text(page_of(ReplayModel(recording)), encoding="utf-8")
    page = RobotPage(open_server(robot.name), model, None, [TAG])
    with page.viewer:
        page._show_message(TAG)
        for url in (page.viewer.url, f"file://{path}"):
            tab.open(url)
            tab.page.get_by_text(TAG).first.wait_for()
            for folder in tab.page.get_by_role("button", name="Notes").all():
                folder.click()
            tab.page.wait_for_timeout(1000.0)  # time in which nothing must happen
            assert not tab.page.evaluate("window.wasHacked === true")
