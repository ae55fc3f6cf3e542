# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Entry points of the shared library, called by ctypes.

The type hint of an argument decides how the library receives it: a number by value, an array by its address and its
shape, a tuple by the address of its fields, eight bytes each. The function returns 0, or another number if memory ran
out. It writes its result, eight bytes a number, to the address in the last argument.

The library is loaded from this package only, by its full path.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import struct
import typing
from collections.abc import Callable, Iterable
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = Path(__file__).parents[1]
NATIVE = PACKAGE / "native"
"""Folder for C programs: libraries, header, and files for pkg-config and CMake."""
LIBRARY = "libsuperovoid.so"
SOURCES = "sources.json"
"""Stamps of the modules from which the library was built. The file exists in `NATIVE` of a source tree only."""
LEVELS = {4: "x86-64-v4", 3: "x86-64-v3", 2: "x86-64-v2"}
_BUILD = "build it by 'python -m superovoid.compiler', or set SUPEROVOID_KERNELS=jit"


def library_of(native: Path, level: str | None = None) -> Path:
    """Return the path of the library of the lowest level built, or of a higher level."""
    folder = native / "lib"
    return (folder if level is None else folder / "glibc-hwcaps" / level) / LIBRARY


def _digest(source: Path) -> str:
    return hashlib.sha256(source.read_bytes()).hexdigest()


def stamps_of(sources: Iterable[Path]) -> dict[str, tuple[int, int, str]]:
    """Return size, time of the last change, and digest of modules of the package."""
    found = {source.relative_to(PACKAGE).as_posix(): (source, source.stat()) for source in sources}
    return {name: (stat.st_size, stat.st_mtime_ns, _digest(source)) for name, (source, stat) in sorted(found.items())}


def _changed_module() -> str | None:
    """Return the name of a module that has changed since the library was built, if any."""
    noted = NATIVE / SOURCES
    if not noted.is_file():
        return None
    for name, (size, changed, digest) in json.loads(noted.read_text()).items():
        source = PACKAGE / name
        if not source.is_file():
            return name
        stat = source.stat()
        if (stat.st_size, stat.st_mtime_ns) != (size, changed) and _digest(source) != digest:
            return name
    return None


@cache
def fields_of(hint: Any) -> tuple[Any, ...] | None:
    """Return the type hints of the fields of a tuple; None if a hint is not one of a tuple."""
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        hints = typing.get_type_hints(hint, include_extras=True)
        return tuple(hints[name] for name in hint._fields)
    return typing.get_args(hint) if typing.get_origin(hint) is tuple else None


def array_of(hint: Any) -> tuple[np.dtype[Any], int] | None:
    """Return kind of number and number of dimensions of an array; None if a hint is not one of an array."""
    return getattr(hint, "__metadata__", None)


def hints_of(function: Callable[..., Any]) -> tuple[dict[str, Any], Any]:
    """Return the type hints of a function's arguments, and that of its result."""
    hints = typing.get_type_hints(function, include_extras=True)
    result = hints.pop("return")
    return hints, None if result is type(None) else result


def symbol_of(function: Callable[..., Any]) -> str:
    """Return the name of an entry point in the library."""
    return f"{function.__module__}.{function.__name__}".replace(".", "_")


def _load_library(library: Path) -> ctypes.CDLL:
    """Load a library; the system's loader would end the process if a part of the file is missing."""
    with library.open("rb") as file:
        head = file.read(64)
    if head[:5] == b"\x7fELF\x02" and len(head) == 64:  # the table of sections comes last
        start, size, count = struct.unpack_from("=q10xHH", head, 40)
        if start + size * count <= library.stat().st_size:
            return ctypes.CDLL(str(library))
    raise ImportError(f"{library} is not a library, or a part of it is missing: {_BUILD}")


def _function(code: ctypes.CDLL, name: str) -> Any:
    """Return a function of a library."""
    try:
        return getattr(code, name)
    except AttributeError:
        raise ImportError(f"{code._name} has no function {name}, as of another version: {_BUILD}") from None


@cache
def path() -> Path:
    """Return the library for this processor, or of the level that the environment variable SUPEROVOID_LEVEL allows.

    Raises
    ------
    ImportError
        If there is none, if its sources have changed, or if it needs a processor with more instructions.
    """
    lowest = library_of(NATIVE)
    if not lowest.is_file():
        raise ImportError(f"{lowest} is missing, which holds the machine code of superovoid: {_BUILD}")
    changed = _changed_module()
    if changed:
        raise ImportError(f"{PACKAGE / changed} has changed since {lowest} was built: {_BUILD}")
    here = _function(_load_library(lowest), "superovoid_processor_level")()
    highest = os.environ.get("SUPEROVOID_LEVEL")
    if highest:
        if highest not in LEVELS.values():
            raise ImportError(f"SUPEROVOID_LEVEL = {highest!r}: expected one of {', '.join(LEVELS.values())}")
        here = min(here, *(level for level, name in LEVELS.items() if name == highest))
    higher = (library_of(NATIVE, name) for level, name in LEVELS.items() if level <= here)
    chosen = next((each for each in higher if each.is_file()), lowest)
    needed = ctypes.c_int.in_dll(_load_library(chosen), "superovoid_library_level").value
    if needed > here:
        lacks = f"but SUPEROVOID_LEVEL = {highest!r}" if highest else "but this one has fewer"
        raise ImportError(f"{chosen} needs a processor with the instructions of {LEVELS[needed]}, {lacks}: {_BUILD}")
    return chosen


@cache
def _library() -> tuple[ctypes.CDLL, ctypes.PyDLL]:
    return ctypes.CDLL(str(path())), ctypes.PyDLL(str(path()))


_address_of, _first_of = ctypes.addressof, ctypes.c_char.from_buffer


def _address(array: Any, kind: np.dtype[Any], dimensions: int) -> int:
    """Return the address of the numbers of an array that a kernel takes."""
    if type(array) is not np.ndarray or array.ndim != dimensions or array.dtype != kind:
        raise TypeError(f"expected an array of {kind} with {dimensions} dimensions, not {array!r}")
    try:
        return _address_of(_first_of(array))  # takes a third of the time of `array.ctypes`
    except (TypeError, ValueError):  # read-only, empty, or not C-contiguous
        if not array.flags.c_contiguous:
            raise TypeError(f"expected a C-contiguous array, not one of strides {array.strides}") from None
        return array.ctypes.data


def _words_of(value: str, hint: Any, key: Any, names: dict[str, Any]) -> tuple[str, str]:
    """Return the words of a value, as `struct` names them, and their source; add to `names` what this refers to.

    A bundle (`kernels.bundle`) computes its words once.
    """
    fields, array = fields_of(hint), array_of(hint)
    if fields is not None:
        names[f"_packed_{key}"] = layout = _layout_of(fields)
        return layout.letters, f"{value}._words" if hasattr(hint, "_words") else f"_packed_{key}({value})"
    if array is None:
        return ("d", value) if hint is float else ("q", f"int({value})")
    names[f"_kind_{key}"], dimensions = array
    return "P" + "q" * dimensions, f"_address({value}, _kind_{key}, {dimensions}), *{value}.shape"


class _Layout:
    """How the fields of a tuple are laid out: a number each, or the address and shape of an array."""

    def __init__(self, hints: tuple[Any, ...]) -> None:
        names: dict[str, Any] = {"_address": _address}
        handed = [_words_of(f"v[{i}]", hint, i, names) for i, hint in enumerate(hints)]
        self.letters = "".join(letters for letters, _ in handed)
        parts = []
        for is_tuple, group in groupby(zip(hints, handed, strict=True), lambda each: fields_of(each[0]) is not None):
            run = [each for _, each in group]
            sources = [source for _, source in run]
            names[f"_pack_{len(parts)}"] = struct.Struct("".join(letters for letters, _ in run)).pack
            parts.append(" + ".join(sources) if is_tuple else f"_pack_{len(parts)}({', '.join(sources)})")
        self._pack = eval(f"lambda v: {' + '.join(parts)}", names)

    def __call__(self, value: tuple[Any, ...]) -> bytes:
        """Return a tuple as a kernel takes it."""
        return self._pack(value)


_layout_of = cache(_Layout)


def words_of(bundle: tuple[Any, ...]) -> bytes:
    """Return a bundle as a kernel takes it."""
    fields = fields_of(type(bundle))
    assert fields is not None
    return _layout_of(fields)(bundle)


def _rebuild_result(hint: Any, words: list[Any]) -> Any:
    """Return a result whose numbers are the first ones of a list; these are removed from it."""
    fields = fields_of(hint)
    if fields is None:
        word = words.pop(0)
        return bool(word) if hint is bool else word
    values = [_rebuild_result(field, words) for field in fields]
    return hint(*values) if hasattr(hint, "_fields") else tuple(values)


def caller_of(function: Callable[..., Any], code: Any) -> Callable[..., Any]:
    """Return a Python function that calls an entry point of the library.

    Its source is written out: a loop over the arguments would take as long as a query of two bodies.
    """
    hints, result = hints_of(function)
    names: dict[str, Any] = {"_address": _address, "_code": code}
    handed = [_words_of(name, hint, name, names) for name, hint in hints.items()]
    letters = ["P" if fields_of(hint) else each[0] for hint, each in zip(hints.values(), handed, strict=True)]
    out = [] if result is None else ["_out"]
    types = {"P": ctypes.c_void_p, "q": ctypes.c_int64, "d": ctypes.c_double}
    code.argtypes, code.restype = [types[each] for each in "".join(letters) + "P" * len(out)], ctypes.c_int32
    lines = [f"def {function.__name__}({', '.join(hints)}):", *(["    _out = _room()"] if out else [])]
    lines += [f"    if _code({', '.join([*(source for _, source in handed), *out])}):"]
    lines += ["        raise MemoryError('no memory for a query')"]
    if out:
        layout = struct.Struct(_layout_of((result,)).letters)
        names |= {"_room": ctypes.c_char * layout.size, "_unpack": layout.unpack_from}
        names |= {"_rebuild_result": _rebuild_result, "_hint": result}
        is_number = result in (int, float)
        lines.append(f"    return {'_unpack(_out)[0]' if is_number else '_rebuild_result(_hint, list(_unpack(_out)))'}")
    exec("\n".join(lines), names)
    return names[function.__name__]


def caller(function: Callable[..., Any]) -> Callable[[], Callable[..., Any]]:
    """Return what makes the Python function that calls an entry point of the library (`caller_of`)."""
    library = _library()[0 if function.kernel_options.get("nogil") else 1]  # type: ignore[attr-defined]
    code = _function(library, symbol_of(function))
    return lambda: caller_of(function, code)
