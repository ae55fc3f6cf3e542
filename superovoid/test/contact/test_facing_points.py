# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Points of a proved distance are moved to face each other along the normal, or the answer says that it is open."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid import Status, Superovoid, distance
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids import without_contact
from superovoid.contact.superovoids.answers import Answer
from superovoid.contact.superovoids.caps import Cap
from superovoid.shapes.kernels.support_function import support_candidate
from superovoid.shapes.kernels.surface import position

NON_UNIQUE = int(Status.NON_UNIQUE)


def tuple_of(vector):
    return tuple(float(v) for v in vector)


def pair_of(a, b, turn, centre):
    """A pair in the frame of A."""
    return Pair(a._packed, b._packed, np.ascontiguousarray(turn), tuple_of(centre))


def support_points(pair, n):
    """Support points of both bodies along n, in the frame of A, and as the engine keeps them."""
    fa = support_candidate(pair.a, tuple_of(n), 1e-15)
    fb = support_candidate(pair.b, tuple_of(-pair.rotation.T @ n), 1e-15)
    return np.array(position(pair.a, fa)), pair.rotation @ position(pair.b, fb) + pair.centre, fa, fb


def answer_of(pair, x, y, n, lower, upper):
    """An answer with these points and this normal, whatever they prove."""
    _, _, fa, fb = support_points(pair, n)
    in_b = tuple_of(pair.rotation.T @ (y - pair.centre))
    length = float(np.linalg.norm(y - x))
    nothing = Cap(0.0, 0.0)
    return Answer(length, lower, upper, tuple_of(x), in_b, tuple_of(n), fa, fb, NON_UNIQUE, 0, True, nothing, 0.0)


def points_of(pair, answer):
    return np.array(answer.x), pair.rotation @ answer.y + pair.centre


def across(x, y, n):
    """Length of the part of y - x across n."""
    return float(np.linalg.norm((y - x) - (y - x) @ n * np.asarray(n)))


def level(shape, p):
    """Gauge of a body without tapers at a point in its frame: 1 on the surface."""
    u = np.abs(np.asarray(p) / shape.semi_axes)
    e1, e2 = shape.section_exponent, shape.profile_exponent
    ring = (u[0] ** (2.0 / e1) + u[1] ** (2.0 / e1)) ** (0.5 * e1)
    return (ring ** (2.0 / e2) + u[2] ** (2.0 / e2)) ** (0.5 * e2)


def tilted(n, side, angle):
    return math.cos(angle) * np.asarray(n) + math.sin(angle) * np.asarray(side)


def test_shares_take_as_much_off_as_two_steps_can():
    rng = np.random.default_rng(4)
    inside = 0
    for _ in range(300):
        off, to_x, to_y = (np.append(rng.normal(size=2), 0.0) for _ in range(3))
        s, t = without_contact._shares(tuple_of(off), tuple_of(to_x), tuple_of(to_y))
        assert 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0
        left = np.linalg.norm(off + s * to_x - t * to_y)
        alone = [np.linalg.norm(off + k * to_x) for k in np.linspace(0.0, 1.0, 101)]
        alone += [np.linalg.norm(off - k * to_y) for k in np.linspace(0.0, 1.0, 101)]
        best = np.linalg.solve(np.stack([to_x[:2], -to_y[:2]], axis=1), -off[:2])
        if (best >= 0.0).all() and (best <= 1.0).all():
            inside += 1
            assert left == pytest.approx(0.0, abs=1e-12)
        assert left <= min(alone) + 1e-12
    assert inside > 20


@pytest.mark.parametrize("angle", [0.1, 0.7, 1.4])
@pytest.mark.parametrize("bearing", np.linspace(0.0, 2.0 * math.pi, 9)[:-1])
def test_points_of_two_rods_come_to_face_each_other_from_any_side(angle, bearing):
    """Straight rods that cross at an angle: their points can be moved along them only, one forward and one back."""
    rod = Superovoid((1.0, 1e-6, 1e-6), section_exponent=1e-3, profile_exponent=1e-3)
    pair = pair_of(rod, rod, Rotation.from_rotvec([0.0, 0.0, angle]).as_matrix(), (0.0, 0.0, 0.5))
    n = np.array([0.0, 0.0, 1.0])
    x, y = np.array([0.0, 0.0, 1e-6]), np.array([0.0, 0.0, 0.5 - 1e-6])
    # Apart by 1e-5 on a bearing, along the rods.
    along_a, along_b = np.array([1.0, 0.0]), pair.rotation[:2, 0]
    s, t = np.linalg.solve(
        np.stack([along_a, along_b], axis=1), 1e-5 * np.array([math.cos(bearing), math.sin(bearing)])
    )
    x[:2] += s * along_a
    y[:2] -= t * along_b
    p, q = without_contact._face_to_face(pair, tuple_of(n), tuple_of(x), tuple_of(y), 1e-10)
    assert across(np.array(p), np.array(q), n) <= 1e-10
    assert level(rod, p) < 1.0 + 1e-9 and level(rod, pair.rotation.T @ (q - np.array(pair.centre))) < 1.0 + 1e-9


def test_moved_points_lie_on_the_surfaces_and_span_the_distance():
    a, b = (
        Superovoid((1.0, 0.8, 0.9), section_exponent=0.9, profile_exponent=0.8),
        Superovoid((0.7, 1.1, 0.6), section_exponent=0.8, profile_exponent=0.9),
    )
    pair = pair_of(a, b, Rotation.from_rotvec([0.3, -0.5, 0.2]).as_matrix(), (0.0, 0.0, 2.5))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = pair.rotation, pair.centre
    closest = distance(a, np.eye(4), b, pose)
    x, y, n = closest.point_a, closest.point_b, closest.normal
    n = tilted(n, np.cross(n, [1.0, 0.0, 0.0]) / np.linalg.norm(np.cross(n, [1.0, 0.0, 0.0])), 2e-5)
    length, goal = float(np.linalg.norm(y - x)), 1e-7
    lower = length - 0.5 * goal
    assert across(x, y, n) > 5.0 * goal
    moved = without_contact.facing(pair, answer_of(pair, x, y, n, lower, length + 1e-12), goal)
    assert moved.status == NON_UNIQUE and moved.upper - moved.lower <= goal
    p, q = points_of(pair, moved)
    assert across(p, q, moved.n) <= 5.0 * goal
    assert np.linalg.norm(q - p) == pytest.approx(moved.distance, abs=1e-14)
    assert not np.array_equal(p, x)
    assert level(a, p) == pytest.approx(1.0, abs=1e-12)
    assert level(b, moved.y) == pytest.approx(1.0, abs=1e-12)


def test_the_direction_of_points_that_cannot_move_is_their_normal():
    """Two tips: many directions prove their distance, of which one is that of the points."""
    tip = Superovoid((0.3, 0.3, 1.0), section_exponent=1.0, profile_exponent=1.99)
    pair = pair_of(tip, tip, np.eye(3), (0.0, 0.0, 3.0))
    x, y = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 2.0])
    n = tilted([0.0, 0.0, 1.0], [0.6, 0.8, 0.0], 1e-6)
    answer = without_contact.facing(pair, answer_of(pair, x, y, n, 1.0 - 1e-12, 1.0 + 1e-12), 1e-9)
    assert answer.status == NON_UNIQUE
    assert np.allclose(answer.n, [0.0, 0.0, 1.0], rtol=0.0, atol=1e-15)
    assert answer.upper - answer.lower <= 1e-9


def test_points_that_face_each_other_farther_apart_than_is_proved_leave_an_answer_open():
    """Two balls half a metre apart, of which an interval says less: what a step finds is held against that, too."""
    ball = Superovoid((1.0, 1.0, 1.0), section_exponent=1.0, profile_exponent=1.0)
    pair = pair_of(ball, ball, np.eye(3), (0.0, 0.0, 2.5))
    n = np.array([0.0, 0.0, 1.0])
    x, y = tilted(n, [1.0, 0.0, 0.0], 1e-3), np.array(pair.centre) - tilted(n, [0.9, 0.1, 0.0], 1e-3)
    answer = without_contact.facing(pair, answer_of(pair, x, y, n, 0.49, 0.49 + 1e-9), 1e-8)
    assert answer.status & int(Status.UNPROVEN)
    assert answer.lower == 0.49 and answer.upper > 0.5


def test_two_answers_prove_together_the_better_end_of_each():
    """Points of one, the lower end and the normal of the other; nothing where neither proves the bodies to be apart."""
    ball = Superovoid((1.0, 1.0, 1.0), section_exponent=1.0, profile_exponent=1.0)
    pair = pair_of(ball, ball, np.eye(3), (0.0, 0.0, 2.5))
    n = np.array([0.0, 0.0, 1.0])
    beside = tilted(n, [1.0, 0.0, 0.0], 0.01)

    def found(x, y, normal, lower):
        return answer_of(pair, x, y, normal, lower, float(np.linalg.norm(y - x)) + 1e-13)

    far = tilted(n, [1.0, 0.0, 0.0], 0.3)
    proved = found(far, np.array(pair.centre) - n, n, 0.5 - 1e-7)
    near = found(beside, np.array(pair.centre) - n, tilted(n, [0.0, 1.0, 0.0], 0.02), 0.49)
    for one, other in ((proved, near), (near, proved)):
        answer = without_contact.together(pair, one, other, 1e-9)
        assert answer.lower == proved.lower and answer.n == proved.n
        assert answer.upper == near.upper and answer.x == near.x and answer.y == near.y
        assert answer.distance == pytest.approx(near.upper - 1e-13, abs=1e-15)
        assert answer.status == NON_UNIQUE | int(Status.UNPROVEN)
    closed = without_contact.together(pair, proved, found(n, np.array(pair.centre) - n, beside, 0.49), 1e-6)
    assert closed.status == NON_UNIQUE
    unknown = found(far, np.array(pair.centre) - far, n, -0.1)
    assert without_contact.together(pair, unknown, near._replace(lower=-0.2), 1e-9) == near._replace(lower=-0.2)
