# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The checker in ball arithmetic: formulas, and verdicts on right and wrong answers."""

import json
import math
import sys

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, Cone, ConvexMesh, Cylinder, HalfSpace, Sphere, Superovoid, Torus, cli, distance

pytest.importorskip("flint")

from flint import arb

from superovoid.checker import balls, direction_cover, record, verify, verify_record
from superovoid.checker.checking import Pair
from superovoid.checker.solids import Block, solid_of
from superovoid.checker.superquadric import Superquadric
from superovoid.output import REPORT

never_wrong = pytest.importorskip("superovoid_papers.judges.never_wrong")


def at(x, y=0.0, z=0.0, turn=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    pose[:3, 3] = x, y, z
    return pose


EGG = Superovoid((0.5, 0.7, 0.9), section_exponent=0.9, profile_exponent=0.8, taper=(0.1, 0.1))
PEAR = Superovoid((0.6, 0.5, 0.8), section_exponent=1.3, profile_exponent=1.1, taper=(-0.2, -0.2))
NON_CONVEX = Superovoid((0.6, 0.5, 0.8), section_exponent=0.7, profile_exponent=0.6, taper=(0.4, -0.3))


# -- formulas ---------------------------------------------------------------------------------------


def test_the_rotation_is_the_polar_factor_of_the_matrix():
    rng = np.random.default_rng(3)
    for error in (0.0, 1e-15, 1e-8, 5e-7):
        matrix = Rotation.random(rng=rng).as_matrix() + error * rng.normal(size=(3, 3))
        with balls.precision(), mpmath.workdps(40):
            u, _, v = mpmath.svd_r(mpmath.matrix(matrix.tolist()))
            nearest = u * v
            found = balls.nearest_rotation(matrix)
            for i in range(3):
                for j in range(3):
                    assert float(found[i][j].rad()) < 1e-30
                    assert abs(mpmath.mpf(found[i][j].mid().str(40, radius=False)) - nearest[i, j]) < 1e-29


@pytest.mark.parametrize("matrix", [np.diag([1.0, 1.0, -1.0]), np.diag([1.0, 1.0, 1.01])])
def test_a_matrix_far_from_a_rotation_is_rejected(matrix):
    with pytest.raises(ValueError, match="rotation"), balls.precision():
        balls.nearest_rotation(matrix)


def profile(body, n, w):
    """Return a3 n3 w + r(w) G(w) with 40 digits, from the definition of the body."""
    a1, a2, a3, e1, e2, tx, ty = map(mpmath.mpf, body.numbers)
    r = (1 - abs(w) ** (2 / e2)) ** (e2 / 2)
    q = 2 / (2 - e1)
    x, y = a1 * (1 + tx * w) * abs(n[0]), a2 * (1 + ty * w) * abs(n[1])
    return a3 * n[2] * w + r * (x**q + y**q) ** (1 / q)


@pytest.mark.parametrize("kind", ["convex", "dented", "untapered"])
def test_support_values_bound_every_height_up_to_rounding(kind):
    rng = np.random.default_rng(5)
    for _ in range(5):
        e = rng.uniform(0.05, 1.95, 2)
        limit = min(0.5, (1.0 - e[1] / 2.0) * 2.0 ** (e[1] / 2.0))
        taper = {"convex": [rng.uniform(-1.0, 1.0) * limit] * 2, "dented": rng.uniform(-0.5, 0.5, 2)}
        size, n = rng.uniform(0.1, 3.0, 3), rng.normal(size=3)
        with balls.precision(), mpmath.workdps(40):
            body = Superquadric(size, e, taper.get(kind, (0.0, 0.0)))
            found = body.support_above(balls.exact_vector(n))
            h = mpmath.mpf(found.lower().str(40, radius=False)) * (1 + mpmath.mpf(10) ** -30)
            direction = [mpmath.mpf(float(v)) for v in n]
            assert max(profile(body, direction, mpmath.mpf(float(w))) for w in np.linspace(-1.0, 1.0, 101)) <= h
            # A point of the body as far out; for a non-convex body, possibly that of another local maximum.
            reached = balls.dot(
                balls.exact_vector(n), body.point_inside(balls.exact_vector(body.support_points(n[None])[0]))
            )
            assert reached <= found
            if kind != "dented":
                assert float(found - reached) < 2e-15 * float(found)


def test_tangents_and_bisection_give_the_same_support_value():
    rng = np.random.default_rng(7)
    with balls.precision():
        body = Superquadric((1.0, 0.6, 2.0), (0.4, 0.06), (0.24, 0.24))
        assert body.convex
        for _ in range(3):
            n = balls.exact_vector(rng.normal(size=3))
            widths = (body.a[0] * n[0]).abs_upper(), (body.a[1] * n[1]).abs_upper(), body.a[2] * n[2]
            tangent, halved = body._bound_by_tangents(*widths), body._bound_by_bisection(*widths)
            assert abs(float((tangent - halved) / halved)) < 1e-15


@pytest.mark.parametrize(
    ("epsilon", "taper", "convex"),
    [
        ((0.7, 1.6), (0.34, 0.34), True),
        ((0.7, 1.6), (0.35, 0.35), False),
        ((0.7, 0.9), (0.1, 0.1001), False),
        ((1.6262, 1.4279), (-0.457, 0.0205), True),
        ((0.9, 1.0), (0.3, -0.3), True),
        ((1.9, 1.0), (0.5, -0.5), False),
    ],
)
def test_convex_bodies_are_proved_convex(epsilon, taper, convex):
    with balls.precision():
        assert Superquadric((1.0, 2.0, 0.5), epsilon, taper).convex is convex


def test_point_inside_returns_a_nearby_point_of_the_body():
    rng = np.random.default_rng(2)
    for shape in (EGG, PEAR, NON_CONVEX, Box((0.4, 0.8, 0.6)), Capsule(0.2, 0.5), Cylinder(0.3, 0.6), Cone(0.4, 0.7)):
        surface = shape.support(rng.normal(size=(8, 3)))
        with balls.precision():
            body = solid_of(record_of(shape))
            for point in surface:
                found = body.point_inside([arb(float(x)) * arb(1.0 + 1e-12) for x in point])
                assert shape.contains(0.999999 * np.array([float(x) for x in found]))
                assert math.dist([float(x) for x in found], point) < 1e-11


def record_of(shape):
    return record(distance(shape, at(0.0), Sphere(0.1), at(9.0)), shape, at(0.0), Sphere(0.1), at(9.0))["a"]


def cover_of(pair, rho):
    points = direction_cover.Points(
        pair.points_at, pair.difference, pair.difference_inside, lambda n: bool(pair.separation(n) > -rho)
    )
    return direction_cover.cover(points, arb(rho), None, pair.scale)


def test_a_cover_proves_no_depth_beyond_the_true_one():
    """The depth of two aligned boxes is the smallest overlap of their sides, here along x."""
    a, b = ({"kind": "Box", "lengths": lengths} for lengths in ((2.0, 4.0, 6.0), (1.0, 2.0, 1.5)))
    with balls.precision():
        pair = Pair(a, np.eye(4), b, at(1.25, 0.1, 0.2))
        assert isinstance(pair.solids[0], Block)
        assert cover_of(pair, 0.25 - 1e-12).proved
        assert not cover_of(pair, 0.25 + 1e-12).proved


# -- verdicts ----------------------------------------------------------------------------------------

PAIRS = {
    "apart": (EGG, at(0.1, 0.2, 0.3, (0.1, 0.2, 0.3)), PEAR, at(2.0, 0.4, -0.3, (1.0, 0.0, 0.4))),
    "overlapping": (EGG, at(0.0, turn=(0.3, 0.2, 0.1)), PEAR, at(0.9, 0.1, 0.2, (1.0, 0.0, 0.4))),
    "deep": (EGG, at(0.0, turn=(0.3, 0.2, 0.1)), PEAR, at(0.1, 0.1, 0.2, (1.0, 0.0, 0.4))),
    "far from the origin": (EGG, at(1e5, 2e5), PEAR, at(1e5 + 1.9, 2e5, turn=(1.0, 0.0, 0.4))),
    "dented, apart": (NON_CONVEX, at(0.0), EGG, at(1.7, 0.4, 0.3, (0.4, 0.1, 0.2))),
    "boxes": (Box((0.6, 0.8, 1.0)), at(0.0), Box((0.4, 0.4, 0.4)), at(0.6, 0.3, 0.2, (0.0, 0.1, 0.2))),
    "capsule in cylinder": (Capsule(0.2, 0.5), at(0.0), Cylinder(0.6, 1.5), at(0.1, 0.05, 0.1, (0.2, 0.1, 0.0))),
    "cone, mesh": (
        *(Cone(0.4, 0.9), at(0.0)),
        *(ConvexMesh(np.random.default_rng(1).normal(size=(12, 3))), at(1.2, 0.2, 0.1)),
    ),
    "above a plane": (HalfSpace(), at(0.0, turn=(0.1, 0.0, 0.0)), EGG, at(0.0, 0.1, 1.4, (0.5, 0.2, 0.1))),
    "in a plane": (EGG, at(0.0, 0.1, 0.4, (0.5, 0.2, 0.1)), HalfSpace(), at(0.0)),
    "spheres, concentric": (Sphere(0.5), at(0.1, 0.2), Sphere(0.2), at(0.1, 0.2)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_an_answer_of_the_engine_is_accepted(name):
    pair = PAIRS[name]
    found = verify(distance(*pair), *pair)
    assert found.verdict == "accepted", list(found.lines())
    assert found.missing == 0.0
    assert found.lower <= found.upper


@pytest.mark.ci
@pytest.mark.parametrize("how", never_wrong.PLANTED)
@pytest.mark.parametrize("name", ["apart", "overlapping", "deep", "boxes", "capsule in cylinder"])
def test_a_wrong_answer_is_refuted(name, how):
    pair = PAIRS[name]
    wrong = never_wrong.spoil(record(distance(*pair), *pair), how, np.random.default_rng(0), 0.2)
    assert verify_record(wrong).verdict == "refuted"


def test_points_refute_a_rotated_normal_of_a_nonconvex_body():
    pair = PAIRS["dented, apart"]
    wrong = never_wrong.spoil(record(distance(*pair), *pair), "normal", np.random.default_rng(0), 0.2)
    found = verify_record(wrong)
    assert found.normal.verdict == "undecided"
    assert found.points.verdict == "refuted"


@pytest.mark.parametrize("kind", ["nan", "order", "upper below a positive distance", "far point", "short normal"])
def test_inconsistent_numbers_are_refuted(kind):
    made = record(distance(*PAIRS["apart"]), *PAIRS["apart"])
    answer = made["answer"]
    if kind == "nan":
        answer["lower"] = math.nan
    elif kind == "order":
        answer["lower"], answer["upper"] = answer["upper"] + 1e-6, answer["lower"]
    elif kind == "upper below a positive distance":
        answer["lower"], answer["upper"] = -2.0, -1.0
    elif kind == "far point":
        answer["point_b"] = [1e300, 0.0, 0.0]
    else:
        answer["normal"] = [0.0, 0.0, 0.0]
    assert verify_record(made).verdict == "refuted"


def test_the_depth_of_nonconvex_bodies_is_never_accepted():
    pair = NON_CONVEX, at(0.0), EGG, at(0.5, 0.1, 0.3, (0.4, 0.1, 0.2))
    result = distance(*pair)
    assert result.upper < 0.0
    found = verify(result, *pair)
    assert found.verdict == "undecided"
    assert "convex" in found.interval.why


def test_a_torus_is_checked_if_its_hull_decides():
    apart = Torus(0.5, 0.1), at(0.0), Sphere(0.2), at(2.0, 0.1, 0.2)
    assert verify(distance(*apart), *apart).verdict == "accepted"
    inside = Torus(0.5, 0.1), at(0.0), Sphere(0.2), at(0.05, 0.1, 0.0)
    assert distance(*inside).lower > 0.0
    assert verify(distance(*inside), *inside).verdict == "undecided"


def test_the_bodies_may_come_in_either_order():
    a, pose_a, b, pose_b = PAIRS["deep"]
    found = verify(distance(b, pose_b, a, pose_a), b, pose_b, a, pose_a)
    assert found.verdict == "accepted"


def test_without_flint_the_extra_to_install_is_named(monkeypatch):
    pair = Sphere(1.0), np.eye(4), Sphere(1.0), np.eye(4)
    result = distance(*pair)
    monkeypatch.setitem(sys.modules, "superovoid.checker.solids", None)
    for ask in (record, verify):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'superovoid\[verify\]'"):
            ask(result, *pair)


@pytest.mark.parametrize("rtol", ["1e-9", None, 0.0])
def test_a_nonpositive_tolerance_is_rejected_by_name(rtol):
    pair = Sphere(1.0), np.eye(4), Sphere(1.0), np.eye(4)
    with pytest.raises(ValueError, match="rtol"):
        verify(distance(*pair), *pair, rtol=rtol)


def test_an_interval_is_judged_without_a_tolerance():
    """An interval wrong in the last digits is not accepted; one as narrow as possible can be."""
    pair = Box((1.0, 1.0, 1.0)), at(0.0), Box((0.5, 0.5, 0.5)), at(1.0)
    exact = {"distance": 0.25, "lower": 0.25, "upper": 0.25}
    points = {"point_a": [0.5, 0.0, 0.0], "point_b": [0.75, 0.0, 0.0], "normal": [1.0, 0.0, 0.0]}
    assert verify(exact | points, *pair).verdict == "accepted"
    below = dict.fromkeys(exact, math.nextafter(0.25, 0.0))
    assert verify(below | points, *pair).interval.verdict == "refuted"


# -- records and the command ---------------------------------------------------------------------------


def test_a_record_survives_json_bit_by_bit(tmp_path, capsys):
    made = [record(distance(*PAIRS[name]), *PAIRS[name]) for name in ("apart", "deep", "cone, mesh")]
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({"pairs": made}), encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8"))["pairs"] == made
    assert cli.main(["verify", str(path), "--details"]) == 0
    out = capsys.readouterr().out
    assert out.count("accepted: proved [") == 3
    assert "3 accepted" in out


def test_the_command_names_the_refuted_pair(tmp_path, capsys):
    made = [record(distance(*PAIRS[name]), *PAIRS[name]) for name in ("apart", "overlapping")]
    made[1] = never_wrong.spoil(made[1], "raised", np.random.default_rng(0), 0.5)
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    assert cli.main(["verify", str(path)]) == 1
    assert "pair 1: refuted" in capsys.readouterr().out


def test_json_has_every_verdict_and_quiet_prints_nothing(tmp_path, capsys):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(record(distance(*PAIRS["apart"]), *PAIRS["apart"])), encoding="utf-8")
    assert cli.main(["verify", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["counts"] == {"accepted": 1} and document["exit_code"] == 0
    assert [pair["verdict"] for pair in document["pairs"]] == ["accepted"]
    assert cli.main(["verify", str(path), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_options_of_a_command_end_with_it(tmp_path, capsys):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(record(distance(*PAIRS["apart"]), *PAIRS["apart"])), encoding="utf-8")
    assert cli.main(["verify", str(path), "--quiet"]) == 0
    REPORT.line("printed")
    assert capsys.readouterr().out == "printed\n"


def test_the_command_prints_a_large_tolerance(tmp_path, capsys):
    made = record(distance(*PAIRS["apart"]), *PAIRS["apart"]) | {"rtol": 1e6}
    made["answer"]["point_a"] = [9.0, 9.0, 9.0]
    (tmp_path / "answers.json").write_text(json.dumps(made), encoding="utf-8")
    cli.main(["verify", str(tmp_path / "answers.json")])
    assert "rtol: 1e+06 of the smaller body, as given in the file" in capsys.readouterr().out


def test_an_interval_up_to_the_largest_doubles_is_judged():
    made = record(distance(*PAIRS["apart"]), *PAIRS["apart"])
    made["answer"]["upper"] = 1e308
    assert verify_record(made).interval.verdict == "accepted"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "must be a record"),
        ('{"a": 1}', "pose_a: is missing"),
        ("[3]", "must be a mapping"),
        ('{"a": {}, "pose_a": 1, "b": {}, "pose_b": 1, "answer": {}}', "answer.distance: is missing"),
        ('{"a": {}, "pose_a": 1, "b": {}, "pose_b": 1, "answer": []}', "answer: must be a mapping"),
    ],
)
def test_an_invalid_file_is_rejected_with_the_missing_entry(tmp_path, capsys, text, words):
    path = tmp_path / "answers.json"
    path.write_text(text, encoding="utf-8")
    assert cli.main(["verify", str(path)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "Blob"}, "Blob"),
        ({"semi_axes": "long"}, "semi_axes"),
        ({"semi_axes": [1.0, 2.0]}, "semi_axes"),
        ({"semi_axes": [1.0, math.nan, 1.0]}, "semi_axes"),
        ({"semi_axes": [1.0, True, 1.0]}, "semi_axes"),
        ({"profile_exponent": 2.5}, "exponents"),
        ({"profile_exponent": 1e-30}, "exponents"),
    ],
)
def test_an_invalid_body_is_rejected_by_name(change, words):
    made = record(distance(*PAIRS["apart"]), *PAIRS["apart"])
    made["a"] |= change
    with pytest.raises(ValueError, match=words):
        verify_record(made)


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, np.longdouble(1) + np.longdouble(2) ** -60])
def test_a_number_inexact_as_a_double_is_rejected_by_name(number):
    made = record(distance(*PAIRS["apart"]), *PAIRS["apart"])
    made["answer"]["lower"] = number
    if number != float(number):
        with pytest.raises(ValueError, match=r"answer\.lower: must be doubles"):
            verify_record(made)


@pytest.mark.parametrize("answer", [None, 3.0, "apart"])
def test_an_invalid_answer_is_rejected_with_the_value_found(answer):
    with pytest.raises(ValueError, match=f"answer.*{answer}"):
        verify(answer, *PAIRS["apart"])
