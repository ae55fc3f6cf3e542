# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Verdicts of fits: errors against meshes as given, tolerances, advice, and the exit code of `--strict`."""

import json

import numpy as np
import pytest
import trimesh
from chains import chain

from superovoid import Box, Sphere
from superovoid.cli import main
from superovoid.cli.fit_tables import links_table
from superovoid.fitting import check_robot, fit_mesh, fit_robot, mesh_fits, targets
from superovoid.fitting.advice import advice, summary
from superovoid.fitting.targets import Target
from superovoid.fitting.verdicts import Judge, Tolerance, verdict_of
from superovoid.robot import RobotDescriptionError

HERE = np.eye(4)


def solid(mesh):
    return Target.from_triangles(mesh.vertices, mesh.faces)


def clearance(bodies, mesh, tolerance="1%"):
    return Judge(solid(mesh), Tolerance.read(tolerance), 0).clearance(bodies)


def mesh(name, kind="collision"):
    return f'<{kind}><geometry><mesh filename="package://pkg/{name}.stl"/></geometry></{kind}>'


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robot") / "pkg"
    folder.mkdir()
    trimesh.creation.box((0.125, 0.0625, 0.25)).export(folder / "bar.stl")
    angle().export(folder / "angle.stl")
    return folder


def angle():
    """Return two bars that meet at a right angle."""
    bars = [trimesh.creation.box((0.3, 0.06, 0.08)), trimesh.creation.box((0.06, 0.3, 0.08))]
    bars[0].apply_translation((0.12, 0.0, 0.0))
    bars[1].apply_translation((0.0, 0.12, 0.0))
    return trimesh.util.concatenate(bars)


# ---------------------------------------------------------------------------------------------------------- the rule


@pytest.mark.parametrize(
    ("error", "verdict"), [(0.0, "good"), (1.0, "good"), (1.01, "coarse"), (3.0, "coarse"), (3.01, "unusable")]
)
def test_verdict_depends_on_error_over_tolerance(error, verdict):
    assert verdict_of(error, 1.0) == verdict


@pytest.mark.parametrize(
    ("given", "length", "text"),
    [
        ("1%", 0.02, "1 %"),
        ("2.5 %", 0.05, "2.5 %"),
        ("2mm", 2e-3, "2 mm"),
        ("0.1 cm", 1e-3, "1 mm"),
        (0.5, 0.5, "500 mm"),
    ],
)
def test_tolerance_is_a_length_or_a_share_of_the_diagonal(given, length, text):
    found = Tolerance.read(given)
    assert found.length(2.0) == pytest.approx(length) and str(found) == text
    assert Tolerance.read(text).length(2.0) == pytest.approx(length)


@pytest.mark.parametrize("given", ["", "2", "mm", "0%", "101%", "-1mm", 0.0, -1.0, np.inf, np.nan])
def test_other_tolerances_are_refused(given):
    with pytest.raises(ValueError, match=r"tolerance = .*must be a positive length"):
        Tolerance.read(given)


def test_error_of_a_body_with_an_offset_is_the_offset():
    box = trimesh.creation.box((0.2, 0.2, 0.2))
    exact, small, large = (clearance([(Box((side, side, side)), HERE)], box) for side in (0.2, 0.19, 0.21))
    assert exact.error < 1e-12 and exact.verdict == "good"
    # 95 % of a surface include some of its edges, where the distance is larger than 5 mm.
    assert 5e-3 <= small.error < 6e-3 and 5e-3 <= large.error < 6e-3
    assert small.target_error == pytest.approx(small.error, rel=0.05)
    assert small.tolerance == pytest.approx(0.01 * 0.2 * np.sqrt(3.0)) and small.verdict == "coarse"


def test_walls_inside_of_a_body_are_no_error():
    hollow = trimesh.creation.box((0.2, 0.2, 0.2))
    inner = trimesh.creation.box((0.19, 0.19, 0.19))
    inner.invert()
    found = clearance([(Box((0.2, 0.2, 0.2)), HERE)], trimesh.util.concatenate([hollow, inner]))
    assert found.error < 1e-12 and found.target_error < 1e-12


def cup():
    """Return an open box with walls of 2 mm, which a fit fills."""
    bounds = [((-0.1, -0.1, 0.0), (0.1, 0.1, 0.002))]
    bounds += [((-0.1, y, 0.0), (0.1, y + 0.002, 0.25)) for y in (-0.1, 0.098)]
    bounds += [((x, -0.1, 0.0), (x + 0.002, 0.1, 0.25)) for x in (-0.1, 0.098)]
    return trimesh.util.concatenate([trimesh.creation.box(bounds=each) for each in bounds])


def test_a_filled_hollow_is_an_error_against_the_mesh_only():
    target = Target.from_triangles(cup().vertices, cup().faces, "hull")
    pose = trimesh.transformations.translation_matrix((0.0, 0.0, 0.125))
    found = Judge(target, Tolerance.read("1%"), 0).clearance([(Box((0.2, 0.2, 0.25)), pose)])
    assert found.target_error < 1e-9 and found.error > 0.03
    assert found.verdict == "unusable" and found.fills


def test_points_in_the_opening_of_a_filled_hollow_are_close():
    judge = Judge(solid(cup()), Tolerance.read("10mm"), 0)
    # The winding number is one half at a depth of 5 cm; the walls are 0.1 m away.
    points, up = np.array([(0.0, 0.0, z) for z in (0.19, 0.201, 0.21, 0.24)]), np.tile((0.0, 0.0, 1.0), (4, 1))
    found = judge._beyond_target(points, up)
    assert found[:3] == pytest.approx([0.0025, 0.005, 0.02], abs=1e-12) and found[3] > 0.09


def test_notes_of_a_mesh_replaced_by_its_hull_give_one_reason(monkeypatch):
    monkeypatch.setattr(targets, "_SHELTERED", 0.0)  # so that the shell is a skin as well as hollow
    monkeypatch.setattr(targets, "_THIN", np.inf)
    target = solid(cup())
    assert target.kind == "hull" and len(target.notes) == 1 and "the hull is fitted" in target.notes[0]


# ------------------------------------------------------------------------------------------------------ bodies chosen


@pytest.mark.ci
def test_tolerance_stops_at_the_closest_if_more_bodies_come_no_closer(monkeypatch):
    ball = solid(trimesh.creation.icosphere(3))
    radii = [0.5, 0.8, 0.7, 0.7, 0.7, 0.99]
    monkeypatch.setattr(
        mesh_fits, "grow_bodies", lambda *_, **__: ([(Sphere(radius), HERE)] * n for n, radius in enumerate(radii, 1))
    )
    found = fit_mesh(ball)
    assert len(found.bodies) == 2 and found.tried == 5 and found.clearance.verdict == "unusable"


def test_bodies_that_fill_a_hollow_get_one_more_chance(monkeypatch):
    target = Target.from_triangles(cup().vertices, cup().faces, "hull")
    pose = trimesh.transformations.translation_matrix((0.0, 0.0, 0.125))
    exact = [(Box((0.2, 0.2, 0.25)), pose)]
    monkeypatch.setattr(mesh_fits, "grow_bodies", lambda *_, **__: (exact * n for n in range(1, 5)))
    found = fit_mesh(target)
    assert len(found.bodies) == 1 and found.tried == 2 and found.clearance.fills


@pytest.mark.ci
def test_fewer_bodies_than_requested_are_reported():
    found = fit_mesh(trimesh.creation.box((0.1, 0.2, 0.3)), bodies=2, kinds=("box",))
    assert len(found.bodies) == 1 and found.notes == (
        "has 1 of 2 bodies: no further body brings it much closer to the mesh",
    )


# ------------------------------------------------------------------------------------------------------------ reports


@pytest.fixture(scope="module")
def fit(package):
    text = chain(bar=mesh("bar"), angle=mesh("angle"))
    return fit_robot(text, package_directories={"pkg": package}, bodies=1, kinds=("box",))


def test_summary_counts_links(fit):
    assert summary(fit.links, "1 %") == "1 of 2 links good, 1 unusable at 1 % of each link"
    assert summary(fit.links[:1], "2 mm") == "1 of 1 links good at 2 mm"
    assert summary((), "1 %") == "no link has bodies to judge (no links)"


def test_advice_names_the_option_without_a_promise(fit):
    bar, other = fit.links
    assert advice(bar, 16) == ""
    words = advice(other, 16)
    assert words.startswith("the error of 1 body is ") and words.endswith("; more bodies: --link angle=2")


def test_report_and_table_have_the_verdict(fit):
    bar, other = fit.report()["links"]
    assert bar["verdict"] == "good" and other["verdict"] == "unusable" and other["advice"] and not bar["advice"]
    assert bar["error"] <= bar["tolerance"] == pytest.approx(0.01 * np.linalg.norm((0.125, 0.0625, 0.25)))
    table = links_table(fit.links, holds=False)
    (verdicts,) = (column for column in table.columns if column.header == "verdict")
    assert [(cell.plain, cell.style) for cell in verdicts.cells] == [("good", "green"), ("unusable", "red")]


@pytest.mark.ci
def test_command_gives_the_verdict_first_and_strict_decides_the_exit_code(package, tmp_path, capsys):
    path, out = tmp_path / "arm.urdf", tmp_path / "out"
    path.write_text(chain(bar=mesh("bar"), angle=mesh("angle")))
    line = ["fit", str(path), "--package", f"pkg={package}", "--kinds", "box", "--output", str(out)]
    assert main([*line, "--bodies", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("1 of 2 links good, 1 unusable at 1 % of each link\n")
    assert "link 'angle' (unusable): the error of 1 body is" in printed
    page = (out / "report.html").read_text()
    assert page.index("1 of 2 links good") < page.index("<h2>") and 'class="unusable"' in page
    assert main([*line, "--bodies", "1", "--strict"]) == 1
    assert main([*line, "--tolerance", "4mm", "--strict"]) == 0
    assert "2 of 2 links good at 4 mm\nbodies: 3" in capsys.readouterr().out
    links = json.loads((out / "report.json").read_text())["links"]
    assert [link["verdict"] for link in links] == ["good", "good"] and links[1]["tolerance"] == 4e-3


def test_check_judges_bodies_of_any_origin(package, tmp_path, capsys):
    path, out = tmp_path / "arm.urdf", tmp_path / "out"
    box = '<collision><geometry><box size="{} 0.0625 0.25"/></geometry></collision>'
    path.write_text(
        chain(exact=mesh("bar", "visual") + box.format(0.125), small=mesh("bar", "visual") + box.format(0.09))
    )
    line = ["fit", str(path), "--check", "--package", f"pkg={package}", "--output", str(out)]
    assert main([*line, "--strict"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("1 of 2 links good, 1 unusable at 1 % of each link\n")
    assert "the bodies leave up to 17.50 mm of the link uncovered and protrude up to 0.00 mm" in printed
    assert main([*line, "--tolerance", "10%", "--strict"]) == 0
    report = json.loads((out / "check.json").read_text())
    assert report["tolerance"] == "10 %" and [link["verdict"] for link in report["links"]] == ["good", "good"]


# ------------------------------------------------------------------------------------------------------------ targets


def test_auto_takes_visual_meshes_of_links_without_collision_geometry(package):
    box = '<{0}><geometry><box size="0.1 0.1 0.1"/></geometry></{0}>'
    text = chain(
        both=mesh("bar") + mesh("angle", "visual"),
        seen=mesh("bar", "visual"),
        simple=box.format("collision") + mesh("bar", "visual"),
        drawn=box.format("visual"),
        nothing="",
    )
    fit = fit_robot(text, package_directories={"pkg": package}, kinds=("box",))
    links = {link.link: link for link in fit.links}
    assert {name: link.state for name, link in links.items()} == {
        "both": "fitted", "seen": "fitted", "simple": "primitives", "drawn": "empty", "nothing": "empty",
    }  # fmt: skip
    assert links["both"].clearance.verdict == links["seen"].clearance.verdict == "good"
    assert "has no collision geometry: its visual meshes are fitted" in links["seen"].words
    assert "visual geometry is primitives, which are not fitted" in links["drawn"].words[0]
    assert "has no collision or visual geometry" in links["nothing"].words


@pytest.mark.parametrize(
    ("text", "target", "words"),
    [
        (chain(a="", b=""), "auto", "none of its 2 links has collision or visual geometry$"),
        (
            chain(a=mesh("bar", "visual")),
            "collision",
            "none of its 1 links has collision geometry; 1 have other geometry",
        ),
        (chain(a=mesh("bar")), "visual", "none of its 1 links has visual geometry; 1 have other"),
    ],
)
def test_robot_without_geometry_is_refused(package, text, target, words):
    with pytest.raises(RobotDescriptionError, match=words):
        fit_robot(text, package_directories={"pkg": package}, target=target)


def test_command_refuses_a_robot_without_geometry(tmp_path, capsys):
    path = tmp_path / "bare.urdf"
    path.write_text(chain(a=""))
    assert main(["fit", str(path), "--output", str(tmp_path / "out")]) == 2
    assert "has collision or visual geometry" in capsys.readouterr().err


def test_check_of_missing_bodies_judges_nothing(package):
    found = check_robot(chain(a=mesh("bar", "visual")), package_directories={"pkg": package})
    assert summary(found.links, found.tolerance) == "no link has bodies to judge (1 empty)"
