# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""CasADi: values and Jacobians of one and many states, and an optimisation that ends clear of a wall."""

import shutil
import subprocess
from pathlib import Path

import bridged
import numpy as np
import panda
import pytest

from superovoid import Box, Superovoid
from superovoid.bridging import PairFunction
from superovoid.cli.prefix import PREFIX
from superovoid.scene import Scene
from superovoid.states import state_distances

casadi = pytest.importorskip("casadi")
from superovoid.casadi import StateDistances  # noqa: E402

SOURCE = Path(__file__).resolve().parents[3] / "examples" / "c" / "casadi_pair.c"


def test_values_are_those_of_the_engine_and_jacobians_those_of_differences():
    positions, bases = bridged.states(np.random.default_rng(12), 3)
    robot = bridged.robot()
    ask = StateDistances("distances", robot, states=3, base_poses={"ball": bases[0]})
    found = np.array(ask(positions.T))
    expected = state_distances(robot, robot.scene(), positions, base_poses={"ball": bases[0]})
    assert found.shape == (len(ask.pairs), 3)
    for state in range(3):
        rows = expected.of_state(state)
        pairs = np.column_stack([rows.body_a, rows.body_b])
        order = [int(np.flatnonzero((ask.pairs == pair).all(axis=1))[0]) for pair in pairs]
        assert np.abs(found[order, state] - rows.distance).max() <= 1e-12
    q = casadi.MX.sym("q", 2, 3)
    jacobian = casadi.Function("jacobian", [q], [casadi.jacobian(ask(q), q)])
    slopes = np.array(jacobian(positions.T).full())
    for column in range(6):
        step = np.zeros(6)
        step[column] = 1e-5
        step = step.reshape(3, 2).T  # by columns
        change = (np.array(ask(positions.T + step)) - np.array(ask(positions.T - step))) / 2e-5
        assert np.abs(change.T.ravel() - slopes[:, column]).max() < 1e-6
    assert jacobian.sparsity_out(0).nnz() == 3 * len(ask.pairs) * 2


def test_second_derivatives_are_differences_of_the_first():
    positions, bases = bridged.states(np.random.default_rng(12), 2)
    ask = StateDistances("distances", bridged.robot(), states=2, base_poses={"ball": bases[0]})
    q, weights = casadi.MX.sym("q", 2, 2), casadi.MX.sym("weights", len(ask.pairs), 2)
    hessian, gradient = casadi.hessian(casadi.sum1(casadi.vec(weights * casadi.sin(ask(q)))), q)
    both = casadi.Function("both", [q, weights], [hessian, gradient])
    given = np.random.default_rng(1).standard_normal((len(ask.pairs), 2))
    found = np.array(both(positions.T, given)[0])
    assert np.abs(found).max() > 0.1
    for column in range(4):
        step = np.zeros(4)
        step[column] = 1e-5
        step = step.reshape(2, 2).T
        ends = [np.array(both(positions.T + way * step, given)[1]) for way in (1.0, -1.0)]
        assert np.abs((ends[0] - ends[1]).T.ravel() / 2e-5 - found[:, column]).max() < 1e-4


def test_a_fraction_of_states_is_refused_by_name():
    with pytest.raises(ValueError, match=r"states = 2.5: must be an integer of at least 1"):
        StateDistances("distances", bridged.robot_without_base(), states=2.5)


@pytest.mark.parametrize("hessian", ["limited-memory", "exact"])
def test_ipopt_keeps_an_arm_clear_of_a_wall(hessian):
    robot, wall = panda.robot(), panda.wall()
    scene = Scene([*robot.bodies, wall], [(i, len(robot.bodies)) for i in range(4, len(robot.bodies))])
    scene.set_link_pose("wall", np.eye(4))
    ask = StateDistances("distances", robot, scene, max_distance=0.3)
    wanted = np.array([*panda.READY, 0.03])
    wanted[[1, 3]] = 0.3, -1.6  # through the wall
    assert np.array(ask(wanted)).min() < 0.0
    problem = casadi.Opti()
    q = problem.variable(len(robot.joint_names))
    problem.minimize(casadi.sumsqr(q - wanted))
    problem.subject_to(ask(q) >= 0.01)
    lower, upper = np.array([robot.joint_limits[name] for name in robot.joint_names]).T
    problem.subject_to(problem.bounded(lower, q, upper))
    problem.set_initial(q, np.array([1.0, *panda.READY[1:], 0.03]))
    options = {"print_level": 0, "hessian_approximation": hessian, "max_iter": 200}
    problem.solver("ipopt", {"print_time": False}, options)
    best = problem.solve().value(q)
    assert state_distances(robot, scene, best[None]).closest[0] >= 0.01 - 1e-6


@pytest.mark.skipif(not SOURCE.is_file() or shutil.which("cc") is None, reason="needs the repository and a C compiler")
def test_a_c_function_repeats_distances_and_jacobians_of_the_engine(tmp_path):
    library = tmp_path / "casadi_pair.so"
    flags = [f"-I{PREFIX}/include", f"-L{PREFIX}/lib", "-lsuperovoid", f"-Wl,-rpath,{PREFIX}/lib", "-o", library]
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", SOURCE, *flags], check=True)
    ask = casadi.external("distance", str(library))
    derive = ask.jacobian()
    function = PairFunction(bridged.shape(Superovoid), Box((0.2, 0.3, 0.4)))
    for pose in bridged.random_poses(np.random.default_rng(12), 5, reach=0.8):
        expected = function(np.eye(4), pose)
        assert abs(float(ask(pose)) - expected.distance) <= 1e-12
        found = np.array(derive(pose, 0.0)).reshape(4, 4).T
        assert np.abs(found - expected.jacobians[1]).max() <= 1e-9
