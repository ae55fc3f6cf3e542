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
def states():
    """Three states, of two responses; the second knows the bodies by other numbers."""
    one = response([0, 2, 2], ["a", "b", "c"], [0, 0], [1, 2], [-0.1, 0.2], [0, 5])
    other = response([0, 2], ["c", "a"], [1, 0], [0, 1], [0.3, 0.4])
    return join_responses([one, other], "")


def test_rows_masks_and_slices_are_those_of_all_results(states):
    assert isinstance(states, ResultTable) and len(states) == 4
    row = states[1]
    assert isinstance(row, DistanceRow) and (row.name_a, row.name_b, row.link_b) == ("a", "c", "c_link")
    assert row.status == Status.UNPROVEN | Status.NON_UNIQUE and not row.certified and not row.differentiable
    near = states[states.certified & (states.distance < 0.35)]
    assert isinstance(near, Distances) and near.distance.tolist() == [-0.1, 0.3]
    assert near.first.tolist() == [0, 1, 1, 2] and near.state.tolist() == [0, 2] and near.done == states.done
    np.testing.assert_array_equal(near.gradients, [(0.0, 1.0), (0.0, 1.0)])
    assert states[:0].closest.tolist() == [np.inf] * 3
    assert states.of_state(2).distance.tolist() == [0.3, 0.4] and len(states.of_state(1)) == 0
    for ask, words in ((lambda: states[[3, 0]], "order of the states"), (lambda: states.of_state(3), "3 states were")):
        with pytest.raises(IndexError, match=words):
            ask()
    assert pickle.loads(pickle.dumps(states)) == states and states[:3] != states
    plain = json.loads(json.dumps(states.to_dict()))
    assert plain["distance"] == states.distance.tolist() and plain["status"][1] == "UNPROVEN|NON_UNIQUE"
    assert plain["name_b"] == states.name_b.tolist() and plain["state"] == [0, 0, 2, 2] and plain["frame"] == "root"
