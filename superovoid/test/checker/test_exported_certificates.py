# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Certificates of the engine prove answers to the checker, and altered ones prove nothing."""

import copy
import itertools
import json
import math

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Box, Sphere, Superovoid, distance
from superovoid.contact.certificates import cover_by_cones
from superovoid.contact.pair import OvoidPair
from superovoid.contact.superovoids.pair_solver import relative_pose
from superovoid.testing import random_pairs

pytest.importorskip("flint")

from flint import arb

from superovoid.checker import balls, record, verify, verify_record
from superovoid.checker.claims import ExportedProof
from superovoid.checker.exported import cones_reach, pieces_apart
from superovoid.checker.superquadric import Superquadric


def at(x, y=0.0, z=0.0, turn=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    pose[:3, 3] = x, y, z
    return pose


EGG = Superovoid((0.5, 0.7, 0.9), section_exponent=0.9, profile_exponent=0.8, taper=(0.1, 0.1))
PEAR = Superovoid((0.6, 0.5, 0.8), section_exponent=1.3, profile_exponent=1.1, taper=(-0.2, -0.2))
WAIST = Superovoid((0.6, 0.5, 0.8), section_exponent=0.5, profile_exponent=1.5, taper=(0.5, 0.5))
DEEP = EGG, at(0.0, turn=(0.3, 0.2, 0.1)), PEAR, at(0.1, 0.1, 0.2, (1.0, 0.0, 0.4))
WITH_BALL = Sphere(0.3), at(0.0), PEAR, at(0.3, 0.1, 0.2, (1.0, 0.0, 0.4))


def in_a_concavity():
    """Return a pair with closest points in a concavity: no plane separates the hulls by the bodies' distance."""
    return list(random_pairs.draw("dent contact", 7, 24))[12]


def write_pair(pair):
    return json.loads(json.dumps(record(distance(*pair, certificate=True), *pair)))


@pytest.mark.parametrize("pair", [DEEP, DEEP[2:] + DEEP[:2], WITH_BALL])
def test_cones_prove_an_overlap(pair):
    found = verify_record(write_pair(pair))
    assert found.verdict == "accepted"
    assert found.certificate.verdict == "accepted"


def test_pieces_prove_a_distance_in_a_concavity():
    pair = in_a_concavity()
    assert verify(distance(*pair), *pair).interval.verdict == "undecided"
    found = verify_record(write_pair(pair))
    assert found.verdict == "accepted", list(found.lines())
    assert found.certificate.verdict == "accepted"


def test_the_search_for_cones_beyond_the_depth_ends():
    """One direction has a smaller depth, so no number of bisections covers its neighbourhood."""
    a, pose_a, b, pose_b = DEEP
    rotation = np.empty((3, 3))
    pair = OvoidPair(a._packed_row, b._packed_row, rotation, relative_pose(pose_a, pose_b, rotation))
    origins, no_ball = np.zeros((2, 3)), np.array([True, True])
    depth = -distance(*DEEP).distance
    assert cover_by_cones((a, b), pair, 1.001 * depth, origins, no_ball)[0] == ""
    assert len(cover_by_cones((a, b), pair, 0.999 * depth, origins, no_ball)[0]) > 8


def test_a_certificate_is_written_only_on_request():
    assert distance(*DEEP).certificate is None
    apart = EGG, at(0.0), PEAR, at(3.0)
    assert distance(*apart, certificate=True).certificate.cones == ""
    boxes = Box((0.6, 0.8, 1.0)), at(0.0), Box((0.4, 0.4, 0.4)), at(0.4, 0.1, 0.2)
    assert distance(*boxes, certificate=True).certificate.cones == ""
    assert verify(distance(*boxes, certificate=True), *boxes).verdict == "accepted"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda c: c.update(cones=c["cones"][:-1]), "is incomplete"),
        (lambda c: c.update(cones=c["cones"] + "."), "continues after its end"),
        (lambda c: c.update(cones="*" * 8), "is not far enough out"),
        (lambda c: c.update(points=c["points"][:-1]), "missing"),
        (lambda c: c.update(points=[[9.0 * x for x in row] for row in c["points"]]), "is not far enough out"),
        (lambda c: c.update(cones="0" * 5000), "too deep"),
        (lambda c: c.update(cones="", points=[]), "not needed"),
    ],
)
def test_an_altered_certificate_proves_nothing(change, why):
    made = write_pair(DEEP)
    change(made["certificate"])
    found = verify_record(made)
    assert found.certificate.verdict == "undecided"
    assert why in found.certificate.why
    assert found.verdict == "accepted"


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(pieces=".", directions=c["directions"][:1]),
        lambda c: c.update(directions=[[-x for x in n] for n in c["directions"]]),
        lambda c: c.update(heights=[w + 1.0 for w in c["heights"]]),
        lambda c: c.update(directions=c["directions"][:-1]),
        lambda c: c.update(pieces=c["pieces"][:-1]),
    ],
)
def test_altered_pieces_prove_nothing(change):
    made = write_pair(in_a_concavity())
    change(made["certificate"])
    found = verify_record(made)
    assert found.certificate.verdict == "undecided"
    assert found.verdict == "undecided"


def test_no_certificate_proves_a_false_bound():
    """The claimed depth or distance is larger than the true one."""
    for pair, sign in ((DEEP, -1.0), (in_a_concavity(), 1.0)):
        made = write_pair(pair)
        for name in ("distance", "lower", "upper"):
            made["answer"][name] += sign * 1e-8
        found = verify_record(made)
        assert found.certificate.verdict == "undecided"
        assert found.verdict == "refuted"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cones": "0x"}, "certificate.cones"),
        ({"cones": 3}, "certificate.cones"),
        ({"points": [[1.0, 2.0]]}, "certificate.points"),
        ({"heights": [math.nan]}, "certificate.heights"),
        ({"directions": "along"}, "certificate.directions"),
    ],
)
def test_a_malformed_certificate_is_rejected_by_name(change, words):
    made = copy.deepcopy(write_pair(DEEP))
    made["certificate"] |= change
    with pytest.raises(ValueError, match=words):
        verify_record(made)


@pytest.mark.parametrize("certificate", [5.0, "cones", [1, 2], True])
def test_a_value_other_than_a_certificate_is_rejected(certificate):
    with pytest.raises(ValueError, match="certificate: must have cones, points, pieces"):
        verify_record(write_pair(DEEP) | {"certificate": certificate})


class FixedPair:
    """Replaces two bodies: the points of their difference and the separations of their pieces are fixed."""

    solids = (Superquadric(EGG.semi_axes, (EGG.section_exponent, EGG.profile_exponent), EGG.taper),) * 2

    def __init__(self, separation=1.0):
        self.value, self.cells = separation, []

    def difference(self, row):
        return [arb(x) for x in row[:3]]

    def separation(self, n, cell):
        self.cells.append(cell)
        return arb(self.value)


OCTANTS = np.array(list(itertools.product((1.0, -1.0), repeat=3)))


REACHED, MORE = arb(0.5) - arb(2) ** -40, arb(0.5) + arb(2) ** -40


def cones(points):
    rows = np.zeros((1 + len(points), 6))  # the first belongs to all `*`
    rows[1:, :3] = points
    return ExportedProof("." * len(points), rows, "", np.empty(0), np.empty((0, 3)))


def test_a_cone_needs_a_point_that_reaches_at_all_corners():
    assert cones_reach(FixedPair(), cones(0.5 * OCTANTS), REACHED).proved
    assert not cones_reach(FixedPair(), cones(0.5 * OCTANTS), MORE).proved
    for octant, axis in itertools.product(range(8), range(3)):
        points = 0.5 * OCTANTS
        points[octant, axis] *= 1.0 - 2.0**-38
        assert not cones_reach(FixedPair(), cones(points), REACHED).proved
    behind = 0.5 * OCTANTS
    behind[3] *= -4.0
    assert not cones_reach(FixedPair(), cones(behind), REACHED).proved
    assert not cones_reach(FixedPair(), cones(0.5 * OCTANTS[:7]), REACHED).proved


def test_each_half_of_a_cone_is_judged_at_its_own_corners():
    # Bisect the edge from e1 to e2 of the first octant: 0.4 along a middle of length sqrt(1/2) exceeds 0.5.
    points = np.vstack([[0.3, 0.5, 0.5], [0.5, 0.3, 0.5], 0.5 * OCTANTS[1:]])
    made = cones(points)._replace(cones="0" + "." * 9)
    assert cones_reach(FixedPair(), made, REACHED).proved
    assert not cones_reach(FixedPair(), made._replace(points=made.points[[0, 2, 1, *range(3, 10)]]), REACHED).proved


def test_pieces_cover_all_heights_and_keep_their_distance():
    made = ExportedProof(
        "", np.empty((0, 6)), "ab..a..", np.array([0.25, -0.5, 0.75]), np.tile([0.0, 0.0, 1.0], (4, 1))
    )
    given = FixedPair(0.5)
    assert pieces_apart(given, made, 0.5).proved
    areas = [(a[1] - a[0]) * (b[1] - b[0]) for a, b in ((cell[:2], cell[2:]) for cell in given.cells)]
    assert sum(areas) == 4.0
    assert len(set(given.cells)) == 4
    assert not pieces_apart(FixedPair(0.5), made, 0.5 * (1.0 + 1e-15)).proved
    for heights in ([-1.0, -0.5, 0.75], [0.25, -0.5, 0.25], [1.0, -0.5, 0.75], [0.25, 1.5, 0.75]):
        assert not pieces_apart(FixedPair(0.5), made._replace(heights=np.array(heights)), 0.5).proved
    assert not pieces_apart(FixedPair(0.5), made._replace(pieces="ab..a."), 0.5).proved


def test_a_certificate_with_a_missing_part_is_rejected():
    made = write_pair(DEEP)
    del made["certificate"]["points"]
    with pytest.raises(ValueError, match=r"certificate\.points: is missing"):
        verify_record(made)


def profile(body, n, w):
    """Return a3 n3 w + r(w) G(w), from the definition of the body."""
    a1, a2, a3, e1, e2, tx, ty = map(mpmath.mpf, body.numbers)
    r = (1 - abs(w) ** (2 / e2)) ** (e2 / 2)
    q = 2 / (2 - e1)
    x, y = a1 * (1 + tx * w) * abs(n[0]), a2 * (1 + ty * w) * abs(n[1])
    return a3 * n[2] * w + r * (x**q + y**q) ** (1 / q)


@pytest.mark.parametrize("taper", [(0.5, 0.5), (0.4, -0.3), (0.1, 0.1)])
def test_slab_support_is_a_tight_upper_bound(taper):
    rng = np.random.default_rng(4)
    with balls.precision(), mpmath.workdps(30):
        body = Superquadric((0.6, 0.5, 0.8), (0.5, 1.5), taper)
        for _ in range(6):
            low, high = sorted(rng.uniform(-1.0, 1.0, 2).tolist())
            low, high = (-1.0, high) if rng.random() < 0.3 else (low, high)
            n = rng.normal(size=3)
            found = body.slab_above(balls.exact_vector(n), low, high)
            direction = [mpmath.mpf(float(v)) for v in n]
            values = [profile(body, direction, mpmath.mpf(float(w))) for w in np.linspace(low, high, 201)]
            bound = mpmath.mpf(found.upper().str(30, radius=False)) * (1 + mpmath.mpf(10) ** -28)
            assert max(values) <= bound
            # The maximum may lie between two heights: allow what a step of a hundredth of the slab can miss.
            assert float(bound - max(values)) < 1e-3 * float(np.linalg.norm(n)) * (high - low)


def test_concave_ranges_have_no_positive_second_difference():
    rng = np.random.default_rng(6)
    with balls.precision(), mpmath.workdps(40):
        for epsilon, taper in (((0.7, 1.5), (0.5, 0.5)), ((1.5, 0.9), (0.4, -0.3))):
            body = Superquadric((0.6, 0.5, 0.8), epsilon, taper)
            ranges = body.ranges()
            assert ranges[0][0] == -1.0
            assert ranges[-1][1] == 1.0
            assert all(one[1] == other[0] for one, other in itertools.pairwise(ranges))
            assert any(not concave for _, _, concave in ranges)
            step = mpmath.mpf(10) ** -8
            for low, high, concave in ranges:
                if concave:
                    for _ in range(10):
                        w = mpmath.mpf(float(rng.uniform(low, high))) * (1 - 2 * step)
                        n = [mpmath.mpf(float(v)) for v in rng.normal(size=3)]
                        low_value, value, high_value = (profile(body, n, w + k * step) for k in (-1, 0, 1))
                        assert low_value + high_value - 2 * value <= mpmath.mpf(10) ** -30
