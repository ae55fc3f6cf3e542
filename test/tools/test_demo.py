# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The demo as a user runs it: a command that starts its own node and writes a table, a CSV file and a plot."""

import csv
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import pytest
from matplotlib.figure import Figure

from superovoid import cli
from superovoid_ros.motions import dental_bite
from superovoid_ros.motions.grasp_sweep import read_sweep
from superovoid_ros.tools.replay_report import plot

pytestmark = pytest.mark.ci

COMMAND = [sys.executable, "-m", "superovoid.cli", "demo"]
FRAMES = range(28, 34)


def run_while(look, *arguments):
    """Run the demo, and call `look` repeatedly until it ends."""
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        process = subprocess.Popen([*COMMAND, *arguments], stdout=stdout, stderr=stderr)
        try:
            while process.poll() is None:
                look()
        finally:
            process.kill()
            process.wait()
        texts = [file.seek(0) or file.read() for file in (stdout, stderr)]
    return subprocess.CompletedProcess(process.args, process.returncode, *texts)


@pytest.fixture(scope="module")
def watched_demo(client, tmp_path_factory):
    """Return the demo's process, its folder, and the nodes visible during the run in the domain of its caller."""
    folder, seen = tmp_path_factory.mktemp("demo"), set()

    def look():
        client.spin(0.05)
        seen.update(client.node.get_node_names())

    done = run_while(look, "--frames", f"{FRAMES[0]}:{FRAMES[-1]}", "--output", str(folder), "--details")
    return done, folder, seen


@pytest.fixture(scope="module")
def demo(watched_demo):
    done, folder, _ = watched_demo
    return done, folder


def test_demo_succeeds_and_names_its_files(demo):
    done, folder = demo
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{len(FRAMES)} frames; minimum distance ")
    assert f"written: {folder / 'grasp_sweep.csv'}" in done.stdout
    assert "intersecting" in done.stdout
    assert (folder / "grasp_sweep.png").read_bytes().startswith(b"\x89PNG")


def test_every_row_equals_the_answer_of_the_library(demo):
    _, folder = demo
    robot, sweep = read_sweep()
    scene = robot.scene()
    pairs = robot.body_pairs(["left_fingers"], ["right_fingers"])
    with (folder / "grasp_sweep.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["frame"]) for row in rows] == list(FRAMES)
    for row in rows:
        frame = sweep.frame(int(row["frame"]))
        scene.set_link_poses(robot.forward_kinematics(frame.positions, frame.base_poses))
        nearest = scene.query(pairs=pairs, max_results=1)
        deep = scene.query(pairs=pairs, overlapping_only=True)
        assert float(row["distance_m"]) == pytest.approx(nearest.distance[0], abs=1e-12)
        assert int(row["intersecting"]) == len(deep)
    assert [int(row["intersecting"]) > 0 for row in rows] == [False, False, False, True, True, True]


def run_demo(folder, *arguments):
    """Run the demo into a folder; return its output."""
    command = [*COMMAND, *arguments, "--output", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_demo_with_arms_has_the_same_distances(demo, tmp_path):
    _, folder = demo
    run_demo(tmp_path, "--arms", "--frames", "30:32")
    with (folder / "grasp_sweep.csv").open(encoding="utf-8") as file:
        floating = {row["frame"]: row for row in csv.DictReader(file)}
    with (tmp_path / "grasp_sweep.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["frame"] for row in rows] == ["30", "31", "32"]
    for row in rows:
        assert float(row["distance_m"]) == pytest.approx(float(floating[row["frame"]]["distance_m"]), abs=1e-12)
        assert row["intersecting"] == floating[row["frame"]]["intersecting"]


@pytest.mark.slow
def test_demo_of_the_bite_equals_the_answers_of_the_library(tmp_path):
    assert "Dental bite" in run_demo(tmp_path, "--bite", "--frames", "45:48")
    assert (tmp_path / "dental_bite.png").read_bytes().startswith(b"\x89PNG")
    robot, bite = dental_bite.read_bite()
    scene = robot.scene()
    names = [body.name for body in robot.bodies]
    with (tmp_path / "dental_bite.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["frame"]) for row in rows] == [45, 46, 47, 48]
    for row in rows:
        scene.set_link_poses(robot.forward_kinematics(bite.frame(int(row["frame"])).positions))
        result = scene.query()
        assert float(row["distance_m"]) == pytest.approx(result.distance[0], abs=1e-12)
        assert (row["body_a"], row["body_b"]) == (names[result.body_a[0]], names[result.body_b[0]])
        assert int(row["intersecting"]) == (result.distance < 0.0).sum()
    assert [int(row["intersecting"]) > 0 for row in rows] == [False, False, True, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--frames", "9"], "must be FIRST:LAST"),
        (["--frames", "9:3"], "the first not after the last"),
        (["--representation", "mesh"], "unknown 'mesh': must be one of superellipsoids, "),
        (["--bite", "--arms"], "not allowed with argument"),
        (["--bite", "--representation", "mixed"], "applies to hands"),
        (["--frames", "0:1000"], "must be within 0 to 213"),
        (["--bite", "--frames", "181:181"], "must be within 0 to 180"),
    ],
)
def test_wrong_arguments_are_explained(arguments, message, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["demo", *arguments])
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_nodes_of_the_demo_are_invisible_to_its_caller(watched_demo):
    done, _, seen = watched_demo
    assert done.returncode == 0, done.stderr
    assert seen == {"test_client"}


def test_legend_of_the_plot_does_not_hide_the_curve(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    rows = [SimpleNamespace(frame=k, distance=1e-3 * abs(k - 80) / 15.0, intersecting=0) for k in range(181)]
    plot(rows, tmp_path / "plot.png", SimpleNamespace(title="Bite", subject="teeth"))
    drawn[0].canvas.draw()
    upper = drawn[0].axes[0]
    box = upper.get_legend().get_window_extent()
    assert not any(box.contains(*place) for place in upper.transData.transform(upper.lines[0].get_xydata()))
