# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Mink: rows of the limit are derivatives of distances; inverse kinematics with it keeps clear of a ball."""

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
mink = pytest.importorskip("mink")
from superovoid.mink import DistanceLimit  # noqa: E402
from superovoid.mujoco import collision_pairs, geom_distance  # noqa: E402

LINK = '<geom type="capsule" fromto="0 0 0.05 0 0 0.35" size="0.05"/>'
ARM = f"""<mujoco><worldbody><geom type="ellipsoid" size="0.15 0.1 0.12" pos="0.45 0 0.7"/>
  <geom type="plane" size="2 2 1" pos="0 0 -0.2"/>
  <body><joint axis="0 0 1"/>{LINK}<body pos="0 0 0.4"><joint axis="0 1 0"/>{LINK}
  <body pos="0 0 0.4"><joint axis="0 1 0"/>{LINK}</body></body></body></worldbody></mujoco>"""


def distances(model, data, pairs):
    return np.array([geom_distance(model, data, *pair, 10.0) for pair in pairs.tolist()])


def test_rows_are_derivatives_of_distances():
    model = mujoco.MjModel.from_xml_string(ARM)
    configuration, pairs = mink.Configuration(model), collision_pairs(model)
    limit = DistanceLimit(model, margin=0.01, max_distance=10.0, gain=0.5)
    rng, step = np.random.default_rng(1), 1e-5
    for _ in range(3):
        q = rng.uniform(-1.2, 1.2, model.nq)
        configuration.update(q)
        constraint = limit.compute_qp_inequalities(configuration, 0.01)
        here = distances(model, configuration.data, pairs)
        order = np.argsort(here)  # the limit has the closest pair first
        assert constraint.h == pytest.approx(0.5 * (here[order] - 0.01), abs=1e-9)
        for joint in range(model.nv):
            ends = []
            for way in (step, -step):
                configuration.update(q + way * np.eye(model.nv)[joint])
                ends.append(distances(model, configuration.data, pairs)[order])
            assert (ends[0] - ends[1]) / (2.0 * step) == pytest.approx(-constraint.G[:, joint], abs=1e-4)


def test_distant_pairs_are_left_out():
    model = mujoco.MjModel.from_xml_string(ARM)
    limit = DistanceLimit(model, max_distance=1e-3)
    assert limit.compute_qp_inequalities(mink.Configuration(model), 0.01).inactive


def test_inverse_kinematics_keeps_clear_of_the_ball():
    model = mujoco.MjModel.from_xml_string(ARM)
    least, pairs = [], collision_pairs(model)
    for limits in ([], [DistanceLimit(model, margin=0.03)]):
        configuration = mink.Configuration(model, np.array([-0.9, 1.1, 0.3]))
        task = mink.PostureTask(model, cost=1.0, gain=0.05)
        task.set_target(np.array([0.9, 1.1, 0.3]))
        found = []
        for _ in range(80):
            v = mink.solve_ik(configuration, [task], 0.01, solver="daqp", limits=limits)
            configuration.integrate_inplace(v, 0.01)
            found.append(distances(model, configuration.data, pairs).min())
        least.append(min(found))
    assert least[0] < 0.0 and least[1] > 0.029


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": [(0, -1)]}, r"pairs: indices must be in \[0, 5\), found -1 to 0"),
        ({"pairs": [(0, 5)]}, r"pairs: indices must be in \[0, 5\), found 0 to 5"),
        ({"pairs": [(0, 2.7)]}, "pairs: must be integers"),
        ({"margin": float("nan")}, "margin = nan: must be a finite number"),
        ({"gain": 1.5}, r"gain = 1.5: must be in \(0, 1\]"),
        ({"max_distance": float("nan")}, "max_distance = nan: must be a number"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        DistanceLimit(mujoco.MjModel.from_xml_string(ARM), **arguments)
