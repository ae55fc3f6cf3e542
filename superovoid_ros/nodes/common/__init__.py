# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What all nodes share: conversions, parameters, quality of service, the life of a process."""
