# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Write a fitted robot as OpenUSD with UsdPhysics, which Isaac Sim reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from superovoid.fitting.exported_robot import Inertial, Part, export_robot
from superovoid.fitting.robot_fits import RobotFit
from superovoid.robot.urdf import Joint
from superovoid.values.poses import quaternions_of

FloatArray = NDArray[np.float64]


def write_usd(fit: RobotFit, folder: Path, name: str) -> Path:
    """Write a fitted robot as ``name.usda`` in a folder: links as rigid bodies with colliders, and joints.

    Spheres, boxes (scaled cubes), cylinders and capsules are colliders of these kinds. The mesh of another body
    provably contains it and protrudes from it by at most the tolerance of its link. The root link is fixed to the
    world; a link with a floating joint is free. UsdPhysics has no mimic joints: they are independent, and frames of
    joints have single precision. Characters that names cannot have become underscores.

    Raises
    ------
    ValueError
        If no mesh is proved to contain a body, or a joint is planar.
    ImportError
        If OpenUSD is not installed: ``pip install 'superovoid[usd]'``.
    """
    from pxr import Gf, Tf, Usd, UsdGeom, UsdPhysics

    robot = export_robot(fit, ellipsoids=False)  # physics refuses scaled spheres
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    top = UsdGeom.Xform.Define(stage, f"/{Tf.MakeValidIdentifier(robot.name)}")
    stage.SetDefaultPrim(top.GetPrim())
    UsdPhysics.ArticulationRootAPI.Apply(top.GetPrim())

    def free_path(base: Any, wanted: str) -> Any:
        path = base.AppendChild(Tf.MakeValidIdentifier(wanted))
        while stage.GetPrimAtPath(path):
            path = base.AppendChild(f"{path.name}_")
        return path

    joints = UsdGeom.Scope.Define(stage, free_path(top.GetPath(), "joints")).GetPath()
    poses: dict[str, FloatArray] = {}
    paths: dict[str, Any] = {}
    for link in robot.links:
        joint = link.joint
        poses[link.name] = np.eye(4) if joint is None else poses[joint.parent] @ joint.parent_from_joint
        paths[link.name] = free_path(top.GetPath(), link.name)
        frame = UsdGeom.Xform.Define(stage, paths[link.name])
        frame.AddTransformOp().Set(Gf.Matrix4d(poses[link.name].T.tolist()))
        UsdPhysics.RigidBodyAPI.Apply(frame.GetPrim())
        if link.inertial is not None:
            _set_inertia(UsdPhysics.MassAPI.Apply(frame.GetPrim()), link.inertial)
        for number, part in enumerate(link.parts):
            _add_collider(stage, free_path(frame.GetPath(), f"collision_{number}"), part)
        if joint is None:
            made = UsdPhysics.FixedJoint.Define(stage, free_path(joints, "world_joint"))
        elif joint.kind != "floating":
            made = _add_joint(stage, free_path(joints, joint.name), joint)
            made.CreateBody0Rel().SetTargets([paths[joint.parent]])
        else:
            continue
        made.CreateBody1Rel().SetTargets([paths[link.name]])
    file = folder / f"{name}.usda"
    file.write_text(stage.GetRootLayer().ExportToString(), encoding="utf-8")
    return file


def _add_collider(stage: Any, path: Any, part: Part) -> None:
    from pxr import Gf, UsdGeom, UsdPhysics, Vt

    scale = None
    if part.mesh is not None:
        body, vertices = UsdGeom.Mesh.Define(stage, path), part.mesh.vertices.astype(np.float32)
        body.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(vertices))
        body.CreateFaceVertexCountsAttr(Vt.IntArray([3] * len(part.mesh.faces)))
        body.CreateFaceVertexIndicesAttr(Vt.IntArray(part.mesh.faces.ravel().tolist()))
        body.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        body.CreateExtentAttr([_vector(vertices.min(axis=0)), _vector(vertices.max(axis=0))])
        UsdPhysics.MeshCollisionAPI.Apply(body.GetPrim()).CreateApproximationAttr(UsdPhysics.Tokens.convexHull)
    elif part.kind == "box":
        body, scale = UsdGeom.Cube.Define(stage, path), part.lengths
        body.CreateSizeAttr(1.0)
    elif part.kind == "sphere":
        body = UsdGeom.Sphere.Define(stage, path)
        body.CreateRadiusAttr(part.lengths[0])
    else:
        body = (UsdGeom.Cylinder if part.kind == "cylinder" else UsdGeom.Capsule).Define(stage, path)
        body.CreateRadiusAttr(part.lengths[0])
        body.CreateHeightAttr(part.lengths[1])
    turned = part.link_from_part.copy()
    turned[:3, :3] *= (1.0, 1.0, 1.0) if scale is None else scale
    body.AddTransformOp().Set(Gf.Matrix4d(turned.T.tolist()))
    UsdPhysics.CollisionAPI.Apply(body.GetPrim())


def _set_inertia(mass: Any, inertial: Inertial) -> None:
    moments, axes = np.linalg.eigh(inertial.matrix)
    axes[:, 0] *= np.linalg.det(axes)
    mass.CreateMassAttr(inertial.mass)
    mass.CreateCenterOfMassAttr(_vector(inertial.centre))
    if moments[0] > 0.0:
        mass.CreateDiagonalInertiaAttr(_vector(moments))
        mass.CreatePrincipalAxesAttr(_quaternion(axes))


def _add_joint(stage: Any, path: Any, joint: Joint) -> Any:
    """Return a joint whose x axis is that of the URDF."""
    from pxr import UsdPhysics

    if joint.kind == "planar":
        raise ValueError(f"joint '{joint.name}': is planar, which is not supported in OpenUSD")
    kinds = {"fixed": UsdPhysics.FixedJoint, "prismatic": UsdPhysics.PrismaticJoint}
    made = kinds.get(joint.kind, UsdPhysics.RevoluteJoint).Define(stage, path)
    turn = Rotation.align_vectors(joint.axis[None], [[1.0, 0.0, 0.0]])[0].as_matrix()
    made.CreateLocalPos0Attr(_vector(joint.parent_from_joint[:3, 3]))
    made.CreateLocalRot0Attr(_quaternion(joint.parent_from_joint[:3, :3] @ turn))
    made.CreateLocalRot1Attr(_quaternion(turn))
    if joint.kind != "fixed":
        made.CreateAxisAttr(UsdPhysics.Tokens.x)
        lower, upper = joint.limits if joint.kind == "prismatic" else np.rad2deg(joint.limits)
        if np.isfinite((lower, upper)).all():
            made.CreateLowerLimitAttr(float(lower))
            made.CreateUpperLimitAttr(float(upper))
    return made


def _quaternion(rotation: FloatArray) -> Any:
    from pxr.Gf import Quatf

    x, y, z, w = quaternions_of(rotation).tolist()
    return Quatf(w, x, y, z)


def _vector(values: FloatArray) -> Any:
    from pxr.Gf import Vec3f

    return Vec3f(*values.tolist())
