# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kernels that are compiled ahead are all that questions need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from superovoid_ros.states.ahead import LEVELS

SCRIPT = Path(__file__).parents[1] / "helpers" / "late_kernels.py"


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=LEVELS)
def test_no_question_compiles_a_kernel(level):
    command = [sys.executable, str(SCRIPT), str(level)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SCRIPT.parents[2]), *sys.path])}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    assert not ended.stdout
