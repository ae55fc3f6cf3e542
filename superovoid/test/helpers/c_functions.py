# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The functions of superovoid.h, called by ctypes."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_double, c_int, c_size_t, c_uint32, c_void_p

import numpy as np

from superovoid import Box, Capsule, Cone, ConvexMesh, Cylinder, HalfSpace, Sphere, Superovoid, Torus
from superovoid.cli.prefix import PREFIX

LIBRARY = PREFIX / "lib" / "libsuperovoid.so"
C = ctypes.CDLL(str(LIBRARY))
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
    """Return numbers as an array of C; None as NULL."""
    return None if values is None else (c_double * np.size(values))(*np.ravel(values).tolist())


def create(name, *arguments):
    """Call a function that makes a body; return its error and the body."""
    body = c_void_p()
    given = [c_double(each) if isinstance(each, float) else doubles(each) for each in arguments]
    return getattr(C, f"superovoid_{name}_create")(*given, byref(body)), body


def convex(vertices, triangles):
    """Call `superovoid_convex_create`; return its error and the body."""
    body = c_void_p()
    numbers = (ctypes.c_int32 * np.size(triangles))(*np.ravel(triangles).tolist())
    counts = c_size_t(len(vertices)), c_size_t(len(triangles))
    return C.superovoid_convex_create(counts[0], doubles(vertices), counts[1], numbers, byref(body)), body


def body_of(shape):
    """Make the body of C that a shape of Python is."""
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
        case _:
            raise TypeError(f"{type(shape).__name__} is no body of the C library")
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


__all__ = ["LIBRARY", "POINTER", "C", "Result", "body_of", "convex", "create", "distance", "doubles", "is_closer"]
