# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kernels: Python functions of numbers and arrays, compiled to machine code.

The environment variable SUPEROVOID_KERNELS chooses what a call of an *entry point*, a kernel for Python and C, runs:

===========  ===========================================================================================
``library``  machine code of the shared library (`library`), made when the package was built (`build`);
             the default
``jit``      numba compiles it and all that it calls, in each process, when it is first called (`jit`)
``python``   the function itself: for debuggers, and to measure coverage
===========  ===========================================================================================

The type hints of an entry point declare its arguments. Every other kernel is called by kernels; called by Python, it is
the Python function that it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, TypeVar

MODES = ("library", "jit", "python")


def _mode() -> str:
    chosen = os.environ.get("SUPEROVOID_KERNELS") or MODES[0]
    if chosen not in MODES:
        raise ImportError(f"SUPEROVOID_KERNELS = {chosen!r}: expected one of {', '.join(MODES)}")
    return chosen


MODE = _mode()
"""One of `MODES`."""

Bundle = TypeVar("Bundle", bound=type)


def bundle(fields: Bundle) -> Bundle:
    """Let a NamedTuple of arrays keep the addresses of these, so that they are looked up once."""
    # Copies and pickles have other arrays: they take no addresses along.
    names = {"__doc__": fields.__doc__, "__module__": fields.__module__, "__getstate__": lambda _: None}
    names["_words"] = cached_property(_words_of)
    named = type(fields.__name__, (fields,), names)
    named.__qualname__ = fields.__qualname__
    return named  # type: ignore[return-value]


def _words_of(bundle: tuple[Any, ...]) -> bytes:
    from superovoid.compiled import library

    return library.words_of(bundle)


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Declare a kernel that kernels call.

    Parameters
    ----------
    function : callable
        The Python function.
    **options
        How the compiler treats it. ``forceinline=True``: as `inline`. ``separate=True``: compile it once,
        and let callers refer to it by name (for a large kernel with several callers). ``_nrt=True``: count references
        to arrays, which a kernel needs if it allocates them or receives such (this takes a third of the time of a
        query). ``llvm="module:name"``: use this function of numba's `intrinsic`, which writes LLVM's instructions.

    Returns
    -------
    callable
        The function.
    """
    if function is None:
        return lambda each: kernel(each, **options)
    function.kernel_options = options  # type: ignore[attr-defined]
    return function


def inline(function: Callable[..., Any]) -> Any:
    """Declare a kernel to inline into all its callers."""
    return kernel(function, forceinline=True)


def entry_point(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Declare a kernel that Python and C call.

    Parameters
    ----------
    function : callable
        The Python function, whose type hints declare its arguments.
    **options
        As of `kernel`, and ``nogil=True`` if other threads of Python may run during the call.

    Returns
    -------
    callable
        The form of the kernel that SUPEROVOID_KERNELS chooses.
    """
    if function is None:
        return lambda each: entry_point(each, **options)
    function = kernel(function, **options)
    if MODE == "library":
        from superovoid.compiled import library

        called = _lazy_function(function, library.caller(function))
    elif MODE == "jit":
        called = _lazy_function(function, lambda: _compile(function))
    else:
        called = function
    called.python_function = function
    return called


def _lazy_function(function: Callable[..., Any], make: Callable[[], Callable[..., Any]]) -> Any:
    """Return a function that calls what `make` returns: to make it for all entry points would double an import."""
    made: list[Callable[..., Any]] = []

    def call(*arguments: Any) -> Any:
        if not made:
            made.append(make())
        return made[0](*arguments)

    return update_wrapper(call, function)


def _compile(function: Callable[..., Any]) -> Callable[..., Any]:
    from superovoid.compiler import jit

    return jit.kernel(function)
