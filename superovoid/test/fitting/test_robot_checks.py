# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid fit --check`: the bodies in a URDF, of any origin, are measured against meshes."""

import json
from dataclasses import replace

import numpy as np
import pytest
import trimesh
from chains import chain

from superovoid import Box, Superovoid
from superovoid.cli import main
from superovoid.cli.fit_tables import links_table
from superovoid.fitting import check_robot, robot_checks
from superovoid.fitting.proofs import Interval
from superovoid.fitting.report_page import _link_table
from superovoid.viewing.fit_page import _cells

MESH = '<geometry><mesh filename="package://pkg/bar.stl"/></geometry>'
# The mesh is a box with lengths representable in single precision.
EXACT = '<collision><geometry><box size="0.125 0.0625 0.25"/></geometry></collision>'
SMALL = '<collision><geometry><box size="0.1 0.0625 0.25"/></geometry></collision>'
LARGE = '<collision><geometry><box size="0.15 0.0626 0.2502"/></geometry></collision>'
SPHERES = "".join(
    f'<collision><origin xyz="0 0 {z}"/><geometry><sphere radius="0.06"/></geometry></collision>'
    for z in (-0.08, 0.0, 0.08)
)
VISUAL = f"<visual>{MESH}</visual>"
OWN = (
    f'<collision>{MESH}</collision><contact_geometry><superovoid size="0.0625 0.03125 0.125" epsilon="0.1 0.1"/>'
    "</contact_geometry>"
)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robot") / "pkg"
    folder.mkdir()
    trimesh.creation.box((0.125, 0.0625, 0.25)).export(folder / "bar.stl")
    return folder


@pytest.fixture(scope="module")
def links(package):
    text = chain(
        exact=VISUAL + EXACT,
        small=VISUAL + SMALL,
        large=VISUAL + LARGE,
        spheres=VISUAL + SPHERES,
        own=OWN,
        hull=VISUAL + f"<collision>{MESH}</collision>",
        unseen=EXACT,
        missing=VISUAL.replace("bar", "none") + EXACT,
        bare=VISUAL,
        empty="",
    )
    found = check_robot(text, package_directories={"pkg": package})
    assert found.targets["own"] == "collision" and found.targets["small"] == "visual"
    return {link.link: link for link in found.links}


def test_boxes_measured_against_a_box_have_exact_figures(links):
    exact, small, large = links["exact"], links["small"], links["large"]
    assert exact.state == small.state == "measured" and exact.quality.iou > 0.999
    assert small.quality.iou == pytest.approx(0.8, abs=0.01) and large.quality.iou == pytest.approx(1 / 1.2, abs=0.01)
    assert small.uncovered.lower <= 0.0125 <= small.uncovered.upper < 0.013 and small.protruding.lower == 0.0
    corner = float(np.linalg.norm([0.0125, 5e-5, 1e-4]))
    assert large.protruding.lower <= corner <= large.protruding.upper < 0.015 and large.uncovered.upper == 0.0
    assert large.contained and not small.contained


def test_wide_intervals_are_printed_with_both_ends(links):
    wide = replace(links["large"], protruding=Interval(0.000474, 0.049201))
    assert any("0.47 to 49.21" in column.cells for column in links_table([wide], holds=True).columns)
    assert "0.47 to 49.21" in _cells(wide)
    assert "0.47 to 49.21" in _link_table([wide])


def test_intervals_are_printed_rounded_outwards():
    assert Interval(0.0, 0.0).millimetres() == "0.00 to 0.00"
    assert Interval(0.0012399, 0.0012301 + 1e-6).millimetres() == "1.23 to 1.24"


def test_sphere_model_is_measured_against_the_visual_mesh(links):
    link = links["spheres"]
    assert len(link.bodies) == 3 and {each["kind"] for each in link.elements} == {"sphere"}
    # The corner at the end is farthest, measured from the last centre.
    corner = float(np.linalg.norm([0.0625, 0.03125, 0.045])) - 0.06
    assert link.uncovered.lower <= corner <= link.uncovered.upper < corner + 1e-3
    assert link.protruding.lower <= 0.02875 <= link.protruding.upper < 0.0293


def test_contact_geometry_and_mesh_hulls_are_measured(links):
    assert links["own"].state == "measured" and 0.9 < links["own"].quality.iou < 1.0
    assert links["hull"].elements[0]["kind"] == "hull of a mesh" and links["hull"].uncovered.upper < 1e-6


def test_unmeasured_links_have_a_reason(links):
    assert links["unseen"].state == "unmeasured" and "no meshes to measure against" in links["unseen"].words[-1]
    assert links["missing"].state == "unreadable" and "none.stl" in links["missing"].words[0]
    assert links["bare"].words == links["empty"].words == ("has no bodies",)


def test_bodies_are_measured_against_meshes_of_another_file(package, tmp_path, capsys):
    (tmp_path / "model.urdf").write_text(chain(a=SPHERES, b=EXACT))
    (tmp_path / "robot.urdf").write_text(chain(a=f"<collision>{MESH}</collision>"))
    out = tmp_path / "out"
    line = ["fit", str(tmp_path / "model.urdf"), "--check", "--package", f"pkg={package}", "--output", str(out)]
    assert main([*line, "--against", str(tmp_path / "robot.urdf")]) == 0
    report = json.loads((out / "check.json").read_text())
    assert [link["state"] for link in report["links"]] == ["measured", "unmeasured"]
    assert report["links"][0]["target"] == "collision" and report["links"][0]["quality"]["surface_points"] > 9000
    assert report["urdf_sha256"] != report["against_sha256"]
    printed = capsys.readouterr().out
    assert "link 'b' (unmeasured): is not in the URDF with the meshes" in printed


def test_spheres_of_a_configuration_are_measured_like_those_of_a_urdf(links, package, tmp_path):
    pytest.importorskip("yaml", reason="PyYAML is missing: pip install 'superovoid[fit]'")
    spheres = [{"center": [0.0, 0.0, z], "radius": 0.03} for z in (-0.08, 0.0, 0.08)]
    spheres.append({"center": [0.0, 0.0, 1.0], "radius": -10.0})  # switched off
    kinematics = {
        "collision_spheres": {"spheres": spheres, "tool": spheres, "off": spheres[3:]},
        "collision_sphere_buffer": {"spheres": 0.03},
    }
    file = tmp_path / "robot.yml"
    file.write_text(json.dumps({"robot_cfg": {"kinematics": kinematics}}))  # JSON is YAML
    text = chain(spheres=VISUAL, bare=VISUAL)
    found = check_robot(file, against=text, package_directories={"pkg": package})
    states = {link.link: (link.state, link.words) for link in found.links}
    assert states == {
        "spheres": ("measured", ()),
        "bare": ("empty", ("has no bodies",)),
        "tool": ("unmeasured", ("is not in the URDF with the meshes",)),
    }
    assert found.links[0].elements == links["spheres"].elements
    assert found.links[0].quality == links["spheres"].quality
    assert found.source == text and found.urdf_digest != found.against_digest


ARM = "collision_spheres: {arm"


def test_files_of_spheres_need_meshes_and_spheres(tmp_path):
    pytest.importorskip("yaml", reason="PyYAML is missing: pip install 'superovoid[fit]'")
    file = tmp_path / "robot.yaml"
    file.write_text("a: 1")
    with pytest.raises(ValueError, match="against: a file of spheres has no meshes"):
        check_robot(file)
    for text, words in (
        ("a: 1", "'collision_spheres' has no list"),
        ("- a", "'collision_spheres' has no list"),
        ("a: [", "spheres: while parsing"),
        ("robot_cfg: {kinematics: [1]}", "'collision_spheres' has no list"),
        (f"{ARM}: [{{center: [0, 1], radius: 1}}]}}", "link 'arm', sphere 0: center: must be three finite numbers"),
        (f"{ARM}: [{{center: [0, 1, 2]}}]}}", "link 'arm', sphere 0: radius: must be a finite number, m, found None"),
        (f"{ARM}: [{{center: [0, 1, 2], radius: .nan}}]}}", "sphere 0: radius: must be a finite number, m, found nan"),
        (f"{ARM}: [{{center: [0, 1, .inf], radius: 1}}]}}", "sphere 0: center: must be three finite numbers"),
        (f"{ARM}: [7]}}", "link 'arm', sphere 0: center: must be three finite numbers, m, found None"),
        (f"{ARM}: 5}}", "link 'arm': must have a list of spheres, found 5"),
        (f"{ARM}: []}}\ncollision_sphere_buffer: x", "collision_sphere_buffer of link 'arm': must be a finite number"),
        (f"{ARM}: []}}\ncollision_sphere_buffer: {{arm: [1]}}", "collision_sphere_buffer of link 'arm': must be"),
    ):
        file.write_text(text)
        with pytest.raises(ValueError, match=words):
            check_robot(file, against=chain(arm=EXACT))


def test_degenerate_mesh_fails_only_its_link(package, tmp_path, capsys):
    line = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]], [[0, 1, 2], [1, 2, 3]], process=False)
    line.export(package / "line.stl")
    path, out = tmp_path / "r.urdf", tmp_path / "out"
    path.write_text(chain(flat=VISUAL.replace("bar", "line") + EXACT, exact=VISUAL + EXACT))
    assert main(["fit", str(path), "--check", "--package", f"pkg={package}", "--output", str(out)]) == 1
    states = [link["state"] for link in json.loads((out / "check.json").read_text())["links"]]
    assert states == ["failed", "measured"]
    assert "link 'flat' (failed): cannot be measured: points: coincide or lie on a line" in capsys.readouterr().out


def test_non_convex_body_is_reported():
    (words,) = robot_checks._convexity_notes(
        [
            (Box((2, 2, 2)), np.eye(4)),
            (Superovoid((1, 1, 1), section_exponent=0.1, profile_exponent=1.9, taper=(0.5, 0.5)), np.eye(4)),
        ]
    )
    assert words == "body 1 is not convex: proofs hold for its convex hull"


def test_check_of_a_written_fit_reproduces_its_figures(package, tmp_path):
    path, out = tmp_path / "bar.urdf", tmp_path / "out"
    path.write_text(chain(a=f"<collision>{MESH}</collision>"))
    assert main(["fit", str(path), "--package", f"pkg={package}", "--kinds", "capsule", "--bodies", "1",
                 "--output", str(out)]) == 0  # fmt: skip
    (link,) = check_robot(out / "bar_superovoids.urdf", package_directories={"pkg": package}).links
    (before,) = json.loads((out / "report.json").read_text())["links"]
    assert link.uncovered.to_dict() == pytest.approx(before["uncovered"], rel=1e-9)
    assert link.quality.to_dict() == pytest.approx(before["quality"], rel=1e-9)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fit a.urdf --check --bodies 2", "--bodies: not allowed with --check"),
        ("fit a.urdf --check --srdf a.srdf", "--srdf: not allowed with --check"),
        ("fit a.urdf --against b.urdf", "--against: needs --check"),
    ],
)
def test_incompatible_options_are_refused(line, words, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(line.split())
    assert words in capsys.readouterr().err
