# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Data sets whose writers are killed, or whose disk is full: no chunk is lost or computed twice, bits are equal."""

import errno
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import balls
import numpy as np
import pytest
from installed import skip_without

from superovoid import dataset
from superovoid.dataset import DatasetError, whole_files
from superovoid.dataset.question import digests_of

skip_without("zarr", "pyarrow", reason="pip install 'superovoid[dataset]'")

CHUNKS, SIZE = 4, 2048

# Computes chunks, and kills itself when its n-th file is written but not yet renamed.
KILLED = """
import os, signal, sys
from superovoid import dataset
from superovoid.dataset import whole_files
left, replace = int(sys.argv[2]), os.replace
def killing(*names):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*names)
whole_files.os.replace = killing
dataset.open(sys.argv[1]).run(threads=1)
"""
LIMITED = """
import resource, sys
from superovoid import dataset
found = dataset.open(sys.argv[1])
found.positions(0)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    found.run(threads=1)
except dataset.DatasetError as error:
    print(error)
    sys.exit(3)
"""


def create(folder, name="a.zarr", count=CHUNKS * SIZE, size=SIZE):
    states = dataset.Random(count, 8, bases={"ball": balls.BOX})
    max_distance = 0.4 if name.endswith(".parquet") else None
    return dataset.create(folder / name, balls.write(folder), states, chunk_states=size, max_distance=max_distance)


def bits(found):
    return [digests_of(found.read(chunk)) for chunk in range(found.chunks)]


def script(text, *arguments):
    return subprocess.run([sys.executable, "-c", text, *map(str, arguments)], capture_output=True, text=True)


def write_times(found):
    """Return the modification time of each chunk file."""
    names = re.compile(r"c\..*|chunk-.*")
    return {path: path.stat().st_mtime_ns for path in found.path.rglob("*") if names.fullmatch(path.name)}


@pytest.fixture(scope="module", params=["a.zarr", pytest.param("a.parquet", marks=pytest.mark.slow)])
def whole_run(request, tmp_path_factory):
    """Return a store's name, bits of an undisturbed run, and number of files per chunk."""
    found = create(tmp_path_factory.mktemp("whole"), request.param)
    found.run(threads=1)
    return request.param, bits(found), len(write_times(found)) // CHUNKS


@pytest.mark.ci
@pytest.mark.parametrize("of_chunk", [0.0, 0.5, 1.0])
def test_run_resumes_after_kill_within_a_chunk(whole_run, tmp_path, of_chunk):
    name, undisturbed, files = whole_run
    found = create(tmp_path, name)
    nth = files + 1 + round(of_chunk * (files - 1))  # the second chunk's first file, middle file or last file
    ended = script(KILLED, found.path, nth)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert found.done.tolist() == [True, False, False, False]
    assert len(list(whole_files.leftovers_below(found.path))) == 1
    first = {path: at for path, at in write_times(found).items() if re.search(r"c\.0\.|chunk-0+\.", path.name)}
    assert len(first) == files
    found.remove_left_overs()
    assert not list(found.path.rglob("*.partial"))
    assert found.run(threads=1).computed == (1, 2, 3)
    assert {path: write_times(found)[path] for path in first} == first
    assert bits(found) == undisturbed and found.check() == {}


def test_files_of_running_writers_are_not_removed(tmp_path):
    found = create(tmp_path)
    ours = whole_files.partial_of(found.path / "lower" / "c.0.0")
    ours.write_bytes(b"half")
    found.remove_left_overs()
    assert ours.exists()


@pytest.mark.ci
def test_kill_during_creation_leaves_no_store(tmp_path):
    text = KILLED.replace(
        "dataset.open(sys.argv[1]).run(threads=1)",
        "dataset.create(sys.argv[1], sys.argv[3], dataset.Grid(3, bases={'ball': __import__('numpy').eye(4)}))",
    )
    ended = script(text, tmp_path / "a.zarr", 3, balls.write(tmp_path))
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not (tmp_path / "a.zarr").exists()
    create(tmp_path).run([0])


@pytest.mark.parametrize("limit", [1000, 20000])
@pytest.mark.slow
def test_full_disk_is_reported_and_written_chunks_are_kept(whole_run, tmp_path, limit):
    name, undisturbed, _ = whole_run
    found = create(tmp_path, name)
    found.run([0])
    ended = script(LIMITED, found.path, limit)
    assert ended.returncode == 3, ended.stderr
    assert re.search(r"a\.\w+: chunk 1 cannot be written: File too large. Chunks already written", ended.stdout)
    assert found.done.tolist() == [True, False, False, False] and not list(found.path.rglob("*.partial"))
    assert found.run().computed and bits(found) == undisturbed


@pytest.mark.slow
def test_failed_creation_leaves_no_files(tmp_path):
    path = balls.write(tmp_path)
    text = LIMITED.replace("found = dataset.open(sys.argv[1])\nfound.positions(0)", "import superovoid.dataset.stores")
    text = text.replace("found.run(threads=1)", f"dataset.create(sys.argv[1], {str(path)!r}, dataset.Random(3))")
    text = text.replace("dataset.Random(3)", "dataset.Grid(2, bases={'ball': __import__('numpy').eye(4)})")
    text = text.replace("except dataset.DatasetError", "except OSError")
    ended = script(text, tmp_path / "a.zarr", 100)
    assert ended.returncode == 3 and "File too large" in ended.stdout, ended.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["balls.urdf"]


def test_read_only_folder_is_reported(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    found = create(tmp_path)
    (found.path / "lower").chmod(0o500)
    with pytest.raises(DatasetError, match="chunk 0 cannot be written: Permission denied"):
        found.run([0])
    (found.path / "lower").chmod(0o700)


def test_failed_write_stops_other_chunks_and_is_raised(tmp_path, monkeypatch):
    found = create(tmp_path)

    def fail(chunk, arrays):
        raise MemoryError("of the third")

    write = found._store.write
    monkeypatch.setattr(found._store, "write", lambda *each: (fail if each[0] == 2 else write)(*each))
    with pytest.raises(MemoryError, match="of the third"):
        found.run(threads=2)
    monkeypatch.undo()
    assert not found.done[2]
    found.run(threads=2)
    assert found.is_complete


@pytest.mark.slow
@pytest.mark.parametrize("round_", range(3))
def test_run_survives_repeated_kills_at_random_times(tmp_path, round_):
    found = create(tmp_path, count=40 * 4096, size=4096)
    undisturbed = create(tmp_path, "b.zarr", count=40 * 4096, size=4096)
    undisturbed.run()
    chance = random.Random(round_)
    done, kills = np.zeros(40, dtype=bool), 0
    while not found.is_complete:
        command = [sys.executable, "-m", "superovoid.cli", "dataset", "--output", found.path, "--resume"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        target = min(40, int(found.done.sum()) + chance.randrange(1, 8))
        deadline = time.monotonic() + 120
        while process.poll() is None and found.done.sum() < target and time.monotonic() < deadline:
            time.sleep(chance.random() * 0.02)
        process.kill()
        kills += process.wait() == -signal.SIGKILL
        assert (found.done | ~done).all()  # no chunk is lost
        done = found.done
    assert kills >= 3 and bits(found) == bits(undisturbed)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["a.zarr", "a.parquet"])
@pytest.mark.parametrize("how", ["moved", "another in its place", "removed"])
def test_moving_a_store_during_a_run_loses_no_chunks(tmp_path, name, how):
    found = balls.store(tmp_path, name, 6, 64)
    at, to = found.path, tmp_path / f"elsewhere{found.path.suffix}"

    def move(progress):
        if progress.computed == 2:
            if how == "removed":
                shutil.rmtree(at)
                return
            at.rename(to)
            if how == "another in its place":
                max_distance = 0.1 if name.endswith(".parquet") else None
                dataset.create(
                    at,
                    tmp_path / "balls.urdf",
                    dataset.Random(64, 9, bases={"ball": balls.BOX}),
                    max_distance=max_distance,
                )

    with pytest.raises(DatasetError, match=r"cannot be written: the store is gone\. If it was moved"):
        found.run(threads=1, progress=move)
    if how == "another in its place":
        assert not dataset.open(at).done.any()
    else:
        assert not at.exists()
    if how != "removed":
        again = dataset.open(to)
        assert again.done.sum() == 2 and not again.check()
        assert len(again.run(threads=1).computed) == 4


def test_write_error_names_the_file(tmp_path):
    path = tmp_path / "out.mcap"
    with pytest.raises(OSError, match="No space left") as raised, whole_files.open_atomically(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert raised.value.filename == str(path) and not list(tmp_path.iterdir())
