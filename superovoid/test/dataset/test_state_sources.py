# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""States by index: independent of chunks, uniform, and within their ranges."""

import math

import balls
import mpmath
import numpy as np
import pytest

from superovoid.dataset import DatasetError, state_sources
from superovoid.dataset.state_sources import FileStates, GridStates, RandomStates
from superovoid.robot import Robot

ROBOT = Robot.from_urdf(balls.URDF)
BASES = {"ball": balls.BOX}


def random_states(law="uniform", count=1000, seed=4, **options):
    return RandomStates(ROBOT, count, seed, law, bases=BASES, **options)


@pytest.mark.parametrize("law", ["uniform", "path"])
def test_states_do_not_depend_on_chunk_size(law):
    states = random_states(law, steps=7)
    whole = states.rows(0, 1000)
    for size in (1, 3, 7, 64, 999):
        for start in (0, 5, 500, 1000 - size):
            part = states.rows(start, min(start + size, 1000))
            for ours, all_of_it in zip(part, whole, strict=True):
                assert ours.tobytes() == all_of_it[start : start + size].tobytes()


def test_random_states_are_within_limits_and_uniform():
    joints, bases = random_states(count=20000).rows(0, 20000)
    for column, (low, high) in zip(joints.T, ((-1.0, 2.0), (-3.0, 3.0)), strict=True):
        assert low <= column.min() and column.max() < high
        counts = np.histogram(column, 20, (low, high))[0]
        assert ((counts - 1000.0) ** 2 / 1000.0).sum() < 50.0  # chi-square of 19 degrees: P = 1e-4
    for axis, (low, high) in enumerate(balls.BOX):
        assert low <= bases[:, 0, axis, 3].min() and bases[:, 0, axis, 3].max() <= high
    turned = bases[:, 0, :3, :3]
    assert np.abs(turned @ turned.transpose(0, 2, 1) - np.eye(3)).max() < 1e-14
    assert np.linalg.det(turned).min() > 0.0
    # A uniform rotation maps a vector uniformly to the sphere: mean 0, second moments 1/3.
    assert np.abs(turned.mean(axis=0)).max() < 4.5 * math.sqrt(1.0 / 3.0 / 20000)
    assert np.abs((turned**2).mean(axis=0) - 1.0 / 3.0).max() < 0.01


def test_states_depend_on_seed_only():
    first, again, other = (random_states(seed=seed).rows(0, 50)[0] for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes() and not (first == other).any()


def test_path_is_piecewise_linear_and_continuous():
    joints, bases = random_states("path", steps=16).rows(0, 160)
    second = np.diff(joints.reshape(10, 16, 2), 2, axis=1)
    assert np.abs(second).max() < 1e-14
    steps = np.abs(np.diff(joints, axis=0))
    assert steps.max() <= 6.0 / 16 + 1e-12  # no jump where one line ends and the next starts
    turned = bases[:, 0, :3, :3]
    turns = np.einsum("sij,sij->s", turned[1:], turned[:-1])  # trace of the rotation between: 1 + 2 cos
    assert np.arccos(np.clip((turns - 1.0) / 2.0, -1.0, 1.0)).max() < 0.35


def test_sine_and_cosine_match_mpmath():
    turns = np.concatenate([np.arange(64) / 64, random_states().rows(0, 200)[0][:, 0] % 1.0])
    sine, cosine = state_sources._sine_and_cosine(turns)
    with mpmath.workdps(40):
        for i, turn in enumerate(turns):
            angle = 2 * mpmath.pi * mpmath.mpf(float(turn))
            assert abs(sine[i] - mpmath.sin(angle)) < 1e-15 and abs(cosine[i] - mpmath.cos(angle)) < 1e-15


def test_grid_has_every_combination_once_including_range_ends():
    grid = GridStates(ROBOT, {"slide": 4, "turn": 3}, bases={"ball": np.eye(4)})
    assert grid.count == 12
    joints = np.concatenate([grid.rows(start, start + 4)[0] for start in (0, 4, 8)])
    assert len(np.unique(joints, axis=0)) == 12
    assert sorted(set(joints[:, 0])) == [-1.0, 0.0, 1.0, 2.0] and sorted(set(joints[:, 1])) == [-3.0, 0.0, 3.0]
    middle = GridStates(ROBOT, {"slide": 2}, bases={"ball": np.eye(4)}).rows(0, 2)[0]
    assert middle.tolist() == [[-1.0, 0.0], [2.0, 0.0]]


def test_range_of_equal_ends_fixes_joint():
    joints, _ = random_states(ranges={"turn": (0.5, 0.5)}).rows(0, 100)
    assert (joints[:, 1] == 0.5).all() and np.ptp(joints[:, 0]) > 1.0


@pytest.mark.parametrize("ending", [".npy", ".npz", ".csv"])
def test_states_files_round_trip(tmp_path, ending):
    given = np.random.default_rng(3).uniform(-1, 1, (9, 2))
    path, bases = tmp_path / f"states{ending}", {"ball": np.eye(4)}
    if ending == ".npy":
        np.save(path, given)
    elif ending == ".npz":
        np.savez(path, positions=given[:, ::-1], joint_names=["turn", "slide"], base_ball=np.eye(4))
        bases = {}
    else:
        lines = [",".join(map(repr, row[::-1].tolist())) for row in given]
        path.write_text("\n".join(["# how it was made", "turn, slide", *lines]))
    states = FileStates(ROBOT, path, bases=bases)
    joints, poses = states.rows(2, 5)
    assert states.count == 9 and joints.tobytes() == given[2:5].tobytes() and poses.shape == (3, 1, 4, 4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RandomStates(ROBOT, 5, 0), "base 'ball': its joint is floating"),
        (lambda: random_states(count=0), "states = 0: must be an integer from 1"),
        (lambda: random_states("normal"), "law = 'normal': must be one of uniform, path"),
        (lambda: random_states(ranges={"elbow": (0, 1)}), "'balls' has no such joint (joints: slide, turn)"),
        (
            lambda: random_states(ranges={"turn": (1, 0)}),
            "range of joint 'turn': [1.0, 0.0]: must be finite, the lower",
        ),
        (lambda: random_states(ranges={"turn": (0, math.inf)}), "must be finite"),
        (lambda: RandomStates(ROBOT, 5, 0, bases={"palm": np.eye(4)}), "must be the child of a floating joint"),
        (lambda: RandomStates(ROBOT, 5, 0, bases={"ball": [[0, 1], [1, 0], [0, 1]]}), "the lower ends first"),
        (lambda: RandomStates(ROBOT, 5, -1, bases=BASES), "seed = -1: must be"),
        (lambda: GridStates(ROBOT, 4, bases=BASES), "a grid needs poses"),
        (lambda: GridStates(ROBOT, {"knee": 4}, bases={"ball": np.eye(4)}), "has no joint 'knee'"),
        (lambda: GridStates(ROBOT, 10**9, bases={"ball": np.eye(4)}), "must be an integer from 1 to"),
    ],
)
def test_invalid_arguments_are_refused(make, words):
    with pytest.raises(DatasetError) as error:
        make()
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("name", "contents", "words"),
    [
        ("a.npy", b"nothing", "cannot be read as .npy"),
        ("a.npz", b"nothing", "cannot be read as .npz"),
        ("a.csv", b"", "must have a line of joint names"),
        ("a.csv", b"slide,turn\n1\n", "cannot be read as .csv"),
        ("a.csv", b"slide,turn\n1,x\n", "cannot be read as .csv"),
        ("a.csv", b"slide\n1\n", "joint 'turn' is missing"),
        ("a.csv", b"slide,turn\n1,nan\n", "must be finite"),
        ("a.txt", b"1 2", "must end with .npy, .npz or .csv"),
        ("missing/a.npy", None, "No such file"),
    ],
)
def test_invalid_states_files_are_refused_with_their_path(tmp_path, name, contents, words):
    path = tmp_path / name
    if contents is not None:
        path.write_bytes(contents)
    with pytest.raises(DatasetError) as error:
        FileStates(ROBOT, path, bases={"ball": np.eye(4)})
    assert words in str(error.value) and str(path) in str(error.value)


def test_pickles_in_states_files_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DatasetError, match="cannot be read"):
        FileStates(ROBOT, tmp_path / "a.npy", bases={"ball": np.eye(4)})
