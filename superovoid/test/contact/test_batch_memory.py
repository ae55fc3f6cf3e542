# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Many pairs take bounded memory besides their answers, and processing them in chunks changes no bit."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from superovoid import Superovoid, are_closer, distances
from superovoid.contact import broadcasting
from superovoid.shapes import Box

MANY = 150_000


def places(count, seed=7):
    rng = np.random.default_rng(seed)
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, 3] = rng.normal(size=(count, 3)) * 1.5 + 1.0
    return poses


BODIES = [
    Superovoid((0.5, 0.4, 0.6), section_exponent=0.8, profile_exponent=1.2),
    Superovoid((0.3, 0.3, 0.3)),
    Superovoid((1, 1, 1), section_exponent=0.5, profile_exponent=0.7),
]


@pytest.mark.parametrize("question", [distances, lambda *pairs: are_closer(*pairs, 0.1)])
def test_memory_besides_the_answers_does_not_grow_with_the_pairs(question):
    poses = places(MANY)
    question([BODIES[0]] * 1000, np.eye(4), BODIES[1], poses[:1000])  # allocates memory that stays allocated
    tracemalloc.start()
    try:
        answers = question([BODIES[0]] * MANY, np.eye(4), BODIES[1], poses)
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(answers) == MANY
    assert most - held < 60e6  # one chunk; all pairs at once would take 150e6


@pytest.mark.parametrize("count", [300, 1500])
def test_chunks_change_no_bit_of_the_answers(count, monkeypatch):
    rng = np.random.default_rng(3)
    shapes = [BODIES[i] for i in rng.integers(3, size=count)]
    others = [Box((0.4, 0.6, 0.8)) if i % 97 == 0 else BODIES[i % 3] for i in range(count)]
    asked = shapes, np.eye(4), others, places(count)
    whole, verdicts = distances(*asked), are_closer(*asked, 0.1)
    monkeypatch.setattr(broadcasting, "MOST_AT_ONCE", 131)
    assert distances(*asked) == whole
    assert are_closer(*asked, 0.1) == verdicts
