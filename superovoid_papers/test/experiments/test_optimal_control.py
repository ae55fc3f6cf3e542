# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The optimal control problem: its paths keep their margin, and a missing library is named."""

import csv

import pytest

from superovoid.output import OutputError
from superovoid_papers.benchmarks import robots
from superovoid_papers.experiments import optimal_control


def test_a_missing_library_of_optimal_control_is_named(monkeypatch, tmp_path, capsys):
    def find_nothing():
        raise ImportError("no module 'coal'")

    monkeypatch.setattr(optimal_control, "libraries", find_nothing)
    assert optimal_control.main(6, tmp_path / "out") == 1
    assert capsys.readouterr().err == "superovoid experiment optimal-control: no module 'coal'\n"
    assert not (tmp_path / "out").exists()


def test_paths_without_a_state_between_their_ends_are_refused(tmp_path):
    with pytest.raises(OutputError, match=r"--states 2: must be at least 3"):
        optimal_control.main(2, tmp_path)


@pytest.mark.ci
def test_paths_that_ipopt_solves_keep_their_margin(tmp_path, monkeypatch):
    pytest.importorskip("casadi")
    try:
        robots.libraries()
    except ImportError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(optimal_control, "_FRACTIONS", 1)  # at the states only
    monkeypatch.setattr(optimal_control, "OVERSHOOT", 0.05)
    assert optimal_control.main(8, tmp_path) == 0
    with (tmp_path / "optimal_control.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert [row["model"] for row in rows] == ["hulls", "hulls", "spheres", "spheres"]
    solved = [row for row in rows if row["ending"] == "Solve_Succeeded"]
    assert solved
    assert all(float(row["clearance_mm"]) > 1e3 * optimal_control.MARGIN - 0.01 for row in solved)
