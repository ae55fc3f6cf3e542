# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Many states at once, against a plain loop of queries, finite differences and known numbers."""

from __future__ import annotations

import pickle
import threading
import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Body, Box, Capsule, ConvexMesh, HalfSpace, Mesh, Scene, Sphere, Status, Superovoid, Torus
from superovoid.compiled.threads import MOST_HELPERS
from superovoid.robot import Robot
from superovoid.states import StateQuery, state_distances
from superovoid.states import query as state_query
from superovoid.states.blocks import IdleMemory

import arm
import hands

HANDS, SWEEP = hands.hands(), hands.grasp_sweep()
BETWEEN = HANDS.body_pairs(["left_hand"], ["right_hand"])
ARM = Robot.from_urdf(arm.URDF, srdf=arm.SRDF)

# Mimic of a mimic with factors and offsets, a slide, a floating base with its own joint.
TREE = Robot.from_urdf("""<robot name="tree">
  <link name="base"><contact_geometry><sphere radius="0.1"/></contact_geometry></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0.1 0 0.2" rpy="0.1 -0.2 0.3"/><axis xyz="0 2 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/>
  </joint>
  <link name="upper"><contact_geometry><superovoid size="0.05 0.06 0.2" epsilon="0.5 0.8" taper="0.2 -0.1"/>
    </contact_geometry></link>
  <joint name="lift" type="prismatic"><parent link="upper"/><child link="slide"/>
    <origin xyz="0 0.3 0" rpy="1 0 0"/><axis xyz="1 1 0"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint>
  <link name="slide"/>
  <joint name="grip" type="revolute"><parent link="slide"/><child link="left"/><origin xyz="0 0.2 0"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <link name="left"><contact_geometry><origin xyz="0.1 0 0"/><ellipsoid size="0.1 0.03 0.04"/></contact_geometry></link>
  <joint name="follow" type="revolute"><parent link="slide"/><child link="right"/><origin xyz="0 -0.2 0"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
    <mimic joint="grip" multiplier="-0.5" offset="0.1"/></joint>
  <link name="right"><contact_geometry><origin xyz="0.1 0 0"/><ellipsoid size="0.1 0.04 0.03"/></contact_geometry>
    </link>
  <joint name="last" type="prismatic"><parent link="right"/><child link="flag"/><origin xyz="0 0 0.1" rpy="0 1 0"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
    <mimic joint="follow" multiplier="2" offset="-0.3"/></joint>
  <link name="flag"><contact_geometry><sphere radius="0.05"/></contact_geometry></link>
  <joint name="free" type="floating"><parent link="base"/><child link="drone"/></joint>
  <link name="drone"><contact_geometry><superellipsoid size="0.2 0.1 0.1" epsilon="0.4 0.4"/></contact_geometry></link>
  <joint name="leg" type="continuous"><parent link="drone"/><child link="foot"/><origin xyz="0 0 -0.2"/>
    <axis xyz="1 0 0"/></joint>
  <link name="foot"><contact_geometry><origin xyz="0 0 -0.1"/><sphere radius="0.06"/></contact_geometry></link>
</robot>""")


def random_poses(rng: np.random.Generator, count: int, reach: float) -> np.ndarray:
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = Rotation.random(count, random_state=int(rng.integers(1 << 30))).as_matrix()
    poses[:, :3, 3] = rng.uniform(-reach, reach, (count, 3))
    return poses


def random_hands(count: int, seed: int = 0) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return random finger positions, with palms of random frames of the sweep: many pairs are near, some overlap."""
    rng = np.random.default_rng(seed)
    limits = np.array([HANDS.joint_limits[name] for name in HANDS.joint_names])
    frames = [SWEEP.frame(i) for i in rng.integers(len(SWEEP), size=count)]
    bases = {link: np.array([frame.base_poses[link] for frame in frames]) for link in HANDS.base_links}
    return rng.uniform(limits[:, 0], limits[:, 1], (count, len(limits))), bases


def random_trees(count: int, seed: int = 0) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.0, 1.0, (count, len(TREE.joint_names))), {"drone": random_poses(rng, count, 0.5)}


def loop(robot, scene, positions, bases, **query):
    """Query the states one by one, as a user would; yield each result, and the robot's state."""
    scene = scene.fork()
    for s, row in enumerate(positions):
        by_name = dict(zip(robot.joint_names, row, strict=True))
        base = {link: pose[s] if pose.ndim == 3 else pose for link, pose in bases.items()}
        if s % state_query.BLOCK == 0:
            scene.forget()
        poses = {link: scene._link_poses[row] for link, row in scene._row.items()}
        scene.set_link_poses({**poses, **robot.forward_kinematics(by_name, base)})
        yield scene.query(**query), by_name, base


def assert_equal(found, expected):
    """Compare bit by bit."""
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), value, err_msg=name)


def assert_agrees(found, expected):
    """Check for equal pairs, flags and counts, and intervals that meet and are equally wide."""
    for name in ("body_a", "body_b", "status"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    assert (found.lower <= expected.upper).all() and (expected.lower <= found.upper).all()
    np.testing.assert_allclose(found.upper - found.lower, expected.upper - expected.lower, rtol=0, atol=1e-9)
    for name in ("pairs", "past_sphere", "past_obb", "solved", "intersecting"):
        assert getattr(found.statistics, name) == getattr(expected.statistics, name), name


# --- against a plain loop ---


@pytest.mark.parametrize(
    "query",
    [{"max_distance": 0.02, "pairs": BETWEEN}, {"max_distance": 0.02, "max_results": 3}, {"overlapping_only": True}],
    ids=["pairs within `max_distance`", "three closest", "overlaps"],
)
def test_answers_of_the_hands_equal_a_loop_of_queries(query):
    positions, bases = random_hands(70)
    found = state_distances(HANDS, HANDS.scene(), positions, base_poses=bases, **query)
    assert (found.done, found.states) == (70, 70)
    for s, (expected, *_) in enumerate(loop(HANDS, HANDS.scene(), positions, bases, **query)):
        assert_agrees(found.of_state(s), expected)


def test_gradients_of_the_hands_equal_those_of_a_loop():
    positions, bases = random_hands(10)
    found = state_distances(
        HANDS, HANDS.scene(), positions, base_poses=bases, max_distance=0.02, gradients=True, base_gradients=True
    )
    assert (found.joint_names, found.base_links) == (HANDS.joint_names, HANDS.base_links)
    for s, (result, at, base) in enumerate(loop(HANDS, HANDS.scene(), positions, bases, max_distance=0.02)):
        rows = slice(found.first[s], found.first[s + 1])
        expected = HANDS.distance_gradients(result, at, base)
        np.testing.assert_allclose(found.gradients[rows], expected.by_joint, rtol=0, atol=1e-6)
        np.testing.assert_allclose(found.base_gradients[rows], expected.by_base, rtol=0, atol=1e-6)


def test_mimic_chains_slides_and_floating_bases_equal_a_loop():
    positions, bases = random_trees(100)
    scene = TREE.scene()
    found = state_distances(TREE, scene, positions, base_poses=bases, gradients=True, base_gradients=True)
    for s, (result, at, base) in enumerate(loop(TREE, scene, positions, bases)):
        assert_agrees(found.of_state(s), result)
        rows = slice(found.first[s], found.first[s + 1])
        expected = TREE.distance_gradients(result, at, base)
        np.testing.assert_allclose(found.gradients[rows], expected.by_joint, rtol=0, atol=1e-6)
        np.testing.assert_allclose(found.base_gradients[rows], expected.by_base, rtol=0, atol=1e-6)


def test_all_kinds_of_bodies_on_and_off_robots_equal_a_loop():
    ring = Torus(0.2, 0.05)
    triangles = ring.tessellate(8)
    bodies = [
        Body("table", "table", HalfSpace()),
        Body("pillar", "pillar", Capsule(0.05, 0.2)),
        Body("rim", "rim", ring),
        Body("crate", "base", Box((0.2, 0.2, 0.2))),
        Body("stone", "left", ConvexMesh(np.vstack([np.zeros(3), 0.1 * np.eye(3)]))),
        Body("gear", "flag", Mesh(triangles.vertices, triangles.faces)),
        Body("egg", "foot", Superovoid((0.1, 0.1, 0.2), section_exponent=0.8, profile_exponent=0.8, taper=(0.2, 0.1))),
    ]
    scene = Scene(bodies)
    for k, (link, pose) in enumerate(zip(scene.links, random_poses(np.random.default_rng(3), 7, 0.4), strict=True)):
        scene.set_link_pose(link, pose if k else arm.at(0.0, 0.0, -0.5))
    positions, bases = random_trees(6)
    found = state_distances(TREE, scene, positions, base_poses=bases, max_distance=0.5, gradients=True)
    assert len(found) > 30 and (found.status & Status.UNPROVEN == 0).any()
    assert [link for link in scene.links if link in TREE.links] == ["base", "left", "flag", "foot"]
    for s, (expected, *_) in enumerate(loop(TREE, scene, positions, bases, max_distance=0.5)):
        assert_agrees(found.of_state(s), expected)
    fixed = (found.body_a < 3) & (found.body_b < 3)
    assert fixed.any() and not found.gradients[fixed].any()


def test_many_pairs_equal_those_of_a_scene_with_a_tree():
    rng = np.random.default_rng(5)
    balls = [Body(f"ball {i}", f"ball {i}", Sphere(0.05)) for i in range(200)]
    scene = Scene([*ARM.bodies, *balls])
    for link in scene.links:
        scene.set_link_pose(link, arm.at(*rng.uniform(-1.5, 1.5, 3)))
    positions = rng.uniform(0.0, 1.0, (3, 2))
    bases = {"ball": arm.at(0.3, 0.3, 0.0)}
    found = state_distances(ARM, scene, positions, base_poses=bases, max_distance=0.1)
    assert found.statistics.pairs > 70 * len(scene.bodies)
    for s, (expected, *_) in enumerate(loop(ARM, scene, positions, bases, max_distance=0.1)):
        # The counts differ: the list counts some pairs that the tree skips.
        result = found.of_state(s)
        np.testing.assert_array_equal(result.distance, expected.distance)
        np.testing.assert_array_equal(result.body_a, expected.body_a)
        np.testing.assert_array_equal(result.body_b, expected.body_b)


# --- known numbers and finite differences ---


def test_known_distances_and_slopes_of_the_arm():
    # The hand's ball is half a metre ahead of the slider, the free ball 2 m ahead of the ground.
    found = state_distances(
        ARM,
        ARM.scene(),
        [[0.0, 0.0], [0.25, 0.0], [0.0, np.pi / 2]],
        base_poses={"ball": arm.at(2.0, 0.0, 0.0)},
        pairs=[[1, 3]],
        gradients=True,
        base_gradients=True,
    )
    assert found.distance == pytest.approx([1.35, 1.1, np.hypot(2.0, 0.5) - 0.15], abs=1e-12)
    assert found.closest == pytest.approx(found.distance)
    assert found.state.tolist() == [0, 1, 2]
    length = np.hypot(2.0, 0.5)
    assert found.gradients == pytest.approx(np.array([[-1, 0], [-1, 0], [-2 / length, 1 / length]]), abs=1e-12)
    assert found.base_gradients[0, 0] == pytest.approx([1, 0, 0, 0, 0, 0], abs=1e-12)


def test_gradients_agree_with_finite_differences():
    positions, bases = random_trees(40, seed=1)
    scene, step = TREE.scene(), 1e-6
    found = state_distances(TREE, scene, positions, base_poses=bases, gradients=True, base_gradients=True)
    regular = found.status & (Status.NON_UNIQUE | Status.ARBITRARY_NORMAL | Status.UNPROVEN) == 0
    assert regular.mean() > 0.9

    def by_pair(positions, bases):
        """Return distances in the order of states and pairs."""
        answer = state_distances(TREE, scene, positions, base_poses=bases)
        return answer.distance[np.lexsort((answer.body_b, answer.body_a, answer.state))]

    order = np.lexsort((found.body_b, found.body_a, found.state))
    regular = regular[order]
    for joint in range(positions.shape[1]):
        aside = step * np.eye(positions.shape[1])[joint]
        slope = (by_pair(positions + aside, bases) - by_pair(positions - aside, bases)) / (2.0 * step)
        np.testing.assert_allclose(found.gradients[order, joint][regular], slope[regular], rtol=0, atol=1e-6)
    for i in range(6):
        twist = step * np.eye(6)[i]
        moved = []
        for sign in (1.0, -1.0):
            poses = bases["drone"].copy()
            poses[:, :3, 3] += sign * twist[:3]
            poses[:, :3, :3] = Rotation.from_rotvec(sign * twist[3:]).as_matrix() @ poses[:, :3, :3]
            moved.append(by_pair(positions, {"drone": poses}))
        slope = (moved[0] - moved[1]) / (2.0 * step)
        np.testing.assert_allclose(found.base_gradients[order, 0, i][regular], slope[regular], rtol=0, atol=1e-6)


def test_gradients_of_one_state_agree_with_many_and_with_jacobians():
    positions, bases = random_trees(20, seed=2)
    found = state_distances(TREE, TREE.scene(), positions, base_poses=bases, gradients=True, base_gradients=True)
    for state in range(20):
        one, base = found.of_state(state), {"drone": bases["drone"][state]}
        got = TREE.distance_gradients(one, positions[state], base)
        rows = found.state == state
        np.testing.assert_array_equal(got.by_joint, found.gradients[rows])
        np.testing.assert_array_equal(got.by_base, found.base_gradients[rows])
        for pair, by_joint in zip(one, got.by_joint, strict=True):
            ends = ((pair.link_a, pair.point_a), (pair.link_b, pair.point_b))
            speed_a, speed_b = (TREE.jacobian(link, point, positions[state], base)[:3] for link, point in ends)
            np.testing.assert_allclose(by_joint, pair.normal @ speed_b - pair.normal @ speed_a, rtol=0, atol=1e-14)


# --- repeatable bits ---


def test_gradients_are_flagged_if_not_differentiable():
    robot = Robot.from_urdf(
        """<robot name="flats"><link name="table"><contact_geometry>
          <superellipsoid size="0.5 0.5 0.1" epsilon="0.02 0.02"/></contact_geometry></link>
        <joint name="lift" type="prismatic"><parent link="table"/><child link="carrier"/><axis xyz="0 0 1"/>
          <limit lower="0" upper="2" effort="1" velocity="1"/></joint>
        <link name="carrier"/>
        <joint name="tilt" type="continuous"><parent link="carrier"/><child link="plate"/><axis xyz="1 0.3 0"/></joint>
        <link name="plate"><contact_geometry>
          <superellipsoid size="0.2 0.15 0.1" epsilon="0.02 0.02"/></contact_geometry></link></robot>"""
    )
    scene = robot.scene()
    scene.set_pairs_allowed([[0, 1]], True)
    found = state_distances(robot, scene, [[0.5, 0.0], [0.5, 0.4]], gradients=True)
    assert found.distance[0] == pytest.approx(0.3) and found.status[0] == Status.NON_UNIQUE
    assert found.differentiable.tolist() == [False, True]
    assert found.differentiable.tolist() == [found[row].status.differentiable for row in range(2)]
    for row, tilt in enumerate((0.0, 0.4)):
        positions = {"lift": 0.5, "tilt": tilt}
        scene.set_link_poses(robot.forward_kinematics(positions))
        result = scene.query()
        one = robot.distance_gradients(result, positions)
        assert one.status.tolist() == result.status.tolist() == found.status[[row]].tolist()
        assert one.differentiable.tolist() == [bool(found.differentiable[row])]


def test_answers_do_not_depend_on_earlier_queries():
    positions, bases = random_hands(130)
    scene = HANDS.scene()

    def ask():
        return state_distances(HANDS, scene, positions, base_poses=bases, max_distance=0.01, gradients=True)

    first = ask()
    scene.set_link_poses(HANDS.forward_kinematics(SWEEP.frame(9).positions, SWEEP.frame(9).base_poses))
    scene.query()
    assert_equal(ask(), first)


def test_a_reused_query_answers_like_a_new_one():
    scene, options = HANDS.scene(), {"pairs": BETWEEN, "max_distance": 0.02, "gradients": True}
    ask = StateQuery(HANDS, scene, **options)
    for seed, count in enumerate((1, 130, 3, 1)):
        positions, bases = random_hands(count, seed)
        expected = state_distances(HANDS, HANDS.scene(), positions, base_poses=bases, **options)
        assert_equal(ask(positions, base_poses=bases, threads=2), expected)


LIMITS = {"max_distance": 0.02}, {"max_results": 3}, {"max_distance": 0.05, "overlapping_only": True}, {}


def test_a_query_with_other_limits_answers_like_a_new_one():
    scene = HANDS.scene()
    ask = StateQuery(HANDS, scene, pairs=BETWEEN, max_distance=0.001, gradients=True)
    positions, bases = random_hands(70)
    for _ in range(2):  # the second round reuses the memory
        for limits in LIMITS:
            expected = state_distances(
                HANDS, scene, positions, base_poses=bases, pairs=BETWEEN, gradients=True, **limits
            )
            assert_equal(ask.with_limits(**limits)(positions, base_poses=bases), expected)
    by_links = StateQuery(HANDS, scene, closest_of_links=True)
    expected = state_distances(HANDS, scene, positions, base_poses=bases, max_distance=0.01, closest_of_links=True)
    assert_equal(by_links.with_limits(max_distance=0.01)(positions, base_poses=bases), expected)


@pytest.mark.parametrize("count", [1, 70])
def test_memory_does_not_grow_with_the_number_of_queries(monkeypatch, count):
    made, make = [], state_query.solving.memory_for
    monkeypatch.setattr(state_query, "_IDLE", (IdleMemory(), IdleMemory()))
    monkeypatch.setattr(state_query.solving, "memory_for", lambda *sizes: made.append(0) or make(*sizes))
    positions, bases = random_hands(count)
    scenes = HANDS.scene(), HANDS.scene()
    asked = [StateQuery(HANDS, scene, pairs=BETWEEN[k:], **LIMITS[k % 4]) for scene in scenes for k in range(20)]
    made.clear()
    for ask in asked:
        ask(positions, base_poses=bases, threads=1)
    assert 1 <= len(made) <= 2
    StateQuery(HANDS, scenes[0])(positions, base_poses=bases, threads=1)  # more pairs
    assert len(made) <= 3


def test_idle_memory_keeps_the_last_used_ones_that_suffice():
    idle = IdleMemory()
    for size in range(20):
        idle.give(size)
    assert idle.take(lambda size: size % 9 == 0) == 18
    assert idle.take(lambda size: size < 10 - MOST_HELPERS) is None
    assert sorted(idle) == [size for size in range(19 - MOST_HELPERS, 20) if size != 18]
    assert not pickle.loads(pickle.dumps(idle))


def test_memory_of_larger_queries_changes_no_answer(monkeypatch):
    hands, trees = random_hands(130), random_trees(130)

    def ask(count, robot=HANDS, asked=hands, **options):
        bases = {link: poses[:count] for link, poses in asked[1].items()}
        return state_distances(robot, robot.scene(), asked[0][:count], base_poses=bases, threads=1, **options)

    for count in (1, 5, 130):
        monkeypatch.setattr(state_query, "_IDLE", (IdleMemory(), IdleMemory()))
        expected = ask(count, pairs=BETWEEN[::3])
        for other in (130, 1):
            for more in ({}, {"robot": TREE, "asked": trees}):
                ask(other, **more)
                assert_equal(ask(count, pairs=BETWEEN[::3]), expected)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_distance": float("nan")}, "max_distance"),
        ({"max_distance": True}, "max_distance"),
        ({"max_results": 0}, "max_results"),
        ({"max_results": 1.5}, "max_results"),
    ],
)
def test_invalid_limits_are_refused(limits, words):
    with pytest.raises(ValueError, match=words):
        StateQuery(HANDS, HANDS.scene()).with_limits(**limits)


def test_max_results_is_refused_with_closest_of_links():
    with pytest.raises(ValueError, match="closest_of_links"):
        StateQuery(HANDS, HANDS.scene(), closest_of_links=True).with_limits(max_results=1)


def test_a_query_does_not_change_the_scene():
    scene = HANDS.scene()
    frame = SWEEP.frame(100)
    scene.set_link_poses(HANDS.forward_kinematics(frame.positions, frame.base_poses))
    poses = scene.poses
    positions, bases = random_hands(3)
    before = scene.query(max_distance=0.02)
    state_distances(HANDS, scene, positions, base_poses=bases, max_distance=0.02)
    np.testing.assert_array_equal(scene.poses, poses)
    again = scene.query(max_distance=0.02)
    np.testing.assert_array_equal(again.body_a, before.body_a)


def test_calls_from_several_threads_give_equal_answers():
    positions, bases = random_hands(40)
    scene, found = HANDS.scene(), [None] * 4

    def ask(k):
        found[k] = state_distances(HANDS, scene, positions, base_poses=bases, max_distance=0.02)

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in found[1:]:
        assert_equal(other, found[0])


@pytest.mark.parametrize("threads", [2, 3, 50])
def test_answers_do_not_depend_on_the_number_of_threads(threads):
    positions, bases = random_hands(330)
    positions[64:128] = positions[64]  # one block is done long before the others
    options = {"base_poses": bases, "max_distance": 0.01, "max_results": 5, "gradients": True, "base_gradients": True}
    alone = state_distances(HANDS, HANDS.scene(), positions, threads=1, **options)
    assert_equal(state_distances(HANDS, HANDS.scene(), positions, threads=threads, **options), alone)


def test_threads_share_the_blocks(monkeypatch):
    positions, bases = random_hands(130)
    over_states, seen, both = state_query.solving.over_states, set(), threading.Barrier(2)

    def note_thread(*arguments):
        if threading.get_ident() not in seen:
            seen.add(threading.get_ident())
            both.wait(60.0)  # each waits until the other has begun
        return over_states(*arguments)

    monkeypatch.setattr(state_query.solving, "over_states", note_thread)
    found = state_distances(
        HANDS, HANDS.scene(), positions, base_poses=bases, pairs=BETWEEN, max_distance=0.01, threads=2
    )
    assert found.done == 130 and len(seen) == 2


def test_an_error_in_a_block_is_raised_by_the_call(monkeypatch):
    positions, bases = random_hands(330)
    begun, answer_block = [], StateQuery._answer_block

    def fail(*arguments):
        begun.append(threading.get_ident())
        if len(begun) == 2:
            raise MemoryError("no more")
        return answer_block(*arguments)

    monkeypatch.setattr(StateQuery, "_answer_block", fail)
    with pytest.raises(MemoryError, match="no more"):
        state_distances(HANDS, HANDS.scene(), positions, base_poses=bases, pairs=BETWEEN, max_distance=0.01, threads=2)
    assert len(begun) < 6  # the other thread begins no further block


# --- deadlines ---


@pytest.mark.parametrize("threads", [1, 3])
def test_states_before_a_deadline_equal_those_of_the_whole_answer(monkeypatch, threads):
    positions, bases = random_hands(200)
    scene = HANDS.scene()
    options = {"base_poses": bases, "pairs": BETWEEN, "max_distance": 0.02, "gradients": True, "base_gradients": True}
    whole = state_distances(HANDS, scene, positions, **options)
    clock = iter(np.arange(0.0, 1e3, 0.05))  # each reading of the clock takes 50 ms
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    part = state_distances(HANDS, scene, positions, deadline=1.0, threads=threads, **options)
    assert (64 if threads == 1 else 0) < part.done < 200  # one of several threads may be far behind
    end = whole.first[part.done]
    assert len(part) == end and (part.first[part.done :] == end).all() and part.states == 200
    for name in ("distance", "point_a", "status", "body_b", "gradients", "base_gradients"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[:end])
    np.testing.assert_array_equal(part.statistics.solved[: part.done], whole.statistics.solved[: part.done])
    assert np.isnan(part.closest[part.done :]).all() and not np.isnan(part.closest[: part.done]).any()
    with pytest.raises(IndexError, match=f"{part.done} states were answered"):
        part.of_state(part.done)


def test_an_expired_deadline_leaves_one_state():
    positions, bases = random_hands(100)
    found = state_distances(HANDS, HANDS.scene(), positions, base_poses=bases, max_distance=0.02, deadline=1e-9)
    assert found.done == 1
    assert len(found) == found.first[1] > 0


def test_a_distant_deadline_changes_nothing():
    positions, bases = random_hands(30)
    scene = HANDS.scene()
    assert_equal(
        state_distances(HANDS, scene, positions, base_poses=bases, max_distance=0.02, deadline=1e3),
        state_distances(HANDS, scene, positions, base_poses=bases, max_distance=0.02),
    )


@pytest.mark.parametrize("threads", [1, 4])
def test_an_answer_ends_with_the_block_that_fills_it(threads):
    positions, bases = random_hands(200)
    options = {"base_poses": bases, "max_distance": 0.02, "gradients": True}
    whole = state_distances(HANDS, HANDS.scene(), positions, **options)
    full = state_distances(HANDS, HANDS.scene(), positions, max_rows=int(whole.first[70]), threads=threads, **options)
    assert full.done == 128
    assert len(full) == whole.first[128]
    assert_equal(full.of_state(127), whole.of_state(127))


def test_a_stopped_answer_ends_with_the_started_blocks():
    positions, bases = random_hands(200)
    stop = threading.Event()
    stop.set()
    found = state_distances(
        HANDS, HANDS.scene(), positions, base_poses=bases, pairs=BETWEEN, max_distance=0.02, stop=stop
    )
    assert found.done == 64


# --- frames ---


def test_a_root_pose_moves_only_points_and_normals():
    positions, bases = random_trees(20)
    world = random_poses(np.random.default_rng(2), 1, 1.0)[0]
    options = {"base_poses": bases, "gradients": True, "base_gradients": True}
    at_root = state_distances(TREE, TREE.scene(), positions, **options)
    moved = state_distances(TREE, TREE.scene(), positions, root_pose=world, **options)
    order = [np.lexsort((found.body_b, found.body_a, found.state)) for found in (at_root, moved)]
    unique = at_root.status[order[0]] & (Status.NON_UNIQUE | Status.ARBITRARY_NORMAL) == 0
    for name in ("distance", "gradients", "base_gradients", "point_a", "normal"):
        expected, found = (getattr(x, name)[o][unique] for x, o in zip((at_root, moved), order, strict=True))
        if name in ("point_a", "normal"):
            expected = expected @ world[:3, :3].T + (world[:3, 3] if name == "point_a" else 0.0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 if name != "distance" else 1e-9, err_msg=name)


# --- input ---


def test_joints_may_come_in_any_order_with_mimics_among_them():
    positions, bases = random_trees(5)
    names = ["last", *TREE.joint_names[::-1], "follow"]
    shuffled = np.column_stack([np.full(5, 7.0), positions[:, ::-1], np.full(5, 7.0)])
    assert_equal(
        state_distances(TREE, TREE.scene(), shuffled, joint_names=names, base_poses=bases, gradients=True),
        state_distances(TREE, TREE.scene(), positions, base_poses=bases, gradients=True),
    )


def test_one_base_pose_is_broadcast_to_all_states():
    positions, bases = random_trees(5)
    one = bases["drone"][2]
    assert_equal(
        state_distances(TREE, TREE.scene(), positions, base_poses={"drone": one}, base_gradients=True),
        state_distances(
            TREE, TREE.scene(), positions, base_poses={"drone": np.tile(one, (5, 1, 1))}, base_gradients=True
        ),
    )


def test_empty_states_and_pairs_are_accepted():
    found = state_distances(ARM, ARM.scene(), np.empty((0, 2)), base_poses={"ball": np.eye(4)}, gradients=True)
    assert (len(found), found.done, found.states, found.gradients.shape) == (0, 0, 0, (0, 2))
    found = state_distances(ARM, ARM.scene(), np.zeros((2, 2)), base_poses={"ball": np.eye(4)}, pairs=[])
    assert (len(found), found.done, found.first.tolist()) == (0, 2, [0, 0, 0])
    assert found.closest.tolist() == [np.inf, np.inf]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"positions": [0.0, 0.0]}, r"positions: must have shape \(states, 2\).*found \(2,\)"),
        ({"positions": [[0.0, 0.0, 0.0]]}, r"positions: must have shape \(states, 2\).*found \(1, 3\)"),
        ({"positions": [[0.0], [0.0, 1.0]]}, "positions: must be numbers"),
        ({"positions": [[True, False]]}, r"positions: must be numbers of double precision, found \[\[True, False\]\]"),
        ({"positions": np.array([[0.1j, 0.0]])}, "positions: must be numbers"),
        ({"positions": {"slide": 0.1, "wrist": "0.2"}}, "positions: joint 'wrist': must be numbers.*found '0.2'"),
        ({"positions": [[0.0, 0.0], [0.0, np.nan]]}, "joint 'wrist' in state 1 = nan"),
        ({"joint_names": ["slide", "elbow"]}, r"'elbow' is not a joint of 'arm' \(joints: slide, wrist\)"),
        ({"joint_names": ["slide", "slide"]}, "joint 'slide' is given twice"),
        ({"joint_names": ["slide", "follower"]}, r"joint 'wrist' is missing \(1 of 2"),
        ({"base_poses": None}, "the pose of 'ball' is missing"),
        ({"base_poses": {"ball": np.eye(4), "hand": np.eye(4)}}, "'hand' of 'arm' hangs on no floating joint.*ball"),
        ({"base_poses": {"ball": np.tile(np.eye(4), (3, 1, 1))}}, r"\(4, 4\) or \(2, 4, 4\), found \(3, 4, 4\)"),
        ({"base_poses": {"ball": 2.0 * np.eye(4)}}, r"base_poses\['ball'\]"),
        ({"pairs": [[0, 9]]}, r"indices must be in \[0, 4\)"),
        ({"pairs": [[0, 1], [0, 2]]}, "is not one of the scene's pairs"),
        ({"max_distance": np.nan}, "max_distance"),
        ({"max_results": 0}, "max_results = 0"),
        ({"deadline": 0.0}, "deadline = 0.0"),
        ({"deadline": np.nan}, "deadline = nan"),
        ({"deadline": "1"}, "deadline = '1'"),
        ({"max_rows": 0}, "max_rows = 0"),
        ({"max_rows": np.nan}, "max_rows = nan"),
        ({"threads": 0}, "threads = 0"),
        ({"root_pose": np.eye(3)}, "root_pose"),
        ({"root_pose": np.eye(4)[None]}, r"root_pose: must have shape \(4, 4\)"),
    ],
)
def test_wrong_input_is_named_with_the_expected_one(changes, words):
    arguments = {"positions": np.zeros((2, 2)), "base_poses": {"ball": np.eye(4)}, **changes}
    with pytest.raises(ValueError, match=words):
        state_distances(ARM, ARM.scene(), **arguments)


def test_exchanged_robot_and_scene_are_named():
    with pytest.raises(TypeError, match="robot: must be of type Robot, found Scene"):
        state_distances(ARM.scene(), ARM, np.zeros((2, 2)))


def test_a_foreign_link_without_a_pose_is_an_error():
    scene = ARM.scene()
    scene.add(Body("cup", "shelf", Sphere(0.1)))
    with pytest.raises(ValueError, match="'shelf' is none of robot 'arm' and has no pose yet"):
        state_distances(ARM, scene, np.zeros((1, 2)), base_poses={"ball": np.eye(4)})


def test_parts_of_an_answer_stay_valid_without_it():
    positions, bases = random_hands(130)
    ask = StateQuery(HANDS, HANDS.scene())
    found = ask(positions, base_poses=bases)
    bodies, normals = found.body_a, found.normal[::3, 1]
    copies = found.body_a.copy(), found.normal[::3, 1].copy()
    del found
    for _ in range(3):
        ask(positions[::-1], base_poses=bases)
    np.testing.assert_array_equal(bodies, copies[0])
    np.testing.assert_array_equal(normals, copies[1])
