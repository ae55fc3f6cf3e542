# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`python -m superovoid_ros.nodes.path_trail`."""

from superovoid_ros.nodes.path_trail.path_trail import main

raise SystemExit(main())
