# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Standard collision geometry of a URDF (box, cylinder, capsule, sphere, mesh) as bodies, and their distances."""

import builtins
import json
import math
import os
import re
import struct

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from superovoid.robot import Robot, RobotDescriptionError, mesh_files
from superovoid.robot.mesh_files import FORMATS, read_triangles
from superovoid.robot.planning_scene import Padding, PlanningScene
from superovoid.scene import Body, Scene
from superovoid.shapes import Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Mesh, Shell, Sphere, Superovoid
from superovoid.states import state_distances

# A pyramid with a base at z = -0.1, and an apex shifted to +x and +y.
PYRAMID = trimesh.Trimesh(
    [(-0.1, -0.1, -0.1), (0.1, -0.1, -0.1), (0.1, 0.1, -0.1), (-0.1, 0.1, -0.1), (0.3, 0.1, 0.2)],
    [(0, 2, 1), (0, 3, 2), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)],
)
# A block of 2 x 2 x 1 without the quarter x > 1, y > 1.
NOTCH_OUTLINE = np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], dtype=float)


def notch() -> trimesh.Trimesh:
    """Return a prism of height 1 with the outline above."""
    n = len(NOTCH_OUTLINE)
    flat = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    vertices = [(*p, z) for z in (0.0, 1.0) for p in NOTCH_OUTLINE]
    faces = [(a, c, b) for a, b, c in flat] + [(a + n, b + n, c + n) for a, b, c in flat]
    for i in range(n):
        k = (i + 1) % n
        faces += [(i, k, k + n), (i, k + n, i + n)]
    return trimesh.Trimesh(vertices, faces)


def collision(geometry: str, origin: str = "") -> str:
    return f"<collision>{origin}<geometry>{geometry}</geometry></collision>"


def one_link(content: str) -> str:
    return f'<robot name="r"><link name="a">{content}</link></robot>'


def mesh(filename: str = "package://pkg/meshes/part.stl", scale: str = "") -> str:
    return f'<mesh filename="{filename}"{f" scale={chr(34)}{scale}{chr(34)}" if scale else ""}/>'


@pytest.fixture
def package(tmp_path):
    """Return the folder of a package with one mesh, the pyramid."""
    (tmp_path / "pkg" / "meshes").mkdir(parents=True)
    PYRAMID.export(tmp_path / "pkg" / "meshes" / "part.stl")
    return tmp_path / "pkg"


def read(text: str, package=None, **options) -> Robot:
    return Robot.from_urdf(text, package_directories=None if package is None else {"pkg": package}, **options)


def body_of(geometry: str, package=None, **options):
    return read(one_link(collision(geometry)), package, **options).bodies[0]


# ------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ('<box size="0.2 0.4 0.6"/>', Box((0.2, 0.4, 0.6))),
        ('<cylinder radius="0.1" length="0.5"/>', Cylinder(0.1, 0.5)),
        ('<capsule radius="0.1" length="0.5"/>', Capsule(0.1, 0.5)),
        ('<sphere radius="0.1"/>', Sphere(0.1)),
    ],
)
def test_primitives_are_read_with_the_origin_of_their_element(text, shape):
    robot = read(one_link(collision(text, '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>')))
    (body,) = robot.bodies
    assert (body.name, body.link, body.shape) == ("a", "a", shape)
    expected = [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    np.testing.assert_allclose(body.link_from_body, expected, atol=1e-15)
    assert robot.warnings == ()


def test_each_collision_element_of_a_link_is_a_body(package):
    text = one_link(collision('<box size="1 1 1"/>') + collision(mesh()) + collision('<sphere radius="1"/>'))
    robot = read(text, package)
    assert [body.name for body in robot.bodies] == ["a/0", "a/1", "a/2"]
    assert [type(body.shape) for body in robot.bodies] == [Box, ConvexMesh, Sphere]


def test_meshes_overridden_by_contact_geometry_are_not_opened():
    own = '<contact_geometry><superovoid size="1 2 3" epsilon="0.9 0.8"/></contact_geometry>'
    (body,) = read(one_link(own + collision(mesh("package://nowhere/x.stl")) + collision('<box size="1 1 1"/>'))).bodies
    assert isinstance(body.shape, Superovoid)


def test_visual_elements_are_not_contact_geometry():
    seen = "".join(
        f"<visual><geometry>{geometry}</geometry></visual>"
        for geometry in ('<box size="1 1 1"/>', '<cylinder radius="1" length="1"/>', mesh("/etc/passwd"))
    )
    assert read(one_link(seen)).links_without_geometry == ("a",)


def test_mesh_is_its_convex_hull_by_default(package):
    notch().export(package / "notch.stl")
    hull = body_of(mesh("package://pkg/notch.stl"), package).shape
    assert isinstance(hull, ConvexMesh)
    assert hull.volume() == pytest.approx(3.5, rel=1e-7)  # volume of the hull; the file has single precision
    exact = body_of(mesh("package://pkg/notch.stl"), package, meshes="triangles").shape
    assert isinstance(exact, Mesh)
    assert exact.volume() == pytest.approx(3.0, rel=1e-7)


@pytest.mark.parametrize(("choice", "kind"), [("hull", ConvexMesh), ("triangles", Mesh)])
def test_scale_is_applied_and_negative_scale_mirrors(package, choice, kind):
    shape = body_of(mesh(scale="1 -2 0.5"), package, meshes=choice).shape
    assert type(shape) is kind
    expected = np.asarray(PYRAMID.vertices) * (1.0, -2.0, 0.5)
    lower, upper = shape.aabb()
    np.testing.assert_allclose(lower, expected.min(axis=0), rtol=1e-7)
    np.testing.assert_allclose(upper, expected.max(axis=0), rtol=1e-7)
    np.testing.assert_allclose(shape.support((1.0, -1.0, 1.0)), (0.3, -0.2, 0.1), rtol=1e-7)  # the apex
    assert shape.volume() == pytest.approx(PYRAMID.volume, rel=1e-6)
    assert shape.contains((0.05, -0.05, -0.04))


@pytest.mark.parametrize("kind", FORMATS)
def test_all_formats_give_the_same_body(package, kind):
    PYRAMID.export(package / f"part.{kind}")
    (package / f"PART.{kind.upper()}").write_bytes((package / f"part.{kind}").read_bytes())
    for name in (f"part.{kind}", f"PART.{kind.upper()}"):
        for choice, type_of_shape in (("hull", ConvexMesh), ("triangles", Mesh)):
            shape = body_of(mesh(f"package://pkg/{name}"), package, meshes=choice).shape
            assert type(shape) is type_of_shape
            np.testing.assert_allclose(np.sort(shape.vertices, axis=0), np.sort(PYRAMID.vertices, axis=0), atol=1e-7)
            assert shape.volume() == pytest.approx(PYRAMID.volume, rel=1e-6)


def test_collada_unit_and_transforms_apply_but_not_the_up_axis(package):
    parts = [trimesh.creation.box((2.0, 2.0, 2.0)), trimesh.creation.box((2.0, 2.0, 2.0))]
    parts[1].apply_translation((10.0, 0.0, 4.0))
    text = trimesh.exchange.dae.export_collada(parts).decode()
    asset = '<asset><unit name="millimeter" meter="0.001"/><up_axis>Y_UP</up_axis></asset>'
    text, count = re.subn("<asset>.*?</asset>", asset, text, flags=re.DOTALL)
    assert count == 1
    (package / "parts.dae").write_text(text)
    for choice in ("hull", "triangles"):
        shape = body_of(mesh("package://pkg/parts.dae"), package, meshes=choice).shape
        np.testing.assert_allclose(shape.aabb(), ((-0.001, -0.001, -0.001), (0.011, 0.001, 0.005)))
    assert shape.volume() == pytest.approx(2.0 * 0.002**3)
    np.testing.assert_array_equal(shape.contains([(0.0, 0.0, 0.0), (0.005, 0.0, 0.002), (0.01, 0.0, 0.004)]), (1, 0, 1))


def test_file_used_by_several_links_is_read_once(package, monkeypatch):
    calls = []
    monkeypatch.setattr(mesh_files, "read_triangles", lambda *a: calls.append(a) or read_triangles(*a))
    robot = read(one_link(collision(mesh()) + collision(mesh()) + collision(mesh(scale="2 2 2"))), package)
    assert len(calls) == 1
    assert robot.bodies[0].shape is robot.bodies[1].shape
    assert robot.bodies[2].shape.volume() == pytest.approx(8.0 * robot.bodies[0].shape.volume())


def test_open_mesh_becomes_its_hull_with_a_warning(package):
    trimesh.Trimesh(PYRAMID.vertices, PYRAMID.faces[1:]).export(package / "open.stl")
    robot = read(one_link(collision(mesh("package://pkg/open.stl"))), package, meshes="triangles")
    assert isinstance(robot.bodies[0].shape, ConvexMesh)
    assert robot.bodies[0].shape.volume() == pytest.approx(PYRAMID.volume, rel=1e-6)
    (warning,) = robot.warnings
    assert "link 'a'" in warning
    assert "package://pkg/open.stl" in warning
    assert "not closed" in warning


def test_open_mesh_can_become_a_shell(package):
    trimesh.Trimesh(PYRAMID.vertices, PYRAMID.faces[1:]).export(package / "open.stl")
    robot = read(one_link(collision(mesh("package://pkg/open.stl"))), package, meshes="shells")
    assert isinstance(robot.bodies[0].shape, Shell) and not robot.warnings
    assert len(robot.bodies[0].shape.faces) == len(PYRAMID.faces) - 1
    closed = body_of(mesh(), package, meshes="shells").shape
    assert type(closed) is Mesh and closed.volume() == pytest.approx(PYRAMID.volume, rel=1e-6)


def test_mesh_probably_in_millimetres_gives_a_warning(package):
    robot = read(one_link(collision(mesh(scale="1000 1000 1000"))), package)
    assert "400 m across; if its unit is the millimetre" in robot.warnings[0]


def test_ignored_meshes_are_reported(package):
    text = one_link(collision(mesh("package://nowhere/x.stl")) + collision('<box size="1 1 1"/>'))
    robot = read(text, meshes="ignore")
    assert [body.shape for body in robot.bodies] == [Box((1.0, 1.0, 1.0))]
    assert robot.warnings == ("URDF: link 'a': left out of its collision geometry: mesh",)


# -------------------------------------------------------------------------------------------- rules for opening files


def test_absolute_paths_and_file_addresses_in_a_package_are_read(package):
    file = package / "meshes" / "part.stl"
    for name in (str(file), file.as_uri(), f"file://localhost{file}", f"{package}/meshes/../meshes/part.stl"):
        assert isinstance(body_of(mesh(name), package).shape, ConvexMesh)


def test_symbolic_links_inside_a_package_are_followed(package, tmp_path):
    (tmp_path / "source").mkdir()
    os.rename(package / "meshes" / "part.stl", tmp_path / "source" / "part.stl")
    (package / "meshes" / "part.stl").symlink_to(tmp_path / "source" / "part.stl")
    assert isinstance(body_of(mesh(), package).shape, ConvexMesh)


def test_symbolic_links_to_a_package_folder_are_resolved(package, tmp_path):
    (tmp_path / "linked").symlink_to(package)
    name = str(package / "meshes" / "part.stl")
    assert isinstance(body_of(mesh(name), tmp_path / "linked").shape, ConvexMesh)
    assert isinstance(body_of(mesh(name), f"{tmp_path}/pkg/../pkg").shape, ConvexMesh)


def test_files_referenced_by_a_mesh_are_not_opened(package, monkeypatch):
    (package / "part.obj").write_text("mtllib secret.mtl\n" + PYRAMID.export(file_type="obj"))
    (package / "secret.mtl").write_text("newmtl a\n")
    opened = []
    real = builtins.open
    monkeypatch.setattr(builtins, "open", lambda *a, **k: opened.append(a[0]) or real(*a, **k))
    assert isinstance(body_of(mesh("package://pkg/part.obj"), package).shape, ConvexMesh)
    assert not [name for name in opened if str(package) in str(name)]


BAD_MESHES = {
    "no such file": (mesh("package://pkg/x.stl"), "there is no file"),
    "a folder": (mesh("package://pkg/folder.stl"), "there is no file"),
    "unknown package": (mesh("package://other/x.stl"), "package 'other' is unknown"),
    "out of its package": (mesh("package://pkg/../x.stl"), "leads out of its package"),
    "out of its package, escaped": (mesh("package://pkg/%2e%2e/x.stl"), "leads out of its package"),
    "elsewhere": (mesh("/usr/share/x.stl"), "lies outside the known packages (pkg)"),
    "elsewhere, by dots": (mesh("file:///PACKAGE/../x.stl"), "lies outside the known packages (pkg)"),
    "a neighbour's folder": (
        mesh("file:///PACKAGE-secret/x.stl"),
        "lies outside the known packages (pkg)",
    ),
    "relative": (mesh("meshes/part.stl"), "is a relative path"),
    "from the network": (mesh("https://example.org/part.stl"), "begins with 'https:'"),
    "two slashes": (mesh("file://PACKAGE/meshes/part.stl").replace("PACKAGE", "pkg"), "refers to a host, 'pkg'"),
    "no address": (mesh("http://[/x.stl"), "filename = 'http://["),
    "a very long name": (mesh(f"package://pkg/{'x' * 5000}.stl"), "cannot be opened: File name too long"),
    "NUL": (mesh("package://pkg/%00.stl"), "contains a NUL character"),
    "no name": ('<mesh filename=""/>', "has no attribute filename"),
    "another kind of file": (mesh("package://pkg/secret.txt"), "does not have the extension of a mesh file"),
    "garbage": (mesh("package://pkg/garbage.stl"), "is not a well-formed stl file"),
    "empty": (mesh("package://pkg/empty.stl"), "has no triangles"),
    "cut off": (mesh("package://pkg/cut.stl"), "is not a well-formed stl file"),
    "points only": (mesh("package://pkg/points.ply"), "has no triangles"),
    "flat": (mesh("package://pkg/flat.stl"), "must span a volume"),
    "flat by scale": (mesh(scale="1 1 0"), "scale = '1 1 0': must not be 0"),
    "one factor": (mesh(scale="2"), "scale = '2': 1 numbers, expected 3"),
    "NaN factor": (mesh(scale="1 nan 1"), "'nan' is not a finite number"),
    "NaN coordinate": (mesh("package://pkg/nan.obj"), "has a coordinate that is not finite"),
    "NaN coordinate of a stl file": (mesh("package://pkg/nan.stl"), "has a coordinate that is not finite"),
    "absurd": (mesh(scale="9999 9999 9999").replace("part", "large"), "expected at most 10000 m"),
    "Collada with entities": (mesh("package://pkg/entities.dae"), "document type or entities"),
    "Collada cut off": (mesh("package://pkg/cut.dae"), "is not a well-formed dae file"),
    "flat box": ('<box size="1 0 1"/>', "Box.lengths[1] = 0.0: must be positive"),
    "cylinder without length": ('<cylinder radius="1"/>', "cylinder: length is missing"),
    "negative radius": ('<cylinder radius="-1" length="1"/>', "Cylinder.radius = -1.0: must be positive"),
    "capsule without radius": ('<capsule length="1"/>', "capsule: radius is missing"),
}


@pytest.mark.parametrize("case", BAD_MESHES)
def test_error_about_a_collision_element_has_link_file_and_reason(case, package):
    (package / "folder.stl").mkdir()
    (package / "secret.txt").write_text("the secret")
    (package / "garbage.stl").write_bytes(b"\x07the secret" * 50)
    (package / "empty.stl").write_bytes(b"")
    trimesh.PointCloud(PYRAMID.vertices).export(package / "points.ply")
    trimesh.Trimesh(PYRAMID.vertices[:4], [(0, 1, 2), (0, 2, 3)]).export(package / "flat.stl")
    trimesh.Trimesh(100.0 * PYRAMID.vertices, PYRAMID.faces).export(package / "meshes" / "large.stl")
    (package / "nan.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 nan 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n")
    stl = bytearray(PYRAMID.export(file_type="stl"))
    (package / "cut.stl").write_bytes(stl[:-20])
    stl[96:100] = np.array([np.nan], dtype="<f4").tobytes()  # x of the first corner
    (package / "nan.stl").write_bytes(stl)
    dae = trimesh.exchange.dae.export_collada(PYRAMID)
    (package / "entities.dae").write_bytes(b'<!DOCTYPE x [<!ENTITY e SYSTEM "secret.txt">]>' + dae)
    (package / "cut.dae").write_bytes(dae[:300])
    neighbour = package.parent / (package.name + "-secret")
    neighbour.mkdir()
    PYRAMID.export(neighbour / "x.stl")
    PYRAMID.export(package.parent / "x.stl")

    geometry, message = BAD_MESHES[case]
    geometry = geometry.replace("/PACKAGE", str(package))
    with pytest.raises(RobotDescriptionError) as error:
        read(one_link(collision(geometry)), package)
    words = str(error.value)
    assert message in words
    assert "link 'a' collision geometry" in words
    assert "the secret" not in words
    assert len(words) < 700
    if "filename=" in geometry and case not in ("no name", "flat by scale", "one factor", "NaN factor"):
        assert geometry.split('"')[1][:150] in words


def test_without_package_directories_no_mesh_is_opened(package):
    for name in ("package://pkg/meshes/part.stl", str(package / "meshes" / "part.stl")):
        with pytest.raises(RobotDescriptionError, match="package"):
            body_of(mesh(name))


def test_total_size_of_meshes_is_limited(package, monkeypatch):
    PYRAMID.export(package / "again.stl")
    size = (package / "again.stl").stat().st_size
    monkeypatch.setattr(mesh_files, "_MOST_BYTES", 2 * size - 1)
    assert isinstance(body_of(mesh(), package).shape, ConvexMesh)
    with pytest.raises(RobotDescriptionError, match="the meshes of the robot have more than"):
        read(one_link(collision(mesh()) + collision(mesh("package://pkg/again.stl"))), package)


def test_error_about_an_unknown_meshes_option_lists_the_known():
    with pytest.raises(RobotDescriptionError, match="meshes = 'boxes': must be one of hull, triangles, shells, ignore"):
        body_of('<box size="1 1 1"/>', meshes="boxes")


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(FORMATS), st.integers(0, 2000), st.integers(0, 40), st.binary(max_size=8))
def test_damaged_mesh_gives_triangles_or_a_description_error(kind, at, cut, piece):
    data = PYRAMID.export(file_type=kind)
    data = data.encode() if isinstance(data, str) else data
    at = min(at, len(data))
    try:
        vertices, faces = read_triangles(data[:at] + piece + data[at + cut :], kind)
    except ValueError:
        return
    assert np.isfinite(vertices).all()
    assert faces.min() >= 0
    assert faces.max() < len(vertices)


# ------------------------------------------------------------------------------------------------- distances

FLOOR_HALF, ROD, PILL, BALL = 1.0, (0.05, 0.6), (0.04, 0.3), 0.07


def workshop() -> str:
    """Return a URDF with a floor below z = 0, and four bodies that slide along x and z and rotate about y."""
    text = '<robot name="workshop"><link name="world"/>'
    text += f'<link name="floor">{collision(f"<box size={chr(34)}{2 * FLOOR_HALF} 2 0.2{chr(34)}/>")}</link>'
    text += '<joint name="f" type="fixed"><parent link="world"/><child link="floor"/><origin xyz="0 0 -0.1"/></joint>'
    for name, geometry in (
        ("rod", f'<cylinder radius="{ROD[0]}" length="{ROD[1]}"/>'),
        ("pill", f'<capsule radius="{PILL[0]}" length="{PILL[1]}"/>'),
        ("ball", f'<sphere radius="{BALL}"/>'),
        ("part", mesh()),
    ):
        limit = '<limit lower="-9" upper="9" effort="1" velocity="1"/>'
        parent = "world"
        for kind, axis, motion in (("x", "1 0 0", "prismatic"), ("z", "0 0 1", "prismatic"), ("turn", "0 1 0", "")):
            child = name if kind == "turn" else f"{name}_{kind}_link"
            text += f'<joint name="{name}_{kind}" type="{motion or "revolute"}"><parent link="{parent}"/>'
            text += f'<child link="{child}"/><axis xyz="{axis}"/>{limit}</joint>'
            text += f'<link name="{child}">{collision(geometry) if kind == "turn" else ""}</link>'
            parent = child
    return text + "</robot>"


def positions(**given: float) -> dict[str, float]:
    """Return joint positions that keep all bodies apart, except for the given ones."""
    rest = {}
    for i, name in enumerate(("rod", "pill", "ball", "part")):
        rest |= {f"{name}_x": 4.0 + 2.0 * i, f"{name}_z": 4.0, f"{name}_turn": 0.3}
    return rest | given


def distance_between(robot: Robot, scene: Scene, link_a: str, link_b: str, q: dict[str, float]) -> float:
    scene.set_link_poses(robot.forward_kinematics(q))
    (row,) = scene.query(pairs=robot.body_pairs([link_a], [link_b])).distance
    return float(row)


@pytest.fixture
def robot(package):
    return read(workshop(), package)


@pytest.mark.parametrize("turn", [0.0, 0.4, 1.2, -2.0])
@pytest.mark.parametrize("height", [1.5, 0.31, 0.02])
def test_distances_to_the_floor_match_closed_forms(robot, turn, height):
    scene = robot.scene()
    reach = {
        "rod": 0.5 * ROD[1] * abs(math.cos(turn)) + ROD[0] * abs(math.sin(turn)),
        "pill": 0.5 * PILL[1] * abs(math.cos(turn)) + PILL[0],
        "ball": BALL,
        # A rotation about y maps z to z cos - x sin.
        "part": -float(np.min(PYRAMID.vertices @ (-math.sin(turn), 0.0, math.cos(turn)))),
    }
    for name, down in reach.items():
        q = positions(**{f"{name}_x": 0.1, f"{name}_z": height, f"{name}_turn": turn})
        if height - down > -0.1:  # the shortest separating translation is upwards
            found = distance_between(robot, scene, "floor", name, q)
            assert found == pytest.approx(height - down, abs=3e-8), name  # the mesh file has single precision


def test_distance_of_a_ball_next_to_the_floor_edge(robot):
    q = positions(ball_x=1.3, ball_z=0.4)
    assert distance_between(robot, robot.scene(), "floor", "ball", q) == pytest.approx(0.5 - BALL, abs=1e-12)


def test_distances_between_ball_rod_and_pill(robot):
    scene = robot.scene()
    q = positions(rod_x=3.0, rod_z=2.0, rod_turn=0.0, ball_x=3.4, ball_z=2.1)
    assert distance_between(robot, scene, "rod", "ball", q) == pytest.approx(0.4 - ROD[0] - BALL, abs=1e-12)
    # Beyond the rim: distance to the edge at (radius, half length).
    q = positions(rod_x=3.0, rod_z=2.0, rod_turn=0.0, ball_x=3.35, ball_z=2.7)
    assert distance_between(robot, scene, "rod", "ball", q) == pytest.approx(math.hypot(0.3, 0.4) - BALL, abs=1e-12)
    q = positions(rod_x=3.0, rod_z=2.0, rod_turn=0.0, pill_x=2.5, pill_z=2.0, pill_turn=0.0)
    assert distance_between(robot, scene, "rod", "pill", q) == pytest.approx(0.5 - ROD[0] - PILL[0], abs=1e-9)


def test_ball_in_a_notch_is_free_with_triangles_not_with_hull(package):
    notch().export(package / "notch.stl")
    text = '<robot name="r"><link name="w"/>'
    for name, geometry in (("block", mesh("package://pkg/notch.stl")), ("ball", '<sphere radius="0.2"/>')):
        text += f'<link name="{name}">{collision(geometry)}</link>'
        text += f'<joint name="{name}" type="fixed"><parent link="w"/><child link="{name}"/>'
        text += '<origin xyz="1.4 1.3 0.5"/></joint>' if name == "ball" else "</joint>"
    text += "</robot>"
    found = {}
    for choice in ("triangles", "hull"):
        robot = read(text, package, meshes=choice)
        found[choice] = distance_between(robot, robot.scene(), "block", "ball", {})
    assert found["triangles"] == pytest.approx(0.3 - 0.2, abs=1e-7)
    # The slanted face of the hull is x + y = 3.
    assert found["hull"] == pytest.approx((2.7 - 3.0) / math.sqrt(2.0) - 0.2, abs=1e-7)


def near_states(rng: np.random.Generator, robot: Robot) -> np.ndarray:
    """Return states with all bodies near each other and the floor, shape (20, joints)."""
    low = [-0.6 if name.endswith("_x") else 0.5 if name.endswith("_z") else -3.0 for name in robot.joint_names]
    high = [0.6 if name.endswith("_x") else 1.6 if name.endswith("_z") else 3.0 for name in robot.joint_names]
    return rng.uniform(low, high, (20, len(low)))


def test_gradients_agree_with_finite_differences(robot):
    scene = robot.scene()
    pairs = robot.body_pairs()
    step, checked = 1e-6, 0

    def distances_at(state):
        scene.set_link_poses(robot.forward_kinematics(dict(zip(robot.joint_names, state, strict=True))))
        return scene.query()

    for state in near_states(np.random.default_rng(5), robot):
        result = distances_at(state)
        rows = {(a, b): i for i, (a, b) in enumerate(zip(result.body_a, result.body_b, strict=True))}
        q = dict(zip(robot.joint_names, state, strict=True))
        by_joint = robot.distance_gradients(result, q).by_joint
        ends = []
        for column in range(len(state)):
            both = []
            for sign in (1.0, -1.0):
                moved = state.copy()
                moved[column] += sign * step
                at = distances_at(moved)
                there = dict(zip(zip(at.body_a, at.body_b, strict=True), at.distance, strict=True))
                both.append([there[key] for key in rows])
            ends.append((np.array(both[0]) - both[1]) / (2.0 * step))
        differences = np.array(ends).T
        # The distance has a kink at a change of the nearest face or corner; overlaps have more kinks.
        smooth = result.distance > 0.02
        checked += int(smooth.sum())
        np.testing.assert_allclose(by_joint[smooth], differences[smooth], atol=2e-4)
    assert checked > 0.4 * 20 * len(pairs)


def test_gradients_follow_the_bodies_of_the_scene_in_any_order(robot):
    state = near_states(np.random.default_rng(7), robot)[0]
    q = dict(zip(robot.joint_names, state, strict=True))
    found = []
    for bodies in (robot.bodies, robot.bodies[::-1]):
        scene = Scene(bodies, [(i, j) for j, b in enumerate(bodies) for i in range(j) if bodies[i].link != b.link])
        scene.set_link_poses(robot.forward_kinematics(q))
        result = scene.query()
        rates = np.abs(robot.distance_gradients(result, q).by_joint)
        found.append({frozenset((row.name_a, row.name_b)): rate for row, rate in zip(result, rates, strict=True)})
    assert len(found[0]) > 3 and np.abs(list(found[0].values())).max() > 0.01
    for pair, rate in found[0].items():
        np.testing.assert_allclose(found[1][pair], rate, atol=1e-6)


def test_many_states_in_one_call_agree_with_single_calls(robot):
    scene = robot.scene()
    states = near_states(np.random.default_rng(6), robot)
    found = state_distances(robot, scene, states, gradients=True)
    for i, state in enumerate(states):
        q = dict(zip(robot.joint_names, state, strict=True))
        scene.set_link_poses(robot.forward_kinematics(q))
        single = scene.query()
        rows = slice(found.first[i], found.first[i + 1])
        keys = list(zip(found.body_a[rows], found.body_b[rows], strict=True))
        order = {key: row for row, key in enumerate(zip(single.body_a, single.body_b, strict=True))}
        same = [order[key] for key in keys]
        np.testing.assert_allclose(found.distance[rows], single.distance[same], atol=1e-9)
        gradients = robot.distance_gradients(single, q).by_joint[same]
        apart = found.distance[rows] > 1e-3
        unique = apart & (found.status[rows] == 0) & (single.status[same] == 0)
        np.testing.assert_allclose(found.gradients[rows][unique], gradients[unique], atol=1e-4)


def test_robot_has_clearances_from_planning_scene_objects(robot):
    edit = PlanningScene(robot).edit()
    ground = np.eye(4)
    ground[2, 3] = -0.5
    edit.add("ground", [HalfSpace()], [np.eye(4)], ground)
    edit.padding = Padding(by_name={"rod": 0.01}, default=0.003)
    planning = edit.commit()
    q = positions(rod_z=1.0, rod_turn=0.0, part_z=1.0, part_turn=0.0)
    planning.scene.set_link_poses(robot.forward_kinematics(q))
    for name, expected in (("rod", 1.5 - 0.3 - 0.01), ("part", 1.5 - 0.1 - 0.003), ("floor", 0.3 - 0.003)):
        result = planning.scene.query(pairs=planning.body_pairs([name], ["ground"]))
        assert planning.clearances(result).distance[0] == pytest.approx(expected, abs=1e-8)


def test_robot_bodies_give_the_distances_of_equal_scene_bodies(robot):
    """Compare bodies from a file with the same shapes in a scene."""
    state = near_states(np.random.default_rng(7), robot)[0]
    poses = robot.forward_kinematics(dict(zip(robot.joint_names, state, strict=True)))
    shapes = {
        "floor": Box((2 * FLOOR_HALF, 2.0, 0.2)),
        "rod": Cylinder(*ROD),
        "pill": Capsule(*PILL),
        "ball": Sphere(BALL),
        "part": ConvexMesh(np.asarray(PYRAMID.vertices, dtype=np.float32)),
    }
    scene = Scene([Body(name, name, shape) for name, shape in shapes.items()])
    scene.set_link_poses({name: poses[name] for name in shapes})
    own = robot.scene()
    own.set_link_poses(poses)
    expected = {frozenset(scene.bodies[i].name for i in p): d
                for p, d in zip(zip(*(scene.query().body_a, scene.query().body_b), strict=True),
                                scene.query().distance, strict=True)}  # fmt: skip
    result = own.query()
    assert len(result) == len(expected) == 10
    for a, b, distance in zip(result.body_a, result.body_b, result.distance, strict=True):
        assert distance == pytest.approx(expected[frozenset((own.bodies[a].name, own.bodies[b].name))], abs=1e-9)


# -- malicious files ----------------------------------------------------------------------------------

TETRAHEDRON = """<?xml version="1.0" encoding="#"?><!--type-->
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><library_geometries>
<geometry id="g"><mesh><source id="p">
<float_array id="a" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array><technique_common>
<accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="4">
<input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 1 2 3 0 3 2</p></triangles></mesh></geometry>
</library_geometries><library_nodes></library_nodes><library_visual_scenes><visual_scene id="s">
<node id="n"><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def collada(encoding="utf-8", document_type="", name=None):
    text = TETRAHEDRON.replace("#", name or encoding, 1).replace("<!--type-->", document_type)
    return text.encode(encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "iso-8859-1"])
def test_document_type_is_rejected_in_every_encoding(encoding):
    name = encoding.removesuffix("-le").removesuffix("-be")
    with pytest.raises(ValueError, match="document type"):
        read_triangles(collada(encoding, '<!DOCTYPE c [<!ENTITY e "0 0 0 ">]>', name), "dae")
    if encoding not in ("utf-16-le", "utf-16-be"):  # these have no byte order mark
        assert len(read_triangles(collada(encoding, name=name), "dae")[1]) == 4


@pytest.mark.parametrize("letters", ["é", "ß comment", "日本"])
@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_non_ascii_names_and_comments_are_accepted(letters, encoding):
    foreign = letters.encode(encoding, "replace")
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    text = {kind: trimesh.exchange.export.export_mesh(box, None, kind) for kind in ("obj", "off", "stl_ascii")}
    text = {kind: data.encode() if isinstance(data, str) else data for kind, data in text.items()}
    solid = text["stl_ascii"].split(b"\n", 1)[1].rsplit(b"endsolid", 1)[0]
    files = [
        ("obj", b"# " + foreign + b"\no " + foreign + b"\n" + text["obj"]),
        ("off", text["off"].replace(b"OFF\n", b"OFF\n# " + foreign + b"\n", 1)),
        ("stl", b"solid " + foreign + b"\n" + solid + b"endsolid " + foreign + b"\n"),
        ("stl", foreign.ljust(80, b" ") + box.export(file_type="stl")[80:]),
    ]
    for style in ("ascii", "binary_little_endian"):
        ply = trimesh.exchange.ply.export_ply(box, encoding="ascii" if style == "ascii" else "binary")
        files.append(("ply", ply.replace(b"element vertex", b"comment " + foreign + b"\nelement vertex", 1)))
    for kind, data in files:
        vertices, faces = read_triangles(data, kind)
        assert len(faces) == 12, kind
        assert trimesh.Trimesh(vertices, faces).volume == pytest.approx(6.0), kind


@pytest.mark.parametrize("kind", ["off", "ply"])
def test_unused_points_of_a_file_are_dropped(kind):
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    stray = trimesh.Trimesh(np.vstack([[9.0, 0.0, 0.0], box.vertices]), box.faces + 1, process=False)
    data = trimesh.exchange.export.export_mesh(stray, None, kind)
    vertices, faces = read_triangles(data.encode() if isinstance(data, str) else data, kind)
    np.testing.assert_array_equal(vertices[faces], box.triangles)
    assert len(vertices) == 8


def nested_nodes(levels, times):
    nodes = '<node id="b0"><instance_geometry url="#g"/></node>' + "".join(
        f'<node id="b{i}">' + f'<instance_node url="#b{i - 1}"/>' * times + "</node>" for i in range(1, levels)
    )
    return collada().replace(b"<library_nodes>", b"<library_nodes>" + nodes.encode())


def glb(change):
    data = trimesh.creation.box().export(file_type="glb")
    length = int.from_bytes(data[12:16], "little")
    header = json.loads(data[20 : 20 + length])
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    rest = struct.pack("<I", len(text)) + data[16:20] + text + data[20 + length :]
    return data[:8] + struct.pack("<I", 12 + len(rest)) + rest


def test_files_with_excessive_repetition_are_rejected():
    with pytest.raises(ValueError, match="repeats its parts more than 2000 times"):
        read_triangles(nested_nodes(12, 10), "dae")
    many = collada().replace(b"</mesh>", b"<triangles/>" * 2001 + b"</mesh>")
    with pytest.raises(ValueError, match="has 2002 parts, expected at most 2000"):
        read_triangles(many, "dae")
    ring = collada().replace(b'<node id="n">', b'<node id="n"><instance_node url="#n"/>')
    with pytest.raises(ValueError, match="node 'n' contains itself"):
        read_triangles(ring, "dae")
    made_up = glb(lambda header: header["accessors"].append({"count": 10**10, "componentType": 5126, "type": "VEC3"}))
    with pytest.raises(ValueError, match=r"declares 100000000\d\d elements in \d+ bytes"):
        read_triangles(made_up, "glb")
    crowd = glb(
        lambda header: (
            header["nodes"].extend({"mesh": 0, "name": f"n{i}"} for i in range(20_000)),
            header["scenes"][0]["nodes"].extend(range(len(header["nodes"]) - 20_000, len(header["nodes"]))),
        )
    )
    with pytest.raises(ValueError, match="parts, expected at most 2000"):
        read_triangles(crowd, "glb")


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("stl", b"solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"
                b"endfacet\nendsolid s\n"),
        ("obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl m\nf -3 -2 -1\n"),
    ],
)  # fmt: skip
def test_file_with_very_many_solids_or_materials_is_read(kind, part):
    """The time grows linearly with their number."""
    assert len(read_triangles(30_000 * part, kind)[1]) == 30_000


def test_mesh_with_too_many_triangles_is_rejected(monkeypatch):
    monkeypatch.setattr(mesh_files, "MOST_TRIANGLES", 11)
    with pytest.raises(ValueError, match="has 12 triangles, expected at most 11"):
        read_triangles(trimesh.creation.box().export(file_type="stl"), "stl")


def test_internal_error_is_not_reported_as_a_description_error(package, monkeypatch):
    """numpy raises ValueError, too."""
    monkeypatch.setattr(mesh_files, "read_triangles", lambda data, kind: (np.zeros((3, 2)), np.zeros((1, 3), int)))
    with pytest.raises(ValueError, match="broadcast") as caught:
        Robot.from_urdf(one_link(collision(mesh())), package_directories={"pkg": package})
    assert not isinstance(caught.value, RobotDescriptionError)


def test_concavity_of_a_single_vertex_is_found():
    """Comparing planes with groups of points agrees with comparing all with all."""
    random = np.random.default_rng(5)
    for _ in range(40):
        ball = trimesh.creation.icosphere(int(random.integers(1, 4)))
        vertices = np.array(ball.vertices) + random.normal(size=3) * random.choice([0.0, 10.0])
        chosen = random.integers(len(vertices))
        depth = 10.0 ** random.uniform(-16.0, -1.0) * random.choice([0.0, 1.0])
        vertices[chosen] += depth * (vertices.mean(axis=0) - vertices[chosen])
        body = Mesh(vertices, ball.faces)
        a, b, c = (body.vertices[body.faces[:, i]] for i in range(3))
        normals = np.cross(b - a, c - a)
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        heights = (normals @ body.vertices.T - np.einsum("ij,ij->i", normals, a)[:, None]).max()
        reach = np.linalg.norm(body.vertices, axis=1).max()
        if not 0.9e-13 * reach < heights < 1.1e-13 * reach:  # otherwise rounding decides
            assert body.is_convex() == (heights <= 1e-13 * reach)


def test_address_without_package_name_is_fixed_with_a_warning(package):
    text = one_link(2 * collision(mesh("package:///pkg/meshes/part.stl")))
    robot = read(text, package)
    assert len(robot.bodies) == 2
    (warning,) = robot.warnings
    assert "package:///pkg/meshes/part.stl" in warning and "has no package name, like 1 more" in warning
    with pytest.raises(RobotDescriptionError, match="package '' is unknown"):
        read(text, package, strict=True)
    with pytest.raises(RobotDescriptionError, match=r"package '\.\.' is unknown"):
        read(one_link(collision(mesh("package:////../x.stl"))), package)
