"""The cache of compiled kernels: announced when it has to be filled, quick when it is full, never stale."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import superovoid_ros
from superovoid_ros._jit import choice, kernel

PACKAGE = Path(superovoid_ros.__file__).parent
PROGRAM = """
from superovoid_ros._vector import norm
print(norm((3.0, 0.0, 4.0)))
"""


DOT = """
from superovoid_ros._vector import dot
print(dot((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)))
"""
CALLER = """
from superovoid_ros._jit import kernel
from superovoid_ros._vector import dot
@kernel(cache=False)
def caller(a):
    return 2.0 * dot(a, a)
print(caller((3.0, 0.0, 4.0)))
"""


# Compiles when its input ends.
GATE = """
import sys
from superovoid_ros._vector import norm
print("ready", flush=True)
sys.stdin.read()
print(norm((3.0, 0.0, 4.0)))
"""


def environment(root, cache):
    return {**os.environ, "PYTHONPATH": str(root), "SUPEROVOID_CACHE_DIR": str(cache)}


def run(root, cache, program=PROGRAM):
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment(root, cache),
        cwd=root,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )


@pytest.fixture
def copy(tmp_path):
    """A copy of the package whose sources may be edited."""
    root = tmp_path / "root"
    shutil.copytree(PACKAGE, root / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def test_compiling_is_announced_once_and_only_when_it_happens(copy, tmp_path):
    first = run(copy, tmp_path / "cache")
    assert first.stdout == "5.0\n"
    assert first.stderr.count("compiling kernels for this machine") == 1
    assert str(tmp_path / "cache") in first.stderr
    again = run(copy, tmp_path / "cache")
    assert again.stdout == "5.0\n"
    assert again.stderr == ""


def test_processes_that_start_together_compile_a_kernel_once(copy, tmp_path):
    started = [
        subprocess.Popen(
            [sys.executable, "-c", GATE],
            env=environment(copy, tmp_path / "cache"),
            cwd=copy,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    for process in started:
        process.stdin.close()
    ends = [(process.stdout.read(), process.stderr.read(), process.wait(60.0)) for process in started]
    assert [(output, code) for output, _, code in ends] == [("5.0\n", 0)] * 3
    assert sum("compiling kernels for this machine" in errors for _, errors, _ in ends) == 1


def cached(cache, form):
    """Names of the kernels in the cache in one form: "called" by Python, or "linked" into kernels."""
    return {index.name.split(".")[1].split("-")[0] for index in cache.rglob("*.nbi") if form in index.parts}


def test_only_what_python_calls_is_turned_into_code_that_python_can_call(copy, tmp_path):
    run(copy, tmp_path / "cache")
    assert cached(tmp_path / "cache", "called") == {"norm"}
    assert cached(tmp_path / "cache", "linked") == {"dot"}


@pytest.mark.parametrize(("program", "output"), [(PROGRAM + DOT, "5.0\n32.0\n"), (DOT + PROGRAM, "32.0\n5.0\n")])
def test_python_may_call_what_kernels_call(copy, tmp_path, program, output):
    assert run(copy, tmp_path / "cache", program).stdout == output
    again = run(copy, tmp_path / "cache", program)
    assert again.stdout == output
    assert again.stderr == ""
    assert cached(tmp_path / "cache", "called") == {"norm", "dot"}


def test_kernels_are_linked_from_the_cache(copy, tmp_path):
    run(copy, tmp_path / "cache")
    result = run(copy, tmp_path / "cache", CALLER)
    assert result.stdout == "50.0\n"
    assert result.stderr == ""  # `dot` was not compiled again


def test_an_edited_kernel_is_not_served_stale_to_the_kernels_that_call_it(copy, tmp_path):
    assert run(copy, tmp_path / "cache").stdout == "5.0\n"
    source = copy / PACKAGE.name / "_vector.py"
    text = source.read_text()
    assert "return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]" in text
    source.write_text(text.replace("return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]", "return 4.0 * a[0] * b[0]"))
    # `norm` itself is unchanged; it calls `dot`, which is not.
    assert run(copy, tmp_path / "cache").stdout == "6.0\n"


def test_without_a_cache_folder_kernels_are_compiled_all_the_same(copy, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    result = run(copy, blocked)
    assert result.stdout == "5.0\n"
    assert "not kept" in result.stderr


def test_of_kernels_to_choose_from_only_the_chosen_one_is_compiled():
    @kernel(cache=False)
    def alone(x, others):
        return x + 1.0

    @kernel(cache=False)
    def together(x, others):
        return x + others[0]

    chosen = choice(lambda x, others: together if len(others) else alone)

    @kernel(cache=False)
    def call(x, others):
        return chosen(x, others)

    assert call(1.0, ()) == 2.0
    assert alone.linked.signatures and not together.linked.signatures
    assert call(1.0, (5.0,)) == 6.0
    assert chosen(1.0, ()) == 2.0  # as without compilation
