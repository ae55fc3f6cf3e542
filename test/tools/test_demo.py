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

from superovoid import Robot, cli
from superovoid_ros.motions.replays import REPLAYS
from superovoid_ros.resources import robot_documents
from superovoid_ros.tools.replay_report import plot

pytestmark = pytest.mark.ci

COMMAND = [sys.executable, "-m", "superovoid.cli", "demo"]
FRAMES = {"hands": range(28, 34), "arms": range(30, 33), "bite": range(45, 49)}


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


@pytest.mark.parametrize("motion", FRAMES)
def test_every_row_equals_the_answer_of_the_library(client, tmp_path, motion):
    seen, frames, replay = set(), FRAMES[motion], REPLAYS[motion]

    def look():
        client.spin(0.05)
        seen.update(client.node.get_node_names())

    options = ["--frames", f"{frames[0]}:{frames[-1]}", "--output", str(tmp_path), "--details"]
    done = run_while(look, *options, *([] if motion == "hands" else [f"--{motion}"]))
    assert done.returncode == 0, done.stderr
    assert seen == {"test_client"}  # the node is invisible to the caller of the demo
    assert done.stdout.startswith(f"{len(frames)} frames; minimum distance ") and replay.title in done.stdout
    path = tmp_path / f"{replay.file}.csv"
    assert f"written: {path}" in done.stdout
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    urdf, srdf = robot_documents(replay.robot)
    robot = Robot.from_urdf(urdf, srdf=srdf or None)
    scene, pairs, played = robot.scene(), robot.body_pairs(*replay.links), replay.motion()
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["frame"]) for row in rows] == list(frames)
    for row in rows:
        frame = played.frame(int(row["frame"]))
        scene.set_link_poses(robot.forward_kinematics(frame.positions, frame.base_poses))
        nearest = scene.query(pairs=pairs, max_results=1)[0]
        deep = scene.query(pairs=pairs, overlapping_only=True)
        assert float(row["distance_m"]) == pytest.approx(nearest.distance, abs=1e-12)
        assert (row["body_a"], row["body_b"]) == (nearest.name_a, nearest.name_b)
        assert int(row["intersecting"]) == len(deep)
    assert {int(row["intersecting"]) > 0 for row in rows} == {False, True}


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


def test_legend_of_the_plot_does_not_hide_the_curve(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    rows = [SimpleNamespace(frame=k, distance=1e-3 * abs(k - 80) / 15.0, intersecting=0) for k in range(181)]
    plot(rows, tmp_path / "plot.png", SimpleNamespace(title="Bite", subject="teeth"))
    drawn[0].canvas.draw()
    upper = drawn[0].axes[0]
    box = upper.get_legend().get_window_extent()
    assert not any(box.contains(*place) for place in upper.transData.transform(upper.lines[0].get_xydata()))
