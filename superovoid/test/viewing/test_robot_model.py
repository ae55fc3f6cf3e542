# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The model behind a robot's page, from the state to the list of drawn things; without a browser."""

import math
from fractions import Fraction

import numpy as np
import pytest

from superovoid import Robot, distance
from superovoid.shapes import Box, HalfSpace, Sphere, Superovoid
from superovoid.values.status import Status
from superovoid.viewing import meanings as meanings_module
from superovoid.viewing.meanings import COLOURS, WORDS, Meaning, interval_words, meanings, status_words
from superovoid.viewing.picture import MOST_PAIRS, round_length
from superovoid.viewing.robot_model import RobotModel, home_of, slider_range

import hands
from arm import SRDF, URDF, at


@pytest.fixture
def model():
    return RobotModel(Robot.from_urdf(URDF, srdf=SRDF), near=0.05)


def meaning_of(picture, name):
    (found,) = (drawn.meaning for drawn in picture.bodies if drawn.body.name == name)
    return found


def pair_of(picture, name_a, name_b):
    (found,) = (pair for pair in picture.pairs if {pair.name_a, pair.name_b} == {name_a, name_b})
    return found


# --- meanings ---


def test_a_meaning_follows_from_the_proved_interval():
    nan, inf = math.nan, math.inf
    table = [
        (0.2, 0.3, Meaning.APART),
        (0.1, 0.3, Meaning.NEAR),  # not proved farther than 0.1
        (1e-300, 1e-300, Meaning.NEAR),
        (0.0, 0.0, Meaning.UNKNOWN),
        (-1e-300, 1e-300, Meaning.UNKNOWN),
        (-1.0, 0.0, Meaning.UNKNOWN),
        (-1.0, 1.0, Meaning.UNKNOWN),
        (-2.0, -1e-300, Meaning.OVERLAPPING),
        (-inf, -inf, Meaning.OVERLAPPING),
        (-inf, inf, Meaning.UNKNOWN),
        (inf, inf, Meaning.APART),
        (nan, 1.0, Meaning.UNKNOWN),
        (1.0, nan, Meaning.UNKNOWN),
        (nan, -1.0, Meaning.UNKNOWN),
        (-1.0, nan, Meaning.UNKNOWN),
        (2.0, 1.0, Meaning.UNKNOWN),  # not an interval
        (-1.0, -2.0, Meaning.UNKNOWN),
    ]
    lower, upper, expected = zip(*table, strict=True)
    assert meanings(lower, upper, 0.1).tolist() == list(expected)
    # A touching pair is never apart, for any near distance.
    assert meanings([0.0], [0.0], 0.0).tolist() == [Meaning.UNKNOWN]


def test_every_meaning_has_a_rank_a_text_and_a_colour():
    assert Meaning.OVERLAPPING > Meaning.UNKNOWN > Meaning.NEAR > Meaning.APART > Meaning.UNCHECKED
    assert set(COLOURS) == set(WORDS) == set(Meaning)
    assert len(set(WORDS.values())) == len(Meaning)


# Machado, Oliveira, Fernandes 2009, "A physiologically-based model for simulation of color vision deficiency",
# severity 1.0, of linear red, green, blue.
SEEN_BY = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(linear):
    """Convert linear sRGB, D65, to CIE L*a*b*."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    x, y, z = np.cbrt(np.maximum(xyz / [0.9505, 1.0, 1.089], 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", SEEN_BY)
def test_colours_differ_for_colour_blind_readers(eyes):
    srgb = np.array([COLOURS[meaning] for meaning in Meaning]) / 255.0
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = [lab(np.clip(np.array(SEEN_BY[eyes]) @ colour, 0.0, 1.0)) for colour in linear]
    gaps = {
        (Meaning(i).name, Meaning(j).name): float(np.linalg.norm(seen[i] - seen[j]))
        for i in range(len(seen))
        for j in range(i)
    }
    # A difference of 2.3 is just visible side by side; shading changes the lightness of a colour by more.
    assert min(gaps.values()) > 15.0, sorted(gaps.items(), key=lambda item: item[1])[:3]


def test_a_printed_interval_contains_the_proved_one():
    generator = np.random.default_rng(5)
    for _ in range(300):
        lower = generator.normal() * 10.0 ** generator.uniform(-12.0, generator.choice([2.0, 30.0]))
        upper = lower + abs(generator.normal()) * 10.0 ** generator.uniform(-15.0, 1.0)
        low, high = interval_words(lower, upper).removeprefix("[").removesuffix("] mm").split(", ")
        assert Fraction(low) <= Fraction(lower) * 1000 and Fraction(high) >= Fraction(upper) * 1000
    assert interval_words(-math.inf, math.nan) == "[-∞, unknown] mm"
    assert interval_words(0.012345678, 0.012345679) == "[12.3456, 12.3457] mm"
    assert interval_words(-1e-12, 0.0) == "[-0.0001, 0.0000] mm"


def test_status_text_contains_certified_only_if_certified():
    for flags in range(2 * max(Status)):
        words = status_words(flags)
        assert words and ("certified" in words) == Status(flags).certified
    assert set(meanings_module._STATUS) == set(Status) - {Status.CERTIFIED}


# --- the picture ---


def test_before_an_answer_everything_is_unknown(model):
    picture = model.blank_picture()
    assert {drawn.meaning for drawn in picture.bodies} == {Meaning.UNKNOWN}
    assert picture.clearance.meaning is Meaning.UNKNOWN and picture.clearance.words.startswith("unknown")
    assert set(picture.root_from_link) == set(model.robot.links)


def test_a_moved_joint_updates_the_pair_as_in_the_library(model):
    model.set_base("ball", at(2.0, 0.0, 0.0))
    model.set_near(2.0)
    for slide in (0.0, 0.7, 1.36):
        model.set_position("slide", slide)
        picture = model.answer()
        pair = pair_of(picture, "hand", "ball")
        bodies = {body.name: body for body in model.robot.bodies}
        poses = model.robot.forward_kinematics(model.positions, model.base_poses)
        hand, ball = (poses[bodies[name].link] @ bodies[name].link_from_body for name in ("hand", "ball"))
        expected = distance(bodies["hand"].shape, hand, bodies["ball"].shape, ball)
        assert math.isclose(pair.distance, 1.35 - slide, abs_tol=1e-9)  # centres 2 - 0.5 - slide apart, radii 0.15
        assert pair.lower <= expected.upper and expected.lower <= pair.upper
        assert (picture.root_from_link["hand"] == poses["hand"]).all()
    assert pair.meaning is Meaning.OVERLAPPING and meaning_of(picture, "hand") is Meaning.OVERLAPPING
    assert picture.clearance.meaning is Meaning.OVERLAPPING


def test_pairs_are_sorted_by_distance_up_to_near(model):
    model.set_base("ball", at(0.5, 0.6, 0.0))
    model.set_near(0.3)
    picture = model.answer()
    distances = [pair.distance for pair in picture.pairs]
    assert distances == sorted(distances) and len(picture.pairs) == picture.pairs_near
    everything = model.planning.scene.query()
    within = everything.distance[everything.lower <= 0.3]
    assert distances == pytest.approx(within.tolist())
    assert meaning_of(picture, "hand") is Meaning.APART or any("hand" in (p.name_a, p.name_b) for p in picture.pairs)


def test_the_closest_pair_is_shown_even_if_none_is_near(model):
    model.set_near(0.0)
    model.set_base("ball", at(9.0, 0.0, 0.0))
    picture = model.answer()
    assert len(picture.pairs) == 1 and picture.pairs[0].meaning is Meaning.APART
    assert picture.clearance.meaning is Meaning.APART
    assert picture.clearance.lower <= picture.pairs[0].distance <= picture.clearance.upper


def test_touching_bodies_are_not_decided(model):
    model.set_base("ball", at(0.65, 0.0, 0.0))
    picture = model.answer()
    pair = pair_of(picture, "hand", "ball")
    assert pair.lower <= 0.0 <= pair.upper
    assert pair.meaning is Meaning.UNKNOWN and meaning_of(picture, "ball") is Meaning.UNKNOWN
    assert "not decided" in pair.state


def test_an_unchecked_body_is_neither_apart_nor_overlapping(model):
    for other in ("hand", "thumb"):
        model.check("ball", other, False)
    model.set_base("ball", at(0.5, 0.0, 0.0))  # inside the hand
    picture = model.answer()
    assert meaning_of(picture, "ball") is Meaning.UNCHECKED
    assert model.pair_rule("ball", "hand") == (False, "a runtime rule disables it (set in the viewer)")
    model.forget_checks()
    assert meaning_of(model.answer(), "ball") is Meaning.OVERLAPPING


def test_a_robot_without_checked_pairs_has_no_clearance():
    one = Robot.from_urdf('<robot name="one"><link name="l"><collision><geometry><sphere radius="1"/></geometry>'
                          "</collision></link></robot>")  # fmt: skip
    picture = RobotModel(one).answer()
    assert picture.clearance.meaning is Meaning.UNKNOWN and "no pair is checked" in picture.clearance.words
    assert meaning_of(picture, "l") is Meaning.UNCHECKED
    bare = RobotModel(Robot.from_urdf('<robot name="bare"><link name="l"/></robot>'))
    assert bare.answer().clearance.meaning is Meaning.UNKNOWN and bare.answer().bodies == ()


def test_a_robot_with_omitted_geometry_has_unknown_clearance():
    own = '<contact_geometry><sphere radius="0.1"/></contact_geometry>'
    mesh = '<collision><geometry><mesh filename="package://nowhere/a.stl"/></geometry></collision>'
    text = URDF.replace(own, mesh, 1)
    model = RobotModel(Robot.from_urdf(text, srdf=SRDF, meshes="ignore"))
    clearance = model.answer().clearance
    assert clearance.words.startswith("unknown") and "'ground'" in clearance.words and "mesh" in clearance.words
    assert clearance.lower > model.near and clearance.meaning is Meaning.UNKNOWN
    model.set_base("ball", at(0.5, 0.0, 0.0))
    assert model.answer().clearance.meaning is Meaning.OVERLAPPING


@pytest.mark.parametrize(
    ("name_a", "name_b", "checked", "words"),
    [
        ("ground", "thumb", False, "never meet"),
        ("hand", "thumb", False, "a joint connects them"),
        ("hand", "hand", False, "same link"),
        ("slider", "ball", False, "'slider' has no contact geometry"),
        ("hand", "ball", True, "no rule disables it"),
    ],
)
def test_why_gives_the_reason_for_every_pair(model, name_a, name_b, checked, words):
    said = model.pair_rule(name_a, name_b)
    assert said[0] is checked and words in said[1]
    assert model.pair_rule(name_b, name_a) == said


def test_selecting_groups_does_not_change_the_clearance(model):
    model.set_base("ball", at(0.4, 0.0, 0.0))
    model.set_near(1.0)
    everything = model.answer()
    model.show_between(["thumb"], ["ball"])
    picture = model.answer()
    assert {(pair.owner_a, pair.owner_b) for pair in picture.pairs} <= {("thumb", "ball"), ("ball", "thumb")}
    assert 0 < len(picture.pairs) < len(everything.pairs)
    assert picture.clearance == everything.clearance
    with pytest.raises(ValueError, match="nobody"):
        model.show_between(["nobody"], None)


def test_objects_can_be_added_moved_and_removed(model):
    model.set_base("ball", at(9.0, 0.0, 0.0))
    shape = Box((0.2, 0.2, 0.2))
    model.add_object("box", shape, at(0.5, 0.0, 0.3))
    first = pair_of_object(model.answer(), "box", "hand")
    assert first == pytest.approx(0.15)
    model.move_object("box", at(0.5, 0.0, 0.25))
    assert pair_of_object(model.answer(), "box", "hand") == pytest.approx(0.10)
    model.show_between(["box"], None)
    model.remove_object("box")
    picture = model.answer()
    assert model.between is None and "box" not in {drawn.owner for drawn in picture.bodies}
    for name in ("hand", "gripper", ""):
        with pytest.raises(ValueError, match="object"):
            model.add_object(name, shape, np.eye(4))
    assert not model.planning.objects


def pair_of_object(picture, name_a, name_b):
    (found,) = (pair.distance for pair in picture.pairs if {pair.owner_a, pair.owner_b} == {name_a, name_b})
    return found


def test_a_new_object_is_placed_apart_from_the_robot(model):
    for shape in (
        Sphere(0.3),
        Superovoid((0.1, 0.2, 0.5), section_exponent=0.3, profile_exponent=0.4, taper=(0.2, 0.1)),
        Box((1.0, 0.2, 0.4)),
    ):
        model.add_object("new", shape, model.place_beside(shape))
        picture = model.answer()
        assert all(pair.distance > 0.0 for pair in picture.pairs if "new" in (pair.owner_a, pair.owner_b))
        assert meaning_of(picture, "new") in (Meaning.APART, Meaning.NEAR)
        model.remove_object("new")


def test_a_half_space_can_be_an_object(model):
    model.set_base("ball", at(2.0, 0.0, 0.0))
    model.add_object("floor", HalfSpace(), at(0.0, 0.0, -0.4))
    picture = model.answer()
    assert pair_of_object(picture, "floor", "ground") == pytest.approx(0.3)
    assert np.isfinite(model.box()).all()


def test_invalid_values_are_rejected_and_change_nothing(model):
    before = dict(model.positions)
    for positions in ({"slide": 1.0, "elbow": 0.0}, {"slide": 1.0, "wrist": math.nan}, [0.0], [[0.0, 0.0]]):
        with pytest.raises(ValueError):
            model.set_positions(positions)
        assert model.positions == before
    with pytest.raises(ValueError, match="elbow"):
        model.set_position("elbow", 0.0)
    with pytest.raises(ValueError, match="base"):
        model.set_base("hand", np.eye(4))
    with pytest.raises(ValueError, match="ball"):
        model.set_base("ball", np.full((4, 4), math.nan))
    for near in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="near"):
            model.set_near(near)
    with pytest.raises(ValueError, match="nobody"):
        model.pair_rule("nobody", "hand")


def test_joints_beyond_their_limits_are_named(model):
    assert model.answer().outside == ()
    model.set_positions([2.5, 0.1])
    assert model.answer().outside == ("slide",)


def test_joints_start_as_in_moveit_and_sliders_end_at_limits():
    assert [home_of(limits) for limits in ((-1.0, 1.0), (0.5, 1.5), (-math.inf, math.inf), (1.0, math.inf))] == [
        0.0, 1.0, 0.0, 1.0,
    ]  # fmt: skip
    assert slider_range("revolute", (-0.5, 2.0)) == (-0.5, 2.0)
    assert slider_range("continuous", (-math.inf, math.inf)) == (-math.pi, math.pi)
    assert slider_range("prismatic", (-math.inf, math.inf)) == (-1.0, 1.0)
    assert slider_range("revolute", (-math.inf, 2.0)) == (2.0 - 2.0 * math.pi, 2.0)


def test_the_default_near_is_a_fiftieth_of_the_robot():
    model = RobotModel(Robot.from_urdf(URDF, srdf=SRDF))
    assert 0.01 < model.near / model.extent < 0.04
    assert [round_length(length) for length in (0.9, 1.4, 3.0, 4.0, 8.0, 0.0021)] == pytest.approx(
        [1.0, 1.0, 2.0, 5.0, 10.0, 0.002]
    )


def test_floating_bases_are_placed_side_by_side():
    model = RobotModel(hands.hands())
    between = model.robot.body_pairs(["left_fingers"], ["right_fingers"])
    picture = model.answer()
    assert model.planning.scene.query(pairs=between).distance.min() > 0.0
    assert len(picture.pairs) <= MOST_PAIRS and picture.pairs_near >= len(picture.pairs)
