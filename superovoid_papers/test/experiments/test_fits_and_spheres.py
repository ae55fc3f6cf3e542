# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid experiment fits`: spheres compared with the bodies, and the printed tables."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh

from superovoid import cli
from superovoid.fitting.link_geometry import LinkGeometry
from superovoid.fitting.quality import measure_union
from superovoid.fitting.targets import Target
from superovoid_papers.commands.experiment import EXPERIMENTS
from superovoid_papers.experiments import fits_and_spheres

pytestmark = pytest.mark.ci


@pytest.mark.slow
def test_spheres_recover_a_ball_and_line_up_along_a_capsule():
    ball = trimesh.creation.icosphere(4, 0.1)
    ((sphere, pose),) = fits_and_spheres.medial_spheres(Target.from_triangles(ball.vertices, ball.faces), 1, 0)
    assert sphere.radius == pytest.approx(0.1, rel=0.05) and np.linalg.norm(pose[:3, 3]) < 0.005
    capsule = trimesh.creation.capsule(0.3, 0.05)
    target = Target.from_triangles(capsule.vertices, capsule.faces)
    few, many = (fits_and_spheres.medial_spheres(target, count, 0) for count in (2, 8))
    assert len(few) == 2 and len(many) <= 8
    for sphere, pose in many:
        depth = -target.signed_distance(pose[None, :3, 3])[0]
        assert depth > 0.0 and sphere.radius <= 1.2 * depth * (1.0 + 1e-3)
    assert measure_union(many, target).iou > measure_union(few, target).iou + 0.1
    assert measure_union(many, target).iou > 0.8


@pytest.fixture(scope="module")
def box_link():
    box = trimesh.creation.box((0.1, 0.06, 0.2))
    return LinkGeometry("arm", np.asarray(box.vertices), np.asarray(box.faces), "meshes", ())


@pytest.fixture(scope="module")
def fitted_link(box_link, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fits_links")
    link = fits_and_spheres.RobotLink("Panda", "visual", box_link)
    return link, folder, fits_and_spheres.rows_of_link(link, 1, 0, folder)


def test_links_have_rows_per_number_of_bodies_and_missing_robots_dashes(fitted_link):
    _, _, rows = fitted_link
    assert [(row.most, row.bodies, row.spheres) for row in rows] == [(1, 1, 5)]
    assert rows[0].iou > 0.97 > rows[0].spheres_iou and rows[0].mean < rows[0].spheres_mean
    made = fits_and_spheres.table(rows)
    cells = {column.header: list(column.cells) for column in made.columns}
    names = cells["robot"]
    assert names == list(fits_and_spheres.ROBOTS) and cells["closer"][0] == "1 of 1" and cells["meshes"][0] == "visual"
    assert cells["bodies"][names.index("UR5")] == "–" and cells["links"][names.index("UR5")] == "0"


def test_a_repeated_run_measures_only_missing_results(fitted_link, monkeypatch):
    link, folder, rows = fitted_link

    def measure(*_):
        raise RuntimeError("measured")

    monkeypatch.setattr(fits_and_spheres, "measure_link", measure)
    assert fits_and_spheres.rows_of_link(link, 1, 0, folder) == rows
    for other in (link._replace(robot="UR5"), link._replace(meshes="collision")):
        with pytest.raises(RuntimeError, match="measured"):
            fits_and_spheres.rows_of_link(other, 1, 0, folder)
    with pytest.raises(RuntimeError, match="measured"):
        fits_and_spheres.rows_of_link(link, 1, 1, folder)
    (file,) = folder.iterdir()
    file.write_text(file.read_text(encoding="utf-8")[:-9], encoding="utf-8")  # as by a full disk
    with pytest.raises(RuntimeError, match="measured"):
        fits_and_spheres.rows_of_link(link, 1, 0, folder)


URDF = """<robot name="one"><link name="base"><collision><geometry><box size="1 1 1"/></geometry></collision></link>
<link name="gone"><collision><geometry><mesh filename="gone.stl"/></geometry></collision></link>
<link name="tip"><visual><geometry><mesh filename="{mesh}"/></geometry></visual></link>
<joint name="a" type="fixed"><parent link="base"/><child link="gone"/></joint>
<joint name="b" type="fixed"><parent link="gone"/><child link="tip"/></joint></robot>"""


def test_visual_meshes_replace_missing_ones_and_unreadable_ones_are_reported(tmp_path, monkeypatch):
    folder = tmp_path / "robots" / "one"
    folder.mkdir(parents=True)
    trimesh.creation.box((0.1, 0.1, 0.1)).export(folder / "tip.stl")
    (folder / "one.urdf").write_text(URDF.format(mesh=f"file://{folder}/tip.stl"), encoding="utf-8")
    monkeypatch.setitem(fits_and_spheres.ROBOTS, "Panda", "one/one.urdf")
    links, words = fits_and_spheres.links_of(tmp_path, "Panda")
    assert [(link.meshes, link.geometry.name) for link in links] == [("visual", "tip")]
    assert len(words) == 1 and words[0].startswith("Panda, gone: ") and "gone.stl" in words[0]


def test_the_command_accepts_the_known_robots_only(capsys):
    assert EXPERIMENTS["fits"][2]["robots"] == tuple(fits_and_spheres.ROBOTS)
    for wrong in ("", "Panda,", "Nao"):
        with pytest.raises(SystemExit, match="2"):
            cli.main(["experiment", "fits", "--robots", wrong])
        assert "argument --robots: " in capsys.readouterr().err


def test_the_picture_has_a_panel_with_both_curves_per_robot(fitted_link):
    _, _, (row,) = fitted_link
    rows = [
        replace(row, robot=robot, most=most, iou=0.8 + 0.05 * most, spheres=5 * most, spheres_iou=0.6 + 0.05 * most)
        for robot in ("Panda", "G1")
        for most in (1, 2)
    ]
    panels = [panel for panel in fits_and_spheres.plot(rows).axes if panel.get_visible()]
    assert [panel.get_title().split(":")[0] for panel in panels] == ["Panda", "G1"]
    for panel in panels:
        lines = {line.get_label(): line for line in panel.get_lines()}
        assert lines["superovoids"].get_xdata().tolist() == [1, 2]
        np.testing.assert_allclose(lines["superovoids"].get_ydata(), [0.85, 0.9])
        assert lines["spheres"].get_xdata().tolist() == [5, 10]
        np.testing.assert_allclose(lines["spheres"].get_ydata(), [0.65, 0.7])
