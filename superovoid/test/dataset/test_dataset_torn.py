# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Stores with torn files, invalid manifests or links in their paths never return wrong data."""

import copy
import json
import math
import os
import random
import shutil

import balls
import pytest
from installed import skip_without

from superovoid import dataset
from superovoid.dataset import DatasetError, manifests
from superovoid.dataset.question import digests_of
from superovoid.robot.errors import RobotDescriptionError

skip_without("zarr", "pyarrow", reason="pip install 'superovoid[dataset]'")

CHUNKS, SIZE = 2, 64
NAMES = ["a.zarr", "a.parquet"]


def create(folder, name):
    return balls.store(folder, name, CHUNKS, SIZE)


@pytest.fixture(scope="module", params=NAMES)
def whole_store(request, tmp_path_factory):
    found = create(tmp_path_factory.mktemp("whole"), request.param)
    found.run(threads=1)
    return found


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def tear(data, chance):
    """Truncate data, zero it from some point on, replace a part by noise, or append noise."""
    how = chance.randrange(4)
    at = chance.randrange(len(data)) if data else 0
    if how == 0:
        return data[:at]
    if how == 1:
        return data[:at] + bytes(len(data) - at)
    if how == 2:
        return data[:at] + chance.randbytes(16) + data[at + 16 :]
    return data + chance.randbytes(8)


def judge(path, undisturbed):
    """Check that a store returns the written bits or raises an error that names the store and the chunk."""
    try:
        found = dataset.open(path)
        for chunk in range(found.chunks):
            try:
                assert digests_of(found.read(chunk)) == undisturbed[chunk]
            except DatasetError as error:
                assert str(path) in str(error) and f"chunk {chunk}" in str(error)
        for chunk in found.check():
            found.discard(chunk)
        found.run(threads=1)
        assert balls.digests(found) == undisturbed
    except DatasetError as error:
        assert str(path) in str(error)


@pytest.mark.ci
@pytest.mark.parametrize("seed", [0, pytest.param(range(1, 40), marks=pytest.mark.slow)])
def test_torn_file_is_reported_and_its_chunk_recomputed(whole_store, tmp_path, seed):
    undisturbed = balls.digests(whole_store)
    for each in [seed] if isinstance(seed, int) else seed:
        chance = random.Random(each)
        for number, file in enumerate(files(whole_store.path)):
            path = tmp_path / f"{each}-{number}{whole_store.path.suffix}"
            shutil.copytree(whole_store.path, path)
            harmed = path / file.relative_to(whole_store.path)
            harmed.write_bytes(tear(file.read_bytes(), chance))
            judge(path, undisturbed)
            shutil.rmtree(path)


def places(value, at=()):
    """Iterate over all places in nested lists and mappings; in long lists only over the first and the last."""
    yield at
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys if isinstance(value, dict) or len(keys) < 3 else (keys[0], keys[-1]):
        yield from places(value[key], (*at, key))


NONSENSE = (None, "", "7", -1, 0, 2**63, 2**70, 1.5, math.nan, math.inf, True, [], {}, [[[[]]]], {"a": {"b": None}})


def spoil(manifest, place, value):
    """Return a manifest with the value at a place replaced, or removed if it is ``...``, and a matching digest."""
    found = copy.deepcopy(manifest)
    part = found
    for key in place[:-1]:
        part = part[key]
    if value is ...:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    if place != ("sha256",):
        found["sha256"] = manifests._digest(found)
    return found


def put(path, manifest):
    """Replace the manifest of a store."""
    file = path / ("zarr.json" if (path / "zarr.json").exists() else "_manifest.json")
    about = json.loads(file.read_text())
    if file.name == "zarr.json":
        about["attributes"]["superovoid_dataset"] = manifest
    else:
        about = manifest
    file.write_text(json.dumps(about))


def open_and_use(path):
    found = dataset.open(path)
    found.positions(0)
    found.read(0)
    found.compute(0)


@pytest.mark.parametrize("share", [0.03, pytest.param(1.0, marks=pytest.mark.slow)])
def test_invalid_manifest_is_refused_or_harmless(whole_store, tmp_path, share):
    path = tmp_path / f"b{whole_store.path.suffix}"
    shutil.copytree(whole_store.path, path)
    chance, undisturbed, tried = random.Random(5), balls.digests(whole_store)[0], 0
    for place in list(places(whole_store.manifest))[1:]:
        for value in (*NONSENSE, ...):
            if chance.random() > share:
                continue
            put(path, spoil(whole_store.manifest, place, value))
            tried += 1
            try:
                open_and_use(path)
                assert digests_of(dataset.open(path).compute(0)) == undisturbed or place[0] in ("states", "question")
            except (DatasetError, RobotDescriptionError) as error:
                assert len(str(error)) < 2000, (place, value)
            except Exception as error:
                raise AssertionError(f"manifest, {place} = {value!r}: {error!r}") from error
    assert tried > 20


@pytest.mark.parametrize("name", NAMES)
def test_store_can_be_reached_through_links(name, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    found = create(tmp_path / "link", name)
    (tmp_path / "too").symlink_to(tmp_path / "link" / name)
    assert found.run([0], threads=1).computed == (0,)
    again = dataset.open(tmp_path / "too")
    assert again.run(threads=1).computed == (1,)
    assert dataset.open(tmp_path / "real" / name).is_complete and again.check() == {}


@pytest.mark.parametrize("name", NAMES)
def test_broken_link_is_reported_and_kept(name, tmp_path):
    ending = os.path.splitext(name)[1]
    (tmp_path / f"lost{ending}").symlink_to("nowhere")
    (tmp_path / f"loop{ending}").symlink_to(f"loop{ending}")
    for each in ("lost", "loop"):
        path = tmp_path / f"{each}{ending}"
        with pytest.raises(DatasetError, match=f"{each}{ending}: is not a data set: it is a link to a missing path"):
            create(tmp_path, path.name)
        with pytest.raises(DatasetError, match=f"{each}{ending}: is not a data set: it is a link to a missing path"):
            dataset.open(path)
        assert path.is_symlink()


@pytest.mark.parametrize("name", NAMES)
def test_two_processes_complete_one_store(name, tmp_path):
    """Two processes create and compute the store at once; each sets the time of its folder back."""
    ours = create(tmp_path, name)
    ours.run(threads=1)
    undisturbed = balls.digests(ours)
    shutil.rmtree(ours.path)
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            code = 7
            try:
                found = create(tmp_path, name)
                os.utime(found.path, (0, 0))
                found.run(threads=2)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
    found = dataset.open(tmp_path / name)
    assert balls.digests(found) == undisturbed and found.check() == {} and not list(tmp_path.rglob("*.partial"))
