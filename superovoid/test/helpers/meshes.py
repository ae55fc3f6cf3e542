# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Non-convex meshes."""

from __future__ import annotations

import numpy as np

from superovoid import Mesh


def prism(outline, width):
    """Return a prism along y of width `width`, from an outline in x and z, star-shaped from its first corner."""
    outline = np.array(outline, dtype=float)
    count = len(outline)
    front = np.column_stack([outline[:, 0], np.zeros(count), outline[:, 1]])
    faces = []
    for i in range(count):
        j = (i + 1) % count
        faces += [(i, j, count + j), (i, count + j, count + i)]
    for i in range(1, count - 1):
        faces += [(0, i + 1, i), (count, count + i, count + i + 1)]
    faces = np.array(faces)
    vertices = np.vstack([front, front + np.array([0.0, width, 0.0])])
    corners = vertices[faces]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum()
    return Mesh(vertices, faces if volume > 0.0 else faces[:, ::-1])


def subdivide(mesh, times):
    """Return the same surface with each triangle split into four, `times` times."""
    triangles = mesh.vertices[mesh.faces]
    for _ in range(times):
        a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
        ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        triangles = np.concatenate([np.stack(part, axis=1) for part in parts])
    return Mesh.from_triangles(triangles.reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3))
