"""Groups and disabled pairs of an SRDF."""

import pytest

from superovoid_ros.robot import Robot, RobotDescriptionError

SPHERE = '<contact_geometry><sphere radius="0.1"/></contact_geometry>'
JOINT = '<joint name="{0}{1}" type="continuous"><parent link="{0}"/><child link="{1}"/></joint>'
URDF = (
    '<robot name="r">'
    + "".join(f'<link name="{name}">{SPHERE}</link>' for name in "abcde")
    + "".join(JOINT.format(*pair) for pair in ("ab", "bc", "cd", "ae"))
    + "</robot>"
)


def robot(content: str, name: str = "r") -> Robot:
    return Robot.from_urdf(URDF, srdf=f'<robot name="{name}">{content}</robot>')


def test_groups_are_unions_of_links_joints_chains_and_groups_in_the_order_of_the_urdf():
    groups = robot(
        '<group name="one"><link name="e"/><link name="a"/></group>'
        '<group name="two"><joint name="bc"/></group>'
        '<group name="three"><chain base_link="a" tip_link="c"/></group>'
        '<group name="four"><group name="three"/><group name="one"/></group>'
    ).groups
    assert groups == {"one": ("a", "e"), "two": ("c",), "three": ("b", "c"), "four": ("a", "b", "c", "e")}


def test_links_of_takes_links_and_groups_and_says_what_exists_otherwise():
    read = robot('<group name="one"><link name="e"/><link name="a"/></group>')
    assert read.links_of(["c", "one"]) == ("a", "c", "e")
    assert read.links_of([]) == ()
    with pytest.raises(ValueError, match=r"'x' is no link and no group of 'r' \(groups: one; links: a, b, c, d, e\)"):
        read.links_of(["x"])


def test_disabled_pairs_are_left_out_and_why_not_says_why():
    read = robot('<disable_collisions link1="e" link2="d" reason="Never"/>')
    names = {tuple(read.bodies[i].link for i in pair) for pair in read.body_pairs()}
    assert names == {("a", "c"), ("a", "d"), ("b", "d"), ("b", "e"), ("c", "e")}
    assert read.why_not("d", "e") == read.why_not("e", "d") == "the SRDF disables it (Never)"
    assert read.why_not("a", "b").startswith("a joint connects them (")
    assert read.why_not("a", "a") == "both are the same link"
    assert read.why_not("a", "c") is None
    with pytest.raises(ValueError, match="'x' is no link"):
        read.why_not("a", "x")


def test_pairs_can_be_chosen_by_links_and_groups():
    read = robot('<group name="tail"><link name="c"/><link name="d"/></group>')
    names = {tuple(read.bodies[i].link for i in pair) for pair in read.body_pairs(["tail"], ["a", "e"])}
    assert names == {("a", "c"), ("a", "d"), ("c", "e"), ("d", "e")}


def test_pairs_disabled_by_default_can_be_enabled_again():
    read = robot('<disable_default_collisions link="e"/><enable_collisions link1="e" link2="d"/>')
    assert read.why_not("e", "d") is None
    assert read.why_not("e", "c") is not None


def test_disabled_pairs_of_unknown_links_are_reported_and_ignored():
    assert "link 'zz' does not exist" in robot('<disable_collisions link1="zz" link2="d"/>').warnings[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<group name="g"><link name="x"/></group>', "group 'g' link 'x': link 'x' does not exist"),
        ('<group name="g"><joint name="x"/></group>', "group 'g': joint 'x' does not exist"),
        ('<group name="g"><group name="x"/></group>', "group 'g': group 'x' does not exist"),
        ('<group name="g"><chain base_link="e" tip_link="c"/></group>', "'e' is not on the way from 'c' to the root"),
        ('<group name="g"><chain base_link="a"/></group>', "has no attribute tip_link"),
        ('<group name="g"/><group name="g"/>', "group 'g': the name occurs twice"),
        ("<group/>", "has no attribute name"),
        ('<group name="g"><group name="h"/></group><group name="h"><group name="g"/></group>', "contains itself"),
        ('<disable_collisions link1="a"/>', "has no attribute link2"),
    ],
)
def test_a_bad_srdf_is_answered_with_the_element_and_the_value(content, message):
    with pytest.raises(RobotDescriptionError) as error:
        robot(content)
    assert message in str(error.value)


def test_an_srdf_of_another_robot_is_an_error():
    with pytest.raises(RobotDescriptionError, match="robot name = 'other': the URDF's robot is 'r'"):
        robot("", name="other")


def test_an_srdf_with_a_document_type_is_refused():
    with pytest.raises(RobotDescriptionError, match="SRDF: has a document type"):
        Robot.from_urdf(URDF, srdf='<!DOCTYPE robot><robot name="r"/>')


def test_a_virtual_joint_in_a_group_moves_no_link():
    read = robot(
        '<virtual_joint name="v" type="floating" parent_frame="odom" child_link="a"/>'
        '<group name="g"><joint name="v"/><link name="b"/></group>'
    )
    assert read.groups["g"] == ("b",)


def test_no_srdf_means_no_groups_and_only_neighbours_left_out():
    read = Robot.from_urdf(URDF)
    assert dict(read.groups) == {}
    assert len(read.body_pairs()) == 10 - 4


def test_fixed_virtual_joints_name_the_frame_at_a_link():
    joints = (
        '<virtual_joint name="v" type="fixed" parent_frame="world" child_link="a"/>'
        '<virtual_joint name="w" type="floating" parent_frame="odom" child_link="a"/>'
    )
    assert dict(robot(joints).fixed_frames) == {"world": "a"}


def test_enabled_pair_is_checked_though_a_joint_connects_it():
    read = robot('<enable_collisions link1="a" link2="b"/>')
    assert read.why_not("a", "b") is None and read.rules.why("a", "b").rule == "srdf"
