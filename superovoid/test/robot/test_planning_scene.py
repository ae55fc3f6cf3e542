# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planning scenes: checked pairs, motion of attached objects, and atomic changes."""

from __future__ import annotations

import itertools
import math
from random import Random

import numpy as np
import pytest

from superovoid.robot import Robot
from superovoid.robot.limits import Limits
from superovoid.robot.octomap import Octree
from superovoid.robot.planning_scene import OCTOMAP, Padding, PlanningScene, join_parts
from superovoid.robot.rules import AllowedCollisionMatrix, CollisionRules
from superovoid.robot.scene_objects import MORE, OutsideFrame, Problem
from superovoid.shapes import ConvexMesh, Sphere

from octrees import HALF, binary_stream

URDF = """<robot name="r">
  <link name="base"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
  <link name="arm"><collision><origin xyz="1 0 0"/><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="wrist" type="prismatic"><parent link="arm"/><child link="hand"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="9" effort="1" velocity="1"/></joint>
  <link name="hand"><collision><origin xyz="2 0 0"/><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="tool" type="fixed"><parent link="hand"/><child link="tip"/></joint>
  <link name="tip"/>
</robot>"""
IN_WORLD, ON_HAND = frozenset((None,)), frozenset(("hand",))
SRDF = """<robot name="r"><group name="arm_group"><joint name="shoulder"/></group>
  <group name="wrist_group"><joint name="wrist"/></group></robot>"""


def at(x, y=0.0, z=0.0):
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


@pytest.fixture(scope="module")
def robot():
    return Robot.from_urdf(URDF, srdf=SRDF)


@pytest.fixture
def empty_scene(robot):
    return PlanningScene(robot)


def answers(planning, shoulder=0.0, wrist=0.0):
    """Return the distance by pair of owners."""
    planning.scene.set_link_poses(planning.robot.forward_kinematics({"shoulder": shoulder, "wrist": wrist}))
    result = planning.scene.query()
    owners = planning.owners
    found: dict[frozenset, float] = {}
    for row in range(len(result)):
        pair = frozenset((owners[result.body_a[row]], owners[result.body_b[row]]))
        found.setdefault(pair, float(result.distance[row]))
    return found


def with_ball(planning, name="ball", pose=None, **options):
    edit = planning.edit()
    edit.add(name, [Sphere(0.1)], [np.eye(4)], at(0.0, 3.0) if pose is None else pose, **options)
    return edit.commit()


def test_world_object_is_checked_against_all_links_and_fixed(empty_scene):
    planning = with_ball(empty_scene)
    found = answers(planning)
    assert found.keys() == {
        frozenset(("base", "hand")),
        *(frozenset((link, "ball")) for link in ("base", "arm", "hand")),
    }
    assert found[frozenset(("base", "ball"))] == pytest.approx(2.8, abs=1e-12)
    turned = answers(planning, shoulder=math.pi / 2)
    assert turned[frozenset(("arm", "ball"))] == pytest.approx(1.8, abs=1e-12)
    assert turned[frozenset(("base", "ball"))] == pytest.approx(2.8, abs=1e-12)


def test_world_objects_are_not_checked_against_each_other(empty_scene):
    planning = with_ball(with_ball(empty_scene), "other", at(0.0, 3.05))
    assert frozenset(("ball", "other")) not in answers(planning)
    edit = planning.edit()
    edit.set_runtime("ball", "other", True)
    assert answers(edit.commit())[frozenset(("ball", "other"))] == pytest.approx(-0.15, abs=1e-12)


def test_attached_object_moves_with_its_link_and_ignores_touch_links(empty_scene):
    planning = with_ball(with_ball(empty_scene, "wall", at(0.0, 5.0)))
    edit = planning.edit()
    edit.attach("ball", "hand", at(2.15), ["arm_group"])  # a group: the child link of its joint
    assert answers(edit.commit())[frozenset(("ball", "hand"))] == pytest.approx(-0.05, abs=1e-12)
    edit.attach("ball", "hand", at(2.2), ["arm_group", "hand"])
    held = edit.commit()
    found = answers(held, shoulder=math.pi / 2, wrist=1.0)
    assert found[frozenset(("ball", "wall"))] == pytest.approx(5.0 - 3.2 - 0.2, abs=1e-12)
    assert found[frozenset(("ball", "base"))] == pytest.approx(3.0, abs=1e-12)
    assert frozenset(("ball", "hand")) not in found and frozenset(("ball", "arm")) not in found
    assert held.is_attached("ball") and not held.in_world("ball") and held.in_world("wall")
    edit = held.edit()
    edit.detach("ball", at(0.0, 3.0))
    assert answers(edit.commit()) == pytest.approx(answers(planning))


def test_shapes_of_one_object_move_together(empty_scene):
    edit = empty_scene.edit()
    edit.add("rack", [Sphere(0.1), Sphere(0.1)], [at(0.0, 1.0), at(0.0, 2.0)], at(0.0, 3.0))
    planning = edit.commit()
    assert [body.name for body in planning.scene.bodies[3:]] == ["rack/0", "rack/1"]
    assert planning.owners[3:] == ("rack", "rack")
    assert answers(planning)[frozenset(("base", "rack"))] == pytest.approx(3.8, abs=1e-12)
    edit = planning.edit()
    edit.append("rack", [Sphere(0.1)], [at(0.0, -1.0)])
    edit.move("rack", at(0.0, 4.0))
    moved = edit.commit()
    assert answers(moved)[frozenset(("base", "rack"))] == pytest.approx(2.8, abs=1e-12)
    edit = moved.edit()
    edit.move("rack", at(0.0, 4.0), [at(0.0, 1.0), at(0.0, 2.0), at(0.0, 3.0)])
    assert answers(edit.commit())[frozenset(("base", "rack"))] == pytest.approx(4.8, abs=1e-12)


def test_setting_and_clearing_the_matrix_changes_the_pairs(empty_scene):
    planning = with_ball(empty_scene)
    edit = planning.edit()
    names = ["arm", "ball", "base", "hand"]
    allowed = [[{a, b} in ({"arm", "ball"}, {"base", "hand"}) for b in names] for a in names]
    edit.set_matrix(AllowedCollisionMatrix.from_rows(names, allowed))
    ruled = edit.commit()
    assert frozenset(("arm", "ball")) not in answers(ruled) and frozenset(("base", "hand")) not in answers(ruled)
    assert frozenset(("base", "arm")) in answers(ruled)  # adjacent, but the matrix enables the pair
    assert ruled.rules.decide("arm", "ball").rule == "planning_scene"
    edit = ruled.edit()
    edit.set_matrix(AllowedCollisionMatrix({}, {}))
    assert answers(edit.commit()) == answers(planning)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: e.add("hand", [Sphere(1.0)], [np.eye(4)], np.eye(4)), "name of a link"),
        (lambda e: e.add("arm_group", [Sphere(1.0)], [np.eye(4)], np.eye(4)), "name of a group"),
        (lambda e: e.add("", [Sphere(1.0)], [np.eye(4)], np.eye(4)), "empty"),
        (lambda e: e.add("a", [], np.empty((0, 4, 4)), np.eye(4)), "no shape"),
        (lambda e: e.add("a", [Sphere(1.0)], [np.eye(4)] * 2, np.eye(4)), "1 shapes, 2 poses"),
        (lambda e: e.add("a", [Sphere(1.0)], [np.eye(4)], np.full((4, 4), np.nan)), "finite"),
        (lambda e: e.add("a", [Sphere(1.0)], [2.0 * np.eye(4)], np.eye(4)), "object 'a'"),
        (lambda e: e.add("a", [Sphere(1.0)], [np.eye(4)], np.eye(4), link="leg"), "'leg' does not exist"),
        (lambda e: e.attach("ball", "hand", np.eye(4), ["leg"]), "'leg', which is not a link"),
        (lambda e: e.append("cup", [Sphere(1.0)], [np.eye(4)]), "objects: ball"),
        (lambda e: e.move("ball", np.eye(4), [np.eye(4)] * 3), "has 1 shapes, found 3 poses"),
        (lambda e: e.move("ball", at(8e29), [at(8e29)]), r"object 'ball'.* within 1e\+30 m, found 1.6e\+30"),
        (lambda e: e.set_runtime("ball", "leg", True), "'leg' is neither a link"),
    ],
)
def test_error_about_an_invalid_change_names_the_cause(empty_scene, change, words):
    with pytest.raises(ValueError, match=words):
        change(with_ball(empty_scene).edit())


def test_pairs_can_be_selected_by_links_groups_and_objects(empty_scene):
    planning = with_ball(empty_scene)
    owners = np.array(planning.owners)
    assert owners[planning.body_pairs(["ball"], ["arm_group"])].tolist() == [["arm", "ball"]]
    assert {tuple(pair) for pair in owners[planning.body_pairs(["hand"])]} == {("base", "hand"), ("hand", "ball")}
    assert len(planning.body_pairs()) == 4
    with pytest.raises(ValueError, match="objects: ball"):
        planning.owners_of(["cup"])


def test_a_link_without_contact_geometry_cannot_be_selected():
    planning = PlanningScene(Robot.from_urdf('<robot name="bare"><link name="frame"/></robot>'))
    with pytest.raises(ValueError, match="link 'frame' has no contact geometry; links with some: none"):
        planning.owners_of(["frame"])


def test_padding_applies_to_links_and_objects(empty_scene):
    edit = with_ball(with_ball(empty_scene), "held", at(2.0, 1.0), link="hand").edit()
    edit.padding = Padding({"hand": 0.01, "ball": 0.002}, default=0.03, margin=0.5)
    planning = edit.commit()
    planning.scene.set_link_poses(planning.robot.forward_kinematics({"shoulder": 0.0, "wrist": 0.0}))
    result = planning.scene.query()
    owners = planning.owners
    paddings = planning.paddings_of(result.body_a, result.body_b)
    pairs = (frozenset((owners[a], owners[b])) for a, b in zip(result.body_a, result.body_b, strict=True))
    less = dict(zip(pairs, paddings.tolist(), strict=True))
    assert less[frozenset(("hand", "ball"))] == pytest.approx(0.5 + 0.01 + 0.002)
    assert less[frozenset(("arm", "ball"))] == pytest.approx(0.5 + 0.03 + 0.002)
    assert less[frozenset(("held", "ball"))] == pytest.approx(0.5 + 0.01 + 0.002)  # the padding of its parent link
    assert less[frozenset(("base", "hand"))] == pytest.approx(0.5)
    assert less[frozenset(("base", "held"))] == pytest.approx(0.5)
    assert max(less.values()) <= planning.largest_padding()
    clear = planning.clearances(result)
    assert clear.lower == pytest.approx(result.lower - paddings)
    edit.padding = Padding({"hand": 0.01}, self_too=True)
    padded = edit.commit()
    at_base = [{"base", "hand"} == {owners[a], owners[b]} for a, b in zip(result.body_a, result.body_b, strict=True)]
    assert padded.paddings_of(result.body_a, result.body_b)[at_base] == pytest.approx(0.01)
    with pytest.raises(ValueError, match="padding of 'hand' = -1"):
        Padding({"hand": -1.0})


def test_objects_survive_a_change_of_the_robot(robot):
    planning = with_ball(with_ball(PlanningScene(robot)), "held", at(0.0), link="hand", touch_links=["arm"])
    edit = planning.edit()
    edit.set_runtime("ball", "arm", False, "why not")
    edit.padding = Padding(margin=0.1)
    planning = edit.commit().for_robot(Robot.from_urdf(URDF))
    assert not planning.problems and set(planning.objects) == {"ball", "held"} and planning.padding.margin == 0.1
    assert planning.rules.decide("ball", "arm").rule == "runtime"
    assert planning.rules.decide("held", "arm").rule == "touch_link"
    small = Robot.from_urdf('<robot name="s"><link name="base"/></robot>')
    planning = planning.for_robot(small)
    assert tuple(planning.objects) == ("ball",) and tuple(planning.problems) == ("held",)
    assert "object 'held': link 'hand' does not exist" in planning.problems["held"].reason
    planning = planning.for_robot(Robot.from_urdf(URDF))
    assert not planning.problems and planning.objects["held"].link == "hand"
    assert planning.rules.decide("ball", "arm").rule == "runtime"
    assert planning.rules.decide("held", "arm").rule == "touch_link"


STAND = (
    '<link name="floor"/><joint name="stand" type="fixed"><parent link="floor"/><child link="base"/></joint></robot>'
)


def test_world_objects_have_no_place_below_another_root(robot):
    planning = with_ball(with_ball(PlanningScene(robot), pose=at(1.0)), "held", at(0.0), link="hand")
    turning = planning.for_robot(Robot.from_urdf(URDF.replace("</robot>", STAND)))
    assert tuple(turning.problems) == ("ball",) and tuple(turning.objects) == ("held",)
    assert "in the frame of link 'base'" in turning.problems["ball"].reason
    back = turning.for_robot(robot)
    assert not back.problems and np.array_equal(back.objects["ball"].pose, planning.objects["ball"].pose)


def test_objects_beyond_the_limits_wait_until_there_is_room(robot):
    planning = with_ball(with_ball(PlanningScene(robot)), "other", at(5.0))
    full = planning.for_robot(robot, limits=Limits(bodies=len(robot.bodies) + 1))
    assert tuple(full.objects) == ("ball",) and tuple(full.problems) == ("other",)
    assert "bodies, at most" in full.problems["other"].reason
    few = planning.for_robot(robot, limits=Limits(pairs=len(robot.body_pairs()) + 1))
    assert not few.objects and set(few.problems) == {"ball", "other"}
    assert all("pairs, at most" in problem.reason for problem in few.problems.values())
    assert set(few.for_robot(robot, limits=Limits()).objects) == {"ball", "other"}


@pytest.mark.parametrize("is_unread", [False, True])
def test_problem_objects_can_only_be_removed_or_added_again(robot, is_unread):
    planning = with_ball(with_ball(PlanningScene(robot), "a", at(0.0), link="hand"), "b", at(0.0), link="hand")
    if is_unread:
        edit = planning.edit()
        for name in "ab":
            edit.report(Problem(name, reason="link 'hand' does not exist", links=ON_HAND))
        planning = edit.commit()
    else:
        planning = planning.for_robot(Robot.from_urdf('<robot name="s"><link name="base"/></robot>'))
    edit = planning.edit()
    for change in (
        lambda: edit.move("a", at(1.0)),
        lambda: edit.attach("a", "base", at(1.0)),
        lambda: edit.detach("a", at(1.0)),
        lambda: edit.append("a", [Sphere(1.0)], [np.eye(4)]),
    ):
        with pytest.raises(ValueError, match=r"object 'a': link 'hand' does not exist.*remove it or add it again"):
            change()
    edit.remove("a")
    edit.add("b", [Sphere(1.0)], [np.eye(4)], at(3.0), link="base")
    found = edit.commit()
    assert not found.problems and tuple(found.objects) == ("b",)
    edit = planning.edit()
    edit.remove_all()
    assert set(edit.problems) == {"a", "b"}  # attached to links, not in the world
    edit.remove_all(attached=True, but=("b",))
    assert set(edit.commit().problems) == {"b"}


def test_bodies_without_a_place_count(robot):
    start = with_ball(PlanningScene(robot, limits=Limits(bodies=5)), link="hand")
    edit = start.for_robot(Robot.from_urdf('<robot name="s"><link name="base"/></robot>')).edit()
    with pytest.raises(ValueError, match="6 bodies, at most 5"):
        add(edit, "five", 5)
    edit.remove("ball")
    add(edit, "five", 5)


def test_rejected_object_leaves_no_bodies(robot):
    planning = PlanningScene(robot, limits=Limits(bodies=len(robot.bodies) + 2))
    edit = planning.edit()
    two = [Sphere(0.1), Sphere(0.1)], [np.eye(4), np.eye(4)]
    for arguments in ({"link": "nowhere"}, {"touch_links": ["nowhere"], "link": "hand"}):
        with pytest.raises(ValueError, match="nowhere"):
            edit.add("a", *two, np.eye(4), **arguments)
    with pytest.raises(ValueError, match="bodies, at most"):
        edit.add("a", [Sphere(0.1)] * 3, [np.eye(4)] * 3, np.eye(4))
    edit.add("b", *two, np.eye(4))
    assert edit.commit().owners.count("b") == 2


def test_group_moves_the_links_below_its_joints(robot):
    assert robot.links_moved_by("arm_group") == ("arm", "hand", "tip")
    assert robot.links_moved_by("wrist_group") == ("hand", "tip")
    with pytest.raises(ValueError, match="arm_group"):
        robot.links_moved_by("leg")


def test_gradients_to_objects_agree_with_finite_differences(empty_scene):
    planning = with_ball(with_ball(empty_scene, "held", at(2.0, 0.3), link="hand"), pose=at(1.0, 2.0, 0.3))
    robot, state = planning.robot, {"shoulder": 0.4, "wrist": 0.2}
    planning.scene.set_link_poses(robot.forward_kinematics(state))
    gradients = robot.distance_gradients(planning.scene.query(), state)
    pairs = planning.scene.query()
    step = 1e-6
    for column, joint in enumerate(gradients.joint_names):
        moved = []
        for sign in (1.0, -1.0):
            planning.scene.set_link_poses(robot.forward_kinematics({**state, joint: state[joint] + sign * step}))
            result = planning.scene.query()
            order = np.lexsort((result.body_b, result.body_a))
            moved.append(result.distance[order])
        order = np.lexsort((pairs.body_b, pairs.body_a))
        expected = (moved[0] - moved[1]) / (2.0 * step)
        assert gradients.by_joint[order, column] == pytest.approx(expected, abs=1e-6)


def test_query_without_pairs_is_allowed(empty_scene):
    empty_scene.scene.set_link_poses(empty_scene.robot.forward_kinematics({"shoulder": 0.0, "wrist": 0.0}))
    assert len(empty_scene.scene.query(pairs=np.empty((0, 2), dtype=int), max_distance=0.1)) == 0


def octree(cells, resolution=0.1):
    return Octree(binary_stream({tuple(HALF + i for i in cell): True for cell in cells}), resolution, True)


def with_octomap(planning, tree, pose=None, most=1000):
    edit = planning.edit()
    edit.set_octomap(tree, np.eye(4) if pose is None else pose, most)
    return edit.commit()


def test_octomap_distance_is_that_of_the_nearest_cube(empty_scene):
    rng = np.random.default_rng(3)
    cells = [tuple(cell) for cell in rng.integers(-40, 40, (200, 3))]
    planning = with_ball(with_octomap(empty_scene, octree(cells), at(0.3, 2.0)), "held", at(0.5), link="hand")
    planning.scene.set_link_poses(planning.robot.forward_kinematics({"shoulder": 0.3, "wrist": 1.0}))
    parts = planning.parts(planning.body_pairs())

    def query(most=None, reach=math.inf):
        options = {"max_distance": reach}
        found = [planning.scene.query(pairs=parts[0], max_results=most, **options)]
        found += [planning.scene.query(pairs=crowd, max_results=1, **options) for crowd in parts[1:]]
        return join_parts(found, most)

    result = query()
    found = {}
    for row in range(len(result)):
        names = planning.owners[result.body_a[row]], planning.owners[result.body_b[row]]
        assert found.setdefault(frozenset(names), float(result.distance[row])) == result.distance[row]
    bodies = zip(planning.owners, planning.scene.poses, strict=True)
    centres = {owner: pose[:3, 3] for owner, pose in bodies if owner != OCTOMAP}
    assert found.keys() == {frozenset((OCTOMAP, owner)) for owner in centres} | {
        frozenset(("base", "hand")),
        frozenset(("base", "held")),
        frozenset(("arm", "held")),
        frozenset(("hand", "held")),
    }
    for owner, centre in centres.items():
        # Distance from the centre of a ball to each cube, given by its lowest corner.
        low = 0.1 * np.array(cells) + (0.3, 2.0, 0.0)
        outside = np.maximum(np.maximum(low - centre, centre - (low + 0.1)), 0.0)
        nearest = np.linalg.norm(outside, axis=1).min()
        assert nearest > 0.0 and found[frozenset((OCTOMAP, owner))] == pytest.approx(nearest - 0.1, abs=1e-9)
    assert (np.diff(result.distance) >= 0.0).all()
    assert query(3).distance == pytest.approx(result.distance[:3], abs=1e-12)
    near = query(reach=float(result.distance[3]) + 1e-9)
    assert len(near) == 4 and near.statistics.pairs == result.statistics.pairs == len(planning.body_pairs())


def test_repeated_octomap_keeps_its_boxes_and_rules(empty_scene):
    planning = with_octomap(empty_scene, octree([(5, 0, 0), (7, 0, 0)]))
    edit = planning.edit()
    edit.set_matrix(AllowedCollisionMatrix.from_rows([OCTOMAP, "hand"], [[False, True], [True, False]]))
    edit.set_runtime(OCTOMAP, "arm", False)
    planning = edit.commit()
    again = with_octomap(planning, octree([(5, 0, 0), (7, 0, 0)]))
    assert again.objects[OCTOMAP] is planning.objects[OCTOMAP]
    moved = with_octomap(planning, octree([(5, 0, 0), (7, 0, 0)]), at(1.0))
    assert moved.objects[OCTOMAP].shapes is planning.objects[OCTOMAP].shapes
    edit = moved.edit()
    edit.remove_octomap()
    edit.remove_octomap()  # no effect without an octomap
    gone = edit.commit()
    assert OCTOMAP not in gone.owners and not gone.objects
    back = with_octomap(gone, octree([(1, 0, 0)])).for_robot(gone.robot)
    assert not back.problems
    for one in (again, moved, gone, back):
        assert not one.rules.is_checked(OCTOMAP, "hand") and not one.rules.is_checked(OCTOMAP, "arm")
        assert one.rules.is_checked(OCTOMAP, "base")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda edit: edit.set_octomap(octree([(1, 0, 0), (3, 0, 0)]), np.eye(4), 1), "more than 1 occupied"),
        (lambda edit: edit.set_octomap(octree([(1, 0, 0)]), np.zeros((4, 4)), 1), "octomap: pose"),
        (
            lambda edit: edit.set_octomap(octree([(-HALF, 0, 0)], 1e26), np.eye(4), 1),
            "<octomap>.*, found 3.28e",
        ),
        (lambda edit: edit.add(OCTOMAP, [Sphere(1.0)], [np.eye(4)], np.eye(4)), "the name is reserved for the octomap"),
    ],
)
def test_invalid_octomap_is_an_error(empty_scene, change, words):
    with pytest.raises(ValueError, match=words):
        change(empty_scene.edit())


def random_change(edit, rng, links):
    """Apply a random change."""
    name = f"o{rng.integers(6)}"
    there = name in edit.objects
    pose = at(*rng.uniform(-3.0, 3.0, 3))
    kind = rng.integers(10)
    if kind == 9 and rng.random() < 0.3:
        edit.remove_octomap()
    elif kind == 9:
        edit.set_octomap(octree([(5, 0, 0), (7, 0, int(rng.integers(4)))]), pose, 2)
    elif kind <= 1 or not there:
        link = rng.choice([None, *links])
        count = int(rng.integers(1, 4))
        places = [at(*rng.uniform(-0.5, 0.5, 3)) for _ in range(count)]
        touched = rng.choice([*links, *edit.objects], size=2)
        edit.add(name, [Sphere(0.1)] * count, places, pose, link=link, touch_links=touched)
    elif kind == 2:
        edit.move(name, pose)
    elif kind == 3:
        edit.attach(name, str(rng.choice(links)), pose, rng.choice(links, size=1))
    elif kind == 4:
        edit.detach(name, pose)
    elif kind == 5:
        edit.remove(name)
    elif kind == 6:
        edit.append(name, [Sphere(0.2)], [pose])
    elif kind == 7:
        names = [*links, *edit.objects]
        rows = rng.random((len(names), len(names))) < 0.3
        some = rng.integers(0, 3)
        edit.set_matrix(AllowedCollisionMatrix.from_rows(names, rows, names[-some:] if some else [], [True] * some))
    else:
        pair = rng.choice([*links, *edit.objects, None], size=2, replace=False)
        edit.set_runtime(*pair, bool(rng.integers(2)))
        if rng.random() < 0.3:
            edit.clear_runtime()


@pytest.mark.parametrize("seed", range(8))
def test_pairs_and_places_after_random_changes_match_a_reference(robot, seed):
    rng = np.random.default_rng(seed)
    planning, links = PlanningScene(robot), ["base", "arm", "hand"]
    for _ in range(25):
        before = planning, [*planning.owners], planning.scene.pairs.tolist()
        edit = planning.edit()
        for _ in range(int(rng.choice([1, 2, 12]))):
            random_change(edit, rng, links)
        planning = edit.commit()
        assert before == (before[0], [*before[0].owners], before[0].scene.pairs.tolist())

        owners, rules = planning.owners, planning.rules
        assert sorted(owners[3:]) == sorted(name for name, thing in planning.objects.items() for _ in thing.shapes)
        checked = {frozenset(pair) for pair in planning.scene.pairs.tolist()}
        assert checked == {
            frozenset((i, j))
            for j in range(len(owners))
            for i in range(j)
            if rules.decide(owners[i], owners[j]).checked
        }
        poses = robot.forward_kinematics({"shoulder": rng.uniform(-3, 3), "wrist": rng.uniform(-1, 9)})
        planning.scene.set_link_poses(poses)
        for index, (body, owner) in enumerate(zip(planning.scene.bodies, owners, strict=True)):
            if owner in planning.objects:
                thing = planning.objects[owner]
                number = int(body.name.partition("/")[2] or 0)
                carrier = np.eye(4) if thing.link is None else poses[thing.link]
                expected = carrier @ thing.pose @ thing.object_from_shape[number]
                assert planning.scene.poses[index] == pytest.approx(expected, abs=1e-12)
                assert rules.attached_objects.keys() == {n for n, o in planning.objects.items() if o.link is not None}


def test_many_objects_moved_at_once_match_a_scene_built_from_scratch(empty_scene):
    rng = np.random.default_rng(3)
    first, second = rng.uniform(3.0, 9.0, (2, 20, 3))

    def balls(planning, places, move):
        edit = planning.edit()
        for number, place in enumerate(places):
            if move:
                edit.move(f"ball{number}", at(*place))
            else:
                edit.add(f"ball{number}", [Sphere(0.1)], [np.eye(4)], at(*place))
        return edit.commit()

    before = with_ball(balls(empty_scene, first, move=False), "held", at(2.0, 0.5), link="hand")
    expected = answers(with_ball(balls(empty_scene, second, move=False), "held", at(2.0, 0.5), link="hand"), 0.3, 1.0)
    first_answers = answers(before, 0.3, 1.0)
    moved = balls(before, second, move=True)
    assert answers(moved, 0.3, 1.0) == pytest.approx(expected, abs=1e-12)
    # Added again with equal shapes they only move too: bodies, pairs and their order stay.
    added = balls(before, second, move=False)
    assert added.owners == moved.owners == before.owners
    assert np.array_equal(added.scene.pairs, before.scene.pairs)
    assert answers(added, 0.3, 1.0) == answers(moved, 0.3, 1.0)
    assert answers(before, 0.3, 1.0) == first_answers


# -- limits ---------------------------------------------------------------------------------------------


def crowd(links, bodies):
    """Return a robot whose links float over the first one, each with a number of balls."""
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    joint = '<joint name="j#" type="floating"><parent link="l0"/><child link="l#"/></joint>'
    return Robot.from_urdf(
        '<robot name="crowd">'
        + "".join(f'<link name="l{i}">{ball * bodies}</link>' for i in range(links))
        + "".join(joint.replace("#", str(i)) for i in range(1, links))
        + "</robot>"
    )


def test_too_many_pairs_are_rejected_before_allocation():
    robot = crowd(3, 5000)
    with pytest.raises(ValueError, match=r"75000000 pairs of bodies to check, at most 5000000 .*25000000 of them"):
        PlanningScene(robot)
    with pytest.raises(ValueError, match="at most 50000000"):
        robot.scene()
    allowed = robot.rules.copy()
    for a, b in (("l0", "l1"), ("l1", "l2")):
        allowed.set_runtime(a, b, False)
    assert robot.body_pairs(["l0"], ["l1"], rules=allowed).shape == (0, 2)


def test_body_pairs_match_a_loop_over_all_pairs():
    robot = crowd(4, 3)
    rules = robot.rules.copy()
    rules.set_runtime("l1", "l2", False)
    rules.set_matrix(AllowedCollisionMatrix({frozenset(("l0", "l3")): True}, {"l3": True, "l2": False}))
    for a, b in ((None, None), (["l1"], None), (["l1", "l2"], ["l2", "l0"]), (["l3"], ["l3"])):
        of_a, of_b = (set(robot.links if side is None else side) for side in (a, b))
        expected = [
            (i, j)
            for i, one in enumerate(robot.bodies)
            for j, other in enumerate(robot.bodies)
            if i < j
            and ((one.link in of_a and other.link in of_b) or (one.link in of_b and other.link in of_a))
            and rules.is_checked(one.link, other.link)
        ]
        assert robot.body_pairs(a, b, rules=rules).tolist() == [list(pair) for pair in expected]


def test_table_of_rules_matches_single_decisions():
    random = Random(3)
    links, objects = [f"l{i}" for i in range(6)], [f"o{i}" for i in range(5)]
    names = [*links, *objects]

    def pairs(of, most):
        return [frozenset(random.sample(of, 2)) for _ in range(random.randrange(most))]

    for _ in range(200):
        by_default = random.sample(links, random.randrange(3))
        rules = CollisionRules(
            links, dict.fromkeys(pairs(links, 4), "j"), dict.fromkeys(pairs(links, 4), "r"), pairs(links, 3), by_default
        )
        entries = {pair: random.random() < 0.5 for pair in pairs(names, 5)}
        defaults = {name: random.random() < 0.5 for name in random.sample(names, random.randrange(3))}
        if random.random() < 0.7:
            rules.set_matrix(AllowedCollisionMatrix(entries, defaults))
        for name in random.sample(objects, random.randrange(3)):
            rules.attach(name, random.choice(links), random.sample(names, 2))
        for _ in range(random.randrange(3)):
            a, b = random.sample([*names, None], 2)
            rules.set_runtime(a, b, random.random() < 0.5)
        if random.random() < 0.1:
            rules.set_runtime(None, None, random.random() < 0.5)
        expected = [[rules.is_checked(a, b) for b in names] for a in names]
        assert rules.table(names).tolist() == expected


LIMITS = Limits(bodies=40, pairs=60, objects=5, attached=2, triangles=30, names=3, rules=3, octomap_bytes=8)


def add(edit, name, shapes=1, link=None, shape=None):
    edit.add(name, [shape or Sphere(0.1)] * shapes, [np.eye(4)] * shapes, np.eye(4), link=link)


def too_many(what, found, most):
    return pytest.raises(ValueError, match=f"{found} {what}, at most {most} are allowed")


def test_every_total_count_is_limited():
    box = ConvexMesh(np.array(list(itertools.product((-1.0, 1.0), repeat=3))))  # 12 triangles
    start = PlanningScene(crowd(3, 1), limits=LIMITS)

    edit = start.edit()
    add(edit, "many", 37)
    with too_many("bodies", 41, 40):
        add(edit, "one more")
    edit = start.edit()
    add(edit, "many", 20)
    with too_many("pairs", 63, 60):
        edit.commit()
    edit = start.edit()
    for number in range(5):
        add(edit, f"o{number}")
    add(edit, "o0", 2)  # replaces the previous object
    with too_many("objects", 6, 5):
        add(edit, "o5")
    edit = start.edit()
    for number in range(2):
        add(edit, f"o{number}", link="l1")
    with too_many("attached", 3, 2):
        add(edit, "o2", link="l1")
    edit = start.edit()
    add(edit, "o0", 2, shape=box)
    with too_many("triangles", 36, 30):
        add(edit, "o1", shape=box)
    edit = start.edit()
    with too_many("names", 4, 3):
        edit.set_matrix(AllowedCollisionMatrix({}, dict.fromkeys("abcd", True)))
    edit = start.edit()
    edit.padding = Padding(dict.fromkeys("abcd", 0.1))
    with too_many("names", 4, 3):
        edit.commit()
    edit = start.edit()
    for pair in (("l0", "l1"), ("l0", "l2"), ("l1", "l2"), ("l0", "l1")):
        edit.set_runtime(*pair, False, "x" * 10_000)
    assert all(len(reason) <= 255 for _, _, reason in edit.commit().rules.runtime)
    with too_many("rules", 4, 3):
        edit.set_runtime("l0", None, False)
    with too_many("octomap bytes", 10, 8):
        start.edit().set_octomap(Octree(bytes(10), 0.1, True), np.eye(4), 100)
    edit = start.edit()
    edit.padding = Padding({"x" * 300: 0.1})
    with pytest.raises(ValueError, match="a name of 300 characters, at most 255"):
        edit.commit()
    with pytest.raises(ValueError, match="the name has 300 characters, at most 255"):
        add(start.edit(), "x" * 300)
    with pytest.raises(ValueError, match="1001 names, at most 1000"):
        AllowedCollisionMatrix.from_rows([str(i) for i in range(1001)], [[True] * 1001] * 1001)
    with pytest.raises(ValueError, match="has 300 characters, at most 255"):
        AllowedCollisionMatrix.from_rows(["x" * 300], [[True]])


def test_removed_objects_no_longer_count():
    edit = PlanningScene(crowd(2, 1), limits=LIMITS).edit()
    for round_ in range(4):
        for number in range(5):
            add(edit, f"o{number}", 2)
            edit.append(f"o{number}", [Sphere(0.2)], [np.eye(4)])
            edit.move(f"o{number}", np.eye(4))
        for number in range(5):
            edit.remove(f"o{number}")
        add(edit, "o1/0")  # the name of a previous body
        if round_ % 2:
            edit = edit.commit().edit()
        edit.remove("o1/0")
    assert len(edit.commit().scene.bodies) == 2


def test_equal_body_names_of_two_objects_are_rejected():
    edit = PlanningScene(crowd(2, 1)).edit()
    add(edit, "o", 2)
    with pytest.raises(ValueError, match="'o/1': its body 'o/1' has the name of another body"):
        add(edit, "o/1")
    add(edit, "o")
    add(edit, "o/1")
    with pytest.raises(ValueError, match="its body 'o/1' has the name"):
        add(edit, "o", 3)


def test_many_removed_objects_are_forgotten_together(monkeypatch):
    walks = []
    forget = CollisionRules.forget
    monkeypatch.setattr(CollisionRules, "forget", lambda self, names: walks.append(len(names)) or forget(self, names))
    edit = PlanningScene(crowd(2, 1)).edit()
    for number in range(50):
        add(edit, f"o{number}")
    edit.set_runtime("o3", "l1", False)
    edit.set_matrix(AllowedCollisionMatrix({frozenset(("o4", "l1")): True, frozenset(("l0", "l1")): True}, {}))
    edit.remove_all()
    planning = edit.commit()
    assert walks == [50]
    assert not planning.rules.runtime and set(planning.rules.matrix.entries) == {frozenset(("l0", "l1"))}


# -- unreadable objects, and frames outside the robot


def test_unreadable_object_is_a_problem_until_removed_or_added_again(empty_scene):
    edit = with_ball(empty_scene).edit()
    edit.report(Problem("ball", reason="object 'ball': broken", source="s"))
    edit.report(Problem("new", reason="object 'new': broken", source="s"))
    planning = edit.commit()
    assert planning.problems.keys() == {"ball", "new"} and all(one.is_unread for one in planning.problems.values())
    assert answers(planning) == answers(with_ball(empty_scene))  # the ball is unchanged
    kept = planning.for_robot(planning.robot)
    assert {name: one.reason for name, one in kept.problems.items()} == {
        "ball": "object 'ball': broken", "new": "object 'new': broken"
    }  # fmt: skip
    edit = kept.edit()
    with pytest.raises(ValueError, match=r"broken: remove it or add it again"):
        edit.object("new")
    edit.remove("ball")
    assert edit.commit().problems.keys() == {"new"} and "ball" not in edit.commit().objects
    edit.remove_all(source="s")
    assert not edit.commit().problems


@pytest.mark.parametrize(("reported", "is_solved"), [([True], True), ([False, True], False), ([True, False], False)])
def test_a_move_solves_only_problems_of_moves(empty_scene, reported, is_solved):
    edit = empty_scene.edit()
    edit.add("two", [Sphere(0.1)] * 2, [at(0.0), at(1.0)], at(0.0, 3.0))
    for by_move in reported:
        edit.report(Problem("two", reason="object 'two': nowhere", by_move=by_move))
        edit.report(Problem("unknown", reason="object 'unknown': nowhere", by_move=by_move))
    if is_solved:
        edit.move("two", at(0.0, 4.0), [at(0.0), at(2.0)])
    else:
        with pytest.raises(ValueError, match="nowhere"):
            edit.move("two", at(0.0, 4.0))
    assert edit.commit().problems.keys() == ({"unknown"} if is_solved else {"unknown", "two"})


def test_reasons_of_problems_do_not_grow(empty_scene):
    edit, lengths = empty_scene.edit(), []
    edit.report(Problem("cup", reason="radius"))
    for _ in range(3):
        with pytest.raises(ValueError, match="radius") as error:
            edit.move("cup", at(1.0))
        edit.report(Problem("cup", reason=str(error.value)))
        lengths.append(len(edit.problems["cup"].reason))
    assert lengths[0] == lengths[2]
    edit.report(Problem("cup", reason=10_000 * "x"))
    assert len(edit.problems["cup"].reason) == 1000
    for number in range(1000):
        edit.add(f"o{number}", [Sphere(0.1)], [np.eye(4)], at(5.0))
    with pytest.raises(ValueError, match="does not exist") as error:
        edit.move("nothing", at(1.0))
    assert len(str(error.value)) < 200


def test_number_of_unreadable_object_names_is_limited(robot):
    edit = PlanningScene(robot, limits=Limits(objects=3)).edit()
    for number in range(10):
        edit.report(Problem(str(number), reason=f"object '{number}': broken"))
    planning = edit.commit()
    assert [*planning.problems] == ["0", "1", "2", MORE]
    with pytest.raises(ValueError, match="5 objects, at most 3"):
        with_ball(planning)
    edit = planning.edit()
    for number in range(3):
        edit.remove(str(number))
    edit.remove_all()
    assert edit.commit().problems.keys() == {MORE}  # the names beyond the limit are unknown
    edit.remove_all(attached=True)
    assert not edit.commit().problems


@pytest.mark.parametrize("first", [IN_WORLD, ON_HAND])
def test_an_unknown_object_in_the_world_and_one_on_a_link_are_two(empty_scene, first):
    edit = empty_scene.edit()
    for links in (first, (IN_WORLD | ON_HAND) - first):
        edit.report(Problem("ball", links=links, reason="broken"))
    planning = edit.commit()
    for attached, left in ((True, IN_WORLD), (False, ON_HAND)):
        for change in ("remove", "remove_all"):
            edit = planning.edit()
            edit.remove("ball", attached=attached) if change == "remove" else edit.remove_all(attached=attached)
            assert edit.problems["ball"].links == left
            edit.remove_all(attached=not attached)
            assert not edit.problems
    edit = with_ball(planning).edit()
    assert edit.problems["ball"].links == ON_HAND
    assert not with_ball(planning, link="hand").problems


def test_an_unknown_object_on_a_link_outlives_a_known_one_of_the_world(empty_scene):
    edit = with_ball(empty_scene).edit()
    edit.report(Problem("ball", links=ON_HAND, reason="broken"))
    with pytest.raises(ValueError, match="broken"):
        edit.attach("ball", "hand", at(0.5))
    edit.remove_all()
    assert not edit.objects and edit.problems["ball"].links == ON_HAND


def test_a_known_object_moves_although_too_many_are_unknown(robot):
    edit = with_ball(PlanningScene(robot, limits=Limits(objects=2)), link="hand").edit()
    for name in "abc":
        edit.report(Problem(name, reason="broken"))
    edit.detach("ball", at(1.0))
    edit.move("ball", at(2.0))
    assert edit.commit().objects["ball"].pose[0, 3] == 2.0


def test_replacing_one_source_keeps_objects_of_another(empty_scene):
    edit = with_ball(empty_scene, source="a").edit()
    edit.report(Problem("ball", reason="object 'ball': broken", source="b"))
    edit.remove_all(source="b")
    planning = edit.commit()
    assert planning.objects.keys() == {"ball"} and not planning.problems


def test_unreadable_octomap_is_repaired_by_the_previous_one(empty_scene):
    tree = Octree(binary_stream({(HALF,) * 3: True}), 0.1, True)
    edit = empty_scene.edit()
    edit.set_octomap(tree, at(0.0, 9.0), 10)
    edit.report(Problem(OCTOMAP, reason="octomap: broken"))
    edit = edit.commit().edit()
    edit.set_octomap(tree, at(0.0, 9.0), 10)
    assert not edit.commit().problems


def test_pairs_with_a_world_object_concern_the_world(empty_scene):
    assert not empty_scene.concerns_world()
    planning = with_ball(empty_scene)
    assert planning.concerns_world() and planning.concerns_world(planning.body_pairs(["ball"]))
    assert not planning.concerns_world(planning.body_pairs(["base"], ["hand"]))
    edit = planning.edit()
    edit.attach("ball", "hand", np.eye(4))
    assert not edit.commit().concerns_world()


def test_object_in_world_frame_is_converted_for_a_moving_robot(empty_scene):
    there = OutsideFrame("odom", at(3.0))
    planning = with_ball(empty_scene, outside_frame=there)
    moving = planning.for_robot(Robot.from_urdf(URDF, world_frame="odom"))
    assert not moving.problems
    np.testing.assert_array_equal(moving.objects["ball"].pose, at(-3.0, 3.0))
    assert moving.objects["ball"].outside_frame is None
    other = planning.for_robot(Robot.from_urdf(URDF, world_frame="map"))
    assert other.problems.keys() == {"ball"} and not other.problems["ball"].is_unread
    with pytest.raises(ValueError, match="'odom' is the frame of the world"):
        moving.edit().attach("ball", "odom", np.eye(4))
