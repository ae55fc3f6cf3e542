# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Processor times of `python -m superovoid_papers.benchmarks.frame_rate`; the rest of it needs a browser."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")

from superovoid_papers.benchmarks import frame_rate

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def test_the_time_of_a_process_is_the_sum_over_its_threads():
    ended = threading.Event()
    worker = threading.Thread(target=lambda: sum(range(3_000_000)) and ended.wait(60.0), name="refresher")
    worker.start()
    try:
        end = time.monotonic() + 60.0
        while not frame_rate.used_by_server()[frame_rate._THREADS["refresher"]]:
            assert time.monotonic() < end
            time.sleep(0.01)
        whole = frame_rate.processor_seconds(Path("/proc/self/stat"))
        assert whole == pytest.approx(time.process_time(), abs=0.5)
        assert sum(frame_rate.used_by_server().values()) <= time.process_time() + 0.5
    finally:
        ended.set()
        worker.join()


def test_a_process_without_a_browser_has_no_time_of_one():
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert not frame_rate.used_by_browser(process.pid)  # other tests of this process may have one
        process.stdin.close()
