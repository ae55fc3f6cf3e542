# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Build the interfaces of this folder with pip, and tf2_msgs: `pip install ./superovoid_interfaces`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "build_support"))

from interface_wheel import setup_interfaces  # noqa: E402

PACKAGES = ["tf2_msgs"]  # under compat/
MESSAGES = ["builtin-interfaces", "geometry-msgs", "std-msgs"]

setup_interfaces({**{name: HERE / "compat" / name for name in PACKAGES}, "superovoid_interfaces": HERE}, MESSAGES)
