# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Load of dask's scheduler under ten to a thousand workers, and the shortest chunks that it can distribute.

Run ``python -m superovoid_papers.benchmarks.scheduler_load``; it prints the table of docs/reference/figures_scenes.md.
The scheduler is a real one, in a process of its own. The workers are simulated (`simulated_workers`), in a second
process: they send the messages of real ones, on connections of their own, and sleep instead of computing. The caller is
`dataset.spreading.DaskCluster`, as for data sets. The steps for each number of workers are:

1. They register and stay idle: processor time of the scheduler per worker and second.
2. Chunks without work, as many as the scheduler can distribute, without heartbeats: processor time of scheduler and
   caller per chunk.
3. Waiting tasks: memory of the scheduler for each.
4. From these figures: the least time of a chunk that leaves the scheduler half a processor.
5. Chunks of a given time (``--seconds``): share of the time in which workers had one.

Times are processor times, which other programs hardly affect, except in the last step.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from superovoid.dataset.spreading import DaskCluster
from superovoid.output import machine
from superovoid_papers.benchmarks import simulated_workers

SIZES = 10, 100, 300, 1000
_START = 600.0  # seconds for all workers to register
_WATCHED = 20.0  # seconds of measurement of idle workers
_WAITING = 10_000  # tasks of the measurement of memory
_SPREAD = 0.3  # of the logarithm of a chunk's time
# Timeouts of the connections: a thousand of them take minutes on a busy machine.
_PATIENT = {f"DASK_DISTRIBUTED__COMM__TIMEOUTS__{name}": "600s" for name in ("CONNECT", "TCP")}
_BUSY = 0.5
"""Largest share of a processor for a scheduler: beyond, chunks wait for it."""


async def nap(chunk: tuple[int, float]) -> int:
    """Sleep for the time of a chunk."""
    await asyncio.sleep(chunk[1])
    return chunk[0]


@contextlib.contextmanager
def _process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-W", "ignore", "-m", *words]
    started = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, **_PATIENT})
    try:
        yield started
    finally:
        started.kill()
        started.wait()


@contextlib.contextmanager
def cluster(workers: int, silent: bool = False) -> Iterator[tuple[str, int]]:
    """Start a scheduler with simulated workers, with or without heartbeats; yield its address and process id.

    Raises
    ------
    RuntimeError
        If the scheduler does not start.
    """
    simulated_workers.allow_files(workers)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        place = Path(folder) / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(place))
        scheduler = stack.enter_context(_process("distributed.cli.dask_scheduler", *options))
        end = time.monotonic() + _START
        address = ""
        while not address:
            if time.monotonic() > end or scheduler.poll() is not None:
                raise RuntimeError("dask's scheduler did not start: python -m distributed.cli.dask_scheduler")
            with contextlib.suppress(OSError, ValueError, KeyError):
                address = json.loads(place.read_text(encoding="utf-8"))["address"]
            time.sleep(0.2)
        options = ("--be", address, "--workers", str(workers), *(["--silent"] if silent else []))
        stack.enter_context(_process(__name__, *options))
        yield address, scheduler.pid


def spent(process: int) -> float:
    """Return the processor time that a process has used, s."""
    import psutil

    times = psutil.Process(process).cpu_times()
    return float(times.user + times.system)


def memory(process: int) -> int:
    """Return the current memory of a process, bytes."""
    import psutil

    return int(psutil.Process(process).memory_info().rss)


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def wait_for(distributed: DaskCluster, workers: int) -> None:
    """Wait until a number of workers have registered.

    Raises
    ------
    TimeoutError
        If they do not register in time.
    """
    end, last = time.monotonic() + _START, -1
    while (there := len(distributed._client.nthreads())) != workers:
        if time.monotonic() > end:
            raise TimeoutError(f"{there} of {workers} workers came in {_START:g} s")
        if there != last:
            _say(f"  {there} of {workers} workers are there")
        last = there
        time.sleep(2.0)


def _all_of(distributed: DaskCluster, naps: list[float]) -> None:
    """Run all chunks, and report progress."""
    found: Counter[int] = Counter()
    printed_at = time.monotonic()
    for number in distributed.spread(nap, enumerate(naps)):
        found[number] += 1
        if time.monotonic() - printed_at > 10.0:
            printed_at = time.monotonic()
            _say(f"  {found.total()} of {len(naps)} chunks")
    if found != Counter(range(len(naps))):
        raise AssertionError(f"{len(naps)} chunks were given, {found.total()} came back, {len(found)} different ones")


def measure(workers: int, chunks: int, seconds: float | None = None, seed: int = 0) -> dict[str, float]:
    """Give chunks to a number of workers.

    Parameters
    ----------
    workers, chunks : int
    seconds : float, optional
        Median time of a chunk; default: skip chunks that take time.
    seed : int
        Seed of the chunks' times.

    Returns
    -------
    dict of str to float
        Columns of the table: processor time of scheduler and caller per chunk, ms; of the scheduler per worker and
        second without chunks, ms; its memory with all workers, MB, and per task, kB; the least chunk, s; share of the
        time in which workers had a chunk, %.
    """
    _say(f"{workers} workers, with heartbeats")
    with cluster(workers) as (address, scheduler), DaskCluster(address) as distributed:
        wait_for(distributed, workers)
        idle, started = spent(scheduler), time.monotonic()
        time.sleep(_WATCHED)
        idle = (spent(scheduler) - idle) / (time.monotonic() - started)
    _say(f"{workers} workers, with chunks")
    with cluster(workers, silent=True) as (address, scheduler), DaskCluster(address) as distributed:
        wait_for(distributed, workers)
        # Once without measurement: the scheduler then connects to all workers, and keeps some connections.
        _all_of(distributed, [0.0] * (2 * workers))
        before, ours = spent(scheduler), time.process_time()
        _all_of(distributed, [0.0] * chunks)
        a_chunk = (spent(scheduler) - before) / chunks
        ours = (time.process_time() - ours) / chunks
        size = memory(scheduler)
        waiting = distributed._client.map(nap, [(number, 1e6) for number in range(_WAITING)], pure=False)
        while (known := distributed._client.run_on_scheduler(_tasks)) < _WAITING:
            time.sleep(0.5)
        a_task = (memory(scheduler) - size) / known
        del waiting
        found = {
            "workers": workers,
            "scheduler, ms a chunk": 1e3 * a_chunk,
            "caller, ms a chunk": 1e3 * ours,
            "scheduler, ms a worker and second": 1e3 * idle / workers,
            "memory, MB": 1e-6 * size,
            "memory a task, kB": 1e-3 * a_task,
            "least chunk, s": least_chunk(workers, a_chunk, idle / workers),
        }
    if seconds is not None:
        found["workers busy, %"], found["scheduler busy, %"] = run_paced(workers, seconds, chunks, seed)
    return found


def _tasks(dask_scheduler: Any) -> int:
    """Return the number of a scheduler's tasks; the name of the argument is dask's."""
    return len(dask_scheduler.tasks)


def run_paced(workers: int, seconds: float, chunks: int, seed: int) -> tuple[float, float]:
    """Run chunks that take time; return the share of time in which workers had one, and the scheduler's load, %."""
    naps = (seconds * np.exp(_SPREAD * np.random.default_rng(seed).standard_normal(chunks))).tolist()
    with cluster(workers) as (address, scheduler), DaskCluster(address) as distributed:
        wait_for(distributed, workers)
        before, started = spent(scheduler), time.monotonic()
        _all_of(distributed, naps)
        took = time.monotonic() - started
        return 100.0 * sum(naps) / (workers * took), 100.0 * (spent(scheduler) - before) / took


def least_chunk(workers: int, a_chunk: float, a_second: float) -> float:
    """Return the least time of chunks, s, that leaves the scheduler half a processor; inf if there is none.

    Parameters
    ----------
    workers : int
    a_chunk, a_second : float
        Processor time per chunk, and per worker and second, s.
    """
    left = _BUSY - workers * a_second
    return workers * a_chunk / left if left > 0.0 else math.inf


def main(words: list[str] | None = None) -> int:
    """Read options, measure, print."""
    parser = argparse.ArgumentParser(description="Load of dask's scheduler under simulated workers.")
    parser.add_argument("--workers", type=int, nargs="+", default=SIZES)
    parser.add_argument("--chunks", type=int, default=4000, help="for each number of workers")
    parser.add_argument("--seconds", type=float, help="also run chunks of this median time")
    parser.add_argument("--be", metavar="ADDRESS", help=argparse.SUPPRESS)
    parser.add_argument("--silent", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.be:
        asyncio.run(simulated_workers.live(given.be, given.workers[0], given.silent))
        return 0
    print(f"{machine(('dask', 'distributed'))}; load {os.getloadavg()[0]:.1f} at the start", flush=True)
    for number, workers in enumerate(given.workers):
        found = measure(workers, given.chunks, given.seconds)
        if not number:
            print("\n".join(["| " + " | ".join(found) + " |", "|---" * len(found) + "|"]))
        print("| " + " | ".join(f"{value:.3g}" if value < 1e3 else f"{value:.0f}" for value in found.values()) + " |")
        sys.stdout.flush()
    print(f"load {os.getloadavg()[0]:.1f} at the end; each chunk came once")
    return 0


if __name__ == "__main__":
    # As a named module, since workers import its functions by name.
    sys.exit(importlib.import_module(__spec__.name).main())
