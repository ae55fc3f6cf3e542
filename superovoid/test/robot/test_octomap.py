# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Octree streams written from sets of cells are read as the same cells."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from damage import damage
from hypothesis import given, settings
from hypothesis import strategies as st

from superovoid.robot.octomap import Octree
from superovoid.values.checks import is_refusal

from octrees import HALF, binary_stream, full_stream


def cells_of(octree, most=10_000):
    """Return the keys of the smallest cells within the cubes."""
    centres, sides = octree.cubes(most)
    found = set()
    for centre, side in zip(centres / octree.resolution, sides / octree.resolution, strict=True):
        low = np.round(centre - 0.5 * side).astype(int) + HALF
        cube = {tuple(low + step) for step in np.ndindex(*[round(side)] * 3)}
        assert not found & cube
        found |= cube
    return found


def some_cells(seed):
    """Return random cells on both sides of the origin, and a filled block with a hole."""
    rng = np.random.default_rng(seed)
    reach = [3, 40, HALF][seed % 3]
    cells = {tuple(key): bool(rng.random() < 0.6) for key in rng.integers(HALF - reach, HALF + reach, (60, 3))}
    corner = 4 * rng.integers(HALF // 4 - 3, HALF // 4 + 3, 3)
    cells |= {tuple(corner + step): True for step in np.ndindex(4, 4, 8)}
    cells[tuple(corner)] = False
    return {tuple(map(int, key)): value for key, value in cells.items()}


@pytest.mark.parametrize("seed", range(6))
def test_both_formats_give_back_the_written_cells(seed):
    cells = some_cells(seed)
    occupied = {key for key, value in cells.items() if value}
    for data, binary in (
        (binary_stream(cells), True),
        (full_stream(cells), False),
        (full_stream(cells, 15, False), False),
    ):
        assert cells_of(Octree(data, 0.05, binary)) == occupied


def test_cell_position_matches_octomap():
    centres, sides = Octree(binary_stream({(HALF + 2, HALF - 1, HALF): True}), 0.1, True).cubes(1)
    assert centres[0] == pytest.approx([0.25, -0.05, 0.05], abs=1e-9)
    assert sides[0] == pytest.approx(0.1)


def test_full_cube_is_one_body_pruned_or_not():
    block = {(HALF + x, HALF + y, HALF + z): True for x, y, z in np.ndindex(4, 4, 4)}
    for data, binary in (
        (binary_stream(block), True),
        (full_stream(block), False),
        (full_stream(block, 15, False), False),
    ):
        centres, sides = Octree(data, 0.25, binary).cubes(1)
        assert centres == pytest.approx(np.full((1, 3), 0.5)) and sides == pytest.approx([1.0])


def test_cells_with_nonnegative_log_odds_are_occupied():
    cells = {(HALF, HALF, HALF): True}
    odds = bytearray(full_stream(cells))
    for value, count in ((0.0, 1), (-1e-6, 0), (-np.inf, 0), (np.inf, 1)):
        odds[-5:-1] = struct.pack("<f", value)
        assert len(Octree(bytes(odds), 1.0, False).cubes(9)[0]) == count


def test_tree_without_occupied_cells_has_no_cubes():
    centres, sides = Octree(binary_stream({(0, 0, 0): False}), 0.1, True).cubes(1)
    assert centres.shape == (0, 3) and sides.shape == (0,)


def test_too_many_cubes_are_an_error():
    cells = {(HALF + 2 * x, HALF + 2 * y, HALF): True for x, y in np.ndindex(20, 20)}
    assert len(Octree(binary_stream(cells), 0.1, True).cubes(400)[0]) == 400
    for most in (399, 10):
        with pytest.raises(ValueError, match=f"more than {most} occupied cubes"):
            Octree(binary_stream(cells), 0.1, True).cubes(most)


DEEP = struct.pack("<H", 3) * 17
GOOD = binary_stream(some_cells(0))


@pytest.mark.parametrize(
    ("data", "binary", "words"),
    [
        (GOOD[:-2], True, "ends within a node"),
        (GOOD[:-1], True, "even number"),
        (GOOD + GOOD, True, "continues after"),
        (b"\0\0", True, "node without children"),
        (DEEP, True, "a smallest cell has children"),
        (full_stream(some_cells(0))[:-5], False, "ends within a node"),
        (full_stream(some_cells(0))[:-1], False, "5 for each node"),
        (struct.pack("<fB", np.nan, 0), False, "not a number"),
    ],
)
def test_damaged_stream_is_an_error(data, binary, words):
    with pytest.raises(ValueError, match=words):
        Octree(data, 0.1, binary).cubes(10_000)


@settings(max_examples=200, deadline=None)
@given(damage(GOOD), st.booleans(), st.integers(1, 1000))
def test_damaged_stream_gives_cubes_or_a_clear_error(data, binary, most):
    try:
        centres, sides = Octree(data, 0.1, binary).cubes(most)
    except ValueError as error:
        assert is_refusal(error), error
        return
    assert len(centres) == len(sides) <= most
    assert np.isfinite(centres).all()


@pytest.mark.parametrize("resolution", [0.0, -0.1, np.nan, np.inf])
def test_resolution_must_be_positive_and_finite(resolution):
    with pytest.raises(ValueError, match="resolution"):
        Octree(GOOD, resolution, True)
