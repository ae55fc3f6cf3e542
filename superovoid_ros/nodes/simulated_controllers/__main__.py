# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`python -m superovoid_ros.nodes.simulated_controllers`."""

from superovoid_ros.nodes.simulated_controllers.simulated_controllers import main

raise SystemExit(main())
