# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Work that several threads share: each takes the next portion when it has done one."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers(threads: int | None) -> int:
    """How many threads an argument asks for; `ValueError` where it is no number of threads."""
    if threads is None:
        return processors()
    if not isinstance(threads, int | np.integer) or isinstance(threads, bool) or threads < 1:
        raise ValueError(f"threads = {threads!r}: must be None or an integer of at least 1")
    return int(threads)


def share(work: Callable[[], Result], threads: int) -> list[Result]:
    """Run a function in this thread and in others beside it; return all results."""
    if threads == 1:
        return [work()]
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(work) for _ in range(threads - 1)]
        return [work(), *(other.result() for other in others)]
