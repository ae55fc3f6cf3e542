# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid dev fit-hands`: fit the contact geometry of the iCub's hands."""

from __future__ import annotations

import argparse
from pathlib import Path

from superovoid.cli import option_values

FOR_DEVELOPERS = True


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "fit-hands",
        help="fit contact geometry to the iCub's hands",
        description="Fit superellipsoids and superovoids to the finger links (config/icub_hand.yaml), print how close "
        "they are, and write fits, URDF, meshes and SRDF, and the models of the upper body, into config/ and urdf/ of "
        "the working directory.",
        example="superovoid dev fit-hands --models-only",
    )
    command.add_argument(
        "--models-only", action="store_true", help="keep the fits; write only the models generated from them"
    )
    option_values.add_reporting(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Fit the bodies of the iCub's hands and write the models generated from them."""
    from superovoid.output import REPORT
    from superovoid_ros.icub import hand_fits
    from superovoid_ros.icub.hand_models import write_hands
    from superovoid_ros.icub.upper_body import ARM, write_upper_body

    share, fits, paths = Path(), [], []

    def on_fit(line: str) -> None:
        fits.append(line)
        REPORT.line(line)

    if not arguments.models_only:
        paths.append(hand_fits.fit_hands(share / "config", report=on_fit))
    paths += write_hands(share)
    # The folder may contain the hands alone.
    if (share / "config" / ARM).is_file():
        paths += write_upper_body(share)
    REPORT.verdict(f"{len(fits)} bodies fitted, {len(paths)} files written", fits=fits)
    REPORT.files(paths)
    return 0
