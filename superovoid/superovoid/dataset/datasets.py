# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Create, open and compute data sets: states of a robot, the query made in each, and the results in chunks."""

from __future__ import annotations

import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.dataset import manifests, stores
from superovoid.dataset.errors import DatasetError
from superovoid.dataset.question import Arrays, Cancellation, Question, digests_of
from superovoid.dataset.spreading import spread
from superovoid.dataset.state_sources import FileStates, GridStates, RandomStates, States, states_of
from superovoid.robot import Robot
from superovoid.robot.errors import RobotDescriptionError
from superovoid.robot.files import PackageFolders, read_document
from superovoid.values.checks import number

FloatArray = NDArray[np.float64]

# Approximate number of pair results and bytes in a chunk, and largest number of states: a chunk takes seconds.
_CHUNK_ROWS, _CHUNK_BYTES, _CHUNK_STATES = 500_000, 64 << 20, 1 << 14
_BLOCK = 64


@dataclass(frozen=True)
class Random:
    """Random states; see `RandomStates`."""

    count: int
    seed: int = 0
    law: str = "uniform"
    steps: int = 64
    ranges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    bases: Mapping[str, ArrayLike] = field(default_factory=dict)

    def for_robot(self, robot: Robot) -> States:
        """Return the states for a robot."""
        options: dict[str, Any] = {"steps": self.steps, "ranges": self.ranges, "bases": self.bases}
        return RandomStates(robot, self.count, self.seed, self.law, **options)


@dataclass(frozen=True)
class Grid:
    """All states of a grid; see `GridStates`."""

    points: int | Mapping[str, int]
    ranges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    bases: Mapping[str, ArrayLike] = field(default_factory=dict)

    def for_robot(self, robot: Robot) -> States:
        """Return the states for a robot."""
        return GridStates(robot, self.points, ranges=self.ranges, bases=self.bases)


@dataclass(frozen=True)
class FromFile:
    """States from a file; see `FileStates`."""

    path: str | os.PathLike[str]
    bases: Mapping[str, ArrayLike] = field(default_factory=dict)

    def for_robot(self, robot: Robot) -> States:
        """Return the states for a robot."""
        return FileStates(robot, Path(self.path), bases=self.bases)


@dataclass(frozen=True)
class Run:
    """Summary of a run."""

    computed: tuple[int, ...]
    """Chunks computed by this run, in order of completion; excludes chunks that already existed."""
    answers: int
    """Number of (state, pair) results in these chunks; with `max_distance`, number of pairs examined."""
    seconds: float


@dataclass(frozen=True)
class Progress:
    """Progress of a run, as reported by `Dataset.run`."""

    done: int
    """Number of chunks that exist."""
    chunks: int
    computed: int
    """Number of chunks computed by this run."""
    answers: int
    """Number of results computed by this run."""
    seconds: float

    @property
    def rate(self) -> float:
        """Results per second of this run."""
        return self.answers / self.seconds if self.seconds > 0.0 else 0.0

    @property
    def remaining(self) -> float:
        """Estimated time for the missing chunks at the rate of this run, s; nan before its first chunk."""
        return (self.chunks - self.done) * self.seconds / self.computed if self.computed else math.nan


class Dataset:
    """A data set in a store, made by `create` or `open`.

    Attributes
    ----------
    path : Path
    manifest : dict
        Everything needed to recompute a chunk: robot, states, question, chunks, versions, processor.
    states, chunks : int
        Numbers of states and chunks of the complete data set.
    bodies : tuple of str
    pairs : array of int, shape (pairs, 2)
        Indices into `bodies`, the smaller first: the columns of arrays by pair.
    joint_names : tuple of str
        The columns of ``positions`` and ``gradient``.
    """

    def __init__(self, store: stores.Store, package_directories: Mapping[str, str | Path] | None = None) -> None:
        self._store = store
        self.path, self.manifest = store.path, store.manifest
        question = self.manifest["question"]
        self.states, self.chunks = int(self.manifest["states"]["count"]), int(self.manifest["chunks"]["count"])
        self.bodies, self.joint_names = tuple(question["bodies"]), tuple(question["joints"])
        self.pairs = np.array(question["pairs"], dtype=np.int64).reshape(-1, 2)
        self._packages = dict(package_directories or {})
        self._source: tuple[Question, States] | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return (
            f"Dataset({str(self.path)!r}, {self.states} states, {len(self.pairs)} pairs, "
            f"{int(self.done.sum())} of {self.chunks} chunks)"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path only: another process opens the store at the same path."""
        return _open_again, (str(self.path.absolute()), {name: str(each) for name, each in self._packages.items()})

    # --- chunks and arrays ---

    @property
    def done(self) -> NDArray[np.bool_]:
        """Which chunks exist in the folder now, shape (chunks,); contents are not read (`check` reads them)."""
        return self._store.done_chunks()

    @property
    def is_complete(self) -> bool:
        """Whether all chunks exist."""
        return bool(self.done.all())

    def states_of(self, chunk: int) -> range:
        """Return the indices of the states of a chunk."""
        return stores.states_of_chunk(self.manifest, self._number(chunk))

    def read(self, chunk: int) -> Arrays:
        """Return the arrays of a chunk, after checking them against the stored digests.

        Raises
        ------
        DatasetError
            If the chunk has not been computed, or is damaged.
        IndexError
            If the data set has no such chunk.
        """
        return self._store.read(self._number(chunk))

    def array(self, name: str) -> Any:
        """Return an array of a Zarr store as a zarr array, for slices of many chunks.

        Missing chunks read as unknown: nan, an infinite interval, `Status.UNPROVEN`. zarr detects damage by the
        checksum of each file.

        Raises
        ------
        DatasetError
            If there is no such array, or the store holds rows (Parquet).
        """
        if not isinstance(self._store, stores.ZarrStore):
            raise DatasetError(f"{self.path}: has rows, not arrays: use read(chunk) or any reader of Parquet")
        names = [column.name for column in self._store.columns]
        if name not in names:
            raise DatasetError(f"{self.path}: has no array {name!r} (arrays: {', '.join(names)})")
        return self._store._arrays[name]

    def positions(self, chunk: int) -> tuple[FloatArray, FloatArray]:
        """Recompute the joints (states, joints) and base poses (states, bases, 4, 4) of a chunk."""
        states = self.states_of(chunk)
        return self._load_source()[1].rows(states.start, states.stop)

    # --- computing ---

    def compute(self, chunk: int, stop: threading.Event | None = None) -> Arrays:
        """Compute a chunk in this thread without writing it.

        Raises
        ------
        DatasetError
            If this process might produce other bits than those of the other chunks (`superovoid.dataset.arithmetic`),
            or if the robot or the file of states has changed.
        """
        states = self.states_of(chunk)
        question, source = self._load_source()
        manifests.refuse_other_arithmetic(self.manifest, str(self.path))
        arrays = question.answer(*source.rows(states.start, states.stop), stop)
        if "state" in arrays:
            arrays["state"] += states.start
        return arrays

    def make(self, chunk: int, stop: threading.Event | None = None) -> bool:
        """Compute and write a chunk unless it exists; return whether it was computed.

        Raises
        ------
        DatasetError
            As `compute`, and if the chunk cannot be written.
        """
        if self._store.has_chunk(self._number(chunk)):
            return False
        arrays = self.compute(chunk, stop)
        try:
            self._store.write(chunk, arrays)
        except OSError as error:
            if not self._store.is_there():
                raise DatasetError(
                    f"{self.path}: chunk {chunk} cannot be written: the store is gone. If it was moved, resume it at "
                    "its new path"
                ) from None
            raise DatasetError(
                f"{self.path}: chunk {chunk} cannot be written: {error.strerror or error}. Chunks already written are "
                "kept; resume when there is room"
            ) from None
        return True

    def run(
        self,
        chunks: Iterable[int] | None = None,
        *,
        threads: int | None = None,
        workers: int | None = None,
        scheduler: str | None = None,
        progress: Callable[[Progress], object] | None = None,
        on_dashboard: Callable[[str], object] | None = None,
    ) -> Run:
        """Compute the missing chunks.

        A run may be stopped at any time, even killed: chunks already written are kept, and the next run continues.

        Parameters
        ----------
        chunks : iterable of int, optional
            Compute only these chunks.
        threads : int, optional
            Threads of this process, one chunk each; default: one per processor.
        workers : int, optional
            Number of dask.distributed worker processes on this machine, instead of threads.
        scheduler : str, optional
            Address of a dask.distributed scheduler, instead of threads. Its workers must see the store, and the meshes
            of the robot, at the same paths.
        progress : callable, optional
            Called with a `Progress` after every chunk.
        on_dashboard : callable, optional
            Called with the address of dask's dashboard, if there is one.

        Raises
        ------
        DatasetError
            As `make`, and if the scheduler is lost.
        """
        started = time.perf_counter()
        there = self._store.done_chunks()
        wanted = range(self.chunks) if chunks is None else [self._number(chunk) for chunk in dict.fromkeys(chunks)]
        left = [chunk for chunk in wanted if not there[chunk]]
        count, computed, answers = int(there.sum()), [], 0
        self._load_source()  # before threads or workers start, so that an error is raised once
        manifests.refuse_other_arithmetic(self.manifest, str(self.path))

        def take(chunk: int, is_new: bool) -> None:
            nonlocal count, answers
            count += 1
            if is_new:
                computed.append(chunk)
                answers += len(self.states_of(chunk)) * len(self.pairs)
            if progress is not None:
                progress(Progress(count, self.chunks, len(computed), answers, time.perf_counter() - started))

        stop = threading.Event()
        by: dict[str, Any] = {"threads": threads, "workers": workers, "scheduler": scheduler}
        if workers is None and scheduler is None:
            work: Callable[[int], bool] = partial(self.make, stop=stop)
        else:
            work = partial(_make_in_worker, str(self.path.absolute()), self.manifest["sha256"], self._packages)
        try:
            # Closed immediately if the caller's progress raises, so that threads stop.
            with closing(spread(work, left, **by, stop=stop, on_dashboard=on_dashboard)) as ended:
                for chunk, is_new in ended if left else ():
                    take(chunk, is_new)
        except Cancellation:
            raise AssertionError("a chunk was cancelled without a request") from None
        return Run(tuple(computed), answers, time.perf_counter() - started)

    def remove_left_overs(self) -> None:
        """Remove partial files of ended processes of this machine; readers ignore them anyway."""
        stores.remove_left_overs(self._store)

    # --- checks ---

    def check(self, progress: Callable[[int], object] | None = None) -> dict[int, str]:
        """Read all existing chunks; return the damaged ones with a description of the damage."""
        damaged = {}
        for chunk in np.flatnonzero(self.done).tolist():
            try:
                self.read(chunk)
            except DatasetError as error:
                damaged[chunk] = str(error)
            if progress is not None:
                progress(chunk)
        return damaged

    def discard(self, chunk: int) -> None:
        """Remove a chunk from the store, so that the next run recomputes it."""
        self._store.discard(self._number(chunk))

    def verify(self, count: int, seed: int | None = None) -> dict[int, str]:
        """Recompute randomly chosen existing chunks and compare all bits.

        Parameters
        ----------
        count : int
            Number of chunks; at most all existing ones are chosen.
        seed : int, optional
            Seed of the choice; default: a different choice in each call.

        Returns
        -------
        dict of int to str
            The recomputed chunks with a description of what differs, empty if nothing does.
        """
        there = np.flatnonzero(self.done).tolist()
        found = {}
        for chunk in sorted(random.Random(seed).sample(there, min(count, len(there)))):
            ours = digests_of(self.compute(chunk))
            try:
                stored = digests_of(self.read(chunk))
            except DatasetError as error:
                found[chunk] = str(error)
                continue
            wrong = [name for name in ours if ours[name] != stored.get(name)]
            found[chunk] = f"{', '.join(wrong)}: bits differ from those in the store" if wrong else ""
        return found

    # --- private ---

    def _number(self, chunk: int) -> int:
        if not 0 <= chunk < self.chunks:
            raise IndexError(f"chunk {chunk}: must be from 0 to {self.chunks - 1}")
        return int(chunk)

    def _load_source(self) -> tuple[Question, States]:
        """Return question (with its robot) and states as the manifest defines them; they are loaded once."""
        with self._lock:
            if self._source is None:
                self._source = _source(self.manifest, self._packages, str(self.path))
            return self._source


def _source(manifest: Mapping[str, Any], packages: Mapping[str, str | Path], where: str) -> tuple[Question, States]:
    try:
        return _source_of_manifest(manifest, packages, where)
    except (DatasetError, RobotDescriptionError):
        raise
    except (TypeError, KeyError, ValueError, IndexError, AttributeError, OverflowError) as error:
        # The digest and the types are right, so the manifest was made by hand and its values make no sense.
        words = f"{type(error).__name__}: {error}"
        raise DatasetError(f"{where}: the manifest has invalid values: {words[:300]}") from None


def _source_of_manifest(
    manifest: Mapping[str, Any], packages: Mapping[str, str | Path], where: str
) -> tuple[Question, States]:
    about, question = manifest["robot"], manifest["question"]
    robot = _robot(about, {**manifest["where"]["packages"], **packages})
    asked = _question(robot, question["between"], question["extras"], question["max_distance"])
    if asked.fingerprint != about["fingerprint"]:
        raise DatasetError(
            f"{where}: robot '{robot.name}' differs from the robot for which the data set was created: a mesh has "
            "changed, or another version reads the files differently"
        )
    states = states_of(manifest["states"], robot, manifest["where"]["states file"])
    if states.manifest() != manifest["states"]:
        file = manifest["where"]["states file"]
        what = (
            "the states in the manifest cannot be reproduced"
            if file is None
            else f"the file of states {file} has changed since the data set was created"
        )
        raise DatasetError(f"{where}: {what}")
    return asked, states


def _robot(about: Mapping[str, Any], packages: Mapping[str, str | Path]) -> Robot:
    return Robot.from_urdf(
        about["urdf"],
        srdf=about["srdf"],
        package_directories=PackageFolders(packages),
        meshes=about["meshes"],
        representation=about["representation"],
    )


def _question(robot: Robot, between: Any, extras: Sequence[str], max_distance: str | None) -> Question:
    return Question(
        robot,
        between and (between[0], between[1]),
        extras,
        None if max_distance is None else float.fromhex(max_distance),
    )


def create(
    path: str | os.PathLike[str],
    robot: str | os.PathLike[str],
    states: Random | Grid | FromFile,
    *,
    srdf: str | os.PathLike[str] | None = None,
    between: tuple[Sequence[str], Sequence[str]] | None = None,
    extras: Iterable[str] = (),
    max_distance: float | None = None,
    chunk_states: int | None = None,
    package_directories: Mapping[str, str | Path] | None = None,
    meshes: str = "hull",
    representation: str = "mixed",
) -> Dataset:
    """Create a data set without chunks, or open `path` if it holds the same data set; `Dataset.run` computes chunks.

    Parameters
    ----------
    path : path
        Folder of the store: ``NAME.zarr``, or ``NAME.parquet`` with `max_distance`.
    robot, srdf, package_directories, meshes, representation
        As for `Robot.load`. The texts are copied into the store; meshes are read from where they are.
    states : Random, Grid or FromFile
    between : (sequence of str, sequence of str), optional
        Links or groups: only pairs between these; default: all pairs that the robot's rules allow.
    extras : iterable of {"points", "normals", "gradients"}
        Results to store in addition to distance, interval and status.
    max_distance : float, optional
        m. If set, store rows of the pairs at this distance or less.
    chunk_states : int, optional
        Number of states per chunk; default: chosen so that a chunk takes seconds.

    Raises
    ------
    DatasetError
        If an argument is invalid, or `path` holds something else.
    RobotDescriptionError
        If the robot cannot be read.
    OSError
        If a file cannot be read, or the store cannot be written.
    """
    where = Path(path)
    if max_distance is not None:
        try:
            max_distance = number("max_distance", max_distance, "metres")
        except ValueError as error:
            raise DatasetError(str(error)) from None
    if where.suffix != (".zarr" if max_distance is None else ".parquet"):
        given = "no max_distance" if max_distance is None else f"max_distance = {max_distance:g} m"
        raise DatasetError(
            f"output {where}: must be NAME.zarr without max_distance, NAME.parquet with it; found {given}"
        )
    extras = tuple(extras)
    unknown = set(extras) - {"points", "normals", "gradients"}
    if unknown:
        raise DatasetError(f"extras: {sorted(unknown)[0]!r}: must be some of points, normals, gradients")
    if chunk_states is not None and not 1 <= chunk_states <= 1 << 24:
        raise DatasetError(f"chunk_states = {chunk_states!r}: must be an integer from 1 to {1 << 24}")
    folders = PackageFolders(package_directories)
    urdf, around = read_document("URDF", robot, folders)
    text = None if srdf is None else read_document("SRDF", srdf, folders)[0]
    known = {**around, **(package_directories or {})} if "<mesh" in urdf else {}
    packages = {name: str(Path(folder).absolute()) for name, folder in known.items()}
    about = {"urdf": urdf, "srdf": text, "meshes": meshes, "representation": representation}
    read = _robot(about, packages)
    limit = None if max_distance is None else float(max_distance).hex()
    asked = _question(read, between and [list(between[0]), list(between[1])], extras, limit)
    source = states.for_robot(read)
    size = min(chunk_states or _usual_size(asked), source.count)
    if source.count > manifests.MOST_CHUNKS * size:
        raise DatasetError(
            f"chunk_states = {size}: {source.count} states would make {-(-source.count // size)} chunks, at most "
            f"{manifests.MOST_CHUNKS} are allowed: use larger chunks, or several data sets"
        )
    manifest = manifests.seal(
        {
            "robot": {**about, "name": read.name, "fingerprint": asked.fingerprint},
            "states": source.manifest(),
            "question": {
                "between": between and [list(between[0]), list(between[1])],
                "extras": list(asked.extras),
                "max_distance": limit,
                "bodies": list(asked.bodies),
                "pairs": asked.pairs.tolist(),
                "joints": list(read.joint_names),
                "bases": list(read.base_links),
                "columns": [
                    {
                        "name": column.name,
                        "tail": list(column.tail),
                        "kind": column.kind,
                        "fill": str(column.fill),
                        "per pair": column.per_pair,
                        "unit": column.unit,
                    }
                    for column in asked.columns
                ],
            },
            "chunks": {"states": size, "count": -(-source.count // size)},
            "where": {
                "packages": packages,
                "states file": str(source.path) if isinstance(source, FileStates) else None,
            },
        }
    )
    found = Dataset(stores.make(where, manifest), package_directories)
    found._source = asked, source
    return found


def _usual_size(question: Question) -> int:
    """Return the number of states of a chunk that takes seconds, a multiple of the block size of `StateQuery`."""
    pairs = len(question.pairs)
    a_state = sum(8 * int(np.prod(column.tail)) for column in question.columns)
    size = min(_CHUNK_ROWS // pairs, _CHUNK_BYTES // a_state if question.max_distance is None else _CHUNK_STATES)
    return max(1, min(size, _CHUNK_STATES) // _BLOCK) * _BLOCK


def open(  # noqa: A001 (as `zarr.open`)
    path: str | os.PathLike[str], *, package_directories: Mapping[str, str | Path] | None = None
) -> Dataset:
    """Open a data set to read it, or to continue it with `Dataset.run`.

    Parameters
    ----------
    path : path
    package_directories : mapping of str to path, optional
        Current folders of packages with meshes, if they have moved.

    Raises
    ------
    DatasetError
        If there is no data set, or it is damaged or has another format.
    """
    return Dataset(stores.open_store(Path(path)), package_directories)


def _open_again(path: str, packages: Mapping[str, str]) -> Dataset:
    return open(path, package_directories=packages)


@cache
def _worker_dataset(path: str, digest: str, packages: tuple[tuple[str, str], ...]) -> Dataset:
    """Return the data set that this worker process computes, opened once."""
    found = open(path, package_directories=dict(packages))
    if found.manifest["sha256"] != digest:
        raise DatasetError(f"{path}: this worker finds another data set at this path than the submitting process")
    return found


def _make_in_worker(path: str, digest: str, packages: Mapping[str, str | Path], chunk: int) -> bool:
    places = tuple((name, str(folder)) for name, folder in packages.items())
    return _worker_dataset(path, digest, places).make(chunk)
