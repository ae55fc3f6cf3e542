# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kernels compiled ahead of time: a library that another process calls without numba."""

import os
import subprocess
import sys

import pytest

from superovoid.compiled import library

# One entry point of each form of arguments and results that takes a second to compile.
BUILD = """
import sys
from pathlib import Path
from superovoid.compiled import build
names = "aabb_tree_fit", "impact_pose_at", "rounding_composition", "pair_table_exceptions_count", "impact_bounds_along"
build.build(Path(sys.argv[1]), lambda name: name.endswith(names))
"""
CALL = """
import sys
from pathlib import Path
sys.modules["numba"] = sys.modules["llvmlite"] = None
import ctypes
import numpy as np
from superovoid.compiled import aabb_tree, library
from superovoid.contact import impact
from superovoid.scene import pair_table
from superovoid.shapes.kernels import rounding
code = ctypes.CDLL(str(Path(sys.argv[1]) / library.NAME))
rng = np.random.default_rng(3)
def same(function, *arguments):
    made = library._caller(function, getattr(code, library.symbol_of(function)))
    copies = [[each.copy() if isinstance(each, np.ndarray) else each for each in arguments] for _ in range(2)]
    found, expected = made(*copies[0]), function(*copies[1])
    assert type(found) is type(expected) or isinstance(expected, (float, np.floating)), (found, expected)
    np.testing.assert_allclose(np.array(found, dtype=float), np.array(expected, dtype=float), rtol=1e-14)
    for left, right in zip(*copies):
        if isinstance(left, np.ndarray):
            np.testing.assert_allclose(left, right, rtol=1e-14, atol=1e-15)
    return made
pose = np.eye(4)
pose.setflags(write=False)
same(impact.pose_at, pose, rng.normal(size=9), 0.3, np.empty((4, 4)))
same(impact.bounds_along, rng.normal(size=9), rng.normal(size=9), 0.1, 0.2, (0.6, 0.0, 0.8))
for turned in (True, False):
    made = same(rounding.composition, 0.3, 2.0, turned)
keys = np.full(8, pair_table.EMPTY)
rules = pair_table.Rules(np.arange(3), np.zeros(3, dtype=bool), keys, np.zeros(8, dtype=np.int8), False)
same(pair_table.exceptions_count, rules)
import copy, pickle
made = library._caller(pair_table.exceptions_count, getattr(code, library.symbol_of(pair_table.exceptions_count)))
assert made(rules) == (0, False)
for other in (copy.deepcopy(rules), pickle.loads(pickle.dumps(rules))):  # after a call, which keeps addresses
    other.keys[0], other.answers[0] = 1, pair_table.FORBIDDEN
    assert made(other) == pair_table.exceptions_count(other) != made(rules)
for wrong, words in (
    (np.eye(4, dtype=np.float32), "expected an array of float64 with 2 dimensions"),
    (np.eye(8)[::2, ::2], "expected a C-contiguous array"),
    (np.zeros(16), "expected an array of float64 with 2 dimensions"),
):
    made = library._caller(impact.pose_at, getattr(code, library.symbol_of(impact.pose_at)))
    try:
        made(wrong, np.zeros(9), 0.3, np.empty((4, 4)))
    except TypeError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"{wrong.dtype} {wrong.strides} was taken")
"""
DIGESTS = """
from superovoid.compiled import build, library
from superovoid.shapes.kernels import rounding
def digests():
    return {library.symbol_of(each.py_func): build.digest_of(each) for each in build.entry_points()}
before = digests()
assert before == digests()
rounding.EPS *= 2.0
after = digests()
changed = {name for name in before if before[name] != after[name]}
assert "superovoid_shapes_kernels_rounding_allowance" in changed, changed
assert "superovoid_contact_superovoids_pair_solver_solve_pair" in changed, changed
assert "superovoid_robot_forward_poses_of_states" not in changed, changed
print(" ".join(before.values()))
"""


def run(program, *arguments, kernels="jit", **more):
    """Run a program that chooses how kernels are compiled."""
    environment = os.environ | {"SUPEROVOID_KERNELS": kernels} | more
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_entry_points_of_a_library_answer_as_their_python_does_without_numba(tmp_path):
    done = run(BUILD, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "5 of 5 object files made" in done.stderr
    done = run(CALL, tmp_path, kernels="python")
    assert done.returncode == 0, done.stderr
    done = run(BUILD, tmp_path)
    assert "0 of 5 object files made" in done.stderr


def test_digest_of_an_entry_point_changes_with_what_it_calls_alone():
    done = [run(DIGESTS, PYTHONHASHSEED=str(seed)) for seed in (1, 2)]
    assert [each.returncode for each in done] == [0, 0], done[0].stderr
    assert done[0].stdout == done[1].stdout


def test_a_missing_library_is_an_import_error_that_says_how_to_make_it(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    library._library.cache_clear()
    with pytest.raises(ImportError, match=r"libsuperovoid\.so is missing.*python -m superovoid\.compiled\.build"):
        library._library()


def test_a_library_of_other_sources_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    library._library.cache_clear()
    (tmp_path / library.NAME).touch()
    (tmp_path / library.SOURCES).write_text("0123456789abcdef")
    with pytest.raises(ImportError, match=r"made of other sources than these"):
        library._library()


def test_an_unknown_way_to_compile_is_an_import_error_that_names_the_ways():
    done = run("import superovoid.compiled.kernels", kernels="jitt")
    assert "SUPEROVOID_KERNELS = 'jitt': expected one of jit, library, python" in done.stderr
