# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Simulated workers of a dask scheduler: many in one process, each with its own connections, messages and heartbeat.

A real worker is a process, or at least a thread pool, a profiler and a state machine: a thousand of them occupy many
processors. A simulated one has only the interface to the scheduler. It registers, sends heartbeats, accepts chunks,
reports their end and sends results, all through dask's own connections and serialisation. A chunk is a sleeping
coroutine, one at a time, as in a worker of one thread.

=================  ====================================================================================
the scheduler      action of a simulated worker
=================  ====================================================================================
``compute-task``   appends the chunk to its queue, later answers ``task-finished``
``steal-request``  gives back a chunk that it has not begun
``free-keys``      deletes a chunk and its result
``get_data``       sends results on a connection of the scheduler
``close``          ends
=================  ====================================================================================
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import resource
import time
import uuid
from typing import Any

_AT_ONCE = 25
"""Number of concurrent registrations: the scheduler's first answer to a thousand would take too long."""
_FILES = 5
"""Open files per worker: its listener, its connections and the scheduler's ones to it."""


def allow_files(workers: int) -> None:
    """Raise this process's limit of open files for a number of workers.

    Raises
    ------
    OSError
        If the system allows fewer.
    """
    wanted = 200 + _FILES * workers
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard not in (resource.RLIM_INFINITY, -1) and hard < wanted:
        raise OSError(f"{workers} simulated workers need {wanted} open files, and the system allows {hard} (ulimit -n)")
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class SimulatedWorker:
    """One worker.

    Parameters
    ----------
    scheduler : str
        Address.
    name : int
    about : dict
        The registration message of a real worker, from `about_a_real_one`.
    silent : bool
        If true, send no heartbeats, which the scheduler notices after five minutes.
    """

    def __init__(self, scheduler: str, name: int, about: dict[str, Any], silent: bool) -> None:
        self._scheduler, self._name, self._about, self._silent = scheduler, name, about, silent
        self._waiting: dict[str, dict[str, Any]] = {}  # chunks in the order of arrival
        self._running = ""
        self._results: dict[str, Any] = {}
        self._has_more = asyncio.Event()

    async def live(self, registered: asyncio.Semaphore) -> None:
        """Register, and work until the scheduler ends; the semaphore limits concurrent registrations."""
        from distributed.batched import BatchedSend
        from distributed.comm import connect, listen

        self._listener = await listen("tcp://127.0.0.1:0", self._serve)
        try:
            async with registered:
                self._comm = await connect(self._scheduler)
                await self._comm.write(self._registration(), serializers=["msgpack"])
                answer = await self._comm.read(deserializers=["msgpack"])
            if answer["status"] != "OK":
                raise RuntimeError(f"the scheduler does not accept worker {self._name}: {answer}")
            self._interval = float(answer["heartbeat-interval"])
            self._stream = BatchedSend(interval="2ms", loop=None)
            self._stream.start(self._comm)
            beat = () if self._silent else (self._beat(),)
            tasks = [asyncio.create_task(each) for each in (self._listen(), self._work(), *beat)]
            done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in rest:
                task.cancel()
            for task in done:
                with contextlib.suppress(OSError):  # the scheduler has ended
                    task.result()
        finally:
            self._listener.stop()

    def _registration(self) -> dict[str, Any]:
        return {
            "op": "register-worker",
            "reply": False,
            "address": self._listener.contact_address,
            "status": "running",
            "nthreads": 1,
            "name": self._name,
            "now": time.time(),
            "resources": {},
            "memory_limit": None,
            "local_directory": "/",
            "services": {},
            "nanny": None,
            "pid": os.getpid(),
            "stimulus_id": f"worker-connect-{time.time()}",
            "server_id": f"simulated-{uuid.uuid4()}",
            **self._about,
        }

    async def _listen(self) -> None:
        """Handle the scheduler's messages about chunks."""
        while True:
            for message in await self._comm.read():
                op = message.get("op")
                if op == "compute-task":
                    self._waiting[message["key"]] = message
                    self._has_more.set()
                elif op == "steal-request":
                    self._give_back(message)
                elif op in ("free-keys", "remove-replicas"):
                    for key in message["keys"]:
                        self._results.pop(key, None)
                        self._waiting.pop(key, None)
                elif op == "close":
                    return

    def _give_back(self, message: dict[str, Any]) -> None:
        key = message["key"]
        state = "ready" if self._waiting.pop(key, None) else "executing" if key == self._running else None
        self._say(op="steal-response", key=key, state=state, stimulus_id=message["stimulus_id"])

    def _say(self, **message: Any) -> None:
        self._stream.send(message)

    async def _work(self) -> None:
        """Run chunks one at a time."""
        while True:
            while not self._waiting:
                self._has_more.clear()
                await self._has_more.wait()
            key = self._running = next(iter(self._waiting))
            message = self._waiting.pop(key)
            start = time.time()
            result = await message["run_spec"]()
            self._results[key], self._running = result, ""
            self._say(
                op="task-finished",
                status="OK",
                key=key,
                run_id=message["run_id"],
                nbytes=28,
                type=pickle.dumps(type(result)),
                typename=type(result).__name__,
                metadata={},
                thread=1,
                startstops=[{"action": "compute", "start": start, "stop": time.time()}],
                stimulus_id=f"task-finished-{time.time()}",
            )

    async def _beat(self) -> None:
        """Send heartbeats at the interval of the scheduler."""
        from distributed.comm import connect

        comm = await connect(self._scheduler)
        try:
            while True:
                await asyncio.sleep(self._interval)
                message = {"op": "heartbeat_worker", "reply": True, "address": self._listener.contact_address}
                more = {"now": time.time(), "metrics": self._about["metrics"], "executing": {}, "extensions": {}}
                if self._running:
                    more["executing"] = {self._running: 0.0}
                await comm.write(message | more)
                answer = await comm.read()
                if answer.get("status") != "OK":
                    raise RuntimeError(f"worker {self._name}: the scheduler answers a heartbeat by {answer}")
                self._interval = float(answer["heartbeat-interval"])
        finally:
            comm.abort()

    async def _serve(self, comm: Any) -> None:
        """Answer the scheduler's requests for results."""
        from distributed.protocol import to_serialize

        with contextlib.suppress(OSError):  # it may close the connection at any time
            while True:
                message = await comm.read()
                if message.get("op") != "get_data":
                    comm.abort()
                    return
                keys = [key for key in message["keys"] if key in self._results]
                data = {key: to_serialize(self._results[key]) for key in keys}
                await comm.write({"status": "OK", "data": data}, serializers=message.get("serializers"))
                await comm.read()


async def about_a_real_one(scheduler: str) -> dict[str, Any]:
    """Return the registration message of a real worker: versions, metrics, start-up."""
    import distributed
    from distributed.versions import get_versions

    async with distributed.Worker(scheduler, nthreads=1, memory_limit=0, dashboard=False, name="real") as real:
        metrics, extra = await real.get_metrics(), await real.get_startup_information()
    return {"versions": get_versions(), "metrics": metrics, "extra": extra}


async def live(scheduler: str, count: int, silent: bool) -> None:
    """Run a number of workers in this process, until the scheduler ends."""
    allow_files(count)
    about = await about_a_real_one(scheduler)
    registered = asyncio.Semaphore(_AT_ONCE)
    made = [SimulatedWorker(scheduler, number, about, silent) for number in range(count)]
    await asyncio.gather(*(worker.live(registered) for worker in made))
