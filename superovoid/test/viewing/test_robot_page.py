# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page of a robot without a browser: controls change the model, and the drawing shows the library's answer."""

import math
import socket
import threading
import time
import urllib.request

import numpy as np
import pytest

from superovoid import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    HalfSpace,
    Robot,
    Shell,
    Sphere,
    Superovoid,
)
from superovoid.viewing.meanings import COLOURS, Meaning
from superovoid.viewing.robot_model import RobotModel

from arm import SRDF, URDF, at

pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")

from superovoid.viewing import canvas
from superovoid.viewing import page as page_module
from superovoid.viewing.picture import Triangles
from superovoid.viewing.robot_page import RobotPage
from superovoid.viewing.serving import Refresher, ServingError, open_server

import hands

LONG = 600.0  # s, reached only by failing tests


@pytest.fixture
def page():
    model = RobotModel(Robot.from_urdf(URDF, srdf=SRDF), near=2.0)
    model.set_base("ball", at(2.0, 0.0, 0.0))
    page = RobotPage(open_server("arm"), model, None)
    with page.viewer:
        assert page.viewer.refresher.wait(LONG)
        yield page


def wait_until(holds):
    """Wait until a condition holds."""
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def finish(page):
    assert page.viewer.refresher.wait(LONG)
    return page


def test_a_slider_moves_the_robot_and_updates_the_list(page):
    page._sliders["slide"].value = 0.75
    titles = [button.label for button in finish(page)._rows if button.visible]
    assert "600.00 mm  hand – ball" in " ".join(titles)
    page._sliders["slide"].value = 1.4
    assert finish(page)._rows[0].color == COLOURS[Meaning.OVERLAPPING]
    assert "overlapping" in page._headline.content and "-50.000 mm" in page._headline.content


def test_changing_digits_are_delayed_but_meanings_are_not(page, monkeypatch):
    page._sliders["slide"].value = 0.75
    assert "600.000 mm" in finish(page)._headline.content
    monkeypatch.setattr(page_module, "WORDS_PERIOD", 1e6)
    page._sliders["slide"].value = 0.8
    assert not page.viewer.refresher.wait(0.2)  # part of the text is delayed
    wait_until(lambda: page._canvas._links["hand"].position[0] == pytest.approx(0.8))
    assert "600.000 mm" in page._headline.content
    page._sliders["slide"].value = 1.4
    wait_until(lambda: "-50.000 mm" in page._headline.content)
    page._sliders["slide"].value = 1.41
    wait_until(lambda: page._canvas._links["hand"].position[0] == pytest.approx(1.41))
    assert "-50.000 mm" in page._headline.content
    monkeypatch.undo()
    page.viewer.refresher.ask()
    assert "-60.000 mm" in finish(page)._headline.content


def test_resolution_decreases_with_the_number_of_bodies():
    found = [canvas.resolution_for(0.1, 0.1 * count) for count in (0, 1, 10, 38, 200, 10_000)]
    assert found == sorted(found, reverse=True)
    assert (found[0], found[-1]) == (canvas.RESOLUTIONS[1], canvas.RESOLUTIONS[0])


def test_large_bodies_get_more_triangles_within_the_total():
    robot = hands.hands()
    page = RobotPage(open_server("hands"), RobotModel(robot), None)
    with page.viewer:
        drawn = finish(page)._canvas._bodies.values()
        counts = {one.body.name: len(one.node.faces) for one in drawn}
        radii = {one.body.name: canvas.radius_of(one.body.shape) for one in drawn}
    names = sorted(radii, key=radii.get)
    assert counts[names[-1]] > 2 * counts[names[0]] and counts[names[0]] >= 100
    assert 0.5 * canvas.TRIANGLES < sum(counts.values()) < 1.5 * canvas.TRIANGLES


@pytest.mark.parametrize(
    "shape",
    [
        Superovoid((0.1, 0.2, 0.3), section_exponent=0.2, profile_exponent=1.8, taper=(0.4, -0.4)),
        Box((0.2, 0.4, 0.6)),
        Sphere(0.1),
        Capsule(0.1, 0.2),
        Cylinder(0.1, 0.2),
        Cone(0.1, 0.2),
        ConvexMesh(np.vstack([np.eye(3), -np.eye(3)])),
    ],
)
def test_one_sided_shapes_have_outward_triangles(shape):
    vertices, faces = canvas.triangles_of(shape, 1.0, 16)
    a, b, c = (vertices[faces[:, corner]] - vertices.mean(axis=0) for corner in range(3))
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c))
    assert canvas.side_of(shape) == "front" and (volumes > -1e-12).all() and volumes.sum() > 0.0


def test_open_surfaces_are_drawn_on_both_sides():
    sheet = Shell(np.eye(3), np.array([[0, 1, 2]]))
    unknown = Triangles(np.eye(3), np.array([[0, 1, 2]]))
    assert [canvas.side_of(shape) for shape in (HalfSpace(), sheet, unknown)] == ["double"] * 3


def test_drawn_poses_equal_those_of_the_model(page):
    page._sliders["slide"].value = 0.5
    finish(page)
    picture = page.model.answer()
    for link, pose in picture.root_from_link.items():
        assert page._canvas._links[link].position == pytest.approx(pose[:3, 3])
    drawn = page._canvas._pairs["segments"].ends
    for row, pair in enumerate(picture.pairs):
        assert drawn[row] == pytest.approx(np.array([pair.point_a, pair.point_b]), abs=1e-6)
    for body in picture.bodies:
        assert page._canvas._bodies[body.body.name].node.color == COLOURS[body.meaning]
    assert page._canvas._labels[0].text == f"1: {picture.pairs[0].label}"


def test_after_an_engine_error_everything_is_unknown(page, monkeypatch):
    def fail():
        raise ArithmeticError("<b>no answer</b>")

    monkeypatch.setattr(page.model, "answer", fail)
    page._sliders["slide"].value = 0.1
    finish(page)
    assert "unknown" in page._headline.content and "&lt;b&gt;no answer" in page._headline.content
    assert {drawn.node.color for drawn in page._canvas._bodies.values()} == {COLOURS[Meaning.UNKNOWN]}
    assert not page._canvas._pairs["segments"].visible and not any(label.visible for label in page._canvas._labels)
    assert not any(button.visible for button in page._rows)


def test_after_a_drawing_error_everything_is_unknown(page, monkeypatch):
    def fail(shape, extent, resolution):
        raise ArithmeticError("no triangles")

    with monkeypatch.context() as patch:
        patch.setattr(canvas, "triangles_of", fail)
        page._add_object(lambda: Box((0.2, 0.2, 0.2)), "box")
        finish(page)
        assert "unknown" in page._headline.content and "no triangles" in page._headline.content
        assert {drawn.node.color for drawn in page._canvas._bodies.values()} == {COLOURS[Meaning.UNKNOWN]}
        assert not any(button.visible for button in page._rows)
    page._remove_object("box_1")
    assert "unknown" not in finish(page)._headline.content
    page._sliders["slide"].value = 1.4
    assert "overlapping" in finish(page)._headline.content


def test_a_named_state_beyond_a_slider_reaches_the_model(page):
    page._take_state({"slide": 2.5, "wrist": 0.5})
    assert finish(page).model.positions == {"slide": 2.5, "wrist": 0.5}
    assert page._sliders["slide"].value == page._sliders["slide"].max == 2.0
    assert page._sliders["wrist"].value == 0.5 and "beyond their limits: slide" in page._headline.content


def test_handles_move_added_objects(page):
    page._add_object(lambda: Box((0.2, 0.2, 0.2)), "box")
    finish(page)
    assert page._objects.options == ("box_1",) and "box_1" in page._canvas._bodies
    gizmo = page._gizmos["object box_1"]
    gizmo.position = (0.5, 0.0, 0.25)
    for callback in gizmo._impl_aux.update_cb:
        callback(type("Event", (), {"target": gizmo}))
    finish(page)
    assert page.model.planning.objects["box_1"].pose[:3, 3] == pytest.approx([0.5, 0.0, 0.25])
    assert any("100.00 mm  hand – box_1" == button.label.partition(": ")[2] for button in page._rows if button.visible)
    page._remove_object("box_1")
    assert "box_1" not in finish(page)._canvas._bodies and page._objects.options == ("",)


def test_removing_an_object_while_adding_it_leaves_no_handle(page, monkeypatch):
    make, failed = page._gizmo, []

    def remove():
        try:
            page._remove_object("box_1")
        except Exception as error:
            failed.append(error)

    remover = threading.Thread(target=remove)

    def remove_while_making(*arguments):
        remover.start()
        remover.join(0.5)  # until it blocks
        return make(*arguments)

    monkeypatch.setattr(page, "_gizmo", remove_while_making)
    page._add_object(lambda: Box((0.2, 0.2, 0.2)), "box")
    remover.join()
    assert failed == [] and not page.model.planning.objects
    assert "object box_1" not in page._gizmos and page._objects.options == ("",)


def test_a_file_other_than_a_mesh_is_rejected_on_the_page(page):
    from superovoid.viewing.robot_page import _hull_of

    for name, content in (("a.exe", b""), ("a.stl", b"nothing"), ("a.obj", b"v 0 0 0\n"), ("", b""), ("x<b>.ply", b"")):
        page._add_object(lambda name=name, content=content: _hull_of(name, content), "mesh")
        assert page._trouble.content and "<b>" not in page._trouble.content
        assert not page.model.planning.objects


def test_the_reason_of_a_pair_is_shown_and_can_be_overridden(page):
    first, second = page._sides
    first.value, second.value = "ground", "thumb"
    page._show_reason()
    assert "not checked" in page._reason.content and "never meet" in page._reason.content
    page._turn_check()
    assert "a runtime rule enables it" in page._reason.content
    assert any({pair.name_a, pair.name_b} == {"ground", "thumb"} for pair in finish(page)._listed)


def test_link_names_are_escaped_in_the_page():
    name = "<img src=x onerror=alert(1)>"
    safe = name.replace("<", "&lt;").replace(">", "&gt;")
    model = RobotModel(Robot.from_urdf(URDF.replace('"slide"', f'"{safe}"'), srdf=SRDF))
    model.set_position(name, 5.0)  # beyond its limits, so the headline names it
    page = RobotPage(open_server("arm"), model, None, notes=(name,))
    with page.viewer:
        assert "img" in finish(page)._headline.content and "<img" not in page._headline.content


def test_a_page_is_served_only_locally_and_never_shared(page):
    assert page.viewer.url.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(page.viewer.url, timeout=30) as answer:
        assert answer.status == 200 and b"<html" in answer.read()
    assert page.server.request_share_url() is None and page.server._share_tunnel is None


def test_a_port_in_use_is_reported_and_closing_frees_it():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ServingError, match=rf"port {port} of 127\.0\.0\.1 cannot be used.*--port"):
            open_server("taken", port=port)
    with pytest.raises(ServingError, match=r"192\.0\.2\.1"):
        open_server("not here", host="192.0.2.1")
    server = open_server("free", port=port)
    assert server.get_port() == port
    server.stop()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()


def test_changes_during_a_refresh_cause_one_more_refresh():
    made, go, begun = [], threading.Event(), threading.Event()

    def refresh():
        made.append(None)
        begun.set()
        assert go.wait(LONG)

    refresher = Refresher(refresh, made.append)
    refresher.ask()
    assert begun.wait(LONG)
    for _ in range(50):
        refresher.ask()
    assert not refresher.wait(0.0)
    go.set()
    assert refresher.wait(LONG) and made == [None, None]
    refresher.close()


def test_a_refresher_continues_after_its_error_handler_fails():
    made = []

    def refresh():
        made.append(None)
        raise ArithmeticError("not this time")

    def fail(error):
        raise RuntimeError("nor can it be said")

    refresher = Refresher(refresh, fail)
    for count in (1, 2):
        refresher.ask()
        assert refresher.wait(LONG) and len(made) == count
    refresher.close()


def test_a_pair_without_points_is_not_drawn(page):
    page._sliders["slide"].value = 0.5
    first, second = finish(page).model.answer().pairs
    object.__setattr__(first, "point_a", np.full(3, math.nan))
    page._canvas._draw_pairs([first, second], page._layers)
    assert page._canvas._pairs["segments"].ends[0] == pytest.approx(
        np.array([second.point_a, second.point_b]), abs=1e-6
    )
    assert page._canvas._labels[0].text.startswith("2: ")
    page._canvas._draw_pairs([first], page._layers)
    assert not page._canvas._pairs["segments"].visible and not page._canvas._labels[0].visible


@pytest.mark.parametrize(
    "text",
    [
        '<robot name="bare"><link name="l"/></robot>',
        URDF.replace('lower="0" upper="2"', 'lower="0.5" upper="0.5"'),  # a fixed joint
        URDF.replace('type="revolute"', 'type="continuous"'),
    ],
    ids=["without bodies", "with a joint that is locked", "with joints without limits"],
)
def test_every_robot_has_a_page(text):
    page = RobotPage(open_server("robot"), RobotModel(Robot.from_urdf(text)))
    with page.viewer:
        assert "Clearance" in finish(page)._headline.content and "Error" not in page._headline.content
