"""Culling kernels: bounding spheres, then oriented boxes, then the pair itself."""

from __future__ import annotations

import math

import numpy as np

from superovoid_ros._jit import kernel
from superovoid_ros.contact._pair import DISTANCE, solve_pair

# Columns of the counts that `query` fills.
PAST_SPHERE, PAST_OBB, SOLVED, INTERSECTING = 0, 1, 2, 3


@kernel
def spheres_within(centres, radii, a, b, cutoff):
    """Whether two bounding spheres are no farther apart than the cut-off."""
    reach = radii[a] + radii[b] + cutoff
    if reach < 0.0:
        return False
    dx = centres[a, 0] - centres[b, 0]
    dy = centres[a, 1] - centres[b, 1]
    dz = centres[a, 2] - centres[b, 2]
    return dx * dx + dy * dy + dz * dz <= reach * reach


@kernel
def boxes_within(centre_a, pose_a, half_a, centre_b, pose_b, half_b, cutoff):
    """Whether no separating axis shows two oriented boxes farther apart than the cut-off.

    Gottschalk, Lin, Manocha, "OBBTree", SIGGRAPH 1996, with unit axes so that a gap is a length.
    """
    d = (centre_b[0] - centre_a[0], centre_b[1] - centre_a[1], centre_b[2] - centre_a[2])
    t0 = d[0] * pose_a[0, 0] + d[1] * pose_a[1, 0] + d[2] * pose_a[2, 0]
    t1 = d[0] * pose_a[0, 1] + d[1] * pose_a[1, 1] + d[2] * pose_a[2, 1]
    t2 = d[0] * pose_a[0, 2] + d[1] * pose_a[1, 2] + d[2] * pose_a[2, 2]
    t = (t0, t1, t2)
    r = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            r[i, j] = pose_a[0, i] * pose_b[0, j] + pose_a[1, i] * pose_b[1, j] + pose_a[2, i] * pose_b[2, j]
    for i in range(3):
        reach = half_b[0] * abs(r[i, 0]) + half_b[1] * abs(r[i, 1]) + half_b[2] * abs(r[i, 2])
        if abs(t[i]) - half_a[i] - reach > cutoff:
            return False
    for j in range(3):
        along = t0 * r[0, j] + t1 * r[1, j] + t2 * r[2, j]
        reach = half_a[0] * abs(r[0, j]) + half_a[1] * abs(r[1, j]) + half_a[2] * abs(r[2, j])
        if abs(along) - half_b[j] - reach > cutoff:
            return False
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            # |e_i x b_j|^2 = 1 - r_ij^2; nearly parallel axes add nothing to the six above.
            length = math.sqrt(max(0.0, 1.0 - r[i, j] * r[i, j]))
            if length < 1e-6:
                continue
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            along = abs(t[i2] * r[i1, j] - t[i1] * r[i2, j])
            reach_a = half_a[i1] * abs(r[i2, j]) + half_a[i2] * abs(r[i1, j])
            reach_b = half_b[j1] * abs(r[i, j2]) + half_b[j2] * abs(r[i, j1])
            if along - reach_a - reach_b > cutoff * length:
                return False
    return True


@kernel
def world_point(pose, local, out):
    for i in range(3):
        out[i] = pose[i, 0] * local[0] + pose[i, 1] * local[1] + pose[i, 2] * local[2] + pose[i, 3]


@kernel(nogil=True)
def query(
    bodies,
    poses,
    sphere_centres,
    radii,
    box_centres,
    box_halves,
    pairs,
    rows,
    cutoff,
    tolerance,
    budget,
    states,
    out,
    solved_rows,
    counts,
):
    """Cull and solve the given rows of the pair table; fill `out` and `solved_rows` from the start.

    Returns the number of pairs no farther than the cut-off.
    """
    n = bodies.shape[0]
    spheres = np.empty((n, 3))
    boxes = np.empty((n, 3))
    for i in range(n):
        world_point(poses[i], sphere_centres[i], spheres[i])
        world_point(poses[i], box_centres[i], boxes[i])
    rotation = np.empty((3, 3))
    found = 0
    for k in range(rows.shape[0]):
        row = rows[k]
        a, b = pairs[row, 0], pairs[row, 1]
        if not spheres_within(spheres, radii, a, b, cutoff):
            continue
        counts[PAST_SPHERE] += 1
        if not boxes_within(boxes[a], poses[a], box_halves[a], boxes[b], poses[b], box_halves[b], cutoff):
            continue
        counts[PAST_OBB] += 1
        solve_pair(bodies[a], bodies[b], poses[a], poses[b], tolerance, budget, states[row], rotation, out[found])
        counts[SOLVED] += 1
        if out[found, DISTANCE] < 0.0:
            counts[INTERSECTING] += 1
        if out[found, DISTANCE] <= cutoff:
            solved_rows[found] = row
            found += 1
    return found
