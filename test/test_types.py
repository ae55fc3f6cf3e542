# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Types as a user's type checker infers them."""

import subprocess
import sys
from pathlib import Path

import pytest

import typed_user

pytestmark = pytest.mark.ci

ROOT = Path(__file__).resolve().parents[1]


def test_a_typed_script_runs():
    for part in (typed_user.pairs, typed_user.scenes, typed_user.states, typed_user.mistakes):
        part()


WRONG = "from superovoid import Box, distance\ndistance(Box((1, 1, 1)), 'here', Box, None)\n"


@pytest.fixture(scope="module")
def mypy_output(tmp_path_factory):
    """Return mypy's output for two scripts outside of the repository and the installed package: lines by script."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    folder = tmp_path_factory.mktemp("user")
    texts = {"right.py": Path(typed_user.__file__).read_text(encoding="utf-8"), "wrong.py": WRONG}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    cache = ROOT / ".mypy_cache" / "users"
    options = ["--strict", "--warn-unused-ignores", "--no-error-summary", "--cache-dir", str(cache)]
    done = subprocess.run([sys.executable, "-m", "mypy", *options, *texts], cwd=folder, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).splitlines()
    assert done.returncode == 1 and lines, lines
    return {name: [line for line in lines if not line.startswith(tuple(texts.keys() - {name}))] for name in texts}


def test_a_typed_script_has_its_asserted_types_and_mistakes(mypy_output):
    assert not mypy_output["right.py"]


def test_a_wrong_type_is_reported(mypy_output):
    assert any("[arg-type]" in line for line in mypy_output["wrong.py"]), mypy_output
