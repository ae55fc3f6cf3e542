# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot with balls as bodies, for data sets with closed-form distances."""

import numpy as np

from superovoid import dataset
from superovoid.dataset.question import digests_of

URDF = """<robot name="balls">
  <link name="ground"><contact_geometry><sphere radius="0.1"/></contact_geometry></link>
  <joint name="slide" type="prismatic"><parent link="ground"/><child link="slider"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="2" effort="1" velocity="1"/></joint>
  <link name="slider"/>
  <joint name="turn" type="revolute"><parent link="slider"/><child link="hand"/>
    <axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
  <link name="hand"><contact_geometry><origin xyz="0.5 0 0"/><sphere radius="0.05"/></contact_geometry></link>
  <joint name="free" type="floating"><parent link="ground"/><child link="ball"/></joint>
  <link name="ball"><contact_geometry><origin xyz="0 0.2 0"/><sphere radius="0.2"/></contact_geometry></link>
</robot>"""
SRDF = """<robot name="balls"><enable_collisions link1="ground" link2="ball"/></robot>"""
RADII = {"ground": 0.1, "hand": 0.05, "ball": 0.2}
BOX = ((-0.5, 0.5), (0.2, 0.9), (0.0, 0.3))


def write(folder):
    """Write the URDF; return its path."""
    path = folder / "balls.urdf"
    path.write_text(URDF, encoding="utf-8")
    return path


def store(folder, name, chunks, chunk_states):
    """Create a data set of random states and return it; a Parquet file has a `max_distance`."""
    states = dataset.Random(chunks * chunk_states, 8, bases={"ball": BOX})
    max_distance = 0.4 if name.endswith(".parquet") else None
    return dataset.create(folder / name, write(folder), states, chunk_states=chunk_states, max_distance=max_distance)


def digests(found):
    """Return the digests of all chunks of a data set."""
    return [digests_of(found.read(chunk)) for chunk in range(found.chunks)]


def centres(joints, base_poses):
    """Return the centres of the balls, body -> (states, 3)."""
    slide, turn = joints.T
    zero = np.zeros_like(slide)
    hand = np.stack([slide + 0.5 * np.cos(turn), 0.5 * np.sin(turn), zero], axis=1)
    ball = base_poses[:, 0, :3, 3] + 0.2 * base_poses[:, 0, :3, 1]
    return {"ground": np.zeros((len(slide), 3)), "hand": hand, "ball": ball}


def distances(found, joints, base_poses):
    """Return the signed distances (states, pairs) of the pairs of a data set."""
    at = centres(joints, base_poses)
    columns = []
    for a, b in found.pairs:
        a, b = found.bodies[a], found.bodies[b]
        columns.append(np.linalg.norm(at[a] - at[b], axis=1) - RADII[a] - RADII[b])
    return np.stack(columns, axis=1)
