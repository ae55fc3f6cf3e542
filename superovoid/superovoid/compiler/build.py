# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The shared library: entry points compiled ahead of time, for use without Python and numba.

numba translates the kernels of an entry point to LLVM's code in this process, and other processes make machine code of
it. Each entry point and each separate kernel becomes an object file that defines one symbol. Object files are kept
under names with the digest of their kernels, so that the next build makes only what has changed. `cc` links them.
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
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

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

OBJECTS = (PACKAGE.parent / "build" if (PACKAGE.parent / "setup.py").is_file() else NATIVE) / "kernels"
"""Where object files are kept, unless another folder is given."""
RUNTIME = Path(__file__).with_name("runtime.c")
C_FUNCTIONS, EXPORTS = RUNTIME.with_name("superovoid.c"), RUNTIME.with_name("exports.map")
HEADER = PACKAGE / "native" / "include" / "superovoid.h"
LOCK = "lock"
"""A file in the folder of object files. A build holds a lock on it while it writes there."""
_HAS_KERNELS = re.compile(rb"^@entry_point\b", re.MULTILINE)
_UNFINISHED = b'{"compiler/a build that did not end": [0, 0, ""]}'
_LEVELS = {name: level for level, name in sorted(LEVELS.items())}


def level_here() -> str:
    """Return the highest level of instructions that this processor has."""
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


def _machine_code(bitcode: bytes, symbol: str, names: dict[str, str], level: str, path: Path) -> None:
    """Optimise LLVM's code and write it as an object file that defines one symbol."""
    target = llvm.Target.from_triple(llvm.get_process_triple())
    codegen = cpu_target.target_context.codegen()
    codegen._tm = machine = target.create_target_machine(cpu=level, opt=3, reloc="pic", codemodel="default")
    unit = JITCodeLibrary(codegen, symbol)
    unit._final_module = module = llvm.parse_bitcode(bitcode)
    for function in module.functions:
        function.name = names.get(function.name, function.name)
    made = module.get_function(symbol)
    made.linkage = "external"
    if symbol in names.values():
        made.visibility = "hidden"  # only code of this library calls a separate kernel
    unit._optimize_final_module()
    module.verify()
    for values in (module.functions, module.global_variables):
        for value in values:
            if not value.is_declaration and value.name != symbol:
                value.linkage = "internal"
    _write(path, machine.emit_object(module))


def _write(path: Path, content: bytes) -> None:
    """Write a file; other processes see all of it or nothing."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _end_with_parent() -> None:
    """End this process when the build ends, even if it is killed."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])  # type: ignore[union-attr]
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Builder:
    """Makes object files.

    Parameters
    ----------
    folder : pathlib.Path
        It has a folder of object files a level, and a list of the files that each entry point needs.
    levels : sequence of str
        The levels.
    pool : concurrent.futures.Executor
        Processes that make machine code.
    """

    def __init__(self, folder: Path, levels: Sequence[str], pool: ProcessPoolExecutor) -> None:
        self._folder, self._levels, self._pool = folder, levels, pool
        self._front_end = FrontEnd(self._find_separate, self._add_separate)
        self._names: dict[str, str] = {}  # numba's name of a separate kernel -> its name in the library
        self._needed: dict[str, set[str]] = {}  # name in the library -> stems of the object files that it needs
        self._running: list[Future[None]] = []
        self.made = 0
        for level in levels:
            (folder / level).mkdir(parents=True, exist_ok=True)

    def path(self, stem: str, level: str) -> Path:
        """Return where an object file is."""
        return self._folder / level / f"{stem}.o"

    def _noted(self, stem: str) -> tuple[set[str], types.Type] | None:
        """Return the stems that an object file needs and the type of its result, if all these files are there."""
        noted = self._folder / f"{stem}.note"
        if not noted.is_file():
            return None
        needed, result = pickle.loads(noted.read_bytes())
        is_complete = all(self.path(each, level).is_file() for each in needed for level in self._levels)
        return (needed, result) if is_complete else None

    def _make(self, code: Code, symbol: str, stem: str, result: types.Type) -> set[str]:
        needed = {stem}.union(*(self._needed[each] for each in code.separate_called()))
        missing = [level for level in self._levels if not self.path(stem, level).is_file()]
        bitcode = code.bitcode() if missing else b""
        for level in missing:
            self.made += 1
            path = self.path(stem, level)
            self._running.append(self._pool.submit(_machine_code, bitcode, symbol, dict(self._names), level, path))
        _write(self._folder / f"{stem}.note", pickle.dumps((needed, result)))
        return needed

    def _add_separate(self, symbol: str, result: CompileResult) -> None:
        self._names[result.fndesc.llvm_func_name] = symbol
        if symbol not in self._needed:
            self._needed[symbol] = self._make(result.library, symbol, symbol, result.signature.return_type)

    def _find_separate(self, kernel: Any, arguments: tuple[types.Type, ...]) -> tuple[str, types.Type | None]:
        digest = digest_of(kernel, arguments)
        symbol = f"{symbol_of(python_of(kernel))}_{digest}"
        found = self._noted(symbol)
        if found is None:
            return symbol, None
        self._needed[symbol], result = found
        return symbol, result

    def add_entry(self, kernel: Any) -> set[str]:
        """Make the object files of an entry point, and return the stems of all that it needs."""
        symbol = symbol_of(python_of(kernel))
        arguments = tuple(type_of(hint) for hint in hints_of(python_of(kernel))[0].values())
        stem = f"{symbol}-{digest_of(kernel, arguments)}"
        found = self._noted(stem)
        if found is not None:
            return found[0]
        compiled = self._front_end.compile(kernel, arguments)
        function = c_function(self._front_end.context, symbol, compiled)
        code = self._front_end.link(symbol, function, compiled)
        return self._make(code, symbol, stem, compiled.signature.return_type)

    def finish(self) -> None:
        """Wait until all object files are there."""
        for each in self._running:
            each.result()


def sources() -> set[Path]:
    """Return the modules with kernels, what these import of the package, at any depth, and the files of C."""
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
    if any("_c_interface_" in file for file in files):  # a library of some entry points has no functions for C
        command += [f"-I{HEADER.parent}", f"-Wl,--version-script,{EXPORTS}"]
        files.append(str(C_FUNCTIONS))
    command += [*files, "-lm"]
    try:
        subprocess.run(command, check=True)
    except FileNotFoundError:
        sys.exit("no program 'cc': the kernels are linked by a C compiler (Debian and Ubuntu: apt-get install gcc)")
    except subprocess.CalledProcessError:  # which has said why
        unfinished.unlink(missing_ok=True)
        sys.exit(f"{path}: 'cc' has not linked it")
    unfinished.replace(path)


class _Progress:
    """Says how far a build is."""

    def __init__(self) -> None:
        self._started = self._told = time.monotonic()

    def tell(self, done: int, count: int) -> None:
        """Write a line: over the last one in a terminal, every ten seconds elsewhere."""
        now, is_terminal = time.monotonic(), sys.stderr.isatty()
        if is_terminal or now - self._told > 10.0:
            self._told = now
            end = "\r" if is_terminal else "\n"
            words = f"compiling kernels: {done} of {count} entry points, {now - self._started:.0f} s"
            print(words, end=end, file=sys.stderr, flush=True)


def build(
    levels: Sequence[str],
    native: Path = NATIVE,
    objects: Path = OBJECTS,
    among: Callable[[str], bool] = lambda _: True,
) -> None:
    """Compile what has changed, and link a library for each level of instructions.

    Parameters
    ----------
    levels : sequence of str
        As in ``x86-64-v3``, lowest first.
    native : pathlib.Path, optional
        The folder for ``lib/libsuperovoid.so``, which has the lowest level; others are where the system's loader finds
        them, in ``lib/glibc-hwcaps/``.
    objects : pathlib.Path, optional
        Where object files are kept.
    among : callable, optional
        From the name of an entry point to whether the libraries include it.
    """
    started, progress = time.monotonic(), _Progress()
    gc.disable()  # a sixth of the time: what numba makes hardly ever becomes garbage before the end
    needed: set[str] = set()
    kernels = [each for each in entry_points() if among(symbol_of(python_of(each)))]
    objects.mkdir(parents=True, exist_ok=True)
    with (
        (objects / LOCK).open("w") as lock,
        global_compiler_lock,
        ProcessPoolExecutor(processors(), multiprocessing.get_context("fork"), _end_with_parent) as pool,
    ):
        fcntl.lockf(lock, fcntl.LOCK_EX)  # which helpers do not inherit
        builder = _Builder(objects, levels, pool)
        for number, kernel in enumerate(kernels, 1):
            needed |= builder.add_entry(kernel)
            progress.tell(number, len(kernels))
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
    """Build as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m superovoid.compiler", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--level",
        action="append",
        dest="levels",
        choices=[*_LEVELS, "generic"],
        help="instructions that the processor must have; several, the lowest first, for a library each; default: "
        "those of this processor",
    )
    parser.add_argument("--native", type=Path, default=NATIVE, help="where the libraries go, in lib/")
    parser.add_argument("--objects", type=Path, default=OBJECTS, help="where object files are kept")
    given = parser.parse_args()
    if not IS_TRIED:
        tried = ", ".join(".".join(map(str, each)) for each in TRIED)
        sys.exit(f"numba {numba.__version__}: kernels are compiled by numba {tried}")
    # Before the build reads them: if a module is edited during the build, the library is refused.
    stamps, noted = json.dumps(stamps_of(sources())).encode(), NATIVE / SOURCES
    if given.native == NATIVE and noted.is_file() and noted.read_bytes() != stamps:
        _write(noted, _UNFINISHED)
    build(given.levels or [level_here()], given.native, given.objects)
    if given.native == NATIVE:
        _write(noted, stamps)


if __name__ == "__main__":
    main()
