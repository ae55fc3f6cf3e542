# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Completion of the command line in a shell, as docs/how_to/verify.md sets it up."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("argcomplete")

SCRIPT = """
eval "$(register-python-argcomplete superovoid)"
COMP_LINE="$1" COMP_POINT=${#1} COMP_TYPE=9
$(complete -p superovoid | sed 's/.*-F //; s/ .*//') superovoid
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("superovoid ver", {"verify"}),
        ("superovoid fit --to", {"--tolerance"}),
        ("superovoid verify --q", {"--quiet"}),
    ],
)
def test_a_shell_completes_commands_and_options(line, completed):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", SCRIPT, "bash", line], capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert set(done.stdout.split()) >= completed, done.stderr
