# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kernels compiled before they are needed, level by level, in whatever thread asks for it.

A small scene of each level stands for all others.
"""

from __future__ import annotations

import math
import time

import numpy as np

from superovoid.compiled.jit import called_by, is_compiled
from superovoid.contact.superovoids.pair_solver import solve_pair
from superovoid.robot import Robot, forward
from superovoid.scene import Body, Scene, box_tree, culling, first_try, pair_table, solving
from superovoid.shapes import Box, HalfSpace, Shape, Sphere, Torus
from superovoid.shapes.kernels import packing, support_function
from superovoid.shapes.kernels.kinds import KIND, SUPEROVOID
from superovoid.shapes.kernels.rounding import rotation_error, straighten_rows
from superovoid.states import loop, state_distances, verdict_loop
from superovoid.states.floor_query import FloorQuery

LEVELS = ("superovoids", "half-spaces", "convex bodies", "tori and meshes")
"""What scenes of a level may hold, beside what those of the levels before may."""

_MANY = 150  # bodies, so that there are pairs enough for the tree
_APART = 3.0


def level_of(scene: Scene) -> int:
    """Return which of `LEVELS` a scene needs."""
    return 0 if (scene.tables([]).local.packed[:, KIND] == SUPEROVOID).all() else len(LEVELS) - 1


def _bodies(level: int) -> tuple[Shape, Shape]:
    ball, box = Sphere(1.0), Box((2.0, 2.0, 2.0))
    return ((ball, ball), (ball, HalfSpace()), (ball, box), (box, Torus(1.0, 0.25)))[level]


def compile_level(level: int) -> float:
    """Compile what scenes of a level need, or load it; return how long that took [s]."""
    started = time.perf_counter()
    robot = Robot.from_urdf(
        '<robot name="a"><link name="a"/><link name="b"/>'
        '<joint name="ab" type="floating"><parent link="a"/><child link="b"/></joint></robot>'
    )
    apart = np.eye(4)
    apart[2, 3] = -_APART  # below the first, so that a half-space faces it
    link_poses = robot.forward_kinematics({}, {"b": apart})
    for copies in (math.isqrt(first_try.LEAST) + 1, 1):  # as many pairs as are answered in lanes, and one
        of_links = zip("ab", _bodies(level), strict=True)
        scene = Scene([Body(f"{link}{i}", link, each) for link, each in of_links for i in range(copies)])
        scene.set_link_poses(link_poses)
        scene.query()
        state_distances(robot, scene, [[]], base_poses={"b": apart}, gradients=True)
    FloorQuery(robot, scene, [(0, 1)])([[]], np.zeros((1, 1)), np.zeros((1, 1)), base_poses={"b": apart})
    if level == 0:
        scene.set_link_pose("b", apart)
        forward.poses_of_numbers(np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]), np.empty((1, 4, 4)))
        ball = Sphere(1.0)
        many = Scene([Body(str(i), str(i), ball) for i in range(_MANY)])
        poses = np.tile(np.eye(4), (_MANY, 1, 1))
        poses[:, 0, 3] = _APART * np.arange(_MANY)
        many.set_link_poses(poses)
        many.query(max_distance=0.1)
        # As robots and their questions have them: pairs by a list, poses that nobody may write to.
        listed = Scene(scene.bodies, [(0, 1)])
        listed.set_link_poses(link_poses)
        listed.query(pairs=[(0, 1)])
        kept = np.eye(4)[None]
        kept.setflags(write=False)
        rotation_error(kept)
    return time.perf_counter() - started


def _kernels_of(level: int) -> list[object]:
    """Return about all kernels that a level compiles, the levels before left out."""
    if level == 0:
        return called_by(
            *(packing.pack, support_function.support_points, rotation_error, straighten_rows, solve_pair),
            *(culling.place_all, culling.cull_list),
            *(solving.solve, first_try.answer_first, loop.over_states),
            verdict_loop.over_floors,
            *(culling.place_link, pair_table.move_rules, pair_table.move_warm_starts),
            *(pair_table.set_rules, pair_table.orient),
            *(forward.poses_of_states, forward.gradients_of_states, box_tree.cull_tree, box_tree.build, box_tree.refit),
        )
    return []


def progress(level: int) -> tuple[int, int]:
    """Return how many of about how many kernels of a level are compiled, or loaded, by now."""
    kernels = _kernels_of(level)
    return sum(map(is_compiled, kernels)), len(kernels)
