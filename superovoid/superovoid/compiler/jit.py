# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compile kernels in a process with numba, which keeps the machine code on disk.

Used for kernels of other packages, which may call kernels of this package, and for SUPEROVOID_KERNELS=jit.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType, ModuleType
from typing import Any

import llvmlite
import numba
from numba.core import config, types
from numba.core.caching import FunctionCache
from numba.core.registry import cpu_target

# No reassociation: the residuals and the certificate rely on the order of operations.
SETTINGS: dict[str, Any] = {
    "fastmath": {"contract", "nsz", "arcp"},
    "error_model": "numpy",
    # Otherwise a kernel would inherit this option from its first caller.
    "forceinline": False,
}


def versions() -> str:
    """Return the versions and settings, apart from the kernels, that numba's machine code depends on."""
    options = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "CPU_NAME", "CPU_FEATURES")
    chosen = [f"{each}={getattr(config, each, None)}" for each in options]
    processor = cpu_target.target_context.codegen().magic_tuple()
    return " ".join([numba.__version__, llvmlite.__version__, str(processor), *chosen])


def names_in(code: CodeType) -> set[str]:
    """Return the global names and attributes that a code object refers to."""
    inner = (names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def python_of(kernel: Any) -> Any:
    """Return the Python function of a kernel, of an entry point, or of numba's dispatcher of one."""
    return getattr(kernel, "python_function", None) or getattr(kernel, "py_func", kernel)


def kernels_in(function: Callable[..., Any]) -> Iterator[Any]:
    """Yield the kernels that the code of a function refers to."""
    names = names_in(function.__code__)
    values = [function.__globals__.get(name) for name in names]
    values += [getattr(value, name, None) for value in values if isinstance(value, ModuleType) for name in names]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    yield from (each for each in values if hasattr(each, "kernel_options"))


def show(kernel: Any, dispatcher_of: Callable[[Any], Any]) -> Any:
    """Register the dispatchers of a kernel and of the kernels it calls with numba; return that of the kernel."""
    dispatcher = kernel.dispatcher = dispatcher_of(kernel)  # numba's type holds only a weak reference to it
    kernel._numba_type_ = types.Dispatcher(dispatcher)
    let_numba_see(python_of(kernel), dispatcher_of)
    return dispatcher


def let_numba_see(function: Callable[..., Any], dispatcher_of: Callable[[Any], Any]) -> None:
    """Register the dispatchers of the kernels that a function calls directly or indirectly with numba.

    Parameters
    ----------
    function : callable
        A Python function.
    dispatcher_of : callable
        Takes a kernel; returns the numba dispatcher that compiles it.
    """
    for each in kernels_in(function):
        if hasattr(each, "_numba_type_"):
            continue
        written = each.kernel_options.get("llvm")
        if written is None:
            show(each, dispatcher_of)
        else:
            module, _, name = written.partition(":")
            intrinsic = getattr(importlib.import_module(module), name)
            cpu_target.typing_context.refresh()  # the import has just defined the intrinsic
            each._numba_type_ = cpu_target.typing_context.resolve_value_type(intrinsic)


class _OnDisk(FunctionCache):
    """Machine code of a kernel on disk, which is compiled again if the kernel, or anything that it uses, changes.

    numba compares only the file that has the kernel.
    """

    def __init__(self, kernel: Any) -> None:
        super().__init__(python_of(kernel))
        self._kernel = kernel

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        from superovoid.compiler.digests import digest_of  # late: it imports this module

        self._cache_file._source_stamp = digest_of(self._kernel, ())
        return super()._index_key(signature, codegen)


def _dispatcher_of(kernel: Any, **settings: Any) -> Any:
    options = {name: value for name, value in kernel.kernel_options.items() if name not in ("separate", "_nrt")}
    return numba.njit(python_of(kernel), **{**SETTINGS, **settings, **options})


def _dispatcher_of_called(kernel: Any) -> Any:
    # Functions by which Python and C call it would take a third of the time.
    return _dispatcher_of(kernel, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function, and the kernels of this package that it calls, with numba on the first call.

    Later processes load the machine code, if numba finds a folder to write to (NUMBA_CACHE_DIR, `__pycache__` next to
    the module, or one of the user).

    Parameters
    ----------
    function : callable
        A Python function, or a kernel of this package.
    **options
        Options of numba; ignored for a kernel of this package, which has its own.

    Returns
    -------
    callable
        numba's dispatcher, which Python and other kernels may call.
    """
    if function is None:
        return lambda each: kernel(each, **options)
    if not hasattr(function, "kernel_options"):
        function.kernel_options = options  # type: ignore[attr-defined]
    let_numba_see(python_of(function), _dispatcher_of_called)
    dispatcher = show(function, _dispatcher_of)
    with suppress(RuntimeError):  # no such folder
        dispatcher._cache = _OnDisk(function)
    return dispatcher
