# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recordings for the site: the sweep, the bite, a planned grasp and a fitted robot, each a page of one megabyte.

They are written when the site is built and are not kept in the repository, because each contains viser's player: every
change would add a megabyte. If viser is not installed, the page of recordings names the missing extra instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

FOLDER = "site"
"""Below the generated pages: its content goes to the root of the site (html_extra_path)."""
DOCS = Path(__file__).resolve().parent


def sweep():
    """Return both hands in the grasp sweep, with the pairs between their fingers."""
    from superovoid.viewing.recording import Moment, Recording
    from superovoid_ros.motions import grasp_sweep

    robot, motion = grasp_sweep.read_sweep()
    frames = [motion.frame(index) for index in range(len(motion))]
    moments = [Moment(index, frame.positions, frame.base_poses) for index, frame in enumerate(frames)]
    return Recording("Grasp sweep of two hands", robot, moments, between=(["left_fingers"], ["right_fingers"]))


def bite():
    """Return the two molars that bite."""
    from superovoid.viewing.recording import Moment, Recording
    from superovoid_ros.motions import dental_bite

    robot, motion = dental_bite.read_bite()
    moments = [Moment(index, motion.frame(index).positions) for index in range(len(motion))]
    return Recording("Bite of two molars", robot, moments)


def grasp():
    """Return every third state of the path that `superovoid grasp` wrote with its first seed."""
    from superovoid.viewing.recording_files import read_csv

    found = read_csv(DOCS / "recordings" / "plan_grasp.csv")
    return replace(found, title="Grasp of two hands", moments=found.moments[::3], notes=("Every third state.",))


def fitted_hands():
    """Return the iCub's hands in their initial state, with superovoids fitted to the meshes of every link."""
    from superovoid.viewing.recording import Moment, Recording
    from superovoid.viewing.robot_model import RobotModel
    from superovoid_ros.motions import grasp_sweep

    robot, _ = grasp_sweep.read_sweep("superovoids")
    stands = RobotModel(robot)
    return Recording("Hands of the iCub, fitted", robot, [Moment(0.0, stands.positions, stands.base_poses)])


PAGES: dict[str, tuple[str, str, Callable]] = {
    "sweep": ("The grasp sweep", "Two hands in 214 frames, through first contact to deepest overlap", sweep),
    "bite": ("The bite", "Two molars, and the minimum distance of their surfaces", bite),
    "grasp": ("A planned grasp", "Both hands on the path to an object that `superovoid grasp` found", grasp),
    "fitted": (
        "A fitted robot",
        "The hands in their initial state, with superovoids fitted to every link",
        fitted_hands,
    ),
}


def write(folder: Path) -> None:
    """Write the pages, and one that embeds them.

    Parameters
    ----------
    folder : Path
        Of the generated pages.
    """
    from superovoid.viewing.recording import ReplayModel
    from superovoid.viewing.serving import ServingError

    text = (
        "# Recordings\n\nEach recording is one file that plays in the browser, without a server. `superovoid view "
        "RECORDING --html FILE` writes such a page ([how](../how_to/viewing.md#a-page-in-a-file)).\n\n"
    )
    target = folder / FOLDER / "recordings"
    target.mkdir(parents=True, exist_ok=True)
    try:
        from superovoid.viewing.html_file import write_html

        for name, (title, words, recording) in PAGES.items():
            write_html(ReplayModel(recording()), target / f"{name}.html")
            address = f"../recordings/{name}.html"
            text += f"## {title}\n\n{words} (<a href='{address}'>on a page of its own</a>)\n\n"
            text += f"<iframe class='recording' src='{address}' title='{title}' loading='lazy'></iframe>\n\n"
    except ServingError as error:
        text += f"This site was built without them: {error}.\n"
    (folder / "recordings.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else DOCS / "generated"))
