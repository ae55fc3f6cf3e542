# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`python -m superovoid.cli`."""

from superovoid.cli import command

command()
