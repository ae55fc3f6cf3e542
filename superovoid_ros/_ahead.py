"""Kernels compiled before they are needed, level by level, in whatever thread asks for it.

What a scene compiles depends on its kinds of bodies alone, in steps (`_mixed`). So a small scene of each step stands
for all others.
"""

from __future__ import annotations

import time

import numpy as np

from superovoid_ros import _broad, _pairs, _states, _tree
from superovoid_ros._jit import called_by, is_compiled
from superovoid_ros._rounding import rotation_error, straighten_rows
from superovoid_ros.contact._pair import solve_pair
from superovoid_ros.robot import Robot, _forward
from superovoid_ros.scene import Body, Scene
from superovoid_ros.shapes import Box, Plane, Shape, Sphere, Torus, _kernels
from superovoid_ros.states import state_distances

LEVELS = ("superovoids", "planes", "convex bodies", "tori and meshes")
"""What scenes of a level may hold, beside what those of the levels before may."""

_MANY = 150  # bodies, so that there are pairs enough for the tree
_APART = 3.0


def level_of(scene: Scene) -> int:
    """Return which of `LEVELS` a scene needs."""
    others = scene._others
    return 1 + sum(each is not None for each in others[1:]) if others else 0


def _bodies(level: int) -> tuple[Shape, Shape]:
    ball, box = Sphere(1.0), Box((1.0, 1.0, 1.0))
    return ((ball, ball), (ball, Plane()), (ball, box), (box, Torus(1.0, 0.25)))[level]


def compile_level(level: int) -> float:
    """Compile what scenes of a level need, or load it; return how long that took [s]."""
    started = time.perf_counter()
    robot = Robot.from_urdf(
        '<robot name="a"><link name="a"/><link name="b"/>'
        '<joint name="ab" type="floating"><parent link="a"/><child link="b"/></joint></robot>'
    )
    first, second = _bodies(level)
    scene = Scene([Body("a", "a", first), Body("b", "b", second)])
    apart = np.eye(4)
    apart[2, 3] = -_APART  # below the first, so that a plane faces it
    scene.set_link_poses(robot.forward_kinematics({}, {"b": apart}))
    scene.query()
    state_distances(robot, scene, [[]], base_poses={"b": apart}, gradients=True)
    if level == 0:
        _forward.poses_of_numbers(np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]), np.empty((1, 4, 4)))
        ball = Sphere(1.0)
        many = Scene([Body(str(i), str(i), ball) for i in range(_MANY)])
        poses = np.tile(np.eye(4), (_MANY, 1, 1))
        poses[:, 0, 3] = _APART * np.arange(_MANY)
        many.set_link_poses(poses)
        many.query(cutoff=0.1)
    return time.perf_counter() - started


def _kernels_of(level: int) -> list[object]:
    """Return about all kernels that a level compiles, the levels before left out."""
    if level == 0:
        return called_by(
            *(_kernels.pack, _kernels.support_points, rotation_error, straighten_rows, solve_pair),
            *(_broad.place_all, _broad.cull_list),
            *(_broad.solve, _states.over_states, _pairs.move_rules, _pairs.move_warm_starts),
            *(_forward.poses_of_states, _forward.gradients_of_states, _tree.cull_tree, _tree.build, _tree.refit),
        )
    from superovoid_ros import _mixed
    from superovoid_ros.contact._dispatch import solve_convex, solve_mesh, solve_torus

    beyond = (solve_convex, solve_torus, solve_mesh)
    return called_by(_mixed.answer, _mixed.reach, without=(solve_pair, *beyond[level - 1 :][: 3 if level < 3 else 0]))


def progress(level: int) -> tuple[int, int]:
    """Return how many of about how many kernels of a level are compiled, or loaded, by now."""
    kernels = _kernels_of(level)
    return sum(map(is_compiled, kernels)), len(kernels)
