# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid view` as a process: its output, its exit, and its errors if something is missing."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from superovoid.cli import main
from superovoid.robot import appearance

import hands
from arm import SRDF, URDF

LONG = 300  # s
ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)")


@pytest.fixture
def files(tmp_path):
    for name, text in (("arm.urdf", URDF), ("arm.srdf", SRDF)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def start(*arguments, command="view"):
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    words = [sys.executable, "-m", "superovoid.cli", command, *map(str, arguments)]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )


@pytest.mark.ci
@pytest.mark.parametrize(
    ("arguments", "number"),
    [(("arm.urdf", "--srdf", "arm.srdf"), signal.SIGINT), (("--shapes",), signal.SIGTERM)],
)
def test_view_serves_a_page_without_a_display_until_a_signal(files, arguments, number):
    pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")
    arguments = [files / word if word.startswith("arm") else word for word in arguments]
    with start(*arguments) as process:
        try:
            line = process.stdout.readline()
            url = ADDRESS.search(line)[1]
            with urllib.request.urlopen(url, timeout=LONG) as answer:
                assert b"<html" in answer.read()
            process.send_signal(number)
            rest, said = process.communicate(timeout=LONG)
        finally:
            process.kill()
    assert process.returncode == 128 + number and rest == ""
    assert said.splitlines()[-1].startswith("superovoid view: ") and "Traceback" not in said
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=1.0).close()


def test_view_without_viser_prints_how_to_install_it(monkeypatch, capsys, files):
    monkeypatch.setitem(sys.modules, "viser", None)
    assert main(["view", str(files / "arm.urdf")]) == 2
    assert "pip install 'superovoid[view]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("urdf", "words"),
    [("<robot", "URDF"), ('<robot name="r"><link name="a"/><link name="b"/></robot>', "2 root links"), ("\0", "URDF")],
)
def test_an_unreadable_robot_is_reported(capsys, tmp_path, urdf, words):
    pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")
    (tmp_path / "r.urdf").write_text(urdf)
    assert main(["view", str(tmp_path / "r.urdf")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("superovoid view: ") and words in said and "Traceback" not in said


def test_a_port_in_use_is_reported(capsys, files):
    pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["view", str(files / "arm.urdf"), "--port", str(port)]) == 1
    assert f"port {port} of 127.0.0.1 cannot be used" in capsys.readouterr().err


def test_command_and_library_do_not_import_viser():
    code = "import superovoid.cli.command_line as c, superovoid, sys; c.parser(); print('viser' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
    assert "viser" not in vars(appearance)


@pytest.mark.ci
def test_a_recording_is_served_until_ctrl_c(tmp_path):
    pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")
    path = tmp_path / "path.csv"
    path.write_text("bite_m\n" + "".join(f"0.{step}\n" for step in range(10)), encoding="utf-8")
    with start(hands.MOLARS_URDF, path) as process:
        try:
            url = ADDRESS.search(process.stdout.readline())[1]
            with urllib.request.urlopen(url, timeout=LONG) as answer:
                assert b"<html" in answer.read()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=LONG)
        finally:
            process.kill()
    assert process.returncode == 128 + signal.SIGINT and "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.csv", "b.csv"], "two recordings"),
        (["a.urdf", "b.urdf"], "two robots"),
        (["a.csv", "--rate", "3"], "argument --rate: needs a bag"),
        (["a.csv", "--node"], "argument --node"),
        (["--node", "--html", "p.html"], "argument --html"),
        (["--node", "no name"], "must be a node name"),
        (["a.csv", "--srdf", "a.urdf"], "argument --srdf"),
    ],
)
def test_inconsistent_options_are_rejected(tmp_path, monkeypatch, capsys, words, said):
    for name in ("a.csv", "b.csv", "a.urdf", "b.urdf"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["view", *words])
    assert ended.value.code == 2 and said in capsys.readouterr().err
