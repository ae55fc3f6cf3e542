# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command `superovoid dataset`: stores, output and refused arguments."""

import re

import balls
import numpy as np
import pytest
from installed import skip_without

from superovoid import dataset
from superovoid.cli import main

skip_without("zarr", "pyarrow", reason="pip install 'superovoid[dataset]'")

STATES = ("--states", "300", "--seed", "5", "--chunk-states", "128")
BOX = ("--base-within", "ball=-0.5:0.5,0.2:0.9,0:0.3")


def run(capsys, *words, code=0):
    assert main(["dataset", *map(str, words)]) == code
    found = capsys.readouterr()
    assert (found.err != "") == (code != 0)
    return found.out + found.err


@pytest.fixture
def urdf(tmp_path):
    return balls.write(tmp_path)


def test_command_creates_computes_verifies_and_checks_a_store(capsys, tmp_path, urdf):
    output = ("--output", tmp_path / "a.zarr")
    first = run(capsys, urdf, *STATES, *BOX, "--also", "points,normals", *output)
    assert re.search(r"a.zarr: complete; computed 3 of 3 chunks, 600 answers", first)
    assert first.count("\n") == 1
    assert "2 of 3 chunks recomputed, 0 with different bits" in run(capsys, "--verify", 2, *output)
    assert "3 of 3 chunks read, 0 damaged" in run(capsys, "--check", *output)
    assert "computed 0 of" in run(capsys, "--resume", *output)
    found = dataset.open(tmp_path / "a.zarr")
    arrays = found.read(0)
    true = balls.distances(found, arrays["positions"], arrays["base_poses"])
    assert np.abs(arrays["distance"] - true).max() < 1e-9


def test_chunk_jobs_complete_a_store_together(capsys, tmp_path, urdf):
    output = ("--output", tmp_path / "a.zarr")
    assert "in 3 chunks" in run(capsys, urdf, *STATES, *BOX, "--create", *output)
    for chunk, left in ((2, 2), (0, 1)):
        assert f"{left} of 3 chunks are missing" in run(capsys, "--chunk", chunk, *output)
    # Job scripts repeat the arguments of --create.
    assert "complete" in run(capsys, urdf, *STATES, *BOX, "--chunk", 1, *output)
    assert "chunk 3: must be from 0 to 2" in run(capsys, "--chunk", 3, *output, code=2)


def test_damaged_chunk_is_found_discarded_and_recomputed(capsys, tmp_path, urdf):
    output = ("--output", tmp_path / "a.parquet")
    run(capsys, urdf, *STATES, *BOX, "--max-distance", "0.3", *output)
    (tmp_path / "a.parquet" / "chunk-000000001.parquet").write_bytes(b"PAR1")
    assert "chunk 1: is damaged" in run(capsys, "--check", *output, code=1)
    assert "1 damaged and deleted" in run(capsys, "--check", "--discard", *output, code=1)
    assert "computed 1 of" in run(capsys, "--resume", *output)
    assert "3 of 3 chunks read, 0 damaged" in run(capsys, "--check", *output)


def test_command_accepts_grids_files_ranges_and_poses(capsys, tmp_path, urdf):
    run(capsys, urdf, "--grid", "slide=5,turn=2", "--base=ball=0,0.5,0,0,0,1,0", "--output", tmp_path / "grid.zarr")
    arrays = dataset.open(tmp_path / "grid.zarr").read(0)
    assert arrays["positions"][:3].tolist() == [[-1.0, -3.0], [-1.0, 3.0], [-0.25, -3.0]]
    assert arrays["base_poses"][0, 0, :3, 3].tolist() == [0.0, 0.5, 0.0]
    assert arrays["base_poses"][0, 0, 0, 0] == -1.0
    np.save(tmp_path / "q.npy", arrays["positions"])
    file = ("--states-file", tmp_path / "q.npy")
    run(capsys, urdf, *file, "--base=ball=0,0.5,0,0,0,1,0", "--output", tmp_path / "file.zarr")
    assert dataset.open(tmp_path / "file.zarr").read(0)["distance"].tobytes() == arrays["distance"].tobytes()
    ranges = ("--range=slide=-0.5:0.5", "--range=turn=1")
    run(capsys, urdf, "--states", 50, *ranges, *BOX, "--output", tmp_path / "ranges.zarr")
    joints = dataset.open(tmp_path / "ranges.zarr").read(0)["positions"]
    assert np.abs(joints[:, 0]).max() <= 0.5 and (joints[:, 1] == 1.0).all()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((*STATES,), "base 'ball': its joint is floating"),
        ((*STATES, *BOX, "--between", "hand", "palm"), "'palm' is not a link or group"),
        ((*STATES, *BOX, "--max-distance", "0.1"), "NAME.parquet with it; found max_distance = 0.1 m"),
        ((*STATES, *BOX, "--output", "balls.txt"), "output balls.txt: must be NAME.zarr"),
        ((*STATES, *BOX, "--srdf", __file__), "SRDF"),
    ],
)
def test_command_refuses_invalid_queries(capsys, tmp_path, urdf, words, problem):
    assert problem in run(capsys, urdf, "--output", tmp_path / "a.zarr", *words, code=2)
    assert not (tmp_path / "a.zarr").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--grid", "slide=2,turn=2,slide=3"), "argument --grid: 'slide': occurs twice"),
        ((*STATES, "--range=turn=0:1", "--range=turn=1"), "argument --range: 'turn': occurs twice"),
        ((*STATES, *BOX, *BOX), "argument --base-within: 'ball': occurs twice"),
        ((*STATES, *BOX, "--base=ball=0,0,0"), "argument --base-within: 'ball': not allowed with argument --base"),
    ],
)
def test_command_refuses_two_values_of_one_name(capsys, tmp_path, urdf, words, problem):
    with pytest.raises(SystemExit, match="2"):
        main(["dataset", str(urdf), "--output", str(tmp_path / "a.zarr"), *words])
    assert problem in capsys.readouterr().err


def test_command_does_not_overwrite_existing_output(capsys, tmp_path, urdf):
    output = ("--output", tmp_path / "a.zarr")
    run(capsys, urdf, *STATES, *BOX, "--create", *output)
    assert "exists already; use --resume" in run(capsys, urdf, *STATES, *BOX, *output, code=2)
    other = ("--states", "300", "--seed", "6", "--chunk-states", "128")
    assert "seed: 5 there, 6 requested" in run(capsys, urdf, *other, *BOX, "--resume", *output, code=2)
    assert "complete" in run(capsys, urdf, *STATES, *BOX, "--resume", *output)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    assert "is not a data set" in run(capsys, urdf, *STATES, *BOX, "--output", tmp_path / "thesis", code=2)
    assert "does not exist" in run(capsys, "--resume", "--output", tmp_path / "no.zarr", code=2)
