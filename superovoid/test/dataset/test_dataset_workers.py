# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Data sets computed by workers of dask.distributed: equal bits, even if processes are killed during the run."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import balls
import pytest
from installed import skip_without

from superovoid import dataset
from superovoid.dataset import spreading
from superovoid.dataset.question import digests_of

skip_without("zarr", "distributed", reason="pip install 'superovoid[dataset]'")


def create(folder, name="a.zarr", chunks=6):
    states = dataset.Random(chunks * 1024, 8, bases={"ball": balls.BOX})
    return dataset.create(folder / name, balls.write(folder), states, chunk_states=1024)


def bits(found):
    return [digests_of(found.read(chunk)) for chunk in range(found.chunks)]


def test_unreachable_scheduler_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(spreading, "_PATIENCE", 0.5)
    with pytest.raises(dataset.DatasetError, match=r"scheduler tcp://127\.0\.0\.1:9: cannot be reached"):
        create(tmp_path).run(scheduler="tcp://127.0.0.1:9")
    with pytest.raises(dataset.DatasetError, match="scheduler abacus://x: cannot be reached"):
        create(tmp_path).run(scheduler="abacus://x")


def test_silent_server_is_reported_as_unreachable(tmp_path, monkeypatch):
    monkeypatch.setattr(spreading, "_PATIENCE", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(dataset.DatasetError, match=f"scheduler {address}: cannot be reached"):
            create(tmp_path).run(scheduler=address)


def test_tls_without_certificate_is_reported(tmp_path):
    with pytest.raises(dataset.DatasetError, match=r"scheduler tls://127\.0\.0\.1:9: cannot be reached: TLS expects"):
        create(tmp_path).run(scheduler="tls://127.0.0.1:9")


def test_address_of_a_worker_is_refused(tmp_path):
    import distributed

    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None, protocol="tcp") as cluster,
        pytest.raises(dataset.DatasetError, match="is not a scheduler: found 'Worker', expected 'Scheduler'"),
    ):
        create(tmp_path).run(scheduler=cluster.workers[0].address)


def test_missing_dask_is_reported(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(dataset.DatasetError, match=r"no module 'distributed': pip install 'superovoid\[dataset\]'"):
        create(tmp_path).run(workers=1)


@pytest.mark.slow
def test_workers_and_threads_write_equal_bits(tmp_path):
    found, by_threads = create(tmp_path), create(tmp_path, "b.zarr")
    by_threads.run()
    found.run([3])
    assert sorted(found.run(workers=2).computed) == [0, 1, 2, 4, 5]
    assert bits(found) == bits(by_threads)


def worker_processes():
    """Return the ids of running worker processes spawned by this process."""
    import psutil

    found = []
    for process in psutil.Process().children():
        try:
            if "spawn_main" in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            pass
    return found


@pytest.mark.slow
def test_run_completes_while_workers_are_killed(tmp_path):
    """Kill a worker after every fourth chunk, while others compute."""
    found, undisturbed = create(tmp_path, chunks=32), create(tmp_path, "b.zarr", chunks=32)
    undisturbed.run()
    kills = []

    def kill(now):
        alive = worker_processes()
        if now.done % 4 == 0 and now.done < now.chunks and alive:
            os.kill(alive[len(kills) % len(alive)], signal.SIGKILL)
            kills.append(now.done)

    did = found.run(workers=2, progress=kill)
    assert len(kills) >= 5 and found.is_complete
    assert len(did.computed) == len(set(did.computed)) <= 32
    assert bits(found) == bits(undisturbed)
    assert found.check() == {}


@pytest.mark.slow
def test_lost_scheduler_is_reported_and_run_can_resume(tmp_path):
    found = create(tmp_path, chunks=64)
    python = [sys.executable, "-m"]
    place = tmp_path / "scheduler.json"
    # In a separate process, so that the workers lose it.
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", place]
    command = [*python, "distributed.cli.dask_scheduler", *options]
    scheduler = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    worker = None
    try:
        deadline = time.monotonic() + 60
        while not place.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        address = json.loads(place.read_text())["address"]
        options = ["--no-dashboard", "--death-timeout", "30", "--nthreads", "1"]
        command = [*python, "distributed.cli.dask_worker", address, *options]
        worker = subprocess.Popen(command, stderr=subprocess.DEVNULL)

        def kill(now):
            if now.done == 5:
                scheduler.kill()

        with pytest.raises(dataset.DatasetError, match="the scheduler was lost"):
            found.run(scheduler=address, progress=kill)
    finally:
        for process in filter(None, (worker, scheduler)):
            process.kill()
            process.wait()
    done = found.done
    assert 5 <= done.sum() < 64
    assert len(found.run().computed) >= 64 - done.sum() - 1
    assert found.is_complete and found.check() == {} and set(found.verify(8).values()) == {""}
