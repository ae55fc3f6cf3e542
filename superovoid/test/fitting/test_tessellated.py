# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""ROS package of meshes that contain the fitted bodies with a small, proved overshoot."""

import importlib.util
import json
from xml.etree import ElementTree

import numpy as np
import pytest
import trimesh
from scipy.spatial import ConvexHull

from superovoid import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    Shell,
    Sphere,
    Superovoid,
    Torus,
    point_distances,
)
from superovoid.cli import main
from superovoid.fitting import tessellate
from superovoid.fitting.tessellated import mesh_name, package_name, tessellation_around, tessellations_around, write_stl
from superovoid.robot import Robot
from superovoid.robot.mesh_files import read_triangles

URDF = pytest.importorskip("urchin", reason="urchin is missing: pip install 'superovoid[plan]'").URDF

SHAPES = (
    Superovoid((0.1, 0.06, 0.15), section_exponent=0.3, profile_exponent=0.4, taper=(0.3, 0.3)),
    Superovoid((0.1, 0.06, 0.15), section_exponent=0.1, profile_exponent=0.1),
    Superovoid((0.1, 0.06, 0.15), section_exponent=1.9, profile_exponent=1.9),
    Superovoid((0.1, 0.0005, 0.15), section_exponent=0.5, profile_exponent=1.5, taper=(-0.2, 0.3)),
    Superovoid((1.0, 0.06, 0.2), section_exponent=0.5, profile_exponent=0.5),
    Sphere(0.02),
    Capsule(0.05, 0.3),
    Cylinder(0.05, 0.01),
    Box((0.2, 0.4, 0.6)),
)


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_written_mesh_contains_body_with_stated_overshoot(shape, tmp_path):
    tolerance = 0.01 * float(np.max(shape.aabb()))
    file, mesh = tmp_path / mesh_name(7, "arm/link 1", "stl"), tessellation_around(shape, tolerance)
    assert file.name == "007_arm_link_1.stl"
    write_stl(mesh, file)
    vertices, faces = read_triangles(file.read_bytes(), "stl")
    solid = trimesh.Trimesh(vertices, faces)
    assert solid.is_watertight and solid.volume >= shape.volume()
    planes = ConvexHull(vertices).equations
    # Surface points at a resolution that the program does not use.
    surface = shape.triangles(101)[0]
    assert (surface @ planes[:, :3].T + planes[:, 3]).max() <= 0.0
    # The distance from a convex body is the largest of n . x - h(n) over unit normals n.
    normals = np.random.default_rng(4).normal(size=(1000, 3))
    normals = np.concatenate([normals / np.linalg.norm(normals, axis=1)[:, None], planes[:, :3]])
    off = (vertices[:: 1 + len(vertices) // 500] @ normals.T - shape.support_value(normals)).max()
    assert 0.3 * mesh.overshoot <= off <= mesh.overshoot
    assert mesh.overshoot <= tolerance


@pytest.mark.parametrize("torus", [Torus(1.0, 0.25), Torus(0.05, 0.049), Torus(2.0, 0.01)], ids=repr)
def test_convex_sectors_contain_a_torus_with_stated_overshoot(torus):
    tolerance = 0.02 * torus.major_radius
    sectors = tessellations_around(torus, tolerance)
    rng, inside = np.random.default_rng(4), np.zeros(4000, dtype=bool)
    angle, turn = rng.uniform(0.0, 2.0 * np.pi, (2, len(inside)))
    across = torus.major_radius + torus.minor_radius * np.cos(turn)
    points = np.column_stack([across * np.cos(angle), across * np.sin(angle), torus.minor_radius * np.sin(turn)])
    off = 0.0
    for mesh in sectors:
        solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
        assert solid.is_watertight and solid.is_convex and mesh.overshoot <= tolerance
        np.testing.assert_array_equal(mesh.vertices, mesh.vertices.astype(np.float32))
        planes = ConvexHull(mesh.vertices).equations
        inside |= (points @ planes[:, :3].T + planes[:, 3] <= 0.0).all(axis=1)
        # The distance from the circle, by its formula.
        x, y, z = np.concatenate([mesh.vertices, trimesh.sample.sample_surface(solid, 1000, seed=1)[0]]).T
        off = max(off, float((np.hypot(np.hypot(x, y) - torus.major_radius, z) - torus.minor_radius).max()))
        assert off <= mesh.overshoot
    assert inside.all()
    assert off > 0.2 * sectors[0].overshoot


def test_smaller_atol_gives_finer_mesh():
    coarse, fine = (tessellation_around(SHAPES[0], tolerance) for tolerance in (5e-3, 3e-4))
    assert coarse.overshoot <= 5e-3 and fine.overshoot <= 3e-4 and len(fine.faces) > len(coarse.faces)
    with pytest.raises(ValueError, match="atol = 0"):
        tessellation_around(SHAPES[0], 0.0)


@pytest.mark.parametrize(
    ("name", "package"),
    [("panda", "panda_tessellated"), ("My Robot-2", "my_robot_2_tessellated"), ("7dof", "robot_7dof_tessellated"),
     ("__", "robot_tessellated")],
)  # fmt: skip
def test_package_names_are_valid_for_ros(name, package):
    assert package_name(name) == package


@pytest.fixture(scope="module")
def tessellated_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robot")
    (folder / "pkg").mkdir()
    trimesh.creation.box((0.1, 0.06, 0.3)).export(folder / "pkg" / "bar.stl")
    mesh = '<geometry><mesh filename="package://pkg/bar.stl"/></geometry>'
    text = (
        f'<robot name="r"><link name="a/b"><visual>{mesh}</visual><collision>{mesh}</collision></link>'
        f'<link name="c"><collision><origin xyz="1 0 0"/>{mesh}</collision></link>'
        '<link name="d"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
        '<joint name="j" type="fixed"><parent link="a/b"/><child link="c"/></joint>'
        '<joint name="k" type="fixed"><parent link="c"/><child link="d"/></joint></robot>'
    )
    (folder / "bar.urdf").write_text(text)
    line = [
        "fit",
        str(folder / "bar.urdf"),
        "--package",
        f"pkg={folder / 'pkg'}",
        "--bodies",
        "1",
        "--kinds",
        "capsule",
    ]
    assert main([*line, "--tessellated", "1mm", "--output", str(folder / "out")]) == 0
    return folder


@pytest.mark.slow
def test_package_reads_back_with_bodies_inside_their_meshes(tessellated_files):
    root = tessellated_files / "out" / "bar_tessellated"
    report = json.loads((tessellated_files / "out" / "report.json").read_text())
    assert set(report["tessellated"]["overshoot"]) == {"a/b", "c"}
    robot = Robot.load(root / "urdf" / "bar.urdf", package_directories={"pkg": tessellated_files / "pkg"})
    fitted = Robot.load(tessellated_files / "out" / "bar_superovoids.urdf", meshes="ignore")
    assert [body.link for body in robot.bodies] == [body.link for body in fitted.bodies] == ["a/b", "c", "d"]
    for mesh, body in zip(robot.bodies[:2], fitted.bodies[:2], strict=True):
        np.testing.assert_array_equal(mesh.link_from_body, body.link_from_body)
        assert mesh.shape.contains(body.shape.triangles(50)[0]).all()
    assert len(list((root / "meshes").iterdir())) == 2
    visual = ElementTree.parse(root / "urdf" / "bar.urdf").find(".//visual//mesh")
    assert visual.get("filename") == "package://pkg/bar.stl"
    assert ElementTree.parse(root / "package.xml").findtext("name") == "bar_tessellated"


def test_urchin_and_pinocchio_read_the_package(tessellated_files):
    root = tessellated_files / "out" / "bar_tessellated"
    text = (root / "urdf" / "bar.urdf").read_text()
    # urchin does not resolve package addresses.
    text = text.replace("package://bar_tessellated", str(root)).replace("package://pkg", str(tessellated_files / "pkg"))
    (tessellated_files / "plain.urdf").write_text(text)
    robot = URDF.load(str(tessellated_files / "plain.urdf"))
    assert [len(link.collisions) for link in robot.links] == [1, 1, 1]
    assert robot.links[0].collisions[0].geometry.mesh.meshes[0].is_watertight
    if importlib.util.find_spec("pinocchio") is None:
        pytest.skip("pinocchio is missing: pip install 'superovoid_papers[robots]'")
    pinocchio = importlib.import_module("pinocchio")
    path, folders = str(root / "urdf" / "bar.urdf"), [str(tessellated_files / "out"), str(tessellated_files)]
    model = pinocchio.buildModelFromUrdf(path)
    kind = pinocchio.GeometryType.COLLISION
    assert pinocchio.buildGeomFromUrdf(model, path, kind, package_dirs=folders).ngeoms == 3


ROUND = [
    Superovoid((0.3, 0.2, 0.5), section_exponent=0.4, profile_exponent=1.3, taper=(0.4, -0.3)),
    Superovoid((0.3, 0.2, 0.5), section_exponent=0.9, profile_exponent=0.9, taper=(0.45, 0.0)),
    Capsule(0.2, 0.7),
    Cylinder(0.3, 0.5),
    Cone(0.3, 0.8),
    Torus(0.4, 0.15),
]


@pytest.mark.parametrize(
    ("shape", "atol"),
    [
        (Ellipsoid((1.0, 1.0, 0.001)), 0.01),
        (Ellipsoid((0.001, 0.001, 1.0)), 1e-4),
        (Cylinder(1.0, 1e-6), 0.01),
        (Cone(0.1, 0.3), 3e-5),
        (Superovoid((0.1, 0.2, 0.3), section_exponent=0.3, profile_exponent=0.3), 0.003),
        (Superovoid((0.1, 0.2, 0.3), section_exponent=1.6, profile_exponent=1.6, taper=(0.5, 0.3)), 3e-4),
        (Superovoid((0.1, 0.2, 0.3), section_exponent=1e-6, profile_exponent=1.999999), 1e-3),
        (Torus(0.3, 0.003), 1e-3),
    ],
    ids=repr,
)
def test_every_surface_point_is_within_the_tolerance_of_the_mesh(shape, atol):
    mesh = tessellate(shape, atol)
    points = shape.sample_surface(2000, 1)
    assert point_distances(Shell(mesh.vertices, mesh.faces), points).upper.max() <= atol


@pytest.mark.parametrize("shape", [*ROUND, Box((0.3, 0.5, 0.7))], ids=repr)
def test_a_mesh_of_a_tolerance_is_that_near_to_the_surface(shape, tmp_path):
    mesh = tessellate(shape, 0.005)
    assert mesh.is_watertight and len(mesh.faces) < 6000
    points = trimesh.sample.sample_surface(mesh, 200, seed=1)[0]
    assert np.abs(point_distances(shape, points).distance).max() < 0.005
    back = point_distances(Mesh.from_trimesh(mesh), shape.sample_surface(200, 1))
    assert np.abs(back.distance).max() < 0.005
    for kind in ("stl", "obj", "glb"):
        mesh.export(tmp_path / f"body.{kind}")
        assert len(trimesh.load_mesh(tmp_path / f"body.{kind}").faces) == len(mesh.faces)


def test_a_mesh_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="no closed mesh"):
        tessellate(HalfSpace(), 0.1)
    for atol in (0.0, -1.0, np.nan, "fine", None):
        with pytest.raises(ValueError, match=r"atol = .*: must be a positive number \(m\)"):
            tessellate(Torus(0.4, 0.15), atol)
    with pytest.raises(TypeError, match=r"shape: must be a shape of superovoid\.shapes, found int"):
        tessellate(1, 0.1)
