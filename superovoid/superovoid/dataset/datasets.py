# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A data set: states of a robot, what is asked of them, and the chunks of the answer that are there."""

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
from superovoid.dataset.question import Arrays, Question, Stopped, digests_of
from superovoid.dataset.spreading import spread
from superovoid.dataset.state_sources import FileStates, GridStates, RandomStates, States, states_of
from superovoid.robot import Robot
from superovoid.robot.errors import RobotDescriptionError
from superovoid.robot.files import PackageFolders, read_document
from superovoid.values.checks import number

FloatArray = NDArray[np.float64]

# A chunk has about so many answers and bytes, and so many states at most: it takes seconds.
_CHUNK_ROWS, _CHUNK_BYTES, _CHUNK_STATES = 500_000, 64 << 20, 1 << 14
_BLOCK = 64


@dataclass(frozen=True)
class Random:
    """States at random, as `RandomStates` has them."""

    count: int
    seed: int = 0
    law: str = "uniform"
    steps: int = 64
    ranges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    bases: Mapping[str, ArrayLike] = field(default_factory=dict)

    def of(self, robot: Robot) -> States:
        """The states for a robot."""
        options: dict[str, Any] = {"steps": self.steps, "ranges": self.ranges, "bases": self.bases}
        return RandomStates(robot, self.count, self.seed, self.law, **options)


@dataclass(frozen=True)
class Grid:
    """All states of a grid, as `GridStates` has them."""

    points: int | Mapping[str, int]
    ranges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    bases: Mapping[str, ArrayLike] = field(default_factory=dict)

    def of(self, robot: Robot) -> States:
        """The states for a robot."""
        return GridStates(robot, self.points, ranges=self.ranges, bases=self.bases)


@dataclass(frozen=True)
class FromFile:
    """States of a file, as `FileStates` reads it."""

    path: str | os.PathLike[str]
    bases: Mapping[str, ArrayLike] = field(default_factory=dict)

    def of(self, robot: Robot) -> States:
        """The states for a robot."""
        return FileStates(robot, Path(self.path), bases=self.bases)


@dataclass(frozen=True)
class Run:
    """What a run did."""

    computed: tuple[int, ...]
    """Chunks that it computed, in the order in which they ended; those that were there are not among them."""
    answers: int
    """Answers about a state and a pair in these: of rows within `max_distance`, the pairs that were looked at."""
    seconds: float


@dataclass(frozen=True)
class Progress:
    """How far a run is: what `Dataset.run` tells."""

    done: int
    """Chunks that are there."""
    chunks: int
    computed: int
    """Chunks of this run, by now."""
    answers: int
    """Of this run, by now."""
    seconds: float

    @property
    def rate(self) -> float:
        """Answers a second of this run."""
        return self.answers / self.seconds if self.seconds > 0.0 else 0.0

    @property
    def remaining(self) -> float:
        """Seconds that the chunks which are missing will take, at the pace of this run; nan before its first."""
        return (self.chunks - self.done) * self.seconds / self.computed if self.computed else math.nan


class Dataset:
    """A data set in a store. `create` makes one, `open` finds one.

    Attributes
    ----------
    path : Path
    manifest : dict
        All that it takes to compute a chunk again: robot, states, question, chunks, versions, processor.
    states, chunks : int
        How many there are to be.
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
        """A data set is its store: another process opens it at the same path."""
        return _opened_again, (str(self.path.absolute()), {name: str(each) for name, each in self._packages.items()})

    # --- what is there ---

    @property
    def done(self) -> NDArray[np.bool_]:
        """Which chunks are there, shape (chunks,), as the folder says now; contents are not read (`check` does)."""
        return self._store.done()

    @property
    def is_complete(self) -> bool:
        """Whether all chunks are there."""
        return bool(self.done.all())

    def states_of(self, chunk: int) -> range:
        """The numbers of the states of a chunk."""
        return stores.states_of_chunk(self.manifest, self._number(chunk))

    def read(self, chunk: int) -> Arrays:
        """The arrays of a chunk, whose bits are compared with the digests that were written.

        Raises
        ------
        DatasetError
            If it is not there, or damaged.
        IndexError
            If there is no such chunk.
        """
        return self._store.read(self._number(chunk))

    def array(self, name: str) -> Any:
        """An array of a Zarr store as zarr's own, for slices of many chunks.

        Where a chunk is not there yet it reads as nothing known: nan, an interval without ends, `Status.UNPROVEN`.
        zarr finds damage by the checksum of each file.

        Raises
        ------
        DatasetError
            If there is no such array, or the store has rows.
        """
        if not isinstance(self._store, stores.ZarrStore):
            raise DatasetError(f"{self.path}: has rows, no arrays: read(chunk), or any reader of Parquet")
        names = [column.name for column in self._store.columns]
        if name not in names:
            raise DatasetError(f"{self.path}: has no array {name!r} (arrays: {', '.join(names)})")
        return self._store._arrays[name]

    def positions(self, chunk: int) -> tuple[FloatArray, FloatArray]:
        """Joints (states, joints) and poses of bases (states, bases, 4, 4) of a chunk, made anew."""
        states = self.states_of(chunk)
        return self._made_of()[1].rows(states.start, states.stop)

    # --- computing ---

    def compute(self, chunk: int, stop: threading.Event | None = None) -> Arrays:
        """Compute a chunk, by this thread; nothing is written.

        Raises
        ------
        DatasetError
            If the bits might be others than those of the other chunks (`superovoid.dataset.arithmetic`), or the
            robot or the file of states is another by now.
        """
        states = self.states_of(chunk)
        question, source = self._made_of()
        manifests.refuse_other_arithmetic(self.manifest, str(self.path))
        arrays = question.answer(*source.rows(states.start, states.stop), stop)
        if "state" in arrays:
            arrays["state"] += states.start
        return arrays

    def make(self, chunk: int, stop: threading.Event | None = None) -> bool:
        """Compute and write a chunk, unless it is there; return whether it was not.

        Raises
        ------
        DatasetError
            As `compute`, and if it cannot be written.
        """
        if self._store.has(self._number(chunk)):
            return False
        arrays = self.compute(chunk, stop)
        try:
            self._store.write(chunk, arrays)
        except OSError as error:
            if not self._store.is_there():
                raise DatasetError(
                    f"{self.path}: chunk {chunk} cannot be written: the store is not there any more. What there was "
                    "stays; if it was moved, resume it where it is now"
                ) from None
            raise DatasetError(
                f"{self.path}: chunk {chunk} cannot be written: {error.strerror or error}. What is there stays; "
                "resume when there is room"
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
        told: Callable[[str], object] | None = None,
    ) -> Run:
        """Compute the chunks that are missing.

        May be ended at any time, by any means; what is there by then stays, and the next run goes on.

        Parameters
        ----------
        chunks : iterable of int, optional
            Only these.
        threads : int, optional
            Threads of this process, a chunk each; default: as many as there are processors.
        workers : int, optional
            Instead: so many worker processes of dask.distributed, on this machine.
        scheduler : str, optional
            Instead: the address of a scheduler of dask.distributed. Its workers are to see the store, and the meshes of
            the robot, at the same paths.
        progress : callable, optional
            Told after every chunk.
        told : callable, optional
            Told the address of dask's dashboard, where there is one.

        Raises
        ------
        DatasetError
            As `make`; if the scheduler is lost.
        """
        started = time.perf_counter()
        there = self._store.done()
        wanted = range(self.chunks) if chunks is None else [self._number(chunk) for chunk in dict.fromkeys(chunks)]
        left = [chunk for chunk in wanted if not there[chunk]]
        count, computed, answers = int(there.sum()), [], 0
        self._made_of()  # before threads or workers start: what is wrong is said once
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
            work = partial(_made_by_worker, str(self.path.absolute()), self.manifest["sha256"], self._packages)
        try:
            # Closed at once where the caller's progress fails, so that threads do not go on.
            with closing(spread(work, left, **by, stop=stop, told=told)) as ended:
                for chunk, is_new in ended if left else ():
                    take(chunk, is_new)
        except Stopped:
            raise AssertionError("a chunk ended early that nobody ended") from None
        return Run(tuple(computed), answers, time.perf_counter() - started)

    def remove_left_overs(self) -> None:
        """Remove half-written files of processes of this machine that are gone; readers do not see them anyway."""
        stores.remove_left_overs(self._store)

    # --- judging ---

    def check(self, progress: Callable[[int], object] | None = None) -> dict[int, str]:
        """Read all chunks that are there; return those that are damaged, with words on how."""
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
        """Take a chunk out of the store, so that the next run computes it again."""
        self._store.discard(self._number(chunk))

    def verify(self, count: int, seed: int | None = None) -> dict[int, str]:
        """Compute chunks again, chosen at random among those that are there, and compare all bits.

        Parameters
        ----------
        count : int
            How many, at most those that are there.
        seed : int, optional
            Of the choice; default: another each time.

        Returns
        -------
        dict of int to str
            The chunks computed, with words on what differs; empty words: nothing.
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
            found[chunk] = f"{', '.join(wrong)}: other bits than those in the store" if wrong else ""
        return found

    # --- inside ---

    def _number(self, chunk: int) -> int:
        if not 0 <= chunk < self.chunks:
            raise IndexError(f"chunk {chunk}: there are {self.chunks}, from 0 on")
        return int(chunk)

    def _made_of(self) -> tuple[Question, States]:
        """Robot, question and states as the manifest has them, read once."""
        with self._lock:
            if self._source is None:
                self._source = _source(self.manifest, self._packages, str(self.path))
            return self._source


def _source(manifest: Mapping[str, Any], packages: Mapping[str, str | Path], where: str) -> tuple[Question, States]:
    try:
        return _made_of_manifest(manifest, packages, where)
    except (DatasetError, RobotDescriptionError):
        raise
    except (TypeError, KeyError, ValueError, IndexError, AttributeError, OverflowError) as error:
        # Its digest holds, so that somebody has made it: its parts have the right types, but make no sense.
        words = f"{type(error).__name__}: {error}"
        raise DatasetError(f"{where}: its manifest speaks of nothing that can be asked: {words[:300]}") from None


def _made_of_manifest(
    manifest: Mapping[str, Any], packages: Mapping[str, str | Path], where: str
) -> tuple[Question, States]:
    about, question = manifest["robot"], manifest["question"]
    robot = _robot(about, {**manifest["where"]["packages"], **packages})
    asked = _question(robot, question["between"], question["extras"], question["max_distance"])
    if asked.fingerprint != about["fingerprint"]:
        raise DatasetError(
            f"{where}: robot '{robot.name}' is read with other numbers than when the data set was begun: a mesh has "
            "changed, or another version read it"
        )
    states = states_of(manifest["states"], robot, manifest["where"]["states file"])
    if states.manifest() != manifest["states"]:
        file = manifest["where"]["states file"]
        what = (
            "its manifest speaks of states that there are not"
            if file is None
            else f"the file of states {file} is another by now"
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
    """Make a data set without chunks, or open the same one where it is there; `Dataset.run` computes.

    Parameters
    ----------
    path : path
        Of the store: a folder, ``NAME.parquet`` with `max_distance` and any other name without.
    robot, srdf, package_directories, meshes, representation
        As for `Robot.load`. The texts become part of the store; meshes are read where they are.
    states : Random, Grid or FromFile
    between : (sequence of str, sequence of str), optional
        Links or groups: only pairs between these; default: all that the robot's rules allow.
    extras : iterable of {"points", "normals", "gradients"}
        Wanted beside distance, interval and status.
    max_distance : float, optional
        m. Given: rows of the pairs that are no farther.
    chunk_states : int, optional
        States of a chunk; default: so many that a chunk takes seconds.

    Raises
    ------
    DatasetError
        If something is wrong with an argument, or `path` is something else already.
    RobotDescriptionError
        If the robot cannot be read.
    OSError
        If a file cannot be read, or the store not be written.
    """
    where = Path(path)
    if max_distance is not None:
        try:
            max_distance = number("max_distance", max_distance, "metres")
        except ValueError as error:
            raise DatasetError(str(error)) from None
    if (where.suffix == ".parquet") != (max_distance is not None):
        raise DatasetError(
            f"output {where}: rows within max_distance go to NAME.parquet, and only these: "
            + ("give max_distance" if max_distance is None else f"found max_distance = {max_distance:g} m")
        )
    extras = tuple(extras)
    unknown = set(extras) - {"points", "normals", "gradients"}
    if unknown:
        raise DatasetError(f"extras: {sorted(unknown)[0]!r}: must be some of points, normals, gradients")
    if chunk_states is not None and not 1 <= chunk_states <= 1 << 24:
        raise DatasetError(f"chunk_states = {chunk_states!r}: must be an integer from 1 to {1 << 24}")
    folders = PackageFolders(package_directories)
    urdf, package = read_document("URDF", robot, folders)
    text = None if srdf is None else read_document("SRDF", srdf, folders)[0]
    packages = {
        name: str(Path(folder).absolute()) for name, folder in {**package, **(package_directories or {})}.items()
    }
    about = {"urdf": urdf, "srdf": text, "meshes": meshes, "representation": representation}
    read = _robot(about, packages)
    limit = None if max_distance is None else float(max_distance).hex()
    asked = _question(read, between and [list(between[0]), list(between[1])], extras, limit)
    source = states.of(read)
    size = min(chunk_states or _usual_size(asked), source.count)
    if source.count > manifests.MOST_CHUNKS * size:
        raise DatasetError(
            f"chunk_states = {size}: {source.count} states would be {-(-source.count // size)} chunks, and at most "
            f"{manifests.MOST_CHUNKS} can be: larger chunks, or several data sets"
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
    """States of a chunk that takes seconds, a multiple of what `StateQuery` answers at once."""
    pairs = len(question.pairs)
    a_state = sum(8 * int(np.prod(column.tail)) for column in question.columns)
    size = min(_CHUNK_ROWS // pairs, _CHUNK_BYTES // a_state if question.max_distance is None else _CHUNK_STATES)
    return max(1, min(size, _CHUNK_STATES) // _BLOCK) * _BLOCK


def open(  # noqa: A001 (as `zarr.open`)
    path: str | os.PathLike[str], *, package_directories: Mapping[str, str | Path] | None = None
) -> Dataset:
    """Open a data set to read it, or to continue it by `Dataset.run`.

    Parameters
    ----------
    path : path
    package_directories : mapping of str to path, optional
        Where packages with meshes are now, if they have moved.

    Raises
    ------
    DatasetError
        If there is none, or it is damaged or of another format.
    """
    return Dataset(stores.open_store(Path(path)), package_directories)


def _opened_again(path: str, packages: Mapping[str, str]) -> Dataset:
    return open(path, package_directories=packages)


@cache
def _of_worker(path: str, digest: str, packages: tuple[tuple[str, str], ...]) -> Dataset:
    """The data set that this process works for, opened once."""
    found = open(path, package_directories=dict(packages))
    if found.manifest["sha256"] != digest:
        raise DatasetError(f"{path}: this worker sees another data set there than who gives it work")
    return found


def _made_by_worker(path: str, digest: str, packages: Mapping[str, str | Path], chunk: int) -> bool:
    places = tuple((name, str(folder)) for name, folder in packages.items())
    return _of_worker(path, digest, places).make(chunk)
