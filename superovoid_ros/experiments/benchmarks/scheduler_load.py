# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What dask's scheduler does under a thousand workers: chunks that wait as long as real ones compute.

Run ``python -m superovoid_ros.experiments.benchmarks.scheduler_load --workers 1000 --seconds 20 --chunks 4000``. A
scheduler has a process of its own. Workers, each with its own connection, heartbeat and state, share a second process:
a chunk of theirs is a coroutine that sleeps, so that a thousand of them need no thousand processors. The caller is
`dataset.spreading.Distributed`, as for data sets. Measured is the processor time of the scheduler and of the caller, a
chunk, and that of the scheduler while all workers wait. From these follows how many workers one scheduler can have.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import json
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

from superovoid_ros.dataset.spreading import Distributed
from superovoid_ros.output import machine

_START = 1500.0  # seconds for all workers to come
_SPREAD = 0.3  # of the logarithm of a chunk's time
# Of the connections: on a machine that does other things too, a thousand of them take minutes to be made.
_PATIENT = {f"DASK_DISTRIBUTED__COMM__TIMEOUTS__{name}": "600s" for name in ("CONNECT", "TCP")}
# What a worker does for itself, many times a second, and the scheduler does not see.
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.profile.interval": "1h",
    "distributed.worker.profile.cycle": "1h",
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.tick.interval": "1h",
    "distributed.admin.tick.limit": "1h",
}
_BUSY = 0.5
"""Share of a processor that a scheduler is to have left: beyond, chunks wait for it."""


async def nap(chunk: tuple[int, float]) -> int:
    """A chunk that takes its time and no processor."""
    await asyncio.sleep(chunk[1])
    return chunk[0]


async def _workers(address: str, count: int) -> None:
    """Have so many workers in this process, until the scheduler ends."""
    import dask
    import distributed

    with dask.config.set(_QUIET):
        made = [
            distributed.Worker(address, nthreads=1, memory_limit=0, dashboard=False, host="127.0.0.1", name=number)
            for number in range(count)
        ]
        for first in range(0, count, 50):
            await asyncio.gather(*made[first : first + 50])
        await asyncio.gather(*(each.finished() for each in made))


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
def cluster(workers: int) -> Iterator[tuple[str, int]]:
    """A scheduler with so many simulated workers: its address, and the number of its process."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        place = Path(folder) / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(place))
        scheduler = stack.enter_context(_process("distributed.cli.dask_scheduler", *options))
        end = time.monotonic() + _START
        address = ""
        while not address and time.monotonic() < end and scheduler.poll() is None:
            with contextlib.suppress(OSError, ValueError, KeyError):
                address = json.loads(place.read_text(encoding="utf-8"))["address"]
            time.sleep(0.2)
        stack.enter_context(_process(__name__, "--be", address, "--workers", str(workers)))
        yield address, scheduler.pid


def spent(process: int) -> float:
    """Processor time of a process by now, s."""
    import psutil

    times = psutil.Process(process).cpu_times()
    return float(times.user + times.system)


def measure(workers: int, seconds: float, chunks: int, seed: int = 0, idle: float = 20.0) -> dict[str, float]:
    """Give chunks to so many workers.

    Parameters
    ----------
    workers, chunks : int
    seconds : float
        Median time of a chunk.
    seed : int
        Of the chunks' times.
    idle : float
        Time for which workers are watched that have nothing to do, s.

    Returns
    -------
    dict of str to float
        Processor time of the scheduler and of the caller a chunk, ms; of the scheduler a worker and second without
        chunks, ms; time that it took; share of it in which workers had a chunk.
    """
    naps = seconds * np.exp(_SPREAD * np.random.default_rng(seed).standard_normal(chunks))
    with cluster(workers) as (address, scheduler), Distributed(address) as distributed:
        end = time.monotonic() + _START
        while (there := len(distributed._client.nthreads())) < workers:
            if time.monotonic() > end:
                raise TimeoutError(f"{there} of {workers} workers came in {_START:g} s")
            time.sleep(5.0)
        print(f"{workers} workers are there", file=sys.stderr, flush=True)
        rest, started = spent(scheduler), time.monotonic()
        time.sleep(idle)
        rest, watched = spent(scheduler) - rest, time.monotonic() - started
        before, ours, started = spent(scheduler), time.process_time(), time.monotonic()
        found = Counter(distributed.spread(nap, enumerate(naps.tolist())))
        took = time.monotonic() - started
        if found != Counter(range(chunks)):
            raise AssertionError(f"{chunks} chunks were given, {found.total()} came back, {len(found)} different ones")
        a_chunk = (spent(scheduler) - before - took * rest / watched) / chunks
        return {
            "scheduler, ms a chunk": 1e3 * a_chunk,
            "caller, ms a chunk": 1e3 * (time.process_time() - ours) / chunks,
            "scheduler, ms a worker and second": 1e3 * rest / watched / workers,
            "time, s": took,
            "workers busy, %": 100.0 * float(naps.sum()) / (workers * took),
        }


def most_workers(found: dict[str, float], seconds: float) -> int:
    """How many workers leave a scheduler half a processor, with chunks of so many seconds."""
    a_chunk, a_second = found["scheduler, ms a chunk"], found["scheduler, ms a worker and second"]
    return int(1e3 * _BUSY / (a_chunk / seconds + a_second))


def main(words: list[str] | None = None) -> int:
    """Read options, measure, print."""
    parser = argparse.ArgumentParser(description="Load of dask's scheduler under simulated workers.")
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20.0, help="median time of a chunk")
    parser.add_argument("--chunks", type=int, default=4000)
    parser.add_argument("--be", metavar="ADDRESS", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.be:
        asyncio.run(_workers(given.be, given.workers))
        return 0
    print(f"{machine(('dask', 'distributed'))}; load {os.getloadavg()[0]:.1f} at the start", flush=True)
    found: dict[str, Any] = measure(given.workers, given.seconds, given.chunks)
    print(f"{given.chunks} chunks of {given.seconds:g} s (median) by {given.workers} simulated workers: each came once")
    for name, value in found.items():
        print(f"{name}: {value:.3g}")
    for seconds in (1.0, 5.0, 20.0):
        print(
            f"workers that leave the scheduler half a processor, {seconds:g} s a chunk: {most_workers(found, seconds)}"
        )
    return 0


if __name__ == "__main__":
    # As a module with its name, by which workers know its functions.
    sys.exit(importlib.import_module(__spec__.name).main())
