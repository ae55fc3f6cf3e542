# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Time of 1,000 states of both hands of the iCub in one call, from hands far apart to overlapping hands.

`superovoid dev bench states` prints the table of docs/reference/figures_scenes.md. All times are
processor times, so that other programs do not change them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from superovoid.robot import Robot
from superovoid.states import StateDistances, state_distances
from superovoid_ros.motions.grasp_sweep import GraspSweep
from superovoid_ros.resources import share_directory

FloatArray = NDArray[np.float64]

STATES = 1000
MAX_DISTANCE = 0.02
"""m"""


def hands() -> Robot:
    """Load both hands of the iCub."""
    share = share_directory()
    return Robot.from_urdf(
        (share / "urdf/icub_hands.urdf").read_text(encoding="utf-8"),
        srdf=(share / "config/icub_hands.srdf").read_text(encoding="utf-8"),
    )


def regimes(
    robot: Robot, seed: int = 1, states: int = STATES
) -> Iterator[tuple[str, FloatArray, dict[str, FloatArray]]]:
    """Generate names, positions (states, joints) and base poses (states, 4, 4) of the measured states."""
    rng = np.random.default_rng(seed)
    sweep = GraspSweep.from_file(share_directory() / "config/grasp_sweep.yaml")
    frames = [sweep.frame(i).base_poses for i in range(len(sweep))]
    limits = np.array([robot.joint_limits[name] for name in robot.joint_names])
    fingers = rng.uniform(limits[:, 0], limits[:, 1], (states, len(limits)))
    rest = np.tile([sweep.positions[name] for name in robot.joint_names], (states, 1))

    def palms(numbers: NDArray[np.int64]) -> dict[str, FloatArray]:
        return {link: np.array([frames[i][link] for i in numbers]) for link in robot.base_links}

    for edge in (1.0, 0.4, 0.2):
        poses = np.tile(np.eye(4), (states, 1, 1))
        poses[:, :3, :3] = Rotation.random(states, random_state=int(rng.integers(1 << 30))).as_matrix()
        poses[:, :3, 3] = rng.uniform(-0.5 * edge, 0.5 * edge, (states, 3))
        yield (
            f"random joints, right palm anywhere in {edge:.1f} m",
            fingers,
            {"left_palm": np.eye(4), "right_palm": poses},
        )
    in_order = np.linspace(0, len(sweep) - 1, states).astype(np.int64)
    yield "grasp sweep in order", rest, palms(in_order)
    yield "grasp sweep shuffled", rest, palms(rng.permutation(in_order))
    yield "random joints, palms of the sweep", fingers, palms(rng.permutation(in_order))


def processor_time(call: Callable[[], StateDistances], repeats: int) -> tuple[float, StateDistances]:
    """Return the least time of several calls, s, and the answer."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        answer = call()
        times.append(time.process_time() - started)
    return min(times), answer


def main(states: int, repeats: int, seed: int) -> int:
    """Print the table."""
    robot = hands()
    scene, pairs = robot.scene(), robot.body_pairs(["left_hand"], ["right_hand"])
    print("| states | solved a state | overlapping a state | without gradients, s | with, s | loop of queries, s |")
    print("|---|---|---|---|---|---|")
    for name, positions, bases in regimes(robot, seed, states):
        options = {"base_poses": bases, "pairs": pairs, "max_distance": MAX_DISTANCE}
        state_distances(robot, scene, positions[:1], **_options_of_first(options), gradients=True)  # not timed
        question = partial(state_distances, robot, scene, positions, **options)
        plain, found = processor_time(question, repeats)
        derived, _ = processor_time(partial(question, gradients=True), repeats)
        counts = found.statistics
        print(
            f"| {name} | {counts.solved.mean():.1f} | {counts.intersecting.mean():.1f} | {plain:.3f} | {derived:.3f} "
            f"| {_time_of_loop(robot, positions, options):.3f} |"
        )
    return 0


def _options_of_first(options: dict) -> dict:
    """Return the same options for one state."""
    poses = {link: pose if pose.ndim == 2 else pose[:1] for link, pose in options["base_poses"].items()}
    return {**options, "base_poses": poses}


def _time_of_loop(robot: Robot, positions: FloatArray, options: dict) -> float:
    """Time the same, gradients included, with one query per state."""
    scene = robot.scene()
    started = time.process_time()
    for s, row in enumerate(positions):
        by_name = dict(zip(robot.joint_names, row, strict=True))
        bases = {link: pose if pose.ndim == 2 else pose[s] for link, pose in options["base_poses"].items()}
        scene.set_link_poses(robot.forward_kinematics(by_name, bases))
        result = scene.query(max_distance=options["max_distance"], pairs=options["pairs"])
        robot.distance_gradients(result, by_name, bases)
    return time.process_time() - started
