# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`Distances`, the client's answer: rows, masks, names, words, tables, as other results have them."""

import json
import pickle

import numpy as np
import pytest
from superovoid_interfaces.srv import GetDistances

from superovoid import Status
from superovoid.values.records import ResultTable
from superovoid_ros.client import Distances
from superovoid_ros.nodes.common.questions import DistanceRow, join_responses


def response(first, bodies, body_a, body_b, distance, status=(), stale=False):
    count = len(distance)
    made = GetDistances.Response(success=True, states=len(first) - 1, stale=stale)
    made.header.frame_id = "root"
    made.header.stamp.sec = 7
    made.first, made.bodies, made.body_links = list(first), list(bodies), [f"{body}_link" for body in bodies]
    made.body_a, made.body_b = list(body_a), list(body_b)
    made.distance = made.lower = made.upper = list(distance)
    made.status = list(status) or [0] * count
    made.point_a, made.point_b = [0.5] * (3 * count), [1.0] * (3 * count)
    made.normal = [1.0, 0.0, 0.0] * count
    made.gradient_joints, made.gradients = ["turn", "slide"], [float(i) for i in range(2 * count)]
    return made


@pytest.fixture
def found():
    """Three states, of two responses; the second knows the bodies by other numbers."""
    one = response([0, 2, 2], ["a", "b", "c"], [0, 0], [1, 2], [-0.1, 0.2], [0, 5])
    other = response([0, 2], ["c", "a"], [1, 0], [0, 1], [0.3, 0.4])
    return join_responses([one, other], "")


def test_rows_masks_and_slices_are_those_of_all_results(found):
    assert isinstance(found, ResultTable) and len(found) == 4
    row = found[1]
    assert isinstance(row, DistanceRow) and (row.name_a, row.name_b, row.link_b) == ("a", "c", "c_link")
    assert row.status == Status.UNPROVEN | Status.NON_UNIQUE and not row.certified and not row.differentiable
    assert [each.distance for each in found] == found.distance.tolist() and found[-1].name_a == "c"
    near = found[found.certified & (found.distance < 0.35)]
    assert isinstance(near, Distances) and near.distance.tolist() == [-0.1, 0.3]
    assert near.first.tolist() == [0, 1, 1, 2] and near.state.tolist() == [0, 2] and near.done == found.done
    np.testing.assert_array_equal(near.gradients, [(0.0, 1.0), (0.0, 1.0)])
    assert len(found[:0]) == 0 and found[:0].closest.tolist() == [np.inf] * 3
    with pytest.raises(IndexError, match="order of the states"):
        found[[3, 0]]
    assert found.of_state(2).distance.tolist() == [0.3, 0.4] and len(found.of_state(1)) == 0
    for state in (-1, 3):
        with pytest.raises(IndexError, match="3 states were answered"):
            found.of_state(state)


def test_answers_compare_pickle_and_become_plain_python(found):
    assert pickle.loads(pickle.dumps(found)) == found and found[:3] != found and found != "text"
    assert found[0] == found[:1][0] and found[0] != found[1]
    with pytest.raises(TypeError, match="unhashable"):
        hash(found)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["distance"] == found.distance.tolist() and plain["status"][1] == "UNPROVEN|NON_UNIQUE"
    assert plain["name_b"] == found.name_b.tolist() and plain["state"] == [0, 0, 2, 2] and plain["frame"] == "root"
    assert json.loads(json.dumps(found[1].to_dict()))["status"] == "UNPROVEN|NON_UNIQUE"
