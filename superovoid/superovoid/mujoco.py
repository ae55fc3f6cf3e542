# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Models of MuJoCo: distances of their geoms, and robots made of them: ``from superovoid.mujoco import geom_distance``.

The compiled model is read, so everything that MJCF allows is resolved: defaults, includes, attached models, meshes. A
mesh is its convex hull, as for MuJoCo's collisions, a plane the half-space below it, and a height field the solid
between its triangles and its base. Geoms of signed distance functions (plugins) are refused.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import RigidTransform, Rotation

from superovoid.bridging import framework
from superovoid.contact import distance
from superovoid.robot import Robot, RobotDescriptionError
from superovoid.robot.srdf import Semantics
from superovoid.robot.urdf import Description, Geometry, Joint
from superovoid.scene import Scene
from superovoid.shapes import Box, Capsule, ConvexMesh, Cylinder, Ellipsoid, HalfSpace, Mesh, Shape, Sphere
from superovoid.values.checks import greatest_distance, shorten

if TYPE_CHECKING:
    import mujoco
else:
    mujoco = framework("mujoco", "mujoco")

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_GEOM, _TYPE = mujoco.mjtGeom, mujoco.mjtJoint
_Z = np.array([0.0, 0.0, 1.0])


def geom_distance(
    model: Any, data: Any, geom1: int, geom2: int, distmax: float, fromto: FloatArray | None = None
) -> float:
    """Compute the signed distance of two geoms: `mujoco.mj_geomDistance` with the engine's accuracy.

    Parameters
    ----------
    model, data : mujoco.MjModel, mujoco.MjData
        Poses of geoms are those of the last `mujoco.mj_kinematics` or `mujoco.mj_forward`.
    geom1, geom2 : int
        Numbers of the geoms.
    distmax : float
        Largest distance to report, m.
    fromto : (6,) ndarray, optional
        Output: the closest points, first on geom1, then on geom2; zeros if the distance is not below `distmax`.

    Returns
    -------
    float
        The signed distance, m; `distmax` if it is larger. For an overlap, minus the penetration depth; with a height
        field, minus the length of a translation that separates the geoms, which may be longer than the depth.

    Raises
    ------
    ValueError
        If a geom has a signed distance function of a plugin, or an argument is invalid.

    Notes
    -----
    Each call makes the shapes from the model as it is, the hull of a mesh too. A robot and its scene
    (`robot_from_model`, `scene_of`) make them once.

    A height field has another depth in MuJoCo: that of the geom in one of the prisms under its triangles, with which it
    may still overlap the others. Here it is a solid. `distance` of the shapes (`shape_of`) returns an interval of the
    depth, with the status `UNPROVEN | NON_CONVEX` if it is open.
    """
    for name, geom in (("geom1", geom1), ("geom2", geom2)):
        if isinstance(geom, bool) or not isinstance(geom, int | np.integer) or not 0 <= geom < model.ngeom:
            raise ValueError(f"{name} = {shorten(geom)}: must be the number of one of {model.ngeom} geoms")
    distmax = greatest_distance(distmax, "distmax")
    is_output = isinstance(fromto, np.ndarray) and fromto.shape == (6,) and fromto.dtype == np.float64
    if fromto is not None and not (is_output and fromto.flags.writeable):
        raise ValueError(f"fromto: must be a writeable array of six numbers, found {shorten(fromto)}")
    a, b = (shape_of(model, geom) for geom in (geom1, geom2))
    found = distance(
        a, _pose(data.geom_xpos[geom1], data.geom_xmat[geom1]), b, _pose(data.geom_xpos[geom2], data.geom_xmat[geom2])
    )
    near = found.distance < distmax
    if fromto is not None:
        fromto[:] = np.concatenate([found.point_a, found.point_b]) if near else 0.0
    return found.distance if near else distmax


def shape_of(model: Any, geom: int) -> Shape:
    """Return the shape of a geom in its frame.

    Raises
    ------
    ValueError
        If the geom has a signed distance function of a plugin.
    """
    kind, size = int(model.geom_type[geom]), model.geom_size[geom]
    if kind == _GEOM.mjGEOM_PLANE:
        return HalfSpace()
    if kind == _GEOM.mjGEOM_SPHERE:
        return Sphere(size[0])
    if kind == _GEOM.mjGEOM_CAPSULE:
        return Capsule(size[0], 2.0 * size[1])
    if kind == _GEOM.mjGEOM_CYLINDER:
        return Cylinder(size[0], 2.0 * size[1])
    if kind == _GEOM.mjGEOM_ELLIPSOID:
        return Ellipsoid(size)
    if kind == _GEOM.mjGEOM_BOX:
        return Box(2.0 * size)
    if kind == _GEOM.mjGEOM_MESH:
        return ConvexMesh(_hull_vertices(model, int(model.geom_dataid[geom])))
    if kind == _GEOM.mjGEOM_HFIELD:
        return _terrain(model, int(model.geom_dataid[geom]))
    raise ValueError(f"geom {geom} ({model.geom(geom).name!r}): type {_GEOM(kind).name} has no shape of this library")


def robot_from_mjcf(path: str | os.PathLike[str]) -> Robot:
    """Read a robot from a file of MJCF or URDF by MuJoCo's compiler; see `robot_from_model`."""
    return robot_from_model(mujoco.MjModel.from_xml_path(os.fspath(path)))


def robot_from_model(model: Any) -> Robot:
    """Make a robot of a model: a link for each body, and a body for each geom that may collide.

    Parameters
    ----------
    model : mujoco.MjModel

    Returns
    -------
    Robot
        Its root is the world. Hinges and slides are its joints. Bodies with a free or ball joint, and mocap bodies, are
        its `base_links`. Its rules check two links if MuJoCo checks any two geoms of them; `scene_of` has exactly
        MuJoCo's pairs. Things without a name have their kind and number as names.

    Raises
    ------
    RobotDescriptionError
        If a geom that may collide has no shape of this library.
    """
    links = [_name(model, "body", body) for body in range(model.nbody)]
    names, joints = list(links), list[Joint]()
    for body in range(1, model.nbody):
        joints += _joints(model, body, links)
    names += [joint.child for joint in joints if joint.child not in set(links)]
    try:
        geometry = [
            Geometry(
                links[model.geom_bodyid[geom]],
                shape_of(model, geom),
                _pose_at(model.geom_pos[geom], model.geom_quat[geom]),
            )
            for geom in _solid_geoms(model)
        ]
    except ValueError as error:
        raise RobotDescriptionError(f"MuJoCo: {error}") from error
    checked = {frozenset(links[body] for body in model.geom_bodyid[pair]) for pair in collision_pairs(model)}
    with_geometry = list(dict.fromkeys(each.link for each in geometry))
    every = {frozenset((a, b)) for i, a in enumerate(with_geometry) for b in with_geometry[:i]}
    disabled = dict.fromkeys(every - checked, "MuJoCo does not check this pair")
    description = Description(
        str(model.names.split(b"\0")[0].decode() or "model"), links[0], tuple(names), tuple(joints), tuple(geometry), {}
    )
    return Robot(description, Semantics({}, disabled, (), frozenset(checked)))


def scene_of(model: Any, robot: Robot) -> Scene:
    """Return a scene of a robot's bodies with the pairs of geoms that MuJoCo checks.

    Parameters
    ----------
    model : mujoco.MjModel
    robot : Robot
        That of `robot_from_model`.
    """
    row = np.full(model.ngeom, -1)
    geoms = _solid_geoms(model)
    row[geoms] = np.arange(len(geoms))
    return Scene(robot.bodies, row[collision_pairs(model)])


def state_of(model: Any, data: Any, robot: Robot) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Return the state of a model, or a batch of states, as the functions of this library take it.

    Parameters
    ----------
    model : mujoco.MjModel
    data : mujoco.MjData, or a batch of states
        Of a batch, such as `mujoco.mjx.Data`, ``qpos`` has the shape (..., nq), ``xpos`` (..., nbody, 3) and ``xmat``
        nine numbers for each body. Poses of bases are those of the last `mujoco.mj_kinematics` or `mujoco.mj_forward`.
    robot : Robot
        That of `robot_from_model`.

    Returns
    -------
    positions : (..., joints) ndarray
        In the order of ``robot.joint_names``.
    base_poses : dict of str to (..., 4, 4) ndarray
        Poses of ``robot.base_links``.
    """
    place = {_name(model, "joint", joint): model.jnt_qposadr[joint] for joint in range(model.njnt)}
    body = {_name(model, "body", body): body for body in range(model.nbody)}
    positions, translations, rotations = map(np.asarray, (data.qpos, data.xpos, data.xmat))
    rotations = rotations.reshape(*translations.shape, 3)
    bases = {
        link: _pose(translations[..., body[link], :], rotations[..., body[link], :, :]) for link in robot.base_links
    }
    return positions[..., [place[name] for name in robot.joint_names]].astype(np.float64), bases


def collision_pairs(model: Any) -> IntArray:
    """Return the pairs of geoms that MuJoCo checks, shape (n, 2), in ascending order.

    These are the pairs with matching bits (``contype``, ``conaffinity``) on bodies that are neither welded together nor
    parent and child, and one of which moves by joints, without those of ``<exclude>``; and those of ``<pair>``.
    """
    bits = (model.geom_contype[:, None] & model.geom_conaffinity) != 0
    weld = model.body_weldid[model.geom_bodyid]
    above = model.body_weldid[model.body_parentid[weld]]
    moving = model.body_treeid[model.geom_bodyid] >= 0
    checked = (bits | bits.T) & (weld[:, None] != weld) & (moving[:, None] | moving)
    if not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT:
        related = (weld[:, None] == above) & (weld[:, None] != 0) & (weld != 0)
        checked &= ~(related | related.T)
    for signature in model.exclude_signature.tolist():
        excluded = (model.geom_bodyid == signature >> 16)[:, None] & (model.geom_bodyid == signature & 0xFFFF)
        checked &= ~(excluded | excluded.T)
    checked[model.pair_geom1, model.pair_geom2] = checked[model.pair_geom2, model.pair_geom1] = True
    return np.argwhere(np.triu(checked, 1))


def _solid_geoms(model: Any) -> IntArray:
    """Return the geoms that may collide, sorted by their bodies."""
    solid = (model.geom_contype | model.geom_conaffinity) != 0
    solid[model.pair_geom1] = solid[model.pair_geom2] = True
    return np.flatnonzero(solid)


def _joints(model: Any, body: int, links: list[str]) -> Iterator[Joint]:
    """Yield the joints between the parent of a body and the body; several are a chain of links without geometry."""
    parent, link = links[model.body_parentid[body]], links[body]
    origin = _pose_at(model.body_pos[body], model.body_quat[body])
    own = range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
    kinds = {int(model.jnt_type[joint]) for joint in own}
    if model.body_mocapid[body] >= 0 or kinds & {int(_TYPE.mjJNT_FREE), int(_TYPE.mjJNT_BALL)}:
        yield _joint(f"{link}/pose", "floating", parent, link, np.eye(4))
        return
    for joint in own:
        name, axis, start = _name(model, "joint", joint), model.jnt_axis[joint], model.qpos0[model.jnt_qposadr[joint]]
        limits = tuple(map(float, model.jnt_range[joint])) if model.jnt_limited[joint] else (-np.inf, np.inf)
        child = f"{link}/{name}"
        if int(model.jnt_type[joint]) == _TYPE.mjJNT_SLIDE:
            yield _joint(name, "prismatic", parent, child, origin @ _translation(-start * axis), axis, limits)
            origin = np.eye(4)
        else:  # a rotation about an axis through the anchor
            anchor, kind = model.jnt_pos[joint], "revolute" if model.jnt_limited[joint] else "continuous"
            turn = RigidTransform.from_rotation(Rotation.from_rotvec(-start * axis)).as_matrix()
            yield _joint(name, kind, parent, child, origin @ _translation(anchor) @ turn, axis, limits)
            origin = _translation(-anchor)
        parent = child
    yield _joint(f"{link}/fixed", "fixed", parent, link, origin)


def _joint(
    name: str,
    kind: str,
    parent: str,
    child: str,
    origin: FloatArray,
    axis: FloatArray = _Z,
    limits: tuple[float, ...] = (-np.inf, np.inf),
) -> Joint:
    return Joint(name, kind, parent, child, origin, axis / np.linalg.norm(axis), (limits[0], limits[1]), None)


def _hull_vertices(model: Any, mesh: int) -> FloatArray:
    """Return the vertices of the convex hull of a mesh that MuJoCo collides, or all if it has none."""
    vertices = model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]].astype(np.float64)
    at = int(model.mesh_graphadr[mesh])
    if at < 0:
        return vertices
    count = int(model.mesh_graph[at])  # numvert, numface, vert_edgeadr[numvert], vert_globalid[numvert], ...
    return vertices[model.mesh_graph[at + 2 + count : at + 2 + 2 * count]]


def _terrain(model: Any, field: int) -> Mesh:
    """Return the solid of a height field."""
    shape = int(model.hfield_nrow[field]), int(model.hfield_ncol[field])
    x, y, top, base = model.hfield_size[field]
    heights = top * model.hfield_data[model.hfield_adr[field] :][: math.prod(shape)].astype(np.float64)
    return Mesh.from_heights(heights.reshape(shape), (2.0 * x, 2.0 * y), -base)


def _name(model: Any, kind: str, number: int) -> str:
    """Return the name of a body or joint."""
    return getattr(model, kind)(number).name or f"{kind} {number}"


def _pose_at(position: FloatArray, quaternion: FloatArray) -> FloatArray:
    return _pose(position, Rotation.from_quat(quaternion, scalar_first=True).as_matrix())


def _pose(position: FloatArray, rotation: FloatArray) -> FloatArray:
    pose = np.zeros((*position.shape[:-1], 4, 4))
    pose[..., :3, :3], pose[..., :3, 3], pose[..., 3, 3] = rotation.reshape(*position.shape, 3), position, 1.0
    return pose


def _translation(translation: FloatArray) -> FloatArray:
    pose = np.eye(4)
    pose[:3, 3] = translation
    return pose
