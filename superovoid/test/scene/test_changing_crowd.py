# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Adding and removing bodies among many others: answers equal those of a new scene."""

import pickle

import numpy as np
import pytest

from superovoid import Body, Scene
from superovoid.scene import scene as scene_module
from superovoid.shapes import Box, ConvexMesh, HalfSpace, Sphere

LINKS = ("world", "arm", "hand")


def pose_at(point):
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose


def body(rng, name):
    link = LINKS[int(rng.integers(len(LINKS)))]
    return Body(name, link, Sphere(rng.uniform(0.02, 0.08)), pose_at(rng.uniform(-1.0, 1.0, 3)))


def near_pairs(scene):
    names = [each.name for each in scene.bodies]
    found = scene.query(max_distance=0.05)
    rows = zip(found.body_a.tolist(), found.body_b.tolist(), found.distance.tolist(), strict=True)
    return sorted((*sorted((names[a], names[b])), distance) for a, b, distance in rows)


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(3))
def test_answers_equal_those_of_a_new_scene(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    # Use the tree for any number of bodies.
    monkeypatch.setattr("superovoid.scene.scene._LISTED_PAIRS", 0)
    scene = Scene([body(rng, f"b{i}") for i in range(60)])
    poses = {link: pose_at(rng.uniform(-0.2, 0.2, 3)) for link in LINKS}
    scene.set_link_poses(poses)
    near_pairs(scene)
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
        assert near_pairs(scene) == near_pairs(anew)
        assert near_pairs(scene.fork()) == near_pairs(anew)


def crowd(count=400):
    rng = np.random.default_rng(7)
    scene = Scene(
        [Body("plane", "world", HalfSpace(), pose_at((0, 0, -0.9))), *(body(rng, f"b{i}") for i in range(count))]
    )
    scene.set_link_poses(dict.fromkeys(LINKS, np.eye(4)))
    return rng, scene


def test_bodies_of_unmoved_links_are_not_placed_again():
    _, scene = crowd(50)
    before = scene._memory.world.spheres.copy()
    scene._memory.world.spheres[:] = np.where(scene._rules.link[:, None] == 0, 77.0, scene._memory.world.spheres)
    scene.set_link_poses({"world": np.eye(4), "arm": pose_at((0.5, 0, 0)), "hand": np.eye(4)})
    rows = {link: scene._rules.link == scene._row[link] for link in LINKS}
    assert (scene._memory.world.spheres[rows["world"]] == 77.0).all()
    assert (scene._memory.world.spheres[rows["hand"]] == before[rows["hand"]]).all()
    moved = before[rows["arm"]] + [0.5, 0, 0, 0]
    assert scene._memory.world.spheres[rows["arm"]] == pytest.approx(moved)


SHAPES = (
    *(Sphere(radius) for radius in (0.03, 0.05, 0.07)),
    Box((0.08, 0.12, 0.06)),
    ConvexMesh(np.random.default_rng(3).normal(0.0, 0.04, (12, 3))),
    ConvexMesh(np.random.default_rng(4).normal(0.0, 0.04, (9, 3))),
)


def thing(rng, name, kinds):
    link = LINKS[int(rng.integers(len(LINKS)))]
    if kinds == len(SHAPES) and rng.random() < 0.05:
        return Body(name, link, HalfSpace(), pose_at((0.0, 0.0, -0.95)))
    return Body(name, link, SHAPES[int(rng.integers(kinds))], pose_at(rng.uniform(-1.0, 1.0, 3)))


def answers(scene, **how):
    """Return the names of the pairs, and bits of their distances and points."""
    found = scene.query(**how)
    rows = zip(found.name_a, found.name_b, found.lower.tolist(), found.upper.tolist(), strict=True)
    return sorted((*sorted((a, b)), round(lower, 9), round(upper, 9)) for a, b, lower, upper in rows)


def made_anew(scene, poses, forbidden):
    anew = Scene(list(scene.bodies))
    anew.set_link_poses({link: poses[link] for link in anew.links})
    index = {body.name: i for i, body in enumerate(anew.bodies)}
    pairs = [(index[a], index[b]) for a, b in forbidden if a in index and b in index]
    if pairs:
        anew.set_pairs_allowed(pairs, False)
    return anew


@pytest.mark.parametrize(("seed", "kinds"), [(0, 3), (1, len(SHAPES)), (2, len(SHAPES))])
def test_changes_of_a_scene_show_in_no_fork_table_or_pickle(monkeypatch, seed, kinds):
    """As above, with changing rules, and with references to forks, tables and pickles."""
    monkeypatch.setattr(scene_module, "_LISTED_PAIRS", 0)
    rng, forbidden, held = np.random.default_rng(seed), set(), []
    scene = Scene([thing(rng, f"b{i}", kinds) for i in range(40)])
    poses = {link: pose_at(rng.uniform(-0.2, 0.2, 3)) for link in LINKS}
    scene.set_link_poses(poses)
    for step in range(40):
        for _ in range(int(rng.integers(1, 5))):
            what, bodies = rng.random(), scene.bodies
            if what < 0.5 and len(bodies) > 8:
                gone = rng.choice(len(bodies), int(rng.integers(1, 4)), replace=False)
                scene.remove([bodies[i].name for i in gone])
            elif what < 0.9:
                scene.add([thing(rng, f"n{step}_{rng.integers(1 << 40)}", kinds) for _ in range(int(rng.integers(3)))])
            elif what < 0.95:
                a, b = rng.choice(len(bodies), 2, replace=False).tolist()
                scene.set_pairs_allowed([(a, b)], False)
                forbidden.add((bodies[a].name, bodies[b].name))
            else:
                name = bodies[int(rng.integers(len(bodies)))].name
                scene.attach(name, LINKS[int(rng.integers(3))], pose_at(rng.uniform(-1.0, 1.0, 3)))
            # A link that never carried a body has no pose.
            scene.set_link_poses({link: poses[link] for link in scene.links})
        if rng.random() < 0.5:
            poses[LINKS[int(rng.integers(3))]] = pose_at(rng.uniform(-0.2, 0.2, 3))
        scene.set_link_poses({link: poses[link] for link in scene.links})
        anew = made_anew(scene, poses, forbidden)
        assert scene.pair_count == anew.pair_count and len(scene.bodies) == len(anew.bodies)
        how = [{"max_distance": 0.05}, {"max_results": 5}, {}, {"max_distance": 0.02, "overlapping_only": True}][
            step % 4
        ]
        expected = answers(anew, **how)
        assert answers(scene, **how) == expected
        if step % 7 == 3:
            assert np.array_equal(scene.pairs, anew.pairs) and np.array_equal(scene.poses, anew.poses)
        if step % 5 == 2:
            other = (Scene.fork, lambda each: pickle.loads(pickle.dumps(each)))[step % 2](scene)
            held.append((other, scene.tables(), [*scene.tables().local.link], how, expected))
        for other, tables, link, asked, then in held[-3:]:
            assert answers(other, **asked) == then and tables.local.link.tolist() == link
        if len(held) > 2 and step % 6 == 0:
            # Changing the fork as well gives it its own rows.
            other = held.pop(0)[0]
            other.add([thing(rng, f"fork{step}_{i}", kinds) for i in range(5)])
            other.remove(other.bodies[0].name)
            other.set_link_poses({link: pose_at((0.1, 0.2, 0.3)) for link in other.links})
            assert answers(scene, **how) == expected
