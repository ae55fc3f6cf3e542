# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bounding volumes of bodies in the world, and the culling of one pair by them.

All bounds are widened by their rounding errors, so that no pair within `max_distance` is lost. A body of infinite
radius is a half-space, the only unbounded shape: its distance to a sphere or a box has a closed form.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from superovoid.compiled.arrays import Bools1, Floats1, Floats2, Floats3, Ints1, zeros
from superovoid.compiled.kernels import bundle, entry_point, inline, kernel
from superovoid.compiled.vector import add, dot, norm, rotate, rotate_back, sub, vector_at
from superovoid.contact.pair import PlacedBody
from superovoid.contact.separation import gap_of_boxes
from superovoid.shapes.kernels.rounding import at_place, compose

# Indices of the counts of a query.
PAST_SPHERE, PAST_OBB, BOUNDED, SOLVED, INTERSECTING = 0, 1, 2, 3, 4
COUNTS = 5

_ROUNDING = 1e-12  # share of the largest coordinate, far above rounding (docs/explanation/numerics.md)


@bundle
class LocalBodies(NamedTuple):
    """Bodies in their own frames, one row a body."""

    packed: Floats2
    link_from_body: Floats3
    sphere_centres: Floats2
    radii: Floats1  # inf: the half-space z <= 0 of its frame
    box_centres: Floats2
    box_halves: Floats2
    losses: Floats1  # rounding error of link pose times body pose (`rounding.composition`)
    link: Ints1  # row of the link of each body
    vertices: Floats1  # vertices and trees of the meshes that `packed` refers to


@bundle
class World(NamedTuple):
    """Bodies at their poses, one row a body; of several states, the rows of one state after those of another."""

    poses: Floats3
    spheres: Floats2  # centre and radius
    boxes: Floats2  # centre of the oriented box
    bounds: Floats2  # lower and upper corner of the box along the world's axes
    losses: Floats1  # bound of the error of a point, against the exact product of poses
    rounding: Floats1  # the largest rounding of the bounds of a body in each state, m


def world_for(states: int, bodies: int) -> World:
    """Return memory for bodies in several states."""
    rows = states * bodies
    return zeros(World, (rows, 4, 4), (rows, 4), (rows, 3), (rows, 6), rows, states)


@kernel
def world_at(world, i):
    """Return the `World` of one state."""
    bodies = world.losses.shape[0] // world.rounding.shape[0]
    first, end = i * bodies, (i + 1) * bodies
    parts = world.poses[first:end], world.spheres[first:end], world.boxes[first:end], world.bounds[first:end]
    return World(*parts, world.losses[first:end], world.rounding[i : i + 1])


@kernel
def body_at(local, world, k):
    """Return body k for the solver."""
    return PlacedBody(local.packed[k], local.vertices, world.poses[k])


@kernel
def transform(pose, local):
    """Return the world coordinates of a point."""
    return add(rotate(pose, local), (pose[0, 3], pose[1, 3], pose[2, 3]))


@inline
def place(local, k, link_poses, world):
    """Compute the pose and the volumes of body k in the world from the poses of the links."""
    pose = world.poses[k]
    compose(link_poses[local.link[k]], local.link_from_body[k], pose)
    origin = norm((pose[0, 3], pose[1, 3], pose[2, 3]))
    world.losses[k] = local.losses[k] + at_place(origin) if local.losses[k] > 0.0 else 0.0
    centre = transform(pose, local.sphere_centres[k])
    middle = transform(pose, local.box_centres[k])
    radius = local.radii[k]
    half = local.box_halves[k]
    for i in range(3):
        world.spheres[k, i] = centre[i]
        world.boxes[k, i] = middle[i]
        if radius < math.inf:
            reach = abs(pose[i, 0]) * half[0] + abs(pose[i, 1]) * half[1] + abs(pose[i, 2]) * half[2]
            world.bounds[k, i] = max(middle[i] - reach, centre[i] - radius)
            world.bounds[k, 3 + i] = min(middle[i] + reach, centre[i] + radius)
        else:
            world.bounds[k, i] = -math.inf
            world.bounds[k, 3 + i] = math.inf
    world.spheres[k, 3] = radius


@kernel
def rounding_of(world, k):
    """Return the rounding error of the bounds of body k, m."""
    x, y, z, radius = world.spheres[k, 0], world.spheres[k, 1], world.spheres[k, 2], world.spheres[k, 3]
    extent = max(abs(x), abs(y), abs(z)) + (radius if radius < math.inf else 0.0)
    return _ROUNDING * extent + 2.0 * world.losses[k]


@entry_point(nogil=True, separate=True)
def place_all(local: LocalBodies, link_poses: Floats3, moved: Bools1, world: World) -> None:
    """Place the bodies on moved links."""
    rounding = 0.0
    for k in range(local.link.shape[0]):
        if moved[local.link[k]]:
            place(local, k, link_poses, world)
        rounding = max(rounding, rounding_of(world, k))
    world.rounding[0] = rounding


@kernel
def height_above(pose, point):
    """Return the height of a point over the half-space at a pose."""
    return dot(sub(vector_at(point, 0), (pose[0, 3], pose[1, 3], pose[2, 3])), (pose[0, 2], pose[1, 2], pose[2, 2]))


@inline
def sphere_gap(world, a, b):
    """Return the distance of the bounding spheres of two bodies; -inf for two half-spaces."""
    sphere_a, sphere_b = world.spheres[a], world.spheres[b]
    if sphere_a[3] + sphere_b[3] < math.inf:
        dx, dy, dz = sphere_a[0] - sphere_b[0], sphere_a[1] - sphere_b[1], sphere_a[2] - sphere_b[2]
        return math.sqrt(dx * dx + dy * dy + dz * dz) - sphere_a[3] - sphere_b[3]
    if sphere_b[3] < math.inf:
        return height_above(world.poses[a], sphere_b) - sphere_b[3]
    return -math.inf if sphere_a[3] == math.inf else height_above(world.poses[b], sphere_a) - sphere_a[3]


@inline
def bounding_spheres_within(world, a, b, limit):
    """Return whether the spheres of two bodies are no farther apart than the limit.

    Without the square root of `sphere_gap`, a list of pairs takes two thirds of the time.
    """
    if limit == math.inf:
        return True
    limit += world.rounding[0]
    sphere_a, sphere_b = world.spheres[a], world.spheres[b]
    reach = sphere_a[3] + sphere_b[3] + limit
    if reach == math.inf:
        return sphere_gap(world, a, b) <= limit
    dx, dy, dz = sphere_a[0] - sphere_b[0], sphere_a[1] - sphere_b[1], sphere_a[2] - sphere_b[2]
    return reach >= 0.0 and dx * dx + dy * dy + dz * dz <= reach * reach


@kernel
def _half_along(pose, half, n):
    """Return half the extent of an oriented box along a direction."""
    u, v, w = rotate_back(pose, n)
    return half[0] * abs(u) + half[1] * abs(v) + half[2] * abs(w)


@kernel
def _box_over(plane, centre, pose, half):
    """Return the height of the lowest corner of an oriented box over the half-space at a pose."""
    return height_above(plane, centre) - _half_along(pose, half, (plane[0, 2], plane[1, 2], plane[2, 2]))


@kernel
def gap_of_oriented_boxes(local, world, a, b, enough):
    """`gap_of_boxes` of two bodies of the scene, neither a half-space."""
    pose, other = world.poses[a], world.poses[b]
    between = sub(vector_at(world.boxes[b], 0), vector_at(world.boxes[a], 0))
    axes = (
        rotate_back(pose, (other[0, 0], other[1, 0], other[2, 0])),
        rotate_back(pose, (other[0, 1], other[1, 1], other[2, 1])),
        rotate_back(pose, (other[0, 2], other[1, 2], other[2, 2])),
    )
    d, halves = rotate_back(pose, between), local.box_halves
    return gap_of_boxes(axes, d, vector_at(halves[a], 0), vector_at(halves[b], 0), enough, world.rounding[0])


@inline
def oriented_boxes_within(local, world, a, b, limit):
    """Return whether no separating axis proves two bodies farther apart than the limit; a half-space bounds itself."""
    radius_a, radius_b = world.spheres[a, 3], world.spheres[b, 3]
    if radius_a + radius_b == math.inf:
        reach = limit + world.rounding[0]
        if radius_b < math.inf:
            return _box_over(world.poses[a], world.boxes[b], world.poses[b], local.box_halves[b]) <= reach
        if radius_a < math.inf:
            return _box_over(world.poses[b], world.boxes[a], world.poses[a], local.box_halves[a]) <= reach
        return True
    return gap_of_oriented_boxes(local, world, a, b, limit) <= limit


@inline
def is_within(local, world, a, b, limit, counts):
    """Return whether neither spheres nor boxes prove two bodies beyond the limit; count the test."""
    if not bounding_spheres_within(world, a, b, limit):
        return False
    counts[PAST_SPHERE] += 1
    if limit < math.inf and not oriented_boxes_within(local, world, a, b, limit):
        return False
    counts[PAST_OBB] += 1
    return True
