# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`python -m superovoid_ros.nodes.path_trail`."""

import sys

from superovoid_ros.nodes.common.start import path_trail

sys.exit(path_trail())
