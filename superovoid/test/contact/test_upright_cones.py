# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cones and cylinders with parallel axes: one separating direction along z is no tie with itself.

Sampling finds all separating directions of the meridian plane, which contains the axes.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid import Body, Cone, Cylinder, Scene, Status, distance

ANGLES = np.linspace(0.0, 2.0 * math.pi, 7201)


def height(body, z, across, up):
    """Return the support value of an upright body at height z along directions of the meridian plane."""
    half, reach = 0.5 * body.length, body.radius * np.abs(across)
    if isinstance(body, Cylinder):
        return z * up + reach + half * np.abs(up)
    return z * up + np.maximum(half * up, reach - half * up)


def ways_out(a, b, x, z):
    """Return h_M along the directions of the meridian plane."""
    across, up = np.sin(ANGLES), np.cos(ANGLES)
    return height(a, 0.0, across, up) + height(b, z, -across, -up) - x * across


def draw_bodies(rng):
    bodies = [kind(*np.round(rng.uniform(0.5, 2.0, 2), 1)) for kind in rng.choice([Cone, Cone, Cylinder], 2)]
    return *bodies, round(rng.uniform(0.05, 0.5), 2), round(rng.uniform(-0.5, 0.5), 2)


def test_an_upright_pair_flags_a_tie_only_with_another_shortest_direction():
    rng = np.random.default_rng(0)
    said = 0
    for _ in range(500):
        a, b, x, z = draw_bodies(rng)
        placed = np.eye(4)
        placed[0, 3], placed[2, 3] = x, z
        result = distance(a, np.eye(4), b, placed)
        if result.distance >= 0.0 or abs(result.normal[2]) < 1.0 - 1e-9:
            continue
        depths = ways_out(a, b, x, z)
        away = np.hypot(np.sin(ANGLES) - result.normal[0], np.cos(ANGLES) - result.normal[2]) > 0.05
        step = (a.radius + b.radius + a.length + b.length + 1.0) * (ANGLES[1] - ANGLES[0])
        another = depths[away].min() <= -result.distance + step
        if result.status & Status.ARBITRARY_NORMAL:
            assert another, (a, b, x, z)
            said += 1
    assert said < 100


def test_a_scene_repeats_its_answer_for_repeated_poses():
    a, b = Cone(1.1358354310590542, 1.1768111589525339), Cone(0.8574325990105331, 2.026924834159703)
    placed = np.eye(4)
    placed[0, 3], placed[2, 3] = -0.19907710643877075, 0.19907710643877075
    scene = Scene([Body("a", "a", a), Body("b", "b", b)])
    scene.set_link_poses({"a": np.eye(4), "b": placed})
    for _ in range(3):
        assert Status(int(scene.query().status[0])) == Status.CERTIFIED
