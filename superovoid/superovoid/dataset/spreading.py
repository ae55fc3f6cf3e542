# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distribute chunks of work to threads or to the workers of a dask scheduler; all of this package uses these functions.

==============  ====================================================================================================
`spread`        run chunks on threads, on worker processes of this machine or by a scheduler; yield results as they end
`in_order`      the same, with results in the order of the chunks
==============  ====================================================================================================

A chunk is any argument of the work function: a number, a tuple. A result must depend on its chunk only, so that it does
not matter which thread or worker computes it, and when.
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
from superovoid.dataset.errors import DatasetError, missing_package_error

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")

# Chunks per thread or worker that may be submitted beyond the first unfinished one, for results in order: enough to
# keep all busy during a slow chunk, few enough to limit the results that wait for it.
_AHEAD = 8

# Tasks per worker that a scheduler holds at a time: enough to keep workers busy, few enough that millions of chunks do
# not burden it.
_IN_FLIGHT = 4
# Time between counts of the workers, s: the reply lists every worker.
_COUNT_INTERVAL = 1.0
# Number of workers assumed for a remote scheduler in the limit of chunks ahead.
_REMOTE = 1024
# Number of workers that may die while computing a chunk before the chunk is considered the cause.
_MOST_DEATHS = 20
# By default dask's workers return larger arrays to the system immediately, but the next chunk needs them again.
_SETTINGS = {
    "distributed.scheduler.allowed-failures": _MOST_DEATHS,
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 29,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
}
_PATIENCE = 20.0  # timeout for the reply of a scheduler, s


def spread(
    work: Callable[[Chunk], Result],
    chunks: Iterable[Chunk],
    *,
    threads: int | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    stop: threading.Event | None = None,
    on_dashboard: Callable[[str], object] | None = None,
) -> Generator[tuple[Chunk, Result], None, None]:
    """Run `work` on chunks; yield each chunk with its result as it ends.

    Parameters
    ----------
    work : callable
        Function of a chunk. With `workers` or a `scheduler` it is pickled, so it must be a function of a module, or a
        partial of one.
    chunks : iterable
        Chunks, consumed as threads or workers become free; pickled like `work`.
    threads : int, optional
        Threads of this process; default: one per processor.
    workers : int, optional
        Number of dask.distributed worker processes on this machine, instead of threads.
    scheduler : str, optional
        Address of a dask.distributed scheduler, instead of threads.
    stop : threading.Event, optional
        With threads: set if a chunk fails or the caller closes the generator, so that `work` can end early.
    on_dashboard : callable, optional
        Called with the address of dask's dashboard, if there is one.

    Raises
    ------
    DatasetError
        If dask.distributed is missing, or the scheduler cannot be reached or is lost.
    """
    if workers is None and scheduler is None:
        yield from by_threads(partial(_with_chunk, work), chunks, threads_of(threads), stop or threading.Event())
        return
    with DaskCluster(scheduler, workers) as distributed:
        if on_dashboard is not None and distributed.dashboard:
            on_dashboard(distributed.dashboard)
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
    """Run `work` on chunks like `spread`; yield chunks with their results in the order of the chunks."""
    most = _AHEAD * (threads_of(threads) if workers is None and scheduler is None else workers or _REMOTE)
    window: _Window[Chunk, Result] = _Window(chunks, most)
    done = spread(partial(_work_on_numbered, work), window, threads=threads, workers=workers, scheduler=scheduler)
    with closing(done):
        for (number, chunk), result in done:
            window.results[number] = chunk, result
            while window.first in window.results:
                yield window.results.pop(window.first)
                window.first += 1


def _work_on_numbered(work: Callable[[Chunk], Result], numbered: tuple[int, Chunk]) -> Result:
    return work(numbered[1])


class _Window(Generic[Chunk, Result]):
    """Iterator over numbered chunks, at most `most` beyond the first without a result.

    At that limit the iteration pauses: it raises `StopIteration`, and continues in a later call.
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
    """Run `work` on chunks in threads; yield results as they come.

    Parameters
    ----------
    work : callable
        Function of a chunk, called by several threads at a time. It should end early once `stop` is set.
    chunks : iterable
        Chunks; read again after each result, even if the iterator was exhausted before.
    threads : int
    stop : threading.Event
        Set if a chunk fails or the caller closes the generator, so that the other chunks end too.
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
                # The timeout lets the interpreter handle signals.
                done, running = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            stop.set()
            for future in running:
                future.cancel()


class DaskCluster:
    """A dask scheduler and its workers; a context manager.

    Parameters
    ----------
    scheduler : str, optional
        Address of a running scheduler, ``tcp://host:8786``.
    workers : int, optional
        If no scheduler is given: start one on this machine with this number of single-threaded worker processes.

    Raises
    ------
    DatasetError
        If dask.distributed is missing or the scheduler does not reply.
    """

    def __init__(self, scheduler: str | None = None, workers: int | None = None) -> None:
        try:
            import dask
            import distributed
        except ModuleNotFoundError as error:
            raise missing_package_error(error) from None
        self._distributed = distributed
        self._cluster = None
        if scheduler is None:
            with dask.config.set(_SETTINGS):
                self._cluster = distributed.LocalCluster(
                    n_workers=workers or 1,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,  # errors are raised; dead workers are replaced
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

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    @property
    def dashboard(self) -> str:
        """Address of dask's dashboard; empty if bokeh, which renders it, is not installed."""
        try:
            import bokeh  # noqa: F401
        except ImportError:
            return ""
        return str(self._client.dashboard_link)

    def spread(self, work: Callable[[Chunk], Result], chunks: Iterable[Chunk]) -> Iterator[Result]:
        """Run `work` on chunks in workers; yield results as they come.

        A chunk whose worker dies is submitted again. `work` is pickled, so it must be a function of a module. As in
        `by_threads`, `chunks` is read again after each result.

        Raises
        ------
        DatasetError
            If the scheduler is lost, or workers repeatedly die while computing the same chunk.
        """
        left = iter(chunks)
        ended = self._distributed.as_completed()
        deaths: dict[str, int] = {}  # by the key of a chunk's first task
        chunk_of: dict[str, tuple[str, Chunk]] = {}
        limit = _TaskLimit(lambda: len(self._client.nthreads()))

        def submit(new: list[tuple[str, Chunk]]) -> None:
            # Not pure: a chunk submitted again must be computed again. In one call: a graph costs the scheduler as
            # much as ten tasks.
            futures = self._client.map(work, [chunk for _, chunk in new], pure=False) if new else ()
            for future, (first, chunk) in zip(futures, new, strict=True):
                chunk_of[future.key] = first or future.key, chunk
                ended.add(future)

        def fill() -> None:
            most = limit.count()
            submit([("", chunk) for chunk in islice(left, max(0, most - len(chunk_of)))])

        try:
            fill()
            while chunk_of:
                # All tasks ended by now: their results arrive in one message, and new chunks leave in one.
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
                        raise DatasetError(f"chunk {chunk}: {deaths[first]} workers died while computing it")
                    if error is not None:
                        raise error
                    raise DatasetError("the scheduler was lost")
                fill()
                yield from results_of
                fill()  # `chunks` may have paused until the results were consumed
        except (OSError, TimeoutError) as error:
            if not _is_of_dask(error):
                raise
            raise DatasetError(f"the scheduler was lost: {error}") from None
        finally:
            for future in list(ended.futures):
                future.release()

    def _results(self, futures: list[Any]) -> tuple[dict[str, Any], dict[str, BaseException]]:
        """Return results of finished tasks, and errors for those whose worker died before sending its result."""
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
    """Raise if no scheduler replies at an address.

    dask's client waits forever for a server that accepts the connection and does not reply.
    """

    async def identity() -> Any:
        security = distributed.security.Security().get_connection_args("client")
        async with distributed.rpc(address, timeout=_PATIENCE, connection_args=security) as there:
            return await there.identity()

    def identify() -> Any:
        return asyncio.run(asyncio.wait_for(identity(), _PATIENCE))

    # In a thread, since the caller's thread may run an event loop.
    with ThreadPoolExecutor(1, thread_name_prefix="scheduler") as pool:
        try:
            found = pool.submit(identify).result()
        except TimeoutError as error:
            words = str(error) or f"no scheduler replied within {_PATIENCE:.0f} s"
            raise DatasetError(f"scheduler {address}: cannot be reached: {words}") from None
    kind = found.get("type") if isinstance(found, dict) else None
    if kind != "Scheduler":
        raise DatasetError(f"scheduler {address}: is not a scheduler: found {kind!r}, expected 'Scheduler'")


def _is_of_dask(error: BaseException) -> bool:
    """Return whether an error was raised by dask, rather than by a chunk or the source of chunks."""
    if type(error).__module__.split(".")[0] == "distributed":
        return True
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    return where is not None and str(where.tb_frame.f_globals.get("__name__")).split(".")[0] == "distributed"


class _TaskLimit:
    """Largest number of tasks that a scheduler should hold, with a periodic count of its workers."""

    def __init__(self, workers: Callable[[], int]) -> None:
        self._workers, self._most, self._counted = workers, 0, -math.inf

    def count(self) -> int:
        now = time.monotonic()
        if now - self._counted > _COUNT_INTERVAL:
            self._most, self._counted = _IN_FLIGHT * max(1, self._workers()), now
        return self._most
