# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The model of the iCub's upper body: generated files, kinematics, mirror, groups, pairs, named states."""

import math
import re
import shutil
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superovoid.robot import Robot
from superovoid.robot.urdf import REPRESENTATIONS
from superovoid_ros.icub.upper_body import write_upper_body
from superovoid_ros.motions.grasp_sweep import read_sweep
from superovoid_ros.resources import share_directory

URDF = pytest.importorskip("urchin", reason="urchin is missing: pip install 'superovoid[plan]'").URDF

SHARE = share_directory()
URDF_TEXT = (SHARE / "urdf" / "icub_upper_body.urdf").read_text(encoding="utf-8")
SRDF_TEXT = (SHARE / "config" / "icub_upper_body.srdf").read_text(encoding="utf-8")
SRDF = ElementTree.fromstring(SRDF_TEXT)
ROBOT = Robot.from_urdf(URDF_TEXT, srdf=SRDF_TEXT)
HANDS, SWEEP = read_sweep()
TORSO = ["torso_pitch", "torso_roll", "torso_yaw"]
ARM = ["shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_prosup", "wrist_pitch", "wrist_yaw"]
REST = dict.fromkeys(ROBOT.joint_names, 0.0)
MIRROR = np.diag([1.0, -1.0, 1.0, 1.0])
ARM_POSITIONS = st.fixed_dictionaries(
    {name: st.floats(*ROBOT.joint_limits[f"r_{name}"], allow_nan=False) for name in ARM}
)


def both_arms(values):
    return {f"{side}_{name}": value for side in ("l", "r") for name, value in values.items()}


def test_generated_files_follow_from_the_figures(tmp_path):
    (tmp_path / "config").mkdir()
    for name in (
        "icub_hand.yaml", "icub_hand_fits.yaml", "icub_arm.yaml", "icub_hands.srdf", "grasp_sweep.yaml",
        "grasp_sweep_arms.yaml",
    ):  # fmt: skip
        shutil.copy(SHARE / "config" / name, tmp_path / "config")
    for path in write_upper_body(tmp_path):
        file = SHARE / path.relative_to(tmp_path)
        assert path.read_bytes() == file.read_bytes(), f"{file}: regenerate: superovoid dev fit-hands --models-only"


# ------------------------------------------------------------------------------------------------------- kinematics


def test_joints_are_those_of_torso_arms_and_hands():
    assert ROBOT.root == "base_link" and ROBOT.base_links == ()
    arms = [name for name in ROBOT.joint_names if name not in HANDS.joint_names]
    assert arms == [*TORSO, *(f"l_{name}" for name in ARM), *(f"r_{name}" for name in ARM)]
    assert set(ROBOT.joint_names) - set(arms) == set(HANDS.joint_names)
    assert dict(ROBOT.mimic) == dict(HANDS.mimic)
    for name in HANDS.joint_names:
        assert ROBOT.joint_limits[name] == HANDS.joint_limits[name]


# Published pose of the palms in the iCub's root frame with all joints at zero (rpy about fixed axes).
PALMS_AT_ZERO = {
    "right": ((-0.0125877, 0.1101078, -0.1222507), (0.261467, -1.5707831, 1.5711304)),
    "left": ((-0.0125854, -0.1101101, -0.1222499), (-2.0778294, -1.5707924, 0.2452341)),
}


@pytest.mark.parametrize("side", PALMS_AT_ZERO)
def test_palms_at_zero_have_their_published_poses(side):
    poses = ROBOT.forward_kinematics(REST)
    found = np.linalg.inv(poses["root_link"]) @ poses[f"{side}_palm"]
    xyz, (roll, pitch, yaw) = PALMS_AT_ZERO[side]
    np.testing.assert_allclose(found[:3, 3], xyz, atol=5e-6)
    # Rotations about fixed axes x, y, z in turn; published angles have four to five digits.
    (sr, sp, sy), (cr, cp, cy) = np.sin([roll, pitch, yaw]), np.cos([roll, pitch, yaw])
    x, y = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]]), np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    np.testing.assert_allclose(found[:3, :3], z @ y @ x, atol=3e-5)


# Published axes at zero in the iCub's root frame (x backward, y to the right), by the public names of the joints.
S, C = math.sin(math.radians(15.0)), math.cos(math.radians(15.0))
AXES_AT_ZERO = {
    "torso_pitch": (0, -1, 0), "torso_roll": (1, 0, 0), "torso_yaw": (0, 0, -1),
    "r_shoulder_pitch": (S, -C, 0), "r_shoulder_roll": (C, S, 0), "r_shoulder_yaw": (0, 0, 1),
    "r_elbow": (-S, C, 0), "r_wrist_prosup": (0, 0, 1), "r_wrist_pitch": (-C, -S, 0), "r_wrist_yaw": (S, -C, 0),
    "l_shoulder_pitch": (-S, -C, 0), "l_shoulder_roll": (-C, S, 0), "l_shoulder_yaw": (0, 0, -1),
    "l_elbow": (S, C, 0), "l_wrist_prosup": (0, 0, -1), "l_wrist_pitch": (C, -S, 0), "l_wrist_yaw": (-S, -C, 0),
}  # fmt: skip


@pytest.mark.parametrize("joint", AXES_AT_ZERO)
def test_joints_turn_about_their_published_axes(joint):
    poses = ROBOT.forward_kinematics(REST)
    rates = ROBOT.jacobian("left_palm" if joint.startswith("l_") else "right_palm", np.zeros(3), REST)
    axis = np.linalg.inv(poses["root_link"])[:3, :3] @ rates[3:, ROBOT.joint_names.index(joint)]
    np.testing.assert_allclose(axis, AXES_AT_ZERO[joint], atol=5e-5)


def test_root_faces_forward_with_left_on_the_left():
    poses = ROBOT.forward_kinematics(REST | both_arms({"shoulder_pitch": -1.0, "elbow": 1.0}))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        assert sign * poses[f"{side}_palm"][1, 3] > 0.03
        assert poses[f"{side}_palm"][0, 3] > 0.1  # in front: REP-103
    assert poses["chest"][2, 3] > 0.0


@settings(deadline=None, max_examples=50)
@given(ARM_POSITIONS)
def test_left_arm_mirrors_the_right_for_equal_positions(values):
    poses = ROBOT.forward_kinematics(REST | both_arms(values))
    # Mirrored exactly in the frame of the chest, with x lateral.
    from_chest = np.linalg.inv(poses["chest"])
    lateral = np.diag([-1.0, 1.0, 1.0, 1.0])
    for left, right in (("l_elbow_1", "r_elbow_1"), ("l_hand", "r_hand"), ("left_index_3", "right_index_3")):
        # The chest's x is lateral to 1e-5 rad, as published (a right angle of 1.5708).
        np.testing.assert_allclose(from_chest @ poses[left], lateral @ from_chest @ poses[right] @ MIRROR, atol=3e-5)


@settings(deadline=None, max_examples=20)
@given(values=ARM_POSITIONS, pitch=st.floats(-0.3, 1.2), yaw=st.floats(-0.8, 0.8))
def test_forward_kinematics_agree_with_urchin(urchin_robot, values, pitch, yaw):
    positions = REST | both_arms(values) | {"torso_pitch": pitch, "torso_yaw": yaw}
    poses = ROBOT.forward_kinematics(positions)
    for link, pose in urchin_robot.link_fk(cfg=positions, use_names=True).items():
        np.testing.assert_allclose(poses[link], pose, atol=1e-9)


@pytest.fixture(scope="module")
def urchin_robot(tmp_path_factory):
    """Load the file and its meshes with urchin, after resolving package:// addresses."""
    path = tmp_path_factory.mktemp("urdf") / "upper_body.urdf"
    path.write_text(URDF_TEXT.replace("package://superovoid_ros/urdf/", f"{SHARE}/urdf/"))
    return URDF.load(str(path))


def test_hands_equal_those_of_the_separate_model():
    alone = {body.name: body for body in HANDS.bodies}
    for body in ROBOT.bodies:
        if body.name in alone:
            assert body.shape == alone[body.name].shape
            np.testing.assert_array_equal(body.link_from_body, alone.pop(body.name).link_from_body)
    assert not alone
    palms = {f"{side}_palm" for side in ("left", "right")}
    together = ROBOT.forward_kinematics(REST | dict(SWEEP.positions))
    apart = HANDS.forward_kinematics(SWEEP.positions, {palm: together[palm] for palm in palms})
    for link in HANDS.links[1:]:
        np.testing.assert_allclose(together[link], apart[link], atol=1e-14)


# ------------------------------------------------------------------------------------------------- bodies and pairs


def test_chest_upper_arms_and_forearms_have_bodies_between_their_joints():
    bodies = {body.link: body for body in ROBOT.bodies if body.link not in HANDS.links}
    assert set(bodies) == {"chest", "l_upper_arm", "l_forearm", "r_upper_arm", "r_forearm"}
    poses = ROBOT.forward_kinematics(REST)
    for link, ends in (("r_upper_arm", ("r_shoulder_2", "r_elbow_1")), ("r_forearm", ("r_elbow_1", None))):
        body = bodies[link]
        world_from_body = poses[link] @ body.link_from_body
        for end in filter(None, ends):
            inside = np.linalg.inv(world_from_body) @ poses[end][:, 3]
            assert body.shape.implicit(inside[None, :3])[0] < 0.0, f"{end} is not within {link}"


def test_every_body_is_convex_in_every_representation():
    for representation in REPRESENTATIONS:
        robot = Robot.from_urdf(URDF_TEXT, srdf=SRDF_TEXT, representation=representation)
        assert all(body.shape.convexity().convex for body in robot.bodies)
        assert not robot.warnings


def test_groups_are_torso_arms_and_the_groups_of_the_hands():
    for group, links in HANDS.groups.items():
        assert ROBOT.groups[group] == links
    assert ROBOT.groups["torso"] == ("torso_1", "torso_2", "chest")
    for side in ("left", "right"):
        names = ("shoulder_1", "shoulder_2", "upper_arm", "elbow_1", "forearm", "wrist_1", "hand")
        assert ROBOT.groups[f"{side}_arm"] == tuple(f"{side[0]}_{name}" for name in names)
        assert not set(ROBOT.groups[f"{side}_arm"]) & set(ROBOT.groups[f"{side}_hand"])
    assert set(ROBOT.groups["arms"]) == {*ROBOT.groups["left_arm"], *ROBOT.groups["right_arm"]}
    assert set(ROBOT.groups["upper_body"]) == {*ROBOT.groups["torso"], *ROBOT.groups["arms"]}


def test_hands_check_the_same_pairs_as_alone():
    for side in ("left", "right"):
        for other in ("left", "right"):
            groups = ([f"{side}_hand"], [f"{other}_hand"])
            found, expected = (
                {frozenset(robot.bodies[i].name for i in pair) for pair in robot.body_pairs(*groups)}
                for robot in (ROBOT, HANDS)
            )
            assert found == expected


def test_no_pair_of_links_of_different_sides_is_disabled():
    for pair in SRDF.iter("disable_collisions"):
        sides = {re.match(r"l(eft)?_|r(ight)?_|", pair.get(name))[0][:1] for name in ("link1", "link2")}
        assert not {"l", "r"} <= sides
        assert pair.get("reason") in ("Adjacent", "Default", "Always", "Never")


def test_arms_are_checked_against_the_chest_and_each_other():
    for side in ("l", "r"):
        assert ROBOT.exclusion_reason("chest", f"{side}_forearm") is None
        assert ROBOT.exclusion_reason("chest", f"{side}_upper_arm") is not None
    assert ROBOT.exclusion_reason("l_forearm", "r_forearm") is None
    assert ROBOT.exclusion_reason("chest", "left_index_3") is None


# ------------------------------------------------------------------------------------------------------ named states


@pytest.mark.parametrize("state", SRDF.findall("group_state"), ids=lambda s: f"{s.get('group')}-{s.get('name')}")
def test_named_states_are_complete_within_limits_and_free_of_overlaps(state):
    positions = {joint.get("name"): float(joint.get("value")) for joint in state}
    child = {
        joint.get("name"): joint.find("child").get("link") for joint in ElementTree.fromstring(URDF_TEXT).iter("joint")
    }
    links = set(ROBOT.groups[state.get("group")])
    assert set(positions) == {name for name in ROBOT.joint_names if child[name] in links}
    for name, value in positions.items():
        lower, upper = ROBOT.joint_limits[name]
        assert lower <= value <= upper
    scene = ROBOT.scene()
    # The rest as in the first frame of the sweep, with separate hands.
    first = {
        joint.get("name"): float(joint.get("value"))
        for other in SRDF.findall("group_state")
        if (other.get("group"), other.get("name")) == ("upper_body", "sweep_first")
        for joint in other
    }
    scene.set_link_poses(ROBOT.forward_kinematics(REST | first | positions))
    overlapping = scene.query(overlapping_only=True)
    touching = {
        (ROBOT.bodies[a].link, ROBOT.bodies[b].link)
        for a, b in zip(overlapping.body_a, overlapping.body_b, strict=True)
    }
    if state.get("name") == "sweep_last":
        # In the grasp only the hands overlap.
        hands = set(ROBOT.groups["left_hand"]) | set(ROBOT.groups["right_hand"])
        touching = {pair for pair in touching if not set(pair) <= hands}
    assert touching == set()
