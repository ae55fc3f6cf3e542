# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Links whose meshes are those of other links with negated coordinates have the bodies of these, negated too."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import trimesh

from superovoid.fitting import fit_robot
from superovoid.fitting.link_geometry import LinkGeometry, read_links
from superovoid.fitting.mirrored import Corners, image_of, mirror_record
from superovoid.fitting.robot_files import body_from_record, record_of_body
from superovoid.robot.files import PackageFolders, read_document
from superovoid.shapes import Box, Capsule, Superovoid

SIGNS = list(itertools.product((1, -1), repeat=3))


def wedge():
    """Return points without symmetry, as a closed mesh."""
    mesh = trimesh.convex.convex_hull([(0, 0, 0), (0.3, 0, 0), (0, 0.2, 0), (0, 0, 0.1), (0.1, 0.15, 0.08)])
    return mesh.apply_translation((0.02, -0.05, 0.01))


def geometry(mesh):
    return LinkGeometry("a", np.asarray(mesh.vertices), np.asarray(mesh.faces), "meshes", ())


def negate(mesh, signs, shift=0.0, seed=0):
    """Return a mesh with negated coordinates, corners and triangles in another order."""
    order = np.random.default_rng(seed).permutation(len(mesh.vertices))
    vertices = np.asarray(mesh.vertices * signs)[order] + shift
    faces = np.argsort(order)[mesh.faces][::-1, :: int(np.prod(signs))]
    return trimesh.Trimesh(vertices, faces, process=False)


@pytest.mark.parametrize("signs", SIGNS)
def test_negated_mesh_is_found(signs):
    found = image_of(Corners(geometry(wedge())), Corners(geometry(negate(wedge(), signs, shift=1e-8))))
    assert found.signs == signs and found.apart == pytest.approx(1e-8 * np.sqrt(3.0), rel=1e-3)


def test_other_meshes_are_not_found():
    one = wedge()
    moved = negate(one, (1, -1, 1), shift=1e-5)
    corner = one.copy()
    corner.vertices[4] += (1e-5, 0.0, 0.0)
    inverted = trimesh.Trimesh(one.vertices, one.faces[:, ::-1], process=False)
    fewer = trimesh.Trimesh(one.vertices, one.faces[1:], process=False)
    flat = [trimesh.Trimesh([(0, 0, 0), (1, 0, 0), (1, 1, 1), (0, 1, 0)], faces, process=False)
            for faces in ([(0, 1, 2), (0, 2, 3)], [(0, 1, 3), (1, 2, 3)])]  # fmt: skip
    for a, b in ((one, moved), (one, corner), (one, fewer), (one, inverted), flat):
        assert image_of(Corners(geometry(a)), Corners(geometry(b))) is None


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize(
    "shape",
    [
        Superovoid((0.1, 0.2, 0.3), section_exponent=0.4, profile_exponent=1.0, taper=(0.4, -0.2)),
        Box((0.1, 0.2, 0.3)),
        Capsule(0.1, 0.3),
    ],
)
def test_negated_body_contains_exactly_the_negated_points(shape, signs):
    pose = np.array(trimesh.transformations.euler_matrix(0.3, -0.7, 1.9))
    pose[:3, 3] = 0.1, -0.2, 0.05
    before = body_from_record(record_of_body(shape, pose))
    after = body_from_record(mirror_record(record_of_body(shape, pose), signs))
    # Bit for bit: the frame of the body is negated on both sides, and the shape is symmetric or has negated tapers.
    both = np.diag([*signs, 1.0])
    np.testing.assert_array_equal(after[1], both @ before[1] @ both)
    points = np.random.default_rng(0).uniform(-0.4, 0.4, (2000, 3)) + pose[:3, 3]
    local = (points - before[1][:3, 3]) @ before[1][:3, :3]
    other = (points * signs - after[1][:3, 3]) @ after[1][:3, :3]
    held = before[0].contains(local)
    assert 0.002 < held.mean() < 0.99
    np.testing.assert_array_equal(after[0].contains(other), held)


@pytest.mark.ci
def test_mirrored_link_has_mirrored_bodies_and_equal_figures(tmp_path):
    left = wedge()
    left.export(tmp_path / "left.stl")
    negate(trimesh.load(tmp_path / "left.stl"), (1, -1, 1)).export(tmp_path / "right.stl")
    links = "".join(
        f'<link name="{name}"><collision><geometry><mesh filename="package://pkg/{name}.stl"/></geometry></collision>'
        "</link>"
        for name in ("left", "right")
    )
    joint = '<joint name="j" type="fixed"><parent link="left"/><child link="right"/></joint>'
    text = f'<robot name="r">{links}{joint}</robot>'
    one, other = fit_robot(text, package_directories={"pkg": tmp_path}, bodies=1).links
    assert other.words == (*one.words, "is the same as link 'left' with negated y, and has its bodies")
    assert other.elements == tuple(mirror_record(record, (1, -1, 1)) for record in one.elements)
    assert (other.quality, other.clearance, other.uncovered) == (one.quality, one.clearance, one.uncovered)
    # Different numbers of bodies are different fits.
    _, other = fit_robot(
        text, package_directories={"pkg": tmp_path}, bodies=1, kinds=("box",), links={"right": 2}
    ).links
    assert not any("is the same" in note for note in other.words)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("robot", "target", "pairs"),
    [
        (
            "solo_description/robots/solo12.urdf",
            "collision",
            [("FL_UPPER_LEG", "FR_UPPER_LEG"), ("FL_LOWER_LEG", "FR_LOWER_LEG"), ("HL_SHOULDER", "HR_SHOULDER")],
        ),
        ("hyq_description/robots/hyq_no_sensors.urdf", "collision", [("lf_hipassembly", "rf_hipassembly")]),
        ("hyq_description/robots/hyq_no_sensors.urdf", "collision", [("lf_upperleg", "lh_upperleg")]),
        ("anymal_b_simple_description/robots/anymal.urdf", "visual", [("LF_HIP", "RF_HIP"), ("LF_SHANK", "RH_SHANK")]),
    ],
)
def test_legs_of_real_robots_are_images_of_each_other(robot, target, pairs):
    share = robots_folder()
    text, package = read_document("URDF", str(share / "robots" / robot), PackageFolders({"example-robot-data": share}))
    folders = PackageFolders({**package, "example-robot-data": share})
    links = {link.name: Corners(link) for link in read_links(text, folders, target) if link.state == "meshes"}
    for one, other in pairs:
        found = image_of(links[one], links[other])
        assert found is not None and found.signs != (1, 1, 1) and found.apart <= links[one].limit


def robots_folder():
    found = pytest.importorskip("cmeel", reason="example-robot-data is missing").__path__[0]
    share = Path(found).parent / "cmeel.prefix" / "share" / "example-robot-data"
    if not share.is_dir():
        pytest.skip("example-robot-data is missing: pip install 'superovoid_papers[robots]'")
    return share
