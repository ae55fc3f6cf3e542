# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Build the shared library: entry points compiled ahead of time, for use without Python and numba.

numba translates the kernels of an entry point to LLVM IR in this process, and worker processes compile it to machine
code. Each entry point and each separate kernel becomes an object file that defines one symbol. The name of an object
file contains the digest of its kernels, so that the next build compiles changed kernels only. `cc` links the files.
"""

from __future__ import annotations

import argparse
import ast
import fcntl
import gc
import importlib
import json
import multiprocessing.connection
import os
import pickle
import platform
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import types
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock

from superovoid.compiled.library import (
    LEVELS,
    LIBRARY,
    NATIVE,
    PACKAGE,
    SOURCES,
    hints_of,
    library_of,
    stamps_of,
    symbol_of,
)
from superovoid.compiled.threads import processors
from superovoid.compiler.c_functions import c_function, type_of
from superovoid.compiler.digests import COMPILER, digest_of
from superovoid.compiler.front_end import IS_TRIED, TRIED, Code, FrontEnd
from superovoid.compiler.jit import python_of
from superovoid.compiler.object_files import write, write_object

OBJECTS = (PACKAGE.parent / "build" if (PACKAGE.parent / "setup.py").is_file() else NATIVE) / "kernels"
"""Default folder of the object files."""
RUNTIME = Path(__file__).with_name("runtime.c")
C_FUNCTIONS, EXPORTS = RUNTIME.with_name("superovoid.c"), RUNTIME.with_name("exports.map")
HEADER = PACKAGE / "native" / "include" / "superovoid.h"
LOCK = "lock"
"""Name of a file in the folder of object files. A build holds a lock on it while it writes there."""
_HAS_KERNELS = re.compile(rb"^@entry_point\b", re.MULTILINE)
_UNFINISHED = b'{"compiler/a build that did not end": [0, 0, ""]}'
_LEVELS = {name: level for level, name in sorted(LEVELS.items())}


def level_here() -> str:
    """Return the highest microarchitecture level that this processor supports."""
    if platform.machine() != "x86_64":
        return "generic"
    has = llvm.get_host_cpu_features()
    for level, needed in (
        ("x86-64-v4", ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")),
        ("x86-64-v3", ("avx2", "bmi", "bmi2", "fma")),
        ("x86-64-v2", ("sse4.2", "popcnt")),
    ):
        if all(has.get(each) for each in needed):
            return level
    raise RuntimeError("this processor has no SSE4.2: kernels need x86-64-v2")


def _end_with_parent() -> None:
    """End this worker process when the build process ends or is killed."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])  # type: ignore[union-attr]
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Builder:
    """Compiler of object files.

    Parameters
    ----------
    folder : pathlib.Path
        Folder with one subfolder of object files per level, and one note per symbol with the files that it needs.
    levels : sequence of str
        Microarchitecture levels.
    pool : concurrent.futures.Executor
        Worker processes that generate machine code.
    """

    def __init__(self, folder: Path, levels: Sequence[str], pool: ProcessPoolExecutor) -> None:
        self._folder, self._levels, self._pool = folder, levels, pool
        self._front_end = FrontEnd(self._find_separate, self._add_separate)
        self._names: dict[str, str] = {}  # numba's name of a separate kernel -> its name in the library
        self._needed: dict[str, set[str]] = {}  # name in the library -> stems of required object files
        self._running: list[Future[None]] = []
        self.made = 0
        for level in levels:
            (folder / level).mkdir(parents=True, exist_ok=True)

    def path(self, stem: str, level: str) -> Path:
        """Return the path of an object file."""
        return self._folder / level / f"{stem}.o"

    def _read_note(self, stem: str) -> tuple[set[str], types.Type] | None:
        """Return the stems that an object file needs and its result type, or None if a file is missing."""
        note = self._folder / f"{stem}.note"
        if not note.is_file():
            return None
        needed, result = pickle.loads(note.read_bytes())
        is_complete = all(self.path(each, level).is_file() for each in needed for level in self._levels)
        return (needed, result) if is_complete else None

    def _make(self, code: Code, symbol: str, stem: str, result: types.Type) -> set[str]:
        needed = {stem}.union(*(self._needed[each] for each in code.separate_called()))
        missing = [level for level in self._levels if not self.path(stem, level).is_file()]
        bitcode = code.bitcode() if missing else b""
        for level in missing:
            self.made += 1
            path = self.path(stem, level)
            self._running.append(self._pool.submit(write_object, bitcode, symbol, dict(self._names), level, path))
        write(self._folder / f"{stem}.note", pickle.dumps((needed, result)))
        return needed

    def _add_separate(self, symbol: str, result: CompileResult) -> None:
        self._names[result.fndesc.llvm_func_name] = symbol
        if symbol not in self._needed:
            self._needed[symbol] = self._make(result.library, symbol, symbol, result.signature.return_type)

    def _find_separate(self, kernel: Any, arguments: tuple[types.Type, ...]) -> tuple[str, types.Type | None]:
        digest = digest_of(kernel, arguments)
        symbol = f"{symbol_of(python_of(kernel))}_{digest}"
        found = self._read_note(symbol)
        if found is None:
            return symbol, None
        self._needed[symbol], result = found
        return symbol, result

    def add_entry(self, kernel: Any) -> set[str]:
        """Start to compile an entry point; return the stems of all object files that it needs."""
        symbol = symbol_of(python_of(kernel))
        arguments = tuple(type_of(hint) for hint in hints_of(python_of(kernel))[0].values())
        stem = f"{symbol}-{digest_of(kernel, arguments)}"
        found = self._read_note(stem)
        if found is not None:
            return found[0]
        compiled = self._front_end.compile(kernel, arguments)
        function = c_function(self._front_end.context, symbol, compiled)
        code = self._front_end.link(symbol, function, compiled)
        return self._make(code, symbol, stem, compiled.signature.return_type)

    def finish(self) -> None:
        """Wait until all object files are written."""
        for each in self._running:
            each.result()


def sources() -> set[Path]:
    """Return the modules with kernels, their direct and indirect imports within the package, and the C files."""
    left = [source for source in PACKAGE.rglob("*.py") if _HAS_KERNELS.search(source.read_bytes())]
    found = {*COMPILER, RUNTIME, C_FUNCTIONS, EXPORTS, HEADER}
    while left:
        source = left.pop()
        if source in found:
            continue
        found.add(source)
        for node in ast.walk(ast.parse(source.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == PACKAGE.name:
                for name in (node.module, *(f"{node.module}.{each.name}" for each in node.names)):
                    module = PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".py")
                    left += [module] if module.is_file() else []
    return found


def entry_points() -> list[Any]:
    """Return the entry points of the package."""
    found = []
    for source in sorted(PACKAGE.rglob("*.py")):
        if _HAS_KERNELS.search(source.read_bytes()):
            parts = source.relative_to(PACKAGE).with_suffix("").parts
            module = importlib.import_module(".".join((PACKAGE.name, *parts)))
            found += [
                each
                for each in vars(module).values()
                if hasattr(each, "python_function") and each.__module__ == module.__name__
            ]
    return found


def _link(objects: Iterable[Path], level: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    command = ["cc", "-O2", "-fPIC", "-fvisibility=hidden", "-shared", f"-DLEVEL={_LEVELS.get(level, 1)}"]
    command += [f"-Wl,-soname,{LIBRARY}", "-Wl,--strip-all", "-Wl,-z,defs", "-o", str(unfinished)]
    files = [*sorted(map(str, objects)), str(RUNTIME)]
    if any("_c_interface_" in file for file in files):  # a library with few entry points may have no C interface
        command += [f"-I{HEADER.parent}", f"-Wl,--version-script,{EXPORTS}"]
        files.append(str(C_FUNCTIONS))
    command += [*files, "-lm"]
    try:
        subprocess.run(command, check=True)
    except FileNotFoundError:
        sys.exit("no program 'cc': the kernels are linked by a C compiler (Debian and Ubuntu: apt-get install gcc)")
    except subprocess.CalledProcessError:  # cc has printed the reason
        unfinished.unlink(missing_ok=True)
        sys.exit(f"{path}: 'cc' could not link it (see its messages above)")
    unfinished.replace(path)


class _Progress:
    """Progress reports of a build."""

    def __init__(self) -> None:
        self._started = self._reported = time.monotonic()

    def report(self, done: int, count: int) -> None:
        """Print progress: overwrite the line on a terminal, otherwise print a line every ten seconds."""
        now, is_terminal = time.monotonic(), sys.stderr.isatty()
        if is_terminal or now - self._reported > 10.0:
            self._reported = now
            end = "\r" if is_terminal else "\n"
            words = f"compiling kernels: {done} of {count} entry points, {now - self._started:.0f} s"
            print(words, end=end, file=sys.stderr, flush=True)


def build(
    levels: Sequence[str],
    native: Path = NATIVE,
    objects: Path = OBJECTS,
    among: Callable[[str], bool] = lambda _: True,
) -> None:
    """Compile changed kernels, and link a library for each microarchitecture level.

    Parameters
    ----------
    levels : sequence of str
        Levels such as ``x86-64-v3``, lowest first.
    native : pathlib.Path, optional
        Output folder. ``lib/libsuperovoid.so`` is the library of the lowest level; the others go to
        ``lib/glibc-hwcaps/``, where the system's loader finds them.
    objects : pathlib.Path, optional
        Folder of the object files.
    among : callable, optional
        Returns whether the libraries include an entry point, given its name.
    """
    started, progress = time.monotonic(), _Progress()
    gc.disable()  # saves a sixth of the time: few of numba's objects become garbage before the end
    needed: set[str] = set()
    kernels = [each for each in entry_points() if among(symbol_of(python_of(each)))]
    objects.mkdir(parents=True, exist_ok=True)
    with (
        (objects / LOCK).open("w") as lock,
        global_compiler_lock,
        ProcessPoolExecutor(processors(), multiprocessing.get_context("fork"), _end_with_parent) as pool,
    ):
        fcntl.lockf(lock, fcntl.LOCK_EX)  # worker processes do not inherit this lock
        builder = _Builder(objects, levels, pool)
        for number, kernel in enumerate(kernels, 1):
            needed |= builder.add_entry(kernel)
            progress.report(number, len(kernels))
        builder.finish()
        kept = {builder.path(stem, level) for stem in needed for level in levels}
        kept |= {objects / LOCK, *(objects / f"{stem}.note" for stem in needed)}
        for old in {path for path in objects.rglob("*") if path.is_file()} - kept:
            old.unlink()
        for number, level in enumerate(levels):
            path = library_of(native, level if number else None)
            _link((builder.path(stem, level) for stem in needed), level, path)
            size = path.stat().st_size / 1e6
            seconds = time.monotonic() - started
            print(f"{path}: {level}, {size:.1f} MB, {builder.made} object files made, {seconds:.0f} s")


def main() -> None:
    """Build the library with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m superovoid.compiler", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--level",
        action="append",
        dest="levels",
        choices=[*_LEVELS, "generic"],
        help="microarchitecture level that the processor must support; repeat the option, lowest level first, to build "
        "a library for each; default: the level of this processor",
    )
    parser.add_argument("--native", type=Path, default=NATIVE, help="output folder; the libraries go to its lib/")
    parser.add_argument("--objects", type=Path, default=OBJECTS, help="folder of the object files")
    given = parser.parse_args()
    if not IS_TRIED:
        tried = ", ".join(".".join(map(str, each)) for each in TRIED)
        sys.exit(f"found numba {numba.__version__}: the kernels are compiled by numba {tried}")
    # Before the build reads the sources: if a module is edited during the build, the library is rejected as stale.
    stamps, noted = json.dumps(stamps_of(sources())).encode(), NATIVE / SOURCES
    if given.native == NATIVE and noted.is_file() and noted.read_bytes() != stamps:
        write(noted, _UNFINISHED)
    build(given.levels or [level_here()], given.native, given.objects)
    if given.native == NATIVE:
        write(noted, stamps)


if __name__ == "__main__":
    main()
