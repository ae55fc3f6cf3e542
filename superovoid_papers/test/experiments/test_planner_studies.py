# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid experiment studies`: applied rules, stored results, and tables."""

import csv

import numpy as np
import pytest
import trimesh

from superovoid_papers.commands.experiment import EXPERIMENTS
from superovoid_papers.experiments import planner_studies
from superovoid_papers.experiments.fits_and_spheres import ROBOTS

BALL = '<collision><geometry><mesh filename="{ball}"/></geometry></collision>'
URDF = """<robot name="one"><link name="a">{ball}</link><link name="m"><collision><origin xyz="0 0 5"/>
<geometry><sphere radius="0.1"/></geometry></collision></link><link name="b">{ball}</link>
<joint name="s" type="prismatic"><parent link="a"/><child link="m"/><axis xyz="1 0 0"/>
<limit lower="{lower}" upper="1" effort="1" velocity="1"/></joint>
<joint name="f" type="fixed"><parent link="m"/><child link="b"/></joint></robot>"""
STATES = 400


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    """Return two robots of two balls on a slide; those of the second overlap at the default."""
    share = tmp_path_factory.mktemp("share")
    folder = share / "robots"
    folder.mkdir()
    trimesh.creation.icosphere(2, 0.1).export(folder / "ball.stl")
    ball = BALL.format(ball=folder / "ball.stl")
    (folder / "apart.urdf").write_text(URDF.format(ball=ball, lower=0.1), encoding="utf-8")
    (folder / "over.urdf").write_text(URDF.format(ball=ball, lower=-1), encoding="utf-8")
    (folder / "over.srdf").write_text(
        '<robot name="one"><disable_collisions link1="m" link2="b" reason="Adjacent"/></robot>', encoding="utf-8"
    )
    return share


@pytest.fixture
def robots(share, monkeypatch):
    monkeypatch.setattr(planner_studies, "robots_folder", lambda: share)
    monkeypatch.setattr(planner_studies, "RULES", {"PR2": "over.srdf"})
    for name, urdf in (("Panda", "apart.urdf"), ("UR5", "over.urdf"), ("PR2", "over.urdf")):
        monkeypatch.setitem(ROBOTS, name, urdf)
    return "Panda", "UR5", "PR2"


def read(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


@pytest.mark.ci
def test_states_follow_each_robots_rules_and_are_reused(robots, tmp_path, monkeypatch, capsys):
    assert planner_studies.main(1, robots, STATES, 0, tmp_path) == 0
    rows = {(row["robot"], row["link_a"]): row for row in read(tmp_path / "studies.csv")}
    draw = np.random.default_rng(0)
    apart = draw.uniform(0.1, 1.0, STATES)
    both = abs(np.random.default_rng(0).uniform(-1.0, 1.0, STATES))
    # Icospheres touch at a distance equal to their extent along the slide.
    along = np.ptp(trimesh.creation.icosphere(2, 0.1).vertices[:, 0])
    for name, positions in (("Panda", apart), ("PR2", both)):
        assert int(rows[name, "any"]["colliding"]) == int((positions < along).sum()) > 0
        assert rows[name, "any"]["pairs"] == "1"
        wrong = sum(int(rows[name, "any"][kind]) for kind in ("bodies_only", "meshes_only"))
        assert wrong <= 0.02 * STATES
    # Without an SRDF a pair that overlaps at the default is excluded, and no other pair remains.
    assert rows["UR5", "any"]["pairs"] == "0" and rows["UR5", "any"]["colliding"] == "0"
    assert rows["PR2", "any"]["rules"] == "over.srdf" and rows["UR5", "any"]["rules"] == "none"
    speeds = read(tmp_path / "studies_speeds.csv")
    assert {row["robot"] for row in speeds} == {"Panda", "PR2"} and all(
        float(row["states_per_s"]) > 0 for row in speeds
    )
    words = capsys.readouterr().out
    assert "400 random states" in words and "States a second" in words

    def study(*_, **__):
        raise RuntimeError("studied")

    monkeypatch.setattr(planner_studies, "study_planner", study)
    assert planner_studies.main(1, robots, STATES, 0, tmp_path) == 0
    assert read(tmp_path / "studies_speeds.csv") == speeds
    with pytest.raises(RuntimeError, match="studied"):
        planner_studies.main(1, robots, STATES + 1, 0, tmp_path)


def test_a_missing_measurement_has_a_dash():
    rows = [
        planner_studies.SpeedRow("Panda", question, planner_studies.BODIES, 2, 1, 500, 1234.5)
        for question in planner_studies.QUESTIONS[:2]
    ]
    made = planner_studies.speed_table(rows)
    cells = [list(column.cells) for column in made.columns]
    assert [cell for (cell,) in cells] == ["Panda", "bodies", "2", "1", "1,234", "1,234", "–"]


def test_the_command_offers_the_known_robots():
    assert EXPERIMENTS["studies"][2]["robots"] == tuple(ROBOTS)
    assert set(planner_studies.RULES) < set(ROBOTS)
