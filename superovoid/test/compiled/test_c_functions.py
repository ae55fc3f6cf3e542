# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The functions of superovoid.h: answers equal to Python's, from any number of threads, and errors by name."""

import ctypes
import itertools
import math
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from c_functions import C, Result, body_of, convex, create, distance, doubles, hull_triangles, is_closer, mesh

import superovoid
from superovoid import ConvexMesh, Motion, Status, are_closer, pose_gradients, time_of_impact
from superovoid.cli.prefix import PREFIX
from superovoid.contact import c_interface, impact, one_pair
from superovoid.contact import pair as pair_module
from superovoid.shapes.kernels import bodies, hulls, rounding
from superovoid.testing.regimes import KINDS_AND_PLANE, REGIMES, draw

from draws import few_or_many

HEADER = (PREFIX / "include" / "superovoid.h").read_text()
CONSTANTS = {name: int(value) for name, value in re.findall(r"SUPEROVOID_(\w+) = (-?\d+)", HEADER)}
KINDS = sorted(set(KINDS_AND_PLANE) - {"convex mesh", "mesh"})
NAN, INF = math.nan, math.inf


def pairs(count, seed):
    """Draw pairs of all kinds in all regimes."""
    rng = np.random.default_rng(seed)
    for kinds in itertools.product(KINDS, KINDS):
        if kinds != ("plane", "plane"):
            for regime in rng.choice(REGIMES, count):
                yield draw(*kinds, regime, rng)


def row_of(result):
    """Return the numbers of a result of C, or of Python."""
    iterations = result.iterations if isinstance(result, Result) else result.statistics.iterations
    vectors = *result.point_a, *result.point_b, *result.normal
    return [result.distance, result.lower, result.upper, *vectors, int(result.status), iterations]


def pose(x=0.0, y=0.0, z=0.0):
    """Return a pose that only translates."""
    made = np.eye(4)
    made[:3, 3] = x, y, z
    return made


@few_or_many(2, 40)
def test_signed_distances_equal_those_of_python_bit_by_bit(draws):
    seen = Counter()
    for a, pose_a, b, pose_b in pairs(draws, seed=1):
        expected = superovoid.distance(a, pose_a, b, pose_b)
        error, found = distance(body_of(a), pose_a, body_of(b), pose_b)
        assert error == 0
        assert row_of(found) == row_of(expected), (a, b)
        seen[expected.distance < 0.0, expected.certified] += 1
    assert seen[True, True] > 10 < seen[False, True]


def test_distances_of_half_spaces_equal_those_of_python():
    plane, turned = superovoid.HalfSpace(), np.diag([1.0, -1.0, -1.0, 1.0])
    turned[2, 3] = 0.5
    for pose_b in (turned, pose(z=1.0)):
        expected = superovoid.distance(plane, np.eye(4), plane, pose_b)
        assert row_of(distance(body_of(plane), np.eye(4), body_of(plane), pose_b)[1]) == row_of(expected)


def test_a_single_precision_pose_is_made_rigid_as_in_python():
    rng = np.random.default_rng(2)
    for a, pose_a, b, pose_b in itertools.islice(pairs(1, seed=3), 20):
        rough = pose_a.astype(np.float32).astype(np.float64), pose_b.copy()
        rough[1][:3, :3] += rng.uniform(-1e-7, 1e-7, (3, 3))
        expected = superovoid.distance(a, rough[0], b, rough[1])
        assert row_of(distance(body_of(a), rough[0], body_of(b), rough[1])[1]) == row_of(expected)


@pytest.mark.ci
def test_verdicts_never_contradict_those_of_python():
    rng = np.random.default_rng(4)
    seen = Counter()
    for a, pose_a, b, pose_b in pairs(3, seed=5):
        found = superovoid.distance(a, pose_a, b, pose_b)
        threshold = found.distance + rng.choice([0.0, -1e-3, 1e-3, -0.1, 0.1]) * max(1e-6, abs(found.distance))
        expected = are_closer(a, pose_a, b, pose_b, threshold)
        error, verdict = is_closer(body_of(a), pose_a, body_of(b), pose_b, threshold)
        assert error == 0
        assert verdict != (-1 if expected.closer else 1 if expected.farther else None)
        assert not (verdict == 1 and found.lower >= threshold), (a, b)
        assert not (verdict == -1 and found.upper < threshold), (a, b)
        seen[verdict] += 1
    assert min(seen[-1], seen[0], seen[1]) > 5


def test_rows_of_pairs_equal_single_answers_up_to_the_first_error():
    drawn = list(itertools.islice(pairs(1, seed=6), 30))
    a, b = ((ctypes.c_void_p * 30)(*(body_of(each[k]) and body_of(each[k]).value for each in drawn)) for k in (0, 2))
    poses_a, poses_b = (np.array([each[k] for each in drawn]) for k in (1, 3))
    results, failed = (Result * 30)(), ctypes.c_size_t(99)

    def answer():
        poses = doubles(poses_a), doubles(poses_b)
        return C.superovoid_distances(
            ctypes.c_size_t(30), a, poses[0], b, poses[1], ctypes.c_double(1e-9), results, ctypes.byref(failed)
        )

    assert answer() == 0
    assert failed.value == 99
    for found, each in zip(results, drawn, strict=True):
        assert row_of(found) == row_of(superovoid.distance(*each))
    poses_b[7, 0, 3] = NAN
    assert answer() == CONSTANTS["ERROR_POSE_B_NOT_FINITE"]
    assert failed.value == 7


def test_repeated_answers_of_a_pair_agree_with_python_within_both_intervals():
    for a, pose_a, b, pose_b in itertools.islice(pairs(1, seed=7), 40):
        pair, found = ctypes.c_void_p(), Result()
        bodies_of_pair = body_of(a), body_of(b)
        assert C.superovoid_pair_create(*bodies_of_pair, ctypes.byref(pair)) == 0
        for step in range(4):
            moved = pose_b.copy()
            moved[:3, 3] += 1e-4 * step
            poses = doubles(pose_a), doubles(moved)
            assert C.superovoid_pair_distance(pair, *poses, ctypes.c_double(1e-9), ctypes.byref(found)) == 0
            expected = superovoid.distance(a, pose_a, b, moved)
            assert max(found.lower, expected.lower) <= min(found.upper, expected.upper)
        C.superovoid_pair_free(pair)
        for body in bodies_of_pair:
            C.superovoid_body_free(body)


def test_gradients_by_poses_equal_those_of_python_up_to_rounding():
    for a, pose_a, b, pose_b in itertools.islice(pairs(1, seed=8), 40):
        found = distance(body_of(a), pose_a, body_of(b), pose_b)[1]
        by_a, by_b = (ctypes.c_double * 6)(), (ctypes.c_double * 6)()
        poses = doubles(pose_a), doubles(pose_b)
        assert C.superovoid_pose_gradients(ctypes.byref(found), *poses, by_a, by_b) == 0
        expected = pose_gradients(superovoid.distance(a, pose_a, b, pose_b), pose_a, pose_b)
        # Sums of two products, rounded once or twice.
        size = (
            np.linalg.norm(found.point_a) + np.linalg.norm(found.point_b) + np.abs(pose_a).max() + np.abs(pose_b).max()
        )
        assert [*by_a, *by_b] == pytest.approx([*expected.by_pose_a, *expected.by_pose_b], rel=0.0, abs=1e-15 * size)


def mesh_pairs(kind, count):
    """Draw pairs of a convex hull or mesh and a body of any kind, in all regimes."""
    rng = np.random.default_rng(10)
    for other in KINDS_AND_PLANE:
        for regime in rng.choice(REGIMES, count):
            yield draw(kind, other, regime, rng)


@pytest.mark.parametrize("kind", ["convex mesh", "mesh"])
@few_or_many(4, 100)
def test_distances_of_meshes_agree_with_python_within_both_intervals(draws, kind):
    seen = Counter()
    for a, pose_a, b, pose_b in mesh_pairs(kind, draws):
        expected = superovoid.distance(a, pose_a, b, pose_b)
        error, found = distance(body_of(a), pose_a, body_of(b), pose_b)
        assert error == 0
        assert max(found.lower, expected.lower) <= min(found.upper, expected.upper), (a, b)
        if kind == "convex mesh" and expected.certified:
            # Python uses wider numbers for the planes of thin triangles.
            extent = max(np.abs(np.array(a.vertices)).max(), np.abs(found.point_a).max())
            assert found.status & Status.UNPROVEN == 0 or found.upper - found.lower < 1e-10 * extent, (a, b)
        seen[expected.distance < 0.0] += 1
    assert min(seen.values()) > 5


def test_sphere_in_hull_has_the_depth_of_the_nearest_facet():
    corners = np.array([*itertools.product((-1.0, 1.0), (-2.0, 2.0), (-3.0, 3.0))])
    found = distance(body_of(ConvexMesh(corners)), pose(), body_of(superovoid.Sphere(0.5)), pose(0.75, 1.0, 1.0))[1]
    assert found.distance == pytest.approx(-0.75, abs=1e-12)
    assert found.lower <= -0.75 <= found.upper
    assert found.status == 0


def test_triangles_other_than_those_of_a_convex_hull_are_refused():
    hull = ConvexMesh(np.random.default_rng(11).normal(size=(40, 3)))
    vertices, faces = np.array(hull.vertices), np.array(hull.faces)
    assert convex(vertices, faces)[0] == 0
    turned, far, non_convex = faces.copy(), vertices.copy(), vertices.copy()
    turned[3] = turned[3, ::-1]
    twice = np.concatenate([faces[:-1], faces[:1]])
    missing, negative = faces.copy(), faces.copy()
    missing[0, 0], negative[0, 0] = len(vertices), -1
    far[0] = 2e30
    non_convex[5] *= 0.9
    for error, given in (
        ("HULL", (vertices, turned)),
        ("HULL", (vertices, faces[:-1])),
        ("HULL", (vertices, faces[:, ::-1])),
        ("HULL", (vertices, twice)),
        ("HULL", (vertices, np.concatenate([faces, faces]))),
        ("HULL", (np.concatenate([vertices, [[9.0, 0.0, 0.0]]]), faces)),
        ("HULL", (non_convex, faces)),
        ("HULL", (vertices * (1.0, 1.0, 0.0), faces)),
        ("FACES", (vertices, faces[:3])),
        ("FACES", (vertices, missing)),
        ("FACES", (vertices, negative)),
        ("VERTICES", (vertices[:3], faces)),
        ("VERTICES", (vertices * NAN, faces)),
        ("VERTICES", (far, faces)),
        ("VERTICES", (np.zeros_like(vertices), faces)),
    ):
        found, body = convex(*given)
        assert found == CONSTANTS[f"ERROR_{error}"]
        assert body.value is None


def test_surfaces_that_bound_no_body_are_refused():
    given = draw("mesh", "sphere", "far", np.random.default_rng(14))[0]
    vertices, faces = np.array(given.vertices), np.array(given.faces)
    hull = hull_triangles(vertices)
    assert mesh(vertices, faces, hull)[0] == 0
    turned = faces.copy()
    turned[2] = turned[2, ::-1]
    for error, triangles, around in (
        ("SURFACE", turned, hull),
        ("SURFACE", faces[1:], hull),
        ("SURFACE", faces[:, ::-1], hull),
        ("SURFACE", np.concatenate([faces, faces[:, ::-1]]), hull),
        ("HULL", faces, faces),
        ("HULL", faces, hull[1:]),
        ("FACES", faces + 1000, hull),
        ("FACES", faces, hull - 1000),
    ):
        found, body = mesh(vertices, triangles, around)
        assert found == CONSTANTS[f"ERROR_{error}"]
        assert body.value is None
    inner = np.concatenate([vertices, vertices.mean(axis=0, keepdims=True)])  # the last vertex belongs to no triangle
    assert mesh(inner, faces, hull)[0] == CONSTANTS["ERROR_SURFACE"]


class Mallinfo(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    _fields_ = [(f"field_{i}", ctypes.c_size_t) for i in range(10)]


def memory_taken(question):
    """Return the bytes that a call does not free: the least of a few times."""
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Mallinfo

    def used_memory():
        found = libc.mallinfo2()
        return found.field_7 + found.field_4  # of the heap (uordblks), and mapped (hblkhd)

    # The heap keeps up to seven freed blocks of each size and counts them as used.
    before = [used_memory()]
    for _ in range(40):
        question()
        before.append(used_memory())
    return min(np.diff(before))


@pytest.mark.ci
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs glibc 2.33")
@few_or_many(2, 20)
def test_calls_free_all_memory_they_allocate(draws):
    result, verdict, number = Result(), ctypes.c_int(), ctypes.c_double(1e-9)
    out, decided = ctypes.byref(result), ctypes.byref(verdict)
    for a, pose_a, b, pose_b in itertools.chain(
        pairs(draws, seed=13), mesh_pairs("convex mesh", draws), mesh_pairs("mesh", draws)
    ):
        given = body_of(a), doubles(pose_a), body_of(b), doubles(pose_b), number
        assert memory_taken(partial(C.superovoid_distance, *given, out)) < 16, (a, b)
        assert memory_taken(partial(C.superovoid_is_closer, *given, number, decided)) < 16, (a, b)


def motion_of(moving):
    """Return a `superovoid_motion`."""
    return doubles(np.concatenate([moving.start.ravel(), moving.linear, moving.angular, moving.about]))


class Impact(ctypes.Structure):
    """`superovoid_impact`."""

    _fields_ = [
        ("time", ctypes.c_double),
        ("overlap_time", ctypes.c_double),
        ("result", Result),
        ("status", ctypes.c_int),
        ("evaluations", ctypes.c_uint32),
    ]


def meet(a, motion_a, b, motion_b, duration=1.0, rtol=1e-6, most=1000):
    """Call `superovoid_time_of_impact`; return its error and the impact."""
    found = Impact()
    numbers = ctypes.c_double(duration), ctypes.c_double(rtol), ctypes.c_uint32(most)
    return C.superovoid_time_of_impact(a, motion_a, b, motion_b, *numbers, ctypes.byref(found)), found


@pytest.mark.ci
def test_times_of_impact_agree_with_python():
    rng = np.random.default_rng(12)
    seen = Counter()
    for k in range(60 + len(KINDS)):
        kind = rng.choice(["superovoid", "dented superovoid"]) if k < 60 else KINDS[k - 60]
        a, pose_a, b, pose_b = draw("superovoid", kind, "near", rng)
        toward = pose_a[:3, 3] - pose_b[:3, 3]
        pose_b[:3, 3] -= toward
        moving = [
            Motion(start, velocity + 0.1 * rng.normal(size=3), rng.normal(size=3), start[:3, 3] + rng.normal(size=3))
            for start, velocity in ((pose_a, np.zeros(3)), (pose_b, rng.choice([2.0, -1.0]) * toward))
        ]
        expected = time_of_impact(a, moving[0], b, moving[1])
        error, found = meet(body_of(a), motion_of(moving[0]), body_of(b), motion_of(moving[1]))
        assert error == 0
        assert (found.time, found.overlap_time) == (expected.time, expected.overlap_time)
        assert (found.status, found.evaluations) == (expected.status, expected.statistics.solves)
        assert row_of(found.result) == row_of(expected.result)
        seen[found.status] += 1
    assert min(seen[CONSTANTS["IMPACT"]], seen[CONSTANTS["FREE"]]) > 5


def test_invalid_motions_are_refused_with_their_own_error():
    ball = body_of(superovoid.Sphere(1.0))
    still = motion_of(Motion.at_rest(np.eye(4)))
    wrong = doubles([*np.eye(4).ravel(), 2e100, *np.zeros(8)])
    unknown = doubles([*np.eye(4).ravel(), *np.zeros(8), NAN])
    for error, found in (
        ("NULL", meet(ball, None, ball, still)),
        ("NULL", meet(ball, still, None, still)),
        ("DURATION", meet(ball, still, ball, still, duration=0.0)),
        ("DURATION", meet(ball, still, ball, still, duration=NAN)),
        ("DURATION", meet(ball, still, ball, still, duration=2e50)),
        ("EVALUATIONS", meet(ball, still, ball, still, most=0)),
        ("RTOL", meet(ball, still, ball, still, rtol=0.0)),
        ("MOTION_A", meet(ball, wrong, ball, still)),
        ("MOTION_B", meet(ball, still, ball, unknown)),
        ("POSE_A_LAST_ROW", meet(ball, doubles(np.zeros(25)), ball, still)),
    ):
        assert found[0] == CONSTANTS[f"ERROR_{error}"]


def test_many_threads_sharing_bodies_repeat_the_answers_of_one():
    drawn = [(body_of(a), pose_a, body_of(b), pose_b) for a, pose_a, b, pose_b in pairs(1, seed=9)]

    def answers(order):
        found = {i: row_of(distance(*drawn[i])[1]) for i in order}
        return [found[i] for i in range(len(drawn))]

    expected = answers(range(len(drawn)))
    orders = [np.random.default_rng(seed).permutation(len(drawn)) for seed in range(16)]
    with ThreadPoolExecutor(8) as pool:  # ctypes releases the interpreter's lock
        assert all(found == expected for found in pool.map(answers, orders))


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("sphere", (0.0,), "LENGTH"),
        ("sphere", (-1.0,), "LENGTH"),
        ("sphere", (NAN,), "LENGTH"),
        ("sphere", (INF,), "LENGTH"),
        ("sphere", (9e-31,), "LENGTH"),
        ("sphere", (2e30,), "LENGTH"),
        ("ellipsoid", ((1.0, 0.0, 1.0),), "LENGTH"),
        ("ellipsoid", (None,), "NULL"),
        ("box", ((1.0, NAN, 1.0),), "LENGTH"),
        ("box", (None,), "NULL"),
        ("capsule", (1.0, 0.0), "LENGTH"),
        ("cylinder", (-1.0, 1.0), "LENGTH"),
        ("cone", (1.0, INF), "LENGTH"),
        ("torus", (1.0, 1.0), "TORUS"),
        ("torus", (1.0, 0.0), "LENGTH"),
        ("superovoid", (None, 1.0, 1.0, None), "NULL"),
        ("superovoid", ((1.0, 1.0, -1.0), 1.0, 1.0, None), "LENGTH"),
        ("superovoid", ((1.0, 1.0, 1.0), 0.0, 1.0, None), "EXPONENT"),
        ("superovoid", ((1.0, 1.0, 1.0), 1.0, 2.0, None), "EXPONENT"),
        ("superovoid", ((1.0, 1.0, 1.0), NAN, 1.0, None), "EXPONENT"),
        ("superovoid", ((1.0, 1.0, 1.0), 1.0, 1.0, (0.0, 0.500001)), "TAPER"),
        ("superovoid", ((1.0, 1.0, 1.0), 1.0, 1.0, (NAN, 0.0)), "TAPER"),
    ],
)
def test_a_parameter_out_of_range_is_refused_with_its_own_error(name, arguments, error):
    found, body = create(name, *arguments)
    assert found == CONSTANTS[f"ERROR_{error}"]
    assert body.value is None


def test_parameters_at_the_limits_are_accepted():
    assert create("sphere", 1e-30)[0] == create("sphere", 1e30)[0] == 0
    assert create("superovoid", (1.0, 1.0, 1.0), 1e-6, 1.999999, (0.5, -0.5))[0] == 0


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [
        ((0, 0), NAN, "NOT_FINITE"),
        ((3, 3), INF, "NOT_FINITE"),
        ((3, 3), 2.0, "LAST_ROW"),
        ((3, 0), 1e-9, "LAST_ROW"),
        ((0, 3), 2e30, "TOO_FAR"),
        ((0, 0), 1.1, "NO_ROTATION"),
        ((0, 0), 0.0, "NO_ROTATION"),
        ((0, 0), 1e200, "NO_ROTATION"),
        ((0, 0), 1.0 + 2e-6, "NO_ROTATION"),
        ((2, 2), -1.0, "REFLECTION"),
    ],
)
def test_a_pose_other_than_rigid_is_refused_with_its_own_error(place, value, error):
    ball, wrong, result = body_of(superovoid.Sphere(1.0)), pose(3.0), ctypes.byref(Result())
    wrong[place] = value
    for name, poses in (("A", (wrong, pose())), ("B", (pose(), wrong))):
        expected = CONSTANTS[f"ERROR_POSE_{name}_{error}"]
        assert distance(ball, poses[0], ball, poses[1])[0] == expected
        assert is_closer(ball, poses[0], ball, poses[1], 0.1) == (expected, 7)
        out = (ctypes.c_double * 6)(), (ctypes.c_double * 6)()
        assert C.superovoid_pose_gradients(result, doubles(poses[0]), doubles(poses[1]), *out) == expected
        with pytest.raises(ValueError, match=f"pose_{name.lower()}"):
            superovoid.distance(superovoid.Sphere(1.0), poses[0], superovoid.Sphere(1.0), poses[1])


@pytest.mark.parametrize("rtol", [0.0, 9e-13, NAN, INF, -1.0, 2e30])
def test_a_tolerance_out_of_range_is_refused(rtol):
    ball = body_of(superovoid.Sphere(1.0))
    assert distance(ball, pose(), ball, pose(3.0), rtol)[0] == CONSTANTS["ERROR_RTOL"]
    assert is_closer(ball, pose(), ball, pose(3.0), 0.1, rtol)[0] == CONSTANTS["ERROR_RTOL"]


@pytest.mark.parametrize("threshold", [NAN, INF, -INF])
def test_an_infinite_or_nan_threshold_is_refused(threshold):
    ball = body_of(superovoid.Sphere(1.0))
    assert is_closer(ball, pose(), ball, pose(3.0), threshold)[0] == CONSTANTS["ERROR_THRESHOLD"]


def test_null_pointers_are_refused_and_nothing_is_freed():
    null, ball = CONSTANTS["ERROR_NULL"], body_of(superovoid.Sphere(1.0))
    here, rtol = doubles(pose()), ctypes.c_double(1e-9)
    out = ctypes.byref(Result())
    for i in range(4):
        given = [None if i == k else each for k, each in enumerate((ball, here, ball, here))]
        assert C.superovoid_distance(*given, rtol, out) == null
        assert C.superovoid_is_closer(*given, rtol, rtol, ctypes.byref(ctypes.c_int())) == null
    assert C.superovoid_distance(ball, here, ball, here, rtol, None) == null
    assert C.superovoid_is_closer(ball, here, ball, here, rtol, rtol, None) == null
    assert C.superovoid_sphere_create(rtol, None) == null
    assert C.superovoid_half_space_create(None) == null
    pair = ctypes.c_void_p()
    assert C.superovoid_pair_create(None, ball, ctypes.byref(pair)) == null
    assert C.superovoid_pair_create(ball, ball, None) == null
    assert C.superovoid_pair_distance(None, here, here, rtol, out) == null
    assert C.superovoid_pose_gradients(out, here, here, None, here) == null
    failed = ctypes.c_size_t(9)
    assert C.superovoid_distances(ctypes.c_size_t(1), None, here, None, here, rtol, out, ctypes.byref(failed)) == null
    assert failed.value == 0
    assert C.superovoid_distances(ctypes.c_size_t(0), None, None, None, None, rtol, None, None) == 0
    for free in (C.superovoid_body_free, C.superovoid_pair_free):
        free.restype = None
        free(None)


def test_constants_of_the_header_equal_those_of_the_kernels():
    expected = {f"ERROR_{name}": getattr(bodies, name) for name in ("LENGTH", "EXPONENT", "TAPER")}
    expected |= {f"ERROR_{name}": getattr(hulls, f"BAD_{name}") for name in ("VERTICES", "FACES", "HULL", "SURFACE")}
    expected |= {"ERROR_BUILD": bodies.MISMATCH, "ERROR_TORUS": bodies.TORUS_RADII}
    expected["ERROR_RTOL"] = one_pair.RTOL
    for name in ("THRESHOLD", "DURATION", "EVALUATIONS", "MOTION_A", "MOTION_B"):
        expected[f"ERROR_{name}"] = getattr(c_interface, name)
    for name in ("IMPACT", "GRAZE", "STARTS_IN_CONTACT", "FREE", "GIVEN_UP"):
        expected[name] = getattr(impact, name)
    for name in ("NOT_FINITE", "LAST_ROW", "TOO_FAR", "NO_ROTATION", "REFLECTION"):
        expected[f"ERROR_POSE_A_{name}"] = one_pair.POSE_A + getattr(rounding, name)
        expected[f"ERROR_POSE_B_{name}"] = one_pair.POSE_B + getattr(rounding, name)
    expected |= {name: getattr(pair_module, name) for name in ("CLOSER", "FARTHER", "UNDECIDED")}
    expected |= {flag.name: flag.value for flag in Status if flag}
    assert {name: CONSTANTS[name] for name in expected} == expected
    assert CONSTANTS.keys() - expected.keys() == {"OK", "ERROR_NULL", "ERROR_MEMORY"}


def test_every_error_has_a_message_even_unknown_ones():
    errors = [value for name, value in CONSTANTS.items() if name.startswith("ERROR_")]
    messages = {C.superovoid_error_message(each) for each in errors}
    assert len(messages) == len(errors)
    assert b"unknown error" not in messages
    assert C.superovoid_error_message(999) == C.superovoid_error_message(-1) == b"unknown error"


def test_versions_and_sizes_equal_those_of_the_header():
    assert f"#define SUPEROVOID_ABI_VERSION {C.superovoid_abi_version()}\n" in HEADER
    assert C.superovoid_result_size() == ctypes.sizeof(Result)


def test_the_library_exports_every_function_of_the_header_and_no_python():
    functions = re.findall(r"\b(superovoid_\w+)\(", re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL))
    assert len(functions) == len(set(functions)) > 15
    for name in functions:
        assert hasattr(C, name), name
    for name in ("Py_DecRef", "PyErr_SetString", "NRT_Free", "numba_do_raise"):
        assert not hasattr(C, name), name
