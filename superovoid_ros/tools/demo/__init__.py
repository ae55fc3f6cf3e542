# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Demo that plays a motion and queries its distances through the services of two nodes."""
