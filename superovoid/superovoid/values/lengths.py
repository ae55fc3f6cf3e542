# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Read lengths with a unit."""

from __future__ import annotations

_UNITS = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}


def metres(text: str) -> float:
    """Return a length such as 2mm, 1.5 cm or 0.1m in metres.

    Raises
    ------
    ValueError
        If the text is not a number with one of the units mm, cm and m.
    """
    figure = text.strip().rstrip("cm")
    unit = text.strip()[len(figure) :]
    if unit not in _UNITS:
        raise ValueError(f"{text!r}: must be a number with the unit mm, cm or m")
    return float(figure) * _UNITS[unit]
