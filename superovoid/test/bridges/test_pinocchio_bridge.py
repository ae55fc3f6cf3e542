# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pinocchio: distances are Coal's; derivatives in the tangent space are those of differences."""

import numpy as np
import pytest

import superovoid
from superovoid.shapes import Box, Mesh, Shell

pinocchio = pytest.importorskip("pinocchio")
coal = pytest.importorskip("coal")
from superovoid.pinocchio import CollisionDistances  # noqa: E402


def mesh(closed):
    vertices, faces = Box((0.2, 0.3, 0.4)).triangles()
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(faces), len(vertices))
    model.addVertices(vertices)
    for face in faces if closed else faces[:-1]:
        model.addTriangle(*(vertices[i] for i in face))
    model.endModel()
    return model


def convex():
    points, faces = Box((0.2, 0.3, 0.4)).triangles()
    vertices, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    vertices.extend(list(points))
    triangles.extend([coal.Triangle(*map(int, face)) for face in faces])
    return coal.Convex(vertices, triangles)


SHAPES = {
    "box": lambda: coal.Box(0.2, 0.3, 0.4),
    "sphere": lambda: coal.Sphere(0.2),
    "ellipsoid": lambda: coal.Ellipsoid(0.1, 0.2, 0.3),
    "capsule": lambda: coal.Capsule(0.1, 0.3),
    "cylinder": lambda: coal.Cylinder(0.1, 0.3),
    "cone": lambda: coal.Cone(0.2, 0.3),
    "half-space": lambda: coal.Halfspace(np.array([0.6, 0.0, 0.8]), -1.5),
    "mesh": lambda: mesh(True),
}


def two_bodies(shape, other):
    """Return a body on a free-flyer, another on a planar joint behind a revolute one, and one pair."""
    model, geometry = pinocchio.Model(), pinocchio.GeometryModel()
    free = model.addJoint(0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), "free")
    turn = model.addJoint(0, pinocchio.JointModelRUBZ(), pinocchio.SE3.Random(), "turn")
    last = model.addJoint(turn, pinocchio.JointModelPlanar(), pinocchio.SE3.Random(), "planar")
    for joint, each in ((free, shape), (last, other)):
        place = pinocchio.SE3.Random()
        place.translation *= 0.1
        geometry.addGeometryObject(pinocchio.GeometryObject(f"of {joint}", joint, place, each))
    geometry.addCollisionPair(pinocchio.CollisionPair(0, 1))
    return model, geometry


def configurations(model, count):
    bounds = np.full(model.nq, 1.5)
    return [pinocchio.randomConfiguration(model, -bounds, bounds) for _ in range(count)]


@pytest.mark.parametrize("kind", SHAPES)
def test_distances_are_those_of_coal_and_derivatives_those_of_differences(kind):
    pinocchio.seed(1)
    model, geometry = two_bodies(SHAPES[kind](), coal.Ellipsoid(0.1, 0.2, 0.3))
    data, geometry_data = model.createData(), geometry.createData()
    ask, apart = CollisionDistances(model, geometry), 0
    for q in configurations(model, 3):
        found = ask(data, geometry_data, q)
        distance = found.results.distance[0]
        if distance > 1e-3:
            apart += 1
            pinocchio.computeDistances(model, data, geometry, geometry_data, q)
            assert distance == pytest.approx(geometry_data.distanceResults[0].min_distance, abs=1e-4)
        if found.results.differentiable[0]:
            for v in 1e-4 * np.eye(model.nv):
                ends = [ask(data, geometry_data, pinocchio.integrate(model, q, w)).results.distance for w in (v, -v)]
                assert (ends[0] - ends[1]) / 2.0 == pytest.approx(found.by_velocity @ v, abs=1e-7)
    assert apart >= 1


def test_a_humanoid_has_the_distances_of_the_engine():
    model = pinocchio.buildSampleModelHumanoid()
    geometry = pinocchio.buildSampleGeometryModelHumanoid(model)
    geometry.addAllCollisionPairs()
    data, geometry_data = model.createData(), geometry.createData()
    ask = CollisionDistances(model, geometry)
    found = ask(data, geometry_data, pinocchio.neutral(model))
    assert found.by_velocity.shape == (len(geometry.collisionPairs), model.nv) and len(found.results) > 50
    for row in range(0, len(found.results), 7):
        pair = geometry.collisionPairs[row]
        a, b = pair.first, pair.second
        expected = superovoid.distance(ask.shapes[a], geometry_data.oMg[a], ask.shapes[b], geometry_data.oMg[b])
        assert abs(found.results.distance[row] - expected.distance) <= 1e-12


def test_meshes_are_solids_if_they_are_closed():
    for closed, kind in ((True, Mesh), (False, Shell)):
        model, geometry = two_bodies(mesh(closed), coal.Sphere(0.1))
        assert type(CollisionDistances(model, geometry).shapes[0]) is kind
    model, geometry = two_bodies(convex(), coal.Sphere(0.1))
    assert CollisionDistances(model, geometry).shapes[0].volume() == pytest.approx(0.024)


def test_a_height_field_is_the_solid_under_it():
    heights = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.9]])
    model, geometry = two_bodies(coal.HeightFieldOBBRSS(2.0, 1.0, heights, -0.1), coal.Sphere(0.1))
    terrain = CollisionDistances(model, geometry).shapes[0]
    assert terrain == Mesh.from_heights(heights[::-1], (2.0, 1.0), -0.1)
    assert terrain.vertices[0].tolist() == [-1.0, -0.5, 0.4]  # the last row of Coal


def test_later_changes_of_a_geometry_model_have_no_effect():
    model, geometry = two_bodies(coal.Box(0.2, 0.3, 0.4), coal.Sphere(0.2))
    ask, data, places = CollisionDistances(model, geometry), model.createData(), geometry.createData()
    q = pinocchio.neutral(model)
    before = ask(data, places, q).results.distance
    geometry.geometryObjects[0].placement = pinocchio.SE3.Random()
    geometry.addGeometryObject(pinocchio.GeometryObject("late", 0, pinocchio.SE3.Identity(), coal.Sphere(0.1)))
    assert ask(data, places, q).results.distance == before


def test_geometries_without_a_shape_are_refused():
    model, geometry = two_bodies(coal.Plane(np.array([0.0, 0.0, 1.0]), 0.0), coal.Sphere(0.1))
    with pytest.raises(ValueError, match="Plane has no shape"):
        CollisionDistances(model, geometry)
