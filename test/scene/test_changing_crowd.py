# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies that come and go beside many others: the answers of a scene made anew, from a tree that is kept."""

import numpy as np
import pytest

from superovoid_ros import Body, Scene
from superovoid_ros.scene import box_tree, tree_changes
from superovoid_ros.shapes import Plane, Sphere

LINKS = ("world", "arm", "hand")


def pose_at(point):
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose


def body(rng, name):
    link = LINKS[int(rng.integers(len(LINKS)))]
    return Body(name, link, Sphere(rng.uniform(0.02, 0.08)), pose_at(rng.uniform(-1.0, 1.0, 3)))


def near(scene):
    names = [each.name for each in scene.bodies]
    found = scene.query(cutoff=0.05)
    rows = zip(found.body_a.tolist(), found.body_b.tolist(), found.distance.tolist(), strict=True)
    return sorted((*sorted((names[a], names[b])), distance) for a, b, distance in rows)


def built(monkeypatch):
    """Number of trees that are built from now on."""
    times, build = [], box_tree.build
    monkeypatch.setattr(box_tree, "build", lambda *of: (times.append(1), build(*of)))
    return times


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_those_of_a_scene_made_anew(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    # A few thousand changes of any kind, where the tree answers whatever the number of bodies.
    monkeypatch.setattr("superovoid_ros.scene.scene._LISTED_PAIRS", 0)
    monkeypatch.setattr(tree_changes, "MOST_LOOSE", 5)
    scene = Scene([body(rng, f"b{i}") for i in range(60)])
    poses = {link: pose_at(rng.uniform(-0.2, 0.2, 3)) for link in LINKS}
    scene.set_link_poses(poses)
    near(scene)
    for step in range(60):
        for _ in range(int(rng.integers(1, 4))):
            what = rng.random()
            if what < 0.45 and len(scene.bodies) > 5:
                scene.remove(scene.bodies[int(rng.integers(len(scene.bodies)))].name)
            elif what < 0.9:
                scene.add([body(rng, f"n{step}_{rng.integers(1 << 40)}") for _ in range(int(rng.integers(1, 3)))])
            else:
                chosen = scene.bodies[int(rng.integers(len(scene.bodies)))].name
                scene.attach(chosen, LINKS[int(rng.integers(3))], pose_at(rng.uniform(-1.0, 1.0, 3)))
        poses[LINKS[int(rng.integers(3))]] = pose_at(rng.uniform(-0.2, 0.2, 3))
        scene.set_link_poses({link: poses[link] for link in scene.links})
        anew = Scene(list(scene.bodies))
        anew.set_link_poses({link: poses[link] for link in anew.links})
        assert near(scene) == near(anew)
        assert near(scene.fork()) == near(anew)


def crowd(count=400):
    rng = np.random.default_rng(7)
    scene = Scene([Body("plane", "world", Plane(), pose_at((0, 0, -0.9))), *(body(rng, f"b{i}") for i in range(count))])
    scene.set_link_poses(dict.fromkeys(LINKS, np.eye(4)))
    return rng, scene


def test_a_body_that_comes_and_goes_has_no_tree_built(monkeypatch):
    rng, scene = crowd()
    scene.query(cutoff=0.05)
    times = built(monkeypatch)
    for i in range(2 * tree_changes.MOST_LOOSE):
        scene.add(body(rng, f"seen{i}"))
        scene.query(cutoff=0.05)
        if i >= 3:
            scene.remove(f"seen{i - 3}")
            scene.query(cutoff=0.05)
    assert not times
    scene.add([body(rng, f"many{i}") for i in range(tree_changes.MOST_LOOSE)])
    scene.query(cutoff=0.05)
    assert len(times) == 1


def test_bodies_of_links_that_stay_are_not_placed_again():
    _, scene = crowd(50)
    before = scene._world.spheres.copy()
    scene._world.spheres[:] = np.where(scene._rules.link[:, None] == 0, 77.0, scene._world.spheres)
    scene.set_link_poses({"world": np.eye(4), "arm": pose_at((0.5, 0, 0)), "hand": np.eye(4)})
    rows = {link: scene._rules.link == scene._row[link] for link in LINKS}
    assert (scene._world.spheres[rows["world"]] == 77.0).all()
    assert (scene._world.spheres[rows["hand"]] == before[rows["hand"]]).all()
    moved = before[rows["arm"]] + [0.5, 0, 0, 0]
    assert scene._world.spheres[rows["arm"]] == pytest.approx(moved)
