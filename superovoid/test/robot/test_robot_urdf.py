# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robot descriptions: supported elements, and errors for every kind of bad input."""

import time

import numpy as np
import pytest
from damage import damage
from hypothesis import example, given, settings
from hypothesis import strategies as st

from superovoid.robot import Robot, RobotDescriptionError
from superovoid.robot.planning_scene import PlanningScene
from superovoid.shapes import Ellipsoid, Sphere, Superellipsoid, Superovoid, Torus

SHAPE = '<superovoid size="0.01 0.02 0.03" epsilon="0.8 0.9" taper="0.1 0.1"/>'


def urdf(body: str, name: str = "r") -> str:
    return f'<?xml version="1.0"?>\n<robot name="{name}">{body}</robot>'


def link(name: str, content: str = "") -> str:
    return f'<link name="{name}">{content}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", content: str = "") -> str:
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>' if kind in ("revolute", "prismatic") else ""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{limit}{content}</joint>'
    )


def contact(content: str = SHAPE, attributes: str = "") -> str:
    return f"<contact_geometry {attributes}>{content}</contact_geometry>"


CHAIN = link("a", contact()) + link("b", contact()) + link("c", contact()) + joint("ab", "a", "b")


def one_body(content: str) -> Robot:
    return Robot.from_urdf(urdf(link("a", content)))


# ------------------------------------------------------------------------------------------------ supported elements


def test_contact_geometry_has_its_shape_and_pose():
    body = one_body(contact('<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>' + SHAPE)).bodies[0]
    assert (body.name, body.link) == ("a", "a")
    assert body.shape == Superovoid((0.01, 0.02, 0.03), section_exponent=0.8, profile_exponent=0.9, taper=(0.1, 0.1))
    np.testing.assert_allclose(body.link_from_body[:3, 3], [1, 2, 3])
    np.testing.assert_allclose(body.link_from_body[:3, 0], [0, 1, 0], atol=1e-15)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (
            '<superellipsoid size="1 2 3" epsilon="0.5 0.6"/>',
            Superellipsoid((1, 2, 3), section_exponent=0.5, profile_exponent=0.6),
        ),
        ('<ellipsoid size="1 2 3"/>', Ellipsoid((1, 2, 3))),
        ('<sphere radius="0.5"/>', Sphere(0.5)),
        ('<torus major_radius="0.5" minor_radius="0.1"/>', Torus(0.5, 0.1)),
        (
            '<superovoid size="1 2 3" epsilon="0.5 0.6"/>',
            Superovoid((1, 2, 3), section_exponent=0.5, profile_exponent=0.6),
        ),
    ],
)
def test_every_shape_is_read(text, shape):
    assert one_body(contact(text)).bodies[0].shape == shape


def test_superovoid_in_a_collision_element_is_read_with_its_origin():
    body = one_body(f'<collision><origin xyz="0 0 1"/><geometry>{SHAPE}</geometry></collision>').bodies[0]
    assert body.shape.taper == (0.1, 0.1)
    assert body.link_from_body[2, 3] == 1.0


def test_superovoid_in_a_visual_element_needs_no_collision_elements():
    visual = f"<visual><geometry>{SHAPE}</geometry></visual>"
    assert len(one_body(visual).bodies) == 1
    assert one_body(visual + '<collision><geometry><sphere radius="1"/></geometry></collision>').bodies[0].shape == (
        Sphere(1.0)
    )


def test_visual_sphere_is_not_contact_geometry():
    robot = one_body('<visual><geometry><sphere radius="1"/></geometry></visual>')
    assert robot.links_without_geometry == ("a",)


def test_contact_geometry_overrides_collision_elements():
    robot = one_body(contact() + '<collision><geometry><sphere radius="1"/></geometry></collision>')
    assert [body.shape.semi_axes for body in robot.bodies] == [(0.01, 0.02, 0.03)]


def test_unsupported_geometry_is_reported():
    robot = one_body(
        '<collision><geometry><sphere radius="1"/></geometry></collision>'
        '<collision><geometry><heightmap size="1 1 1"/></geometry></collision>'
    )
    assert len(robot.bodies) == 1
    assert "heightmap" in robot.warnings[0]
    assert "'a'" in robot.warnings[0]


def test_links_without_contact_geometry_are_listed():
    robot = one_body('<visual><geometry><mesh filename="package://x/y.stl"/></geometry></visual>')
    assert robot.bodies == ()
    assert robot.links_without_geometry == ("a",)
    assert robot.body_pairs().shape == (0, 2)


def test_representation_selects_the_contact_geometry():
    both = contact(SHAPE, 'representation="superovoid"') + contact(
        '<superellipsoid size="1 1 1" epsilon="1 1"/>', 'representation="superellipsoid" mixed="true"'
    )
    text = urdf(link("a", both))
    for representation, kind in [
        ("superovoids", Superovoid),
        ("superellipsoids", Superellipsoid),
        ("mixed", Superellipsoid),
    ]:
        assert type(Robot.from_urdf(text, representation=representation).bodies[0].shape) is kind


def test_link_keeps_its_only_geometry_for_every_representation():
    text = urdf(link("a", contact(SHAPE, 'representation="superovoid"')))
    for representation in ("mixed", "superellipsoids", "superovoids"):
        assert len(Robot.from_urdf(text, representation=representation).bodies) == 1


def test_bodies_of_one_link_get_unique_names_and_no_pair():
    robot = one_body(contact() + contact())
    assert [body.name for body in robot.bodies] == ["a/0", "a/1"]
    assert len(robot.body_pairs()) == 0


def test_adjacent_links_are_not_checked_across_empty_links():
    robot = Robot.from_urdf(
        urdf(link("a", contact()) + link("m") + link("b", contact()) + joint("am", "a", "m") + joint("mb", "m", "b"))
    )
    assert len(robot.body_pairs()) == 0
    assert robot.exclusion_reason("a", "b").startswith("a joint connects them (")
    assert "no contact geometry" in robot.exclusion_reason("a", "m")


@pytest.mark.parametrize("kind", ["fixed", "floating"])
def test_zero_axis_is_accepted_for_joints_without_axis(kind):
    """The URDF of the Panda has such joints."""
    links = link("a", contact()) + link("b", contact())
    robot = Robot.from_urdf(urdf(links + joint("ab", "a", "b", kind, '<axis xyz="0 0 0"/>')))
    poses = robot.forward_kinematics({}, dict.fromkeys(robot.base_links, np.eye(4)))
    np.testing.assert_array_equal(poses["b"], np.eye(4))


def test_floating_link_is_checked_against_its_parent():
    links = link("table", contact()) + link("cup", contact())
    robot = Robot.from_urdf(urdf(links + joint("j", "table", "cup", "floating")))
    assert len(robot.body_pairs()) == 1


# ------------------------------------------------------------------------------------------------- bad input

MALFORMED = {
    "empty": ("", "is empty"),
    "blank": ("  \n ", "is empty"),
    "no XML": ("hello", "not well-formed XML"),
    "cut off": (urdf(link("a"))[:-5], "not well-formed XML"),
    "other root": ("<sdf/>", "root element is <sdf>, expected <robot>"),
    "no name": ("<robot><link name='a'/></robot>", "has no attribute name"),
    "no link": (urdf(""), "has no link"),
    "NUL character": (urdf(link("a\0")), "not well-formed XML"),
    "lone surrogate": (urdf(link("a\ud800")), "character that cannot be encoded"),
    "link without name": (urdf("<link/>"), "link: has no attribute name"),
    "duplicate link": (urdf(link("a") + link("a")), "link 'a': the name occurs twice"),
    "duplicate joint": (urdf(CHAIN + joint("ab", "b", "c")), "joint 'ab': the name occurs twice"),
    "two roots": (urdf(CHAIN), "2 root links (a, c), expected one"),
    "two parents": (
        urdf(CHAIN + joint("bc", "b", "c") + joint("ac", "a", "c")),
        "link 'c': has two parent joints, 'bc' and 'ac'",
    ),
    "cycle": (urdf(CHAIN + joint("bc", "b", "c") + joint("ca", "c", "a")), "the joints form a cycle: a, c, b, a"),
    "cycle and a root": (
        urdf(link("r") + link("a") + link("b") + joint("ab", "a", "b") + joint("ba", "b", "a")),
        "the joints form a cycle: a, b, a",
    ),
    "own child": (urdf(link("r") + link("a") + joint("aa", "a", "a")), "cycle: a, a"),
    "unknown child": (urdf(link("a") + joint("ab", "a", "b")), "joint 'ab': child link 'b' does not exist"),
    "no parent": (urdf(link("a") + '<joint name="j" type="fixed"><child link="a"/></joint>'), "has no <parent>"),
    "unknown type": (urdf(CHAIN + joint("bc", "b", "c", "hinge")), "joint 'bc': type = 'hinge'"),
    "no limit": (
        urdf(link("a") + link("b") + joint("ab", "a", "b").replace("<limit", "<x")),
        "joint 'ab': is revolute without a limit",
    ),
    "limits crossed": (
        urdf(link("a") + link("b") + joint("ab", "a", "b").replace('upper="1"', 'upper="-2"')),
        "limit lower = -1 is above upper = -2",
    ),
    "NaN limit": (
        urdf(link("a") + link("b") + joint("ab", "a", "b").replace('upper="1"', 'upper="nan"')),
        "joint 'ab' limit: upper = 'nan': 'nan' is not a finite number",
    ),
    "no axis": (
        urdf(link("a") + link("b") + joint("ab", "a", "b", content='<axis xyz="0 0 0"/>')),
        "joint 'ab': axis xyz = '0 0 0': has no direction",
    ),
    "infinite origin": (
        urdf(link("a") + link("b") + joint("ab", "a", "b", content='<origin xyz="0 inf 0"/>')),
        "joint 'ab' origin: xyz = '0 inf 0': 'inf' is not a finite number",
    ),
    "overflowing origin": (
        urdf(link("a") + link("b") + joint("ab", "a", "b", content='<origin xyz="0 1e999 0"/>')),
        "'1e999' is not a finite number",
    ),
    "absurd origin": (
        urdf(link("a") + link("b") + joint("ab", "a", "b", content='<origin xyz="0 1e30 0"/>')),
        "1e30 is too large",
    ),
    "two numbers": (
        urdf(link("a") + link("b") + joint("ab", "a", "b", content='<origin xyz="0 1"/>')),
        "xyz = '0 1': 2 numbers, expected 3",
    ),
    "words": (
        urdf(link("a") + link("b") + joint("ab", "a", "b", content='<origin xyz="0 one 0"/>')),
        "'one' is not a finite number",
    ),
    "unknown mimic master": (
        urdf(link("a") + link("b") + joint("ab", "a", "b", content='<mimic joint="x"/>')),
        "joint 'ab': mimics joint 'x', which does not exist",
    ),
    "mimics itself": (
        urdf(link("a") + link("b") + joint("ab", "a", "b", content='<mimic joint="ab"/>')),
        "joint 'ab': mimics itself: ab -> ab",
    ),
    "mimic circle": (
        urdf(
            link("a")
            + link("b")
            + link("c")
            + joint("ab", "a", "b", content='<mimic joint="bc"/>')
            + joint("bc", "b", "c", content='<mimic joint="ab"/>')
        ),
        "mimics itself",
    ),
    "mimics a fixed joint": (
        urdf(
            link("a")
            + link("b")
            + link("c")
            + joint("ab", "a", "b", "fixed")
            + joint("bc", "b", "c", content='<mimic joint="ab"/>')
        ),
        "mimics joint 'ab', which is fixed",
    ),
    "absurd multiplier": (
        urdf(
            link("a")
            + link("b")
            + link("c")
            + joint("ab", "a", "b")
            + joint("bc", "b", "c", content='<mimic joint="ab" multiplier="1e9"/>')
        ),
        "joint 'bc' mimic: multiplier = '1e9'",
    ),
    "exponent out of range": (
        urdf(link("a", contact('<superovoid size="1 1 1" epsilon="1 2.3"/>'))),
        "link 'a' contact_geometry superovoid: Superovoid.epsilon[1] = 2.3",
    ),
    "negative size": (urdf(link("a", contact('<ellipsoid size="1 -1 1"/>'))), "link 'a' contact_geometry ellipsoid"),
    "NaN size": (urdf(link("a", contact('<ellipsoid size="1 nan 1"/>'))), "'nan' is not a finite number"),
    "absurd size": (urdf(link("a", contact('<ellipsoid size="1 1e7 1"/>'))), "1e7 is too large"),
    "missing epsilon": (urdf(link("a", contact('<superovoid size="1 1 1"/>'))), "epsilon is missing"),
    "no shape": (urdf(link("a", contact(""))), "0 shapes, expected one of superovoid"),
    "two shapes": (urdf(link("a", contact(SHAPE + SHAPE))), "2 shapes"),
    "unknown representation": (
        urdf(link("a", contact(SHAPE, 'representation="mesh"'))),
        "representation = 'mesh': must be superovoid",
    ),
    "unknown mark": (urdf(link("a", contact(SHAPE, 'mixed="yes"'))), "mixed = 'yes': must be true or false"),
    "long name": (urdf(link("a" * 1000)), "name has 1000 characters"),
    "too many links": (urdf("".join(link(f"l{i}") for i in range(3000))), "3000 links, expected at most"),
    "too many joints": (
        urdf(link("a") + link("b") + "".join(joint(f"j{i}", "a", "b") for i in range(3000))),
        "3000 joints, expected at most",
    ),
    "bad sphere in a collision": (
        urdf(link("a", '<collision><geometry><sphere radius="0"/></geometry></collision>')),
        "Sphere.radius",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_error_about_a_malformed_urdf_has_element_and_value(case):
    text, message = MALFORMED[case]
    with pytest.raises(RobotDescriptionError) as error:
        Robot.from_urdf(text, strict=True)
    assert message in str(error.value)
    assert len(str(error.value)) < 600


def test_fixed_joint_that_mimics_stays_fixed_with_a_warning():
    joints = joint("ab", "a", "b", "fixed") + joint("bc", "b", "c", "fixed", '<mimic joint="ab"/>')
    text = urdf(link("a") + link("b") + link("c") + joints)
    read = Robot.from_urdf(text)
    assert not read.joint_names and not read.mimic
    assert read.warnings == ("URDF: joint 'bc': is fixed, so it cannot mimic joint 'ab'",)
    with pytest.raises(RobotDescriptionError, match="joint 'bc': is fixed"):
        Robot.from_urdf(text, strict=True)


def test_mimic_of_an_unknown_joint_becomes_independent_with_a_warning():
    read = Robot.from_urdf(MALFORMED["unknown mimic master"][0])
    assert read.joint_names == ("ab",) and not read.mimic
    assert read.warnings == ("URDF: joint 'ab': mimics joint 'x', which does not exist",)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_limit_without_ends_is_zero_with_a_warning(kind, strict):
    moving = joint("ab", "a", "b", kind).replace('lower="-1" upper="1" ', "")
    read = Robot.from_urdf(urdf(link("a") + link("b") + moving), strict=strict)
    assert read.joint_limits == {"ab": (0.0, 0.0)}
    assert read.warnings == ("URDF: joint 'ab': limit has neither lower nor upper: both are 0, so it cannot move",)


def test_absurd_limits_are_ignored_with_warnings():
    text = CHAIN.replace('lower="-1"', 'lower="-1e16"').replace('upper="1"', 'upper="1e+16"')
    text += joint("bc", "b", "c", "prismatic").replace('upper="1"', 'upper="20000"')
    read = Robot.from_urdf(urdf(text))
    assert read.joint_limits == {"ab": (-np.inf, np.inf), "bc": (-1.0, np.inf)}
    assert len(read.warnings) == 3 and "joint 'bc': limit upper = 20000: is too large" in read.warnings[2]
    with pytest.raises(
        RobotDescriptionError, match=r"joint 'ab': limit lower = -1e\+16: is too large, expected at most 10000"
    ):
        Robot.from_urdf(urdf(text), strict=True)


@pytest.mark.parametrize("text", [None, 7, b"<robot/>"])
def test_argument_other_than_text_is_an_error(text):
    with pytest.raises(RobotDescriptionError, match="expected text"):
        Robot.from_urdf(text)


def test_error_about_an_unknown_representation_lists_the_known():
    with pytest.raises(RobotDescriptionError, match="mixed, superovoids, superellipsoids"):
        Robot.from_urdf(urdf(link("a")), representation="meshes")


def test_external_entities_are_rejected_without_reading_files(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    text = (
        f'<!DOCTYPE robot [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
        '<robot name="r"><link name="a"/><link name="b">&x;</link></robot>'
    )
    with pytest.raises(RobotDescriptionError, match="document type or entities") as error:
        Robot.from_urdf(text)
    assert "the secret" not in str(error.value)


def test_billion_laughs_attack_is_rejected_quickly():
    entities = '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    start = time.perf_counter()
    with pytest.raises(RobotDescriptionError, match="document type"):
        Robot.from_urdf(f'<!DOCTYPE robot [{entities}]><robot name="&a11;"><link name="a"/></robot>')
    assert time.perf_counter() - start < 1.0


def test_too_large_document_is_rejected():
    with pytest.raises(RobotDescriptionError, match="bytes, expected at most"):
        Robot.from_urdf(urdf(link("a") + "<!-- " + "x" * 9_000_000 + " -->"))


def test_very_deep_nesting_is_rejected():
    with pytest.raises(RobotDescriptionError, match="nests elements deeper than 256 levels"):
        Robot.from_urdf(urdf("<x>" * 5000 + "</x>" * 5000 + link("a")))


def test_very_long_chain_of_links_is_read():
    count = 800
    text = "".join(link(f"l{i}") for i in range(count))
    text += "".join(joint(f"j{i}", f"l{i}", f"l{i + 1}", "continuous") for i in range(count - 1))
    robot = Robot.from_urdf(urdf(text))
    poses = robot.forward_kinematics(dict.fromkeys(robot.joint_names, 0.0))
    assert len(poses) == count


def test_xinclude_is_not_followed(tmp_path):
    other = tmp_path / "other.urdf"
    other.write_text(link("b"))
    robot = Robot.from_urdf(
        f'<robot name="r" xmlns:xi="http://www.w3.org/2001/XInclude"><link name="a"/>'
        f'<xi:include href="{other.as_uri()}"/></robot>'
    )
    assert robot.links == ("a",)


def test_meshes_of_visual_elements_are_never_opened(monkeypatch):
    import builtins

    def refuse(*arguments, **named):
        raise AssertionError(f"opened {arguments}")

    text = urdf(link("a", contact() + '<visual><geometry><mesh filename="/etc/passwd"/></geometry></visual>'))
    monkeypatch.setattr(builtins, "open", refuse)
    assert len(Robot.from_urdf(text).bodies) == 1


@pytest.mark.parametrize(
    "filename", ["package://x/../../etc/passwd", "package://x/meshes/../../y.stl", "package://x/%2e%2e/%2e%2e/y"]
)
def test_mesh_address_outside_its_package_is_rejected(filename):
    with pytest.raises(RobotDescriptionError, match="leads out of its package"):
        one_body(f'<visual><geometry><mesh filename="{filename}"/></geometry></visual>')


@pytest.mark.parametrize("filename", ["/etc/passwd", "file:///etc/passwd", "file:///opt/pkg/../../etc/passwd"])
def test_mesh_outside_the_known_packages_is_rejected(filename):
    text = urdf(link("a", f'<collision><geometry><mesh filename="{filename}"/></geometry></collision>'))
    with pytest.raises(RobotDescriptionError, match=r"lies outside the known packages \(pkg\)"):
        Robot.from_urdf(text, package_directories={"pkg": "/opt/pkg"})


def test_encoding_declaration_in_a_string_is_ignored():
    text = '<?xml version="1.0" encoding="ISO-8859-1"?><robot name="r"><link name="häd"/></robot>'
    assert Robot.from_urdf(text).links == ("häd",)


def test_unknown_elements_are_ignored():
    robot = Robot.from_urdf(
        urdf(
            link("a", "<inertial><mass value='x'/></inertial>") + '<gazebo><plugin filename="x"/></gazebo>'
            '<transmission name="t"><joint name="nowhere"/></transmission><ros2_control name="c"/>'
        )
    )
    assert robot.links == ("a",)


SAMPLE = urdf(
    link("a", contact('<origin xyz="0 0 1" rpy="0 0 1"/>' + SHAPE, 'representation="superovoid"'))
    + link("b", '<collision><origin xyz="1 0 0"/><geometry><sphere radius="0.1"/></geometry></collision>')
    + link("c", '<visual><geometry><mesh filename="package://p/m.stl"/></geometry></visual>')
    + link("d", '<collision><geometry><box size="1 2 3"/></geometry></collision>')
    + joint("cd", "c", "d", "fixed")
    + joint("ab", "a", "b", content='<origin xyz="1 2 3" rpy="0 1 0"/><axis xyz="0 0 1"/>')
    + joint("bc", "b", "c", content='<mimic joint="ab" multiplier="2" offset="0.1"/>')
)
SAMPLE_SRDF = """<robot name="r">
<group name="arm"><joint name="ab"/><link name="b"/></group>
<group name="all"><group name="arm"/><link name="c"/></group>
<group name="chain"><chain base_link="a" tip_link="c"/></group><group name="world"><joint name="virtual"/></group>
<virtual_joint name="virtual" type="fixed" parent_frame="world" child_link="a"/>
<disable_default_collisions link="d"/><enable_collisions link1="d" link2="a"/>
<disable_collisions link1="a" link2="b" reason="Never"/></robot>"""


@pytest.mark.ci
@settings(max_examples=400, deadline=None)
@given(damage(SAMPLE.encode()), st.just(SAMPLE_SRDF.encode()) | damage(SAMPLE_SRDF.encode()))
@example(SAMPLE.encode(), SAMPLE_SRDF.encode())
def test_damaged_urdf_or_srdf_gives_a_robot_or_a_description_error(data, srdf):
    texts = [one.decode("utf-8", "surrogateescape") for one in (data, srdf)]
    try:
        robot = Robot.from_urdf(texts[0], srdf=texts[1])
        PlanningScene(robot)
    except RobotDescriptionError:
        return
    base_poses = dict.fromkeys(robot.base_links, np.eye(4))
    for pose in robot.forward_kinematics(dict.fromkeys(robot.joint_names, 0.5), base_poses).values():
        assert np.isfinite(pose).all()


def test_short_axis_is_normalised():
    text = (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="prismatic"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 0 2e-6"/><limit lower="0" upper="1"/></joint></robot>'
    )
    np.testing.assert_allclose(Robot.from_urdf(text).forward_kinematics({"j": 0.5})["b"][:3, 3], (0.0, 0.0, 0.5))
