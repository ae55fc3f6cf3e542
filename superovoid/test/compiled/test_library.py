# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Choice of the machine code library: loading, refusal, and SUPEROVOID_KERNELS."""

import ast
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from superovoid.compiled import library

A_DISTANCE = """
import sys
import numpy as np
import superovoid
ball, pose = superovoid.Sphere(1.0), np.eye(4)
pose[0, 3] = 3.0
print(superovoid.distance(ball, np.eye(4), ball, pose).distance)
"""
OF_A_LEVEL = "const int superovoid_library_level = {level}; int superovoid_processor_level(void) {{ return {here}; }}"


@pytest.fixture
def native(tmp_path, monkeypatch):
    """Replace the package's folder of libraries by an empty one."""
    monkeypatch.setattr(library, "NATIVE", tmp_path)
    monkeypatch.delenv("SUPEROVOID_LEVEL", raising=False)
    library.path.cache_clear()
    yield tmp_path
    library.path.cache_clear()


def make(path, level, here):
    """Make a library of a level; it reports `here` as the level of the processor."""
    if not shutil.which("cc"):
        pytest.skip("no compiler")
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_suffix(".c")
    source.write_text(OF_A_LEVEL.format(level=level, here=here))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(path), str(source)], check=True)
    return path


def run(program, **more):
    """Run a program."""
    return subprocess.run([sys.executable, "-c", program], env=os.environ | more, capture_output=True, text=True)


def test_a_missing_library_is_an_import_error_with_build_instructions(native):
    with pytest.raises(ImportError, match=r"libsuperovoid\.so is missing.*python -m superovoid\.compiler"):
        library.path()


def test_a_library_of_other_sources_is_refused_with_a_changed_file(native):
    make(library.library_of(native), 2, 2)
    (native / library.SOURCES).write_text('{"compiled/vector.py": [1, 1, "0123456789abcdef"]}')
    with pytest.raises(ImportError, match=r"vector\.py has changed since .*libsuperovoid\.so was built"):
        library.path()


def test_rewriting_sources_without_a_change_keeps_the_library(native, tmp_path, monkeypatch):
    monkeypatch.setattr(library, "PACKAGE", tmp_path)
    source = tmp_path / "a.py"
    source.write_text("A = 1")
    stamps = library.stamps_of([source])
    (native / library.SOURCES).write_text(library.json.dumps(stamps))
    os.utime(source, (1, 1))
    made = make(library.library_of(native), 2, 2)
    assert library.path() == made
    source.write_text("A = 2")
    library.path.cache_clear()
    with pytest.raises(ImportError, match=r"a\.py"):
        library.path()


def test_the_highest_level_of_the_processor_is_loaded(native, monkeypatch):
    made = {level: make(library.library_of(native, f"x86-64-v{level}"), level, 3) for level in (3, 4)}
    made[2] = make(library.library_of(native), 2, 3)
    assert library.path() == made[3]
    monkeypatch.setenv("SUPEROVOID_LEVEL", "x86-64-v2")
    library.path.cache_clear()
    assert library.path() == made[2]
    monkeypatch.setenv("SUPEROVOID_LEVEL", "v5")
    library.path.cache_clear()
    with pytest.raises(ImportError, match="SUPEROVOID_LEVEL = 'v5': expected one of x86-64-v4, x86-64-v3, x86-64-v2"):
        library.path()


@pytest.mark.parametrize("length", [0, 50, 5000, -1])
def test_a_truncated_library_is_refused_before_loading(native, length):
    whole = library.library_of(library.PACKAGE / "native")
    lowest = library.library_of(native)
    lowest.parent.mkdir(parents=True)
    lowest.write_bytes(whole.read_bytes()[:length])
    with pytest.raises(ImportError, match="a part of it is missing: build it by"):
        library.path()


def test_a_foreign_library_is_refused_with_its_missing_function(native):
    made = make(library.library_of(native), 2, 2)
    subprocess.run(["cc", "-shared", "-o", str(made), "-xc", "/dev/null"], check=True)
    with pytest.raises(ImportError, match="has no function superovoid_processor_level"):
        library.path()


def test_a_level_without_a_library_is_refused(native, monkeypatch):
    make(library.library_of(native), 3, 4)
    monkeypatch.setenv("SUPEROVOID_LEVEL", "x86-64-v2")
    with pytest.raises(ImportError, match="x86-64-v3, but SUPEROVOID_LEVEL = 'x86-64-v2'"):
        library.path()


def test_a_library_for_another_processor_is_refused_before_any_call(native):
    make(library.library_of(native), 4, 3)
    with pytest.raises(ImportError, match="needs a processor with the instructions of x86-64-v4"):
        library.path()


def test_libraries_in_the_working_directory_or_search_path_are_ignored(tmp_path):
    fake = make(tmp_path / library.LIBRARY, 1, 4)
    program = "from superovoid.compiled import library; print(library.path(), library._library())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=os.environ | {"LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert str(library.NATIVE) in done.stdout
    assert str(fake) not in done.stdout


def test_a_distance_needs_no_numba():
    done = run(A_DISTANCE + "assert not {'numba', 'llvmlite'} & sys.modules.keys()")
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 1.0


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["jit", "python"])
def test_compiled_and_interpreted_kernels_give_equal_answers(mode):
    if mode == "jit":
        pytest.importorskip("numba")
    program = """
import numpy as np
from superovoid.shapes.kernels import rounding
from superovoid.contact import impact
pose = np.eye(4)
impact.pose_at(np.eye(4), np.linspace(-0.4, 0.4, 9), 0.3, pose)
print((rounding.composition(0.3, 2.0, True), pose.tolist()))
"""
    answers = [run(program, SUPEROVOID_KERNELS=each) for each in ("library", mode)]
    assert [each.returncode for each in answers] == [0, 0], answers[1].stderr
    numbers = [np.array(ast.literal_eval(each.stdout)[1]) for each in answers]
    np.testing.assert_allclose(numbers[1], numbers[0], rtol=0, atol=1e-15)


@pytest.mark.ci
def test_interpreted_lanes_compute_columns_without_a_pair():
    program = """
import numpy as np
from superovoid import Body, Scene, Superovoid
rng = np.random.default_rng(1)
shapes = [Superovoid(0.5 + rng.random(3), profile_exponent=0.5, taper=(0.2, 0.1)) for _ in range(11)]
scene = Scene([Body(f"body_{i}", f"link_{i}", shape) for i, shape in enumerate(shapes)])
poses = np.tile(np.eye(4), (11, 1, 1))
poses[:, :3, 3] = rng.uniform(-3.0, 3.0, (11, 3))
scene.set_link_poses(poses)
print(scene.query().distance.tolist())
"""
    answers = [run(program, SUPEROVOID_KERNELS=each) for each in ("library", "python")]
    assert [each.returncode for each in answers] == [0, 0], answers[1].stderr
    numbers = [np.array(ast.literal_eval(each.stdout)) for each in answers]
    np.testing.assert_allclose(numbers[1], numbers[0], rtol=0, atol=1e-9)


def test_an_unknown_kernel_mode_is_an_import_error_with_all_modes():
    done = run("import superovoid.compiled.kernels", SUPEROVOID_KERNELS="jitt")
    assert "SUPEROVOID_KERNELS = 'jitt': expected one of library, jit, python" in done.stderr
