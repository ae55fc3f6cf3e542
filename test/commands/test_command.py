# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The `superovoid` command: options of measurements and experiments."""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import math
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import superovoid
from superovoid.cli import command_line, main
from superovoid.output import Report
from superovoid.robot.mesh_files import MESHES
from superovoid_papers.commands.experiment import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_takes_its_listed_options(name):
    module, _, options = EXPERIMENTS[name]
    experiment = importlib.import_module(f"superovoid_papers.experiments.{module}")
    inspect.signature(experiment.main).bind(**options)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--pairs", "-3", "'-3': must be an integer from 1"),
        ("--pairs", "0", "'0': must be an integer from 1"),
        ("--rounds", "many", "'many': must be an integer from 1"),
        ("--seed", "-1", "'-1': must be an integer from 0"),
    ],
)
def test_an_invalid_option_is_refused_with_the_expected_value(capsys, option, value, words):
    with pytest.raises(SystemExit, match="2"):
        main(["experiment", "suggestions", option, value])
    assert words in capsys.readouterr().err


WRONG = [
    ("", "superovoid: error: a command is missing"),
    ("frobnicate", "unknown 'frobnicate': must be one of view, "),
    ("--nosuch", "superovoid: error: unknown: --nosuch"),
    ("dev bench engine --nosuch", "superovoid dev bench engine: error: unknown: --nosuch"),
    ("grasp extra", "superovoid grasp: error: unknown: extra"),
    ("demo --frames 9", "must be FIRST:LAST"),
    ("demo --frames 0:1000", "must be within 0 to 213"),
    ("demo --bite --representation mixed", "--representation: applies to hands"),
    ("demo --output", "expected one argument"),
    ("dev load --duration -1", "'-1': must be more than 0"),
    ("dev load --duration nan", "'nan': must be more than 0"),
    ("dev load --clients 1,0", "'0': must be an integer from 1 to 256"),
    ("dev load --clients ", "'': must be an integer"),
    ("dev load --rates 20,inf", "'inf': must be more than 0"),
    ("dev load --kinds closest,far", "'closest,far': must be some of closest, near, penetration, many"),
    ("dev load --states 0", "'0': must be an integer from 1"),
    ("dev bench scale --frames 1e3", "'1e3': must be an integer from 1"),
    ("dev bench engine --seed 99999999999", "must be an integer from 0 to 4294967295"),
    ("dev bench never-wrong --pairs 0", "'0': must be an integer from 1"),
    ("dev bench never-wrong --workers 0", "'0': must be an integer from 1"),
    ("dev bench never-wrong --family none", "'none': must be one of far, near"),
    ("fitt", "unknown 'fitt', did you mean 'fit'?"),
    ("node", "superovoid node: error: a command is missing"),
    ("node check --timeout 0", "'0': must be more than 0"),
    ("verify", "the following arguments are required: FILE"),
    ("verify nosuch.json", "'nosuch.json': cannot be read"),
    ("grasp --seed 0", "'0': must be an integer from 1"),
    ("grasp --time inf", "'inf': must be more than 0"),
    ("view nosuch.urdf", "'nosuch.urdf': cannot be read"),
    ("view --srdf README.md", "--srdf: needs a URDF"),
    ("view --package panda", "'panda': must be NAME=DIR"),
    ("view --package panda=/nosuch", "'/nosuch': must be an existing folder"),
    ("view --shapes --near 1", "--shapes: shows two superovoids and no robot"),
    ("view --port 99999", "'99999': must be an integer from 1 to 65535"),
    ("view --near -1", "'-1': must be 0 or more"),
    ("view --host nowhere", "'nowhere': must be an IP address"),
    ("dataset", "--output: missing"),
    ("dataset --output a.zarr", "a URDF is missing"),
    ("dataset README.md --output a.zarr", "exactly one of --states, --grid and --states-file is required"),
    (
        "dataset README.md --output a.zarr --states 1 --grid 2",
        "exactly one of --states, --grid and --states-file is required",
    ),
    ("dataset README.md --output a.zarr --grid 2 --seed 2", "--seed: needs --states"),
    ("dataset README.md --output a.zarr --grid 2 --base-within a=0:1,0,0", "--base-within: needs --states"),
    ("dataset --output a.zarr --resume --states 5", "--states: needs a URDF"),
    ("dataset --output a.zarr --resume --discard", "--discard: needs --check"),
    ("dataset README.md --output a.zarr --verify 2", "--verify and --check use an existing store"),
    ("dataset --output a.zarr --resume --chunk 2", "not allowed with argument --resume"),
    ("dataset --output a.zarr --resume --threads 2 --workers 2", "not allowed with argument --threads"),
    ("dataset --output a.zarr --resume --scheduler 10.0.0.1", "'10.0.0.1': must be HOST:PORT"),
    ("dataset --output a.zarr --range elbow=1:x", "'elbow=1:x': must be JOINT=LOW:HIGH"),
    ("dataset --output a.zarr --base palm=1,2", "'palm=1,2': must be LINK=X,Y,Z"),
    ("dataset --output a.zarr --base palm=0,0,0,0,0,0,0", "'palm=0,0,0,0,0,0,0': must be LINK=X,Y,Z"),
    ("dataset --output a.zarr --base-within palm=0:1,0", "'palm=0:1,0': must be LINK=X:X,Y:Y,Z:Z"),
    ("dataset --output a.zarr --scheduler tcp://a:65536", "'tcp://a:65536': must be HOST:PORT"),
    ("dataset --output a.zarr --also points,forces", "'points,forces': must be some of points, normals, gradients"),
    ("fit a.urdf --tolerance 2", "'2': must be a length with its unit"),
    ("fit a.urdf --tolerance -2mm", "'-2mm': must be a length with its unit"),
    ("fit a.urdf --link hand", "'hand': must be NAME=N"),
    ("fit a.urdf --check --new-srdf", "--new-srdf: not allowed with --check"),
    ("replay setup", "'setup': cannot be read: No such file"),
    ("replay docs", "'docs': is a folder with no file NAME.mcap"),
    ("view --html docs", "'docs': must be a writable file"),
    ("dataset --output a.zarr --grid a=1,b", "'b': must be NAME=N"),
]


@pytest.mark.ci
@pytest.mark.parametrize(("line", "words"), WRONG, ids=[line for line, _ in WRONG])
def test_every_option_is_checked_before_anything_starts(capsys, monkeypatch, line, words):
    monkeypatch.setattr(subprocess, "Popen", None)  # no process
    arguments = line.split(" ") if line else []
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert words in said
    assert "error: " in said


def commands(parser=None, path=()):
    """Yield every parser with its command words."""
    parser = parser or command_line.parser()
    yield parser, path
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from commands(below, (*path, name))


def test_help_is_at_most_as_wide_as_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command, path in commands():
        lines = command.format_help().splitlines()
        assert max(map(len, lines)) <= 80, path
        assert "example:" in lines, path


# Wrong for all options other than folders, and for all folders.
WRONG_VALUES = ["", "x", "nan", "-inf", "1e400", "-3", "9" * 30, ":", "3:1", "1,,2", "0x10", "\0", "x" * 5000]
WRONG_FOLDERS = ["/dev/null", "/dev/null/x", "/proc/nothere", "a\0b", "x" * 5000]
WRONG_OUTPUTS = {"DIR": WRONG_FOLDERS, "--html": ["", ".", "/", "/dev/null/x", "/proc/nothere/x", "a\0b", "x" * 5000]}


def test_every_option_of_every_command_refuses_invalid_values(capsys, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)  # no process
    monkeypatch.setattr(command_line, "parser", cache(command_line.parser))  # all calls build the same parser
    count = 0
    for parser, path in commands():
        if path[:1] == ("view",) and importlib.util.find_spec("viser") is None:
            continue  # it names its missing extra first
        for action in parser._actions:
            if not action.option_strings or action.dest in ("help", "version") or action.nargs == 0:
                continue
            option = action.option_strings[-1]
            if option == "--node":
                continue  # it takes names of nodes to come
            for value in WRONG_OUTPUTS.get(option) or WRONG_OUTPUTS.get(action.metavar, WRONG_VALUES):
                with pytest.raises(SystemExit) as end:
                    main([*path, f"{option}={value}"])
                said = capsys.readouterr().err
                assert end.value.code == 2, (path, option, value)
                assert "error: " in said and (option in said or "are required" in said) and "Traceback" not in said, (
                    path,
                    option,
                    value,
                    said,
                )
                assert len(said.partition("error: ")[2]) < 1000 or action.choices, said
                count += 1
    assert count > 600


@pytest.mark.parametrize("command", ["view", "replay", "dataset"])
def test_every_command_takes_meshes_like_the_library(command):
    [of] = [parser for parser, path in commands() if path == (command,)]
    [option] = [one for one in of._actions if "--meshes" in one.option_strings]
    assert option.choices == MESHES


@pytest.mark.parametrize(
    "line", ["demo", "dev load", "grasp", "dev bench scale", "dev bench never-wrong", "experiment accuracy"]
)
@pytest.mark.parametrize("folder", ["file/folder", "file", "nothing\0here", "x" * 300])
def test_an_unwritable_folder_is_an_error_before_anything_starts(capsys, tmp_path, line, folder):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as end:
        main([*line.split(), "--output", f"{tmp_path}/{folder}"])
    assert end.value.code == 2
    assert "argument --output" in capsys.readouterr().err


def test_no_folder_is_made_before_all_options_are_checked(tmp_path):
    with pytest.raises(SystemExit):
        main(["demo", "--output", str(tmp_path / "new"), "--bite", "--representation", "mixed"])
    assert not (tmp_path / "new").exists()


def test_json_has_null_for_nan_and_infinity(capsys):
    report = Report()

    def run(_options):
        report.verdict("done", values=np.array([1.0, np.nan]), row={"limit": math.inf}, path=ROOT)
        return 0

    assert report.run(argparse.Namespace(json=True, run=run)) == 0

    def reject(constant):
        raise AssertionError(constant)

    document = json.loads(capsys.readouterr().out, parse_constant=reject)
    values = {"values": [1.0, None], "row": {"limit": None}, "path": str(ROOT)}
    assert document == {"verdict": "done", **values, "exit_code": 0}


def test_help_and_version_import_no_engine():
    program = "import sys; from superovoid.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    program += "print(sorted({'numba', 'numpy', 'rclpy', 'trimesh'} & set(sys.modules)), file=sys.stderr)"
    for arguments in (["--help"], ["--version"], ["experiment", "--help"], ["demo", "--frames", "x"]):
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)
        assert done.stderr.rstrip().endswith("[]"), done.stderr
        if arguments == ["--version"]:
            assert done.stdout == f"superovoid {superovoid.__version__}\n"


# Send a signal at the n-th import, counted from argparse, the first slow one; n is the last argument.
SIGNAL_AT_IMPORT = """
import os, signal, sys
from importlib.abc import MetaPathFinder

class Finder(MetaPathFinder):
    left = int(sys.argv.pop())
    counts = False

    def find_spec(self, name, path=None, target=None):
        self.counts |= name == "argparse"
        self.left -= self.counts
        if self.left == 0:
            self.left = -1
            os.kill(os.getpid(), signal.SIGINT)

sys.modules.pop("argparse", None)
sys.meta_path.insert(0, Finder())
from superovoid.cli import command
command()
"""


@pytest.mark.parametrize("place", [1, 2, 3, 5, 8, 13])
def test_ctrl_c_during_the_imports_prints_no_traceback(place):
    process = [sys.executable, "-c", SIGNAL_AT_IMPORT, "--version", str(place)]
    done = subprocess.run(process, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "superovoid: interrupted\n")


def test_the_module_of_the_program_imports_nothing_slow():
    program = "import sys; before = set(sys.modules); import superovoid.cli; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, cwd=ROOT / "superovoid", timeout=60
    )
    loaded = set(done.stdout.split())
    assert "superovoid.cli" in loaded, done.stderr
    assert not loaded & {"argparse", "pathlib", "tempfile", "typing", "superovoid.cli.command_line"}


def test_every_public_name_exists():
    for name in superovoid.__all__:
        assert getattr(superovoid, name) is not None
        assert name in dir(superovoid)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        superovoid.nothing  # noqa: B018
