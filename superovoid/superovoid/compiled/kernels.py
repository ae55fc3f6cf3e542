# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How a Python function becomes a kernel. The environment variable SUPEROVOID_KERNELS chooses one of three ways.

===========  ===========================================================================================
``library``  entry points are taken from the shared library that `build` made; other kernels are Python
``jit``      numba compiles each kernel when it is first called
``python``   nothing is compiled: for debuggers and measurements of coverage
===========  ===========================================================================================

An *entry point* is a kernel that Python or C calls. Its type hints declare its arguments.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

MODES = ("jit", "library", "python")


def _mode() -> str:
    chosen = os.environ.get("SUPEROVOID_KERNELS") or "jit"
    if chosen not in MODES:
        raise ImportError(f"SUPEROVOID_KERNELS = {chosen!r}: expected one of {', '.join(MODES)}")
    if chosen == "jit" and os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "python"
    return chosen


MODE = _mode()
"""One of `MODES`."""

Bundle = TypeVar("Bundle", bound=type)


def bundle(fields: Bundle) -> Bundle:
    """Let a NamedTuple of arrays keep the addresses of these, so that they are looked up once."""
    # Copies and pickles have other arrays: they take no addresses along.
    names = {"__doc__": fields.__doc__, "__module__": fields.__module__, "__getstate__": lambda _: None}
    named = type(fields.__name__, (fields,), names)
    named.__qualname__ = fields.__qualname__
    return named  # type: ignore[return-value]


kernel: Any
choice: Any
out_of_line: Any
entry_point: Any

if MODE == "jit":
    from superovoid.compiled import jit

    kernel, choice, out_of_line = jit.kernel, jit.choice, jit.out_of_line

    def _marked(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        if function is None:
            return lambda each: _marked(each, **options)
        compiled = kernel(function, **options)
        compiled.is_entry_point = True
        return compiled

    entry_point = _marked

else:

    def _kept_in_python(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Return the function: only entry points are compiled."""
        return function if function is not None else lambda each: each

    def _choice(choose: Callable[..., Any]) -> Any:
        """Return a function that calls the one that is chosen for its arguments."""
        return lambda *arguments: choose(*arguments)(*arguments)

    def _nothing() -> None:
        """Do nothing."""

    kernel, choice, out_of_line = _kept_in_python, _choice, _nothing
    if MODE == "library":
        from superovoid.compiled import library

        entry_point = library.entry_point
    else:
        entry_point = kernel
