# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kernels that are compiled ahead are all that questions need."""

from pathlib import Path

import pytest

from superovoid.states.ahead import LEVELS

import forked_programs

SCRIPT = Path(__file__).parents[1] / "helpers" / "late_kernels.py"


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=LEVELS)
@pytest.mark.slow
def test_no_question_compiles_a_kernel(level):
    program = f"import runpy, sys; sys.argv.append('{level}'); runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    ended = forked_programs.server().run(program, SCRIPT.parents[2], {})
    assert ended.returncode == 0, ended.stderr
    assert not ended.stdout
