# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Other libraries' signed distance, each behind the same small adapter.

An adapter has one kind of geometry (`Geometry`) and one setting of tolerances. It converts pairs to callables that each
make one query and return the signed distance of the library without corrections: exceptions propagate, sentinels are
returned. The constructor raises ImportError if the library is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from superovoid import Superovoid, distance
from superovoid.contact.columns import RESULT
from superovoid.shapes.superovoid import even_angles
from superovoid_papers.benchmarks.engine_speed import Pairs, two_spheres

FloatArray = NDArray[np.float64]
Query = Callable[[], float]

TIGHT = 1e-10
_TIGHT_ITERATIONS = 1000


class Geometry(Enum):
    """Representation of a body in a library."""

    EXACT = "exact"
    ELLIPSOID = "ellipsoid"
    HULL_290 = "hull 290"
    HULL_5002 = "hull 5002"

    @property
    def meridians(self) -> int:
        """Number of meridians of the hull's mesh; half as many parallels and two poles make the vertices."""
        return {Geometry.HULL_290: 24, Geometry.HULL_5002: 100}[self]


@dataclass(frozen=True)
class Pair:
    """Two posed bodies."""

    a: Superovoid
    b: Superovoid
    pose_a: FloatArray
    pose_b: FloatArray
    meshes: dict[tuple[int, Geometry], tuple[FloatArray, FloatArray]] = field(default_factory=dict, repr=False)

    @property
    def bodies(self) -> tuple[tuple[Superovoid, FloatArray], tuple[Superovoid, FloatArray]]:
        """Return both bodies with their poses."""
        return (self.a, self.pose_a), (self.b, self.pose_b)

    def hull(self, side: int, geometry: Geometry) -> tuple[FloatArray, FloatArray]:
        """Return vertices (n, 3), m, and outward triangles (m, 3) of a body's mesh hull, shared by all libraries."""
        key = side, geometry
        if key not in self.meshes:
            self.meshes[key] = convex_hull(surface_points(self.bodies[side][0], geometry.meridians))
        return self.meshes[key]


class Adapter(Protocol):
    """Interface of a library for the benchmark."""

    def queries(self, pairs: Sequence[Pair]) -> list[Query]:
        """Return one callable per pair."""

    def overhead(self) -> Query | None:
        """Return a query that computes almost nothing (two spheres), to time the binding; None if there is none."""


def surface_points(body: Superovoid, meridians: int) -> FloatArray:
    """Return surface points, even in arc length: `meridians` by half as many parallels, and the two poles."""
    eta = even_angles(body.profile_exponent, meridians // 2 + 2, half=True)[1:-1]
    omega = even_angles(body.section_exponent, meridians + 1, half=False)[:-1]
    poles = body.surface_point([-0.5 * np.pi, 0.5 * np.pi], [0.0, 0.0])
    return np.vstack([body.surface_point(eta[:, None], omega[None, :]).reshape(-1, 3), poles])


def convex_hull(points: FloatArray) -> tuple[FloatArray, NDArray[np.int32]]:
    """Return vertices and triangles of the hull of points, counter-clockwise seen from outside."""
    hull = ConvexHull(points)
    number = np.full(len(points), -1)
    number[hull.vertices] = np.arange(len(hull.vertices))
    corners = points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0.0
    faces = hull.simplices.copy()
    faces[inward] = faces[inward][:, ::-1]
    return points[hull.vertices], number[faces].astype(np.int32)


class OurEngine:
    """`superovoid.distance`, called from Python."""

    def queries(self, pairs: Sequence[Pair]) -> list[Query]:
        """Return queries that include the construction of the result object."""

        def query(pair: Pair) -> float:
            return distance(pair.a, pair.pose_a, pair.b, pair.pose_b).distance

        return [partial(query, pair) for pair in pairs]

    def overhead(self) -> None:
        """Return None; a comparison with `OursCompiled` shows it."""


class OursCompiled:
    """The same engine's compiled loop over packed bodies, one pair per call, always from a cold start."""

    def queries(self, pairs: Sequence[Pair]) -> list[Query]:
        """Return queries of a loop of length one."""
        rows = [
            [(*body.semi_axes, body.section_exponent, body.profile_exponent, *body.taper) for body in (pair.a, pair.b)]
            for pair in pairs
        ]
        poses = [[pair.pose_a, pair.pose_b] for pair in pairs]
        packed = Pairs(np.array(rows).swapaxes(0, 1), np.array(poses).swapaxes(0, 1))

        def query(i: int) -> float:
            packed.states[i] = 0.0
            packed.solve(i, i + 1)
            return packed.out[i, RESULT.distance]

        return [partial(query, i) for i in range(len(pairs))]

    def overhead(self) -> Query:
        """Return a query of two spheres."""
        spheres = two_spheres()

        def query() -> float:
            spheres.states[0] = 0.0
            spheres.solve(0, 1)
            return spheres.out[0, RESULT.distance]

        return query


class Coal:
    """Coal (formerly hpp-fcl): GJK and EPA in C++, bound to Python by Boost."""

    def __init__(self, geometry: Geometry, tight: bool = False) -> None:
        import coal

        self.module = coal
        self._geometry = geometry
        self._request = coal.DistanceRequest()
        if tight:
            self._request.gjk_tolerance = self._request.epa_tolerance = TIGHT
            self._request.gjk_max_iterations = self._request.epa_max_iterations = _TIGHT_ITERATIONS

    def _shape(self, pair: Pair, side: int) -> object:
        if self._geometry is Geometry.ELLIPSOID:
            return self.module.Ellipsoid(*pair.bodies[side][0].semi_axes)
        return self.convex(*pair.hull(side, self._geometry))

    def convex(self, vertices: FloatArray, triangles: NDArray[np.int32]) -> object:
        """Return Coal's convex polyhedron."""
        return self.module.Convex(*self._vectors(vertices, triangles))

    def surface(self, vertices: FloatArray, triangles: NDArray[np.int64]) -> object:
        """Return Coal's tree of triangles: a surface, not a solid."""
        model = self.module.BVHModelOBBRSS()
        model.beginModel(len(triangles), len(vertices))
        model.addSubModel(*self._vectors(vertices, triangles))
        model.endModel()
        return model

    def _vectors(self, vertices: FloatArray, triangles: NDArray[np.integer]) -> tuple[object, object]:
        points, faces = self.module.StdVec_Vec3s(), self.module.StdVec_Triangle()
        for vertex in np.asarray(vertices):
            points.append(vertex)
        for corners in np.asarray(triangles).tolist():
            faces.append(self.module.Triangle(*corners))
        return points, faces

    def query(self, shape_a: object, pose_a: FloatArray, shape_b: object, pose_b: FloatArray) -> Query:
        """Return a query of two of Coal's shapes."""
        coal, request, result = self.module, self._request, self.module.DistanceResult()
        at_a, at_b = (coal.Transform3s(pose[:3, :3].copy(), pose[:3, 3].copy()) for pose in (pose_a, pose_b))

        def query() -> float:
            result.clear()
            return coal.distance(shape_a, at_a, shape_b, at_b, request, result)

        return query

    def tolerance_query(
        self, shape_a: object, pose_a: FloatArray, shape_b: object, pose_b: FloatArray, threshold: float
    ) -> Callable[[], bool]:
        """Return a query whether two of Coal's shapes are closer than a tolerance, m: PQP's tolerance query."""
        coal, request, result = self.module, self.module.CollisionRequest(), self.module.CollisionResult()
        request.security_margin = threshold
        at_a, at_b = (coal.Transform3s(pose[:3, :3].copy(), pose[:3, 3].copy()) for pose in (pose_a, pose_b))

        def query() -> bool:
            result.clear()
            return coal.collide(shape_a, at_a, shape_b, at_b, request, result) > 0

        return query

    def queries(self, pairs: Sequence[Pair]) -> list[Query]:
        """Return queries with signed distance, normal and nearest points."""
        return [self.query(self._shape(p, 0), p.pose_a, self._shape(p, 1), p.pose_b) for p in pairs]

    def overhead(self) -> Query:
        """Return a query of two spheres."""
        return self.query(self.module.Sphere(1.0), np.eye(4), self.module.Sphere(1.0), _three_metres_off())


class PythonFcl:
    """FCL 0.7 through python-fcl: libccd's GJK and EPA, whose tolerance the binding does not expose."""

    def __init__(self, geometry: Geometry) -> None:
        import fcl

        self._fcl = fcl
        self._geometry = geometry
        self._request = fcl.DistanceRequest(enable_nearest_points=True, enable_signed_distance=True)

    def _shape(self, pair: Pair, side: int) -> object:
        if self._geometry is Geometry.ELLIPSOID:
            return self._fcl.Ellipsoid(*pair.bodies[side][0].semi_axes)
        vertices, triangles = pair.hull(side, self._geometry)
        faces = np.insert(triangles, 0, 3, axis=1).ravel()
        return self._fcl.Convex(vertices, len(triangles), faces)

    def surface(self, vertices: FloatArray, triangles: NDArray[np.integer]) -> object:
        """Return FCL's tree of triangles, from that of PQP: a surface, not a solid."""
        model = self._fcl.BVHModel()
        model.beginModel(len(vertices), len(triangles))
        model.addSubModel(np.array(vertices), np.array(triangles))
        model.endModel()
        return model

    def _objects(self, *placed: tuple[object, FloatArray]) -> list[object]:
        transform = self._fcl.Transform
        return [
            self._fcl.CollisionObject(shape, transform(pose[:3, :3].copy(), pose[:3, 3].copy()))
            for shape, pose in placed
        ]

    def query(self, shape_a: object, pose_a: FloatArray, shape_b: object, pose_b: FloatArray) -> Query:
        """Return a query of two of FCL's shapes."""
        fcl, request = self._fcl, self._request
        a, b = self._objects((shape_a, pose_a), (shape_b, pose_b))
        return lambda: fcl.distance(a, b, request, fcl.DistanceResult())

    def collision(self, shape_a: object, pose_a: FloatArray, shape_b: object, pose_b: FloatArray) -> Query:
        """Return a query that only decides whether two of FCL's shapes have common points: their number, at most 1."""
        fcl, request = self._fcl, self._fcl.CollisionRequest()
        a, b = self._objects((shape_a, pose_a), (shape_b, pose_b))
        return lambda: fcl.collide(a, b, request, fcl.CollisionResult())

    def queries(self, pairs: Sequence[Pair]) -> list[Query]:
        """Return queries with signed distance and nearest points."""
        return [self.query(self._shape(p, 0), p.pose_a, self._shape(p, 1), p.pose_b) for p in pairs]

    def overhead(self) -> Query:
        """Return a query of two spheres."""
        return self.query(self._fcl.Sphere(1.0), np.eye(4), self._fcl.Sphere(1.0), _three_metres_off())


class MuJoCo:
    """MuJoCo's mj_geomDistance: its own GJK and EPA in C. It stores vertices of meshes in single precision."""

    def __init__(self, geometry: Geometry, tight: bool = False) -> None:
        import mujoco

        self._mujoco = mujoco
        self._geometry = geometry
        self._tight = tight

    def _add(self, spec: object, shape: tuple[FloatArray, FloatArray] | FloatArray | float, name: str) -> None:
        """Add a body with one geom: a hull (vertices, triangles), an ellipsoid (semi-axes) or a sphere (radius)."""
        kinds = self._mujoco.mjtGeom
        geom = spec.worldbody.add_body().add_geom()
        if isinstance(shape, tuple):
            mesh = spec.add_mesh(name=name)
            mesh.uservert, mesh.userface = shape[0].ravel(), shape[1].ravel()
            geom.type, geom.meshname = kinds.mjGEOM_MESH, name
        elif isinstance(shape, float):
            geom.type, geom.size = kinds.mjGEOM_SPHERE, [shape, 0.0, 0.0]
        else:
            geom.type, geom.size = kinds.mjGEOM_ELLIPSOID, shape

    def _queries(self, shapes: Sequence[object], poses: Sequence[FloatArray]) -> list[Query]:
        """Return queries i of geoms 2i and 2i + 1; write poses in the place of MuJoCo's kinematics."""
        mujoco = self._mujoco
        spec = mujoco.MjSpec()
        for i, shape in enumerate(shapes):
            self._add(spec, shape, f"mesh_{i}")
        model = spec.compile()
        if self._tight:
            model.opt.ccd_tolerance, model.opt.ccd_iterations = TIGHT, _TIGHT_ITERATIONS
        data = mujoco.MjData(model)
        for i, pose in enumerate(poses):
            rotation, position = np.eye(3).ravel(), np.zeros(3)
            if model.geom_dataid[i] >= 0:  # The compiler transforms a mesh to its principal axes.
                mujoco.mju_quat2Mat(rotation, model.mesh_quat[model.geom_dataid[i]])
                position = model.mesh_pos[model.geom_dataid[i]]
            data.geom_xmat[i] = (pose[:3, :3] @ rotation.reshape(3, 3)).ravel()
            data.geom_xpos[i] = pose[:3, :3] @ position + pose[:3, 3]
        points = np.zeros(6)
        return [
            partial(mujoco.mj_geomDistance, model, data, 2 * i, 2 * i + 1, 1e6, points) for i in range(len(poses) // 2)
        ]

    def queries(self, pairs: Sequence[Pair]) -> list[Query]:
        """Return queries with signed distance and nearest points."""
        shapes = [
            np.array(body.semi_axes) if self._geometry is Geometry.ELLIPSOID else pair.hull(side, self._geometry)
            for pair in pairs
            for side, (body, _) in enumerate(pair.bodies)
        ]
        return self._queries(shapes, [pose for pair in pairs for _, pose in pair.bodies])

    def overhead(self) -> Query:
        """Return a query of two spheres."""
        return self._queries([1.0, 1.0], [np.eye(4), _three_metres_off()])[0]


class Distance3d:
    """distance3d: GJK (after Jolt) and EPA in Python with numba kernels.

    Its default tolerances are 1e-10 and 1e-8; `tight` gives EPA more room, which otherwise stops at 64 faces.
    """

    def __init__(self, geometry: Geometry, tight: bool = False) -> None:
        from distance3d import colliders, epa, gjk

        room = {"max_iter": _TIGHT_ITERATIONS, "max_faces": 4096, "max_loose_edges": 1024} if tight else {}
        self._colliders, self._epa, self._gjk = colliders, partial(epa.epa, **room), gjk.gjk
        self._geometry = geometry

    def _shape(self, pair: Pair, side: int) -> object:
        body, pose = pair.bodies[side]
        if self._geometry is Geometry.ELLIPSOID:
            return self._colliders.Ellipsoid(pose, np.array(body.semi_axes))
        vertices, triangles = pair.hull(side, self._geometry)
        return self._colliders.MeshGraph(pose, vertices, triangles)

    def queries(self, pairs: Sequence[Pair]) -> list[Query]:
        """Return queries as in its manual: GJK, then EPA if GJK finds contact."""

        def query(a: object, b: object) -> float:
            separation, _, _, simplex = self._gjk(a, b)
            if separation > 0.0:
                return separation
            translation, _, _ = self._epa(simplex, a, b)
            return -float(np.linalg.norm(translation))

        return [partial(query, self._shape(pair, 0), self._shape(pair, 1)) for pair in pairs]

    def overhead(self) -> None:
        """Return None: it is Python throughout."""


def _three_metres_off() -> FloatArray:
    pose = np.eye(4)
    pose[0, 3] = 3.0
    return pose
