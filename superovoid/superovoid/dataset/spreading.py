# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Chunks of work spread over threads, or over the workers of a dask scheduler: the one way to do so in this package.

==============  ====================================================================================================
`spread`        chunks by threads, by worker processes of this machine, or by a scheduler: results as they come
`in_order`      the same, results in the order of the chunks
==============  ====================================================================================================

A chunk is whatever a function takes that does it: a number, a tuple. What it gives must follow from the chunk alone, so
that nothing depends on who does it and when.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any, Generic, TypeVar

from superovoid.compiled.threads import workers as threads_of
from superovoid.dataset.errors import DatasetError, needs

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")

# Chunks that are given out beyond the first whose result is still to come, a thread or worker, where results are wanted
# in order: enough that none waits for a slow one, few enough that results which wait for it stay few.
_AHEAD = 8

# Tasks that a scheduler knows of at a time, a worker: enough that none waits, few enough that millions of chunks do not
# burden it.
_IN_FLIGHT = 4
# Seconds after which workers are counted again: the answer names every one of them.
_COUNTED_FOR = 1.0
# Workers that a scheduler is taken to have, in how far it may go ahead.
_REMOTE = 1024
# Workers that may die of one chunk before it is taken for the cause.
_MOST_DEATHS = 20
# dask has its workers give every larger array back to the system at once. Those of a chunk are soon needed again.
_SETTINGS = {
    "distributed.scheduler.allowed-failures": _MOST_DEATHS,
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 29,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
}
_PATIENCE = 20.0  # seconds for a scheduler to answer


def spread(
    work: Callable[[Chunk], Result],
    chunks: Iterable[Chunk],
    *,
    threads: int | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    stop: threading.Event | None = None,
    told: Callable[[str], object] | None = None,
) -> Generator[tuple[Chunk, Result], None, None]:
    """Do chunks; yield each with its result as it ends.

    Parameters
    ----------
    work : callable
        Does a chunk. By `workers` or a `scheduler` it is pickled, so it is to be a function of a module, or a partial
        of one.
    chunks : iterable
        Taken one after another, as threads or workers become free; to be pickled as `work`.
    threads : int, optional
        Threads of this process; default: as many as there are processors.
    workers : int, optional
        Instead: so many worker processes of dask.distributed, on this machine.
    scheduler : str, optional
        Instead: the address of a scheduler of dask.distributed.
    stop : threading.Event, optional
        Set where a chunk fails or the caller ends, so that chunks which look at it end too; for threads.
    told : callable, optional
        Told the address of dask's dashboard, where there is one.

    Raises
    ------
    DatasetError
        If dask.distributed is missing, or the scheduler cannot be reached or is lost.
    """
    if workers is None and scheduler is None:
        yield from by_threads(partial(_with_chunk, work), chunks, threads_of(threads), stop or threading.Event())
        return
    with Distributed(scheduler, workers) as distributed:
        if told is not None and distributed.dashboard:
            told(distributed.dashboard)
        yield from distributed.spread(partial(_with_chunk, work), chunks)


def _with_chunk(work: Callable[[Chunk], Result], chunk: Chunk) -> tuple[Chunk, Result]:
    return chunk, work(chunk)


def in_order(
    work: Callable[[Chunk], Result],
    chunks: Iterable[Chunk],
    *,
    threads: int | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
) -> Generator[tuple[Chunk, Result], None, None]:
    """Do chunks as `spread` does; yield them with their results in their order."""
    most = _AHEAD * (threads_of(threads) if workers is None and scheduler is None else workers or _REMOTE)
    given: _Ahead[Chunk, Result] = _Ahead(chunks, most)
    done = spread(partial(_numbered, work), given, threads=threads, workers=workers, scheduler=scheduler)
    with closing(done):
        for (number, chunk), result in done:
            given.results[number] = chunk, result
            while given.first in given.results:
                yield given.results.pop(given.first)
                given.first += 1


def _numbered(work: Callable[[Chunk], Result], numbered: tuple[int, Chunk]) -> Result:
    return work(numbered[1])


class _Ahead(Generic[Chunk, Result]):
    """Chunks with their numbers, not more than `most` beyond the first whose result is to come.

    Where that many are out, the iteration pauses: it ends, and goes on when it is asked again.
    """

    def __init__(self, chunks: Iterable[Chunk], most: int) -> None:
        self._left, self._most = enumerate(chunks), most
        self._given = self.first = 0
        self.results: dict[int, tuple[Chunk, Result]] = {}

    def __iter__(self) -> Iterator[tuple[int, Chunk]]:
        return self

    def __next__(self) -> tuple[int, Chunk]:
        if self._given - self.first >= self._most:
            raise StopIteration
        found = next(self._left)
        self._given += 1
        return found


def by_threads(
    work: Callable[[Chunk], Result], chunks: Iterable[Chunk], threads: int, stop: threading.Event
) -> Iterator[Result]:
    """Give chunks to threads in their order; yield results as they come.

    Parameters
    ----------
    work : callable
        Does a chunk; called by many threads at a time. It is to end early once `stop` is set.
    chunks : iterable
        Asked again after each result, even if it had ended before.
    threads : int
    stop : threading.Event
        Set where a chunk fails or the caller ends, so that the others end too.
    """
    left = iter(chunks)
    with ThreadPoolExecutor(threads, thread_name_prefix="chunk") as pool:
        running: set[Future[Result]] = set()
        try:
            while True:
                while len(running) < threads and (chunk := next(left, None)) is not None:
                    running.add(pool.submit(work, chunk))
                if not running:
                    return
                # With a time, so that signals are heeded.
                done, running = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            stop.set()
            for future in running:
                future.cancel()


class Distributed:
    """A dask scheduler and its workers; a context manager.

    Parameters
    ----------
    scheduler : str, optional
        Address of one that runs, ``tcp://host:8786``.
    workers : int, optional
        Instead: start one on this machine with so many worker processes, of one thread each.

    Raises
    ------
    DatasetError
        If dask.distributed is missing or the scheduler does not answer.
    """

    def __init__(self, scheduler: str | None = None, workers: int | None = None) -> None:
        try:
            import dask
            import distributed
        except ModuleNotFoundError as error:
            raise needs(error) from None
        self._distributed = distributed
        self._cluster = None
        if scheduler is None:
            with dask.config.set(_SETTINGS):
                self._cluster = distributed.LocalCluster(
                    n_workers=workers or 1,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,  # what fails is raised; a worker that dies is replaced
                )
        try:
            if scheduler is not None:
                _refuse_no_scheduler(distributed, scheduler)
            self._client = distributed.Client(self._cluster or scheduler, timeout=_PATIENCE)
        except DatasetError:
            raise
        except (OSError, TimeoutError, ValueError, TypeError) as error:  # `TypeError`: TLS without a certificate
            words = str(error) or type(error).__name__
            raise DatasetError(f"scheduler {scheduler}: cannot be reached: {words}") from None

    def __enter__(self) -> Distributed:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    @property
    def dashboard(self) -> str:
        """Address of dask's page of its workers; empty where bokeh, which makes it, is not installed."""
        try:
            import bokeh  # noqa: F401
        except ImportError:
            return ""
        return str(self._client.dashboard_link)

    def spread(self, work: Callable[[Chunk], Result], chunks: Iterable[Chunk]) -> Iterator[Result]:
        """Give chunks to workers; yield results as they come.

        A chunk whose worker dies is given to another. `work` is pickled, so it is to be a function of a module. As
        `by_threads` it asks `chunks` again after each result.

        Raises
        ------
        DatasetError
            If the scheduler is lost, or workers die of one chunk again and again.
        """
        left = iter(chunks)
        ended = self._distributed.as_completed()
        deaths: dict[str, int] = {}  # by the key of a chunk's first task
        chunk_of: dict[str, tuple[str, Chunk]] = {}
        given_out = _GivenOut(lambda: len(self._client.nthreads()))

        def submit(new: list[tuple[str, Chunk]]) -> None:
            # Not pure: a chunk that is asked for again is to be looked at again. All at once: a graph costs the
            # scheduler as much as ten tasks in it.
            futures = self._client.map(work, [chunk for _, chunk in new], pure=False) if new else ()
            for future, (first, chunk) in zip(futures, new, strict=True):
                chunk_of[future.key] = first or future.key, chunk
                ended.add(future)

        def fill() -> None:
            most = given_out.most()
            submit([("", chunk) for chunk in islice(left, max(0, most - len(chunk_of)))])

        try:
            fill()
            while chunk_of:
                # All that have ended by now: one message has the results of all, and one the chunks that follow.
                batch = ended.next_batch()
                whole = [future for future in batch if future.status == "finished"]
                results, killed = self._results(whole)
                results_of = []
                for future in batch:
                    first, chunk = chunk_of.pop(future.key)
                    if future.key in results:
                        results_of.append(results[future.key])
                        continue
                    error = killed.get(future.key) or (future.exception() if future.status == "error" else None)
                    if isinstance(error, self._distributed.KilledWorker):
                        deaths[first] = deaths.get(first, 0) + 1
                        if deaths[first] < _MOST_DEATHS:
                            submit([(first, chunk)])
                            continue
                        raise DatasetError(
                            f"chunk {chunk}: {deaths[first]} times the workers that it was given to died"
                        )
                    if error is not None:
                        raise error
                    raise DatasetError("the scheduler was lost")
                fill()
                yield from results_of
                fill()  # chunks that pause until their predecessors are taken
        except (OSError, TimeoutError) as error:
            if not _is_of_dask(error):
                raise
            raise DatasetError(f"the scheduler was lost: {error}") from None
        finally:
            for future in list(ended.futures):
                future.release()

    def _results(self, futures: list[Any]) -> tuple[dict[str, Any], dict[str, BaseException]]:
        """Results of tasks that have ended, and why there is none: their worker may die before it gives them away."""
        try:
            return self._client.gather({future.key: future for future in futures}), {}
        except self._distributed.KilledWorker:
            pass
        results, killed = {}, {}
        for future in futures:
            try:
                results[future.key] = future.result()
            except self._distributed.KilledWorker as error:
                killed[future.key] = error
        return results, killed


def _refuse_no_scheduler(distributed: Any, address: str) -> None:
    """Raise where no scheduler answers at an address.

    dask's client waits without end for one that takes the connection and says nothing.
    """

    async def identity() -> Any:
        security = distributed.security.Security().get_connection_args("client")
        async with distributed.rpc(address, timeout=_PATIENCE, connection_args=security) as there:
            return await there.identity()

    def asked() -> Any:
        return asyncio.run(asyncio.wait_for(identity(), _PATIENCE))

    # In a thread, since the caller's may have a loop of its own.
    with ThreadPoolExecutor(1, thread_name_prefix="scheduler") as pool:
        try:
            found = pool.submit(asked).result()
        except TimeoutError as error:
            words = str(error) or f"nothing there has answered as a scheduler for {_PATIENCE:.0f} s"
            raise DatasetError(f"scheduler {address}: cannot be reached: {words}") from None
    kind = found.get("type") if isinstance(found, dict) else None
    if kind != "Scheduler":
        raise DatasetError(f"scheduler {address}: is none: it answers as {kind!r}; expected 'Scheduler'")


def _is_of_dask(error: BaseException) -> bool:
    """Whether dask raised an error, rather than a chunk or the source of chunks."""
    if type(error).__module__.split(".")[0] == "distributed":
        return True
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    return where is not None and str(where.tb_frame.f_globals.get("__name__")).split(".")[0] == "distributed"


class _GivenOut:
    """How many tasks a scheduler is to know of at a time; its workers are counted again now and then."""

    def __init__(self, workers: Callable[[], int]) -> None:
        self._workers, self._most, self._counted = workers, 0, -math.inf

    def most(self) -> int:
        now = time.monotonic()
        if now - self._counted > _COUNTED_FOR:
            self._most, self._counted = _IN_FLIGHT * max(1, self._workers()), now
        return self._most
