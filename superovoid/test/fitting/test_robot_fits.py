# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`fit_robot` and `superovoid fit robot.urdf`: every link is fitted or has a reason; existing elements are kept."""

import importlib.util
import json
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import trimesh

from superovoid import Box, Capsule, Superovoid
from superovoid.cli import main
from superovoid.fitting import check_robot, fit_robot, mesh_fits, robot_fits
from superovoid.fitting.mesh_fits import target_of
from superovoid.fitting.quality import measure_union
from superovoid.robot import Robot, RobotDescriptionError

pytestmark = pytest.mark.ci

LINKS = {
    "good": '<mesh filename="package://pkg/bar.stl"/>',
    "again": '<mesh filename="package:///pkg/bar.stl"/>',
    "mirrored": '<mesh filename="package://pkg/bar.stl" scale="-1 1 1"/>',
    "inverted": '<mesh filename="package://pkg/inverted.stl"/>',
    "open": '<mesh filename="package://pkg/open.stl"/>',
    "millimetres": '<mesh filename="package://pkg/large.stl"/>',
    "inches": '<mesh filename="package://pkg/bar.stl" scale="39.37 39.37 39.37"/>',
    "scaled twice": '<mesh filename="package://pkg/bar.stl" scale="0.001 0.001 0.001"/>',
    "crossing": '<mesh filename="package://pkg/crossing.stl"/>',
    "huge": '<mesh filename="package://pkg/huge.stl"/>',
    "missing": '<mesh filename="package://pkg/nowhere.stl"/>',
    "broken": '<mesh filename="package://pkg/broken.stl"/>',
    "cloud": '<mesh filename="package://pkg/cloud.ply"/>',
    "elsewhere": '<mesh filename="package://other/bar.stl"/>',
    "simple": '<box size="0.1 0.1 0.1"/>',
    "flat": '<mesh filename="package://pkg/flat.stl"/>',
}


def urdf(links=LINKS, more=""):
    parts = []
    for name, geometry in links.items():
        origin = '<origin xyz="0.1 0 0.2" rpy="0.3 0 0"/>'
        parts.append(
            f'<link name="{name}">\n    <!-- kept -->\n    <visual><geometry><box size="1 1 1"/></geometry></visual>\n'
            f"    <collision>{origin}<geometry>{geometry}</geometry></collision>\n  </link>"
        )
    parts.append('<link name="empty"/>')
    names = [*links, "empty"]
    for parent, child in pairwise(names):
        parts.append(f'<joint name="to_{child}" type="fixed"><parent link="{parent}"/><child link="{child}"/></joint>')
    return "<?xml version='1.0'?>\n<robot name=\"r\">\n  " + "\n  ".join([*parts, more]) + "\n</robot>\n"


def test_meshes_near_the_urdf_are_fitted_and_checked(tmp_path, package):
    file = tmp_path / "urdf" / "near.urdf"
    file.parent.mkdir()
    (tmp_path / "bars").mkdir()
    for name in ("one.stl", "two.stl"):
        (tmp_path / "bars" / name).write_bytes((package / "bar.stl").read_bytes())
    links = {"a": '<mesh filename="../bars/one.stl"/>', "b": '<mesh filename="package://bars/two.stl"/>'}
    file.write_text(urdf(links), encoding="utf-8")
    out = tmp_path / "results" / "of near"
    assert main(["fit", str(file), "--bodies", "1", "--output", str(out)]) == 0
    written = out / "near_superovoids.urdf"
    check = check_robot(written, against=file)
    assert [link.state for link in check.links] == ["measured", "measured", "empty"]
    meshes = [each.get("filename") for each in ElementTree.parse(written).iter("mesh")]
    assert meshes == ["../../bars/one.stl", "package://bars/two.stl"] and (out / meshes[0]).is_file()


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robot") / "pkg"
    folder.mkdir()
    # A corner is cut off: a body protrudes clearly there, so that the proved interval becomes narrow quickly.
    corners = np.array(trimesh.creation.box((0.1, 0.06, 0.3)).vertices)
    cut = [corners[-1] - 0.03 * axis for axis in np.eye(3)]
    bar = trimesh.convex.convex_hull(np.concatenate([corners[:-1], cut])).subdivide()
    bar.export(folder / "bar.stl")
    inverted = bar.copy()
    inverted.invert()
    inverted.export(folder / "inverted.stl")
    trimesh.Trimesh(bar.vertices, bar.faces[:-1]).export(folder / "open.stl")
    trimesh.Trimesh(1000.0 * bar.vertices, bar.faces).export(folder / "large.stl")
    trimesh.Trimesh([(0, 0, 0), (0.1, 0, 0), (0.1, 0.2, 0), (0, 0.2, 0)], [(0, 1, 2), (0, 2, 3)]).export(
        folder / "flat.stl"
    )
    # Two crossing bars make one part, since they share a corner.
    cross = trimesh.creation.box(bounds=((-0.15, -0.02, -0.02), (0.15, 0.02, 0.02)))
    other = trimesh.creation.box(bounds=((-0.02, -0.02, -0.15), (0.02, 0.02, 0.15)))
    other.vertices[0] = cross.vertices[0]
    trimesh.util.concatenate([cross, other]).export(folder / "crossing.stl")
    rows = np.zeros(1_000_000, dtype=[("normal", "<f4", 3), ("corners", "<f4", 9), ("more", "<u2")])
    rows["corners"] = np.resize(bar.triangles.reshape(-1, 9), (len(rows), 9))
    (folder / "huge.stl").write_bytes(bytes(80) + np.uint32(len(rows)).tobytes() + rows.tobytes())
    (folder / "broken.stl").write_bytes(b"solid nothing")
    trimesh.PointCloud(bar.vertices).export(folder / "cloud.ply")
    return folder


def fit_package(package, text=None, **options):
    return fit_robot(text or urdf(), package_directories={"pkg": package}, bodies=1, **options)


@pytest.fixture(scope="module")
def links(package):
    """Return all links, fitted once, with boxes, which are fast."""
    return {link.link: link for link in fit_package(package, threads=3, kinds=("box",)).links}


def test_every_link_is_fitted_or_kept_with_a_reason(links):
    assert list(links) == [*LINKS, "empty"]
    for name in (
        "good",
        "again",
        "mirrored",
        "inverted",
        "open",
        "millimetres",
        "flat",
        "inches",
        "scaled twice",
        "crossing",
    ):
        assert links[name].state == "fitted" and links[name].bodies, name
    for name in ("good", "again", "mirrored", "inverted", "open"):
        assert links[name].quality.iou > 0.95, name
    words = {name: " ".join(link.words) for name, link in links.items()}
    assert words["good"] == "" and "same as link 'good'" in words["again"]
    assert "names no package; it is read with one slash less" in words["again"]
    assert "inside out" in words["inverted"] and "open" in words["open"]
    assert "collision mesh 'package://pkg/large.stl': is 300 m across" in words["millimetres"]
    assert "0.001 0.001 0.001" in words["millimetres"] and "0.0254" in words["millimetres"]
    assert "lies in a plane" in words["flat"]
    assert "collision mesh 'package://pkg/bar.stl': is 11.8 m across" in words["inches"] and "0.0254" in words["inches"]
    assert "is 0.3 mm across; its scale may be applied twice" in words["scaled twice"]
    # Both crossing bars are inside, with their common part counted once; volume by winding numbers at 400,000 points.
    crossing = links["crossing"]
    assert crossing.aimed_at == "mesh"
    solid = crossing.bodies[0].shape.volume() / crossing.quality.volume_ratio
    assert solid == pytest.approx(1.281e-3, rel=0.03)
    for name, expected in {
        "huge": "collision mesh 'package://pkg/huge.stl': has 1000000 triangles",
        "missing": "collision mesh 'package://pkg/nowhere.stl': there is no file",
        "broken": "collision mesh 'package://pkg/broken.stl': is not a well-formed stl file",
        "cloud": "collision mesh 'package://pkg/cloud.ply': has no triangles",
        "elsewhere": "collision mesh 'package://other/bar.stl': package 'other' is unknown",
    }.items():
        assert links[name].state == "unreadable" and not links[name].bodies
        assert expected in words[name]
    assert links["simple"].state == "primitives" and links["empty"].state == "empty"


def test_written_urdf_adds_bodies_and_keeps_the_rest(package):
    text = urdf({name: LINKS[name] for name in ("good", "simple")})
    fit = fit_package(package, text)
    without, count = re.subn(r"<contact_geometry>.*?</contact_geometry>", "", fit.urdf, flags=re.DOTALL)
    assert count == sum(len(link.bodies) for link in fit.links)
    assert without.partition("?>")[2].split() == text.partition("?>")[2].split()
    robot = Robot.from_urdf(fit.urdf, meshes="ignore")
    of_link = {body.link: body for body in robot.bodies}
    for link in fit.links:
        for body in link.bodies:
            assert of_link[link.link].shape == body.shape
            np.testing.assert_array_equal(of_link[link.link].link_from_body, body.pose)


def test_figures_hold_for_the_written_bodies(package, links):
    link = links["good"]
    bar = trimesh.load(package / "bar.stl")
    bar.apply_transform(Robot.from_urdf(urdf({"a": '<box size="1 1 1"/>'})).bodies[0].link_from_body)
    target = target_of(bar)
    (body,) = link.bodies
    found = measure_union([(body.shape, body.pose)], target, seed=99)
    assert found.iou == pytest.approx(link.quality.iou, abs=0.01)
    assert link.uncovered.lower - 1e-9 <= link.uncovered.upper and found.uncovered_max <= link.uncovered.upper
    assert found.protruding_max <= link.protruding.upper


def test_stored_fits_are_reused_unless_something_changed(package, tmp_path, monkeypatch):
    folder, text = tmp_path / "kept", urdf({"good": LINKS["good"], "inverted": LINKS["inverted"]})
    kept = {"folder": folder, "kinds": ("box",)}  # boxes are fast
    first = fit_package(package, text, **kept)
    count = []

    def count_fit(*arguments, **options):
        count.append(options["bodies"])
        return mesh_fits.fit_mesh(*arguments, **options)

    monkeypatch.setattr(robot_fits, "fit_mesh", count_fit)
    again = fit_package(package, text, **kept)
    assert not count and again.urdf == first.urdf and again.report() == first.report()
    fit_package(package, text, **kept, links={"inverted": 2})
    assert count == [2]
    damaged = sorted(folder.glob("*.json"))[0]
    damaged.write_text(damaged.read_text()[:-9])
    count.clear()
    repaired = fit_package(package, text, **kept, links={"inverted": 2})
    assert len(count) <= 1 and {link.state for link in repaired.links} == {"fitted", "empty"}


def test_bodies_do_not_depend_on_threads_or_other_links(package, links):
    found = fit_package(
        package, urdf({name: LINKS[name] for name in ("open", "mirrored")}), threads=1, kinds=("box",)
    ).links
    assert [link.elements for link in found] == [links["open"].elements, links["mirrored"].elements, ()]
    assert found[0].bodies == links["open"].bodies and found[0].quality == links["open"].quality


@pytest.mark.slow
def test_contain_gives_bodies_proved_to_contain_their_links(package):
    fit = fit_package(package, urdf({"good": LINKS["good"]}), contain=True)
    (link, _) = fit.links
    assert link.contained and link.uncovered.upper == 0.0 and link.hull_volume_ratio < 1.2
    bar = trimesh.load(package / "bar.stl")
    bar.apply_transform(Robot.from_urdf(urdf({"a": '<box size="1 1 1"/>'})).bodies[0].link_from_body)
    (body,) = link.bodies
    assert body.shape.contains((bar.vertices - body.pose[:3, 3]) @ body.pose[:3, :3]).all()


def test_contact_geometry_of_other_kinds_round_trips(package):
    fit = fit_package(package, urdf({"good": LINKS["good"]}), kinds=("box", "capsule"))
    (body,) = fit.links[0].bodies
    assert isinstance(body.shape, Box) and fit.links[0].quality.iou > 0.99
    (read, *_) = Robot.from_urdf(fit.urdf, meshes="ignore").bodies
    assert read.shape == body.shape
    own = '<contact_geometry><capsule radius="0.1" length="0.3"/></contact_geometry>'
    text = f'<robot name="r"><link name="a">{own}</link></robot>'
    assert Robot.from_urdf(text).bodies[0].shape == Capsule(0.1, 0.3)
    kept = fit_robot(text)
    assert (
        kept.links[0].state == "own" and ElementTree.fromstring(kept.urdf.encode()).find("link")[0][0].tag == "capsule"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "shadow"}, "target = 'shadow': must be one of auto, collision, visual, hull"),
        ({"links": {"nobody": 2}}, "links: the URDF has no link 'nobody'"),
        ({"links": {"good": 0}}, "links['good'] = 0"),
        ({"tolerance": "0mm"}, "tolerance = '0mm': must be a positive length"),
        ({"seed": -1}, "seed = -1"),
    ],
)
def test_invalid_options_are_refused_before_fitting(package, options, words):
    with pytest.raises(ValueError, match=r"must|has no|cannot") as error:
        fit_package(package, urdf({"good": LINKS["good"]}), **options)
    assert words in str(error.value)


def test_invalid_urdf_is_refused(tmp_path):
    with pytest.raises(RobotDescriptionError, match="not well-formed XML"):
        fit_robot("<robot")
    with pytest.raises(OSError, match="nothing"):
        fit_robot(tmp_path / "nothing.urdf")


@pytest.mark.slow
def test_command_writes_robot_and_report_and_prints_failures(package, tmp_path, capsys):
    text = urdf({"good": LINKS["good"], "missing": LINKS["missing"]})
    path, out = tmp_path / "arm.urdf", tmp_path / "out"
    path.write_text(text)
    line = ["fit", str(path), "--package", f"pkg={package}", "--output", str(out)]
    assert main([*line, "--bodies", "1"]) == 1
    printed = capsys.readouterr().out
    assert "link 'missing' (unreadable): collision mesh 'package://pkg/nowhere.stl': there is no file" in printed
    report = json.loads((out / "report.json").read_text())
    assert [link["state"] for link in report["links"]] == ["fitted", "unreadable", "empty"]
    assert report["options"]["bodies"] == 1 and len(report["urdf_sha256"]) == 64
    robot = Robot.from_urdf((out / "arm_superovoids.urdf").read_text(), meshes="ignore")
    assert [type(body.shape) for body in robot.bodies] == [Superovoid]
    assert path.read_text() == text
    path.write_text(urdf({"good": LINKS["good"]}))
    assert main([*line, "--contain", "--kinds", "box", "--details"]) == 0
    assert "yes" in capsys.readouterr().out


@pytest.mark.slow
def test_command_writes_srdf_and_prints_changes(package, tmp_path, capsys):
    path, given, out = tmp_path / "arm.urdf", tmp_path / "arm.srdf", tmp_path / "out"
    path.write_text(urdf({name: LINKS[name] for name in ("good", "inverted", "simple")}))
    given.write_text('<robot name="r"><disable_collisions link1="good" link2="simple" reason="Never"/></robot>')
    line = ["fit", str(path), "--package", f"pkg={package}", "--bodies", "1", "--kinds", "box", "--output", str(out)]
    assert main([*line, "--srdf", str(given), "--states", "50", "--details"]) == 0
    printed = capsys.readouterr().out
    # All links are fixed to each other and overlap.
    assert "newly disabled: good and inverted (Adjacent, structure)" in printed
    pairs = json.loads((out / "report.json").read_text())["pairs"]
    assert {each["reason"] for each in pairs["pairs"]} == {"Adjacent", "Always"} and pairs["states"] == 50
    robot = Robot.load(out / "arm_superovoids.urdf", srdf=out / "arm_superovoids.srdf", meshes="ignore")
    assert not len(robot.body_pairs())
    assert main([*line, "--new-srdf", "--states", "50"]) == 0
    assert main([*line, "--srdf", str(tmp_path / "nothing.srdf")]) == 2
    assert "nothing.srdf: No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fit nowhere.urdf", "nowhere.urdf: No such file"),
        ("fit package://nowhere/a.urdf", "package 'nowhere' is unknown"),
    ],
)
def test_command_reports_unreadable_input(line, words, tmp_path, capsys):
    assert main([*line.split(), "--output", str(tmp_path / "out")]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fit a.urdf --tolerance 2", "--tolerance: '2': must be a length with its unit"),
        ("fit a.urdf --tolerance 0%", "--tolerance: '0%': must be a length with its unit"),
        ("fit a.urdf --link a", "'a': must be NAME=N"),
        ("fit a.urdf --link a=2 --link b=2 --link a=3", "argument --link: 'a': occurs twice"),
        ("fit a.urdf --package a=/nowhere/x", "must be an existing folder"),
        ("fit a.urdf --package a=/ --package a=/", "argument --package: 'a': occurs twice"),
        ("fit a.urdf --srdf a.srdf --new-srdf", "--new-srdf: not allowed with argument --srdf"),
        ("fit a.urdf --kinds ball", "'ball': must be some of superovoid"),
    ],
)
def test_command_refuses_invalid_options(line, words, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(line.split())
    assert words in capsys.readouterr().err


# --------------------------------------------------------------------------------------------------------- the Panda

NEEDS_ROBOTS = pytest.mark.skipif(
    importlib.util.find_spec("cmeel") is None,
    reason="example-robot-data is missing: pip install 'superovoid_papers[robots]'",
)


@pytest.mark.slow
@NEEDS_ROBOTS
@pytest.mark.parametrize(("bodies", "iou", "mean"), [(1, 0.88, 2.8e-3), (2, 0.93, 1.6e-3), (3, 0.95, 1.2e-3)])
def test_panda_fit_has_the_documented_figures(bodies, iou, mean):
    spec = importlib.util.find_spec("cmeel")
    share = Path(spec.submodule_search_locations[0]).parent / "cmeel.prefix" / "share" / "example-robot-data"
    if not share.is_dir():
        pytest.skip("example-robot-data is missing: pip install 'superovoid_papers[robots]'")
    path = share / "robots" / "panda_description" / "urdf" / "panda.urdf"
    fit = fit_robot(path, package_directories={"example-robot-data": share}, bodies=bodies)
    done = [link for link in fit.links if link.state == "fitted"]
    assert len(done) == 9
    assert np.mean([link.quality.iou for link in done]) >= iou
    assert np.mean([link.quality.mean for link in done]) <= mean
