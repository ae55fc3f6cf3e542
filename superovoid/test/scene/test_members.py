# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies, their rows and gaps, against a list in which nothing stands where a body was."""

import numpy as np
import pytest

from superovoid import Body
from superovoid.scene.members import Members
from superovoid.shapes import Sphere

BALL = Sphere(1.0)


def body(name):
    return Body(name, "link", BALL)


def check(members, rows):
    """Bodies, rows, indices and gaps are those of a list of bodies and None."""
    present = [(row, each) for row, each in enumerate(rows) if each is not None]
    assert members.bodies == tuple(each for _, each in present)
    assert (len(members), members.row_count) == (len(present), len(rows))
    assert members.gaps.tolist() == [row for row, each in enumerate(rows) if each is None]
    assert [members.row_of(each.name) for _, each in present] == [row for row, _ in present]
    assert members.indices(np.array([row for row, _ in present], dtype=np.int64)).tolist() == list(range(len(present)))
    assert all(members[index] == each for index, (_, each) in enumerate(present))


@pytest.mark.parametrize("seed", range(3))
def test_whatever_comes_and_goes_rows_are_those_of_a_list_with_holes(seed):
    rng = np.random.default_rng(seed)
    rows = [body(f"b{i}") for i in range(6)]
    members, held = Members(rows), []
    for step in range(200):
        what, present = rng.random(), [row for row, each in enumerate(rows) if each is not None]
        if what < 0.45 and present:
            row = int(rng.choice(present))
            members.leave_gap(rows[row].name)
            rows[row] = None
        elif what < 0.8:
            new = members.checked([body(f"n{step}_{i}") for i in range(int(rng.integers(3)))])
            members.add(new)
            rows.extend(new)
        elif what < 0.9:
            moved = members.close_gaps().tolist()
            after = [each for each in rows if each is not None]
            assert moved == [-1 if each is None else after.index(each) for each in rows]
            rows = after
            if rows:
                index = int(rng.integers(len(rows)))
                rows[index] = Body(rows[index].name, "other link", BALL)
                members.exchange(index, rows[index])
        else:
            held.append((members.copy(), list(rows)))
        check(members, rows)
    for each, then in held:
        check(each, then)


def test_a_name_that_is_taken_or_unknown_is_refused_and_nothing_changes():
    members = Members([body("a"), body("b")])
    members.leave_gap("a")
    for bodies, found in (([body("b")], "'b' occurs 2"), ([body("a"), body("a")], "'a' occurs 2")):
        with pytest.raises(ValueError, match=found):
            members.checked(bodies)
    with pytest.raises(TypeError, match="bodies: must be of type Body, found 'b'"):
        members.checked(["b"])
    with pytest.raises(ValueError, match="name = 'a': no body has it; bodies: 'b'"):
        members.leave_gap("a")
    check(members, [None, body("b")])
    members.add(members.checked([body("a")]))
    assert members.row_of("a") == 2
