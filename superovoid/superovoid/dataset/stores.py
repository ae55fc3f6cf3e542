# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Stores of chunks: Zarr for answers about every pair, Parquet for rows within `max_distance`.

A chunk is in a store when the digests of its arrays are, which are written last. So one that was being written when its
writer was killed is not there, and is computed again.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from superovoid.dataset import manifests
from superovoid.dataset.errors import DatasetError, needs, zarr_module
from superovoid.dataset.question import Arrays, Column, digests_of
from superovoid.dataset.whole_files import left_over, left_over_beside, partial_of, write_whole

_KEY = "superovoid_dataset"  # of the manifest among the attributes
_DIGESTS = "digests"
_MANIFEST = "_manifest.json"
# A chunk is one file of its array's folder, so that a list of names says which are there.
_NAMES = {"name": "default", "separator": "."}
_CHUNK_FILE = re.compile(r"c\.(\d+)(?:\.0)*")


class Store(Protocol):
    """Where chunks are."""

    path: Path
    manifest: dict[str, Any]

    def done(self) -> NDArray[np.bool_]:
        """Which chunks are there; their contents are not read."""

    def has(self, chunk: int) -> bool:
        """Whether one chunk is there."""

    def discard(self, chunk: int) -> None:
        """Take a chunk out."""

    def is_there(self) -> bool:
        """Whether it is still at its path."""

    def write(self, chunk: int, arrays: Arrays) -> None:
        """Write a chunk; `OSError` where it cannot be written, or the store is not at its path any more."""

    def read(self, chunk: int) -> Arrays:
        """The arrays of a chunk; `DatasetError` where it is not there or damaged."""


def columns_of(manifest: Mapping[str, Any]) -> tuple[Column, ...]:
    """The columns that a manifest names."""
    return tuple(
        Column(each["name"], tuple(each["tail"]), each["kind"], float(each["fill"]), each["per pair"], each["unit"])
        for each in manifest["question"]["columns"]
    )


def states_of_chunk(manifest: Mapping[str, Any], chunk: int) -> range:
    """The numbers of a chunk's states."""
    size, count = manifest["chunks"]["states"], manifest["states"]["count"]
    return range(chunk * size, min((chunk + 1) * size, count))


def make(path: Path, manifest: dict[str, Any]) -> Store:
    """Make an empty store, whole or not at all; where one is there already, it must be of the same data set.

    Raises
    ------
    DatasetError
        If something else is there.
    OSError
        If it cannot be written.
    """
    kind = ParquetStore if path.suffix == ".parquet" else ZarrStore
    if not _is_free(path):
        return _same(path, manifest)
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in left_over_beside(path):
        shutil.rmtree(left, ignore_errors=True)
    partial = partial_of(path)
    try:
        partial.mkdir()
        kind.lay_out(partial, manifest)
        try:
            partial.rename(path)
        except OSError:
            if _is_free(path):
                raise
            return _same(path, manifest)  # another process was faster
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return open_store(path)


def _is_free(path: Path) -> bool:
    """Whether nothing is there, or an empty folder."""
    return not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir()))


def _same(path: Path, manifest: dict[str, Any]) -> Store:
    store = open_store(path)
    manifests.refuse_other(store.manifest, manifest, str(path))
    return store


def open_store(path: Path) -> Store:
    """Open what is there.

    Raises
    ------
    DatasetError
        If it is no data set, of another format or damaged.
    """
    if (path / "zarr.json").is_file():
        return ZarrStore(path)
    if (path / _MANIFEST).is_file():
        return ParquetStore(path)
    if not os.path.lexists(path):
        raise DatasetError(f"{path}: there is nothing")
    kind = "a folder without zarr.json and _manifest.json" if path.is_dir() else "no folder"
    if path.is_symlink() and not path.exists():
        kind = f"a link to what is not there, {os.readlink(path)}"
    raise DatasetError(f"{path}: is no data set: it is {kind}; name a path that is free")


def _is_of(digest: str, path: Path, *keys: str) -> bool:
    """Whether a file has the manifest with a digest, under these keys."""
    try:
        found = json.loads(path.read_bytes())
        for key in keys:
            found = found[key]
        return bool(found["sha256"] == digest)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _refuse_where_gone(store: Store) -> None:
    if not store.is_there():
        raise FileNotFoundError(errno.ENOENT, "the store is not there any more", str(store.path))


def remove_left_overs(store: Store) -> None:
    """Remove what writers that are gone left half written."""
    for path in left_over(store.path):
        path.unlink(missing_ok=True)


def _compared(arrays: Arrays, digests: Mapping[str, str], where: str) -> Arrays:
    found = digests_of(arrays)
    wrong = [name for name in digests if found.get(name) != digests[name]]
    if wrong or set(found) != set(digests):
        raise DatasetError(f"{where}: is damaged: other bits than were written: {', '.join(wrong) or 'columns'}")
    return arrays


class ZarrStore:
    """A Zarr 3 group with an array a column, a chunk a file in each, and the digests of chunks as one array more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        zarr = zarr_module()
        try:
            self._group = zarr.open_group(durable_store(path, path), mode="r+", zarr_format=3)
            found = dict(self._group.attrs).get(_KEY)
            self.manifest = manifests.checked(found, str(path))
            self.columns = columns_of(self.manifest)
            self._arrays = {column.name: self._group[column.name] for column in self.columns}
            self._digests = self._group[_DIGESTS]
            self._refuse_other_arrays()
        except DatasetError:
            raise
        except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise DatasetError(f"{path}: cannot be opened as a Zarr store: {type(error).__name__}: {error}") from None

    def _refuse_other_arrays(self) -> None:
        """Raise where an array is not as the manifest has it: chunks would lie in other files, or overlap."""
        states, chunks = self.manifest["states"]["count"], self.manifest["chunks"]
        expected = {
            column.name: ((states, *column.tail), (chunks["states"], *column.tail), column.kind)
            for column in self.columns
        }
        tail = len(self.columns), 32
        expected[_DIGESTS] = (chunks["count"], *tail), (1, *tail), "uint8"
        for name, wanted in expected.items():
            array = self._group[name]
            found = tuple(array.shape), tuple(array.chunks), str(array.dtype)
            separator = array.metadata.chunk_key_encoding.separator
            if found != wanted or separator != _NAMES["separator"]:
                raise DatasetError(
                    f"{self.path}: array {name!r} is not that of the manifest: shape, chunks and type {wanted}, found "
                    f"{found}, chunks named by {separator!r}"
                )

    @staticmethod
    def lay_out(path: Path, manifest: dict[str, Any]) -> None:
        """Write the metadata of all arrays."""
        zarr = zarr_module()
        group = zarr.open_group(durable_store(path, None), mode="w", zarr_format=3, attributes={_KEY: manifest})
        states, chunks = manifest["states"]["count"], manifest["chunks"]
        columns = columns_of(manifest)
        always = {"write_empty_chunks": True}
        for column in columns:
            group.create_array(
                column.name,
                shape=(states, *column.tail),
                chunks=(chunks["states"], *column.tail),
                dtype=column.kind,
                fill_value=column.fill if column.kind == "float64" else int(column.fill),
                compressors=[zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle"), zarr.codecs.Crc32cCodec()],
                chunk_key_encoding=_NAMES,
                dimension_names=("state", *_dimensions(column)),
                attributes={"unit": column.unit},
                config=always,
            )
        group.create_array(
            _DIGESTS,
            shape=(chunks["count"], len(columns), 32),
            chunks=(1, len(columns), 32),
            dtype="uint8",
            fill_value=0,
            compressors=None,
            chunk_key_encoding=_NAMES,
            dimension_names=("chunk", "array", "byte"),
            attributes={"what": "SHA-256 of the arrays of each chunk, in the order of the manifest's columns"},
            config=always,
        )

    def done(self) -> NDArray[np.bool_]:
        """As `Store.done`."""
        found = np.ones(self.manifest["chunks"]["count"], dtype=bool)
        for name in (_DIGESTS, *self._arrays):
            there = np.zeros(len(found), dtype=bool)
            there[_numbered(self.path / name, _CHUNK_FILE, len(found))] = True
            found &= there
        return found

    def has(self, chunk: int) -> bool:
        """As `Store.has`."""
        files = (self._file(column.name, chunk, len(column.tail)) for column in self.columns)
        return self._file(_DIGESTS, chunk, 2).is_file() and all(file.is_file() for file in files)

    def _file(self, name: str, chunk: int, more: int) -> Path:
        return self.path / name / f"c.{chunk}{'.0' * more}"

    def discard(self, chunk: int) -> None:
        """As `Store.discard`."""
        self._file(_DIGESTS, chunk, 2).unlink(missing_ok=True)

    def is_there(self) -> bool:
        """As `Store.is_there`."""
        return _is_of(self.manifest["sha256"], self.path / "zarr.json", "attributes", _KEY)

    def write(self, chunk: int, arrays: Arrays) -> None:
        """As `Store.write`."""
        _refuse_where_gone(self)
        states = states_of_chunk(self.manifest, chunk)
        digests = digests_of(arrays)
        rows = [bytes.fromhex(digests[column.name]) for column in self.columns]
        for name, values in arrays.items():
            self._arrays[name][states.start : states.stop] = values
        self._digests[chunk] = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, 32)

    def read(self, chunk: int) -> Arrays:
        """As `Store.read`."""
        where = f"{self.path}: chunk {chunk}"
        states = states_of_chunk(self.manifest, chunk)
        try:
            rows = np.asarray(self._digests[chunk])
            if not rows.any():
                raise DatasetError(f"{where}: is not there yet")
            arrays = {name: np.asarray(array[states.start : states.stop]) for name, array in self._arrays.items()}
        except DatasetError:
            raise
        except (OSError, ValueError, RuntimeError) as error:  # of files, checksums and the codec
            raise DatasetError(f"{where}: is damaged: {error}") from None
        names = [column.name for column in self.columns]
        return _compared(arrays, {name: rows[i].tobytes().hex() for i, name in enumerate(names)}, where)


def _dimensions(column: Column) -> tuple[str, ...]:
    if not column.per_pair:
        return ("joint",) if len(column.tail) == 1 else ("base", "row", "column")
    return ("pair", *(("joint",) if column.name == "gradient" else ("axis",) * (len(column.tail) - 1)))


def _numbered(folder: Path, form: re.Pattern[str], most: int) -> list[int]:
    """Numbers of the files or folders in a folder whose names have a form."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    matches = filter(None, map(form.fullmatch, names))
    return [number for number in (int(match[1]) for match in matches) if number < most]


def durable_store(path: Path, below: Path | None) -> Any:
    """zarr's store in a folder, but that a file is on the disk when it has been written, and whole at any time.

    `below` as for `write_whole`.
    """
    folder_store: Any = zarr_module().storage.LocalStore

    class DurableStore(folder_store):
        async def set(self, key: str, value: Any) -> None:
            import asyncio

            await asyncio.to_thread(write_whole, self.root / key, value.to_bytes(), below)

    return DurableStore(path)


class ParquetStore:
    """A folder with a Parquet file a chunk; the digests are in its metadata."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            found = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DatasetError(f"{path / _MANIFEST}: cannot be read: {error}") from None
        self.manifest = manifests.checked(found, str(path))
        self._arrow, self._parquet = _pyarrow()

    @staticmethod
    def lay_out(path: Path, manifest: dict[str, Any]) -> None:
        """Write the manifest, which readers of folders of Parquet leave alone for its underscore."""
        _pyarrow()
        write_whole(path / _MANIFEST, json.dumps(manifest, indent=1).encode())

    def file(self, chunk: int) -> Path:
        """The file of a chunk."""
        return self.path / f"chunk-{chunk:09d}.parquet"

    def done(self) -> NDArray[np.bool_]:
        """As `Store.done`."""
        found = np.zeros(self.manifest["chunks"]["count"], dtype=bool)
        found[_numbered(self.path, re.compile(r"chunk-(\d{9,})\.parquet"), len(found))] = True
        return found

    def has(self, chunk: int) -> bool:
        """As `Store.has`."""
        return self.file(chunk).is_file()

    def discard(self, chunk: int) -> None:
        """As `Store.discard`."""
        self.file(chunk).unlink(missing_ok=True)

    def is_there(self) -> bool:
        """As `Store.is_there`."""
        return _is_of(self.manifest["sha256"], self.path / _MANIFEST)

    def write(self, chunk: int, arrays: Arrays) -> None:
        """As `Store.write`."""
        _refuse_where_gone(self)
        table = self._arrow.table(_flat(arrays, self.manifest["question"]["joints"]))
        table = table.replace_schema_metadata({_KEY: json.dumps(digests_of(arrays))})
        sink = self._arrow.BufferOutputStream()
        self._parquet.write_table(table, sink, compression="zstd", write_page_checksum=True)
        write_whole(self.file(chunk), memoryview(sink.getvalue()), self.path)

    def read(self, chunk: int) -> Arrays:
        """As `Store.read`."""
        where, path = f"{self.path}: chunk {chunk}", self.file(chunk)
        if not path.is_file():
            raise DatasetError(f"{where}: is not there yet")
        try:
            table = self._parquet.read_table(path, page_checksum_verification=True, partitioning=None)
            digests = json.loads(table.schema.metadata[_KEY.encode()])
            arrays = _folded(table, self.manifest["question"]["joints"])
        except (OSError, ValueError, KeyError, TypeError) as error:  # pyarrow's errors are these
            raise DatasetError(f"{where}: is damaged: {error}") from None
        return _compared(arrays, digests, where)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise needs(error) from None
    return pyarrow, pyarrow.parquet


def _parts(name: str, joints: list[str]) -> list[str]:
    """The names of the columns that an array of several is in a table."""
    if name == "gradient":
        return [f"d_{joint}" for joint in joints]
    return [f"{name}_{axis}" for axis in "xyz"]


def _flat(arrays: Arrays, joints: list[str]) -> Arrays:
    flat: Arrays = {}
    for name, values in arrays.items():
        if values.ndim == 1:
            flat[name] = values
        else:
            flat |= {part: values[:, i] for i, part in enumerate(_parts(name, joints))}
    return flat


def _folded(table: Any, joints: list[str]) -> Arrays:
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    for name in ("point_a", "point_b", "normal", "gradient"):
        parts = _parts(name, joints)
        if parts and parts[0] in columns:
            columns[name] = np.stack([columns.pop(part) for part in parts], axis=1)
    return columns
