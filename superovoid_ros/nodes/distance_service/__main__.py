# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`python -m superovoid_ros.nodes.distance_service`."""

from superovoid_ros.nodes.distance_service.distance_service import main

raise SystemExit(main())
