# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kernels for forward kinematics of many states, and for derivatives of distances by joint positions."""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.arrays import Floats1, Floats2, Floats3, Floats4, Ints1, Ints2
from superovoid.compiled.kernels import bundle, entry_point, kernel
from superovoid.compiled.vector import cross, dot, rotate, sub
from superovoid.contact.broadcasting import own_or_only
from superovoid.values.poses import QUATERNION_TOLERANCE

# Kind of the joint above a link. OUTSIDE: the pose of the link in the root frame is an input.
FIXED, TURNS, SLIDES, OUTSIDE = 0, 1, 2, 3


@bundle
class Tree(NamedTuple):
    """A tree of joints, one row per link, parents before children. Row 0 is the root; its parent is itself."""

    parent: Ints1
    kind: Ints1
    # The position of the joint is factor * position[source] + offset, where source is the mimicked joint, if any.
    source: Ints1
    factor: Floats1
    offset: Floats1
    # parent_from_child = origin + sin(q) sine + (1 - cos(q)) cosine + q slide
    origin: Floats3
    sine: Floats3
    cosine: Floats3
    slide: Floats3
    axis: Floats2  # in the frame of the link
    base: Ints1  # index of the input pose of an OUTSIDE link


@entry_point(nogil=True)
def poses_of_numbers(numbers: Floats2, out: Floats3) -> int:
    """Convert rows of x y z qx qy qz qw to matrices, shape (rows, 4, 4).

    Returns the index of the first row with a non-finite number, or with a quaternion whose squared length differs from
    one by more than `QUATERNION_TOLERANCE`; -1 if all rows are valid.
    """
    for k in range(numbers.shape[0]):
        x, y, z, w = numbers[k, 3], numbers[k, 4], numbers[k, 5], numbers[k, 6]
        square = x * x + y * y + z * z + w * w
        apart = numbers[k, 0] - numbers[k, 0] + (numbers[k, 1] - numbers[k, 1]) + (numbers[k, 2] - numbers[k, 2])
        if not (abs(square - 1.0) <= QUATERNION_TOLERANCE and apart == 0.0):  # false for nan
            return k
        s = 2.0 / square
        pose = out[k]
        pose[0, 0], pose[0, 1], pose[0, 2] = 1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)
        pose[1, 0], pose[1, 1], pose[1, 2] = s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)
        pose[2, 0], pose[2, 1], pose[2, 2] = s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)
        for i in range(3):
            pose[i, 3] = numbers[k, i]
            pose[3, i] = 0.0
        pose[3, 3] = 1.0
    return -1


@kernel  # a call would copy the array descriptors
def _set_column(parent, x, y, z, j, out):
    """Set column j of the product of a pose and a matrix whose column j is (x, y, z)."""
    for i in range(3):
        out[i, j] = parent[i, 0] * x + parent[i, 1] * y + parent[i, 2] * z
    if j == 3:
        for i in range(3):
            out[i, 3] += parent[i, 3]
    out[3, j] = 1.0 if j == 3 else 0.0


@kernel
def _set_product(parent, tree, row, position, out):
    """Set the pose of a link, given the pose of its parent and the position of the joint between them."""
    o, kind = tree.origin[row], tree.kind[row]
    if kind == TURNS:
        sine, cosine = math.sin(position), 1.0 - math.cos(position)
        s, c = tree.sine[row], tree.cosine[row]
        for j in range(4):
            x = o[0, j] + sine * s[0, j] + cosine * c[0, j]
            y = o[1, j] + sine * s[1, j] + cosine * c[1, j]
            z = o[2, j] + sine * s[2, j] + cosine * c[2, j]
            _set_column(parent, x, y, z, j, out)
    elif kind == SLIDES:
        p = tree.slide[row]
        for j in range(4):
            x, y, z = o[0, j] + position * p[0, j], o[1, j] + position * p[1, j], o[2, j] + position * p[2, j]
            _set_column(parent, x, y, z, j, out)
    else:
        for j in range(4):
            _set_column(parent, o[0, j], o[1, j], o[2, j], j, out)


@kernel
def set_pose(tree, row, positions, given, poses):
    """Pose of a link, no root, from that of its parent, in a state: positions of the joints, poses of the bases."""
    parent = poses[tree.parent[row]]
    if tree.kind[row] == OUTSIDE:
        base = given[tree.base[row]]
        for j in range(4):
            _set_column(parent, base[0, j], base[1, j], base[2, j], j, poses[row])
        return
    position = 0.0
    if tree.kind[row] != FIXED:
        position = tree.factor[row] * positions[tree.source[row]] + tree.offset[row]
    _set_product(parent, tree, row, position, poses[row])


@entry_point(nogil=True)
def poses_of_states(tree: Tree, root: Floats2, positions: Floats2, bases: Floats4, out: Floats4) -> None:
    """Compute the poses of all links in the world frame.

    Parameters
    ----------
    tree : Tree
    root : array, shape (4, 4)
        Pose of the root link, world_from_root.
    positions : array, shape (states, joints)
    bases : array, shape (states, bases, 4, 4) or (1, bases, 4, 4)
        root_from_link of the OUTSIDE links, per state or for all states.
    out : array, shape (states, links, 4, 4)
    """
    for s in range(out.shape[0]):
        given = bases[own_or_only(bases, s)]
        poses = out[s]
        for i in range(4):
            for j in range(4):
                poses[0, i, j] = root[i, j]
        for row in range(1, out.shape[1]):
            set_pose(tree, row, positions[s], given, poses)


@kernel
def _add_rates(tree, poses, row, point, n, sign, by_joint, by_base):
    """Add the velocity along n of a point of a link, for each joint and base that moves it."""
    while row > 0:
        pose = poses[row]
        arm = sub(point, (pose[0, 3], pose[1, 3], pose[2, 3]))
        kind = tree.kind[row]
        if kind == OUTSIDE:
            if by_base.shape[0] > 0:
                turning = cross(arm, n)
                twist = by_base[tree.base[row]]
                for i in range(3):
                    twist[i] += sign * n[i]
                    twist[3 + i] += sign * turning[i]
        elif kind != FIXED:
            axis = rotate(pose, (tree.axis[row, 0], tree.axis[row, 1], tree.axis[row, 2]))
            rate = dot(n, axis) if kind == SLIDES else dot(axis, cross(arm, n))
            by_joint[tree.source[row]] += sign * tree.factor[row] * rate
        row = tree.parent[row]


@entry_point(nogil=True)
def gradients_of_states(
    tree: Tree,
    poses: Floats4,
    first: Ints1,
    links: Ints2,
    points_a: Floats2,
    points_b: Floats2,
    normals: Floats2,
    by_joint: Floats2,
    by_base: Floats3,
) -> None:
    """Add the derivatives of distances by joint positions and base twists to arrays of zeros.

    Parameters
    ----------
    tree : Tree
    poses : array, shape (states, links, 4, 4)
        Output of `poses_of_states`.
    first : array of int, shape (states + 1,)
        Distances first[s] to first[s + 1] - 1, counted from first[0], belong to state s.
    links : array of int, shape (distances, 2)
        Rows in the tree of the links of both bodies; -1 for a body that no joint moves.
    points_a, points_b, normals : array, shape (distances, 3)
    by_joint : array, shape (distances, joints)
    by_base : array, shape (distances, bases, 6)
        Derivatives by twists in world axes; shape (distances, 0, 6) to omit them.
    """
    for s in range(poses.shape[0]):
        for k in range(first[s] - first[0], first[s + 1] - first[0]):
            n = (normals[k, 0], normals[k, 1], normals[k, 2])
            on_a = (points_a[k, 0], points_a[k, 1], points_a[k, 2])
            on_b = (points_b[k, 0], points_b[k, 1], points_b[k, 2])
            _add_rates(tree, poses[s], links[k, 0], on_a, n, -1.0, by_joint[k], by_base[k])
            _add_rates(tree, poses[s], links[k, 1], on_b, n, 1.0, by_joint[k], by_base[k])
