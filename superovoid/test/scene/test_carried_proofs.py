# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Overlaps in motion: the proof of a depth that is carried along holds, by a judge that shares no code with it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Body, Scene, Status, Superovoid, distance
from superovoid.contact.superovoids import kept_nets
from superovoid.contact.superovoids.kept_nets import OWNER, TRIES, USED, VERTICES
from superovoid.scene.pair_table import NOW
from superovoid.shapes.kernels.rounding import allowance
from superovoid.shapes.kernels.surface import RADIUS
from superovoid.testing.independent import support

# Like parts of fingers; convex, and too boxy for the balls inside them to prove a depth.
SHAPES = (
    Superovoid((0.007, 0.015, 0.0073), section_exponent=0.38, profile_exponent=1.07),
    Superovoid((0.010, 0.008, 0.02), section_exponent=0.4, profile_exponent=0.9),
    Superovoid((0.009, 0.010, 0.022), section_exponent=0.8, profile_exponent=1.0, taper=(0.1, -0.05)),
)


def pose(turn=None, offset=(0.0, 0.0, 0.0)):
    matrix = np.eye(4)
    matrix[:3, :3] = np.eye(3) if turn is None else turn.as_matrix()
    matrix[:3, 3] = offset
    return matrix


def carried(scene):
    """How many pairs were answered by a proof of before."""
    about = scene._nets.about
    used = (about[:, OWNER] >= 0) & (about[:, USED] == scene._pool.head[NOW] - 1)
    return int((used & (about[:, VERTICES] > 0) & (about[:, TRIES] == 0)).sum())


def in_motion(steps, rng):
    """A scene of overlapping bodies at poses that change a little from one to the next."""
    scene = Scene([Body(str(k), str(k), shape) for k, shape in enumerate(SHAPES)])
    turns = [Rotation.random(random_state=rng) for _ in SHAPES]
    places = 0.004 * rng.normal(size=(3, 3))
    for _ in range(steps):
        turns = [Rotation.from_rotvec(0.01 * rng.normal(size=3)) * turn for turn in turns]
        places += 5e-5 * rng.normal(size=(3, 3))
        scene.set_link_poses(np.array([pose(turn, place) for turn, place in zip(turns, places, strict=True)]))
        yield scene


def directions(rng, count, about):
    """Directions all over the sphere, and more of them about one."""
    wide = rng.normal(size=(count, 3))
    near = about + 10.0 ** rng.uniform(-4.0, 0.0, (count, 1)) * rng.normal(size=(count, 3))
    both = np.concatenate([wide, near])
    return both / np.linalg.norm(both, axis=1, keepdims=True)


def shallowest(scene, result, row, n):
    """Least value of the support function of the difference of a row's bodies over some directions, by the judge."""
    total = 0.0
    for index, sign in ((result.body_a[row], 1.0), (result.body_b[row], -1.0)):
        shape, world = scene.bodies[index].shape, scene.poses[index]
        numbers = np.array([*shape.semi_axes, shape.section_exponent, shape.profile_exponent, *shape.taper])
        local = sign * n @ world[:3, :3]
        total += support(np.tile(numbers, (len(n), 1)), local)[0] + sign * n @ world[:3, 3]
    return total.min()


def test_no_direction_is_shallower_than_a_carried_proof_says():
    rng = np.random.default_rng(5)
    proofs = 0
    for number, scene in enumerate(in_motion(30, rng)):
        result = scene.query()
        proofs += carried(scene)
        assert result.certified.all()
        if number % 10 != 9:
            continue
        for row in np.flatnonzero(result.distance < 0.0):
            least = shallowest(scene, result, row, directions(rng, 100, result.normal[row]))
            assert least >= -result.upper[row] - 1e-15
    assert proofs > 50


def test_carried_answers_are_those_of_a_scene_that_has_seen_nothing():
    rng = np.random.default_rng(6)
    proofs = 0
    for scene in in_motion(30, rng):
        warm = scene.query()
        proofs += carried(scene)
        cold = scene.fork()
        cold.forget()
        cold = cold.query()
        assert (warm.body_a == cold.body_a).all() and (warm.body_b == cold.body_b).all()
        assert (np.maximum(warm.lower, cold.lower) <= np.minimum(warm.upper, cold.upper)).all()
        assert (warm.status == cold.status).all()
    assert proofs > 40


def test_a_carried_answer_leaves_room_for_rounding_between_the_depth_and_its_bound():
    rng = np.random.default_rng(10)
    seen = 0
    for scene in in_motion(20, rng):
        result = scene.query()
        overlaps = np.flatnonzero(result.distance < 0.0)
        if carried(scene) < len(overlaps):
            continue
        for row in overlaps:
            a, b = result.body_a[row], result.body_b[row]
            apart = np.linalg.norm(scene.poses[a, :3, 3] - scene.poses[b, :3, 3])
            radii = [scene.bodies[index].shape._packed[RADIUS] for index in (a, b)]
            assert result.upper[row] - result.distance[row] >= 0.9 * allowance(*radii, apart)
            seen += 1
    assert seen > 20


def test_no_proof_of_dented_bodies_is_carried():
    plate, dented = (
        SHAPES[0],
        Superovoid((0.01, 0.008, 0.02), section_exponent=0.7, profile_exponent=0.5, taper=(0.3, -0.3)),
    )
    scene = Scene([Body("plate", "a", plate), Body("dented", "b", dented)])
    for x in np.linspace(0.004, 0.0041, 8):
        scene.set_link_poses(np.array([pose(), pose(Rotation.from_rotvec((0.2, -0.1, 0.3)), (x, 1e-3, 5e-4))]))
        assert scene.query().distance < 0.0
        assert (scene._nets.about[:, OWNER] < 0).all()


def test_the_shallowest_way_out_may_be_another_one_in_the_next_frame():
    # Along x a bar leaves a plate to the left or to the right, whichever is nearer.
    plate, bar = (
        Superovoid((0.005, 0.02, 0.02), section_exponent=0.4, profile_exponent=0.5),
        Superovoid((0.006, 0.03, 0.008), section_exponent=0.4, profile_exponent=0.9),
    )
    scene = Scene([Body("plate", "a", plate), Body("bar", "b", bar)])
    sides, proofs = set(), 0
    for x in np.linspace(-2e-4, 2e-4, 41):
        poses = np.array([pose(), pose(Rotation.from_rotvec((0.05, 0.02, 0.03)), (x, 3e-5, 2e-5))])
        scene.set_link_poses(poses)
        [warm] = scene.query().distance
        proofs += carried(scene)
        cold = distance(plate, poses[0], bar, poses[1])
        assert cold.lower <= warm <= cold.upper or abs(warm - cold.distance) <= 2e-11
        sides.add(int(np.sign(scene.query().normal[0, 0])))
    assert sides == {-1, 1} and proofs > 2


def test_proofs_of_bodies_that_have_gone_are_not_those_of_others():
    for scene in in_motion(20, np.random.default_rng(7)):
        scene.query()
    assert carried(scene) > 0
    # The pair of the bodies with the indices 0 and 1 is another one from now on.
    scene.remove("0")
    assert (scene._nets.about[:, OWNER] < 0).all()
    cold = scene.fork()
    cold.forget()
    assert scene.query().distance == pytest.approx(cold.query().distance, abs=1e-11)


def test_more_overlaps_than_there_is_room_for_are_answered_too(monkeypatch):
    monkeypatch.setattr(kept_nets, "MOST_NETS", 1)
    rng = np.random.default_rng(7)
    for scene in in_motion(20, rng):
        warm = scene.query()
        cold = scene.fork()
        cold.forget()
        assert warm.distance == pytest.approx(cold.query().distance, abs=1e-11)
    assert len(scene._nets.about) == 1 and carried(scene) == 1


def test_what_a_search_saw_of_other_directions_is_said_again_by_the_next_query():
    # One in the other: either end of an axis is as near.
    inner, outer = (
        Superovoid((0.005, 0.009, 0.012), section_exponent=0.4, profile_exponent=0.5),
        Superovoid((0.02, 0.03, 0.04), section_exponent=0.5, profile_exponent=0.3),
    )
    scene = Scene([Body("inner", "a", inner), Body("outer", "b", outer)])
    turn = Rotation.from_rotvec((0.3, 0.2, 0.1))
    for shift in (0.0, 0.0, 1e-18, 1e-15, 1e-14):
        scene.set_link_poses(np.array([pose(), pose(turn, (shift, 0.0, 0.0))]))
        [status] = scene.query().status
        assert status == Status.ARBITRARY_NORMAL, shift
    # Well to the side one end is nearer, and there is no other direction as good.
    scene.set_link_poses(np.array([pose(), pose(turn, (1e-6, 2e-6, 3e-6))]))
    assert scene.query().status[0] == Status.CERTIFIED


def test_no_proof_is_carried_where_a_direction_beside_the_contact_is_as_good():
    # Nearly sharp boxes. A direction 0.18 rad from the normal is as good to within 0.8 of the tolerance; the triangle
    # that has it begins at the normal, so that what is proved of the contact's own directions is not enough.
    a = Superovoid(
        (0.009343262223560142, 0.018327890401569482, 0.009000285126723328),
        section_exponent=0.0028524441223153193,
        profile_exponent=0.010422642588673765,
    )
    b = Superovoid(
        (0.005727435816285399, 0.005546911190112627, 0.011948627470485987),
        section_exponent=0.012451802843786604,
        profile_exponent=0.010384118432358022,
    )
    poses = (
        (
            (0.4463272777401109, 0.43677693433465153, -0.02838553255187353),
            (-0.010244304729799666, -0.004267310597766485, 0.0028865743667695707),
        ),
        (
            (0.4463272761266322, 0.43677693438304993, -0.028385534368707596),
            (-0.010493247363099652, -0.004267310597766487, 0.002250759639446237),
        ),
        (
            (0.44632727467493155, 0.43677693446887045, -0.028385534952029615),
            (-0.010975828125245767, -0.004267310597766491, 0.0010182188262152865),
        ),
    )
    beside = np.array([[-0.9596298519201586, -2.166117823901605e-05, 0.281265971696698]])
    tolerance = 1e-3
    goal = tolerance * min(max(a.semi_axes), max(b.semi_axes))
    scene = Scene([Body("a", "a", a), Body("b", "b", b)], rtol=tolerance)
    proofs = []
    for turn, place in poses:
        scene.set_link_poses(np.array([pose(), pose(Rotation.from_rotvec(turn), place)]))
        result = scene.query()
        proofs.append(carried(scene))
    assert shallowest(scene, result, 0, beside) < 0.9 * goal - result.distance[0]
    assert result.normal[0] @ beside[0] < np.cos(0.1)
    assert proofs == [0, 1, 0]


def test_a_first_proof_is_made_by_several_queries_that_work_at_one_pair_each():
    worked, carried_then = [], []
    for scene in in_motion(30, np.random.default_rng(9)):
        before = scene._nets.about.copy()
        scene.query()
        about = scene._nets.about
        before = before if len(before) else np.zeros_like(about)
        longer = (about[:, TRIES] > 0) & (about[:, VERTICES] != before[:, VERTICES])
        worked.append(int(longer.sum()))
        carried_then.append(carried(scene))
    assert max(worked) == 1 and sum(worked) > 2
    assert carried_then[1] < 2 and max(carried_then) == 3
