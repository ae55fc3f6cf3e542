# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Makers of data sets that are killed at every step of every file they write: the same bits in the end, none twice."""

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


class Killing:
    """Kills this process at the n-th step; a file has five: no file, half of it, all of it, on the disk, its name."""

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

        class Half:
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

        def killing(path, data, below=None):
            self.step()
            with whole_files.becoming(path, below) as file:
                Half(file).write(data)

        whole_files.os = Os()
        stores.write_whole = killing


def made(folder, name):
    return balls.store(folder, name, CHUNKS, SIZE)


def killed_at(nth, work):
    """Do something in a process that is killed at its n-th step; return whether it was."""
    child = os.fork()
    if child == 0:
        try:
            Killing(nth).install()
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
def undisturbed(request, tmp_path_factory):
    found = made(tmp_path_factory.mktemp("whole"), request.param)
    found.run(threads=1)
    return request.param, balls.digests(found), len(times(found))


def attack(folder, undisturbed, nth):
    """Kill a run at a step; have another one end it. Returns whether the first was killed."""
    name, whole, _ = undisturbed
    found = made(folder, name)
    killed = killed_at(nth, lambda: found.run(threads=1))
    there = [chunk for chunk in range(CHUNKS) if found.done[chunk]]
    before = {path: at for path, at in times(found).items() if any(_is_of(path, chunk) for chunk in there)}
    for chunk in there:
        assert digests_of(found.read(chunk)) == whole[chunk]
    assert len(list(whole_files.left_over(found.path))) <= 1
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
def test_killed_at_a_step_and_resumed(undisturbed, tmp_path, share):
    assert attack(tmp_path, undisturbed, round(share * 5 * undisturbed[2]))


@pytest.mark.slow
def test_killed_at_every_step_and_resumed(undisturbed, tmp_path):
    steps = 5 * undisturbed[2]
    for nth in range(1, steps + 2):
        folder = tmp_path / str(nth)
        folder.mkdir()
        assert attack(folder, undisturbed, nth) == (nth <= steps), nth


@pytest.mark.parametrize("name", [pytest.param("a.zarr", marks=pytest.mark.slow), "a.parquet"])
def test_killed_while_it_is_laid_out_and_begun_again(name, tmp_path):
    """At every step there is no store, or a whole one; what is half there goes when it is begun again."""
    nth, killed = 0, True
    while killed:
        nth += 1
        folder = tmp_path / str(nth)
        folder.mkdir()
        balls.write(folder)
        killed = killed_at(nth, partial(made, folder, name))
        if (folder / name).exists():
            assert not dataset.open(folder / name).done.any()
        made(folder, name)
        assert sorted(path.name for path in folder.iterdir()) == [name, "balls.urdf"]
    assert nth > 4
