# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The benchmark of large scenes: its scenes, measurements and files."""

import csv
import math
from itertools import pairwise

import numpy as np
import pytest

from superovoid.cli import command_line
from superovoid_papers.benchmarks import scale
from superovoid_papers.commands import bench


def test_the_density_is_the_same_for_any_number_of_bodies():
    rng = np.random.default_rng(0)
    for count in (100, 1000, 5000):
        poses = next(scale.motion(count, 1, rng))
        radius = np.linalg.norm(poses[:, :3, 3] - poses[:, :3, 3].mean(axis=0), axis=1)
        # A sphere inside the lattice has one body per cell.
        inner = np.sort(radius)[count // 2]
        assert count / 2 == pytest.approx(4.0 / 3.0 * math.pi * inner**3 / scale.PITCH**3, rel=0.15)


def test_bodies_move_a_little_every_frame():
    frames = list(scale.motion(50, 4, np.random.default_rng(1)))
    for before, after in pairwise(frames):
        step = np.abs(after[:, :3, 3] - before[:, :3, 3])
        assert 0.0 < step.max() <= 0.002
        turn = np.einsum("nij,nij->n", before[:, :3, :3], after[:, :3, :3])
        assert np.degrees(np.arccos(0.5 * (turn - 1.0))) == pytest.approx(np.ones(50))


def test_the_benchmark_writes_one_row_per_size_and_a_plot(tmp_path, capsys):
    assert scale.main(3, 0, tmp_path, sizes=(8, 110, 160)) == 0
    with (tmp_path / "scale.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert [int(row["bodies"]) for row in rows] == [8, 110, 160]
    assert [int(row["pairs"]) for row in rows] == [28, 5995, 12720]
    for row in rows:
        stages = sum(float(row[f"{stage}_ms"]) for stage in ("placing", "culling", "solving"))
        assert 0.0 < stages < float(row["frame_p99_ms"]) * 1.5
    assert (tmp_path / "scale.png").read_bytes().startswith(b"\x89PNG")
    assert "exponent" in capsys.readouterr().out


def test_growth_is_the_exponent_of_the_larger_scenes():
    def row(bodies):
        values = dict.fromkeys(scale.Measurement.__dataclass_fields__, 1.0)
        return scale.Measurement(**{**values, "bodies": bodies, "frame": 1.0 if bodies < 100 else 1e-3 * bodies**1.25})

    assert scale.growth([row(n) for n in (1, 10, 100, 1000, 10_000)], "frame") == pytest.approx(1.25)


def test_the_command_line_has_the_benchmark():
    chosen = command_line.parser().parse_args(["dev", "bench", "scale", "--frames", "7", "--output", "somewhere"])
    assert (chosen.frames, chosen.seed, str(chosen.output)) == (7, 0, "somewhere")
    assert command_line.parser().parse_args(["dev", "bench"]).run is bench.run
