# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The attack on the engine with random pairs, and whether that attack would notice a wrong answer."""

import math

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Status, Superovoid, cli
from superovoid.contact import columns
from superovoid.testing import exact_pairs, independent, random_pairs
from superovoid.testing.random_pairs import FAMILIES, generate
from superovoid.testing.support_bounds import support_bound
from superovoid_papers.judges import never_wrong
from superovoid_papers.judges.examination import examine, proved_separation, solve, solve_in_lanes

from draws import few_or_many

CONVEX = [name for name in FAMILIES if name not in random_pairs.WITH_DENTS]
POINT_A, POINT_B, NORMAL = (slice(k, k + 3) for k in (columns.POINT_A, columns.POINT_B, columns.NORMAL))


def failing(result):
    findings, _ = result
    return {kind: int(failed.sum()) for kind, failed in findings.failures.items() if failed.any()}


# -- the engine ------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_lanes", [False, True])
@few_or_many(36, 1500)
def test_no_answer_to_a_random_pair_of_any_family_is_refuted(draws, in_lanes):
    reports, failures = never_wrong.run(draws, seed=7, in_lanes=in_lanes)
    assert {report.name for report in reports} == set(FAMILIES)
    assert sum(report.pairs for report in reports) == pytest.approx(draws, abs=10)
    assert not failures, {(failure.kind, failure.family) for failure in failures}


def test_reports_and_failures_do_not_depend_on_threads(monkeypatch):
    def wrong(batch, states):
        out = solve(batch, states)
        out[::7, columns.LOWER] += 0.1
        return out

    monkeypatch.setattr(never_wrong, "CHUNK", 15)
    monkeypatch.setattr(never_wrong.examine, "__defaults__", (wrong,))
    found = [never_wrong.run(60, seed=3, families=["near"], threads=threads) for threads in (1, 3)]
    assert repr(found[0][0]) == repr(found[1][0]) and found[0][0][0].pairs == 60
    poses = [[(failure.kind, failure.pose_b.tobytes()) for failure in failures] for _, failures in found]
    assert poses[0] == poses[1] and len(poses[0]) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("in_lanes", [False, True])
def test_no_answer_to_many_random_pairs_is_refuted(in_lanes):
    _, failures = never_wrong.run(60_000, seed=8, threads=2, in_lanes=in_lanes)
    assert not failures, {(failure.kind, failure.family) for failure in failures}


@pytest.mark.slow
def test_answers_agree_with_40_digits():
    compared = never_wrong.compare_with_40_digits(len(CONVEX), seed=3)
    assert compared.pairs == len(CONVEX)
    assert compared.outside == 0
    assert compared.largest_error < 1e-9


# -- would it notice? ------------------------------------------------------------------------------


def spoiled(spoil, overlapping=None):
    """A solver whose rows are changed by `spoil(out, batch)`, for overlapping or separated pairs only."""

    def solver(batch, states):
        out = solve(batch, states)
        changed = out.copy()
        spoil(changed, batch)
        if overlapping is None:
            return changed
        chosen = (out[:, columns.DISTANCE] < 0.0) == overlapping
        return np.where(chosen[:, None], changed, out)

    return solver


def shift(column_names, amount):
    def spoil(out, batch):
        for name in column_names:
            out[:, getattr(columns, name)] += amount * batch.unit()

    return spoil


@pytest.mark.parametrize(
    ("family", "overlapping", "spoil", "kind"),
    [
        ("near", False, shift(("DISTANCE", "LOWER", "UPPER"), -1e-8), "refuted"),
        ("near", False, shift(("DISTANCE", "LOWER", "UPPER"), 1e-8), "unsupported"),
        ("deep", True, shift(("DISTANCE", "LOWER", "UPPER"), -1e-6), "refuted"),
        ("deep", True, shift(("DISTANCE", "LOWER", "UPPER"), 1e-6), "unsupported"),
        ("near", False, shift(("UPPER",), 1e-8), "wide"),
        ("near", False, shift(("LOWER",), 1e-8), "order"),
    ],
)
def test_a_spoiled_interval_is_noticed_on_nearly_every_pair(family, overlapping, spoil, kind):
    rng, batch = generate(5, family, 0, 16)
    findings, out = examine(rng, batch, spoiled(spoil, overlapping))
    proved = (out[:, columns.STATUS] == 0) & ((out[:, columns.DISTANCE] < 0.0) == overlapping)
    assert proved.sum() > 10
    assert findings.failures[kind][proved].mean() > 0.9


def pair_apart_by_pieces():
    """Bodies with dents whose hulls overlap by 0.14 of the smaller one and which are apart."""
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
    return random_pairs.Batch(
        np.concatenate([rows, tapers], axis=2), rotation[:, None], np.array(position), np.zeros(1, bool)
    )


@pytest.mark.parametrize("status", [Status.NON_UNIQUE, Status.UNPROVEN | Status.DENT])
def test_a_lower_end_that_only_pieces_prove_is_judged_by_the_closest_points(status):
    batch = pair_apart_by_pieces()

    def told(amount):
        def spoil(out, batch):
            out[:, [columns.DISTANCE, columns.LOWER, columns.UPPER]] += amount
            out[:, columns.STATUS] = float(status)

        return examine(np.random.default_rng(0), batch, spoiled(spoil))

    findings, out = told(0.0)
    assert out[0, columns.LOWER] > 0.0
    assert not failing((findings, out))
    assert told(1e-6)[0].failures["refuted"].all()


def test_the_depth_of_another_hill_is_refuted():
    rng, batch = generate(5, "concentric", 0, 80)
    g, n = independent.ascend(batch, random_pairs.directions(rng, len(batch)), 60)
    truth = solve(batch, None)

    def spoil(out, batch):
        if len(batch) == len(g):
            out[:, columns.DISTANCE], out[:, NORMAL] = g, n
            out[:, columns.LOWER], out[:, columns.UPPER] = g - 1e-10 * batch.unit(), g + 1e-10 * batch.unit()
            out[:, columns.STATUS] = 0.0

    findings, _ = examine(rng, batch, spoiled(spoil))
    lower_hill = g < truth[:, columns.LOWER] - 1e-6 * batch.unit()
    assert lower_hill.sum() > 20
    assert findings.failures["refuted"][lower_hill].mean() > 0.95


@pytest.mark.parametrize(
    ("columns", "change", "kind"),
    [
        (columns.UPPER, lambda value, unit: math.nan, "nan"),
        (POINT_A, lambda value, unit: value + 1e-7 * unit, "surface"),
        (POINT_B, lambda value, unit: value + 1e-6 * unit, "normal"),
        (NORMAL, lambda value, unit: -value, "normal"),
        (NORMAL, lambda value, unit: 1.001 * value, "normal"),
    ],
)
def test_one_spoiled_answer_is_noticed(columns, change, kind):
    def spoil(out, batch):
        if len(batch) == 12:
            out[3, columns] = change(out[3, columns], batch.unit()[3])

    rng, batch = generate(6, "near", 0, 12)
    findings, _ = examine(rng, batch, spoiled(spoil))
    assert np.flatnonzero(findings.failures[kind]).tolist() == [3]


def test_points_that_do_not_span_the_distance_are_noticed_whatever_the_status():
    def slide(out, batch):
        across = np.cross(out[:, NORMAL], np.eye(3)[np.abs(out[:, NORMAL]).argmin(axis=1)])
        out[:, POINT_B] += 0.1 * batch.unit()[:, None] * across

    rng, batch = generate(6, "flat", 0, 40)
    findings, out = examine(rng, batch, spoiled(slide, False))
    apart = out[:, columns.DISTANCE] > 0.0
    assert (findings.status[apart] & Status.NON_UNIQUE).any()
    assert (findings.failures["points"] | findings.failures["normal"])[apart].all()
    assert findings.failures["points"][apart & (findings.status == Status.NON_UNIQUE)].all()
    assert not examine(rng, batch)[0].failures["points"].any()


def test_an_answer_that_depends_on_the_order_or_the_scale_is_noticed():
    def prefers_the_first(out, batch):
        larger = batch.rows[0, :, 0] > batch.rows[1, :, 0]
        out[larger, columns.DISTANCE] = np.nextafter(out[larger, columns.DISTANCE], math.inf)

    rng, batch = generate(6, "near", 0, 80)
    assert failing(examine(rng, batch, spoiled(prefers_the_first)))["swapped"] == 10  # all of the sample

    def in_metres(out, batch):
        for column in (columns.DISTANCE, columns.LOWER, columns.UPPER):
            out[:, column] += 1e-6

    rng, batch = generate(6, "near", 0, 24)
    assert failing(examine(rng, batch, spoiled(in_metres, False)))["moved"] >= 2


# -- the reference itself --------------------------------------------------------------------------


def test_support_of_an_ellipsoid_is_the_closed_form():
    rng = np.random.default_rng(0)
    rows = np.ones((50, 7))
    rows[:, :3] = rng.uniform(0.1, 3.0, (50, 3))
    rows[:, 5:] = 0.0
    n = random_pairs.directions(rng, 50)
    value, point = independent.support(rows, n)
    assert value == pytest.approx(np.linalg.norm(rows[:, :3] * n, axis=1), rel=1e-14)
    assert (point * n).sum(axis=1) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("convex", [True, False])
def test_support_is_that_of_the_densest_samples_of_the_surface(convex):
    rng = np.random.default_rng(1)
    rows = random_pairs.generate(1, "tapered" if convex else "dented", 0, 30)[1].rows[0]
    n = random_pairs.directions(rng, len(rows))
    value, point = independent.support(rows, n, np.full(len(rows), convex))
    eta, omega = np.meshgrid(np.linspace(-0.5 * np.pi, 0.5 * np.pi, 201), np.linspace(-np.pi, np.pi, 401))
    for row, direction, h, x in zip(rows, n, value, point, strict=True):
        body = Superovoid(row[:3], row[3:5], row[5:])
        sampled = (body.surface_point(eta, omega) @ direction).max()
        size = row[:3].max()
        assert sampled - 1e-12 * size < h < sampled + 5e-2 * size
        assert abs(body.implicit(x)) < 1e-9 or row[3:5].min() < 0.1


@pytest.mark.parametrize("family", ["dented", "dent contact", "border", "ends", "tapered"])
@few_or_many(10, 30)
def test_bound_of_a_support_function_is_above_it_and_next_to_it(family, draws):
    rows = generate(1, family, 0, draws)[1].rows[0]
    n = random_pairs.directions(np.random.default_rng(2), len(rows))
    sampled, _ = independent.support(rows, n, np.zeros(len(rows), dtype=bool), samples=3000)
    for row, direction, h in zip(rows, n, sampled, strict=True):
        size = row[:3].max()
        assert h <= support_bound(row, direction) <= h + 1e-9 * size


def test_a_sampled_support_refutes_no_answer_beside_a_dent():
    """Too few samples make g too large, which is no reason to doubt `upper`."""
    _, batch = generate(5, "ends", 0, 40)
    n = random_pairs.directions(np.random.default_rng(3), len(batch))
    coarse = independent.separation(batch, n, samples=4)[0]
    fine = independent.separation(batch, n, samples=3000)[0]
    wrong = np.flatnonzero(~batch.convex & (coarse > fine + 1e-3 * batch.unit()))
    assert len(wrong) > 3
    for i in wrong:
        upper = fine[i] + 1e-6 * batch.unit()[i]
        assert proved_separation(batch.take(np.array([i])), n[i]) < upper


def test_40_digits_agree_with_double_precision():
    _, batch = generate(2, "tapered", 0, 12)
    n = random_pairs.directions(np.random.default_rng(0), 12)
    g, _ = independent.separation(batch, n)
    for i in range(len(batch)):
        assert abs(float(exact_pairs.MpPair(batch, i).value(n[i]) - mpmath.mpf(g[i]))) < 1e-13 * batch.reach()[i]


def test_ascent_of_two_ellipsoids_meets_two_points_on_a_common_normal():
    _, batch = generate(4, "near", 0, 60)
    start = random_pairs.directions(np.random.default_rng(0), len(batch))
    g, n = independent.ascend(batch, start, 200)
    value, u = independent.separation(batch, n)
    assert value == pytest.approx(g, rel=1e-12, abs=1e-12)
    length = np.linalg.norm(u, axis=1)
    close = length - g < 1e-6 * batch.unit()
    assert close.mean() > 0.9


@few_or_many(10, 40)
def test_families_are_what_their_names_say(draws):
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
    # Both have dents that 21 even shares of the section's support leave out by 2e-3; confirmed with 40 digits.
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


def test_a_chunk_is_the_same_whatever_runs_beside_it():
    one, other = generate(3, "deep", 4, 50)[1], generate(3, "deep", 4, 50)[1]
    assert np.array_equal(one.rows, other.rows) and np.array_equal(one.position, other.position)
    assert not np.array_equal(one.rows, generate(3, "deep", 5, 50)[1].rows)


def test_a_failing_pair_can_be_solved_again_from_the_file(tmp_path):
    _, batch = generate(6, "near", 0, 4)
    poses, out = batch.poses(), solve(batch, None)
    failure = never_wrong.Failure("nan", "near", batch.rows[0, 1], batch.rows[1, 1], poses[0, 1], poses[1, 1], out[1])
    never_wrong.save([failure], tmp_path / "failures.npz")
    with np.load(tmp_path / "failures.npz") as archive:
        again = {name: archive[name] for name in archive.files}
    assert again["family"][0] == "near" and np.array_equal(again["row_b"][0], batch.rows[1, 1])
    assert np.array_equal(again["pose_b"][0], poses[1, 1])
    assert np.array_equal(again["result"][0], out[1])


def test_an_unknown_family_is_named():
    with pytest.raises(ValueError, match="'nearby' is none of far, near"):
        never_wrong.main(10, 1, families=["nearby"])


def without_upper(solver):
    """A solver whose answers have no upper end."""

    def wrong(batch, states):
        out = solver(batch, states)
        out[:, columns.UPPER] = np.nan
        return out

    return wrong


def test_status_of_a_failing_run_is_one(tmp_path, monkeypatch, capsys):
    wrong = without_upper(solve)
    monkeypatch.setattr(never_wrong, "solve", wrong)
    monkeypatch.setattr(never_wrong.examine, "__defaults__", (wrong,))
    assert never_wrong.main(20, 1, families=["near"], output=tmp_path) == 1
    assert (tmp_path / "never_wrong_failures.npz").is_file() and (tmp_path / "never_wrong.csv").is_file()
    assert "nan: 20" in capsys.readouterr().out


def test_batches_are_asked_in_lanes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(never_wrong, "solve_in_lanes", without_upper(solve_in_lanes))
    chosen = ["--pairs", "20", "--family", "near", "--output", str(tmp_path)]
    assert cli.main(["bench", "never-wrong", *chosen]) == 0
    assert cli.main(["bench", "never-wrong", "--mpmath", "30", "--in-lanes", *chosen]) == 1
    out = capsys.readouterr().out
    assert "nan: 20" in out and "30 outside their interval" in out
    command = "# superovoid bench never-wrong --pairs 20 --seed 1 --in-lanes --family near\n"
    assert (tmp_path / "never_wrong.csv").read_text(encoding="utf-8").startswith(command)


def test_command_runs_the_families_it_is_given(tmp_path, capsys):
    chosen = ["--pairs", "30", "--family", "near", "--family", "round", "--output", str(tmp_path)]
    assert cli.main(["bench", "never-wrong", *chosen]) == 0
    rows = (tmp_path / "never_wrong.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "# superovoid bench never-wrong --pairs 30 --seed 1 --family near --family round"
    assert [row.split(",")[0] for row in rows[2:]] == ["family", "near", "round"]
    assert not (tmp_path / "never_wrong_failures.npz").exists()
    assert "0 failures" in capsys.readouterr().out
    with pytest.raises(SystemExit) as refused:
        cli.main(["bench", "never-wrong", "--family", "nearby", "--output", str(tmp_path)])
    assert refused.value.code == 2
    assert "'nearby': must be one of far, near" in capsys.readouterr().err
