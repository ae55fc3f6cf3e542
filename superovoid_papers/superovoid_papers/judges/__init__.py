# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random pairs, their judgement by the checker, and references independent of the judged code."""
