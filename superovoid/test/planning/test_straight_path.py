# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Straight paths of a link: poses on the lines, and the first step that is not possible."""

import numpy as np
import panda
import pytest
from scipy.spatial.transform import Rotation, Slerp

from superovoid.planning import GroupPlanner, JumpLimits, SceneValidity, Search, straight_path
from superovoid.planning.group_planner import StartConditionError, StartError

START = panda.state_of((0.7, 0.3, 0.0, -1.9, 0.0, 2.2, 0.8))
TIP = "panda_link8"
STEP = 0.01


@pytest.fixture(scope="module")
def problem():
    planner = GroupPlanner(panda.robot(), "panda_arm", obstacles=[panda.wall()], positions=START)
    return planner.problem({})


def tips(problem, states):
    return np.array([problem.robot.forward_kinematics(problem.positions_at(state))[TIP] for state in states])


def moved(problem, x=0.0, y=0.0, z=0.0, turn=0.0):
    pose = tips(problem, [problem.state(START)])[0]
    pose[:3, :3] = pose[:3, :3] @ Rotation.from_rotvec([0.0, 0.0, turn]).as_matrix()
    pose[:3, 3] += x, y, z
    return pose


def follow(problem, *poses, validity=None, max_step=STEP, **options):
    return straight_path(problem, validity, TIP, poses, max_step, **options)


def test_states_lie_on_lines_and_turns_between_the_poses(problem):
    ends = [moved(problem), moved(problem, z=-0.1, turn=0.5), moved(problem, x=-0.05, z=-0.1, turn=0.5)]
    found = follow(problem, *ends[1:], validity=SceneValidity(problem))
    assert found.fraction == 1.0
    counts = [15, 5]  # 0.5 rad / 3.5 rad/m, and 0.05 m, in steps of 0.01 m
    assert len(found.states) == 1 + sum(counts)
    wanted = [ends[0]]
    for before, after, count in zip(ends[:-1], ends[1:], counts, strict=True):
        between = Slerp([0, 1], Rotation.from_matrix([before[:3, :3], after[:3, :3]]))
        for part in np.arange(1, count + 1) / count:
            pose = np.eye(4)
            pose[:3, :3] = between(part).as_matrix()
            pose[:3, 3] = (1 - part) * before[:3, 3] + part * after[:3, 3]
            wanted.append(pose)
    np.testing.assert_allclose(tips(problem, found.states), wanted, atol=3e-6)


@pytest.mark.parametrize("avoids", [True, False])
def test_a_path_ends_before_the_wall_if_contact_counts(problem, avoids):
    across = moved(problem, y=-2.0 * moved(problem)[1, 3])
    found = follow(problem, across, validity=SceneValidity(problem) if avoids else None)
    assert (0.0 < found.fraction < 0.6) == avoids
    assert len(found.states) - 1 == round(found.fraction * np.ceil(abs(across[1, 3] * 2) / STEP))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"jumps": JumpLimits(revolute=1e-6)}, 0.0),
        ({"jumps": JumpLimits(of_mean=1e-3)}, 0.0),
        ({"jumps": JumpLimits(of_mean=10.0, prismatic=1e-9)}, 1.0),
        ({"accept": lambda state: state[0] > 0.69}, 0.0),
        ({"search": Search(starts=1, stop=lambda: True)}, 0.0),
    ],
)
def test_a_path_ends_before_a_jump_or_violation(problem, options, expected):
    down = moved(problem, z=-0.05, y=-0.05)
    found = follow(problem, down, **options)
    assert found.fraction == expected if expected else found.fraction < 0.3


def test_a_path_to_its_start_or_nowhere_has_one_state(problem):
    assert follow(problem, moved(problem)) == (pytest.approx(problem.state(START)[None]), 1.0)
    far = follow(problem, moved(problem, x=3.0))
    assert 0.0 < far.fraction < 0.5


def test_a_start_in_contact_or_against_conditions_is_rejected(problem):
    planner = GroupPlanner(panda.robot(), "panda_arm", obstacles=[panda.wall()])
    against = planner.problem(panda.state_of((0.0, 0.5, 0.0, -1.6, 0.0, 2.0, 0.8)))
    with pytest.raises(StartError, match="wall") as error:
        follow(against, moved(problem), validity=SceneValidity(against))
    assert error.value.in_contact and not isinstance(error.value, StartConditionError)
    with pytest.raises(StartConditionError):
        follow(problem, moved(problem), accept=lambda state: False)
    narrow = planner.problem(START, {"panda_joint1": (-1.0, 0.6)})
    with pytest.raises(StartConditionError, match="panda_joint1"):
        follow(narrow, moved(problem))
    beyond = planner.problem({**START, "panda_joint1": 3.0})
    with pytest.raises(StartError, match="panda_joint1") as error:
        follow(beyond, moved(problem))
    assert not isinstance(error.value, StartConditionError)


@pytest.mark.parametrize("step", [0.0, -1.0, float("nan"), 1e-9])
def test_steps_of_no_length_or_too_many_are_rejected(problem, step):
    with pytest.raises(ValueError, match="max_step"):
        follow(problem, moved(problem, z=-0.1), max_step=step)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_jump_limits_must_be_finite_and_not_negative(value):
    with pytest.raises(ValueError, match=r"revolute = .*must be finite"):
        JumpLimits(revolute=value)
