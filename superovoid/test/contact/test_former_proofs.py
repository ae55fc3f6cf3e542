# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the proof of a former pose still proves: each condition of it by itself, with proofs made up for that."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Superovoid
from superovoid.contact import columns
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids import pair_solver
from superovoid.contact.superovoids.answers import WARM_ITERATIONS, newton_from
from superovoid.contact.superovoids.cap_lanes import largest_cap
from superovoid.contact.superovoids.certificate import gap_tolerance, rounding_margin
from superovoid.values.status import ARBITRARY_NORMAL, NON_UNIQUE

TOLERANCE = 1e-6
# Convex, and too boxy for the balls inside them to prove a depth.
PLATE, BAR = (
    Superovoid((0.3, 1.0, 0.9), section_exponent=0.5, profile_exponent=0.6),
    Superovoid((0.5, 0.4, 1.2), section_exponent=0.7, profile_exponent=0.5),
)
# As deep, with a dent.
DENTED = Superovoid((0.5, 0.4, 1.2), section_exponent=0.7, profile_exponent=0.5, taper=(0.3, -0.3))
TURN, PLACE = Rotation.from_rotvec((0.2, -0.1, 0.3)), (0.35, 0.05, -0.04)


class Contact:
    """A contact that Newton's method has found again, whose depth is open, and the state of a search of that pose."""

    def __init__(self, bar=BAR):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = TURN.as_matrix(), PLACE
        self.state = np.zeros(columns.STATE_LENGTH)
        out, scratch = np.empty(columns.RESULT_LENGTH), np.empty((3, 3))
        pair_solver.solve_pair(PLATE._packed, bar._packed, np.eye(4), pose, TOLERANCE, 4000, self.state, scratch, out)
        assert self.state[columns.PROOF] == 1.0  # in the order as given
        rotation = np.empty((3, 3))
        self.centre = pair_solver.relative_pose(np.eye(4), pose, rotation)
        self.pair = Pair(PLATE._packed, bar._packed, rotation, self.centre)
        self.goal = gap_tolerance(PLATE._packed, bar._packed, self.centre, TOLERANCE)
        self.margin = rounding_margin(PLATE._packed, bar._packed, self.centre)
        fa, fb = pair_solver.load_point(self.state, 0), pair_solver.load_point(self.state, 8)
        self.answer = newton_from(self.pair, fa, fb, self.goal, WARM_ITERATIONS, 0)
        self.cap = largest_cap(self.pair, self.answer.fa, self.answer.fb)
        assert self.answer.distance < -0.1

    def made_up(self, **columns_of_proof):
        """The state with other numbers in it."""
        state = self.state.copy()
        for name, value in columns_of_proof.items():
            column = getattr(columns, f"PROOF_{name}")
            state[column : column + np.size(value)] = value
        return state

    def depth(self, moved=0.0, **columns_of_proof):
        """The depth that a made-up proof still proves."""
        state = self.made_up(**columns_of_proof)
        return pair_solver.depth_still_proved(self.pair, self.answer, state, moved, self.goal)

    def asked(self, order=1.0, **columns_of_proof):
        """What a made-up proof makes of the answer."""
        state = self.made_up(**columns_of_proof)
        return pair_solver.with_former_proof(self.pair, self.answer, state, order, self.goal)

    def moved_by(self, length):
        """The origin of the bar, where it was by so much farther along z."""
        x, y, z = self.centre
        return x, y, z + length


@pytest.fixture(scope="module")
def contact():
    found = Contact()
    assert found.cap.angle > 0.01
    assert found.answer.upper - found.answer.lower > found.goal
    return found


def test_no_point_of_a_body_moves_farther_than_the_motion_of_its_pose():
    needle = Superovoid((1.0, 1e-3, 1e-3), section_exponent=0.5, profile_exponent=0.5)
    ends = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    rng = np.random.default_rng(1)
    state = np.zeros(columns.STATE_LENGTH)
    for angle, length in ((1.0, 0.0), (1e-3, 0.0), (1e-7, 0.0), (0.0, 1e-3), (1e-3, 1e-3), (math.pi, 0.0)):
        before = Rotation.random(random_state=rng)
        axis = before.apply([0.0, 0.6, 0.8])  # across the needle
        after = Rotation.from_rotvec(angle * axis) * before
        offset = length * np.cross(axis, before.apply([1.0, 0.0, 0.0]))  # as one end is turned
        state[columns.PROOF_ROTATION : columns.PROOF_ROTATION + 9] = before.as_matrix().ravel()
        state[columns.PROOF_CENTRE : columns.PROOF_CENTRE + 3] = (0.1, 0.2, 0.3)
        centre = np.array([0.1, 0.2, 0.3]) + offset
        rotation = np.ascontiguousarray(after.as_matrix())
        moved = pair_solver.motion(needle._packed, rotation, tuple(centre), state)
        farthest = np.linalg.norm(after.apply(ends) + offset - before.apply(ends), axis=1).max()
        assert farthest - 1e-15 <= moved <= 1.5 * farthest + 1e-12


def test_a_former_cap_and_level_prove_the_depth_again(contact):
    level = 3.0 * contact.goal - contact.answer.distance
    depth = contact.depth(CAP=0.5 * contact.cap.angle, LEVEL=level, N=contact.answer.n, STATUS=0)
    assert depth == contact.cap.floor


@pytest.mark.parametrize(
    ("beyond", "moved", "proved"), [(1.5, 0.0, True), (0.9, 0.0, False), (1.5, 0.4, True), (1.5, 0.6, False)]
)
def test_the_level_has_to_exceed_the_depth_by_the_goal_and_the_motion(contact, beyond, moved, proved):
    level = beyond * contact.goal - contact.answer.distance
    small = 0.5 * contact.cap.angle
    depth = contact.depth(moved * contact.goal, CAP=small, LEVEL=level, N=contact.answer.n, STATUS=0)
    assert (depth > 0.0) == proved


@pytest.mark.parametrize(
    ("share", "turned", "proved"), [(0.99, 0.0, True), (1.01, 0.0, False), (0.5, 0.45, True), (0.5, 0.55, False)]
)
def test_the_cap_has_to_cover_the_former_one_about_the_former_normal(contact, share, turned, proved):
    n = np.array(contact.answer.n)
    across = np.cross(n, (1.0, 0.0, 0.0))
    former = Rotation.from_rotvec(turned * contact.cap.angle * across / np.linalg.norm(across)).apply(n)
    depth = contact.depth(CAP=share * contact.cap.angle, LEVEL=10.0, N=former, STATUS=0)
    assert (depth > 0.0) == proved


def test_a_proof_without_a_cap_proves_no_depth(contact):
    assert contact.depth(CAP=0.0, LEVEL=10.0, N=contact.answer.n, STATUS=0) == 0.0


def test_a_proof_that_knew_of_another_direction_as_good_proves_no_depth(contact):
    assert contact.depth(CAP=1e-3, LEVEL=10.0, N=contact.answer.n, STATUS=0) > 0.0
    assert contact.depth(CAP=1e-3, LEVEL=10.0, N=contact.answer.n, STATUS=ARBITRARY_NORMAL) == 0.0


def test_an_upper_bound_by_the_cap_leaves_room_for_rounding(contact):
    answer, use = contact.asked(CAP=1e-3, LEVEL=10.0, UPPER=1.0, STATUS=0)
    assert use == pair_solver.ANSWERED
    assert answer.upper >= contact.margin - contact.cap.floor


def test_bounds_of_before_are_wider_by_the_motion(contact):
    d, goal = contact.answer.distance, contact.goal
    length = 0.05 * goal
    proof = {"CAP": 0.0, "LOWER": d - 0.2 * goal, "UPPER": d + 0.3 * goal, "STATUS": 0}
    answer, use = contact.asked(CENTRE=contact.moved_by(length), **proof)
    assert use == pair_solver.ANSWERED
    assert d + 0.3 * goal + 0.99 * length <= answer.upper <= d + 0.3 * goal + 1.01 * length
    # Of the same pose nothing is added, and what Newton's method proves may be better.
    answer, _ = contact.asked(**proof)
    assert answer.upper == d + 0.3 * goal and answer.lower >= d - 0.2 * goal


@pytest.mark.parametrize(("length", "lacks", "again"), [(0.0, 0.2, True), (0.4, 0.2, False), (0.4, 0.6, True)])
def test_a_contact_deeper_than_what_was_proved_and_the_motion_is_another_minimum(contact, length, lacks, again):
    d, goal = contact.answer.distance, contact.goal
    _, use = contact.asked(CENTRE=contact.moved_by(length * goal), CAP=0.0, LOWER=d + lacks * goal, UPPER=1.0)
    assert (use == pair_solver.START_AGAIN) == again


@pytest.mark.parametrize(("share", "answered"), [(0.09, True), (0.3, False)])
def test_an_overlap_that_has_moved_is_answered_by_bounds_of_before_only_where_it_is_as_good_as_still(
    contact, share, answered
):
    # Another direction may be as good by now.
    d, goal = contact.answer.distance, contact.goal
    proof = {"CAP": 0.0, "LOWER": d - 0.1 * goal, "UPPER": d + 0.1 * goal, "STATUS": 0}
    _, use = contact.asked(CENTRE=contact.moved_by(share * goal), **proof)
    assert use == (pair_solver.ANSWERED if answered else pair_solver.OPEN)


@pytest.mark.parametrize("flag", [ARBITRARY_NORMAL, NON_UNIQUE])
def test_flags_of_a_proof_are_said_again_of_bodies_that_are_as_good_as_still(contact, flag):
    d, goal = contact.answer.distance, contact.goal
    for length in (0.0, 0.05 * goal):
        proof = {"CAP": 0.0, "LOWER": d - 0.1 * goal, "UPPER": d + 0.1 * goal, "STATUS": flag}
        answer, use = contact.asked(CENTRE=contact.moved_by(length), **proof)
        assert use == pair_solver.ANSWERED and answer.status & flag


def test_a_proof_of_the_other_order_is_none(contact):
    answer, use = contact.asked(order=2.0)
    assert use == pair_solver.OPEN and answer == contact.answer


def test_bounds_of_dented_bodies_are_of_their_own_pose_alone():
    contact = Contact(DENTED)
    d, goal = contact.answer.distance, contact.goal
    proof = {"CAP": 0.0, "LOWER": d - 0.1 * goal, "UPPER": d + 0.1 * goal, "STATUS": 0}
    still, use = contact.asked(**proof)
    assert use == pair_solver.ANSWERED and still.upper <= d + 0.1 * goal
    moved, use = contact.asked(CENTRE=contact.moved_by(0.05 * goal), **proof)
    assert use == pair_solver.OPEN and moved.upper == contact.answer.upper
