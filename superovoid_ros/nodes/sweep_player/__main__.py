# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`python -m superovoid_ros.nodes.sweep_player`."""

from superovoid_ros.nodes.sweep_player.sweep_player import main

raise SystemExit(main())
