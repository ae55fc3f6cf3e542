# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Memory that is used again when nobody looks at it."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np

from superovoid.states.reused_memory import ReusedMemory


def address(array):
    return array.__array_interface__["data"][0]


def test_a_piece_comes_back_when_its_last_view_is_gone():
    memory = ReusedMemory()
    piece = memory.of_size(800)
    view = piece[8:].view(np.float64).reshape(9, 11)[::2, 3]
    first = address(piece)
    del piece
    assert address(memory.of_size(800)) != first
    del view
    assert address(memory.of_size(800)) == first


def test_what_is_too_small_or_far_too_large_is_not_used():
    memory = ReusedMemory()
    assert [len(memory.of_size(size)) for size in (100, 1000, 300, 0)] == [100, 1000, 300, 0]


def test_copies_have_no_part_in_it():
    memory = ReusedMemory()
    piece = memory.of_size(80)
    piece[:] = 7
    for each in (pickle.loads(pickle.dumps(piece)), copy.deepcopy(piece)):
        assert (each == 7).all() and not np.shares_memory(each, piece)
    assert isinstance(pickle.loads(pickle.dumps(memory)), ReusedMemory)


def test_threads_never_get_the_same_piece():
    memory, wrong = ReusedMemory(), []

    def work(number):
        for _ in range(2000):
            piece = memory.of_size(64)
            piece[:] = number
            if not (piece == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
