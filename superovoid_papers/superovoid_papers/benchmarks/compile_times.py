# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Processor time of compiling the kernels from an empty cache, by kinds of bodies.

Run ``python -m superovoid_papers.benchmarks.compile_times``; it prints the table of docs/figures.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

TABLE = "| what | processor time |\n|---|---|"
_ORDER = (0, 2, 1, 3)
"""Levels of `superovoid.states.ahead`, convex bodies before planes as most robots need them."""


def measure() -> None:
    """Print a row for the first `distance` and for each level, in a process that has compiled nothing."""
    import numpy as np

    from superovoid import Superovoid, distance, distances

    apart = np.eye(4)
    apart[0, 3] = 0.03
    tip = Superovoid((0.006, 0.007, 0.011), section_exponent=0.9, profile_exponent=0.8, taper=(0.1, 0.1))
    distance(tip, np.eye(4), tip, apart)
    print(f"| first `distance` of two superovoids, imports included | {time.process_time():.1f} s |", flush=True)

    from superovoid.contact import signed_distance
    from superovoid.states import ahead

    for level in _ORDER:
        started = time.process_time()
        ahead.compile_level(level)
        name = f"{ahead.LEVELS[level]} beside these" if level else "the rest of scenes and states of superovoids"
        print(f"| {name} | {time.process_time() - started:.1f} s |", flush=True)

    started = time.process_time()
    count = signed_distance.BATCH
    distances([tip] * count, np.tile(np.eye(4), (count, 1, 1)), [tip] * count, np.tile(apart, (count, 1, 1)))
    print(f"| batches in SIMD lanes beside these | {time.process_time() - started:.1f} s |", flush=True)


def main() -> int:
    """Run `measure` with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "SUPEROVOID_CACHE_DIR": cache}
        code = f"from {__spec__.name} import measure; measure()"
        print(TABLE, flush=True)
        return subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
