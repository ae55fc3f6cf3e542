# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Scaled links: the scale applies to pairs with world objects only."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from superovoid.planning.scene_problem import scene_problem
from superovoid.planning.validity import SceneValidity
from superovoid.robot import Robot
from superovoid.robot.limits import Limits
from superovoid.robot.planning_scene import Padding, PlanningScene
from superovoid.shapes import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    Sphere,
    Superellipsoid,
    Superovoid,
    Torus,
)
from superovoid.shapes.scaling import scale_shape

LINKS = ("base", "arm", "hand")
RADIUS = {"base": 0.1, "arm": 0.15, "hand": 0.2}
URDF = f"""<robot name="r">
  <link name="base"><collision><geometry><sphere radius="{RADIUS["base"]}"/></geometry></collision></link>
  <joint name="shoulder" type="floating"><parent link="base"/><child link="arm"/></joint>
  <link name="arm"><collision><geometry><sphere radius="{RADIUS["arm"]}"/></geometry></collision></link>
  <joint name="wrist" type="floating"><parent link="arm"/><child link="hand"/></joint>
  <link name="hand"><collision><geometry><sphere radius="{RADIUS["hand"]}"/></geometry></collision></link>
</robot>"""


def at(x, y=0.0, z=0.0):
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


PLACES = {"base": at(0.0), "arm": at(1.0), "hand": at(2.0)}


@pytest.fixture(scope="module")
def robot():
    return Robot.from_urdf(URDF)


def nearest_distances(planning, poses=PLACES):
    """Return the smallest distance by pair of owners."""
    planning.scene.set_link_poses(poses)
    result, found = planning.scene.query(), {}
    for a, b, distance in zip(result.body_a, result.body_b, result.distance, strict=True):
        found.setdefault(frozenset((planning.owners[a], planning.owners[b])), float(distance))
    return found


def with_balls(robot, **places):
    """Return a scene with balls of radius 0.1 m, each in the world or on a link."""
    edit = PlanningScene(robot).edit()
    for name, (place, link) in places.items():
        edit.add(name, [Sphere(0.1)], [np.eye(4)], place, link=link, touch_links=[link] if link else [])
    return edit.commit()


def rescale(planning, **scales):
    edit = planning.edit()
    edit.scales |= scales
    return edit.commit()


def test_scale_applies_to_objects_but_not_to_links(robot):
    plain = with_balls(robot, ball=(at(2.0, 1.0), None))
    grown = rescale(plain, hand=1.5)
    before, after = nearest_distances(plain), nearest_distances(grown)
    assert after[frozenset(("hand", "ball"))] == pytest.approx(1.0 - 1.5 * 0.2 - 0.1, abs=1e-12)
    same = before.keys() - {frozenset(("hand", "ball"))}
    assert after.keys() == before.keys() and all(after[pair] == before[pair] for pair in same)
    assert nearest_distances(rescale(plain, hand=0.5))[frozenset(("hand", "ball"))] == pytest.approx(0.8, abs=1e-12)
    assert nearest_distances(rescale(grown, hand=1.0)) == before
    assert not rescale(grown, hand=1.0).scales


def test_objects_attached_to_a_scaled_link_are_scaled(robot):
    plain = with_balls(robot, wall=(at(3.0), None), held=(at(0.5), "hand"), other=(at(-0.5), "arm"))
    after, before = nearest_distances(rescale(plain, hand=2.0)), nearest_distances(plain)
    assert after[frozenset(("held", "wall"))] == pytest.approx(0.5 - 2.0 * 0.1 - 0.1, abs=1e-12)
    assert after[frozenset(("hand", "wall"))] == pytest.approx(1.0 - 2.0 * 0.2 - 0.1, abs=1e-12)
    for pair in (("held", "other"), ("held", "arm"), ("held", "base"), ("other", "wall"), ("other", "hand")):
        assert after[frozenset(pair)] == before[frozenset(pair)]


def test_object_is_scaled_only_while_attached_to_a_scaled_link(robot):
    planning = rescale(with_balls(robot, wall=(at(3.0), None), ball=(at(2.5), None)), hand=2.0)
    assert frozenset(("ball", "wall")) not in nearest_distances(planning)
    edit = planning.edit()
    edit.attach("ball", "hand", at(0.5), ["hand"])
    held = edit.commit()
    assert nearest_distances(held)[frozenset(("ball", "wall"))] == pytest.approx(0.2, abs=1e-12)
    edit = held.edit()
    edit.move("ball", at(0.4))
    assert nearest_distances(edit.commit())[frozenset(("ball", "wall"))] == pytest.approx(0.3, abs=1e-12)
    edit = held.edit()
    edit.attach("ball", "arm", at(1.5), ["hand"])
    assert nearest_distances(edit.commit())[frozenset(("ball", "wall"))] == pytest.approx(0.3, abs=1e-12)
    edit = held.edit()
    edit.detach("ball", at(2.5))
    assert nearest_distances(edit.commit()) == nearest_distances(planning)


def test_padding_is_added_after_scaling(robot):
    edit = rescale(with_balls(robot, ball=(at(2.0, 1.0), None)), hand=1.5).edit()
    edit.padding = Padding({"hand": 0.05})
    planning = edit.commit()
    planning.scene.set_link_poses(PLACES)
    result = planning.scene.query(pairs=planning.body_pairs(["hand"], ["ball"]))
    assert planning.clearances(result).distance == pytest.approx([1.0 - 0.3 - 0.1 - 0.05], abs=1e-12)


def test_scales_survive_a_change_of_the_robot(robot):
    planning = rescale(with_balls(robot, ball=(at(2.0, 1.0), None)), hand=1.5, nobody=3.0)
    other = Robot.from_urdf(URDF.replace('"hand"', '"tool"'))
    back = planning.for_robot(other).for_robot(robot)
    assert dict(back.scales) == {"hand": 1.5, "nobody": 3.0}
    assert nearest_distances(back) == nearest_distances(planning)
    places = {"base": at(0.0), "arm": at(1.0), "tool": at(2.0)}
    assert nearest_distances(planning.for_robot(other), places)[frozenset(("tool", "ball"))] == pytest.approx(
        0.7, abs=1e-12
    )


def test_planner_checks_scaled_links_against_the_world():
    urdf = URDF.replace('type="floating"', 'type="revolute"').replace(
        "</joint>", '<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
    )
    srdf = '<robot name="r"><group name="g"><joint name="wrist"/></group></robot>'
    arm = Robot.from_urdf(urdf, srdf=srdf)
    grown = rescale(with_balls(arm, ball=(at(0.0, 1.0), None)), hand=1.5)
    problem = scene_problem(grown, "g", {"shoulder": 0.0, "wrist": 0.0})
    found = SceneValidity(problem).clearances(np.array([[0.0]]), np.array([2.0]))
    names = [{problem.bodies[body].name for body in problem.pairs[pair]} for pair in found.pair]
    (row,) = (row for row, pair in enumerate(names) if "ball" in pair)
    assert names[row] == {"ball", "hand (scaled)"}
    assert found.distance[row] == pytest.approx(1.0 - 1.5 * 0.2 - 0.1, abs=1e-12)


def test_scaled_scene_can_be_pickled(robot):
    planning = rescale(with_balls(robot, ball=(at(2.0, 1.0), None)), hand=1.5)
    assert nearest_distances(pickle.loads(pickle.dumps(planning))) == nearest_distances(planning)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_invalid_scale_is_an_error(robot, scale):
    for link in ("hand", "nobody"):
        with pytest.raises(ValueError, match=f"scale of link '{link}'"):
            rescale(PlanningScene(robot), **{link: scale})


def test_scaled_bodies_have_unique_names_and_count_for_limits(robot):
    with pytest.raises(ValueError, match=r"scale of link 'hand'.*radius"):
        rescale(PlanningScene(robot), hand=1e200)
    with pytest.raises(ValueError, match=r"\(scaled\)': is the name of"):
        name = f"{robot.bodies[2].name} (scaled)"
        rescale(with_balls(robot, **{name: (at(9.0), None)}), hand=2.0)
    with pytest.raises(ValueError, match="4 bodies, at most 3"):
        rescale(PlanningScene(robot, limits=Limits(bodies=3)), hand=2.0)


def test_scaled_bodies_count_in_later_edits(robot):
    planning = rescale(PlanningScene(robot, limits=Limits(bodies=5)), hand=2.0)
    edit = planning.edit()
    edit.add("cup", [Sphere(0.1)], [np.eye(4)], at(9.0))
    full = edit.commit()
    for link in (None, "arm"):
        edit = full.edit()
        edit.add("one more", [Sphere(0.1)], [np.eye(4)], at(8.0), link=link)
        with pytest.raises(ValueError, match="6 bodies, at most 5"):
            edit.commit()
    edit = full.edit()
    edit.attach("cup", "hand", at(1.0))
    with pytest.raises(ValueError, match="6 bodies, at most 5"):
        edit.commit()


@pytest.mark.parametrize("seed", range(6))
def test_distances_after_random_changes_match_closed_forms(robot, seed):
    """Compare with the closed form for spheres after random changes in random order."""
    rng = np.random.default_rng(seed)
    planning = PlanningScene(robot)
    for _ in range(25):
        edit = planning.edit()
        for _ in range(int(rng.choice([1, 3, 15]))):
            name, kind, pose = f"o{rng.integers(5)}", rng.integers(6), at(*rng.uniform(-3.0, 3.0, 3))
            link = rng.choice([None, *LINKS])
            if kind == 0:
                edit.scales[str(rng.choice(LINKS))] = float(rng.choice([0.5, 1.0, 1.0, 1.7]))
            elif kind == 1 or name not in edit.objects:
                shapes = [Sphere(0.1)] * int(rng.integers(1, 4))
                edit.add(name, shapes, [at(*rng.uniform(-1, 1, 3)) for _ in shapes], pose, link=link)
            elif kind == 2:
                edit.move(name, pose)
            elif kind == 3 and link:
                edit.attach(name, str(link), pose)
            elif kind == 4:
                edit.detach(name, pose)
            elif kind == 5:
                edit.remove(name)
        planning = edit.commit()
        poses = {link: at(*rng.uniform(-3.0, 3.0, 3)) for link in LINKS} | {"base": at(0.0)}
        balls = {link: (None, [poses[link][:3, 3]], RADIUS[link]) for link in LINKS}
        for name, thing in planning.objects.items():
            carrier = poses[thing.link or "base"] @ thing.pose
            balls[name] = (thing.link, [(carrier @ pose)[:3, 3] for pose in thing.object_from_shape], 0.1)

        def radius(name, other, balls=balls, planning=planning):
            link = balls[name][0] or (name if name in LINKS else None)
            meets_world = planning.in_world(other) and link is not None
            return balls[name][2] * (planning.scales.get(link, 1.0) if meets_world else 1.0)

        expected = {}
        for a in balls:
            for b in balls:
                if a < b and planning.rules.is_checked(a, b) and not (planning.in_world(a) and planning.in_world(b)):
                    gaps = [np.linalg.norm(p - q) for p in balls[a][1] for q in balls[b][1]]
                    expected[frozenset((a, b))] = min(gaps) - radius(a, b) - radius(b, a)
        found = nearest_distances(planning, poses)
        assert found.keys() == expected.keys()
        assert all(found[pair] == pytest.approx(expected[pair], abs=1e-9) for pair in found)


CUBE = [(x, y, z) for x in (0.0, 2.0) for y in (0.0, 1.0) for z in (0.0, 1.0)]


@pytest.mark.parametrize(
    "shape",
    [
        Sphere(0.3),
        Ellipsoid((0.1, 0.2, 0.3)),
        Superellipsoid((0.1, 0.2, 0.3), section_exponent=0.5, profile_exponent=0.7),
        Superovoid((0.1, 0.2, 0.3), section_exponent=0.9, profile_exponent=0.8, taper=(0.1, 0.2)),
        Box((0.2, 0.4, 0.6)),
        Capsule(0.1, 0.4),
        Cylinder(0.1, 0.4),
        Cone(0.1, 0.4),
        Torus(0.3, 0.1),
        ConvexMesh(CUBE),
        Mesh(*ConvexMesh(CUBE).triangles()),
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_shapes_scale_about_their_origin_or_mean_vertex(shape):
    factor, directions = 1.7, np.random.default_rng(1).normal(size=(200, 3))
    grown = scale_shape(shape, factor)
    assert type(grown) is type(shape)
    centre = np.array([1.0, 0.5, 0.5]) if isinstance(shape, ConvexMesh | Mesh) else np.zeros(3)
    about = directions @ centre
    heights = shape.support_value(directions) - about
    np.testing.assert_allclose(grown.support_value(directions) - about, factor * heights, rtol=1e-9)
    assert grown.volume() == pytest.approx(factor**3 * shape.volume(), rel=1e-9)


def test_scaling_a_half_space_does_not_change_it():
    assert scale_shape(HalfSpace(), 3.0) == HalfSpace()
