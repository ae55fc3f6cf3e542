# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Programs that start nodes and ask them: the demo, load tests, call times, planning through the service."""
