# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Chunks of work spread over threads, or over the workers of a dask scheduler: results come as chunks end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from superovoid_ros.dataset.dataset_errors import DatasetError, needs

Result = TypeVar("Result")

# Tasks that a scheduler knows of at a time, a worker: enough that none waits, few enough that millions of chunks do not
# burden it.
_IN_FLIGHT = 4
# Workers that may die of one chunk before it is taken for the cause.
_MOST_DEATHS = 20
# dask has its workers give every larger array back to the system at once. Those of a chunk are soon needed again.
_SETTINGS = {
    "distributed.scheduler.allowed-failures": _MOST_DEATHS,
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 29,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
}
_PATIENCE = 20.0  # seconds for a scheduler to answer


def by_threads(
    work: Callable[[int], Result], chunks: Iterable[int], threads: int, stop: threading.Event
) -> Iterator[Result]:
    """Give chunks to threads in their order; yield results as they come.

    Parameters
    ----------
    work : callable
        Does a chunk; called by many threads at a time. It is to end early once `stop` is set.
    chunks : iterable of int
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
            self._client = distributed.Client(self._cluster or scheduler, timeout=_PATIENCE)
        except (OSError, TimeoutError, ValueError) as error:
            raise DatasetError(f"scheduler {scheduler}: cannot be reached: {error}") from None

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

    def spread(self, work: Callable[[int], Result], chunks: Iterable[int]) -> Iterator[Result]:
        """Give chunks to workers; yield results as they come.

        A chunk whose worker dies is given to another. `work` is pickled, so it is to be a function of a module.

        Raises
        ------
        DatasetError
            If the scheduler is lost, or workers die of one chunk again and again.
        """
        left = iter(chunks)
        ended = self._distributed.as_completed()
        deaths: dict[int, int] = {}
        chunk_of: dict[str, int] = {}

        def submit(chunk: int) -> None:
            # Not pure: a chunk that is asked for again is to be looked at again.
            future = self._client.submit(work, chunk, pure=False)
            chunk_of[future.key] = chunk
            ended.add(future)

        def fill() -> None:
            most = _IN_FLIGHT * max(1, len(self._client.nthreads()))
            while len(chunk_of) < most and (chunk := next(left, None)) is not None:
                submit(chunk)

        try:
            fill()
            while chunk_of:
                future = next(ended)
                chunk = chunk_of.pop(future.key)
                if future.status == "finished":
                    yield future.result()
                    fill()
                    continue
                error = future.exception() if future.status == "error" else None
                if isinstance(error, self._distributed.KilledWorker):
                    deaths[chunk] = deaths.get(chunk, 0) + 1
                    if deaths[chunk] < _MOST_DEATHS:
                        submit(chunk)
                        continue
                    raise DatasetError(f"chunk {chunk}: {deaths[chunk]} times the workers that it was given to died")
                if error is not None:
                    raise error
                raise DatasetError("the scheduler was lost")
        except (OSError, TimeoutError) as error:
            if type(error).__module__.split(".")[0] != "distributed" and not isinstance(error, TimeoutError):
                raise
            raise DatasetError(f"the scheduler was lost: {error}") from None
        finally:
            for future in list(ended.futures):
                future.release()
