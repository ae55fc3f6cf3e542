# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The functions of superovoid.h, called through ctypes."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_double, c_int, c_size_t, c_uint32, c_void_p

import numpy as np
from scipy.spatial import ConvexHull

from superovoid import Box, Capsule, Cone, ConvexMesh, Cylinder, HalfSpace, Mesh, Sphere, Superovoid, Torus
from superovoid.compiled import library

C = ctypes.CDLL(str(library.path()))
C.superovoid_error_message.restype = ctypes.c_char_p
C.superovoid_result_size.restype = c_size_t


class Result(ctypes.Structure):
    """`superovoid_result`."""

    _fields_ = [
        ("distance", c_double),
        ("lower", c_double),
        ("upper", c_double),
        ("point_a", c_double * 3),
        ("point_b", c_double * 3),
        ("normal", c_double * 3),
        ("status", c_uint32),
        ("iterations", c_uint32),
    ]


def doubles(values):
    """Return numbers as a C array; None as NULL."""
    return None if values is None else (c_double * np.size(values))(*np.ravel(values).tolist())


def create(name, *arguments):
    """Call a function that creates a body; return its error and the body."""
    body = c_void_p()
    given = [c_double(each) if isinstance(each, float) else doubles(each) for each in arguments]
    return getattr(C, f"superovoid_{name}_create")(*given, byref(body)), body


def triangles_of(faces):
    """Return triangles as a count and a C array."""
    return c_size_t(len(faces)), (ctypes.c_int32 * np.size(faces))(*np.ravel(faces).tolist())


def convex(vertices, faces):
    """Call `superovoid_convex_create`; return its error and the body."""
    body = c_void_p()
    return C.superovoid_convex_create(
        c_size_t(len(vertices)), doubles(vertices), *triangles_of(faces), byref(body)
    ), body


def hull_triangles(vertices):
    """Return the triangles of the convex hull of points, counter-clockwise seen from outside."""
    hull = ConvexHull(vertices)
    a, b, c = (vertices[hull.simplices[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    return np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)


def mesh(vertices, faces, hull):
    """Call `superovoid_mesh_create`; return its error and the body."""
    body = c_void_p()
    triangles = *triangles_of(faces), *triangles_of(hull)
    return C.superovoid_mesh_create(c_size_t(len(vertices)), doubles(vertices), *triangles, byref(body)), body


def body_of(shape):
    """Create the C body of a Python shape."""
    match shape:
        case Sphere():
            made = create("sphere", shape.radius)
        case Superovoid():
            exponents = shape.section_exponent, shape.profile_exponent
            made = create("superovoid", shape.semi_axes, *exponents, shape.taper)
        case Box():
            made = create("box", shape.lengths)
        case Capsule() | Cylinder() | Cone():
            made = create(type(shape).__name__.lower(), shape.radius, shape.length)
        case Torus():
            made = create("torus", shape.major_radius, shape.minor_radius)
        case HalfSpace():
            made = create("half_space")
        case ConvexMesh():
            made = convex(shape.vertices, shape.faces)
        case Mesh():
            made = mesh(shape.vertices, shape.faces, hull_triangles(shape.vertices))
        case _:
            raise TypeError(f"{type(shape).__name__} has no equivalent in the C library")
    assert made[0] == 0, C.superovoid_error_message(made[0])
    return made[1]


def distance(a, pose_a, b, pose_b, rtol=1e-9):
    """Call `superovoid_distance`; return its error and result."""
    result = Result()
    return C.superovoid_distance(a, doubles(pose_a), b, doubles(pose_b), c_double(rtol), byref(result)), result


def is_closer(a, pose_a, b, pose_b, threshold, rtol=1e-9):
    """Call `superovoid_is_closer`; return its error and verdict."""
    verdict = c_int(7)
    poses = doubles(pose_a), doubles(pose_b)
    return C.superovoid_is_closer(
        a, poses[0], b, poses[1], c_double(threshold), c_double(rtol), byref(verdict)
    ), verdict.value
