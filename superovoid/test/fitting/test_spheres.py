# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Spheres that cover fitted bodies, and their files."""

import json
import math
from xml.etree import ElementTree

import numpy as np
import pytest
import trimesh
import yaml

from superovoid import Robot
from superovoid.cli import main
from superovoid.fitting import fit_robot
from superovoid.fitting.sphere_covers import cover_with_spheres
from superovoid.fitting.sphere_files import read_spheres, write_spheres
from superovoid.robot.urdf import pose_matrix
from superovoid.shapes import Box, Capsule, Sphere, Superovoid, Torus

BODIES = {
    "box": [(Box((0.2, 0.1, 0.06)), pose_matrix((0.1, 0.0, 0.2), (0.3, 0.2, 0.1)))],
    "plate": [(Box((0.2, 0.2, 0.005)), np.eye(4))],
    "two": [
        (Superovoid.from_goncalves((0.05, 0.04, 0.1), (0.4, 0.6), (0.2, 0.2)), np.eye(4)),
        (Capsule(0.03, 0.2), pose_matrix((0.0, 0.05, 0.05), (1.2, 0.0, 0.0))),
    ],
    "ring": [(Torus(0.1, 0.03), pose_matrix((0.1, 0.0, 0.2), (0.3, 0.2, 0.1)))],
    "with a sphere": [(Sphere(0.03), np.eye(4)), (Box((0.02, 0.02, 0.2)), np.eye(4))],
}


@pytest.mark.parametrize("name", BODIES)
def test_spheres_contain_bodies_and_protrude_by_at_most_atol(name):
    bodies, atol = BODIES[name], 8e-3
    spheres = cover_with_spheres(bodies, atol)
    centres = np.array([pose[:3, 3] for _, pose in spheres])
    radii = np.array([sphere.radius for sphere, _ in spheres])
    # Inside and on the surface of each body, and denser where edges meet: samples that the program does not use.
    generator = np.random.default_rng(11)
    for shape, pose in bodies:
        low, high = shape.aabb()
        inside = generator.uniform(low, high, (20_000, 3))
        points = np.concatenate([inside[shape.contains(inside)], shape.triangles(90)[0]])
        points = points @ pose[:3, :3].T + pose[:3, 3]
        gaps = np.linalg.norm(points[:, None] - centres, axis=2) - radii
        assert gaps.min(axis=1).max() <= 1e-12
    # The distance of a sphere's point from a convex body by the body's support function, over many normals.
    normals = generator.normal(size=(4000, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    off = []
    for shape, pose in bodies:
        planes = shape.support_value(normals @ pose[:3, :3])
        off.append((((centres - pose[:3, 3]) @ normals.T) + radii[:, None] - planes).max(axis=1))
    protruding = np.min(off, axis=0)
    assert protruding.max() <= atol
    assert len(spheres) == 1 or protruding.max() > 0.5 * atol


def test_spheres_are_kept_as_they_are():
    bodies = [(Sphere(0.1), np.eye(4)), (Sphere(0.05), pose_matrix((0.1, 0.0, 0.0), (0.0, 0.0, 0.0)))]
    assert [sphere for sphere, _ in cover_with_spheres(bodies, 1e-3)] == [Sphere(0.1), Sphere(0.05)]


def test_larger_overshoot_needs_fewer_spheres():
    fine, coarse = (len(cover_with_spheres(BODIES["box"], atol)) for atol in (4e-3, 2e-2))
    assert 2 * coarse < fine


LINK = '<link name="{}"><collision><origin xyz="0.1 0 0"/><geometry>{}</geometry></collision></link>'
URDF = (
    '<robot name="r">'
    + LINK.format("a", '<box size="0.1 0.2 0.3"/>')
    + LINK.format("b", '<sphere radius="0.1"/>')
    + '<link name="c"/><joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
    '<joint name="k" type="fixed"><parent link="b"/><child link="c"/></joint></robot>'
)


def test_both_files_have_the_same_spheres(tmp_path):
    made = write_spheres(fit_robot(URDF), tmp_path, "r", "5%")
    read = read_spheres(made.yaml.read_text())
    robot = Robot.load(made.urdf)
    for link in ("a", "b"):
        own = [(body.shape, body.link_from_body) for body in robot.bodies if body.link == link]
        assert len(own) == len(read[link]) == made.counts[link]
        for (one, pose), (other, placed) in zip(own, read[link], strict=True):
            assert one == other and np.array_equal(pose, placed)
    assert made.overshoot["a"] == pytest.approx(0.05 * np.linalg.norm((0.1, 0.2, 0.3)))
    # As cuRobo and VAMP read them.
    spheres = yaml.safe_load(made.yaml.read_text())["collision_spheres"]["a"]
    elements = ElementTree.parse(made.urdf).getroot().findall("link[@name='a']/collision/geometry/sphere")
    assert [each["radius"] for each in spheres] == [float(each.get("radius")) for each in elements]
    assert set(spheres[0]) == {"center", "radius"}


@pytest.mark.ci
def test_command_writes_formats_and_spheres_that_its_check_reads(tmp_path, capsys):
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "box.obj")
    mesh = '<mesh filename="package://parts/box.obj"/>'
    robot = tmp_path / "r.urdf"
    robot.write_text(f'<robot name="r">{LINK.format("a", mesh)}</robot>')
    options = ["--package", f"parts={tmp_path}", "--quiet", "--output"]
    out = tmp_path / "out"
    formats = ["--format", "mjcf", "--format", "sdf,urdf"]
    main(["fit", str(robot), "--kinds", "box", "--bodies", "1", "--spheres", "13%", *formats, *options, str(out)])
    assert (out / "r.xml").is_file() and (out / "r.sdf").is_file()
    report = json.loads((out / "report.json").read_text())
    assert "spheres.overshoot" in report["proved"] and report["spheres"]["counts"]["a"] > 8
    overshoot = report["spheres"]["overshoot"]["a"]
    # A proved bound is rounded up, and to the nearest it would be rounded down.
    above = math.ceil(1e5 * overshoot) / 100
    assert f"<td>{above:.2f}</td>" in (out / "report.html").read_text() and 1e3 * overshoot < above - 0.005
    checked = tmp_path / "checked"
    main(["fit", str(out / "r_spheres.yml"), "--check", "--against", str(robot), *options, str(checked)])
    (link,) = json.loads((checked / "check.json").read_text())["links"]
    assert len(link["bodies"]) == report["spheres"]["counts"]["a"]
    (fitted,) = report["links"]
    assert link["uncovered"]["lower"] <= fitted["uncovered"]["upper"]
    assert 0.5 * overshoot < link["protruding"]["lower"] <= fitted["protruding"]["upper"] + overshoot
