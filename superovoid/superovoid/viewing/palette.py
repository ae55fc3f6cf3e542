# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Colours of all pictures, plots and pages.

The palette is that of Okabe and Ito (2008), "Color universal design", whose colours differ for readers with any kind
of colour blindness, and a grey.
"""

from __future__ import annotations

BLUE, ORANGE, GREEN, RED = "#0072b2", "#e69f00", "#009e73", "#d55e00"
PURPLE, SKY, YELLOW = "#cc79a7", "#56b4e9", "#f0e442"
GREY, BLACK = "#a0a0a0", "#000000"
CYCLE = BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK, GREY
"""Colours of the curves of a plot, in order."""


def red_green_blue(colour: str) -> tuple[int, int, int]:
    """Return the parts of a colour "#rrggbb", 0 to 255."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue
