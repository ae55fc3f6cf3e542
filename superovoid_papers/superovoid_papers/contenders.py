# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Other libraries that experiments and benchmarks compare the engine with."""

from __future__ import annotations

from collections.abc import Mapping


def explain_missing(missing: Mapping[str, str]) -> list[str]:
    """Return a line for each contender (name -> reason) whose library is not installed."""
    return [
        f"{name} is left out: {reason}; pip install 'superovoid_papers[bench]' installs it"
        for name, reason in missing.items()
    ]
