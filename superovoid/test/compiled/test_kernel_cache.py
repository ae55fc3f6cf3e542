# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The cache of compiled kernels: announced when it has to be filled, quick when it is full, never stale, never trusted.

Also what is compiled, and in which form; and that numba itself does it where ours is not to be used.
"""

import ast
import itertools
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import superovoid
from superovoid.compiled import kernel_cache
from superovoid.compiled.jit import FORMS, called_by, choice, is_compiled, kernel

import forked_programs

PACKAGE = Path(superovoid.__file__).parent
PROGRAM = """
from superovoid.compiled.vector import norm
print(norm((3.0, 0.0, 4.0)))
"""


DOT = """
from superovoid.compiled.vector import dot
print(dot((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)))
"""
CALLER = """
from superovoid.compiled.kernels import kernel
from superovoid.compiled.vector import dot
@kernel(cache=False)
def caller(a):
    return 2.0 * dot(a, a)
print(caller((3.0, 0.0, 4.0)))
"""


# Compiles when its input ends.
GATE = """
import sys
from superovoid.compiled.vector import norm
print("ready", flush=True)
sys.stdin.read()
print(norm((3.0, 0.0, 4.0)))
"""


def environment(root, cache):
    # Python tells its own compiled files by size and by the second: an edit within one would go unseen.
    own = {"PYTHONPATH": str(root), "SUPEROVOID_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **own}


def run(root, cache, program=PROGRAM):
    ended = forked_programs.server().run(program, root, {"SUPEROVOID_CACHE_DIR": str(cache)})
    assert ended.returncode == 0, ended.stderr
    return ended


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


@pytest.mark.slow
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
        for _ in range(2)
    ]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    for process in started:
        process.stdin.close()
    ends = [(process.stdout.read(), process.stderr.read(), process.wait(60.0)) for process in started]
    assert [(output, code) for output, _, code in ends] == [("5.0\n", 0)] * 2
    assert sum("compiling kernels for this machine" in errors for _, errors, _ in ends) == 1


def files(cache):
    """What is kept, by name."""
    return {file.name: file for file in cache.glob("kernels-*/*-*.*-*")}


def cached(cache, form):
    """Names of the kernels in the cache in one form: "called" by Python, or "linked" into kernels."""
    return {name.split(".")[1].split("-")[0] for name in files(cache) if name.startswith(form)}


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


def test_kernels_that_call_kernels_are_linked_from_the_cache_with_all_they_call(copy, tmp_path):
    program = CALLER.replace("import dot", "import norm").replace("2.0 * dot(a, a)", "2.0 * norm(a)")
    assert run(copy, tmp_path / "cache", program).stdout == "10.0\n"
    assert cached(tmp_path / "cache", "linked") == {"norm", "dot"}
    again = run(copy, tmp_path / "cache", program)
    assert (again.stdout, again.stderr) == ("10.0\n", "")
    next(file for name, file in files(tmp_path / "cache").items() if "norm" in name).write_bytes(b"damaged")
    assert run(copy, tmp_path / "cache", program).stdout == "10.0\n"
    last = run(copy, tmp_path / "cache", program)
    assert (last.stdout, last.stderr) == ("10.0\n", "")


def test_what_kernels_link_is_compiled_again_where_what_it_calls_is_another_compilation(copy, tmp_path):
    program = CALLER.replace("import dot", "import norm").replace("2.0 * dot(a, a)", "2.0 * norm(a)")
    run(copy, tmp_path / "cache", program)
    kept = {name.split(".")[1].split("-")[0]: file for name, file in files(tmp_path / "cache").items()}
    assert kept.keys() == {"norm", "dot"}
    kept["dot"].unlink()
    # Compiled again by a process that has compiled others before, it bears another name.
    before = "from superovoid.compiled.vector import cross; cross((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))\n"
    assert run(copy, tmp_path / "cache", before + program).stdout == "10.0\n"
    again = run(copy, tmp_path / "cache", program)
    assert (again.stdout, again.stderr) == ("10.0\n", "")


def test_an_edited_kernel_is_not_served_stale_to_the_kernels_that_call_it(copy, tmp_path):
    assert run(copy, tmp_path / "cache").stdout == "5.0\n"
    source = copy / PACKAGE.name / "compiled/vector.py"
    text = source.read_text()
    assert "return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]" in text
    source.write_text(text.replace("return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]", "return 4.0 * a[0] * b[0]"))
    # `norm` itself is unchanged; it calls `dot`, which is not.
    assert run(copy, tmp_path / "cache").stdout == "6.0\n"


# Imports a module with a kernel when its input ends.
LATE = """
import sys
import superovoid.compiled.jit
print("ready", flush=True)
sys.stdin.read()
from superovoid._late import tenfold
print(tenfold(1.5))
"""


def test_a_source_edited_between_the_start_and_its_import_does_not_get_into_the_folder_of_the_former(copy, tmp_path):
    source = copy / PACKAGE.name / "_late.py"
    text = "from superovoid.compiled.jit import kernel\n@kernel\ndef tenfold(x):\n    return 10.0 * x\n"
    source.write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-c", LATE],
        env=environment(copy, tmp_path / "cache"),
        cwd=copy,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    source.write_text(text.replace("10.0", "20.0"))
    output, errors = process.communicate()
    assert (output, process.returncode) == ("30.0\n", 0)
    assert errors.count("are not kept any more") == 1
    source.write_text(text)
    assert run(copy, tmp_path / "cache", "from superovoid._late import tenfold; print(tenfold(1.5))").stdout == "15.0\n"


# Kernels that link closures of one name: another number of numbers is gathered by each.
SUMS = """
from superovoid.compiled.kernels import kernel
from superovoid.contact.lanes.simd import loader
_three, _six = loader(3, 1), loader(6, 1)
@kernel
def sum_of_three(buffer):
    t = _three(buffer, 0)
    return t[0] + t[1] + t[2]
@kernel
def sum_of_six(buffer):
    t = _six(buffer, 0)
    return t[0] + t[1] + t[2] + t[3] + t[4] + t[5]
"""


@pytest.mark.parametrize("forked", [False, True])
@pytest.mark.slow
def test_closures_of_one_name_that_different_processes_have_compiled_are_told_apart(copy, tmp_path, forked):
    (copy / PACKAGE.name / "_sums.py").write_text(SUMS)
    program = """
import os
import numpy as np
from superovoid import _sums
from superovoid.compiled.kernels import kernel
@kernel(cache=False)
def call(buffer):
    return {call}
{fork}
print(call(np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])))
"""
    calls = {"_sums.sum_of_three(buffer)": 7.0, "_sums.sum_of_six(buffer)": 63.0}
    if forked:
        # Two children of one process, which has counted as far as it has.
        fork = """
for call in calls:
    if (child := os.fork()) == 0:
        print(call(np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
raise SystemExit
"""
        calls_of = "\n".join(
            f"@kernel(cache=False)\ndef call_{k}(buffer):\n    return {call}" for k, call in enumerate(calls)
        )
        both = program.format(call="0.0", fork=f"{calls_of}\ncalls = call_0, call_1{fork}")
        assert run(copy, tmp_path / "cache", both).stdout == "7.0\n63.0\n"
    else:
        for call, answer in calls.items():
            assert run(copy, tmp_path / "cache", program.format(call=call, fork="")).stdout == f"{answer}\n"
    both = program.format(call=" + ".join(calls), fork="")
    assert run(copy, tmp_path / "cache", both).stdout == "70.0\n"


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


@pytest.mark.skipif(FORMS is None, reason="numba compiles kernels by itself")
def test_a_kernel_is_compiled_once_for_all_integers_that_kernels_call_it_with():
    @kernel(cache=False)
    def entry(values, k):
        return values[k]

    @kernel(cache=False)
    def total(values, k):
        return 100.0 * entry(values, 0) + 10.0 * entry(values, 1) + entry(values, k)

    assert total((1.0, 2.0, 3.0), 2) == 123.0
    assert total(np.array([4.0, 5.0, 6.0]), 2) == 456.0
    assert len(entry.linked.signatures) == 2  # one for each type of `values`


@pytest.mark.skipif(FORMS is None, reason="numba compiles kernels by itself")
def test_a_kernel_that_reaches_another_over_several_ways_answers_as_its_python_function_does():
    @kernel(cache=False)
    def shared(x):
        return 0.5 * x + 1.0

    @kernel(cache=False)
    def first(x):
        return shared(x) * shared(x + 1.0)

    @kernel(cache=False)
    def second(x, many):
        y = 0.0
        for k in range(many):
            y += shared(first(x + k))
        return y

    @kernel(cache=False)
    def both(x, many):
        return first(x) - second(x, many) + shared(x)

    def plain(x, many):
        half = lambda x: 0.5 * x + 1.0  # noqa: E731
        product = lambda x: half(x) * half(x + 1.0)  # noqa: E731
        return product(x) - sum(half(product(x + k)) for k in range(many)) + half(x)

    assert both(3.0, 4) == plain(3.0, 4)  # halves of integers: exact


@pytest.mark.skipif(FORMS is None, reason="numba compiles kernels by itself")
def test_flags_are_equal_exactly_where_numba_says_so():
    plain, unset, reset = (type_() for type_ in (FORMS._Flags, FORMS._Flags, FORMS._Flags))
    reset.nrt = unset.nrt  # set to what it is anyway
    other = FORMS._Flags()
    other.nrt = not unset.nrt
    every = plain, unset, reset, other
    for one in every:
        for two in every:
            assert (one == two) == (one.values() == two.values())
            assert one != two or hash(one) == hash(two)


# --- What the folder's name depends on ---

CONSTANT = "FACTOR = 2.0\n"
SCALED = """
from superovoid import _constant
from superovoid.compiled.kernels import kernel
from superovoid._constant import FACTOR
@kernel
def scaled(x):
    return FACTOR * x + _constant.FACTOR
"""


def test_an_edited_constant_of_a_module_without_kernels_is_not_served_stale(copy, tmp_path):
    constant = copy / PACKAGE.name / "_constant.py"
    constant.write_text(CONSTANT)
    (copy / PACKAGE.name / "_scaled.py").write_text(SCALED)
    program = "from superovoid._scaled import scaled; print(scaled(10.0))"
    assert run(copy, tmp_path / "cache", program).stdout == "22.0\n"
    constant.write_text(CONSTANT.replace("2.0", "3.0"))
    assert run(copy, tmp_path / "cache", program).stdout == "33.0\n"


def test_the_folder_is_named_after_all_that_kernels_can_compile_in_and_not_after_the_nodes():
    covered = {source.relative_to(PACKAGE).as_posix() for source in kernel_cache.covered()}
    assert {
        "contact/signed_distance.py",
        "contact/superovoids/pair_solver.py",
        "contact/columns.py",
        "values/status.py",
        "compiled/jit.py",
        "compiled/forms.py",
        "compiled/kernel_cache.py",
        "scene/solving.py",
    } <= covered
    assert not any(name.startswith("nodes/") or name == "cli.py" for name in covered)
    assert len(covered) < len(list(PACKAGE.rglob("*.py"))) / 2
    # What has kernels is covered, however it imports them.
    for source in PACKAGE.rglob("*.py"):
        if "@kernel" in source.read_text():
            assert source.relative_to(PACKAGE).as_posix() in covered


@pytest.mark.slow
def test_imports_are_found_in_every_module_as_its_syntax_tree_has_them():
    for source in PACKAGE.rglob("*.py"):
        text = source.read_bytes()
        expected = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                expected |= {kernel_cache._source_of(each.name, PACKAGE) for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{source}: relative imports are not used in this package"
                own = kernel_cache._source_of(node.module, PACKAGE)
                expected |= {
                    own and (kernel_cache._source_of(f"{node.module}.{each.name}", PACKAGE) or own)
                    for each in node.names
                }
        assert expected - {None} <= kernel_cache.imported_by(source, text), source


def test_what_is_defined_elsewhere_is_not_kept(copy, tmp_path):
    program = """
from superovoid.compiled.kernels import kernel
@kernel
def twice(x):
    return 2.0 * x
print(twice(4.0))
"""
    path = tmp_path / "own.py"
    path.write_text(program)
    assert run(copy, tmp_path / "cache", f"import runpy; runpy.run_path({str(path)!r})").stdout == "8.0\n"
    assert files(tmp_path / "cache") == {}


# --- Damage ---

MANY = """
from superovoid.compiled.vector import add, cross, dot, norm, scale, sub
a, b = (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)
print(add(a, b), cross(a, b), dot(a, b), norm(a), scale(2.0, a), sub(a, b))
"""


def _nothing(file):
    file.write_bytes(b"")


def _half(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _flipped(file):
    data = bytearray(file.read_bytes())
    data[len(data) * 2 // 3] ^= 0x10
    file.write_bytes(data)


def _noise(file):
    file.write_bytes(os.urandom(5000))


def _foreign(file):
    file.write_bytes(pickle.dumps({"a": 1}))


class _Marker:
    """Pickled, it makes a file named `read` beside itself when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path.with_name("read")), "w")


def _hostile(file):
    file.write_bytes(pickle.dumps(_Marker(file)))


def _link(file):
    elsewhere = file.with_name("elsewhere")
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


def _pipe(file):
    file.unlink()
    os.mkfifo(file)


def _writable(file):
    file.chmod(0o666)


def _folder(file):
    file.unlink()
    file.mkdir()


def _other(file):
    others = (other for other in files(file.parent.parent).values() if other.is_file() and other.stat().st_size > 5000)
    file.write_bytes(next(other for other in others if other != file).read_bytes())


DAMAGES = [_nothing, _half, _flipped, _noise, _foreign, _hostile, _link, _pipe, _writable, _other]


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A cache with a few kernels."""
    cache = tmp_path_factory.mktemp("full")
    cache.chmod(0o700)
    result = run(PACKAGE.parent, cache, MANY)
    return cache, result.stdout


def test_files_damaged_in_any_way_are_compiled_again_which_is_said_once(full, tmp_path):
    cache, answers = full
    damaged = Path(shutil.copytree(cache, tmp_path / "cache", symlinks=True))
    damaged.chmod(0o700)
    kept = sorted(files(damaged).values())
    assert len(kept) >= 6
    for turn in range(0, len(DAMAGES), len(kept)):
        for damage, file in zip(DAMAGES[turn:], kept, strict=False):
            damage(file)
        result = run(PACKAGE.parent, damaged, MANY)
        assert result.stdout == answers
        assert result.stderr.count("cannot be used and are compiled again") == 1
        assert not any(file.name == "read" for file in damaged.rglob("*"))  # what a pickle would have done
        again = run(PACKAGE.parent, damaged, MANY)
        assert (again.stdout, again.stderr) == (answers, "")


def test_a_folder_in_place_of_a_file_costs_that_kernel_only(full, tmp_path):
    cache, answers = full
    damaged = Path(shutil.copytree(cache, tmp_path / "cache"))
    damaged.chmod(0o700)
    _folder(next(iter(files(damaged).values())))
    result = run(PACKAGE.parent, damaged, MANY)
    assert result.stdout == answers
    assert result.stderr.count("compiled kernels are not kept") == 1


@pytest.mark.slow
def test_a_full_disk_costs_time_only(tmp_path):
    # No file may grow beyond a few bytes: what a full disk does to a write, without a disk.
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    result = subprocess.run(
        [sys.executable, "-c", limit + MANY],
        env=environment(PACKAGE.parent, tmp_path),
        capture_output=True,  # by pipes, not into files, which could not grow either
        text=True,
        check=True,
    )
    assert "32.0" in result.stdout
    assert result.stderr.count("compiled kernels are not kept") == 1
    assert files(tmp_path) == {}
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_folder_that_disappears_while_kernels_are_compiled_is_made_again(tmp_path):
    lines = MANY.strip().splitlines()
    program = "\n".join([lines[0], f"import shutil; shutil.rmtree({str(tmp_path)!r})", *lines[1:]])
    result = run(PACKAGE.parent, tmp_path, program)
    assert "32.0" in result.stdout
    assert "Traceback" not in result.stderr
    assert cached(tmp_path, "called") == {"add", "cross", "dot", "norm", "scale", "sub"}


# --- Trust ---


def test_a_folder_that_others_can_write_to_is_neither_read_nor_written(full, tmp_path):
    cache, answers = full
    for exposed in ("", "kernels-*"):
        here = Path(shutil.copytree(cache, tmp_path / f"cache{len(exposed)}"))
        here.chmod(0o700)
        folder = next(here.glob(exposed)) if exposed else here
        folder.chmod(0o777)
        before = {name: file.stat().st_mtime_ns for name, file in files(here).items()}
        result = run(PACKAGE.parent, here, MANY)
        assert result.stdout == answers
        assert f"others may write to '{folder}'" in result.stderr
        assert "SUPEROVOID_CACHE_DIR" in result.stderr
        assert {name: file.stat().st_mtime_ns for name, file in files(here).items()} == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_what_belongs_to_somebody_else_is_not_read(full, tmp_path):
    cache, answers = full
    here = Path(shutil.copytree(cache, tmp_path / "cache"))
    here.chmod(0o700)
    file = next(iter(files(here).values()))
    os.chown(file, 12345, -1)
    result = run(PACKAGE.parent, here, MANY)
    assert result.stdout == answers
    assert "belongs to user 12345" in result.stderr
    os.chown(next(here.glob("kernels-*")), 12345, -1)
    result = run(PACKAGE.parent, here, MANY)
    assert result.stdout == answers
    assert "belongs to user 12345" in result.stderr


def test_folders_are_made_for_their_user_alone(full):
    cache, _ = full
    folder = next(cache.glob("kernels-*"))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in files(cache).values()} == {0o600}


def test_without_a_home_that_can_be_written_kernels_are_kept_among_temporary_files(tmp_path, monkeypatch):
    blocked = tmp_path / "home"
    blocked.write_text("not a folder")
    monkeypatch.delenv("SUPEROVOID_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(blocked))
    monkeypatch.setattr(kernel_cache.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = kernel_cache.prepare("versions")
    assert folder.path.startswith(f"{tmp_path}/superovoid-{os.geteuid()}/kernels-")
    folder.write("a", b"b")
    assert folder.read("a") == b"b"


# --- Locks ---

HOLDER = """
import os, sys
from superovoid.compiled import kernel_cache
folder = kernel_cache.Folder(sys.argv[1])
with kernel_cache.Locks(folder).held("kernel"):
    print("held", flush=True)
    sys.stdin.read(1) if sys.argv[2] == "idle" else None
    turn = 0
    while sys.argv[2] == "busy":  # gets on, until it is told to end
        turn += 1
"""


def holder(folder, how):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
    )
    assert process.stdout.readline() == "held\n"
    return process


@pytest.fixture
def folder(tmp_path):
    tmp_path.chmod(0o700)
    return kernel_cache.Folder(str(tmp_path))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("how", ["idle", "busy"])
def test_a_stopped_process_that_holds_a_lock_is_given_up_and_after_that_never_waited_for(folder, how, monkeypatch):
    monkeypatch.setattr(kernel_cache, "_STALLED_AFTER", 0.3)
    stopped = holder(folder.path, how)
    try:
        os.kill(stopped.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED | os.WNOWAIT)
        locks = kernel_cache.Locks(folder)
        with locks.held("kernel"):
            pass  # gets here at all
        monkeypatch.setattr(kernel_cache.time, "sleep", lambda _: pytest.fail("waits a second time"))
        with locks.held("kernel"):
            pass
    finally:
        stopped.kill()
        stopped.communicate()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_process_that_gets_on_is_waited_for(folder, monkeypatch):
    other = holder(folder.path, "idle")
    # A clock on which a turn of waiting takes a second, and in that second the other gets on a little.
    turns = itertools.count(1)
    now = 0.0

    def wait_a_turn(_):
        nonlocal now
        now = float(next(turns))
        if now == 20.0 * kernel_cache._STALLED_AFTER:
            other.kill()
            other.wait()

    spent = lambda process: 0.02 * now if process == other.pid else 0.0  # noqa: E731
    monkeypatch.setattr(kernel_cache, "time", SimpleNamespace(monotonic=lambda: now, sleep=wait_a_turn))
    monkeypatch.setattr(kernel_cache, "processor_time", spent)
    try:
        with kernel_cache.Locks(folder).held("kernel") as had_to:
            assert had_to
            assert other.returncode == -signal.SIGKILL  # the lock is its own only now
    finally:
        other.kill()
        other.communicate()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_processor_time_is_that_of_a_process():
    before = time.process_time()
    told = kernel_cache.processor_time(os.getpid())
    assert before - 0.05 < told < time.process_time() + 0.05  # it counts in hundredths
    assert kernel_cache.processor_time(2**22 + 1) == 0.0  # no process has such a number


# --- numba ---

SEPARATE = """
from superovoid.compiled.kernels import kernel
@kernel(separate=True)
def inner(x):
    return x * x
@kernel
def outer(x):
    return inner(x) + 1.0
"""


def test_a_separate_kernel_is_compiled_once_and_found_again_by_its_callers(copy, tmp_path):
    (copy / PACKAGE.name / "_separate.py").write_text(SEPARATE)
    program = "from superovoid._separate import inner, outer; print(outer(3.0), inner(4.0))"
    for turn in range(2):
        result = run(copy, tmp_path / "cache", program)
        assert result.stdout == "10.0 16.0\n"
        assert (result.stderr == "") == (turn == 1)
    assert cached(tmp_path / "cache", "separate") == {"inner"}
    assert cached(tmp_path / "cache", "called") == {"outer"}
    assert cached(tmp_path / "cache", "linked") == set()
    # Compiled again by a process that has compiled others before, it bears another name: its callers are, too.
    next(file for name, file in files(tmp_path / "cache").items() if name.startswith("separate")).unlink()
    before = "from superovoid.compiled.vector import dot; print(dot((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)));"
    assert run(copy, tmp_path / "cache", before + program).stdout == "32.0\n10.0 16.0\n"
    assert run(copy, tmp_path / "cache", program).stdout == "10.0 16.0\n"


@pytest.mark.parametrize("version", ["99.0.0", "0.59.1"])
@pytest.mark.slow
def test_a_numba_that_was_not_tried_compiles_by_its_public_interface(copy, tmp_path, version):
    (copy / PACKAGE.name / "_separate.py").write_text(SEPARATE)
    program = f"""
import numba
numba.__version__ = "{version}"
from superovoid.compiled import jit
from superovoid._separate import outer
assert jit.FORMS is None and type(outer).__module__.startswith("numba.")
one, two = jit.kernel(cache=False)(lambda x: x + 1.0), jit.kernel(cache=False)(lambda x: x[0])
chosen = jit.choice(lambda x: two if hasattr(x, "__len__") else one)
called = jit.kernel(cache=False)(lambda x: chosen(x))
print(outer(3.0), called(1.0), called((5.0, 6.0)))
"""
    first = run(copy, tmp_path / "cache", program)
    assert first.stdout == "10.0 2.0 5.0\n"
    kept = list((tmp_path / "cache").glob("kernels-*/numba/**/*.nb?"))
    assert kept
    for file in kept:
        _half(file)
    again = run(copy, tmp_path / "cache", program)
    assert again.stdout == "10.0 2.0 5.0\n"
    assert again.stderr.count("cannot be used and are compiled again") == 1


@pytest.mark.slow
def test_without_compilation_simple_pairs_are_answered():
    program = """
import numpy as np
from superovoid import Sphere, Superovoid, distance
from superovoid.shapes import Box
apart = np.eye(4)
apart[0, 3] = 3.0
egg = Superovoid((1.0, 1.0, 1.5), section_exponent=0.9, profile_exponent=0.8, taper=(0.1, 0.1))
box = Box((2.0, 2.0, 2.0))
for a, b in ((Sphere(1.0), Sphere(0.5)), (egg, egg), (egg, box)):
    result = distance(a, np.eye(4), b, apart)
    print(result.lower, result.upper, result.status.certified)
"""
    plain, compiled = (
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), **more},
            capture_output=True,
            text=True,
        )
        for more in ({"NUMBA_DISABLE_JIT": "1"}, {})
    )
    assert plain.stderr == ""
    for line, other in zip(plain.stdout.splitlines(), compiled.stdout.splitlines(), strict=True):
        lower, upper, certified = line.split()
        assert certified == "True"
        assert max(float(lower), float(other.split()[0])) <= min(float(upper), float(other.split()[1]))
    assert len(plain.stdout.splitlines()) == 3


def test_what_a_kernel_calls_is_known_before_it_is_compiled():
    @kernel(cache=False)
    def alone(x):
        return x + 1.0

    assert called_by(alone) == [alone]
    assert not is_compiled(alone)
    alone(1.0)
    assert is_compiled(alone)


OTHER = {
    "__init__.py": "",
    "factors.py": "FACTOR = 2.0\n",
    "scaling.py": (
        "from superovoid.compiled.jit import kernel\nfrom other.factors import FACTOR\n\n\n"
        "@kernel\ndef scaled(x):\n    return FACTOR * x\n"
    ),
}


def test_kernels_of_another_package_are_kept_until_one_of_its_sources_changes(tmp_path):
    root, program = tmp_path / "root", "from other.scaling import scaled\nprint(scaled(3.0))\n"
    (root / "other").mkdir(parents=True)
    for name, text in OTHER.items():
        (root / "other" / name).write_text(text)
    first, second = (run(root, tmp_path / "cache", program) for _ in range(2))
    assert (first.stdout, second.stdout) == ("6.0\n", "6.0\n")
    before = cached(tmp_path / "cache", "called")
    assert before == {"scaled"} and len(files(tmp_path / "cache")) == 1
    (root / "other" / "factors.py").write_text("FACTOR = 5.0\n")
    assert run(root, tmp_path / "cache", program).stdout == "15.0\n"
    assert len(files(tmp_path / "cache")) == 2
