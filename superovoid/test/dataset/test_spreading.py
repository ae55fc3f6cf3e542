# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Work spread over threads and workers: every chunk once, in order on request, none after an end."""

import threading
import time
from contextlib import closing
from functools import partial

import pytest

from superovoid.dataset.spreading import in_order, spread


def double(chunk):
    return 2 * chunk


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_every_chunk_is_computed_once(threads):
    done = list(spread(double, iter(range(100)), threads=threads))
    assert sorted(done) == [(chunk, 2 * chunk) for chunk in range(100)]


@pytest.mark.parametrize("threads", [1, 3])
def test_results_keep_order_despite_a_slow_chunk(threads):
    first_may_end = threading.Event()

    def work(chunk):
        if chunk == 0:
            assert first_may_end.wait(30)
        if chunk == 5 or threads == 1:
            first_may_end.set()
        return -chunk

    if threads == 1:
        first_may_end.set()
    assert list(in_order(work, range(50), threads=threads)) == [(chunk, -chunk) for chunk in range(50)]


def test_number_of_results_waiting_for_a_slow_chunk_is_bounded():
    first_may_end, given = threading.Event(), []

    def chunks():
        for chunk in range(1000):
            given.append(chunk)
            yield chunk

    def work(chunk):
        if chunk == 0:
            # Ends once no chunk is submitted, since the other thread has done all submitted ones.
            last = -1
            while last != len(given):
                last = len(given)
                first_may_end.wait(0.1)
        return chunk

    with closing(in_order(work, chunks(), threads=2)) as done:
        assert next(done) == (0, 0)
        assert 2 <= len(given) <= 17  # 8 per thread, and one submitted as the first ends
    assert [chunk for chunk, _ in in_order(work, chunks(), threads=2)] == list(range(1000))


def test_closing_the_generator_stops_remaining_chunks():
    stop, begun = threading.Event(), []

    def work(chunk):
        begun.append(chunk)
        if chunk:
            assert stop.wait(30)
        return chunk

    with closing(spread(work, range(1000), threads=4, stop=stop)) as done:
        assert next(done) == (0, 0)
    assert stop.is_set() and len(begun) <= 6


@pytest.mark.parametrize("way", [spread, in_order])
def test_errors_of_chunks_and_of_their_source_are_raised(way):
    def chunks():
        yield from range(5)
        raise OSError("the source")

    with pytest.raises(ZeroDivisionError):
        list(way(lambda chunk: 1 // (chunk - 3), range(10), threads=2))
    with pytest.raises(OSError, match="the source"):
        list(way(double, chunks(), threads=2))
    assert threading.active_count() < 50 and not [each for each in threading.enumerate() if "chunk" in each.name]


def sleep_and_square(seconds, chunk):
    time.sleep(seconds * (chunk % 3))
    return chunk**2


@pytest.mark.slow
def test_workers_and_threads_give_equal_results_in_order():
    pytest.importorskip("distributed", reason="pip install 'superovoid[dataset]'")
    work = partial(sleep_and_square, 0.01)
    expected = [(chunk, chunk**2) for chunk in range(60)]
    assert list(in_order(work, range(60), workers=2)) == expected == list(in_order(work, range(60), threads=2))
    assert sorted(spread(work, range(60), workers=2)) == expected
