# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The check of random pairs, its sensitivity to wrong answers, and the random pairs."""

import dataclasses
import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("flint")

from superovoid import Superovoid, cli, distance
from superovoid.testing import independent, random_pairs
from superovoid.testing.flat_contacts import Pair
from superovoid.testing.random_pairs import FAMILIES, NAMES, draw, generate
from superovoid_papers.judges import never_wrong
from superovoid_papers.judges.examination import refuted_by_points
from superovoid_papers.judges.never_wrong import answers, broken_promises, check_families

from draws import few_or_many


def batch_of(drawn):
    return never_wrong._batch([drawn])


# -- the engine ------------------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.parametrize("in_lanes", [False, True])
@pytest.mark.parametrize("family", ["near", "round", "slender", "dented", "kinds"])
def test_random_answers_are_not_refuted_and_wrong_ones_not_accepted(family, in_lanes):
    [(report, bad)] = check_families([family], 4, 4, True, in_lanes)
    assert (report.name, report.pairs) == (family, 4)
    assert sum(found.total() for found in report.planted.values()) > 0
    assert not bad


@pytest.mark.slow
@pytest.mark.parametrize("in_lanes", [False, True])
@pytest.mark.parametrize("family", NAMES)
def test_no_answer_to_many_random_pairs_is_refuted(family, in_lanes):
    parts = list(check_families([family], 5, 100, True, in_lanes))
    assert not [pair for _, bad in parts for pair in bad]
    assert sum(report.pairs for report, _ in parts) == 100


@pytest.mark.slow
def test_workers_and_one_thread_have_equal_results():
    pytest.importorskip("distributed", reason="pip install '.[dataset]'")

    def results_with(workers):
        done = check_families(["far", "kinds"], 6, 25, True, workers=workers)
        return [(report.name, report.certified, report.unproven, report.planted, bad) for report, bad in done]

    assert results_with(2) == results_with(None)


# -- sensitivity -----------------------------------------------------------------------------------


def wrong_answers(monkeypatch, change):
    """Apply `change` to every checked answer."""
    monkeypatch.setattr(never_wrong, "answers", lambda *arguments: [change(one) for one in answers(*arguments)])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda one: dataclasses.replace(one, upper=np.nan), "refuted"),
        (lambda one: dataclasses.replace(one, lower=one.lower + 1e-8, upper=one.upper + 1e-8), "refuted"),
        (lambda one: dataclasses.replace(one, upper=one.upper + 1e-2), "wide"),
        (lambda one: dataclasses.replace(one, lower=one.lower - 1.0, upper=one.lower - 0.5), "warm"),
    ],
)
def test_a_wrong_answer_to_a_random_pair_is_detected(monkeypatch, change, expected):
    wrong_answers(monkeypatch, change)
    [(report, bad)] = check_families(["near"], 6, 4, False)
    assert (report.broken | report.certified | report.unproven)[expected] == 4
    assert len(bad) == 4


def test_an_answer_that_depends_on_the_order_of_bodies_is_detected(monkeypatch):
    def prefers_the_first(a, pose_a, b, pose_b):
        result = distance(a, pose_a, b, pose_b)
        return dataclasses.replace(result, distance=result.distance * (1.0 + 1e-15 * (a.volume() > b.volume())))

    monkeypatch.setattr(never_wrong, "distance", prefers_the_first)
    rng = np.random.default_rng(0)
    found = [broken_promises(drawn, distance(*drawn), rng) for drawn in draw("unlike", 6, 6)]
    assert found == [["swapped"]] * 6


def pair_apart_by_pieces():
    """Return separate non-convex bodies whose hulls overlap by 0.14 of the smaller one."""
    rows = np.array(
        [
            [[7.513862637928405, 5.323995238704775, 0.7649434069185574, 1.9609872615375203, 1.999550122464757]],
            [[0.11017627741551836, 0.19740595118447293, 0.49718547358664905, 1.9999510278553465, 1.9999920887835334]],
        ]
    )
    tapers = [[[-0.3646436780812299, -0.01665575154640538]], [[0.4093254835997804, -0.45658574467731294]]]
    rotation = Rotation.from_matrix(
        [
            [
                [-0.7826178651511375, -0.539472125672453, 0.31061085423520196],
                [-0.612114695173383, 0.7576873671006055, -0.22633040822865474],
                [-0.11324697390691363, -0.3672596892644198, -0.9231984854527922],
            ],
            [
                [0.2567633596635032, 0.3149850987957808, 0.9137050753229529],
                [-0.8229405920193684, -0.4244902146140656, 0.3775934847209579],
                [0.5067951846072752, -0.8488771673413751, 0.15022049003169008],
            ],
        ]
    ).as_matrix()
    position = [[[0.0, 0.0, 0.0]], [[-3.3203931234409096, 3.839000677618788, -2.016775677379934]]]
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = rotation, np.array(position)[:, 0]
    a, b = (
        Superovoid.from_goncalves(row[0, :3], row[0, 3:], taper[0]) for row, taper in zip(rows, tapers, strict=True)
    )
    return Pair(a, poses[0], b, poses[1])


@pytest.mark.parametrize(
    "family", ["pieces", *(pytest.param(name, marks=pytest.mark.slow) for name in ("dented", "critical"))]
)
def test_points_refute_too_high_lower_bounds_next_to_concavities(family):
    """Check separate bodies with a distance proved by pieces only, and overlapping ones."""
    pairs = [pair_apart_by_pieces()] if family == "pieces" else list(draw(family, 5, 60))
    raised, seen = [], 0
    for drawn in pairs:
        result = distance(*drawn)
        has_a_concavity = not (drawn.a.convexity().convex and drawn.b.convexity().convex)
        if has_a_concavity and (result.lower > 0.0 or (result.certified and result.lower < 0.0)):
            size = min(max(drawn.a.semi_axes), max(drawn.b.semi_axes))
            seen += 1
            assert not refuted_by_points(np.random.default_rng(0), batch_of(drawn), [result]).any()
            wrong = dataclasses.replace(result, lower=result.upper + (1e-6 if family == "pieces" else 0.05) * size)
            raised += [*refuted_by_points(np.random.default_rng(0), batch_of(drawn), [wrong])]
    assert seen > (0 if family == "pieces" else 20)
    assert np.mean(raised) > 0.8


# -- the reference itself --------------------------------------------------------------------------


def test_support_of_an_ellipsoid_agrees_with_the_closed_form():
    rng = np.random.default_rng(0)
    rows = np.ones((50, 7))
    rows[:, :3] = rng.uniform(0.1, 3.0, (50, 3))
    rows[:, 5:] = 0.0
    n = random_pairs.directions(rng, 50)
    value, point = independent.support(rows, n)
    assert value == pytest.approx(np.linalg.norm(rows[:, :3] * n, axis=1), rel=1e-14)
    assert (point * n).sum(axis=1) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("convex", [True, False])
def test_support_agrees_with_dense_samples_of_the_surface(convex):
    rng = np.random.default_rng(1)
    rows = random_pairs.generate(1, "tapered" if convex else "dented", 0, 30)[1].rows[0]
    n = random_pairs.directions(rng, len(rows))
    value, point = independent.support(rows, n, np.full(len(rows), convex))
    eta, omega = np.meshgrid(np.linspace(-0.5 * np.pi, 0.5 * np.pi, 201), np.linspace(-np.pi, np.pi, 401))
    for row, direction, h, x in zip(rows, n, value, point, strict=True):
        body = Superovoid.from_goncalves(row[:3], row[3:5], row[5:])
        sampled = (body.surface_point(eta, omega) @ direction).max()
        size = row[:3].max()
        assert sampled - 1e-12 * size < h < sampled + 5e-2 * size
        assert abs(body.implicit(x)) < 1e-9 or row[3:5].min() < 0.1


def test_ascent_of_two_ellipsoids_finds_a_common_normal():
    _, batch = generate(4, "near", 0, 60)
    start = random_pairs.directions(np.random.default_rng(0), len(batch))
    g, n = independent.ascend(batch, start, 200)
    value, u = independent.separation(batch, n)
    assert value == pytest.approx(g, rel=1e-12, abs=1e-12)
    length = np.linalg.norm(u, axis=1)
    close = length - g < 1e-6 * batch.unit()
    assert close.mean() > 0.9


@few_or_many(10, 40)
def test_families_have_the_properties_in_their_names(draws):
    for name in FAMILIES:
        _, batch = generate(0, name, 0, draws)
        rows = batch.rows
        assert len(batch) == draws and np.isfinite(rows).all() and np.isfinite(batch.position).all()
        assert (rows[..., :3] > 0.0).all() and (np.abs(rows[..., 5:]) <= 0.5).all()
        assert ((rows[..., 3:5] > 0.0) & (rows[..., 3:5] < 2.0)).all()
        gram = np.einsum("snij,snik->snjk", batch.rotation, batch.rotation)
        assert np.abs(gram - np.eye(3)).max() < 1e-14
    _, far = generate(0, "far", 0, 200)
    assert (np.linalg.norm(far.position[1], axis=1) / far.unit()).max() > 1e5
    _, slender = generate(0, "slender", 0, 200)
    assert (slender.rows[..., :3].max(axis=2) / slender.rows[..., :3].min(axis=2)).max() > 800.0
    _, unlike = generate(0, "unlike", 0, 200)
    assert (unlike.rows[0, :, :3].max(axis=1) / unlike.unit()).max() > 1e3


def test_concavity_finds_the_least_concave_share_between_even_ones():
    # 21 even shares of the section's support miss the concavities of both by 2e-3; confirmed with 40 digits.
    rows = np.array(
        [
            [0.19100959, 0.56316766, 0.2064175, 1.78021882, 1.04260467, 0.1695145, -0.48510245],
            [0.53100531, 0.54930766, 0.74741233, 1.84889706, 1.0, -0.37659365, 0.17999547],
        ]
    )
    assert (independent.concavity(rows, 401) > 0.0).all()


def test_concavity_agrees_with_the_closed_form_of_equal_tapers():
    rng = np.random.default_rng(0)
    rows = np.ones((40, 7))
    rows[:, 3:5] = rng.uniform(0.1, 1.9, (40, 2))
    exact = (1.0 - 0.5 * rows[:, 4]) * 2.0 ** (0.5 * rows[:, 4])
    rows[:, 5:] = (0.99 * exact)[:, None]
    assert (independent.concavity(rows) <= 0.0).all()
    rows[:, 5:] = (1.01 * exact)[:, None]
    assert (independent.concavity(rows) > 0.0).all()


def test_chunks_are_reproducible():
    one, other = generate(3, "deep", 4, 50)[1], generate(3, "deep", 4, 50)[1]
    assert np.array_equal(one.rows, other.rows) and np.array_equal(one.position, other.position)
    assert not np.array_equal(one.rows, generate(3, "deep", 5, 50)[1].rows)


def test_random_pairs_of_other_kinds_have_every_kind_and_concavities():
    shapes = [shape for drawn in draw("kinds", 0, 60) for shape in (drawn.a, drawn.b)]
    ovoids = [shape for shape in shapes if isinstance(shape, Superovoid)]
    assert {shape.convexity().convex for shape in ovoids} == {False, True}
    kinds = {type(shape).__name__ for shape in shapes}
    assert kinds == {
        *("Superovoid", "Sphere", "Capsule", "Box", "Cylinder", "Cone", "ConvexMesh", "Torus", "HalfSpace"),
    }


# -- the command -----------------------------------------------------------------------------------


def test_command_checks_the_selected_families(tmp_path, capsys):
    chosen = ["--pairs", "6", "--family", "near", "--family", "round", "--output", str(tmp_path)]
    assert cli.main(["dev", "bench", "never-wrong", *chosen, "--planted", "--details"]) == 0
    printed = capsys.readouterr().out
    assert "near: 3 accepted" in printed
    assert "round: 3 accepted" in printed
    assert "checked in ball arithmetic" in printed
    assert not list(tmp_path.iterdir())


def test_refuted_answers_are_written_and_give_exit_code_one(tmp_path, monkeypatch, capsys):
    wrong_answers(monkeypatch, lambda one: dataclasses.replace(one, lower=one.upper + 1e-3, upper=one.upper + 2e-3))
    assert cli.main(["dev", "bench", "never-wrong", "--pairs", "3", "--family", "near", "--output", str(tmp_path)]) == 1
    (file,) = tmp_path.iterdir()
    assert len(json.loads(file.read_text(encoding="utf-8"))["pairs"]) == 3
    capsys.readouterr()
    assert cli.main(["verify", str(file)]) == 1
    assert "3 refuted" in capsys.readouterr().out


def test_an_interrupted_check_prints_its_results(monkeypatch, tmp_path, capsys):
    def interrupt(seed, planted, in_lanes, part):
        if (part.family, part.number) == ("round", 1):
            raise KeyboardInterrupt
        return check_part(seed, planted, in_lanes, part)

    check_part = never_wrong.check_part
    monkeypatch.setattr(never_wrong, "check_part", interrupt)
    monkeypatch.setattr(never_wrong, "_PART", 1)
    with pytest.raises(KeyboardInterrupt):
        chosen = ["--pairs", "4", "--family", "far", "--family", "round"]
        cli.main(["dev", "bench", "never-wrong", "--details", *chosen, "--output", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "far: 2 accepted" in printed
    assert "checked in ball arithmetic" in printed
    assert "round" in printed
