# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Triangles of visual and collision elements, with warnings for unreadable ones."""

import numpy as np
import pytest

from superovoid.robot import RobotDescriptionError
from superovoid.robot.appearance import read_looks

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
URDF = """<robot name="two">
  <link name="a">
    <visual><origin xyz="0 0 1"/><geometry><box size="2 4 6"/></geometry></visual>
    <visual><geometry><mesh filename="package://shop/t.obj" scale="-1 1 1"/></geometry></visual>
    <collision><geometry><sphere radius="3"/></geometry></collision>
  </link>
  <link name="b">
    <visual><geometry><!-- words --><mesh filename="package://shop/lost.obj"/></geometry></visual>
    <visual><geometry><mesh filename="file:///etc/passwd"/></geometry></visual>
    <visual><geometry><teapot/></geometry></visual>
    <visual><geometry><box size="-1 1 1"/></geometry></visual>
    <visual><origin xyz="0 nan 0"/><geometry><sphere radius="1"/></geometry></visual>
  </link>
  <joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>
</robot>"""


def volume(look):
    """Return the signed volume, positive if the triangles face outwards."""
    a, b, c = np.moveaxis(look.vertices[look.faces], 1, 0)
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0


def test_visual_and_collision_elements_become_triangles(tmp_path):
    (tmp_path / "t.obj").write_text(TETRAHEDRON)
    looks, warnings = read_looks(URDF, "visual", {"shop": tmp_path})
    assert [look.link for look in looks] == ["a", "a"]
    box, mirrored = looks
    assert volume(box) == pytest.approx(48.0) and box.link_from_mesh[2, 3] == 1.0
    assert volume(mirrored) == pytest.approx(1.0)  # positive also for a mirrored mesh
    assert mirrored.vertices.min(axis=0).tolist() == [-1.0, 0.0, 0.0]
    assert len(warnings) == 5
    for words in ("lost.obj", "outside the known packages", "teapot", "must be positive", "nan"):
        assert sum(words in warning for warning in warnings) == 1, (words, warnings)
    (ball,), none = read_looks(URDF, "collision", {"shop": tmp_path})
    assert np.linalg.norm(ball.vertices, axis=1) == pytest.approx(3.0) and not none


def test_document_other_than_a_urdf_is_rejected():
    with pytest.raises(RobotDescriptionError):
        read_looks("<robot", "visual")
    with pytest.raises(ValueError, match="element"):
        read_looks(URDF, "inertial")
