# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Preparing a scene allocates its memory and changes nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from superovoid import Body, HalfSpace, Scene, Superovoid
from superovoid.scene.solving import LEAST

SHAPE = Superovoid((0.05, 0.05, 0.1), section_exponent=0.8, profile_exponent=0.8)


def row_of(count, distance=0.11):
    scene = Scene([Body(str(i), str(i), SHAPE) for i in range(count)])
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, 0, 3] = distance * np.arange(count)
    return scene, poses


def memory(scene):
    scratch = scene._memory.scratch
    own = (each for each in scratch if each is not scratch.keys)
    return [
        array.ctypes.data
        for array in (*own, *scratch.keys, *scene._memory.rows, *scene._memory.pool, *scene._memory.lanes)
    ]


@pytest.mark.parametrize("count", [1, 8, 200])  # no pair, pairs in a list, pairs of the tree
def test_later_queries_allocate_no_memory(count):
    scene, poses = row_of(count)
    scene.prepare()
    before = memory(scene)
    scene.set_link_poses(poses)
    for options in (
        {"max_distance": 0.2},
        {"max_distance": 0.2, "max_results": 3},
        {"max_distance": 0.2, "overlapping_only": True},
    ):
        scene.query(**options)
    assert memory(scene) == before


def test_later_queries_of_certain_pairs_allocate_no_memory():
    scene, poses = row_of(60)
    pairs = scene.pairs[::2]
    scene.prepare(pairs=pairs)
    before = memory(scene)
    scene.set_link_poses(poses)
    assert len(scene.query(pairs=pairs)) == len(pairs)
    assert memory(scene) == before


@pytest.mark.parametrize("count", [20, 200])  # pairs in a list, pairs of the tree
def test_later_queries_of_many_pairs_allocate_no_memory(count):
    scene, poses = row_of(count)
    scene.prepare()
    before = memory(scene)
    scene.set_link_poses(poses)
    assert scene.query(max_distance=0.3).statistics.solved >= LEAST
    assert memory(scene) == before


def test_poses_and_answers_do_not_change():
    scene, poses = row_of(20)
    other = scene.fork()
    for each in (scene, other):
        each.set_link_poses(poses)
        each.query(max_distance=0.3)
    scene.prepare()
    assert (scene.poses == other.poses).all()
    poses[:, 0, 3] *= 0.95
    for each in (scene, other):
        each.set_link_poses(poses)
    assert scene.query(max_distance=0.3) == other.query(max_distance=0.3)


def test_a_scene_without_poses_has_none_afterwards():
    scene, _ = row_of(3)
    scene.prepare()
    assert scene.poses is None
    with pytest.raises(ValueError, match="no poses yet"):
        scene.query()


def test_scenes_without_bodies_or_with_touching_bodies_are_prepared():
    Scene([]).prepare()
    scene = Scene([Body("a", "a", HalfSpace()), Body("b", "b", HalfSpace())])
    scene.prepare()


def test_a_missing_pair_is_refused():
    scene, _ = row_of(3)
    with pytest.raises(ValueError, match="pair"):
        scene.prepare(pairs=[(0, 7)])
