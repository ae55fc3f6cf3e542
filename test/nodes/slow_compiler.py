# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service on a machine that takes its time over all kernels but the engine's: until a file is there.

python slow_compiler.py ... (the file: environment variable SLOW_COMPILER)
"""

import os
import time
from pathlib import Path

from superovoid.compiled import jit
from superovoid.states import ahead
from superovoid_ros.nodes.distance_service.distance_service import main

compile_level = ahead.compile_level


def slowly(level: int) -> float:
    """Compile a level when it may be."""
    while level > 0 and not Path(os.environ["SLOW_COMPILER"]).exists():
        jit._look()  # as if a kernel were compiled
        time.sleep(0.01)
    return compile_level(level)


ahead.compile_level = slowly
raise SystemExit(main())
