# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pages that move, for the site: the sweep, the bite, a planned grasp and a fitted robot, each one file of a megabyte.

They are written when the site is built, and not kept in the repository: each of them contains viser's player, and would
add a megabyte to it with every change. Where viser is not installed, the site says so instead.
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
    """Both hands in the grasp sweep, the pairs between their fingers."""
    from superovoid.viewing.recording import Moment, Recording
    from superovoid_ros.motions import grasp_sweep

    robot, motion = grasp_sweep.shipped()
    frames = [motion.frame(index) for index in range(len(motion))]
    moments = [Moment(index, frame.positions, frame.base_poses) for index, frame in enumerate(frames)]
    return Recording("Grasp sweep of two hands", robot, moments, between=(["left_fingers"], ["right_fingers"]))


def bite():
    """Two molars that bite."""
    from superovoid.viewing.recording import Moment, Recording
    from superovoid_ros.motions import dental_bite

    robot, motion = dental_bite.shipped()
    moments = [Moment(index, motion.frame(index).positions) for index in range(len(motion))]
    return Recording("Bite of two molars", robot, moments)


def grasp():
    """The path that `superovoid plan` wrote with its first seed; of its states every third."""
    from superovoid.viewing.recording_files import read_csv

    found = read_csv(DOCS / "recordings" / "plan_grasp.csv")
    return replace(found, title="Grasp of two hands", moments=found.moments[::3], notes=("Every third state.",))


def fitted():
    """The iCub's hands as they stand, superovoids fitted to the meshes of every link."""
    from superovoid.viewing.recording import Moment, Recording
    from superovoid.viewing.robot_model import RobotModel
    from superovoid_ros.motions import grasp_sweep

    robot, _ = grasp_sweep.shipped("superovoids")
    stands = RobotModel(robot)
    return Recording("Hands of the iCub, fitted", robot, [Moment(0.0, stands.positions, stands.base_poses)])


PAGES: dict[str, tuple[str, str, Callable]] = {
    "sweep": ("The grasp sweep", "both hands, 214 frames, first contact and deepest overlap", sweep),
    "bite": ("The bite", "two molars and the least distance of their surfaces", bite),
    "grasp": ("A planned grasp", "both hands on their way to an object, as `superovoid plan` found it", grasp),
    "fitted": ("A fitted robot", "the hands as they stand, superovoids on every link", fitted),
}


def write(folder: Path) -> None:
    """Write the pages, and one that leads to them.

    Parameters
    ----------
    folder : Path
        Of the generated pages.
    """
    from superovoid.viewing.recording import ReplayModel
    from superovoid.viewing.serving import ServingError

    text = (
        "# Pages that move\n\nEach is one file, which plays a recording in the browser and asks no server: `superovoid "
        "view RECORDING --html FILE` writes such a page ([in a browser](../how_to/viewing.md#a-page-in-a-file)).\n\n"
    )
    target = folder / FOLDER / "recordings"
    target.mkdir(parents=True, exist_ok=True)
    try:
        from superovoid.viewing.html_file import write_html

        for name, (title, words, recording) in PAGES.items():
            write_html(ReplayModel(recording()), target / f"{name}.html")
            text += f'* <a href="../recordings/{name}.html">{title}</a>: {words}\n'
    except ServingError as error:
        text += f"This site was built without them: {error}.\n"
    (folder / "recordings.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else DOCS / "generated"))
