# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Stores of chunks: Zarr for the results of every pair, Parquet for rows within `max_distance`.

The digests of a chunk's arrays are written last, and a chunk counts as stored once they are. A chunk whose writer was
killed is therefore absent and is computed again.
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
from superovoid.dataset.errors import DatasetError, missing_package_error, zarr_module
from superovoid.dataset.question import Arrays, Column, digests_of
from superovoid.dataset.whole_files import leftovers_below, leftovers_of, partial_of, write_whole

_KEY = "superovoid_dataset"  # attribute that holds the manifest
_DIGESTS = "digests"
_MANIFEST = "_manifest.json"
# A chunk is one file in the folder of its array, so that listing the folder shows which chunks exist.
_NAMES = {"name": "default", "separator": "."}
_CHUNK_FILE = re.compile(r"c\.(\d+)(?:\.0)*")


class Store(Protocol):
    """Storage of chunks."""

    path: Path
    manifest: dict[str, Any]

    def done_chunks(self) -> NDArray[np.bool_]:
        """Return which chunks exist, as a mask, without reading their contents."""

    def has_chunk(self, chunk: int) -> bool:
        """Return whether a chunk exists."""

    def discard(self, chunk: int) -> None:
        """Remove a chunk."""

    def is_there(self) -> bool:
        """Return whether the store is still at its path."""

    def write(self, chunk: int, arrays: Arrays) -> None:
        """Write a chunk; raise `OSError` if it cannot be written or the store is gone from its path."""

    def read(self, chunk: int) -> Arrays:
        """Return the arrays of a chunk; raise `DatasetError` if it is missing or damaged."""


def columns_of(manifest: Mapping[str, Any]) -> tuple[Column, ...]:
    """Return the columns listed in a manifest."""
    return tuple(
        Column(each["name"], tuple(each["tail"]), each["kind"], float(each["fill"]), each["per pair"], each["unit"])
        for each in manifest["question"]["columns"]
    )


def states_of_chunk(manifest: Mapping[str, Any], chunk: int) -> range:
    """Return the indices of a chunk's states."""
    size, count = manifest["chunks"]["states"], manifest["states"]["count"]
    return range(chunk * size, min((chunk + 1) * size, count))


def make(path: Path, manifest: dict[str, Any]) -> Store:
    """Create an empty store atomically, or open the one at `path` if it holds the same data set.

    Raises
    ------
    DatasetError
        If something else is at `path`.
    OSError
        If the store cannot be written.
    """
    kind = ParquetStore if path.suffix == ".parquet" else ZarrStore
    if not _is_free(path):
        return _open_same(path, manifest)
    path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in leftovers_of(path):
        shutil.rmtree(leftover, ignore_errors=True)
    partial = partial_of(path)
    try:
        partial.mkdir()
        kind.lay_out(partial, manifest)
        try:
            partial.rename(path)
        except OSError:
            if _is_free(path):
                raise
            return _open_same(path, manifest)  # another process was faster
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return open_store(path)


def _is_free(path: Path) -> bool:
    """Return whether the path does not exist or is an empty folder."""
    return not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir()))


def _open_same(path: Path, manifest: dict[str, Any]) -> Store:
    """Open a store; raise `DatasetError` if it holds another data set."""
    store = open_store(path)
    manifests.refuse_other(store.manifest, manifest, str(path))
    return store


def open_store(path: Path) -> Store:
    """Open an existing store.

    Raises
    ------
    DatasetError
        If there is no data set, or it has another format or is damaged.
    """
    if (path / "zarr.json").is_file():
        return ZarrStore(path)
    if (path / _MANIFEST).is_file():
        return ParquetStore(path)
    if not os.path.lexists(path):
        raise DatasetError(f"{path}: does not exist")
    kind = "a folder without zarr.json and _manifest.json" if path.is_dir() else "no folder"
    if path.is_symlink() and not path.exists():
        kind = f"a link to a missing path, {os.readlink(path)}"
    raise DatasetError(f"{path}: is not a data set: it is {kind}; choose an unused path")


def _is_of(digest: str, path: Path, *keys: str) -> bool:
    """Return whether a JSON file holds, under these nested keys, the manifest with a digest."""
    try:
        found = json.loads(path.read_bytes())
        for key in keys:
            found = found[key]
        return bool(found["sha256"] == digest)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _refuse_missing(store: Store) -> None:
    if not store.is_there():
        raise FileNotFoundError(errno.ENOENT, "the store is gone", str(store.path))


def remove_left_overs(store: Store) -> None:
    """Remove partial files of ended writers."""
    for path in leftovers_below(store.path):
        path.unlink(missing_ok=True)


def _check_digests(arrays: Arrays, digests: Mapping[str, str], where: str) -> Arrays:
    """Return the arrays; raise `DatasetError` if their digests differ from those stored."""
    found = digests_of(arrays)
    wrong = [name for name in digests if found.get(name) != digests[name]]
    if wrong or set(found) != set(digests):
        raise DatasetError(f"{where}: is damaged: digests differ from those written: {', '.join(wrong) or 'columns'}")
    return arrays


class ZarrStore:
    """A Zarr 3 group: one array per column with one file per chunk, and one more array with the digests of chunks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        zarr = zarr_module()
        try:
            self._group = zarr.open_group(durable_store(path, path), mode="r+", zarr_format=3)
            found = dict(self._group.attrs).get(_KEY)
            self.manifest = manifests.check_manifest(found, str(path))
            self.columns = columns_of(self.manifest)
            self._arrays = {column.name: self._group[column.name] for column in self.columns}
            self._digests = self._group[_DIGESTS]
            self._refuse_other_arrays()
        except DatasetError:
            raise
        except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise DatasetError(f"{path}: cannot be opened as a Zarr store: {type(error).__name__}: {error}") from None

    def _refuse_other_arrays(self) -> None:
        """Raise if an array contradicts the manifest: its chunks would lie in other files, or overlap."""
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
                    f"{self.path}: array {name!r}: expected shape, chunks and type {wanted} with separator "
                    f"{_NAMES['separator']!r}, found {found} with separator {separator!r}"
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

    def done_chunks(self) -> NDArray[np.bool_]:
        """As `Store.done_chunks`."""
        found = np.ones(self.manifest["chunks"]["count"], dtype=bool)
        for name in (_DIGESTS, *self._arrays):
            there = np.zeros(len(found), dtype=bool)
            there[_chunk_numbers(self.path / name, _CHUNK_FILE, len(found))] = True
            found &= there
        return found

    def has_chunk(self, chunk: int) -> bool:
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
        _refuse_missing(self)
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
                raise DatasetError(f"{where}: has not been computed yet")
            arrays = {name: np.asarray(array[states.start : states.stop]) for name, array in self._arrays.items()}
        except DatasetError:
            raise
        except (OSError, ValueError, RuntimeError) as error:  # from files, checksums and the codec
            raise DatasetError(f"{where}: is damaged: {error}") from None
        names = [column.name for column in self.columns]
        return _check_digests(arrays, {name: rows[i].tobytes().hex() for i, name in enumerate(names)}, where)


def _dimensions(column: Column) -> tuple[str, ...]:
    if not column.per_pair:
        return ("joint",) if len(column.tail) == 1 else ("base", "row", "column")
    return ("pair", *(("joint",) if column.name == "gradient" else ("axis",) * (len(column.tail) - 1)))


def _chunk_numbers(folder: Path, form: re.Pattern[str], most: int) -> list[int]:
    """Return the numbers (group 1 of the pattern) in the names of a folder's entries, if below `most`."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    matches = filter(None, map(form.fullmatch, names))
    return [number for number in (int(match[1]) for match in matches) if number < most]


def durable_store(path: Path, below: Path | None) -> Any:
    """Return zarr's store in a folder, changed to write each file atomically and to sync it to the disk.

    `below` as for `write_whole`.
    """
    folder_store: Any = zarr_module().storage.LocalStore

    class DurableStore(folder_store):
        async def set(self, key: str, value: Any) -> None:
            import asyncio

            await asyncio.to_thread(write_whole, self.root / key, value.to_bytes(), below)

    return DurableStore(path)


class ParquetStore:
    """A folder with one Parquet file per chunk, whose metadata holds the digests."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            found = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DatasetError(f"{path / _MANIFEST}: cannot be read: {error}") from None
        self.manifest = manifests.check_manifest(found, str(path))
        self._arrow, self._parquet = _pyarrow()

    @staticmethod
    def lay_out(path: Path, manifest: dict[str, Any]) -> None:
        """Write the manifest; readers of Parquet folders ignore it because of its underscore."""
        _pyarrow()
        write_whole(path / _MANIFEST, json.dumps(manifest, indent=1).encode())

    def file(self, chunk: int) -> Path:
        """Return the file of a chunk."""
        return self.path / f"chunk-{chunk:09d}.parquet"

    def done_chunks(self) -> NDArray[np.bool_]:
        """As `Store.done_chunks`."""
        found = np.zeros(self.manifest["chunks"]["count"], dtype=bool)
        found[_chunk_numbers(self.path, re.compile(r"chunk-(\d{9,})\.parquet"), len(found))] = True
        return found

    def has_chunk(self, chunk: int) -> bool:
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
        _refuse_missing(self)
        table = self._arrow.table(_split_vectors(arrays, self.manifest["question"]["joints"]))
        table = table.replace_schema_metadata({_KEY: json.dumps(digests_of(arrays))})
        sink = self._arrow.BufferOutputStream()
        self._parquet.write_table(table, sink, compression="zstd", write_page_checksum=True)
        write_whole(self.file(chunk), memoryview(sink.getvalue()), self.path)

    def read(self, chunk: int) -> Arrays:
        """As `Store.read`."""
        where, path = f"{self.path}: chunk {chunk}", self.file(chunk)
        if not path.is_file():
            raise DatasetError(f"{where}: has not been computed yet")
        try:
            table = self._parquet.read_table(path, page_checksum_verification=True, partitioning=None)
            digests = json.loads(table.schema.metadata[_KEY.encode()])
            arrays = _join_vectors(table, self.manifest["question"]["joints"])
        except (OSError, ValueError, KeyError, TypeError) as error:  # pyarrow's errors are these
            raise DatasetError(f"{where}: is damaged: {error}") from None
        return _check_digests(arrays, digests, where)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise missing_package_error(error) from None
    return pyarrow, pyarrow.parquet


def _parts(name: str, joints: list[str]) -> list[str]:
    """Return the names of the table columns that hold the components of an array of vectors."""
    if name == "gradient":
        return [f"d_{joint}" for joint in joints]
    return [f"{name}_{axis}" for axis in "xyz"]


def _split_vectors(arrays: Arrays, joints: list[str]) -> Arrays:
    flat: Arrays = {}
    for name, values in arrays.items():
        if values.ndim == 1:
            flat[name] = values
        else:
            flat |= {part: values[:, i] for i, part in enumerate(_parts(name, joints))}
    return flat


def _join_vectors(table: Any, joints: list[str]) -> Arrays:
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    for name in ("point_a", "point_b", "normal", "gradient"):
        parts = _parts(name, joints)
        if parts and parts[0] in columns:
            columns[name] = np.stack([columns.pop(part) for part in parts], axis=1)
    return columns
