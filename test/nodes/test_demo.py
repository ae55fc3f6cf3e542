"""The demo as a person runs it: a command that starts its own nodes and leaves a table, a CSV file and a plot."""

import csv
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from superovoid_ros import cli
from superovoid_ros.experiments.grasp_sweep import shipped

COMMAND = [sys.executable, "-m", "superovoid_ros.cli", "demo"]
FRAMES = range(28, 34)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    span = f"{FRAMES[0]}:{FRAMES[-1]}"
    done = subprocess.run(
        [*COMMAND, "--frames", span, "--output", str(folder)], capture_output=True, text=True, timeout=200
    )
    return done, folder


def test_demo_ends_well_and_says_where_its_files_are(demo):
    done, folder = demo
    assert done.returncode == 0, done.stderr
    assert f"frame by frame: {folder / 'grasp_sweep.csv'}" in done.stdout
    assert "intersecting" in done.stdout and "p99" in done.stdout
    assert (folder / "grasp_sweep.png").read_bytes().startswith(b"\x89PNG")


def test_every_row_is_what_the_library_says_of_that_frame(demo):
    _, folder = demo
    robot, sweep = shipped()
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
        assert int(row["pairs"]) == 441
        assert float(row["distance"]) == pytest.approx(nearest.distance[0], abs=1e-12)
        assert int(row["intersecting"]) == len(deep)
        assert int(row["past_sphere"]) == deep.past_sphere
    assert [int(row["intersecting"]) > 0 for row in rows] == [False, False, False, True, True, True]


def test_demo_with_arms_tells_the_same_distances(demo, tmp_path):
    _, folder = demo
    done = subprocess.run(
        [*COMMAND, "--arms", "--frames", "30:32", "--output", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    with (folder / "grasp_sweep.csv").open(encoding="utf-8") as file:
        floating = {row["frame"]: row for row in csv.DictReader(file)}
    with (tmp_path / "grasp_sweep.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["frame"] for row in rows] == ["30", "31", "32"]
    for row in rows:
        assert float(row["distance"]) == pytest.approx(float(floating[row["frame"]]["distance"]), abs=1e-12)
        assert row["intersecting"] == floating[row["frame"]]["intersecting"]


def test_demo_interrupted_leaves_no_process_behind(tmp_path):
    process = subprocess.Popen(
        [*COMMAND, "--output", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    deadline = time.monotonic() + 60.0
    children = []
    while len(children) < 2:
        assert process.poll() is None and time.monotonic() < deadline, f"nodes started: {children}"
        time.sleep(0.05)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    time.sleep(1.0)  # both are on their way
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "interrupted" in output
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--frames", "9"], "must be FIRST:LAST"),
        (["--frames", "9:3"], "the first not after the last"),
        (["--representation", "mesh"], "invalid choice"),
    ],
)
def test_wrong_arguments_are_explained(arguments, message, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["demo", *arguments])
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_frames_that_the_sweep_does_not_have_are_named(tmp_path):
    done = subprocess.run(
        [*COMMAND, "--frames", "500:501", "--output", str(tmp_path)], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 1
    assert "must be in 0 to 213" in done.stderr


def test_a_folder_that_cannot_be_written_is_named_at_once(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = subprocess.run([*COMMAND, "--output", str(blocked / "x")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Not a directory" in done.stderr
