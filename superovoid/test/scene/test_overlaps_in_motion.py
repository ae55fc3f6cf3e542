# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Overlaps in motion: the depths of a warm scene hold against a reference that shares no code with it."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from superovoid import Body, Scene, Status, Superovoid, distance
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


def in_motion(steps, rng):
    """Yield a scene of overlapping bodies at poses that change a little from one to the next."""
    scene = Scene([Body(str(k), str(k), shape) for k, shape in enumerate(SHAPES)])
    turns = [Rotation.random(random_state=rng) for _ in SHAPES]
    places = 0.004 * rng.normal(size=(3, 3))
    for _ in range(steps):
        turns = [Rotation.from_rotvec(0.01 * rng.normal(size=3)) * turn for turn in turns]
        places += 5e-5 * rng.normal(size=(3, 3))
        scene.set_link_poses(np.array([pose(turn, place) for turn, place in zip(turns, places, strict=True)]))
        yield scene


def directions(rng, count, about):
    """Return directions all over the sphere, and more of them about one."""
    wide = rng.normal(size=(count, 3))
    near = about + 10.0 ** rng.uniform(-4.0, 0.0, (count, 1)) * rng.normal(size=(count, 3))
    both = np.concatenate([wide, near])
    return both / np.linalg.norm(both, axis=1, keepdims=True)


def least_support(scene, result, row, n):
    """Return the least reference support value of the difference of a row's bodies over some directions."""
    total = 0.0
    for index, sign in ((result.body_a[row], 1.0), (result.body_b[row], -1.0)):
        shape, world = scene.bodies[index].shape, scene.poses[index]
        numbers = np.array([*shape.semi_axes, shape.section_exponent, shape.profile_exponent, *shape.taper])
        local = sign * n @ world[:3, :3]
        total += support(np.tile(numbers, (len(n), 1)), local)[0] + sign * n @ world[:3, 3]
    return total.min()


def test_no_direction_is_shallower_than_the_depth_in_motion():
    rng = np.random.default_rng(5)
    overlaps = 0
    for number, scene in enumerate(in_motion(30, rng)):
        result = scene.query()
        overlaps += int((result.distance < 0.0).sum())
        assert result.certified.all()
        if number % 10 != 9:
            continue
        for row in np.flatnonzero(result.distance < 0.0):
            least = least_support(scene, result, row, directions(rng, 100, result.normal[row]))
            assert least >= -result.upper[row] - 1e-15
    assert overlaps > 50


def test_warm_answers_agree_with_cold_ones():
    rng = np.random.default_rng(6)
    overlaps = 0
    for scene in in_motion(30, rng):
        warm = scene.query()
        overlaps += int((warm.distance < 0.0).sum())
        cold = scene.fork()
        cold.forget()
        cold = cold.query()
        assert (warm.body_a == cold.body_a).all() and (warm.body_b == cold.body_b).all()
        assert (np.maximum(warm.lower, cold.lower) <= np.minimum(warm.upper, cold.upper)).all()
        assert (warm.status == cold.status).all()
    assert overlaps > 40


def test_an_answer_leaves_room_for_rounding_between_depth_and_bound():
    rng = np.random.default_rng(10)
    seen = 0
    for scene in in_motion(20, rng):
        result = scene.query()
        overlaps = np.flatnonzero(result.distance < 0.0)
        for row in overlaps:
            a, b = result.body_a[row], result.body_b[row]
            apart = np.linalg.norm(scene.poses[a, :3, 3] - scene.poses[b, :3, 3])
            radii = [scene.bodies[index].shape._packed_row[RADIUS] for index in (a, b)]
            assert result.upper[row] - result.distance[row] >= 0.9 * allowance(*radii, apart)
            seen += 1
    assert seen > 20


def test_the_shortest_translation_may_change_from_frame_to_frame():
    # Along x a bar leaves a plate to the left or to the right, whichever is nearer.
    plate, bar = (
        Superovoid((0.005, 0.02, 0.02), section_exponent=0.4, profile_exponent=0.5),
        Superovoid((0.006, 0.03, 0.008), section_exponent=0.4, profile_exponent=0.9),
    )
    scene = Scene([Body("plate", "a", plate), Body("bar", "b", bar)])
    sides = set()
    for x in np.linspace(-2e-4, 2e-4, 41):
        poses = np.array([pose(), pose(Rotation.from_rotvec((0.05, 0.02, 0.03)), (x, 3e-5, 2e-5))])
        scene.set_link_poses(poses)
        [warm] = scene.query().distance
        cold = distance(plate, poses[0], bar, poses[1])
        assert cold.lower <= warm <= cold.upper or abs(warm - cold.distance) <= 2e-11
        sides.add(int(np.sign(scene.query().normal[0, 0])))
    assert sides == {-1, 1}


def test_each_query_flags_a_direction_as_good_as_the_normal():
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
    # Off to the side, one end is nearer, and no other direction is as good.
    scene.set_link_poses(np.array([pose(), pose(turn, (1e-6, 2e-6, 3e-6))]))
    assert scene.query().status[0] == Status.CERTIFIED
