# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compute digests of kernels from their code and everything it refers to, to recompile changed kernels only."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np

from superovoid.compiled.library import PACKAGE
from superovoid.compiler.jit import names_in, python_of


def _code_parts(code: CodeType, docstring: str | None = None) -> Iterator[bytes]:
    yield code.co_code
    yield repr((code.co_varnames, code.co_names, code.co_freevars)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant)
        elif constant is None or constant != docstring:
            yield repr(constant).encode()


def _value_parts(name: str, value: Any, names: set[str], left: list[Any]) -> Iterator[bytes]:
    """Yield a description of a value that a kernel refers to; append kernels to `left` to be described later."""
    if hasattr(value, "kernel_options"):
        left.append(value)
    elif isinstance(value, ModuleType):
        for each in sorted(names):
            if hasattr(value, each):
                yield from _value_parts(f"{name}.{each}", getattr(value, each), set(), left)
    elif isinstance(value, np.ndarray):
        yield f"{name} {value.dtype} {value.shape}".encode() + value.tobytes()
    elif isinstance(value, type):
        defaults = getattr(value, "_field_defaults", None) or ""
        yield f"{name} {value.__qualname__} {getattr(value, '_fields', '')}{defaults}".encode()
    elif callable(value):
        source = getattr(sys.modules.get(getattr(value, "__module__", "")), "__file__", None)
        yield name.encode()
        if source and Path(source).is_relative_to(PACKAGE):
            yield Path(source).read_bytes()
    else:
        yield f"{name} {value!r}".encode()


def _function_parts(function: Any, left: list[Any]) -> Iterator[bytes]:
    yield f"{function.__module__}.{function.__qualname__} {function.__annotations__}".encode()
    if function.__defaults__ or function.__kwdefaults__:
        yield repr((function.__defaults__, function.__kwdefaults__)).encode()
    yield from _code_parts(function.__code__, function.__doc__)
    names = names_in(function.__code__)
    for name in sorted(names & function.__globals__.keys()):
        yield from _value_parts(name, function.__globals__[name], names, left)
    for cell in function.__closure__ or ():
        yield from _value_parts("", cell.cell_contents, set(), left)


_WITHOUT = ("__init__", "__main__", "build", "digests")
COMPILER = [path for path in sorted(Path(__file__).parent.glob("*.py")) if path.stem not in _WITHOUT]
"""Modules of this folder that the machine code depends on."""


@cache
def _compiler_digest() -> bytes:
    """Return a digest of everything except the kernels that the machine code depends on."""
    found = hashlib.sha256(repr((numba.__version__, llvmlite.__version__, sys.version_info[:2])).encode())
    for module in COMPILER:
        found.update(module.read_bytes())
    return found.digest()


def digest_of(kernel: Any, arguments: Any) -> str:
    """Return a digest of a kernel for given argument types, and of all kernels and constants that it uses."""
    found = hashlib.sha256(_compiler_digest() + str(arguments).encode())
    left, seen = [kernel], set()
    while left:
        each = left.pop()
        if id(each) not in seen:
            seen.add(id(each))
            found.update(repr(sorted(each.kernel_options.items())).encode())
            for part in _function_parts(python_of(each), left):
                found.update(part)
    return found.hexdigest()[:20]
