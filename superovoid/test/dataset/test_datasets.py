# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Data sets: contents, bit-for-bit reproducible chunks, and refused input."""

import json
import os
import pickle
import re
import subprocess
import sys
import threading

import balls
import numpy as np
import pytest
from installed import skip_without

from superovoid import dataset, state_distances
from superovoid.dataset import DatasetError, arithmetic, manifests
from superovoid.dataset.question import Cancellation, digests_of
from superovoid.robot import Robot
from superovoid.robot.errors import RobotDescriptionError

skip_without("zarr", "pyarrow", reason="pip install 'superovoid[dataset]'")

EXTRAS = ("points", "normals", "gradients")


def create(folder, name="a.zarr", *, count=300, size=128, seed=5, **options):
    bases = {"ball": balls.BOX}
    options = {"extras": EXTRAS, "max_distance": 0.3 if name.endswith(".parquet") else None, **options}
    states = options.pop("states", dataset.Random(count, seed, bases=bases))
    return dataset.create(folder / name, balls.write(folder), states, chunk_states=size, **options)


def bits(found):
    return [digests_of(found.read(chunk)) for chunk in range(found.chunks)]


def files(path):
    """Return every file of a store with its bytes."""
    return {str(each.relative_to(path)): each.read_bytes() for each in sorted(path.rglob("*")) if each.is_file()}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a complete Zarr store."""
    found = create(tmp_path_factory.mktemp("store"))
    found.run(threads=1)
    return found


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Return a complete Parquet store of rows within `max_distance`."""
    found = create(tmp_path_factory.mktemp("rows"), "a.parquet")
    found.run(threads=1)
    return found


# --- contents ---


def test_intervals_contain_closed_form_distances_of_balls(store):
    assert store.is_complete and store.chunks == 3
    for chunk in range(3):
        arrays = store.read(chunk)
        true = balls.distances(store, arrays["positions"], arrays["base_poses"])
        assert arrays["distance"].shape == true.shape == (len(store.states_of(chunk)), len(store.pairs))
        rounding = 1e-14  # rounding errors of the closed form
        assert (arrays["lower"] <= true + rounding).all() and (true - rounding <= arrays["upper"]).all()
        assert np.abs(arrays["distance"] - true).max() < 1e-9
        apart = arrays["point_b"] - arrays["point_a"]
        assert np.abs(apart - arrays["distance"][..., None] * arrays["normal"]).max() < 1e-9


def test_gradients_match_finite_differences_of_closed_form(store):
    arrays = store.read(0)
    joints, bases, step = arrays["positions"], arrays["base_poses"], 1e-6
    for joint in range(2):
        ahead, behind = joints.copy(), joints.copy()
        ahead[:, joint] += step
        behind[:, joint] -= step
        slope = (balls.distances(store, ahead, bases) - balls.distances(store, behind, bases)) / (2.0 * step)
        assert np.abs(arrays["gradient"][..., joint] - slope).max() < 1e-5


def test_zarr_reads_the_store(store):
    import zarr

    group = zarr.open_group(store.path, mode="r")
    whole = np.concatenate([store.read(chunk)["distance"] for chunk in range(3)])
    assert np.asarray(group["distance"]).tobytes() == whole.tobytes()
    assert np.asarray(store.array("lower")[250:260]).tobytes() == store.read(1)["lower"][122:128].tobytes() + (
        store.read(2)["lower"][:4].tobytes()
    )
    assert group["distance"].metadata.dimension_names == ("state", "pair")
    assert dict(group["distance"].attrs)["unit"] == "m"


def test_positions_equal_the_stored_states(store):
    joints, bases = store.positions(1)
    assert joints.tobytes() == store.read(1)["positions"].tobytes()
    assert bases.tobytes() == store.read(1)["base_poses"].tobytes()


def test_rows_match_dense_store_within_max_distance(store, rows):
    for chunk in range(3):
        dense, sparse = store.read(chunk), rows.read(chunk)
        states = store.states_of(chunk)
        near = dense["distance"] <= 0.3
        assert 0 < near.sum() < near.size
        assert sorted(zip(sparse["state"], sparse["pair"], strict=True)) == [
            (states[i], j) for i, j in zip(*np.nonzero(near), strict=True)
        ]
        at = sparse["state"] - states.start, sparse["pair"]
        assert np.abs(sparse["distance"] - dense["distance"][at]).max() < 1e-9
        assert np.abs(sparse["gradient"] - dense["gradient"][at]).max() < 1e-6


def test_pyarrow_reads_the_parquet_folder(rows):
    import pyarrow.dataset

    table = pyarrow.dataset.dataset(rows.path, format="parquet").to_table()
    assert table.num_rows == sum(len(rows.read(chunk)["state"]) for chunk in range(3))
    assert {"state", "pair", "distance", "point_a_x", "d_slide"} <= set(table.column_names)


def test_between_selects_pairs_of_two_links(tmp_path):
    found = create(tmp_path, between=(["hand"], ["ball"]), extras=())
    assert [(found.bodies[a], found.bodies[b]) for a, b in found.pairs] == [("hand", "ball")]


# --- reproducible bits ---


@pytest.mark.parametrize("name", ["a.zarr", "a.parquet"])
def test_bits_do_not_depend_on_order_threads_or_earlier_chunks(store, rows, tmp_path, name):
    whole = {"a.zarr": store, "a.parquet": rows}[name]
    found = create(tmp_path, name)
    for chunk in (2, 0):
        assert dataset.open(found.path).run([chunk]).computed == (chunk,)
    assert found.run(threads=3).computed == (1,)
    assert bits(found) == bits(whole)
    for chunk in (1, 1, 0):
        assert digests_of(found.compute(chunk)) == digests_of(whole.read(chunk))
    assert files(found.path) == files(whole.path) or name == "a.zarr"


def test_concurrent_runs_complete_one_store(store, tmp_path):
    create(tmp_path)
    runs = [threading.Thread(target=dataset.open(tmp_path / "a.zarr").run) for _ in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert bits(dataset.open(tmp_path / "a.zarr")) == bits(store)


def test_results_equal_state_distances_bit_for_bit(store):
    robot = Robot.from_urdf(balls.URDF)
    joints, bases = store.positions(2)
    found = state_distances(robot, robot.scene(), joints, base_poses={"ball": bases[:, 0]})
    column = {tuple(pair): i for i, pair in enumerate(store.pairs.tolist())}
    stored = store.read(2)
    for row in range(len(found.distance)):
        pair = column[tuple(sorted((int(found.body_a[row]), int(found.body_b[row]))))]
        assert stored["distance"][found.state[row], pair] == found.distance[row]
        assert stored["upper"][found.state[row], pair] == found.upper[row]


def test_run_computes_only_missing_chunks(tmp_path):
    found = create(tmp_path)
    assert found.run([1]).computed == (1,)
    before = {path: path.stat().st_mtime_ns for path in found.path.rglob("c.1.*")}
    reports = []
    did = found.run(progress=reports.append, threads=1)
    assert did.computed == (0, 2) and did.answers == (128 + 44) * len(found.pairs)
    assert [now.done for now in reports] == [2, 3] and reports[-1].remaining == 0.0
    assert {path: path.stat().st_mtime_ns for path in found.path.rglob("c.1.*")} == before
    assert found.run().computed == () and not found.make(0)


def test_compute_can_be_cancelled(store):
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancellation):
        store.compute(0, stop)


def test_verify_detects_changed_bit_with_matching_digest(tmp_path):
    found = create(tmp_path)
    found.run()
    assert found.verify(3, seed=1) == {0: "", 1: "", 2: ""}
    arrays = found.read(1)
    arrays["lower"][5, 1] = np.nextafter(arrays["lower"][5, 1], -1.0)
    found._store.write(1, arrays)
    assert found.check() == {}
    looked = found.verify(3, seed=1)
    assert looked == {0: "", 1: "lower: bits differ from those in the store", 2: ""}


def test_pickling_round_trip(store):
    again = pickle.loads(pickle.dumps(store))
    assert repr(again) == repr(store) and bits(again) == bits(store)
    assert repr(store).endswith("300 states, 2 pairs, 3 of 3 chunks)")


def test_import_does_not_load_zarr_pyarrow_or_distributed():
    code = "import sys, superovoid.dataset; print([n for n in ('zarr', 'pyarrow', 'distributed') if n in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"


@pytest.mark.parametrize(("module", "name"), [("zarr", "a.zarr"), ("pyarrow", "a.parquet")])
def test_missing_package_error_names_install_command(tmp_path, monkeypatch, module, name):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DatasetError, match=rf"no module '{module}': pip install 'superovoid\[dataset\]'"):
        create(tmp_path, name)
    assert [path.name for path in tmp_path.iterdir()] == ["balls.urdf"]


@pytest.mark.parametrize(
    ("name", "value", "differs"),
    [
        ("SUPEROVOID_KERNELS", "python", "compiled"),
        ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-FMA", "GLIBC_TUNABLES"),
    ],
)
def test_arithmetic_reflects_compilation_and_c_library(name, value, differs):
    code = "from superovoid.dataset.arithmetic import arithmetic as a; import json; print(json.dumps(a()))"
    environment = {**os.environ, name: value}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert f"{differs} " in arithmetic.differences(arithmetic.arithmetic(), json.loads(ended.stdout))


# --- refused input ---


@pytest.mark.parametrize("name", ["a.zarr", "a.parquet"])
@pytest.mark.parametrize("harm", ["flip", "cut", "empty"])
def test_damaged_chunk_is_named_and_recomputed_after_discard(tmp_path, name, harm):
    found = create(tmp_path, name)
    found.run()
    whole = bits(found)
    path = found.path / ("lower/c.1.0" if name == "a.zarr" else "chunk-000000001.parquet")
    data = bytearray(path.read_bytes())
    if harm == "flip":
        data[len(data) // 2] ^= 4
    path.write_bytes({"flip": data, "cut": data[: len(data) // 2], "empty": b""}[harm])
    with pytest.raises(DatasetError, match="chunk 1: is damaged"):
        found.read(1)
    assert list(found.check()) == [1]
    assert "is damaged" in found.verify(3)[1]
    found.discard(1)
    assert found.done.tolist() == [True, False, True]
    found.run()
    assert bits(found) == whole


def test_swapped_chunk_file_is_detected_as_damage(tmp_path):
    found = create(tmp_path)
    found.run()
    os.replace(found.path / "lower" / "c.0.0", found.path / "lower" / "c.1.0")
    assert found.done.tolist() == [False, True, True]
    with pytest.raises(DatasetError, match="chunk 1: is damaged: digests differ from those written: lower"):
        found.read(1)


def test_missing_chunks_read_as_unknown(tmp_path):
    found = create(tmp_path)
    found.run([0])
    with pytest.raises(DatasetError, match="chunk 1: has not been computed yet"):
        found.read(1)
    assert np.isnan(found.array("distance")[128:]).all()
    assert (found.array("lower")[128:] == -np.inf).all() and (found.array("upper")[128:] == np.inf).all()
    assert (found.array("status")[128:] == 1).all()  # UNPROVEN
    with pytest.raises(IndexError, match="chunk 3: must be from 0 to 2"):
        found.read(3)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"seed": 6}, "holds another data set: states: seed: 5 there, 6 requested"),
        ({"count": 301}, "states: count: 300 there, 301 requested"),
        ({"size": 64}, "chunks: states: 128 there, 64 requested"),
        ({"extras": ()}, "question: extras"),
        ({"between": (["hand"], ["ball"])}, "question: between"),
        ({"srdf": balls.SRDF}, "robot: srdf"),
    ],
)
def test_create_refuses_store_of_another_data_set(store, tmp_path, other, words):
    create(tmp_path)
    with pytest.raises(DatasetError) as error:
        create(tmp_path, **other)
    assert words in str(error.value)


def test_create_refuses_store_of_another_robot(tmp_path, monkeypatch):
    create(tmp_path)
    monkeypatch.setattr(balls, "URDF", balls.URDF.replace('radius="0.05"', 'radius="0.06"'))
    with pytest.raises(DatasetError, match="holds another data set: robot: urdf"):
        create(tmp_path)


def reseal(path, change):
    """Change a manifest and its digest, as if another version had written it."""
    about = json.loads((path / "zarr.json").read_text())
    manifest = about["attributes"]["superovoid_dataset"]
    change(manifest)
    manifest["sha256"] = manifests._digest(manifest)
    (path / "zarr.json").write_text(json.dumps(about))


def test_computing_refuses_store_of_another_version_or_processor(tmp_path):
    found = create(tmp_path)
    found.run([0])
    reseal(found.path, lambda manifest: manifest.update(superovoid="0.0.9"))
    with pytest.raises(DatasetError, match=r"superovoid 0\.0\.9 there"):
        dataset.open(found.path).run()
    ours = arithmetic.arithmetic()["machine"]
    reseal(found.path, lambda manifest: manifest.update(superovoid=dataset.datasets.manifests.__version__))
    reseal(found.path, lambda manifest: manifest["arithmetic"].update(machine="abacus"))
    other = dataset.open(found.path)
    for ask in (lambda: other.run(), lambda: other.make(1), lambda: other.verify(1), lambda: create(tmp_path)):
        with pytest.raises(DatasetError, match=f"machine 'abacus' there, '{ours}' here"):
            ask()
    assert other.read(0)["distance"].shape == (128, len(found.pairs))  # any version may read


def test_open_refuses_changed_manifest_or_other_format(tmp_path):
    found = create(tmp_path)
    about = (found.path / "zarr.json").read_text()
    (found.path / "zarr.json").write_text(about.replace('"seed": 5', '"seed": 7'))
    with pytest.raises(DatasetError, match="the manifest is damaged"):
        dataset.open(found.path)
    (found.path / "zarr.json").write_text(about)
    reseal(found.path, lambda manifest: manifest.update(format=2))
    with pytest.raises(DatasetError, match=r"format 2, written by.*this version reads format 1"):
        dataset.open(found.path)
    (found.path / "zarr.json").write_text(about[: len(about) // 2])
    with pytest.raises(DatasetError, match="cannot be opened as a Zarr store"):
        dataset.open(found.path)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("states",), None, "manifest, states: found null"),
        (("states", "count"), "7", "states, count: must be an integer of at least 1, found"),
        (("states", "count"), 2**60, "manifest, chunks: "),
        (("chunks", "count"), True, "chunks, count: must be an integer"),
        (("chunks", "states"), 0, "chunks, states: must be an integer of at least 1"),
        (("question", "pairs"), [[0, 99]], "must be two of"),
        (("question", "between"), [["a"]], "must be two lists"),
        (("question", "columns", 0, "name"), "../../x", "columns: found"),
        (("question", "columns", 1, "kind"), "object", "columns: found"),
        (("robot", "srdf"), 1, "robot, srdf: found 1"),
        (("where",), {}, "manifest, where has no 'packages'"),
    ],
)
def test_inconsistent_manifest_is_refused(store, place, value, words):
    """The manifest is edited and its digest recomputed."""
    manifest = json.loads(json.dumps(store.manifest))
    assert manifests.check_manifest(manifest, "here") == manifest
    part = manifest
    for each in place[:-1]:
        part = part[each]
    part[place[-1]] = value
    manifest["sha256"] = manifests._digest(manifest)
    with pytest.raises(DatasetError, match=f"here: .*{re.escape(words)}"):
        manifests.check_manifest(manifest, "here")


@pytest.mark.parametrize(("key", "value"), [("shape", [64, 3]), ("data_type", "float32"), ("separator", "/")])
def test_array_contradicting_the_manifest_is_refused(tmp_path, key, value):
    found = create(tmp_path)
    file = found.path / "lower" / "zarr.json"
    whole = json.loads(file.read_text())
    (whole["chunk_key_encoding"]["configuration"] if key == "separator" else whole)[key] = value
    file.write_text(json.dumps(whole))
    with pytest.raises(DatasetError, match="array 'lower': expected shape, chunks and type"):
        dataset.open(found.path)


def test_too_many_chunks_are_refused(tmp_path):
    with pytest.raises(DatasetError, match="would make 1000000000000 chunks, at most 100000000 are allowed"):
        create(tmp_path, count=10**12, size=1)
    assert not (tmp_path / "a.zarr").exists()


def test_run_refuses_a_changed_robot(tmp_path):
    found = create(tmp_path)
    reseal(found.path, lambda manifest: manifest["robot"].update(fingerprint="0" * 64))
    with pytest.raises(DatasetError, match="differs from the robot for which"):
        dataset.open(found.path).run()


def test_verify_refuses_a_changed_states_file(tmp_path):
    np.save(tmp_path / "q.npy", np.zeros((5, 2)))
    states = dataset.FromFile(tmp_path / "q.npy", {"ball": np.eye(4)})
    found = create(tmp_path, states=states)
    assert dataset.open(found.path).run().computed == (0,)
    np.save(tmp_path / "q.npy", np.ones((5, 2)))
    with pytest.raises(DatasetError, match="has changed since"):
        dataset.open(found.path).verify(1)


def test_existing_files_are_refused_and_kept(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "thesis.tex").write_text("years of work")
    with pytest.raises(DatasetError, match="is not a data set: it is a folder without"):
        create(tmp_path)
    (tmp_path / "b.zarr").write_text("a file")
    with pytest.raises(DatasetError, match="is not a data set: it is no folder"):
        create(tmp_path, "b.zarr")
    with pytest.raises(DatasetError, match="does not exist"):
        dataset.open(tmp_path / "c.zarr")
    import zarr

    zarr.open_group(tmp_path / "d.zarr", mode="w").create_array("distance", shape=(3,), dtype="f8")
    with pytest.raises(DatasetError, match="its manifest is missing"):
        create(tmp_path, "d.zarr")
    assert (tmp_path / "a.zarr" / "thesis.tex").read_text() == "years of work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zarr", "b.zarr", "balls.urdf", "d.zarr"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_distance": 0.1}, "NAME.parquet with it; found max_distance = 0.1 m"),
        ({"name": "a.parquet", "max_distance": None}, "must be NAME.zarr without max_distance"),
        ({"name": "a.txt"}, "must be NAME.zarr without max_distance"),
        ({"name": "a"}, "must be NAME.zarr without max_distance"),
        ({"name": "a.txt", "max_distance": 0.1}, "NAME.parquet with it"),
        ({"name": "a.parquet", "max_distance": float("nan")}, "max_distance = nan: must be a finite number"),
        ({"name": "a.parquet", "max_distance": "5 mm"}, "max_distance = '5 mm': must be a finite number"),
        ({"extras": ("colour",)}, "extras: 'colour': must be some of"),
        ({"between": (["elbow"], ["ball"])}, "'elbow' is not a link or group"),
        ({"between": (["ball"], ["ball"])}, "has no pair between ball and ball to check"),
        ({"size": 0}, "chunk_states = 0: must be an integer from 1"),
    ],
)
def test_invalid_arguments_are_refused_and_leave_no_files(tmp_path, options, words):
    with pytest.raises(DatasetError) as error:
        create(tmp_path, **options)
    assert words in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["balls.urdf"]


def test_unreadable_robot_leaves_no_store(tmp_path):
    with pytest.raises(RobotDescriptionError):
        dataset.create(tmp_path / "a.zarr", "<robot/>", dataset.Random(3))
    with pytest.raises(FileNotFoundError):
        dataset.create(tmp_path / "a.zarr", tmp_path / "no.urdf", dataset.Random(3))
    assert not list(tmp_path.iterdir())


def test_zero_max_distance_is_accepted(tmp_path):
    found = create(tmp_path, "a.parquet", max_distance=0.0)
    found.run()
    distances = np.concatenate([found.read(chunk)["distance"] for chunk in range(found.chunks)])
    assert 0 < len(distances) and (distances <= 0.0).all()


def test_chunks_without_rows_are_valid(tmp_path):
    away = np.eye(4)
    away[:3, 3] = 5.0
    states = dataset.Grid({"slide": 3}, bases={"ball": away})
    found = create(tmp_path, "a.parquet", max_distance=0.0, states=states, between=(["hand"], ["ball"]), size=2)
    assert sorted(found.run().computed) == [0, 1]
    assert all(len(values) == 0 for values in found.read(1).values()) and found.check() == {}
    assert found.verify(2) == {0: "", 1: ""}
