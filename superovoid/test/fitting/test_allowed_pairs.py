# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Disabled pairs of a robot with other bodies: reasons, proofs, written SRDF and reports."""

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


# Balls in a row, 0.3 m apart, that turn about z: a, b, c, d; e is fixed to d; f is on a separate slide.
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


def find_allowed(bodies, meshes, given, **options):
    search = PairSearch(**{"states": 300, **options})
    return find_pairs(bodies, meshes, given[1], uncovered=dict.fromkeys("abcdef", 0.0), search=search)


@pytest.mark.parametrize(
    "options", [{"states": -1}, {"states": 1.5}, {"max_evaluations": -1}, {"max_evaluations": "x"}]
)
def test_invalid_search_effort_is_named(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} = .*: must be an integer"):
        PairSearch(**options)


def reasons(report):
    return {f"{pair.link_a}{pair.link_b}": (pair.reason, pair.proof, pair.change) for pair in report.pairs}


def test_pairs_are_disabled_with_reasons_and_proofs():
    report = find_allowed(balls(c=0.21, e=0.05), balls(c=0.21, e=0.05), semantics())
    got = reasons(report)
    for pair in ("ab", "bc", "cd", "de", "af"):
        assert got[pair] == ("Adjacent", "structure", "added"), pair
    # b and c overlap, but a joint connects them; c and e are 0.3 to 0.4 m apart.
    assert got["ac"] == ("Never", "proved of the meshes, too", "added")
    assert got["be"] == ("Never", "proved of the meshes, too", "added")
    assert "ad" not in got or got["ad"][0] == "Never"
    # f slides through all others, so these pairs are checked.
    assert "bf" not in got and "cf" not in got
    assert report.states == 300 and not report.new_collisions


def test_body_inside_a_mesh_is_not_proved_apart_from_the_mesh():
    # At the default a lies within c's mesh; `uncovered` states that the mesh's surface is close to the body.
    got = reasons(find_allowed(balls(), balls(c=0.8), semantics()))
    assert got["ac"] == ("Never", "proved", "added")


def test_largest_distances_include_inner_walls(tmp_path):
    half = trimesh.creation.box((0.2, 0.2, 0.2))
    wall = trimesh.creation.box((0.02, 0.02, 0.02))
    trimesh.util.concatenate([half, wall]).export(tmp_path / "case.stl")
    urdf = (
        '<robot name="r"><link name="case"><collision><geometry><mesh filename="package://pkg/case.stl"/></geometry>'
        "</collision></link></robot>"
    )
    # Six plates that contain the outer walls, and a note that the inner walls of the mesh were left out.
    plates = []
    for axis, side in itertools.product(range(3), (-0.1, 0.1)):
        half_extents, pose = np.full(3, 0.11), np.eye(4)
        half_extents[axis], pose[axis, 3] = 0.01, side
        plates.append(FittedBody(Box(2.0 * half_extents), pose))
    link = LinkFit("case", "fitted", ("is hollow",), tuple(plates), "mesh", None, Interval(0.0, 0.0))
    options = LinkOptions("collision", 6, "1 %", False, ("box",), 0)
    fit = RobotFit((link,), options, "", urdf, urdf)
    assert largest_distances(fit, {"pkg": tmp_path})["case"] == pytest.approx(0.08, abs=1e-3)
    untouched = dataclasses.replace(link, words=())
    assert largest_distances(dataclasses.replace(fit, links=(untouched,)), {"pkg": tmp_path}) == {"case": 0.0}


def test_proofs_of_separation_hold_on_a_fine_grid():
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


def test_clearance_is_proved_up_to_the_true_gap():
    pairs = LinkPairs(balls())
    # b is 0.3 m from c, and c turns by up to 1 rad: b and d come as close as 2 * 0.3 * cos(0.5).
    gap = 2.0 * 0.3 * math.cos(0.5) - 0.2
    assert prove(pairs, ("b", "d"), "apart", clearance=gap - 5e-3).verdict == "apart"
    assert prove(pairs, ("b", "d"), "apart", clearance=gap + 5e-3).witness
    assert prove(pairs, ("b", "d"), "apart", clearance=gap - 5e-3, max_evaluations=3).verdict == ""


def test_rigidly_connected_links_are_decided():
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


def test_newly_colliding_pair_is_reported_and_not_disabled():
    state = '<group_state name="bent" group="g"><joint name="cd" value="3"/></group_state>'
    report = find_allowed(balls(d=0.55), balls(), semantics(more=state))
    new = {(each.link_a, each.link_b, each.state): each for each in report.new_collisions}
    # d is 0.6 m from b at the default, and nearly at b in the state "bent".
    assert new["b", "d", "default"].depth == pytest.approx(0.05, abs=1e-6) and not new["b", "d", "default"].disabled
    assert new["b", "d", "g/bent"].depth > 0.05
    assert not any(pair.reason for pair in report.pairs if {pair.link_a, pair.link_b} == {"b", "d"})
    kept = find_allowed(balls(d=0.55), balls(), semantics(("b", "d", "Default")))
    assert reasons(kept)["bd"] == ("Default", "given", "kept")
    assert all(each.disabled for each in kept.new_collisions if {each.link_a, each.link_b} == {"b", "d"})
    same = find_allowed(balls(d=0.55), balls(d=0.55), semantics())
    assert reasons(same)["bd"][0] in ("Default", "Always") and not same.new_collisions


def test_given_srdf_pairs_are_kept_or_dropped():
    given = semantics(("a", "c", "Never"), ("b", "f", "Never"), ("c", "f", "User"), ("a", "b", "Adjacent"),
                      ("b", "c", "User"))  # fmt: skip
    report = find_allowed(balls(), balls(), given)
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


def test_enable_and_disable_rules_of_srdf_are_kept():
    more = '<enable_collisions link1="a" link2="c"/><disable_default_collisions link="f"/>'
    given = semantics(more=more)
    report = find_allowed(balls(), balls(), given)
    got = reasons(report)
    assert "ac" not in got and got["bf"][1:] == ("given", "kept")
    text = srdf_with_pairs(given[0], "row", report)
    assert text.count("enable_collisions") == 1 and "<disable_default_collisions" in text
    assert not [
        each for each in ElementTree.fromstring(text.encode()).iter("disable_collisions") if each.get("link1") == "f"
    ]


def test_pairs_of_links_with_unknown_geometry_are_kept():
    text = URDF.replace('<link name="c"/>', '<link name="c"><collision><geometry><mesh filename="package://x/y.stl"/>'
                        "</geometry></collision></link>")  # fmt: skip
    robot = robot_with(text, {name: [(Sphere(0.1), np.eye(4))] for name in "abdef"})
    report = find_allowed(robot, robot, semantics(("a", "c", "Never"), ("a", "d", "Never")))
    assert reasons(report)["ac"] == ("Never", "given", "kept")
    assert "link 'c'" in " ".join(report.words) and not any("c" in pair for pair in reasons(report) if pair != "ac")


def test_new_srdf_states_the_evidence_of_its_pairs():
    report = find_allowed(balls(), balls(), semantics(), max_evaluations=0)
    text = srdf_with_pairs(None, "row", report)
    assert "Never: seen in none of 300 random states, seed 0; not proved" in text
    assert ElementTree.fromstring(text.encode()).get("name") == "row"
    assert all(pair.proof == "states" for pair in report.pairs if pair.reason == "Never")


def test_joint_spans_of_wheels_and_geared_joints():
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


def test_pairs_across_a_floating_joint_remain_checked():
    text = URDF.replace('name="bc" type="revolute"', 'name="bc" type="floating"')
    robot, meshes = (
        robot_with(text, {name: [(Sphere(radius), np.eye(4))] for name in "abcdef"}) for radius in (2, 0.1)
    )
    given = read_srdf(semantics(("a", "c", "Never"))[0], robot.name, robot.links, list(robot.joints.values()))
    report = find_pairs(robot, meshes, given, search=PairSearch(states=20))
    got = reasons(report)
    assert got["ac"] == ("", "", "dropped") and "bd" not in got
    # The pose of c is unknown, so it cannot be newly colliding.
    sides = [{each.link_a, each.link_b} & {"c", "d", "e"} for each in report.new_collisions]
    assert sides and all(len(side) in (0, 2) for side in sides)


def test_text_around_srdf_pairs_is_kept():
    pair = '<disable_collisions link1="a" link2="f" reason="Never"/>'
    text = f'<!-- head --><robot name="row">one{pair}two</robot><!-- end -->'
    given = read_srdf(text, "row", balls().links, list(balls().joints.values()))
    written = srdf_with_pairs(text, "row", find_allowed(balls(f=0.25), balls(f=0.25), (text, given)))
    assert all(each in written for each in ("<!-- head -->", "one", "two", "<!-- end -->"))
