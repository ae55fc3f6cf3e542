# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a chunk of a data set costs beside its answers, by threads and by workers of dask.distributed.

Run ``python -m superovoid_ros.experiments.benchmarks.dataset_chunks``; it prints the table of docs/datasets.md. Times
are of the processor, of this process and of workers, so that what else the machine does drops out. What it takes to
start is left out: it begins when every worker has done a chunk or more.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from superovoid_ros import dataset
from superovoid_ros.output import machine
from superovoid_ros.resources import share_directory

_BEFORE, _CHUNKS = 8, 24
SIZES = 64, 512, 4096
WAYS = {
    "one thread": {"threads": 1},
    "two threads": {"threads": 2},
    "one worker": {"workers": 1},
    "two workers": {"workers": 2},
}
PALMS = {
    "left_palm": ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0)),
    "right_palm": ((-0.1, 0.1), (-0.1, 0.1), (-0.1, 0.1)),
}


def hands(folder: Path, chunks: int, states: int) -> dataset.Dataset:
    """A data set of both hands of the iCub, palms anywhere in 0.2 m, all pairs between left and right fingers."""
    share = share_directory()
    return dataset.create(
        folder / "hands.zarr",
        share / "urdf" / "icub_hands.urdf",
        dataset.Random(chunks * states, 1, bases=PALMS),
        srdf=share / "config" / "icub_hands.srdf",
        between=(["left_index"], ["right_index"]),
        chunk_states=states,
    )


def _spent() -> float:
    """Processor time of this process and of its children by now, s."""
    import psutil

    me = psutil.Process()
    times = [each.cpu_times() for each in (me, *me.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def _run(states: int, by: dict[str, int]) -> tuple[float, float, float]:
    """Processor time a chunk, time from chunk to chunk, s, and bytes an answer."""
    with tempfile.TemporaryDirectory() as folder:
        found = hands(Path(folder), _BEFORE + _CHUNKS, states)
        ends: dict[int, tuple[float, float]] = {}

        def note(now: dataset.Progress) -> None:
            if now.done in (_BEFORE, now.chunks):
                ends[now.done] = _spent(), time.perf_counter()

        found.run(progress=note, **by)
        (spent, at), (spent_at_end, end) = ends.values()
        size = sum(path.stat().st_size for path in found.path.rglob("c.*"))
        return (spent_at_end - spent) / _CHUNKS, (end - at) / _CHUNKS, size / (found.states * len(found.pairs))


def _of_answers(states: int) -> float:
    """Processor time of the answers of a chunk alone, s."""
    with tempfile.TemporaryDirectory() as folder:
        found = hands(Path(folder), _BEFORE + _CHUNKS, states)
        found.compute(0)
        before = _spent()
        for chunk in range(_BEFORE, found.chunks):
            found.compute(chunk)
        return (_spent() - before) / _CHUNKS


def measure() -> None:
    """Print the table."""
    print(f"{machine()}; load {os.getloadavg()[0]:.1f} at the start", flush=True)
    print("| by | states of a chunk | answers, ms | all else, ms | from chunk to chunk, ms | bytes an answer |")
    print("|---|---|---|---|---|---|", flush=True)
    for states in SIZES:
        answers = _of_answers(states)
        for name, by in WAYS.items():
            spent, wall, size = _run(states, by)
            rest = spent - answers
            print(
                f"| {name} | {states} | {1e3 * answers:.1f} | {1e3 * rest:.1f} | {1e3 * wall:.0f} | {size:.1f} |",
                flush=True,
            )
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    measure()
