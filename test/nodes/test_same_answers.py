# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A service's answer follows from request and state alone, to the last bit, whatever was asked before."""

from __future__ import annotations

import numpy as np
import pytest

from superovoid_ros.nodes.distance_service.answers.queries import ask
from superovoid_ros.nodes.distance_service.robot_state.given import poses_of_links
from superovoid_ros.nodes.distance_service.robot_state.measurements import State
from superovoid_ros.nodes.distance_service.world.model import Model
from superovoid_ros.resources import share_directory
from superovoid_ros.robot import Robot
from superovoid_ros.scene import Body, Scene
from superovoid_ros.shapes import Superovoid


@pytest.fixture(scope="module")
def hands():
    share = share_directory()
    urdf, srdf = (
        (share / folder / f"icub_hands.{kind}").read_text(encoding="utf-8")
        for folder, kind in (("urdf", "urdf"), ("config", "srdf"))
    )
    return Model(Robot.from_urdf(urdf, srdf=srdf), 1e-9)


def states(model, count):
    """States of the hands, palms near each other."""
    rng = np.random.default_rng(11)
    for _ in range(count):
        positions = {name: rng.uniform(0.0, 0.6) for name in model.robot.joint_names}
        bases = {}
        for i, link in enumerate(model.robot.base_links):
            bases[link] = np.eye(4)
            bases[link][:3, 3] = rng.normal((0.0, 0.08 * i, 0.0), 0.01)
        yield State("world", poses_of_links(model.robot, positions, bases, None), None, None, None)


def test_distances_of_the_hands_do_not_depend_on_the_calls_before(hands):
    everything = hands.select((), ())
    asked = list(states(hands, 12))
    order = np.random.default_rng(3).permutation(np.tile(np.arange(len(asked)), 3))

    def answers(lend):
        found = {}
        for i in order:
            with lend() as scene:
                message, _ = ask(scene, asked[i], everything, cutoff=0.05)
            message.solve_time = 0.0
            found.setdefault(i, []).append(message)
        return found

    def differing(found):
        return sum(one != first for first, *others in found.values() for one in others)

    assert differing(answers(hands.cold_scene)) == 0

    class Warm:
        """What the topics do: the scene's next query starts from the last."""

        def __enter__(self):
            return hands.live

        def __exit__(self, *_):
            pass

    assert differing(answers(Warm)) > 0  # else there would be nothing to see here


def test_the_closest_of_very_many_do_not_depend_on_the_queries_before():
    rng = np.random.default_rng(7)
    bodies = [
        Body(f"b{i}", f"l{i}", Superovoid(rng.uniform(0.02, 0.05, 3), rng.uniform(0.3, 1.5, 2), (0.1, -0.2)))
        for i in range(400)
    ]
    scene = Scene(bodies)
    questions = []
    for most in (1, 5, 40, 200):
        poses = np.tile(np.eye(4), (400, 1, 1))
        poses[:, :3, 3] = rng.uniform(0.0, 1.5, (400, 3))
        questions.append((poses, most))
    first = {}
    for i in rng.permutation(np.tile(np.arange(len(questions)), 4)):
        poses, most = questions[i]
        scene.set_link_poses(poses)
        scene.forget()
        found = scene.query(max_results=most)
        bits = {name: getattr(found, name).tobytes() for name in ("distance", "lower", "upper", "point_a", "body_a")}
        assert first.setdefault(i, bits) == bits
