# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`fit.show()`, `check.show()` and their reports: the robot with its bodies, figures of links, errors as colours."""

import shutil
import sys
import time
from dataclasses import replace

import pytest
import trimesh

from superovoid.fitting import check_robot
from superovoid.fitting.report_page import report_page
from superovoid.fitting.robot_fits import LinkOptions, RobotFit
from superovoid.fitting.stand_ins import robot_with
from superovoid.viewing.robot_model import RobotModel
from superovoid.viewing.robot_page import ALL
from superovoid.viewing.serving import ServingError

pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")

from superovoid.viewing.fit_page import FitPage
from superovoid.viewing.serving import open_server

LONG = 600.0  # s, reached only by failing tests
# The body of `short` ends 10 mm before its mesh at either end.
URDF = """<robot name="two">
<link name="whole"><collision><geometry><mesh filename="package://pkg/bar.stl"/></geometry></collision>
<contact_geometry><box size="0.125 0.0625 0.25"/></contact_geometry></link>
<link name="short"><collision><geometry><mesh filename="package://pkg/bar.stl"/></geometry></collision>
<contact_geometry><box size="0.125 0.0625 0.23"/></contact_geometry></link>
<link name="&lt;gone&gt;"><collision><geometry><mesh filename="package://pkg/gone.stl"/></geometry></collision></link>
<joint name="slide" type="prismatic"><parent link="whole"/><child link="short"/><origin xyz="0.5 0 0"/>
<axis xyz="1 0 0"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint>
<joint name="fixed" type="fixed"><parent link="short"/><child link="&lt;gone&gt;"/></joint></robot>"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robot") / "pkg"
    folder.mkdir()
    trimesh.creation.box((0.125, 0.0625, 0.25)).export(folder / "bar.stl")
    return folder


@pytest.fixture(scope="module")
def check(package):
    return check_robot(URDF, package_directories={"pkg": package})


def page_of(found):
    bodies = {link.link: [(body.shape, body.pose) for body in link.bodies] for link in found.links if link.bodies}
    model = RobotModel(robot_with(found.source, bodies))
    return FitPage(open_server("two"), model, found, found.package_directories)


def choose(page, name, shown):
    """Choose a link; wait until the text about its colours satisfies a condition."""
    page._chosen.value = name
    end = time.monotonic() + LONG
    while not shown(page._colours.content):
        assert time.monotonic() < end, page._colours.content
        time.sleep(0.01)


def test_the_table_lists_all_links_and_details_the_chosen_one(check):
    page = page_of(check)
    with page.viewer:
        table = page._figures.content
        short = next(link for link in check.links if link.link == "short")
        assert f"{short.quality.iou:.3f}" in table and short.quality.iou == pytest.approx(0.92, abs=0.01)
        assert short.uncovered.millimetres() in table and 0.01 <= short.uncovered.upper < 0.0105
        # Links without figures give the reason, and names are escaped.
        assert "&lt;gone&gt;: " in table and "gone.stl" in table and "<gone>" not in table
        choose(page, "short", lambda text: "the link protrudes" in text)
        assert page._layers.left_out == "short"
        assert "U 10.00" in [getattr(node, "text", "") for node in page._painted]  # the farthest point of the link, mm
        assert "uncovered, mm" in page._figures.content
        choose(page, ALL, lambda text: not text)
        assert page._figures.content == table
        with page._painting:
            assert not page._painted and page._layers.left_out == ""


def test_a_fit_uses_its_packages_and_reports_missing_ones(check, package, tmp_path):
    moved = tmp_path / "pkg"
    shutil.copytree(package, moved)
    links = tuple(replace(link, state="fitted") if link.bodies else link for link in check.links)
    options = LinkOptions("collision", 1, "1 %", False, ("box",), 0)
    found = RobotFit(links, options, check.urdf_digest, URDF, URDF, {"pkg": moved})
    page = page_of(found)
    with page.viewer:
        choose(page, "whole", lambda text: "the link protrudes" in text)
    shutil.rmtree(moved)
    page = page_of(found)
    with page.viewer:
        choose(page, "whole", lambda text: "cannot read the meshes" in text)
    with found.show(package_directories={"pkg": package}) as viewer:
        assert viewer.title == "two" and viewer.refresher.wait(LONG)
        assert f'src="{viewer.url}"' in viewer._repr_html_()  # in a notebook


def test_show_applies_an_srdf_and_rejects_invalid_arguments(check):
    srdf = '<robot name="two"><disable_collisions link1="whole" link2="short" reason="User"/></robot>'
    with check.show(srdf=srdf) as viewer:
        assert viewer.refresher.wait(LONG)
    with pytest.raises(ValueError, match="near"):
        check.show(near=-1.0)
    with pytest.raises(ValueError, match="SRDF"):
        check.show(srdf="<robot")


def test_an_error_without_viser_tells_how_to_install_it(check, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ServingError, match=r"superovoid\[view\]"):
        check.show()


@pytest.mark.ci
@pytest.mark.parametrize("width", [1280, 390])
def test_pictures_turn_by_the_mouse_and_fit_the_window(check, tab, tmp_path, width):
    tab.page.set_viewport_size({"width": width, "height": 800})
    path = tmp_path / "check.html"
    path.write_text(report_page(check, check.package_directories, title="two"), encoding="utf-8")
    tab.open(f"file://{path}")
    canvas = tab.page.locator(".links canvas").first
    tab.page.wait_for_function("document.querySelector('.links canvas').width > 300")
    assert tab.page.evaluate("document.documentElement.scrollWidth") == width
    canvas.scroll_into_view_if_needed()
    drawn = [canvas.screenshot()]
    box = canvas.bounding_box()
    x, y = box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"]
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    tab.page.mouse.move(x + 60.0, y + 20.0, steps=4)
    tab.page.mouse.up()
    tab.page.wait_for_timeout(200.0)
    drawn.append(canvas.screenshot())
    canvas.press("ArrowLeft")
    tab.page.wait_for_timeout(200.0)
    drawn.append(canvas.screenshot())
    tab.page.locator(".links button", has_text="bodies").first.click()
    tab.page.wait_for_timeout(200.0)
    drawn.append(canvas.screenshot())
    assert len(set(drawn)) == 4
    assert tab.troubles == [] and len(tab.requested) == 1
