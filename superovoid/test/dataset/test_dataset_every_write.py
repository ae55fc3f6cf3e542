# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kill writers of data sets at every step of every file: the final bits are equal, and no chunk is computed twice."""

import os
import re
import signal
import time
from functools import partial

import balls
import pytest
from installed import skip_without

from superovoid import dataset
from superovoid.dataset import stores, whole_files
from superovoid.dataset.question import digests_of

skip_without("zarr", "pyarrow", reason="pip install 'superovoid[dataset]'")

CHUNKS, SIZE = 3, 64
NAMES = ["a.zarr", "a.parquet"]


class ProcessKiller:
    """Kills this process at the n-th step.

    Writing a file has five steps: before it, half written, written, synced to the disk, renamed.
    """

    def __init__(self, nth):
        self.left = nth

    def step(self):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def install(self):
        fsync, replace = os.fsync, os.replace

        class Os:
            def __getattr__(_, name):
                return getattr(os, name)

            def fsync(_, number):
                self.step()
                fsync(number)
                self.step()

            def replace(_, *names):
                replace(*names)
                self.step()

        class HalfFile:
            def __init__(_, file):
                _.file = file

            def __getattr__(_, name):
                return getattr(_.file, name)

            def write(_, data):
                data = bytes(data)
                _.file.write(data[: len(data) // 2])
                _.file.flush()
                self.step()
                _.file.write(data[len(data) // 2 :])

        def kill_while_writing(path, data, below=None):
            self.step()
            with whole_files.open_atomically(path, below) as file:
                HalfFile(file).write(data)

        whole_files.os = Os()
        stores.write_whole = kill_while_writing


def create(folder, name):
    return balls.store(folder, name, CHUNKS, SIZE)


def killed_at(nth, work):
    """Run a function in a process killed at its n-th step; return whether it was killed."""
    child = os.fork()
    if child == 0:
        try:
            ProcessKiller(nth).install()
            work()
        finally:
            os._exit(7)
    deadline = time.monotonic() + 120
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        assert time.monotonic() < deadline, f"step {nth}: neither killed nor ended"
        time.sleep(0.002)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 7
    return os.WIFSIGNALED(status)


def times(found):
    names = re.compile(r"c\..*|chunk-.*")
    return {path: path.stat().st_mtime_ns for path in found.path.rglob("*") if names.fullmatch(path.name)}


@pytest.fixture(scope="module", params=NAMES)
def undisturbed_run(request, tmp_path_factory):
    found = create(tmp_path_factory.mktemp("whole"), request.param)
    found.run(threads=1)
    return request.param, balls.digests(found), len(times(found))


def attack(folder, undisturbed, nth):
    """Kill a run at a step and complete it by another; return whether the first was killed."""
    name, whole, _ = undisturbed
    found = create(folder, name)
    killed = killed_at(nth, lambda: found.run(threads=1))
    there = [chunk for chunk in range(CHUNKS) if found.done[chunk]]
    before = {path: at for path, at in times(found).items() if any(_is_of(path, chunk) for chunk in there)}
    for chunk in there:
        assert digests_of(found.read(chunk)) == whole[chunk]
    assert len(list(whole_files.leftovers_below(found.path))) <= 1
    found.remove_left_overs()
    did = found.run(threads=1)
    assert sorted([*there, *did.computed]) == list(range(CHUNKS))
    assert {path: times(found)[path] for path in before} == before
    assert balls.digests(found) == whole and found.check() == {}
    assert not list(found.path.rglob("*.partial"))
    return killed


def _is_of(path, chunk):
    return re.fullmatch(rf"c\.{chunk}(\.0)*|chunk-0*{chunk}\.parquet", path.name) is not None


@pytest.mark.parametrize("share", [0.31, 0.83])
def test_run_resumes_after_kill_at_some_steps(undisturbed_run, tmp_path, share):
    assert attack(tmp_path, undisturbed_run, round(share * 5 * undisturbed_run[2]))


@pytest.mark.slow
def test_run_resumes_after_kill_at_every_step(undisturbed_run, tmp_path):
    steps = 5 * undisturbed_run[2]
    for nth in range(1, steps + 2):
        folder = tmp_path / str(nth)
        folder.mkdir()
        assert attack(folder, undisturbed_run, nth) == (nth <= steps), nth


@pytest.mark.parametrize("name", [pytest.param("a.zarr", marks=pytest.mark.slow), "a.parquet"])
def test_creation_can_be_repeated_after_kill_at_every_step(name, tmp_path):
    """Kill the creation at every step: the store is absent or complete, and the next creation removes leftovers."""
    nth, killed = 0, True
    while killed:
        nth += 1
        folder = tmp_path / str(nth)
        folder.mkdir()
        balls.write(folder)
        killed = killed_at(nth, partial(create, folder, name))
        if (folder / name).exists():
            assert not dataset.open(folder / name).done.any()
        create(folder, name)
        assert sorted(path.name for path in folder.iterdir()) == [name, "balls.urdf"]
    assert nth > 4
