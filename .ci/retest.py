# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Run the tests that have failed once more, alone, where they are of processes that talk over DDS.

ROS 2's own builds do so (`colcon test --retest-until-pass`): the middleware loses a message, or finds a process too
late, on a machine that has much else to do. What failed first is printed. Nothing is run again where a test that
computes failed, or tests of many files: then something is broken.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_FILES = 4


def main() -> int:
    """Return the exit code."""
    sys.path.insert(0, str(ROOT / "test/helpers"))
    from schedule import waits

    failed = sorted(json.loads((ROOT / ".pytest_cache/v/cache/lastfailed").read_text(encoding="utf-8")))
    files = {test.partition("::")[0] for test in failed}
    print(f"\nfailed at the first run: {', '.join(failed)}")
    if not failed or len(files) > MOST_FILES or not all(map(waits, files)):
        print("not run again")
        return 1
    return subprocess.run([sys.executable, "-m", "pytest", *sorted(files)], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
