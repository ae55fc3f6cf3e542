# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The overhead of a chunk of a data set, by threads and by workers of dask.distributed.

Run ``python -m superovoid_papers.benchmarks.dataset_chunks``; it prints the tables of docs/reference/figures_scenes.md.
Times are processor times of this process and of workers, so other programs do not affect them. They exclude the start:
measurement begins when every worker has done a chunk. Efficiency is the share of answers in the processor time; the
answers of the smallest chunk take nineteen times the rest of its cost.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from superovoid import dataset
from superovoid.dataset.datasets import _make_in_worker, _worker_dataset
from superovoid.dataset.spreading import DaskCluster
from superovoid.output import machine
from superovoid_ros.resources import share_directory

_CHUNKS = 16
SIZES = 64, 512, 2048
WAYS = {
    "one thread": {"threads": 1},
    "two threads": {"threads": 2},
    "eight threads": {"threads": 8},
    "one worker": {"workers": 1},
    "two workers": {"workers": 2},
    "eight workers": {"workers": 8},
}
_ENOUGH = 0.95
"""Efficiency of the smallest chunk worth a task."""
PALMS = {
    "left_palm": ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0)),
    "right_palm": ((-0.1, 0.1), (-0.1, 0.1), (-0.1, 0.1)),
}


def hands(folder: Path, chunks: int, states: int) -> dataset.Dataset:
    """Create a data set of both hands of the iCub, palms within 0.2 m, all pairs between left and right fingers."""
    share = share_directory()
    return dataset.create(
        folder / "hands.zarr",
        share / "urdf" / "icub_hands.urdf",
        dataset.Random(chunks * states, 1, bases=PALMS),
        srdf=share / "config" / "icub_hands.srdf",
        between=(["left_index"], ["right_index"]),
        chunk_states=states,
    )


def _processor_time() -> float:
    """Return the processor time that this process and its children have used, s."""
    import psutil

    me = psutil.Process()
    times = [each.cpu_times() for each in (me, *me.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def _run(states: int, by: dict[str, int], chunks: int) -> tuple[float, float, float]:
    """Return processor time per chunk, time from chunk to chunk, s, and bytes per answer."""
    with tempfile.TemporaryDirectory() as folder:
        found = hands(Path(folder), 1 + chunks, states)
        found.run([0], threads=1)
        with contextlib.ExitStack() as stack:
            if "workers" in by:
                cluster = stack.enter_context(DaskCluster(workers=by["workers"]))
                work = partial(_make_in_worker, str(found.path), found.manifest["sha256"], {})
                cluster._client.run(_prepare_worker, work)
                before, started = _processor_time(), time.perf_counter()
                for _ in cluster.spread(work, range(1, 1 + chunks)):
                    pass
            else:
                before, started = _processor_time(), time.perf_counter()
                found.run(**by)
            spent, wall = _processor_time() - before, time.perf_counter() - started
        if not found.is_complete:
            raise AssertionError(f"{found} is not complete")
        size = sum(path.stat().st_size for path in found.path.rglob("c.*"))
        return spent / chunks, wall / chunks, size / (found.states * len(found.pairs))


def _prepare_worker(work: Callable[[int], bool]) -> None:
    """Make a worker open the store, and compute once without timing."""
    path, digest, _ = work.args  # type: ignore[attr-defined]
    _worker_dataset(path, digest, ()).compute(0)


def _of_answers(states: int, chunks: int) -> tuple[float, float]:
    """Return the processor time of the answers of a chunk alone, and of one answer, s."""
    with tempfile.TemporaryDirectory() as folder:
        found = hands(Path(folder), 1 + chunks, states)
        found.compute(0)
        before = _processor_time()
        for chunk in range(1, found.chunks):
            found.compute(chunk)
        took = (_processor_time() - before) / chunks
        return took, took / (states * len(found.pairs))


def smallest_answer_time(rest: float) -> float:
    """Return the processor time of answers, s, for which the rest is a twentieth of the chunk's."""
    return rest * _ENOUGH / (1.0 - _ENOUGH)


def measure(sizes: Sequence[int] = SIZES, chunks: int = _CHUNKS) -> None:
    """Print the tables."""
    print(
        f"{machine(('numpy', 'numba', 'zarr', 'distributed'))}; load {os.getloadavg()[0]:.1f} at the start", flush=True
    )
    print(
        "| by | states of a chunk | answers, ms | all else, ms | efficiency, % | wall a chunk, ms | bytes an answer |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    rests: dict[str, list[float]] = {name: [] for name in WAYS}
    pace = 0.0
    for states in sizes:
        answers, pace = _of_answers(states, chunks)
        for name, by in WAYS.items():
            spent, wall, size = _run(states, by, chunks)
            rests[name].append(spent - answers)
            share = 100.0 * answers / spent
            print(
                f"| {name} | {states} | {1e3 * answers:.1f} | {1e3 * (spent - answers):.1f} | {share:.0f} | "
                f"{1e3 * wall:.0f} | {size:.1f} |",
                flush=True,
            )
    print(f"load {os.getloadavg()[0]:.1f} at the end; {1e6 * pace:.2f} us an answer\n")
    print("| by | all else, ms a chunk | compared with one thread | answers of a chunk from which it is below 5 % |")
    print("|---|---|---|---|")
    for name, found in rests.items():
        # The least of the sizes: other programs only add to it.
        rest, of_thread = max(min(found), 0.0), max(min(rests["one thread"]), 1e-9)
        least = smallest_answer_time(rest)
        print(f"| {name} | {1e3 * rest:.1f} | {rest / of_thread:.1f} | {least:.2f} s, {least / pace:,.0f} |")


if __name__ == "__main__":
    # As a named module, since workers import its functions by name.
    importlib.import_module(__spec__.name).measure()
