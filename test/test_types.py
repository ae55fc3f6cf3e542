# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The types that a user's type checker sees."""

import subprocess
import sys
from pathlib import Path

import pytest

import typed_user

ROOT = Path(__file__).resolve().parents[1]


def test_a_typed_script_runs():
    for part in (typed_user.pairs, typed_user.scenes, typed_user.states, typed_user.mistakes):
        part()


def check(folder, text):
    """What mypy says of a script outside of the repository, for the package as it is installed."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    (folder / "script.py").write_text(text, encoding="utf-8")
    cache = ROOT / ".mypy_cache" / "users"
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--warn-unused-ignores",
        "--cache-dir",
        str(cache),
        "script.py",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_typed_script_has_the_types_that_it_says_and_its_mistakes_are_found(tmp_path):
    code, said = check(tmp_path, Path(typed_user.__file__).read_text(encoding="utf-8"))
    assert code == 0, said


def test_a_wrong_type_is_found(tmp_path):
    text = "from superovoid_ros import Box, distance\ndistance(Box((1, 1, 1)), 'here', Box, None)\n"
    code, said = check(tmp_path, text)
    assert code == 1 and "[arg-type]" in said, said
