# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects of the public classes: pickles, copies, comparison and printing."""

import copy
import enum
import importlib
import inspect
import pickle
from functools import cache

import numpy as np
import pytest
import trimesh

import superovoid as api
from superovoid import contact, fitting, planning, robot, scene, shapes, states
from superovoid.planning.timing import MotionLimits
from superovoid.values.records import Record
from superovoid_papers.methods import goncalves2017, lopes2010, lower_bound, sohn2002, wellmann2008
from superovoid_papers.methods.result import unproven_result

MODULES = [contact, fitting, planning, robot, scene, shapes, states]
MODULES += [goncalves2017, lopes2010, lower_bound, sohn2002, wellmann2008]
try:
    from superovoid_ros import client
except ImportError:  # without ROS
    client = None
else:
    MODULES.append(client)

ARM = """
<robot name="arm"><link name="base"><contact_geometry><sphere radius="0.1"/></contact_geometry></link>
  <link name="rod"><contact_geometry><sphere radius="0.05"/></contact_geometry></link>
  <link name="tip"><contact_geometry><superovoid size="0.1 0.1 0.2" epsilon="0.9 0.8" taper="0.1 0.1"/>
  </contact_geometry></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="slide" type="prismatic"><parent link="rod"/><child link="tip"/><axis xyz="1 0 0"/>
    <limit lower="0.5" upper="1" effort="1" velocity="1"/></joint></robot>
"""
TETRAHEDRON = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


def at(x):
    pose = np.eye(4)
    pose[0, 3] = x
    return pose


A, B = (
    api.Superovoid((0.1, 0.1, 0.2), section_exponent=0.9, profile_exponent=0.8, taper=(0.1, 0.1)),
    api.Ellipsoid((0.1, 0.2, 0.1)),
)


@cache
def arm():
    made = api.Robot.load(ARM)
    return made


def placed_scene():
    found = arm().scene()
    found.set_link_poses(arm().forward_kinematics([0.0, 0.5]))
    return found


def found_distances():
    return api.distances(A, np.eye(4), B, [at(0.3), at(0.5)])


def query():
    asked = api.StateQuery(arm(), arm().scene(), gradients=True)
    asked([[0.0, 0.5]])
    return asked


def world():
    edit = robot.PlanningScene(arm()).edit()
    edit.add("egg", [A], [np.eye(4)], at(2.0))
    edit.attach("egg", "tip", at(0.2), ["rod"])
    edit.padding = robot.Padding({"tip": 0.01})
    edit.set_runtime("tip", "base", False, "as the test wants")
    return edit.commit()


@cache
def problem():
    return planning.PlanningProblem(arm(), ("turn", "slide"), {}, obstacles=(api.Body("o", "o", B, at(-3.0)),))


@cache
def grouped_robot():
    srdf = '<robot name="arm"><group name="all"><joint name="turn"/><joint name="slide"/></group></robot>'
    return api.Robot.load(ARM, srdf=srdf)


def planner():
    return planning.GroupPlanner(grouped_robot(), "all")


@cache
def fit():
    points = api.Ellipsoid((0.1, 0.2, 0.1)).tessellate(12)
    return fitting.fit_superellipsoid(points, samples=100)


@cache
def mesh_fit():
    return fitting.fit_mesh(trimesh.Trimesh(TETRAHEDRON, FACES, process=False), bodies=1, kinds=("box",))


@cache
def robot_fit():
    return fitting.fit_robot(ARM)


@cache
def fitted_pairs():
    return fitting.fitted_pairs(robot_fit(), search=fitting.PairSearch(states=10, max_evaluations=100))


def answer():
    nothing = np.zeros((1, 3))
    return client.Distances(
        done=1,
        first=np.array([0, 1]),
        bodies=("a", "b"),
        links=("left", "right"),
        body_a=np.array([0]),
        body_b=np.array([1]),
        distance=np.array([0.1]),
        lower=np.array([0.1]),
        upper=np.array([0.1]),
        status=np.array([0], dtype=np.uint8),
        point_a=nothing,
        point_b=nothing,
        normal=nothing,
        gradients=None,
        gradient_joints=(),
        base_gradients=None,
        gradient_bases=(),
        frame="base",
        stamp=0,
        stale=False,
        message="",
    )


def polyhedron():
    return lower_bound.Polyhedron.from_trimesh(trimesh.Trimesh(TETRAHEDRON, FACES, process=False))


def quadric():
    return lopes2010.Superquadric.superellipsoid((0.1, 0.1, 0.1), (2.0, 2.0, 4.0))


# Functions that create an object of each public class and of returned classes; text: the reason for none.
MADE = {
    "AllowedCollisionMatrix": lambda: robot.AllowedCollisionMatrix.from_rows(["a", "b"], [[0, 1], [1, 0]]),
    "ApplicablePairs": lambda: lower_bound.applicable_pairs(polyhedron(), polyhedron(), np.eye(3)),
    "BaseJoint": lambda: planning.BaseJoint("x", "prismatic", (1.0, 0.0, 0.0), 0.0, 1.0),
    "Body": lambda: placed_scene().bodies[0],
    "BoundingBox": lambda: A.obb(),
    "BoundingSphere": lambda: A.bounding_sphere(),
    "Box": lambda: api.Box((2.0, 4.0, 6.0)),
    "Capsule": lambda: api.Capsule(1.0, 2.0),
    "Clearances": lambda: planning.SceneValidity(problem()).clearances(np.array([[0.0, 0.5]]), np.ones(1), True),
    "CloudFit": lambda: fitting.fit_points(api.Sphere(1.0).triangles(12)[0], kinds=("capsule",)),
    "CollisionRules": lambda: world().rules,
    "CommonNormals": lambda: sohn2002.common_normals(B, np.eye(4), B, at(1.0)),
    "Cone": lambda: api.Cone(1.0, 2.0),
    "ContactSet": lambda: api.contacts(api.Box((2.0, 4.0, 6.0)), np.eye(4), api.HalfSpace(), at(-3.0), 0.1),
    "Compound": lambda: api.Compound([(api.Sphere(0.1), at(0.3)), (api.ConvexMesh(TETRAHEDRON), at(0.0))]),
    "ConvexMesh": lambda: api.ConvexMesh(TETRAHEDRON),
    "ConvexityReport": lambda: A.convexity(),
    "Cylinder": lambda: api.Cylinder(1.0, 2.0),
    "Derivatives": lambda: api.derivatives(A, np.eye(4), B, at(0.3), found_distances()[0]),
    "DistanceClient": "has a node of its process",
    "DistanceGradients": lambda: arm().distance_gradients(placed_scene().query(), [0.0, 0.5]),
    "DistanceHessians": lambda: arm().distance_hessians(placed_scene(), placed_scene().query(), [0.0, 0.5]),
    "DistanceResult": lambda: found_distances()[0],
    "DistanceResults": found_distances,
    "DistanceRow": lambda: answer()[0],
    "Distances": answer,
    "Edit": lambda: world().edit(),
    "Ellipsoid": lambda: B,
    "Fit": fit,
    "FitReport": lambda: fit().report,
    "FittedBody": lambda: mesh_fit().bodies[0],
    "FittedPairs": fitted_pairs,
    "FreeForm": lambda: sohn2002.FreeForm([[(0, 0, 0), (0, 1, 0)], [(1, 0, 0), (1, 1, 0)]]),
    "GoalRegion": planning.GoalRegion,
    "GroupPlanner": lambda: planner(),
    "JumpLimits": planning.JumpLimits,
    "Group": lambda: grouped_robot().group("all"),
    "GoncalvesResult": lambda: goncalves2017.distance(A, np.eye(4), B, at(0.5)),
    "PointDistances": lambda: api.point_distances([A, B], np.eye(3), [at(0.0), at(0.5)]),
    "PointDistance": lambda: api.point_distances(A, np.eye(3))[0],
    "RayHits": lambda: api.cast_rays(A, (0.0, 0.0, 9.0), -np.eye(3)),
    "RayHit": lambda: api.cast_rays(A, (0.0, 0.0, 9.0), -np.eye(3))[2],
    "Impacts": lambda: api.time_of_impact(A, [at(0.3), at(0.5)], B, np.eye(4)),
    "Impact": lambda: api.time_of_impact(A, api.Motion(np.eye(4), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)), B, at(0.5)),
    "LinkFit": lambda: robot_fit().links[0],
    "LinkOptions": lambda: robot_fit().options,
    "Limits": robot.Limits,
    "Joint": lambda: arm().joints["turn"],
    "LowerBoundResult": lambda: lower_bound.lower_bound(polyhedron(), np.eye(4), polyhedron(), at(3.0)),
    "Material": lopes2010.Material,
    "Mesh": lambda: api.Mesh(TETRAHEDRON, FACES),
    "PairReport": lambda: fitted_pairs().report,
    "PairSearch": fitting.PairSearch,
    "PlannerStudy": lambda: fitting.study_planner(robot_fit(), states=10),
    "RobotCheck": lambda: fitting.check_robot(ARM),
    "Shell": lambda: api.Shell(TETRAHEDRON, FACES[:2]),
    "MeshFit": mesh_fit,
    "MeshPair": "has models of FCL",
    "MethodResult": lambda: unproven_result(1.0, np.zeros(3), np.ones(3), np.eye(3)[0], 3, True),
    "Motion": lambda: api.Motion.at_rest(at(1.0)),
    "MotionLimits": lambda: MotionLimits([1.0], [2.0]),
    "MotionCheck": lambda: planning.MotionValidator(problem(), planning.SceneValidity(problem())).check_state([0, 0.6]),
    "MotionValidator": lambda: planning.MotionValidator(problem(), planning.SceneValidity(problem())),
    "Octree": lambda: robot.Octree(bytes([0, 0]), 0.1, True),
    "Padding": lambda: robot.Padding({"tip": 0.01}, 0.02),
    "PairResult": lambda: placed_scene().query()[0],
    "Pairs": lambda: goncalves2017.Pairs([A], [np.eye(4)], [B], [at(0.5)]),
    "HalfSpace": api.HalfSpace,
    "PlanningProblem": problem,
    "PlanningScene": world,
    "Polyhedron": polyhedron,
    "PoseRegion": lambda: planning.PoseRegion("tip", np.eye(3), [(at(1.0), B)]),
    "PoseGoal": lambda: planning.PoseGoal("tip", at(1.0)),
    "PoseGradients": lambda: api.pose_gradients(found_distances(), np.eye(4), [at(0.3), at(0.5)]),
    "Quality": lambda: mesh_fit().quality,
    "Quadric": lambda: lopes2010.Quadric.ellipsoid((0.1, 0.2, 0.3)),
    "RigidBody": lambda: lopes2010.RigidBody(quadric(), at(1.0)),
    "RobotFit": robot_fit,
    "Robot": arm,
    "Scene": placed_scene,
    "SceneObject": lambda: world().objects["egg"],
    "SceneProblem": lambda: planner().problem({"turn": 0.0, "slide": 0.5}),
    "SceneResult": lambda: placed_scene().query(),
    "SceneValidity": lambda: planning.SceneValidity(problem()),
    "Search": planning.Search,
    "Shape": "is what all shapes have in common",
    "ShapeArray": lambda: api.ShapeArray(api.Sphere, [1.0, 2.0]),
    "Sphere": lambda: api.Sphere(1.0),
    "StateDistances": lambda: query()([[0.0, 0.5], [0.1, 0.6]]),
    "StateQuery": query,
    "StateVerdicts": lambda: api.are_states_closer(arm(), arm().scene(), [[0.0, 0.5]], 0.1),
    "Superellipsoid": lambda: api.Superellipsoid((1.0, 1.0, 2.0), section_exponent=0.5, profile_exponent=0.6),
    "Superovoid": lambda: A,
    "Superquadric": quadric,
    "ThresholdQuery": lambda: api.ThresholdQuery(arm(), arm().scene(), 0.1),
    "Torus": lambda: api.Torus(1.0, 0.2),
    "Validity": "is a protocol",
    "Verdict": lambda: api.are_closer(A, np.eye(4), B, at(0.5), 0.1),
    "WellmannResult": lambda: wellmann2008.distance(A, np.eye(4), B, at(0.5)),
    "Verdicts": lambda: api.are_closer(A, np.eye(4), [B, B], [at(0.3), at(0.5)], 0.1),
}
OF_CLIENT = ("DistanceClient", "DistanceRow", "Distances")


def public_classes():
    names = {}
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and not issubclass(value, BaseException | enum.Enum):
                names[name] = value
    return names


def test_every_public_class_has_an_object_here():
    assert set(public_classes()) <= set(MADE)


@cache
def make(name):
    if name in OF_CLIENT and client is None:
        pytest.skip("without ROS there is no client")
    return MADE[name]()


OBJECTS = [name for name, maker in MADE.items() if callable(maker)]


@pytest.mark.ci
@pytest.mark.parametrize("name", OBJECTS)
def test_objects_of_public_classes_pickle_and_copy(name):
    thing = make(name)
    for other in (pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing), copy.copy(thing)):
        assert type(other) is type(thing)
        if isinstance(thing, Record):
            assert repr(other) == repr(thing)


@pytest.mark.parametrize("name", [name for name in OBJECTS if name not in OF_CLIENT or client])
def test_comparison_gives_a_bool_and_answers_compare_by_value(name):
    thing = make(name)
    other = pickle.loads(pickle.dumps(thing))
    assert isinstance(thing == other, bool) and not thing == "text" and thing == thing
    if type(thing).__eq__ is not object.__eq__:
        assert thing == other
    if isinstance(thing, shapes.Shape | api.Body):
        assert hash(thing) == hash(other)


def test_unpicklable_objects_raise_errors_with_the_reason(monkeypatch):
    if client is not None:
        with pytest.raises(TypeError, match="its node is of this process"):
            pickle.dumps(object.__new__(client.DistanceClient))
    with pytest.raises(TypeError, match="cannot be pickled or copied, like FCL's models"):
        copy.deepcopy(object.__new__(goncalves2017.MeshPair))


def test_unpickled_objects_answer_like_the_originals():
    first = query()
    again = pickle.loads(pickle.dumps(first))
    states = [[0.0, 0.5], [0.3, 0.7]]
    assert again(states) == first(states) and len(again(states))
    one, other = pickle.loads(pickle.dumps(arm())), arm()
    found = [api.state_distances(made, made.scene(), states) for made in (one, other)]
    assert found[0] == found[1]
    before = world()
    after = pickle.loads(pickle.dumps(before))
    assert after.rules.decide("egg", "base").words == before.rules.decide("egg", "base").words
    assert after.padding == before.padding and after.owners == before.owners
    np.testing.assert_array_equal(after.body_pairs(), before.body_pairs())
    with pytest.raises(TypeError):
        after.objects["egg"] = None
    poses = arm().forward_kinematics([0.0, 0.5])
    for planned in (before, after):
        planned.scene.set_link_poses(poses)
    assert before.scene.query() == after.scene.query()
    edit = after.edit()
    edit.remove("egg")
    assert not edit.commit().objects


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.removeprefix("superovoid_ros."))
def test_public_functions_and_methods_have_type_annotations(module):
    missing = []
    for name in module.__all__:
        value = getattr(importlib.import_module(module.__name__), name)
        routines = {name: value} if inspect.isfunction(value) else {}
        if inspect.isclass(value) and not issubclass(value, BaseException | enum.Enum | tuple):
            routines |= {f"{name}.{key}": each for key, each in vars(value).items() if not key.startswith("_")}
        for key, routine in routines.items():
            routine = routine.fget if isinstance(routine, property) else getattr(routine, "__func__", routine)
            routine = getattr(routine, "func", routine)
            if not inspect.isfunction(routine):
                continue
            known = routine.__annotations__
            arguments = [each for each in inspect.signature(routine).parameters if each not in ("self", "cls")]
            missing += [f"{key}({each})" for each in (*arguments, "return") if each not in known]
    assert not missing
