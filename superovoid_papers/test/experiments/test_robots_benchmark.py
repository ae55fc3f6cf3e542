# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The comparison on ordinary robots: its error without the other libraries, and its results with them."""

import csv
import importlib
import math

import pytest

from superovoid.cli import command_line
from superovoid_papers.benchmarks import robots


@pytest.mark.parametrize("missing", ["pinocchio", "coal"])
def test_a_missing_library_is_named_with_its_install_command(missing, monkeypatch, tmp_path, capsys):
    given = importlib.import_module

    def import_others(name):
        if name == missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return object() if name in ("pinocchio", "coal") else given(name)

    monkeypatch.setattr(robots.importlib, "import_module", import_others)
    assert robots.main(10, 1, 0, tmp_path / "out") == 1
    assert (
        capsys.readouterr().err
        == f"superovoid dev bench robots: no module {missing!r}: pip install 'superovoid_papers[robots]'\n"
    )
    assert not (tmp_path / "out").exists()


def test_missing_robots_are_named_with_their_install_command(monkeypatch):
    def find_nothing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(robots.importlib, "import_module", lambda name: object())
    monkeypatch.setattr(robots, "distribution", find_nothing)
    with pytest.raises(ImportError, match=r"'example-robot-data': pip install 'superovoid_papers\[robots\]'"):
        robots.libraries()


def test_the_command_line_has_the_benchmark():
    arguments = command_line.parser().parse_args(["dev", "bench", "robots", "--states", "7"])
    assert (arguments.states, arguments.repeats, arguments.seed) == (7, 5, 0)


def test_both_engines_agree(tmp_path):
    try:
        robots.libraries()
    except ImportError as error:
        pytest.skip(str(error))
    assert robots.main(20, 1, 0, tmp_path, robots=("Panda",)) == 0
    with (tmp_path / "robots.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert len(rows) == 4
    assert [int(row["other_signs"]) for row in rows] == [0, 0, 0, 0]
    assert 0.0 < float(rows[0]["largest_difference_m"]) < 1e-5
    assert all(math.isnan(float(row["largest_difference_m"])) for row in rows[1:])
    assert all(float(row["ours_s"]) > 0.0 and float(row["coal_s"]) > 0.0 for row in rows)
