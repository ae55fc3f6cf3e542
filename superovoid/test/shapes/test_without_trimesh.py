# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Only meshes need trimesh: without it everything else works, and functions that need it raise an error."""

import sys

import numpy as np
import pytest
from mesh_files import glb, stl_text

from superovoid import Box, Capsule, Cone, ConvexMesh, Cylinder, HalfSpace, Mesh, Scene, Sphere, Superovoid, Torus
from superovoid.robot import Robot, RobotDescriptionError

BODIES = [
    Superovoid((0.1, 0.2, 0.3), section_exponent=0.5, profile_exponent=0.7, taper=(0.1, 0.2)),
    Sphere(0.1),
    Box((0.2, 0.4, 0.6)),
    Capsule(0.1, 0.2),
    Cylinder(0.1, 0.2),
    Cone(0.1, 0.2),
    Torus(0.3, 0.1),
    ConvexMesh(np.vstack([np.eye(3), np.zeros(3)])),
]
CUBE = Box((2.0, 2.0, 2.0)).triangles()


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
@pytest.mark.parametrize("resolution", [4, 5, 24])
def test_triangles_close_around_the_body_and_lie_on_it(body, resolution):
    vertices, faces = body.triangles(resolution)
    assert vertices.shape[1:] == faces.shape[1:] == (3,) and faces.dtype == np.int64
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).tolist()
    assert sorted(map(tuple, edges)) == sorted((b, a) for a, b in edges)  # each once in either sense: closed
    a, b, c = vertices[faces].transpose(1, 0, 2)
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0
    assert 0.0 < volume <= body.volume() * (1.0 + 1e-9)  # outward; a torus' tube is inscribed, too
    assert body.contains(vertices * (1.0 - 1e-9)).all() or isinstance(body, Torus | ConvexMesh)


@pytest.fixture
def without_trimesh(monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh", None)


def urdf(geometry):
    return f'<robot name="r"><link name="a"><collision><geometry>{geometry}</geometry></collision></link></robot>'


def test_bodies_robots_and_their_triangles_work_without_trimesh(without_trimesh):
    assert len(Scene(Robot.load(urdf('<box size="1 1 1"/>')).bodies).bodies) == 1
    assert all(len(body.triangles()[1]) for body in (*BODIES, HalfSpace()))


def test_functions_that_need_trimesh_name_the_extra_to_install(without_trimesh, tmp_path):
    for ask in (
        Sphere(1.0).tessellate,
        HalfSpace().tessellate,
        lambda: Mesh(*CUBE),
        lambda: Mesh.from_triangles(*CUBE),
    ):
        with pytest.raises(
            ImportError, match=r"needs trimesh, which is not installed .*: pip install 'superovoid\[meshes\]'"
        ):
            ask()
    (tmp_path / "cube.glb").write_bytes(glb())
    text = urdf('<mesh filename="package://p/cube.glb"/>')
    with pytest.raises(RobotDescriptionError, match=r"a glb file needs trimesh.*pip install 'superovoid\[meshes\]'"):
        Robot.from_urdf(text, package_directories={"p": tmp_path})
    assert not Robot.from_urdf(text, package_directories={"p": tmp_path}, meshes="ignore").bodies


def test_polygon_files_are_read_as_hulls_without_trimesh(without_trimesh, tmp_path):
    (tmp_path / "tetra.stl").write_text(stl_text())
    (body,) = Robot.from_urdf(
        urdf('<mesh filename="package://p/tetra.stl"/>'), package_directories={"p": tmp_path}
    ).bodies
    assert isinstance(body.shape, ConvexMesh)
