# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid dev fit-hands`: contact geometry of the iCub's hands again."""

from __future__ import annotations

import argparse
from pathlib import Path

FOR_DEVELOPERS = True


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "fit-hands",
        help="fit contact geometry to the iCub's hands again",
        description="Fit superellipsoids and superovoids to the finger links (config/icub_hand.yaml), print how close "
        "they are, and write fits, URDF, meshes and SRDF, and the models of the upper body, into config/ and urdf/ of "
        "the working directory.",
        example="superovoid dev fit-hands --models-only",
    )
    command.add_argument("--models-only", action="store_true", help="keep the fits; write only the models made of them")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Fit the bodies of the iCub's hands and write the models made from them."""
    from superovoid_ros.icub import hand_fits
    from superovoid_ros.icub.hand_models import write_hands
    from superovoid_ros.icub.upper_body import ARM, write_upper_body

    share = Path()
    if not arguments.models_only:
        print(hand_fits.fit_hands(share / "config", report=print))
    for path in write_hands(share):
        print(path)
    # A folder may hold the hands alone.
    if (share / "config" / ARM).is_file():
        for path in write_upper_body(share):
            print(path)
    return 0
