# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo: distances are those of mj_geomDistance; robots with the poses and pairs of their models."""

from types import SimpleNamespace

import bridged
import numpy as np
import pytest

import superovoid
from superovoid.scene import Body
from superovoid.shapes import Mesh
from superovoid.states import StateQuery

mujoco = pytest.importorskip("mujoco")
from superovoid import mujoco as bridge  # noqa: E402

GEOMS = {
    "plane": 'type="plane" size="1 1 0.1"',
    "sphere": 'type="sphere" size="0.2"',
    "capsule": 'type="capsule" size="0.1 0.2"',
    "cylinder": 'type="cylinder" size="0.1 0.2"',
    "ellipsoid": 'type="ellipsoid" size="0.1 0.2 0.3"',
    "box": 'type="box" size="0.1 0.2 0.3"',
    "mesh": 'type="mesh" mesh="wedge"',
    "hfield": 'type="hfield" hfield="hills"',
}
ASSETS = """<asset>
  <mesh name="wedge" vertex="0 0 0  0.4 0 0  0 0.3 0  0 0 0.2  0.3 0.2 0.2  0.1 0.1 0.1"/>
  <hfield name="hills" nrow="4" ncol="5" size="0.5 0.4 0.2 0.1"
    elevation="0 0.2 0.4 0.1 0  0.3 0.9 0.2 0.5 0.1  0 1 0.3 0.8 0.2  0.1 0 0.6 0.2 0"/></asset>"""
MODEL = f"""<mujoco model="machine">{ASSETS}<worldbody>
  <geom name="floor" type="plane" size="1 1 0.1" pos="0 0 -2"/>
  <body name="arm" pos="0 0 0.3" euler="10 20 30">
    <joint name="turn" axis="0 1 1" pos="0.1 0 0" range="-90 90" ref="20"/>
    <joint name="slide" type="slide" axis="1 0 1" ref="0.1"/>
    <geom type="capsule" size="0.05 0.2" euler="0 40 0"/><geom type="mesh" mesh="wedge" pos="0.2 0 0"/>
    <body name="hand" pos="0 0.4 0"><joint name="wrist" axis="0 0 1"/>
      <geom name="palm" type="box" size="0.1 0.1 0.05" contype="2" conaffinity="1"/>
      <geom name="shown" type="box" size="0.1 0.1 0.05" contype="0" conaffinity="0"/>
      <body pos="0 0.1 0"><geom name="tip" size="0.03" contype="3"/></body></body></body>
  <body name="ball" pos="1 0 0"><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.1"/>
    <body name="flap" pos="0.3 0 0"><joint name="flap" axis="1 0 0"/>
      <geom type="cylinder" size="0.05 0.1"/></body></body>
  <body name="head" pos="0 1 0"><joint type="ball"/><geom size="0.1"/></body>
  <body name="cup" mocap="true" pos="0 -1 0"><geom type="box" size="0.1 0.1 0.1"/></body></worldbody>
  <contact><exclude body1="arm" body2="ball"/><pair geom1="floor" geom2="shown"/></contact></mujoco>"""


def pair(first, second):
    text = f"""<mujoco>{ASSETS}<worldbody><geom name="a" {GEOMS[first]} pos="0.1 0 0" euler="10 0 20"/>
      <body name="b" mocap="true"><geom name="b" {GEOMS[second]}/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    return model, mujoco.MjData(model)


@pytest.mark.parametrize("second", [name for name in GEOMS if name not in ("plane", "hfield")])
@pytest.mark.parametrize("first", GEOMS)
def test_distances_have_the_meaning_of_mujoco(first, second):
    model, data = pair(first, second)
    rng, apart = np.random.default_rng(11), 0
    for _ in range(8):
        data.mocap_pos[0] = rng.uniform((-1.0, -1.0, -0.3), (1.0, 1.0, 1.7))
        data.mocap_quat[0] = rng.standard_normal(4)
        mujoco.mj_kinematics(model, data)
        ours, theirs = np.zeros(6), np.zeros(6)
        found = bridge.geom_distance(model, data, 0, 1, 5.0, ours)
        expected = mujoco.mj_geomDistance(model, data, 0, 1, 5.0, theirs)
        if found > 1e-3:
            apart += 1
            assert found == pytest.approx(expected, abs=2e-5)
            assert found == pytest.approx(np.linalg.norm(ours[3:] - ours[:3]), abs=1e-9)
            assert np.dot(ours[3:] - ours[:3], theirs[3:] - theirs[:3]) > 0.99 * found * expected
        elif found < -1e-3 and first != "hfield":
            assert -found <= -expected + 2e-5  # the depth is the least
        elif found < -1e-3:
            assert -found >= -expected - 2e-5  # MuJoCo leaves one prism alone
    assert apart >= 3


@pytest.mark.parametrize("second", ["sphere", "box", "capsule"])
def test_an_overlap_with_a_height_field_is_a_translation_that_separates(second):
    model, data = pair("hfield", second)
    rng, overlaps = np.random.default_rng(12), 0
    for _ in range(20):
        data.mocap_pos[0] = rng.uniform((-0.3, -0.3, 0.0), (0.3, 0.3, 0.4))
        data.mocap_quat[0] = rng.standard_normal(4)
        mujoco.mj_kinematics(model, data)
        shapes = [bridge.shape_of(model, geom) for geom in range(2)]
        poses = [bridge._pose(data.geom_xpos[geom], data.geom_xmat[geom]) for geom in range(2)]
        found = superovoid.distance(shapes[0], poses[0], shapes[1], poses[1])
        assert found.certified or found.status & superovoid.Status.NON_CONVEX or found.distance > 0.0
        if found.distance < 0.0:
            overlaps += 1
            assert bridge.geom_distance(model, data, 0, 1, 5.0) == found.distance
            moved = poses[1].copy()
            moved[:3, 3] += (1e-8 - found.lower) * found.normal
            assert superovoid.distance(shapes[0], poses[0], shapes[1], moved).lower >= 0.0
    assert overlaps >= 5


def test_distances_are_those_of_the_engine_and_end_at_distmax():
    model, data = pair("box", "cylinder")
    data.mocap_pos[0] = (0.0, 0.0, 1.0)
    mujoco.mj_kinematics(model, data)
    poses = [bridge._pose(data.geom_xpos[geom], data.geom_xmat[geom]) for geom in range(2)]
    shapes = [bridge.shape_of(model, geom) for geom in range(2)]
    expected = superovoid.distance(shapes[0], poses[0], shapes[1], poses[1]).distance
    points = np.ones(6)
    assert abs(bridge.geom_distance(model, data, 0, 1, 5.0) - expected) <= 1e-12
    assert bridge.geom_distance(model, data, 0, 1, 0.1, points) == 0.1 and not points.any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 1, 5.0), r"geom1 = -1: must be the number of one of 2 geoms"),
        ((0, 2, 5.0), r"geom2 = 2: must be the number of one of 2 geoms"),
        ((0, "ball", 5.0), r"geom2 = 'ball': must be the number of one of 2 geoms"),
        ((0, 1, np.nan), r"distmax = nan: must be a number \(metres\)"),
        (
            (0, 1, 5.0, np.zeros(3)),
            r"fromto: must be a writeable array of six numbers, found array\(\[0\., 0\., 0\.\]\)",
        ),
        ((0, 1, 5.0, [0.0] * 6), r"fromto: must be a writeable array of six numbers, found \[0\.0, 0"),
        ((0, 1, 5.0, np.zeros(6, dtype=np.int64)), r"fromto: must be a writeable array of six numbers"),
    ],
)
def test_wrong_arguments_of_geom_distance_are_refused(arguments, message):
    model, data = pair("box", "cylinder")
    mujoco.mj_kinematics(model, data)
    with pytest.raises(ValueError, match=message):
        bridge.geom_distance(model, data, *arguments)


def test_a_height_field_is_a_closed_solid():
    model, _ = pair("hfield", "sphere")
    terrain = bridge.shape_of(model, 0)
    assert isinstance(terrain, Mesh) and terrain.volume() == pytest.approx(0.0, abs=0.2) and terrain.volume() > 0.08


def random_state(model, seed):
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    data.qpos[:] = rng.uniform(-0.7, 0.7, model.nq)
    mujoco.mj_normalizeQuat(model, data.qpos)
    data.mocap_pos[:] = rng.uniform(-1.0, 1.0, data.mocap_pos.shape)
    mujoco.mj_kinematics(model, data)
    return data


def test_links_have_the_poses_of_the_bodies():
    model = mujoco.MjModel.from_xml_string(MODEL)
    robot = bridge.robot_from_model(model)
    assert robot.name == "machine" and robot.base_links == ("ball", "head", "cup")
    assert robot.joint_names == ("turn", "slide", "wrist", "flap")
    assert robot.joint_limits["turn"] == pytest.approx((-np.pi / 2, np.pi / 2))
    for seed in range(5):
        data = random_state(model, seed)
        poses = robot.forward_kinematics(*bridge.state_of(model, data, robot))
        for body in range(model.nbody):
            pose = poses[model.body(body).name or f"body {body}"]
            assert np.abs(pose[:3, 3] - data.xpos[body]).max() <= 1e-12
            assert np.abs(pose[:3, :3].ravel() - data.xmat[body]).max() <= 1e-12


@pytest.mark.parametrize("rotation", [(9,), (3, 3)])
def test_a_batch_of_states_has_the_states_of_its_entries(rotation):
    model = mujoco.MjModel.from_xml_string(MODEL)
    robot, singles = bridge.robot_from_model(model), [random_state(model, seed) for seed in range(6)]
    fields = {name: np.array([getattr(data, name) for data in singles]) for name in ("qpos", "xpos", "xmat")}
    fields = {name: each.reshape(2, 3, *each.shape[1:]) for name, each in fields.items()}
    fields["xmat"] = fields["xmat"].reshape(2, 3, model.nbody, *rotation)
    positions, bases = bridge.state_of(model, SimpleNamespace(**fields), robot)
    for i, data in enumerate(singles):
        expected, poses = bridge.state_of(model, data, robot)
        np.testing.assert_array_equal(positions[i // 3, i % 3], expected)
        assert poses.keys() == bases.keys() == set(robot.base_links)
        assert all((bases[link][i // 3, i % 3] == pose).all() for link, pose in poses.items())


def test_pairs_are_those_of_mujoco():
    wide = '<default><geom margin="50"/><pair margin="50"/></default><worldbody>'  # so that all pairs have a contact
    model = mujoco.MjModel.from_xml_string(MODEL.replace("<worldbody>", wide))
    data = random_state(model, 3)
    mujoco.mj_fwdPosition(model, data)
    found = {tuple(sorted(each)) for each in data.contact.geom.tolist()}
    assert found == {tuple(each) for each in bridge.collision_pairs(model).tolist()} and len(found) > 10
    robot = bridge.robot_from_model(model)
    scene = bridge.scene_of(model, robot)
    assert scene.pair_count == len(found)
    of_links = {frozenset(scene.bodies[i].link for i in pair) for pair in scene.pairs}
    assert {frozenset(robot.bodies[i].link for i in pair) for pair in robot.body_pairs()} == of_links


def test_states_of_a_robot_have_distances_and_gradients_of_geoms():
    model = mujoco.MjModel.from_xml_string(MODEL)
    robot = bridge.robot_from_model(model)
    scene, data = bridge.scene_of(model, robot), random_state(model, 4)
    positions, bases = bridge.state_of(model, data, robot)
    query = StateQuery(robot, scene, gradients=True)
    found = query(positions[None], base_poses=bases)
    geoms = np.flatnonzero(np.isin(np.arange(model.ngeom), np.unique(bridge.collision_pairs(model))))
    for row in range(len(found)):
        pair = geoms[found.body_a[row]], geoms[found.body_b[row]]
        assert abs(bridge.geom_distance(model, data, *pair, np.inf) - found.distance[row]) <= 1e-12
    step = 1e-6
    data.qpos[model.joint("wrist").qposadr] += step
    mujoco.mj_kinematics(model, data)
    for row in range(len(found)):
        moved = bridge.geom_distance(model, data, geoms[found.body_a[row]], geoms[found.body_b[row]], np.inf)
        if found.differentiable[row]:
            slope = found.gradients[row][robot.joint_names.index("wrist")]
            assert (moved - found.distance[row]) / step == pytest.approx(slope, abs=1e-2)


def test_objects_join_a_robot_of_a_model(tmp_path):
    path = tmp_path / "machine.xml"
    path.write_text(MODEL)
    robot = bridge.robot_from_mjcf(path)
    scene = robot.scene()
    scene.add(Body("wall", "wall", bridged.shape(superovoid.Box)))
    assert scene.pair_count > len(robot.body_pairs())


def test_geoms_of_plugins_are_refused():
    model = mujoco.MjModel.from_xml_string(MODEL)
    model.geom_type[1] = mujoco.mjtGeom.mjGEOM_SDF
    with pytest.raises(superovoid.RobotDescriptionError, match="mjGEOM_SDF"):
        bridge.robot_from_model(model)
