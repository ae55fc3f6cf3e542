# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Disabled pairs of a robot with other bodies: found by reason, proved where they can be, written and told."""

import dataclasses
import itertools
import math
from xml.etree import ElementTree

import numpy as np
import pytest
import trimesh

from superovoid import Box, Sphere
from superovoid.fitting import PairSearch
from superovoid.fitting.allowed_pairs import find_pairs
from superovoid.fitting.pair_proofs import LinkPairs, meetings, prove
from superovoid.fitting.proofs import Interval
from superovoid.fitting.robot_fits import FittedBody, LinkFit, LinkOptions, RobotFit
from superovoid.fitting.robot_pairs import largest_distances
from superovoid.fitting.srdf_files import srdf_with_pairs
from superovoid.fitting.stand_ins import joint_spans, joints_between, random_states, robot_with
from superovoid.robot import Robot
from superovoid.robot.srdf import read_srdf


def joint(name, parent, child, kind="revolute", more="", limits=(-1.0, 1.0), origin="0.3 0 0", axis="0 0 1"):
    limit = f'<limit lower="{limits[0]}" upper="{limits[1]}" effort="1" velocity="1"/>' if kind != "fixed" else ""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}"/><axis xyz="{axis}"/>{limit}{more}</joint>'
    )


# Balls in a row, 0.3 m apart, that turn about z: a, b, c, d; e is fixed to d; f rides on a slide of its own.
URDF = (
    '<robot name="row">'
    + "".join(f'<link name="{name}"/>' for name in "abcdef")
    + joint("ab", "a", "b", limits=(-0.5, 0.5))
    + joint("bc", "b", "c", limits=(-1.0, 1.0))
    + joint("cd", "c", "d", limits=(-3.0, 3.0))
    + joint("de", "d", "e", "fixed", origin="0.1 0 0")
    + joint("af", "a", "f", "prismatic", limits=(-0.05, 2.0), origin="-0.3 0 0", axis="1 0 0")
    + "</robot>"
)


def balls(**radii):
    here = [(Sphere(0.1), np.eye(4))]
    return robot_with(URDF, {name: [(Sphere(radii[name]), np.eye(4))] if name in radii else here for name in "abcdef"})


def semantics(*pairs, more=""):
    entries = "".join(f'<disable_collisions link1="{a}" link2="{b}" reason="{why}"/>' for a, b, why in pairs)
    text = f'<robot name="row"><!-- kept --><group name="g"><joint name="cd"/></group>{entries}{more}</robot>'
    robot = balls()
    return text, read_srdf(text, robot.name, robot.links, list(robot.joints.values()))


def found(bodies, meshes, given, **options):
    search = PairSearch(**{"states": 300, **options})
    return find_pairs(bodies, meshes, given[1], uncovered=dict.fromkeys("abcdef", 0.0), search=search)


@pytest.mark.parametrize(
    "options", [{"states": -1}, {"states": 1.5}, {"max_evaluations": -1}, {"max_evaluations": "x"}]
)
def test_an_effort_that_is_no_count_is_named(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} = .*: must be an integer"):
        PairSearch(**options)


def reasons(report):
    return {f"{pair.link_a}{pair.link_b}": (pair.reason, pair.proof, pair.change) for pair in report.pairs}


def test_pairs_are_disabled_by_reason_and_proved_where_they_can_be():
    report = found(balls(c=0.21, e=0.05), balls(c=0.21, e=0.05), semantics())
    got = reasons(report)
    for pair in ("ab", "bc", "cd", "de", "af"):
        assert got[pair] == ("Adjacent", "structure", "added"), pair
    # b and c are large beside each other, but a joint connects them; c and e are 0.3 to 0.4 m apart.
    assert got["ac"] == ("Never", "proved of the meshes, too", "added")
    assert got["be"] == ("Never", "proved of the meshes, too", "added")
    assert "ad" not in got or got["ad"][0] == "Never"
    # f slides through all others: these pairs are checked.
    assert "bf" not in got and "cf" not in got
    assert report.states == 300 and not report.new_collisions


def test_what_lies_inside_of_a_mesh_is_not_proved_to_be_apart_from_it():
    # At the default a lies within c's mesh, whose surface, as is said, is nowhere far from the body.
    got = reasons(found(balls(), balls(c=0.8), semantics()))
    assert got["ac"] == ("Never", "proved", "added")


def test_the_distance_of_a_link_from_its_bodies_is_that_of_its_inner_walls_too(tmp_path):
    half = trimesh.creation.box((0.2, 0.2, 0.2))
    wall = trimesh.creation.box((0.02, 0.02, 0.02))
    trimesh.util.concatenate([half, wall]).export(tmp_path / "case.stl")
    urdf = (
        '<robot name="r"><link name="case"><collision><geometry><mesh filename="package://pkg/case.stl"/></geometry>'
        "</collision></link></robot>"
    )
    # Six plates that hold the outer walls, and a mesh of which was said that its inner walls are not aimed at.
    plates = []
    for axis, side in itertools.product(range(3), (-0.1, 0.1)):
        half_extents, pose = np.full(3, 0.11), np.eye(4)
        half_extents[axis], pose[axis, 3] = 0.01, side
        plates.append(FittedBody(Box(2.0 * half_extents), pose))
    link = LinkFit("case", "fitted", ("is hollow",), tuple(plates), "mesh", None, Interval(0.0, 0.0))
    options = LinkOptions("collision", 6, None, False, ("box",), 0)
    fit = RobotFit((link,), options, "", urdf, urdf)
    assert largest_distances(fit, {"pkg": tmp_path})["case"] == pytest.approx(0.08, abs=1e-3)
    untouched = dataclasses.replace(link, words=())
    assert largest_distances(dataclasses.replace(fit, links=(untouched,)), {"pkg": tmp_path}) == {"case": 0.0}


def test_what_is_said_to_be_apart_everywhere_is_so_on_a_fine_grid():
    robot = balls(b=0.17, d=0.4)
    pairs = LinkPairs(robot)
    spans, whole = joint_spans(robot)
    assert whole.all()
    grid = np.array(list(itertools.product(*(np.linspace(low, high, 25) for low, high in spans[:3]), (0.0,))))
    seen = meetings(pairs, grid)
    for number, pair in enumerate(pairs.pairs):
        if "f" in pair:
            continue
        proof = prove(pairs, pair, "apart")
        assert proof.verdict in ("apart", ""), pair
        if proof.verdict:
            assert not (seen.meets | seen.touches)[:, number].any(), pair
        elif proof.witness:
            state = np.array([[proof.witness[name] for name in robot.joint_names]])
            at = meetings(pairs, state)
            assert (at.meets | at.touches)[0, number], pair
        else:
            assert proof.boxes > 0
    assert prove(pairs, ("b", "d"), "apart").witness


def test_a_clearance_is_proved_up_to_what_there_is():
    pairs = LinkPairs(balls())
    # b stands 0.3 m from the turning c; with c between, b and d come to 2 * 0.3 * cos(0.5) apart.
    gap = 2.0 * 0.3 * math.cos(0.5) - 0.2
    assert prove(pairs, ("b", "d"), "apart", clearance=gap - 5e-3).verdict == "apart"
    assert prove(pairs, ("b", "d"), "apart", clearance=gap + 5e-3).witness
    assert prove(pairs, ("b", "d"), "apart", clearance=gap - 5e-3, max_evaluations=3).verdict == ""


def test_links_that_nothing_moves_against_each_other_are_settled_at_once():
    text = (
        '<robot name="r">' + "".join(f'<link name="{name}"/>' for name in "abc")
        + joint("ab", "a", "b", "fixed") + joint("bc", "b", "c", "fixed") + "</robot>"
    )  # fmt: skip
    bodies = {name: [(Sphere(radius), np.eye(4))] for name, radius in (("a", 0.4), ("b", 0.1), ("c", 0.3))}
    robot = robot_with(text, bodies)
    assert prove(LinkPairs(robot), ("a", "c"), "meet").verdict == "meet"
    empty = read_srdf('<robot name="r"/>', "r", robot.links, list(robot.joints.values()))
    (pair,) = [each for each in find_pairs(robot, robot, empty).pairs if {each.link_a, each.link_b} == {"a", "c"}]
    assert (pair.reason, pair.proof) == ("Always", "proved")


def test_a_pair_that_newly_collides_is_told_and_not_disabled():
    state = '<group_state name="bent" group="g"><joint name="cd" value="3"/></group_state>'
    report = found(balls(d=0.55), balls(), semantics(more=state))
    new = {(each.link_a, each.link_b, each.state): each for each in report.new_collisions}
    # At the default d is 0.6 m from b, at "bent" nearly at it.
    assert new["b", "d", "default"].depth == pytest.approx(0.05, abs=1e-6) and not new["b", "d", "default"].disabled
    assert new["b", "d", "g/bent"].depth > 0.05
    assert not any(pair.reason for pair in report.pairs if {pair.link_a, pair.link_b} == {"b", "d"})
    kept = found(balls(d=0.55), balls(), semantics(("b", "d", "Default")))
    assert reasons(kept)["bd"] == ("Default", "given", "kept")
    assert all(each.disabled for each in kept.new_collisions if {each.link_a, each.link_b} == {"b", "d"})
    same = found(balls(d=0.55), balls(d=0.55), semantics())
    assert reasons(same)["bd"][0] in ("Default", "Always") and not same.new_collisions


def test_what_a_given_srdf_says_is_kept_or_dropped_and_told():
    given = semantics(("a", "c", "Never"), ("b", "f", "Never"), ("c", "f", "User"), ("a", "b", "Adjacent"),
                      ("b", "c", "User"))  # fmt: skip
    report = found(balls(), balls(), given)
    got = reasons(report)
    assert got["ac"] == ("Never", "proved of the meshes, too", "kept")
    assert got["ab"] == ("Adjacent", "structure", "kept")
    assert got["bc"] == ("User", "given", "kept")
    assert got["bf"] == ("", "", "dropped") and got["cf"] == ("User", "given", "kept")
    assert report.checked == math.comb(6, 2) - sum(1 for reason, *_ in got.values() if reason)
    text = srdf_with_pairs(given[0], "row", report)
    robot = Robot(*balls()._made_of)
    again = read_srdf(text, robot.name, robot.links, list(robot.joints.values()))
    assert again.disabled == {frozenset(pair): got[pair][0] for pair in got if got[pair][0]}
    assert "<!-- kept -->" in text and again.groups == given[1].groups
    assert "Adjacent: a joint connects them" in text


def test_an_srdf_that_enables_or_disables_by_itself_is_left_alone():
    more = '<enable_collisions link1="a" link2="c"/><disable_default_collisions link="f"/>'
    given = semantics(more=more)
    report = found(balls(), balls(), given)
    got = reasons(report)
    assert "ac" not in got and got["bf"][1:] == ("given", "kept")
    text = srdf_with_pairs(given[0], "row", report)
    assert text.count("enable_collisions") == 1 and "<disable_default_collisions" in text
    assert not [
        each for each in ElementTree.fromstring(text.encode()).iter("disable_collisions") if each.get("link1") == "f"
    ]


def test_a_link_whose_geometry_is_not_known_keeps_what_is_said_of_it():
    text = URDF.replace('<link name="c"/>', '<link name="c"><collision><geometry><mesh filename="package://x/y.stl"/>'
                        "</geometry></collision></link>")  # fmt: skip
    robot = robot_with(text, {name: [(Sphere(0.1), np.eye(4))] for name in "abdef"})
    report = found(robot, robot, semantics(("a", "c", "Never"), ("a", "d", "Never")))
    assert reasons(report)["ac"] == ("Never", "given", "kept")
    assert "link 'c'" in " ".join(report.words) and not any("c" in pair for pair in reasons(report) if pair != "ac")


def test_a_new_srdf_says_what_its_pairs_rest_on():
    report = found(balls(), balls(), semantics(), max_evaluations=0)
    text = srdf_with_pairs(None, "row", report)
    assert "Never: seen in none of 300 random states, seed 0; not proved" in text
    assert ElementTree.fromstring(text.encode()).get("name") == "row"
    assert all(pair.proof == "states" for pair in report.pairs if pair.reason == "Never")


def test_a_wheel_is_looked_at_in_one_turn_and_a_slide_without_end_is_not_proved():
    text = (
        '<robot name="r">' + "".join(f'<link name="{name}"/>' for name in "abcd")
        + joint("ab", "a", "b", "continuous") + joint("bc", "b", "c", limits=(-9.0, 9.0))
        + joint("cd", "c", "d", limits=(-9.0, 9.0), more="") + "</robot>"
    )  # fmt: skip
    robot = robot_with(text, {name: [(Sphere(0.05), np.eye(4))] for name in "abcd"})
    spans, whole = joint_spans(robot)
    assert whole.all() and np.abs(spans).max() == math.pi
    assert prove(LinkPairs(robot), ("a", "c"), "apart").verdict == "" or not whole.all()
    half = text.replace('name="cd" type="revolute">', 'name="cd" type="revolute"><mimic joint="ab" multiplier="0.5"/>')
    geared = robot_with(half, {name: [(Sphere(0.05), np.eye(4))] for name in "abcd"})
    assert not dict(zip(geared.joint_names, joint_spans(geared)[1], strict=True))["ab"]
    assert [each.name for each in joints_between(geared, "b", "d")] == ["bc", "cd"]
    assert random_states(geared, 5, 1).tolist() == random_states(geared, 5, 1).tolist()


def test_links_across_a_floating_joint_are_left_to_be_checked():
    text = URDF.replace('name="bc" type="revolute"', 'name="bc" type="floating"')
    robot, meshes = (
        robot_with(text, {name: [(Sphere(radius), np.eye(4))] for name in "abcdef"}) for radius in (2, 0.1)
    )
    given = read_srdf(semantics(("a", "c", "Never"))[0], robot.name, robot.links, list(robot.joints.values()))
    report = find_pairs(robot, meshes, given, search=PairSearch(states=20))
    got = reasons(report)
    assert got["ac"] == ("", "", "dropped") and "bd" not in got
    # Nothing says where c is, so nothing says that it newly collides.
    sides = [{each.link_a, each.link_b} & {"c", "d", "e"} for each in report.new_collisions]
    assert sides and all(len(side) in (0, 2) for side in sides)


def test_what_is_written_around_the_pairs_of_an_srdf_stays():
    pair = '<disable_collisions link1="a" link2="f" reason="Never"/>'
    text = f'<!-- head --><robot name="row">one{pair}two</robot><!-- end -->'
    given = read_srdf(text, "row", balls().links, list(balls().joints.values()))
    written = srdf_with_pairs(text, "row", found(balls(f=0.25), balls(f=0.25), (text, given)))
    assert all(each in written for each in ("<!-- head -->", "one", "two", "<!-- end -->"))
