# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The models of the iCub's hands: generated files, kinematics, mirror, bodies, groups and pairs."""

import re
import shutil
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import trimesh
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from superovoid.robot import Robot
from superovoid.robot.urdf import REPRESENTATIONS
from superovoid_ros.icub.hand_models import HandFigures, write_hands
from superovoid_ros.resources import share_directory

URDF = pytest.importorskip("urchin", reason="urchin is missing: pip install 'superovoid[plan]'").URDF

SHARE = share_directory()
URDF_TEXT = (SHARE / "urdf" / "icub_hands.urdf").read_text(encoding="utf-8")
SRDF_TEXT = (SHARE / "config" / "icub_hands.srdf").read_text(encoding="utf-8")
HAND = HandFigures(SHARE / "config")
ROBOTS = {name: Robot.from_urdf(URDF_TEXT, srdf=SRDF_TEXT, representation=name) for name in REPRESENTATIONS}
ROBOT = ROBOTS["mixed"]
REST = dict.fromkeys(ROBOT.joint_names, 0.0)
BASES = {base: np.eye(4) for base in ROBOT.base_links}
FINGERS = ("thumb", "index", "middle", "ring", "little")
FINGER_LINKS = [f"{finger}_{i}" for finger in FINGERS for i in range(5 if finger == "thumb" else 4)]
MIRROR = np.diag([1.0, -1.0, 1.0, 1.0])

# Published finger tips in the palm frame with all joints at zero (rounded to 0.01 mm).
TIPS_AT_ZERO = {
    "thumb": (-0.07993, 0.08754, 0.02658),
    "index": (-0.14379, 0.02561, 0.01225),
    "middle": (-0.14960, 0.01000, 0.01100),
    "ring": (-0.14365, -0.00659, 0.01175),
    "little": (-0.13464, -0.02602, 0.01350),
}


def both_hands(values: dict[str, float]) -> dict[str, float]:
    """Return equal positions for both hands, from names without side."""
    return {f"{side}_{name}": value for side in ("left", "right") for name, value in values.items()}


HAND_JOINTS = [name.removeprefix("right_") for name in ROBOT.joint_names if name.startswith("right_")]
POSITIONS = st.fixed_dictionaries({name: st.floats(0.0, 1.5708) for name in HAND_JOINTS})


def test_generated_files_follow_from_the_figures(tmp_path):
    (tmp_path / "config").mkdir()
    for name in ("icub_hand.yaml", "icub_hand_fits.yaml"):
        shutil.copy(SHARE / "config" / name, tmp_path / "config")
    for path in write_hands(tmp_path):
        shipped = SHARE / path.relative_to(tmp_path)
        assert path.read_bytes() == shipped.read_bytes(), f"{shipped}: regenerate it with `superovoid dev fit-hands`"


def test_every_mesh_is_generated():
    meshes = {path.name for path in (SHARE / "urdf" / "meshes").iterdir()}
    palm, arms = ["palm_0", "palm_1", "palm_2"], ["chest", "upper_arm", "forearm"]
    assert meshes == {f"{link}.stl" for link in [*FINGER_LINKS, *palm, *arms]}


# ------------------------------------------------------------------------------------------------------- kinematics


def test_each_hand_has_a_palm_and_21_finger_links_with_bodies():
    for side in ("left", "right"):
        links = {body.link for body in ROBOT.bodies if body.link.startswith(side)}
        assert links == {f"{side}_{name}" for name in ["palm", *FINGER_LINKS]}
    assert (ROBOT.root, ROBOT.base_links) == ("world", ("left_palm", "right_palm"))
    assert ROBOT.links_without_geometry == ("world", "left_fingers_base", "right_fingers_base")


@pytest.mark.parametrize("finger", FINGERS)
def test_finger_tips_at_zero_have_their_published_positions(finger):
    poses = ROBOT.forward_kinematics(REST, BASES)
    tip = np.append(HAND.figures["fingers"][finger]["tip"], 1.0)
    last = f"{finger}_{4 if finger == 'thumb' else 3}"
    np.testing.assert_allclose((poses[f"right_{last}"] @ tip)[:3], TIPS_AT_ZERO[finger], atol=6e-6)
    np.testing.assert_allclose((poses[f"left_{last}"] @ tip)[:3], MIRROR[:3, :3] @ TIPS_AT_ZERO[finger], atol=6e-6)


@settings(deadline=None)
@given(POSITIONS)
def test_left_hand_mirrors_the_right_for_equal_positions(values):
    poses = ROBOT.forward_kinematics(both_hands(values), BASES)
    for link in ["palm", *FINGER_LINKS]:
        np.testing.assert_allclose(poses[f"left_{link}"], MIRROR @ poses[f"right_{link}"] @ MIRROR, atol=1e-12)


def test_left_bodies_mirror_the_right_ones():
    for robot in ROBOTS.values():
        bodies = {body.name: body for body in robot.bodies}
        for name, left in bodies.items():
            if name.startswith("left_"):
                right = bodies[name.replace("left_", "right_")]
                assert left.shape == right.shape
                np.testing.assert_allclose(left.link_from_body, MIRROR @ right.link_from_body @ MIRROR, atol=1e-15)


def test_fingers_flex_to_the_palmar_side():
    open_hand = ROBOT.forward_kinematics(REST, BASES)
    bent = ROBOT.forward_kinematics(both_hands(dict.fromkeys(HAND_JOINTS, 0.0) | {"ij3": 1.0, "mj4": 1.0}), BASES)
    for side in ("left", "right"):
        for link in ("index_3", "middle_3"):
            assert bent[f"{side}_{link}"][2, 3] > open_hand[f"{side}_{link}"][2, 3] + 0.01


@pytest.mark.parametrize("side", ["left", "right"])
def test_joints_of_one_motor_follow_the_first(side):
    assert {name: mimic.joint for name, mimic in ROBOT.mimic.items() if name.startswith(side)} == {
        f"{side}_{name}": f"{side}_{master}"
        for master, names in {
            "tj5": ["tj6"],
            "ij4": ["ij5"],
            "mj4": ["mj5"],
            "rij3": ["rij4", "rij5", "lij3", "lij4", "lij5"],
        }.items()
        for name in names
    }
    assert HAND_JOINTS == ["tj2", "tj4", "tj5", "ij3", "ij4", "mj3", "mj4", "rij3"]
    assert all(mimic.multiplier == 1.0 and mimic.offset == 0.0 for mimic in ROBOT.mimic.values())


@pytest.fixture(scope="module")
def urchin_robot(tmp_path_factory) -> URDF:
    """Load the file and its meshes with urchin, after resolving package:// addresses."""
    folder = tmp_path_factory.mktemp("urdf")
    text = URDF_TEXT.replace("package://superovoid_ros/urdf/", f"{SHARE}/urdf/")
    (folder / "hands.urdf").write_text(text)
    return URDF.load(str(folder / "hands.urdf"))


@settings(deadline=None, max_examples=25)
@given(values=POSITIONS)
def test_forward_kinematics_agree_with_urchin(urchin_robot, values):
    positions = both_hands(values)
    poses = ROBOT.forward_kinematics(positions, BASES)
    for link, pose in urchin_robot.link_fk(cfg=positions, use_names=True).items():
        np.testing.assert_allclose(poses[link], pose, atol=1e-9)


def test_urchin_finds_meshes_masses_and_limits(urchin_robot):
    for link in urchin_robot.links:
        if link.name in ROBOT.links_without_geometry:
            continue
        assert len(link.visuals) == len(link.collisions) == (3 if link.name.endswith("palm") else 1)
        for visual in link.visuals:
            assert 200 <= len(visual.geometry.meshes[0].vertices) <= 300
        assert 1e-4 < link.inertial.mass < 0.3
        moments = np.linalg.eigvalsh(link.inertial.inertia)
        assert moments[0] > 0.0 and moments[2] <= moments[0] + moments[1]
    for joint in urchin_robot.joints:
        if joint.joint_type == "revolute":
            assert (joint.limit.lower, joint.limit.upper) == (0.0, 1.5708)


def test_meshes_are_closed_and_lie_on_the_bodies():
    for body in ROBOT.bodies:
        if not body.name.startswith("right_"):
            continue
        name = body.name.removeprefix("right_").replace("/", "_")
        mesh = trimesh.load(SHARE / "urdf" / "meshes" / f"{name}.stl")
        assert mesh.is_watertight
        assert mesh.volume == pytest.approx(body.shape.volume(), rel=0.06)
        assert np.abs(body.shape.implicit(mesh.vertices)).max() < 0.05
        assert mesh.volume > 0.0


def test_the_urdf_has_standard_elements_only():
    root = ElementTree.fromstring(URDF_TEXT)
    assert {child.tag for child in root} == {"material", "link", "joint"}
    for mesh in root.iter("mesh"):
        assert re.fullmatch(r"package://superovoid_ros/urdf/meshes/\w+\.stl", mesh.get("filename"))


# ----------------------------------------------------------------------------------------------- bodies and pairs


def test_every_body_is_convex_in_every_representation():
    for robot in ROBOTS.values():
        assert all(body.shape.convexity().convex for body in robot.bodies)


def test_representations_have_the_bodies_of_their_names():
    def tapered_links(robot: Robot) -> set[str]:
        return {body.link for body in robot.bodies if type(body.shape).__name__ == "Superovoid"}

    fingers = {f"{side}_{name}" for side in ("left", "right") for name in FINGER_LINKS}
    tips = {
        f"{side}_{name}"
        for side in ("left", "right")
        for name in ("thumb_4", "index_3", "middle_3", "ring_3", "little_3")
    }
    assert tapered_links(ROBOTS["superellipsoids"]) == set()
    assert tapered_links(ROBOTS["superovoids"]) == fingers
    # The thumb's base is a wedge, unlike any superellipsoid (docs/reference/hands.md).
    assert tapered_links(ROBOTS["mixed"]) == tips | {"left_thumb_1", "right_thumb_1"}


def test_groups_are_the_hands_the_fingers_and_each_finger():
    for side in ("left", "right"):
        for finger in FINGERS:
            links = tuple(f"{side}_{name}" for name in FINGER_LINKS if name.startswith(finger))
            assert ROBOT.groups[f"{side}_{finger}"] == links
        assert ROBOT.groups[f"{side}_fingers"] == tuple(f"{side}_{name}" for name in FINGER_LINKS)
        assert ROBOT.groups[f"{side}_hand"] == (f"{side}_palm", *ROBOT.groups[f"{side}_fingers"])


def test_pairs_of_the_sweep_are_all_finger_links_of_both_hands():
    pairs = ROBOT.body_pairs(["left_fingers"], ["right_fingers"])
    assert len(pairs) == 21 * 21
    assert {tuple(ROBOT.bodies[i].link.split("_")[0] for i in pair) for pair in pairs} == {("left", "right")}


def test_no_pair_of_links_of_different_hands_is_disabled():
    for a in ROBOT.groups["left_hand"]:
        for b in ROBOT.groups["right_hand"]:
            assert ROBOT.exclusion_reason(a, b) is None


def test_links_connected_by_a_joint_are_disabled_as_adjacent():
    disabled = yaml.safe_dump(sorted(re.findall(r'link1="(\w+)" link2="(\w+)" reason="Adjacent"', SRDF_TEXT)))
    assert "right_index_1" in disabled
    assert ROBOT.exclusion_reason("right_index_1", "right_index_2") == "the SRDF disables it (Adjacent)"
    assert ROBOT.exclusion_reason("right_palm", "right_index_0") == "the SRDF disables it (Adjacent)"


def test_both_hands_disable_the_same_pairs():
    pairs = {
        side: set(re.findall(rf'link1="{side}_(\w+)" link2="{side}_(\w+)" reason="(\w+)"', SRDF_TEXT))
        for side in ("left", "right")
    }
    assert pairs["left"] == pairs["right"]
    assert {reason for *_, reason in pairs["left"]} <= {"Adjacent", "Default", "Always", "Never"}


def test_no_allowed_pair_of_an_open_hand_overlaps():
    far = np.eye(4)
    far[0, 3] = 1.0
    for robot in ROBOTS.values():
        scene = robot.scene()
        scene.set_link_poses(robot.forward_kinematics(REST, {"left_palm": np.eye(4), "right_palm": far}))
        assert scene.query(overlapping_only=True).statistics.intersecting == 0


def test_a_finger_may_touch_the_thumb():
    for finger in FINGERS[1:]:
        assert ROBOT.exclusion_reason("right_thumb_4", f"right_{finger}_3") is None
