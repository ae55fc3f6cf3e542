# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""JAX: values of the engine under jit and vmap, derivatives of both modes and differences agree."""

import gc
import threading

import bridged
import numpy as np
import pytest

import superovoid
from superovoid import Box, Sphere, Superovoid
from superovoid.bridging import PairFunction, Shapes, StateFunction

jax = pytest.importorskip("jax")
from superovoid import jax as bridge  # noqa: E402


@pytest.fixture(autouse=True)
def _in_double_precision():
    with jax.enable_x64(True):
        yield


def test_values_are_those_of_the_engine_under_jit_and_vmap():
    poses = bridged.random_poses(np.random.default_rng(6), 3, 9, reach=0.9)
    bodies = [bridged.shape(kind) for kind in bridged.PARAMETERS]

    def ask(pose):
        return bridge.distances(Sphere(0.2), np.eye(4), bodies, pose)

    expected = superovoid.distances(Sphere(0.2), np.eye(4), bodies, poses[1])
    for found in (ask(poses), jax.jit(ask)(poses), jax.vmap(ask)(poses), jax.jit(jax.vmap(ask))(poses)):
        for name in ("distance", "point_a", "point_b", "normal", "status", "differentiable"):
            assert np.array_equal(getattr(found, name)[1], getattr(expected, name)), name


@pytest.mark.parametrize("kind", bridged.PARAMETERS, ids=lambda kind: kind.__name__)
def test_both_modes_have_the_jacobians_of_the_shared_functions(kind):
    egg, values = bridged.shape(Superovoid), np.array(bridged.PARAMETERS[kind])
    pose = bridged.random_poses(np.random.default_rng(7), reach=1.1)
    _, _, expected = PairFunction(egg, Shapes(kind, None))(np.eye(4), pose, values).jacobians

    def ask(parameters):
        return bridge.distances(egg, np.eye(4), Shapes(kind, parameters), pose).distance

    for derive in (jax.grad, jax.jacfwd, jax.jacrev):
        assert np.abs(jax.jit(derive(ask))(values) - expected).max() <= 1e-12
    assert np.abs(jax.vmap(jax.grad(ask))(np.stack([values] * 2)) - expected).max() <= 1e-12


def test_gradients_by_joints_and_bases_of_states_are_those_of_differences():
    positions, bases = bridged.states(np.random.default_rng(8), 3)
    ask, function = bridge.StateDistances(bridged.robot()), StateFunction(bridged.robot())
    found = jax.jit(jax.vmap(jax.jacrev(lambda q, base: ask(q, {"ball": base}).distance, (0, 1))))(positions, bases)
    expected = function(positions[:, None], bases[:, None, None]).jacobians
    assert np.abs(found[0] - expected[0]).max() <= 1e-12
    assert np.abs(found[1] - expected[1][:, :, 0]).max() <= 1e-12
    steps = 1e-5 * np.eye(2)
    ends = [ask(positions[:, None] + sign * steps, {"ball": bases[:, None]}).distance for sign in (1.0, -1.0)]
    assert np.abs((ends[0] - ends[1]).swapaxes(1, 2) / 2e-5 - found[0]).max() < 1e-6


def test_single_precision_comes_back_in_single_precision():
    with jax.enable_x64(False):
        pose = np.eye(4)
        pose[0, 3] = 3.0
        found = bridge.distances(Sphere(1.0), np.eye(4), Box((1.0, 1.0, 1.0)), pose)
        assert found.distance.dtype == np.float32 and float(found.distance) == 1.5


def test_second_derivatives_by_joints_are_those_of_the_robot():
    robot, positions = bridged.robot_without_base(), np.array([[0.3, -0.5], [0.8, 0.6]])
    ask = bridge.StateDistances(robot)
    found = jax.jit(jax.vmap(jax.hessian(lambda q: ask(q).distance)))(positions)
    assert np.abs(found).max() > 0.1
    assert np.abs(found - StateFunction(robot).hessians(positions[:, None])).max() <= 1e-12
    for other in (jax.jacfwd(jax.jacfwd(lambda q: ask(q).distance)), jax.jacrev(jax.jacrev(lambda q: ask(q).distance))):
        assert np.abs(other(positions[0]) - found[0]).max() <= 1e-12


def test_other_second_derivatives_are_an_error():
    def distance(height):
        pose = jax.numpy.eye(4).at[2, 3].set(height)
        return bridge.distances(Sphere(1.0), jax.numpy.eye(4), Sphere(0.5), pose).distance

    with pytest.raises(NotImplementedError, match="second derivatives"):
        jax.hessian(distance)(3.0)


def test_a_callback_has_the_values_of_the_foreign_function_interface(monkeypatch):
    pose, egg = bridged.random_poses(np.random.default_rng(9), 4), bridged.shape(Superovoid)

    def ask(pose):
        return bridge.distances(egg, np.eye(4), Box((1.0, 1.0, 1.0)), pose).distance.sum()

    expected = jax.jit(jax.value_and_grad(ask))(pose)
    monkeypatch.setattr(bridge, "_is_handled", lambda: False)
    found = jax.jit(jax.value_and_grad(lambda pose: ask(pose)))(pose)
    assert found[0] == expected[0] and np.array_equal(found[1], expected[1])


def test_errors_of_the_engine_are_errors_of_jax():
    def ask(pose):
        return bridge.distances(Sphere(1.0), np.eye(4), Sphere(1.0), pose).distance

    for call, kinds in ((ask, ValueError), (jax.jit(ask), (ValueError, RuntimeError))):
        with pytest.raises(kinds, match="pose_b"):
            call(2.0 * np.eye(4))
    assert jax.jit(ask)(np.empty((0, 4, 4))).shape == (0,)


@pytest.mark.parametrize("kind", [bool, complex])
def test_other_types_are_refused(kind):
    def ask(pose):
        return bridge.distances(Sphere(1.0), pose, Sphere(1.0), np.eye(4)).distance

    for call in (ask, jax.jit(ask)):
        with pytest.raises(TypeError, match="pose_a: must be real numbers, found"):
            call(np.eye(4).astype(kind))
    with pytest.raises(TypeError, match="positions: must be real numbers, found bool"):
        bridge.StateDistances(bridged.robot())(np.zeros(2, dtype=bool), {"ball": np.eye(4)})
    with pytest.raises(TypeError, match="pose_a: must be real numbers, found None"):
        ask(None)


@pytest.mark.parametrize("kind", [np.int8, np.uint32, np.float16, np.float32])
def test_numbers_of_other_types_are_converted(kind):
    pose = np.eye(4)
    pose[0, 3] = 3.0
    for call in (lambda f: f, jax.jit):
        ask = call(lambda pose: bridge.distances(Sphere(1.0), np.eye(4), Sphere(0.5), pose).distance)
        assert ask(pose.astype(kind)) == 1.5


def test_inputs_without_c_order_have_the_same_distances():
    poses = bridged.random_poses(np.random.default_rng(12), 5, reach=2.0)
    ask = jax.jit(lambda pose: bridge.distances(Sphere(1.0), np.eye(4), bridged.shape(Superovoid), pose).distance)
    expected = superovoid.distances(Sphere(1.0), np.eye(4), bridged.shape(Superovoid), poses).distance
    turned = jax.jit(lambda pose: bridge.distances(Sphere(1.0), np.eye(4), bridged.shape(Superovoid), pose.T).distance)
    assert np.array_equal(ask(np.asfortranarray(poses)), expected)
    assert np.array_equal(ask(np.repeat(poses, 2, axis=0)[::2]), expected)
    assert turned(poses[2].T) == expected[2]


def test_a_compiled_program_keeps_its_engine_and_releases_it():
    def program(radius, pose):
        return jax.jit(lambda pose: bridge.distances(Sphere(radius), np.eye(4), Sphere(0.5), pose).distance)

    gc.collect()
    before, pose = len(bridge._CALLS), np.eye(4)
    pose[0, 3] = 3.0
    compiled = program(1.0, pose).lower(pose).compile()
    called = program(0.75, pose)
    assert called(pose) == 1.75
    for _ in range(20):
        program(0.5, pose)(pose)
    gc.collect()
    assert compiled(pose) == 1.5 and called(pose) == 1.75
    assert len(bridge._CALLS) == before + 2
    jax.clear_caches()
    assert compiled(pose) == 1.5 and called(pose) == 1.75
    del compiled, called
    jax.clear_caches()
    gc.collect()
    assert len(bridge._CALLS) <= before


def test_threads_that_share_a_program_have_the_same_distances():
    bodies = [bridged.shape(kind) for kind in bridged.PARAMETERS]
    ask = jax.jit(lambda pose: bridge.distances(bodies, np.eye(4), Sphere(0.1), pose).distance)
    rng = np.random.default_rng(13)
    poses = [bridged.random_poses(rng, *batch, 9) for batch in ((), (2,), (1, 3), (), (2,), (4,))]
    flat = [each.reshape(-1, 4, 4) for each in poses]
    expected = [superovoid.distances(bodies * (len(each) // 9), np.eye(4), Sphere(0.1), each).distance for each in flat]
    found = [[] for _ in poses]

    def work(i):
        with jax.enable_x64(True):  # each thread has its own mode
            for _ in range(30):
                found[i].append(np.asarray(ask(poses[i])).ravel())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(poses))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(each, expected[i]) for i in range(len(poses)) for each in found[i])
    assert all(len(each) == 30 for each in found)
