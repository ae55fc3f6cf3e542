# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Entry points of the shared library, called by ctypes.

An argument is handed over as its type hint says: a number by value, an array by its address and its shape, a tuple by
the address of its fields, eight bytes each. The function returns 0, or not if memory ran out; its result is written,
again by eight bytes, to where the last argument points.
"""

from __future__ import annotations

import ctypes
import struct
import typing
from collections.abc import Callable
from functools import cache, update_wrapper
from pathlib import Path
from typing import Any

import numpy as np

from superovoid.compiled import kernel_cache

FOLDER = Path(__file__).parent / "machine_code"
"""Where `build` puts the library."""
NAME = "libsuperovoid.so"
SOURCES = "sources"
"""The file with the digest of the sources that the library was made of."""


def fields_of(hint: Any) -> tuple[Any, ...] | None:
    """Return the type hints of the fields of a tuple; None if a hint is not one of a tuple."""
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        hints = typing.get_type_hints(hint, include_extras=True)
        return tuple(hints[name] for name in hint._fields)
    return typing.get_args(hint) if typing.get_origin(hint) is tuple else None


def array_of(hint: Any) -> tuple[np.dtype[Any], int] | None:
    """Return kind of number and number of dimensions of an array; None if a hint is not one of an array."""
    if not hasattr(hint, "__metadata__"):
        return None
    array, dimensions = typing.get_args(hint)[:2]
    return np.dtype(typing.get_args(typing.get_args(array)[1])[0]), dimensions


def hints_of(function: Callable[..., Any]) -> tuple[dict[str, Any], Any]:
    """Return the type hints of a function's arguments, and that of its result."""
    hints = typing.get_type_hints(function, include_extras=True)
    result = hints.pop("return")
    return hints, None if result is type(None) else result


def symbol_of(function: Callable[..., Any]) -> str:
    """Return the name of an entry point in the library."""
    return f"{function.__module__}.{function.__name__}".replace(".", "_")


@cache
def _library() -> tuple[ctypes.CDLL, ctypes.PyDLL]:
    path = FOLDER / NAME
    if not path.is_file():
        raise ImportError(
            f"{path} is missing, which SUPEROVOID_KERNELS=library asks for: make it by "
            "'python -m superovoid.compiled.build', or set SUPEROVOID_KERNELS=jit"
        )
    sources = FOLDER / SOURCES
    if not sources.is_file() or sources.read_text() != kernel_cache.digest():
        raise ImportError(
            f"{path} was made of other sources than these: make it again by 'python -m superovoid.compiled.build', or "
            "set SUPEROVOID_KERNELS=jit"
        )
    return ctypes.CDLL(str(path)), ctypes.PyDLL(str(path))


_address_of, _first_byte = ctypes.addressof, ctypes.c_char.from_buffer


def _address(array: Any, kind: np.dtype[Any], dimensions: int) -> int:
    """Return the address of the numbers of an array that a kernel takes."""
    if type(array) is not np.ndarray or array.dtype != kind or array.ndim != dimensions:
        raise TypeError(f"expected an array of {kind} with {dimensions} dimensions, not {array!r}")
    if not array.flags.c_contiguous:
        raise TypeError(f"expected a C-contiguous array, not one of strides {array.strides}")
    try:
        return _address_of(_first_byte(array))
    except (TypeError, ValueError):  # read-only, or empty
        return array.ctypes.data


class _Tuple:
    """How the fields of a tuple are laid out: a number each, or the address and shape of an array."""

    def __init__(self, hints: tuple[Any, ...]) -> None:
        self._parts = []
        code = ""
        for hint in hints:
            fields, array = fields_of(hint), array_of(hint)
            part = _Tuple(fields) if fields is not None else array
            self._parts.append(part)
            if isinstance(part, _Tuple):
                code += part.format
            elif array is not None:
                code += "q" * (1 + array[1])
            else:
                code += "d" if hint is float else "q"
        self.format = code
        self._struct = struct.Struct(code)
        self._has_numbers_only = not any(self._parts)

    def _words(self, value: tuple[Any, ...]) -> list[Any]:
        words: list[Any] = []
        for part, each in zip(self._parts, value, strict=True):
            if isinstance(part, _Tuple):
                words += part._words(each)
            elif part is None:
                words.append(each)
            else:
                words += (_address(each, *part), *each.shape)
        return words

    def packed(self, value: Any) -> bytes:
        """Return a tuple as a kernel takes it."""
        if self._has_numbers_only:
            return self._struct.pack(*value)
        names = getattr(value, "__dict__", None)
        if names is None:
            return self._struct.pack(*self._words(value))
        found = names.get("packed")
        if found is None:
            found = names["packed"] = self._struct.pack(*self._words(value))
        return found


def _rebuilt(hint: Any, words: list[Any]) -> Any:
    """Return a result whose numbers are the first ones of a list; these are removed from it."""
    fields = fields_of(hint)
    if fields is None:
        word = words.pop(0)
        return bool(word) if hint is bool else word
    values = [_rebuilt(field, words) for field in fields]
    return hint(*values) if hasattr(hint, "_fields") else tuple(values)


def _caller(function: Callable[..., Any], code: Any) -> Callable[..., Any]:
    """Return a Python function that calls an entry point of the library.

    Its source is written out, for a query of two bodies takes no longer than a loop over its arguments.
    """
    hints, result = hints_of(function)
    names: dict[str, Any] = {"_code": code, "_address": _address, "_at": _address_of, "_byte": _first_byte}
    types: list[Any] = []
    quick, careful, kinds = [], [], []
    for name, hint in hints.items():
        fields, array = fields_of(hint), array_of(hint)
        if fields is not None:
            names[f"_pack_{name}"] = _Tuple(fields).packed
            quick.append(f"_pack_{name}({name})")
            careful.append(quick[-1])
            types.append(ctypes.c_void_p)
        elif array is not None:
            kind, dimensions = array
            names[f"_kind_{name}"] = kind
            shape = ", ".join(f"_{name}_{axis}" for axis in range(dimensions))
            kinds.append((f"({shape},) = {name}.shape", f"{name}.dtype is _kind_{name}"))
            quick.append(f"_at(_byte({name})), {shape}")
            careful.append(f"_address({name}, _kind_{name}, {dimensions}), *{name}.shape")
            types += [ctypes.c_void_p] + [ctypes.c_int64] * dimensions
        elif hint is float:
            quick.append(name)
            careful.append(name)
            types.append(ctypes.c_double)
        else:
            quick.append(f"int({name})")
            careful.append(quick[-1])
            types.append(ctypes.c_int64)
    lines = [f"def {function.__name__}({', '.join(hints)}):"]
    if result is not None:
        layout = struct.Struct(_Tuple((result,)).format)
        names |= {"_room": ctypes.c_char * layout.size, "_unpack": layout.unpack_from}
        names |= {"_rebuilt": _rebuilt, "_hint": result}
        lines.append("    _out = _room()")
        quick.append("_out")
        careful.append("_out")
        types.append(ctypes.c_void_p)
    code.argtypes, code.restype = types, ctypes.c_int32
    if kinds:
        lines += ["    try:", *(f"        {shape}" for shape, _ in kinds)]
        lines += [f"        _quick = {' and '.join(kind for _, kind in kinds)}"]
        lines += [f"        _handed = ({', '.join(quick)},) if _quick else ({', '.join(careful)},)"]
        lines += ["    except (TypeError, ValueError, AttributeError):", f"        _handed = ({', '.join(careful)},)"]
    else:
        lines.append(f"    _handed = ({', '.join(quick)},)")
    lines += ["    if _code(*_handed):", "        raise MemoryError('no memory for a query')"]
    if result in (int, float):
        lines.append("    return _unpack(_out)[0]")
    elif result is not None:
        lines.append("    return _rebuilt(_hint, list(_unpack(_out)))")
    exec("\n".join(lines), names)
    return names[function.__name__]


def entry_point(function: Callable[..., Any] | None = None, /, *, nogil: bool = False, **options: Any) -> Any:
    """Take a kernel from the library.

    Parameters
    ----------
    function : callable
        The kernel in Python, whose type hints tell its arguments.
    nogil : bool, optional
        Whether other threads of Python run meanwhile.
    **options
        Of the compiler.
    """
    if function is None:
        return lambda each: entry_point(each, nogil=nogil)
    called: Any = _caller(function, getattr(_library()[0 if nogil else 1], symbol_of(function)))
    called.py_func = function
    return update_wrapper(called, function)
