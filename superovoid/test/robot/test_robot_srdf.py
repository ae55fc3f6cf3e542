# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Groups and disabled pairs of an SRDF."""

from random import Random

import numpy as np
import pytest

from superovoid import Body, Scene, state_distances
from superovoid.robot import Robot, RobotDescriptionError
from superovoid.robot.srdf import MAXIMUM_GROUPS
from superovoid.shapes import Box

SPHERE = '<contact_geometry><sphere radius="0.1"/></contact_geometry>'
JOINT = '<joint name="{0}{1}" type="continuous"><parent link="{0}"/><child link="{1}"/></joint>'
URDF = (
    '<robot name="r">'
    + "".join(f'<link name="{name}">{SPHERE}</link>' for name in "abcde")
    + "".join(JOINT.format(*pair) for pair in ("ab", "bc", "cd", "ae"))
    + "</robot>"
)


def robot(content: str, name: str = "r", **options) -> Robot:
    return Robot.from_urdf(URDF, srdf=f'<robot name="{name}">{content}</robot>', **options)


def test_group_is_the_union_of_its_parts_in_urdf_order():
    groups = robot(
        '<group name="one"><link name="e"/><link name="a"/></group>'
        '<group name="two"><joint name="bc"/></group>'
        '<group name="three"><chain base_link="a" tip_link="c"/></group>'
        '<group name="four"><group name="three"/><group name="one"/></group>'
    ).groups
    assert groups == {"one": ("a", "e"), "two": ("c",), "three": ("b", "c"), "four": ("a", "b", "c", "e")}


def test_links_of_accepts_links_and_groups():
    read = robot('<group name="one"><link name="e"/><link name="a"/></group>')
    assert read.links_of(["c", "one"]) == ("a", "c", "e")
    assert read.links_of([]) == ()
    with pytest.raises(ValueError, match=r"'x' is not a link or group of 'r' \(groups: one; links: a, b, c, d, e\)"):
        read.links_of(["x"])


def test_disabled_pairs_are_excluded_and_explained():
    read = robot('<disable_collisions link1="e" link2="d" reason="Never"/>')
    names = {tuple(read.bodies[i].link for i in pair) for pair in read.body_pairs()}
    assert names == {("a", "c"), ("a", "d"), ("b", "d"), ("b", "e"), ("c", "e")}
    assert read.exclusion_reason("d", "e") == read.exclusion_reason("e", "d") == "the SRDF disables it (Never)"
    assert read.exclusion_reason("a", "b").startswith("a joint connects them (")
    assert read.exclusion_reason("a", "a") == "both are the same link"
    assert read.exclusion_reason("a", "c") is None
    with pytest.raises(ValueError, match="'x' is not a link"):
        read.exclusion_reason("a", "x")


def test_body_pairs_can_be_selected_by_links_and_groups():
    read = robot('<group name="tail"><link name="c"/><link name="d"/></group>')
    names = {tuple(read.bodies[i].link for i in pair) for pair in read.body_pairs(["tail"], ["a", "e"])}
    assert names == {("a", "c"), ("a", "d"), ("c", "e"), ("d", "e")}


def test_pairs_disabled_by_default_can_be_enabled():
    read = robot('<disable_default_collisions link="e"/><enable_collisions link1="e" link2="d"/>')
    assert read.exclusion_reason("e", "d") is None
    assert read.exclusion_reason("e", "c") is not None


def test_disabled_pairs_of_unknown_links_are_reported_and_ignored():
    assert "link 'zz' does not exist" in robot('<disable_collisions link1="zz" link2="d"/>').warnings[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<group name="g"><link name="x"/></group>', "group 'g' link 'x': link 'x' does not exist"),
        ('<group name="g"><joint name="x"/></group>', "group 'g': joint 'x' does not exist"),
        ('<group name="g"><group name="x"/></group>', "group 'g': group 'x' does not exist"),
        ('<group name="g"><chain base_link="e" tip_link="c"/></group>', "'e' is not on the path from 'c' to the root"),
        ('<group name="g"><chain base_link="a"/></group>', "has no attribute tip_link"),
        ('<group name="g"/><group name="g"/>', "group 'g': the name occurs twice"),
        ("<group/>", "has no attribute name"),
        ('<group name="g"><group name="h"/></group><group name="h"><group name="g"/></group>', "contains itself"),
        ('<disable_collisions link1="a"/>', "has no attribute link2"),
    ],
)
def test_error_about_a_bad_srdf_has_element_and_value(content, message):
    with pytest.raises(RobotDescriptionError) as error:
        robot(content, strict=True)
    assert message in str(error.value)


def test_srdf_of_another_robot_is_an_error_if_strict():
    with pytest.raises(RobotDescriptionError, match="robot name = 'other': the URDF's robot is 'r'"):
        robot("", name="other", strict=True)


# -- lenient, as in srdfdom and MoveIt's robot model -----------------------------------------------------------------


def test_srdf_of_another_robot_is_read_with_a_warning():
    read = robot('<disable_collisions link1="a" link2="d"/>', name="other")
    assert read.warnings == ("SRDF: robot name = 'other': the URDF's robot is 'r'",)
    assert "the SRDF disables it" in read.exclusion_reason("a", "d")


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ('<link name="x"/>', "SRDF: group 'g' link 'x': link 'x' does not exist"),
        ('<joint name="x"/>', "SRDF: group 'g': joint 'x' does not exist"),
        ('<chain base_link="x" tip_link="c"/>', "SRDF: group 'g' chain: link 'x' does not exist"),
        ('<chain base_link="a"/>', "SRDF: group 'g' chain: has no attribute tip_link"),
        ("<link/>", "SRDF: group 'g' link: has no attribute name"),
    ],
)
def test_unknown_part_of_a_group_is_ignored(part, words):
    read = robot(f'<group name="g"><link name="b"/>{part}<joint name="ae"/></group>')
    assert read.groups == {"g": ("b", "e")}
    assert read.warnings == (words,)


def test_groups_with_an_unknown_subgroup_are_ignored():
    read = robot(
        '<group name="f"><group name="g"/></group><group name="g"><link name="b"/><group name="x"/></group>'
        '<group name="h"><link name="b"/></group>'
    )
    assert read.groups == {"h": ("b",)}
    assert read.warnings == (
        "SRDF: group 'g': group 'x' does not exist",
        "SRDF: group 'f': group 'g' is ignored, too",
    )


def test_cyclic_groups_are_ignored():
    ring = "".join(f'<group name="{a}"><link name="{a}"/><group name="{b}"/></group>' for a, b in ("ab", "bc", "ca"))
    read = robot(f'<group name="o"><group name="b"/></group>{ring}<group name="h"><link name="b"/></group>')
    assert read.groups == {"h": ("b",)}
    assert "SRDF: group 'b': contains itself: o -> b -> c -> a -> b" in read.warnings


def test_first_of_two_groups_with_one_name_is_used():
    read = robot('<group name="g"><link name="a"/></group><group name="g"><link name="b"/></group>')
    assert read.groups == {"g": ("a",)} and "the name occurs twice" in read.warnings[0]


def test_chain_between_branches_has_both_ends_and_common_ancestor():
    # As in MoveIt's RobotModel::addJointModelGroup: both paths up to the common ancestor, inclusive.
    read = robot('<group name="g"><chain base_link="e" tip_link="c"/></group>')
    assert read.groups == {"g": ("a", "b", "c", "e")} and not read.warnings


def test_incomplete_pairs_and_virtual_joints_are_ignored():
    read = robot(
        '<disable_collisions link1="a"/><disable_collisions link1="a" link2="d"/><virtual_joint name="v"/>'
        '<virtual_joint name="w" type="screw" parent_frame="odom" child_link="a"/>'
        '<virtual_joint name="u" type="planar" parent_frame="odom" child_link="x"/>'
    )
    assert len(read.warnings) == 4 and read.root_joint == ("w", "fixed", "odom", "a")
    assert read.fixed_frames == {"odom": "a"}  # an unknown type is treated as fixed, as in srdfdom
    assert "the SRDF disables it" in read.exclusion_reason("a", "d")


def test_virtual_joint_of_the_root_link_is_the_root_joint():
    others = '<virtual_joint name="n" type="fixed" parent_frame="table" child_link="c"/>'
    read = robot(others + '<virtual_joint name="v" type="planar" parent_frame="odom" child_link="a"/>')
    assert read.root_joint == ("v", "planar", "odom", "a")
    assert robot(others).root_joint is None and robot(others).fixed_frames == {"table": "c"}


def test_virtual_joint_attributes_are_stripped_and_lower_cased():
    read = robot('<virtual_joint name=" v " type=" Planar" parent_frame="odom " child_link=" a"/>')
    assert read.root_joint == ("v", "planar", "odom", "a") and not read.warnings
    assert robot('<virtual_joint name="v" parent_frame="odom" child_link="a"/>').fixed_frames == {}


def test_srdf_with_a_document_type_is_rejected():
    with pytest.raises(RobotDescriptionError, match="SRDF: has a document type"):
        Robot.from_urdf(URDF, srdf='<!DOCTYPE robot><robot name="r"/>')


def test_virtual_joint_in_a_group_adds_no_link():
    read = robot(
        '<virtual_joint name="v" type="floating" parent_frame="odom" child_link="a"/>'
        '<group name="g"><joint name="v"/><link name="b"/></group>'
    )
    assert read.groups["g"] == ("b",)


def test_without_srdf_only_adjacent_pairs_are_excluded():
    read = Robot.from_urdf(URDF)
    assert dict(read.groups) == {}
    assert len(read.body_pairs()) == 10 - 4


def test_fixed_virtual_joints_define_fixed_frames():
    joints = (
        '<virtual_joint name="v" type="fixed" parent_frame="world" child_link="a"/>'
        '<virtual_joint name="w" type="floating" parent_frame="odom" child_link="a"/>'
    )
    assert dict(robot(joints).fixed_frames) == {"world": "a"}


def test_enabled_pair_is_checked_even_if_adjacent():
    read = robot('<enable_collisions link1="a" link2="b"/>')
    assert read.exclusion_reason("a", "b") is None and read.rules.decide("a", "b").rule == "srdf"


# -- large documents: cost is linear or limited ----------------


def naive_links(groups, group):
    """Return the links of a group by a direct implementation of MoveIt's documentation."""
    found = set()
    for kind, value in groups[group]:
        if kind == "link":
            found.add(value)
        elif kind == "joint":
            found.add(value[1])
        elif kind == "chain":
            way = "abcd"[: "abcd".index(value[1]) + 1] if value[1] != "e" else "ae"
            found |= set(way[way.index(value[0]) + 1 :])
        else:
            found |= naive_links(groups, value)
    return found


def test_random_groups_agree_with_a_recursive_reference():
    random = Random(11)
    chains = [("a", "d"), ("b", "d"), ("a", "e"), ("c", "c"), ("b", "c")]
    for _ in range(60):
        groups = {}
        for number in range(random.randrange(1, 12)):
            parts = []
            for _ in range(random.randrange(5)):
                kind = random.choice(("link", "joint", "chain", *(("group",) if groups else ())))
                values = {"link": "abcde", "joint": ("ab", "bc", "cd", "ae"), "chain": chains, "group": list(groups)}
                parts.append((kind, random.choice(values[kind])))
            groups[f"g{number}"] = parts

        def element(kind, value):
            ends = f'base_link="{value[0]}" tip_link="{value[-1]}"' if kind == "chain" else f'name="{value}"'
            return f"<{kind} {ends}/>"

        order = random.sample(list(groups), len(groups))  # a group may precede its subgroups
        text = "".join(
            f'<group name="{g}">' + "".join(element(*part) for part in groups[g]) + "</group>" for g in order
        )
        read = robot(text).groups
        assert {group: set(links) for group, links in read.items()} == {g: naive_links(groups, g) for g in groups}
        assert all(list(links) == sorted(links) for links in read.values())


@pytest.mark.parametrize("outer_first", [False, True])
def test_deeply_nested_groups_are_read(outer_first):
    inner = [f'<group name="g{i}"><group name="g{i + 1}"/></group>' for i in range(MAXIMUM_GROUPS - 1)] + [
        f'<group name="g{MAXIMUM_GROUPS - 1}"><link name="c"/></group>'
    ]
    groups = robot("".join(inner if outer_first else reversed(inner))).groups
    assert set(groups.values()) == {("c",)} and len(groups) == MAXIMUM_GROUPS


def test_error_about_many_cyclic_groups_is_short():
    ring = "".join(f'<group name="g{i}"><group name="g{(i + 1) % 900}"/></group>' for i in range(900))
    with pytest.raises(RobotDescriptionError, match=r"'g0': contains itself: g0 -> g1 -> g2 .* -> \.\.\.$") as error:
        robot(ring, strict=True)
    assert len(str(error.value)) < 200
    assert max(map(len, robot(ring).warnings)) < 200 and not robot(ring).groups


def test_too_many_groups_are_rejected():
    with pytest.raises(RobotDescriptionError, match="100000 groups, expected at most 1000"):
        robot("".join(f'<group name="g{i}"><group name="g{i + 1}"/></group>' for i in range(100_000)))


def test_srdf_with_many_pairs_and_virtual_joints_is_read():
    read = robot(
        "".join(
            f'<disable_collisions link1="a" link2="c"/><disable_collisions link1="x{i}" link2="c"/>'
            f'<virtual_joint name="v{i}" type="fixed" parent_frame="w{i}" child_link="a"/>'
            for i in range(20_000)
        )
        + '<group name="g">'
        + "".join(f'<joint name="v{i}"/><chain base_link="a" tip_link="d"/>' for i in range(20_000))
        + "</group>"
    )
    assert len(read.fixed_frames) == 20_000 and read.groups == {"g": ("b", "c", "d")}
    assert "the SRDF disables it" in read.exclusion_reason("a", "c")
    assert len(read.warnings) == 101 and read.warnings[-1] == "SRDF: 19900 more elements are invalid; they are ignored"


def test_default_disabled_links_need_no_entry_per_pair():
    content = '<disable_default_collisions link="#"/>'.replace
    read = robot("".join(content("#", link) for link in "abcde") + '<enable_collisions link1="a" link2="c"/>')
    assert read.exclusion_reason("a", "c") is None
    assert read.exclusion_reason("a", "d") == "the SRDF disables it (default)" == read.exclusion_reason("a", "b")
    assert len(read.body_pairs()) == 1
    matrix = read.rules.as_matrix()
    assert {pair for pair, allowed in matrix.entries.items() if not allowed} == {frozenset("ac")}
    assert len(matrix.entries) == 10
    # The default applies to links, not to objects.
    assert read.rules.is_checked("a", "box")


def test_long_reason_is_truncated():
    read = robot(f'<disable_collisions link1="a" link2="c" reason="{"x" * 100_000}"/>')
    assert len(read.exclusion_reason("a", "c")) < 300


# -- joint between world and robot ---------------------------------------------------------------------------------

VIRTUAL = '<virtual_joint name="v" type="{0}" parent_frame="{1}" child_link="a"/>'


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_robot_with_root_joint_moves_relative_to_world_bodies(kind):
    read = robot(VIRTUAL.format(kind, "odom") + '<group name="g"><link name="b"/></group>', with_root_joint=True)
    assert (read.root, read.base_links, read.links[:2]) == ("odom", ("a",), ("odom", "a"))
    assert len(read.bodies) == 5 and read.groups == {"g": ("b",)} and len(read.body_pairs()) == 6
    driven = np.eye(4)
    driven[0, 3] = 2.0
    poses = read.forward_kinematics(dict.fromkeys(read.joint_names, 0.0), {"a": driven})
    np.testing.assert_array_equal(poses["odom"], np.eye(4))
    np.testing.assert_array_equal(poses["d"], driven)
    box = Body("box", "odom", Box((0.2, 0.2, 0.2)), driven)
    pairs = [(0, len(read.bodies))]
    scene = Scene([*read.bodies, box], pairs)
    zeros = np.zeros((1, len(read.joint_names)))
    far = state_distances(read, scene, zeros, base_poses={"a": np.eye(4)})
    assert far.distance == pytest.approx([2.0 - 0.1 - 0.1])
    assert state_distances(read, scene, zeros, base_poses={"a": driven}).distance < 0.0
    with pytest.raises(ValueError, match="'a'"):
        read.forward_kinematics(dict.fromkeys(read.joint_names, 0.0))


def test_fixed_or_unrequested_root_joint_is_not_added():
    floating, fixed = VIRTUAL.format("floating", "odom"), VIRTUAL.format("fixed", "odom")
    assert (
        robot(floating).root == robot(fixed, with_root_joint=True).root == robot("", with_root_joint=True).root == "a"
    )


@pytest.mark.parametrize(
    "content", [VIRTUAL.format("planar", "c"), VIRTUAL.format("planar", "w").replace('"v"', '"ab"')]
)
def test_root_joint_with_names_of_the_urdf_is_ignored(content):
    read = robot(content, with_root_joint=True)
    assert read.root == "a" and "it is ignored" in read.warnings[-1]


def test_group_with_the_root_joint_moves_the_whole_robot():
    content = VIRTUAL.format("planar", "odom") + '<group name="base"><joint name="v"/></group>'
    assert robot(content).groups == {"base": ()}
    moving = robot(content, with_root_joint=True)
    assert moving.groups == {"base": ("a",)} and set(moving.links_moved_by("base")) == set(moving.links) - {"odom"}


@pytest.mark.parametrize("content", ["", VIRTUAL.format("fixed", "map"), VIRTUAL.format("planar", "map")])
def test_world_frame_adds_a_floating_root_joint(content):
    read = robot(content, world_frame="odom")
    assert (read.root, read.root_link, read.base_links) == ("odom", "a", ("a",)) and read.root_joint.kind == "floating"
    assert read.root_joint.name in read.joints


def test_world_frame_may_match_the_srdf_but_not_a_link():
    read = robot(VIRTUAL.format("planar", "odom"), world_frame="odom")
    assert read.root_joint == ("v", "planar", "odom", "a")
    with pytest.raises(RobotDescriptionError, match=r"world_frame = 'c': is a link"):
        robot("", world_frame="c")
    assert robot("").root_link == robot("").root == "a"
