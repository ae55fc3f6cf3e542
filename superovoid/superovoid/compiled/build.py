# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compile the kernels ahead of time, into a shared library that needs neither Python nor numba.

    python -m superovoid.compiled.build

numba translates the kernels of an entry point to LLVM's code in this process, and other processes make machine code of
it. Each entry point and each separate kernel becomes an object file that defines one symbol. An object file is kept
for the next build, under a name with the digest of its kernels, and the system's `cc` links them.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.registry import cpu_target
from numba.np import numpy_support
from numba.np.arrayobj import populate_array

from superovoid.compiled import call_types, forms, kernel_cache
from superovoid.compiled.kernels import MODE
from superovoid.compiled.library import FOLDER, NAME, SOURCES, array_of, fields_of, hints_of, symbol_of
from superovoid.compiled.threads import processors

PACKAGE = Path(__file__).parents[1]
_C = PACKAGE / "compiler"
"""The functions of superovoid.h, and which names the library exports."""
_HAS_KERNELS = re.compile(rb"^@(kernel|entry_point|choice)\b", re.MULTILINE)
_WORD, _STATUS = ir.IntType(64), ir.IntType(32)

# What numba's code calls for memory, and names that it has for errors of Python, which no kernel raises.
_RUNTIME = """
#include <stddef.h>
#include <stdlib.h>
typedef struct {
    size_t count; void (*end)(void *, size_t, void *); void *info; void *data; size_t size; void *more;
} Block;
void *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    size_t head;
    Block *block;
    if (align < 16) align = 16;
    head = (sizeof(Block) + align - 1) / align * align;
    block = aligned_alloc(align, (head + size + align - 1) / align * align);
    if (!block) return 0;
    *block = (Block){1, 0, 0, (char *)block + head, size, 0};
    return block;
}
void NRT_MemInfo_call_dtor(void *block) { free(block); }
void NRT_Free(void *memory) { free(memory); }
int numba_attempt_nocopy_reshape(
    ptrdiff_t nd, const ptrdiff_t *shape, const ptrdiff_t *strides,
    ptrdiff_t new_nd, const ptrdiff_t *new_shape, ptrdiff_t *new_strides, ptrdiff_t item, int is_fortran) {
    ptrdiff_t i, step = item;
    for (i = nd - 1; i >= 0; step *= shape[i--])
        if (is_fortran || (shape[i] != 1 && strides[i] != step)) return 0;
    for (i = new_nd - 1, step = item; i >= 0; step *= new_shape[i--]) new_strides[i] = step;
    return 1;
}
#define NEVER(name) void name(void) { abort(); }
NEVER(PyBytes_FromStringAndSize) NEVER(PyErr_Clear) NEVER(PyErr_Format) NEVER(PyErr_Occurred) NEVER(PyErr_SetNone)
NEVER(PyErr_SetString) NEVER(Py_DecRef) NEVER(numba_do_raise) NEVER(numba_runtime_build_excinfo_struct)
NEVER(numba_unpickle)
void *PyExc_RuntimeError, *PyExc_StopIteration, *PyExc_SystemError;
"""


# --- types ---


def type_of(hint: Any) -> types.Type:
    """Return numba's type of a type hint."""
    fields, array = fields_of(hint), array_of(hint)
    if fields is not None:
        return types.BaseTuple.from_types(tuple(map(type_of, fields)), hint if hasattr(hint, "_fields") else tuple)
    if array is not None:
        return types.Array(numpy_support.from_dtype(array[0]), array[1], "C")
    return {float: types.float64, int: types.int64, bool: types.boolean}[hint]


# --- of what an object file is made ---


def _code_parts(code: CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield repr((code.co_varnames, code.co_names, code.co_freevars)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant)
        else:
            yield repr(constant).encode()


def _all_names(code: CodeType) -> set[str]:
    inner = (_all_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def _value_parts(name: str, value: Any, names: set[str], left: list[Any]) -> Iterator[bytes]:
    """Describe a value that a kernel refers to; kernels are added to those that are left to be described."""
    if hasattr(value, "py_func"):
        left.append(value)
    elif isinstance(value, ModuleType):
        for each in sorted(names):
            if hasattr(value, each):
                yield from _value_parts(f"{name}.{each}", getattr(value, each), set(), left)
    elif isinstance(value, np.ndarray):
        yield f"{name} {value.dtype} {value.shape}".encode() + value.tobytes()
    elif hasattr(value, "_choose"):
        yield from _function_parts(value._choose, left)
    elif isinstance(value, type):
        yield f"{name} {value.__qualname__} {getattr(value, '_fields', '')}".encode()
    elif callable(value):
        source = getattr(sys.modules.get(getattr(value, "__module__", "")), "__file__", None)
        yield name.encode()
        if source and Path(source).is_relative_to(PACKAGE):
            yield Path(source).read_bytes()
    else:
        yield f"{name} {value!r}".encode()


def _function_parts(function: Any, left: list[Any]) -> Iterator[bytes]:
    yield f"{function.__module__}.{function.__qualname__} {function.__annotations__}".encode()
    yield from _code_parts(function.__code__)
    names = _all_names(function.__code__)
    for name in sorted(names & function.__globals__.keys()):
        yield from _value_parts(name, function.__globals__[name], names, left)
    for name in sorted(names - function.__globals__.keys()):  # what a function imports when it is called
        module = sys.modules.get(f"{function.__module__.rpartition('.')[0]}.{name}")
        if module is not None:
            yield from _value_parts(name, module, names, left)
    for cell in function.__closure__ or ():
        yield from _value_parts("", cell.cell_contents, set(), left)


def digest_of(kernel: Any) -> str:
    """Return a digest of a kernel and all that it calls, constants and versions of the compiler included."""
    found = hashlib.sha256(repr((numba.__version__, llvmlite.__version__, sys.version_info[:2])).encode())
    found.update(repr(cpu_target.target_context.codegen().magic_tuple()).encode())
    for module in (__file__, forms.__file__, call_types.__file__):
        found.update(Path(module).read_bytes())
    left, seen = [kernel], set()
    while left:
        each = left.pop()
        if id(each) not in seen:
            seen.add(id(each))
            found.update(" ".join(f"{name}={value}" for name, value in sorted(each.targetoptions.items())).encode())
            for part in _function_parts(each.py_func, left):
                found.update(part)
    return found.hexdigest()[:20]


# --- the C function of an entry point ---


class _Arguments:
    """Arguments of an entry point, taken from those of a C function."""

    def __init__(self, context: CPUContext, builder: ir.IRBuilder) -> None:
        self._context, self._builder = context, builder

    def number(self, kind: types.Type, word: ir.Value) -> ir.Value:
        """Return a number that stands in a word, or was handed over by value."""
        if kind is types.boolean:
            return self._builder.icmp_signed("!=", word, _WORD(0))
        if kind is types.float64 and word.type == _WORD:
            return self._builder.bitcast(word, ir.DoubleType())
        return word

    def array(self, kind: types.Array, words: Iterator[ir.Value]) -> ir.Value:
        """Return an array, of its address and its shape."""
        context, builder = self._context, self._builder
        number = context.get_data_type(kind.dtype)
        data = builder.inttoptr(next(words), number.as_pointer())
        shape = [next(words) for _ in range(kind.ndim)]
        item = _WORD(context.get_abi_sizeof(number))
        strides, step = [], item
        for size in reversed(shape):
            strides.insert(0, step)
            step = builder.mul(step, size)
        made = context.make_array(kind)(context, builder)
        populate_array(made, data, shape, strides, item, None)
        return made._getvalue()

    def value(self, kind: types.Type, words: Iterator[ir.Value]) -> ir.Value:
        """Return an argument, or a field of one."""
        if isinstance(kind, types.BaseTuple):
            return self._context.make_tuple(self._builder, kind, [self.value(each, words) for each in kind.types])
        return self.array(kind, words) if isinstance(kind, types.Array) else self.number(kind, next(words))

    def words_at(self, pointer: ir.Value) -> Iterator[ir.Value]:
        """Load one word after another."""
        place = 0
        while True:
            yield self._builder.load(self._builder.gep(pointer, [_WORD(place)]))
            place += 1

    def words_of(self, kind: types.Type, value: ir.Value) -> list[ir.Value]:
        """Return the words of a result."""
        if isinstance(kind, types.BaseTuple):
            parts = [self._builder.extract_value(value, place) for place in range(len(kind.types))]
            return [word for each, part in zip(kind.types, parts, strict=True) for word in self.words_of(each, part)]
        if kind is types.float64:
            return [self._builder.bitcast(value, _WORD)]
        return [value if value.type == _WORD else self._builder.zext(value, _WORD)]


def _entry_module(context: CPUContext, name: str, compiled: Any) -> ir.Module:
    """Return a C function that calls a compiled kernel, with the arguments that `library` hands over."""
    module = context.codegen().create_library(name).create_ir_module(name)
    kinds, result = compiled.signature.args, compiled.signature.return_type
    parameters: list[Any] = []
    for kind in kinds:
        if isinstance(kind, types.BaseTuple):
            parameters.append(_WORD.as_pointer())
        elif isinstance(kind, types.Array):
            parameters += [_WORD] * (1 + kind.ndim)
        else:
            parameters.append(ir.DoubleType() if kind is types.float64 else _WORD)
    if result is not types.none:
        parameters.append(_WORD.as_pointer())
    function = ir.Function(module, ir.FunctionType(_STATUS, parameters), name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    make = _Arguments(context, builder)
    given = iter(function.args)
    arguments = [
        make.value(kind, make.words_at(next(given)) if isinstance(kind, types.BaseTuple) else given) for kind in kinds
    ]
    kernel_type = context.call_conv.get_function_type(result, kinds)
    kernel = cgutils.get_or_insert_function(module, kernel_type, compiled.fndesc.llvm_func_name)
    status, value = context.call_conv.call_function(builder, kernel, result, kinds, arguments)
    if result is not types.none:
        out = next(given)
        for place, word in enumerate(make.words_of(result, value)):
            builder.store(word, builder.gep(out, [_WORD(place)]))
    builder.ret(builder.zext(status.is_error, _STATUS))
    return module


# --- machine code ---


class _Unit(forms._LoadedLibrary):
    """LLVM's code of one object file, with all that it calls. It is not optimised yet."""

    @property
    def codegen(self) -> Any:
        """Return the code generator."""
        return forms._WithoutEnvironment(self._codegen)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


def _machine_code(bitcode: bytes, symbol: str, names: dict[str, str], path: Path) -> None:
    """Optimise LLVM's code and write it as an object file that defines one symbol."""
    codegen = cpu_target.target_context.codegen()
    unit = _Unit(codegen, symbol)
    unit._final_module = module = llvm.parse_bitcode(bitcode)
    CPUCodeLibrary._optimize_final_module(unit)
    module.verify()
    for values in (module.functions, module.global_variables):
        for value in values:
            value.name = names.get(value.name, value.name)
            if not value.is_declaration and value.name != symbol:
                value.linkage = "internal"
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(
        cpu=codegen._get_host_cpu_name(), features=codegen._tm_features, opt=3, reloc="pic", codemodel="default"
    )
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(machine.emit_object(module))
    unfinished.replace(path)


class _Separate(forms.SeparateKernel):
    """A separate kernel, whose machine code is made as soon as numba is done with it."""

    builder: _Builder

    def __init__(self, function: Any, options: dict[str, Any], *, kept: bool) -> None:
        super().__init__(function, {**options, "no_cpython_wrapper": True}, kept=False)

    def add_overload(self, result: Any) -> None:
        """Keep what was compiled, and make its machine code."""
        super().add_overload(result)
        self.builder.add_separate(self, result)


class _Builder:
    """Makes object files; what each entry point needs is noted."""

    def __init__(self, folder: Path, pool: ProcessPoolExecutor) -> None:
        self._folder, self._pool = folder, pool
        self._names: dict[str, str] = {}  # numba's name of a separate kernel -> its name in the library
        self._files: dict[str, Path] = {}  # name in the library -> object file
        self._running: list[Future[None]] = []
        self.made = 0

    def _make(self, library: Any, symbol: str, path: Path) -> None:
        if not path.is_file():
            self.made += 1
            bitcode = library._final_module.as_bitcode()
            self._running.append(self._pool.submit(_machine_code, bitcode, symbol, dict(self._names), path))

    def add_separate(self, kernel: Any, result: Any) -> None:
        """Make the machine code of a separate kernel."""
        kinds = hashlib.sha256(str(result.signature.args).encode()).hexdigest()[:8]
        symbol = f"{symbol_of(kernel.py_func)}_{kinds}"
        self._names[result.fndesc.llvm_func_name] = symbol
        self._files[symbol] = self._folder / f"{symbol}-{digest_of(kernel)}.o"
        self._make(result.library, symbol, self._files[symbol])

    def add_entry(self, kernel: Any) -> list[Path]:
        """Make the machine code of an entry point; return the object files that it needs."""
        symbol = symbol_of(kernel.py_func)
        arguments = tuple(type_of(hint) for hint in hints_of(kernel.py_func)[0].values())
        kinds = hashlib.sha256(str(arguments).encode()).hexdigest()[:8]  # they have the fields of tuples
        path = self._folder / f"{symbol}-{kinds}-{digest_of(kernel)}.o"
        noted = path.with_suffix(".json")
        if noted.is_file():
            needed = [self._folder / name for name in json.loads(noted.read_text())]
            if all(each.is_file() for each in needed):
                return needed
        kernel.linked.compile(arguments)
        compiled = kernel.linked.overloads[arguments]
        context = kernel.linked.targetctx
        unit = _Unit(context.codegen(), symbol)
        unit.add_ir_module(_entry_module(context, symbol, compiled))
        unit.add_linking_library(compiled.library)
        unit.finalize()
        self._make(unit, symbol, path)
        needed = [path, *self._called(unit, set())]
        noted.write_text(json.dumps([each.name for each in needed]))
        return needed

    def _called(self, library: Any, seen: set[str]) -> list[Path]:
        """Return the object files of the separate kernels that some code calls."""
        found = []
        for function in library._final_module.functions:
            symbol = self._names.get(function.name)
            if function.is_declaration and symbol and symbol not in seen:
                seen.add(symbol)
                module, name, kinds, _ = forms._separate[function.name]
                separate = getattr(importlib.import_module(module), name)
                found += [self._files[symbol], *self._called(separate.overloads[kinds].library, seen)]
        return found

    def finish(self) -> None:
        """Wait until all object files are there."""
        for each in self._running:
            each.result()


def entry_points() -> list[Any]:
    """Return the entry points of the package."""
    found = []
    for source in sorted(PACKAGE.rglob("*.py")):
        if not _HAS_KERNELS.search(source.read_bytes()):
            continue
        module = importlib.import_module(".".join((PACKAGE.name, *source.relative_to(PACKAGE).with_suffix("").parts)))
        found += [
            each
            for each in vars(module).values()
            if getattr(each, "is_entry_point", False) and each.py_func.__module__ == module.__name__
        ]
    return found


def _link(objects: Iterable[Path], folder: Path) -> Path:
    runtime = folder / "runtime.c"
    runtime.write_text(_RUNTIME)
    path = folder / NAME
    unfinished = path.with_suffix(f".{os.getpid()}")
    command = ["cc", "-O2", "-fPIC", "-shared", "-Wl,--strip-all", f"-Wl,-soname,{NAME}", "-o", str(unfinished)]
    names = sorted(map(str, objects))
    if any("_c_interface_" in name for name in names):
        command += [f"-I{PACKAGE / 'native' / 'include'}", f"-Wl,-z,defs,--version-script,{_C / 'exports.map'}"]
        names.append(str(_C / "superovoid.c"))
    subprocess.run([*command, *names, str(runtime), "-lm"], check=True)
    unfinished.replace(path)
    return path


def build(folder: Path = FOLDER, among: Callable[[str], bool] = lambda _: True) -> Path:
    """Compile what has changed, link all, and return the path of the library.

    Parameters
    ----------
    folder : pathlib.Path, optional
        Where the library and its object files are.
    among : callable, optional
        Of the name of an entry point, whether the library is to have it.

    Raises
    ------
    RuntimeError
        If kernels are not compiled in this process.
    """
    if MODE != "jit":
        raise RuntimeError(f"SUPEROVOID_KERNELS is {MODE!r}: a build needs 'jit'")
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    forms.SeparateKernel = _Separate  # type: ignore[misc]
    forms._Loaded.library = _Unit
    forms._Dispatcher._save = lambda *_: None  # type: ignore[method-assign]
    forms._Dispatcher._load = lambda *_: None  # type: ignore[method-assign]
    kernels = [each for each in entry_points() if among(symbol_of(each.py_func))]
    objects: set[Path] = set()
    with (
        global_compiler_lock,
        ProcessPoolExecutor(processors(), multiprocessing.get_context("fork")) as pool,
    ):
        builder = _Separate.builder = _Builder(folder, pool)
        for number, kernel in enumerate(kernels, 1):
            objects.update(builder.add_entry(kernel))
            if sys.stderr.isatty():
                print(f"\r{number} of {len(kernels)} entry points", end="", file=sys.stderr, flush=True)
        builder.finish()
    for old in (
        {*folder.glob("*.o"), *folder.glob("*.json")} - objects - {each.with_suffix(".json") for each in objects}
    ):
        old.unlink()
    path = _link(objects, folder)
    (folder / SOURCES).write_text(kernel_cache.digest())
    size, seconds = path.stat().st_size / 1e6, time.monotonic() - started
    print(
        f"{path}: {size:.1f} MB, {builder.made} of {len(objects)} object files made, {seconds:.0f} s", file=sys.stderr
    )
    return path


if __name__ == "__main__":
    build()
