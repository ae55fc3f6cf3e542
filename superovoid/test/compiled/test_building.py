# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kernels compiled ahead of time: object files, and a library that another process calls without numba."""

import os
import subprocess
import sys

import numpy as np
import pytest

from superovoid.compiled import library
from superovoid.compiled.arrays import Floats1, Floats2

# Entry points with each form of arguments and results; each compiles in a second.
BUILD = """
import sys
from pathlib import Path
from superovoid.compiler import build
names = "aabb_tree_arrange", "impact_pose_at", "rounding_composition", "pair_table_exceptions_count", "fall_along"
folder = Path(sys.argv[1])
build.build([build.level_here()], folder, folder / "objects", lambda name: name.endswith(names))
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
code = ctypes.CDLL(str(library.library_of(Path(sys.argv[1]))))
rng = np.random.default_rng(3)
def same(function, *arguments):
    made = library.caller_of(function, getattr(code, library.symbol_of(function)))
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
same(impact.fall_along, rng.normal(size=9), rng.normal(size=9), 0.1, 0.2, (0.6, 0.0, 0.8))
for turned in (True, False):
    made = same(rounding.composition, 0.3, 2.0, turned)
keys = np.full(8, pair_table.EMPTY)
rules = pair_table.Rules(np.arange(3), np.zeros(3, dtype=bool), keys, np.zeros(8, dtype=np.int8), False)
same(pair_table.exceptions_count, rules)
import copy, pickle
made = library.caller_of(pair_table.exceptions_count, getattr(code, library.symbol_of(pair_table.exceptions_count)))
assert made(rules) == (0, False)
for other in (copy.deepcopy(rules), pickle.loads(pickle.dumps(rules))):  # after a call, which keeps addresses
    other.keys[0], other.answers[0] = 1, pair_table.FORBIDDEN
    assert made(other) == pair_table.exceptions_count(other) != made(rules)
for wrong, words in (
    (np.eye(4, dtype=np.float32), "expected an array of float64 with 2 dimensions"),
    (np.eye(8)[::2, ::2], "expected a C-contiguous array"),
    (np.zeros(16), "expected an array of float64 with 2 dimensions"),
):
    made = library.caller_of(impact.pose_at, getattr(code, library.symbol_of(impact.pose_at)))
    try:
        made(wrong, np.zeros(9), 0.3, np.empty((4, 4)))
    except TypeError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"{wrong.dtype} {wrong.strides} was accepted")
"""
DIGESTS = """
from superovoid.compiled import library
from superovoid.compiler import build, digests as of
from superovoid.shapes.kernels import rounding
def digests():
    return {library.symbol_of(each): of.digest_of(each, ()) for each in build.entry_points()}
before = digests()
assert before == digests()
def with_default(n=1): ...
with_default.kernel_options = {}
one = of.digest_of(with_default, ())
with_default.__defaults__ = (2,)
assert of.digest_of(with_default, ()) != one
rounding.EPS *= 2.0
after = digests()
changed = {name for name in before if before[name] != after[name]}
assert "superovoid_shapes_kernels_rounding_allowance" in changed, changed
assert "superovoid_contact_superovoids_pair_solver_solve_pair" in changed, changed
assert "superovoid_robot_forward_poses_of_states" not in changed, changed
print(" ".join(before.values()))
"""


def run(program, *arguments, **more):
    """Run a program with kernels as Python functions."""
    environment = os.environ | {"SUPEROVOID_KERNELS": "python", "PYTHONHASHSEED": "0"} | more
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.ci
def test_entry_points_of_a_library_agree_with_python_without_numba(tmp_path):
    assert "5 object files made" in run(BUILD, tmp_path)
    run(CALL, tmp_path)


@pytest.mark.ci
def test_a_second_build_reuses_objects_and_a_fresh_build_repeats_them(tmp_path):
    made = [tmp_path / "a", tmp_path / "b"]
    for folder in made:
        run(BUILD, folder)
    assert "0 object files made" in run(BUILD, made[0])
    objects = [{path.name: path.read_bytes() for path in folder.rglob("*.o")} for folder in made]
    assert len(objects[0]) == 5
    assert objects[0] == objects[1]


@pytest.mark.ci
def test_digest_of_an_entry_point_depends_only_on_what_it_calls():
    done = [run(DIGESTS, PYTHONHASHSEED=str(seed)) for seed in (1, 2)]
    assert done[0] == done[1]


def test_a_tuple_with_exchanged_array_dimensions_is_refused():
    packed = library._Layout((Floats1, Floats2))
    assert len(packed((np.zeros(3), np.zeros((2, 2))))) == 5 * 8
    with pytest.raises(TypeError, match="expected an array of float64 with 1 dimensions"):
        packed((np.zeros((2, 2)), np.zeros(3)))


def test_a_build_without_numba_names_the_package_to_install():
    main = library.PACKAGE / "compiler" / "__main__.py"
    done = subprocess.run([sys.executable, "-I", "-S", str(main)], capture_output=True, text=True)
    assert done.stderr.startswith("no package 'numba': the kernels are compiled by numba"), done.stderr


@pytest.mark.ci
def test_two_concurrent_builds_in_one_folder_make_one_library(tmp_path):
    environment = os.environ | {"SUPEROVOID_KERNELS": "python", "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-c", BUILD, str(tmp_path)]
    builds = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = sorted(each.communicate()[0].split(", ")[-2] for each in builds)
    assert said == ["0 object files made", "5 object files made"]
    run(CALL, tmp_path)


def test_helpers_end_with_a_killed_build():
    program = (
        "import multiprocessing, os\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "from superovoid.compiler import build\n"
        "pool = ProcessPoolExecutor(2, multiprocessing.get_context('fork'), build._end_with_parent)\n"
        "print(*{each.result() for each in [pool.submit(os.getpid) for _ in range(4)]}, flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    environment = os.environ | {"SUPEROVOID_KERNELS": "python"}
    # The output ends as soon as every helper has closed it.
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == -9 and done.stdout.strip(), done.stderr


def test_digest_of_a_kernel_does_not_depend_on_its_docstring():
    program = """
from superovoid.compiled.kernels import kernel
from superovoid.compiler.digests import digest_of
texts = '"First."; return x + 1.0', '"Second."; return x + 1.0', '"Second."; return x + 2.0'
found = []
for text in texts:
    names = {"__name__": "kernels"}
    exec(f"def one(x): {text}", names)
    found.append(digest_of(kernel(names["one"]), ()))
assert found[0] == found[1] != found[2], found
"""
    run(program)
