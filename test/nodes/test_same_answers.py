# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A service's answer follows from request and state alone, to the last bit, whatever was asked before."""

from __future__ import annotations

import numpy as np
import pytest

from superovoid.robot import Robot
from superovoid.scene import Body, Scene
from superovoid.shapes import Superovoid
from superovoid_ros.nodes.distance_service.answers.queries import ask, ask_once
from superovoid_ros.nodes.distance_service.robot_state.measurements import Joints
from superovoid_ros.nodes.distance_service.world.model import Model
from superovoid_ros.resources import share_directory


@pytest.fixture(scope="module")
def hands():
    share = share_directory()
    urdf, srdf = (
        (share / folder / f"icub_hands.{kind}").read_text(encoding="utf-8")
        for folder, kind in (("urdf", "urdf"), ("config", "srdf"))
    )
    return Model(Robot.from_urdf(urdf, srdf=srdf), 1e-9)


def states(model, count):
    """States of the hands, palms near each other, what they are seen from somewhere else."""
    rng = np.random.default_rng(11)
    seen_from = np.eye(4)
    seen_from[:3, 3] = 0.1, 0.2, 0.3
    for _ in range(count):
        positions = {name: rng.uniform(0.0, 0.6) for name in model.robot.joint_names}
        bases = {}
        for i, link in enumerate(model.robot.base_links):
            bases[link] = np.eye(4)
            bases[link][:3, 3] = rng.normal((0.0, 0.08 * i, 0.0), 0.01)
        yield Joints(
            frame="world",
            joint_stamp=None,
            transform_stamp=None,
            newest_stamp=None,
            positions=positions,
            base_poses=bases,
            frame_from_root=seen_from,
        )


LIMITS = {"cutoff": 0.05}, {"cutoff": 0.02}, {"max_results": 1}, {"overlapping_only": True}, {"max_results": 3}


def test_a_question_about_one_state_does_not_depend_on_the_questions_before(hands):
    everything = hands.select((), ())
    asked = list(states(hands, 6))
    cases = [(i, k) for i in range(len(asked)) for k in range(len(LIMITS))]
    found = {}
    for turn in np.random.default_rng(5).permutation(np.tile(np.arange(len(cases)), 3)):
        i, k = cases[turn]
        message = ask_once(hands.question(everything, **LIMITS[k]), hands.robot, asked[i], everything)
        message.solve_time = 0.0
        assert found.setdefault((i, k), message) == message
    assert any(message.pairs for message in found.values())


def test_a_question_about_one_state_has_the_answer_of_a_scene(hands):
    everything = hands.select((), ())
    for joints in states(hands, 6):
        for limits in LIMITS:
            once = ask_once(hands.question(everything, **limits), hands.robot, joints, everything)
            with hands.cold_scene() as scene:
                scenes, _ = ask(scene, joints.state(hands.robot), everything, **limits)
            assert [(p.body_a, p.body_b, p.status) for p in once.pairs] == [
                (p.body_a, p.body_b, p.status) for p in scenes.pairs
            ]
            for one, other in zip(once.pairs, scenes.pairs, strict=True):
                # Both intervals hold the distance, and are 1e-9 of the bodies' sizes wide.
                assert one.lower <= other.upper and other.lower <= one.upper
                for name in ("point_a", "point_b", "normal"):
                    one_of, other_of = ((v.x, v.y, v.z) for v in (getattr(one, name), getattr(other, name)))
                    assert np.allclose(one_of, other_of, rtol=0.0, atol=1e-6)
            for name in ("pairs_considered", "solved", "intersecting", "unproven"):
                assert getattr(once, name) == getattr(scenes, name), name


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
