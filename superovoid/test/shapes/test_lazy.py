# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Values computed on first access, by threads and by forked processes."""

import os
import signal
import threading

import pytest

from superovoid.shapes.lazy import cached_property


class Gate:
    """Its value is computed once `through` is set."""

    def __init__(self):
        self.begun, self.through = threading.Event(), threading.Event()
        self.times = 0

    @cached_property
    def value(self):
        self.times += 1
        self.begun.set()
        assert self.through.wait(60.0)
        return object()


def test_concurrent_threads_get_one_value_computed_once():
    gate, values = Gate(), []
    threads = [threading.Thread(target=lambda: values.append(gate.value)) for _ in range(3)]
    for thread in threads:
        thread.start()
    gate.through.set()
    for thread in threads:
        thread.join()
    times = gate.times
    assert len({id(value) for value in values}) == 1
    assert gate.value is values[0] and gate.times == times


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forks amid threads, from Python 3.12 on
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_during_a_computation_computes_values_of_other_objects():
    gate, other = Gate(), Gate()
    other.through.set()
    thread = threading.Thread(target=lambda: gate.value)
    thread.start()
    assert gate.begun.wait(60.0)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a deadlocked process
        os._exit(0 if other.value is not None else 1)
    gate.through.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
