# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Strict readers of mesh formats with lists of vertices and polygons: STL, OBJ, OFF and PLY.

A file is read completely or rejected: counts must match, rows must be complete, there must be no trailing data, and an
unsupported statement that could describe a surface is an error.  docs/reference/dependencies.md explains why no library
is used. Each reader returns `Polygons`, which `triangulate` (`superovoid.robot.polygons`) converts to triangles.
"""

from __future__ import annotations

import io
import re
import struct
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

MOST_TRIANGLES = 500_000
"""Largest number of triangles of one file, with repeated parts counted each time."""

_Number = TypeVar("_Number", int, float)
_Row = tuple[int, list[bytes]]
"""Line number, and words of the line."""


class MalformedError(ValueError):
    """A file that violates its format."""


class UnsupportedError(ValueError):
    """A file that uses an unsupported feature, or is too large."""


@dataclass(frozen=True)
class Polygons:
    """Surface of a file, as polygons."""

    vertices: NDArray[np.float64]
    """Coordinates, shape (n, 3)."""
    sizes: NDArray[np.int64]
    """Number of corners of each polygon, shape (m,)."""
    corners: NDArray[np.int64]
    """Vertex indices of the corners of all polygons, one polygon after another, shape (sum of sizes,)."""

    @classmethod
    def from_sequences(cls, coordinates: Sequence[float], sizes: Sequence[int], corners: Sequence[int]) -> Polygons:
        """Convert sequences to arrays; `coordinates` has three numbers per vertex."""
        return cls(
            np.array(coordinates, dtype=float).reshape(-1, 3), np.array(sizes, np.int64), np.array(corners, np.int64)
        )


def _text(line: bytes) -> str:
    return ascii(line[:60].strip().decode("latin-1"))


def _floats(words: Sequence[bytes], where: str) -> list[float]:
    return _parse(float, words, where)


def _integers(words: Sequence[bytes], where: str) -> list[int]:
    return _parse(int, words, where)


def _parse(kind: Callable[[bytes], _Number], words: Sequence[bytes], where: str) -> list[_Number]:
    try:
        if b"_" not in b"".join(words):  # Python allows underscores in numbers
            return [kind(word) for word in words]
    except ValueError:
        pass
    what = "numbers" if kind is float else "integers"
    raise MalformedError(f"{where}: found {_text(b' '.join(words))}, expected {what}")


def _rows(data: bytes, comment: bytes = b"") -> Iterator[_Row]:
    """Yield the non-empty lines without comments; LF, CRLF and CR end lines."""
    text = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for number, line in enumerate(io.BytesIO(text), 1):
        words = (line.partition(comment)[0] if comment else line).split()
        if words:
            yield number, words


def _take(rows: Iterator[_Row], what: str, count: int) -> Iterator[_Row]:
    """Yield the next `count` rows; `MalformedError` if there are fewer."""
    for done in range(count):
        row = next(rows, None)
        if row is None:
            raise MalformedError(f"declares {count} rows of {what}, but the file ends after {done}")
        yield row


def _expect_end(rows: Iterator[_Row]) -> None:
    row = next(rows, None)
    if row is not None:
        raise MalformedError(f"has more rows than declared, line {row[0]}: {_text(b' '.join(row[1]))}")


def _check_size(vertices: int, polygons: int) -> None:
    """Reject an oversized mesh before spending time and memory on it."""
    if polygons > MOST_TRIANGLES:
        raise UnsupportedError(f"has {polygons} or more triangles, expected at most {MOST_TRIANGLES}")
    if vertices > 3 * MOST_TRIANGLES:
        raise UnsupportedError(f"has {vertices} or more vertices, expected at most {3 * MOST_TRIANGLES}")


# -- STL


def read_stl(data: bytes) -> Polygons:
    """Read an STL file: binary if its length matches its triangle count, text otherwise."""
    count = int.from_bytes(data[80:84], "little")
    if len(data) >= 84 and len(data) == 84 + 50 * count:
        facets = np.frombuffer(data, dtype=[("normal", "<f4", 3), ("corners", "<f4", 9), ("more", "<u2")], offset=84)
        return Polygons(
            facets["corners"].astype(float).reshape(-1, 3), np.full(count, 3), np.arange(3 * count, dtype=np.int64)
        )
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text and (text[:5].lower() != b"solid" or b"\0" in text):
        raise MalformedError(
            f"neither text that begins with solid nor binary: {count} triangles are declared, which need "
            f"{84 + 50 * count} bytes, found {len(data)}"
        )
    return _read_stl_text(text)


_STL_NEXT = {  # statements allowed after each statement
    "endsolid": ("solid",),
    "solid": ("facet", "endsolid"),
    "facet": ("outer",),
    "outer": ("vertex",),
    "vertex": ("vertex", "endloop"),
    "endloop": ("endfacet",),
    "endfacet": ("facet", "endsolid"),
}


def _read_stl_text(text: bytes) -> Polygons:
    coordinates, corners, last = array("d"), 0, "endsolid"
    for number, words in _rows(text):
        word = words[0].lower().decode("latin-1")
        if word not in _STL_NEXT[last]:
            raise MalformedError(f"line {number}: {_text(b' '.join(words))}, expected {' or '.join(_STL_NEXT[last])}")
        if word == "vertex":
            if len(words) != 4:
                raise MalformedError(f"line {number}: a vertex of {len(words) - 1} coordinates, expected 3")
            coordinates.extend(_floats(words[1:], f"line {number}"))
            corners += 1
        elif word == "endloop":
            if corners != 3:
                raise MalformedError(f"line {number}: a facet of {corners} vertices, expected 3")
            corners = 0
            _check_size(0, len(coordinates) // 9)
        last = word
    if last != "endsolid":
        raise MalformedError(f"ends after '{last}', expected {' or '.join(_STL_NEXT[last])}")
    count = len(coordinates) // 3
    return Polygons.from_sequences(coordinates, [3] * (count // 3), range(count))


# -- OBJ

_OBJ_NAMES = frozenset(b"g o usemtl mtllib usemap maplib shadow_obj trace_obj".split())
_OBJ_WITHOUT_SURFACE = _OBJ_NAMES | frozenset(b"vt vn vp s mg l p bevel c_interp d_interp lod".split())


def read_obj(data: bytes) -> Polygons:
    """Read a Wavefront OBJ file; files that it refers to are not opened."""
    begun: list[bytes] = []  # a statement continued in the next line
    coordinates, sizes, corners, lines = array("d"), array("q"), array("q"), array("q")
    for number, row in _rows(data, b"#"):
        begun.extend(row)
        _check_size(len(coordinates) // 3, len(sizes))
        if begun[-1].endswith(b"\\"):
            if begun[0] in _OBJ_NAMES:  # the next line may be a face
                raise UnsupportedError(f"line {number}: {_text(b' '.join(begun))} ends with a backslash after a name")
            begun[-1] = begun[-1][:-1]
            if not begun[-1]:
                begun.pop()
            continue
        words, begun = begun, []
        if words[0] == b"v":
            numbers = _floats(words[1:], f"line {number}: {_text(b' '.join(words))}")
            if len(numbers) not in (3, 4, 6, 7) or (len(numbers) == 4 and numbers[3] != 1.0):
                raise MalformedError(
                    f"line {number}: a vertex of {len(numbers)} numbers, {_text(b' '.join(words))}, "
                    "expected 3, a weight of 1 or a colour after them"
                )
            coordinates.extend(numbers[:3])
        elif words[0] == b"f":
            there = len(coordinates) // 3
            named = _integers([word.partition(b"/")[0] for word in words[1:]], f"line {number}")
            if len(named) < 3:
                raise MalformedError(f"line {number}: a face of {len(named)} corners, expected 3 or more")
            for index in named:
                if index == 0 or index < -there:
                    raise MalformedError(f"line {number}: vertex {index}, expected 1 or more, or -{there} to -1")
                corners.append(index - 1 if index > 0 else there + index)
            sizes.append(len(named))
            lines.append(number)
        elif words[0] not in _OBJ_WITHOUT_SURFACE:
            raise UnsupportedError(
                f"line {number}: {_text(b' '.join(words))} is not supported, expected v, f or one without surface"
            )
    if begun:
        raise MalformedError(f"ends within {_text(b' '.join(begun))}")
    found = Polygons.from_sequences(coordinates, sizes, corners)
    beyond = np.flatnonzero(found.corners >= len(found.vertices))
    if len(beyond):
        face = np.searchsorted(np.cumsum(found.sizes), beyond[0], side="right")
        index = found.corners[beyond[0]] + 1
        raise MalformedError(f"line {lines[face]}: vertex {index}, but there are {len(found.vertices)}")
    return found


# -- OFF


def read_off(data: bytes) -> Polygons:
    """Read a text OFF file."""
    rows = _rows(data, b"#")
    _, (keyword, *head) = next(rows, (0, [b""]))
    if not re.fullmatch(rb"(ST)?C?N?OFF", keyword):
        raise MalformedError(f"begins with {_text(keyword)}, expected OFF, COFF or NOFF")
    if not head:
        _, head = next(rows, (0, []))
    if len(head) not in (2, 3):
        raise MalformedError(f"has {len(head)} counts, expected counts of vertices, faces and edges")
    number_of_vertices, number_of_faces = _integers(head[:2], "counts")
    _check_size(number_of_vertices, number_of_faces)
    coordinates, sizes, corners = array("d"), array("q"), array("q")
    for number, words in _take(rows, "vertices", number_of_vertices):
        if len(words) < 3 or (keyword == b"OFF" and len(words) > 3):
            raise MalformedError(f"line {number}: a vertex of {len(words)} numbers, expected 3")
        coordinates.extend(_floats(words, f"line {number}")[:3])
    for number, words in _take(rows, "faces", number_of_faces):
        (size,) = _integers(words[:1], f"line {number}")
        if size < 3 or len(words) - 1 - size not in (0, 1, 3, 4):
            raise MalformedError(f"line {number}: a face of {size} corners and {len(words) - 1} numbers")
        corners.extend(_integers(words[1 : 1 + size], f"line {number}"))
        _floats(words[1 + size :], f"line {number}: colour")
        sizes.append(size)
    _expect_end(rows)
    return Polygons.from_sequences(coordinates, sizes, corners)


# -- PLY

_PLY_TYPES = {
    name: code
    for names, code in (
        ("char int8", "i1"), ("uchar uint8", "u1"), ("short int16", "i2"), ("ushort uint16", "u2"),
        ("int int32", "i4"), ("uint uint32", "u4"), ("float float32", "f4"), ("double float64", "f8"),
    )
    for name in names.split()
}  # fmt: skip
_STRUCT = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "f4": "f", "f8": "d"}
_PLY_OTHER_SURFACES = ("tristrips", "range_grid")
_PLY_CORNERS = ("vertex_indices", "vertex_index")


@dataclass
class _Element:
    """A table of a PLY file."""

    name: str
    count: int
    properties: list[tuple[str, str, str]] = field(default_factory=list)
    """Name, type, and type of the list length, which is empty for a scalar."""

    def find(self, names: Sequence[str], is_list: bool) -> int:
        """Return the index of the only property with one of these names."""
        found = [i for i, (name, _, size) in enumerate(self.properties) if name in names and bool(size) == is_list]
        if len(found) != 1:
            raise MalformedError(f"element {self.name} has {len(found)} properties {' or '.join(names)}, expected 1")
        return found[0]


def read_ply(data: bytes) -> Polygons:
    """Read a PLY file, text or binary."""
    elements, form, at = _ply_header(data)
    by_name = {one.name: one for one in elements}
    if "vertex" not in by_name:
        raise MalformedError("has no element vertex")
    vertex, face = by_name["vertex"], by_name.get("face", _Element("face", 0))
    _check_size(vertex.count, face.count)
    tables = {}
    if form == "ascii":
        rows = _rows(data[at:])
        for one in elements:
            tables[one.name] = _ply_text_rows(_take(rows, one.name, one.count), one)
        _expect_end(rows)
    else:
        for one in elements:
            tables[one.name], at = _ply_binary_rows(data, at, one, "<" if form == "binary_little_endian" else ">")
        if data[at:].strip():
            raise MalformedError(f"has {len(data) - at} bytes after its elements")
    vertices = np.column_stack([tables["vertex"][vertex.find([axis], False)][1] for axis in "xyz"]).astype(float)
    if not face.count:
        return Polygons(vertices, np.zeros(0, np.int64), np.zeros(0, np.int64))
    sizes, corners = tables["face"][face.find(_PLY_CORNERS, True)]
    if corners.dtype.kind == "f":
        raise MalformedError("has vertex indices that are not integers")
    return Polygons(vertices, sizes.astype(np.int64), corners.astype(np.int64))


def _ply_header(data: bytes) -> tuple[list[_Element], str, int]:
    """Return elements, format, and the offset of the first byte after the header."""
    end = re.match(rb"\s*ply[ \t]*(\r\n|\n|\r)", data)
    if end is None:
        raise MalformedError(f"begins with {_text(data[:10])}, expected 'ply'")
    at, form, elements = end.end(), "", list[_Element]()
    while True:
        to = data.find(end.group(1), at)
        if to < 0:
            raise MalformedError("has a header without end_header")
        line = data[at:to]
        words, at = line.decode("latin-1").split(), to + len(end.group(1))
        match words:
            case ["end_header"]:
                break
            case [] | ["comment", *_] | ["obj_info", *_]:
                pass
            case ["format", ("ascii" | "binary_little_endian" | "binary_big_endian") as form, "1.0"]:
                pass
            case ["element", name, count] if count.isascii() and count.isdigit() and len(count) < 19:
                if name in _PLY_OTHER_SURFACES:
                    raise UnsupportedError(f"has an element {name}, which is not supported, expected face")
                if name in [one.name for one in elements]:
                    raise MalformedError(f"has two elements {name}")
                elements.append(_Element(name, int(count)))
            case ["property", "list", size, kind, name] if elements and {size, kind} <= _PLY_TYPES.keys():
                if _PLY_TYPES[size][0] == "f":
                    raise MalformedError(f"list '{name}' has a length of type {size}, expected an integer type")
                elements[-1].properties.append((name, _PLY_TYPES[kind], _PLY_TYPES[size]))
            case ["property", kind, name] if elements and kind in _PLY_TYPES:
                elements[-1].properties.append((name, _PLY_TYPES[kind], ""))
            case _:
                raise MalformedError(f"header: {_text(line)}, expected format, element, property or end_header")
    for one in elements:
        if one.count and not one.properties:
            raise MalformedError(f"element {one.name} has no properties")
    if not form:
        raise MalformedError("has a header without format")
    return elements, form, at


_Table = list[tuple[np.ndarray, np.ndarray]]
"""For each property, the number of entries in each row, and all entries."""


def _ply_text_rows(rows: Iterator[_Row], element: _Element) -> _Table:
    lengths = [array("q") for _ in element.properties]
    values: list[array] = [array("d" if kind[0] == "f" else "q") for _, kind, _ in element.properties]
    parse: list[Callable] = [_floats if kind[0] == "f" else _integers for _, kind, _ in element.properties]
    for number, (_, words) in enumerate(rows, 1):
        where, at = f"row {number} of element {element.name}", 0
        for i, (_, _, is_list) in enumerate(element.properties):
            count = 1
            if is_list:
                (count,) = _integers(words[at : at + 1], where) or (0,)
                at += 1
            if count < 0 or at + count > len(words):
                raise MalformedError(f"{where}: {_text(b' '.join(words))} is shorter than its properties")
            lengths[i].append(count)
            values[i].extend(parse[i](words[at : at + count], where))
            at += count
        if at != len(words):
            raise MalformedError(f"{where}: {_text(b' '.join(words))} is longer than its properties")
    return [(np.array(length, np.int64), np.array(value)) for length, value in zip(lengths, values, strict=True)]


def _ply_binary_rows(data: bytes, at: int, element: _Element, order: str) -> tuple[_Table, int]:
    """Return the rows of an element and their end; read in one step if all lists are as long as in the first row."""
    if element.count > len(data) - at:  # each row has at least one byte
        raise MalformedError(f"declares {element.count} rows of {element.name} in {len(data) - at} bytes")
    fields: list[tuple] = []
    for i, (_, kind, size) in enumerate(element.properties):
        count = 1
        if size:
            length = np.dtype(order + size)
            here = at + np.dtype(fields).itemsize
            count = int.from_bytes(data[here : here + length.itemsize], "little" if order == "<" else "big")
            fields.append((f"n{i}", length))
        fields.append((f"v{i}", order + kind, (min(count, len(data)),)))
    row = np.dtype(fields)
    if at + element.count * row.itemsize <= len(data):
        rows = np.frombuffer(data, row, element.count, at)
        if all((rows[f"n{i}"] == rows[f"n{i}"][:1]).all() for i, one in enumerate(element.properties) if one[2]):
            values = [rows[f"v{i}"] for i in range(len(element.properties))]
            return [(np.full(len(one), one.shape[1]), one.ravel()) for one in values], at + rows.nbytes
    return _ply_unequal_rows(data, at, element, order)


def _ply_unequal_rows(data: bytes, at: int, element: _Element, order: str) -> tuple[_Table, int]:
    _check_size(0, element.count)
    lengths = [array("q") for _ in element.properties]
    values = [array("d" if kind[0] == "f" else "q") for _, kind, _ in element.properties]
    codes = [(_STRUCT[kind], _STRUCT[size] if size else "") for _, kind, size in element.properties]
    try:
        for _ in range(element.count):
            for i, (kind, size) in enumerate(codes):
                count = 1
                if size:
                    (count,) = struct.unpack_from(order + size, data, at)
                    at += struct.calcsize(order + size)
                if count < 0 or count > len(data):
                    raise MalformedError(f"element {element.name} has a list of {count} entries")
                row = f"{order}{count}{kind}"
                lengths[i].append(count)
                values[i].extend(struct.unpack_from(row, data, at))
                at += struct.calcsize(row)
    except struct.error as error:
        raise MalformedError(
            f"declares {element.count} rows of {element.name}, but the file ends before the last"
        ) from error
    return [(np.array(length, np.int64), np.array(value)) for length, value in zip(lengths, values, strict=True)], at
