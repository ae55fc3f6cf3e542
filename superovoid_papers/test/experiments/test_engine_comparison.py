# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The comparison with other libraries: its reference, its verdicts, its files, and each available adapter."""

import csv
import io
import json
import math
from functools import partial

import numpy as np
import pytest
from rich.console import Console
from scipy.spatial.transform import Rotation

from superovoid import Ellipsoid, Sphere, Superovoid, cli
from superovoid.output import save_figure, write_csv
from superovoid.testing import polytope
from superovoid_papers.benchmarks import engine_comparison, peers
from superovoid_papers.benchmarks.peers import Geometry

from draws import few_or_many

pytestmark = pytest.mark.ci


def pose(x=0.0, y=0.0, z=0.0):
    matrix = np.eye(4)
    matrix[:3, 3] = x, y, z
    return matrix


# -- reference -------------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", (1.5, 1e-7, 0.0, -1e-3, -0.7))
def test_reference_agrees_with_the_closed_form_for_spheres(gap):
    direction = np.array([2.0, -3.0, 6.0]) / 7.0
    pair = peers.Pair(Sphere(0.8), Sphere(0.5), pose(1, 2, 3), pose(*([1, 2, 3] + (1.3 + gap) * direction)))
    found = engine_comparison.bracket(pair)
    assert found.distance == pytest.approx(gap, abs=1e-12)
    assert found.lower <= gap + 1e-14 and gap - 1e-14 <= found.upper
    assert found.normal == pytest.approx(direction, abs=1e-5)


@pytest.mark.slow
def test_reference_stays_wide_if_all_directions_are_equal():
    found = engine_comparison.bracket(peers.Pair(Sphere(1.0), Sphere(1.0), pose(), pose()))
    assert found.lower == pytest.approx(-2.0, abs=1e-14)
    assert -2.0 < found.upper < -1.99


def test_reference_takes_the_thin_side_of_aligned_ellipsoids():
    # A - B of equal ellipsoids is twice the ellipsoid, translated. Along the thin axis the depth is 2 a - |z|. It is
    # larger along the long axes and in oblique directions: an ellipsoid's support value is least at its thin pole.
    pair = peers.Pair(Ellipsoid((0.9, 0.7, 0.3)), Ellipsoid((0.9, 0.7, 0.3)), pose(), pose(z=0.2))
    found = engine_comparison.bracket(pair)
    assert found.distance == pytest.approx(-0.4, abs=1e-12)
    assert abs(found.normal[2]) == pytest.approx(1.0, abs=1e-9)


def test_reference_support_points_lie_on_the_body_and_are_farthest():
    body = Superovoid((0.5, 0.8, 0.6), section_exponent=0.4, profile_exponent=1.3, taper=(0.3, 0.3))
    directions = np.random.default_rng(0).normal(size=(50, 3))
    parameters = (
        np.array(body.semi_axes),
        np.array((body.section_exponent, body.profile_exponent)),
        np.array(body.taper),
    )
    support = polytope.transform(polytope.superovoid(*parameters), pose(1.0, 2.0, 3.0))
    points = support(directions) - [1.0, 2.0, 3.0]
    assert np.abs(body.implicit(points)).max() < 1e-9
    surface = peers.surface_points(body, 200)
    values = np.einsum("ij,ij->i", directions, points)
    assert (values >= (surface @ directions.T).max(axis=0) - 1e-14).all()


def turn(matrix, rotvec):
    matrix = matrix.copy()
    matrix[:3, :3] = Rotation.from_rotvec(rotvec).as_matrix()
    return matrix


CLOSED_FORMS = {
    "box and box, apart along two axes": (
        polytope.box(np.array([0.5, 0.4, 0.3])), pose(), polytope.box(np.array([0.2, 0.2, 0.2])), pose(1.0, 1.0, 0.1),
        math.hypot(0.3, 0.4),
    ),
    "box and box, one inside": (
        polytope.box(np.array([0.9, 0.8, 0.7])), pose(), polytope.box(np.array([0.2, 0.2, 0.2])), pose(0.1, 0.0, 0.3),
        -0.6,
    ),
    "sphere and the corner of a box": (
        polytope.capsule(0.3, 0.0), pose(1.0, 1.0, 1.0), polytope.box(np.array([0.5, 0.6, 0.7])), pose(),
        math.hypot(0.5, 0.4, 0.3) - 0.3,
    ),
    "crossed capsules": (
        polytope.capsule(0.2, 2.0), pose(), polytope.capsule(0.3, 1.0), turn(pose(0.9), (0.8, 0.0, 0.0)), 0.4,
    ),
    "cylinder on cylinder, caps": (
        polytope.cylinder(0.5, 1.0), pose(), polytope.cylinder(0.3, 0.6), pose(0.1, 0.2, 0.7), -0.1,
    ),
    "sphere over the flank of a cone": (
        polytope.cone(0.6, 0.8), pose(),  # The middle of the side is (0.3, 0, 0), its normal (0.8, 0, 0.6).
        polytope.capsule(0.1, 0.0), pose(0.3 + 0.5 * 0.8, 0.0, 0.5 * 0.6), 0.4,
    ),
    "tetrahedron and sphere": (
        polytope.vertices(np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0, 0, 0]])), pose(),
        polytope.capsule(0.1, 0.0), pose(1.0, 1.0, 1.0), 2.0 / math.sqrt(3.0) - 0.1,
    ),
    "hull of a torus and a sphere in its hole": (
        polytope.torus_hull(0.7, 0.2), pose(), polytope.capsule(0.1, 0.0), pose(), -0.3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLOSED_FORMS)
@pytest.mark.parametrize("moved", (False, True))
def test_reference_agrees_with_closed_forms_for_sharp_bodies(name, moved):
    a, pose_a, b, pose_b, expected = CLOSED_FORMS[name]
    motion = turn(pose(0.3, -0.7, 0.2), (0.4, -1.1, 0.6)) if moved else np.eye(4)
    a, b = polytope.transform(a, motion @ pose_a), polytope.transform(b, motion @ pose_b)
    found = polytope.signed_distance(a, b, size=0.3)
    assert found.distance == pytest.approx(expected, abs=1e-11)
    assert found.lower - 1e-13 <= expected <= found.upper + 1e-13


@pytest.mark.parametrize("name", ("hard", "paper_separated", "paper_overlapping"))
def test_reference_agrees_with_the_batteries(battery, name):
    data = battery(name)
    convex = np.ones(len(data["distance"]), dtype=bool)
    if name != "hard":
        convex = ~(data["nonconvex_a"].astype(bool) | data["nonconvex_b"].astype(bool))
    for i in np.flatnonzero(convex)[:8]:
        bodies, poses = [], []
        for side in "ab":
            bodies.append(
                Superovoid.from_goncalves(*(data[f"{part}_{side}"][i] for part in ("size", "epsilon", "taper")))
            )
            poses.append(pose(*data[f"position_{side}"][i]))
            poses[-1][:3, :3] = data[f"rotation_{side}"][i]
        found = engine_comparison.bracket(peers.Pair(*bodies, *poses))
        size = min(max(body.semi_axes) for body in bodies)
        assert abs(found.distance - data["distance"][i]) < 2e-12 * size
        assert found.upper - found.lower < 1e-10 * size


# -- pairs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", engine_comparison.FAMILIES)
@few_or_many(1, 2)
def test_pairs_are_convex_and_in_their_regime(family, draws):
    bounds = {"separated": (0.01, 1.0), "touching": (-1e-6, 1e-6), "shallow": (-0.1, -1e-6), "deep": (-9.0, -0.02)}
    for regime, (low, high) in bounds.items():
        for case in engine_comparison.cases(family, regime, draws, seed=5):
            assert low <= case.truth.distance / case.size * (1.0 - 1e-6) <= high
            assert case.pair.a.convexity().convex and case.pair.b.convexity().convex


def test_the_same_seed_draws_the_same_pairs():
    first, again, other = (engine_comparison.cases("superovoids", "deep", 1, seed)[0] for seed in (1, 1, 2))
    assert first.pair.a == again.pair.a and (first.pair.pose_b == again.pair.pose_b).all()
    assert first.pair.a != other.pair.a


def test_unknown_regime_is_named():
    with pytest.raises(ValueError, match="'far'"):
        engine_comparison.random_case("ellipsoids", "far", np.random.default_rng(0))


# -- verdicts --------------------------------------------------------------------------------------


def test_every_failure_is_counted_once_and_named():
    answers = np.array([math.nan, -1.7976931348623157e308, math.inf, 0.2, 0.1, -1e-8, 0.1002, 0.1])
    truths = np.array([0.1, 0.1, 0.1, -0.1, 0.1, 1e-8, 0.1, math.nextafter(0.1, 1.0)])
    errors = ["RuntimeError: no", *[""] * 7]
    record = engine_comparison.Record(answers, np.ones(8), errors)
    relative, found = engine_comparison.verdicts(record, truths, np.full(8, 0.1))
    assert found == ["exception", "no answer", "no answer", "wrong sign", "", "", "error > 1e-3", ""]
    assert np.isnan(relative[:3]).all() and not np.isnan(relative[3:]).any()
    assert relative[6] == pytest.approx(2e-3)


def raise_missing():
    raise ImportError("No module named 'nowhere'")


@pytest.fixture(scope="module")
def small_run():
    """Return two cells with our engine and a missing library: (report, rows of its CSV file)."""
    engines = [
        engine_comparison.OURS,
        engine_comparison.OURS_CALLED,
        engine_comparison.Engine("Coal", raise_missing, Geometry.HULL_290),
    ]
    rows = []
    report = engine_comparison.compare(3, 2, 0, rows, engines, ("superovoids",), ("separated", "deep"))
    return report, rows


def test_our_engine_agrees_with_the_reference(small_run):
    report, _ = small_run
    for row in report["rows"][:2]:
        assert set(row["cells"]) == {"superovoids/separated", "superovoids/deep"}
        for cell in row["cells"].values():
            assert cell["max_error"] < 1e-11
            assert not any(cell["failures"].values())
    for cell in report["intervals"].values():
        assert cell == {"pairs": 3, "certified": 3, "interval_misses_reference": 0}


def test_csv_has_a_row_for_each_pair_and_engine(small_run, tmp_path):
    write_csv(tmp_path / "engines.csv", small_run[1])
    rows = list(csv.DictReader(io.StringIO((tmp_path / "engines.csv").read_text(encoding="utf-8"))))
    assert len(rows) == 2 * 2 * 3
    for row in rows:
        assert float(row["answer_m"]) == pytest.approx(float(row["reference_m"]), abs=1e-11)
        assert float(row["call_us"]) > 0.0 and row["failure"] == ""


def test_report_is_json_with_machine_versions_and_seed(small_run):
    report = json.loads(json.dumps(small_run[0], allow_nan=False))
    assert report["machine"]["processor"] and report["machine"]["cores"] >= 1
    assert report["machine"]["versions"]["numpy"] == np.__version__
    assert "--seed 0" in report["command"]


def test_a_missing_library_gets_dashes_and_a_printed_reason(small_run):
    file = io.StringIO()
    engine_comparison.show(small_run[0], Console(file=file))
    text = file.getvalue()
    rows = [line for line in text.splitlines() if "│ Coal, hull 290" in line]
    assert len(rows) == 2
    for line in rows:
        assert [cell.strip() for cell in line.strip("│ ").split("│")[1:]] == ["–", "–"]
    assert "Coal is left out: No module named 'nowhere'" in text and "pip install 'superovoid_papers[bench]'" in text


def test_plot_is_drawn_with_a_missing_library(small_run, tmp_path):
    png, svg, pdf = save_figure(engine_comparison.plot(small_run[0]), tmp_path / "engines")
    assert png.read_bytes().startswith(b"\x89PNG") and pdf.read_bytes().startswith(b"%PDF")
    assert "µs a query" in svg.read_text(encoding="utf-8")


# -- adapters --------------------------------------------------------------------------------------

PEERS = (
    pytest.param("coal", peers.Coal, 2e-5, id="coal"),
    pytest.param("fcl", peers.PythonFcl, 2e-5, id="fcl"),
    pytest.param("mujoco", peers.MuJoCo, 2e-5, id="mujoco"),
    # Compiling takes half a minute.
    pytest.param("distance3d", partial(peers.Distance3d, tight=True), 1e-7, id="distance3d", marks=pytest.mark.slow),
)


@pytest.mark.parametrize(("module", "adapter", "error"), PEERS)
def test_a_peer_agrees_on_ellipsoids_within_its_tolerance(module, adapter, error):
    pytest.importorskip(module)
    for regime in ("separated", "shallow"):
        case = engine_comparison.cases("ellipsoids", regime, 1, seed=3)[0]
        (query,) = adapter(Geometry.ELLIPSOID).queries([case.pair])
        assert query() == pytest.approx(case.truth.distance, abs=error)


@pytest.mark.parametrize(("module", "adapter", "error"), PEERS)
def test_a_peer_gets_the_hull_at_the_place_of_the_body(module, adapter, error):
    pytest.importorskip(module)
    case = engine_comparison.cases("superovoids", "separated", 1, seed=3)[0]
    vertices, _ = case.pair.hull(0, Geometry.HULL_5002)
    assert len(vertices) > 4900  # The others lie on flats of the hull.
    (query,) = adapter(Geometry.HULL_5002).queries([case.pair])
    # A hull of surface points lies inside: the distance is larger by the height of the cut caps.
    assert -1e-6 < query() - case.truth.distance < 5e-3 * case.size


def test_meshes_of_the_hulls_have_290_and_5002_points():
    body = Superovoid((0.5, 0.8, 0.6), section_exponent=0.4, profile_exponent=1.3, taper=(0.3, 0.3))
    assert [len(peers.surface_points(body, geometry.meridians)) for geometry in list(Geometry)[2:]] == [290, 5002]


# -- command ---------------------------------------------------------------------------------------


def test_bench_engine_passes_its_options_on(monkeypatch, tmp_path):
    given = {}
    monkeypatch.setattr(engine_comparison, "main", lambda **options: given.update(options) or 0)
    assert cli.main(["dev", "bench", "engine", "--pairs", "5", "--seed", "2", "--output", str(tmp_path)]) == 0
    assert given == {"pairs": 5, "rounds": 5, "seed": 2, "output": tmp_path}
