# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Programs that start nodes and call their services: the demo, load tests."""
