# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""PyTorch: values of the engine, gradients by autograd's own check, batches, devices and types."""

import bridged
import numpy as np
import pytest

import superovoid
from superovoid import Sphere
from superovoid.bridging import Shapes

torch = pytest.importorskip("torch")
from superovoid import torch as bridge  # noqa: E402


def tensor(values, needs_gradient=False):
    return torch.tensor(np.array(values), dtype=torch.float64, requires_grad=needs_gradient)


def pose_of(twist):
    """Return the exponential of twists (n, 6)."""
    x, y, z = twist[:, 3:].unbind(1)
    zero = torch.zeros_like(x)
    rows = [(zero, -z, y, twist[:, 0]), (z, zero, -x, twist[:, 1]), (-y, x, zero, twist[:, 2]), (zero,) * 4]
    return torch.linalg.matrix_exp(torch.stack([torch.stack(row, -1) for row in rows], -2))


@pytest.mark.parametrize("kinds", bridged.KIND_PAIRS, ids=lambda kinds: "-".join(kind.__name__ for kind in kinds))
def test_gradients_by_poses_and_parameters_of_all_kinds(kinds):
    rng = np.random.default_rng(5)
    twists = [tensor(rng.standard_normal((2, 6)), True) for _ in kinds]
    parameters = [tensor(bridged.PARAMETERS[kind], True) for kind in kinds]
    reach = tensor([[0.3], [1.5]])  # one overlapping pair, one apart

    def ask(twist_a, twist_b, *values):
        linear = reach * twist_b[:, :3] / twist_b[:, :3].norm(dim=1, keepdim=True)
        pose_a = pose_of(torch.cat([0.02 * twist_a[:, :3], twist_a[:, 3:]], 1))
        shapes = [Shapes(kind, each) for kind, each in zip(kinds, values, strict=True)]
        return bridge.distances(shapes[0], pose_a, shapes[1], pose_of(torch.cat([linear, twist_b[:, 3:]], 1)))

    inputs = (*twists, *parameters)
    regular = ask(*inputs).differentiable
    assert regular.any()
    assert torch.autograd.gradcheck(lambda *x: ask(*x).distance[regular], inputs, eps=1e-4, atol=2e-4, fast_mode=True)


def test_values_are_those_of_the_engine_in_any_batch_and_threads():
    rng = np.random.default_rng(6)
    poses = bridged.random_poses(rng, 3, 9, reach=0.9)
    bodies = [bridged.shape(kind) for kind in bridged.PARAMETERS]
    found = [bridge.distances(Sphere(0.2), tensor(np.eye(4)), bodies, tensor(poses), threads=n) for n in (1, 2)]
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))
    expected = superovoid.distances(Sphere(0.2), np.eye(4), bodies, poses[1])
    for name in ("distance", "point_a", "point_b", "normal", "status", "differentiable"):
        assert np.array_equal(getattr(found[0], name)[1].numpy(), getattr(expected, name)), name


def test_gradients_by_joints_and_bases_of_states():
    rng, robot = np.random.default_rng(7), bridged.robot()
    positions, bases = bridged.states(rng, 3)
    ask = bridge.StateDistances(robot)
    twists = tensor(rng.standard_normal((3, 6)), True)
    assert torch.autograd.gradcheck(
        lambda q, t: ask(q, {"ball": tensor(bases) @ pose_of(t)}).distance,
        (tensor(positions, True), twists),
        eps=1e-4,
        atol=1e-5,
    )
    assert ask(tensor(positions[0]), {"ball": tensor(bases[0])}).distance.shape == (len(ask.pairs),)


def test_gradients_add_up_over_broadcast_inputs():
    pose = tensor(bridged.random_poses(np.random.default_rng(8), 5, reach=3.0))
    radius = tensor([0.5], True)
    bridge.distances(Shapes(Sphere, radius), tensor(np.eye(4)), Sphere(0.1), pose).distance.sum().backward()
    assert radius.grad.tolist() == pytest.approx([-5.0])


def test_a_mask_marks_one_sided_gradients():
    found = bridge.distances(Sphere(1.0), tensor(np.eye(4)), Sphere(0.5), tensor(np.eye(4)))
    assert not found.differentiable and int(found.status) & superovoid.Status.ARBITRARY_NORMAL


def test_arrays_come_in_by_dlpack_and_go_out_by_it():
    pose = bridged.random_poses(np.random.default_rng(9), 2, reach=2.0)
    given = torch.from_dlpack(pose)
    assert given.data_ptr() == pose.ctypes.data
    found = bridge.distances(Sphere(1.0), np.eye(4), Sphere(0.5), pose)
    assert np.from_dlpack(found.distance).ctypes.data == found.distance.data_ptr()


def test_single_precision_comes_back_in_single_precision():
    pose = torch.eye(4).repeat(2, 1, 1)
    pose[:, 0, 3] = torch.tensor([3.0, 4.0])
    pose.requires_grad_()
    found = bridge.distances(Sphere(1.0), torch.eye(4), Sphere(0.5), pose)
    assert found.distance.dtype == torch.float32 and found.status.dtype == torch.uint8
    found.distance.sum().backward()
    assert pose.grad[:, :3, 3].tolist() == [[1.0, 0.0, 0.0]] * 2


def test_second_derivatives_by_joints_are_those_of_differences():
    ask = bridge.StateDistances(bridged.robot_without_base())
    positions = tensor([[0.3, -0.5], [0.8, 0.6]], True)
    assert torch.autograd.gradgradcheck(lambda q: ask(q).distance, positions, eps=1e-5, atol=1e-5)


def test_other_second_derivatives_are_an_error():
    pose = tensor(bridged.random_poses(np.random.default_rng(10), reach=3.0), True)
    distance = bridge.distances(Sphere(1.0), tensor(np.eye(4)), Sphere(0.5), pose).distance
    (gradient,) = torch.autograd.grad(distance, pose, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives exist for robots without"):
        torch.autograd.grad(gradient.sum(), pose)


BOX_FROM_ROD = bridged.shape(superovoid.Box), bridged.shape(superovoid.Capsule)


def box_from_rod(pose):
    """Return distances of a box at the origin from a capsule."""
    return bridge.distances(BOX_FROM_ROD[0], tensor(np.eye(4)), BOX_FROM_ROD[1], pose).distance


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.jacrev, torch.func.jacfwd])
def test_transforms_have_the_gradient_of_backward(transform):
    poses = tensor(bridged.random_poses(np.random.default_rng(12), 4, reach=3.0), True)
    box_from_rod(poses).sum().backward()
    mapped = torch.vmap(transform(box_from_rod))(poses.detach())
    torch.testing.assert_close(mapped, poses.grad, rtol=0.0, atol=1e-12)
    rates = torch.func.jvp(box_from_rod, (poses.detach(),), (torch.ones_like(poses),))[1]
    torch.testing.assert_close(rates, poses.grad.sum((1, 2)), rtol=0.0, atol=1e-12)


def test_mapped_axes_are_batch_axes_of_any_input():
    rng = np.random.default_rng(13)
    poses, radii = tensor(bridged.random_poses(rng, 3, 2, reach=3.0)), tensor(rng.uniform(0.1, 0.3, (4, 1)))
    bodies = [bridged.shape(superovoid.Box), bridged.shape(superovoid.Torus)]

    def ask(radius, pose):
        return bridge.distances(Shapes(Sphere, radius), pose, bodies, tensor(np.eye(4)))

    expected = ask(radii[:, None, None], poses)
    mapped = torch.vmap(torch.vmap(ask, in_dims=(None, 0)), in_dims=(0, None))(radii, poses)
    last = torch.vmap(ask, in_dims=(1, None), out_dims=1)(radii.T, poses[0])
    for one, two in zip(mapped, expected, strict=True):
        assert torch.equal(one, two)
    assert torch.equal(last.distance.T, expected.distance[:, 0])


def test_transforms_have_the_second_derivatives_by_joints():
    ask = bridge.StateDistances(bridged.robot_without_base())
    positions = tensor([[0.3, -0.5], [0.8, 0.6]])

    def total(state):
        return (ask(state).distance ** 2).sum()

    known = torch.stack([torch.autograd.functional.hessian(total, each) for each in positions])
    by_rows = torch.func.jacrev(torch.func.jacrev(total))
    for transform in (torch.func.hessian(total), by_rows, torch.func.jacrev(torch.func.jacfwd(total))):
        torch.testing.assert_close(torch.vmap(transform)(positions), known, rtol=0.0, atol=1e-12)


def test_derivatives_that_transforms_lack_are_errors():
    ask = bridge.StateDistances(bridged.robot_without_base())
    positions, pose = tensor([0.3, -0.5]), tensor(bridged.random_poses(np.random.default_rng(14), reach=3.0))

    def total(state):
        return ask(state).distance.sum()

    with pytest.raises(RuntimeError, match="second derivatives exist for robots without"):
        torch.func.hessian(box_from_rod)(pose)
    with pytest.raises(RuntimeError, match="no forward derivatives of forward ones"):
        torch.func.jacfwd(torch.func.jacfwd(total))(positions)
    with pytest.raises(RuntimeError, match="third derivatives"):
        torch.func.jacrev(torch.func.jacrev(torch.func.jacrev(total)))(positions)


@pytest.mark.parametrize("pose", [torch.eye(4, dtype=torch.int64), np.eye(4, dtype=np.int32), np.eye(4).tolist()])
def test_integers_are_numbers_of_double_precision(pose):
    other = np.eye(4)
    other[0, 3] = 2.25
    found = bridge.distances(Sphere(0.5), pose, Shapes(Sphere, [1]), other)
    assert found.distance.dtype == torch.float64
    assert found.distance.item() == 0.75


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "view", [lambda poses: poses[::-1], lambda poses: poses.astype(">f8"), lambda poses: poses[::2], np.asfortranarray]
)
def test_arrays_of_numpy_may_have_any_layout(view):
    poses = view(bridged.random_poses(np.random.default_rng(11), 6, reach=3.0))
    poses.flags.writeable = False
    same = np.array(poses, dtype=np.float64, order="C")
    found, expected = (bridge.distances(Sphere(0.5), np.eye(4), Sphere(1.0), each) for each in (poses, same))
    assert torch.equal(found.distance, expected.distance)


@pytest.mark.parametrize("kind", [torch.bool, torch.complex128])
def test_other_types_are_refused(kind):
    with pytest.raises(TypeError, match=f"pose_a: must be real numbers, found {kind}"):
        bridge.distances(Sphere(0.5), torch.eye(4, dtype=kind), Sphere(1.0), np.eye(4))


def test_an_error_names_the_input_that_is_no_array():
    with pytest.raises(TypeError, match="pose_b: must be real numbers, found 'a'"):
        bridge.distances(Sphere(0.5), np.eye(4), Sphere(1.0), "a")
    with pytest.raises(TypeError, match="parameters of b: must be real numbers, found None"):
        bridge.distances(Sphere(0.5), np.eye(4), Shapes(Sphere, None), np.eye(4))
    with pytest.raises(TypeError, match="positions: must be real numbers"):
        bridge.StateDistances(bridged.robot())(torch.zeros(2, dtype=torch.bool), {"ball": np.eye(4)})


@pytest.mark.parametrize(
    ("positions", "base", "message"),
    [
        (torch.zeros(3), np.eye(4), r"positions: must have shape \(\.\.\., 2\), found \(3,\)"),
        (torch.tensor(0.0), np.eye(4), r"positions: must have shape \(\.\.\., 2\), found \(\)"),
        (torch.zeros(2), np.zeros(3), r"base_poses: must have shape \(\.\.\., 4, 4\), found \(3,\)"),
        (torch.zeros(2, 2), np.tile(np.eye(4), (3, 1, 1)), r"do not match: pairs: \(2,\), positions: \(2, 1\), base_p"),
    ],
)
def test_wrong_shapes_of_states_are_refused(positions, base, message):
    with pytest.raises(ValueError, match=message):
        bridge.StateDistances(bridged.robot())(positions, {"ball": base})
