# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Completion of the command line in a shell, as docs/how_to/verify.md sets it up."""

import os
import pty
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

# zsh completes only a line that is typed in a terminal.
STARTUP_FILE = """
autoload -U compinit && compinit -u -D && eval "$(register-python-argcomplete superovoid)"
complete_and_exit() { zle complete-word; print -r -- "$BUFFER" > "$ZDOTDIR/completed"; exit }
zle -N complete_and_exit
bindkey '^I' complete_and_exit
"""

LINES = pytest.mark.parametrize(
    ("line", "word"),
    [
        ("superovoid ver", "verify"),
        ("superovoid fit --to", "--tolerance"),
        ("superovoid verify --q", "--quiet"),
    ],
)


@pytest.fixture
def environment():
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path}


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@LINES
def test_bash_completes_commands_and_options(environment, line, word):
    done = subprocess.run(["bash", "-c", SCRIPT, "bash", line], capture_output=True, text=True, env=environment)
    assert word in done.stdout.split(), done.stderr


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
@LINES
def test_zsh_completes_commands_and_options(environment, tmp_path, line, word):
    (tmp_path / ".zshrc").write_text(STARTUP_FILE)
    keyboard, terminal = pty.openpty()
    shell = subprocess.Popen(
        ["zsh", "--no-globalrcs", "--interactive"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**environment, "ZDOTDIR": str(tmp_path), "TERM": "dumb"},
        start_new_session=True,
    )
    try:
        os.write(keyboard, f"{line}\t".encode())
        shell.wait(60.0)
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)
        os.close(keyboard)
    assert (tmp_path / "completed").read_text().split() == [*line.split()[:-1], word]
