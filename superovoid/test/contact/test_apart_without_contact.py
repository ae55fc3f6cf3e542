# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies that are apart of which Newton's method finds no contact: with dents, in each other's hulls, or convex."""

import itertools
import math

import numpy as np
import pytest
from drawn_pairs import drawn_pair, drawn_pairs
from scipy.spatial.transform import Rotation

from superovoid import Status, Superovoid, distance
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids import nearest_pieces
from superovoid.contact.superovoids.common_points import common_point
from superovoid.shapes.kernels import surface
from superovoid.shapes.kernels.support_function import support_candidate
from superovoid.testing import contract

from draws import few_or_many


def level(shape, pose, points):
    """The gauge of a body at points of the world, of its definition: at most 1 inside."""
    local = (points - pose[:3, 3]) @ pose[:3, :3]
    w = local[:, 2] / shape.semi_axes[2]
    across = np.abs(local[:, :2] / (np.array(shape.semi_axes[:2]) * (1.0 + np.outer(w, shape.taper))))
    e1, e2 = shape.section_exponent, shape.profile_exponent

    def norm_of(pairs, e):
        larger = np.maximum(pairs.max(axis=1), 1e-300)
        return larger * ((pairs / larger[:, None]) ** (2.0 / e)).sum(axis=1) ** (0.5 * e)

    whole = norm_of(np.stack([norm_of(across, e1), np.abs(w)], axis=1), e2)
    return np.where(np.abs(w) > 1.0, np.maximum(whole, np.abs(w)), whole)


def surface_points(shape, pose, rng, count):
    """Points of a surface along random rays of its untapered shape."""
    ray = rng.normal(size=(count, 3))
    untapered = Superovoid(
        shape.semi_axes, section_exponent=shape.section_exponent, profile_exponent=shape.profile_exponent
    )
    ray *= shape.semi_axes / level(untapered, np.eye(4), ray * shape.semi_axes)[:, None]
    ray[:, :2] *= 1.0 + np.outer(ray[:, 2] / shape.semi_axes[2], shape.taper)
    return ray @ pose[:3, :3].T + pose[:3, 3]


def common_level(pair, rng, rounds=60):
    """Least gauge that random walks find a point to have in both bodies: at most 1 where they meet a common point."""
    a, pose_a, b, pose_b = pair

    def both(points):
        return np.maximum(level(a, pose_a, points), level(b, pose_b, points))

    best = np.vstack([surface_points(a, pose_a, rng, 3000), surface_points(b, pose_b, rng, 3000)])
    values = both(best)
    for spread in max(*a.semi_axes, *b.semi_axes) * 0.3 * 0.7 ** np.arange(rounds):
        kept = np.argsort(values)[:40]
        if values[kept[0]] <= 1.0:
            break
        steps = rng.normal(size=(960, 3)) * np.exp(rng.uniform(-6.0, 0.0, (960, 3)))
        trial = np.repeat(best[kept], 24, axis=0) + spread * steps
        best, values = np.vstack([best[kept], trial]), np.append(values[kept], both(trial))
    return values.min()


# Without a contact to begin with, one of them 0.07 deep in the hull of the other.
@pytest.mark.parametrize(
    ("name", "number"),
    [
        *(("border", number) for number in (193, 509, 239)),
        *(("dent contact", number) for number in (3, 292, 766)),  # the last one 1e-8 apart
        *(("ends", number) for number in (2, 704, 795)),  # 5e-8 and 2e-6 apart
    ],
)
def test_bodies_apart_are_never_given_the_depth_of_their_hulls(name, number):
    pair = drawn_pair(name, number)
    result = distance(*pair)
    assert 0.0 < result.lower <= result.distance <= result.upper
    assert result.upper - result.lower < 1e-2 * result.upper + 2e-9 * max(*pair[0].semi_axes, *pair[2].semi_axes)
    assert not list(contract.breaches(*pair, result)), result
    # No point of the surface of one is in the other, moved along any direction by less than what is proved.
    rng = np.random.default_rng(number)
    for n in np.vstack([-result.normal, Rotation.random(5, rng=rng).as_matrix()[:, 0]]):
        pose_b = pair[3].copy()
        pose_b[:3, 3] += 0.999 * result.lower * n
        assert common_level((*pair[:3], pose_b), rng, 20) > 1.0


@pytest.mark.parametrize("name", ["dent contact", "dented", "ends"])
@few_or_many(120, 2000, "count")
def test_bodies_that_are_not_apart_nor_proved_to_overlap_get_the_nearest_points(name, count):
    """An open answer with a depth is one for bodies that have a common point; others have points that nearly meet."""
    rng = np.random.default_rng(3)
    overlapping, seen = [], 0
    for number, pair in enumerate(drawn_pairs(name, count)):
        if pair[0]._packed[surface.DENTED] + pair[2]._packed[surface.DENTED] == 0.0:
            continue
        result = distance(*pair)
        if not result.status & Status.UNPROVEN:
            continue
        seen += 1
        assert seen > 8 or not list(contract.breaches(*pair, result)), (number, result)
        if result.distance < 0.0:
            assert result.upper <= 1e-2 * -result.lower + 1e-9, (number, result)
            overlapping.append(pair)
        elif result.lower <= 0.0:
            length = np.linalg.norm(result.point_b - result.point_a)
            assert length == pytest.approx(result.distance, abs=1e-12)
            assert result.distance <= result.upper <= result.distance + 1e-11, (number, result)
    for pair in overlapping[:6]:
        assert common_level(pair, rng) < 1.0 + 1e-4, pair
    assert overlapping or name == "dent contact"


@pytest.mark.parametrize("number", [11, 100, 1900])
def test_needles_with_dents_are_proved_or_have_points_that_fit(number):
    pair = drawn_pair("needles", number)
    assert not list(contract.breaches(*pair, distance(*pair)))


# Touching bodies of which the pieces that meet are proved not to overlap by more than the tolerance.
@pytest.mark.parametrize(("name", "number"), [("needles", 120), ("needles", 173), ("ends", 276), ("dented", 461)])
def test_dented_bodies_that_touch_are_proved_to(name, number):
    pair = drawn_pair(name, number)
    result = distance(*pair)
    assert result.certified
    assert -1.1e-9 * min(max(pair[0].semi_axes), max(pair[2].semi_axes)) < result.lower < 0.0 <= result.upper < 1e-8
    assert not list(contract.breaches(*pair, result)), result
    # Moved apart by a little more they have no common point.
    pose_b = pair[3].copy()
    pose_b[:3, 3] += (1e-7 - result.lower) * result.normal
    assert common_level((*pair[:3], pose_b), np.random.default_rng(number), 20) > 1.0


def signed(bounds, margin=0.0):
    """What the bounds of pairs of pieces prove of the bodies."""
    least = nearest_pieces._Least(np.inf, (0.0, 0.0, 1.0), np.inf)
    for bound in bounds:
        least = nearest_pieces._with_bound(least, bound, (1.0, 0.0, 0.0))
    return nearest_pieces._signed(least, margin)


def test_a_negative_bound_of_two_pieces_is_one_of_the_bodies_only_where_no_others_can_meet():
    for other in (0.3, 0.2, -0.1, -0.5):
        for bounds in itertools.permutations((0.5, -0.25, other)):
            assert signed(bounds) == (-0.25 if other == 0.3 else -np.inf)


@pytest.mark.parametrize(("bounds", "lower"), [((-0.25, 0.29), -0.26), ((0.02, 0.02), 0.01)])
def test_each_bound_of_two_pieces_is_less_by_what_rounding_takes(bounds, lower):
    assert signed(bounds, 0.01) == pytest.approx(lower)
    # Two pairs of pieces may now meet along different directions: no one translation is known to part both.
    assert signed(bounds, 0.03) == -np.inf


def on_surface(shape, w, angle):
    """Point and outer unit normal of a surface at a height and an angle, of its definition."""
    (a1, a2, a3), (e1, e2), (tx, ty) = shape.semi_axes, (shape.section_exponent, shape.profile_exponent), shape.taper
    c, s = np.cos(angle), np.sin(angle)
    c, s = np.array([c, s]) * (abs(c) ** (2.0 / e1) + abs(s) ** (2.0 / e1)) ** (-0.5 * e1)
    r, kx, ky = (1.0 - abs(w) ** (2.0 / e2)) ** (0.5 * e2), 1.0 + tx * w, 1.0 + ty * w
    along_x, along_y = (np.sign(v) * abs(v) ** (2.0 / e1 - 1.0) for v in (c, s))
    rise = r ** (2.0 / e2 - 1.0)
    along_z = np.sign(w) * abs(w) ** (2.0 / e2 - 1.0) - rise * r * (c * along_x * tx / kx + s * along_y * ty / ky)
    n = np.array([rise * along_x / (a1 * kx), rise * along_y / (a2 * ky), along_z / a3])
    return np.array([a1 * kx * r * c, a2 * ky * r * s, a3 * w]), n / np.linalg.norm(n)


def facing(rng, gap):
    """Two bodies with dents, B in the frame of A, of which points face each other across a gap, over dents or not."""
    bodies, places = [], []
    while len(bodies) < 2:
        epsilon, taper = rng.uniform(0.3, 1.7, 2), rng.uniform(-0.5, 0.5, 2)
        if rng.random() < 0.4:
            epsilon[1], taper[1] = rng.uniform(1.2, 1.8), taper[0]
        shape = Superovoid.from_goncalves(rng.uniform(0.3, 2.0, 3), epsilon, taper)
        row = shape._packed
        if row[surface.DENTED]:
            bodies.append(shape)
            ends = (row[surface.DENT_LO], row[surface.DENT_HI]) if rng.random() < 0.5 else (-0.98, 0.98)
            w = rng.uniform(*ends)
            places.append(on_surface(shape, w, rng.uniform(-np.pi, np.pi)))
    (x, n), (y, m) = places
    turn = Rotation.from_rotvec(rng.uniform(-np.pi, np.pi) * n) * Rotation.align_vectors(-n[None], m[None])[0]
    pose = np.eye(4)
    pose[:3, :3] = turn.as_matrix()
    pose[:3, 3] = x + gap * n - pose[:3, :3] @ y
    return *bodies, pose


def searched_from(a, b, pose, n, budget):
    """What the search of pieces finds from the support points along a direction."""
    turn, centre = np.ascontiguousarray(pose[:3, :3]), pose[:3, 3]
    fa, fb = (support_candidate(body._packed, tuple(m), 1e-13) for body, m in ((a, n), (b, -n @ turn)))
    x, y = (np.array(surface.position(body._packed, f)) for body, f in ((a, fa), (b, fb)))
    y = turn @ y + centre
    known = nearest_pieces.Nearest(float(np.linalg.norm(y - x)), tuple(x.tolist()), tuple(y.tolist()), fa, fb)
    pair = Pair(a._packed, b._packed, turn, tuple(centre.tolist()))
    return nearest_pieces.nearest_of_pieces(pair, tuple(n.tolist()), known, 1e-9, 1e-13, budget)


def test_a_search_of_pieces_that_ends_early_proves_no_more_than_is_true():
    """The gap between two points that face each other is no less than the distance."""
    rng = np.random.default_rng(12)
    closed = overlapping = 0
    for number in range(24):
        gap = -(10.0 ** rng.uniform(-3.0, -0.5)) if number % 3 == 2 else 10.0 ** rng.uniform(-4.0, -0.5)
        a, b, pose = facing(rng, gap)
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        most = gap if gap > 0.0 else 0.0
        for budget in (0, 1, 3, 10, 40, 150, 1000):
            found = searched_from(a, b, pose, n, budget)
            assert found.lower <= most, (number, budget)
            x, y = np.array([found.nearest.x]), np.array([found.nearest.y])
            assert level(a, np.eye(4), x)[0] == pytest.approx(1.0, abs=1e-9)
            assert level(b, pose, y)[0] == pytest.approx(1.0, abs=1e-9)
            assert found.nearest.distance == pytest.approx(np.linalg.norm(y - x), abs=1e-14)
            assert not found.lower > found.nearest.distance
            if found.overlap:
                common = np.array([found.common])
                assert level(a, np.eye(4), common)[0] < 1.0 and level(b, pose, common)[0] < 1.0
        closed += found.lower > 0.0 and found.nearest.distance - found.lower < 1.1e-9
        overlapping += found.overlap
    assert closed > 8 and overlapping > 6


@few_or_many(40, 400, "count")
def test_common_points_are_in_both_bodies_and_found_where_surfaces_cross(count):
    """From points of both surfaces next to each other, of bodies that overlap little and much."""
    found = 0
    for number, (a, pose_a, b, pose_b) in enumerate(drawn_pairs("shallow", count)):
        result = distance(a, pose_a, b, pose_b)
        rotation, centre = pose_a[:3, :3].T @ pose_b[:3, :3], pose_a[:3, :3].T @ (pose_b[:3, 3] - pose_a[:3, 3])
        middle = pose_a[:3, :3].T @ (0.5 * (result.point_a + result.point_b) - pose_a[:3, 3])
        side = np.cross(pose_a[:3, :3].T @ result.normal, [0.6, -0.8, 0.0])
        pair = Pair(a._packed, b._packed, np.ascontiguousarray(rotation), tuple(map(float, centre)))
        start = tuple(map(float, middle + 0.5 * abs(result.distance) * side))
        inside, p = common_point(pair, start)
        if inside:
            found += 1
            world = (pose_a[:3, :3] @ p + pose_a[:3, 3])[None]
            assert max(level(a, pose_a, world)[0], level(b, pose_b, world)[0]) < 1.0, number
    assert found > 0.8 * count


def test_the_nearer_of_two_contacts_beside_a_dent_is_the_answer():
    """Of one contact apart, and one at which the bodies are proved to overlap, the second."""
    pair = drawn_pair("dent contact", 660)
    result = distance(*pair)
    assert result.status & Status.UNPROVEN == 0
    assert -3e-6 < result.distance < -1e-6
    assert not list(contract.breaches(*pair, result)), result


# Needles and creased edges, from 5e-9 m to 32 km apart: a search of directions leaves up to 1e-2 m open.
@pytest.mark.parametrize(
    ("name", "number"),
    [
        *(("creased", number) for number in (1006, 1824)),
        *(("needles", number) for number in (83, 267, 986, 1607)),
        *(("slender", number) for number in (155, 1148, 1489)),
    ],
)
def test_convex_bodies_apart_are_proved_by_points_where_newtons_method_fails(name, number):
    pair = drawn_pair(name, number)
    result = distance(*pair)
    assert not result.status & Status.UNPROVEN
    assert 0.0 < result.lower <= result.distance <= result.upper
    assert not list(contract.breaches(*pair, result)), result


def test_a_unique_contact_proved_by_points_is_not_called_one_of_many():
    # Newton's method begins anew from the direction that the points prove, and ends in the contact.
    assert distance(*drawn_pair("needles", 1607)).status == 0


def test_points_whose_normal_proves_less_than_another_direction_are_no_proof():
    # Needles a millionth thick: the normal of the nearest points found parts them by 2e-7 less than another one.
    pair = drawn_pair("needles", 713)
    result = distance(*pair)
    assert not list(contract.breaches(*pair, result)), result


# Rows of both bodies, and the pose of B in the frame of A. The interval of two points and a direction is closed to
# 1e-11 and less, while the points lie 2e-9 to 5e-8 off the direction.
CREASED_AND_NEEDLE = (
    [0.5862086652467431, 0.43148502257319976, 0.47663313963805254, 1.9999908642012456, 1.99629887420767, 0.0, 0.0],
    [0.13611700317942, 8.295921052064206e-10, 0.00029363805569157774, 1.999, 1.999999, 0.0, 0.0],
    [
        [-0.08174851666718225, 0.08846132280277534, 0.9927193835070909, 0.0],
        [-0.0826805005832572, 0.9920178866676801, -0.09520739128183138, -1.5706915557854497],
        [-0.9932175566541388, -0.08986159858011049, -0.07378196429080525, 0.0],
    ],
)
BOXES = (
    [2.0361737764456764e-09, 2.695416515721505e-09, 0.1640067277320936, 4.350561611053755e-06, 1e-06, 0.0, 0.0],
    [0.259080973617582, 0.17732727796370193, 0.2131541956866642, 3.287e-05, 2.331e-05, -0.4995, -0.4995],
    [
        [0.0, -1.0, 0.0, -0.17067236179983702],
        [0.0, 0.0, -1.0, -0.2737468869894989],
        [1.0, 0.0, 0.0, -0.551886758673067],
    ],
)
NEEDLES = (
    [1.2896578916919683e-06, 1.9920426419950894e-08, 0.23737799163098858, 1.99, 1e-06, 0.0, 0.0],
    [8.978476544181613e-10, 0.0007474342967749978, 1.1336838210214275, 1.99998, 0.110284447038324, 0.4995, 0.4995],
    [
        [-0.7536550063134517, -0.5678923622009024, -0.33091146310236835, 0.0],
        [-0.2643716028197877, -0.19902279181145102, 0.9436617953282163, 1.0699426499038591],
        [-0.6017572492967306, 0.7986790302076642, -0.00014009060498809678, 0.0],
    ],
)
LONG_NEEDLES = (
    [1.970477300076792e-10, 1.347021215543258e-08, 0.574764205132542, 0.9873770815216321, 1.999999, 0.0, 0.0],
    [
        5.849745996497752e-05,
        1.2175773789394434e-09,
        5.224443006879,
        1.99973,
        0.00013754,
        -0.317443076858,
        -0.317443076858,
    ],
    [
        [-0.5005063784564335, -0.8606130631417461, -0.09401340688543602, 0.49120828227721575],
        [-0.7086709355089968, 0.46965692478254667, -0.5265053448623336, 0.39449664444731525],
        [0.49727142516861844, -0.1968947143871123, -0.8449577511078226, 0.24080195098246257],
    ],
)
DENTED_NEEDLES = (
    [0.01790725562499307, 1.0, 1.83230537027e-06, 1.00659425915, 0.03591292873, -0.291352089068, -0.291352089068],
    [1.0, 2.70903893908e-06, 7.13117377588e-05, 1.86419951046, 0.37549774865, 0.244881722819, -0.00765364691634],
    [
        [0.7409838340501115, -0.142714527671628, 0.6561825365459379, 0.7820250348231258],
        [-0.5589152229693377, 0.41057828221751347, 0.7204437852493778, 0.6109471303788099],
        [-0.3722320932019866, -0.9005876069338175, 0.2244665476806902, -0.419812476566268],
    ],
)


def pair_of(rows):
    """Shapes and poses from rows of both bodies and the pose of B."""
    a, b, pose = rows
    bodies = [Superovoid.from_goncalves(row[:3], row[3:5], row[5:]) for row in (a, b)]
    return bodies[0], np.eye(4), bodies[1], np.vstack([pose, [0.0, 0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    "rows", [CREASED_AND_NEEDLE, BOXES, NEEDLES, DENTED_NEEDLES], ids=["creased", "boxes", "needles", "dented"]
)
def test_points_of_a_proved_distance_lie_along_the_normal(rows):
    *bodies, pose = pair_of(rows)
    proved = 0
    for shift in range(16):
        # Whether such a distance is closed is a matter of the last digits.
        pose[2, 3] += 1e-9 * shift
        result = distance(*bodies, pose)
        assert not list(contract.breaches(*bodies, pose, result)), result
        proved += not result.status & Status.UNPROVEN
    assert proved


def test_a_distance_whose_points_lie_off_the_normal_is_not_called_proved():
    pair = pair_of(LONG_NEEDLES)
    assert not list(contract.breaches(*pair, distance(*pair)))


# Of two of these a first look leaves less open than the whole search. Poses of both bodies.
CREASED_BESIDE_A_LONG_NEEDLE = (
    Superovoid(
        (0.8467761811917882, 1.7836827893689358, 1.8823866245540244),
        section_exponent=1.9942909198612921,
        profile_exponent=1.9964078199604471,
        taper=(-0.0035841230099164564, -0.0035841230099164564),
    ),
    [[0.0, -math.sqrt(0.5), math.sqrt(0.5), 0.0], [-1.0, 0.0, 0.0, 0.0], [0.0, -math.sqrt(0.5), -math.sqrt(0.5), 0.0]],
    Superovoid(
        (9.730575158558999e-07, 30.605560351831784, 1.0616057798009942e-08),
        section_exponent=1.0,
        profile_exponent=1.9991207416177916,
    ),
    [
        [-0.11139042749589925, 0.5268644220630782, 0.8426185693577016, 0.0011816858898621805],
        [0.6470952606371086, -0.6050574761367651, 0.46386762576407586, -0.0033825659270538834],
        [0.7542280134835045, 0.5969248958915576, -0.273533859588863, 19.60026938089744],
    ],
)
PRISM_BESIDE_A_HUGE_ONE = (
    Superovoid(
        (8.396113665230626, 5.703794326461498, 1.520635865696816),
        section_exponent=1.9999035678123738,
        profile_exponent=0.999999,
        taper=(-0.2807323979619258, -0.2807323979619258),
    ),
    [[0.0, -1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0], [1.0, 0.0, 0.0, 0.0]],
    Superovoid(
        (928729.8787623086, 928729.8787623086, 928729.8787623086), section_exponent=1.999999, profile_exponent=1e-06
    ),
    [
        [0.0, 0.0, 1.0, 0.004471966648032577],
        [0.0, -1.0, 0.0, 1.8780373553509402],
        [1.0, 0.0, 0.0, 928855.3934543451],
    ],
)


# With a taper, which leaves a first look so few support points that it does not see the bodies to be apart.
CREASED_BESIDE_A_TAPERED_NEEDLE = (
    Superovoid(
        (0.4763598662090344, 0.07216352026951008, 0.14640911889638078),
        section_exponent=1.9997449278082173,
        profile_exponent=1.9967595266844187,
    ),
    np.eye(4)[:3],
    Superovoid(
        (3.260335849712852e-05, 26.23943619876841, 6.481962807358362e-05),
        section_exponent=0.01930639082612144,
        profile_exponent=1.972138481184113,
        taper=(-0.002426044797733039, -0.002426044797733039),
    ),
    [
        [-0.8140591036947187, -0.035868981854742216, 0.5796733492515033, -1.2251222326031692],
        [0.37702812689345266, -0.7918265149499553, 0.4804795123139202, -0.09275999845908468],
        [0.4417664170384227, 0.609691878216294, 0.658117198084142, -0.32466046904715135],
    ],
)


@pytest.mark.parametrize(
    ("pair", "width"),
    [
        (CREASED_BESIDE_A_LONG_NEEDLE, 1e-9),
        (PRISM_BESIDE_A_HUGE_ONE, 1e-6),
        (CREASED_BESIDE_A_TAPERED_NEEDLE, 5e-10),
    ],
    ids=["needle", "prism", "tapered"],
)
def test_the_better_interval_of_points_and_of_searches_is_kept(pair, width):
    a, pose_a, b, pose_b = pair
    pair = a, np.vstack([pose_a, [0.0, 0.0, 0.0, 1.0]]), b, np.vstack([pose_b, [0.0, 0.0, 0.0, 1.0]])
    result, loose = distance(*pair), distance(*pair, rtol=1e-8)
    assert result.upper - result.lower < width
    assert result.distance == pytest.approx(np.linalg.norm(result.point_b - result.point_a), abs=1e-11)
    assert loose.lower <= result.upper and result.lower <= loose.upper
    assert not [breach for breach in contract.breaches(*pair, result) if breach.kind != "surface"], result
