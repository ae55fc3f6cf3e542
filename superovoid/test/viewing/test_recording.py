# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recordings: reading CSV files, the meaning of each moment, and its drawing."""

import csv
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from superovoid import Robot, Sphere
from superovoid.viewing import recording_files
from superovoid.viewing.meanings import COLOURS, Meaning
from superovoid.viewing.recording import Moment, Recording, ReplayModel, track_of
from superovoid.viewing.recording_files import RecordingError, read_csv
from superovoid.viewing.track_plot import drawing

from arm import URDF

# The arm without the floating ball.
ARM = re.sub(r'<joint name="free".*?</joint>\s*<link name="ball">.*?</link>', "", URDF, flags=re.DOTALL)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def arm():
    return Robot.from_urdf(ARM)


def write_csv(path, names, *rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    return path


def test_a_recorded_path_has_the_distances_of_the_library(arm, tmp_path):
    rows = [(0.1 * i, x, 0.5) for i, x in enumerate((0.0, 0.05, 0.1))]
    path = write_csv(tmp_path / "p.csv", ["time_s", "slide_m", "wrist_rad"], *rows)
    model = ReplayModel(read_csv(path, arm), near=0.05)
    assert (model.recording.axis, model.recording.unit) == ("time", "s")
    assert model.recording.seconds == pytest.approx([0.0, 0.1, 0.2])
    track, scene = track_of(model), arm.scene()
    for index, (_, slide, wrist) in enumerate(rows):
        scene.set_link_poses(arm.forward_kinematics({"slide": slide, "wrist": wrist}))
        (expected,) = scene.query(max_results=1).distance
        assert track.lower[index] <= expected <= track.upper[index]
        assert track.upper[index] - track.lower[index] < 1e-6
        model.seek(index)
        picture = model.answer()
        assert (picture.least.lower, picture.least.upper) == (track.lower[index], track.upper[index])


def test_an_unknown_moment_is_never_shown_as_apart(arm):
    lost = Moment(1.0, {}, unknown="no position of wrist")
    recording = Recording("r", arm, [known_at(0.0), lost, known_at(2.0), known_at(3.0)])
    model = ReplayModel(recording, near=0.01)
    track = track_of(model)
    assert np.isnan(track.lower).tolist() == [False, True, False, False]
    assert track.meaning.tolist() == [Meaning.APART, Meaning.UNKNOWN, Meaning.APART, Meaning.APART]
    model.seek(1)
    picture = model.answer()
    assert {body.meaning for body in picture.bodies} == {Meaning.UNKNOWN} and not picture.pairs
    assert picture.clearance.words == picture.least.words == "unknown: no position of wrist"
    svg = ElementTree.fromstring(drawing(recording, track, 1, model.near))
    # Each bound has a dot for the first moment, a line for the last two, and a gap between.
    assert len(svg.findall(f"{SVG}circle")) == 2 and len(svg.findall(f"{SVG}polyline")) == 2
    fills = [one.get("fill") for one in svg.findall(f"{SVG}rect")]
    assert fills == ["rgb({}, {}, {})".format(*COLOURS[m]) for m in (Meaning.APART, Meaning.UNKNOWN, Meaning.APART)]


def known_at(time):
    return Moment(time, {"slide": 1.0, "wrist": 0.0})


def test_omitted_geometry_leaves_every_moment_undecided():
    urdf = ARM.replace(
        '<link name="slider"/>',
        '<link name="slider"><collision><geometry><mesh filename="package://no/x.stl"/></geometry></collision></link>',
    )
    robot = Robot.from_urdf(urdf, meshes="ignore")
    model = ReplayModel(Recording("r", robot, [known_at(0.0)]), near=0.01)
    track = track_of(model)
    assert track.meaning.tolist() == [Meaning.UNKNOWN]
    assert model.answer().clearance.meaning == Meaning.UNKNOWN


def test_a_coarse_drawing_keeps_the_worst_moments(arm):
    moments = [Moment(float(i), {"slide": 1.0, "wrist": 0.0}) for i in range(2000)]
    moments[777] = Moment(777.0, {"slide": 0.0, "wrist": 3.0})
    recording = Recording("r", arm, moments)
    model = ReplayModel(recording, near=0.3)
    track = track_of(model)
    worst = int(track.meaning[777])
    assert worst > int(track.meaning[0])
    fills = [one.get("fill") for one in ElementTree.fromstring(drawing(recording, track, 0, 0.3)).findall(f"{SVG}rect")]
    assert "rgb({}, {}, {})".format(*COLOURS[Meaning(worst)]) in fills


def test_objects_count_in_the_distance(arm):
    pose = np.eye(4)
    pose[0, 3] = 1.5
    recording = Recording("r", arm, [known_at(0.0)], objects={"thing": (Sphere(0.1), pose)})
    (lower,) = track_of(ReplayModel(recording, near=0.01)).lower
    assert lower < 0.0


HEAD = ["slide_m", "wrist_rad"]


@pytest.mark.parametrize(
    ("names", "rows", "words"),
    [
        (HEAD, [], "no line below"),
        (HEAD, [["0", "x"]], "row 2, column wrist_rad: 'x' must be a finite number"),
        (HEAD, [["0", "nan"]], "must be a finite number"),
        (HEAD, [["0", "inf"]], "must be a finite number"),
        (HEAD, [["0", "1e308"]], "row 2, column wrist_rad: '1e308' must be within 1e+15"),
        (["time_s", *HEAD], [["-1e308", "0", "0"]], "row 2, column time_s: '-1e308' must be within 1e+15"),
        (["time_s", *HEAD], [["nan", "0", "0"]], "row 2, column time_s: 'nan' must be a finite number"),
        (
            ["手", "<b>"],
            [["0", "0"]],
            "no column slide_m, wrist_rad: a path of 'arm' has one for each independent joint; found 手, <b>",
        ),
        (["slide_m;wrist_rad"], [["0;0"]], "found slide_m;wrist_rad"),
        (HEAD, [["0"]], "row 2 has 1 values; expected 2"),
        (["slide_m"], [["0"]], "no column wrist_rad"),
        (["slide_rad", "wrist_rad"], [["0", "0"]], "no column slide_m"),
        (["slide_m", "slide_m"], [["0", "0"]], "two columns have the same name, 'slide_m'"),
        (["time_s", *HEAD], [["1", "0", "0"], ["0", "0", "0"]], "row 3, column time_s: 0 after 1"),
    ],
)
def test_an_invalid_path_is_rejected_with_a_reason(arm, tmp_path, names, rows, words):
    with pytest.raises(RecordingError, match=re.escape(words)) as refused:
        read_csv(write_csv(tmp_path / "p.csv", names, *rows), arm)
    assert str(tmp_path / "p.csv") in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffslide_m,wrist_rad\n0.5,0\n",
        "slide_m, wrist_rad\r\n0.5, 0\r\n",
        '# by hand\n"wrist_rad","slide_m"\n"0",".5"',
    ],
    ids=["with a mark of UTF-8", "with blanks", "with quotes and a comment"],
)
def test_tables_of_other_programs_are_read(arm, tmp_path, text):
    path = tmp_path / "p.csv"
    path.write_text(text, encoding="utf-8", newline="")
    assert [moment.positions for moment in read_csv(path, arm).moments] == [{"slide": 0.5, "wrist": 0.0}]


def test_an_unrecognised_table_needs_a_robot(tmp_path):
    with pytest.raises(RecordingError, match="no robot is given, and no installed package recognises its columns"):
        read_csv(write_csv(tmp_path / "p.csv", ["a"], ["1"]))


def test_equal_and_distant_times_are_drawn(arm, tmp_path):
    for times in ((1.0, 1.0, 1.0), (0.0, 5e-324, 1e-323), (-1e15, 0.0, 1e15)):
        rows = [(time, 0.1 * index, 0.0) for index, time in enumerate(times)]
        recording = read_csv(write_csv(tmp_path / "p.csv", ["time_s", *HEAD], *rows), arm)
        track = track_of(ReplayModel(recording, near=0.05))
        svg = drawing(recording, track, 2, 0.05)
        assert (track.meaning == Meaning.APART).all() and ElementTree.fromstring(svg) is not None
        assert not re.search(r"nan|inf", svg)


def test_a_too_long_table_is_rejected_before_it_is_read_completely(arm, tmp_path, monkeypatch):
    monkeypatch.setattr(recording_files, "_MOST_ROWS", 2)
    names, rows = HEAD, [[0, 0]] * 3
    with pytest.raises(RecordingError, match="more than 2 rows"):
        read_csv(write_csv(tmp_path / "p.csv", names, *rows), arm)
    assert len(read_csv(write_csv(tmp_path / "p.csv", names, *rows[1:]), arm).moments) == 2


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"\0\0\0", b'"' + b"x" * 200_000])
def test_a_file_other_than_csv_is_rejected_with_a_reason(tmp_path, arm, content):
    path = tmp_path / "p.csv"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=r"p\.csv"):
        read_csv(path, arm)


def test_a_floating_robot_needs_more_than_a_joint_path(tmp_path):
    with pytest.raises(RecordingError, match="ball"):
        read_csv(write_csv(tmp_path / "p.csv", HEAD, [0, 0]), Robot.from_urdf(URDF))
