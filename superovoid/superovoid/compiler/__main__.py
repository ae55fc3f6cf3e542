# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Build the shared library: python -m superovoid.compiler."""

import importlib.util
import os
import subprocess
import sys

# Import kernels as plain Python functions, iterate sets in the same order in every build, and do not tune for this CPU.
SETTINGS = {
    "SUPEROVOID_KERNELS": "python",
    "PYTHONHASHSEED": "0",
    "NUMBA_CPU_NAME": "x86-64-v2" if os.uname().machine == "x86_64" else "generic",
    "NUMBA_CPU_FEATURES": "",
}

for package in ("numba", "llvmlite"):
    if importlib.util.find_spec(package) is None:
        sys.exit(f"no package {package!r}: the kernels are compiled by numba (pip install 'numba==0.68.*')")
sys.exit(subprocess.call([sys.executable, "-m", "superovoid.compiler.build", *sys.argv[1:]], env=os.environ | SETTINGS))
