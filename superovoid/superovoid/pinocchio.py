# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Models of pinocchio: distances of their collision pairs, with derivatives in their tangent space.

``from superovoid.pinocchio import CollisionDistances``. Pinocchio computes the kinematics, so that all its joints are
allowed, the engine the distances. The rate of a distance is n . (velocity of B's point - velocity of A's), each point
fixed to its joint: with the spatial velocities (v, w) of pinocchio's frame ``WORLD``, which are those at the origin,
n . (v + w x p) = (n, p x n) . (v, w).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from superovoid.bridging import framework
from superovoid.contact import DistanceResults, distances
from superovoid.shapes import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    Shape,
    Shell,
    Sphere,
)

if TYPE_CHECKING:
    import coal
    import pinocchio
else:
    pinocchio = framework("pinocchio", "pinocchio")
    coal = framework("coal", "pinocchio")

FloatArray = NDArray[np.float64]


class PairDistances(NamedTuple):
    """Distances of the collision pairs of a geometry model, one row a pair."""

    results: DistanceResults
    """In the world."""
    by_velocity: FloatArray
    """Derivatives by the velocity, shape (pairs, model.nv): the rate of a distance is ``by_velocity @ v``, and the
    distance at ``pinocchio.integrate(model, q, v)`` is ``distance + by_velocity @ v`` to first order."""


class CollisionDistances:
    """Signed distances of all collision pairs of a geometry model.

    Parameters
    ----------
    model : pinocchio.Model
    geometry_model : pinocchio.GeometryModel
        Its geometries and pairs are read here; changes later have no effect.
    meshes : {"triangles", "hull"}
        Body of a mesh: the solid that its triangles bound, or the triangles alone if they are not closed; or its hull.
    threads : int, optional
        As for `superovoid.distances`.

    Raises
    ------
    ValueError
        If a geometry has no shape of this library (planes, octrees), or is swept by a sphere.
    """

    def __init__(
        self, model: Any, geometry_model: Any, *, meshes: str = "triangles", threads: int | None = None
    ) -> None:
        if meshes not in ("triangles", "hull"):
            raise ValueError(f"meshes = {meshes!r}: must be 'triangles' or 'hull'")
        self._model, self._geometry_model, self._threads = model, geometry_model.copy(), threads
        objects = list(geometry_model.geometryObjects)
        self.shapes = tuple(_shape(each, meshes) for each in objects)
        """The shape of each geometry."""
        self._placements = np.array([_placement(each.geometry) for each in objects]).reshape(-1, 4, 4)
        self._joints = np.array([each.parentJoint for each in objects], dtype=np.int64)
        pairs = [(pair.first, pair.second) for pair in geometry_model.collisionPairs]
        self._a, self._b = np.array(pairs, dtype=np.int64).reshape(-1, 2).T

    def __call__(self, data: Any, geometry_data: Any, q: FloatArray) -> PairDistances:
        """Compute the distances in a configuration.

        Parameters
        ----------
        data, geometry_data : pinocchio.Data, pinocchio.GeometryData
            Changed as by `pinocchio.computeJointJacobians` and `pinocchio.updateGeometryPlacements`.
        q : (model.nq,) ndarray
            The configuration.

        Returns
        -------
        PairDistances
            In the order of ``geometry_model.collisionPairs``, whether a pair is active or not.
        """
        pinocchio.computeJointJacobians(self._model, data, q)
        pinocchio.updateGeometryPlacements(self._model, data, self._geometry_model, geometry_data)
        world = np.array([each.homogeneous for each in geometry_data.oMg]).reshape(-1, 4, 4) @ self._placements
        a, b = ([self.shapes[i] for i in side.tolist()] for side in (self._a, self._b))
        found = distances(a, world[self._a], b, world[self._b], threads=self._threads)
        of_joints = np.zeros((self._model.njoints, 6, self._model.nv))  # joint 0 is the world, which does not move
        for joint in np.unique(self._joints[self._joints > 0]).tolist():
            of_joints[joint] = pinocchio.getJointJacobian(self._model, data, joint, pinocchio.WORLD)
        by_velocity = np.zeros((len(found), self._model.nv))
        for sign, side, point in ((-1.0, self._a, found.point_a), (1.0, self._b, found.point_b)):
            row = np.concatenate([found.normal, np.cross(point, found.normal)], axis=1)
            by_velocity += sign * np.einsum("pi,piv->pv", row, of_joints[self._joints[side]])
        return PairDistances(found, by_velocity)


def _shape(geometry_object: Any, meshes: str) -> Shape:
    """Return the shape of a geometry in its frame, turned by `_placement`."""
    shape = geometry_object.geometry
    if getattr(shape, "getSweptSphereRadius", float)():
        raise ValueError(f"geometry {geometry_object.name!r}: a body swept by a sphere has no shape of this library")
    if isinstance(shape, coal.Box):
        return Box(2.0 * shape.halfSide)
    if isinstance(shape, coal.Sphere):
        return Sphere(shape.radius)
    if isinstance(shape, coal.Ellipsoid):
        return Ellipsoid(shape.radii)
    for kind, ours in ((coal.Capsule, Capsule), (coal.Cylinder, Cylinder), (coal.Cone, Cone)):
        if isinstance(shape, kind):
            return ours(shape.radius, 2.0 * shape.halfLength)
    if isinstance(shape, coal.Halfspace):
        return HalfSpace()
    if isinstance(shape, coal.ConvexBase):
        return ConvexMesh(np.array(shape.points()))
    if isinstance(shape, coal.BVHModelBase):
        vertices = np.array(shape.vertices())
        if meshes == "hull":
            return ConvexMesh(vertices)
        faces = [[shape.tri_indices(i)[k] for k in range(3)] for i in range(shape.num_tris)]
        try:
            return Mesh.from_triangles(vertices, faces)
        except ValueError:  # not closed
            return Shell.from_triangles(vertices, faces)
    if isinstance(shape, coal.HeightFieldAABB | coal.HeightFieldOBBRSS):  # its rows descend along y
        heights, lengths = np.array(shape.getHeights())[::-1], (shape.getXDim(), shape.getYDim())
        return Mesh.from_heights(heights, lengths, shape.getMinHeight())
    kind = type(shape).__name__
    raise ValueError(f"geometry {geometry_object.name!r}: {kind} has no shape of this library")


def _placement(shape: Any) -> FloatArray:
    """Return the pose of our shape in the frame of a geometry: the identity but for a half-space n . x <= d."""
    pose = np.eye(4)
    if isinstance(shape, coal.Halfspace):
        pose[:3, :3] = Rotation.align_vectors([shape.n], [(0.0, 0.0, 1.0)])[0].as_matrix()
        pose[:3, 3] = shape.d * shape.n
    return pose
