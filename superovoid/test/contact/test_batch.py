# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Batches in SIMD lanes: equal answers in any order, with any threads, from any state."""

import re

import llvmlite.binding
import numpy as np
import pytest
from numba.core.caching import NullCache
from scipy.spatial.transform import Rotation

from superovoid import Box, Capsule, Cylinder, Ellipsoid, Sphere, Superovoid, distance, distances
from superovoid.compiled import simd
from superovoid.compiler.jit import kernel
from superovoid.contact import Status, broadcasting
from superovoid.contact.columns import RESULT, RESULT_LENGTH, STATE_LENGTH
from superovoid.contact.inputs import SEARCH_BUDGET, TOLERANCE
from superovoid.contact.lanes import many_pairs, newton_lanes
from superovoid.contact.lanes.many_pairs import CHUNK
from superovoid.contact.one_pair import WORK_LENGTH
from superovoid.contact.signed_distance import answer_pairs
from superovoid.shapes.kernels import bodies, kinds, surface

BUDGET = 500  # of the search: open intervals are as valid as closed ones, and quicker


class Pairs:
    """Packed pairs with states and answers."""

    def __init__(self, parameters, poses):
        self.bodies = np.zeros((2, parameters.shape[1], kinds.ROW_LENGTH))
        for packed, rows in zip(self.bodies, parameters, strict=True):
            for row, numbers in zip(packed, rows, strict=True):
                bodies.pack(row, *numbers)
        self.poses = np.ascontiguousarray(poses)
        self.reset()

    def reset(self):
        self.states = np.zeros((self.poses.shape[1], STATE_LENGTH))
        self.out = np.full((self.poses.shape[1], RESULT_LENGTH), np.nan)

    def pick(self, rows):
        other = object.__new__(Pairs)
        other.bodies = np.ascontiguousarray(self.bodies[:, rows])
        other.poses = np.ascontiguousarray(self.poses[:, rows])
        other.reset()
        other.states[:] = self.states[rows]
        return other

    def swap(self):
        other = self.pick(slice(None))
        other.bodies, other.poses = other.bodies[::-1].copy(), other.poses[::-1].copy()
        return other

    def _pairs(self):
        count = len(self.out)
        rows, number = self.bodies.reshape(-1, kinds.ROW_LENGTH), np.arange(count)
        sides = zip((number, number + count), self.poses, strict=True)
        return broadcasting.Pairs(*(broadcasting.Side(rows, np.zeros(1), *side) for side in sides)), number

    def batch(self, threads=1):
        """Solve in lanes; `left` counts the pairs solved by the scalar solver."""
        self.left = many_pairs.solve_batch(*self._pairs(), False, TOLERANCE, BUDGET, self.states, self.out, threads)
        return self.out

    def scalar(self):
        answer_pairs(*self._pairs(), TOLERANCE, BUDGET, self.states, np.empty(WORK_LENGTH), self.out)
        return self.out

    def turn(self, degrees):
        self.poses[1, :, :3, :3] @= Rotation.from_rotvec([0.0, 0.0, np.radians(degrees)]).as_matrix()

    @property
    def sizes(self):
        return self.bodies[:, :, surface.SIZE].min(axis=0)


def random_poses(rng, count, distances_apart):
    poses = np.tile(np.eye(4), (2, count, 1, 1))
    for side in range(2):
        poses[side, :, :3, :3] = Rotation.random(count, rng=rng).as_matrix()
    directions = rng.normal(size=(count, 3))
    poses[1, :, :3, 3] = distances_apart[:, None] * directions / np.linalg.norm(directions, axis=1)[:, None]
    return poses


def random_pairs(seed, count, exponents=(0.05, 1.95), ratio=1e3, taper=0.0, reach=(0.0, 3.0)):
    """Return pairs of any size ratio and exponents, from concentric to a separation `reach` in units of both sizes."""
    rng = np.random.default_rng(seed)
    parameters = np.empty((2, count, 7))
    parameters[..., :3] = np.exp(rng.uniform(-0.5, 0.5, (2, count, 3)))
    parameters[1, :, :3] *= np.exp(rng.uniform(-1.0, 1.0, count) * np.log(ratio))[:, None]
    parameters[..., 3:5] = rng.uniform(*exponents, (2, count, 2))
    parameters[..., 5:] = rng.uniform(-taper, taper, (2, count, 2))
    apart = rng.uniform(*reach, count) * parameters[..., :3].max(axis=2).sum(axis=0)
    return Pairs(parameters, random_poses(rng, count, apart))


def assert_agree(one, other, sizes, poses):
    """Check that both intervals meet, and that the distances are equal if both intervals are closed."""
    lower, upper = RESULT.lower, RESULT.upper
    assert (np.maximum(one[:, lower], other[:, lower]) <= np.minimum(one[:, upper], other[:, upper])).all()
    closed = (one[:, RESULT.status] == 0) & (other[:, RESULT.status] == 0)
    assert closed.any()
    scale = sizes + 1e-6 * np.linalg.norm(poses[1, :, :3, 3] - poses[0, :, :3, 3], axis=1)
    error = np.abs(one[:, RESULT.distance] - other[:, RESULT.distance]) / scale
    assert error[closed].max() <= 2e-9


# -- logarithm and exponential ---------------------------------------------------------------------


@kernel
def _logarithms(x, out):
    for i in range(len(x)):
        out[i] = simd.log(x[i])


@kernel
def _exponentials(x, out):
    for i in range(len(x)):
        out[i] = simd.exp(x[i])


@pytest.mark.ci
def test_limits_of_logarithm_and_exponential():
    x = np.array([0.0, 5e-324, 1e-310, 1.0, np.inf, np.nan])
    out = np.empty_like(x)
    _logarithms(x, out)
    np.testing.assert_array_equal(out, [-np.inf, -np.inf, -np.inf, 0.0, np.inf, np.nan])
    x = np.array([-np.inf, -1e308, -708.5, -0.0, 0.0, 709.5, 1e308, np.inf, np.nan])
    out = np.empty_like(x)
    _exponentials(x, out)
    np.testing.assert_array_equal(out, [0.0, 0.0, 0.0, 1.0, 1.0, np.inf, np.inf, np.inf, np.nan])


# -- answers ---------------------------------------------------------------------------------------


def test_answers_do_not_depend_on_the_place_in_a_batch():
    pairs = random_pairs(20, many_pairs.CHUNK + 90, exponents=(0.3, 1.7), ratio=10.0, taper=0.3, reach=(0.7, 2.0))
    out, states = pairs.batch(), pairs.states
    assert 0 < pairs.left < 0.5 * len(out)
    rng = np.random.default_rng(4)
    for count in (1, 2, newton_lanes.WIDTH - 1, newton_lanes.WIDTH + 1, len(out)):
        rows = rng.permutation(len(out))[:count]
        few = pairs.pick(rows)
        few.reset()
        np.testing.assert_array_equal(few.batch(), out[rows])
        np.testing.assert_array_equal(few.states, states[rows])


def test_bad_lanes_disturb_no_other_lane():
    pairs = random_pairs(23, 100, exponents=(0.5, 1.5), ratio=2.0, reach=(1.0, 2.0))
    out = pairs.batch().copy()
    bad = pairs.pick(slice(None))
    bad.reset()
    bad.poses[1, 40, :3, 3] = np.nan
    bad.bodies[0, 50] = np.inf
    good = np.ones(100, dtype=bool)
    good[[40, 50]] = False
    np.testing.assert_array_equal(bad.batch()[good], out[good])


# -- warm starts -----------------------------------------------------------------------------------


def test_scalar_and_batch_solvers_continue_each_others_states():
    pairs = random_pairs(31, 250, exponents=(0.3, 1.6), ratio=3.0, reach=(1.0, 2.0))
    from_batch = pairs.pick(pairs.batch()[:, RESULT.status] == 0)
    answers = pairs.out[pairs.out[:, RESULT.status] == 0]
    from_batch.scalar()
    assert (from_batch.out[:, RESULT.iterations] == 0).all()
    assert_agree(from_batch.out, answers, from_batch.sizes, from_batch.poses)
    from_scalar = from_batch.pick(slice(None))
    from_scalar.reset()
    from_scalar.scalar()
    again = from_scalar.pick(slice(None))
    again.batch()
    assert (again.out[:, RESULT.iterations] == 0).all()
    assert_agree(again.out, from_scalar.out, again.sizes, again.poses)


# -- public interface ------------------------------------------------------------------------------


def random_lists(count):
    rng = np.random.default_rng(40)
    kinds = [Sphere(1.0), Ellipsoid([1.0, 0.7, 0.5]), Ellipsoid([0.3, 0.4, 2.0])]
    shapes = [[kinds[k] for k in rng.integers(0, 3, count)] for _ in range(2)]
    return shapes, random_poses(rng, count, rng.uniform(1.5, 4.0, count))


@pytest.mark.parametrize("count", (CHUNK, 3000))
def test_threads_change_no_answer(count):
    shapes, poses = random_lists(count)
    arguments = shapes[0], poses[0], shapes[1], poses[1]
    results = [distances(*arguments, threads=threads) for threads in (None, 1, 2, 5)]
    for other in results[1:]:
        assert other == results[0]


def test_empty_batches_have_no_answers():
    nothing = Pairs(np.ones((2, 0, 7)), np.empty((2, 0, 4, 4)))
    assert nothing.batch(threads=2).shape == (0, RESULT_LENGTH)
    assert len(distances([], np.empty((0, 4, 4)), [], np.empty((0, 4, 4)), threads=3)) == 0


@pytest.mark.parametrize("threads", (0, -1, 1.5, True, "2"))
def test_bad_numbers_of_threads_are_refused(threads):
    with pytest.raises(ValueError, match="threads"):
        distances([Sphere(1.0)], np.eye(4)[None], [Sphere(1.0)], np.eye(4)[None], threads=threads)


def test_search_effort_is_passed_on(monkeypatch):
    pairs = random_pairs(41, 40, exponents=(0.3, 0.8), ratio=1.0, taper=0.4, reach=(0.1, 0.4))
    few = pairs.pick(slice(None))
    monkeypatch.setitem(globals(), "BUDGET", 20)
    few.batch()
    assert (few.out[:, RESULT.status].astype(int) & int(Status.UNPROVEN) != 0).sum() > 0
    monkeypatch.setitem(globals(), "BUDGET", SEARCH_BUDGET)
    pairs.batch()
    assert (pairs.out[:, RESULT.status] == 0).sum() > (few.out[:, RESULT.status] == 0).sum()


# -- superovoids next to boxes, capsules and cylinders -----------------------------------------------


def pairs_with_cores(seed, count):
    """Return random pairs of a superovoid and another body, apart, near and overlapping, in either order."""
    rng = np.random.default_rng(seed)
    pairs = []
    for k in range(count):
        size, (e1, e2), taper = rng.uniform(0.03, 0.3, 3), rng.uniform(0.02, 1.98, 2), rng.uniform(-0.2, 0.2)
        ovoid = Superovoid(size, section_exponent=e1, profile_exponent=e2, taper=(taper, taper))
        a, b, c = rng.uniform(0.01, 0.5, 3)
        core = (Box((a, b, c)), Capsule(a, b), Cylinder(a, b))[k % 3]
        pose_a, pose_b = np.tile(np.eye(4), (2, 1, 1))
        pose_a[:3, :3], pose_b[:3, :3] = Rotation.random(2, random_state=rng).as_matrix()
        pose_b[:3, 3] = rng.normal(size=3) * rng.uniform(0.1, 1.0)
        pairs.append((ovoid, pose_a, core, pose_b) if rng.random() < 0.5 else (core, pose_a, ovoid, pose_b))
    return pairs


def of_all(pairs, order=slice(None)):
    a, pose_a, b, pose_b = zip(*pairs, strict=True)
    return distances(a[order], np.array(pose_a)[order], b[order], np.array(pose_b)[order])


def test_lanes_next_to_boxes_capsules_and_cylinders_agree_with_single_answers():
    pairs = pairs_with_cores(3, 3 * CHUNK)
    found = of_all(pairs)
    for i, pair in enumerate(pairs):
        alone = distance(*pair)
        assert max(alone.lower, found.lower[i]) <= min(alone.upper, found.upper[i]), pair
        assert alone.status == found.status[i], pair
        if alone.status == Status.CERTIFIED and alone.distance > 1e-3:
            np.testing.assert_allclose(found.point_a[i], alone.point_a, atol=2e-5)
            np.testing.assert_allclose(found.normal[i], alone.normal, atol=2e-5)


def test_lanes_next_to_cores_ignore_order_and_swap_bit_by_bit():
    pairs = pairs_with_cores(4, 2 * CHUNK)
    found, backwards = of_all(pairs), of_all(pairs, slice(None, None, -1))
    swapped = of_all([(b, pose_b, a, pose_a) for a, pose_a, b, pose_b in pairs])
    for name in ("distance", "lower", "upper", "point_a", "point_b", "normal", "status"):
        np.testing.assert_array_equal(getattr(found, name), getattr(backwards, name)[::-1])
    np.testing.assert_array_equal(swapped.point_b, found.point_a)
    np.testing.assert_array_equal(swapped.normal, -found.normal)
    np.testing.assert_array_equal(swapped.lower, found.lower)


# -- SIMD ------------------------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.skipif(
    not {"avx2", "fma"} <= {name for name, has in llvmlite.binding.get_host_cpu_features().items() if has},
    reason="looks for AVX2 instructions",
)
@pytest.mark.parametrize(
    "function",
    (
        newton_lanes.retract,
        newton_lanes.advance,
        newton_lanes.retract_second,
        newton_lanes.advance_to_cores,
        many_pairs.prepare,
        many_pairs.prove_pairs,
        many_pairs.prove_cores,
    ),
)
def test_loops_over_lanes_are_packed_throughout(function):
    fresh = kernel(function)
    fresh._cache = NullCache()  # numba does not show the assembly of code from the disk
    count = (many_pairs.CHUNK,)
    counts = {many_pairs.prepare: (*count, 1e-9), many_pairs.prove_pairs: count, many_pairs.prove_cores: count}
    fresh(np.zeros(max(newton_lanes.LENGTH, many_pairs.LENGTH)), *counts.get(function, ()))
    (assembly,) = fresh.inspect_asm().values()
    assert len(re.findall(r"vfn?m(?:add|sub)\d+pd\s.*[yz]mm", assembly)) > 30
    for scalar in ("vdivsd", "vsqrtsd", r"vfn?m(?:add|sub)\d+sd"):
        assert not re.findall(scalar, assembly)


# -- pairs that the lanes leave open ---------------------------------------------------------------
