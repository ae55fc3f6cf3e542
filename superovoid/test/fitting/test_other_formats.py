# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fitted robots for other programs: MuJoCo reads the MJCF, Drake the SDFormat, pxr the USD."""

import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from superovoid import Robot
from superovoid.cli import main
from superovoid.fitting import fit_robot
from superovoid.fitting.mjcf import write_mjcf
from superovoid.fitting.sdf import write_sdf
from superovoid.fitting.usd import write_usd
from superovoid.robot.urdf import pose_matrix

BODIES = {
    "base": '<cylinder radius="0.1" length="0.05"/>',
    "upper": '<box size="0.05 0.06 0.3"/>',
    "lower": '<superovoid size="0.05 0.04 0.1" epsilon="0.4 0.6" taper="0.2 0.2"/>',
    "rail": '<capsule radius="0.02" length="0.1"/>',
    "tip": '<sphere radius="0.03"/>',
    "follower": '<superovoid size="0.05 0.04 0.03" epsilon="1 1" taper="0 0"/>',
}
JOINTS = (
    '<joint name="a" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0.1 0.2 0.3" '
    'rpy="0.3 -0.2 1.1"/><axis xyz="0 0.6 0.8"/><limit lower="-1" upper="2" effort="1" velocity="1"/></joint>',
    '<joint name="b" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.3" '
    'rpy="1 0 0"/><axis xyz="1 0 0"/></joint>',
    '<joint name="c" type="prismatic"><parent link="lower"/><child link="rail"/><axis xyz="0 1 0"/><limit lower="0" '
    'upper="0.2" effort="1" velocity="1"/></joint>',
    '<joint name="d" type="fixed"><parent link="rail"/><child link="tip"/><origin xyz="0 0 0.1" rpy="0 1 0"/></joint>',
    '<joint name="e" type="revolute"><parent link="base"/><child link="follower"/><axis xyz="0 0 1"/><limit lower="-3" '
    'upper="5" effort="1" velocity="1"/><mimic joint="a" multiplier="2" offset="0.1"/></joint>',
)
INERTIAL = (
    '<inertial><origin xyz="0.01 0 0.02" rpy="0 0 0.5"/><mass value="2"/><inertia ixx="0.02" iyy="0.03" izz="0.04" '
    'ixy="0.001" ixz="0" iyz="0"/></inertial>'
)


def robot_of(root="base"):
    links = "".join(
        f'<link name="{name}">{INERTIAL if name == "upper" else ""}<contact_geometry><origin xyz="0.01 0.02 0.03" '
        f'rpy="0.1 0.2 0.3"/>{body}</contact_geometry></link>'
        for name, body in BODIES.items()
    )
    return f'<robot name="r">{links}{"".join(JOINTS)}</robot>'.replace('"base"', f'"{root}"')


VALUES = {"a": 0.7, "b": -2.0, "c": 0.15, "e": 2.0 * 0.7 + 0.1}


def robot_and_poses(text):
    robot = Robot.from_urdf(text)
    return robot, robot.forward_kinematics({name: VALUES[name] for name in "abc"})


def links_of(root):
    return BODIES.keys() - {"base"} | ({root} - {"world"})


def inertia_of_upper():
    about = np.array([[0.02, 0.001, 0.0], [0.001, 0.03, 0.0], [0.0, 0.0, 0.04]])
    c, s = np.cos(0.5), np.sin(0.5)
    axes = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return axes @ about @ axes.T


@pytest.mark.parametrize("root", ["base", "world"])
def test_mujoco_reads_the_same_robot(tmp_path, root):
    mujoco = pytest.importorskip("mujoco", reason="mujoco is missing: pip install 'superovoid_papers[bench]'")
    text = robot_of(root)
    model = mujoco.MjModel.from_xml_path(str(write_mjcf(fit_robot(text), tmp_path, "r")))
    data = mujoco.MjData(model)
    for name, value in VALUES.items():
        data.joint(name).qpos = value
    mujoco.mj_kinematics(model, data)
    robot, poses = robot_and_poses(text)
    for link in links_of(root):
        np.testing.assert_allclose(data.body(link).xpos, poses[link][:3, 3], atol=1e-12)
        np.testing.assert_allclose(data.body(link).xmat.reshape(3, 3), poses[link][:3, :3], atol=1e-12)
    np.testing.assert_allclose(model.joint("a").range, (-1.0, 2.0))
    np.testing.assert_allclose(model.equality(0).data[:2], (0.1, 2.0))
    assert model.body("upper").mass[0] == 2.0
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.body("upper").iquat)
    turn = turn.reshape(3, 3)
    np.testing.assert_allclose(turn * model.body("upper").inertia @ turn.T, inertia_of_upper(), atol=1e-12)
    # Distances of MuJoCo between geoms, which know nothing of this library's bodies.
    ids = {link: int(np.flatnonzero(model.geom_bodyid == model.body(link).id)[0]) for link in poses}
    bodies = {body.link: body for body in robot.bodies}
    for one, other in (("upper", "tip"), ("follower", "rail"), ("lower", "upper"), ("lower", root)):
        a, b = bodies[one], bodies[other]
        found = mujoco.mj_geomDistance(model, data, ids[one], ids[other], 10.0, np.zeros(6))
        truth = separation(a, b, poses)
        if truth > 1e-3:
            assert found == pytest.approx(truth, abs=3e-3 if "lower" in (one, other) else 1e-5)


def test_the_hole_of_a_torus_is_free_in_mujoco(tmp_path):
    # MuJoCo replaces meshes by their convex hulls.
    mujoco = pytest.importorskip("mujoco", reason="mujoco is missing: pip install 'superovoid_papers[bench]'")
    torus = '<contact_geometry><origin xyz="0 0 1"/><torus major_radius="0.2" minor_radius="0.05"/></contact_geometry>'
    fit = fit_robot(f'<robot name="r"><link name="ring">{torus}</link></robot>')
    model = mujoco.MjModel.from_xml_path(str(write_mjcf(fit, tmp_path, "r")))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)

    def above(x):
        """Return the distance along a ray downwards from the height 2, or -1."""
        return mujoco.mj_ray(
            model, data, np.array([x, 0.0, 2.0]), np.array([0.0, 0.0, -1.0]), None, 1, -1, np.zeros(1, np.int32)
        )

    assert above(0.0) == above(0.1) == -1.0
    assert above(0.2) == pytest.approx(0.95, abs=5e-3) and above(0.2) <= 0.95


@pytest.mark.parametrize("root", ["base", "world"])
def test_drake_reads_the_same_robot(tmp_path, root):
    parsing = pytest.importorskip("pydrake.multibody.parsing", reason="drake is missing: pip install drake")
    from pydrake.geometry import QueryObject, Role
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    plant, graph = AddMultibodyPlantSceneGraph(builder, 1e-3)
    text = robot_of(root)
    parsing.Parser(plant).AddModels(str(write_sdf(fit_robot(text), tmp_path, "r")))
    plant.Finalize()
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    own = plant.GetMyContextFromRoot(context)
    for name, value in VALUES.items():
        joint = plant.GetJointByName(name)
        plant.SetPositions(own, _set(plant.GetPositions(own), joint.position_start(), value))
    robot, poses = robot_and_poses(text)
    for link in links_of(root):
        found = plant.EvalBodyPoseInWorld(own, plant.GetBodyByName(link)).GetAsMatrix4()
        np.testing.assert_allclose(found, poses[link], atol=1e-12)
    assert plant.GetJointByName("a").position_lower_limits() == -1.0
    assert plant.GetJointByName("a").position_upper_limits() == 2.0
    assert plant.GetJointByName("b").position_upper_limits() == np.inf
    inertia = plant.GetBodyByName("upper").default_spatial_inertia()
    assert inertia.get_mass() == 2.0
    about = inertia.Shift(inertia.get_com()).CalcRotationalInertia().CopyToFullMatrix3()
    np.testing.assert_allclose(about, inertia_of_upper(), atol=1e-12)
    query = graph.get_query_output_port().Eval(graph.GetMyContextFromRoot(context))
    assert isinstance(query, QueryObject)
    ids = {query.inspector().GetName(each).split("::")[1]: each
           for each in query.inspector().GetAllGeometryIds(Role.kProximity)}  # fmt: skip
    bodies = {body.link: body for body in robot.bodies}
    for one, other in (("upper", "tip"), ("follower", "rail"), ("lower", "tip"), ("lower", "rail")):
        pair = (ids[f"{each}_collision_0"] for each in (one, other))
        truth = separation(bodies[one], bodies[other], poses)
        assert truth > 1e-3
        # The mesh of "lower" contains the body, and protrudes by at most 1 % of its size.
        slack = (-3e-3, 1e-5) if one == "lower" else (-1e-5, 1e-5)
        assert slack[0] <= query.ComputeSignedDistancePairClosestPoints(*pair).distance - truth <= slack[1]


def _set(values, at, value):
    values[at] = value
    return values


def test_names_in_sdf_are_unique_and_not_reserved(tmp_path):
    text = robot_of("world").replace('joint name="a"', 'joint name="upper"').replace('joint="a"', 'joint="upper"')
    root = ElementTree.parse(write_sdf(fit_robot(text), tmp_path, "r")).getroot()
    names = [each.get("name") for each in root.find("model")]
    assert len(set(names)) == len(names) and {"world_link", "upper", "upper_joint"} <= set(names)
    assert "world" not in names
    mimic = root.find(".//mimic")  # its reader checks the name of the joint; Drake ignores the rest
    assert mimic.get("joint") == "upper_joint"
    assert [float(mimic.find(each).text) for each in ("multiplier", "offset", "reference")] == [2.0, 0.1, 0.0]


def test_a_planar_joint_has_no_place_in_sdf(tmp_path):
    text = robot_of().replace('"e" type="revolute"', '"e" type="planar"').replace('<mimic joint="a"', '<not joint="a"')
    with pytest.raises(ValueError, match="joint 'e': is planar"):
        write_sdf(fit_robot(text), tmp_path, "r")


@pytest.mark.parametrize("root", ["base", "world"])
def test_openusd_reads_the_same_robot(tmp_path, root):
    pxr = pytest.importorskip("pxr.UsdPhysics", reason="OpenUSD is missing: pip install 'superovoid[usd]'")
    from pxr import Usd, UsdGeom, UsdValidation

    text = robot_of(root).replace('<link name="tip">', '<link name="tip"><inertial><mass value="0"/></inertial>')
    stage = Usd.Stage.Open(str(write_usd(fit_robot(text), tmp_path, "r")))
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    assert len(validators) > 20
    assert [each.GetMessage() for each in UsdValidation.ValidationContext(validators).Validate(stage)] == []
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    prims = {prim.GetName(): prim for prim in stage.Traverse()}
    robot, poses = robot_and_poses(text)
    bodies = {body.link: body for body in robot.bodies}
    still = dict(robot.forward_kinematics(dict.fromkeys("abc", 0.0)))
    still["follower"] = np.eye(4)  # not where its mimic puts it
    # At zero: poses of links and their bodies, and boxes around these.
    cache = UsdGeom.BBoxCache(Usd.TimeCode.Default(), ["default"])
    for link in links_of(root):
        assert prims[link].HasAPI(pxr.RigidBodyAPI)
        np.testing.assert_allclose(_matrix(prims[link]), still[link], atol=1e-12)
        (collider,) = prims[link].GetChildren()
        assert collider.HasAPI(pxr.CollisionAPI)
        box = cache.ComputeUntransformedBound(collider).GetRange()
        pose = _matrix(collider)
        assert np.allclose(pose[:3, 3], (still[link] @ bodies[link].link_from_body)[:3, 3], atol=1e-12)
        extent = np.linalg.norm(pose[:3, :3], axis=0) * np.array(box.GetSize())
        slack = 5e-3 if link in ("lower", "follower") else 1e-6  # 1 % of the size on both sides
        np.testing.assert_allclose(extent, np.ptp(bodies[link].shape.aabb(), axis=0), atol=slack)
    # Moved by the frames of the joints, from the root.
    found = {root: np.eye(4)}
    joints = {prim.GetName(): pxr.Joint(prim) for prim in prims.values() if prim.IsA(pxr.Joint)}
    assert joints.pop("world_joint").GetBody1Rel().GetTargets() == [prims[root].GetPath()]
    for name in "abcde":
        joint, value = joints[name], VALUES.get(name, 0.0)
        parent, child = (each.GetTargets()[0].name for each in (joint.GetBody0Rel(), joint.GetBody1Rel()))
        first = _frame(joint.GetLocalPos0Attr().Get(), joint.GetLocalRot0Attr().Get())
        second = _frame(joint.GetLocalPos1Attr().Get() or (0, 0, 0), joint.GetLocalRot1Attr().Get())
        if joint.GetPrim().IsA(pxr.PrismaticJoint):
            moved = pose_matrix((value, 0.0, 0.0), (0.0, 0.0, 0.0))
        else:
            moved = pose_matrix((0.0, 0.0, 0.0), (value, 0.0, 0.0))
        found[child] = found[parent] @ first @ moved @ np.linalg.inv(second)
    for link, pose in found.items():
        np.testing.assert_allclose(pose, poses[link], atol=2e-6)
    limits = pxr.RevoluteJoint(joints["a"].GetPrim())
    assert limits.GetLowerLimitAttr().Get() == pytest.approx(np.rad2deg(-1.0))
    assert limits.GetUpperLimitAttr().Get() == pytest.approx(np.rad2deg(2.0))
    assert not np.isfinite(pxr.RevoluteJoint(joints["b"].GetPrim()).GetUpperLimitAttr().Get())
    assert pxr.PrismaticJoint(joints["c"].GetPrim()).GetUpperLimitAttr().Get() == pytest.approx(0.2)
    mass = pxr.MassAPI(prims["upper"])
    assert mass.GetMassAttr().Get() == 2.0
    axes = _frame((0, 0, 0), mass.GetPrincipalAxesAttr().Get())[:3, :3]
    moments = np.array(mass.GetDiagonalInertiaAttr().Get())
    np.testing.assert_allclose(axes * moments @ axes.T, inertia_of_upper(), atol=1e-7)


def _matrix(prim):
    from pxr import Usd, UsdGeom

    return np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default())).T


def _frame(position, quaternion):
    """Return a frame by pxr's own rotation of a quaternion."""
    from pxr import Gf

    pose = np.eye(4)
    pose[:3, :3] = np.array(Gf.Matrix3d(Gf.Quatd(quaternion))).T
    pose[:3, 3] = position
    return pose


def test_command_names_the_extra_of_usd_before_it_fits(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pxr", None)
    robot = tmp_path / "r.urdf"
    robot.write_text(robot_of())
    assert main(["fit", str(robot), "--format", "usd", "--output", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.endswith("no module 'pxr': pip install 'superovoid[usd]'\n")
    assert not (tmp_path / "out").exists()


def test_a_planar_joint_has_no_place_in_usd(tmp_path):
    pytest.importorskip("pxr", reason="OpenUSD is missing: pip install 'superovoid[usd]'")
    text = robot_of().replace('"e" type="revolute"', '"e" type="planar"').replace('<mimic joint="a"', '<not joint="a"')
    with pytest.raises(ValueError, match="joint 'e': is planar"):
        write_usd(fit_robot(text), tmp_path, "r")


def separation(a, b, poses):
    from superovoid import distance

    return distance(a.shape, poses[a.link] @ a.link_from_body, b.shape, poses[b.link] @ b.link_from_body).distance
