# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Generators of the files of one robot, the iCub: hands, upper body, MoveIt files, fits."""
