# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The triangles of a carried proof: what is said of one, what all of them prove, and what they must not prove."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Superovoid
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids import carried_proof, kept_nets
from superovoid.contact.superovoids.answers import COLD_ITERATIONS, newton_from
from superovoid.contact.superovoids.carried_proof import Task
from superovoid.contact.superovoids.certificate import gap_tolerance
from superovoid.contact.superovoids.direction_net import M_COLUMN, N_COLUMN
from superovoid.contact.superovoids.kept_nets import (
    CELLS,
    OWNER,
    POINT_OF_A,
    POINT_OF_B,
    TRIES,
    VERTICES,
)
from superovoid.contact.superovoids.triangles import Triangle
from superovoid.testing import independent

TOLERANCE = 1e-6
NEAR = math.cos(0.05)  # directions beyond are others than the contact's own
KEY, ORDER = 7, 1.0
PLATE, BAR = (
    Superovoid((0.3, 1.0, 0.9), section_exponent=0.5, profile_exponent=0.6),
    Superovoid((0.5, 0.4, 1.2), section_exponent=0.7, profile_exponent=0.5),
)
TAPERED = Superovoid((0.5, 0.4, 1.2), section_exponent=0.7, profile_exponent=1.2, taper=(0.2, 0.2))
BALL, BOX = (
    Superovoid((0.25, 0.25, 0.25), section_exponent=1.0, profile_exponent=1.0),
    Superovoid((0.5, 0.6, 0.9), section_exponent=0.5, profile_exponent=0.5),
)
WIDE = Superovoid((1.5, 1.6, 3.0), section_exponent=0.5, profile_exponent=0.5)
TURN = Rotation.from_rotvec((0.2, -0.1, 0.3))


class Overlap:
    """Two bodies at one pose, their contact along x from a start, and the Minkowski difference by another judge."""

    def __init__(self, a, b, place, turn=TURN):
        self.shapes, self.place = (a, b), np.array(place)
        rotation = np.ascontiguousarray(turn.as_matrix())
        self.pair = Pair(a._packed, b._packed, rotation, tuple(place))
        self.goal = gap_tolerance(a._packed, b._packed, tuple(place), TOLERANCE)
        self.radius = sum(shape.semi_axes[0] for shape in (a, b) if shape is BALL)

    def contact_along(self, n):
        """The contact that Newton's method finds from the support points along a direction of the frame of A."""
        n = np.array(n) / np.linalg.norm(n)
        _, fa, fb = carried_proof.minkowski_support(self.pair, tuple(n), 1e-3)
        answer = newton_from(self.pair, fa, fb, self.goal, COLD_ITERATIONS, 0)
        assert answer.distance < -0.05 and np.dot(answer.n, n) > 0.8
        return answer

    def heights(self, n):
        """Support function of A - B along directions of the frame of A."""
        return self._heights(0, n) + self._heights(1, -n @ self.pair.rotation) - n @ self.place

    def _heights(self, which, local):
        shape = self.shapes[which]
        numbers = np.array([*shape.semi_axes, shape.section_exponent, shape.profile_exponent, *shape.taper])
        return independent.support(np.tile(numbers, (len(local), 1)), local)[0]

    def core_points(self, n):
        """Support points of A - B along directions, balls taken off."""
        a, b = self.shapes
        x = np.zeros_like(n) if a is BALL else a.support(n)
        y = np.zeros_like(n) if b is BALL else b.support(-n @ self.pair.rotation)
        return x - y @ self.pair.rotation.T - self.place

    def proved_depth(self, answer, nets, now):
        """What the kept triangles prove of a contact, in one query."""
        return carried_proof._least_depth(self.pair, answer, self.goal, nets, KEY, ORDER, now)


def directions(rng, count, about):
    """Directions all over the sphere, and as many about one."""
    near = about + 10.0 ** rng.uniform(-3.0, 0.0, (count, 1)) * rng.normal(size=(count, 3))
    both = np.concatenate([rng.normal(size=(count, 3)), near])
    return both / np.linalg.norm(both, axis=1, keepdims=True)


def in_triangle(rng, corners):
    """Directions in a triangle, on its edges and at its corners."""
    weights = rng.dirichlet((1.0, 1.0, 1.0), 120)
    weights[:30, rng.integers(3)] = 0.0
    n = np.concatenate([weights, np.eye(3)]) @ corners
    return n / np.linalg.norm(n, axis=1, keepdims=True)


PAIRS = [(PLATE, BAR, (0.3, 0.05, -0.04)), (TAPERED, PLATE, (0.2, 0.1, 0.1)), (BALL, BOX, (0.2, 0.05, -0.02))]


# --- one triangle ---


@pytest.mark.parametrize("bodies", PAIRS, ids=["boxes", "taper", "ball"])
def test_a_triangle_is_proved_only_where_each_of_its_directions_is_as_deep_as_wanted(bodies):
    overlap = Overlap(*bodies)
    rng = np.random.default_rng(11)
    n = np.array(overlap.contact_along(np.sign(bodies[2][0]) * np.array((1.0, 0.0, 0.0))).n)
    contact = tuple(overlap.core_points(n[None])[0])
    seen = np.zeros(4, dtype=int)
    for _ in range(250):
        middle = n + 10.0 ** rng.uniform(-2.0, 0.3) * rng.normal(size=3)
        corners = middle / np.linalg.norm(middle) + 10.0 ** rng.uniform(-2.5, -0.3) * rng.normal(size=(3, 3))
        corners /= np.linalg.norm(corners, axis=1, keepdims=True)
        points = overlap.core_points(corners)
        triangle = Triangle(*map(tuple, corners), *map(tuple, points))
        inside = in_triangle(rng, corners)
        heights = overlap.heights(inside)
        near = inside @ n >= NEAR

        def proved(target, away, cos_cap=2.0, triangle=triangle):
            task = Task(overlap.pair, overlap.radius, tuple(n), contact, target, away, cos_cap, math.inf, 1)
            return carried_proof._proved(task, triangle)

        is_proved, bound = proved(-math.inf, -math.inf)
        assert is_proved and bound <= heights.min() + 1e-12
        # Wanted is a little more than there is, of the one kind of directions alone.
        one_corner_near = near[-3:].any()
        if one_corner_near:
            assert not proved(heights[near].min() + 1e-9, -math.inf)[0]
            seen[0] += 1
        if not near.all():
            assert not proved(-math.inf, heights[~near].min() + 1e-9)[0]
            seen[1] += 1
        # A cap stands for a triangle that it holds, but not for what is well away from the normal.
        least = (corners @ n).min()
        assert proved(math.inf, -math.inf, least - 1e-9)[0]
        if one_corner_near:
            assert not proved(heights[near].min() + 1e-9, -math.inf, least + 1e-9)[0]
            seen[2] += 1
        if one_corner_near and not near.all():
            assert not proved(math.inf, heights[~near].min() + 1e-9, least - 1e-9)[0]
            seen[3] += 1
    assert (seen > 15).all()


# --- all of them ---


def assert_covered(rng, about, vertices, cells):
    """Each of many directions is in one of the triangles."""
    n = rng.normal(size=(300, 3))
    corners = vertices[cells[: about[CELLS]], N_COLUMN : N_COLUMN + 3]
    weights = np.einsum("di,cij->dcj", n, np.linalg.inv(corners))
    assert (weights.min(axis=2) >= -1e-9).any(axis=1).all()


def proved_by(overlap, answer, nets, first):
    """The depth that some queries prove, each of which goes on where the one before had to stop; and their number."""
    for now in range(first, first + 9):
        depth = overlap.proved_depth(answer, nets, now)
        if depth > -math.inf:
            return depth, now
    return -math.inf, now


@pytest.mark.parametrize("bodies", PAIRS, ids=["boxes", "taper", "ball"])
def test_the_triangles_of_a_proof_cover_the_sphere_at_each_pose(bodies):
    a, b, place = bodies
    rng = np.random.default_rng(12)
    nets = kept_nets.nets_for(1)
    now, start, turn = 0, np.sign(place[0]) * np.array((1.0, 0.0, 0.0)), TURN
    for step in range(4):
        overlap = Overlap(a, b, place, turn)
        answer = overlap.contact_along(start)
        depth, now = proved_by(overlap, answer, nets, now + 1)
        assert depth > -math.inf
        assert depth <= -answer.distance + 1e-12 and depth >= -answer.distance - overlap.goal
        about, vertices, cells = nets.about[0], nets.vertices[0], nets.cells[0]
        assert_covered(rng, about, vertices, cells)
        n = directions(rng, 400, np.array(answer.n))
        heights = overlap.heights(n)
        assert heights.min() >= depth - 1e-12
        assert heights[n @ answer.n < NEAR].min() >= overlap.goal - answer.distance - 1e-12
        used = vertices[: about[VERTICES]]
        x, y = used[:, POINT_OF_A : POINT_OF_A + 3], used[:, POINT_OF_B : POINT_OF_B + 3]
        for shape, points in ((a, x), (b, y)):
            assert (points == 0.0).all() if shape is BALL else shape.implicit(points).max() < 1e-9
        moved = x - y @ overlap.pair.rotation.T - overlap.place
        assert np.abs(moved - used[:, M_COLUMN : M_COLUMN + 3]).max() < 1e-14
        place = tuple(np.array(place) + 10.0 ** (step - 5) * rng.normal(size=3))
        turn = Rotation.from_rotvec(10.0 ** (step - 5) * rng.normal(size=3)) * turn


# A body in a wider one, which it leaves through the side along x or along y of that one.
INNER = [(BALL, BOX), (BAR, WIDE), (TAPERED, WIDE)]


def inside(bodies, x):
    """The bodies at a place where they tie for some x, and both ways out."""
    overlap = Overlap(*bodies, tuple(TURN.apply((x, 0.15, 0.02))))
    return overlap, *(overlap.contact_along(TURN.apply(n)) for n in ((1.0, 0.1, 0.1), (0.1, 1.0, 0.1)))


def tie_of(bodies):
    """The x at which one way out is as long as the other; beyond, the first is shorter."""
    low, high = 0.0, 0.2
    for _ in range(40):
        middle = 0.5 * (low + high)
        _, first, second = inside(bodies, middle)
        low, high = (low, middle) if first.distance > second.distance else (middle, high)
    assert 0.03 < low < 0.17
    return low


@pytest.mark.parametrize("bodies", INNER, ids=["ball", "bar", "taper"])
def test_triangles_that_were_a_proof_do_not_prove_a_contact_that_is_no_longer_the_shallowest(bodies):
    tie = tie_of(bodies)
    for nearer in (1e-5, 1e-3, 0.02):
        nets = kept_nets.nets_for(1)
        proofs = []
        for shift in (nearer, -nearer, nearer):
            overlap, first, second = inside(bodies, tie + shift)
            assert (first.distance > second.distance) == (shift > 0.0)
            depth, _ = proved_by(overlap, first, nets, 1 + 100 * len(proofs))
            proofs.append(depth > -math.inf)
        assert proofs == [True, False, True], nearer


@pytest.mark.parametrize("bodies", INNER, ids=["ball", "bar", "taper"])
def test_a_contact_that_is_not_the_shallowest_is_not_proved_from_the_beginning(bodies):
    tie = tie_of(bodies)
    for deeper in (1e-5, 1e-3, 0.02):
        overlap, first, _ = inside(bodies, tie - deeper)
        assert proved_by(overlap, first, kept_nets.nets_for(1), 1)[0] == -math.inf


def test_an_unfinished_proof_proves_nothing_and_goes_on_in_the_next_query():
    bodies = INNER[1]
    overlap, first, _ = inside(bodies, tie_of(bodies) + 1e-4)
    nets = kept_nets.nets_for(1)
    counts = []
    for now in (1, 2):
        depth = overlap.proved_depth(first, nets, now)
        assert (depth == -math.inf) == (now == 1)
        assert (nets.about[0, TRIES] > 0) == (now == 1)
        assert_covered(np.random.default_rng(13), nets.about[0], nets.vertices[0], nets.cells[0])
        counts.append(int(nets.about[0, VERTICES]))
    assert counts[0] < counts[1] < 1.5 * counts[0]


def test_the_triangles_of_another_pair_are_not_taken():
    overlap = Overlap(*PAIRS[0])
    answer = overlap.contact_along((1.0, 0.0, 0.0))
    nets = kept_nets.nets_for(2)
    _, now = proved_by(overlap, answer, nets, 1)
    row, is_own, _ = kept_nets.net_of(nets, KEY, now + 1)
    assert is_own and nets.about[row, OWNER] == KEY
    other, is_own, _ = kept_nets.net_of(nets, KEY + 1, now + 1)
    assert not is_own and other != row
