# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Arrays of shapes: the same bodies and answers as lists of shapes, and errors that name the shape."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from superovoid import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Mesh,
    Motion,
    ShapeArray,
    Sphere,
    Superellipsoid,
    Superovoid,
    Torus,
    are_closer,
    derivatives,
    distances,
    time_of_impact,
)
from superovoid.contact.broadcasting import pairs_of
from superovoid.shapes.shape_array import ARGUMENTS


def random_array(kind, rng, count):
    """Return random shapes of a kind, as an array and as a list."""
    arguments = {}
    for name, size in ARGUMENTS[kind].items():
        low, high = {"taper": (-0.2, 0.2), "minor_radius": (0.02, 0.09)}.get(name, (0.1, 0.4))
        values = rng.uniform(low, high, (count, size))
        arguments[name] = values if size > 1 else values[:, 0]
    return ShapeArray(kind, **arguments), [
        kind(**{name: values[i] for name, values in arguments.items()}) for i in range(count)
    ]


def random_poses(rng, count):
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, 3] = rng.uniform(-0.6, 0.6, (count, 3))
    return poses


@pytest.mark.parametrize("kind", ARGUMENTS, ids=lambda kind: kind.__name__)
def test_an_array_has_the_shapes_of_the_list(kind):
    array, shapes = random_array(kind, np.random.default_rng(1), 5)
    assert ShapeArray.from_columns(kind, np.asfortranarray(array._columns)) == array
    assert ShapeArray(kind, **{name: np.asfortranarray(getattr(array, name)) for name in ARGUMENTS[kind]}) == array
    assert len(array) == 5 and list(array) == shapes and array[-1] == shapes[-1] and array[2:4][0] == shapes[2]
    assert type(array[0]) is kind
    for row, shape in zip(array._rows, shapes, strict=True):
        np.testing.assert_array_equal(row, shape._row)
    mask = np.array([True, False, True, False, False])
    assert list(array[mask]) == [shapes[0], shapes[2]] == list(array[[0, 2]]) == list(array[:3:2])
    assert pickle.loads(pickle.dumps(array)) == array != array[1:]
    for name, size in ARGUMENTS[kind].items():
        assert getattr(array, name).shape == ((5, size) if size > 1 else (5,))
        assert not getattr(array, name).flags.writeable


def test_an_array_has_the_answers_of_the_list():
    rng = np.random.default_rng(2)
    kinds = list(ARGUMENTS)
    for kind, other in zip(kinds, kinds[1:] + kinds[:1], strict=True):
        (a, shapes_a), (b, shapes_b) = random_array(kind, rng, 6), random_array(other, rng, 6)
        poses, others = random_poses(rng, 6), random_poses(rng, 6)
        found = distances(shapes_a, poses, shapes_b, others)
        assert distances(a, poses, b, others) == found
        assert distances(a, poses, shapes_b, others) == found
        assert distances(a, poses, b[0], others) == distances(shapes_a, poses, shapes_b[0], others)
        assert are_closer(a, poses, b, others, 0.05) == are_closer(shapes_a, poses, shapes_b, others, 0.05)
        assert derivatives(a, poses, b, others, found) == derivatives(shapes_a, poses, shapes_b, others, found)
        motion = Motion(np.eye(4), (0.5, 0.0, 0.0), (0.0, 0.2, 0.0))
        assert time_of_impact(a, motion, b, others) == time_of_impact(shapes_a, motion, shapes_b, others)


def test_rows_are_not_copied():
    array, _ = random_array(Capsule, np.random.default_rng(3), 4)
    pairs, is_single = pairs_of(array, np.eye(4), array[1:3][0], np.eye(4))
    assert pairs.a.rows is array._rows and not is_single
    assert np.shares_memory(array[1:]._rows, array._rows)


def test_arguments_are_broadcast():
    array = ShapeArray(Superovoid, (0.1, 0.2, 0.3), section_exponent=[0.5, 1.0], taper=(0.1, -0.1))
    assert array[1] == Superovoid((0.1, 0.2, 0.3), section_exponent=1.0, taper=(0.1, -0.1))
    assert array.semi_axes.shape == (2, 3) and array.profile_exponent.tolist() == [1.0, 1.0]
    assert list(ShapeArray(Capsule, [0.1, 0.2], 1)) == [Capsule(0.1, 1.0), Capsule(0.2, 1.0)]
    assert not ShapeArray(Sphere, []) and len(distances(ShapeArray(Sphere, []), np.eye(4), Sphere(1.0), np.eye(4))) == 0


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: ShapeArray(Sphere, [0.1, 0.1, -1.0, 0.0]), r"shape 2 of 4: Sphere.radius = -1.0: must be positive"),
        (lambda: ShapeArray(Sphere, [0.1, np.nan]), r"shape 1 of 2: Sphere.radius = nan: must be positive"),
        (lambda: ShapeArray(Box, [(1, 2, 3), (1, np.inf, 3)]), r"shape 1 of 2: Box.lengths\[1\] = inf: must be finite"),
        (lambda: ShapeArray(Ellipsoid, [(1, 2, 3), (1, 1e31, 3)]), r"shape 1 of 2: Ellipsoid.semi_axes\[1\] = 1e\+31"),
        (lambda: ShapeArray(Torus, [0.2, 0.1], 0.1), r"shape 1 of 2: Torus.minor_radius = 0.1: must be below"),
        (
            lambda: ShapeArray(Superellipsoid, (1, 1, 1), section_exponent=[1.0, 2.0]),
            r"shape 1 of 2: Superellipsoid.section_exponent = 2.0: must be in",
        ),
        (
            lambda: ShapeArray(Superovoid, [(1, 1, 1)], taper=(0.0, 0.6)),
            r"shape 0 of 1: Superovoid.taper\[1\] = 0.6: must be in",
        ),
        (lambda: ShapeArray(Cylinder, [1, 2], [1, 2, 3]), "one length, found radius: 2, length: 3"),
        (lambda: ShapeArray(Cone, 1, 2), "one length, found none"),
        (lambda: ShapeArray(Box, [(1, 2)]), r"Box.lengths: must have shape \(n, 3\) or \(3,\), found \(1, 2\)"),
        (lambda: ShapeArray(Sphere, [True]), "Sphere.radius: must be numbers of double precision"),
        (lambda: ShapeArray.from_columns(Capsule, [[1, 2, 3]]), r"shape \(n, 2\) for radius \(1\), length"),
    ],
)
def test_invalid_numbers_are_refused_by_name_and_index(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: ShapeArray(Mesh, [1.0]), "kind: must be one of Superovoid, .* found Mesh"),
        (lambda: ShapeArray("Sphere", [1.0]), "kind: must be one of .* found 'Sphere'"),
        (lambda: ShapeArray(Sphere), "ShapeArray of Sphere: missing a required argument: 'radius'"),
        (lambda: ShapeArray(Sphere, [1.0], taper=0.1), "ShapeArray of Sphere: .* unexpected keyword argument 'taper'"),
    ],
)
def test_wrong_arguments_are_refused(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize(
    "index", [(slice(None), 0), (slice(None), slice(2)), (..., 0), (0, 2), None, True, [[0, 1]], [1.0]]
)
def test_only_shapes_are_selected(index):
    boxes = ShapeArray(Box, [(1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0)])
    with pytest.raises(
        IndexError, match="shapes: must be an integer, a slice, a mask of bools or a sequence of integers, found"
    ):
        boxes[index]
